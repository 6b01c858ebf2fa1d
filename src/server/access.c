/* access.c - authentication, authorization and audit of requests, by src/auth */
#include "server/server_internal.h"

/* ---- what is asked for ---- */

static struct str method_verb(struct server_request *rq)
{
    return arena_lower(rq->arena, rq->call->method);
}

static struct rbac_question access_question_of(struct server_request *rq)
{
    const struct server_target *t = &rq->target;
    struct rbac_question of_page;

    if (page_question(rq->call->path, &of_page))
        return of_page;
    if (!t->resource.n)
        return (struct rbac_question){ .verb = method_verb(rq), .path = arena_str(rq->arena, rq->call->path) };
    return (struct rbac_question){ .verb = rq->verb < VERB_MAX ? str_of(verb_names[rq->verb]) : method_verb(rq),
                                   .namespace = t->namespace,
                                   .group = t->group,
                                   .resource = t->resource,
                                   .subresource = t->subresource,
                                   .name = t->name };
}

/* What is answered for as long as the client likes. */
static bool is_lasting(const struct server_request *rq)
{
    static const char *const streams[] = { "exec", "attach", "portforward", "proxy" };

    for (size_t i = 0; i < ARRAY_LEN(streams); i++)
        if (str_is(rq->target.subresource, streams[i]))
            return true;
    return rq->verb == VERB_WATCH || (str_is(rq->target.subresource, "log") && param_flag(rq, "follow"));
}

/* ---- the answer ---- */

static int access_refuse(struct server_request *rq, const struct auth_refusal *r)
{
    enum reason reason = r->status == 400   ? REASON_BAD_REQUEST
                         : r->status == 401 ? REASON_UNAUTHORIZED
                         : r->status == 429 ? REASON_TOO_MANY
                                            : REASON_FORBIDDEN;

    fail_with(rq, reason, "%.*s", STR_ARG(r->message));
    rq->failure.retry_s = r->retry_after_s;
    rq->failure.has_no_details = true;
    return -1;
}

/* Charge the bytes of the connection to its user. An anonymous user is not one client: those stay charged to the
 * address. */
static void charge(struct server_request *rq, const struct identity *who)
{
    if (!str_is(who->user, USER_ANONYMOUS))
        http_call_charge(rq->call, who->user, identity_has_group(who, STR(GROUP_MASTERS)));
}

bool access_may_send(struct server_request *rq)
{
    struct identity who;

    if (page_is_open(rq->call->path))
        return true;
    rq->question = access_question_of(rq);
    if (!auth_may_send(rq->server->opt.auth, rq->arena, rq->call, &rq->question, &who))
        return false;
    charge(rq, &who);
    return true;
}

int access_check(struct server_request *rq)
{
    struct auth *auth = rq->server->opt.auth;
    struct auth_refusal refusal;
    struct str reason;

    if (page_is_open(rq->call->path))
        return auth_check_site(auth, rq->arena, rq->call, &refusal) ? access_refuse(rq, &refusal) : 0;
    rq->lasts = is_lasting(rq);
    if (auth_call_begin(auth, rq->arena, rq->call, rq->lasts ? THROTTLE_STREAM : THROTTLE_REQUEST, &rq->caller))
        return access_refuse(rq, &rq->caller.refusal);
    rq->is_known = true;
    charge(rq, &rq->caller.real);
    http_call_set_client(rq->call, rq->caller.real.user);
    rq->question = access_question_of(rq);
    if (!auth_allows(auth, rq->arena, &rq->caller, &rq->question, &reason))
        return fail_with(rq, REASON_FORBIDDEN, "%.*s",
                         STR_ARG(rbac_forbidden(rq->arena, &rq->caller.who, &rq->question, reason)));
    if (rq->lasts)
        access_hold(rq);
    return 0;
}

void access_hold(struct server_request *rq)
{
    if (rq->is_known && !rq->is_held)
        auth_hold(rq->server->opt.auth, &rq->caller, &rq->question, rq->call);
    rq->is_held = true;
}

void access_done(struct server_request *rq)
{
    int begun = rq->status ? rq->status : http_call_status(rq->call); /* those it was handed to may have refused it */
    bool goes_on = !rq->status && begun < 400;                        /* answered bit by bit, or later */
    struct auth_done done = { .question = &rq->question,
                              .version = rq->target.version,
                              .status = begun ? begun : 200,
                              .reason = rq->status >= 400 ? rq->failure.message : STR_NULL,
                              .body = rq->sent,
                              .is_started = goes_on };

    if (rq->is_known)
        auth_call_end(rq->server->opt.auth, &rq->caller, &done);
}
