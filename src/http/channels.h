/* channels.h - stdin, stdout, stderr, a verdict and the size of a terminal over one connection
 *
 * What exec and attach need, whether the client speaks SPDY/3.1 (kubectl up to 1.29; the API server to a kubelet) or
 * WebSockets (v5.channel.k8s.io, v4.channel.k8s.io and the older ones, also as base64). The verdict is a Status object,
 * as Kubernetes clients read it: the exit status is in it. Protocols before v4 have a sentence instead, and silence for
 * success.
 *
 *     struct channels *c = channels_open(call, &wanted, &events);      in on_request: answers the call, come what may
 *     … on_open: start the process
 *     channels_write(c, CHANNEL_STDOUT, bytes); …                       while channels_queued(c) is small
 *     channels_exit(c, 7);                                              the end; c is freed
 */
#ifndef HTTP_CHANNELS_H
#define HTTP_CHANNELS_H

#include "base/str.h"

struct http_call;
struct channels;

enum channel { CHANNEL_STDIN, CHANNEL_STDOUT, CHANNEL_STDERR, CHANNEL_ERROR, CHANNEL_RESIZE, CHANNEL_MAX };

struct channels_wanted { /* by the query of the request */
    bool stdin_, stdout_, stderr_;
    bool is_tty; /* there is a channel for its size, and none for stderr */
};

struct channels_events {
    void *ctx;
    /* All channels that are wanted are there: begin. Called in a later turn than channels_open(). */
    void (*on_open)(void *ctx, struct channels *c);
    void (*on_stdin)(void *ctx, struct channels *c, struct str bytes);
    void (*on_stdin_end)(void *ctx, struct channels *c); /* at most once. v4 over WebSockets has no way to say it */
    void (*on_resize)(void *ctx, struct channels *c, unsigned columns, unsigned rows);
    void (*on_ready)(void *ctx, struct channels *c); /* what was queued has gone out */
    void (*on_gone)(void *ctx, struct channels *c);  /* the client has left; 'c' is freed after it returns */
};

/* Upgrade the connection. NULL: the request asks for no protocol that is spoken here, and was answered (400, 403). */
struct channels *channels_open(struct http_call *call, const struct channels_wanted *wanted,
                               const struct channels_events *events);

/* Only from on_open on; what is written to a channel that the client did not want is dropped. */
void channels_write(struct channels *c, enum channel to, struct str bytes);

/* Bytes that the kernel has not taken yet. Write no more while it is above 64 KiB or so; on_ready says when to go on.
 */
size_t channels_queued(const struct channels *c);

/* So many bytes of input are held; they count as those queued do. */
void channels_hold(struct channels *c, size_t bytes);

/* Pause and resume input. */
void channels_pause(struct channels *c, bool is_paused);

/* End: the process has exited with this status, or could not be run, and why. Queued output is still
 * sent, and the client has 10 s to take it and leave. No more callbacks. May be called before on_open. */
void channels_exit(struct channels *c, int exit_status);
void channels_fail(struct channels *c, struct str why);
void channels_cut(struct channels *c); /* without a word */

#endif
