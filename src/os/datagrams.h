/* datagrams.h - datagrams of many senders to one address, and the answers back
 *
 * UDP has no connections, so each sender gets a socket of its own towards the other side, and the answers that arrive
 * there are its. A sender that was silent for DATAGRAMS_IDLE_MS is forgotten when another sends, and at DATAGRAMS_MAX
 * senders the one that was silent for longest. A datagram that cannot be passed on at once is dropped, as UDP may.
 */
#ifndef OS_DATAGRAMS_H
#define OS_DATAGRAMS_H

#include <stdint.h>

enum { DATAGRAMS_MAX = 256, DATAGRAMS_IDLE_MS = 120 * 1000 }; /* idle: as the kernel's own translation of addresses */

struct datagrams;

/* 'take_fd' is bound (IPv4), and does not block. 'open' gives a socket that is connected to the other side and does not
 * block, which is taken; -1: there is none now. NULL: there is no descriptor left. */
struct datagrams *datagrams_new(int take_fd, int (*open)(void *ctx), void *ctx);
void datagrams_free(struct datagrams *d);    /* NULL is fine */
int datagrams_fd(const struct datagrams *d); /* readable: datagrams_turn() has something to do */
void datagrams_turn(struct datagrams *d, int64_t now_ms);

#endif
