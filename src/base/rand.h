/* rand.h - random numbers: repeatable from a seed, or from the operating system
 *
 * The generator (xoshiro256**, seeded by splitmix64) gives the same numbers for the same seed on every machine and in
 * every version: simulations and property tests name a seed and replay it. It is fast and even, but an attacker who
 * sees some numbers can work out the rest, so keys and tokens come from rand_os_bytes().
 */
#ifndef BASE_RAND_H
#define BASE_RAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rand {
    uint64_t s[4]; /* never all zero */
};

void rand_seed(struct rand *r, uint64_t seed); /* any seed will do, 0 too */

uint64_t rand_u64(struct rand *r);
uint64_t rand_below(struct rand *r, uint64_t n);                   /* 0 … n-1, each equally likely; n > 0 */
int64_t rand_between(struct rand *r, int64_t low, int64_t high);   /* low … high, both included; low <= high */
bool rand_chance(struct rand *r, uint64_t times, uint64_t out_of); /* true 'times' times 'out_of' on average */
void rand_bytes(struct rand *r, void *p, size_t n);

/* From the kernel, fit for secrets. They wait for the kernel's pool at boot and never fail. */
void rand_os_bytes(void *p, size_t n);
uint64_t rand_os_u64(void);

#endif
