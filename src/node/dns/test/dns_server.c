/* dns_server.c - unit tests: the responder over real sockets, with a name server behind it that answers, lies or is
 * silent
 *
 * All of it happens in a network namespace of its own where that is allowed, else on high ports of the host's loopback.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/rand.h"
#include "node/dns/dns.h"
#include "node/dns/test/dns_packet.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { NOERROR = 0, SERVFAIL = 2, NXDOMAIN = 3, REFUSED = 5, SOON_MS = 3000 };

static bool has_namespace; /* of our own */
static uint16_t port, upstream_port;

/* ---- a namespace ---- */

static bool loopback_up(void)
{
    struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
    autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    return fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
}

static void enter_namespace(void)
{
    has_namespace = (unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) && loopback_up();
    port = has_namespace ? 53 : (uint16_t)(20000 + getpid() % 10000);
    upstream_port = has_namespace ? 5300 : (uint16_t)(30000 + getpid() % 10000);
}

/* ---- sockets ---- */

static struct sockaddr_in at(const char *text, uint16_t number)
{
    return (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = address(text), .sin_port = htons(number) };
}

static int open_client(int type)
{
    struct sockaddr_in server = at("127.0.0.1", port);
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&server, sizeof(server)), 0);
    return fd;
}

static bool wait_readable(int fd, int ms)
{
    struct pollfd p = { fd, POLLIN, 0 };

    return poll(&p, 1, ms) == 1;
}

static void send_question(int fd, const struct question *q)
{
    autobuf packet = { 0 };

    put_question(&packet, q);
    assert_int_equal(send(fd, packet.p, packet.n, MSG_NOSIGNAL), packet.n);
}

/* The next reply; NULL after 'ms'. */
static ldns_pkt *receive(int fd, int ms)
{
    uint8_t bytes[65535];
    ldns_pkt *pkt = NULL;
    ssize_t n;

    if (!wait_readable(fd, ms))
        return NULL;
    n = recv(fd, bytes, sizeof(bytes), 0);
    assert_true(n > 0);
    assert_int_equal(ldns_wire2pkt(&pkt, bytes, (size_t)n), LDNS_STATUS_OK);
    return pkt;
}

/* By UDP; the rcode or -1, the records in 'out'. */
static int ask(const struct question *q, int ms, struct buf *out)
{
    autoclose int fd = open_client(SOCK_DGRAM);
    ldns_pkt *pkt;
    int rcode;

    send_question(fd, q);
    pkt = receive(fd, ms);
    if (!pkt)
        return -1;
    assert_int_equal(ldns_pkt_id(pkt), q->id);
    rcode = ldns_pkt_get_rcode(pkt);
    if (out)
        print_records(out, ldns_pkt_answer(pkt), true);
    ldns_pkt_free(pkt);
    return rcode;
}

static void send_tcp(int fd, const struct question *q, size_t piece)
{
    autobuf packet = { 0 }, all = { 0 };

    put_question(&packet, q);
    put_u16(&all, (unsigned)packet.n);
    buf_str(&all, buf_view(&packet));
    for (size_t i = 0; i < all.n; i += piece)
        assert_true(send(fd, all.p + i, MIN_OF(piece, all.n - i), MSG_NOSIGNAL) > 0);
}

static bool read_all(int fd, void *p, size_t n)
{
    for (size_t got = 0; got < n;) {
        ssize_t k = wait_readable(fd, 5 * SOON_MS) ? recv(fd, (char *)p + got, n - got, 0) : -1;

        if (k <= 0)
            return false;
        got += (size_t)k;
    }
    return true;
}

static ldns_pkt *receive_tcp(int fd)
{
    uint8_t length[2], bytes[65535];
    ldns_pkt *pkt = NULL;

    if (!read_all(fd, length, 2) || !read_all(fd, bytes, (size_t)length[0] << 8 | length[1]))
        return NULL;
    assert_int_equal(ldns_wire2pkt(&pkt, bytes, (size_t)length[0] << 8 | length[1]), LDNS_STATUS_OK);
    return pkt;
}

/* ---- the name server behind ---- */

enum mode { HONEST, SILENT, LIAR };

static struct upstream {
    pthread_t thread;
    int udp, tcp, stop[2];
    atomic_int mode;
    atomic_size_t n;
    uint16_t ids[512], ports[512];
} upstream;

/* 9.9.9.9, with the question repeated. */
static size_t make_reply(uint8_t *packet, size_t n)
{
    static const uint8_t record[] = { 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 9, 9, 9, 9 };

    packet[2] |= 0x80;
    packet[3] |= 0x80;
    packet[7] = 1;
    packet[11] = 0; /* what EDNS there was is cut off */
    for (n = 12; packet[n]; n += 1 + packet[n])
        ;
    n += 5;
    memcpy(packet + n, record, sizeof(record));
    return n + sizeof(record);
}

static void tell_lies(const struct sockaddr_in *to, uint8_t *packet, size_t n)
{
    autoclose int other = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    packet[n - 1] = 6;
    (void)sendto(other, packet, n, 0, (const struct sockaddr *)to, sizeof(*to)); /* from another port */
    packet[0] ^= 1;
    (void)sendto(upstream.udp, packet, n, 0, (const struct sockaddr *)to, sizeof(*to)); /* another id */
    packet[0] ^= 1;
    packet[13] ^= 1;
    (void)sendto(upstream.udp, packet, n, 0, (const struct sockaddr *)to, sizeof(*to)); /* another question */
    packet[13] ^= 1;
    packet[2] ^= 0x80;
    (void)sendto(upstream.udp, packet, n, 0, (const struct sockaddr *)to, sizeof(*to)); /* not a reply */
    packet[2] ^= 0x80;
    (void)sendto(upstream.udp, packet, 7, 0, (const struct sockaddr *)to, sizeof(*to)); /* a piece */
    packet[n - 1] = 9;
}

static void serve_udp(void)
{
    struct sockaddr_in from = { 0 };
    socklen_t size = sizeof(from);
    uint8_t packet[2048];
    ssize_t n = recvfrom(upstream.udp, packet, sizeof(packet) - 64, 0, (struct sockaddr *)&from, &size);
    size_t i = upstream.n;

    if (n < 17)
        return;
    if (i < ARRAY_LEN(upstream.ids)) {
        upstream.ids[i] = (uint16_t)(packet[0] << 8 | packet[1]);
        upstream.ports[i] = ntohs(from.sin_port);
    }
    upstream.n++;
    if (upstream.mode == SILENT)
        return;
    n = (ssize_t)make_reply(packet, (size_t)n);
    if (upstream.mode == LIAR)
        tell_lies(&from, packet, (size_t)n);
    (void)sendto(upstream.udp, packet, (size_t)n, 0, (struct sockaddr *)&from, sizeof(from));
}

static void serve_tcp(void)
{
    autoclose int fd = accept4(upstream.tcp, NULL, NULL, SOCK_CLOEXEC);
    uint8_t packet[2048];
    size_t n;

    if (fd < 0 || !read_all(fd, packet, 2) || !read_all(fd, packet + 2, (size_t)packet[0] << 8 | packet[1]))
        return;
    n = make_reply(packet + 2, (size_t)packet[0] << 8 | packet[1]);
    packet[0] = (uint8_t)(n >> 8);
    packet[1] = (uint8_t)n;
    usleep(20 * 1000);
    for (size_t i = 0; i < n + 2; i += 5) /* late, and in pieces */
        (void)send(fd, packet + i, MIN_OF(n + 2 - i, 5), MSG_NOSIGNAL);
}

static void *upstream_run(void *ctx)
{
    struct pollfd p[] = { { upstream.stop[0], POLLIN, 0 }, { upstream.udp, POLLIN, 0 }, { upstream.tcp, POLLIN, 0 } };

    while (poll(p, ARRAY_LEN(p), -1) >= 0 && !p[0].revents) {
        if (p[1].revents)
            serve_udp();
        if (p[2].revents)
            serve_tcp();
    }
    return NULL;
}

static void upstream_start(void)
{
    struct sockaddr_in here = at("127.0.0.1", upstream_port);
    int on = 1;

    upstream.udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    upstream.tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(upstream.tcp, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    assert_int_equal(bind(upstream.udp, (struct sockaddr *)&here, sizeof(here)), 0);
    assert_int_equal(bind(upstream.tcp, (struct sockaddr *)&here, sizeof(here)), 0);
    assert_int_equal(listen(upstream.tcp, 16), 0);
    assert_int_equal(pipe2(upstream.stop, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&upstream.thread, NULL, upstream_run, NULL), 0);
}

static void upstream_stop(void)
{
    assert_int_equal(write(upstream.stop[1], "x", 1), 1);
    pthread_join(upstream.thread, NULL);
    close(upstream.udp);
    close(upstream.tcp);
    close(upstream.stop[0]);
    close(upstream.stop[1]);
}

/* ---- the server under test ---- */

static struct dns_zone *zone;
static struct dns_server *server;

static void put_service(struct dns_zone *z, const char *name, uint32_t n)
{
    struct dns_service s = { .namespace = STR("ns"), .name = str_of(name) };
    autoarena a = { 0 };

    for (uint32_t i = 0; i < n; i++)
        *vec_push(&a, &s.hosts) = (struct dns_host){ arena_fmt(&a, "p-%u", i), { htonl(0x0a000001 + i) }, true };
    dns_zone_put(z, &s);
}

static int start(bool forwards)
{
    struct dns_server_options opt = { .ns_fd = -1, .address = address("127.0.0.1"), .port = port };
    struct err e;

    if (forwards) {
        opt.forward = address("127.0.0.1");
        opt.forward_port = upstream_port;
    }
    zone = dns_zone_new("cluster.local", 1);
    put_service(zone, "one", 1);
    put_service(zone, "wide", 300);
    dns_zone_put(zone, &(struct dns_service){ STR("ns"), STR("other"), .alias = STR("www.example.com") });
    if (dns_server_start(zone, &opt, &server, &e) < 0)
        fail_msg("%s", e.text);
    return 0;
}

static int setup_plain(void **state)
{
    return start(false);
}

static int setup_forward(void **state)
{
    upstream.n = 0;
    upstream.mode = HONEST;
    upstream_start();
    return start(true);
}

static int setup_nobody(void **state)
{
    return start(true);
}

static int teardown_plain(void **state)
{
    dns_server_stop(server);
    dns_zone_free(zone);
    server = NULL;
    zone = NULL;
    return 0;
}

static int teardown_forward(void **state)
{
    teardown_plain(state);
    upstream_stop();
    return 0;
}

static const struct question one = { 7, STR_INIT("one.ns.svc.cluster.local"), T_A };
static const struct question wide = { 8, STR_INIT("wide.ns.svc.cluster.local"), T_A };
static const struct question far = { 9, STR_INIT("www.example.com"), T_A };

static const struct question alias = { 10, STR_INIT("other.ns.svc.cluster.local"), T_A };

/* ---- tests ---- */

static void test_udp(void **state)
{
    autobuf answers = { 0 };

    assert_int_equal(ask(&one, SOON_MS, &answers), NOERROR);
    assert_string_equal(answers.p, "A 10.0.0.1\n");
    assert_int_equal(ask(&(struct question){ 1, STR("x.ns.svc.cluster.local"), T_A }, SOON_MS, NULL), NXDOMAIN);
    assert_int_equal(ask(&(struct question){ 1, STR("ns.dns.cluster.local"), T_A }, SOON_MS, &answers), NOERROR);
    assert_non_null(strstr(answers.p, "A 127.0.0.1\n"));
    assert_int_equal(ask(&far, SOON_MS, NULL), REFUSED); /* there is no way out */
}

static void test_udp_junk_is_dropped(void **state)
{
    autoclose int fd = open_client(SOCK_DGRAM);

    assert_int_equal(send(fd, "", 0, 0), 0);
    assert_int_equal(send(fd, "hello", 5, 0), 5);
    assert_false(wait_readable(fd, 50));
    assert_int_equal(ask(&one, SOON_MS, NULL), NOERROR);
}

static void test_truncated_then_tcp(void **state)
{
    autoclose int udp = open_client(SOCK_DGRAM);
    autoclose int tcp = open_client(SOCK_STREAM);
    ldns_pkt *pkt;

    send_question(udp, &wide);
    pkt = receive(udp, SOON_MS);
    assert_true(pkt && ldns_pkt_tc(pkt) && ldns_pkt_ancount(pkt) < 300);
    ldns_pkt_free(pkt);
    send_tcp(tcp, &wide, 1000);
    pkt = receive_tcp(tcp);
    assert_true(pkt && !ldns_pkt_tc(pkt));
    assert_int_equal(ldns_pkt_ancount(pkt), 300);
    ldns_pkt_free(pkt);
}

/* Byte by byte; then many at once; then the end, after which the answers still come. */
static void test_tcp_pieces_and_pipelines(void **state)
{
    autoclose int fd = open_client(SOCK_STREAM);
    char rest;

    send_tcp(fd, &one, 1);
    for (uint16_t i = 0; i < 200; i++)
        send_tcp(fd, &(struct question){ i, i % 2 ? wide.name : one.name, T_A }, 1000);
    shutdown(fd, SHUT_WR);
    for (int i = -1; i < 200; i++) {
        ldns_pkt *pkt = receive_tcp(fd);

        assert_non_null(pkt);
        assert_int_equal(ldns_pkt_id(pkt), i < 0 ? one.id : i);
        ldns_pkt_free(pkt);
    }
    assert_true(wait_readable(fd, SOON_MS));
    assert_int_equal(recv(fd, &rest, 1, 0), 0);
}

/* A client that asks and asks and does not read is made to wait, and is not in the way of others. */
static void test_tcp_client_that_does_not_read(void **state)
{
    autoclose int fd = open_client(SOCK_STREAM);
    autobuf packet = { 0 }, many = { 0 };
    size_t sent = 0;

    put_question(&packet, &wide);
    for (int i = 0; i < 1000; i++) {
        put_u16(&many, (unsigned)packet.n);
        buf_str(&many, buf_view(&packet));
    }
    for (int tries = 0; tries < 500 && sent < 64u << 20; tries++) {
        ssize_t n = send(fd, many.p, many.n / (packet.n + 2) * (packet.n + 2), MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EAGAIN)
            break;
        assert_true(n > 0);
        sent += (size_t)n;
    }
    assert_int_equal(ask(&one, SOON_MS, NULL), NOERROR);
}

static void test_tcp_connections_are_limited(void **state)
{
    int fds[40];
    size_t refused = 0;

    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        fds[i] = open_client(SOCK_STREAM);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        char byte;

        if (i >= 32) /* accepted in order */
            refused += wait_readable(fds[i], SOON_MS) && recv(fds[i], &byte, 1, 0) <= 0;
    }
    assert_int_equal(refused, 8);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        close(fds[i]);
    assert_int_equal(ask(&one, SOON_MS, NULL), NOERROR);
}

static void test_forward(void **state)
{
    autobuf answers = { 0 };
    autoclose int tcp = open_client(SOCK_STREAM);
    struct question q = far;
    ldns_pkt *pkt;

    assert_int_equal(ask(&q, SOON_MS, &answers), NOERROR);
    assert_string_equal(answers.p, "A 9.9.9.9\n");
    q.udp_size = 1232;
    assert_int_equal(ask(&q, SOON_MS, NULL), NOERROR);
    buf_reset(&answers);
    assert_int_equal(ask(&alias, SOON_MS, &answers), NOERROR); /* another name for it */
    assert_string_equal(answers.p, "A 9.9.9.9\nCNAME www.example.com.\n");
    send_tcp(tcp, &far, 1000);
    send_tcp(tcp, &one, 1000);
    for (int i = 0; i < 2; i++) { /* in the order they are known */
        pkt = receive_tcp(tcp);
        assert_true(pkt && (ldns_pkt_id(pkt) == far.id || ldns_pkt_id(pkt) == one.id));
        assert_int_equal(ldns_pkt_ancount(pkt), 1);
        ldns_pkt_free(pkt);
    }
}

/* A client that has said all it has to say still waits for the answer. */
static void test_forward_after_the_end(void **state)
{
    autoclose int tcp = open_client(SOCK_STREAM);
    ldns_pkt *pkt;
    char rest;

    send_tcp(tcp, &far, 1000);
    shutdown(tcp, SHUT_WR);
    pkt = receive_tcp(tcp);
    assert_true(pkt && ldns_pkt_ancount(pkt) == 1);
    ldns_pkt_free(pkt);
    assert_true(wait_readable(tcp, SOON_MS));
    assert_int_equal(recv(tcp, &rest, 1, 0), 0);
}

static void test_forward_ignores_forged_replies(void **state)
{
    autobuf answers = { 0 };

    upstream.mode = LIAR;
    for (int i = 0; i < 20; i++)
        assert_int_equal(ask(&far, SOON_MS, &answers), NOERROR);
    assert_null(strstr(answers.p, "9.9.9.6"));
}

static size_t count_distinct(const uint16_t *v, size_t n)
{
    size_t distinct = 0;

    for (size_t i = 0; i < n; i++) {
        bool is_new = true;

        for (size_t k = 0; k < i; k++)
            is_new &= v[k] != v[i];
        distinct += is_new;
    }
    return distinct;
}

static void test_forward_is_hard_to_guess(void **state)
{
    enum { N = 100 };
    size_t same_id = 0;

    for (int i = 0; i < N; i++)
        assert_int_equal(ask(&far, SOON_MS, NULL), NOERROR);
    assert_int_equal(upstream.n, N);
    for (int i = 0; i < N; i++)
        same_id += upstream.ids[i] == far.id;
    assert_true(same_id < 3);
    assert_true(count_distinct(upstream.ids, N) > N - 5);    /* of 65536: a pair is in there 7 times of 100 */
    assert_true(count_distinct(upstream.ports, N) > N - 15); /* of about 14000 or 28000 */
}

/* 64 of one client may be on their way; the 65th is told at once. Who asks again is not passed on again. */
static void test_forward_limits_and_time_out(void **state)
{
    autoclose int fd = open_client(SOCK_DGRAM);
    int64_t begin = clock_mono_ms(&clock_real), took;
    ldns_pkt *pkt;

    upstream.mode = SILENT;
    for (uint16_t i = 0; i < DNS_FORWARDS_PER_CLIENT; i++) {
        send_question(fd, &(struct question){ i, far.name, T_A });
        send_question(fd, &(struct question){ i, far.name, T_A });
    }
    send_question(fd, &(struct question){ 1000, far.name, T_A });
    pkt = receive(fd, SOON_MS);
    assert_true(pkt && ldns_pkt_id(pkt) == 1000 && ldns_pkt_get_rcode(pkt) == LDNS_RCODE_SERVFAIL);
    ldns_pkt_free(pkt);
    assert_int_equal(ask(&one, SOON_MS, NULL), NOERROR); /* ours are answered all the while */
    for (int i = 0; i < DNS_FORWARDS_PER_CLIENT; i++) {
        pkt = receive(fd, 2 * DNS_FORWARD_MS);
        assert_true(pkt && ldns_pkt_get_rcode(pkt) == LDNS_RCODE_SERVFAIL &&
                    ldns_pkt_id(pkt) < DNS_FORWARDS_PER_CLIENT);
        ldns_pkt_free(pkt);
    }
    took = clock_mono_ms(&clock_real) - begin;
    assert_in_range(took, DNS_FORWARD_MS - 50, DNS_FORWARD_MS + 2 * SOON_MS);
    assert_int_equal(upstream.n, 2 * DNS_FORWARDS_PER_CLIENT); /* each sent once more, in case it was lost */
    assert_false(wait_readable(fd, 20));
}

static void test_forward_to_nobody_fails_at_once(void **state)
{
    autoclose int tcp = open_client(SOCK_STREAM);
    ldns_pkt *pkt;

    assert_int_equal(ask(&far, SOON_MS, NULL), SERVFAIL);
    assert_int_equal(ask(&alias, SOON_MS, NULL), SERVFAIL);
    send_tcp(tcp, &far, 1000);
    pkt = receive_tcp(tcp);
    assert_true(pkt && ldns_pkt_get_rcode(pkt) == LDNS_RCODE_SERVFAIL);
    ldns_pkt_free(pkt);
}

static void test_client_leaves_before_the_answer(void **state)
{
    upstream.mode = SILENT;
    for (int i = 0; i < 10; i++) {
        int fd = open_client(SOCK_STREAM);
        struct linger now = { 1, 0 };

        send_tcp(fd, &far, 1000);
        send_tcp(fd, &wide, 1000);
        if (i % 2)
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)); /* a reset */
        close(fd);
    }
    assert_int_equal(ask(&one, SOON_MS, NULL), NOERROR);
}

static void *change_zone(void *stop)
{
    for (uint32_t i = 0; !atomic_load((atomic_bool *)stop); i++) {
        dns_server_lock(server);
        put_service(zone, "wide", 1 + i % 20);
        if (i % 3 == 0)
            dns_zone_remove(zone, STR("ns"), STR("wide"));
        dns_server_unlock(server);
    }
    return NULL;
}

static void test_zone_changes_while_it_serves(void **state)
{
    atomic_bool stop = false;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, change_zone, &stop), 0);
    for (int i = 0; i < 300; i++) {
        int rcode = ask(&wide, SOON_MS, NULL);

        assert_true(rcode == NOERROR || rcode == NXDOMAIN);
    }
    stop = true;
    pthread_join(thread, NULL);
}

static void test_stop_with_work_in_hand(void **state)
{
    autoclose int tcp = open_client(SOCK_STREAM);
    autoclose int idle = open_client(SOCK_STREAM);
    autoclose int udp = open_client(SOCK_DGRAM);

    upstream.mode = SILENT;
    send_tcp(tcp, &far, 1000);
    send_question(udp, &far);
    for (int i = 0; i < 100 && upstream.n == 0; i++)
        usleep(1000);
    assert_true(idle >= 0); /* the teardown stops it now */
}

static void test_start_errors(void **state)
{
    struct dns_server_options opt = { .ns_fd = -1, .address = address("127.0.0.1"), .port = port };
    struct dns_server *other = NULL;
    struct dns_zone *z = dns_zone_new("cluster.local", 1);
    struct err e;

    assert_int_equal(dns_server_start(z, &opt, &other, &e), -1); /* the port is taken */
    assert_non_null(strstr(e.text, "name server: UDP port"));
    opt.address = address("192.0.2.77"); /* nobody here has that address */
    assert_int_equal(dns_server_start(z, &opt, &other, &e), -1);
    opt = (struct dns_server_options){ .ns_fd = -1, .address = address("127.0.0.3"), .forward = address("127.0.0.3") };
    assert_int_equal(dns_server_start(z, &opt, &other, &e), -1);
    assert_non_null(strstr(e.text, "to itself"));
    opt = (struct dns_server_options){ .ns_fd = upstream.stop[0], .address = address("127.0.0.1") }; /* no namespace */
    assert_int_equal(dns_server_start(z, &opt, &other, &e), -1);
    assert_null(other);
    dns_server_stop(NULL);
    dns_zone_free(z);
}

/* ---- a namespace of the pods ---- */

struct inside {
    int fd;         /* in: of the namespace, -1: make one */
    int rcode, far; /* out */
    struct buf answers;
};

static void *make_namespace(void *ctx)
{
    struct inside *in = ctx;

    if (unshare(CLONE_NEWNET) == 0 && loopback_up())
        in->fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    return NULL;
}

static void *ask_inside(void *ctx)
{
    struct inside *in = ctx;

    if (setns(in->fd, CLONE_NEWNET) == 0) {
        in->rcode = ask(&one, SOON_MS, &in->answers);
        in->far = ask(&far, SOON_MS, NULL);
    }
    return NULL;
}

/* It serves inside; what it passes on leaves from here, where the name server behind is. */
static void test_namespace(void **state)
{
    struct dns_server_options opt = {
        .address = address("127.0.0.1"), .port = port, .forward = address("127.0.0.1"), .forward_port = upstream_port
    };
    struct inside in = { .fd = -1, .rcode = -1, .far = -1 };
    struct dns_server *other;
    pthread_t thread;
    struct err e;

    if (!has_namespace) {
        print_message("no network namespaces for this user: skipped\n");
        skip();
    }
    pthread_create(&thread, NULL, make_namespace, &in);
    pthread_join(thread, NULL);
    assert_true(in.fd >= 0);
    opt.ns_fd = in.fd;
    if (dns_server_start(zone, &opt, &other, &e) < 0) /* the same port: it is another loopback */
        fail_msg("%s", e.text);
    pthread_create(&thread, NULL, ask_inside, &in);
    pthread_join(thread, NULL);
    dns_server_stop(other);
    close(in.fd);
    assert_int_equal(in.rcode, NOERROR);
    assert_string_equal(in.answers.p, "A 10.0.0.1\n");
    assert_int_equal(in.far, NOERROR);
    buf_done(&in.answers);
}

/* ---- dig ---- another's opinion of our packets */

static void run_dig(const char *const *words, struct buf *out)
{
    char number[8];
    char *argv[16] = { "dig", "@127.0.0.1", "-p", number, "+tries=1", "+time=2", "+noall" };
    size_t n = 7;
    posix_spawn_file_actions_t actions;
    int fds[2], status;
    char bytes[4096];
    pid_t pid;

    snprintf(number, sizeof(number), "%u", port);
    while (*words && n < ARRAY_LEN(argv) - 1)
        argv[n++] = (char *)*words++;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
    posix_spawn_file_actions_adddup2(&actions, fds[1], 2);
    assert_int_equal(posix_spawnp(&pid, "dig", &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    for (ssize_t got; (got = read(fds[0], bytes, sizeof(bytes))) > 0;)
        buf_append(out, bytes, (size_t)got);
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_dig(void **state)
{
    static const struct {
        const char *words[6];
        const char *want[4];
    } rows[] = {
        { { "+short", "one.ns.svc.cluster.local" }, { "10.0.0.1\n" } },
        { { "+comments", "+answer", "ONE.ns.svc.cluster.local" },
          { "status: NOERROR", "flags: qr aa rd ra;", "ONE.ns.svc.cluster.local. 5\tIN\tA\t10.0.0.1", "udp: 1232" } },
        { { "+comments", "+authority", "www.example.com.ns.svc.cluster.local" },
          { "status: NXDOMAIN", "cluster.local.\t\t1\tIN\tSOA\tns.dns.cluster.local. hostmaster.cluster.local." } },
        { { "+comments", "+ignore", "wide.ns.svc.cluster.local" }, { "flags: qr aa tc rd ra;" } },
        { { "+comments", "wide.ns.svc.cluster.local" }, { "Truncated, retrying in TCP", "ANSWER: 300" } },
        { { "+comments", "+tcp", "+noedns", "wide.ns.svc.cluster.local" }, { "ANSWER: 300", "ADDITIONAL: 0" } },
        { { "+comments", "+edns=5", "+noednsneg", "one.ns.svc.cluster.local" }, { "status: BADVERS" } },
        { { "+comments", "+cookie", "+dnssec", "one.ns.svc.cluster.local", "AAAA" },
          { "status: NOERROR", "flags: do;", "ANSWER: 0" } },
        { { "+short", "-x", "10.0.0.1" }, { "p-0.wide.ns.svc.cluster.local.\n", "p-0.one.ns.svc.cluster.local.\n" } },
        { { "+short", "www.example.com" }, { "9.9.9.9\n" } },
    };

    static const char *const complaints[] = { "malformed", "extra bytes", "recursion requested", "mismatch" };

    if (access("/usr/bin/dig", X_OK) < 0) {
        print_message("no dig (bind9-dnsutils): skipped\n");
        skip();
    }
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autobuf out = { 0 };

        run_dig(rows[i].words, &out);
        for (size_t k = 0; k < ARRAY_LEN(rows[i].want) && rows[i].want[k]; k++)
            if (!out.p || !strstr(out.p, rows[i].want[k]))
                fail_msg("dig row %zu: no \"%s\" in:\n%s", i, rows[i].want[k], out.p ? out.p : "");
        for (size_t k = 0; k < ARRAY_LEN(complaints); k++)
            if (out.p && strcasestr(out.p, complaints[k]))
                fail_msg("dig row %zu:\n%s", i, out.p);
    }
}

#define PLAIN(test)   cmocka_unit_test_setup_teardown(test, setup_plain, teardown_plain)
#define FORWARD(test) cmocka_unit_test_setup_teardown(test, setup_forward, teardown_forward)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAIN(test_udp),
        PLAIN(test_udp_junk_is_dropped),
        PLAIN(test_truncated_then_tcp),
        PLAIN(test_tcp_pieces_and_pipelines),
        PLAIN(test_tcp_client_that_does_not_read),
        PLAIN(test_tcp_connections_are_limited),
        PLAIN(test_zone_changes_while_it_serves),
        FORWARD(test_forward),
        FORWARD(test_forward_after_the_end),
        FORWARD(test_forward_ignores_forged_replies),
        FORWARD(test_forward_is_hard_to_guess),
        FORWARD(test_forward_limits_and_time_out),
        cmocka_unit_test_setup_teardown(test_forward_to_nobody_fails_at_once, setup_nobody, teardown_plain),
        FORWARD(test_client_leaves_before_the_answer),
        FORWARD(test_stop_with_work_in_hand),
        FORWARD(test_start_errors),
        FORWARD(test_namespace),
        FORWARD(test_dig),
    };

    enter_namespace();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
