/* vec.c - doubling */
#include "base/vec.h"

#include "base/util.h"

#include <assert.h>

void *vec_grow(struct arena *a, void *old, size_t n, size_t *cap, size_t size)
{
    size_t bigger = *cap ? *cap * 2 : 8;
    void *p;

    assert(bigger <= SIZE_MAX / size);
    p = arena_alloc(a, bigger * size);
    if (n)
        memcpy(p, old, n * size);
    *cap = bigger;
    return p;
}
