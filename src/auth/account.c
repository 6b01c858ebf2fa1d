/* account.c - tokens of ServiceAccounts: issue, sign and verify */
#include "auth/account.h"

#include "api/meta.h"
#include "pki/certificate.h"
#include "pki/jwt.h"
#include "pki/secret_file.h"
#include "base/clock.h"
#include "base/util.h"
#include "store/store.h"

#include <openssl/sha.h>

#define KEYS_FILE      "account-keys.pem"
#define ISSUER_DEFAULT "https://kubernetes.default.svc.cluster.local"
#define EXTRA          "authentication.kubernetes.io/"

enum {
    KEYS_MAX = 4,
    SEEN_MAX = 1024, /* tokens that are known to be signed; a power of two */
    LIFE_S = 3600,
    LEEWAY_MS = 60000,    /* a clock that was set back must not end every token of the last minute */
    LINGER_MS = 60 * 1000 /* of a pod that is being deleted: it may still say goodbye */
};

struct accounts {
    int dir;
    const struct store *store;
    char *issuer;
    int64_t life_max_s;
    struct jwt_key *keys[KEYS_MAX];
    size_t n_keys;
    struct stat seen;                                    /* the file */
    unsigned char (*signed_by_us)[SHA256_DIGEST_LENGTH]; /* SEEN_MAX hashes of tokens that one of the keys has signed */
};

/* What a token may be bound to. */
static const struct bound {
    const char *kind, *claim;
} bounds[] = {
    { "Pod", "pod" },
    { "Secret", "secret" },
    { "Node", "node" },
};

/* ---- keys ---- */

static void forget_signed(struct accounts *s)
{
    if (s->signed_by_us)
        memset(s->signed_by_us, 0, SEEN_MAX * sizeof(*s->signed_by_us));
}

static void drop_keys(struct accounts *s)
{
    for (size_t i = 0; i < s->n_keys; i++)
        jwt_key_free(s->keys[i]);
    s->n_keys = 0;
    forget_signed(s);
}

static int write_keys(struct accounts *s, struct err *e)
{
    autosecret all = { 0 };

    for (size_t i = 0; i < s->n_keys; i++)
        if (jwt_key_print(s->keys[i], &all, e) < 0)
            return -1;
    if (secret_file_write(s->dir, KEYS_FILE, buf_view(&all), e) < 0)
        return -1;
    (void)secret_file_changed(s->dir, KEYS_FILE, &s->seen); /* our own hand */
    return 0;
}

int accounts_rotate(struct accounts *s, bool keeps_old, struct err *e)
{
    struct jwt_key *fresh = jwt_key_new(e);

    if (!fresh)
        return -1;
    if (!keeps_old)
        drop_keys(s);
    if (s->n_keys == KEYS_MAX)
        jwt_key_free(s->keys[--s->n_keys]);
    forget_signed(s);
    memmove(s->keys + 1, s->keys, s->n_keys * sizeof(s->keys[0]));
    s->keys[0] = fresh;
    s->n_keys++;
    return write_keys(s, e);
}

static int read_keys(struct accounts *s, struct str text, struct err *e)
{
    static const char begin[] = "-----BEGIN ";

    while (s->n_keys < KEYS_MAX && text.n) {
        const char *next = memmem(text.p + 1, text.n - 1, begin, sizeof(begin) - 1);
        size_t n = next ? (size_t)(next - text.p) : text.n;

        if (jwt_key_read(str_sub(text, 0, n), &s->keys[s->n_keys], e) < 0)
            return err_wrap(e, KEYS_FILE);
        s->n_keys++;
        text = str_from(text, n);
    }
    return s->n_keys ? 0 : err_set(e, ERR_INVALID, KEYS_FILE ": is empty; restore or remove it");
}

int accounts_refresh(struct accounts *s, bool *ret_changed, struct err *e)
{
    struct accounts fresh = { .dir = s->dir, .seen = s->seen };
    autosecret text = { 0 };

    *ret_changed = secret_file_changed(s->dir, KEYS_FILE, &fresh.seen);
    if (!*ret_changed)
        return 0;
    s->seen = fresh.seen;
    if (secret_file_read(s->dir, KEYS_FILE, &text, NULL, e) < 0 || read_keys(&fresh, buf_view(&text), e) < 0) {
        drop_keys(&fresh);
        return -1;
    }
    drop_keys(s);
    memcpy(s->keys, fresh.keys, sizeof(s->keys));
    s->n_keys = fresh.n_keys;
    return 0;
}

int accounts_open(const struct accounts_options *opt, struct accounts **ret, struct err *e)
{
    struct accounts *s = xcalloc(1, sizeof(*s));
    autosecret text = { 0 };
    struct err why;
    int r;

    s->signed_by_us = xcalloc(SEEN_MAX, sizeof(*s->signed_by_us));
    accounts_set_life(s, 0);
    s->dir = opt->dir;
    s->store = opt->store;
    s->issuer = strdup(opt->issuer ? opt->issuer : ISSUER_DEFAULT);
    if (secret_file_read(s->dir, KEYS_FILE, &text, NULL, &why) == 0)
        r = read_keys(s, buf_view(&text), e);
    else
        r = why.code == ERR_NOT_FOUND ? accounts_rotate(s, true, e) : err_set(e, why.code, "%s", why.text);
    if (r < 0) {
        accounts_free(s);
        return -1;
    }
    (void)secret_file_changed(s->dir, KEYS_FILE, &s->seen);
    *ret = s;
    return 0;
}

void accounts_free(struct accounts *s)
{
    if (!s)
        return;
    drop_keys(s);
    free(s->signed_by_us);
    free(s->issuer);
    free(s);
}

struct json *accounts_keys(const struct accounts *s, struct arena *a)
{
    struct json *all = json_object(a), *keys = json_set(all, "keys", json_array(a));

    for (size_t i = 0; i < s->n_keys; i++)
        json_push(keys, jwt_key_public(a, s->keys[i]));
    return all;
}

static struct json *one_text(struct arena *a, struct str text)
{
    struct json *list = json_array(a);

    json_push(list, json_str(a, text));
    return list;
}

struct json *accounts_discovery(const struct accounts *s, struct arena *a)
{
    struct json *d = json_object(a);

    json_set(d, "issuer", json_str(a, str_of(s->issuer)));
    json_set(d, "jwks_uri", json_fmt(a, "%s/openid/v1/jwks", s->issuer));
    json_set(d, "response_types_supported", one_text(a, STR("id_token")));
    json_set(d, "subject_types_supported", one_text(a, STR("public")));
    json_set(d, "id_token_signing_alg_values_supported", one_text(a, STR("ES256")));
    return d;
}

/* ---- what is there ---- */

static const struct object *account_find(const struct accounts *s, const char *kind, struct str namespace,
                                         struct str name)
{
    return name.n ? store_get(s->store, type_by_kind(STR("v1"), str_of(kind)), namespace, name) : NULL;
}

/* Being deleted, and long enough for it. */
static bool is_leaving(const struct object *o, int64_t now_ms)
{
    struct str at = json_member_text(json_get(o->root, "metadata"), "deletionTimestamp");
    int64_t at_ms;

    return at.n && (clock_parse(at, &at_ms, NULL) < 0 || now_ms > at_ms + LINGER_MS);
}

static bool auth_account_is_there(const struct accounts *s, const char *kind, struct str namespace,
                                  const struct json *ref, int64_t now_ms)
{
    const struct object *o = account_find(s, kind, namespace, json_member_text(ref, "name"));

    return o && str_eq(o->uid, json_member_text(ref, "uid")) && !is_leaving(o, now_ms);
}

/* ---- asking for one ---- */

static struct json *ref_of(struct arena *a, const struct object *o)
{
    struct json *ref = json_object(a);

    json_set(ref, "name", json_str(a, o->name));
    json_set(ref, "uid", json_str(a, o->uid));
    return ref;
}

/* Find the object that a token of 'account' is to be bound to. */
static int bound_find(const struct accounts *s, const struct object *account, const struct json *ref,
                      const struct object **ret, struct err *e)
{
    struct str kind = json_member_text(ref, "kind"), name = json_member_text(ref, "name");
    struct str uid = json_member_text(ref, "uid");
    const struct bound *b = bounds;
    const struct object *o;

    while (b < bounds + ARRAY_LEN(bounds) && !str_is(kind, b->kind))
        b++;
    if (b == bounds + ARRAY_LEN(bounds) || !str_is(json_member_text(ref, "apiVersion"), "v1"))
        return err_set(e, ERR_SYNTAX,
                       "spec.boundObjectRef: cannot bind a token to a %.*s, only to a v1 Pod, Secret or Node",
                       STR_ARG(kind));
    o = account_find(s, b->kind, account->namespace, name);
    if (!o)
        return err_set(e, ERR_NOT_FOUND, "spec.boundObjectRef: %s \"%.*s\" not found", b->kind, STR_ARG(name));
    if (uid.n && !str_eq(uid, o->uid))
        return err_set(e, ERR_CONFLICT,
                       "spec.boundObjectRef.uid: %.*s is not the uid of %s \"%.*s\"; it may have been deleted and "
                       "recreated",
                       STR_ARG(uid), b->kind, STR_ARG(name));
    if (str_is(kind, "Pod") &&
        !str_eq(json_text(json_find(o->root, "spec", "serviceAccountName", NULL), STR("default")), account->name))
        return err_set(e, ERR_INVALID, "spec.boundObjectRef.name: pod \"%.*s\" runs with another ServiceAccount",
                       STR_ARG(name));
    *ret = o;
    return 0;
}

static void claims_bind(const struct accounts *s, struct arena *a, const struct object *o, struct json *claims)
{
    const struct bound *b = bounds;

    while (strcmp(b->kind, o->type->kind) != 0)
        b++;
    json_set(claims, b->claim, ref_of(a, o));
    if (strcmp(b->kind, "Pod") == 0) {
        const struct object *node = account_find(s, "Node", STR_NULL,
                                                 json_text(json_find(o->root, "spec", "nodeName", NULL), STR_NULL));

        if (node)
            json_set(claims, "node", ref_of(a, node));
    }
}

void accounts_set_life(struct accounts *s, int64_t max_s)
{
    s->life_max_s = max_s ? max_s : TOKEN_LIFE_DEFAULT_S;
}

static int life_of(const struct accounts *s, const struct json *spec, int64_t *ret_s, struct err *e)
{
    const struct json *asked = json_get(spec, "expirationSeconds");
    int64_t life_s = LIFE_S;

    if (asked && asked->type != JSON_NULL && (json_to_i64(asked, &life_s) < 0 || life_s < TOKEN_LIFE_MIN_S))
        return err_set(e, ERR_INVALID, "spec.expirationSeconds: may not specify a duration less than 10 minutes");
    if (life_s > 1LL << 32)
        return err_set(e, ERR_INVALID, "spec.expirationSeconds: may not specify a duration larger than 2^32 seconds");
    *ret_s = MIN_OF(life_s, s->life_max_s);
    return 0;
}

static struct json *account_claims(const struct accounts *s, struct arena *a, const struct object *account,
                                   const struct account_request *rq, int64_t life_s)
{
    const struct json *asked = json_find(rq->body, "spec", "audiences", NULL);
    bool has_asked = json_is(asked, JSON_ARRAY) && json_count(asked);
    struct json *claims = json_object(a), *ours;
    int64_t now_s = rq->now_ms / 1000;

    json_set(claims, "aud", has_asked ? json_copy(a, asked) : one_text(a, str_of(s->issuer)));
    json_set(claims, "exp", json_int(a, now_s + life_s));
    json_set(claims, "iat", json_int(a, now_s));
    json_set(claims, "iss", json_str(a, str_of(s->issuer)));
    json_set(claims, "jti", json_str(a, uuid_make(a)));
    ours = json_set(claims, "kubernetes.io", json_object(a));
    json_set(ours, "namespace", json_str(a, account->namespace));
    json_set(ours, "serviceaccount", ref_of(a, account));
    json_set(claims, "nbf", json_int(a, now_s));
    json_set(claims, "sub",
             json_fmt(a, USER_ACCOUNT_PREFIX "%.*s:%.*s", STR_ARG(account->namespace), STR_ARG(account->name)));
    return claims;
}

int accounts_request(const struct accounts *s, struct arena *a, const struct account_request *rq, struct json **ret,
                     struct err *e)
{
    const struct object *account = account_find(s, "ServiceAccount", rq->namespace, rq->name), *to = NULL;
    const struct json *spec = json_get(rq->body, "spec"), *bound = json_get(spec, "boundObjectRef");
    struct json *claims, *answer, *status;
    autosecret token = { 0 };
    autobuf end = { 0 };
    int64_t life_s = 0;

    if (!account)
        return err_set(e, ERR_NOT_FOUND, "serviceaccounts \"%.*s\" not found", STR_ARG(rq->name));
    if (life_of(s, spec, &life_s, e) < 0)
        return -1;
    claims = account_claims(s, a, account, rq, life_s);
    if (json_is(bound, JSON_OBJECT)) {
        if (bound_find(s, account, bound, &to, e) < 0)
            return -1;
        claims_bind(s, a, to, json_get(claims, "kubernetes.io"));
    }
    if (jwt_sign(s->keys[0], claims, &token, e) < 0)
        return -1;
    answer = json_copy(a, rq->body);
    json_set(json_need_object(a, answer, "spec"), "audiences", json_copy(a, json_get(claims, "aud")));
    json_set(json_get(answer, "spec"), "expirationSeconds", json_int(a, life_s));
    clock_print(&end, rq->now_ms + life_s * 1000);
    status = json_set(answer, "status", json_object(a));
    json_set(status, "token", json_str(a, arena_str(a, buf_view(&token))));
    json_set(status, "expirationTimestamp", json_str(a, arena_str(a, buf_view(&end))));
    *ret = answer;
    return 0;
}

/* ---- looking at one ---- */

static bool is_in_time(const struct json *claims, int64_t now_ms)
{
    int64_t begin, end, now_s = now_ms / 1000;

    return json_to_i64(json_get(claims, "exp"), &end) == 0 && json_to_i64(json_get(claims, "nbf"), &begin) == 0 &&
           now_s < end && begin <= now_s + LEEWAY_MS / 1000;
}

static bool is_for(const struct json *claims, struct str audience)
{
    const struct json *aud = json_get(claims, "aud");

    if (json_is(aud, JSON_STRING))
        return str_eq(json_text(aud, STR_NULL), audience);
    if (json_is(aud, JSON_ARRAY))
        JSON_FOREACH(one, aud)
            if (json_is(one, JSON_STRING) && str_eq(json_text(one, STR_NULL), audience))
                return true;
    return false;
}

static struct account_audiences audiences_among(const struct accounts *s, struct arena *a, const struct json *claims,
                                                struct account_audiences asked)
{
    struct str own = str_of(s->issuer), *found;
    struct account_audiences all = asked.n ? asked : (struct account_audiences){ &own, 1 };
    size_t n = 0;

    found = arena_array(a, struct str, all.n);
    for (size_t i = 0; i < all.n; i++)
        if (is_for(claims, all.v[i]))
            found[n++] = arena_str(a, all.v[i]);
    return (struct account_audiences){ found, n };
}

static bool all_are_there(const struct accounts *s, const struct json *ours, struct str namespace, int64_t now_ms)
{
    if (!auth_account_is_there(s, "ServiceAccount", namespace, json_get(ours, "serviceaccount"), now_ms))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
        const struct json *ref = json_get(ours, bounds[i].claim);
        bool only_tells = str_is(str_of(bounds[i].claim), "node") && json_get(ours, "pod"); /* the pod's end counts */

        if (ref && !only_tells && !auth_account_is_there(s, bounds[i].kind, namespace, ref, now_ms))
            return false;
    }
    return true;
}

static struct identity identity_of(struct arena *a, const struct json *claims, struct str namespace, struct str name)
{
    const struct json *ours = json_get(claims, "kubernetes.io"), *pod = json_get(ours, "pod");
    const struct json *node = json_get(ours, "node");
    struct identity who = identity_of_account(a, namespace, name);

    who.uid = arena_str(a, json_member_text(json_get(ours, "serviceaccount"), "uid"));
    who.end_ms = json_i64(json_get(claims, "exp"), 0) * 1000;
    identity_add_extra(a, &who, EXTRA "credential-id",
                       arena_fmt(a, "JTI=%.*s", STR_ARG(json_member_text(claims, "jti"))));
    identity_add_extra(a, &who, EXTRA "pod-name", json_member_text(pod, "name"));
    identity_add_extra(a, &who, EXTRA "pod-uid", json_member_text(pod, "uid"));
    identity_add_extra(a, &who, EXTRA "node-name", json_member_text(node, "name"));
    identity_add_extra(a, &who, EXTRA "node-uid", json_member_text(node, "uid"));
    return who;
}

/* A signature costs a hundred times what the hash of the token does, and streams are looked at twice a second. The keys
 * go together with what was remembered of them. */
static const struct json *claims_of(const struct accounts *s, struct arena *a, struct str token)
{
    unsigned char hash[SHA256_DIGEST_LENGTH], *seen;
    const struct json *claims;

    (void)SHA256((const unsigned char *)token.p, token.n, hash);
    seen = s->signed_by_us[(hash[0] | hash[1] << 8) & (SEEN_MAX - 1)];
    if (memcmp(seen, hash, sizeof(hash)) == 0)
        return jwt_claims(a, token);
    claims = jwt_verify(a, token, s->keys, s->n_keys);
    if (claims)
        memcpy(seen, hash, sizeof(hash));
    return claims;
}

bool accounts_identify(const struct accounts *s, struct arena *a, const struct account_token *token,
                       struct identity *ret, struct account_audiences *ret_audiences)
{
    const struct json *claims = claims_of(s, a, token->text), *ours = json_get(claims, "kubernetes.io");
    struct account_audiences among;
    struct str namespace, name;

    if (!claims || !str_is(json_member_text(claims, "iss"), s->issuer) || !is_in_time(claims, token->now_ms) ||
        !identity_is_account(json_member_text(claims, "sub"), &namespace, &name) ||
        !str_eq(namespace, json_member_text(ours, "namespace")) ||
        !str_eq(name, json_member_text(json_get(ours, "serviceaccount"), "name")))
        return false;
    among = audiences_among(s, a, claims, token->audiences);
    if (!among.n || !all_are_there(s, ours, namespace, token->now_ms))
        return false;
    *ret = identity_of(a, claims, namespace, name);
    if (ret_audiences)
        *ret_audiences = among;
    return true;
}
