/* auth_author.c - the author of an object that acts later: as a line of text, and as an identity now
 *
 *     {"username":"ann","groups":["students","system:authenticated"],"uid":"…","since":1731800000000}
 *
 * Users have the groups that they have now. 'since' is when the user was added: it stays when credentials are rotated,
 * and a later user of the same name has another. A deleted user or ServiceAccount is system:anonymous.
 * Others (the administrator's token, UNIX uids without a user, impersonated users) stay as they were.
 */
#include "auth/auth_internal.h"

#include "auth/users.h"
#include "base/arena.h"
#include "store/store.h"

/* Of a request, not of the one who asks: the pod and the token that a program of an account has shown. */
#define EXTRA_OF_TOKEN "authentication.kubernetes.io/"

static struct identity without_token(struct arena *a, const struct identity *who)
{
    struct identity_extra *extra = arena_array(a, struct identity_extra, who->n_extra);
    struct identity copy = *who;

    copy.extra = extra;
    copy.n_extra = 0;
    for (size_t i = 0; i < who->n_extra; i++)
        if (!str_starts(who->extra[i].key, STR(EXTRA_OF_TOKEN)))
            extra[copy.n_extra++] = who->extra[i];
    return copy;
}

struct str auth_author_print(struct auth *auth, struct arena *a, const struct identity *who)
{
    const struct user *user = who->uid.n ? users_find(auth->users, who->user) : NULL;
    struct identity plain = without_token(a, who);
    struct json *info = identity_to_json(a, &plain);
    autobuf text = { 0 };

    if (user && str_eq(user->uid, who->uid))
        json_set(info, "since", json_int(a, user->created_ms));
    json_print(&text, info);
    return arena_str(a, buf_view(&text));
}

static bool account_is_there(const struct auth *auth, const struct identity *who)
{
    struct str namespace, name;
    const struct object *o = NULL;

    if (identity_is_account(who->user, &namespace, &name))
        o = store_get(auth->store, type_by_kind(STR("v1"), STR("ServiceAccount")), namespace, name);
    return o && str_eq(o->uid, who->uid);
}

struct identity auth_author_read(struct auth *auth, struct arena *a, struct str text)
{
    const struct user *user;
    struct identity then;
    struct json *info;
    int64_t since_ms;

    if (json_parse(a, text, NULL, &info, NULL) < 0 || !json_is(info, JSON_OBJECT))
        return identity_anonymous;
    then = identity_from_json(a, info, "username");
    if (!then.uid.n)
        return then;
    if (str_starts(then.user, STR(USER_ACCOUNT_PREFIX)))
        return account_is_there(auth, &then) ? then : identity_anonymous;
    user = users_find(auth->users, then.user);
    if (json_to_i64(json_get(info, "since"), &since_ms) < 0 || !user || user->created_ms != since_ms)
        return identity_anonymous;
    return user_identity(a, user);
}
