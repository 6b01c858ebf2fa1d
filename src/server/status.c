/* status.c - Status objects: errors in the words that clients look for */
#include "server/server_internal.h"

static const struct {
    int code;
    const char *reason;
    bool has_details, names_kind; /* names_kind: details.kind is "Pod", not "pods" */
} reasons[] = {
    [REASON_BAD_REQUEST] = { 400, "BadRequest" },
    [REASON_UNAUTHORIZED] = { 401, "Unauthorized" },
    [REASON_FORBIDDEN] = { 403, "Forbidden", true },
    [REASON_NOT_FOUND] = { 404, "NotFound", true },
    [REASON_METHOD] = { 405, "MethodNotAllowed", true },
    [REASON_NOT_ACCEPTABLE] = { 406, "NotAcceptable" },
    [REASON_EXISTS] = { 409, "AlreadyExists", true },
    [REASON_CONFLICT] = { 409, "Conflict", true },
    [REASON_EXPIRED] = { 410, "Expired" },
    [REASON_TOO_LARGE] = { 413, "RequestEntityTooLarge" },
    [REASON_MEDIA] = { 415, "UnsupportedMediaType" },
    [REASON_INVALID] = { 422, "Invalid", true, true },
    [REASON_TOO_MANY] = { 429, "TooManyRequests" },
    [REASON_INTERNAL] = { 500, "InternalError" },
    [REASON_UNAVAILABLE] = { 503, "ServiceUnavailable" },
    [REASON_TIMEOUT] = { 504, "Timeout" },
};
_Static_assert(ARRAY_LEN(reasons) == REASON_MAX, "every reason has its code");

int status_code(const struct server_request *rq)
{
    return reasons[rq->failure.reason].code;
}

/* ---- failing ---- */

int fail_with(struct server_request *rq, enum reason reason, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    rq->failure = (struct server_failure){ .reason = reason,
                                           .message = arena_vfmt(rq->arena, fmt, ap),
                                           .name = rq->failure.name };
    va_end(ap);
    return -1;
}

void fail_cause(struct server_request *rq, const char *reason, struct str field, struct str message)
{
    *vec_push(rq->arena, &rq->failure.causes) = (struct cause){ reason, arena_str(rq->arena, message),
                                                                arena_str(rq->arena, field) };
}

/* "metadata.name: must be …" is about that field. */
static struct str status_field_of(struct str text, struct str *ret_rest)
{
    ptrdiff_t colon = str_find_char(text, ':');
    struct str field = colon > 0 ? str_sub(text, 0, (size_t)colon) : STR_NULL;

    if (colon <= 0 || str_has_char(field, ' ') || !str_starts(str_from(text, (size_t)colon), STR(": "))) {
        *ret_rest = text;
        return STR_NULL;
    }
    *ret_rest = str_from(text, (size_t)colon + 2);
    return field;
}

static struct str status_kind_name(const struct server_request *rq, const struct resource_type *t)
{
    return t ? arena_fmt(rq->arena, "%s%s%s", t->kind, t->group[0] ? "." : "", t->group) : STR("object");
}

/* The message is made of the causes once all are known. */
static int begin_invalid(struct server_request *rq, struct str name)
{
    rq->failure = (struct server_failure){ .reason = REASON_INVALID, .name = name };
    return -1;
}

int fail_field(struct server_request *rq, const char *reason, const char *field, const char *fmt, ...)
{
    va_list ap;

    if (rq->failure.reason != REASON_INVALID)
        begin_invalid(rq, rq->failure.name);
    va_start(ap, fmt);
    fail_cause(rq, reason, str_of(field), arena_vfmt(rq->arena, fmt, ap));
    va_end(ap);
    return -1;
}

int fail_not_found(struct server_request *rq, const struct resource_type *type, struct str name)
{
    fail_with(rq, REASON_NOT_FOUND, "%.*s \"%.*s\" not found", STR_ARG(type_resource(rq->arena, type)), STR_ARG(name));
    rq->failure.name = name;
    rq->failure.kind = str_of(type->plural);
    return -1;
}

int fail_err(struct server_request *rq, const struct err *e)
{
    static const enum reason by_code[ERR_CODE_MAX] = {
        [ERR_OK] = REASON_INTERNAL,       [ERR_INVALID] = REASON_INVALID,     [ERR_SYNTAX] = REASON_BAD_REQUEST,
        [ERR_TOO_BIG] = REASON_TOO_LARGE, [ERR_NOT_FOUND] = REASON_NOT_FOUND, [ERR_EXISTS] = REASON_EXISTS,
        [ERR_CONFLICT] = REASON_CONFLICT, [ERR_GONE] = REASON_EXPIRED,        [ERR_FORBIDDEN] = REASON_FORBIDDEN,
        [ERR_IO] = REASON_UNAVAILABLE,    [ERR_INTERNAL] = REASON_INTERNAL,
    };
    struct str text = arena_str(rq->arena, str_of(e->text)), rest, field = status_field_of(text, &rest);

    if (e->code != ERR_INVALID)
        return fail_with(rq, by_code[e->code], "%s", text.p);
    begin_invalid(rq, rq->failure.name);
    fail_cause(rq, "FieldValueInvalid", field, rest);
    return -1;
}

/* ---- what is wrong with fields ---- */

static const struct {
    const char *reason, *word; /* the sentence begins with the word */
} cause_rows[PROBLEM_KIND_MAX] = {
    [PROBLEM_INVALID] = { "FieldValueInvalid", "Invalid value" },
    [PROBLEM_SHAPE] = { "FieldValueInvalid", "Invalid value" },
    [PROBLEM_UNKNOWN] = { "FieldValueInvalid", "Invalid value" },
    [PROBLEM_REQUIRED] = { "FieldValueRequired", "Required value" },
    [PROBLEM_UNSUPPORTED] = { "FieldValueNotSupported", "Unsupported value" },
    [PROBLEM_DUPLICATE] = { "FieldValueDuplicate", "Duplicate value" },
    [PROBLEM_FORBIDDEN] = { "FieldValueForbidden", "Forbidden" },
};

/* The value that a sentence ends with, "must … (got X)", to where Kubernetes has it: "X: must …". */
static struct str value_first(struct arena *a, struct str text)
{
    struct str got = STR(" (got ");
    size_t at = text.n;

    if (!str_ends(text, STR(")")))
        return text;
    while (at > 0 && !str_starts(str_from(text, at), got))
        at--;
    if (!at)
        return text;
    return arena_fmt(a, "%.*s: %.*s", (int)(text.n - at - got.n - 1), text.p + at + got.n, (int)at, text.p);
}

int fail_problems(struct server_request *rq, struct problems *ps)
{
    begin_invalid(rq, rq->failure.name);
    VEC_FOREACH(p, &ps->list)
        if (p->level == PROBLEM_ERROR)
            fail_cause(rq, cause_rows[p->kind].reason, p->path,
                       arena_fmt(rq->arena, "%s%s%.*s", cause_rows[p->kind].word, p->text.n ? ": " : "",
                                 STR_ARG(value_first(rq->arena, p->text))));
    return -1;
}

/* 'Pod "x" is invalid: spec: …', with several causes in brackets. */
static struct str invalid_message(const struct server_request *rq)
{
    const struct server_failure *f = &rq->failure;
    struct str name = f->name.n ? f->name : rq->target.name;
    autobuf out = { 0 };

    buf_fmt(&out, "%.*s \"%.*s\" is invalid: ", STR_ARG(status_kind_name(rq, rq->type)), STR_ARG(name));
    if (f->causes.n > 1)
        buf_char(&out, '[');
    VEC_FOREACH(c, &f->causes) {
        if (c != f->causes.v)
            buf_str(&out, STR(", "));
        buf_fmt(&out, "%.*s%s%.*s", STR_ARG(c->field), c->field.n ? ": " : "", STR_ARG(c->message));
    }
    if (f->causes.n > 1)
        buf_char(&out, ']');
    return arena_str(rq->arena, buf_view(&out));
}

/* ---- the object ---- */

static struct json *causes_of(const struct server_request *rq)
{
    struct json *list = json_array(rq->arena);

    VEC_FOREACH(c, &rq->failure.causes) {
        struct json *j = json_push(list, json_object(rq->arena));

        json_add(j, STR("reason"), json_str(rq->arena, str_of(c->reason)));
        json_add(j, STR("message"), json_str(rq->arena, c->message));
        if (c->field.n)
            json_add(j, STR("field"), json_str(rq->arena, c->field));
    }
    return list;
}

static struct json *details_of(const struct server_request *rq)
{
    const struct server_failure *f = &rq->failure;
    struct str kind = f->kind, name = f->name.n ? f->name : rq->target.name;
    struct json *d = json_object(rq->arena);

    if (!kind.n && rq->type)
        kind = str_of(reasons[f->reason].names_kind ? rq->type->kind : rq->type->plural);
    if (reasons[f->reason].has_details && !f->has_no_details) {
        if (name.n)
            json_add(d, STR("name"), json_str(rq->arena, name));
        if (rq->type && rq->type->group[0] && !f->kind.n)
            json_add(d, STR("group"), json_str(rq->arena, str_of(rq->type->group)));
        if (kind.n)
            json_add(d, STR("kind"), json_str(rq->arena, kind));
    }
    if (f->causes.n)
        json_add(d, STR("causes"), causes_of(rq));
    if (f->retry_s)
        json_add(d, STR("retryAfterSeconds"), json_int(rq->arena, f->retry_s));
    return d;
}

static struct json *status_new(struct server_request *rq, const char *status)
{
    struct json *j = json_object(rq->arena);

    json_add(j, STR("kind"), json_str(rq->arena, STR("Status")));
    json_add(j, STR("apiVersion"), json_str(rq->arena, STR("v1")));
    json_add(j, STR("metadata"), json_object(rq->arena));
    json_add(j, STR("status"), json_str(rq->arena, str_of(status)));
    return j;
}

struct json *status_of(struct server_request *rq)
{
    struct server_failure *f = &rq->failure;
    struct json *j = status_new(rq, "Failure"), *details;

    if (f->reason == REASON_INVALID && !f->message.n)
        f->message = invalid_message(rq);
    if (f->continue_.n)
        json_add(json_get(j, "metadata"), STR("continue"), json_str(rq->arena, f->continue_));
    json_add(j, STR("message"), json_str(rq->arena, f->message));
    json_add(j, STR("reason"), json_str(rq->arena, str_of(reasons[f->reason].reason)));
    details = details_of(rq);
    if (details->n || reasons[f->reason].has_details)
        json_add(j, STR("details"), details);
    json_add(j, STR("code"), json_int(rq->arena, reasons[f->reason].code));
    return j;
}

struct json *status_success(struct server_request *rq, int code)
{
    struct json *j = status_new(rq, "Success");

    if (code)
        json_add(j, STR("code"), json_int(rq->arena, code));
    return j;
}

void server_refuse(struct http_call *call, int code, struct str why)
{
    autoarena a = { 0 };
    struct server_request rq = { .arena = &a, .call = call };

    rq.failure =
        (struct server_failure){ .reason = REASON_INTERNAL, .message = arena_str(&a, why), .has_no_details = true };
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (reasons[i].code == code) {
            rq.failure.reason = (enum reason)i;
            break;
        }
    reply_failure(&rq);
}
