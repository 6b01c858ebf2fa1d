/* authn.h - authentication: from a request to an identity, or to 401
 *
 * Credentials are checked in this order; the first valid one counts:
 *
 *     1. the client's certificate, if one of our users has its name and uid and it has not ended
 *     2. a bearer token: Authorization, or the WebSocket protocol that browsers send it by; a user's or an account's
 *     3. the UNIX uid at the other end of a socket
 *     4. none: system:anonymous, where that is allowed
 *
 * An invalid credential is never skipped for 3 or 4: the answer is 401, and it is the same for every reason. Headers
 * in which proxies name users (X-Remote-User …) are ignored. An authenticated client may impersonate another user
 * (Impersonate-User …) if RBAC allows it.
 */
#ifndef AUTH_AUTHN_H
#define AUTH_AUTHN_H

#include "auth/identity.h"
#include "http/server.h"

struct accounts;
struct rbac;
struct users;

struct authn { /* all borrowed; any may be NULL: this method is off */
    struct users *users;
    const struct accounts *accounts;
    bool allows_anonymous;
    int64_t owner_uid; /* of the server: he and root are administrators at a UNIX socket; -1: none is */
};

struct authn_request {
    const struct http_peer *peer;
    struct str fields; /* http_call_fields() */
};

/* 0, or 401. The identity lives in the arena. Users are reloaded if the file has changed (users.h); while
 * that fails, all users are rejected and the reason is logged. */
int authn_identify(const struct authn *n, struct arena *a, const struct authn_request *rq, int64_t now_ms,
                   struct identity *ret);

/* Impersonation. 1: '*who' is now the user that the request asks to be; 0: it does not ask.
 * ERR_FORBIDDEN (403): the sentence is as Kubernetes words it; ERR_INVALID (400): the headers make no sense. */
int authn_impersonate(struct rbac *rbac, struct arena *a, struct str fields, struct identity *who, struct err *e);

/* The one token that a request shows, in a header or as a protocol of a WebSocket. Empty: none, or several. */
struct str authn_token(struct arena *a, struct str fields);

/* The body of a 401; and the protocols of a WebSocket request without the one that carries a token. */
struct json *authn_unauthorized(struct arena *a);
struct str authn_websocket_protocols(struct arena *a, struct str header);

/* ---- the page ---- */

/* Is this Host one that the server is known by? Any address ("127.0.0.1:6443", "[::1]"), or one of 'names', ended by
 * NULL. A foreign page can point its own name at our address and make a browser send us requests (DNS
 * rebinding). The request still has that name, and an address cannot be redirected. */
bool authn_host_is_ours(struct str host, const char *const *names);

/* May the browser's page that sends this act here? Without an Origin it is no page of a browser that can be stopped by
 * it; with one, its host must be the one that is asked ("null" matches none). */
bool authn_origin_is_ours(struct str origin, struct str host);

/* Both, and what a browser says about where a request comes from that has no Origin (Sec-Fetch-Site): 0, or 403 with
 * what is wrong in 'ret_why'. A bearer token in a header makes the Origin as good as any: clients that are no browsers
 * send both. A link elsewhere that opens our page is fine. */
int authn_check_site(struct arena *a, const struct http_call *call, const char *const *names, struct str *ret_why);

#endif
