/* review.c - questions about rights and identities as objects */
#include "auth/review.h"

#include "api/meta.h"
#include "auth/account.h"
#include "auth/authn.h"
#include "auth/rbac.h"
#include "auth/users.h"
#include "base/util.h"
#include "base/vec.h"

/* ---- access ---- */

static struct rbac_question review_question_of(const struct json *spec)
{
    const struct json *r = json_get(spec, "resourceAttributes"), *n = json_get(spec, "nonResourceAttributes");

    if (json_is(r, JSON_OBJECT))
        return (struct rbac_question){ .verb = json_member_text(r, "verb"),
                                       .namespace = json_member_text(r, "namespace"),
                                       .group = json_member_text(r, "group"),
                                       .resource = json_member_text(r, "resource"),
                                       .subresource = json_member_text(r, "subresource"),
                                       .name = json_member_text(r, "name") };
    return (struct rbac_question){ .verb = json_member_text(n, "verb"), .path = json_member_text(n, "path") };
}

static int review_check_spec(const struct json *spec, bool needs_subject, struct err *e)
{
    bool has_resource = json_is(json_get(spec, "resourceAttributes"), JSON_OBJECT);
    bool has_path = json_is(json_get(spec, "nonResourceAttributes"), JSON_OBJECT);

    if (has_resource && has_path)
        return err_set(e, ERR_INVALID,
                       "spec.nonResourceAttributes: Invalid value: cannot be specified in combination "
                       "with resourceAttributes");
    if (!has_resource && !has_path)
        return err_set(e, ERR_INVALID,
                       "spec.resourceAttributes: Invalid value: exactly one of nonResourceAttributes or "
                       "resourceAttributes must be specified");
    if (needs_subject && !json_member_text(spec, "user").n && !json_count(json_get(spec, "groups")))
        return err_set(e, ERR_INVALID,
                       "spec.user: Invalid value: \"\": at least one of user or group must be specified");
    return 0;
}

/* A path that is empty asks about no path: nothing allows it. */
static int answer_access(const struct review_env *env, struct arena *a, const struct json *object,
                         const struct identity *about, struct json **ret)
{
    struct rbac_question q = review_question_of(json_get(object, "spec"));
    bool asks_nothing = !q.path.n && !json_is(json_find(object, "spec", "resourceAttributes", NULL), JSON_OBJECT);
    struct rbac_verdict v = { 0 };
    struct json *answer = json_copy(a, object), *status = json_set(answer, "status", json_object(a));
    struct str reason;

    if (!asks_nothing || identity_has_group(about, STR(GROUP_MASTERS)))
        v = rbac_decide(env->rbac, about, &q);
    json_set(status, "allowed", json_bool_new(a, v.is_allowed));
    reason = rbac_reason(env->rbac, a, about, &q, &v);
    if (reason.n)
        json_set(status, "reason", json_str(a, reason));
    *ret = answer;
    return 0;
}

int review_subject_access(const struct review_env *env, struct arena *a, const struct json *object, struct json **ret,
                          struct err *e)
{
    const struct json *spec = json_get(object, "spec");
    struct identity about = identity_from_json(a, spec, "user");

    if (review_check_spec(spec, true, e) < 0)
        return -1;
    return answer_access(env, a, object, &about, ret);
}

int review_local_subject_access(const struct review_env *env, struct arena *a, const struct json *object,
                                struct json **ret, struct err *e)
{
    const struct json *spec = json_get(object, "spec");
    struct str asked = json_text(json_find(spec, "resourceAttributes", "namespace", NULL), STR_NULL);

    if (json_is(json_get(spec, "nonResourceAttributes"), JSON_OBJECT))
        return err_set(e, ERR_INVALID, "spec.nonResourceAttributes: Invalid value: disallowed on this kind of request");
    if (!str_eq(asked, env->namespace))
        return err_set(e, ERR_INVALID,
                       "spec.resourceAttributes.namespace: Invalid value: must match metadata.namespace");
    return review_subject_access(env, a, object, ret, e);
}

int review_self_subject_access(const struct review_env *env, struct arena *a, const struct json *object,
                               struct json **ret, struct err *e)
{
    if (review_check_spec(json_get(object, "spec"), false, e) < 0)
        return -1;
    return answer_access(env, a, object, env->who, ret);
}

/* ---- rules ---- */

static struct json *review_part_of(struct arena *a, const struct json *rule, const char *const *fields)
{
    struct json *part = json_object(a);

    for (; *fields; fields++)
        if (json_count(json_get(rule, *fields)))
            json_set(part, *fields, json_copy(a, json_get(rule, *fields)));
    return part;
}

int review_self_subject_rules(const struct review_env *env, struct arena *a, const struct json *object,
                              struct json **ret, struct err *e)
{
    static const char *const resource[] = { "verbs", "apiGroups", "resources", "resourceNames", NULL };
    static const char *const path[] = { "verbs", "nonResourceURLs", NULL };
    struct str namespace = json_text(json_find(object, "spec", "namespace", NULL), STR_NULL);
    struct json *answer = json_copy(a, object), *status, *rules = json_array(a), *resources, *paths;

    if (!namespace.n)
        return err_set(e, ERR_SYNTAX, "no namespace on request");
    rbac_rules_for(env->rbac, a, env->who, namespace, rules);
    status = json_set(answer, "status", json_object(a));
    resources = json_set(status, "resourceRules", json_array(a));
    paths = json_set(status, "nonResourceRules", json_array(a));
    json_set(status, "incomplete", json_bool_new(a, false));
    JSON_FOREACH(rule, rules) {
        if (json_count(json_get(rule, "resources")))
            json_push(resources, review_part_of(a, rule, resource));
        if (json_count(json_get(rule, "nonResourceURLs")))
            json_push(paths, review_part_of(a, rule, path));
    }
    *ret = answer;
    return 0;
}

/* ---- who ---- */

int review_self_subject(const struct review_env *env, struct arena *a, const struct json *object, struct json **ret,
                        struct err *e)
{
    (void)e;
    *ret = json_copy(a, object);
    json_set(json_set(*ret, "status", json_object(a)), "userInfo", identity_to_json(a, env->who));
    return 0;
}

/* '*audiences': those that were asked for; then those of them that the token is for. */
static bool review_identify(const struct review_env *env, struct arena *a, struct str token,
                            struct account_audiences *audiences, struct identity *ret)
{
    const struct user *user = env->authn->users ? users_by_token(env->authn->users, token, env->now_ms) : NULL;

    if (user)
        *ret = user_identity(a, user); /* its token is for all audiences */
    return user || (env->authn->accounts &&
                    accounts_identify(env->authn->accounts, a,
                                      &(struct account_token){ token, env->now_ms, *audiences }, ret, audiences));
}

int review_token(const struct review_env *env, struct arena *a, const struct json *object, struct json **ret,
                 struct err *e)
{
    const struct json *spec = json_get(object, "spec");
    struct str token = json_member_text(spec, "token");
    VEC(struct str) asked = { 0 };
    struct account_audiences audiences;
    struct json *status, *list;
    struct identity about;

    if (!token.n)
        return err_set(e, ERR_SYNTAX, "token is required for TokenReview in authentication");
    JSON_FOREACH(one, json_get(spec, "audiences"))
        *vec_push(a, &asked) = json_text(one, STR_NULL);
    *ret = json_copy(a, object);
    status = json_set(*ret, "status", json_object(a));
    audiences = (struct account_audiences){ asked.v, asked.n };
    if (!review_identify(env, a, token, &audiences, &about)) {
        json_set(status, "authenticated", json_bool_new(a, false));
        json_set(status, "user", json_object(a));
        return 0;
    }
    json_set(status, "authenticated", json_bool_new(a, true));
    json_set(status, "user", identity_to_json(a, &about));
    list = audiences.n ? json_set(status, "audiences", json_array(a)) : NULL;
    for (size_t i = 0; i < audiences.n; i++)
        json_push(list, json_str(a, audiences.v[i]));
    return 0;
}

review_f *review_for(struct str kind)
{
    static const struct {
        const char *kind;
        review_f *review;
    } rows[] = {
        { "SubjectAccessReview", review_subject_access },
        { "LocalSubjectAccessReview", review_local_subject_access },
        { "SelfSubjectAccessReview", review_self_subject_access },
        { "SelfSubjectRulesReview", review_self_subject_rules },
        { "SelfSubjectReview", review_self_subject },
        { "TokenReview", review_token },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (str_is(kind, rows[i].kind))
            return rows[i].review;
    return NULL;
}
