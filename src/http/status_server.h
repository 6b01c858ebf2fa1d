/* status_server.h - answers to those who ask how we are: metrics, health, a page for people
 *
 * A very small HTTP server for the loop: GET and HEAD, one request for each connection, bodies that fit into memory, no
 * TLS. It must never be in the way of the program that it tells about: nothing waits, a request has 8 KiB, a client 10
 * s from its first byte to its last, and 64 of them are there at a time; who comes then takes the place of the one that
 * has been there longest.
 */
#ifndef HTTP_STATUS_SERVER_H
#define HTTP_STATUS_SERVER_H

#include "base/buf.h"
#include "base/err.h"

struct status_server;

struct status_answer {
    int status;       /* 200, 404, 503 … */
    const char *type; /* of the body; a constant. NULL: text/plain */
    struct buf *body;
};

/* 'path' is without its query, and %-escapes are as they came. */
typedef void (*status_answer_f)(void *ctx, struct str path, struct status_answer *ret);

/* 'address': "127.0.0.1:8081", "[::1]:8081", "host:8081", ":8081" (everybody); port 0: one that is free. */
int status_server_open(const char *address, status_answer_f answer, void *ctx, struct status_server **ret,
                       struct err *e);
void status_server_close(struct status_server *s); /* NULL is fine */

unsigned status_server_port(const struct status_server *s);

int status_server_fd(const struct status_server *s); /* readable: call */
void status_server_turn(struct status_server *s);

#endif
