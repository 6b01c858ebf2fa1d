/* io.h - bytes through descriptors, and files as a whole
 *
 * All of these go on after a signal (EINTR) and after a short read or write, and every descriptor they open is
 * close-on-exec. They return -1 with errno and leave the sentence to the caller, who knows what the file is for. Those
 * that take no struct buf and no arena use system calls only: they are safe after fork() or clone() in a process that
 * has threads.
 */
#ifndef OS_IO_H
#define OS_IO_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <fcntl.h>
#include <sys/types.h>

/* ---- descriptors ---- */

/* Write all of it, from where the file stands or (pwrite_all) from 'at'. After a failure a part may have been
 * written. For descriptors that block: one that does not gives EAGAIN in the middle. */
int write_all(int fd, struct str bytes);
int pwrite_all(int fd, struct str bytes, off_t at);

/* Append to 'out' until the end, at most 'max' bytes. 0: all of it; 1: there was more (of a pipe a byte is lost
 * then); -1: what came before the failure is in 'out'. The buffer ends with a NUL, as always. */
int read_all(int fd, size_t max, struct buf *out);

/* A memory file with 'bytes' in it, standing at its beginning; 'name' is shown in /proc. */
int memory_file(const char *name, struct str bytes);

/* ---- files by their path ---- below 'dir'; AT_FDCWD: as the path says ---- */

/* Read a plain file as read_all() does. Never waits: anything but a plain file (a FIFO, a device) is EINVAL. 'flags':
 * O_NOFOLLOW or 0. */
int file_read(int dir, const char *path, int flags, size_t max, struct buf *out);
int file_read_fd(int fd, size_t max, struct buf *out); /* of one that is open; O_NONBLOCK is wise */
/* The same, in the arena; cut at 'max'. Empty: there is none, or it cannot be read. */
struct str file_text(struct arena *a, int dir, const char *path, size_t max);

/* Write a whole file: one that is made with 'mode' (less the umask), or that is emptied. Never through a link at the
 * end of 'path'. 'flags': O_EXCL: it must not be there; O_TRUNC: it may. Not in one step: others see it grow, and
 * half of it stays after a failure. */
int file_write(int dir, const char *path, int flags, mode_t mode, struct str bytes);

/* Tell the kernel something by one of its own files (/proc, a cgroup), which must be there: one write, never split. */
int control_write(int dir, const char *path, struct str order);

/* ---- errors ---- */

/* err_errno(), but always ERR_IO: for those to whose callers ERR_NOT_FOUND means something else than a missing file. */
int io_errno(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
