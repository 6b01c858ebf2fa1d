/* target.c - the server of a client: from options to address, TLS and proxy */
#include "http/client_internal.h"

#include "base/util.h"

#include <sys/un.h>

/* As in a URL. */
static int check_server_name(struct str name, struct err *e)
{
    for (size_t i = 0; i < name.n; i++)
        if (!strchr("-.:[]_", name.p[i]) && !((name.p[i] | 0x20) >= 'a' && (name.p[i] | 0x20) <= 'z') &&
            !(name.p[i] >= '0' && name.p[i] <= '9'))
            return err_set(e, ERR_INVALID, "the server name \"%.*s\" must be a host name or an address", STR_ARG(name));
    return 0;
}

static const struct str unix_prefix = STR_INIT("unix:");

static int set_socket(struct http_client *c, struct str text, struct err *e)
{
    struct str path = str_from(text, unix_prefix.n);

    if (!str_starts(path, STR("/")) || path.n >= sizeof(((struct sockaddr_un *)0)->sun_path))
        return err_set(e, ERR_INVALID, "\"%.*s\" must be unix:/PATH of at most %zu bytes", STR_ARG(text),
                       sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
    c->socket = url_own(path);
    return url_parse(STR("http://localhost"), &c->server, e); /* a request names some host */
}

static int set_url(struct http_client *c, struct str text, struct err *e)
{
    if (str_starts(text, unix_prefix))
        return set_socket(c, text, e);
    if (url_parse(text, &c->server, e) < 0)
        return -1;
    c->is_tls = strcmp(c->server.scheme, "https") == 0;
    if (!c->is_tls && strcmp(c->server.scheme, "http") != 0)
        return err_set(e, ERR_INVALID, "\"%.*s\" must begin with https:// or http://", STR_ARG(text));
    if (c->server.user || c->server.has_query)
        return err_set(e, ERR_INVALID, "\"%.*s\" must have no user and no query", STR_ARG(text));
    return 0;
}

static int set_proxy(struct http_client *c, struct str text, struct err *e)
{
    static const char *const schemes[] = { "http", "https", "socks5", "socks5h" };
    const char *named = text.n || c->socket ? NULL : url_proxy_of_environment(&c->server);
    autobuf whole = { 0 };

    if (!text.n && !named)
        return 0;
    if (named && !strstr(named, "://")) /* as people write it there */
        buf_str(&whole, STR("http://"));
    buf_str(&whole, named ? str_of(named) : text);
    if (url_parse(buf_view(&whole), &c->proxy, e) < 0)
        return err_wrap(e, "the proxy");
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (strcmp(c->proxy.scheme, schemes[i]) == 0)
            return 0;
    return err_set(e, ERR_INVALID, "the proxy \"%.*s\" must begin with http://, https:// or socks5://",
                   STR_ARG(buf_view(&whole)));
}

/* The prefix of every request line. A proxy for plain HTTP gets the whole URL. */
static void set_texts(struct http_client *c, const struct http_options *opt)
{
    autobuf shown = { 0 }, prefix = { 0 };
    bool is_http_proxy = c->proxy.host && !str_starts(str_of(c->proxy.scheme), STR("socks"));

    c->is_tunnel = c->proxy.host && (c->is_tls || !is_http_proxy);
    buf_fmt(&shown, c->socket ? "unix:%s" : "%s://", c->socket ? c->socket : c->server.scheme);
    if (!c->socket)
        url_print_host(&shown, &c->server);
    c->shown = url_own(buf_view(&shown));
    if (is_http_proxy && !c->is_tunnel)
        buf_str(&prefix, buf_view(&shown));
    buf_str(&prefix, str_of(c->server.path));
    c->prefix = strndup(prefix.p ? prefix.p : "", prefix.n);
    c->name = opt->tls.server_name.n ? url_own(opt->tls.server_name) : strdup(c->server.host);
    c->user_agent = url_own(opt->user_agent.n ? opt->user_agent : STR("pumice"));
    buf_str(&c->fields, STR("Host: "));
    url_print_host(&c->fields, &c->server);
    buf_fmt(&c->fields, "\r\nUser-Agent: %s\r\n", c->user_agent);
    if (is_http_proxy && !c->is_tunnel && c->proxy.user) {
        buf_str(&c->fields, STR("Proxy-Authorization: Basic "));
        buf_base64(&c->fields, str_of(c->proxy.user));
        buf_str(&c->fields, STR("\r\n"));
    }
}

static int set_tls(struct http_client *c, const struct http_tls *tls, struct err *e)
{
    bool has_cert = tls->cert_file.n || tls->cert_pem.n, has_key = tls->key_file.n || tls->key_pem.n;

    if (has_cert && !has_key)
        return err_set(e, ERR_INVALID, "a client certificate needs its key");
    if (has_key && !has_cert)
        return err_set(e, ERR_INVALID, "a client key needs its certificate");
    c->ca_file = url_own(tls->ca_file);
    c->cert_file = url_own(tls->cert_file);
    c->key_file = url_own(tls->key_file);
    buf_str(&c->ca_pem, tls->ca_pem);
    buf_str(&c->cert_pem, tls->cert_pem);
    buf_str(&c->key_pem, tls->key_pem);
    c->is_insecure = tls->is_insecure;
    return 0;
}

int target_set(struct http_client *c, const struct http_options *opt, struct err *e)
{
    if (set_url(c, opt->url, e) < 0 || check_server_name(opt->tls.server_name, e) < 0 ||
        (!opt->open_socket && set_proxy(c, opt->proxy, e) < 0) || set_tls(c, &opt->tls, e) < 0)
        return -1;
    set_texts(c, opt);
    return 0;
}

void target_done(struct http_client *c)
{
    url_done(&c->server);
    url_done(&c->proxy);
    free(c->socket);
    free(c->shown);
    free(c->prefix);
    free(c->name);
    free(c->user_agent);
    free(c->ca_file);
    free(c->cert_file);
    free(c->key_file);
    buf_done(&c->fields);
    buf_done(&c->ca_pem);
    buf_done(&c->cert_pem);
    buf_done(&c->key_pem);
    buf_done(&c->piece);
}
