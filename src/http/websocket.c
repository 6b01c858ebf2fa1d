/* websocket.c - WebSocket frames to messages and back */
#include "http/websocket.h"

#include "base/rand.h"
#include "base/util.h"
#include "http/request.h"
#include "http/server.h"

#include <openssl/evp.h>

enum { OP_MORE = 0, OP_TEXT = 1, OP_BINARY = 2, OP_CLOSE = 8, OP_PING = 9, OP_PONG = 10 };
enum { CONTROL_MAX = 125, MESSAGE_MAX = 1 << 20 };

/* ---- sending ---- */

static void websocket_put_head(struct buf *out, unsigned opcode, size_t n, unsigned masked)
{
    buf_char(out, (char)(0x80 | opcode));
    if (n <= CONTROL_MAX) {
        buf_char(out, (char)(masked | n));
    } else if (n <= UINT16_MAX) {
        buf_char(out, (char)(masked | 126));
        buf_char(out, (char)(n >> 8));
        buf_char(out, (char)n);
    } else {
        buf_char(out, (char)(masked | 127));
        for (int shift = 56; shift >= 0; shift -= 8)
            buf_char(out, (char)((uint64_t)n >> shift));
    }
}

/* Of a client: so that a proxy in between cannot take its data for a request. */
static void put_masked(struct buf *out, struct str first, struct str rest)
{
    unsigned char key[4];
    size_t at;

    rand_os_bytes(key, sizeof(key));
    buf_append(out, key, sizeof(key));
    at = out->n;
    buf_str(out, first);
    buf_str(out, rest);
    for (size_t i = at; i < out->n; i++)
        out->p[i] = (char)(out->p[i] ^ key[(i - at) % 4]);
}

static void put_frame(struct websocket *w, unsigned opcode, struct str first, struct str rest)
{
    autobuf frame = { 0 };

    if (w->is_closing)
        return;
    websocket_put_head(&frame, opcode, first.n + rest.n, w->is_client ? 0x80 : 0);
    if (w->is_client) {
        put_masked(&frame, first, rest);
    } else {
        buf_str(&frame, first);
        buf_str(&frame, rest);
    }
    w->write(w->ctx, buf_view(&frame));
}

void websocket_send(struct websocket *w, enum websocket_kind kind, struct str first, struct str rest)
{
    put_frame(w, kind, first, rest);
}

void websocket_close(struct websocket *w, enum websocket_code code)
{
    const char text[2] = { (char)(code >> 8), (char)code };

    put_frame(w, OP_CLOSE, (struct str){ text, sizeof(text) }, STR_NULL);
    w->is_closing = true;
}

static int websocket_end_with(struct websocket *w, enum websocket_code code)
{
    websocket_close(w, code);
    w->is_over = true;
    return -1;
}

/* ---- frames that are whole ---- */

static bool is_close_code(unsigned code)
{
    return (code >= 1000 && code <= 1011 && code != 1004 && code != 1005 && code != 1006) ||
           (code >= 3000 && code <= 4999);
}

static int take_close(struct websocket *w, struct str text)
{
    unsigned code = WEBSOCKET_NORMAL;

    if (text.n >= 2)
        code = (unsigned)(unsigned char)text.p[0] << 8 | (unsigned char)text.p[1];
    if (text.n == 1 || !is_close_code(code))
        return websocket_end_with(w, WEBSOCKET_PROTOCOL_ERROR);
    if (!str_is_utf8(str_from(text, 2)))
        return websocket_end_with(w, WEBSOCKET_BAD_TEXT);
    return websocket_end_with(w, (enum websocket_code)code); /* the same back */
}

static int take_control(struct websocket *w)
{
    struct str text = buf_view(&w->control);
    int rc = 0;

    if (w->opcode == OP_CLOSE)
        rc = take_close(w, text);
    else if (w->opcode == OP_PING)
        put_frame(w, OP_PONG, text, STR_NULL);
    buf_done(&w->control);
    return rc;
}

static int take_message(struct websocket *w)
{
    struct buf message = w->message;
    enum websocket_kind kind = (enum websocket_kind)w->kind;

    if (!w->is_last)
        return 0;
    if (kind == WEBSOCKET_TEXT && !str_is_utf8(buf_view(&message)))
        return websocket_end_with(w, WEBSOCKET_BAD_TEXT);
    w->message = (struct buf){ 0 };
    w->kind = 0;
    w->on_message(w->ctx, kind, buf_view(&message));
    buf_done(&message);
    return w->is_over ? -1 : 0;
}

/* ---- frames in the making ---- */

static size_t mask_size(const struct websocket *w)
{
    return w->is_client ? 0 : 4;
}

static size_t head_size(const struct websocket *w)
{
    unsigned n;

    if (w->head.n < 2)
        return 2;
    n = (unsigned char)w->head.p[1] & 0x7f;
    return 2 + mask_size(w) + (n == 126 ? 2 : n == 127 ? 8 : 0);
}

static uint64_t websocket_read_number(const char *p, size_t n)
{
    uint64_t v = 0;

    for (size_t i = 0; i < n; i++)
        v = v << 8 | (unsigned char)p[i];
    return v;
}

/* What the first two bytes tell. */
static int check_head(struct websocket *w)
{
    unsigned char first = (unsigned char)w->head.p[0], second = (unsigned char)w->head.p[1];
    bool is_control, is_known;

    w->is_last = first & 0x80;
    w->opcode = first & 0x0f;
    is_control = w->opcode >= OP_CLOSE;
    is_known = w->opcode <= OP_BINARY || (is_control && w->opcode <= OP_PONG);
    if ((first & 0x70) || !is_known || w->is_client == !!(second & 0x80))
        return websocket_end_with(w, WEBSOCKET_PROTOCOL_ERROR);
    if (is_control && (!w->is_last || (second & 0x7f) > CONTROL_MAX))
        return websocket_end_with(w, WEBSOCKET_PROTOCOL_ERROR);
    if (!is_control && (w->opcode == OP_MORE) != (w->kind != 0)) /* pieces of two messages */
        return websocket_end_with(w, WEBSOCKET_PROTOCOL_ERROR);
    return 0;
}

static int begin_payload(struct websocket *w)
{
    size_t n = w->head.n - mask_size(w) - 2, max = w->message_bytes ? w->message_bytes : MESSAGE_MAX;
    uint64_t least = n == 8 ? 65536 : n == 2 ? 126 : 0;

    w->left = n ? websocket_read_number(w->head.p + 2, n) : (unsigned char)w->head.p[1] & 0x7f;
    memset(w->mask, 0, sizeof(w->mask)); /* what is not masked is masked by nothing */
    memcpy(w->mask, w->head.p + 2 + n, mask_size(w));
    w->mask_at = 0;
    w->is_inside = true;
    buf_reset(&w->head);
    if (w->left < least)
        return websocket_end_with(w, WEBSOCKET_PROTOCOL_ERROR);
    if (w->opcode < OP_CLOSE && (w->left > max || w->message.n + w->left > max))
        return websocket_end_with(w, WEBSOCKET_TOO_BIG);
    if (w->opcode == OP_TEXT || w->opcode == OP_BINARY)
        w->kind = w->opcode;
    return 0;
}

static int end_frame(struct websocket *w)
{
    w->is_inside = false;
    return w->opcode >= OP_CLOSE ? take_control(w) : take_message(w);
}

static int websocket_take_head(struct websocket *w, struct str *rest)
{
    while (rest->n && w->head.n < head_size(w)) {
        buf_char(&w->head, rest->p[0]);
        *rest = str_from(*rest, 1);
        if (w->head.n == 2 && check_head(w) < 0)
            return -1;
    }
    if (w->head.n < 2 || w->head.n < head_size(w))
        return 0;
    if (begin_payload(w) < 0)
        return -1;
    return w->left ? 0 : end_frame(w);
}

static int take_payload(struct websocket *w, struct str *rest)
{
    struct buf *to = w->opcode >= OP_CLOSE ? &w->control : &w->message;
    size_t n = (size_t)MIN_OF(w->left, (uint64_t)rest->n);
    char *at = buf_reserve(to, n);

    for (size_t i = 0; i < n; i++)
        at[i] = (char)(rest->p[i] ^ w->mask[w->mask_at++ % 4]);
    to->n += n;
    w->left -= n;
    *rest = str_from(*rest, n);
    return w->left ? 0 : end_frame(w);
}

int websocket_take(struct websocket *w, struct str bytes)
{
    int rc = w->is_over ? -1 : 0;

    while (rc == 0 && bytes.n)
        rc = w->is_inside ? take_payload(w, &bytes) : websocket_take_head(w, &bytes);
    return rc;
}

void websocket_done(struct websocket *w)
{
    buf_done(&w->head);
    buf_done(&w->message);
    buf_done(&w->control);
}

/* ---- the handshake ---- */

bool websocket_is_asked(const struct http_call *call)
{
    return http_call_header_lists(call, "Connection", "upgrade") &&
           http_call_header_lists(call, "Upgrade", "websocket") && str_is(call->method, "GET");
}

void websocket_answer(struct str key, struct buf *ret)
{
    static const char salt[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* of the RFC */
    unsigned char hash[EVP_MAX_MD_SIZE];
    autobuf text = { 0 };
    unsigned n = 0;

    buf_str(&text, key);
    buf_str(&text, str_of(salt));
    if (EVP_Digest(text.p, text.n, hash, &n, EVP_sha1(), NULL) == 1)
        buf_base64(ret, (struct str){ (char *)hash, n });
}

int websocket_accept(const struct http_call *call, struct buf *ret)
{
    struct str key = http_call_header(call, "Sec-WebSocket-Key");
    autobuf nonce = { 0 };

    if (!str_is(http_call_header(call, "Sec-WebSocket-Version"), "13") || buf_unbase64(&nonce, key) < 0 ||
        nonce.n != 16)
        return -1;
    websocket_answer(key, ret);
    return ret->n ? 0 : -1;
}
