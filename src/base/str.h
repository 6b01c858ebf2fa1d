/* str.h - a view of text: pointer and length, owning nothing
 *
 * A str may lack a NUL and may be empty; 'p' may be NULL only when 'n' is 0. Pass it by value. To keep the text
 * copy it into an arena (arena_str); to build text use struct buf.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *p;
    size_t n;
};

#define STR(literal) ((struct str){ ("" literal), sizeof(literal) - 1 })
#define STR_INIT(literal)                                                                                              \
    {                                                                                                                  \
        ("" literal), sizeof(literal) - 1                                                                              \
    } /* for static tables */
#define STR_NULL ((struct str){ NULL, 0 })

/* For printf("%.*s", STR_ARG(s)). */
#define STR_ARG(s) (int)((s).n), ((s).p ? (s).p : "")

static inline struct str str_of(const char *z)
{
    return (struct str){ z, z ? strlen(z) : 0 };
}
static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
bool str_is_text(struct str a, const char *z); /* str_is() without what the compiler can do about it */
static inline bool str_is(struct str a, const char *z)
{
    if (__builtin_constant_p(z ? strlen(z) : 0))
        return str_eq(a, str_of(z));
    return !(a.n && z && a.p[0] != z[0]) && str_is_text(a, z); /* tables of names: most differ in the first letter */
}
static inline bool str_empty(struct str s)
{
    return s.n == 0;
}

int str_cmp(struct str a, struct str b);        /* <0, 0, >0 by bytes, as memcmp */
bool str_eq_nocase(struct str a, struct str b); /* ASCII only */
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
bool str_has(struct str s, struct str part);
bool str_has_char(struct str s, char c);

/* Position of the first (last) 'c', or -1. */
ptrdiff_t str_find_char(struct str s, char c);
ptrdiff_t str_rfind_char(struct str s, char c);

/* Bytes from 'at' to the end / 'n' bytes from 'at'; both are cut to what is there. */
struct str str_from(struct str s, size_t at);
struct str str_sub(struct str s, size_t at, size_t n);

/* The last 'n' lines, without the end of the last one. */
struct str str_last_lines(struct str s, size_t n);

/* Without ASCII white space at both ends. */
struct str str_trim(struct str s);

/* Take the part up to 'sep' out of '*rest'; false when no part is left. "a,,b" gives "a", "", "b" and "" gives one
 * empty part (STR_NULL none), so the parts joined again are always the text. */
bool str_split(struct str *rest, char sep, struct str *ret_part);

/* Whole decimal numbers: optional sign (not for str_to_u64), digits, nothing else. -1 on anything else or overflow;
 * '*ret' untouched. */
int str_to_i64(struct str s, int64_t *ret);
int str_to_u64(struct str s, uint64_t *ret);

/* A number in decimal, written to the end of 'room'. */
enum { STR_I64_ROOM = 20 };
struct str str_i64(int64_t v, char room[STR_I64_ROOM]);

/* The value of a hexadecimal digit, in small or capital letters; -1: it is none. */
static inline int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Edits between two words (insert, delete, replace, swap of neighbours), at most 'limit' + 1. Used for
 * "did you mean …?". */
size_t str_distance(struct str a, struct str b, size_t limit);

/* Is it well-formed UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF)? */
bool str_is_utf8(struct str s);

/* Bytes of the UTF-8 character at the front; 0 if there is none. */
size_t str_utf8_front(struct str s);

/* The first 'max' bytes of it at most, whole characters. */
struct str str_cut(struct str s, size_t max);

uint64_t str_hash(struct str s, uint64_t seed);

#endif
