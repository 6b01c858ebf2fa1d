/* access.c - who asks, and may they
 *
 * What is not given in server_options.access: there is one user, the administrator, known by a token, or by being the
 * one who runs this program and asks through its UNIX socket.
 */
#include "server/server_internal.h"

#include <openssl/crypto.h>

static const struct str admin_groups[] = { STR_INIT("system:masters"), STR_INIT("system:authenticated") };
static const struct str anonymous_groups[] = { STR_INIT("system:unauthenticated") };

/* "Authorization: Bearer TOKEN"; a browser's WebSocket, which can set no header, offers it as a protocol. */
static bool token_of(struct arena *a, const struct http_call *call, struct str *ret)
{
    struct str header = http_call_header(call, "Authorization"), bearer = STR("Bearer "), part;
    struct str prefix = STR("base64url.bearer.authorization.k8s.io."), list;

    if (header.n) {
        *ret = str_starts(header, bearer) ? str_trim(str_from(header, bearer.n)) : STR_NULL;
        return true;
    }
    list = http_call_header(call, "Sec-WebSocket-Protocol");
    while (list.n && str_split(&list, ',', &part)) {
        autobuf coded = { 0 }, text = { 0 };

        part = str_trim(part);
        if (!str_starts(part, prefix))
            continue;
        for (size_t i = prefix.n; i < part.n; i++)
            buf_char(&coded, part.p[i] == '-' ? '+' : part.p[i] == '_' ? '/' : part.p[i]);
        while (coded.n % 4)
            buf_char(&coded, '=');
        (void)buf_unbase64(&text, buf_view(&coded)); /* else it is the wrong token */
        *ret = arena_str(a, buf_view(&text));
        return true;
    }
    return false;
}

static bool is_token(struct str given, struct str wanted)
{
    return given.n == wanted.n && CRYPTO_memcmp(given.p, wanted.p, wanted.n) == 0;
}

static bool authenticate(struct request *rq)
{
    const struct server_options *opt = &rq->server->opt;
    bool is_owner = rq->call->peer->uid >= 0 && (unsigned)rq->call->peer->uid == (unsigned)geteuid();
    struct str token = STR_NULL;
    bool has_token = token_of(rq->arena, rq->call, &token);

    if (opt->access.authenticate)
        return opt->access.authenticate(opt->access.ctx, rq->arena, rq->call, &rq->user);
    rq->user = (struct server_user){ STR("system:anonymous"), STR_NULL, anonymous_groups, ARRAY_LEN(anonymous_groups) };
    if (has_token && opt->admin_token.n && !is_token(token, opt->admin_token))
        return false;
    if ((has_token && opt->admin_token.n) || (!has_token && is_owner) || !opt->admin_token.n)
        rq->user = (struct server_user){ STR("kubernetes-admin"), STR_NULL, admin_groups, ARRAY_LEN(admin_groups) };
    return true;
}

static bool is_in(const struct server_user *user, const char *group)
{
    for (size_t i = 0; i < user->n_groups; i++)
        if (str_is(user->groups[i], group))
            return true;
    return false;
}

/* What says nothing about the cluster but that it is there. */
static bool is_open(struct str path)
{
    static const char *const paths[] = { "/healthz", "/livez", "/readyz", "/version" };

    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        if (str_is(path, paths[i]) || (str_starts(path, str_of(paths[i])) && path.p[strlen(paths[i])] == '/'))
            return true;
    return false;
}

bool access_allows(struct request *rq, const struct server_attributes *at, struct str *ret_reason)
{
    const struct server_access *access = &rq->server->opt.access;

    *ret_reason = STR_NULL;
    if (access->authorize)
        return access->authorize(access->ctx, rq->arena, at, ret_reason);
    return is_in(at->user, "system:masters") || (!at->resource.n && is_open(at->path));
}

static struct str resource_of(const struct request *rq)
{
    const struct target *t = &rq->target;

    return arena_fmt(rq->arena, "%.*s%s%.*s", STR_ARG(t->resource), t->subresource.n ? "/" : "",
                     STR_ARG(t->subresource));
}

static int forbid(struct request *rq, const struct server_attributes *at, struct str reason)
{
    const struct target *t = &rq->target;
    autobuf where = { 0 };

    if (!at->resource.n)
        return fail_with(rq, REASON_FORBIDDEN, "forbidden: User \"%.*s\" cannot %s path \"%.*s\"",
                         STR_ARG(at->user->name), at->verb, STR_ARG(str_sub(at->path, 0, 200)));
    if (t->namespace.n)
        buf_fmt(&where, " in the namespace \"%.*s\"", STR_ARG(t->namespace));
    else
        buf_str(&where, STR(" at the cluster scope"));
    return fail_with(
        rq, REASON_FORBIDDEN,
        "%.*s%s%.*s%s%.*s%s is forbidden: User \"%.*s\" cannot %s resource \"%.*s\" in API group \"%.*s\"%s%s%.*s",
        STR_ARG(t->resource), t->group.n ? "." : "", STR_ARG(t->group), t->name.n ? " \"" : "", STR_ARG(t->name),
        t->name.n ? "\"" : "", STR_ARG(at->user->name), at->verb, STR_ARG(resource_of(rq)), STR_ARG(t->group), where.p,
        reason.n ? ": " : "", STR_ARG(reason));
}

int access_check(struct request *rq)
{
    const struct target *t = &rq->target;
    static const char *const methods[][2] = {
        { "GET", "get" }, { "HEAD", "head" },   { "POST", "post" },
        { "PUT", "put" }, { "PATCH", "patch" }, { "DELETE", "delete" },
    };
    struct server_attributes at = { .user = &rq->user, .verb = "options", .path = rq->call->path };
    struct str reason;

    if (page_is_open(rq->call->path))
        return 0;
    if (!authenticate(rq))
        return fail_with(rq, REASON_UNAUTHORIZED, "Unauthorized");
    if (!rq->server->opt.access.authenticate && http_call_header(rq->call, "Impersonate-User").n)
        return fail_with(rq, REASON_FORBIDDEN, "impersonation (kubectl --as) is not offered by this server");
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (str_is(rq->call->method, methods[i][0]))
            at.verb = methods[i][1];
    if (t->resource.n) {
        at = (struct server_attributes){ &rq->user,     rq->verb < VERB_MAX ? verb_names[rq->verb] : at.verb,
                                         t->group,      t->version,
                                         t->resource,   t->subresource,
                                         t->namespace,  t->name,
                                         rq->call->path };
    }
    return access_allows(rq, &at, &reason) ? 0 : forbid(rq, &at, reason);
}
