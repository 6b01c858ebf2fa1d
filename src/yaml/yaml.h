/* yaml.h - YAML manifests to JSON trees and back
 *
 * Reads what Kubernetes reads: YAML 1.1 scalar rules (yes, on, 0777, 1e3, ~; quoted text stays text), several
 * documents in one stream, anchors and aliases, merge keys (<<). Text is UTF-8. JSON is read too: it is YAML.
 *
 * Aliases are expanded by copying, and the number of nodes a stream may expand to is limited, so that a file that
 * multiplies itself ("billion laughs") is refused with ERR_TOO_BIG instead of filling the memory.
 */
#ifndef YAML_YAML_H
#define YAML_YAML_H

#include "base/vec.h"
#include "json/json.h"

struct yaml_options {
    const char *file; /* for messages: "job.yaml: line 3, column 7: …"; NULL: no file name */
    size_t max_bytes; /* of input; 0: 64 MiB */
    size_t max_depth; /* 0: 256 */
    size_t max_nodes; /* after expansion; 0: 4 million, or 64 for each input byte if that is less (at least 10,000) */
    /* Called for each key that stands twice in one mapping; the last wins. NULL: a duplicate key is an error. */
    void (*on_duplicate)(void *ctx, struct json_duplicate dup);
    void *ctx;
};

struct yaml_docs { /* documents in order; empty documents (nothing between ---) are left out */
    struct json **v;
    size_t n, cap;
};

/* Read a whole stream. Text is copied into 'a' as needed; 'text' need not outlive the call. Keys that are not text
 * (1:, true:, null:) become their text as Kubernetes' reader makes it; a mapping or list as key is an error. */
int yaml_parse(struct arena *a, struct str text, const struct yaml_options *opt, struct yaml_docs *ret, struct err *e);

/* Called before the end of a line that shows 'j' (a member or list item); whatever it returns is written as a
 * comment " # text". Empty: none. */
typedef struct str (*yaml_comment_f)(void *ctx, const struct json *j);

struct yaml_print_options {
    yaml_comment_f comment;
    void *ctx;
};

/* Print one document in block style, as kubectl does: two blanks, lists not indented below their key, several lines
 * of text as a literal block (|), text that reads as something else quoted. Ends with a newline. What it prints
 * parses back to an equal tree. No "---". 'opt' may be NULL. */
void yaml_print(struct buf *out, const struct json *j, const struct yaml_print_options *opt);

#endif
