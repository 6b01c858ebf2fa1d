/* placing.c - the invariants of the scheduler: nodes, gangs, queues, evictions
 *
 * As in check.c there are two kinds of truth. What a scheduler wants is judged by what it was told, at the moment of
 * the write and at the end of its turn, and nothing excuses it. What is in the store is judged too, but there a binding
 * may arrive that its sender no longer counts on, and two schedulers may each be right and together be wrong.
 */
#include "world.h"

#include "api/meta.h"

#include <inttypes.h>

/* For so long after a node shrank, or a late binding came, it may be overfull: nobody knew. */
enum { UPSET_MS = 15 * MINUTE_MS };
/* A gang may be bound in part for so long: bindings fail, are tried again, and are taken back. */
enum { HALF_MS = HOUR_MS };
/* The driver waits this long for an answer. */

static void copy(char *to, size_t size, struct str from)
{
    size_t n = MIN_OF(from.n, size - 1);

    if (n)
        memcpy(to, from.p, n);
    to[n] = '\0';
}

static const char *ctl_name(const struct controller *c)
{
    return c->id ? "ctl1" : "ctl0";
}

/* ---- the truth ---- */

/* A pod takes nothing away where it asks for nothing. */
static int over_by(const struct amount *used, const struct amount *has, const struct amount *ask)
{
    for (int i = 0; i < RES_MAX; i++)
        if (ask->v[i] > 0 && has->v[i] >= 0 && used->v[i] > has->v[i])
            return i;
    return -1;
}

static void check_room(struct world *w, const struct sim_node *n, const struct sim_pod *pod)
{
    int over = over_by(&n->used, &n->has, &pod->ask);
    bool is_upset = n->upset_ms && world_ms(w) - n->upset_ms <= UPSET_MS;

    if (over >= 0 && w->profile.controllers == 1 && !is_upset)
        world_break(w, "node %s has %" PRId64 " of %s, and with pod %s %" PRId64 " are in use", n->name, n->has.v[over],
                    res_names[over], pod->name, n->used.v[over]);
}

void placing_pod_changed(struct world *w, struct sim_pod *pod, const struct object *o)
{
    struct str name = json_member_text(json_get(o->root, "spec"), "nodeName");
    struct sim_node *n = str_empty(name) ? NULL : fleet_find(w, name);
    bool is_done = str_is(str_of(pod->phase), "Succeeded") || str_is(str_of(pod->phase), "Failed");
    int charged;

    pod->node = n ? (int)(n - w->nodes) : -1;
    charged = pod->is_gone || is_done ? -1 : pod->node;
    if (charged == pod->charged)
        return;
    if (pod->charged >= 0)
        amount_add(&w->nodes[pod->charged].used, &pod->ask, -1);
    pod->charged = charged;
    if (charged < 0)
        return;
    amount_add(&n->used, &pod->ask, 1);
    if (pod->is_late_bound)
        n->upset_ms = world_ms(w);
    check_room(w, n, pod);
}

static struct sim_group *need_group(struct world *w, struct str name)
{
    struct sim_group *g = map_get(&w->groups, name);

    if (g)
        return g;
    g = xcalloc(1, sizeof(*g));
    copy(g->name, sizeof(g->name), name);
    map_put(&w->groups, str_of(g->name), g);
    return g;
}

struct half {
    int64_t bound, started;
};

static struct half count_bound(struct world *w, struct str group)
{
    struct half h = { 0 };

    MAP_FOREACH(struct sim_pod *, pod, &w->pods)
        if (!pod->is_gone && pod->is_bound && str_is(group, pod->group)) {
            h.bound++;
            h.started += !str_is(str_of(pod->phase), "Pending");
        }
    return h;
}

/* A gang that stood once and lost members is not half bound; nor is one of which some have started: nothing takes those
 * back, and the others have what comes free first. */
static void look_at_group(void *ctx, const struct object *o)
{
    struct world *w = ctx;
    struct sim_group *g = need_group(w, o->name);
    int64_t min = json_i64(json_find(o->root, "spec", "minMember", NULL), 0);
    struct half h = count_bound(w, o->name);

    if (h.bound == 0)
        g->was_whole = false;
    g->was_whole |= h.bound >= min;
    if (h.bound == 0 || g->was_whole || h.started) {
        g->half_since_ms = 0;
        return;
    }
    if (!g->half_since_ms)
        g->half_since_ms = world_ms(w);
    else if (world_ms(w) - g->half_since_ms > HALF_MS)
        world_break(w, "PodGroup %s: %" PRId64 " of %" PRId64 " are bound since %" PRId64 " ms", g->name, h.bound, min,
                    world_ms(w) - g->half_since_ms);
}

void placing_step(struct world *w)
{
    if (!w->profile.has_placer && !world_is_broken(w))
        store_list(w->store, sim_types[KIND_PODGROUP], STR_NULL, look_at_group, w);
}

/* ---- what a controller was told ---- */

static int known_kind(const struct resource_type *type)
{
    return type == sim_types[KIND_NODE]       ? KNOWN_NODE
           : type == sim_types[KIND_PODGROUP] ? KNOWN_GROUP
           : type == sim_types[KIND_QUEUE]    ? KNOWN_QUEUE
                                              : -1;
}

static void read_known(struct known *k, int kind, const struct json *j)
{
    const struct json *spec = json_get(j, "spec");

    if (kind == KNOWN_NODE) {
        k->has = amount_from_json(json_find(j, "status", "allocatable", NULL), 0);
        k->takes_pods = !json_bool(json_get(spec, "unschedulable"), false) && !json_count(json_get(spec, "taints"));
    } else if (kind == KNOWN_GROUP) {
        k->min = json_i64(json_get(spec, "minMember"), 0);
        k->priority = priority_of(json_member_text(spec, "priorityClassName"));
        k->is_protected = is_protected_from_eviction(j);
        copy(k->queue, sizeof(k->queue), json_text(json_get(spec, "queue"), STR("default")));
    } else {
        k->has = amount_from_json(json_get(spec, "capability"), -1);
        k->is_reclaimable = json_bool(json_get(spec, "reclaimable"), true);
        copy(k->queue, sizeof(k->queue), json_member_text(spec, "parent"));
    }
}

static void known_put(struct map *m, int kind, const struct object *o)
{
    struct known *k = map_get(m, o->name);

    if (!k) {
        k = xcalloc(1, sizeof(*k));
        copy(k->name, sizeof(k->name), o->name);
        map_put(m, str_of(k->name), k);
    }
    k->is_fresh = true;
    if (o->rev < k->rev)
        return;
    k->rev = o->rev;
    k->is_gone = false;
    read_known(k, kind, o->root);
}

/* The answer may have come when it was given up: of two minima it may go by either. */
static void known_answer(struct map *m, int kind, const struct object *o)
{
    struct known *k = map_get(m, o->name);
    int64_t min = k ? k->min : INT64_MAX;

    known_put(m, kind, o);
    k = map_get(m, o->name);
    k->min = MIN_OF(min, k->min);
}

void placing_told(struct world *w, struct controller *c, const struct cluster_event *ev)
{
    int kind = known_kind(ev->type);
    struct map *m = kind < 0 ? NULL : &c->known[kind];
    struct known *k;

    if (!m || w->profile.has_placer)
        return;
    switch (ev->kind) {
    case CLUSTER_PUT:
        known_put(m, kind, ev->object);
        break;
    case CLUSTER_GONE:
        if ((k = map_get(m, ev->object->name)) && k->rev <= ev->object->rev)
            k->is_gone = true;
        break;
    case CLUSTER_RELIST:
        MAP_FOREACH(struct known *, each, m)
            each->is_fresh = false;
        break;
    case CLUSTER_SYNCED:
        MAP_FOREACH(struct known *, each, m)
            each->is_gone |= !each->is_fresh && each->rev <= ev->rev;
        break;
    case CLUSTER_RESULT:
        if (ev->object)
            known_answer(m, kind, ev->object);
        break;
    default:
        break;
    }
}

void placing_told_pod(struct told *t, const struct object *o)
{
    struct str phase = json_text(json_find(o->root, "status", "phase", NULL), STR("Pending"));

    copy(t->group, sizeof(t->group), object_annotation(o->root, "scheduling.k8s.io/group-name"));
    copy(t->node, sizeof(t->node), json_member_text(json_get(o->root, "spec"), "nodeName"));
    t->ask = amount_of_pod(o->root);
    t->is_succeeded = str_is(phase, "Succeeded");
    t->is_done = t->is_succeeded || str_is(phase, "Failed");
    t->is_running = str_is(phase, "Running");
    t->is_protected = is_protected_from_eviction(o->root);
    if (t->node[0])
        t->wish[0] = '\0';
}

/* The pod a flight is about; a read has only its name. */
static struct told *pod_of(const struct controller *c, const struct flight *f)
{
    if (f->type != KIND_POD)
        return NULL;
    if (f->uid[0])
        return map_get(&c->pods, str_of(f->uid));
    MAP_FOREACH(struct told *, t, &c->pods)
        if (!t->is_gone && str_is(str_of(t->name), f->name))
            return t;
    return NULL;
}

void placing_answered(struct controller *c, const struct flight *f, const struct cluster_event *ev)
{
    struct told *t = pod_of(c, f);

    if (!t)
        return;
    if (f->kind != OP_KIND_MAX && f->kind != OP_CREATE) /* its creation is the business of another */
        t->is_troubled = ev->err.code != ERR_OK;
    t->is_victim &= !((f->kind == OP_DELETE || f->kind == OP_PATCH_STATUS) && ev->err.code == ERR_CONFLICT);
    if (f->kind != OP_BIND)
        return;
    if (ev->err.code == ERR_OK) {
        t->wish_ms = INT64_MAX; /* the news will come */
        return;
    }
    t->wish[0] = '\0';
    t->is_refused = true;
}

void placing_forget(struct controller *c)
{
    for (size_t i = 0; i < KNOWN_MAX; i++) {
        MAP_FOREACH(struct known *, k, &c->known[i])
            free(k);
        map_clear(&c->known[i]);
    }
}

static const struct known *known(const struct controller *c, int kind, struct str name)
{
    const struct known *k = map_get(&c->known[kind], name);

    return k && !k->is_gone ? k : NULL;
}

/* ---- what it wants ---- */

/* Where the controller believes the pod to be; "": on no node. */
static const char *place_of(const struct world *w, const struct told *t)
{
    if (t->is_gone || t->is_done)
        return "";
    if (t->node[0])
        return t->node;
    if (t->wish_ms != INT64_MAX &&
        (world_ms(w) - t->wish_ms >= GIVEN_UP_MS || (w->jumped_ms && t->wish_ms <= w->jumped_ms)))
        return "";
    return t->wish;
}

static void check_bind_room(struct world *w, const struct controller *c, const struct known *n, const struct told *pod)
{
    struct amount sum = pod->ask;
    int over;

    MAP_FOREACH(const struct told *, t, &c->pods)
        if (t != pod && str_is(str_of(place_of(w, t)), n->name))
            amount_add(&sum, &t->ask, 1);
    if ((over = over_by(&sum, &n->has, &pod->ask)) >= 0)
        world_break(w,
                    "%s binds pod %s to node %s: as it was told that makes %" PRId64 " of %s, and there are %" PRId64,
                    ctl_name(c), pod->name, n->name, sum.v[over], res_names[over], n->has.v[over]);
}

static void check_bind(struct world *w, struct controller *c, const struct op *op)
{
    struct str node = json_text(json_find(op->body, "target", "name", NULL), STR(""));
    const struct known *n = known(c, KNOWN_NODE, node);
    struct told *pod = map_get(&c->pods, op->uid);
    struct known *group;

    /* A read on behalf of an older pod of that name, or an answer that came when it was given up: it may know more. */
    if (!pod || pod->is_read_gone)
        return;
    if (pod->is_vague) {
        copy(pod->wish, sizeof(pod->wish), node);
        pod->wish_ms = world_ms(w);
        return;
    }
    if (pod->is_gone || pod->is_deleting || pod->is_done || pod->node[0]) {
        world_break(w, "%s binds pod %.*s, which it knows to be %s", ctl_name(c), STR_ARG(op->name),
                    pod->is_gone       ? "gone"
                    : pod->is_deleting ? "deleted"
                    : pod->is_done     ? "over"
                                       : "bound");
        return;
    }
    if (!n || !n->takes_pods) {
        world_break(w, "%s binds pod %s to node %.*s, which it knows to %s", ctl_name(c), pod->name, STR_ARG(node),
                    n ? "take no pods" : "be gone");
        return;
    }
    check_bind_room(w, c, n, pod);
    pod->is_refused = false;
    copy(pod->wish, sizeof(pod->wish), node);
    pod->wish_ms = world_ms(w);
    if (!(group = map_get(&c->known[KNOWN_GROUP], str_of(pod->group))))
        return;
    group->is_used = true;
    amount_add(&group->asked, &pod->ask, 1);
}

/* Does somebody wait who may take a pod's place? */
static bool is_wanted(const struct world *w, const struct controller *c, const struct known *victim, bool same_queue)
{
    MAP_FOREACH(const struct told *, t, &c->pods) {
        const struct known *g = known(c, KNOWN_GROUP, str_of(t->group));

        if (!g || t->is_gone || t->is_done || place_of(w, t)[0])
            continue;
        if (same_queue == str_is(str_of(g->queue), victim->queue) && (!same_queue || g->priority > victim->priority))
            return true;
    }
    MAP_FOREACH(const struct known *, g, &c->known[KNOWN_GROUP]) /* those whose pods are to come */
        if (!g->is_gone && same_queue == str_is(str_of(g->queue), victim->queue) &&
            (!same_queue || g->priority > victim->priority))
            return true;
    return false;
}

static void check_victim(struct world *w, const struct controller *c, const struct told *pod, struct str reason)
{
    const struct known *g = map_get(&c->known[KNOWN_GROUP], str_of(pod->group)); /* its PodGroup may be gone */
    const struct known *q = g ? known(c, KNOWN_QUEUE, str_of(g->queue)) : NULL;

    if (str_is(reason, "gang")) {
        if (pod->is_running || pod->is_done)
            world_break(w, "%s takes back pod %s, which runs", ctl_name(c), pod->name);
        return;
    }
    if (pod->is_protected || (g && g->is_protected))
        world_break(w, "%s evicts pod %s, which is not preemptable", ctl_name(c), pod->name);
    else if (!g)
        world_break(w, "%s evicts pod %s, which is none of its own", ctl_name(c), pod->name);
    else if (!world_get(w, KIND_PODGROUP, str_of(g->name))) /* without it nobody knows the priority */
        return;
    else if (str_is(reason, "preempt") && !is_wanted(w, c, g, true))
        world_break(w, "%s evicts pod %s (preempt), and nobody in its queue has a higher priority", ctl_name(c),
                    pod->name);
    else if (str_is(reason, "reclaim") && (!q || !q->is_reclaimable))
        world_break(w, "%s evicts pod %s (reclaim), and its queue is not reclaimable", ctl_name(c), pod->name);
    else if (str_is(reason, "reclaim") && !is_wanted(w, c, g, false))
        world_break(w, "%s evicts pod %s (reclaim), and no other queue waits", ctl_name(c), pod->name);
}

/* An eviction begins with the conditions that say so. */
static void check_evict(struct world *w, struct controller *c, const struct op *op)
{
    struct told *pod = map_get(&c->pods, op->uid);
    struct sim_pod *truth = map_get(&w->pods, op->uid);
    struct str reason = STR("");
    struct known *group;
    bool is_eviction = false;

    JSON_FOREACH(cond, json_find(op->body, "status", "conditions", NULL)) {
        struct str said = json_member_text(cond, "message");

        if (!str_is(json_member_text(cond, "type"), "DisruptionTarget"))
            ;
        else if (str_is(json_member_text(cond, "status"), "True"))
            is_eviction = true;
        else if (pod)
            pod->is_victim = false; /* it stays after all */
        if (str_starts(said, STR("Pod is evicted, because of ")))
            reason = str_from(said, STR("Pod is evicted, because of ").n);
    }
    if (!is_eviction || !pod || !truth)
        return;
    check_victim(w, c, pod, reason);
    w->evictions++;
    pod->is_victim = truth->is_victim = true;
    if (!str_is(reason, "gang") && (group = map_get(&c->known[KNOWN_GROUP], str_of(pod->group))))
        group->lost++;
}

void placing_sent(struct world *w, struct controller *c, const struct op *op)
{
    if (w->profile.has_placer || op->type != sim_types[KIND_POD])
        return;
    if (op->kind == OP_BIND)
        check_bind(w, c, op);
    else if (op->kind == OP_PATCH_STATUS)
        check_evict(w, c, op);
}

/* Before the store is looked at: did the sender still count on it? */
void placing_bound(struct world *w, struct controller *c, const struct op *op)
{
    const struct told *t = map_get(&c->pods, op->uid);
    struct sim_pod *pod = map_get(&w->pods, op->uid);
    struct str node = json_text(json_find(op->body, "target", "name", NULL), STR(""));

    if (pod)
        pod->is_late_bound = !t || !str_is(node, place_of(w, t));
}

/* ---- the end of a turn ---- */

struct members {
    int64_t placed, succeeded, busy;
    int64_t troubled, resting; /* the last write of them failed: of those without a node, of all */
};

/* A read on behalf of an older pod of that name says nothing about this one. */
static bool is_away(const struct told *t)
{
    return t->is_gone && !t->is_read_gone;
}

/* One write of a pod at a time: while its condition is on its way it cannot be bound yet. */
static void count_busy(const struct controller *c, const struct known *g, struct members *n)
{
    struct map_iter it = map_u64_iter(&c->flights);

    for (const struct flight *f; (f = map_next(&it));) {
        const struct told *t = f->turn + 1 < c->turn ? pod_of(c, f) : NULL;

        n->busy += t && !is_away(t) && str_is(str_of(t->group), g->name);
    }
}

/* Pods of the group that Succeeded and are no longer there, by the Job that it knows. */
static int64_t count_gone(const struct world *w, const struct controller *c, const struct known *g)
{
    int64_t gone = 0;

    MAP_FOREACH(const struct told *, job, &c->jobs)
        for (size_t i = 0; i < job->n_tasks && !job->is_gone && str_ends(str_of(g->name), str_of(job->uid)); i++) {
            int64_t there = 0;

            MAP_FOREACH(const struct told *, t, &c->pods) {
                const struct sim_pod *pod = map_get(&w->pods, str_of(t->uid));

                there += pod && !t->is_gone && t->is_succeeded && str_is(str_of(t->group), g->name) &&
                         str_is(str_of(pod->task), job->tasks[i].name);
            }
            gone += MAX_OF(job->tasks[i].done - there, 0);
        }
    return gone;
}

static struct members count_members(const struct world *w, const struct controller *c, const struct known *g)
{
    struct members n = { .succeeded = count_gone(w, c, g) };

    MAP_FOREACH(const struct told *, t, &c->pods) {
        if (is_away(t) || !str_is(str_of(t->group), g->name))
            continue;
        n.busy += t->is_gone;
        n.succeeded += t->is_succeeded;
        n.troubled += (t->is_troubled || t->is_refused) && !t->node[0];
        n.resting += t->is_troubled;
        n.placed += !t->is_deleting && !t->is_victim && place_of(w, t)[0];
    }
    count_busy(c, g, &n);
    return n;
}

/* All or none: whoever binds some of a gang binds all that its minimum needs. Where a binding failed before, the next
 * one of that pod has to wait. */
static void check_gang(struct world *w, const struct controller *c, const struct known *g)
{
    struct members n = count_members(w, c, g);

    if (g->is_used && n.placed + n.succeeded + n.busy < g->min && !n.troubled)
        world_break(w, "%s binds %" PRId64 " pods of PodGroup %s, which needs %" PRId64, ctl_name(c),
                    n.placed + n.succeeded, g->name, g->min);
    if (g->lost && n.placed > 0 && !n.busy && !n.resting && n.placed + n.succeeded < g->min &&
        n.placed + n.succeeded + g->lost >= g->min)
        world_break(w, "%s evicts %" PRId64 " pods of PodGroup %s: %" PRId64 " are left, and it needs %" PRId64,
                    ctl_name(c), g->lost, g->name, n.placed, g->min);
}

static bool is_below(const struct controller *c, const char *queue, const struct known *q)
{
    const struct known *at = known(c, KNOWN_QUEUE, str_of(queue));

    for (int depth = 0; at && depth < 8; depth++) {
        if (at == q)
            return true;
        at = known(c, KNOWN_QUEUE, str_of(at->queue));
    }
    return false;
}

static void check_capability(struct world *w, const struct controller *c, const struct known *q)
{
    struct amount sum = { 0 };
    int over;

    MAP_FOREACH(const struct told *, t, &c->pods) {
        const struct known *g = known(c, KNOWN_GROUP, str_of(t->group));

        if (g && world_get(w, KIND_PODGROUP, str_of(g->name)) && !t->is_deleting && !t->is_victim &&
            place_of(w, t)[0] && is_below(c, g->queue, q))
            amount_add(&sum, &t->ask, 1);
    }
    if ((over = over_by(&sum, &q->has, &q->asked)) >= 0)
        world_break(w,
                    "%s binds pods in queue %s: as it was told that makes %" PRId64 " of %s, and it may have %" PRId64,
                    ctl_name(c), q->name, sum.v[over], res_names[over], q->has.v[over]);
}

/* Queues of the groups that got something, and those above them. */
static void mark_queues(struct controller *c, const struct known *g)
{
    MAP_FOREACH(struct known *, q, &c->known[KNOWN_QUEUE])
        if (!q->is_gone && is_below(c, g->queue, q)) {
            q->is_used = true;
            amount_add(&q->asked, &g->asked, 1);
        }
}

void placing_turn_over(struct world *w, struct controller *c)
{
    c->turn++; /* flights of this turn have the number before */
    if (w->profile.has_placer)
        return;
    MAP_FOREACH(struct known *, g, &c->known[KNOWN_GROUP]) {
        if (g->is_used || g->lost)
            check_gang(w, c, g);
        if (g->is_used)
            mark_queues(c, g);
        g->is_used = false;
        g->lost = 0;
        g->asked = (struct amount){ 0 };
    }
    MAP_FOREACH(struct known *, q, &c->known[KNOWN_QUEUE]) {
        if (q->is_used)
            check_capability(w, c, q);
        q->is_used = false;
        q->asked = (struct amount){ 0 };
    }
}
