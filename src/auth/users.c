/* users.c - the users of a server */
#include "auth/users_internal.h"

#include "api/meta.h"
#include "api/name.h"
#include "pki/certificate.h"
#include "pki/jwt.h"
#include "auth/runas.h"
#include "pki/secret_file.h"
#include "base/map.h"
#include "base/rand.h"
#include "base/util.h"
#include "os/lock.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#define TOKEN_PREFIX "pumice_" /* so that scanners for lost secrets can know one */

enum { LOCK_MS = 10000, TOKENS_MAX = 16, TOKEN_BYTES = 32, TOKEN_TEXT_MAX = 128 };

struct users {
    int dir;
    struct arena arena;
    struct user_list list;
    struct map by_name, by_token; /* token: by its hash */
    struct stat seen;             /* of the file that was read; st_ino 0: there was none */
    struct stat tried;            /* of the one that was to be */
    bool is_stale;                /* it could not be read */
    uint64_t generation;
};

static const char *const role_names[] = { "", "view", "edit", "admin" };
_Static_assert(ARRAY_LEN(role_names) == USER_ROLE_MAX, "name every role");

const char *user_role_name(enum user_role role)
{
    return role_names[role];
}

/* ---- reading ---- */

static void users_forget(struct users *u)
{
    map_clear(&u->by_name);
    map_clear(&u->by_token);
    u->list = (struct user_list){ 0 };
    arena_reset(&u->arena);
}

static int users_by_name(const void *a, const void *b)
{
    return str_cmp(((const struct user *)a)->name, ((const struct user *)b)->name);
}

static int index_users(struct users *u, struct err *e)
{
    if (u->list.n)
        qsort(u->list.v, u->list.n, sizeof(*u->list.v), users_by_name);
    VEC_FOREACH(user, &u->list) {
        if (map_put(&u->by_name, user->name, user))
            return err_set(e, ERR_INVALID, USERS_FILE ": duplicate user \"%.*s\"", STR_ARG(user->name));
        for (size_t i = 0; i < user->n_tokens; i++)
            map_put(&u->by_token, (struct str){ (const char *)user->tokens[i].hash, USER_TOKEN_HASH }, user);
    }
    return 0;
}

static int users_load(struct users *u, struct err *e)
{
    autobuf text = { 0 };
    struct err why;

    users_forget(u);
    u->generation++;
    u->is_stale = true;
    u->seen = (struct stat){ 0 };
    if (secret_file_read(u->dir, USERS_FILE, &text, &u->seen, &why) < 0) {
        u->is_stale = why.code != ERR_NOT_FOUND;
        return u->is_stale ? err_set(e, why.code, "%s", why.text) : 0;
    }
    if (users_parse(&u->arena, arena_str(&u->arena, buf_view(&text)), &u->list, e) < 0 || index_users(u, e) < 0) {
        users_forget(u);
        return -1;
    }
    u->is_stale = false;
    return 0;
}

int users_open(int dir, struct users **ret, struct err *e)
{
    struct users *u = xcalloc(1, sizeof(*u));

    u->dir = dir;
    map_init(&u->by_name, map_seed_default());
    map_init(&u->by_token, map_seed_default());
    if (users_load(u, e) < 0) {
        users_free(u);
        return -1;
    }
    *ret = u;
    return 0;
}

void users_free(struct users *u)
{
    if (!u)
        return;
    map_done(&u->by_name);
    map_done(&u->by_token);
    arena_done(&u->arena);
    free(u);
}

/* The file is always replaced, never written into: another inode, or another time where the number came back. */
static bool users_is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_mode == b->st_mode && a->st_uid == b->st_uid;
}

int users_refresh(struct users *u, bool *ret_changed, struct err *e)
{
    struct stat now = { 0 };

    if (ret_changed)
        *ret_changed = false;
    if (fstatat(u->dir, USERS_FILE, &now, AT_SYMLINK_NOFOLLOW) < 0)
        now = (struct stat){ 0 };
    if (!u->is_stale && users_is_same(&now, &u->seen))
        return 0;
    if (ret_changed)
        *ret_changed = !u->is_stale || !users_is_same(&now, &u->tried);
    u->tried = now;
    return users_load(u, e);
}

uint64_t users_generation(const struct users *u)
{
    return u->generation;
}

size_t users_count(const struct users *u)
{
    return u->list.n;
}

const struct user *users_at(const struct users *u, size_t i)
{
    return &u->list.v[i];
}

const struct user *users_find(const struct users *u, struct str name)
{
    return map_get(&u->by_name, name);
}

const struct user *users_by_certificate(const struct users *u, struct str name, const struct str *organizations,
                                        size_t n_organizations)
{
    const struct user *user = users_find(u, name);
    struct str prefix = STR(USER_UID_GROUP);

    for (size_t i = 0; user && i < n_organizations; i++)
        if (str_starts(organizations[i], prefix) && str_eq(str_from(organizations[i], prefix.n), user->uid))
            return user;
    return NULL;
}

static void hash_token(struct str token, unsigned char hash[USER_TOKEN_HASH])
{
    SHA256((const unsigned char *)(token.p ? token.p : ""), token.n, hash);
}

/* Found by its hash: how long that takes tells something about the hash of a guess, which tells nothing about the
 * token. The comparison itself takes as long for every answer. */
const struct user *users_by_token(const struct users *u, struct str token, int64_t now_ms)
{
    unsigned char hash[USER_TOKEN_HASH];
    const struct user *user;

    if (token.n > TOKEN_TEXT_MAX || !str_starts(token, STR(TOKEN_PREFIX)))
        return NULL;
    hash_token(token, hash);
    user = map_get(&u->by_token, (struct str){ (char *)hash, sizeof(hash) });
    for (size_t i = 0; user && i < user->n_tokens; i++)
        if (CRYPTO_memcmp(user->tokens[i].hash, hash, sizeof(hash)) == 0)
            return !user->tokens[i].end_ms || now_ms < user->tokens[i].end_ms ? user : NULL;
    return NULL;
}

int64_t users_token_end(const struct user *user, struct str token)
{
    unsigned char hash[USER_TOKEN_HASH];

    hash_token(token, hash);
    for (size_t i = 0; i < user->n_tokens; i++)
        if (CRYPTO_memcmp(user->tokens[i].hash, hash, sizeof(hash)) == 0)
            return user->tokens[i].end_ms;
    return 0;
}

const struct user *users_by_unix_uid(const struct users *u, int64_t uid)
{
    VEC_FOREACH(user, &u->list)
        if (user->unix_uid == uid && uid >= 0)
            return user;
    return NULL;
}

struct identity user_identity(struct arena *a, const struct user *user)
{
    struct identity who = identity_make(a, user->name, user->groups, user->n_groups, STR(GROUP_AUTHENTICATED));

    who.uid = arena_str(a, user->uid);
    if (user->unix_uid >= 0)
        identity_add_extra(a, &who, RUNAS_UID_EXTRA, arena_fmt(a, "%lld", (long long)user->unix_uid));
    return who;
}

/* ---- changing ---- */

/* Read under the lock, changed by 'change', written, and read as everybody reads it. */
static int edit(struct users *u, int (*change)(struct users *u, void *ctx, struct err *e), void *ctx, struct err *e)
{
    autoclose int lock = -1;
    autoarena a = { 0 };
    autobuf text = { 0 };

    if (lock_take(u->dir, "users.lock", LOCK_MS, &lock, e) < 0)
        return err_wrap(e, "users.lock");
    if (users_load(u, e) < 0 || change(u, ctx, e) < 0)
        return -1;
    users_print(&a, &u->list, &text);
    u->is_stale = true; /* until it was read again: memory is ahead of the file */
    if (secret_file_write(u->dir, USERS_FILE, buf_view(&text), e) < 0)
        return -1;
    return users_load(u, e);
}

static int no_such_user(struct err *e, struct str name)
{
    return err_set(e, ERR_NOT_FOUND, "user \"%.*s\" not found; run 'pumice server user list'", STR_ARG(name));
}

static struct user *find_own(struct users *u, struct str name)
{
    return (struct user *)users_find(u, name);
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("-_.@", c));
}

/* It stands in a certificate (64 characters at most), in names of bindings and in paths. */
static int check_word(struct str word, const char *what, bool may_have_colon, struct err *e)
{
    if (!word.n || word.n > USER_NAME_MAX)
        return err_set(e, ERR_INVALID, "%s: must have 1 to %d characters", what, USER_NAME_MAX);
    for (size_t i = 0; i < word.n; i++)
        if (!is_name_char(word.p[i]) && !(may_have_colon && word.p[i] == ':'))
            return err_set(e, ERR_INVALID, "%s: \"%.*s\": only letters, digits and -_.@ are allowed", what,
                           STR_ARG(word));
    if (!is_name_char(word.p[0]) || strchr("-.", word.p[0]))
        return err_set(e, ERR_INVALID, "%s: \"%.*s\": must begin with a letter or digit", what, STR_ARG(word));
    return 0;
}

static int users_check_spec(const struct user_spec *spec, struct err *e)
{
    autoarena a = { 0 };

    if (check_word(spec->name, "NAME", false, e) < 0)
        return -1;
    for (size_t i = 0; i < spec->n_groups; i++) {
        if (check_word(spec->groups[i], "--group", true, e) < 0)
            return -1;
        if (str_starts(spec->groups[i], STR("pumice:")) ||
            (str_starts(spec->groups[i], STR("system:")) && !str_is(spec->groups[i], GROUP_MASTERS)))
            return err_set(e, ERR_INVALID, "--group: \"%.*s\": only the server itself assigns groups with this prefix",
                           STR_ARG(spec->groups[i]));
    }
    for (size_t i = 0; i < spec->n_namespaces; i++) {
        const char *why = name_check_dns_label(&a, spec->namespaces[i]);

        if (why)
            return err_set(e, ERR_INVALID, "--namespace: %s", why);
    }
    if (spec->n_namespaces && !spec->role)
        return err_set(e, ERR_INVALID, "--namespace: needs a role; give --admin, --edit or --view too");
    return 0;
}

struct addition {
    const struct user_spec *spec;
    int64_t now_ms;
};

static int auth_users_add(struct users *u, void *ctx, struct err *e)
{
    const struct addition *new = ctx;
    const struct user_spec *spec = new->spec;

    if (users_find(u, spec->name))
        return err_set(e, ERR_EXISTS, "user \"%.*s\" already exists; remove it with 'pumice server user remove'",
                       STR_ARG(spec->name));
    *vec_push(&u->arena, &u->list) = (struct user){ .name = spec->name,
                                                    .uid = uuid_make(&u->arena),
                                                    .groups = spec->groups,
                                                    .n_groups = spec->n_groups,
                                                    .role = spec->role,
                                                    .namespaces = spec->namespaces,
                                                    .n_namespaces = spec->n_namespaces,
                                                    .created_ms = new->now_ms,
                                                    .unix_uid = spec->unix_uid };
    return 0;
}

int users_add(struct users *u, const struct user_spec *spec, int64_t now_ms, const struct user **ret_user,
              struct err *e)
{
    if (users_check_spec(spec, e) < 0 || edit(u, auth_users_add, &(struct addition){ spec, now_ms }, e) < 0)
        return -1;
    if (ret_user)
        *ret_user = users_find(u, spec->name);
    return 0;
}

static int take_out(struct users *u, void *ctx, struct err *e)
{
    struct user *user = find_own(u, *(const struct str *)ctx);

    if (!user)
        return no_such_user(e, *(const struct str *)ctx);
    memmove(user, user + 1, (size_t)(u->list.v + u->list.n - (user + 1)) * sizeof(*user));
    u->list.n--;
    return 0;
}

int users_remove(struct users *u, struct str name, struct err *e)
{
    autoarena a = { 0 };
    struct str own = arena_str(&a, name); /* it may be the name in the list itself */

    return edit(u, take_out, &own, e);
}

static int renew(struct users *u, void *ctx, struct err *e)
{
    const struct str *name = ctx;
    struct user *user = find_own(u, *name);

    if (!user)
        return no_such_user(e, *name);
    user->uid = uuid_make(&u->arena);
    user->n_tokens = 0;
    user->certificate_end_ms = 0;
    return 0;
}

int users_renew(struct users *u, struct str name, struct err *e)
{
    autoarena a = { 0 };
    struct str own = arena_str(&a, name); /* it may be the name in the list itself */

    return edit(u, renew, &own, e);
}

static int renew_all(struct users *u, void *ctx, struct err *e)
{
    (void)ctx, (void)e;
    VEC_FOREACH(user, &u->list)
        if (user->certificate_end_ms) {
            user->uid = uuid_make(&u->arena);
            user->certificate_end_ms = 0;
        }
    return 0;
}

int users_renew_all(struct users *u, struct err *e)
{
    return edit(u, renew_all, NULL, e);
}

struct new_token {
    struct str name;
    int64_t now_ms;
    struct user_token token;
};

/* Those that have ended make room. */
static int add_token(struct users *u, void *ctx, struct err *e)
{
    const struct new_token *new = ctx;
    struct user *user = find_own(u, new->name);
    struct user_token *all;
    size_t n = 0;

    if (!user)
        return no_such_user(e, new->name);
    all = arena_array(&u->arena, struct user_token, user->n_tokens + 1);
    for (size_t i = 0; i < user->n_tokens; i++)
        if (!user->tokens[i].end_ms || new->now_ms < user->tokens[i].end_ms)
            all[n++] = user->tokens[i];
    if (n >= TOKENS_MAX)
        return err_set(e, ERR_TOO_BIG, "user \"%.*s\" has %d tokens, the maximum; remove the user and add it again",
                       STR_ARG(new->name), TOKENS_MAX);
    all[n++] = new->token;
    user->tokens = all;
    user->n_tokens = n;
    return 0;
}

int users_add_token(struct users *u, const struct user_term *term, struct buf *ret_token, struct err *e)
{
    autoarena a = { 0 };
    struct new_token new = { .name = arena_str(&a, term->name), .now_ms = term->now_ms };
    char bytes[TOKEN_BYTES];
    autosecret text = { 0 };

    rand_os_bytes(bytes, sizeof(bytes));
    buf_str(&text, STR(TOKEN_PREFIX));
    base64url_print(&text, (struct str){ bytes, sizeof(bytes) });
    OPENSSL_cleanse(bytes, sizeof(bytes));
    hash_token(buf_view(&text), new.token.hash);
    new.token.end_ms = term->life_ms ? term->now_ms + term->life_ms : 0;
    if (edit(u, add_token, &new, e) < 0)
        return -1;
    buf_str(ret_token, buf_view(&text));
    return 0;
}

struct new_certificate {
    struct str name;
    int64_t end_ms;
};

static int add_certificate(struct users *u, void *ctx, struct err *e)
{
    const struct new_certificate *new = ctx;
    struct user *user = find_own(u, new->name);

    if (!user)
        return no_such_user(e, new->name);
    user->certificate_end_ms = new->end_ms;
    return 0;
}

int users_add_certificate(struct users *u, struct str name, int64_t end_ms, struct err *e)
{
    autoarena a = { 0 };
    struct new_certificate new = { arena_str(&a, name), end_ms };

    return edit(u, add_certificate, &new, e);
}

const struct str *users_organizations(const struct users *u, struct arena *a, struct str name, size_t *ret_n)
{
    const struct user *user = users_find(u, name);
    struct str *groups = arena_array(a, struct str, user->n_groups + 1);

    for (size_t i = 0; i < user->n_groups; i++)
        groups[i] = arena_str(a, user->groups[i]);
    groups[user->n_groups] = arena_fmt(a, USER_UID_GROUP "%.*s", STR_ARG(user->uid));
    *ret_n = user->n_groups + 1;
    return groups;
}

/* ---- bindings ---- */

#define RBAC_GROUP "rbac.authorization.k8s.io"

static void push_binding(struct arena *a, const struct user *user, struct str namespace, struct json *list)
{
    const char *kind = namespace.n ? "RoleBinding" : "ClusterRoleBinding";
    struct str name = arena_fmt(a, "pumice:user:%.*s", STR_ARG(user->name));
    struct json *b = object_new(a, RBAC_GROUP "/v1", kind, namespace, name), *ref, *subject;
    /* "admin" may do all in a namespace; over all of them that is cluster-admin. */
    const char *role = user->role == USER_ADMIN && !namespace.n ? "cluster-admin" : user_role_name(user->role);

    object_set_label(a, b, USER_LABEL, arena_str(a, user->uid));
    ref = json_set(b, "roleRef", json_object(a));
    json_set(ref, "apiGroup", json_str(a, STR(RBAC_GROUP)));
    json_set(ref, "kind", json_str(a, STR("ClusterRole")));
    json_set(ref, "name", json_str(a, str_of(role)));
    subject = json_push(json_set(b, "subjects", json_array(a)), json_object(a));
    json_set(subject, "apiGroup", json_str(a, STR(RBAC_GROUP)));
    json_set(subject, "kind", json_str(a, STR("User")));
    json_set(subject, "name", json_str(a, arena_str(a, user->name)));
    json_push(list, b);
}

void user_bindings(struct arena *a, const struct user *user, struct json *ret_list)
{
    if (!user->role)
        return;
    for (size_t i = 0; i < user->n_namespaces; i++)
        push_binding(a, user, arena_str(a, user->namespaces[i]), ret_list);
    if (!user->n_namespaces)
        push_binding(a, user, STR_NULL, ret_list);
}
