/* members.h - the members of an object by key
 *
 * Answers "which member has this key?" without walking a large object each time: a merge of two objects must not cost
 * their product. Zero is valid and empty.
 */
#ifndef JSON_MEMBERS_H
#define JSON_MEMBERS_H

#include "json/json.h"

struct json_members {
    const struct json *object;
    struct json **sorted; /* NULL: few members, walking is faster */
};

#define autojson_members __attribute__((cleanup(json_members_done))) struct json_members

/* 'n_lookups' is how often the caller is going to ask. 'j' may be NULL or no object: then nothing is found. */
void json_members_init(struct json_members *ms, const struct json *j, size_t n_lookups);
void json_members_done(struct json_members *ms);
struct json *json_members_get(const struct json_members *ms, struct str key); /* the last, if there are several */

#endif
