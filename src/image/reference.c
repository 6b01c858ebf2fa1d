/* reference.c - names of images: "busybox" and "docker.io/library/busybox:latest" are the same
 *
 *     [host[:port]/]part[/part…][:tag][@algorithm:hex]
 */
#include "image/reference.h"

#include "base/util.h"

enum { REF_MAX = 512 };

static bool is_lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool reference_is_word(char c)
{
    return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The first part names a registry if it cannot be the name of a user: as docker reads it. */
static bool is_host(struct str part)
{
    if (str_has_char(part, '.') || str_has_char(part, ':') || str_is(part, "localhost"))
        return true;
    for (size_t i = 0; i < part.n; i++)
        if (part.p[i] >= 'A' && part.p[i] <= 'Z')
            return true;
    return false;
}

static bool host_is_good(struct str host)
{
    for (size_t i = 0; i < host.n; i++)
        if (!reference_is_word(host.p[i]) && !memchr(".-:[]", host.p[i], 5))
            return false;
    return host.n > 0 && (reference_is_word(host.p[0]) || host.p[0] == '[');
}

static bool part_is_good(struct str part)
{
    if (part.n == 0 || !is_lower_or_digit(part.p[0]) || !is_lower_or_digit(part.p[part.n - 1]))
        return false;
    for (size_t i = 0; i < part.n; i++)
        if (!is_lower_or_digit(part.p[i]) && !memchr("._-", part.p[i], 3))
            return false;
    return true;
}

static bool path_is_good(struct str path)
{
    for (struct str part; str_split(&path, '/', &part);)
        if (!part_is_good(part))
            return false;
    return true;
}

static bool tag_is_good(struct str tag)
{
    if (tag.n == 0 || tag.n > 128 || !reference_is_word(tag.p[0]))
        return false;
    for (size_t i = 0; i < tag.n; i++)
        if (!reference_is_word(tag.p[i]) && tag.p[i] != '.' && tag.p[i] != '-')
            return false;
    return true;
}

/* "sha256:…"; the algorithm may be another: it is only compared. */
static bool digest_is_good(struct str digest)
{
    ptrdiff_t colon = str_find_char(digest, ':');

    if (colon <= 0 || digest.n - (size_t)colon < 33)
        return false;
    for (size_t i = 0; i < digest.n; i++)
        if (i != (size_t)colon && !is_lower_or_digit(digest.p[i]))
            return false;
    return true;
}

/* Cut what follows the last 'sep' off '*text'; false if there is no 'sep'. */
static bool reference_cut(struct str *text, ptrdiff_t at, struct str *ret)
{
    if (at < 0)
        return false;
    *ret = str_from(*text, (size_t)at + 1);
    *text = str_sub(*text, 0, (size_t)at);
    return true;
}

static int check_parts(const struct reference *r, bool has_tag, bool has_digest, struct str text, struct err *e)
{
    if (host_is_good(r->host) && path_is_good(r->path) && (!has_tag || tag_is_good(r->tag)) &&
        (!has_digest || digest_is_good(r->digest)))
        return 0;
    return err_set(e, ERR_INVALID, "\"%.*s\" is not an image name", STR_ARG(text));
}

/* The parts of 'rest', as they are written. */
static int take_parts(struct reference *r, struct str text, struct err *e)
{
    struct str rest = text;
    bool has_digest = reference_cut(&rest, str_find_char(rest, '@'), &r->digest), has_tag = false;
    ptrdiff_t colon = str_rfind_char(rest, ':'), slash;

    if (colon > str_rfind_char(rest, '/')) /* else it belongs to a port */
        has_tag = reference_cut(&rest, colon, &r->tag);
    slash = str_find_char(rest, '/');
    r->host = STR("docker.io");
    r->path = rest;
    if (slash > 0 && is_host(str_sub(rest, 0, (size_t)slash))) {
        r->host = str_sub(rest, 0, (size_t)slash);
        r->path = str_from(rest, (size_t)slash + 1);
    }
    return check_parts(r, has_tag, has_digest, text, e);
}

int reference_parse(struct arena *a, struct str text, struct reference *ret, struct err *e)
{
    struct reference r = { 0 };

    if (text.n == 0 || text.n > REF_MAX)
        return err_set(e, ERR_INVALID, text.n ? "the name of the image is too long" : "the name of the image is empty");
    if (take_parts(&r, arena_str(a, text), e) < 0)
        return -1;
    if (str_is(r.host, "index.docker.io"))
        r.host = STR("docker.io");
    if (str_is(r.host, "docker.io") && !str_has_char(r.path, '/'))
        r.path = arena_cat(a, STR("library/"), r.path);
    if (!r.tag.n && !r.digest.n)
        r.tag = STR("latest");
    /* A digest says it all; the tag beside it is for people. */
    r.normal = arena_fmt(a, "%.*s/%.*s%s%.*s", STR_ARG(r.host), STR_ARG(r.path), r.digest.n ? "@" : ":",
                         STR_ARG(r.digest.n ? r.digest : r.tag));
    if (r.normal.n > REF_MAX)
        return err_set(e, ERR_INVALID, "the name of the image is too long");
    *ret = r;
    return 0;
}

int reference_normal(struct arena *a, struct str text, struct str *ret, struct err *e)
{
    struct reference r;

    if (reference_parse(a, text, &r, e) < 0)
        return -1;
    *ret = r.normal;
    return 0;
}

bool reference_is_latest(struct str text)
{
    autoarena a = { 0 };
    struct reference r;

    return reference_parse(&a, text, &r, NULL) == 0 && !r.digest.n && str_is(r.tag, "latest");
}
