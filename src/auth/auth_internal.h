/* auth_internal.h - what the files of auth.h share
 *
 * auth.c        open, turn, close; one request from its credentials to its line in the audit log
 * auth_author.c  the author of an object that acts later
 * auth_hold.c   watches and streams: they end with what opened them
 */
#ifndef AUTH_AUTH_INTERNAL_H
#define AUTH_AUTH_INTERNAL_H

#include "auth/admin_token.h"
#include "auth/auth.h"
#include "base/list.h"

struct authority;
struct users;

struct auth {
    int dir;
    struct store *store;
    struct clock *clock;
    struct authority *authority;
    struct users *users;
    struct accounts *accounts;
    struct rbac *rbac;
    struct throttle *throttle;
    struct audit *audit; /* NULL: none is kept */
    struct authn authn;
    struct http_server_tls tls;
    struct admin_token admin_token;
    bool has_fresh_keys; /* since the last turn: the caller must reload them */
    bool is_hearing;     /* between auth_hear() and auth_heard() … */
    bool has_looked;     /* … and files were looked at since */
    int64_t renew_ms;    /* mono */
    bool has_failed;     /* said so */
    uint64_t synced;     /* generation of users */
    uint64_t unauthorized, forbidden;
    struct list holds;
    bool has_stale_holds; /* keys have changed since holds were looked at */
    uint64_t held_users;  /* generation of users as of which holds were looked at */
    int64_t held_ms;      /* mono: when */
    uint64_t filled;      /* rbac_changes() as of which aggregated roles were written */
};

/* Who shows this? The administrator, or as authn.h has it. */
bool auth_identify(struct auth *auth, struct arena *a, const struct authn_request *rq, struct identity *ret);

enum { HOLDS_LOOK_MS = 500 }; /* how long what was taken away may go unnoticed; docs promise a second */
void holds_turn(struct auth *auth);

#endif
