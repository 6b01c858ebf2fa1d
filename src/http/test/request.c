/* request.c - tests: heads and bodies, good and hostile */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "http/request.h"

#define H "Host: x\r\n"

static const struct {
    const char *text;
    int status; /* 0: good; -1: bad before it ends */
} heads[] = {
    { "GET / HTTP/1.1\r\n" H "\r\n", 0 },
    { "GET /a?b=c HTTP/1.1\r\n" H "X: \t y \r\n\r\n", 0 },
    { "GET / HTTP/1.0\r\n\r\n", 0 },
    { "POST / HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n", 0 },
    { "POST / HTTP/1.1\r\n" H "transfer-encoding: Chunked\r\n\r\n", 0 },
    /* request lines */
    { "GET /a\r\n\r\n", 400 },
    { "GET  /a HTTP/1.1\r\n" H "\r\n", 400 },
    { "GET /a  HTTP/1.1\r\n" H "\r\n", 400 },
    { " GET /a HTTP/1.1\r\n" H "\r\n", 400 },
    { "GET http://evil/ HTTP/1.1\r\n" H "\r\n", 400 },
    { "OPTIONS * HTTP/1.1\r\n" H "\r\n", 400 },
    { "CONNECT a:1 HTTP/1.1\r\n" H "\r\n", 400 },
    { "GET /\xc3\xa9 HTTP/1.1\r\n" H "\r\n", 400 },
    { "GET /#a HTTP/1.1\r\n" H "\r\n", 400 },
    { "G(T / HTTP/1.1\r\n" H "\r\n", 400 },
    { "GET / HTTP/2.0\r\n" H "\r\n", 505 },
    { "GET / HTTP/1.1x\r\n" H "\r\n", 400 },
    { "GET / http/1.1\r\n" H "\r\n", 400 },
    { "PRI * HTTP/2.0\r\n\r\n", 400 },
    /* line ends and bytes that are no text */
    { "\r\nGET / HTTP/1.1\r\n" H "\r\n", -1 },
    { "\nGET", -1 },
    { "GET / HTTP/1.1\n" H "\r\n", -1 },
    { "GET / HTTP/1.1\r\n" H "\n\n", -1 },
    { "GET / HTTP/1.1\r\nX: a\rb\r\n\r\n", -1 },
    { "\x16\x03\x01\x02", -1 },
    { "GET / HTTP/1.1\r\nX: \x7f\r\n\r\n", -1 },
    { "GET / HTTP/1.1\r\nX: \x01\r\n\r\n", -1 },
    /* fields */
    { "GET / HTTP/1.1\r\n\r\n", 400 },
    { "GET / HTTP/1.1\r\n" H H "\r\n", 400 },
    { "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400 },
    { "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400 },
    { "GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400 },
    { "GET / HTTP/1.1\r\n" H "X\r\n\r\n", 400 },
    { "GET / HTTP/1.1\r\n" H ": y\r\n\r\n", 400 },
    { "GET / HTTP/1.1\r\n" H "X: a\r\n b\r\n\r\n", 400 },
    { "GET / HTTP/1.1\r\n X: a\r\n" H "\r\n", 400 },
    { "GET / HTTP/1.1\r\n" H "X Y: a\r\n\r\n", 400 },
    { "GET / HTTP/1.1\r\n" H "Expect: something\r\n\r\n", 417 },
    /* where the body ends */
    { "POST / HTTP/1.1\r\n" H "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", 400 },
    { "POST / HTTP/1.1\r\n" H "Content-Length: 1, 1\r\n\r\n", 400 },
    { "POST / HTTP/1.1\r\n" H "Content-Length: +1\r\n\r\n", 400 },
    { "POST / HTTP/1.1\r\n" H "Content-Length: -1\r\n\r\n", 400 },
    { "POST / HTTP/1.1\r\n" H "Content-Length: 0x1\r\n\r\n", 400 },
    { "POST / HTTP/1.1\r\n" H "Content-Length: \r\n\r\n", 400 },
    { "POST / HTTP/1.1\r\n" H "Content-Length: 99999999999999999999\r\n\r\n", 400 },
    { "POST / HTTP/1.1\r\n" H "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
    { "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", 400 },
    { "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
    { "POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n", 501 },
    { "POST / HTTP/1.1\r\n" H "Transfer-Encoding: identity\r\n\r\n", 501 },
    { "POST / HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\n\r\n", 501 },
    { "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked, chunked\r\n\r\n", 501 },
    { "POST / HTTP/1.1\r\n" H "Transfer-Encoding:\r\n\r\n", 501 },
    { "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
};

/* However it is cut into pieces, the end is at the same place. */
static int read_head(struct str text, size_t piece, struct http_head *ret)
{
    enum http_scan scan = HTTP_SCAN_MORE;
    size_t at = 0, n = 0;

    while (scan == HTTP_SCAN_MORE && n < text.n) {
        n = MIN_OF(n + piece, text.n);
        scan = http_head_scan(str_sub(text, 0, n), &at);
    }
    if (scan != HTTP_SCAN_END)
        return -1;
    assert_int_equal(at, text.n);
    return http_head_parse(text, ret);
}

static void reads_heads(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        for (size_t piece = 1; piece < 200; piece += 33) {
            struct http_head head;
            int status = read_head(str_of(heads[i].text), piece, &head);

            if (status != heads[i].status)
                fail_msg("%s: %d, not %d", heads[i].text, status, heads[i].status);
        }
}

static void reads_what_is_in_it(void **state)
{
    struct str text = STR("PUT /a/b?c=d?e HTTP/1.1\r\nhOST: [::1]:80\r\nConnection: x , Close\r\nX:  1 \r\nx:2\r\n"
                          "Content-Length: 12\r\nExpect: 100-Continue\r\n\r\n");
    struct http_head h;
    struct str value;
    size_t at = 0;

    (void)state;
    assert_int_equal(http_head_parse(text, &h), 0);
    assert_true(str_is(h.method, "PUT") && str_is(h.path, "/a/b") && str_is(h.query, "c=d?e"));
    assert_true(h.length == 12 && !h.is_chunked && !h.keeps_alive && h.expects_continue);
    assert_true(http_fields_next(h.fields, STR("X"), &at, &value) && str_is(value, "1"));
    assert_true(http_fields_next(h.fields, STR("X"), &at, &value) && str_is(value, "2"));
    assert_false(http_fields_next(h.fields, STR("X"), &at, &value));
}

static void has_a_limit_of_fields(void **state)
{
    autobuf text = { 0 };
    struct http_head h;

    (void)state;
    buf_fmt(&text, "GET / HTTP/1.1\r\n" H);
    for (int i = 0; i < HTTP_FIELDS_MAX; i++)
        buf_fmt(&text, "X-%d: y\r\n", i);
    buf_fmt(&text, "\r\n");
    assert_int_equal(http_head_parse(buf_view(&text), &h), 431);
}

static const struct {
    const char *text, *body; /* NULL: refused */
    int status;
} bodies[] = {
    { "0\r\n\r\n", "", 0 },
    { "5\r\nhello\r\n0\r\n\r\n", "hello", 0 },
    { "3\r\nhel\r\n02\r\nlo\r\n000\r\n\r\n", "hello", 0 },
    { "A\r\n0123456789\r\n0\r\n\r\n", "0123456789", 0 },
    { "\r\n", NULL, 400 },
    { "5;a=b\r\nhello\r\n0\r\n\r\n", NULL, 400 },
    { "5 \r\nhello\r\n0\r\n\r\n", NULL, 400 },
    { "0x5\r\nhello\r\n0\r\n\r\n", NULL, 400 },
    { "-5\r\nhello\r\n0\r\n\r\n", NULL, 400 },
    { "5\nhello\r\n0\r\n\r\n", NULL, 400 },
    { "5\r\nhello0\r\n\r\n", NULL, 400 },
    { "5\r\nhello!\r\n0\r\n\r\n", NULL, 400 },
    { "5\r\nhello\n0\r\n\r\n", NULL, 400 },
    { "0\r\nX: y\r\n\r\n", NULL, 400 },
    { "0\r\n\n", NULL, 400 },
    { "000000005\r\n", NULL, 400 },
    { "fffffffff\r\n", NULL, 413 },
    { "ffffffff\r\n", NULL, 413 },
    { "15\r\n", NULL, 413 },
    { "a\r\n0123456789\r\nb\r\n", NULL, 413 },
};

static void reads_chunks(void **state)
{
    enum { MAX = 20 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++)
        for (size_t piece = 1; piece < 30; piece += 4) {
            struct str rest = str_of(bodies[i].text);
            struct http_chunks c = { 0 };
            autobuf out = { 0 };
            ptrdiff_t used = 0;

            while (rest.n && used >= 0 && !c.is_done) {
                used = http_chunks_take(&c, str_sub(rest, 0, piece), MAX, &out);
                rest = str_from(rest, used < 0 ? 0 : (size_t)used);
            }
            if (bodies[i].body ? !c.is_done || rest.n || !str_is(buf_view(&out), bodies[i].body)
                               : used != -bodies[i].status)
                fail_msg("%s: %td", bodies[i].text, used);
        }
}

/* What comes after the last chunk is the next request. */
static void leaves_the_rest(void **state)
{
    struct http_chunks c = { 0 };
    autobuf out = { 0 };

    (void)state;
    assert_int_equal(http_chunks_take(&c, STR("1\r\na\r\n0\r\n\r\nGET /"), 10, &out), 11);
    assert_true(c.is_done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_heads),  cmocka_unit_test(reads_what_is_in_it), cmocka_unit_test(has_a_limit_of_fields),
        cmocka_unit_test(reads_chunks), cmocka_unit_test(leaves_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
