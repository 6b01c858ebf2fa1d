/* net_subnet.c - which subnet the pods get */
#include "node/net/net_internal.h"

#include "base/util.h"

#include <arpa/inet.h>

/* Tried in this order. Not the first choices of other programs (docker, podman, libvirt, minikube). */
static const char *const subnets[] = {
    "10.213.0.0/16", "10.214.0.0/16", "10.217.0.0/16", "10.222.0.0/16",    "10.231.0.0/16",
    "10.237.0.0/16", "172.29.0.0/16", "172.27.0.0/16", "192.168.208.0/20", "192.168.176.0/20",
};

struct route_check {
    const struct subnet *subnet;
    bool is_used;
};

static bool check_route(void *ctx, const struct nlmsghdr *m)
{
    struct route_check *c = ctx;
    const struct rtmsg *head = mnl_nlmsg_get_payload(m);
    const struct nlattr *a;
    uint32_t to = 0;

    if (m->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(m) < sizeof(*head) || head->rtm_family != AF_INET ||
        head->rtm_dst_len == 0 || head->rtm_dst_len > 32 || head->rtm_type == RTN_MULTICAST)
        return true;
    mnl_attr_for_each(a, m, sizeof(*head))
        if (mnl_attr_get_type(a) == RTA_DST && mnl_attr_get_payload_len(a) >= sizeof(to))
            to = ntohl(mnl_attr_get_u32(a));
    c->is_used = subnet_overlaps(c->subnet, to, head->rtm_dst_len);
    return !c->is_used;
}

static int subnet_is_used(struct nl *l, const struct subnet *s, bool *ret, struct err *e)
{
    struct route_check c = { s, false };

    if (nl_dump(l, RTM_GETROUTE, AF_INET, check_route, &c, e) < 0)
        return -1;
    *ret = c.is_used;
    return 0;
}

int net_subnet_choose(struct nl *l, const char *wanted, struct subnet *ret, struct err *e)
{
    bool is_used;

    if (wanted)
        return subnet_parse(str_of(wanted), ret, e);
    for (size_t i = 0; i < ARRAY_LEN(subnets); i++) {
        if (subnet_parse(str_of(subnets[i]), ret, e) < 0 || (l && subnet_is_used(l, ret, &is_used, e) < 0))
            return -1;
        if (!l || !is_used)
            return 0;
    }
    return err_set(e, ERR_EXISTS, "this host has routes to every subnet that pods could have: choose one by hand");
}
