/* net_nat.c - one small nftables table at egress: it hides the pods, and guards who gets in and how far out
 * they get
 *
 * The kernel takes nftables changes as one batch: begin, messages, end. Only the last message asks for an answer; one
 * that fails gives an answer in any case, and then nothing of the batch is done.
 */
#include "node/net/net_nat.h"

#include "base/util.h"
#include "node/net/net_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/icmp.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

enum {
    BATCH_BYTES = 16 * 1024, /* a rule has some 400 */
    REPLY_BYTES = 16 * 1024,
    ID_DIGITS = 6,
    RAW_PRIORITY = -300, /* before anybody gives packets another destination */
    FILTER_PRIORITY = 0,
    SRCNAT_PRIORITY = 100,
    SADDR_AT = 12,
    DADDR_AT = 16
};

static const uint32_t LINK_LOCAL = 0xa9fe0000; /* 169.254.0.0 */
static const char prefix[] = "pumice_", suffix[] = "_out";

struct batch {
    char *at, *end;
    struct nlmsghdr *now;
    uint32_t seq;
    _Alignas(NLMSG_ALIGNTO) char bytes[BATCH_BYTES];
};

static struct nlmsghdr *put_head(void *at, uint16_t type, uint16_t flags, uint32_t seq, uint8_t family, uint16_t res_id)
{
    struct nlmsghdr *m = mnl_nlmsg_put_header(at);
    struct nfgenmsg *head = mnl_nlmsg_put_extra_header(m, sizeof(*head));

    m->nlmsg_type = type;
    m->nlmsg_flags = NLM_F_REQUEST | flags;
    m->nlmsg_seq = seq;
    *head = (struct nfgenmsg){ family, NFNETLINK_V0, htons(res_id) };
    return m;
}

static void batch_close(struct batch *b)
{
    if (b->now)
        b->at += NLMSG_ALIGN(b->now->nlmsg_len);
    b->now = NULL;
}

static void batch_begin(struct batch *b, uint16_t type, uint16_t flags)
{
    batch_close(b);
    b->now = put_head(b->at, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), flags, ++b->seq, NFPROTO_IPV4, 0);
}

static void batch_init(struct batch *b)
{
    *b = (struct batch){ .at = b->bytes };
    b->now = put_head(b->at, NFNL_MSG_BATCH_BEGIN, 0, ++b->seq, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
}

static int open_here(void *ctx, struct err *e)
{
    struct mnl_socket **ret = ctx;

    *ret = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
    return *ret ? 0 : err_errno(e, "open a netfilter socket");
}

static struct mnl_socket *open_in(int ns_fd, struct err *e)
{
    struct mnl_socket *s = NULL;

    if (ns_fd < 0 ? open_here(&s, e) : netns_run(ns_fd, open_here, &s, e))
        return NULL;
    return s;
}

/* The answer to the last message, or to the first that failed. */
static int hear(struct mnl_socket *s, struct err *e)
{
    _Alignas(NLMSG_ALIGNTO) char reply[REPLY_BYTES];
    const struct nlmsghdr *m = (const void *)reply;
    ssize_t n;

    do
        n = mnl_socket_recvfrom(s, reply, sizeof(reply));
    while (n < 0 && errno == EINTR);
    if (n < 0 || !mnl_nlmsg_ok(m, (int)n) || m->nlmsg_type != NLMSG_ERROR)
        return err_errno(e, "read from nf_tables");
    errno = -((const struct nlmsgerr *)mnl_nlmsg_get_payload(m))->error;
    return errno ? err_errno(e, "nf_tables") : 0;
}

static int batch_send(struct batch *b, int ns_fd, struct err *e)
{
    struct mnl_socket *s;
    int rc;

    b->now->nlmsg_flags |= NLM_F_ACK;
    batch_close(b);
    b->now = put_head(b->at, NFNL_MSG_BATCH_END, 0, ++b->seq, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
    batch_close(b);
    s = open_in(ns_fd, e);
    if (!s)
        return -1;
    rc = mnl_socket_sendto(s, b->bytes, (size_t)(b->at - b->bytes)) < 0 ? err_errno(e, "send to nf_tables")
                                                                        : hear(s, e);
    (void)mnl_socket_close(s); /* nothing is buffered */
    return rc;
}

/* ---- rules ---- */

static struct nlattr *expr_begin(struct nlmsghdr *m, const char *name, struct nlattr **ret_elem)
{
    *ret_elem = mnl_attr_nest_start(m, NFTA_LIST_ELEM);
    mnl_attr_put_strz(m, NFTA_EXPR_NAME, name);
    return mnl_attr_nest_start(m, NFTA_EXPR_DATA);
}

static void expr_end(struct nlmsghdr *m, struct nlattr *elem, struct nlattr *data)
{
    mnl_attr_nest_end(m, data);
    mnl_attr_nest_end(m, elem);
}

static void put_bytes(struct nlmsghdr *m, uint16_t type, const void *value, size_t n)
{
    struct nlattr *nest = mnl_attr_nest_start(m, type);

    mnl_attr_put(m, NFTA_DATA_VALUE, n, value);
    mnl_attr_nest_end(m, nest);
}

/* Four bytes of the IP header, from 'at' on, into the register that all below look at. */
static void load_header(struct nlmsghdr *m, uint32_t at)
{
    struct nlattr *elem, *data = expr_begin(m, "payload", &elem);

    mnl_attr_put_u32(m, NFTA_PAYLOAD_DREG, htonl(NFT_REG_1));
    mnl_attr_put_u32(m, NFTA_PAYLOAD_BASE, htonl(NFT_PAYLOAD_NETWORK_HEADER));
    mnl_attr_put_u32(m, NFTA_PAYLOAD_OFFSET, htonl(at));
    mnl_attr_put_u32(m, NFTA_PAYLOAD_LEN, htonl(4));
    expr_end(m, elem, data);
}

static void load_meta(struct nlmsghdr *m, enum nft_meta_keys key)
{
    struct nlattr *elem, *data = expr_begin(m, "meta", &elem);

    mnl_attr_put_u32(m, NFTA_META_DREG, htonl(NFT_REG_1));
    mnl_attr_put_u32(m, NFTA_META_KEY, htonl((uint32_t)key));
    expr_end(m, elem, data);
}

static void load_ct_state(struct nlmsghdr *m)
{
    struct nlattr *elem, *data = expr_begin(m, "ct", &elem);

    mnl_attr_put_u32(m, NFTA_CT_DREG, htonl(NFT_REG_1));
    mnl_attr_put_u32(m, NFTA_CT_KEY, htonl(NFT_CT_STATE));
    expr_end(m, elem, data);
}

static void mask(struct nlmsghdr *m, uint32_t bits)
{
    struct nlattr *elem, *data = expr_begin(m, "bitwise", &elem);
    uint32_t nothing = 0;

    mnl_attr_put_u32(m, NFTA_BITWISE_SREG, htonl(NFT_REG_1));
    mnl_attr_put_u32(m, NFTA_BITWISE_DREG, htonl(NFT_REG_1));
    mnl_attr_put_u32(m, NFTA_BITWISE_LEN, htonl(4));
    put_bytes(m, NFTA_BITWISE_MASK, &bits, sizeof(bits));
    put_bytes(m, NFTA_BITWISE_XOR, &nothing, sizeof(nothing));
    expr_end(m, elem, data);
}

static void compare(struct nlmsghdr *m, enum nft_cmp_ops op, const void *value, size_t n)
{
    struct nlattr *elem, *data = expr_begin(m, "cmp", &elem);

    mnl_attr_put_u32(m, NFTA_CMP_SREG, htonl(NFT_REG_1));
    mnl_attr_put_u32(m, NFTA_CMP_OP, htonl((uint32_t)op));
    put_bytes(m, NFTA_CMP_DATA, value, n);
    expr_end(m, elem, data);
}

/* "ip saddr 10.213.0.0/16", "ip daddr != 10.213.0.0/16": load, mask, compare. */
static void match_address(struct nlmsghdr *m, uint32_t at, enum nft_cmp_ops op, uint32_t base, int bits)
{
    uint32_t wanted = htonl(base);

    load_header(m, at);
    mask(m, htonl(~(uint32_t)0 << (32 - bits)));
    compare(m, op, &wanted, sizeof(wanted));
}

/* Numbers of the machine itself, unlike those of packets, are in its own byte order. */
static void match_meta(struct nlmsghdr *m, enum nft_meta_keys key, uint32_t bits, enum nft_cmp_ops op, uint32_t value)
{
    load_meta(m, key);
    if (~bits)
        mask(m, bits);
    compare(m, op, &value, sizeof(value));
}

static void match_link_in(struct nlmsghdr *m, const char *name)
{
    char padded[IFNAMSIZ] = "";

    (void)snprintf(padded, sizeof(padded), "%s", name);
    load_meta(m, NFT_META_IIFNAME);
    compare(m, NFT_CMP_EQ, padded, sizeof(padded));
}

/* No part of what passed before: "ct state != established,related". */
static void match_new(struct nlmsghdr *m)
{
    uint32_t nothing = 0;

    load_ct_state(m);
    mask(m, NF_CT_STATE_BIT(IP_CT_ESTABLISHED) | NF_CT_STATE_BIT(IP_CT_RELATED));
    compare(m, NFT_CMP_EQ, &nothing, sizeof(nothing));
}

static void masquerade(struct nlmsghdr *m)
{
    struct nlattr *elem, *data = expr_begin(m, "masq", &elem);

    expr_end(m, elem, data);
}

/* Refused at once, not swallowed: nobody waits two minutes to learn it. */
static void reject(struct nlmsghdr *m)
{
    struct nlattr *elem, *data = expr_begin(m, "reject", &elem);

    mnl_attr_put_u32(m, NFTA_REJECT_TYPE, htonl(NFT_REJECT_ICMP_UNREACH));
    mnl_attr_put_u8(m, NFTA_REJECT_ICMP_CODE, ICMP_PKT_FILTERED);
    expr_end(m, elem, data);
}

/* ---- the table ---- */

static void name_of(const char *id, char out[32])
{
    (void)snprintf(out, 32, "%s%.6s%s", prefix, id, suffix);
}

/* A comment as nft writes and shows it: type, length, text with its NUL. */
static void put_comment(struct nlmsghdr *m, const char *comment)
{
    char data[NAT_COMMENT_MAX + 2] = { 0 };
    size_t n = strlen(comment) + 1;

    data[1] = (char)n;
    memcpy(data + 2, comment, n);
    mnl_attr_put(m, NFTA_TABLE_USERDATA, n + 2, data);
}

struct chain_kind {
    const char *name, *type;
    enum nf_inet_hooks hook;
    int priority;
};

static const struct chain_kind way_out = { "way_out", "nat", NF_INET_POST_ROUTING, SRCNAT_PRIORITY },
                               link_local = { "link_local", "filter", NF_INET_PRE_ROUTING, RAW_PRIORITY },
                               forwarded = { "forwarded", "filter", NF_INET_FORWARD, FILTER_PRIORITY },
                               own = { "own", "filter", NF_INET_LOCAL_OUT, FILTER_PRIORITY };

struct table { /* being made */
    struct batch b;
    char name[32];
    const struct nat_options *opt;
    struct nlattr *list; /* of the rule begun last */
};

static void put_chain(struct table *t, const struct chain_kind *c)
{
    struct nlmsghdr *m;
    struct nlattr *hook;

    batch_begin(&t->b, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
    m = t->b.now;
    mnl_attr_put_strz(m, NFTA_CHAIN_TABLE, t->name);
    mnl_attr_put_strz(m, NFTA_CHAIN_NAME, c->name);
    mnl_attr_put_strz(m, NFTA_CHAIN_TYPE, c->type);
    hook = mnl_attr_nest_start(m, NFTA_CHAIN_HOOK);
    mnl_attr_put_u32(m, NFTA_HOOK_HOOKNUM, htonl((uint32_t)c->hook));
    mnl_attr_put_u32(m, NFTA_HOOK_PRIORITY, htonl((uint32_t)c->priority));
    mnl_attr_nest_end(m, hook);
}

static struct nlmsghdr *rule_begin(struct table *t, const struct chain_kind *c)
{
    batch_begin(&t->b, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
    mnl_attr_put_strz(t->b.now, NFTA_RULE_TABLE, t->name);
    mnl_attr_put_strz(t->b.now, NFTA_RULE_CHAIN, c->name);
    t->list = mnl_attr_nest_start(t->b.now, NFTA_RULE_EXPRESSIONS);
    return t->b.now;
}

static void rule_end(struct table *t)
{
    mnl_attr_nest_end(t->b.now, t->list);
}

static void put_way_out(struct table *t)
{
    const struct subnet *pods = t->opt->pods;
    struct nlmsghdr *m;

    put_chain(t, &way_out);
    m = rule_begin(t, &way_out);
    match_address(m, SADDR_AT, NFT_CMP_EQ, pods->base, pods->prefix);
    match_address(m, DADDR_AT, NFT_CMP_NEQ, pods->base, pods->prefix);
    masquerade(m);
    rule_end(t);
}

/* The gateway's are questions of the name server: in some clouds they go to a link-local address. */
static void put_link_local(struct table *t)
{
    const struct subnet *pods = t->opt->pods;
    struct nlmsghdr *m;

    put_chain(t, &link_local);
    m = rule_begin(t, &link_local);
    match_address(m, SADDR_AT, NFT_CMP_EQ, pods->base, pods->prefix);
    match_address(m, SADDR_AT, NFT_CMP_NEQ, ntohl(subnet_gateway(pods).s_addr), 32);
    match_address(m, DADDR_AT, NFT_CMP_EQ, LINK_LOCAL, 16);
    reject(m);
    rule_end(t);
}

static void put_forwarded(struct table *t)
{
    struct nlmsghdr *m;

    put_chain(t, &forwarded);
    if (!t->opt->is_open) {
        m = rule_begin(t, &forwarded);
        match_meta(m, NFT_META_OIFGROUP, ~0U, NFT_CMP_EQ, t->opt->group);
        match_new(m);
        reject(m);
        rule_end(t);
    }
    for (size_t i = 0; i < t->opt->n_links; i++) {
        m = rule_begin(t, &forwarded);
        match_link_in(m, t->opt->links[i]);
        match_meta(m, NFT_META_OIFGROUP, NET_GROUP_MASK, NFT_CMP_NEQ, NET_GROUP_MARK);
        reject(m);
        rule_end(t);
    }
}

/* Root of the machine reaches the pods. Its other users do not, and so neither do pods of other runs that leave by
 * slirp4netns, whose connections are the machine's own: it has another group where its user is root. */
static void put_own(struct table *t)
{
    static const enum nft_meta_keys owners[] = { NFT_META_SKUID, NFT_META_SKGID };
    struct nlmsghdr *m;

    put_chain(t, &own);
    for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
        m = rule_begin(t, &own);
        match_meta(m, NFT_META_OIFGROUP, ~0U, NFT_CMP_EQ, t->opt->group);
        match_new(m);
        match_meta(m, owners[i], ~0U, NFT_CMP_NEQ, 0);
        reject(m);
        rule_end(t);
    }
}

int nat_add(int ns_fd, const struct nat_options *opt, struct err *e)
{
    struct table t = { .opt = opt };

    name_of(opt->id, t.name);
    batch_init(&t.b);
    batch_begin(&t.b, NFT_MSG_NEWTABLE, NLM_F_CREATE);
    mnl_attr_put_strz(t.b.now, NFTA_TABLE_NAME, t.name);
    put_comment(t.b.now, opt->comment);
    put_way_out(&t);
    if (!opt->is_open)
        put_link_local(&t);
    if (opt->group)
        put_forwarded(&t);
    if (opt->group && !opt->is_open)
        put_own(&t);
    return batch_send(&t.b, ns_fd, e);
}

int nat_remove(int ns_fd, const char *id, struct err *e)
{
    char table[32];
    struct batch b;

    name_of(id, table);
    batch_init(&b);
    batch_begin(&b, NFT_MSG_DELTABLE, 0);
    mnl_attr_put_strz(b.now, NFTA_TABLE_NAME, table);
    return batch_send(&b, ns_fd, e);
}

/* ---- looking ---- */

static int dump(int ns_fd, uint16_t type, int (*on_message)(const struct nlmsghdr *m, void *ctx), void *ctx,
                struct err *e)
{
    _Alignas(NLMSG_ALIGNTO) char bytes[REPLY_BYTES];
    struct nlmsghdr *m = put_head(bytes, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), NLM_F_DUMP, 1, NFPROTO_UNSPEC,
                                  0);
    struct mnl_socket *s = open_in(ns_fd, e);
    ssize_t n;
    int rc;

    if (!s)
        return -1;
    rc = mnl_socket_sendto(s, m, m->nlmsg_len) < 0 ? -1 : MNL_CB_OK;
    while (rc == MNL_CB_OK) {
        n = mnl_socket_recvfrom(s, bytes, sizeof(bytes));
        if (n < 0 && errno == EINTR)
            continue;
        rc = n < 0 ? -1 : mnl_cb_run(bytes, (size_t)n, 1, mnl_socket_get_portid(s), on_message, ctx);
    }
    if (rc < 0)
        err_errno(e, "ask nf_tables");
    (void)mnl_socket_close(s); /* nothing is buffered */
    return rc < 0 ? -1 : 0;
}

static const char *text_of(const struct nlattr *a)
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

    if (!str_starts(str_of(name), str_of(prefix)) || digits.n != ID_DIGITS ||
        strspn(digits.p, "0123456789abcdef") != ID_DIGITS || strcmp(digits.p + ID_DIGITS, suffix) != 0)
        return false;
    memcpy(id, digits.p, ID_DIGITS);
    id[ID_DIGITS] = '\0';
    return true;
}

struct listing {
    struct arena *arena;
    struct nat_tables *tables;
};

static int list_one(const struct nlmsghdr *m, void *ctx)
{
    struct listing *l = ctx;
    struct nat_table t = { .id = "" };
    const struct nlattr *a;
    bool is_ours = false;

    mnl_attr_for_each(a, m, sizeof(struct nfgenmsg)) {
        if (mnl_attr_get_type(a) == NFTA_TABLE_NAME)
            is_ours = read_id(text_of(a), t.id);
        else if (mnl_attr_get_type(a) == NFTA_TABLE_USERDATA)
            read_comment(a, t.comment);
    }
    if (is_ours)
        *vec_push(l->arena, &l->tables->list) = t;
    return MNL_CB_OK;
}

int nat_list(struct arena *a, int ns_fd, struct nat_tables *ret, struct err *e)
{
    struct listing l = { a, ret };

    return dump(ns_fd, NFT_MSG_GETTABLE, list_one, &l, e);
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
            c->table = text_of(a);
        else if (mnl_attr_get_type(a) == NFTA_CHAIN_NAME)
            c->name = text_of(a);
        else if (mnl_attr_get_type(a) == NFTA_CHAIN_POLICY && mnl_attr_get_payload_len(a) == 4)
            c->drops = ntohl(mnl_attr_get_u32(a)) == NF_DROP;
        else if (mnl_attr_get_type(a) == NFTA_CHAIN_HOOK)
            mnl_attr_for_each_nested(in, a)
                if (mnl_attr_get_type(in) == NFTA_HOOK_HOOKNUM && mnl_attr_get_payload_len(in) == 4)
                    c->forwards = ntohl(mnl_attr_get_u32(in)) == NF_INET_FORWARD;
    }
}

struct search {
    char *out;
    size_t size;
    bool is_found;
};

static int look_at_chain(const struct nlmsghdr *m, void *ctx)
{
    const struct nfgenmsg *head = mnl_nlmsg_get_payload(m);
    struct search *s = ctx;
    struct chain c = { "", "", false, false };

    read_chain(m, &c);
    if (s->is_found || !c.forwards || !c.drops ||
        (head->nfgen_family != NFPROTO_IPV4 && head->nfgen_family != NFPROTO_INET))
        return MNL_CB_OK;
    s->is_found = true;
    (void)snprintf(s->out, s->size, "%s %s %s", head->nfgen_family == NFPROTO_IPV4 ? "ip" : "inet", c.table, c.name);
    return MNL_CB_OK;
}

bool nat_is_forward_dropped(int ns_fd, char *ret_chain, size_t size)
{
    struct search s = { ret_chain, size, false };

    (void)dump(ns_fd, NFT_MSG_GETCHAIN, look_at_chain, &s, NULL); /* not allowed to look: not found */
    return s.is_found;
}
