/* fleet.c - Nodes and Queues as objects: made from the seed, and what befalls them */
#include "world.h"

#include "api/meta.h"

#include <inttypes.h>

#define GIB (INT64_C(1) << 30)

struct sim_node *fleet_find(struct world *w, struct str name)
{
    int64_t i;

    if (name.n < 2 || name.p[0] != 'n' || str_to_i64(str_from(name, 1), &i) < 0 || i < 0 || i >= w->n_nodes)
        return NULL;
    return &w->nodes[i];
}

/* ---- making ---- */

static void create(struct world *w, struct buf *text)
{
    autoarena a = { 0 };
    struct json *j;
    struct err e = { 0 };

    if (json_parse(&a, buf_view(text), NULL, &j, &e) < 0)
        world_break(w, "the simulation's own object: %s", e.text);
    else
        (void)world_create(w, "admin", j); /* reported as broken inside */
}

static struct amount random_shape(struct world *w)
{
    struct amount a = { 0 };

    if (w->is_scripted)
        return (struct amount){ .v = { 4000, 8 * GIB, 1, 20 } };
    a.v[RES_CPU] = 1000 * world_between(w, 2, 12);
    a.v[RES_MEMORY] = GIB * world_between(w, 4, 32);
    a.v[RES_GPU] = world_chance(w, 40) ? world_between(w, 1, 4) : 0;
    a.v[RES_PODS] = world_chance(w, 20) ? world_between(w, 2, 6) : 110;
    return a;
}

static void print_allocatable(struct buf *out, const struct amount *has)
{
    buf_fmt(out,
            "{\"cpu\":\"%" PRId64 "m\",\"memory\":\"%" PRId64 "\",\"nvidia.com/gpu\":\"%" PRId64
            "\",\"pods\":\"%" PRId64 "\"}",
            has->v[RES_CPU], has->v[RES_MEMORY], has->v[RES_GPU], has->v[RES_PODS]);
}

static void create_node(struct world *w, const struct sim_node *n)
{
    struct amount has = random_shape(w);
    autobuf text = { 0 };

    buf_fmt(&text,
            "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\",\"labels\":{\"kubernetes.io/"
            "hostname\":\"%s\"}},\"spec\":{},\"status\":{\"allocatable\":",
            n->name, n->name);
    print_allocatable(&text, &has);
    buf_str(&text, STR("}}"));
    create(w, &text);
}

static void random_amounts(struct world *w, struct buf *out, int64_t cpu_low, int64_t cpu_high)
{
    buf_fmt(out, "{\"cpu\":\"%" PRId64 "\"", world_between(w, cpu_low, cpu_high));
    if (world_chance(w, 30))
        buf_fmt(out, ",\"memory\":\"%" PRId64 "Gi\"", world_between(w, 2 * cpu_low, 4 * cpu_high));
    buf_char(out, '}');
}

static void print_queue_spec(struct world *w, struct buf *out, int i)
{
    buf_fmt(out, "\"weight\":%" PRId64, world_between(w, 1, 4));
    if (world_chance(w, 30))
        buf_fmt(out, ",\"reclaimable\":false");
    if (world_chance(w, 40)) {
        buf_fmt(out, ",\"capability\":");
        random_amounts(w, out, 3 * w->n_nodes / 3, 10 * w->n_nodes / 3 + 4);
    } else if (world_chance(w, 30)) {
        buf_fmt(out, ",\"guarantee\":{\"resource\":");
        random_amounts(w, out, 1, 1 + w->n_nodes / 3);
        buf_char(out, '}');
    }
    if (i == 3) /* with it q2 is no leaf */
        buf_fmt(out, ",\"parent\":\"q2\"");
    else
        buf_fmt(out, ",\"parent\":\"root\"");
}

static void create_queue(struct world *w, int i)
{
    autobuf text = { 0 };

    buf_fmt(&text,
            "{\"apiVersion\":\"scheduling.volcano.sh/"
            "v1beta1\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"q%d\"},\"spec\":{",
            i);
    print_queue_spec(w, &text, i);
    buf_fmt(&text, "},\"status\":{\"state\":\"Open\"}}");
    create(w, &text);
}

static void create_priority(struct world *w, int i)
{
    struct str name = str_of(priority_names[i]);
    autobuf text = { 0 };

    buf_fmt(&text,
            "{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":\"%.*s\"},"
            "\"value\":%d%s}",
            STR_ARG(name), priority_of(name), world_chance(w, 10) ? ",\"preemptionPolicy\":\"Never\"" : "");
    create(w, &text);
}

/* The placer's world has three nodes that nobody sees. */
void fleet_init(struct world *w)
{
    const struct profile *p = &w->profile;

    w->n_nodes = p->max_nodes ? (int)world_between(w, p->min_nodes, p->max_nodes) : 3;
    w->nodes = xcalloc((size_t)w->n_nodes, sizeof(*w->nodes));
    for (int i = 0; i < w->n_nodes; i++)
        snprintf(w->nodes[i].name, sizeof(w->nodes[i].name), "n%d", i);
    if (p->has_placer)
        return;
    for (int i = 0; i < w->n_nodes; i++)
        create_node(w, &w->nodes[i]);
    if (w->is_scripted)
        return;
    w->n_queues = (int)world_between(w, 1, MAX_QUEUES);
    for (int i = 0; i < w->n_queues; i++)
        create_queue(w, i);
    for (int i = 0; i < N_PRIORITIES; i++)
        create_priority(w, i);
    w->all_ends = world_chance(w, 50);
}

/* ---- the truth ---- */

void fleet_node_changed(struct world *w, const struct object *o, bool is_gone)
{
    struct sim_node *n = fleet_find(w, o->name);
    struct amount has;

    if (!n)
        return;
    has = amount_from_json(json_find(o->root, "status", "allocatable", NULL), 0);
    for (int i = 0; i < RES_MAX; i++)
        if (has.v[i] < n->has.v[i] || is_gone)
            n->upset_ms = MAX_OF(world_ms(w), 1); /* 0: never */
    n->has = has;
    n->exists = !is_gone;
    n->is_cordoned = json_bool(json_find(o->root, "spec", "unschedulable", NULL), false);
    n->is_tainted = json_count(json_find(o->root, "spec", "taints", NULL)) > 0;
}

/* ---- what befalls them ---- */

static void change_node(struct world *w, struct sim_node *n, const char *who, const char *spec)
{
    autoarena a = { 0 };
    const struct object *o = world_get_global(w, KIND_NODE, str_of(n->name));
    struct json *body, *j;

    if (!o || json_parse(&a, str_of(spec), NULL, &j, NULL) < 0)
        return;
    body = json_copy(&a, o->root);
    json_set(body, "spec", j);
    (void)world_update(w, who, body, STORE_MAIN); /* reported as broken inside */
}

static void resize_node(struct world *w, struct sim_node *n)
{
    autoarena a = { 0 };
    autobuf text = { 0 };
    const struct object *o = world_get_global(w, KIND_NODE, str_of(n->name));
    struct amount has = random_shape(w);
    struct json *body, *j;

    if (!o)
        return;
    print_allocatable(&text, &has);
    if (json_parse(&a, buf_view(&text), NULL, &j, NULL) < 0)
        return;
    body = json_copy(&a, o->root);
    json_set(json_need_object(&a, body, "status"), "allocatable", j);
    (void)world_update(w, "admin", body, STORE_STATUS); /* reported as broken inside */
}

static int by_name(const void *x, const void *y)
{
    return strcmp((*(struct sim_pod *const *)x)->name, (*(struct sim_pod *const *)y)->name);
}

/* A node that is taken away takes its pods along. */
static void remove_node(struct world *w, struct sim_node *n)
{
    int at = (int)(n - w->nodes);
    autofree struct sim_pod **v = xcalloc(map_count(&w->pods) + 1, sizeof(*v));
    size_t count = 0;

    (void)world_delete_global(w, "admin", KIND_NODE, str_of(n->name)); /* may be gone */
    MAP_FOREACH(struct sim_pod *, pod, &w->pods)
        if (!pod->is_gone && pod->is_bound && pod->node == at)
            v[count++] = pod;
    if (count)
        qsort(v, count, sizeof(*v), by_name);
    for (size_t i = 0; i < count && !world_is_broken(w); i++)
        (void)world_delete(w, "podgc", KIND_POD, str_of(v[i]->name), 0, PROPAGATE_BACKGROUND); /* may be gone */
}

/* -1: the default queue. */
static void set_queue_state(struct world *w, int i, const char *state)
{
    autoarena a = { 0 };
    struct str name = i < 0 ? STR("default") : arena_fmt(&a, "q%d", i);
    const struct object *o = world_get_global(w, KIND_QUEUE, name);
    struct json *body;

    if (!o || str_is(json_text(json_find(o->root, "status", "state", NULL), STR("Open")), state))
        return;
    body = json_copy(&a, o->root);
    json_set(json_need_object(&a, body, "status"), "state", json_str(&a, str_of(state)));
    (void)world_update(w, "admin", body, STORE_STATUS); /* reported as broken inside */
}

void fleet_step(struct world *w)
{
    struct sim_node *n = &w->nodes[world_between(w, 0, w->n_nodes - 1)];
    int64_t dice = world_between(w, 0, 99);

    if (!n->exists)
        create_node(w, n);
    else if (dice < 20)
        change_node(w, n, "admin", n->is_cordoned ? "{}" : "{\"unschedulable\":true}");
    else if (dice < 40)
        change_node(w, n, "admin",
                    n->is_tainted ? "{}" : "{\"taints\":[{\"key\":\"a\",\"value\":\"b\",\"effect\":\"NoSchedule\"}]}");
    else if (dice < 60)
        resize_node(w, n);
    else if (dice < 75)
        remove_node(w, n);
    else if (w->n_queues)
        set_queue_state(w, (int)world_between(w, 0, w->n_queues - 1), world_chance(w, 50) ? "Open" : "Closed");
}

/* Everything is up and open again. */
void fleet_calm(struct world *w)
{
    for (int i = 0; i < w->n_nodes && !world_is_broken(w); i++) {
        struct sim_node *n = &w->nodes[i];

        n->is_dead = false;
        if (w->profile.has_placer)
            continue;
        if (!n->exists)
            create_node(w, n);
        else if (n->is_cordoned || n->is_tainted)
            change_node(w, n, "admin", "{}");
    }
    for (int i = -1; i < w->n_queues && !w->profile.has_placer; i++)
        set_queue_state(w, i, "Open");
}
