/* io.c - bytes through descriptors, and files as a whole */
#include "os/io.h"

#include "base/util.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { READ_FIRST = 4096, READ_AT_ONCE = 64 << 10 };

int write_all(int fd, struct str bytes)
{
    while (bytes.n) {
        ssize_t n = write(fd, bytes.p, bytes.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        bytes = str_from(bytes, (size_t)n);
    }
    return 0;
}

int pwrite_all(int fd, struct str bytes, off_t at)
{
    while (bytes.n) {
        ssize_t n = pwrite(fd, bytes.p, bytes.n, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        bytes = str_from(bytes, (size_t)n);
        at += n;
    }
    return 0;
}

int read_all(int fd, size_t max, struct buf *out)
{
    size_t begin = out->n;
    ssize_t n = 0;

    buf_str(out, STR_NULL); /* the NUL, also if nothing comes */
    do {
        size_t done = out->n - begin, left = max - done;
        size_t step = done < READ_AT_ONCE ? READ_FIRST : READ_AT_ONCE; /* most files are small */

        if (left < step)
            step = left + 1; /* one more than we want: is there more? */
        n = read(fd, buf_reserve(out, step), step);
        out->n += n > 0 ? (size_t)n : 0;
        if (out->n - begin > max) {
            out->n = begin + max;
            out->p[out->n] = '\0';
            return 1;
        }
    } while (n > 0 || (n < 0 && errno == EINTR));
    out->p[out->n] = '\0';
    return n < 0 ? -1 : 0;
}

int memory_file(const char *name, struct str bytes)
{
    int fd = memfd_create(name, MFD_CLOEXEC);

    if (fd < 0 || pwrite_all(fd, bytes, 0) == 0)
        return fd;
    close(fd);
    return -1;
}

/* ---- files ---- */

int file_read_fd(int fd, size_t max, struct buf *out)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -1;
    if (!S_ISREG(st.st_mode)) {
        errno = EINVAL;
        return -1;
    }
    return read_all(fd, max, out);
}

int file_read(int dir, const char *path, int flags, size_t max, struct buf *out)
{
    autoclose int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);

    return fd < 0 ? -1 : file_read_fd(fd, max, out);
}

struct str file_text(struct arena *a, int dir, const char *path, size_t max)
{
    autobuf text = { 0 };

    return file_read(dir, path, 0, max, &text) < 0 ? STR_NULL : arena_str(a, buf_view(&text));
}

int file_write(int dir, const char *path, int flags, mode_t mode, struct str bytes)
{
    autoclose int fd = openat(dir, path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | flags, mode);

    return fd < 0 ? -1 : write_all(fd, bytes);
}

int control_write(int dir, const char *path, struct str order)
{
    autoclose int fd = openat(dir, path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n;

    if (fd < 0)
        return -1;
    do
        n = write(fd, order.p ? order.p : "", order.n);
    while (n < 0 && errno == EINTR);
    if (n >= 0 && (size_t)n < order.n)
        errno = EIO;
    return n == (ssize_t)order.n ? 0 : -1;
}

int io_errno(struct err *e, const char *fmt, ...)
{
    int no = errno;
    char what[300];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    return err_set(e, ERR_IO, "%s: %s", what, strerror(no));
}
