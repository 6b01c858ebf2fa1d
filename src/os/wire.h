/* wire.h - messages between the program, its spawner and its shims: a kind, a payload, descriptors
 *
 * Over a SOCK_SEQPACKET pair. A message is whole or not there. A payload of more than WIRE_INLINE bytes travels in a
 * memfd, so its size is bounded by WIRE_MAX alone, not by the socket's buffer.
 */
#ifndef OS_WIRE_H
#define OS_WIRE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { WIRE_INLINE = 32 << 10, WIRE_MAX = 64 << 20, WIRE_FDS = 250 };

struct wire_msg {
    uint32_t kind;
    struct str payload; /* received: lives in the struct wire_in */
    int fds[WIRE_FDS];  /* sent: stay the sender's. received: the receiver's, close-on-exec */
    size_t n_fds;
};

/* A pair of sockets, close-on-exec, blocking. */
int wire_pair(int ret[2], struct err *e);
/* Limit how long wire_send() waits; then it fails with ERR_IO, for the other side may be stopped. */
void wire_patience(int fd, int seconds);

/* Send one message; waits while the other side's buffer is full. ERR_GONE: the other side has closed its end.
 * ERR_TOO_BIG: more than WIRE_MAX bytes or WIRE_FDS descriptors; nothing was sent. */
int wire_send(int fd, const struct wire_msg *m, struct err *e);
/* The same without waiting: 1: sent; 0: the buffer is full; -1 as above. For those who must not wait for each other. */
int wire_try(int fd, const struct wire_msg *m, struct err *e);

struct wire_in { /* memory of the message received last; zeroed is valid */
    struct buf payload;
};
void wire_in_done(struct wire_in *in);

/* Take one message: 1; 0: there is none now (only if !waits); -1: ERR_GONE when the other side has closed its end,
 * ERR_INVALID for an invalid message (the next one may be valid), or another error, after which the socket must be closed. The
 * payload is valid until the next call with 'in'. */
int wire_recv(int fd, bool waits, struct wire_in *in, struct wire_msg *ret, struct err *e);

void wire_close_fds(struct wire_msg *m); /* those received and not taken */

/* ---- plain bytes with one descriptor ---- */

/* 'flags': of sendmsg(), recvmsg(). The first sends all of it or fails. The second returns what recvmsg() does;
 * *ret_fd is the receiver's then, close-on-exec, or -1. */
int wire_send_fd(int sock, const void *p, size_t n, int fd, int flags);
ssize_t wire_recv_fd(int sock, void *p, size_t n, int flags, int *ret_fd);

/* ---- what is in a payload: numbers and texts, one after the other ---- */

void wire_put_i64(struct buf *out, int64_t v);
void wire_put_str(struct buf *out, struct str s);

/* Once something is missing all that follows is 0 and empty, and is_bad stays set: look at it at the end. */
struct wire_read {
    struct str rest;
    bool is_bad;
};
int64_t wire_get_i64(struct wire_read *r);
struct str wire_get_str(struct wire_read *r); /* borrowed from the payload */
/* How many follow: bad if they cannot fit, at 'size' bytes each at least; so it is safe to make room for them. */
size_t wire_get_count(struct wire_read *r, size_t size);
bool wire_is_read(const struct wire_read *r); /* all of it, and nothing was missing */

#endif
