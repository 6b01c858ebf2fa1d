/* admit_pod_placement.c - where a pod may go: selectors, affinity, tolerations, spreading */
#include "api/admit/admit_internal.h"

#include "api/name.h"
#include "base/util.h"

#define REQUIRED_TERMS  "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED_TERMS "preferredDuringSchedulingIgnoredDuringExecution"

/* ---- requirements: an operator and its values ---- */

static const struct {
    const char *name;
    size_t min_values, max_values;
    bool is_number; /* the value is compared as one */
} operators[] = {
    { "In", 1, SIZE_MAX, false }, { "NotIn", 1, SIZE_MAX, false },
    { "Exists", 0, 0, false },    { "DoesNotExist", 0, 0, false },
    { "Gt", 1, 1, true },         { "Lt", 1, 1, true },
};

static void check_values(struct check *c, const struct place *requirement, size_t op, bool are_labels)
{
    struct place at = place_member(requirement, "values");
    size_t n = json_count(at.node);
    int64_t v;

    if (is_set(at.node) && at.node->type != JSON_ARRAY)
        return;
    if (n > operators[op].max_values && operators[op].max_values == 0)
        check_error(c, &at, "may not be specified when operator is %s", operators[op].name);
    else if (n < operators[op].min_values || n > operators[op].max_values)
        check_error(c, &at, "must have %s when operator is %s",
                    operators[op].max_values == 1 ? "exactly one value" : "at least one value", operators[op].name);
    PLACE_FOREACH(value, &at) {
        struct str text = json_text(value.node, STR(""));

        if (are_labels)
            check_name(c, &value, name_check_label_value);
        if (operators[op].is_number && json_is(value.node, JSON_STRING) && str_to_i64(text, &v) < 0)
            check_error(c, &value, "must be a whole number when operator is %s (got \"%.*s\")", operators[op].name,
                        STR_ARG(text));
    }
}

static void check_requirement(struct check *c, const struct place *requirement, bool are_labels)
{
    struct str name = json_member_text(requirement->node, "operator");

    check_member_name(c, requirement, "key", name_check_qualified);
    for (size_t i = 0; i < ARRAY_LEN(operators); i++)
        if (str_is(name, operators[i].name))
            check_values(c, requirement, i, are_labels);
}

void label_selector_rules(struct check *c, const struct place *selector)
{
    struct place labels = place_object(selector, "matchLabels"), list = place_list(selector, "matchExpressions");

    check_labels(c, &labels);
    PLACE_FOREACH(requirement, &list)
        check_requirement(c, &requirement, true);
}

/* ---- nodes ---- */

/* matchFields knows one field, and one way to ask for it. */
static void check_field_requirement(struct check *c, const struct place *requirement)
{
    struct place key = place_member(requirement, "key"), op = place_member(requirement, "operator");
    struct place values = place_list(requirement, "values");
    struct str name = json_text(key.node, STR("")), op_name = json_text(op.node, STR(""));

    if (name.n && !str_is(name, "metadata.name"))
        check_error(c, &key, "must be metadata.name: no other field can be selected by");
    if (op_name.n && !str_is(op_name, "In") && !str_is(op_name, "NotIn"))
        check_error(c, &op, "must be In or NotIn for fields");
    if (json_count(values.node) != 1)
        check_error(c, values.node ? &values : requirement, "must have exactly one value for a field");
}

static void check_node_term(struct check *c, const struct place *term)
{
    struct place labels = place_list(term, "matchExpressions"), fields = place_list(term, "matchFields");

    PLACE_FOREACH(requirement, &labels)
        check_requirement(c, &requirement, false);
    PLACE_FOREACH(requirement, &fields)
        if (json_is(requirement.node, JSON_OBJECT))
            check_field_requirement(c, &requirement);
}

static void check_node_affinity(struct check *c, const struct place *affinity)
{
    struct place required = place_object(affinity, REQUIRED_TERMS), terms = place_list(&required, "nodeSelectorTerms");
    struct place preferred = place_list(affinity, PREFERRED_TERMS);

    PLACE_FOREACH(term, &terms)
        check_node_term(c, &term);
    PLACE_FOREACH(item, &preferred) {
        struct place term = place_object(&item, "preference");

        check_node_term(c, &term);
    }
}

/* ---- pods ---- */

static void check_label_keys(struct check *c, const struct place *up, const char *list)
{
    struct place keys = place_list(up, list), at = place_member(up, list);

    if (json_count(keys.node) > 0 && !is_set(json_get(up->node, "labelSelector")))
        check_error(c, &at, "must not be set when labelSelector is not set");
}

static void check_pod_term(struct check *c, const struct place *term)
{
    struct place labels = place_object(term, "labelSelector"), spaces = place_object(term, "namespaceSelector");

    label_selector_rules(c, &labels);
    label_selector_rules(c, &spaces);
    check_label_keys(c, term, "matchLabelKeys");
    check_label_keys(c, term, "mismatchLabelKeys");
}

static void check_pod_affinity(struct check *c, const struct place *affinity)
{
    struct place required = place_list(affinity, REQUIRED_TERMS), preferred = place_list(affinity, PREFERRED_TERMS);

    PLACE_FOREACH(term, &required)
        check_pod_term(c, &term);
    PLACE_FOREACH(item, &preferred) {
        struct place term = place_object(&item, "podAffinityTerm");

        check_pod_term(c, &term);
    }
}

/* ---- tolerations ---- */

static void check_toleration(struct check *c, const struct place *toleration)
{
    struct str op = json_member_text(toleration->node, "operator"),
               effect = json_member_text(toleration->node, "effect");
    struct place value = place_member(toleration, "value"), at_op = place_member(toleration, "operator");
    struct place at_effect = place_member(toleration, "effect");
    struct str text = json_text(value.node, STR(""));
    int64_t v;

    if (json_member_text(toleration->node, "key").n == 0 && !str_is(op, "Exists"))
        check_error(c, &at_op, "must be Exists when key is empty, which means to tolerate every taint");
    if (is_set(json_get(toleration->node, "tolerationSeconds")) && !str_is(effect, "NoExecute"))
        check_error(c, &at_effect, "must be NoExecute when tolerationSeconds is set");
    if (str_is(op, "Exists")) {
        if (text.n)
            check_error(c, &value, "must be empty when operator is Exists");
    } else if (str_is(op, "Gt") || str_is(op, "Lt")) {
        if (str_to_i64(text, &v) < 0)
            check_error(c, &value, "must be a whole number when operator is %.*s", STR_ARG(op));
    } else {
        check_name(c, &value, name_check_label_value);
    }
}

/* ---- spreading ---- */

static void check_spread(struct check *c, const struct place *constraint, struct name_map *seen)
{
    struct str key = json_member_text(constraint->node, "topologyKey");
    struct str when = json_member_text(constraint->node, "whenUnsatisfiable");
    struct place at = place_member(constraint, "topologyKey"), domains = place_member(constraint, "minDomains");
    struct place labels = place_object(constraint, "labelSelector");

    if (key.n && when.n &&
        !name_map_add(c->arena, seen, arena_fmt(c->arena, "%.*s %.*s", STR_ARG(key), STR_ARG(when)), 0, NULL))
        check_error(c, &at, "duplicate constraint {%.*s, %.*s}", STR_ARG(key), STR_ARG(when));
    if (is_set(domains.node) && !str_is(when, "DoNotSchedule"))
        check_error(c, &domains, "can only use minDomains if whenUnsatisfiable is DoNotSchedule");
    label_selector_rules(c, &labels);
    check_label_keys(c, constraint, "matchLabelKeys");
}

/* ---- all together ---- */

void pod_placement_rules(struct check *c, const struct place *spec)
{
    struct place affinity = place_object(spec, "affinity"), node = place_object(&affinity, "nodeAffinity");
    struct place near = place_object(&affinity, "podAffinity"), far = place_object(&affinity, "podAntiAffinity");
    struct place tolerations = place_list(spec, "tolerations");
    struct place spread = place_list(spec, "topologySpreadConstraints");
    struct name_map seen = { 0 };

    check_node_affinity(c, &node);
    check_pod_affinity(c, &near);
    check_pod_affinity(c, &far);
    PLACE_FOREACH(toleration, &tolerations)
        if (json_is(toleration.node, JSON_OBJECT))
            check_toleration(c, &toleration);
    PLACE_FOREACH(constraint, &spread)
        check_spread(c, &constraint, &seen);
}
