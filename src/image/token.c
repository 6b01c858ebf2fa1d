/* token.c - authentication at a registry: a name and a password, or a token of a token server
 *
 *     401, WWW-Authenticate: Bearer realm="https://auth.example.com/token",service="…",scope="repository:app:pull"
 *     GET realm?service=…&scope=…     with name and password, or without: many images are for everybody
 *     200 {"token": "…"}
 */
#include "image/registry_internal.h"

#include "base/codec.h"
#include "base/util.h"
#include "json/json.h"

enum { TOKEN_BYTES = 1 << 20, TOKEN_MS = 30000 };

static void token_put_field(struct buf *out, const char *name, struct str value)
{
    if (!value.n)
        return;
    buf_fmt(out, "%s%s=", out->n ? "&" : "", name);
    percent_print(out, value, "");
}

static struct str basic_of(struct registry *r)
{
    const struct login *l = &r->place->login;
    autobuf plain = { 0 }, coded = { 0 };

    if (!l->user.n)
        return STR_NULL;
    buf_fmt(&plain, "%.*s:%.*s", STR_ARG(l->user), STR_ARG(l->password));
    buf_base64(&coded, buf_view(&plain));
    return arena_fmt(&r->arena, "Authorization: Basic %.*s", STR_ARG(buf_view(&coded)));
}

/* A password goes nowhere without encryption that the registry itself did not go without. */
static int check_realm(struct registry *r, struct str realm, struct err *e)
{
    struct str origin, path;

    if (url_split(realm, &origin, &path) < 0)
        return err_set(e, ERR_INVALID, "%.*s has token server \"%.*s\", which is not a URL", STR_ARG(r->place->host),
                       STR_ARG(str_cut(realm, 200)));
    if (str_starts(origin, STR("http:")) && !r->place->is_plain)
        return err_set(e, ERR_FORBIDDEN, "%.*s has token server %.*s, which is not encrypted", STR_ARG(r->place->host),
                       STR_ARG(origin));
    return 0;
}

static bool token_is_token(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] <= ' ' || (unsigned char)text.p[i] >= 0x7f)
            return false;
    return text.n > 0;
}

static int take_token(struct registry *r, const struct fetch *f, struct err *e)
{
    autoarena a = { 0 };
    struct str token;
    struct json *j;

    if (f->status != 200)
        return status_error(r, f, "a token", e);
    if (json_parse(&a, buf_view(&f->text), NULL, &j, e) < 0)
        return err_wrap(e, "the token");
    token = json_text(json_get(j, "token"), json_member_text(j, "access_token"));
    if (!token_is_token(token))
        return err_set(e, ERR_INVALID, "%.*s: the answer has no token", STR_ARG(f->url));
    r->authorization = arena_fmt(&r->arena, "Authorization: Bearer %.*s", STR_ARG(token));
    return 0;
}

static int get_bearer(struct registry *r, const struct challenge *c, struct err *e)
{
    const struct login *l = &r->place->login;
    autobuf query = { 0 };
    struct fetch f = { .registry = r, .max_bytes = TOKEN_BYTES, .total_ms = TOKEN_MS };
    struct str scope = c->scope.n
                           ? c->scope
                           : arena_fmt(&r->arena, "repository:%.*s%s%.*s:pull", STR_ARG(str_from(r->place->prefix, 1)),
                                       r->place->prefix.n ? "/" : "", STR_ARG(r->reference->path));
    int rc;

    if (check_realm(r, c->realm, e) < 0)
        return -1;
    token_put_field(&query, "service", c->service);
    token_put_field(&query, "scope", scope);
    if (l->identity.n) {
        token_put_field(&query, "grant_type", STR("refresh_token"));
        token_put_field(&query, "client_id", STR("pumice"));
        token_put_field(&query, "refresh_token", l->identity);
        f.method = "POST";
        f.body = buf_view(&query);
        f.url = c->realm;
    } else {
        token_put_field(&query, "account", l->user);
        f.authorization = basic_of(r);
        f.url = arena_fmt(&r->arena, "%.*s%c%.*s", STR_ARG(c->realm), str_has_char(c->realm, '?') ? '&' : '?',
                          STR_ARG(buf_view(&query)));
    }
    fetch_run(&f);
    rc = take_token(r, &f, e);
    fetch_done(&f);
    return rc;
}

/* A credential helper is run only when the registry requires a login, and once: it may prompt the user. */
static void ask_helper(struct registry *r)
{
    struct registry_place *p = r->place;

    if (p->login.helper.n && !p->login.user.n && !p->login.identity.n && !p->helper_err.code)
        (void)helper_ask(&r->arena, p->known, &p->login, &p->helper_err); /* many images are for everybody */
}

int token_get(struct registry *r, struct str challenge, struct err *e)
{
    struct challenge c;

    ask_helper(r);
    challenge_read(&r->arena, challenge, &c);
    r->authorization = STR_NULL;
    if (c.is_bearer && c.realm.n)
        return get_bearer(r, &c, e);
    if (c.is_basic)
        r->authorization = basic_of(r);
    return r->authorization.n ? 0 : -1;
}
