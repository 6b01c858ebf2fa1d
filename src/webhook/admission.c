/* admission.c - answers to AdmissionReviews */
#include "webhook/admission.h"

#include "admission/admission.h"
#include "api/meta.h"
#include "api/types.h"
#include "base/util.h"
#include "json/patch.h"
#include "json/schema.h"

#define API_VERSION "admission.k8s.io/v1"

struct admission_review {
    struct arena *arena;
    struct json *object; /* NULL: it is being deleted */
    const struct json *old;
    struct str operation;
    struct admit_env env;
    struct problems problems;
};

static const struct admission_path {
    const char *path, *group, *kind;
    bool mutates, sees_deletes; /* mutates: what is wrong is for the other to tell */
} paths[] = {
    { "/jobs/mutate", "batch.volcano.sh", "Job", true, false },
    { "/jobs/validate", "batch.volcano.sh", "Job", false, false },
    { "/queues/mutate", "scheduling.volcano.sh", "Queue", true, false },
    { "/queues/validate", "scheduling.volcano.sh", "Queue", false, true },
    { "/podgroups/mutate", "scheduling.volcano.sh", "PodGroup", true, false },
    { "/podgroups/validate", "scheduling.volcano.sh", "PodGroup", false, false },
    { "/jobflows/validate", "flow.volcano.sh", "JobFlow", false, false },
    { "/jobtemplates/validate", "flow.volcano.sh", "JobTemplate", false, false },
    { "/cronjobs/validate", "batch.volcano.sh", "CronJob", false, false },
    { "/hypernodes/validate", "topology.volcano.sh", "HyperNode", false, false },
    { "/pods/mutate", "", "Pod", true, false },
    { "/pods/validate", "", "Pod", false, false },
};

static const struct admission_path *find_path(struct str path)
{
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        if (str_is(path, paths[i].path))
            return &paths[i];
    return NULL;
}

/* ---- the response ---- */

static void add_warnings(struct arena *a, struct json *response, const struct problems *ps)
{
    enum { WARNINGS = 16, LENGTH = 250 }; /* more is cut by the API server */
    struct json *list = NULL;
    size_t n = 0;

    VEC_FOREACH(p, &ps->list) {
        if (p->level != PROBLEM_WARNING || n++ >= WARNINGS)
            continue;
        if (!list)
            list = json_add(response, STR("warnings"), json_array(a));
        json_push(list, json_str(a, str_cut(arena_fmt(a, "%.*s: %.*s", STR_ARG(p->path), STR_ARG(p->text)), LENGTH)));
    }
}

static void add_denial(struct arena *a, struct json *response, struct problems *ps)
{
    struct json *status = json_add(response, STR("status"), json_object(a));

    problems_sort(ps);
    json_add(status, STR("status"), json_str(a, STR("Failure")));
    json_add(status, STR("code"), json_int(a, 422));
    json_add(status, STR("reason"), json_str(a, STR("Invalid")));
    json_add(status, STR("message"), json_str(a, problems_join(a, ps)));
}

static void add_patch(struct arena *a, struct json *response, const struct json *before, const struct json *after)
{
    struct json *ops = json_diff(a, before, after);
    autobuf text = { 0 }, coded = { 0 };

    if (!json_count(ops))
        return;
    json_print(&text, ops);
    buf_base64(&coded, buf_view(&text));
    json_add(response, STR("patchType"), json_str(a, STR("JSONPatch")));
    json_add(response, STR("patch"), json_str(a, arena_str(a, buf_view(&coded))));
}

static void print_response(struct arena *a, struct json *response, struct buf *out)
{
    struct json *review = json_object(a);

    json_add(review, STR("apiVersion"), json_str(a, STR(API_VERSION)));
    json_add(review, STR("kind"), json_str(a, STR("AdmissionReview")));
    json_add(review, STR("response"), response);
    json_print(out, review);
}

/* ---- the request ---- */

/* Of deletes only Queues are looked at; status and other subresources are the controllers' own. */
static bool is_looked_at(const struct admission_path *p, const struct admission_review *r, const struct json *request)
{
    if (json_member_text(request, "subResource").n)
        return false;
    if (str_is(r->operation, "DELETE"))
        return p->sees_deletes;
    if (!json_is(r->object, JSON_OBJECT) || !(str_is(r->operation, "CREATE") || str_is(r->operation, "UPDATE")))
        return false;
    return !json_find(r->object, "metadata", "deletionTimestamp", NULL);
}

/* Of Volcano's kinds: Pods are Kubernetes' own, and may be younger than this program. */
static const struct schema *schema_of(const struct admission_path *p)
{
    for (size_t i = 0; i < n_resource_types && p->group[0]; i++)
        if (strcmp(resource_types[i].group, p->group) == 0 && strcmp(resource_types[i].kind, p->kind) == 0)
            return resource_types[i].schema;
    return NULL;
}

static void admission_admit_object(const struct admission_path *p, struct admission_review *r)
{
    struct admission_call call = {
        .arena = r->arena, .object = r->object, .old = r->old, .env = &r->env, .problems = &r->problems
    };

    if (r->object)
        (void)admission_admit(p->mutates ? ADMISSION_DEFAULT : ADMISSION_WRITE, p->group, p->kind, &call);
    else if (r->old)
        (void)admission_admit(ADMISSION_DELETE, p->group, p->kind, &call);
}

/* Defaults and rules rely on types. The API server asks those who change objects before it asks its own schema. */
static void admit_shaped(const struct admission_path *p, struct admission_review *r)
{
    const struct schema *schema = r->object ? schema_of(p) : NULL;
    struct problems ps = { .arena = r->arena };
    struct place root = { .node = r->object };

    if (schema)
        schema_check(schema, &root, &ps);
    r->env.is_clean = schema && !ps.list.n;
    if (ps.n_shapes)
        r->problems = ps;
    else
        admission_admit_object(p, r);
}

static void webhook_admission_answer(const struct admission_path *p, struct admission_review *r,
                                     const struct json *request, struct admission_answer *ret)
{
    struct json *response = json_object(r->arena), *before = r->object ? json_copy(r->arena, r->object) : NULL;
    bool is_wrong;

    if (is_looked_at(p, r, request) && !(p->mutates && r->old))
        admit_shaped(p, r);
    is_wrong = !p->mutates && r->problems.n_errors > 0;
    json_add(response, STR("uid"), json_str(r->arena, json_member_text(request, "uid")));
    json_add(response, STR("allowed"), json_bool_new(r->arena, !is_wrong));
    if (is_wrong)
        add_denial(r->arena, response, &r->problems);
    if (p->mutates && before)
        add_patch(r->arena, response, before, r->object);
    else if (!p->mutates)
        add_warnings(r->arena, response, &r->problems);
    print_response(r->arena, response, &ret->body);
    ret->status = 200;
    ret->is_allowed = !is_wrong;
}

static void admission_refuse(struct admission_answer *ret, int status, const char *why)
{
    ret->status = status;
    buf_fmt(&ret->body, "%s\n", why);
}

static bool admission_is_kind(const struct admission_path *p, const struct json *request)
{
    const struct json *kind = json_get(request, "kind");

    return str_is(json_member_text(kind, "group"), p->group) && str_is(json_member_text(kind, "kind"), p->kind);
}

void admission_review(struct str path, struct str body, const struct admit_env *env, struct admission_answer *ret)
{
    const struct admission_path *p = find_path(path);
    autoarena a = { 0 };
    struct admission_review r = { .arena = &a, .problems.arena = &a, .env = *env };
    struct json *review, *request;
    struct err e;

    *ret = (struct admission_answer){ 0 };
    if (!p) {
        admission_refuse(ret, 404, "no such webhook");
    } else if (json_parse(&a, body, NULL, &review, &e) < 0) {
        admission_refuse(ret, 400, arena_fmt(&a, "request body: %s", e.text).p);
    } else if (!str_is(object_api_version(review), API_VERSION) || !str_is(object_kind(review), "AdmissionReview")) {
        admission_refuse(ret, 400, "request body: must be an AdmissionReview of " API_VERSION);
    } else if (request = json_get(review, "request"), !json_member_text(request, "uid").n) {
        admission_refuse(ret, 400, "request.uid: is required");
    } else if (!admission_is_kind(p, request)) {
        admission_refuse(ret, 400, arena_fmt(&a, "request.kind: %s is for %s only", p->path, p->kind).p);
    } else {
        r.object = json_get(request, "object");
        r.object = json_is(r.object, JSON_OBJECT) ? r.object : NULL;
        r.old = json_get(request, "oldObject");
        r.old = json_is(r.old, JSON_OBJECT) ? r.old : NULL;
        r.operation = json_member_text(request, "operation");
        r.env.namespace = json_member_text(request, "namespace");
        webhook_admission_answer(p, &r, request, ret);
    }
}
