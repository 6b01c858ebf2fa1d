/* meta.c - reading, writing and checking metadata */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/meta.h"

#include "api/name.h"
#include "base/util.h"
#include "json/schema.h"

static struct arena arena;

static int forget(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static struct json *parsed(const char *text)
{
    struct json *j = NULL;
    struct err e;

    if (json_parse(&arena, str_of(text), NULL, &j, &e) < 0)
        fail_msg("%s: %s", text, e.text);
    return j;
}

static const char *printed(const struct json *j)
{
    autobuf out = { 0 };

    json_print(&out, j);
    return arena_cstr(&arena, buf_view(&out));
}

/* ---- reading and writing ---- */

static void new_objects(void **state)
{
    (void)state;
    assert_string_equal(printed(object_new(&arena, "v1", "Pod", STR("ns"), STR("p"))),
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"}}");
    assert_string_equal(printed(object_new(&arena, "v1", "Node", STR_NULL, STR("n"))),
                        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"}}");
}

static void readers(void **state)
{
    struct json *obj = parsed(
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"d\","
        "\"uid\":\"u\",\"labels\":{\"a/b\":\"c\"},\"annotations\":{\"x\":\"y\"}}}");
    static const char *const broken[] = { "{}", "[]", "7", "{\"metadata\":[]}", "{\"metadata\":{\"labels\":3}}" };

    (void)state;
    assert_true(str_is(object_api_version(obj), "v1") && str_is(object_kind(obj), "Pod"));
    assert_true(str_is(object_name(obj), "p") && str_is(object_namespace(obj), "d") && str_is(object_uid(obj), "u"));
    assert_true(str_is(object_label(obj, "a/b"), "c") && str_is(object_annotation(obj, "x"), "y"));
    assert_true(str_empty(object_label(obj, "x")) && str_empty(object_annotation(obj, "a/b")));
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        obj = parsed(broken[i]);
        assert_true(str_empty(object_name(obj)) && str_empty(object_kind(obj)) && str_empty(object_label(obj, "a")));
        assert_true(str_empty(object_controller_uid(obj)));
    }
    assert_true(str_empty(object_name(NULL)));
}

static void writers(void **state)
{
    struct json *obj = parsed("{\"metadata\":{\"labels\":null}}"), *odd = parsed("{\"metadata\":{\"labels\":[]}}");

    (void)state;
    object_set_label(&arena, obj, "a", STR("1"));
    object_set_label(&arena, obj, "b", STR("2"));
    object_set_label(&arena, obj, "a", STR("3"));
    object_set_annotation(&arena, obj, "n", STR(""));
    assert_string_equal(printed(obj),
                        "{\"metadata\":{\"labels\":{\"a\":\"3\",\"b\":\"2\"},\"annotations\":{\"n\":\"\"}}}");
    object_set_label(&arena, odd, "a", STR("1")); /* left alone */
    assert_string_equal(printed(odd), "{\"metadata\":{\"labels\":[]}}");
    obj = json_object(&arena);
    object_set_label(&arena, obj, "a", STR("1"));
    assert_string_equal(printed(obj), "{\"metadata\":{\"labels\":{\"a\":\"1\"}}}");
}

static void controllers(void **state)
{
    struct json *owner = parsed(
        "{\"apiVersion\":\"g/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"uid\":\"7\"}}");
    struct json *obj = object_new(&arena, "v1", "Pod", STR("ns"), STR("p"));

    (void)state;
    assert_true(str_empty(object_controller_uid(obj)));
    object_set_controller(&arena, obj, owner);
    object_set_controller(&arena, obj, owner); /* still one */
    assert_string_equal(printed(json_find(obj, "metadata", "ownerReferences", NULL)),
                        "[{\"apiVersion\":\"g/v1\",\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"7\",\"controller\":true,"
                        "\"blockOwnerDeletion\":true}]");
    assert_true(str_is(object_controller_uid(obj), "7"));
    obj = parsed("{\"metadata\":{\"ownerReferences\":[{\"uid\":\"1\"},{\"uid\":\"2\",\"controller\":false},7,"
                 "{\"uid\":\"3\",\"controller\":true}]}}");
    assert_true(str_is(object_controller_uid(obj), "3"));
}

static void decoded(void **state)
{
    struct json *j = parsed(
        "{\"name\":\"n\",\"generateName\":\"g-\",\"namespace\":\"s\",\"uid\":\"u\","
        "\"resourceVersion\":\"12\",\"generation\":3,\"creationTimestamp\":\"2026-01-01T00:00:00Z\","
        "\"labels\":{\"a\":\"b\"},\"annotations\":{},\"finalizers\":[\"f\"],"
        "\"ownerReferences\":[]}");
    struct meta m;

    (void)state;
    schema_decode(&arena, &schema_meta, j, &m);
    assert_ptr_equal(m.raw, j);
    assert_true(str_is(m.name, "n") && str_is(m.generate_name, "g-") && str_is(m.namespace, "s") && str_is(m.uid, "u"));
    assert_true(str_is(m.resource_version, "12") && m.generation == 3);
    assert_true(str_is(m.creation_timestamp, "2026-01-01T00:00:00Z") && str_empty(m.deletion_timestamp));
    assert_ptr_equal(m.labels, json_get(j, "labels"));
    assert_ptr_equal(m.annotations, json_get(j, "annotations"));
    assert_ptr_equal(m.finalizers, json_get(j, "finalizers"));
    assert_ptr_equal(m.owner_references, json_get(j, "ownerReferences"));
}

/* ---- checking ---- */

/* "path path …" of the errors in 'metadata'. */
static const char *wrong_paths(const char *metadata, const char *(*name_check)(struct arena *, struct str),
                               bool needs_namespace)
{
    struct place root = { .node = parsed(arena_fmt(&arena, "{%s}", metadata).p) };
    struct problems ps = { .arena = &arena };
    autobuf out = { 0 };

    meta_check(&root, name_check, needs_namespace, &ps);
    VEC_FOREACH(p, &ps.list)
        buf_fmt(&out, "%s%.*s", out.n ? " " : "", STR_ARG(p->path));
    assert_int_equal(ps.n_errors, ps.list.n);
    return arena_cstr(&arena, buf_view(&out));
}

#define LONG_64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void check_table(void **state)
{
    static const struct {
        const char *in, *want;
    } cases[] = {
        { "", "metadata.name" },
        { "\"metadata\":null", "metadata.name" },
        { "\"metadata\":7", "" }, /* the schema's business, as all wrong types */
        { "\"metadata\":{\"name\":7}", "" },
        { "\"metadata\":{\"name\":\"\"}", "metadata.name" },
        { "\"metadata\":{\"name\":\"a\"}", "" },
        { "\"metadata\":{\"name\":\"a.b\"}", "" },
        { "\"metadata\":{\"name\":\"A\"}", "metadata.name" },
        { "\"metadata\":{\"generateName\":\"a-\"}", "" },
        { "\"metadata\":{\"generateName\":\"A-\"}", "metadata.generateName" },
        { "\"metadata\":{\"name\":\"a\",\"namespace\":\"B\"}", "metadata.namespace" },
        { "\"metadata\":{\"name\":\"a\",\"namespace\":\"a.b\"}", "metadata.namespace" },
        { "\"metadata\":{\"name\":\"a\",\"labels\":{\"ok\":\"\",\"a.b/c\":\"D_e\"}}", "" },
        { "\"metadata\":{\"name\":\"a\",\"labels\":{\"-x\":\"\",\"y\":\"-z\",\"z\":7}}",
          "metadata.labels.-x metadata.labels.y" },
        { "\"metadata\":{\"name\":\"a\",\"labels\":{\"k\":\"" LONG_64 "\"}}", "metadata.labels.k" },
        { "\"metadata\":{\"name\":\"a\",\"labels\":[]}", "" },
        { "\"metadata\":{\"name\":\"a\",\"annotations\":{\"a b\":\"x\",\"k\":\"any thing\"}}",
          "metadata.annotations.a b" },
        { "\"metadata\":{\"name\":\"a\",\"finalizers\":[\"a/b\",\"\",3,\"c d\"]}",
          "metadata.finalizers[1] metadata.finalizers[3]" },
        { "\"metadata\":{\"name\":\"a\",\"ownerReferences\":[{\"controller\":true},{\"controller\":false}]}", "" },
        { "\"metadata\":{\"name\":\"a\",\"ownerReferences\":[{\"controller\":true},{\"controller\":true},7]}",
          "metadata.ownerReferences[1].controller" },
        { "\"metadata\":{\"name\":\"a\",\"ownerReferences\":[{\"kind\":\"Event\"}]}",
          "metadata.ownerReferences[0].kind" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *got = wrong_paths(cases[i].in, NULL, false);

        if (strcmp(got, cases[i].want) != 0)
            fail_msg("%s\n  want: %s\n  got:  %s", cases[i].in, cases[i].want, got);
    }
}

static void other_name_rules(void **state)
{
    (void)state;
    assert_string_equal(wrong_paths("\"metadata\":{\"name\":\"a.b\"}", name_check_dns_label, false), "metadata.name");
    assert_string_equal(wrong_paths("\"metadata\":{\"name\":\"a\"}", NULL, true), "metadata.namespace");
    assert_string_equal(wrong_paths("\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"}", NULL, true), "");
    assert_string_equal(wrong_paths("\"metadata\":{\"name\":\"a\",\"namespace\":[]}", NULL, true), "");
}

static void annotations_have_a_limit(void **state)
{
    static const struct {
        size_t value_n;
        size_t want;
    } cases[] = { { (256 << 10) - 1, 0 }, { 256 << 10, 1 } }; /* and one byte of key */

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json *obj = object_new(&arena, "v1", "Pod", STR("n"), STR("p"));
        struct place root = { .node = obj };
        struct problems ps = { .arena = &arena };
        autobuf big = { 0 };

        buf_repeat(&big, 'x', cases[i].value_n);
        object_set_annotation(&arena, obj, "k", buf_view(&big));
        meta_check(&root, NULL, true, &ps);
        assert_int_equal(ps.n_errors, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_objects),      cmocka_unit_test(readers),
        cmocka_unit_test(writers),          cmocka_unit_test(controllers),
        cmocka_unit_test(decoded),          cmocka_unit_test(check_table),
        cmocka_unit_test(other_name_rules), cmocka_unit_test(annotations_have_a_limit),
    };

    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, forget);
}
