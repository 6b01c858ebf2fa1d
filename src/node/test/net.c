/* net.c - tests of the pods' network, with real links in namespaces of the test's own */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/net.h"

#include "base/rand.h"
#include "node/subnet.h"
#include "node/test/wire.h"

#include <net/if.h>
#include <sys/resource.h>
#include <sys/wait.h>

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

static size_t count_links(void)
{
    struct if_nameindex *list = if_nameindex();
    size_t n = 0;

    assert_non_null(list);
    while (list[n].if_index)
        n++;
    if_freenameindex(list);
    return n;
}

/* Run in a child; the value it returns. */
static int in_child(int (*run)(void))
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(run());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
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
        for (uint32_t k = 2; k < n - 1; k++) {
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
            assert_true(k >= 2 && k < 127 && !taken[k]);
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
        { .id = "123456", .is_private = true, .subnet = "10.0.0.0/4" },
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

static void pods_reach_each_other(bool is_private)
{
    struct net *n = start(&(struct net_options){ .id = "00aa01", .subnet = "10.88.0.0/16", .is_private = is_private });
    struct wire_pod *a = add_pod(n), *b = add_pod(n), here = { .ns = net_ns_fd(n), .address = net_gateway(n) };
    struct wire_pod self = { .ns = a->ns, .address = { htonl(INADDR_LOOPBACK) } };

    assert_int_equal(net_ns_fd(n) >= 0, is_private);
    assert_string_equal(net_bridge(n), "pm00aa01-br");
    assert_int_equal(net_prefix(n), 16);
    assert_string_equal(inet_ntoa(net_gateway(n)), "10.88.0.1");
    assert_string_equal(inet_ntoa(a->address), "10.88.0.2");
    assert_string_equal(b->link, "pm00aa01v3");
    assert_reach(a, b);
    assert_reach(b, a);
    assert_reach(a, &here); /* DNS, for one */
    assert_reach(&here, a); /* probes */
    assert_reach(a, a);
    assert_reach(a, &self);
}

static void pods_reach_each_other_in_private(void **state)
{
    size_t before = has_network ? count_links() : 0;

    NEED_NETWORK();
    pods_reach_each_other(true);
    assert_int_equal(count_links(), before); /* nothing of it is seen here */
    stop();
}

static void pods_reach_each_other_on_the_host(void **state)
{
    size_t before = has_network ? count_links() : 0;

    NEED_NETWORK();
    pods_reach_each_other(false);
    assert_int_equal(count_links(), before + 3);
    assert_true(if_nametoindex("pm00aa01v2") > 0);
    stop();
    assert_int_equal(count_links(), before);
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
    assert_int_equal(e.code, ERR_EXISTS); /* it has an eth0 */
    assert_int_equal(count_links(), 3);   /* lo, bridge, one veth: what failed left nothing */
    assert_int_equal(net_leave(n, (struct in_addr){ htonl(0x01020304) }, &e), 0);
    assert_int_equal(net_leave(n, a->address, &e), 0);
    assert_int_equal(net_leave(n, a->address, &e), 0);
    NET_OK(net_join(n, a->ns, a->address, &link, &e)); /* and again, into the same namespace */
    assert_int_equal(count_links(), 3);
    NET_OK(net_leave(n, a->address, &e));
    NET_OK(netns_new(&other, &e));
    NET_OK(net_join(n, other, a->address, &link, &e));
    close(other); /* the kernel removes the link by and by */
    NET_OK(net_leave(n, a->address, &e));
    assert_int_equal(net_join(n, -1, a->address, &link, &e), -1);
    stop();
    assert_int_equal(count_links(), 1);
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
    n = start(&(struct net_options){ .id = "00aa0a", .is_private = true });
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
    struct wire_pod p[100];

    NEED_NETWORK();
    n = start(&(struct net_options){ .id = "00aa0b" });
    for (size_t i = 0; i < ARRAY_LEN(p); i++) {
        NET_OK(wire_join(n, &p[i], &e));
        NET_OK(net_leave(n, p[i].address, &e));
    }
    assert_true(count_links() < 80);
    stop();
    assert_int_equal(count_links(), 1);
    for (size_t i = 0; i < ARRAY_LEN(p); i++)
        close(p[i].ns);
}

static void one_id_once(void **state)
{
    struct net *n;
    struct err e = { 0 };

    NEED_NETWORK();
    start(&(struct net_options){ .id = "00aa03" });
    assert_int_equal(net_open(&(struct net_options){ .id = "00aa03" }, &n, &e), -1);
    assert_int_equal(e.code, ERR_EXISTS);
    assert_true(if_nametoindex("pm00aa03-br") > 0); /* the first one's is still there */
    stop();
}

static void chooses_a_free_subnet(void **state)
{
    struct net *first, *second;
    struct err e = { 0 };

    NEED_NETWORK();
    first = start(&(struct net_options){ .id = "00aa04" });
    NET_OK(net_open(&(struct net_options){ .id = "00aa05" }, &second, &e));
    assert_int_not_equal(net_gateway(first).s_addr, net_gateway(second).s_addr);
    net_close(second);
    stop();
}

/* A pod that pretends to be another reaches nobody. */
static void pods_cannot_pretend(void **state)
{
    struct net *n;
    struct wire_pod *a, *b, *c;
    int listener;

    NEED_NETWORK();
    n = start(&(struct net_options){ .id = "00aa06", .is_private = true });
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

/* ---- what a killed program left ---- */

static int leave_things_behind(void)
{
    struct net *n;
    struct wire_pod p;

    if (net_open(&(struct net_options){ .id = "00dead" }, &n, NULL) < 0 || wire_join(n, &p, NULL) < 0)
        return 1;
    return 0;
}

static bool knows(void *ctx, const char *id)
{
    return strcmp(id, ctx) == 0;
}

static void make_foreign(const char *name)
{
    struct ifinfomsg head = { .ifi_family = AF_UNSPEC };
    struct nl l;
    struct nlattr *info;

    assert_int_equal(nl_open(&l, NULL), 0);
    nl_begin(&l, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, "make", &head, sizeof(head));
    nl_put_text(&l, IFLA_IFNAME, name);
    info = nl_nest(&l, IFLA_LINKINFO);
    nl_put(&l, IFLA_INFO_KIND, "bridge", strlen("bridge"));
    nl_nest_end(&l, info);
    assert_int_equal(nl_send(&l, NULL), 0);
    nl_close(&l);
}

static int sweep_test(void)
{
    if (unshare(CLONE_NEWNET) < 0)
        return 1;
    make_foreign("pm00dead-bx");
    make_foreign("pm00beef-br"); /* our name, but not our group */
    if (in_child(leave_things_behind) != 0 || if_nametoindex("pm00dead-br") == 0)
        return 2;
    if (net_sweep(knows, (void *)"00dead") != 0 || if_nametoindex("pm00dead-br") == 0)
        return 3;
    if (net_sweep(knows, (void *)"000000") < 1 || if_nametoindex("pm00dead-br") || if_nametoindex("pm00deadv2"))
        return 4;
    if (net_sweep(knows, (void *)"000000") != 0 || !if_nametoindex("pm00dead-bx") || !if_nametoindex("pm00beef-br"))
        return 5;
    return 0;
}

static void sweeps_what_is_left(void **state)
{
    NEED_NETWORK();
    assert_int_equal(in_child(sweep_test), 0);
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
    if (wire_user_ns() < 0)
        return 77;
    if (net_open(&(struct net_options){ .id = "00aa07" }, &n, &e) < 0 ||
        net_ns_fd(n) < 0) /* private without being asked */
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
    if (net_open(&(struct net_options){ .id = "00aa08", .is_private = true }, &n, &e) == 0 || e.code != ERR_FORBIDDEN)
        return 3;
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
    double cpu, wall, left;
    int listener;

    NEED_NETWORK();
    n = start(&(struct net_options){ .id = "00aa09", .is_private = true });
    for (int i = 0; i < MANY; i++) {
        NET_OK(netns_new(&ns[i], &e));
        NET_OK(net_take_address(n, &address[i], &e));
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
    left = wall_ms();
    for (int i = 0; i < 10; i++)
        NET_OK(net_leave(n, address[i], &e));
    left = (wall_ms() - left) / 10;
    for (int i = 0; i < MANY; i++)
        close(ns[i]);
    if (getenv("PUMICE_TEST_NUMBERS"))
        print_message("join: %.3f ms of CPU, %.3f ms in all; leave: %.3f ms\n", cpu, wall, left);
    assert_true(cpu < 20); /* far above what it takes; a slip to something quadratic is not */
    wall = wall_ms();
    stop();
    if (getenv("PUMICE_TEST_NUMBERS"))
        print_message("close with %d pods: %.1f ms\n", MANY - 10, wall_ms() - wall);
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
        cmocka_unit_test_teardown(pods_reach_each_other_in_private, tear_down),
        cmocka_unit_test_teardown(pods_reach_each_other_on_the_host, tear_down),
        cmocka_unit_test_teardown(joins_and_leaves, tear_down),
        cmocka_unit_test_teardown(leaving_cuts_off, tear_down),
        cmocka_unit_test_teardown(links_do_not_pile_up, tear_down),
        cmocka_unit_test_teardown(one_id_once, tear_down),
        cmocka_unit_test_teardown(chooses_a_free_subnet, tear_down),
        cmocka_unit_test_teardown(pods_cannot_pretend, tear_down),
        cmocka_unit_test(sweeps_what_is_left),
        cmocka_unit_test(works_for_an_ordinary_user),
        cmocka_unit_test(says_when_it_is_not_allowed),
        cmocka_unit_test_teardown(five_hundred_pods, tear_down),
    };

    has_network = wire_own_network();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
