/* url.c - from a URL and the name in the server's certificate to what libcurl is told */
#include "http/client_internal.h"

#include "base/util.h"

char *url_own(struct str s)
{
    return s.n ? strndup(s.p, s.n) : NULL;
}

struct url { /* pieces, owned by libcurl */
    CURLU *handle;
    char *scheme, *host, *port, *path;
};

static void url_done(struct url *u)
{
    curl.free(u->scheme);
    curl.free(u->host);
    curl.free(u->port);
    curl.free(u->path);
    curl.url_cleanup(u->handle);
}

static int url_parse(const char *text, struct url *u, struct err *e)
{
    CURLUcode code = curl.url_set(u->handle, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME);
    char *user = NULL, *query = NULL;
    bool has_extra;

    if (code != CURLUE_OK)
        return err_set(e, ERR_INVALID, "\"%s\" is no URL (%s); it should look like https://host:6443", text,
                       curl.url_strerror(code));
    (void)curl.url_get(u->handle, CURLUPART_SCHEME, &u->scheme, 0); /* a URL has all four */
    (void)curl.url_get(u->handle, CURLUPART_HOST, &u->host, 0);
    (void)curl.url_get(u->handle, CURLUPART_PATH, &u->path, 0);
    if (!u->scheme || (strcmp(u->scheme, "https") != 0 && strcmp(u->scheme, "http") != 0))
        return err_set(e, ERR_INVALID, "\"%s\" must begin with https:// or http://", text);
    (void)curl.url_get(u->handle, CURLUPART_PORT, &u->port, CURLU_DEFAULT_PORT);
    (void)curl.url_get(u->handle, CURLUPART_USER, &user, 0);
    (void)curl.url_get(u->handle, CURLUPART_QUERY, &query, 0);
    has_extra = user || query;
    curl.free(user);
    curl.free(query);
    if (has_extra)
        return err_set(e, ERR_INVALID, "\"%s\" must have no user and no query", text);
    return 0;
}

/* It becomes part of a URL. */
static int check_server_name(struct str name, struct err *e)
{
    for (size_t i = 0; i < name.n; i++)
        if (!strchr("-.:[]_", name.p[i]) && !((name.p[i] | 0x20) >= 'a' && (name.p[i] | 0x20) <= 'z') &&
            !(name.p[i] >= '0' && name.p[i] <= '9'))
            return err_set(e, ERR_INVALID, "the server name \"%.*s\" must be a host name or an address", STR_ARG(name));
    return 0;
}

/* The machine itself: nobody else can be asked to reach it. */
static bool is_loopback(struct str host)
{
    return str_is(host, "localhost") || str_starts(host, STR("127.")) || str_is(host, "[::1]");
}

static void client_set_url(struct http_client *c, const struct url *u, struct str server_name)
{
    struct str path = str_of(u->path);
    autobuf text = { 0 };
    const char *host = u->host;
    autofree char *name = url_own(server_name);

    while (str_ends(path, STR("/")))
        path.n--;
    buf_fmt(&text, "%s://%s:%s", u->scheme, host, u->port);
    c->shown = url_own(buf_view(&text));
    c->is_local = is_loopback(str_of(host));
    if (name && strcmp(u->scheme, "https") == 0 && strcmp(name, host) != 0) {
        buf_reset(&text);
        buf_fmt(&text, "%s:%s:%s:%s", name, u->port, host, u->port);
        c->connect = curl.slist_append(NULL, text.p);
        buf_reset(&text);
        buf_fmt(&text, "%s:%s", host, u->port);
        c->host = url_own(buf_view(&text));
        host = name;
    }
    buf_reset(&text);
    buf_fmt(&text, "%s://%s:%s%.*s", u->scheme, host, u->port, STR_ARG(path));
    c->base = url_own(buf_view(&text));
}

int url_take(struct http_client *c, struct str text, struct str server_name, struct err *e)
{
    struct url u = { .handle = curl.url() };
    autofree char *z = url_own(text);
    int rc = url_parse(z ? z : "", &u, e);

    if (rc == 0)
        rc = check_server_name(server_name, e);
    if (rc == 0)
        client_set_url(c, &u, server_name);
    url_done(&u);
    return rc;
}
