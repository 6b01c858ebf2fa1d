/* hide_home.c - homes: what is hidden, and the software that is not
 *
 * Programs keep secrets in files whose names begin with a dot, and new programs appear every year. So names that
 * begin with a dot are hidden unless they are known places of software (hide_home_list()), and so is a home that
 * others may not enter. The exception is the home of the user who started the run: it has virtual environments, conda
 * and code, and is usually closed (0750, 0700). Its programs are shown, and nothing else.
 */
#include "node/container/hide_internal.h"

#include "base/util.h"
#include "os/dir.h"
#include "os/io.h"
#include "os/path.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    NOBODY = 65534,
    FILE_MAX = 4 << 20,
    DOTS_MAX = 1024, /* in one directory, on the way to software */
};

/* ---- names that begin with a dot ---- */

enum dot { DOT_SECRET, DOT_ABOVE_SOFTWARE, DOT_SOFTWARE };

static enum dot dot_of(struct str name)
{
    enum dot found = DOT_SECRET;

    for (const char *const *p = hide_home_list(); *p; p++)
        if (str_is(name, *p))
            return DOT_SOFTWARE;
        else if (path_is_below(str_of(*p), name))
            found = DOT_ABOVE_SOFTWARE;
    return found;
}

static int hide_dots(struct hiding *h, struct str dir, struct str below, bool *ret_shown);

static int hide_dot(struct hiding *h, struct str dir, struct str below, const char *name, bool *ret_shown)
{
    struct str path = arena_fmt(h->arena, "%.*s/%s", STR_ARG(dir), name), real;
    struct str local = arena_fmt(h->arena, "%.*s%s%s", STR_ARG(below), below.n ? "/" : "", name);
    enum dot dot = dot_of(local);

    if (dot == DOT_SECRET)
        return hide_path(h, path);
    real = hide_real_dir(h->arena, path.p);
    if (dot == DOT_SOFTWARE)
        *ret_shown = true;
    return dot == DOT_SOFTWARE || real.n <= 1 ? 0 : hide_dots(h, real, local, ret_shown);
}

/* 'below': path relative to the home; empty: the home itself, where names without a dot follow other rules. */
static int hide_dots(struct hiding *h, struct str dir, struct str below, bool *ret_shown)
{
    autodir *d = opendir(dir.p);
    int rc = 0, n = 0;

    for (struct dirent *entry; rc == 0 && (entry = dir_next(d));) {
        if (below.n == 0 && entry->d_name[0] != '.')
            continue;
        if (++n > DOTS_MAX)
            return hide_whiteout(h, dir);
        rc = hide_dot(h, dir, below, entry->d_name, ret_shown);
    }
    return rc;
}

/* ---- a home ---- */

static bool is_own(const struct hiding *h, const struct hide_home *it)
{
    const char *home = getenv("HOME"), *sudo = getenv("SUDO_UID");
    struct stat st;
    uint64_t caller;

    if (!h->opt->has_homes)
        return false;
    if (home && str_eq(hide_real_dir(h->arena, home), it->path))
        return true;
    if (h->is_inner) /* our own files belong to root inside */
        return stat(it->path.p, &st) == 0 && st.st_uid == 0;
    if (it->uid == geteuid())
        return true;
    return sudo && str_to_u64(str_of(sudo), &caller) == 0 && it->uid == caller;
}

static enum hide_place home_place(void *ctx, struct str path)
{
    struct hiding *h = ctx;

    if (path_is_below(path, h->home) && dot_of(str_from(path, h->home.n + 1)) == DOT_SOFTWARE) {
        h->has_software = true;
        return PLACE_SETTLED;
    }
    if (str_eq(path, h->here))
        return PLACE_SETTLED;
    if (path_is_below(h->here, path))
        return PLACE_ABOVE;
    VEC_FOREACH(one, h->hidden)
        if (str_eq(*one, path))
            return PLACE_SETTLED;
    return PLACE_PLAIN;
}

static int hide_home_entry(void *ctx, struct str path)
{
    struct hiding *h = ctx;

    return hide_whiteout(h, arena_str(h->arena, path));
}

/* The job probably uses the current directory: search it first, before the limits are reached. */
static int hide_here(struct hiding *h, const struct hide_walk *how, bool is_private)
{
    struct str here = hide_real_dir(h->arena, ".");

    if (!path_is_below(here, h->home) || here.p[h->home.n + 1] == '.')
        return 0;
    if (hide_walk_home(how, here.p, is_private, &h->has_software) < 0)
        return -1;
    h->here = here;
    return 0;
}

static int hide_own_home(struct hiding *h, struct str real, bool is_private)
{
    struct hide_walk how = { h, h->is_inner, false, home_place, hide_home_entry };

    if (is_private && h->opt->has_veil) /* before anything is created in it: see copy_dir_attributes() */
        *vec_push(h->arena, &h->hidden->homes) = real;
    h->home = real;
    h->has_software = false;
    if (hide_dots(h, real, STR_NULL, &h->has_software) < 0 || hide_here(h, &how, is_private) < 0)
        return -1;
    how.has_dots = true;
    if (hide_walk_home(&how, real.p, is_private, &h->has_software) < 0)
        return -1;
    if (!is_private || !h->opt->has_veil || h->has_software)
        return 0;
    h->hidden->homes.n--; /* no software: an exemption would cost each container a mount */
    return hide_empty(h, real);
}

static int hide_home(struct hiding *h, const struct hide_home *home)
{
    bool is_private = !hide_is_open(home->path), shown;

    if (is_own(h, home))
        return hide_own_home(h, home->path, is_private);
    if (!is_private)
        return hide_dots(h, home->path, STR_NULL, &shown);
    if (!h->is_inner)
        return hide_empty(h, home->path);
    return faccessat(AT_FDCWD, home->path.p, X_OK, AT_EACCESS) == 0 ? hide_whiteout(h, home->path) : 0;
}

int hide_homes(struct hiding *h)
{
    VEC_FOREACH(home, &h->homes)
        if (hide_home(h, home) < 0)
            return -1;
    return 0;
}

/* ---- the list of homes ---- */

static void home_add(struct hiding *h, const char *dir, uid_t uid)
{
    struct str real = hide_real_dir(h->arena, dir);

    if (real.n <= 1) /* "/" is not a home, even if /etc/passwd says so */
        return;
    VEC_FOREACH(seen, &h->homes)
        if (str_eq(seen->path, real))
            return;
    *vec_push(h->arena, &h->homes) = (struct hide_home){ real, uid };
}

/* Add homes that their user owns: "/usr/sbin" of daemon is not. */
static void add_home_of(struct hiding *h, struct str line)
{
    struct str f[6];
    struct stat st;
    uint64_t uid;
    size_t n = 0;

    while (n < ARRAY_LEN(f) && str_split(&line, ':', &f[n]))
        n++;
    if (n < ARRAY_LEN(f) || str_to_u64(f[2], &uid) < 0 || uid == NOBODY || f[5].n < 2 || f[5].p[0] != '/')
        return;
    f[5] = arena_str(h->arena, f[5]);
    if (fstatat(AT_FDCWD, f[5].p, &st, AT_NO_AUTOMOUNT) == 0 && (st.st_uid == uid || uid == 0))
        home_add(h, f[5].p, (uid_t)uid);
}

void hide_homes_find(struct hiding *h)
{
    struct str text = file_text(h->arena, AT_FDCWD, "/etc/passwd", FILE_MAX), line;
    const char *own = getenv("HOME");
    autodir *d = opendir("/home"); /* users of a directory service are not in /etc/passwd */

    while (text.n && str_split(&text, '\n', &line))
        add_home_of(h, line);
    for (struct dirent *entry; (entry = dir_next(d));)
        if (entry->d_name[0] != '.' && entry->d_type != DT_REG)
            home_add(h, arena_fmt(h->arena, "/home/%s", entry->d_name).p, (uid_t)-1);
    if (own && own[0] == '/')
        home_add(h, own, (uid_t)-1);
}
