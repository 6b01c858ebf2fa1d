/* kubelet.c - open, turn, close; routing of requests */
#include "kubelet/kubelet_internal.h"

#include "base/codec.h"
#include "json/json.h"

#include <sys/epoll.h>

/* No request has a body. All of them come from the API server, on behalf of its clients. */
enum { EVENTS = 64, BODY_BYTES = 64 << 10, TENANT_BYTES = 256 << 20 };

/* ---- requests ---- */

static void serve_pods(const struct target *t)
{
    autobuf out = { 0 };

    json_print(&out, agent_pods_show(t->kubelet->opt.agent, t->arena));
    http_answer(t->call, &(struct http_reply){ .status = 200, .type = "application/json" }, buf_view(&out));
}

static void serve_health(const struct target *t)
{
    answer_text(t->kubelet, t->call, 200, "ok");
}

enum kubelet_parts { PARTS_NONE, PARTS_POD, PARTS_CONTAINER }; /* of the path, after its first word */

static const struct kubelet_route {
    const char *path, *subresource;
    enum kubelet_parts parts;
    bool may_act; /* it does more than look: by GET too (WebSockets), so the right to look is not enough */
    void (*serve)(const struct target *t);
} routes[] = {
    { "containerLogs", "proxy", PARTS_CONTAINER, false, serve_logs },
    { "exec", "proxy", PARTS_CONTAINER, true, serve_exec },
    { "attach", "proxy", PARTS_CONTAINER, true, serve_attach },
    { "portForward", "proxy", PARTS_POD, true, serve_tunnel },
    { "pods", "proxy", PARTS_NONE, false, serve_pods },
    { "metrics/resource", "metrics", PARTS_NONE, false, serve_usage },
    { "healthz", "proxy", PARTS_NONE, false, serve_health },
};

/* '*ret_rest' is what follows the route's own words. */
static const struct kubelet_route *find_route(struct str path, struct str *ret_rest)
{
    path = str_from(path, 1);
    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        struct str own = str_of(routes[i].path);

        if (!str_starts(path, own) || (path.n > own.n && path.p[own.n] != '/'))
            continue;
        *ret_rest = path.n > own.n ? str_from(path, own.n + 1) : STR_NULL;
        return &routes[i];
    }
    return NULL;
}

/* NAMESPACE/POD, NAMESPACE/POD/UID, and a container at the end where there is to be one. */
static bool read_place(const struct kubelet_route *r, struct str rest, struct target *t)
{
    struct str parts[4], part;
    size_t n = 0, least = r->parts == PARTS_NONE ? 0 : r->parts == PARTS_POD ? 2 : 3;

    while (rest.n && str_split(&rest, '/', &part)) {
        autobuf text = { 0 };

        if (n == ARRAY_LEN(parts) || !part.n || percent_parse(part, false, &text) < 0)
            return false;
        parts[n++] = arena_str(t->arena, buf_view(&text));
    }
    if (n < least || n > least + (least > 0))
        return false;
    if (least)
        t->place = (struct agent_place){ parts[0], parts[1], least == 3 ? parts[n - 1] : STR_NULL };
    return true;
}

void kubelet_serve(struct kubelet *k, struct http_call *call)
{
    autoarena a = { 0 };
    struct target t = { .kubelet = k, .arena = &a, .call = call };
    struct str rest;
    const struct kubelet_route *r = find_route(call->path, &rest);

    if (!r || !read_place(r, rest, &t))
        answer_text(k, call, 404, "404 page not found");
    else if (!str_is(call->method, "GET") && !(r->may_act && str_is(call->method, "POST")))
        answer_text(k, call, 405, "405 method not allowed");
    else
        r->serve(&t);
}

void kubelet_take(struct kubelet *k, struct http_call *call, enum kubelet_action what, const struct agent_place *where)
{
    static void (*const serve[KUBELET_ACTION_MAX])(const struct target *t) = { [KUBELET_LOGS] = serve_logs,
                                                                               [KUBELET_RECORDS] = serve_records,
                                                                               [KUBELET_EXEC] = serve_exec,
                                                                               [KUBELET_ATTACH] = serve_attach,
                                                                               [KUBELET_FORWARD] = serve_tunnel };
    autoarena a = { 0 };

    serve[what](&(struct target){ k, &a, call, *where });
}

static void kubelet_on_request(void *ctx, struct http_call *call)
{
    struct str rest;
    const struct kubelet_route *r = find_route(call->path, &rest);

    auth_begin(ctx, call, r ? r->subresource : "proxy", r && r->may_act);
}

/* ---- for the others ---- */

bool target_flag(const struct target *t, const char *name, const char *other)
{
    autobuf text = { 0 };

    if (!http_call_param(t->call, name, &text) && !(other && http_call_param(t->call, other, &text)))
        return false;
    return !str_is(buf_view(&text), "0") && !str_eq_nocase(buf_view(&text), STR("false")); /* Python writes "True" */
}

int target_number(const struct target *t, const char *name, int64_t fallback, int64_t *ret)
{
    autobuf text = { 0 }, why = { 0 };

    *ret = fallback;
    if (!http_call_param(t->call, name, &text) || !text.n || (str_to_i64(buf_view(&text), ret) == 0 && *ret >= 0))
        return 0;
    buf_fmt(&why, "%s: must be a number of at least 0, not \"%.*s\"", name, STR_ARG(str_sub(buf_view(&text), 0, 40)));
    answer_text(t->kubelet, t->call, 400, why.p);
    return -1;
}

void answer_text(struct kubelet *k, struct http_call *call, int status, const char *text)
{
    autobuf line = { 0 };

    if (status != 200 && k->opt.refuse) {
        k->opt.refuse(call, status, str_of(text));
        return;
    }
    buf_fmt(&line, "%s\n", text);
    http_answer(call, &(struct http_reply){ .status = status }, status == 200 ? str_of(text) : buf_view(&line));
}

void answer_error(struct kubelet *k, struct http_call *call, const struct err *e)
{
    static const struct {
        enum err_code code;
        int status;
    } codes[] = { { ERR_INVALID, 400 }, { ERR_NOT_FOUND, 404 }, { ERR_CONFLICT, 409 }, { ERR_FORBIDDEN, 403 } };
    int status = 500;

    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (codes[i].code == e->code)
            status = codes[i].status;
    answer_text(k, call, status, e->text);
}

void source_watch(struct kubelet *k, struct kubelet_source *s, uint32_t events)
{
    struct epoll_event ev = { .events = events, .data.ptr = s };

    if (s->fd < 0 || s->events == events)
        return;
    if (!s->events)
        (void)epoll_ctl(k->epoll, EPOLL_CTL_ADD, s->fd, &ev); /* memory alone could be missing */
    else
        (void)epoll_ctl(k->epoll, events ? EPOLL_CTL_MOD : EPOLL_CTL_DEL, s->fd, &ev);
    s->events = events;
}

void source_close(struct kubelet *k, struct kubelet_source *s)
{
    if (s->fd < 0)
        return;
    source_watch(k, s, 0);
    close(s->fd);
    s->fd = -1;
}

/* ---- open, turn, close ---- */

int kubelet_open(const struct kubelet_options *opt, struct kubelet **ret, struct err *e)
{
    struct kubelet *k = xcalloc(1, sizeof(*k));
    struct http_server_options server = {
        .address = opt->address,
        .tls = &opt->tls,
        .limits = { .body_bytes = BODY_BYTES, .tenant_bytes = TENANT_BYTES },
        .ctx = k,
        .on_request = kubelet_on_request,
    };
    struct epoll_event ev = { .events = EPOLLIN };

    k->opt = *opt;
    map_init(&k->verdicts, map_seed_default());
    list_init(&k->requests);
    list_init(&k->logs);
    list_init(&k->records);
    list_init(&k->left);
    list_init(&k->execs);
    list_init(&k->tunnels);
    list_init(&k->proxies);
    k->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (k->epoll < 0) {
        (void)err_errno(e, "epoll");
    } else if (!opt->address) {
        *ret = k;
        return 0;
    } else if (http_server_new(&server, &k->server, e) == 0) {
        if (epoll_ctl(k->epoll, EPOLL_CTL_ADD, http_server_fd(k->server), &ev) == 0) {
            *ret = k;
            return 0;
        }
        (void)err_errno(e, "epoll");
    }
    kubelet_close(k);
    return -1;
}

/* The server ends all calls and streams, so free what belongs to them first. */
void kubelet_close(struct kubelet *k)
{
    if (!k)
        return;
    execs_done(k);
    tunnels_done(k);
    pod_proxies_done(k);
    logs_done(k);
    records_done(k);
    http_server_free(k->server);
    auth_done(k);
    map_done(&k->verdicts);
    if (k->epoll >= 0)
        close(k->epoll);
    free(k);
}

struct str kubelet_node(const struct kubelet *k)
{
    return k->opt.node_name;
}

unsigned kubelet_port(const struct kubelet *k)
{
    return http_server_port(k->server);
}

int kubelet_set_tls(struct kubelet *k, const struct http_server_tls *tls, struct err *e)
{
    return http_server_set_tls(k->server, tls, e);
}

int kubelet_fd(const struct kubelet *k)
{
    return k->epoll;
}

int64_t kubelet_turn(struct kubelet *k)
{
    struct epoll_event ev[EVENTS];
    int n = epoll_wait(k->epoll, ev, EVENTS, 0);

    /* One at a time: what is done about the first may close the second. */
    for (int i = 0; i < MIN_OF(n, 1); i++) {
        struct kubelet_source *s = ev[i].data.ptr;

        if (s)
            s->on_ready(s);
    }
    if (k->server)
        http_server_turn(k->server);
    logs_turn(k);
    records_turn(k);
    return n > 1 ? 0 : MIN_OF(logs_due_ms(k), records_due_ms(k));
}
