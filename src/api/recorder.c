/* recorder.c - repeats of Events are counted, many alike become one */
#include "api/recorder.h"

#include "api/meta.h"
#include "api/types.h"
#include "base/util.h"

#include <string.h>

/* client-go's: similar Events are counted for ten minutes; the tenth is combined with the next. */
enum { SERIES_MS = 600000, SERIES_MAX = 10, AGAIN_MS = 600000 };
enum { APART_MIN_MS = 5000, APART_MAX_MS = 300000 }; /* between two patches of one Event */
#define COMBINED "(combined from similar events): "

/* One Event, or a series of similar ones, which has an Event of its own when there are too many. */
struct recorded {
    struct list_link in_used;
    struct heap_node waits;
    uint64_t id;
    uint64_t version;                 /* of the object when it happened last */
    int64_t used_ms;                  /* when it happened last */
    int64_t sent_ms;                  /* when it was written last */
    int64_t apart_ms;                 /* from then to the next patch */
    uint32_t n_alike;                 /* a series: its Events so far */
    uint32_t count;                   /* how often it happened; 0: it has no Event */
    struct buf namespace, name, last; /* of the Event */
    struct buf about;   /* its object, as JSON: it may have been created again since; empty: as at first */
    struct buf message; /* only where it changes */
};

static int64_t recorded_due(const struct recorded *e)
{
    return e->sent_ms + e->apart_ms;
}

static int recorded_cmp(const struct heap_node *x, const struct heap_node *y)
{
    const struct recorded *a = HEAP_ITEM(x, struct recorded, waits), *b = HEAP_ITEM(y, struct recorded, waits);

    if (recorded_due(a) != recorded_due(b))
        return recorded_due(a) < recorded_due(b) ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id); /* the same order in every run */
}

void recorder_init(struct recorder *r, uint64_t seed)
{
    map_u64_init(&r->by_id, seed);
    list_init(&r->used);
    heap_init(&r->waiting, recorded_cmp);
}

static void recorded_free(struct recorder *r, struct recorded *e)
{
    heap_remove(&r->waiting, &e->waits);
    list_remove(&e->in_used);
    map_u64_remove(&r->by_id, e->id);
    buf_done(&e->namespace);
    buf_done(&e->name);
    buf_done(&e->last);
    buf_done(&e->about);
    buf_done(&e->message);
    free(e);
}

void recorder_done(struct recorder *r)
{
    while (!list_is_empty(&r->used))
        recorded_free(r, LIST_FIRST(&r->used, struct recorded, in_used));
    heap_done(&r->waiting);
    map_u64_done(&r->by_id);
}

static struct recorded *recorded_need(struct recorder *r, uint64_t id)
{
    struct recorded *e = map_u64_get(&r->by_id, id);

    if (e) {
        list_remove(&e->in_used);
    } else {
        if (r->by_id.map.n >= RECORDER_MAX)
            recorded_free(r, LIST_FIRST(&r->used, struct recorded, in_used));
        e = xcalloc(1, sizeof(*e));
        e->id = id;
        map_u64_put(&r->by_id, id, e);
    }
    list_push(&r->used, &e->in_used);
    return e;
}

static void recorder_set_text(struct buf *b, struct str text)
{
    buf_reset(b);
    buf_str(b, text);
}

/* ---- which Event is it ---- */

static uint64_t hash_texts(const struct json *of, const char *const *keys, uint64_t hash)
{
    for (; *keys; keys++)
        hash = str_hash(json_member_text(of, *keys), hash);
    return hash;
}

/* A Job that restarts creates its PodGroup again, and to those who read it is the same one. A pod of the same name is another. */
static uint64_t hash_object(const struct json *about, uint64_t hash)
{
    static const char *const names[] = { "kind", "namespace", "name", NULL };

    hash = hash_texts(about, names, hash);
    return str_is(json_member_text(about, "kind"), "PodGroup") ? hash : str_hash(json_member_text(about, "uid"), hash);
}

/* What all Events of a series have in common. */
static uint64_t series_id(const struct op *op)
{
    static const char *const says[] = { "type", "reason", "reportingComponent", NULL };

    return hash_texts(op->body, says, hash_object(op->whole ? op->whole : json_get(op->body, "involvedObject"), 1));
}

static uint64_t event_id(const struct op *op, uint64_t series)
{
    return str_hash(json_member_text(op->body, "message"), hash_object(json_get(op->body, "involvedObject"), series));
}

static struct recorded *recorded_of(struct recorder *r, struct arena *a, struct op *op, int64_t now_ms)
{
    uint64_t id = series_id(op);
    struct recorded *e = map_u64_get(&r->by_id, event_id(op, id)), *series;

    if (e)
        return recorded_need(r, e->id);
    series = recorded_need(r, id);
    if (now_ms - series->used_ms > SERIES_MS)
        series->n_alike = 0;
    series->n_alike += series->n_alike < SERIES_MAX;
    if (series->n_alike == SERIES_MAX) {
        json_set(op->body, "message", json_fmt(a, COMBINED "%.*s", STR_ARG(json_member_text(op->body, "message"))));
        if (op->whole)
            plan_event_about(a, op, op->whole);
        recorder_set_text(&series->message, json_member_text(op->body, "message"));
        return series;
    }
    series->used_ms = now_ms;
    return recorded_need(r, event_id(op, id));
}

/* ---- sending ---- */

static void as_patch(struct arena *a, struct recorded *e, int64_t now_ms, struct op *ret)
{
    struct json *body = json_object(a), *about;

    json_set(body, "count", json_int(a, e->count));
    json_set(body, "lastTimestamp", json_str(a, arena_str(a, buf_view(&e->last))));
    if (json_parse(a, arena_str(a, buf_view(&e->about)), NULL, &about, NULL) == 0) /* we printed it */
        json_set(body, "involvedObject", about);
    if (e->message.n)
        json_set(body, "message", json_str(a, arena_str(a, buf_view(&e->message))));
    *ret = (struct op){ .kind = OP_MERGE_PATCH,
                        .type = type_by_kind(STR("v1"), STR("Event")),
                        .namespace = arena_str(a, buf_view(&e->namespace)),
                        .name = arena_str(a, buf_view(&e->name)),
                        .body = body,
                        .grace_s = -1,
                        .is_best_effort = true };
    e->sent_ms = now_ms;
    e->apart_ms = MIN_OF(2 * e->apart_ms, APART_MAX_MS);
}

static void first_time(struct recorded *e, const struct op *op, int64_t now_ms)
{
    e->count = 1;
    e->sent_ms = now_ms;
    e->apart_ms = APART_MIN_MS;
    recorder_set_text(&e->namespace, op->namespace);
    recorder_set_text(&e->name, op->name);
}

/* Has it happened again, or is it only said again? */
static bool has_happened(const struct recorded *e, enum event_count count, uint64_t version, int64_t now_ms)
{
    switch (count) {
    case COUNT_STATE:
        return !e->count || now_ms - e->used_ms >= AGAIN_MS;
    case COUNT_DECISION:
        return !e->count || version != e->version;
    default:
        return true;
    }
}

bool recorder_take(struct recorder *r, struct arena *a, struct op *op, int64_t now_ms)
{
    struct recorded *e = recorded_of(r, a, op, now_ms);
    struct str rev = json_member_text(json_get(op->body, "involvedObject"), "resourceVersion");
    uint64_t version = str_hash(rev, 0);
    bool is_quiet = now_ms - e->used_ms >= SERIES_MS;

    if (!has_happened(e, op->count, version, now_ms))
        return false;
    e->version = version;
    e->used_ms = now_ms;
    recorder_set_text(&e->last, json_member_text(op->body, "lastTimestamp"));
    if (!e->count) {
        first_time(e, op, now_ms);
        return true;
    }
    e->count++;
    buf_reset(&e->about);
    json_print(&e->about, json_get(op->body, "involvedObject"));
    if (is_quiet)
        e->apart_ms = APART_MIN_MS;
    if (now_ms < recorded_due(e)) {
        if (!heap_has(&e->waits))
            heap_push(&r->waiting, &e->waits);
        return false;
    }
    heap_remove(&r->waiting, &e->waits);
    as_patch(a, e, now_ms, op);
    return true;
}

int64_t recorder_due(const struct recorder *r)
{
    struct heap_node *first = heap_first(&r->waiting);

    return first ? recorded_due(HEAP_ITEM(first, struct recorded, waits)) : INT64_MAX;
}

bool recorder_next(struct recorder *r, struct arena *a, int64_t now_ms, struct op *ret)
{
    if (!heap_count(&r->waiting) || recorder_due(r) > now_ms)
        return false;
    as_patch(a, HEAP_ITEM(heap_pop(&r->waiting), struct recorded, waits), now_ms, ret);
    return true;
}

void recorder_forget(struct recorder *r, struct str namespace, struct str name)
{
    LIST_FOREACH(struct recorded, e, &r->used, in_used)
        if (str_eq(buf_view(&e->name), name) && str_eq(buf_view(&e->namespace), namespace)) {
            recorded_free(r, e);
            return;
        }
}
