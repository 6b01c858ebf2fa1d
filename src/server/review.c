/* review.c - questions: who am I, may I; nothing is stored of them */
#include "server/server_internal.h"

static struct json *user_info(struct request *rq)
{
    struct json *j = json_object(rq->arena), *groups;

    json_add(j, STR("username"), json_str(rq->arena, rq->user.name));
    if (rq->user.uid.n)
        json_add(j, STR("uid"), json_str(rq->arena, rq->user.uid));
    groups = json_add(j, STR("groups"), json_array(rq->arena));
    for (size_t i = 0; i < rq->user.n_groups; i++)
        json_push(groups, json_str(rq->arena, rq->user.groups[i]));
    return j;
}

static void answer_self(struct request *rq, const struct json *spec, struct json *status)
{
    (void)spec;
    json_add(status, STR("userInfo"), user_info(rq));
}

static void answer_for(struct request *rq, const struct server_user *user, const struct json *spec, struct json *status)
{
    const struct json *at = json_get(spec, "resourceAttributes"), *path = json_get(spec, "nonResourceAttributes");
    struct server_attributes q = { .user = user,
                                   .verb = arena_cstr(rq->arena, json_member_text(at ? at : path, "verb")),
                                   .group = json_member_text(at, "group"),
                                   .version = json_member_text(at, "version"),
                                   .resource = json_member_text(at, "resource"),
                                   .subresource = json_member_text(at, "subresource"),
                                   .namespace = json_member_text(at, "namespace"),
                                   .name = json_member_text(at, "name"),
                                   .path = json_member_text(path, "path") };
    struct str reason;

    json_add(status, STR("allowed"), json_bool_new(rq->arena, access_allows(rq, &q, &reason)));
    if (reason.n)
        json_add(status, STR("reason"), json_str(rq->arena, reason));
}

static void answer_access(struct request *rq, const struct json *spec, struct json *status)
{
    answer_for(rq, &rq->user, spec, status);
}

/* Of somebody else. */
static void answer_subject(struct request *rq, const struct json *spec, struct json *status)
{
    size_t n = json_count(json_get(spec, "groups")), i = 0;
    struct str *groups = arena_array(rq->arena, struct str, n);
    struct server_user user = { json_member_text(spec, "user"), json_member_text(spec, "uid"), groups, n };

    JSON_FOREACH(group, json_get(spec, "groups"))
        groups[i++] = json_text(group, STR_NULL);
    answer_for(rq, &user, spec, status);
}

static void add_list(struct arena *a, struct json *to, const char *key, const char *word)
{
    json_push(json_add(to, str_of(key), json_array(a)), json_str(a, str_of(word)));
}

/* Whoever may do everything: one rule says it. For others a hook has to know more. */
static void answer_rules(struct request *rq, const struct json *spec, struct json *status)
{
    struct server_attributes all = { .user = &rq->user,
                                     .verb = "*",
                                     .group = STR("*"),
                                     .resource = STR("*"),
                                     .namespace = json_member_text(spec, "namespace") };
    struct json *resources = json_add(status, STR("resourceRules"), json_array(rq->arena));
    struct json *paths = json_add(status, STR("nonResourceRules"), json_array(rq->arena)), *rule;
    struct str reason;
    bool may_all = access_allows(rq, &all, &reason);

    if (may_all) {
        rule = json_push(resources, json_object(rq->arena));
        add_list(rq->arena, rule, "verbs", "*");
        add_list(rq->arena, rule, "apiGroups", "*");
        add_list(rq->arena, rule, "resources", "*");
        rule = json_push(paths, json_object(rq->arena));
        add_list(rq->arena, rule, "verbs", "*");
        add_list(rq->arena, rule, "nonResourceURLs", "*");
    }
    json_add(status, STR("incomplete"), json_bool_new(rq->arena, !may_all));
}

static const struct {
    const char *kind;
    void (*answer)(struct request *rq, const struct json *spec, struct json *status);
} reviews[] = {
    { "SelfSubjectReview", answer_self },           { "SelfSubjectAccessReview", answer_access },
    { "SelfSubjectRulesReview", answer_rules },     { "SubjectAccessReview", answer_subject },
    { "LocalSubjectAccessReview", answer_subject },
};

int handle_review(struct request *rq)
{
    struct json *body;

    if (body_object(rq, &body) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(reviews); i++)
        if (strcmp(reviews[i].kind, rq->type->kind) == 0) {
            reviews[i].answer(rq, json_get(body, "spec"), json_set(body, "status", json_object(rq->arena)));
            reply_json(rq, 201, body);
            return 0;
        }
    return fail_with(rq, REASON_NOT_FOUND, "the server could not find the requested resource");
}

/* ---- tokens of service accounts ---- */

int handle_token(struct request *rq)
{
    const struct server_access *access = &rq->server->opt.access;
    const struct target *t = &rq->target;
    struct json *body, *status;
    struct err e;

    if (body_any(rq, body_types, &body) < 0)
        return -1;
    if (!store_get(rq->server->opt.store, rq->type, t->namespace, t->name))
        return fail_not_found(rq, rq->type, t->name);
    if (!access->token)
        return fail_with(rq, REASON_NOT_FOUND, "the server gives no tokens to service accounts");
    if (access->token(access->ctx, rq->arena, t->namespace, t->name, body, &status, &e) < 0)
        return fail_err(rq, &e);
    if (!json_is(body, JSON_OBJECT))
        body = json_object(rq->arena);
    json_set(body, "kind", json_str(rq->arena, STR("TokenRequest")));
    json_set(body, "apiVersion", json_str(rq->arena, STR("authentication.k8s.io/v1")));
    json_set(body, "status", status);
    reply_json(rq, 201, body);
    return 0;
}
