/* sim_net.c - cluster_sim: a store behind a bad network, on a virtual clock, from a seed
 *
 * A write becomes a request with two times: when it reaches the store (never, if it is lost) and when its answer is
 * back (as an error of unknown outcome, if that is lost). Changes of the store are pulled from the store's own watches
 * into one queue for each type; the time each is told never falls within a queue, which keeps the order a real watch
 * keeps.
 */
#include "cluster/test/sim_net.h"

#include "base/heap.h"
#include "base/list.h"
#include "base/rand.h"
#include "base/util.h"
#include "store/store.h"

#include <assert.h>

struct sim_client;

struct request { /* on its way to the store */
    struct heap_node node;
    int64_t arrives_ms, answer_ms;
    uint64_t seq, token;
    struct sim_client *client; /* NULL: it crashed meanwhile */
    uint32_t client_id;
    bool is_read, is_answer_lost, is_too_soon; /* too soon: the answer was given up before it arrived */
    struct op op;                              /* a read has type, namespace and name only */
    struct arena arena;
    struct list_link link;
};

struct item {              /* something to tell a client */
    struct heap_node node; /* answers */
    struct list_link link; /* events of one type */
    int64_t due_ms;
    uint64_t seq;
    struct cluster_event event; /* holds a reference to event.object */
};

struct stream { /* what a client hears of one type */
    const struct resource_type *type;
    struct watch *watch; /* NULL: broken until 'listed_ms' */
    int64_t listed_ms, last_due_ms;
    struct list items;
};

enum { MAX_STREAMS = 64 };

struct sim_client {
    struct cluster cluster;
    struct sim_net *net;
    uint32_t id;
    bool is_dead;
    struct stream streams[MAX_STREAMS];
    size_t n_streams;
    struct heap answers;
    uint64_t pulled_rev; /* the store's revision when the streams were last filled */
    int64_t pulled_ms;
    struct object *lent; /* of the event handed out last */
    struct list_link link;
};

struct sim_net {
    struct store *store;
    struct clock_manual *clock;
    struct rand rand;
    const struct sim_faults *faults;
    struct sim_hooks hooks;
    struct heap requests;
    struct list clients;
    struct list all_requests;
    int64_t outage_until_ms;
    uint64_t seq, tokens;
    unsigned touches;
};

static const struct sim_faults no_faults;

static int by_arrival(const struct heap_node *x, const struct heap_node *y)
{
    const struct request *a = HEAP_ITEM(x, const struct request, node), *b = HEAP_ITEM(y, const struct request, node);

    if (a->arrives_ms != b->arrives_ms)
        return a->arrives_ms < b->arrives_ms ? -1 : 1;
    return a->seq < b->seq ? -1 : 1;
}

static int by_due(const struct heap_node *x, const struct heap_node *y)
{
    const struct item *a = HEAP_ITEM(x, const struct item, node), *b = HEAP_ITEM(y, const struct item, node);

    if (a->due_ms != b->due_ms)
        return a->due_ms < b->due_ms ? -1 : 1;
    return a->seq < b->seq ? -1 : 1;
}

/* ---- chance ---- */

static int64_t now_ms(const struct sim_net *net)
{
    return net->clock->mono_us / 1000;
}

static bool is_out(const struct sim_net *net)
{
    return now_ms(net) < net->outage_until_ms;
}

static bool chance(struct sim_net *net, uint32_t of)
{
    return of && rand_chance(&net->rand, of, SIM_CHANCE);
}

static int64_t some_ms(struct sim_net *net, int64_t max)
{
    return max > 0 ? rand_between(&net->rand, 0, max) : 0;
}

static void fault(struct sim_net *net, uint32_t client, const char *what, const struct op *op)
{
    if (net->hooks.on_fault)
        net->hooks.on_fault(net->hooks.ctx, client, what, op);
}

/* ---- what a client hears ---- */

static void item_free(struct item *item)
{
    object_unref(item->event.object);
    free(item);
}

static struct item *item_new(struct sim_net *net, enum cluster_event_kind kind, const struct resource_type *type,
                             const struct object *object, int64_t due_ms)
{
    struct item *item = xcalloc(1, sizeof(*item));

    item->event = (struct cluster_event){ .kind = kind, .type = type, .object = object_ref(object) };
    item->due_ms = due_ms;
    item->seq = ++net->seq;
    return item;
}

static void stream_add(struct sim_client *c, struct stream *s, enum cluster_event_kind kind, const struct object *o,
                       int64_t delay_ms)
{
    s->last_due_ms = MAX_OF(s->last_due_ms, now_ms(c->net) + delay_ms);
    list_push(&s->items, &item_new(c->net, kind, s->type, o, s->last_due_ms)->link);
}

static void stream_break(struct sim_client *c, struct stream *s, int64_t listed_ms)
{
    struct list_link *link;

    watch_close(s->watch);
    s->watch = NULL;
    s->listed_ms = MAX_OF(s->listed_ms, listed_ms);
    while ((link = list_pop_front(&s->items)))
        item_free(LIST_ITEM(link, struct item, link));
    s->last_due_ms = now_ms(c->net);
    c->pulled_ms = -1; /* it may be listed again at this very moment */
}

struct listing {
    struct sim_client *client;
    struct stream *stream;
    int64_t step_ms; /* a long list comes in pieces */
};

static void list_one(void *ctx, const struct object *o)
{
    struct listing *l = ctx;

    stream_add(l->client, l->stream, CLUSTER_PUT, o, 0);
    l->stream->last_due_ms += l->step_ms;
}

static void stream_list(struct sim_client *c, struct stream *s)
{
    struct sim_net *net = c->net;
    struct listing l = { c, s, chance(net, net->faults->late) ? 1 + some_ms(net, 200) : 0 };

    stream_add(c, s, CLUSTER_RELIST, NULL, some_ms(net, net->faults->latency_ms));
    store_list(net->store, s->type, STR_NULL, list_one, &l);
    stream_add(c, s, CLUSTER_SYNCED, NULL, 0);
    LIST_LAST(&s->items, struct item, link)->event.rev = store_revision(net->store);
    if (watch_open(net->store, s->type, STR_NULL, store_revision(net->store), &s->watch, NULL) < 0)
        assert(!"a watch from now on cannot be too old");
}

/* One change of the store on its way to a client. False: the watch broke. */
static bool stream_take(struct sim_client *c, struct stream *s, const struct watch_event *ev)
{
    struct sim_net *net = c->net;
    const struct sim_faults *f = net->faults;
    enum cluster_event_kind kind = ev->kind == WATCH_DELETED ? CLUSTER_GONE : CLUSTER_PUT;

    if (ev->kind == WATCH_BOOKMARK)
        return true;
    if (chance(net, f->broken)) {
        fault(net, c->id, "watch broken", NULL);
        stream_break(c, s, now_ms(net) + some_ms(net, f->gap_ms));
        return false;
    }
    stream_add(c, s, kind, ev->object,
               some_ms(net, f->latency_ms) + (chance(net, f->late) ? some_ms(net, f->late_ms) : 0));
    if (chance(net, f->doubled)) {
        fault(net, c->id, "event doubled", NULL);
        stream_add(c, s, kind, ev->object, some_ms(net, f->latency_ms));
    }
    return true;
}

static void stream_pull(struct sim_client *c, struct stream *s)
{
    struct watch_event ev;
    int rc;

    if (!s->watch && now_ms(c->net) >= s->listed_ms && !is_out(c->net))
        stream_list(c, s);
    while (s->watch && (rc = watch_next(s->watch, &ev, NULL)) != 0) {
        if (rc < 0)
            stream_break(c, s, now_ms(c->net));
        else if (!stream_take(c, s, &ev))
            break;
    }
}

static void client_pull(struct sim_client *c)
{
    uint64_t rev = store_revision(c->net->store);

    if (c->pulled_rev == rev && c->pulled_ms == now_ms(c->net))
        return;
    c->pulled_rev = rev;
    c->pulled_ms = now_ms(c->net);
    for (size_t i = 0; i < c->n_streams; i++)
        stream_pull(c, &c->streams[i]);
}

/* The next item due, taken out of its queue; NULL if there is none at 'ms' or before. */
static struct item *client_take(struct sim_client *c, int64_t ms)
{
    struct heap_node *node = heap_first(&c->answers);
    struct item *best = node ? HEAP_ITEM(node, struct item, node) : NULL;

    for (size_t i = 0; i < c->n_streams; i++) {
        struct item *item = LIST_FIRST(&c->streams[i].items, struct item, link);

        if (item && (!best || item->due_ms < best->due_ms || (item->due_ms == best->due_ms && item->seq < best->seq)))
            best = item;
    }
    if (!best || best->due_ms > ms)
        return NULL;
    if (list_is_linked(&best->link))
        list_remove(&best->link);
    else
        heap_remove(&c->answers, &best->node);
    return best;
}

/* ---- requests ---- */

/* json_copy() shares text with the original; a request that travels needs its own. */
static void own_text(struct arena *a, struct json *j)
{
    if (j->key)
        j->key = arena_str(a, json_key(j)).p;
    if (j->type == JSON_STRING || j->type == JSON_NUMBER)
        j->text = arena_str(a, (struct str){ j->text, j->n }).p;
    JSON_FOREACH(child, j)
        own_text(a, child);
}

static void request_own(struct request *r)
{
    struct op *op = &r->op;

    op->namespace = arena_str(&r->arena, op->namespace);
    op->name = arena_str(&r->arena, op->name);
    op->uid = arena_str(&r->arena, op->uid);
    if (op->body) {
        op->body = json_copy(&r->arena, op->body);
        own_text(&r->arena, op->body);
    }
}

static void answer(struct sim_client *c, uint64_t token, const struct resource_type *type, const struct object *o,
                   const struct err *e, bool is_unknown, int64_t due_ms)
{
    struct item *item;

    if (!c || c->is_dead)
        return;
    item = item_new(c->net, CLUSTER_RESULT, type, o, due_ms);
    item->event.token = token;
    item->event.is_unknown = is_unknown;
    if (e)
        item->event.err = *e;
    heap_push(&c->answers, &item->node);
}

/* Somebody else writes the object first: harmless, but the revision moves. */
static void touch(struct sim_net *net, const struct request *r)
{
    autoarena a = { 0 };
    struct json *patch = json_object(&a);

    json_set(json_need_object(&a, json_need_object(&a, patch, "metadata"), "annotations"), "sim.pumice.dev/touched",
             json_fmt(&a, "%u", ++net->touches));
    fault(net, r->client_id, "another writer came first", &r->op);
    (void)store_apply(net->store,
                      &(struct op){ .kind = OP_MERGE_PATCH,
                                    .type = r->op.type,
                                    .namespace = r->op.namespace,
                                    .name = r->op.name,
                                    .body = patch },
                      NULL, NULL);
}

static void request_write(struct sim_net *net, struct request *r, struct object **ret, struct err *e)
{
    bool is_update = r->op.kind == OP_UPDATE || r->op.kind == OP_UPDATE_STATUS || r->op.kind == OP_PATCH_STATUS;
    int rc;

    if (is_update && chance(net, net->faults->conflict))
        touch(net, r);
    rc = store_apply(net->store, &r->op, ret, e);
    if (net->hooks.on_effect)
        net->hooks.on_effect(net->hooks.ctx, r->client_id, &r->op, rc < 0 ? e : NULL);
}

static void request_free(struct request *r)
{
    list_remove(&r->link);
    arena_done(&r->arena);
    free(r);
}

/* A delete that removed its object answers without one. */
static bool is_still_there(const struct sim_net *net, const struct object *o)
{
    const struct object *now = store_get(net->store, o->type, o->namespace, o->name);

    return now && str_eq(now->uid, o->uid);
}

/* The request reaches the store. */
static void request_arrive(struct sim_net *net, struct request *r)
{
    autounref struct object *o = NULL;
    struct err e = { 0 };

    if (r->is_read)
        o = object_ref(store_get(net->store, r->op.type, r->op.namespace, r->op.name));
    else
        request_write(net, r, &o, &e);
    if (o && !r->is_read && r->op.kind == OP_DELETE && !is_still_there(net, o)) {
        object_unref(o);
        o = NULL;
    }
    if (r->is_answer_lost) {
        err_set(&e, ERR_IO, "no answer in time");
        answer(r->is_too_soon ? NULL : r->client, r->token, r->op.type, NULL, &e, true, r->answer_ms);
    } else {
        answer(r->client, r->token, r->op.type, o, &e, false, r->answer_ms);
    }
    request_free(r);
}

/* Lost, refused or shut out; answered without reaching the store. */
static bool request_fails(struct sim_client *c, const struct request *r)
{
    struct sim_net *net = c->net;
    const struct sim_faults *f = net->faults;
    bool is_pod_create = !r->is_read && r->op.kind == OP_CREATE && str_is(str_of(r->op.type->kind), "Pod");
    int64_t now = now_ms(net);
    struct err e = { 0 };

    if (is_out(net)) {
        bool hangs = chance(net, SIM_CHANCE / 2);

        err_set(&e, ERR_IO, "the API server is out of reach");
        answer(c, r->token, r->op.type, NULL, &e, hangs, now + (hangs ? f->timeout_ms : some_ms(net, 100)));
    } else if (chance(net, f->refused)) {
        fault(net, c->id, "refused", r->is_read ? NULL : &r->op);
        err_set(&e, ERR_IO, "internal error, try again");
        answer(c, r->token, r->op.type, NULL, &e, false, now + some_ms(net, f->latency_ms));
    } else if (is_pod_create && chance(net, f->quota)) {
        fault(net, c->id, "quota exceeded", r->is_read ? NULL : &r->op);
        err_set(&e, ERR_FORBIDDEN, "pods: exceeded quota");
        answer(c, r->token, r->op.type, NULL, &e, false, now + some_ms(net, f->latency_ms));
    } else if (chance(net, f->request_lost)) {
        fault(net, c->id, "request lost", r->is_read ? NULL : &r->op);
        err_set(&e, ERR_IO, "no answer in time");
        answer(c, r->token, r->op.type, NULL, &e, true, now + f->timeout_ms);
    } else {
        return false;
    }
    return true;
}

static void request_route(struct sim_client *c, struct request *r)
{
    struct sim_net *net = c->net;
    const struct sim_faults *f = net->faults;
    struct err e = { 0 };

    r->arrives_ms = now_ms(net) + some_ms(net, f->latency_ms) + (chance(net, f->slow) ? some_ms(net, f->slow_ms) : 0);
    r->answer_ms = r->arrives_ms + some_ms(net, f->latency_ms);
    if (chance(net, f->answer_lost_too_soon)) {
        fault(net, c->id, "takes effect after the time-out", r->is_read ? NULL : &r->op);
        r->is_answer_lost = r->is_too_soon = true;
        r->arrives_ms = now_ms(net) + f->timeout_ms + some_ms(net, f->slow_ms);
        err_set(&e, ERR_IO, "no answer in time");
        answer(c, r->token, r->op.type, NULL, &e, true, now_ms(net) + f->timeout_ms);
    } else if (chance(net, f->answer_lost)) {
        fault(net, c->id, "answer lost", r->is_read ? NULL : &r->op);
        r->is_answer_lost = true;
        r->answer_ms = MAX_OF(r->arrives_ms, now_ms(net) + f->timeout_ms);
    }
}

static uint64_t client_send(struct sim_client *c, const struct op *op, bool is_read)
{
    struct sim_net *net = c->net;
    struct request *r;
    uint64_t token = ++net->tokens;
    enum sim_fate fate = SIM_GO;

    if (c->is_dead)
        return token;
    if (!is_read && net->hooks.on_send)
        fate = net->hooks.on_send(net->hooks.ctx, c->id, op, token);
    if (is_read && net->hooks.on_read)
        net->hooks.on_read(net->hooks.ctx, c->id, op->type, op->name, token);
    c->is_dead = fate != SIM_GO;
    if (fate == SIM_CRASH_BEFORE)
        return token;
    r = xcalloc(1, sizeof(*r));
    *r = (struct request){
        .seq = ++net->seq, .token = token, .client = c, .client_id = c->id, .is_read = is_read, .op = *op
    };
    list_push(&net->all_requests, &r->link);
    if (request_fails(c, r)) {
        request_free(r);
        return token;
    }
    request_route(c, r);
    if (r->arrives_ms <= now_ms(net)) {
        request_arrive(net, r);
    } else {
        request_own(r);
        heap_push(&net->requests, &r->node);
    }
    return token;
}

/* ---- the class ---- */

static void sim_free(struct cluster *cluster)
{
    struct sim_client *c = (struct sim_client *)cluster;
    struct heap_node *node;

    for (size_t i = 0; i < c->n_streams; i++)
        stream_break(c, &c->streams[i], 0);
    while ((node = heap_pop(&c->answers)))
        item_free(HEAP_ITEM(node, struct item, node));
    heap_done(&c->answers);
    LIST_FOREACH(struct request, r, &c->net->all_requests, link)
        if (r->client == c)
            r->client = NULL;
    object_unref(c->lent);
    list_remove(&c->link);
    free(c);
}

static void sim_want(struct cluster *cluster, const struct resource_type *type)
{
    struct sim_client *c = (struct sim_client *)cluster;
    struct stream *s;

    for (size_t i = 0; i < c->n_streams; i++)
        if (c->streams[i].type == type)
            return;
    assert(c->n_streams < MAX_STREAMS);
    s = &c->streams[c->n_streams++];
    *s = (struct stream){ .type = type };
    list_init(&s->items);
    stream_pull(c, s);
}

static uint64_t sim_write(struct cluster *cluster, const struct op *op)
{
    return client_send((struct sim_client *)cluster, op, false);
}

static uint64_t sim_read(struct cluster *cluster, const struct resource_type *type, struct str namespace,
                         struct str name)
{
    struct op op = { .type = type, .namespace = namespace, .name = name };

    return client_send((struct sim_client *)cluster, &op, true);
}

static bool sim_next(struct cluster *cluster, struct cluster_event *ret)
{
    struct sim_client *c = (struct sim_client *)cluster;
    struct item *item;

    if (c->is_dead)
        return false;
    client_pull(c);
    item = client_take(c, now_ms(c->net));
    if (!item)
        return false;
    object_unref(c->lent);
    c->lent = (struct object *)item->event.object; /* the item's reference goes over */
    *ret = item->event;
    free(item);
    if (c->net->hooks.on_event)
        c->net->hooks.on_event(c->net->hooks.ctx, c->id, ret);
    return true;
}

static int64_t sim_now_ms(struct cluster *cluster)
{
    return clock_now_ms(&((struct sim_client *)cluster)->net->clock->clock);
}

static const struct cluster_class sim_class = { sim_free, sim_want, sim_write, sim_read, sim_next, sim_now_ms };

struct cluster *cluster_sim_new(struct sim_net *net, uint32_t id)
{
    struct sim_client *c = xcalloc(1, sizeof(*c));

    c->cluster.class = &sim_class;
    c->net = net;
    c->id = id;
    heap_init(&c->answers, by_due);
    list_push(&net->clients, &c->link);
    return &c->cluster;
}

int64_t cluster_sim_due_ms(struct cluster *cluster)
{
    struct sim_client *c = (struct sim_client *)cluster;
    struct heap_node *node;
    int64_t due = INT64_MAX;

    if (c->is_dead)
        return INT64_MAX;
    client_pull(c);
    if ((node = heap_first(&c->answers)))
        due = HEAP_ITEM(node, struct item, node)->due_ms;
    for (size_t i = 0; i < c->n_streams; i++) {
        struct item *item = LIST_FIRST(&c->streams[i].items, struct item, link);

        if (item)
            due = MIN_OF(due, item->due_ms);
        else if (!c->streams[i].watch)
            due = MIN_OF(due, MAX_OF(c->streams[i].listed_ms, c->net->outage_until_ms));
    }
    return due;
}

bool cluster_sim_is_dead(struct cluster *cluster)
{
    return ((struct sim_client *)cluster)->is_dead;
}

/* ---- the network ---- */

struct sim_net *sim_net_new(const struct sim_options *opt)
{
    struct sim_net *net = xcalloc(1, sizeof(*net));

    net->store = opt->store;
    net->clock = opt->clock;
    net->faults = opt->faults ? opt->faults : &no_faults;
    net->hooks = opt->hooks;
    rand_seed(&net->rand, opt->seed);
    heap_init(&net->requests, by_arrival);
    list_init(&net->clients);
    list_init(&net->all_requests);
    return net;
}

void sim_net_free(struct sim_net *net)
{
    if (!net)
        return;
    assert(list_is_empty(&net->clients));
    heap_done(&net->requests);
    LIST_FOREACH(struct request, r, &net->all_requests, link)
        request_free(r);
    free(net);
}

int64_t sim_net_due_ms(const struct sim_net *net)
{
    struct heap_node *node = heap_first(&net->requests);

    return node ? HEAP_ITEM(node, struct request, node)->arrives_ms : INT64_MAX;
}

void sim_net_run(struct sim_net *net)
{
    while (sim_net_due_ms(net) <= now_ms(net))
        request_arrive(net, HEAP_ITEM(heap_pop(&net->requests), struct request, node));
}

void sim_net_outage(struct sim_net *net, int64_t until_ms)
{
    net->outage_until_ms = MAX_OF(net->outage_until_ms, until_ms);
    LIST_FOREACH(struct sim_client, c, &net->clients, link)
        for (size_t i = 0; i < c->n_streams; i++)
            stream_break(c, &c->streams[i], until_ms + some_ms(net, net->faults->gap_ms));
}
