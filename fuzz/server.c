/* server.c - fuzz: whatever is asked of the API server is answered whole and never with 500; a watch tells events, in the
 * order of their versions
 *
 * Each line of the input is a request: a letter for the method, a digit for what is accepted, the path ('~' in front
 * stands for the namespace "default"), and after a tab the body. Requests go over connections of their own, so that
 * watches that were begun hear what the later ones do.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "auth/auth.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "server/server.h"
#include "os/tree.h"
#include "store/store.h"

#include <fcntl.h>
#include <sys/socket.h>

enum { REQUESTS_MAX = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
    struct clock_manual clock;
    struct store *store;
    struct auth *auth;
    struct server *server;
    struct http_server *http;
};

struct conversation {
    int fd;
    bool is_json;
    struct buf heard;
};

static const struct {
    char letter;
    const char *method, *type;
} methods[] = {
    { 'G', "GET", NULL },
    { 'P', "POST", "application/json" },
    { 'Y', "POST", "application/yaml" },
    { 'B', "POST", "application/vnd.kubernetes.protobuf" },
    { 'U', "PUT", "application/json" },
    { 'J', "PATCH", "application/json-patch+json" },
    { 'M', "PATCH", "application/merge-patch+json" },
    { 'S', "PATCH", "application/strategic-merge-patch+json" },
    { 'A', "PATCH", "application/apply-patch+yaml" },
    { 'D', "DELETE", "application/json" },
};

static const char *const accepted[] = {
    "application/json",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "text/html, */*;q=0.1",
};

/* ---- asking ---- */

static void turn(struct world *w)
{
    for (int i = 0; i < 4; i++) {
        http_server_turn(w->http);
        (void)server_turn(w->server);
    }
}

static void print_target(struct buf *out, struct str path)
{
    if (str_starts(path, STR("~"))) {
        buf_str(out, STR("/api/v1/namespaces/default"));
        path = str_from(path, 1);
    } else if (!str_starts(path, STR("/"))) {
        buf_char(out, '/');
    }
    for (size_t i = 0; i < path.n; i++)
        if (path.p[i] > ' ' && path.p[i] < 0x7f)
            buf_char(out, path.p[i]);
        else
            buf_fmt(out, "%%%02X", (unsigned char)path.p[i]);
}

static void take(struct conversation *c)
{
    char bytes[65536];

    for (ssize_t n; (n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0;)
        buf_append(&c->heard, bytes, (size_t)n);
}

static void ask(struct world *w, struct str line, struct conversation *c)
{
    size_t how = 0, form = 0;
    struct str path, body = line;
    autobuf out = { 0 };
    int pair[2];

    (void)str_split(&body, '\t', &path);
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (path.n && path.p[0] == methods[i].letter)
            how = i;
    if (path.n > 1 && path.p[1] >= '0' && path.p[1] < '0' + (int)ARRAY_LEN(accepted))
        form = (size_t)(path.p[1] - '0');
    buf_fmt(&out, "%s ", methods[how].method);
    print_target(&out, str_from(path, MIN_OF(path.n, (size_t)2)));
    buf_fmt(&out, " HTTP/1.1\r\nHost: x\r\nAccept: %s\r\nContent-Length: %zu\r\n", accepted[form], body.n);
    if (methods[how].type)
        buf_fmt(&out, "Content-Type: %s\r\n", methods[how].type);
    buf_fmt(&out, "\r\n%.*s", STR_ARG(body));
    assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    assert(http_server_add(w->http, pair[1], NULL) == 0);
    *c = (struct conversation){ .fd = pair[0], .is_json = form < 4 };
    assert(send(c->fd, out.p, out.n, MSG_NOSIGNAL) == (ssize_t)out.n);
    turn(w);
    take(c);
}

/* ---- what came back ---- */

static ptrdiff_t find(struct str in, const char *what)
{
    const char *at = memmem(in.p, in.n, what, strlen(what));

    return at ? at - in.p : -1;
}

static void unchunk(struct str in, struct buf *out)
{
    while (in.n) {
        unsigned long n = strtoul(in.p, NULL, 16);
        ptrdiff_t end = find(in, "\r\n");

        assert(end > 0 && in.n >= (size_t)end + 2 + n + 2); /* whole chunks, whenever one looks */
        buf_append(out, in.p + end + 2, n);
        in = str_from(in, (size_t)end + 2 + n + 2);
    }
}

static void check_event(const struct json *event, uint64_t *last)
{
    static const char *const types[] = { "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR" };
    struct str type = json_member_text(event, "type");
    const struct json *object = json_get(event, "object");
    uint64_t rev = 0;
    bool is_known = false;

    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        is_known |= str_is(type, types[i]);
    assert(is_known && json_is(object, JSON_OBJECT));
    if (str_is(type, "MODIFIED") ||
        str_is(type, "DELETED")) { /* what there was at the beginning is in order of names */
        (void)str_to_u64(json_member_text(json_get(object, "metadata"), "resourceVersion"), &rev);
        assert(rev == 0 || rev >= *last);
        *last = MAX_OF(*last, rev);
    }
}

static void check_lines(struct str body)
{
    struct str line;
    uint64_t last = 0;

    while (str_split(&body, '\n', &line)) {
        autoarena a = { 0 };
        struct json *event;

        if (!line.n)
            continue;
        assert(json_parse(&a, line, NULL, &event, NULL) == 0);
        check_event(event, &last);
    }
}

static void check(struct conversation *c)
{
    struct str all, head = STR_NULL;
    autoarena a = { 0 };
    autobuf body = { 0 };
    struct json *tree;
    ptrdiff_t end;

    buf_char(&c->heard, '\0');
    c->heard.n--;
    all = buf_view(&c->heard);
    end = find(all, "\r\n\r\n");
    assert(str_starts(all, STR("HTTP/1.1 ")) && end > 0);
    head = str_sub(all, 0, (size_t)end);
    assert(!str_starts(head, STR("HTTP/1.1 500")));
    if (!str_has(head, STR("Content-Type: application/json")))
        return;
    if (!str_has(head, STR("Transfer-Encoding: chunked"))) {
        assert(json_parse(&a, str_from(all, (size_t)end + 4), NULL, &tree, NULL) == 0);
        return;
    }
    unchunk(str_from(all, (size_t)end + 4), &body);
    check_lines(buf_view(&body));
}

/* ---- */

static char keys[] = "/tmp/fuzz-server.XXXXXX"; /* made once: that is what takes long */

static void remove_keys(void)
{
    autoclose int parent = open("/tmp", O_DIRECTORY | O_RDONLY | O_CLOEXEC);

    (void)tree_remove(parent, strrchr(keys, '/') + 1, NULL); /* nobody is left to tell */
}

static void make_keys(void)
{
    static bool is_made;

    if (is_made)
        return;
    is_made = mkdtemp(keys) && atexit(remove_keys) == 0;
    assert(is_made);
}

/* Whoever comes by these sockets is the owner of the server, and may do everything. */
static void world_init(struct world *w)
{
    struct auth_options auth = { .dir = keys, .clock = &w->clock.clock };
    struct store_options store = { .seed = 1, .clock = &w->clock.clock };
    struct server_options opt = { .clock = &w->clock.clock };
    struct http_server_options http = { .clock = &w->clock.clock, .on_request = server_request };

    (void)log_setup((struct log_config){ 2, LOG_LEVEL_ERROR });
    clock_manual_init(&w->clock, INT64_C(1700000000000));
    opt.store = w->store = store_new(&store);
    make_keys();
    auth.store = w->store;
    assert(auth_open(&auth, &w->auth, NULL) == 0);
    opt.auth = w->auth;
    http.ctx = w->server = server_new(&opt);
    assert(http_server_new(&http, &w->http, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct conversation all[REQUESTS_MAX];
    struct str input = { (const char *)data, size }, line;
    struct world w;
    size_t n = 0;

    if (size > 8192)
        return 0;
    world_init(&w);
    while (n < REQUESTS_MAX && str_split(&input, '\n', &line))
        ask(&w, line, &all[n++]);
    clock_manual_advance(&w.clock, 61000); /* bookmarks, and watches that wanted no more than a minute */
    turn(&w);
    for (size_t i = 0; i < n; i++) {
        take(&all[i]);
        check(&all[i]);
        close(all[i].fd);
        buf_done(&all[i].heard);
    }
    turn(&w);
    server_free(w.server);
    http_server_free(w.http);
    auth_free(w.auth);
    store_free(w.store);
    return 0;
}
