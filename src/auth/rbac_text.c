/* rbac_text.c - why a request is allowed or forbidden: the sentences of Kubernetes
 *
 * Names stand in quotes as Go writes them (%q); buf_quote() writes the same for all that a name may hold.
 */
#include "auth/rbac_internal.h"

#include "base/util.h"

static void rbac_text_quote(struct buf *out, struct str s)
{
    buf_quote(out, s, SIZE_MAX);
}

static struct str rbac_text_taken(struct arena *a, struct buf *b)
{
    struct str s = arena_str(a, buf_view(b));

    buf_done(b);
    return s;
}

/* ---- allowed by ---- */

static bool rbac_text_is_meant(const struct subject_ref *s, const struct identity *who)
{
    struct str name = str_from(s->key, 2);

    if (!s->key.n)
        return false;
    return s->key.p[0] == 'u' ? str_eq(name, who->user) : identity_has_group(who, name);
}

static void print_subject(struct buf *out, const struct rbac_binding *b, const struct subject_ref *s)
{
    autobuf name = { 0 };

    buf_str(&name, s->name);
    if (str_is(s->kind, "ServiceAccount"))
        buf_fmt(&name, "/%.*s", STR_ARG(s->namespace.n ? s->namespace : b->namespace));
    buf_fmt(out, "%.*s ", STR_ARG(s->kind));
    rbac_text_quote(out, buf_view(&name));
}

static void print_binding(struct buf *out, const struct rbac_binding *b, const struct identity *who)
{
    autobuf name = { 0 };

    buf_str(&name, b->name);
    if (b->namespace.n)
        buf_fmt(&name, "/%.*s", STR_ARG(b->namespace));
    buf_fmt(out, "RBAC: allowed by %s ", b->namespace.n ? "RoleBinding" : "ClusterRoleBinding");
    rbac_text_quote(out, buf_view(&name));
    buf_fmt(out, " of %.*s ", STR_ARG(b->role_kind));
    rbac_text_quote(out, b->role_name);
    VEC_FOREACH(s, &b->subjects)
        if (rbac_text_is_meant(s, who)) {
            buf_fmt(out, " to ");
            print_subject(out, b, s);
            return;
        }
}

/* ---- missing roles ---- */

struct rbac_text_missing {
    struct buf text;
    size_t n;
    VEC(struct str) seen;
    struct arena arena;
};

static bool note_missing(void *ctx, const struct rbac_binding *b)
{
    struct rbac_text_missing *m = ctx;
    autobuf one = { 0 };

    if (b->role && b->role->is_there)
        return true;
    buf_fmt(&one, "%s." RBAC_GROUP " ", str_is(b->role_kind, "Role") ? "role" : "clusterrole");
    rbac_text_quote(&one, b->role_name);
    buf_fmt(&one, " not found");
    VEC_FOREACH(s, &m->seen) /* an aggregate of errors says each once */
        if (str_eq(*s, buf_view(&one)))
            return true;
    *vec_push(&m->arena, &m->seen) = arena_str(&m->arena, buf_view(&one));
    buf_fmt(&m->text, "%s%.*s", m->n++ ? ", " : "", STR_ARG(buf_view(&one)));
    return true;
}

struct str rbac_reason(struct rbac *r, struct arena *a, const struct identity *who, const struct rbac_question *q,
                       const struct rbac_verdict *verdict)
{
    struct rbac_text_missing m = { 0 };
    struct buf out = { 0 };

    if (verdict->is_allowed) {
        if (verdict->by)
            print_binding(&out, verdict->by, who);
        return rbac_text_taken(a, &out);
    }
    rbac_each_binding(r, who, q->path.n ? STR_NULL : q->namespace, note_missing, &m);
    if (m.n)
        buf_fmt(&out, m.n > 1 ? "RBAC: [%.*s]" : "RBAC: %.*s", STR_ARG(buf_view(&m.text)));
    buf_done(&m.text);
    arena_done(&m.arena);
    return rbac_text_taken(a, &out);
}

/* ---- forbidden ---- */

struct str rbac_sentence(struct arena *a, const struct identity *who, const struct rbac_question *q)
{
    struct buf out = { 0 };
    autobuf resource = { 0 };

    buf_fmt(&out, "User ");
    rbac_text_quote(&out, who->user);
    buf_fmt(&out, " cannot %.*s ", STR_ARG(q->verb));
    if (q->path.n) {
        buf_fmt(&out, "path ");
        rbac_text_quote(&out, q->path);
        return rbac_text_taken(a, &out);
    }
    buf_fmt(&resource, "%.*s%s%.*s", STR_ARG(q->resource), q->subresource.n ? "/" : "", STR_ARG(q->subresource));
    buf_fmt(&out, "resource ");
    rbac_text_quote(&out, buf_view(&resource));
    buf_fmt(&out, " in API group ");
    rbac_text_quote(&out, q->group);
    buf_fmt(&out, q->namespace.n ? " in the namespace " : " at the cluster scope");
    if (q->namespace.n)
        rbac_text_quote(&out, q->namespace);
    return rbac_text_taken(a, &out);
}

struct str rbac_forbidden(struct arena *a, const struct identity *who, const struct rbac_question *q, struct str reason)
{
    struct buf out = { 0 };

    if (q->path.n || !q->resource.n)
        buf_fmt(&out, "forbidden: ");
    else {
        buf_fmt(&out, "%.*s%s%.*s ", STR_ARG(q->resource), q->group.n ? "." : "", STR_ARG(q->group));
        if (q->name.n) {
            rbac_text_quote(&out, q->name);
            buf_char(&out, ' ');
        }
        buf_fmt(&out, "is forbidden: ");
    }
    buf_str(&out, rbac_sentence(a, who, q));
    if (reason.n)
        buf_fmt(&out, ": %.*s", STR_ARG(reason));
    return rbac_text_taken(a, &out);
}

struct json *rbac_forbidden_status(struct arena *a, const struct identity *who, const struct rbac_question *q,
                                   struct str reason)
{
    struct json *status = json_object(a), *details;

    json_set(status, "kind", json_str(a, STR("Status")));
    json_set(status, "apiVersion", json_str(a, STR("v1")));
    json_set(status, "metadata", json_object(a));
    json_set(status, "status", json_str(a, STR("Failure")));
    json_set(status, "message", json_str(a, rbac_forbidden(a, who, q, reason)));
    json_set(status, "reason", json_str(a, STR("Forbidden")));
    details = json_set(status, "details", json_object(a));
    if (!q->path.n) {
        if (q->name.n)
            json_set(details, "name", json_str(a, q->name));
        if (q->group.n)
            json_set(details, "group", json_str(a, q->group));
        json_set(details, "kind", json_str(a, q->resource));
    }
    json_set(status, "code", json_int(a, 403));
    return status;
}
