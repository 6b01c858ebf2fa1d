/* nft_send.c - batches to the kernel and its answers
 *
 * The kernel works through a batch while it is sent, so all answers are there when it is sent: no waiting.
 * Those to messages that failed come first, in their order, and may be more than the socket holds; then that to the
 * last message. So the first answer tells how it went.
 */
#include "os/nft.h"

#include "base/util.h"
#include "os/netlink.h"
#include "os/nft_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

enum { REPLY_BYTES = 16 * 1024, SEND_SPARE_BYTES = 4096 };

/* ---- the socket ---- */

static int no_nf_tables(struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "this kernel has no nf_tables; as root run: modprobe nf_tables");
}

static int open_here(void *ctx, struct err *e)
{
    int *ret_fd = ctx;

    *ret_fd = nl_socket(NETLINK_NETFILTER);
    if (*ret_fd >= 0)
        return 0;
    return errno == EPROTONOSUPPORT ? no_nf_tables(e) : err_errno(e, "open a netfilter socket");
}

static int open_in(int ns_fd, int *ret_fd, struct err *e)
{
    return ns_fd < 0 ? open_here(ret_fd, e) : netns_run(ns_fd, open_here, ret_fd, e);
}

/* A batch is one datagram. Root may have any; others what the machine allows (net.core.wmem_max, twice). */
static void nft_send_make_room(int fd, size_t n)
{
    int want = (int)MIN_OF(n + SEND_SPARE_BYTES, INT32_MAX / 2), has = 0;
    socklen_t size = sizeof(has);

    if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &has, &size) == 0 && has >= want)
        return;
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &want, sizeof(want)) < 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &want, sizeof(want)); /* sending tells whether it was enough */
}

static int send_batch(int fd, struct str batch, struct err *e)
{
    ssize_t n;

    nft_send_make_room(fd, batch.n);
    do
        n = send(fd, batch.p, batch.n, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EMSGSIZE)
        return err_set(e, ERR_TOO_BIG,
                       "nf_tables: %zu KiB of rules exceed the send limit of this user; as root run: sysctl -w "
                       "net.core.wmem_max=%zu",
                       batch.n / 1024, batch.n / 2 + SEND_SPARE_BYTES);
    return n < 0 ? err_errno(e, "send to nf_tables") : 0;
}

/* ---- what was refused ---- */

static const struct {
    uint16_t type, name; /* of the message; of the attribute with the name */
    const char *word;
} kinds[] = {
    { NFT_MSG_NEWTABLE, NFTA_TABLE_NAME, "table" },
    { NFT_MSG_DELTABLE, NFTA_TABLE_NAME, "delete table" },
    { NFT_MSG_NEWCHAIN, NFTA_CHAIN_NAME, "chain" },
    { NFT_MSG_NEWSET, NFTA_SET_NAME, "set" },
    { NFT_MSG_NEWRULE, NFTA_RULE_CHAIN, "rule in chain" },
    { NFT_MSG_NEWSETELEM, NFTA_SET_ELEM_LIST_SET, "element of set" },
};

static const char *nft_send_text_of(const struct nlattr *a)
{
    return mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0 ? mnl_attr_get_str(a) : "";
}

static const struct nlmsghdr *find_message(struct str batch, uint32_t seq)
{
    const struct nlmsghdr *m;

    for (size_t at = 0; at + sizeof(*m) <= batch.n; at += NLMSG_ALIGN(m->nlmsg_len)) {
        m = (const void *)(batch.p + at);
        if (m->nlmsg_seq == seq)
            return m;
    }
    return NULL;
}

/* "rule in chain service_1 (numgen)": the kernel points at an attribute; a short word is worth repeating. */
static void nft_send_describe(const struct nlmsghdr *m, uint32_t offset, struct buf *out)
{
    const struct nlattr *a, *at = (const void *)((const char *)m + offset);
    const char *word;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (m->nlmsg_type != (NFNL_SUBSYS_NFTABLES << 8 | kinds[i].type))
            continue;
        buf_str(out, str_of(kinds[i].word));
        mnl_attr_for_each(a, m, sizeof(struct nfgenmsg))
            if (mnl_attr_get_type(a) == kinds[i].name)
                buf_fmt(out, " %s", nft_send_text_of(a));
    }
    if (!offset || offset % NLA_ALIGNTO || offset + sizeof(*at) > m->nlmsg_len || offset + at->nla_len > m->nlmsg_len)
        return;
    word = nft_send_text_of(at);
    if (word[0] && strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(word))
        buf_fmt(out, " (%s)", word);
}

struct ack {
    const char *words; /* NULL: none */
    uint32_t offset;   /* of the attribute it is about; 0: not told */
};

static struct ack read_ack(const struct nlmsghdr *m)
{
    struct ack ack = { 0 };
    const struct nlattr *a;

    if (!(m->nlmsg_flags & NLM_F_ACK_TLVS) || !(m->nlmsg_flags & NLM_F_CAPPED))
        return ack;
    mnl_attr_for_each(a, m, sizeof(struct nlmsgerr)) {
        if (mnl_attr_get_type(a) == NLMSGERR_ATTR_MSG)
            ack.words = nft_send_text_of(a);
        else if (mnl_attr_get_type(a) == NLMSGERR_ATTR_OFFS && mnl_attr_validate(a, MNL_TYPE_U32) >= 0)
            ack.offset = mnl_attr_get_u32(a);
    }
    return ack;
}

static int nft_send_refused(const struct nlmsghdr *answer, int error, struct str batch, struct err *e)
{
    const struct nlmsghdr *m = find_message(batch, answer->nlmsg_seq);
    struct ack ack = read_ack(answer);
    autobuf what = { 0 };

    if (m)
        nft_send_describe(m, ack.offset, &what);
    if (!what.n && error == EOPNOTSUPP) /* of the beginning of the batch */
        return no_nf_tables(e);
    errno = error;
    return err_errno(e, "nf_tables%s%s%s%s%s", what.n ? ": " : "", what.n ? what.p : "", ack.words ? " (" : "",
                     ack.words ? ack.words : "", ack.words ? ")" : "");
}

/* ---- sending ---- */

static int read_answer(int fd, struct str batch, struct err *e)
{
    _Alignas(NLMSG_ALIGNTO) char reply[REPLY_BYTES];
    const struct nlmsghdr *m = (const void *)reply;
    int error;
    ssize_t n;

    do /* ENOBUFS: there were more answers than room for them; the first ones are there */
        n = recv(fd, reply, sizeof(reply), MSG_DONTWAIT);
    while (n < 0 && (errno == EINTR || errno == ENOBUFS));
    if (n < 0)
        return err_errno(e, "read the answer of nf_tables");
    if (!mnl_nlmsg_ok(m, (int)n) || m->nlmsg_type != NLMSG_ERROR || mnl_nlmsg_get_payload_len(m) < sizeof(error))
        return err_set(e, ERR_IO, "nf_tables: invalid answer");
    error = -((const struct nlmsgerr *)mnl_nlmsg_get_payload(m))->error;
    return error ? nft_send_refused(m, error, batch, e) : 0;
}

int nft_send(struct str batch, int ns_fd, struct err *e)
{
    autoclose int fd = -1;

    if (open_in(ns_fd, &fd, e) < 0)
        return -1;
    return send_batch(fd, batch, e) < 0 ? -1 : read_answer(fd, batch, e);
}

/* ---- looking ---- */

int nft_dump(int ns_fd, uint16_t type, nl_message_f on_message, void *ctx, struct err *e)
{
    struct nl l;
    int fd, rc;

    if (open_in(ns_fd, &fd, e) < 0)
        return -1;
    nl_open_fd(&l, fd);
    (void)nl_begin(&l, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), 0, "ask nf_tables", sizeof(struct nfgenmsg));
    rc = nl_dump(&l, on_message, ctx, e);
    if (rc < 0 && (l.error == EINVAL || l.error == EOPNOTSUPP)) /* no kernel module answered */
        (void)no_nf_tables(e);
    if (rc == 0 && l.was_torn) {
        errno = EINTR;
        rc = err_errno(e, "ask nf_tables");
    }
    nl_close(&l);
    return rc;
}

static int check_here(void *ctx, struct err *e)
{
    (void)ctx;
    return nft_dump(-1, NFT_MSG_GETTABLE, NULL, NULL, e);
}

int nft_check(struct err *e)
{
    return netns_run(NETNS_NEW, check_here, NULL, e);
}
