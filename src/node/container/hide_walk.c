/* hide_walk.c - search the host's files for those closed to others, and homes for software */
#include "node/container/hide_internal.h"

#include "base/util.h"

#include <dirent.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/statfs.h>

enum {
    MACHINE_DEPTH = 40, /* deeper than any legitimate directory */
    SOME_DEPTH = 6,
    SOME_ENTRIES = 2048, /* per directory of the top level: one must not use up the limit of the others */
    SOME_OF_ONE = 512,   /* in one directory */
    HOME_DEPTH = 6,
    HOME_ENTRIES = 1024, /* some milliseconds */
    DIR_HIDDEN = 64,     /* files to hide in one directory of a home; beyond that the directory is hidden as a whole */
    READ_BYTES = 4096,
};

enum hide_walk_verdict { SHOW, HIDE, LOOK_INTO, UNSURE };

struct level { /* a directory that is being read */
    struct level *above;
    int fd, depth, n_hidden, n_seen;
    dev_t dev;
    bool stays; /* it leads to something that is shown */
};

struct hide_search {
    const struct hide_walk *how;
    /* Decide by name and type (DT_…) alone; UNSURE: stat it. May be NULL. */
    enum hide_walk_verdict (*glance)(const struct hide_search *l, const struct level *in, const char *name,
                                     unsigned char kind);
    enum hide_walk_verdict (*judge)(const struct hide_search *l, struct level *in, const char *name,
                                    const struct stat *st);
    struct buf path; /* of the current entry */
    int depth_max;
    int left, of_one, of_each; /* entry limits: remaining; per directory; per directory of the top level (0: none) */
    bool is_home, is_private;  /* a home closed to others: everything in it is secret */
    bool is_far;               /* a slow network file system: decide by names */
    bool has_shown;            /* something stays visible */
};

/* ---- closed files of the machine ---- */

static bool hide_walk_is_shown(const struct hide_search *l)
{
    struct str path = buf_view(&l->path);

    for (const char *const *p = hide_shown_list(); *p; p++) {
        struct str one = str_of(*p);

        if (str_ends(one, STR("*")) ? str_starts(path, str_sub(one, 0, one.n - 1)) : str_eq(path, one))
            return true;
    }
    return false;
}

/* Files that we may not read ourselves are safe: pods read with our rights. */
static enum hide_walk_verdict judge_machine(const struct hide_search *l, struct level *in, const char *name,
                                            const struct stat *st)
{
    bool is_dir = S_ISDIR(st->st_mode), is_closed = !(st->st_mode & (is_dir ? S_IXOTH : S_IROTH));

    if (!is_dir && !is_closed)
        return SHOW;
    if (hide_walk_is_shown(l))
        return SHOW;
    if (!is_closed)
        return LOOK_INTO;
    return !l->how->is_inner || faccessat(in->fd, name, is_dir ? X_OK : R_OK, AT_EACCESS) == 0 ? HIDE : SHOW;
}

/* In "/": skip directories that are searched separately, have no secrets, or are not shown. */
static enum hide_walk_verdict glance_some(const struct hide_search *l, const struct level *in, const char *name,
                                          unsigned char kind)
{
    static const char *const others[] = { "etc", "var", "usr", "proc", "sys", "dev", "run", "tmp", "snap" };

    (void)kind;
    for (size_t i = 0; in->depth == 0 && l->path.n == strlen(name) + 1 && i < ARRAY_LEN(others); i++)
        if (strcmp(name, others[i]) == 0)
            return SHOW;
    return UNSURE;
}

/* ---- private files of a home ---- */

static bool is_program(const char *name)
{
    static const char *const endings[] = { ".py",    ".pyc", ".pyi",  ".pth",   ".so",   ".a",    ".o",   ".jar",
                                           ".class", ".js",  ".mjs",  ".ts",    ".sh",   ".bash", ".pl",  ".pm",
                                           ".rb",    ".lua", ".jl",   ".R",     ".r",    ".m",    ".c",   ".h",
                                           ".cc",    ".cpp", ".cxx",  ".hpp",   ".cu",   ".cuh",  ".f90", ".f",
                                           ".go",    ".rs",  ".java", ".scala", ".ipynb" };

    for (size_t i = 0; i < ARRAY_LEN(endings); i++)
        if (str_ends(str_of(name), str_of(endings[i])))
            return true;
    return strstr(name, ".so.") != NULL;
}

static bool is_program_dir(const char *name)
{
    static const char *const names[] = { "bin",           "lib",           "lib64",        "include",
                                         "site-packages", "dist-packages", "node_modules", "go-build" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* The environment of a program: all files in it belong to the program. */
static bool is_environment(int dir)
{
    static const char *const marks[] = { "pyvenv.cfg", "conda-meta" };

    for (size_t i = 0; i < ARRAY_LEN(marks); i++)
        if (faccessat(dir, marks[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            return true;
    return false;
}

static bool is_settled_dot(const struct hide_search *l, const struct level *in, const char *name)
{
    return l->how->has_dots && in->depth == 0 && name[0] == '.';
}

/* Decide without a stat for most of a home. */
static enum hide_walk_verdict glance_home(const struct hide_search *l, const struct level *in, const char *name,
                                          unsigned char kind)
{
    if (is_settled_dot(l, in, name))
        return UNSURE;
    if (kind == DT_DIR)
        return is_program_dir(name) ? SHOW : LOOK_INTO;
    if (kind == DT_REG && is_program(name))
        return SHOW;
    return kind == DT_REG && l->is_far ? (l->is_private ? HIDE : SHOW) : UNSURE;
}

static enum hide_walk_verdict judge_home(const struct hide_search *l, struct level *in, const char *name,
                                         const struct stat *st)
{
    if (is_settled_dot(l, in, name))
        return SHOW;
    if (S_ISDIR(st->st_mode))
        return is_program_dir(name) ? SHOW : LOOK_INTO;
    if (st->st_mode & (S_IXUSR | S_IXGRP | S_IXOTH) || is_program(name))
        return SHOW;
    return l->is_private || !(st->st_mode & S_IROTH) ? HIDE : SHOW;
}

/* ---- the walk ---- */

/* A network file system checks access on the server, and asking it is slow. */
static bool is_far(int dir)
{
    static const unsigned long far[] = { NFS_SUPER_MAGIC,       SMB_SUPER_MAGIC,
                                         0xff534d42 /* cifs */, 0xfe534d42 /* smb2 */,
                                         AFS_SUPER_MAGIC,       CEPH_SUPER_MAGIC,
                                         FUSE_SUPER_MAGIC,      V9FS_MAGIC,
                                         AUTOFS_SUPER_MAGIC,    0x0bd00bd0 /* lustre */ };
    struct statfs fs;

    if (fstatfs(dir, &fs) < 0)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(far); i++)
        if ((unsigned long)fs.f_type == far[i])
            return true;
    return false;
}

static int walk_entries(struct hide_search *l, struct level *in);

static int hide_this(struct hide_search *l, struct level *in)
{
    in->n_hidden++;
    return l->how->hide(l->how->ctx, buf_view(&l->path));
}

/* A directory of a home with too much to hide is hidden as a whole: stop reading it. */
static bool is_hidden_whole(const struct hide_search *l, const struct level *in)
{
    return l->is_home && in->depth && !in->stays && in->n_hidden > DIR_HIDDEN;
}

/* 'st': zero for a directory that was not stat'ed. */
static int walk_into(struct hide_search *l, struct level *in, const char *name, struct stat *st, bool stays)
{
    autoclose int fd = openat(in->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct level next = { .above = in, .fd = fd, .depth = in->depth + 1, .stays = stays };

    if (fd < 0 || (!st->st_ino && fstat(fd, st) < 0)) /* not accessible to us */
        return 0;
    if (l->is_home && is_environment(fd)) {
        l->has_shown = true;
        return 0;
    }
    /* Homes are large, and time is limited: directories that were not searched are hidden. */
    if (!stays && (in->depth >= l->depth_max || l->left <= 0 || (st->st_dev != in->dev && is_far(fd)))) {
        bool is_closed = l->is_private || !(st->st_mode & S_IXOTH); /* else other users of the host can read it too */

        return l->is_home && is_closed ? hide_this(l, in) : 0;
    }
    next.dev = st->st_dev;
    if (walk_entries(l, &next) < 0)
        return -1;
    return is_hidden_whole(l, &next) ? hide_this(l, in) : 0;
}

static int walk_entry(struct hide_search *l, struct level *in, const char *name, unsigned char kind)
{
    enum hide_walk_verdict verdict = l->glance ? l->glance(l, in, name, kind) : UNSURE;
    enum hide_place place = PLACE_PLAIN;
    struct stat st = { .st_mode = DTTOIF(kind) };

    if (verdict == UNSURE && (fstatat(in->fd, name, &st, HIDE_NEVER_WAIT) < 0 || S_ISLNK(st.st_mode)))
        return 0;
    if (S_ISDIR(st.st_mode))
        place = l->how->place(l->how->ctx, buf_view(&l->path));
    if (place == PLACE_SETTLED)
        return 0;
    if (place == PLACE_ABOVE)
        verdict = LOOK_INTO;
    else if (verdict == UNSURE)
        verdict = l->judge(l, in, name, &st);
    l->has_shown |= verdict == SHOW && !is_settled_dot(l, in, name);
    if (verdict == HIDE)
        return hide_this(l, in);
    return verdict == LOOK_INTO ? walk_into(l, in, name, &st, place == PLACE_ABOVE) : 0;
}

static bool is_walk_done(const struct hide_search *l, const struct level *in)
{
    bool has_time = l->left > 0 || (in->depth == 0 && l->of_each);

    return is_hidden_whole(l, in) || (!l->is_home && (!has_time || in->n_seen > l->of_one));
}

/* By getdents64(): a DIR stream for each directory would cost as much as all the rest. */
static int walk_entries(struct hide_search *l, struct level *in)
{
    _Alignas(struct dirent64) char entries[READ_BYTES];
    size_t length = l->path.n;
    ssize_t n;
    int rc = 0;

    if (length != 1) /* "/" */
        buf_char(&l->path, '/');
    length = l->path.n;
    while (rc == 0 && !is_walk_done(l, in) && (n = getdents64(in->fd, entries, sizeof(entries))) > 0)
        for (ssize_t at = 0; at < n && rc == 0 && !is_walk_done(l, in); l->left -= l->left > 0) {
            const struct dirent64 *entry = (const void *)(entries + at);
            bool is_self = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;

            at += entry->d_reclen;
            in->n_seen++;
            if (in->depth == 0 && l->of_each)
                l->left = l->of_each;
            l->path.n = length;
            buf_str(&l->path, str_of(entry->d_name));
            rc = is_self || entry->d_type == DT_LNK ? 0 : walk_entry(l, in, entry->d_name, entry->d_type);
        }
    l->path.n = length - (length != 1);
    return rc;
}

static int walk_top(struct hide_search *l, const char *top)
{
    autoclose int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    int rc;

    if (fd < 0 || fstat(fd, &st) < 0)
        return 0;
    l->is_far = is_far(fd);
    if (l->is_far && !l->is_home)
        return 0;
    buf_str(&l->path, str_of(top));
    rc = walk_entries(l, &(struct level){ .fd = fd, .dev = st.st_dev });
    buf_done(&l->path);
    return rc;
}

int hide_walk_machine(const struct hide_walk *how, const char *top)
{
    struct hide_search l = {
        .how = how, .judge = judge_machine, .depth_max = MACHINE_DEPTH, .left = INT_MAX, .of_one = INT_MAX
    };

    return walk_top(&l, top);
}

int hide_walk_some(const struct hide_walk *how, const char *top)
{
    struct hide_search l = { .how = how,
                             .glance = glance_some,
                             .judge = judge_machine,
                             .depth_max = SOME_DEPTH,
                             .left = SOME_ENTRIES,
                             .of_one = SOME_OF_ONE,
                             .of_each = SOME_ENTRIES };

    return walk_top(&l, top);
}

int hide_walk_home(const struct hide_walk *how, const char *top, bool is_private, bool *ret_shown)
{
    struct hide_search l = { .how = how,
                             .glance = glance_home,
                             .judge = judge_home,
                             .depth_max = HOME_DEPTH,
                             .left = HOME_ENTRIES,
                             .is_home = true,
                             .is_private = is_private };
    int rc = walk_top(&l, top);

    *ret_shown |= l.has_shown;
    return rc;
}
