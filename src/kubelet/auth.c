/* auth.c - authentication and authorization of requests
 *
 * The API server is asked both: who has this token (TokenReview), and may that one do this to a node
 * (SubjectAccessReview). Its verdicts are cached for a while, so that not every line of a log is a review.
 */
#include "kubelet/kubelet_internal.h"

#include "api/meta.h"
#include "base/clock.h"
#include "json/json.h"
#include "kube/cluster.h"

enum { ALLOWED_MS = 60000, DENIED_MS = 5000, KNOWN_MAX = 256 };

struct kubelet_request { /* that waits for an answer of the API server */
    struct list_link link;
    struct kubelet *kubelet;
    struct http_call *call; /* NULL: the client has left */
    const char *verb, *subresource;
    struct buf user, key;
    struct arena arena;
    VEC(struct str) groups;
};

struct verdict {
    struct str key; /* the bytes follow */
    bool is_allowed;
    int64_t until_ms;
};

static int64_t auth_mono(void)
{
    return clock_mono_ms(&clock_real);
}

static void request_free(struct kubelet_request *r)
{
    list_remove(&r->link);
    buf_done(&r->user);
    buf_done(&r->key);
    arena_done(&r->arena);
    free(r);
}

void auth_done(struct kubelet *k)
{
    LIST_FOREACH(struct kubelet_request, r, &k->requests, link)
        request_free(r);
    MAP_FOREACH(struct verdict *, v, &k->verdicts)
        free(v);
}

/* ---- what is known ---- */

static void auth_remember(struct kubelet *k, struct str key, bool is_allowed)
{
    struct verdict *v = map_remove(&k->verdicts, key);

    free(v);
    if (map_count(&k->verdicts) >= KNOWN_MAX)
        MAP_FOREACH(struct verdict *, old, &k->verdicts) {
            map_remove(&k->verdicts, old->key);
            free(old);
        }
    v = xcalloc(1, sizeof(*v) + key.n);
    memcpy(v + 1, key.p, key.n);
    v->key = (struct str){ (char *)(v + 1), key.n };
    v->is_allowed = is_allowed;
    v->until_ms = auth_mono() + (is_allowed ? ALLOWED_MS : DENIED_MS);
    map_put(&k->verdicts, v->key, v);
}

/* A WebSocket begins with GET, whatever is done through it: who acts needs the right to. */
static const char *auth_verb_of(struct str method, bool acts)
{
    return acts || str_is(method, "POST") ? "create"
           : str_is(method, "PUT")        ? "update"
           : str_is(method, "DELETE")     ? "delete"
                                          : "get";
}

/* ---- answers ---- */

static void kubelet_auth_refuse(struct kubelet_request *r)
{
    autobuf why = { 0 };

    buf_fmt(&why, "Forbidden (user=%.*s, verb=%s, resource=nodes, subresource=%s)", STR_ARG(buf_view(&r->user)),
            r->verb, r->subresource);
    answer_text(r->kubelet, r->call, 403, why.p);
    request_free(r);
}

static void auth_serve(struct kubelet_request *r)
{
    struct kubelet *k = r->kubelet;
    struct http_call *call = r->call;

    http_call_watch(call, &(struct http_call_events){ 0 });
    request_free(r);
    kubelet_serve(k, call);
}

static void auth_decide(struct kubelet_request *r, bool is_allowed)
{
    if (!r->call)
        request_free(r);
    else if (is_allowed)
        auth_serve(r);
    else
        kubelet_auth_refuse(r);
}

static void on_reviewed(void *ctx, const struct json *answer, const struct err *e)
{
    struct kubelet_request *r = ctx;
    bool is_allowed = json_bool(json_find(answer, "status", "allowed", NULL), false);

    if (e) {
        if (r->call)
            answer_text(r->kubelet, r->call, 503, e->text);
        request_free(r);
        return;
    }
    auth_remember(r->kubelet, buf_view(&r->key), is_allowed);
    auth_decide(r, is_allowed);
}

/* ---- questions ---- */

static void authorize(struct kubelet_request *r)
{
    autoarena a = { 0 };
    const struct verdict *known;
    struct json *review, *spec, *what, *groups;

    /* Unique: texts of the client are prefixed with their lengths. */
    buf_fmt(&r->key, "%s %s %zu:%.*s", r->verb, r->subresource, r->user.n, STR_ARG(buf_view(&r->user)));
    VEC_FOREACH(g, &r->groups)
        buf_fmt(&r->key, " %zu:%.*s", g->n, STR_ARG(*g));
    known = map_get(&r->kubelet->verdicts, buf_view(&r->key));
    if (known && auth_mono() < known->until_ms) {
        auth_decide(r, known->is_allowed);
        return;
    }
    review = object_new(&a, "authorization.k8s.io/v1", "SubjectAccessReview", STR_NULL, STR_NULL);
    spec = json_set(review, "spec", json_object(&a));
    json_set(spec, "user", json_str(&a, buf_view(&r->user)));
    groups = json_set(spec, "groups", json_array(&a));
    VEC_FOREACH(g, &r->groups)
        json_push(groups, json_str(&a, *g));
    what = json_set(spec, "resourceAttributes", json_object(&a));
    json_set(what, "verb", json_str(&a, str_of(r->verb)));
    json_set(what, "version", json_str(&a, STR("v1")));
    json_set(what, "resource", json_str(&a, STR("nodes")));
    json_set(what, "subresource", json_str(&a, str_of(r->subresource)));
    json_set(what, "name", json_str(&a, r->kubelet->opt.node_name));
    cluster_kube_ask(r->kubelet->opt.door,
                     &(struct kube_question){ "POST", STR("/apis/authorization.k8s.io/v1/subjectaccessreviews"), review,
                                              on_reviewed, r });
}

static void unknown(struct kubelet_request *r)
{
    if (r->call)
        answer_text(r->kubelet, r->call, 401, "Unauthorized");
    request_free(r);
}

static void auth_on_token(void *ctx, const struct json *answer, const struct err *e)
{
    struct kubelet_request *r = ctx;
    const struct json *status = json_get(answer, "status"), *user = json_get(status, "user");

    if (e && r->call)
        answer_text(r->kubelet, r->call, 503, e->text);
    if (e || !r->call) {
        request_free(r);
        return;
    }
    buf_str(&r->user, json_member_text(user, "username"));
    JSON_FOREACH(g, json_get(user, "groups"))
        *vec_push(&r->arena, &r->groups) = arena_str(&r->arena, json_text(g, STR_NULL));
    if (!json_bool(json_get(status, "authenticated"), false) || !r->user.n)
        unknown(r);
    else
        authorize(r);
}

static void kubelet_auth_identify(struct kubelet_request *r, struct str token)
{
    autoarena a = { 0 };
    struct json *review = object_new(&a, "authentication.k8s.io/v1", "TokenReview", STR_NULL, STR_NULL);

    json_set(json_set(review, "spec", json_object(&a)), "token", json_str(&a, token));
    cluster_kube_ask(r->kubelet->opt.door,
                     &(struct kube_question){ "POST", STR("/apis/authentication.k8s.io/v1/tokenreviews"), review,
                                              auth_on_token, r });
}

static void auth_on_gone(void *ctx, struct http_call *call)
{
    (void)call;
    ((struct kubelet_request *)ctx)->call = NULL; /* ignore the verdict */
}

void auth_begin(struct kubelet *k, struct http_call *call, const char *subresource, bool acts)
{
    struct str header = http_call_header(call, "Authorization"), bearer = STR("Bearer ");
    struct kubelet_request *r = xcalloc(1, sizeof(*r));

    r->kubelet = k;
    r->call = call;
    r->verb = auth_verb_of(call->method, acts);
    r->subresource = subresource;
    list_push(&k->requests, &r->link);
    http_call_watch(call, &(struct http_call_events){ .ctx = r, .on_gone = auth_on_gone });
    if (call->peer->common_name.n) {
        buf_str(&r->user, call->peer->common_name);
        for (size_t i = 0; i < call->peer->n_organizations; i++)
            *vec_push(&r->arena, &r->groups) = arena_str(&r->arena, call->peer->organizations[i]);
        *vec_push(&r->arena, &r->groups) = STR("system:authenticated");
        authorize(r);
    } else if (str_starts(header, bearer) && header.n > bearer.n) {
        kubelet_auth_identify(r, str_trim(str_from(header, bearer.n)));
    } else {
        unknown(r);
    }
}
