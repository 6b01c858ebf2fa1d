/* page.c - /ui: the web page and its endpoints
 *
 * The files say nothing about the cluster and are given to everybody; what they show comes by the API, with the rights of
 * the token that was typed in. No cookie is ever set, so nothing another site makes a browser do carries any right.
 */
#include "server/server_internal.h"

#include "base/codec.h"
#include "ui/ui.h"

#define EXPLAIN "/ui/explain/"

bool page_is_open(struct str path)
{
    return str_is(path, "/ui") || (str_starts(path, STR("/ui/")) && !str_starts(path, STR(EXPLAIN)));
}

/* ---- files ---- */

static int send_file(struct server_request *rq, const struct ui_file *f)
{
    const char *etag = arena_fmt(rq->arena, "ETag: %s", f->etag).p;
    const char *const headers[] = {
        etag,
        "Cache-Control: no-cache",
        "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "X-Content-Type-Options: nosniff",
        "Referrer-Policy: no-referrer",
        "Cross-Origin-Opener-Policy: same-origin",
        NULL,
    };
    bool is_known = str_is(http_call_header(rq->call, "If-None-Match"), f->etag);

    reply_text(rq, is_known ? 304 : 200, f->type, is_known ? STR_NULL : (struct str){ (const char *)f->bytes, f->n },
               headers);
    return 0;
}

static int redirect(struct server_request *rq)
{
    static const char *const headers[] = { "Location: /ui/", NULL };

    reply_text(rq, 308, NULL, STR("the page is at /ui/\n"), headers);
    return 0;
}

/* ---- why a job waits ---- */

/* Whether they may has been asked: page_question(). */
static int page_explain(struct server_request *rq, struct str rest)
{
    autobuf namespace = { 0 }, name = { 0 };
    const struct server_options *opt = &rq->server->opt;
    struct str first;

    if (!str_split(&rest, '/', &first) || !first.n || !rest.n || str_has_char(rest, '/') ||
        percent_parse(first, false, &namespace) < 0 || percent_parse(rest, false, &name) < 0)
        return fail_with(rq, REASON_BAD_REQUEST, "the path must be " EXPLAIN "NAMESPACE/NAME");
    if (!opt->explain)
        return fail_with(rq, REASON_UNAVAILABLE, "this server has no scheduler to ask");
    access_hold(rq);
    rq->is_answered = true;
    opt->explain(opt->ctx, rq->call, buf_view(&namespace), buf_view(&name));
    return 0;
}

bool page_question(struct str path, struct rbac_question *ret)
{
    if (!str_starts(path, STR(EXPLAIN)))
        return false;
    *ret = (struct rbac_question){ .verb = STR("list"), .group = STR("batch.volcano.sh"), .resource = STR("jobs") };
    return true;
}

int handle_ui(struct server_request *rq)
{
    struct str rest = str_starts(rq->call->path, STR("/ui/")) ? str_from(rq->call->path, 4) : STR_NULL;
    struct str ask = STR("explain/");
    const struct ui_file *f;

    if (str_is(rq->call->path, "/ui"))
        return redirect(rq);
    if (str_starts(rest, ask))
        return page_explain(rq, str_from(rest, ask.n));
    f = ui_find(rest);
    return f ? send_file(rq, f) : fail_with(rq, REASON_NOT_FOUND, "no such file");
}

/* A browser at the door is shown in; programs get the list of paths. */
int handle_door(struct server_request *rq)
{
    return str_has(http_call_header(rq->call, "Accept"), STR("text/html")) ? redirect(rq) : handle_root(rq);
}
