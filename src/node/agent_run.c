/* agent_run.c - the run on the host: its id, its directory, and what dead runs left */
#include "node/agent_internal.h"

#include "base/log.h"
#include "base/rand.h"
#include "node/volume_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { ID_CHARS = 6 };

void agent_run_group(const char *id, char ret[32])
{
    snprintf(ret, 32, "pumice-%s", id);
}

/* The name is free again when the last process that holds the socket is gone: nobody has to clean up after a crash. */
static int alive_bind(const char *id)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int n = snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "pumice-run-%s", id);

    if (fd >= 0 &&
        bind(fd, (struct sockaddr *)&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

bool agent_run_is_alive(void *ctx, const char *id)
{
    int fd = alive_bind(id);

    (void)ctx;
    if (fd >= 0)
        close(fd);
    return fd < 0;
}

static int take_id(struct agent_run *r, struct err *e)
{
    for (int tries = 0; tries < 100; tries++) {
        snprintf(r->id, sizeof(r->id), "%06x", (unsigned)(rand_os_u64() & 0xffffff));
        r->alive_fd = alive_bind(r->id);
        if (r->alive_fd >= 0)
            return 0;
    }
    return err_errno(e, "take an id for this run");
}

static bool is_id(const char *name)
{
    return strlen(name) == ID_CHARS && strspn(name, "0123456789abcdef") == ID_CHARS;
}

/* ---- removing ---- */

/* Volumes first: they may be mounts. */
static void sweep_volumes(const char *dir)
{
    DIR *d = opendir(dir);
    struct err e;

    for (struct dirent *entry; d && (entry = readdir(d));) {
        autobuf volumes = { 0 };

        if (entry->d_name[0] == '.')
            continue;
        buf_fmt(&volumes, "%s/%s/volumes", dir, entry->d_name);
        if (volumes_sweep(volumes.p, &e) < 0)
            log_warn("volumes stay behind", LOG_TEXT("why", e.text));
    }
    if (d)
        closedir(d);
}

static void remove_files(int state_fd, struct str state_dir, const char *id)
{
    autobuf pods = { 0 }, small = { 0 };
    struct err e;

    buf_fmt(&pods, "%.*s/%s/pods", STR_ARG(state_dir), id);
    buf_fmt(&small, "%.*s/%s/small", STR_ARG(state_dir), id);
    sweep_volumes(pods.p);
    sweep_volumes(small.p);
    (void)umount2(small.p, MNT_DETACH); /* if it is the run's own process that removes it */
    if (volume_tree_remove(state_fd, id, &e) < 0)
        log_warn("files stay behind", LOG_TEXT("why", e.text));
}

void agent_run_remove(const struct agent_run *r, struct cgroups *cgroups, bool keeps_files)
{
    autoclose int state = open(r->state_dir.p, O_PATH | O_DIRECTORY | O_CLOEXEC);

    cgroups_close(cgroups, true);
    net_sweep_run(r->id);
    if (!keeps_files && state >= 0)
        remove_files(state, r->state_dir, r->id);
}

/* Runs that died with all of their processes. */
static void sweep_dead(const struct agent_run *r, int state_fd)
{
    DIR *d = opendir(r->state_dir.p);

    for (struct dirent *entry; d && (entry = readdir(d));) {
        char group[32];
        autobuf kept = { 0 };
        struct cgroups *c;
        struct err e;

        if (!is_id(entry->d_name) || agent_run_is_alive(NULL, entry->d_name))
            continue;
        buf_fmt(&kept, "%s/keep", entry->d_name);
        if (faccessat(state_fd, kept.p, F_OK, 0) == 0) /* somebody wants to look at it */
            continue;
        agent_run_group(entry->d_name, group);
        if (cgroups_adopt(group, &c, NULL, &e) == 0)
            cgroups_close(c, true);
        remove_files(state_fd, r->state_dir, entry->d_name);
    }
    if (d)
        closedir(d);
    net_sweep(agent_run_is_alive, NULL);
}

/* ---- beginning ---- */

/* Like mkdir -p; only the directories that are missing are ours. */
static int make_path(const char *path, struct err *e)
{
    autofree char *p = strdup(path);

    for (char *at = p ? p + 1 : NULL; at && (at = strchr(at, '/')); at++) {
        *at = '\0';
        if (mkdir(p, 0755) < 0 && errno != EEXIST)
            return err_errno(e, "make %s", p);
        *at = '/';
    }
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_errno(e, "make the state directory %s", path);
    return 0;
}

/* ext4 does not use an inode again for some seconds after it was deleted, and looks at each of them when it makes one. An overlay makes
 * and deletes a few when it is mounted, so hundreds of containers in one part of the disk spend their time there. As "top"
 * directories they are spread over all of it. Other file systems do not know the flag. */
static void spread(int dir, const char *name)
{
    autoclose int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int flags = 0;

    if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
        return;
    flags |= FS_TOPDIR_FL;
    (void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

int agent_run_begin(struct agent_run *r, struct arena *a, const char *state_dir, struct err *e)
{
    static const char *const parts[] = { "small", "pods", "layers", "logs" };
    autoclose int state = -1;

    r->alive_fd = r->dir_fd = r->small_fd = -1;
    if (make_path(state_dir, e) < 0)
        return -1;
    {
        autofree char *real = realpath(state_dir, NULL);

        if (!real)
            return err_errno(e, "state directory %s", state_dir);
        r->state_dir = arena_str(a, str_of(real));
    }
    state = open(r->state_dir.p, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (state < 0)
        return err_errno(e, "open the state directory %s", state_dir);
    sweep_dead(r, state);
    if (take_id(r, e) < 0)
        return -1;
    r->dir = arena_fmt(a, "%s/%s", r->state_dir.p, r->id);
    if (mkdirat(state, r->id, 0700) < 0)
        return err_errno(e, "make %s", r->dir.p);
    r->dir_fd = openat(state, r->id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->dir_fd < 0)
        return err_errno(e, "open %s", r->dir.p);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (mkdirat(r->dir_fd, parts[i], 0700) < 0)
            return err_errno(e, "make %s/%s", r->dir.p, parts[i]);
        spread(r->dir_fd, parts[i]);
    }
    if (mount("pumice", arena_fmt(a, "%s/small", r->dir.p).p, "tmpfs", MS_NODEV | MS_NOSUID, "mode=0700") < 0)
        return err_errno(e, "mount a tmpfs on %s/small", r->dir.p);
    r->small_fd = openat(r->dir_fd, "small", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return r->small_fd < 0 ? err_errno(e, "open %s/small", r->dir.p) : 0;
}

void agent_run_done(struct agent_run *r)
{
    int *const fds[] = { &r->dir_fd, &r->small_fd, &r->alive_fd };

    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}
