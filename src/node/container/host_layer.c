/* host_layer.c - the layer of files that all containers of a run share */
#include "node/container/host_layer.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/util.h"
#include "node/userns/user.h"
#include "os/dir.h"
#include "os/io.h"
#include "os/tree.h"
#include "plugin/sshkey.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

enum {
    NOBODY = 65534,         /* how the kernel shows owners that the user namespace does not map */
    SMALL_FILE = 64 * 1024, /* larger files are not settings */
    LARGE_FILE = 4 << 20,   /* limit for /etc/passwd, and for each file when /etc is copied as a whole */
    WHOLE_DEPTH = 12,
    WHOLE_ENTRIES = 20000,
};

struct host_layer {
    int host, dir;      /* "/" of the host, and the tree */
    bool is_inner;      /* root of a user namespace */
    bool has_one_id;    /* no other user is mapped */
    bool has_whole_etc; /* see copy_etc() */
    unsigned n_copied;
    struct arena arena;
};

/* Directories that programs usually write to, and how many levels below them are of the same kind. */
static const struct {
    const char *path;
    int depth;
} customary[] = { { "etc", 2 }, { "usr", 1 }, { "usr/local", 2 }, { "var", 2 }, { "opt", 1 }, { "srv", 1 } };

/* ---- small helpers ---- */

static bool is_foreign(const struct host_layer *o, const struct stat *st)
{
    return o->is_inner && (st->st_uid == NOBODY || st->st_gid == NOBODY);
}

/* Copy mode and owner from the host; root where the owner is not mapped. No other process uses the tree, so nothing
 * changes in between. */
static int copy_attributes_of(const struct host_layer *o, const char *path, const struct stat *st)
{
    uid_t uid = o->is_inner && st->st_uid == NOBODY ? 0 : st->st_uid;
    gid_t gid = o->is_inner && st->st_gid == NOBODY ? 0 : st->st_gid;

    if ((uid || gid) && fchownat(o->dir, path, uid, gid, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    return fchmodat(o->dir, path, st->st_mode & 07777, 0);
}

static int host_layer_make_dir(const struct host_layer *o, const char *path, struct err *e)
{
    struct stat st;

    if (fstatat(o->host, path, &st, 0) < 0)
        return err_errno(e, "stat /%s", path);
    if (mkdirat(o->dir, path, 0700) < 0)
        return errno == EEXIST ? 0 : err_errno(e, "create %s", path);
    return copy_attributes_of(o, path, &st) < 0 ? err_errno(e, "create %s", path) : 0;
}

/* Create a file in place of an earlier copy or whiteout. */
static int open_new(const struct host_layer *o, const char *path)
{
    (void)unlinkat(o->dir, path, 0);
    return openat(o->dir, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static int host_layer_make_file(const struct host_layer *o, const char *path, struct str text, mode_t mode,
                                struct err *e)
{
    autoclose int fd = open_new(o, path);

    if (fd < 0 || write_all(fd, text) < 0 || fchmod(fd, mode) < 0)
        return err_errno(e, "write %s", path);
    return 0;
}

/* A whiteout, which overlayfs treats as a deleted file: the host's file is hidden. */
static int host_layer_whiteout(const struct host_layer *o, const char *path, struct err *e)
{
    (void)unlinkat(o->dir, path, 0);
    return mknodat(o->dir, path, S_IFCHR, makedev(0, 0)) < 0 ? err_errno(e, "hide /%s", path) : 0;
}

static int host_layer_hide(const struct host_layer *o, const char *path, struct err *e)
{
    if (!o->has_whole_etc)
        return host_layer_whiteout(o, path, e);
    return unlinkat(o->dir, path, 0) < 0 && errno != ENOENT ? err_errno(e, "hide /%s", path) : 0;
}

/* Call 'f' for each entry of a directory of the host, with its path; an unreadable directory has none. */
typedef int host_layer_entry_f(struct host_layer *o, const char *path, const struct dirent *entry, int depth,
                               struct err *e);

static int each_entry(struct host_layer *o, const char *dir, int depth, host_layer_entry_f *f, struct err *e)
{
    autodir *d = dir_open(o->host, dir);
    char path[PATH_MAX];
    int rc = 0;

    for (struct dirent *entry; rc == 0 && (entry = dir_next(d));)
        if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name) < sizeof(path))
            rc = f(o, path, entry, depth, e);
    return rc;
}

/* ---- for ordinary users: directories, and files of /etc ---- */

static int copy_dirs(struct host_layer *o, const char *path, int depth, struct err *e);

static int copy_customary_entry(struct host_layer *o, const char *path, const struct dirent *entry, int depth,
                                struct err *e)
{
    return entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN ? copy_dirs(o, path, depth, e) : 0;
}

/* A directory that we may not read is left out: an overlay could not read it either. */
static int copy_dirs(struct host_layer *o, const char *path, int depth, struct err *e)
{
    struct stat st;

    if (fstatat(o->host, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode) || !is_foreign(o, &st) ||
        faccessat(o->host, path, R_OK | X_OK, AT_EACCESS) < 0)
        return 0;
    if (host_layer_make_dir(o, path, e) < 0)
        return -1;
    return depth ? each_entry(o, path, depth - 1, copy_customary_entry, e) : 0;
}

/* A file that we may not read (/etc/.pwd.lock, /etc/shadow) is useless inside and would block creating a new one:
 * hide it. */
static int copy_content(struct host_layer *o, const char *path, off_t max, struct err *e)
{
    autoclose int from = openat(o->host, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
    autoclose int to = -1;
    struct stat st;
    off_t at = 0;

    if (from < 0 && errno == EACCES)
        return host_layer_hide(o, path, e);
    if (from < 0 || fstat(from, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > max)
        return 0;
    to = open_new(o, path);
    if (to < 0)
        return err_errno(e, "create %s", path);
    while (at < st.st_size) {
        ssize_t n = sendfile(to, from, &at, (size_t)(st.st_size - at));

        if (n < 0 && errno != EINTR)
            return err_errno(e, "copy /%s", path);
        if (n == 0)
            break; /* the file was truncated meanwhile */
    }
    return copy_attributes_of(o, path, &st) < 0 ? err_errno(e, "copy /%s", path) : 0;
}

static int host_layer_copy_file(struct host_layer *o, const char *path, const struct dirent *entry, int depth,
                                struct err *e)
{
    struct stat st;

    (void)depth;
    if ((entry->d_type != DT_REG && entry->d_type != DT_UNKNOWN) ||
        fstatat(o->host, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !is_foreign(o, &st))
        return 0;
    return copy_content(o, path, SMALL_FILE, e);
}

static int copy_customary(struct host_layer *o, struct err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(customary); i++)
        if (copy_dirs(o, customary[i].path, customary[i].depth, e) < 0)
            return -1;
    if (each_entry(o, "etc", 0, host_layer_copy_file, e) < 0)
        return -1;
    return faccessat(o->dir, "etc/ssh", F_OK, 0) == 0 ? each_entry(o, "etc/ssh", 0, host_layer_copy_file, e) : 0;
}

/* ---- all of /etc ---- */

/* In a user namespace the kernel refuses an overlay over a directory in which the host has mounts. When pumice itself
 * runs in a container as an ordinary user, /etc has mounts (/etc/hosts …): then copy all of /etc. */
static bool has_mounts_in_etc(void)
{
    autofile FILE *f = fopen("/proc/self/mountinfo", "re");
    autofree char *line = NULL;
    size_t size = 0;
    char at[16];

    while (f && getline(&line, &size, f) > 0)
        if (sscanf(line, "%*s %*s %*s %*s %15s", at) == 1 && strncmp(at, "/etc/", 5) == 0)
            return true;
    return false;
}

static int host_layer_copy_link(const struct host_layer *o, const char *path, struct err *e)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(o->host, path, target, sizeof(target) - 1);

    if (n < 0)
        return 0;
    target[n] = '\0';
    return symlinkat(target, o->dir, path) < 0 && errno != EEXIST ? err_errno(e, "copy /%s", path) : 0;
}

static int copy_etc_entry(struct host_layer *o, const char *path, const struct dirent *entry, int depth, struct err *e)
{
    struct stat st;

    (void)entry;
    if (++o->n_copied > WHOLE_ENTRIES || fstatat(o->host, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if (S_ISLNK(st.st_mode))
        return host_layer_copy_link(o, path, e);
    if (S_ISREG(st.st_mode))
        return copy_content(o, path, LARGE_FILE, e);
    if (!S_ISDIR(st.st_mode))
        return 0;
    if (host_layer_make_dir(o, path, e) < 0)
        return -1;
    return depth ? each_entry(o, path, depth - 1, copy_etc_entry, e) : 0;
}

static int copy_etc(struct host_layer *o, struct err *e)
{
    struct stat st;

    if (!has_mounts_in_etc() || fstatat(o->host, "etc", &st, 0) < 0 || !is_foreign(o, &st))
        return 0;
    o->has_whole_etc = true;
    if (host_layer_make_dir(o, "etc", e) < 0 || each_entry(o, "etc", WHOLE_DEPTH, copy_etc_entry, e) < 0)
        return -1;
    return host_layer_whiteout(o, "etc/" OVER_WHOLE, e);
}

/* ---- users ---- */

/* Before a login, sshd drops its rights by becoming a user of that name. With only one user id, that must be root
 * (and box.h pretends that its groups were changed). */
static void print_passwd(struct str passwd, struct buf *out)
{
    struct str line, rest, field;

    while (str_split(&passwd, '\n', &line)) {
        rest = line;
        if (!str_starts(line, STR("sshd:")) || !str_split(&rest, ':', &field) || !str_split(&rest, ':', &field) ||
            !str_split(&rest, ':', &field) || !str_split(&rest, ':', &field))
            buf_str(out, line);
        else
            buf_fmt(out, "sshd:x:0:0:%.*s", STR_ARG(rest));
        if (line.n)
            buf_char(out, '\n');
    }
}

static int make_users(struct host_layer *o, struct err *e)
{
    autobuf passwd = { 0 }, users = { 0 };

    if (!o->has_one_id || file_read(o->host, "etc/passwd", O_NOFOLLOW, LARGE_FILE, &passwd) != 0 || !passwd.n)
        return 0;
    print_passwd(buf_view(&passwd), &users);
    return host_layer_make_file(o, "etc/passwd", buf_view(&users), 0644, e);
}

/* ---- sshd ---- */

/* sshd reads the type of key from the file, not from its name: generating an RSA key would take longer than all other
 * steps of a run. */
static int generate_host_key(struct host_layer *o, const char *path, struct err *e)
{
    struct ssh_keys keys;

    if (ssh_keys_generate(&o->arena, strstr(path, "ecdsa") ? "ecdsa" : "ed25519", &keys, e) < 0)
        return -1;
    return host_layer_make_file(o, path, keys.private_pem, 0600, e);
}

/* Replace the private keys ("ssh_host_ed25519_key"); hide the public ones, which would not match. */
static int replace_key(struct host_layer *o, const char *path, const struct dirent *entry, int depth, struct err *e)
{
    struct str name = str_of(entry->d_name);

    (void)depth;
    if (!str_starts(name, STR("ssh_host_")))
        return 0;
    return str_ends(name, STR("_key")) ? generate_host_key(o, path, e) : host_layer_hide(o, path, e);
}

static int host_layer_make_keys(struct host_layer *o, struct err *e)
{
    static const char first[] = "etc/ssh/ssh_host_ed25519_key";

    if (faccessat(o->host, "etc/ssh/sshd_config", F_OK, 0) < 0)
        return 0; /* no sshd */
    if (host_layer_make_dir(o, "etc/ssh", e) < 0 || each_entry(o, "etc/ssh", 0, replace_key, e) < 0)
        return -1;
    return faccessat(o->dir, first, F_OK, 0) == 0 ? 0 : generate_host_key(o, first, e);
}

/* ---- /tmp, /run ---- */

static void add_opaque_dir(int dir, const char *name, mode_t mode, const char *below)
{
    autoclose int fd = -1;

    if (tree_remove(dir, name, NULL) < 0) /* an opaque directory hides all */
        return;
    if (mkdirat(dir, name, 0700) < 0 || (fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 ||
        (below && (mkdirat(fd, below, 0700) < 0 || fchmodat(fd, below, 0755, 0) < 0)) || fchmod(fd, mode) < 0 ||
        fsetxattr(fd, OVER_OPAQUE, "y", 1, 0) < 0) /* last: without it the directory is not used */
        (void)tree_remove(dir, name, NULL);
}

void host_layer_add_own(int dir)
{
    if (user_ids() != UINT32_MAX)
        return;
    add_opaque_dir(dir, "tmp", 01777, NULL);
    add_opaque_dir(dir, "run", 0755, "lock");
}

/* ---- all of it ---- */

static int host_layer_fill(struct host_layer *o, struct err *e)
{
    struct stat st;

    if (o->is_inner && (copy_customary(o, e) < 0 || copy_etc(o, e) < 0))
        return -1;
    if (fstatat(o->host, "etc", &st, 0) < 0 || !S_ISDIR(st.st_mode))
        return 0; /* an unusual host without /etc; it has no sshd */
    return host_layer_make_dir(o, "etc", e) < 0 || make_users(o, e) < 0 || host_layer_make_keys(o, e) < 0 ? -1 : 0;
}

int host_layer_make(int dir, struct err *e)
{
    uint32_t n_ids = user_ids();
    struct host_layer o = { .dir = dir, .is_inner = n_ids != UINT32_MAX, .has_one_id = n_ids == 1 };
    int rc;

    o.host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    rc = o.host < 0 ? err_errno(e, "open /") : host_layer_fill(&o, e);
    if (o.host >= 0)
        close(o.host);
    arena_done(&o.arena);
    return rc < 0 ? err_wrap(e, "prepare the layer over the host's files") : 0;
}
