/* identity.c - authenticated users */
#include "auth/identity.h"

#include "base/codec.h"
#include "base/rand.h"
#include "base/util.h"
#include "base/vec.h"

static const struct str nobody[] = { STR_INIT(GROUP_UNAUTHENTICATED) };
const struct identity identity_anonymous = { .user = STR_INIT(USER_ANONYMOUS), .groups = nobody, .n_groups = 1 };

bool identity_has_group(const struct identity *who, struct str group)
{
    for (size_t i = 0; i < who->n_groups; i++)
        if (str_eq(who->groups[i], group))
            return true;
    return false;
}

struct identity identity_make(struct arena *a, struct str user, const struct str *groups, size_t n_groups,
                              struct str last_group)
{
    struct str *all = arena_array(a, struct str, n_groups + 1);
    struct identity who = { .user = arena_str(a, user), .groups = all };

    for (size_t i = 0; i < n_groups; i++)
        if (!identity_has_group(&who, groups[i]))
            all[who.n_groups++] = arena_str(a, groups[i]);
    if (last_group.n && !identity_has_group(&who, last_group))
        all[who.n_groups++] = arena_str(a, last_group);
    return who;
}

static const struct str *copy_texts(struct arena *a, const struct str *texts, size_t n)
{
    struct str *all = arena_array(a, struct str, n);

    for (size_t i = 0; i < n; i++)
        all[i] = arena_str(a, texts[i]);
    return all;
}

struct identity identity_copy(struct arena *a, const struct identity *who)
{
    struct identity_extra *extra = arena_array(a, struct identity_extra, who->n_extra);
    struct identity copy = *who;

    for (size_t i = 0; i < who->n_extra; i++)
        extra[i] = (struct identity_extra){ arena_str(a, who->extra[i].key),
                                            copy_texts(a, who->extra[i].values, who->extra[i].n_values),
                                            who->extra[i].n_values };
    copy.user = arena_str(a, who->user);
    copy.uid = arena_str(a, who->uid);
    copy.groups = copy_texts(a, who->groups, who->n_groups);
    copy.extra = extra;
    return copy;
}

static bool same_texts(const struct str *a, size_t n_a, const struct str *b, size_t n_b)
{
    if (n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a; i++)
        if (!str_eq(a[i], b[i]))
            return false;
    return true;
}

bool identity_equal(const struct identity *a, const struct identity *b)
{
    if (!str_eq(a->user, b->user) || !str_eq(a->uid, b->uid) || a->n_extra != b->n_extra ||
        !same_texts(a->groups, a->n_groups, b->groups, b->n_groups))
        return false;
    for (size_t i = 0; i < a->n_extra; i++)
        if (!str_eq(a->extra[i].key, b->extra[i].key) ||
            !same_texts(a->extra[i].values, a->extra[i].n_values, b->extra[i].values, b->extra[i].n_values))
            return false;
    return true;
}

void identity_add_extra(struct arena *a, struct identity *who, const char *key, struct str value)
{
    struct identity_extra *all = arena_array(a, struct identity_extra, who->n_extra + 1);
    struct str *values = arena_array(a, struct str, 1);

    if (!value.n)
        return;
    values[0] = arena_str(a, value);
    if (who->n_extra)
        memcpy(all, who->extra, who->n_extra * sizeof(*all));
    all[who->n_extra++] = (struct identity_extra){ str_of(key), values, 1 };
    who->extra = all;
}

/* ---- JSON ---- */

static struct json *texts_to_json(struct arena *a, const struct str *texts, size_t n)
{
    struct json *list = json_array(a);

    for (size_t i = 0; i < n; i++)
        json_push(list, json_str(a, texts[i]));
    return list;
}

struct json *identity_to_json(struct arena *a, const struct identity *who)
{
    struct json *info = json_object(a), *extra;

    json_set(info, "username", json_str(a, who->user));
    if (who->uid.n)
        json_set(info, "uid", json_str(a, who->uid));
    if (who->n_groups)
        json_set(info, "groups", texts_to_json(a, who->groups, who->n_groups));
    if (!who->n_extra)
        return info;
    extra = json_set(info, "extra", json_object(a));
    for (size_t i = 0; i < who->n_extra; i++)
        json_set_key(extra, who->extra[i].key, texts_to_json(a, who->extra[i].values, who->extra[i].n_values));
    return info;
}

static const struct str *texts_from_json(struct arena *a, const struct json *list, size_t *ret_n)
{
    struct str *texts = arena_array(a, struct str, json_count(list));
    size_t n = 0;

    if (json_is(list, JSON_ARRAY))
        JSON_FOREACH(item, list)
            if (json_is(item, JSON_STRING))
                texts[n++] = arena_str(a, json_text(item, STR_NULL));
    *ret_n = n;
    return texts;
}

struct identity identity_from_json(struct arena *a, const struct json *info, const char *name_field)
{
    const struct json *extra = json_get(info, "extra");
    struct identity_extra *extras = arena_array(a, struct identity_extra, json_count(extra));
    struct identity who = { .user = arena_str(a, json_member_text(info, name_field)),
                            .uid = arena_str(a, json_member_text(info, "uid")),
                            .extra = extras };

    who.groups = texts_from_json(a, json_get(info, "groups"), &who.n_groups);
    if (json_is(extra, JSON_OBJECT))
        JSON_FOREACH(member, extra) {
            struct identity_extra *x = &extras[who.n_extra++];

            x->key = arena_str(a, json_key(member));
            x->values = texts_from_json(a, member, &x->n_values);
        }
    return who;
}

/* ---- accounts ---- */

bool identity_is_account(struct str user, struct str *ret_namespace, struct str *ret_name)
{
    struct str rest = user, namespace;

    if (!str_starts(user, STR(USER_ACCOUNT_PREFIX)))
        return false;
    rest = str_from(rest, sizeof(USER_ACCOUNT_PREFIX) - 1);
    if (!str_split(&rest, ':', &namespace) || !namespace.n || !rest.n || str_has_char(rest, ':'))
        return false;
    *ret_namespace = namespace;
    *ret_name = rest;
    return true;
}

struct identity identity_of_account(struct arena *a, struct str namespace, struct str name)
{
    struct str groups[] = { STR(GROUP_ACCOUNTS), arena_fmt(a, GROUP_ACCOUNTS ":%.*s", STR_ARG(namespace)) };

    return identity_make(a, arena_fmt(a, USER_ACCOUNT_PREFIX "%.*s:%.*s", STR_ARG(namespace), STR_ARG(name)), groups,
                         ARRAY_LEN(groups), STR(GROUP_AUTHENTICATED));
}

struct str uuid_make(struct arena *a)
{
    unsigned char b[UUID_BYTES];
    char room[UUID_CHARS];

    rand_os_bytes(b, sizeof(b));
    b[6] = (b[6] & 0x0f) | 0x40;
    b[8] = (b[8] & 0x3f) | 0x80;
    return arena_str(a, uuid_print(b, room));
}
