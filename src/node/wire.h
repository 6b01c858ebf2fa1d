/* wire.h - messages between the program, its spawner and its shims: a kind, a payload, descriptors
 *
 * Over a SOCK_SEQPACKET pair. A message is whole or not there. A payload of more than WIRE_INLINE bytes travels in a memfd,
 * so its size is bounded by WIRE_MAX alone, not by the socket's buffer.
 */
#ifndef NODE_WIRE_H
#define NODE_WIRE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { WIRE_INLINE = 32 << 10, WIRE_MAX = 64 << 20, WIRE_FDS = 250 };

struct wire_msg {
    uint32_t kind;
    struct str payload; /* received: lives in the struct wire_in */
    int fds[WIRE_FDS];  /* sent: stay the sender's. received: the receiver's, close-on-exec */
    size_t n_fds;
};

/* A pair of sockets, close-on-exec, blocking. */
int wire_pair(int ret[2], struct err *e);

/* Send one message; waits while the other side's buffer is full. ERR_GONE: the other side is not there any more. */
int wire_send(int fd, const struct wire_msg *m, struct err *e);

struct wire_in { /* memory of the message received last; zeroed is valid */
    struct buf payload;
};
void wire_in_done(struct wire_in *in);

/* Take one message: 1; 0: there is none now (only if !waits); -1: ERR_GONE when the other side is gone, or another error,
 * after which the socket is of no use. The payload is valid until the next call with 'in'. */
int wire_recv(int fd, bool waits, struct wire_in *in, struct wire_msg *ret, struct err *e);

void wire_close_fds(struct wire_msg *m); /* those received and not taken */

#endif
