/* hide_walk.c - finding what the modes of the host's files close to others */
#include "node/container/hide.h"

#include "base/util.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>

enum {
    NEVER_WAIT = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
    MACHINE_DEPTH = 40, /* deeper than anything but a trap */
    HOME_DEPTH = 3,
    HOME_ENTRIES = 4096,
    READ_BYTES = 4096,
};

enum verdict { SHOW, HIDE, LOOK_INTO, UNSURE };

struct level { /* a directory that is being read */
    struct level *above;
    int fd, depth;
    dev_t dev;
    bool is_asked, is_environment; /* see is_environment() */
};

struct look {
    const struct hide_walk *how;
    /* By the kind of it alone (DT_…); UNSURE: it has to be looked at. May be NULL. */
    enum verdict (*glance)(const struct look *l, const struct level *in, const char *name, unsigned char kind);
    enum verdict (*judge)(const struct look *l, struct level *in, const char *name, const struct stat *st);
    struct buf path; /* of what is being looked at */
    int depth_max, left;
};

/* ---- what is closed below /etc and /var ---- */

static bool is_shown(const struct look *l)
{
    struct str path = buf_view(&l->path);

    for (const char *const *p = hide_shown_list(); *p; p++) {
        struct str one = str_of(*p);

        if (str_ends(one, STR("*")) ? str_starts(path, str_sub(one, 0, one.n - 1)) : str_eq(path, one))
            return true;
    }
    return false;
}

/* What we may not read or enter ourselves nobody reads by us. */
static enum verdict judge_machine(const struct look *l, struct level *in, const char *name, const struct stat *st)
{
    bool is_dir = S_ISDIR(st->st_mode), is_closed = !(st->st_mode & (is_dir ? S_IXOTH : S_IROTH));

    if (!is_dir && !is_closed)
        return SHOW;
    if (is_shown(l))
        return SHOW;
    if (!is_closed)
        return LOOK_INTO;
    return !l->how->is_inner || faccessat(in->fd, name, is_dir ? X_OK : R_OK, AT_EACCESS) == 0 ? HIDE : SHOW;
}

/* ---- what is its owner's alone, in a home directory ---- */

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

/* Is it, or something it lies in, the environment of a program? Whatever is there belongs to the program. Asked only
 * when something would be hidden. */
static bool is_environment(struct level *level)
{
    static const char *const marks[] = { "pyvenv.cfg", "conda-meta" };

    for (; level; level = level->above) {
        for (size_t i = 0; i < ARRAY_LEN(marks) && !level->is_asked; i++)
            level->is_environment |= faccessat(level->fd, marks[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        level->is_asked = true;
        if (level->is_environment)
            return true;
    }
    return false;
}

/* Most of a home, so nothing is asked of these. */
static enum verdict glance_home(const struct look *l, const struct level *in, const char *name, unsigned char kind)
{
    if (kind == DT_DIR)
        return in->depth >= l->depth_max || is_program_dir(name) ? SHOW : LOOK_INTO;
    return kind == DT_REG && is_program(name) ? SHOW : UNSURE;
}

static enum verdict judge_home(const struct look *l, struct level *in, const char *name, const struct stat *st)
{
    (void)l;
    if (S_ISDIR(st->st_mode))
        return is_program_dir(name) ? SHOW : LOOK_INTO;
    if (st->st_mode & (S_IRGRP | S_IROTH | S_IXUSR | S_IXGRP | S_IXOTH))
        return SHOW;
    return is_program(name) || is_environment(in) ? SHOW : HIDE;
}

/* ---- the walk ---- */

/* A server far away decides itself who may read what, and asking it takes long. */
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

static int walk(struct look *l, struct level *in);

/* 'st': of a directory that was only glanced at, empty. */
static int look_into(struct look *l, struct level *in, const char *name, struct stat *st)
{
    autoclose int fd = -1;

    if (in->depth >= l->depth_max)
        return 0;
    fd = openat(in->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || (!st->st_ino && fstat(fd, st) < 0) || (st->st_dev != in->dev && is_far(fd))) /* not for us */
        return 0;
    return walk(l, &(struct level){ in, fd, in->depth + 1, st->st_dev, false, false });
}

static int look_at(struct look *l, struct level *in, const char *name, unsigned char kind)
{
    enum verdict verdict = l->glance ? l->glance(l, in, name, kind) : UNSURE;
    enum hide_place place = PLACE_PLAIN;
    struct stat st = { .st_mode = DTTOIF(kind) };

    if (verdict == UNSURE && (fstatat(in->fd, name, &st, NEVER_WAIT) < 0 || S_ISLNK(st.st_mode)))
        return 0;
    if (S_ISDIR(st.st_mode))
        place = l->how->place(l->how->ctx, buf_view(&l->path));
    if (place == PLACE_SETTLED)
        return 0;
    if (place == PLACE_ABOVE_HOME)
        verdict = LOOK_INTO;
    else if (verdict == UNSURE)
        verdict = l->judge(l, in, name, &st);
    if (verdict == HIDE)
        return l->how->hide(l->how->ctx, buf_view(&l->path));
    return verdict == LOOK_INTO ? look_into(l, in, name, &st) : 0;
}

static bool is_name(const struct dirent64 *entry)
{
    const char *name = entry->d_name;

    return entry->d_type != DT_LNK && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* By the system call: a stream for each directory would cost as much as the rest. */
static int walk(struct look *l, struct level *in)
{
    _Alignas(struct dirent64) char entries[READ_BYTES];
    size_t length = l->path.n;
    ssize_t n;
    int rc = 0;

    buf_char(&l->path, '/');
    while (rc == 0 && l->left > 0 && (n = getdents64(in->fd, entries, sizeof(entries))) > 0)
        for (ssize_t at = 0; at < n && rc == 0 && l->left > 0; l->left--) {
            const struct dirent64 *entry = (const void *)(entries + at);

            at += entry->d_reclen;
            l->path.n = length + 1;
            buf_str(&l->path, str_of(entry->d_name));
            rc = is_name(entry) ? look_at(l, in, entry->d_name, entry->d_type) : 0;
        }
    l->path.n = length;
    return rc;
}

static int look_below(struct look *l, const char *top)
{
    autoclose int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    int rc;

    if (fd < 0 || fstat(fd, &st) < 0 || is_far(fd))
        return 0;
    buf_str(&l->path, str_of(top));
    rc = walk(l, &(struct level){ .fd = fd, .dev = st.st_dev });
    buf_done(&l->path);
    return rc;
}

int hide_walk_machine(const struct hide_walk *how, const char *top)
{
    struct look l = { .how = how, .judge = judge_machine, .depth_max = MACHINE_DEPTH, .left = INT_MAX };

    return look_below(&l, top);
}

int hide_walk_home(const struct hide_walk *how, const char *top)
{
    struct look l = {
        .how = how, .glance = glance_home, .judge = judge_home, .depth_max = HOME_DEPTH, .left = HOME_ENTRIES
    };

    return look_below(&l, top);
}
