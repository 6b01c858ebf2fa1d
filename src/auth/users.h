/* users.h - the users of a server: names, roles and credentials
 *
 * A user has a name, a uid that no other user ever has, groups, a role, and credentials: a certificate that holds the
 * uid beside the name, tokens of which only the SHA-256 is kept, or a UNIX uid at the other end of a socket. The list
 * is one file, users.json below the directory (secret_file.h). `pumice server user` changes it, and the server reloads
 * a changed file before it authenticates a request. So a removed user is rejected at once, and a later user of the same
 * name has another uid, for which old certificates are invalid.
 *
 * Authorization is not decided here. users_bindings() gives the RoleBindings of a role; the server keeps them in its
 * store, where RBAC finds them and kubectl shows them.
 */
#ifndef AUTH_USERS_H
#define AUTH_USERS_H

#include "auth/identity.h"
#include "base/vec.h"

struct users;

enum user_role { USER_NO_ROLE, USER_VIEW, USER_EDIT, USER_ADMIN, USER_ROLE_MAX };
const char *user_role_name(enum user_role role); /* "", "view", "edit", "admin" */

enum { USER_TOKEN_HASH = 32, USER_NAME_MAX = 63 };

struct user_token {
    unsigned char hash[USER_TOKEN_HASH]; /* SHA-256 */
    int64_t end_ms;                      /* 0: never */
};

struct user {
    struct str name, uid;
    const struct str *groups;
    size_t n_groups;
    enum user_role role;
    const struct str *namespaces; /* that the role is for; none: everywhere */
    size_t n_namespaces;
    const struct user_token *tokens;
    size_t n_tokens;
    int64_t created_ms, certificate_end_ms; /* of the newest one; 0: it has none */
    int64_t unix_uid;                       /* -1: none */
};

/* ---- reading ---- what is returned is good until the next call that is not const ---- */

int users_open(int dir, struct users **ret, struct err *e); /* no file: no users */
void users_free(struct users *u);                           /* NULL is fine */

/* Reload the file if it has changed. '*ret_changed' may be NULL. While it cannot be read, no user is accepted, since
 * one may have been removed. '*ret_changed' is set for the first failure only. */
int users_refresh(struct users *u, bool *ret_changed, struct err *e);

/* Changes whenever the file was reloaded. */
uint64_t users_generation(const struct users *u);

size_t users_count(const struct users *u);
const struct user *users_at(const struct users *u, size_t i); /* in order of their names */
const struct user *users_find(const struct users *u, struct str name);

/* The groups of a certificate name the uid with this in front of it: O=pumice:uid:… */
#define USER_UID_GROUP "pumice:uid:"

/* By name and what the certificate says; NULL: no such user. */
const struct user *users_by_certificate(const struct users *u, struct str name, const struct str *organizations,
                                        size_t n_organizations);
const struct user *users_by_token(const struct users *u, struct str token, int64_t now_ms);
int64_t users_token_end(const struct user *user, struct str token); /* 0: it has none */
const struct user *users_by_unix_uid(const struct users *u, int64_t uid);

struct identity user_identity(struct arena *a, const struct user *user);

/* ---- changing ---- under a lock, on what the file holds at that moment ---- */

struct user_spec {
    struct str name;
    const struct str *groups;
    size_t n_groups;
    enum user_role role;
    const struct str *namespaces;
    size_t n_namespaces;
    int64_t unix_uid; /* -1: none */
};

/* ERR_INVALID names what is wrong, ERR_EXISTS: there is one of that name. '*ret_user' may be NULL. */
int users_add(struct users *u, const struct user_spec *spec, int64_t now_ms, const struct user **ret_user,
              struct err *e);
int users_remove(struct users *u, struct str name, struct err *e); /* ERR_NOT_FOUND */

/* Revoke all credentials of a user: it gets a new uid, for which old certificates are invalid, and no tokens. */
int users_renew(struct users *u, struct str name, struct err *e);
/* Revoke the certificates of all users, because the key of the CA was lost. Tokens stay. */
int users_renew_all(struct users *u, struct err *e);

struct user_term {
    struct str name;
    int64_t now_ms, life_ms; /* life_ms 0: it does not expire */
};
/* Create a token, of which only a hash is stored. */
int users_add_token(struct users *u, const struct user_term *term, struct buf *ret_token, struct err *e);
/* Record when the certificate of this user expires. */
int users_add_certificate(struct users *u, struct str name, int64_t end_ms, struct err *e);
/* The organizations for a certificate of this user: its groups, and one with its uid. */
const struct str *users_organizations(const struct users *u, struct arena *a, struct str name, size_t *ret_n);

/* ---- role bindings ---- */

/* ClusterRoleBinding pumice:user:NAME, or a RoleBinding of that name in each namespace, with the label below. */
#define USER_LABEL "pumice/user"
void user_bindings(struct arena *a, const struct user *user, struct json *ret_list);

/* Sync the bindings in the store with the users: delete those of removed users, write the missing and changed ones, and
 * create missing namespaces of roles. Call it when users_refresh() reports a change. Goes on after a failed write, and
 * returns -1 with the first error. */
struct store;
int users_sync(const struct users *u, struct store *store, struct err *e);

#endif
