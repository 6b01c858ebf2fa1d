/* util.c - allocation that does not return on failure */
#include "base/util.h"

static _Noreturn void out_of_memory(size_t n)
{
    fprintf(stderr, "pumice: out of memory (asked for %zu bytes)\n", n);
    abort();
}

void *xmalloc(size_t n)
{
    void *p = malloc(n ? n : 1);

    if (!p)
        out_of_memory(n);
    return p;
}

void *xcalloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1);

    if (!p)
        out_of_memory(n * size);
    return p;
}

void *xrealloc(void *old, size_t n)
{
    void *p = realloc(old, n ? n : 1);

    if (!p)
        out_of_memory(n);
    return p;
}
