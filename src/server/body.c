/* body.c - the body of a request: JSON, YAML or protobuf, checked for kind and shape, with its unknown fields
 *
 * Shape comes first: before anything else looks at a body its schema has said that every value is of the type of its
 * field, and a request whose body is not so ends here. Defaults and rules rely on that.
 */
#include "server/server_internal.h"

#include "api/schema/schemas.h"
#include "crd/custom.h"
#include "proto/proto.h"
#include "yaml/yaml.h"

enum { BODY_MAX = 3 << 20 };

const char *const body_types[] = { "application/json", "application/yaml", PROTOBUF_MEDIA, NULL };

/* In the words of Kubernetes' two parsers, and as many of them. */
enum { DUPLICATES_MAX = 100 };

static void on_duplicate(void *ctx, struct json_duplicate dup)
{
    struct server_request *rq = ctx;

    if (rq->odd_fields.n < DUPLICATES_MAX)
        *vec_push(rq->arena, &rq->odd_fields) = arena_fmt(rq->arena, "duplicate field \"%.*s%s%.*s\"",
                                                          STR_ARG(dup.path), dup.path.n ? "." : "", STR_ARG(dup.key));
}

static void on_yaml_duplicate(void *ctx, struct json_duplicate dup)
{
    struct server_request *rq = ctx;

    if (rq->odd_fields.n < DUPLICATES_MAX)
        *vec_push(rq->arena, &rq->odd_fields) = arena_fmt(rq->arena, "line %u: key \"%.*s\" already set in map",
                                                          dup.line, STR_ARG(dup.key));
}

/* ---- the media type ---- */

static struct str media_of(const struct server_request *rq)
{
    struct str text = http_call_header(rq->call, "Content-Type"), media;

    return str_split(&text, ';', &media) ? str_trim(media) : STR_NULL;
}

static int fail_media(struct server_request *rq, struct str media, const char *const *types)
{
    autobuf list = { 0 };

    for (; *types; types++)
        buf_fmt(&list, "%s%s", list.n ? ", " : "", *types);
    return fail_with(
        rq, REASON_MEDIA,
        "the body of the request was in an unknown format - accepted media types include: %.*s (got \"%.*s\")",
        STR_ARG(buf_view(&list)), STR_ARG(str_sub(media, 0, 100)));
}

static bool body_is_listed(struct str media, const char *const *types)
{
    for (; *types; types++)
        if (str_is(media, *types))
            return true;
    return false;
}

/* ---- reading ---- */

/* The tree borrows the text, which is the call's and goes when it is answered: so do we, but for the audit log. */
static struct str body_text_of(struct server_request *rq)
{
    return auth_wants_bodies(rq->server->opt.auth) ? arena_str(rq->arena, rq->call->body) : rq->call->body;
}

static int parse_yaml(struct server_request *rq, struct json **ret)
{
    struct yaml_options opt = { .max_bytes = BODY_MAX, .on_duplicate = on_yaml_duplicate, .ctx = rq };
    struct yaml_docs docs = { 0 };
    struct err e;

    if (yaml_parse(rq->arena, body_text_of(rq), &opt, &docs, &e) < 0)
        return fail_with(rq, REASON_BAD_REQUEST, "error parsing the body as YAML: %s", e.text);
    if (docs.n != 1)
        return fail_with(rq, REASON_BAD_REQUEST, "the body must be one YAML document (has %zu)", docs.n);
    *ret = docs.v[0];
    return 0;
}

static int parse_protobuf(struct server_request *rq, struct json **ret)
{
    struct err e;

    if (proto_decode(rq->arena, body_text_of(rq), ret, &e) == 0)
        return 0;
    return fail_with(rq, e.code == ERR_NOT_FOUND ? REASON_MEDIA : REASON_BAD_REQUEST, "%s", e.text);
}

static int body_parse(struct server_request *rq, struct str media, struct json **ret)
{
    struct json_parse_options opt = { .limits.max_bytes = BODY_MAX, .on_duplicate = on_duplicate, .ctx = rq };
    struct err e;

    if (str_ends(media, STR("yaml")))
        return parse_yaml(rq, ret);
    if (str_is(media, PROTOBUF_MEDIA))
        return parse_protobuf(rq, ret);
    if (json_parse(rq->arena, body_text_of(rq), &opt, ret, &e) < 0)
        return fail_with(rq, REASON_BAD_REQUEST, "error parsing the body as JSON: %s", e.text);
    return 0;
}

/* Is the object the result of a patch? The body of an apply is an object itself. */
static bool is_patched(const struct server_request *rq)
{
    return rq->verb == VERB_PATCH && !str_is(media_of(rq), "application/apply-patch+yaml");
}

/* Strict: report all unknown and duplicate fields together. */
static int tell_odd_fields(struct server_request *rq)
{
    autobuf all = { 0 };

    VEC_FOREACH(text, &rq->odd_fields) {
        if (rq->validation == VALIDATE_WARN)
            warn(rq, "%.*s", STR_ARG(*text));
        buf_fmt(&all, "%s%.*s", all.n ? ", " : "", STR_ARG(*text));
    }
    if (rq->validation != VALIDATE_STRICT || !all.n)
        return 0;
    if (is_patched(rq))
        return fail_field(rq, "FieldValueInvalid", "patch", "Invalid value: strict decoding error: %.*s",
                          STR_ARG(str_cut(buf_view(&all), 4000)));
    return fail_with(rq, REASON_BAD_REQUEST,
                     "%s in version \"%s\" cannot be handled as a %s: strict decoding error: %.*s",
                     rq->type ? rq->type->kind : "object", rq->type ? rq->type->version : "v1",
                     rq->type ? rq->type->kind : "object", STR_ARG(str_cut(buf_view(&all), 4000)));
}

/* ---- the shape ---- */

/* As Kubernetes answers it: its own kinds cannot be decoded (400), custom ones break their schema (422), and a patch that makes
 * such a thing of what is there is wrong (422). */
static int fail_shape(struct server_request *rq, const char *kind, const char *version, struct problems *ps)
{
    struct problems shapes = { .arena = rq->arena };

    problems_sort(ps);
    VEC_FOREACH(p, &ps->list)
        if (p->kind == PROBLEM_SHAPE)
            *vec_push(rq->arena, &shapes.list) = *p;
    if (rq->type && (is_custom(rq->type) || is_patched(rq)))
        return fail_problems(rq, &shapes);
    fail_with(rq, REASON_BAD_REQUEST, "%s in version \"%s\" cannot be handled as a %s: %.*s", kind, version, kind,
              STR_ARG(str_cut(problems_join(rq->arena, &shapes), 4000)));
    VEC_FOREACH(p, &shapes.list)
        fail_cause(rq, "FieldValueTypeInvalid", p->path, p->text);
    return -1;
}

int body_check(struct server_request *rq, const struct schema *schema, const struct json *tree)
{
    struct problems ps = { .arena = rq->arena };
    struct place root = { .node = tree };

    schema_check(schema, &root, &ps);
    return ps.n_shapes ? fail_shape(rq, schema->name, "v1", &ps) : 0;
}

int body_any(struct server_request *rq, const char *const *types, const struct schema *schema, struct json **ret)
{
    struct str media = media_of(rq);

    *ret = NULL;
    if (media.n && !body_is_listed(media, types)) /* none: JSON, as old clients mean it */
        return fail_media(rq, media, types);
    if (rq->call->body.n > BODY_MAX)
        return fail_with(rq, REASON_TOO_LARGE, "Request entity too large: limit is %d", BODY_MAX);
    if (!str_trim(rq->call->body).n)
        return 0;
    if (body_parse(rq, media, ret) < 0)
        return -1;
    if (auth_wants_bodies(rq->server->opt.auth))
        rq->sent = json_copy(rq->arena, *ret); /* it is still to be completed */
    if (schema && json_is(*ret, JSON_NULL))
        *ret = NULL;
    return schema && *ret ? body_check(rq, schema, *ret) : 0;
}

/* ---- an object: its shape, and unknown fields ---- */

/* Of a kind of users the rest is structural_check()'s, which needs no types to rely on. */
static void check_shape(const struct resource_type *t, const struct place *root, struct problems *ps)
{
    struct place meta = place_member(root, "metadata");

    if (t->schema)
        schema_check(t->schema, root, ps);
    else if (meta.node)
        schema_check(&schema_meta, &meta, ps);
}

int body_shape(struct server_request *rq, const struct json *object)
{
    struct problems ps = { .arena = rq->arena };
    struct place root = { .node = object };

    if (rq->shaped == object)
        return 0;
    check_shape(rq->type, &root, &ps);
    if (ps.n_shapes)
        return fail_shape(rq, rq->type->kind, rq->type->version, &ps);
    rq->shaped = object;
    return 0;
}

/* A pod template inside of another kind is younger than this program, perhaps: there nothing is dropped. */
int body_check_fields(struct server_request *rq, struct json *object)
{
    const struct resource_type *t = rq->view ? rq->view : rq->type; /* as the client knows it */
    struct problems ps = { .arena = rq->arena };
    struct place root = { .node = object };

    check_shape(t, &root, &ps);
    if (ps.n_shapes)
        return fail_shape(rq, t->kind, t->version, &ps);
    rq->shaped = object;
    rq->is_clean = t->schema && !ps.list.n;
    if (t->custom && rq->validation != VALIDATE_IGNORE)
        structural_unknown(t->custom->schema, &root, &ps);
    if (rq->validation != VALIDATE_IGNORE)
        VEC_FOREACH(p, &ps.list)
            if (p->kind == PROBLEM_UNKNOWN)
                *vec_push(rq->arena, &rq->odd_fields) = arena_fmt(rq->arena, "unknown field \"%.*s\"",
                                                                  STR_ARG(p->path));
    if (t->custom)
        structural_prune(t->custom->schema, object);
    else if (t->schema)
        schema_prune(t->schema, object, &schema_pod_template);
    return tell_odd_fields(rq);
}

/* ---- an object of the request's kind ---- */

static bool is_text_or_missing(const struct json *j)
{
    return !j || j->type == JSON_NULL || j->type == JSON_STRING;
}

static int body_check_kind(struct server_request *rq, struct json *object)
{
    struct str version = type_api_version(rq->arena, rq->view ? rq->view : rq->type);

    if (!is_text_or_missing(json_get(object, "kind")) || !is_text_or_missing(json_get(object, "apiVersion")))
        return 0; /* its shape is wrong, which is checked next */
    if (rq->type->custom && (!object_kind(object).n || !object_api_version(object).n))
        return fail_with(rq, REASON_BAD_REQUEST,
                         "the object provided is unrecognized (must be of type %s): Object '%s' is missing",
                         rq->type->kind, object_kind(object).n ? "apiVersion" : "Kind");
    if (rq->type->custom && str_eq(object_api_version(object), version) && !str_is(object_kind(object), rq->type->kind))
        return fail_field(rq, "FieldValueInvalid", "kind", "Invalid value: \"%.*s\": must be %s",
                          STR_ARG(str_sub(object_kind(object), 0, 63)), rq->type->kind);
    if (!object_kind(object).n)
        json_set(object, "kind", json_str(rq->arena, str_of(rq->type->kind)));
    if (!object_api_version(object).n)
        json_set(object, "apiVersion", json_str(rq->arena, version));
    if (str_is(object_kind(object), rq->type->kind) && str_eq(object_api_version(object), version))
        return 0;
    return fail_with(
        rq, REASON_BAD_REQUEST,
        "the object provided is unrecognized or of the wrong kind: it is a %.*s of %.*s, expected a %s of %.*s",
        STR_ARG(object_kind(object)), STR_ARG(object_api_version(object)), rq->type->kind, STR_ARG(version));
}

static int check_place(struct server_request *rq, struct json *object)
{
    struct json *meta = json_need_object(rq->arena, object, "metadata");
    struct str namespace, name;

    if (!meta)
        return fail_with(rq, REASON_BAD_REQUEST, "metadata: must be an object");
    namespace = json_member_text(meta, "namespace");
    name = json_member_text(meta, "name");
    if (rq->type->scope == SCOPE_NAMESPACED && namespace.n && !str_eq(namespace, rq->target.namespace))
        return fail_with(rq, REASON_BAD_REQUEST,
                         "the namespace of the provided object does not match the namespace sent on the request");
    if (rq->type->scope == SCOPE_NAMESPACED)
        json_set(meta, "namespace", json_str(rq->arena, rq->target.namespace));
    if (rq->verb != VERB_CREATE && !name.n)
        return fail_with(rq, REASON_BAD_REQUEST,
                         "the name of the object (%.*s based on URL) was undeterminable: name must be provided",
                         STR_ARG(rq->target.name));
    if (rq->verb != VERB_CREATE && !str_eq(name, rq->target.name))
        return fail_with(rq, REASON_BAD_REQUEST,
                         "the name of the object (%.*s) does not match the name on the URL (%.*s)", STR_ARG(name),
                         STR_ARG(rq->target.name));
    rq->failure.name = json_member_text(meta, "name");
    return 0;
}

int body_object(struct server_request *rq, struct json **ret)
{
    if (body_any(rq, body_types, NULL, ret) < 0) /* by the rules below instead */
        return -1;
    if (json_is(*ret, JSON_NULL))
        *ret = json_object(rq->arena);
    if (!json_is(*ret, JSON_OBJECT))
        return fail_with(rq, REASON_BAD_REQUEST, "the body must be an object of kind %s", rq->type->kind);
    if (body_check_kind(rq, *ret) < 0 || body_check_fields(rq, *ret) < 0 || check_place(rq, *ret) < 0)
        return -1;
    if (rq->view)
        *ret = view_take(rq->arena, rq->view, rq->type, *ret);
    return 0;
}
