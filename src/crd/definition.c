/* definition.c - is a CustomResourceDefinition good?
 *
 * The rules are those of apiextensions.k8s.io/v1: names that fit, one version that is stored, a structural schema for
 * each. Features that this server does not have are refused here (conversion by webhook) or get a warning (CEL,
 * patterns beyond its matcher).
 */
#include "crd/custom.h"

#include "api/meta.h"
#include "api/name.h"
#include "api/schema/schemas.h"
#include "base/map.h"
#include "base/util.h"
#include "base/pattern.h"
#include "api/pod/status.h"

/* ---- defaults ---- */

static void definition_default_text(struct arena *a, struct json *j, const char *key, struct str value)
{
    if (!json_member_text(j, key).n && value.n)
        json_set(j, key, json_str(a, value));
}

void definition_default(struct arena *a, struct json *crd)
{
    struct json *spec = json_get(crd, "spec"), *names = json_get(spec, "names"), *conversion;
    struct str kind = json_member_text(names, "kind");

    if (!json_is(spec, JSON_OBJECT) || !json_is(names, JSON_OBJECT))
        return;
    definition_default_text(a, names, "singular", arena_lower(a, kind));
    if (kind.n)
        definition_default_text(a, names, "listKind", arena_fmt(a, "%.*sList", STR_ARG(kind)));
    conversion = json_need_object(a, spec, "conversion");
    if (conversion)
        definition_default_text(a, conversion, "strategy", STR("None"));
}

/* ---- schemas ---- */

static const char *const type_names[] = { "object", "array", "string", "boolean", "number", "integer" };

static bool definition_is_set(const struct json *schema, const char *flag)
{
    return json_bool(json_get(schema, flag), false);
}

static void check_kind_of_value(const struct place *at, bool needs_type, struct problems *ps)
{
    struct place type = place_member(at, "type");
    struct str text = json_text(type.node, STR_NULL);
    bool is_free = definition_is_set(at->node, "x-kubernetes-int-or-string") ||
                   definition_is_set(at->node, "x-kubernetes-preserve-unknown-fields");

    if (!text.n && needs_type && !is_free)
        problem_of(ps, PROBLEM_REQUIRED, &type, "is required: must not be empty for specified object fields");
    for (size_t i = 0; i < ARRAY_LEN(type_names); i++)
        if (!text.n || str_is(text, type_names[i]))
            return;
    problem_of(ps, PROBLEM_UNSUPPORTED, &type, "must be one of array, boolean, integer, number, object, string");
}

static void check_forbidden(const struct place *at, struct problems *ps)
{
    static const char *const never[] = { "$ref",           "$schema",      "id",
                                         "definitions",    "dependencies", "patternProperties",
                                         "additionalItems" };
    struct place both = place_member(at, "additionalProperties"), twice = place_member(at, "uniqueItems");

    for (size_t i = 0; i < ARRAY_LEN(never); i++) {
        struct place below = place_member(at, never[i]);

        if (below.node)
            problem_of(ps, PROBLEM_FORBIDDEN, &below, "it is not part of a structural schema");
    }
    if (both.node && json_get(at->node, "properties"))
        problem_of(ps, PROBLEM_FORBIDDEN, &both, "additionalProperties and properties are mutual exclusive");
    if (definition_is_set(at->node, "uniqueItems"))
        problem_of(ps, PROBLEM_FORBIDDEN, &twice,
                   "cannot be set to true since the runtime complexity becomes quadratic: use "
                   "x-kubernetes-list-type: set");
}

static void check_pattern(const struct place *at, struct problems *ps)
{
    struct place regex = place_member(at, "pattern");
    struct pattern *p;

    if (!json_text(regex.node, STR_NULL).n)
        return;
    if (pattern_parse(ps->arena, json_text(regex.node, STR_NULL), &p) == 0)
        pattern_done(p);
    else
        problem_warn(ps, &regex,
                     "uses regular expression syntax that this server does not support, so it is not checked");
}

static void check_list_type(const struct place *at, struct problems *ps)
{
    struct place type = place_member(at, "x-kubernetes-list-type"),
                 keys = place_member(at, "x-kubernetes-list-map-keys");
    struct str text = json_text(type.node, STR_NULL);
    const struct json *items = json_get(json_get(at->node, "items"), "properties");

    if (text.n && !str_is(text, "atomic") && !str_is(text, "set") && !str_is(text, "map"))
        problem_of(ps, PROBLEM_UNSUPPORTED, &type, "must be one of atomic, set, map");
    if (str_is(text, "map") && !json_count(keys.node))
        problem_of(ps, PROBLEM_REQUIRED, &keys, "is required: a list of type map needs keys");
    JSON_FOREACH(key, keys.node)
        if (!json_get_str(items, json_text(key, STR_NULL)))
            problem_error(ps, &keys, "\"%.*s\" is not a property of the items", STR_ARG(json_text(key, STR_NULL)));
}

static void check_schema(const struct place *at, bool needs_type, struct problems *ps);

static void check_members(const struct place *at, const char *key, bool needs_type, struct problems *ps)
{
    struct place all = place_member(at, key);
    size_t i = 0;

    JSON_FOREACH(s, all.node) {
        struct place below = { &all, s, json_key(s), i++ };

        check_schema(&below, needs_type, ps);
    }
}

/* What stands below anyOf and the like says more about fields that are known already. */
static void check_choices(const struct place *at, struct problems *ps)
{
    static const char *const lists[] = { "allOf", "anyOf", "oneOf" };
    static const char *const elsewhere[] = { "type", "default", "additionalProperties", "nullable" };

    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct place all = place_member(at, lists[i]);
        size_t n = 0;

        JSON_FOREACH(s, all.node) {
            struct place choice = place_item(&all, s, n++);

            for (size_t k = 0; k < ARRAY_LEN(elsewhere) && !definition_is_set(at->node, "x-kubernetes-int-or-string");
                 k++) {
                struct place below = place_member(&choice, elsewhere[k]);

                if (below.node)
                    problem_of(ps, PROBLEM_FORBIDDEN, &below, "must be empty to be structural");
            }
            check_pattern(&choice, ps);
        }
    }
}

static void check_default(const struct place *at, struct problems *ps)
{
    struct problems own = { .arena = ps->arena };
    struct place value = place_member(at, "default");

    if (!value.node)
        return;
    structural_check(at->node, &value, &own);
    VEC_FOREACH(p, &own.list)
        if (p->level == PROBLEM_ERROR)
            problem_of(ps, p->kind, &value, "%.*s", STR_ARG(p->text));
}

static void check_schema(const struct place *at, bool needs_type, struct problems *ps)
{
    struct place items = place_member(at, "items"), others = place_member(at, "additionalProperties"),
                 rules = place_member(at, "x-kubernetes-validations");

    if (!json_is(at->node, JSON_OBJECT)) {
        problem_error(ps, at, "must be a schema");
        return;
    }
    check_kind_of_value(at, needs_type, ps);
    check_forbidden(at, ps);
    check_pattern(at, ps);
    check_list_type(at, ps);
    check_choices(at, ps);
    check_default(at, ps);
    if (json_count(rules.node))
        problem_warn(ps, &rules, "rules in CEL are kept, and not evaluated by this server");
    if (str_is(json_member_text(at->node, "type"), "array") && !items.node)
        problem_of(ps, PROBLEM_REQUIRED, &items, "is required: must be specified for a list");
    if (items.node)
        check_schema(&items, true, ps);
    if (json_is(others.node, JSON_OBJECT))
        check_schema(&others, true, ps);
    check_members(at, "properties", true, ps);
}

/* ---- versions ---- */

static void definition_check_path(const struct place *up, const char *key, const char *begins, struct problems *ps)
{
    struct place at = place_member(up, key);
    struct str path = json_text(at.node, STR_NULL);

    if (path.n && (!str_starts(path, str_of(begins)) || !jsonpath_is_good(path)))
        problem_error(ps, &at, "must be a JSONPath that begins with %s", begins);
}

static void check_columns(const struct place *version, struct problems *ps)
{
    static const struct {
        const char *list, *begins;
    } rows[] = { { "additionalPrinterColumns", "." }, { "selectableFields", "." } };

    for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
        struct place list = place_member(version, rows[r].list);
        size_t i = 0;

        JSON_FOREACH(c, list.node) {
            struct place at = place_item(&list, c, i++);

            definition_check_path(&at, "jsonPath", rows[r].begins, ps);
        }
    }
}

static void check_version(const struct place *at, struct problems *ps)
{
    struct place schema = place_member(at, "schema"), open = place_member(&schema, "openAPIV3Schema"),
                 type = place_member(&open, "type"), name = place_member(at, "name"),
                 subresources = place_member(at, "subresources"), scale = place_member(&subresources, "scale");
    const char *wrong = name_check_dns1035_label(ps->arena, json_text(name.node, STR_NULL));

    if (json_text(name.node, STR_NULL).n && wrong)
        problem_error(ps, &name, "%s", wrong);
    check_columns(at, ps);
    definition_check_path(&scale, "specReplicasPath", ".spec.", ps);
    definition_check_path(&scale, "statusReplicasPath", ".status.", ps);
    definition_check_path(&scale, "labelSelectorPath", ".", ps);
    if (!json_is(open.node, JSON_OBJECT)) {
        problem_of(ps, PROBLEM_REQUIRED, &open, "is required: schemas are required");
        return;
    }
    check_schema(&open, false, ps);
    if (!str_is(json_text(type.node, STR_NULL), "object"))
        problem_error(ps, &type, "must be object");
}

static void check_versions(const struct place *spec, struct problems *ps)
{
    struct place versions = place_member(spec, "versions");
    struct map seen;
    size_t n_stored = 0, i = 0;

    map_init(&seen, map_seed_default());
    JSON_FOREACH(v, versions.node) {
        struct place at = place_item(&versions, v, i++), name = place_member(&at, "name");

        n_stored += json_bool(json_get(v, "storage"), false);
        check_version(&at, ps);
        if (!map_add(&seen, ps->arena, json_member_text(v, "name")))
            problem_of(ps, PROBLEM_DUPLICATE, &name, "must be unique");
    }
    map_done(&seen);
    if (i && n_stored != 1)
        problem_error(ps, &versions, "must have exactly one version marked as storage version");
}

/* ---- names ---- */

static void definition_check_names(const struct place *crd, const struct place *spec, struct problems *ps)
{
    static const char *const words[] = { "plural", "singular", "kind", "listKind" }; /* letter case aside */
    struct place names = place_member(spec, "names"), meta = place_member(crd, "metadata"),
                 name = place_member(&meta, "name"), group = place_member(spec, "group");
    struct str plural = json_member_text(names.node, "plural"), of = json_text(group.node, STR_NULL);
    struct str want = arena_fmt(ps->arena, "%.*s.%.*s", STR_ARG(plural), STR_ARG(of));

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        struct place at = place_member(&names, words[i]);
        struct str text = json_text(at.node, STR_NULL);
        const char *wrong = name_check_dns1035_label(ps->arena, i < 2 ? text : arena_lower(ps->arena, text));

        if (text.n && wrong)
            problem_error(ps, &at, "%s", wrong);
    }
    if (plural.n && of.n && !str_eq(json_text(name.node, STR_NULL), want))
        problem_error(ps, &name, "must be spec.names.plural+\".\"+spec.group (%.*s)", STR_ARG(want));
    if (of.n && !str_has_char(of, '.'))
        problem_error(ps, &group, "should be a domain with at least one dot");
    if (str_is(json_member_text(names.node, "kind"), "Status") ||
        (json_member_text(names.node, "kind").n &&
         str_eq(json_member_text(names.node, "kind"), json_member_text(names.node, "listKind"))))
        problem_error(ps, &names, "kind and listKind may not be the same");
}

/* ---- changes ---- */

static void check_change(const struct place *spec, const struct json *old, struct problems *ps)
{
    static const char *const fixed[] = { "group", "scope" }, *const fixed_names[] = { "plural", "kind" };
    struct place names = place_member(spec, "names"), versions = place_member(spec, "versions");
    const struct json *before = json_get(old, "spec");

    for (size_t i = 0; i < 2 * ARRAY_LEN(fixed); i++) {
        bool is_name = i >= ARRAY_LEN(fixed);
        const char *key = is_name ? fixed_names[i - ARRAY_LEN(fixed)] : fixed[i];
        struct place at = place_member(is_name ? &names : spec, key);

        if (condition_is_true(json_get(old, "status"), "Established") &&
            !str_eq(json_text(at.node, STR_NULL), json_member_text(is_name ? json_get(before, "names") : before, key)))
            problem_error(ps, &at, "field is immutable");
    }
    JSON_FOREACH(stored, json_find(old, "status", "storedVersions", NULL)) {
        bool is_there = false;

        JSON_FOREACH(v, versions.node)
            is_there |= str_eq(json_member_text(v, "name"), json_text(stored, STR_NULL));
        if (!is_there)
            problem_error(ps, &versions, "must still have %.*s, which objects were stored in (status.storedVersions)",
                          STR_ARG(json_text(stored, STR_NULL)));
    }
}

void definition_check(const struct place *crd, const struct json *old, struct problems *ps)
{
    struct place spec = place_member(crd, "spec"), keeps = place_member(&spec, "preserveUnknownFields"),
                 conversion = place_member(&spec, "conversion"), strategy = place_member(&conversion, "strategy");

    schema_check(&schema_definition, crd, ps);
    meta_check(crd, NULL, false, ps);
    if (ps->n_errors) /* the rules below read what is of the right type */
        return;
    definition_check_names(crd, &spec, ps);
    check_versions(&spec, ps);
    if (json_bool(keeps.node, false))
        problem_error(ps, &keeps,
                      "must be false in order to use defaults in the schema: use "
                      "x-kubernetes-preserve-unknown-fields");
    if (str_is(json_text(strategy.node, STR_NULL), "Webhook"))
        problem_error(ps, &strategy, "must be None: this server does not call conversion webhooks");
    if (old)
        check_change(&spec, old, ps);
}
