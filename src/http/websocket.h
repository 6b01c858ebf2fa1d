/* websocket.h - WebSocket messages (RFC 6455), either side
 *
 * Bytes in, messages out, and the other way; what carries the bytes is not known here. Pings are answered. Invalid
 * input (frames of a client that are not masked, reserved bits, control frames that are long or in pieces, text that is
 * not UTF-8 …) ends it with the close code that says why.
 */
#ifndef HTTP_WEBSOCKET_H
#define HTTP_WEBSOCKET_H

#include "base/buf.h"

struct http_call;

enum websocket_kind { WEBSOCKET_TEXT = 1, WEBSOCKET_BINARY = 2 };

/* Of a close, as in the RFC */
enum websocket_code {
    WEBSOCKET_NORMAL = 1000,
    WEBSOCKET_GOING_AWAY = 1001,
    WEBSOCKET_PROTOCOL_ERROR = 1002,
    WEBSOCKET_BAD_TEXT = 1007,
    WEBSOCKET_TOO_BIG = 1009,
    WEBSOCKET_INTERNAL = 1011,
};

struct websocket {
    void *ctx;
    void (*write)(void *ctx, struct str bytes);
    void (*on_message)(void *ctx, enum websocket_kind kind, struct str message); /* whole; borrowed */
    size_t message_bytes; /* the largest that is taken, all its pieces together; 0: 1 MiB */
    bool is_client;       /* what it sends is masked, and what comes is not */

    /* ---- its own ---- */
    struct buf head;    /* of a frame: 2 to 14 bytes */
    struct buf message; /* what came of it */
    struct buf control;
    uint64_t left;   /* of the payload of the frame */
    unsigned opcode; /* of the frame */
    unsigned mask_at;
    unsigned kind; /* of the message; 0: none has begun */
    unsigned char mask[4];
    bool is_last;    /* the frame is the last of its message */
    bool is_inside;  /* the head of the frame is whole */
    bool is_closing; /* a close was sent */
    bool is_over;
};

void websocket_done(struct websocket *w);

/* 0: go on. -1: it is over: a close came, or one was sent because of what came. */
int websocket_take(struct websocket *w, struct str bytes);

/* Both parts in one message: a channel's number and what is on it. Nothing is sent after a close. */
void websocket_send(struct websocket *w, enum websocket_kind kind, struct str first, struct str rest);
void websocket_close(struct websocket *w, enum websocket_code code);

/* ---- the handshake ---- */

/* Does the request ask for it? */
bool websocket_is_asked(const struct http_call *call);

/* What a server answers to a client's key: the value of Sec-WebSocket-Accept. */
void websocket_answer(struct str key, struct buf *ret);

/* The value of Sec-WebSocket-Accept. -1: the request has no key or another version than 13. */
int websocket_accept(const struct http_call *call, struct buf *ret);

#endif
