/* secret_file.c - private files with keys: checked when read, replaced atomically */
#include "pki/secret_file.h"

#include "base/util.h"
#include "os/io.h"
#include "os/path.h"

#include <errno.h>
#include <fcntl.h>

int secret_dir_open(const char *path, int *ret_dir, struct err *e)
{
    autoclose int dir = -1;
    struct stat st;

    if (make_dirs(path, 0700, e) < 0)
        return -1;
    dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &st) < 0)
        return io_errno(e, "open %s", path);
    if (st.st_uid != geteuid() || (st.st_mode & 077))
        return err_set(e, ERR_FORBIDDEN, "%s: owned by or open to other users; chown it to yourself and chmod 700",
                       path);
    *ret_dir = dir;
    dir = -1;
    return 0;
}

int secret_file_read(int dir, const char *name, struct buf *out, struct stat *ret_stat, struct err *e)
{
    autoclose int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    int got;

    if (fd < 0)
        return errno == ENOENT ? err_set(e, ERR_NOT_FOUND, "%s: no such file", name) : io_errno(e, "open %s", name);
    if (fstat(fd, &st) < 0)
        return io_errno(e, "stat %s", name);
    if (st.st_uid != geteuid() || (st.st_mode & 077))
        return err_set(
            e, ERR_FORBIDDEN,
            "%s: owned by or open to other users; replace it, or, if it was not read, chown it to yourself and "
            "chmod 600",
            name);
    got = file_read_fd(fd, SECRET_FILE_MAX, out);
    if (got)
        return got < 0 ? io_errno(e, "read %s", name) : err_set(e, ERR_TOO_BIG, "%s: is too large", name);
    if (ret_stat)
        *ret_stat = st;
    return 0;
}

bool secret_file_changed(int dir, const char *name, struct stat *seen)
{
    struct stat now, was = *seen;

    if (fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) < 0)
        now = (struct stat){ 0 };
    *seen = now;
    return now.st_ino != was.st_ino || now.st_dev != was.st_dev || now.st_size != was.st_size ||
           now.st_mtim.tv_sec != was.st_mtim.tv_sec || now.st_mtim.tv_nsec != was.st_mtim.tv_nsec;
}

int secret_file_write(int dir, const char *name, struct str bytes, struct err *e)
{
    autobuf fresh = { 0 };
    autoclose int fd = -1;

    buf_fmt(&fresh, "%s.new", name);
    fd = openat(dir, fresh.p, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fchmod(fd, 0600) < 0)
        return io_errno(e, "create %s", fresh.p);
    if (write_all(fd, bytes) < 0 || fsync(fd) < 0) {
        int why = errno;

        (void)unlinkat(dir, fresh.p, 0); /* it is incomplete */
        errno = why;
        return io_errno(e, "write %s", fresh.p);
    }
    if (renameat(dir, fresh.p, dir, name) < 0 || fsync(dir) < 0)
        return io_errno(e, "replace %s", name);
    return 0;
}
