/* count.c - steps: what the compiler calls at every branch, and bytes that the C library moves
 *
 * This file alone is not compiled with the counting.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static uint64_t steps;

void __sanitizer_cov_trace_pc(void);
uint64_t count_steps(void);
void *__real_memcpy(void *to, const void *from, size_t n);
void *__real_memmove(void *to, const void *from, size_t n);
void *__real_memset(void *to, int c, size_t n);
int __real_memcmp(const void *a, const void *b, size_t n);
void *__real_memchr(const void *s, int c, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n);
void *__wrap_memset(void *to, int c, size_t n);
int __wrap_memcmp(const void *a, const void *b, size_t n);
void *__wrap_memchr(const void *s, int c, size_t n);

uint64_t count_steps(void)
{
    return steps;
}

void __sanitizer_cov_trace_pc(void)
{
    steps++;
}

static void count_bytes(size_t n)
{
    steps += n / 16;
}

void *__wrap_memcpy(void *to, const void *from, size_t n)
{
    count_bytes(n);
    return __real_memcpy(to, from, n);
}

void *__wrap_memmove(void *to, const void *from, size_t n)
{
    count_bytes(n);
    return __real_memmove(to, from, n);
}

void *__wrap_memset(void *to, int c, size_t n)
{
    count_bytes(n);
    return __real_memset(to, c, n);
}

int __wrap_memcmp(const void *a, const void *b, size_t n)
{
    count_bytes(n);
    return __real_memcmp(a, b, n);
}

void *__wrap_memchr(const void *s, int c, size_t n)
{
    const char *at = __real_memchr(s, c, n);

    count_bytes(at ? (size_t)(at - (const char *)s) : n);
    return (void *)at;
}
