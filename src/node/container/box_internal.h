/* box_internal.h - what the box_*.c files share
 *
 * box.c           box_run(): the order of the steps, process 1
 * box_exec.c      box_exec()
 * box_mount.c     the kernel's mount calls; making below a root
 * box_root.c      the root: overlays, entering it
 * box_changes.c   where its changes can lie
 * box_host.c      the host's files as a root: its other file systems
 * box_mounts.c    which those are
 * box_veil.c      what of them users may see who own none
 * box_fill.c      what is mounted into a root: /proc, /sys, /run, /tmp, volumes, hidden directories
 * box_dev.c       /dev
 * box_user.c      users and groups by the root's own files
 * box_ids.c       which ids of the machine they are
 * box_caps.c      capabilities
 * box_seccomp.c   system calls: the filter
 * box_calls.c     which those are
 * box_prepare.c   what is done once for all of them
 * box_program.c   identity and execve() of the program, in the child
 * box_wire.c      box_encode(), box_decode()
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

/* A new file system, not attached anywhere. 'attr': MOUNT_ATTR_*. 'opt' ends with a NULL key. On failure 'e' has the
 * kernel's own words where it gives any. */
int box_mount_new(const char *type, const struct box_option *opt, unsigned attr, struct err *e);

/* At a name in a directory that nobody else changes; "": at 'dir' itself. The name may not be a link's. */
int box_mount_attach_at(int mount, int dir, const char *name);

/* ---- box_mount.c: paths below a root; links cannot lead out of it ---- */

enum box_made { BOX_DIR, BOX_FILE };
/* The directory or file at 'path', made with its parents if it is not there. Also follows links that lead nowhere
 * yet. */
int box_make(struct box *b, struct str path, enum box_made kind, int *ret_fd, struct err *e);

/* Attach 'mount' at 'path', which is made. box_put() closes it then, in any case. */
int box_attach(struct box *b, int mount, struct str path, enum box_made kind, struct err *e);
int box_put(struct box *b, int take_mount, struct str path, enum box_made kind, struct err *e);
bool box_is_below(struct str path, struct str dir); /* or the same */

/* ---- box_ids.c ---- */

bool box_ids_map(const struct box *b, int mount);         /* its files; it is attached nowhere yet. false: it is not */
uint32_t box_ids_outer(const struct box *b, uint32_t id); /* of the machine */
void box_ids_begin(const struct box *b); /* until _end() what is made is the container's root's; errno stays */
void box_ids_end(const struct box *b);
int box_ids_enter(const struct box_spec *s, struct err *e); /* after this only the container's ids are there */

/* ---- box_fill.c ---- */

void box_fill_refresh(void); /* its part of box_refresh() */

/* ---- box_dev.c ---- */

int box_dev_make(struct box *b, struct err *e); /* b->dev; box_fill_dev() follows */
int box_dev_empty(struct box *b); /* a directory with nothing in it: a mount, not attached. -1 and errno */

/* ---- box_root.c, box_host.c ---- */

int box_enter(struct box *b, struct err *e); /* the last step: the root becomes "/" */

/* An overlay over 'lower' (O_PATH), its changes in b->state: a mount, not attached. 'path' is where it will be (empty:
 * the root); has_over: what is to lie over the host's files there is found by it. */
int box_overlay(struct box *b, int lower, struct str path, bool has_over, unsigned attr, struct err *e);
/* A new directory "<what><n>" in b->state: a mount, not attached. */
int box_plain_dir(struct box *b, const char *what, mode_t mode, unsigned attr, int *ret_mount, struct err *e);
/* What lies over a path of the host: S_IFCHR nothing is to be seen there, S_IFREG another file, S_IFDIR more below;
 * 0: nothing. */
mode_t box_over_look(const struct box *b, struct str path);
bool box_over_hides(const struct box *b, struct str path); /* all that the host has in this directory */
void box_part(struct box *b, int take_mount);              /* remember it as a part of the root */
int box_use_tmp_state(struct box *b, struct err *e);
int box_root_host(struct box *b, struct err *e);

/* ---- box_veil.c ---- */

/* 'lower' (O_PATH) as a mount that shows to everybody, root too, what others may see of it. It is attached over
 * 'nothing', which is box_spec.veil and was opened before the first: over the second lies the first. */
int box_veil(int lower, int nothing, struct err *e);

/* ---- box_mounts.c ---- */

struct box_host_mount {
    uint64_t id, parent;
    struct str path;
    unsigned attr; /* MOUNT_ATTR_* it has on the host and keeps; one that is read-only there needs no overlay */
    bool is_below; /* of "/", and not in what a container has of its own (box_has_own) */
    bool is_shown; /* … and is seen there, and not dull */
    bool is_dull;  /* nothing a container could use */
    bool is_ours;
    bool is_home; /* in one of box_spec.homes, or one itself: without a veil */
};

struct box_mounts {
    VEC(struct box_host_mount) all; /* parents come before what is mounted in them */
};

/* The mounts of this namespace, known or looked up in 'a'. */
int box_mounts_find(struct arena *a, const struct box_mounts **ret, struct err *e);
bool box_has_own(struct str path); /* /proc, /sys … and what is below: nothing of the host's is seen there */

/* Their part of box_prepare(), box_refresh(), box_look(). */
void box_mounts_prepare(void);
void box_mounts_refresh(void);
void box_mounts_look(void);

/* ---- box_caps.c, box_seccomp.c ---- */

void box_seccomp_prepare(void);
void box_caps_prepare(void);                      /* what every container asks is asked before they are forked */
int box_caps_bound(uint64_t caps, struct err *e); /* no more than these, for good */
void box_caps_raise(void);                        /* all we have, after a change of user */
int box_caps_set(uint64_t caps, struct err *e);   /* permitted and effective: exactly these, no others */
uint64_t box_caps_default(void);                  /* of a container that asks for none */

struct sock_filter;
struct box_filter {
    struct sock_filter *code;
    unsigned short n;
};
int box_seccomp_make(uint64_t caps, struct box_filter *ret); /* -1: too long */
int box_seccomp_load(uint64_t caps, struct err *e);

uint64_t box_calls_caps(void);                       /* those that change anything */
int box_call_number(struct str name, uint32_t arch); /* SCMP_ARCH_…; -1: there is none */

/* ---- box_program.c ---- */

void box_program_prepare(void); /* its part of box_prepare(): nobody enters another user namespace after that */

struct box_program {
    const struct box_spec *spec;
    const struct box_who *who;
    uint64_t caps;
    int pids; /* a pid namespace for box_program_join(): a descriptor, or that of a process in it; -1: ours */
    bool dies_with_parent;
    char **argv, **envp;
    const char *path; /* $PATH */

    bool failed; /* written by the child, whose memory is ours until it executes */
    bool not_found;
    const char *reason;
    struct err err;
    pid_t pid;
};

int box_program_init(struct arena *a, const struct box_spec *s, struct box_program *ret, struct err *e);
/* For good: the filter of system calls, limits, no capability that the container does not have, its user. -1: see
 * p->reason and p->err. */
int box_program_confine(struct box_program *p);
/* Start it and wait until it executes; all signals are blocked. -1: it does not, see p->reason and p->err. The first is
 * for one who is confined; the second confines the program, and not the caller. */
pid_t box_program_start(struct arena *a, struct box_program *p);
pid_t box_program_join(struct arena *a, struct box_program *p);

/* Close every descriptor but 0, 1, 2 and these, which it sorts; -1 and 0: none. */
void box_keep_only(int *keep, size_t n);

#endif
