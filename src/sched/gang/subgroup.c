/* subgroup.c - gangs inside a gang (spec.subGroupPolicy)
 *
 * A policy takes the pods that its selector matches and splits them by the values of its matchLabelKeys. Each part is
 * placed whole, in one network domain where the policy says so, and at least minSubGroups of them with the first
 * placement. The first policy in the list that matches a pod wins; a pod that lacks one of the keys belongs to none.
 */
#include "api/job.h"
#include "api/selector.h"
#include "base/util.h"
#include "sched/gang/gang_internal.h"
#include "sched/model/tree.h"

struct subgroup_policy {
    const struct json *raw;
    size_t number; /* in the list */
    struct selector *selector;
    int64_t size, min;
};

struct subgroup {
    struct subgroup_policy *policy;
    struct str key;
    int64_t ready;         /* pods that have a place already, or a seat in this trial */
    struct domain *domain; /* the smallest that has all of those; NULL: there are none */
    VEC(struct slot *) slots;
};

struct subgroups {
    VEC(struct subgroup_policy) policies;
    VEC(struct subgroup *) list; /* by the order of their first slot */
    struct map by_key;           /* while they are collected */
};

static void read_policies(struct arena *a, const struct json *raw, struct subgroups *ret)
{
    JSON_FOREACH(j, raw) {
        struct subgroup_policy *p = vec_push(a, &ret->policies);

        p->raw = j;
        p->number = ret->policies.n - 1;
        p->size = MAX_OF(json_i64(json_get(j, "subGroupSize"), 1), 1);
        p->min = MAX_OF(json_i64(json_get(j, "minSubGroups"), 0), 0);
        if (selector_from_json(a, json_get(j, "labelSelector"), &p->selector, NULL) < 0)
            p->selector = NULL; /* matches nothing */
    }
}

/* "policy/value/value"; empty: none. A pod to come has no labels of its own yet: its index tells the part. */
static struct str subgroup_key_of(struct arena *a, const struct subgroup_policy *p, const struct json *labels,
                                  bool is_to_come, uint32_t index)
{
    struct str key = arena_fmt(a, "%zu", p->number);
    bool any = false;

    if (!p->selector || !selector_matches(p->selector, labels))
        return STR_NULL;
    JSON_FOREACH(name, json_get(p->raw, "matchLabelKeys")) {
        struct str value = json_text(json_get_str(labels, json_text(name, STR_NULL)), STR_NULL);

        if (str_empty(value) && is_to_come)
            value = arena_fmt(a, "%lld", (long long)index / (long long)p->size);
        if (str_empty(value))
            return STR_NULL;
        key = arena_fmt(a, "%.*s/%.*s", STR_ARG(key), STR_ARG(value));
        any = true;
    }
    return any ? key : STR_NULL;
}

static struct subgroup *subgroup_need(struct arena *a, struct subgroups *all, struct subgroup_policy *p, struct str key)
{
    struct subgroup *s = map_get(&all->by_key, key);

    if (s)
        return s;
    s = arena_new(a, struct subgroup);
    s->policy = p;
    s->key = key;
    *vec_push(a, &all->list) = s;
    map_put(&all->by_key, s->key, s);
    return s;
}

static struct subgroup *subgroup_of(struct arena *a, struct subgroups *all, struct str labels_text, bool is_to_come,
                                    uint32_t index)
{
    struct json *labels = labels_json(a, labels_text);

    VEC_FOREACH(p, &all->policies) {
        struct str key = subgroup_key_of(a, p, labels, is_to_come, index);

        if (!str_empty(key))
            return subgroup_need(a, all, p, key);
    }
    return NULL;
}

static void count_ready(struct gang_work *w, struct subgroups *all)
{
    static const enum pod_state states[] = { POD_BINDING, POD_BOUND, POD_RUNNING, POD_SUCCEEDED };

    VEC_FOREACH(r, &w->t->group->roles)
        for (size_t i = 0; i < ARRAY_LEN(states); i++)
            LIST_FOREACH(struct sched_pod, p, &(*r)->pods[states[i]], in_role) {
                struct subgroup *s = subgroup_of(w->t->arena, all, p->labels, false, p->index);

                if (!s)
                    continue;
                s->ready++;
                if (p->node && p->node->exists)
                    s->domain = topology_widen(w->t->m, s->domain, p->node);
            }
}

enum { INDICES_MAX = 1000000 }; /* replicas come from outside */

/* Pods that Succeeded and were deleted are ready too. Their labels are lost, but their index is known. */
static void count_gone(struct gang_work *w, struct subgroups *all, const struct sched_role *r)
{
    uint32_t n = (uint32_t)MIN_OF(r->replicas, INDICES_MAX);
    struct str rest = buf_view(&r->done);
    bool *is_there;

    if (!role_gone(r))
        return;
    is_there = arena_array(w->t->arena, bool, n);
    LIST_FOREACH(struct sched_pod, p, &r->pods[POD_SUCCEEDED], in_role)
        if (p->index < n)
            is_there[p->index] = true;
    for (uint32_t i, to; indices_next(&rest, &i, &to);)
        for (; i <= to && i < n; i++) {
            struct subgroup *s = is_there[i] ? NULL : subgroup_of(w->t->arena, all, r->labels, true, i);

            if (s)
                s->ready++;
        }
}

struct subgroups *subgroups_find(struct gang_work *w)
{
    struct subgroups *all;

    if (json_count(w->t->group->spec.subgroups) == 0)
        return NULL;
    all = arena_new(w->t->arena, struct subgroups);
    read_policies(w->t->arena, w->t->group->spec.subgroups, all);
    VEC_FOREACH(s, &w->slots->list) {
        s->sub = subgroup_of(w->t->arena, all, s->pod ? s->pod->labels : s->role->labels, !s->pod, s->index);
        if (s->sub)
            *vec_push(w->t->arena, &s->sub->slots) = s;
    }
    count_ready(w, all);
    VEC_FOREACH(r, &w->t->group->roles)
        count_gone(w, all, *r);
    map_done(&all->by_key);
    return all;
}

/* ---- seats ---- */

/* The ranges of nodes it may take, the best first: domains around the pods it has, or all that the group may use. */
struct subgroup_ranges {
    VEC(struct fit_range) list;
};

static struct subgroup_ranges ranges_of(struct gang_work *w, const struct subgroup *s, const struct amounts *asks)
{
    const struct json *topology = json_get(s->policy->raw, "networkTopology");
    struct sched_model *m = w->t->m;
    struct subgroup_ranges ret = { 0 };
    struct domain_list domains;

    if (!json_is(topology, JSON_OBJECT)) {
        *vec_push(w->t->arena, &ret.list) = w->range;
        return ret;
    }
    topology_candidates(m, w->t->arena, topology, s->domain, &domains);
    topology_tightest_first(w->t, asks, &domains);
    VEC_FOREACH(d, &domains.list) {
        struct fit_range range = { MAX_OF((*d)->range.from, w->range.from), MIN_OF((*d)->range.to, w->range.to) };

        if (range.from < range.to)
            *vec_push(w->t->arena, &ret.list) = range;
    }
    return ret;
}

/* Count the seats from number 'from' on for the sub-group: its pods, its domain. Returns how many are of 'role'. */
static int64_t count_seats(struct gang_work *w, struct subgroup *s, size_t from, const struct sched_role *role,
                           bool is_extra)
{
    int64_t n = 0, of_role = 0;

    for (size_t i = from; i < w->t->seats.n; i++) {
        const struct seat *seat = &w->t->seats.v[i];

        s->domain = topology_widen(w->t->m, s->domain, seat->node);
        of_role += !role || seat->role == role;
        n++;
    }
    s->ready += n;
    if (!is_extra)
        w->lacks -= n;
    return of_role;
}

/* All of what it lacks inside one range, or nothing. */
static bool seat_in(struct gang_work *w, struct subgroup *s, int64_t lacks, struct fit_range range, bool is_extra)
{
    struct fit_range outer = w->range;
    size_t before = w->t->seats.n;

    w->range = range;
    w->hopeless.n = 0;
    VEC_FOREACH(slot, &s->slots)
        if (lacks > 0 && gang_take(w, *slot, is_extra))
            lacks--;
    w->range = outer;
    w->hopeless.n = 0; /* what was asked in one range says nothing about others */
    if (lacks <= 0)
        return true;
    gang_undo_to(w, before);
    return false;
}

static bool seat_n(struct gang_work *w, struct subgroup *s, int64_t lacks, bool is_extra)
{
    struct amounts asks = { { 0 } };
    struct subgroup_ranges ranges;

    for (int64_t i = 0; i < lacks; i++)
        amounts_add(&asks, &s->slots.v[i]->class->ask, w->t->m->dims.n);
    ranges = ranges_of(w, s, &asks);
    VEC_FOREACH(range, &ranges.list)
        if (seat_in(w, s, lacks, *range, is_extra))
            return true;
    return false;
}

static bool seat_whole(struct gang_work *w, struct subgroup *s, bool is_extra)
{
    int64_t lacks = s->policy->size - s->ready, all = (int64_t)s->slots.n;

    if (all < lacks)
        return false;
    return (w->has_room_for_all && all > lacks && seat_n(w, s, all, is_extra)) || seat_n(w, s, lacks, is_extra);
}

static bool has_slot_of(const struct subgroup *s, const struct sched_role *role)
{
    VEC_FOREACH(slot, &s->slots)
        if (!(*slot)->is_seated && (!role || (*slot)->role == role))
            return true;
    return false;
}

static bool is_standing(const struct subgroup *s)
{
    return s->ready >= s->policy->size;
}

bool subgroups_minima(struct gang_work *w)
{
    VEC_FOREACH(p, &w->subs->policies) {
        int64_t lacks = p->min;

        VEC_FOREACH(at, &w->subs->list) /* those that stand count first, wherever they are in the order */
            lacks -= (*at)->policy == p && is_standing(*at);
        VEC_FOREACH(at, &w->subs->list) {
            size_t before = w->t->seats.n;

            if (lacks <= 0)
                break;
            if ((*at)->policy != p || is_standing(*at) || !seat_whole(w, *at, false))
                continue;
            (void)count_seats(w, *at, before, NULL, false);
            lacks--;
        }
        if (lacks > 0)
            return false;
    }
    return true;
}

int64_t subgroups_more(struct gang_work *w, const struct sched_role *role, int64_t want, bool is_extra)
{
    int64_t n = 0;

    VEC_FOREACH(at, &w->subs->list) {
        size_t before = w->t->seats.n;

        if (n >= want)
            break;
        if (!is_standing(*at) && has_slot_of(*at, role) && seat_whole(w, *at, is_extra))
            n += count_seats(w, *at, before, role, is_extra);
    }
    return n;
}

/* One pod as near to the others of its sub-group as there is room. */
static bool seat_one(struct gang_work *w, const struct subgroup *s, struct slot *slot, bool is_extra)
{
    struct subgroup_ranges ranges = ranges_of(w, s, &slot->class->ask);
    struct fit_range outer = w->range;
    bool is_seated = false;

    VEC_FOREACH(range, &ranges.list) {
        w->range = *range;
        w->hopeless.n = 0;
        is_seated = is_seated || gang_take(w, slot, is_extra);
    }
    w->range = outer;
    w->hopeless.n = 0;
    return is_seated;
}

int64_t subgroups_surplus(struct gang_work *w, const struct sched_role *role, int64_t want, bool is_extra)
{
    int64_t n = 0;

    VEC_FOREACH(at, &w->subs->list) {
        if (!is_standing(*at))
            continue;
        VEC_FOREACH(slot, &(*at)->slots) {
            size_t before = w->t->seats.n;

            if (n >= want)
                return n;
            if (!(*slot)->is_seated && (!role || (*slot)->role == role) && seat_one(w, *at, *slot, is_extra))
                n += count_seats(w, *at, before, role, is_extra);
        }
    }
    return n;
}
