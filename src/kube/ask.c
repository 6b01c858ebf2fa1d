/* ask.c - one request, one answer */
#include "kube/ask.h"

#include "base/clock.h"
#include "base/util.h"
#include "kube/ask_internal.h"
#include "kube/cluster_internal.h"

#include <poll.h>

enum { BUSY_MS = 30000, BUSY_PAUSE_MS = 500, PAGE_MAX_BYTES = 256 << 20 };

struct ask_reply {
    bool is_there;
    int status;
    int64_t retry_ms;
    struct err err;
    struct buf body;
};

/* ---- life ---- */

int kube_ask_open(const struct kube_config *config, struct kube_ask **ret, struct err *e)
{
    struct kube_ask *k = xcalloc(1, sizeof(*k));
    struct http_options opt;

    k->config = config;
    buf_fmt(&k->agent, "pumice/%s", PUMICE_VERSION);
    opt = kube_config_http(config, buf_view(&k->agent));
    if (http_client_new(&opt, &k->http, e) < 0) {
        kube_ask_close(k);
        return -1;
    }
    k->credential = credential_new(config, &clock_real);
    *ret = k;
    return 0;
}

void kube_ask_close(struct kube_ask *k)
{
    if (!k)
        return;
    http_client_free(k->http);
    credential_free(k->credential);
    buf_done(&k->agent);
    free(k);
}

/* ---- one exchange ---- */

static void ask_on_end(void *ctx, const struct http_answer *a)
{
    struct ask_reply *r = ctx;

    r->is_there = true;
    r->status = a->status;
    r->err = a->err;
    r->retry_ms = decode_retry_ms(a);
    buf_str(&r->body, a->body);
}

int ask_identify(struct kube_ask *k, struct credential_now *ret, struct err *e)
{
    for (;;) {
        enum credential_state state = credential_get(k->credential, ret, e);
        struct pollfd p = { credential_fd(k->credential), POLLIN, 0 };
        int64_t due_ms;

        if (state == CREDENTIAL_FAILED)
            return -1;
        if (state == CREDENTIAL_READY)
            break;
        due_ms = credential_due_ms(k->credential);
        (void)poll(&p, 1,
                   due_ms == INT64_MAX ? 1000 : (int)MAX_OF(MIN_OF(due_ms - clock_mono_ms(&clock_real), 1000), 0));
        credential_turn(k->credential);
    }
    if (ret->cert_pem.n && ret->generation != k->generation)
        http_client_set_certificate(k->http, ret->cert_pem, ret->key_pem);
    k->generation = ret->generation;
    return 0;
}

static int ask_exchange(struct kube_ask *k, struct http_request *request, struct ask_reply *r, struct err *e)
{
    struct credential_now now = { 0 };

    if (ask_identify(k, &now, e) < 0)
        return -1;
    buf_reset(&r->body);
    r->is_there = false;
    request->token = now.token;
    request->headers = k->config->headers;
    request->ctx = r;
    request->on_end = ask_on_end;
    request->max_bytes = PAGE_MAX_BYTES;
    request->is_zipped = !k->config->is_plain;
    (void)http_send(k->http, request);
    while (!r->is_there) {
        (void)poll(&(struct pollfd){ http_fd(k->http), POLLIN, 0 }, 1, -1);
        http_turn(k->http);
    }
    return 0;
}

/* Until there is an answer that trying again would not change. */
static int ask_ask(struct kube_ask *k, struct http_request *request, struct ask_reply *r, struct err *e)
{
    int64_t end_ms = clock_mono_ms(&clock_real) + BUSY_MS;
    bool is_renewed = false;

    for (;;) {
        bool is_busy;

        if (ask_exchange(k, request, r, e) < 0)
            return -1;
        if (r->status == 401 && !is_renewed && credential_refused(k->credential, k->generation)) {
            is_renewed = true;
            continue;
        }
        is_busy = r->status == 429 || (r->status == 503 && r->retry_ms);
        if (!is_busy || clock_mono_ms(&clock_real) >= end_ms)
            return 0;
        (void)poll(NULL, 0, (int)MIN_OF(MAX_OF(r->retry_ms, (int64_t)BUSY_PAUSE_MS), (int64_t)BUSY_MS));
    }
}

static int ask_check(const struct kube_ask *k, const struct ask_reply *r, struct err *e)
{
    autoarena scratch = { 0 };
    struct json *status = NULL;

    if (r->err.code != ERR_OK) {
        *e = r->err;
        return -1;
    }
    if (r->status < 300)
        return 0;
    if (json_parse(&scratch, buf_view(&r->body), NULL, &status, NULL) < 0 ||
        !str_is(json_member_text(status, "kind"), "Status"))
        status = NULL; /* a proxy's page, perhaps */
    decode_status(r->status, status, e);
    if (r->status == 401)
        return err_wrap(e, "%.*s: the API server rejected our credentials", STR_ARG(k->config->origin));
    return -1;
}

/* ---- questions ---- */

static int ask_bad_body(const struct kube_ask *k, struct str path, struct err *e)
{
    return err_wrap(e, "%.*s%.*s", STR_ARG(k->config->server), STR_ARG(path));
}

int kube_ask_call(struct kube_ask *k, struct arena *a, const struct kube_call *call, struct json **ret, struct err *e)
{
    struct http_request request = { .method = call->method,
                                    .path = call->path,
                                    .body = call->body,
                                    .body_type = call->body_type ? call->body_type : "application/json",
                                    .accept = call->accept,
                                    .total_ms = ANSWER_MS };
    struct ask_reply r = { 0 };
    struct json *answer = NULL;
    int rc = ask_ask(k, &request, &r, e);

    if (rc == 0 && r.err.code == ERR_OK &&
        json_parse(a, arena_str(a, buf_view(&r.body)), NULL, &answer, r.status < 300 ? e : NULL) < 0)
        rc = r.status < 300 ? ask_bad_body(k, call->path, e) : 0;
    if (rc == 0)
        rc = ask_check(k, &r, e);
    if (ret)
        *ret = rc == 0 || str_is(json_member_text(answer, "kind"), "Status") ? answer : NULL;
    buf_done(&r.body);
    return rc;
}

static int ask_body(struct kube_ask *k, struct arena *a, struct http_request *request, struct str *ret, struct err *e)
{
    struct ask_reply r = { 0 };
    int rc = ask_ask(k, request, &r, e);

    if (rc == 0)
        rc = ask_check(k, &r, e);
    if (rc == 0)
        *ret = arena_str(a, buf_view(&r.body));
    buf_done(&r.body);
    return rc;
}

int kube_ask_get(struct kube_ask *k, struct arena *a, struct str path, struct json **ret, struct err *e)
{
    struct http_request request = { .method = "GET", .path = path, .total_ms = ANSWER_MS };

    struct str text;

    if (ask_body(k, a, &request, &text, e) < 0)
        return -1;
    return json_parse(a, text, NULL, ret, e) < 0 ? ask_bad_body(k, path, e) : 0;
}

int kube_ask_text(struct kube_ask *k, struct arena *a, struct str path, struct str *ret, struct err *e)
{
    struct http_request request = { .method = "GET", .path = path, .accept = "*/*", .total_ms = ANSWER_MS };

    return ask_body(k, a, &request, ret, e);
}

int kube_ask_object(struct kube_ask *k, struct arena *a, const struct object_key *key, struct json **ret, struct err *e)
{
    autobuf path = { 0 };

    path_object(&path, key->type, key->namespace, key->name, NULL);
    return kube_ask_get(k, a, buf_view(&path), ret, e);
}

/* ---- lists ---- */

static struct json_mask *mask_of_list(struct arena *a, const struct resource_type *type)
{
    static const char *const around[] = { "metadata.continue", "items", NULL };
    static const char *const whole[] = { "-metadata.managedFields", NULL };
    struct json_mask *list = json_mask_make(a, around);

    json_mask_graft(a, list, "items",
                    json_mask_make(a, strcmp(type->kind, "Pod") == 0 ? kube_pod_fields_scheduler : whole));
    return list;
}

/* Nothing of the page has to stay. Items of a list of a built-in kind do not say what they are. */
static void ask_keep(struct arena *a, const struct resource_type *type, const struct json *item, struct kube_list *ret)
{
    struct json *copy = json_clone(a, item);

    json_set(copy, "apiVersion", json_str(a, type_api_version(a, type)));
    json_set(copy, "kind", json_str(a, str_of(type->kind)));
    *vec_push(a, &ret->items) = copy;
}

int kube_ask_list(struct kube_ask *k, struct arena *a, const struct object_key *what, struct kube_list *ret,
                  struct err *e)
{
    autobuf next = { 0 };

    do {
        autoarena page = { 0 };
        autobuf path = { 0 };
        struct http_request request = { .method = "GET", .total_ms = ANSWER_MS };
        struct json *list;
        struct str text;

        path_collection(&path, what->type, what->namespace);
        buf_fmt(&path, "?limit=%d", PAGE_ITEMS);
        path_query(&path, "continue", buf_view(&next));
        request.path = buf_view(&path);
        if (ask_body(k, &page, &request, &text, e) < 0)
            return -1;
        if (json_parse_masked(&page, text, mask_of_list(&page, what->type), &list, e) < 0)
            return ask_bad_body(k, request.path, e);
        JSON_FOREACH(item, json_get(list, "items"))
            ask_keep(a, what->type, item, ret);
        buf_reset(&next);
        buf_str(&next, json_text(json_find(list, "metadata", "continue", NULL), STR("")));
    } while (next.n);
    return 0;
}
