/* call.c - writes and reads: sent, answered
 *
 * All wait in one queue, reads in front: the caller decides nothing until each of them is answered. The body is made
 * when the write is handed over. One that the server was too busy for goes back to the front.
 */
#include "kube/cluster_internal.h"

#include "api/meta.h"
#include "base/util.h"

struct call_verb { /* how an op travels */
    const char *method, *sub, *body_type;
};

enum { EXPIRE_MS = 1000 };

#define JSON_TYPE      "application/json"
#define MERGE_TYPE     "application/merge-patch+json"
#define STRATEGIC_TYPE "application/strategic-merge-patch+json"
#define STEPS_TYPE     "application/json-patch+json"

static const struct call_verb verbs[OP_KIND_MAX] = {
    [OP_CREATE] = { "POST", NULL, JSON_TYPE },           [OP_UPDATE] = { "PUT", NULL, JSON_TYPE },
    [OP_UPDATE_STATUS] = { "PUT", "status", JSON_TYPE }, [OP_MERGE_PATCH] = { "PATCH", NULL, MERGE_TYPE },
    [OP_DELETE] = { "DELETE", NULL, JSON_TYPE },         [OP_PATCH_STATUS] = { "PATCH", "status", STRATEGIC_TYPE },
    [OP_BIND] = { "POST", "binding", JSON_TYPE },
};

struct call *call_new(struct kube *k, const struct resource_type *type)
{
    struct call *c = xcalloc(1, sizeof(*c));

    c->kube = k;
    c->token = ++k->tokens;
    c->kind = type ? kube_kind(k, type) : NULL;
    c->accepted_ms = kube_mono_ms(k);
    return c;
}

static void wait_in_front(struct call *c)
{
    list_insert_before(c->kube->waiting.head.next, &c->link);
}

void call_free(struct call *c)
{
    if (c->exchange) {
        http_cancel(c->exchange);
        pace_cancelled(&c->kube->pace);
    }
    list_remove(&c->link);
    gather_free(c);
    buf_done(&c->path);
    buf_done(&c->body);
    free(c);
}

/* ---- bodies ---- */

/* Custom resources know no strategic merge. Their statuses have no lists that it would merge. */
static bool is_custom(const struct resource_type *type)
{
    return str_ends(str_of(type->group), STR(".volcano.sh"));
}

void call_delete_body(struct buf *out, const struct op *op)
{
    static const char *const policies[] = {
        [PROPAGATE_BACKGROUND] = "Background", [PROPAGATE_FOREGROUND] = "Foreground", [PROPAGATE_ORPHAN] = "Orphan"
    };
    autoarena a = { 0 };
    struct json *j = object_new(&a, "v1", "DeleteOptions", STR_NULL, STR_NULL), *only;

    json_remove(j, "metadata");
    json_set(j, "propagationPolicy", json_str(&a, str_of(policies[op->propagation])));
    if (op->grace_s >= 0)
        json_set(j, "gracePeriodSeconds", json_int(&a, op->grace_s));
    if (op->uid.n || op->rev) {
        only = json_set(j, "preconditions", json_object(&a));
        if (op->uid.n)
            json_set(only, "uid", json_str(&a, op->uid));
        if (op->rev)
            json_set(only, "resourceVersion", json_fmt(&a, "%llu", (unsigned long long)op->rev));
    }
    json_print(out, j);
}

/* A status as a whole and nothing else. Of kinds of its own the server would also take labels and annotations from a
 * PUT of the status, and remove those that are not there. */
static void status_body(struct buf *out, const struct op *op)
{
    static const char *const kept[] = { "uid", "resourceVersion" };
    autoarena a = { 0 };
    struct json *steps = json_array(&a), *step;
    const struct json *value;

    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        value = json_find(op->body, "metadata", kept[i], NULL);
        if (!value)
            continue;
        step = json_push(steps, json_object(&a));
        json_set(step, "op", json_str(&a, STR("replace")));
        json_set(step, "path", json_fmt(&a, "/metadata/%s", kept[i]));
        json_set(step, "value", json_copy(&a, value));
    }
    value = json_get(op->body, "status");
    step = json_push(steps, json_object(&a));
    json_set(step, "op", json_str(&a, STR("add")));
    json_set(step, "path", json_str(&a, STR("/status")));
    json_set(step, "value", value ? json_copy(&a, value) : json_object(&a));
    json_print(out, steps);
}

/* With the uid in the metadata, where that is how it becomes a precondition. */
static void body_print(struct buf *out, const struct op *op)
{
    autoarena a = { 0 };
    struct json *copy;

    if (!op->uid.n || (op->kind != OP_MERGE_PATCH && op->kind != OP_PATCH_STATUS && op->kind != OP_BIND)) {
        json_print(out, op->body);
        return;
    }
    copy = json_copy(&a, op->body);
    json_set(json_need_object(&a, copy, "metadata"), "uid", json_str(&a, op->uid));
    json_print(out, copy);
}

uint64_t call_write(struct kube *k, const struct op *op)
{
    struct call *c = call_new(k, op->type);
    const struct call_verb *v = &verbs[op->kind];

    c->op = op->kind;
    c->method = v->method;
    c->body_type = op->kind == OP_PATCH_STATUS && is_custom(op->type) ? MERGE_TYPE : v->body_type;
    if (op->kind == OP_CREATE)
        path_collection(&c->path, op->type, op->namespace.n ? op->namespace : object_namespace(op->body));
    else
        path_object(&c->path, op->type, op->namespace, op->name.n ? op->name : object_name(op->body), v->sub);
    if (op->kind != OP_DELETE && op->kind != OP_BIND)
        path_query(&c->path, "fieldManager", buf_view(&k->manager));
    if (op->kind == OP_UPDATE_STATUS && !is_custom(op->type)) {
        c->method = "PATCH";
        c->body_type = STEPS_TYPE;
        status_body(&c->body, op);
    } else if (op->kind == OP_DELETE)
        call_delete_body(&c->body, op);
    else
        body_print(&c->body, op);
    if (!gather_take(c, op))
        list_push(&k->waiting, &c->link);
    return c->token;
}

uint64_t call_read(struct kube *k, const struct resource_type *type, struct str namespace, struct str name)
{
    struct call *c = call_new(k, type);

    c->is_read = true;
    c->method = "GET";
    path_object(&c->path, type, namespace, name, NULL);
    wait_in_front(c);
    return c->token;
}

void call_ask(struct kube *k, const struct kube_question *q)
{
    struct call *c = call_new(k, NULL);

    c->method = q->method;
    c->asked = q->asked;
    c->asked_ctx = q->ctx;
    buf_str(&c->path, q->path);
    if (q->body) {
        c->body_type = JSON_TYPE;
        json_print(&c->body, q->body);
    }
    list_push(&k->waiting, &c->link);
}

/* ---- answers ---- */

const char *const kube_outcome_names[KUBE_OUTCOME_MAX] = {
    [KUBE_FINE] = "success",   [KUBE_EXISTS] = "exists",   [KUBE_CONFLICT] = "conflict", [KUBE_NOT_FOUND] = "notfound",
    [KUBE_BUSY] = "throttled", [KUBE_REFUSED] = "refused", [KUBE_FAILED] = "error",      [KUBE_SILENT] = "noanswer",
};

static void call_count(struct call *c, enum kube_outcome outcome)
{
    if (!c->is_read && !c->asked)
        c->kube->stats.outcomes[c->op][outcome]++;
}

static enum kube_outcome outcome_of(const struct http_answer *a, enum err_code code)
{
    if (a->err.code != ERR_OK)
        return KUBE_SILENT;
    if (code == ERR_EXISTS)
        return KUBE_EXISTS;
    if (code == ERR_CONFLICT)
        return KUBE_CONFLICT;
    if (a->status == 404)
        return KUBE_NOT_FOUND;
    return a->status < 500 ? KUBE_REFUSED : KUBE_FAILED;
}

void call_give_up(struct call *c, const struct err *e, bool is_unknown)
{
    if (c->members) {
        LIST_FOREACH(struct call, m, c->members, link)
            call_give_up(m, e, is_unknown);
    } else if (c->asked)
        c->asked(c->asked_ctx, NULL, e);
    else
        kube_answer(c->kube, c->kind->type, NULL,
                    &(struct answer){ .token = c->token, .err = *e, .is_unknown = is_unknown && !c->is_read });
    call_free(c);
}

static void tell_asker(struct call *c, struct str body)
{
    autoarena a = { 0 };
    struct json *answer;
    struct err e = { 0 };

    if (json_parse(&a, body, NULL, &answer, &e) < 0) {
        call_give_up(c, &e, true);
        return;
    }
    c->asked(c->asked_ctx, answer, NULL);
    call_free(c);
}

/* A delete returns the object also when it was removed: without finalizers and grace it no longer exists. */
static bool is_deleted(const struct object *o)
{
    const struct json *meta = json_get(o->root, "metadata");

    return !json_get(meta, "deletionTimestamp") || (!json_count(json_get(meta, "finalizers")) &&
                                                    json_i64(json_get(meta, "deletionGracePeriodSeconds"), 0) == 0);
}

static void call_succeed(struct call *c, struct str body)
{
    struct object *o = NULL;
    struct err e = { 0 };

    if (c->op != OP_BIND || c->is_read) {
        o = decode_object(c->kube, c->kind, body, &e);
        if (!o && !c->is_read && c->op == OP_DELETE) /* a Status: done */
            e.code = ERR_OK;
        else if (!o) { /* it worked, but the object must be read */
            call_give_up(c, &e, true);
            return;
        }
    }
    if (o && c->op == OP_DELETE && !c->is_read && is_deleted(o)) {
        object_unref(o);
        o = NULL;
    }
    if (o && !c->is_read)
        reflectors_expect(c->kube, c->kind->type, o->rev);
    kube_answer(c->kube, c->kind->type, o, &(struct answer){ .token = c->token });
    call_free(c);
}

/* Did it certainly have no effect? After an error inside the server, or of the connection, that is unknown. */
static bool is_unknown(const struct http_answer *a)
{
    if (a->err.code != ERR_OK)
        return a->is_unknown;
    return a->status >= 500 && !(a->status == 503 && decode_retry_ms(a));
}

static void call_fail(struct call *c, const struct http_answer *a)
{
    struct err e = { 0 };

    decode_failure(c->kube, a, &e);
    call_count(c, outcome_of(a, e.code));
    if (c->members) {
        gather_failed(c, a);
        return;
    }
    if (c->is_read && a->err.code == ERR_OK && a->status == 404) {
        kube_answer(c->kube, c->kind->type, NULL, &(struct answer){ .token = c->token });
        call_free(c);
        return;
    }
    call_give_up(c, &e, is_unknown(a));
}

/* Back to the queue, in front. */
static void try_again(struct call *c)
{
    list_remove(&c->link);
    wait_in_front(c);
}

static enum pace_answer pace_of(const struct http_answer *a)
{
    if (a->err.code != ERR_OK)
        return PACE_SILENT;
    return a->status == 429 || (a->status == 503 && decode_retry_ms(a)) ? PACE_BUSY : PACE_FINE;
}

static void call_on_end(void *ctx, const struct http_answer *a)
{
    struct call *c = ctx;
    struct kube *k = c->kube;
    enum pace_answer pace = pace_of(a);
    int64_t now_ms = kube_mono_ms(k), retry_ms = decode_retry_ms(a);

    c->exchange = NULL;
    if (k->opt.retry_max_ms)
        retry_ms = MIN_OF(retry_ms, k->opt.retry_max_ms);
    pace_ended(&k->pace, &(struct pace_result){ .answer = pace,
                                                .sent_ms = c->sent_ms,
                                                .now_ms = now_ms,
                                                .took_us = a->took_us,
                                                .wait_ms = retry_ms,
                                                .chance = rand_u64(&k->rand) });
    k->stats.busy += pace == PACE_BUSY;
    if (pace == PACE_BUSY && now_ms < c->accepted_ms + PATIENCE_MS) {
        call_count(c, KUBE_BUSY);
        try_again(c);
    } else if (a->status == 401 && !c->has_new_identity && credential_refused(k->credential, c->generation)) {
        c->has_new_identity = true;
        try_again(c);
    } else if (a->err.code == ERR_OK && a->status < 300) {
        call_count(c, KUBE_FINE);
        if (c->members)
            gather_done(c, a->body);
        else if (c->asked)
            tell_asker(c, a->body);
        else
            call_succeed(c, a->body);
    } else {
        call_fail(c, a);
    }
}

/* ---- sending ---- */

static void call_send(struct call *c, struct http_request *h, int64_t now_ms)
{
    h->method = c->method;
    h->path = buf_view(&c->path);
    h->body = buf_view(&c->body);
    h->body_type = c->body_type;
    h->accept = c->accept;
    h->total_ms = h->head_ms = c->kube->opt.answer_ms ? c->kube->opt.answer_ms : ANSWER_MS;
    h->max_bytes = OBJECT_MAX;
    h->ctx = c;
    h->on_end = call_on_end;
    list_remove(&c->link);
    list_push(&c->kube->flying, &c->link);
    c->sent_ms = c->kube->sent_ms = now_ms;
    c->exchange = http_send(c->kube->http, h);
    pace_sent(&c->kube->pace);
    if (c->is_read)
        c->kube->stats.reads++;
    else
        c->kube->stats.writes++;
}

/* Fail calls that have waited too long and were never sent. Checked periodically. */
static void call_expire(struct kube *k, int64_t now_ms)
{
    struct err e = { 0 };

    if (now_ms < k->expired_ms + EXPIRE_MS)
        return;
    k->expired_ms = now_ms;
    LIST_FOREACH(struct call, c, &k->waiting, link) {
        if (now_ms < c->accepted_ms + PATIENCE_MS)
            continue;
        (void)err_set(&e, ERR_IO, "%.*s: the API server is too busy; not sent", STR_ARG(k->opt.config->server));
        call_give_up(c, &e, false);
    }
}

/* Is one of them a write? */
static bool has_write(const struct list *calls)
{
    LIST_FOREACH(struct call, c, calls, link)
        if (!c->is_read)
            return true;
    return false;
}

void calls_recall(struct kube *k)
{
    struct err e = { 0 };

    if (!k->opt.may_write || (list_is_empty(&k->waiting) && list_is_empty(&k->flying) && !k->n_gathering) ||
        k->opt.may_write(k->opt.ctx))
        return;
    if (has_write(&k->flying)) /* to call one back would send what is left of the others */
        http_client_cut(k->http);
    (void)err_set(&e, ERR_FORBIDDEN, "not sent: no longer the leader");
    LIST_FOREACH(struct call, c, &k->waiting, link)
        if (!c->is_read)
            call_give_up(c, &e, false);
    LIST_FOREACH(struct call, c, &k->gathering, link)
        call_give_up(c, &e, false);
    LIST_FOREACH(struct call, c, &k->flying, link)
        if (!c->is_read)
            call_give_up(c, &e, true);
}

void calls_turn(struct kube *k, int64_t now_ms)
{
    struct call *c;

    calls_recall(k);
    call_expire(k, now_ms);
    while ((c = LIST_FIRST(&k->waiting, struct call, link)) && pace_may(&k->pace, now_ms)) {
        struct http_request h = { 0 };
        struct err e = { 0 };
        enum credential_state state = kube_identify(k, &h, &c->generation, &e);

        if (state == CREDENTIAL_BUSY)
            break;
        if (state == CREDENTIAL_FAILED)
            call_give_up(c, &e, false);
        else
            call_send(c, &h, now_ms);
    }
}

int64_t calls_due(const struct kube *k)
{
    int64_t due_ms = k->expired_ms + EXPIRE_MS;

    if (list_is_empty(&k->waiting))
        return INT64_MAX;
    return k->pace.in_flight < pace_limit(&k->pace) ? MIN_OF(due_ms, k->pace.hold_ms) : due_ms;
}
