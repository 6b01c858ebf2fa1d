/* history.c - taking in what happens to jobs, groups and Events */
#include "history/history_internal.h"

#include "api/meta.h"
#include "base/util.h"

/* ---- life ---- */

struct record *record_new(int64_t begin_ms)
{
    struct record *r = xcalloc(1, sizeof(*r));
    struct map *maps[] = { &r->jobs_uid, &r->pods_uid, &r->pods_name, &r->events, &r->texts };
    uint64_t seed = map_seed_default();

    for (size_t i = 0; i < ARRAY_LEN(maps); i++)
        map_init(maps[i], seed);
    r->begin_ms = r->end_ms = begin_ms;
    r->found = arena_new(&r->arena, struct record_found);
    return r;
}

void record_free(struct record *r)
{
    struct map *maps[] = { r ? &r->jobs_uid : NULL, r ? &r->pods_uid : NULL, r ? &r->pods_name : NULL,
                           r ? &r->events : NULL, r ? &r->texts : NULL };

    if (!r)
        return;
    record_pods_done(r);
    arena_done(&r->found->arena);
    for (size_t i = 0; i < r->jobs.n; i++)
        object_unref(r->jobs.v[i]->object);
    for (size_t i = 0; i < ARRAY_LEN(maps); i++)
        map_done(maps[i]);
    buf_done(&r->key);
    arena_done(&r->arena);
    free(r);
}

struct str record_keep(struct record *r, struct str s)
{
    const struct str *old;
    struct str *kept;

    if (str_empty(s))
        return STR("");
    s = str_cut(s, RECORD_TEXT);
    old = map_get(&r->texts, s);
    if (old)
        return *old;
    kept = arena_new(&r->arena, struct str);
    *kept = arena_str(&r->arena, s);
    map_put(&r->texts, *kept, kept);
    return *kept;
}

struct str record_name_key(struct record *r, struct str namespace, struct str name)
{
    buf_reset(&r->key);
    buf_str(&r->key, namespace);
    buf_char(&r->key, '/');
    buf_str(&r->key, name);
    return buf_view(&r->key);
}

static void see(struct record *r, int64_t now_ms)
{
    if (!r->is_finished)
        r->end_ms = MAX_OF(r->end_ms, now_ms);
}

/* ---- jobs ---- */

static struct record_job *job_new(struct record *r, const struct object *o, int64_t now_ms)
{
    struct record_job *j = arena_new(&r->arena, struct record_job);

    j->namespace = record_keep(r, o->namespace);
    j->name = record_keep(r, o->name);
    j->uid = record_keep(r, o->uid);
    j->submitted_ms = now_ms;
    j->finished_ms = j->gone_ms = -1;
    map_put(&r->jobs_uid, j->uid, j);
    *vec_push(&r->arena, &j->queued) = (struct record_span){ now_ms, -1 };
    *vec_push(&r->arena, &r->jobs) = j;
    return j;
}

static bool has_task(const struct record_job *j, struct str name)
{
    VEC_FOREACH(task, &j->tasks)
        if (str_eq(*task, name))
            return true;
    return false;
}

static void note_phase(struct record *r, struct record_job *j, struct str phase, int64_t now_ms)
{
    if (str_eq(phase, j->phase))
        return;
    j->phase = record_keep(r, phase);
    if (j->phases.n && j->phases.v[j->phases.n - 1].at_ms == now_ms) /* it lasted no time at all */
        j->phases.v[j->phases.n - 1].name = j->phase;
    else if (j->phases.n < RECORD_PHASES)
        *vec_push(&r->arena, &j->phases) = (struct record_phase){ now_ms, j->phase };
    j->finished_ms = job_is_over(j) ? now_ms : -1;
}

static void close_wait(struct record_job *j, int64_t now_ms)
{
    struct record_wait *last = j->waits.n ? &j->waits.v[j->waits.n - 1] : NULL;

    if (last && last->until_ms < 0)
        last->until_ms = now_ms;
}

static void job_changed(struct record *r, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct record_job *j = map_get(&r->jobs_uid, o->uid);
    const struct json *spec = json_get(o->root, "spec"), *state = json_find(o->root, "status", "state", NULL);

    if (!j && is_gone)
        return;
    if (!j)
        j = job_new(r, o, now_ms);
    if (is_gone) {
        j->gone_ms = now_ms;
        close_wait(j, now_ms);
        return;
    }
    j->queue = record_keep(r, json_text(json_get(spec, "queue"), STR("default")));
    JSON_FOREACH(task, json_get(spec, "tasks"))
        if (!has_task(j, json_member_text(task, "name")))
            *vec_push(&r->arena, &j->tasks) = record_keep(r, json_member_text(task, "name"));
    record_job_decided(r, j, o, now_ms);
    j->reason = record_keep(r, json_member_text(state, "reason"));
    j->message = record_keep(r, json_member_text(state, "message"));
    note_phase(r, j, json_member_text(state, "phase"), now_ms);
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

static void note_wait(struct record *r, struct record_job *j, const struct json *why, int64_t now_ms)
{
    struct record_wait *last = j->waits.n ? &j->waits.v[j->waits.n - 1] : NULL;
    struct str reason = record_keep(r, json_member_text(why, "reason"));
    struct str message = record_keep(r, json_member_text(why, "message"));

    if (last && last->until_ms < 0 && str_eq(last->reason, reason) && str_eq(last->message, message))
        return;
    close_wait(j, now_ms);
    if (last && last->from_ms == now_ms) /* said and taken back in one moment */
        j->waits.n--;
    if (j->waits.n < RECORD_WAITS)
        *vec_push(&r->arena, &j->waits) = (struct record_wait){ now_ms, -1, reason, message };
}

static void group_changed(struct record *r, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct record_job *j = map_get(&r->jobs_uid, object_controller_uid(o->root));
    struct str phase = json_member_text(json_get(o->root, "status"), "phase");
    const struct json *why = unschedulable(o->root);
    struct record_span *last;

    if (!j)
        return;
    if (!str_eq(j->group_uid, o->uid)) {
        if (is_gone)
            return;
        if (!str_empty(j->group_uid)) /* a restart: it stands in line again */
            *vec_push(&r->arena, &j->queued) = (struct record_span){ now_ms, -1 };
        j->group_uid = record_keep(r, o->uid);
    }
    last = &j->queued.v[j->queued.n - 1];
    if (last->until_ms < 0 && !str_empty(phase) && !str_is(phase, "Pending"))
        last->until_ms = now_ms;
    if (why && !is_gone && !str_is(phase, "Running") && !job_is_over(j))
        note_wait(r, j, why, now_ms);
    else
        close_wait(j, now_ms);
}

/* ---- Events ---- */

struct record_decision *record_decide(struct record *r, struct record_job *j, int64_t now_ms)
{
    struct record_decision *d;

    if (r->decisions.n >= RECORD_LISTED) {
        r->n_left_out++;
        return NULL;
    }
    d = vec_push(&r->arena, &r->decisions);
    *d = (struct record_decision){ .at_ms = now_ms, .job = j };
    if (j)
        j->last_decision = r->decisions.n;
    return d;
}

/* The scheduler takes a pod's place away: nobody but the Event tells. */
static void note_eviction(struct record *r, const struct json *about, struct str message, int64_t now_ms)
{
    const struct record_pod *p = map_get(&r->pods_uid, json_member_text(about, "uid"));
    struct record_decision *d = record_decide(r, p ? p->job : NULL, now_ms);
    autobuf text = { 0 };

    if (!d)
        return;
    d->action = STR("Evict");
    d->pod = record_keep(r, json_member_text(about, "name"));
    buf_fmt(&text, "%.*s: %.*s", STR_ARG(d->pod), STR_ARG(message));
    d->because = record_keep(r, buf_view(&text));
}

static void note_warning(struct record *r, const struct object *o, int64_t now_ms)
{
    const struct json *about = json_get(o->root, "involvedObject");
    uintptr_t number = (uintptr_t)map_get(&r->events, o->uid);
    struct record_warning *w = number ? &r->warnings.v[number - 1] : NULL;

    if (!w && r->warnings.n >= RECORD_LISTED) {
        r->n_left_out++;
        return;
    }
    if (!w) {
        w = vec_push(&r->arena, &r->warnings);
        w->kind = record_keep(r, json_member_text(about, "kind"));
        w->name = record_keep(r, json_member_text(about, "name"));
        w->reason = record_keep(r, json_member_text(o->root, "reason"));
        map_put(&r->events, record_keep(r, o->uid), (void *)(uintptr_t)r->warnings.n);
    }
    w->at_ms = now_ms;
    w->count = MAX_OF(json_i64(json_get(o->root, "count"), 1), 1);
    w->message = record_keep(r, json_member_text(o->root, "message"));
}

/* Why a job waits is told by its PodGroup, with times. */
static bool is_about_waiting(const struct json *root, const struct json *about)
{
    return str_is(json_member_text(about, "kind"), "PodGroup") ||
           str_is(json_member_text(root, "reason"), "PodGroupPending");
}

static void event_changed(struct record *r, const struct object *o, bool is_gone, int64_t now_ms)
{
    const struct json *about = json_get(o->root, "involvedObject");

    if (is_gone)
        return;
    if (str_is(json_member_text(o->root, "reason"), "Evict") && str_is(json_member_text(about, "kind"), "Pod"))
        note_eviction(r, about, json_member_text(o->root, "message"), now_ms);
    else if (str_is(json_member_text(o->root, "type"), "Warning") && !is_about_waiting(o->root, about))
        note_warning(r, o, now_ms);
}

/* ---- the door ---- */

static const struct {
    const char *group, *kind;
    void (*changed)(struct record *r, const struct object *o, bool is_gone, int64_t now_ms);
} kinds[] = {
    { "", "Pod", record_pod_changed },
    { "batch.volcano.sh", "Job", job_changed },
    { "scheduling.volcano.sh", "PodGroup", group_changed },
    { "", "Event", event_changed },
};

void record_changed(struct record *r, const struct object *o, bool is_gone, int64_t now_ms)
{
    see(r, now_ms);
    r->found->is_valid = false;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(o->type->kind, kinds[i].kind) == 0 && strcmp(o->type->group, kinds[i].group) == 0) {
            kinds[i].changed(r, o, is_gone, now_ms);
            return;
        }
}

void record_note(struct record *r, struct str sentence, int64_t now_ms)
{
    see(r, now_ms);
    if (r->notes.n < RECORD_LISTED)
        *vec_push(&r->arena, &r->notes) = (struct record_said){ now_ms, record_keep(r, sentence) };
    else
        r->n_left_out++;
}

void record_finish(struct record *r, int64_t end_ms)
{
    see(r, end_ms);
    r->is_finished = true;
}
