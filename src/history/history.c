/* history.c - taking in what happens to jobs, groups and Events */
#include "history/history_internal.h"

#include "api/meta.h"
#include "base/util.h"

/* ---- life ---- */

struct history *history_new(int64_t begin_ms)
{
    struct history *h = xcalloc(1, sizeof(*h));
    struct map *maps[] = { &h->jobs_uid, &h->pods_uid, &h->pods_name, &h->events, &h->texts };
    uint64_t seed = map_seed_default();

    for (size_t i = 0; i < ARRAY_LEN(maps); i++)
        map_init(maps[i], seed);
    h->begin_ms = h->end_ms = begin_ms;
    h->found = arena_new(&h->arena, struct history_found);
    return h;
}

void history_free(struct history *h)
{
    struct map *maps[] = { h ? &h->jobs_uid : NULL, h ? &h->pods_uid : NULL, h ? &h->pods_name : NULL,
                           h ? &h->events : NULL, h ? &h->texts : NULL };

    if (!h)
        return;
    history_pods_done(h);
    arena_done(&h->found->arena);
    for (size_t i = 0; i < h->jobs.n; i++)
        object_unref(h->jobs.v[i]->object);
    for (size_t i = 0; i < ARRAY_LEN(maps); i++)
        map_done(maps[i]);
    buf_done(&h->key);
    arena_done(&h->arena);
    free(h);
}

struct str history_keep(struct history *h, struct str s)
{
    const struct str *old;
    struct str *kept;

    if (str_empty(s))
        return STR("");
    s = str_cut(s, HISTORY_TEXT);
    old = map_get(&h->texts, s);
    if (old)
        return *old;
    kept = arena_new(&h->arena, struct str);
    *kept = arena_str(&h->arena, s);
    map_put(&h->texts, *kept, kept);
    return *kept;
}

struct str history_name_key(struct history *h, struct str namespace, struct str name)
{
    buf_reset(&h->key);
    buf_str(&h->key, namespace);
    buf_char(&h->key, '/');
    buf_str(&h->key, name);
    return buf_view(&h->key);
}

static void see(struct history *h, int64_t now_ms)
{
    if (!h->is_finished)
        h->end_ms = MAX_OF(h->end_ms, now_ms);
}

/* ---- jobs ---- */

static struct history_job *job_new(struct history *h, const struct object *o, int64_t now_ms)
{
    struct history_job *j = arena_new(&h->arena, struct history_job);

    j->namespace = history_keep(h, o->namespace);
    j->name = history_keep(h, o->name);
    j->uid = history_keep(h, o->uid);
    j->submitted_ms = now_ms;
    j->finished_ms = j->gone_ms = -1;
    map_put(&h->jobs_uid, j->uid, j);
    *vec_push(&h->arena, &j->queued) = (struct history_span){ now_ms, -1 };
    *vec_push(&h->arena, &h->jobs) = j;
    return j;
}

static bool has_task(const struct history_job *j, struct str name)
{
    VEC_FOREACH(task, &j->tasks)
        if (str_eq(*task, name))
            return true;
    return false;
}

static void note_phase(struct history *h, struct history_job *j, struct str phase, int64_t now_ms)
{
    if (str_eq(phase, j->phase))
        return;
    j->phase = history_keep(h, phase);
    if (j->phases.n && j->phases.v[j->phases.n - 1].at_ms == now_ms) /* it lasted no time at all */
        j->phases.v[j->phases.n - 1].name = j->phase;
    else if (j->phases.n < HISTORY_PHASES)
        *vec_push(&h->arena, &j->phases) = (struct history_phase){ now_ms, j->phase };
    j->finished_ms = job_is_over(j) ? now_ms : -1;
}

static void close_wait(struct history_job *j, int64_t now_ms)
{
    struct history_wait *last = j->waits.n ? &j->waits.v[j->waits.n - 1] : NULL;

    if (last && last->until_ms < 0)
        last->until_ms = now_ms;
}

static void job_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct history_job *j = map_get(&h->jobs_uid, o->uid);
    const struct json *spec = json_get(o->root, "spec"), *state = json_find(o->root, "status", "state", NULL);

    if (!j && is_gone)
        return;
    if (!j)
        j = job_new(h, o, now_ms);
    if (is_gone) {
        j->gone_ms = now_ms;
        close_wait(j, now_ms);
        return;
    }
    j->queue = history_keep(h, json_text(json_get(spec, "queue"), STR("default")));
    JSON_FOREACH(task, json_get(spec, "tasks"))
        if (!has_task(j, json_member_text(task, "name")))
            *vec_push(&h->arena, &j->tasks) = history_keep(h, json_member_text(task, "name"));
    history_job_decided(h, j, o, now_ms);
    j->reason = history_keep(h, json_member_text(state, "reason"));
    j->message = history_keep(h, json_member_text(state, "message"));
    note_phase(h, j, json_member_text(state, "phase"), now_ms);
    if (job_is_over(j))
        close_wait(j, now_ms);
    object_unref(j->object);
    j->object = object_ref(o);
}

/* ---- PodGroups: when the job stood in line, and why ---- */

static const struct json *unschedulable(const struct json *root)
{
    JSON_FOREACH(c, json_find(root, "status", "conditions", NULL))
        if (str_is(json_member_text(c, "type"), "Unschedulable") && str_is(json_member_text(c, "status"), "True"))
            return c;
    return NULL;
}

static void note_wait(struct history *h, struct history_job *j, const struct json *why, int64_t now_ms)
{
    struct history_wait *last = j->waits.n ? &j->waits.v[j->waits.n - 1] : NULL;
    struct str reason = history_keep(h, json_member_text(why, "reason"));
    struct str message = history_keep(h, json_member_text(why, "message"));

    if (last && last->until_ms < 0 && str_eq(last->reason, reason) && str_eq(last->message, message))
        return;
    close_wait(j, now_ms);
    if (last && last->from_ms == now_ms) /* said and taken back in one moment */
        j->waits.n--;
    if (j->waits.n < HISTORY_WAITS)
        *vec_push(&h->arena, &j->waits) = (struct history_wait){ now_ms, -1, reason, message };
}

static void group_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct history_job *j = map_get(&h->jobs_uid, object_controller_uid(o->root));
    struct str phase = json_member_text(json_get(o->root, "status"), "phase");
    const struct json *why = unschedulable(o->root);
    struct history_span *last;

    if (!j)
        return;
    if (!str_eq(j->group_uid, o->uid)) {
        if (is_gone)
            return;
        if (!str_empty(j->group_uid)) /* a restart: it stands in line again */
            *vec_push(&h->arena, &j->queued) = (struct history_span){ now_ms, -1 };
        j->group_uid = history_keep(h, o->uid);
    }
    last = &j->queued.v[j->queued.n - 1];
    if (last->until_ms < 0 && !str_empty(phase) && !str_is(phase, "Pending"))
        last->until_ms = now_ms;
    if (why && !is_gone && !str_is(phase, "Running") && !job_is_over(j))
        note_wait(h, j, why, now_ms);
    else
        close_wait(j, now_ms);
}

/* ---- Events ---- */

struct history_decision *history_decide(struct history *h, struct history_job *j, int64_t now_ms)
{
    struct history_decision *d;

    if (h->decisions.n >= HISTORY_LISTED) {
        h->n_left_out++;
        return NULL;
    }
    d = vec_push(&h->arena, &h->decisions);
    *d = (struct history_decision){ .at_ms = now_ms, .job = j };
    if (j)
        j->last_decision = h->decisions.n;
    return d;
}

/* The scheduler takes a pod's place away: nobody but the Event tells. */
static void note_eviction(struct history *h, const struct json *about, struct str message, int64_t now_ms)
{
    const struct history_pod *p = map_get(&h->pods_uid, json_member_text(about, "uid"));
    struct history_decision *d = history_decide(h, p ? p->job : NULL, now_ms);
    autobuf text = { 0 };

    if (!d)
        return;
    d->action = STR("Evict");
    d->pod = history_keep(h, json_member_text(about, "name"));
    buf_fmt(&text, "%.*s: %.*s", STR_ARG(d->pod), STR_ARG(message));
    d->because = history_keep(h, buf_view(&text));
}

static void note_warning(struct history *h, const struct object *o, int64_t now_ms)
{
    const struct json *about = json_get(o->root, "involvedObject");
    uintptr_t number = (uintptr_t)map_get(&h->events, o->uid);
    struct history_warning *w = number ? &h->warnings.v[number - 1] : NULL;

    if (!w && h->warnings.n >= HISTORY_LISTED) {
        h->n_left_out++;
        return;
    }
    if (!w) {
        w = vec_push(&h->arena, &h->warnings);
        w->kind = history_keep(h, json_member_text(about, "kind"));
        w->name = history_keep(h, json_member_text(about, "name"));
        w->reason = history_keep(h, json_member_text(o->root, "reason"));
        map_put(&h->events, history_keep(h, o->uid), (void *)(uintptr_t)h->warnings.n);
    }
    w->at_ms = now_ms;
    w->count = MAX_OF(json_i64(json_get(o->root, "count"), 1), 1);
    w->message = history_keep(h, json_member_text(o->root, "message"));
}

/* Why a job waits is told by its PodGroup, with times. */
static bool is_about_waiting(const struct json *root, const struct json *about)
{
    return str_is(json_member_text(about, "kind"), "PodGroup") ||
           str_is(json_member_text(root, "reason"), "PodGroupPending");
}

static void event_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms)
{
    const struct json *about = json_get(o->root, "involvedObject");

    if (is_gone)
        return;
    if (str_is(json_member_text(o->root, "reason"), "Evict") && str_is(json_member_text(about, "kind"), "Pod"))
        note_eviction(h, about, json_member_text(o->root, "message"), now_ms);
    else if (str_is(json_member_text(o->root, "type"), "Warning") && !is_about_waiting(o->root, about))
        note_warning(h, o, now_ms);
}

/* ---- the door ---- */

static const struct {
    const char *group, *kind;
    void (*changed)(struct history *h, const struct object *o, bool is_gone, int64_t now_ms);
} kinds[] = {
    { "", "Pod", history_pod_changed },
    { "batch.volcano.sh", "Job", job_changed },
    { "scheduling.volcano.sh", "PodGroup", group_changed },
    { "", "Event", event_changed },
};

void history_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms)
{
    see(h, now_ms);
    h->found->is_valid = false;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(o->type->kind, kinds[i].kind) == 0 && strcmp(o->type->group, kinds[i].group) == 0) {
            kinds[i].changed(h, o, is_gone, now_ms);
            return;
        }
}

void history_note(struct history *h, struct str sentence, int64_t now_ms)
{
    see(h, now_ms);
    if (h->notes.n < HISTORY_LISTED)
        *vec_push(&h->arena, &h->notes) = (struct history_note){ now_ms, history_keep(h, sentence) };
    else
        h->n_left_out++;
}

void history_finish(struct history *h, int64_t end_ms)
{
    see(h, end_ms);
    h->is_finished = true;
}
