/* reflector.c - one type: list, watch, and what to do when either ends
 *
 *     RESTS ──due──▶ no version known: WATCHES with the list at its beginning, or LISTS page by page
 *                    a version known:  WATCHES from there
 *
 *     LISTS ──last page──▶ told; WATCHES from its version at once
 *     WATCHES ──ends──▶ goes on from the last version heard: at once if it was a good while, else after a back-off
 *     410 ──▶ the version is forgotten: list anew
 *     anything else ──▶ RESTS, longer each time
 *
 * After a list that broke off in the middle, all its objects are reported again: CLUSTER_RELIST without a
 * CLUSTER_SYNCED before it says so.
 */
#include "kube/cluster_internal.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"

enum {
    GOOD_WHILE_MS = 1000,
    INITIAL_IDLE_MS = 20000,
    FOLLOW_TRIES = 2, /* what a node may see follows the pods that it has, a moment later */
};

static void list_begins(struct reflector *r);
static void list_ends(struct reflector *r);
static void followed_answer(struct reflector *r, const struct err *e);

static struct reflector *reflector_begin(struct kube *k, const struct kind *kind)
{
    struct reflector *r = xcalloc(1, sizeof(*r));

    r->kube = k;
    r->kind = kind;
    r->only_lists = k->opt.only_lists;
    list_push(&k->reflectors, &r->link);
    return r;
}

struct reflector *reflector_new(struct kube *k, const struct kind *kind)
{
    struct reflector *r = reflector_begin(k, kind);

    if (kind->view && kind->view->is_unlisted) {
        r->due_ms = INT64_MAX;
        list_begins(r);
        list_ends(r);
    }
    return r;
}

struct reflector *reflector_follow(struct kube *k, const struct kind *kind, struct str namespace, struct str name)
{
    static const char by_name[] = "metadata.name=";
    struct followed *f = xcalloc(1, sizeof(*f) + namespace.n + name.n + sizeof(by_name));
    char *bytes = (char *)(f + 1);
    struct reflector *r = reflector_begin(k, kind);

    f->namespace = (struct str){ bytes, namespace.n };
    if (namespace.n)
        memcpy(bytes, namespace.p, namespace.n);
    bytes += namespace.n;
    memcpy(bytes, by_name, sizeof(by_name) - 1);
    memcpy(bytes + sizeof(by_name) - 1, name.p, name.n);
    f->selector = (struct str){ bytes, sizeof(by_name) - 1 + name.n };
    f->name = str_from(f->selector, sizeof(by_name) - 1);
    f->token = ++k->tokens;
    r->followed = f;
    return r;
}

bool reflector_follows(const struct reflector *r, const struct resource_type *type, struct str namespace,
                       struct str name)
{
    return r->followed && r->kind->type == type && str_eq(r->followed->namespace, namespace) &&
           str_eq(r->followed->name, name);
}

/* Keep the parser: this may happen in the middle of a piece. */
static void exchange_over(struct reflector *r)
{
    r->exchange = NULL;
}

void reflector_free(struct reflector *r)
{
    if (r->exchange)
        http_cancel(r->exchange);
    json_items_done(&r->items);
    json_lines_done(&r->lines);
    list_remove(&r->link);
    buf_done(&r->version);
    buf_done(&r->next);
    if (r->followed)
        object_unref(r->followed->object);
    free(r->followed);
    free(r);
}

/* ---- resting ---- */

static void reflector_rest(struct reflector *r, int64_t ms)
{
    r->state = REFLECTOR_RESTS;
    r->due_ms = kube_mono_ms(r->kube) + ms;
    log_debug("Reflector waits", LOG_TEXT("resource", r->kind->type->plural), LOG_MS("for", ms),
              LOG_STR("version", buf_view(&r->version)), LOG_TEXT("error", r->trouble.code ? r->trouble.text : ""));
}

static int64_t backoff_ms(struct reflector *r)
{
    int64_t ms = BACKOFF_MAX_MS;

    if (r->failures < 8)
        ms = MIN_OF((int64_t)BACKOFF_MIN_MS << r->failures, ms);
    r->failures++;
    return rand_between(&r->kube->rand, ms / 2, ms);
}

/* Once for all types that it concerns. */
static void log_trouble(struct reflector *r, const struct err *e)
{
    struct kube *k = r->kube;
    int64_t now_ms = kube_mono_ms(k);

    if (r->failures < 2 || (strcmp(k->logged.text, e->text) == 0 && now_ms < k->logged_ms + 60000))
        return;
    k->logged = *e;
    k->logged_ms = now_ms;
    log_warn("Failed to list and watch; retrying", LOG_TEXT("resource", r->kind->type->plural),
             LOG_TEXT("error", e->text));
}

static void reflector_fail(struct reflector *r, const struct err *e, int64_t at_least_ms)
{
    int64_t ms = backoff_ms(r);

    r->trouble = *e;
    log_trouble(r, e);
    if (r->failures > FOLLOW_TRIES)
        followed_answer(r, e);
    reflector_rest(r, MAX_OF(ms, at_least_ms + ms / 4));
}

static void is_well(struct reflector *r)
{
    if (r->failures > 2)
        log_info("Watching again", LOG_TEXT("resource", r->kind->type->plural));
    r->failures = 0;
    r->trouble.code = ERR_OK;
}

/* ---- telling ---- */

static void list_begins(struct reflector *r)
{
    if (r->followed)
        r->followed->is_seen = false;
    else
        kube_tell(r->kube, CLUSTER_RELIST, r->kind->type, NULL, 0);
    r->is_listing = true;
    r->is_absent = false;
}

/* Answer the token of a followed object, once. */
static void followed_answer(struct reflector *r, const struct err *e)
{
    struct followed *f = r->followed;

    if (!f || !f->token)
        return;
    kube_answer(r->kube, r->kind->type, e ? NULL : object_ref(f->object),
                &(struct answer){ .token = f->token, .err = e ? *e : (struct err){ 0 } });
    f->token = 0;
}

static void reflector_tell(struct reflector *r, struct object *take, bool is_gone)
{
    struct followed *f = r->followed;

    if (f) {
        f->is_seen = !is_gone;
        object_unref(f->object);
        f->object = is_gone ? NULL : object_ref(take);
    }
    kube_tell(r->kube, is_gone ? CLUSTER_GONE : CLUSTER_PUT, r->kind->type, take, 0);
}

static void list_ends(struct reflector *r)
{
    const struct followed *f = r->followed;
    uint64_t rev = 0;

    (void)str_to_u64(buf_view(&r->version), &rev); /* not a number: not known */
    if (!f)
        kube_tell(r->kube, CLUSTER_SYNCED, r->kind->type, NULL, rev);
    else if (f->object && !f->is_seen)
        reflector_tell(r, object_ref(f->object), true);
    followed_answer(r, NULL);
    r->is_listing = false;
    is_well(r);
}

static void set_version(struct reflector *r, struct str version)
{
    if (!version.n)
        return;
    buf_reset(&r->version);
    buf_str(&r->version, version);
}

static void forget_version(struct reflector *r)
{
    buf_reset(&r->version);
    buf_reset(&r->next);
    r->kube->stats.relists++;
}

/* The stream makes no sense: end it from inside. */
static void break_off(struct reflector *r, const struct err *e)
{
    http_cancel(r->exchange);
    exchange_over(r);
    buf_reset(&r->next);
    reflector_fail(r, e, 0);
}

/* ---- the end of a request ---- */

/* Kinds that came later: a controller whose roles are older does without them, and all else goes on. */
static bool is_optional(const struct resource_type *type)
{
    return strcmp(type->group, "flow.volcano.sh") == 0 || strcmp(type->kind, "CronJob") == 0;
}

static void absent(struct reflector *r, const struct err *e)
{
    if (!r->is_absent && e->code == ERR_FORBIDDEN)
        log_warn("Not allowed to read resource; ignoring it", LOG_TEXT("kind", r->kind->type->kind),
                 LOG_TEXT("group", r->kind->type->group),
                 LOG_TEXT("hint", "pumice install --dry-run --only roles | kubectl apply -f -"));
    else if (!r->is_absent)
        log_warn("Cluster does not have resource; ignoring it", LOG_TEXT("kind", r->kind->type->kind),
                 LOG_TEXT("group", r->kind->type->group));
    if (!r->is_absent) {
        list_begins(r);
        buf_reset(&r->version);
        list_ends(r);
    }
    r->is_absent = true;
    r->trouble = *e;
    reflector_rest(r, rand_between(&r->kube->rand, ABSENT_MS / 2, ABSENT_MS));
}

/* What a Status or an HTTP status of a list or watch means. */
static void reflector_refused(struct reflector *r, const struct http_answer *a, const struct err *e)
{
    struct kube *k = r->kube;
    bool was_initial = r->is_initial;

    if (e->code == ERR_GONE) {
        forget_version(r);
        reflector_rest(r, rand_between(&k->rand, 0, BACKOFF_MIN_MS << MIN_OF(r->failures++, 6u)));
    } else if (a && a->status == 401 && credential_refused(k->credential, r->generation)) {
        reflector_fail(r, e, 0);
    } else if (e->code == ERR_NOT_FOUND || (a && a->status == 403 && is_optional(r->kind->type))) {
        buf_reset(&r->version);
        absent(r, e);
    } else if (was_initial && (e->code == ERR_INVALID || (a && a->status >= 500 && a->status != 503))) {
        r->only_lists = true; /* the old way, then */
        k->only_lists |= e->code == ERR_INVALID;
        reflector_rest(r, 0);
    } else {
        if (e->code == ERR_INVALID)
            forget_version(r); /* it does not like our version: from the beginning */
        reflector_fail(r, e, a ? decode_retry_ms(a) : 0);
    }
}

static void ended_badly(struct reflector *r, const struct http_answer *a)
{
    struct err e = { 0 };

    decode_failure(r->kube, a, &e);
    exchange_over(r);
    buf_reset(&r->next);
    if (a->err.code != ERR_OK) {
        r->only_lists |= r->is_initial && a->status == 200; /* the list never came to its end: an old server, perhaps */
        reflector_fail(r, &e, 0);
    } else {
        reflector_refused(r, a, &e);
    }
}

/* ---- lists ---- */

static void on_item(void *ctx, struct str text)
{
    struct reflector *r = ctx;
    struct err e = { 0 };
    struct object *o = decode_object(r->kube, r->kind, text, &e);

    if (o)
        reflector_tell(r, o, false);
    else
        log_warn("Failed to decode object", LOG_TEXT("error", e.text));
}

static void on_list_head(void *ctx, const struct http_answer *a)
{
    struct reflector *r = ctx;

    if (a->status == 200 && !r->next.n)
        list_begins(r);
}

static void on_list_data(void *ctx, struct str data)
{
    struct reflector *r = ctx;
    struct err e = { 0 };

    if (json_items_feed(&r->items, data, &e) < 0)
        break_off(r, &e);
}

static void page_ended(struct reflector *r, struct str rest_text)
{
    struct json *list, *meta;
    struct err e = { 0 };

    arena_reset(&r->kube->scratch);
    if (json_parse(&r->kube->scratch, rest_text, NULL, &list, &e) < 0) {
        exchange_over(r);
        buf_reset(&r->next);
        reflector_fail(r, &e, 0);
        return;
    }
    meta = json_get(list, "metadata");
    buf_reset(&r->next);
    buf_str(&r->next, json_member_text(meta, "continue"));
    set_version(r, r->next.n ? STR_NULL : json_member_text(meta, "resourceVersion"));
    exchange_over(r);
    if (!r->next.n)
        list_ends(r);
    reflector_rest(r, 0);
}

static void on_list_end(void *ctx, const struct http_answer *a)
{
    struct reflector *r = ctx;
    struct err e = { 0 };
    struct str around;

    if (a->err.code != ERR_OK || a->status != 200) {
        ended_badly(r, a);
    } else if (json_items_end(&r->items, &around, &e) < 0) {
        exchange_over(r);
        buf_reset(&r->next);
        reflector_fail(r, &e, 0);
    } else {
        page_ended(r, around);
    }
}

/* ---- watches ---- */

static void bookmark(struct reflector *r, const struct json *meta)
{
    set_version(r, json_member_text(meta, "resourceVersion"));
    if (r->is_initial && str_is(json_member_text(json_get(meta, "annotations"), "k8s.io/initial-events-end"), "true")) {
        list_ends(r);
        r->is_initial = false;
        http_set_idle(r->exchange, WATCH_IDLE_MS);
    }
}

static void on_error_event(struct reflector *r, const struct json *status)
{
    struct err e = { 0 };

    decode_status((int)json_i64(json_get(status, "code"), 500), status, &e);
    http_cancel(r->exchange);
    exchange_over(r);
    reflector_refused(r, NULL, &e);
}

void reflectors_expect(struct kube *k, const struct resource_type *type, uint64_t rev)
{
    LIST_FOREACH(struct reflector, r, &k->reflectors, link)
        if (r->kind->type == type && r->state == REFLECTOR_WATCHES && !r->is_initial && !r->lag_rev) {
            r->lag_rev = rev;
            r->lag_us = clock_mono_us(k->clock);
        }
}

static void note_lag(struct reflector *r, uint64_t rev)
{
    struct kube_stats *s = &r->kube->stats;

    if (!r->lag_rev || rev < r->lag_rev)
        return;
    s->last_lag_us = (uint64_t)(clock_mono_us(r->kube->clock) - r->lag_us);
    s->lag_us += s->last_lag_us;
    s->n_lags++;
    r->lag_rev = 0;
}

static void on_change(struct reflector *r, struct json *object, bool is_gone)
{
    struct err e = { 0 };
    struct object *o = decode_tree(r->kube, r->kind, object, &e);

    if (!o) {
        break_off(r, &e);
        return;
    }
    if (!r->is_initial) /* the versions of a list are in no order */
        set_version(r, json_member_text(json_get(o->root, "metadata"), "resourceVersion"));
    note_lag(r, o->rev);
    r->n_events++;
    r->kube->stats.events++;
    reflector_tell(r, o, is_gone);
}

/* Values that are not objects are read without a mask. */
static void on_other(struct reflector *r, struct str text)
{
    struct json *event, *object;
    struct err e = { 0 };
    struct str type;

    if (json_parse(&r->kube->scratch, text, NULL, &event, &e) < 0) {
        break_off(r, &e);
        return;
    }
    type = json_member_text(event, "type");
    object = json_get(event, "object");
    if (str_is(type, "BOOKMARK"))
        bookmark(r, json_get(object, "metadata"));
    else if (str_is(type, "ERROR"))
        on_error_event(r, object);
}

static void on_line(void *ctx, struct str text)
{
    struct reflector *r = ctx;
    struct json *event;
    struct err e = { 0 };
    struct str type;

    if (!r->exchange) /* broken off by the line before */
        return;
    arena_reset(&r->kube->scratch);
    if (json_parse_masked(&r->kube->scratch, text, r->kind->event, &event, &e) < 0) {
        break_off(r, &e);
        return;
    }
    type = json_member_text(event, "type");
    if (str_is(type, "ADDED") || str_is(type, "MODIFIED") || str_is(type, "DELETED"))
        on_change(r, json_get(event, "object"), str_is(type, "DELETED"));
    else
        on_other(r, text);
}

static void on_watch_head(void *ctx, const struct http_answer *a)
{
    struct reflector *r = ctx;

    if (a->status != 200)
        return;
    r->trouble.code = ERR_OK;
    if (r->is_initial)
        list_begins(r);
}

static void on_watch_data(void *ctx, struct str data)
{
    struct reflector *r = ctx;
    struct json_lines *lines = &r->lines;
    struct err e = { 0 };

    if (json_lines_feed(lines, data, &e) < 0 && r->exchange)
        break_off(r, &e);
}

static void on_watch_end(void *ctx, const struct http_answer *a)
{
    struct reflector *r = ctx;
    bool was_good = kube_mono_ms(r->kube) - r->began_ms >= GOOD_WHILE_MS || r->n_events;
    struct err e = { 0 };

    if (a->status == 200 && was_good && !r->is_initial) { /* also one that was cut off: it goes on where it was */
        exchange_over(r);
        if (a->err.code == ERR_OK)
            is_well(r);
        reflector_rest(r, a->err.code == ERR_OK ? 0 : rand_between(&r->kube->rand, 0, BACKOFF_MIN_MS));
    } else if (a->status == 200 && a->err.code == ERR_OK) {
        exchange_over(r);
        (void)err_set(&e, ERR_IO, "%.*s: watch of %s closed as soon as it was opened",
                      STR_ARG(r->kube->opt.config->server), r->kind->type->plural);
        reflector_fail(r, &e, 0);
    } else {
        ended_badly(r, a);
    }
}

/* ---- sending ---- */

static void reflector_put_path(struct reflector *r, struct buf *path)
{
    const struct kube_view *view = r->kind->view;

    if (r->followed) {
        path_collection(path, r->kind->type, r->followed->namespace);
        path_query(path, "fieldSelector", r->followed->selector);
        return;
    }
    path_collection(path, r->kind->type, view ? view->namespace : STR_NULL);
    if (!view)
        return;
    path_query(path, "labelSelector", view->labels);
    path_query(path, "fieldSelector", view->fields);
}

static void list_start(struct reflector *r, struct http_request *h, struct buf *path)
{
    char limit[16];

    (void)snprintf(limit, sizeof(limit), "%d", PAGE_ITEMS);
    path_query(path, "limit", str_of(limit));
    path_query(path, "continue", buf_view(&r->next));
    json_items_done(&r->items);
    json_items_init(&r->items, on_item, r, OBJECT_MAX);
    h->is_zipped = !r->kube->opt.config->is_plain;
    h->total_ms = 2 * ANSWER_MS;
    h->on_head = on_list_head;
    h->on_data = on_list_data;
    h->on_end = on_list_end;
    r->state = REFLECTOR_LISTS;
    r->kube->stats.lists++;
}

static void watch_start(struct reflector *r, struct http_request *h, struct buf *path)
{
    char seconds[16];

    (void)snprintf(seconds, sizeof(seconds), "%d", (int)rand_between(&r->kube->rand, WATCH_MIN_S, WATCH_MAX_S));
    path_query(path, "watch", STR("1"));
    path_query(path, "allowWatchBookmarks", STR("true"));
    path_query(path, "timeoutSeconds", str_of(seconds));
    path_query(path, "resourceVersion", buf_view(&r->version));
    r->is_initial = !r->version.n;
    if (r->is_initial) {
        path_query(path, "sendInitialEvents", STR("true"));
        path_query(path, "resourceVersionMatch", STR("NotOlderThan"));
    }
    json_lines_done(&r->lines);
    json_lines_init(&r->lines, on_line, r, OBJECT_MAX);
    h->idle_ms = r->is_initial ? INITIAL_IDLE_MS : WATCH_IDLE_MS;
    h->on_head = on_watch_head;
    h->on_data = on_watch_data;
    h->on_end = on_watch_end;
    r->state = REFLECTOR_WATCHES;
    r->began_ms = kube_mono_ms(r->kube);
    r->n_events = 0;
    r->kube->stats.watches++;
}

void reflector_turn(struct reflector *r, int64_t now_ms)
{
    struct kube *k = r->kube;
    struct http_request h = { .method = "GET", .ctx = r };
    struct err e = { 0 };
    enum credential_state state;
    autobuf path = { 0 };

    if (r->state != REFLECTOR_RESTS || now_ms < r->due_ms)
        return;
    state = kube_identify(k, &h, &r->generation, &e);
    if (state == CREDENTIAL_BUSY)
        return;
    if (state == CREDENTIAL_FAILED) {
        reflector_fail(r, &e, 0);
        return;
    }
    reflector_put_path(r, &path);
    if (!r->version.n && (r->only_lists || k->only_lists))
        list_start(r, &h, &path);
    else
        watch_start(r, &h, &path);
    h.path = buf_view(&path);
    log_debug("Reflector sends request", LOG_STR("path", h.path));
    r->exchange = http_send(k->streams, &h);
}
