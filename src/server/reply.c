/* reply.c - answers: objects in the format that the client accepts */
#include "server/server_internal.h"

#include "base/codec.h"
#include "proto/proto.h"
#include "yaml/yaml.h"

#include <openssl/sha.h>

enum { WARNINGS_MAX = 64, WARNING_BYTES = 1024, HEADERS_MAX = WARNINGS_MAX + 8 };

void warn(struct server_request *rq, const char *fmt, ...)
{
    va_list ap;

    if (rq->warnings.n >= WARNINGS_MAX)
        return;
    va_start(ap, fmt);
    *vec_push(rq->arena, &rq->warnings) = str_cut(arena_vfmt(rq->arena, fmt, ap), WARNING_BYTES);
    va_end(ap);
}

/* Warning: 299 - "unknown field \"spec.foo\"": quoted as HTTP has it, nothing in it that would end the line. */
static const char *warning_header(struct arena *a, struct str text)
{
    autobuf out = { 0 };

    buf_str(&out, STR("Warning: 299 - \""));
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if (c == '"' || c == '\\')
            buf_char(&out, '\\');
        buf_char(&out, c < ' ' || c == 127 ? ' ' : (char)c);
    }
    buf_char(&out, '"');
    return arena_cstr(a, buf_view(&out));
}

void reply_text(struct server_request *rq, int code, const char *type, struct str body, const char *const *headers)
{
    const char *all[HEADERS_MAX + 1] = { NULL };
    autobuf packed = { 0 };
    size_t n = 0;

    for (; headers && *headers && n < HEADERS_MAX - WARNINGS_MAX - 3; headers++)
        all[n++] = *headers;
    VEC_FOREACH(w, &rq->warnings)
        all[n++] = warning_header(rq->arena, *w);
    if (gzip_is_wanted(rq->call, body.n) && gzip_pack(body, &packed) == 0) {
        all[n++] = "Content-Encoding: gzip";
        all[n++] = "Vary: Accept-Encoding";
        body = buf_view(&packed);
    }
    rq->is_answered = true;
    rq->status = code;
    http_answer(rq->call, &(struct http_reply){ code, type, all }, body);
}

void reply_tagged(struct server_request *rq, const char *type, struct str body)
{
    unsigned char hash[SHA256_DIGEST_LENGTH];
    autobuf tag = { 0 };

    SHA256((const unsigned char *)body.p, body.n, hash);
    buf_str(&tag, STR("ETag: \""));
    buf_hex(&tag, hash, sizeof(hash));
    buf_char(&tag, '"');
    const char *const headers[] = { tag.p, "Vary: Accept", NULL };

    if (str_eq(http_call_header(rq->call, "If-None-Match"), str_from(buf_view(&tag), strlen("ETag: "))))
        reply_text(rq, 304, type, STR(""), headers);
    else
        reply_text(rq, 200, type, body, headers);
}

const char *media_name(enum accept_media media)
{
    static const char *const names[] = {
        [MEDIA_JSON] = "application/json", [MEDIA_YAML] = "application/yaml", [MEDIA_PROTOBUF] = PROTOBUF_MEDIA
    };

    return names[media];
}

/* An object without a form in protobuf is answered as JSON: Content-Type says so, and clients that ask for one read the
 * other. */
static enum accept_media reply_print(const struct server_request *rq, struct buf *out, const struct json *j)
{
    struct err e;

    if (rq->accept.media == MEDIA_PROTOBUF && proto_encode(rq->arena, out, j, &e) == 0)
        return MEDIA_PROTOBUF;
    if (rq->accept.media == MEDIA_YAML)
        yaml_print(out, j, NULL);
    else if (rq->is_pretty)
        json_print_pretty(out, j, 2);
    else
        json_print(out, j);
    if (rq->accept.media == MEDIA_YAML)
        return MEDIA_YAML;
    buf_char(out, '\n');
    return MEDIA_JSON;
}

static void reply_as(struct server_request *rq, int code, const struct json *j, const char *const *headers)
{
    autobuf out = { 0 };
    enum accept_media media = reply_print(rq, &out, j);

    reply_text(rq, code, media_name(media), buf_view(&out), headers);
}

void reply_json(struct server_request *rq, int code, const struct json *j)
{
    reply_as(rq, code, j, NULL);
}

struct json *partial_of(struct arena *a, const struct json *root)
{
    struct json *j = json_object(a);

    json_add(j, STR("kind"), json_str(a, STR("PartialObjectMetadata")));
    json_add(j, STR("apiVersion"), json_str(a, STR("meta.k8s.io/v1")));
    json_add(j, STR("metadata"), json_copy(a, json_get(root, "metadata")));
    return j;
}

static struct json *table_of_one(struct server_request *rq, const struct json *root)
{
    struct json *table = table_new(rq->arena, shown_as(rq), true);
    struct str include = STR("Metadata");

    (void)param(rq, "includeObject", &include);
    table_add(rq->arena, table, root, &(struct table_look){ shown_as(rq), include, server_now_ms(rq->server) });
    json_set(json_get(table, "metadata"), "resourceVersion",
             json_str(rq->arena, json_member_text(json_get(root, "metadata"), "resourceVersion")));
    return table;
}

void reply_object(struct server_request *rq, int code, const struct json *root)
{
    if (rq->accept.form == ACCEPT_TABLE)
        reply_json(rq, code, table_of_one(rq, root));
    else if (rq->accept.form == ACCEPT_PARTIAL)
        reply_json(rq, code, partial_of(rq->arena, root));
    else
        reply_json(rq, code, view_show(rq->arena, rq->view, root));
}

void reply_stored(struct server_request *rq, int code, const struct object *o)
{
    if (rq->accept.form == ACCEPT_OBJECT && rq->accept.media == MEDIA_JSON && !rq->is_pretty && !rq->is_dry &&
        !rq->view) {
        reply_text(rq, code, "application/json", encoded(rq->server, o), NULL);
        return;
    }
    store_warm(rq->server->opt.store, o);
    reply_object(rq, code, o->root);
}

/* The methods that would have been fine. */
static const char *allow_header(const struct server_request *rq)
{
    static const struct {
        enum verb verb;
        const char *method;
        bool of_one, of_all;
    } rows[] = { { VERB_GET, "GET, HEAD", true, false },
                 { VERB_LIST, "GET, HEAD", false, true },
                 { VERB_CREATE, "POST", false, true },
                 { VERB_UPDATE, "PUT", true, false },
                 { VERB_PATCH, "PATCH", true, false },
                 { VERB_DELETE, "DELETE", true, false },
                 { VERB_DELETE_COLLECTION, "DELETE", false, true } };
    const struct subresource *sub = rq->type ? subresource_of(shown_as(rq), rq->target.subresource) : NULL;
    autobuf out = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool is_allowed = rq->type && (rq->target.name.n ? rows[i].of_one : rows[i].of_all) &&
                          type_allows(rq->type, rows[i].verb);

        if (sub)
            is_allowed = rows[i].verb < VERB_MAX && sub->handle[rows[i].verb];
        if (is_allowed)
            buf_fmt(&out, "%s%s", out.n ? ", " : "Allow: ", rows[i].method);
    }
    return out.n ? arena_cstr(rq->arena, buf_view(&out)) : "Allow: GET, HEAD";
}

void reply_failure(struct server_request *rq)
{
    struct json *status = status_of(rq);
    const char *headers[4] = { NULL };
    size_t n = 0;

    if (rq->failure.reason == REASON_UNAUTHORIZED)
        headers[n++] = "WWW-Authenticate: Bearer realm=\"pumice\"";
    if (rq->failure.reason == REASON_METHOD)
        headers[n++] = allow_header(rq);
    if (rq->failure.retry_s)
        headers[n++] = arena_fmt(rq->arena, "Retry-After: %lld", (long long)rq->failure.retry_s).p;
    reply_as(rq, status_code(rq), status, headers);
}

static void forget_encoded(struct server *s)
{
    for (size_t i = 0; i < ENCODED_MAX; i++) {
        buf_done(&s->encoded[i].text);
        s->encoded[i].rev = 0;
    }
    s->encoded_bytes = 0;
}

/* A durable store keeps the bytes. Else: an object is one state, and a state has one revision: the next client gets the
 * same bytes. */
struct str encoded(struct server *s, const struct object *o)
{
    size_t i = o->rev % ENCODED_MAX;

    if (o->text.n)
        return o->text;
    if (s->encoded[i].rev == o->rev && o->rev)
        return buf_view(&s->encoded[i].text);
    if (s->encoded_bytes > ENCODED_BYTES)
        forget_encoded(s);
    s->encoded_bytes -= s->encoded[i].text.cap;
    buf_reset(&s->encoded[i].text);
    json_print(&s->encoded[i].text, o->root);
    s->encoded_bytes += s->encoded[i].text.cap;
    s->encoded[i].rev = o->rev;
    return buf_view(&s->encoded[i].text);
}
