/* pattern.c - regular expressions as Kubernetes objects have them */
#include "base/pattern.h"

#include "base/buf.h"
#include "base/util.h"

#include <ctype.h>
#include <limits.h>
#include <regex.h>

enum { PATTERN_MAX = 256, REPEAT_MAX = 1000 };

struct pattern {
    regex_t regex;
    struct str letters; /* in every match */
    bool is_tied;       /* … at the front of the name */
};

/* Is it a pattern that costs little? The counts of repetition multiply in the library's memory, and back references are
 * unknown to Kubernetes and slow. */
static bool is_tame(struct str p)
{
    int64_t product = 1;

    if (p.n > PATTERN_MAX || memchr(p.p, '\0', p.n))
        return false;
    for (size_t i = 0; i < p.n; i++) {
        int64_t most = 0, count = 0;

        if (p.p[i] == '\\' && i + 1 < p.n) {
            if (isdigit((unsigned char)p.p[++i]))
                return false;
            continue;
        }
        if (p.p[i] != '{')
            continue;
        for (i++; i < p.n && (isdigit((unsigned char)p.p[i]) || p.p[i] == ','); i++) {
            count = p.p[i] == ',' || count > REPEAT_MAX ? 0 : count * 10 + (p.p[i] - '0');
            most = MAX_OF(most, count);
        }
        product *= MAX_OF(most, 1);
        if (product > REPEAT_MAX)
            return false;
    }
    return true;
}

/* From Kubernetes' (Go's) way of writing to POSIX: \d, \D, (?:…). Anything else that differs does not compile. */
static const char *to_posix(struct arena *a, struct str p)
{
    autobuf out = { 0 };
    bool in_list = false;

    for (size_t i = 0; i < p.n; i++) {
        char c = p.p[i], next = i + 1 < p.n ? p.p[i + 1] : '\0';

        if (c == '\\' && (next == 'd' || next == 'D')) {
            buf_str(&out, next == 'D' ? STR("[^0-9]") : in_list ? STR("0-9") : STR("[0-9]"));
            i++;
        } else if (c == '\\' && next && in_list) { /* there a backslash is a character to POSIX */
            buf_char(&out, next);
            i++;
        } else if (c == '\\' && next) {
            buf_append(&out, &p.p[i++], 2);
        } else if (str_starts(str_from(p, i), STR("(?:")) && !in_list) {
            buf_char(&out, '(');
            i += 2;
        } else {
            in_list = in_list ? c != ']' : c == '[';
            buf_char(&out, c);
        }
    }
    return arena_cstr(a, buf_view(&out));
}

/* From a '[' to behind its ']'. 0: there is none. A ']' that comes first is a letter. */
static size_t skip_list(struct str p, size_t i)
{
    i += 1 + (i + 1 < p.n && p.p[i + 1] == '^');
    i += i < p.n && p.p[i] == ']';
    for (; i < p.n; i++) {
        if (p.p[i] == ']')
            return i + 1;
        if (p.p[i] == '\\')
            i++;
        else if (str_starts(str_from(p, i), STR("[:"))) /* [[:digit:]] */
            while (i + 1 < p.n && !str_starts(str_from(p, i + 1), STR(":]")))
                i++;
    }
    return 0;
}

const char *pattern_wrong(struct arena *a, struct str p)
{
    size_t depth = 0, i = 0;
    bool has_atom = false; /* something that may be repeated stands before */

    while (i < p.n) {
        char c = p.p[i];

        if (c == '\\' && i + 1 == p.n)
            return "trailing backslash at end of expression: ``";
        if (strchr("*+?", c) && !has_atom)
            return arena_fmt(a, "missing argument to repetition operator: `%c`", c).p;
        if (c == ')' && depth == 0)
            return arena_fmt(a, "unexpected ): `%.*s`", STR_ARG(p)).p;
        depth += (c == '(') - (c == ')');
        if (c == '[' && !(i = skip_list(p, i)))
            return arena_fmt(a, "missing closing ]: `%.*s`", STR_ARG(p)).p;
        has_atom = c != '(' && c != '|';
        if (c == '(' && i + 1 < p.n && p.p[i + 1] == '?') /* (?:, (?i), (?P<name> */
            i++;
        if (c != '[')
            i += c == '\\' ? 2 : 1;
    }
    return depth ? arena_fmt(a, "missing closing ): `%.*s`", STR_ARG(p)).p : NULL;
}

/* Letters at the front that every match has, so that most names need not be given to the matcher. */
static struct str find_letters(struct str p)
{
    size_t from = p.n > 0 && p.p[0] == '^', n = from;

    if (str_has_char(p, '|'))
        return STR_NULL;
    while (n < p.n && (isalnum((unsigned char)p.p[n]) || p.p[n] == '-'))
        n++;
    if (n > from && n < p.n && strchr("*?{", p.p[n])) /* the last one may be missing */
        n--;
    return str_sub(p, from, n - from);
}

int pattern_parse(struct arena *a, struct str text, struct pattern **ret)
{
    struct pattern *p = arena_new(a, struct pattern);

    if (!is_tame(text) || regcomp(&p->regex, to_posix(a, text), REG_EXTENDED | REG_NOSUB) != 0)
        return -1;
    p->letters = arena_str(a, find_letters(text));
    p->is_tied = str_starts(text, STR("^"));
    *ret = p;
    return 0;
}

void pattern_done(struct pattern *p)
{
    regfree(&p->regex);
}

bool pattern_matches(const struct pattern *p, struct str name)
{
    regmatch_t all = { .rm_so = 0, .rm_eo = (regoff_t)MIN_OF(name.n, (size_t)INT_MAX) };

    return str_has(name, p->letters) && regexec(&p->regex, name.p ? name.p : "", 1, &all, REG_STARTEND) == 0;
}

struct str pattern_beginning(const struct pattern *p)
{
    return p->is_tied ? p->letters : STR_NULL;
}
