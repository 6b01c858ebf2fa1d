/* tree_walk.c - look through a tree that others wrote */
#include "os/tree.h"

#include "base/buf.h"
#include "base/util.h"
#include "os/dir.h"
#include "os/path.h"

#include <errno.h>

struct tree_walk {
    tree_entry_f *f;
    void *ctx;
    dev_t dev;
    struct buf path;
    bool is_cut, is_stopped;
};

static void walk_dir(struct tree_walk *w, DIR *d, unsigned level);

static void tree_walk_enter(struct tree_walk *w, struct tree_entry *entry)
{
    autodir *d = NULL;

    if (entry->level + 1 < TREE_LEVELS)
        d = dir_take(path_open_below(entry->dir, entry->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
                                     RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV));
    if (!d) {
        w->is_cut |= errno != ENOENT || entry->level + 1 >= TREE_LEVELS;
        return;
    }
    walk_dir(w, d, entry->level + 1);
    entry->path = buf_view(&w->path);
    entry->is_left = true;
    if (!w->is_stopped && w->f(w->ctx, entry) == TREE_STOP)
        w->is_stopped = w->is_cut = true;
}

static void walk_entry(struct tree_walk *w, int dir, const char *name, unsigned level)
{
    struct tree_entry entry = { .dir = dir, .name = name, .level = level };
    size_t n = w->path.n;
    enum tree_step step;

    if (fstatat(dir, name, &entry.st, AT_SYMLINK_NOFOLLOW) < 0 || entry.st.st_dev != w->dev)
        return; /* gone meanwhile, or a mount */
    buf_char(&w->path, '/');
    buf_str(&w->path, str_of(name));
    entry.path = buf_view(&w->path);
    step = w->f(w->ctx, &entry);
    if (step == TREE_STOP)
        w->is_stopped = w->is_cut = true;
    else if (step == TREE_GO && S_ISDIR(entry.st.st_mode))
        tree_walk_enter(w, &entry);
    w->path.n = n;
}

static void walk_dir(struct tree_walk *w, DIR *d, unsigned level)
{
    for (struct dirent *entry; !w->is_stopped && (entry = dir_next(d));)
        walk_entry(w, dirfd(d), entry->d_name, level);
}

bool tree_walk(int fd, tree_entry_f *f, void *ctx)
{
    autodir *d = dir_open(fd, ".");
    struct tree_walk w = { .f = f, .ctx = ctx };
    struct stat st;

    if (!d || fstat(dirfd(d), &st) < 0)
        return true;
    w.dev = st.st_dev;
    walk_dir(&w, d, 0);
    buf_done(&w.path);
    return w.is_cut;
}

int64_t tree_disk_bytes(const struct stat *st)
{
    return (int64_t)st->st_blocks * 512 / (S_ISDIR(st->st_mode) ? 1 : MAX_OF((int64_t)st->st_nlink, 1));
}

/* A file system may keep a small file where no block is counted for it. */
int64_t tree_data_bytes(const struct stat *st)
{
    enum { SMALL = 4096 };
    int64_t bytes = st->st_size <= SMALL ? st->st_size : MIN_OF((int64_t)st->st_blocks * 512, (int64_t)st->st_size);

    return bytes / MAX_OF((int64_t)st->st_nlink, 1);
}
