/* buf.c - growing text */
#include "base/buf.h"

#include "base/util.h"

#include <assert.h>

void buf_done(struct buf *b)
{
    free(b->p);
    *b = (struct buf){ 0 };
}

void buf_reset(struct buf *b)
{
    b->n = 0;
    if (b->p)
        b->p[0] = '\0';
}

void buf_drop(struct buf *b, size_t n)
{
    assert(n <= b->n);
    if (n == b->n) {
        buf_done(b);
        return;
    }
    memmove(b->p, b->p + n, b->n - n);
    b->n -= n;
    b->p[b->n] = '\0';
}

void buf_used(struct buf *b, size_t *at)
{
    if (*at < b->n - *at)
        return;
    buf_drop(b, *at);
    *at = 0;
}

char *buf_reserve(struct buf *b, size_t n)
{
    size_t need = b->n + n + 1;

    assert(need > n);
    if (need > b->cap) {
        b->cap = MAX_OF(need, MAX_OF(b->cap * 2, 64));
        b->p = xrealloc(b->p, b->cap);
        b->p[b->n] = '\0';
    }
    return b->p + b->n;
}

void buf_repeat(struct buf *b, char c, size_t n)
{
    memset(buf_reserve(b, n), c, n);
    b->n += n;
    b->p[b->n] = '\0';
}

/* Into the room that is there; a second time where it was too small. */
void buf_vfmt(struct buf *b, const char *fmt, va_list ap)
{
    size_t room = b->cap - b->n;
    va_list again;
    int n;

    va_copy(again, ap);
    n = vsnprintf(room ? b->p + b->n : NULL, room, fmt, again);
    va_end(again);
    assert(n >= 0);
    if ((size_t)n >= room)
        (void)vsnprintf(buf_reserve(b, (size_t)n), (size_t)n + 1, fmt, ap);
    b->n += (size_t)n;
}

void buf_fmt(struct buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    buf_vfmt(b, fmt, ap);
    va_end(ap);
}

void buf_i64(struct buf *b, int64_t v)
{
    char room[STR_I64_ROOM];

    buf_str(b, str_i64(v, room));
}

static void quote_one(struct buf *b, struct str character)
{
    unsigned char c = (unsigned char)character.p[0];

    switch (c) {
    case '\n':
        buf_str(b, STR("\\n"));
        return;
    case '\r':
        buf_str(b, STR("\\r"));
        return;
    case '\t':
        buf_str(b, STR("\\t"));
        return;
    }
    if (c == '"' || c == '\\')
        buf_fmt(b, "\\%c", c);
    else if (c < 0x20 || c == 0x7f)
        buf_fmt(b, "\\x%02x", c);
    else
        buf_str(b, character);
}

void buf_quote(struct buf *b, struct str s, size_t max)
{
    buf_char(b, '"');
    for (size_t at = 0; at < s.n;) {
        struct str rest = str_from(s, at);
        size_t n = str_utf8_front(rest);

        if (at + MAX_OF(n, 1) > max) {
            buf_str(b, STR("\"..."));
            return;
        }
        if (n == 0)
            buf_fmt(b, "\\x%02x", (unsigned char)rest.p[0]);
        else
            quote_one(b, str_sub(rest, 0, n));
        at += MAX_OF(n, 1);
    }
    buf_char(b, '"');
}

static const char base64_digits[64] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void buf_base64(struct buf *b, struct str bytes)
{
    char *out = buf_reserve(b, (bytes.n + 2) / 3 * 4);

    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t left = MIN_OF(bytes.n - i, 3);
        uint32_t v = (uint32_t)(unsigned char)bytes.p[i] << 16;

        if (left > 1)
            v |= (uint32_t)(unsigned char)bytes.p[i + 1] << 8;
        if (left > 2)
            v |= (unsigned char)bytes.p[i + 2];
        *out++ = base64_digits[v >> 18];
        *out++ = base64_digits[v >> 12 & 63];
        *out++ = left > 1 ? base64_digits[v >> 6 & 63] : '=';
        *out++ = left > 2 ? base64_digits[v & 63] : '=';
    }
    b->n = (size_t)(out - b->p);
    *out = '\0';
}

int buf_unbase64(struct buf *b, struct str text)
{
    size_t start = b->n;

    if (text.n % 4)
        return -1;
    for (size_t i = 0; i < text.n; i += 4) {
        int pad = 0;
        uint32_t v = 0;

        for (size_t k = 0; k < 4; k++) {
            char c = text.p[i + k];
            const char *digit = c ? memchr(base64_digits, c, 64) : NULL;
            int d = digit ? (int)(digit - base64_digits) : -1;

            if (c == '=' && i + 4 == text.n && k >= 2)
                pad++, d = 0;
            else if (d < 0 || pad)
                goto bad;
            v = v << 6 | (uint32_t)d;
        }
        if ((pad == 1 && (v & 0xff)) || (pad == 2 && (v & 0xffff))) /* bits that encode nothing */
            goto bad;
        buf_append(b, (char[]){ (char)(v >> 16), (char)(v >> 8), (char)v }, (size_t)(3 - pad));
    }
    return 0;
bad:
    b->n = start;
    if (b->p)
        b->p[start] = '\0';
    return -1;
}
