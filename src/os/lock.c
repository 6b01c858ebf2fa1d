/* lock.c - locks that are files, held as long as their descriptor is open */
#include "os/lock.h"

#include "base/clock.h"
#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { OTHERS_WRITE = S_IWGRP | S_IWOTH, AGAIN_US = 1000 };

int lock_dir_open(const char *path, int *ret_dir, struct err *e)
{
    autoclose int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (dir < 0 || fstat(dir, &st) < 0)
        return err_errno(e, "open %s", path);
    if (st.st_uid != geteuid())
        return err_set(e, ERR_FORBIDDEN,
                       "%s belongs to user %u, who could change its contents; use a directory of your own", path,
                       (unsigned)st.st_uid);
    if (st.st_mode & OTHERS_WRITE)
        return err_set(e, ERR_FORBIDDEN, "others can write to %s; run: chmod go-w %s", path, path);
    *ret_dir = dir;
    dir = -1;
    return 0;
}

static int lock_open(int dir, const char *name, struct err *e)
{
    int fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0) {
        (void)err_errno(e, "open lock file \"%s\"", name);
        goto fail;
    }
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & (OTHERS_WRITE | S_IRGRP | S_IROTH))) {
        (void)err_set(e, ERR_FORBIDDEN,
                      "lock file \"%s\" is not safe (not a plain file, owned by another user, or accessible to "
                      "others); remove it",
                      name);
        goto fail;
    }
    return fd;
fail:
    if (fd >= 0)
        close(fd);
    return -1;
}

int lock_take(int dir, const char *name, int wait_ms, int *ret_fd, struct err *e)
{
    int64_t until_ms = clock_mono_ms(&clock_real) + wait_ms;
    int fd = lock_open(dir, name, e);

    if (fd < 0)
        return -1;
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK) {
            (void)err_errno(e, "lock \"%s\"", name);
            goto fail;
        }
        if (clock_mono_ms(&clock_real) >= until_ms) {
            (void)err_set(e, ERR_CONFLICT, "lock \"%s\" is held by another process", name);
            goto fail;
        }
        (void)usleep(AGAIN_US); /* interrupted: just the next try */
    }
    *ret_fd = fd;
    return 0;
fail:
    close(fd);
    return -1;
}
