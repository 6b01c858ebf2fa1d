/* format.c - formats of scalar fields, for the schema tables */
#include "api/fields.h"

#include "api/duration.h"
#include "api/name.h"
#include "api/quantity.h"

#include <arpa/inet.h>
#include <time.h>

static struct str format_text_of(const struct json *value)
{
    return (struct str){ value->text, value->n };
}

const char *format_quantity(struct arena *a, const struct json *value)
{
    struct quantity q;
    struct err e;

    if (value->type != JSON_STRING && value->type != JSON_NUMBER)
        return arena_fmt(a, "must be a quantity such as 2, \"500m\" or \"1Gi\", not %s %s",
                         value->type == JSON_OBJECT ? "an" : "a", json_type_name(value->type))
            .p;
    if (quantity_parse(format_text_of(value), &q, &e) < 0)
        return arena_fmt(a, "must be a quantity such as 2, \"500m\" or \"1Gi\": %s", e.text).p;
    return NULL;
}

const char *format_duration(struct arena *a, const struct json *value)
{
    struct err e;
    int64_t ns;

    if (duration_parse(format_text_of(value), &ns, &e) < 0)
        return arena_fmt(a, "must be a duration such as \"90s\" or \"1h30m\": %s", e.text).p;
    return NULL;
}

/* ---- time ---- */

/* Two digits at '*at', up to 'max'; moves on. */
static bool two_digits(struct str s, size_t *at, int max)
{
    const char *p = s.p + *at;

    if (*at + 2 > s.n || p[0] < '0' || p[0] > '9' || p[1] < '0' || p[1] > '9')
        return false;
    *at += 2;
    return (p[0] - '0') * 10 + p[1] - '0' <= max;
}

static bool one_of(struct str s, size_t *at, const char *chars)
{
    if (*at >= s.n || s.p[*at] == '\0' || !strchr(chars, s.p[*at]))
        return false;
    ++*at;
    return true;
}

/* "2024-05-01T10:20:30.123456Z" or with "+02:00". The calendar is not asked: 31 February is for others to refuse. */
static bool is_time(struct str s)
{
    size_t at = 0, fraction;

    if (!two_digits(s, &at, 99) || !two_digits(s, &at, 99) || !one_of(s, &at, "-") || !two_digits(s, &at, 12) ||
        !one_of(s, &at, "-") || !two_digits(s, &at, 31) || !one_of(s, &at, "Tt") || !two_digits(s, &at, 23) ||
        !one_of(s, &at, ":") || !two_digits(s, &at, 59) || !one_of(s, &at, ":") || !two_digits(s, &at, 60))
        return false;
    if (one_of(s, &at, ".")) {
        for (fraction = at; one_of(s, &at, "0123456789");)
            ;
        if (at == fraction)
            return false;
    }
    if (one_of(s, &at, "Zz"))
        return at == s.n;
    return one_of(s, &at, "+-") && two_digits(s, &at, 23) && one_of(s, &at, ":") && two_digits(s, &at, 59) && at == s.n;
}

const char *format_time(struct arena *a, const struct json *value)
{
    (void)a;
    return is_time(format_text_of(value)) ? NULL : "must be a time such as \"2026-01-31T12:00:00Z\" (RFC 3339)";
}

/* ---- names ---- */

/* "" is how a program writes "not set" for an optional name. */
#define FORMAT_NAME(format, name_check)                                                                                \
    const char *format(struct arena *a, const struct json *value)                                                      \
    {                                                                                                                  \
        return value->n ? name_check(a, format_text_of(value)) : NULL;                                                 \
    }

FORMAT_NAME(format_label, name_check_dns_label)
FORMAT_NAME(format_subdomain, name_check_dns_subdomain)
FORMAT_NAME(format_qualified, name_check_qualified)
FORMAT_NAME(format_label_value, name_check_label_value)
FORMAT_NAME(format_env, name_check_env)
FORMAT_NAME(format_config_key, name_check_config_key)
FORMAT_NAME(format_port, name_check_port)

const char *format_port_ref(struct arena *a, const struct json *value)
{
    int64_t port;

    if (value->type == JSON_STRING)
        return name_check_port(a, format_text_of(value));
    if (json_to_i64(value, &port) < 0 || port < 1 || port > 65535)
        return arena_fmt(a, "must be a port number from 1 to 65535, or the name of a port (got %.*s)",
                         (int)MIN_OF(value->n, 40u), value->text)
            .p;
    return NULL;
}

/* ---- others ---- */

const char *format_mount_path(struct arena *a, const struct json *value)
{
    (void)a;
    return str_has_char(format_text_of(value), ':') ? "must not contain ':'" : NULL;
}

const char *format_cidr(struct arena *a, const struct json *value)
{
    struct str rest = format_text_of(value), text;
    unsigned char raw[16];
    const char *address;
    uint64_t bits, most;

    (void)str_split(&rest, '/', &text);
    address = arena_cstr(a, text);
    most = inet_pton(AF_INET, address, raw) == 1 ? 32 : inet_pton(AF_INET6, address, raw) == 1 ? 128 : 0;
    return !most || str_to_u64(rest, &bits) < 0 || bits > most
               ? "must be a range of addresses, such as 10.9.8.0/24 or 2001:db8::/64"
               : NULL;
}

const char *format_percent(struct arena *a, const struct json *value)
{
    struct str s = format_text_of(value);
    uint64_t v;

    (void)a;
    if (value->type == JSON_STRING && str_ends(s, STR("%")))
        s = str_sub(s, 0, s.n - 1);
    else if (value->type == JSON_STRING)
        return "must be a whole number, or a percentage such as \"25%\"";
    return str_to_u64(s, &v) < 0 ? "must be a whole number that is not negative, or a percentage such as \"25%\""
                                 : NULL;
}

/* Line breaks inside are fine: people paste what base64 -w76 prints. */
const char *format_base64(struct arena *a, const struct json *value)
{
    autobuf text = { 0 };
    autobuf out = { 0 };

    (void)a;
    for (size_t i = 0; i < value->n; i++)
        if (value->text[i] != '\n' && value->text[i] != '\r')
            buf_char(&text, value->text[i]);
    return buf_unbase64(&out, buf_view(&text)) < 0 ? "must be base64 (use stringData for plain text)" : NULL;
}

const char *format_arguments(struct arena *a, const struct json *value)
{
    (void)a;
    if (value->type != JSON_ARRAY)
        return "must be a list of arguments such as [\"--port=22\"], or [] for none";
    return NULL; /* the plugin looks at the elements */
}
