/* mnl.c - the functions of libmnl that we call, for the program that is linked statically
 *
 * Debian has libmnl as a shared library only. These are messages and attributes as its header declares them, compiled in
 * its place; sockets and answers are in netlink.c, for both programs.
 */
#include "base/util.h"

#include <errno.h>
#include <libmnl/libmnl.h>

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
