/* patch.h - the three patch types of the Kubernetes API
 *
 * Each takes the document and the patch and returns a new tree in 'a' (which may share text, never nodes, with the
 * inputs); the inputs stay as they are. Errors are ERR_INVALID and name the operation or the path; ERR_SYNTAX if the
 * patch is no patch at all (not a list of objects, not an object); ERR_TOO_BIG when it passes a limit.
 */
#ifndef JSON_PATCH_H
#define JSON_PATCH_H

#include "json/json.h"

struct schema;

/* RFC 6902: add, remove, replace, move, copy, test. All or nothing. At most 10,000 operations, 3 MiB of copies, and a
 * result no deeper than the parser reads. */
int json_patch(struct arena *a, const struct json *doc, const struct json *ops, struct json **ret, struct err *e);

/* The other way: the operations of an RFC 6902 patch that make 'to' of 'from', as an array in 'a'; empty if they are
 * equal. Only what differs is named; lists of another length are replaced as a whole. Nodes are copied, text is shared.
 */
struct json *json_diff(struct arena *a, const struct json *from, const struct json *to);

/* RFC 7386. Cannot fail: anything is a merge patch. 'doc' may be NULL. */
struct json *json_merge_patch(struct arena *a, const struct json *doc, const struct json *patch);

/* Kubernetes strategic merge: lists whose schema field has a merge key are merged by it; $patch: delete|replace|merge,
 * $deleteFromPrimitiveList/<field>, $setElementOrder/<field>, $retainKeys. Without 'schema' it is a merge patch that
 * still understands the directives. 'doc' may be NULL. NULL: an error. */
struct json *json_strategic_patch(struct arena *a, const struct schema *schema, const struct json *doc,
                                  const struct json *patch, struct err *e);

#endif
