/* openapi.c - /openapi/v3: schemas of kinds, from the schema tables and CustomResourceDefinitions
 *
 * One JSON document for each group version: `kubectl explain` reads the schemas, `apply` and `create` look for a PATCH of
 * the kind that takes fieldValidation, and leave the checking to the server then. Clients before 1.27 read v2
 * (openapi_v2.c).
 *
 * Documents are made when they are first asked for, and kept until another kind is defined.
 */
#include "server/server_internal.h"

#include "crd/crd.h"

void openapi_forget(struct server *s)
{
    MAP_FOREACH(struct document *, d, &s->documents) {
        buf_done(&d->text);
        free(d);
    }
    map_clear(&s->documents);
}

struct document *document_new(struct server *s, struct str path)
{
    struct document *d = xcalloc(1, sizeof(*d) + path.n + 1);

    memcpy(d + 1, path.p, path.n);
    d->path = (struct str){ (char *)(d + 1), path.n };
    map_put(&s->documents, d->path, d);
    return d;
}

bool is_described(const struct resource_type *t)
{
    return t->schema || t->custom;
}

/* "api/v1", "apis/batch.volcano.sh/v1alpha1" */
static struct str document_path(struct arena *a, const struct resource_type *t)
{
    return arena_fmt(a, "%s%s%s/%s", t->group[0] ? "apis" : "api", t->group[0] ? "/" : "", t->group, t->version);
}

static void openapi_add_text(struct arena *a, struct json *j, const char *key, const char *text)
{
    json_add(j, str_of(key), json_str(a, str_of(text)));
}

/* ---- one kind ---- */

static struct json *kind_mark(struct arena *a, const struct resource_type *t)
{
    struct json *j = json_object(a);

    openapi_add_text(a, j, "group", t->group);
    openapi_add_text(a, j, "kind", t->kind);
    openapi_add_text(a, j, "version", t->version);
    return j;
}

/* "sh.volcano.batch.v1alpha1.Job", "io.k8s.api.core.v1.Pod": names that look like those of other servers. */
struct str schema_name(struct arena *a, const struct resource_type *t)
{
    struct str rest = str_of(t->group), part, name = STR_NULL;

    if (!t->group[0])
        return arena_fmt(a, "io.k8s.api.core.%s.%s", t->version, t->kind);
    while (str_split(&rest, '.', &part))
        name = name.n ? arena_fmt(a, "%.*s.%.*s", STR_ARG(part), STR_ARG(name)) : part;
    return arena_fmt(a, "%.*s.%s.%s", STR_ARG(name), t->version, t->kind);
}

static struct json *query(struct arena *a, const char *name)
{
    struct json *j = json_object(a);

    openapi_add_text(a, j, "name", name);
    openapi_add_text(a, j, "in", "query");
    json_set(j, "schema", json_object(a));
    openapi_add_text(a, json_get(j, "schema"), "type", "string");
    return j;
}

struct str kind_url(struct arena *a, const struct resource_type *t, bool has_name)
{
    return arena_fmt(a, "/%.*s/%s%s%s", STR_ARG(document_path(a, t)),
                     t->scope == SCOPE_NAMESPACED ? "namespaces/{namespace}/" : "", t->plural,
                     has_name ? "/{name}" : "");
}

static struct json *operation(struct arena *a, const struct resource_type *t, const char *action,
                              const char *const *queries)
{
    struct json *j = json_object(a), *parameters = json_add(j, STR("parameters"), json_array(a));

    for (; *queries; queries++)
        json_push(parameters, query(a, *queries));
    json_add(json_add(j, STR("responses"), json_object(a)), STR("200"), json_object(a));
    openapi_add_text(a, json_get(json_get(j, "responses"), "200"), "description", "OK");
    openapi_add_text(a, j, "x-kubernetes-action", action);
    json_add(j, STR("x-kubernetes-group-version-kind"), kind_mark(a, t));
    return j;
}

static void add_paths(struct arena *a, struct json *paths, const struct resource_type *t)
{
    static const char *const writes[] = { "dryRun", "fieldManager", "fieldValidation", "pretty", NULL };
    static const char *const reads[] = { "pretty", NULL };
    struct json *all = json_object(a), *one = json_object(a);

    if (t->use != TYPE_ASKED) {
        json_add(all, STR("get"), operation(a, t, "list", reads));
        json_add(one, STR("get"), operation(a, t, "get", reads));
    }
    if (t->use != TYPE_MEASURED)
        json_add(all, STR("post"), operation(a, t, "post", writes));
    if (t->use == TYPE_STORED) {
        json_add(one, STR("put"), operation(a, t, "put", writes));
        json_add(one, STR("patch"), operation(a, t, "patch", writes));
        json_add(one, STR("delete"), operation(a, t, "delete", (const char *const[]){ "dryRun", NULL }));
    }
    json_add(paths, kind_url(a, t, false), all);
    if (t->use != TYPE_ASKED)
        json_add(paths, kind_url(a, t, true), one);
}

const char *kind_doc(const struct resource_type *t)
{
    static const struct {
        const char *group, *kind, *doc;
    } rows[] = {
        { "batch.volcano.sh", "Job", "pods in groups that start together or not at all" },
        { "batch.volcano.sh", "CronJob", "creates a Job at each time of a schedule" },
        { "bus.volcano.sh", "Command", "an action on one Job, such as abort; deleted when done" },
        { "scheduling.volcano.sh", "PodGroup", "the pods that are placed together or not at all" },
        { "scheduling.volcano.sh", "Queue", "a share of the cluster for those who submit to it" },
        { "flow.volcano.sh", "JobFlow", "creates Jobs from templates, each when the ones it depends on are ready" },
        { "flow.volcano.sh", "JobTemplate", "the spec of a Job, for JobFlows" },
        { "topology.volcano.sh", "HyperNode", "nodes that are near each other" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (!t->custom && strcmp(t->group, rows[i].group) == 0 && strcmp(t->kind, rows[i].kind) == 0)
            return rows[i].doc;
    return NULL;
}

static struct json *kind_schema(struct arena *a, const struct resource_type *t)
{
    struct json *j = t->custom ? json_copy(a, t->custom->schema) : crd_schema(a, t->schema);

    if (kind_doc(t))
        openapi_add_text(a, j, "description", kind_doc(t));
    json_push(json_add(j, STR("x-kubernetes-group-version-kind"), json_array(a)), kind_mark(a, t));
    return j;
}

/* ---- v3 ---- */

static struct json *document_v3(struct server_request *rq, struct str path)
{
    struct arena *a = rq->arena;
    const struct resource_type **types;
    size_t n = types_served(rq->server, a, &types);
    struct json *j = json_object(a), *info, *paths, *schemas;
    bool is_known = false;

    openapi_add_text(a, j, "openapi", "3.0.0");
    info = json_add(j, STR("info"), json_object(a));
    openapi_add_text(a, info, "title", "Kubernetes");
    openapi_add_text(a, info, "version", "v1");
    paths = json_add(j, STR("paths"), json_object(a));
    schemas = json_add(json_add(j, STR("components"), json_object(a)), STR("schemas"), json_object(a));
    for (size_t i = 0; i < n; i++) {
        const struct resource_type *t = types[i];

        if (!is_described(t) || !str_eq(document_path(a, t), path))
            continue;
        is_known = true;
        add_paths(a, paths, t);
        json_add(schemas, schema_name(a, t), kind_schema(a, t));
    }
    return is_known ? j : NULL;
}

static int reply_index(struct server_request *rq)
{
    struct json *j = json_object(rq->arena), *paths = json_add(j, STR("paths"), json_object(rq->arena));
    const struct resource_type **types;
    size_t n = types_served(rq->server, rq->arena, &types);

    for (size_t i = 0; i < n; i++) {
        struct str path = document_path(rq->arena, types[i]);

        if (is_described(types[i]) && !json_get_str(paths, path))
            json_add(json_add(paths, path, json_object(rq->arena)), STR("serverRelativeURL"),
                     json_fmt(rq->arena, "/openapi/v3/%.*s?hash=%s-%llu", STR_ARG(path), PUMICE_VERSION,
                              (unsigned long long)rq->server->n_definitions));
    }
    reply_json(rq, 200, j);
    return 0;
}

int handle_openapi_v3(struct server_request *rq)
{
    struct str rest = str_from(rq->call->path, strlen("/openapi/v3"));
    struct document *d;

    if (!rest.n || str_is(rest, "/"))
        return reply_index(rq);
    rest = str_from(rest, 1);
    d = map_get(&rq->server->documents, rest);
    if (!d) {
        struct json *j = document_v3(rq, rest);

        if (!j)
            return fail_with(rq, REASON_NOT_FOUND, "no such document");
        d = document_new(rq->server, rest);
        json_print(&d->text, j);
    }
    reply_text(rq, 200, "application/json", buf_view(&d->text), NULL);
    return 0;
}
