/* box.h - one container: what it sees, what it may do, and its first program
 *
 * The process that becomes the container calls box_run(). The caller has made it with clone3(CLONE_NEWPID |
 * CLONE_NEWNS …; without NEWPID if it joins another pid namespace), in the pod's network, ipc and uts namespaces and
 * in the container's cgroup. box_run() builds the root file system, enters it, drops privileges, forks the program
 * and stays as process 1 of the container: it forwards signals, reaps orphans and reports how the program ended. So
 * programs need not be written to run as process 1: SIGTERM ends a program that does not handle it at once, not after
 * the grace period.
 *
 * Process 1 is as confined as the program: same user, capabilities and seccomp filter, and no descriptor but the
 * report socket. The container cannot inspect it: /proc/1/{exe,fd,mem,root} are closed even to the container's root.
 * A program with SYS_PTRACE can, and gains nothing. A container that joins another pid namespace has no process 1 of
 * its own there; its builder stays outside, invisible to the processes inside.
 *
 * The root is an overlay: below, the host's own files or an unpacked image; above, a directory of this container.
 * With the host's files, every other file system of the host (/home, /usr …) gets an overlay too; it is bound
 * read-only where an overlay is not possible or the host mounts it read-only. Never visible: the host's /proc, /sys
 * (a new one, read-only), /dev (only the default devices and the granted ones), /run and /tmp (both new and empty; an
 * image has its own), and 'hidden'. Paths are resolved below the new root only (openat2 with RESOLVE_IN_ROOT), so an
 * image or volume cannot redirect a mount. A program without HOME in its environment gets the one of /etc/passwd.
 */
#ifndef NODE_BOX_H
#define NODE_BOX_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct box_mount {
    int fd;            /* a detached mount: open_tree(OPEN_TREE_CLONE), made read-only where asked (box_clone_mount) */
    struct str target; /* absolute, clean; created with its parents if missing: a directory or a file */
};

struct box_device {
    struct str host; /* on the host; same path in the container unless 'path' is set */
    struct str path;
};

struct box_limit { /* of setrlimit */
    int resource;
    uint64_t soft, hard;
};

struct box_spec {
    struct str name;      /* of the container, for messages */
    VEC(struct str) argv; /* [0] is looked up in the PATH of 'env', inside the root */
    VEC(struct str) env;  /* "NAME=value" */
    struct str cwd;       /* empty: "/"; created if missing */
    struct str root;      /* directory of an unpacked image; empty: the host's files */
    /* Directory of the host for the container's changes; each start creates new entries:
     *     upper<n>   upper layer of an overlay, with its work<n>; the link at<n> has its mount point ("/home"); without
     *                a link it is the root
     *     root<n>    the root itself, where it is not an overlay
     *     tmp<n>     /tmp
     * Created if missing. If its file system cannot hold the upper layer of an overlay (box_can_hold_changes()), a
     * tmpfs that only this container sees is used instead. */
    struct str upper;
    struct str over; /* host's files: a tree mounted over them, path by path; empty: none */
    /* Host's files: paths to hide. 'over' has another file or a whiteout at each of them (hide.h). Where 'over' is
     * missing or cannot be mounted, they show as empty. */
    VEC(struct str) hidden;
    /* Host's files: an empty directory on another file system than "/". With it the kernel denies the container's
     * root every file that others may not read (box_veil.c); empty: no such check. 'homes' are exempt and are
     * protected by 'hidden' alone; see hide.h. */
    struct str veil;
    VEC(struct str) homes;
    VEC(struct box_mount) mounts; /* parents first */
    VEC(struct box_device) devices;
    int64_t shm_bytes; /* of /dev/shm; 0: 64 MiB */

    struct str user;                     /* in the format of an image: "", "1000", "1000:100", "name", "name:group" */
    int64_t uid, gid;                    /* -1: from 'user', else 0 */
    VEC(uint32_t) groups;                /* in addition to those of /etc/group, if the user has a name there */
    bool must_not_be_root;               /* runAsNonRoot */
    bool has_only_groups;                /* ignore /etc/group: 'groups' is the whole list */
    bool has_no_root_group;              /* drop group 0; ignored with 'id_base', which maps it to another */
    VEC(struct str) add_caps, drop_caps; /* "NET_ADMIN", "CAP_NET_ADMIN", "ALL" */
    VEC(struct box_limit) limits;
    bool is_privileged; /* all capabilities, all devices, no filter, /sys writable */
    bool has_new_privileges_off;
    bool has_no_seccomp;
    bool is_root_read_only;
    bool has_host_pids; /* hostPID: stay in the caller's pid namespace */
    bool has_tty;       /* descriptor 0 is a terminal: make it the controlling one */
    bool has_stdin;     /* attached clients can write to descriptor 0; else it is empty */
    bool is_stdin_once; /* stdin closes with the first client */
    int oom_score_adj;
    struct str target;           /* join the pid namespace of this running container of the pod; empty: none */
    const struct box_join *join; /* pid namespace to join; NULL: a new one. Not on the wire */

    /* Set by the process that runs it, not on the wire: see box_ids.c. */
    uint32_t id_base;    /* the container's ids 0…BOX_IDS-1 are those from here on outside; 0: no mapping */
    int user_ns;         /* user namespace with this mapping; 0: none, files are not mapped */
    bool enters_user_ns; /* processes enter 'user_ns'; else they see the ids of the machine */
};

struct box_join {
    int pids;   /* the pid namespace: its descriptor, or that of a process in it */
    int mounts; /* mount namespace of 'proc', in the same form */
    int proc;   /* a mount of the namespace's /proc; -1: use its /proc path */
};

enum { BOX_IDS = 65536 };

bool box_veil_is_possible(void);    /* can box_spec.veil be used? Not in a user namespace */
bool box_can_hold_changes(int dir); /* false: its file system is known not to support an upper layer */
/* Remove the directory of changes of a container that has ended, if nothing was changed. True: it was removed. */
bool box_layer_remove(int dir, const char *path);

/* Encode for the wire (os/wire.h) and decode; texts are copied. mounts[i].fd travels as a descriptor of the message 'm',
 * in the order of the mounts. ERR_INVALID: not the output of box_encode(). */
struct wire_msg;
void box_encode(struct buf *out, const struct box_spec *s);
int box_decode(struct arena *a, struct str bytes, const struct wire_msg *m, struct box_spec *ret, struct err *e);

/* Clone the mount that 'fd' (O_PATH; -1: 'path') shows as a detached mount for box_mount.fd, which is returned; -1 on
 * failure. Call it in the mount namespace that the descriptor comes from. */
int box_clone_mount(int fd, const char *path, bool is_read_only, bool is_recursive, struct err *e);

/* ---- reports: one struct per message on the report socket (SOCK_SEQPACKET) ----
 *
 * BOX_STARTED carries a pidfd of the program, for signals: process 1 can forward only those that the container may
 * send itself. */

enum box_report_kind { BOX_STARTED, BOX_FAILED, BOX_ENDED, BOX_REPORT_KIND_MAX };

struct box_report {
    enum box_report_kind kind;
    int status;      /* BOX_ENDED: wait status. BOX_FAILED: exit code, by Kubernetes convention 128: cannot start */
    char reason[32]; /* BOX_FAILED: "StartError" (the program cannot be run), "CreateContainerError" (mounts, root),
                        "CreateContainerConfigError" (user, runAsNonRoot, capabilities) */
    char text[500];  /* BOX_FAILED: "exec: \"nope\": executable file not found in $PATH" */
};

/* Become the container; see above. Descriptors 0, 1, 2 are its standard streams; only process 1 keeps 'report'; all
 * others are closed. Signals blocked in the caller are unblocked for the program. Never returns. */
_Noreturn void box_run(const struct box_spec *s, int report);

/* Run 's->argv' in the running container (after BOX_STARTED) whose process 1 is 'init' (a pidfd), with the
 * environment, identity and limits of 's'. Call it in a child process that is already in the container's cgroup. It
 * enters the namespaces, forks (for the pid namespace) and exits with the program's status: 128 + signal; like a
 * shell 126 or 127 if it cannot be run, with a message on descriptor 2. SIGTERM to the caller kills the program with
 * SIGKILL.
 *
 * With 'has_tty' descriptor 0 is a socket (SOCK_SEQPACKET): a terminal is created in the container, where the program
 * can also open it by name, and the master is sent over the socket with one byte. */
_Noreturn void box_exec(const struct box_spec *s, int init);

/* For a helper process outside of the pod: drop all capabilities but this one (CAP_KILL; -1: all), and the ways to
 * gain one. */
void box_keep_cap(int cap);

/* ---- prepared once for all containers ---- optional: without these calls each container is slower ---- */

/* Prepare what containers share, in an ancestor of the processes that call box_run(): building the seccomp filter
 * takes 0.2 ms, listing the host's mounts 0.1 ms. */
void box_prepare(void);
/* In that process, before each fork of a process that makes containers: refresh what has changed. */
void box_refresh(void);
/* In the forked process, before each container: check that the inherited list of mounts is still current. */
void box_recheck(void);

#endif
