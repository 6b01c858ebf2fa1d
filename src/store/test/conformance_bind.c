/* conformance_bind.c - the suite every store must pass: bindings, and patches of the status part */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "store/test/store_fixture.h"

#define BINDING(more) "{'apiVersion':'v1','kind':'Binding','metadata':{'name':'p'" more

static int bind(const char *uid, const char *binding)
{
    return store_apply(store,
                       &(struct op){ .kind = OP_BIND,
                                     .type = type_by_kind(STR("v1"), STR("Pod")),
                                     .namespace = STR("a"),
                                     .name = STR("p"),
                                     .uid = str_of(uid),
                                     .body = js("%s", binding) },
                       NULL, &err);
}

static int patch_status(const struct resource_type *type, const char *name, const char *uid, const char *text)
{
    return store_apply(store,
                       &(struct op){ .kind = OP_PATCH_STATUS,
                                     .type = type,
                                     .namespace = STR("a"),
                                     .name = str_of(name),
                                     .uid = str_of(uid),
                                     .body = js("%s", text) },
                       NULL, &err);
}

static const struct json *condition(const char *name)
{
    JSON_FOREACH(c, json_find(stored(pods, "p")->root, "status", "conditions", NULL))
        if (str_is(json_member_text(c, "type"), name))
            return c;
    return NULL;
}

#define assert_json(got, want) assert_string_equal(printed(got), printed(js("%s", want)))

/* ---- bindings ---- */

static void a_pod_gets_its_node(void **state)
{
    const struct json *root;

    (void)state;
    must_create(body_of(pods, "p", "'spec':{'containers':[{'name':'c','image':'i'}],'priority':7}"));
    assert_int_equal(patch_status(pods, "p", "",
                                  "{'status':{'nominatedNodeName':'n9','conditions':[{'type':'PodScheduled',"
                                  "'status':'False','reason':'Unschedulable','message':'no room',"
                                  "'lastTransitionTime':'2025-01-01T00:00:00Z'},{'type':'Other','status':'True'}]}}"),
                     0);
    clock_manual_advance(&manual, 5000);
    assert_int_equal(bind("", BINDING(",'annotations':{'k':'v'}},'target':{'kind':'Node','name':'n1'}}")), 0);
    root = stored(pods, "p")->root;
    assert_json(json_get(root, "spec"), "{'containers':[{'name':'c','image':'i'}],'priority':7,'nodeName':'n1'}");
    assert_json(condition("PodScheduled"),
                "{'type':'PodScheduled','status':'True','lastTransitionTime':'2026-01-01T00:00:05Z',"
                "'observedGeneration':1}");
    assert_json(condition("Other"), "{'type':'Other','status':'True'}");
    assert_json(json_find(root, "metadata", "annotations", NULL), "{'k':'v'}");
    assert_true(str_is(json_member_text(json_get(root, "status"), "phase"), "Pending"));
    assert_true(str_is(json_member_text(json_get(root, "status"), "nominatedNodeName"), "n9"));
    assert_int_equal(stored(pods, "p")->rev, 3);
}

static void a_binding_is_refused(void **state)
{
    static const struct {
        const char *uid, *binding;
        enum err_code code;
    } cases[] = {
        { "other", BINDING("},'target':{'name':'n1'}}"), ERR_CONFLICT },
        { "", BINDING(",'uid':'other'},'target':{'name':'n1'}}"), ERR_CONFLICT },
        { "", BINDING("},'target':{}}"), ERR_INVALID },
        { "", BINDING("}}"), ERR_INVALID },
        { "", BINDING("},'target':{'name':7}}"), ERR_INVALID },
        { "", BINDING("},'target':{'name':'a/b'}}"), ERR_INVALID },
        { "", BINDING("},'target':{'kind':'Pod','name':'n1'}}"), ERR_INVALID },
        { "", "{}", ERR_INVALID },
        { "", "null", ERR_INVALID },
        { "", "[1]", ERR_INVALID },
    };
    static const char good[] = BINDING("},'target':{'name':'n1'}}");

    (void)state;
    assert_refused(bind("", good), ERR_NOT_FOUND);
    must_create(body_of(pods, "p", ""));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t rev = store_revision(store);

        if (bind(cases[i].uid, cases[i].binding) == 0 || err.code != cases[i].code || store_revision(store) != rev)
            fail_msg("%s: %s %s", cases[i].binding, err_code_name(err.code), err.text);
    }
    assert_int_equal(bind(meta_text(stored(pods, "p"), "uid"), good), 0);
    assert_refused(bind("", good), ERR_CONFLICT); /* once only, whatever the node */
    assert_refused(bind("", BINDING("},'target':{'name':'n2'}}")), ERR_CONFLICT);
}

static void no_node_for_gated_and_going_pods(void **state)
{
    static const char good[] = BINDING("},'target':{'name':'n1'}}");

    (void)state;
    must_create(body_of(pods, "p", "'spec':{'schedulingGates':[{'name':'g'}]}"));
    assert_refused(bind("", good), ERR_CONFLICT);
    assert_int_equal(patch(pods, "p", "{'spec':{'schedulingGates':null},'metadata':{'finalizers':['f']}}"), 0);
    assert_int_equal(del(pods, "p", -1, PROPAGATE_BACKGROUND), 0);
    assert_refused(bind("", good), ERR_CONFLICT);
}

/* ---- patches of the status ---- */

static void conditions_merge_by_type(void **state)
{
    (void)state;
    must_create(body_of(pods, "p", "'spec':{'nodeName':'n'}"));
    assert_int_equal(patch_status(pods, "p", "",
                                  "{'spec':{'nodeName':'x'},'metadata':{'labels':{'a':'b'}},'status':{'reason':'r',"
                                  "'conditions':[{'type':'A','status':'True'},{'type':'B','status':'True'}]}}"),
                     0);
    assert_int_equal(patch_status(pods, "p", meta_text(stored(pods, "p"), "uid"),
                                  "{'status':{'reason':null,'conditions':[{'type':'B','status':'False'}]}}"),
                     0);
    assert_json(condition("A"), "{'type':'A','status':'True'}");
    assert_json(condition("B"), "{'type':'B','status':'False'}");
    assert_null(json_find(stored(pods, "p")->root, "status", "reason", NULL));
    assert_true(str_is(json_member_text(json_get(stored(pods, "p")->root, "status"), "phase"), "Pending"));
    assert_json(json_get(stored(pods, "p")->root, "spec"), "{'nodeName':'n'}"); /* only the status is taken */
    assert_null(json_find(stored(pods, "p")->root, "metadata", "labels", NULL));
    assert_int_equal(store_revision(store), 3);
    assert_int_equal(patch_status(pods, "p", "", "{'status':{'conditions':[{'type':'B','status':'False'}]}}"), 0);
    assert_int_equal(patch_status(pods, "p", "", "{}"), 0);
    assert_int_equal(store_revision(store), 3); /* a change of nothing */
}

static void maps_merge(void **state)
{
    (void)state;
    must_create(body_of(queues, "q", ""));
    assert_int_equal(patch_status(queues, "q", "", "{'status':{'state':'Open','allocated':{'cpu':'1','gpu':'2'}}}"), 0);
    assert_int_equal(patch_status(queues, "q", "", "{'status':{'allocated':{'cpu':'3','gpu':null}}}"), 0);
    assert_json(json_get(stored(queues, "q")->root, "status"), "{'state':'Open','allocated':{'cpu':'3'}}");
}

static void a_status_patch_is_refused(void **state)
{
    static const struct {
        const char *uid, *patch;
        enum err_code code;
    } cases[] = {
        { "other", "{'status':{'reason':'x'}}", ERR_CONFLICT },
        { "", "{'metadata':{'uid':'other'},'status':{'reason':'x'}}", ERR_CONFLICT },
        { "", "{'metadata':{'resourceVersion':'17'},'status':{'reason':'x'}}", ERR_CONFLICT },
        { "", "{'status':[1]}", ERR_INVALID },
        { "", "{'status':7}", ERR_INVALID },
        { "", "[]", ERR_INVALID },
        { "", "null", ERR_INVALID },
    };

    (void)state;
    assert_refused(patch_status(pods, "p", "", "{'status':{}}"), ERR_NOT_FOUND);
    must_create(body_of(pods, "p", ""));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (patch_status(pods, "p", cases[i].uid, cases[i].patch) == 0 || err.code != cases[i].code)
            fail_msg("%s: %s %s", cases[i].patch, err_code_name(err.code), err.text);
    assert_int_equal(store_revision(store), 1);
    assert_int_equal(patch_status(pods, "p", "", "{'metadata':{'resourceVersion':'1'},'status':{'reason':'x'}}"), 0);
    assert_int_equal(patch_status(pods, "p", "", "{'status':{'conditions':[{'type':'Ready','status':'True'}]}}"), 0);
    assert_refused(patch_status(pods, "p", "", "{'status':{'conditions':[{'status':'True'}]}}"),
                   ERR_INVALID); /* no key */
    must_create(body_of(groups, "g", ""));
    assert_refused(patch_status(groups, "g", "", "{'status':{'phase':'Running'}}"), ERR_NOT_FOUND);
}

/* ---- as ops of a plan ---- */

static void as_ops(void **state)
{
    struct plan plan = { .arena = &arena };
    autounref struct object *o = NULL;
    struct str uid;

    (void)state;
    must_create(body_of(pods, "p", ""));
    uid = arena_str(&arena, stored(pods, "p")->uid);
    plan_patch_status(&plan, (struct object_id){ pods, STR("a"), STR("p"), uid }, js("{'reason':'r'}"));
    plan_bind(&plan, STR("a"), STR("p"), uid, STR("n1"));
    for (size_t i = 0; i < plan.ops.n; i++) {
        object_unref(o);
        o = NULL;
        assert_int_equal(store_apply(store, &plan.ops.v[i], &o, &err), 0);
    }
    assert_ptr_equal(o, stored(pods, "p"));
    assert_json(json_get(o->root, "spec"), "{'nodeName':'n1'}");
    assert_true(str_is(json_member_text(json_get(o->root, "status"), "reason"), "r"));
    assert_refused(store_apply(store, &plan.ops.v[1], NULL, &err), ERR_CONFLICT);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        STORE_TEST(a_pod_gets_its_node),
        STORE_TEST(a_binding_is_refused),
        STORE_TEST(no_node_for_gated_and_going_pods),
        STORE_TEST(conditions_merge_by_type),
        STORE_TEST(maps_merge),
        STORE_TEST(a_status_patch_is_refused),
        STORE_TEST(as_ops),
    };

    return run_suite(tests, ARRAY_LEN(tests));
}
