/* spots.h - for tests that are made from schemas: every field, and documents that have a given value there
 *
 *     spots_walk(&schema_service, on_spot, ctx);
 *     on_spot: struct json *sent = spot_graft(&g, whole, leaf);     // 'whole' with 'leaf' at the spot
 */
#ifndef JSON_TEST_SPOTS_H
#define JSON_TEST_SPOTS_H

#include "base/rand.h"
#include "json/schema.h"

enum { SPOT_DEPTH = 24 };

struct spot { /* a field, by those above it */
    const struct schema *root;
    const struct field *at[SPOT_DEPTH];
    size_t n;
};

/* Every field of the schema, at any depth; of a schema within itself two levels. */
typedef void (*spots_f)(void *ctx, const struct spot *spot);
void spots_walk(const struct schema *s, spots_f each, void *ctx);

struct spot_graft {
    struct arena *arena;
    struct rand *rand;
    const struct spot *spot;
    const struct field *forced; /* a field beside that of the spot gets this value; NULL: none does */
    const char *forced_value;
};

/* A copy of 'base' (NULL: nothing) with 'leaf' at the spot; lists and maps on the way have one element. Fields that name one
 * of some values get one, now and then: rules begin with "if the type is …". */
struct json *spot_graft(const struct spot_graft *g, const struct json *base, struct json *leaf);

/* Does the value have the shape of the field? */
bool spot_fits(const struct field *f, const struct json *value);

#endif
