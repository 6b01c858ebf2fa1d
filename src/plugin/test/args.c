/* args.c - how upstream reads odd arguments, and how we do */
#include "jobtest.h"

#include "plugin/plugin_internal.h"

struct sample {
    bool b;
    int64_t port, n;
    struct str s, list, raw, kind;
};

static const char *const kinds[] = { "one", "two", NULL };
static const struct plugin_arg sample_table[] = {
    { "b", ARG_BOOL, offsetof(struct sample, b), "true" },
    { "port", ARG_PORT, offsetof(struct sample, port), "22" },
    { "lax-port", ARG_PORT, offsetof(struct sample, port), "22", NULL, NULL, NULL, true },
    { "n", ARG_INT, offsetof(struct sample, n), "7" },
    { "s", ARG_STR, offsetof(struct sample, s), "def", "other-name" },
    { "list", ARG_LIST, offsetof(struct sample, list), "x" },
    { "raw", ARG_RAW, offsetof(struct sample, raw) },
    { "kind", ARG_STR, offsetof(struct sample, kind), "one", NULL, kinds },
};
static const struct job_plugin sample = {
    .name = "sample",
    .args = sample_table,
    .n_args = ARRAY_LEN(sample_table),
    .args_size = sizeof(struct sample),
};

/* The values as one line: b port n s list kind. */
static const struct {
    const char *list, *want, *problems;
} cases[] = {
    { "[]", "1 22 7 def x one", "" },
    { "null", "1 22 7 def x one", "" },
    /* booleans */
    { "['-b=false']", "0 22 7 def x one", "" },
    { "['--b=False']", "0 22 7 def x one", "" },
    { "['--b=F']", "0 22 7 def x one", "" },
    { "['--b=0']", "0 22 7 def x one", "" },
    { "['--b=false', '--b=T']", "1 22 7 def x one", "" },
    { "['--b=false', '--b']", "1 22 7 def x one", "" },
    { "['--b', 'false']", "0 22 7 def x one",
      "W [0]: plugin sample: argument b: \"false\" is taken as its value; Volcano reads true, and nothing after it: "
      "write "
      "--b=false\n" },
    { "['--b', 'false', '--port=3']", "0 3 7 def x one",
      "W [0]: plugin sample: argument b: \"false\" is taken as its value; Volcano reads true, and nothing after it: "
      "write "
      "--b=false\n" },
    { "['--b', 'no', '--port=3']", "1 3 7 def x one",
      "W [1]: plugin sample: \"no\" is not an argument and is ignored\n" },
    { "['--b=no']", "1 22 7 def x one", "E [0]: plugin sample: argument b: bad value \"no\" (must be true|false)\n" },
    { "['--b=']", "1 22 7 def x one", "E [0]: plugin sample: argument b: bad value \"\" (must be true|false)\n" },
    { "['--b=tRuE']", "1 22 7 def x one",
      "E [0]: plugin sample: argument b: bad value \"tRuE\" (must be true|false)\n" },
    /* numbers */
    { "['--port=23']", "1 23 7 def x one", "" },
    { "['--port', '23']", "1 23 7 def x one", "" },
    { "['--port=0x16']", "1 22 7 def x one", "" },
    { "['--port=0X17']", "1 23 7 def x one", "" },
    { "['--port=022']", "1 22 7 def x one",
      "W [0]: plugin sample: argument port: \"022\" is read as a decimal number; Volcano reads it as octal: write it "
      "without the leading zero\n" },
    { "['--port=+7']", "1 7 7 def x one", "" },
    { "['--n=-10']", "1 22 -10 def x one", "" },
    { "['--n', '-10']", "1 22 -10 def x one", "" },
    { "['--n=-0x10']", "1 22 -16 def x one", "" },
    { "['--n=9223372036854775807']", "1 22 9223372036854775807 def x one", "" },
    { "['--n=9223372036854775808']", "1 22 7 def x one",
      "E [0]: plugin sample: argument n: bad value \"9223372036854775808\" (must be number)\n" },
    { "['--n=1_0']", "1 22 7 def x one", "E [0]: plugin sample: argument n: bad value \"1_0\" (must be number)\n" },
    { "['--n=0x']", "1 22 7 def x one", "E [0]: plugin sample: argument n: bad value \"0x\" (must be number)\n" },
    { "['--n=-']", "1 22 7 def x one", "E [0]: plugin sample: argument n: bad value \"-\" (must be number)\n" },
    { "['--port= 22 ', '--n= 5']", "1 22 5 def x one", "" },
    { "['--port=abc', '--n=1']", "1 22 1 def x one",
      "E [0]: plugin sample: argument port: bad value \"abc\" (must be a port, 1-65535)\n" },
    { "['--port=']", "1 22 7 def x one",
      "E [0]: plugin sample: argument port: bad value \"\" (must be a port, 1-65535)\n" },
    { "['--port=0']", "1 22 7 def x one",
      "E [0]: plugin sample: argument port: bad value \"0\" (must be a port, 1-65535)\n" },
    { "['--port=65536']", "1 22 7 def x one",
      "E [0]: plugin sample: argument port: bad value \"65536\" (must be a port, 1-65535)\n" },
    { "['--port=23,--s=q']", "1 22 7 def x one",
      "E [0]: plugin sample: argument port: bad value \"23,--s=q\" (must be a port, 1-65535)\n" },
    { "['--port']", "1 22 7 def x one",
      "E [0]: plugin sample: argument port: bad value \"\" (the value is missing)\n" },
    { "['--lax-port=70000']", "1 22 7 def x one",
      "W [0]: plugin sample: argument lax-port: 70000 is out of range 1-65535; 22 is used\n" },
    { "['--lax-port=99999999999999999999']", "1 22 7 def x one",
      "W [0]: plugin sample: argument lax-port: 99999999999999999999 is out of range 1-65535; 22 is used\n" },
    { "['--lax-port=x']", "1 22 7 def x one",
      "E [0]: plugin sample: argument lax-port: bad value \"x\" (must be a port, 1-65535)\n" },
    /* text */
    { "['--s=']", "1 22 7  x one", "" },
    { "['--s', '--port=3']", "1 22 7 --port=3 x one", "" },
    { "['--s=a=b']", "1 22 7 a=b x one", "" },
    { "['--s=a', '-s=b']", "1 22 7 b x one", "" },
    { "[' --s= a ']", "1 22 7 a x one", "" },
    { "['--s']", "1 22 7 def x one", "E [0]: plugin sample: argument s: bad value \"\" (the value is missing)\n" },
    { "['--otherName=q', '--OTHER_NAME=r']", "1 22 7 r x one", "" },
    { "['--kind=two']", "1 22 7 def x two", "" },
    { "['--kind=three']", "1 22 7 def x one",
      "E [0]: plugin sample: argument kind: bad value \"three\" (must be one|two)\n" },
    { "['--list=a', '--list=b,c', '--list=']", "1 22 7 def a,b,c one", "" },
    /* things that are no flag */
    { "['---s=1']", "1 22 7 def x one",
      "W [0]: plugin sample: unknown argument \"-s\" is ignored; did you mean --s?\n" },
    { "['-=x', '--n=1']", "1 22 1 def x one", "W [0]: plugin sample: unknown argument \"\" is ignored\n" },
    { "['--', '--n=1']", "1 22 1 def x one", "" },
    { "['-', '--n=1']", "1 22 1 def x one", "W [0]: plugin sample: \"-\" is not an argument and is ignored\n" },
    { "['x', '--n=1']", "1 22 1 def x one", "W [0]: plugin sample: \"x\" is not an argument and is ignored\n" },
    { "['', '--n=1']", "1 22 1 def x one", "W [0]: plugin sample: \"\" is not an argument and is ignored\n" },
    { "[' --port=23']", "1 23 7 def x one", "" },
    { "['--Port=5']", "1 5 7 def x one", "" },
    { "['-h', '--help', '--n=1']", "1 22 1 def x one", "" },
    { "['--no-root', '--n=1']", "1 22 1 def x one", "W [0]: plugin sample: unknown argument \"no-root\" is ignored\n" },
    { "['--lax-prot=5']", "1 22 7 def x one",
      "W [0]: plugin sample: unknown argument \"lax-prot\" is ignored; did you mean --lax-port?\n" },
    /* wrong types */
    { "[5, '--n=1']", "1 22 1 def x one",
      "E [0]: plugin sample: arguments must be strings, not number (write it in quotes)\n" },
    { "['--n', 1]", "1 22 7 def x one",
      "E [0]: plugin sample: argument n: bad value \"\" (the value is missing)\n"
      "E [1]: plugin sample: arguments must be strings, not number (write it in quotes)\n" },
    { "'--n=1'", "1 22 7 def x one", "E : plugin sample: arguments must be a list of strings, not string\n" },
    { "{n: 1}", "1 22 7 def x one", "E : plugin sample: arguments must be a list of strings, not object\n" },
};

static void parse(struct jobtest *t, const char *yaml, struct sample *ret, bool *given)
{
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };
    struct place at = { 0 };

    t->ps = (struct problems){ .arena = &t->a };
    if (yaml_parse(&t->a, str_of(yaml), NULL, &docs, &e) < 0)
        fail_msg("%s: %s", yaml, e.text);
    at.node = docs.n ? docs.v[0] : NULL;
    plugin_args_parse(&t->a, &(struct plugin_use){ &sample, ret, given }, &at, &t->ps);
}

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autojobtest t = { 0 };
        struct sample v;
        bool given[ARRAY_LEN(sample_table)] = { 0 };
        struct str got;

        parse(&t, cases[i].list, &v, given);
        got = arena_fmt(&t.a, "%d %lld %lld %.*s %.*s %.*s", v.b, (long long)v.port, (long long)v.n, STR_ARG(v.s),
                        STR_ARG(v.list), STR_ARG(v.kind));
        if (strcmp(got.p, cases[i].want) != 0 || strcmp(jobtest_problems(&t), cases[i].problems) != 0)
            fail_msg("%s\n gave  %s\n want  %s\n with  %s\n want  %s", cases[i].list, got.p, cases[i].want,
                     jobtest_problems(&t), cases[i].problems);
    }
}

static void test_given(void **state)
{
    autojobtest t = { 0 };
    struct sample v;
    bool given[ARRAY_LEN(sample_table)] = { 0 };

    (void)state;
    parse(&t, "['--port=22', '--n=bad', '--s', 'def']", &v, given);
    assert_true(given[1]);  /* also when it equals the default */
    assert_false(given[3]); /* not when it could not be read */
    assert_true(given[4]);
    assert_false(given[0]);
}

static void test_raw_is_kept(void **state)
{
    autojobtest t = { 0 };
    struct sample v;
    bool given[ARRAY_LEN(sample_table)] = { 0 };

    (void)state;
    parse(&t, "[\" --raw= a\\nb \\n\"]", &v, given);
    assert_true(str_is(v.raw, " a\nb \n"));
    parse(&t, "['--raw', \"-----BEGIN\\nx\\n\"]", &v, given);
    assert_true(str_is(v.raw, "-----BEGIN\nx\n"));
}

/* A misspelt flag before a key makes the key a stray element; its body must not get into messages. */
static void test_keys_do_not_leak(void **state)
{
    autojobtest t = { 0 };
    struct sample v;
    bool given[ARRAY_LEN(sample_table)] = { 0 };

    (void)state;
    parse(&t, "['--rwa-key', \"-----BEGIN RSA PRIVATE KEY-----\\nSECRETSECRET\\n\", \"word\\nSECRETSECRET\"]", &v,
          given);
    assert_int_equal(t.ps.list.n, 3);
    assert_lacks(jobtest_problems(&t), "SECRET");
}

static void test_long_list(void **state)
{
    autojobtest t = { 0 };
    struct sample v;
    bool given[ARRAY_LEN(sample_table)] = { 0 };
    struct json *list;
    struct place at = { 0 };

    (void)state;
    list = json_array(&t.a);
    for (int i = 0; i < 200000; i++)
        json_push(list, json_str(&t.a, STR("--list=ab")));
    t.ps.arena = &t.a;
    at.node = list;
    plugin_args_parse(&t.a, &(struct plugin_use){ &sample, &v, given }, &at, &t.ps);
    assert_int_equal(v.list.n, 3 * 200000 - 1);
    assert_true(str_starts(v.list, STR("ab,ab,ab")) && str_ends(v.list, STR("ab,ab")));
    assert_true(t.a.used < 100 * 1000 * 1000);
}

static void test_types(void **state)
{
    static const char *const want[] = { "true|false", "port", "port", "number", "text", "list", "text", "one|two" };

    autoarena a = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sample_table); i++)
        assert_true(str_is(plugin_arg_type(&a, &sample_table[i]), want[i]));
}

/* Every default in every table can be read by the code that reads arguments, and every row is documented. */
static void test_real_tables(void **state)
{
    (void)state;
    for (size_t p = 0; p < n_job_plugins; p++)
        for (size_t i = 0; i < job_plugins[p]->n_args; i++) {
            autojobtest t = { 0 };
            const struct plugin_arg *arg = &job_plugins[p]->args[i];
            struct json *list = json_array(&t.a);
            struct place at = { .node = list };
            void *args = arena_zalloc(&t.a, job_plugins[p]->args_size);
            bool *given = arena_array(&t.a, bool, job_plugins[p]->n_args);

            t.ps.arena = &t.a;
            if (!arg->doc || (arg->kind == ARG_PORT && arg->is_lenient && !arg->fallback))
                fail_msg("%s --%s: row is not whole", job_plugins[p]->name, arg->name);
            if (arg->fallback)
                json_push(list, json_fmt(&t.a, "--%s=%s", arg->name, arg->fallback));
            plugin_args_parse(&t.a, &(struct plugin_use){ job_plugins[p], args, given }, &at, &t.ps);
            if (t.ps.list.n || (arg->fallback && !given[i]))
                fail_msg("%s --%s: %s", job_plugins[p]->name, arg->name, jobtest_problems(&t));
        }
}

/* Random lists of flag-like pieces: never a crash, and elements after a bad one are still read. */
static void test_random(void **state)
{
    static const char *const pieces[] = {
        "-",  "--",   "---",  "b",    "port", "=", "s", "list", "raw", " ", "x", "0x", "9999999999999999999999",
        "\n", "\xff", "true", "kind", "one",  ",", ""
    };
    uint32_t seed = 12345;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        autojobtest t = { 0 };
        struct sample v;
        bool given[ARRAY_LEN(sample_table)] = { 0 };
        struct json *list = json_array(&t.a);
        struct place at = { .node = list };

        for (int i = 0; i < 6; i++) {
            struct str text = STR_NULL;

            for (int k = 0; k < 4; k++) {
                seed = seed * 1664525 + 1013904223;
                text = arena_cat(&t.a, text, str_of(pieces[(seed >> 16) % ARRAY_LEN(pieces)]));
            }
            json_push(list, json_str(&t.a, text));
        }
        json_push(list, json_str(&t.a, STR("--")));
        json_push(list, json_str(&t.a, STR("--n=42")));
        t.ps.arena = &t.a;
        plugin_args_parse(&t.a, &(struct plugin_use){ &sample, &v, given }, &at, &t.ps);
        assert_int_equal(v.n, 42);
        assert_in_range(v.port, 1, 65535);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),       cmocka_unit_test(test_given),
        cmocka_unit_test(test_raw_is_kept), cmocka_unit_test(test_keys_do_not_leak),
        cmocka_unit_test(test_long_list),   cmocka_unit_test(test_types),
        cmocka_unit_test(test_real_tables), cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
