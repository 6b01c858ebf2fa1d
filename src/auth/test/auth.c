/* auth.c - tests: a server that answers what it was told about its caller, asked over a socket of ours */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "auth/auth.h"

#include "auth/test/place.h"
#include "auth/users.h"
#include "base/log.h"
#include "os/io.h"

#include <poll.h>
#include <sys/socket.h>

static struct auth *auth;
static struct http_server *http;
static struct users *users; /* of a command beside the server */
static char audit_path[100];

/* "GET /pods" asks for pods of the namespace "lab"; "GET /pods?watch" for an answer that has no end. */
static void on_request(void *ctx, struct http_call *call)
{
    autoarena a = { 0 };
    struct rbac_question q = { .verb = str_is(call->method, "POST") ? STR("create") : STR("list"),
                               .resource = arena_str(&a, str_from(call->path, 1)),
                               .namespace = STR("lab") };
    struct auth_caller caller;
    struct str text;
    bool lasts = str_is(call->query, "watch");
    int status = auth_call_begin(auth, &a, call, lasts ? THROTTLE_STREAM : THROTTLE_REQUEST, &caller);

    (void)ctx;
    if (status) {
        text = arena_fmt(&a, "%d %.*s", status, STR_ARG(caller.refusal.message));
    } else {
        status = auth_allows(auth, &a, &caller, &q, NULL) ? 200 : 403;
        text = arena_fmt(&a, "%d %.*s", status, STR_ARG(caller.who.user));
        if (status == 200 && lasts) {
            auth_hold(auth, &caller, &q, call);
            http_answer_begin(call, &(struct http_reply){ .status = 200 });
        }
        auth_call_end(auth, &caller, &(struct auth_done){ .question = &q, .version = STR("v1"), .status = status });
    }
    if (status == 200 && lasts)
        return;
    http_answer(call, &(struct http_reply){ .status = 200 }, text);
}

/* As the loop of a server does: a user who was removed is nobody in the next turn. */
static void turn(void)
{
    auth_hear(auth);
    http_server_turn(http);
    auth_heard(auth);
}

static int begin(void **state)
{
    static const char *const names[] = { "localhost", NULL };
    char pki[100];
    struct audit_options audit = { .path = audit_path };
    struct auth_options opt = { .dir = pki, .names = names, .audit = &audit };
    struct err e;

    (void)log_setup((struct log_config){ .fd = -1, .level = LOG_LEVEL_ERROR });
    if (place_begin(state) < 0)
        return -1;
    (void)snprintf(audit_path, sizeof(audit_path), "%s/audit", here.path);
    (void)snprintf(pki, sizeof(pki), "%s/pki", here.path);
    opt.store = here.store;
    opt.clock = &here.clock.clock;
    if (auth_open(&opt, &auth, &e) < 0 ||
        http_server_new(&(struct http_server_options){ .on_request = on_request }, &http, &e) < 0)
        fail_msg("%s", e.text);
    close(here.dir);
    return secret_dir_open(pki, &here.dir, NULL) < 0 ? -1 : users_open(here.dir, &users, NULL);
}

static int end(void **state)
{
    http_server_free(http);
    auth_free(auth);
    users_free(users);
    return place_end(state);
}

/* What it answers. */
static const char *ask(struct str request)
{
    char answer[4000] = "";
    size_t got = 0;
    int pair[2];
    const char *body;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    assert_int_equal(http_server_add(http, pair[0], NULL), 0);
    assert_int_equal(write_all(pair[1], request), 0);
    for (int i = 0; i < 1000; i++) {
        ssize_t n;

        turn();
        n = read(pair[1], answer + got, sizeof(answer) - 1 - got);
        if (n == 0)
            break;
        got += n > 0 ? (size_t)n : 0;
        (void)poll(&(struct pollfd){ http_server_fd(http), POLLIN, 0 }, 1, 1);
    }
    close(pair[1]);
    answer[got] = '\0';
    body = strstr(answer, "\r\n\r\n");
    return body ? arena_str(&here.arena, str_of(body + 4)).p : "no answer";
}

static const char *as(const char *request, const struct buf *token, const char *more)
{
    return ask(arena_fmt(
        &here.arena,
        "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\nAuthorization: Bearer %s\r\n%s%s\r\n",
        request, token->p, more, more[0] ? "\r\n" : ""));
}

static void add(const char *name, enum user_role role, const char *group)
{
    struct str ns = STR("lab"), g = str_of(group);
    struct user_spec spec = { .name = str_of(name),
                              .role = role,
                              .namespaces = &ns,
                              .n_namespaces = role ? 1 : 0,
                              .groups = &g,
                              .n_groups = g.n ? 1 : 0,
                              .unix_uid = -1 };

    assert_int_equal(users_add(users, &spec, now_ms, NULL, NULL), 0);
}

/* The other end of a watch that has begun. */
static int watch_as(const struct buf *token)
{
    struct str request = arena_fmt(&here.arena,
                                   "GET /pods?watch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", token->p);
    char text[1000];
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    assert_int_equal(http_server_add(http, pair[0], NULL), 0);
    assert_int_equal(write_all(pair[1], request), 0);
    while (read(pair[1], text, sizeof(text)) <= 0)
        turn();
    assert_memory_equal(text, "HTTP/1.1 200", 12);
    return pair[1];
}

static bool has_ended(int fd)
{
    bool changed;
    char c;

    (void)auth_turn(auth, &changed);
    turn();
    return read(fd, &c, 1) == 0;
}

/* What lasts ends with who opened it, with what he was known by, or with what he may. */
static void holds(void **state)
{
    autobuf token = { 0 }, brief = { 0 };
    int removed, ended, forbidden;

    (void)state;
    add("ann", USER_EDIT, "");
    add("bob", USER_EDIT, "");
    add("eve", USER_NO_ROLE, "dev");
    assert_int_equal(users_add_token(users, &(struct user_term){ STR("ann"), now_ms }, &token, NULL), 0);
    assert_int_equal(users_add_token(users, &(struct user_term){ STR("bob"), now_ms, DAY_MS }, &brief, NULL), 0);
    removed = watch_as(&token);
    ended = watch_as(&brief);
    buf_reset(&token);
    assert_int_equal(users_add_token(users, &(struct user_term){ STR("eve"), now_ms }, &token, NULL), 0);
    put("{'apiVersion':'rbac.authorization.k8s.io/"
        "v1','kind':'RoleBinding','metadata':{'name':'b','namespace':'lab'},'roleRef':{'kind':'ClusterRole',"
        "'name':'view'},'subjects':[{'kind':'Group','name':'dev'}]}");
    forbidden = watch_as(&token);
    assert_false(has_ended(removed) || has_ended(ended) || has_ended(forbidden));
    assert_int_equal(users_remove(users, STR("ann"), NULL), 0);
    assert_true(has_ended(removed)); /* at once: the clock stands still */
    assert_false(has_ended(ended) || has_ended(forbidden));
    clock_manual_advance(&here.clock, DAY_MS);
    assert_true(has_ended(ended));
    assert_int_equal(
        store_delete(here.store,
                     &(struct object_key){ type_by_kind(STR("rbac.authorization.k8s.io/v1"), STR("RoleBinding")),
                                           STR("lab"), STR("b") },
                     &(struct store_delete_options){ .grace_s = 0 }, NULL, NULL),
        0);
    clock_manual_advance(&here.clock, 1000);
    assert_true(has_ended(forbidden));
    close(removed);
    close(ended);
    close(forbidden);
}

static void people(void **state)
{
    autobuf token = { 0 }, boss = { 0 };
    autobuf log = { 0 };

    (void)state;
    add("ann", USER_EDIT, "");
    add("boss", USER_NO_ROLE, GROUP_MASTERS);
    assert_int_equal(users_add_token(users, &(struct user_term){ STR("ann"), now_ms }, &token, NULL), 0);
    assert_int_equal(users_add_token(users, &(struct user_term){ STR("boss"), now_ms }, &boss, NULL), 0);
    assert_string_equal(as("POST /pods", &token, ""),
                        "200 ann"); /* she was added while it runs, and her bindings with her */
    assert_string_equal(as("GET /roles", &token, ""), "403 ann");
    assert_string_equal(as("GET /nodes", &boss, ""), "200 boss");
    assert_string_equal(as("GET /nodes", &boss, "Impersonate-User: ann"), "403 ann");
    assert_string_equal(as("GET /pods", &boss, "Impersonate-User: ann"), "200 ann");
    assert_string_equal(as("GET /pods", &token, "Impersonate-User: boss"),
                        "403 users \"boss\" is forbidden: User \"ann\" cannot impersonate resource \"users\" in API "
                        "group \"\" at the cluster scope");
    assert_string_equal(as("GET /pods", &token, "Impersonate-Group: x"),
                        "400 Impersonate-User: is missing; groups, uid and extra need a user");
    assert_string_equal(as("GET /pods", &token, ""), "200 ann");
    assert_int_equal(users_remove(users, STR("ann"), NULL), 0);
    assert_string_equal(as("GET /pods", &token, ""), "401 Unauthorized");
    assert_null(store_get(here.store, type_by_kind(STR("rbac.authorization.k8s.io/v1"), STR("RoleBinding")), STR("lab"),
                          STR("pumice:user:ann")));
    assert_int_equal(file_read(AT_FDCWD, audit_path, 0, 1 << 20, &log), 0);
    assert_non_null(strstr(log.p, "\"impersonatedUser\":{\"username\":\"ann\""));
    assert_non_null(strstr(
        log.p,
        "RBAC: allowed by RoleBinding \\\"pumice:user:ann/lab\\\" of ClusterRole \\\"edit\\\" to User \\\"ann\\\""));
    assert_null(strstr(log.p, token.p));
    assert_null(strstr(log.p, boss.p));
}

static void turns(void **state)
{
    autobuf metrics = { 0 };
    bool changed;

    (void)state;
    (void)auth_turn(auth, &changed);
    assert_false(changed);
    clock_manual_advance(&here.clock, 300 * DAY_MS);
    (void)auth_turn(auth, &changed);
    assert_true(changed && auth_tls(auth)->cert.n && auth_tls(auth)->client_ca.n);
    (void)auth_turn(auth, &changed);
    assert_false(changed);
    auth_metrics(auth, &metrics);
    assert_non_null(strstr(metrics.p, "pumice_audit_lost_total 0\n"));
}

static void tokens(void **state)
{
    struct auth_caller admin = { .who = { .user = STR("x") } };
    struct json *answer;
    autobuf token = { 0 };
    struct err e;

    (void)state;
    put("{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'name':'bot','namespace':'lab'}}");
    put("{'apiVersion':'rbac.authorization.k8s.io/"
        "v1','kind':'RoleBinding','metadata':{'name':'b','namespace':'lab'},'roleRef':{'kind':'ClusterRole',"
        "'name':'view'},'subjects':[{'kind':'ServiceAccount','name':'bot'}]}");
    assert_int_equal(auth_token_request(
                         auth, &here.arena,
                         &(struct account_request){ .namespace = STR("lab"), .name = STR("bot"), .body = parse("{}") },
                         &answer, &e),
                     0);
    buf_str(&token, json_member_text(json_get(answer, "status"), "token"));
    assert_string_equal(as("GET /pods", &token, ""), "200 system:serviceaccount:lab:bot");
    assert_string_equal(as("POST /pods", &token, ""), "403 system:serviceaccount:lab:bot");
    assert_int_equal(
        auth_review(auth, &here.arena,
                    &(struct auth_review){ .caller = &admin, .kind = STR("SelfSubjectReview"), .object = parse("{}") },
                    &answer, &e),
        0);
    assert_int_equal(auth_review(auth, &here.arena,
                                 &(struct auth_review){ .caller = &admin, .kind = STR("Pod"), .object = parse("{}") },
                                 &answer, &e),
                     -1);
    assert_int_equal(
        auth_check_write(auth, &here.arena,
                         &(struct rbac_write){ &admin.who,
                                               parse("{'apiVersion':'rbac.authorization.k8s.io/"
                                                     "v1','kind':'ClusterRole','metadata':{'name':'n'},'rules':["
                                                     "{'verbs':['get'],'apiGroups':[''],'resources':['pods']}]}"),
                                               NULL },
                         &e),
        -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(people, begin, end),
        cmocka_unit_test_setup_teardown(holds, begin, end),
        cmocka_unit_test_setup_teardown(turns, begin, end),
        cmocka_unit_test_setup_teardown(tokens, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
