/* tree.h - whole trees: delete, hand to a group, look through, copy
 *
 * Containers wrote them, so nothing about them can be trusted: not the depth (a shell loop makes a directory 100,000
 * levels deep), not that a name still means the same file a moment later. Links are never followed, everything goes by
 * descriptor, and no more than some 30 are open at once. Errors are ERR_IO, or what is said below; never ERR_NOT_FOUND.
 */
#ifndef OS_TREE_H
#define OS_TREE_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Delete 'name' in 'parent', whatever it is, and whatever flags (chattr) forbid it. Never leaves the file system it began in. Fine
 * if it does not exist. Fails with ERR_IO while another process keeps writing there. */
int tree_remove(int parent, const char *name, struct err *e);
/* The same, but of at most 'n' entries, for a loop that must not stop. 1: there is more, call again. */
int tree_remove_some(int parent, const char *name, unsigned n, struct err *e);

/* Delete all that is in the directory 'fd', which may be a mount, but not what is mounted further down. */
int tree_empty(int fd, struct err *e);

/* Give everything below 'root' to a group and let it read (and write). Links are changed, never followed; mounts of
 * others are left out. ERR_FORBIDDEN: our user namespace does not have the group. ERR_TOO_BIG: paths longer than the
 * kernel takes. */
int tree_own(int root, gid_t group, bool is_read_only, struct err *e);
int tree_own_fd(int fd, gid_t group, bool is_read_only, struct err *e); /* one file or directory held open */
int tree_group_errno(struct err *e, gid_t group); /* why a file could not be given to a group: errno */

/* ---- look through ---- */

enum tree_step {
    TREE_GO,   /* on; into it, if it is a directory */
    TREE_PASS, /* on, but not into it */
    TREE_STOP,
};

struct tree_entry {
    int dir; /* that it is in */
    const char *name;
    struct str path; /* below the root: "/a/b"; good for the call */
    unsigned level;  /* 0: in the root */
    struct stat st;
    bool is_left; /* a directory that was entered is left again */
};
typedef enum tree_step tree_entry_f(void *ctx, const struct tree_entry *entry);

enum { TREE_LEVELS = 128 }; /* as many descriptors: what is further down is not looked at */

/* All that is below the directory 'fd', but not what is mounted there. True: something was not looked at, because it is
 * too far down, or cannot be opened, or the callback returned TREE_STOP. */
bool tree_walk(int fd, tree_entry_f *f, void *ctx);

/* What it takes on the disk; a file with several names has a part of its size at each. */
int64_t tree_disk_bytes(const struct stat *st);
/* What is in it: holes are not. */
int64_t tree_data_bytes(const struct stat *st);

/* ---- copy ---- */

/* Copy plain files and links below 'from' to 'to', which is empty and ours. The copies belong to the calling user. Modes
 * lose set-user-id, set-group-id and the sticky bit; the owner may always read and write; times stay; files with
 * several names stay one file; holes stay holes. Directories are made where something is in them. Devices, sockets and
 * pipes are left out. One file that cannot be copied does not keep the others; a full disk ends it, and leaves no half
 * of a file. */
struct tree_copy {
    int to;
    tree_entry_f *choose; /* TREE_PASS: not this one; may be NULL */
    void *ctx;
    bool (*is_stopped)(void *ctx); /* asked again and again; may be NULL */
    /* what came of it: */
    int64_t files, bytes;
    int64_t left_out;   /* that are no files, or deeper than TREE_LEVELS */
    int64_t not_copied; /* … that should have been */
    int first_errno;    /* why the first of those was not; ECANCELED: is_stopped() */
    char first[256];    /* its path below 'from'; cut where it is longer */
    bool is_ended;      /* nothing more can be written */
};
void tree_copy(int from, struct tree_copy *c);

#endif
