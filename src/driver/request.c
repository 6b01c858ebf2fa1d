/* request.c - writes and reads in flight, and their answers
 *
 * If a write succeeds, its object goes into the cache at once. If it fails in an ordinary way (exists, conflict, not
 * found) or its outcome is unknown, the object is read again before the request ends, so that the next plan starts from
 * the current state. Reads are repeated until one is answered: until then nothing can be done about that object.
 *
 *     ON_ITS_WAY ──good──────────────────────▶ ends
 *       │ ─────refused, and that is final─────▶ ends, the key backs off
 *       ├──ordinary refusal, unknown, 60 s──▶ READING ──answered──▶ ends, the key backs off
 *                                               ▲ │ error, 60 s
 *                                               └ RESTING
 */
#include "api/meta.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "driver/driver_internal.h"
#include "job/phase.h"

enum request_state { ON_ITS_WAY, READING, RESTING };

struct request {
    struct list_link link; /* driver.all_requests */
    struct heap_node node; /* driver.timers */
    int64_t due_ms;        /* of run_ms */
    uint64_t seq, token;
    enum request_state state;
    bool is_write; /* else only a question */
    bool blocks;   /* the key waits for it */
    bool is_loose; /* a failure is ignored */
    bool is_doubt; /* a question about a pod that should be there: task and index */
    bool has_failed;
    unsigned reads;
    struct err *error; /* of the write, once it has failed */
    enum op_kind kind;
    const struct resource_type *type;
    size_t task; /* a pod being created */
    uint32_t index;
    int64_t sent_ms;                      /* by the wall clock, as the slot of the pod has it */
    enum job_phase end;                   /* a status of a job that ends it so; else PHASE_NONE */
    uint32_t retries;                     /* … with so many more of them */
    struct str key, namespace, name, uid; /* the bytes follow this struct; uid: what we think is there */
    char known_uid[CACHE_UID_MAX];        /* READING: what the cache had when the question was sent */
};

struct busy {
    unsigned n;
    struct str key; /* the bytes follow this struct */
};

static int request_earlier(const struct heap_node *a, const struct heap_node *b)
{
    const struct request *x = HEAP_ITEM(a, const struct request, node), *y = HEAP_ITEM(b, const struct request, node);

    if (x->due_ms != y->due_ms)
        return x->due_ms < y->due_ms ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

void requests_init(struct driver *d, uint64_t seed)
{
    map_u64_init(&d->requests, seed);
    recorder_init(&d->recorder, seed);
    map_init(&d->busy, seed);
    heap_init(&d->timers, request_earlier);
    list_init(&d->all_requests);
}

void requests_done(struct driver *d)
{
    heap_done(&d->timers);
    LIST_FOREACH(struct request, f, &d->all_requests, link) {
        free(f->error);
        free(f);
    }
    MAP_FOREACH(struct busy *, b, &d->busy)
        free(b);
    map_u64_done(&d->requests);
    recorder_done(&d->recorder);
    map_done(&d->busy);
}

/* ---- keys that wait ---- */

bool request_is_busy(const struct driver *d, struct str key)
{
    return map_get(&d->busy, key);
}

static void busy_add(struct driver *d, struct str key)
{
    struct busy *b = map_get(&d->busy, key);
    char *text;

    if (!b) {
        b = xcalloc(1, sizeof(*b) + key.n + 1);
        text = (char *)(b + 1);
        memcpy(text, key.p, key.n);
        b->key = (struct str){ text, key.n };
        map_put(&d->busy, b->key, b);
    }
    b->n++;
}

static void busy_drop(struct driver *d, struct str key)
{
    struct busy *b = map_get(&d->busy, key);

    if (--b->n)
        return;
    map_remove(&d->busy, b->key);
    free(b);
}

/* ---- requests ---- */

static struct request *request_new(struct driver *d, struct str key, struct object_id id)
{
    struct request *f = xcalloc(1, sizeof(*f) + key.n + id.namespace.n + id.name.n + id.uid.n);
    char *text = (char *)(f + 1);

    f->type = id.type;
    f->seq = ++d->request_seq;
    f->key = text_put(&text, key);
    f->namespace = text_put(&text, id.namespace);
    f->name = text_put(&text, id.name);
    f->uid = text_put(&text, id.uid);
    list_push(&d->all_requests, &f->link);
    return f;
}

static void request_set_timer(struct driver *d, struct request *f, int64_t delay_ms)
{
    heap_remove(&d->timers, &f->node);
    f->due_ms = d->run_ms + delay_ms;
    heap_push(&d->timers, &f->node);
}

static void set_token(struct driver *d, struct request *f, uint64_t token)
{
    if (f->token)
        map_u64_remove(&d->requests, f->token);
    f->token = token;
    if (token)
        map_u64_put(&d->requests, token, f);
}

static bool is_pod_create(const struct request *f)
{
    return f->is_write && f->type == known_types()->pod && f->kind == OP_CREATE;
}

/* The slot of a pod that was asked for: the answer is there. Not the one of a later request for the same index. */
static void pod_create_lands(struct cache_job *j, const struct request *f)
{
    const struct task_pods *t = f->task < j->pods.n_tasks ? &j->pods.tasks[f->task] : NULL;

    j->drive.n_creates -= j->drive.n_creates > 0;
    if (t && f->index < t->n && t->slots[f->index].flight_ms == f->sent_ms)
        pods_flight_off(&j->pods, f->task, f->index);
}

static void pod_delete_lands(struct cache_job *j, const struct request *f)
{
    struct job_pod *pod = pods_get(&j->pods, f->name);

    if (pod && str_is(f->uid, pod->view.uid))
        pods_flight_delete_off(&j->pods, pod);
}

/* Queue the key again: at once, or after its back-off. */
static void wake_key(struct driver *d, const struct request *f)
{
    struct cache_job *j = driver_key_job(d, f->key);
    int64_t delay;

    if (str_empty(f->key) || str_starts(f->key, STR(KEY_SCHED)) || (str_starts(f->key, STR(KEY_JOB)) && !j))
        return;
    if (!f->has_failed) {
        /* A pod's own news may have come before this answer, when the window was still full. */
        if (f->blocks || (j && is_pod_create(f) && j->drive.n_creates + 2 >= j->drive.window))
            work_queue_add(&d->queue, f->key);
        return;
    }
    if (j && is_pod_create(f) && d->run_ms < j->drive.no_create_until)
        return; /* of many writes that failed together only one counts */
    delay = work_queue_add_failed(&d->queue, f->key, d->run_ms);
    if (j)
        j->drive.trouble_until = d->run_ms + 2 * delay + TROUBLE_STAYS_MS;
    if (j && is_pod_create(f))
        j->drive.no_create_until = d->run_ms + delay;
}

static void request_end(struct driver *d, struct request *f)
{
    struct cache_job *j = driver_key_job(d, f->key);

    if (j && is_pod_create(f))
        pod_create_lands(j, f);
    else if (j && f->is_write && f->type == known_types()->pod && f->kind == OP_DELETE)
        pod_delete_lands(j, f);
    if (f->blocks)
        busy_drop(d, f->key);
    d->n_writes -= f->is_write;
    if (d->n_writes <= d->opt.max_in_flight / 2)
        d->is_full = false;
    set_token(d, f, 0);
    heap_remove(&d->timers, &f->node);
    list_remove(&f->link);
    wake_key(d, f);
    free(f->error);
    free(f);
}

/* sched_write.c decides what follows a write of the scheduler. */
static void answer_sched_write(struct driver *d, const struct request *f, const struct err *e,
                               const struct object *seen)
{
    if (f->is_write && !f->is_loose && str_starts(f->key, STR(KEY_SCHED)))
        sched_write_answered(d, f->key, f->kind, e, seen);
}

/* ---- reading afresh ---- */

/* What a question is about; for a write what the cache has under its name. */
static struct str cached_uid(struct driver *d, const struct request *f)
{
    const struct cache_job *j = driver_key_job(d, f->key);
    const struct object *o;

    if (!f->is_write)
        return f->uid;
    if (f->type == known_types()->job && j && j->object && str_eq(j->object->name, f->name))
        return str_of(j->uid);
    if (f->type == known_types()->pod) {
        const struct job_pod *pod = j ? pods_get(&j->pods, f->name) : NULL;

        return pod ? str_of(pod->view.uid) : f->uid;
    }
    o = cache_find(&d->cache, f->type, f->namespace, f->name);
    return o ? o->uid : f->uid;
}

static void read_start(struct driver *d, struct request *f)
{
    struct str uid = str_sub(cached_uid(d, f), 0, CACHE_UID_MAX - 1);

    if (uid.n)
        memcpy(f->known_uid, uid.p, uid.n);
    f->known_uid[uid.n] = '\0';
    f->state = READING;
    f->reads++;
    set_token(d, f, cluster_read(d->cluster, f->type, f->namespace, f->name));
    request_set_timer(d, f, REQUEST_LOST_MS);
}

static void request_read_rest(struct driver *d, struct request *f)
{
    int64_t delay = READ_AGAIN_MAX_MS;

    if (f->reads < 16)
        delay = MIN_OF((int64_t)READ_AGAIN_MIN_MS << f->reads, delay);
    f->state = RESTING;
    set_token(d, f, 0);
    request_set_timer(d, f, delay);
}

static void forget_object(struct driver *d, const struct resource_type *type, struct str namespace, struct str name,
                          struct str uid)
{
    cache_gone(&d->cache, type, namespace, name, uid);
    if (d->opt.schedules)
        sched_feed_gone(d, type, namespace, name, uid);
    if (d->opt.collects_garbage)
        garbage_gone(&d->garbage, uid);
    workload_gone(d, type, uid);
    flows_gone(d, type, namespace, name, uid);
}

static void take_object(struct driver *d, const struct object *o)
{
    cache_put(&d->cache, o);
    if (d->opt.schedules)
        sched_feed_put(d, o);
    if (d->opt.collects_garbage)
        garbage_put(&d->garbage, o);
    workload_seen(d, o);
    flows_seen(d, o);
}

static void read_answered(struct driver *d, struct request *f, const struct object *o)
{
    struct str known = str_of(f->known_uid);

    if (!str_empty(known) && !(o && str_eq(str_sub(o->uid, 0, CACHE_UID_MAX - 1), known)))
        forget_object(d, f->type, f->namespace, f->name, known);
    if (o)
        take_object(d, o);
    else if (f->is_doubt && driver_key_job(d, f->key))
        pods_confirm_gone(&driver_key_job(d, f->key)->pods, f->task, f->index);
    answer_sched_write(d, f, f->error, o);
    request_end(d, f);
}

void request_read_pod(struct driver *d, struct str key, const struct cache_job *j, size_t task, uint32_t index)
{
    autoarena scratch = { 0 };
    struct str name = job_pod_name(&scratch, &j->job, &j->job.spec.tasks.v[task], index);
    struct object_id pod = { .type = known_types()->pod, .namespace = j->job.meta.namespace, .name = name };
    struct request *f = request_new(d, key, pod);

    f->is_doubt = f->blocks = true;
    f->task = task;
    f->index = index;
    busy_add(d, f->key);
    read_start(d, f);
}

void request_read(struct driver *d, struct str key, struct object_id id)
{
    struct request *f = request_new(d, key, id);

    if (!str_empty(key)) {
        f->blocks = true;
        busy_add(d, f->key);
    }
    read_start(d, f);
}

/* ---- writing ---- */

static const char *const op_verbs[OP_KIND_MAX] = {
    [OP_CREATE] = "create",     [OP_UPDATE] = "update", [OP_UPDATE_STATUS] = "update status of",
    [OP_MERGE_PATCH] = "patch", [OP_DELETE] = "delete", [OP_PATCH_STATUS] = "patch status of",
    [OP_BIND] = "bind",
};

const char *op_verb(enum op_kind kind)
{
    return op_verbs[kind];
}

static bool is_uninteresting(const struct resource_type *type) /* no controller waits for Events */
{
    return strcmp(type->kind, "Event") == 0;
}

static void pod_create_starts(struct cache_job *j, struct request *f, const struct op *op)
{
    struct str task = object_annotation(op->body, "volcano.sh/task-spec");
    struct str index = object_annotation(op->body, "volcano.sh/task-index");
    uint64_t n = UINT32_MAX;

    f->task = SIZE_MAX;
    (void)job_task_by_name(&j->job, task, &f->task); /* of no task: it has no slot to mark */
    if (str_to_u64(index, &n) < 0 || n > UINT32_MAX)
        n = UINT32_MAX;
    f->index = (uint32_t)n;
    j->drive.n_creates++;
    pods_flight_create(&j->pods, f->task, f->index, f->sent_ms);
}

void requests_mark(struct driver *d, struct cache_job *j)
{
    if (j->drive.n_creates && j->drive.marked_generation != j->job.meta.generation)
        LIST_FOREACH(struct request, f, &d->all_requests, link)
            if (is_pod_create(f) && driver_key_job(d, f->key) == j)
                pods_flight_create(&j->pods, f->task, f->index, f->sent_ms);
    j->drive.marked_generation = j->job.meta.generation;
}

static void pod_delete_starts(struct cache_job *j, const struct request *f)
{
    struct job_pod *pod = pods_get(&j->pods, f->name);

    if (pod && str_is(f->uid, pod->view.uid))
        pods_flight_delete(&j->pods, pod, f->sent_ms);
}

static bool is_status_write(enum op_kind kind)
{
    return kind == OP_UPDATE_STATUS || kind == OP_PATCH_STATUS;
}

/* The phase that a status gives a job which had another. */
static void note_job_status(const struct cache_job *j, struct request *f, const struct json *body)
{
    const struct json *status = json_get(body, "status");
    struct str phase = json_text(json_find(status, "state", "phase", NULL), STR(""));
    int64_t retries = json_i64(json_get(status, "retryCount"), 0);

    f->end = str_eq(phase, j->job.status.phase) ? PHASE_NONE : job_phase_of(phase);
    f->retries = (uint32_t)MAX_OF(retries - j->job.status.retry_count, 0);
}

static void note_start(struct driver *d, struct request *f, const struct op *op)
{
    struct cache_job *j = driver_key_job(d, f->key);

    if (j && f->type == known_types()->pod && op->kind == OP_CREATE)
        pod_create_starts(j, f, op);
    else if (j && f->type == known_types()->pod && op->kind == OP_DELETE)
        pod_delete_starts(j, f);
    else if (j && f->type == known_types()->job && is_status_write(op->kind))
        note_job_status(j, f, op->body);
    else if (str_starts(f->key, STR(KEY_QUEUE)) && is_status_write(op->kind) && cache_queue(&d->cache, f->name))
        cache_queue(&d->cache, f->name)->status_ms = f->sent_ms;
    d->stats.writes++;
    d->stats.job_writes += j != NULL;
}

/* The scheduler's keys are of PodGroups and pods, its Events have none: the job that these belong to. */
static const struct cache_job *job_about(struct driver *d, struct str kind, struct str namespace, struct str name)
{
    const struct resource_type *group_type = known_types()->group;
    const struct sched_known *pod = NULL;
    const struct object *group;

    if (str_is(kind, "Pod") && d->schedule.sched)
        pod = sched_feed_find(d, known_types()->pod, namespace, name, STR_NULL);
    else if (!str_is(kind, "PodGroup"))
        return NULL;
    group = cache_find(&d->cache, group_type, namespace, pod ? pod->group : name);
    return group ? cache_job(&d->cache, object_controller_uid(group->root)) : NULL;
}

/* "namespace/name" of the job that a write is for, in a text of our own; empty: of none. */
static const char *job_of(struct driver *d, const struct request *f, const struct json *body)
{
    static char text[256 + 64];
    const struct json *about = json_get(body, "involvedObject");
    const struct cache_job *j = driver_key_job(d, f->key);

    if (!j && about)
        j = job_about(d, json_member_text(about, "kind"), f->namespace, json_member_text(about, "name"));
    else if (!j)
        j = job_about(d, str_of(f->type->kind), f->namespace, f->name);
    if (!j || !j->object)
        return "";
    (void)snprintf(text, sizeof(text), "%.*s/%.*s", STR_ARG(j->object->namespace), STR_ARG(j->object->name));
    return text;
}
#define JOB_FIELD(d, f, body) LOG_TEXT("job", job_of(d, f, body))

static void send_write(struct driver *d, struct str key, const struct op *op)
{
    struct str name = op->name, namespace = op->namespace, uid = op->uid;
    struct request *f;

    if (str_empty(name) && op->body)
        name = object_name(op->body);
    f = request_new(d, key, (struct object_id){ op->type, namespace, name, uid });
    f->is_write = true;
    f->kind = op->kind;
    f->sent_ms = MAX_OF(d->last_now_ms, 1);
    f->is_loose = is_uninteresting(op->type) || op->is_best_effort || str_empty(key);
    f->blocks = !f->is_loose && !(op->type == known_types()->pod && str_starts(key, STR(KEY_JOB)));
    if (f->blocks)
        busy_add(d, f->key);
    log_debug("Sending write", LOG_TEXT("verb", op_verbs[op->kind]), LOG_TEXT("kind", op->type->kind),
              LOG_STR("namespace", namespace), LOG_STR("name", name), LOG_STR("for", key), JOB_FIELD(d, f, op->body));
    d->n_writes++;
    if (d->n_writes >= d->opt.max_in_flight)
        d->is_full = true;
    note_start(d, f, op);
    set_token(d, f, cluster_write(d->cluster, op));
    request_set_timer(d, f, REQUEST_LOST_MS);
}

void request_send(struct driver *d, struct str key, const struct op *op)
{
    struct op event = *op;

    if (!is_uninteresting(op->type) || op->kind != OP_CREATE)
        send_write(d, key, op);
    else if (!d->opt.is_silent && recorder_take(&d->recorder, &d->arena, &event, d->run_ms))
        send_write(d, key, &event);
}

bool request_has_event_room(const struct driver *d)
{
    return d->n_writes < (d->opt.max_in_flight + 1) / 2 && !d->is_full;
}

bool requests_send_counts(struct driver *d)
{
    struct op op;
    bool any = false;

    arena_reset(&d->arena);
    for (; request_has_event_room(d) && recorder_next(&d->recorder, &d->arena, d->run_ms, &op); any = true)
        send_write(d, STR_NULL, &op);
    return any;
}

int64_t requests_counts_due(const struct driver *d)
{
    return request_has_event_room(d) ? recorder_due(&d->recorder) : INT64_MAX;
}

/* ---- answers ---- */

enum request_answer { ANSWER_READ, ANSWER_REFUSED, ANSWER_LATER };

/* What follows from an error. */
static enum request_answer answer_of(const struct request *f, enum err_code code, bool is_unknown)
{
    static const enum request_answer table[ERR_CODE_MAX] = {
        [ERR_INVALID] = ANSWER_REFUSED,  [ERR_SYNTAX] = ANSWER_REFUSED,    [ERR_TOO_BIG] = ANSWER_REFUSED,
        [ERR_NOT_FOUND] = ANSWER_READ,   [ERR_EXISTS] = ANSWER_READ,       [ERR_CONFLICT] = ANSWER_READ,
        [ERR_GONE] = ANSWER_LATER,       [ERR_FORBIDDEN] = ANSWER_REFUSED, [ERR_IO] = ANSWER_LATER,
        [ERR_INTERNAL] = ANSWER_REFUSED,
    };

    if (is_unknown)
        return ANSWER_READ;
    if (code == ERR_NOT_FOUND && f->kind == OP_CREATE) /* the namespace is not there */
        return ANSWER_REFUSED;
    return table[code];
}

static void request_note_failure(struct driver *d, struct request *f, const struct err *e, enum request_answer answer)
{
    struct cache_job *j = driver_key_job(d, f->key);

    f->has_failed = true;
    free(f->error);
    f->error = xmalloc(sizeof(*f->error));
    *f->error = *e;
    if (answer == ANSWER_REFUSED)
        flows_written(d, f->key, e);
    if (!j)
        return;
    j->drive.failed_kind = f->kind;
    j->drive.failed_type = f->type;
    buf_reset(&j->drive.failed_name);
    buf_str(&j->drive.failed_name, f->name);
    if (is_pod_create(f) && answer != ANSWER_READ)
        j->drive.window = 1;
    if (answer != ANSWER_REFUSED)
        return;
    buf_reset(&j->drive.trouble);
    buf_fmt(&j->drive.trouble, "%s %s %.*s: %s", op_verbs[f->kind], f->type->kind, STR_ARG(f->name), e->text);
}

static void write_failed(struct driver *d, struct request *f, const struct err *e, bool is_unknown)
{
    enum request_answer answer = answer_of(f, e->code, is_unknown);

    d->stats.failed_writes++;
    log_debug("Write failed", LOG_TEXT("kind", f->type->kind), LOG_STR("name", f->name), LOG_TEXT("error", e->text),
              JOB_FIELD(d, f, NULL));
    if (is_uninteresting(f->type) && e->code == ERR_NOT_FOUND)
        recorder_forget(&d->recorder, f->namespace, f->name);
    if (f->is_loose) {
        request_end(d, f);
        return;
    }
    if (f->kind == OP_DELETE && e->code == ERR_NOT_FOUND && !is_unknown && !str_empty(f->uid)) {
        forget_object(d, f->type, f->namespace, f->name, f->uid); /* what was wanted */
        answer_sched_write(d, f, NULL, NULL);
        request_end(d, f);
        return;
    }
    request_note_failure(d, f, e, answer);
    if (answer == ANSWER_READ) {
        read_start(d, f);
        return;
    }
    answer_sched_write(d, f, e, NULL);
    request_end(d, f);
}

static void note_success(struct driver *d, const struct request *f)
{
    struct cache_job *j = driver_key_job(d, f->key);

    if (!j) {
        flows_written(d, f->key, NULL);
        if (!f->is_loose && !str_starts(f->key, STR(KEY_SCHED)))
            work_queue_forget(&d->queue, f->key);
        return;
    }
    if (is_pod_create(f)) {
        j->drive.window = MIN_OF(j->drive.window + 1, d->opt.max_in_flight);
        j->drive.no_create_until = 0;
    }
    if (j->drive.failed_type == f->type && j->drive.failed_kind == f->kind)
        driver_forget_failure(d, j);
}

static void request_count_pod(struct driver *d, const struct cache_job *j, const struct object *pod)
{
    int64_t job_ms, pod_ms;

    if (clock_parse(json_member_text(json_get(j->object->root, "metadata"), "creationTimestamp"), &job_ms, NULL) == 0 &&
        clock_parse(json_member_text(json_get(pod->root, "metadata"), "creationTimestamp"), &pod_ms, NULL) == 0)
        latency_add(&d->stats.pod_latency, (pod_ms - job_ms) * 1000);
}

static void note_figures(struct driver *d, const struct request *f, const struct object *after)
{
    struct cache_job *j = driver_key_job(d, f->key);

    if (!j || !j->object || !after)
        return;
    if (is_pod_create(f))
        request_count_pod(d, j, after);
    if (j->queue) {
        j->queue->n_completed += f->end == PHASE_COMPLETED;
        j->queue->n_failed += f->end == PHASE_FAILED;
        j->queue->n_retries += f->retries;
    }
}

/* A delete answers with the object if it is still there, waiting for finalizers or for its grace to pass. */
static void write_done(struct driver *d, struct request *f, const struct object *o)
{
    bool is_gone = f->kind == OP_DELETE &&
                   (!o || str_empty(json_member_text(json_get(o->root, "metadata"), "deletionTimestamp")));

    note_success(d, f);
    note_figures(d, f, o);
    if (is_gone || o)
        contest_wrote(d, f->type, f->namespace, f->name, is_gone ? 0 : o->rev);
    if (is_gone)
        forget_object(d, f->type, f->namespace, f->name, o ? o->uid : f->uid);
    else if (o && !is_uninteresting(f->type))
        take_object(d, o);
    answer_sched_write(d, f, NULL, o);
    request_end(d, f);
}

void request_result(struct driver *d, const struct cluster_event *ev)
{
    struct request *f = map_u64_get(&d->requests, ev->token);

    if (!f) /* its request timed out; its object is still useful */
        return;
    if (f->state == READING && ev->err.code == ERR_FORBIDDEN && type_is_foreign(f->type)) {
        workload_owner_hidden(d, str_from(f->key, strlen(KEY_WORKLOAD)));
        request_end(d, f);
    } else if (f->state == READING && ev->err.code != ERR_OK && ev->err.code != ERR_NOT_FOUND)
        request_read_rest(d, f);
    else if (f->state == READING)
        read_answered(d, f, ev->err.code == ERR_OK ? ev->object : NULL);
    else if (ev->err.code == ERR_OK)
        write_done(d, f, ev->object);
    else
        write_failed(d, f, &ev->err, ev->is_unknown);
}

struct json *requests_describe(struct driver *d, struct arena *a, struct str key)
{
    static const char *const states[] = {
        [ON_ITS_WAY] = "sent", [READING] = "reading the current object", [RESTING] = "waiting"
    };
    struct json *list = json_array(a), *one;

    LIST_FOREACH(struct request, f, &d->all_requests, link) {
        if (!str_eq(f->key, key))
            continue;
        one = json_push(list, json_object(a));
        json_set(one, "verb", json_str(a, str_of(f->is_write ? op_verbs[f->kind] : "read")));
        json_set(one, "object", json_fmt(a, "%s %.*s", f->type->kind, STR_ARG(f->name)));
        json_set(one, "state", json_str(a, str_of(states[f->state])));
        if (f->error)
            json_set(one, "error", json_str(a, arena_str(a, str_of(f->error->text))));
    }
    return list;
}

static void request_is_due(struct driver *d, struct request *f)
{
    struct err e = { 0 };

    set_token(d, f, 0);
    if (f->state != ON_ITS_WAY) {
        read_start(d, f);
        return;
    }
    (void)err_set(&e, ERR_IO, "no answer");
    write_failed(d, f, &e, true);
}

int64_t requests_due(const struct driver *d)
{
    struct heap_node *first = heap_first(&d->timers);

    return first ? HEAP_ITEM(first, struct request, node)->due_ms : INT64_MAX;
}

bool requests_tick(struct driver *d)
{
    bool any = false;

    for (; requests_due(d) <= d->run_ms; any = true)
        request_is_due(d, HEAP_ITEM(heap_first(&d->timers), struct request, node));
    return any;
}
