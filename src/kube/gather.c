/* gather.c - deletes that can wait, many in one request
 *
 * When a job has ended, what was made for it goes: four objects, without urgency. Such deletes stay here until nothing
 * else was sent for a second, ten at most; then those of one type and namespace leave as one request for all that have
 * one of their labels. The answer lists the deleted objects. All others, and all of them when it failed, are deleted
 * one by one after all: a delete with the uid of the object does no harm a second time.
 */
#include "kube/cluster_internal.h"

#include "base/util.h"

/* Names and finalizers are all that is needed of what was deleted. */
#define ACCEPT_NAMES "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

static struct str text_put(char **at, struct str s)
{
    struct str copy = { *at, s.n };

    if (s.n)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

bool gather_take(struct call *c, const struct op *op)
{
    struct kube *k = c->kube;
    struct gathered *g;
    char *text;

    if (op->kind != OP_DELETE || !op->gather.n || !op->uid.n || k->never_gathers)
        return false;
    g = xcalloc(1, sizeof(*g) + op->namespace.n + op->gather.n + op->uid.n);
    text = (char *)(g + 1);
    g->namespace = text_put(&text, op->namespace);
    g->label = text_put(&text, op->gather);
    g->uid = text_put(&text, op->uid);
    g->waits = true;
    c->gathered = g;
    list_push(&k->gathering, &c->link);
    k->n_gathering++;
    return true;
}

void gather_free(struct call *c)
{
    if (c->members)
        LIST_FOREACH(struct call, m, c->members, link)
            call_free(m);
    free(c->members);
    if (c->gathered && c->gathered->waits)
        c->kube->n_gathering--;
    free(c->gathered);
}

/* By itself after all. */
static void send_alone(struct call *c)
{
    list_remove(&c->link);
    list_push(&c->kube->waiting, &c->link);
}

/* ---- sending ---- */

int64_t gather_due(const struct kube *k)
{
    const struct call *first = LIST_FIRST(&k->gathering, struct call, link);
    int64_t latest_ms;
    bool is_idle;

    if (!first)
        return INT64_MAX;
    if (k->n_gathering >= GATHER_MAX)
        return 0;
    latest_ms = first->accepted_ms + GATHER_BUSY_MS;
    is_idle = list_is_empty(&k->waiting) && list_is_empty(&k->flying);
    return is_idle ? MIN_OF(MAX_OF(first->accepted_ms, k->sent_ms) + GATHER_IDLE_MS, latest_ms) : latest_ms;
}

/* "pumice.dev/job-uid in (a,b)": each once. */
static void print_selector(struct buf *out, const struct list *members)
{
    struct str last = STR_NULL;

    buf_str(out, STR(GATHER_LABEL " in ("));
    LIST_FOREACH(struct call, m, members, link) {
        if (str_eq(m->gathered->label, last))
            continue;
        if (last.n)
            buf_char(out, ',');
        last = m->gathered->label;
        buf_str(out, last);
    }
    buf_char(out, ')');
}

static void send_together(struct kube *k, struct list *take_members)
{
    struct call *first = LIST_FIRST(take_members, struct call, link);
    struct call *c = call_new(k, first->kind->type);
    struct op op = { .kind = OP_DELETE, .grace_s = -1 };
    autobuf selector = { 0 };

    c->op = OP_DELETE;
    c->method = "DELETE";
    c->body_type = first->body_type;
    c->accept = ACCEPT_NAMES;
    c->accepted_ms = first->accepted_ms;
    c->members = take_members;
    path_collection(&c->path, first->kind->type, first->gathered->namespace);
    print_selector(&selector, take_members);
    path_query(&c->path, "labelSelector", buf_view(&selector));
    call_delete_body(&c->body, &op);
    list_push(&k->waiting, &c->link);
}

/* The first of those that wait, and all of its kind. */
static void send_first(struct kube *k)
{
    struct call *first = LIST_FIRST(&k->gathering, struct call, link);
    struct list *alike = xcalloc(1, sizeof(*alike));
    size_t n = 0;

    list_init(alike);
    LIST_FOREACH(struct call, c, &k->gathering, link)
        if (c->kind == first->kind && str_eq(c->gathered->namespace, first->gathered->namespace) && n < GATHER_MAX) {
            list_remove(&c->link);
            list_push(alike, &c->link);
            c->gathered->waits = false;
            n++;
        }
    k->n_gathering -= n;
    if (n > 1) {
        send_together(k, alike);
        return;
    }
    send_alone(first);
    free(alike);
}

void gather_turn(struct kube *k, int64_t now_ms)
{
    if (now_ms < gather_due(k))
        return;
    while (!list_is_empty(&k->gathering))
        send_first(k);
}

/* ---- answers ---- */

/* It is in the answer, and nothing kept it. */
static bool is_gone(const struct json *answer, struct str uid)
{
    JSON_FOREACH(item, json_get(answer, "items")) {
        const struct json *meta = json_get(item, "metadata");

        if (str_eq(json_member_text(meta, "uid"), uid))
            return json_count(json_get(meta, "finalizers")) == 0;
    }
    return false;
}

static void all_alone(struct call *c)
{
    LIST_FOREACH(struct call, m, c->members, link)
        send_alone(m);
    call_free(c);
}

void gather_done(struct call *c, struct str body)
{
    autoarena a = { 0 };
    struct json *answer = NULL;

    (void)json_parse(&a, body, NULL, &answer, NULL); /* what cannot be read shows nothing as gone */
    LIST_FOREACH(struct call, m, c->members, link)
        if (is_gone(answer, m->gathered->uid)) {
            kube_answer(m->kube, m->kind->type, NULL, &(struct answer){ .token = m->token });
            call_free(m);
        }
    all_alone(c);
}

void gather_failed(struct call *c, const struct http_answer *a)
{
    if (a->status == 403 || a->status == 405)
        c->kube->never_gathers = true;
    all_alone(c);
}
