/* agent_token.c - tokens of service accounts, for the volumes of pods that want one
 *
 * Asked for when the pod comes, bound to it, and again when four fifths of their time are over; then the files of the
 * volume are replaced. A pod whose token does not come is not made, and says why.
 */
#include "node/agent/agent_internal.h"

#include "api/meta.h"
#include "base/clock.h"

enum { SECONDS_DEFAULT = 3600, RETRY_MS = 2000 };

struct agent_token {
    struct agent_pod *pod;
    uint64_t id;         /* of the request on its way; 0: none */
    struct str audience; /* in the pod's arena; empty: the API server's own */
    int64_t seconds;
    struct buf text; /* empty: there is none yet */
    struct err err;  /* why not */
    int64_t due_ms;  /* when to ask again */
};

static struct json *request_of(const struct agent_token *t, struct arena *a)
{
    struct json *request = object_new(a, "authentication.k8s.io/v1", "TokenRequest", STR_NULL, STR_NULL),
                *spec = json_set(request, "spec", json_object(a)), *bound;

    json_remove(request, "metadata");
    if (t->audience.n)
        json_push(json_set(spec, "audiences", json_array(a)), json_str(a, t->audience));
    json_set(spec, "expirationSeconds", json_int(a, t->seconds));
    bound = json_set(spec, "boundObjectRef", json_object(a));
    json_set(bound, "apiVersion", json_str(a, STR("v1")));
    json_set(bound, "kind", json_str(a, STR("Pod")));
    json_set(bound, "name", json_str(a, t->pod->object->name));
    json_set(bound, "uid", json_str(a, t->pod->object->uid));
    return request;
}

static void agent_token_ask(struct agent_token *t)
{
    autoarena a = { 0 };
    struct agent *g = t->pod->agent;
    struct str account = json_member_text(json_get(t->pod->object->root, "spec"), "serviceAccountName");

    t->id = ++g->last_token;
    t->due_ms = INT64_MAX;
    g->opt.remote->token(g->opt.remote->ctx, t->id, t->pod->object->namespace, account.n ? account : STR("default"),
                         request_of(t, &a));
}

static struct agent_token *agent_token_find(const struct agent_pod *p, struct str audience, int64_t seconds)
{
    VEC_FOREACH(t, &p->tokens)
        if (str_eq((*t)->audience, audience) && (*t)->seconds == seconds)
            return *t;
    return NULL;
}

static void agent_token_want(struct agent_pod *p, const struct json *source)
{
    struct str audience = json_member_text(source, "audience");
    int64_t seconds = json_i64(json_get(source, "expirationSeconds"), SECONDS_DEFAULT);
    struct agent_token *t;

    if (agent_token_find(p, audience, seconds))
        return;
    t = xcalloc(1, sizeof(*t));
    t->pod = p;
    t->audience = arena_str(&p->arena, audience);
    t->seconds = seconds;
    *vec_push(&p->arena, &p->tokens) = t;
    agent_token_ask(t);
}

void agent_tokens_take(struct agent_pod *p)
{
    if (!p->agent->opt.remote || !p->agent->opt.remote->token || life_has_ended(p->life))
        return;
    JSON_FOREACH(v, json_find(p->object->root, "spec", "volumes", NULL))
        JSON_FOREACH(source, json_find(v, "projected", "sources", NULL))
            if (json_get(source, "serviceAccountToken"))
                agent_token_want(p, json_get(source, "serviceAccountToken"));
}

void agent_tokens_drop(struct agent_pod *p)
{
    VEC_FOREACH(t, &p->tokens) {
        buf_done(&(*t)->text);
        free(*t);
    }
    p->tokens.n = 0;
}

bool agent_tokens_are_known(const struct agent_pod *p)
{
    VEC_FOREACH(t, &p->tokens)
        if (!(*t)->text.n && (*t)->id)
            return false;
    return true;
}

int agent_token_get(struct agent_pod *p, struct str audience, int64_t seconds, struct buf *out, struct err *e)
{
    const struct agent_token *t = agent_token_find(p, audience, seconds);

    if (t && t->text.n) {
        buf_str(out, buf_view(&t->text));
        return 0;
    }
    return err_set(e, ERR_NOT_FOUND, "%s", t && t->err.code != ERR_OK ? t->err.text : "no token was issued yet");
}

static void agent_token_took(struct agent_token *t, const struct json *status, int64_t now_ms)
{
    int64_t expires_ms = now_ms + t->seconds * 1000;

    (void)clock_parse(json_member_text(status, "expirationTimestamp"), &expires_ms,
                      NULL); /* else as it was asked for */
    buf_reset(&t->text);
    buf_str(&t->text, json_member_text(status, "token"));
    t->due_ms = now_ms + MAX_OF((expires_ms - now_ms) / 5 * 4, (int64_t)RETRY_MS);
    t->err.code = ERR_OK;
}

static void agent_token_answered(struct agent_token *t, const struct json *answer, const struct err *e)
{
    struct agent_pod *p = t->pod;
    int64_t now_ms = agent_pod_now(p);

    t->id = 0;
    if (json_member_text(json_get(answer, "status"), "token").n) {
        agent_token_took(t, json_get(answer, "status"), now_ms);
        agent_pod_refresh(p);
    } else {
        t->due_ms = now_ms + RETRY_MS;
        t->err = e ? *e : (struct err){ ERR_IO, "the API server's answer has no token" };
    }
    agent_pod_asked(p);
    agent_pod_dirty(p);
}

void agent_token_came(struct agent *g, uint64_t id, const struct json *answer, const struct err *e)
{
    MAP_FOREACH(struct agent_pod *, p, &g->pods)
        VEC_FOREACH(t, &p->tokens)
            if ((*t)->id == id)
                agent_token_answered(*t, answer, e); /* each has a number of its own */
}

int64_t agent_tokens_due(const struct agent_pod *p)
{
    int64_t due_ms = INT64_MAX;

    VEC_FOREACH(t, &p->tokens)
        due_ms = MIN_OF(due_ms, (*t)->id ? INT64_MAX : (*t)->due_ms);
    return life_has_ended(p->life) ? INT64_MAX : due_ms;
}

void agent_tokens_renew(struct agent_pod *p, int64_t now_ms)
{
    VEC_FOREACH(t, &p->tokens)
        if (!(*t)->id && (*t)->due_ms <= now_ms && !life_has_ended(p->life))
            agent_token_ask(*t);
}

void agent_tokens_ask_again(struct agent *g)
{
    MAP_FOREACH(struct agent_pod *, p, &g->pods)
        VEC_FOREACH(t, &p->tokens)
            if (!(*t)->id && !life_has_ended(p->life))
                agent_token_ask(*t);
}
