/* nodematch.c - node selectors and taints */
#include "sched/nodematch.h"

#include "base/util.h"
#include "sched/fit_internal.h"

enum op { OP_IN, OP_NOT_IN, OP_EXISTS, OP_ABSENT, OP_GREATER, OP_LESS, OP_NEVER };

struct requirement {
    struct str key;
    bool is_name;  /* matchFields metadata.name instead of a label */
    bool has_topo; /* look at note.values[topo] */
    uint32_t topo;
    enum op op;
    struct str *values;
    size_t n;
    int64_t number; /* of OP_GREATER and OP_LESS */
};

struct alternative {
    VEC(struct requirement) all;
};

struct node_rule {
    struct alternative always;      /* nodeSelector */
    bool has_terms;                 /* without: 'always' is all there is */
    VEC(struct alternative) either; /* nodeSelectorTerms */
    const struct terms *terms;      /* of the topology keys; NULL: not bound */
};

static const char *const op_names[] = {
    [OP_IN] = "In",      [OP_NOT_IN] = "NotIn", [OP_EXISTS] = "Exists", [OP_ABSENT] = "DoesNotExist",
    [OP_GREATER] = "Gt", [OP_LESS] = "Lt",
};

static enum op op_of(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(op_names); i++)
        if (str_is(name, op_names[i]))
            return (enum op)i;
    return OP_NEVER; /* nothing is placed by a rule that nobody understands */
}

static void add_requirement(struct arena *a, struct alternative *t, const struct json *j, bool is_field)
{
    struct requirement *r = vec_push(a, &t->all);
    const struct json *values = json_get(j, "values");

    r->key = json_member_text(j, "key");
    r->op = op_of(json_member_text(j, "operator"));
    r->is_name = is_field;
    if (is_field && !str_is(r->key, "metadata.name"))
        r->op = OP_NEVER;
    r->values = arena_array(a, struct str, json_count(values));
    JSON_FOREACH(v, values)
        r->values[r->n++] = json_text(v, STR(""));
    if ((r->op == OP_GREATER || r->op == OP_LESS) && (r->n != 1 || str_to_i64(r->values[0], &r->number) < 0))
        r->op = OP_NEVER;
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
        struct requirement *r = vec_push(a, &rule->always.all);

        *r = (struct requirement){ .key = json_key(s), .op = OP_IN, .values = arena_new(a, struct str), .n = 1 };
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
            r->topo = topo_need(m, r->key);
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

static bool has_value(const struct requirement *r, struct str value)
{
    for (size_t i = 0; i < r->n; i++)
        if (str_eq(r->values[i], value))
            return true;
    return false;
}

/* A node's value of a topology key: from the row of all nodes while that is valid, else from its note. */
static bool value_of(const struct terms *all, uint32_t topo, const struct sched_node *n, struct str *ret)
{
    const struct topo *t = &all->topos[topo];
    uint32_t id = t->at_epoch == all->epoch && n->index != UINT32_MAX ? t->at[n->index] : n->note->values[topo];

    if (id == NO_VALUE)
        return false;
    *ret = t->by_id[id]->name;
    return true;
}

static bool label_of(const struct node_rule *rule, const struct requirement *r, const struct sched_node *n,
                     struct str *ret)
{
    const struct json *label;

    if (r->is_name) {
        *ret = n->name;
        return true;
    }
    if (r->has_topo && n->note)
        return value_of(rule->terms, r->topo, n, ret);
    label = json_get_str(n->labels, r->key);
    *ret = json_text(label, STR(""));
    return json_is(label, JSON_STRING);
}

static bool requirement_matches(const struct node_rule *rule, const struct requirement *r, const struct sched_node *n)
{
    struct str value = STR("");
    bool is_there = label_of(rule, r, n, &value);
    int64_t number;

    switch (r->op) {
    case OP_IN:
        return is_there && has_value(r, value);
    case OP_NOT_IN:
        return !is_there || !has_value(r, value);
    case OP_EXISTS:
        return is_there;
    case OP_ABSENT:
        return !is_there;
    case OP_GREATER:
        return is_there && str_to_i64(value, &number) == 0 && number > r->number;
    case OP_LESS:
        return is_there && str_to_i64(value, &number) == 0 && number < r->number;
    case OP_NEVER:
        break;
    }
    return false;
}

static bool all_match(const struct node_rule *rule, const struct alternative *t, const struct sched_node *n)
{
    VEC_FOREACH(r, &t->all)
        if (!requirement_matches(rule, r, n))
            return false;
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

/* ---- taints ---- */

static int effect_of(struct str effect)
{
    if (str_is(effect, "NoSchedule") || str_is(effect, "NoExecute"))
        return TAINT_HARD;
    return str_is(effect, "PreferNoSchedule") ? TAINT_SOFT : 0;
}

/* Empty effect: every effect. Empty key: every key, but only with Exists. */
static bool tolerates(const struct json *toleration, struct str key, struct str value, struct str effect)
{
    struct str op = json_member_text(toleration, "operator"), its_key = json_member_text(toleration, "key"),
               its_effect = json_member_text(toleration, "effect");
    bool needs_value = str_empty(op) || str_is(op, "Equal");

    if (!str_empty(its_effect) && !str_eq(its_effect, effect))
        return false;
    if (!str_empty(its_key) && !str_eq(its_key, key))
        return false;
    if (str_empty(its_key) && needs_value)
        return false;
    if (needs_value)
        return str_eq(json_member_text(toleration, "value"), value);
    return str_is(op, "Exists");
}

static bool is_tolerated(const struct json *tolerations, struct str key, struct str value, struct str effect)
{
    JSON_FOREACH(t, tolerations)
        if (tolerates(t, key, value, effect))
            return true;
    return false;
}

static bool is_untolerated(const struct json *taint, const struct json *tolerations, int effects)
{
    struct str effect = json_member_text(taint, "effect");

    return (effect_of(effect) & effects) &&
           !is_tolerated(tolerations, json_member_text(taint, "key"), json_member_text(taint, "value"), effect);
}

const struct json *taint_untolerated(const struct json *taints, const struct json *tolerations, int effects)
{
    JSON_FOREACH(t, taints)
        if (is_untolerated(t, tolerations, effects))
            return t;
    return NULL;
}

int taint_count(const struct json *taints, const struct json *tolerations, int effects)
{
    int n = 0;

    JSON_FOREACH(t, taints)
        n += is_untolerated(t, tolerations, effects);
    return n;
}

bool tolerates_unschedulable(const struct json *tolerations)
{
    return is_tolerated(tolerations, STR("node.kubernetes.io/unschedulable"), STR(""), STR("NoSchedule"));
}
