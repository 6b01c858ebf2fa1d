/* nodematch.c - node selectors */
#include "sched/fit/nodematch.h"

#include "api/requirement.h"
#include "base/util.h"
#include "sched/fit/fit_internal.h"

struct node_requirement {
    struct requirement label;
    bool is_name;  /* matchFields metadata.name instead of a label */
    bool has_topo; /* look at facts.values[topo] */
    uint32_t topo;
};

struct alternative {
    VEC(struct node_requirement) all;
};

struct node_rule {
    struct alternative always;      /* nodeSelector */
    bool has_terms;                 /* without: only 'always' counts */
    VEC(struct alternative) either; /* nodeSelectorTerms */
    const struct terms *terms;      /* of the topology keys; NULL: not bound */
};

static const char *const op_names[] = {
    [OP_IN] = "In",      [OP_NOT_IN] = "NotIn", [OP_EXISTS] = "Exists", [OP_ABSENT] = "DoesNotExist",
    [OP_GREATER] = "Gt", [OP_LESS] = "Lt",
};

static enum requirement_op op_of(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(op_names); i++)
        if (op_names[i] && str_is(name, op_names[i]))
            return (enum requirement_op)i;
    return OP_NEVER; /* an operator that we do not know matches no node */
}

static void add_requirement(struct arena *a, struct alternative *t, const struct json *j, bool is_field)
{
    struct node_requirement *r = vec_push(a, &t->all);
    const struct json *list = json_get(j, "values");
    struct str *values = arena_array(a, struct str, json_count(list));
    size_t n = 0;

    r->is_name = is_field;
    r->label.key = json_member_text(j, "key");
    r->label.op = op_of(json_member_text(j, "operator"));
    JSON_FOREACH(v, list)
        values[n++] = json_text(v, STR(""));
    requirement_set_values(&r->label, values, n);
    if (is_field && !str_is(r->label.key, "metadata.name"))
        r->label.op = OP_NEVER;
    if ((r->label.op == OP_GREATER || r->label.op == OP_LESS) &&
        (n != 1 || str_to_i64(values[0], &r->label.number) < 0))
        r->label.op = OP_NEVER;
}

static void add_term(struct arena *a, struct alternative *t, const struct json *j)
{
    JSON_FOREACH(e, json_get(j, "matchExpressions"))
        add_requirement(a, t, e, false);
    JSON_FOREACH(e, json_get(j, "matchFields"))
        add_requirement(a, t, e, true);
}

struct node_rule *node_rule_new(struct arena *a, const struct json *selector, const struct json *required)
{
    bool has_selector = json_is(selector, JSON_OBJECT) && json_count(selector);
    struct node_rule *rule;

    if (!has_selector && !json_is(required, JSON_OBJECT))
        return NULL;
    rule = arena_new(a, struct node_rule);
    JSON_FOREACH(s, has_selector ? selector : NULL) {
        struct requirement *r = &vec_push(a, &rule->always.all)->label;

        *r = (struct requirement){ .key = json_key(s), .op = OP_EQUAL, .values = arena_new(a, struct str), .n = 1 };
        r->values[0] = json_text(s, STR(""));
    }
    rule->has_terms = json_is(required, JSON_OBJECT);
    JSON_FOREACH(t, json_get(required, "nodeSelectorTerms"))
        add_term(a, vec_push(a, &rule->either), t);
    return rule;
}

struct node_rule *node_rule_term(struct arena *a, const struct json *term)
{
    struct node_rule *rule = arena_new(a, struct node_rule);

    add_term(a, &rule->always, term);
    return rule->always.all.n ? rule : NULL;
}

enum { TOPOS_MAX = 256 }; /* a few bytes for each node and key */

static void bind_all(struct sched_model *m, struct alternative *t)
{
    VEC_FOREACH(r, &t->all)
        if (!r->is_name && m->fit->terms.n_topos < TOPOS_MAX) {
            r->topo = topo_need(m, r->label.key);
            r->has_topo = true;
        }
}

void node_rule_bind(struct sched_model *m, struct node_rule *r)
{
    if (!r)
        return;
    r->terms = &m->fit->terms;
    bind_all(m, &r->always);
    VEC_FOREACH(t, &r->either)
        bind_all(m, t);
}

static void ready_all(struct sched_model *m, const struct alternative *t)
{
    VEC_FOREACH(r, &t->all)
        if (r->has_topo)
            (void)topo_at(m, r->topo);
}

void node_rule_ready(struct sched_model *m, const struct node_rule *r)
{
    if (!r || m->is_unordered)
        return;
    ready_all(m, &r->always);
    VEC_FOREACH(t, &r->either)
        ready_all(m, t);
}

/* A node's value of a topology key: from the row of all nodes while that is valid, else from its facts. */
static bool nodematch_value_of(const struct terms *all, uint32_t topo, const struct sched_node *n, struct str *ret)
{
    const struct topo *t = &all->topos[topo];
    uint32_t id = t->at_epoch == all->epoch && n->index != UINT32_MAX ? t->at[n->index] : n->facts->values[topo];

    if (id == NO_VALUE)
        return false;
    *ret = t->by_id[id]->name;
    return true;
}

static bool nodematch_label_of(const struct node_rule *rule, const struct node_requirement *r,
                               const struct sched_node *n, struct str *ret)
{
    const struct json *label;

    if (r->is_name) {
        *ret = n->name;
        return true;
    }
    if (r->has_topo && n->facts)
        return nodematch_value_of(rule->terms, r->topo, n, ret);
    label = json_get_str(n->labels, r->label.key);
    *ret = json_text(label, STR(""));
    return json_is(label, JSON_STRING);
}

static bool all_match(const struct node_rule *rule, const struct alternative *t, const struct sched_node *n)
{
    VEC_FOREACH(r, &t->all) {
        struct str value = STR("");
        bool is_there = nodematch_label_of(rule, r, n, &value);

        if (!requirement_holds(&r->label, is_there, value))
            return false;
    }
    return true;
}

bool node_rule_matches(const struct node_rule *r, const struct sched_node *n)
{
    if (!r)
        return true;
    if (!all_match(r, &r->always, n))
        return false;
    if (!r->has_terms)
        return true;
    VEC_FOREACH(t, &r->either)
        if (t->all.n && all_match(r, t, n))
            return true;
    return false;
}
