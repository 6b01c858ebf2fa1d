/* subgroup.c - gangs inside a gang (spec.subGroupPolicy)
 *
 * A policy takes the pods that its selector matches and splits them by the values of its matchLabelKeys. Each part is
 * placed whole, in one network domain where the policy says so, and at least minSubGroups of them with the first
 * placement. The first policy in the list that matches a pod wins; a pod that lacks one of the keys belongs to none.
 */
#include "api/selector.h"
#include "base/util.h"
#include "sched/gang_internal.h"
#include "sched/tree.h"

struct policy {
    const struct json *raw;
    struct selector *selector;
    int64_t size, min;
};

struct subgroup {
    struct policy *policy;
    struct str key;
    int64_t ready;         /* pods that have a place already */
    struct domain *domain; /* the smallest that has all of those */
    VEC(struct slot *) slots;
};

struct subgroups {
    VEC(struct policy) policies;
    VEC(struct subgroup *) list; /* by the order of their first slot */
};

static void read_policies(struct arena *a, const struct json *raw, struct subgroups *ret)
{
    JSON_FOREACH(j, raw) {
        struct policy *p = vec_push(a, &ret->policies);

        p->raw = j;
        p->size = MAX_OF(json_i64(json_get(j, "subGroupSize"), 1), 1);
        p->min = MAX_OF(json_i64(json_get(j, "minSubGroups"), 0), 0);
        if (selector_from_json(a, json_get(j, "labelSelector"), &p->selector, NULL) < 0)
            p->selector = NULL; /* matches nothing */
    }
}

/* "policy/value/value"; empty: none. A pod to come has no labels of its own yet: its index tells the part. */
static struct str key_of(struct arena *a, const struct policy *p, size_t number, const struct json *labels,
                         bool is_to_come, uint32_t index)
{
    struct str key = arena_fmt(a, "%zu", number);
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

static struct subgroup *need(struct arena *a, struct subgroups *all, struct map *index, struct policy *p,
                             struct str key)
{
    struct subgroup *s = map_get(index, key);

    if (s)
        return s;
    s = arena_new(a, struct subgroup);
    s->policy = p;
    s->key = key;
    *vec_push(a, &all->list) = s;
    map_put(index, s->key, s);
    return s;
}

static struct subgroup *subgroup_of(struct arena *a, struct subgroups *all, struct map *index, struct str labels_text,
                                    bool is_to_come, uint32_t pod_index)
{
    struct json *labels = labels_json(a, labels_text);

    for (size_t i = 0; i < all->policies.n; i++) {
        struct str key = key_of(a, &all->policies.v[i], i, labels, is_to_come, pod_index);

        if (!str_empty(key))
            return need(a, all, index, &all->policies.v[i], key);
    }
    return NULL;
}

static void count_ready(struct work *w, struct subgroups *all, struct map *index)
{
    static const enum pod_state states[] = { POD_BINDING, POD_BOUND, POD_RUNNING, POD_SUCCEEDED };

    VEC_FOREACH(r, &w->t->group->roles)
        for (size_t i = 0; i < ARRAY_LEN(states); i++)
            LIST_FOREACH(struct sched_pod, p, &(*r)->pods[states[i]], in_role) {
                struct subgroup *s = subgroup_of(w->t->arena, all, index, p->labels, false, p->index);

                if (!s)
                    continue;
                s->ready++;
                if (p->node && p->node->domain)
                    s->domain = s->domain ? topology_common(s->domain, p->node->domain) : p->node->domain;
            }
}

struct subgroups *subgroups_find(struct work *w)
{
    struct subgroups *all;
    struct map index = { 0 };

    if (json_count(w->t->group->subgroups) == 0)
        return NULL;
    all = arena_new(w->t->arena, struct subgroups);
    read_policies(w->t->arena, w->t->group->subgroups, all);
    VEC_FOREACH(s, &w->slots->list) {
        s->sub = subgroup_of(w->t->arena, all, &index, s->pod ? s->pod->labels : s->role->labels, !s->pod, s->index);
        if (s->sub)
            *vec_push(w->t->arena, &s->sub->slots) = s;
    }
    count_ready(w, all, &index);
    map_done(&index);
    return all;
}

/* All of what it lacks inside one range, or nothing. */
static bool seat_in(struct work *w, struct subgroup *s, int64_t lacks, struct fit_range range, bool is_extra)
{
    struct fit_range outer = w->range;
    size_t before = w->t->seats.n;

    w->range = (struct fit_range){ MAX_OF(range.from, outer.from), MIN_OF(range.to, outer.to) };
    w->hopeless.n = 0;
    VEC_FOREACH(slot, &s->slots)
        if (lacks > 0 && gang_take(w, *slot, is_extra))
            lacks--;
    w->range = outer;
    if (lacks <= 0)
        return true;
    gang_undo_to(w, before);
    return false;
}

static bool seat_one(struct work *w, struct subgroup *s, bool is_extra)
{
    const struct json *topology = json_get(s->policy->raw, "networkTopology");
    int64_t lacks = s->policy->size - s->ready;
    struct domain_list domains = { 0 };
    bool is_hard;

    if ((int64_t)s->slots.n < lacks)
        return false;
    if (!json_is(topology, JSON_OBJECT))
        return seat_in(w, s, lacks, w->range, is_extra);
    topology_candidates(w->t->m, w->t->arena, topology, s->domain, &domains, &is_hard);
    VEC_FOREACH(d, &domains.list)
        if (seat_in(w, s, lacks, (*d)->range, is_extra))
            return true;
    return false;
}

/* The rest of a sub-group that stands: pods beyond its size, one by one. */
static void seat_surplus(struct work *w, struct subgroup *s)
{
    VEC_FOREACH(slot, &s->slots)
        if (!(*slot)->is_seated)
            (void)gang_take(w, *slot, true); /* as many as fit */
}

bool subgroups_seat(struct work *w, struct subgroups *all, bool extras)
{
    bool is_fine = true;

    VEC_FOREACH(p, &all->policies) {
        int64_t whole = 0;

        VEC_FOREACH(at, &all->list) {
            struct subgroup *s = *at;
            size_t before = w->t->seats.n;

            if (s->policy != p)
                continue;
            if (s->ready < p->size && !(s->slots.n && s->slots.v[0]->is_seated)) {
                if (!extras && whole >= p->min && w->lacks <= 0)
                    continue;
                if (!seat_one(w, s, extras))
                    continue;
                if (!extras)
                    w->lacks -= (int64_t)(w->t->seats.n - before);
            } else if (extras) {
                seat_surplus(w, s);
            }
            whole++;
        }
        is_fine &= extras || whole >= p->min;
    }
    return is_fine;
}
