/* remote.c - the connection to a server: objects are created there, and deleted at the end */
#include "program/run/remote.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "driver/cache.h"
#include "kube/path.h"
#include "os/signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>

enum {
    SYNC_MS = 30000, /* for the first lists */
    GONE_MS = 15000, /* until deleted jobs have disappeared */
    LOOK_MS = 50,
    AGAIN_MS = 300,
};

/* ---- what is ours ---- */

bool remote_is_ours(struct run_remote *m, const struct object *o)
{
    struct str owner = strcmp(o->type->kind, "Event") == 0
                           ? json_member_text(json_get(o->root, "involvedObject"), "uid")
                           : object_controller_uid(o->root);

    if (map_get(&m->ours, o->uid))
        return true;
    if (!owner.n || !map_get(&m->ours, owner))
        return false;
    return map_add(&m->ours, m->arena, o->uid);
}

/* ---- creating ---- */

static int post(struct run_remote *m, const struct resource_type *type, const struct json *object, struct json **ret,
                struct err *e)
{
    autobuf path = { 0 }, body = { 0 };

    path_collection(&path, type, object_namespace(object));
    json_print(&body, object);
    return kube_ask_call(m->ask, m->arena,
                         &(struct kube_call){ .method = "POST", .path = buf_view(&path), .body = buf_view(&body) }, ret,
                         e);
}

/* Would it change anything to make what is there as the file says? The server knows its defaults. */
static bool remote_is_same(struct run_remote *m, const struct resource_type *type, const struct json *object)
{
    autobuf path = { 0 }, body = { 0 };
    struct json *is, *would, *patch = json_copy(m->arena, object);
    struct err e;

    json_remove(patch, "metadata");
    json_remove(patch, "status");
    json_print(&body, patch);
    path_object(&path, type, object_namespace(object), object_name(object), NULL);
    if (kube_ask_get(m->ask, m->arena, buf_view(&path), &is, &e) < 0)
        return false;
    path_query(&path, "dryRun", STR("All"));
    if (kube_ask_call(m->ask, m->arena,
                      &(struct kube_call){ .method = "PATCH",
                                           .path = buf_view(&path),
                                           .body = buf_view(&body),
                                           .body_type = "application/merge-patch+json" },
                      &would, &e) < 0)
        return false;
    json_remove(is, "metadata");
    json_remove(would, "metadata");
    return json_equal(is, would);
}

/* An object that exists is used if it is equal, and kept; objects of others are never changed. */
static int remote_exists(struct run_remote *m, const struct resource_type *type, const struct json *object,
                         struct err *e)
{
    struct str name = object_name(object), namespace = object_namespace(object);

    if (type == known_types()->job)
        return err_set(e, ERR_EXISTS,
                       "the server already has a job of this name: wait for it (pumice job wait %.*s -n %.*s), "
                       "delete it (pumice job delete %.*s -n %.*s), or use another name (--set metadata.name=NAME)",
                       STR_ARG(name), STR_ARG(namespace), STR_ARG(name), STR_ARG(namespace));
    if (strcmp(type->kind, "Pod") != 0 && type != known_types()->flow && remote_is_same(m, type, object))
        return 0;
    return err_set(e, ERR_EXISTS,
                   "the server already has a different object of this name: leave it out of the files to use the "
                   "server's, or use another name");
}

static int sink_create(void *ctx, const struct resource_type *type, struct json *object, struct err *e)
{
    struct run_remote *m = ctx;
    struct json *made;

    if (post(m, type, object, &made, e) < 0)
        return e->code == ERR_EXISTS ? remote_exists(m, type, object, e) : -1;
    (void)map_add(&m->ours, m->arena, object_uid(made)); /* a watch may have told of it */
    *vec_push(m->arena, &m->made) = (struct remote_object){ type, object_namespace(made), object_name(made),
                                                            object_uid(made) };
    return 0;
}

/* An object that we may not read is assumed to exist: creating something in it fails if it does not. */
static bool sink_find(void *ctx, const struct resource_type *type, struct str namespace, struct str name,
                      struct str *ret_uid)
{
    struct run_remote *m = ctx;
    struct json *found;
    struct err e;

    *ret_uid = STR_NULL;
    if (kube_ask_object(m->ask, m->arena, &(struct object_key){ type, namespace, name }, &found, &e) < 0)
        return e.code != ERR_NOT_FOUND;
    *ret_uid = object_uid(found);
    return true;
}

/* ---- opening ---- */

static int check_version(struct run_remote *m, struct err *e)
{
    struct json *version;

    if (kube_ask_get(m->ask, m->arena, STR("/version"), &version, e) < 0)
        return -1;
    if (!str_has(json_member_text(version, "gitVersion"), STR("+pumice")))
        return err_set(e, ERR_INVALID,
                       "%.*s is not a Pumice server; submit with 'pumice job run -f FILE --wait', or kubectl",
                       STR_ARG(m->config.server));
    return 0;
}

static int reach(struct run_remote *m, const char *kubeconfig, struct err *e)
{
    struct kube_config_options opt = { kube_env_real(), kubeconfig, NULL };

    if (kube_config_load(m->arena, &opt, &m->config, e) < 0)
        return -1;
    (void)signal(SIGPIPE, SIG_IGN); /* as http/client.h asks */
    if (kube_ask_open(&m->config, &m->ask, e) < 0 || kube_ask_open(&m->config, &m->streams, e) < 0)
        return -1;
    return check_version(m, e);
}

int run_remote_open(struct run *r, const char *kubeconfig, struct run_remote **ret, struct err *e)
{
    struct run_remote *m = arena_new(r->arena, struct run_remote);

    *m = (struct run_remote){ .run = r, .arena = r->arena, .epoll = epoll_create1(EPOLL_CLOEXEC), .silent_ms = -1 };
    map_init(&m->ours, map_seed_default());
    list_init(&m->pods);
    if (reach(m, kubeconfig, e) < 0) {
        run_remote_close(m);
        return err_wrap(e, "--server");
    }
    r->sink = (struct run_sink){ m, sink_create, sink_find, .is_server = true };
    *ret = m;
    return 0;
}

/* The watches begin before anything is created, so that nothing is missed. */
int run_remote_follow(struct run_remote *m, const struct load *l, struct err *e)
{
    int rc = remote_eyes_open(m, l, e);

    m->run->eyes = (struct cluster *)m->eyes;
    m->run->node = remote_node(m);
    if (rc == 0 && !remote_eyes_wait(m, SYNC_MS)) {
        if (!remote_eyes_trouble(m, e))
            (void)err_set(e, ERR_IO, "%.*s does not answer", STR_ARG(m->config.server));
        rc = -1;
    }
    return rc < 0 ? err_wrap(e, "--server") : 0;
}

void run_remote_close(struct run_remote *m)
{
    if (!m)
        return;
    remote_pods_done(m);
    kube_ask_close(m->streams);
    kube_ask_close(m->ask);
    autoclose_done(&m->epoll);
    map_done(&m->ours);
}

/* ---- the end ---- */

static int ask_removal(struct run_remote *m, const struct remote_object *o, struct err *e)
{
    autobuf path = { 0 }, body = { 0 };

    path_object(&path, o->type, o->namespace, o->name, NULL);
    buf_fmt(&body,
            "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"propagationPolicy\":\"%s\",\"preconditions\":{\"uid\":"
            "\"%.*s\"}}",
            o->type == known_types()->job ? "Foreground" : "Background", STR_ARG(o->uid));
    if (kube_ask_call(m->ask, m->arena,
                      &(struct kube_call){ .method = "DELETE", .path = buf_view(&path), .body = buf_view(&body) }, NULL,
                      e) == 0)
        return 0;
    return e->code == ERR_NOT_FOUND || e->code == ERR_CONFLICT ? 0 : -1; /* another client has deleted it: as good */
}

/* The user pressed Ctrl-C once more. */
static bool is_hurried(struct run_remote *m, int64_t ms)
{
    struct pollfd p = { .fd = m->run->signal_fd, .events = POLLIN };

    (void)poll(&p, 1, (int)ms);
    return p.revents && signals_next(m->run->signal_fd) != SIGWINCH;
}

/* A server that goes just now, or came again since it was last asked, is asked again. */
static int remove_object(struct run_remote *m, const struct remote_object *o, struct err *e)
{
    int64_t end_ms = clock_mono_ms(&clock_real) + GONE_MS;

    while (ask_removal(m, o, e) < 0)
        if (e->code != ERR_IO || clock_mono_ms(&clock_real) >= end_ms || is_hurried(m, AGAIN_MS))
            return -1;
    return 0;
}

static bool remote_is_there(struct run_remote *m, const struct remote_object *o)
{
    autoarena a = { 0 };
    struct json *found;
    struct err e;

    return kube_ask_object(m->ask, &a, &(struct object_key){ o->type, o->namespace, o->name }, &found, &e) == 0 &&
           str_eq(object_uid(found), o->uid);
}

/* The same command again finds nothing in its way. */
static void remote_wait_gone(struct run_remote *m, const struct remote_object *o)
{
    int64_t end_ms = clock_mono_ms(&clock_real) + GONE_MS;

    while (remote_is_there(m, o) && clock_mono_ms(&clock_real) < end_ms && !is_hurried(m, LOOK_MS))
        ;
}

void run_remote_clear(struct run_remote *m)
{
    struct err e;

    for (size_t i = m->made.n; i-- > 0;) {
        const struct remote_object *o = &m->made.v[i];
        bool is_patient = i + 1 == m->made.n; /* who does not answer for one is not asked for as long for the others */
        int rc = is_patient ? remove_object(m, o, &e) : ask_removal(m, o, &e);

        if (rc < 0)
            fprintf(stderr, "pumice run: %s %.*s is left on the server: %s (pumice job delete, kubectl delete)\n",
                    o->type->kind, STR_ARG(o->name), e.text);
    }
    VEC_FOREACH(o, &m->made)
        if (o->type == known_types()->job || strcmp(o->type->kind, "Pod") == 0)
            remote_wait_gone(m, o);
}
