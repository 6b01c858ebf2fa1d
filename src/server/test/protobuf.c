/* protobuf.c - bodies in protobuf become the JSON they mean; the tables are sound */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "base/buf.h"
#include "server/protobuf.h"

static struct arena arena;

/* ---- making messages ---- */

static void put_varint(struct buf *out, uint64_t v)
{
    for (; v > 127; v >>= 7)
        buf_char(out, (char)(v | 128));
    buf_char(out, (char)v);
}

static void put_int(struct buf *out, unsigned field, uint64_t v)
{
    put_varint(out, (uint64_t)field << 3);
    put_varint(out, v);
}

static void put_bytes(struct buf *out, unsigned field, struct str bytes)
{
    put_varint(out, (uint64_t)field << 3 | 2);
    put_varint(out, bytes.n);
    buf_str(out, bytes);
}

static void put_entry(struct buf *out, unsigned field, const char *key, struct str value)
{
    autobuf entry = { 0 };

    put_bytes(&entry, 1, str_of(key));
    put_bytes(&entry, 2, value);
    put_bytes(out, field, buf_view(&entry));
}

/* Printed, or what is wrong with it. */
static const char *parsed(const char *api_version, const char *kind, const struct buf *raw)
{
    autobuf type = { 0 }, out = { 0 }, text = { 0 };
    struct json *j;
    struct err e;

    put_bytes(&type, 1, str_of(api_version));
    put_bytes(&type, 2, str_of(kind));
    buf_append(&out, "k8s", 4);
    put_bytes(&out, 1, buf_view(&type));
    put_bytes(&out, 2, buf_view(raw));
    put_bytes(&out, 3, STR(""));
    if (proto_parse(&arena, arena_str(&arena, buf_view(&out)), &j, &e) < 0)
        return arena_cstr(&arena, str_of(e.text));
    json_print(&text, j);
    return arena_cstr(&arena, buf_view(&text));
}

/* ---- tests ---- */

static void config_maps(void **state)
{
    autobuf meta = { 0 }, map = { 0 };

    (void)state;
    put_bytes(&meta, 1, STR("c"));
    put_bytes(&meta, 2, STR("")); /* not set: Go has no other way */
    put_int(&meta, 7, 0);
    put_bytes(&meta, 8, STR(""));
    put_entry(&meta, 11, "a", STR(""));
    put_bytes(&map, 1, buf_view(&meta));
    put_entry(&map, 2, "k", STR("v"));
    put_entry(&map, 3, "b", STR("\x01\x02"));
    assert_string_equal(parsed("v1", "ConfigMap", &map),
                        "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"c\",\"labels\":{\"a\":"
                        "\"\"}},\"data\":{\"k\":\"v\"},\"binaryData\":{\"b\":\"AQI=\"}}");
}

/* A pointer that is set to 0 or to an empty object is something else than one that is not set. */
static void pods(void **state)
{
    autobuf container = { 0 }, resources = { 0 }, quantity = { 0 }, volume = { 0 }, source = { 0 }, spec = { 0 },
            pod = { 0 };

    (void)state;
    put_bytes(&quantity, 1, STR("100m"));
    put_entry(&resources, 2, "cpu", buf_view(&quantity));
    put_bytes(&container, 1, STR("main"));
    put_bytes(&container, 3, STR("sh"));
    put_bytes(&container, 3, STR(""));
    put_bytes(&container, 8, buf_view(&resources));
    put_bytes(&source, 2, STR("")); /* emptyDir: {} */
    put_bytes(&volume, 1, STR("tmp"));
    put_bytes(&volume, 2, buf_view(&source));
    put_bytes(&spec, 1, buf_view(&volume));
    put_bytes(&spec, 2, buf_view(&container));
    put_int(&spec, 4, 0); /* terminationGracePeriodSeconds */
    put_int(&spec, 11, 0);
    put_bytes(&pod, 1, STR(""));
    put_bytes(&pod, 2, buf_view(&spec));
    put_bytes(&pod, 3, STR(""));
    assert_string_equal(parsed("v1", "Pod", &pod),
                        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"spec\":{\"volumes\":[{\"name\":\"tmp\",\"emptyDir\":"
                        "{}}],\"containers\":[{\"name\":\"main\",\"command\":[\"sh\",\"\"],\"resources\":{\"requests\":"
                        "{\"cpu\":\"100m\"}}}],\"terminationGracePeriodSeconds\":0}}");
}

static void leases(void **state)
{
    autobuf time = { 0 }, spec = { 0 }, lease = { 0 };

    (void)state;
    put_int(&time, 1, 1767225600);
    put_int(&time, 2, 250000000);
    put_bytes(&spec, 1, STR("me"));
    put_bytes(&spec, 4, buf_view(&time));
    put_bytes(&lease, 2, buf_view(&spec));
    assert_string_equal(parsed("coordination.k8s.io/v1", "Lease", &lease),
                        "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"spec\":{\"holderIdentity\":"
                        "\"me\",\"renewTime\":\"2026-01-01T00:00:00.250000Z\"}}");
}

static void options_of_any_group(void **state)
{
    autobuf options = { 0 };

    (void)state;
    put_int(&options, 1, 0);
    put_bytes(&options, 4, STR("Background"));
    assert_string_equal(parsed("policy/v1", "DeleteOptions", &options),
                        "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"policy/v1\",\"gracePeriodSeconds\":0,"
                        "\"propagationPolicy\":\"Background\"}");
}

static void refusals(void **state)
{
    autobuf unknown = { 0 }, cut = { 0 }, wire = { 0 }, none = { 0 }, bad_text = { 0 }, meta = { 0 };
    struct json *j;
    struct err e;

    (void)state;
    put_bytes(&unknown, 99, STR("x"));
    assert_non_null(strstr(parsed("v1", "ConfigMap", &unknown), "field 99 of ConfigMap is not known"));
    put_bytes(&cut, 1, STR("abc"));
    cut.n--;
    assert_non_null(strstr(parsed("v1", "ConfigMap", &cut), "cannot be read"));
    put_int(&wire, 1, 5);
    assert_non_null(strstr(parsed("v1", "ConfigMap", &wire), "metadata cannot be read"));
    put_bytes(&meta, 1, STR("\xff"));
    put_bytes(&bad_text, 1, buf_view(&meta));
    assert_non_null(strstr(parsed("v1", "ConfigMap", &bad_text), "name cannot be read"));
    assert_non_null(strstr(parsed("batch.volcano.sh/v1alpha1", "Job", &none), "cannot be sent as protobuf"));
    assert_int_equal(proto_parse(&arena, STR("{}"), &j, &e), -1);
    assert_int_equal(proto_parse(&arena, STR(""), &j, &e), -1);
}

/* Numbers are there once, names too, and every object leads somewhere. */
static void check_message(const struct proto_message *m, unsigned depth)
{
    assert_true(depth < 30);
    for (size_t i = 0; i < m->n; i++) {
        const struct proto_field *f = &m->fields[i];

        assert_true(f->number > 0 && f->name);
        assert_int_equal(f->sub != NULL, f->kind == PROTO_OBJECT || f->kind == PROTO_INLINE);
        for (size_t k = 0; k < i; k++)
            if (m->fields[k].number == f->number || strcmp(m->fields[k].name, f->name) == 0)
                fail_msg("%s: %s and %s", m->name, m->fields[k].name, f->name);
        if (f->sub)
            check_message(f->sub, depth + 1);
    }
}

static void tables_are_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_proto_roots; i++)
        check_message(proto_roots[i].message, 0);
}

static int forget(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(config_maps),          cmocka_unit_test(pods),     cmocka_unit_test(leases),
        cmocka_unit_test(options_of_any_group), cmocka_unit_test(refusals), cmocka_unit_test(tables_are_sound),
    };

    return cmocka_run_group_tests_name("server/protobuf", tests, NULL, forget);
}
