/* net_nat.c - one small nftables table at egress: it hides the pods, and guards who gets in and how far out
 * they get */
#include "node/net/net_nat.h"

#include "base/codec.h"
#include "base/util.h"
#include "node/net/net_internal.h"
#include "os/nft.h"

#include <arpa/inet.h>
#include <linux/icmp.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nfnetlink.h>

enum {
    ID_DIGITS = 6,
    RAW_PRIORITY = -300, /* before anybody gives packets another destination */
    FILTER_PRIORITY = 0,
    SRCNAT_PRIORITY = 100,
};

static const uint32_t LINK_LOCAL = 0xa9fe0000; /* 169.254.0.0 */
static const char prefix[] = "pumice_", suffix[] = "_out";

/* "ip saddr 10.213.0.0/16", "ip daddr != 10.213.0.0/16" */
static void match_address(struct nft *t, enum nft_field field, enum nft_cmp_ops op, uint32_t base, int bits)
{
    uint32_t wanted = htonl(base);

    nft_load(t, 0, field);
    if (bits < 32)
        nft_mask(t, 0, htonl(~(uint32_t)0 << (32 - bits)));
    nft_match(t, 0, op, &wanted, sizeof(wanted));
}

static void match_meta(struct nft *t, enum nft_meta_keys key, uint32_t bits, enum nft_cmp_ops op, uint32_t value)
{
    nft_load_meta(t, 0, key);
    if (~bits)
        nft_mask(t, 0, bits);
    nft_match(t, 0, op, &value, sizeof(value));
}

/* No part of what passed before: "ct state != established,related". */
static void match_new(struct nft *t)
{
    uint32_t nothing = 0;

    nft_load_ct_state(t, 0);
    nft_mask(t, 0, NF_CT_STATE_BIT(IP_CT_ESTABLISHED) | NF_CT_STATE_BIT(IP_CT_RELATED));
    nft_match(t, 0, NFT_CMP_EQ, &nothing, sizeof(nothing));
}

/* Rejected, not dropped, so that the sender does not wait two minutes. */
static void reject(struct nft *t)
{
    nft_reject(t, NFT_REJECT_ICMP_UNREACH, ICMP_PKT_FILTERED);
}

/* ---- the table ---- */

static void nat_name_of(const char *id, char out[32])
{
    (void)snprintf(out, 32, "%s%.6s%s", prefix, id, suffix);
}

static const struct nft_hook way_out = { "nat", NF_INET_POST_ROUTING, SRCNAT_PRIORITY },
                             link_local = { "filter", NF_INET_PRE_ROUTING, RAW_PRIORITY },
                             forwarded = { "filter", NF_INET_FORWARD, FILTER_PRIORITY },
                             own = { "filter", NF_INET_LOCAL_OUT, FILTER_PRIORITY },
                             to_host = { "filter", NF_INET_LOCAL_IN, FILTER_PRIORITY },
                             to_host_beyond = { "filter", NF_INET_FORWARD, FILTER_PRIORITY };
static const char to_host_name[] = "to_host";

static void put_way_out(struct nft *t, const struct subnet *pods)
{
    nft_chain(t, "way_out", &way_out, NULL);
    nft_rule(t, "way_out");
    match_address(t, NFT_SADDR, NFT_CMP_EQ, pods->base, pods->prefix);
    match_address(t, NFT_DADDR, NFT_CMP_NEQ, pods->base, pods->prefix);
    nft_masquerade(t);
}

/* The gateway's are questions of the name server: in some clouds they go to a link-local address. */
static void put_link_local(struct nft *t, const struct subnet *pods)
{
    nft_chain(t, "link_local", &link_local, NULL);
    nft_rule(t, "link_local");
    match_address(t, NFT_SADDR, NFT_CMP_EQ, pods->base, pods->prefix);
    match_address(t, NFT_SADDR, NFT_CMP_NEQ, ntohl(subnet_gateway(pods).s_addr), 32);
    match_address(t, NFT_DADDR, NFT_CMP_EQ, LINK_LOCAL, 16);
    reject(t);
}

static void put_forwarded(struct nft *t, const struct nat_options *opt)
{
    nft_chain(t, "forwarded", &forwarded, NULL);
    if (!opt->is_open) {
        nft_rule(t, "forwarded");
        match_meta(t, NFT_META_OIFGROUP, ~0U, NFT_CMP_EQ, opt->group);
        match_new(t);
        reject(t);
    }
    for (size_t i = 0; i < opt->n_links; i++) {
        nft_rule(t, "forwarded");
        nft_match_link(t, NFT_META_IIFNAME, opt->links[i]);
        match_meta(t, NFT_META_OIFGROUP, NET_GROUP_MASK, NFT_CMP_NEQ, NET_GROUP_MARK);
        reject(t);
    }
}

/* Root of the machine reaches the pods. Its other users do not, and so neither do pods of other runs that leave by
 * slirp4netns, whose connections are the machine's own: it has another group where its user is root. */
static void put_own(struct nft *t, const struct nat_options *opt)
{
    static const enum nft_meta_keys owners[] = { NFT_META_SKUID, NFT_META_SKGID };

    nft_chain(t, "own", &own, NULL);
    for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
        nft_rule(t, "own");
        match_meta(t, NFT_META_OIFGROUP, ~0U, NFT_CMP_EQ, opt->group);
        match_new(t);
        match_meta(t, owners[i], ~0U, NFT_CMP_NEQ, 0);
        reject(t);
    }
}

/* Services of the host are closed to the upper half of the pods, by whatever address of it: what comes to this machine by
 * our link. Answers to what the host began pass. */
static void put_to_host(struct nft *t, const struct nat_options *opt)
{
    int bits = opt->pods->prefix + 1;

    if (!opt->group && !opt->n_host)
        return;
    nft_chain(t, to_host_name, opt->group ? &to_host : &to_host_beyond, NULL);
    for (size_t i = 0; i < (opt->group ? 1 : opt->n_host); i++) {
        nft_rule(t, to_host_name);
        if (opt->group)
            match_meta(t, NFT_META_IIFGROUP, ~0U, NFT_CMP_EQ, opt->group);
        else
            match_address(t, NFT_DADDR, NFT_CMP_EQ, opt->host[i], 32);
        match_address(t, NFT_SADDR, NFT_CMP_EQ, subnet_upper(opt->pods), bits);
        match_new(t);
        reject(t);
    }
}

static int send_table(struct nft *t, int ns_fd, struct err *e)
{
    autobuf batch = { 0 };

    nft_batch(t, &batch);
    return nft_send(buf_view(&batch), ns_fd, e);
}

int nat_add(int ns_fd, const struct nat_options *opt, struct err *e)
{
    char name[32];
    autonft t;

    nat_name_of(opt->id, name);
    nft_init(&t, NFPROTO_IPV4, name);
    nft_table(&t, opt->comment);
    put_way_out(&t, opt->pods);
    if (!opt->is_open)
        put_link_local(&t, opt->pods);
    if (opt->group)
        put_forwarded(&t, opt);
    if (opt->group && !opt->is_open)
        put_own(&t, opt);
    put_to_host(&t, opt);
    return send_table(&t, ns_fd, e);
}

int nat_remove(int ns_fd, const char *id, struct err *e)
{
    char name[32];
    autonft t;

    nat_name_of(id, name);
    nft_init(&t, NFPROTO_IPV4, name);
    nft_table_delete(&t);
    return send_table(&t, ns_fd, e);
}

/* ---- looking ---- */

static const char *nat_text_of(const struct nlattr *a)
{
    return mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0 ? mnl_attr_get_str(a) : "";
}

static void read_comment(const struct nlattr *a, char out[NAT_COMMENT_MAX])
{
    const char *p = mnl_attr_get_payload(a);
    size_t n = mnl_attr_get_payload_len(a);

    if (n > 2 && p[0] == 0 && (size_t)(uint8_t)p[1] + 2 <= n)
        (void)snprintf(out, NAT_COMMENT_MAX, "%.*s", (int)(uint8_t)p[1], p + 2);
}

static bool read_id(const char *name, char id[ID_DIGITS + 1])
{
    struct str digits = str_sub(str_of(name), sizeof(prefix) - 1, ID_DIGITS);

    if (!str_starts(str_of(name), str_of(prefix)) || !hex_is_small(digits, ID_DIGITS) ||
        strcmp(digits.p + ID_DIGITS, suffix) != 0)
        return false;
    memcpy(id, digits.p, ID_DIGITS);
    id[ID_DIGITS] = '\0';
    return true;
}

struct nat_listing {
    struct arena *arena;
    struct nat_tables *tables;
};

static bool list_one(void *ctx, const struct nlmsghdr *m)
{
    struct nat_listing *l = ctx;
    struct nat_table t = { .id = "" };
    const struct nlattr *a;
    bool is_ours = false;

    mnl_attr_for_each(a, m, sizeof(struct nfgenmsg)) {
        if (mnl_attr_get_type(a) == NFTA_TABLE_NAME)
            is_ours = read_id(nat_text_of(a), t.id);
        else if (mnl_attr_get_type(a) == NFTA_TABLE_USERDATA)
            read_comment(a, t.comment);
    }
    if (is_ours)
        *vec_push(l->arena, &l->tables->list) = t;
    return true;
}

int nat_list(struct arena *a, int ns_fd, struct nat_tables *ret, struct err *e)
{
    struct nat_listing l = { a, ret };

    return nft_dump(ns_fd, NFT_MSG_GETTABLE, list_one, &l, e);
}

struct chain {
    const char *table, *name;
    bool forwards, drops;
};

static void read_chain(const struct nlmsghdr *m, struct chain *c)
{
    const struct nlattr *a, *in;

    mnl_attr_for_each(a, m, sizeof(struct nfgenmsg)) {
        if (mnl_attr_get_type(a) == NFTA_CHAIN_TABLE)
            c->table = nat_text_of(a);
        else if (mnl_attr_get_type(a) == NFTA_CHAIN_NAME)
            c->name = nat_text_of(a);
        else if (mnl_attr_get_type(a) == NFTA_CHAIN_POLICY && mnl_attr_get_payload_len(a) == 4)
            c->drops = ntohl(mnl_attr_get_u32(a)) == NF_DROP;
        else if (mnl_attr_get_type(a) == NFTA_CHAIN_HOOK)
            mnl_attr_for_each_nested(in, a)
                if (mnl_attr_get_type(in) == NFTA_HOOK_HOOKNUM && mnl_attr_get_payload_len(in) == 4)
                    c->forwards = ntohl(mnl_attr_get_u32(in)) == NF_INET_FORWARD;
    }
}

struct nat_search {
    char *out;
    size_t size;
    bool is_found;
};

static bool look_at_chain(void *ctx, const struct nlmsghdr *m)
{
    const struct nfgenmsg *head = mnl_nlmsg_get_payload(m);
    struct nat_search *s = ctx;
    struct chain c = { "", "", false, false };

    read_chain(m, &c);
    if (s->is_found || !c.forwards || !c.drops ||
        (head->nfgen_family != NFPROTO_IPV4 && head->nfgen_family != NFPROTO_INET))
        return true;
    s->is_found = true;
    (void)snprintf(s->out, s->size, "%s %s %s", head->nfgen_family == NFPROTO_IPV4 ? "ip" : "inet", c.table, c.name);
    return true;
}

bool nat_is_forward_dropped(int ns_fd, char *ret_chain, size_t size)
{
    struct nat_search s = { ret_chain, size, false };

    (void)nft_dump(ns_fd, NFT_MSG_GETCHAIN, look_at_chain, &s, NULL); /* not allowed to look: not found */
    return s.is_found;
}

/* ---- tables of older programs ---- */

struct chain_search {
    const char *table;
    bool is_found;
};

static bool look_for_to_host(void *ctx, const struct nlmsghdr *m)
{
    struct chain_search *s = ctx;
    struct chain c = { "", "", false, false };

    read_chain(m, &c);
    s->is_found |= strcmp(c.table, s->table) == 0 && strcmp(c.name, to_host_name) == 0;
    return true;
}

int nat_complete(int ns_fd, const struct nat_options *opt, struct err *e)
{
    char name[32];
    struct chain_search s = { name, false };
    autonft t;

    nat_name_of(opt->id, name);
    nft_init(&t, NFPROTO_IPV4, name);
    if (nft_dump(ns_fd, NFT_MSG_GETCHAIN, look_for_to_host, &s, e) < 0)
        return -1;
    if (s.is_found)
        return 0;
    nft_table(&t, opt->comment);
    put_to_host(&t, opt);
    return send_table(&t, ns_fd, e);
}
