/* name.c - what Kubernetes allows as a name: one table of rules, one checker
 *
 * Every name is a length limit, an alphabet for the ends and one for the inside. Prefixes and dots
 * between labels are built from it.
 */
#include "api/name.h"

#include "base/buf.h"
#include "base/util.h"

enum { LABEL_MAX = 63, SUBDOMAIN_MAX = 253, PORT_MAX = 15, SHOWN_MAX = 60 };

/* Classes of bytes, as bits. */
enum { LOWER = 1, UPPER = 2, DIGIT = 4, DASH = 8, DOT = 16, UNDERSCORE = 32 };

static unsigned class_of(char c)
{
    if (c >= 'a' && c <= 'z')
        return LOWER;
    if (c >= 'A' && c <= 'Z')
        return UPPER;
    if (c >= '0' && c <= '9')
        return DIGIT;
    return c == '-' ? DASH : c == '.' ? DOT : c == '_' ? UNDERSCORE : 0;
}

struct api_name_rule {
    size_t max;
    unsigned first, inside, last; /* allowed classes */
    const char *allowed;          /* in words, after "must be " */
};

enum { LOWER_OR_DIGIT = LOWER | DIGIT, ALNUM = LOWER | UPPER | DIGIT };

static const struct api_name_rule dns_label = {
    LABEL_MAX,
    LOWER_OR_DIGIT,
    LOWER_OR_DIGIT | DASH,
    LOWER_OR_DIGIT,
    "a DNS label: lower-case letters, digits and '-', beginning and ending with a letter or digit",
};
static const struct api_name_rule dns1035_label = {
    LABEL_MAX,
    LOWER,
    LOWER_OR_DIGIT | DASH,
    LOWER_OR_DIGIT,
    "a DNS-1035 label: lower-case letters, digits and '-', beginning with a letter and ending with a letter or digit",
};
static const struct api_name_rule dns_subdomain = {
    SUBDOMAIN_MAX,
    LOWER_OR_DIGIT,
    LOWER_OR_DIGIT | DASH | DOT,
    LOWER_OR_DIGIT,
    "a DNS subdomain: lower-case letters, digits, '-' and '.', each part between dots beginning and ending with a "
    "letter or digit",
};
static const struct api_name_rule qualified = {
    LABEL_MAX,
    ALNUM,
    ALNUM | DASH | DOT | UNDERSCORE,
    ALNUM,
    "a qualified name: letters, digits, '-', '_' and '.', beginning and ending with a letter or digit, with an "
    "optional "
    "DNS subdomain and '/' in front, such as \"example.com/my-name\"",
};
static const struct api_name_rule label_value = {
    LABEL_MAX,
    ALNUM,
    ALNUM | DASH | DOT | UNDERSCORE,
    ALNUM,
    "a label value: empty, or letters, digits, '-', '_' and '.', beginning and ending with a letter or digit",
};
static const struct api_name_rule config_key = {
    SUBDOMAIN_MAX,
    ALNUM | DASH | DOT | UNDERSCORE,
    ALNUM | DASH | DOT | UNDERSCORE,
    ALNUM | DASH | DOT | UNDERSCORE,
    "a config key: letters, digits, '-', '_' and '.', but neither \".\" nor anything beginning with \"..\"",
};
static const struct api_name_rule port = {
    PORT_MAX,
    LOWER_OR_DIGIT,
    LOWER_OR_DIGIT | DASH,
    LOWER_OR_DIGIT,
    "a port name: lower-case letters, digits and single '-', beginning and ending with a letter or digit, at least one "
    "letter",
};

static const char *must_be(struct arena *a, const char *allowed, struct str s)
{
    autobuf shown = { 0 };

    if (s.n == 0)
        return arena_fmt(a, "must not be empty; it must be %s", allowed).p;
    buf_quote(&shown, s, SHOWN_MAX);
    return arena_fmt(a, "must be %s (got %s)", allowed, shown.p).p;
}

static const char *too_long(struct arena *a, size_t max, struct str s)
{
    autobuf shown = { 0 };

    buf_quote(&shown, s, SHOWN_MAX);
    return arena_fmt(a, "must be no more than %zu bytes (got %zu: %s)", max, s.n, shown.p).p;
}

static bool api_name_fits(const struct api_name_rule *rule, struct str s)
{
    if (s.n == 0 || !(class_of(s.p[0]) & rule->first) || !(class_of(s.p[s.n - 1]) & rule->last))
        return false;
    for (size_t i = 1; i + 1 < s.n; i++)
        if (!(class_of(s.p[i]) & rule->inside))
            return false;
    return true;
}

static const char *api_name_check(struct arena *a, const struct api_name_rule *rule, struct str s)
{
    if (s.n > rule->max)
        return too_long(a, rule->max, s);
    return api_name_fits(rule, s) ? NULL : must_be(a, rule->allowed, s);
}

const char *name_check_dns_label(struct arena *a, struct str s)
{
    return api_name_check(a, &dns_label, s);
}

const char *name_check_dns1035_label(struct arena *a, struct str s)
{
    return api_name_check(a, &dns1035_label, s);
}

/* Unlike in DNS itself, a part may be longer than 63: only the whole is limited. */
static bool is_subdomain(struct str s)
{
    struct str part;

    while (str_split(&s, '.', &part))
        if (!api_name_fits(&dns_label, part))
            return false;
    return true;
}

const char *name_check_dns_subdomain(struct arena *a, struct str s)
{
    if (s.n > dns_subdomain.max)
        return too_long(a, dns_subdomain.max, s);
    return s.n && is_subdomain(s) ? NULL : must_be(a, dns_subdomain.allowed, s);
}

const char *name_check_qualified(struct arena *a, struct str s)
{
    ptrdiff_t slash = str_find_char(s, '/');
    const char *why;

    if (slash < 0)
        return api_name_check(a, &qualified, s);
    why = name_check_dns_subdomain(a, str_sub(s, 0, (size_t)slash));
    if (why)
        return arena_fmt(a, "the part before '/' %s", why).p;
    why = api_name_check(a, &qualified, str_from(s, (size_t)slash + 1));
    return why ? arena_fmt(a, "the part after '/' %s", why).p : NULL;
}

const char *name_check_label_value(struct arena *a, struct str s)
{
    return s.n ? api_name_check(a, &label_value, s) : NULL;
}

/* New servers take any printable ASCII but '='. */
const char *name_check_env(struct arena *a, struct str s)
{
    bool is_good = s.n > 0;

    for (size_t i = 0; i < s.n; i++)
        is_good = is_good && s.p[i] >= ' ' && s.p[i] <= '~' && s.p[i] != '=';
    return is_good ? NULL
                   : must_be(a, "the name of an environment variable: printable ASCII characters without '='", s);
}

/* The key becomes a file name in a volume; names beginning with ".." are taken by the way volumes are updated. */
const char *name_check_config_key(struct arena *a, struct str s)
{
    if (str_is(s, ".") || str_starts(s, STR("..")))
        return must_be(a, config_key.allowed, s);
    return api_name_check(a, &config_key, s);
}

const char *name_check_port(struct arena *a, struct str s)
{
    bool has_letter = false;

    for (size_t i = 0; i < s.n; i++)
        has_letter = has_letter || class_of(s.p[i]) == LOWER;
    if (s.n <= port.max && (!has_letter || str_has(s, STR("--"))))
        return must_be(a, port.allowed, s);
    return api_name_check(a, &port, s);
}

const char *name_check_path_segment(struct arena *a, struct str s)
{
    if (s.n && !str_is(s, ".") && !str_is(s, "..") && !str_has_char(s, '/') && !str_has_char(s, '%'))
        return NULL;
    return must_be(a, "usable in a URL path: no '/' or '%', and neither \".\" nor \"..\"", s);
}
