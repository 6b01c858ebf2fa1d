/* items.c - the items of a long list, sent as the client reads them
 *
 * A list of 10,000 pods is some 30 MB. It is not put together: the objects are held, which costs a pointer each since
 * they never change, and their texts are sent piece by piece; others are served between. The HTTP server drops a client
 * that reads nothing, or that holds too much in all.
 */
#include "server/server_internal.h"

enum { PIECE_BYTES = 128 << 10, HELD_PART = 4, HELD_MAX = 16 << 20 };

struct items_items {
    struct list_link link;
    struct server *server;
    struct http_call *call;
    struct object **objects; /* references; those before 'at' were sent */
    size_t n, at;
    size_t text_bytes; /* of those still to be sent */
    struct buf piece;  /* its memory is used again: to get pages from the kernel costs more than to fill them */
};

size_t items_held(size_t n, size_t text_bytes)
{
    return n * sizeof(struct object *) + MIN_OF(text_bytes / HELD_PART, (size_t)HELD_MAX);
}

static void items_free(struct items_items *t)
{
    for (; t->at < t->n; t->at++)
        object_unref(t->objects[t->at]);
    list_remove(&t->link);
    free(t->objects);
    buf_done(&t->piece);
    free(t);
}

static void send_piece(struct items_items *t)
{
    struct buf *out = &t->piece;

    buf_reset(out);
    for (; t->at < t->n && out->n < PIECE_BYTES; t->at++) {
        autounref struct object *o = t->objects[t->at];

        if (t->at)
            buf_char(out, ',');
        buf_str(out, o->text);
        t->text_bytes -= o->text.n;
    }
    if (t->at == t->n)
        buf_str(out, STR("]}\n"));
    http_answer_write(t->call, buf_view(out));
    if (t->at < t->n) {
        http_call_hold(t->call, items_held(t->n, t->text_bytes) + out->cap);
        return;
    }
    http_answer_end(t->call);
    items_free(t);
}

static void items_on_ready(void *ctx, struct http_call *call)
{
    if (http_call_queued(call) == 0) /* else others of this user come first, and it is called again */
        send_piece(ctx);
}

static void items_on_gone(void *ctx, struct http_call *call)
{
    (void)call;
    items_free(ctx);
}

bool items_are_many(const struct server_request *rq, struct object *const *objects, size_t n)
{
    size_t bytes = 0;

    for (size_t i = 0; i < n; i++) {
        if (!objects[i]->text.n)
            return false;
        bytes += objects[i]->text.n;
    }
    return bytes > 4 * PIECE_BYTES && !gzip_is_wanted(rq->call, bytes); /* that is made of the whole */
}

void items_reply(struct server_request *rq, struct str head, struct object *const *objects, size_t n)
{
    struct items_items *t = xcalloc(1, sizeof(*t));

    access_hold(rq); /* a slow reader takes long */
    t->server = rq->server;
    t->call = rq->call;
    t->n = n;
    t->objects = xmalloc(n * sizeof(struct object *));
    for (size_t i = 0; i < n; i++) {
        t->objects[i] = object_ref(objects[i]);
        t->text_bytes += objects[i]->text.n;
    }
    list_push(&rq->server->items, &t->link);
    rq->is_answered = true;
    rq->status = 200;
    http_call_watch(rq->call, &(struct http_call_events){ t, items_on_ready, items_on_gone });
    http_answer_begin(rq->call, &(struct http_reply){ 200, "application/json", NULL });
    http_answer_write(rq->call, head);
    send_piece(t);
}

void items_done(struct server *s)
{
    LIST_FOREACH(struct items_items, t, &s->items, link) {
        http_answer_cut(t->call);
        items_free(t);
    }
}
