/* volume_files.c - write the files of a configMap or similar volume, replaced in one step
 *
 *     ..v7/            the files, in directories as their paths say
 *     ..data           link to ..v7; renaming a new link over it replaces the files
 *     key, .ssh …      links to ..data/key, ..data/.ssh: the names a container opens
 *
 * The order is: write ..v8, rename ..data, create links for new names, remove those of old ones and ..v7. A crash
 * between any two steps leaves a readable volume, and the next write cleans up. Only we write here (containers have
 * it mounted read-only), so the state is read back from the directory itself.
 */
#include "node/volume/volume_internal.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

enum { GENERATION_NAME_MAX = 32 };

static const char data_link[] = "..data", data_link_new[] = "..data_tmp";

/* ---- current files ---- */

/* The number of the current files; 0: none yet. */
static uint64_t generation_now(int root)
{
    char target[GENERATION_NAME_MAX];
    ssize_t n = readlinkat(root, data_link, target, sizeof(target));
    uint64_t number;
    struct str name = { target, n > 0 ? (size_t)n : 0 }; /* "..v7" */

    return str_starts(name, STR("..v")) && str_to_u64(str_from(name, 3), &number) == 0 ? number : 0;
}

static void generation_name(uint64_t number, char name[GENERATION_NAME_MAX])
{
    (void)snprintf(name, GENERATION_NAME_MAX, "..v%llu", (unsigned long long)number);
}

static int generation_open(int root, uint64_t number)
{
    char name[GENERATION_NAME_MAX];

    generation_name(number, name);
    return path_open_below(root, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
}

int volume_files_open(int root, int *ret_fd, struct err *e)
{
    int fd = generation_open(root, generation_now(root));

    if (fd < 0)
        return io_errno(e, "open the files of the volume");
    *ret_fd = fd;
    return 0;
}

/* ---- comparison with the wanted files ---- */

static mode_t mode_for(mode_t mode, struct volume_owner owner)
{
    return owner.has_group ? mode | 0440 : mode;
}

static bool same_bytes(int fd, struct str data)
{
    char part[16384];
    ssize_t n;

    while ((n = read(fd, part, sizeof(part))) > 0) {
        if ((size_t)n > data.n || memcmp(part, data.p, (size_t)n) != 0)
            return false;
        data = str_from(data, (size_t)n);
    }
    return n == 0 && data.n == 0;
}

static bool same_file(int dir, const struct volume_file *f, struct volume_owner owner)
{
    autoclose int fd = path_open_below(dir, f->path.p, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, RESOLVE_NO_SYMLINKS);
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (size_t)st.st_size == f->data.n &&
           (st.st_mode & 07777) == mode_for(f->mode, owner) && (!owner.has_group || st.st_gid == owner.group) &&
           same_bytes(fd, f->data);
}

/* Recursion is limited by the paths we wrote. Stops counting above 'limit'. */
static size_t count_files(int dir, const char *name, size_t limit)
{
    autodir *d = dir_open(dir, name);
    size_t n = 0;

    for (struct dirent *entry; n <= limit && (entry = dir_next(d));)
        n += entry->d_type == DT_DIR ? count_files(dirfd(d), entry->d_name, limit - n) : 1;
    return n;
}

static bool is_current(int root, uint64_t number, const struct volume_files *files, struct volume_owner owner)
{
    autoclose int dir = number ? generation_open(root, number) : -1;

    if (dir < 0 || count_files(dir, ".", files->list.n) != files->list.n)
        return false;
    VEC_FOREACH(f, &files->list)
        if (!same_file(dir, f, owner))
            return false;
    return true;
}

/* ---- writing ---- */

static int own_new_dir(void *ctx, int parent, const char *name, const char *path, struct err *e)
{
    const struct volume_owner *owner = ctx;
    autoclose int fd = -1;

    if (!owner->has_group)
        return 0;
    fd = path_open_below(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
    if (fd < 0)
        return io_errno(e, "directory \"%s\"", path);
    return tree_own_fd(fd, owner->group, true, e) < 0 ? err_wrap(e, "directory \"%s\"", path) : 0;
}

/* Open the directory of a file, creating it if missing. */
static int make_parent(int dir, struct str path, struct volume_owner *owner, int *ret_fd, struct err *e)
{
    struct make_below how = { dir, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, 0755, own_new_dir, owner };
    ptrdiff_t slash = str_rfind_char(path, '/');

    return make_dirs_below(&how, str_sub(path, 0, (size_t)MAX_OF(slash, 0)), ret_fd, e);
}

/* Create it with 0600: it must not be readable before it has its final mode. */
static int volume_files_write_file(int dir, const struct volume_file *f, struct volume_owner owner, struct err *e)
{
    autoclose int parent = -1, fd = -1;

    if (make_parent(dir, f->path, &owner, &parent, e) < 0)
        return -1;
    fd = openat(parent, f->path.p + str_rfind_char(f->path, '/') + 1,
                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return io_errno(e, "create");
    if (write_all(fd, f->data) < 0)
        return io_errno(e, "write");
    if (owner.has_group && fchown(fd, (uid_t)-1, owner.group) < 0)
        return tree_group_errno(e, owner.group);
    if (fchmod(fd, mode_for(f->mode, owner)) < 0)
        return io_errno(e, "set the mode");
    return 0;
}

static int write_files(int dir, const struct volume_files *files, struct volume_owner owner, struct err *e)
{
    VEC_FOREACH(f, &files->list)
        if (volume_files_write_file(dir, f, owner, e) < 0)
            return err_wrap(e, "file \"%.*s\"", STR_ARG(f->path));
    return 0;
}

static int volume_files_publish(int root, const char *name, struct err *e)
{
    if (unlinkat(root, data_link_new, 0) < 0 && errno != ENOENT)
        return io_errno(e, "remove %s", data_link_new);
    if (symlinkat(name, root, data_link_new) < 0)
        return io_errno(e, "create %s", data_link_new);
    if (renameat(root, data_link_new, root, data_link) < 0)
        return io_errno(e, "publish %s", data_link);
    return 0;
}

static int write_generation(int root, uint64_t number, const struct volume_files *files, struct volume_owner owner,
                            struct err *e)
{
    char name[GENERATION_NAME_MAX];
    autoclose int dir = -1;

    generation_name(number, name);
    if (tree_remove(root, name, e) < 0) /* partly written before a crash */
        return -1;
    if (make_dir_at(root, name, 0755, &dir, e) < 0)
        return -1;
    if (owner.has_group && tree_own_fd(dir, owner.group, true, e) < 0)
        goto undo;
    if (write_files(dir, files, owner, e) < 0 || volume_files_publish(root, name, e) < 0)
        goto undo;
    return 0;

undo:
    (void)tree_remove(root, name, NULL); /* the next write would remove it too */
    return -1;
}

/* ---- names ---- */

static struct str first_part(struct str path)
{
    ptrdiff_t slash = str_find_char(path, '/');

    return slash < 0 ? path : str_sub(path, 0, (size_t)slash);
}

static int make_link(struct arena *a, int root, struct str name, struct err *e)
{
    const char *link = arena_cstr(a, name);
    struct str want = arena_fmt(a, "%s/%.*s", data_link, STR_ARG(name));
    char target[PATH_MAX];
    ssize_t n = readlinkat(root, link, target, sizeof(target));

    if (n > 0 && str_eq((struct str){ target, (size_t)n }, want))
        return 0;
    if ((n >= 0 || errno != ENOENT) && tree_remove(root, link, e) < 0)
        return -1;
    return symlinkat(want.p, root, link) < 0 ? io_errno(e, "create link \"%s\"", link) : 0;
}

static int make_links(struct arena *a, int root, const struct volume_files *files, struct err *e)
{
    struct str last = STR_NULL;

    VEC_FOREACH(f, &files->list) {
        struct str name = first_part(f->path);

        if (last.p && str_eq(name, last)) /* sorted: equal names are adjacent */
            continue;
        last = name;
        if (make_link(a, root, name, e) < 0)
            return -1;
    }
    return 0;
}

static bool has_name(const struct volume_files *files, struct str name)
{
    size_t lo = 0, hi = files->list.n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (volume_path_cmp(files->list.v[mid].path, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < files->list.n && str_eq(first_part(files->list.v[lo].path), name);
}

/* Remove everything but '..data', its directory and names of current files. */
static int remove_stale(int root, uint64_t number, const struct volume_files *files, struct err *e)
{
    autodir *d = dir_open(root, ".");
    char current[GENERATION_NAME_MAX];
    int rc = 0;

    if (!d)
        return io_errno(e, "list the files of the volume");
    generation_name(number, current);
    for (struct dirent *entry; rc == 0 && (entry = dir_next(d));) {
        const char *name = entry->d_name;

        if (strcmp(name, data_link) != 0 && strcmp(name, current) != 0 && !has_name(files, str_of(name)))
            rc = tree_remove(root, name, e);
    }
    return rc;
}

int volume_files_write(int root, const struct volume_files *files, struct volume_owner owner, struct err *e)
{
    uint64_t number = generation_now(root);

    if (!is_current(root, number, files, owner)) {
        number = number < UINT64_MAX ? number + 1 : 1;
        if (write_generation(root, number, files, owner, e) < 0)
            return -1;
    }
    if (make_links(files->arena, root, files, e) < 0)
        return -1;
    return remove_stale(root, number, files, e);
}
