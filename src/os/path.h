/* path.h - paths that others wrote, opened and made below a directory of ours
 *
 * A container may plant a link, an image may name "../../etc/passwd", and both may be changed while we look. So the
 * kernel walks such a path (openat2): it never leaves the directory given, whatever links say, and never follows the
 * magic ones of /proc.
 */
#ifndef OS_PATH_H
#define OS_PATH_H

#include "base/err.h"
#include "base/str.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- opening ---- close-on-exec; -1 and errno; system calls only, so safe after fork() ---- */

/* A path that must stay below 'root': EXDEV if it leads out. 'resolve': RESOLVE_NO_SYMLINKS (then a link is ELOOP),
 * RESOLVE_NO_XDEV … */
int path_open_below(int root, const char *path, int flags, uint64_t resolve);

/* A path as those see it who have 'root' as "/": absolute links and ".." end there. Empty: the root itself. */
int path_open_in(int root, struct str path, int flags);

/* ---- making directories ---- */

/* mkdir -p of a path that is ours or the administrator's: links are followed, what is there stays as it is. The last
 * directory is made with 'mode', those above it with 0755, both less the umask. */
int make_dirs(const char *path, mode_t mode, struct err *e);

/* The directory 'name' in 'parent' (O_PATH), made with 'mode' whatever the umask. An older one keeps its mode; a
 * link is refused. */
int make_dir_at(int parent, const char *name, mode_t mode, int *ret_fd, struct err *e);

struct make_below { /* mkdir -p below 'root', by a path of others */
    int root;
    uint64_t resolve; /* RESOLVE_BENEATH or RESOLVE_IN_ROOT, and flags that refuse more */
    mode_t mode;      /* of new directories, whatever the umask */
    /* Called for each directory that was made, before anything is made in it; may be NULL. */
    int (*made)(void *ctx, int parent, const char *name, const char *path, struct err *e);
    void *ctx;
};

/* The directory 'path' (O_PATH), which is relative, without empty, "." and ".." parts; empty: the root.
 * ERR_FORBIDDEN: a link leads out of the root; everything else is ERR_IO. errno says it too, unless it was made()
 * that failed. */
int make_dirs_below(const struct make_below *how, struct str path, int *ret_fd, struct err *e);

/* ---- text ---- */

/* Is 'path' below the directory 'dir'? By their text: "/a/b" is below "/a" and "/", neither "/a" nor "/ab" is below
 * "/a". */
bool path_is_below(struct str path, struct str dir);

#endif
