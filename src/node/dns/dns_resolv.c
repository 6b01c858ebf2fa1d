/* dns_resolv.c - the /etc/resolv.conf of a pod */
#include "node/dns/dns.h"

#include "base/util.h"
#include "json/json.h"

#include <arpa/inet.h>

enum { NAMESERVERS_MAX = 3, SEARCHES_MAX = 32, SEARCH_BYTES_MAX = 2048, OPTIONS_MAX = 64, FIELDS_MAX = 256 };

struct resolv_option {
    struct str name, value;
    bool has_value;
};

struct conf {
    struct arena *a;
    VEC(struct str) nameservers, searches;
    VEC(struct resolv_option) options;
};

/* A word of its line: nothing in it ends the word or begins a comment. */
static bool resolv_is_word(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 127 || s.p[i] == '#' || s.p[i] == ';')
            return false;
    return s.n > 0;
}

/* ---- adding, each thing once, up to the limits ---- */

static bool resolv_is_address(struct str s)
{
    struct in6_addr address;
    char text[INET6_ADDRSTRLEN];
    ptrdiff_t scope = str_find_char(s, '%'); /* fe80::1%eth0 */

    if (!resolv_is_word(s))
        return false;
    if (scope >= 0)
        s.n = (size_t)scope;
    if (s.n >= sizeof(text))
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    return inet_pton(AF_INET6, text, &address) == 1 || (scope < 0 && inet_pton(AF_INET, text, &address) == 1);
}

static void add_nameserver(struct conf *c, struct str s)
{
    VEC_FOREACH(old, &c->nameservers)
        if (str_eq(*old, s))
            return;
    if (c->nameservers.n < NAMESERVERS_MAX && resolv_is_address(s))
        *vec_push(c->a, &c->nameservers) = s;
}

static void add_search(struct conf *c, struct str s)
{
    if (s.n > 1 && str_ends(s, STR("."))) /* "." alone is the root */
        s.n--;
    VEC_FOREACH(old, &c->searches)
        if (str_eq_nocase(*old, s))
            return;
    if (c->searches.n < SEARCHES_MAX && resolv_is_word(s))
        *vec_push(c->a, &c->searches) = s;
}

static void set_option(struct conf *c, struct resolv_option o)
{
    if (!resolv_is_word(o.name) || str_has_char(o.name, ':') || (o.has_value && !resolv_is_word(o.value)))
        return;
    VEC_FOREACH(old, &c->options) {
        if (str_eq(old->name, o.name)) {
            *old = o;
            return;
        }
    }
    if (c->options.n < OPTIONS_MAX)
        *vec_push(c->a, &c->options) = o;
}

static struct resolv_option option_of(struct str word)
{
    ptrdiff_t colon = str_find_char(word, ':');

    if (colon < 0)
        return (struct resolv_option){ .name = word };
    return (struct resolv_option){ str_sub(word, 0, (size_t)colon), str_from(word, (size_t)colon + 1), true };
}

/* ---- the host's file ---- */

static bool resolv_next_word(struct str *line, struct str *ret)
{
    size_t n = 0;

    *line = str_trim(*line);
    while (n < line->n && line->p[n] != ' ' && line->p[n] != '\t')
        n++;
    *ret = str_sub(*line, 0, n);
    *line = str_from(*line, n);
    return n > 0;
}

static void read_line(struct conf *c, struct str line)
{
    struct str key, word;

    if (!resolv_next_word(&line, &key))
        return;
    if (str_is(key, "search"))
        c->searches.n = 0; /* the last such line counts, as in the C library */
    for (size_t i = 0; i < FIELDS_MAX && resolv_next_word(&line, &word); i++) {
        if (str_is(key, "search"))
            add_search(c, word);
        else if (str_is(key, "options"))
            set_option(c, option_of(word));
        else if (str_is(key, "nameserver") && i == 0)
            add_nameserver(c, word);
    }
}

static bool is_loopback(struct str address) /* checked to be one */
{
    return str_starts(address, STR("127.")) || str_eq(address, STR("::1"));
}

/* ---- policies ---- */

static struct str resolv_text_of(struct arena *a, struct in_addr address)
{
    char text[INET_ADDRSTRLEN];

    return arena_str(a, str_of(inet_ntop(AF_INET, &address, text, sizeof(text))));
}

static void make_cluster(struct conf *c, const struct conf *host, struct str namespace, struct str domain,
                         struct in_addr server)
{
    add_nameserver(c, resolv_text_of(c->a, server));
    add_search(c, arena_fmt(c->a, "%.*s.svc.%.*s", STR_ARG(namespace), STR_ARG(domain)));
    add_search(c, arena_fmt(c->a, "svc.%.*s", STR_ARG(domain)));
    add_search(c, domain);
    VEC_FOREACH(search, &host->searches)
        add_search(c, *search);
    set_option(c, option_of(STR("ndots:5")));
}

/* The host's own. A pod with a network of its own does not reach the host's loopback, but 'server' does. */
static void make_default(struct conf *c, const struct conf *host, bool host_network, struct in_addr server)
{
    bool replaces = !host_network && server.s_addr;

    VEC_FOREACH(nameserver, &host->nameservers)
        add_nameserver(c, replaces && is_loopback(*nameserver) ? resolv_text_of(c->a, server) : *nameserver);
    if (replaces && host->nameservers.n == 0) /* the C library would ask 127.0.0.1 */
        add_nameserver(c, resolv_text_of(c->a, server));
    VEC_FOREACH(search, &host->searches)
        add_search(c, *search);
    VEC_FOREACH(option, &host->options)
        set_option(c, *option);
}

static void add_config(struct conf *c, const struct json *config)
{
    JSON_FOREACH(nameserver, json_get(config, "nameservers"))
        add_nameserver(c, json_text(nameserver, STR_NULL));
    JSON_FOREACH(search, json_get(config, "searches"))
        add_search(c, json_text(search, STR_NULL));
    JSON_FOREACH(option, json_get(config, "options")) {
        struct json *value = json_get(option, "value");

        set_option(c, (struct resolv_option){ json_member_text(option, "name"), json_text(value, STR_NULL),
                                              json_is(value, JSON_STRING) && json_text(value, STR_NULL).n > 0 });
    }
}

/* ---- text ---- */

static void print_searches(struct buf *out, const struct conf *c)
{
    size_t bytes = 0, n = 0;

    VEC_FOREACH(search, &c->searches) {
        bytes += search->n + (n > 0);
        if (bytes > SEARCH_BYTES_MAX)
            break;
        buf_fmt(out, n++ ? " %.*s" : "search %.*s", STR_ARG(*search));
    }
    if (n)
        buf_char(out, '\n');
}

static void print_options(struct buf *out, const struct conf *c)
{
    if (c->options.n == 0)
        return;
    buf_str(out, STR("options"));
    VEC_FOREACH(option, &c->options)
        buf_fmt(out, " %.*s%s%.*s", STR_ARG(option->name), option->has_value ? ":" : "", STR_ARG(option->value));
    buf_char(out, '\n');
}

static void resolv_print(struct buf *out, const struct conf *c)
{
    print_searches(out, c);
    VEC_FOREACH(nameserver, &c->nameservers)
        buf_fmt(out, "nameserver %.*s\n", STR_ARG(*nameserver));
    print_options(out, c);
}

void dns_resolv_conf(struct buf *out, const struct json *pod, const char *domain, struct in_addr server,
                     struct str host_conf)
{
    const struct json *spec = json_get(pod, "spec");
    struct str namespace = json_member_text(json_get(pod, "metadata"), "namespace");
    struct str policy = json_member_text(spec, "dnsPolicy");
    bool host_network = json_bool(json_get(spec, "hostNetwork"), false), is_default = str_is(policy, "Default");
    autoarena a = { 0 };
    struct conf c = { .a = &a }, host = { .a = &a };

    for (struct str line; str_split(&host_conf, '\n', &line);)
        read_line(&host, line);
    if (server.s_addr == 0 || (host_network && !str_is(policy, "ClusterFirstWithHostNet")))
        is_default = true;
    if (is_default && !str_is(policy, "None"))
        make_default(&c, &host, host_network, server);
    else if (!str_is(policy, "None"))
        make_cluster(&c, &host, namespace.n ? namespace : STR("default"), str_of(domain), server);
    add_config(&c, json_get(spec, "dnsConfig"));
    resolv_print(out, &c);
}
