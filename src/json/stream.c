/* stream.c - documents that arrive in pieces
 *
 * Items: brackets are counted outside of texts. The list is at depth 2, as the value of the key "items" at depth 1; an
 * item is whatever lies between its commas. Texts are passed over at full speed.
 */
#include "json/stream.h"

#include "base/util.h"
#include "json/json_internal.h"

void json_items_init(struct json_items *s, json_text_f *on_item, void *ctx, size_t max_bytes)
{
    *s = (struct json_items){ .on_item = on_item, .ctx = ctx, .max_bytes = max_bytes };
}

void json_items_done(struct json_items *s)
{
    buf_done(&s->item);
    buf_done(&s->rest);
    buf_done(&s->key);
}

/* ---- items ---- */

static bool is_in_list(const struct json_items *s)
{
    return s->is_items && s->depth >= 2;
}

static int stream_keep(struct json_items *s, struct buf *b, const char *from, const char *to, struct err *e)
{
    if (b->n + (size_t)(to - from) > s->max_bytes)
        return err_set(e, ERR_TOO_BIG, "%s has more than %zu bytes",
                       b == &s->item ? "an object of the list" : "the list", s->max_bytes);
    buf_append(b, from, (size_t)(to - from));
    return 0;
}

/* From 'from' to 'to' is the end of an item, the beginning of which may be kept. */
static int item_ends(struct json_items *s, const char *from, const char *to, struct err *e)
{
    struct str text = { from, (size_t)(to - from) };

    if (s->item.n) {
        if (stream_keep(s, &s->item, from, to, e) < 0)
            return -1;
        text = buf_view(&s->item);
    }
    text = str_trim(text);
    if (text.n > s->max_bytes)
        return err_set(e, ERR_TOO_BIG, "an object of the list has more than %zu bytes", s->max_bytes);
    if (text.n)
        s->on_item(s->ctx, text);
    buf_reset(&s->item);
    return 0;
}

/* Inside a text: to its end, or to the end of the piece. */
static const char *pass_text(struct json_items *s, const char *p, const char *end)
{
    bool high = false;

    if (s->is_escaped && p < end) {
        s->is_escaped = false;
        p++;
    }
    while ((p = json_scan(p, end, &high)) < end && *p != '"') {
        if (*p == '\\' && p + 1 == end) {
            s->is_escaped = true;
            return end;
        }
        p += *p == '\\' ? 2 : 1;
    }
    return p;
}

/* A text at depth 1: is it the key we look for? Long ones are not kept whole. */
static void note_key(struct json_items *s, const char *from, const char *to)
{
    size_t n = MIN_OF((size_t)(to - from), 16u);

    if (s->depth == 1 && s->key.n < 16)
        buf_append(&s->key, from, n);
}

static int close_bracket(struct json_items *s, const char **from, const char *p, struct err *e)
{
    if (s->depth == 0)
        return err_set(e, ERR_SYNTAX, "unexpected closing bracket in a list");
    if (is_in_list(s) && s->depth == 2) {
        if (item_ends(s, *from, p, e) < 0)
            return -1;
        *from = p;
        s->is_items = false;
    }
    s->depth--;
    s->is_over = s->depth == 0;
    return 0;
}

static int open_bracket(struct json_items *s, const char **from, const char *p, struct err *e)
{
    s->depth++;
    if (s->depth == 1)
        s->is_key = true;
    if (s->depth != 2)
        return 0;
    s->is_items = s->is_items && *p == '[';
    if (!s->is_items)
        return 0;
    if (stream_keep(s, &s->rest, *from, p + 1, e) < 0)
        return -1;
    *from = p + 1;
    return 0;
}

/* One byte outside of texts. */
static int json_stream_take(struct json_items *s, const char **from, const char *p, struct err *e)
{
    switch (*p) {
    case '"':
        s->is_text = true;
        buf_reset(&s->key);
        return 0;
    case '{':
    case '[':
        return open_bracket(s, from, p, e);
    case '}':
    case ']':
        return close_bracket(s, from, p, e);
    case ':':
        if (s->depth == 1) {
            s->is_items = s->is_key && str_is(buf_view(&s->key), "items");
            s->is_key = false;
        }
        return 0;
    case ',':
        if (s->depth == 1)
            s->is_key = true;
        if (!is_in_list(s) || s->depth != 2)
            return 0;
        if (item_ends(s, *from, p, e) < 0)
            return -1;
        *from = p + 1;
        return 0;
    default:
        return 0;
    }
}

int json_items_feed(struct json_items *s, struct str piece, struct err *e)
{
    const char *p = piece.p, *end = piece.p + piece.n,
               *from = p; /* from there on it belongs to an item, or to the rest */

    while (p < end) {
        if (s->is_text) {
            const char *start = p;

            p = pass_text(s, p, end);
            note_key(s, start, p);
            if (p < end) {
                s->is_text = false;
                p++;
            }
            continue;
        }
        if (json_stream_take(s, &from, p, e) < 0)
            return -1;
        p++;
    }
    if (from == end)
        return 0;
    return stream_keep(s, is_in_list(s) ? &s->item : &s->rest, from, end, e);
}

int json_items_end(struct json_items *s, struct str *ret_rest, struct err *e)
{
    if (!s->is_over)
        return err_set(e, ERR_SYNTAX, "the list is truncated");
    *ret_rest = buf_view(&s->rest);
    return 0;
}

/* ---- lines ---- */

void json_lines_init(struct json_lines *s, json_text_f *on_line, void *ctx, size_t max_bytes)
{
    *s = (struct json_lines){ .on_line = on_line, .ctx = ctx, .max_bytes = max_bytes };
}

void json_lines_done(struct json_lines *s)
{
    buf_done(&s->part);
}

int json_lines_feed(struct json_lines *s, struct str piece, struct err *e)
{
    struct str line;

    while (piece.n) {
        const char *newline = memchr(piece.p, '\n', piece.n);
        size_t n = newline ? (size_t)(newline - piece.p) : piece.n;

        if (s->part.n + n > s->max_bytes)
            return err_set(e, ERR_TOO_BIG, "an event has more than %zu bytes", s->max_bytes);
        line = str_sub(piece, 0, n);
        piece = str_from(piece, n + (newline != NULL));
        if (s->part.n || !newline) {
            buf_str(&s->part, line);
            line = buf_view(&s->part);
        }
        if (!newline)
            return 0;
        line = str_trim(line);
        if (line.n)
            s->on_line(s->ctx, line);
        buf_reset(&s->part);
    }
    return 0;
}
