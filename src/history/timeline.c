/* timeline.c - from changes of objects to steps over time */
#include "history/timeline.h"

#include "api/meta.h"
#include "api/resources.h"
#include "base/clock.h"
#include "base/util.h"
#include "sched/sched.h"

const char *const job_state_names[JOB_STATE_MAX] = {
    "Waiting", "Admitted", "Partly", "Running", "Completed", "Failed"
};

struct timeline_pod {
    struct timeline_job *job;
    struct timeline_place *queue, *node; /* where it counts now; NULL: nowhere */
    struct amounts request;
    struct str task, phase; /* phase: a constant */
};

/* ---- life ---- */

void timeline_init(struct timeline *t, int64_t begin_ms)
{
    *t = (struct timeline){ .begin_ms = begin_ms, .end_ms = begin_ms, .changed_ms = begin_ms };
    dims_init(&t->dims);
}

void timeline_done(struct timeline *t)
{
    struct map *maps[] = { &t->jobs_uid,    &t->jobs_name,  &t->groups,    &t->pods,
                           &t->queue_names, &t->node_names, &t->priorities };

    for (size_t i = 0; i < ARRAY_LEN(maps); i++)
        map_done(maps[i]);
    dims_done(&t->dims);
    buf_done(&t->key);
    arena_done(&t->arena);
}

/* "a/b", valid until the next call. */
static struct str key_of(struct timeline *t, struct str a, struct str b)
{
    buf_reset(&t->key);
    buf_str(&t->key, a);
    buf_char(&t->key, '/');
    buf_str(&t->key, b);
    return buf_view(&t->key);
}

static struct str keep(struct timeline *t, struct str s)
{
    return arena_str(&t->arena, s);
}

/* Texts repeat: keep the old one if it is the same. */
static void keep_in(struct timeline *t, struct str *at, struct str s)
{
    if (!str_eq(*at, s))
        *at = keep(t, s);
}

/* ---- queues and nodes ---- */

static struct timeline_place *queue_of(struct timeline *t, struct str name)
{
    struct timeline_place *p = map_get(&t->queue_names, name);

    if (!p) {
        p = arena_new(&t->arena, struct timeline_place);
        p->name = keep(t, name);
        map_put(&t->queue_names, p->name, p);
        *vec_push(&t->arena, &t->queues) = p;
    }
    return p;
}

static struct timeline_place *node_of(struct timeline *t, struct str name)
{
    struct timeline_place *p = map_get(&t->node_names, name);

    if (!p) {
        p = arena_new(&t->arena, struct timeline_place);
        p->name = keep(t, name);
        p->is_gone = true; /* until it is seen */
        map_put(&t->node_names, p->name, p);
        *vec_push(&t->arena, &t->nodes) = p;
    }
    return p;
}

static const struct amounts nothing;

/* The step of this time; the value goes on from the one before. */
static struct amounts *use_now(struct timeline *t, struct timeline_place *p, int64_t now_ms)
{
    struct timeline_use *last = p->steps.n ? &p->steps.v[p->steps.n - 1] : NULL;
    struct amounts used = last ? last->used : nothing;

    if (last && last->at_ms == now_ms)
        return &last->used;
    last = vec_push(&t->arena, &p->steps);
    last->at_ms = now_ms;
    last->used = used;
    return &last->used;
}

static void use(struct timeline *t, struct timeline_place *p, const struct amounts *request, int64_t times,
                int64_t now_ms)
{
    if (p)
        amounts_add_times(use_now(t, p, now_ms), request, times, t->dims.n);
}

/* ---- jobs ---- */

static struct timeline_job *job_new(struct timeline *t, const struct object *o, int64_t now_ms)
{
    struct timeline_job *j = arena_new(&t->arena, struct timeline_job);

    j->kind = keep(t, object_kind(o->root));
    j->namespace = keep(t, o->namespace);
    j->name = keep(t, o->name);
    j->uid = keep(t, o->uid);
    j->admitted_ms = j->started_ms = j->finished_ms = -1;
    if (clock_parse(json_member_text(json_get(o->root, "metadata"), "creationTimestamp"), &j->submitted_ms, NULL) < 0)
        j->submitted_ms = now_ms;
    /* Whole seconds in the object: what was made in this moment was made now. */
    if (j->submitted_ms <= now_ms && now_ms - j->submitted_ms < 1000)
        j->submitted_ms = now_ms;
    map_put(&t->jobs_uid, j->uid, j);
    map_put(&t->jobs_name, keep(t, key_of(t, j->namespace, j->name)), j);
    *vec_push(&t->arena, &t->jobs) = j;
    return j;
}

static void set_open(struct timeline *t, struct timeline_job *j, bool is_open)
{
    t->n_open += (size_t)is_open - (size_t)j->is_open;
    j->is_open = is_open;
}

static enum job_state phase_state(const struct timeline_job *j)
{
    static const struct {
        const char *phase;
        enum job_state state;
    } final[] = { { "Completed", STATE_DONE },
                  { "Failed", STATE_FAILED },
                  { "Aborted", STATE_FAILED },
                  { "Terminated", STATE_FAILED } };

    for (size_t i = 0; i < ARRAY_LEN(final); i++)
        if (str_is(j->phase, final[i].phase))
            return final[i].state;
    if (j->running > 0 && j->running + j->succeeded >= j->min)
        return STATE_RUNS;
    if (j->running > 0)
        return STATE_PARTLY;
    return str_empty(j->group_phase) || str_is(j->group_phase, "Pending") ? STATE_WAITS : STATE_ADMITTED;
}

static bool is_waiting(enum job_state state)
{
    return state < STATE_RUNS;
}

static struct timeline_wait *open_wait(struct timeline_job *j)
{
    struct timeline_wait *last = j->waits.n ? &j->waits.v[j->waits.n - 1] : NULL;

    return last && last->until_ms < 0 ? last : NULL;
}

static void close_wait(struct timeline_job *j, int64_t now_ms)
{
    struct timeline_wait *w = open_wait(j);

    if (!w)
        return;
    w->until_ms = now_ms;
    if (w->from_ms == now_ms) /* it lasted no time at all */
        j->waits.n--;
}

static bool is_same_wait(const struct timeline_wait *a, const struct timeline_wait *b)
{
    return str_eq(a->reason, b->reason) && str_eq(a->message, b->message);
}

/* One entry for as long as the same is said. */
static void note_wait(struct timeline *t, struct timeline_job *j, enum job_state state, int64_t now_ms)
{
    struct timeline_wait *w = open_wait(j);
    int64_t from_ms = w || j->waits.n || j->started_ms >= 0 ? now_ms : MIN_OF(j->submitted_ms, now_ms);

    if (!is_waiting(state)) {
        close_wait(j, now_ms);
        return;
    }
    if (w && str_eq(w->reason, j->why) && str_eq(w->message, j->why_text))
        return;
    if (w && w->from_ms < now_ms && !str_empty(w->message)) {
        w->until_ms = now_ms;
        w = NULL;
    }
    if (!w) {
        w = vec_push(&t->arena, &j->waits);
        w->from_ms = MAX_OF(from_ms, t->begin_ms);
        w->until_ms = -1;
    }
    w->reason = j->why;
    w->message = j->why_text;
    if (j->waits.n > 1 && w[-1].until_ms == w->from_ms &&
        is_same_wait(&w[-1], w)) { /* it was said otherwise for no time */
        w[-1].until_ms = -1;
        j->waits.n--;
    }
}

static void note_times(struct timeline_job *j, enum job_state state, int64_t now_ms)
{
    if (state >= STATE_DONE) {
        if (j->finished_ms < 0)
            j->finished_ms = now_ms;
        return;
    }
    j->finished_ms = -1; /* restarted */
    if (state >= STATE_ADMITTED && j->admitted_ms < 0)
        j->admitted_ms = now_ms;
    if (state == STATE_RUNS && j->started_ms < 0)
        j->started_ms = now_ms;
}

/* What the job is now; a step where that is new. Steps of one time are one. */
static void note(struct timeline *t, struct timeline_job *j, int64_t now_ms)
{
    enum job_state state = phase_state(j);
    struct timeline_step *last = j->steps.n ? &j->steps.v[j->steps.n - 1] : NULL;

    note_wait(t, j, state, now_ms);
    if (last && last->state == state && last->running == j->running)
        return;
    if (!last && state >= STATE_DONE)
        j->was_over = true;
    if (!last || last->state != state)
        t->changed_ms = now_ms;
    note_times(j, state, now_ms);
    set_open(t, j, state < STATE_DONE && !j->is_gone);
    if (!last || last->at_ms != now_ms)
        last = vec_push(&t->arena, &j->steps);
    *last = (struct timeline_step){ now_ms, state, j->running };
}

static struct timeline_task *task_of(struct timeline *t, struct timeline_job *j, struct str name)
{
    struct timeline_task *task;

    VEC_FOREACH(old, &j->tasks)
        if (str_eq(old->name, name))
            return old;
    task = vec_push(&t->arena, &j->tasks);
    task->name = keep(t, name);
    return task;
}

static void read_tasks(struct timeline *t, struct timeline_job *j, const struct json *spec)
{
    j->replicas = 0;
    JSON_FOREACH(task, json_get(spec, "tasks")) {
        struct timeline_task *own = task_of(t, j, json_member_text(task, "name"));

        own->replicas = json_i64(json_get(task, "replicas"), 1);
        own->min = json_i64(json_get(task, "minAvailable"), own->replicas);
        j->replicas += own->replicas;
    }
}

static void job_changed(struct timeline *t, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct timeline_job *j = map_get(&t->jobs_uid, o->uid);
    const struct json *spec = json_get(o->root, "spec");

    if (!j && is_gone)
        return;
    if (!j)
        j = job_new(t, o, now_ms);
    j->is_gone = is_gone;
    keep_in(t, &j->queue, json_text(json_get(spec, "queue"), STR("default")));
    keep_in(t, &j->priority_class, json_member_text(spec, "priorityClassName"));
    keep_in(t, &j->phase, json_text(json_find(o->root, "status", "state", "phase", NULL), STR("")));
    j->min = json_i64(json_get(spec, "minAvailable"), 1);
    read_tasks(t, j, spec);
    note(t, j, now_ms);
    if (is_gone)
        set_open(t, j, false);
}

/* ---- PodGroups ---- */

/* People know jobs by their names, not their PodGroups. */
static void name_other(struct timeline *t, struct why *w)
{
    const struct timeline_job *other = map_get(&t->groups, str_of(w->other));

    if (other)
        (void)snprintf(w->other, sizeof(w->other), "%.*s/%.*s", STR_ARG(other->namespace), STR_ARG(other->name));
}

/* The reason comes from the scheduler itself where it can be asked: the words in the object may be older. */
static void read_why(struct timeline *t, struct timeline_job *j, const struct object *group)
{
    struct str reason = STR_NULL, text = STR_NULL;
    struct sched_group_view view;
    autobuf said = { 0 };

    JSON_FOREACH(c, json_find(group->root, "status", "conditions", NULL))
        if (str_is(json_member_text(c, "type"), "Unschedulable") && str_is(json_member_text(c, "status"), "True")) {
            reason = json_member_text(c, "reason");
            text = json_member_text(c, "message");
        }
    if (t->sched && sched_group_view(t->sched, group->namespace, group->name, &view) && view.why &&
        view.why->kind != WHY_NOT) {
        struct why why = *view.why;

        name_other(t, &why);
        reason = str_of(why_names[why.kind]);
        why_print(&said, sched_dims(t->sched), &why);
        if (said.n)
            text = buf_view(&said);
    }
    keep_in(t, &j->why, reason);
    keep_in(t, &j->why_text, text);
}

static struct timeline_job *group_job(struct timeline *t, const struct object *o, int64_t now_ms)
{
    struct timeline_job *j = map_get(&t->jobs_uid, object_controller_uid(o->root));

    if (!j)
        j = map_get(&t->jobs_uid, o->uid);
    if (!j && json_count(json_find(o->root, "metadata", "ownerReferences", NULL)) == 0) {
        j = job_new(t, o, now_ms);
        j->phase = STR("");
    }
    return j;
}

static void group_alone(struct timeline *t, struct timeline_job *j, const struct json *spec)
{
    j->min = json_i64(json_get(spec, "minMember"), 1);
    if (str_is(j->group_phase, "Completed"))
        j->phase = STR("Completed");
    (void)t;
}

static void group_changed(struct timeline *t, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct timeline_job *j = group_job(t, o, now_ms);
    const struct json *spec = json_get(o->root, "spec");
    struct str key = key_of(t, o->namespace, o->name);

    if (!j)
        return;
    if (is_gone) {
        map_remove(&t->groups, key);
        j->group_phase = STR("");
        note(t, j, now_ms);
        if (str_is(j->kind, "PodGroup"))
            set_open(t, j, false);
        return;
    }
    if (map_get(&t->groups, key) != j)
        map_put(&t->groups, keep(t, key), j);
    keep_in(t, &j->queue, json_text(json_get(spec, "queue"), STR("default")));
    keep_in(t, &j->priority_class, json_member_text(spec, "priorityClassName"));
    keep_in(t, &j->group_phase, json_member_text(json_get(o->root, "status"), "phase"));
    read_why(t, j, o);
    if (str_is(j->kind, "PodGroup"))
        group_alone(t, j, spec);
    note(t, j, now_ms);
}

/* ---- pods ---- */

static struct timeline_job *pod_job(struct timeline *t, const struct object *o)
{
    struct timeline_job *j = map_get(
        &t->groups, key_of(t, o->namespace, object_annotation(o->root, "scheduling.k8s.io/group-name")));

    if (!j)
        j = map_get(&t->jobs_uid, object_controller_uid(o->root));
    return j;
}

/* The queue that pays for a pod: that of its job; a pod of our scheduler that is in no job may name one itself. */
static struct timeline_place *pod_queue(struct timeline *t, const struct timeline_pod *pod, const struct json *root)
{
    struct str name = object_annotation(root, "scheduling.volcano.sh/queue-name");

    if (pod->job)
        return queue_of(t, pod->job->queue);
    if (!str_is(json_member_text(json_get(root, "spec"), "schedulerName"), "volcano"))
        return NULL;
    return queue_of(t, str_empty(name) ? STR("default") : name);
}

static void read_request(struct timeline *t, struct timeline_pod *pod, const struct json *root)
{
    autoarena a = { 0 };
    struct resources r = { 0 };

    pod_requests(&a, json_get(root, "spec"), &r);
    amounts_from_resources(&t->dims, &r, &pod->request, NULL);
    pod->request.v[DIM_PODS] = 1;
}

static struct timeline_pod *pod_new(struct timeline *t, const struct object *o)
{
    struct timeline_pod *pod = arena_new(&t->arena, struct timeline_pod);

    pod->job = pod_job(t, o);
    pod->task = keep(t, object_annotation(o->root, "volcano.sh/task-spec"));
    read_request(t, pod, o->root);
    map_put(&t->pods, keep(t, o->uid), pod);
    return pod;
}

static int64_t *phase_counter(struct timeline_task *task, struct timeline_job *j, struct str phase, bool of_job)
{
    if (str_is(phase, "Running"))
        return of_job ? &j->running : &task->running;
    if (str_is(phase, "Succeeded"))
        return of_job ? &j->succeeded : &task->succeeded;
    if (str_is(phase, "Failed"))
        return of_job ? &j->failed : &task->failed;
    return NULL;
}

static void count_phase(struct timeline *t, struct timeline_pod *pod, int64_t by)
{
    struct timeline_job *j = pod->job;
    struct timeline_task *task = j ? task_of(t, j, pod->task) : NULL;
    int64_t *own = j ? phase_counter(task, j, pod->phase, false) : NULL;

    if (own) {
        *own += by;
        *phase_counter(task, j, pod->phase, true) += by;
    }
}

static void set_phase(struct timeline *t, struct timeline_pod *pod, struct str phase)
{
    static const char *const known[] = { "Running", "Succeeded", "Failed" };

    count_phase(t, pod, -1);
    pod->phase = STR("");
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_is(phase, known[i]))
            pod->phase = str_of(known[i]);
    count_phase(t, pod, 1);
}

/* Where it counts from now on. */
static void move_pod(struct timeline *t, struct timeline_pod *pod, struct timeline_place *queue,
                     struct timeline_place *node, int64_t now_ms)
{
    if (queue == pod->queue && node == pod->node)
        return;
    use(t, pod->queue, &pod->request, -1, now_ms);
    use(t, pod->node, &pod->request, -1, now_ms);
    pod->queue = queue;
    pod->node = node;
    use(t, queue, &pod->request, 1, now_ms);
    use(t, node, &pod->request, 1, now_ms);
}

/* It may have its places again in the same moment, on other nodes; its work is lost all the same. */
static void note_stop(struct timeline_job *j, bool ran, int64_t now_ms)
{
    j->stopped++;
    if (!ran || phase_state(j) >= STATE_RUNS || (j->stops && j->stopped_ms == now_ms))
        return;
    j->stops++;
    j->stopped_ms = now_ms;
}

static void pod_changed(struct timeline *t, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct timeline_pod *pod = map_get(&t->pods, o->uid);
    struct str node = json_member_text(json_get(o->root, "spec"), "nodeName");
    struct str phase = json_member_text(json_get(o->root, "status"), "phase");
    bool is_ended = str_is(phase, "Succeeded") || str_is(phase, "Failed"), is_stopped, ran;

    if (!pod && is_gone)
        return;
    if (!pod)
        pod = pod_new(t, o);
    is_stopped = is_gone && pod->job && pod->node && !is_ended;
    ran = is_stopped && phase_state(pod->job) == STATE_RUNS;
    set_phase(t, pod, is_gone ? STR("") : phase);
    if (is_stopped)
        note_stop(pod->job, ran, now_ms);
    if (is_gone || is_ended || str_empty(node))
        move_pod(t, pod, NULL, NULL, now_ms);
    else
        move_pod(t, pod, pod_queue(t, pod, o->root), node_of(t, node), now_ms);
    if (pod->job)
        note(t, pod->job, now_ms);
    if (is_gone)
        map_remove(&t->pods, o->uid);
}

/* ---- the rest ---- */

static void node_changed(struct timeline *t, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct timeline_place *p = node_of(t, o->name);
    const struct json *status = json_get(o->root, "status"), *have = json_get(status, "allocatable");

    (void)now_ms;
    if (!p->is_gone)
        amounts_sub(&t->total, &p->total, t->dims.n);
    p->total = nothing;
    p->is_gone = is_gone;
    amounts_from_json(&t->dims, have ? have : json_get(status, "capacity"), &p->total, NULL);
    if (!is_gone)
        amounts_add(&t->total, &p->total, t->dims.n);
}

static void queue_changed(struct timeline *t, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct timeline_place *p = queue_of(t, o->name);

    (void)now_ms;
    p->is_gone = is_gone;
    p->total = nothing;
    amounts_from_json(&t->dims, json_find(o->root, "spec", "capability", NULL), &p->total, NULL);
}

static void class_changed(struct timeline *t, const struct object *o, bool is_gone, int64_t now_ms)
{
    int64_t *value = arena_new(&t->arena, int64_t);

    (void)now_ms;
    *value = json_i64(json_get(o->root, "value"), 0);
    if (is_gone)
        return;
    map_put(&t->priorities, keep(t, o->name), value);
    if (json_bool(json_get(o->root, "globalDefault"), false))
        t->default_priority = *value;
}

static const struct {
    const char *group, *kind;
    void (*changed)(struct timeline *t, const struct object *o, bool is_gone, int64_t now_ms);
} kinds[] = {
    { "", "Pod", pod_changed },
    { "batch.volcano.sh", "Job", job_changed },
    { "scheduling.volcano.sh", "PodGroup", group_changed },
    { "scheduling.volcano.sh", "Queue", queue_changed },
    { "", "Node", node_changed },
    { "scheduling.k8s.io", "PriorityClass", class_changed },
};

void timeline_changed(void *ctx, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct timeline *t = ctx;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(o->type->kind, kinds[i].kind) == 0 && strcmp(o->type->group, kinds[i].group) == 0) {
            kinds[i].changed(t, o, is_gone, now_ms);
            return;
        }
}

bool timeline_is_over(const struct timeline *t)
{
    return t->n_open == 0;
}

const struct timeline_job *timeline_job(const struct timeline *t, struct str namespace, struct str name)
{
    autobuf key = { 0 };

    buf_str(&key, namespace);
    buf_char(&key, '/');
    buf_str(&key, name);
    return map_get(&t->jobs_name, buf_view(&key));
}

/* ---- the end ---- */

static int by_start(const void *x, const void *y)
{
    const struct timeline_job *a = *(struct timeline_job *const *)x, *b = *(struct timeline_job *const *)y;
    int64_t a_ms = a->was_over ? -1 : a->started_ms < 0 ? INT64_MAX : a->started_ms;
    int64_t b_ms = b->was_over ? -1 : b->started_ms < 0 ? INT64_MAX : b->started_ms;
    int c;

    if (a_ms != b_ms)
        return a_ms < b_ms ? -1 : 1;
    if (a->submitted_ms != b->submitted_ms)
        return a->submitted_ms < b->submitted_ms ? -1 : 1;
    c = str_cmp(a->namespace, b->namespace);
    return c ? c : str_cmp(a->name, b->name);
}

static int by_name(const void *x, const void *y)
{
    return str_cmp((*(struct timeline_place *const *)x)->name, (*(struct timeline_place *const *)y)->name);
}

void timeline_finish(struct timeline *t, int64_t end_ms)
{
    t->end_ms = end_ms;
    for (size_t i = 0; i < t->jobs.n; i++) {
        struct timeline_job *j = t->jobs.v[i];
        const int64_t *value = map_get(&t->priorities, j->priority_class);

        j->priority = value ? *value : t->default_priority;
        if (open_wait(j) && open_wait(j)->from_ms == end_ms && j->waits.n > 1)
            j->waits.n--;
    }
    if (t->jobs.n)
        qsort(t->jobs.v, t->jobs.n, sizeof(*t->jobs.v), by_start);
    if (t->queues.n)
        qsort(t->queues.v, t->queues.n, sizeof(*t->queues.v), by_name);
    if (t->nodes.n)
        qsort(t->nodes.v, t->nodes.n, sizeof(*t->nodes.v), by_name);
}
