/* http.c - fuzz: whatever a client sends, in whatever pieces, it gets whole answers and no handler sees a request
 * twice; in other pieces it gets the same */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/util.h"
#include "http/server.h"

#include <sys/socket.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every request is answered with what was understood of it, so that another understanding is another answer. */
static void on_request(void *ctx, struct http_call *call)
{
    autobuf body = { 0 }, param = { 0 };
    struct str value;
    size_t at = 0;

    (*(int *)ctx)++;
    assert(str_starts(call->path, STR("/")) && !str_has_char(call->path, '\r'));
    buf_fmt(&body, "%.*s %.*s %zu:", STR_ARG(call->method), STR_ARG(call->path), call->body.n);
    buf_str(&body, call->body);
    while (http_call_next_header(call, "X", &at, &value))
        buf_fmt(&body, "[%.*s]", STR_ARG(value));
    at = 0;
    while (http_call_next_param(call, "p", &at, &param))
        buf_fmt(&body, "(%s)", param.p);
    if (str_is(call->path, "/stream")) {
        http_answer_begin(call, &(struct http_reply){ .status = 200 });
        http_answer_write(call, buf_view(&body));
        http_answer_end(call);
    } else {
        http_answer(call, &(struct http_reply){ .status = 200 }, buf_view(&body));
    }
}

static void take(int fd, struct buf *out)
{
    char bytes[65536];

    for (ssize_t n; (n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0;)
        buf_append(out, bytes, (size_t)n);
}

static int converse(struct str input, size_t piece, struct buf *ret)
{
    static struct clock_manual clock;
    int asked = 0, pair[2];
    struct http_server_options opt = { .clock = &clock.clock,
                                       .ctx = &asked,
                                       .on_request = on_request,
                                       .limits = { .head_bytes = 2048, .body_bytes = 4096 } };
    struct http_server *s;

    clock_manual_init(&clock, 1000);
    assert(http_server_new(&opt, &s, NULL) == 0);
    assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    assert(http_server_add(s, pair[1], NULL) == 0);
    while (input.n) {
        ssize_t n = send(pair[0], input.p, MIN_OF(piece, input.n), MSG_DONTWAIT | MSG_NOSIGNAL);

        for (int i = 0; i < 3; i++)
            http_server_turn(s);
        take(pair[0], ret);
        if (n <= 0)
            break;
        input = str_from(input, (size_t)n);
    }
    (void)shutdown(pair[0], SHUT_WR);
    for (int idle = 0, before; idle < 4; idle = asked == before ? idle + 1 : 0) { /* what was sent ahead */
        before = asked;
        http_server_turn(s);
        take(pair[0], ret);
    }
    http_server_free(s);
    close(pair[0]);
    return asked;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = { (const char *)data, size };
    size_t piece = size ? 1 + data[0] % 64 : 1;
    autobuf one = { 0 }, other = { 0 };
    int asked;

    if (size > 4096)
        return 0;
    input = str_from(input, MIN_OF(input.n, (size_t)1));
    asked = converse(input, piece, &one);
    assert(converse(input, SIZE_MAX, &other) == asked);
    if (!str_has(buf_view(&one), STR("100 Continue")) && !str_has(buf_view(&other), STR("100 Continue")))
        assert(str_eq(buf_view(&one), buf_view(&other)));
    assert(one.n == 0 || str_starts(buf_view(&one), STR("HTTP/1.1 ")));
    return 0;
}
