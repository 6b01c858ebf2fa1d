/* stream.h - documents that arrive in pieces: lists item by item, and one document on each line
 *
 * A list of ten thousand objects is not to be in memory at once, and a watch never ends. Both take pieces cut anywhere
 * and hand over the text of each document once it is whole; what lies in one piece is handed over in place, without a
 * copy. Nothing is parsed here beyond what tells where a document ends.
 */
#ifndef JSON_STREAM_H
#define JSON_STREAM_H

#include "base/buf.h"
#include "base/err.h"

typedef void json_text_f(void *ctx, struct str text); /* the text is borrowed until it returns */

/* ---- { "metadata": …, "items": [ …, … ] } ---- */

struct json_items {
    json_text_f *on_item;
    void *ctx;
    size_t max_bytes; /* of one item, and of all that is around them */
    /* private */
    struct buf item, rest, key;
    size_t depth;
    bool is_text, is_escaped; /* inside a text; behind a backslash */
    bool is_key, is_items;    /* the last text stands where a key does; it was "items", or we are inside of it */
    bool is_over;
};

void json_items_init(struct json_items *s, json_text_f *on_item, void *ctx, size_t max_bytes);
void json_items_done(struct json_items *s);

/* ERR_TOO_BIG, ERR_SYNTAX; after an error only free it. */
int json_items_feed(struct json_items *s, struct str piece, struct err *e);

/* The end: what was around the items, as a document with an empty list. ERR_SYNTAX if that is not the end of it. */
int json_items_end(struct json_items *s, struct str *ret_rest, struct err *e);

/* ---- one document on each line ---- */

struct json_lines {
    json_text_f *on_line; /* not called for empty lines */
    void *ctx;
    size_t max_bytes; /* of one line */
    struct buf part;  /* private: of a line that goes on */
};

void json_lines_init(struct json_lines *s, json_text_f *on_line, void *ctx, size_t max_bytes);
void json_lines_done(struct json_lines *s);
int json_lines_feed(struct json_lines *s, struct str piece, struct err *e); /* ERR_TOO_BIG */

#endif
