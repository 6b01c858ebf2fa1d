/* net_request.c - the requests to the kernel that the pods' network is made of */
#include "node/net/net_internal.h"

#include "base/util.h"

#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <net/if.h>

enum {
    START_TRIES = 10000,
    START_PAUSE_US = 200,
};

uint32_t net_group(const char *id)
{
    return NET_GROUP_MARK | (uint32_t)strtoul(id, NULL, 16);
}

void net_begin_link(struct nl *l, uint16_t flags, const char *what, int index, unsigned up)
{
    struct ifinfomsg *head = nl_begin(l, RTM_NEWLINK, flags, what, sizeof(*head));

    *head = (struct ifinfomsg){ .ifi_family = AF_UNSPEC, .ifi_index = index, .ifi_flags = up, .ifi_change = up };
}

void net_put_up(struct nl *l, const char *what, int index)
{
    net_begin_link(l, 0, what, index, IFF_UP);
}

void net_put_end(struct nl *l, const char *name, int mtu, const uint8_t mac[6])
{
    nl_put_text(l, IFLA_IFNAME, name);
    nl_put_u32(l, IFLA_MTU, (uint32_t)mtu);
    nl_put(l, IFLA_ADDRESS, mac, 6);
    nl_put_u32(l, IFLA_NUM_TX_QUEUES, 1); /* else one for each processor, with files in /sys */
    nl_put_u32(l, IFLA_NUM_RX_QUEUES, 1);
}

void net_put_settings(struct nl *l, const struct net_setting *list, size_t n)
{
    struct nlattr *spec = nl_nest(l, IFLA_AF_SPEC), *family = nl_nest(l, AF_INET), *conf = nl_nest(l, IFLA_INET_CONF);

    for (size_t i = 0; i < n; i++)
        nl_put_u32(l, list[i].which, list[i].value);
    nl_nest_end(l, conf);
    nl_nest_end(l, family);
    nl_nest_end(l, spec);
}

void net_put_no_ipv6(struct nl *l, int index)
{
    struct nlattr *spec, *family;
    uint8_t mode = IN6_ADDR_GEN_MODE_NONE;

    net_begin_link(l, 0, "no IPv6", index, 0);
    spec = nl_nest(l, IFLA_AF_SPEC);
    family = nl_nest(l, AF_INET6);
    nl_put(l, IFLA_INET6_ADDR_GEN_MODE, &mode, sizeof(mode));
    nl_nest_end(l, family);
    nl_nest_end(l, spec);
    nl_optional(l);
}

void net_put_address(struct nl *l, int index, struct in_addr a, int prefix, uint32_t flags)
{
    struct ifaddrmsg *head = nl_begin(l, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, "set the address", sizeof(*head));

    *head = (struct ifaddrmsg){ .ifa_family = AF_INET, .ifa_prefixlen = (uint8_t)prefix, .ifa_index = (uint32_t)index };
    nl_put(l, IFA_LOCAL, &a, sizeof(a));
    nl_put(l, IFA_ADDRESS, &a, sizeof(a));
    nl_put_u32(l, IFA_FLAGS, flags);
}

void net_put_route(struct nl *l, int index, const struct in_addr *to, int prefix, const struct in_addr *via)
{
    struct rtmsg *head = nl_begin(l, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, "set a route", sizeof(*head));

    *head = (struct rtmsg){ .rtm_family = AF_INET,
                            .rtm_dst_len = (uint8_t)prefix,
                            .rtm_table = RT_TABLE_MAIN,
                            .rtm_protocol = RTPROT_STATIC,
                            .rtm_scope = via ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK,
                            .rtm_type = RTN_UNICAST };
    if (to)
        nl_put(l, RTA_DST, to, sizeof(*to));
    if (via)
        nl_put(l, RTA_GATEWAY, via, sizeof(*via));
    nl_put_u32(l, RTA_OIF, (uint32_t)index);
}

void net_put_neighbour(struct nl *l, int index, struct in_addr a, const uint8_t mac[6])
{
    struct ndmsg *head = nl_begin(l, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, "set a neighbour", sizeof(*head));

    *head = (struct ndmsg){ .ndm_family = AF_INET, .ndm_ifindex = index, .ndm_state = NUD_PERMANENT };
    nl_put(l, NDA_DST, &a, sizeof(a));
    nl_put(l, NDA_LLADDR, mac, 6);
}

int net_wait_for_link(struct nl *l, const char *name, struct err *e)
{
    struct nl_link link;

    for (int tries = 0; tries < START_TRIES; tries++) {
        if (nl_link_find(l, name, &link, e) < 0)
            return -1;
        if (link.is_running)
            return 0;
        (void)usleep(START_PAUSE_US); /* interrupted: just the next look */
    }
    return err_set(e, ERR_IO, "link %s did not come up", name);
}

int net_delete_group(struct nl *l, uint32_t group, struct err *e)
{
    (void)nl_begin(l, RTM_DELLINK, 0, "remove links", sizeof(struct ifinfomsg)); /* AF_UNSPEC: 0 */
    nl_put_u32(l, IFLA_GROUP, group);
    return nl_send(l, e);
}

int net_each_route(struct nl *l, nl_message_f on_message, void *ctx, struct err *e)
{
    struct rtmsg *head = nl_begin(l, RTM_GETROUTE, 0, "list routes", sizeof(*head));

    head->rtm_family = AF_INET;
    return nl_dump(l, on_message, ctx, e);
}
