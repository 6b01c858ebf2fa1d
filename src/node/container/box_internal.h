/* box_internal.h - shared by the box_*.c files
 *
 *     box.c           box_run(): the order of the steps, process 1
 *     box_exec.c      box_exec()
 *     box_mount.c     the kernel's mount calls; creating paths below a root
 *     box_root.c      the root: overlays, entering it
 *     box_changes.c   directories for the container's changes
 *     box_host.c      the host's files as a root: all its file systems
 *     box_mounts.c    the list of the host's mounts
 *     box_veil.c      the host's files without those that others may not read
 *     box_fill.c      mounts in the root: /proc, /sys, /run, /tmp, volumes, masks
 *     box_dev.c       /dev
 *     box_user.c      users and groups, from the root's own files
 *     box_ids.c       mapping of the container's ids
 *     box_caps.c      capabilities
 *     box_seccomp.c   the seccomp filter
 *     box_calls.c     the system calls it allows
 *     box_prepare.c   preparation once for all containers
 *     box_program.c   identity and execve() of the program, in the child
 *     box_wire.c      box_encode(), box_decode()
 */
#ifndef NODE_BOX_INTERNAL_H
#define NODE_BOX_INTERNAL_H

#include "node/container/box_build.h"

#include "base/util.h"
#include "os/dir.h"
#include "os/io.h"
#include "os/path.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* ---- box_mount.c: descriptors of mounts; -1 and errno ---- */

struct box_option {
    const char *key, *value; /* value NULL: a flag */
};

/* Create a detached file system. 'attr': MOUNT_ATTR_*. 'opt' ends with a NULL key. On failure 'e' has the kernel's
 * own message if it gives one. */
int box_mount_new(const char *type, const struct box_option *opt, unsigned attr, struct err *e);

/* At a name in a directory that only this process changes; "": at 'dir' itself. The name must not be a symbolic link.
 */
int box_mount_attach_at(int mount, int dir, const char *name);

/* ---- box_mount.c: paths below a root; links cannot lead out of it ---- */

enum box_made { BOX_DIR, BOX_FILE };
/* Open the directory or file at 'path'; create it and its parents if missing, also where a dangling link points to. */
int box_make(struct box *b, struct str path, enum box_made kind, int *ret_fd, struct err *e);

/* Attach 'mount' at 'path', which is created if missing. box_put() also closes 'mount', even on failure. */
int box_attach(struct box *b, int mount, struct str path, enum box_made kind, struct err *e);
int box_put(struct box *b, int take_mount, struct str path, enum box_made kind, struct err *e);
bool box_is_below(struct str path, struct str dir); /* or equal */

/* ---- box_ids.c ---- */

bool box_ids_map(const struct box *b,
                 int mount); /* map the ids of its files; the mount must be detached. False: not mapped */
uint32_t box_ids_outer(const struct box *b, uint32_t id); /* the id on the machine */
void box_ids_begin(const struct box *b); /* until _end() new files belong to the container's root; errno stays */
void box_ids_end(const struct box *b);
int box_ids_enter(const struct box_spec *s,
                  struct err *e); /* enter the user namespace: from here on only the container's ids exist */

/* ---- box_fill.c ---- */

void box_fill_refresh(void); /* part of box_refresh() */

/* ---- box_dev.c ---- */

int box_dev_make(struct box *b, struct err *e); /* creates b->dev; call box_fill_dev() later */
int box_dev_empty(struct box *b);               /* an empty directory as a detached mount; -1 and errno */

/* ---- box_root.c, box_host.c ---- */

int box_enter(struct box *b, struct err *e); /* the last step: the root becomes "/" */

struct box_layer {
    int lower;       /* O_PATH */
    struct str path; /* the later mount point of the overlay; empty: the root */
    bool has_over;   /* put the part of 'over' below 'path' between 'lower' and the changes */
    unsigned attr;   /* MOUNT_ATTR_* */
};
/* Create a detached overlay over a directory, with its changes in b->state. */
int box_overlay(struct box *b, const struct box_layer *l, struct err *e);
/* Create a directory "<what><n>" in b->state; returns it as a detached mount. */
int box_plain_dir(struct box *b, const char *what, mode_t mode, unsigned attr, struct err *e);
/* What 'over' has at a path of the host: S_IFCHR a whiteout, S_IFREG another file, S_IFDIR a directory with more; 0:
 * nothing. */
mode_t box_over_type(const struct box *b, struct str path);
bool box_over_hides(const struct box *b, struct str path); /* does it hide all that the host has in this directory? */
void box_part(struct box *b, int take_mount);              /* add it to b->parts */
int box_use_tmp_state(struct box *b, struct err *e);
int box_root_host(struct box *b, struct err *e);

/* ---- box_veil.c ---- */

/* Mount a view of 'lower' (O_PATH) that shows only what others may read, also to root. It is attached over 'nothing',
 * which is box_spec.veil, opened before the first call: each veil covers the one before. */
int box_veil(int lower, int nothing, struct err *e);

/* ---- box_mounts.c ---- */

struct box_host_mount {
    uint64_t id, parent;
    struct str path;
    unsigned attr; /* MOUNT_ATTR_* of the host's mount, kept here; a read-only one needs no overlay */
    bool is_below; /* below "/", and not in a directory that a container has of its own (box_has_own) */
    bool is_shown; /* … and visible there, and not dull */
    bool is_dull;  /* useless in a container: see box_mounts.c */
    bool is_ours;
    bool is_home; /* in one of box_spec.homes: no veil */
};

struct box_mounts {
    VEC(struct box_host_mount) all; /* parents first */
};

/* The mounts of this namespace: the prepared list, or a new one in 'a'. */
int box_mounts_find(struct arena *a, const struct box_mounts **ret, struct err *e);
bool box_has_own(struct str path); /* /proc, /sys … and paths below: the host's are never shown */

/* Parts of box_prepare(), box_refresh(), box_recheck(). */
void box_mounts_prepare(void);
void box_mounts_refresh(void);
void box_mounts_recheck(void);

/* ---- box_caps.c, box_seccomp.c ---- */

void box_seccomp_prepare(void);
void box_caps_prepare(void);                      /* part of box_prepare(): cache the capabilities of this process */
int box_caps_bound(uint64_t caps, struct err *e); /* drop all others from the bounding set */
void box_caps_raise(void);                        /* raise all we have, after a change of user */
int box_caps_set(uint64_t caps, struct err *e);   /* permitted and effective: exactly these */
uint64_t box_caps_default(void);                  /* the default set of a container */

struct sock_filter;
struct box_filter {
    struct sock_filter *code;
    unsigned short n;
};
int box_seccomp_make(uint64_t caps, struct box_filter *ret); /* -1: too long */
int box_seccomp_load(uint64_t caps, struct err *e);

uint64_t box_calls_caps(void);                       /* capabilities that change the filter */
int box_call_number(struct str name, uint32_t arch); /* SCMP_ARCH_…; -1: no such call */

/* ---- box_program.c ---- */

void box_program_prepare(void); /* part of box_prepare(): no process may change its user namespace afterwards */

struct box_program {
    const struct box_spec *spec;
    const struct box_who *who;
    uint64_t caps;
    int pids; /* a pid namespace for box_program_join(): a descriptor, or that of a process in it; -1: ours */
    bool dies_with_parent;
    char **argv, **envp;
    const char *path; /* $PATH */

    bool failed; /* written by the child, which shares our memory until execve() */
    bool not_found;
    const char *reason;
    struct err err;
    pid_t pid;
};

int box_program_init(struct arena *a, const struct box_spec *s, struct box_program *ret, struct err *e);
/* Irrevocably load the seccomp filter, set limits, drop capabilities and change to the program's user. -1: see
 * p->reason and p->err. */
int box_program_confine(struct box_program *p);
/* Start the program and wait for its execve(); all signals are blocked. -1: it failed, see p->reason and p->err.
 * box_program_start() is for a caller that is already confined; box_program_join() confines the program only. */
pid_t box_program_start(struct arena *a, struct box_program *p);
pid_t box_program_join(struct arena *a, struct box_program *p);

/* Close all descriptors but 0, 1, 2 and 'keep', which is sorted; entries of -1 and 0 are ignored. */
void box_keep_only(int *keep, size_t n);

#endif
