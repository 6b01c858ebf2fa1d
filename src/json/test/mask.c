/* mask.c - tests: what is kept, what is not, and that what is left out costs nothing */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rand.h"
#include "base/util.h"
#include "json/mask.h"

static struct str masked(struct arena *a, const char *text, const struct json_mask *m)
{
    autobuf out = { 0 };
    struct json *j;
    struct err e;

    if (json_parse_masked(a, str_of(text), m, &j, &e) < 0)
        return arena_fmt(a, "%s", e.text);
    json_print(&out, j);
    return arena_str(a, buf_view(&out));
}

static void keeps_what_is_named(void **state)
{
    static const struct {
        const char *paths[6], *text, *want;
    } rows[] = {
        { { "a" }, "{\"a\":1,\"b\":2}", "{\"a\":1}" },
        { { "a" }, "{\"b\":{\"a\":1},\"a\":{\"x\":[1,{\"y\":2}]}}", "{\"a\":{\"x\":[1,{\"y\":2}]}}" },
        { { "a.b" }, "{\"a\":{\"b\":1,\"c\":2},\"b\":3}", "{\"a\":{\"b\":1}}" },
        { { "a.b" }, "{\"a\":[{\"b\":1,\"c\":2},{\"c\":3},7,{\"b\":[]}]}", "{\"a\":[{\"b\":1},{},7,{\"b\":[]}]}" },
        { { "a.b" }, "{\"a\":\"text\"}", "{\"a\":\"text\"}" }, /* a scalar where an object was expected */
        { { "a", "-a.b" }, "{\"a\":{\"b\":1,\"c\":{\"b\":2}},\"d\":1}", "{\"a\":{\"c\":{\"b\":2}}}" },
        { { "a", "-a.b.c" }, "{\"a\":{\"b\":[{\"c\":1,\"d\":2}],\"e\":3}}", "{\"a\":{\"b\":[{\"d\":2}],\"e\":3}}" },
        { { "-a" }, "{\"a\":1,\"b\":{\"a\":2}}", "{\"b\":{\"a\":2}}" },
        { { NULL }, "{\"a\":1,\"b\":[]}", "{}" },
        { { "a", "a.b" }, "{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":1,\"c\":2}}" },
        { { "a" }, "[{\"a\":1,\"b\":2},{\"b\":1}]", "[{\"a\":1},{}]" },
        { { "a" }, "{\"a\":1,\"a\":2}", "{\"a\":2}" },
        { { "a" }, " { \"b\" : [ \"]\" , \"\\\"}\" , { } ] , \"a\" : \"x\" } ", "{\"a\":\"x\"}" },
        { { "a" }, "{\"b\":\"\\\\\",\"c\":-1.5e3,\"d\":null,\"a\":true}", "{\"a\":true}" },
        { { "\xc3\xa4" }, "{\"\\u00e4\":1,\"b\":2}", "{\"\xc3\xa4\":1}" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autoarena a = { 0 };
        struct str got = masked(&a, rows[i].text, json_mask_make(&a, rows[i].paths));

        if (!str_is(got, rows[i].want))
            fail_msg("%s\nwant: %s\n got: %.*s", rows[i].text, rows[i].want, STR_ARG(got));
    }
}

static void grafts(void **state)
{
    static const char *const inner[] = { "name", NULL }, *const outer[] = { "type", NULL };
    autoarena a = { 0 };
    struct json_mask *m = json_mask_make(&a, outer);

    (void)state;
    json_mask_graft(&a, m, "object", json_mask_make(&a, inner));
    assert_true(str_is(masked(&a, "{\"type\":\"A\",\"x\":1,\"object\":{\"name\":\"n\",\"y\":2}}", m),
                       "{\"type\":\"A\",\"object\":{\"name\":\"n\"}}"));
}

static void refuses_what_has_no_end(void **state)
{
    static const char *const texts[] = { "",           "{",         "{\"b\":",    "{\"b\":\"",  "{\"b\":\"\\",
                                         "{\"b\":[",   "{\"b\":[}", "{\"b\":{",   "{\"b\":}",   "{\"b\":,}",
                                         "{\"b\" 1}",  "{\"b\":1",  "{\"b\":[]]", "{\"b\":1}}", "{\"b\":1,",
                                         "{\"b\":1,}", "{b:1}",     "{\"a\":x}" };
    static const char *const paths[] = { "a", NULL };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        autoarena a = { 0 };
        struct err e = { 0 };
        struct json *j;

        if (json_parse_masked(&a, str_of(texts[i]), json_mask_make(&a, paths), &j, &e) == 0)
            fail_msg("taken: %s", texts[i]);
    }
}

/* Whatever is cut off or changed: an answer, and never a byte beyond the text. */
static void survives_damage(void **state)
{
    static const char whole[] =
        "{\"m\":{\"n\":\"x\\u00e4y\",\"z\":[1,2,{\"q\":\"\\\"\"}]},\"s\":{\"c\":[{\"r\":true,\"t\":null}]}}";
    static const char *const paths[] = { "m.n", "s.c.r", NULL };
    struct rand r;

    (void)state;
    rand_seed(&r, 1);
    for (unsigned i = 0; i < 3000; i++) {
        autoarena a = { 0 };
        size_t n = rand_below(&r, sizeof(whole));
        autofree char *text = memcpy(xmalloc(n + 1), whole, n);
        struct json *j;

        for (size_t k = rand_below(&r, 3); k && n; k--)
            text[rand_below(&r, n)] = "{}[]\",:\\ 1a"[rand_below(&r, 11)];
        (void)json_parse_masked(&a, (struct str){ text, n }, json_mask_make(&a, paths), &j, NULL);
    }
}

static void what_is_left_out_takes_no_memory(void **state)
{
    static const char *const paths[] = { "a", NULL };
    autoarena a = { 0 };
    autobuf text = { 0 };
    struct json_mask *m = json_mask_make(&a, paths);
    size_t before = a.used;
    struct json *j;

    (void)state;
    buf_str(&text, STR("{\"b\":["));
    for (int i = 0; i < 1000; i++)
        buf_fmt(&text, "%s{\"k%d\":\"%d\"}", i ? "," : "", i, i);
    buf_str(&text, STR("],\"a\":1}"));
    assert_int_equal(json_parse_masked(&a, buf_view(&text), m, &j, NULL), 0);
    assert_true(a.used - before <= 3 * sizeof(struct json));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_is_named),
        cmocka_unit_test(grafts),
        cmocka_unit_test(refuses_what_has_no_end),
        cmocka_unit_test(survives_damage),
        cmocka_unit_test(what_is_left_out_takes_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
