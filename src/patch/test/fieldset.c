/* fieldset.c - tests of sets of fields: FieldsV1 both ways, and the laws of sets */
#include "patch/fieldset.h"

#include "base/rand.h"
#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static struct json *parse(struct arena *a, const char *text)
{
    struct json *j;
    struct err e;

    if (json_parse(a, str_of(text), NULL, &j, &e) < 0)
        fail_msg("%s: %s", text, e.text);
    return j;
}

static struct fieldset *decode(struct arena *a, const char *text)
{
    struct fieldset *s = NULL;
    struct err e;

    if (fieldset_decode(a, parse(a, text), &s, &e) < 0)
        fail_msg("%s: %s", text, e.text);
    return s;
}

static const char *encode(struct arena *a, struct fieldset *s)
{
    autobuf out = { 0 };

    json_print(&out, fieldset_encode(a, s));
    return arena_cstr(a, buf_view(&out));
}

/* ---- FieldsV1 ---- */

static const struct {
    const char *in, *out; /* out NULL: the same */
} forms[] = {
    { "{}" },
    { "{\"f:a\":{}}" },
    { "{\"f:a\":{\".\":{},\"f:b\":{}}}" },
    { "{\"f:a\":{\"f:b\":{}}}" },
    { "{\"f:b\":{},\"f:a\":{}}", "{\"f:a\":{},\"f:b\":{}}" },
    { "{\"f:a\":{\"k:{\\\"port\\\":80,\\\"protocol\\\":\\\"TCP\\\"}\":{\".\":{},\"f:name\":{}}}}" },
    { "{\"f:a\":{\"k:{\\\"b\\\":1,\\\"a\\\":2}\":{}}}", "{\"f:a\":{\"k:{\\\"a\\\":2,\\\"b\\\":1}\":{}}}" },
    { "{\"f:a\":{\"v:9\":{},\"v:10\":{},\"v:\\\"x\\\"\":{},\"v:true\":{}}}" },
    { "{\"f:a\":{\"v:10\":{},\"v:9\":{}}}", "{\"f:a\":{\"v:9\":{},\"v:10\":{}}}" },
    { "{\"i:2\":{},\"f:\":{},\"i:1\":{}}", "{\"f:\":{},\"i:1\":{},\"i:2\":{}}" },
    { "{\".\":{}}", "{}" },
    { "{\"v:1.5\":{},\"v:1.50\":{}}", "{\"v:1.5\":{}}" }, /* one number */
};

static void reads_and_writes(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        autoarena a = { 0 };

        assert_string_equal(encode(&a, decode(&a, forms[i].in)), forms[i].out ? forms[i].out : forms[i].in);
    }
}

static void refuses_what_is_none(void **state)
{
    static const char *const bad[] = { "[]",           "{\"a\":{}}",          "{\"f\":{}}",   "{\"f:a\":1}",
                                       "{\"x:a\":{}}", "{\"k:[]\":{}}",       "{\"k:{\":{}}", "{\"v:\":{}}",
                                       "{\"i:x\":{}}", "{\"f:a\":{\"q\":{}}}" };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        autoarena a = { 0 };
        struct fieldset *s;
        struct err e;

        assert_int_equal(fieldset_decode(&a, parse(&a, bad[i]), &s, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
    }
}

/* ---- laws ---- */

static void fill(struct arena *a, struct rand *r, struct fieldset *s, int depth)
{
    for (uint64_t i = rand_below(r, 4); i; i--) {
        struct path_element at = { .kind = PATH_FIELD, .name = arena_fmt(a, "%c", (char)('a' + rand_below(r, 4))) };
        struct fieldset_node *node;

        if (rand_below(r, 3) == 0)
            at = (struct path_element){ .kind = PATH_VALUE, .value = json_int(a, (int64_t)rand_below(r, 4)) };
        if (fieldset_find(s, &at))
            continue;
        node = fieldset_add(a, s, &at);
        node->is_member = depth == 0 || rand_below(r, 2);
        if (depth)
            fill(a, r, fieldset_below(a, node), depth - 1);
    }
}

static struct fieldset *some_set(struct arena *a, struct rand *r)
{
    struct fieldset *s = arena_new(a, struct fieldset);

    fill(a, r, s, 3);
    return s;
}

static void obeys_the_laws(void **state)
{
    struct rand r;

    rand_seed(&r, 1);
    for (int i = 0; i < 3000; i++) {
        autoarena a = { 0 };
        struct fieldset *x = some_set(&a, &r), *y = some_set(&a, &r), *z = some_set(&a, &r);
        struct fieldset *both = fieldset_intersection(&a, x, y), *only_x = fieldset_difference(&a, x, y);

        assert_true(fieldset_equal(fieldset_union(&a, x, y), fieldset_union(&a, y, x)));
        assert_true(fieldset_equal(both, fieldset_intersection(&a, y, x)));
        assert_true(fieldset_equal(fieldset_union(&a, only_x, both), x));
        assert_true(fieldset_is_empty(fieldset_intersection(&a, only_x, y)));
        assert_true(fieldset_is_empty(fieldset_difference(&a, x, x)));
        assert_true(fieldset_equal(fieldset_difference(&a, fieldset_difference(&a, x, y), z),
                                   fieldset_difference(&a, x, fieldset_union(&a, y, z))));
        assert_true(fieldset_is_empty(fieldset_difference(&a, fieldset_without(&a, x, y), only_x)));
        assert_true(fieldset_equal(decode(&a, encode(&a, x)), x));
    }
}

/* A hundred thousand keys that come in the worst order must not take their square. */
static void is_not_slow(void **state)
{
    autoarena a = { 0 };
    struct fieldset *s = arena_new(&a, struct fieldset);

    for (int i = 100000; i > 0; i--) {
        struct path_element at = { .kind = PATH_FIELD, .name = arena_fmt(&a, "%d", i) };

        fieldset_add(&a, s, &at)->is_member = true;
    }
    assert_true(fieldset_is_empty(fieldset_difference(&a, s, s)));
    assert_int_equal(s->n, 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_writes),
        cmocka_unit_test(refuses_what_is_none),
        cmocka_unit_test(obeys_the_laws),
        cmocka_unit_test(is_not_slow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
