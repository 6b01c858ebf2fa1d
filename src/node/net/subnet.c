/* subnet.c - a range of IPv4 addresses and which of them are taken */
#include "node/net/subnet.h"

#include "base/util.h"

#include <arpa/inet.h>

enum { GATEWAY = 1, FIRST = 2, LAST = 2 }; /* LAST: as many at the end are not given */

static uint32_t mask_of(int prefix)
{
    return prefix ? ~(uint32_t)0 << (32 - prefix) : 0;
}

static uint32_t subnet_size_of(const struct subnet *s)
{
    return (uint32_t)1 << (32 - s->prefix);
}

int subnet_parse(struct str text, struct subnet *ret, struct err *e)
{
    struct str rest = text, address = STR_NULL;
    struct in_addr a;
    char z[INET_ADDRSTRLEN];
    int64_t prefix;

    (void)str_split(&rest, '/', &address); /* no '/': 'rest' is empty and no number */
    if (address.n >= sizeof(z))
        return err_set(e, ERR_INVALID, "subnet \"%.*s\": not an IPv4 address", STR_ARG(text));
    memcpy(z, address.p ? address.p : "", address.n);
    z[address.n] = '\0';
    if (inet_pton(AF_INET, z, &a) != 1)
        return err_set(e, ERR_INVALID, "subnet \"%.*s\": not an IPv4 address", STR_ARG(text));
    if (str_to_i64(rest, &prefix) < 0 || prefix < SUBNET_PREFIX_MIN || prefix > SUBNET_PREFIX_MAX)
        return err_set(e, ERR_INVALID, "subnet \"%.*s\": needs a prefix from /%d to /%d", STR_ARG(text),
                       SUBNET_PREFIX_MIN, SUBNET_PREFIX_MAX);
    if (ntohl(a.s_addr) & ~mask_of((int)prefix))
        return err_set(e, ERR_INVALID, "subnet \"%.*s\": the address has bits beyond the prefix", STR_ARG(text));
    *ret = (struct subnet){ .base = ntohl(a.s_addr), .prefix = (int)prefix };
    return 0;
}

static void set_bit(struct subnet *s, uint32_t i, bool on)
{
    uint64_t bit = (uint64_t)1 << (i % 64);

    s->taken[i / 64] = on ? s->taken[i / 64] | bit : s->taken[i / 64] & ~bit;
}

static bool subnet_is_taken(const struct subnet *s, uint32_t i)
{
    return s->taken[i / 64] >> (i % 64) & 1;
}

void subnet_init(struct subnet *s)
{
    s->taken = xcalloc((subnet_size_of(s) + 63) / 64, sizeof(*s->taken));
    s->next = FIRST;
    for (uint32_t i = 0; i < FIRST; i++)
        set_bit(s, i, true);
    for (uint32_t i = 1; i <= LAST; i++)
        set_bit(s, subnet_size_of(s) - i, true);
}

void subnet_done(struct subnet *s)
{
    free(s->taken);
    s->taken = NULL;
}

struct in_addr subnet_gateway(const struct subnet *s)
{
    return (struct in_addr){ htonl(s->base + GATEWAY) };
}

struct in_addr subnet_host(const struct subnet *s)
{
    return (struct in_addr){ htonl(s->base + subnet_size_of(s) - LAST) };
}

bool subnet_overlaps(const struct subnet *s, uint32_t base, int prefix)
{
    uint32_t mask = mask_of(MIN_OF(prefix, s->prefix));

    return (s->base & mask) == (base & mask);
}

int subnet_take(struct subnet *s, struct in_addr *ret, struct err *e)
{
    uint32_t n = subnet_size_of(s);

    for (uint32_t tried = 0; tried < n;) {
        uint32_t i = s->next;

        if (i % 64 == 0 && s->taken[i / 64] == UINT64_MAX) { /* a full word at once */
            s->next = i + 64 >= n ? FIRST : i + 64;
            tried += 64;
            continue;
        }
        s->next = i + 1 >= n ? FIRST : i + 1;
        tried++;
        if (subnet_is_taken(s, i))
            continue;
        set_bit(s, i, true);
        ret->s_addr = htonl(s->base + i);
        return 0;
    }
    return err_set(e, ERR_TOO_BIG, "all %u addresses of the pod network are in use", n - FIRST - LAST);
}

uint32_t subnet_upper(const struct subnet *s)
{
    return s->base + subnet_size_of(s) / 2;
}

int subnet_take_in(struct subnet *s, bool is_upper, struct in_addr *ret, struct err *e)
{
    uint32_t n = subnet_size_of(s) / 2, first = is_upper ? n : 0, *next = &s->next_in[is_upper];

    for (uint32_t tried = 0; tried < n; tried++) {
        uint32_t i = first + *next;

        *next = (*next + 1) % n;
        if (subnet_is_taken(s, i))
            continue;
        set_bit(s, i, true);
        ret->s_addr = htonl(s->base + i);
        return 0;
    }
    return err_set(e, ERR_TOO_BIG, "all %u addresses of this half of the pod network are in use", n - FIRST);
}

int64_t subnet_index(const struct subnet *s, struct in_addr a)
{
    uint32_t i = ntohl(a.s_addr) - s->base;

    return i < subnet_size_of(s) ? (int64_t)i : -1;
}

bool subnet_hold(struct subnet *s, struct in_addr a)
{
    int64_t i = subnet_index(s, a);

    if (i < 0 || subnet_is_taken(s, (uint32_t)i))
        return false;
    set_bit(s, (uint32_t)i, true);
    return true;
}

void subnet_give(struct subnet *s, struct in_addr a)
{
    int64_t i = subnet_index(s, a);

    if (i >= FIRST && i < (int64_t)subnet_size_of(s) - LAST)
        set_bit(s, (uint32_t)i, false);
}
