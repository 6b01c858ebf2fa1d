/* shapes_world.c - a server, its controllers and a node on one store */
#include "server/test/shapes_world.h"

#include "api/test/shapes_base.h"
#include "api/types.h"
#include "auth/auth.h"
#include "base/log.h"
#include "cluster/cluster.h"
#include "driver/driver.h"
#include "node/agent/test/agent_world.h"
#include "plugin/plugin.h"
#include "server/server.h"
#include "server/server_internal.h"

#include <sys/socket.h>

enum { TURNS = 50 };

struct shapes_world {
    struct world *host; /* store, clock, agent */
    struct auth *auth;
    struct server *server;
    struct http_server *http;
    struct cluster *door;
    struct driver *driver;
    int fd;
    struct buf heard;
};

static char keys_dir[] = "/tmp/shapes-keys.XXXXXX"; /* made once: that is what takes long */

static void remove_keys(void)
{
    remove_tree(keys_dir);
}

static void make_keys_dir(void)
{
    static bool is_made;

    if (!is_made)
        is_made = mkdtemp(keys_dir) && atexit(remove_keys) == 0;
    assert_true(is_made);
}

static int constant_keys(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e)
{
    (void)ctx, (void)a, (void)type, (void)e;
    *ret = (struct ssh_keys){ STR("private"), STR("public") };
    return 0;
}

/* ---- asking ---- */

static void connect_client(struct shapes_world *w)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(http_server_add(w->http, pair[1], NULL), 0);
    w->fd = pair[0];
}

static bool reply_is_whole(struct str heard, struct shapes_reply *ret)
{
    const char *end = memmem(heard.p, heard.n, "\r\n\r\n", 4), *length;
    size_t head_n = end ? (size_t)(end - heard.p) + 4 : 0, n;

    if (!end || !(length = memmem(heard.p, head_n, "Content-Length: ", 16)))
        return false;
    n = strtoul(length + 16, NULL, 10);
    *ret = (struct shapes_reply){ (int)strtol(heard.p + strlen("HTTP/1.1 "), NULL, 10), str_sub(heard, head_n, n) };
    return heard.n >= head_n + n;
}

static void print_request(struct buf *out, const struct shapes_ask *q)
{
    buf_fmt(out, "%s %s%s HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\n", q->method, q->path, q->query);
    if (q->is_tenant)
        buf_str(out, STR("Impersonate-User: tenant\r\n"));
    if (q->media)
        buf_fmt(out, "Content-Type: %s\r\n", q->media);
    buf_fmt(out, "Content-Length: %zu\r\n\r\n", q->body.n);
    buf_append(out, q->body.p, q->body.n);
}

struct shapes_reply shapes_ask(struct shapes_world *w, const struct shapes_ask *q, char *ret_sent, size_t sent_size)
{
    struct shapes_reply reply = { 0 };
    autobuf out = { 0 };
    char bytes[65536];
    ssize_t n = 0;

    print_request(&out, q);
    (void)snprintf(ret_sent, sent_size, "%.*s", (int)out.n, out.p);
    w->heard.n = 0;
    assert_int_equal(send(w->fd, out.p, out.n, MSG_NOSIGNAL), out.n);
    for (int i = 0; i < TURNS; i++) {
        http_server_turn(w->http);
        while ((n = recv(w->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
            buf_append(&w->heard, bytes, (size_t)n);
        if (reply_is_whole(buf_view(&w->heard), &reply) || n == 0)
            break;
    }
    if (n == 0 || !reply.code) { /* it was closed, or there is no answer that could be waited for */
        close(w->fd);
        connect_client(w);
    }
    return reply;
}

/* ---- paths ---- */

const char *shapes_name(const struct resource_type *t)
{
    return strcmp(t->kind, "CustomResourceDefinition") == 0 ? "things.shapes.test" : "x";
}

const char *shapes_path(const struct resource_type *t, const char *name, const char *sub)
{
    static char path[512];

    (void)snprintf(path, sizeof(path), "%s%s/%s%s/%s%s%s%s%s", t->group[0] ? "/apis/" : "/api", t->group, t->version,
                   t->scope == SCOPE_NAMESPACED ? "/namespaces/default" : "", t->plural, name ? "/" : "",
                   name ? name : "", sub ? "/" : "", sub ? sub : "");
    return path;
}

/* ---- the beginning ---- */

static void create_one(struct shapes_world *w, const struct resource_type *t)
{
    autobuf body = { 0 };
    const char *rest = shapes_base(t->kind) + 1; /* without the first brace */
    struct shapes_ask q = { "POST", shapes_path(t, NULL, NULL), "", "application/json", .is_tenant = false };
    char sent[4096];
    int code;

    buf_fmt(&body, "{\"apiVersion\":\"%s%s%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\"}%s%s", t->group,
            t->group[0] ? "/" : "", t->version, t->kind, shapes_name(t), strcmp(rest, "}") == 0 ? "" : ",", rest);
    q.body = buf_view(&body);
    code = shapes_ask(w, &q, sent, sizeof(sent)).code;
    if (code != 201 && code != 409)
        fail_msg("%d\n%s\n%.*s", code, sent, STR_ARG(buf_view(&w->heard)));
}

static void create_bare(struct shapes_world *w, struct arena *a, const struct resource_type *t)
{
    struct json *j = object_new(a, arena_cstr(a, type_api_version(a, t)), t->kind,
                                t->scope == SCOPE_NAMESPACED ? STR("default") : STR_NULL, STR(SHAPES_BARE));

    if (!view_stored(t) && strcmp(t->kind, "CustomResourceDefinition") != 0) /* nobody but a client makes one */
        assert_int_equal(store_create(w->host->store, j, NULL, NULL), 0);
}

static void let_tenant(struct shapes_world *w)
{
    static const char body[] =
        "{\"metadata\":{\"name\":\"tenant\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":"
        "\"ClusterRole\",\"name\":\"cluster-admin\"},\"subjects\":[{\"kind\":\"User\",\"name\":\"tenant\",\"apiGroup\":"
        "\"rbac.authorization.k8s.io\"}]}";
    struct shapes_ask q = { "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                            "",     "application/json",
                            false,  str_of(body) };
    char sent[1024];

    assert_int_equal(shapes_ask(w, &q, sent, sizeof(sent)).code, 201);
}

static void create_objects(struct shapes_world *w)
{
    autoarena a = { 0 };
    const struct resource_type **types;
    size_t n;

    create_one(w, type_by_kind(STR("apiextensions.k8s.io/v1"), STR("CustomResourceDefinition")));
    shapes_think(w);
    n = types_served(w->server, &a, &types);
    for (size_t i = 0; i < n; i++)
        if (types[i]->use == TYPE_STORED) {
            create_one(w, types[i]);
            create_bare(w, &a, types[i]);
        }
    shapes_think(w);
}

struct shapes_world *shapes_world_new(void)
{
    struct shapes_world *w = xcalloc(1, sizeof(*w));
    struct server_options server = { 0 };
    struct auth_options auth = { .dir = keys_dir };
    struct http_server_options http = { .on_request = server_request };
    struct driver_options driver = {
        .schedules = true, .collects_garbage = true, .assumes_answers = true, .seed = 1, .make_keys = constant_keys
    };
    struct err e;

    (void)log_setup((struct log_config){ 2, LOG_LEVEL_ERROR });
    make_keys_dir();
    w->host = world_new(NULL);
    server.clock = auth.clock = http.clock = &w->host->clock.clock;
    server.store = auth.store = w->host->store;
    if (auth_open(&auth, &w->auth, &e) < 0)
        fail_msg("%s", e.text);
    server.auth = w->auth;
    http.ctx = w->server = server_new(&server);
    assert_int_equal(http_server_new(&http, &w->http, NULL), 0);
    w->door = cluster_embedded_new(server.store, server.clock);
    cluster_embedded_complete(w->door, server_complete, w->server);
    w->driver = driver_new(w->door, &driver);
    connect_client(w);
    shapes_think(w);
    let_tenant(w);
    create_objects(w);
    return w;
}

void shapes_think(struct shapes_world *w)
{
    bool is_busy = true;

    clock_manual_advance(&w->host->clock, 1000);
    for (int i = 0; i < 5 && is_busy; i++) {
        is_busy = false;
        (void)server_turn(w->server);
        (void)driver_turn(w->driver, &is_busy);
        world_turn(w->host);
    }
}

struct str shapes_revision(struct shapes_world *w, const struct resource_type *t, const char *name)
{
    autoarena a = { 0 };
    const struct resource_type *stored = view_stored(t) ? view_stored(t)
                                                        : type_by_kind(type_api_version(&a, t), str_of(t->kind));
    const struct object *o = stored && stored->use == TYPE_STORED
                                 ? store_get(w->host->store, stored, STR("default"), str_of(name))
                                 : NULL;

    return o ? json_member_text(json_get(o->root, "metadata"), "resourceVersion") : STR_NULL;
}

void shapes_world_free(struct shapes_world *w)
{
    close(w->fd);
    server_free(w->server);
    http_server_free(w->http);
    driver_free(w->driver);
    cluster_free(w->door);
    auth_free(w->auth);
    world_free(w->host);
    buf_done(&w->heard);
    free(w);
}
