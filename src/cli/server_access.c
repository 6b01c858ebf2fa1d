/* server_access.c - who asks, and may they: src/auth for src/server
 *
 * The administrator's own token, in admin.kubeconfig, is good whatever users and roles say: without it somebody who has
 * locked himself out could not get in again.
 */
#include "api/job.h"
#include "api/meta.h"
#include "auth/auth.h"
#include "auth/runas.h"
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

static struct auth_caller caller_of(const struct server_user *user)
{
    return (struct auth_caller){
        .who = { .user = user->name, .uid = user->uid, .groups = user->groups, .n_groups = user->n_groups }
    };
}

static bool authorize(void *ctx, struct arena *a, const struct server_attributes *at, struct str *ret_reason)
{
    const struct serve *s = ctx;
    struct auth_caller caller = caller_of(at->user);
    struct rbac_question q = { .verb = str_of(at->verb),
                               .path = at->resource.n ? STR_NULL : at->path,
                               .namespace = at->namespace,
                               .group = at->group,
                               .resource = at->resource,
                               .subresource = at->subresource,
                               .name = at->name };

    return auth_allows(s->auth, a, &caller, &q, ret_reason);
}

/* ---- what is written ---- */

/* Whoever may make pods may run programs here: those of ordinary people within Pod Security "restricted". */
static void check_pods(const struct identity *who, const struct json *object, struct problems *ps)
{
    struct place root = { .node = object }, spec = place_member(&root, "spec"), tasks = place_member(&spec, "tasks");
    size_t i = 0;

    if (str_is(object_kind(object), "Pod"))
        (void)runas_decide(NULL, who, object_namespace(object), &root, ps);
    if (!str_is(object_kind(object), JOB_KIND))
        return;
    JSON_FOREACH(node, tasks.node) {
        struct place task = place_item(&tasks, node, i++), template = place_member(&task, "template");

        (void)runas_decide(NULL, who, object_namespace(object), &template, ps);
    }
}

static int write_check(void *ctx, struct arena *a, const struct server_user *user, const struct json *object,
                       const struct json *old, struct err *e)
{
    const struct serve *s = ctx;
    struct auth_caller caller = caller_of(user);
    struct problems ps = { .arena = a };
    autobuf text = { 0 };

    if (str_starts(object_api_version(object), STR("rbac.authorization.k8s.io/")))
        return auth_check_write(s->auth, a, &caller, object, old, e);
    if (old && json_equal(json_get(old, "spec"), json_get(object, "spec")))
        return 0; /* a label, a finalizer */
    check_pods(&caller.who, object, &ps);
    VEC_FOREACH(p, &ps.list)
        buf_fmt(&text, "%s%.*s: %.*s", text.n ? "; " : "", STR_ARG(p->path), STR_ARG(p->text));
    if (!ps.n_errors)
        return 0;
    return err_set(e, ERR_FORBIDDEN,
                   "%.*s \"%.*s\" is forbidden: violates PodSecurity \"restricted\", as which %.*s runs pods here: %s",
                   STR_ARG(object_kind(object)), STR_ARG(object_name(object)), STR_ARG(user->name), text.p);
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
    return (struct server_access){
        .ctx = s, .authenticate = authenticate, .authorize = authorize, .write = write_check, .token = token
    };
}
