/* placer.c - a simple scheduler in place of the real one: admits PodGroups after a while, binds gangs all or none
 *
 * It knows no room, no queue and no order, and so brings jobs into every state soon. Seeds that found bugs of the job
 * controller before there was a scheduler replay in its world.
 */
#include "world.h"

#include "api/meta.h"

#include <inttypes.h>

static struct str group_phase(const struct object *group)
{
    return json_text(json_find(group->root, "status", "phase", NULL), STR(""));
}

static bool is_admitted(const struct object *group)
{
    struct str phase = group_phase(group);

    return !str_empty(phase) && !str_is(phase, "Pending");
}

static void set_phase(struct world *w, struct str name, const char *phase)
{
    (void)world_patch(w, "placer", KIND_PODGROUP, name, "{\"status\":{\"phase\":\"%s\"}}", phase); /* may be gone */
}

void placer_wake(struct world *w)
{
    if (w->is_placing || !w->profile.has_placer)
        return;
    w->is_placing = true;
    world_timer(w, TIMER_PLACE, STR_NULL, w->is_scripted ? 100 : world_between(w, 1, 2 * SECOND_MS));
}

/* One in ten groups waits long for a place in its queue. */
void placer_group_changed(struct world *w, const struct object *group)
{
    int64_t delay = w->profile.has_placer && world_chance(w, 10) ? 10 * MINUTE_MS : 3 * SECOND_MS;

    if (w->profile.has_placer && !is_admitted(group))
        world_timer(w, TIMER_ADMIT, group->uid, w->is_scripted ? 200 : world_between(w, 1, delay));
}

struct gang {
    struct str name;
    int64_t bound, free;
};

static void count(struct world *w, struct gang *g)
{
    g->bound = g->free = 0;
    MAP_FOREACH(struct sim_pod *, pod, &w->pods)
        if (!pod->is_gone && !pod->is_deleting && str_is(g->name, pod->group)) {
            if (pod->is_bound)
                g->bound++;
            else
                g->free++;
        }
}

static void bind_one(struct world *w, struct sim_pod *pod)
{
    autoarena a = { 0 };
    const struct object *o = world_get(w, KIND_POD, str_of(pod->name));
    struct json *body;

    if (!o || !str_is(o->uid, pod->uid))
        return;
    body = json_copy(&a, o->root);
    json_set(json_need_object(&a, body, "spec"), "nodeName", json_str(&a, STR("node-0")));
    (void)world_update(w, "placer", body, STORE_MAIN); /* reported as broken inside */
}

/* In order of name: the order of a map must not decide anything. */
static int by_name(const void *x, const void *y)
{
    return strcmp((*(struct sim_pod *const *)x)->name, (*(struct sim_pod *const *)y)->name);
}

static void bind_all(struct world *w, const struct gang *g)
{
    autofree struct sim_pod **v = xcalloc((size_t)g->free, sizeof(*v));
    size_t n = 0;

    MAP_FOREACH(struct sim_pod *, pod, &w->pods)
        if (!pod->is_gone && !pod->is_deleting && !pod->is_bound && str_is(g->name, pod->group))
            v[n++] = pod;
    qsort(v, n, sizeof(*v), by_name);
    for (size_t i = 0; i < n && !world_is_broken(w); i++)
        bind_one(w, v[i]);
}

struct groups {
    struct object *v[64];
    size_t n;
};

static void collect(void *ctx, const struct object *o)
{
    struct groups *g = ctx;

    if (g->n < ARRAY_LEN(g->v))
        g->v[g->n++] = object_ref(o);
}

static void place_group(struct world *w, const struct object *group)
{
    struct gang g = { .name = group->name };
    int64_t need = json_i64(json_find(group->root, "spec", "minMember", NULL), 1);

    if (!is_admitted(group) || json_find(group->root, "metadata", "deletionTimestamp", NULL))
        return;
    count(w, &g);
    if (g.free && g.bound + g.free >= need)
        bind_all(w, &g);
    count(w, &g);
    if (g.bound && g.bound >= need && str_is(group_phase(group), "Inqueue"))
        set_phase(w, group->name, "Running");
}

static void place(struct world *w)
{
    struct groups groups = { .n = 0 };

    w->is_placing = false;
    store_list(w->store, sim_types[KIND_PODGROUP], STR_NULL, collect, &groups);
    for (size_t i = 0; i < groups.n; i++) {
        if (!world_is_broken(w))
            place_group(w, groups.v[i]);
        object_unref(groups.v[i]);
    }
}

struct search {
    struct str uid;
    struct object *found;
};

static void match_uid(void *ctx, const struct object *o)
{
    struct search *s = ctx;

    if (str_eq(o->uid, s->uid))
        s->found = object_ref(o);
}

void placer_timer(struct world *w, const struct timer *t)
{
    struct search s = { str_of(t->uid), NULL };

    if (t->kind == TIMER_PLACE) {
        place(w);
        return;
    }
    store_list(w->store, sim_types[KIND_PODGROUP], STR_NULL, match_uid, &s);
    if (s.found && !is_admitted(s.found))
        set_phase(w, s.found->name, "Inqueue");
    object_unref(s.found);
}

/* A gang loses its place, or nobody knows what became of it. */
void placer_step(struct world *w)
{
    struct groups groups = { .n = 0 };
    size_t pick;

    store_list(w->store, sim_types[KIND_PODGROUP], STR_NULL, collect, &groups);
    pick = groups.n ? (size_t)world_between(w, 0, (int64_t)groups.n - 1) : 0;
    if (groups.n) {
        int64_t dice = world_between(w, 0, 9);

        if (dice < 3)
            (void)world_delete(w, "user", KIND_PODGROUP, groups.v[pick]->name, -1,
                               PROPAGATE_BACKGROUND); /* may be gone */
        else if (dice < 6)
            set_phase(w, groups.v[pick]->name, "Unknown");
        else
            set_phase(w, groups.v[pick]->name, dice < 8 ? "Running" : "Pending");
    }
    for (size_t i = 0; i < groups.n; i++)
        object_unref(groups.v[i]);
}
