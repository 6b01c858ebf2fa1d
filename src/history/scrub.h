/* scrub.h - texts without secrets
 *
 * Whoever writes down what others said is told of the secrets there are, and leaves them out. What is looked for are
 * whole values, and of values of several lines each line: a program that prints a secret in another form (backwards, in
 * base64) is not seen through. Values of fewer than SCRUB_MIN bytes are in too many words.
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

/* Is this the name of a variable whose value is nobody's business? "HF_TOKEN", "DB_PASSWORD" … */
bool scrub_is_private(struct str variable);

void scrub_text(const struct scrub *s, struct buf *out, struct str text);
/* All texts below 'j', in place; what is new is in 'a'. */
void scrub_tree(const struct scrub *s, struct arena *a, struct json *j);

#endif
