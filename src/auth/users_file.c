/* users_file.c - users as text: users.json
 *
 *     { "version": 1, "users": [ { "name": "ann", "uid": "…", "groups": ["dev"], "role": "edit", "namespaces": ["lab"],
 *       "created": "2027-…Z", "certificateEnd": "2028-…Z", "unixUid": 1000,
 *       "tokens": [ { "sha256": "…", "end": "2028-…Z" } ] } ] }
 */
#include "auth/users_internal.h"

#include "base/clock.h"
#include "base/codec.h"
#include "base/util.h"

/* ---- to text ---- */

static struct json *users_file_texts(struct arena *a, const struct str *v, size_t n)
{
    struct json *list = json_array(a);

    for (size_t i = 0; i < n; i++)
        json_push(list, json_str(a, v[i]));
    return list;
}

static void users_file_set_time(struct arena *a, struct json *j, const char *key, int64_t ms)
{
    autobuf text = { 0 };

    if (!ms)
        return;
    clock_print(&text, ms);
    json_set(j, key, json_str(a, arena_str(a, buf_view(&text))));
}

static struct json *token_json(struct arena *a, const struct user_token *t)
{
    struct json *j = json_object(a);
    autobuf hex = { 0 };

    buf_hex(&hex, t->hash, sizeof(t->hash));
    json_set(j, "sha256", json_str(a, arena_str(a, buf_view(&hex))));
    users_file_set_time(a, j, "end", t->end_ms);
    return j;
}

static struct json *user_json(struct arena *a, const struct user *u)
{
    struct json *j = json_object(a), *tokens;

    json_set(j, "name", json_str(a, u->name));
    json_set(j, "uid", json_str(a, u->uid));
    if (u->n_groups)
        json_set(j, "groups", users_file_texts(a, u->groups, u->n_groups));
    if (u->role)
        json_set(j, "role", json_str(a, str_of(user_role_name(u->role))));
    if (u->n_namespaces)
        json_set(j, "namespaces", users_file_texts(a, u->namespaces, u->n_namespaces));
    users_file_set_time(a, j, "created", u->created_ms);
    users_file_set_time(a, j, "certificateEnd", u->certificate_end_ms);
    if (u->unix_uid >= 0)
        json_set(j, "unixUid", json_int(a, u->unix_uid));
    tokens = u->n_tokens ? json_set(j, "tokens", json_array(a)) : NULL;
    for (size_t i = 0; i < u->n_tokens; i++)
        json_push(tokens, token_json(a, &u->tokens[i]));
    return j;
}

void users_print(struct arena *a, const struct user_list *list, struct buf *out)
{
    struct json *all = json_object(a), *array;

    json_set(all, "version", json_int(a, 1));
    array = json_set(all, "users", json_array(a));
    VEC_FOREACH(u, list)
        json_push(array, user_json(a, u));
    json_print_pretty(out, all, 2);
    buf_char(out, '\n');
}

/* ---- and back ---- */

static int users_file_read_time(const struct json *j, const char *key, int64_t *ret, struct err *e)
{
    struct str text = json_member_text(j, key);

    *ret = 0;
    return text.n && clock_parse(text, ret, e) < 0 ? err_wrap(e, "%s", key) : 0;
}

static int read_token(const struct json *j, struct user_token *ret, struct err *e)
{
    struct str hex = json_member_text(j, "sha256");

    if (hex.n != 2 * sizeof(ret->hash))
        return err_set(e, ERR_INVALID, "sha256: must have %zu digits", 2 * sizeof(ret->hash));
    if (hex_parse(hex, ret->hash, sizeof(ret->hash)) < 0)
        return err_set(e, ERR_INVALID, "sha256: is not hexadecimal");
    return users_file_read_time(j, "end", &ret->end_ms, e);
}

static const struct str *read_texts(struct arena *a, const struct json *list, size_t *ret_n)
{
    struct str *v = arena_array(a, struct str, json_count(list));

    *ret_n = 0;
    JSON_FOREACH(item, list)
        v[(*ret_n)++] = arena_str(a, json_text(item, STR_NULL));
    return v;
}

static int read_role(struct str text, enum user_role *ret, struct err *e)
{
    for (int i = 0; i < USER_ROLE_MAX; i++)
        if (str_is(text, user_role_name(i))) {
            *ret = i;
            return 0;
        }
    return err_set(e, ERR_INVALID, "role: must be admin, edit or view");
}

static int read_user(struct arena *a, const struct json *j, struct user *ret, struct err *e)
{
    const struct json *tokens = json_get(j, "tokens");
    struct user_token *v = arena_array(a, struct user_token, json_count(tokens));

    *ret = (struct user){ .name = arena_str(a, json_member_text(j, "name")),
                          .uid = arena_str(a, json_member_text(j, "uid")),
                          .tokens = v,
                          .unix_uid = json_i64(json_get(j, "unixUid"), -1) };
    if (!ret->name.n || !ret->uid.n)
        return err_set(e, ERR_INVALID, "name and uid: must not be empty");
    ret->groups = read_texts(a, json_get(j, "groups"), &ret->n_groups);
    ret->namespaces = read_texts(a, json_get(j, "namespaces"), &ret->n_namespaces);
    JSON_FOREACH(t, tokens)
        if (read_token(t, &v[ret->n_tokens++], e) < 0)
            return err_wrap(e, "tokens");
    return read_role(json_member_text(j, "role"), &ret->role, e) < 0 ||
                   users_file_read_time(j, "created", &ret->created_ms, e) < 0
               ? -1
               : users_file_read_time(j, "certificateEnd", &ret->certificate_end_ms, e);
}

int users_parse(struct arena *a, struct str text, struct user_list *ret, struct err *e)
{
    struct json *all;

    if (json_parse(a, text, NULL, &all, e) < 0)
        return err_wrap(e, USERS_FILE);
    if (json_i64(json_get(all, "version"), 0) != 1)
        return err_set(e, ERR_INVALID, USERS_FILE ": version: must be 1; a newer pumice may have written it");
    JSON_FOREACH(j, json_get(all, "users"))
        if (read_user(a, j, vec_push(a, ret), e) < 0)
            return err_wrap(e, USERS_FILE ": users[%zu]", ret->n - 1);
    return 0;
}
