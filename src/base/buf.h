/* buf.h - text being built: grows at the end, owns its bytes
 *
 * A zeroed struct is a valid empty buffer. The bytes are always followed by a NUL that is not counted, so buf.p can
 * be handed to C functions once something was written.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/str.h"

#include <stdarg.h>

struct buf {
    char *p;
    size_t n, cap;
};

#define autobuf __attribute__((cleanup(buf_done))) struct buf

void buf_done(struct buf *b);           /* release; the buffer is empty and usable again */
void buf_reset(struct buf *b);          /* empty, but keep the memory */
void buf_drop(struct buf *b, size_t n); /* the first 'n' bytes; all of them: the memory too */
/* The first '*at' bytes were used: drop them as soon as they are half of all, so that it costs nothing in the mean. */
void buf_used(struct buf *b, size_t *at);
char *buf_reserve(struct buf *b, size_t n); /* room for n more bytes; returns where they go */

/* Defined here because printing is the hot path: one compare, one copy. 'p' must not point into the buffer itself. */
static inline void buf_append(struct buf *b, const void *p, size_t n)
{
    char *at = b->cap - b->n > n ? b->p + b->n : buf_reserve(b, n);

    if (n)
        memcpy(at, p, n);
    b->n += n;
    b->p[b->n] = '\0';
}
static inline void buf_char(struct buf *b, char c)
{
    buf_append(b, &c, 1);
}
static inline void buf_str(struct buf *b, struct str s)
{
    buf_append(b, s.p, s.n);
}
void buf_repeat(struct buf *b, char c, size_t n);
void buf_fmt(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3), nonnull(2)));
void buf_vfmt(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0), nonnull(2)));
void buf_i64(struct buf *b, int64_t v);

/* The text written so far; valid until the next write. */
static inline struct str buf_view(const struct buf *b)
{
    return (struct str){ b->p, b->n };
}

/* Text as a message shows it: in double quotes, one line, good UTF-8. Quotes, backslashes and control characters are
 * escaped (\" \\ \n \r \t \xNN), so are bytes that are not UTF-8. Text of more than 'max' bytes is cut and followed by
 * "..." outside the quotes. */
void buf_quote(struct buf *b, struct str s, size_t max);

/* Standard base64 with padding. Decoding refuses anything else, line breaks included. */
void buf_base64(struct buf *b, struct str bytes);
int buf_unbase64(struct buf *b, struct str text);

#endif
