/* mask.h - reading only the parts of a document that are needed
 *
 * A Pod on the wire has ten kilobytes, of which a controller keeps a few hundred bytes. A mask names the members that
 * are wanted; json_parse_masked() makes nodes for those alone and runs over the rest without remembering it.
 *
 *     static const char *const fields[] = { "metadata", "-metadata.managedFields", "status.phase",
 *                                           "status.containerStatuses.ready", NULL };
 *
 * A path keeps its member and all below it; '-' in front leaves out a part of what another path keeps. Lists are looked
 * through: the path goes on in each of their objects. A member on the way to one that is wanted is kept with what is
 * wanted of it. Keys with a dot in them cannot be named; their parent can.
 */
#ifndef JSON_MASK_H
#define JSON_MASK_H

#include "json/json.h"

struct json_mask;

/* 'paths' ends with NULL and is borrowed. A mask of no paths keeps nothing but the outermost braces; one that only
 * leaves out keeps the rest. */
struct json_mask *json_mask_make(struct arena *a, const char *const *paths);

/* Make 'below' (borrowed) the mask of the member 'key': for documents inside others. */
void json_mask_graft(struct arena *a, struct json_mask *m, const char *key, const struct json_mask *below);

/* As json_parse() with the limits it has by default, but: of a duplicate key the last counts, and what is
 * left out is only looked at as far as needed to find its end. */
int json_parse_masked(struct arena *a, struct str text, const struct json_mask *m, struct json **ret, struct err *e);

#endif
