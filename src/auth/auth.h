/* auth.h - who asks, may they, how much, and what was done: all of it together, for a server
 *
 *     auth_open(&options, &auth, &e);                        // keys, users, default roles; the store is followed
 *     http_server_options.tls = auth_tls(auth);
 *
 *     // a request
 *     status = auth_call_begin(auth, arena, call, kind, &caller);   // 0, or answer with caller.refusal
 *     if (!auth_allows(auth, arena, &caller, &question, &reason))        // 403: rbac_forbidden()
 *     auth_hold(auth, &caller, &question, call);                  // a watch or a stream: it ends when its user does
 *     …
 *     auth_call_end(auth, &caller, &done);                        // once for each auth_call_begin that gave 0; writes the audit
 *
 *     // each turn of the loop
 *     auth_turn(auth, &changed);                             // renewals, users that came or went, roles; what they held
 *
 * The parts are headers of their own, for those who need more: authority.h, users.h, account.h, authn.h, rbac.h,
 * review.h, runas.h, throttle.h, audit.h. One thread; nothing blocks but files below the directory.
 */
#ifndef AUTH_AUTH_H
#define AUTH_AUTH_H

#include "auth/account.h"
#include "auth/audit.h"
#include "auth/authn.h"
#include "auth/rbac.h"
#include "auth/review.h"
#include "auth/throttle.h"
#include "http/server.h"

struct auth;

struct auth_options {
    const char *dir;                      /* of keys and users, made with 0700 */
    const char *const *names;             /* of the server: host names and addresses, ended by NULL. NULL: no TLS */
    struct store *store;                  /* borrowed; must outlive it */
    struct clock *clock;                  /* borrowed; NULL: the real one */
    bool refuses_anonymous;               /* 401 instead of system:anonymous */
    bool refuses_unix_owner;              /* no special rights for the owner of the server at its UNIX socket */
    const struct throttle_limits *limits; /* NULL: as throttle.h has them */
    const struct audit_options *audit;    /* NULL: none is kept */
};

int auth_open(const struct auth_options *opt, struct auth **ret, struct err *e);
void auth_free(struct auth *auth); /* NULL is fine */

/* Call these around the requests of one turn. The files of users and keys, which commands may have changed, are checked
 * at the first of these requests and not at each: all had begun to arrive when the turn began. */
void auth_hear(struct auth *auth);
void auth_heard(struct auth *auth);

/* TLS settings of the HTTP server. Valid until an auth_turn() reports a change. */
const struct http_server_tls *auth_tls(const struct auth *auth);

/* Of kubernetes-admin (admin_token.h). Until the next auth_turn() or request. */
struct str auth_admin_token(const struct auth *auth);

/* Milliseconds until the next turn is due. Failures are logged and retried. '*ret_changed': hand auth_tls() to
 * http_server_set_tls(), and write the administrator's kubeconfig and the tokens of pods again. */
int64_t auth_turn(struct auth *auth, bool *ret_changed);

void auth_set_limits(struct auth *auth, const struct throttle_limits *limits);
void auth_set_token_life(struct auth *auth, int64_t max_s); /* of ServiceAccounts (accounts_set_life) */
/* The audit log was rotated by another program: open it again. */
void auth_reopen(struct auth *auth);

/* ---- a request ---- */

struct auth_refusal {
    int status; /* 400, 401, 403, 429 */
    struct str message;
    int retry_after_s; /* 429: "Retry-After" */
};

struct auth_caller {
    struct identity who;  /* the user that counts, perhaps impersonated */
    struct identity real; /* the authenticated user */
    bool is_impersonated;
    struct throttle_ticket ticket; /* private, and what follows */
    int64_t received_us;
    bool is_allowed;
    struct str why;
    struct str uri, address, agent; /* for the audit log; empty where there is none */
    struct auth_refusal refusal;
};

/* Identify the caller of a request, apply its limits, and refuse pages of other sites in its browser (authn_check_site).
 * 0, or the status of 'ret->refusal'. All text is in the arena, which must outlive the caller. A call that is refused is
 * in the audit log already. */
int auth_call_begin(struct auth *auth, struct arena *a, const struct http_call *call, enum throttle_kind kind,
                    struct auth_caller *ret);

/* Of a call whose body is still to come: will it be let in when it is whole? Nothing is counted and nothing is written to
 * the audit log: auth_call_begin() does that, now if it is refused. '*ret_real': who sends it, in the arena. */
bool auth_may_send(struct auth *auth, struct arena *a, const struct http_call *call, const struct rbac_question *q,
                   struct identity *ret_real);

/* Only the check for foreign pages and host names (403): for public answers. */
int auth_check_site(struct auth *auth, struct arena *a, const struct http_call *call, struct auth_refusal *ret);

/* '*ret_reason' may be NULL. The last question is the one in the audit log. */
bool auth_allows(struct auth *auth, struct arena *a, struct auth_caller *caller, const struct rbac_question *q,
                 struct str *ret_reason);

/* Watch over a stream (THROTTLE_STREAM): it is dropped (http_call_drop) when its user is deleted, its certificate or
 * token expires, or its permission is revoked. Its place in the limit of streams is freed when the call is over. Call
 * it before the call is answered. */
void auth_hold(struct auth *auth, struct auth_caller *caller, const struct rbac_question *q, struct http_call *call);

struct auth_done { /* the result, for the audit log */
    const struct rbac_question *question;
    struct str version;
    int status;
    struct str reason;
    const struct json *body; /* of a write; NULL: none */
    bool is_started;         /* it goes on */
};
void auth_call_end(struct auth *auth, struct auth_caller *caller, const struct auth_done *done);

/* The author of an object that acts later, as a line of text for an annotation; and the identity of that author now:
 * with the user's present groups, or system:anonymous if the user or ServiceAccount was deleted. */
struct str auth_author_print(struct auth *auth, struct arena *a, const struct identity *who);
struct identity auth_author_read(struct auth *auth, struct arena *a, struct str text);

/* ---- more ---- */

bool auth_wants_bodies(const struct auth *auth); /* auth_done.body is logged */

/* May this user write this role or binding? See rbac_check_write(). */
int auth_check_write(struct auth *auth, struct arena *a, const struct rbac_write *write, struct err *e);

/* Reviews by kind (review.h): ERR_NOT_FOUND: it is none. And serviceaccounts/NAME/token. */
struct auth_review {
    const struct auth_caller *caller;
    struct str kind, namespace; /* of the request */
    const struct json *object;
};
int auth_review(struct auth *auth, struct arena *a, const struct auth_review *rq, struct json **ret, struct err *e);
/* accounts_request() now: 'now_ms' is not used. */
int auth_token_request(struct auth *auth, struct arena *a, const struct account_request *rq, struct json **ret,
                       struct err *e);

/* Lines for /metrics, appended. */
void auth_metrics(const struct auth *auth, struct buf *out);

struct rbac *auth_rbac(struct auth *auth);
const struct accounts *auth_accounts(const struct auth *auth);

#endif
