/* server_internal.h - what the files of the server share
 *
 * server.c      the turn: who is ready, who is late, who has gone; limits
 * listen.c      addresses, sockets
 * tls.c         bytes in and out of a socket, encrypted or not
 * conn.c        a connection's life: what it does next with the bytes that came
 * call.c        what a handler asks and answers
 * fair.c        in which order whole requests are served (fair.h)
 * request.c     the text of a request (request.h)
 * tenant.c      bytes that connections hold, by user and by address
 *
 *     SHAKES ──▶ HEAD ──▶ BODY ──▶ WAITS ──▶ CALL ──answer──▶ ANSWERED ──all is out──▶ HEAD, or LINGERS ──▶ DEAD
 *                                              └──upgrade──▶ STREAM ──end──▶ ANSWERED
 *
 * Functions that a handler calls change buffers and states and put the connection onto a list; sockets are touched, and
 * connections die, in the turn only. So a handler may do anything to any connection at any time.
 */
#ifndef HTTP_SERVER_INTERNAL_H
#define HTTP_SERVER_INTERNAL_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "http/fair.h"
#include "http/request.h"
#include "http/server.h"

#include <openssl/types.h>
#include <sys/socket.h>
#include <sys/un.h>

enum {
    HTTP_READ_BYTES = 64 << 10, /* at a time */
    HTTP_READS = 4,             /* of one connection in one turn: the others want to be served too */
    HTTP_SERVE_US = 20000,      /* requests are begun in one turn: then those that came meanwhile may be first */
    HTTP_LARGE_BODY = 64 << 10, /* a request with such a body is served alone in its turn */
    HTTP_LINGER_MS = 2000,
    HTTP_LINGER_BYTES = 1 << 20,
    HTTP_REPLIES_BYTES = 64 << 10, /* of a stream that wait because of what came: more is not read before they go */
};

enum source_kind { SOURCE_LISTENER, SOURCE_CONN, SOURCE_TIMER, SOURCE_WAKE };

struct source { /* what epoll tells about */
    enum source_kind kind;
    int fd;
};

struct listener {
    struct source source;
    struct list_link link;  /* server.listeners */
    struct list_link ready; /* connections wait to be accepted */
    struct listener_path {  /* of a UNIX socket, to be removed at the end; empty: none */
        char text[sizeof(((struct sockaddr_un *)0)->sun_path)];
    } path;
};

struct server_tenant { /* who pays for what connections hold: a user, or an address (tenant.c) */
    size_t refs;
    size_t connections;  /* of an address: those that came from there, whichever tenant is charged */
    size_t bytes;        /* that its connections hold … */
    size_t out;          /* … and of these what clients have not taken */
    bool is_free;        /* has no limit */
    struct list holders; /* connections that hold much; the first has waited longest for its client */
    struct list waiters; /* connections whose writers wait until 'out' is less */
    size_t key_n;
    char key[];
};

enum conn_state {
    CONN_SHAKES,
    CONN_HEAD,
    CONN_BODY,
    CONN_WAITS,
    CONN_CALL,
    CONN_STREAM,
    CONN_ANSWERED,
    CONN_LINGERS,
    CONN_DEAD
};

struct http_stream { /* there to have a type of its own: it is the connection */
    char unused;
};

struct conn {
    struct source source;
    struct list_link link;    /* server.conns, or .dead */
    struct list_link waiting; /* server.idle: could go if the place is needed */
    struct list_link ready;   /* server.ready: has something to do without epoll's word */
    struct heap_node node;
    int64_t due_ms; /* when patience ends; INT64_MAX: never */
    struct http_server *server;
    struct server_tenant *address, *tenant; /* where it came from; who pays for it */
    struct list_link holder, waiter;        /* tenant.holders, tenant.waiters */
    SSL *ssl;                               /* NULL: plain */
    uint32_t events;                        /* what epoll looks for */
    uint32_t got;                           /* what it has found */
    enum conn_state state;
    bool is_again;     /* wants another turn after this one */
    bool wants_out;    /* TLS: the next step waits for room, whatever it is */
    bool is_eof;       /* the other side sends no more */
    bool is_doomed;    /* dies in this turn, or the next */
    bool is_paused;    /* STREAM */
    bool has_begun;    /* CALL: the answer is written bit by bit */
    bool is_chunked;   /* … in chunks */
    bool is_head_only; /* HEAD */
    bool keeps_alive;
    bool is_first;     /* it had no request yet */
    bool told_end;     /* STREAM: on_end was called */
    bool owes_word;    /* on_ready is to be called when all is out */
    bool is_uncounted; /* it is doomed, and counts for no tenant */
    bool is_fresh; /* the answer was given, or begun, in this turn and can be taken back: it begins at 'answer_at' */

    struct buf in; /* what came and was not used yet */
    size_t scanned;
    struct buf text; /* the head of the request */
    struct http_head head;
    struct http_chunks chunks;
    struct buf body;
    struct buf out;
    size_t sent; /* of 'out' */
    size_t answer_at;
    int status;            /* of the answer; 0: none yet */
    size_t lingered;       /* bytes that were read and dropped */
    size_t replies;        /* STREAM: bytes that were queued while input was handled, since all was out */
    size_t extra;          /* what those above hold on its behalf */
    size_t held, held_out; /* counted for the tenant */
    int64_t moved_ms;      /* mono: the other side took or sent something */
    int kernel_queue;      /* bytes that the kernel had then and the other side had not */
    int64_t body_begun_ms; /* mono */
    int64_t limit_ms;      /* STREAM: when it is cut; INT64_MAX: never */
    int64_t wait_ms;       /* for the other side to close first */

    struct fair_ticket ticket; /* WAITS: for its turn */
    uint64_t client;           /* who asks, as far as can be seen from outside */

    struct http_stream stream;
    struct http_call call;
    union {
        struct http_call_events call_events;
        struct http_stream_events stream_events;
    };
    struct call_guard { /* to be called at the end of the call or stream; NULL: none */
        void *ctx;
        void (*on_over)(void *ctx);
    } guard;
    struct http_peer peer;
    struct str *organizations; /* one block with all texts of the certificate */
};

struct http_server {
    int epoll;
    struct source timer, wake;
    bool is_awake, is_turning, is_stopping;
    bool is_hearing; /* the first part of a turn: nothing of it was sent yet */
    int64_t armed_ms;
    struct clock *clock;
    struct http_server_limits limits;
    void *ctx;
    void (*on_head)(void *ctx, struct http_call *call);
    void (*on_request)(void *ctx, struct http_call *call);
    void (*on_heard)(void *ctx);
    SSL_CTX *tls;
    unsigned port;
    struct list listeners, conns, idle, ready, dead;
    struct heap timers;
    struct map tenants;
    size_t held_bytes, n_holding; /* by tenants that have a limit; how many hold something */
    struct fair fair;
    uint64_t seed;         /* of the numbers of clients */
    int64_t deaf_until_ms; /* no descriptors are left: not before then is anybody let in; 0: all is well */
    struct http_server_stats stats;
    int64_t date_s;
    char date[40];
    char bytes[HTTP_READ_BYTES];
};

/* ---- server.c ---- */

int64_t server_mono(const struct http_server *s);
void server_wake(struct http_server *s);          /* the descriptor becomes readable */
void conn_set_due(struct conn *c, int64_t at_ms); /* INT64_MAX: never */
void conn_set_dirty(struct conn *c);              /* it has something to send, or to end */
void conn_set_ready(struct conn *c);              /* it may have something to read, whatever epoll says */
const char *server_date(struct http_server *s);

/* ---- listen.c ---- */

/* A socket that listens; -1 with a sentence. 'ret_path': what to remove at the end. */
int listen_open(const char *address, struct listener_path *ret_path, struct err *e);
unsigned listen_port(int fd);
void peer_name(int fd, struct http_peer *ret);

/* ---- tls.c ---- */

int tls_context(const struct http_server_tls *pem, SSL_CTX **ret, struct err *e);
int tls_begin(struct conn *c, SSL_CTX *context); /* -1: no memory */
void tls_end(struct conn *c);                    /* say goodbye as far as that goes without waiting */
void tls_free(struct conn *c);

enum { IO_AGAIN = -1, IO_BROKEN = -2, IO_PLAIN = -3 };
/* 0: done; IO_AGAIN, IO_BROKEN; IO_PLAIN: it was no TLS but a request, and the connection is plain from now on. */
int tls_shake(struct conn *c);
/* Bytes, or 0 at the end (conn_recv), IO_AGAIN, IO_BROKEN. */
ssize_t conn_recv(struct conn *c, char *to, size_t n);
ssize_t conn_send(struct conn *c, struct str bytes);
bool conn_has_more(const struct conn *c); /* TLS has bytes that epoll does not know of */

/* ---- tenant.c ---- */

bool conn_join_address(struct conn *c); /* false: there are too many of its address */
void conn_leave_tenants(struct conn *c);
/* Count again the bytes that it holds. It, or others of its tenant, may be doomed or refused when this returns. */
void conn_count(struct conn *c);
void conn_moved(struct conn *c);    /* the other side took or sent something */
size_t conn_queued(struct conn *c); /* as http_call_queued() */

/* ---- conn.c ---- */

void conn_turn(struct conn *c);  /* read, and do what follows */
void conn_serve(struct conn *c); /* its request is handed over */
void conn_flush(struct conn *c); /* send, and do what follows; dies here if it is doomed */
void conn_late(struct conn *c);  /* its time is over */
void conn_close(struct conn *c); /* on_gone, then dead */
void conn_enter(struct conn *c, enum conn_state state);

/* ---- call.c ---- */

void conn_refuse(struct conn *c, int status, const char *why); /* an answer of the server itself; then the end */
void conn_queue(struct conn *c, struct str bytes);
void conn_continue(struct conn *c);       /* 100 */
void conn_forget_request(struct conn *c); /* the text of it */

#define CONN_OF_CALL(call_) LIST_ITEM(call_, struct conn, call)
#define CONN_OF_STREAM(s_)  LIST_ITEM(s_, struct conn, stream)

#endif
