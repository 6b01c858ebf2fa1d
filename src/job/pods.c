/* pods.c - the pods of one job: sorted into classes and counted as they come, change and go
 *
 * When it changes, a pod is first sorted out (its counters taken back, its slot freed) and then sorted in again, so
 * that the rules are written once. When the job changes all pods are sorted again, in the order of the lists.
 */
#include "job/pods.h"

#include "base/util.h"

const char *const pod_phase_names[POD_PHASE_MAX] = {
    [POD_PENDING] = "Pending", [POD_RUNNING] = "Running", [POD_SUCCEEDED] = "Succeeded",
    [POD_FAILED] = "Failed",   [POD_UNKNOWN] = "Unknown",
};

enum { TASK_NAME_MAX = UINT16_MAX };

/* ---- tasks ---- */

static void *copy_grown(void *old, size_t n_old, size_t n, size_t size)
{
    void *p = n ? xcalloc(n, size) : NULL;

    if (p && old)
        memcpy(p, old, MIN_OF(n_old, n) * size);
    free(old);
    return p;
}

static void bits_resize(uint64_t **bits, uint32_t n_old, uint32_t n)
{
    *bits = copy_grown(*bits, bits_words(n_old), bits_words(n), sizeof(**bits));
    if (n % 64)
        (*bits)[n / 64] &= ((uint64_t)1 << (n % 64)) - 1;
}

static void task_resize(struct task_pods *t, uint32_t n)
{
    if (n == t->n)
        return;
    t->slots = copy_grown(t->slots, t->n, n, sizeof(*t->slots));
    bits_resize(&t->present, t->n, n);
    bits_resize(&t->creating, t->n, n);
    bits_resize(&t->seen, t->n, n);
    bits_resize(&t->done, t->n, n);
    bits_resize(&t->gone, t->n, n);
    t->n = n;
    t->n_done = bits_ones(t->done, n);
    t->n_creating = bits_ones(t->creating, n); /* flights beyond the new end are forgotten */
}

/* Forget the pods, keep flights and memory: all pods are about to be sorted in again. */
static void task_empty(struct task_pods *t, bool is_new_version)
{
    size_t bytes = bits_words(t->n) * sizeof(uint64_t);

    for (uint32_t i = bits_next(t->present, t->n, 0, true); i < t->n; i = bits_next(t->present, t->n, i + 1, true))
        t->slots[i].pod = NULL;
    if (bytes)
        memset(t->present, 0, bytes);
    if (bytes && is_new_version) {
        memset(t->seen, 0, bytes);
        memset(t->done, 0, bytes);
        memset(t->gone, 0, bytes);
        t->n_done = 0;
    }
    t->n_present = t->terminating = t->surplus = t->ready = 0;
    t->restarts = 0;
    memset(t->live, 0, sizeof(t->live));
    memset(t->old, 0, sizeof(t->old));
}

static struct task_pods *pods_task_of(const struct job_pods *p, const struct job_pod *pod)
{
    return pod->task == PODS_NO_TASK ? NULL : &p->tasks[pod->task];
}

static uint32_t task_find(const struct job_pods *p, struct str name)
{
    const struct str *at = map_get(&p->by_task, name);

    return at ? (uint32_t)(at - p->task_names) : PODS_NO_TASK;
}

/* ---- sorting ---- */

/* The slot of the pod's index, which another pod may have; NULL: the task has no such index. */
static struct pod_slot *pods_slot_of(const struct job_pods *p, const struct job_pod *pod)
{
    struct task_pods *t = pods_task_of(p, pod);

    return t && pod->index < t->n ? &t->slots[pod->index] : NULL;
}

static enum pod_standing class_of(const struct job_pods *p, const struct job_pod *pod)
{
    const struct pod_slot *slot = pods_slot_of(p, pod);

    if (pod->view.is_deleting)
        return POD_TERMINATING;
    if (!slot || slot->pod != pod)
        return POD_SURPLUS;
    return pod->view.version == -1 || pod->view.version >= p->version ? POD_LIVE : POD_OLD;
}

static bool view_is_ready(const struct pod_view *v) /* as dependsOn counts */
{
    return v->phase == POD_SUCCEEDED || (v->phase == POD_RUNNING && v->is_ready);
}

/* Add the pod to all counters ('by' 1), or take it away (-1). */
static void pods_count_pod(struct job_pods *p, const struct job_pod *pod, int by)
{
    struct task_pods *t = pods_task_of(p, pod);
    const struct pod_view *v = &pod->view;
    uint32_t n = (uint32_t)by;

    p->n_class[pod->class] += n;
    if (!t)
        return;
    switch (pod->class) {
    case POD_LIVE:
        t->live[v->phase] += n;
        p->live[v->phase] += n;
        t->ready += view_is_ready(v) ? n : 0;
        t->restarts += v->phase == POD_PENDING || v->phase == POD_RUNNING ? (int64_t)v->restarts * by : 0;
        break;
    case POD_OLD:
        t->old[v->phase] += n;
        p->old[v->phase] += n;
        break;
    case POD_SURPLUS:
        t->surplus += n;
        break;
    case POD_TERMINATING:
        t->terminating += n;
        break;
    }
}

static void slot_take(struct task_pods *t, struct job_pod *pod)
{
    struct pod_slot *slot = &t->slots[pod->index];

    if (slot->flight_ms) { /* this is what was asked for, or what is in its way */
        slot->flight_ms = 0;
        bit_clear(t->creating, pod->index);
        t->n_creating--;
    }
    slot->pod = pod;
    bit_clear(t->gone, pod->index);
    bit_set(t->present, pod->index);
    t->n_present++;
}

static void sort_in(struct job_pods *p, struct job_pod *pod)
{
    struct pod_slot *slot = pods_slot_of(p, pod);
    struct task_pods *t = pods_task_of(p, pod);

    if (slot && slot->pod)
        p->n_doubles++;
    else if (slot)
        slot_take(t, pod);
    pod->class = (uint8_t)class_of(p, pod);
    list_push(&p->classes[pod->class], &pod->in_class);
    pods_count_pod(p, pod, 1);
    if (pod->class != POD_LIVE)
        return;
    bit_set(t->seen, pod->index);
    if (pod->view.phase == POD_SUCCEEDED && !bit_get(t->done, pod->index)) {
        bit_set(t->done, pod->index);
        t->n_done++;
    }
}

static void sort_out(struct job_pods *p, struct job_pod *pod)
{
    struct pod_slot *slot = pods_slot_of(p, pod);

    pods_count_pod(p, pod, -1);
    list_remove(&pod->in_class);
    if (slot && slot->pod == pod) {
        struct task_pods *t = pods_task_of(p, pod);

        slot->pod = NULL;
        bit_clear(t->present, pod->index);
        t->n_present--;
    } else if (slot)
        p->n_doubles--;
}

static void mark_changed(struct job_pods *p, struct job_pod *pod)
{
    if (!list_is_linked(&pod->to_look))
        list_push(&p->to_look, &pod->to_look);
}

static struct job_pod *list_find(const struct list *l, uint32_t task, uint32_t index)
{
    LIST_FOREACH(struct job_pod, pod, l, in_class)
        if (pod->task == task && pod->index == index)
            return pod;
    return NULL;
}

/* An index became free: if another pod claims it too, it is that one's now. Doubles are another client's mistake; while
 * there are none this costs nothing. */
static void give_to_double(struct job_pods *p, uint32_t task, uint32_t index)
{
    struct job_pod *pod;

    if (!p->n_doubles || task == PODS_NO_TASK || index >= p->tasks[task].n || p->tasks[task].slots[index].pod)
        return;
    pod = list_find(&p->classes[POD_SURPLUS], task, index);
    if (!pod)
        pod = list_find(&p->classes[POD_TERMINATING], task, index);
    if (!pod)
        return;
    sort_out(p, pod);
    sort_in(p, pod);
    mark_changed(p, pod);
}

/* ---- the job ---- */

void pods_init(struct job_pods *p)
{
    *p = (struct job_pods){ 0 };
    for (size_t i = 0; i < POD_CLASS_MAX; i++)
        list_init(&p->classes[i]);
    list_init(&p->to_look);
    map_init(&p->by_name, map_seed_default());
    map_init(&p->by_task, map_seed_default());
}

static void tasks_free(struct task_pods *tasks, struct str *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        task_resize(&tasks[i], 0);
        free((char *)names[i].p);
    }
    free(tasks);
    free(names);
}

void pods_done(struct job_pods *p)
{
    for (size_t i = 0; i < POD_CLASS_MAX; i++)
        LIST_FOREACH(struct job_pod, pod, &p->classes[i], in_class)
            free(pod);
    tasks_free(p->tasks, p->task_names, p->n_tasks);
    map_done(&p->by_name);
    map_done(&p->by_task);
    *p = (struct job_pods){ 0 };
}

/* Replicas of a task that the table has room for; '*left' is what the job may still have. */
static uint32_t task_size(const struct job_task *task, uint32_t *left)
{
    uint32_t n = task->replicas < 0 ? 0 : (uint32_t)task->replicas;

    n = MIN_OF(n, (uint32_t)PODS_TASK_MAX);
    n = MIN_OF(n, *left);
    *left -= n;
    return n;
}

static bool tasks_have_names(const struct job_pods *p, const struct job *job)
{
    if (p->n_tasks != job->spec.tasks.n)
        return false;
    for (size_t i = 0; i < p->n_tasks; i++)
        if (!str_eq(p->task_names[i], job->spec.tasks.v[i].name))
            return false;
    return true;
}

static bool tasks_have_sizes(const struct job_pods *p, const struct job *job)
{
    uint32_t left = PODS_JOB_MAX;

    for (size_t i = 0; i < p->n_tasks; i++)
        if (p->tasks[i].n != task_size(&job->spec.tasks.v[i], &left))
            return false;
    return true;
}

static struct str str_copy(struct str s)
{
    char *p = xmalloc(s.n + 1);

    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return (struct str){ p, s.n };
}

/* Another set of tasks. A task that stays, wherever it is now, keeps its flights and what was seen. */
static void tasks_replace(struct job_pods *p, const struct job *job)
{
    size_t n = job->spec.tasks.n;
    struct task_pods *tasks = xcalloc(n ? n : 1, sizeof(*tasks));
    struct str *names = xcalloc(n ? n : 1, sizeof(*names));

    for (size_t i = 0; i < n; i++) {
        uint32_t old = task_find(p, job->spec.tasks.v[i].name);

        names[i] = str_copy(job->spec.tasks.v[i].name);
        if (old == PODS_NO_TASK)
            continue;
        tasks[i] = p->tasks[old];
        p->tasks[old] = (struct task_pods){ 0 }; /* a second task of that name gets nothing */
    }
    map_clear(&p->by_task);
    tasks_free(p->tasks, p->task_names, p->n_tasks);
    p->tasks = tasks;
    p->task_names = names;
    p->n_tasks = n;
    for (size_t i = 0; i < n; i++)
        if (!map_get(&p->by_task, names[i]))
            map_put(&p->by_task, names[i], &names[i]);
}

static void tasks_resize(struct job_pods *p, const struct job *job)
{
    uint32_t left = PODS_JOB_MAX;

    for (size_t i = 0; i < p->n_tasks; i++)
        task_resize(&p->tasks[i], task_size(&job->spec.tasks.v[i], &left));
}

/* All pods out of their classes into 'all': those that have an index before those that only claim one. */
static void lift_all(struct job_pods *p, struct list *all)
{
    static const enum pod_standing order[] = { POD_LIVE, POD_OLD, POD_TERMINATING, POD_SURPLUS };

    _Static_assert(ARRAY_LEN(order) == POD_CLASS_MAX, "lift every class");
    list_init(all);
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        list_append(all, &p->classes[order[i]]);
    memset(p->n_class, 0, sizeof(p->n_class));
    memset(p->live, 0, sizeof(p->live));
    memset(p->old, 0, sizeof(p->old));
    p->n_doubles = 0;
}

void pods_set_job(struct job_pods *p, const struct job *job)
{
    bool is_new_version = job->status.version > p->version, has_names = tasks_have_names(p, job);
    struct list all;

    if (job->status.version == p->version && has_names && tasks_have_sizes(p, job))
        return;
    lift_all(p, &all);
    for (size_t i = 0; i < p->n_tasks; i++)
        task_empty(&p->tasks[i], is_new_version);
    if (!has_names)
        tasks_replace(p, job);
    tasks_resize(p, job);
    p->version = job->status.version;
    LIST_FOREACH(struct job_pod, pod, &all, in_class) {
        uint8_t class = pod->class;

        list_remove(&pod->in_class);
        pod->task = task_find(p, pod_task_name(pod));
        sort_in(p, pod);
        if (pod->class != class)
            mark_changed(p, pod);
    }
}

/* ---- pods ---- */

static struct job_pod *pods_pod_new(struct str name, struct str task_name, uint32_t index, const struct pod_view *view)
{
    struct job_pod *pod;
    char *text;

    pod = xmalloc(sizeof(*pod) + name.n + task_name.n);
    text = (char *)(pod + 1);
    *pod = (struct job_pod){
        .view = *view, .name = { text, name.n }, .index = index, .task_name_n = (uint16_t)task_name.n
    };
    if (name.n)
        memcpy(text, name.p, name.n);
    if (task_name.n)
        memcpy(text + name.n, task_name.p, task_name.n);
    return pod;
}

/* What is in the view came from outside. */
static struct pod_view view_checked(const struct pod_view *view)
{
    struct pod_view v = *view;

    v.uid[sizeof(v.uid) - 1] = '\0';
    if (v.phase >= POD_PHASE_MAX)
        v.phase = POD_UNKNOWN;
    v.n_exit_codes = MIN_OF(v.n_exit_codes, (uint8_t)POD_EXIT_CODES);
    return v;
}

static bool view_same(const struct pod_view *a, const struct pod_view *b) /* but for 'rev' */
{
    return strcmp(a->uid, b->uid) == 0 && a->created_ms == b->created_ms && a->finished_ms == b->finished_ms &&
           a->version == b->version && a->restarts == b->restarts && a->phase == b->phase &&
           a->is_deleting == b->is_deleting && a->is_ready == b->is_ready && a->is_marked == b->is_marked &&
           a->is_disrupted == b->is_disrupted && a->n_exit_codes == b->n_exit_codes &&
           memcmp(a->exit_codes, b->exit_codes, a->n_exit_codes * sizeof(a->exit_codes[0])) == 0;
}

/* Out of everything and freed; its index stays free. */
static void pod_drop(struct job_pods *p, struct job_pod *pod)
{
    sort_out(p, pod);
    pods_flight_delete_off(p, pod);
    list_remove(&pod->to_look);
    map_remove(&p->by_name, pod->name);
    free(pod);
}

static void pod_add(struct job_pods *p, struct job_pod *pod)
{
    pod->task = task_find(p, pod_task_name(pod));
    map_put(&p->by_name, pod->name, pod);
    sort_in(p, pod);
    mark_changed(p, pod);
}

static void pod_update(struct job_pods *p, struct job_pod *pod, const struct pod_view *view)
{
    if (view_same(&pod->view, view)) {
        pod->view.rev = view->rev;
        return;
    }
    if (view->is_deleting && !pod->view.is_deleting) /* what the flight was for */
        pods_flight_delete_off(p, pod);
    sort_out(p, pod);
    pod->view = *view;
    sort_in(p, pod);
    mark_changed(p, pod);
}

void pods_put(struct job_pods *p, struct str name, struct str task_name, uint32_t index, const struct pod_view *view)
{
    struct job_pod *pod = pods_get(p, name), *now;
    struct pod_view v = view_checked(view);
    uint32_t old_task, old_index;

    if (pod && (v.rev < pod->view.rev || (v.rev == pod->view.rev && v.rev)))
        return;
    task_name.n = MIN_OF(task_name.n, (size_t)TASK_NAME_MAX);
    if (pod && strcmp(pod->view.uid, v.uid) == 0 && pod->index == index && str_eq(pod_task_name(pod), task_name)) {
        pod_update(p, pod, &v);
        return;
    }
    now = pods_pod_new(name, task_name, index, &v); /* before the drop: 'name' may be the old pod's own */
    if (!pod) {
        pod_add(p, now);
        return;
    }
    old_task = pod->task; /* another pod of that name, or one that was given another task or index */
    old_index = pod->index;
    pod_drop(p, pod);
    pod_add(p, now);
    give_to_double(p, old_task, old_index);
}

void pods_remove(struct job_pods *p, struct str name, struct str uid)
{
    struct job_pod *pod = pods_get(p, name);
    uint32_t task, index;

    if (!pod || !str_eq(str_of(pod->view.uid), uid))
        return;
    task = pod->task;
    index = pod->index;
    pod_drop(p, pod);
    give_to_double(p, task, index);
    pods_confirm_gone(p, task, index);
}

struct job_pod *pods_get(const struct job_pods *p, struct str name)
{
    return map_get(&p->by_name, name);
}

void pods_looked(struct job_pods *p)
{
    while (list_pop_front(&p->to_look))
        ;
}

/* ---- flights ---- */

void pods_flight_create(struct job_pods *p, size_t task, uint32_t index, int64_t now_ms)
{
    struct task_pods *t = task < p->n_tasks ? &p->tasks[task] : NULL;

    if (!t || index >= t->n || t->slots[index].pod)
        return;
    t->slots[index].flight_ms = now_ms ? now_ms : 1;
    if (bit_get(t->creating, index))
        return;
    bit_set(t->creating, index);
    t->n_creating++;
}

void pods_flight_off(struct job_pods *p, size_t task, uint32_t index)
{
    struct task_pods *t = task < p->n_tasks ? &p->tasks[task] : NULL;

    if (!t || index >= t->n || !t->slots[index].flight_ms)
        return;
    t->slots[index].flight_ms = 0;
    bit_clear(t->creating, index);
    t->n_creating--;
}

void pods_flight_delete(struct job_pods *p, struct job_pod *pod, int64_t now_ms)
{
    p->n_deleting += pod->flight != FLIGHT_DELETE;
    pod->flight = FLIGHT_DELETE;
    pod->flight_ms = now_ms;
}

void pods_flight_delete_off(struct job_pods *p, struct job_pod *pod)
{
    p->n_deleting -= pod->flight == FLIGHT_DELETE;
    pod->flight = FLIGHT_NONE;
    pod->flight_ms = 0;
}

/* ---- questions ---- */

enum which { WHICH_ANY, WHICH_EVICTED, WHICH_DOUBTFUL };

/* Of the indices that are not there, not asked for and not done. */
static uint64_t wanted_bits(const struct task_pods *t, size_t w, enum which which)
{
    uint64_t missing = ~(t->present[w] | t->creating[w] | t->done[w]);

    if (which == WHICH_ANY)
        return missing;
    return missing & t->seen[w] & (which == WHICH_EVICTED ? t->gone[w] : ~t->gone[w]);
}

static uint32_t next_missing(const struct task_pods *t, uint32_t from, enum which which)
{
    if (t->n_present + t->n_creating >= t->n) /* nearly always: nothing is missing */
        return UINT32_MAX;
    for (size_t w = from / 64; from < t->n && w < bits_words(t->n); w++) {
        uint64_t word = wanted_bits(t, w, which);

        if (w == from / 64)
            word &= UINT64_MAX << (from % 64);
        if (word) {
            uint64_t i = w * 64 + (uint64_t)__builtin_ctzll(word);

            return i < t->n ? (uint32_t)i : UINT32_MAX;
        }
    }
    return UINT32_MAX;
}

uint32_t pods_next_missing(const struct task_pods *t, uint32_t from)
{
    return next_missing(t, from, WHICH_ANY);
}

uint32_t pods_next_evicted(const struct task_pods *t, uint32_t from)
{
    return next_missing(t, from, WHICH_EVICTED);
}

uint32_t pods_next_doubtful(const struct task_pods *t, uint32_t from)
{
    return next_missing(t, from, WHICH_DOUBTFUL);
}

void pods_confirm_gone(struct job_pods *p, size_t task, uint32_t index)
{
    struct task_pods *t = task < p->n_tasks ? &p->tasks[task] : NULL;

    if (t && index < t->n && !bit_get(t->present, index))
        bit_set(t->gone, index);
}

void pods_recall(struct job_pods *p, size_t task, struct str seen, struct str done)
{
    struct task_pods *t;

    if (task >= p->n_tasks)
        return;
    t = &p->tasks[task];
    if (t->n) {
        memset(t->seen, 0, bits_words(t->n) * sizeof(*t->seen));
        memset(t->done, 0, bits_words(t->n) * sizeof(*t->done));
    }
    bits_parse(seen, t->seen, t->n);
    bits_parse(done, t->done, t->n);
    for (uint32_t i = 0; i < t->n; i++) {
        const struct job_pod *pod = t->slots[i].pod;

        if (!pod || pod->class != POD_LIVE)
            continue;
        bit_set(t->seen, i);
        if (pod->view.phase == POD_SUCCEEDED)
            bit_set(t->done, i);
    }
    t->n_done = bits_ones(t->done, t->n);
}
