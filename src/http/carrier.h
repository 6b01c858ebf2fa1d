/* carrier.h - an upgraded connection and what it speaks: SPDY, WebSocket messages, or SPDY in WebSocket messages
 *
 * The part that channels.c and forward.c share: the handshake, bytes to and from the connection, and the end. The owner
 * of a carrier must free itself in on_free, which is called when nothing on the stack uses it.
 */
#ifndef HTTP_CARRIER_H
#define HTTP_CARRIER_H

#include "http/server.h"
#include "http/spdy.h"
#include "http/websocket.h"

enum { CARRIER_LEAVE_MS = 10000 }; /* for the client to take what is on its way */

struct carrier_protocol {
    const char *name;  /* as the client offers it; empty: it offers none */
    bool is_websocket; /* else it is SPDY */
    bool is_messages;  /* of WebSocket messages nothing else is made: the first byte is the channel */
    bool is_base64;    /* … or a digit for it, and the rest is base64 */
    bool is_pre_v4;    /* exec: success has no message, failure has one */
};

struct carrier_events {
    void (*on_message)(void *ctx, struct str message);
    void (*on_ready)(void *ctx);
    void (*on_gone)(void *ctx); /* the client has left */
    void (*on_free)(void *ctx);
};

struct carrier {
    void *ctx;
    const struct carrier_events *events;
    const struct carrier_protocol *protocol;
    struct http_stream *stream; /* NULL: it is over */
    struct websocket websocket;
    struct spdy *spdy; /* NULL: messages */
    size_t extra;      /* bytes that those above hold */
    unsigned inside;
};

/* Take the first of 'protocols' (ended by one without a name) that the client offers. 'streams' (ctx and write are set
 * here): for those that are SPDY. -1: there is none, and the call was answered. */
int carrier_open(struct carrier *c, struct http_call *call, const struct carrier_protocol *protocols,
                 struct spdy_events streams);

/* A message on a channel, of a protocol of messages. */
void carrier_send(struct carrier *c, int channel, struct str bytes);

/* So many bytes are held by those above on behalf of the client, besides what is queued for it. */
void carrier_hold(struct carrier *c, size_t bytes);

/* These say that it is over; on_free follows, at once or when the callbacks have returned. */
void carrier_leave(struct carrier *c); /* what is queued is sent, and the client has time to take it */
void carrier_cut(struct carrier *c);

/* For on_free. */
void carrier_done(struct carrier *c);

#endif
