/* plan.c - making the writes of a plan */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/plan.h"

#include "api/meta.h"
#include "api/types.h"
#include "base/util.h"

static struct arena arena;

static int forget(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static const struct resource_type *pods(void)
{
    return type_by_kind(STR("v1"), STR("Pod"));
}

static struct json *job(struct str name)
{
    struct json *j = object_new(&arena, "batch.volcano.sh/v1alpha1", "Job", STR("ns"), name);

    json_set(json_get(j, "metadata"), "uid", json_str(&arena, STR("u-1")));
    json_set(json_get(j, "metadata"), "resourceVersion", json_str(&arena, STR("17")));
    return j;
}

static void ops_in_order(void **state)
{
    struct plan p = { .arena = &arena };
    struct json *body = object_new(&arena, "v1", "Pod", STR("ns"), STR("p")), *patch = json_object(&arena);
    static const enum op_kind want[] = { OP_CREATE, OP_UPDATE, OP_UPDATE_STATUS, OP_MERGE_PATCH, OP_DELETE };

    (void)state;
    plan_create(&p, pods(), body);
    plan_update(&p, pods(), body);
    plan_update_status(&p, pods(), body);
    plan_patch(&p, (struct object_id){ pods(), STR("ns"), STR("p"), STR("u") }, patch);
    plan_delete(&p, (struct object_id){ pods(), STR("ns"), STR("p"), STR("u") })->propagation = PROPAGATE_FOREGROUND;
    assert_int_equal(p.ops.n, ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        const struct op *op = &p.ops.v[i];

        assert_int_equal(op->kind, want[i]);
        assert_ptr_equal(op->type, pods());
        assert_true(str_is(op->namespace, "ns") && str_is(op->name, "p"));
        assert_true(str_is(op->uid, i < 3 ? "" : "u"));
        assert_ptr_equal(op->body, i < 3 ? body : i == 3 ? patch : NULL);
        assert_int_equal(op->grace_s, -1);
        assert_int_equal(op->propagation, i == 4 ? PROPAGATE_FOREGROUND : PROPAGATE_BACKGROUND);
    }
}

static void status_patch(void **state)
{
    struct plan p = { .arena = &arena };
    struct json *status = json_object(&arena);
    struct op *op = plan_patch_status(&p, (struct object_id){ pods(), STR("ns"), STR("p"), STR("u") }, status);

    (void)state;
    assert_int_equal(op->kind, OP_PATCH_STATUS);
    assert_true(str_is(op->namespace, "ns") && str_is(op->name, "p") && str_is(op->uid, "u"));
    assert_ptr_equal(json_get(op->body, "status"), status);
}

static void binding(void **state)
{
    static const char want[] = "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"p\","
                               "\"namespace\":\"ns\",\"uid\":\"u\"},\"target\":{\"apiVersion\":\"v1\","
                               "\"kind\":\"Node\",\"name\":\"n1\"}}";
    struct plan p = { .arena = &arena };
    char node[] = "n1";
    struct op *op = plan_bind(&p, STR("ns"), STR("p"), STR("u"), str_of(node));
    autobuf text = { 0 };

    (void)state;
    memset(node, 'x', 2);
    assert_int_equal(op->kind, OP_BIND);
    assert_ptr_equal(op->type, pods());
    assert_true(str_is(op->namespace, "ns") && str_is(op->name, "p") && str_is(op->uid, "u"));
    json_sort_keys(op->body, true);
    json_print(&text, op->body);
    assert_string_equal(text.p, want);
}

static void names_are_copied(void **state)
{
    struct plan p = { .arena = &arena };
    char name[] = "pod-0", uid[] = "u-9";
    struct op *op;

    (void)state;
    op = plan_delete(&p, (struct object_id){ pods(), STR_NULL, str_of(name), str_of(uid) });
    memset(name, 'x', 5);
    memset(uid, 'x', 3);
    assert_true(str_is(op->name, "pod-0") && str_is(op->uid, "u-9") && op->namespace.n == 0);
}

static void earliest_wake_wins(void **state)
{
    struct plan p = { .arena = &arena };

    (void)state;
    plan_wake(&p, 500);
    plan_wake(&p, 900);
    assert_int_equal(p.wake_ms, 500);
    plan_wake(&p, 100);
    assert_int_equal(p.wake_ms, 100);
}

static struct json *event_of(const struct json *about, const char *reason, int64_t now_ms, const char *message)
{
    struct plan p = { .arena = &arena, .now_ms = now_ms };
    struct op *op = plan_event_warning(&p, about, reason, "%s", message);

    assert_int_equal(op->kind, OP_CREATE);
    assert_string_equal(op->type->kind, "Event");
    assert_int_equal(p.ops.n, 1);
    return op->body;
}

static void event_says_all(void **state)
{
    struct json *event = event_of(job(STR("j")), "PodFailed", 1000, "pod j-0 failed");
    autobuf out = { 0 };

    (void)state;
    assert_int_equal(object_name(event).n, 2 + 16);
    assert_true(str_starts(object_name(event), STR("j.")));
    assert_true(json_remove(json_get(event, "metadata"), "name"));
    json_print(&out, event);
    assert_string_equal(
        out.p, "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"namespace\":\"ns\"},"
               "\"involvedObject\":{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"namespace\":\"ns\","
               "\"name\":\"j\",\"uid\":\"u-1\",\"resourceVersion\":\"17\"},\"reason\":\"PodFailed\","
               "\"message\":\"pod j-0 failed\",\"type\":\"Warning\","
               "\"firstTimestamp\":\"1970-01-01T00:00:01Z\",\"lastTimestamp\":\"1970-01-01T00:00:01Z\",\"count\":1,"
               "\"eventTime\":\"1970-01-01T00:00:01.000000Z\",\"action\":\"PodFailed\","
               "\"source\":{\"component\":\"vc-controller-manager\"},\"reportingComponent\":\"vc-controller-manager\","
               "\"reportingInstance\":\"vc-controller-manager\"}");
}

static void event_of_another(void **state)
{
    struct plan p = { .arena = &arena, .now_ms = 1000 };
    struct op *op = plan_event_normal(&p, job(STR("j")), "Started", "it runs");

    (void)state;
    plan_event_from(&p, op, STR("kubelet"), STR("n1"));
    assert_true(str_is(json_member_text(json_get(op->body, "source"), "component"), "kubelet"));
    assert_true(str_is(json_member_text(json_get(op->body, "source"), "host"), "n1"));
    assert_true(str_is(json_member_text(op->body, "reportingComponent"), "kubelet"));
    assert_true(str_is(json_member_text(op->body, "reportingInstance"), "n1"));
}

static void event_names(void **state)
{
    struct str name = object_name(event_of(job(STR("j")), "A", 1, "m"));
    struct json *other = job(STR("j")), *queue;
    char longest[253];

    (void)state;
    assert_true(str_cmp(name, object_name(event_of(job(STR("j")), "A", 2, "m"))) < 0); /* they sort by time */
    assert_true(str_cmp(name, object_name(event_of(job(STR("j")), "A", 1700000000000, "m"))) < 0);
    assert_false(str_eq(name, object_name(event_of(job(STR("j")), "B", 1, "m"))));
    assert_false(str_eq(name, object_name(event_of(job(STR("j")), "A", 1, "n"))));
    assert_false(
        str_eq(object_name(event_of(job(STR("j")), "A", 1, "Bm")), object_name(event_of(job(STR("j")), "AB", 1, "m"))));
    json_set(json_get(other, "metadata"), "uid", json_str(&arena, STR("u-2")));
    assert_false(str_eq(name, object_name(event_of(other, "A", 1, "m"))));

    memset(longest, 'a', sizeof(longest));
    assert_int_equal(object_name(event_of(job((struct str){ longest, sizeof(longest) }), "A", 1, "m")).n, 253);

    queue = object_new(&arena, "scheduling.volcano.sh/v1beta1", "Queue", STR_NULL, STR("q"));
    assert_true(str_is(object_namespace(event_of(queue, "A", 1, "m")), "default"));
    assert_null(json_find(event_of(queue, "A", 1, "m"), "involvedObject", "namespace", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(ops_in_order, forget),       cmocka_unit_test_teardown(names_are_copied, forget),
        cmocka_unit_test_teardown(status_patch, forget),       cmocka_unit_test_teardown(binding, forget),
        cmocka_unit_test_teardown(earliest_wake_wins, forget), cmocka_unit_test_teardown(event_says_all, forget),
        cmocka_unit_test_teardown(event_of_another, forget),   cmocka_unit_test_teardown(event_names, forget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
