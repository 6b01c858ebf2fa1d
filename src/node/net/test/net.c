/* net.c - tests of the pods' network, with real links in namespaces of the test's own */
#include "os/test/testing.h"

#include "node/net/net.h"

#include "base/rand.h"
#include "node/net/net_internal.h"
#include "node/net/net_nat.h"
#include "os/nft.h"
#include "node/net/subnet.h"
#include "node/net/test/wire.h"

#include <net/if.h>
#include <sys/resource.h>

static bool has_network; /* this process is in a network of its own */

#define NEED_NETWORK()                                                                                                 \
    do {                                                                                                               \
        if (!has_network) {                                                                                            \
            print_message("skipped: may not make a network namespace\n");                                              \
            skip();                                                                                                    \
        }                                                                                                              \
    } while (0)

#define NET_OK(call)                                                                                                   \
    do {                                                                                                               \
        if ((call) < 0)                                                                                                \
            fail_msg("%s: %s", #call, e.text);                                                                         \
    } while (0)

/* Every test leaves a network open in case it fails; the teardown closes it. */
static struct net *open_net;
static struct wire_pod pods[8];
static size_t n_pods;

static struct net *start(const struct net_options *opt)
{
    struct err e = { 0 };

    NET_OK(net_open(opt, &open_net, &e));
    return open_net;
}

static struct wire_pod *add_pod(struct net *n)
{
    struct wire_pod *p = &pods[n_pods++];
    struct err e = { 0 };

    NET_OK(wire_join(n, p, &e));
    return p;
}

static void stop(void)
{
    net_close(open_net);
    open_net = NULL;
    while (n_pods)
        close(pods[--n_pods].ns);
}

static int tear_down(void **state)
{
    stop();
    return 0;
}

static int count_here(void *ctx, struct err *e)
{
    struct if_nameindex *list = if_nameindex();
    size_t *n = ctx;

    if (!list)
        return err_errno(e, "list links");
    for (*n = 0; list[*n].if_index;)
        ++*n;
    if_freenameindex(list);
    return 0;
}

static size_t count_links_in(const struct net *n)
{
    struct err e = { 0 };
    size_t links = 0;

    NET_OK(netns_run(net_ns_fd(n), count_here, &links, &e));
    return links;
}

static size_t count_links(void)
{
    size_t links = 0;

    assert_int_equal(count_here(&links, NULL), 0);
    return links;
}

/* ---- addresses ---- */

static void reads_subnets(void **state)
{
    static const struct {
        const char *text;
        uint32_t base;
        int prefix; /* 0: refused */
    } cases[] = {
        { "10.88.0.0/16", 0x0a580000, 16 },
        { "192.168.1.8/29", 0xc0a80108, 29 },
        { "10.0.0.0/8", 0x0a000000, 8 },
        { "10.88.0.1/16", 0, 0 },
        { "10.88.0.0/30", 0, 0 },
        { "0.0.0.0/0", 0, 0 },
        { "10.88.0.0/-1", 0, 0 },
        { "10.88.0.0/16x", 0, 0 },
        { "10.88.0.0", 0, 0 },
        { "10.88.0/16", 0, 0 },
        { "/16", 0, 0 },
        { "", 0, 0 },
        { "fd00::/16", 0, 0 },
        { "10.88.0.0.0.0.0.0.0.0.0.0.0.0/16", 0, 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct subnet s = { 0 };
        struct err e = { 0 };
        int rc = subnet_parse(str_of(cases[i].text), &s, &e);

        if (rc != (cases[i].prefix ? 0 : -1) || s.base != cases[i].base || s.prefix != cases[i].prefix ||
            (rc < 0 && e.code != ERR_INVALID))
            fail_msg("\"%s\": %d %s", cases[i].text, rc, e.text);
    }
}

static void overlaps_as_routes_do(void **state)
{
    struct subnet s;

    assert_int_equal(subnet_parse(STR("10.88.0.0/16"), &s, NULL), 0);
    assert_true(subnet_overlaps(&s, 0x0a580000, 16));
    assert_true(subnet_overlaps(&s, 0x0a58ff01, 32));
    assert_true(subnet_overlaps(&s, 0x0a000000, 8));
    assert_true(subnet_overlaps(&s, 0, 0));
    assert_false(subnet_overlaps(&s, 0x0a590000, 16));
    assert_false(subnet_overlaps(&s, 0x0b000000, 8));
}

static void gives_every_address_once(void **state)
{
    static const int prefixes[] = { 29, 26, 25, 20 };

    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        uint32_t n = (uint32_t)1 << (32 - prefixes[i]);
        struct subnet s = { .base = 0x0a580000, .prefix = prefixes[i] };
        struct err e = { 0 };
        struct in_addr a, odd = { htonl(0x0a580001) };

        subnet_init(&s);
        for (uint32_t k = 2; k < n - 2; k++) {
            assert_int_equal(subnet_take(&s, &a, &e), 0);
            assert_int_equal(ntohl(a.s_addr), s.base + k);
        }
        subnet_give(&s, odd); /* the gateway is not for giving */
        subnet_give(&s, (struct in_addr){ htonl(0x0a570005) });
        assert_int_equal(subnet_take(&s, &a, &e), -1);
        assert_int_equal(e.code, ERR_TOO_BIG);
        a.s_addr = htonl(s.base + 4);
        subnet_give(&s, a);
        subnet_give(&s, a);
        a.s_addr = 0;
        assert_int_equal(subnet_take(&s, &a, &e), 0);
        assert_int_equal(ntohl(a.s_addr), s.base + 4);
        subnet_done(&s);
    }
}

/* Random takes and gives against a plain array. */
static void never_gives_one_twice(void **state)
{
    struct subnet s = { .base = 0x0a580000, .prefix = 25 };
    bool taken[128] = { false };
    struct rand r;
    struct in_addr a, last = { 0 };

    rand_seed(&r, 5);
    subnet_init(&s);
    for (int i = 0; i < 20000; i++) {
        uint32_t k = (uint32_t)rand_below(&r, 128);

        if (rand_chance(&r, 1, 2)) {
            if (subnet_take(&s, &a, NULL) < 0)
                continue;
            k = ntohl(a.s_addr) - s.base;
            assert_true(k >= 2 && k < 126 && !taken[k]);
            taken[k] = true;
        } else if (k >= 2 && taken[k]) {
            taken[k] = false;
            last.s_addr = htonl(s.base + k);
            subnet_give(&s, last);
        }
    }
    subnet_done(&s);
}

static void addresses_come_back_late(void **state)
{
    struct subnet s = { .base = 0x0a580000, .prefix = 24 };
    struct in_addr a, b;

    subnet_init(&s);
    for (int i = 0; i < 252; i++) {
        assert_int_equal(subnet_take(&s, &a, NULL), 0);
        subnet_give(&s, a);
        assert_int_equal(subnet_take(&s, &b, NULL), 0);
        assert_int_not_equal(a.s_addr, b.s_addr);
        subnet_give(&s, b);
    }
    subnet_done(&s);
}

/* ---- one network ---- */

static void refuses_bad_options(void **state)
{
    static const struct net_options cases[] = {
        { .id = NULL },
        { .id = "12345" },
        { .id = "1234567" },
        { .id = "12345G" },
        { .id = "12345/" },
        { .id = "123456", .mtu = 10 },
        { .id = "123456", .mtu = 70000 },
        { .id = "123456", .subnet = "10.0.0.0/4" },
    };
    struct net *n;

    NEED_NETWORK();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err e = { 0 };

        if (net_open(&cases[i], &n, &e) == 0 || e.code != ERR_INVALID)
            fail_msg("case %zu: %s", i, e.text);
    }
    net_close(NULL);
}

static void assert_reach(struct wire_pod *a, struct wire_pod *b)
{
    autoclose int tcp = wire_listen(b->ns, SOCK_STREAM, 7000), udp = wire_listen(b->ns, SOCK_DGRAM, 7000);

    assert_true(tcp >= 0 && udp >= 0);
    assert_int_equal(wire_tcp(a->ns, b->address, 7000), 0);
    assert_int_equal(wire_udp(a->ns, b->address, 7000, udp), 0);
    assert_int_equal(wire_tcp(a->ns, b->address, 7001), ECONNREFUSED);
}

static void pods_reach_each_other(void **state)
{
    size_t before = has_network ? count_links() : 0;
    struct wire_pod *a, *b, here, self;
    struct net *n;
    const char *why;

    NEED_NETWORK();
    n = start(&(struct net_options){ .id = "00aa01", .subnet = "10.88.0.0/16" });
    a = add_pod(n);
    b = add_pod(n);
    here = (struct wire_pod){ .ns = net_ns_fd(n), .address = net_gateway(n) };
    self = (struct wire_pod){ .ns = a->ns, .address = { htonl(INADDR_LOOPBACK) } };
    assert_true(net_ns_fd(n) >= 0);
    assert_string_equal(net_bridge(n), "pm00aa01-br");
    assert_string_equal(inet_ntoa(net_gateway(n)), "10.88.0.1");
    assert_string_equal(inet_ntoa(a->address), "10.88.0.2");
    assert_string_equal(b->link, "pm00aa01v3");
    assert_null(net_way_out(n, &why));
    assert_null(why);
    assert_reach(a, b);
    assert_reach(b, a);
    assert_reach(a, &here); /* DNS, for one */
    assert_reach(&here, a); /* probes */
    assert_reach(a, a);
    assert_reach(a, &self);
    assert_int_equal(wire_tcp(a->ns, (struct in_addr){ htonl(0x08080808) }, 53), ENETUNREACH); /* at once */
    assert_int_equal(count_links(), before); /* nothing of it is seen here */
    stop();
}

static void joins_and_leaves(void **state)
{
    struct net *n;
    struct wire_pod *a;
    struct err e = { 0 };
    const char *link;
    int other = -1;

    NEED_NETWORK();
    n = start(&(struct net_options){ .id = "00aa02" });
    a = add_pod(n);
    assert_int_equal(net_join(n, a->ns, a->address, &link, &e), -1);
    assert_int_equal(e.code, ERR_EXISTS);
    assert_int_equal(net_join(n, a->ns, (struct in_addr){ htonl(0x01020304) }, &link, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
    assert_int_equal(net_join(n, a->ns, (struct in_addr){ htonl(ntohl(a->address.s_addr) + 9) }, &link, &e), -1);
    assert_int_equal(e.code, ERR_EXISTS);   /* it has an eth0 */
    assert_int_equal(count_links_in(n), 3); /* lo, bridge, one veth: what failed left nothing */
    assert_int_equal(net_leave(n, (struct in_addr){ htonl(0x01020304) }, &e), 0);
    assert_int_equal(net_leave(n, a->address, &e), 0);
    assert_int_equal(net_leave(n, a->address, &e), 0);
    NET_OK(net_join(n, a->ns, a->address, &link, &e)); /* and again, into the same namespace */
    assert_int_equal(count_links_in(n), 3);
    NET_OK(net_leave(n, a->address, &e));
    NET_OK(netns_new(&other, &e));
    NET_OK(net_join(n, other, a->address, &link, &e));
    close(other); /* the kernel removes the link by and by */
    NET_OK(net_leave(n, a->address, &e));
    assert_int_equal(net_join(n, -1, a->address, &link, &e), -1);
    stop();
}

/* Send a datagram under any address; 1: it came, 0: it did not. */
static int send_as(struct wire_pod *from, struct in_addr as, struct wire_pod *to, int listener)
{
    struct sockaddr_in name = wire_name(as, 9000), there = wire_name(to->address, 7000);
    autoclose int fd = wire_socket(from->ns, SOCK_DGRAM);
    int on = 1;
    char c;

    if (setsockopt(fd, SOL_IP, IP_TRANSPARENT, &on, sizeof(on)) < 0 ||
        bind(fd, (struct sockaddr *)&name, sizeof(name)) < 0 ||
        sendto(fd, "x", 1, 0, (struct sockaddr *)&there, sizeof(there)) != 1)
        return -1;
    return wire_wait(listener, POLLIN, 100) && recv(listener, &c, 1, 0) == 1;
}

/* A pod that left is cut off in both directions, though its namespace and link are still there. */
static void leaving_cuts_off(void **state)
{
    struct net *n;
    struct wire_pod *a, *b;
    struct err e = { 0 };
    int at_a, at_b;

    NEED_NETWORK();
    n = start(&(struct net_options){ .id = "00aa0a" });
    a = add_pod(n);
    b = add_pod(n);
    at_a = wire_listen(a->ns, SOCK_DGRAM, 7000);
    at_b = wire_listen(b->ns, SOCK_DGRAM, 7000);
    assert_int_equal(send_as(a, a->address, b, at_b), 1);
    NET_OK(net_leave(n, a->address, &e));
    assert_int_equal(send_as(a, a->address, b, at_b), 0);
    assert_int_equal(send_as(b, b->address, a, at_a), 0);
    close(at_a);
    close(at_b);
    stop();
}

/* However many come and go, the links of those that left do not pile up. */
static void links_do_not_pile_up(void **state)
{
    struct net *n;
    struct err e = { 0 };
    struct wire_pod p[600];

    NEED_NETWORK();
    n = start(&(struct net_options){ .id = "00aa0b" });
    for (size_t i = 0; i < ARRAY_LEN(p); i++) {
        NET_OK(wire_join(n, &p[i], &e));
        NET_OK(net_leave(n, p[i].address, &e));
    }
    assert_true(count_links_in(n) < 530);
    stop();
    for (size_t i = 0; i < ARRAY_LEN(p); i++)
        close(p[i].ns);
}

static void join_anew(struct net *n, struct wire_pod *p)
{
    struct err e = { 0 };

    NET_OK(netns_new(&p->ns, &e));
    NET_OK(net_join(n, p->ns, p->address, &p->link, &e));
}

/* A link that was left goes when it is in the way; one that has the number of such a link does not. */
static void numbers_are_used_again(void **state)
{
    struct net *n;
    struct wire_pod *a, *b;
    struct err e = { 0 };
    int old;

    NEED_NETWORK();
    n = start(&(struct net_options){ .id = "00aa0d" });
    a = add_pod(n);
    b = add_pod(n);
    NET_OK(net_leave(n, a->address, &e));
    close(a->ns);
    for (int i = 0; count_links_in(n) > 3 && i < 500; i++) /* it goes with its namespace, by and by */
        (void)usleep(10000);
    join_anew(n, a);
    NET_OK(net_leave(n, b->address, &e));
    old = b->ns;
    join_anew(n, b); /* all that was left goes */
    assert_int_equal(count_links_in(n), 4);
    assert_reach(a, b);
    close(old);
    stop();
}

/* A pod that pretends to be another reaches nobody. */
static void pods_cannot_pretend(void **state)
{
    struct net *n;
    struct wire_pod *a, *b, *c;
    int listener;

    NEED_NETWORK();
    n = start(&(struct net_options){ .id = "00aa06" });
    a = add_pod(n);
    b = add_pod(n);
    c = add_pod(n);
    listener = wire_listen(a->ns, SOCK_DGRAM, 7000);
    assert_int_equal(send_as(b, b->address, a, listener), 1);
    assert_int_equal(send_as(b, c->address, a, listener), 0);
    assert_int_equal(send_as(b, net_gateway(n), a, listener), 0);
    assert_int_equal(send_as(b, (struct in_addr){ htonl(0x08080808) }, a, listener), 0);
    close(listener);
    stop();
}

/* Whoever goes on with a network tells each link what the one before made the default. */
static void who_goes_on_joins(void **state)
{
    struct net_options opt = { .id = "00aa0e" };
    int fds[NET_FDS], listener;
    struct wire_pod *a, *b, *c;
    struct err e = { 0 };
    autobuf note = { 0 };
    struct net *n, *old;
    size_t n_fds;

    NEED_NETWORK();
    old = start(&opt);
    a = add_pod(old);
    net_note(old, &note);
    n_fds = net_fds(old, fds);
    NET_OK(net_adopt(&opt, &(struct net_kept){ buf_view(&note), fds, n_fds }, &n, &e));
    net_let_go(old);
    open_net = n;
    NET_OK(net_hold(n, a->address, &e));
    b = add_pod(n);
    c = add_pod(n);
    assert_reach(a, b);
    assert_reach(c, a);
    listener = wire_listen(a->ns, SOCK_DGRAM, 7000);
    assert_int_equal(send_as(b, b->address, a, listener), 1);
    assert_int_equal(send_as(b, c->address, a, listener), 0);
    close(listener);
    stop();
}

/* ---- the way out ---- a pod of one network plays the host of another ---- */

struct outside {
    struct wire_pod host, world;
};

static int reads_forwarding(void)
{
    autofile FILE *f = fopen("/proc/sys/net/ipv4/conf/eth0/forwarding", "re");

    return f ? fgetc(f) : -1;
}

static int wait_for_removal(void)
{
    autoclose int lock = -1;

    return net_lock(&lock, NULL);
}

static size_t count_tables(void)
{
    struct nat_tables tables = { 0 };
    autoarena a = { 0 };

    return nat_list(&a, -1, &tables, NULL) < 0 ? 99 : tables.list.n;
}

/* No assertions in these: they are not in the thread that cmocka watches. */
#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            return err_set(e, ERR_INTERNAL, "line %d: not %s", __LINE__, #condition);                                  \
    } while (0)

/* Whose address the world sees; 0 if nobody came. */
static uint32_t seen_by(int listener, const struct wire_pod *p, const struct wire_pod *world)
{
    autoclose int fd = -1;
    struct sockaddr_in from = { 0 };
    socklen_t n = sizeof(from);

    if (wire_tcp(p->ns, world->address, 7000) != 0)
        return 0;
    fd = accept4(listener, (struct sockaddr *)&from, &n, SOCK_CLOEXEC);
    return fd < 0 ? 0 : from.sin_addr.s_addr;
}

static uint32_t seen_from(const struct wire_pod *p, const struct wire_pod *world)
{
    autoclose int listener = wire_listen(world->ns, SOCK_STREAM, 7000);

    return seen_by(listener, p, world);
}

static int host_and_pod_meet(const struct wire_pod *host, const struct wire_pod *p, struct err *e)
{
    autoclose int at_pod = wire_listen(p->ns, SOCK_STREAM, 7002), at_host = wire_listen(-1, SOCK_STREAM, 7003);

    WANT(at_pod >= 0 && at_host >= 0);
    WANT(wire_tcp(-1, p->address, 7002) == 0);
    WANT(wire_tcp(p->ns, host->address, 7003) == 0);
    return 0;
}

static int two_runs(struct outside *o, struct net *nets[2], struct wire_pod p[2], struct err *e)
{
    const char *why;

    for (int i = 0; i < 2; i++) {
        if (net_open(&(struct net_options){ .id = i ? "00cafe" : "00caff", .has_way_out = true }, &nets[i], e) < 0 ||
            wire_join(nets[i], &p[i], e) < 0)
            return -1;
        if (!net_way_out(nets[i], &why) || why)
            return err_set(e, ERR_INTERNAL, "no way out: %s", why ? why : "?");
        WANT(strcmp(net_way_out(nets[i], NULL), "by the host's addresses") == 0);
    }
    WANT(net_gateway(nets[0]).s_addr != net_gateway(nets[1]).s_addr);
    WANT(reads_forwarding() == '1');
    WANT(seen_from(&p[0], &o->world) == o->host.address.s_addr);
    WANT(seen_from(&p[1], &o->world) == o->host.address.s_addr);
    if (host_and_pod_meet(&o->host, &p[0], e) < 0)
        return -1;
    WANT(net_sweep() == 0); /* both are alive */
    net_close(nets[0]);
    nets[0] = NULL;
    WANT(wait_for_removal() == 0 && count_tables() == 1);
    WANT(reads_forwarding() == '1'); /* the other one needs it */
    WANT(seen_from(&p[1], &o->world) == o->host.address.s_addr);
    return 0;
}

static int out_test(void *ctx, struct err *e)
{
    struct net *nets[2] = { NULL, NULL };
    struct wire_pod p[2] = { { .ns = -1 }, { .ns = -1 } };
    int rc = two_runs(ctx, nets, p, e);

    for (int i = 0; i < 2; i++) {
        net_close(nets[i]);
        close(p[i].ns);
    }
    if (rc < 0)
        return -1;
    WANT(wait_for_removal() == 0);
    WANT(reads_forwarding() == '0');
    WANT(count_tables() == 0);
    for (int ms = 0; (if_nametoindex("pm00cafeh") || if_nametoindex("pm00caffh")) && ms < 2000; ms += 10)
        (void)usleep(10000); /* the link is the last to go */
    WANT(!if_nametoindex("pm00cafeh") && !if_nametoindex("pm00caffh"));
    return 0;
}

/* A new network namespace may take this setting over from the machine the test runs on. */
static int forwards_nothing(void *ctx, struct err *e)
{
    static const char *const parts[] = { "all", "default", "eth0" };

    (void)ctx;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        char path[100];
        FILE *f;

        snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/forwarding", parts[i]);
        f = fopen(path, "we");
        if (!f || fputs("0", f) < 0 || fclose(f) != 0)
            return err_errno(e, "write %s", path);
    }
    return 0;
}

static struct outside make_outside(void)
{
    struct net *n = start(&(struct net_options){ .id = "00aa04", .subnet = "10.99.0.0/16" });

    return (struct outside){ .host = *add_pod(n), .world = *add_pod(n) };
}

static void in_host(int (*run)(void *ctx, struct err *e))
{
    struct outside o = make_outside();
    struct err e = { 0 };

    NET_OK(netns_run(o.host.ns, forwards_nothing, NULL, &e));
    NET_OK(netns_run(o.host.ns, run, &o, &e));
    stop();
}

static void pods_reach_the_outside(void **state)
{
    NEED_NETWORK();
    in_host(out_test);
}

static int no_route_test(void *ctx, struct err *e)
{
    struct net *n;
    const char *how, *why;

    if (net_open(&(struct net_options){ .id = "00aa05", .has_way_out = true }, &n, e) < 0)
        return -1;
    how = net_way_out(n, &why);
    if (!how && (!why || !strstr(why, "default route")))
        return err_set(e, ERR_INTERNAL, "said: %s", why ? why : "nothing");
    net_close(n); /* with slirp4netns there is a way, if only to this host */
    WANT(count_tables() == 0);
    return 0;
}

static void says_why_there_is_no_way_out(void **state)
{
    struct err e = { 0 };

    NEED_NETWORK();
    NET_OK(netns_run(NETNS_NEW, no_route_test, NULL, &e));
}

/* ---- what a killed program left ---- */

static int leave_things_behind(void)
{
    struct net *n;

    if (net_open(&(struct net_options){ .id = "00dead", .has_way_out = true }, &n, NULL) < 0 || !net_way_out(n, NULL))
        return 1;
    return 0; /* and gone */
}

/* The kernel takes a dead run's link away by itself, a moment later. */
static bool waits_for_link_to_go(const char *name)
{
    for (int ms = 0; ms < 10000; ms++) {
        if (!if_nametoindex(name))
            return true;
        usleep(1000);
    }
    return false;
}

static int make_foreign(const char *name, struct err *e)
{
    struct nl l;
    struct nlattr *info;
    int rc;

    if (nl_open(&l, e) < 0)
        return -1;
    (void)nl_begin(&l, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, "create", sizeof(struct ifinfomsg));
    nl_put_text(&l, IFLA_IFNAME, name);
    info = nl_nest(&l, IFLA_LINKINFO);
    nl_put(&l, IFLA_INFO_KIND, "bridge", strlen("bridge"));
    nl_nest_end(&l, info);
    rc = nl_send(&l, e);
    nl_close(&l);
    return rc;
}

static int child_of_thread(int (*run)(void))
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0)
        _exit(run());
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static int sweep_test(void *ctx, struct err *e)
{
    if (make_foreign("pm00beefh", e) < 0) /* our name, but not our group */
        return -1;
    WANT(child_of_thread(leave_things_behind) == 0);
    WANT(count_tables() == 1 && reads_forwarding() == '1');
    WANT(waits_for_link_to_go("pm00deadh") && net_sweep() >= 1);
    WANT(count_tables() == 0 && reads_forwarding() == '0');
    WANT(net_sweep() == 0 && if_nametoindex("pm00beefh"));

    WANT(child_of_thread(leave_things_behind) == 0);
    WANT(net_sweep_run("00beef") == 0 && net_sweep_run("nonsense") == 0 && count_tables() == 1);
    WANT(net_sweep_run("00dead") >= 1);
    WANT(count_tables() == 0 && reads_forwarding() == '0');
    WANT(net_sweep_run("00dead") == 0);
    return 0;
}

static void sweeps_what_is_left(void **state)
{
    NEED_NETWORK();
    in_host(sweep_test);
}

/* ---- slirp4netns ---- */

static struct outside slirp_outside;

static int slirp_test(void)
{
    struct wire_pod p;
    struct net *n;
    struct err e = { 0 };
    const char *how, *why;
    int listener = wire_listen(slirp_outside.world.ns, SOCK_STREAM, 7000); /* while we may */

    if (setns(slirp_outside.host.ns, CLONE_NEWNET) < 0 || own_user_namespace() < 0)
        return 77;
    if (net_open(&(struct net_options){ .id = "00aa0c", .has_way_out = true }, &n, &e) < 0 || wire_join(n, &p, &e) < 0)
        return 2;
    how = net_way_out(n, &why);
    if (!how) {
        print_message("no way out: %s\n", why ? why : "and nothing said");
        return why && strstr(why, "run: ") ? 77 : 3;
    }
    if (strcmp(how, "by slirp4netns") != 0 || why)
        return 4;
    if (seen_by(listener, &p, &slirp_outside.world) != slirp_outside.host.address.s_addr)
        return 5;
    net_close(n);
    return 0;
}

static void others_leave_by_slirp(void **state)
{
    int rc;

    NEED_NETWORK();
    slirp_outside = make_outside();
    rc = in_child(slirp_test);
    stop();
    if (rc == 77)
        skip();
    assert_int_equal(rc, 0);
}

static int make_firewall(struct err *e)
{
    static const struct nft_hook drops = { "filter", NF_INET_FORWARD, 0, true };
    autobuf batch = { 0 };
    autonft t;

    nft_init(&t, NFPROTO_IPV4, "filter");
    nft_table(&t, NULL);
    nft_chain(&t, "FORWARD", &drops, NULL);
    nft_batch(&t, &batch);
    return nft_send(buf_view(&batch), -1, e);
}

/* A chain that drops what is forwarded, as Docker's: pods still reach each other, and leave by slirp4netns or with a
 * doubt. */
static int firewall_test(void *ctx, struct err *e)
{
    struct outside *o = ctx;
    struct wire_pod p[2];
    struct net *n;
    const char *how, *why;
    int listener;

    if (make_firewall(e) < 0)
        return -1;
    if (net_open(&(struct net_options){ .id = "00aa0d", .has_way_out = true }, &n, e) < 0 ||
        wire_join(n, &p[0], e) < 0 || wire_join(n, &p[1], e) < 0)
        return -1;
    how = net_way_out(n, &why);
    WANT(how);
    if (strcmp(how, "by slirp4netns") == 0)
        WANT(!why && seen_from(&p[0], &o->world) == o->host.address.s_addr);
    else
        WANT(why && strstr(why, "ip filter FORWARD") && strstr(why, "run: "));
    listener = wire_listen(p[1].ns, SOCK_STREAM, 7000);
    WANT(wire_tcp(p[0].ns, p[1].address, 7000) == 0);
    close(listener);
    close(p[0].ns);
    close(p[1].ns);
    net_close(n);
    return 0;
}

static void a_firewall_of_the_host(void **state)
{
    NEED_NETWORK();
    in_host(firewall_test);
}

/* ---- an ordinary user ---- */

/* -1: cannot, for this is an ordinary user already, in a user namespace. */
static int become_ordinary(void)
{
    return geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0) ? -1 : 0;
}

static int user_test(void)
{
    struct wire_pod a, b;
    struct net *n;
    struct err e = { 0 };
    int listener;

    (void)become_ordinary(); /* or a user namespace inside the one we are in */
    if (own_user_namespace() < 0)
        return 77;
    if (net_open(&(struct net_options){ .id = "00aa07" }, &n, &e) < 0)
        return 2;
    if (wire_join(n, &a, &e) < 0 || wire_join(n, &b, &e) < 0)
        return 3;
    listener = wire_listen(b.ns, SOCK_STREAM, 7000);
    if (wire_tcp(a.ns, b.address, 7000) != 0)
        return 4;
    close(listener);
    net_close(n);
    return 0;
}

static void works_for_an_ordinary_user(void **state)
{
    int rc;

    NEED_NETWORK();
    rc = in_child(user_test);
    if (rc == 77) {
        print_message("skipped: no user namespaces for ordinary users here\n");
        skip();
    }
    assert_int_equal(rc, 0);
}

static int forbidden_test(void)
{
    struct net *n;
    struct err e = { 0 };

    if (become_ordinary() < 0)
        return 77;
    if (net_open(&(struct net_options){ .id = "00aa08" }, &n, &e) == 0 || e.code != ERR_FORBIDDEN)
        return 2;
    return 0;
}

static void says_when_it_is_not_allowed(void **state)
{
    int rc;

    NEED_NETWORK();
    rc = in_child(forbidden_test);
    if (rc == 77) {
        print_message("skipped: only root can show what others may not do\n");
        skip();
    }
    assert_int_equal(rc, 0);
}

/* ---- many ---- */

static double cpu_ms(void)
{
    struct rusage u;

    (void)getrusage(RUSAGE_SELF, &u);
    return 1e3 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-3 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static double wall_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

enum { MANY = 500 };

static void five_hundred_pods(void **state)
{
    static int ns[MANY];
    static struct in_addr address[MANY];
    struct net *n;
    struct err e = { 0 };
    const char *link;
    double open, cpu, wall, left;
    int listener;

    NEED_NETWORK();
    cpu = cpu_ms();
    n = start(&(struct net_options){ .id = "00aa09" });
    open = cpu_ms() - cpu;
    for (int i = 0; i < MANY; i++) {
        NET_OK(netns_new(&ns[i], &e));
        NET_OK(net_take_address(n, false, &address[i], &e));
    }
    cpu = cpu_ms();
    wall = wall_ms();
    for (int i = 0; i < MANY; i++)
        NET_OK(net_join(n, ns[i], address[i], &link, &e));
    cpu = (cpu_ms() - cpu) / MANY;
    wall = (wall_ms() - wall) / MANY;
    listener = wire_listen(ns[MANY - 1], SOCK_STREAM, 7000);
    assert_int_equal(wire_tcp(ns[0], address[MANY - 1], 7000), 0);
    close(listener);
    left = cpu_ms();
    for (int i = 0; i < MANY; i++)
        NET_OK(net_leave(n, address[i], &e));
    left = (cpu_ms() - left) / MANY;
    for (int i = 0; i < MANY; i++)
        close(ns[i]);
    if (getenv("PUMICE_TEST_NUMBERS"))
        print_message("CPU: open %.3f ms, join %.3f ms (%.3f ms in all), leave %.3f ms\n", open, cpu, wall, left);
    assert_true(cpu < 20); /* far above what it takes; a slip to something quadratic is not */
    wall = wall_ms();
    stop();
    if (getenv("PUMICE_TEST_NUMBERS"))
        print_message("close after %d pods: %.1f ms\n", MANY, wall_ms() - wall);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_subnets),
        cmocka_unit_test(overlaps_as_routes_do),
        cmocka_unit_test(gives_every_address_once),
        cmocka_unit_test(never_gives_one_twice),
        cmocka_unit_test(addresses_come_back_late),
        cmocka_unit_test_teardown(refuses_bad_options, tear_down),
        cmocka_unit_test_teardown(pods_reach_each_other, tear_down),
        cmocka_unit_test_teardown(joins_and_leaves, tear_down),
        cmocka_unit_test_teardown(leaving_cuts_off, tear_down),
        cmocka_unit_test_teardown(links_do_not_pile_up, tear_down),
        cmocka_unit_test_teardown(numbers_are_used_again, tear_down),
        cmocka_unit_test_teardown(pods_cannot_pretend, tear_down),
        cmocka_unit_test_teardown(who_goes_on_joins, tear_down),
        cmocka_unit_test_teardown(pods_reach_the_outside, tear_down),
        cmocka_unit_test(says_why_there_is_no_way_out),
        cmocka_unit_test_teardown(sweeps_what_is_left, tear_down),
        cmocka_unit_test_teardown(others_leave_by_slirp, tear_down),
        cmocka_unit_test_teardown(a_firewall_of_the_host, tear_down),
        cmocka_unit_test(works_for_an_ordinary_user),
        cmocka_unit_test(says_when_it_is_not_allowed),
        cmocka_unit_test_teardown(five_hundred_pods, tear_down),
    };

    has_network = wire_own_network();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
