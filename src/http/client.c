/* client.c - requests: sent, limited in time, ended
 *
 * A request goes over a connection that rests, or else over a new one. It is sent a second time only if that can do no
 * harm: it has no body and changes nothing, or not all of it had left, and the connection was an old one, which the
 * server may close at any time. A body that went out may have been acted on: that ends as an error of unknown outcome.
 */
#include "http/client_internal.h"

#include "base/clock.h"
#include "base/util.h"

#include <assert.h>
#include <unistd.h>

enum { UNZIP_BYTES = 16 << 10, ZIP_BITS = 15 + 16 }; /* 16: with the head of gzip */

/* ---- limits in time ---- */

static int64_t client_limit_of(const struct http_exchange *x, enum exchange_limit limit)
{
    const struct http_request *r = &x->request;

    switch (limit) {
    case LIMIT_CONNECT:
        return x->on && x->on->state < LINK_WORKS ? x->on->due_ms : INT64_MAX;
    case LIMIT_HEAD:
        return x->has_begun ? INT64_MAX : x->heard_ms + r->head_ms;
    case LIMIT_IDLE:
        return x->has_begun && !x->is_paused ? x->heard_ms + r->idle_ms : INT64_MAX;
    default:
        return r->total_ms ? x->sent_us / 1000 + r->total_ms : INT64_MAX;
    }
}

/* Which limit comes first. */
static enum exchange_limit limit_first(const struct http_exchange *x)
{
    enum exchange_limit first = LIMIT_CONNECT;

    for (enum exchange_limit l = LIMIT_HEAD; l <= LIMIT_TOTAL; l++)
        if (client_limit_of(x, l) < client_limit_of(x, first))
            first = l;
    return first;
}

/* A limit that comes later than it did is noticed when the old one is due. */
void exchange_limits(struct http_exchange *x)
{
    int64_t due_ms = client_limit_of(x, limit_first(x));

    if (due_ms >= x->due_ms || x->is_cancelled)
        return;
    x->due_ms = due_ms;
    heap_moved(&x->client->timers, &x->node);
}

void exchange_heard(struct http_exchange *x)
{
    x->heard_ms = http_mono_ms();
    if (x->on->generation == x->client->generation)
        x->client->heard_ms = x->heard_ms;
}

/* ---- life of an exchange ---- */

void exchange_free(struct http_exchange *x)
{
    if (x->on) {
        x->on->exchange = NULL;
        link_close(x->on);
    }
    heap_remove(&x->client->timers, &x->node);
    list_remove(&x->link);
    if (x->zip)
        (void)inflateEnd(x->zip); /* fails for what is no stream */
    free(x->zip);
    buf_done(&x->out);
    buf_done(&x->response.text);
    buf_done(&x->collected);
    free(x);
}

/* Counted, told, released. */
void exchange_end(struct http_exchange *x)
{
    struct http_client *c = x->client;

    c->stats.sent_bytes += x->out_at == x->out.n ? x->body_n : 0;
    c->stats.in_flight--;
    x->answer.took_us = clock_mono_us(&clock_real) - x->sent_us;
    x->answer.body = buf_view(&x->collected);
    x->is_cancelled = true; /* cancelling it in its own on_end has no effect */
    if (x->request.on_end)
        x->request.on_end(x->request.ctx, &x->answer);
    exchange_free(x);
}

void exchange_again(struct http_exchange *x)
{
    x->on = NULL;
    x->out_at = 0;
    link_dial(x->client, x);
    exchange_limits(x);
}

/* Later requests use new connections. */
static void retire(struct http_client *c)
{
    c->generation++;
    c->heard_ms = 0;
    LIST_FOREACH(struct link, l, &c->resting, link)
        link_close(l);
}

void exchange_expire(struct http_exchange *x, int64_t now_ms)
{
    enum exchange_limit limit = limit_first(x);
    struct http_client *c = x->client;

    x->due_ms = client_limit_of(x, limit);
    heap_moved(&c->timers, &x->node);
    if (x->due_ms > now_ms) /* something was heard meanwhile */
        return;
    if (limit == LIMIT_CONNECT) {
        x->due_ms = INT64_MAX; /* until the next step is known */
        heap_moved(&c->timers, &x->node);
        link_late(x->on);
        return;
    }
    failure_tell_late(x, limit);
    /* Not a word on any connection since it was sent: they may be dead without saying so. */
    if (!x->has_begun && x->on && x->on->generation == c->generation && c->heard_ms <= x->heard_ms)
        retire(c);
    exchange_end(x);
}

void http_set_idle(struct http_exchange *x, int64_t idle_ms)
{
    x->request.idle_ms = idle_ms;
    exchange_limits(x);
    if (!x->client->is_turning)
        turn_arm(x->client);
}

void http_pause(struct http_exchange *x, bool is_paused)
{
    struct link *l = x->on;

    if (x->is_cancelled || x->is_paused == is_paused)
        return;
    x->is_paused = is_paused;
    x->heard_ms = http_mono_ms();
    if (!is_paused)
        exchange_limits(x);
    if (!l || l->state != LINK_WORKS)
        return;
    link_watch(l, link_events(l));
    list_remove(&l->more); /* it may have been read in part */
    if (!is_paused) {      /* TLS may have read more than was asked for */
        list_push(&x->client->more, &l->more);
        if (!x->client->is_turning)
            turn_arm(x->client);
    }
}

void http_write(struct http_exchange *x, struct str bytes)
{
    if (x->is_cancelled || !x->on || x->answer.status != 101)
        return;
    if (x->out_at == x->out.n) {
        buf_reset(&x->out);
        x->out_at = 0;
    }
    buf_str(&x->out, bytes);
    link_write(x->on); /* a broken connection is reported in the next turn */
    if (!x->client->is_turning)
        turn_arm(x->client);
}

size_t http_queued(const struct http_exchange *x)
{
    return x->out.n - x->out_at;
}

void http_cancel(struct http_exchange *x)
{
    struct http_client *c = x->client;

    if (x->is_cancelled)
        return;
    x->is_cancelled = true;
    c->stats.in_flight--;
    if (x->on) {
        x->on->exchange = NULL;
        link_close(x->on);
        x->on = NULL;
    }
    heap_remove(&c->timers, &x->node);
    list_remove(&x->link);
    list_push(&c->dead, &x->link);
    if (!c->is_turning)
        exchange_free(x);
}

/* ---- the answer ---- */

bool exchange_begins(struct http_exchange *x)
{
    x->has_begun = true;
    exchange_limits(x);
    x->answer.status = x->response.status;
    if (x->request.on_head)
        x->request.on_head(x->request.ctx, &x->answer);
    return !x->is_cancelled;
}

static bool deliver(struct http_exchange *x, struct str data)
{
    if (x->request.on_data && (x->answer.status < 300 || x->request.takes_any)) {
        x->request.on_data(x->request.ctx, data);
        return !x->is_cancelled;
    }
    if (data.n > x->request.max_bytes - x->collected.n) {
        link_fail(x->on, FAILURE_TOO_BIG, "");
        return false;
    }
    buf_str(&x->collected, data);
    return true;
}

static bool unzip(struct http_exchange *x, struct str data)
{
    char out[UNZIP_BYTES];
    int rc = Z_OK;

    if (!x->zip) {
        x->zip = xcalloc(1, sizeof(*x->zip));
        if (inflateInit2(x->zip, ZIP_BITS) != Z_OK)
            abort(); /* memory */
    }
    x->zip->next_in = (unsigned char *)data.p;
    x->zip->avail_in = (unsigned)data.n;
    do {
        x->zip->next_out = (unsigned char *)out;
        x->zip->avail_out = sizeof(out);
        rc = x->is_zip_over ? Z_DATA_ERROR : inflate(x->zip, Z_NO_FLUSH);
        x->is_zip_over = rc == Z_STREAM_END;
        if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR) {
            link_fail(x->on, FAILURE_ZIP, "");
            return false;
        }
        if (x->zip->avail_out < sizeof(out) && !deliver(x, (struct str){ out, sizeof(out) - x->zip->avail_out }))
            return false;
    } while (x->zip->avail_in || !x->zip->avail_out);
    return true;
}

bool exchange_data(struct http_exchange *x, struct str data)
{
    x->client->stats.received_bytes += data.n;
    return x->request.is_zipped && x->response.is_zipped ? unzip(x, data) : deliver(x, data);
}

struct str http_header(const struct http_answer *a, const char *name)
{
    struct str value = STR_NULL;
    size_t at = 0;

    if (a->inner && a->inner->has_begun)
        (void)http_fields_next(a->inner->response.fields, str_of(name), &at, &value); /* not there: empty */
    return value;
}

bool http_next_header(const struct http_answer *a, size_t *at, struct str *ret_name, struct str *ret_value)
{
    return a->inner && a->inner->has_begun && http_fields_each(a->inner->response.fields, at, ret_name, ret_value);
}

/* ---- sending ---- */

/* Without what would end a line: text from elsewhere makes no headers of its own. */
static void put_clean(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] >= ' ')
            buf_char(out, s.p[i]);
}

static void client_put_field(struct buf *out, const char *name, struct str value)
{
    buf_str(out, str_of(name));
    buf_str(out, STR(": "));
    put_clean(out, value);
    buf_str(out, STR("\r\n"));
}

static bool is_safe(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

static void put_request(const struct http_client *c, const struct http_request *r, struct buf *out)
{
    buf_reserve(out, 512 + r->path.n + r->token.n + r->body.n);
    buf_str(out, str_of(r->method));
    buf_char(out, ' ');
    buf_str(out, str_of(c->prefix));
    put_clean(out, r->path);
    buf_str(out, STR(" HTTP/1.1\r\n"));
    buf_str(out, buf_view(&c->fields));
    client_put_field(out, "Accept", str_of(r->accept ? r->accept : "application/json"));
    if (r->token.n) {
        buf_str(out, STR("Authorization: Bearer "));
        put_clean(out, r->token);
        buf_str(out, STR("\r\n"));
    }
    for (const char *const *line = r->headers; line && *line; line++) {
        put_clean(out, str_of(*line));
        buf_str(out, STR("\r\n"));
    }
    if (r->is_zipped)
        buf_str(out, STR("Accept-Encoding: gzip\r\n"));
    if (r->body.n && r->body_type)
        client_put_field(out, "Content-Type", str_of(r->body_type));
    if (r->body.n || !is_safe(r->method)) {
        buf_str(out, STR("Content-Length: "));
        buf_i64(out, (int64_t)r->body.n);
        buf_str(out, STR("\r\n"));
    }
    buf_str(out, STR("\r\n"));
    buf_str(out, r->body);
}

static void exchange_start(struct http_exchange *x)
{
    struct link *l = LIST_LAST(&x->client->resting, struct link, link);

    if (l)
        link_take(l, x);
    else
        link_dial(x->client, x);
    exchange_limits(x);
}

struct http_exchange *http_send(struct http_client *c, const struct http_request *r)
{
    struct http_exchange *x = xcalloc(1, sizeof(*x));

    x->client = c;
    x->request = *r;
    x->request.head_ms = r->head_ms ? r->head_ms : HTTP_HEAD_MS;
    x->request.idle_ms = r->idle_ms ? r->idle_ms : x->request.head_ms;
    x->request.max_bytes = r->max_bytes ? r->max_bytes : HTTP_MAX_BYTES;
    x->answer.inner = x;
    x->is_safe = is_safe(r->method) && !r->body.n && !r->is_upgrade;
    x->is_head = strcmp(r->method, "HEAD") == 0;
    x->response.may_upgrade = r->is_upgrade;
    x->body_n = r->body.n;
    x->sent_us = clock_mono_us(&clock_real);
    x->heard_ms = x->sent_us / 1000;
    put_request(c, r, &x->out);
    x->request.path = x->request.body = x->request.token = STR_NULL;
    x->request.headers = NULL;
    x->due_ms = client_limit_of(x, limit_first(x));
    heap_push(&c->timers, &x->node);
    c->stats.requests++;
    c->stats.in_flight++;
    list_push(&c->exchanges, &x->link);
    exchange_start(x);
    if (!c->is_turning)
        turn_arm(c);
    return x;
}

/* ---- the client ---- */

static int sooner(const struct heap_node *a, const struct heap_node *b)
{
    const struct http_exchange *x = HEAP_ITEM(a, const struct http_exchange, node);
    const struct http_exchange *y = HEAP_ITEM(b, const struct http_exchange, node);

    return (x->due_ms > y->due_ms) - (x->due_ms < y->due_ms);
}

void http_client_free(struct http_client *c)
{
    if (!c)
        return;
    assert(!c->is_turning);
    list_append(&c->exchanges, &c->failed);
    list_append(&c->exchanges, &c->dead);
    LIST_FOREACH(struct http_exchange, x, &c->exchanges, link)
        exchange_free(x);
    list_append(&c->closed, &c->resting);
    list_append(&c->closed, &c->links);
    LIST_FOREACH(struct link, l, &c->closed, link)
        link_free(l);
    resolve_done(c);
    turn_done(c);
    context_done(c);
    heap_done(&c->timers);
    target_done(c);
    free(c);
}

void http_client_set_certificate(struct http_client *c, struct str cert_pem, struct str key_pem)
{
    retire(c);
    context_done(c);
    buf_reset(&c->cert_pem);
    buf_str(&c->cert_pem, cert_pem);
    buf_reset(&c->key_pem);
    buf_str(&c->key_pem, key_pem);
}

void http_client_cut(struct http_client *c)
{
    LIST_FOREACH(struct link, l, &c->links, link)
        if (l->exchange)
            link_fail(l, l->state < LINK_WORKS ? FAILURE_LATE : FAILURE_CLOSED, "");
    retire(c);
    if (!c->is_turning)
        turn_arm(c);
}

void http_client_stats(const struct http_client *c, struct http_stats *ret)
{
    *ret = c->stats;
}

int http_client_new(const struct http_options *opt, struct http_client **ret, struct err *e)
{
    struct http_client *c = xcalloc(1, sizeof(*c));

    c->epoll = c->timer = c->event = -1;
    list_init(&c->links);
    list_init(&c->resting);
    list_init(&c->closed);
    list_init(&c->more);
    list_init(&c->exchanges);
    list_init(&c->failed);
    list_init(&c->dead);
    heap_init(&c->timers, sooner);
    c->connect_ms = opt->connect_ms ? opt->connect_ms : HTTP_CONNECT_MS;
    c->open_socket = opt->open_socket;
    c->socket_ctx = opt->socket_ctx;
    if (target_set(c, opt, e) < 0 || turn_init(c, e) < 0) {
        http_client_free(c);
        return -1;
    }
    *ret = c;
    return 0;
}
