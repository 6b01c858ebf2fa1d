/* account.h - tokens of ServiceAccounts: asked for, signed by us, and looked at again
 *
 * A token names its account and, where it is bound to one, the Pod, Secret or Node it was made for, each by name and
 * uid. It is good as long as all of them are there and its time is not over: what was deleted and made again under the
 * same name is somebody else. The keys are in account-keys.pem below the directory (secret_file.h), the newest first;
 * tokens are signed by that one and believed by all, so that a rotation ends no token before its time.
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

/* Tokens live no longer than this; who asks for more gets that. 0: the default. Those that were given stay. */
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

/* Whose token is it? False, whatever is wrong with it. 'audiences' are those that the caller speaks for (none: the
 * server itself); '*ret_audiences' (may be NULL) are the ones that the token is for among them. */
struct account_audiences {
    const struct str *v;
    size_t n;
};
bool accounts_identify(const struct accounts *s, struct arena *a, struct str token, struct account_audiences audiences,
                       int64_t now_ms, struct identity *ret, struct account_audiences *ret_audiences);

/* Has somebody beside us rotated the keys? Then they are read. */
int accounts_refresh(struct accounts *s, bool *ret_changed, struct err *e);

/* Another key to sign with. Older ones are believed until there are too many (four); 'keeps_old' false: none, and all
 * tokens end now. */
int accounts_rotate(struct accounts *s, bool keeps_old, struct err *e);

/* What /openid/v1/jwks and /.well-known/openid-configuration answer. */
struct json *accounts_keys(const struct accounts *s, struct arena *a);
struct json *accounts_discovery(const struct accounts *s, struct arena *a);

#endif
