/* scrub.h - remove secrets from texts before they are written to a record
 *
 * Add the values of all secrets; scrubbing then replaces each of them. A value of several lines is searched line by
 * line. A secret in another form (reversed, base64) is not found. Values shorter than SCRUB_MIN bytes are ignored,
 * because they occur in ordinary words.
 */
#ifndef HISTORY_SCRUB_H
#define HISTORY_SCRUB_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "json/json.h"

enum { SCRUB_MIN = 4 };

struct scrub { /* zeroed: there are no secrets */
    struct arena arena;
    VEC(struct str) words; /* longer ones first */
    struct map known;
};

void scrub_done(struct scrub *s);
void scrub_add(struct scrub *s, struct str secret);
void scrub_add_secret(struct scrub *s, const struct json *object); /* all values of a Secret */

/* Does the name of a variable suggest that its value is secret? "HF_TOKEN", "DB_PASSWORD" … */
bool scrub_is_private(struct str variable);

void scrub_text(const struct scrub *s, struct buf *out, struct str text);
/* All texts below 'j', in place; what is new is in 'a'. */
void scrub_tree(const struct scrub *s, struct arena *a, struct json *j);

#endif
