/* rand.c - xoshiro256** and the kernel's generator */
#include "base/rand.h"

#include "base/util.h"

#include <assert.h>
#include <errno.h>
#include <sys/random.h>

/* splitmix64: spreads a poor seed (1, 2, 3 …) over the whole state. It is a bijection, so at most one word is 0. */
static uint64_t split_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void rand_seed(struct rand *r, uint64_t seed)
{
    for (size_t i = 0; i < ARRAY_LEN(r->s); i++)
        r->s[i] = split_next(&seed);
}

static uint64_t rotate_left(uint64_t v, unsigned by)
{
    return v << by | v >> (64 - by);
}

uint64_t rand_u64(struct rand *r)
{
    uint64_t *s = r->s;
    uint64_t out = rotate_left(s[1] * 5, 7) * 9, t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return out;
}

/* The high word of u64 * n lies in 0 … n-1. 2^64 is no multiple of most n, so some results would come once more often
 * than others: the first 2^64 mod n low words are thrown away, which leaves each result equally many. */
uint64_t rand_below(struct rand *r, uint64_t n)
{
    __uint128_t m;
    uint64_t unfair;

    assert(n > 0);
    m = (__uint128_t)rand_u64(r) * n;
    if ((uint64_t)m >= n)
        return (uint64_t)(m >> 64);
    unfair = (0 - n) % n;
    while ((uint64_t)m < unfair)
        m = (__uint128_t)rand_u64(r) * n;
    return (uint64_t)(m >> 64);
}

int64_t rand_between(struct rand *r, int64_t low, int64_t high)
{
    uint64_t span = (uint64_t)high - (uint64_t)low;

    assert(low <= high);
    return (int64_t)((uint64_t)low + (span == UINT64_MAX ? rand_u64(r) : rand_below(r, span + 1)));
}

bool rand_chance(struct rand *r, uint64_t times, uint64_t out_of)
{
    return rand_below(r, out_of) < times;
}

void rand_bytes(struct rand *r, void *p, size_t n)
{
    for (char *at = p; n;) {
        uint64_t word = rand_u64(r);
        size_t take = MIN_OF(n, sizeof(word));

        memcpy(at, &word, take);
        at += take;
        n -= take;
    }
}

void rand_os_bytes(void *p, size_t n)
{
    for (char *at = p; n;) {
        ssize_t got = getrandom(at, n, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) { /* no kernel we run on lacks it; going on with known bytes would be worse */
            fprintf(stderr, "pumice: getrandom: %s\n", strerror(errno));
            abort();
        }
        at += got;
        n -= (size_t)got;
    }
}

uint64_t rand_os_u64(void)
{
    uint64_t v;

    rand_os_bytes(&v, sizeof(v));
    return v;
}
