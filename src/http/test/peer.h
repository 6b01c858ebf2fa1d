/* peer.h - a little HTTP/1.1 server with bad manners, on a thread of its own, for tests of the client
 *
 * What it does follows from the path:
 *
 *     /hello              200 "hello"
 *     /echo               200, the head and the body of the request as they came
 *     /conn               200, "C R": which connection, counted from 1, and which request on it
 *     /status/429         that status, Retry-After: 7, a body "no"
 *     /big/N              200, N bytes
 *     /gzip               200, "hello" in gzip, if the request allows it
 *     /badgzip            200, says gzip and is not
 *     /slow/MS            200 "hello" after that time
 *     /drip/N/MS          200, N chunks "line I\n", one each MS
 *     /stall              200, one chunk "line 0\n", then nothing more
 *     /silent             reads the request and never answers
 *     /cut                reads the request and closes
 *     /last               reads the request, listens no more, and closes
 *     /cuthead            half a head
 *     /short              Content-Length: 100 and ten bytes
 *     /chunkcut           a chunk that is said to have 100 bytes and has ten
 *     /garbage            no HTTP at all
 *     /early              100 Continue first, then 200 "hello"
 *     /untilclose         200 "hello" without a length
 *     /redirect           302 to /hello
 *
 * CONNECT host:port makes a tunnel to that port of 127.0.0.1: it is a proxy as well, also by SOCKS 5.
 */
#ifndef HTTP_TEST_PEER_H
#define HTTP_TEST_PEER_H

#include "base/buf.h"

struct peer;
struct peer_conn;

struct peer_request {
    char method[16], path[1024];
    struct str head, body;
};

struct peer_options {
    const char *cert, *key; /* PEM files; NULL: no TLS */
    const char *client_ca;  /* ask for a certificate signed by this one; NULL: no */
    /* Another server altogether: answers a request, on a thread of its connection; false closes that. NULL: as above. */
    bool (*serve)(void *ctx, struct peer_conn *c, const struct peer_request *r);
    void *ctx;
};

struct peer *peer_start(const struct peer_options *opt);
void peer_stop(struct peer *p);

int peer_port(const struct peer *p);
unsigned peer_requests(const struct peer *p, const char *path); /* how many began with this path; "": all */
unsigned peer_connections(const struct peer *p);

/* From true on every connection is closed as soon as it is made, and those that are there at once. */
void peer_shut(struct peer *p, bool is_shut);

/* ---- for 'serve'; false: the client has gone, or it is the end ---- */

bool peer_answer(struct peer_conn *c, int status, const char *headers, struct str body);
bool peer_write(struct peer_conn *c, struct str bytes);
bool peer_rest(struct peer_conn *c, int ms);

#endif
