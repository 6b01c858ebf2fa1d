/* account.h - tokens of ServiceAccounts: issue, sign and verify
 *
 * A token names its account and, if it is bound, a Pod, Secret or Node, each by name and uid. It is valid until it
 * expires or one of these objects is deleted; an object recreated under the same name has another uid and does not
 * count. The keys are in account-keys.pem below the directory (secret_file.h), the newest first. The newest key signs
 * tokens and all keys verify them, so a rotation ends no token early.
 */
#ifndef AUTH_ACCOUNT_H
#define AUTH_ACCOUNT_H

#include "auth/identity.h"
#include "base/err.h"

struct accounts;
struct store;

struct accounts_options {
    int dir;                   /* borrowed */
    const struct store *store; /* borrowed: where accounts, pods and secrets are */
    const char *issuer; /* copied; NULL: "https://kubernetes.default.svc.cluster.local". It is the audience too */
};

int accounts_open(const struct accounts_options *opt, struct accounts **ret, struct err *e);
void accounts_free(struct accounts *a); /* NULL is fine */

/* The longest life of new tokens; a request for more is cut to it. 0: the default. Issued tokens are not changed. */
#define TOKEN_LIFE_MIN_S     INT64_C(600)
#define TOKEN_LIFE_MAX_S     (INT64_C(876000) * 3600)
#define TOKEN_LIFE_DEFAULT_S (INT64_C(24) * 3600)
void accounts_set_life(struct accounts *s, int64_t max_s);

/* POST …/serviceaccounts/NAME/token. The answer is a copy of 'body' with its status filled in. A token is good for at
 * least 600 seconds, for an hour if the body does not say. ERR_INVALID names the field; ERR_NOT_FOUND: the account, or
 * the object that the token is to be bound to, does not exist; ERR_CONFLICT: that object has another uid. */
struct account_request {
    struct str namespace, name; /* of the ServiceAccount */
    const struct json *body;    /* a TokenRequest */
    int64_t now_ms;
};
int accounts_request(const struct accounts *s, struct arena *a, const struct account_request *rq, struct json **ret,
                     struct err *e);

/* Verify a token and return its identity. False: it is invalid. '*ret_audiences' (may be NULL): the wanted audiences that
 * the token is for. */
struct account_audiences {
    const struct str *v;
    size_t n;
};
struct account_token {
    struct str text;
    int64_t now_ms;
    struct account_audiences audiences; /* wanted; none: the server itself */
};
bool accounts_identify(const struct accounts *s, struct arena *a, const struct account_token *token,
                       struct identity *ret, struct account_audiences *ret_audiences);

/* Reload the keys if another process has rotated them. */
int accounts_refresh(struct accounts *s, bool *ret_changed, struct err *e);

/* Create a new signing key. The last four keys verify tokens; 'keeps_old' false: only the new one does, so that all
 * tokens end now. */
int accounts_rotate(struct accounts *s, bool keeps_old, struct err *e);

/* The documents at /openid/v1/jwks and /.well-known/openid-configuration. */
struct json *accounts_keys(const struct accounts *s, struct arena *a);
struct json *accounts_discovery(const struct accounts *s, struct arena *a);

#endif
