/* history.c - the life of a history, Events and notices; every change goes through here */
#include "history/history_internal.h"

#include "api/meta.h"
#include "base/util.h"

/* ---- life ---- */

enum { MAPS = 10 };

static void maps_of(struct history *h, struct map *ret[MAPS])
{
    struct map *const maps[MAPS] = { &h->jobs_uid,          &h->jobs_name,       &h->pods_uid,     &h->pods_name,
                                     &h->feed->events,      &h->feed->texts,     &h->feed->groups, &h->feed->node_names,
                                     &h->feed->queue_names, &h->feed->priorities };

    memcpy(ret, maps, sizeof(maps));
}

struct history *history_new(const struct history_options *o)
{
    struct history *h = xcalloc(1, sizeof(*h));
    struct map *maps[MAPS];
    uint64_t seed = map_seed_default();

    h->feed = arena_new(&h->arena, struct history_feed);
    maps_of(h, maps);
    for (size_t i = 0; i < MAPS; i++)
        map_init(maps[i], seed);
    h->begin_ms = h->end_ms = h->changed_ms = o->begin_ms;
    h->n_jobs = o->n_jobs;
    h->has_namespaces = o->has_namespaces;
    h->feed->hooks = o->hooks;
    h->is_cluster = o->is_cluster;
    h->is_shared = o->is_shared;
    h->feed->sched = o->sched;
    dims_init(&h->dims);
    return h;
}

/* Only later changes need them. */
static void forget_objects(struct history *h)
{
    VEC_FOREACH(j, &h->jobs) {
        object_unref((*j)->object);
        (*j)->object = NULL;
    }
}

void history_free(struct history *h)
{
    struct map *maps[MAPS];

    if (!h)
        return;
    history_containers_done(h);
    arena_done(&h->feed->found.arena);
    forget_objects(h);
    maps_of(h, maps);
    for (size_t i = 0; i < MAPS; i++)
        map_done(maps[i]);
    dims_done(&h->dims);
    buf_done(&h->feed->key);
    arena_done(&h->arena);
    free(h);
}

/* ---- texts ---- */

struct str history_text(struct history *h, struct str s)
{
    const struct str *old;
    struct str *kept;

    if (str_empty(s))
        return STR("");
    old = map_get(&h->feed->texts, s);
    if (old)
        return *old;
    kept = arena_new(&h->arena, struct str);
    *kept = arena_str(&h->arena, s);
    map_put(&h->feed->texts, *kept, kept);
    return *kept;
}

struct str history_keep(struct history *h, struct str s)
{
    return history_text(h, str_cut(s, HISTORY_TEXT));
}

bool history_set(struct history *h, struct str *field, struct str text)
{
    if (str_eq(*field, text))
        return false;
    *field = history_text(h, text);
    return true;
}

struct str history_label(struct history *h, struct str namespace, struct str name)
{
    return history_text(h, h->has_namespaces ? history_name_key(h, namespace, name) : name);
}

struct str history_name_key(struct history *h, struct str namespace, struct str name)
{
    buf_reset(&h->feed->key);
    buf_str(&h->feed->key, namespace);
    buf_char(&h->feed->key, '/');
    buf_str(&h->feed->key, name);
    return buf_view(&h->feed->key);
}

static void see(struct history *h, int64_t now_ms)
{
    if (!h->is_finished)
        h->end_ms = MAX_OF(h->end_ms, now_ms);
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

/* The scheduler evicts a pod: only the Event says so. */
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

static void note_warning(struct history *h, const struct object *o, struct history_event *seen, int64_t now_ms)
{
    const struct json *about = json_get(o->root, "involvedObject");
    struct history_warning *w = seen->warning ? &h->warnings.v[seen->warning - 1] : NULL;

    if (!w && h->warnings.n >= HISTORY_LISTED) {
        h->n_left_out++;
        return;
    }
    if (!w) {
        w = vec_push(&h->arena, &h->warnings);
        w->kind = history_keep(h, json_member_text(about, "kind"));
        w->name = history_keep(h, json_member_text(about, "name"));
        w->reason = history_keep(h, json_member_text(o->root, "reason"));
        seen->warning = h->warnings.n;
    }
    w->at_ms = now_ms;
    w->count = MAX_OF(json_i64(json_get(o->root, "count"), 1), 1);
    w->message = history_keep(h, json_member_text(o->root, "message"));
}

/* Trouble that a controller had with a job, and the commands of users. */
static void tell_event(struct history *h, const struct object *o)
{
    const struct history_job *j = map_get(&h->jobs_uid, json_member_text(json_get(o->root, "involvedObject"), "uid"));
    struct str reason = json_member_text(o->root, "reason");

    if (j && h->feed->hooks.decision && !str_is(reason, "PodGroupPending"))
        h->feed->hooks.decision(h->feed->hooks.ctx, j, reason, json_member_text(o->root, "message"));
}

static void event_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms)
{
    const struct json *about = json_get(o->root, "involvedObject");
    struct str reason = json_member_text(o->root, "reason");
    bool is_warning = str_is(json_member_text(o->root, "type"), "Warning");
    struct history_event *seen = map_get(&h->feed->events, o->uid);

    if (is_gone)
        return;
    if (str_is(reason, "Evict") && str_is(json_member_text(about, "kind"), "Pod")) {
        note_eviction(h, about, json_member_text(o->root, "message"), now_ms);
        return;
    }
    if (!is_warning && !str_is(reason, "CommandIssued"))
        return;
    if (!seen) { /* told once, however often it is counted up */
        seen = arena_new(&h->arena, struct history_event);
        map_put(&h->feed->events, history_text(h, o->uid), seen);
        tell_event(h, o);
    }
    if (is_warning && !str_is(json_member_text(about, "kind"), "PodGroup") && /* it says why the job waits */
        !str_is(json_member_text(o->root, "reason"), "PodGroupPending"))
        note_warning(h, o, seen, now_ms);
}

/* ---- the door ---- */

static const struct {
    const char *group, *kind;
    void (*changed)(struct history *h, const struct object *o, bool is_gone, int64_t now_ms);
    bool of_cluster;
} kinds[] = {
    { "", "Pod", history_pod_changed },
    { "batch.volcano.sh", "Job", history_job_changed },
    { "scheduling.volcano.sh", "PodGroup", history_group_changed },
    { "", "Event", event_changed },
    { "scheduling.volcano.sh", "Queue", history_queue_changed, true },
    { "", "Node", history_node_changed, true },
    { "scheduling.k8s.io", "PriorityClass", history_class_changed, true },
};

void history_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms)
{
    see(h, now_ms);
    h->feed->found.is_valid = false;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(o->type->kind, kinds[i].kind) == 0 && strcmp(o->type->group, kinds[i].group) == 0) {
            if (!kinds[i].of_cluster || h->is_cluster)
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
    h->feed->sched = NULL;
    forget_objects(h);
    if (!h->is_cluster)
        return;
    h->end_ms = end_ms;
    history_steps_end(h, end_ms);
    history_places_end(h);
}
