/* advice_nodes.c - how many more nodes like one of those there are? */
#include "whatif/advice_internal.h"

#include "api/meta.h"
#include "base/map.h"
#include "base/util.h"

enum { SHAPES_TRIED = 4, NODES_MAX = 1000 };

struct nodes_shape {
    const struct json *node; /* the first of it */
    struct str key;
    size_t n;
    size_t seq;
};

/* Nodes that differ in nothing but their names have one key. */
static struct str shape_key(struct arena *a, const struct json *node)
{
    const struct json *given = json_find(node, "metadata", "labels", NULL);
    struct json *labels = json_is(given, JSON_OBJECT) ? json_copy(a, given) : NULL;
    autobuf out = { 0 };

    if (labels)
        json_remove(labels, "kubernetes.io/hostname");
    if (json_find(node, "status", "allocatable", NULL))
        json_print(&out, json_find(node, "status", "allocatable", NULL));
    if (labels)
        json_print(&out, labels);
    if (json_find(node, "spec", "taints", NULL))
        json_print(&out, json_find(node, "spec", "taints", NULL));
    return arena_str(a, buf_view(&out));
}

static bool is_usable(struct advising *v, const struct json *node)
{
    for (size_t i = 0; i < v->job.spec.tasks.n; i++)
        if (node_refuses(v->a, node, job_task_pod_spec(&v->job.spec.tasks.v[i])).n == 0)
            return true;
    return v->job.spec.tasks.n == 0 && !json_bool(json_find(node, "spec", "unschedulable", NULL), false);
}

static int nodes_by_number(const void *x, const void *y)
{
    const struct nodes_shape *a = *(const struct nodes_shape *const *)x, *b = *(const struct nodes_shape *const *)y;

    if (a->n != b->n)
        return a->n > b->n ? -1 : 1;
    return a->seq < b->seq ? -1 : 1;
}

struct shapes {
    VEC(struct nodes_shape *) list;
};

static void find_shapes(struct advising *v, struct shapes *ret)
{
    struct map index;

    map_init(&index, 0);
    VEC_FOREACH(o, &v->world.list) {
        struct nodes_shape *s;
        struct str key;

        if (!is_kind(*o, "Node") || !is_usable(v, *o))
            continue;
        key = shape_key(v->a, *o);
        s = map_get(&index, key);
        if (!s) {
            s = arena_new(v->a, struct nodes_shape);
            *s = (struct nodes_shape){ .node = *o, .key = key, .seq = ret->list.n };
            map_put(&index, key, s);
            *vec_push(v->a, &ret->list) = s;
        }
        s->n++;
    }
    map_done(&index);
    if (ret->list.n)
        qsort(ret->list.v, ret->list.n, sizeof(*ret->list.v), nodes_by_number);
}

static struct str room_text(struct advising *v, const struct json *node)
{
    struct resources all;
    autobuf out = { 0 };

    resources_from_json(v->a, json_find(node, "status", "allocatable", NULL), &all);
    VEC_FOREACH(r, &all.list)
        if (resources_get(&v->out->needs, r->name) && !str_is(r->name, "pods"))
            buf_fmt(&out, "%s%.*s %.*s", out.n ? ", " : "", STR_ARG(quantity_text(v->a, r->q)), STR_ARG(r->name));
    return arena_str(v->a, buf_view(&out));
}

static void nodes_build(struct advising *v, const void *ctx, int64_t n, struct suggestion *s)
{
    const struct json *node = ctx;

    edit_add(v, s, (struct advice_edit){ EDIT_ADD_NODES, "Node", .name = object_name(node), .count = n });
    s->kind = ADVISE_NODES;
    s->target = object_name(node);
    s->from = STR("0");
    s->to = arena_fmt(v->a, "%lld", (long long)n);
    s->text = n == 1 ? arena_fmt(v->a, "add a node like %.*s (%.*s)", STR_ARG(s->target), STR_ARG(room_text(v, node)))
                     : arena_fmt(v->a, "add %lld nodes like %.*s (%.*s each)", (long long)n, STR_ARG(s->target),
                                 STR_ARG(room_text(v, node)));
}

/* More nodes than pods never help. */
void advise_nodes(struct advising *v)
{
    int64_t high = MIN_OF(MAX_OF(v->out->min - v->out->ready, 1), (int64_t)NODES_MAX), n;
    struct suggestion best = { 0 }, s;
    struct shapes shapes = { 0 };

    find_shapes(v, &shapes);
    for (size_t i = 0; i < shapes.list.n && i < SHAPES_TRIED && high > 0; i++)
        if (search_smallest(&(struct search){ v, nodes_build, shapes.list.v[i]->node }, 1, high, &s, &n)) {
            best = s;
            high = n - 1; /* another shape must need fewer */
        }
    if (best.edits.n)
        suggest_keep(v, &best);
}
