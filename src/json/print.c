/* print.c - a tree to JSON text
 *
 * Output goes straight into the buffer's memory: room is made once for each piece, and the buffer learns its new length
 * at the end. Text that a parser found plain is copied as it is.
 */
#include "json/json.h"

#include "base/util.h"
#include "json/json_internal.h"

struct print_printer {
    struct buf *out;
    char *at, *end; /* free part of 'out'; a NUL still fits at 'end' */
    bool is_pretty;
    unsigned indent;
};

static __attribute__((noinline)) void grow(struct print_printer *pr, size_t n)
{
    pr->out->n = (size_t)(pr->at - pr->out->p);
    pr->at = buf_reserve(pr->out, n);
    pr->end = pr->out->p + pr->out->cap - 1;
}

static inline void print_need(struct print_printer *pr, size_t n)
{
    if ((size_t)(pr->end - pr->at) < n)
        grow(pr, n);
}

/* Most pieces are shorter than 17 bytes, where two overlapping words beat a call of memcpy. */
static inline void print_put(struct print_printer *pr, const char *p, size_t n)
{
    char *at = pr->at;

    if (n > 16) {
        memcpy(at, p, n);
    } else if (n >= 8) {
        memcpy(at, p, 8);
        memcpy(at + n - 8, p + n - 8, 8);
    } else if (n >= 4) {
        memcpy(at, p, 4);
        memcpy(at + n - 4, p + n - 4, 4);
    } else if (n) {
        at[0] = p[0];
        at[n / 2] = p[n / 2];
        at[n - 1] = p[n - 1];
    }
    pr->at = at + n;
}

static inline void put_piece(struct print_printer *pr, const char *p, size_t n)
{
    print_need(pr, n);
    print_put(pr, p, n);
}

size_t json_utf8_len(const char *p, const char *end)
{
    unsigned char c = (unsigned char)*p;
    size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

    return (size_t)(end - p) >= n && str_is_utf8((struct str){ p, n }) ? n : 0;
}

static void put_escape(struct print_printer *pr, unsigned char c)
{
    static const char digits[] = "0123456789abcdef", short_form[] = "btn?fr"; /* 0x08 to 0x0d */

    if (c == '"' || c == '\\')
        put_piece(pr, (char[]){ '\\', (char)c }, 2);
    else if (c >= '\b' && c <= '\r' && c != '\v')
        put_piece(pr, (char[]){ '\\', short_form[c - '\b'] }, 2);
    else
        put_piece(pr, (char[]){ '\\', 'u', '0', '0', digits[c >> 4], digits[c & 15] }, 6);
}

/* A run without anything to escape; what is not UTF-8 becomes U+FFFD, one for each byte. */
static void put_run(struct print_printer *pr, const char *p, const char *end, bool high)
{
    if (!high || str_is_utf8((struct str){ p, (size_t)(end - p) })) {
        put_piece(pr, p, (size_t)(end - p));
        return;
    }
    while (p < end) {
        size_t n = json_utf8_len(p, end);

        if (n)
            put_piece(pr, p, n);
        else
            put_piece(pr, "\xef\xbf\xbd", 3);
        p += n ? n : 1;
    }
}

static void put_text_slow(struct print_printer *pr, const char *p, const char *end)
{
    put_piece(pr, "\"", 1);
    while (p < end) {
        bool high = false;
        const char *stop = json_scan(p, end, &high);

        put_run(pr, p, stop, high);
        if (stop < end)
            put_escape(pr, (unsigned char)*stop++);
        p = stop;
    }
    put_piece(pr, "\"", 1);
}

static inline bool is_plain_word(const char *p)
{
    uint64_t w;

    memcpy(&w, p, 8);
    return !json_word_stops(w) && !(w & 0x8080808080808080u);
}

/* ASCII with nothing to escape, as most texts of the program's own are: the same inside of quotes. */
static bool is_plain_text(const char *p, size_t n)
{
    char room[9] = "        ";

    if (n < 8)
        return is_plain_word(n ? memcpy(room, p, n) : room);
    for (size_t i = 0; i + 8 < n; i += 8)
        if (!is_plain_word(p + i))
            return false;
    return is_plain_word(p + n - 8); /* which may overlap the one before */
}

static inline void print_put_text(struct print_printer *pr, const char *p, size_t n, bool is_plain)
{
    if (!is_plain && !is_plain_text(p, n)) {
        put_text_slow(pr, p, n ? p + n : p);
        return;
    }
    print_need(pr, n + 2);
    *pr->at++ = '"';
    print_put(pr, p, n);
    *pr->at++ = '"';
}

static void print_put_line(struct print_printer *pr, size_t depth)
{
    size_t n = depth * pr->indent;

    print_need(pr, n + 1);
    *pr->at++ = '\n';
    memset(pr->at, ' ', n);
    pr->at += n;
}

static void print_node(struct print_printer *pr, const struct json *j, size_t depth);

static void print_children(struct print_printer *pr, const struct json *j, size_t depth)
{
    static const char brackets[2][2] = { "[]", "{}" };
    const char *pair = brackets[j->type == JSON_OBJECT];

    if (!j->first) {
        put_piece(pr, pair, 2);
        return;
    }
    put_piece(pr, pair, 1);
    for (const struct json *c = j->first; c; c = c->next) {
        if (pr->is_pretty)
            print_put_line(pr, depth + 1);
        if (j->type == JSON_OBJECT) {
            print_put_text(pr, c->key, c->key_n, c->flags & JSON_PLAIN_KEY);
            put_piece(pr, ": ", pr->is_pretty ? 2 : 1);
        }
        print_node(pr, c, depth + 1);
        if (c->next)
            put_piece(pr, ",", 1);
    }
    if (pr->is_pretty)
        print_put_line(pr, depth);
    put_piece(pr, pair + 1, 1);
}

static void print_node(struct print_printer *pr, const struct json *j, size_t depth)
{
    switch ((enum json_type)j->type) {
    case JSON_STRING:
        print_put_text(pr, j->text, j->n, j->flags & JSON_PLAIN_TEXT);
        break;
    case JSON_NUMBER:
        put_piece(pr, j->text, j->n);
        break;
    case JSON_BOOL:
        put_piece(pr, j->n ? "true" : "false", j->n ? 4 : 5);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        print_children(pr, j, depth);
        break;
    case JSON_NULL:
    case JSON_TYPE_MAX:
        put_piece(pr, "null", 4);
        break;
    }
}

static struct print_printer printer_open(struct buf *out)
{
    char *at = buf_reserve(out, 0);

    return (struct print_printer){ .out = out, .at = at, .end = out->p + out->cap - 1 };
}

static void printer_close(struct print_printer *pr)
{
    pr->out->n = (size_t)(pr->at - pr->out->p);
    *pr->at = '\0';
}

static void print_print(struct print_printer pr, const struct json *j)
{
    if (j)
        print_node(&pr, j, 0);
    else
        put_piece(&pr, "null", 4);
    printer_close(&pr);
}

void json_print(struct buf *out, const struct json *j)
{
    print_print(printer_open(out), j);
}

void json_print_pretty(struct buf *out, const struct json *j, unsigned indent)
{
    struct print_printer pr = printer_open(out);

    pr.is_pretty = true;
    pr.indent = indent;
    print_print(pr, j);
}

void json_print_str(struct buf *out, struct str text)
{
    struct print_printer pr = printer_open(out);

    put_text_slow(&pr, text.p, text.n ? text.p + text.n : text.p);
    printer_close(&pr);
}
