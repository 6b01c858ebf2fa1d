/* dns_resolv.c - unit tests: the resolv.conf of pods */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "json/json.h"
#include "node/dns/dns.h"
#include "node/dns/test/dns_packet.h"

#define HOST                                                                                                           \
    "# the host's\nnameserver 192.0.2.1\nnameserver 192.0.2.2\nsearch corp.example lab.example.\noptions edns0 "       \
    "ndots:1\n"
#define CLUSTER "search default.svc.cluster.local svc.cluster.local cluster.local"
#define SERVER  "nameserver 10.1.0.254\n"

static const struct {
    const char *what, *pod, *host, *want;
} cases[] = {
    { "nothing said", "{}", "", CLUSTER "\n" SERVER "options ndots:5\n" },
    { "ClusterFirst", "{'spec':{'dnsPolicy':'ClusterFirst'}}", HOST,
      CLUSTER " corp.example lab.example\n" SERVER "options ndots:5\n" },
    { "the pod's namespace", "{'metadata':{'namespace':'team'}}", "",
      "search team.svc.cluster.local svc.cluster.local cluster.local\n" SERVER "options ndots:5\n" },
    { "host network", "{'spec':{'hostNetwork':true}}", HOST,
      "search corp.example lab.example\nnameserver 192.0.2.1\nnameserver 192.0.2.2\noptions edns0 ndots:1\n" },
    { "host network, with the cluster", "{'spec':{'hostNetwork':true,'dnsPolicy':'ClusterFirstWithHostNet'}}", HOST,
      CLUSTER " corp.example lab.example\n" SERVER "options ndots:5\n" },
    { "Default", "{'spec':{'dnsPolicy':'Default'}}", HOST,
      "search corp.example lab.example\nnameserver 192.0.2.1\nnameserver 192.0.2.2\noptions edns0 ndots:1\n" },
    { "Default, the host asks itself", "{'spec':{'dnsPolicy':'Default'}}",
      "nameserver 127.0.0.53\nnameserver ::1\noptions trust-ad\n", SERVER "options trust-ad\n" },
    { "Default, the host asks itself, host network", "{'spec':{'dnsPolicy':'Default','hostNetwork':true}}",
      "nameserver 127.0.0.53\n", "nameserver 127.0.0.53\n" },
    { "Default, nothing on the host", "{'spec':{'dnsPolicy':'Default'}}", "", SERVER },
    { "None",
      "{'spec':{'dnsPolicy':'None','dnsConfig':{'nameservers':['9.9.9.9'],'searches':['a.example'],"
      "'options':[{'name':'ndots','value':'2'},{'name':'edns0'}]}}}",
      HOST, "search a.example\nnameserver 9.9.9.9\noptions ndots:2 edns0\n" },
    { "None, without anything", "{'spec':{'dnsPolicy':'None'}}", HOST, "" },
    { "None on the host network",
      "{'spec':{'dnsPolicy':'None','hostNetwork':true,'dnsConfig':{'nameservers':['9.9.9.9']}}}", HOST,
      "nameserver 9.9.9.9\n" },
    { "dnsConfig is added",
      "{'spec':{'dnsConfig':{'nameservers':['9.9.9.9','10.1.0.254','2001:db8::1'],"
      "'searches':['a.example','SVC.cluster.local','corp.example'],'options':[{'name':'timeout','value':'1'},{'name':'"
      "ndots','value':'2'}]}}}",
      HOST,
      CLUSTER " corp.example lab.example a.example\n" SERVER
              "nameserver 9.9.9.9\nnameserver 2001:db8::1\noptions ndots:2 timeout:1\n" },
    { "an option without its value",
      "{'spec':{'dnsConfig':{'options':[{'name':'ndots'},{'name':'x','value':''},{'name':'y','value':null}]}}}", "",
      CLUSTER "\n" SERVER "options ndots x y\n" },
    { "three name servers", "{'spec':{'dnsConfig':{'nameservers':['1.1.1.1','2.2.2.2','3.3.3.3','4.4.4.4']}}}", "",
      CLUSTER "\n" SERVER "nameserver 1.1.1.1\nnameserver 2.2.2.2\noptions ndots:5\n" },
    { "the last search line counts", "{'spec':{'dnsPolicy':'Default'}}", "search a b\nsearch c\nnameserver 192.0.2.1",
      "search c\nnameserver 192.0.2.1\n" },
    { "options of several lines", "{'spec':{'dnsPolicy':'Default'}}",
      "nameserver 192.0.2.1\noptions a b:1\noptions b:2 c\n", "nameserver 192.0.2.1\noptions a b:2 c\n" },
    { "odd lines", "{'spec':{'dnsPolicy':'Default'}}",
      "\n;x\n\tnameserver\t192.0.2.1 # why\r\nnameserver none\nnameserver fe80::1%eth0\ndomain old\nsearch .\nsortlist "
      "1.2.3.4\nnameserver",
      "search .\nnameserver 192.0.2.1\nnameserver fe80::1%eth0\n" },
    { "what would break the file",
      "{'spec':{'dnsConfig':{'nameservers':['1.1.1.1\\nsearch x','x','1.1.1.1 ',''],'searches':['a b','c\\nnameserver "
      "6.6.6.6','','#d',';'],"
      "'options':[{'name':'a\\noptions b'},{'name':'b','value':'c d'},{'name':'a:b'},{'value':'1'}]}}}",
      "", CLUSTER "\n" SERVER "options ndots:5\n" },
    { "wrong types",
      "{'metadata':[],'spec':{'dnsPolicy':4,'hostNetwork':'yes','dnsConfig':{'nameservers':'1.1.1.1','searches':{'a':1}"
      ",'options':[1,[],null,{'name':2}]}}}",
      "", CLUSTER "\n" SERVER "options ndots:5\n" },
    { "no object", "[]", "", CLUSTER "\n" SERVER "options ndots:5\n" },
};

static struct json *parse(struct arena *a, const char *pod)
{
    struct str text = arena_str(a, str_of(pod));
    struct json *j;
    struct err e;

    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == '\'')
            ((char *)text.p)[i] = '"';
    if (json_parse(a, text, NULL, &j, &e) < 0)
        fail_msg("%s", e.text);
    return j;
}

static void test_cases(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        autobuf out = { 0 };

        dns_resolv_conf(&out, parse(&a, cases[i].pod), "cluster.local", address("10.1.0.254"), str_of(cases[i].host));
        if (!str_is(buf_view(&out), cases[i].want))
            fail_msg("%s:\n%s", cases[i].what, out.p ? out.p : "");
    }
}

/* Nobody serves the cluster's names: the host's own file is better than none. */
static void test_without_a_server(void **state)
{
    autoarena a = { 0 };
    autobuf out = { 0 };

    dns_resolv_conf(&out, parse(&a, "{}"), "cluster.local", (struct in_addr){ 0 },
                    STR("nameserver 127.0.0.53\nsearch x\n"));
    assert_string_equal(out.p, "search x\nnameserver 127.0.0.53\n");
}

static size_t count_words(struct str line)
{
    size_t n = 0;

    for (struct str word; line.n && str_split(&line, ' ', &word);)
        n++;
    return n;
}

static void test_search_limits(void **state)
{
    autoarena a = { 0 };
    autobuf many = { 0 }, wide = { 0 }, out = { 0 }, label = { 0 };
    struct str text, line;

    buf_str(&many, STR("search"));
    for (int i = 0; i < 40; i++)
        buf_fmt(&many, " d%d", i);
    dns_resolv_conf(&out, parse(&a, "{}"), "cluster.local", address("10.0.0.1"), buf_view(&many));
    text = buf_view(&out);
    assert_true(str_split(&text, '\n', &line));
    assert_int_equal(count_words(line), 1 + 32);
    assert_true(str_ends(line, STR(" d28")));

    buf_reset(&out);
    buf_repeat(&label, 'x', 196);
    buf_str(&wide, STR("search"));
    for (int i = 10; i < 30; i++)
        buf_fmt(&wide, " %s%d", label.p, i);
    dns_resolv_conf(&out, parse(&a, "{'spec':{'dnsPolicy':'Default'}}"), "cluster.local", address("10.0.0.1"),
                    buf_view(&wide));
    text = buf_view(&out);
    assert_true(str_split(&text, '\n', &line));
    assert_int_equal(count_words(line), 1 + 10); /* ten of 198 and a blank between: 1989; eleven: 2188 */
    assert_int_equal(line.n, strlen("search ") + 1989);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_without_a_server),
        cmocka_unit_test(test_search_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
