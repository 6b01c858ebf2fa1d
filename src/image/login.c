/* login.c - entries of docker's config.json and containers' auth.json */
#include "image/login.h"

#include "base/buf.h"
#include "base/util.h"
#include "json/json.h"
#include "os/io.h"

#include <errno.h>

enum { FILE_BYTES = 4 << 20 };

/* ---- one text ---- */

/* "https://index.docker.io/v1/" and "host/v2" as "docker.io" and "host". */
static struct str plain_key(struct str key)
{
    static const struct str schemes[] = { STR_INIT("https://"), STR_INIT("http://") };
    static const struct str ends[] = { STR_INIT("/"), STR_INIT("/v1"), STR_INIT("/v2") };
    static const char *const docker[] = { "index.docker.io", "registry-1.docker.io" };

    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (str_starts(key, schemes[i]))
            key = str_from(key, schemes[i].n);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (str_ends(key, ends[i]))
            key = str_sub(key, 0, key.n - ends[i].n);
    for (size_t i = 0; i < ARRAY_LEN(docker); i++)
        if (str_is(key, docker[i]))
            key = STR("docker.io");
    return key;
}

/* Is 'key' the registry, or a part of it that the image is in? */
static bool is_above(struct str key, struct str name)
{
    return key.n && str_starts(name, key) && (name.n == key.n || name.p[key.n] == '/');
}

static const struct json *longest(const struct json *all, struct str name)
{
    const struct json *best = NULL;

    JSON_FOREACH(entry, all)
        if (is_above(plain_key(json_key(entry)), name) &&
            (!best || plain_key(json_key(entry)).n > plain_key(json_key(best)).n))
            best = entry;
    return best;
}

/* "auth" is base64 of "user:password". */
static int take_auth(struct arena *a, struct str auth, struct login *ret, struct err *e)
{
    autobuf plain = { 0 };
    struct str text;
    ptrdiff_t colon;

    if (buf_unbase64(&plain, auth) < 0 || (colon = str_find_char(buf_view(&plain), ':')) < 0)
        return err_set(e, ERR_INVALID, "its \"auth\" is not the base64 of user:password");
    text = arena_str(a, buf_view(&plain));
    while (text.n && text.p[text.n - 1] == '\0') /* docker once padded them */
        text.n--;
    ret->user = str_sub(text, 0, (size_t)colon);
    ret->password = str_from(text, (size_t)colon + 1);
    return 0;
}

static int take_entry(struct arena *a, const struct json *entry, struct login *ret, struct err *e)
{
    struct str auth = json_member_text(entry, "auth");

    ret->identity = json_member_text(entry, "identitytoken");
    ret->user = json_member_text(entry, "username");
    ret->password = json_member_text(entry, "password");
    if (auth.n && take_auth(a, auth, ret, e) < 0)
        return err_wrap(e, "entry for %.*s", STR_ARG(json_key(entry)));
    return ret->user.n || ret->identity.n;
}

int login_find(struct arena *a, struct str text, const struct reference *ref, struct login *ret, struct err *e)
{
    struct str name = arena_fmt(a, "%.*s/%.*s", STR_ARG(ref->host), STR_ARG(ref->path));
    struct json *j;
    const struct json *all, *entry;
    int rc = 0;

    *ret = (struct login){ 0 };
    if (json_parse(a, text, NULL, &j, e) < 0)
        return -1;
    all = json_get(j, "auths");
    entry = longest(all || json_get(j, "credHelpers") || json_get(j, "credsStore") ? all : j, name);
    if (entry)
        rc = take_entry(a, entry, ret, e);
    if (rc == 0)
        ret->helper = json_text(longest(json_get(j, "credHelpers"), name), json_member_text(j, "credsStore"));
    return rc;
}

/* ---- the files ---- */

static int find_in(struct arena *a, const char *path, const struct reference *ref, struct login *ret, struct err *e)
{
    autobuf text = { 0 };
    int rc = file_read(AT_FDCWD, path, 0, FILE_BYTES, &text);

    *ret = (struct login){ 0 };
    if (rc < 0)
        return err_errno(e, "read %s", path);
    if (rc > 0)
        return err_set(e, ERR_TOO_BIG, "%s: is larger than %d MiB", path, FILE_BYTES >> 20);
    rc = login_find(a, arena_str(a, buf_view(&text)), ref, ret, e);
    ret->from = arena_str(a, str_of(path));
    return rc < 0 ? err_wrap(e, "%s", path) : rc;
}

/* What stands behind a directory that a variable names; empty if there is no such variable. */
static struct str login_below(struct arena *a, const char *variable, const char *rest)
{
    const char *dir = getenv(variable);

    return dir && *dir ? arena_fmt(a, "%s%s", dir, rest) : STR_NULL;
}

int login_of_files(struct arena *a, const char *given, const struct reference *ref, struct login *ret, struct err *e)
{
    const struct str usual[] = {
        login_below(a, "REGISTRY_AUTH_FILE", ""),
        login_below(a, "XDG_RUNTIME_DIR", "/containers/auth.json"),
        login_below(a, "XDG_CONFIG_HOME", "/containers/auth.json"),
        login_below(a, "HOME", "/.config/containers/auth.json"),
        login_below(a, "DOCKER_CONFIG", "/config.json"),
        login_below(a, "HOME", "/.docker/config.json"),
    };
    struct str helper = STR_NULL;
    struct login one;

    *ret = (struct login){ 0 };
    if (given)
        return find_in(a, given, ref, ret, e) < 0 ? -1 : 0;
    for (size_t i = 0; i < ARRAY_LEN(usual); i++) {
        if (!usual[i].n)
            continue;
        if (find_in(a, usual[i].p, ref, &one, NULL) > 0) {
            *ret = one;
            return 0;
        }
        if (!helper.n)
            helper = one.helper;
    }
    ret->helper = helper;
    return 0;
}
