/* client_internal.h - what the files of the client share
 *
 * client.c     requests: sent, limited in time, ended
 * turn.c       the turn: who is ready, who is late
 * link.c       a connection in use: a request goes out, its answer comes in
 * dial.c       how a connection comes to be: address, proxy, TLS
 * proxy.c      what is said to a proxy
 * resolve.c    from a name to addresses
 * context.c    TLS contexts: trusted CAs and our certificate
 * target.c     the server of a client: from options to address, TLS and proxy
 * url.c        the parts of a URL, and which proxy the environment names
 * response.c   the text of an answer
 * failure.c    what went wrong, in sentences
 *
 *     RESOLVES ──▶ CONNECTS ──▶ [GREETS the proxy] ──▶ SHAKES ──▶ WORKS ──answer──▶ RESTS ──request──▶ WORKS
 *
 * A connection is made for a request and carries one at a time. When the answer is whole the connection rests until the
 * next request takes it. Connections of an older generation are no longer trusted: they carry their request to its
 * end, and close then.
 */
#ifndef HTTP_CLIENT_INTERNAL_H
#define HTTP_CLIENT_INTERNAL_H

#include "base/buf.h"
#include "base/heap.h"
#include "base/list.h"
#include "http/client.h"
#include "http/request.h"

#include <openssl/types.h>
#include <sys/socket.h>
#include <zlib.h>

enum { HTTP_CONNECT_MS = 10000, HTTP_HEAD_MS = 30000, HTTP_MAX_BYTES = 16 << 20 };

/* ---- url.c ---- */

struct url { /* all owned */
    char *scheme, *host, *port, *path,
        *user; /* host: an IPv6 address without brackets; user: "name:password", NULL: none */
    bool has_query;
};

/* ERR_INVALID: it is none. */
int url_parse(struct str text, struct url *ret, struct err *e);
void url_done(struct url *u);
void url_print_host(struct buf *out, const struct url *u); /* "name:6443", "[::1]:6443" */
char *url_own(struct str s);                               /* a copy on the heap; NULL if it is empty */
/* The proxy for this server that the environment names; NULL: none. */
const char *url_proxy_of_environment(const struct url *server);

/* ---- response.c ---- */

struct response { /* the head of an answer; zeroed: nothing came yet */
    struct buf text;
    struct str fields; /* in 'text' */
    size_t scanned;
    int status;
    uint64_t length; /* of the body; UINT64_MAX: until the connection ends */
    bool is_chunked, is_zipped, keeps_alive;
    bool may_upgrade; /* set by the caller: 101 is the last word */
};

/* Take bytes of the head. The number that was used; '*ret_whole' says whether its end was among them. Heads of an
 * interim answer (100 Continue) are passed over. -1: this is no HTTP. */
ptrdiff_t response_take(struct response *r, struct str bytes, bool *ret_whole);

/* ---- failure.c ---- */

enum http_failure {
    FAILURE_NONE,
    FAILURE_RESOLVE,
    FAILURE_RESOLVE_PROXY,
    FAILURE_CONNECT,
    FAILURE_LATE,
    FAILURE_PROXY,
    FAILURE_AUTHORITY,
    FAILURE_CERTIFICATE,
    FAILURE_VERIFY,
    FAILURE_SHAKE,
    FAILURE_IO,
    FAILURE_NO_ANSWER,
    FAILURE_CLOSED,
    FAILURE_CUT_OFF,
    FAILURE_NO_HTTP,
    FAILURE_ZIP,
    FAILURE_TOO_BIG,
    FAILURE_MAX
};

struct http_exchange;

/* Set answer.err and answer.is_unknown from x->failure and x->trouble. */
void failure_tell(struct http_exchange *x);
enum exchange_limit { LIMIT_CONNECT, LIMIT_HEAD, LIMIT_IDLE, LIMIT_TOTAL };
/* It took too long. */
void failure_tell_late(struct http_exchange *x, enum exchange_limit limit);

/* ---- connections ---- */

enum link_state { LINK_RESOLVES, LINK_CONNECTS, LINK_GREETS, LINK_SHAKES, LINK_WORKS, LINK_RESTS, LINK_CLOSED };

enum { IO_AGAIN = -1, IO_BROKEN = -2 };

struct link {
    struct list_link link; /* links, resting or closed */
    struct list_link more; /* http_client.more: bytes came that epoll does not know of */
    struct http_client *client;
    struct http_exchange *exchange; /* NULL: it rests */
    int fd;
    uint32_t events; /* what epoll looks for */
    SSL *ssl;        /* to the server; NULL: plain */
    SSL *proxy_ssl;  /* to the proxy; NULL: plain, or there is none */
    enum link_state state;
    uint64_t generation;
    bool wants_out; /* TLS: the next step waits for room, whatever it is */
    bool is_used;   /* it has carried an answer */
    size_t address; /* of the resolver's: the one that is tried */
    int64_t due_ms; /* of the step, while it is made */
    unsigned step;  /* of the talk with a proxy */
    struct buf in;  /* what the proxy said */
    char trouble[160];
};

/* dial.c */
void link_dial(struct http_client *c, struct http_exchange *x);
void link_go_on(struct link *l);    /* one step further, as far as it goes without waiting */
void link_resolved(struct link *l); /* the addresses are there, or none is */
void link_late(struct link *l);     /* the step took too long */

/* link.c */
void link_watch(struct link *l, uint32_t events);        /* 0: not for now */
uint32_t link_events(const struct link *l);              /* what the request on it waits for */
void link_take(struct link *l, struct http_exchange *x); /* this request; it rests, or has just been made */
void link_write(struct link *l);
void link_read(struct link *l);
void link_close(struct link *l); /* freed at the end of the turn */
/* The request on it ends with this; its callback runs in this turn, or the next. */
void link_fail(struct link *l, enum http_failure why, const char *detail);
ssize_t link_recv(struct link *l, char *to, size_t n);      /* 0: the end; IO_AGAIN, IO_BROKEN */
ssize_t link_send(struct link *l, const char *p, size_t n); /* IO_AGAIN, IO_BROKEN */
void link_free(struct link *l);

/* proxy.c */
/* Say and hear what is next: 0: it is through; IO_AGAIN; IO_BROKEN, with l->trouble. */
int proxy_greet(struct link *l);

/* context.c */
/* The client's context, made anew when files may have changed. NULL: '*ret_why' says what is wrong. */
SSL_CTX *context_get(struct http_client *c, enum http_failure *ret_why);
void context_done(struct http_client *c);
/* TLS to 'host' on top of 'under'; NULL: of the socket. */
SSL *context_begin(SSL_CTX *context, const char *host, int fd, SSL *under);
enum http_failure context_trouble(struct link *l, const SSL *ssl); /* why the handshake failed; sets l->trouble */

/* resolve.c */
struct address {
    struct sockaddr_storage a;
    socklen_t n;
};
enum { ADDRESSES_MAX = 8 };
struct lookup; /* one that a thread works on */
struct resolver {
    struct address v[ADDRESSES_MAX];
    size_t n;
    int64_t known_ms; /* since when; 0: never */
    struct lookup *lookup;
};
/* true: resolver.v is set, or empty: there is none. false: link_resolved() is called later. */
bool resolve(struct http_client *c);
void resolve_heard(struct http_client *c);
void resolve_done(struct http_client *c);

struct http_client {
    struct url server, proxy; /* proxy.host NULL: none */
    char *shown;              /* for messages: "https://10.0.0.1:6443" */
    char *prefix;             /* of their paths: "/behind", and all of the URL in front if a proxy reads it */
    char *name;               /* in the server's certificate */
    char *socket;             /* path of a UNIX socket; NULL: it is reached by 'server' */
    bool is_tls, is_tunnel;   /* tunnel: the proxy passes bytes on */
    struct buf fields;        /* of all requests: Host, User-Agent */
    char *user_agent, *ca_file, *cert_file, *key_file;
    struct buf ca_pem, cert_pem, key_pem;
    bool is_insecure;
    int64_t connect_ms;
    int (*open_socket)(void *ctx); /* NULL: socket() */
    void *socket_ctx;
    SSL_CTX *context;
    int64_t context_ms; /* when it was made */
    struct resolver resolver;

    int epoll, timer, event;
    bool is_awake;         /* the event is set */
    int64_t armed_ms;      /* what the timer is set to; INT64_MAX: off */
    uint64_t generation;   /* of links that are trusted */
    int64_t heard_ms;      /* on any link of this generation */
    struct list links;     /* in use, or being made */
    struct list resting;   /* the one that rested last is the last */
    struct list closed;    /* to be freed at the end of the turn */
    struct list more;      /* to be read without epoll's word */
    struct buf piece;      /* of a chunked body */
    struct list exchanges; /* all that have not ended */
    struct list failed;    /* to be reported in the next turn */
    struct list dead;      /* cancelled in a turn: to be freed at its end */
    struct heap timers;    /* struct http_exchange */
    bool is_turning;
    struct http_stats stats;
};

struct http_exchange {
    struct list_link link; /* exchanges, failed or dead */
    struct heap_node node;
    int64_t due_ms; /* when to look at its limits */
    struct http_client *client;
    struct link *on; /* NULL: none */
    struct buf out;  /* the whole request */
    size_t out_at, body_n;
    struct response response;
    uint64_t left; /* of the body */
    struct http_chunks chunks;
    z_stream *zip; /* NULL: not compressed, or not begun */
    bool is_zip_over;
    struct buf collected;
    struct http_request request; /* its text is not ours */
    struct http_answer answer;
    int64_t sent_us, heard_ms;
    bool has_begun;    /* the status is there, on_head was called */
    bool is_safe;      /* may be sent again: it changes nothing */
    bool is_head;      /* HEAD: no body comes, whatever the headers say */
    bool is_paused;    /* nothing is read */
    bool is_cancelled; /* or ended: no more callbacks */
    enum http_failure failure;
    char trouble[160];
};

/* ---- client.c ---- */

void exchange_heard(struct http_exchange *x);
/* The head is there. false: it was cancelled by the callback. */
bool exchange_begins(struct http_exchange *x);
/* A piece of the body, as it travels. false: it was cancelled, or has failed (link_fail was called). */
bool exchange_data(struct http_exchange *x, struct str data);
void exchange_end(struct http_exchange *x);    /* told, released */
void exchange_again(struct http_exchange *x);  /* on a new connection */
void exchange_limits(struct http_exchange *x); /* they have changed */
void exchange_expire(struct http_exchange *x, int64_t now_ms);
void exchange_free(struct http_exchange *x);

/* ---- target.c ---- */

int target_set(struct http_client *c, const struct http_options *opt, struct err *e);
void target_done(struct http_client *c);

/* ---- turn.c ---- */

int turn_init(struct http_client *c, struct err *e);
void turn_done(struct http_client *c);
void turn_arm(struct http_client *c); /* for whatever is due first */
int64_t http_mono_ms(void);

#endif
