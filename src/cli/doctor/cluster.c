/* cluster.c - what a cluster has of what Jobs need: server, kinds, rights, jobs */
#include "cli/doctor/doctor.h"

#include "crd/crd.h"
#include "api/meta.h"
#include "base/util.h"
#include "cli/install/install.h"
#include "cli/native.h"
#include "ctl/job_cells.h"

#include <stdarg.h>

#define INSTALL_KINDS "pumice install --dry-run --only crds | kubectl apply -f -"
#define INSTALL_ROLES "pumice install --dry-run --only roles | kubectl apply -f -"

enum { MINOR_CEL = 29, MINOR_MIN = 25, LISTED = 3 };

void exam_add(struct cluster_exam *x, struct host_check check)
{
    *vec_push(x->arena, &x->checks->list) = check;
}

void exam_fine(struct cluster_exam *x, const char *name, const char *fmt, ...)
{
    autobuf text = { 0 };
    va_list ap;

    va_start(ap, fmt);
    buf_vfmt(&text, fmt, ap);
    va_end(ap);
    exam_add(x, (struct host_check){ name, HOST_FINE, arena_str(x->arena, buf_view(&text)), "", STR_NULL });
}

/* ---- the server ---- */

static bool exam_server(struct cluster_exam *x)
{
    struct json *version;
    struct str text;
    int64_t minor;
    struct err e;

    if (kube_ask_get(x->live->ask, x->arena, STR("/version"), &version, &e) < 0) {
        exam_add(x, (struct host_check){ "server", HOST_IMPOSSIBLE, arena_str(x->arena, str_of(e.text)),
                                         "nothing can be said about it", STR_NULL });
        return false;
    }
    text = json_member_text(version, "minor");
    text.n = strspn(arena_cstr(x->arena, text), "0123456789"); /* "29+" */
    if (str_to_i64(text, &minor) < 0)
        minor = MINOR_CEL;
    exam_add(x, (struct host_check){
                    "server",
                    minor >= MINOR_CEL   ? HOST_FINE
                    : minor >= MINOR_MIN ? HOST_LIMITED
                                         : HOST_IMPOSSIBLE,
                    arena_fmt(x->arena, "Kubernetes %.*s at %.*s", STR_ARG(json_member_text(version, "gitVersion")),
                              STR_ARG(x->live->config.server)),
                    minor >= MINOR_CEL   ? ""
                    : minor >= MINOR_MIN ? "rules between fields (CEL) may be off: bad jobs are found by the controller"
                                         : "it does not accept our CRDs: Kubernetes 1.25 or newer is needed",
                    STR_NULL });
    return true;
}

/* ---- kinds ---- */

enum kind_state { KIND_SAME, KIND_OTHER, KIND_MISSING, KIND_HIDDEN, KIND_STATE_MAX };

static const struct json *cluster_version_of(const struct json *crd, const char *name)
{
    JSON_FOREACH(v, json_find(crd, "spec", "versions", NULL))
        if (str_is(json_member_text(v, "name"), name) && json_bool(json_get(v, "served"), false))
            return v;
    return NULL;
}

static enum kind_state look_at_kind(struct cluster_exam *x, const struct resource_type *t)
{
    struct str path = arena_fmt(x->arena, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/%s.%s", t->plural,
                                t->group);
    const struct json *have, *want = cluster_version_of(crd_make(x->arena, t), t->version);
    struct json *crd;
    struct err e;

    if (kube_ask_get(x->live->ask, x->arena, path, &crd, &e) < 0)
        return e.code == ERR_NOT_FOUND ? KIND_MISSING : KIND_HIDDEN;
    have = cluster_version_of(crd, t->version);
    if (!have)
        return KIND_MISSING;
    return json_equal(json_get(have, "schema"), json_get(want, "schema")) ? KIND_SAME : KIND_OTHER;
}

/* Without these there are no jobs; the others are extras. */
static bool is_vital(const struct resource_type *t)
{
    static const char *const vital[] = { "Job", "PodGroup", "Queue", "Command" };

    for (size_t i = 0; i < ARRAY_LEN(vital); i++)
        if (strcmp(t->kind, vital[i]) == 0)
            return true;
    return false;
}

static void exam_kinds(struct cluster_exam *x)
{
    struct buf names[KIND_STATE_MAX] = { 0 };
    size_t n[KIND_STATE_MAX] = { 0 }, n_all = 0;
    bool lacks_vital = false;

    for (size_t i = 0; i < n_resource_types; i++) {
        const struct resource_type *t = &resource_types[i];
        enum kind_state state;

        if (!crd_is_needed(t))
            continue;
        state = look_at_kind(x, t);
        lacks_vital |= state == KIND_MISSING && is_vital(t);
        n_all++;
        buf_fmt(&names[state], "%s%s", n[state]++ ? ", " : "", t->kind);
    }
    if (n[KIND_MISSING])
        exam_add(x, (struct host_check){ "kinds", lacks_vital ? HOST_IMPOSSIBLE : HOST_LIMITED,
                                         arena_fmt(x->arena, "not installed: %s", names[KIND_MISSING].p),
                                         lacks_vital ? "there can be no Jobs" : "Jobs work; these kinds do not",
                                         STR(INSTALL_KINDS) });
    if (n[KIND_OTHER])
        exam_add(x, (struct host_check){ "kinds", HOST_LIMITED,
                                         arena_fmt(x->arena, "another definition than ours: %s", names[KIND_OTHER].p),
                                         "they are used as they are; ours refuse more bad jobs without a webhook, and "
                                         "lose no field that is stored",
                                         STR(INSTALL_KINDS) });
    if (n[KIND_HIDDEN])
        exam_fine(x, "kinds", "you may not look at their definitions: %s", names[KIND_HIDDEN].p);
    if (n[KIND_SAME] == n_all)
        exam_fine(x, "kinds", "all %zu, as this version has them", n_all);
    for (size_t i = 0; i < KIND_STATE_MAX; i++)
        buf_done(&names[i]);
}

/* ---- rights ---- */

struct rights_exam {
    struct cluster_exam *x;
    struct str user; /* empty: we ourselves */
    size_t n, n_missing;
    struct buf missing;
    struct err err; /* the question was refused */
};

static struct json *review_of(struct arena *a, const struct rights_exam *r, const struct install_right *right)
{
    struct json *review = object_new(a, "authorization.k8s.io/v1",
                                     r->user.n ? "SubjectAccessReview" : "SelfSubjectAccessReview", STR_NULL, STR_NULL);
    struct json *spec = json_set(review, "spec", json_object(a)),
                *what = json_set(spec, "resourceAttributes", json_object(a));

    json_remove(review, "metadata");
    if (r->user.n)
        json_set(spec, "user", json_str(a, r->user));
    json_set(what, "group", json_str(a, right->group));
    json_set(what, "resource", json_str(a, right->resource));
    json_set(what, "subresource", json_str(a, right->subresource));
    json_set(what, "verb", json_str(a, right->verb));
    if (right->name.n)
        json_set(what, "name", json_str(a, right->name));
    if (right->is_own_namespace)
        json_set(what, "namespace", json_str(a, r->x->namespace));
    return review;
}

static void ask_right(void *ctx, const struct install_right *right)
{
    struct rights_exam *r = ctx;
    autoarena scratch = { 0 };
    autobuf review = { 0 };
    struct json *answer;
    struct str path = r->user.n ? STR("/apis/authorization.k8s.io/v1/subjectaccessreviews")
                                : STR("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");

    if (r->err.code != ERR_OK)
        return;
    json_print(&review, review_of(&scratch, r, right));
    if (kube_ask_call(r->x->live->ask, &scratch,
                      &(struct kube_call){ .method = "POST", .path = path, .body = buf_view(&review) }, &answer,
                      &r->err) < 0)
        return;
    r->n++;
    if (json_bool(json_find(answer, "status", "allowed", NULL), false))
        return;
    if (r->n_missing++ < LISTED)
        buf_fmt(&r->missing, "%s%.*s %.*s%s%.*s", r->missing.n ? ", " : "", STR_ARG(right->verb),
                STR_ARG(right->resource), right->subresource.n ? "/" : "", STR_ARG(right->subresource));
}

static void exam_rights_of(struct rights_exam *r, const char *name, const char *whose)
{
    struct cluster_exam *x = r->x;

    install_rights(true, ask_right, r);
    if (r->err.code != ERR_OK)
        exam_fine(x, name, "you may not ask: %s", r->err.text);
    else if (!r->n_missing)
        exam_fine(x, name, "%s has all %zu that controller and scheduler need", whose, r->n);
    else
        exam_add(x, (struct host_check){ name, HOST_LIMITED,
                                         arena_fmt(x->arena, "%s lacks %zu of %zu: %s%s", whose, r->n_missing, r->n,
                                                   r->missing.p, r->n_missing > LISTED ? " …" : ""),
                                         "what they are for does not work; without --scheduler fewer are needed",
                                         STR(INSTALL_ROLES) });
    buf_done(&r->missing);
}

static void exam_rights(struct cluster_exam *x)
{
    struct rights_exam account = { .x = x }, self = { .x = x };
    struct json *found;
    struct err e;

    if (kube_ask_object(x->live->ask, x->arena,
                        &(struct object_key){ type_by_kind(STR("v1"), STR("ServiceAccount")), x->namespace,
                                              STR("pumice-controller") },
                        &found, &e) == 0) {
        account.user = arena_fmt(x->arena, "system:serviceaccount:%.*s:pumice-controller", STR_ARG(x->namespace));
        exam_rights_of(&account, "rights", "its account");
    } else {
        exam_rights_of(&self, "rights", "the user of this kubeconfig");
    }
}

/* ---- jobs ---- */

static void exam_jobs(struct cluster_exam *x)
{
    struct kube_list jobs = { 0 };
    size_t n_open = 0;
    struct err e;

    if (kube_ask_list(x->live->ask, x->arena, &(struct object_key){ type_by_name(STR("Job")) }, &jobs, &e) < 0)
        return; /* no such kind, or not ours to see */
    VEC_FOREACH(job, &jobs.items)
        n_open += !job_has_ended(job_phase_word(*job));
    exam_fine(x, "jobs", "%zu, %zu of them not over; the next controller goes on with their pods", jobs.items.n,
              n_open);
}

/* ---- feature gates ---- */

static bool gate_is_on(struct str metrics, const char *gate)
{
    autobuf name = { 0 };
    struct str line;

    buf_fmt(&name, "name=\"%s\"", gate);
    while (str_split(&metrics, '\n', &line))
        if (str_starts(line, STR("kubernetes_feature_enabled{")) && str_has(line, buf_view(&name)))
            return str_ends(line, STR(" 1"));
    return false;
}

static void exam_gates(struct cluster_exam *x)
{
    static const char *const gates[] = { "WatchList", "GenericWorkload", "GangScheduling" };
    autobuf on = { 0 };
    struct str text;
    struct err e;

    if (kube_ask_text(x->live->ask, x->arena, STR("/metrics"), &text, &e) < 0) {
        exam_fine(x, "gates", "they cannot be seen: %s", e.text);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(gates); i++)
        buf_fmt(&on, "%s%s %s", i ? ", " : "", gates[i], gate_is_on(text, gates[i]) ? "on" : "off");
    exam_fine(x, "gates", "%s; none is needed", on.p);
}

/* ---- gangs of the cluster's own ---- */

/* Versions of the group that the cluster serves, if ours is not one of them. */
static void print_versions(struct cluster_exam *x, struct buf *out)
{
    struct json *group;
    struct err e;

    if (kube_ask_get(x->live->ask, x->arena, STR("/apis/scheduling.k8s.io"), &group, &e) < 0)
        return;
    JSON_FOREACH(v, json_get(group, "versions"))
        buf_fmt(out, "%s%.*s", out->n ? ", " : "", STR_ARG(json_member_text(v, "version")));
}

static void exam_native(struct cluster_exam *x)
{
    autobuf versions = { 0 };
    struct err e;

    if (native_find(x->live->ask, &e) == 0) {
        exam_fine(
            x, "gangs",
            "%.*s has PodGroups: pumice controller --native-podgroups leaves gangs to kube-scheduler, if that has "
            "the gates too",
            STR_ARG(native_api_version(x->arena)));
        return;
    }
    print_versions(x, &versions);
    if (e.code == ERR_NOT_FOUND)
        exam_fine(x, "gangs",
                  "PodGroups are Volcano's; for --native-podgroups there is none of " NATIVE_NAMES
                  " (only %s): " NATIVE_SETTINGS,
                  versions.n ? versions.p : "none");
    else
        exam_fine(x, "gangs", "whether the cluster has its own cannot be seen: %s", e.text);
}

/* ---- all of it ---- */

static void summarize(struct cluster_exam *x)
{
    autobuf limits = { 0 };
    const struct host_check *bad = NULL;

    x->checks->can_run = true;
    VEC_FOREACH(c, &x->checks->list) {
        if (c->verdict == HOST_IMPOSSIBLE && !bad)
            bad = c;
        if (c->verdict == HOST_LIMITED && !str_has(buf_view(&limits), str_of(c->name)))
            buf_fmt(&limits, "%s%s", limits.n ? ", " : "", c->name);
    }
    x->checks->can_run = !bad;
    if (bad)
        x->checks->summary = arena_fmt(x->arena, "Jobs do not run in this cluster: %s: %.*s", bad->name,
                                       STR_ARG(bad->says));
    else
        x->checks->summary = arena_fmt(x->arena, "Jobs run in this cluster%s%.*s", limits.n ? "; with limits: " : "",
                                       STR_ARG(buf_view(&limits)));
}

void cluster_examine(struct live *live, struct str namespace, struct host_checks *ret)
{
    static void (*const parts[])(struct cluster_exam * x) = { exam_kinds,      exam_rights,   exam_controllers,
                                                              exam_schedulers, exam_webhooks, exam_gates,
                                                              exam_native,     exam_jobs };
    struct cluster_exam x = { .live = live, .arena = live->arena, .namespace = namespace, .checks = ret };

    if (exam_server(&x))
        for (size_t i = 0; i < ARRAY_LEN(parts); i++)
            parts[i](&x);
    summarize(&x);
}
