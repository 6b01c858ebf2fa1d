/* bits.h - sets of indices as bits: 'n' of them, in 64-bit words; bits at 'n' and beyond are 0 */
#ifndef JOB_BITS_H
#define JOB_BITS_H

#include "base/arena.h"

static inline size_t bits_words(uint32_t n)
{
    return ((size_t)n + 63) / 64;
}

static inline bool bit_get(const uint64_t *bits, uint32_t i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

static inline void bit_set(uint64_t *bits, uint32_t i)
{
    bits[i / 64] |= (uint64_t)1 << (i % 64);
}

static inline void bit_clear(uint64_t *bits, uint32_t i)
{
    bits[i / 64] &= ~((uint64_t)1 << (i % 64));
}

/* The lowest bit from 'from' on that is 'value'; 'n' if there is none. */
uint32_t bits_next(const uint64_t *bits, uint32_t n, uint32_t from, bool value);

uint32_t bits_ones(const uint64_t *bits, uint32_t n); /* that are 1 */

/* "0-3,7,9-12" and back, for what is kept in the status. Parsing adds to what is there. */
struct str bits_print(struct arena *a, const uint64_t *bits, uint32_t n);
void bits_parse(struct str text, uint64_t *bits, uint32_t n); /* what cannot be read is left out */

#endif
