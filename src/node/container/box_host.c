/* box_host.c - the host's files as the root of a container
 *
 * As root of the machine: one overlay over "/", and one over each other file system that is mounted below it.
 *
 * As root of a user namespace the kernel refuses an overlay over a directory with mounts of the host below it (one
 * could look behind them). Then the root is a directory of ours with one overlay for each directory of "/"; directories with mounts
 * below are put together in the same way, level by level. What we may not even open (/root of an ordinary user) is an
 * empty directory.
 */
#include "node/container/box_internal.h"
#include "node/container/host_layer.h"

#include <errno.h>
#include <linux/stat.h>

struct host_mount {
    struct str path;
    uint64_t id;
    unsigned attr;   /* MOUNT_ATTR_* it has on the host and keeps; one that is read-only there needs no overlay */
    bool is_skipped; /* never shown */
};

struct host {
    struct box *box;
    VEC(struct host_mount) mounts; /* below "/", without those of our own /proc, /sys … */
    VEC(struct str)
    whole; /* directories that 'over' stands for as a whole (host_layer.h), with all that is mounted below */
};

/* Not the host's: the container gets its own. */
static const char *const own_dirs[] = { "/proc", "/sys", "/dev", "/run", "/tmp" };

/* Nothing here is software for a container, and there may be hundreds of mounts. */
static const char *const dull_dirs[] = {
    "/boot",
    "/efi",
    "/snap",
    "/var/snap",
    "/var/lib/docker",
    "/var/lib/containers",
    "/var/lib/kubelet",
    "/var/lib/containerd",
    "/var/lib/lxcfs",
    "/var/lib/nfs/rpc_pipefs",
};

static const char *const dull_types[] = {
    "autofs", "binfmt_misc", "bpf",        "cgroup",     "cgroup2",   "configfs", "debugfs",
    "devpts", "devtmpfs",    "efivarfs",   "fusectl",    "hugetlbfs", "mqueue",   "nsfs",
    "proc",   "pstore",      "rpc_pipefs", "securityfs", "selinuxfs", "sysfs",    "tracefs",
};

static bool is_in(struct str path, const char *const *dirs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (box_is_below(path, str_of(dirs[i])))
            return true;
    return false;
}

static bool is_hidden(const struct host *h, struct str path)
{
    VEC_FOREACH(dir, &h->box->spec->hidden)
        if (dir->n > 1 && box_is_below(path, *dir))
            return true;
    return false;
}

static bool is_dull_type(struct str type)
{
    for (size_t i = 0; i < ARRAY_LEN(dull_types); i++)
        if (str_is(type, dull_types[i]))
            return true;
    return false;
}

/* ---- /proc/self/mountinfo ---- */

static bool is_octal(const char *p)
{
    return p[0] >= '0' && p[0] <= '3' && p[1] >= '0' && p[1] <= '7' && p[2] >= '0' && p[2] <= '7';
}

/* "\040" stands for a blank. */
static struct str unescape(struct arena *a, struct str s)
{
    char *p;
    size_t n = 0;

    if (!str_has_char(s, '\\'))
        return s;
    p = arena_alloc(a, s.n);
    for (size_t i = 0; i < s.n; i++) {
        bool escaped = s.p[i] == '\\' && i + 3 < s.n && is_octal(s.p + i + 1);

        p[n++] = escaped ? (char)((s.p[i + 1] - '0') << 6 | (s.p[i + 2] - '0') << 3 | (s.p[i + 3] - '0')) : s.p[i];
        i += escaped ? 3 : 0;
    }
    return (struct str){ p, n };
}

static unsigned attr_of(struct str options)
{
    static const struct {
        const char *name;
        unsigned attr;
    } known[] = { { "ro", MOUNT_ATTR_RDONLY }, { "nosuid", MOUNT_ATTR_NOSUID }, { "noexec", MOUNT_ATTR_NOEXEC } };
    unsigned attr = MOUNT_ATTR_NODEV;
    struct str one;

    while (str_split(&options, ',', &one))
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
            if (str_is(one, known[i].name))
                attr |= known[i].attr;
    return attr;
}

/* "27 1 254:0 / /home rw,relatime shared:1 - ext4 /dev/vda rw": fields 0 id, 4 mount point, 5 options; the type
 * follows "-". */
static void add_line(struct host *h, struct str line)
{
    struct arena *a = &h->box->arena;
    struct str field[6], word;
    struct host_mount m = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(field); i++)
        if (!str_split(&line, ' ', &field[i]))
            return;
    m.path = unescape(a, field[4]);
    if (str_to_u64(field[0], &m.id) < 0 || m.path.n < 2 || m.path.p[0] != '/' ||
        is_in(m.path, own_dirs, ARRAY_LEN(own_dirs)))
        return;
    while (str_split(&line, ' ', &word) && !str_is(word, "-"))
        ;
    m.attr = attr_of(field[5]);
    m.is_skipped = !str_split(&line, ' ', &word) || is_dull_type(word) || is_hidden(h, m.path) ||
                   is_in(m.path, dull_dirs, ARRAY_LEN(dull_dirs));
    if (m.is_skipped && str_split(&line, ' ', &word) && str_is(word, "pumice"))
        return; /* our own: the kernel lets us look behind it, and nothing of it shows */
    *vec_push(a, &h->mounts) = m;
}

static int read_mounts(struct host *h, struct err *e)
{
    autobuf text = { 0 };
    struct str rest, line;

    if (file_read(AT_FDCWD, "/proc/self/mountinfo", 0, SIZE_MAX, &text) < 0) /* the kernel has a bound for mounts */
        return err_errno(e, "read /proc/self/mountinfo");
    rest = arena_str(&h->box->arena, buf_view(&text));
    while (str_split(&rest, '\n', &line))
        add_line(h, line);
    return 0;
}

/* Is this mount what one sees at its path, not one that others were mounted over? */
static bool is_visible(const struct host_mount *m, int fd, struct stat *ret)
{
    struct statx st;

    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &st) < 0 || st.stx_mnt_id != m->id)
        return false;
    return fstat(fd, ret) == 0;
}

/* ---- one directory of the host ---- */

/* An overlay over 'lower', or, where there can be none, the same files read-only. */
static int layer(struct host *h, int lower, struct str path, bool is_dir, bool has_over, unsigned attr)
{
    int mount = is_dir && !(attr & MOUNT_ATTR_RDONLY) ? box_overlay(h->box, lower, path, has_over, attr, NULL) : -1;

    if (mount >= 0) {
        int part = fcntl(mount, F_DUPFD_CLOEXEC, 3);

        if (part >= 0)
            box_part(h->box, part);
        return mount;
    }
    h->box->has_bare |= is_dir && has_over && S_ISDIR(box_over_look(h->box, path));
    mount = box_mount_clone(lower, "", false);
    if (mount < 0 && errno == EINVAL)
        mount = box_mount_clone(lower, "", true);
    if (mount >= 0 && box_mount_set(mount, attr | MOUNT_ATTR_RDONLY, true) < 0) {
        close(mount);
        mount = -1;
    }
    return mount;
}

/* Show a file system of the host that is mounted somewhere below "/". One that cannot be shown is left out: an empty
 * directory is there in its place. */
static int place_mount(struct host *h, const struct host_mount *m, struct err *e)
{
    autoclose int from = open(arena_cstr(&h->box->arena, m->path), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    int mount;

    if (m->is_skipped || from < 0 || !is_visible(m, from, &st))
        return 0;
    VEC_FOREACH(dir, &h->whole)
        if (box_is_below(m->path, *dir))
            return 0;
    mount = layer(h, from, m->path, S_ISDIR(st.st_mode), true, m->attr);
    if (mount < 0)
        return 0;
    return box_put(h->box, mount, m->path, S_ISDIR(st.st_mode) ? BOX_DIR : BOX_FILE, e);
}

static int place_mounts(struct host *h, struct err *e)
{
    VEC_FOREACH(m, &h->mounts) /* parents come before what is mounted in them */
        if (place_mount(h, m, e) < 0)
            return err_wrap(e, "file system \"%.*s\"", STR_ARG(m->path));
    return 0;
}

/* ---- piece by piece, in a user namespace ---- */

enum {
    MAX_FILES = 16,
    MAX_DEPTH = 8
}; /* files bound one by one: "/" has a few, a directory with more is bound whole */

static bool is_mount_point(const struct host *h, struct str path)
{
    VEC_FOREACH(m, &h->mounts)
        if (str_eq(m->path, path))
            return true;
    return false;
}

static bool has_mounts_below(const struct host *h, struct str path)
{
    VEC_FOREACH(m, &h->mounts)
        if (m->path.n > path.n && box_is_below(m->path, path))
            return true;
    return false;
}

static bool may_list(int dir)
{
    return faccessat(dir, "", R_OK | X_OK, AT_EACCESS | AT_EMPTY_PATH) == 0;
}

/* How many entries a directory has, and how many of them are files. */
static size_t count_entries(int dir, size_t *ret_files)
{
    autodir *d = dir_open(dir, ".");
    size_t n = 0;

    *ret_files = 0;
    for (struct dirent *entry; *ret_files <= MAX_FILES && (entry = dir_next(d)); n++)
        *ret_files += entry->d_type != DT_DIR && entry->d_type != DT_LNK;
    return n;
}

static int compose(struct host *h, int from, int to, struct str path, int depth, struct err *e);

static int attach_layer(struct host *h, int from, int to, const char *name, struct str path, bool is_dir)
{
    autoclose int target = openat(to, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    autoclose int mount = target < 0 ? -1 : layer(h, from, path, is_dir, path.n, MOUNT_ATTR_NODEV);

    /* A directory that cannot be shown stays empty. */
    return mount < 0 ? 0 : box_mount_attach(mount, target);
}

/* The kernel refuses an overlay over the host's own; this one is as good. */
static int attach_whole(struct host *h, int to, const char *name, struct str path)
{
    autoclose int from = path_open_in(h->box->over, path, O_PATH | O_DIRECTORY);
    autoclose int target = openat(to, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    autoclose int mount = from < 0 || target < 0 ? -1 : layer(h, from, path, true, false, MOUNT_ATTR_NODEV);

    *vec_push(&h->box->arena, &h->whole) = path;
    return mount < 0 ? -1 : box_mount_attach(mount, target);
}

static bool is_whole(struct host *h, struct str path)
{
    return S_ISCHR(box_over_look(h->box, arena_fmt(&h->box->arena, "%.*s/" OVER_WHOLE, STR_ARG(path))));
}

static int compose_dir(struct host *h, int from, int to, const char *name, struct str path, int depth, struct err *e)
{
    autoclose int fd = openat(from, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    autoclose int made = -1;
    size_t n_files;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return 0;
    if (mkdirat(to, name, st.st_mode & 07777) < 0)
        return err_errno(e, "make \"%.*s\"", STR_ARG(path));
    if (is_in(path, own_dirs, ARRAY_LEN(own_dirs)) || is_mount_point(h, path) || !may_list(fd))
        return 0;
    if (count_entries(fd, &n_files) == 0) /* /media, /opt …: as good as an overlay, and cheaper */
        return 0;
    if (has_mounts_below(h, path) && is_whole(h, path))
        return attach_whole(h, to, name, path) < 0 ? err_errno(e, "mount \"%.*s\"", STR_ARG(path)) : 0;
    if (!has_mounts_below(h, path) || depth >= MAX_DEPTH || n_files > MAX_FILES)
        return attach_layer(h, fd, to, name, path, true) < 0 ? err_errno(e, "mount \"%.*s\"", STR_ARG(path)) : 0;
    made = openat(to, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return made < 0 ? err_errno(e, "open \"%.*s\"", STR_ARG(path)) : compose(h, fd, made, path, depth + 1, e);
}

static int compose_link(int from, int to, const char *name)
{
    char target[4096];
    ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

    if (n < 0)
        return 0;
    target[n] = '\0';
    return symlinkat(target, to, name);
}

static int compose_file(struct host *h, int from, int to, const char *name, struct str path)
{
    bool is_changed = S_ISREG(box_over_look(h->box, path));
    autoclose int fd = is_changed ? path_open_in(h->box->over, path, O_PATH | O_NOFOLLOW)
                                  : openat(from, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    autoclose int made = fd < 0 ? -1 : openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);

    return made < 0 ? 0 : attach_layer(h, fd, to, name, STR_NULL, false);
}

static int compose_entry(struct host *h, int from, int to, const struct dirent *entry, struct str dir, int depth,
                         struct err *e)
{
    const char *name = entry->d_name;
    struct str path;
    struct stat st;

    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    path = arena_fmt(&h->box->arena, "%.*s/%s", STR_ARG(dir), name);
    if (S_ISCHR(box_over_look(h->box, path)))
        return 0;
    if (S_ISDIR(st.st_mode))
        return compose_dir(h, from, to, name, path, depth, e);
    if (S_ISLNK(st.st_mode) ? compose_link(from, to, name) < 0
                            : S_ISREG(st.st_mode) && compose_file(h, from, to, name, path) < 0)
        return err_errno(e, "\"%.*s\"", STR_ARG(path));
    return 0;
}

/* Make of 'to' (a directory of ours) what 'from' is on the host; 'path' is "" for "/". */
static int compose(struct host *h, int from, int to, struct str path, int depth, struct err *e)
{
    autodir *d = dir_open(from, ".");
    int result = 0;

    if (!d)
        return err_errno(e, "list \"%.*s\"", STR_ARG(path));
    for (struct dirent *entry; result == 0 && (entry = dir_next(d));)
        result = compose_entry(h, from, to, entry, path, depth, e);
    return result;
}

static int compose_root(struct host *h, int from, struct err *e)
{
    struct box *b = h->box;

    if (box_plain_dir(b, "root", 0755, MOUNT_ATTR_NODEV, &b->root, e) < 0)
        return -1;
    box_part(b, b->root);
    if (box_mount_attach(b->root, b->state) < 0)
        return err_errno(e, "attach the root");
    return compose(h, from, b->root, STR_NULL, 0, e);
}

/* ---- all of it ---- */

static int overlay_root(struct box *b, int lower, struct err *e)
{
    b->root = box_overlay(b, lower, STR("/"), true, MOUNT_ATTR_NODEV, e);
    if (b->root < 0)
        return -1;
    box_part(b, b->root);
    b->is_overlay = true;
    return box_mount_attach(b->root, b->state) < 0 ? err_errno(e, "attach the root") : 0;
}

int box_root_host(struct box *b, struct err *e)
{
    struct host h = { .box = b };
    autoclose int lower = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (lower < 0)
        return err_errno(e, "open /");
    if (b->spec->over.n && (b->over = open(arena_cstr(&b->arena, b->spec->over), O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
        return err_errno(e, "open %.*s", STR_ARG(b->spec->over));
    if (read_mounts(&h, e) < 0)
        return -1;
    if (b->is_inner || overlay_root(b, lower, e) < 0) {
        /* An overlay that failed as real root: the state directory cannot hold it, or "/" cannot be below one. */
        if (!b->is_inner && !b->has_tmp_state && box_use_tmp_state(b, e) == 0 && overlay_root(b, lower, e) == 0)
            return place_mounts(&h, e);
        if (compose_root(&h, lower, e) < 0)
            return err_wrap(e, "the host's files");
    }
    return place_mounts(&h, e);
}
