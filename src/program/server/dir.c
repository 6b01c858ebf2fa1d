/* dir.c - where a server keeps everything: --data-dir, or its place below what `pumice run` uses */
#include "base/util.h"
#include "program/server/server.h"
#include "node/doctor/host.h"

#include <limits.h>

int server_dir_find(struct arena *a, const char *given, struct str *ret, struct err *e)
{
    struct str dir = given ? str_of(given) : host_state_dir(a);
    char here[PATH_MAX];

    if (!dir.n)
        return err_set(e, ERR_INVALID, given ? "--data-dir: is empty" : "no home directory; use --data-dir DIR");
    if (!given)
        dir = arena_cat(a, dir, STR("/server"));
    if (dir.p[0] != '/' && !getcwd(here, sizeof(here)))
        return err_errno(e, "the directory we are in");
    *ret = dir.p[0] == '/' ? dir : arena_fmt(a, "%s/%.*s", here, STR_ARG(dir));
    return 0;
}
