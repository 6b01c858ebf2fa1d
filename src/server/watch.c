/* watch.c - watch requests
 *
 *     store ──one reader for each kind: is there news?──▶ hub ──▶ its watches, each with its own place in the history
 *
 * A watch is a place in the store's history, a selection, and a call that is answered bit by bit. An idle one costs
 * nothing: only when its hub has news is it looked at. Each object is printed once for all who want it (encoded()).
 *
 * A change is sent as what it means for the selection: one that stops matching is DELETED, as it was, with the revision
 * of the change; one that begins to match is ADDED. A slow client is sent no more while much is queued; if the history
 * has gone on without it the answer ends with 410, and the client lists again.
 */
#include "server/server_internal.h"

#include "base/log.h"
#include "http/feed.h"
#include "proto/proto.h"

#define FRAMES_MEDIA PROTOBUF_MEDIA ";stream=watch"

enum {
    QUEUE_BYTES = 1 << 20,
    BOOKMARK_MS = 60000,
    LAST_BOOKMARK_MS = 2000, /* before the end */
    LIFE_MIN_MS = 30 * 60000,
    LIFE_MAX_MS = 60 * 60000,
};

struct watch_hub { /* of one kind */
    struct watch *news;
    struct list watches; /* struct api_watch.in_hub */
};

struct api_watch {
    struct list_link link, in_hub;
    struct server *server;
    struct feed feed;
    struct watch *watch;
    const struct resource_type *type, *view; /* view: as of the request */
    struct arena arena, scratch;             /* of the selection; for the list of present objects */
    struct selection sel;
    enum accept_form form;
    enum accept_media media;
    struct str include;
    struct object **initial; /* references to what there was at the beginning, told up to 'initial_at' */
    size_t n_initial, initial_at, initial_bytes;
    uint64_t initial_rev;
    bool marks_end; /* a bookmark follows them */
    bool has_head;  /* ACCEPT_TABLE: the columns were sent */
    bool wants_bookmarks;
    bool has_more;               /* there are more changes to send */
    bool is_bookmarked;          /* the last one, before the end, was sent */
    int64_t end_ms, bookmark_ms; /* mono */
};

static int64_t watch_mono(const struct server *s)
{
    return clock_mono_ms(s->opt.clock);
}

static struct watch_hub *hub_of(struct server *s, const struct resource_type *type)
{
    return &s->hubs[type_row(type)];
}

static void forget_initial(struct api_watch *w)
{
    for (size_t i = w->initial_at; i < w->n_initial; i++)
        object_unref(w->initial[i]);
    free(w->initial);
    w->initial = NULL;
    w->n_initial = w->initial_at = 0;
}

static void api_watch_free(struct api_watch *w)
{
    struct watch_hub *hub = hub_of(w->server, w->type);

    list_remove(&w->link);
    list_remove(&w->in_hub);
    if (list_is_empty(&hub->watches)) {
        watch_close(hub->news);
        hub->news = NULL;
    }
    watch_close(w->watch);
    forget_initial(w);
    w->server->stats.watches--;
    arena_done(&w->arena);
    free(w);
}

/* ---- events ---- */

static const char *const kind_words[] = {
    [WATCH_ADDED] = "ADDED", [WATCH_MODIFIED] = "MODIFIED", [WATCH_DELETED] = "DELETED", [WATCH_BOOKMARK] = "BOOKMARK"
};

static void watch_send(struct api_watch *w, const char *type, struct str object)
{
    autobuf out = { 0 };

    buf_fmt(&out, "{\"type\":\"%s\",\"object\":", type);
    buf_str(&out, object);
    buf_str(&out, STR("}\n"));
    feed_write(&w->feed, buf_view(&out));
    w->server->stats.watch_events++;
}

/* A frame, or nothing: every kind that can be requested in protobuf, and all its events, have the form. */
static void send_frame(struct api_watch *w, const char *type, const struct json *tree)
{
    autoarena a = { 0 };
    autobuf out = { 0 };
    struct err e;

    if (proto_encode_event(&a, &out, str_of(type), tree, &e) < 0)
        log_warn("Failed to encode watch event as protobuf", LOG_TEXT("error", e.text));
    feed_write(&w->feed, buf_view(&out));
    w->server->stats.watch_events++;
}

static void send_tree(struct api_watch *w, const char *type, const struct json *tree)
{
    autobuf text = { 0 };

    if (w->media == MEDIA_PROTOBUF) {
        send_frame(w, type, tree);
        return;
    }
    json_print(&text, tree);
    watch_send(w, type, buf_view(&text));
}

static const struct resource_type *columns_from(const struct api_watch *w)
{
    return w->view && w->view->custom ? w->view : w->type;
}

static struct json *table_of(struct api_watch *w, struct arena *a, const struct json *root)
{
    struct json *table = table_new(a, columns_from(w), !w->has_head);

    w->has_head = true;
    table_add(a, table, root, &(struct table_look){ columns_from(w), w->include, server_now_ms(w->server) });
    json_set(json_get(table, "metadata"), "resourceVersion",
             json_str(a, json_member_text(json_get(root, "metadata"), "resourceVersion")));
    return table;
}

static void send_object(struct api_watch *w, enum watch_kind kind, const struct object *o)
{
    autoarena a = { 0 };

    if (w->form == ACCEPT_OBJECT && w->media == MEDIA_JSON && !w->view) {
        watch_send(w, kind_words[kind], encoded(w->server, o));
        return;
    }
    store_warm(w->server->opt.store, o);
    if (w->form == ACCEPT_OBJECT && w->media == MEDIA_PROTOBUF)
        send_frame(w, kind_words[kind], view_show(&a, w->view, o->root));
    else if (w->form == ACCEPT_OBJECT)
        send_tree(w, kind_words[kind], view_show(&a, w->view, o->root));
    else
        send_tree(w, kind_words[kind], w->form == ACCEPT_TABLE ? table_of(w, &a, o->root) : partial_of(&a, o->root));
}

/* The object as it was, with the revision of the change by which it is no longer selected. */
static void send_left(struct api_watch *w, const struct object *before, uint64_t rev)
{
    autounref struct object *last = object_make(before->type, before->root, rev);
    autoarena a = { 0 };

    /* not by encoded(): the revision is that of another state */
    send_tree(w, "DELETED",
              w->form == ACCEPT_TABLE     ? table_of(w, &a, last->root)
              : w->form == ACCEPT_PARTIAL ? partial_of(&a, last->root)
                                          : view_show(&a, w->view, last->root));
}

static void send_bookmark(struct api_watch *w, uint64_t rev, bool ends_initial)
{
    autoarena a = { 0 };
    struct json *j = json_object(&a), *meta;
    bool is_partial = w->form == ACCEPT_PARTIAL;

    json_add(j, STR("kind"), json_str(&a, is_partial ? STR("PartialObjectMetadata") : str_of(w->type->kind)));
    json_add(j, STR("apiVersion"),
             json_str(&a, is_partial ? STR("meta.k8s.io/v1") : type_api_version(&a, w->view ? w->view : w->type)));
    meta = json_add(j, STR("metadata"), json_object(&a));
    json_add(meta, STR("resourceVersion"), json_fmt(&a, "%llu", (unsigned long long)rev));
    json_add(meta, STR("creationTimestamp"), json_null(&a));
    if (ends_initial)
        json_add(json_add(meta, STR("annotations"), json_object(&a)), STR("k8s.io/initial-events-end"),
                 json_str(&a, STR("true")));
    if (w->form == ACCEPT_TABLE) {
        struct json *table = table_new(&a, columns_from(w), !w->has_head);

        w->has_head = true;
        json_set(table, "metadata", json_copy(&a, meta));
        j = table;
    }
    send_tree(w, "BOOKMARK", j);
}

/* A change of an object that was there. Its state before is read only where it matters; where that is no longer kept,
 * DELETED of an object that the client never saw does no harm. */
static void tell_change(struct api_watch *w, const struct watch_event *ev)
{
    bool is_in = selection_has(&w->sel, ev->object->root);
    const struct object *before = w->sel.labels || w->sel.fields ? watch_before(w->watch) : ev->object;
    bool was_in = !before || selection_has(&w->sel, before->root);

    if (is_in)
        send_object(w, was_in ? WATCH_MODIFIED : WATCH_ADDED, ev->object);
    else if (was_in)
        send_left(w, before ? before : ev->object, ev->rev);
}

static void watch_tell(struct api_watch *w, const struct watch_event *ev)
{
    if (ev->kind != WATCH_BOOKMARK && w->sel.name.n && !str_eq(w->sel.name, ev->object->name))
        return; /* a name never changes: nor was it selected before */
    if (ev->kind == WATCH_MODIFIED)
        tell_change(w, ev);
    else if (ev->kind != WATCH_BOOKMARK && selection_has(&w->sel, ev->object->root))
        send_object(w, ev->kind, ev->object);
    else if (ev->kind == WATCH_BOOKMARK && w->wants_bookmarks)
        send_bookmark(w, ev->rev, false);
}

/* ---- the end ---- */

static void watch_end_with(struct api_watch *w, const char *reason, int code, const char *message)
{
    autoarena a = { 0 };
    struct json *j = json_object(&a);

    json_add(j, STR("kind"), json_str(&a, STR("Status")));
    json_add(j, STR("apiVersion"), json_str(&a, STR("v1")));
    json_add(j, STR("metadata"), json_object(&a));
    json_add(j, STR("status"), json_str(&a, STR("Failure")));
    json_add(j, STR("message"), json_str(&a, str_of(message)));
    json_add(j, STR("reason"), json_str(&a, str_of(reason)));
    json_add(j, STR("code"), json_int(&a, code));
    send_tree(w, "ERROR", j);
    feed_end(&w->feed);
    api_watch_free(w);
}

/* ---- turns ---- */

/* What there was first; false: there is more of it than the client takes now. */
static bool pump_initial(struct api_watch *w)
{
    while (w->initial_at < w->n_initial && feed_queued(&w->feed) < QUEUE_BYTES) {
        autounref struct object *o = w->initial[w->initial_at++];

        w->initial_bytes -= o->text.n;
        send_object(w, WATCH_ADDED, o);
    }
    if (w->n_initial)
        feed_hold(&w->feed, w->initial_at < w->n_initial ? items_held(w->n_initial, w->initial_bytes) : 0);
    if (w->initial_at < w->n_initial)
        return false;
    forget_initial(w);
    if (w->marks_end && w->wants_bookmarks)
        send_bookmark(w, w->initial_rev, true);
    w->marks_end = false;
    return true;
}

/* As much as the client takes. False: the watch is over. */
static bool watch_pump(struct api_watch *w)
{
    struct watch_event ev;
    struct err e;
    int got = 0;

    w->has_more = !pump_initial(w);
    if (w->has_more)
        return true;
    while (feed_queued(&w->feed) < QUEUE_BYTES && (got = watch_next(w->watch, &ev, &e)) > 0)
        watch_tell(w, &ev);
    if (got < 0) {
        watch_end_with(w, "Expired", 410, e.text);
        return false;
    }
    w->has_more = got > 0 || feed_queued(&w->feed) >= QUEUE_BYTES;
    return true;
}

static void watch_on_ready(void *ctx)
{
    struct api_watch *w = ctx;

    if (w->has_more)
        (void)watch_pump(w);
}

static void watch_on_gone(void *ctx)
{
    api_watch_free(ctx);
}

/* Time: a bookmark now and then, one just before the end, the end. */
static void tick(struct api_watch *w, int64_t now_ms)
{
    if (now_ms >= w->end_ms) {
        feed_end(&w->feed);
        api_watch_free(w);
        return;
    }
    if (!w->wants_bookmarks)
        return;
    if (now_ms >= w->bookmark_ms || (!w->is_bookmarked && now_ms >= w->end_ms - LAST_BOOKMARK_MS)) {
        w->is_bookmarked |= now_ms >= w->end_ms - LAST_BOOKMARK_MS;
        w->bookmark_ms = now_ms + BOOKMARK_MS;
        watch_want_bookmark(w->watch);
        (void)watch_pump(w);
    }
}

static int64_t due_of(const struct api_watch *w, int64_t now_ms)
{
    int64_t due_ms = w->end_ms;

    if (w->wants_bookmarks)
        due_ms = MIN_OF(due_ms, w->bookmark_ms);
    if (w->wants_bookmarks && !w->is_bookmarked)
        due_ms = MIN_OF(due_ms, w->end_ms - LAST_BOOKMARK_MS);
    return MAX_OF(due_ms - now_ms, 0);
}

static bool watch_has_news(struct watch_hub *hub)
{
    struct watch_event ev;
    struct err e;
    bool any = false;
    int got;

    while ((got = hub->news ? watch_next(hub->news, &ev, &e) : 0) > 0)
        any = true;
    return any || got < 0;
}

int64_t watches_turn(struct server *s)
{
    int64_t now_ms = watch_mono(s), due_ms = INT64_MAX;

    for (size_t i = 0; i < n_type_rows; i++)
        if (s->hubs[i].news && watch_has_news(&s->hubs[i]))
            LIST_FOREACH(struct api_watch, w, &s->hubs[i].watches, in_hub)
                (void)watch_pump(w);
    if (now_ms < s->watches_due_ms)
        return s->watches_due_ms - now_ms;
    LIST_FOREACH(struct api_watch, w, &s->watches, link)
        tick(w, now_ms);
    LIST_FOREACH(struct api_watch, w, &s->watches, link)
        due_ms = MIN_OF(due_ms, due_of(w, now_ms));
    s->watches_due_ms = due_ms == INT64_MAX ? INT64_MAX : now_ms + due_ms;
    return due_ms;
}

void watches_init(struct server *s)
{
    list_init(&s->watches);
    s->hubs = xcalloc(n_type_rows, sizeof(*s->hubs));
    s->watches_due_ms = INT64_MAX;
    for (size_t i = 0; i < n_type_rows; i++)
        list_init(&s->hubs[i].watches);
}

/* NULL: all. */
static void end_all(struct server *s, const struct resource_type *type)
{
    LIST_FOREACH(struct api_watch, w, &s->watches, link) {
        if (type && w->type != type)
            continue;
        feed_end(&w->feed);
        api_watch_free(w);
    }
}

void watches_stop(struct server *s)
{
    end_all(s, NULL);
}

void watches_end(struct server *s, const struct resource_type *type)
{
    end_all(s, type);
}

void watches_done(struct server *s)
{
    watches_stop(s);
    free(s->hubs);
}

/* ---- the request ---- */

struct watch_wish { /* where it begins */
    uint64_t from;  /* 0: see 'initial' */
    bool initial;   /* all present objects, as ADDED, first */
    bool marks_end; /* … and a bookmark after it */
};

static int read_revision(struct server_request *rq, struct str *text, uint64_t *ret)
{
    *ret = 0;
    if (!param(rq, "resourceVersion", text) || !text->n || str_to_u64(*text, ret) == 0)
        return 0;
    return fail_with(rq, REASON_BAD_REQUEST, "resourceVersion: invalid value \"%.*s\"", STR_ARG(str_sub(*text, 0, 40)));
}

static int read_wish(struct server_request *rq, struct watch_wish *ret)
{
    struct str text = STR_NULL, match = STR_NULL, send_initial = STR_NULL;
    bool has_initial = param(rq, "sendInitialEvents", &send_initial) && send_initial.n;
    uint64_t rev;

    (void)param(rq, "resourceVersionMatch", &match);
    if (read_revision(rq, &text, &rev) < 0)
        return -1;
    if (has_initial && !str_is(match, "NotOlderThan"))
        return fail_field(rq, "FieldValueForbidden", "resourceVersionMatch",
                          "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    if (!has_initial && match.n)
        return fail_field(
            rq, "FieldValueForbidden", "resourceVersionMatch",
            "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
    ret->initial = has_initial ? flag_is_set(send_initial) : rev == 0;
    ret->marks_end = has_initial && ret->initial;
    ret->from = ret->initial || (has_initial && !rev) ? 0 : rev;
    return 0;
}

static int64_t life_of(struct server_request *rq, int64_t seconds)
{
    uint64_t rev = store_revision(rq->server->opt.store) + rq->server->stats.requests;

    if (seconds > 0)
        return MIN_OF(seconds, (int64_t)INT32_MAX) * 1000;
    return LIFE_MIN_MS + (int64_t)(rev * 7919 % (LIFE_MAX_MS - LIFE_MIN_MS)); /* not all at once */
}

static struct api_watch *api_watch_new(struct server_request *rq, const struct selection *sel, struct watch *take,
                                       int64_t seconds)
{
    struct server *s = rq->server;
    struct api_watch *w = xcalloc(1, sizeof(*w));
    struct watch_hub *hub = hub_of(s, rq->type);
    struct str include = STR("Metadata");
    struct err e;

    w->server = s;
    w->feed = (struct feed){ .ctx = w, .on_ready = watch_on_ready, .on_gone = watch_on_gone };
    w->watch = take;
    w->type = rq->type;
    w->view = rq->view;
    w->form = rq->accept.form;
    w->media = rq->accept.media == MEDIA_PROTOBUF ? MEDIA_PROTOBUF : MEDIA_JSON;
    (void)param(rq, "includeObject", &include);
    w->include = arena_str(&w->arena, include);
    w->sel = (struct selection){ .labels_text = arena_str(&w->arena, sel->labels_text),
                                 .fields_text = arena_str(&w->arena, sel->fields_text) };
    (void)selection_parse(&w->arena, rq->type, &w->sel, &e); /* it was good a moment ago */
    w->wants_bookmarks = param_flag(rq, "allowWatchBookmarks");
    w->end_ms = watch_mono(s) + life_of(rq, seconds);
    w->bookmark_ms = watch_mono(s) + BOOKMARK_MS;
    if (!hub->news) /* what is not flushed yet is news still to come; of now there is always a watch */
        (void)watch_open(s->opt.store, rq->type, STR_NULL, store_flushed(s->opt.store), &hub->news, &e);
    list_push(&s->watches, &w->link);
    list_push(&hub->watches, &w->in_hub);
    s->stats.watches++;
    s->watches_due_ms = 0;
    return w;
}

static void keep_initial(void *ctx, const struct object *o)
{
    struct api_watch *w = ctx;

    if (!selection_has_object(&w->sel, o, &w->scratch))
        return;
    if ((w->n_initial & (w->n_initial - 1)) == 0) /* a power of two: full */
        w->initial = xrealloc(w->initial, MAX_OF(w->n_initial * 2, 1u) * sizeof(struct object *));
    w->initial[w->n_initial++] = object_ref(o);
    w->initial_bytes += o->text.n;
}

static int watch_begin(struct server_request *rq, struct feed *f)
{
    bool is_frames = rq->accept.media == MEDIA_PROTOBUF;

    rq->is_answered = true;
    return feed_begin(f, rq->call, is_frames ? FEED_BINARY : FEED_TEXT,
                      &(struct http_reply){ 200, is_frames ? FRAMES_MEDIA : "application/json", NULL });
}

static void nothing(void *ctx)
{
    (void)ctx;
}

static void reply_expired(struct server_request *rq, const struct err *e)
{
    struct feed f = { .on_gone = nothing };
    autobuf out = { 0 };
    struct err other;

    fail_with(rq, REASON_EXPIRED, "%s", e->text);
    if (rq->accept.media != MEDIA_PROTOBUF ||
        proto_encode_event(rq->arena, &out, STR("ERROR"), status_of(rq), &other) < 0) {
        buf_reset(&out);
        buf_str(&out, STR("{\"type\":\"ERROR\",\"object\":"));
        json_print(&out, status_of(rq));
        buf_str(&out, STR("}\n"));
    }
    if (watch_begin(rq, &f) < 0)
        return;
    feed_write(&f, buf_view(&out));
    feed_end(&f);
}

int handle_watch(struct server_request *rq)
{
    struct selection sel;
    struct watch_wish wish = { 0 };
    struct watch *watch;
    struct api_watch *w;
    int64_t seconds;
    struct err e;

    if (selection_read(rq, &sel) < 0 || read_wish(rq, &wish) < 0 || param_number(rq, "timeoutSeconds", 0, &seconds) < 0)
        return -1;
    if (watch_open(rq->server->opt.store, rq->type, rq->target.namespace, wish.from, &watch, &e) < 0) {
        reply_expired(rq, &e);
        return 0;
    }
    w = api_watch_new(rq, &sel, watch, seconds);
    if (watch_begin(rq, &w->feed) < 0) {
        api_watch_free(w);
        return 0;
    }
    w->initial_rev = store_revision(rq->server->opt.store);
    w->marks_end = wish.marks_end;
    if (wish.initial)
        store_walk(rq->server->opt.store, rq->type, rq->target.namespace, keep_initial, w);
    arena_done(&w->scratch);
    (void)watch_pump(w);
    return 0;
}
