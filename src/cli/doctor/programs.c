/* programs.c - who runs and places the Jobs of a cluster, ours or Volcano's, and who stands in the way of new
 * ones
 *
 * Programs are found by their Deployments: Volcano's by the names of its images, which every way to install it keeps,
 * ours by its label. A controller outside of the cluster is known by its Lease.
 */
#include "cli/doctor/doctor.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"

#define INSTALL "pumice install --dry-run | kubectl apply -f -"

enum { LEASE_FRESH_MS = 60000 };

static const struct resource_type deployments = { "apps",           "v1",     "Deployment", "deployments", { NULL },
                                                  SCOPE_NAMESPACED, { NULL }, NULL,         NULL };

struct program { /* a Deployment that is to run */
    struct str namespace, name, image;
    int64_t wanted, ready;
    const struct json *deployment;
};

/* ---- finding ---- */

static void list_programs(struct cluster_exam *x)
{
    struct err e;

    if (!x->has_programs)
        x->has_programs = kube_ask_list(x->live->ask, x->arena, &(struct object_key){ &deployments }, &x->programs,
                                        &e) == 0;
}

static const struct json *programs_container_of(const struct json *deployment)
{
    return json_first(json_find(deployment, "spec", "template", "spec", "containers", NULL));
}

static bool programs_has_word(const struct json *list, const char *word)
{
    JSON_FOREACH(item, list)
        if (str_has(json_text(item, STR("")), str_of(word)))
            return true;
    return false;
}

static bool programs_is_ours(const struct json *deployment, bool schedules)
{
    const struct json *c = programs_container_of(deployment);

    return str_is(object_label(deployment, "app.kubernetes.io/name"), "pumice") &&
           (!schedules || programs_has_word(json_get(c, "command"), "--scheduler") ||
            programs_has_word(json_get(c, "args"), "--scheduler"));
}

/* Of Volcano, by a part of its image's name; of ours, with NULL. One that is scaled to nothing is none. */
static bool find_program(struct cluster_exam *x, const char *image, bool schedules, struct program *ret)
{
    list_programs(x);
    VEC_FOREACH(d, &x->programs.items) {
        int64_t wanted = json_i64(json_find(*d, "spec", "replicas", NULL), 1);
        struct str own = json_member_text(programs_container_of(*d), "image");

        if (wanted == 0 || !(image ? str_has(own, str_of(image)) : programs_is_ours(*d, schedules)))
            continue;
        *ret = (struct program){ object_namespace(*d),
                                 object_name(*d),
                                 own,
                                 wanted,
                                 json_i64(json_find(*d, "status", "readyReplicas", NULL), 0),
                                 *d };
        return true;
    }
    return false;
}

/* ---- controllers ---- */

/* The holder of the Lease if it was renewed a moment ago, in any namespace. */
static struct str fresh_holder(struct cluster_exam *x)
{
    struct json *list;
    struct err e;

    if (kube_ask_get(x->live->ask, x->arena,
                     STR("/apis/coordination.k8s.io/v1/leases?fieldSelector=metadata.name%3Dvc-controller-manager"),
                     &list, &e) < 0)
        return STR_NULL;
    JSON_FOREACH(lease, json_get(list, "items")) {
        const struct json *spec = json_get(lease, "spec");
        int64_t ms = 0;

        if (json_member_text(spec, "holderIdentity").n &&
            clock_parse(json_member_text(spec, "renewTime"), &ms, NULL) == 0 &&
            clock_now_ms(&clock_real) - ms < LEASE_FRESH_MS)
            return json_member_text(spec, "holderIdentity");
    }
    return STR_NULL;
}

static struct str scale_down(struct cluster_exam *x, const struct program *p)
{
    return arena_fmt(x->arena, "kubectl scale -n %.*s deployment %.*s --replicas=0", STR_ARG(p->namespace),
                     STR_ARG(p->name));
}

static void say_ours(struct cluster_exam *x, const char *name, const struct program *p)
{
    exam_add(x, (struct host_check){ name, p->ready ? HOST_FINE : HOST_LIMITED,
                                     arena_fmt(x->arena, "Pumice: %.*s/%.*s (%.*s), %lld of %lld ready",
                                               STR_ARG(p->namespace), STR_ARG(p->name), STR_ARG(p->image),
                                               (long long)p->ready, (long long)p->wanted),
                                     p->ready ? "" : "none of its pods is ready: jobs wait",
                                     p->ready ? STR_NULL
                                              : arena_fmt(x->arena, "kubectl logs -n %.*s deployment/%.*s",
                                                          STR_ARG(p->namespace), STR_ARG(p->name)) });
}

static void say_both(struct cluster_exam *x, const char *name, const struct program *ours, const struct program *theirs)
{
    exam_add(x,
             (struct host_check){ name, HOST_IMPOSSIBLE,
                                  arena_fmt(x->arena, "two at once: Pumice (%.*s/%.*s) and Volcano (%.*s/%.*s)",
                                            STR_ARG(ours->namespace), STR_ARG(ours->name), STR_ARG(theirs->namespace),
                                            STR_ARG(theirs->name)),
                                  "both write the same objects; one of them must stop. Pods are not restarted by that",
                                  scale_down(x, theirs) });
}

static void say_theirs(struct cluster_exam *x, const char *name, const struct program *p, const char *install)
{
    exam_add(x, (struct host_check){ name, HOST_LIMITED,
                                     arena_fmt(x->arena, "Volcano: %.*s/%.*s (%.*s), %lld of %lld ready",
                                               STR_ARG(p->namespace), STR_ARG(p->name), STR_ARG(p->image),
                                               (long long)p->ready, (long long)p->wanted),
                                     "to take over, stop it first; running jobs go on, and no pod is restarted",
                                     arena_fmt(x->arena, "%s && %s", scale_down(x, p).p, install) });
}

void exam_controllers(struct cluster_exam *x)
{
    struct program ours, theirs;
    bool has_ours = find_program(x, NULL, false, &ours),
         has_theirs = find_program(x, "vc-controller-manager", false, &theirs);
    struct str holder;

    if (has_ours && has_theirs) {
        say_both(x, "controller", &ours, &theirs);
    } else if (has_ours) {
        say_ours(x, "controller", &ours);
    } else if (has_theirs) {
        say_theirs(x, "controller", &theirs, INSTALL);
    } else if ((holder = fresh_holder(x)).n) {
        exam_fine(x, "controller", "outside of the cluster: %.*s", STR_ARG(holder));
    } else if (!x->has_programs) {
        exam_fine(x, "controller", "you may not look at Deployments");
    } else {
        exam_add(x, (struct host_check){ "controller", HOST_IMPOSSIBLE, STR("there is none"),
                                         "no controller runs Jobs here", STR(INSTALL) });
    }
}

/* ---- schedulers ---- */

void exam_schedulers(struct cluster_exam *x)
{
    struct program ours, theirs;
    bool has_ours = find_program(x, NULL, true, &ours), has_theirs = find_program(x, "vc-scheduler", false, &theirs);

    if (has_ours && has_theirs)
        say_both(x, "scheduler", &ours, &theirs);
    else if (has_ours)
        say_ours(x, "scheduler", &ours);
    else if (has_theirs)
        exam_fine(x, "scheduler", "Volcano: %.*s/%.*s (%.*s), which works with our controller too",
                  STR_ARG(theirs.namespace), STR_ARG(theirs.name), STR_ARG(theirs.image));
    else if (x->has_programs)
        exam_add(
            x, (struct host_check){
                   "scheduler", HOST_LIMITED, STR("there is none for Jobs in the cluster"),
                   "pods of jobs with schedulerName volcano (the default) wait, unless one runs outside of the cluster",
                   STR("pumice install --dry-run --scheduler | kubectl apply -f -") });
    if (has_ours || has_theirs)
        exam_scheduler_config(x, has_ours ? ours.deployment : theirs.deployment);
}

/* ---- webhooks ---- */

/* Does it want to see our kinds, or pods for their sake? */
static bool is_about_jobs(const struct json *hook)
{
    JSON_FOREACH(rule, json_get(hook, "rules"))
        if (programs_has_word(json_get(rule, "apiGroups"), ".volcano.sh"))
            return true;
    return str_has(json_member_text(hook, "name"), STR("volcano"));
}

static bool has_endpoints(struct cluster_exam *x, const struct json *service)
{
    struct str path = arena_fmt(x->arena,
                                "/apis/discovery.k8s.io/v1/namespaces/%.*s/endpointslices?labelSelector="
                                "kubernetes.io%%2Fservice-name%%3D%.*s",
                                STR_ARG(json_member_text(service, "namespace")),
                                STR_ARG(json_member_text(service, "name")));
    struct json *list;
    struct err e;

    if (kube_ask_get(x->live->ask, x->arena, path, &list, &e) < 0)
        return true; /* not ours to see: no reason to complain */
    JSON_FOREACH(slice, json_get(list, "items"))
        JSON_FOREACH(endpoint, json_get(slice, "endpoints"))
            if (json_bool(json_find(endpoint, "conditions", "ready", NULL), true))
                return true;
    return false;
}

enum { HOOK_KINDS = 2 };
static const char *const hook_plurals[HOOK_KINDS] = { "mutatingwebhookconfigurations",
                                                      "validatingwebhookconfigurations" };

struct hook_server { /* a Service that answers webhooks */
    struct str name; /* "namespace/name" */
    size_t n;
    struct str configs[HOOK_KINDS]; /* names, each with a space before it */
};

struct hooks_exam {
    struct cluster_exam *x;
    size_t n, n_dead, n_elsewhere; /* elsewhere: at an address of their own, which only the API server reaches */
    VEC(struct hook_server) servers;
};

static void note_server(struct hooks_exam *h, const struct json *config, size_t kind, const struct json *service)
{
    struct str name = arena_fmt(h->x->arena, "%.*s/%.*s", STR_ARG(json_member_text(service, "namespace")),
                                STR_ARG(json_member_text(service, "name")));
    struct str config_name = arena_fmt(h->x->arena, " %.*s", STR_ARG(object_name(config)));
    struct hook_server *server = NULL;

    VEC_FOREACH(s, &h->servers)
        if (str_eq(s->name, name))
            server = s;
    if (!server) {
        server = vec_push(h->x->arena, &h->servers);
        *server = (struct hook_server){ .name = name };
    }
    server->n++;
    if (!str_ends(server->configs[kind], config_name))
        server->configs[kind] = arena_cat(h->x->arena, server->configs[kind], config_name);
}

/* Webhooks of ours and of another system can coexist, but one whose server is uninstalled blocks the requests that wait
 * for it. */
static bool tell_servers(struct hooks_exam *h)
{
    struct str own = arena_cat(h->x->arena, h->x->namespace, STR("/"));
    autobuf all = { 0 }, fix = { 0 };
    size_t n_others = 0;

    VEC_FOREACH(s, &h->servers) {
        buf_fmt(&all, "%s%zu by %.*s", all.n ? ", " : "", s->n, STR_ARG(s->name));
        if (str_starts(s->name, own))
            continue;
        n_others++;
        for (size_t i = 0; i < HOOK_KINDS; i++)
            if (s->configs[i].n)
                buf_fmt(&fix, "%skubectl delete %s%.*s", fix.n ? " && " : "", hook_plurals[i], STR_ARG(s->configs[i]));
    }
    if (!n_others || n_others == h->servers.n)
        return false;
    exam_add(
        h->x,
        (struct host_check){
            "webhooks", HOST_LIMITED, arena_fmt(h->x->arena, "of more than one program: %s", all.p),
            "a request has to please each of them, and is refused while one that must answer is away; ours are enough",
            arena_str(h->x->arena, buf_view(&fix)) });
    return true;
}

/* The Deployment whose pods the Service selects; NULL: there is none, or it cannot be seen. */
static const struct json *deployment_behind(struct cluster_exam *x, const struct json *service)
{
    struct str namespace = json_member_text(service, "namespace");
    const struct json *selector;
    struct json *found;
    struct err e;

    list_programs(x);
    if (kube_ask_object(x->live->ask, x->arena,
                        &(struct object_key){ type_by_kind(STR("v1"), STR("Service")), namespace,
                                              json_member_text(service, "name") },
                        &found, &e) < 0)
        return NULL;
    selector = json_find(found, "spec", "selector", NULL);
    VEC_FOREACH(d, &x->programs.items) {
        const struct json *labels = json_find(*d, "spec", "template", "metadata", "labels", NULL);
        bool is_selected = json_count(selector) > 0 && str_eq(object_namespace(*d), namespace);

        JSON_FOREACH(want, selector)
            is_selected = is_selected &&
                          str_eq(json_text(json_get_str(labels, json_key(want)), STR("")), json_text(want, STR("")));
        if (is_selected)
            return *d;
    }
    return NULL;
}

/* Pods that are down are to be brought up: who deletes the configuration takes every check of new objects away. Only what
 * has no program behind it is left over, and may go. */
static struct str cure_of_hook(struct cluster_exam *x, const struct json *config, size_t kind,
                               const struct json *service)
{
    const struct json *d = deployment_behind(x, service);

    if (!d)
        return arena_fmt(x->arena, "kubectl delete %s %.*s", hook_plurals[kind], STR_ARG(object_name(config)));
    if (json_i64(json_find(d, "spec", "replicas", NULL), 1) == 0)
        return arena_fmt(x->arena, "kubectl scale -n %.*s deployment %.*s --replicas=2", STR_ARG(object_namespace(d)),
                         STR_ARG(object_name(d)));
    return arena_fmt(x->arena, "kubectl describe -n %.*s deployment %.*s", STR_ARG(object_namespace(d)),
                     STR_ARG(object_name(d)));
}

static void look_at_hook(struct hooks_exam *h, const struct json *config, size_t kind, const struct json *hook)
{
    const struct json *service = json_find(hook, "clientConfig", "service", NULL);
    bool is_strict = !str_is(json_member_text(hook, "failurePolicy"), "Ignore");

    if (!is_about_jobs(hook))
        return;
    h->n++;
    h->n_elsewhere += !service;
    if (service)
        note_server(h, config, kind, service);
    if (!service || has_endpoints(h->x, service))
        return;
    h->n_dead++;
    exam_add(h->x,
             (struct host_check){
                 "webhooks", is_strict ? HOST_IMPOSSIBLE : HOST_LIMITED,
                 arena_fmt(h->x->arena, "%.*s does not answer: the Service %.*s/%.*s has no endpoints",
                           STR_ARG(json_member_text(hook, "name")), STR_ARG(json_member_text(service, "namespace")),
                           STR_ARG(json_member_text(service, "name"))),
                 is_strict
                     ? "every request it wants to see is refused; without it bad jobs are found by kinds and controller"
                     : "it is asked in vain, and passed over",
                 cure_of_hook(h->x, config, kind, service) });
}

void exam_webhooks(struct cluster_exam *x)
{
    struct hooks_exam h = { .x = x };

    for (size_t i = 0; i < HOOK_KINDS; i++) {
        struct json *list;
        struct err e;

        if (kube_ask_get(x->live->ask, x->arena,
                         arena_fmt(x->arena, "/apis/admissionregistration.k8s.io/v1/%s", hook_plurals[i]), &list,
                         &e) < 0) {
            exam_fine(x, "webhooks", "you may not look at them");
            return;
        }
        JSON_FOREACH(config, json_get(list, "items"))
            JSON_FOREACH(hook, json_get(config, "webhooks"))
                look_at_hook(&h, config, i, hook);
    }
    if (tell_servers(&h))
        return;
    if (!h.n_dead && h.n_elsewhere)
        exam_fine(x, "webhooks",
                  "%zu for Jobs and their neighbours; %zu of them at an address of their own (clientConfig.url), "
                  "which was not checked",
                  h.n, h.n_elsewhere);
    else if (!h.n_dead && h.n)
        exam_fine(x, "webhooks", "%zu for Jobs and their neighbours, and they answer", h.n);
    else if (!h.n)
        exam_fine(x, "webhooks", "none for Jobs; the definitions and the controller check them");
}
