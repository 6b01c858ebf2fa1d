/* fetch.c - one GET: sent, redirected, answered */
#include "image/registry_internal.h"

#include "base/util.h"

#include <poll.h>

/* ---- servers ---- */

int url_split(struct str url, struct str *ret_origin, struct str *ret_path)
{
    static const struct str schemes[] = { STR_INIT("https://"), STR_INIT("http://") };

    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        size_t n = schemes[i].n;

        if (!str_starts(url, schemes[i]))
            continue;
        while (n < url.n && !strchr("/?#", url.p[n]))
            n++;
        for (size_t k = 0; k < url.n; k++)
            if ((unsigned char)url.p[k] <= ' ' || url.p[k] == 0x7f)
                return -1;
        *ret_origin = str_sub(url, 0, n);
        *ret_path = str_from(url, n);
        return n > schemes[i].n && !str_has_char(*ret_origin, '@') ? 0 : -1;
    }
    return -1;
}

static int open_origin(struct registry *r, struct str url, struct http_client **ret, struct err *e)
{
    struct http_options opt = { .url = url, .user_agent = STR("pumice"), .connect_ms = r->options->connect_ms };
    struct str host = str_from(url, str_starts(url, STR("https")) ? 8 : 7);

    opt.tls.is_insecure = r->place->is_insecure && str_eq(host, r->place->host);
    place_tls(&r->arena, str_eq(host, r->place->host) ? r->place->known : host, &opt.tls);
    return http_client_new(&opt, ret, e);
}

static int find_origin(struct registry *r, struct str url, struct http_client **ret, struct err *e)
{
    struct origin *o;

    for (size_t i = 0; i < r->n_origins; i++)
        if (str_eq(r->origins[i].url, url)) {
            *ret = r->origins[i].client;
            return 0;
        }
    if (r->n_origins == ORIGINS)
        return err_set(e, ERR_INVALID, "the registry redirects to more than %d servers", ORIGINS);
    o = &r->origins[r->n_origins];
    o->url = arena_str(&r->arena, url);
    if (open_origin(r, o->url, &o->client, e) < 0)
        return -1;
    r->n_origins++;
    *ret = o->client;
    return 0;
}

void registry_turn(struct registry *r, int wait_ms)
{
    struct pollfd fds[ORIGINS];

    for (size_t i = 0; i < r->n_origins; i++)
        fds[i] = (struct pollfd){ http_fd(r->origins[i].client), POLLIN, 0 };
    if (poll(fds, r->n_origins, wait_ms) <= 0)
        return;
    for (size_t i = 0, n = r->n_origins; i < n; i++) /* a callback may add one */
        if (fds[i].revents)
            http_turn(r->origins[i].client);
}

/* ---- one request ---- */

static void send_to(struct fetch *f, struct str url);

static void fetch_end(struct fetch *f, const struct err *e)
{
    f->exchange = NULL;
    f->is_over = true;
    if (e) {
        f->err = *e;
        f->status = 0;
    }
}

/* 'err' was set by the callback. */
static void fetch_stop(struct fetch *f)
{
    struct err why = f->err;

    http_cancel(f->exchange);
    fetch_end(f, &why);
}

static void fetch_on_head(void *ctx, const struct http_answer *a)
{
    struct fetch *f = ctx;
    int64_t seconds;

    f->status = a->status;
    buf_reset(&f->challenge);
    buf_reset(&f->digest);
    buf_reset(&f->location);
    buf_str(&f->challenge, http_header(a, "WWW-Authenticate"));
    buf_str(&f->digest, http_header(a, "Docker-Content-Digest"));
    buf_str(&f->location, http_header(a, "Location"));
    f->retry_after_s = str_to_i64(http_header(a, "Retry-After"), &seconds) == 0 && seconds > 0 ? seconds : 0;
    if (f->on_head && (a->status == 200 || a->status == 206) && !f->on_head(f->ctx, f, a))
        fetch_stop(f);
}

static void fetch_on_data(void *ctx, struct str data)
{
    struct fetch *f = ctx;

    if ((f->status == 200 || f->status == 206) && !f->on_data(f->ctx, f, data))
        fetch_stop(f);
}

/* Relative ones too. Credentials are not sent on, unless it is the same server. */
static void fetch_follow(struct fetch *f)
{
    struct str to = buf_view(&f->location), from_origin, origin, path;
    struct arena *a = &f->registry->arena;
    struct err e;

    (void)url_split(f->url, &from_origin, &path);
    if (to.n && to.p[0] == '/' && !str_starts(to, STR("//")))
        to = arena_fmt(a, "%.*s%.*s", STR_ARG(from_origin), STR_ARG(to));
    if (++f->redirects > REDIRECTS) {
        (void)err_set(&e, ERR_INVALID, "%.*s: more than %d redirects", STR_ARG(from_origin), REDIRECTS);
        fetch_end(f, &e);
    } else if (url_split(to, &origin, &path) < 0) {
        (void)err_set(&e, ERR_INVALID, "%.*s: redirects to an invalid URL", STR_ARG(from_origin));
        fetch_end(f, &e);
    } else if (str_starts(from_origin, STR("https:")) && !str_starts(origin, STR("https:"))) {
        (void)err_set(&e, ERR_FORBIDDEN, "%.*s: redirects from https to %.*s, which is not encrypted",
                      STR_ARG(from_origin), STR_ARG(origin));
        fetch_end(f, &e);
    } else if (f->body.n && !str_eq(origin, from_origin)) { /* what a form says of us cannot be left out of it */
        (void)err_set(&e, ERR_FORBIDDEN, "%.*s: redirects a login to %.*s", STR_ARG(from_origin), STR_ARG(origin));
        fetch_end(f, &e);
    } else {
        if (!str_eq(origin, from_origin))
            f->authorization = STR_NULL;
        send_to(f, arena_str(a, to));
    }
}

static void fetch_on_end(void *ctx, const struct http_answer *a)
{
    struct fetch *f = ctx;
    bool is_redirect = a->status == 301 || a->status == 302 || a->status == 303 || a->status == 307 || a->status == 308;

    f->reached = a->reached;
    f->status = a->status;
    if (a->err.code) {
        fetch_end(f, &a->err);
    } else if (is_redirect) {
        f->exchange = NULL;
        fetch_follow(f);
    } else {
        buf_reset(&f->text);
        buf_str(&f->text, a->body);
        fetch_end(f, NULL);
    }
}

static void send_to(struct fetch *f, struct str url)
{
    autoarena a = { 0 };
    const char *headers[3] = { NULL };
    size_t n = 0;
    struct http_request q = { .method = f->method ? f->method : "GET",
                              .body = f->body,
                              .body_type = f->body.n ? "application/x-www-form-urlencoded" : NULL,
                              .accept = f->accept,
                              .headers = headers,
                              .head_ms = registry_stall_ms(f->registry),
                              .total_ms = f->total_ms,
                              .max_bytes = f->max_bytes,
                              .ctx = f,
                              .on_head = fetch_on_head,
                              .on_data = f->on_data ? fetch_on_data : NULL,
                              .on_end = fetch_on_end };
    struct str origin;
    struct err e;

    f->url = url;
    if (url_split(url, &origin, &q.path) < 0) {
        (void)err_set(&e, ERR_INVALID, "\"%.*s\" is not a URL", STR_ARG(str_cut(url, 200)));
        fetch_end(f, &e);
        return;
    }
    if (find_origin(f->registry, origin, &f->client, &e) < 0) {
        fetch_end(f, &e);
        return;
    }
    if (!q.path.n)
        q.path = STR("/");
    if (f->authorization.n)
        headers[n++] = arena_cstr(&a, f->authorization);
    if (f->from > 0)
        headers[n++] = arena_fmt(&a, "Range: bytes=%lld-", (long long)f->from).p;
    f->exchange = http_send(f->client, &q);
}

void fetch_begin(struct fetch *f)
{
    f->is_over = false;
    f->status = 0;
    f->redirects = 0;
    f->retry_after_s = 0;
    f->reached = HTTP_REACHED;
    send_to(f, f->url);
}

void fetch_done(struct fetch *f)
{
    if (f->exchange)
        http_cancel(f->exchange);
    f->exchange = NULL;
    buf_done(&f->text);
    buf_done(&f->challenge);
    buf_done(&f->digest);
    buf_done(&f->location);
}

int64_t fetch_pause_ms(const struct fetch *f, int64_t own_ms)
{
    if (f->status && f->retry_after_s > PAUSE_MAX_MS / 1000)
        return -1;
    return f->status ? MAX_OF(own_ms, f->retry_after_s * 1000) : own_ms;
}

int64_t registry_stall_ms(const struct registry *r)
{
    return r->options->stall_ms ? r->options->stall_ms : STALL_MS;
}

void fetch_run(struct fetch *f)
{
    fetch_begin(f);
    while (!f->is_over)
        registry_turn(f->registry, 1000);
}
