/* patch.c - tests of JSON Patch and JSON Merge Patch */
#include "json/patch.h"

#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "json/test/quoted.h"

/* ---- RFC 6902 ---- */

static const struct patch_case {
    const char *doc, *ops;
    const char *want;  /* result; NULL: it fails */
    const char *error; /* part of the message */
} patch_cases[] = {
    { "{'a':1}", "[]", "{'a':1}" },
    /* add */
    { "{'a':1}", "[{'op':'add','path':'/b','value':[2]}]", "{'a':1,'b':[2]}" },
    { "{'a':1,'b':2}", "[{'op':'add','path':'/a','value':null}]", "{'a':null,'b':2}" },
    { "[1,3]", "[{'op':'add','path':'/1','value':2}]", "[1,2,3]" },
    { "[1,3]", "[{'op':'add','path':'/0','value':0}]", "[0,1,3]" },
    { "[1,3]", "[{'op':'add','path':'/2','value':4}]", "[1,3,4]" },
    { "[1,3]", "[{'op':'add','path':'/-','value':4}]", "[1,3,4]" },
    { "[]", "[{'op':'add','path':'/-','value':{'x':1}},{'op':'add','path':'/0/y','value':2}]", "[{'x':1,'y':2}]" },
    { "{'a':1}", "[{'op':'add','path':'','value':[7]}]", "[7]" },
    { "5", "[{'op':'add','path':'','value':{'a':1}},{'op':'add','path':'/b','value':2}]", "{'a':1,'b':2}" },
    { "{}", "[{'op':'add','path':'/','value':1}]", "{'':1}" },
    { "{}", "[{'op':'add','path':'/a~1b~0c','value':1}]", "{'a/b~c':1}" },
    { "{}", "[{'op':'add','path':'/-','value':1}]", "{'-':1}" },
    { "{}", "[{'op':'add','path':'/01','value':1}]", "{'01':1}" },
    { "{'a':{}}", "[{'op':'add','path':'/a/b','value':{'c':1}}]", "{'a':{'b':{'c':1}}}" },
    { "{'a':1}", "[{'op':'add','path':'/b','value':2,'extra':true,'from':5}]", "{'a':1,'b':2}" },
    { "[1,3]", "[{'op':'add','path':'/3','value':4}]", NULL, "index 3 is out of range: the list has 2 items" },
    { "[1,3]", "[{'op':'add','path':'/01','value':4}]", NULL, "\"01\" is not a list index" },
    { "[1,3]", "[{'op':'add','path':'/1e0','value':4}]", NULL, "not a list index" },
    { "[1,3]", "[{'op':'add','path':'/-1','value':4}]", NULL, "not a list index" },
    { "[1,3]", "[{'op':'add','path':'/x','value':4}]", NULL, "not a list index" },
    { "[1,3]", "[{'op':'add','path':'/','value':4}]", NULL, "not a list index" },
    { "[1,3]", "[{'op':'add','path':'/18446744073709551616','value':4}]", NULL, "not a list index" },
    { "{'a':1}", "[{'op':'add','path':'/x/y','value':1}]", NULL, "operation 0: add \"/x/y\": the path does not exist" },
    { "{'a':1}", "[{'op':'add','path':'/a/y','value':1}]", NULL, "the path does not exist" },
    { "[[]]", "[{'op':'add','path':'/-/0','value':1}]", NULL, "the path does not exist" },
    { "{'a':1}", "[{'op':'add','path':'/b'}]", NULL, "operation 0: add: \"value\" is missing" },
    { "{'a':1}", "[{'op':'add','value':1}]", NULL, "\"path\" is missing" },
    { "{'a':1}", "[{'op':'add','path':5,'value':1}]", NULL, "\"path\" is not a string" },
    { "{'a':1}", "[{'op':'add','path':'b','value':1}]", NULL, "a pointer must be empty or begin with '/'" },
    { "{'a':1}", "[{'op':'add','path':'/~2','value':1}]", NULL, "in a pointer '~' is written ~0" },
    /* remove */
    { "{'a':1,'b':2,'c':3}", "[{'op':'remove','path':'/b'}]", "{'a':1,'c':3}" },
    { "{'a':1,'b':2}", "[{'op':'remove','path':'/b'},{'op':'add','path':'/z','value':0}]", "{'a':1,'z':0}" },
    { "[1,2,3]", "[{'op':'remove','path':'/1'}]", "[1,3]" },
    { "[1,2,3]", "[{'op':'remove','path':'/2'},{'op':'add','path':'/-','value':9}]", "[1,2,9]" },
    { "[1]", "[{'op':'remove','path':'/0'}]", "[]" },
    { "[1]", "[{'op':'remove','path':'/1'}]", NULL, "remove \"/1\": the value does not exist" },
    { "[1]", "[{'op':'remove','path':'/-'}]", NULL, "the value does not exist" },
    { "{'a':1}", "[{'op':'remove','path':'/b'}]", NULL, "the value does not exist" },
    { "{'a':1}", "[{'op':'remove','path':''}]", NULL, "the whole document cannot be removed" },
    /* replace */
    { "{'a':1,'b':2}", "[{'op':'replace','path':'/a','value':[]}]", "{'a':[],'b':2}" },
    { "[1,2,3]", "[{'op':'replace','path':'/1','value':{}}]", "[1,{},3]" },
    { "{'a':1}", "[{'op':'replace','path':'','value':'x'}]", "'x'" },
    { "{'a/b':1}", "[{'op':'replace','path':'/a~1b','value':2}]", "{'a/b':2}" },
    { "{'a':1}", "[{'op':'replace','path':'/b','value':1}]", NULL, "the value does not exist" },
    { "[1]", "[{'op':'replace','path':'/1','value':1}]", NULL, "the value does not exist" },
    { "[1]", "[{'op':'replace','path':'/-','value':1}]", NULL, "the value does not exist" },
    { "{'a':1}", "[{'op':'replace','path':'/a'}]", NULL, "\"value\" is missing" },
    /* move */
    { "{'a':{'x':1},'b':{}}", "[{'op':'move','from':'/a/x','path':'/b/y'}]", "{'a':{},'b':{'y':1}}" },
    { "{'a':1,'b':2}", "[{'op':'move','from':'/a','path':'/b'}]", "{'b':1}" },
    { "[1,2,3,4]", "[{'op':'move','from':'/1','path':'/3'}]", "[1,3,4,2]" },
    { "[1,2,3]", "[{'op':'move','from':'/0','path':'/-'}]", "[2,3,1]" },
    { "[1,2,3]", "[{'op':'move','from':'/0','path':'/3'}]", NULL,
      "index 3 is out of range" }, /* the list is shorter then */
    { "{'a':1}", "[{'op':'move','from':'/a','path':'/a'}]", "{'a':1}" },
    { "{'a':{'b':1}}", "[{'op':'move','from':'/a/b','path':'/a'}]", "{'a':1}" },
    { "{'a':{'b':1}}", "[{'op':'move','from':'/a/b','path':''}]", "1" },
    { "{'a':{'b':1},'ab':2}", "[{'op':'move','from':'/a','path':'/ab'}]", "{'ab':{'b':1}}" },
    { "{'a':{'b':1}}", "[{'op':'move','from':'/a','path':'/a/b'}]", NULL, "cannot be moved into itself" },
    { "{'a':{'b':1}}", "[{'op':'move','from':'/a','path':'/a/b/c'}]", NULL, "cannot be moved into itself" },
    { "{'a':{'b':1}}", "[{'op':'move','from':'','path':'/a'}]", NULL, "cannot be moved into itself" },
    { "{'a':1}", "[{'op':'move','from':'','path':''}]", "{'a':1}" },
    { "{'a':1}", "[{'op':'move','from':'/x','path':'/y'}]", NULL, "from: the value does not exist" },
    { "{'a':1}", "[{'op':'move','path':'/y'}]", NULL, "\"from\" is missing" },
    { "{'a':1}", "[{'op':'move','from':'a','path':'/y'}]", NULL, "from: " },
    /* copy */
    { "{'a':[1]}", "[{'op':'copy','from':'/a','path':'/b'},{'op':'add','path':'/b/-','value':2}]",
      "{'a':[1],'b':[1,2]}" },
    { "{'a':{'b':1}}", "[{'op':'copy','from':'/a','path':'/a/c'}]", "{'a':{'b':1,'c':{'b':1}}}" },
    { "{'a':1}", "[{'op':'copy','from':'','path':'/self'}]", "{'a':1,'self':{'a':1}}" },
    { "[1,2]", "[{'op':'copy','from':'/0','path':'/-'}]", "[1,2,1]" },
    { "[1,2]", "[{'op':'copy','from':'/2','path':'/-'}]", NULL, "from: the value does not exist" },
    /* test */
    { "{'a':1}", "[{'op':'test','path':'/a','value':1.0}]", "{'a':1}" },
    { "{'a':{'x':1,'y':[2]}}", "[{'op':'test','path':'/a','value':{'y':[2],'x':1}}]", "{'a':{'x':1,'y':[2]}}" },
    { "{'a':null}", "[{'op':'test','path':'/a','value':null}]", "{'a':null}" },
    { "{'a':'1'}", "[{'op':'test','path':'/a','value':1}]", NULL, "test \"/a\": the value differs" },
    { "{'a':[1,2]}", "[{'op':'test','path':'/a','value':[2,1]}]", NULL, "the value differs" },
    { "{}", "[{'op':'test','path':'/a','value':null}]", NULL, "the value does not exist" },
    { "{'/':9,'~1':10}", "[{'op':'test','path':'/~01','value':10}]", "{'/':9,'~1':10}" },
    { "[]", "[{'op':'test','path':'','value':[]}]", "[]" },
    /* all or nothing, and which operation it was */
    { "{'a':1}", "[{'op':'add','path':'/b','value':1},{'op':'test','path':'/a','value':2}]", NULL,
      "operation 1: test" },
    { "{'a':1}", "[{'op':'spam','path':'/a'}]", NULL, "\"op\" must be add, remove, replace, move, copy or test" },
    { "{'a':1}", "[{'path':'/a'}]", NULL, "\"op\" must be" },
    { "{'a':1}", "[{'op':7,'path':'/a'}]", NULL, "\"op\" must be" },
    { "{'a':1}", "[{'op':'ADD','path':'/a','value':1}]", NULL, "\"op\" must be" },
};

static void patches(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(patch_cases); i++) {
        const struct patch_case *c = &patch_cases[i];
        autoarena a = { 0 };
        struct json *doc = tree(&a, c->doc), *ops = tree(&a, c->ops), *got = NULL;
        struct err e = { 0 };
        int r = json_patch(&a, doc, ops, &got, &e);

        if ((r == 0) != (c->want != NULL))
            fail_msg("%s on %s: %s", c->ops, c->doc, r ? e.text : text_of(&a, got));
        if (r == 0 && strcmp(text_of(&a, got), c->want) != 0)
            fail_msg("%s on %s: %s", c->ops, c->doc, text_of(&a, got));
        if (r < 0 && (e.code != ERR_INVALID || !str_has(str_of(e.text), str_of(c->error))))
            fail_msg("%s on %s: %s", c->ops, c->doc, e.text);
        /* the inputs are as they were */
        assert_string_equal(text_of(&a, doc), c->doc);
        assert_string_equal(text_of(&a, ops), c->ops);
    }
}

static void refuses_what_is_no_patch(void **state)
{
    static const char *const cases[] = { "{}", "null", "'x'", "[1]", "[[]]", "[null]" };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct json *got;
        struct err e = { 0 };

        assert_int_equal(json_patch(&a, tree(&a, "{}"), tree(&a, cases[i]), &got, &e), -1);
        if (e.code != ERR_SYNTAX)
            fail_msg("%s: %s", cases[i], e.text);
    }
}

/* 'n' times the operations in 'ops' (without brackets). */
static int patch_many(const char *doc, const char *ops, size_t n, struct err *e)
{
    autoarena a = { 0 };
    struct json *list = json_array(&a), *got, *few = tree(&a, ops);

    for (size_t i = 0; i < n; i++)
        JSON_FOREACH(op, few)
            json_push(list, json_copy(&a, op));
    return json_patch(&a, tree(&a, doc), list, &got, e);
}

static void limits_patches(void **state)
{
    struct err e = { 0 };

    assert_int_equal(patch_many("{}", "[{'op':'add','path':'/a','value':1}]", 10000, &e), 0);
    assert_int_equal(patch_many("{}", "[{'op':'add','path':'/a','value':1}]", 10001, &e), -1);
    assert_int_equal(e.code, ERR_TOO_BIG);
    /* doubling */
    assert_int_equal(patch_many("['text']", "[{'op':'copy','from':'','path':'/-'}]", 64, &e), -1);
    assert_int_equal(e.code, ERR_TOO_BIG);
    assert_true(str_has(str_of(e.text), STR("copies more than")));
    /* wrapping, so that the result gets too deep to be read again */
    assert_int_equal(patch_many("{'a':1}",
                                "[{'op':'add','path':'/t','value':{}},{'op':'move','from':'/a','path':'/t/a'},"
                                "{'op':'move','from':'/t','path':'/a'}]",
                                255, &e),
                     0);
    assert_int_equal(patch_many("{'a':1}",
                                "[{'op':'add','path':'/t','value':{}},{'op':'move','from':'/a','path':'/t/a'},"
                                "{'op':'move','from':'/t','path':'/a'}]",
                                256, &e),
                     -1);
    assert_int_equal(e.code, ERR_TOO_BIG);
    assert_int_equal(patch_many("{'a':1}",
                                "[{'op':'add','path':'/t','value':{}},{'op':'move','from':'/a','path':'/t/a'},"
                                "{'op':'move','from':'/t','path':'/a'}]",
                                3333, &e),
                     -1);
}

static void limits_work(void **state)
{
    autoarena a = { 0 };
    struct json *doc = json_array(&a), *ops = json_array(&a), *got;
    struct err e = { 0 };

    for (int i = 0; i < 100000; i++)
        json_push(doc, json_int(&a, i));
    for (int i = 0; i < 10000; i++)
        json_push(ops, tree(&a, "{'op':'test','path':'/99999','value':99999}"));
    assert_int_equal(json_patch(&a, doc, ops, &got, &e), -1);
    assert_int_equal(e.code, ERR_TOO_BIG);
}

/* ---- RFC 7386 ---- */

static const struct {
    const char *doc, *patch, *want;
} merge_cases[] = {
    { "{'a':'b'}", "{'a':'c'}", "{'a':'c'}" },
    { "{'a':'b'}", "{'b':'c'}", "{'a':'b','b':'c'}" },
    { "{'a':'b'}", "{'a':null}", "{}" },
    { "{'a':'b','b':'c'}", "{'a':null}", "{'b':'c'}" },
    { "{'a':['b']}", "{'a':'c'}", "{'a':'c'}" },
    { "{'a':'c'}", "{'a':['b']}", "{'a':['b']}" },
    { "{'a':{'b':'c'}}", "{'a':{'b':'d','c':null}}", "{'a':{'b':'d'}}" },
    { "{'a':[{'b':'c'}]}", "{'a':[1]}", "{'a':[1]}" },
    { "['a','b']", "['c','d']", "['c','d']" },
    { "{'a':'b'}", "['c']", "['c']" },
    { "{'a':'foo'}", "null", "null" },
    { "{'a':'foo'}", "'bar'", "'bar'" },
    { "{'e':null}", "{'a':1}", "{'e':null,'a':1}" },
    { "[1,2]", "{'a':'b','c':null}", "{'a':'b'}" },
    { "{}", "{'a':{'bb':{'ccc':null}}}", "{'a':{'bb':{}}}" },
    { "{'a':1}", "{'a':{'x':null,'y':2}}", "{'a':{'y':2}}" },
    { "{'a':{'x':1}}", "{'a':[{'x':null}]}", "{'a':[{'x':null}]}" }, /* inside a list null is a value */
    { "{'a':1,'b':2,'c':3}", "{'d':4,'b':20,'a':null}", "{'b':20,'c':3,'d':4}" },
    { "{}", "{}", "{}" },
};

static void merges(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(merge_cases); i++) {
        autoarena a = { 0 };
        struct json *doc = tree(&a, merge_cases[i].doc), *patch = tree(&a, merge_cases[i].patch);

        assert_string_equal(text_of(&a, json_merge_patch(&a, doc, patch)), merge_cases[i].want);
        assert_string_equal(text_of(&a, doc), merge_cases[i].doc);
        assert_string_equal(text_of(&a, patch), merge_cases[i].patch);
    }
}

static void merges_onto_nothing(void **state)
{
    autoarena a = { 0 };

    assert_string_equal(text_of(&a, json_merge_patch(&a, NULL, tree(&a, "{'a':{'b':null,'c':1}}"))), "{'a':{'c':1}}");
}

/* The parser never makes such a patch, a program may. */
static void last_of_equal_keys_wins(void **state)
{
    autoarena a = { 0 };
    struct json *patch = json_object(&a);

    json_add(patch, STR("new"), json_int(&a, 1));
    json_add(patch, STR("old"), json_int(&a, 2));
    json_add(patch, STR("new"), json_int(&a, 3));
    json_add(patch, STR("old"), json_null(&a));
    assert_string_equal(text_of(&a, json_merge_patch(&a, tree(&a, "{'old':0}"), patch)), "{'new':3}");
}

/* Two objects of 100,000 members: their product would take minutes. */
static void merges_large_objects(void **state)
{
    autoarena a = { 0 };
    struct json *doc = json_object(&a), *patch = json_object(&a), *got;

    for (int i = 0; i < 100000; i++) {
        json_add(doc, arena_fmt(&a, "k%d", i), json_int(&a, i));
        json_add(patch, arena_fmt(&a, "k%d", i * 2), i % 4 ? json_int(&a, -i) : json_null(&a));
    }
    got = json_merge_patch(&a, doc, patch);
    /* 50,000 keys of the patch are in the document, a quarter of all its keys is null */
    assert_int_equal(got->n, 100000 - 12500 + 37500);
    assert_null(json_get(got, "k8"));
    assert_int_equal(json_i64(json_get(got, "k6"), 0), -3);
    assert_int_equal(json_i64(json_get(got, "k7"), 0), 7);
    assert_int_equal(json_i64(json_get(got, "k199998"), 0), -99999);
    assert_true(str_is(json_key(got->last), "k199998"));
}

/* ---- laws, on random documents and patches ---- */

struct random {
    uint64_t state;
};

static uint32_t draw(struct random *r, uint32_t below)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((r->state >> 33) % below);
}

static struct json *random_tree(struct arena *a, struct random *r, unsigned depth, bool with_null)
{
    struct json *j;

    if (depth == 0 || draw(r, 3) == 0)
        return with_null && draw(r, 3) == 0 ? json_null(a) : json_int(a, draw(r, 5));
    if (draw(r, 4) == 0) {
        j = json_array(a);
        for (uint32_t i = draw(r, 4); i > 0; i--)
            json_push(j, json_int(a, draw(r, 5)));
        return j;
    }
    j = json_object(a);
    for (uint32_t i = draw(r, draw(r, 8) ? 5 : 40); i > 0; i--)
        json_set_key(j, arena_fmt(a, "k%u", draw(r, i > 8 ? 60 : 6)), random_tree(a, r, depth - 1, with_null));
    return j;
}

/* The merge patch that makes 'b' of 'a'; only for documents without null, which a merge patch cannot set. */
static struct json *diff(struct arena *a, const struct json *x, const struct json *y)
{
    struct json *patch = json_object(a);

    if (!json_is(x, JSON_OBJECT) || !json_is(y, JSON_OBJECT))
        return json_copy(a, y);
    JSON_FOREACH(m, x)
        if (!json_get_str(y, json_key(m)))
            json_add(patch, json_key(m), json_null(a));
    JSON_FOREACH(m, y)
        if (!json_equal(json_get_str(x, json_key(m)), m))
            json_add(patch, json_key(m), diff(a, json_get_str(x, json_key(m)), m));
    return patch;
}

static void merge_patch_laws(void **state)
{
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        struct random r = { seed };
        autoarena a = { 0 };
        struct json *x = random_tree(&a, &r, 4, false), *y = random_tree(&a, &r, 4, false);
        struct json *patch = random_tree(&a, &r, 4, true), *once = json_merge_patch(&a, x, patch);

        if (!json_equal(json_merge_patch(&a, once, patch), once))
            fail_msg("seed %llu: twice is not once", (unsigned long long)seed);
        if (json_is(x, JSON_OBJECT) && !json_equal(json_merge_patch(&a, x, json_object(&a)), x))
            fail_msg("seed %llu: the empty patch changes something", (unsigned long long)seed);
        if (!json_equal(json_merge_patch(&a, x, diff(&a, x, y)), y))
            fail_msg("seed %llu: the difference does not lead there", (unsigned long long)seed);
        if (json_is(patch, JSON_OBJECT))
            JSON_FOREACH(m, patch)
                if ((m->type == JSON_NULL) != !json_get_str(once, json_key(m)))
                    fail_msg("seed %llu: null must delete, others must set", (unsigned long long)seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patches),
        cmocka_unit_test(refuses_what_is_no_patch),
        cmocka_unit_test(limits_patches),
        cmocka_unit_test(limits_work),
        cmocka_unit_test(merges),
        cmocka_unit_test(merges_onto_nothing),
        cmocka_unit_test(last_of_equal_keys_wins),
        cmocka_unit_test(merges_large_objects),
        cmocka_unit_test(merge_patch_laws),
    };

    return cmocka_run_group_tests_name("json/patch", tests, NULL, NULL);
}
