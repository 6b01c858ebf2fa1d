/* arena.h - memory that is dropped all at once
 *
 * Each request and each plan has an arena. Its blocks are never freed alone; arena_reset() keeps the largest block for
 * the next turn, arena_done() gives everything back. A zeroed struct is a valid arena.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/str.h"

#include <stdarg.h>

struct arena_block;

struct arena {
    char *at, *end;             /* free part of the newest block */
    struct arena_block *blocks; /* newest first */
    size_t used;                /* bytes handed out since the last reset */
};

#define autoarena __attribute__((cleanup(arena_done))) struct arena

void arena_done(struct arena *a);
void arena_reset(struct arena *a);
void *arena_grow(struct arena *a, size_t n); /* the slow path of arena_alloc; do not call */

enum { ARENA_ALIGN = 16 }; /* __int128 and long double need it */

/* Not cleared; aligned for any type. Never NULL, also when n is 0. */
static inline void *arena_alloc(struct arena *a, size_t n)
{
    char *p = a->at;

    /* Free space is a multiple of ARENA_ALIGN, so what is left holds the rounded n too. "<=": an arena without any
     * block has room for 0 bytes but no address for them. */
    if ((size_t)(a->end - a->at) <= n)
        return arena_grow(a, n);
    n = (n + (ARENA_ALIGN - 1)) & ~(size_t)(ARENA_ALIGN - 1);
    a->at += n;
    a->used += n;
    return p;
}
static inline void *arena_zalloc(struct arena *a, size_t n) /* cleared */
{
    return memset(arena_alloc(a, n), 0, n);
}
void *arena_zalloc_array(struct arena *a, size_t n, size_t size); /* n * size bytes, cleared; checks the product */

#define arena_new(a, type)      ((type *)arena_zalloc((a), sizeof(type)))
#define arena_array(a, type, n) ((type *)arena_zalloc_array((a), (n), sizeof(type)))

/* Copies; the copy is followed by a NUL that is not counted. */
struct str arena_str(struct arena *a, struct str s);
struct str arena_fmt(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct str arena_vfmt(struct arena *a, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0), nonnull(2)));

/* 's' as a C string (NUL at the end). */
const char *arena_cstr(struct arena *a, struct str s);

/* A copy with ASCII capitals made small. */
struct str arena_lower(struct arena *a, struct str s);

/* 'a' and 'b' joined. */
struct str arena_cat(struct arena *a, struct str x, struct str y);

#endif
