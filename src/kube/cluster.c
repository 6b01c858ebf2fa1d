/* cluster.c - the door: events to deliver, timers, one turn */
#include "kube/cluster_internal.h"

#include "base/clock.h"
#include "base/util.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

enum { GIVEN_MAX = 4096 }; /* events in a row before others get their turn */

static struct kube *kube_of(struct cluster *c)
{
    return (struct kube *)c;
}

int64_t kube_mono_ms(const struct kube *k)
{
    return clock_mono_ms(k->clock);
}

/* ---- kinds ---- */

static const struct kube_view *view_of(const struct kube *k, const struct resource_type *type)
{
    for (size_t i = 0; i < k->opt.n_views; i++)
        if (k->opt.views[i].type == type)
            return &k->opt.views[i];
    return NULL;
}

/* What makes it an object is always kept. */
static const struct json_mask *object_mask(struct kube *k, const char *const *fields)
{
    static const char *const always[] = { "apiVersion",         "kind",         "metadata.name",
                                          "metadata.namespace", "metadata.uid", "metadata.resourceVersion" };
    size_t n = 0;
    const char **both;

    while (fields[n])
        n++;
    both = arena_array(&k->arena, const char *, n + ARRAY_LEN(always) + 1);
    memcpy(both, fields, n * sizeof(*both));
    memcpy(both + n, always, sizeof(always));
    return json_mask_make(&k->arena, both);
}

const struct kind *kube_kind(struct kube *k, const struct resource_type *type)
{
    static const char *const all[] = { "-metadata.managedFields", NULL }, *const event[] = { "type", NULL };
    const struct kube_view *view = view_of(k, type);
    struct kind *kind = k->kinds[type - resource_types];
    struct json_mask *around;

    if (kind)
        return kind;
    kind = k->kinds[type - resource_types] = arena_new(&k->arena, struct kind);
    kind->type = type;
    kind->view = view;
    kind->api_version = type_api_version(&k->arena, type);
    kind->object = view && view->mask ? object_mask(k, view->mask) : json_mask_make(&k->arena, all);
    around = json_mask_make(&k->arena, event);
    json_mask_graft(&k->arena, around, "object", kind->object);
    kind->event = around;
    return kind;
}

/* ---- telling ---- */

static struct news *news_new(struct kube *k, enum cluster_event_kind kind, const struct resource_type *type,
                             struct object *take)
{
    struct news *n = xcalloc(1, sizeof(*n));

    n->kind = kind;
    n->type = type;
    n->object = take;
    list_push(&k->news, &n->link);
    return n;
}

void kube_tell(struct kube *k, enum cluster_event_kind kind, const struct resource_type *type, struct object *take,
               uint64_t rev)
{
    news_new(k, kind, type, take)->rev = rev;
}

void kube_answer(struct kube *k, const struct resource_type *type, struct object *take, const struct answer *answer)
{
    struct news *n = news_new(k, CLUSTER_RESULT, type, take);

    n->answer = xmalloc(sizeof(*n->answer));
    *n->answer = *answer;
}

static void news_free(struct news *n)
{
    object_unref(n->object);
    free(n->answer);
    free(n);
}

static bool cluster_give(struct kube *k, struct cluster_event *ret)
{
    struct list_link *first = list_pop_front(&k->news);
    struct news *n;

    if (!first)
        return false;
    n = LIST_ITEM(first, struct news, link);
    *ret = (struct cluster_event){ .kind = n->kind, .type = n->type, .object = n->object, .rev = n->rev };
    if (n->answer) {
        ret->token = n->answer->token;
        ret->err = n->answer->err;
        ret->is_unknown = n->answer->is_unknown;
    }
    object_unref(k->lent);
    k->lent = n->object;
    n->object = NULL;
    news_free(n);
    return true;
}

/* ---- identity ---- */

enum credential_state kube_identify(struct kube *k, struct http_request *r, uint64_t *ret_generation, struct err *e)
{
    struct credential_now now;
    enum credential_state state = credential_get(k->credential, &now, e);

    if (state != CREDENTIAL_READY)
        return state;
    if (now.cert_pem.n && !str_eq(now.cert_pem, buf_view(&k->certificate))) {
        buf_reset(&k->certificate);
        buf_str(&k->certificate, now.cert_pem);
        http_client_set_certificate(k->http, now.cert_pem, now.key_pem);
        http_client_set_certificate(k->streams, now.cert_pem, now.key_pem);
    }
    r->token = now.token;
    r->headers = k->opt.config->headers;
    *ret_generation = now.generation;
    return CREDENTIAL_READY;
}

/* ---- time ---- */

static int64_t due_of(struct kube *k)
{
    int64_t due_ms = MIN_OF(calls_due(k), credential_due_ms(k->credential));

    due_ms = MIN_OF(due_ms, gather_due(k));
    if (credential_fd(k->credential) >= 0) /* all wait for it */
        return credential_due_ms(k->credential);
    LIST_FOREACH(struct reflector, r, &k->reflectors, link)
        if (r->state == REFLECTOR_RESTS)
            due_ms = MIN_OF(due_ms, r->due_ms);
    return due_ms;
}

/* Its time has come. If the timer has not fired yet, disarm it. */
static void timer_take(struct kube *k)
{
    struct itimerspec never = { 0 };
    uint64_t times;

    if (read(k->timer, &times, sizeof(times)) < 0)
        (void)timerfd_settime(k->timer, 0, &never, NULL); /* all is valid */
    k->armed_ms = INT64_MAX;
}

static void timer_set(struct kube *k, int64_t due_ms)
{
    struct itimerspec at = { 0 };
    int64_t delay_ms;

    if (due_ms >= k->armed_ms) /* it may wake us too early */
        return;
    k->armed_ms = due_ms;
    delay_ms = MAX_OF(due_ms - kube_mono_ms(k), 0);
    at.it_value = (struct timespec){ delay_ms / 1000, delay_ms % 1000 * 1000000 + 1 }; /* 0 would mean: never */
    (void)timerfd_settime(k->timer, 0, &at, NULL);                                     /* all is valid */
}

/* A plugin that runs is waited for. */
static void plugin_set(struct kube *k)
{
    int fd = credential_fd(k->credential);
    struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

    if (fd == k->plugin)
        return;
    k->plugin = fd; /* the one before was closed, and so left the epoll */
    if (fd >= 0)
        (void)epoll_ctl(k->epoll, EPOLL_CTL_ADD, fd, &ev); /* else its time limit ends it */
}

static void cluster_turn(struct kube *k)
{
    int64_t now_ms;

    if (kube_mono_ms(k) >= k->armed_ms)
        timer_take(k);
    credential_turn(k->credential);
    calls_recall(k); /* the next line sends what was only begun */
    http_turn(k->http);
    http_turn(k->streams);
    now_ms = kube_mono_ms(k);
    LIST_FOREACH(struct reflector, r, &k->reflectors, link)
        reflector_turn(r, now_ms);
    gather_turn(k, now_ms);
    calls_turn(k, now_ms);
    plugin_set(k);
    timer_set(k, due_of(k));
}

/* ---- the class ---- */

static void kube_free(struct cluster *c)
{
    struct kube *k = kube_of(c);

    calls_recall(k); /* what may not be sent must not be sent by its end either */
    LIST_FOREACH(struct reflector, r, &k->reflectors, link)
        reflector_free(r);
    LIST_FOREACH(struct call, r, &k->waiting, link)
        call_free(r);
    LIST_FOREACH(struct call, r, &k->flying, link)
        call_free(r);
    LIST_FOREACH(struct call, r, &k->gathering, link)
        call_free(r);
    LIST_FOREACH(struct news, n, &k->news, link)
        news_free(n);
    object_unref(k->lent);
    http_client_free(k->http);
    http_client_free(k->streams);
    credential_free(k->credential);
    autoclose_done(&k->epoll);
    autoclose_done(&k->timer);
    buf_done(&k->certificate);
    buf_done(&k->agent);
    buf_done(&k->manager);
    arena_done(&k->scratch);
    arena_done(&k->arena);
    free(k->kinds);
    free(k);
}

static void kube_want(struct cluster *c, const struct resource_type *type)
{
    struct kube *k = kube_of(c);

    LIST_FOREACH(struct reflector, r, &k->reflectors, link)
        if (r->kind->type == type && !r->followed)
            return;
    (void)reflector_new(k, kube_kind(k, type));
    timer_set(k, due_of(k));
}

/* An answer that was known at once waits: so does its owner. */
static uint64_t handed_over(struct kube *k, uint64_t token)
{
    calls_turn(k, kube_mono_ms(k));
    timer_set(k, list_is_empty(&k->news) ? due_of(k) : 0);
    return token;
}

static uint64_t kube_write(struct cluster *c, const struct op *op)
{
    return handed_over(kube_of(c), call_write(kube_of(c), op));
}

static uint64_t kube_read(struct cluster *c, const struct resource_type *type, struct str namespace, struct str name)
{
    return handed_over(kube_of(c), call_read(kube_of(c), type, namespace, name));
}

static bool kube_next(struct cluster *c, struct cluster_event *ret)
{
    struct kube *k = kube_of(c);

    if (list_is_empty(&k->news) && k->n_given < GIVEN_MAX)
        cluster_turn(k);
    if (!cluster_give(k, ret)) {
        k->n_given = 0;
        return false;
    }
    k->n_given++;
    return true;
}

static int64_t kube_now_ms(struct cluster *c)
{
    return clock_now_ms(kube_of(c)->clock);
}

static const struct cluster_class kube_class = {
    .free = kube_free,
    .want = kube_want,
    .write = kube_write,
    .read = kube_read,
    .next = kube_next,
    .now_ms = kube_now_ms,
};

/* ---- making one ---- */

static int wait_init(struct kube *k, struct err *e)
{
    struct epoll_event http = { .events = EPOLLIN }, streams = http, timer = http;

    k->epoll = epoll_create1(EPOLL_CLOEXEC);
    k->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (k->epoll < 0 || k->timer < 0 || epoll_ctl(k->epoll, EPOLL_CTL_ADD, k->timer, &timer) < 0 ||
        epoll_ctl(k->epoll, EPOLL_CTL_ADD, http_fd(k->http), &http) < 0 ||
        epoll_ctl(k->epoll, EPOLL_CTL_ADD, http_fd(k->streams), &streams) < 0)
        return err_errno(e, "wait for the API server");
    return 0;
}

static void name_set(struct kube *k)
{
    struct str name = k->opt.user_agent;
    ptrdiff_t slash;

    buf_str(&k->agent, name.n ? name : STR("pumice/" PUMICE_VERSION " (linux)"));
    name = buf_view(&k->agent);
    slash = str_find_char(name, '/');
    buf_str(&k->manager, slash < 0 ? name : str_sub(name, 0, (size_t)slash));
}

static int clients_init(struct kube *k, struct err *e)
{
    struct http_options http = kube_config_http(k->opt.config, buf_view(&k->agent));

    if (http_client_new(&http, &k->http, e) < 0 || http_client_new(&http, &k->streams, e) < 0)
        return err_wrap(e, "%.*s", STR_ARG(k->opt.config->origin));
    return 0;
}

int cluster_kube_new(const struct cluster_kube_options *opt, struct cluster **ret, struct err *e)
{
    struct kube *k = xcalloc(1, sizeof(*k));

    k->cluster.class = &kube_class;
    k->opt = *opt;
    k->clock = opt->clock ? opt->clock : &clock_real;
    k->epoll = k->timer = k->plugin = -1;
    k->armed_ms = INT64_MAX;
    k->kinds = xcalloc(n_all_types, sizeof(*k->kinds));
    list_init(&k->reflectors);
    list_init(&k->waiting);
    list_init(&k->flying);
    list_init(&k->gathering);
    list_init(&k->news);
    pace_init(&k->pace);
    rand_seed(&k->rand, opt->seed ? opt->seed : rand_os_u64());
    name_set(k);
    k->credential = credential_new(opt->config, k->clock);
    if (clients_init(k, e) < 0 || wait_init(k, e) < 0) {
        kube_free(&k->cluster);
        return -1;
    }
    *ret = &k->cluster;
    return 0;
}

int cluster_kube_fd(struct cluster *c)
{
    return kube_of(c)->epoll;
}

uint64_t cluster_kube_follow(struct cluster *c, const struct resource_type *type, struct str namespace, struct str name)
{
    struct kube *k = kube_of(c);
    struct reflector *r = reflector_follow(k, kube_kind(k, type), namespace, name);

    timer_set(k, due_of(k));
    return r->followed->token;
}

void cluster_kube_unfollow(struct cluster *c, const struct resource_type *type, struct str namespace, struct str name)
{
    LIST_FOREACH(struct reflector, r, &kube_of(c)->reflectors, link)
        if (reflector_follows(r, type, namespace, name))
            reflector_free(r);
}

void cluster_kube_ask(struct cluster *c, const struct kube_question *q)
{
    struct kube *k = kube_of(c);

    call_ask(k, q);
    timer_set(k, 0);
}

void cluster_kube_stats(struct cluster *c, struct kube_stats *ret)
{
    const struct kube *k = kube_of(c);
    struct http_stats http, streams;

    http_client_stats(k->http, &http);
    http_client_stats(k->streams, &streams);
    *ret = k->stats;
    ret->limit = pace_limit(&k->pace);
    ret->in_flight = k->pace.in_flight;
    LIST_FOREACH(struct call, r, &k->waiting, link)
        ret->waiting++;
    ret->connections = http.connections + streams.connections;
    ret->sent_bytes = http.sent_bytes + streams.sent_bytes;
    ret->received_bytes = http.received_bytes + streams.received_bytes;
}

bool cluster_kube_trouble(struct cluster *c, struct err *ret)
{
    LIST_FOREACH(struct reflector, r, &kube_of(c)->reflectors, link)
        if (r->trouble.code != ERR_OK && !r->is_absent) {
            *ret = r->trouble;
            return true;
        }
    return false;
}

bool cluster_kube_lacks(struct cluster *c, const struct resource_type *type)
{
    LIST_FOREACH(struct reflector, r, &kube_of(c)->reflectors, link)
        if (r->kind->type == type && !r->followed)
            return r->is_absent;
    return false;
}
