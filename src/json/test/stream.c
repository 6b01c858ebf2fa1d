/* stream.c - tests: however a list or a stream of lines is cut, the same documents come out */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rand.h"
#include "base/util.h"
#include "json/json.h"
#include "json/stream.h"

static void note(void *ctx, struct str text)
{
    struct buf *out = ctx;

    buf_str(out, text);
    buf_char(out, '\n');
}

/* Feed pieces of random length, each in memory of its own so that a step beyond is seen. */
static int feed_items(const char *text, struct rand *r, size_t most, size_t max_bytes, struct buf *out,
                      struct buf *rest)
{
    struct json_items s;
    struct str left = str_of(text), around;
    int rc = 0;

    json_items_init(&s, note, out, max_bytes);
    while (left.n && rc == 0) {
        size_t some = 1 + rand_below(r, most), n = MIN_OF(some, left.n);
        autofree char *piece = memcpy(xmalloc(n), left.p, n);

        rc = json_items_feed(&s, (struct str){ piece, n }, NULL);
        left = str_from(left, n);
    }
    if (rc == 0 && (rc = json_items_end(&s, &around, NULL)) == 0)
        buf_str(rest, around);
    json_items_done(&s);
    return rc;
}

static void gives_items_one_by_one(void **state)
{
    static const struct {
        const char *text, *items, *rest;
    } rows[] = {
        { "{\"kind\":\"PodList\",\"metadata\":{\"items\":[1],\"c\":\"]}\"},\"items\":[{\"a\":[1,{}]},{\"b\":\"x,]"
          "\\\"\"}]}",
          "{\"a\":[1,{}]}\n{\"b\":\"x,]\\\"\"}\n",
          "{\"kind\":\"PodList\",\"metadata\":{\"items\":[1],\"c\":\"]}\"},\"items\":[]}" },
        { "{\"items\":[{\"a\":1}],\"metadata\":{}}", "{\"a\":1}\n", "{\"items\":[],\"metadata\":{}}" },
        { " { \"items\" : [ { \"a\" : 1 } , { } ] } \n", "{ \"a\" : 1 }\n{ }\n", NULL },
        { "{\"items\":[]}", "", "{\"items\":[]}" },
        { "{\"items\":null,\"x\":[1,2]}", "", "{\"items\":null,\"x\":[1,2]}" },
        { "{\"x\":\"items\",\"y\":[{}]}", "", "{\"x\":\"items\",\"y\":[{}]}" },
        { "{\"x\":{\"items\":[{}]}}", "", "{\"x\":{\"items\":[{}]}}" },
        { "{\"items\":{\"a\":[1]}}", "", "{\"items\":{\"a\":[1]}}" },
        { "{\"itemsitemsitemsitems\":[1],\"items\":[2]}", "2\n", NULL },
        { "{\"kind\":\"Status\",\"code\":410}", "", "{\"kind\":\"Status\",\"code\":410}" },
    };
    struct rand r;

    (void)state;
    rand_seed(&r, 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (unsigned k = 0; k < 50; k++) {
            autobuf items = { 0 }, rest = { 0 };

            if (feed_items(rows[i].text, &r, k ? 1 + k / 5 : 10000, 1 << 20, &items, &rest) < 0)
                fail_msg("refused: %s", rows[i].text);
            if (!str_is(buf_view(&items), rows[i].items) || (rows[i].rest && !str_is(buf_view(&rest), rows[i].rest)))
                fail_msg("%s\nitems: %.*s\n rest: %.*s", rows[i].text, STR_ARG(buf_view(&items)),
                         STR_ARG(buf_view(&rest)));
        }
}

static void refuses_half_a_list_and_too_much(void **state)
{
    static const char *const cut[] = { "", "{\"items\":[{\"a\":1}", "{\"items\":[{\"a\":1}]", "{\"items\":[\"", "]" };
    autobuf out = { 0 };
    struct rand r;

    (void)state;
    rand_seed(&r, 2);
    for (size_t i = 0; i < ARRAY_LEN(cut); i++)
        assert_int_equal(feed_items(cut[i], &r, 3, 1000, &out, &out), -1);
    assert_int_equal(feed_items("{\"items\":[\"01234567890123456789\"]}", &r, 3, 20, &out, &out), -1);
    assert_int_equal(feed_items("{\"items\":[\"01234567890123456789\"]}", &r, 1000, 20, &out, &out), -1);
    assert_int_equal(feed_items("{\"a\":\"01234567890123456789\",\"items\":[]}", &r, 3, 20, &out, &out), -1);
    assert_int_equal(feed_items("{\"items\":[\"0123\",\"4567\",\"8901\",\"2345\"]}", &r, 3, 20, &out, &out), 0);
}

static void gives_lines(void **state)
{
    static const char text[] = "{\"a\":1}\n\n  {\"b\":\"\\n\"}\r\n{\"c\":3}\n{\"cut";
    struct rand r;

    (void)state;
    rand_seed(&r, 3);
    for (unsigned k = 0; k < 50; k++) {
        autobuf out = { 0 };
        struct str left = str_of(text);
        struct json_lines s;

        json_lines_init(&s, note, &out, 100);
        while (left.n) {
            size_t some = 1 + rand_below(&r, k + 1), n = MIN_OF(some, left.n);
            autofree char *piece = memcpy(xmalloc(n), left.p, n);

            assert_int_equal(json_lines_feed(&s, (struct str){ piece, n }, NULL), 0);
            left = str_from(left, n);
        }
        assert_true(str_is(buf_view(&out), "{\"a\":1}\n{\"b\":\"\\n\"}\n{\"c\":3}\n"));
        json_lines_done(&s);
        json_lines_init(&s, note, &out, 5);
        assert_int_equal(json_lines_feed(&s, STR("123"), NULL), 0);
        assert_int_equal(json_lines_feed(&s, STR("456"), NULL), -1);
        json_lines_done(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_items_one_by_one),
        cmocka_unit_test(refuses_half_a_list_and_too_much),
        cmocka_unit_test(gives_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
