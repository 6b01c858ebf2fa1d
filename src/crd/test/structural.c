/* structural.c - objects by the schema of a definition, and paths into them */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "crd/custom.h"
#include "json/test/quoted.h"

static struct arena arena;

#define SCHEMA                                                                                                         \
    "{'type':'object','required':['n'],'properties':{'n':{'type':'integer','minimum':1,'maximum':3},"                  \
    "'s':{'type':'string','default':'x','enum':['x','y']},'p':{'type':'string','pattern':'^[a-z]+$'},"                 \
    "'list':{'type':'array','maxItems':2,'x-kubernetes-list-type':'set','items':{'type':'string'}},"                   \
    "'map':{'type':'object','additionalProperties':{'type':'integer'}},"                                               \
    "'sub':{'type':'object','properties':{'d':{'type':'integer','default':7}}},"                                       \
    "'free':{'type':'object','x-kubernetes-preserve-unknown-fields':true,'properties':{'k':{'type':'string'}}},"       \
    "'any':{'x-kubernetes-int-or-string':true},'time':{'type':'string','format':'date-time'},"                         \
    "'one':{'type':'object','properties':{'a':{'type':'integer'},'b':{'type':'integer'}},"                             \
    "'oneOf':[{'required':['a']},{'required':['b']}]},'null':{'type':'string','nullable':true}}}"

static const struct {
    const char *object, *after, *wrong; /* pruned and defaulted; NULL: as it was; the first problem; NULL: none */
} rows[] = {
    { "{'n':1,'s':'y'}", NULL, NULL },
    { "{'n':1}", "{'n':1,'s':'x'}", NULL },
    { "{'n':2,'s':'y','odd':1,'sub':{'odd':2}}", "{'n':2,'s':'y','sub':{'d':7}}", NULL },
    { "{'n':2,'s':'y','free':{'odd':{'more':1},'k':'v'}}", NULL, NULL },
    { "{'n':2,'s':'y','map':{'a':1}}", NULL, NULL },
    { "{'n':2,'s':'y','null':null,'any':'80'}", NULL, NULL },
    { "{'n':2,'s':null}", "{'n':2,'s':'x'}", NULL },
    { "{'s':'y'}", NULL, "n: is required" },
    { "{'n':0,'s':'y'}", NULL, "n: should be greater than or equal to 1" },
    { "{'n':4,'s':'y'}", NULL, "n: should be less than or equal to 3" },
    { "{'n':1.5,'s':'y'}", NULL, "n: must be of type integer: \"number\"" },
    { "{'n':1,'s':'z'}", NULL, "s: supported values: \"x\", \"y\" (got \"z\")" },
    { "{'n':1,'s':'y','p':'A'}", NULL, "p: should match '^[a-z]+$'" },
    { "{'n':1,'s':'y','list':['a','a']}", NULL, "list[1]: there is another with the same value" },
    { "{'n':1,'s':'y','list':['a','b','c']}", NULL, "list: Too many: 3: must have at most 2 items" },
    { "{'n':1,'s':'y','map':{'a':'b'}}", NULL, "map.a: must be of type integer: \"string\"" },
    { "{'n':1,'s':'y','free':{'k':1}}", NULL, "free.k: must be of type string: \"number\"" },
    { "{'n':1,'s':'y','any':true}", NULL, "any: must be a whole number or a string, not boolean" },
    { "{'n':1,'s':'y','time':'noon'}", NULL, "time: " },
    { "{'n':1,'s':'y','one':{'a':1,'b':2}}", NULL,
      "one: must validate one and only one schema (oneOf). Found more than one" },
    { "{'n':1,'s':'y','one':{}}", NULL, "one: must validate one and only one schema (oneOf). Found none valid" },
    { "[]", NULL, ": must be of type object: \"array\"" },
};

static void objects(void **state)
{
    const struct json *schema = tree(&arena, SCHEMA);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json *object = tree(&arena, rows[i].object);
        struct place root = { .node = object };
        struct problems ps = { .arena = &arena };
        struct str first;

        structural_prune(schema, object);
        structural_default(&arena, schema, object);
        assert_string_equal(text_of(&arena, object), rows[i].after ? rows[i].after : rows[i].object);
        structural_check(schema, &root, &ps);
        first = ps.n_errors ? arena_fmt(&arena, "%.*s: %.*s", STR_ARG(ps.list.v[0].path), STR_ARG(ps.list.v[0].text))
                            : STR("");
        if (!str_starts(first, str_of(rows[i].wrong ? rows[i].wrong : "")) || !rows[i].wrong != !ps.n_errors)
            fail_msg("%s: %.*s", rows[i].object, STR_ARG(first));
    }
    arena_reset(&arena);
}

static void unknown(void **state)
{
    const struct json *schema = tree(&arena, SCHEMA),
                      *object = tree(&arena, "{'n':1,'odd':1,'sub':{'x':1},'free':{'y':1}}");
    struct place root = { .node = object };
    struct problems ps = { .arena = &arena };

    (void)state;
    structural_unknown(schema, &root, &ps);
    assert_int_equal(ps.list.n, 2);
    assert_true(str_is(ps.list.v[0].path, "odd") && str_is(ps.list.v[1].path, "sub.x"));
    arena_reset(&arena);
}

static void paths(void **state)
{
    static const struct {
        const char *path, *value; /* "": nothing is found; NULL: it is no path */
    } cases[] = {
        { ".a.b", "1" },
        { ".a['b']", "1" },
        { ".list[0].n", "5" },
        { ".list[-1].n", "6" },
        { ".list[*].n", "5" },
        { ".list[?(@.t==\"y\")].n", "6" },
        { ".list[?(@.t=='z')].n", "" },
        { ".list[9].n", "" },
        { ".a.none.deeper", "" },
        { ".m['x.y/z']", "7" },
        { ".m.x\\.y/z", "7" },
        { "a.b", NULL },
        { "", NULL },
        { ".a[", NULL },
        { ".a[x]", NULL },
        { ".a..b", NULL },
        { ".list[?(@.t)]", NULL },
    };
    const struct json *root = tree(&arena, "{'a':{'b':1},'list':[{'t':'x','n':5},{'t':'y','n':6}],'m':{'x.y/z':7}}");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct json *found = jsonpath_find(root, str_of(cases[i].path));

        if (jsonpath_is_good(str_of(cases[i].path)) != !!cases[i].value)
            fail_msg("%s: is it a path?", cases[i].path);
        if (cases[i].value && strcmp(found ? text_of(&arena, found) : "", cases[i].value) != 0)
            fail_msg("%s: found %s", cases[i].path, found ? text_of(&arena, found) : "nothing");
    }
    arena_reset(&arena);
}

static int tear_down(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(objects), cmocka_unit_test(unknown), cmocka_unit_test(paths) };

    return cmocka_run_group_tests(tests, NULL, tear_down);
}
