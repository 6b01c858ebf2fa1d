/* auth_hold.c - watches and streams: they end with the rights of those who opened them
 *
 * All of them are looked at when the list of users has changed, which is at once; and once a second: accounts, their
 * pods and roles are objects, and credentials end. A look costs about a microsecond for each.
 */
#include "auth/auth_internal.h"

#include "auth/users.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/util.h"

enum { LOOK_MS = 1000 };

struct hold {
    struct list_link link;
    struct auth *auth;
    struct http_call *call;
    struct arena arena; /* of what follows */
    struct identity real, who;
    struct rbac_question question;
    struct throttle_ticket ticket;
};

static void on_over(void *ctx)
{
    struct hold *h = ctx;

    throttle_end(h->auth->throttle, &h->ticket);
    list_remove(&h->link);
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

void auth_hold(struct auth *auth, struct auth_caller *caller, const struct rbac_question *q, struct http_call *call)
{
    struct hold *h = xcalloc(1, sizeof(*h));

    h->auth = auth;
    h->call = call;
    h->real = identity_copy(&h->arena, &caller->real);
    h->who = identity_copy(&h->arena, &caller->who);
    h->question = question_copy(&h->arena, q);
    h->ticket = caller->ticket;
    caller->ticket = (struct throttle_ticket){ 0 };
    list_push(&auth->holds, &h->link);
    http_call_guard(call, h, on_over);
}

/* Somebody without a uid is nobody, or somebody of this machine: he cannot be removed. */
static bool knows(const struct auth *auth, const struct identity *who, int64_t now_ms)
{
    const struct user *user;

    if (who->end_ms && now_ms >= who->end_ms)
        return false;
    if (!who->uid.n)
        return true;
    if (str_starts(who->user, STR(USER_ACCOUNT_PREFIX)))
        return accounts_know(auth->accounts, who, now_ms);
    user = users_find(auth->users, who->user);
    return user && str_eq(user->uid, who->uid);
}

void holds_turn(struct auth *auth)
{
    int64_t mono_ms = clock_mono_ms(auth->clock), now_ms = clock_now_ms(auth->clock);

    if (auth->held_users == users_generation(auth->users) && mono_ms < auth->held_ms + LOOK_MS)
        return;
    auth->held_users = users_generation(auth->users);
    auth->held_ms = mono_ms;
    LIST_FOREACH(struct hold, h, &auth->holds, link)
        if (!knows(auth, &h->real, now_ms) || !rbac_allows(auth->rbac, &h->who, &h->question))
            http_call_drop(h->call);
}
