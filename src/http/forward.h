/* forward.h - connections to ports of a pod over one connection: kubectl port-forward
 *
 * SPDY/3.1 (portforward.k8s.io), plain or in binary WebSocket messages (SPDY/3.1+portforward.k8s.io), or channels of
 * such messages (v4.channel.k8s.io), whose tunnels are those of the parameter "ports" and begin in forward_open(). Each
 * connection that the client forwards is a tunnel: bytes both ways, each side can end its own, and errors have a
 * stream.
 */
#ifndef HTTP_FORWARD_H
#define HTTP_FORWARD_H

#include "base/str.h"

struct http_call;
struct forward;
struct forward_tunnel;

struct forward_events {
    void *ctx;
    /* A connection to this port is wanted; what is returned is given as 'tunnel_ctx' below. */
    void *(*on_tunnel)(void *ctx, struct forward_tunnel *t, unsigned port);
    void (*on_data)(void *tunnel_ctx, struct forward_tunnel *t, struct str bytes);
    void (*on_end)(void *tunnel_ctx, struct forward_tunnel *t);  /* the client sends no more */
    void (*on_gone)(void *tunnel_ctx, struct forward_tunnel *t); /* it is over; 't' is freed after it returns */
    void (*on_ready)(void *ctx, struct forward *f);              /* what was queued has gone out */
    void (*on_closed)(void *ctx, struct forward *f); /* the client has left; all tunnels have ended before */
};

/* Upgrade the connection. NULL: the request asks for no known protocol, and was answered (400, 403). */
struct forward *forward_open(struct http_call *call, const struct forward_events *events);
void forward_cut(struct forward *f); /* on_gone of each tunnel is called, on_closed is not */

struct forward *forward_of(const struct forward_tunnel *t); /* also while forward_open() has not returned */
void forward_write(struct forward_tunnel *t, struct str bytes);
void forward_finish(struct forward_tunnel *t); /* we send no more; when both sides have said so: on_gone */
void forward_fail(struct forward_tunnel *t, struct str why); /* tell the client why it is over; no on_gone */
size_t forward_queued(const struct forward *f);
void forward_hold(struct forward *f, size_t bytes);    /* held of all tunnels; they count as those queued do */
void forward_pause(struct forward *f, bool is_paused); /* all tunnels: they share one connection */

#endif
