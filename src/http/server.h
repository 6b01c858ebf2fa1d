/* server.h - a non-blocking HTTP/1.1 server for an event loop
 *
 * Everything happens in http_server_turn(): call it when http_server_fd() is readable (it can be waited for with poll
 * or epoll, and inside another epoll). There is no thread of ours and no other way in.
 *
 *     static void on_request(void *ctx, struct http_call *call)
 *     {
 *         http_answer(call, &(struct http_reply){ .status = 200 }, STR("hello\n"));
 *     }
 *
 *     struct http_server_options opt = { .address = "127.0.0.1:8080", .on_request = on_request };
 *     http_server_new(&opt, &server, &e);
 *     while (poll(&(struct pollfd){ http_server_fd(server), POLLIN }, 1, -1) >= 0)
 *         http_server_turn(server);
 *
 * A call is a request and the answer to it. It is handed over when the request is whole, its body included, and may be
 * answered at once or in any later turn, in one piece (http_answer) or bit by bit (http_answer_begin, _write, _end); or
 * the connection becomes a stream of bytes (http_upgrade). A connection has one call at a time: requests that were
 * sent ahead wait and are served in order.
 *
 * What always holds:
 *   - Of a call exactly one of these is the last that is heard: the answer is given (http_answer, http_answer_end,
 *     http_answer_cut, http_upgrade were called), or on_gone was called. It must not be touched after that.
 *   - Callbacks may answer, write and cut anything; they must not call http_server_turn() or http_server_free().
 *   - Nothing is sent before the turn ends, and then once for each connection. What is written outside of a turn makes
 *     the descriptor readable.
 *   - What the other side sends is refused if it is not exactly what RFC 9112 has a client send: line ends are CR LF,
 *     there is one Host, one way of telling where the body ends, no folded line, no white space before a colon. Where
 *     two readers could disagree about where a request ends, the answer is 400 and the end of the connection.
 *   - One client does not keep the others waiting: of whole requests, those of the client whose requests have taken the
 *     least time are handed over first, and after 20 ms of them the turn ends and others are heard (fair.h).
 *   - Nothing is unbounded: see the limits below. A reader that is slow holds at most 'queue_bytes', all connections of
 *     one user or address at most 'tenant_bytes', and one that takes nothing for 'send_ms' is cut off. Of a stream no
 *     more is read while 64 KiB wait that were written in on_data.
 *
 * SIGPIPE must be ignored by the program: TLS writes to sockets that the other side may have closed.
 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include "base/err.h"
#include "base/str.h"

struct clock;
struct http_server;
struct http_stream;

/* ---- requests ---- */

struct http_peer {    /* who asks */
    char address[64]; /* "10.0.0.1", "::1"; "unix" */
    unsigned port;    /* 0: a UNIX socket */
    int uid, pid;     /* of the process that has connected to a UNIX socket; -1: not known */
    bool is_tls;
    /* The subject of the client's certificate, which one of 'client_ca' has signed. Empty and 0: it has shown none. */
    struct str common_name;
    const struct str *organizations;
    size_t n_organizations;
    int64_t certificate_end_ms; /* a connection may outlive its certificate: look at this again */
};

/* Text is borrowed until the answer begins; it is empty from then on. */
struct http_call {
    struct str method; /* "GET"; of a HEAD request only the head of the answer is sent, whatever the caller gives */
    struct str path, query; /* what is before and after the first '?'; as they came, with all %-escapes */
    struct str body;
    const struct http_peer *peer; /* as long as the call is there */
};

/* Headers of the request by name; letter case does not count. Empty if it is not there. Of several with one name the
 * first; http_call_next_header() gives the others: *at begins with 0, false after the last. */
struct str http_call_header(const struct http_call *call, const char *name);
bool http_call_next_header(const struct http_call *call, const char *name, size_t *at, struct str *ret);

/* Whose call it is, as the handler knows: all that come by this credential, certificate or address are counted with the
 * others of that client when it is decided who is served first. Before it is answered. */
void http_call_set_client(struct http_call *call, struct str name);

/* All of them as they came, for the readers of http/request.h. */
struct str http_call_fields(const struct http_call *call);

/* Is 'word' one of those in a header that is a list ("Connection: keep-alive, Upgrade")? */
bool http_call_header_lists(const struct http_call *call, const char *name, const char *word);

/* A parameter of the query, decoded ("%2F", "+" is a blank), NUL-terminated, in 'ret', which is emptied first.
 * Parameters that come several times are walked as headers are. False: it has none, or no more. */
struct buf;
bool http_call_next_param(const struct http_call *call, const char *name, size_t *at, struct buf *ret);
bool http_call_param(const struct http_call *call, const char *name, struct buf *ret); /* the first */

/* ---- answers ---- */

struct http_reply {
    int status;
    const char *type;           /* of the body; NULL: text/plain; charset=utf-8 */
    const char *const *headers; /* more of them, "Name: value", ended by NULL; NULL: none */
};

/* The status of the answer that was given or begun, for a caller that handed the call on to others; 101: it was
 * upgraded; 0: there is none yet. Within the turn of the request. */
int http_call_status(const struct http_call *call);

/* The whole answer. The body is copied; it may be as large as it is. */
void http_answer(struct http_call *call, const struct http_reply *reply, struct str body);

/* Bit by bit, in chunks. on_gone is called as soon as the client ends its side. */
void http_answer_begin(struct http_call *call, const struct http_reply *reply);
void http_answer_write(struct http_call *call, struct str bytes); /* empty: nothing happens */
void http_answer_end(struct http_call *call);
/* End the connection so that the client sees that the answer is not whole (or that there is none). */
void http_answer_cut(struct http_call *call);

/* Bytes that were written and that the kernel has not taken yet. A call that has more than 'queue_bytes' queued loses
 * its connection; so look at this before you write, and go on when on_ready says so. It is SIZE_MAX while other
 * connections of the same user have much queued. */
size_t http_call_queued(struct http_call *call);

/* The handler holds so many bytes on the client's behalf, besides those queued: both count for the limit. */
void http_call_hold(struct http_call *call, size_t bytes);

/* For those that do not answer at once. Both may be NULL. */
struct http_call_events {
    void *ctx;
    /* The queue is empty; called only after it was not, or http_call_queued() was SIZE_MAX. */
    void (*on_ready)(void *ctx, struct http_call *call);
    /* The client has left, or was cut off. 'call' is freed after it returns. */
    void (*on_gone)(void *ctx, struct http_call *call);
};
void http_call_watch(struct http_call *call, const struct http_call_events *events);

/* For code beside the handler that counts calls or may end them: 'on_over' is called once, when the call or the stream
 * that it became is over, however that came. */
void http_call_guard(struct http_call *call, void *ctx, void (*on_over)(void *ctx));
/* As if the client had left: on_gone is called in the next turn. Not after on_over. */
void http_call_drop(struct http_call *call);

/* Whose call it is: what the connection holds counts for that user from now on, and no longer for its address.
 * 'is_free': the user has no limit. In on_head and on_request. */
void http_call_charge(struct http_call *call, struct str name, bool is_free);

/* ---- streams ---- a connection after 101 Switching Protocols ---- */

struct http_stream_events {
    void *ctx;
    void (*on_data)(void *ctx, struct http_stream *s, struct str bytes);
    void (*on_ready)(void *ctx, struct http_stream *s); /* as of a call; may be NULL */
    void (*on_end)(void *ctx, struct http_stream *s);   /* the other side sends no more, but may read; may be NULL */
    void (*on_gone)(void *ctx, struct http_stream *s);  /* it broke; gone when this returns */
};

/* The answer is 101 with 'headers' ("Upgrade: websocket" among them; ended by NULL) and "Connection: Upgrade". Bytes
 * that the client has sent since come by on_data, in a later turn. */
struct http_stream *http_upgrade(struct http_call *call, const char *const *headers,
                                 const struct http_stream_events *events);
void http_stream_write(struct http_stream *s, struct str bytes);
size_t http_stream_queued(struct http_stream *s);
void http_stream_hold(struct http_stream *s, size_t bytes); /* as http_call_hold() */
/* While it is paused no on_data is called, and the other side is slowed down by TCP. */
void http_stream_pause(struct http_stream *s, bool is_paused);
/* Unless it is set anew (0: no limit), the stream is cut after this time, and on_gone is called. */
void http_stream_set_limit(struct http_stream *s, int64_t ms);
/* Send the queue, then close. No more callbacks. */
void http_stream_end(struct http_stream *s);
/* The same for clients that lose what they have not read when they see the end: they have so long to close first. What
 * they still send is dropped. */
void http_stream_leave(struct http_stream *s, int64_t wait_ms);
/* Close now. No more callbacks. */
void http_stream_cut(struct http_stream *s);

/* ---- the server ---- */

struct http_server_tls {  /* PEM */
    struct str cert, key; /* ours, with what is between it and the CA */
    struct str client_ca; /* clients may show a certificate that one of these signed, and are refused with another;
                             empty: they are not asked */
};

struct http_server_limits { /* 0: as written here */
    size_t connections;     /* in all: 1024. One more takes the place of the one that has been idle longest */
    size_t per_address;     /* of one address, or one /64 of IPv6: half of them; no limit for UNIX sockets */
    size_t head_bytes;      /* of a request's head: 32 KiB, 431 beyond; at most 100 headers */
    size_t body_bytes;      /* 4 MiB, 413 beyond */
    size_t queue_bytes;     /* of one that writes bit by bit: 16 MiB */
    size_t tenant_bytes;    /* that all connections of one user, or one address, hold: 64 MiB (tenant.c) */
    size_t held_bytes;      /* that all connections hold: 512 MiB; beyond, an equal part for each of these */
    int64_t head_ms;        /* from the first byte, or the TLS handshake, to the end of the head: 10 s */
    int64_t body_ms;        /* of the body: 10 s … */
    size_t body_rate;       /* … and a second more for so many bytes that came: 16 KiB */
    int64_t idle_ms;        /* between two requests: 180 s */
    int64_t send_ms;        /* between two bytes that the client takes, of answers and streams: 30 s */
};

struct http_server_options {
    /* "127.0.0.1:8081", "[::1]:8081", "host:8081", ":8081" (everybody); port 0: one that is free. "unix:/run/x.sock"
     * (created with mode 0600; a stale one is replaced), "unix:@name" (abstract). NULL: nowhere yet, see
     * http_server_listen() and http_server_add(). */
    const char *address;
    const struct http_server_tls *tls; /* NULL: none. At UNIX sockets there never is */
    struct http_server_limits limits;
    struct clock *clock; /* borrowed; NULL: the real one */
    void *ctx;
    /* The head of a request is there and its body is still to come: a client that may not send it is answered here, and
     * the body is not received. A call that is not answered comes again when it is whole. May be NULL. */
    void (*on_head)(void *ctx, struct http_call *call);
    void (*on_request)(void *ctx, struct http_call *call); /* the path begins with '/' */
    /* All requests of a turn were heard and nothing was sent: their effects can be made durable before the answers
     * leave, and if that fails the answers are taken back. May be NULL. */
    void (*on_heard)(void *ctx);
};

/* Everything is copied. ERR_INVALID: the address or the certificates are wrong. */
int http_server_new(const struct http_server_options *opt, struct http_server **ret, struct err *e);
void http_server_free(struct http_server *s); /* cuts all connections, on_gone is called; NULL is fine */

/* One more address to listen at, as in the options. */
int http_server_listen(struct http_server *s, const char *address, struct err *e);
/* One more socket that listens already, from the program that started this one: the server takes it, also when it
 * fails. */
int http_server_listen_at(struct http_server *s, int take_fd, struct err *e);

/* A socket that is connected; the server takes it, also when it fails. */
int http_server_add(struct http_server *s, int take_fd, struct err *e);

/* Other certificates for connections that come from now on. ERR_INVALID: they are no good, and the old ones stay. */
int http_server_set_tls(struct http_server *s, const struct http_server_tls *tls, struct err *e);

/* In on_heard: the answers that were given in this turn were not, and 'answer' gives each of these calls another. An
 * answer bit by bit that was begun in this turn ends for its handler (on_gone), and is answered as the others. Streams
 * stay. */
void http_server_take_back(struct http_server *s, void (*answer)(void *ctx, struct http_call *call), void *ctx);

unsigned http_server_port(const struct http_server *s); /* of the first that has one; 0: UNIX sockets only */
int http_server_fd(const struct http_server *s);        /* readable: call */
void http_server_turn(struct http_server *s);

/* Take no new connections, close those that are idle, and the others when they have their answer. Handlers end their
 * streams and answers without end themselves. */
void http_server_stop(struct http_server *s);

struct http_server_stats {
    size_t connections, calls, streams; /* now; calls: those not answered yet */
    uint64_t accepted, refused;         /* connections; refused: for want of room */
    uint64_t requests, bad_requests;    /* bad: answered by the server itself */
    size_t held_bytes;                  /* by all connections, now */
    uint64_t dropped_slow;              /* connections whose client took nothing for 'send_ms' */
    uint64_t dropped_room;              /* connections of tenants that held too much */
};
void http_server_stats(const struct http_server *s, struct http_server_stats *ret);

#endif
