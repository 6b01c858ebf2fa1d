/* auth.c - authentication, authorization, limits and audit of a request */
#include "auth/auth_internal.h"

#include "pki/authority.h"
#include "pki/secret_file.h"
#include "auth/users.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "store/store.h"

#include <openssl/crypto.h>

enum { TURN_MS = HOLDS_LOOK_MS, IDLE_MS = 60000, RENEW_MS = 3600 * 1000 };

static const struct str admin_groups[] = { STR_INIT(GROUP_MASTERS), STR_INIT(GROUP_AUTHENTICATED) };
static const struct identity admin = { .user = STR_INIT("kubernetes-admin"), .groups = admin_groups, .n_groups = 2 };

/* ---- users ---- */

/* Said when it begins, not each time. */
static void auth_note(struct auth *auth, int result, const char *what, const struct err *e)
{
    if (result < 0 && !auth->has_failed)
        log_error("Failed to refresh access control; retrying", LOG_TEXT("step", what), LOG_TEXT("error", e->text));
    auth->has_failed |= result < 0;
}

/* Users may have come or gone; their bindings follow. */
static void sync_users(struct auth *auth)
{
    struct err e;
    int r = users_refresh(auth->users, NULL, &e);

    auth_note(auth, r, "read users", &e);
    if (r < 0 || auth->synced == users_generation(auth->users))
        return;
    r = users_sync(auth->users, auth->store, &e);
    auth_note(auth, r, "sync bindings of users", &e);
    auth->synced = r < 0 ? 0 : users_generation(auth->users);
}

/* Keys may have been rotated by a command beside us. */
static void refresh_keys(struct auth *auth)
{
    bool has_ca, has_accounts, has_token;
    struct err e;

    auth_note(auth, authority_refresh(auth->authority, clock_now_ms(auth->clock), &has_ca, &e), "read the CA", &e);
    auth_note(auth, accounts_refresh(auth->accounts, &has_accounts, &e), "read the keys of accounts", &e);
    auth_note(auth, admin_token_refresh(&auth->admin_token, &has_token, &e), "read the administrator's token", &e);
    auth->has_fresh_keys |= has_ca || has_accounts || has_token;
}

/* Roles that are made of others show what they are made of. */
static void fill_roles(struct auth *auth)
{
    struct err e;

    auth_note(auth, rbac_turn(auth->rbac, &e), "follow roles", &e);
    if (auth->filled == rbac_changes(auth->rbac))
        return;
    auth->filled = rbac_changes(auth->rbac);
    auth_note(auth, rbac_fill(auth->rbac, &e), "fill aggregated roles", &e);
}

/* ---- opening ---- */

static void take_tls(struct auth *auth)
{
    auth->tls = (struct http_server_tls){ .cert = authority_server_cert(auth->authority),
                                          .key = authority_server_key(auth->authority),
                                          .client_ca = authority_ca(auth->authority) };
}

static int auth_open_parts(struct auth *auth, const struct auth_options *opt, struct err *e)
{
    struct authority_options authority = { .names = opt->names, .now_ms = clock_now_ms(auth->clock) };
    struct accounts_options accounts = { .store = opt->store };

    if (secret_dir_open(opt->dir, &auth->dir, e) < 0)
        return -1;
    authority.dir = accounts.dir = auth->dir;
    if (authority_open(&authority, &auth->authority, e) < 0 || users_open(auth->dir, &auth->users, e) < 0 ||
        accounts_open(&accounts, &auth->accounts, e) < 0 || admin_token_open(auth->dir, &auth->admin_token, e) < 0)
        return err_wrap(e, "%s", opt->dir);
    if (opt->audit && audit_open(opt->audit, &auth->audit, e) < 0)
        return -1;
    if (rbac_make_defaults(opt->store, e) < 0)
        return err_wrap(e, "roles");
    sync_users(auth);
    if (rbac_follow(auth->rbac, opt->store, e) < 0)
        return -1;
    fill_roles(auth);
    return 0;
}

int auth_open(const struct auth_options *opt, struct auth **ret, struct err *e)
{
    struct auth *auth = xcalloc(1, sizeof(*auth));

    auth->dir = -1;
    auth->store = opt->store;
    auth->clock = opt->clock ? opt->clock : &clock_real;
    list_init(&auth->holds);
    auth->rbac = rbac_new();
    auth->throttle = throttle_new(opt->limits);
    if (auth_open_parts(auth, opt, e) < 0) {
        auth_free(auth);
        return -1;
    }
    auth->authn = (struct authn){ auth->users, auth->accounts, !opt->refuses_anonymous,
                                  opt->refuses_unix_owner ? -1 : (int64_t)geteuid() };
    take_tls(auth);
    *ret = auth;
    return 0;
}

void auth_free(struct auth *auth)
{
    if (!auth)
        return;
    rbac_free(auth->rbac);
    throttle_free(auth->throttle);
    audit_free(auth->audit);
    accounts_free(auth->accounts);
    users_free(auth->users);
    authority_free(auth->authority);
    admin_token_done(&auth->admin_token);
    if (auth->dir >= 0)
        close(auth->dir);
    free(auth);
}

const struct http_server_tls *auth_tls(const struct auth *auth)
{
    return &auth->tls;
}

struct rbac *auth_rbac(struct auth *auth)
{
    return auth->rbac;
}

const struct accounts *auth_accounts(const struct auth *auth)
{
    return auth->accounts;
}

/* ---- turns ---- */

struct str auth_admin_token(const struct auth *auth)
{
    return buf_view(&auth->admin_token.text);
}

int64_t auth_turn(struct auth *auth, bool *ret_changed)
{
    int64_t mono_ms = clock_mono_ms(auth->clock);
    bool had_failed = auth->has_failed;
    struct err e;

    *ret_changed = false;
    auth->has_failed = had_failed && mono_ms < auth->renew_ms;
    sync_users(auth);
    refresh_keys(auth);
    fill_roles(auth);
    if (mono_ms >= auth->renew_ms) {
        auth->renew_ms = mono_ms + RENEW_MS;
        auth_note(auth, authority_turn(auth->authority, clock_now_ms(auth->clock), ret_changed, &e),
                  "renew certificates", &e);
    }
    auth->has_stale_holds |= auth->has_fresh_keys;
    *ret_changed |= auth->has_fresh_keys;
    auth->has_fresh_keys = false;
    if (*ret_changed)
        take_tls(auth);
    if (list_is_empty(&auth->holds))
        return IDLE_MS;
    holds_turn(auth);
    return TURN_MS;
}

void auth_hear(struct auth *auth)
{
    auth->is_hearing = true;
    auth->has_looked = false;
}

void auth_heard(struct auth *auth)
{
    auth->is_hearing = false;
}

void auth_set_limits(struct auth *auth, const struct throttle_limits *limits)
{
    throttle_set_limits(auth->throttle, limits);
}

void auth_set_token_life(struct auth *auth, int64_t max_s)
{
    accounts_set_life(auth->accounts, max_s);
}

void auth_reopen(struct auth *auth)
{
    if (auth->audit)
        audit_reopen(auth->audit);
}

bool auth_wants_bodies(const struct auth *auth)
{
    return auth->audit && audit_has_bodies(auth->audit);
}

/* ---- a request ---- */

static int auth_refuse(struct auth *auth, struct auth_caller *caller, int status, struct str message)
{
    struct str uri = caller->uri, path;
    struct audit_event ev = { .address = caller->address,
                              .agent = caller->agent,
                              .who = caller->real.user.n ? &caller->real : NULL,
                              .status = status,
                              .reason = message,
                              .received_us = caller->received_us };

    auth->unauthorized += status == 401;
    auth->forbidden += status == 403;
    (void)str_split(&uri, '?', &path); /* the query of an unknown client is not kept */
    ev.uri = path;
    if (auth->audit)
        audit_write(auth->audit, &ev);
    caller->refusal.status = status;
    caller->refusal.message = message;
    return status;
}

static int auth_too_many(struct auth *auth, struct arena *a, struct auth_caller *caller, int wait_s)
{
    caller->refusal.retry_after_s = wait_s;
    return auth_refuse(
        auth, caller, 429,
        arena_fmt(a, "Too many requests, please try again in %d second%s", wait_s, wait_s == 1 ? "" : "s"));
}

bool auth_identify(struct auth *auth, struct arena *a, const struct authn_request *rq, struct identity *ret)
{
    if (!admin_token_is(&auth->admin_token, authn_token(a, rq->fields)))
        return authn_identify(&auth->authn, a, rq, clock_now_ms(auth->clock), ret) == 0;
    *ret = admin;
    return true;
}

/* The text of the call goes when it is answered. */
static struct auth_caller caller_new(const struct auth *auth, struct arena *a, const struct http_call *call)
{
    struct auth_caller c = { .received_us = clock_now_us(auth->clock) };

    if (!auth->audit)
        return c;
    c.uri = call->query.n ? arena_fmt(a, "%.*s?%.*s", STR_ARG(call->path), STR_ARG(call->query))
                          : arena_str(a, call->path);
    c.address = arena_str(a, str_of(call->peer->address));
    c.agent = arena_str(a, http_call_header(call, "User-Agent"));
    return c;
}

static bool auth_auth_identify(struct auth *auth, struct arena *a, const struct http_call *call, struct identity *ret)
{
    struct authn_request rq = { call->peer, http_call_fields(call) };

    if (!auth->is_hearing || !auth->has_looked) {
        sync_users(auth);
        refresh_keys(auth);
        auth->has_looked = true;
    }
    return auth_identify(auth, a, &rq, ret);
}

static int check_site(struct auth *auth, struct arena *a, const struct http_call *call, struct auth_caller *caller)
{
    struct str why;

    if (!call->peer->is_tls || !authn_check_site(a, call, authority_names(auth->authority), &why))
        return 0;
    return auth_refuse(auth, caller, 403, why);
}

int auth_check_site(struct auth *auth, struct arena *a, const struct http_call *call, struct auth_refusal *ret)
{
    struct auth_caller caller = caller_new(auth, a, call);
    int status = check_site(auth, a, call, &caller);

    *ret = caller.refusal;
    return status;
}

int auth_call_begin(struct auth *auth, struct arena *a, const struct http_call *call, enum throttle_kind kind,
                    struct auth_caller *ret)
{
    struct str address = str_of(call->peer->address);
    int64_t mono_ms = clock_mono_ms(auth->clock);
    int wait_s = throttle_guesses(auth->throttle, address, mono_ms), impersonated;
    struct err e;

    *ret = caller_new(auth, a, call);
    if (wait_s)
        return auth_too_many(auth, a, ret, wait_s);
    if (check_site(auth, a, call, ret))
        return ret->refusal.status;
    if (!auth_auth_identify(auth, a, call, &ret->real)) {
        throttle_failed(auth->throttle, address, mono_ms);
        return auth_refuse(auth, ret, 401, STR("Unauthorized"));
    }
    auth_note(auth, rbac_turn(auth->rbac, &e), "follow roles", &e);
    ret->who = ret->real;
    impersonated = authn_impersonate(auth->rbac, a, http_call_fields(call), &ret->who, &e);
    if (impersonated < 0)
        return auth_refuse(auth, ret, e.code == ERR_FORBIDDEN ? 403 : 400, arena_str(a, str_of(e.text)));
    ret->is_impersonated = impersonated;
    ret->ticket.kind = kind;
    wait_s = throttle_begin(auth->throttle, &ret->real, address, mono_ms, &ret->ticket);
    return wait_s ? auth_too_many(auth, a, ret, wait_s) : 0;
}

bool auth_may_send(struct auth *auth, struct arena *a, const struct http_call *call, const struct rbac_question *q,
                   struct identity *ret_real)
{
    struct identity who;
    struct err e;

    if (throttle_guesses(auth->throttle, str_of(call->peer->address), clock_mono_ms(auth->clock)) ||
        !auth_auth_identify(auth, a, call, ret_real))
        return false;
    auth_note(auth, rbac_turn(auth->rbac, &e), "follow roles", &e);
    who = *ret_real;
    return authn_impersonate(auth->rbac, a, http_call_fields(call), &who, &e) >= 0 &&
           rbac_decide(auth->rbac, &who, q).is_allowed;
}

bool auth_allows(struct auth *auth, struct arena *a, struct auth_caller *caller, const struct rbac_question *q,
                 struct str *ret_reason)
{
    struct rbac_verdict v;
    struct err e;

    auth_note(auth, rbac_turn(auth->rbac, &e), "follow roles", &e);
    v = rbac_decide(auth->rbac, &caller->who, q);
    caller->is_allowed = v.is_allowed;
    caller->why = auth->audit || !v.is_allowed ? rbac_reason(auth->rbac, a, &caller->who, q, &v) : STR_NULL;
    auth->forbidden += !v.is_allowed;
    if (ret_reason)
        *ret_reason = caller->why;
    return v.is_allowed;
}

void auth_call_end(struct auth *auth, struct auth_caller *caller, const struct auth_done *done)
{
    struct audit_event ev = { .uri = caller->uri,
                              .address = caller->address,
                              .agent = caller->agent,
                              .who = &caller->real,
                              .impersonated = caller->is_impersonated ? &caller->who : NULL,
                              .question = done->question,
                              .version = done->version,
                              .status = done->status,
                              .reason = done->reason,
                              .is_allowed = caller->is_allowed,
                              .why = caller->why,
                              .body = done->body,
                              .received_us = caller->received_us,
                              .is_started = done->is_started };

    throttle_end(auth->throttle, &caller->ticket);
    if (auth->audit)
        audit_write(auth->audit, &ev);
}

/* ---- more ---- */

int auth_check_write(struct auth *auth, struct arena *a, const struct rbac_write *write, struct err *e)
{
    return rbac_turn(auth->rbac, e) < 0 ? -1 : rbac_check_write(auth->rbac, a, write, e);
}

int auth_review(struct auth *auth, struct arena *a, const struct auth_review *rq, struct json **ret, struct err *e)
{
    struct review_env env = { auth->rbac, &auth->authn, &rq->caller->who, rq->namespace, clock_now_ms(auth->clock) };
    review_f *review = review_for(rq->kind);

    if (!review)
        return err_set(e, ERR_NOT_FOUND, "%.*s is not a review", STR_ARG(rq->kind));
    if (rbac_turn(auth->rbac, e) < 0)
        return -1;
    return review(&env, a, rq->object, ret, e);
}

int auth_token_request(struct auth *auth, struct arena *a, const struct account_request *rq, struct json **ret,
                       struct err *e)
{
    struct account_request now = *rq;

    now.now_ms = clock_now_ms(auth->clock);
    return accounts_request(auth->accounts, a, &now, ret, e);
}

void auth_metrics(const struct auth *auth, struct buf *out)
{
    struct throttle_stats t = throttle_stats(auth->throttle);
    struct audit_stats audit = auth->audit ? audit_stats(auth->audit) : (struct audit_stats){ 0 };
    const struct {
        const char *name, *kind, *help;
        uint64_t value;
    } rows[] = {
        { "pumice_auth_unauthorized_total", "counter", "Requests with invalid credentials", auth->unauthorized },
        { "pumice_auth_forbidden_total", "counter", "Requests that were forbidden", auth->forbidden },
        { "pumice_auth_throttled_total", "counter", "Requests rejected with 429 Too Many Requests", t.refused },
        { "pumice_auth_in_flight", "gauge", "Requests in progress", t.in_flight },
        { "pumice_auth_streams", "gauge", "Open watches and streams", t.streams },
        { "pumice_audit_events_total", "counter", "Events written to the audit log", audit.written },
        { "pumice_audit_lost_total", "counter", "Events lost because the audit log could not be written", audit.lost },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        buf_fmt(out, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", rows[i].name, rows[i].help, rows[i].name, rows[i].kind,
                rows[i].name, (unsigned long long)rows[i].value);
}
