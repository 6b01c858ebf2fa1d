/* spdy.c - fuzz: whatever frames come, in whatever pieces, streams are told of in order, each once, and nothing is told
 * of one that has gone
 *
 * Header blocks are zlib's, which no fuzzer guesses; so a frame type of our own (0x8003 0x00ff) stands for a SYN_STREAM
 * whose headers are plain text, and is compressed here. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"
#include "http/spdy.h"

#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
    struct spdy *spdy;
    struct buf told;
    unsigned live;
};

static void on_write(void *ctx, struct str bytes)
{
    (void)ctx;
    assert(bytes.n >= 8 && (((size_t)(uint8_t)bytes.p[5] << 16 | (size_t)(uint8_t)bytes.p[6] << 8 |
                             (uint8_t)bytes.p[7]) == bytes.n - 8));
}

static bool on_stream(void *ctx, struct spdy_stream *s)
{
    struct world *w = ctx;
    struct str type = spdy_header(w->spdy, "streamtype");

    buf_fmt(&w->told, "open %u %.*s\n", s->id, STR_ARG(type));
    if (type.n % 3 == 1)
        return false;
    s->user = w;
    w->live++;
    spdy_write(w->spdy, s, STR("hello"));
    if (type.n % 5 == 2)
        spdy_finish(w->spdy, s);
    return true;
}

static void on_data(void *ctx, struct spdy_stream *s, struct str bytes)
{
    struct world *w = ctx;

    assert(s->user == w && !s->is_ended);
    for (size_t i = 0; i < bytes.n; i++)
        buf_fmt(&w->told, "%u:%02x ", s->id, (uint8_t)bytes.p[i]);
    if (memchr(bytes.p, 'R', bytes.n)) {
        w->live--;
        s->user = NULL;
        spdy_reset(w->spdy, s);
    } else if (memchr(bytes.p, 'F', bytes.n)) {
        spdy_finish(w->spdy, s);
    }
}

static void on_end(void *ctx, struct spdy_stream *s)
{
    struct world *w = ctx;

    assert(s->user == w);
    buf_fmt(&w->told, "end %u\n", s->id);
    if (s->id % 3 == 0)
        spdy_finish(w->spdy, s);
}

static void on_gone(void *ctx, struct spdy_stream *s)
{
    struct world *w = ctx;

    assert(s->user == w && w->live-- > 0);
    s->user = NULL;
}

/* Replace our frames by those that they stand for. */
static void translate(struct str in, struct buf *out)
{
    z_stream z = { 0 };
    char block[8192];

    assert(deflateInit(&z, 9) == Z_OK);
    (void)deflateSetDictionary(&z, (const Bytef *)spdy_dictionary().p, (uInt)spdy_dictionary().n);
    while (in.n >= 8) {
        size_t n = MIN_OF((size_t)(uint8_t)in.p[6] << 8 | (uint8_t)in.p[7], in.n - 8);
        bool is_ours = (uint8_t)in.p[0] == 0x80 && in.p[1] == 3 && (uint8_t)in.p[3] == 0xff && n >= 10;

        if (is_ours) {
            size_t made;

            z.next_in = (Bytef *)in.p + 18;
            z.avail_in = (uInt)MIN_OF(n - 10, (size_t)2000);
            z.next_out = (Bytef *)block;
            z.avail_out = sizeof(block);
            (void)deflate(&z, Z_SYNC_FLUSH);
            made = sizeof(block) - z.avail_out;
            buf_append(out, "\x80\x03\x00\x01", 4);
            buf_append(out, (char[]){ in.p[4], 0, (char)((made + 10) >> 8), (char)(made + 10) }, 4);
            buf_append(out, in.p + 8, 10);
            buf_append(out, block, made);
        } else {
            buf_str(out, str_sub(in, 0, 8 + n));
        }
        in = str_from(in, 8 + n);
    }
    (void)deflateEnd(&z);
}

static void take(struct str input, size_t piece, struct world *w)
{
    struct spdy_events events = {
        .ctx = w, .write = on_write, .on_stream = on_stream, .on_data = on_data, .on_end = on_end, .on_gone = on_gone
    };
    struct err e;

    w->spdy = spdy_new(&events);
    while (input.n && spdy_take(w->spdy, str_sub(input, 0, piece), &e) == 0)
        input = str_from(input, piece);
    spdy_free(w->spdy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world one = { 0 }, other = { 0 };
    autobuf input = { 0 };

    if (size > 8192)
        return 0;
    translate(str_from((struct str){ (const char *)data, size }, 1), &input);
    take(buf_view(&input), size ? 1 + data[0] % 32 : 1, &one);
    take(buf_view(&input), SIZE_MAX / 2, &other);
    /* 'R' and 'F' act where a piece ends, so only inputs without them are the same in all pieces */
    if (!memchr(input.p ? input.p : "", 'R', input.n) && !memchr(input.p ? input.p : "", 'F', input.n))
        assert(str_eq(buf_view(&one.told), buf_view(&other.told)));
    buf_done(&one.told);
    buf_done(&other.told);
    return 0;
}
