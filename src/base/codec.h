/* codec.h - bytes as hexadecimal digits, percent escapes, octal escapes and UUIDs
 *
 * Printing never fails. Parsing returns -1 for input that is not in the form described; base64 is in buf.h.
 */
#ifndef BASE_CODEC_H
#define BASE_CODEC_H

#include "base/arena.h"
#include "base/buf.h"

/* ---- hexadecimal ---- */

char *hex_print(char *at, const void *bytes, size_t n);     /* 2 n small digits and no NUL; returns their end */
void buf_hex(struct buf *out, const void *bytes, size_t n); /* the same, appended */
int hex_parse(struct str text, void *ret, size_t n);        /* exactly 2 n digits, small or capital */
bool hex_is_small(struct str text, size_t n);               /* exactly n digits, none of them capital */

/* ---- percent escapes, RFC 3986: "a%2Fb" ---- */

/* Letters, digits, "-._~" and the characters in 'kept' stay as they are. */
void percent_print(struct buf *out, struct str text, const char *kept);
void percent_print_char(struct buf *out, char c); /* always escaped */

/* Empties 'ret' first; it ends with a NUL also when it is empty. Refuses incomplete escapes and "%00". In the query of a
 * URL a '+' is a blank. */
int percent_parse(struct str text, bool is_query, struct buf *ret);

/* ---- octal escapes, as in /proc/self/mountinfo: "/my\040dir" ---- */

/* A backslash without three digits of a byte (000 to 377) stays as it is. The result ends with a NUL. */
struct str octal_unescape(struct arena *a, struct str text);

/* ---- UUIDs, RFC 9562 ---- */

enum { UUID_BYTES = 16, UUID_CHARS = 36 };
struct str uuid_print(const unsigned char bytes[UUID_BYTES], char room[UUID_CHARS]);

#endif
