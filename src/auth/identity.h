/* identity.h - an authenticated user: name, groups, extra values
 *
 * An identity and all its text live in one arena. Nothing in it is a credential: it may be logged and shown.
 */
#ifndef AUTH_IDENTITY_H
#define AUTH_IDENTITY_H

#include "json/json.h"

#define USER_ANONYMOUS        "system:anonymous"
#define GROUP_AUTHENTICATED   "system:authenticated"
#define GROUP_UNAUTHENTICATED "system:unauthenticated"
#define GROUP_MASTERS         "system:masters" /* may do everything, whatever roles say */
#define GROUP_ACCOUNTS        "system:serviceaccounts"
#define USER_ACCOUNT_PREFIX   "system:serviceaccount:"

struct identity_extra {
    struct str key;
    const struct str *values;
    size_t n_values;
};

struct identity {
    struct str user, uid;
    const struct str *groups;
    size_t n_groups;
    const struct identity_extra *extra;
    size_t n_extra;
    int64_t end_ms; /* of the certificate or token that it was known by; 0: it has none */
};

struct identity identity_copy(struct arena *a, const struct identity *who);

/* The same in all but the end? */
bool identity_equal(const struct identity *a, const struct identity *b);

/* An identity by name and groups; both are copied. 'last_group' (may be empty) is added where it is not among them. */
struct identity identity_make(struct arena *a, struct str user, const struct str *groups, size_t n_groups,
                              struct str last_group);

extern const struct identity identity_anonymous;

bool identity_has_group(const struct identity *who, struct str group);

/* One value more that is known of them; nothing happens if it is empty. 'key' is borrowed. */
void identity_add_extra(struct arena *a, struct identity *who, const char *key, struct str value);

/* UserInfo { username, uid, groups, extra } and back. Fields of another type are passed over. */
struct json *identity_to_json(struct arena *a, const struct identity *who);
struct identity identity_from_json(struct arena *a, const struct json *info, const char *name_field);

/* "system:serviceaccount:NS:NAME" taken apart; false: it is none. */
bool identity_is_account(struct str user, struct str *ret_namespace, struct str *ret_name);
/* And its groups, three of them. */
struct identity identity_of_account(struct arena *a, struct str namespace, struct str name);

/* A random one (RFC 9562, version 4): no two people, tokens or requests ever have the same. */
struct str uuid_make(struct arena *a);

#endif
