/* nft_rule.c - the expressions of rules */
#include "os/nft.h"

#include "base/util.h"
#include "os/nft_internal.h"

#include <arpa/inet.h>
#include <net/if.h>

static const struct {
    uint32_t base, at, n;
} fields[NFT_FIELD_MAX] = {
    [NFT_SADDR] = { NFT_PAYLOAD_NETWORK_HEADER, 12, 4 },
    [NFT_DADDR] = { NFT_PAYLOAD_NETWORK_HEADER, 16, 4 },
    [NFT_DPORT] = { NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2 },
};

struct expression {
    struct nlmsghdr *m;
    struct nlattr *element, *data;
};

static struct expression nft_rule_begin(struct nft *t, const char *name)
{
    struct expression x = { .m = nft_rule_now(t) };

    x.element = mnl_attr_nest_start(x.m, NFTA_LIST_ELEM);
    mnl_attr_put_strz(x.m, NFTA_EXPR_NAME, name);
    x.data = mnl_attr_nest_start(x.m, NFTA_EXPR_DATA);
    return x;
}

static void nft_rule_end(const struct expression *x)
{
    mnl_attr_nest_end(x->m, x->data);
    mnl_attr_nest_end(x->m, x->element);
}

/* Numbers of the protocol itself are in the network's byte order. */
static void nft_rule_put(const struct expression *x, uint16_t type, uint32_t v)
{
    mnl_attr_put_u32(x->m, type, htonl(v));
}

static uint32_t reg(unsigned at)
{
    return NFT_REG32_00 + at;
}

/* ---- loading ---- */

void nft_load(struct nft *t, unsigned at, enum nft_field field)
{
    struct expression x = nft_rule_begin(t, "payload");

    nft_rule_put(&x, NFTA_PAYLOAD_DREG, reg(at));
    nft_rule_put(&x, NFTA_PAYLOAD_BASE, fields[field].base);
    nft_rule_put(&x, NFTA_PAYLOAD_OFFSET, fields[field].at);
    nft_rule_put(&x, NFTA_PAYLOAD_LEN, fields[field].n);
    nft_rule_end(&x);
}

void nft_load_meta(struct nft *t, unsigned at, enum nft_meta_keys key)
{
    struct expression x = nft_rule_begin(t, "meta");

    nft_rule_put(&x, NFTA_META_DREG, reg(at));
    nft_rule_put(&x, NFTA_META_KEY, (uint32_t)key);
    nft_rule_end(&x);
}

void nft_load_ct_state(struct nft *t, unsigned at)
{
    struct expression x = nft_rule_begin(t, "ct");

    nft_rule_put(&x, NFTA_CT_DREG, reg(at));
    nft_rule_put(&x, NFTA_CT_KEY, NFT_CT_STATE);
    nft_rule_end(&x);
}

void nft_load_random(struct nft *t, unsigned at, uint32_t below)
{
    struct expression x = nft_rule_begin(t, "numgen");

    nft_rule_put(&x, NFTA_NG_DREG, reg(at));
    nft_rule_put(&x, NFTA_NG_MODULUS, below);
    nft_rule_put(&x, NFTA_NG_TYPE, NFT_NG_RANDOM);
    nft_rule_put(&x, NFTA_NG_OFFSET, 0);
    nft_rule_end(&x);
}

void nft_load_hash(struct nft *t, unsigned from, uint32_t n, unsigned at, uint32_t below)
{
    struct expression x = nft_rule_begin(t, "hash");

    nft_rule_put(&x, NFTA_HASH_SREG, reg(from));
    nft_rule_put(&x, NFTA_HASH_DREG, reg(at));
    nft_rule_put(&x, NFTA_HASH_LEN, n);
    nft_rule_put(&x, NFTA_HASH_MODULUS, below);
    nft_rule_put(&x, NFTA_HASH_SEED, 0);
    nft_rule_put(&x, NFTA_HASH_OFFSET, 0);
    nft_rule_put(&x, NFTA_HASH_TYPE, NFT_HASH_JENKINS);
    nft_rule_end(&x);
}

void nft_load_value(struct nft *t, unsigned at, const void *value, size_t n)
{
    struct expression x = nft_rule_begin(t, "immediate");

    nft_rule_put(&x, NFTA_IMMEDIATE_DREG, reg(at));
    nft_put_value(x.m, NFTA_IMMEDIATE_DATA, value, n);
    nft_rule_end(&x);
}

void nft_mask(struct nft *t, unsigned at, uint32_t bits)
{
    struct expression x = nft_rule_begin(t, "bitwise");
    uint32_t nothing = 0;

    nft_rule_put(&x, NFTA_BITWISE_SREG, reg(at));
    nft_rule_put(&x, NFTA_BITWISE_DREG, reg(at));
    nft_rule_put(&x, NFTA_BITWISE_LEN, sizeof(bits));
    nft_put_value(x.m, NFTA_BITWISE_MASK, &bits, sizeof(bits));
    nft_put_value(x.m, NFTA_BITWISE_XOR, &nothing, sizeof(nothing));
    nft_rule_end(&x);
}

/* ---- matching ---- */

void nft_match(struct nft *t, unsigned at, enum nft_cmp_ops op, const void *value, size_t n)
{
    struct expression x = nft_rule_begin(t, "cmp");

    nft_rule_put(&x, NFTA_CMP_SREG, reg(at));
    nft_rule_put(&x, NFTA_CMP_OP, (uint32_t)op);
    nft_put_value(x.m, NFTA_CMP_DATA, value, n);
    nft_rule_end(&x);
}

static struct expression begin_lookup(struct nft *t, unsigned at, const struct nft_set *set)
{
    struct expression x = nft_rule_begin(t, "lookup");

    mnl_attr_put_strz(x.m, NFTA_LOOKUP_SET, nft_set_name(set));
    nft_rule_put(&x, NFTA_LOOKUP_SET_ID, set->number);
    nft_rule_put(&x, NFTA_LOOKUP_SREG, reg(at));
    return x;
}

void nft_match_set(struct nft *t, unsigned at, const struct nft_set *set)
{
    struct expression x = begin_lookup(t, at, set);

    nft_rule_end(&x);
}

void nft_match_ipv4(struct nft *t)
{
    uint8_t v = NFPROTO_IPV4;

    nft_load_meta(t, 0, NFT_META_NFPROTO);
    nft_match(t, 0, NFT_CMP_EQ, &v, sizeof(v));
}

void nft_match_protocol(struct nft *t, uint8_t protocol)
{
    nft_load_meta(t, 0, NFT_META_L4PROTO);
    nft_match(t, 0, NFT_CMP_EQ, &protocol, sizeof(protocol));
}

void nft_match_link(struct nft *t, enum nft_meta_keys key, const char *name)
{
    char padded[IFNAMSIZ] = "";

    (void)snprintf(padded, sizeof(padded), "%s", name);
    nft_load_meta(t, 0, key);
    nft_match(t, 0, NFT_CMP_EQ, padded, sizeof(padded));
}

/* ---- doing ---- */

void nft_map(struct nft *t, unsigned at, const struct nft_set *map, unsigned to)
{
    struct expression x = begin_lookup(t, at, map);

    nft_rule_put(&x, NFTA_LOOKUP_DREG, reg(to));
    nft_rule_end(&x);
}

void nft_map_verdict(struct nft *t, unsigned at, const struct nft_set *map)
{
    struct expression x = begin_lookup(t, at, map);

    nft_rule_put(&x, NFTA_LOOKUP_DREG, NFT_REG_VERDICT);
    nft_rule_end(&x);
}

void nft_verdict(struct nft *t, int code, const char *chain)
{
    struct expression x = nft_rule_begin(t, "immediate");

    nft_rule_put(&x, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    nft_put_verdict(x.m, NFTA_IMMEDIATE_DATA, code, chain);
    nft_rule_end(&x);
}

void nft_masquerade(struct nft *t)
{
    struct expression x = nft_rule_begin(t, "masq");

    nft_rule_end(&x);
}

void nft_nat(struct nft *t, enum nft_nat_types type, unsigned address_at, int port_at)
{
    struct expression x = nft_rule_begin(t, "nat");

    nft_rule_put(&x, NFTA_NAT_TYPE, (uint32_t)type);
    nft_rule_put(&x, NFTA_NAT_FAMILY, NFPROTO_IPV4);
    nft_rule_put(&x, NFTA_NAT_REG_ADDR_MIN, reg(address_at));
    if (port_at != NFT_NO_PORT)
        nft_rule_put(&x, NFTA_NAT_REG_PROTO_MIN, reg((unsigned)port_at));
    nft_rule_end(&x);
}

void nft_reject(struct nft *t, enum nft_reject_types type, uint8_t code)
{
    struct expression x = nft_rule_begin(t, "reject");

    nft_rule_put(&x, NFTA_REJECT_TYPE, (uint32_t)type);
    mnl_attr_put_u8(x.m, NFTA_REJECT_ICMP_CODE, code);
    nft_rule_end(&x);
}
