/* probe_grpc.c - the gRPC health check: one call over cleartext HTTP/2
 *
 * The subset of HTTP/2 (RFC 9113) that one small call needs: the preface, settings, one stream. Headers of the answer
 * are not decoded: the message itself says SERVING, and a call without a message is unhealthy, whatever its trailers
 * say.
 */
#include "node/shim/probe_internal.h"

#include "base/util.h"

#include <errno.h>

enum { FRAME_HEAD = 9, FRAME_MAX = 16384, ANSWER_MAX = 1024, SERVICE_MAX = 4096 };
enum { DATA = 0, HEADERS = 1, RST_STREAM = 3, SETTINGS = 4, PING = 6, GOAWAY = 7 };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4, PADDED = 8 };

static const char *const status_names[] = { "UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN" };

/* ---- frames ---- */

static void grpc_put_frame(struct buf *out, int type, int flags, uint32_t stream, struct str payload)
{
    const unsigned char head[FRAME_HEAD] = {
        (unsigned char)(payload.n >> 16),
        (unsigned char)(payload.n >> 8),
        (unsigned char)payload.n,
        (unsigned char)type,
        (unsigned char)flags,
        (unsigned char)(stream >> 24),
        (unsigned char)(stream >> 16),
        (unsigned char)(stream >> 8),
        (unsigned char)stream,
    };

    buf_append(out, head, sizeof(head));
    buf_str(out, payload);
}

struct grpc_frame {
    int type, flags;
    uint32_t stream;
    struct str payload;
};

/* 1: a whole frame at the start of 's', of '*ret_n' bytes; 0: incomplete; -1: too long. */
static int grpc_get_frame(struct str s, struct grpc_frame *ret, size_t *ret_n)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t n;

    if (s.n < FRAME_HEAD)
        return 0;
    n = (size_t)p[0] << 16 | (size_t)p[1] << 8 | p[2];
    if (n > FRAME_MAX)
        return -1;
    if (s.n < FRAME_HEAD + n)
        return 0;
    ret->type = p[3];
    ret->flags = p[4];
    ret->stream = ((uint32_t)p[5] << 24 | (uint32_t)p[6] << 16 | (uint32_t)p[7] << 8 | p[8]) & 0x7fffffff;
    ret->payload = str_sub(s, FRAME_HEAD, n);
    *ret_n = FRAME_HEAD + n;
    return 1;
}

static struct str without_padding(const struct grpc_frame *f)
{
    size_t pad = f->payload.n ? (unsigned char)f->payload.p[0] : 0;

    if (!(f->flags & PADDED) || !f->payload.n)
        return f->payload;
    return pad + 1 > f->payload.n ? STR_NULL : str_sub(f->payload, 1, f->payload.n - 1 - pad);
}

static void grpc_take_frame(struct probe_frames *f, const struct grpc_frame *in)
{
    switch (in->type) {
    case SETTINGS:
        if (!(in->flags & ACK))
            grpc_put_frame(&f->reply, SETTINGS, ACK, 0, STR_NULL);
        return;
    case PING:
        if (!(in->flags & ACK))
            grpc_put_frame(&f->reply, PING, ACK, 0, in->payload);
        return;
    case DATA:
        if (in->stream == 1 && f->answer.n + in->payload.n <= ANSWER_MAX)
            buf_str(&f->answer, without_padding(in));
        f->is_done |= in->stream == 1 && (in->flags & END_STREAM);
        return;
    case HEADERS:
        f->is_done |= in->stream == 1 && (in->flags & END_STREAM);
        return;
    case RST_STREAM:
    case GOAWAY:
        f->is_done = true;
        return;
    default: /* window updates, priorities, unknown types */
        return;
    }
}

void probe_frames_feed(struct probe_frames *f, struct str bytes)
{
    struct grpc_frame in;
    size_t n = 0, used = 0;
    int r = 0;

    buf_str(&f->in, bytes);
    while (!f->is_done && (r = grpc_get_frame(str_from(buf_view(&f->in), used), &in, &n)) == 1) {
        grpc_take_frame(f, &in);
        used += n;
    }
    f->is_bad |= r < 0;
    memmove(f->in.p, f->in.p + used, f->in.n - used);
    f->in.n -= used;
}

void probe_frames_done(struct probe_frames *f)
{
    buf_done(&f->in);
    buf_done(&f->reply);
    buf_done(&f->answer);
}

/* ---- the call ---- */

static void put_varint(struct buf *out, size_t n)
{
    for (; n >= 128; n >>= 7)
        buf_char(out, (char)(n | 128));
    buf_char(out, (char)n);
}

/* A literal header field, never indexed. 'index': of its name in the static table of HPACK; 0: the name follows. */
static void grpc_put_field(struct buf *out, unsigned index, const char *name, struct str value)
{
    if (index < 15) {
        buf_char(out, (char)index);
    } else {
        buf_char(out, 15);
        buf_char(out, (char)(index - 15));
    }
    if (!index) {
        buf_char(out, (char)strlen(name));
        buf_str(out, str_of(name));
    }
    buf_char(out, (char)value.n); /* all are shorter than 127 */
    buf_str(out, value);
}

static void put_call(struct buf *out, const struct probe_target *t)
{
    autobuf head = { 0 }, body = { 0 }, request = { 0 }, authority = { 0 };

    buf_fmt(&authority, "%.*s:%u", (int)MIN_OF(t->host.n, 100), t->host.p, t->port);
    buf_append(&head, "\x83\x86", 2); /* POST, http */
    grpc_put_field(&head, 4, NULL, STR("/grpc.health.v1.Health/Check"));
    grpc_put_field(&head, 1, NULL, buf_view(&authority));
    grpc_put_field(&head, 31, NULL, STR("application/grpc"));
    grpc_put_field(&head, 58, NULL, STR("kube-probe/1.32"));
    grpc_put_field(&head, 0, "te", STR("trailers"));

    if (t->service.n) { /* HealthCheckRequest { string service = 1; } */
        buf_char(&request, 0x0a);
        put_varint(&request, t->service.n);
        buf_str(&request, t->service);
    }
    const unsigned char prefix[5] = { 0, 0, 0, (unsigned char)(request.n >> 8), (unsigned char)request.n };
    buf_append(&body, prefix, sizeof(prefix));
    buf_str(&body, buf_view(&request));

    buf_str(out, STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    grpc_put_frame(out, SETTINGS, 0, 0, STR_NULL);
    grpc_put_frame(out, HEADERS, END_HEADERS, 1, buf_view(&head));
    grpc_put_frame(out, DATA, END_STREAM, 1, buf_view(&body));
}

static bool get_varint(struct str *s, uint64_t *ret)
{
    *ret = 0;
    for (unsigned shift = 0; shift < 64 && s->n; shift += 7) {
        unsigned char c = (unsigned char)s->p[0];

        *s = str_from(*s, 1);
        *ret |= (uint64_t)(c & 127) << shift;
        if (!(c & 128))
            return true;
    }
    return false;
}

/* HealthCheckResponse { ServingStatus status = 1; }: 0, the default, is not written. */
int probe_grpc_status(struct str answer)
{
    const unsigned char *p = (const unsigned char *)answer.p;
    struct str s = str_from(answer, 5);
    uint64_t key, value;

    if (answer.n < 5 || p[0] != 0 || ((size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4]) != s.n)
        return -1;
    if (!s.n)
        return 0;
    if (!get_varint(&s, &key) || key != 0x08 || !get_varint(&s, &value) || value >= ARRAY_LEN(status_names))
        return -1;
    return (int)value;
}

static int grpc_exchange(struct probe_conn *c, const struct probe_target *t, struct probe_frames *f)
{
    autobuf call = { 0 };
    char bytes[4096];

    put_call(&call, t);
    if (probe_write(c, buf_view(&call)) < 0)
        return -1;
    while (!f->is_done && !f->is_bad) {
        ssize_t n = probe_read(c, bytes, sizeof(bytes));

        if (n < 0)
            return -1;
        if (n == 0)
            break;
        probe_frames_feed(f, (struct str){ bytes, (size_t)n });
        if (f->reply.n && !f->is_done && probe_write(c, buf_view(&f->reply)) < 0)
            return -1;
        buf_reset(&f->reply);
    }
    return 0;
}

bool probe_grpc(const struct probe_target *t, int64_t until_ms, struct buf *out)
{
    struct probe_frames f = { 0 };
    autobuf why = { 0 };
    autoconn c = { .fd = -1 };
    int r, status;

    if (t->service.n > SERVICE_MAX) {
        buf_fmt(out, "the service name is longer than %d bytes", SERVICE_MAX);
        return false;
    }
    if (probe_dial(&c, t->host, t->port, until_ms, &why) < 0) {
        buf_fmt(out, "%s: failed to connect service \"%.*s:%u\": %s", errno == ETIMEDOUT ? "timeout" : "error",
                STR_ARG(t->host), t->port, why.p ? why.p : "");
        return false;
    }
    r = grpc_exchange(&c, t, &f);
    status = probe_grpc_status(buf_view(&f.answer));
    if (r < 0)
        buf_fmt(out, "%s", errno == ETIMEDOUT ? "timeout: health rpc did not complete in time" : strerror(errno));
    else if (f.is_bad)
        buf_fmt(out, "error: health rpc failed: the answer is not gRPC");
    else if (status < 0)
        buf_fmt(out,
                "error: health rpc failed: no health status for service \"%.*s\" (does it implement "
                "grpc.health.v1.Health?)",
                STR_ARG(t->service));
    else if (status != 1)
        buf_fmt(out, "service unhealthy (responded with \"%s\")", status_names[status]);
    probe_frames_done(&f);
    return r == 0 && status == 1;
}
