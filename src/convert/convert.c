/* convert.c - the frame of all conversions */
#include "convert/convert_internal.h"

#include "api/pod/container.h"
#include "api/job.h"
#include "api/meta.h"
#include "base/util.h"

#include <stdarg.h>

static const struct {
    const char *group, *kind; /* of any version */
    void (*convert)(struct conversion *c, const struct place *root);
} kinds[] = {
    { "batch", "Job", convert_batch_job },
    { "jobset.x-k8s.io", "JobSet", convert_jobset },
    { "kubeflow.org", "PyTorchJob", convert_pytorch },
    { "kubeflow.org", "MPIJob", convert_mpi },
};

static int convert_find_kind(const struct json *object)
{
    struct str version = object_api_version(object), kind = object_kind(object);
    ptrdiff_t slash = str_find_char(version, '/');

    for (size_t i = 0; i < ARRAY_LEN(kinds) && slash > 0; i++)
        if (str_is(str_sub(version, 0, (size_t)slash), kinds[i].group) && str_is(kind, kinds[i].kind))
            return (int)i;
    return -1;
}

bool convert_knows(const struct json *object)
{
    return convert_find_kind(object) >= 0;
}

/* ---- rows ---- */

static const struct row *find_row(const struct row *rows, size_t n, struct str field)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(field, rows[i].field))
            return &rows[i];
    return NULL;
}

static bool convert_is_empty(const struct json *j)
{
    return !j || j->type == JSON_NULL || ((j->type == JSON_OBJECT || j->type == JSON_ARRAY) && json_count(j) == 0);
}

void convert_rows(struct conversion *c, const struct place *at, const struct row *rows, size_t n, void *to)
{
    for (size_t i = 0; i < n; i++) {
        struct place field = place_member(at, rows[i].field);

        if (convert_is_empty(field.node))
            continue;
        if (rows[i].take)
            rows[i].take(to, &field);
        else if (rows[i].lost)
            problem_warn(c->problems, &field, "not carried over: %s", rows[i].lost);
    }
    JSON_FOREACH(member, json_is(at->node, JSON_OBJECT) ? at->node : NULL) {
        struct str name = json_key(member);
        struct place field = { at, member, name, 0 };

        if (!find_row(rows, n, name) && !convert_is_empty(member))
            problem_warn(c->problems, &field, "not carried over: unknown field");
    }
}

/* ---- tasks ---- */

/* Set by the system that ran the job, on it and on its pods; Volcano sets its own. */
static const struct {
    const char *of, *key;
} foreign[] = {
    { "labels", "controller-uid" },
    { "labels", "job-name" },
    { "labels", "batch.kubernetes.io/controller-uid" },
    { "labels", "batch.kubernetes.io/job-name" },
    { "annotations", "batch.kubernetes.io/job-tracking" },
    { "annotations", "kubectl.kubernetes.io/last-applied-configuration" },
};

static void clean_meta(struct json *meta)
{
    for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
        struct json *map = json_get(meta, foreign[i].of);

        json_remove(map, foreign[i].key);
        if (map && json_count(map) == 0)
            json_remove(meta, foreign[i].of);
    }
}

static void clean_template(struct json *template)
{
    struct json *meta = json_get(template, "metadata");

    clean_meta(meta);
    json_remove(meta, "creationTimestamp");
    if (meta && json_count(meta) == 0)
        json_remove(template, "metadata");
    json_remove(json_get(template, "spec"), "schedulerName");
}

/* Containers in a list, each of them an object: what everything below takes for granted. */
static bool convert_check_template(struct conversion *c, const struct place *template)
{
    struct place spec = place_member(template, "spec"), containers = place_member(&spec, "containers");
    bool fine = json_is(containers.node, JSON_ARRAY) && json_count(containers.node) > 0;

    CONTAINER_FOREACH(container, spec.node)
        fine = fine && json_is(container, JSON_OBJECT);
    if (!fine)
        problem_error(c->problems, &containers, "needs containers, each with a name and an image");
    return fine;
}

struct part convert_task(struct conversion *c, struct str name, const struct place *template)
{
    struct part p = { .all = c, .task = json_push(c->tasks, json_object(c->arena)), .replicas = 1 };
    struct json *copy = convert_check_template(c, template) ? json_copy(c->arena, template->node)
                                                            : json_object(c->arena);

    clean_template(copy);
    json_add(p.task, STR("name"), json_str(c->arena, name));
    json_add(p.task, STR("replicas"), json_int(c->arena, 1));
    json_set(p.task, "template", copy);
    p.pod = json_need_object(c->arena, copy, "spec");
    return p;
}

void part_replicas(struct part *p, int64_t n)
{
    p->replicas = n;
    json_set(p->task, "replicas", json_int(p->all->arena, n));
}

static void convert_add_policy(struct conversion *c, struct json *list, const char *event, int64_t exit_code,
                               const char *action)
{
    struct json *policy = json_push(list, json_object(c->arena));

    if (event)
        json_set(policy, "event", json_str(c->arena, str_of(event)));
    else
        json_set(policy, "exitCode", json_int(c->arena, exit_code));
    json_set(policy, "action", json_str(c->arena, str_of(action)));
}

void part_policy(struct part *p, const char *event, int64_t exit_code, const char *action)
{
    convert_add_policy(p->all, json_need_array(p->all->arena, p->task, "policies"), event, exit_code, action);
}

void convert_policy(struct conversion *c, const char *event, const char *action)
{
    convert_add_policy(c, json_need_array(c->arena, c->spec, "policies"), event, 0, action);
}

void part_on_failure(struct part *p, const char *action)
{
    part_policy(p, "PodFailed", 0, p->all->retries == 0 ? "TerminateJob" : action);
}

void part_never_in_place(struct part *p, const struct place *restart)
{
    if (str_is(json_text(restart->node, STR_NULL), "OnFailure"))
        problem_warn(
            p->all->problems, restart,
            "now Never: a container is not restarted in place, its pod is replaced, so that backoffLimit counts");
    json_set(p->pod, "restartPolicy", json_str(p->all->arena, STR("Never")));
}

static bool has_env(const struct json *container, const char *name)
{
    JSON_FOREACH(entry, json_get(container, "env"))
        if (str_is(json_member_text(entry, "name"), name))
            return true;
    return false;
}

void part_env(struct part *p, const char *name, struct json *source_or_value)
{
    CONTAINER_FOREACH(c, p->pod) {
        struct json *entry, *list = json_is(c, JSON_OBJECT) ? json_need_array(p->all->arena, c, "env") : NULL;

        if (!list || has_env(c, name))
            continue;
        entry = json_insert(list, 0, json_object(p->all->arena)); /* others may refer to it: $(NAME) */
        json_set(entry, "name", json_str(p->all->arena, str_of(name)));
        json_set(entry, json_is(source_or_value, JSON_OBJECT) ? "valueFrom" : "value",
                 json_copy(p->all->arena, source_or_value));
    }
}

/* ---- the job ---- */

struct json *convert_plugin(struct conversion *c, const char *name)
{
    return json_need_array(c->arena, json_need_object(c->arena, c->spec, "plugins"), name);
}

void convert_argument(struct conversion *c, struct json *arguments, const char *fmt, ...)
{
    autobuf text = { 0 };
    va_list ap;

    va_start(ap, fmt);
    buf_vfmt(&text, fmt, ap);
    va_end(ap);
    json_push(arguments, json_str(c->arena, arena_str(c->arena, buf_view(&text))));
}

void take_ttl(void *conversion, const struct place *at)
{
    struct conversion *c = conversion;

    json_set(c->spec, "ttlSecondsAfterFinished", json_copy(c->arena, at->node));
}

void take_suspend(void *conversion, const struct place *at)
{
    struct conversion *c = conversion;

    if (json_bool(at->node, false))
        problem_warn(
            c->problems, at,
            "not carried over: a Volcano Job starts when it is created; create it later, or in a closed queue");
}

static const char *const kueue_label = "kueue.x-k8s.io/queue-name";

static void take_metadata(struct conversion *c, const struct place *root)
{
    static const char *const kept[] = { "name", "generateName", "namespace", "labels", "annotations" };
    struct json *meta = json_need_object(c->arena, c->job, "metadata");
    struct place from = place_member(root, "metadata"), labels = place_member(&from, "labels"),
                 queue = place_member(&labels, kueue_label);

    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        const struct json *value = json_get(from.node, kept[i]);

        if (!convert_is_empty(value))
            json_set(meta, kept[i], json_copy(c->arena, value));
    }
    clean_meta(meta);
    if (queue.node)
        problem_warn(c->problems, &queue,
                     "a queue of Kueue; the Volcano Job has spec.queue instead, which is now \"%.*s\"",
                     STR_ARG(json_text(json_get(c->spec, "queue"), STR("default"))));
}

static int64_t count_pods(const struct conversion *c)
{
    int64_t n = 0;

    JSON_FOREACH(task, c->tasks)
        n += json_i64(json_get(task, "replicas"), 1);
    return n;
}

/* Members in the order in which people write them. */
static void order_spec(struct conversion *c)
{
    static const char *const order[] = { "schedulerName", "queue",    "priorityClassName",       "minAvailable",
                                         "minSuccess",    "maxRetry", "ttlSecondsAfterFinished", "plugins",
                                         "policies",      "tasks" };
    struct json *spec = json_object(c->arena);

    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        if (json_get(c->spec, order[i]))
            json_set(spec, order[i], json_copy(c->arena, json_get(c->spec, order[i])));
    json_set(c->job, "spec", spec);
}

struct json *convert_object(struct arena *a, const struct json *object, struct problems *ps)
{
    struct conversion c = { .arena = a, .problems = ps, .job = json_object(a), .retries = -1 };
    struct place root = { .node = object };
    int kind = convert_find_kind(object);
    size_t errors = ps->n_errors;

    if (kind < 0)
        return NULL;
    json_set(c.job, "apiVersion", json_str(a, STR(JOB_API_VERSION)));
    json_set(c.job, "kind", json_str(a, STR(JOB_KIND)));
    json_set(c.job, "metadata", json_object(a));
    c.spec = json_object(a);
    c.tasks = json_set(c.spec, "tasks", json_array(a));
    json_set(c.spec, "schedulerName", json_str(a, STR("volcano")));
    kinds[kind].convert(&c, &root);
    if (ps->n_errors != errors)
        return NULL;
    take_metadata(&c, &root);
    if (!json_get(c.spec, "minAvailable"))
        json_set(c.spec, "minAvailable", json_int(a, count_pods(&c)));
    if (c.retries > 0) /* a Volcano Job fails with the failure that reaches maxRetry: it has one retry less */
        json_set(c.spec, "maxRetry", json_int(a, c.retries + 1));
    order_spec(&c);
    return c.job;
}
