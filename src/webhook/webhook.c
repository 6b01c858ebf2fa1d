/* webhook.c - reviews: received, checked again if need be, answered */
#include "webhook/webhook.h"

#include "api/meta.h"
#include "api/name.h"
#include "base/clock.h"
#include "base/util.h"
#include "webhook/admission.h"
#include "webhook/webhook_internal.h"

#include <poll.h>
#include <sys/epoll.h>

enum {
    LOOKUPS_MAX = 16,
    LOOKING_MAX = 256,     /* reviews that are looked at afresh at a time: anybody in the cluster may send some */
    BODY_BYTES = 16 << 20, /* two objects of the largest size that etcd takes, as JSON, and more */
    ANSWER_MS = 5000,      /* of a fresh look; the API server waits for 10 s */
};
#define YEAR_MS (365LL * 24 * 3600 * 1000)

struct webhook_lookup { /* an object that the rules asked for */
    const struct resource_type *type;
    struct buf name;
    struct object *object; /* the fresh one; NULL: there is none */
    uint64_t token;        /* of the read on its way */
    bool is_read, is_known;
};

struct webhook_review {
    struct list_link link; /* webhook.reviews */
    struct webhook *webhook;
    struct http_call *call;
    struct webhook_lookup lookups[LOOKUPS_MAX];
    size_t n, waiting;
};

/* ---- what the rules ask ---- */

/* NULL: there can be no such object, or there are too many. */
static struct webhook_lookup *lookup_of(struct webhook_review *r, const struct resource_type *type, struct str name)
{
    autoarena a = { 0 };

    for (size_t i = 0; i < r->n; i++)
        if (r->lookups[i].type == type && str_eq(buf_view(&r->lookups[i].name), name))
            return &r->lookups[i];
    if (r->n == LOOKUPS_MAX || name_check_dns_subdomain(&a, name))
        return NULL;
    r->lookups[r->n].type = type;
    buf_str(&r->lookups[r->n].name, name);
    return &r->lookups[r->n++];
}

static const struct json *webhook_find_queue(void *ctx, struct str name)
{
    static const struct json always_there = { .type = JSON_OBJECT }; /* the controller makes it */
    struct webhook_review *r = ctx;
    struct webhook_lookup *l = lookup_of(r, r->webhook->queue_type, name);
    const struct object *o = l && l->is_known ? l->object : map_get(&r->webhook->queues, name);

    if (!o)
        return str_is(name, "default") ? &always_there : NULL;
    return o->root;
}

static const struct json *find_namespace(void *ctx, struct str name)
{
    struct webhook_review *r = ctx;
    struct webhook_lookup *l = lookup_of(r, r->webhook->namespace_type, name);

    return l && l->object ? l->object->root : NULL;
}

/* An object that was read again replaces that of the watch. */
static void webhook_each_queue(void *ctx, void (*each)(void *arg, const struct json *queue), void *arg)
{
    struct webhook_review *r = ctx;

    for (size_t i = 0; i < r->n; i++)
        if (r->lookups[i].type == r->webhook->queue_type && r->lookups[i].object)
            each(arg, r->lookups[i].object->root);
    MAP_FOREACH(const struct object *, o, &r->webhook->queues) {
        bool is_replaced = false;

        for (size_t i = 0; i < r->n; i++)
            is_replaced |= r->lookups[i].is_known && r->lookups[i].type == o->type &&
                           str_eq(buf_view(&r->lookups[i].name), o->name);
        if (!is_replaced)
            each(arg, o->root);
    }
}

/* ---- reviews ---- */

static void review_free(struct webhook_review *r)
{
    list_remove(&r->link);
    r->webhook->n_looking -= r->waiting > 0;
    for (size_t i = 0; i < r->n; i++) {
        buf_done(&r->lookups[i].name);
        object_unref(r->lookups[i].object);
    }
    free(r);
}

static void webhook_on_gone(void *ctx, struct http_call *call)
{
    (void)call;
    review_free(ctx);
}

/* Nothing is refused by what may be old news, and namespaces are never watched. True: answers are awaited. */
static bool webhook_look_again(struct webhook_review *r, bool is_allowed)
{
    struct webhook *w = r->webhook;

    for (size_t i = 0; i < r->n; i++) {
        struct webhook_lookup *l = &r->lookups[i];

        if (l->is_read || (is_allowed && l->type != w->namespace_type) || w->n_looking >= LOOKING_MAX)
            continue;
        l->is_read = true;
        l->token = cluster_read(w->door, l->type, STR_NULL, buf_view(&l->name));
        r->waiting++;
    }
    w->n_looking += r->waiting > 0;
    return r->waiting > 0;
}

static void reply(struct webhook_review *r, const struct admission_answer *a)
{
    struct webhook_stats *s = &r->webhook->stats;
    struct http_reply reply = { .status = a->status, .type = a->status == 200 ? "application/json" : NULL };

    s->failed += a->status != 200;
    s->allowed += a->status == 200 && a->is_allowed;
    s->denied += a->status == 200 && !a->is_allowed;
    for (size_t i = 0; i < r->n; i++)
        if (r->lookups[i].is_read) {
            s->looked_twice++;
            break;
        }
    http_answer(r->call, &reply, buf_view(&a->body));
    review_free(r);
}

static void webhook_decide(struct webhook_review *r)
{
    struct webhook *w = r->webhook;
    struct admit_env env = { .ctx = r,
                             .find_queue = webhook_find_queue,
                             .each_queue = webhook_each_queue,
                             .find_namespace = find_namespace,
                             .scheduler_name = buf_view(&w->scheduler_name) };
    struct admission_answer a;

    admission_review(r->call->path, r->call->body, &env, &a);
    if (a.status != 200 || !webhook_look_again(r, a.is_allowed))
        reply(r, &a);
    buf_done(&a.body);
}

static void take_answer(struct webhook *w, const struct cluster_event *ev)
{
    LIST_FOREACH(struct webhook_review, r, &w->reviews, link)
        for (size_t i = 0; i < r->n; i++) {
            struct webhook_lookup *l = &r->lookups[i];

            if (!l->token || l->token != ev->token)
                continue;
            l->token = 0;
            l->is_known = ev->err.code == ERR_OK || ev->err.code == ERR_NOT_FOUND;
            l->object = ev->err.code == ERR_OK && ev->object ? object_ref(ev->object) : NULL;
            if (--r->waiting == 0) {
                w->n_looking--;
                webhook_decide(r);
            }
            return;
        }
}

/* ---- requests ---- */

static const char *webhook_refusal(const struct webhook *w, const struct http_call *call, int *ret_status)
{
    *ret_status = 405;
    if (!str_is(call->method, "POST"))
        return "reviews must be sent with POST\n";
    *ret_status = 415;
    if (!str_starts(http_call_header(call, "Content-Type"), STR("application/json")))
        return "reviews must be application/json\n";
    *ret_status = 503;
    return w->has_queues ? NULL : "queues are not synced yet\n";
}

static void webhook_on_request(void *ctx, struct http_call *call)
{
    struct webhook *w = ctx;
    int status;
    const char *why = webhook_refusal(w, call, &status);
    struct webhook_review *r;

    if (why) {
        w->stats.failed++;
        http_answer(call, &(struct http_reply){ .status = status }, str_of(why));
        return;
    }
    r = xcalloc(1, sizeof(*r));
    r->webhook = w;
    r->call = call;
    list_push(&w->reviews, &r->link);
    http_call_watch(call, &(struct http_call_events){ .ctx = r, .on_gone = webhook_on_gone });
    webhook_decide(r);
}

/* ---- queues ---- */

static void forget_queue(struct webhook *w, struct str name)
{
    struct object *o = map_remove(&w->queues, name);

    object_unref(o);
}

static void take_queue(struct webhook *w, const struct object *o)
{
    const struct object *old = map_get(&w->queues, o->name);

    if (old && old->rev > o->rev)
        return;
    object_unref(map_put(&w->queues, o->name, object_ref(o)));
}

static void drop_untold(struct webhook *w)
{
    struct map_iter it = map_iter(&w->queues);

    for (struct object *o; (o = map_next(&it));)
        if (!relist_has(&w->relist, o->uid))
            forget_queue(w, o->name);
    relist_end(&w->relist);
    w->has_queues = true;
}

static void take_queue_event(struct webhook *w, const struct cluster_event *ev)
{
    if (ev->kind == CLUSTER_RELIST) {
        relist_begin(&w->relist, map_seed_default());
    } else if (ev->kind == CLUSTER_PUT) {
        relist_add(&w->relist, ev->object->uid);
        take_queue(w, ev->object);
    } else if (ev->kind == CLUSTER_GONE) {
        forget_queue(w, ev->object->name);
    } else if (ev->kind == CLUSTER_SYNCED) {
        drop_untold(w);
    }
}

/* ---- turns ---- */

int64_t webhook_turn(struct webhook *w)
{
    struct cluster_event ev;

    while (cluster_next(w->door, &ev)) {
        keys_take(w, &ev);
        if (ev.kind == CLUSTER_RESULT)
            take_answer(w, &ev);
        else if (ev.type == w->queue_type)
            take_queue_event(w, &ev);
    }
    http_server_turn(w->server);
    return keys_turn(w);
}

void webhook_drain(struct webhook *w, int64_t ms)
{
    int64_t until_ms = clock_mono_ms(&clock_real) + ms;
    struct http_server_stats s;

    http_server_stop(w->server);
    for (;;) {
        struct pollfd p = { .fd = w->epoll, .events = POLLIN };
        int64_t left_ms = until_ms - clock_mono_ms(&clock_real);

        (void)webhook_turn(w);
        http_server_stats(w->server, &s);
        if (!s.connections || left_ms <= 0)
            return;
        (void)poll(&p, 1, (int)MIN_OF(left_ms, (int64_t)50));
    }
}

bool webhook_is_ready(const struct webhook *w, struct buf *why)
{
    if (!w->has_queues)
        buf_fmt(why, "webhook: queues are not synced yet");
    else if (!w->keys.was_used)
        buf_fmt(why, "webhook: the API server does not trust the certificate yet");
    return w->has_queues && w->keys.was_used;
}

unsigned webhook_port(const struct webhook *w)
{
    return http_server_port(w->server);
}

int webhook_fd(const struct webhook *w)
{
    return w->epoll;
}

void webhook_stats(const struct webhook *w, struct webhook_stats *ret)
{
    *ret = w->stats;
}

/* ---- life ---- */

/* What the API server calls it by: the Service, and the address if it listens at one. */
static void make_names(struct webhook *w, const char *address)
{
    const char *colon = strrchr(address, ':');

    buf_fmt(&w->name, "%.*s.%.*s.svc", STR_ARG(buf_view(&w->service)), STR_ARG(buf_view(&w->namespace)));
    w->shared_names[0] = w->names[0] = w->name.p;
    if (colon && colon != address && address[0] != '[') {
        buf_append(&w->host, address, (size_t)(colon - address));
        w->names[1] = w->host.p;
    }
}

static void webhook_make_views(struct webhook *w)
{
    static const struct str label = STR_INIT("app.kubernetes.io/name=pumice");

    buf_fmt(&w->secret_selector, "metadata.name=%s", w->service.p);
    w->views[0] = (struct kube_view){ .type = w->secret_type,
                                      .namespace = buf_view(&w->namespace),
                                      .fields = buf_view(&w->secret_selector) };
    w->views[1] = (struct kube_view){ .type = w->config_types[0], .labels = label };
    w->views[2] = (struct kube_view){ .type = w->config_types[1], .labels = label };
    w->views[3] = (struct kube_view){ .type = w->namespace_type, .is_unlisted = true };
}

static int open_door(struct webhook *w, struct err *e)
{
    struct cluster_kube_options opt = {
        .config = w->opt->config, .views = w->views, .n_views = WEBHOOK_VIEWS, .answer_ms = ANSWER_MS
    };
    struct epoll_event in = { .events = EPOLLIN };

    if (cluster_kube_new(&opt, &w->door, e) < 0)
        return -1;
    cluster_want(w->door, w->queue_type);
    for (size_t i = 0; i + 1 < WEBHOOK_VIEWS; i++)
        cluster_want(w->door, w->views[i].type);
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (w->epoll < 0 || epoll_ctl(w->epoll, EPOLL_CTL_ADD, cluster_kube_fd(w->door), &in) < 0 ||
        epoll_ctl(w->epoll, EPOLL_CTL_ADD, http_server_fd(w->server), &in) < 0)
        return err_errno(e, "webhook");
    return 0;
}

/* Until the shared certificate is known we serve an untrusted one of our own, so that a bad address fails now. */
static int open_server(struct webhook *w, struct err *e)
{
    autocertificates own = { .title = "pumice webhook" };
    struct http_server_tls tls;
    struct http_server_options opt = { .address = w->opt->address,
                                       .tls = &tls,
                                       .limits = { .body_bytes = BODY_BYTES },
                                       .ctx = w,
                                       .on_request = webhook_on_request };

    if (certificate_make(&own, w->names, clock_now_ms(&clock_real), w->life_ms, e) < 0)
        return -1;
    tls = (struct http_server_tls){ buf_view(&own.cert), buf_view(&own.key), STR_NULL };
    return http_server_new(&opt, &w->server, e);
}

int webhook_new(const struct webhook_options *opt, struct webhook **ret, struct err *e)
{
    struct webhook *w = xcalloc(1, sizeof(*w));

    w->opt = opt;
    w->epoll = -1;
    w->life_ms = opt->life_ms ? opt->life_ms : YEAR_MS;
    w->queue_type = type_by_kind(STR("scheduling.volcano.sh/v1beta1"), STR("Queue"));
    w->secret_type = type_by_kind(STR("v1"), STR("Secret"));
    w->namespace_type = type_by_kind(STR("v1"), STR("Namespace"));
    w->config_types[0] = type_by_kind(STR("admissionregistration.k8s.io/v1"), STR("MutatingWebhookConfiguration"));
    w->config_types[1] = type_by_kind(STR("admissionregistration.k8s.io/v1"), STR("ValidatingWebhookConfiguration"));
    buf_str(&w->namespace, opt->namespace);
    buf_str(&w->service, opt->service);
    buf_str(&w->scheduler_name, opt->scheduler_name);
    list_init(&w->reviews);
    map_init(&w->queues, map_seed_default());
    keys_init(w);
    make_names(w, opt->address);
    webhook_make_views(w);
    if (open_server(w, e) < 0 || open_door(w, e) < 0) {
        webhook_free(w);
        return -1;
    }
    w->opt = NULL;
    *ret = w;
    return 0;
}

void webhook_free(struct webhook *w)
{
    if (!w)
        return;
    http_server_free(w->server); /* which forgets the reviews */
    cluster_free(w->door);
    autoclose_done(&w->epoll);
    MAP_FOREACH(struct object *, o, &w->queues)
        object_unref(o);
    map_done(&w->queues);
    relist_end(&w->relist);
    keys_done(w);
    buf_done(&w->namespace);
    buf_done(&w->service);
    buf_done(&w->scheduler_name);
    buf_done(&w->name);
    buf_done(&w->host);
    buf_done(&w->secret_selector);
    free(w);
}
