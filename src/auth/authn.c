/* authn.c - authentication */
#include "auth/authn.h"

#include "auth/account.h"
#include "pki/jwt.h"
#include "auth/runas.h"
#include "auth/users.h"
#include "base/log.h"
#include "base/util.h"
#include "http/request.h"

#include <arpa/inet.h>

#define WEBSOCKET_TOKEN "base64url.bearer.authorization.k8s.io."

enum { TOKEN_MAX = JWT_MAX };

/* ---- where a token may stand ---- */

enum authn_shown { SHOWN_NONE, SHOWN_ONE, SHOWN_BAD };

/* RFC 6750: one blank or more after the word, whose case does not count. Blanks inside are invalid. */
static enum authn_shown token_of_header(struct str header, struct str *ret)
{
    struct str word = STR("Bearer"), token;

    if (!str_eq_nocase(str_sub(header, 0, word.n), word) || header.n <= word.n || header.p[word.n] != ' ')
        return SHOWN_BAD; /* Basic and other schemes are not supported */
    token = str_trim(str_from(header, word.n));
    if (!token.n || token.n > TOKEN_MAX || str_has_char(token, ' ') || str_has_char(token, ','))
        return SHOWN_BAD;
    *ret = token;
    return SHOWN_ONE;
}

static enum authn_shown token_of_websocket(struct arena *a, struct str header, struct str *ret)
{
    enum authn_shown shown = SHOWN_NONE;
    struct str part, prefix = STR(WEBSOCKET_TOKEN);
    autobuf token = { 0 };

    while (str_split(&header, ',', &part)) {
        part = str_trim(part);
        if (!str_starts(part, prefix))
            continue;
        if (shown != SHOWN_NONE || part.n > 2 * TOKEN_MAX || base64url_parse(str_from(part, prefix.n), &token) < 0 ||
            !token.n)
            return SHOWN_BAD;
        *ret = arena_str(a, buf_view(&token));
        shown = SHOWN_ONE;
    }
    return shown;
}

/* Two are refused: a proxy in between might have checked the other. */
static enum authn_shown find_token(struct arena *a, struct str fields, struct str *ret)
{
    enum authn_shown shown = SHOWN_NONE, one;
    struct str value;
    size_t at = 0;

    while (http_fields_next(fields, STR("Authorization"), &at, &value)) {
        if (shown != SHOWN_NONE || token_of_header(value, ret) != SHOWN_ONE)
            return SHOWN_BAD;
        shown = SHOWN_ONE;
    }
    at = 0;
    while (http_fields_next(fields, STR("Sec-WebSocket-Protocol"), &at, &value)) {
        one = token_of_websocket(a, value, ret);
        if (one == SHOWN_BAD || (one == SHOWN_ONE && shown != SHOWN_NONE))
            return SHOWN_BAD;
        shown = one == SHOWN_ONE ? SHOWN_ONE : shown;
    }
    return shown;
}

struct str authn_token(struct arena *a, struct str fields)
{
    struct str token = STR_NULL;

    return find_token(a, fields, &token) == SHOWN_ONE ? token : STR_NULL;
}

struct str authn_websocket_protocols(struct arena *a, struct str header)
{
    autobuf rest = { 0 };
    struct str part;

    while (str_split(&header, ',', &part)) {
        part = str_trim(part);
        if (!str_starts(part, STR(WEBSOCKET_TOKEN)))
            buf_fmt(&rest, "%s%.*s", rest.n ? ", " : "", STR_ARG(part));
    }
    return arena_str(a, buf_view(&rest));
}

/* ---- identities ---- */

static bool by_certificate(const struct authn *n, struct arena *a, const struct http_peer *peer, int64_t now_ms,
                           struct identity *ret)
{
    const struct user *user = n->users && now_ms < peer->certificate_end_ms
                                  ? users_by_certificate(n->users, peer->common_name, peer->organizations,
                                                         peer->n_organizations)
                                  : NULL;

    if (!user)
        return false;
    *ret = user_identity(a, user);
    ret->end_ms = peer->certificate_end_ms;
    return true;
}

static bool by_token(const struct authn *n, struct arena *a, struct str token, int64_t now_ms, struct identity *ret)
{
    const struct user *user = n->users ? users_by_token(n->users, token, now_ms) : NULL;

    if (user) {
        *ret = user_identity(a, user);
        ret->end_ms = users_token_end(user, token);
        return true;
    }
    return n->accounts && jwt_looks_like(token) &&
           accounts_identify(n->accounts, a, &(struct account_token){ token, now_ms }, ret, NULL);
}

/* The owner of the server has its keys anyway. Others are users of their own, with the permissions of their roles. */
static bool by_unix_uid(const struct authn *n, struct arena *a, const struct http_peer *peer, struct identity *ret)
{
    struct str masters = STR(GROUP_MASTERS);
    const struct user *user;

    if (peer->uid < 0 || peer->port)
        return false;
    user = n->users ? users_by_unix_uid(n->users, peer->uid) : NULL;
    if (user)
        *ret = user_identity(a, user);
    else if (n->owner_uid >= 0 && (peer->uid == 0 || peer->uid == n->owner_uid))
        *ret = identity_make(a, arena_fmt(a, "unix:%d", peer->uid), &masters, 1, STR(GROUP_AUTHENTICATED));
    else
        *ret = identity_make(a, arena_fmt(a, "unix:%d", peer->uid), NULL, 0, STR(GROUP_AUTHENTICATED));
    if (!user)
        identity_add_extra(a, ret, RUNAS_UID_EXTRA, arena_fmt(a, "%d", peer->uid));
    return true;
}

int authn_identify(const struct authn *n, struct arena *a, const struct authn_request *rq, int64_t now_ms,
                   struct identity *ret)
{
    struct str token = STR_NULL;
    enum authn_shown shown = find_token(a, rq->fields, &token);
    bool has_certificate = rq->peer->common_name.n || rq->peer->n_organizations;
    bool has_changed;
    struct err e;

    if (n->users && users_refresh(n->users, &has_changed, &e) < 0 && has_changed) /* said once, not to every guest */
        log_error("Failed to read users; rejecting all of them", LOG_TEXT("error", e.text));
    if (has_certificate && by_certificate(n, a, rq->peer, now_ms, ret))
        return 0;
    if (shown == SHOWN_ONE)
        return by_token(n, a, token, now_ms, ret) ? 0 : 401;
    if (shown == SHOWN_BAD || has_certificate)
        return 401;
    if (by_unix_uid(n, a, rq->peer, ret))
        return 0;
    *ret = identity_anonymous;
    return n->allows_anonymous ? 0 : 401;
}

struct json *authn_unauthorized(struct arena *a)
{
    struct json *status = json_object(a);

    json_set(status, "kind", json_str(a, STR("Status")));
    json_set(status, "apiVersion", json_str(a, STR("v1")));
    json_set(status, "metadata", json_object(a));
    json_set(status, "status", json_str(a, STR("Failure")));
    json_set(status, "message", json_str(a, STR("Unauthorized")));
    json_set(status, "reason", json_str(a, STR("Unauthorized")));
    json_set(status, "code", json_int(a, 401));
    return status;
}

/* ---- the page ---- */

/* The name without its port: "[::1]:80" is "::1". Empty: it is no host. */
static struct str authn_name_of(struct str host)
{
    ptrdiff_t end;
    struct str port;

    if (host.n && host.p[0] == '[') {
        end = str_find_char(host, ']');
        port = end < 0 ? STR(":") : str_from(host, (size_t)end + 1);
        host = end < 0 ? STR_NULL : str_sub(host, 1, (size_t)end - 1);
    } else {
        end = str_find_char(host, ':');
        port = end < 0 ? STR_NULL : str_from(host, (size_t)end);
        host = end < 0 ? host : str_sub(host, 0, (size_t)end);
    }
    if (port.n) {
        uint64_t number;

        if (port.p[0] != ':' || str_to_u64(str_from(port, 1), &number) < 0 || number > 65535)
            return STR_NULL;
    }
    return host;
}

/* Some browsers take the address that is none (0.0.0.0, ::) for this machine: no client of ours means that. */
static bool authn_is_address(struct str name)
{
    static const unsigned char none[sizeof(struct in6_addr)];
    unsigned char bytes[sizeof(struct in6_addr)] = { 0 };
    char text[INET6_ADDRSTRLEN];

    if (!name.n || name.n >= sizeof(text))
        return false;
    memcpy(text, name.p, name.n);
    text[name.n] = '\0';
    return (inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1) &&
           memcmp(bytes, none, sizeof(none)) != 0;
}

bool authn_host_is_ours(struct str host, const char *const *names)
{
    struct str name = authn_name_of(host);

    if (authn_is_address(name))
        return true;
    if (name.n && name.p[name.n - 1] == '.') /* "localhost." */
        name.n--;
    for (; name.n && *names; names++)
        if (str_eq_nocase(name, str_of(*names)))
            return true;
    return false;
}

bool authn_origin_is_ours(struct str origin, struct str host)
{
    struct str https = STR("https://"), http = STR("http://");

    if (!origin.n)
        return true;
    origin = str_starts(origin, https)  ? str_from(origin, https.n)
             : str_starts(origin, http) ? str_from(origin, http.n)
                                        : STR_NULL;
    return origin.n && str_eq_nocase(origin, host);
}

static bool is_fetched_elsewhere(const struct http_call *call)
{
    struct str site = http_call_header(call, "Sec-Fetch-Site");
    bool is_link = str_is(call->method, "GET") && str_is(http_call_header(call, "Sec-Fetch-Mode"), "navigate");

    return (str_is(site, "cross-site") || str_is(site, "same-site")) && !is_link;
}

int authn_check_site(struct arena *a, const struct http_call *call, const char *const *names, struct str *ret_why)
{
    struct str host = http_call_header(call, "Host"), origin = http_call_header(call, "Origin");
    /* No foreign page can send this header: a browser would ask us first (CORS), and we allow nothing. A client that
     * sends it acts by this header, and not by what a browser adds. */
    bool has_token = str_starts(http_call_header(call, "Authorization"), STR("Bearer "));

    if (!authn_host_is_ours(host, names))
        *ret_why = arena_fmt(a, "Host \"%.*s\" is not a name of this server; use its address or one of its names",
                             STR_ARG(str_cut(host, 100)));
    else if (!authn_origin_is_ours(origin, host) && !has_token)
        *ret_why = arena_fmt(a, "a page of \"%.*s\" may not act here", STR_ARG(str_cut(origin, 100)));
    else if (is_fetched_elsewhere(call))
        *ret_why = STR("a page of another site may not act here");
    else
        return 0;
    return 403;
}
