/* net_out.c - the way out of the pods' network: links with a default route forward */
#include "node/net_internal.h"

#include "base/util.h"

#include <linux/ip.h>
#include <net/if.h>

static bool take_default_link(void *ctx, const struct nlmsghdr *m)
{
    struct net_out *w = ctx;
    const struct rtmsg *head = mnl_nlmsg_get_payload(m);
    const struct nlattr *a;

    if (m->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(m) < sizeof(*head) || head->rtm_dst_len != 0 ||
        head->rtm_type != RTN_UNICAST)
        return true;
    mnl_attr_for_each(a, m, sizeof(*head)) if (mnl_attr_get_type(a) == RTA_OIF &&
                                               mnl_attr_get_payload_len(a) == sizeof(uint32_t) &&
                                               w->n < ARRAY_LEN(w->links)) w->links[w->n++] = (int)mnl_attr_get_u32(a);
    return true;
}

static bool link_forwards(int index)
{
    char name[IF_NAMESIZE], path[80], c = '0';
    autofile FILE *f = NULL;

    if (!if_indextoname((unsigned)index, name))
        return true; /* gone: nothing to do */
    (void)snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/forwarding", name);
    f = fopen(path, "re");
    return f && fread(&c, 1, 1, f) == 1 && c != '0';
}

static void set_forwarding(struct nl *l, int index, uint32_t value)
{
    struct net_setting s = { IPV4_DEVCONF_FORWARDING, value };

    net_begin_link(l, 0, "let a link forward", index, 0);
    net_put_settings(l, &s, 1);
}

int net_out_open(struct net_out *o, struct nl *l, struct err *e)
{
    struct net_out w = { { 0 }, 0 };

    if (nl_dump(l, RTM_GETROUTE, AF_INET, take_default_link, &w, e) < 0)
        return -1;
    for (size_t i = 0; i < w.n; i++) {
        if (link_forwards(w.links[i]))
            continue;
        set_forwarding(l, w.links[i], 1);
        if (nl_send(l, e) < 0)
            return -1;
        o->links[o->n++] = w.links[i];
    }
    return 0;
}

void net_out_close(struct net_out *o, struct nl *l)
{
    for (size_t i = 0; i < o->n; i++) {
        set_forwarding(l, o->links[i], 0);
        (void)nl_send(l, NULL); /* the link may be gone */
    }
}
