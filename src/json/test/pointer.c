/* pointer.c - tests of RFC 6901 pointers and of paths as people write them */
#include "json/json.h"

#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

/* Values say what the right answer is; the odd keys are those of RFC 6901, chapter 5. */
static const char doc_text[] =
    "{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,\"g|h\":4,\"i\\\\j\":5,\"k\\\"l\":6,\" \":7,"
    "\"m~n\":8,\"~1\":9,\"-\":10,\"0\":11,\"deep\":{\"list\":[[],[{\"x\":12}]]},"
    "\"labels\":{\"app.kubernetes.io/name\":\"web\",\"\":\"empty\"},\"01\":13}";

struct point_case {
    const char *in, *want; /* compact text of the node; NULL: an error */
    enum err_code code;
};

static const struct point_case pointer_cases[] = {
    { "/foo", "[\"bar\",\"baz\"]", ERR_OK },
    { "/foo/0", "\"bar\"", ERR_OK },
    { "/foo/1", "\"baz\"", ERR_OK },
    { "/", "0", ERR_OK },
    { "/a~1b", "1", ERR_OK },
    { "/c%d", "2", ERR_OK },
    { "/e^f", "3", ERR_OK },
    { "/g|h", "4", ERR_OK },
    { "/i\\j", "5", ERR_OK },
    { "/k\"l", "6", ERR_OK },
    { "/ ", "7", ERR_OK },
    { "/m~0n", "8", ERR_OK },
    { "/~01", "9", ERR_OK }, /* ~01 is "~1", never "/" */
    { "/-", "10", ERR_OK },
    { "/0", "11", ERR_OK },
    { "/01", "13", ERR_OK }, /* a member may look like a bad index */
    { "/deep/list/1/0/x", "12", ERR_OK },
    { "/deep/list/0", "[]", ERR_OK },
    { "/labels/app.kubernetes.io~1name", "\"web\"", ERR_OK },
    { "/labels/", "\"empty\"", ERR_OK },
    { "/foo/2", NULL, ERR_NOT_FOUND },
    { "/foo/-", NULL, ERR_NOT_FOUND },
    { "/foo/00", NULL, ERR_NOT_FOUND },
    { "/foo/01", NULL, ERR_NOT_FOUND },
    { "/foo/-1", NULL, ERR_NOT_FOUND },
    { "/foo/+1", NULL, ERR_NOT_FOUND },
    { "/foo/1e0", NULL, ERR_NOT_FOUND },
    { "/foo/", NULL, ERR_NOT_FOUND },
    { "/foo/99999999999999999999", NULL, ERR_NOT_FOUND },
    { "/foo/0/x", NULL, ERR_NOT_FOUND },
    { "/nope", NULL, ERR_NOT_FOUND },
    { "/nope/deeper", NULL, ERR_NOT_FOUND },
    { "/a~1", NULL, ERR_NOT_FOUND },
    { "/a~1bc", NULL, ERR_NOT_FOUND },
    { "foo", NULL, ERR_SYNTAX },
    { "#/foo", NULL, ERR_SYNTAX },
    { "/m~n", NULL, ERR_SYNTAX },
    { "/m~", NULL, ERR_SYNTAX },
    { "/m~2", NULL, ERR_SYNTAX },
};

static const struct point_case path_cases[] = {
    { "foo", "[\"bar\",\"baz\"]", ERR_OK },
    { "foo[1]", "\"baz\"", ERR_OK },
    { "[foo][1]", "\"baz\"", ERR_OK },
    { "deep.list[1][0].x", "12", ERR_OK },
    { "deep[list][1][0][x]", "12", ERR_OK },
    { "labels[app.kubernetes.io/name]", "\"web\"", ERR_OK },
    { "labels[]", "\"empty\"", ERR_OK },
    { "a/b", "1", ERR_OK },
    { "[a/b]", "1", ERR_OK },
    { "-", "10", ERR_OK },
    { "foo[2]", NULL, ERR_NOT_FOUND },
    { "foo.bar", NULL, ERR_NOT_FOUND },
    { "nope", NULL, ERR_NOT_FOUND },
    { "foo[0].x", NULL, ERR_NOT_FOUND },
    { "foo[0][0]", NULL, ERR_NOT_FOUND },
    { "labels.app.kubernetes.io/name", NULL, ERR_NOT_FOUND },
    { "foo[x]", NULL, ERR_SYNTAX },
    { "foo[]", NULL, ERR_SYNTAX },
    { "foo[01]", NULL, ERR_SYNTAX },
    { "foo[-1]", NULL, ERR_SYNTAX },
    { "foo[0", NULL, ERR_SYNTAX },
    { "foo[0]x", NULL, ERR_SYNTAX },
    { "foo..x", NULL, ERR_SYNTAX },
    { "nope.x[", NULL, ERR_SYNTAX },
    { "deep..x", NULL, ERR_SYNTAX },
    { "deep.", NULL, ERR_SYNTAX },
    { ".deep", NULL, ERR_SYNTAX },
    { "deep.[list]", NULL, ERR_SYNTAX },
};

typedef struct json *point_f(struct json *root, struct str text, struct err *e);

static void run_cases(const struct point_case *cases, size_t n, point_f *point)
{
    autoarena a = { 0 };
    struct json *root;

    assert_int_equal(json_parse(&a, str_of(doc_text), NULL, &root, NULL), 0);
    assert_ptr_equal(point(root, STR(""), NULL), root);
    assert_ptr_equal(point(root, STR_NULL, NULL), root);
    for (size_t i = 0; i < n; i++) {
        const struct point_case *c = &cases[i];
        autofree char *exact = xmalloc(strlen(c->in)); /* no NUL to lean on */
        autobuf out = { 0 };
        struct err e = { 0 };
        struct json *j;

        memcpy(exact, c->in, strlen(c->in));
        j = point(root, (struct str){ exact, strlen(c->in) }, &e);
        if (e.code != c->code || !j != !c->want)
            fail_msg("%s: %s %s", c->in, err_code_name(e.code), e.text);
        assert_int_equal(!j, !point(root, str_of(c->in), NULL));
        if (!j && !str_has(str_of(e.text), str_of(c->in)))
            fail_msg("%s: the message does not name it: %s", c->in, e.text);
        if (!j)
            continue;
        json_print(&out, j);
        assert_string_equal(out.p, c->want);
    }
}

static void follows_pointers(void **state)
{
    run_cases(pointer_cases, ARRAY_LEN(pointer_cases), json_pointer);
}

static void follows_paths(void **state)
{
    run_cases(path_cases, ARRAY_LEN(path_cases), json_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_pointers),
        cmocka_unit_test(follows_paths),
    };

    return cmocka_run_group_tests_name("json/pointer", tests, NULL, NULL);
}
