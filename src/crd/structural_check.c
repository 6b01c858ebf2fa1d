/* structural_check.c - is an object as its schema wants it? */
#include "crd/custom.h"

#include "api/fields.h"
#include "base/map.h"
#include "base/pattern.h"

#include <arpa/inet.h>
#include <ctype.h>

static bool structural_check_is_set(const struct json *schema, const char *flag)
{
    return json_bool(json_get(schema, flag), false);
}

/* ---- types ---- */

static const struct {
    const char *name;
    enum json_type type;
} types[] = {
    { "object", JSON_OBJECT }, { "array", JSON_ARRAY },   { "string", JSON_STRING },
    { "boolean", JSON_BOOL },  { "number", JSON_NUMBER }, { "integer", JSON_NUMBER },
};

/* In the words of schemas. */
static const char *word_of(const struct json *j)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (types[i].type == (enum json_type)j->type)
            return types[i].name;
    return "null";
}

static bool structural_check_is_whole(const struct json *j)
{
    int64_t v;

    return json_to_i64(j, &v) == 0;
}

/* false: a problem was added, and the rest need not be checked. */
static bool check_type(const struct json *schema, const struct place *at, struct problems *ps)
{
    struct str want = json_member_text(schema, "type");

    if (structural_check_is_set(schema, "x-kubernetes-int-or-string")) {
        if (json_is(at->node, JSON_STRING) || (json_is(at->node, JSON_NUMBER) && structural_check_is_whole(at->node)))
            return true;
        problem_error(ps, at, "must be a whole number or a string, not %s", word_of(at->node));
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (!str_is(want, types[i].name))
            continue;
        if (at->node->type == types[i].type && (!str_is(want, "integer") || structural_check_is_whole(at->node)))
            return true;
        problem_error(ps, at, "must be of type %.*s: \"%s\"", STR_ARG(want), word_of(at->node));
        return false;
    }
    return true;
}

/* ---- texts ---- */

static size_t structural_check_letters(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += (s.p[i] & 0xc0) != 0x80;
    return n;
}

static const char *ip_wrong(struct arena *a, struct str text, int family)
{
    unsigned char address[16];

    return inet_pton(family, arena_cstr(a, text), address) == 1 ? NULL : "must be an IP address";
}

static const char *uuid_wrong(struct str text)
{
    for (size_t i = 0; i < text.n && text.n == 36; i++)
        if (i == 8 || i == 13 || i == 18 || i == 23 ? text.p[i] != '-' : !isxdigit((unsigned char)text.p[i]))
            return "must be a UUID";
    return text.n == 36 ? NULL : "must be a UUID";
}

/* Formats that are not known are for people. */
static const char *format_wrong(struct arena *a, struct str format, const struct json *j)
{
    struct str text = json_text(j, STR_NULL);

    if (str_is(format, "date-time"))
        return text.n ? format_time(a, j) : "must be a time";
    if (str_is(format, "byte"))
        return format_base64(a, j);
    if (str_is(format, "duration"))
        return text.n ? format_duration(a, j) : "must be a duration";
    if (str_is(format, "ipv4") || str_is(format, "ipv6"))
        return ip_wrong(a, text, str_is(format, "ipv4") ? AF_INET : AF_INET6);
    return str_is(format, "uuid") ? uuid_wrong(text) : NULL;
}

static void check_text(const struct json *schema, const struct place *at, struct problems *ps)
{
    struct str text = json_text(at->node, STR_NULL), regex = json_member_text(schema, "pattern");
    const struct json *max = json_get(schema, "maxLength"), *min = json_get(schema, "minLength");
    const char *wrong = format_wrong(ps->arena, json_member_text(schema, "format"), at->node);
    int64_t n = (int64_t)structural_check_letters(text);
    struct pattern *p;

    if (max && n > json_i64(max, INT64_MAX))
        problem_error(ps, at, "Too long: may not be more than %lld characters", (long long)json_i64(max, 0));
    if (min && n < json_i64(min, 0))
        problem_error(ps, at, "should be at least %lld chars long", (long long)json_i64(min, 0));
    if (wrong)
        problem_error(ps, at, "%s", wrong);
    if (!regex.n || pattern_parse(ps->arena, regex, &p) < 0)
        return;
    if (!pattern_matches(p, text))
        problem_error(ps, at, "should match '%.*s'", STR_ARG(regex));
    pattern_done(p);
}

/* ---- numbers ---- */

static double structural_check_number_of(const struct json *j)
{
    char text[64];

    snprintf(text, sizeof(text), "%.*s", (int)MIN_OF(j->n, sizeof(text) - 1), j->text);
    return strtod(text, NULL);
}

static void check_number(const struct json *schema, const struct place *at, struct problems *ps)
{
    const struct json *max = json_get(schema, "maximum"), *min = json_get(schema, "minimum"),
                      *step = json_get(schema, "multipleOf");
    double v = structural_check_number_of(at->node);

    if (json_is(max, JSON_NUMBER) &&
        (structural_check_is_set(schema, "exclusiveMaximum") ? v >= structural_check_number_of(max)
                                                             : v > structural_check_number_of(max)))
        problem_error(ps, at, "should be less than %s%.*s",
                      structural_check_is_set(schema, "exclusiveMaximum") ? "" : "or equal to ", (int)max->n,
                      max->text);
    if (json_is(min, JSON_NUMBER) &&
        (structural_check_is_set(schema, "exclusiveMinimum") ? v <= structural_check_number_of(min)
                                                             : v < structural_check_number_of(min)))
        problem_error(ps, at, "should be greater than %s%.*s",
                      structural_check_is_set(schema, "exclusiveMinimum") ? "" : "or equal to ", (int)min->n,
                      min->text);
    if (json_is(step, JSON_NUMBER) && json_i64(step, 0) > 0 && json_i64(at->node, 0) % json_i64(step, 1))
        problem_error(ps, at, "should be a multiple of %.*s", (int)step->n, step->text);
    if (str_is(json_member_text(schema, "format"), "int32") && (v > INT32_MAX || v < INT32_MIN))
        problem_error(ps, at, "must be a number of 32 bits");
}

/* ---- lists ---- */

static void check_count(const struct json *schema, const struct place *at, const char *least, const char *most,
                        struct problems *ps)
{
    int64_t n = (int64_t)json_count(at->node);

    if (json_get(schema, most) && n > json_i64(json_get(schema, most), INT64_MAX))
        problem_error(ps, at, "Too many: %lld: must have at most %lld items", (long long)n,
                      (long long)json_i64(json_get(schema, most), 0));
    if (json_get(schema, least) && n < json_i64(json_get(schema, least), 0))
        problem_error(ps, at, "should have at least %lld items", (long long)json_i64(json_get(schema, least), 0));
}

/* What tells an item from the others: all of it, or its keys. */
static struct str identity(struct arena *a, const struct json *keys, const struct json *item)
{
    autobuf out = { 0 };

    if (!keys)
        json_print(&out, item);
    JSON_FOREACH(key, keys) {
        const struct json *value = json_get_str(item, json_text(key, STR_NULL));

        if (value)
            json_print(&out, value);
        buf_char(&out, ',');
    }
    return arena_str(a, buf_view(&out));
}

/* Sets have each value once, maps each key. */
static void check_unique(const struct json *schema, const struct place *at, struct problems *ps)
{
    struct str type = json_member_text(schema, "x-kubernetes-list-type");
    const struct json *keys = str_is(type, "map") ? json_get(schema, "x-kubernetes-list-map-keys") : NULL;
    struct map seen;
    size_t i = 0;

    if (!keys && !str_is(type, "set"))
        return;
    map_init(&seen, map_seed_default());
    JSON_FOREACH(item, at->node) {
        struct place below = place_item(at, item, i++);

        if (map_put(&seen, identity(ps->arena, keys, item), item))
            problem_of(ps, PROBLEM_DUPLICATE, &below, "there is another with the same %s", keys ? "keys" : "value");
    }
    map_done(&seen);
}

static void structural_check_list(const struct json *schema, const struct place *at, struct problems *ps)
{
    size_t i = 0;

    check_count(schema, at, "minItems", "maxItems", ps);
    check_unique(schema, at, ps);
    JSON_FOREACH(item, at->node) {
        struct place below = place_item(at, item, i++);

        if (json_get(schema, "items"))
            structural_check(json_get(schema, "items"), &below, ps);
    }
}

/* ---- objects ---- */

static void check_object(const struct json *schema, const struct place *at, struct problems *ps)
{
    const struct json *others = json_get(schema, "additionalProperties");

    check_count(schema, at, "minProperties", "maxProperties", ps);
    JSON_FOREACH(name, json_get(schema, "required")) {
        struct place below = { at, json_get_str(at->node, json_text(name, STR_NULL)), json_text(name, STR_NULL), 0 };

        if (!below.node)
            problem_of(ps, PROBLEM_REQUIRED, &below, "is required");
    }
    JSON_FOREACH(m, at->node) {
        const struct json *own = json_get_str(json_get(schema, "properties"), json_key(m));
        struct place below = { at, m, json_key(m), 0 };

        if (own || json_is(others, JSON_OBJECT))
            structural_check(own ? own : others, &below, ps);
    }
}

/* ---- one of several ---- */

static bool is_good(const struct json *schema, const struct place *at, struct problems *ps)
{
    struct problems own = { .arena = ps->arena };

    structural_check(schema, at, &own);
    return own.n_errors == 0;
}

static void check_choices(const struct json *schema, const struct place *at, struct problems *ps)
{
    const struct json *any = json_get(schema, "anyOf"), *one = json_get(schema, "oneOf"),
                      *none = json_get(schema, "not");
    size_t n_any = 0, n_one = 0;

    JSON_FOREACH(s, json_get(schema, "allOf"))
        structural_check(s, at, ps);
    JSON_FOREACH(s, any)
        n_any += is_good(s, at, ps);
    JSON_FOREACH(s, one)
        n_one += is_good(s, at, ps);
    if (json_count(any) && !n_any)
        problem_error(ps, at, "must validate at least one schema (anyOf)");
    if (json_count(one) && n_one != 1)
        problem_error(ps, at, "must validate one and only one schema (oneOf). Found %s",
                      n_one ? "more than one" : "none valid");
    if (json_is(none, JSON_OBJECT) && is_good(none, at, ps))
        problem_error(ps, at, "must not validate the schema (not)");
}

static void check_enum(const struct json *schema, const struct place *at, struct problems *ps)
{
    const struct json *values = json_get(schema, "enum");
    autobuf all = { 0 }, got = { 0 };

    if (!json_count(values))
        return;
    JSON_FOREACH(v, values) {
        if (json_equal(v, at->node))
            return;
        buf_str(&all, all.n ? STR(", ") : STR(""));
        json_print(&all, v);
    }
    json_print(&got, at->node);
    problem_of(ps, PROBLEM_UNSUPPORTED, at, "supported values: %.*s (got %.*s)", STR_ARG(buf_view(&all)),
               STR_ARG(str_cut(buf_view(&got), 100)));
}

void structural_check(const struct json *schema, const struct place *at, struct problems *ps)
{
    if (json_is(at->node, JSON_NULL) && structural_check_is_set(schema, "nullable"))
        return;
    if (!check_type(schema, at, ps))
        return;
    check_enum(schema, at, ps);
    if (json_is(at->node, JSON_STRING))
        check_text(schema, at, ps);
    else if (json_is(at->node, JSON_NUMBER))
        check_number(schema, at, ps);
    else if (json_is(at->node, JSON_ARRAY))
        structural_check_list(schema, at, ps);
    else if (json_is(at->node, JSON_OBJECT))
        check_object(schema, at, ps);
    check_choices(schema, at, ps);
}
