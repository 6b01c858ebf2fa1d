/* ctl.c - one conversation with a Kubernetes API */
#include "ctl/ctl.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "kube/path.h"

#include <signal.h>

enum { PAGE_ITEMS = 500 };

#define TABLES "application/json;as=Table;v=v1;g=meta.k8s.io"

/* ---- life ---- */

static int find_server(struct ctl *c, const struct ctl_where *where, struct err *e)
{
    struct kube_config_options opt = { kube_env_real(), where->kubeconfig, where->context };

    if (kube_config_load(c->arena, &opt, &c->config, e) < 0) {
        if (e->code != ERR_NOT_FOUND || where->kubeconfig || !(where->falls_on_localhost || where->server))
            return -1;
        c->config = (struct kube_config){ .origin = STR("the command line"),
                                          .namespace = STR("default"),
                                          .server = STR("http://localhost:8080") };
    }
    if (where->server) /* "127.0.0.1:8080" is "http://127.0.0.1:8080": people write it so */
        c->config.server = strstr(where->server, "://") ? str_of(where->server)
                                                        : arena_fmt(c->arena, "http://%s", where->server);
    return 0;
}

int ctl_open(struct ctl *c, struct arena *a, const struct ctl_where *where, struct err *e)
{
    *c = (struct ctl){ .arena = a, .now_ms = clock_now_ms(&clock_real) };
    if (find_server(c, where, e) < 0)
        return -1;
    (void)signal(SIGPIPE, SIG_IGN); /* as http/client.h asks */
    return kube_ask_open(&c->config, &c->ask, e);
}

void ctl_close(struct ctl *c)
{
    kube_ask_close(c->ask);
    c->ask = NULL;
}

struct str ctl_message(const struct ctl *c, const struct err *e)
{
    struct str whole = json_member_text(c->said, "message");

    return whole.n ? whole : str_of(e->text);
}

int ctl_exit(const struct err *e)
{
    static const int codes[ERR_CODE_MAX] = {
        [ERR_INVALID] = CTL_REFUSED,  [ERR_NOT_FOUND] = CTL_NOT_FOUND, [ERR_EXISTS] = CTL_REFUSED,
        [ERR_CONFLICT] = CTL_REFUSED, [ERR_FORBIDDEN] = CTL_REFUSED,   [ERR_GONE] = CTL_TIMEOUT,
        [ERR_TOO_BIG] = CTL_REFUSED,
    };

    return codes[e->code] ? codes[e->code] : CTL_FAILED;
}

const struct resource_type *ctl_type(const char *kind)
{
    return type_by_name(str_of(kind));
}

struct ctl_name ctl_name(const char *kind, struct str namespace, struct str name)
{
    return (struct ctl_name){ ctl_type(kind), namespace, name };
}

struct ctl_name ctl_name_of(const char *kind, const struct json *object)
{
    return ctl_name(kind, object_namespace(object), object_name(object));
}

/* ---- reading ---- */

static int ctl_call(struct ctl *c, const struct kube_call *request, struct json **ret, struct err *e)
{
    struct json *answer;
    int rc = kube_ask_call(c->ask, c->arena, request, &answer, e);

    c->asked = (struct kube_call){ .method = request->method, .path = arena_str(c->arena, request->path) };
    c->said = rc < 0 ? answer : NULL;
    if (rc == 0 && ret)
        *ret = answer;
    return rc;
}

int ctl_get(struct ctl *c, struct ctl_name name, struct json **ret, struct err *e)
{
    autobuf path = { 0 };

    path_object(&path, name.type, name.namespace, name.name, NULL);
    return ctl_call(c, &(struct kube_call){ .method = "GET", .path = buf_view(&path) }, ret, e);
}

struct ctl_pages { /* a list that is read page by page */
    const struct resource_type *type;
    const struct ctl_select *which;
    const char *accept; /* NULL: objects */
    struct str next;    /* where the next page begins; empty at the end */
};

static int ctl_read_page(struct ctl *c, struct ctl_pages *p, struct json **ret, struct err *e)
{
    autobuf path = { 0 };

    path_collection(&path, p->type, p->which->namespace);
    path_query(&path, "labelSelector", p->which->labels);
    path_query(&path, "fieldSelector", p->which->fields);
    path_query(&path, "limit", arena_fmt(c->arena, "%d", PAGE_ITEMS));
    path_query(&path, "continue", p->next);
    if (p->accept)
        path_query(&path, "includeObject", STR("Object"));
    if (ctl_call(c, &(struct kube_call){ .method = "GET", .path = buf_view(&path), .accept = p->accept }, ret, e) < 0)
        return -1;
    p->next = json_text(json_find(*ret, "metadata", "continue", NULL), STR_NULL);
    return 0;
}

/* Items of a list of a built-in kind do not say what they are. */
static void ctl_keep(struct ctl *c, const struct resource_type *type, struct json *list, struct ctl_objects *ret)
{
    struct json *next, *items = json_get(list, "items");

    for (struct json *item = json_first(items); item; item = next) {
        struct json *copy = json_object(c->arena);

        next = item->next;
        json_add(copy, STR("apiVersion"), json_str(c->arena, type_api_version(c->arena, type)));
        json_add(copy, STR("kind"), json_str(c->arena, str_of(type->kind)));
        JSON_FOREACH(member, item)
            if (!str_is(json_key(member), "apiVersion") && !str_is(json_key(member), "kind"))
                json_add(copy, json_key(member), json_copy(c->arena, member));
        json_remove(json_get(copy, "metadata"), "managedFields");
        *vec_push(c->arena, &ret->v) = copy;
    }
}

int ctl_list(struct ctl *c, const struct resource_type *type, const struct ctl_select *which, struct ctl_objects *ret,
             struct err *e)
{
    struct ctl_pages pages = { .type = type, .which = which };
    struct json *list;

    do {
        if (ctl_read_page(c, &pages, &list, e) < 0)
            return -1;
        ctl_keep(c, type, list, ret);
    } while (pages.next.n);
    return 0;
}

int ctl_rows(struct ctl *c, const struct resource_type *type, const struct ctl_select *which, struct json **ret,
             struct err *e)
{
    struct ctl_pages pages = { .type = type, .which = which, .accept = TABLES };
    struct json *table = NULL, *more;

    do {
        if (ctl_read_page(c, &pages, &more, e) < 0)
            return -1;
        if (!str_is(json_member_text(more, "kind"), "Table"))
            return err_set(e, ERR_INVALID, "%.*s: the server does not return tables", STR_ARG(c->config.server));
        JSON_FOREACH(row, table ? json_get(more, "rows") : NULL)
            json_push(json_get(table, "rows"), json_copy(c->arena, row));
        table = table ? table : more;
    } while (pages.next.n);
    *ret = table;
    return 0;
}

/* ---- writing ---- */

/* 'call' lacks the body, and the query of a dry run. */
static int ctl_order(struct ctl *c, struct kube_call call, const struct json *body, struct json **ret, struct err *e)
{
    autobuf path = { 0 }, text = { 0 };

    if (c->dry == CTL_DRY_CLIENT) {
        if (ret)
            *ret = body ? json_copy(c->arena, body) : NULL;
        return 0;
    }
    buf_str(&path, call.path);
    if (c->dry == CTL_DRY_SERVER)
        path_query(&path, "dryRun", STR("All"));
    if (body)
        json_print(&text, body);
    call.path = buf_view(&path);
    call.body = buf_view(&text);
    return ctl_call(c, &call, ret, e);
}

int ctl_create(struct ctl *c, struct ctl_name where, const struct json *body, struct json **ret, struct err *e)
{
    autobuf path = { 0 };

    path_collection(&path, where.type, where.namespace);
    return ctl_order(c, (struct kube_call){ .method = "POST", .path = buf_view(&path) }, body, ret, e);
}

int ctl_delete(struct ctl *c, struct ctl_name name, struct err *e)
{
    autobuf path = { 0 };

    path_object(&path, name.type, name.namespace, name.name, NULL);
    return ctl_order(c, (struct kube_call){ .method = "DELETE", .path = buf_view(&path) }, NULL, NULL, e);
}

int ctl_merge(struct ctl *c, struct ctl_name name, const struct json *patch, struct err *e)
{
    autobuf path = { 0 };

    path_object(&path, name.type, name.namespace, name.name, NULL);
    return ctl_order(
        c,
        (struct kube_call){ .method = "PATCH", .path = buf_view(&path), .body_type = "application/merge-patch+json" },
        patch, NULL, e);
}

static struct json *reference_to(struct arena *a, const struct resource_type *type, const struct json *object)
{
    struct json *j = json_object(a);

    json_add(j, STR("apiVersion"), json_str(a, type_api_version(a, type)));
    json_add(j, STR("kind"), json_str(a, str_of(type->kind)));
    json_add(j, STR("name"), json_str(a, object_name(object)));
    json_add(j, STR("uid"), json_str(a, object_uid(object)));
    json_add(j, STR("controller"), json_bool_new(a, true));
    json_add(j, STR("blockOwnerDeletion"), json_bool_new(a, true));
    return j;
}

int ctl_command(struct ctl *c, struct str namespace, const struct json *object, const char *action, struct err *e)
{
    const struct resource_type *of = ctl_type(strstr(action, "Queue") ? "Queue" : "Job");
    struct arena *a = c->arena;
    struct json *body = json_object(a), *meta = json_object(a);
    struct str prefix = arena_fmt(a, "%.*s-%.*s-", STR_ARG(object_name(object)),
                                  STR_ARG(arena_lower(a, str_of(action))));

    json_add(meta, STR("generateName"), json_str(a, prefix));
    json_add(meta, STR("namespace"), json_str(a, namespace));
    json_push(json_add(meta, STR("ownerReferences"), json_array(a)), reference_to(a, of, object));
    json_add(body, STR("apiVersion"), json_str(a, type_api_version(a, ctl_type("Command"))));
    json_add(body, STR("kind"), json_str(a, STR("Command")));
    json_add(body, STR("metadata"), meta);
    json_add(body, STR("target"), reference_to(a, of, object));
    json_add(body, STR("action"), json_str(a, str_of(action)));
    return ctl_create(c, ctl_name("Command", namespace, STR_NULL), body, NULL, e);
}
