/* parse.c - JSON text to a tree
 *
 * Strict RFC 8259, by recursive descent with a limit on the depth. The position travels as an argument and comes back
 * as the result (NULL: failed, 'e' is set), so that it stays in a register. Text without escapes is not copied. A
 * newline can only stand between tokens, so lines are counted where white space is skipped and nowhere else.
 *
 * Duplicate keys: a small object remembers 64 bits of the keys it has seen; only when a bit repeats are keys compared.
 * An object of more than SMALL_OBJECT members is checked when it ends, by sorting.
 *
 * With a mask (mask.h) members that are not wanted are run over: brackets are counted and texts passed, nothing else is
 * looked at.
 */
#include "json/json.h"

#include "base/util.h"
#include "json/json_internal.h"
#include "json/mask.h"

enum { SMALL_OBJECT = 16, BYTES_DEFAULT = 64 * 1024 * 1024 };

struct parse_frame { /* an object or a list that is being read */
    const struct parse_frame *up;
    const struct json *node;
};

struct parser {
    const char *start, *end;
    const char *line_start;
    uint32_t line;
    size_t depth_left, max_depth;
    const struct json_parse_options *opt;
    const struct json_mask *mask; /* of the value that comes next; NULL: all of it */
    struct arena *arena;
    struct err *e;
    const struct parse_frame *frame; /* the innermost */
};

/* ---- errors ---- */

static int fail_spot(struct parser *ps, enum err_code code, struct json_spot spot, const char *what)
{
    if (!ps->opt->ret_spot)
        return err_set(ps->e, code, "line %u, column %u: %s", spot.line, spot.col, what);
    *ps->opt->ret_spot = spot;
    return err_set(ps->e, code, "%s", what);
}

static const char *fail_code(struct parser *ps, const char *p, enum err_code code, const char *what)
{
    fail_spot(ps, code, (struct json_spot){ ps->line, (uint32_t)(p - ps->line_start) + 1 }, what);
    return NULL;
}

static const char *parse_fail(struct parser *ps, const char *p, const char *what)
{
    return fail_code(ps, p, ERR_SYNTAX, what);
}

/* What people bring along from other notations. */
static const char *parse_hint(const char *p, const char *start)
{
    switch (*p) {
    case '\'':
        return "; JSON text needs double quotes";
    case '/':
    case '#':
        return "; JSON has no comments";
    case '+':
        return "; a JSON number has no plus sign";
    case '.':
        return "; a JSON number needs a digit before the point";
    case 'N':
    case 'I':
        return "; JSON has no NaN and no Infinity";
    case 'T':
    case 'F':
        return "; JSON writes true, false and null in small letters";
    case ']':
    case '}':
        while (p > start && (p[-1] == ' ' || p[-1] == '\n' || p[-1] == '\r' || p[-1] == '\t'))
            p--;
        return p > start && p[-1] == ',' ? "; remove the comma before it" : "";
    default:
        return "";
    }
}

static const char *fail_expected(struct parser *ps, const char *p, const char *expected)
{
    char what[160], found[32];
    unsigned char c = p < ps->end ? (unsigned char)*p : 0;

    if (p == ps->end)
        (void)snprintf(found, sizeof(found), "the end of the input");
    else if (c > ' ' && c < 0x7f)
        (void)snprintf(found, sizeof(found), "'%c'", c);
    else
        (void)snprintf(found, sizeof(found), "byte 0x%02x", c);
    (void)snprintf(what, sizeof(what), "expected %s, found %s%s", expected, found,
                   p < ps->end ? parse_hint(p, ps->start) : "");
    return parse_fail(ps, p, what);
}

/* ---- tokens ---- */

static inline const char *skip_space(struct parser *ps, const char *p)
{
    for (; p < ps->end; p++) {
        if ((unsigned char)*p > ' ')
            return p;
        if (*p == '\n') {
            ps->line++;
            ps->line_start = p + 1;
        } else if (*p != ' ' && *p != '\t' && *p != '\r') {
            return p;
        }
    }
    return p;
}

static inline bool parse_is_digit(const struct parser *ps, const char *p)
{
    return p < ps->end && *p >= '0' && *p <= '9';
}

static const char *parse_number(struct parser *ps, const char *p, struct json *j)
{
    const char *start = p;

    p += *p == '-';
    if (!parse_is_digit(ps, p))
        return fail_expected(ps, p, "a digit after '-'");
    if (*p == '0' && parse_is_digit(ps, p + 1))
        return parse_fail(ps, p, "a number must not begin with 0");
    while (parse_is_digit(ps, p))
        p++;
    if (p < ps->end && *p == '.') {
        if (!parse_is_digit(ps, ++p))
            return fail_expected(ps, p, "a digit after '.'");
        while (parse_is_digit(ps, p))
            p++;
    }
    if (p < ps->end && (*p == 'e' || *p == 'E')) {
        p++;
        p += p < ps->end && (*p == '+' || *p == '-');
        if (!parse_is_digit(ps, p))
            return fail_expected(ps, p, "a digit in the exponent");
        while (parse_is_digit(ps, p))
            p++;
    }
    j->type = JSON_NUMBER;
    j->text = start;
    j->n = (uint32_t)(p - start);
    return p;
}

static const char *parse_word(struct parser *ps, const char *p, const char *word, struct json *j)
{
    size_t i = 0;

    for (; word[i]; i++) {
        char expected[16];

        if (p + i < ps->end && p[i] == word[i])
            continue;
        (void)snprintf(expected, sizeof(expected), "'%s'", word);
        return fail_expected(ps, p + i, expected);
    }
    j->type = *word == 'n' ? JSON_NULL : JSON_BOOL;
    j->n = *word == 't';
    return p + i;
}

/* ---- text ---- */

struct parse_text {
    const char *p;
    uint32_t n;
    bool is_plain;
};

/* Four hex digits at 'p', or -1. */
static long hex4(const char *p, const char *end)
{
    long v = 0;

    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(p[i]);

        if (digit < 0)
            return -1;
        v = v * 16 + digit;
    }
    return v;
}

static char *put_utf8(char *out, long c)
{
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    } else {
        *out++ = (char)(0xf0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 0x3f));
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    }
    return out;
}

/* The escape at 'p' ("\u" in front): one character, maybe of two surrogates. */
static const char *unescape_u(struct parser *ps, const char *p, const char *end, char **out)
{
    long c = hex4(p + 2, end), low;

    if (c < 0)
        return parse_fail(ps, p, "expected four hex digits after '\\u'");
    if (c >= 0xdc00 && c <= 0xdfff)
        return parse_fail(ps, p, "low surrogate without a high surrogate before it");
    if (c < 0xd800 || c > 0xdbff) {
        *out = put_utf8(*out, c);
        return p + 6;
    }
    low = end - p >= 12 && p[6] == '\\' && p[7] == 'u' ? hex4(p + 8, end) : -1;
    if (low < 0xdc00 || low > 0xdfff)
        return parse_fail(ps, p, "high surrogate without a low surrogate after it");
    *out = put_utf8(*out, 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
    return p + 12;
}

/* From 'p' to 'end' (known to hold whole escapes) to 'out'. Returns the end of 'out'. */
static char *parse_unescape(struct parser *ps, const char *p, const char *end, char *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";

    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t)(end - p)), *which;
        size_t n = (size_t)((slash ? slash : end) - p);

        memcpy(out, p, n);
        out += n;
        p += n;
        if (!slash)
            break;
        if (p[1] == 'u') {
            if (!(p = unescape_u(ps, p, end, &out)))
                return NULL;
            continue;
        }
        which = p[1] ? strchr(from, p[1]) : NULL;
        if (!which) {
            parse_fail(ps, p, "invalid escape; use \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\uXXXX");
            return NULL;
        }
        *out++ = to[which - from];
        p += 2;
    }
    return out;
}

static const char *fail_text(struct parser *ps, const char *start, const char *p)
{
    char what[96];

    if (p < ps->end && *p != '\n' && *p != '\r') {
        (void)snprintf(what, sizeof(what), "control character 0x%02x in a string must be escaped", (unsigned char)*p);
    } else {
        (void)snprintf(what, sizeof(what), "the string that begins in column %zu is not closed",
                       (size_t)(start - ps->line_start) + 1);
    }
    return parse_fail(ps, p, what);
}

static const char *fail_utf8(struct parser *ps, const char *p, const char *end)
{
    for (size_t n; p < end && (n = json_utf8_len(p, end)); p += n)
        ;
    return parse_fail(ps, p, "invalid UTF-8");
}

/* Text with escapes or beyond ASCII. 'quote' is where it begins, 'p' where scanning stopped. */
static const char *parse_text_slow(struct parser *ps, const char *quote, const char *p, bool high,
                                   struct parse_text *ret)
{
    const char *start = quote + 1;
    bool has_escape = false;
    char *out, *out_end;

    for (; p < ps->end && *p == '\\'; p = json_scan(p, ps->end, &high)) {
        has_escape = true;
        if (ps->end - p < 2)
            return fail_text(ps, quote, ps->end);
        p += 2;
    }
    if (p == ps->end || *p != '"')
        return fail_text(ps, quote, p);
    if (high && !str_is_utf8((struct str){ start, (size_t)(p - start) }))
        return fail_utf8(ps, start, p);
    *ret = (struct parse_text){ start, (uint32_t)(p - start), !has_escape };
    if (!has_escape)
        return p + 1;
    out = arena_alloc(ps->arena, ret->n); /* escapes only shrink */
    out_end = parse_unescape(ps, start, p, out);
    if (!out_end)
        return NULL;
    *ret = (struct parse_text){ out, (uint32_t)(out_end - out), false };
    return p + 1;
}

/* 'p' is at the opening quote; returns the place after the closing one. */
static inline const char *parse_text(struct parser *ps, const char *p, struct parse_text *ret)
{
    bool high = false;
    const char *stop = json_scan(p + 1, ps->end, &high);

    if (stop == ps->end || *stop != '"' || high)
        return parse_text_slow(ps, p, stop, high, ret);
    *ret = (struct parse_text){ p + 1, (uint32_t)(stop - p - 1), true };
    return stop + 1;
}

/* ---- duplicate keys ---- */

struct parse_ranked { /* a member and its place among its siblings */
    uint64_t hash;
    struct json *m;
    size_t index;
};

/* By hash first: one compare of words decides nearly always. The key decides between equal hashes, so that keys made
 * to collide cost no more than sorting. */
static int by_hash(const void *x, const void *y)
{
    const struct parse_ranked *a = x, *b = y;
    int c;

    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    c = str_cmp(json_key(a->m), json_key(b->m));
    return c ? c : (a->index > b->index) - (a->index < b->index);
}

/* Where a key stands. The parser does not keep it; this counts lines from the object's '{' or from the key reported
 * before. An escaped key was copied, so its place is unknown and that of its value has to do. */
struct key_place {
    const char *p, *line_start;
    uint32_t line;
};

static struct json_duplicate duplicate_of(const struct parser *ps, struct key_place *at, const struct json *m)
{
    const char *newline;

    if (m->key < ps->start || m->key > ps->end)
        return (struct json_duplicate){ json_key(m), m->line, m->col };
    while ((newline = memchr(at->p, '\n', (size_t)(m->key - at->p)))) {
        at->p = at->line_start = newline + 1;
        at->line++;
    }
    at->p = m->key;
    return (struct json_duplicate){ json_key(m), at->line, (uint32_t)(m->key - at->line_start) };
}

enum { PATH_BYTES = 1000 }; /* of the path in a message; a longer one is cut */

/* "spec.containers[0]". A list has as many items as were read before the one inside. */
static void print_path(struct buf *out, const struct parse_frame *f)
{
    const struct parse_frame *up = f->up;

    if (!up)
        return;
    print_path(out, up);
    if (out->n > PATH_BYTES)
        return;
    if (up->node->type == JSON_ARRAY)
        buf_fmt(out, "[%u]", up->node->n);
    else
        buf_fmt(out, "%s%.*s", out->n ? "." : "", (int)MIN_OF(f->node->key_n, PATH_BYTES), f->node->key);
}

/* 'at[i]' is who shall stand at place i: the member itself, the last one of the same key, or NULL. */
static void rank_members(const struct json *j, struct parse_ranked *v, struct json **at)
{
    size_t i = 0;

    JSON_FOREACH(m, j) {
        v[i] = (struct parse_ranked){ str_hash(json_key(m), 0), m, i };
        at[i++] = m;
    }
    qsort(v, j->n, sizeof(*v), by_hash);
    for (size_t first = 0, k; first < j->n; first = k) {
        for (k = first + 1; k < j->n && v[k].hash == v[first].hash && str_eq(json_key(v[k].m), json_key(v[first].m));
             k++)
            at[v[k].index] = NULL;
        at[v[first].index] = v[k - 1].m;
    }
}

static int drop_duplicates(struct parser *ps, struct json *j, struct key_place place)
{
    autofree struct parse_ranked *v = xmalloc(sizeof(*v) * j->n);
    autofree struct json **at = xmalloc(sizeof(*at) * j->n);
    autobuf path = { 0 };
    struct json **tail = &j->first, *m = j->first;
    size_t n = j->n;

    rank_members(j, v, at);
    for (size_t i = 0; i < n; i++, m = m->next)
        v[i].m = m; /* back in the order of the document; the list itself is about to change */
    j->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (at[i]) {
            *tail = j->last = at[i];
            tail = &at[i]->next;
            j->n++;
            continue;
        }
        struct json_duplicate dup = duplicate_of(ps, &place, v[i].m);

        if (!ps->opt->on_duplicate)
            return fail_spot(ps, ERR_SYNTAX, (struct json_spot){ dup.line, dup.col },
                             arena_fmt(ps->arena, "duplicate key \"%.*s\"", STR_ARG(str_sub(dup.key, 0, 200))).p);
        if (!path.p)
            print_path(&path, ps->frame);
        dup.path = buf_view(&path);
        ps->opt->on_duplicate(ps->opt->ctx, dup);
    }
    *tail = NULL;
    return 0;
}

static bool has_key(const struct json *j, const struct json *m)
{
    JSON_FOREACH(c, j)
        if (c->key_n == m->key_n && memcmp(c->key, m->key, m->key_n) == 0)
            return true;
    return false;
}

/* ---- values ---- */

static const char *parse_value(struct parser *ps, const char *p, struct json *j);

static inline struct json *parse_node_new(struct parser *ps)
{
    struct json *j = arena_alloc(ps->arena, sizeof(*j));

    *j = (struct json){ 0 };
    return j;
}

static const char *parse_enter(struct parser *ps, const char *p)
{
    char what[64];

    if (ps->depth_left-- == 0) {
        (void)snprintf(what, sizeof(what), "nested deeper than %zu levels", ps->max_depth);
        return fail_code(ps, p, ERR_TOO_BIG, what);
    }
    return skip_space(ps, p + 1);
}

static const char *parse_array(struct parser *ps, const char *p, struct json *j)
{
    struct parse_frame here = { ps->frame, j };
    struct json **tail = &j->first;

    ps->frame = &here;
    j->type = JSON_ARRAY;
    if (!(p = parse_enter(ps, p)))
        return NULL;
    if (p < ps->end && *p == ']')
        goto done;
    for (;;) {
        struct json *item = parse_node_new(ps);

        if (!(p = parse_value(ps, p, item)))
            return NULL;
        *tail = j->last = item;
        tail = &item->next;
        j->n++;
        p = skip_space(ps, p);
        if (p < ps->end && *p == ']')
            goto done;
        if (p == ps->end || *p != ',')
            return fail_expected(ps, p, "',' or ']'");
        p = skip_space(ps, p + 1);
    }
done:
    ps->frame = here.up;
    ps->depth_left++;
    return p + 1;
}

/* To the end of the value at 'p', whatever it is. */
static const char *skip_value(struct parser *ps, const char *p)
{
    const char *start = p;
    size_t depth = 0;
    bool high = false;

    for (; p < ps->end; p++) {
        switch (*p) {
        case '"':
            for (p = json_scan(p + 1, ps->end, &high); p < ps->end && *p != '"'; p = json_scan(p, ps->end, &high))
                p += *p == '\\' && p + 1 < ps->end ? 2 : 1;
            if (p == ps->end)
                return fail_text(ps, start, p);
            break;
        case '{':
        case '[':
            depth++;
            continue;
        case '}':
        case ']':
            if (depth == 0)
                return p > start ? p : fail_expected(ps, p, "a value");
            depth--;
            break;
        case ',':
            if (depth == 0)
                return p > start ? p : fail_expected(ps, p, "a value");
            continue;
        default:
            continue;
        }
        if (depth == 0)
            return p + 1;
    }
    return fail_expected(ps, p, "the end of a value");
}

/* "key" : */
static inline const char *parse_key(struct parser *ps, const char *p, struct parse_text *ret)
{
    if (p == ps->end || *p != '"')
        return fail_expected(ps, p, "a key in double quotes");
    if (!(p = parse_text(ps, p, ret)))
        return NULL;
    p = skip_space(ps, p);
    if (p == ps->end || *p != ':')
        return fail_expected(ps, p, "':' after the key");
    return skip_space(ps, p + 1);
}

/* "key" : value. '*ret' is NULL if the mask leaves it out. */
static inline const char *parse_member(struct parser *ps, const char *p, const struct json_mask *mask,
                                       struct json **ret)
{
    struct parse_text key;
    struct json *m;
    bool keeps = true;

    *ret = NULL;
    if (!(p = parse_key(ps, p, &key)))
        return NULL;
    if (mask)
        ps->mask = json_mask_below(mask, (struct str){ key.p, key.n }, &keeps);
    if (!keeps)
        return skip_value(ps, p);
    m = *ret = parse_node_new(ps);
    m->key = key.p;
    m->key_n = key.n;
    m->flags = key.is_plain ? JSON_PLAIN_KEY : 0;
    return parse_value(ps, p, m);
}

/* One of 64 bits, from what differs between keys most: their ends and length. */
static inline uint64_t key_bit(const struct json *m)
{
    unsigned n = m->key_n;

    return n ? (uint64_t)1 << (((unsigned char)m->key[0] * 5u + (unsigned char)m->key[n - 1] * 11u + n) & 63) : 1;
}

static const char *parse_object(struct parser *ps, const char *p, struct json *j)
{
    struct key_place place = { p, ps->line_start, ps->line };
    struct parse_frame here = { ps->frame, j };
    const struct json_mask *mask = ps->mask;
    struct json **tail = &j->first;
    bool is_twice = false;
    uint64_t seen = 0;

    ps->frame = &here;
    j->type = JSON_OBJECT;
    if (!(p = parse_enter(ps, p)))
        return NULL;
    if (p < ps->end && *p == '}')
        goto done;
    for (;;) {
        struct json *m;

        if (!(p = parse_member(ps, p, mask, &m)))
            return NULL;
        if (m) {
            uint64_t bit = key_bit(m);

            if ((seen & bit) && j->n <= SMALL_OBJECT)
                is_twice |= has_key(j, m);
            seen |= bit;
            *tail = j->last = m;
            tail = &m->next;
            j->n++;
        }
        p = skip_space(ps, p);
        if (p < ps->end && *p == '}')
            break;
        if (p == ps->end || *p != ',')
            return fail_expected(ps, p, "',' or '}'");
        p = skip_space(ps, p + 1);
    }
    if ((is_twice || j->n > SMALL_OBJECT) && drop_duplicates(ps, j, place) < 0)
        return NULL;
done:
    ps->frame = here.up;
    ps->mask = mask; /* for the next one of a list */
    ps->depth_left++;
    return p + 1;
}

static const char *parse_value(struct parser *ps, const char *p, struct json *j)
{
    struct parse_text text;
    size_t col = (size_t)(p - ps->line_start) + 1;

    j->line = ps->line;
    j->col = (uint16_t)MIN_OF(col, UINT16_MAX);
    switch (p < ps->end ? *p : 0) {
    case '"':
        p = parse_text(ps, p, &text);
        if (!p)
            return NULL;
        j->type = JSON_STRING;
        j->text = text.p;
        j->n = text.n;
        j->flags |= text.is_plain ? JSON_PLAIN_TEXT : 0;
        return p;
    case '{':
        return parse_object(ps, p, j);
    case '[':
        return parse_array(ps, p, j);
    case '-':
    case '0' ... '9':
        return parse_number(ps, p, j);
    case 't':
        return parse_word(ps, p, "true", j);
    case 'f':
        return parse_word(ps, p, "false", j);
    case 'n':
        return parse_word(ps, p, "null", j);
    default:
        return fail_expected(ps, p, "a value");
    }
}

/* 'how': arena, opt, mask and e. */
static int parse_whole(const struct parser *how, struct str text, struct json **ret)
{
    struct parser ps = *how;
    size_t max_bytes = ps.opt->limits.max_bytes ? ps.opt->limits.max_bytes : BYTES_DEFAULT;
    const char *p = text.n ? text.p : "";
    struct json *j;

    max_bytes = MIN_OF(max_bytes, UINT32_MAX); /* lengths in nodes are 32 bits */
    if (text.n > max_bytes)
        return err_set(ps.e, ERR_TOO_BIG, "%zu bytes of JSON exceed the limit of %zu", text.n, max_bytes);
    ps.max_depth = ps.opt->limits.max_depth ? ps.opt->limits.max_depth : JSON_DEPTH_DEFAULT;
    ps.max_depth = ps.depth_left = MIN_OF(ps.max_depth, JSON_DEPTH_MAX);
    ps.start = ps.line_start = p;
    ps.end = p + text.n;
    if (str_starts(text, STR("\xef\xbb\xbf"))) {
        parse_fail(&ps, p, "the text begins with a byte order mark, which JSON does not allow");
        return -1;
    }
    j = parse_node_new(&ps);
    p = parse_value(&ps, skip_space(&ps, p), j);
    if (!p)
        return -1;
    p = skip_space(&ps, p);
    if (p < ps.end) {
        fail_expected(&ps, p, "the end of the input");
        return -1;
    }
    *ret = j;
    return 0;
}

int json_parse(struct arena *a, struct str text, const struct json_parse_options *opt, struct json **ret, struct err *e)
{
    static const struct json_parse_options defaults;

    return parse_whole(&(struct parser){ .arena = a, .opt = opt ? opt : &defaults, .line = 1, .e = e }, text, ret);
}

static void last_one_counts(void *ctx, struct json_duplicate dup)
{
    (void)ctx, (void)dup;
}

int json_parse_masked(struct arena *a, struct str text, const struct json_mask *m, struct json **ret, struct err *e)
{
    static const struct json_parse_options lenient = { .on_duplicate = last_one_counts };

    return parse_whole(&(struct parser){ .arena = a, .opt = &lenient, .mask = m, .line = 1, .e = e }, text, ret);
}
