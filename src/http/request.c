/* request.c - the text of an HTTP/1.1 request, read strictly */
#include "http/request.h"

#include "base/util.h"

/* ---- letters ---- */

static bool request_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_token_char(char c)
{
    return request_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool request_is_token(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_token_char(s.p[i]))
            return false;
    return s.n > 0;
}

static bool all_visible(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] >= 0x7f)
            return false;
    return true;
}

/* Without the blanks that may stand around a value. */
static struct str request_trim(struct str s)
{
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = str_from(s, 1);
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

/* ---- where the head ends ---- */

enum http_scan http_head_scan(struct str bytes, size_t *at)
{
    for (size_t i = *at; i < bytes.n; *at = ++i) {
        char c = bytes.p[i];
        bool is_control = ((unsigned char)c < ' ' && c != '\t' && c != '\r' && c != '\n') || c == 0x7f;

        if (is_control || (c == '\n' && (i == 0 || bytes.p[i - 1] != '\r')))
            return HTTP_SCAN_BAD;
        if (c == '\r' && i + 1 == bytes.n)
            return i == 0 ? HTTP_SCAN_BAD : HTTP_SCAN_MORE; /* what follows is needed */
        if (c == '\r' && bytes.p[i + 1] != '\n')
            return HTTP_SCAN_BAD;
        if (c == '\n' && i == 1)
            return HTTP_SCAN_BAD; /* an empty line in front */
        if (c == '\n' && i >= 3 && bytes.p[i - 2] == '\n') {
            *at = i + 1;
            return HTTP_SCAN_END;
        }
    }
    return HTTP_SCAN_MORE;
}

/* ---- lines ---- */

static struct str next_line(struct str *rest)
{
    ptrdiff_t end = str_find_char(*rest, '\r');
    struct str line = str_sub(*rest, 0, end < 0 ? rest->n : (size_t)end);

    *rest = str_from(*rest, line.n + 2);
    return line;
}

static int parse_version(struct str version, struct http_head *ret)
{
    if (str_is(version, "HTTP/1.1"))
        return 0;
    ret->is_http10 = str_is(version, "HTTP/1.0");
    if (ret->is_http10)
        return 0;
    return version.n == 8 && str_starts(version, STR("HTTP/")) && request_is_digit(version.p[5]) &&
                   version.p[6] == '.' && request_is_digit(version.p[7])
               ? 505
               : 400;
}

static int parse_request_line(struct str line, struct http_head *ret)
{
    struct str target;

    if (!str_split(&line, ' ', &ret->method) || !str_split(&line, ' ', &target) || !request_is_token(ret->method) ||
        !str_starts(target, STR("/")) || !all_visible(target) || str_has_char(target, '#'))
        return 400;
    ret->path = target;
    ret->query = STR_NULL;
    if (str_has_char(target, '?')) {
        ret->query = target;
        (void)str_split(&ret->query, '?', &ret->path);
    }
    return parse_version(line, ret);
}

/* ---- fields ---- */

struct request_seen { /* of those that say where the body is */
    unsigned hosts, lengths, encodings;
};

static int take_length(struct http_head *h, struct request_seen *seen, struct str value)
{
    enum { DIGITS = 18 };

    if (seen->lengths++ || !value.n || value.n > DIGITS || !request_is_digit(value.p[0]))
        return 400;
    return str_to_u64(value, &h->length) < 0 ? 400 : 0;
}

static int take_encoding(struct http_head *h, struct request_seen *seen, struct str value)
{
    if (seen->encodings++ || h->is_http10)
        return 400;
    h->is_chunked = str_eq_nocase(value, STR("chunked"));
    return h->is_chunked ? 0 : 501;
}

static int take_host(struct http_head *h, struct request_seen *seen, struct str value)
{
    (void)h;
    if (seen->hosts++ || !all_visible(value) || str_has_char(value, '/') || str_has_char(value, ',') ||
        str_has_char(value, '@'))
        return 400;
    return 0;
}

static int take_connection(struct http_head *h, struct request_seen *seen, struct str value)
{
    (void)seen;
    if (http_list_has(value, STR("close")))
        h->keeps_alive = false;
    return 0;
}

static int take_expect(struct http_head *h, struct request_seen *seen, struct str value)
{
    (void)seen;
    h->expects_continue = str_eq_nocase(value, STR("100-continue"));
    return h->expects_continue ? 0 : 417;
}

static const struct {
    struct str name;
    int (*take)(struct http_head *h, struct request_seen *seen, struct str value);
} known_fields[] = {
    { STR_INIT("host"), take_host },
    { STR_INIT("content-length"), take_length },
    { STR_INIT("transfer-encoding"), take_encoding },
    { STR_INIT("connection"), take_connection },
    { STR_INIT("expect"), take_expect },
};

static int parse_field(struct str line, struct http_head *h, struct request_seen *seen)
{
    struct str name, value = line;

    if (!str_has_char(line, ':'))
        return 400;
    (void)str_split(&value, ':', &name);
    if (!request_is_token(name)) /* a line that is folded, too: it begins with a blank */
        return 400;
    for (size_t i = 0; i < ARRAY_LEN(known_fields); i++)
        if (str_eq_nocase(name, known_fields[i].name))
            return known_fields[i].take(h, seen, request_trim(value));
    return 0;
}

int http_head_parse(struct str text, struct http_head *ret)
{
    struct request_seen seen = { 0 };
    struct str rest = text;
    size_t n = 0;
    int status;

    *ret = (struct http_head){ 0 };
    status = parse_request_line(next_line(&rest), ret);
    ret->keeps_alive = !ret->is_http10;
    ret->fields = str_sub(rest, 0, rest.n - MIN_OF(rest.n, (size_t)2));
    rest = ret->fields;
    while (!status && rest.n)
        status = ++n > HTTP_FIELDS_MAX ? 431 : parse_field(next_line(&rest), ret, &seen);
    if (status)
        return status;
    return (!ret->is_http10 && !seen.hosts) || (seen.lengths && seen.encodings) ? 400 : 0;
}

bool http_fields_each(struct str fields, size_t *at, struct str *ret_name, struct str *ret_value)
{
    struct str rest = str_from(fields, *at), line;

    if (!rest.n)
        return false;
    line = next_line(&rest);
    *at = fields.n - rest.n;
    (void)str_split(&line, ':', ret_name);
    *ret_value = request_trim(line);
    return true;
}

bool http_fields_next(struct str fields, struct str name, size_t *at, struct str *ret)
{
    struct str field, value;

    while (http_fields_each(fields, at, &field, &value))
        if (str_eq_nocase(field, name)) {
            *ret = value;
            return true;
        }
    return false;
}

bool http_list_has(struct str list, struct str word)
{
    struct str part;

    while (str_split(&list, ',', &part))
        if (str_eq_nocase(request_trim(part), word))
            return true;
    return false;
}

/* ---- chunks ---- */

enum { CHUNK_SIZE, CHUNK_SIZE_LF, CHUNK_DATA, CHUNK_DATA_CR, CHUNK_DATA_LF, CHUNK_LAST_CR, CHUNK_LAST_LF };

static int take_size(struct http_chunks *c, char byte)
{
    enum { DIGITS = 8 };
    int digit = hex_digit(byte);

    if (byte == '\r' && c->digits) {
        c->state = CHUNK_SIZE_LF;
        return 0;
    }
    if (digit < 0 || c->digits++ == DIGITS)
        return 400;
    c->left = c->left << 4 | (unsigned)digit;
    return 0;
}

/* The bytes around the data: each has one that must come, and what comes after. */
static int take_frame(struct http_chunks *c, char byte)
{
    static const struct {
        char wanted;
        unsigned next;
    } frames[] = {
        [CHUNK_SIZE_LF] = { '\n', CHUNK_DATA },    [CHUNK_DATA_CR] = { '\r', CHUNK_DATA_LF },
        [CHUNK_DATA_LF] = { '\n', CHUNK_SIZE },    [CHUNK_LAST_CR] = { '\r', CHUNK_LAST_LF },
        [CHUNK_LAST_LF] = { '\n', CHUNK_LAST_LF },
    };
    unsigned was = c->state;

    if (was == CHUNK_SIZE)
        return take_size(c, byte);
    if (byte != frames[was].wanted)
        return 400;
    c->state = frames[was].next;
    c->is_done = was == CHUNK_LAST_LF;
    if (was == CHUNK_SIZE_LF && !c->left)
        c->state = CHUNK_LAST_CR;
    if (was == CHUNK_DATA_LF)
        c->digits = 0;
    return 0;
}

ptrdiff_t http_chunks_take(struct http_chunks *c, struct str in, size_t max, struct buf *out)
{
    size_t at = 0;

    while (at < in.n && !c->is_done) {
        if (c->state == CHUNK_DATA) {
            struct str part = str_sub(in, at, (size_t)MIN_OF(c->left, (uint64_t)(in.n - at)));

            buf_str(out, part);
            at += part.n;
            c->left -= part.n;
            if (!c->left)
                c->state = CHUNK_DATA_CR;
        } else if (take_frame(c, in.p[at++]) != 0) {
            return -400;
        } else if (c->left > max || out->n + c->left > max) {
            return -413;
        }
    }
    return (ptrdiff_t)at;
}
