/* auth_hold.c - watches and streams: they end with what opened them
 *
 * A stream keeps what its request has shown: the headers that say who asks and as whom, beside the connection with its
 * certificate or uid. Twice a second, and at once when users or keys have changed, all of it is checked again as if the
 * request came now: who is it, may he be the one he asks as, may that one do this? Whatever ends a credential or a
 * right for new requests so ends it for streams, and there is no second list of ways to lose one.
 *
 * A look costs some microseconds for each: signatures of tokens are not checked again while the keys stay (account.c).
 */
#include "auth/auth_internal.h"

#include "pki/certificate.h"
#include "auth/users.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/util.h"
#include "http/request.h"

struct auth_hold {
    struct list_link link;
    struct auth *auth;
    struct http_call *call;
    const struct http_peer *peer; /* as long as the call or stream is there */
    struct buf fields;            /* of the request: those that say who asks; a secret */
    struct arena arena;           /* of what follows */
    struct identity real;
    struct rbac_question question;
    struct throttle_ticket ticket;
};

static void on_over(void *ctx)
{
    struct auth_hold *h = ctx;

    throttle_end(h->auth->throttle, &h->ticket);
    list_remove(&h->link);
    secret_wipe(&h->fields);
    arena_done(&h->arena);
    free(h);
}

static struct rbac_question question_copy(struct arena *a, const struct rbac_question *q)
{
    return (struct rbac_question){ .verb = arena_str(a, q->verb),
                                   .path = arena_str(a, q->path),
                                   .namespace = arena_str(a, q->namespace),
                                   .group = arena_str(a, q->group),
                                   .resource = arena_str(a, q->resource),
                                   .subresource = arena_str(a, q->subresource),
                                   .name = arena_str(a, q->name) };
}

static bool says_who(struct str name)
{
    struct str prefix = STR("Impersonate-");

    return str_eq_nocase(name, STR("Authorization")) || str_eq_nocase(name, STR("Sec-WebSocket-Protocol")) ||
           str_eq_nocase(str_sub(name, 0, prefix.n), prefix);
}

static void fields_copy(struct buf *out, struct str fields)
{
    struct str name, value;
    size_t at = 0;

    while (http_fields_each(fields, &at, &name, &value))
        if (says_who(name))
            buf_fmt(out, "%.*s: %.*s\r\n", STR_ARG(name), STR_ARG(value));
}

void auth_hold(struct auth *auth, struct auth_caller *caller, const struct rbac_question *q, struct http_call *call)
{
    struct auth_hold *h = xcalloc(1, sizeof(*h));

    h->auth = auth;
    h->call = call;
    h->peer = call->peer;
    fields_copy(&h->fields, http_call_fields(call));
    h->real = identity_copy(&h->arena, &caller->real);
    h->question = question_copy(&h->arena, q);
    h->ticket = caller->ticket;
    caller->ticket = (struct throttle_ticket){ 0 };
    list_push(&auth->holds, &h->link);
    http_call_guard(call, h, on_over);
}

/* A user whose groups changed loses its streams too: not all that depends on groups is RBAC. */
static bool still_may(struct auth *auth, struct arena *a, const struct auth_hold *h)
{
    struct authn_request rq = { h->peer, buf_view(&h->fields) };
    struct identity who;
    struct err e;

    return auth_identify(auth, a, &rq, &who) && identity_equal(&who, &h->real) &&
           authn_impersonate(auth->rbac, a, rq.fields, &who, &e) >= 0 && rbac_allows(auth->rbac, &who, &h->question);
}

void holds_turn(struct auth *auth)
{
    int64_t mono_ms = clock_mono_ms(auth->clock);
    autoarena a = { 0 };

    if (!auth->has_stale_holds && auth->held_users == users_generation(auth->users) &&
        mono_ms < auth->held_ms + HOLDS_LOOK_MS)
        return;
    auth->has_stale_holds = false;
    auth->held_users = users_generation(auth->users);
    auth->held_ms = mono_ms;
    LIST_FOREACH(struct auth_hold, h, &auth->holds, link) {
        if (!still_may(auth, &a, h))
            http_call_drop(h->call);
        arena_reset(&a);
    }
}
