/* strategic.c - tests of strategic merge patch, on a small pod schema */
#include "json/patch.h"

#include "base/util.h"
#include "json/schema.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "json/test/quoted.h"

#define SCHEMA(label, rows)                                                                                            \
    {                                                                                                                  \
        .name = (label), .fields = (rows), .n_fields = ARRAY_LEN(rows)                                                 \
    }

static const struct field env_fields[] = { { "name", FIELD_STR }, { "value", FIELD_STR } };
static const struct schema env_schema = SCHEMA("EnvVar", env_fields);

static const struct field port_fields[] = { { "containerPort", FIELD_INT32 }, { "protocol", FIELD_STR } };
static const struct schema port_schema = SCHEMA("Port", port_fields);

static const struct field container_fields[] = {
    { "name", FIELD_STR },
    { "image", FIELD_STR },
    { "args", FIELD_STR, SHAPE_LIST },
    { "env", FIELD_OBJECT, SHAPE_LIST, .sub = &env_schema, .merge_key = "name" },
    { "ports", FIELD_OBJECT, SHAPE_LIST, .sub = &port_schema, .merge_key = "containerPort" },
};
static const struct schema container_schema = SCHEMA("Container", container_fields);

static const struct field volume_fields[] = { { "name", FIELD_STR },
                                              { "emptyDir", FIELD_OBJECT },
                                              { "hostPath", FIELD_OBJECT } };
static const struct schema volume_schema = SCHEMA("Volume", volume_fields);

static const struct field spec_fields[] = {
    { "containers", FIELD_OBJECT, SHAPE_LIST, .sub = &container_schema, .merge_key = "name" },
    { "volumes", FIELD_OBJECT, SHAPE_LIST, .sub = &volume_schema, .merge_key = "name" },
    { "tolerations", FIELD_OBJECT, SHAPE_LIST },
    { "byName", FIELD_OBJECT, SHAPE_MAP, .sub = &container_schema },
    { "nodeName", FIELD_STR },
};
static const struct schema spec_schema = SCHEMA("PodSpec", spec_fields);

static const struct field meta_fields[] = {
    { "name", FIELD_STR },
    { "labels", FIELD_STR, SHAPE_MAP },
    { "finalizers", FIELD_STR, SHAPE_LIST, FIELD_MERGE },
};
static const struct schema meta_schema = SCHEMA("ObjectMeta", meta_fields);

static const struct field pod_fields[] = {
    { "metadata", FIELD_OBJECT, .sub = &meta_schema },
    { "spec", FIELD_OBJECT, .sub = &spec_schema },
};
static const struct schema pod_schema = SCHEMA("Pod", pod_fields);

static const struct merge_case {
    const char *doc, *patch;
    const char *want;  /* NULL: it fails */
    const char *error; /* part of the message */
} merge_cases[] = {
    /* maps */
    { "{'a':1}", "{}", "{'a':1}" },
    { "{'a':1,'b':{'x':1}}", "{'b':{'y':2},'a':null}", "{'b':{'x':1,'y':2}}" },
    { "{'a':1}", "{'b':null}", "{'a':1}" },
    { "{'a':1}", "{'b':{'c':null,'d':1}}", "{'a':1,'b':{'d':1}}" },
    { "{'a':[1]}", "{'a':{'x':1}}", "{'a':{'x':1}}" },
    { "{'a':{'x':1}}", "{'a':5}", "{'a':5}" },
    { "{'metadata':{'labels':{'a':'1','b':'2'}}}", "{'metadata':{'labels':{'b':null,'c':'3'}}}",
      "{'metadata':{'labels':{'a':'1','c':'3'}}}" },
    /* maps with directives */
    { "{'spec':{'nodeName':'n','x':1}}", "{'spec':{'$patch':'replace','x':2}}", "{'spec':{'x':2}}" },
    { "{'spec':{'nodeName':'n'},'a':1}", "{'spec':{'$patch':'delete'}}", "{'spec':{},'a':1}" },
    { "{'spec':{'nodeName':'n'}}", "{'spec':{'$patch':'merge','x':2}}", "{'spec':{'nodeName':'n','x':2}}" },
    { "{'a':1}", "{'$patch':'replace','b':2}", "{'b':2}" },
    { "{'a':1}", "{'$patch':'delete'}", "{}" },
    { "{}", "{'spec':{'$patch':'merge','x':{'$patch':'replace','y':null,'z':1}}}", "{'spec':{'x':{'z':1}}}" },
    { "{'a':1}", "{'$patch':'spam'}", NULL, "$patch must be" },
    { "{'spec':{}}", "{'spec':{'$patch':1}}", NULL, "spec: $patch must be" },
    { "{'a':1}", "{'$unknown':1,'b':2}", "{'a':1,'b':2}" },
    { "{'metadata':{'labels':{}}}", "{'metadata':{'labels':{'$x':'1'}}}", "{'metadata':{'labels':{'$x':'1'}}}" },
    /* lists that do not merge */
    { "{'spec':{'tolerations':[{'key':'a'}]}}", "{'spec':{'tolerations':[{'key':'b'}]}}",
      "{'spec':{'tolerations':[{'key':'b'}]}}" },
    { "{'list':[1,2]}", "{'list':[3]}", "{'list':[3]}" },
    { "{'list':[1]}", "{'list':[{'a':null,'b':[{'$patch':'merge','c':1}]},null,[null]]}",
      "{'list':[{'b':[{'c':1}]},null,[null]]}" },
    { "{'list':[1]}", "{'list':[{'$patch':'replace'},{'a':1}]}", "{'list':[{'a':1}]}" },
    /* lists that merge by key */
    { "{'spec':{'containers':[{'name':'a','image':'1'},{'name':'b','image':'1'}]}}",
      "{'spec':{'containers':[{'name':'b','image':'2'}]}}",
      "{'spec':{'containers':[{'name':'a','image':'1'},{'name':'b','image':'2'}]}}" },
    { "{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}", "{'spec':{'containers':[{'name':'n'}]}}",
      "{'spec':{'containers':[{'name':'n'},{'name':'a'},{'name':'b'}]}}" }, /* new items first */
    { "{'spec':{'containers':[{'name':'a'},{'name':'b'},{'name':'c'}]}}",
      "{'spec':{'containers':[{'name':'b'},{'name':'n'}]}}",
      "{'spec':{'containers':[{'name':'a'},{'name':'b'},{'name':'n'},{'name':'c'}]}}" },
    { "{'spec':{'containers':[{'name':'a'},{'name':'b'},{'name':'c'}]}}",
      "{'spec':{'containers':[{'name':'c'},{'name':'a'}]}}", /* the order of the patch wins */
      "{'spec':{'containers':[{'name':'b'},{'name':'c'},{'name':'a'}]}}" },
    { "{'spec':{}}", "{'spec':{'containers':[{'name':'a','image':null,'env':[{'name':'x','value':'1'}]}]}}",
      "{'spec':{'containers':[{'name':'a','env':[{'name':'x','value':'1'}]}]}}" },
    { "{'spec':{'containers':null}}", "{'spec':{'containers':[{'name':'a'}]}}",
      "{'spec':{'containers':[{'name':'a'}]}}" },
    { "{'spec':{'containers':[{'name':'a','env':[{'name':'x','value':'1'},{'name':'y','value':'1'}],'args':['1']}]}}",
      "{'spec':{'containers':[{'name':'a','env':[{'name':'y','value':'2'}],'args':['2','3']}]}}",
      "{'spec':{'containers':[{'name':'a','env':[{'name':'x','value':'1'},{'name':'y','value':'2'}],'args':['2','3']}]}"
      "}" },
    { "{'spec':{'byName':{'m':{'env':[{'name':'x'}]}}}}", "{'spec':{'byName':{'m':{'env':[{'name':'y'}]}}}}",
      "{'spec':{'byName':{'m':{'env':[{'name':'y'},{'name':'x'}]}}}}" }, /* through a map of objects */
    /* keys that are numbers; equal keys */
    { "{'spec':{'containers':[{'name':'a','ports':[{'containerPort':80},{'containerPort':443}]}]}}",
      "{'spec':{'containers':[{'name':'a','ports':[{'containerPort':443.0,'protocol':'UDP'}]}]}}",
      "{'spec':{'containers':[{'name':'a','ports':[{'containerPort':80},{'containerPort':443.0,'protocol':'UDP'}]}]}"
      "}" },
    { "{'spec':{'containers':[{'name':'a','ports':[{'containerPort':53,'protocol':'TCP'},{'containerPort':53,"
      "'protocol':'UDP'},{'containerPort':80}]}]}}",
      "{'spec':{'containers':[{'name':'a','ports':[{'containerPort':53,'x':1}]}]}}",
      "{'spec':{'containers':[{'name':'a','ports':[{'containerPort':53,'protocol':'TCP','x':1},{'containerPort':53,"
      "'protocol':'UDP'},{'containerPort':80}]}]}}" },
    { "{'spec':{'containers':[{'name':'a'}]}}",
      "{'spec':{'containers':[{'name':'a','x':1},{'name':'n','y':1},{'name':'n',"
      "'z':1},{'name':'a','w':1}]}}",
      "{'spec':{'containers':[{'name':'a','x':1,'w':1},{'name':'n','y':1,'z':1}]}}" },
    { "{'spec':{'containers':[{'name':'80'}]}}", "{'spec':{'containers':[{'name':80}]}}",
      "{'spec':{'containers':[{'name':80},{'name':'80'}]}}" }, /* text is no number */
    /* items of the document without key stay; those of the patch are an error */
    { "{'spec':{'containers':[{'image':'x'},5,{'name':'a'}]}}", "{'spec':{'containers':[{'name':'a','y':1}]}}",
      "{'spec':{'containers':[{'image':'x'},5,{'name':'a','y':1}]}}" },
    { "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[{'name':'a'},{'image':'x'}]}}", NULL,
      "spec.containers[1]: an item of this list needs its merge key \"name\"" },
    /* without an old list, or in place of it, the new one is taken as it is, twins and all */
    { "{'spec':{}}", "{'spec':{'containers':[{'image':'x'}]}}", "{'spec':{'containers':[{'image':'x'}]}}" },
    { "{'spec':{}}", "{'spec':{'containers':[{'name':'a','image':'x'},{'name':'a','image':'y'}]}}",
      "{'spec':{'containers':[{'name':'a','image':'x'},{'name':'a','image':'y'}]}}" },
    { "{'spec':{'containers':[{'name':'a','tty':true}]}}",
      "{'spec':{'containers':[{'name':'a','image':'x'},{'$patch':'replace'},{'name':'a','image':'y'}]}}",
      "{'spec':{'containers':[{'name':'a','image':'x'},{'name':'a','image':'y'}]}}" },
    { "{'spec':{'containers':[]}}", "{'spec':{'containers':[{'image':'x'}]}}", NULL,
      "spec.containers[0]: an item of this list needs" },
    { "{'spec':{'containers':[]}}", "{'spec':{'containers':['x']}}", NULL, "needs its merge key" },
    { "{'spec':{'containers':[]}}", "{'spec':{'containers':[{'name':null}]}}", NULL, "needs its merge key" },
    { "{'spec':{'containers':[]}}", "{'spec':{'containers':[{'name':['x']}]}}", NULL, "needs its merge key" },
    { "{'spec':{'containers':[{'name':'a','env':[]}]}}", "{'spec':{'containers':[{'name':'a','env':[{}]}]}}", NULL,
      "spec.containers[0].env[0]: " },
    /* items with directives */
    { "{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}", "{'spec':{'containers':[{'name':'a','$patch':'delete'}]}}",
      "{'spec':{'containers':[{'name':'b'}]}}" },
    { "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[{'name':'x','$patch':'delete'}]}}",
      "{'spec':{'containers':[{'name':'a'}]}}" },
    { "{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}",
      "{'spec':{'containers':[{'name':'a','$patch':'delete'},{'name':'n'}]}}",
      "{'spec':{'containers':[{'name':'n'},{'name':'b'}]}}" },
    { "{'spec':{}}", "{'spec':{'containers':[{'name':'a','$patch':'delete'}]}}", "{'spec':{'containers':[]}}" },
    { "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[{'$patch':'delete'}]}}", NULL, "merge key" },
    { "{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}",
      "{'spec':{'containers':[{'name':'n'},{'$patch':'replace'},{'name':'m'}]}}",
      "{'spec':{'containers':[{'name':'n'},{'name':'m'}]}}" },
    { "{'spec':{'containers':[{'name':'a','x':1}]}}",
      "{'spec':{'containers':[{'$patch':'replace'},{'name':'a','y':1}]}}",
      "{'spec':{'containers':[{'name':'a','y':1}]}}" },
    { "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[{'$patch':'replace'}]}}",
      "{'spec':{'containers':[]}}" },
    { "{'spec':{'containers':[{'name':'a','x':1}]}}", "{'spec':{'containers':[{'name':'a','$patch':'merge','y':1}]}}",
      "{'spec':{'containers':[{'name':'a','x':1,'y':1}]}}" },
    { "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[{'name':'a','$patch':'spam'}]}}", NULL,
      "spec.containers[0]: $patch must be" },
    /* sets of scalars */
    { "{'metadata':{'finalizers':['a','b']}}", "{'metadata':{'finalizers':['b']}}",
      "{'metadata':{'finalizers':['a','b']}}" },
    { "{'metadata':{'finalizers':['a','b']}}", "{'metadata':{'finalizers':['c','c','a']}}",
      "{'metadata':{'finalizers':['c','a','b']}}" },
    { "{'metadata':{'finalizers':[]}}", "{'metadata':{'finalizers':['a','a']}}", "{'metadata':{'finalizers':['a']}}" },
    { "{'metadata':{'finalizers':['a','b','c']}}", "{'metadata':{'$deleteFromPrimitiveList/finalizers':['b','x']}}",
      "{'metadata':{'finalizers':['a','c']}}" },
    { "{'metadata':{'finalizers':['a']}}", "{'metadata':{'$deleteFromPrimitiveList/finalizers':['a']}}",
      "{'metadata':{'finalizers':[]}}" },
    { "{'metadata':{'finalizers':['a','b']}}",
      "{'metadata':{'$deleteFromPrimitiveList/finalizers':['a'],'finalizers':['c']}}",
      "{'metadata':{'finalizers':['c','b']}}" },
    { "{'metadata':{}}", "{'metadata':{'$deleteFromPrimitiveList/finalizers':['a']}}", "{'metadata':{}}" },
    { "{'list':[1,2,3]}", "{'$deleteFromPrimitiveList/list':[2.0]}", "{'list':[1,3]}" }, /* without a schema too */
    { "{'metadata':{'finalizers':['a']}}", "{'metadata':{'$deleteFromPrimitiveList/finalizers':'a'}}", NULL,
      "metadata.finalizers: " },
    { "{'metadata':{'finalizers':[]}}", "{'metadata':{'finalizers':[{}]}}", NULL,
      "metadata.finalizers[0]: an item of this list must be text" },
    /* $setElementOrder */
    { "{'spec':{'containers':[{'name':'a'},{'name':'b'},{'name':'c'}]}}",
      "{'spec':{'$setElementOrder/containers':[{'name':'c'},{'name':'a'},{'name':'b'}]}}",
      "{'spec':{'containers':[{'name':'c'},{'name':'a'},{'name':'b'}]}}" },
    { "{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}",
      "{'spec':{'$setElementOrder/containers':[{'name':'b'},{'name':'n'},{'name':'a'}],'containers':[{'name':'n'}]}}",
      "{'spec':{'containers':[{'name':'b'},{'name':'n'},{'name':'a'}]}}" },
    { "{'spec':{'containers':[{'name':'s'},{'name':'a'},{'name':'t'},{'name':'b'}]}}",
      "{'spec':{'$setElementOrder/containers':[{'name':'a'},{'name':'b'}],'containers':[{'name':'b','x':1}]}}",
      "{'spec':{'containers':[{'name':'s'},{'name':'a'},{'name':'t'},{'name':'b','x':1}]}}" }, /* as kubectl sends it */
    { "{'metadata':{'finalizers':['a','b','c']}}", "{'metadata':{'$setElementOrder/finalizers':['c','a']}}",
      "{'metadata':{'finalizers':['b','c','a']}}" },
    { "{'spec':{}}", "{'spec':{'$setElementOrder/containers':[{'name':'a'}]}}", "{'spec':{}}" },
    { "{'spec':{}}",
      "{'spec':{'$setElementOrder/containers':[{'name':'b'},{'name':'a'}],'containers':[{'name':'a'},"
      "{'name':'b'}]}}",
      "{'spec':{'containers':[{'name':'b'},{'name':'a'}]}}" },
    { "{'spec':{'containers':[{'name':'a'}]}}",
      "{'spec':{'$setElementOrder/containers':[{'name':'a'}],'containers':[{'name':'n'}]}}", NULL,
      "spec.containers[0]: this item is missing in $setElementOrder" },
    { "{'spec':{'containers':[]}}", "{'spec':{'$setElementOrder/containers':[{}]}}", NULL, "merge key" },
    { "{'spec':{'containers':[]}}", "{'spec':{'$setElementOrder/containers':7}}", NULL, "must be lists" },
    { "{'list':[2,1]}", "{'$setElementOrder/list':[1,2]}", "{'list':[2,1]}" }, /* no merging list: nothing to order */
    /* $retainKeys */
    { "{'spec':{'volumes':[{'name':'v','emptyDir':{}}]}}",
      "{'spec':{'volumes':[{'name':'v','$retainKeys':['name','hostPath'],'hostPath':{'path':'/x'}}]}}",
      "{'spec':{'volumes':[{'name':'v','hostPath':{'path':'/x'}}]}}" },
    { "{'a':1,'b':2,'c':3}", "{'$retainKeys':['b']}", "{'b':2}" },
    { "{'a':1,'b':2}", "{'$retainKeys':['b'],'a':null}", "{'b':2}" },
    { "{'a':1,'b':2}", "{'$retainKeys':['b'],'c':3}", NULL, "c: the patch sets this member, but $retainKeys does not" },
    { "{'a':1}", "{'$retainKeys':'a'}", NULL, "retainKeys: it must be a list" },
};

static void merges(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(merge_cases); i++) {
        const struct merge_case *c = &merge_cases[i];
        autoarena a = { 0 };
        struct json *doc = tree(&a, c->doc), *patch = tree(&a, c->patch);
        struct err e = { 0 };
        struct json *got = json_strategic_patch(&a, &pod_schema, doc, patch, &e);

        if ((got != NULL) != (c->want != NULL))
            fail_msg("%s on %s: %s", c->patch, c->doc, got ? text_of(&a, got) : e.text);
        if (got && strcmp(text_of(&a, got), c->want) != 0)
            fail_msg("%s on %s: %s", c->patch, c->doc, text_of(&a, got));
        if (!got && ((e.code != ERR_INVALID && e.code != ERR_SYNTAX) || !str_has(str_of(e.text), str_of(c->error))))
            fail_msg("%s on %s: %s", c->patch, c->doc, e.text);
        assert_string_equal(text_of(&a, doc), c->doc);
        assert_string_equal(text_of(&a, patch), c->patch);
    }
}

static void without_schema(void **state)
{
    autoarena a = { 0 };
    struct json *got;
    struct err e;

    got = json_strategic_patch(&a, NULL, tree(&a, "{'containers':[{'name':'a'}],'m':{'x':1,'y':2}}"),
                               tree(&a, "{'containers':[{'name':'b'}],'m':{'x':null},'$patch':'merge'}"), &e);
    assert_string_equal(text_of(&a, got), "{'containers':[{'name':'b'}],'m':{'y':2}}");
    got = json_strategic_patch(&a, NULL, NULL, tree(&a, "{'a':{'b':null}}"), &e);
    assert_string_equal(text_of(&a, got), "{'a':{}}");
    assert_null(json_strategic_patch(&a, NULL, tree(&a, "{}"), tree(&a, "[]"), &e));
    assert_int_equal(e.code, ERR_SYNTAX);
}

/* Lists of 50,000 items against each other, and one item that the patch names again and again. */
static void large_lists(void **state)
{
    autoarena a = { 0 };
    struct json *doc = tree(&a, "{'spec':{'containers':[]}}"), *patch = tree(&a, "{'spec':{'containers':[]}}"), *got;
    struct json *have = json_find(doc, "spec", "containers", NULL),
                *want = json_find(patch, "spec", "containers", NULL);
    struct err e = { 0 };

    for (int i = 0; i < 50000; i++) {
        json_set(json_push(have, json_object(&a)), "name", json_fmt(&a, "c%d", i));
        json_set(json_push(want, json_object(&a)), "name", json_fmt(&a, "c%d", 99999 - i * 2));
    }
    got = json_strategic_patch(&a, &pod_schema, doc, patch, &e);
    assert_int_equal(json_count(json_find(got, "spec", "containers", NULL)), 75000);
    JSON_FOREACH(item, want)
        json_set(item, "name", json_str(&a, STR("same")));
    assert_null(json_strategic_patch(&a, &pod_schema, doc, patch, &e));
    assert_true(str_has(str_of(e.text), STR("too many items")));
}

/* ---- laws, on random lists ---- */

struct random {
    uint64_t state;
};

static uint32_t draw(struct random *r, uint32_t below)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((r->state >> 33) % below);
}

/* A list of containers with different names. */
static struct json *random_pod(struct arena *a, struct random *r)
{
    struct json *pod = json_object(a), *spec = json_need_object(a, pod, "spec");
    struct json *list = json_need_array(a, spec, "containers");
    uint32_t seen = 0;

    for (uint32_t i = draw(r, 8); i > 0; i--) {
        uint32_t name = draw(r, 10);
        struct json *c;

        if (seen & 1u << name)
            continue;
        seen |= 1u << name;
        c = json_push(list, json_object(a));
        json_set(c, "name", json_fmt(a, "c%u", name));
        json_set(c, "image", json_int(a, draw(r, 3)));
    }
    return pod;
}

static struct json *find_named(const struct json *pod, struct str name)
{
    JSON_FOREACH(c, json_find(pod, "spec", "containers", NULL))
        if (str_eq(json_member_text(c, "name"), name))
            return c;
    return NULL;
}

static void strategic_laws(void **state)
{
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct random r = { seed };
        autoarena a = { 0 };
        struct json *doc = random_pod(&a, &r), *patch = random_pod(&a, &r), *once, *twice;
        size_t at = 0, n_new = 0;

        once = json_strategic_patch(&a, &pod_schema, doc, patch, NULL);
        twice = json_strategic_patch(&a, &pod_schema, once, patch, NULL);
        assert_non_null(twice);
        if (!json_equal(once, twice))
            fail_msg("seed %llu: twice is not once", (unsigned long long)seed);
        JSON_FOREACH(c, json_find(patch, "spec", "containers", NULL)) { /* all there, with the values of the patch */
            struct json *got = find_named(once, json_member_text(c, "name"));

            n_new += !find_named(doc, json_member_text(c, "name"));
            if (!json_equal(got, c))
                fail_msg("seed %llu: an item of the patch is not there", (unsigned long long)seed);
        }
        if (json_count(json_find(once, "spec", "containers", NULL)) !=
            json_count(json_find(doc, "spec", "containers", NULL)) + n_new)
            fail_msg("seed %llu: items lost or doubled", (unsigned long long)seed);
        JSON_FOREACH(c,
                     json_find(once, "spec", "containers", NULL)) { /* items of the patch in the order of the patch */
            struct json *next = json_at(json_find(patch, "spec", "containers", NULL), at);

            if (!find_named(patch, json_member_text(c, "name")))
                continue;
            if (!str_eq(json_member_text(c, "name"), json_member_text(next, "name")))
                fail_msg("seed %llu: the order is not that of the patch", (unsigned long long)seed);
            at++;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges),
        cmocka_unit_test(without_schema),
        cmocka_unit_test(large_lists),
        cmocka_unit_test(strategic_laws),
    };

    return cmocka_run_group_tests_name("json/strategic", tests, NULL, NULL);
}
