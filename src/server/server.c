/* server.c - open, turn, close; one request from its first line to its answer */
#include "server/server_internal.h"

#include "api/message/message.h"

int64_t server_now_ms(const struct server *s)
{
    return clock_now_ms(s->opt.clock);
}

/* ---- parameters ---- */

bool param(const struct server_request *rq, const char *name, struct str *ret)
{
    autobuf text = { 0 };

    if (!http_call_param(rq->call, name, &text))
        return false;
    *ret = arena_str(rq->arena, buf_view(&text));
    return true;
}

bool flag_is_set(struct str text)
{
    return !str_is(text, "0") && !str_eq_nocase(text, STR("false"));
}

bool param_flag(const struct server_request *rq, const char *name)
{
    struct str text;

    return param(rq, name, &text) && flag_is_set(text);
}

int param_number(struct server_request *rq, const char *name, int64_t fallback, int64_t *ret)
{
    struct str text;

    *ret = fallback;
    if (!param(rq, name, &text) || !text.n || str_to_i64(text, ret) == 0)
        return 0;
    return fail_with(rq, REASON_BAD_REQUEST, "%s: must be a whole number (got \"%.*s\")", name,
                     STR_ARG(str_sub(text, 0, 40)));
}

/* Of those that people write by hand the answer is for people. */
static bool wants_pretty(const struct server_request *rq)
{
    static const char *const people[] = { "curl/", "Wget/", "Mozilla/" };
    struct str agent = http_call_header(rq->call, "User-Agent"), text;

    if (param(rq, "pretty", &text))
        return flag_is_set(text);
    for (size_t i = 0; i < ARRAY_LEN(people); i++)
        if (str_starts(agent, str_of(people[i])))
            return true;
    return false;
}

static int read_dry_run(struct server_request *rq)
{
    struct str text;

    if (!param(rq, "dryRun", &text) || !text.n)
        return 0;
    rq->is_dry = str_is(text, "All");
    return rq->is_dry
               ? 0
               : fail_field(rq, "FieldValueNotSupported", "dryRun",
                            "Unsupported value: \"%.*s\": supported values: \"All\"", STR_ARG(str_sub(text, 0, 40)));
}

static int read_validation(struct server_request *rq)
{
    static const char *const words[] = {
        [VALIDATE_WARN] = "Warn", [VALIDATE_STRICT] = "Strict", [VALIDATE_IGNORE] = "Ignore"
    };
    struct str text;

    if (!param(rq, "fieldValidation", &text) || !text.n)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is(text, words[i])) {
            rq->validation = (enum validation)i;
            return 0;
        }
    return fail_field(rq, "FieldValueNotSupported", "fieldValidation",
                      "Unsupported value: \"%.*s\": supported values: \"Ignore\", \"Strict\", \"Warn\"",
                      STR_ARG(str_sub(text, 0, 40)));
}

/* ---- whose request it is ---- */

typedef int (*handler_f)(struct server_request *rq);

static const struct route { /* what is no resource */
    const char *path;
    bool has_more; /* what follows is its own */
    handler_f handle;
} routes[] = {
    { "/", false, handle_door },
    { "/ui", true, handle_ui },
    { "/version", false, handle_version },
    { "/healthz", true, handle_health },
    { "/livez", true, handle_health },
    { "/readyz", true, handle_health },
    { "/metrics", false, handle_metrics },
    { "/openapi/v2", false, handle_openapi_v2 },
    { "/openapi/v3", true, handle_openapi_v3 },
    { "/.well-known/openid-configuration", false, handle_issuer },
    { "/openid/v1/jwks", false, handle_issuer_keys },
};

static const struct route *find_route(struct str path)
{
    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        struct str own = str_of(routes[i].path);

        if (str_eq(path, own) || (path.n == own.n + 1 && str_starts(path, own) && str_ends(path, STR("/"))) ||
            (routes[i].has_more && str_starts(path, own) && path.p[own.n] == '/'))
            return &routes[i];
    }
    return NULL;
}

static const handler_f by_verb[VERB_MAX] = {
    [VERB_GET] = handle_get,       [VERB_LIST] = handle_list,
    [VERB_WATCH] = handle_watch,   [VERB_CREATE] = handle_create,
    [VERB_UPDATE] = handle_update, [VERB_PATCH] = handle_patch,
    [VERB_DELETE] = handle_delete, [VERB_DELETE_COLLECTION] = handle_delete_collection,
};

static int no_such_page(struct server_request *rq)
{
    fail_with(rq, REASON_NOT_FOUND, "the server could not find the requested resource");
    rq->failure.has_no_details = true;
    return -1;
}

static int no_such_method(struct server_request *rq)
{
    return fail_with(rq, REASON_METHOD, "the server does not allow this method on the requested resource");
}

static int handle_subresource(struct server_request *rq)
{
    const struct subresource *sub = subresource_of(shown_as(rq), rq->target.subresource);

    if (!sub)
        return no_such_page(rq);
    if (!sub->handle[rq->verb])
        return no_such_method(rq);
    return sub->handle[rq->verb](rq);
}

static int handle_resource(struct server_request *rq)
{
    if (rq->type->scope == SCOPE_CLUSTER && rq->target.namespace.n)
        return no_such_page(rq);
    if (rq->type->scope == SCOPE_NAMESPACED && !rq->target.namespace.n &&
        (rq->target.name.n || (rq->verb != VERB_LIST && rq->verb != VERB_WATCH)))
        return rq->verb == VERB_CREATE || rq->verb == VERB_DELETE_COLLECTION ? no_such_method(rq) : no_such_page(rq);
    if (rq->target.subresource.n)
        return handle_subresource(rq);
    if (rq->type->use == TYPE_ASKED && rq->verb == VERB_CREATE)
        return strcmp(rq->type->kind, "Binding") == 0 ? handle_binding(rq) : handle_review(rq);
    if (rq->verb >= VERB_MAX || !type_allows(rq->type, rq->verb) || (rq->verb == VERB_CREATE && rq->target.name.n))
        return no_such_method(rq);
    return rq->type->use == TYPE_MEASURED ? handle_usage(rq) : by_verb[rq->verb](rq);
}

static int dispatch(struct server_request *rq)
{
    const struct route *route = rq->target.is_api ? NULL : find_route(rq->call->path);

    if (rq->target.is_api && rq->target.resource.n)
        return rq->type ? handle_resource(rq) : no_such_page(rq);
    if (!rq->target.is_api && !route)
        return no_such_page(rq);
    if (!str_is(rq->call->method, "GET") && !str_is(rq->call->method, "HEAD"))
        return no_such_method(rq);
    return rq->target.is_api ? handle_discovery(rq) : route->handle(rq);
}

/* A stream that begins with GET does more than look. */
static bool is_acting(struct str subresource)
{
    return str_is(subresource, "exec") || str_is(subresource, "attach") || str_is(subresource, "portforward");
}

static int read_target(struct server_request *rq)
{
    struct server_target *t = &rq->target;

    if (path_parse(rq->arena, rq->call->path, t) < 0)
        return fail_with(rq, REASON_BAD_REQUEST, "malformed request path");
    rq->verb = verb_of(rq->call->method, t, t->resource.n && param_flag(rq, "watch"));
    if (is_acting(t->subresource) && rq->verb == VERB_GET)
        rq->verb = VERB_CREATE;
    if (t->resource.n)
        rq->type = type_by_plural(t->group, t->version, t->resource);
    if (t->resource.n && !rq->type)
        custom_target(rq);
    if (rq->type && view_stored(rq->type)) {
        rq->view = rq->type;
        rq->type = view_stored(rq->view);
    }
    return 0;
}

/* Kubernetes' own kinds have a form in protobuf. */
static unsigned allowed_forms(const struct server_request *rq)
{
    const struct resource_type *t = rq->view ? rq->view : rq->type;
    bool has_message = t && message_by_kind(type_api_version(rq->arena, t), str_of(t->kind));

    if (rq->target.is_api && !rq->target.version.n)
        return ACCEPT_ALLOWS_DISCOVERY;
    return (t && t->use == TYPE_ASKED ? 0 : ACCEPT_ALLOWS_TABLE) | (has_message ? ACCEPT_ALLOWS_PROTOBUF : 0);
}

static int server_read_rest(struct server_request *rq)
{
    struct str path = rq->call->path;
    bool is_page = str_is(path, "/") || str_is(path, "/ui") || str_starts(path, STR("/ui/")); /* for browsers */
    bool is_plain = rq->target.is_api || !(str_starts(path, STR("/openapi/v2")) || is_page);
    bool is_stream = rq->target.subresource.n &&
                     (is_acting(rq->target.subresource) || str_is(rq->target.subresource, "log"));

    if (str_is(rq->target.subresource, "proxy"))
        return 0; /* parameters and what the client accepts are the pod's */
    rq->is_pretty = wants_pretty(rq);
    if (is_plain && !is_stream &&
        accept_parse(http_call_header(rq->call, "Accept"), allowed_forms(rq), &rq->accept) < 0)
        return fail_with(rq, REASON_NOT_ACCEPTABLE,
                         "only the following media types are accepted: application/json, application/yaml");
    return read_dry_run(rq) < 0 || read_validation(rq) < 0 || owner_check(rq) < 0 ? -1 : 0;
}

void server_request(void *server, struct http_call *call)
{
    struct server *s = server;
    autoarena a = { 0 };
    struct server_request rq = { .server = s, .arena = &a, .call = call, .verb = VERB_NONE };

    s->stats.requests++;
    if (read_target(&rq) < 0 || access_check(&rq) < 0 || server_read_rest(&rq) < 0 || dispatch(&rq) < 0)
        if (!rq.is_answered)
            reply_failure(&rq);
    access_done(&rq);
}

/* A client that may not is answered as if all of it had come: the body is not looked at before that. */
void server_head(void *server, struct http_call *call)
{
    struct server *s = server;
    autoarena a = { 0 };
    struct server_request rq = { .server = s, .arena = &a, .call = call, .verb = VERB_NONE };

    if (read_target(&rq) == 0 && access_may_send(&rq))
        return;
    s->stats.requests++;
    if (!rq.failure.message.n && access_check(&rq) == 0)
        fail_with(&rq, REASON_TOO_MANY, "permissions changed during the request; try again");
    reply_failure(&rq);
    access_done(&rq);
}

/* ---- open, turn, close ---- */

struct server *server_new(const struct server_options *opt)
{
    struct server *s = xcalloc(1, sizeof(*s));

    s->opt = *opt;
    if (!s->opt.scheduler_name.n)
        s->opt.scheduler_name = STR("volcano");
    list_init(&s->items);
    map_init(&s->documents, map_seed_default());
    map_init(&s->orphans.nodes, map_seed_default());
    map_init(&s->taints.waiting, map_seed_default());
    watches_init(s);
    control_begin(s);
    return s;
}

void server_free(struct server *s)
{
    if (!s)
        return;
    watches_done(s);
    items_done(s);
    control_done(s);
    usage_done(s);
    openapi_forget(s);
    for (size_t i = 0; i < ENCODED_MAX; i++)
        buf_done(&s->encoded[i].text);
    map_done(&s->documents);
    arena_done(&s->schema_arena);
    free(s);
}

int64_t server_turn(struct server *s)
{
    int64_t due_ms = control_turn(s);

    return MIN_OF(watches_turn(s), due_ms);
}

void server_set_runas(struct server *s, const struct runas_policy *policy, bool enters_all)
{
    s->opt.runas = policy;
    s->opt.enters_all = enters_all;
}

void server_stop(struct server *s)
{
    s->is_stopping = true;
    watches_stop(s);
}
