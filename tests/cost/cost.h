/* cost.h - what a request costs, counted in steps: the same on every machine, whatever else runs there
 *
 * count.c   the steps: each branch taken in the sources that are compiled for it, and each 16 bytes copied or compared
 * world.c   an API server with controllers and scheduler in this process, and requests to it
 * fields.c  objects with n items in one field, for every list, map and text of the tables
 * together.c  objects in which several lists grow together
 * cost.c    n, 2n and 4n of everything by every way in, and what follows for many
 */
#ifndef TESTS_COST_H
#define TESTS_COST_H

#include "api/types.h"
#include "base/arena.h"
#include "json/json.h"
#include "json/schema.h"

/* ---- count.c ---- */

uint64_t count_steps(void); /* since the program began */

/* ---- world.c ---- */

struct world;

struct world *world_new(void);
void world_free(struct world *w);
void world_clean(void); /* at the end of the program */

struct answer {
    int status;
    uint64_t steps; /* until it is answered, and controllers and scheduler have done what they do at once */
};
/* 'type': Content-Type; NULL: that of a GET or DELETE. */
struct answer world_ask(struct world *w, const char *method, struct str path, const char *type, struct str body);

/* ---- fields.c ---- */

enum { PATH_MAX_STEPS = 16 };

struct path { /* a field of a kind that can grow: a list, a map or a text */
    const struct field *steps[PATH_MAX_STEPS];
    size_t n;
};

enum variant { VARIANT_DISTINCT, VARIANT_ALIKE, VARIANT_WRONG, VARIANT_MAX };
extern const char *const variant_names[VARIANT_MAX];

bool path_is_text(const struct path *p);
struct str path_print(struct arena *a, const struct path *p);                            /* spec.containers.env */
struct str path_pointer(struct arena *a, const struct json *root, const struct path *p); /* /spec/containers/0/env */

/* Each field of the kind that can grow, once for each schema it is in, and pod templates only in Jobs; with 'all', by
 * every way down to it. */
void paths_walk(const struct resource_type *t, bool all, void (*each)(void *ctx, const struct path *p), void *ctx);

/* The smallest object of the kind that is accepted; NULL: there is none to be had. */
struct json *object_smallest(struct arena *a, const struct resource_type *t, struct str name);
/* Put 'n' items, counted from 'from', where the path leads. */
void object_plant(struct arena *a, struct json *object, const struct path *p, enum variant v, size_t from, size_t n);
/* One of them, for a JSON patch. */
struct json *path_item(struct arena *a, const struct path *p, enum variant v, size_t i);

/* ---- together.c ---- */

struct together {
    const char *group, *kind, *what, *form;
};
extern const struct together togethers[];
extern const size_t n_togethers;

struct buf;
void together_print(struct buf *out, const struct together *t, struct str name, size_t n);

#endif
