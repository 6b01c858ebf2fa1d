/* server_access.c - who asks, and may they: src/auth for src/server
 *
 * The administrator's own token, in admin.kubeconfig, is good whatever users and roles say: without it somebody who has
 * locked himself out could not get in again.
 */
#include "auth/auth.h"
#include "base/util.h"
#include "cli/server.h"
#include "server/server.h"

#include <openssl/crypto.h>

static const struct str admin_groups[] = { STR_INIT(GROUP_MASTERS), STR_INIT(GROUP_AUTHENTICATED) };
static const struct identity admin = { .user = STR_INIT("kubernetes-admin"), .groups = admin_groups, .n_groups = 2 };

static bool is_admin(const struct serve *s, const struct http_call *call)
{
    struct str header = http_call_header(call, "Authorization"), bearer = STR("Bearer ");
    struct str token = str_starts(header, bearer) ? str_trim(str_from(header, bearer.n)) : STR_NULL;

    return s->token.n && token.n == s->token.n && CRYPTO_memcmp(token.p, s->token.p, token.n) == 0;
}

static bool authenticate(void *ctx, struct arena *a, const struct http_call *call, struct server_user *ret)
{
    const struct serve *s = ctx;
    struct identity who;

    if (!auth_identify(s->auth, a, call, is_admin(s, call) ? &admin : NULL, &who))
        return false;
    *ret = (struct server_user){ who.user, who.uid, who.groups, who.n_groups };
    return true;
}

static bool authorize(void *ctx, struct arena *a, const struct server_attributes *at, struct str *ret_reason)
{
    const struct serve *s = ctx;
    struct auth_caller caller = { .who = { .user = at->user->name,
                                           .uid = at->user->uid,
                                           .groups = at->user->groups,
                                           .n_groups = at->user->n_groups } };
    struct rbac_question q = { .verb = str_of(at->verb),
                               .path = at->resource.n ? STR_NULL : at->path,
                               .namespace = at->namespace,
                               .group = at->group,
                               .resource = at->resource,
                               .subresource = at->subresource,
                               .name = at->name };

    return auth_allows(s->auth, a, &caller, &q, ret_reason);
}

static int token(void *ctx, struct arena *a, struct str namespace, struct str account, const struct json *request,
                 struct json **ret_status, struct err *e)
{
    const struct serve *s = ctx;
    struct json *answer;

    if (auth_token_request(s->auth, a, namespace, account, request, &answer, e) < 0)
        return -1;
    *ret_status = json_get(answer, "status");
    return 0;
}

struct server_access serve_access(struct serve *s)
{
    return (struct server_access){ .ctx = s, .authenticate = authenticate, .authorize = authorize, .token = token };
}
