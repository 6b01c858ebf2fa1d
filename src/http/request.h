/* request.h - the text of an HTTP/1.1 request, read strictly
 *
 * Pure: bytes in, meaning or a status out. Ambiguous text is refused, since a proxy between the client and us may
 * read it in another way: bare line feeds, folded lines, blanks before a colon, two lengths, a length
 * and chunks, signs in numbers, extensions of chunks, trailers.
 */
#ifndef HTTP_REQUEST_H
#define HTTP_REQUEST_H

#include "base/buf.h"

enum { HTTP_FIELDS_MAX = 100 };

/* ---- the head ---- */

enum http_scan { HTTP_SCAN_MORE, HTTP_SCAN_END, HTTP_SCAN_BAD };

/* Look for the end of the head. '*at' begins with 0 and says how far was looked; after HTTP_SCAN_END it is the length
 * of the head with the empty line that ends it. HTTP_SCAN_BAD: no further byte can make a head of this. */
enum http_scan http_head_scan(struct str bytes, size_t *at);

struct http_head { /* all text is in the text that was parsed */
    struct str method, path, query;
    struct str fields; /* all lines of the form "Name: value" CR LF, checked */
    uint64_t length;   /* of the body, where it is not chunked */
    bool is_chunked, is_http10, keeps_alive, expects_continue;
};

/* 'text' is a head as http_head_scan() found it. 0, or the status to refuse it with: 400, 417, 431, 501, 505. */
int http_head_parse(struct str text, struct http_head *ret);

/* Walk the values of one name, without blanks around them; letter case does not count. '*at' begins with 0. */
bool http_fields_next(struct str fields, struct str name, size_t *at, struct str *ret);

/* Walk all of them. */
bool http_fields_each(struct str fields, size_t *at, struct str *ret_name, struct str *ret_value);

/* Is 'word' one of a list with commas? Letter case does not count. */
bool http_list_has(struct str list, struct str word);

/* ---- a chunked body ---- */

struct http_chunks { /* zeroed: at the beginning */
    unsigned state;
    unsigned digits;
    uint64_t left; /* of the chunk */
    bool is_done;
};

/* Append what 'in' holds of the body to 'out', up to the end of the body. Returns how many bytes were used, or minus
 * the status to refuse it with: 400; 413 when the body is longer than 'max'. */
ptrdiff_t http_chunks_take(struct http_chunks *c, struct str in, size_t max, struct buf *out);

#endif
