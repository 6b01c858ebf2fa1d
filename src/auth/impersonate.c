/* impersonate.c - impersonation: requests as another user (kubectl --as) */
#include "auth/authn.h"

#include "auth/rbac.h"
#include "base/codec.h"
#include "base/util.h"
#include "base/vec.h"
#include "http/request.h"

#define PREFIX       "Impersonate-"
#define EXTRA_PREFIX "Impersonate-Extra-"

enum { ASKED_MAX = 64 }; /* each is a question */

struct impersonate_asked {
    struct str user, uid;
    VEC(struct str) groups;
    VEC(struct identity_extra) extra; /* one value each, until the end */
    bool is_any;
};

/* ---- headers ---- */

static bool begins(struct str name, struct str prefix)
{
    return str_eq_nocase(str_sub(name, 0, prefix.n), prefix);
}

/* "Impersonate-Extra-acme.com%2Fproject": small letters, %-escapes undone. */
static int extra_key(struct arena *a, struct str name, struct str *ret)
{
    autobuf key = { 0 };

    if (percent_parse(arena_lower(a, name), false, &key) < 0 || !key.n)
        return -1;
    *ret = arena_str(a, buf_view(&key));
    return 0;
}

static int once(struct str *at, struct str value, const char *header, struct err *e)
{
    if (at->n || !value.n)
        return err_set(e, ERR_INVALID, "%s: must be given once and must not be empty", header);
    *at = value;
    return 0;
}

static int take_header(struct arena *a, struct impersonate_asked *k, struct str name, struct str value, struct err *e)
{
    struct str *values, key;

    k->is_any = true;
    if (str_eq_nocase(name, STR("Impersonate-User")))
        return once(&k->user, value, "Impersonate-User", e);
    if (str_eq_nocase(name, STR("Impersonate-Uid")))
        return once(&k->uid, value, "Impersonate-Uid", e);
    if (str_eq_nocase(name, STR("Impersonate-Group"))) {
        *vec_push(a, &k->groups) = value;
        return 0;
    }
    if (!begins(name, STR(EXTRA_PREFIX)) || extra_key(a, str_from(name, sizeof(EXTRA_PREFIX) - 1), &key) < 0)
        return err_set(e, ERR_INVALID, "%.*s: unknown impersonation header", STR_ARG(str_cut(name, 100)));
    values = arena_array(a, struct str, 1);
    values[0] = value;
    *vec_push(a, &k->extra) = (struct identity_extra){ key, values, 1 };
    return 0;
}

static int read_headers(struct arena *a, struct str fields, struct impersonate_asked *k, struct err *e)
{
    struct str name, value;
    size_t at = 0, n = 0;

    while (http_fields_each(fields, &at, &name, &value)) {
        if (!begins(name, STR(PREFIX)))
            continue;
        if (++n > ASKED_MAX)
            return err_set(e, ERR_INVALID, "more than %d Impersonate-… headers", ASKED_MAX);
        if (take_header(a, k, name, value, e) < 0)
            return -1;
    }
    if (k->is_any && !k->user.n)
        return err_set(e, ERR_INVALID, "Impersonate-User: is missing; groups, uid and extra need a user");
    return 0;
}

/* ---- may he ---- */

struct impersonate_test {
    struct rbac *rbac;
    struct arena *arena;
    const struct identity *who;
};

static int may_be(const struct impersonate_test *t, const struct rbac_question *about, struct err *e)
{
    struct rbac_question q = *about;
    struct rbac_verdict v;
    struct str text;

    q.verb = STR("impersonate");
    v = rbac_decide(t->rbac, t->who, &q);
    if (v.is_allowed)
        return 0;
    text = rbac_forbidden(t->arena, t->who, &q, rbac_reason(t->rbac, t->arena, t->who, &q, &v));
    return err_set(e, ERR_FORBIDDEN, "%.*s", STR_ARG(text));
}

static int may_be_user(const struct impersonate_test *t, struct str user, struct err *e)
{
    struct rbac_question q = { .resource = STR("users"), .name = user };

    if (identity_is_account(user, &q.namespace, &q.name))
        q.resource = STR("serviceaccounts");
    return may_be(t, &q, e);
}

static int may_be_all(const struct impersonate_test *t, const struct impersonate_asked *k, struct err *e)
{
    if (may_be_user(t, k->user, e) < 0)
        return -1;
    for (size_t i = 0; i < k->groups.n; i++)
        if (may_be(t, &(struct rbac_question){ .resource = STR("groups"), .name = k->groups.v[i] }, e) < 0)
            return -1;
    for (size_t i = 0; i < k->extra.n; i++) {
        struct rbac_question q = { .group = STR("authentication.k8s.io"),
                                   .resource = STR("userextras"),
                                   .subresource = k->extra.v[i].key,
                                   .name = k->extra.v[i].values[0] };

        if (may_be(t, &q, e) < 0)
            return -1;
    }
    if (!k->uid.n)
        return 0;
    return may_be(
        t, &(struct rbac_question){ .group = STR("authentication.k8s.io"), .resource = STR("uids"), .name = k->uid },
        e);
}

/* ---- who that is ---- */

static void set_extra(struct arena *a, const struct impersonate_asked *k, struct identity *ret)
{
    struct identity_extra *all = arena_array(a, struct identity_extra, k->extra.n);

    for (size_t i = 0; i < k->extra.n; i++) {
        struct str *values = arena_array(a, struct str, k->extra.n);
        size_t n = 0;
        bool is_new = true;

        for (size_t j = 0; j < k->extra.n; j++)
            if (str_eq(k->extra.v[j].key, k->extra.v[i].key)) {
                values[n++] = arena_str(a, k->extra.v[j].values[0]);
                is_new &= j >= i;
            }
        if (is_new)
            all[ret->n_extra++] = (struct identity_extra){ k->extra.v[i].key, values, n };
    }
    ret->extra = all;
}

static struct identity impersonate_become(struct arena *a, const struct impersonate_asked *k)
{
    bool is_anonymous = str_is(k->user, USER_ANONYMOUS), says_which = false;
    struct str namespace, name, last = is_anonymous ? STR(GROUP_UNAUTHENTICATED) : STR(GROUP_AUTHENTICATED);
    struct identity who;

    for (size_t i = 0; i < k->groups.n; i++)
        says_which |= str_is(k->groups.v[i], GROUP_UNAUTHENTICATED) || str_is(k->groups.v[i], GROUP_AUTHENTICATED);
    if (!k->groups.n && identity_is_account(k->user, &namespace, &name))
        who = identity_of_account(a, namespace, name);
    else
        who = identity_make(a, k->user, k->groups.v, k->groups.n, says_which && !is_anonymous ? STR_NULL : last);
    who.uid = arena_str(a, k->uid);
    set_extra(a, k, &who);
    return who;
}

int authn_impersonate(struct rbac *rbac, struct arena *a, struct str fields, struct identity *who, struct err *e)
{
    struct impersonate_asked k = { 0 };

    if (read_headers(a, fields, &k, e) < 0)
        return -1;
    if (!k.is_any)
        return 0;
    if (may_be_all(&(struct impersonate_test){ rbac, a, who }, &k, e) < 0)
        return -1;
    *who = impersonate_become(a, &k);
    return 1;
}
