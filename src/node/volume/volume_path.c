/* volume_path.c - paths from outside, as text */
#include "node/volume/volume_internal.h"

#include <limits.h>

static int check_part(struct str part, struct err *e)
{
    return part.n > NAME_MAX ? err_set(e, ERR_INVALID, "path has a name longer than %d bytes", NAME_MAX) : 0;
}

static int volume_path_check(struct str path, struct err *e)
{
    if (str_has_char(path, '\0'))
        return err_set(e, ERR_INVALID, "path must not contain a NUL character");
    if (path.n >= PATH_MAX)
        return err_set(e, ERR_INVALID, "path is longer than %d bytes", PATH_MAX - 1);
    return 0;
}

int volume_path_clean(struct arena *a, struct str path, struct str *ret, struct err *e)
{
    autobuf out = { 0 };
    struct str part, rest = path;

    if (volume_path_check(path, e) < 0)
        return -1;
    if (str_starts(path, STR("/")))
        return err_set(e, ERR_INVALID, "path \"%.*s\" must be relative", STR_ARG(path));
    while (rest.n && str_split(&rest, '/', &part)) {
        if (part.n == 0 || str_is(part, "."))
            continue;
        if (str_is(part, ".."))
            return err_set(e, ERR_INVALID, "path \"%.*s\" must not contain \"..\"", STR_ARG(path));
        if (check_part(part, e) < 0)
            return -1;
        if (out.n)
            buf_char(&out, '/');
        buf_str(&out, part);
    }
    if (out.n == 0)
        return err_set(e, ERR_INVALID, "path \"%.*s\" names no file", STR_ARG(path));
    *ret = arena_str(a, buf_view(&out));
    return 0;
}

int volume_target_clean(struct arena *a, struct str path, struct str *ret, struct err *e)
{
    autobuf out = { 0 };
    struct str part, rest = path;

    if (path.n == 0)
        return err_set(e, ERR_INVALID, "mountPath: must not be empty");
    if (volume_path_check(path, e) < 0)
        return err_wrap(e, "mountPath");
    while (rest.n && str_split(&rest, '/', &part)) {
        if (part.n == 0 || str_is(part, "."))
            continue;
        if (check_part(part, e) < 0)
            return err_wrap(e, "mountPath");
        if (!str_is(part, "..")) {
            buf_char(&out, '/');
            buf_str(&out, part);
        } else if (out.n) {
            out.n = (size_t)str_rfind_char(buf_view(&out), '/');
        }
    }
    if (out.n == 0)
        return err_set(e, ERR_INVALID, "mountPath \"%.*s\": the root of the container cannot be a volume",
                       STR_ARG(path));
    *ret = arena_str(a, buf_view(&out));
    return 0;
}

int volume_path_cmp(struct str x, struct str y)
{
    for (size_t i = 0; i < x.n && i < y.n; i++)
        if (x.p[i] != y.p[i])
            return x.p[i] == '/' ? -1 : y.p[i] == '/' ? 1 : (unsigned char)x.p[i] < (unsigned char)y.p[i] ? -1 : 1;
    return x.n < y.n ? -1 : x.n > y.n;
}
