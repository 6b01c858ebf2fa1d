/* embedded.c - a cluster on a store in this process
 *
 * A write takes effect inside cluster_write(); its answer waits in a queue. Answers come before changes, changes of all
 * types in the order of their revisions. A type that is asked for, or whose watch fell behind, is listed: the objects
 * are kept by reference and told one by one.
 *
 * On a durable store nothing is reported before it is durable: an answer waits for the flush of its write, a list for
 * that of all writes. A write that was undone is answered with an error.
 */
#include "cluster/cluster.h"

#include "base/list.h"
#include "base/util.h"
#include "store/store.h"

struct embedded_answer {
    struct list_link link;
    const struct resource_type *type;
    struct object *object;
    uint64_t token;
    uint64_t rev; /* of the store: what the answer says has to be durable up to here */
    struct err err;
};

enum want_state { WANT_LIST, WANT_TELL, WANT_WATCH };

struct embedded_want { /* one type that was requested */
    struct list_link link;
    const struct resource_type *type;
    enum want_state state;
    struct object **listed; /* WANT_TELL: 'n' of them, told up to 'at' */
    size_t n, cap, at;
    uint64_t list_rev;
    struct watch *watch;
    uint64_t polled_rev;     /* the watch was empty when the store was flushed up to here */
    struct watch_event next; /* looked at ahead of time; kind WATCH_KIND_MAX: none */
};

struct embedded {
    struct cluster cluster;
    struct store *store;
    struct clock *clock;
    struct list answers, wants;
    struct object *held; /* of the event given out last */
    uint64_t token;
    cluster_complete_f complete; /* NULL: bodies are stored as they are */
    void *complete_ctx;
};

static struct embedded *embedded_of(struct cluster *c)
{
    return (struct embedded *)c;
}

static void want_forget_list(struct embedded_want *w)
{
    for (size_t i = w->at; i < w->n; i++)
        object_unref(w->listed[i]);
    free(w->listed);
    w->listed = NULL;
    w->n = w->cap = w->at = 0;
}

static void embedded_free(struct cluster *c)
{
    struct embedded *m = embedded_of(c);

    LIST_FOREACH(struct embedded_answer, a, &m->answers, link) {
        object_unref(a->object);
        free(a);
    }
    LIST_FOREACH(struct embedded_want, w, &m->wants, link) {
        want_forget_list(w);
        watch_close(w->watch);
        free(w);
    }
    object_unref(m->held);
    free(m);
}

static void embedded_want(struct cluster *c, const struct resource_type *type)
{
    struct embedded *m = embedded_of(c);
    struct embedded_want *w;

    LIST_FOREACH(struct embedded_want, old, &m->wants, link)
        if (old->type == type)
            return;
    w = xcalloc(1, sizeof(*w));
    w->type = type;
    w->next.kind = WATCH_KIND_MAX;
    list_push(&m->wants, &w->link);
}

/* ---- writes and reads ---- */

static struct embedded_answer *answer_new(struct embedded *m, const struct resource_type *type)
{
    struct embedded_answer *a = xcalloc(1, sizeof(*a));

    a->type = type;
    a->token = ++m->token;
    list_push(&m->answers, &a->link);
    return a;
}

/* What a delete left: the object with its deletionTimestamp, or nothing. */
static bool is_still_there(struct embedded *m, const struct object *o)
{
    const struct object *now = store_get(m->store, o->type, o->namespace, o->name);

    return now && str_eq(now->uid, o->uid);
}

static uint64_t embedded_write(struct cluster *c, const struct op *op)
{
    struct embedded *m = embedded_of(c);
    struct embedded_answer *a = answer_new(m, op->type);
    autoarena scratch = { 0 };
    struct op whole = *op;
    bool is_refused = false;

    if (m->complete && op->kind == OP_CREATE) {
        whole.body = json_copy(&scratch, op->body);
        is_refused = m->complete(m->complete_ctx, &scratch, op->type, whole.body, &a->err) < 0;
    }
    if (is_refused || store_apply(m->store, &whole, &a->object, &a->err) < 0)
        a->object = NULL;
    else
        a->err = (struct err){ 0 };
    if (op->kind == OP_DELETE && a->object && !is_still_there(m, a->object)) {
        object_unref(a->object);
        a->object = NULL;
    }
    a->rev = store_revision(m->store);
    return a->token;
}

static uint64_t embedded_read(struct cluster *c, const struct resource_type *type, struct str namespace,
                              struct str name)
{
    struct embedded *m = embedded_of(c);
    struct embedded_answer *a = answer_new(m, type);

    if (!type_is_foreign(type)) /* those are never stored */
        a->object = object_ref(store_get(m->store, type, namespace, name));
    a->rev = store_revision(m->store);
    return a->token;
}

/* ---- events ---- */

/* 'take' lives until the next event. */
static void embedded_hold(struct embedded *m, struct object *take)
{
    object_unref(m->held);
    m->held = take;
}

/* What it told of was undone. */
static void embedded_take_back(struct embedded *m, struct embedded_answer *a)
{
    object_unref(a->object);
    a->object = NULL;
    if (store_writable(m->store, &a->err) == 0)
        (void)err_set(&a->err, ERR_IO, "the store did not keep the write; try again");
}

static bool next_answer(struct embedded *m, struct cluster_event *ret)
{
    struct embedded_answer *a = LIST_FIRST(&m->answers, struct embedded_answer, link);
    int outcome = a ? store_outcome(m->store, a->rev) : 0;

    if (outcome == 0)
        return false;
    list_remove(&a->link);
    if (outcome < 0)
        embedded_take_back(m, a);
    embedded_hold(m, a->object);
    *ret = (struct cluster_event){ .kind = CLUSTER_RESULT, .type = a->type, .object = a->object, .token = a->token };
    ret->err = a->err;
    free(a);
    return true;
}

static void keep_listed(void *ctx, const struct object *o)
{
    struct embedded_want *w = ctx;

    if (w->n == w->cap) {
        w->cap = MAX_OF(w->cap * 2, 16u);
        w->listed = xrealloc(w->listed, w->cap * sizeof(struct object *));
    }
    w->listed[w->n++] = object_ref(o);
}

/* Take the list and begin to watch from the same revision. */
static void want_list(struct embedded *m, struct embedded_want *w)
{
    struct err e;

    watch_close(w->watch);
    w->watch = NULL;
    w->next.kind = WATCH_KIND_MAX;
    want_forget_list(w);
    w->list_rev = store_revision(m->store);
    store_walk(m->store, w->type, STR_NULL, keep_listed, w);
    if (watch_open(m->store, w->type, STR_NULL, w->list_rev, &w->watch, &e) < 0)
        w->watch = NULL; /* a store is not compacted past its last revision; if it is, the next poll lists again */
    w->polled_rev = 0;
    w->state = WANT_TELL;
}

static bool next_listed(struct embedded *m, struct embedded_want *w, struct cluster_event *ret)
{
    if (w->state == WANT_WATCH) /* nearly always, and an event is large */
        return false;
    *ret = (struct cluster_event){ .type = w->type };
    if (w->state == WANT_LIST && store_flushed(m->store) != store_revision(m->store))
        return false;
    if (w->state == WANT_LIST) {
        want_list(m, w);
        ret->kind = CLUSTER_RELIST;
        return true;
    }
    if (w->at < w->n) {
        embedded_hold(m, w->listed[w->at++]);
        store_rest(m->store); /* else all of them would have trees at once */
        store_warm(m->store, m->held);
        ret->kind = CLUSTER_PUT;
        ret->object = m->held;
        return true;
    }
    want_forget_list(w);
    w->state = WANT_WATCH;
    ret->kind = CLUSTER_SYNCED;
    ret->rev = w->list_rev;
    return true;
}

/* Look one change ahead. False: the watch has failed, list again. */
static bool want_peek(struct embedded *m, struct embedded_want *w)
{
    struct err e;

    while (w->next.kind == WATCH_KIND_MAX && w->polled_rev != store_flushed(m->store)) {
        int got = w->watch ? watch_next(w->watch, &w->next, &e) : -1;

        if (got < 0) {
            w->next.kind = WATCH_KIND_MAX;
            return false;
        }
        if (got == 0) {
            w->next.kind = WATCH_KIND_MAX;
            w->polled_rev = store_flushed(m->store);
        } else if (w->next.kind == WATCH_BOOKMARK) {
            w->next.kind = WATCH_KIND_MAX;
        }
    }
    return true;
}

static bool next_change(struct embedded *m, struct cluster_event *ret)
{
    struct embedded_want *first = NULL;

    LIST_FOREACH(struct embedded_want, w, &m->wants, link) {
        if (!want_peek(m, w)) {
            w->state = WANT_LIST;
            return next_listed(m, w, ret);
        }
        if (w->next.kind != WATCH_KIND_MAX && (!first || w->next.rev < first->next.rev))
            first = w;
    }
    if (!first)
        return false;
    embedded_hold(m, object_ref(first->next.object));
    *ret = (struct cluster_event){ .type = first->type, .object = m->held };
    ret->kind = first->next.kind == WATCH_DELETED ? CLUSTER_GONE : CLUSTER_PUT;
    first->next.kind = WATCH_KIND_MAX;
    return true;
}

static bool embedded_next(struct cluster *c, struct cluster_event *ret)
{
    struct embedded *m = embedded_of(c);

    if (next_answer(m, ret))
        return true;
    LIST_FOREACH(struct embedded_want, w, &m->wants, link)
        if (next_listed(m, w, ret))
            return true;
    return next_change(m, ret);
}

static int64_t embedded_now_ms(struct cluster *c)
{
    return clock_now_ms(embedded_of(c)->clock);
}

static const struct cluster_class embedded_class = {
    .free = embedded_free,
    .want = embedded_want,
    .write = embedded_write,
    .read = embedded_read,
    .next = embedded_next,
    .now_ms = embedded_now_ms,
};

void cluster_embedded_complete(struct cluster *c, cluster_complete_f complete, void *ctx)
{
    embedded_of(c)->complete = complete;
    embedded_of(c)->complete_ctx = ctx;
}

struct cluster *cluster_embedded_new(struct store *s, struct clock *clock)
{
    struct embedded *m = xcalloc(1, sizeof(*m));

    m->cluster.class = &embedded_class;
    m->store = s;
    m->clock = clock;
    list_init(&m->answers);
    list_init(&m->wants);
    return &m->cluster;
}
