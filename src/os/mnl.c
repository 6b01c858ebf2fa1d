/* mnl.c - what we use of libmnl, for a program that needs no shared library
 *
 * Debian has libmnl as a shared library only. These are its functions by its own header, compiled in its place when the
 * program is linked statically; everything else about netlink is the same in both programs.
 */
#include "base/util.h"

#include <errno.h>
#include <libmnl/libmnl.h>

struct mnl_socket {
    int fd;
    struct sockaddr_nl address;
};

/* ---- sockets ---- */

struct mnl_socket *mnl_socket_open2(int bus, int flags)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | flags, bus);

    return fd < 0 ? NULL : mnl_socket_fdopen(fd);
}

struct mnl_socket *mnl_socket_fdopen(int fd)
{
    struct mnl_socket *s = xcalloc(1, sizeof(*s));
    socklen_t n = sizeof(s->address);

    s->fd = fd;
    if (getsockname(fd, (struct sockaddr *)&s->address, &n) == 0 && s->address.nl_family == AF_NETLINK)
        return s;
    free(s);
    return NULL;
}

int mnl_socket_bind(struct mnl_socket *s, unsigned groups, pid_t pid)
{
    socklen_t n = sizeof(s->address);

    s->address = (struct sockaddr_nl){ .nl_family = AF_NETLINK, .nl_groups = groups, .nl_pid = (uint32_t)pid };
    if (bind(s->fd, (struct sockaddr *)&s->address, n) < 0)
        return -1;
    return getsockname(s->fd, (struct sockaddr *)&s->address, &n);
}

int mnl_socket_close(struct mnl_socket *s)
{
    int rc = close(s->fd);

    free(s);
    return rc;
}

int mnl_socket_get_fd(const struct mnl_socket *s)
{
    return s->fd;
}

unsigned mnl_socket_get_portid(const struct mnl_socket *s)
{
    return s->address.nl_pid;
}

int mnl_socket_setsockopt(const struct mnl_socket *s, int type, void *value, socklen_t n)
{
    return setsockopt(s->fd, SOL_NETLINK, type, value, n);
}

ssize_t mnl_socket_sendto(const struct mnl_socket *s, const void *bytes, size_t n)
{
    static const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

    return sendto(s->fd, bytes, n, 0, (const struct sockaddr *)&kernel, sizeof(kernel));
}

ssize_t mnl_socket_recvfrom(const struct mnl_socket *s, void *bytes, size_t n)
{
    struct iovec piece = { bytes, n };
    struct sockaddr_nl from;
    struct msghdr m = { .msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &piece, .msg_iovlen = 1 };
    ssize_t got = recvmsg(s->fd, &m, 0);

    if (got >= 0 && (m.msg_flags & MSG_TRUNC)) {
        errno = ENOSPC;
        return -1;
    }
    return got;
}

/* ---- messages ---- */

struct nlmsghdr *mnl_nlmsg_put_header(void *bytes)
{
    struct nlmsghdr *m = memset(bytes, 0, MNL_NLMSG_HDRLEN);

    m->nlmsg_len = MNL_NLMSG_HDRLEN;
    return m;
}

void *mnl_nlmsg_get_payload_tail(const struct nlmsghdr *m)
{
    return (char *)m + MNL_ALIGN(m->nlmsg_len);
}

void *mnl_nlmsg_put_extra_header(struct nlmsghdr *m, size_t n)
{
    void *at = mnl_nlmsg_get_payload_tail(m);

    m->nlmsg_len += (uint32_t)MNL_ALIGN(n);
    return memset(at, 0, MNL_ALIGN(n));
}

void *mnl_nlmsg_get_payload_offset(const struct nlmsghdr *m, size_t offset)
{
    return (char *)m + MNL_NLMSG_HDRLEN + MNL_ALIGN(offset);
}

void *mnl_nlmsg_get_payload(const struct nlmsghdr *m)
{
    return mnl_nlmsg_get_payload_offset(m, 0);
}

size_t mnl_nlmsg_get_payload_len(const struct nlmsghdr *m)
{
    return m->nlmsg_len - MNL_NLMSG_HDRLEN;
}

bool mnl_nlmsg_ok(const struct nlmsghdr *m, int left)
{
    return left >= (int)sizeof(*m) && m->nlmsg_len >= sizeof(*m) && (int)m->nlmsg_len >= 0 && (int)m->nlmsg_len <= left;
}

struct nlmsghdr *mnl_nlmsg_next(const struct nlmsghdr *m, int *left)
{
    *left -= (int)MNL_ALIGN(m->nlmsg_len);
    return mnl_nlmsg_get_payload_tail(m);
}

/* ---- attributes ---- */

uint16_t mnl_attr_get_type(const struct nlattr *a)
{
    return a->nla_type & NLA_TYPE_MASK;
}

uint16_t mnl_attr_get_payload_len(const struct nlattr *a)
{
    return (uint16_t)(a->nla_len - MNL_ATTR_HDRLEN);
}

void *mnl_attr_get_payload(const struct nlattr *a)
{
    return (char *)a + MNL_ATTR_HDRLEN;
}

bool mnl_attr_ok(const struct nlattr *a, int left)
{
    return left >= (int)sizeof(*a) && a->nla_len >= sizeof(*a) && (int)a->nla_len <= left;
}

struct nlattr *mnl_attr_next(const struct nlattr *a)
{
    return (struct nlattr *)((char *)a + MNL_ALIGN(a->nla_len));
}

uint8_t mnl_attr_get_u8(const struct nlattr *a)
{
    return *(const uint8_t *)mnl_attr_get_payload(a);
}

uint32_t mnl_attr_get_u32(const struct nlattr *a)
{
    uint32_t v;

    memcpy(&v, mnl_attr_get_payload(a), sizeof(v));
    return v;
}

const char *mnl_attr_get_str(const struct nlattr *a)
{
    return mnl_attr_get_payload(a);
}

/* Of the two types that we ask for. */
int mnl_attr_validate(const struct nlattr *a, enum mnl_attr_data_type type)
{
    size_t n = mnl_attr_get_payload_len(a);
    bool is_good = type == MNL_TYPE_U32 ? n == sizeof(uint32_t)
                                        : type == MNL_TYPE_NUL_STRING && n && mnl_attr_get_str(a)[n - 1] == '\0';

    errno = is_good ? errno : ERANGE;
    return is_good ? 0 : -1;
}

void mnl_attr_put(struct nlmsghdr *m, uint16_t type, size_t n, const void *data)
{
    struct nlattr *a = mnl_nlmsg_get_payload_tail(m);
    size_t room = MNL_ALIGN(n);

    a->nla_type = type;
    a->nla_len = (uint16_t)(MNL_ATTR_HDRLEN + n);
    if (n)
        memcpy(mnl_attr_get_payload(a), data, n);
    memset((char *)mnl_attr_get_payload(a) + n, 0, room - n);
    m->nlmsg_len += (uint32_t)(MNL_ATTR_HDRLEN + room);
}

void mnl_attr_put_u8(struct nlmsghdr *m, uint16_t type, uint8_t v)
{
    mnl_attr_put(m, type, sizeof(v), &v);
}

void mnl_attr_put_u32(struct nlmsghdr *m, uint16_t type, uint32_t v)
{
    mnl_attr_put(m, type, sizeof(v), &v);
}

void mnl_attr_put_strz(struct nlmsghdr *m, uint16_t type, const char *text)
{
    mnl_attr_put(m, type, strlen(text) + 1, text);
}

struct nlattr *mnl_attr_nest_start(struct nlmsghdr *m, uint16_t type)
{
    struct nlattr *start = mnl_nlmsg_get_payload_tail(m);

    start->nla_type = NLA_F_NESTED | type;
    m->nlmsg_len += (uint32_t)MNL_ATTR_HDRLEN;
    return start;
}

void mnl_attr_nest_end(struct nlmsghdr *m, struct nlattr *start)
{
    start->nla_len = (uint16_t)((char *)mnl_nlmsg_get_payload_tail(m) - (char *)start);
}

/* ---- answers ---- */

static int take_error(const struct nlmsghdr *m)
{
    const struct nlmsgerr *e = mnl_nlmsg_get_payload(m);

    if (mnl_nlmsg_get_payload_len(m) < sizeof(*e)) {
        errno = EBADMSG;
        return MNL_CB_ERROR;
    }
    errno = abs(e->error);
    return e->error ? MNL_CB_ERROR : MNL_CB_STOP;
}

static int mnl_take_one(const struct nlmsghdr *m, unsigned seq, unsigned portid, mnl_cb_t on_message, void *ctx)
{
    if (m->nlmsg_pid && portid && m->nlmsg_pid != portid) {
        errno = ESRCH;
        return MNL_CB_ERROR;
    }
    if (m->nlmsg_seq && seq && m->nlmsg_seq != seq) {
        errno = EPROTO;
        return MNL_CB_ERROR;
    }
    if (m->nlmsg_flags & NLM_F_DUMP_INTR) {
        errno = EINTR;
        return MNL_CB_ERROR;
    }
    if (m->nlmsg_type == NLMSG_ERROR)
        return take_error(m);
    if (m->nlmsg_type == NLMSG_DONE)
        return MNL_CB_STOP;
    return m->nlmsg_type >= NLMSG_MIN_TYPE && on_message ? on_message(m, ctx) : MNL_CB_OK;
}

int mnl_cb_run(const void *bytes, size_t n, unsigned seq, unsigned portid, mnl_cb_t on_message, void *ctx)
{
    const struct nlmsghdr *m = bytes;
    int left = (int)n, rc = MNL_CB_OK;

    for (; mnl_nlmsg_ok(m, left) && rc > MNL_CB_STOP; m = mnl_nlmsg_next(m, &left))
        rc = mnl_take_one(m, seq, portid, on_message, ctx);
    return rc;
}
