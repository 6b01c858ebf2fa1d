/* nft.c - an nftables table written as a batch: the table, its chains, sets and elements
 *
 * A message is written with libmnl into room that is reserved for it first, so what points into it stays good until it
 * is closed. An attribute has at most 64 KiB: the elements of a set are spread over as many messages as they need.
 */
#include "os/nft.h"

#include "base/util.h"
#include "os/nft_internal.h"

#include <arpa/inet.h>
#include <assert.h>

enum {
    ELEMENTS_BYTES = 32 * 1024, /* of one message, before the last element */
    ELEMENT_BYTES = 512,        /* at most */
    MESSAGE_BYTES = 4096,       /* of any other */
};

static const char no_name[] = "__set%d", no_map_name[] = "__map%d"; /* the kernel puts in a number */

/* ---- messages ---- */

struct nlmsghdr *nft_put_head(void *at, uint16_t type, uint16_t flags, uint8_t family, uint16_t res_id)
{
    struct nlmsghdr *m = mnl_nlmsg_put_header(at);
    struct nfgenmsg *head = mnl_nlmsg_put_extra_header(m, sizeof(*head));

    m->nlmsg_type = type;
    m->nlmsg_flags = NLM_F_REQUEST | flags;
    *head = (struct nfgenmsg){ family, NFNETLINK_V0, htons(res_id) };
    return m;
}

static void close_message(struct nft_messages *l)
{
    if (l->list)
        mnl_attr_nest_end(l->now, l->list);
    if (l->now)
        l->bytes.n += NLMSG_ALIGN(l->now->nlmsg_len);
    l->now = NULL;
    l->list = NULL;
}

static struct nlmsghdr *nft_begin(struct nft *t, enum nft_part part, uint16_t type, uint16_t flags, size_t room)
{
    struct nft_messages *l = &t->parts[part];
    void *at;

    close_message(l);
    at = memset(buf_reserve(&l->bytes, room), 0, room); /* also what lies between attributes: libmnl leaves it */
    l->now = nft_put_head(at, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), flags, t->family, 0);
    return l->now;
}

void nft_init(struct nft *t, uint8_t family, const char *table)
{
    *t = (struct nft){ .family = family, .table = table };
}

void nft_done(struct nft *t)
{
    for (int i = 0; i < NFT_PART_MAX; i++)
        buf_done(&t->parts[i].bytes);
}

static void append_edge(struct buf *out, uint16_t type)
{
    _Alignas(NLMSG_ALIGNTO) char bytes[MNL_ALIGN(sizeof(struct nlmsghdr)) + sizeof(struct nfgenmsg)];

    (void)nft_put_head(bytes, type, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
    buf_append(out, bytes, sizeof(bytes));
}

/* Only the last message asks for an answer; one that fails gives an answer in any case. */
static void nft_number(struct buf *batch, size_t from)
{
    struct nlmsghdr *m, *last = NULL;
    uint32_t seq = 0;

    for (size_t at = from; at < batch->n; at += NLMSG_ALIGN(m->nlmsg_len)) {
        m = (void *)(batch->p + at);
        m->nlmsg_seq = seq++;
        if (m->nlmsg_type >> 8 == NFNL_SUBSYS_NFTABLES)
            last = m;
    }
    if (last)
        last->nlmsg_flags |= NLM_F_ACK;
}

void nft_batch(struct nft *t, struct buf *out)
{
    size_t from = out->n;

    append_edge(out, NFNL_MSG_BATCH_BEGIN);
    for (int i = 0; i < NFT_PART_MAX; i++) {
        close_message(&t->parts[i]);
        buf_str(out, buf_view(&t->parts[i].bytes));
    }
    append_edge(out, NFNL_MSG_BATCH_END);
    nft_number(out, from);
}

void nft_for_table(struct str batch, const char *table, struct buf *out)
{
    size_t n = strlen(table) + 1;
    char *bytes;

    buf_str(out, batch);
    bytes = out->p + out->n - batch.n;
    for (size_t at = 0; at < batch.n; at += NLMSG_ALIGN(((struct nlmsghdr *)(bytes + at))->nlmsg_len)) {
        struct nlmsghdr *m = (void *)(bytes + at);
        struct nlattr *first = mnl_nlmsg_get_payload_offset(m, sizeof(struct nfgenmsg));

        if (m->nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES)
            continue;
        assert(mnl_attr_get_payload_len(first) == n);
        memcpy(mnl_attr_get_payload(first), table, n);
    }
}

/* ---- tables and chains ---- */

/* A comment as nft writes and shows it: type, length, text with its NUL. */
static void put_comment(struct nlmsghdr *m, uint16_t attribute, const char *comment)
{
    char data[2 + NFT_COMMENT_MAX] = { 0 };
    int n = comment ? snprintf(data + 2, NFT_COMMENT_MAX, "%s", comment) : 0;

    if (n <= 0)
        return;
    data[1] = (char)(MIN_OF(n, NFT_COMMENT_MAX - 1) + 1);
    mnl_attr_put(m, attribute, 2 + (size_t)data[1], data);
}

void nft_table(struct nft *t, const char *comment)
{
    struct nlmsghdr *m = nft_begin(t, NFT_PART_TABLE, NFT_MSG_NEWTABLE, NLM_F_CREATE, MESSAGE_BYTES);

    mnl_attr_put_strz(m, NFTA_TABLE_NAME, t->table);
    put_comment(m, NFTA_TABLE_USERDATA, comment);
}

void nft_table_delete(struct nft *t)
{
    mnl_attr_put_strz(nft_begin(t, NFT_PART_TABLE, NFT_MSG_DELTABLE, 0, MESSAGE_BYTES), NFTA_TABLE_NAME, t->table);
}

/* To delete a table that does not exist fails: add it first. */
void nft_table_replace(struct nft *t)
{
    nft_table(t, NULL);
    nft_table_delete(t);
    nft_table(t, NULL);
}

void nft_chain(struct nft *t, const char *name, const struct nft_hook *hook, const char *comment)
{
    struct nlmsghdr *m = nft_begin(t, NFT_PART_CHAINS, NFT_MSG_NEWCHAIN, NLM_F_CREATE, MESSAGE_BYTES);
    struct nlattr *nest;

    mnl_attr_put_strz(m, NFTA_CHAIN_TABLE, t->table);
    mnl_attr_put_strz(m, NFTA_CHAIN_NAME, name);
    if (hook) {
        mnl_attr_put_strz(m, NFTA_CHAIN_TYPE, hook->type);
        nest = mnl_attr_nest_start(m, NFTA_CHAIN_HOOK);
        mnl_attr_put_u32(m, NFTA_HOOK_HOOKNUM, htonl((uint32_t)hook->hook));
        mnl_attr_put_u32(m, NFTA_HOOK_PRIORITY, htonl((uint32_t)hook->priority));
        mnl_attr_nest_end(m, nest);
        mnl_attr_put_u32(m, NFTA_CHAIN_POLICY, htonl(hook->drops ? NF_DROP : NF_ACCEPT));
    }
    put_comment(m, NFTA_CHAIN_USERDATA, comment);
}

/* ---- sets ---- */

const char *nft_set_name(const struct nft_set *set)
{
    return set->name ? set->name : set->has_data || set->has_verdicts ? no_map_name : no_name;
}

/* Tell programs that list the set that its numbers are in the machine's byte order, as nft does. */
static void put_byte_order(struct nlmsghdr *m)
{
    uint32_t of_the_machine = 1;
    char data[2 + sizeof(of_the_machine)] = { 0, sizeof(of_the_machine) }; /* type, length */

    memcpy(data + 2, &of_the_machine, sizeof(of_the_machine));
    mnl_attr_put(m, NFTA_SET_USERDATA, sizeof(data), data);
}

void nft_set(struct nft *t, struct nft_set *set)
{
    struct nlmsghdr *m = nft_begin(t, NFT_PART_SETS, NFT_MSG_NEWSET, NLM_F_CREATE, MESSAGE_BYTES);
    uint32_t flags = (set->name ? 0U : NFT_SET_ANONYMOUS | NFT_SET_CONSTANT) |
                     (set->has_ranges ? NFT_SET_INTERVAL : 0U) |
                     (set->has_data || set->has_verdicts ? NFT_SET_MAP : 0U);

    set->number = ++t->n_sets;
    mnl_attr_put_strz(m, NFTA_SET_TABLE, t->table);
    mnl_attr_put_strz(m, NFTA_SET_NAME, nft_set_name(set));
    mnl_attr_put_u32(m, NFTA_SET_FLAGS, htonl(flags));
    mnl_attr_put_u32(m, NFTA_SET_KEY_TYPE, htonl(set->key_type));
    mnl_attr_put_u32(m, NFTA_SET_KEY_LEN, htonl(set->key_bytes));
    mnl_attr_put_u32(m, NFTA_SET_ID, htonl(set->number));
    if (set->has_verdicts) {
        mnl_attr_put_u32(m, NFTA_SET_DATA_TYPE, htonl(NFT_DATA_VERDICT));
    } else if (set->has_data) {
        mnl_attr_put_u32(m, NFTA_SET_DATA_TYPE, htonl(set->data_type));
        mnl_attr_put_u32(m, NFTA_SET_DATA_LEN, htonl(set->data_bytes));
    }
    if (set->key_type == NFT_TYPE_INTEGER)
        put_byte_order(m);
    t->filled = 0;
}

/* The message of elements that one more of this set goes to. */
static struct nlmsghdr *elements_of(struct nft *t, const struct nft_set *set)
{
    struct nft_messages *l = &t->parts[NFT_PART_SETS];
    struct nlmsghdr *m = l->now;

    if (t->filled == set->number && m->nlmsg_len < ELEMENTS_BYTES)
        return m;
    m = nft_begin(t, NFT_PART_SETS, NFT_MSG_NEWSETELEM, NLM_F_CREATE, ELEMENTS_BYTES + ELEMENT_BYTES);
    mnl_attr_put_strz(m, NFTA_SET_ELEM_LIST_TABLE, t->table);
    mnl_attr_put_strz(m, NFTA_SET_ELEM_LIST_SET, nft_set_name(set));
    mnl_attr_put_u32(m, NFTA_SET_ELEM_LIST_SET_ID, htonl(set->number));
    l->list = mnl_attr_nest_start(m, NFTA_SET_ELEM_LIST_ELEMENTS);
    t->filled = set->number;
    return m;
}

void nft_put_value(struct nlmsghdr *m, uint16_t type, const void *value, size_t n)
{
    struct nlattr *nest = mnl_attr_nest_start(m, type);

    mnl_attr_put(m, NFTA_DATA_VALUE, n, value);
    mnl_attr_nest_end(m, nest);
}

void nft_put_verdict(struct nlmsghdr *m, uint16_t type, int code, const char *chain)
{
    struct nlattr *data = mnl_attr_nest_start(m, type), *verdict = mnl_attr_nest_start(m, NFTA_DATA_VERDICT);

    mnl_attr_put_u32(m, NFTA_VERDICT_CODE, htonl((uint32_t)code));
    if (chain)
        mnl_attr_put_strz(m, NFTA_VERDICT_CHAIN, chain);
    mnl_attr_nest_end(m, verdict);
    mnl_attr_nest_end(m, data);
}

void nft_element(struct nft *t, const struct nft_set *set, const void *key, const void *data)
{
    struct nlmsghdr *m = elements_of(t, set);
    struct nlattr *nest = mnl_attr_nest_start(m, NFTA_LIST_ELEM);

    nft_put_value(m, NFTA_SET_ELEM_KEY, key, set->key_bytes);
    if (data)
        nft_put_value(m, NFTA_SET_ELEM_DATA, data, set->data_bytes);
    mnl_attr_nest_end(m, nest);
}

void nft_element_goto(struct nft *t, const struct nft_set *set, const void *key, const char *chain)
{
    struct nlmsghdr *m = elements_of(t, set);
    struct nlattr *nest = mnl_attr_nest_start(m, NFTA_LIST_ELEM);

    nft_put_value(m, NFTA_SET_ELEM_KEY, key, set->key_bytes);
    nft_put_verdict(m, NFTA_SET_ELEM_DATA, NFT_GOTO, chain);
    mnl_attr_nest_end(m, nest);
}

/* A range is its first number, and as an element that says so the first one behind it; the last of all has none. */
void nft_element_range(struct nft *t, const struct nft_set *set, uint32_t low, uint32_t high)
{
    uint32_t shift = 32 - 8 * set->key_bytes, first = htonl(low << shift), behind = htonl((high + 1) << shift);
    struct nlmsghdr *m;
    struct nlattr *nest;

    nft_element(t, set, &first, NULL);
    if (!behind)
        return;
    m = elements_of(t, set);
    nest = mnl_attr_nest_start(m, NFTA_LIST_ELEM);
    nft_put_value(m, NFTA_SET_ELEM_KEY, &behind, set->key_bytes);
    mnl_attr_put_u32(m, NFTA_SET_ELEM_FLAGS, htonl(NFT_SET_ELEM_INTERVAL_END));
    mnl_attr_nest_end(m, nest);
}

/* ---- rules ---- */

void nft_rule(struct nft *t, const char *chain)
{
    struct nlmsghdr *m = nft_begin(t, NFT_PART_RULES, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND, MESSAGE_BYTES);

    mnl_attr_put_strz(m, NFTA_RULE_TABLE, t->table);
    mnl_attr_put_strz(m, NFTA_RULE_CHAIN, chain);
    t->parts[NFT_PART_RULES].list = mnl_attr_nest_start(m, NFTA_RULE_EXPRESSIONS);
}

struct nlmsghdr *nft_rule_now(struct nft *t)
{
    struct nlmsghdr *m = t->parts[NFT_PART_RULES].now;

    assert(m && m->nlmsg_len + ELEMENT_BYTES <= MESSAGE_BYTES);
    return m;
}
