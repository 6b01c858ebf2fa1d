/* tree_copy.c - a tree that others wrote, as files of one's own
 *
 * The processes that wrote the source have ended, and the destination is a new directory; still all access is by
 * descriptor, and existing files are never written to (O_EXCL).
 */
#include "os/tree.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/util.h"
#include "os/file_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

enum { NAMES_MAX = 100000 }; /* files with several names that are remembered; more become files of their own */

struct tree_copy_copying {
    struct tree_copy *c;
    int to[TREE_LEVELS + 1]; /* directories made so far on the way; -1: not yet */
    mode_t mask;
    struct arena arena;
    struct map names; /* const char * (below 'to') by device and inode */
    size_t n_names;
};

static bool tree_copy_is_stopped(void *ctx)
{
    struct tree_copy_copying *k = ctx;

    if (!k->c->is_ended && k->c->is_stopped && k->c->is_stopped(k->c->ctx)) {
        k->c->is_ended = true;
        return true;
    }
    return false;
}

static void not_copied(struct tree_copy_copying *k, struct str path)
{
    int error = errno;

    if (!k->c->not_copied++) {
        k->c->first_errno = error;
        (void)snprintf(k->c->first, sizeof(k->c->first), "%.*s", STR_ARG(path));
    }
    /* The next file would fail too. */
    k->c->is_ended |= error == ENOSPC || error == EDQUOT || error == EROFS || error == EIO || error == ECANCELED;
}

/* ---- directories, when something is put into them ---- */

/* The directory of the entry: made level by level by the path, of which each name was a directory a moment ago. */
static int make_way(struct tree_copy_copying *k, const struct tree_entry *entry)
{
    struct str rest = str_from(entry->path, 1), name;

    for (unsigned i = 0; i < entry->level && str_split(&rest, '/', &name); i++) {
        char text[NAME_MAX + 1];

        if (k->to[i + 1] >= 0)
            continue;
        (void)snprintf(text, sizeof(text), "%.*s", STR_ARG(name));
        if (mkdirat(k->to[i], text, 0777) < 0 && errno != EEXIST)
            return -1;
        k->to[i + 1] = openat(k->to[i], text, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (k->to[i + 1] < 0)
            return -1;
    }
    return k->to[entry->level];
}

static mode_t mode_of(const struct tree_copy_copying *k, mode_t mode, mode_t least)
{
    return ((mode & 0777) & ~k->mask) | least;
}

/* Last, so that a read-only directory can be filled. */
static void tree_copy_leave(struct tree_copy_copying *k, const struct tree_entry *entry)
{
    struct timespec times[2] = { entry->st.st_atim, entry->st.st_mtim };
    int *fd = &k->to[entry->level + 1];

    if (*fd < 0)
        return;
    (void)fchmod(*fd, mode_of(k, entry->st.st_mode, 0700)); /* as it was made is as good */
    (void)futimens(*fd, times);
    close(*fd);
    *fd = -1;
}

static int tree_copy_file(struct tree_copy_copying *k, int dir, const struct tree_entry *entry)
{
    autoclose int from = openat(entry->dir, entry->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    autoclose int to = from < 0 ? -1
                                : file_copy_new(from, &entry->st, dir, entry->name,
                                                &(struct copy_stop){ tree_copy_is_stopped, k });

    if (to < 0)
        return -1;
    (void)fchmod(to, mode_of(k, entry->st.st_mode, 0600));
    return 0;
}

/* ---- names ---- */

static int copy_plain(struct tree_copy_copying *k, int dir, const struct tree_entry *entry)
{
    char text[64];
    struct str key = { text, 0 };
    const char *first;

    if (entry->st.st_nlink < 2)
        return tree_copy_file(k, dir, entry);
    key.n = (size_t)snprintf(text, sizeof(text), "%llx", (unsigned long long)entry->st.st_ino); /* of one file system */
    first = map_get(&k->names, key); /* another name of this file, which was copied already */
    if (first && linkat(k->to[0], first, dir, entry->name, 0) == 0)
        return 0;
    if (tree_copy_file(k, dir, entry) < 0)
        return -1;
    if (k->n_names++ < NAMES_MAX)
        map_put(&k->names, arena_str(&k->arena, key), (void *)arena_cstr(&k->arena, str_from(entry->path, 1)));
    return 0;
}

static int tree_copy_link(int dir, const struct tree_entry *entry)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(entry->dir, entry->name, target, sizeof(target) - 1);

    if (n < 0)
        return -1;
    target[n] = '\0';
    return symlinkat(target, dir, entry->name);
}

static enum tree_step copy_entry(void *ctx, const struct tree_entry *entry)
{
    struct tree_copy_copying *k = ctx;
    bool is_link = S_ISLNK(entry->st.st_mode);
    enum tree_step step = k->c->choose && !entry->is_left ? k->c->choose(k->c->ctx, entry) : TREE_GO;
    int dir;

    if (step != TREE_GO)
        return step;
    if (S_ISDIR(entry->st.st_mode)) {
        if (entry->is_left)
            tree_copy_leave(k, entry);
        k->c->left_out += !entry->is_left && entry->level + 1 >= TREE_LEVELS;
        return TREE_GO;
    }
    if (!is_link && !S_ISREG(entry->st.st_mode)) {
        k->c->left_out += !S_ISCHR(entry->st.st_mode) || entry->st.st_rdev != 0; /* 0: what an overlay deleted */
        return TREE_GO;
    }
    if (k->c->is_ended || tree_copy_is_stopped(k)) {
        errno = ECANCELED;
        not_copied(k, entry->path);
        return TREE_GO; /* so that what is missing is counted */
    }
    dir = make_way(k, entry);
    if (dir < 0 || (is_link ? tree_copy_link(dir, entry) : copy_plain(k, dir, entry)) < 0) {
        not_copied(k, entry->path);
        return TREE_GO;
    }
    k->c->files++;
    k->c->bytes += is_link ? 0 : tree_data_bytes(&entry->st);
    return TREE_GO;
}

void tree_copy(int from, struct tree_copy *c)
{
    struct tree_copy_copying k = { .c = c };

    map_init(&k.names, map_seed_default());
    k.mask = umask(0);
    (void)umask(k.mask);
    k.to[0] = c->to;
    for (size_t i = 1; i < ARRAY_LEN(k.to); i++)
        k.to[i] = -1;
    (void)tree_walk(from, copy_entry, &k); /* what was not looked at is in left_out */
    for (size_t i = 1; i < ARRAY_LEN(k.to); i++)
        if (k.to[i] >= 0)
            close(k.to[i]);
    map_done(&k.names);
    arena_done(&k.arena);
}
