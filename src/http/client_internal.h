/* client_internal.h - what the files of the client share
 *
 * client.c    the server, requests and their ends
 * pool.c      libcurl's multi handles inside our epoll, and time
 * url.c       where the server is
 * curl.c      the library itself
 * failure.c   from libcurl's codes to sentences
 *
 * A pool is one multi handle: the connections that requests may share. There is one that new requests go to; older
 * ones, which are not trusted any more, live as long as a request does that began on them.
 */
#ifndef HTTP_CLIENT_INTERNAL_H
#define HTTP_CLIENT_INTERNAL_H

#include "base/buf.h"
#include "base/heap.h"
#include "base/list.h"
#include "http/client.h"
#include "http/curl.h"

enum { HTTP_CONNECT_MS = 10000, HTTP_HEAD_MS = 30000, HTTP_MAX_BYTES = 16 << 20 };

struct http_pool {
    struct list_link link; /* http_client.pools; the last one takes new requests */
    struct http_client *client;
    CURLM *multi;
    size_t n;       /* exchanges */
    int64_t due_ms; /* when libcurl wants to be called; INT64_MAX: it does not */
    int64_t heard_ms;
};

enum { SPARE_EASIES = 32 };

struct http_client {
    char *base;                 /* what paths are put behind: "https://name:6443/prefix" */
    char *shown;                /* for messages: "https://10.0.0.1:6443" */
    struct curl_slist *connect; /* "name:6443:10.0.0.1:6443" where the server goes by another name in TLS, else NULL */
    char *host;                 /* then: "10.0.0.1:6443" */
    char *proxy, *user_agent, *ca_file, *cert_file, *key_file;
    struct buf ca_pem, cert_pem, key_pem;
    bool is_insecure, is_http1, is_local;
    int64_t connect_ms;

    int epoll, timer, event;
    bool is_awake;    /* the event is set */
    int64_t armed_ms; /* what the timer is set to; INT64_MAX: off */
    struct list pools;
    struct http_pool **fds; /* by descriptor: whose it is */
    size_t n_fds;
    struct list exchanges, dead; /* dead: to be released when libcurl has returned */
    struct heap timers;          /* struct http_exchange */
    struct list starting;        /* sent from a callback: libcurl takes them when it has returned */
    bool is_inside;              /* libcurl is calling us */
    bool is_turning;             /* the timer is set at the end */
    CURL *spare[SPARE_EASIES];
    size_t n_spare;
    struct http_stats stats;
};

enum exchange_limit { LIMIT_HEAD, LIMIT_IDLE, LIMIT_TOTAL };

struct http_exchange {
    struct list_link link; /* one of the lists of the client */
    struct heap_node node;
    int64_t due_ms; /* when to look at its limits */
    struct http_client *client;
    struct http_pool *pool; /* NULL: not started */
    CURL *easy;
    struct curl_slist *headers;
    struct buf url, body, collected;
    size_t body_at;
    struct http_request request; /* its text is not ours */
    struct http_answer answer;
    int64_t sent_us, heard_ms;
    bool has_begun; /* the final status is there, on_head was called */
    bool is_cancelled, is_too_big;
    char trouble[CURL_ERROR_SIZE];
};

/* ---- pool.c ---- */

int pools_init(struct http_client *c, struct err *e);
void pools_done(struct http_client *c);
struct http_pool *pool_newest(struct http_client *c);
void pools_retire(struct http_client *c); /* what is sent from now on goes over new connections */
int pool_add(struct http_pool *p, struct http_exchange *x, struct err *e);
void pool_remove(struct http_exchange *x);
void pools_arm(struct http_client *c); /* for whatever is due first */
int64_t http_mono_ms(void);

/* ---- client.c ---- for pool.c ---- */

void exchange_finish(struct http_exchange *x, CURLcode code);
void exchange_expire(struct http_exchange *x, int64_t now_ms);
void exchanges_sweep(struct http_client *c); /* start what waits, release what was cancelled */

/* ---- url.c ---- */

/* Set what follows from the URL. ERR_INVALID: it is none. */
int url_take(struct http_client *c, struct str text, struct str server_name, struct err *e);
char *url_own(struct str s); /* a copy on the heap; NULL if it is empty */

/* ---- failure.c ---- */

/* Set answer.err and answer.is_unknown from what libcurl says. */
void failure_tell(struct http_exchange *x, CURLcode code);
/* It took too long. */
void failure_tell_late(struct http_exchange *x, enum exchange_limit limit);

#endif
