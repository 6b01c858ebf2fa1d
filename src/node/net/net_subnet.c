/* net_subnet.c - which subnet the pods get */
#include "node/net/net_internal.h"

#include "base/arena.h"
#include "base/util.h"
#include "base/vec.h"

#include <arpa/inet.h>

/* Tried in this order. Not the first choices of other programs (docker, podman, libvirt, minikube). */
static const char *const subnets[] = {
    "10.213.0.0/16", "10.214.0.0/16", "10.217.0.0/16", "10.222.0.0/16",    "10.231.0.0/16",
    "10.237.0.0/16", "172.29.0.0/16", "172.27.0.0/16", "192.168.208.0/20", "192.168.176.0/20",
};

/* When those are taken, by as many runs or by others: the parts of 10.192.0.0/10, from the end, for 4,000 pods each. */
enum { PARTS = 1024, PART_BITS = 12, PARTS_LAST = 10 << 24 | 255 << 16 | 240 << 8 };

enum { CANDIDATES = ARRAY_LEN(subnets) + PARTS };

static int candidate(size_t i, struct subnet *ret, struct err *e)
{
    uint32_t base;
    char text[32];

    if (i < ARRAY_LEN(subnets))
        return subnet_parse(str_of(subnets[i]), ret, e);
    base = (uint32_t)PARTS_LAST - ((uint32_t)(i - ARRAY_LEN(subnets)) << PART_BITS);
    (void)snprintf(text, sizeof(text), "%u.%u.%u.0/%d", base >> 24, base >> 16 & 255, base >> 8 & 255, 32 - PART_BITS);
    return subnet_parse(str_of(text), ret, e);
}

/* ---- what is taken ---- */

struct subnet_route {
    uint32_t base;
    int prefix;
};

struct routes {
    struct arena arena;
    VEC(struct subnet_route) list;
};

static bool add_route(void *ctx, const struct nlmsghdr *m)
{
    struct routes *r = ctx;
    const struct rtmsg *head = mnl_nlmsg_get_payload(m);
    const struct nlattr *a;
    uint32_t to = 0;

    if (m->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(m) < sizeof(*head) || head->rtm_family != AF_INET ||
        head->rtm_dst_len == 0 || head->rtm_dst_len > 32 || head->rtm_type == RTN_MULTICAST)
        return true;
    mnl_attr_for_each(a, m, sizeof(*head))
        if (mnl_attr_get_type(a) == RTA_DST && mnl_attr_get_payload_len(a) >= sizeof(to))
            to = ntohl(mnl_attr_get_u32(a));
    *vec_push(&r->arena, &r->list) = (struct subnet_route){ to, head->rtm_dst_len };
    return true;
}

static bool net_subnet_is_taken(const struct routes *r, const struct subnet *s)
{
    VEC_FOREACH(route, &r->list)
        if (subnet_overlaps(s, route->base, route->prefix))
            return true;
    return false;
}

static int choose_free(const struct routes *r, struct subnet *ret, struct err *e)
{
    for (size_t i = 0; i < CANDIDATES; i++) {
        if (candidate(i, ret, e) < 0)
            return -1;
        if (!net_subnet_is_taken(r, ret))
            return 0;
    }
    return err_set(
        e, ERR_EXISTS,
        "no free subnet for pods: this host has routes to all of 10.192.0.0/10 and some others; remove a route, "
        "or run with --network private");
}

int net_subnet_choose(struct nl *l, const char *wanted, struct subnet *ret, struct err *e)
{
    struct routes r = { 0 };
    int rc = -1;

    if (wanted)
        return subnet_parse(str_of(wanted), ret, e);
    if (!l || net_each_route(l, add_route, &r, e) == 0)
        rc = choose_free(&r, ret, e);
    arena_done(&r.arena);
    return rc;
}
