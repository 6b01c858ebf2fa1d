/* patch.c - tests of PATCH requests: types, options, refusals in the API server's words, and the tables they go by */
#include "patch/patch.h"

#include "api/message/message.h"
#include "api/meta.h"
#include "api/types.h"
#include "base/util.h"
#include "json/patch.h"
#include "json/schema.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static void knows_the_types(void **state)
{
    static const struct {
        const char *content_type;
        bool is_custom;
        int want; /* -1: 415 */
    } rows[] = {
        { "application/json-patch+json", false, PATCH_JSON },
        { "application/merge-patch+json; charset=utf-8", true, PATCH_MERGE },
        { "application/strategic-merge-patch+json", false, PATCH_STRATEGIC },
        { "application/strategic-merge-patch+json", true, -1 },
        { "Application/Apply-Patch+YAML", true, PATCH_APPLY },
        { "application/json", false, -1 },
        { "", false, -1 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autoarena a = { 0 };
        enum patch_type type = PATCH_TYPE_MAX;
        struct refusal why = { 0 };
        int got = patch_type_of(&a, str_of(rows[i].content_type), rows[i].is_custom, &type, &why);

        assert_int_equal(got < 0 ? -1 : (int)type, rows[i].want);
        if (got < 0 && rows[i].is_custom)
            assert_string_equal(arena_cstr(&a, why.message),
                                "the body of the request was in an unknown format - accepted media types include: "
                                "application/json-patch+json, application/merge-patch+json, "
                                "application/apply-patch+yaml");
        assert_int_equal(got < 0 ? why.code : 415, 415);
    }
}

static void checks_the_options(void **state)
{
    static const struct {
        enum patch_type type;
        const char *manager;
        bool has_force;
        const char *want; /* NULL: fine */
    } rows[] = {
        { PATCH_APPLY, "me", true, NULL },
        { PATCH_MERGE, "", false, NULL },
        { PATCH_APPLY, "", false, "fieldManager: Required value: is required for apply patch" },
        { PATCH_MERGE, "me", true, "force: Forbidden: may not be specified for non-apply patch" },
        { PATCH_MERGE, "a\x01", false,
          "fieldManager: Invalid value: \"a\\u0001\": invalid character U+0001 (at position 1)" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autoarena a = { 0 };
        struct patch_options opt = { str_of(rows[i].manager), rows[i].has_force };
        struct refusal why = { 0 };

        assert_int_equal(patch_options(&a, rows[i].type, &opt, &why), rows[i].want ? -1 : 0);
        if (!rows[i].want)
            continue;
        assert_string_equal(
            arena_cstr(&a, why.message),
            arena_cstr(&a, arena_fmt(&a, "PatchOptions.meta.k8s.io \"\" is invalid: %s", rows[i].want)));
        assert_int_equal(json_count(why.causes), 1);
    }
}

static void refuses_bodies(void **state)
{
    static const struct {
        enum patch_type type;
        const char *body;
        int code;
        const char *message, *detail;
    } rows[] = {
        { PATCH_JSON, "{}", 400,
          "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp", "" },
        { PATCH_MERGE, "[]", 400,
          "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}", "" },
        { PATCH_STRATEGIC, "\"x\"", 400, "json: cannot unmarshal string into Go value of type map[string]interface {}",
          "" },
        { PATCH_JSON, "[{\"op\":\"test\",\"path\":\"/a\",\"value\":1}]", 422,
          "the server rejected our request due to an error in our request",
          "operation 0: test \"/a\": the value does not exist" },
        { PATCH_JSON, "[{\"op\":\"replace\",\"path\":\"\",\"value\":1}]", 422,
          "the server rejected our request due to an error in our request", "the result is not an object" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autoarena a = { 0 };
        struct refusal why = { 0 };
        struct json *body, *ret;

        assert_int_equal(json_parse(&a, str_of(rows[i].body), NULL, &body, NULL), 0);
        assert_int_equal(patch_object(&a, &(struct patch){ rows[i].type, NULL, body }, json_object(&a), &ret, &why),
                         -1);
        assert_int_equal(why.code, rows[i].code);
        assert_string_equal(arena_cstr(&a, why.message), rows[i].message);
        assert_string_equal(arena_cstr(&a, why.detail), rows[i].detail);
    }
}

/* Twenty copies, each of the whole, would be a million times the document. */
static void survives_a_bomb(void **state)
{
    struct json *ops, *live, *ret;
    autoarena a = { 0 };
    struct refusal why = { 0 };

    live = json_object(&a);
    json_set(live, "a", json_fmt(&a, "%01000d", 0));
    ops = json_array(&a);
    for (int i = 0; i < 30; i++) {
        struct json *op = json_push(ops, json_object(&a));

        json_set(op, "op", json_str(&a, STR("copy")));
        json_set(op, "from", json_str(&a, STR("")));
        json_set(op, "path", json_fmt(&a, "/c%d", i));
    }
    assert_int_equal(patch_object(&a, &(struct patch){ PATCH_JSON, NULL, ops }, live, &ret, &why), -1);
    assert_int_equal(why.code, 413);
}

static void replaces_a_selector(void **state)
{
    const struct resource_type *t = type_by_kind(STR("policy/v1"), STR("PodDisruptionBudget"));
    struct json *live, *body, *ret;
    autoarena a = { 0 };
    struct refusal why;

    assert_int_equal(json_parse(&a, STR("{\"spec\":{\"minAvailable\":1,\"selector\":{\"matchLabels\":{\"a\":\"1\"}}}}"),
                                NULL, &live, NULL),
                     0);
    assert_int_equal(
        json_parse(&a, STR("{\"spec\":{\"selector\":{\"matchLabels\":{\"b\":\"1\"}}}}"), NULL, &body, NULL), 0);
    assert_int_equal(patch_object(&a, &(struct patch){ PATCH_STRATEGIC, t->schema, body }, live, &ret, &why), 0);
    assert_int_equal(json_count(json_find(ret, "spec", "selector", "matchLabels", NULL)), 1);
    assert_int_equal(json_count(json_get(ret, "spec")), 2);
}

/* ---- the tables of strategic merge are those of Kubernetes ---- */

static void compare_tables(struct arena *a, const struct schema *s, const struct message *m, const char *where,
                           int depth)
{
    if (depth > 12)
        return;
    for (size_t i = 0; i < s->n_fields; i++) {
        const struct field *f = &s->fields[i];
        const struct message_field *k = message_field(m, str_of(f->name));
        const char *path = arena_cstr(a, arena_fmt(a, "%s.%s", where, f->name));
        const char *ours = f->merge_key ? f->merge_key : f->flags & FIELD_MERGE ? "" : NULL;

        if (!k) /* apiVersion and kind; and what one of our tables has for several of theirs */
            continue;
        if ((ours == NULL) != (k->merge_key == NULL) || (ours && strcmp(ours, k->merge_key) != 0))
            fail_msg("%s merges by \"%s\", ours by \"%s\"", path, k->merge_key ? k->merge_key : "(replaced)",
                     ours ? ours : "(replaced)");
        if (!(f->flags & FIELD_REPLACE) != !(k->flags & MESSAGE_REPLACED))
            fail_msg("%s is replaced as a whole on one side only", path);
        if (f->sub && k->sub)
            compare_tables(a, f->sub, k->sub, path, depth + 1);
    }
}

/* A list that merges below a part that our tables do not describe would be replaced. */
static void check_undescribed(struct arena *a, const struct schema *s, const struct message *m, const char *where,
                              int depth)
{
    if (m == &msg_meta_object_meta && s != &schema_meta)
        return; /* of a template: our tables have what makes sense there */
    for (const struct message_field *k = m->fields; depth < 12 && k < m->fields + m->n_fields; k++) {
        const struct field *f = k->name && s ? schema_field(s, str_of(k->name)) : NULL;
        const char *path = arena_cstr(a, arena_fmt(a, "%s.%s", where, k->name ? k->name : ""));

        if (k->merge_key && !f)
            fail_msg("%s merges by \"%s\" and our tables do not know it", path, k->merge_key);
        if (k->shape == SHAPE_LIST && !k->merge_key)
            continue; /* it is replaced, whatever is below */
        if (k->sub && (!s || f || !k->name))
            check_undescribed(a, k->name ? (f ? f->sub : NULL) : s, k->sub, path, depth + 1);
    }
}

static void agrees_with_the_messages(void **state)
{
    autoarena a = { 0 };
    int n = 0;

    for (size_t i = 0; i < n_resource_types; i++) {
        const struct resource_type *t = &resource_types[i];
        const struct message *m = message_by_kind(type_api_version(&a, t), str_of(t->kind));

        if (!m || !t->schema)
            continue;
        compare_tables(&a, t->schema, m, t->kind, 0);
        check_undescribed(&a, t->schema, m, t->kind, 0);
        n++;
    }
    assert_in_range(n, 15, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_the_types),          cmocka_unit_test(checks_the_options),
        cmocka_unit_test(refuses_bodies),           cmocka_unit_test(survives_a_bomb),
        cmocka_unit_test(agrees_with_the_messages), cmocka_unit_test(replaces_a_selector),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
