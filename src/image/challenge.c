/* challenge.c - WWW-Authenticate: Bearer realm="https://…",service="…",scope="…", Basic realm="…"
 *
 * A word that an equals sign follows is a parameter, any other the next scheme.
 */
#include "image/challenge.h"

#include "base/buf.h"
#include "base/util.h"

static bool challenge_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static void skip(struct str *at, const char *which)
{
    while (at->n && at->p[0] && strchr(which, at->p[0]))
        *at = str_from(*at, 1);
}

static struct str take_word(struct str *at)
{
    size_t n = 0;
    struct str word;

    while (n < at->n && challenge_is_word(at->p[n]))
        n++;
    word = str_sub(*at, 0, n);
    *at = str_from(*at, n);
    return word;
}

/* "in quotes, \" escaped", or a word. */
static struct str take_value(struct arena *a, struct str *at)
{
    autobuf out = { 0 };

    if (!at->n || at->p[0] != '"')
        return take_word(at);
    *at = str_from(*at, 1);
    for (; at->n && at->p[0] != '"'; *at = str_from(*at, 1)) {
        if (at->p[0] == '\\' && at->n > 1)
            *at = str_from(*at, 1);
        buf_char(&out, at->p[0]);
    }
    *at = str_from(*at, 1);
    return arena_str(a, buf_view(&out));
}

static void challenge_put(struct challenge *c, struct str name, struct str value)
{
    const struct {
        const char *name;
        struct str *to;
    } known[] = { { "realm", &c->realm }, { "service", &c->service }, { "scope", &c->scope } };

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_eq_nocase(name, str_of(known[i].name)) && !known[i].to->n)
            *known[i].to = value;
}

void challenge_read(struct arena *a, struct str header, struct challenge *ret)
{
    bool in_bearer = false;

    *ret = (struct challenge){ 0 };
    for (skip(&header, " \t,"); header.n; skip(&header, " \t,")) {
        struct str word = take_word(&header), value;

        if (!word.n)
            return;
        skip(&header, " \t");
        if (header.n && header.p[0] == '=') {
            header = str_from(header, 1);
            skip(&header, " \t");
            value = take_value(a, &header);
            if (in_bearer)
                challenge_put(ret, word, value);
            continue;
        }
        in_bearer = str_eq_nocase(word, STR("Bearer")) && !ret->is_bearer;
        ret->is_bearer |= in_bearer;
        ret->is_basic |= str_eq_nocase(word, STR("Basic"));
    }
}
