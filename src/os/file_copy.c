/* file_copy.c - what is in one file, into another */
#include "os/file_copy.h"

#include "base/util.h"
#include "os/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 16 << 20 }; /* between two looks whether to stop */

/* By hand: not all pairs of file systems know copy_file_range(), and none of them files of the kernel (/proc), which have
 * no size and something to read all the same. */
static ssize_t copy_by_hand(int from, int to, off_t at, size_t max)
{
    static char bytes[256 << 10];
    ssize_t n = pread(from, bytes, MIN_OF(max, sizeof(bytes)), at);

    return n > 0 && pwrite_all(to, (struct str){ bytes, (size_t)n }, at) < 0 ? -1 : n;
}

/* From one place to the same place; ends early where the file has become shorter. */
static int copy_part(int from, int to, off_t at, off_t end, const struct copy_stop *stop)
{
    bool by_hand = false;

    while (at < end) {
        off_t in = at, out = at;
        size_t max = (size_t)MIN_OF(end - at, (off_t)PIECE);
        ssize_t n = by_hand ? -1 : copy_file_range(from, &in, to, &out, max, 0);

        if (n <= 0) {
            by_hand = true;
            n = copy_by_hand(from, to, at, max);
        }
        if (n <= 0)
            return (int)n;
        at += n;
        if (stop && stop->is_stopped(stop->ctx)) {
            errno = ECANCELED;
            return -1;
        }
    }
    return 0;
}

static int copy_contents(int from, int to, const struct copy_stop *stop)
{
    struct stat st;
    off_t at = 0, end;

    if (fstat(from, &st) < 0)
        return -1;
    if (!st.st_size)
        return copy_part(from, to, 0, PIECE, stop);
    if (ioctl(to, FICLONE, from) == 0)
        return 0;
    while (at < st.st_size) {
        off_t data = lseek(from, at, SEEK_DATA);

        if (data < 0 && errno == ENXIO)
            break; /* a hole up to the end */
        at = data < 0 ? at : data;
        end = lseek(from, at, SEEK_HOLE);
        end = end <= at ? st.st_size : MIN_OF(end, st.st_size);
        if (copy_part(from, to, at, end, stop) < 0)
            return -1;
        at = end;
    }
    return ftruncate(to, st.st_size);
}

int file_copy_new(int from, const struct stat *st, int dir, const char *name, const struct copy_stop *stop)
{
    int to = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), error;

    if (to < 0)
        return -1;
    if (copy_contents(from, to, stop) == 0) {
        (void)futimens(to, (struct timespec[]){ st->st_atim, st->st_mtim }); /* now is as good */
        return to;
    }
    error = errno;
    close(to);
    (void)unlinkat(dir, name, 0);
    errno = error;
    return -1;
}
