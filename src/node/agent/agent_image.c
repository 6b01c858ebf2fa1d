/* agent_image.c - the image of a container: is it there, is it to be pulled, who waits for it
 *
 * One pull for an image, however many pods wait for it; each container that waits is given back to its pod when the
 * pull is over. As a kubelet has it: Pulling, Pulled, Failed and BackOff as events, ErrImagePull and then, for 10 s
 * doubling to 5 min, ImagePullBackOff as what a container waits with.
 *
 * Unlike a kubelet: where a registry cannot be reached at all, what is there is used, be it older or only the host's
 * files. That is said once for each registry, and it is not asked again for a minute. And an image that must be asked
 * for each time (imagePullPolicy Always) is good for a minute once it was: a gang starts with one image.
 */
#include "node/agent/agent_internal.h"

#include "base/log.h"
#include "image/puller.h"
#include "image/reference.h"

#include <sys/epoll.h>

enum { FRESH_MS = 60 * 1000, UNREACHED_MS = 60 * 1000, BACKOFF_MS = 10 * 1000, BACKOFF_MAX_MS = 300 * 1000 };

struct agent_registry {
    int64_t unreached_ms; /* not asked before */
    bool is_told;
    char name[]; /* its key */
};

struct agent_image_pull {
    struct str key;   /* "docker.io/library/busybox:latest" and who asks */
    struct str shown; /* as a container has it */
    struct agent_registry *registry;
    uint64_t id; /* of the pull under way; 0: none */
    int64_t begun_ms, took_ms;
    int64_t fresh_ms;             /* until then what is there is good; 0: it never was */
    int64_t backoff_ms, until_ms; /* until_ms: not tried before */
    bool has_failed, is_unreached;
    int64_t bytes, total; /* how far it is; when it is there: its size */
    enum image_doing doing;
    struct err err;
};

/* ---- opening ---- */

void agent_images_open(struct agent *g)
{
    map_init(&g->images.pulls, map_seed_default());
    map_init(&g->images.hosts, map_seed_default());
}

int agent_images_watch(struct agent *g, struct err *e)
{
    struct epoll_event ev = { .events = EPOLLIN, .data = { .ptr = &g->images } };

    if (!g->opt.puller || g->opt.pull == AGENT_PULL_NEVER)
        return 0;
    return epoll_ctl(g->epoll, EPOLL_CTL_ADD, puller_fd(g->opt.puller), &ev) < 0 ? err_errno(e, "watch the puller") : 0;
}

void agent_images_done(struct agent *g)
{
    MAP_FOREACH(struct agent_image_pull *, pull, &g->images.pulls)
        free(pull);
    MAP_FOREACH(struct agent_registry *, host, &g->images.hosts)
        free(host);
    map_done(&g->images.pulls);
    map_done(&g->images.hosts);
}

/* ---- what is wanted ---- */

static enum agent_pull policy_of(const struct agent *g, const struct json *container)
{
    static const struct {
        const char *name;
        enum agent_pull policy;
    } known[] = { { "Always", AGENT_PULL_ALWAYS },
                  { "IfNotPresent", AGENT_PULL_MISSING },
                  { "Never", AGENT_PULL_NEVER } };
    struct str said = json_member_text(container, "imagePullPolicy");

    if (g->opt.pull != AGENT_PULL_AS_SAID)
        return g->opt.pull;
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_is(said, known[i].name))
            return known[i].policy;
    return reference_is_latest(json_member_text(container, "image")) ? AGENT_PULL_ALWAYS : AGENT_PULL_MISSING;
}

/* A Secret of type kubernetes.io/dockerconfigjson, or the older .dockercfg. */
static bool login_of_secret(struct arena *a, const struct object *secret, const struct reference *ref,
                            struct login *ret)
{
    static const char *const keys[] = { ".dockerconfigjson", ".dockercfg" };

    for (size_t i = 0; secret && i < ARRAY_LEN(keys); i++) {
        autobuf text = { 0 };
        struct str coded = json_member_text(json_get(secret->root, "data"), keys[i]);

        if (coded.n && buf_unbase64(&text, coded) == 0 &&
            login_find(a, arena_str(a, buf_view(&text)), ref, ret, NULL) > 0)
            return true;
    }
    return false;
}

/* Those that the pod names; if it names none, its account's. */
static const struct json *pull_secrets(struct agent_pod *p)
{
    const struct json *spec = json_get(p->object->root, "spec"), *own = json_get(spec, "imagePullSecrets");
    struct str account = json_text(json_get(spec, "serviceAccountName"), STR("default"));
    const struct object *o = agent_find(p->agent, WANT_ACCOUNT, p->object->namespace, account);

    return json_count(own) || !o ? own : json_get(o->root, "imagePullSecrets");
}

/* Of these Secrets the first that knows the registry. */
static const struct login *login_of(struct agent_pod *p, struct arena *a, const struct reference *ref,
                                    struct login *ret)
{
    JSON_FOREACH(item, pull_secrets(p))
        if (login_of_secret(a, agent_find(p->agent, WANT_SECRET, p->object->namespace, json_member_text(item, "name")),
                            ref, ret))
            return ret;
    return NULL;
}

static struct agent_registry *registry_of(struct agent *g, struct str host)
{
    struct agent_registry *r = map_get(&g->images.hosts, host);

    if (r)
        return r;
    r = xcalloc(1, sizeof(*r) + host.n + 1);
    memcpy(r->name, host.p, host.n);
    (void)map_put(&g->images.hosts, str_of(r->name), r);
    return r;
}

static struct agent_image_pull *pull_of(struct agent *g, const struct reference *ref, struct str image,
                                        const struct login *login, bool is_tenant)
{
    autobuf key = { 0 };
    autoarena a = { 0 };
    struct agent_image_pull *pull;
    char *bytes;

    buf_fmt(&key, "%.*s %.*s%s", STR_ARG(ref->normal), STR_ARG(image_login_key(&a, login)), is_tenant ? " tenant" : "");
    pull = map_get(&g->images.pulls, buf_view(&key));
    if (pull)
        return pull;
    pull = xcalloc(1, sizeof(*pull) + key.n + image.n);
    bytes = (char *)(pull + 1);
    memcpy(bytes, key.p, key.n);
    memcpy(bytes + key.n, image.p, image.n);
    pull->key = (struct str){ bytes, key.n };
    pull->shown = (struct str){ bytes + key.n, image.n };
    pull->registry = registry_of(g, ref->host);
    (void)map_put(&g->images.pulls, pull->key, pull);
    return pull;
}

/* ---- how far it is, in a line ---- */

static void add_pull(struct buf *out, const struct agent_image_pull *pull)
{
    buf_fmt(out, "%s%.*s", out->n ? ", " : "pulling ", STR_ARG(pull->shown));
    if (pull->doing == IMAGE_UNPACKS)
        buf_str(out, STR(" (unpacking)"));
    else if (pull->total > 0)
        buf_fmt(out, " %lld%% of %.1f MB", (long long)(pull->bytes * 100 / pull->total), (double)pull->total / 1e6);
}

static void agent_image_show(struct agent *g)
{
    autobuf line = { 0 };

    if (!g->opt.hooks.pulling)
        return;
    MAP_FOREACH(const struct agent_image_pull *, pull, &g->images.pulls)
        if (pull->id)
            add_pull(&line, pull);
    g->opt.hooks.pulling(g->opt.hooks.ctx, buf_view(&line));
}

/* ---- a pull ---- */

struct image_need { /* of a container about to start; see agent_image_need() */
    struct agent_pod *pod;
    const struct life_action *action;
    const char **ret_reason;
    struct err *e;
};

static void agent_image_tell(const struct image_need *need, bool is_warning, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static void agent_image_tell(const struct image_need *need, bool is_warning, const char *reason, const char *fmt, ...)
{
    autoarena a = { 0 };
    struct str text;
    va_list ap;

    va_start(ap, fmt);
    text = arena_vfmt(&a, fmt, ap);
    va_end(ap);
    life_tell(need->pod->life, is_warning, str_of(reason), need->action->name, text);
}

/* It failed: what is asked for fails with it, and is asked for again some seconds later. */
static void agent_puller_revive(struct agent *g)
{
    struct err e;

    if (!puller_is_gone(g->opt.puller))
        return;
    if (puller_restart(g->opt.puller, &e) < 0 || agent_images_watch(g, &e) < 0)
        log_warn("Failed to restart the puller", LOG_TEXT("error", e.text));
    else
        log_info("Restarted the puller after it was killed");
}

static enum agent_image_state agent_image_wait_for(const struct image_need *need, struct agent_image_pull *pull,
                                                   const struct login *login)
{
    struct agent_pod *p = need->pod;
    struct agent *g = p->agent;

    if (!pull->id) {
        agent_puller_revive(g);
        pull->id = puller_ask(g->opt.puller, pull->shown, login, agent_tenant(p).is_tenant);
        pull->begun_ms = agent_pod_now(p);
        pull->bytes = pull->total = 0;
        pull->doing = IMAGE_ASKS;
    }
    *vec_push(&p->arena, &p->starts) = (struct agent_start){ *need->action, pull };
    agent_image_tell(need, false, "Pulling", "Pulling image \"%.*s\"", STR_ARG(pull->shown));
    agent_image_show(g);
    return AGENT_IMAGE_LATER;
}

/* No registry can be asked: use the image of the store. */
static enum agent_image_state go_without(const struct image_need *need, const struct agent_image_pull *pull,
                                         const struct image *image)
{
    agent_image_tell(need, true, "Failed", "Failed to pull image \"%.*s\": %s; going on with %.*s",
                     STR_ARG(pull->shown), pull->err.text[0] ? pull->err.text : "its registry cannot be reached",
                     STR_ARG(image->said));
    return AGENT_IMAGE_READY;
}

static enum agent_image_state agent_image_fail(const struct image_need *need, const struct agent_image_pull *pull,
                                               bool has_waited)
{
    *need->ret_reason = has_waited ? "ErrImagePull" : "ImagePullBackOff";
    if (has_waited) {
        agent_image_tell(need, true, "Failed", "Failed to pull image \"%.*s\": %s", STR_ARG(pull->shown),
                         pull->err.text);
        (void)err_set(need->e, pull->err.code, "%s", pull->err.text);
    } else {
        agent_image_tell(need, false, "BackOff", "Back-off pulling image \"%.*s\"", STR_ARG(pull->shown));
        (void)err_set(need->e, pull->err.code, "Back-off pulling image \"%.*s\": %s", STR_ARG(pull->shown),
                      pull->err.text);
    }
    return AGENT_IMAGE_FAILED;
}

/* A name that no registry can have. */
static enum agent_image_state bad_name(const struct image_need *need, struct str image, const struct err *why)
{
    *need->ret_reason = "InvalidImageName";
    agent_image_tell(need, true, "InspectFailed", "Failed to apply default image tag \"%.*s\": %s", STR_ARG(image),
                     why->text);
    (void)err_set(need->e, ERR_INVALID, "Failed to apply default image tag \"%.*s\": %s", STR_ARG(image), why->text);
    return AGENT_IMAGE_FAILED;
}

static enum agent_image_state pulled(const struct image_need *need, const struct agent_image_pull *pull)
{
    agent_image_tell(need, false, "Pulled",
                     "Successfully pulled image \"%.*s\" in %.3gs (%.3gs including waiting). Image size: %lld bytes.",
                     STR_ARG(pull->shown), (double)pull->took_ms / 1000, (double)pull->took_ms / 1000,
                     (long long)pull->total);
    return AGENT_IMAGE_READY;
}

static enum agent_image_state was_there(const struct image_need *need, struct str image)
{
    agent_image_tell(need, false, "Pulled", "Container image \"%.*s\" already present on machine", STR_ARG(image));
    return AGENT_IMAGE_READY;
}

/* ---- pods of tenants ----
 *
 * A tenant gets the host's files only where the configuration says so, and an image of the store only if his login or
 * the shared one has opened it (image_access.c). */

static bool tenant_may_use(struct agent_pod *p, const struct image *image, const struct login *login)
{
    struct tenant t = agent_tenant(p);

    if (!t.is_tenant || image->from == IMAGE_GIVEN)
        return !t.is_tenant || image->root.n || t.has_host_files;
    return image->root.n ? images_may_use(p->agent->opt.images, image, login) : t.has_host_files;
}

static enum agent_image_state tenant_refuse(const struct image_need *need, const struct image *image, bool is_never)
{
    *need->ret_reason = is_never ? "ErrImageNeverPull" : "ErrImagePull";
    if (!is_never)
        (void)err_set(need->e, ERR_FORBIDDEN,
                      "Failed to pull image \"%.*s\": this server has the host's files for it, which pods of this user "
                      "do not get (see hostFiles in docs/server-users.md)",
                      STR_ARG(image->name));
    else if (image->root.n)
        (void)err_set(need->e, ERR_FORBIDDEN,
                      "Container image \"%.*s\" is present, and this pod has no right to it with pull policy of Never",
                      STR_ARG(image->name));
    else
        (void)err_set(need->e, ERR_NOT_FOUND, "Container image \"%.*s\" is not present with pull policy of Never",
                      STR_ARG(image->name));
    agent_image_tell(need, true, is_never ? "ErrImageNeverPull" : "Failed", "%s", need->e->text);
    return AGENT_IMAGE_FAILED;
}

enum agent_image_state agent_image_need(struct agent_pod *p, const struct life_action *action, bool has_waited,
                                        const char **ret_reason, struct err *e)
{
    const struct image_need need = { p, action, ret_reason, e };
    struct agent *g = p->agent;
    struct str name = json_member_text(action->container, "image");
    const struct image *image = images_find(g->opt.images, name);
    bool may_use;
    enum agent_pull policy = policy_of(g, action->container);
    autoarena a = { 0 };
    struct agent_image_pull *pull;
    const struct login *login;
    struct login found;
    struct reference ref;
    int64_t now_ms = agent_pod_now(p);
    struct err why;

    if (reference_parse(&a, name, &ref, &why) < 0)
        return g->opt.puller && image->from != IMAGE_GIVEN && policy != AGENT_PULL_NEVER ? bad_name(&need, name, &why)
               : tenant_may_use(p, image, NULL)                                          ? AGENT_IMAGE_READY
                                                : tenant_refuse(&need, image, true);
    login = login_of(p, &a, &ref, &found);
    may_use = tenant_may_use(p, image, login);
    if (!g->opt.puller || image->from == IMAGE_GIVEN || policy == AGENT_PULL_NEVER)
        return may_use ? AGENT_IMAGE_READY : tenant_refuse(&need, image, image->from != IMAGE_GIVEN);
    if (policy == AGENT_PULL_MISSING && image->from == IMAGE_STORED && may_use && !has_waited)
        return was_there(&need, name);
    pull = pull_of(g, &ref, name, login, agent_tenant(p).is_tenant);
    if (pull->id)
        return agent_image_wait_for(&need, pull, login);
    if (pull->has_failed && (has_waited || now_ms < pull->until_ms))
        return agent_image_fail(&need, pull, has_waited);
    if (now_ms < pull->registry->unreached_ms && may_use)
        return go_without(&need, pull, image);
    if (now_ms < pull->registry->unreached_ms) {
        if (!pull->err.code)
            (void)err_set(&pull->err, ERR_IO, "its registry cannot be reached");
        return agent_image_fail(&need, pull, has_waited);
    }
    if (image->from == IMAGE_STORED && (has_waited || (may_use && now_ms < pull->fresh_ms)))
        return has_waited ? pulled(&need, pull) : was_there(&need, name);
    return agent_image_wait_for(&need, pull, login);
}

/* ---- what comes of it ---- */

/* One word for each registry: what it means for all its images. */
static void tell_unreached(struct agent *g, struct agent_image_pull *pull)
{
    autobuf said = { 0 };

    if (pull->registry->is_told || !g->opt.hooks.notice)
        return;
    pull->registry->is_told = true;
    buf_fmt(&said, "registry %s cannot be reached; using local images, or the host's files: %s", pull->registry->name,
            pull->err.text);
    g->opt.hooks.notice(g->opt.hooks.ctx, buf_view(&said));
}

static void tell_failed(struct agent *g, const struct agent_image_pull *pull)
{
    autobuf said = { 0 };

    buf_fmt(&said, "image \"%.*s\" cannot be pulled: %s", STR_ARG(pull->shown), pull->err.text);
    if (!g->opt.remote)
        buf_fmt(&said, "; to use the host's files instead: --image %.*s=host", STR_ARG(pull->shown));
    if (g->opt.hooks.notice)
        g->opt.hooks.notice(g->opt.hooks.ctx, buf_view(&said));
}

static void take_end(struct agent *g, struct agent_image_pull *pull, const struct puller_event *ev)
{
    int64_t now_ms = cluster_now_ms(g->cluster);
    bool had_failed = pull->has_failed;

    pull->id = 0;
    pull->took_ms = now_ms - pull->begun_ms;
    pull->err = ev->err;
    pull->has_failed = ev->err.code && !ev->pulled.is_unreached;
    if (!ev->err.code) {
        pull->fresh_ms = now_ms + FRESH_MS;
        pull->total = ev->pulled.bytes;
        pull->backoff_ms = 0;
        pull->registry->unreached_ms = 0;
        pull->registry->is_told = false;
        images_look_again(g->opt.images);
        if (g->opt.remote && ev->pulled.is_new)
            agent_node_changed(g);
    } else if (ev->pulled.is_unreached) {
        pull->registry->unreached_ms = now_ms + UNREACHED_MS;
        tell_unreached(g, pull);
    } else {
        pull->backoff_ms = pull->backoff_ms ? MIN_OF(pull->backoff_ms * 2, BACKOFF_MAX_MS) : BACKOFF_MS;
        pull->until_ms = now_ms + pull->backoff_ms;
        if (!had_failed)
            tell_failed(g, pull);
    }
}

static void agent_image_wake(struct agent *g, const struct agent_image_pull *pull)
{
    MAP_FOREACH(struct agent_pod *, p, &g->pods)
        VEC_FOREACH(s, &p->starts)
            if (s->pull == pull)
                agent_pod_dirty(p);
}

static struct agent_image_pull *find_pull(struct agent *g, uint64_t id)
{
    MAP_FOREACH(struct agent_image_pull *, pull, &g->images.pulls)
        if (pull->id == id)
            return pull;
    return NULL;
}

void agent_images_news(struct agent *g)
{
    struct puller_event ev;

    while (puller_next(g->opt.puller, &ev)) {
        struct agent_image_pull *pull = find_pull(g, ev.id);

        if (!pull)
            continue;
        if (ev.is_over) {
            take_end(g, pull, &ev);
            agent_image_wake(g, pull);
        } else {
            pull->doing = ev.doing;
            pull->bytes = ev.bytes;
            pull->total = ev.total;
        }
        agent_image_show(g);
    }
    if (puller_is_gone(g->opt.puller)) /* epoll would repeat its end */
        (void)epoll_ctl(g->epoll, EPOLL_CTL_DEL, puller_fd(g->opt.puller), NULL);
}

/* ---- who waits ---- */

bool agent_start_next(struct agent_pod *p, struct life_action *ret)
{
    for (size_t i = 0; i < p->starts.n; i++)
        if (!p->starts.v[i].pull->id) {
            *ret = p->starts.v[i].action;
            memmove(&p->starts.v[i], &p->starts.v[i + 1], (--p->starts.n - i) * sizeof(*p->starts.v));
            return true;
        }
    return false;
}

static bool is_waited_for(struct agent *g, const struct agent_image_pull *pull)
{
    MAP_FOREACH(struct agent_pod *, p, &g->pods)
        VEC_FOREACH(s, &p->starts)
            if (s->pull == pull)
                return true;
    return false;
}

void agent_starts_forget(struct agent_pod *p)
{
    struct agent *g = p->agent;
    size_t n = p->starts.n;

    p->starts.n = 0;
    for (size_t i = 0; i < n; i++) {
        struct agent_image_pull *pull = p->starts.v[i].pull;

        if (!pull->id || is_waited_for(g, pull))
            continue;
        puller_cancel(g->opt.puller, pull->id);
        pull->id = 0;
        agent_image_show(g);
    }
}

void agent_starts_give_up(struct agent_pod *p)
{
    VEC_FOREACH(s, &p->starts)
        life_start_given_up(p->life, s->action.name, agent_pod_now(p));
    agent_starts_forget(p);
}
