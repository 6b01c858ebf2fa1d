/* gang.c - places for a whole gang, or none
 *
 * Pods are tried in the order in which they would be served: task priority, then index. The minimum comes first: what
 * each role needs for itself, then the best of the rest. When a pod finds no node, no other pod of its class will in
 * this trial, so the class is not asked again.
 */
#include "sched/gang/gang.h"

#include "base/util.h"
#include "sched/gang/hold.h"
#include "sched/gang/gang_class.h"
#include "sched/gang/gang_internal.h"
#include "sched/gang/task_topology.h"
#include "sched/queue/share.h"

/* ---- who wants a seat ---- */

static int slot_cmp(const void *x, const void *y)
{
    const struct slot *a = x, *b = y;
    int c;

    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    if (a->role != b->role && (c = str_cmp(a->role->name, b->role->name)) != 0)
        return c;
    if (a->created_ms != b->created_ms)
        return a->created_ms < b->created_ms ? -1 : 1;
    if (a->pod && b->pod)
        return str_cmp(a->pod->uid, b->pod->uid);
    return (a->pod == NULL) - (b->pod == NULL);
}

enum { TO_COME_MAX = 1000000, FEW_ROLES = 16 };

static void collect_to_come(struct arena *a, struct sched_role *r, int64_t most, struct slots *ret)
{
    int64_t n = role_to_come(r);
    uint32_t first = (uint32_t)(r->replicas - n);

    n = MIN_OF(n, MIN_OF(most, TO_COME_MAX)); /* no cluster has a million nodes */

    for (int64_t i = 0; i < n; i++)
        *vec_push(a, &ret->list) = (struct slot){ NULL, r, r->class, r->priority, first + (uint32_t)i, INT64_MAX };
}

static bool is_sorted(const struct slots *s)
{
    for (size_t i = 1; i < s->list.n; i++)
        if (slot_cmp(&s->list.v[i - 1], &s->list.v[i]) > 0)
            return false;
    return true;
}

static void gang_collect(struct arena *a, struct sched_group *g, bool is_virtual, const struct task_topology *near,
                         struct slots *ret)
{
    int64_t most = is_virtual ? group_min(g) + g->spec.subgroups_more
                              : 0; /* sub-groups come whole; a trial needs no more */

    VEC_FOREACH(r, &g->roles) {
        LIST_FOREACH(struct sched_pod, p, &(*r)->pods[POD_PENDING], in_role)
            if (!p->is_gated)
                *vec_push(a, &ret->list) = (struct slot){ p, *r, p->class, p->priority, p->index, p->created_ms };
        if (is_virtual)
            collect_to_come(a, *r, most, ret);
    }
    if (near)
        VEC_FOREACH(s, &ret->list)
            s->order = task_topology_order(near, s->role);
    if (ret->list.n && !is_sorted(ret)) /* pods mostly come in order */
        qsort(ret->list.v, ret->list.n, sizeof(*ret->list.v), slot_cmp);
}

/* ---- taking seats ---- */

void seat_take(struct sched_model *m, struct sched_node *n, const struct pod_class *class)
{
    m->in_trial = true;
    node_take(m, n, class);
    m->in_trial = false;
}

void seat_give(struct sched_model *m, struct sched_node *n, const struct pod_class *class)
{
    m->in_trial = true;
    node_give(m, n, class);
    m->in_trial = false;
}

/* Where it was said it would go, if it can go there now: others made room for it. */
static struct sched_node *nominated_node(const struct gang_work *w, const struct slot *s)
{
    struct sched_node *n = s->pod ? s->pod->nominated : NULL;

    if (!n || !n->exists || n->index < w->range.from || n->index >= w->range.to)
        return NULL;
    return fit_node(w->t->m, &(struct fit_question){ s->class, w->t->group, FIT_NOW }, n, NULL) ? n : NULL;
}

/* Reservations look further ahead, but prefer what is free already. */
static struct sched_node *find_node(const struct gang_work *w, const struct slot *s)
{
    struct trial *t = w->t;
    struct sched_node *n = nominated_node(w, s);

    for (enum fit_room room = FIT_NOW; !n && room <= w->opt->room; room++)
        n = w->near ? task_topology_best(w->near, w, s, room)
                    : fit_best(t->m, &(struct fit_question){ s->class, t->group, room }, w->range);
    return n;
}

/* With the seats taken so far. Only what this pod asks for can be refused to it. */
static struct amounts ask_with(const struct gang_work *w, const struct slot *s)
{
    struct trial *t = w->t;
    struct amounts ask = t->sum;

    amounts_add(&ask, &s->class->ask, t->m->dims.n);
    for (int d = 0; d < t->m->dims.n; d++)
        if (!(s->class->ask_dims & (1U << d)))
            ask.v[d] = 0;
    return ask;
}

static enum share_test test_of(const struct gang_work *w)
{
    return w->opt->limit == GANG_FAIR ? SHARE_FAIR : SHARE_LIMIT;
}

static bool queue_allows(const struct gang_work *w, const struct slot *s)
{
    struct amounts ask;

    if (w->opt->limit == GANG_NO_LIMIT)
        return true;
    ask = ask_with(w, s);
    return share_allows(w->t->m, w->t->group->queue, &ask, test_of(w), NULL);
}

static bool is_hopeless(const struct gang_work *w, const struct pod_class *c)
{
    VEC_FOREACH(h, &w->hopeless)
        if (*h == c)
            return true;
    return false;
}

static void sit(struct gang_work *w, struct slot *s, struct sched_node *n, bool is_extra)
{
    struct trial *t = w->t;

    seat_take(t->m, n, s->class);
    *vec_push(t->arena, &t->seats) = (struct seat){ s->pod, s->role, s->class, n, is_extra, s };
    amounts_add(&t->sum, &s->class->ask, t->m->dims.n);
    s->is_seated = true;
    if (!is_extra)
        t->n_min++;
    if (s->class->is_coupled) /* it may be what another class waited for */
        w->hopeless.n = 0;
}

bool gang_take_at(struct gang_work *w, struct slot *s, struct sched_node *n)
{
    if (!fit_node(w->t->m, &(struct fit_question){ s->class, w->t->group, w->opt->room }, n, NULL) ||
        !queue_allows(w, s))
        return false;
    sit(w, s, n, false);
    return true;
}

bool gang_take(struct gang_work *w, struct slot *s, bool is_extra)
{
    struct sched_node *n;
    bool is_refused;

    if (is_hopeless(w, s->class))
        return false;
    is_refused = !queue_allows(w, s);
    n = is_refused ? NULL : find_node(w, s);
    if (n) {
        sit(w, s, n, is_extra);
        return true;
    }
    *vec_push(w->t->arena, &w->hopeless) = s->class;
    if (!w->stuck) {
        w->stuck = s;
        w->is_limit = is_refused;
    }
    return false;
}

/* Seats its sub-groups have. */
static int64_t seats_of(const struct gang_work *w, const struct sched_role *r)
{
    int64_t n = 0;

    if (w->subs)
        VEC_FOREACH(s, &w->t->seats)
            n += s->role == r;
    return n;
}

/* Up to 'want' seats for pods of a role (NULL: any) that belong to no sub-group: those come with it or not at all. */
static int64_t seat_loose(struct gang_work *w, const struct sched_role *role, int64_t want, bool is_extra)
{
    int64_t n = 0;

    VEC_FOREACH(s, &w->slots->list) {
        if (n >= want)
            break;
        if (!s->is_seated && !s->sub && (!role || s->role == role) && gang_take(w, s, is_extra))
            n++;
    }
    return n;
}

static int by_role(const void *x, const void *y)
{
    const struct slot *a = *(struct slot *const *)x, *b = *(struct slot *const *)y;

    if (a->role != b->role)
        return a->role < b->role ? -1 : 1;
    return (a > b) - (a < b); /* their order in the list */
}

/* The slots of each role together, in their order: a job may have thousands of roles. */
struct sorted_slots {
    struct slot **v; /* NULL: not sorted yet */
    size_t n;
};

static struct sorted_slots slots_by_role(struct arena *a, struct slots *slots)
{
    struct sorted_slots ret = { arena_array(a, struct slot *, slots->list.n + 1), slots->list.n };

    for (size_t i = 0; i < ret.n; i++)
        ret.v[i] = &slots->list.v[i];
    qsort(ret.v, ret.n, sizeof(*ret.v), by_role);
    return ret;
}

static size_t role_first_slot(const struct sorted_slots *sorted, const struct sched_role *role)
{
    size_t low = 0, high = sorted->n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (sorted->v[mid]->role < role)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The same for one role, whose slots are in 'sorted'. */
static int64_t seat_role(struct gang_work *w, const struct sorted_slots *sorted, const struct sched_role *role,
                         int64_t want)
{
    int64_t n = 0;

    for (size_t i = role_first_slot(sorted, role); i < sorted->n && sorted->v[i]->role == role && n < want; i++)
        if (!sorted->v[i]->is_seated && !sorted->v[i]->sub && gang_take(w, sorted->v[i], false))
            n++;
    return n;
}

/* What each role needs for itself. */
static bool seat_roles(struct gang_work *w)
{
    struct sched_group *g = w->t->group;
    struct sorted_slots sorted = { 0 };
    bool all = true;

    if (g->roles.n > FEW_ROLES)
        sorted = slots_by_role(w->t->arena, w->slots);
    VEC_FOREACH(r, &g->roles) {
        int64_t lacks = (*r)->min - role_ready(*r) - seats_of(w, *r), n;

        if (lacks <= 0)
            continue;
        n = sorted.v ? seat_role(w, &sorted, *r, lacks) : seat_loose(w, *r, lacks, false);
        w->lacks -= n;
        lacks -= n;
        if (w->subs && lacks > 0)
            lacks -= subgroups_more(w, *r, lacks, false);
        if (w->subs && lacks > 0)
            lacks -= subgroups_surplus(w, *r, lacks, false);
        all &= lacks <= 0;
    }
    return all;
}

static bool seat_rest(struct gang_work *w)
{
    if (w->subs && w->lacks > 0)
        (void)subgroups_more(w, NULL, w->lacks, false); /* it counts down what is lacking */
    if (w->lacks > 0)
        w->lacks -= seat_loose(w, NULL, w->lacks, false);
    if (w->subs && w->lacks > 0)
        (void)subgroups_surplus(w, NULL, w->lacks, false);
    return w->lacks <= 0;
}

/* As many as fit. */
static void seat_extras(struct gang_work *w)
{
    if (w->subs) {
        (void)subgroups_more(w, NULL, INT64_MAX, true);
        (void)subgroups_surplus(w, NULL, INT64_MAX, true);
    }
    (void)seat_loose(w, NULL, INT64_MAX, true);
}

/* A group with a network topology grows from the domain of its minimum outwards: as far as the tier that is allowed
 * when that is hard, else anywhere. */
static void seat_extras_near(struct gang_work *w)
{
    struct trial *t = w->t;
    struct domain_list all;

    topology_candidates(t->m, t->arena, t->group->spec.topology, t->domain, &all);
    VEC_FOREACH(d, &all.list) {
        w->range = (*d)->range;
        w->hopeless.n = 0;
        w->stuck = NULL;
        seat_extras(w);
    }
}

void trial_undo(struct trial *t)
{
    uint64_t room = t->m->room_gen;

    for (size_t i = t->seats.n; i-- > 0;)
        seat_give(t->m, t->seats.v[i].node, t->seats.v[i].class);
    t->m->room_gen = room; /* no group has more room than before the trial */
    t->seats.n = 0;
    t->n_min = 0;
    t->sum = (struct amounts){ { 0 } };
}

void gang_undo_to(struct gang_work *w, size_t n)
{
    struct trial *t = w->t;
    uint64_t room = t->m->room_gen;

    while (t->seats.n > n) {
        struct seat *s = &t->seats.v[--t->seats.n];

        seat_give(t->m, s->node, s->class);
        amounts_sub(&t->sum, &s->class->ask, t->m->dims.n);
        if (!s->is_extra)
            t->n_min--;
        s->slot->is_seated = false;
    }
    t->m->room_gen = room;
    w->hopeless.n = 0;
}

static bool try_seats(struct gang_work *w)
{
    w->hopeless.n = 0;
    w->stuck = NULL;
    w->lacks = group_min(w->t->group) - group_ready(w->t->group);
    VEC_FOREACH(s, &w->slots->list)
        s->is_seated = false;
    w->subs = subgroups_find(w);
    return (!w->subs || subgroups_minima(w)) && seat_roles(w) && seat_rest(w);
}

/* Sub-groups take the tightest domain for what they must have. Where the minimum needs more of them than that, their
 * domain has to have room for all of their pods: that is the second try. */
static bool try_range(struct gang_work *w, struct fit_range range)
{
    w->range = range;
    w->has_room_for_all = false;
    if (try_seats(w))
        return true;
    if (!w->subs) {
        if (!pack_is_worth(w))
            return false;
        if (pack_try(w))
            return true;
        trial_undo(w->t);
        return try_seats(w); /* so that the reason is the one of the first try */
    }
    trial_undo(w->t);
    w->has_room_for_all = true;
    return try_seats(w);
}

/* ---- why not ---- */

/* The whole minimum at once: the first resource of which the cluster has too little in sum. */
static int lacking_in_sum(struct sched_model *m, const struct amounts *needs)
{
    struct amounts free = m->total;

    amounts_sub(&free, &m->used, m->dims.n);
    return amounts_lacking(&free, needs, m->dims.n);
}

static void copy_name(char *to, size_t size, struct str text)
{
    size_t n = MIN_OF(text.n, size - 1);

    if (n)
        memcpy(to, text.p, n);
    to[n] = '\0';
}

void gang_say_refusal(const struct share_refusal *no, struct why *ret)
{
    static const enum why_kind kinds[] = {
        [BOUND_CAPABILITY] = WHY_CAPABILITY, [BOUND_GUARANTEE] = WHY_GUARANTEE, [BOUND_CLUSTER] = WHY_NO_ROOM,
        [BOUND_FAIR] = WHY_FAIR_SHARE,       [BOUND_KEPT] = WHY_QUEUE_RESERVED,
    };

    ret->kind = kinds[no->bound];
    ret->dim = no->dim;
    ret->have = no->left;
    copy_name(ret->queue, sizeof(ret->queue), no->queue->name);
}

/* False: only the cluster is too small. */
static bool gang_say_limit(const struct gang_work *w, struct why *ret)
{
    struct amounts ask = ask_with(w, w->stuck);
    struct share_refusal no;

    share_refusal(w->t->m, w->t->group->queue, &ask, test_of(w), &no);
    if (no.bound == BOUND_CLUSTER)
        return false;
    gang_say_refusal(&no, ret);
    return true;
}

/* Its role lacks pods of its own minimum, though the gang as a whole has enough. */
static void say_role(const struct trial *t, const struct sched_role *r, struct why *ret)
{
    int64_t has = role_ready(r);

    VEC_FOREACH(s, &t->seats)
        has += s->role == r;
    if (ret->have < ret->need || has >= r->min)
        return;
    ret->have = has;
    ret->need = r->min;
    copy_name(ret->role, sizeof(ret->role), r->name);
}

static void gang_say_room(const struct gang_work *w, struct why *ret)
{
    const struct slot *s = w->stuck;
    struct trial *t = w->t;

    ret->kind = s && s->class->has_lost_name ? WHY_TOO_MANY_NAMES : WHY_NO_ROOM;
    gang_needs(t->m, t->group, t->arena, &ret->needs);
    ret->dim = lacking_in_sum(t->m, &ret->needs);
    ret->have = group_ready(t->group) + (int64_t)t->seats.n;
    ret->need = group_min(t->group);
    ret->n_nodes = w->range.to - w->range.from;
    if (!s)
        return;
    say_role(t, s->role, ret);
    fit_why(t->m, &(struct fit_question){ s->class, t->group, w->opt->room }, w->range, ret);
    copy_name(ret->pod, sizeof(ret->pod),
              s->pod ? s->pod->name : arena_fmt(t->arena, "a pod of task %.*s", STR_ARG(s->role->name)));
}

/* What the missing minimum asks of 'dim', for a queue that refused. */
static int64_t needed(struct sched_model *m, const struct sched_group *g, struct arena *a, int dim)
{
    struct amounts needs;

    gang_needs(m, g, a, &needs);
    return needs.v[dim];
}

static void gang_say(const struct gang_work *w, struct why *ret)
{
    struct trial *t = w->t;

    *ret = (struct why){ .dim = -1 };
    if (!w->stuck || !w->is_limit || !gang_say_limit(w, ret)) {
        gang_say_room(w, ret);
        return;
    }
    /* One that has its minimum waits for its next pod. */
    ret->need = MAX_OF(needed(t->m, t->group, t->arena, ret->dim), w->stuck->class->ask.v[ret->dim]);
}

/* ---- the trial ---- */

/* The first that has room: the smallest tier, then the tightest. A group that runs somewhere stays around it. */
static bool try_domains(struct gang_work *w, struct why *ret_why)
{
    struct trial *t = w->t;
    struct domain_list all;
    struct amounts needs;
    int64_t best = 0;

    topology_candidates(t->m, t->arena, t->group->spec.topology, topology_of_group(t->m, t->group), &all);
    gang_needs(t->m, t->group, t->arena, &needs);
    topology_tightest_first(t, &needs, &all);
    VEC_FOREACH(d, &all.list) {
        if (try_range(w, (*d)->range)) {
            t->domain = *d;
            return true;
        }
        if (group_ready(t->group) + t->n_min >= best) {
            best = group_ready(t->group) + t->n_min;
            if (ret_why)
                gang_say(w, ret_why);
        }
        trial_undo(t);
    }
    if (ret_why && ret_why->kind == WHY_NO_ROOM && all.is_hard) {
        ret_why->kind = WHY_TOPOLOGY;
        ret_why->have = best;
        ret_why->need = group_min(t->group);
    }
    return false;
}

/* Between rounds of trying: pods show where the last trial that counted had them (status.c). */
static void show_seats(const struct trial *t, const struct slots *slots)
{
    VEC_FOREACH(s, &slots->list)
        if (s->pod)
            s->pod->seat = NULL;
    VEC_FOREACH(s, &t->seats)
        if (s->pod) {
            s->pod->seat = s->node;
            t->group->now.has_seats = true;
        }
}

/* "Could it ever?" asks as if the pods of all groups had ended, but not its own that stay: it needs places beside
 * them. */
static void own_pods_stay(struct sched_model *m, const struct sched_group *g, bool stay)
{
    static const enum pod_state placed[] = { POD_BINDING, POD_BOUND, POD_RUNNING };

    VEC_FOREACH(r, &g->roles)
        for (size_t s = 0; s < ARRAY_LEN(placed); s++)
            LIST_FOREACH(struct sched_pod, p, &(*r)->pods[placed[s]], in_role)
                if (p->node) {
                    amounts_add_times(&p->node->moving, &p->class->ask, stay ? -1 : 1, m->dims.n);
                    model_node_changed(m, p->node);
                }
}

static bool try_all(struct gang_work *w, struct why *ret_why)
{
    if (json_is(w->t->group->spec.topology, JSON_OBJECT))
        return try_domains(w, ret_why);
    if (try_range(w, fit_all(w->t->m)))
        return true;
    if (ret_why)
        gang_say(w, ret_why);
    return false;
}

bool gang_try(struct trial *t, const struct gang_options *opt, struct why *ret_why)
{
    struct slots slots = { 0 };
    struct gang_work w = { .t = t, .opt = opt, .slots = &slots };
    struct sched_model *m = t->m;
    struct sched_group *g = t->group;
    bool is_placed;

    *t = (struct trial){ .m = m, .group = g, .arena = t->arena };
    if ((opt->is_brief || !ret_why) && gang_prefilter(m, g, opt, t->arena, ret_why) == GANG_REFUSED)
        return false;
    holds_settle(m);
    w.near = task_topology_read(t->arena, g);
    gang_collect(t->arena, g, opt->is_virtual, w.near, &slots);
    if (ret_why)
        *ret_why = (struct why){ .kind = WHY_NO_ROOM, .dim = -1, .have = group_ready(g), .need = group_min(g) };
    if (opt->room == FIT_EMPTY)
        own_pods_stay(m, g, true);
    is_placed = try_all(&w, ret_why);
    if (opt->room == FIT_EMPTY)
        own_pods_stay(m, g, false);
    if (opt->shows)
        show_seats(t, &slots);
    if (!is_placed) {
        trial_undo(t);
        return false;
    }
    if (opt->has_extras) {
        if (t->domain)
            seat_extras_near(&w);
        else
            seat_extras(&w);
        if (ret_why && w.stuck) /* why some of them were left */
            gang_say(&w, ret_why);
    }
    return true;
}

void gang_complete(struct sched_model *m, struct sched_group *g, struct arena *a, struct why *why)
{
    struct gang_options opt = {
        .room = FIT_NOW, .limit = GANG_NO_LIMIT, .is_virtual = !group_has_its_pods(g), .shows = true
    };
    struct trial t = { .m = m, .group = g, .arena = a };
    struct why full;
    bool is_placed;

    why->is_brief = false;
    if (g->hold)
        hold_lift(m, g->hold);
    is_placed = gang_try(&t, &opt, &full);
    if (is_placed)
        trial_undo(&t);
    if (g->hold)
        hold_put_back(m, g->hold);
    if (is_placed || why->kind == WHY_EVICTING)
        return;
    why->n_nodes = full.n_nodes;
    why->n_causes = full.n_causes;
    memcpy(why->causes, full.causes, sizeof(why->causes));
    memcpy(why->pod, full.pod, sizeof(why->pod));
    memcpy(why->role, full.role, sizeof(why->role));
    if (why->kind == WHY_NO_ROOM) {
        why->have = full.have;
        why->need = full.need;
    }
}

/* ---- how much ---- */

/* Add the asks of the first 'n' slots of a role. Returns how many it lacks. */
static int64_t add_role_asks(struct sched_model *m, const struct sorted_slots *sorted, const struct sched_role *role,
                             int64_t n, struct amounts *ret)
{
    for (size_t i = role_first_slot(sorted, role); n > 0 && i < sorted->n && sorted->v[i]->role == role; i++, n--) {
        amounts_add(ret, &sorted->v[i]->class->ask, m->dims.n);
        sorted->v[i]->is_seated = true;
    }
    return n;
}

/* Add the asks of the first 'n' slots, of any role, that are not counted yet. Returns how many are missing. */
static int64_t add_asks(struct sched_model *m, struct slots *slots, int64_t n, struct amounts *ret)
{
    VEC_FOREACH(s, &slots->list) {
        if (n <= 0)
            break;
        if (s->is_seated)
            continue;
        amounts_add(ret, &s->class->ask, m->dims.n);
        s->is_seated = true;
        n--;
    }
    return n;
}

void gang_needs(struct sched_model *m, const struct sched_group *g, struct arena *a, struct amounts *ret)
{
    struct slots slots = { 0 };
    struct sorted_slots sorted = { 0 };
    int64_t lacks;

    if (gang_facts(g)) {
        *ret = gang_facts(g)->needs;
        return;
    }
    lacks = group_min(g) - group_ready(g);
    *ret = (struct amounts){ { 0 } };
    gang_collect(a, (struct sched_group *)g, true, NULL, &slots);
    VEC_FOREACH(r, &g->roles) {
        int64_t of_role = (*r)->min - role_ready(*r);

        if (of_role <= 0)
            continue;
        if (!sorted.v)
            sorted = slots_by_role(a, &slots);
        lacks -= of_role - add_role_asks(m, &sorted, *r, of_role, ret);
    }
    lacks = add_asks(m, &slots, lacks, ret);
    if (slots.list.n == 0 && g->spec.has_min_resources) { /* neither pods nor templates: what the group says */
        *ret = g->spec.min_resources;
        amounts_sub(ret, &g->counts.allocated, m->dims.n);
        for (int d = 0; d < m->dims.n; d++)
            ret->v[d] = MAX_OF(ret->v[d], 0);
    }
}
