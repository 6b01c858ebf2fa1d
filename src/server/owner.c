/* owner.c - who owns which field: server-side apply, and managedFields after every other write of a client
 *
 * What merges how is known from the messages of Kubernetes' own kinds, and from the schemas of the others.
 */
#include "server/server_internal.h"

#include "crd/crd.h"
#include "api/message/message.h"
#include "patch/apply.h"
#include "patch/managed.h"

enum { MANAGER_MAX = 128 }; /* bytes of its name */

static struct merge_type merge_type_of(struct server_request *rq)
{
    const struct message *m = message_by_kind(type_api_version(rq->arena, rq->type), str_of(rq->type->kind));
    struct server *s = rq->server;
    size_t i = type_row(rq->type);

    if (shown_as(rq)->custom)
        return merge_type_of_schema(shown_as(rq)->custom->schema);
    if (m)
        return merge_type_of_message(m);
    if (!s->schemas)
        s->schemas = arena_array(&s->schema_arena, const struct json *, n_resource_types);
    if (!s->schemas[i])
        s->schemas[i] = crd_schema(&s->schema_arena, rq->type->schema);
    return merge_type_of_schema(s->schemas[i]);
}

static struct ownership ownership_of(struct server_request *rq)
{
    bool has_status = type_has_subresource(rq->type, STR("status"));
    struct str manager = STR_NULL;
    autobuf now = { 0 };

    if (!param(rq, "fieldManager", &manager) || !manager.n)
        manager = manager_of_user_agent(rq->arena, http_call_header(rq->call, "User-Agent"));
    clock_print(&now, server_now_ms(rq->server));
    return (struct ownership){
        .type = merge_type_of(rq),
        .api_version = type_api_version(rq->arena, shown_as(rq)),
        .kind = str_of(rq->type->kind),
        .manager = manager,
        .subresource = rq->target.subresource,
        .now = arena_str(rq->arena, buf_view(&now)),
        .ignored = ownership_ignored(rq->arena, has_status, is_custom(rq->type), str_of(rq->type->kind),
                                     rq->target.subresource),
    };
}

int owner_check(struct server_request *rq)
{
    struct str name;

    if (!param(rq, "fieldManager", &name))
        return 0;
    if (name.n > MANAGER_MAX)
        return fail_field(rq, "FieldValueTooLong", "fieldManager", "Too long: may not be more than %d bytes",
                          MANAGER_MAX);
    for (size_t i = 0; i < name.n; i++)
        if ((unsigned char)name.p[i] < ' ' || name.p[i] == 127)
            return fail_field(rq, "FieldValueInvalid", "fieldManager",
                              "Invalid value: should only contain printable characters");
    return 0;
}

struct json *owner_update(struct server_request *rq, const struct json *live, struct json *object)
{
    struct ownership who;

    if (rq->type->use != TYPE_STORED || rq->is_applied)
        return object;
    who = ownership_of(rq);
    return ownership_update(rq->arena, &who, live, object);
}

static int fail_refusal(struct server_request *rq, const struct refusal *why)
{
    static const struct {
        int code;
        enum reason reason;
    } rows[] = {
        { 400, REASON_BAD_REQUEST }, { 409, REASON_CONFLICT }, { 422, REASON_INVALID }, { 413, REASON_TOO_LARGE }
    };
    enum reason reason = REASON_INTERNAL;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].code == why->code)
            reason = rows[i].reason;
    fail_with(rq, reason, "%.*s", STR_ARG(why->message));
    rq->failure.has_no_details = true;
    JSON_FOREACH(c, why->causes)
        fail_cause(rq, arena_cstr(rq->arena, json_member_text(c, "reason")), json_member_text(c, "field"),
                   json_member_text(c, "message"));
    return -1;
}

int owner_apply(struct server_request *rq, const struct json *live, const struct json *config, struct json **ret)
{
    struct ownership who = ownership_of(rq);
    struct apply_request wanted = { live, config, .is_forced = param_flag(rq, "force") };
    struct refusal why = { 0 };
    struct applied applied;

    if (ownership_apply(rq->arena, &who, &wanted, &applied, &why) < 0)
        return fail_refusal(rq, &why);
    *ret = applied.object;
    rq->is_applied = true;
    return 0;
}
