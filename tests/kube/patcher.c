/* patcher.c - our patches, server-side apply and protobuf behind a pipe, for tests that compare them with the real ones
 *
 * Each line of the input is an object, each line of the output the answer to it:
 *     {"op":"apply","live":…|null,"body":…,"force":bool, …}         {"object":…,"same":bool} or a refusal
 *     {"op":"json"|"merge"|"strategic","live":…,"body":…, …}        {"object":…} or a refusal
 *     {"op":"update","live":…|null,"body":…, …}                     {"object":…}: body with its managedFields
 *     {"op":"decode","proto":base64}                                {"object":…} or {"error":…}
 *     {"op":"encode","body":…}                                      {"proto":base64} or {"error":…}
 * with apiVersion, kind, manager, subresource, hasStatus, now, and for custom kinds the OpenAPI "schema". A refusal is
 * {"code":…,"reason":…,"message":…,"detail":…,"causes":…}.
 */
#include "api/fields.h"
#include "api/message/message.h"
#include "api/meta.h"
#include "api/schema/schemas.h"
#include "api/types.h"
#include "base/util.h"
#include "patch/apply.h"
#include "patch/patch.h"
#include "proto/proto.h"

#include <stdio.h>
#include <stdlib.h>

/* A kind that nobody here uses, and the only one of the real server's that takes any change of a pod's spec. */
SCHEMA(static, schema_podtemplate, "PodTemplate", F_TYPE, F_OBJ("metadata", &schema_meta),
       F_OBJ("template", &schema_pod_template));

static struct ownership ownership_of(struct arena *a, const struct json *rq)
{
    const struct json *schema = json_get(rq, "schema");
    struct ownership who = {
        .api_version = json_member_text(rq, "apiVersion"),
        .kind = json_member_text(rq, "kind"),
        .manager = json_member_text(rq, "manager"),
        .subresource = json_member_text(rq, "subresource"),
        .now = json_member_text(rq, "now"),
    };

    who.type = schema ? merge_type_of_schema(schema)
                      : merge_type_of_message(message_by_kind(who.api_version, who.kind));
    who.ignored = ownership_ignored(a, json_bool(json_get(rq, "hasStatus"), false), schema != NULL, who.kind,
                                    who.subresource);
    return who;
}

static struct json *refused(struct arena *a, const struct refusal *why)
{
    struct json *j = json_object(a);

    json_set(j, "code", json_int(a, why->code));
    json_set(j, "reason", json_str(a, str_of(why->reason)));
    json_set(j, "message", json_str(a, why->message));
    json_set(j, "detail", json_str(a, why->detail));
    json_set(j, "causes", why->causes ? why->causes : json_null(a));
    return j;
}

static struct json *text(struct arena *a, const char *key, struct str value)
{
    struct json *j = json_object(a);

    json_set(j, key, json_str(a, arena_str(a, value)));
    return j;
}

static struct json *decoded(struct arena *a, const struct json *rq)
{
    struct json *result = json_object(a), *object;
    autobuf bytes = { 0 };
    struct err e;

    if (buf_unbase64(&bytes, json_member_text(rq, "proto")) < 0)
        return text(a, "error", STR("no base64"));
    if (proto_decode(a, arena_str(a, buf_view(&bytes)), &object, &e) < 0)
        return text(a, "error", str_of(e.text));
    json_set(result, "object", object);
    return result;
}

static struct json *encoded(struct arena *a, const struct json *rq)
{
    autobuf bytes = { 0 }, base64 = { 0 };
    struct err e;

    if (proto_encode(a, &bytes, json_get(rq, "body"), &e) < 0)
        return text(a, "error", str_of(e.text));
    buf_base64(&base64, buf_view(&bytes));
    return text(a, "proto", buf_view(&base64));
}

static struct json *answer(struct arena *a, const struct json *rq)
{
    static const char *const names[] = { "json", "merge", "strategic" };
    struct ownership who;
    const struct json *live = json_get(rq, "live"), *body = json_get(rq, "body");
    struct str op = json_member_text(rq, "op");
    const struct resource_type *t;
    const struct schema *schema;
    struct json *result = json_object(a), *object = NULL;
    struct applied applied = { 0 };
    struct refusal why = { 0 };

    if (str_is(op, "decode"))
        return decoded(a, rq);
    if (str_is(op, "encode"))
        return encoded(a, rq);
    who = ownership_of(a, rq);
    t = type_by_kind(who.api_version, who.kind);
    schema = t ? t->schema : str_is(who.kind, "PodTemplate") ? &schema_podtemplate : NULL;
    if (json_is(live, JSON_NULL))
        live = NULL;
    if (str_is(op, "apply") &&
        ownership_apply(a, &who, &(struct apply_request){ live, body, json_bool(json_get(rq, "force"), false) },
                        &applied, &why) < 0)
        return refused(a, &why);
    object = applied.object;
    if (str_is(op, "update"))
        object = ownership_update(a, &who, live, json_copy(a, body));
    for (int type = 0; type < 3; type++)
        if (str_is(op, names[type]) &&
            patch_object(a, &(struct patch){ (enum patch_type)type, schema, body }, live, &object, &why) < 0)
            return refused(a, &why);
    if (who.type.source == MERGE_MESSAGE && !str_is(op, "apply") && !str_is(op, "update")) {
        struct json *managed = json_find(object, "metadata", "managedFields", NULL);

        object = message_fill(a, who.type.message, object); /* what the API server's types would keep of it */
        message_trim(who.type.message, object);
        if (managed) /* as the patch left it, [] and [{}] too */
            json_set(json_get(object, "metadata"), "managedFields", json_copy(a, managed));
    }
    json_set(result, "object", object);
    json_set(result, "same", json_bool_new(a, applied.is_same));
    return result;
}

int main(void)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;

    while ((n = getline(&line, &cap, stdin)) > 0) {
        struct json *rq;
        autoarena a = { 0 };
        autobuf out = { 0 };
        struct err e;

        if (json_parse(&a, (struct str){ line, (size_t)n }, NULL, &rq, &e) < 0) {
            fprintf(stderr, "%s\n", e.text);
            return 1;
        }
        json_print(&out, answer(&a, rq));
        printf("%.*s\n", STR_ARG(buf_view(&out)));
        fflush(stdout);
    }
    free(line);
    return 0;
}
