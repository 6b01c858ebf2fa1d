/* authn.h - who asks: from a request to an identity, or to 401
 *
 * Looked at in this order; the first that is good counts:
 *
 *     1. the client's certificate, if one of our users has its name and uid and it has not ended
 *     2. a bearer token: Authorization, or the WebSocket protocol that browsers send it by; a user's or an account's
 *     3. the UNIX uid at the other end of a socket
 *     4. nobody: system:anonymous, where that is allowed
 *
 * A credential that is shown and no good is never passed over for 3 or 4: the answer is 401, and always the same 401,
 * whatever was wrong with it. Headers in which proxies name users (X-Remote-User …) mean nothing here. Whoever was
 * believed may ask to be somebody else (Impersonate-User …), which is then a matter of RBAC.
 */
#ifndef AUTH_AUTHN_H
#define AUTH_AUTHN_H

#include "auth/identity.h"
#include "http/server.h"

struct accounts;
struct rbac;
struct users;

struct authn { /* all borrowed; any may be NULL: nobody is known by that */
    struct users *users;
    const struct accounts *accounts;
    bool allows_anonymous;
    int64_t owner_uid; /* of the server: he and root are administrators at a UNIX socket; -1: nobody is */
};

struct authn_request {
    const struct http_peer *peer;
    struct str fields; /* http_call_fields() */
};

/* 0, or 401. The identity lives in the arena. Users are read again if they have changed (users.h); when they cannot
 * be, nobody of them is known and the reason is logged. */
int authn_identify(const struct authn *n, struct arena *a, const struct authn_request *rq, int64_t now_ms,
                   struct identity *ret);

/* Does the request ask to be somebody else? '*ret' is that one; '*ret_asks' false: it does not, and '*ret' is 'who'.
 * ERR_FORBIDDEN (403): the sentence is as Kubernetes words it; ERR_INVALID (400): the headers make no sense. */
int authn_impersonate(struct rbac *rbac, struct arena *a, struct str fields, const struct identity *who,
                      struct identity *ret, bool *ret_asks, struct err *e);

/* The one token that a request shows, in a header or as a protocol of a WebSocket. Empty: none, or several. */
struct str authn_token(struct arena *a, struct str fields);

/* The body of a 401; and the protocols of a WebSocket request without the one that carries a token. */
struct json *authn_unauthorized(struct arena *a);
struct str authn_websocket_protocols(struct arena *a, struct str header);

/* ---- the page ---- */

/* Is this Host one that the server is known by? Any address ("127.0.0.1:6443", "[::1]"), or one of 'names', ended by
 * NULL. A page of somebody else's can point its own name at our address and so have a browser ask us (DNS rebinding):
 * the name in the request is still theirs, and nobody can point an address elsewhere. */
bool authn_host_is_ours(struct str host, const char *const *names);

/* May the browser's page that sends this act here? Without an Origin it is no page of a browser that can be stopped by
 * it; with one, its host must be the one that is asked ("null" is nobody). */
bool authn_origin_is_ours(struct str origin, struct str host);

/* Both, and what a browser says about where a request comes from that has no Origin (Sec-Fetch-Site): 0, or 403 with
 * what is wrong in 'ret_why'. A bearer token in a header makes the Origin as good as any: clients that are no browsers
 * send both. A link elsewhere that opens our page is fine. */
int authn_check_site(struct arena *a, const struct http_call *call, const char *const *names, struct str *ret_why);

#endif
