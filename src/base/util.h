/* util.h - the few macros every file may use: array length, scope guards, banned functions */
#ifndef BASE_UTIL_H
#define BASE_UTIL_H

#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <time.h> /* before it is poisoned below */
#include <unistd.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
/* One side is evaluated twice: no calls with effects, and no recursion (it would double at every level). */
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

/* Scope guards: 'autofree char *p = …;' frees p when the scope ends. Each accepts the empty value (NULL, -1). */
static inline void autofree_done(void *pp)
{
    free(*(void **)pp);
}
static inline void autoclose_done(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}
static inline void autofile_done(FILE **f)
{
    if (*f)
        (void)fclose(*f); /* only for files read; a written file is closed and checked by hand */
}
#define autofree  __attribute__((cleanup(autofree_done)))
#define autoclose __attribute__((cleanup(autoclose_done)))
#define autofile  __attribute__((cleanup(autofile_done)))

/* Memory for small things never fails softly: the message says so and the program stops. Sizes that come from
 * outside are limited before they get here. */
void *xmalloc(size_t n);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n);

/* Unsafe or locale-bound: use struct str, struct buf, str_to_i64, and times given by the caller instead. */
#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol gets localtime gmtime

#endif
