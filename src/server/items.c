/* items.c - the items of a long list, given to the client as it takes them
 *
 * A list of 10,000 pods is some 30 MB. It is not put together: the objects are held, which costs a pointer each since they
 * never change, and their texts are sent piece by piece; others are served between. Who takes nothing for a minute is
 * sent away.
 */
#include "server/server_internal.h"

enum { PIECE_BYTES = 128 << 10, PATIENCE_MS = 60000 };

struct items {
    struct list_link link;
    struct server *server;
    struct http_call *call;
    struct object **objects; /* references; those before 'at' were sent */
    size_t n, at;
    struct buf piece; /* its memory is used again: to get pages from the kernel costs more than to fill them */
    int64_t sent_ms;  /* mono: the last one */
};

static void items_free(struct items *t)
{
    for (; t->at < t->n; t->at++)
        object_unref(t->objects[t->at]);
    list_remove(&t->link);
    free(t->objects);
    buf_done(&t->piece);
    free(t);
}

static void send_piece(struct items *t)
{
    struct buf *out = &t->piece;

    buf_reset(out);
    for (; t->at < t->n && out->n < PIECE_BYTES; t->at++) {
        autounref struct object *o = t->objects[t->at];

        if (t->at)
            buf_char(out, ',');
        buf_str(out, o->text);
    }
    t->sent_ms = clock_mono_ms(t->server->opt.clock);
    if (t->at == t->n)
        buf_str(out, STR("]}\n"));
    http_answer_write(t->call, buf_view(out));
    if (t->at < t->n)
        return;
    http_answer_end(t->call);
    items_free(t);
}

static void on_ready(void *ctx, struct http_call *call)
{
    (void)call;
    send_piece(ctx);
}

static void on_gone(void *ctx, struct http_call *call)
{
    (void)call;
    items_free(ctx);
}

bool items_are_many(const struct request *rq, struct object *const *objects, size_t n)
{
    size_t bytes = 0;

    for (size_t i = 0; i < n; i++) {
        if (!objects[i]->text.n)
            return false;
        bytes += objects[i]->text.n;
    }
    return bytes > 4 * PIECE_BYTES && !gzip_is_wanted(rq->call, bytes); /* that is made of the whole */
}

void items_reply(struct request *rq, struct str head, struct object *const *objects, size_t n)
{
    struct items *t = xcalloc(1, sizeof(*t));

    t->server = rq->server;
    t->call = rq->call;
    t->n = n;
    t->objects = xmalloc(n * sizeof(struct object *));
    for (size_t i = 0; i < n; i++)
        t->objects[i] = object_ref(objects[i]);
    list_push(&rq->server->items, &t->link);
    rq->is_answered = true;
    rq->status = 200;
    http_call_watch(rq->call, &(struct http_call_events){ t, on_ready, on_gone });
    http_answer_begin(rq->call, &(struct http_reply){ 200, "application/json", NULL });
    http_answer_write(rq->call, head);
    send_piece(t);
}

void items_done(struct server *s)
{
    LIST_FOREACH(struct items, t, &s->items, link) {
        http_answer_cut(t->call);
        items_free(t);
    }
}

void items_expire(struct server *s)
{
    int64_t now_ms = clock_mono_ms(s->opt.clock);

    LIST_FOREACH(struct items, t, &s->items, link)
        if (now_ms >= t->sent_ms + PATIENCE_MS)
            http_call_drop(t->call); /* and so on_gone */
}
