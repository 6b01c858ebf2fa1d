/* describe.c - what the driver knows, for people and for metrics; looking changes nothing */
#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "driver/driver_internal.h"

/* ---- how long things took ---- */

#define MS INT64_C(1000)

static const int64_t waits_us[LATENCY_BUCKETS] = {
    50 * MS,   100 * MS,  250 * MS,   500 * MS,   1000 * MS,  2500 * MS,
    5000 * MS, 7500 * MS, 10000 * MS, 20000 * MS, 30000 * MS, 60000 * MS
};
static const int64_t work_us[LATENCY_BUCKETS] = { 50,     100,     250,     500,      1 * MS,   2500,
                                                  5 * MS, 10 * MS, 25 * MS, 100 * MS, 500 * MS, 2500 * MS };

void latencies_init(struct driver_stats *s)
{
    s->pod_latency.bounds_us = s->bind_latency.bounds_us = s->gang_latency.bounds_us = waits_us;
    s->round_latency.bounds_us = work_us;
}

void latency_add(struct latency *l, int64_t us)
{
    us = MAX_OF(us, 0);
    l->n++;
    l->sum_us += (uint64_t)us;
    for (size_t i = 0; i < LATENCY_BUCKETS; i++)
        if (us <= l->bounds_us[i]) {
            l->buckets[i]++;
            return;
        }
}

/* ---- queues ---- */

static int describe_by_name(const void *x, const void *y)
{
    return str_cmp((*(const struct cache_queue *const *)x)->name, (*(const struct cache_queue *const *)y)->name);
}

void driver_queues(struct driver *d, struct arena *a, void (*each)(void *ctx, const struct driver_queue *q), void *ctx)
{
    VEC(const struct cache_queue *) list = { 0 };

    MAP_FOREACH(struct cache_queue *, q, &d->cache.queues)
        if (q->self)
            *vec_push(a, &list) = q;
    if (list.n)
        qsort(list.v, list.n, sizeof(*list.v), describe_by_name);
    VEC_FOREACH(at, &list) {
        const struct cache_queue *q = *at;
        struct driver_queue out = { .name = q->name,
                                    .pending = q->counts[0],
                                    .inqueue = q->counts[1],
                                    .running = q->counts[2],
                                    .unknown = q->counts[3],
                                    .completed = q->counts[4],
                                    .jobs_completed = q->n_completed,
                                    .jobs_failed = q->n_failed,
                                    .job_retries = q->n_retries };

        each(ctx, &out);
    }
}

/* ---- a job ---- */

static void describe_put_number(struct arena *a, struct json *to, const char *key, int64_t n)
{
    if (n)
        json_set(to, key, json_int(a, n));
}

static struct json *describe_task(struct arena *a, const struct cache_job *j, size_t pos)
{
    const struct task_pods *t = &j->pods.tasks[pos];
    struct json *task = json_object(a);

    json_set(task, "name", json_str(a, j->job.spec.tasks.v[pos].name));
    json_set(task, "replicas", json_int(a, j->job.spec.tasks.v[pos].replicas));
    for (int p = 0; p < POD_PHASE_MAX; p++)
        describe_put_number(a, task, pod_phase_names[p], t->live[p]);
    describe_put_number(a, task, "terminating", t->terminating);
    describe_put_number(a, task, "surplus", t->surplus);
    describe_put_number(a, task, "ready", t->ready);
    describe_put_number(a, task, "done", t->n_done);
    describe_put_number(a, task, "beingCreated", t->n_creating);
    return task;
}

static void describe_names(struct arena *a, struct json *to, const char *key, const struct list *objects)
{
    struct json *list = json_array(a);

    LIST_FOREACH(struct cached, o, objects, in_owner)
        json_push(list, json_fmt(a, "%s%s%s %.*s", o->object->type->kind, o->object->type->group[0] ? "." : "",
                                 o->object->type->group, STR_ARG(o->object->name)));
    if (json_count(list))
        json_set(to, key, list);
}

static struct json *describe_observed(struct arena *a, const struct cache_job *j)
{
    struct json *seen = json_object(a), *tasks = json_array(a);
    const struct json *status = json_get(j->object->root, "status");

    json_set(seen, "uid", json_str(a, j->object->uid));
    json_set(seen, "resourceVersion", json_fmt(a, "%llu", (unsigned long long)j->object->rev));
    json_set(seen, "phase", json_str(a, j->job.status.phase));
    json_set(seen, "version", json_int(a, j->job.status.version));
    json_set(seen, "retryCount", json_int(a, j->job.status.retry_count));
    if (json_get(status, "state"))
        json_set(seen, "state", json_copy(a, json_get(status, "state")));
    for (size_t i = 0; i < j->pods.n_tasks && i < j->job.spec.tasks.n; i++)
        json_push(tasks, describe_task(a, j, i));
    json_set(seen, "tasks", tasks);
    describe_put_number(a, seen, "podsBeingDeleted", j->pods.n_deleting);
    describe_names(a, seen, "podGroups", &j->groups);
    describe_names(a, seen, "objects", &j->owned);
    describe_names(a, seen, "commands", &j->commands);
    if (!str_empty(j->spec_problem))
        json_set(seen, "specProblem", json_str(a, j->spec_problem));
    return seen;
}

enum { WRITES_SHOWN = 100 };

static struct json *describe_next(struct driver *d, struct arena *a, struct cache_job *j)
{
    struct json *next = json_object(a), *writes = json_array(a);
    /* Not the time of the last turn, which may be long ago. */
    struct plan plan = { .arena = a, .now_ms = cluster_now_ms(d->cluster) };
    autobuf at = { 0 };

    driver_preview_job(d, j, &plan);
    for (size_t i = 0; i < plan.ops.n && i < WRITES_SHOWN; i++) {
        const struct op *op = &plan.ops.v[i];
        struct str name = op->name.n || !op->body ? op->name : object_name(op->body);

        json_push(writes, json_fmt(a, "%s %s %.*s", op_verb(op->kind), op->type->kind, STR_ARG(name)));
    }
    json_set(next, "writes", writes);
    describe_put_number(a, next, "moreWrites", plan.ops.n > WRITES_SHOWN ? (int64_t)plan.ops.n - WRITES_SHOWN : 0);
    if (plan.wake_ms) {
        clock_print(&at, plan.wake_ms);
        json_set(next, "lookAgain", json_str(a, arena_str(a, buf_view(&at))));
    }
    return next;
}

struct json *driver_describe_job(struct driver *d, struct arena *a, struct str namespace, struct str name)
{
    struct cache_job *j = map_get(&d->cache.jobs_name, arena_fmt(a, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(name)));
    struct str key;
    struct json *all;

    if (!j || !j->object)
        return NULL;
    key = arena_str(a, driver_key(d, KEY_JOB, str_of(j->uid)));
    all = json_object(a);
    json_set(all, "job", json_str(a, str_of(j->name_key)));
    json_set(all, "observed", describe_observed(a, j));
    json_set(all, "inFlight", requests_describe(d, a, key));
    if (j->drive.trouble.n)
        json_set(all, "trouble", json_str(a, buf_view(&j->drive.trouble)));
    json_set(all, "waitsForAnswers", json_bool_new(a, request_is_busy(d, key)));
    if (!request_is_busy(d, key)) /* else it is planned when the answers are there, and from them */
        json_set(all, "next", describe_next(d, a, j));
    return all;
}
