/* yaml.h - YAML manifests to JSON trees and back
 *
 * Reads what Kubernetes reads: YAML 1.1 scalar rules (yes, y, on, 0777, 1e3, ~; quoted text stays text), several
 * documents in one stream, anchors and aliases, merge keys (<<). Text is UTF-8. JSON is read too: it is YAML.
 *
 * Numbers become JSON number text, exact and in the form Kubernetes prints: 1e3 is 1000, 0x1F is 31, 1.50 is 1.5. A
 * number beyond the range of float64 is text, as it is for Kubernetes; .inf and .nan are errors. Tags !!str !!int
 * !!float !!bool !!null !!binary are honoured; a scalar with any other tag is text; tags of lists and mappings mean
 * nothing. One difference to Kubernetes: a key written in a mapping wins over a merged one wherever the '<<' stands.
 *
 * Positions ('line', 'col', from 1): a member has that of its key, a list item or document that of its value. What an
 * alias stands for keeps the positions of the original below its first node. A document that is JSON throughout is read
 * by json_parse(): there a member has the position json_parse() gives it.
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
    size_t max_bytes; /* of input, and of text that aliases stand for; 0: 64 MiB */
    size_t max_depth; /* after expansion; 0: 256 */
    size_t max_nodes; /* after expansion; 0: 4 million, or 64 for each input byte if that is less (at least 10,000) */
    /* Called for each key that stands twice in one mapping; the last wins. NULL: a duplicate key is an error. */
    void (*on_duplicate)(void *ctx, struct json_duplicate dup);
    void *ctx;
    struct json_spot *ret_spot; /* of an error, which does not begin with its place then */
};

struct yaml_docs { /* documents in order; empty documents (nothing between ---) are left out */
    struct json **v;
    size_t n, cap;
};

/* Read a whole stream. Text is copied into 'a' as needed; 'text' need not outlive the call. Keys that are not text
 * (1:, yes:, 0x10:) become the text Kubernetes' reader makes of them ("1", "true", "16"); null, a mapping or a list as
 * key is an error. 'opt' may be NULL. Errors: ERR_SYNTAX "job.yaml: line 3, column 7: …", ERR_INVALID for what can be
 * read but not taken (a duplicate key, an unknown alias), ERR_TOO_BIG. */
int yaml_parse(struct arena *a, struct str text, const struct yaml_options *opt, struct yaml_docs *ret, struct err *e);

/* Called for each member and list item 'j'; whatever it returns is written as a comment " # text". Empty: none. The
 * comment stands on the line of the value, behind "key:" if the value is a list or mapping below it, behind the '|' of
 * text with several lines. A list item that is itself a list or mapping has its comment on its first line, unless what
 * else begins on that line has one. Line breaks and control characters become blanks. */
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
