/* spdy.h - a SPDY/3.1 session, the server's side, as far as kubectl and the API server use it
 *
 * Bytes in, streams out, and the other way; what carries the bytes is not known here. The client opens streams, each
 * with headers; every one is confirmed at once. Pings are answered.
 *
 * There is no flow control, in either direction: the one library that Kubernetes speaks SPDY with neither keeps nor
 * grants windows, and who kept to the first 64 KiB would wait forever. A reader that is slow slows the whole session by
 * TCP. WINDOW_UPDATE and SETTINGS are read and mean nothing.
 */
#ifndef HTTP_SPDY_H
#define HTTP_SPDY_H

#include "base/buf.h"
#include "base/err.h"

struct spdy;

struct spdy_stream {
    uint32_t id;
    void *user;       /* the caller's */
    bool is_ended;    /* the client has said that it sends no more */
    bool is_finished; /* we have */
};

struct spdy_events {
    void *ctx, *write_ctx;
    void (*write)(void *write_ctx, struct str bytes);
    /* A stream was opened; spdy_header() works here only. False: it is refused. */
    bool (*on_stream)(void *ctx, struct spdy_stream *s);
    void (*on_data)(void *ctx, struct spdy_stream *s, struct str bytes);
    /* The client sends no more on it. */
    void (*on_end)(void *ctx, struct spdy_stream *s);
    /* Both sides have ended it, or the client has reset it. Called once for each stream that was not refused, unless
     * the session goes first; 's' is freed when it returns. */
    void (*on_gone)(void *ctx, struct spdy_stream *s);
};

struct spdy *spdy_new(const struct spdy_events *events);
void spdy_free(struct spdy *s); /* nothing is called; NULL is fine */

/* -1: it cannot go on; a GOAWAY was written. Callbacks must not free the session. */
int spdy_take(struct spdy *s, struct str bytes, struct err *e);

size_t spdy_held(const struct spdy *s); /* bytes of memory; of NULL none */

/* A header of the stream that is being opened; names are lower case. */
struct str spdy_header(const struct spdy *s, const char *name);

void spdy_write(struct spdy *s, struct spdy_stream *to, struct str bytes);
/* No more is sent on it. If the client had ended its side, on_gone is called with the next spdy_take(). */
void spdy_finish(struct spdy *s, struct spdy_stream *to);
void spdy_reset(struct spdy *s, struct spdy_stream *to); /* both directions; on_gone is not called, 'to' is freed */

/* The dictionary of header blocks, 1423 bytes. */
struct str spdy_dictionary(void);

#endif
