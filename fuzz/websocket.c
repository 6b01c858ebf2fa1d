/* websocket.c - fuzz: whatever frames come, in whatever pieces, the messages are the same and within the limit, and all
 * that is sent back are whole frames without a mask */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"
#include "http/websocket.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX = 3000 };

struct seen {
    struct buf messages, out;
};

static void on_write(void *ctx, struct str bytes)
{
    buf_str(&((struct seen *)ctx)->out, bytes);
}

static void on_message(void *ctx, enum websocket_kind kind, struct str message)
{
    struct seen *s = ctx;

    assert(message.n <= MAX);
    buf_fmt(&s->messages, "%d %zu ", kind, message.n);
    buf_str(&s->messages, message);
}

static void check_frames(struct str out)
{
    while (out.n) {
        assert(out.n >= 2 && (out.p[0] & 0x80) && (unsigned char)out.p[1] <= 125); /* pongs and closes */
        assert(out.n >= 2 + (size_t)out.p[1]);
        out = str_from(out, 2 + (size_t)out.p[1]);
    }
}

static void take(struct str input, size_t piece, struct seen *ret)
{
    struct websocket w = { .ctx = ret, .write = on_write, .on_message = on_message, .message_bytes = MAX };

    while (input.n && websocket_take(&w, str_sub(input, 0, piece)) == 0)
        input = str_from(input, piece);
    check_frames(buf_view(&ret->out));
    websocket_done(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = { (const char *)data, size };
    struct seen one = { 0 }, other = { 0 };

    take(str_from(input, 1), size ? 1 + data[0] : 1, &one);
    take(str_from(input, 1), SIZE_MAX, &other);
    assert(str_eq(buf_view(&one.messages), buf_view(&other.messages)) &&
           str_eq(buf_view(&one.out), buf_view(&other.out)));
    buf_done(&one.messages);
    buf_done(&one.out);
    buf_done(&other.messages);
    buf_done(&other.out);
    return 0;
}
