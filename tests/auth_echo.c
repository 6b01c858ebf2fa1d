/* auth_echo.c - a server that says who asks, and whether he may: src/auth behind TLS, without anything else
 *
 *     auth_echo DIR       DIR/pki is that of `pumice server user --data-dir DIR`; prints its port, ends with its input
 *
 * "/NAMESPACE/RESOURCE" asks for a resource (GET list, POST create), any other path for itself.
 */
#include "auth/auth.h"
#include "base/clock.h"
#include "base/util.h"
#include "store/store.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>

static struct auth *auth;

static struct rbac_question question_of(const struct http_call *call)
{
    struct rbac_question q = { .verb = str_is(call->method, "POST") ? STR("create") : STR("list") };
    struct str rest = str_from(call->path, 1);

    if (str_has_char(rest, '/') && str_split(&rest, '/', &q.namespace))
        q.resource = rest;
    else
        q = (struct rbac_question){ .verb = STR("get"), .path = call->path };
    return q;
}

static void answer(struct http_call *call, struct arena *a, int status, struct str user, struct str text, int wait_s)
{
    const char *headers[] = { arena_fmt(a, "Retry-After: %d", wait_s).p, NULL };
    struct json *j = json_object(a);
    autobuf body = { 0 };

    json_set(j, "user", json_str(a, user));
    json_set(j, "text", json_str(a, text));
    json_print(&body, j);
    http_answer(
        call, &(struct http_reply){ .status = status, .type = "application/json", .headers = wait_s ? headers : NULL },
        buf_view(&body));
}

static void on_request(void *ctx, struct http_call *call)
{
    struct rbac_question q = question_of(call);
    struct auth_caller caller;
    struct auth_done done = { .question = &q, .version = STR("v1"), .status = 200 };
    autoarena a = { 0 };
    struct str reason;

    (void)ctx;
    if (auth_call_begin(auth, &a, call, THROTTLE_REQUEST, &caller)) {
        answer(call, &a, caller.refusal.status, STR_NULL, caller.refusal.message, caller.refusal.retry_after_s);
        return;
    }
    if (!auth_allows(auth, &a, &caller, &q, &reason))
        done.status = 403;
    auth_call_end(auth, &caller, &done);
    answer(call, &a, done.status, caller.who.user,
           done.status == 403 ? rbac_forbidden(&a, &caller.who, &q, reason) : reason, 0);
}

static int fail(const struct err *e)
{
    (void)fprintf(stderr, "auth_echo: %s\n", e->text);
    return 1;
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "localhost", "127.0.0.1", "::1", NULL };
    struct store *store = store_new(&(struct store_options){ .clock = &clock_real, .seed = 1 });
    autoarena a = { 0 };
    struct audit_options audit = { .path = arena_fmt(&a, "%s/audit.log", argc > 1 ? argv[1] : ".").p };
    struct throttle_limits limits = { .rate = 1, .burst = 300 };
    struct auth_options opt = { .dir = arena_fmt(&a, "%s/pki", argc > 1 ? argv[1] : ".").p,
                                .names = names,
                                .store = store,
                                .audit = &audit,
                                .limits = &limits };
    struct http_server_options server = { .address = "127.0.0.1:0", .on_request = on_request };
    struct http_server *http;
    struct err e;
    bool changed;

    (void)signal(SIGPIPE, SIG_IGN);
    if (auth_open(&opt, &auth, &e) < 0)
        return fail(&e);
    server.tls = auth_tls(auth);
    if (http_server_new(&server, &http, &e) < 0)
        return fail(&e);
    (void)printf("%u\n", http_server_port(http));
    (void)fflush(stdout);
    for (;;) {
        struct pollfd fds[] = { { http_server_fd(http), POLLIN, 0 }, { 0, POLLIN, 0 } };

        (void)poll(fds, 2, 1000);
        if (fds[1].revents)
            break;
        http_server_turn(http);
        (void)auth_turn(auth, &changed);
    }
    http_server_free(http);
    auth_free(auth);
    store_free(store);
    return 0;
}
