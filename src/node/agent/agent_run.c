/* agent_run.c - the run on the host: its id, its directory, and what dead runs left
 *
 * <state>/lock        held for a moment to create, claim or remove the directory of a run
 * <state>/<id>/lock   held by the program, its spawner and its shims: free once the last of them has exited
 *
 * <state>/<id>/groups where its cgroups are: a process that lost its parent may have been moved elsewhere
 *
 * A program that removes the run of another must hold its lock: it cannot remove a living run, nor can two remove a
 * dead one.
 *
 * Of a node, whose pods outlive the program, there are also:
 *
 * <state>/<id>/node           its name: the next program that runs the node of that name adopts the run
 * <state>/<id>/spawner.<pid>  where its spawners listen for him; see shim.h
 * <state>/<id>/shims.log      what spawners and shims had to say
 */
#include "node/agent/agent_internal.h"

#include "base/codec.h"
#include "base/log.h"
#include "base/rand.h"
#include "node/shim/keeper.h"
#include "os/lock.h"
#include "os/dir.h"
#include "os/io.h"
#include "os/path.h"
#include "os/tree.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>

enum {
    ID_CHARS = 6,
    STATE_LOCK_MS = 10000, /* it is held for microseconds, unless its holder was stopped */
    KEEPER_MS = 20000,     /* longer than a spawner takes to kill what does not want to go */
    CLOSING_MS = 5000,
};

static const char lock_name[] = "lock", node_file[] = "node", groups_file[] = "groups";

void agent_run_group(const char *id, char ret[32])
{
    snprintf(ret, 32, "pumice-%s", id);
}

static int state_lock(int state_fd, int *ret_fd, struct err *e)
{
    return lock_take(state_fd, lock_name, STATE_LOCK_MS, ret_fd, e);
}

/* Take the right to remove the run. False: it lives, or it was removed, or another program is removing it. */
static bool claim(int state_fd, const char *id, int *ret_fd)
{
    autoclose int lock = -1, dir = -1;

    if (state_lock(state_fd, &lock, NULL) < 0)
        return false;
    dir = openat(state_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return dir >= 0 && lock_take(dir, lock_name, 0, ret_fd, NULL) == 0;
}

/* ---- removing ---- */

/* Volumes first: they may be mounts. */
static void sweep_volumes(const char *dir)
{
    autodir *d = opendir(dir);
    struct err e;

    for (struct dirent *entry; (entry = dir_next(d));) {
        autobuf volumes = { 0 };

        if (entry->d_name[0] == '.')
            continue;
        buf_fmt(&volumes, "%s/%s/volumes", dir, entry->d_name);
        if (volumes_sweep(volumes.p, &e) < 0)
            log_warn("Failed to remove volumes of a run", LOG_TEXT("error", e.text));
    }
}

/* The lock stays until the end: without it the rest would look like no run at all. */
static void empty_run(int state_fd, const char *id)
{
    autodir *d = dir_open(state_fd, id);
    struct err e;

    for (struct dirent *entry; (entry = dir_next(d));)
        if (strcmp(entry->d_name, lock_name) != 0 && tree_remove(dirfd(d), entry->d_name, &e) < 0)
            log_warn("Failed to remove files of a run", LOG_TEXT("error", e.text));
}

static void remove_files(int state_fd, struct str state_dir, const char *id)
{
    autobuf pods = { 0 }, small = { 0 }, layers = { 0 };
    autoclose int lock = -1;
    struct err e;

    buf_fmt(&pods, "%.*s/%s/pods", STR_ARG(state_dir), id);
    buf_fmt(&small, "%.*s/%s/small", STR_ARG(state_dir), id);
    buf_fmt(&layers, "%.*s/%s/layers", STR_ARG(state_dir), id);
    sweep_volumes(pods.p);
    sweep_volumes(small.p);
    (void)umount2(small.p, MNT_DETACH); /* if it is the run's own process that removes it */
    (void)umount2(layers.p, MNT_DETACH);
    empty_run(state_fd, id);
    (void)state_lock(state_fd, &lock, NULL); /* another program hangs: go on without the lock */
    if (tree_remove(state_fd, id, &e) < 0)
        log_warn("Failed to remove files of a run", LOG_TEXT("error", e.text));
}

void agent_run_remove(const struct agent_run *r, struct cgroups *cgroups, bool keeps_files)
{
    autoclose int state = open(r->state_dir.p, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    cgroups_close(cgroups, true);
    if (!keeps_files && state >= 0)
        remove_files(state, r->state_dir, r->id);
}

static bool agent_run_is_kept(int state_fd, const char *id)
{
    char path[16];

    (void)snprintf(path, sizeof(path), "%s/keep", id);
    return faccessat(state_fd, path, F_OK, 0) == 0; /* kept for a look at it */
}

int agent_run_groups(int run_fd, const char *id, struct cgroups **ret, const char **ret_why, struct err *e)
{
    autoarena a = { 0 };
    char group[32];

    agent_run_group(id, group);
    return cgroups_adopt(group, file_text(&a, run_fd, groups_file, 64 << 10), ret, ret_why, e);
}

int agent_run_note_groups(const struct agent_run *r, const struct cgroups *c, struct err *e)
{
    if (file_write(r->dir_fd, groups_file, O_TRUNC, 0600, cgroups_place(c)) < 0)
        return err_errno(e, "write %s/%s", r->dir.p, groups_file);
    return 0;
}

/* A run whose processes are all gone; its lock is ours. */
static void remove_dead(int state_fd, struct str state_dir, const char *id)
{
    autoclose int run = openat(state_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct cgroups *c;

    if (agent_run_groups(run, id, &c, NULL, NULL) == 0)
        cgroups_close(c, true);
    (void)net_sweep_run(id);
    if (!agent_run_is_kept(state_fd, id))
        remove_files(state_fd, state_dir, id);
}

/* Runs that died with all of their processes, the keeper too. */
static void sweep_dead(const struct agent_run *r, int state_fd)
{
    autodir *d = opendir(r->state_dir.p);

    for (struct dirent *entry; (entry = dir_next(d));) {
        autoclose int lock = -1;

        if (hex_is_small(str_of(entry->d_name), ID_CHARS) && !agent_run_is_kept(state_fd, entry->d_name) &&
            claim(state_fd, entry->d_name, &lock))
            remove_dead(state_fd, r->state_dir, entry->d_name);
    }
    (void)net_sweep();
}

/* In the keeper: all others have exited. But the kernel closes the descriptors of the last one by one, and we may
 * have seen the end of the lifeline before that of the lock. */
static void agent_run_finish(void *ctx)
{
    const struct agent_run *r = ctx;
    autoclose int state = open(r->state_dir.p, O_RDONLY | O_DIRECTORY | O_CLOEXEC), lock = -1;

    for (int ms = 0; ms < CLOSING_MS && state >= 0 && faccessat(state, r->id, F_OK, 0) == 0; ms++) {
        if (claim(state, r->id, &lock)) {
            remove_dead(state, r->state_dir, r->id);
            return;
        }
        usleep(1000);
    }
}

/* ---- beginning ---- */

/* ext4 does not use an inode again for some seconds after it was deleted, and looks at each of them when it makes
 * one. An overlay makes and deletes a few when it is mounted, so hundreds of containers in one part of the disk
 * spend their time there. As "top" directories they are spread over all of it. Other file systems do not know the
 * flag. */
static void agent_run_spread(int dir, const char *name)
{
    autoclose int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int flags = 0;

    if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
        return;
    flags |= FS_TOPDIR_FL;
    (void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

static int find_state(struct agent_run *r, struct arena *a, const char *state_dir, int *ret_fd, struct err *e)
{
    autofree char *real = NULL;

    if (make_dirs(state_dir, 0700, e) < 0)
        return err_wrap(e, "state directory");
    real = realpath(state_dir, NULL);
    if (!real)
        return err_errno(e, "state directory %s", state_dir);
    r->state_dir = arena_str(a, str_of(real));
    return lock_dir_open(r->state_dir.p, ret_fd, e) < 0 ? err_wrap(e, "state directory") : 0;
}

static int start_keeper(struct agent_run *r, struct err *e)
{
    struct keeper_options keeper = {
        .name = r->id, .finish = agent_run_finish, .ctx = r, .patience_ms = r->node.n ? -1 : KEEPER_MS
    };

    return keeper_start(&keeper, &r->keeper, e);
}

int agent_run_keep_again(struct agent_run *r, struct err *e)
{
    keeper_stop(r->keeper);
    r->keeper = NULL;
    return start_keeper(r, e);
}

/* The keeper first: from here on it removes the directory if the program is killed. */
static int agent_run_make_dir(struct agent_run *r, struct arena *a, int state, struct err *e)
{
    autoclose int lock = -1;

    if (state_lock(state, &lock, e) < 0)
        return err_wrap(e, "state directory %s", r->state_dir.p);
    do
        snprintf(r->id, sizeof(r->id), "%06x", (unsigned)(rand_os_u64() & 0xffffff));
    while (faccessat(state, r->id, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    r->dir = arena_fmt(a, "%s/%s", r->state_dir.p, r->id);
    if (start_keeper(r, e) < 0)
        return -1;
    if (mkdirat(state, r->id, 0700) < 0)
        return err_errno(e, "create %s", r->dir.p);
    r->dir_fd = openat(state, r->id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->dir_fd < 0)
        return err_errno(e, "open %s", r->dir.p);
    return lock_take(r->dir_fd, lock_name, 0, &r->lock_fd, e) < 0 ? err_wrap(e, "%s", r->dir.p) : 0;
}

static int open_small(struct agent_run *r, struct err *e)
{
    r->small_fd = openat(r->dir_fd, "small", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return r->small_fd < 0 ? err_errno(e, "open %s/small", r->dir.p) : 0;
}

static int open_words(struct agent_run *r, struct err *e)
{
    r->words_fd = openat(r->dir_fd, "shims.log", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    return r->words_fd < 0 ? err_errno(e, "open %s/shims.log", r->dir.p) : 0;
}

int agent_run_begin(struct agent_run *r, struct arena *a, const char *state_dir, struct err *e)
{
    static const char *const parts[] = { "small", "pods", "layers", "logs" };
    autoclose int state = -1;

    if (find_state(r, a, state_dir, &state, e) < 0)
        return -1;
    sweep_dead(r, state);
    if (agent_run_make_dir(r, a, state, e) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (mkdirat(r->dir_fd, parts[i], 0700) < 0)
            return err_errno(e, "create %s/%s", r->dir.p, parts[i]);
        agent_run_spread(r->dir_fd, parts[i]);
    }
    if (mount("pumice", arena_fmt(a, "%s/small", r->dir.p).p, "tmpfs", MS_NODEV | MS_NOSUID, "mode=0700") < 0)
        return err_errno(e, "mount a tmpfs on %s/small", r->dir.p);
    if (open_small(r, e) < 0)
        return -1;
    /* One tmpfs for all: each container would make its own, which is invisible from outside. */
    if (!box_can_hold_changes(r->dir_fd))
        (void)mount("pumice", arena_fmt(a, "%s/layers", r->dir.p).p, "tmpfs", MS_NODEV, "mode=0700");
    if (r->node.n && file_write(r->dir_fd, node_file, O_EXCL, 0600, r->node) < 0)
        return err_errno(e, "write %s/%s", r->dir.p, node_file);
    return r->node.n ? open_words(r, e) : 0;
}

/* ---- going on ---- */

bool agent_run_is_of(int run_fd, struct str node)
{
    autoarena a = { 0 };

    return str_eq(file_text(&a, run_fd, node_file, 512), node);
}

int agent_run_adopt(struct agent_run *r, struct arena *a, const char *state_dir, int lock_fd, struct err *e)
{
    autoclose int state = -1;

    if (find_state(r, a, state_dir, &state, e) < 0)
        return -1;
    r->dir = arena_fmt(a, "%s/%s", r->state_dir.p, r->id);
    r->lock_fd = fcntl(lock_fd, F_DUPFD_CLOEXEC, 3);
    r->dir_fd = openat(state, r->id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->dir_fd < 0 || r->lock_fd < 0)
        return err_errno(e, "open %s", r->dir.p);
    sweep_dead(r, state);
    return start_keeper(r, e) < 0 || open_small(r, e) < 0 || open_words(r, e) < 0 ? -1 : 0;
}

void agent_run_sweep(const char *state_dir)
{
    struct agent_run r = { .state_dir = str_of(state_dir) };
    autoclose int state = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (state >= 0)
        sweep_dead(&r, state);
}

void agent_run_end(const char *state_dir, const char *id)
{
    autoclose int state = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (state >= 0)
        remove_dead(state, str_of(state_dir), id);
}

void agent_run_done(struct agent_run *r, bool leaves)
{
    int *const fds[] = { &r->dir_fd, &r->small_fd, &r->lock_fd, &r->words_fd };

    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
    if (leaves)
        keeper_leave(r->keeper);
    else
        keeper_stop(r->keeper);
    r->keeper = NULL;
}
