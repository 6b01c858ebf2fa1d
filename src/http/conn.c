/* conn.c - the life of a connection: which step follows when bytes have come in or gone out */
#include "base/util.h"
#include "http/server_internal.h"

#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

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

static bool conn_is_called(enum conn_state state)
{
    return state == CONN_WAITS || state == CONN_CALL;
}

void conn_enter(struct conn *c, enum conn_state state)
{
    struct http_server_stats *stats = &c->server->stats;
    struct call_guard guard = is_served(c->state) && !is_served(state) ? c->guard : (struct call_guard){ 0 };

    stats->calls += (size_t)conn_is_called(state) - (size_t)conn_is_called(c->state);
    stats->streams += (size_t)(state == CONN_STREAM) - (size_t)(c->state == CONN_STREAM);
    c->state = state;
    c->limit_ms = INT64_MAX;
    c->extra = is_served(state) ? c->extra : 0;
    list_remove(&c->waiting);
    if (state == CONN_SHAKES || state == CONN_HEAD)
        list_push(&c->server->idle, &c->waiting);
    set_patience(c, patience_of(c, state));
    if (!guard.on_over)
        return;
    c->guard = (struct call_guard){ 0 };
    guard.on_over(guard.ctx);
}

/* ---- requests ---- */

/* By what it shows, else by where it comes from. The word after "Bearer" alone: blanks make no other client. */
static uint64_t client_key(const struct conn *c)
{
    struct str shown = http_call_header(&c->call, "Authorization"), word;
    uint64_t seed = c->server->seed;

    if (shown.n) {
        for (struct str rest = shown; str_split(&rest, ' ', &word);)
            shown = word.n ? word : shown;
        return str_hash(shown, seed) | 1;
    }
    if (c->peer.common_name.n)
        return str_hash(c->peer.common_name, seed + 1) | 1;
    return c->peer.port ? str_hash(str_of(c->peer.address), seed + 2) | 1 : (seed + (uint64_t)c->peer.uid) | 1;
}

/* The request is whole: it is served when its turn comes. */
static void line_up(struct conn *c)
{
    conn_enter(c, CONN_WAITS);
    c->call = (struct http_call){ c->head.method, c->head.path, c->head.query, buf_view(&c->body), &c->peer };
    c->client = client_key(c);
    fair_push(&c->server->fair, c->client, &c->ticket);
}

/* Reading a request costs too: about 1 µs for each KiB. */
void conn_serve(struct conn *c)
{
    struct http_server *s = c->server;
    int64_t begin_us = clock_mono_us(s->clock), bytes_us = (int64_t)(c->body.n >> 10);
    uint64_t client = c->client;

    conn_enter(c, CONN_CALL);
    c->is_first = c->has_begun = false;
    c->status = 0;
    c->keeps_alive = c->head.keeps_alive;
    c->is_head_only = str_is(c->head.method, "HEAD");
    c->call_events = (struct http_call_events){ 0 };
    s->stats.requests++;
    s->on_request(s->ctx, &c->call);
    fair_charge(&s->fair, client, clock_mono_us(s->clock) - begin_us + bytes_us);
}

/* The length of the body is known, or it comes in chunks. */
static void take_body(struct conn *c)
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
    if (used < 0) {
        conn_refuse(c, (int)-used, used == -413 ? "the body is too large" : "malformed chunked encoding");
        return;
    }
    buf_drop(&c->in, (size_t)used);
    if (is_whole) {
        line_up(c);
        return;
    }
    c->is_doomed |= c->is_eof;
    if (c->body.n == before)
        return;
    /* Time is earned by input: a body that comes by drops ends soon, one that is long and comes steadily does not. */
    conn_set_due(c, c->body_begun_ms + s->limits.body_ms + (int64_t)(c->body.n * 1000 / s->limits.body_rate));
    conn_moved(c);
}

/* Reject a body that its client may not send before it is received. True: rejected. */
static bool ask_about_body(struct conn *c)
{
    struct http_server *s = c->server;
    bool has_whole_body = !c->head.is_chunked && c->in.n >= c->head.length;

    if (!s->on_head || has_whole_body)
        return true;
    conn_enter(c, CONN_CALL);
    c->has_begun = c->keeps_alive = false;
    c->is_head_only = str_is(c->head.method, "HEAD");
    c->call_events = (struct http_call_events){ 0 };
    c->call = (struct http_call){ c->head.method, c->head.path, c->head.query, STR_NULL, &c->peer };
    s->on_head(s->ctx, &c->call);
    if (c->state == CONN_CALL)
        return true;
    s->stats.requests++;
    buf_done(&c->in);
    return false;
}

static bool conn_take_head(struct conn *c)
{
    const struct http_server_limits *l = &c->server->limits;
    int status = http_head_parse(buf_view(&c->text), &c->head);

    if (status) {
        conn_refuse(c, status, NULL);
        return false;
    }
    if (!c->head.is_chunked && c->head.length > l->body_bytes) {
        conn_refuse(c, 413, "the body is too large");
        return false;
    }
    if (!ask_about_body(c))
        return false;
    if (!c->head.is_chunked && c->head.length)
        (void)buf_reserve(&c->body, (size_t)c->head.length); /* once; so much is counted, and no more is needed */
    c->chunks = (struct http_chunks){ 0 };
    c->body_begun_ms = server_mono(c->server);
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
        buf_drop(&c->in, c->scanned);
    }
    c->scanned = 0;
    return conn_take_head(c);
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

/* Meanwhile each write answers input: a client that sends and does not read must not make the queue grow. */
static void hand_data(struct conn *c, struct str bytes)
{
    size_t before = c->out.n - c->sent, now;

    c->stream_events.on_data(c->stream_events.ctx, &c->stream, bytes);
    now = c->out.n - c->sent;
    if (c->state == CONN_STREAM && now > before)
        c->replies += now - before;
}

static bool may_give_data(const struct conn *c)
{
    return !c->is_paused && !c->is_doomed && c->replies <= HTTP_REPLIES_BYTES;
}

static void give_data(struct conn *c)
{
    struct buf data = c->in;

    if (!may_give_data(c))
        return;
    if (data.n) {
        c->in = (struct buf){ 0 };
        hand_data(c, buf_view(&data));
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
        return may_give_data(c);
    case CONN_WAITS:
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
        c->is_doomed = c->lingered > MAX_OF((size_t)HTTP_LINGER_BYTES, c->server->limits.body_bytes) && !c->wait_ms;
        return;
    }
    if (c->state == CONN_STREAM && !c->in.n) {
        hand_data(c, bytes);
        return;
    }
    buf_str(&c->in, bytes);
}

static void do_next(struct conn *c)
{
    if (c->state == CONN_HEAD && (c->in.n || c->is_eof) && !scan_head(c))
        return;
    if (c->state == CONN_BODY)
        take_body(c);
    else if (c->state == CONN_STREAM)
        give_data(c);
    else if ((c->state == CONN_CALL && c->has_begun && c->is_eof) || (c->state == CONN_LINGERS && c->is_eof))
        c->is_doomed = true; /* a client that reads on and on does not end its own side */
}

static void conn_shake(struct conn *c)
{
    int rc = tls_shake(c);

    if (rc == IO_BROKEN)
        c->is_doomed = true;
    else if (rc == IO_PLAIN)
        conn_refuse(c, 400, "client sent an HTTP request to an HTTPS server");
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
        conn_count(c);
    }
    if (wants_input(c) && conn_has_more(c))
        conn_set_ready(c);
}

void conn_turn(struct conn *c)
{
    uint32_t got = c->got;

    c->got = 0;
    if (c->state == CONN_SHAKES && got)
        conn_shake(c);
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
    bool owes_word = c->owes_word, was_full = c->replies > HTTP_REPLIES_BYTES;

    buf_done(&c->out);
    c->sent = c->replies = 0;
    c->owes_word = false;
    list_remove(&c->waiter); /* who still has to wait asks again */
    if (was_full)
        conn_set_ready(c); /* TLS may have bytes that epoll does not know of */
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
        conn_moved(c);
    }
}

/* ---- clients that take nothing ---- */

static bool is_sending(const struct conn *c)
{
    return (is_served(c->state) || c->state == CONN_ANSWERED) && c->sent < c->out.n;
}

/* Bytes that the kernel has and the other side has not. It says that there is room only when much of that has gone. */
static int kernel_queue(const struct conn *c)
{
    int left;

    return ioctl(c->source.fd, SIOCOUTQ, &left) < 0 ? 0 : left;
}

/* Looked at four times before patience ends. */
static void set_stall(struct conn *c)
{
    int64_t send_ms = c->server->limits.send_ms, due_ms = c->limit_ms;

    if (is_sending(c)) {
        c->kernel_queue = kernel_queue(c);
        due_ms = MIN_OF(due_ms, MIN_OF(server_mono(c->server) + send_ms / 4, c->moved_ms + send_ms));
    }
    if (is_served(c->state) ? due_ms != c->due_ms : is_sending(c))
        conn_set_due(c, due_ms);
}

/* Its time is over; but has it taken something that only the kernel knows of? */
static bool still_takes(struct conn *c)
{
    int64_t now_ms = server_mono(c->server);

    if (!is_sending(c) || now_ms >= c->limit_ms)
        return false;
    if (kernel_queue(c) < c->kernel_queue)
        conn_moved(c);
    if (now_ms >= c->moved_ms + c->server->limits.send_ms)
        return false;
    set_stall(c);
    return true;
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
    conn_count(c);
    set_stall(c);
    if (!c->is_doomed)
        look_for(c);
    if (c->is_doomed)
        conn_close(c);
}

/* ---- the end ---- */

void conn_late(struct conn *c)
{
    if (still_takes(c))
        return;
    c->server->stats.dropped_slow += is_sending(c);
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
    fair_leave(&s->fair, &c->ticket);
    list_remove(&c->ready);
    list_remove(&c->link);
    list_push(&s->dead, &c->link);
    s->stats.connections--;
    conn_leave_tenants(c);
    tell_gone(c, was);
    conn_forget_request(c);
}
