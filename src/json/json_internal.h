/* json_internal.h - what the files of this folder share: scanning text, UTF-8, pointers */
#ifndef JSON_JSON_INTERNAL_H
#define JSON_JSON_INTERNAL_H

#include "json/json.h"
#include "json/members.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Deepest nesting a tree may have; the tree functions recurse that far. */
enum { JSON_DEPTH_DEFAULT = 256, JSON_DEPTH_MAX = 4096 };

/* ---- text ---- */

/* Eight bytes at once: is there one below 0x20, a quote or a backslash? The carry of the subtraction can only spoil
 * bytes above one that is found, so the answer for the whole word is exact. */
static inline bool json_word_stops(uint64_t w)
{
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    uint64_t quote = w ^ ones * '"', slash = w ^ ones * '\\';

    return (((w - ones * 0x20) & ~w) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & tops;
}

/* The first byte that cannot stand in a JSON string as it is (quote, backslash, control), or 'end'. Sets '*high' if a
 * byte >= 0x80 came before it. The hottest loop of the parser: most keys and texts end within the first 16 bytes. */
static inline const char *json_scan(const char *p, const char *end, bool *high)
{
    uint64_t w;

#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1f);

    for (; end - p >= 16; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i odd = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)),
                                   _mm_cmpeq_epi8(_mm_min_epu8(v, control), v));
        unsigned stop = (unsigned)_mm_movemask_epi8(odd), top = (unsigned)_mm_movemask_epi8(v);

        if (stop) {
            unsigned i = (unsigned)__builtin_ctz(stop);

            *high |= (top & ((1u << i) - 1)) != 0;
            return p + i;
        }
        *high |= top != 0;
    }
#endif
    for (; end - p >= 8; p += 8) {
        memcpy(&w, p, 8);
        if (json_word_stops(w))
            break;
        *high |= (w & 0x8080808080808080u) != 0;
    }
    for (; p < end && (unsigned char)*p >= 0x20 && *p != '"' && *p != '\\'; p++)
        *high |= (unsigned char)*p >= 0x80;
    return p;
}

/* Bytes of the character at 'p': 1 to 4, or 0 if it is not well-formed UTF-8. 'p' < 'end'. */
size_t json_utf8_len(const char *p, const char *end);

/* An object or array like 'j' (position, mark, key) without its children. */
struct json *json_copy_bare(struct arena *a, const struct json *j);

/* Nesting of a tree, a scalar is 0. Stops counting beyond 'limit'. */
size_t json_depth(const struct json *j, size_t limit);

/* ---- masks ---- */

struct json_mask {                  /* one key of the paths */
    struct json_mask *next, *first; /* sibling, children */
    const char *key;
    uint32_t key_n;
    bool keeps_all; /* what no child names is kept */
    bool drops;     /* it is left out */
};

/* Is the member of that key kept? Then the result is its mask; NULL: all of it. */
const struct json_mask *json_mask_below(const struct json_mask *m, struct str key, bool *ret_keeps);

/* ---- pointers (RFC 6901) ---- */

/* Take the next token (still escaped) out of '*rest'; false at the end. The pointer must have passed pointer_check. */
bool pointer_next(struct str *rest, struct str *ret_token);

/* Well-formed: empty or starting with '/', '~' only as ~0 and ~1. */
int pointer_check(struct str pointer, struct err *e);

/* A token as an index: digits without leading zeros. -1 if it is none. */
int pointer_index(struct str token, size_t *ret);

/* The child a token names; NULL if there is none. */
struct json *pointer_child(const struct json *j, struct str token);

/* The token with ~1 and ~0 resolved; borrows when there is nothing to resolve. */
struct str pointer_unescape(struct arena *a, struct str token);

#endif
