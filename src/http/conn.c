/* conn.c - a connection's life: what it does next with the bytes that came, and when they have gone out */
#include "base/util.h"
#include "http/server_internal.h"

#include <sys/epoll.h>

/* ---- states ---- */

static int64_t patience_of(const struct conn *c, enum conn_state state)
{
    const struct http_server_limits *l = &c->server->limits;

    switch (state) {
    case CONN_SHAKES:
        return l->head_ms;
    case CONN_HEAD:
        return c->is_first ? l->head_ms : l->idle_ms;
    case CONN_BODY:
        return l->body_ms;
    case CONN_ANSWERED:
        return l->send_ms;
    case CONN_LINGERS:
        return c->wait_ms ? c->wait_ms : HTTP_LINGER_MS;
    default:
        return INT64_MAX;
    }
}

static void set_patience(struct conn *c, int64_t ms)
{
    conn_set_due(c, ms == INT64_MAX ? ms : server_mono(c->server) + ms);
}

static bool is_served(enum conn_state state)
{
    return state == CONN_CALL || state == CONN_STREAM;
}

void conn_enter(struct conn *c, enum conn_state state)
{
    struct http_server_stats *stats = &c->server->stats;
    struct call_guard guard = is_served(c->state) && !is_served(state) ? c->guard : (struct call_guard){ 0 };

    stats->calls += (size_t)(state == CONN_CALL) - (size_t)(c->state == CONN_CALL);
    stats->streams += (size_t)(state == CONN_STREAM) - (size_t)(c->state == CONN_STREAM);
    c->state = state;
    list_remove(&c->waiting);
    if (state == CONN_SHAKES || state == CONN_HEAD)
        list_push(&c->server->idle, &c->waiting);
    set_patience(c, patience_of(c, state));
    if (!guard.on_over)
        return;
    c->guard = (struct call_guard){ 0 };
    guard.on_over(guard.ctx);
}

static void drop_front(struct buf *b, size_t n)
{
    if (n == b->n) {
        buf_done(b); /* most connections are idle most of the time */
        return;
    }
    memmove(b->p, b->p + n, b->n - n);
    b->n -= n;
}

/* ---- requests ---- */

static void hand_over(struct conn *c)
{
    struct http_server *s = c->server;

    conn_enter(c, CONN_CALL);
    c->is_first = c->has_begun = false;
    c->keeps_alive = c->head.keeps_alive;
    c->is_head_only = str_is(c->head.method, "HEAD");
    c->call_events = (struct http_call_events){ 0 };
    c->call = (struct http_call){ c->head.method, c->head.path, c->head.query, buf_view(&c->body), &c->peer };
    s->stats.requests++;
    s->on_request(s->ctx, &c->call);
}

/* The length of the body is known, or it comes in chunks. False: there is nothing to do before more has come. */
static bool take_body(struct conn *c)
{
    struct http_server *s = c->server;
    size_t before = c->body.n;
    ptrdiff_t used;
    bool is_whole;

    if (c->head.is_chunked) {
        used = http_chunks_take(&c->chunks, buf_view(&c->in), s->limits.body_bytes, &c->body);
        is_whole = c->chunks.is_done;
    } else {
        used = (ptrdiff_t)MIN_OF(c->in.n, (size_t)c->head.length - before);
        buf_append(&c->body, c->in.p, (size_t)used);
        is_whole = c->body.n == c->head.length;
    }
    s->bodies_bytes += c->body.n - before;
    if (used < 0) {
        conn_refuse(c, (int)-used, used == -413 ? "the body is too long" : "chunks that are none");
        return false;
    }
    drop_front(&c->in, (size_t)used);
    if (is_whole) {
        hand_over(c);
    } else if (s->bodies_bytes > s->limits.bodies_bytes) {
        conn_refuse(c, 503, "too much is being received; try again");
    } else if (c->is_eof) {
        c->is_doomed = true;
    }
    return false;
}

static bool take_head(struct conn *c)
{
    const struct http_server_limits *l = &c->server->limits;
    int status = http_head_parse(buf_view(&c->text), &c->head);

    if (status) {
        conn_refuse(c, status, NULL);
        return false;
    }
    if (!c->head.is_chunked && c->head.length > l->body_bytes) {
        conn_refuse(c, 413, "the body is too long");
        return false;
    }
    c->chunks = (struct http_chunks){ 0 };
    conn_enter(c, CONN_BODY);
    if (c->head.expects_continue && !c->in.n && (c->head.is_chunked || c->head.length))
        conn_continue(c);
    return true;
}

/* The head gets a buffer of its own: what follows it moves. */
static bool cut_head(struct conn *c)
{
    if (c->scanned == c->in.n) {
        c->text = c->in;
        c->in = (struct buf){ 0 };
    } else {
        buf_append(&c->text, c->in.p, c->scanned);
        drop_front(&c->in, c->scanned);
    }
    c->scanned = 0;
    return take_head(c);
}

static bool scan_head(struct conn *c)
{
    const struct http_server_limits *l = &c->server->limits;
    bool is_new = !c->scanned;
    enum http_scan scan = http_head_scan(buf_view(&c->in), &c->scanned);

    if (scan == HTTP_SCAN_BAD)
        conn_refuse(c, 400, NULL);
    else if ((scan == HTTP_SCAN_END ? c->scanned : c->in.n) > l->head_bytes)
        conn_refuse(c, 431, NULL);
    else if (scan == HTTP_SCAN_END)
        return cut_head(c);
    else if (c->is_eof)
        c->is_doomed = true;
    else if (is_new && c->scanned && !c->is_first)
        set_patience(c, l->head_ms);
    return false;
}

/* ---- streams ---- */

static void give_data(struct conn *c)
{
    struct buf data = c->in;

    if (c->is_paused || c->is_doomed)
        return;
    if (data.n) {
        c->in = (struct buf){ 0 };
        c->stream_events.on_data(c->stream_events.ctx, &c->stream, buf_view(&data));
        buf_done(&data);
    }
    if (!c->is_eof || c->told_end || c->state != CONN_STREAM || c->is_doomed || c->is_paused)
        return;
    c->told_end = true;
    if (c->stream_events.on_end)
        c->stream_events.on_end(c->stream_events.ctx, &c->stream);
    else
        c->is_doomed = true;
}

/* ---- reading ---- */

static bool wants_input(const struct conn *c)
{
    if (c->is_eof || c->is_doomed)
        return false;
    switch (c->state) {
    case CONN_STREAM:
        return !c->is_paused;
    case CONN_CALL: /* what was sent ahead, within reason; and to see that the client has left */
        return c->in.n < c->server->limits.head_bytes;
    case CONN_ANSWERED:
    case CONN_DEAD:
        return false;
    default:
        return true;
    }
}

static void take_bytes(struct conn *c, struct str bytes)
{
    if (c->state == CONN_LINGERS) {
        c->lingered += bytes.n;
        c->is_doomed = c->lingered > HTTP_LINGER_BYTES && !c->wait_ms;
        return;
    }
    if (c->state == CONN_STREAM && !c->in.n) {
        c->stream_events.on_data(c->stream_events.ctx, &c->stream, bytes);
        return;
    }
    buf_str(&c->in, bytes);
}

static void do_next(struct conn *c)
{
    if (c->state == CONN_HEAD && (c->in.n || c->is_eof) && !scan_head(c))
        return;
    if (c->state == CONN_BODY)
        (void)take_body(c);
    else if (c->state == CONN_STREAM)
        give_data(c);
    else if ((c->state == CONN_CALL && c->has_begun && c->is_eof) || (c->state == CONN_LINGERS && c->is_eof))
        c->is_doomed = true; /* nobody who reads on and on ends its own side */
}

static void shake(struct conn *c)
{
    int rc = tls_shake(c);

    if (rc == IO_BROKEN)
        c->is_doomed = true;
    else if (rc == IO_PLAIN)
        conn_refuse(c, 400, "an HTTP request to a server that speaks HTTPS");
    else if (rc == 0)
        conn_enter(c, CONN_HEAD);
}

static void take_input(struct conn *c)
{
    struct http_server *s = c->server;

    for (int i = 0; i < HTTP_READS && wants_input(c); i++) {
        ssize_t n = conn_recv(c, s->bytes, sizeof(s->bytes));

        if (n == IO_AGAIN)
            return;
        c->is_doomed = c->is_doomed || n == IO_BROKEN;
        c->is_eof = n == 0;
        if (n > 0)
            take_bytes(c, (struct str){ s->bytes, (size_t)n });
        do_next(c);
    }
    if (wants_input(c) && conn_has_more(c))
        conn_set_ready(c);
}

void conn_turn(struct conn *c)
{
    uint32_t got = c->got;

    c->got = 0;
    if (c->state == CONN_SHAKES && got)
        shake(c);
    if (c->state != CONN_SHAKES && (got & ~(uint32_t)EPOLLOUT)) {
        do_next(c); /* what was left */
        take_input(c);
    }
    if ((got & EPOLLERR) || ((got & EPOLLHUP) && !wants_input(c)))
        c->is_doomed = true;
}

/* ---- sending ---- */

static void wind_up(struct conn *c)
{
    if (!c->wait_ms) {
        tls_end(c);
        (void)shutdown(c->source.fd, SHUT_WR); /* fails if it is broken, which is seen soon */
    }
    if (c->is_eof)
        c->is_doomed = true;
    else /* closed at once, what the client still sends would destroy the answer on its way */
        conn_enter(c, CONN_LINGERS);
}

/* All that was queued is in the kernel's hands. */
static void all_out(struct conn *c)
{
    bool owes_word = c->owes_word;

    buf_done(&c->out);
    c->sent = 0;
    c->owes_word = false;
    if (c->state == CONN_ANSWERED && c->keeps_alive && !c->server->is_stopping) {
        conn_enter(c, CONN_HEAD);
        if (c->in.n || c->is_eof || conn_has_more(c))
            conn_set_ready(c);
    } else if (c->state == CONN_ANSWERED) {
        wind_up(c);
    } else if (c->state == CONN_CALL && owes_word && c->call_events.on_ready) {
        c->call_events.on_ready(c->call_events.ctx, &c->call);
    } else if (c->state == CONN_STREAM && owes_word && c->stream_events.on_ready) {
        c->stream_events.on_ready(c->stream_events.ctx, &c->stream);
    }
}

static void send_out(struct conn *c)
{
    while (c->sent < c->out.n && !c->is_doomed) {
        ssize_t n = conn_send(c, str_from(buf_view(&c->out), c->sent));

        if (n == IO_AGAIN)
            return;
        if (n == IO_BROKEN) {
            c->is_doomed = true;
            return;
        }
        c->sent += (size_t)n;
        if (c->state == CONN_ANSWERED)
            set_patience(c, c->server->limits.send_ms);
    }
}

static void look_for(struct conn *c)
{
    uint32_t events = (wants_input(c) ? (uint32_t)EPOLLIN : 0) |
                      (c->sent < c->out.n || c->wants_out ? (uint32_t)EPOLLOUT : 0);
    struct epoll_event ev = { .events = events, .data.ptr = &c->source };

    if (events == c->events)
        return;
    c->events = events;
    if (epoll_ctl(c->server->epoll, EPOLL_CTL_MOD, c->source.fd, &ev) < 0)
        c->is_doomed = true;
}

void conn_flush(struct conn *c)
{
    if (c->state == CONN_DEAD)
        return;
    c->is_fresh = false;
    if (c->state != CONN_SHAKES)
        send_out(c);
    if (!c->is_doomed && c->sent == c->out.n && (c->state == CONN_ANSWERED || c->owes_word))
        all_out(c);
    if (!c->is_doomed)
        look_for(c);
    if (c->is_doomed)
        conn_close(c);
}

/* ---- the end ---- */

void conn_late(struct conn *c)
{
    conn_set_due(c, INT64_MAX);
    if (c->state == CONN_BODY || (c->state == CONN_HEAD && c->in.n))
        conn_refuse(c, 408, NULL);
    else
        c->is_doomed = true;
    conn_set_dirty(c);
}

static void tell_gone(struct conn *c, enum conn_state was)
{
    if (was == CONN_CALL && c->call_events.on_gone)
        c->call_events.on_gone(c->call_events.ctx, &c->call);
    else if (was == CONN_STREAM)
        c->stream_events.on_gone(c->stream_events.ctx, &c->stream);
}

void conn_close(struct conn *c)
{
    struct http_server *s = c->server;
    enum conn_state was = c->state;

    conn_enter(c, CONN_DEAD);
    conn_set_due(c, INT64_MAX);
    tls_end(c);
    close(c->source.fd); /* which takes it out of the epoll */
    c->source.fd = -1;
    list_remove(&c->ready);
    list_remove(&c->link);
    list_push(&s->dead, &c->link);
    s->stats.connections--;
    if (c->address && --c->address->n == 0) {
        (void)map_remove(&s->addresses, str_of(c->address->text));
        free(c->address);
    }
    tell_gone(c, was);
    conn_forget_request(c);
}
