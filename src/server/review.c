/* review.c - access and token reviews, and tokens of ServiceAccounts; none of them is stored */
#include "server/server_internal.h"

#include "api/schema/schemas.h"

int handle_review(struct server_request *rq)
{
    struct json *body, *answer;
    struct err e;

    if (body_object(rq, &body) < 0)
        return -1;
    if (auth_review(rq->server->opt.auth, rq->arena,
                    &(struct auth_review){ .caller = &rq->caller,
                                           .kind = str_of(rq->type->kind),
                                           .namespace = rq->target.namespace,
                                           .object = body },
                    &answer, &e) < 0)
        return fail_err(rq, &e);
    reply_json(rq, 201, answer);
    return 0;
}

/* ---- tokens of service accounts ---- */

int handle_token(struct server_request *rq)
{
    const struct server_target *t = &rq->target;
    struct json *body, *answer;
    struct err e;

    if (body_any(rq, body_types, &schema_token_request, &body) < 0)
        return -1;
    if (!store_get(rq->server->opt.store, rq->type, t->namespace, t->name))
        return fail_not_found(rq, rq->type, t->name);
    if (!body)
        body = json_object(rq->arena);
    if (auth_token_request(rq->server->opt.auth, rq->arena,
                           &(struct account_request){ .namespace = t->namespace, .name = t->name, .body = body },
                           &answer, &e) < 0)
        return fail_err(rq, &e);
    json_set(answer, "kind", json_str(rq->arena, STR("TokenRequest")));
    json_set(answer, "apiVersion", json_str(rq->arena, STR("authentication.k8s.io/v1")));
    reply_json(rq, 201, answer);
    return 0;
}

/* ---- for others who are shown such tokens ---- */

static int reply_as(struct server_request *rq, const char *type, const struct json *j)
{
    autobuf text = { 0 };

    json_print(&text, j);
    reply_text(rq, 200, type, buf_view(&text), NULL);
    return 0;
}

int handle_issuer(struct server_request *rq)
{
    return reply_as(rq, "application/json", accounts_discovery(auth_accounts(rq->server->opt.auth), rq->arena));
}

int handle_issuer_keys(struct server_request *rq)
{
    return reply_as(rq, "application/jwk-set+json", accounts_keys(auth_accounts(rq->server->opt.auth), rq->arena));
}
