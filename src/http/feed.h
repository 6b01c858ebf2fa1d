/* feed.h - a streamed answer: in chunks, or as WebSocket messages if the client asks for one
 *
 * Browsers can read chunks only as a whole. The writer need not know which it is. What a client sends by its
 * WebSocket is ignored, but for pings and the close.
 *
 * Of several protocols that it offers the first that is spoken is taken; without any it is messages as they are.
 *   FEED_TEXT, FEED_BINARY   any: what is written is one message each (a token offered as a protocol is none)
 *   FEED_LOG                 binary.k8s.io: binary messages; base64.binary.k8s.io: text messages in base64
 */
#ifndef HTTP_FEED_H
#define HTTP_FEED_H

#include "http/server.h"

enum feed_kind { FEED_TEXT, FEED_BINARY, FEED_LOG };

struct feed_socket;

struct feed { /* stays where it is until it has ended */
    void *ctx;
    void (*on_ready)(void *ctx); /* what was queued has gone out; may be NULL */
    void (*on_gone)(void *ctx);  /* the client has left; do not use the feed again */

    /* ---- its own ---- */
    struct http_call *call;     /* NULL: it is a WebSocket */
    struct feed_socket *socket; /* NULL: it is none, or it is over */
};

/* With the callbacks set. -1: the client asks for an unknown protocol; it was answered. */
int feed_begin(struct feed *f, struct http_call *call, enum feed_kind kind, const struct http_reply *reply);
void feed_write(struct feed *f, struct str bytes);
size_t feed_queued(const struct feed *f); /* as http_call_queued() */
void feed_hold(struct feed *f, size_t bytes);

/* No more callbacks. */
void feed_end(struct feed *f);
void feed_cut(struct feed *f); /* so that the client sees that it is not whole */

#endif
