/* url.c - the parts of a URL, and which proxy the environment names */
#include "http/client_internal.h"

#include "base/util.h"

#include <arpa/inet.h>

char *url_own(struct str s)
{
    return s.n ? strndup(s.p, s.n) : NULL;
}

void url_done(struct url *u)
{
    free(u->scheme);
    free(u->host);
    free(u->port);
    free(u->path);
    free(u->user);
    *u = (struct url){ 0 };
}

void url_print_host(struct buf *out, const struct url *u)
{
    bool is_v6 = strchr(u->host, ':');

    buf_fmt(out, "%s%s%s:%s", is_v6 ? "[" : "", u->host, is_v6 ? "]" : "", u->port);
}

static const struct {
    const char *scheme, *port;
} ports[] = { { "https", "443" }, { "http", "80" }, { "socks5", "1080" }, { "socks5h", "1080" } };

static const char *default_port(const char *scheme)
{
    for (size_t i = 0; i < ARRAY_LEN(ports); i++)
        if (strcmp(ports[i].scheme, scheme) == 0)
            return ports[i].port;
    return "0";
}

static bool is_host(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!strchr("-.:_%", s.p[i]) && !((s.p[i] | 0x20) >= 'a' && (s.p[i] | 0x20) <= 'z') &&
            !(s.p[i] >= '0' && s.p[i] <= '9'))
            return false;
    return s.n > 0;
}

/* "name:6443", "[::1]:6443", "10.0.0.1" */
static int take_host(struct str text, struct url *u)
{
    struct str host = text, port = STR_NULL;
    bool is_v6 = str_starts(text, STR("["));
    ptrdiff_t end = is_v6 ? str_find_char(text, ']') : str_find_char(text, ':');
    uint64_t number;

    if (is_v6 && end < 0)
        return -1;
    if (is_v6) {
        host = str_sub(text, 1, (size_t)end - 1);
        port = str_from(text, (size_t)end + 1);
    } else if (end >= 0) {
        host = str_sub(text, 0, (size_t)end);
        port = str_from(text, (size_t)end);
    }
    if (!is_host(host) || (port.n && port.p[0] != ':'))
        return -1;
    port = str_from(port, port.n ? 1 : 0);
    if (port.n && (str_to_u64(port, &number) < 0 || !number || number > 65535))
        return -1;
    u->host = url_own(host);
    u->port = port.n ? url_own(port) : strdup(default_port(u->scheme));
    return 0;
}

static int http_url_parse(struct str text, struct url *u)
{
    ptrdiff_t colon = str_find_char(text, ':'), at;
    struct str rest, authority;
    size_t n;

    if (colon <= 0 || !str_starts(str_from(text, (size_t)colon), STR("://")))
        return -1;
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] <= ' ')
            return -1;
    u->scheme = url_own(str_sub(text, 0, (size_t)colon));
    rest = str_from(text, (size_t)colon + 3);
    for (n = 0; n < rest.n && !strchr("/?#", rest.p[n]);)
        n++;
    authority = str_sub(rest, 0, n);
    rest = str_from(rest, n);
    at = str_rfind_char(authority, '@');
    if (at >= 0)
        u->user = strndup(authority.p, (size_t)at);
    if (take_host(str_from(authority, (size_t)(at + 1)), u) < 0)
        return -1;
    for (n = 0; n < rest.n && !strchr("?#", rest.p[n]);)
        n++;
    u->has_query = n < rest.n;
    rest.n = n;
    while (str_ends(rest, STR("/")))
        rest.n--;
    u->path = strndup(rest.p ? rest.p : "", rest.n);
    return 0;
}

int url_parse(struct str text, struct url *ret, struct err *e)
{
    struct url u = { 0 };

    if (http_url_parse(text, &u) < 0) {
        url_done(&u);
        return err_set(e, ERR_INVALID, "\"%.*s\" is not a URL; it must look like https://host:6443", STR_ARG(text));
    }
    *ret = u;
    return 0;
}

/* ---- the environment ---- */

static const char *variable(const char *lower, const char *upper)
{
    const char *value = getenv(lower);

    if (!value || !*value)
        value = upper ? getenv(upper) : NULL;
    return value && *value ? value : NULL;
}

static int url_address_of(const char *text, unsigned char *out)
{
    return inet_pton(AF_INET, text, out) == 1 ? 4 : inet_pton(AF_INET6, text, out) == 1 ? 16 : 0;
}

/* Is the address in "10.0.0.0/8"? */
static bool is_in_net(const char *host, struct str net)
{
    unsigned char a[16], b[16];
    struct str text;
    uint64_t bits;
    autofree char *z = NULL;
    int n = url_address_of(host, a);

    if (!n || !str_split(&net, '/', &text) || str_to_u64(net, &bits) < 0)
        return false;
    z = url_own(text);
    if (!z || url_address_of(z, b) != n || bits > (uint64_t)n * 8)
        return false;
    for (uint64_t i = 0; i < bits; i++)
        if ((a[i / 8] ^ b[i / 8]) & (0x80 >> (i % 8)))
            return false;
    return true;
}

/* "example.org" and ".example.org" stand for all names below as well. */
static bool is_excepted(const char *host, struct str rule)
{
    struct str name = str_of(host), end;

    if (str_is(rule, "*") || is_in_net(host, rule))
        return true;
    if (str_starts(rule, STR(".")))
        rule = str_from(rule, 1);
    if (!rule.n || name.n < rule.n)
        return false;
    end = str_from(name, name.n - rule.n);
    return str_eq_nocase(end, rule) && (name.n == rule.n || name.p[name.n - rule.n - 1] == '.');
}

const char *url_proxy_of_environment(const struct url *server)
{
    bool is_tls = strcmp(server->scheme, "https") == 0;
    /* HTTP_PROXY in capitals is what a web server would make of a header "Proxy:". */
    const char *proxy = is_tls ? variable("https_proxy", "HTTPS_PROXY") : variable("http_proxy", NULL);
    const char *except = variable("no_proxy", "NO_PROXY");
    struct str rest = str_of(except ? except : ""), rule, host = str_of(server->host);
    bool is_loopback = str_is(host, "localhost") || str_starts(host, STR("127.")) || str_is(host, "::1");

    if (!proxy)
        proxy = variable("all_proxy", "ALL_PROXY");
    if (!proxy || is_loopback)
        return NULL;
    while (str_split(&rest, ',', &rule))
        if (is_excepted(server->host, str_trim(rule)))
            return NULL;
    return proxy;
}
