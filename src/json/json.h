/* json.h - JSON documents as trees in an arena
 *
 * Everything in the program that is a Kubernetes object is such a tree. Nodes and their text live in an arena and die
 * with it. Text is borrowed, not copied: a node made by json_str() or json_parse() points at the caller's bytes, which
 * must live as long as the tree (use arena_str() first if they do not).
 *
 * Children form a list in the order of the document: walk with JSON_FOREACH, append in constant time. Object members
 * carry their key. Looking up a member walks the list, which is fast for the objects Kubernetes has.
 *
 * Numbers keep their text: 1.0 stays "1.0" and 9007199254740993 stays exact.
 *
 * 'line' and 'col' say where a node began in its file (from 1; 0: it was made by the program). 'mark' is one byte for
 * the program's own use, kept by json_copy() and ignored by json_equal(): rendering uses it to remember who wrote a
 * node.
 */
#ifndef JSON_JSON_H
#define JSON_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum json_type {
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
    JSON_TYPE_MAX,
};

struct json {
    struct json *next; /* sibling */
    const char *key;   /* member of an object: its key, else NULL */
    uint32_t key_n;
    uint32_t n; /* bytes of text, or number of children, or the truth value of a bool */
    union {
        const char *text;   /* string (unescaped) or number (as written) */
        struct json *first; /* children */
    };
    struct json *last; /* children */
    uint32_t line;
    uint16_t col;
    uint8_t type;      /* enum json_type */
    uint8_t flags : 2; /* JSON_PLAIN_* */
    uint8_t mark : 6;
};

/* Known to need no escaping when printed; only a parser sets them. */
enum { JSON_PLAIN_TEXT = 1, JSON_PLAIN_KEY = 2 };

/* "null", "boolean", "number", "string", "list", "object": what a user calls it. */
const char *json_type_name(enum json_type type);

/* ---- looking ---- */

#define JSON_FOREACH(item, tree)                                                                                       \
    for (struct json *item = json_first(tree); item; item = item->next) /* NULL and scalars have no children */

static inline bool json_is(const struct json *j, enum json_type type)
{
    return j && j->type == type;
}
static inline struct json *json_first(const struct json *j)
{
    return j && j->type >= JSON_ARRAY ? j->first : NULL;
}
static inline size_t json_count(const struct json *j)
{
    return j && j->type >= JSON_ARRAY ? j->n : 0;
}
static inline struct str json_key(const struct json *j)
{
    return (struct str){ j->key, j->key_n };
}

/* The member of an object (the last, if the key is there twice), the element of an array; NULL if there is none, also
 * when 'j' is NULL or another type. So json_get(json_get(pod, "spec"), "containers") needs no checks between. */
struct json *json_get_str(const struct json *j, struct str key);
static inline struct json *json_get(const struct json *j, const char *key) /* here: the compiler knows most lengths */
{
    return json_get_str(j, str_of(key));
}
struct json *json_at(const struct json *j, size_t index);

/* Walk down by member names, the last argument NULL: json_find(pod, "spec", "containers", NULL). */
struct json *json_find(const struct json *j, ...) __attribute__((sentinel));

/* Values, with a fallback for a missing node or another type. */
static inline struct str json_text(const struct json *j, struct str fallback) /* strings only */
{
    return json_is(j, JSON_STRING) ? (struct str){ j->text, j->n } : fallback;
}
bool json_bool(const struct json *j, bool fallback);
int64_t json_i64(const struct json *j, int64_t fallback); /* numbers with an integer value: 3, 3.0, 3e2 */

/* Exact integer value of a number node. -1 if it is no number, has a fraction or does not fit. */
int json_to_i64(const struct json *j, int64_t *ret);
bool json_is_zero(const struct json *j); /* NULL, null, 0, "", false, [] or {}: what Go calls the zero value */

/* Text of a string member: json_member_text(meta, "name") is empty when missing. */
static inline struct str json_member_text(const struct json *j, const char *key)
{
    return json_text(json_get(j, key), STR_NULL);
}

bool json_equal(const struct json *a, const struct json *b); /* members in any order; numbers by value: 1 = 1.0 */

/* ---- making ---- */

struct json *json_null(struct arena *a);
struct json *json_bool_new(struct arena *a, bool v);
struct json *json_int(struct arena *a, int64_t v);
struct json *json_str(struct arena *a, struct str text);
struct json *json_fmt(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct json *json_array(struct arena *a);
struct json *json_object(struct arena *a);

/* A deep copy; key, marks and positions come along. Text is shared with the original. NULL of NULL. */
struct json *json_copy(struct arena *a, const struct json *j);

/* The same with text of its own: the original may go before the copy does. */
struct json *json_clone(struct arena *a, const struct json *j);

/* ---- changing ---- a node is in one tree at most; 'take' becomes part of 'j' ----
 *
 * Documents come from outside, so a node may be of any type. Where 'j' is not what can take it (an object for members,
 * an array for elements; NULL is neither), or 'take' is NULL, nothing changes and the result is NULL: calls can be
 * nested without checks between. It is a mistake of the program all the same, since it meant to change something:
 * json_refused() counts them, /metrics of a server shows the count, and tests expect 0. */
uint64_t json_refused(void);

/* Set a member: replaced in place if it is there, appended if not. The key's bytes are borrowed. Returns 'take'. */
struct json *json_set_key(struct json *j, struct str key, struct json *take);
static inline struct json *json_set(struct json *j, const char *key, struct json *take)
{
    return json_set_key(j, str_of(key), take);
}

/* Append a member without looking for an equal key: for building, when the key is known to be new. */
struct json *json_add(struct json *j, struct str key, struct json *take);

/* Append a copy of each member of 'from' (NULL or no object: none) whose key 'j' lacks. */
void json_add_missing(struct arena *a, struct json *j, const struct json *from);

/* Append to an array; insert before 'index' (at the end if it is beyond). Returns 'take'. */
struct json *json_push(struct json *j, struct json *take);
struct json *json_insert(struct json *j, size_t index, struct json *take);

/* Take a node out of its parent. json_remove: every member of that key; false if there was none. */
bool json_remove_key(struct json *j, struct str key);
static inline bool json_remove(struct json *j, const char *key)
{
    return json_remove_key(j, str_of(key));
}
void json_unlink(struct json *parent, struct json *child);

/* Replace 'old' by 'take' at the same place (key and all). */
void json_replace(struct json *parent, struct json *old, struct json *take);

/* The member as an object/array: made and appended if it is missing, made in place if it is null. NULL if it is
 * another type, or if 'j' is NULL or no object. */
struct json *json_need_object(struct arena *a, struct json *j, const char *key);
struct json *json_need_array(struct arena *a, struct json *j, const char *key);

/* Sort members by key (bytes), as Kubernetes prints maps. Deep: everything below too. */
void json_sort_keys(struct json *j, bool deep);

/* Stamp 'mark' on a node and all below it. Returns the node; NULL is fine. */
struct json *json_mark(struct json *j, uint8_t mark);

/* ---- text ---- */

struct json_limits {
    size_t max_bytes; /* of input; 0: 64 MiB; at most 4 GiB */
    size_t max_depth; /* of nesting; 0: 256; at most 4096 */
};

struct json_spot { /* 0, 0: unknown */
    uint32_t line, col;
};

struct json_duplicate { /* a key that stood twice in one object */
    struct str key;
    uint32_t line, col; /* of the later key */
    struct str path;    /* of the object, "spec.containers[0]"; empty: the whole document, or it is YAML. Until the call
                           returns */
};

struct json_parse_options {
    struct json_limits limits;
    /* Called for each key that was there before, when its object ends. The last value wins and stands where the first
     * one stood. NULL: a duplicate key is an error. */
    void (*on_duplicate)(void *ctx, struct json_duplicate dup);
    void *ctx;
    struct json_spot *ret_spot; /* of an error, which does not begin with its place then */
};

/* Strict RFC 8259, one value and white space. 'text' is borrowed by the tree. 'opt' may be NULL (defaults).
 * Where the standard leaves a choice: no byte order mark, no invalid UTF-8, no lone surrogate in \u escapes; \u0000
 * is a character like any other; numbers of any size and length are kept as written. Columns count bytes from 1.
 * Errors: ERR_SYNTAX "line 3, column 7: expected ':'", ERR_TOO_BIG. */
int json_parse(struct arena *a, struct str text, const struct json_parse_options *opt, struct json **ret,
               struct err *e);

/* Compact ("{"a":1}") or pretty (indent of 'indent' blanks, as kubectl prints with 4). No newline at the end. */
void json_print(struct buf *out, const struct json *j);
void json_print_pretty(struct buf *out, const struct json *j, unsigned indent);

/* A JSON string literal, quotes included. Invalid UTF-8 becomes U+FFFD. */
void json_print_str(struct buf *out, struct str text);

/* ---- pointers and paths ---- */

/* RFC 6901: "/spec/containers/0". "" is the whole document. NULL with an error if there is no such node. */
struct json *json_pointer(struct json *root, struct str pointer, struct err *e);

/* What users write and error messages say: "spec.tasks[0].template.metadata.labels[app.kubernetes.io/name]".
 * ERR_SYNTAX for a bad path, ERR_NOT_FOUND if there is no such node. */
struct json *json_path(struct json *root, struct str path, struct err *e);

#endif
