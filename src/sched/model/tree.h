/* tree.h - what the scheduler keeps of JSON: copies that stand alone, and hashes to see whether anything changed */
#ifndef SCHED_MODEL_TREE_H
#define SCHED_MODEL_TREE_H

#include "json/json.h"

/* A deep copy with its text, in 'a'; NULL stays NULL. 'type': NULL too if it is something else. */
struct json *tree_keep(struct arena *a, const struct json *j, enum json_type type);

/* Never 0. Members in any order give the same hash, lists do not. Members of the top object that are in 'skip'
 * (NULL-terminated; may be NULL) do not count. */
uint64_t tree_hash(const struct json *j, const char *const *skip);

/* Mix another hash, or a text, into one. */
uint64_t hash_mix(uint64_t h, uint64_t more);
uint64_t hash_text(uint64_t h, struct str text);

/* Several texts in one piece of memory: text_pack(&mem, list, n) copies them and lets the list point at the copies. */
void text_pack(char **mem, struct str *const list[], size_t n);

/* Labels from their text in a pod or role ("key=value" lines, model.h), as an object. */
struct json *labels_json(struct arena *a, struct str text);

#endif
