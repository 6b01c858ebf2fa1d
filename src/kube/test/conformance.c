/* conformance.c - the promises of a cluster, tried on cluster_kube
 *
 * On a little API server of ours: with lists at the beginning of watches, with lists in pages, and with streams cut
 * into small pieces. With KUBECONFIG_REAL set, on the real one that it leads to (tests/kube).
 */
#include "cluster/test/conformance.h"

#include "api/meta.h"
#include "base/log.h"
#include "base/util.h"
#include "kube/cluster.h"
#include "kube/test/apiserver.h"

#include <poll.h>
#include <signal.h>

struct inner {
    struct store *store; /* NULL: a real server */
    struct apiserver *server;
    struct cluster *other; /* somebody else */
    struct kube_config config;
    struct kube_view views[3];
    struct arena arena;
};

static struct inner *inner_of(const struct conformance_world *w)
{
    return w->inner;
}

static void wait_for(struct cluster *c)
{
    struct pollfd fd = { cluster_kube_fd(c), POLLIN, 0 };

    if (poll(&fd, 1, 60000) != 1) {
        struct err e = { 0 };

        (void)cluster_kube_trouble(c, &e);
        (void)fprintf(stderr, "nothing happens for a minute; trouble: %s\n", e.text);
        abort();
    }
}

static void wait(struct conformance_world *w)
{
    wait_for(w->cluster);
}

static struct cluster *open_door(struct conformance_world *w, bool only_lists)
{
    struct inner *in = inner_of(w);
    const struct resource_type *types[] = { w->map, w->secret, w->pod };
    struct cluster_kube_options opt = { .config = &in->config,
                                        .clock = &w->clock.clock,
                                        .views = in->views,
                                        .n_views = ARRAY_LEN(in->views),
                                        .only_lists = only_lists };
    struct cluster *c = NULL;
    struct err e = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(types); i++) /* others work in the same cluster */
        in->views[i] = (struct kube_view){ .type = types[i], .namespace = w->namespace };
    if (cluster_kube_new(&opt, &c, &e) < 0) {
        (void)fprintf(stderr, "%s\n", e.text);
        abort();
    }
    return c;
}

/* ---- ours ---- */

static void begin_on(struct conformance_world *w, const struct apiserver_options *opt, bool only_lists)
{
    struct store_options store = { .seed = 3, .clock = &w->clock.clock };
    struct inner *in = w->inner = xcalloc(1, sizeof(*in));

    w->namespace = STR("default");
    in->store = store_new(&store);
    (void)store_create(in->store, object_new(&w->arena, "v1", "Namespace", STR_NULL, w->namespace), NULL, NULL);
    in->server = apiserver_start(in->store, opt);
    in->config = (struct kube_config){ .server = str_of(apiserver_url(in->server)), .origin = STR("test") };
    w->cluster = open_door(w, only_lists);
}

static void begin_initial(struct conformance_world *w)
{
    begin_on(w, &(struct apiserver_options){ 0 }, false);
}

static void begin_older(struct conformance_world *w)
{
    begin_on(w, &(struct apiserver_options){ .has_no_initial = true }, false);
}

static void begin_chopped(struct conformance_world *w)
{
    begin_on(w, &(struct apiserver_options){ .chops = true }, true);
}

static void end(struct conformance_world *w)
{
    apiserver_stop(inner_of(w)->server);
    store_free(inner_of(w)->store);
    free(w->inner);
}

static void put(struct conformance_world *w, const struct json *body)
{
    struct err e = { 0 };

    apiserver_lock(inner_of(w)->server);
    if (store_create(inner_of(w)->store, body, NULL, &e) < 0)
        abort();
    apiserver_unlock(inner_of(w)->server);
}

static void gap(struct conformance_world *w, bool is_on)
{
    struct inner *in = inner_of(w);

    if (!is_on) {
        apiserver_lock(in->server);
        store_compact(in->store, store_revision(in->store));
        apiserver_unlock(in->server);
    }
    apiserver_shut(in->server, is_on);
}

/* ---- a real one ---- */

static void answer_wait(struct cluster *c, uint64_t token, bool must_work)
{
    struct cluster_event ev;

    do {
        while (!cluster_next(c, &ev))
            wait_for(c);
    } while (ev.kind != CLUSTER_RESULT || ev.token != token);
    if (must_work && ev.err.code != ERR_OK) {
        (void)fprintf(stderr, "%s\n", ev.err.text);
        abort();
    }
}

static void create_now(struct conformance_world *w, const struct json *body)
{
    struct op op = { .kind = OP_CREATE, .body = (struct json *)body };

    op.type = type_by_kind(object_api_version(body), object_kind(body));
    op.namespace = object_namespace(body);
    answer_wait(inner_of(w)->other, cluster_write(inner_of(w)->other, &op), true);
}

static void begin_real(struct conformance_world *w)
{
    static unsigned n;
    struct inner *in = w->inner = xcalloc(1, sizeof(*in));
    struct kube_config_options opt = { .file = getenv("KUBECONFIG_REAL") };
    struct err e = { 0 };

    if (kube_config_load(&in->arena, &opt, &in->config, &e) < 0) {
        (void)fprintf(stderr, "%s\n", e.text);
        abort();
    }
    w->namespace = arena_fmt(&in->arena, "conformance-%d-%u", (int)getpid(), ++n);
    in->other = open_door(w, false);
    create_now(w, object_new(&in->arena, "v1", "Namespace", STR_NULL, w->namespace));
    create_now(w, object_new(&in->arena, "v1", "ServiceAccount", w->namespace, STR("default")));
    w->cluster = open_door(w, n % 2);
}

static void end_real(struct conformance_world *w)
{
    struct inner *in = inner_of(w);
    struct op op = { .kind = OP_DELETE, .name = w->namespace, .grace_s = -1 };

    op.type = type_by_kind(STR("v1"), STR("Namespace"));
    answer_wait(in->other, cluster_write(in->other, &op), false);
    cluster_free(in->other);
    arena_done(&in->arena);
    free(in);
}

int main(void)
{
    static const struct conformance_class worlds[] = {
        { .name = "lists begin watches",
          .begin = begin_initial,
          .end = end,
          .put = put,
          .gap = gap,
          .wait = wait,
          .has_clock = true },
        { .name = "an older server",
          .begin = begin_older,
          .end = end,
          .put = put,
          .gap = gap,
          .wait = wait,
          .has_clock = true },
        { .name = "small pieces",
          .begin = begin_chopped,
          .end = end,
          .put = put,
          .gap = gap,
          .wait = wait,
          .has_clock = true },
    };
    static const struct conformance_class real = {
        .name = "a real one", .begin = begin_real, .end = end_real, .put = create_now, .wait = wait, .has_clock = true
    };
    int failed = 0;

    (void)signal(SIGPIPE, SIG_IGN);
    (void)log_setup((struct log_config){ 2, getenv("DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR });
    if (getenv("KUBECONFIG_REAL"))
        return conformance_run(&real);
    for (size_t i = 0; i < ARRAY_LEN(worlds); i++)
        failed += conformance_run(&worlds[i]);
    return failed;
}
