/* shapes_world.h - for shapes.c: a server with controllers, scheduler and a node agent on one store in memory
 *
 * The machine of the agent only pretends (node/agent/test/fake_host.h). Every kind has an object "x" in the namespace
 * "default", and one that has nothing but its name (SHAPES_BARE), as the program makes some for itself. There is a kind of a user, Thing of shapes.test/v1. Requests come by a connection of the server's owner,
 * who may impersonate: "tenant" may do everything by RBAC, and is judged as whoever is no administrator.
 */
#ifndef SERVER_TEST_SHAPES_WORLD_H
#define SERVER_TEST_SHAPES_WORLD_H

#include "base/buf.h"
#include "base/str.h"

#define SHAPES_BARE "bare"

struct resource_type;
struct shapes_world;

struct shapes_ask {
    const char *method, *path, *query, *media; /* query: "" or "?…"; media NULL: no body */
    bool is_tenant;
    struct str body;
};

struct shapes_reply {
    int code;        /* 0: none came */
    struct str body; /* until the next request */
};

struct shapes_world *shapes_world_new(void);
void shapes_world_free(struct shapes_world *w);

/* What was sent is in 'ret_sent' (emptied first) before the server sees it: for whoever reports what killed it. */
struct shapes_reply shapes_ask(struct shapes_world *w, const struct shapes_ask *q, char *ret_sent, size_t sent_size);

/* Controllers, scheduler and node do what follows from what was stored; a second passes. */
void shapes_think(struct shapes_world *w);

/* Of an object as it is now; empty: it is not there. */
struct str shapes_revision(struct shapes_world *w, const struct resource_type *t, const char *name);

/* ".../namespaces/default/pods/x/status"; name and sub may be NULL. Static. */
const char *shapes_path(const struct resource_type *t, const char *name, const char *sub);
const char *shapes_name(const struct resource_type *t); /* of the object that is there */

#endif
