/* client.h - a non-blocking HTTP client of one server, for an event loop
 *
 * http_send() hands a request over and returns at once. Whatever happens then happens in http_turn(): call it when
 * http_fd() is readable (it can be waited for with poll or epoll, and inside another epoll) and the callbacks of the
 * requests run. There is no other way in.
 *
 *     struct http_request r = { .method = "GET", .path = STR("/version"), .total_ms = 5000, .on_end = show };
 *     http_send(client, &r);
 *     while (poll(&(struct pollfd){ http_fd(client), POLLIN }, 1, -1) >= 0)
 *         http_turn(client);
 *
 * What always holds:
 *   - on_end is called exactly once for each request. A cancelled request gets no more callbacks. The exchange that
 *     http_send() returned is freed after on_end has returned, or by http_cancel().
 *   - Callbacks may send and cancel anything, their own request included; they must not call http_turn() or
 *     http_client_free().
 *   - An answer with a bad status (404, 500 …) is an answer, not an error. An error means that no whole answer came;
 *     'is_unknown' says whether the server may have acted on the request all the same. A body that went out is never
 *     sent a second time behind the caller's back.
 *   - Every error names the server and, where one can tell, what to do.
 *
 * It speaks HTTP/1.1: as many connections as there are requests at a time, kept open for the next ones. When an answer
 * takes too long the next requests get new connections, so that a dead connection does not delay them. A redirect is an
 * answer like any other and is not followed; there are no cookies. Names are looked up by a thread, which is the only
 * one.
 *
 * SIGPIPE must be ignored by the program: TLS writes to sockets that the other side may have closed.
 */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include "base/err.h"
#include "base/str.h"

struct http_client;
struct http_exchange;

/* ---- the server ---- */

struct http_tls {                   /* how the server is known, and how we are */
    struct str ca_file, ca_pem;     /* whom to trust, the text before the file; both empty: whom the system trusts */
    struct str cert_file, cert_pem; /* our certificate (PEM, with what is between it and the CA) … */
    struct str key_file, key_pem;   /* … and its key; the text before the file */
    struct str server_name;         /* the name in the server's certificate, asked for by SNI; empty: the URL's host */
    bool is_insecure; /* accept any certificate: an attacker on the network can read and change everything */
};

struct http_options {
    struct str url; /* "https://10.0.0.1:6443" or "http://localhost:8001/behind"; paths of requests are below it.
                       "unix:/run/x.sock": plain HTTP at that socket, without a proxy */
    struct http_tls tls;
    struct str proxy;      /* "http://proxy:3128", https://, socks5://; empty: as HTTPS_PROXY and NO_PROXY say, but
                              never for the machine itself */
    struct str user_agent; /* empty: "pumice" */
    int64_t connect_ms;    /* from the name to the end of the TLS handshake; 0: 10 s */
    /* A TCP socket for IPv4 that does not block, in another network; -1: none. There is no proxy then. NULL: socket(). */
    int (*open_socket)(void *ctx);
    void *socket_ctx;
};

/* Everything is copied. ERR_INVALID names the field of the options: a URL that is none, certificate and key that do not
 * come together. Files are read when connections are made (not more than once a minute), so errors in them are reported
 * then. */
int http_client_new(const struct http_options *opt, struct http_client **ret, struct err *e);
void http_client_free(struct http_client *c); /* cancels all requests; NULL is fine */

/* Another certificate of ours (PEM) for connections that are made from now on; requests that are sent from now on use
 * none of the old connections. */
void http_client_set_certificate(struct http_client *c, struct str cert_pem, struct str key_pem);

/* End all connections at once: what has not been given to the kernel yet never leaves. */
void http_client_cut(struct http_client *c);

int http_fd(const struct http_client *c);
void http_turn(struct http_client *c);

/* ---- requests ---- */

/* With an error: how far it came */
enum http_reached {
    HTTP_REACHED,
    HTTP_UNREACHED, /* no name, no connection, no answer in time */
    HTTP_UNTRUSTED, /* its certificate, or ours */
    HTTP_NO_TLS,    /* the handshake failed: it may be a server without TLS */
};

struct http_answer {
    int status; /* 200 …; 0: none came */
    struct err err;
    bool is_unknown;                   /* with an error: the server may have acted on the request, or may yet do so */
    enum http_reached reached;         /* with an error */
    struct str body;                   /* what was collected; borrowed until on_end returns */
    int64_t took_us;                   /* from http_send() on, waiting for a connection included */
    const struct http_exchange *inner; /* for http_header() */
};

struct http_request {   /* all text is copied by http_send() */
    const char *method; /* "GET", "POST", "PUT", "PATCH", "DELETE": a constant */
    struct str path;    /* "/api/v1/pods?limit=500" */
    struct str body;
    const char *body_type;      /* Content-Type of the body; NULL: not said; a constant */
    const char *accept;         /* a constant; NULL: application/json */
    struct str token;           /* sent as a bearer token; empty: none */
    const char *const *headers; /* more of them, "Name: value", ended by NULL; NULL: none */
    bool is_zipped;             /* ask for gzip: good for long answers, not for streams of short lines */
    bool takes_any;             /* on_data receives the body of every answer, whatever its status */
    bool is_upgrade;            /* 'headers' ask for another protocol: after an answer 101 the connection is the
                                   caller's, input comes by on_data, http_write() sends */

    int64_t head_ms;  /* the answer must begin within this time; 0: 30 s */
    int64_t idle_ms;  /* and then never pause for longer; 0: as head_ms */
    int64_t total_ms; /* and be whole within this; 0: no limit, for streams */
    size_t max_bytes; /* of a body that is collected; 0: 16 MiB. ERR_TOO_BIG beyond */

    void *ctx;
    /* The status and the headers are there. May be NULL. */
    void (*on_head)(void *ctx, const struct http_answer *a);
    /* A piece of the body, cut anywhere. NULL: the body is collected for on_end. Answers of a status of 300 and above
     * are collected, unless 'takes_any': they are a message, not what was asked for. */
    void (*on_data)(void *ctx, struct str data);
    /* All that http_write() was given has left. May be NULL. */
    void (*on_sent)(void *ctx);
    /* It is over: a whole answer or an error. */
    void (*on_end)(void *ctx, const struct http_answer *a);
};

/* Cannot fail: what is wrong comes with on_end, in a later turn. */
struct http_exchange *http_send(struct http_client *c, const struct http_request *r);

/* Change the idle limit: for a stream that becomes quiet after its first part. */
void http_set_idle(struct http_exchange *x, int64_t idle_ms);

/* Hear no more of the answer until it goes on: the server is slowed down by TCP. The time does not count as a pause. */
void http_pause(struct http_exchange *x, bool is_paused);

/* More bytes, on a connection that was upgraded. */
void http_write(struct http_exchange *x, struct str bytes);
size_t http_queued(const struct http_exchange *x); /* of them, that the kernel has not taken yet */

/* Cancel it: no more callbacks. Whether the server acts on it is unknown. */
void http_cancel(struct http_exchange *x);

/* A header of the answer, in on_head and on_end; empty if it is not there. Letter case does not count. */
struct str http_header(const struct http_answer *a, const char *name);
/* Walk all of them, in on_head and on_end. '*at' begins with 0. */
bool http_next_header(const struct http_answer *a, size_t *at, struct str *ret_name, struct str *ret_value);

/* ---- figures ---- */

struct http_stats {
    uint64_t requests, connections;
    uint64_t sent_bytes, received_bytes; /* bodies, as they travel */
    size_t in_flight;
};
void http_client_stats(const struct http_client *c, struct http_stats *ret);

#endif
