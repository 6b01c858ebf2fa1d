/* out.c - standard output that never holds the run up
 *
 * The descriptor is shared with the parent process, so it stays blocking: only as much is written at a time as a pipe
 * that is ready takes for certain. A file takes everything.
 */
#include "program/run/out.h"

#include "base/util.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { SHRINK = 1 << 20 }; /* what is written is dropped from the queue in pieces of this size */

void run_out_init(struct run_out *o, int fd)
{
    struct stat st;

    *o = (struct run_out){ .fd = fd };
    o->is_file = fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || major(st.st_rdev) == 1); /* major 1: /dev/null … */
}

void run_out_done(struct run_out *o)
{
    buf_done(&o->queue);
}

static void drop_written(struct run_out *o)
{
    if (o->at == o->queue.n) {
        o->at = 0;
        buf_reset(&o->queue);
    } else if (o->at >= SHRINK && o->at >= o->queue.n / 2) { /* so that no byte is moved more than once or twice */
        memmove(o->queue.p, o->queue.p + o->at, o->queue.n - o->at);
        o->queue.n -= o->at;
        o->at = 0;
    }
}

static bool out_is_ready(const struct run_out *o)
{
    struct pollfd p = { .fd = o->fd, .events = POLLOUT };

    return o->is_file || (poll(&p, 1, 0) > 0 && p.revents);
}

bool run_out_flush(struct run_out *o)
{
    while (run_out_left(o) && !o->is_gone && out_is_ready(o)) {
        size_t n = o->is_file ? run_out_left(o) : MIN_OF(run_out_left(o), (size_t)PIPE_BUF);
        ssize_t done = write(o->fd, o->queue.p + o->at, n);

        if (done < 0 && (errno == EINTR || errno == EAGAIN))
            break;
        if (done < 0) {
            o->is_gone = true;
            o->failed_errno = errno == EPIPE ? 0 : errno;
            break;
        }
        o->at += (size_t)done;
    }
    if (o->is_gone)
        o->at = o->queue.n;
    drop_written(o);
    return run_out_left(o) == 0;
}
