/* world.c - an API server with controllers and scheduler in this process, and requests to it */
#include "cost.h"

#include "auth/auth.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "cluster/cluster.h"
#include "driver/driver.h"
#include "os/tree.h"
#include "plugin/plugin.h"
#include "server/server.h"
#include "store/store.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TURNS_MAX = 400, QUIET = 3 };

struct world {
    struct clock_manual clock;
    struct store *store;
    struct auth *auth;
    struct server *server;
    struct http_server *http;
    struct cluster *door;
    struct driver *driver;
};

static char keys[] = "/tmp/cost.XXXXXX"; /* made once: that is what takes long */
static bool has_keys;

void world_clean(void)
{
    autoclose int parent = open("/tmp", O_DIRECTORY | O_RDONLY | O_CLOEXEC);

    if (has_keys)
        (void)tree_remove(parent, strrchr(keys, '/') + 1, NULL); /* nobody is left to tell */
}

static int constant_keys(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e)
{
    (void)ctx, (void)a, (void)type, (void)e;
    *ret = (struct ssh_keys){ STR("private"), STR("public\n") };
    return 0;
}

static void on_type(void *ctx, const struct resource_type *type)
{
    struct world *w = ctx;

    if (w->driver)
        driver_want(w->driver, type);
}

struct world *world_new(void)
{
    struct world *w = xcalloc(1, sizeof(*w));
    struct auth_options auth = { .clock = &w->clock.clock };
    struct store_options store = { .seed = 1, .clock = &w->clock.clock };
    struct server_options server = { .clock = &w->clock.clock, .on_type = on_type, .ctx = w };
    struct http_server_options http = { .clock = &w->clock.clock, .on_request = server_request };
    struct driver_options driver = {
        .schedules = true, .collects_garbage = true, .seed = 1, .make_keys = constant_keys
    };

    (void)log_setup((struct log_config){ 2, LOG_LEVEL_ERROR });
    clock_manual_init(&w->clock, INT64_C(1700000000000));
    if (!has_keys)
        has_keys = mkdtemp(keys);
    assert(has_keys);
    auth.dir = keys;
    server.store = auth.store = w->store = store_new(&store);
    assert(auth_open(&auth, &w->auth, NULL) == 0);
    server.auth = w->auth;
    http.ctx = w->server = server_new(&server);
    assert(http_server_new(&http, &w->http, NULL) == 0);
    w->door = cluster_embedded_new(w->store, &w->clock.clock);
    cluster_embedded_complete(w->door, server_complete, w->server);
    w->driver = driver_new(w->door, &driver);
    return w;
}

void world_free(struct world *w)
{
    server_free(w->server);
    http_server_free(w->http);
    driver_free(w->driver);
    cluster_free(w->door);
    auth_free(w->auth);
    store_free(w->store);
    free(w);
}

static bool world_turn(struct world *w)
{
    uint64_t before = store_revision(w->store);
    bool is_busy = false;

    auth_hear(w->auth);
    http_server_turn(w->http);
    auth_heard(w->auth);
    (void)driver_turn(w->driver, &is_busy);
    (void)server_turn(w->server);
    return is_busy || store_revision(w->store) != before;
}

static void world_settle(struct world *w)
{
    for (int i = 0, quiet = 0; i < TURNS_MAX && quiet < QUIET; i++)
        quiet = world_turn(w) ? 0 : quiet + 1;
}

static int answer_status(struct str heard)
{
    int64_t status = 0;

    assert(str_starts(heard, STR("HTTP/1.1 ")));
    assert(str_to_i64(str_sub(heard, 9, 3), &status) == 0);
    return (int)status;
}

static void take(int fd, struct buf *heard)
{
    char bytes[65536];

    for (ssize_t n; (n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0;)
        if (heard->n < 64)
            buf_append(heard, bytes, (size_t)n);
}

struct answer world_ask(struct world *w, const char *method, struct str path, const char *type, struct str body)
{
    uint64_t before;
    autobuf out = { 0 }, heard = { 0 };
    int pair[2];

    buf_fmt(&out, "%s %.*s HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\nContent-Length: %zu\r\n", method,
            STR_ARG(path), body.n);
    if (type)
        buf_fmt(&out, "Content-Type: %s\r\n", type);
    buf_fmt(&out, "Connection: close\r\n\r\n");
    buf_str(&out, body);
    clock_manual_advance(&w->clock, 10000); /* what others have put off is not for this request to pay */
    world_settle(w);
    assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    assert(http_server_add(w->http, pair[1], NULL) == 0);
    before = count_steps();
    for (size_t sent = 0; sent < out.n || heard.n < 64;) {
        ssize_t n = send(pair[0], out.p + sent, out.n - sent, MSG_NOSIGNAL);

        sent += n > 0 ? (size_t)n : 0;
        (void)world_turn(w);
        take(pair[0], &heard);
    }
    world_settle(w);
    take(pair[0], &heard);
    close(pair[0]);
    return (struct answer){ answer_status(buf_view(&heard)), count_steps() - before };
}
