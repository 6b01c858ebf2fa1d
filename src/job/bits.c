/* bits.c - sets of indices: searching, counting, and as text */
#include "job/bits.h"

#include "api/job.h"
#include "base/buf.h"
#include "base/util.h"

/* Bits 'from' … 'to', both included. */
static void bits_fill(uint64_t *bits, uint32_t from, uint32_t to)
{
    uint64_t first = UINT64_MAX << (from % 64), last = UINT64_MAX >> (63 - to % 64);
    size_t i = from / 64, end = to / 64;

    if (i == end) {
        bits[i] |= first & last;
        return;
    }
    bits[i] |= first;
    if (end > i + 1)
        memset(bits + i + 1, 0xff, (end - i - 1) * sizeof(*bits));
    bits[end] |= last;
}

uint32_t bits_next(const uint64_t *bits, uint32_t n, uint32_t from, bool value)
{
    uint64_t flip = value ? 0 : UINT64_MAX;

    for (size_t w = from / 64; w < bits_words(n); w++) {
        uint64_t word = bits[w] ^ flip;

        if (w == from / 64)
            word &= UINT64_MAX << (from % 64);
        if (word)
            return (uint32_t)MIN_OF((uint64_t)n, w * 64 + (uint64_t)__builtin_ctzll(word));
    }
    return n;
}

uint32_t bits_ones(const uint64_t *bits, uint32_t n)
{
    uint32_t count = 0;

    for (size_t w = 0; w < bits_words(n); w++)
        count += (uint32_t)__builtin_popcountll(bits[w]);
    return count;
}

struct str bits_print(struct arena *a, const uint64_t *bits, uint32_t n)
{
    autobuf out = { 0 };

    for (uint32_t i = bits_next(bits, n, 0, true), end; i < n; i = bits_next(bits, n, end, true)) {
        end = bits_next(bits, n, i, false);
        buf_fmt(&out, end - i > 1 ? "%s%u-%u" : "%s%u", out.n ? "," : "", i, end - 1);
    }
    return arena_str(a, buf_view(&out));
}

void bits_parse(struct str text, uint64_t *bits, uint32_t n)
{
    for (uint32_t from, to; indices_next(&text, &from, &to);)
        if (from < n)
            bits_fill(bits, from, MIN_OF(to, n - 1));
}
