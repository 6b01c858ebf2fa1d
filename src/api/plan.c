/* plan.c - making the writes of a plan */
#include "api/plan.h"

#include "api/meta.h"
#include "api/types.h"
#include "base/clock.h"
#include "base/util.h"

#include <assert.h>

/* Events and their source carry the name of Volcano's controller: tools that filter by component find ours too. */
#define COMPONENT "vc-controller-manager"

/* Names of objects end at 253 bytes; an Event's is the object's, a dot and 16 digits. */
enum { EVENT_NAME_MAX = 253, EVENT_TIME_CHARS = 17 };

static struct op *op_add(struct plan *p, enum op_kind kind, const struct resource_type *type)
{
    struct op *op = vec_push(p->arena, &p->ops);

    assert(type);
    op->kind = kind;
    op->type = type;
    op->grace_s = -1;
    return op;
}

static struct op *op_with_body(struct plan *p, enum op_kind kind, const struct resource_type *type, struct json *body)
{
    struct op *op = op_add(p, kind, type);

    assert(body);
    op->namespace = object_namespace(body);
    op->name = object_name(body);
    op->body = body;
    return op;
}

static struct op *op_by_id(struct plan *p, enum op_kind kind, struct object_id id)
{
    struct op *op = op_add(p, kind, id.type);

    /* Copied: names often come from a cache, which may change before the plan is applied. */
    op->namespace = arena_str(p->arena, id.namespace);
    op->name = arena_str(p->arena, id.name);
    op->uid = arena_str(p->arena, id.uid);
    return op;
}

struct object_id object_id_of(const struct resource_type *type, const struct json *object)
{
    return (struct object_id){ type, object_namespace(object), object_name(object), object_uid(object) };
}

struct op *plan_create(struct plan *p, const struct resource_type *type, struct json *body)
{
    return op_with_body(p, OP_CREATE, type, body);
}

struct op *plan_update(struct plan *p, const struct resource_type *type, struct json *body)
{
    return op_with_body(p, OP_UPDATE, type, body);
}

struct op *plan_update_status(struct plan *p, const struct resource_type *type, struct json *body)
{
    return op_with_body(p, OP_UPDATE_STATUS, type, body);
}

struct op *plan_patch(struct plan *p, struct object_id id, struct json *patch)
{
    struct op *op = op_by_id(p, OP_MERGE_PATCH, id);

    op->body = patch;
    return op;
}

struct op *plan_delete(struct plan *p, struct object_id id)
{
    return op_by_id(p, OP_DELETE, id);
}

struct op *plan_patch_status(struct plan *p, struct object_id id, struct json *status)
{
    struct op *op = op_by_id(p, OP_PATCH_STATUS, id);

    assert(status);
    op->body = json_object(p->arena);
    json_add(op->body, STR("status"), status);
    return op;
}

struct op *plan_bind(struct plan *p, struct str namespace, struct str name, struct str uid, struct str node)
{
    struct object_id pod = { type_by_kind(STR("v1"), STR("Pod")), namespace, name, uid };
    struct op *op = op_by_id(p, OP_BIND, pod);
    struct arena *a = p->arena;
    struct json *target;

    op->body = object_new(a, "v1", "Binding", op->namespace, op->name);
    if (op->uid.n)
        json_set(json_get(op->body, "metadata"), "uid", json_str(a, op->uid));
    target = json_add(op->body, STR("target"), json_object(a));
    json_add(target, STR("apiVersion"), json_str(a, STR("v1")));
    json_add(target, STR("kind"), json_str(a, STR("Node")));
    json_add(target, STR("name"), json_str(a, arena_str(a, node)));
    return op;
}

void plan_wake(struct plan *p, int64_t ms)
{
    if (p->wake_ms == 0 || ms < p->wake_ms)
        p->wake_ms = ms;
}

/* ---- events ---- */

static struct str event_name(struct arena *a, struct str object, struct str time)
{
    return arena_fmt(a, "%.*s%.*s", STR_ARG(str_sub(object, 0, EVENT_NAME_MAX - EVENT_TIME_CHARS)), STR_ARG(time));
}

/* Nanoseconds as client-go has them, so that names sort by time, ours and others'. The digits below our clock come
 * from a hash of the message: two Events of one moment have two names. */
static struct str event_time(struct arena *a, const struct json *about, struct str reason, struct str message,
                             int64_t now_ms)
{
    const uint64_t ms = 1000000;
    uint64_t hash = str_hash(message, str_hash(reason, str_hash(object_uid(about), 0)));

    return arena_fmt(a, ".%016llx", (unsigned long long)((uint64_t)now_ms * ms + hash % ms));
}

static void plan_add_text(struct arena *a, struct json *to, const char *key, struct str text)
{
    if (text.n)
        json_add(to, str_of(key), json_str(a, arena_str(a, text)));
}

struct json *plan_event_ref(struct arena *a, const struct json *about)
{
    struct json *ref = json_object(a);

    plan_add_text(a, ref, "apiVersion", object_api_version(about));
    plan_add_text(a, ref, "kind", object_kind(about));
    plan_add_text(a, ref, "namespace", object_namespace(about));
    plan_add_text(a, ref, "name", object_name(about));
    plan_add_text(a, ref, "uid", object_uid(about));
    plan_add_text(a, ref, "resourceVersion", json_member_text(json_get(about, "metadata"), "resourceVersion"));
    return ref;
}

struct op *plan_event(struct plan *p, const struct json *about, const char *type, const char *reason,
                      struct str message)
{
    struct str namespace = object_namespace(about), why = str_of(reason);
    struct arena *a = p->arena;
    struct json *event;
    autobuf now = { 0 };
    struct op *op;

    /* Events have a namespace always; those about cluster-scoped objects live in "default". */
    event = object_new(a, "v1", "Event", namespace.n ? arena_str(a, namespace) : STR("default"),
                       event_name(a, object_name(about), event_time(a, about, why, message, p->now_ms)));
    json_add(event, STR("involvedObject"), plan_event_ref(a, about));
    plan_add_text(a, event, "reason", why);
    plan_add_text(a, event, "message", message);
    plan_add_text(a, event, "type", str_of(type));
    clock_print(&now, p->now_ms);
    plan_add_text(a, event, "firstTimestamp", buf_view(&now));
    plan_add_text(a, event, "lastTimestamp", buf_view(&now));
    json_add(event, STR("count"), json_int(a, 1));
    buf_reset(&now);
    clock_print_us(&now, p->now_ms * 1000);
    plan_add_text(a, event, "eventTime", buf_view(&now)); /* has parts of a second; with it "action" is required */
    plan_add_text(a, event, "action", why);
    op = plan_create(p, type_by_kind(STR("v1"), STR("Event")), event);
    plan_event_from(p, op, STR(COMPONENT), STR_NULL);
    return op;
}

void plan_event_from(struct plan *p, struct op *event, struct str component, struct str host)
{
    struct json *source = json_object(p->arena);

    plan_add_text(p->arena, source, "component", component);
    plan_add_text(p->arena, source, "host", host);
    json_set(event->body, "source", source);
    json_set(event->body, "reportingComponent", json_str(p->arena, arena_str(p->arena, component)));
    json_set(event->body, "reportingInstance", json_str(p->arena, arena_str(p->arena, host.n ? host : component)));
}

void plan_event_about(struct arena *a, struct op *event, const struct json *ref)
{
    json_set(event->body, "involvedObject", json_copy(a, ref));
    event->name = event_name(a, json_member_text(ref, "name"), str_from(event->name, event->name.n - EVENT_TIME_CHARS));
    json_set(json_get(event->body, "metadata"), "name", json_str(a, event->name));
}
