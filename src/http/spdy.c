/* spdy.c - SPDY/3.1 frames to streams and back
 *
 * Payloads of DATA frames are handed on as they come; control frames are collected, up to a limit. All header blocks
 * of one direction are one zlib stream, so that each must be inflated, also those of streams that are refused.
 */
#include "http/spdy.h"

#include "base/list.h"
#include "base/map.h"
#include "base/util.h"

#include <zlib.h>

enum { SYN_STREAM = 1, SYN_REPLY, RST_STREAM, SETTINGS, PING = 6, GOAWAY, HEADERS, WINDOW_UPDATE };
enum { FLAG_FIN = 1, FLAG_UNIDIRECTIONAL = 2 };
enum { RESET_PROTOCOL_ERROR = 1, RESET_INVALID_STREAM = 2, RESET_REFUSED = 3, RESET_CANCEL = 5 };
enum { VERSION = 3, HEAD_BYTES = 8, CONTROL_BYTES = 16 << 10, HEADERS_BYTES = 4 << 10, STREAMS_MAX = 1000 };
/* Of all header blocks together: more than so many times what came, beyond a beginning, is no header but work for us.
 * Those of kubectl are some 80 bytes, of which 20 are sent. */
enum { INFLATE_RATIO = 16, INFLATE_FREE_BYTES = 16 << 10 };
enum { DATA_BYTES = 0xffffff };

struct http_spdy_stream {
    struct spdy_stream public;
    struct list_link link; /* spdy.gone */
    bool is_reset;         /* by us: no callback */
};

struct spdy {
    struct spdy_events events;
    struct buf head, control, headers;
    uint32_t left; /* of the frame that has begun */
    uint32_t word; /* the first of its head */
    uint32_t last_id;
    uint64_t deflated, inflated; /* bytes of header blocks so far */
    uint8_t flags;
    bool is_inside, is_broken, has_headers;
    struct map_u64 streams;
    struct list gone;
    z_stream in, out;
};

/* ---- numbers ---- */

static uint32_t read_u32(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;

    return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

static void put_u32(struct buf *out, uint32_t v)
{
    const char bytes[4] = { (char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v };

    buf_append(out, bytes, sizeof(bytes));
}

/* ---- sending ---- */

static void put_frame_head(struct buf *out, uint32_t word, unsigned flags, size_t n)
{
    put_u32(out, word);
    put_u32(out, (uint32_t)flags << 24 | (uint32_t)n);
}

static void send_control(struct spdy *s, unsigned type, const uint32_t *words, size_t n)
{
    autobuf frame = { 0 };

    put_frame_head(&frame, 0x80000000u | VERSION << 16 | type, 0, n * 4);
    for (size_t i = 0; i < n; i++)
        put_u32(&frame, words[i]);
    s->events.write(s->events.write_ctx, buf_view(&frame));
}

static void send_reset(struct spdy *s, uint32_t id, uint32_t status)
{
    send_control(s, RST_STREAM, (uint32_t[]){ id, status }, 2);
}

/* A reply without headers. */
static void send_reply(struct spdy *s, uint32_t id)
{
    static const char nothing[4];
    char block[64] = { 0 };
    autobuf frame = { 0 };

    s->out.next_in = (Bytef *)nothing;
    s->out.avail_in = sizeof(nothing);
    s->out.next_out = (Bytef *)block;
    s->out.avail_out = sizeof(block);
    (void)deflate(&s->out, Z_SYNC_FLUSH); /* four bytes have room in 64, with all that zlib may add */
    put_frame_head(&frame, 0x80000000u | VERSION << 16 | SYN_REPLY, 0, 4 + sizeof(block) - s->out.avail_out);
    put_u32(&frame, id);
    buf_append(&frame, block, sizeof(block) - s->out.avail_out);
    s->events.write(s->events.write_ctx, buf_view(&frame));
}

static void send_data(struct spdy *s, uint32_t id, unsigned flags, struct str bytes)
{
    autobuf frame = { 0 };

    put_frame_head(&frame, id, flags, bytes.n);
    buf_str(&frame, bytes);
    s->events.write(s->events.write_ctx, buf_view(&frame));
}

void spdy_write(struct spdy *s, struct spdy_stream *to, struct str bytes)
{
    while (bytes.n && !s->is_broken && !to->is_finished) {
        struct str part = str_sub(bytes, 0, DATA_BYTES);

        send_data(s, to->id, 0, part);
        bytes = str_from(bytes, part.n);
    }
}

/* ---- streams ---- */

static struct http_spdy_stream *stream_of(struct spdy_stream *s)
{
    return LIST_ITEM(s, struct http_spdy_stream, public);
}

static void bury(struct spdy *s, struct http_spdy_stream *st)
{
    (void)map_u64_remove(&s->streams, st->public.id);
    list_push(&s->gone, &st->link);
}

static void bury_if_over(struct spdy *s, struct http_spdy_stream *st)
{
    if (st->public.is_ended && st->public.is_finished && !list_is_linked(&st->link))
        bury(s, st);
}

void spdy_finish(struct spdy *s, struct spdy_stream *to)
{
    if (to->is_finished)
        return;
    if (!s->is_broken)
        send_data(s, to->id, FLAG_FIN, STR_NULL);
    to->is_finished = true;
    bury_if_over(s, stream_of(to));
}

void spdy_reset(struct spdy *s, struct spdy_stream *to)
{
    struct http_spdy_stream *st = stream_of(to);

    if (!s->is_broken)
        send_reset(s, to->id, RESET_CANCEL);
    to->is_ended = to->is_finished = st->is_reset = true;
    if (!list_is_linked(&st->link))
        bury(s, st);
}

static void spdy_sweep(struct spdy *s)
{
    for (struct list_link *link; (link = list_pop_front(&s->gone));) {
        struct http_spdy_stream *st = LIST_ITEM(link, struct http_spdy_stream, link);

        if (!st->is_reset)
            s->events.on_gone(s->events.ctx, &st->public);
        free(st);
    }
}

/* ---- headers ---- */

static int inflate_headers(struct spdy *s, struct str block, struct err *e)
{
    enum { PIECE = 1024 };
    int rc = Z_OK;

    buf_reset(&s->headers);
    s->in.next_in = (Bytef *)block.p;
    s->in.avail_in = (uInt)block.n;
    s->deflated += block.n;
    do {
        s->in.next_out = (Bytef *)buf_reserve(&s->headers, PIECE);
        s->in.avail_out = PIECE;
        rc = inflate(&s->in, Z_SYNC_FLUSH);
        s->headers.n += PIECE - s->in.avail_out;
        s->inflated += PIECE - s->in.avail_out;
        if (rc == Z_NEED_DICT)
            rc = inflateSetDictionary(&s->in, (const Bytef *)spdy_dictionary().p, (uInt)spdy_dictionary().n);
        if (s->headers.n > HEADERS_BYTES || s->inflated > INFLATE_FREE_BYTES + INFLATE_RATIO * s->deflated)
            return err_set(e, ERR_TOO_BIG, "SPDY: headers of more than %d bytes, or of %d times what came",
                           HEADERS_BYTES, INFLATE_RATIO);
    } while (rc == Z_OK && (s->in.avail_in || !s->in.avail_out));
    return rc == Z_OK || (rc == Z_BUF_ERROR && !s->in.avail_in)
               ? 0
               : err_set(e, ERR_SYNTAX, "SPDY: cannot decompress headers");
}

static bool spdy_take_text(struct str *rest, struct str *ret)
{
    uint32_t n;

    if (rest->n < 4)
        return false;
    n = read_u32(rest->p);
    if (rest->n - 4 < n)
        return false;
    *ret = str_sub(*rest, 4, n);
    *rest = str_from(*rest, 4 + (size_t)n);
    return true;
}

/* Walks all of it; true if it is well-formed, and 'ret' is the value of 'name' if that is there. */
static bool read_headers(struct str block, struct str name, struct str *ret)
{
    uint32_t n = block.n >= 4 ? read_u32(block.p) : 0;
    struct str rest = str_from(block, 4), key, value;

    if (block.n < 4)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!spdy_take_text(&rest, &key) || !spdy_take_text(&rest, &value))
            return false;
        if (str_eq(key, name))
            *ret = value;
    }
    return rest.n == 0;
}

struct str spdy_header(const struct spdy *s, const char *name)
{
    struct str value = STR_NULL;

    if (s->has_headers)
        (void)read_headers(buf_view(&s->headers), str_of(name), &value); /* it was checked */
    return value;
}

/* ---- control frames ---- */

static void spdy_end_of(struct spdy *s, struct http_spdy_stream *st)
{
    uint32_t id = st->public.id;

    if (st->public.is_ended)
        return;
    st->public.is_ended = true;
    s->events.on_end(s->events.ctx, &st->public);
    st = map_u64_get(&s->streams, id); /* it may have been reset */
    if (st)
        bury_if_over(s, st);
}

static void open_stream(struct spdy *s, uint32_t id)
{
    struct http_spdy_stream *st = xcalloc(1, sizeof(*st));
    bool is_taken;

    st->public.id = id;
    st->public.is_finished = s->flags & FLAG_UNIDIRECTIONAL;
    (void)map_u64_put(&s->streams, id, st);
    send_reply(s, id);
    s->has_headers = true;
    is_taken = s->events.on_stream(s->events.ctx, &st->public);
    s->has_headers = false;
    if (!is_taken) {
        spdy_reset(s, &st->public);
    } else if (s->flags & FLAG_FIN) {
        spdy_end_of(s, st);
    }
}

static int take_syn_stream(struct spdy *s, struct str p, struct err *e)
{
    uint32_t id = p.n >= 10 ? read_u32(p.p) & 0x7fffffff : 0;
    struct str unused = STR_NULL;

    if (p.n < 10)
        return err_set(e, ERR_SYNTAX, "SPDY: a SYN_STREAM of %zu bytes", p.n);
    if (inflate_headers(s, str_from(p, 10), e) < 0)
        return -1;
    if (!read_headers(buf_view(&s->headers), STR_NULL, &unused))
        return err_set(e, ERR_SYNTAX, "SPDY: malformed headers");
    if (id % 2 == 0 || id <= s->last_id)
        return err_set(e, ERR_SYNTAX, "SPDY: stream %u after %u", id, s->last_id);
    s->last_id = id;
    if (s->streams.map.n >= STREAMS_MAX)
        send_reset(s, id, RESET_REFUSED);
    else
        open_stream(s, id);
    return 0;
}

static int take_headers(struct spdy *s, struct str p, struct err *e)
{
    struct http_spdy_stream *st = p.n >= 4 ? map_u64_get(&s->streams, read_u32(p.p) & 0x7fffffff) : NULL;

    if (p.n < 4 || inflate_headers(s, str_from(p, 4), e) < 0)
        return p.n < 4 ? err_set(e, ERR_SYNTAX, "SPDY: HEADERS of %zu bytes", p.n) : -1;
    if (st && (s->flags & FLAG_FIN))
        spdy_end_of(s, st);
    return 0;
}

static int take_rst_stream(struct spdy *s, struct str p, struct err *e)
{
    struct http_spdy_stream *st = p.n == 8 ? map_u64_get(&s->streams, read_u32(p.p) & 0x7fffffff) : NULL;

    if (p.n != 8)
        return err_set(e, ERR_SYNTAX, "SPDY: a RST_STREAM of %zu bytes", p.n);
    if (st) {
        st->public.is_ended = st->public.is_finished = true;
        bury(s, st);
    }
    return 0;
}

static int take_ping(struct spdy *s, struct str p, struct err *e)
{
    uint32_t id = p.n == 4 ? read_u32(p.p) : 0;

    if (p.n != 4)
        return err_set(e, ERR_SYNTAX, "SPDY: a PING of %zu bytes", p.n);
    if (id % 2) /* the client's own */
        send_control(s, PING, &id, 1);
    return 0;
}

static int take_nothing(struct spdy *s, struct str p, struct err *e)
{
    (void)s;
    (void)p;
    (void)e;
    return 0;
}

/* We open none. */
static int take_syn_reply(struct spdy *s, struct str p, struct err *e)
{
    (void)s;
    return err_set(e, ERR_SYNTAX, "SPDY: unexpected SYN_REPLY of %zu bytes", p.n);
}

static int (*const takers[])(struct spdy *s, struct str payload, struct err *e) = {
    [SYN_STREAM] = take_syn_stream,
    [SYN_REPLY] = take_syn_reply,
    [RST_STREAM] = take_rst_stream,
    [SETTINGS] = take_nothing,
    [PING] = take_ping,
    [GOAWAY] = take_nothing,
    [HEADERS] = take_headers,
    [WINDOW_UPDATE] = take_nothing,
};

static int take_control(struct spdy *s, struct err *e)
{
    unsigned type = s->word & 0xffff;
    struct buf payload = s->control;
    int rc = 0;

    s->control = (struct buf){ 0 };
    if (type < ARRAY_LEN(takers) && takers[type])
        rc = takers[type](s, buf_view(&payload), e);
    buf_done(&payload);
    return rc;
}

/* ---- frames in the making ---- */

static int end_frame(struct spdy *s, struct err *e)
{
    struct http_spdy_stream *st;

    s->is_inside = false;
    if (s->word & 0x80000000u)
        return take_control(s, e);
    st = map_u64_get(&s->streams, s->word);
    if (st && (s->flags & FLAG_FIN))
        spdy_end_of(s, st);
    return 0;
}

static int begin_frame(struct spdy *s, struct err *e)
{
    uint32_t second = read_u32(s->head.p + 4);

    s->word = read_u32(s->head.p);
    s->flags = (uint8_t)(second >> 24);
    s->left = second & 0xffffff;
    s->is_inside = true;
    buf_reset(&s->head);
    if ((s->word & 0x80000000u) && (s->word >> 16 & 0x7fff) != VERSION)
        return err_set(e, ERR_SYNTAX, "SPDY: version %u", s->word >> 16 & 0x7fff);
    if ((s->word & 0x80000000u) && s->left > CONTROL_BYTES)
        return err_set(e, ERR_TOO_BIG, "SPDY: a control frame of %u bytes", s->left);
    if (!(s->word & 0x80000000u) && s->word > s->last_id)
        return err_set(e, ERR_SYNTAX, "SPDY: data of stream %u, which was never opened", s->word);
    return s->left ? 0 : end_frame(s, e);
}

static int spdy_take_head(struct spdy *s, struct str *rest, struct err *e)
{
    size_t n = MIN_OF(rest->n, HEAD_BYTES - s->head.n);

    buf_str(&s->head, str_sub(*rest, 0, n));
    *rest = str_from(*rest, n);
    return s->head.n < HEAD_BYTES ? 0 : begin_frame(s, e);
}

static int take_payload(struct spdy *s, struct str *rest, struct err *e)
{
    struct str part = str_sub(*rest, 0, s->left);
    struct http_spdy_stream *st;

    *rest = str_from(*rest, part.n);
    s->left -= (uint32_t)part.n;
    if (s->word & 0x80000000u) {
        buf_str(&s->control, part);
    } else {
        st = map_u64_get(&s->streams, s->word);
        if (st && !st->public.is_ended) /* what comes after a reset is late, not wrong */
            s->events.on_data(s->events.ctx, &st->public, part);
    }
    return s->left ? 0 : end_frame(s, e);
}

int spdy_take(struct spdy *s, struct str bytes, struct err *e)
{
    int rc = s->is_broken ? -1 : 0;

    spdy_sweep(s);
    while (rc == 0 && bytes.n) {
        rc = s->is_inside ? take_payload(s, &bytes, e) : spdy_take_head(s, &bytes, e);
        spdy_sweep(s);
    }
    if (rc < 0 && !s->is_broken) {
        send_control(s, GOAWAY, (uint32_t[]){ s->last_id, RESET_PROTOCOL_ERROR }, 2);
        s->is_broken = true;
    }
    return rc;
}

/* ---- life ---- */

struct spdy *spdy_new(const struct spdy_events *events)
{
    enum { WINDOW_BITS = 11, MEMORY_LEVEL = 1 }; /* just enough for the dictionary */
    struct spdy *s = xcalloc(1, sizeof(*s));

    s->events = *events;
    list_init(&s->gone);
    map_u64_init(&s->streams, map_seed_default());
    if (inflateInit(&s->in) != Z_OK ||
        deflateInit2(&s->out, Z_BEST_SPEED, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        abort(); /* no memory */
    (void)deflateSetDictionary(&s->out, (const Bytef *)spdy_dictionary().p, (uInt)spdy_dictionary().n);
    return s;
}

size_t spdy_held(const struct spdy *s)
{
    enum { ZLIB_BYTES = 48 << 10 }; /* a window of 32 KiB, and the tables of both directions */

    return s ? ZLIB_BYTES + s->control.cap + s->headers.cap + s->streams.map.n * sizeof(struct http_spdy_stream) : 0;
}

void spdy_free(struct spdy *s)
{
    if (!s)
        return;
    MAP_FOREACH(struct http_spdy_stream *, st, &s->streams.map)
        free(st);
    for (struct list_link *link; (link = list_pop_front(&s->gone));)
        free(LIST_ITEM(link, struct http_spdy_stream, link));
    map_u64_done(&s->streams);
    (void)inflateEnd(&s->in);
    (void)deflateEnd(&s->out);
    buf_done(&s->head);
    buf_done(&s->control);
    buf_done(&s->headers);
    free(s);
}
