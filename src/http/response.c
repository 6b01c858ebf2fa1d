/* response.c - the head of an answer */
#include "http/client_internal.h"

#include "base/util.h"

enum { HEAD_MAX = 256 << 10 };

static struct str response_field(const struct response *r, const char *name)
{
    struct str value = STR_NULL;
    size_t at = 0;

    (void)http_fields_next(r->fields, str_of(name), &at, &value); /* not there: empty */
    return value;
}

/* "HTTP/1.1 200 OK" */
static int response_parse_status(struct str line, struct response *r)
{
    int64_t status;

    if (line.n < 12 || !str_starts(line, STR("HTTP/1.")) || line.p[8] != ' ' || (line.n > 12 && line.p[12] != ' ') ||
        str_to_i64(str_sub(line, 9, 3), &status) < 0 || status < 100)
        return -1;
    r->status = (int)status;
    r->keeps_alive = line.p[7] != '0';
    return 0;
}

static int parse_length(struct response *r)
{
    struct str length = response_field(r, "Content-Length"), coding = response_field(r, "Transfer-Encoding");

    r->is_chunked = str_eq_nocase(coding, STR("chunked"));
    r->length = UINT64_MAX;
    if (r->status == 204 || r->status == 304)
        r->length = 0;
    else if (coding.n && !r->is_chunked)
        return -1;
    else if (!coding.n && length.n && str_to_u64(length, &r->length) < 0)
        return -1;
    if (r->length == UINT64_MAX && !r->is_chunked)
        r->keeps_alive = false; /* it ends with the connection */
    return 0;
}

static int response_parse(struct response *r)
{
    struct str text = buf_view(&r->text);
    ptrdiff_t end = str_find_char(text, '\r');

    if (response_parse_status(str_sub(text, 0, (size_t)end), r) < 0)
        return -1;
    r->fields = str_from(text, (size_t)end + 2);
    r->fields.n -= 2; /* the empty line */
    for (struct str rest = r->fields, line; str_split(&rest, '\n', &line) && line.n;)
        if (str_find_char(line, ':') <= 0)
            return -1;
    if (http_list_has(response_field(r, "Connection"), STR("close")))
        r->keeps_alive = false;
    r->is_zipped = str_eq_nocase(response_field(r, "Content-Encoding"), STR("gzip"));
    return parse_length(r);
}

ptrdiff_t response_take(struct response *r, struct str bytes, bool *ret_whole)
{
    size_t used = 0, before;
    enum http_scan scan;

    *ret_whole = false;
    while (used < bytes.n) {
        before = r->text.n;
        buf_str(&r->text, str_from(bytes, used));
        scan = http_head_scan(buf_view(&r->text), &r->scanned);
        if (scan == HTTP_SCAN_BAD || (scan == HTTP_SCAN_MORE && r->text.n > HEAD_MAX) ||
            (r->text.n >= 5 && memcmp(r->text.p, "HTTP/", 5) != 0))
            return -1;
        if (scan == HTTP_SCAN_MORE)
            return (ptrdiff_t)bytes.n;
        used += r->scanned - before;
        r->text.n = r->scanned;
        if (response_parse(r) < 0)
            return -1;
        if (r->status >= 200 || (r->status == 101 && r->may_upgrade)) {
            *ret_whole = true;
            break;
        }
        buf_reset(&r->text); /* not the last word */
        r->scanned = 0;
    }
    return (ptrdiff_t)used;
}
