/* filter.c - tests of NetworkPolicy and Services: the batch, what nft says the kernel has, and what real packets do */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/filter/filter.h"

#include "base/rand.h"
#include "node/net/test/wire.h"
#include "os/nft.h"
#include "os/proc.h"
#include "yaml/yaml.h"

#include <net/if.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) < 0)                                                                                                \
            fail_msg("%s: %s", #call, e.text);                                                                         \
    } while (0)

/* ---- input ---- */

static struct yaml_docs read_yaml(struct arena *a, const char *text)
{
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };

    if (yaml_parse(a, str_of(text), NULL, &docs, &e) < 0)
        fail_msg("%s in\n%s", e.text, text);
    return docs;
}

static void add_policies(struct arena *a, struct filter_input *in, const char *yaml)
{
    struct yaml_docs docs = read_yaml(a, yaml);

    VEC_FOREACH(d, &docs)
        if (json_is(*d, JSON_OBJECT))
            *vec_push(a, &in->policies) = *d;
}

/* The five pods of all tests; each listens at the ports below. */
enum { A, B, C, D, E, POD_MAX };
static const struct {
    const char *namespace, *labels, *ports;
} cast[POD_MAX] = {
    [A] = { "default", "{app: a, job: x, \"volcano.sh/job-name\": j, \"volcano.sh/job-namespace\": default}",
            "[{name: http, containerPort: 8080}, {containerPort: 9000}, {name: http, containerPort: 9000, protocol: "
            "UDP}]" },
    [B] = { "default", "{app: b, job: x, \"volcano.sh/job-name\": j, \"volcano.sh/job-namespace\": default}",
            "[{name: http, containerPort: 8081}]" },
    [C] = { "default", "{app: c}", NULL },
    [D] = { "other", "{app: a, team: red}", "[{name: http, containerPort: 8081}]" },
    [E] = { "third", NULL, NULL },
};
static const unsigned tcp_ports[] = { 8080, 8081, 9000, 53 }, udp_ports[] = { 8080, 9000, 53 };

static const char namespaces_yaml[] = "{kind: Namespace, metadata: {name: other, labels: {env: prod}}}\n"
                                      "---\n"
                                      "{kind: Namespace, metadata: {name: default, labels: null}}\n"
                                      "---\n"
                                      "{kind: Namespace, metadata: {name: empty, labels: {env: prod}}}\n";

static struct json *yaml_value(struct arena *a, const char *text)
{
    return text ? read_yaml(a, text).v[0] : NULL;
}

static void add_cast(struct arena *a, struct filter_input *in, uint32_t first)
{
    struct yaml_docs docs = read_yaml(a, namespaces_yaml);

    VEC_FOREACH(d, &docs)
        *vec_push(a, &in->namespaces) = *d;
    for (int i = 0; i < POD_MAX; i++)
        *vec_push(a, &in->pods) = (struct filter_pod){ .namespace = str_of(cast[i].namespace),
                                                       .name = arena_fmt(a, "%c", 'a' + i),
                                                       .labels = yaml_value(a, cast[i].labels),
                                                       .address = { htonl(first + (uint32_t)i) },
                                                       .ports = yaml_value(a, cast[i].ports) };
}

static struct filter_service *add_service(struct arena *a, struct filter_input *in, uint32_t address, unsigned port,
                                          char protocol)
{
    struct filter_service *s = vec_push(a, &in->services);

    *s = (struct filter_service){ .namespace = STR("default"),
                                  .name = arena_fmt(a, "s%u", port),
                                  .address = { htonl(address) },
                                  .port = (uint16_t)port,
                                  .protocol = protocol };
    return s;
}

static void add_endpoint(struct arena *a, struct filter_service *s, struct in_addr address, unsigned port)
{
    *vec_push(a, &s->endpoints) = (struct filter_endpoint){ address, (uint16_t)port };
}

/* ---- the batch ---- */

enum { FIRST = 0x0a580002, SERVICE = 0x0a600001 };

static struct filter_input plain_input(void)
{
    return (struct filter_input){ .id = "0123ab", .bridge = "pm0123ab-br", .gateway = { htonl(0x0a580001) } };
}

static const char golden_yaml[] = "kind: NetworkPolicy\n"
                                  "metadata: {name: web, namespace: default}\n"
                                  "spec:\n"
                                  "  podSelector: {matchLabels: {job: x}}\n"
                                  "  ingress:\n"
                                  "  - from:\n"
                                  "    - podSelector: {matchLabels: {app: c}}\n"
                                  "    - namespaceSelector: {matchLabels: {env: prod}}\n"
                                  "    - ipBlock: {cidr: 192.168.0.0/16, except: [192.168.4.0/24]}\n"
                                  "    ports:\n"
                                  "    - {port: 80}\n"
                                  "    - {port: 8000, endPort: 8010}\n"
                                  "    - {port: http}\n"
                                  "    - {protocol: UDP}\n"
                                  "  egress:\n"
                                  "  - {}\n"
                                  "---\n"
                                  "metadata: {name: all, namespace: default}\n"
                                  "spec: {podSelector: {}, policyTypes: [Ingress]}\n"
                                  "---\n"
                                  "metadata: {name: nobody-here, namespace: empty}\n"
                                  "spec: {podSelector: {}}\n";

static struct filter_input golden_input(struct arena *a)
{
    struct filter_input in = plain_input();
    struct filter_service *s;

    add_cast(a, &in, FIRST);
    add_policies(a, &in, golden_yaml);
    s = add_service(a, &in, SERVICE, 80, 'T');
    add_endpoint(a, s, in.pods.v[B].address, 8081);
    add_endpoint(a, s, in.pods.v[A].address, 8080);
    s = add_service(a, &in, SERVICE, 53, 'U');
    add_endpoint(a, s, in.pods.v[A].address, 5353);
    add_endpoint(a, s, (struct in_addr){ 0 }, 5353); /* no address yet */
    add_service(a, &in, SERVICE + 1, 80, 'T');
    return in;
}

#define SHUFFLE(r, vec)                                                                                                \
    for (size_t i_ = (vec).n; i_ > 1; i_--) {                                                                          \
        size_t k_ = rand_below((r), i_);                                                                               \
        __typeof__(*(vec).v) t_ = (vec).v[k_];                                                                         \
        (vec).v[k_] = (vec).v[i_ - 1];                                                                                 \
        (vec).v[i_ - 1] = t_;                                                                                          \
    }

static void batch_has_one_order(void **state)
{
    autoarena first = { 0 };
    autobuf golden = { 0 };
    struct filter_input as_it_is = golden_input(&first);
    struct rand r;

    filter_batch(&first, &as_it_is, &golden);
    rand_seed(&r, 9);
    for (int i = 0; i < 50; i++) {
        autoarena a = { 0 };
        autobuf out = { 0 };
        struct filter_input in = golden_input(&a);
        struct filter_service again;
        struct filter_pod twin;

        SHUFFLE(&r, in.pods);
        SHUFFLE(&r, in.policies);
        SHUFFLE(&r, in.namespaces);
        SHUFFLE(&r, in.services);
        again = in.services.v[0];
        twin = (struct filter_pod){ .namespace = STR("zz"), .name = STR("z"), .address = in.pods.v[0].address };
        *vec_push(&a, &in.pods) = twin; /* an address twice: the first by name counts */
        *vec_push(&a, &in.pods) = (struct filter_pod){ .name = STR("no-address") };
        *vec_push(&a, &in.services) = again;
        filter_batch(&a, &in, &out);
        assert_true(str_eq(buf_view(&out), buf_view(&golden)));
    }
}

static void names_cannot_break_out(void **state)
{
    struct filter_input in = plain_input();
    autoarena a = { 0 };
    autobuf out = { 0 };
    struct filter_service *s;

    add_cast(&a, &in, FIRST);
    add_policies(&a, &in,
                 "{metadata: {namespace: default, name: \"x\\n}\\nflush ruleset\\n#\"}, spec: {podSelector: {}, "
                 "ingress: [{ports: [{port: \"a\\n} drop\"}]}]}}");
    s = add_service(&a, &in, SERVICE, 80, 'T');
    s->name = STR("a\nb\"}");
    add_endpoint(&a, s, in.pods.v[A].address, 1);
    filter_batch(&a, &in, &out);
    assert_true(str_has(buf_view(&out), STR("default/x???flush?ruleset??")));
    assert_true(str_has(buf_view(&out), STR("default/a?b??")));
    assert_false(str_has(buf_view(&out), STR("flush ruleset")));
}

/* ---- a network ---- */

static bool has_network, has_nftables;

static int apply_to(struct arena *a, const struct filter_input *in, int ns_fd, struct err *e)
{
    autobuf batch = { 0 };

    filter_batch(a, in, &batch);
    return nft_send(buf_view(&batch), ns_fd, e);
}

/* Whatever JSON a policy is made of, a batch comes out that the kernel takes. */
static struct json *random_json(struct arena *a, struct rand *r, int depth)
{
    static const char *const keys[] = { "metadata",
                                        "namespace",
                                        "name",
                                        "spec",
                                        "podSelector",
                                        "policyTypes",
                                        "ingress",
                                        "egress",
                                        "from",
                                        "to",
                                        "ports",
                                        "port",
                                        "endPort",
                                        "protocol",
                                        "ipBlock",
                                        "cidr",
                                        "except",
                                        "namespaceSelector",
                                        "matchLabels",
                                        "matchExpressions",
                                        "key",
                                        "operator",
                                        "values",
                                        "app",
                                        "x" };
    static const char *const texts[] = { "",     "default",    "a",         "Ingress",    "Egress", "TCP", "UDP",
                                         "http", "10.0.0.0/8", "0.0.0.0/0", "1.2.3.4/33", "::/0",   "In",  "Exists" };
    struct json *j;

    switch (rand_below(r, depth > 0 ? 7 : 4)) {
    case 0:
        return json_str(a, str_of(texts[rand_below(r, ARRAY_LEN(texts))]));
    case 1:
        return json_int(a, rand_between(r, -1, 70000));
    case 2:
        return rand_chance(r, 1, 2) ? json_null(a) : json_bool_new(a, true);
    case 3:
        return json_fmt(a, "%lld", (long long)rand_u64(r));
    case 4:
        j = json_array(a);
        for (uint64_t n = rand_below(r, 4); n; n--)
            json_push(j, random_json(a, r, depth - 1));
        return j;
    default:
        j = json_object(a);
        for (uint64_t n = rand_below(r, 6); n; n--)
            json_set(j, keys[rand_below(r, ARRAY_LEN(keys))], random_json(a, r, depth - 1));
        return j;
    }
}

static void any_json_is_survived(void **state)
{
    struct rand r;
    struct err e;

    rand_seed(&r, 11);
    for (int i = 0; i < 3000; i++) {
        struct filter_input in = plain_input();
        autoarena a = { 0 };
        autobuf out = { 0 };

        add_cast(&a, &in, FIRST);
        for (int k = 0; k < 3; k++) {
            struct json *policy = json_object(&a);

            json_set(policy, "spec", random_json(&a, &r, 6));
            *vec_push(&a, &in.policies) = rand_chance(&r, 1, 2) ? policy : random_json(&a, &r, 7);
            *vec_push(&a, &in.namespaces) = random_json(&a, &r, 3);
        }
        in.pods.v[A].labels = random_json(&a, &r, 2);
        in.pods.v[B].ports = random_json(&a, &r, 3);
        filter_batch(&a, &in, &out);
        assert_true(out.n > 1000);
        if (has_nftables && i % 100 == 0)
            OK(nft_send(buf_view(&out), -1, &e));
    }
}

/* ---- what nft says the kernel has ---- */

/* Words with single blanks between: versions of nft break lines in different ways. */
static void normalize(struct str text, struct buf *out)
{
    bool is_blank = true;

    for (size_t i = 0; i < text.n; i++) {
        bool is = text.p[i] == ' ' || text.p[i] == '\t' || text.p[i] == '\n';

        if (!is && is_blank && out->n)
            buf_char(out, ' ');
        if (!is)
            buf_char(out, text.p[i]);
        is_blank = is;
    }
}

static const char golden_list[] =
    "table inet pumice_0123ab_a {\n"
    "\tset service_addresses {\n"
    "\t\ttype ipv4_addr\n"
    "\t\telements = { 10.96.0.1, 10.96.0.2 }\n"
    "\t}\n"
    "\tmap service_of {\n"
    "\t\ttype ipv4_addr . inet_proto . inet_service : verdict\n"
    "\t\telements = { 10.96.0.1 . 17 . 53 : goto service_2, 10.96.0.1 . 6 . 80 : goto service_1 }\n"
    "\t}\n"
    "\tset itself {\n"
    "\t\ttype ipv4_addr . ipv4_addr\n"
    "\t\telements = { 10.88.0.2 . 10.88.0.2, 10.88.0.3 . 10.88.0.3 }\n"
    "\t}\n"
    "\tset peers_1 {\n"
    "\t\ttype ipv4_addr\n"
    "\t\tflags interval\n"
    "\t\telements = { 10.88.0.4/31, 192.168.0.0/22, 192.168.5.0-192.168.255.255 }\n"
    "\t}\n"
    "\tset port_1 {\n"
    "\t\ttype ipv4_addr . inet_proto . inet_service\n"
    "\t\telements = { 10.88.0.2 . 6 . 8080, 10.88.0.3 . 6 . 8081, 10.88.0.5 . 6 . 8081 }\n"
    "\t}\n"
    "\tmap ingress_of {\n"
    "\t\ttype ipv4_addr : verdict\n"
    "\t\telements = { 10.88.0.2 : goto ingress_1, 10.88.0.3 : goto ingress_1, 10.88.0.4 : goto ingress_2 }\n"
    "\t}\n"
    "\tmap egress_of {\n"
    "\t\ttype ipv4_addr : verdict\n"
    "\t\telements = { 10.88.0.2 : goto egress_1, 10.88.0.3 : goto egress_1 }\n"
    "\t}\n"
    "\tchain service_1 {\n"
    "\t\tcomment \"default/s80\"\n"
    "\t\tmeta l4proto 6 dnat ip to numgen random mod 2 map { 0 : 10.88.0.2 . 8080, 1 : 10.88.0.3 . 8081 }\n"
    "\t}\n"
    "\tchain service_2 {\n"
    "\t\tcomment \"default/s53\"\n"
    "\t\tmeta l4proto 17 dnat ip to 10.88.0.2:5353\n"
    "\t}\n"
    "\tchain services_prerouting {\n"
    "\t\ttype nat hook prerouting priority -100; policy accept;\n"
    "\t\tip daddr . meta l4proto . th dport vmap @service_of\n"
    "\t}\n"
    "\tchain nowhere_prerouting {\n"
    "\t\ttype filter hook prerouting priority -90; policy accept;\n"
    "\t\tip daddr @service_addresses goto nowhere\n"
    "\t}\n"
    "\tchain services_output {\n"
    "\t\ttype nat hook output priority -100; policy accept;\n"
    "\t\tip daddr . meta l4proto . th dport vmap @service_of\n"
    "\t}\n"
    "\tchain nowhere_output {\n"
    "\t\ttype filter hook output priority -90; policy accept;\n"
    "\t\tip daddr @service_addresses goto nowhere\n"
    "\t}\n"
    "\tchain nowhere {\n"
    "\t\tmeta l4proto 6 reject with tcp reset\n"
    "\t\treject\n"
    "\t}\n"
    "\tchain itself {\n"
    "\t\ttype nat hook postrouting priority 100; policy accept;\n"
    "\t\tip saddr . ip daddr @itself snat ip to 10.88.0.1\n"
    "\t}\n"
    "\tchain policy_1_ingress {\n"
    "\t\tcomment \"default/all\"\n"
    "\t}\n"
    "\tchain policy_2_ingress {\n"
    "\t\tcomment \"default/web\"\n"
    "\t\tip saddr @peers_1 tcp dport { 80, 8000-8010 } accept\n"
    "\t\tip saddr @peers_1 meta l4proto 17 accept\n"
    "\t\tip saddr @peers_1 ip daddr . meta l4proto . th dport @port_1 accept\n"
    "\t}\n"
    "\tchain policy_2_egress {\n"
    "\t\tcomment \"default/web\"\n"
    "\t\tgoto ingress\n"
    "\t}\n"
    "\tchain ingress_1 {\n"
    "\t\tjump policy_1_ingress\n"
    "\t\tjump policy_2_ingress\n"
    "\t\tgoto refuse\n"
    "\t}\n"
    "\tchain ingress_2 {\n"
    "\t\tjump policy_1_ingress\n"
    "\t\tgoto refuse\n"
    "\t}\n"
    "\tchain egress_1 {\n"
    "\t\tjump policy_2_egress\n"
    "\t\tgoto refuse\n"
    "\t}\n"
    "\tchain forward {\n"
    "\t\ttype filter hook forward priority 0; policy accept;\n"
    "\t\toifname \"pm0123ab-br\" goto gone\n"
    "\t\tct state 0x2,0x4 accept\n"
    "\t\tip saddr . ip daddr @itself accept\n"
    "\t\tip saddr vmap @egress_of\n"
    "\t\tgoto ingress\n"
    "\t}\n"
    "\tchain ingress {\n"
    "\t\tip daddr vmap @ingress_of\n"
    "\t\taccept\n"
    "\t}\n"
    "\tchain input {\n"
    "\t\ttype filter hook input priority 0; policy accept;\n"
    "\t\tip daddr 10.88.0.1 udp dport 53 ip saddr vmap @egress_of\n"
    "\t\tip daddr 10.88.0.1 tcp dport 53 ip saddr vmap @egress_of\n"
    "\t}\n"
    "\tchain gone {\n"
    "\t\tmeta l4proto 6 reject with tcp reset\n"
    "\t\treject with icmpx 2\n"
    "\t}\n"
    "\tchain refuse {\n"
    "\t\tmeta l4proto 6 reject with tcp reset\n"
    "\t\treject with icmpx 3\n"
    "\t}\n"
    "\tchain translated {\n"
    "\t\ttype nat hook postrouting priority 100; policy accept;\n"
    "\t}\n"
    "}\n";

static void nft_shows_what_was_meant(void **state)
{
    const char *const argv[] = { "nft", "-n", "list", "table", "inet", "pumice_0123ab_a", NULL };
    autoarena a = { 0 };
    autobuf said = { 0 }, got = { 0 }, want = { 0 };
    struct filter_input in = golden_input(&a);
    char nft[256];
    struct err e;

    if (!has_nftables || !proc_find("nft", nft, sizeof(nft))) {
        print_message("skipped: there is no nft\n");
        skip();
    }
    OK(apply_to(&a, &in, -1, &e));
    assert_int_equal(proc_run(nft, argv, &said, &e), 0);
    normalize(buf_view(&said), &got);
    normalize(str_of(golden_list), &want);
    for (size_t i = 0; i < want.n; i++) /* all of it is too long for cmocka */
        if (i >= got.n || got.p[i] != want.p[i])
            fail_msg("\"%.60s…\" instead of \"%.60s…\"", got.p + MIN_OF(i, got.n), want.p + i);
    assert_int_equal(got.n, want.n);
}

/* ---- the pods ---- */

struct stage { /* the pods for real */
    struct net *net;
    struct wire_pod pods[POD_MAX];
    int tcp[POD_MAX + 1][ARRAY_LEN(tcp_ports)],
        udp[POD_MAX + 1][ARRAY_LEN(udp_ports)]; /* the last: the machine itself */
    bool is_second;
};
static struct stage stage;

static int listen_all(int who, int ns)
{
    for (size_t k = 0; k < ARRAY_LEN(tcp_ports); k++)
        if ((stage.tcp[who][k] = wire_listen(ns, SOCK_STREAM, tcp_ports[k])) < 0)
            return -1;
    for (size_t k = 0; k < ARRAY_LEN(udp_ports); k++)
        if ((stage.udp[who][k] = wire_listen(ns, SOCK_DGRAM, udp_ports[k])) < 0)
            return -1;
    return 0;
}

static int stage_open(struct err *e)
{
    if (net_open(&(struct net_options){ .id = "0123ab", .subnet = "10.88.0.0/16" }, &stage.net, e) < 0)
        return -1;
    for (int i = 0; i < POD_MAX; i++)
        if (wire_join(stage.net, &stage.pods[i], e) < 0 || listen_all(i, stage.pods[i].ns) < 0)
            return -1;
    return listen_all(POD_MAX, net_ns_fd(stage.net));
}

static void close_list(int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fds[i] > 0)
            close(fds[i]);
}

static int stage_close(void **state)
{
    for (int i = 0; i <= POD_MAX; i++) {
        close_list(stage.tcp[i], ARRAY_LEN(tcp_ports));
        close_list(stage.udp[i], ARRAY_LEN(udp_ports));
        if (i < POD_MAX)
            close_list(&stage.pods[i].ns, 1);
    }
    net_close(stage.net);
    stage = (struct stage){ 0 };
    return 0;
}

static int stage_setup(void **state)
{
    struct err e = { 0 };

    if (!has_network || !has_nftables)
        return 0;
    if (stage_open(&e) == 0)
        return 0;
    print_message("%s\n", e.text);
    return stage_close(state), -1;
}

#define NEED_STAGE()                                                                                                   \
    do {                                                                                                               \
        if (!has_network || !has_nftables) {                                                                           \
            print_message("skipped: %s\n", has_network ? "nftables does not work here" : "may not make a network");    \
            skip();                                                                                                    \
        }                                                                                                              \
    } while (0)

static struct filter_input stage_input(struct arena *a)
{
    struct filter_input in = { .id = "0123ab", .bridge = net_bridge(stage.net), .gateway = net_gateway(stage.net) };

    add_cast(a, &in, ntohl(stage.pods[A].address.s_addr));
    return in;
}

static int end_in_time(struct filter_run *r, struct err *e)
{
    assert_true(wire_wait(filter_fd(r), POLLIN, 10 * WIRE_WAIT_MS));
    return filter_end(r, e);
}

static void apply(struct arena *a, const struct filter_input *in)
{
    autobuf batch = { 0 };
    struct filter_run *r;
    struct err e;

    filter_batch(a, in, &batch);
    stage.is_second = !stage.is_second;
    OK(filter_begin(&(struct filter_table){ in->id, stage.is_second, net_ns_fd(stage.net) }, buf_view(&batch), &r, &e));
    OK(end_in_time(r, &e));
}

static int ns_of(char who)
{
    return who == 'g' ? net_ns_fd(stage.net) : stage.pods[who - 'a'].ns;
}

static struct in_addr address_of(char who)
{
    return who == 'g' ? net_gateway(stage.net) : stage.pods[who - 'a'].address;
}

/* Forget the connections that waited: the queues are short. */
static void drain(void)
{
    for (int i = 0; i <= POD_MAX; i++)
        for (size_t k = 0; k < ARRAY_LEN(tcp_ports); k++)
            for (int fd; (fd = accept4(stage.tcp[i][k], NULL, NULL, SOCK_CLOEXEC)) >= 0;)
                close(fd);
}

/* "b>a:8080" (TCP) or "b>a:u8080" (UDP): 0 or an errno. */
static int try(struct str what)
{
    char from = what.p[0], to = what.p[2];
    bool is_udp = what.p[4] == 'u';
    int64_t port = 0;
    int rc;

    assert_int_equal(str_to_i64(str_from(what, is_udp ? 5 : 4), &port), 0);
    if (is_udp)
        return wire_udp(ns_of(from), address_of(to), (unsigned)port,
                        stage.udp[to == 'g' ? POD_MAX : to - 'a'][port == 53 ? 2 : port != 8080]);
    rc = wire_tcp(ns_of(from), address_of(to), (unsigned)port);
    drain();
    return rc;
}

/* TCP at once; ICMP is sent a few times a second only. */
static bool is_refused(struct str word, int got)
{
    return word.p[5] == 'u' ? got == EHOSTUNREACH || got == WIRE_SILENT : got == ECONNREFUSED;
}

/* Words of who reaches whom; one with '!' in front must be refused. */
static void check_words(const char *name, const char *words)
{
    struct str rest = str_of(words), word;

    while (str_split(&rest, ' ', &word)) {
        bool want_no = word.p[0] == '!';
        int got = try(str_from(word, want_no));

        if (want_no ? !is_refused(word, got) : got != 0)
            fail_msg("%s: %.*s: %s", name, STR_ARG(word), strerror(got));
    }
}

/* ---- policies ---- */

#define POLICY(spec) "---\n{metadata: {name: p, namespace: default}, spec: {" spec "}}\n"
#define ON_A         "podSelector: {matchLabels: {app: a}}"
#define FROM(peers)  POLICY(ON_A ", ingress: [{from: [" peers "]}]")
#define PORTS(ports) POLICY(ON_A ", ingress: [{ports: [" ports "]}]")
#define OUT(rules)   POLICY(ON_A ", policyTypes: [Egress], egress: [" rules "]")
#define KUBE_SYSTEM  "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}"
#define KUBE_DNS     "podSelector: {matchLabels: {k8s-app: kube-dns}}"
#define DNS_PORTS    "ports: [{port: 53, protocol: UDP}, {port: 53}]"

static const struct {
    const char *name, *policies, *words;
} policy_cases[] = {
    { "no policy", "", "a>b:8080 b>a:8080 d>a:8080 a>e:u8080 c>a:9000 a>g:9000 g>a:9000" },
    { "nobody may come in", POLICY(ON_A), "!b>a:8080 !b>a:u8080 !d>a:9000 a>b:8080 a>d:8080 b>c:8080 c>d:8080" },
    { "the machine may", POLICY("podSelector: {}, policyTypes: [Ingress, Egress]"),
      "g>a:8080 a>g:9000 a>g:u9000 !a>b:8080 !b>a:8080 !d>a:8080 !a>d:8080 d>e:8080" },
    { "the whole namespace", POLICY("podSelector: {}"), "!a>b:8080 !b>c:u8080 !d>c:8080 a>d:8080 e>d:8080" },
    { "no podSelector is all", POLICY("policyTypes: [Ingress]"), "!a>b:8080 a>d:8080" },
    { "policy elsewhere", "{metadata: {name: p, namespace: third}, spec: {podSelector: {}}}",
      "a>b:8080 !a>e:8080 e>a:8080" },
    { "from pods of the namespace", FROM("{podSelector: {matchLabels: {app: b}}}"),
      "b>a:8080 b>a:u9000 !c>a:8080 !d>a:8080" },
    { "the same label elsewhere does not count",
      POLICY("podSelector: {matchLabels: {app: b}}, ingress: [{from: [{podSelector: {matchLabels: {app: a}}}]}]"),
      "a>b:8080 !d>b:8080 !c>b:8080" },
    { "from any pod of the namespace", FROM("{podSelector: {}}"), "b>a:8080 c>a:8080 !d>a:8080 !e>a:8080" },
    { "from namespaces", FROM("{namespaceSelector: {matchLabels: {env: prod}}}"), "d>a:8080 !b>a:8080 !e>a:8080" },
    { "from every namespace", FROM("{namespaceSelector: {}}"), "b>a:8080 c>a:8080 d>a:8080 e>a:8080" },
    { "a namespace by its name", FROM("{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: third}}}"),
      "e>a:8080 !d>a:8080 !b>a:8080" },
    { "pods in namespaces", FROM("{namespaceSelector: {}, podSelector: {matchLabels: {team: red}}}"),
      "d>a:8080 !e>a:8080 !b>a:8080" },
    { "pods and namespaces as two peers",
      FROM("{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: third}}}, {podSelector: {matchLabels: "
           "{app: c}}}"),
      "e>a:8080 c>a:8080 !b>a:8080 !d>a:8080" },
    { "expressions", FROM("{podSelector: {matchExpressions: [{key: app, operator: NotIn, values: [b]}]}}"),
      "c>a:8080 !b>a:8080" },
    { "expression on namespaces", FROM("{namespaceSelector: {matchExpressions: [{key: env, operator: DoesNotExist}]}}"),
      "b>a:8080 e>a:8080 !d>a:8080" },
    { "a block without some", FROM("{ipBlock: {cidr: 10.88.0.0/16, except: [10.88.0.3/32, 10.88.0.6/32]}}"),
      "c>a:8080 d>a:8080 !b>a:8080 !e>a:8080" },
    { "everything but", FROM("{ipBlock: {cidr: 0.0.0.0/0, except: [10.88.0.3/32]}}"), "c>a:8080 !b>a:8080 e>a:8080" },
    { "everything", FROM("{ipBlock: {cidr: 0.0.0.0/0}}"), "b>a:8080 d>a:8080" },
    { "a block with nothing left", FROM("{ipBlock: {cidr: 10.88.0.0/16, except: [10.0.0.0/8]}}"), "!b>a:8080" },
    { "IPv6 is nobody here", FROM("{ipBlock: {cidr: \"::/0\"}}"), "!b>a:8080" },
    { "from nobody named is everybody", FROM(""), "b>a:8080 e>a:8080" },
    { "from null is everybody", POLICY(ON_A ", ingress: [{from: null, ports: null}]"), "b>a:8080 e>a:u8080" },
    { "a rule with nothing in it", POLICY(ON_A ", ingress: [{}]"), "b>a:8080 e>a:u8080" },
    { "a port", PORTS("{port: 8080}"), "b>a:8080 d>a:8080 !b>a:8081 !b>a:u8080" },
    { "ports", PORTS("{port: 8080}, {port: 9000, protocol: UDP}"), "b>a:8080 b>a:u9000 !b>a:9000 !b>a:u8080" },
    { "a range", PORTS("{port: 8000, endPort: 8080}"), "b>a:8080 !b>a:8081" },
    { "a protocol", PORTS("{protocol: UDP}"), "b>a:u8080 b>a:u9000 !b>a:8080" },
    { "a name", PORTS("{port: http}"), "b>a:8080 !b>a:8081 !b>a:9000 !b>a:u9000" },
    { "a name of another protocol", PORTS("{port: http, protocol: UDP}"), "b>a:u9000 !b>a:9000 !b>a:u8080" },
    { "a name is another number elsewhere", POLICY("podSelector: {}, ingress: [{ports: [{port: http}]}]"),
      "b>a:8080 !b>a:8081 a>b:8081 !a>b:8080 !a>c:8080" },
    { "a name nobody has", PORTS("{port: grpc}"), "!b>a:8080" },
    { "peers and ports",
      POLICY(ON_A ", ingress: [{from: [{podSelector: {matchLabels: {app: b}}}], ports: [{port: 9000}]}]"),
      "b>a:9000 !b>a:8080 !c>a:9000" },
    { "several rules",
      POLICY(ON_A ", ingress: [{from: [{podSelector: {matchLabels: {app: b}}}], ports: [{port: 9000}]}, {ports: "
                  "[{port: 8080}]}]"),
      "b>a:9000 b>a:8080 c>a:8080 !c>a:9000" },
    { "several policies", FROM("{podSelector: {matchLabels: {app: b}}}") PORTS("{port: 9000}"),
      "b>a:8080 c>a:9000 !c>a:8080" },
    { "out to pods", POLICY(ON_A ", policyTypes: [Egress], egress: [{to: [{podSelector: {matchLabels: {app: b}}}]}]"),
      "a>b:8080 a>b:u8080 !a>c:8080 !a>d:8080 c>a:8080 d>a:8080" },
    { "out to nobody", POLICY(ON_A ", policyTypes: [Egress]"), "!a>b:8080 b>a:8080 a>g:9000" },
    { "an egress rule makes both directions", POLICY(ON_A ", egress: [{ports: [{port: 9000}]}]"),
      "a>b:9000 !a>b:8080 !b>a:9000" },
    { "no egress rule, no egress policy", POLICY(ON_A ", egress: []"), "a>b:9000 !b>a:9000" },
    { "a direction that is not named does not count", POLICY(ON_A ", policyTypes: [Egress], ingress: [], egress: [{}]"),
      "a>b:9000 b>a:9000" },
    { "out to a name",
      POLICY(ON_A ", policyTypes: [Egress], egress: [{to: [{podSelector: {}}], ports: [{port: http}]}]"),
      "a>b:8081 !a>b:8080 !a>d:8081" },
    { "out to a block", POLICY(ON_A ", policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 10.88.0.4/31}}]}]"),
      "a>c:8080 a>d:8080 !a>b:8080" },
    { "no names for who may ask nobody", OUT(""), "!a>g:53 !a>g:u53 b>g:53 b>g:u53 a>g:9000" },
    { "names for who is kept from nothing else", PORTS("{port: 8080}"), "a>g:53 a>g:u53" },
    { "names from anybody", OUT("{" DNS_PORTS "}"), "a>g:53 a>g:u53 !a>b:8080" },
    { "names by UDP", OUT("{ports: [{port: 53, protocol: UDP}]}"), "a>g:u53 !a>g:53" },
    { "names by another port", OUT("{ports: [{port: 8080}]}"), "!a>g:u53 !a>g:53 a>b:8080" },
    { "names of kube-system", OUT("{to: [{" KUBE_SYSTEM "}], " DNS_PORTS "}"), "a>g:53 a>g:u53 !a>b:53 !a>d:u53" },
    { "names of kube-dns", OUT("{to: [{" KUBE_SYSTEM ", " KUBE_DNS "}], " DNS_PORTS "}"), "a>g:53 a>g:u53 !a>b:53" },
    { "names of kube-dns wherever it is", OUT("{to: [{namespaceSelector: {}, " KUBE_DNS "}]}"), "a>g:u53 !a>b:8080" },
    { "kube-dns is not of this namespace", OUT("{to: [{" KUBE_DNS "}]}"), "!a>g:u53 !a>g:53" },
    { "names by the name of the port", OUT("{to: [{" KUBE_SYSTEM "}], ports: [{port: dns, protocol: UDP}]}"),
      "a>g:u53 !a>g:53" },
    { "names from every namespace", OUT("{to: [{namespaceSelector: {}}]}"), "a>g:u53 a>g:53 a>b:8080" },
    { "pods of the namespace have no names", OUT("{to: [{podSelector: {}}]}"), "!a>g:u53 !a>g:53 a>b:8080" },
    { "names by address", OUT("{to: [{ipBlock: {cidr: 10.88.0.1/32}}]}"), "a>g:u53 a>g:53 !a>b:53" },
    { "names by everything but", OUT("{to: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.88.0.0/16]}}]}"),
      "!a>g:u53 !a>g:53" },
    { "both ends must agree",
      POLICY(ON_A ", policyTypes: [Egress], egress: [{}]") POLICY("podSelector: {matchLabels: {app: b}}"),
      "!a>b:8080 a>c:8080 b>a:8080" },
    { "the svc plugin's",
      "apiVersion: networking.k8s.io/v1\n"
      "kind: NetworkPolicy\n"
      "metadata: {name: j, namespace: default}\n"
      "spec:\n"
      "  podSelector: {matchLabels: {volcano.sh/job-name: j, volcano.sh/job-namespace: default}}\n"
      "  policyTypes: [Ingress]\n"
      "  ingress:\n"
      "  - from:\n"
      "    - podSelector: {matchLabels: {volcano.sh/job-name: j, volcano.sh/job-namespace: default}}\n"
      "  - from: [{podSelector: {}}]\n"
      "    ports: [{protocol: TCP, port: 8081}]\n"
      "  - from: [{namespaceSelector: {}}]\n"
      "    ports: [{protocol: TCP, port: 9000}]\n",
      "a>b:8080 b>a:u8080 a>c:8080 !c>a:8080 c>a:8081 !d>a:8081 d>a:9000 !d>a:8080 a>g:53 a>g:u53" },
    /* What cannot be read allows nothing. */
    { "bad podSelector", POLICY("podSelector: 5"), "!a>b:8080 !b>a:8080 a>d:8080" },
    { "bad from", POLICY(ON_A ", ingress: [{from: all}]"), "!b>a:8080" },
    { "bad peer", FROM("{}"), "!b>a:8080" },
    { "bad peer selector", FROM("{podSelector: {matchExpressions: [{key: app, operator: Like}]}}"), "!b>a:8080" },
    { "block and selector", FROM("{podSelector: {}, ipBlock: {cidr: 0.0.0.0/0}}"), "!b>a:8080" },
    { "bad block", FROM("{ipBlock: {cidr: 10.88.0.0/40}}, {ipBlock: {cidr: x}}, {ipBlock: 7}"), "!b>a:8080" },
    { "bad exception", FROM("{ipBlock: {cidr: 10.88.0.0/16, except: [oops]}}"), "!b>a:8080" },
    { "bad ports", POLICY(ON_A ", ingress: [{ports: 8080}]"), "!b>a:8080" },
    { "bad port",
      PORTS("{port: 0}, {port: 99999}, {port: 9000, endPort: 8000}, {port: http, endPort: 9000}, {port: 80.5}"),
      "!b>a:8080 !b>a:9000" },
    { "bad protocol", PORTS("{port: 8080, protocol: tcp}"), "!b>a:8080" },
    { "bad rule", POLICY(ON_A ", ingress: [all]"), "!b>a:8080" },
    { "bad ingress", POLICY(ON_A ", ingress: all"), "!b>a:8080" },
};

static void policies_hold(void **state)
{
    NEED_STAGE();
    for (size_t i = 0; i < ARRAY_LEN(policy_cases); i++) {
        autoarena a = { 0 };
        struct filter_input in = stage_input(&a);

        add_policies(&a, &in, policy_cases[i].policies);
        apply(&a, &in);
        check_words(policy_cases[i].name, policy_cases[i].words);
    }
}

/* ---- services ---- */

static struct in_addr service_address(uint32_t k)
{
    return (struct in_addr){ htonl(SERVICE + k) };
}

/* Which of the pods got the connection that was just made; -1: none. */
static int who_got(size_t port, struct sockaddr_in *from)
{
    socklen_t n = sizeof(*from);

    for (int i = 0; i < POD_MAX; i++) {
        int fd = accept4(stage.tcp[i][port], (struct sockaddr *)from, &n, SOCK_CLOEXEC);

        if (fd < 0)
            continue;
        close(fd);
        return i;
    }
    return -1;
}

static void services_spread(void **state)
{
    autoarena a = { 0 };
    struct filter_input in;
    struct filter_service *s;
    struct sockaddr_in from;
    int got[POD_MAX] = { 0 };

    NEED_STAGE();
    in = stage_input(&a);
    s = add_service(&a, &in, SERVICE, 80, 'T');
    for (int i = A; i <= C; i++)
        add_endpoint(&a, s, stage.pods[i].address, 8080);
    apply(&a, &in);
    for (int i = 0; i < 120; i++) {
        int who;

        assert_int_equal(wire_tcp(stage.pods[E].ns, service_address(0), 80), 0);
        who = who_got(0, &from);
        assert_true(who >= A && who <= C);
        assert_int_equal(from.sin_addr.s_addr, stage.pods[E].address.s_addr); /* it is seen as who it is */
        got[who]++;
    }
    for (int i = A; i <= C; i++)
        assert_true(got[i] > 10); /* 40 on average; fewer than 11 once in some billion runs */
}

static void services_of_every_kind(void **state)
{
    autoarena a = { 0 };
    struct filter_input in;
    struct filter_service *s;
    int pod;

    NEED_STAGE();
    in = stage_input(&a);
    pod = stage.pods[C].ns;
    s = add_service(&a, &in, SERVICE, 80, 'T');
    add_endpoint(&a, s, stage.pods[A].address, 9000);
    s = add_service(&a, &in, SERVICE, 80, 'U');
    add_endpoint(&a, s, stage.pods[A].address, 9000);
    add_service(&a, &in, SERVICE, 81, 'T');
    add_service(&a, &in, SERVICE + 1, 80, 'T'); /* nobody behind it */
    add_service(&a, &in, SERVICE + 1, 80, 'U');
    apply(&a, &in);
    assert_int_equal(wire_tcp(pod, service_address(0), 80), 0);
    assert_int_equal(wire_udp(pod, service_address(0), 80, stage.udp[A][1]), 0);
    assert_int_equal(wire_tcp(stage.pods[A].ns, service_address(0), 80), 0); /* itself, by way of its Service */
    assert_int_equal(wire_udp(stage.pods[A].ns, service_address(0), 80, stage.udp[A][1]), 0);
    assert_int_equal(wire_tcp(pod, service_address(0), 81), ECONNREFUSED);
    assert_int_equal(wire_tcp(pod, service_address(0), 443), ECONNREFUSED);
    assert_int_equal(wire_tcp(pod, service_address(1), 80), ECONNREFUSED);
    assert_int_equal(wire_udp(pod, service_address(1), 80, -1), ECONNREFUSED);
    assert_int_equal(wire_tcp(pod, (struct in_addr){ htonl(ntohl(address_of('e').s_addr) + 100) }, 80), ECONNREFUSED);
    drain();
}

/* A policy speaks of the pod behind a Service and of its port there. */
static void policies_see_through_services(void **state)
{
    autoarena a = { 0 };
    struct filter_input in;
    struct filter_service *s;

    NEED_STAGE();
    in = stage_input(&a);
    s = add_service(&a, &in, SERVICE, 80, 'T');
    add_endpoint(&a, s, stage.pods[A].address, 9000);
    s = add_service(&a, &in, SERVICE, 81, 'T');
    add_endpoint(&a, s, stage.pods[A].address, 8080);
    add_policies(&a, &in,
                 POLICY(ON_A ", policyTypes: [Ingress, Egress], ingress: [{from: [{podSelector: {matchLabels: "
                             "{app: b}}}], ports: [{port: 9000}]}]"));
    apply(&a, &in);
    assert_int_equal(wire_tcp(stage.pods[B].ns, service_address(0), 80), 0);
    assert_int_equal(wire_tcp(stage.pods[B].ns, service_address(0), 81), ECONNREFUSED);
    assert_int_equal(wire_tcp(stage.pods[C].ns, service_address(0), 80), ECONNREFUSED);
    assert_int_equal(wire_tcp(stage.pods[A].ns, service_address(0), 81), 0); /* itself, whatever the policy */
    drain();
}

/* ---- replacing and removing ---- */

static void say(int from, int to)
{
    char c = 0;

    assert_int_equal(send(from, "x", 1, MSG_NOSIGNAL), 1);
    assert_true(wire_wait(to, POLLIN, WIRE_WAIT_MS));
    assert_int_equal(recv(to, &c, 1, 0), 1);
    assert_int_equal(c, 'x');
}

static void replacing_keeps_connections(void **state)
{
    autoarena a = { 0 };
    struct filter_input in, closed;
    struct filter_service *s;
    int client, server, plain, plain_server;

    NEED_STAGE();
    in = stage_input(&a);
    s = add_service(&a, &in, SERVICE, 80, 'T');
    add_endpoint(&a, s, stage.pods[A].address, 8080);
    apply(&a, &in);
    client = wire_connect(stage.pods[C].ns, service_address(0), 80);
    plain = wire_connect(stage.pods[C].ns, stage.pods[B].address, 9000);
    assert_true(client >= 0 && plain >= 0);
    server = accept4(stage.tcp[A][0], NULL, NULL, SOCK_CLOEXEC);
    plain_server = accept4(stage.tcp[B][2], NULL, NULL, SOCK_CLOEXEC);
    assert_true(server >= 0 && plain_server >= 0);
    say(client, server);
    closed = stage_input(&a); /* no Service any more, and nobody may go anywhere */
    add_policies(&a, &closed, POLICY("podSelector: {}, policyTypes: [Ingress, Egress]"));
    for (int i = 0; i < 3; i++) {
        apply(&a, i == 1 ? &in : &closed);
        say(client, server);
        say(server, client);
        say(plain, plain_server);
        say(plain_server, plain);
    }
    assert_int_equal(wire_tcp(stage.pods[C].ns, stage.pods[B].address, 9000), ECONNREFUSED);
    close(client);
    close(server);
    close(plain);
    close(plain_server);
}

struct flood {
    int fd;
    struct sockaddr_in to;
    atomic_bool is_over;
    size_t n_sent;
};

static void *flood_run(void *ctx)
{
    struct flood *f = ctx;

    while (!f->is_over)
        f->n_sent += sendto(f->fd, "x", 1, 0, (void *)&f->to, sizeof(f->to)) == 1; /* refusals fail the next one */
    return NULL;
}

/* One table replaces another while packets come as fast as they can: there is no moment without. */
static void replacing_leaves_no_gap(void **state)
{
    autoarena a = { 0 };
    struct flood f = { 0 };
    struct filter_input closed[2];
    pthread_t thread;
    char c;

    NEED_STAGE();
    for (int i = 0; i < 2; i++) {
        closed[i] = stage_input(&a);
        add_policies(&a, &closed[i], i ? POLICY(ON_A) : POLICY("podSelector: {}"));
    }
    apply(&a, &closed[1]);
    f.fd = wire_socket(stage.pods[C].ns, SOCK_DGRAM);
    f.to = wire_name(stage.pods[A].address, 8080);
    assert_int_equal(pthread_create(&thread, NULL, flood_run, &f), 0);
    for (int i = 0; i < 60; i++)
        apply(&a, &closed[i % 2]);
    f.is_over = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(f.n_sent > 100);
    assert_int_equal(recv(stage.udp[A][0], &c, 1, MSG_DONTWAIT), -1);
    close(f.fd);
}

/* A pod leaves: those who talk to it are told, without a new table. */
static void peers_of_the_dead_learn_it(void **state)
{
    autoarena a = { 0 };
    struct filter_input in;
    struct err e = { 0 };
    int client, server;
    char c;

    NEED_STAGE();
    in = stage_input(&a);
    apply(&a, &in);
    client = wire_connect(stage.pods[C].ns, stage.pods[A].address, 8080);
    server = accept4(stage.tcp[A][0], NULL, NULL, SOCK_CLOEXEC);
    assert_true(client >= 0 && server >= 0);
    say(client, server);
    OK(net_leave(stage.net, stage.pods[A].address, &e));
    assert_int_equal(send(client, "x", 1, MSG_NOSIGNAL), 1);
    assert_true(wire_wait(client, POLLIN, WIRE_WAIT_MS));
    assert_int_equal(recv(client, &c, 1, 0), -1);
    assert_int_equal(errno, ECONNRESET);
    assert_int_equal(wire_tcp(stage.pods[C].ns, stage.pods[A].address, 8080), ECONNREFUSED);
    close(client);
    close(server);
}

/* ---- beside the caller ---- */

static void works_beside(void **state)
{
    autoarena a = { 0 };
    autobuf batch = { 0 };
    autonft bad = { 0 };
    struct filter_run *r;
    struct filter_input in;
    int ns;
    struct err e;

    NEED_STAGE();
    ns = net_ns_fd(stage.net);
    in = stage_input(&a);
    add_policies(&a, &in, POLICY("podSelector: {}"));
    apply(&a, &in);
    assert_int_equal(try(STR("a>b:8080")), ECONNREFUSED);

    nft_init(&bad, NFPROTO_INET, "pumice_0123ab_a");
    nft_table_replace(&bad);
    nft_rule(&bad, "absent");
    nft_batch(&bad, &batch);
    OK(filter_begin(&(struct filter_table){ in.id, !stage.is_second, ns }, buf_view(&batch), &r, &e));
    assert_int_equal(end_in_time(r, &e), -1);
    assert_int_equal(try(STR("a>b:8080")), ECONNREFUSED);

    for (int i = 0; i < 20; i++) { /* left alone, mostly before it has ended */
        OK(filter_begin(&(struct filter_table){ in.id, !stage.is_second, ns }, buf_view(&batch), &r, &e));
        (void)filter_end(r, NULL);
    }
}

static void selecting(void **state)
{
    static const struct {
        const char *spec, *namespace, *labels;
        bool is_selected;
    } cases[] = {
        { "podSelector: {}", "default", "{}", true },
        { "podSelector: {}", "other", "{}", false },
        { "podSelector: {matchLabels: {a: b}}", "default", "{a: b, c: d}", true },
        { "podSelector: {matchLabels: {a: b}}", "default", "{c: d}", false },
        { "podSelector: {matchExpressions: [{key: a, operator: Nonsense}]}", "default", "{c: d}", true },
        { "podSelector: 7", "default", "{}", true },
        { "{podSelector: {}, policyTypes: [Egress]}", "default", "{}", true },
        { "{podSelector: {}, policyTypes: [Nonsense]}", "default", "{}", false },
    };
    autoarena a = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json *policy = json_object(&a);

        json_set(policy, "spec", read_yaml(&a, cases[i].spec).v[0]);
        assert_int_equal(filter_selects(&a, policy, str_of(cases[i].namespace), read_yaml(&a, cases[i].labels).v[0]),
                         cases[i].is_selected);
    }
}

/* The table goes and comes in the batch that fails at its end: it stays as it was. */
static void all_or_nothing(void **state)
{
    autoarena a = { 0 };
    autobuf batch = { 0 };
    autonft t;
    struct filter_input in;
    struct err e;

    NEED_STAGE();
    in = stage_input(&a);
    add_policies(&a, &in, POLICY("podSelector: {}"));
    OK(apply_to(&a, &in, net_ns_fd(stage.net), &e));
    assert_int_equal(try(STR("a>b:8080")), ECONNREFUSED);
    nft_init(&t, NFPROTO_INET, "pumice_0123ab_a");
    nft_table_replace(&t);
    nft_rule(&t, "nowhere-to-be-found");
    nft_verdict(&t, NF_ACCEPT, NULL);
    nft_batch(&t, &batch);
    assert_int_equal(nft_send(buf_view(&batch), net_ns_fd(stage.net), &e), -1);
    assert_non_null(strstr(e.text, "rule in chain nowhere-to-be-found"));
    assert_int_equal(try(STR("a>b:8080")), ECONNREFUSED);
    nft_done(&t);
    nft_init(&t, NFPROTO_INET, "pumice_0123ab_a");
    nft_table_delete(&t);
    buf_reset(&batch);
    nft_batch(&t, &batch);
    OK(nft_send(buf_view(&batch), net_ns_fd(stage.net), &e));
    assert_int_equal(try(STR("a>b:8080")), 0);
}

/* ---- very many ---- */

/* One policy with 'n' blocks, none next to another; the last is pod b. */
static void add_blocks(struct arena *a, struct filter_input *in, uint32_t n)
{
    autobuf b = { 0 };

    buf_str(&b, STR("{metadata: {name: p, namespace: default}, spec: {" ON_A ", ingress: [{from: ["));
    for (uint32_t i = 0; i < n; i++)
        buf_fmt(&b, "{ipBlock: {cidr: 172.%u.%u.%u/31}}, ", 16 + (i >> 14), i >> 6 & 255, i << 2 & 255);
    buf_str(&b, STR("{ipBlock: {cidr: 10.88.0.3/32}}], ports: [{port: 8080}, {port: 9000, protocol: UDP}]}]}}"));
    add_policies(a, in, b.p);
}

static void thousands_of_blocks(void **state)
{
    autoarena a = { 0 };
    autobuf batch = { 0 };
    struct filter_input in;
    struct err e;

    NEED_STAGE();
    in = stage_input(&a);
    add_blocks(&a, &in, 20000);
    filter_batch(&a, &in, &batch);
    assert_true(batch.n > 8 * UINT16_MAX);
    if (nft_send(buf_view(&batch), net_ns_fd(stage.net), &e) < 0) {
        assert_int_equal(e.code, ERR_TOO_BIG);
        print_message("skipped: %s\n", e.text);
        skip();
    }
    check_words("very many", "b>a:8080 b>a:u9000 !c>a:8080 !b>a:9000 !d>a:8080");
}

/* ---- as an ordinary user ---- */

static int user_test(void)
{
    autoarena a = { 0 };
    struct filter_input in;
    struct err e = { 0 };

    if (geteuid() == 0 && setgid(65534) == 0)
        (void)setuid(65534); /* else this is an ordinary user already, in a user namespace */
    if (own_user_namespace() < 0)
        return 77;
    stage = (struct stage){ 0 };
    if (stage_open(&e) < 0)
        return 2;
    in = stage_input(&a);
    add_blocks(&a, &in, 2000);
    if (apply_to(&a, &in, net_ns_fd(stage.net), &e) < 0) {
        print_message("%s\n", e.text);
        return 3;
    }
    return try(STR("b>a:8080")) == 0 && try(STR("c>a:8080")) == ECONNREFUSED ? 0 : 4;
}

static void works_for_an_ordinary_user(void **state)
{
    int status;
    pid_t pid;

    NEED_STAGE();
    pid = fork();
    if (pid == 0)
        _exit(user_test());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("skipped: no user namespaces for ordinary users here\n");
        skip();
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- size ---- */

static double wall_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static double cpu_ms(void)
{
    struct rusage r;

    (void)getrusage(RUSAGE_SELF, &r);
    return 1e3 * (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           1e-3 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

/* 500 pods in 100 jobs with a policy each. */
static void many_pods(void **state)
{
    autoarena a = { 0 };
    autobuf batch = { 0 };
    struct filter_run *r;
    struct filter_input in;
    struct err e = { 0 };
    double t;

    NEED_STAGE();
    in = plain_input();
    for (uint32_t i = 0; i < 500; i++) {
        struct json *labels = json_object(&a);

        json_set(labels, "volcano.sh/job-name", json_fmt(&a, "j%u", i % 100));
        *vec_push(&a, &in.pods) = (struct filter_pod){ .namespace = STR("default"),
                                                       .name = arena_fmt(&a, "p%u", i),
                                                       .labels = labels,
                                                       .address = { htonl(FIRST + 100 + i) } };
    }
    for (int i = 0; i < 100; i++)
        add_policies(&a, &in,
                     arena_fmt(&a,
                               "{metadata: {name: j%d, namespace: default}, spec: {podSelector: {matchLabels: "
                               "{volcano.sh/job-name: j%d}}, ingress: [{from: [{podSelector: {matchLabels: "
                               "{volcano.sh/job-name: j%d}}}]}]}}",
                               i, i, i)
                         .p);
    t = wall_ms();
    filter_batch(&a, &in, &batch);
    if (getenv("PUMICE_TEST_NUMBERS"))
        print_message("batch for 500 pods, 100 policies: %.1f ms, %zu KiB\n", wall_ms() - t, batch.n / 1024);
    for (int i = 0; i < 2; i++) {
        double cpu = cpu_ms();

        t = wall_ms();
        OK(filter_begin(&(struct filter_table){ in.id, i, net_ns_fd(stage.net) }, buf_view(&batch), &r, &e));
        OK(end_in_time(r, &e));
        if (getenv("PUMICE_TEST_NUMBERS"))
            print_message("%s: %.1f ms, cpu %.1f ms\n", i ? "replace" : "apply", wall_ms() - t, cpu_ms() - cpu);
    }
}

#define ON_STAGE(name) cmocka_unit_test_setup_teardown(name, stage_setup, stage_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_has_one_order),
        cmocka_unit_test(names_cannot_break_out),
        cmocka_unit_test(any_json_is_survived),
        cmocka_unit_test(selecting),
        cmocka_unit_test(nft_shows_what_was_meant),
        ON_STAGE(works_beside),
        ON_STAGE(policies_hold),
        ON_STAGE(services_spread),
        ON_STAGE(services_of_every_kind),
        ON_STAGE(policies_see_through_services),
        ON_STAGE(replacing_keeps_connections),
        ON_STAGE(replacing_leaves_no_gap),
        ON_STAGE(peers_of_the_dead_learn_it),
        ON_STAGE(all_or_nothing),
        ON_STAGE(thousands_of_blocks),
        cmocka_unit_test(works_for_an_ordinary_user),
        ON_STAGE(many_pods),
    };

    has_network = wire_own_network();
    has_nftables = has_network && nft_check(NULL) == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
