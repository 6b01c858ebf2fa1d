/* path.c - from a URL to its resource and verb */
#include "server/server_internal.h"

#include "base/codec.h"

const char *const verb_names[] = {
    [VERB_GET] = "get",       [VERB_LIST] = "list",
    [VERB_WATCH] = "watch",   [VERB_CREATE] = "create",
    [VERB_UPDATE] = "update", [VERB_PATCH] = "patch",
    [VERB_DELETE] = "delete", [VERB_DELETE_COLLECTION] = "deletecollection",
};

enum { PARTS = 12 };

/* /api/v1/namespaces/NS/pods/NAME/proxy, /api/v1/nodes/NAME/proxy: what follows is not ours. */
static bool is_proxy(const struct str *parts, size_t n)
{
    return n >= 5 && str_is(parts[n - 1], "proxy") && str_is(parts[0], "api") &&
           n == (str_is(parts[2], "namespaces") ? 7 : 5);
}

/* Parts of the path, decoded. A slash at the end is tolerated. */
static int path_split(struct arena *a, struct str path, struct str parts[PARTS], size_t *ret_n, struct str *ret_rest)
{
    struct str rest = str_from(path, 1), part;

    *ret_n = 0;
    *ret_rest = STR_NULL;
    while (rest.n && str_split(&rest, '/', &part)) {
        autobuf text = { 0 };

        if (*ret_n == PARTS || !part.n || percent_parse(part, false, &text) < 0)
            return -1;
        parts[(*ret_n)++] = arena_str(a, buf_view(&text));
        if (is_proxy(parts, *ret_n)) {
            *ret_rest = str_from(path, (size_t)(part.p + part.n - path.p));
            break;
        }
    }
    return 0;
}

/* namespaces/NS/RESOURCE[/NAME[/SUB]], or RESOURCE[/NAME[/SUB]]. */
static void read_resource(const struct str *parts, size_t n, struct server_target *ret)
{
    bool is_subresource = n == 3 && (str_is(parts[2], "status") || str_is(parts[2], "finalize"));

    if (n >= 3 && str_is(parts[0], "namespaces") && !is_subresource) {
        ret->namespace = parts[1];
        parts += 2;
        n -= 2;
    }
    ret->resource = n > 0 ? parts[0] : STR_NULL;
    ret->name = n > 1 ? parts[1] : STR_NULL;
    ret->subresource = n > 2 ? parts[2] : STR_NULL;
}

int path_parse(struct arena *a, struct str path, struct server_target *ret)
{
    struct str parts[PARTS];
    size_t n, at;

    *ret = (struct server_target){ 0 };
    if (path_split(a, path, parts, &n, &ret->rest) < 0)
        return -1;
    if (n == 0 || (!str_is(parts[0], "api") && !str_is(parts[0], "apis")))
        return 0;
    ret->is_api = true;
    at = str_is(parts[0], "api") ? 1 : 2;
    ret->group = at == 2 && n > 1 ? parts[1] : STR("");
    ret->version = n > at ? parts[at] : STR_NULL;
    at++;
    if (n > at && str_is(parts[at], "watch")) {
        ret->is_watch = true;
        at++;
    }
    if (n > at)
        read_resource(parts + at, n - at, ret);
    return 0;
}

enum verb verb_of(struct str method, const struct server_target *t, bool is_watch)
{
    static const struct {
        const char *method;
        enum verb one, all; /* with a name, and without */
    } rows[] = {
        { "GET", VERB_GET, VERB_LIST },       { "HEAD", VERB_GET, VERB_LIST },
        { "POST", VERB_CREATE, VERB_CREATE }, { "PUT", VERB_UPDATE, VERB_NONE },
        { "PATCH", VERB_PATCH, VERB_NONE },   { "DELETE", VERB_DELETE, VERB_DELETE_COLLECTION },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        enum verb v = t->name.n ? rows[i].one : rows[i].all;

        if (!str_is(method, rows[i].method))
            continue;
        return (is_watch || t->is_watch) && !t->subresource.n && (v == VERB_LIST || v == VERB_GET) ? VERB_WATCH : v;
    }
    return VERB_NONE;
}
