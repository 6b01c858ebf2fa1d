/* tenant.c - which client is charged for the bytes that connections hold
 *
 * A tenant is a user, or the address that a connection comes from until its user is known. Whatever a connection holds
 * counts for one tenant: input that was not used yet, heads and bodies being received, what its client has not taken,
 * and what the layers above hold on its behalf (http_stream_hold). This file is the only place that counts.
 *
 *     out > half of the limit     answers written bit by bit wait (conn_queued), until on_ready
 *     bytes > the limit           connections that have waited longest for their client are dropped, one by one
 *     all of them together > 'held_bytes'    the same, for tenants that have more than an equal part of it
 *
 * An answer in one piece is never dropped for its own size: so a tenant holds the limit and one such answer.
 */
#include "http/server_internal.h"

#include "base/util.h"

#include <arpa/inet.h>

enum { HOLDER_BYTES = 4 << 10 }; /* who holds less is not worth dropping */

/* ---- names ---- */

/* One machine has a whole /64 of IPv6 addresses to choose from. */
static void put_network(struct buf *out, const char *address)
{
    struct in6_addr at;
    char text[INET6_ADDRSTRLEN];

    if (inet_pton(AF_INET6, address, &at) != 1) {
        buf_str(out, str_of(address));
        return;
    }
    memset(&at.s6_addr[8], 0, 8);
    buf_fmt(out, "%s/64", inet_ntop(AF_INET6, &at, text, sizeof(text)));
}

static struct server_tenant *tenant_ref(struct http_server *s, struct str key)
{
    struct server_tenant *t = map_get(&s->tenants, key);

    if (!t) {
        t = xcalloc(1, sizeof(*t) + key.n);
        memcpy(t->key, key.p, key.n);
        t->key_n = key.n;
        list_init(&t->holders);
        list_init(&t->waiters);
        (void)map_put(&s->tenants, (struct str){ t->key, key.n }, t);
    }
    t->refs++;
    return t;
}

static void tenant_unref(struct http_server *s, struct server_tenant *t)
{
    if (!t || --t->refs)
        return;
    (void)map_remove(&s->tenants, (struct str){ t->key, t->key_n });
    free(t);
}

bool conn_join_address(struct conn *c)
{
    struct http_server *s = c->server;
    autobuf key = { 0 };

    if (c->peer.port)
        buf_str(&key, STR("address/"));
    else
        buf_fmt(&key, "unix/%d", c->peer.uid);
    if (c->peer.port)
        put_network(&key, c->peer.address);
    c->address = tenant_ref(s, buf_view(&key));
    if (c->peer.port && c->address->connections >= s->limits.per_address) {
        tenant_unref(s, c->address);
        c->address = NULL;
        return false;
    }
    c->address->connections++;
    c->tenant = c->address;
    c->tenant->refs++;
    return true;
}

/* ---- sums ---- */

/* Administrators are counted, so that they are seen, and not limited. */
static bool is_over(const struct http_server *s, const struct server_tenant *t)
{
    if (t->is_free)
        return false;
    return t->bytes > s->limits.tenant_bytes ||
           (s->held_bytes > s->limits.held_bytes && t->bytes > s->limits.held_bytes / MAX_OF(s->n_holding, (size_t)1));
}

static bool is_tight(const struct http_server *s, const struct server_tenant *t)
{
    return !t->is_free && t->out > s->limits.tenant_bytes / 2;
}

static void tenant_count(struct conn *c, size_t held, size_t out)
{
    struct http_server *s = c->server;
    struct server_tenant *t = c->tenant;
    bool was_holding = t->bytes > 0;

    t->bytes += held - c->held;
    t->out += out - c->held_out;
    s->stats.held_bytes += held - c->held;
    if (!t->is_free) {
        s->held_bytes += held - c->held;
        s->n_holding += (size_t)(t->bytes > 0) - (size_t)was_holding;
    }
    c->held = held;
    c->held_out = out;
    if (held < HOLDER_BYTES)
        list_remove(&c->holder);
    else if (!list_is_linked(&c->holder))
        list_push(&t->holders, &c->holder);
}

/* ---- room ---- */

static void wake_waiters(const struct http_server *s, struct server_tenant *t)
{
    if (is_tight(s, t))
        return;
    for (struct list_link *link; (link = list_pop_front(&t->waiters));) {
        struct conn *c = LIST_ITEM(link, struct conn, waiter);

        c->owes_word = true;
        conn_set_dirty(c);
    }
}

/* It is closed in this turn or the next, and no longer counts for its tenant. */
static void tenant_drop(struct conn *c)
{
    tenant_count(c, 0, 0);
    c->is_uncounted = c->is_doomed = true;
    c->server->stats.dropped_room++;
    conn_set_dirty(c);
}

static void tenant_make_room(struct http_server *s, struct server_tenant *t, const struct conn *keep)
{
    LIST_FOREACH(struct conn, c, &t->holders, holder) {
        if (!is_over(s, t))
            return;
        if (c != keep)
            tenant_drop(c);
    }
}

/* Alone too much: an answer in one piece is let go out, all else ends. */
static void refuse_alone(struct conn *c)
{
    if (c->state == CONN_HEAD || c->state == CONN_BODY)
        conn_refuse(c, 429, "too many bytes from this client in flight; try again");
    else if (c->state != CONN_ANSWERED && c->state != CONN_LINGERS && c->state != CONN_WAITS &&
             !(c->state == CONN_CALL && !c->has_begun))
        tenant_drop(c);
}

void conn_count(struct conn *c)
{
    size_t held = c->in.cap + c->text.cap + c->body.cap + c->out.cap + c->extra, before = c->held;
    struct server_tenant *t = c->tenant;

    if (c->is_uncounted || !t)
        return;
    tenant_count(c, held, c->out.cap);
    if (held > before && is_over(c->server, t)) {
        tenant_make_room(c->server, t, c);
        if (is_over(c->server, t))
            refuse_alone(c);
    } else if (held < before) {
        wake_waiters(c->server, t);
    }
}

void conn_moved(struct conn *c)
{
    c->moved_ms = server_mono(c->server);
    if (!list_is_linked(&c->holder))
        return;
    list_remove(&c->holder);
    list_push(&c->tenant->holders, &c->holder);
}

size_t conn_queued(struct conn *c)
{
    if (!c->tenant || !is_tight(c->server, c->tenant))
        return c->out.n - c->sent;
    if (!list_is_linked(&c->waiter))
        list_push(&c->tenant->waiters, &c->waiter);
    return SIZE_MAX;
}

/* ---- who ---- */

static void tenant_leave(struct conn *c)
{
    struct server_tenant *t = c->tenant;

    tenant_count(c, 0, 0);
    list_remove(&c->waiter);
    wake_waiters(c->server, t);
    c->tenant = NULL;
    tenant_unref(c->server, t);
}

void http_call_charge(struct http_call *call, struct str name, bool is_free)
{
    struct conn *c = CONN_OF_CALL(call);
    struct str kind = is_free ? STR("free/") : STR("user/"), now = { c->tenant->key, c->tenant->key_n };
    autobuf key = { 0 };
    struct server_tenant *t;

    if (str_starts(now, kind) && str_eq(str_from(now, kind.n), name))
        return;
    buf_str(&key, kind);
    buf_str(&key, name);
    t = tenant_ref(c->server, buf_view(&key));
    t->is_free = is_free;
    tenant_leave(c);
    c->tenant = t;
    conn_count(c);
}

void conn_leave_tenants(struct conn *c)
{
    if (!c->tenant)
        return;
    tenant_leave(c);
    c->address->connections--;
    tenant_unref(c->server, c->address);
    c->address = NULL;
}
