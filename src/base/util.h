/* util.h - the few macros every file may use: array length, scope guards, banned functions */
#ifndef BASE_UTIL_H
#define BASE_UTIL_H

#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <time.h> /* before it is poisoned below */
#include <unistd.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
/* The lesser and the greater of two, in the type that both have in common. Each is evaluated once, so it may be a call
 * that does something: a loop that asks each of its parts when to wake would else run the part that is due first a
 * second time, and sleep for as long as that answer says. Inside functions only. */
#ifdef __cppcheck__ /* it does not read a block of statements as a value */
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))
#else
#define MIN_OF(a, b)           PICK_OF(a, <, b, __COUNTER__)
#define MAX_OF(a, b)           PICK_OF(a, >, b, __COUNTER__)
#define PICK_OF(a, than, b, n) PICK_OF_(a, than, b, n) /* for the number */
#define PICK_OF_(a, than, b, n)                                                                                        \
    ({                                                                                                                 \
        __typeof__(1 ? (a) : (b)) a_##n = (a), b_##n = (b);                                                            \
        a_##n than b_##n ? a_##n : b_##n;                                                                              \
    })
#endif

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
