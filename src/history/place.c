/* place.c - queues and nodes of a cluster: how much of them is in use, over time */
#include "history/history_internal.h"

#include "api/meta.h"
#include "api/pod/resources.h"
#include "base/util.h"

static struct history_place *place_queue_of(struct history *h, struct str name)
{
    struct history_place *p = map_get(&h->feed->queue_names, name);

    if (!p) {
        p = arena_new(&h->arena, struct history_place);
        p->name = history_text(h, name);
        map_put(&h->feed->queue_names, p->name, p);
        *vec_push(&h->arena, &h->queues) = p;
    }
    return p;
}

static struct history_place *node_of(struct history *h, struct str name)
{
    struct history_place *p = map_get(&h->feed->node_names, name);

    if (!p) {
        p = arena_new(&h->arena, struct history_place);
        p->name = history_text(h, name);
        p->is_gone = true; /* until it is seen */
        map_put(&h->feed->node_names, p->name, p);
        *vec_push(&h->arena, &h->nodes) = p;
    }
    return p;
}

static const struct amounts nothing;

/* The step of this time; the value goes on from the one before. */
static struct amounts *use_now(struct history *h, struct history_place *p, int64_t now_ms)
{
    struct history_use *last = p->steps.n ? &p->steps.v[p->steps.n - 1] : NULL;
    struct amounts used = last ? last->used : nothing;

    if (last && last->at_ms == now_ms)
        return &last->used;
    last = vec_push(&h->arena, &p->steps);
    last->at_ms = now_ms;
    last->used = used;
    return &last->used;
}

static void place_use(struct history *h, struct history_place *p, const struct amounts *request, int64_t times,
                      int64_t now_ms)
{
    if (p)
        amounts_add_times(use_now(h, p, now_ms), request, times, h->dims.n);
}

/* ---- pods ---- */

/* The queue that pays for a pod: that of its job; a pod of our scheduler that is in no job may name one itself. */
static struct history_place *pod_queue(struct history *h, const struct history_pod *p, const struct json *root)
{
    struct str name = object_annotation(root, "scheduling.volcano.sh/queue-name");

    if (p->job)
        return place_queue_of(h, p->job->queue);
    if (!str_is(json_member_text(json_get(root, "spec"), "schedulerName"), "volcano"))
        return NULL;
    return place_queue_of(h, str_empty(name) ? STR("default") : name);
}

static const struct amounts *read_request(struct history *h, const struct json *root)
{
    struct amounts *request = arena_new(&h->arena, struct amounts);
    autoarena a = { 0 };
    struct resources r = { 0 };

    pod_requests(&a, json_get(root, "spec"), &r);
    amounts_from_resources(&h->dims, &r, request, NULL);
    request->v[DIM_PODS] = 1;
    return request;
}

void history_place_pod(struct history *h, struct history_pod *p, const struct json *root, bool is_away, int64_t now_ms)
{
    struct str name = json_member_text(json_get(root, "spec"), "nodeName");
    struct history_place *queue = NULL, *node = NULL;

    if (!p->request)
        p->request = read_request(h, root);
    if (!is_away && !str_empty(name)) {
        queue = pod_queue(h, p, root);
        node = node_of(h, name);
    }
    if (queue == p->queue && node == p->place)
        return;
    place_use(h, p->queue, p->request, -1, now_ms);
    place_use(h, p->place, p->request, -1, now_ms);
    p->queue = queue;
    p->place = node;
    place_use(h, queue, p->request, 1, now_ms);
    place_use(h, node, p->request, 1, now_ms);
}

/* ---- the places themselves ---- */

void history_node_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct history_place *p = node_of(h, o->name);
    const struct json *status = json_get(o->root, "status"), *have = json_get(status, "allocatable");

    if (!p->is_gone)
        amounts_sub(&h->total, &p->total, h->dims.n);
    p->total = nothing;
    p->is_gone = is_gone;
    amounts_from_json(&h->dims, have ? have : json_get(status, "capacity"), &p->total, NULL);
    if (!is_gone)
        amounts_add(&h->total, &p->total, h->dims.n);
}

void history_queue_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct history_place *p = place_queue_of(h, o->name);

    p->is_gone = is_gone;
    p->total = nothing;
    amounts_from_json(&h->dims, json_find(o->root, "spec", "capability", NULL), &p->total, NULL);
}

void history_class_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms)
{
    int64_t *value = arena_new(&h->arena, int64_t);

    *value = json_i64(json_get(o->root, "value"), 0);
    if (is_gone)
        return;
    map_put(&h->feed->priorities, history_text(h, o->name), value);
    if (json_bool(json_get(o->root, "globalDefault"), false))
        h->feed->default_priority = *value;
}

static int place_by_name(const void *x, const void *y)
{
    return str_cmp((*(struct history_place *const *)x)->name, (*(struct history_place *const *)y)->name);
}

void history_places_end(struct history *h)
{
    if (h->queues.n)
        qsort(h->queues.v, h->queues.n, sizeof(*h->queues.v), place_by_name);
    if (h->nodes.n)
        qsort(h->nodes.v, h->nodes.n, sizeof(*h->nodes.v), place_by_name);
}
