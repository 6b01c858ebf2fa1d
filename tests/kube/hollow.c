/* hollow.c - nodes without machines, on a real API server: the kubelets of tests and benchmarks
 *
 *     kube_hollow [--binds] [--runtime MS] [--start MS] NODE…       with the cluster that KUBECONFIG leads to
 *
 * Makes the nodes, says "ready", and then does for every pod that is bound to one of them what whatif/hollow.h says: it
 * starts, runs for as long as its annotation pumice.dev/runtime says (else --runtime, else for ever), succeeds; a pod
 * with the annotation pumice.dev/exit fails instead, with that exit code. --binds: also places every pod, on the nodes
 * by turns, for tests without a scheduler. Ends with its input.
 */
#include "api/duration.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "kube/cluster.h"
#include "whatif/hollow.h"

#include <poll.h>
#include <signal.h>

enum { UID_MAX = 40, AGAIN_MS = 500 };

#define EXIT_ANNOTATION "pumice.dev/exit"

struct flight { /* a write about a pod */
    char uid[UID_MAX];
    bool is_bind;
    struct str namespace, name; /* of a bind; in the arena */
};

struct kubelets {
    struct cluster *cluster;
    struct hollow hollow;
    struct map_u64 flights; /* struct flight by token */
    struct map bound;       /* of uids that were bound here; the text is in the arena */
    struct map failing;     /* struct object by uid: pods that are to fail */
    struct arena arena;
    char **nodes;
    int n_nodes, next_node;
    bool binds, is_listed;
    int64_t runtime_ms;
};

static const struct resource_type *pod_type(void)
{
    return type_by_kind(STR("v1"), STR("Pod"));
}

static int64_t runtime_of(void *ctx, const struct json *pod)
{
    const struct kubelets *k = ctx;
    int64_t ms = annotation_ms(pod, RUNTIME_ANNOTATION);

    return ms >= 0 ? ms : k->runtime_ms;
}

static int64_t now_of(void)
{
    return clock_now_ms(&clock_real);
}

/* ---- writes ---- */

static void send(struct kubelets *k, const struct op *op, struct str uid, const struct flight *bind)
{
    struct flight *f = xcalloc(1, sizeof(*f));

    if (bind)
        *f = *bind;
    (void)snprintf(f->uid, sizeof(f->uid), "%.*s", STR_ARG(uid));
    map_u64_put(&k->flights, cluster_write(k->cluster, op), f);
}

static void make_nodes(struct kubelets *k)
{
    for (int i = 0; i < k->n_nodes; i++) {
        autoarena a = { 0 };
        struct json *node = object_new(&a, "v1", "Node", STR_NULL, str_of(k->nodes[i])), *status, *amounts, *ready;
        struct op op = { .kind = OP_CREATE, .type = type_by_kind(STR("v1"), STR("Node")), .body = node };

        status = json_set(node, "status", json_object(&a));
        amounts = json_object(&a);
        json_set(amounts, "cpu", json_str(&a, STR("64")));
        json_set(amounts, "memory", json_str(&a, STR("256Gi")));
        json_set(amounts, "pods", json_str(&a, STR("10000")));
        json_set(status, "allocatable", json_copy(&a, amounts));
        json_set(status, "capacity", amounts);
        ready = json_push(json_set(status, "conditions", json_array(&a)), json_object(&a));
        json_set(ready, "type", json_str(&a, STR("Ready")));
        json_set(ready, "status", json_str(&a, STR("True")));
        send(k, &op, STR(""), NULL);
    }
}

/* A new node is tainted until somebody finds it ready. */
static void untaint(struct kubelets *k, struct str name)
{
    autoarena a = { 0 };
    struct json *patch = json_object(&a);
    struct op op = {
        .kind = OP_MERGE_PATCH, .type = type_by_kind(STR("v1"), STR("Node")), .name = name, .body = patch
    };

    json_set(json_set(patch, "spec", json_object(&a)), "taints", json_null(&a));
    send(k, &op, STR(""), NULL);
}

static void send_bind(struct kubelets *k, const struct flight *about)
{
    autoarena a = { 0 };
    struct plan plan = { .arena = &a };
    struct str uid = str_of(about->uid), node = str_of(k->nodes[k->next_node++ % k->n_nodes]);

    (void)plan_bind(&plan, about->namespace, about->name, uid, node);
    send(k, &plan.ops.v[0], uid, about);
}

static void bind(struct kubelets *k, const struct object *pod)
{
    struct flight f = { .is_bind = true };

    if (map_get(&k->bound, pod->uid))
        return;
    map_put(&k->bound, arena_str(&k->arena, pod->uid), k);
    f.namespace = arena_str(&k->arena, pod->namespace);
    f.name = arena_str(&k->arena, pod->name);
    (void)snprintf(f.uid, sizeof(f.uid), "%.*s", STR_ARG(pod->uid));
    send_bind(k, &f);
}

/* A pod that is to fail does so when it would succeed. */
static void make_fail(struct arena *a, const struct object *pod, struct op *op)
{
    struct json *status = json_get(op->body, "status"), *end;
    struct str code = object_annotation(pod->root, EXIT_ANNOTATION);
    uint64_t n;

    if (!code.n || !str_is(json_member_text(status, "phase"), "Succeeded") || str_to_u64(code, &n) < 0)
        return;
    json_set(status, "phase", json_str(a, STR("Failed")));
    JSON_FOREACH(c, json_get(status, "containerStatuses")) {
        end = (struct json *)json_find(c, "state", "terminated", NULL);
        if (end) {
            json_set(end, "exitCode", json_int(a, (int64_t)n));
            json_set(end, "reason", json_str(a, STR("Error")));
        }
    }
}

/* ---- news ---- */

static void forget(struct kubelets *k, struct str uid)
{
    struct object *old = map_get(&k->failing, uid);

    if (old)
        map_remove(&k->failing, old->uid);
    object_unref(old);
}

static void remember(struct kubelets *k, const struct object *pod)
{
    struct object *fresh;

    forget(k, pod->uid);
    if (!object_annotation(pod->root, EXIT_ANNOTATION).n)
        return;
    fresh = object_ref(pod);
    map_put(&k->failing, fresh->uid, fresh);
}

static void heard(struct kubelets *k, const struct cluster_event *ev)
{
    struct str node;

    if (ev->type != pod_type())
        return;
    if (ev->kind == CLUSTER_GONE) {
        hollow_gone(&k->hollow, ev->object->uid);
        forget(k, ev->object->uid);
        return;
    }
    if (ev->kind != CLUSTER_PUT)
        return;
    remember(k, ev->object);
    node = json_member_text(json_get(ev->object->root, "spec"), "nodeName");
    if (node.n)
        hollow_put(&k->hollow, ev->object, now_of());
    else if (k->binds && !json_find(ev->object->root, "metadata", "deletionTimestamp", NULL))
        bind(k, ev->object);
}

static void answered(struct kubelets *k, const struct cluster_event *ev)
{
    struct flight *f = map_u64_get(&k->flights, ev->token);

    if (!f)
        return;
    if (ev->err.code != ERR_OK && ev->err.code != ERR_EXISTS && ev->err.code != ERR_NOT_FOUND &&
        ev->err.code != ERR_CONFLICT)
        log_warn("hollow", LOG_TEXT("error", ev->err.text));
    if (ev->err.code != ERR_OK && !f->is_bind)
        hollow_failed(&k->hollow, str_of(f->uid), now_of() + AGAIN_MS);
    if (ev->err.code == ERR_IO && f->is_bind) /* the server was too busy: nobody else places it */
        send_bind(k, f);
    else if (ev->err.code != ERR_OK && f->is_bind)
        map_remove(&k->bound, str_of(f->uid));
    map_u64_remove(&k->flights, ev->token);
    free(f);
    if (ev->object && strcmp(ev->type->kind, "Node") == 0 &&
        json_count(json_find(ev->object->root, "spec", "taints", NULL)))
        untaint(k, ev->object->name);
}

static int64_t turn(struct kubelets *k)
{
    struct cluster_event ev;

    while (cluster_next(k->cluster, &ev)) {
        if (ev.kind == CLUSTER_RESULT)
            answered(k, &ev);
        else
            heard(k, &ev);
        if (ev.kind == CLUSTER_SYNCED && !k->is_listed) {
            k->is_listed = true;
            printf("ready\n");
            (void)fflush(stdout);
        }
    }
    for (;;) {
        autoarena a = { 0 };
        const struct object *pod;
        struct op op = { 0 };

        if (!hollow_next(&k->hollow, now_of(), &a, &op))
            break;
        pod = map_get(&k->failing, op.uid);
        if (pod && op.body)
            make_fail(&a, pod, &op);
        send(k, &op, op.uid, NULL);
    }
    return hollow_due_ms(&k->hollow);
}

static int64_t number(const char *text)
{
    int64_t v = 0;

    (void)str_to_i64(str_of(text), &v); /* 0 */
    return v;
}

int main(int argc, char **argv)
{
    static const char *const fields[] = { "apiVersion", "kind",   "metadata", "-metadata.managedFields",
                                          "spec",       "status", NULL };
    autoarena a = { 0 };
    struct kube_config config;
    struct kube_config_options where = { .env = kube_env_real() };
    struct kube_view view = { .type = pod_type(), .mask = fields };
    struct cluster_kube_options opt = {
        .config = &config, .views = &view, .n_views = 1, .user_agent = STR("hollow/1")
    };
    struct kubelets k = { .runtime_ms = -1 };
    struct hollow_options hollow = { .stop_ms = 100, .runtime_ms = runtime_of, .ctx = &k, .seed = 1 };
    struct err e = { 0 };
    int i = 1;

    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--binds") == 0)
            k.binds = true;
        else if (strcmp(argv[i], "--runtime") == 0 && i + 1 < argc)
            k.runtime_ms = number(argv[++i]);
        else if (strcmp(argv[i], "--start") == 0 && i + 1 < argc)
            hollow.start_ms = number(argv[++i]);
    }
    k.nodes = argv + i;
    k.n_nodes = argc - i;
    (void)signal(SIGPIPE, SIG_IGN);
    if (k.n_nodes < 1 || kube_config_load(&a, &where, &config, &e) < 0 || cluster_kube_new(&opt, &k.cluster, &e) < 0) {
        fprintf(stderr, "hollow: %s\n", e.code ? e.text : "no node");
        return 1;
    }
    hollow_init(&k.hollow, &hollow);
    map_u64_init(&k.flights, 1);
    map_init(&k.bound, 1);
    map_init(&k.failing, 1);
    make_nodes(&k);
    cluster_want(k.cluster, pod_type());
    for (;;) {
        int64_t due_ms = turn(&k), wait_ms = due_ms == INT64_MAX ? -1 : MAX_OF(due_ms - now_of(), 0);
        struct pollfd fds[] = { { cluster_kube_fd(k.cluster), POLLIN, 0 }, { STDIN_FILENO, POLLIN, 0 } };
        char byte;

        (void)poll(fds, ARRAY_LEN(fds), (int)MIN_OF(wait_ms, 60000));
        if (fds[1].revents && read(STDIN_FILENO, &byte, 1) <= 0)
            _exit(0); /* the kernel releases what is left */
    }
}
