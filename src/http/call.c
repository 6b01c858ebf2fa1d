/* call.c - what a handler can read of a request, and its answer */
#include "base/codec.h"
#include "base/util.h"
#include "http/server_internal.h"

#include <assert.h>

static const struct {
    int status;
    const char *reason;
} reasons[] = {
    { 100, "Continue" },
    { 101, "Switching Protocols" },
    { 200, "OK" },
    { 201, "Created" },
    { 202, "Accepted" },
    { 204, "No Content" },
    { 301, "Moved Permanently" },
    { 302, "Found" },
    { 304, "Not Modified" },
    { 307, "Temporary Redirect" },
    { 400, "Bad Request" },
    { 401, "Unauthorized" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 406, "Not Acceptable" },
    { 408, "Request Timeout" },
    { 409, "Conflict" },
    { 410, "Gone" },
    { 413, "Content Too Large" },
    { 415, "Unsupported Media Type" },
    { 417, "Expectation Failed" },
    { 422, "Unprocessable Content" },
    { 426, "Upgrade Required" },
    { 429, "Too Many Requests" },
    { 431, "Request Header Fields Too Large" },
    { 500, "Internal Server Error" },
    { 501, "Not Implemented" },
    { 503, "Service Unavailable" },
    { 504, "Gateway Timeout" },
    { 505, "HTTP Version Not Supported" },
};

static const char *call_reason_of(int status)
{
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Status";
}

/* ---- the request ---- */

static const struct conn *conn_of(const struct http_call *call)
{
    return CONN_OF_CALL((struct http_call *)call);
}

bool http_call_next_header(const struct http_call *call, const char *name, size_t *at, struct str *ret)
{
    return http_fields_next(conn_of(call)->head.fields, str_of(name), at, ret);
}

struct str http_call_fields(const struct http_call *call)
{
    return conn_of(call)->head.fields;
}

void http_call_set_client(struct http_call *call, struct str name)
{
    struct conn *c = CONN_OF_CALL(call);

    fair_same(&c->server->fair, c->client, str_hash(name, c->server->seed + 3) | 1);
}

struct str http_call_header(const struct http_call *call, const char *name)
{
    struct str value = STR_NULL;
    size_t at = 0;

    (void)http_call_next_header(call, name, &at, &value); /* empty, then */
    return value;
}

bool http_call_header_lists(const struct http_call *call, const char *name, const char *word)
{
    struct str value;
    size_t at = 0;

    while (http_call_next_header(call, name, &at, &value))
        if (http_list_has(value, str_of(word)))
            return true;
    return false;
}

bool http_call_next_param(const struct http_call *call, const char *name, size_t *at, struct buf *ret)
{
    struct str rest = str_from(call->query, *at), part, key;

    while (rest.n) {
        bool is_it;

        (void)str_split(&rest, '&', &part);
        *at = call->query.n - rest.n;
        if (!str_has_char(part, '=')) {
            key = part;
            part = STR_NULL;
        } else {
            (void)str_split(&part, '=', &key);
        }
        is_it = percent_parse(key, true, ret) == 0 && str_is(buf_view(ret), name);
        if (is_it && percent_parse(part, true, ret) == 0)
            return true;
    }
    return false;
}

bool http_call_param(const struct http_call *call, const char *name, struct buf *ret)
{
    size_t at = 0;

    return http_call_next_param(call, name, &at, ret);
}

void conn_forget_request(struct conn *c)
{
    buf_done(&c->text);
    buf_done(&c->body);
    c->head.fields = STR_NULL;
    c->call = (struct http_call){ .peer = &c->peer };
}

/* ---- what goes out ---- */

void conn_queue(struct conn *c, struct str bytes)
{
    if (c->sent < c->out.n)
        buf_used(&c->out, &c->sent); /* a reader that is never quite done */
    else
        c->moved_ms = server_mono(c->server); /* from now on the other side is waited for */
    buf_str(&c->out, bytes);
    conn_set_dirty(c);
    conn_count(c);
}

/* A streamed answer has a limit of queued bytes. */
static void queue_bounded(struct conn *c, struct str bytes)
{
    if (c->is_doomed)
        return;
    if (c->out.n - c->sent + bytes.n > c->server->limits.queue_bytes) {
        c->is_doomed = true;
        conn_set_dirty(c);
        return;
    }
    c->owes_word = true;
    conn_queue(c, bytes);
}

void conn_continue(struct conn *c)
{
    conn_queue(c, STR("HTTP/1.1 100 Continue\r\n\r\n"));
}

/* A line from outside must not become two. */
static bool is_line(const char *header)
{
    for (const char *p = header; *p; p++)
        if ((unsigned char)*p < ' ' && *p != '\t')
            return false;
    return true;
}

static void call_put_line(struct buf *out, const char *name, const char *value)
{
    buf_str(out, str_of(name));
    buf_str(out, str_of(value));
    buf_str(out, STR("\r\n"));
}

static void put_headers(struct buf *out, const char *const *headers)
{
    for (; headers && *headers; headers++)
        if (is_line(*headers))
            call_put_line(out, "", *headers);
}

static bool has_body(int status)
{
    return status >= 200 && status != 204 && status != 304;
}

/* 'length' < 0: it is not known. */
static void call_put_head(struct conn *c, const struct http_reply *r, int64_t length)
{
    enum { HEAD_ROOM = 320 }; /* of most */
    autobuf head = { 0 };

    c->status = r->status;
    c->keeps_alive = c->keeps_alive && !c->server->is_stopping && (length >= 0 || !c->head.is_http10);
    (void)buf_reserve(&head, HEAD_ROOM);
    buf_str(&head, STR("HTTP/1.1 "));
    buf_i64(&head, r->status);
    buf_char(&head, ' ');
    call_put_line(&head, "", call_reason_of(r->status));
    call_put_line(&head, "Date: ", server_date(c->server));
    if (has_body(r->status)) {
        call_put_line(&head, "Content-Type: ", r->type ? r->type : "text/plain; charset=utf-8");
        buf_str(&head, STR("X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n"));
        if (length >= 0) {
            buf_str(&head, STR("Content-Length: "));
            buf_i64(&head, length);
            buf_str(&head, STR("\r\n"));
        } else if (!c->head.is_http10) {
            buf_str(&head, STR("Transfer-Encoding: chunked\r\n"));
        }
    }
    put_headers(&head, r->headers);
    if (!c->keeps_alive)
        buf_str(&head, STR("Connection: close\r\n"));
    buf_str(&head, STR("\r\n"));
    conn_queue(c, buf_view(&head));
}

static void mark_begin(struct conn *c)
{
    c->is_fresh = c->server->is_hearing;
    c->answer_at = c->out.n;
}

int http_call_status(const struct http_call *call)
{
    return CONN_OF_CALL((struct http_call *)call)->status;
}

void http_answer(struct http_call *call, const struct http_reply *reply, struct str body)
{
    struct conn *c = CONN_OF_CALL(call);

    assert(c->state == CONN_CALL && !c->has_begun);
    mark_begin(c);
    call_put_head(c, reply, (int64_t)body.n);
    if (!c->is_head_only && has_body(reply->status))
        conn_queue(c, body);
    conn_forget_request(c);
    conn_enter(c, CONN_ANSWERED);
}

void http_answer_begin(struct http_call *call, const struct http_reply *reply)
{
    struct conn *c = CONN_OF_CALL(call);

    assert(c->state == CONN_CALL && !c->has_begun);
    mark_begin(c);
    call_put_head(c, reply, -1);
    c->has_begun = true;
    c->is_chunked = !c->head.is_http10;
    c->owes_word = true;
    conn_forget_request(c);
    if (c->is_eof)
        conn_set_ready(c); /* it has left already */
}

void http_answer_write(struct http_call *call, struct str bytes)
{
    struct conn *c = CONN_OF_CALL(call);
    char size[20];

    assert(c->state == CONN_CALL && c->has_begun);
    if (!bytes.n || c->is_head_only)
        return;
    if (!c->is_chunked) {
        queue_bounded(c, bytes);
        return;
    }
    (void)buf_reserve(&c->out, bytes.n + sizeof(size)); /* once, and not twice as much for the line end */
    queue_bounded(c, (struct str){ size, (size_t)snprintf(size, sizeof(size), "%zx\r\n", bytes.n) });
    queue_bounded(c, bytes);
    queue_bounded(c, STR("\r\n"));
}

void http_answer_end(struct http_call *call)
{
    struct conn *c = CONN_OF_CALL(call);

    assert(c->state == CONN_CALL && c->has_begun);
    if (c->is_chunked && !c->is_head_only)
        conn_queue(c, STR("0\r\n\r\n"));
    conn_set_dirty(c);
    conn_enter(c, CONN_ANSWERED);
}

void http_answer_cut(struct http_call *call)
{
    struct conn *c = CONN_OF_CALL(call);

    assert(c->state == CONN_CALL);
    conn_forget_request(c);
    conn_enter(c, CONN_ANSWERED); /* which no callback reports */
    c->is_doomed = true;
    conn_set_dirty(c);
}

/* As it was when the request was handed over. */
static void call_take_back(struct conn *c)
{
    if (c->state == CONN_CALL && c->call_events.on_gone)
        c->call_events.on_gone(c->call_events.ctx, &c->call);
    c->out.n = c->answer_at;
    c->is_fresh = c->has_begun = c->owes_word = false;
    c->call_events = (struct http_call_events){ 0 };
    conn_enter(c, CONN_CALL);
}

void http_server_take_back(struct http_server *s, void (*answer)(void *ctx, struct http_call *call), void *ctx)
{
    LIST_FOREACH(struct conn, c, &s->conns, link)
        if (c->is_fresh && !c->is_doomed && (c->state == CONN_CALL || c->state == CONN_ANSWERED)) {
            call_take_back(c);
            answer(ctx, &c->call);
        }
}

size_t http_call_queued(struct http_call *call)
{
    return conn_queued(CONN_OF_CALL(call));
}

void http_call_watch(struct http_call *call, const struct http_call_events *events)
{
    struct conn *c = CONN_OF_CALL(call);

    assert(c->state == CONN_CALL);
    c->call_events = *events;
}

void http_call_guard(struct http_call *call, void *ctx, void (*on_over)(void *ctx))
{
    struct conn *c = CONN_OF_CALL(call);

    assert(c->state == CONN_CALL);
    c->guard = (struct call_guard){ ctx, on_over };
}

void http_call_drop(struct http_call *call)
{
    struct conn *c = CONN_OF_CALL(call);

    c->is_doomed = true;
    conn_set_dirty(c);
}

void conn_refuse(struct conn *c, int status, const char *why)
{
    static const char *const again[] = { "Retry-After: 1", NULL };
    autobuf body = { 0 };

    c->server->stats.bad_requests++;
    c->keeps_alive = false;
    buf_fmt(&body, "%s%s%s\n", call_reason_of(status), why ? ": " : "", why ? why : "");
    conn_forget_request(c);
    buf_done(&c->in);
    conn_enter(c, CONN_ANSWERED);
    call_put_head(c, &(struct http_reply){ .status = status, .headers = status == 429 ? again : NULL },
                  (int64_t)body.n);
    conn_queue(c, buf_view(&body));
}

/* ---- streams ---- */

struct http_stream *http_upgrade(struct http_call *call, const char *const *headers,
                                 const struct http_stream_events *events)
{
    struct conn *c = CONN_OF_CALL(call);
    autobuf head = { 0 };

    assert(c->state == CONN_CALL && !c->has_begun);
    c->status = 101;
    buf_str(&head, STR("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"));
    put_headers(&head, headers);
    buf_str(&head, STR("\r\n"));
    conn_queue(c, buf_view(&head));
    conn_forget_request(c);
    c->keeps_alive = c->is_paused = c->told_end = false;
    c->owes_word = true;
    c->stream_events = *events;
    conn_enter(c, CONN_STREAM);
    if (c->in.n || c->is_eof)
        conn_set_ready(c);
    return &c->stream;
}

void http_stream_write(struct http_stream *s, struct str bytes)
{
    struct conn *c = CONN_OF_STREAM(s);

    assert(c->state == CONN_STREAM);
    if (bytes.n)
        queue_bounded(c, bytes);
}

size_t http_stream_queued(struct http_stream *s)
{
    return conn_queued(CONN_OF_STREAM(s));
}

static void conn_hold(struct conn *c, size_t bytes)
{
    c->extra = bytes;
    conn_count(c);
}

void http_stream_hold(struct http_stream *s, size_t bytes)
{
    conn_hold(CONN_OF_STREAM(s), bytes);
}

void http_call_hold(struct http_call *call, size_t bytes)
{
    conn_hold(CONN_OF_CALL(call), bytes);
}

void http_stream_pause(struct http_stream *s, bool is_paused)
{
    struct conn *c = CONN_OF_STREAM(s);

    assert(c->state == CONN_STREAM);
    if (c->is_paused == is_paused)
        return;
    c->is_paused = is_paused;
    if (is_paused)
        conn_set_dirty(c);
    else
        conn_set_ready(c);
}

void http_stream_end(struct http_stream *s)
{
    struct conn *c = CONN_OF_STREAM(s);

    assert(c->state == CONN_STREAM);
    buf_done(&c->in);
    conn_enter(c, CONN_ANSWERED);
    conn_set_dirty(c);
}

void http_stream_leave(struct http_stream *s, int64_t wait_ms)
{
    CONN_OF_STREAM(s)->wait_ms = wait_ms;
    http_stream_end(s);
}

void http_stream_set_limit(struct http_stream *s, int64_t ms)
{
    struct conn *c = CONN_OF_STREAM(s);

    assert(c->state == CONN_STREAM);
    c->limit_ms = ms ? server_mono(c->server) + ms : INT64_MAX;
    conn_set_due(c, c->limit_ms);
    conn_set_dirty(c); /* and what it owes us has a limit of its own */
}

void http_stream_cut(struct http_stream *s)
{
    struct conn *c = CONN_OF_STREAM(s);

    http_stream_end(s);
    c->is_doomed = true;
}
