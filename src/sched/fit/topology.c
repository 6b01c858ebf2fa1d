/* topology.c - HyperNodes: which nodes are near each other
 *
 * A HyperNode is read once, when its event comes; the tree is built from all of them when the nodes are put in order.
 * Exact names are looked up, labels and patterns are tried on nodes that no domain of a lower tier has taken. A
 * pattern that begins with "^" and plain letters is tried on the nodes with that beginning only, so racks named by
 * pattern cost what they hold.
 */
#include "sched/fit/topology.h"

#include "base/pattern.h"
#include "api/selector.h"
#include "base/util.h"
#include "sched/gang/gang.h"
#include "sched/queue/share.h"

#include <stdlib.h>

enum match_kind { MATCH_NAME, MATCH_PATTERN, MATCH_LABELS };

struct match { /* one member of a HyperNode */
    enum match_kind kind;
    bool is_domain;  /* type HyperNode; else Node */
    struct str name; /* MATCH_NAME */
    struct pattern *pattern;
    struct selector *selector;
};

struct hyper {
    struct domain domain; /* first: a domain is its HyperNode */
    struct arena arena;   /* of all below, and the names */
    struct json *labels;
    VEC(struct match) members;
    uint64_t hash, rev; /* hash of what was read, and its resourceVersion */
};

struct topology {
    struct map hypers;           /* struct hyper by name */
    struct hyper root;           /* without members */
    struct arena arena;          /* of what topology_build() makes */
    VEC(struct hyper *) by_tier; /* by tier, then name; without the root */
    VEC(struct hyper *) gone;    /* to be freed by the next topology_build() */
    struct arena gone_arena;
    size_t n_label_members;
};

/* ---- reading ---- */

enum { TIER_MAX = 1000000 };

/* False: it says nothing that can be understood; the HyperNode goes without this member. */
static bool read_match(struct hyper *h, const struct json *member, struct match *ret)
{
    const struct json *selector = json_get(member, "selector");
    const struct json *labels = json_get(selector, "labelMatch");
    struct str name = json_text(json_find(selector, "exactMatch", "name", NULL), STR_NULL), pattern;

    ret->is_domain = str_is(json_member_text(member, "type"), "HyperNode");
    if (!str_empty(name)) {
        ret->kind = MATCH_NAME;
        ret->name = arena_str(&h->arena, name);
        return true;
    }
    if (json_is(labels, JSON_OBJECT)) {
        ret->kind = MATCH_LABELS;
        return json_count(labels) > 0 &&
               selector_from_json(&h->arena, json_clone(&h->arena, labels), &ret->selector, NULL) == 0;
    }
    ret->kind = MATCH_PATTERN;
    pattern = json_text(json_find(selector, "regexMatch", "pattern", NULL), STR_NULL);
    return !str_empty(pattern) && pattern_parse(&h->arena, pattern, &ret->pattern) == 0;
}

/* ---- keeping ---- */

static void forget_members(struct topology *t, struct hyper *h)
{
    VEC_FOREACH(match, &h->members) {
        if (match->kind == MATCH_PATTERN)
            pattern_done(match->pattern);
        t->n_label_members -= match->kind == MATCH_LABELS && !match->is_domain;
    }
    h->members.n = h->members.cap = 0;
    h->members.v = NULL;
}

static void hyper_free(struct topology *t, struct hyper *h)
{
    forget_members(t, h);
    arena_done(&h->arena);
    free(h);
}

/* Groups that were placed with the old tree in mind look again. */
static void topology_changed(struct sched_model *m)
{
    m->is_unordered = true;
    m->room_gen++;
    m->node_gen++;
}

void topology_init(struct sched_model *m)
{
    m->topology = xcalloc(1, sizeof(*m->topology));
    map_init(&m->topology->hypers, m->seed);
    m->topology->root.domain.tier = 1;
}

void topology_done(struct sched_model *m)
{
    struct topology *t = m->topology;

    if (!t)
        return;
    MAP_FOREACH(struct hyper *, h, &t->hypers)
        hyper_free(t, h);
    VEC_FOREACH(gone, &t->gone)
        hyper_free(t, *gone);
    map_done(&t->hypers);
    arena_done(&t->gone_arena);
    arena_done(&t->arena);
    free(t);
    m->topology = NULL;
}

/* Status and the like change often; numbering all nodes again because of it would be a waste. */
static uint64_t hash_of_look(const struct json *spec, const struct json *labels)
{
    autobuf text = { 0 };

    if (spec)
        json_print(&text, spec);
    buf_char(&text, '\n');
    if (labels)
        json_print(&text, labels);
    return str_hash(buf_view(&text), 0);
}

static void hyper_read(struct topology *t, struct hyper *h, const struct json *meta, const struct json *spec)
{
    int64_t tier = json_i64(json_get(spec, "tier"), 0);

    forget_members(t, h);
    arena_reset(&h->arena);
    h->domain.name = arena_str(&h->arena, json_member_text(meta, "name"));
    h->domain.tier_name = arena_str(&h->arena, json_member_text(spec, "tierName"));
    h->domain.tier = (int)MIN_OF(MAX_OF(tier, 0), TIER_MAX);
    h->labels = json_clone(&h->arena, json_get(meta, "labels"));
    JSON_FOREACH(member, json_get(spec, "members")) {
        struct match match = { 0 };

        if (!read_match(h, member, &match))
            continue;
        *vec_push(&h->arena, &h->members) = match;
        t->n_label_members += match.kind == MATCH_LABELS && !match.is_domain;
    }
}

void topology_put(struct sched_model *m, const struct json *hypernode)
{
    struct topology *t = m->topology;
    const struct json *meta = json_get(hypernode, "metadata"), *spec = json_get(hypernode, "spec");
    struct hyper *h = map_get(&t->hypers, json_member_text(meta, "name"));
    uint64_t hash = hash_of_look(spec, json_get(meta, "labels")), rev = 0;

    (void)str_to_u64(json_member_text(meta, "resourceVersion"), &rev); /* 0: cannot be compared */
    if (str_empty(json_member_text(meta, "name")) || (h && rev && rev < h->rev))
        return;
    if (!h)
        h = xcalloc(1, sizeof(*h));
    else if (h->hash == hash) {
        h->rev = rev;
        return;
    } else
        map_remove(&t->hypers, h->domain.name); /* the name is read again */
    hyper_read(t, h, meta, spec);
    h->hash = hash;
    h->rev = rev;
    map_put(&t->hypers, h->domain.name, h);
    topology_changed(m);
}

void topology_gone(struct sched_model *m, struct str name)
{
    struct hyper *h = map_remove(&m->topology->hypers, name);

    if (!h)
        return;
    *vec_push(&m->topology->gone_arena, &m->topology->gone) = h; /* nodes and groups still point at it */
    topology_changed(m);
}

bool topology_uses_labels(const struct sched_model *m)
{
    return m->topology->n_label_members > 0;
}

/* ---- building ---- */

static bool match_fits(const struct match *match, struct str name, const struct json *labels)
{
    switch (match->kind) {
    case MATCH_NAME:
        return str_eq(match->name, name);
    case MATCH_PATTERN:
        return pattern_matches(match->pattern, name);
    case MATCH_LABELS:
    default:
        return selector_matches(match->selector, labels);
    }
}

static void drop_gone(struct sched_model *m)
{
    struct topology *t = m->topology;

    if (t->gone.n == 0)
        return;
    VEC_FOREACH(gone, &t->gone)
        hyper_free(t, *gone);
    memset(&t->gone, 0, sizeof(t->gone));
    arena_reset(&t->gone_arena);
}

static int hyper_by_name(const void *a, const void *b)
{
    return str_cmp((*(struct hyper *const *)a)->domain.name, (*(struct hyper *const *)b)->domain.name);
}

static int hyper_by_tier(const void *a, const void *b)
{
    int x = (*(struct hyper *const *)a)->domain.tier, y = (*(struct hyper *const *)b)->domain.tier;

    return x != y ? (x > y) - (x < y) : hyper_by_name(a, b);
}

static void hold_domain(const struct hyper *h, struct hyper *child)
{
    if (child && !child->domain.parent && child->domain.tier < h->domain.tier)
        child->domain.parent = (struct domain *)&h->domain;
}

/* Who is above whom. 'all' is by name, so the first by name has what two claim. */
static void find_parents(struct topology *t, struct hyper **all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        VEC_FOREACH(match, &all[i]->members) {
            if (!match->is_domain)
                continue;
            if (match->kind == MATCH_NAME) {
                hold_domain(all[i], map_get(&t->hypers, match->name));
                continue;
            }
            for (size_t k = 0; k < n; k++)
                if (match_fits(match, all[k]->domain.name, all[k]->labels))
                    hold_domain(all[i], all[k]);
        }
}

static void list_children(struct topology *t, struct hyper **all, size_t n)
{
    int highest = 0;

    for (size_t i = 0; i < n; i++) {
        struct domain *d = &all[i]->domain;

        highest = MAX_OF(highest, d->tier);
        d->parent = d->parent ? d->parent : &t->root.domain;
        *vec_push(&t->arena, &d->parent->children) = d;
    }
    t->root.domain.tier = highest + 1;
}

/* Numbers in the order of the tree, parents first: the size of each subtree bottom up, then places top down. A parent's
 * tier is higher than its children's, so the list by tier is such an order, without recursion. */
static void number_domains(struct topology *t)
{
    struct domain *root = &t->root.domain;
    size_t n = t->by_tier.n;

    root->rank = 0;
    root->last = 1;
    for (size_t i = 0; i < n; i++)
        t->by_tier.v[i]->domain.last = 1; /* its size, for now */
    for (size_t i = 0; i < n; i++)
        t->by_tier.v[i]->domain.parent->last += t->by_tier.v[i]->domain.last;
    for (size_t i = n + 1; i-- > 0;) {
        struct domain *d = i == n ? root : &t->by_tier.v[i]->domain;
        uint32_t next = d->rank + 1;

        VEC_FOREACH(child, &d->children) {
            (*child)->rank = next;
            next += (*child)->last;
        }
        d->last += d->rank - 1;
    }
}

static int node_by_name(const void *a, const void *b)
{
    return str_cmp((*(struct sched_node *const *)a)->name, (*(struct sched_node *const *)b)->name);
}

struct nodes {
    struct sched_node **v; /* by name */
    size_t n;
};

static struct nodes list_nodes(const struct sched_model *m, struct arena *a)
{
    struct nodes nodes = { .v = arena_array(a, struct sched_node *, map_count(&m->nodes)) };

    MAP_FOREACH(struct sched_node *, node, &m->nodes) {
        node->domain = NULL;
        if (node->exists)
            nodes.v[nodes.n++] = node;
    }
    qsort(nodes.v, nodes.n, sizeof(*nodes.v), node_by_name);
    return nodes;
}

/* The first node whose name is not less than 'beginning'. */
static size_t first_node(const struct nodes *nodes, struct str beginning)
{
    size_t low = 0, high = nodes->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (str_cmp(nodes->v[mid]->name, beginning) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void claim_nodes(struct sched_model *m, struct hyper *h, const struct match *match, const struct nodes *nodes)
{
    struct str beginning = match->kind == MATCH_PATTERN ? pattern_beginning(match->pattern) : STR_NULL;
    struct sched_node *node;

    if (match->kind == MATCH_NAME) {
        node = map_get(&m->nodes, match->name);
        if (node && node->exists && !node->domain)
            node->domain = &h->domain;
        return;
    }
    for (size_t i = first_node(nodes, beginning); i < nodes->n; i++) {
        node = nodes->v[i];
        if (!str_starts(node->name, beginning))
            break;
        if (!node->domain && match_fits(match, node->name, node->labels))
            node->domain = &h->domain;
    }
}

void topology_build(struct sched_model *m)
{
    struct topology *t = m->topology;
    struct nodes nodes;
    struct hyper **all;
    size_t n = 0;

    drop_gone(m);
    arena_reset(&t->arena);
    memset(&t->by_tier, 0, sizeof(t->by_tier));
    memset(&t->root.domain.children, 0, sizeof(t->root.domain.children));
    all = arena_array(&t->arena, struct hyper *, map_count(&t->hypers));
    MAP_FOREACH(struct hyper *, h, &t->hypers) {
        all[n++] = h;
        *vec_push(&t->arena, &t->by_tier) = h;
        h->domain.parent = NULL;
        memset(&h->domain.children, 0, sizeof(h->domain.children));
    }
    qsort(all, n, sizeof(*all), hyper_by_name);
    if (n)
        qsort(t->by_tier.v, n, sizeof(*all), hyper_by_tier);
    find_parents(t, all, n);
    list_children(t, all, n);
    number_domains(t);
    nodes = list_nodes(m, &t->arena);
    VEC_FOREACH(h, &t->by_tier)
        VEC_FOREACH(match, &(*h)->members)
            if (!match->is_domain)
                claim_nodes(m, *h, match, &nodes);
}

uint32_t topology_rank(const struct sched_node *n)
{
    return n->domain ? n->domain->rank : 0;
}

void topology_ranges(struct sched_model *m)
{
    struct topology *t = m->topology;
    uint32_t *before = arena_array(&t->arena, uint32_t, t->by_tier.n + 2); /* nodes with a lower rank */

    for (uint32_t i = 0; i < m->n_order; i++)
        before[topology_rank(m->order[i]) + 1]++;
    for (size_t i = 1; i < t->by_tier.n + 2; i++)
        before[i] += before[i - 1];
    t->root.domain.range = (struct fit_range){ 0, m->n_order };
    VEC_FOREACH(h, &t->by_tier) {
        struct domain *d = &(*h)->domain;

        d->range = (struct fit_range){ before[d->rank], before[d->last + 1] };
    }
}

/* ---- asking ---- */

struct domain *topology_root(const struct sched_model *m)
{
    return &m->topology->root.domain;
}

bool topology_has(const struct domain *outer, const struct domain *inner)
{
    uint32_t rank = inner ? inner->rank : 0;

    return !outer || (outer->rank <= rank && rank <= outer->last);
}

struct domain *topology_common(struct domain *a, struct domain *b)
{
    struct domain *at = a ? a : b;

    if (!a || !b) {
        while (at && at->parent)
            at = at->parent;
        return at;
    }
    while (!topology_has(at, b))
        at = at->parent;
    return at;
}

/* The highest tier that is allowed; -1: none. Two tiers of one name: the higher. */
static int64_t highest_tier(const struct topology *t, const struct json *topology)
{
    struct str name = json_member_text(topology, "highestTierName");
    int64_t tier = -1;

    if (json_is(json_get(topology, "highestTierAllowed"), JSON_NUMBER))
        return json_i64(json_get(topology, "highestTierAllowed"), -1);
    if (str_empty(name))
        return INT64_MAX;
    VEC_FOREACH(h, &t->by_tier)
        if (str_eq((*h)->domain.tier_name, name))
            tier = (*h)->domain.tier; /* they are by tier */
    return tier;
}

void topology_candidates(struct sched_model *m, struct arena *a, const struct json *topology, struct domain *around,
                         struct domain_list *ret)
{
    struct topology *t = m->topology;
    bool is_hard = !str_is(json_member_text(topology, "mode"), "soft");
    int64_t highest = is_hard ? highest_tier(t, topology) : INT64_MAX;
    struct domain *root = &t->root.domain;

    *ret = (struct domain_list){ .is_hard = is_hard };
    VEC_FOREACH(h, &t->by_tier) {
        struct domain *d = &(*h)->domain;

        if (d->tier <= highest && (!around || topology_has(d, around)) && d->range.from < d->range.to)
            *vec_push(a, &ret->list) = d;
    }
    if (root->tier <= highest && m->n_order > 0)
        *vec_push(a, &ret->list) = root;
}

/* ---- the room of domains ---- */

struct roomy {
    struct domain *domain;
    int64_t times; /* thousandths */
};

static int64_t times_free(const struct sched_model *m, const struct sched_group *g, const struct domain *d,
                          const struct amounts *asks)
{
    struct amounts free = { { 0 } };
    int64_t least = INT64_MAX;

    for (uint32_t i = d->range.from; i < d->range.to; i++) {
        const struct sched_node *n = m->order[i];

        if (!n->takes_pods && !group_tolerates(g, n))
            continue;
        for (int k = 0; k < m->dims.n; k++)
            free.v[k] += MAX_OF(n->total.v[k] - n->used.v[k] - n->held.v[k], 0);
    }
    for (int k = 0; k < m->dims.n; k++)
        if (asks->v[k] > 0)
            least = MIN_OF(least, (int64_t)((double)free.v[k] / (double)asks->v[k] * 1000));
    return least;
}

static int roomy_cmp(const void *x, const void *y)
{
    const struct roomy *a = x, *b = y;

    if (a->domain->tier != b->domain->tier)
        return a->domain->tier < b->domain->tier ? -1 : 1;
    if (a->times != b->times)
        return a->times < b->times ? -1 : 1;
    return str_cmp(a->domain->name, b->domain->name);
}

void topology_tightest_first(const struct trial *t, const struct amounts *asks, struct domain_list *list)
{
    struct roomy *by_room = arena_array(t->arena, struct roomy, list->list.n);

    if (list->list.n < 2)
        return;
    for (size_t i = 0; i < list->list.n; i++)
        by_room[i] = (struct roomy){ list->list.v[i], times_free(t->m, t->group, list->list.v[i], asks) };
    qsort(by_room, list->list.n, sizeof(*by_room), roomy_cmp);
    for (size_t i = 0; i < list->list.n; i++)
        list->list.v[i] = by_room[i].domain;
}

/* ---- where pods are ---- */

struct domain *topology_widen(const struct sched_model *m, struct domain *d, const struct sched_node *n)
{
    struct domain *of_node = n->domain ? n->domain : topology_root(m);

    return d ? topology_common(d, of_node) : of_node;
}

struct domain *topology_of_group(const struct sched_model *m, const struct sched_group *g)
{
    static const enum pod_state placed[] = { POD_BINDING, POD_BOUND, POD_RUNNING };
    struct domain *d = NULL;

    VEC_FOREACH(r, &g->roles)
        for (size_t s = 0; s < ARRAY_LEN(placed); s++)
            LIST_FOREACH(struct sched_pod, p, &(*r)->pods[placed[s]], in_role)
                if (p->node && p->node->exists)
                    d = topology_widen(m, d, p->node);
    return d;
}
