/* net_uplink.c - egress by the host's own network, as root: a veth pair between the pods' namespace and the host's
 *
 *     pods ── private namespace ── pm<id>u ═══ pm<id>h ── host ── links with a default route
 *
 * In the host's namespace there are: the link with the last address of the subnet, a route to the pods over it, one
 * table (net_nat.h), and, where it was not so before, forwarding on the links with a default route. The last is written
 * down in the table's comment first. Runs share it: the last one that goes puts it back. So all of this happens under
 * one lock.
 */
#include "node/net/net_internal.h"

#include "base/util.h"
#include "os/lock.h"
#include "node/net/net_nat.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sys/stat.h>

enum { LINKS_MAX = 6 };

static const char comment_head[] = "forwarding:";
static const uint8_t host_mac[6] = { 0x02, 0x70, 0x6d, 0x00, 0x00, 0x02 };
static const uint8_t inner_mac[6] = { 0x02, 0x70, 0x6d, 0x00, 0x00, 0x03 };

/* ---- the lock ---- */

/* Of root alone: a user who can open it could block the network of every run. */
static const char lock_dir[] = "/run/pumice";

int net_lock(int *ret_fd, struct err *e)
{
    enum { WAIT_MS = 3000 };
    autoclose int dir = -1;

    if (mkdir(lock_dir, 0700) < 0 && errno != EEXIST)
        return err_errno(e, "create %s", lock_dir);
    if (lock_dir_open(lock_dir, &dir, e) < 0)
        return -1;
    return lock_take(dir, "net.lock", WAIT_MS, ret_fd, e) < 0
               ? err_wrap(e, "wait for another run to finish its network changes")
               : 0;
}

/* ---- links that forward ---- */

struct default_links {
    int index[LINKS_MAX];
    size_t n;
};

struct forced_links {
    const char *names[LINKS_MAX];
    size_t n;
};

static bool take_default_link(void *ctx, const struct nlmsghdr *m)
{
    struct default_links *d = ctx;
    const struct rtmsg *head = mnl_nlmsg_get_payload(m);
    const struct nlattr *a;

    if (m->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(m) < sizeof(*head) || head->rtm_dst_len != 0 ||
        head->rtm_type != RTN_UNICAST)
        return true;
    mnl_attr_for_each(a, m, sizeof(*head))
        if (mnl_attr_get_type(a) == RTA_OIF && mnl_attr_get_payload_len(a) == sizeof(uint32_t) &&
            d->n < ARRAY_LEN(d->index))
            d->index[d->n++] = (int)mnl_attr_get_u32(a);
    return true;
}

static bool link_forwards(const char *name)
{
    char path[80], c = '0';
    autofile FILE *f = NULL;

    (void)snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/forwarding", name);
    f = fopen(path, "re");
    return f && fread(&c, 1, 1, f) == 1 && c != '0';
}

static int set_forwarding(struct nl *l, int index, uint32_t value, struct err *e)
{
    struct net_setting s = { IPV4_DEVCONF_FORWARDING, value };

    net_begin_link(l, 0, "enable forwarding on a link", index, 0);
    net_put_settings(l, &s, 1);
    return nl_send(l, e);
}

static bool comment_lists(const char *comment, struct str link)
{
    struct str rest = str_of(comment), word;

    if (!str_starts(rest, str_of(comment_head)))
        return false;
    while (str_split(&rest, ' ', &word))
        if (str_eq(word, link))
            return true;
    return false;
}

/* Does some run's table say that the link forwards because of us? */
static bool uplink_is_listed(const struct nat_tables *tables, struct str link)
{
    VEC_FOREACH(t, &tables->list)
        if (comment_lists(t->comment, link))
            return true;
    return false;
}

/* The links that forward because of us, and the comment that says so. */
static void write_comment(struct arena *a, const struct default_links *d, const struct nat_tables *tables,
                          struct forced_links *ret, char out[NAT_COMMENT_MAX])
{
    size_t n = (size_t)snprintf(out, NAT_COMMENT_MAX, "%s", comment_head);
    char name[IF_NAMESIZE];

    for (size_t i = 0; i < d->n; i++)
        if (if_indextoname((unsigned)d->index[i], name) && !comment_lists(out, str_of(name)) &&
            (!link_forwards(name) || uplink_is_listed(tables, str_of(name)))) {
            n += (size_t)snprintf(out + n, NAT_COMMENT_MAX - n, " %s", name);
            ret->names[ret->n++] = arena_str(a, str_of(name)).p;
        }
}

/* ---- the pair ---- */

static int make_pair(const struct net_way *w, const char *host, const char *inner, struct err *e)
{
    struct nl *l = w->host;
    struct nlattr *info, *data, *peer;

    net_begin_link(l, NLM_F_CREATE | NLM_F_EXCL, "create the link to the host", 0, 0);
    net_put_end(l, host, w->mtu, host_mac);
    nl_put_u32(l, IFLA_GROUP, net_group(w->id));
    info = nl_nest(l, IFLA_LINKINFO);
    nl_put(l, IFLA_INFO_KIND, "veth", strlen("veth"));
    data = nl_nest(l, IFLA_INFO_DATA);
    peer = nl_nest(l, VETH_INFO_PEER);
    (void)nl_put_room(l, sizeof(struct ifinfomsg));
    net_put_end(l, inner, w->mtu, inner_mac);
    nl_put_u32(l, IFLA_NET_NS_FD, (uint32_t)w->ns_fd);
    nl_nest_end(l, peer);
    nl_nest_end(l, data);
    nl_nest_end(l, info);
    return nl_send(l, e);
}

static const struct net_setting forwards[] = { { IPV4_DEVCONF_FORWARDING, 1 } };

static int set_up_host_end(const struct net_way *w, const char *name, struct err *e)
{
    struct in_addr gateway = subnet_gateway(w->subnet), base = { htonl(w->subnet->base) };
    struct nl *l = w->host;
    int index;

    if (nl_link_index(l, name, &index, e) < 0)
        return -1;
    net_put_no_ipv6(l, index);
    net_put_up(l, "start the link to the pods", index);
    net_put_settings(l, forwards, ARRAY_LEN(forwards));
    net_put_address(l, index, subnet_host(w->subnet), 32, IFA_F_NOPREFIXROUTE);
    net_put_neighbour(l, index, gateway, inner_mac);
    net_put_route(l, index, &gateway, 32, NULL);
    net_put_route(l, index, &base, w->subnet->prefix, &gateway);
    return nl_send(l, e);
}

static int set_up_inner_end(const struct net_way *w, const char *name, struct err *e)
{
    struct in_addr host = subnet_host(w->subnet);
    struct nl *l = w->inner;
    int index;

    if (nl_link_index(l, name, &index, e) < 0)
        return -1;
    net_put_no_ipv6(l, index);
    net_put_up(l, "start the link to the host", index);
    net_put_settings(l, forwards, ARRAY_LEN(forwards));
    net_put_neighbour(l, index, host, host_mac);
    net_put_route(l, index, &host, 32, NULL);
    net_put_route(l, index, NULL, 0, &host);
    return nl_send(l, e);
}

/* ---- open and remove ---- */

static int hide_and_forward(const struct net_way *w, struct err *e)
{
    struct default_links d = { { 0 }, 0 };
    struct nat_tables tables = { 0 };
    struct forced_links forced = { 0 };
    char comment[NAT_COMMENT_MAX], name[IF_NAMESIZE];
    autoarena a = { 0 };
    struct nat_options opt = { .id = w->id,
                               .comment = comment,
                               .pods = w->subnet,
                               .is_open = w->is_open,
                               .group = net_group(w->id),
                               .links = forced.names };

    if (net_each_route(w->host, take_default_link, &d, e) < 0 || nat_list(&a, -1, &tables, e) < 0)
        return -1;
    if (!d.n)
        return err_set(e, ERR_NOT_FOUND, "this host has no default route");
    VEC_FOREACH(t, &tables.list)
        if (strcmp(t->id, w->id) == 0 && nat_remove(-1, w->id, e) < 0) /* a dead run's, with our id: hardly ever */
            return -1;
    write_comment(&a, &d, &tables, &forced, comment);
    opt.n_links = forced.n;
    if (nat_add(-1, &opt, e) < 0)
        return -1;
    for (size_t i = 0; i < d.n; i++)
        if (if_indextoname((unsigned)d.index[i], name) && comment_lists(comment, str_of(name)) &&
            set_forwarding(w->host, d.index[i], 1, e) < 0)
            return -1;
    return 0;
}

int net_uplink_open(const struct net_way *w, struct err *e)
{
    char host[IF_NAMESIZE], inner[IF_NAMESIZE];

    (void)snprintf(host, sizeof(host), "pm%.6sh", w->id);
    (void)snprintf(inner, sizeof(inner), "pm%.6su", w->id);
    if (make_pair(w, host, inner, e) < 0)
        return -1;
    if (set_up_host_end(w, host, e) < 0 || set_up_inner_end(w, inner, e) < 0 ||
        net_wait_for_link(w->host, host, e) < 0 || hide_and_forward(w, e) < 0) {
        (void)net_uplink_remove(w->host, w->id, -1); /* the first error counts */
        return -1;
    }
    return 0;
}

/* Without the table of 'id' now: what it alone kept forwarding stops. */
static void put_back(struct nl *l, const struct nat_tables *rest, const char *comment)
{
    struct str words = str_of(comment), word;

    (void)str_split(&words, ' ', &word); /* the head */
    while (str_split(&words, ' ', &word)) {
        char name[IF_NAMESIZE] = "";
        unsigned index;

        if (word.n >= sizeof(name) || uplink_is_listed(rest, word))
            continue;
        memcpy(name, word.p, word.n);
        index = if_nametoindex(name);
        if (index)
            (void)set_forwarding(l, (int)index, 0, NULL); /* the link may be deleted */
    }
}

int net_uplink_remove(struct nl *l, const char *id, int lock)
{
    struct nat_tables all = { 0 }, rest = { 0 };
    const char *comment = NULL;
    autoarena a = { 0 };
    int n = 0;

    (void)nat_list(&a, -1, &all, NULL); /* nothing found then */
    VEC_FOREACH(t, &all.list)
        if (strcmp(t->id, id) == 0)
            comment = t->comment;
        else
            *vec_push(&a, &rest.list) = *t;
    if (comment && nat_remove(-1, id, NULL) == 0) {
        put_back(l, &rest, comment);
        n++;
    }
    if (lock >= 0)
        close(lock);
    if (net_delete_group(l, net_group(id), NULL) == 0)
        n++;
    return n;
}
