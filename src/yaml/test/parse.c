/* parse.c - reading manifests: shapes, scalars, anchors, merge keys, errors, hostile input */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "yaml/yaml.h"

#include "base/util.h"

/* All documents as compact JSON, a blank between two. */
static void show(struct buf *out, const struct yaml_docs *docs)
{
    for (size_t i = 0; i < docs->n; i++) {
        if (i)
            buf_char(out, ' ');
        json_print(out, docs->v[i]);
    }
    buf_append(out, "", 0);
}

/* Input and the JSON it means. The expectations are what Kubernetes' reader answers, unless the comment says. */
static const struct {
    const char *in, *want;
} good[] = {
    { "", "" },
    { "# nothing\n", "" },
    { "---\n", "" },
    { "---\n---\n# x\n---\na: 1\n---\n", "{\"a\":1}" },
    { "a: 1\n---\nb: 2\n...\n---\n- c\n", "{\"a\":1} {\"b\":2} [\"c\"]" },
    { "--- ~\n", "null" },
    { "--- \"\"\n", "\"\"" },
    { "\xef\xbb\xbf"
      "a: 1",
      "{\"a\":1}" },
    { "a:\r\n- b\r\n- c\r\n", "{\"a\":[\"b\",\"c\"]}" },
    { "a: {b: [1, 'x', ~]}\n", "{\"a\":{\"b\":[1,\"x\",null]}}" },
    { "a: yes\nb: No\nc: 'yes'\nd: \"1\"\ne: y\n", "{\"a\":true,\"b\":false,\"c\":\"yes\",\"d\":\"1\",\"e\":\"y\"}" },
    { "a: 0777\nb: 08\nc: 1e3\nd: 1:30\ne: 2001-01-01\nf: 1e400\n",
      "{\"a\":511,\"b\":8,\"c\":1000,\"d\":\"1:30\",\"e\":\"2001-01-01\",\"f\":\"1e400\"}" },
    { "a: 123456789012345678901234567890\n", "{\"a\":123456789012345678901234567890}" }, /* exact, there: 1.2e+29 */
    { "a: |\n  x\n  y\nb: >-\n  x\n  y\n", "{\"a\":\"x\\ny\\n\",\"b\":\"x y\"}" },
    { "1: a\nyes: b\n0x10: c\n1.50: d\n1e6: e\n.inf: f\n-.INF: g\n",
      "{\"1\":\"a\",\"true\":\"b\",\"16\":\"c\",\"1.5\":\"d\",\"1e+06\":\"e\",\".inf\":\"f\",\"-.inf\":\"g\"}" },
    { "\"\": a\n'~': b\n", "{\"\":\"a\",\"~\":\"b\"}" },
    { "a: !!str 5\nb: !!int '5'\nc: !!float 5\nd: !!bool \"yes\"\ne: !!null ''\nf: ! 5\ng: !local 5\n",
      "{\"a\":\"5\",\"b\":5,\"c\":5,\"d\":true,\"e\":null,\"f\":\"5\",\"g\":\"5\"}" },
    { "a: !!binary aGk=\nb: !!binary |\n  aGVs\n  bG8=\n", "{\"a\":\"hi\",\"b\":\"hello\"}" },
    { "a: !!set {b, c}\nd: !x [e]\n", "{\"a\":{\"b\":null,\"c\":null},\"d\":[\"e\"]}" },
    { "a: !!float 1e400\n", "{\"a\":1e400}" }, /* ours: what the printer writes for such a number */
    { "a: &x {b: 1}\nc: *x\nd: [*x, *x]\n", "{\"a\":{\"b\":1},\"c\":{\"b\":1},\"d\":[{\"b\":1},{\"b\":1}]}" },
    { "a: &x 1\nb: &x 2\nc: *x\n", "{\"a\":1,\"b\":2,\"c\":2}" },
    { "&k a: 1\nb: *k\n*k2 : 1\n", NULL },
    { "&k a: &v b\n*v : *k\n", "{\"a\":\"b\",\"b\":\"a\"}" },
    { "a: &f 1e6\n*f : x\n", "{\"a\":1000000,\"1e+06\":\"x\"}" },
    { "a: &x [&x 1, *x]\nb: *x\n", "{\"a\":[1,1],\"b\":1}" },
    { "<<: {a: 2, b: 3}\na: 1\n", "{\"b\":3,\"a\":1}" },
    { "a: 1\n<<: {a: 2, b: 3}\n", "{\"a\":1,\"b\":3}" }, /* there the merged value wins when the '<<' comes later */
    { "x: &x {a: 1}\nw: &y {a: 2, b: 2}\nz: {<<: [*x, *y]}\n",
      "{\"x\":{\"a\":1},\"w\":{\"a\":2,\"b\":2},\"z\":{\"a\":1,\"b\":2}}" },
    { "<<: {a: 1, c: 3}\n<<: {a: 2}\n", "{\"c\":3,\"a\":2}" },
    { "a: {<<: &x {k: [1]}}\nb: {<<: *x, l: 2}\nc: *x\n",
      "{\"a\":{\"k\":[1]},\"b\":{\"k\":[1],\"l\":2},\"c\":{\"k\":[1]}}" },
    { "x: &x {a: 1}\nw: &y {<<: *x, b: 2}\nz: {<<: *y, c: 3}\n",
      "{\"x\":{\"a\":1},\"w\":{\"a\":1,\"b\":2},\"z\":{\"a\":1,\"b\":2,\"c\":3}}" },
    { "'<<': {a: 1}\n", "{\"<<\":{\"a\":1}}" },
    { "a: <<\n", "{\"a\":\"<<\"}" },
    { "<<: []\na: 1\n", "{\"a\":1}" },
    { "{\"a\": [1, 1.0, \"\\ud83d\\ude00\"], \"b\":{}}", "{\"a\":[1,1.0,\"\xf0\x9f\x98\x80\"],\"b\":{}}" },
    { "{a: 1}", "{\"a\":1}" },
    { "a: \"\\0\\x41\\u00e9\"\n", "{\"a\":\"\\u0000A\xc3\xa9\"}" },
};

static void test_good(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        autoarena a = { 0 };
        autobuf got = { 0 };
        struct yaml_docs docs = { 0 };
        struct err e = { 0 };

        if (!good[i].want) {
            assert_int_equal(yaml_parse(&a, str_of(good[i].in), NULL, &docs, &e), -1);
            continue;
        }
        if (yaml_parse(&a, str_of(good[i].in), NULL, &docs, &e) < 0)
            fail_msg("'%s': %s", good[i].in, e.text);
        show(&got, &docs);
        if (!str_is(buf_view(&got), good[i].want))
            fail_msg("'%s': got %s", good[i].in, got.p);
    }
}

static const struct {
    const char *in;
    enum err_code code;
    const char *want; /* part of the message */
} bad[] = {
    { "a:\n\tb: 1\n", ERR_SYNTAX, "j.yaml: line 2, column 1: found a tab where indentation is expected" },
    { "a: 1\n  b: 2\n", ERR_SYNTAX, "line 2, column 4: found ':' where no key can be" },
    { "a: [1\nb: 2\n", ERR_SYNTAX,
      "line 2, column 2: did not find expected ',' or ']' (while parsing a flow sequence that begins in line 1)" },
    { "a: *\n", ERR_SYNTAX, "line 1, column 5: expected a name after '*' or '&'" },
    { "a: @x\n", ERR_SYNTAX, "line 1, column 4: '@' cannot begin a word" },
    { "a: %x\n", ERR_SYNTAX, "line 1, column 4: '%' cannot begin a word" },
    { "- a\nb: 1\n", ERR_SYNTAX, "line 2, column 1: did not find expected '-' indicator" },
    { "a: \"x\" // why\nb: 1\n", ERR_SYNTAX, "line 1, column 8: '//' does not start a comment in YAML; use '#'" },
    { "a: 1\n...b\nc: 2\n", ERR_SYNTAX, "line 2, column 1: expected 'key: value' or a comment (#)" },
    { "a:\n  b: {}\n  ...\n", ERR_SYNTAX, "line 3, column 3: expected 'key: value' or a comment (#)" },
    { "a: 'x\n", ERR_SYNTAX, "found unexpected end of stream" },
    { "a: \"\\q\"\n", ERR_SYNTAX, "found unknown escape character" },
    { "a: b\x01\n", ERR_SYNTAX, "line 1, column 5: control characters are not allowed" },
    { "a: 1\n\xc3\xa9: \xff\n", ERR_SYNTAX, "line 2, column 4: not UTF-8 text" },
    { "\xff\xfe"
      "a",
      ERR_SYNTAX, "j.yaml: file is UTF-16; save it as UTF-8" },
    { "a: *x\n", ERR_INVALID, "line 1, column 4: *x: no anchor &x before it" },
    { "a: &x 1\n---\nb: *x\n", ERR_INVALID, "line 3, column 4: *x: no anchor" },
    { "a: &x [*x]\n", ERR_INVALID, "line 1, column 8: alias *x refers to a value that contains it" },
    { "a: &x {<<: *x}\n", ERR_INVALID, "refers to a value that contains it" },
    { "a: 1\nb: 2\na: 3\n", ERR_INVALID, "line 3, column 1: duplicate key \"a\"" },
    { "1: a\n'1': b\n", ERR_INVALID, "line 2, column 1: duplicate key \"1\"" },
    { "~: a\n", ERR_INVALID, "line 1, column 1: a key must not be null" },
    { "? [a]\n: b\n", ERR_INVALID, "a list or mapping cannot be a key" },
    { "a: &x [1]\n*x : b\n", ERR_INVALID, "line 2, column 1: a list or mapping cannot be a key" },
    { "<<: 5\n", ERR_INVALID, "'<<' needs a mapping" },
    { "<<: [{}, 1]\n", ERR_INVALID, "'<<' needs a mapping" },
    { "a: .inf\n", ERR_INVALID, "line 1, column 4: .inf is not a number JSON can hold" },
    { "a: .NaN\n", ERR_INVALID, ".NaN is not a number" },
    { "a: !!float .nan\n", ERR_INVALID, ".nan is not a number" },
    { "a: !!int x\n", ERR_INVALID, "\"x\" is not a value for !!int" },
    { "a: !!int 1.5\n", ERR_INVALID, "\"1.5\" is not a value for !!int" },
    { "a: !!null x\n", ERR_INVALID, "not a value for !!null" },
    { "a: !!binary '%'\n", ERR_INVALID, "line 1, column 4: !!binary: not base64" },
    { "a: !!binary /w==\n", ERR_INVALID, "not UTF-8 text" },
};

static void test_bad(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        autoarena a = { 0 };
        struct yaml_options opt = { .file = "j.yaml" };
        struct yaml_docs docs = { 0 };
        struct err e = { 0 };

        if (yaml_parse(&a, str_of(bad[i].in), &opt, &docs, &e) == 0)
            fail_msg("'%s': taken", bad[i].in);
        if (e.code != bad[i].code || !str_has(str_of(e.text), str_of(bad[i].want)))
            fail_msg("'%s': %d %s", bad[i].in, e.code, e.text);
        if (!str_starts(str_of(e.text), STR("j.yaml: ")))
            fail_msg("'%s': no file name: %s", bad[i].in, e.text);
        assert_int_equal(yaml_parse(&a, str_of(bad[i].in), NULL, &docs, NULL), -1); /* nobody asks why */
    }
}

static void test_positions(void **state)
{
    autoarena a = { 0 };
    struct yaml_docs docs;
    struct json *root, *list, *copy;

    assert_int_equal(
        yaml_parse(&a, STR("# x\na:\n  b: &x {c: 1}\n  list:\n  - one\n  - d: 1\n  \xc3\xa9: *x\n"), NULL, &docs, NULL),
        0);
    root = docs.v[0];
    assert_int_equal(root->line, 2);
    assert_int_equal(root->col, 1);
    assert_int_equal(json_find(root, "a", "b", NULL)->line, 3);
    assert_int_equal(json_find(root, "a", "b", NULL)->col, 3); /* of the key */
    list = json_find(root, "a", "list", NULL);
    assert_int_equal(json_at(list, 0)->line, 5);
    assert_int_equal(json_at(list, 0)->col, 5); /* of the value */
    assert_int_equal(json_at(list, 1)->col, 5);
    copy = json_find(root, "a", "\xc3\xa9", NULL);
    assert_int_equal(copy->line, 7);
    assert_int_equal(copy->col, 3);
    assert_int_equal(json_get(copy, "c")->line, 3); /* where it really stands */
}

struct dups {
    size_t n;
    struct json_duplicate last;
};

static void on_duplicate(void *ctx, struct json_duplicate dup)
{
    struct dups *d = ctx;

    d->n++;
    d->last = dup;
}

static void test_duplicates_last_wins(void **state)
{
    autoarena a = { 0 };
    autobuf got = { 0 }, big = { 0 };
    struct dups dups = { 0 };
    struct yaml_options opt = { .on_duplicate = on_duplicate, .ctx = &dups };
    struct yaml_docs docs;

    assert_int_equal(yaml_parse(&a, STR("a: 1\nb: 2\na: 3\n<<: {b: 9}\n  # x\na: 4\n"), &opt, &docs, NULL), 0);
    show(&got, &docs);
    assert_string_equal(got.p, "{\"b\":2,\"a\":4}");
    assert_int_equal(dups.n, 2);
    assert_int_equal(dups.last.line, 6);
    assert_int_equal(dups.last.col, 1);
    assert_true(str_is(dups.last.key, "a"));

    dups.n = 0; /* the path for large mappings, each key three times */
    for (int i = 0; i < 3000; i++)
        buf_fmt(&big, "k%d: %d\n", i % 1000, i);
    assert_int_equal(yaml_parse(&a, buf_view(&big), &opt, &docs, NULL), 0);
    assert_int_equal(dups.n, 2000);
    assert_int_equal(json_count(docs.v[0]), 1000);
    assert_int_equal(json_i64(json_get(docs.v[0], "k7"), 0), 2007);
}

/* ---- hostile input: refused, and the test ends ---- */

static void repeat(struct buf *b, const char *s, size_t times)
{
    while (times--)
        buf_str(b, str_of(s));
}

static void make_laughs(struct buf *b)
{
    buf_str(b, STR("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"));
    for (int i = 1; i < 12; i++) {
        buf_fmt(b, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++)
            buf_fmt(b, "*a%d,", i - 1);
        buf_str(b, STR("]\n"));
    }
}

static void make_merge_laughs(struct buf *b)
{
    buf_str(b, STR("a0: &a0 {x: [1,2,3,4]}\n"));
    for (int i = 1; i < 40; i++)
        buf_fmt(b, "a%d: &a%d {p%d: *a%d, q%d: {<<: *a%d}}\n", i, i, i, i - 1, i, i - 1);
}

static void make_deep_by_alias(struct buf *b)
{
    buf_str(b, STR("a0: &a0 [x]\n"));
    for (int i = 1; i < 400; i++)
        buf_fmt(b, "a%d: &a%d [*a%d]\n", i, i, i - 1);
}

static void make_quadratic_text(struct buf *b)
{
    buf_str(b, STR("- &a "));
    repeat(b, "x", 1 << 20);
    buf_char(b, '\n');
    repeat(b, "- *a\n", 200);
}

static void make_merge_list(struct buf *b)
{
    buf_str(b, STR("a: &a {k1: 1, k2: 2, k3: 3}\nb:\n  <<: ["));
    repeat(b, "*a,", 200000);
    buf_str(b, STR("]\n"));
}

static void make_many_merges(struct buf *b)
{
    buf_str(b, STR("a: &a {k1: 1, k2: 2, k3: 3}\nb:\n"));
    repeat(b, "  <<: *a\n", 200000);
}

static void make_staircase(struct buf *b)
{
    for (size_t i = 0; i < 2000; i++) {
        buf_repeat(b, ' ', i);
        buf_str(b, STR("a:\n"));
    }
}

static void make_many_values(struct buf *b)
{
    buf_char(b, '[');
    repeat(b, "1,", 500000);
    buf_char(b, ']');
}

/* Not refused, but must not cost the square of it: each name is looked for. */
static void make_anchors(struct buf *b)
{
    for (int i = 0; i < 100000; i++)
        buf_fmt(b, "- &a%d x\n", i);
    for (int i = 0; i < 100000; i++)
        buf_fmt(b, "- *a%d\n", i);
}

static void test_hostile(void **state)
{
    static const struct {
        const char *name, *unit; /* repeated to a million bytes, or made by 'make' */
        void (*make)(struct buf *b);
        enum err_code code;
    } rows[] = {
        { "[", "[", NULL, ERR_TOO_BIG },
        { "{", "{", NULL, ERR_INVALID },
        { "{a: ", "{a: ", NULL, ERR_TOO_BIG },
        { "- ", "- ", NULL, ERR_TOO_BIG },
        { "? ", "? ", NULL, ERR_INVALID },
        { "a: ", "a: ", NULL, ERR_SYNTAX },
        { "%TAG", "%TAG !a! b\n", NULL, ERR_TOO_BIG },
        { "values", NULL, make_many_values, ERR_TOO_BIG },
        { "anchors", NULL, make_anchors, ERR_OK },
        { "laughs", NULL, make_laughs, ERR_TOO_BIG },
        { "merge laughs", NULL, make_merge_laughs, ERR_TOO_BIG },
        { "deep by alias", NULL, make_deep_by_alias, ERR_TOO_BIG },
        { "quadratic text", NULL, make_quadratic_text, ERR_TOO_BIG },
        { "merge list", NULL, make_merge_list, ERR_TOO_BIG },
        { "many merges", NULL, make_many_merges, ERR_TOO_BIG },
        { "staircase", NULL, make_staircase, ERR_TOO_BIG },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autoarena a = { 0 };
        autobuf b = { 0 };
        struct yaml_docs docs;
        struct err e = { 0 };

        if (rows[i].make)
            rows[i].make(&b);
        else
            repeat(&b, rows[i].unit, 1000000 / strlen(rows[i].unit));
        /* Fewer nodes than by default: the same refusal, ten times sooner. */
        if (yaml_parse(&a, buf_view(&b), &(struct yaml_options){ .max_nodes = 400000 }, &docs, &e) !=
                (rows[i].code ? -1 : 0) ||
            e.code != rows[i].code)
            fail_msg("%s: %d %s", rows[i].name, e.code, e.text);
    }
}

static void test_limits(void **state)
{
    autoarena a = { 0 };
    autobuf big = { 0 }, deep = { 0 };
    struct yaml_docs docs;
    struct err e;

    buf_repeat(&big, '#', (64 << 20) + 1);
    assert_int_equal(yaml_parse(&a, buf_view(&big), &(struct yaml_options){ .file = "big.yaml" }, &docs, &e), -1);
    assert_string_equal(e.text, "big.yaml: file is larger than 64 MiB");
    assert_int_equal(e.code, ERR_TOO_BIG);
    assert_int_equal(yaml_parse(&a, STR("a: 12345"), &(struct yaml_options){ .max_bytes = 7 }, &docs, &e), -1);
    assert_string_equal(e.text, "file is larger than 7 bytes");

    repeat(&deep, "[", 256);
    repeat(&deep, "]", 256);
    assert_int_equal(yaml_parse(&a, buf_view(&deep), NULL, &docs, &e), 0);
    assert_int_equal(yaml_parse(&a, buf_view(&deep), &(struct yaml_options){ .max_depth = 255 }, &docs, &e), -1);
    assert_int_equal(e.code, ERR_TOO_BIG);

    assert_int_equal(yaml_parse(&a, STR("[1, 2, 3]"), &(struct yaml_options){ .max_nodes = 4 }, &docs, &e), 0);
    assert_int_equal(yaml_parse(&a, STR("[1, 2, 3]"), &(struct yaml_options){ .max_nodes = 3 }, &docs, &e), -1);
    assert_int_equal(e.code, ERR_TOO_BIG);
    assert_int_equal(yaml_parse(&a, STR("{\"a\":[1,2,3]}"), &(struct yaml_options){ .max_nodes = 4 }, &docs, &e), -1);
    assert_int_equal(e.code, ERR_TOO_BIG);
}

/* Every file cut at every byte: an answer or an error, never a crash (the sanitizers watch). */
static void test_cut_anywhere(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        for (size_t n = 0; n < strlen(good[i].in); n++) {
            autoarena a = { 0 };
            struct yaml_docs docs;
            struct err e = { 0 };
            int rc = yaml_parse(&a, (struct str){ good[i].in, n }, NULL, &docs, &e);

            assert_true(rc == 0 || (rc == -1 && e.code != ERR_OK));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),         cmocka_unit_test(test_bad),
        cmocka_unit_test(test_positions),    cmocka_unit_test(test_duplicates_last_wins),
        cmocka_unit_test(test_hostile),      cmocka_unit_test(test_limits),
        cmocka_unit_test(test_cut_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
