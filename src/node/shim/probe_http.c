/* probe_http.c - the HTTP and HTTPS probe: one request, the status of the answer, a few redirects on the same host
 *
 * A redirect that is not followed succeeds with a warning that quotes the body of the answer. Error texts are those
 * of the kubelet's client, which people and tools search for.
 */
#include "node/shim/probe_internal.h"

#include "base/util.h"

#include <errno.h>

enum { HEAD_MAX = 64 << 10, BODY_MAX = 1024, HOPS_MAX = 10 };

struct probe_http_answer {
    int status;
    struct str location; /* in the buffer it was read from */
    size_t head_n;       /* bytes of the head in it; the body follows */
    size_t body_n;       /* wanted bytes of the body; 0 for a chunked one */
};

static bool http_is_token(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == ':' || s.p[i] == 0x7f)
            return false;
    return s.n > 0;
}

static bool is_header_value(struct str s)
{
    return !str_has_char(s, '\r') && !str_has_char(s, '\n') && !str_has_char(s, '\0');
}

static bool is_path(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f)
            return false;
    return str_starts(s, STR("/"));
}

static const struct probe_header *header_of(const struct probe_target *t, const char *name)
{
    VEC_FOREACH(h, &t->headers)
        if (str_eq_nocase(h->name, str_of(name)))
            return h;
    return NULL;
}

/* A default header unless the probe has it; an empty value removes it. */
static void put_default(struct buf *out, const struct probe_target *t, const char *name, const char *value)
{
    const struct probe_header *h = header_of(t, name);

    if (!h)
        buf_fmt(out, "%s: %s\r\n", name, value);
    else if (h->value.n && is_header_value(h->value))
        buf_fmt(out, "%s: %.*s\r\n", name, STR_ARG(h->value));
}

static void probe_put_request(struct buf *out, const struct probe_target *t, const struct probe_place *p)
{
    static const char *const own[] = { "Host",       "User-Agent",     "Accept",
                                       "Connection", "Content-Length", "Transfer-Encoding" };
    autobuf host = { 0 };

    buf_fmt(&host, "%.*s", STR_ARG(p->host));
    if (p->port != (p->is_tls ? 443 : 80))
        buf_fmt(&host, ":%u", p->port);
    buf_char(&host, '\0');
    buf_fmt(out, "GET %.*s HTTP/1.1\r\n", STR_ARG(p->path));
    put_default(out, t, "Host", host.p);
    put_default(out, t, "User-Agent", "kube-probe/1.32");
    put_default(out, t, "Accept", "*/*");
    VEC_FOREACH(h, &t->headers) {
        bool is_own = !http_is_token(h->name) || !is_header_value(h->value);

        for (size_t i = 0; i < ARRAY_LEN(own); i++)
            is_own |= str_eq_nocase(h->name, str_of(own[i]));
        if (!is_own)
            buf_fmt(out, "%.*s: %.*s\r\n", STR_ARG(h->name), STR_ARG(h->value));
    }
    buf_fmt(out, "Connection: close\r\n\r\n");
}

/* ---- the answer ---- */

static int http_parse_status(struct str line)
{
    struct str version, code;
    int64_t status;

    if (!str_split(&line, ' ', &version) || !str_starts(version, STR("HTTP/")) || !str_split(&line, ' ', &code) ||
        code.n != 3 || str_to_i64(code, &status) < 0 || status < 100)
        return -1;
    return (int)status;
}

/* Length of the head with its empty line; 0: incomplete. */
static size_t head_length(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '\n' &&
            (str_starts(str_from(s, i + 1), STR("\n")) || str_starts(str_from(s, i + 1), STR("\r\n"))))
            return i + 2 + (s.p[i + 1] == '\r');
    return 0;
}

static void parse_header(struct str name, struct str value, struct probe_http_answer *ret)
{
    int64_t n;

    if (str_eq_nocase(name, STR("Location")))
        ret->location = value;
    else if (str_eq_nocase(name, STR("Transfer-Encoding")))
        ret->body_n = 0;
    else if (str_eq_nocase(name, STR("Content-Length")) && str_to_i64(value, &n) == 0 && n >= 0)
        ret->body_n = MIN_OF(ret->body_n, (size_t)n);
}

static int parse_head(struct str head, struct probe_http_answer *ret)
{
    struct str line;

    ret->head_n = head.n;
    ret->body_n = BODY_MAX;
    if (!str_split(&head, '\n', &line) || (ret->status = http_parse_status(str_trim(line))) < 0)
        return -1;
    while (str_split(&head, '\n', &line)) {
        ptrdiff_t colon = str_find_char(line, ':');

        if (colon > 0)
            parse_header(str_sub(line, 0, (size_t)colon), str_trim(str_from(line, (size_t)colon + 1)), ret);
    }
    return 0;
}

static const char *read_error(int error)
{
    return error == ETIMEDOUT ? "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
                              : strerror(error);
}

static int read_http_head(struct probe_conn *c, struct buf *in, struct probe_http_answer *ret, struct buf *out)
{
    size_t n;

    for (;;) {
        while (!(n = head_length(buf_view(in)))) {
            ssize_t got;

            if (in->n > HEAD_MAX) {
                buf_fmt(out, "net/http: server response headers exceeded %d bytes; aborted", HEAD_MAX);
                return -1;
            }
            got = probe_read(c, buf_reserve(in, 4096), 4096);
            if (got <= 0) {
                buf_fmt(out, "%s", got == 0 ? "EOF" : read_error(errno));
                return -1;
            }
            in->n += (size_t)got;
            in->p[in->n] = '\0';
        }
        if (parse_head(str_sub(buf_view(in), 0, n), ret) < 0) {
            buf_fmt(out, "net/http: HTTP/1.x transport connection broken: malformed HTTP response ");
            buf_quote(out, str_sub(buf_view(in), 0, n), 60);
            return -1;
        }
        if (ret->status >= 200 || ret->status == 101)
            return 0;
        memmove(in->p, in->p + n, in->n - n); /* 1xx status: the final answer follows */
        in->n -= n;
    }
}

/* Read the body until the deadline. 'in' has its start behind the head and is not changed, since the answer borrows
 * from it. */
static void read_http_body(struct probe_conn *c, const struct buf *in, const struct probe_http_answer *got,
                           struct buf *body)
{
    buf_reset(body);
    buf_str(body, str_sub(str_from(buf_view(in), got->head_n), 0, got->body_n));
    while (body->n < got->body_n) {
        size_t room = got->body_n - body->n;
        ssize_t n = probe_read(c, buf_reserve(body, room), room);

        if (n <= 0)
            return;
        body->n += (size_t)n;
        body->p[body->n] = '\0';
    }
}

/* ---- redirects ---- */

static struct str directory_of(struct str path)
{
    ptrdiff_t query = str_find_char(path, '?'), slash;

    path = query >= 0 ? str_sub(path, 0, (size_t)query) : path;
    slash = str_rfind_char(path, '/');
    return str_sub(path, 0, (size_t)(slash + 1));
}

static bool split_port(struct str authority, struct probe_place *ret)
{
    ptrdiff_t colon = str_rfind_char(authority, ':');
    int64_t port = ret->is_tls ? 443 : 80;

    if (colon >= 0 && str_to_i64(str_from(authority, (size_t)colon + 1), &port) < 0)
        return false;
    ret->host = colon >= 0 ? str_sub(authority, 0, (size_t)colon) : authority;
    ret->port = (uint16_t)port;
    return port > 0 && port <= UINT16_MAX;
}

bool probe_follow(struct arena *a, const struct probe_place *at, struct str location, struct probe_place *ret)
{
    struct str authority = STR_NULL, rest = location;
    size_t end = 0;

    *ret = *at;
    if (str_starts(rest, STR("http://")) || str_starts(rest, STR("https://"))) {
        ret->is_tls = str_starts(rest, STR("https://"));
        authority = rest = str_from(rest, ret->is_tls ? 8 : 7);
    } else if (str_starts(rest, STR("//"))) {
        authority = rest = str_from(rest, 2);
    }
    if (authority.p) {
        while (end < rest.n && rest.p[end] != '/' && rest.p[end] != '?' && rest.p[end] != '#')
            end++;
        if (!split_port(str_sub(rest, 0, end), ret))
            return false;
        rest = str_from(rest, end);
    }
    if (str_has_char(rest, '#'))
        rest = str_sub(rest, 0, (size_t)str_find_char(rest, '#'));
    if (authority.p || str_starts(rest, STR("/")))
        ret->path = str_starts(rest, STR("/")) ? arena_str(a, rest) : arena_cat(a, STR("/"), rest);
    else
        ret->path = arena_cat(a, directory_of(at->path), rest);
    ret->host = arena_str(a, ret->host);
    return str_eq_nocase(ret->host, at->host) && is_path(ret->path);
}

/* ---- asking ---- */

static bool is_redirect_status(const struct probe_http_answer *got)
{
    return got->status >= 300 && got->status < 400;
}

struct probe_exchange {
    struct probe_http_answer answer;
    struct buf in;   /* the head as read; 'answer' borrows from it */
    struct buf body; /* of a redirect only */
};

/* Ask 'p', until 'until_ms'. -1: 'out' has the error. */
static int http_ask(const struct probe_target *t, const struct probe_place *p, int64_t until_ms,
                    struct probe_exchange *x, struct buf *out)
{
    autoconn c = { .fd = -1 };
    autobuf request = { 0 };

    buf_reset(&x->in);
    x->answer = (struct probe_http_answer){ 0 };
    if (probe_dial(&c, p->host, p->port, until_ms, out) < 0 || (p->is_tls && probe_tls(&c, p->host, out) < 0))
        return -1;
    probe_put_request(&request, t, p);
    if (probe_write(&c, buf_view(&request)) < 0) {
        buf_fmt(out, "%s", read_error(errno));
        return -1;
    }
    if (read_http_head(&c, &x->in, &x->answer, out) < 0)
        return -1;
    if (is_redirect_status(&x->answer))
        read_http_body(&c, &x->in, &x->answer, &x->body);
    return 0;
}

static bool http_verdict(const struct probe_exchange *x, struct buf *out)
{
    int status = x->answer.status;

    if (is_redirect_status(&x->answer))
        buf_fmt(out, "Probe terminated redirects, Response body: %.*s", STR_ARG(buf_view(&x->body)));
    if (status >= 200 && status < 400)
        return true;
    buf_fmt(out, "HTTP probe failed with statuscode: %d", status);
    return false;
}

static bool http_follow(const struct probe_target *t, struct probe_place p, int64_t until_ms, struct probe_exchange *x,
                        struct buf *out)
{
    const struct probe_http_answer *got = &x->answer;
    autoarena a = { 0 };

    for (int hop = 0; hop <= HOPS_MAX; hop++) {
        struct probe_place next;
        autobuf why = { 0 };

        if (http_ask(t, &p, until_ms, x, &why) < 0) {
            buf_fmt(out, "Get \"%s://%.*s:%u%.*s\": ", p.is_tls ? "https" : "http", STR_ARG(p.host), p.port,
                    (int)MIN_OF(p.path.n, 100), p.path.p);
            buf_str(out, buf_view(&why));
            return false;
        }
        if (!is_redirect_status(got) || got->status == 304 || !got->location.n ||
            !probe_follow(&a, &p, got->location, &next))
            return http_verdict(x, out); /* a redirect to another host is an answer */
        p = next;
    }
    buf_fmt(out, "stopped after %d redirects", HOPS_MAX);
    return false;
}

bool probe_http(const struct probe_target *t, int64_t until_ms, struct buf *out)
{
    struct probe_place p = { t->kind == PROBE_HTTPS, t->host, t->path, t->port };
    struct probe_exchange x = { 0 };
    autoarena a = { 0 };
    bool is_ok;

    if (!str_starts(p.path, STR("/")))
        p.path = arena_cat(&a, STR("/"), p.path);
    if (!is_path(p.path)) {
        buf_fmt(out, "the path of the probe contains a blank or a control character");
        return false;
    }
    is_ok = http_follow(t, p, until_ms, &x, out);
    buf_done(&x.in);
    buf_done(&x.body);
    return is_ok;
}
