/* pods_check.c - what a table of pods holds, and whether it is as it must be: everything counted again from the pods */
#include "job/test/pods_check.h"

#include "base/test/check.h"
#include "base/util.h"

/* ---- memory ---- */

/* What the allocator makes of 'n' bytes: a header, and steps of 16. */
static size_t heap_bytes(size_t n)
{
    return n ? (n + 8 + 15) / 16 * 16 : 0;
}

static size_t map_bytes(const struct map *m)
{
    enum { MAP_SLOT_BYTES = 32 };

    return heap_bytes(m->cap * MAP_SLOT_BYTES);
}

size_t pods_bytes(const struct job_pods *p)
{
    size_t sum = map_bytes(&p->by_name) + map_bytes(&p->by_task);

    sum += p->tasks ? heap_bytes(p->n_tasks * sizeof(*p->tasks)) + heap_bytes(p->n_tasks * sizeof(*p->task_names)) : 0;
    for (size_t i = 0; i < p->n_tasks; i++) {
        const struct task_pods *t = &p->tasks[i];

        sum += heap_bytes(p->task_names[i].n + 1) + heap_bytes(t->n * sizeof(*t->slots));
        sum += 4 * heap_bytes(bits_words(t->n) * sizeof(uint64_t));
    }
    for (size_t c = 0; c < POD_CLASS_MAX; c++)
        LIST_FOREACH(struct job_pod, pod, &p->classes[c], in_class)
            sum += heap_bytes(sizeof(*pod) + pod->name.n + pod->task_name_n);
    return sum;
}

/* ---- the check: everything counted again from the pods alone ---- */

static void must_be(bool ok, const char *what, struct str where)
{
    if (ok)
        return;
    fprintf(stderr, "pods_check: %s (%.*s)\n", what, STR_ARG(where));
    abort();
}

struct recount {
    uint32_t present, live[POD_PHASE_MAX], old[POD_PHASE_MAX], terminating, surplus, ready;
    int64_t restarts;
};

static void check_bits(const struct task_pods *t, struct str name)
{
    uint64_t *const sets[] = { t->present, t->creating, t->seen, t->done, t->gone };
    uint64_t beyond = t->n % 64 ? UINT64_MAX << (t->n % 64) : 0;

    for (size_t s = 0; s < ARRAY_LEN(sets) && t->n; s++)
        must_be((sets[s][bits_words(t->n) - 1] & beyond) == 0, "a bit beyond the end", name);
    for (uint32_t i = 0; i < t->n; i++) {
        const struct pod_slot *slot = &t->slots[i];

        must_be(bit_get(t->present, i) == (slot->pod != NULL), "present bit", name);
        must_be(!slot->pod || !bit_get(t->gone, i), "gone and there", name);
        must_be(bit_get(t->creating, i) == (slot->flight_ms != 0), "creating bit", name);
        must_be(!slot->pod || !slot->flight_ms, "a create in flight beside a pod", name);
    }
    must_be(bits_ones(t->present, t->n) == t->n_present, "n_present", name);
    must_be(bits_ones(t->creating, t->n) == t->n_creating, "n_creating", name);
    must_be(bits_ones(t->done, t->n) == t->n_done, "n_done", name);
}

/* The class by the words of pods.h, not by class_of(). */
static void check_class(const struct job_pods *p, const struct job_pod *pod)
{
    bool in_range = pod->task != PODS_NO_TASK && pod->index < p->tasks[pod->task].n;
    bool has_index = in_range && p->tasks[pod->task].slots[pod->index].pod == pod;
    bool is_old = pod->view.version != -1 && pod->view.version < p->version;
    enum pod_standing want = POD_LIVE;

    if (is_old)
        want = POD_OLD;
    if (!has_index)
        want = POD_SURPLUS;
    if (pod->view.is_deleting)
        want = POD_TERMINATING;
    must_be(pod->class == want, "class", pod->name);
    must_be(!in_range || p->tasks[pod->task].slots[pod->index].pod, "an index that nobody has, yet claimed", pod->name);
}

static void check_pod_task(const struct job_pods *p, const struct job_pod *pod)
{
    uint32_t task = 0;

    while (task < p->n_tasks && !str_eq(p->task_names[task], pod_task_name(pod)))
        task++;
    must_be(pod->task == (task < p->n_tasks ? task : PODS_NO_TASK), "task", pod->name);
}

static void recount_pod(struct recount *r, const struct job_pod *pod, const struct task_pods *t)
{
    const struct pod_view *v = &pod->view;

    r->present += pod->index < t->n && t->slots[pod->index].pod == pod;
    r->terminating += pod->class == POD_TERMINATING;
    r->surplus += pod->class == POD_SURPLUS;
    r->old[v->phase] += pod->class == POD_OLD;
    if (pod->class != POD_LIVE)
        return;
    r->live[v->phase]++;
    r->ready += v->phase == POD_SUCCEEDED || (v->phase == POD_RUNNING && v->is_ready);
    r->restarts += v->phase == POD_PENDING || v->phase == POD_RUNNING ? v->restarts : 0;
    must_be(bit_get(t->seen, pod->index), "a live pod not seen", pod->name);
    must_be(v->phase != POD_SUCCEEDED || bit_get(t->done, pod->index), "a succeeded pod not done", pod->name);
}

static void check_task(const struct task_pods *t, const struct recount *r, struct str name)
{
    check_bits(t, name);
    must_be(t->n_present == r->present, "pods that have an index", name);
    must_be(memcmp(t->live, r->live, sizeof(r->live)) == 0, "live by phase", name);
    must_be(memcmp(t->old, r->old, sizeof(r->old)) == 0, "old by phase", name);
    must_be(t->terminating == r->terminating, "terminating", name);
    must_be(t->surplus == r->surplus, "surplus", name);
    must_be(t->ready == r->ready, "ready", name);
    must_be(t->restarts == r->restarts, "restarts", name);
}

static void check_totals(const struct job_pods *p)
{
    for (size_t phase = 0; phase < POD_PHASE_MAX; phase++) {
        uint32_t live = 0, old = 0;

        for (size_t i = 0; i < p->n_tasks; i++) {
            live += p->tasks[i].live[phase];
            old += p->tasks[i].old[phase];
        }
        must_be(p->live[phase] == live && p->old[phase] == old, "sum over tasks", str_of(pod_phase_names[phase]));
    }
}

void pods_check(const struct job_pods *p)
{
    autofree struct recount *tasks = xcalloc(p->n_tasks + 1, sizeof(*tasks));
    uint32_t n_class[POD_CLASS_MAX] = { 0 }, deleting = 0, doubles = 0, to_look = 0;

    map_check(&p->by_name);
    for (uint8_t c = 0; c < POD_CLASS_MAX; c++) {
        list_check(&p->classes[c]);
        LIST_FOREACH(struct job_pod, pod, &p->classes[c], in_class) {
            must_be(pod->class == c, "in the list of another class", pod->name);
            must_be(pods_get(p, pod->name) == pod, "by name", pod->name);
            check_pod_task(p, pod);
            check_class(p, pod);
            n_class[c]++;
            deleting += pod->flight == FLIGHT_DELETE;
            to_look += list_is_linked(&pod->to_look);
            if (pod->task == PODS_NO_TASK)
                continue;
            doubles += pod->index < p->tasks[pod->task].n && pods_at(p, pod->task, pod->index) != pod;
            recount_pod(&tasks[pod->task], pod, &p->tasks[pod->task]);
        }
        must_be(p->n_class[c] == n_class[c], "n_class", STR_NULL);
    }
    must_be(map_count(&p->by_name) == n_class[0] + n_class[1] + n_class[2] + n_class[3], "pods by name", STR_NULL);
    must_be(p->n_deleting == deleting, "n_deleting", STR_NULL);
    must_be(p->n_doubles == doubles, "n_doubles", STR_NULL);
    must_be(list_check(&p->to_look) == to_look, "to_look", STR_NULL);
    for (size_t i = 0; i < p->n_tasks; i++)
        check_task(&p->tasks[i], &tasks[i], p->task_names[i]);
    check_totals(p);
}
