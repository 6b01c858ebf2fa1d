/* kubelet.c - tests: which request is whose, who asks, and may they */
#include "kubelet/test/kubelet_stand.h"

static int set_up(void **state)
{
    *state = stand_new();
    return 0;
}

static int tear_down(void **state)
{
    stand_free(*state);
    return 0;
}

/* ---- routes ---- */

static void finds_its_routes(void **state)
{
    static const struct {
        const char *method, *path;
        int status;
        const char *place; /* of logs: what was asked for */
    } cases[] = {
        { "GET", "/healthz", 200, NULL },
        { "GET", "/pods", 200, NULL },
        { "GET", "/pods/", 200, NULL },
        { "GET", "/metrics/resource", 200, NULL },
        { "GET", "/containerLogs/ns/p/c", 200, "ns/p/c" },
        { "GET", "/containerLogs/ns/p/uid/c", 200, "ns/p/c" },
        { "GET", "/containerLogs/ns/p/c%2Fd", 200, "ns/p/c/d" }, /* one name; the agent knows none like it */
        { "GET", "/", 404, NULL },
        { "GET", "/podsx", 404, NULL },
        { "GET", "/pods/x", 404, NULL },
        { "GET", "/metrics", 404, NULL },
        { "GET", "/containerLogs", 404, NULL },
        { "GET", "/containerLogs/ns/p", 404, NULL },
        { "GET", "/containerLogs/ns//c", 404, NULL },
        { "GET", "/containerLogs/ns/p/uid/c/more", 404, NULL },
        { "GET", "/containerLogs/ns/p/%zz", 404, NULL },
        { "GET", "/containerLogs/ns/p/a%00b", 404, NULL },
        { "GET", "/portForward/ns", 404, NULL },
        { "POST", "/pods", 405, NULL },
        { "DELETE", "/healthz", 405, NULL },
        { "POST", "/containerLogs/ns/p/c", 405, NULL },
        { "PUT", "/exec/ns/p/c", 405, NULL },
        { "POST", "/exec/ns/p/c?command=true&output=1", 426, NULL }, /* neither SPDY nor WebSockets */
        { "GET", "/exec/ns/p/c", 400, NULL },
    };
    struct stand *s = *state;
    struct conlog *l;

    s->allows = true;
    assert_int_equal(conlog_open(stand_log(s, 1), 0, &l, NULL), 0);
    conlog_close(l);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf place = { 0 };

        s->asked_for = (struct agent_place){ STR_NULL };
        if (stand_ask(s, cases[i].method, cases[i].path, ALICE) != cases[i].status)
            fail_msg("%s %s: %d %s", cases[i].method, cases[i].path, s->status, s->body.p);
        buf_fmt(&place, "%.*s/%.*s/%.*s", STR_ARG(s->asked_for.namespace), STR_ARG(s->asked_for.pod),
                STR_ARG(s->asked_for.container));
        assert_string_equal(place.p, cases[i].place ? cases[i].place : "//");
    }
}

/* ---- who ---- */

static void knows_who_asks(void **state)
{
    struct stand *s = *state;

    s->allows = true;
    assert_int_equal(stand_ask(s, "GET", "/healthz", NOBODY), 401);
    assert_int_equal(stand_ask(s, "GET", "/nothing", NOBODY), 401); /* nor what there is */
    s->authorization = "Authorization: Basic YWxpY2U6eA==";
    assert_int_equal(stand_ask(s, "GET", "/healthz", OTHER), 401);
    s->authorization = "Authorization: Bearer ";
    assert_int_equal(stand_ask(s, "GET", "/healthz", OTHER), 401);
    s->authorization = "X-Remote-User: system:masters";
    assert_int_equal(stand_ask(s, "GET", "/healthz", OTHER), 401);
    assert_int_equal(s->n_tokens, 0);
    assert_int_equal(stand_ask(s, "GET", "/healthz", TOKEN), 401); /* nobody's token */
    assert_int_equal(s->n_tokens, 1);
    assert_int_equal(s->reviewed.n, 0); /* of nobody it is not asked what he may */

    s->knows_token = true;
    assert_int_equal(stand_ask(s, "GET", "/healthz", TOKEN), 200);
    assert_string_equal(s->reviewed.p, "system:serviceaccount:ns:robot robots get proxy\n");
    buf_reset(&s->reviewed);
    assert_int_equal(stand_ask(s, "GET", "/healthz", ALICE), 200);
    assert_string_equal(s->reviewed.p, "alice devs,system:authenticated get proxy\n");
}

static void says_that_it_cannot_know(void **state)
{
    struct stand *s = *state;

    s->fails = s->knows_token = s->allows = true;
    assert_int_equal(stand_ask(s, "GET", "/healthz", TOKEN), 503);
    assert_string_equal(s->body.p, "the API server is away\n");
    assert_int_equal(stand_ask(s, "GET", "/healthz", ALICE), 503);
    s->fails = false; /* nothing of it is believed later */
    assert_int_equal(stand_ask(s, "GET", "/healthz", ALICE), 200);
    assert_int_equal(stand_ask(s, "GET", "/healthz", TOKEN), 200);
}

/* ---- may they ---- */

static void asks_for_the_right_that_is_needed(void **state)
{
    static const struct {
        const char *method, *path, *right;
    } cases[] = {
        { "GET", "/pods", "get proxy" },
        { "GET", "/healthz", "get proxy" },
        { "GET", "/nothing", "get proxy" },
        { "GET", "/containerLogs/ns/p/c", "get proxy" },
        { "GET", "/metrics/resource", "get metrics" },
        { "POST", "/exec/ns/p/c", "create proxy" },
        { "GET", "/exec/ns/p/c", "create proxy" }, /* a WebSocket begins so */
        { "GET", "/attach/ns/p/c", "create proxy" },
        { "GET", "/portForward/ns/p", "create proxy" },
        { "POST", "/pods", "create proxy" },
        { "PUT", "/pods", "update proxy" },
        { "DELETE", "/pods", "delete proxy" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct stand *s = stand_new(); /* one that has not asked yet */
        autobuf want = { 0 };

        buf_fmt(&want, "alice devs,system:authenticated %s\n", cases[i].right);
        if (stand_ask(s, cases[i].method, cases[i].path, ALICE) != 403)
            fail_msg("%s %s: %d", cases[i].method, cases[i].path, s->status);
        assert_string_equal(s->reviewed.p, want.p);
        assert_non_null(strstr(s->body.p, "Forbidden (user=alice, verb="));
        stand_free(s);
    }
    stand = *state;
}

static void believes_for_a_while(void **state)
{
    struct stand *s = *state;

    s->allows = s->knows_token = true;
    for (int i = 0; i < 3; i++)
        assert_int_equal(stand_ask(s, "GET", "/healthz", ALICE), 200);
    assert_string_equal(s->reviewed.p, "alice devs,system:authenticated get proxy\n");
    s->allows = false;
    assert_int_equal(stand_ask(s, "GET", "/pods", ALICE), 200);             /* the same right */
    assert_int_equal(stand_ask(s, "GET", "/metrics/resource", ALICE), 403); /* another */
    assert_int_equal(stand_ask(s, "POST", "/exec/ns/p/c", ALICE), 403);
    assert_int_equal(stand_ask(s, "GET", "/pods", TOKEN), 403); /* another one */
    s->allows = true;
    assert_int_equal(stand_ask(s, "GET", "/metrics/resource", ALICE), 403); /* a refusal too */
}

static void a_client_that_leaves_is_forgotten(void **state)
{
    struct stand *s = *state;
    struct http_exchange *x;

    s->holds = s->allows = true;
    x = stand_send(s, "GET", "/healthz", ALICE);
    while (list_is_empty(&s->reviews))
        stand_turn(s, 20);
    http_cancel(x);
    for (int i = 0; i < 20; i++)
        stand_turn(s, 5);
    s->holds = false;
    stand_turn(s, 5); /* its answer comes for nobody */
    assert_int_equal(stand_ask(s, "GET", "/healthz", ALICE), 200);
    s->holds = true; /* and one that waits when all ends */
    (void)stand_send(s, "GET", "/metrics/resource", ALICE);
    while (list_is_empty(&s->reviews))
        stand_turn(s, 20);
}

/* ---- logs ---- */

#define T0_NS 1772323200000000000 /* 2026-03-01T00:00:00Z */

static void write_logs(struct stand *s)
{
    struct conlog *l;

    assert_int_equal(conlog_open(stand_log(s, 0), 0, &l, NULL), 0);
    conlog_put(l, CONLOG_STDOUT, STR("before\n"), T0_NS - 1);
    conlog_close(l);
    assert_int_equal(conlog_open(stand_log(s, 1), 0, &l, NULL), 0);
    conlog_put(l, CONLOG_STDOUT, STR("one\n"), T0_NS);
    conlog_put(l, CONLOG_STDERR, STR("oops\n"), T0_NS + 1000000250);
    conlog_put(l, CONLOG_STDOUT, STR("50%\r100%\n"), T0_NS + 2000000000); /* several records, one line */
    conlog_put(l, CONLOG_STDOUT, STR("end"), T0_NS + 3000000000);
    conlog_end(l, CONLOG_STDOUT, T0_NS + 4000000000);
    conlog_close(l);
}

static void shows_what_is_asked_for(void **state)
{
    static const struct {
        const char *query, *want;
    } cases[] = {
        { "", "one\noops\n50%\r100%\nend\n" },
        { "?tailLines=2", "50%\r100%\nend\n" },
        { "?tailLines=0", "" },
        { "?tailLines=9", "one\noops\n50%\r100%\nend\n" },
        { "?limitBytes=6", "one\noo" },
        { "?limitBytes=0", "" },
        { "?tailLines=1&limitBytes=2", "en" },
        { "?stream=Stderr", "oops\n" },
        { "?stream=Stdout", "one\n50%\r100%\nend\n" },
        { "?stream=All&tailLines=1", "end\n" },
        { "?stream=Stdout&tailLines=3", "one\n50%\r100%\nend\n" }, /* lines of that stream */
        { "?sinceTime=2026-03-01T00:00:01Z", "oops\n50%\r100%\nend\n" },
        { "?sinceTime=2026-03-01T00:00:01Z&tailLines=9", "oops\n50%\r100%\nend\n" },
        { "?sinceTime=2099-01-01T00:00:00Z", "" },
        { "?sinceSeconds=1", "" },
        { "?timestamps=true&tailLines=0", "" },
        { "?timestamps=true&stream=Stderr", "2026-03-01T00:00:01.000000250Z oops\n" },
        { "?timestamps=1&stream=Stdout&limitBytes=35", "2026-03-01T00:00:00.000000000Z one\n" },
        { "?timestamps=false&tailLines=1", "end\n" },
        { "?previous=true", "before\n" },
        { "?follow=true&tailLines=1", "end\n" }, /* it does not grow any more */
    };
    struct stand *s = *state;

    s->allows = true;
    write_logs(s);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf path = { 0 };

        buf_fmt(&path, "/containerLogs/ns/p/c%s", cases[i].query);
        assert_int_equal(stand_ask(s, "GET", path.p, ALICE), 200);
        if (strcmp(s->body.n ? s->body.p : "", cases[i].want) != 0)
            fail_msg("%s: got \"%s\"", cases[i].query, s->body.p);
        assert_int_equal(s->asked_previous, strstr(cases[i].query, "previous") != NULL);
    }
}

static void refuses_what_makes_no_sense(void **state)
{
    static const struct {
        const char *query, *says;
    } cases[] = {
        { "tailLines=x", "tailLines: must be a number of at least 0, not \"x\"\n" },
        { "tailLines=-1", "tailLines: must be a number of at least 0, not \"-1\"\n" },
        { "limitBytes=1k", "limitBytes: must be" },
        { "sinceSeconds=1.5", "sinceSeconds: must be" },
        { "sinceTime=yesterday", "sinceTime: " },
        { "stream=Both", "stream: must be All, Stdout or Stderr\n" },
    };
    struct stand *s = *state;

    s->allows = true;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf path = { 0 };

        buf_fmt(&path, "/containerLogs/ns/p/c?%s", cases[i].query);
        assert_int_equal(stand_ask(s, "GET", path.p, ALICE), 400);
        if (strncmp(s->body.p, cases[i].says, strlen(cases[i].says)) != 0)
            fail_msg("%s: %s", cases[i].query, s->body.p);
    }
    (void)err_set(&s->log_fails, ERR_NOT_FOUND, "pod \"p\" not found");
    assert_int_equal(stand_ask(s, "GET", "/containerLogs/ns/p/c", ALICE), 404);
    assert_string_equal(s->body.p, "pod \"p\" not found\n");
    (void)err_set(&s->log_fails, ERR_INVALID, "container \"c\" in pod \"p\" is waiting to start: x");
    assert_int_equal(stand_ask(s, "GET", "/containerLogs/ns/p/c", ALICE), 400);
}

static void until_has(struct stand *s, const char *text)
{
    for (int i = 0; i < 20000 && !(s->body.n && str_has(buf_view(&s->body), str_of(text))); i++)
        stand_turn(s, 20);
    assert_true(str_has(buf_view(&s->body), str_of(text)));
}

static void follows_to_the_end(void **state)
{
    struct stand *s = *state;
    struct conlog *l;

    s->allows = s->log_grows = true;
    write_logs(s);
    assert_int_equal(conlog_open(stand_log(s, 1), 0, &l, NULL), 0);
    (void)stand_send(s, "GET", "/containerLogs/ns/p/c?follow=true&tailLines=1", ALICE);
    until_has(s, "end\n");
    conlog_put(l, CONLOG_STDOUT, STR("more\n"), T0_NS + 5000000000);
    conlog_flush(l);
    until_has(s, "more\n");
    assert_false(s->is_over);
    conlog_put(l, CONLOG_STDERR, STR("last\n"), T0_NS + 6000000000);
    conlog_close(l);
    s->log_grows = false;
    while (!s->is_over)
        stand_turn(s, 20);
    assert_int_equal(s->status, 200);
    assert_string_equal(s->body.p, "end\nmore\nlast\n");

    s->log_grows = true; /* and one that is cut off with the server, or by its client, takes nothing with it */
    struct http_exchange *x = stand_send(s, "GET", "/containerLogs/ns/p/c?follow=true", ALICE);
    until_has(s, "last\n");
    http_cancel(x);
    for (int i = 0; i < 20; i++)
        stand_turn(s, 5);
    assert_true(list_is_empty(&s->kubelet->logs));
    (void)stand_send(s, "GET", "/containerLogs/ns/p/c?follow=true", ALICE);
    until_has(s, "last\n");
}

/* A pod's own pages are below the prefix, wherever it thinks it is; all else stays. */
static void locations(void **state)
{
    static const struct proxy_names names = { STR_INIT("/p"), STR_INIT("here:6443"), STR_INIT("10.0.0.2:80") };
    static const struct {
        const char *url, *want;
    } rows[] = {
        { "/a/b?c=/d", "/p/a/b?c=/d" },
        { "/", "/p/" },
        { "/p/a", "/p/a" },
        { "http://10.0.0.2:80/a", "/p/a" },
        { "https://here:6443/a/", "/p/a/" },
        { "//10.0.0.2:80/a", "/p/a" },
        { "http://here:6443/p/a", "/p/a" },
        { "a/b", "a/b" },
        { "?a", "?a" },
        { "", "" },
        { "http://10.0.0.2:80", "http://10.0.0.2:80" },
        { "http://10.0.0.2:81/a", "http://10.0.0.2:81/a" },
        { "http://example.com/a", "http://example.com/a" },
        { "//example.com/a", "//example.com/a" },
        { "mailto:a@b", "mailto:a@b" },
    };
    autoarena a = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str got = proxy_location(&a, str_of(rows[i].url), &names);

        if (!str_is(got, rows[i].want))
            fail_msg("\"%s\": \"%.*s\"", rows[i].url, STR_ARG(got));
    }
}

/* The store has deleted a pod a turn before the agent hears of it: whoever asks in between gets the records as well. */
static void knows_pods_that_were_deleted(void **state)
{
    struct stand *s = *state;
    struct agent_place pod = { STR("ns"), STR("pod"), STR_NULL }, other = { STR("ns"), STR("other"), STR_NULL };

    assert_false(kubelet_knew(s->kubelet, &pod, STR("u1")));
    s->pod_uid = STR("u1");
    assert_true(kubelet_knew(s->kubelet, &pod, STR("u1")));
    assert_false(kubelet_knew(s->kubelet, &other, STR("u1"))); /* the right is by the name */
    assert_false(kubelet_knew(s->kubelet, &pod, STR("u2")));
    kubelet_pod_leaves(s->kubelet, &pod, STR("u1"));
    s->pod_uid = STR_NULL;
    assert_true(kubelet_knew(s->kubelet, &pod, STR("u1")));
    assert_false(kubelet_knew(s->kubelet, &other, STR("u1")));
}

#define KUBELET_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        KUBELET_TEST(finds_its_routes),
        KUBELET_TEST(knows_who_asks),
        KUBELET_TEST(says_that_it_cannot_know),
        KUBELET_TEST(asks_for_the_right_that_is_needed),
        KUBELET_TEST(believes_for_a_while),
        KUBELET_TEST(a_client_that_leaves_is_forgotten),
        KUBELET_TEST(shows_what_is_asked_for),
        KUBELET_TEST(refuses_what_makes_no_sense),
        KUBELET_TEST(follows_to_the_end),
        KUBELET_TEST(knows_pods_that_were_deleted),
        cmocka_unit_test(locations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
