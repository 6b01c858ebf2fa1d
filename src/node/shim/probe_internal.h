/* probe_internal.h - a connection with a deadline, shared by the kinds of probes */
#ifndef NODE_PROBE_INTERNAL_H
#define NODE_PROBE_INTERNAL_H

#include "node/shim/probe.h"

#include <sys/types.h>

struct probe_conn {
    int fd;
    void *tls;     /* SSL; NULL: plain */
    void *tls_ctx; /* SSL_CTX */
    int64_t until_ms;
};

#define autoconn __attribute__((cleanup(probe_conn_done))) struct probe_conn

int probe_wait(const struct probe_conn *c, short events); /* -1 with errno: ETIMEDOUT and others */

/* Functions that need libraries: host names and TLS. The spawner's program has none of them. */
struct addrinfo;
struct probe_libs {
    const char *(*look_up)(const char *name, uint16_t port, struct addrinfo **ret); /* NULL: success; else the error */
    void (*forget)(struct addrinfo *list);
    int (*start)(struct probe_conn *c, struct str host,
                 struct buf *out); /* like the functions below, as are the next two */
    int (*write)(struct probe_conn *c, struct str s);
    ssize_t (*read)(struct probe_conn *c, void *p, size_t n);
    void (*end)(struct probe_conn *c);
};
extern const struct probe_libs *probe_libs; /* NULL: without */

/* Connect; 'out' gets "dial tcp 10.0.0.1:80: connect: connection refused". */
int probe_dial(struct probe_conn *c, struct str host, uint16_t port, int64_t until_ms, struct buf *out);
int probe_tls(struct probe_conn *c, struct str host, struct buf *out); /* the certificate is not verified */
void probe_conn_done(struct probe_conn *c);

/* Write all of it, or -1 with errno (ETIMEDOUT: the deadline has passed). */
int probe_write(struct probe_conn *c, struct str s);
/* Read what is available, at least one byte; 0: end-of-file; -1 with errno. */
ssize_t probe_read(struct probe_conn *c, void *p, size_t n);

bool probe_http(const struct probe_target *t, int64_t until_ms, struct buf *out);
bool probe_grpc(const struct probe_target *t, int64_t until_ms, struct buf *out);

/* The answer to a health check: the frames of HTTP/2 as they come. For tests and fuzzing. */
struct probe_frames {
    struct buf in;     /* bytes not parsed yet */
    struct buf reply;  /* frames to send back */
    struct buf answer; /* the message, with its prefix of 5 bytes */
    bool is_done;      /* the stream has ended */
    bool is_bad;       /* not HTTP/2 */
};
void probe_frames_feed(struct probe_frames *f, struct str bytes);
void probe_frames_done(struct probe_frames *f);
int probe_grpc_status(struct str answer); /* ServingStatus: 1: SERVING; -1: malformed answer */

/* Resolve a redirect: false if it leads to another host. 'at' was the requested place. */
struct probe_place {
    bool is_tls;
    struct str host, path;
    uint16_t port;
};
bool probe_follow(struct arena *a, const struct probe_place *at, struct str location, struct probe_place *ret);

#endif
