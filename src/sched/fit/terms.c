/* terms.c - interned terms, their counters, and topology keys */
#include "sched/fit/terms.h"

#include "api/selector.h"
#include "base/util.h"
#include "sched/fit/fit_internal.h"

#include <assert.h>

void terms_init(struct sched_model *m)
{
    struct terms *t = &m->fit->terms;

    map_init(&t->by_key, m->seed);
    map_init(&t->topo_ids, m->seed);
    t->epoch = 1;
}

static void term_free(struct term *t)
{
    tallies_done(&t->by_value);
    tallies_done(&t->by_trial);
    tallies_done(&t->by_node);
    arena_done(&t->arena);
    free(t);
}

void terms_done(struct sched_model *m)
{
    struct terms *t = &m->fit->terms;

    for (uint32_t i = 0; i < t->n; i++)
        if (t->v[i])
            term_free(t->v[i]);
    for (uint32_t i = 0; i < t->n_topos; i++) {
        for (uint32_t id = 0; id < t->topos[i].n_ids; id++)
            free(t->topos[i].by_id[id]);
        free(t->topos[i].by_id);
        free(t->topos[i].at);
        map_done(&t->topos[i].values);
    }
    free(t->topos);
    free(t->v);
    map_done(&t->topo_ids);
    map_done(&t->by_key);
    arena_done(&t->arena);
}

/* ---- making terms ---- */

static void terms_read_part(struct arena *a, const struct json *j, struct term_part *p)
{
    const struct json *in = json_get(j, "nss"), *pods = json_get(j, "sel");

    JSON_FOREACH(ns, json_get(j, "ns"))
        *vec_push(a, &p->namespaces) = json_text(ns, STR(""));
    /* A selector that cannot be understood matches nothing. */
    if (!json_is(in, JSON_OBJECT) || selector_from_json(a, in, &p->in, NULL) < 0)
        p->in = NULL;
    if (!json_is(pods, JSON_OBJECT) || selector_from_json(a, pods, &p->pods, NULL) < 0)
        p->pods = NULL;
}

static struct term *term_new(struct sched_model *m, struct str key)
{
    struct terms *all = &m->fit->terms;
    struct term *t = xcalloc(1, sizeof(*t));
    struct json *j;
    struct json_parse_options opt = { .limits = { .max_depth = 4096 } };

    t->key = arena_str(&t->arena, key);
    if (json_parse(&t->arena, t->key, &opt, &j, NULL) < 0)
        j = NULL; /* it was printed by us; without parts nothing would be matched */
    JSON_FOREACH(p, json_get(j, "m"))
        terms_read_part(&t->arena, p, vec_push(&t->arena, &t->parts));
    t->topo = topo_need(m, json_member_text(j, "k"));
    while (all->first_free < all->n && all->v[all->first_free])
        all->first_free++;
    t->id = all->first_free;
    if (t->id == all->cap) {
        all->cap = all->cap ? 2 * all->cap : 16;
        all->v = xrealloc(all->v, all->cap * sizeof(struct term *));
    }
    if (t->id == all->n)
        all->n++;
    all->v[t->id] = t;
    map_put(&all->by_key, t->key, t);
    return t;
}

static bool is_in_namespace(const struct sched_model *m, const struct term_part *p, struct str name)
{
    const struct sched_namespace *ns;

    VEC_FOREACH(s, &p->namespaces)
        if (str_eq(*s, name))
            return true;
    if (!p->in)
        return false;
    ns = map_get(&m->namespaces, name);
    return selector_matches(p->in, ns ? ns->labels : NULL);
}

bool term_matches(const struct sched_model *m, const struct term *t, const struct pod_class *c)
{
    VEC_FOREACH(p, &t->parts)
        if (!p->pods || !selector_matches(p->pods, c->labels) || !is_in_namespace(m, p, c->namespace))
            return false;
    return t->parts.n > 0;
}

/* ---- counting ---- */

static void count_match(struct term *t, const struct node_facts *facts, int32_t by, bool in_trial)
{
    uint32_t value = facts->values[t->topo];

    if (value != NO_VALUE) {
        tallies_add(&t->by_value, value, by, 0, 0);
        if (in_trial)
            tallies_add(&t->by_trial, value, by, 0, 0);
        t->total += by;
    }
    if (t->used_as[TERM_SPREAD])
        tallies_add(&t->by_node, facts->slot, by, 0, 0);
}

static void count_own(struct term *t, const struct node_facts *facts, int32_t owners, int32_t weight, bool in_trial)
{
    uint32_t value = facts->values[t->topo];

    if (value == NO_VALUE || (!owners && !weight))
        return;
    tallies_add(&t->by_value, value, 0, owners, weight);
    if (in_trial)
        tallies_add(&t->by_trial, value, 0, owners, weight);
}

void terms_count(struct sched_model *m, const struct pod_class *c, const struct node_facts *facts, int by)
{
    struct term **v = m->fit->terms.v;

    for (uint32_t i = 0; i < c->work->n_matched; i++)
        count_match(v[c->work->matched[i]], facts, by, m->in_trial);
    VEC_FOREACH(id, &c->avoid)
        count_own(v[*id], facts, by, 0, m->in_trial);
    VEC_FOREACH(p, &c->like)
        count_own(v[p->term], facts, 0, by * p->weight, m->in_trial);
}

/* Where the term is among those that match the class, or would go. */
static uint32_t matched_place(const struct class_work *w, uint32_t term)
{
    uint32_t low = 0, high = w->n_matched;

    while (low < high) {
        uint32_t mid = (low + high) / 2;

        if (w->matched[mid] < term)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

bool class_is_matched(const struct pod_class *c, uint32_t term)
{
    uint32_t at = matched_place(c->work, term);

    return at < c->work->n_matched && c->work->matched[at] == term;
}

static void note_match(struct pod_class *c, uint32_t term, bool is_matched)
{
    struct class_work *w = c->work;
    uint32_t i = matched_place(w, term);

    if (!is_matched) {
        w->n_matched--;
        memmove(w->matched + i, w->matched + i + 1, (w->n_matched - i) * sizeof(*w->matched));
        return;
    }
    if (w->n_matched == w->cap_matched) {
        w->cap_matched = w->cap_matched ? 2 * w->cap_matched : 4;
        w->matched = xrealloc(w->matched, w->cap_matched * sizeof(*w->matched));
    }
    memmove(w->matched + i + 1, w->matched + i, (w->n_matched - i) * sizeof(*w->matched));
    w->matched[i] = term;
    w->n_matched++;
}

bool class_find_coupling(const struct sched_model *m, const struct pod_class *c)
{
    if (c->need.n || c->avoid.n || c->like.n || c->spread.n)
        return true;
    for (uint32_t i = 0; i < c->work->n_matched; i++) {
        const struct term *t = term_at(&m->fit->terms, c->work->matched[i]);

        if (t->used_as[TERM_AVOID] || t->used_as[TERM_LIKE])
            return true;
    }
    return false;
}

static void set_match(struct sched_model *m, struct term *t, struct pod_class *c, bool is_matched)
{
    if (is_matched == class_is_matched(c, t->id))
        return;
    note_match(c, t->id, is_matched);
    TALLY_FOREACH(spot, &c->work->spots)
    count_match(t, m->fit->notes[spot->place - 1], is_matched ? spot->pods : -spot->pods, false);
}

/* Ask all classes whether the term matches them. */
static void term_rematch(struct sched_model *m, struct term *t)
{
    MAP_FOREACH(struct pod_class *, c, &m->fit->classes) {
        set_match(m, t, c, term_matches(m, t, c));
        c->is_coupled = class_find_coupling(m, c);
    }
}

/* From now on, or from now on not, pods are also counted by node. */
static void term_count_nodes(struct sched_model *m, struct term *t)
{
    tallies_done(&t->by_node);
    if (!t->used_as[TERM_SPREAD])
        return;
    MAP_FOREACH(struct pod_class *, c, &m->fit->classes)
        if (class_is_matched(c, t->id))
            TALLY_FOREACH(spot, &c->work->spots)
    tallies_add(&t->by_node, spot->place - 1, spot->pods, 0, 0);
}

uint32_t term_ref(struct sched_model *m, const struct json *j, enum term_use use)
{
    autobuf text = { 0 };
    struct term *t;

    json_print(&text, j);
    t = map_get(&m->fit->terms.by_key, buf_view(&text));
    if (!t)
        t = term_new(m, buf_view(&text));
    t->uses++;
    if (t->used_as[use]++ == 0 && use == TERM_SPREAD)
        term_count_nodes(m, t);
    if (t->uses == 1 || t->used_as[use] == 1) /* new, or it matters in a new way to the classes it matches */
        term_rematch(m, t);
    return t->id;
}

static void term_unref(struct sched_model *m, uint32_t id, enum term_use use)
{
    struct terms *all = &m->fit->terms;
    struct term *t = all->v[id];

    if (--t->used_as[use] == 0 && use == TERM_SPREAD)
        term_count_nodes(m, t);
    if (--t->uses == 0)
        MAP_FOREACH(struct pod_class *, c, &m->fit->classes)
            set_match(m, t, c, false);
    if (t->used_as[use] == 0)
        MAP_FOREACH(struct pod_class *, c, &m->fit->classes)
            c->is_coupled = class_find_coupling(m, c);
    if (t->uses)
        return;
    map_remove(&all->by_key, t->key);
    all->v[id] = NULL;
    all->first_free = MIN_OF(all->first_free, id);
    term_free(t);
}

void terms_class_added(struct sched_model *m, struct pod_class *c)
{
    for (uint32_t id = 0; id < m->fit->terms.n; id++)
        if (m->fit->terms.v[id])
            set_match(m, m->fit->terms.v[id], c, term_matches(m, m->fit->terms.v[id], c));
    c->is_coupled = class_find_coupling(m, c);
}

void terms_class_removed(struct sched_model *m, struct pod_class *c)
{
    VEC_FOREACH(id, &c->need)
        term_unref(m, *id, TERM_NEED);
    VEC_FOREACH(id, &c->avoid)
        term_unref(m, *id, TERM_AVOID);
    VEC_FOREACH(p, &c->like)
        term_unref(m, p->term, TERM_LIKE);
    VEC_FOREACH(s, &c->spread)
        term_unref(m, s->term, TERM_SPREAD);
}

void terms_namespaces_changed(struct sched_model *m)
{
    for (uint32_t id = 0; id < m->fit->terms.n; id++) {
        struct term *t = m->fit->terms.v[id];
        bool looks = false;

        VEC_FOREACH(p, t ? &t->parts : &(__typeof__(t->parts)){ 0 })
            looks |= p->in != NULL;
        if (looks)
            term_rematch(m, t);
    }
}

/* ---- topology keys ---- */

uint32_t topo_value_find(const struct topo *t, struct str name)
{
    const struct topo_value *v = map_get(&t->values, name);

    return v ? v->id : NO_VALUE;
}

static struct topo_value *value_new(struct topo *t, struct str name)
{
    struct topo_value *v = xcalloc(1, sizeof(*v) + name.n + 1);

    memcpy(v + 1, name.p, name.n);
    v->name = (struct str){ (char *)(v + 1), name.n };
    if (map_count(&t->values) < t->n_ids) /* a number is free */
        while (t->by_id[v->id])
            v->id++;
    else
        v->id = t->n_ids;
    if (v->id == t->cap_ids) {
        t->cap_ids = t->cap_ids ? 2 * t->cap_ids : 8;
        t->by_id = xrealloc(t->by_id, t->cap_ids * sizeof(struct topo_value *));
    }
    if (v->id == t->n_ids)
        t->n_ids++;
    t->by_id[v->id] = v;
    map_put(&t->values, v->name, v);
    return v;
}

static uint32_t value_ref(struct topo *t, const struct sched_node *n)
{
    const struct json *label = n->exists ? json_get_str(n->labels, t->key) : NULL;
    struct str name = json_text(label, STR(""));
    struct topo_value *v;

    if (!json_is(label, JSON_STRING))
        return NO_VALUE;
    v = map_get(&t->values, name);
    if (!v)
        v = value_new(t, name);
    v->nodes++;
    return v->id;
}

static void value_unref(struct topo *t, uint32_t id)
{
    struct topo_value *v;

    if (id == NO_VALUE)
        return;
    v = t->by_id[id];
    if (--v->nodes)
        return;
    map_remove(&t->values, v->name);
    t->by_id[id] = NULL;
    free(v);
}

/* Room for one more behind 'n': an array that is grown so doubles, and need not remember its size. */
static void *grown_for(void *v, uint32_t n, size_t size)
{
    return n & (n - 1) ? v : xrealloc(v, (n ? 2 * (size_t)n : 1) * size);
}

static void read_values(struct sched_model *m, struct node_facts *facts, const struct sched_node *n, uint32_t from);

uint32_t topo_need(struct sched_model *m, struct str key)
{
    struct terms *all = &m->fit->terms;
    uintptr_t known = (uintptr_t)map_get(&all->topo_ids, key);
    uint32_t id = all->n_topos;

    if (known)
        return (uint32_t)(known - 1);
    all->topos = grown_for(all->topos, id, sizeof(*all->topos));
    all->topos[id] = (struct topo){ .key = arena_str(&all->arena, key) };
    map_init(&all->topos[id].values, m->seed);
    map_put(&all->topo_ids, all->topos[id].key, (void *)((uintptr_t)id + 1)); /* NULL would be: not there */
    all->n_topos++;
    all->epoch++;
    MAP_FOREACH(struct sched_node *, n, &m->nodes) /* no term of this key has counted anything yet */
        read_values(m, node_facts_of(m, n), n, id);
    return id;
}

const uint32_t *topo_at(struct sched_model *m, uint32_t topo)
{
    struct terms *all = &m->fit->terms;
    struct topo *t = &all->topos[topo];

    if (t->at_epoch == all->epoch)
        return t->at;
    t->at = xrealloc(t->at, (m->n_order + 1) * sizeof(*t->at));
    for (uint32_t i = 0; i < m->n_order; i++)
        t->at[i] = node_facts_of(m, m->order[i])->values[topo];
    t->at_epoch = all->epoch;
    return t->at;
}

/* Take the pods on a node out of, or put them into, the counters of this topology key. */
static void count_node(struct sched_model *m, uint32_t topo, const struct node_facts *facts, int sign)
{
    if (!facts->pods)
        return;
    MAP_FOREACH(struct pod_class *, c, &m->fit->classes) {
        int32_t pods = sign * tally_of(&c->work->spots, facts->slot).pods;
        struct term **v = m->fit->terms.v;

        if (!pods)
            continue;
        for (uint32_t i = 0; i < c->work->n_matched; i++)
            if (v[c->work->matched[i]]->topo == topo)
                count_match(v[c->work->matched[i]], facts, pods, false);
        VEC_FOREACH(id, &c->avoid)
            if (v[*id]->topo == topo)
                count_own(v[*id], facts, pods, 0, false);
        VEC_FOREACH(p, &c->like)
            if (v[p->term]->topo == topo)
                count_own(v[p->term], facts, 0, pods * p->weight, false);
    }
}

/* What the node's labels say for the topology keys from number 'from' on. */
static void read_values(struct sched_model *m, struct node_facts *facts, const struct sched_node *n, uint32_t from)
{
    struct terms *all = &m->fit->terms;

    from = MIN_OF(from, facts->n_values);
    for (; facts->n_values < all->n_topos; facts->n_values++) {
        facts->values = grown_for(facts->values, facts->n_values, sizeof(*facts->values));
        facts->values[facts->n_values] = NO_VALUE;
    }
    for (uint32_t k = from; k < all->n_topos; k++) {
        uint32_t old = facts->values[k], new = value_ref(&all->topos[k], n);

        if (new != old) {
            count_node(m, k, facts, -1);
            facts->values[k] = new;
            count_node(m, k, facts, +1);
            all->epoch++;
        }
        value_unref(&all->topos[k], old);
    }
}

void terms_facts_read(struct sched_model *m, struct node_facts *facts, const struct sched_node *n)
{
    read_values(m, facts, n, 0);
}

void terms_facts_gone(struct sched_model *m, struct node_facts *facts)
{
    struct terms *all = &m->fit->terms;

    for (uint32_t k = 0; k < facts->n_values; k++)
        value_unref(&all->topos[k], facts->values[k]);
    free(facts->values);
}
