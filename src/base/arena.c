/* arena.c - blocks that double up to 256 KiB; larger wishes get a block of their own
 *
 * The first is small: each of 10,000 watches has arenas that hold a few words.
 */
#include "base/arena.h"

#include "base/util.h"

#include <assert.h>

struct arena_block {
    struct arena_block *next;
    size_t size;
    char data[];
};

enum { BLOCK_MIN = 1024 - 2 * sizeof(struct arena_block), BLOCK_MAX = 256 * 1024 };

_Static_assert(sizeof(struct arena_block) % ARENA_ALIGN == 0 && _Alignof(max_align_t) >= ARENA_ALIGN,
               "the first bytes of a block are aligned");

void arena_done(struct arena *a)
{
    for (struct arena_block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    *a = (struct arena){ 0 };
}

void arena_reset(struct arena *a)
{
    struct arena_block *keep = NULL;

    for (struct arena_block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        if (!keep || b->size > keep->size) {
            free(keep);
            keep = b;
        } else {
            free(b);
        }
    }
    *a = (struct arena){ 0 };
    if (!keep)
        return;
    keep->next = NULL;
    *a = (struct arena){ .at = keep->data, .end = keep->data + keep->size, .blocks = keep };
}

void *arena_grow(struct arena *a, size_t n)
{
    size_t size = a->blocks ? MIN_OF(a->blocks->size * 2, BLOCK_MAX) : BLOCK_MIN;
    struct arena_block *b;

    assert(n <= SIZE_MAX / 2); /* a size computed wrongly, not a wish */
    n = (n + (ARENA_ALIGN - 1)) & ~(size_t)(ARENA_ALIGN - 1);
    size = MAX_OF(size, n);
    b = xmalloc(sizeof(*b) + size);
    b->size = size;
    b->next = a->blocks;
    a->blocks = b;
    a->at = b->data + n;
    a->end = b->data + size;
    a->used += n;
    return b->data;
}

void *arena_zalloc_array(struct arena *a, size_t n, size_t size)
{
    assert(n <= SIZE_MAX / 2 / size);
    return arena_zalloc(a, n * size);
}

struct str arena_str(struct arena *a, struct str s)
{
    char *p = arena_alloc(a, s.n + 1);

    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return (struct str){ p, s.n };
}

const char *arena_cstr(struct arena *a, struct str s)
{
    return arena_str(a, s).p;
}

/* Into the room that is there, which is taken after; a second time where it was too small. */
struct str arena_vfmt(struct arena *a, const char *fmt, va_list ap)
{
    char *room = a->at, *p;
    va_list again;
    int n;

    va_copy(again, ap);
    n = vsnprintf(room, (size_t)(a->end - a->at), fmt, again);
    va_end(again);
    assert(n >= 0);
    p = arena_alloc(a, (size_t)n + 1);
    if (p != room)
        (void)vsnprintf(p, (size_t)n + 1, fmt, ap);
    return (struct str){ p, (size_t)n };
}

struct str arena_fmt(struct arena *a, const char *fmt, ...)
{
    struct str s;
    va_list ap;

    va_start(ap, fmt);
    s = arena_vfmt(a, fmt, ap);
    va_end(ap);
    return s;
}

struct str arena_lower(struct arena *a, struct str s)
{
    char *p = (char *)arena_str(a, s).p;

    for (size_t i = 0; i < s.n; i++)
        if (p[i] >= 'A' && p[i] <= 'Z')
            p[i] = (char)(p[i] + 32);
    return (struct str){ p, s.n };
}

struct str arena_cat(struct arena *a, struct str x, struct str y)
{
    char *p = arena_alloc(a, x.n + y.n + 1);

    if (x.n)
        memcpy(p, x.p, x.n);
    if (y.n)
        memcpy(p + x.n, y.p, y.n);
    p[x.n + y.n] = '\0';
    return (struct str){ p, x.n + y.n };
}
