/* box.h - one container: what it sees, what it may do, and its first program
 *
 * A box is built by the process that becomes it: box_run() is called in a child made with clone3(CLONE_NEWPID |
 * CLONE_NEWNS …; without NEWPID if it joins others) in the pod's network, ipc and uts namespaces, already in its cgroup. It puts the root together, enters
 * it, gives up what the container is not to have, forks the program and stays as the container's process 1: it forwards
 * signals, reaps orphans and reports how the program ended. So a program need not know how to be process 1: SIGTERM
 * ends one that does not handle it, at once instead of after the grace period.
 *
 * Process 1 is as confined as the program: its user, its capabilities, its filter of system calls, and no descriptor but
 * the report. Nobody in the container can look into it, /proc/1/{exe,fd,mem,root} say nothing even to its root; one with
 * SYS_PTRACE can, and gets nothing by it. A container that joins the processes of others has no process 1 of its own
 * there: whoever builds it stays outside, where none of them sees it.
 *
 * The root is an overlay: below, the host's own files (or an unpacked image); above, a directory of this container.
 * With the host's files each further file system of the host (/home, /usr …) is overlaid too, or bound read-only where
 * an overlay is not possible, or the host's is read-only anyway. Never visible: the host's /proc, /sys (a fresh one,
 * read-only), /dev (only the few devices of every container and those granted), /run, /tmp (both new and empty; an
 * image has its own) and 'hidden'. Paths are resolved below the new root only (openat2 with RESOLVE_IN_ROOT), so an
 * image or volume cannot lead a mount elsewhere. A program without HOME in its environment gets that of /etc/passwd.
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
    struct str target; /* absolute, clean; what is missing on the way is made: a directory, or a file for a file */
};

struct box_device {
    struct str host; /* "/dev/nvidia0": of the host; its path in the container is the same unless 'path' is set */
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
    struct str cwd;       /* empty: "/"; made if it is not there */
    struct str root;      /* directory of an unpacked image; empty: the host's files */
    /* What the container changes, in this directory of the host; new ones at every start:
     *     upper<n>   the upper layer of an overlay, and work<n>, which it needs; the link at<n> says where the overlay
     *                is ("/home"), without one it is the root
     *     root<n>    the root itself, where it is no overlay
     *     tmp<n>     /tmp
     * It is made if it is not there. If its file system cannot hold an overlay's changes, a tmpfs is used instead,
     * which nobody else sees: box_can_hold_changes() says so before. */
    struct str upper;
    struct str over; /* host's files: a tree of what lies over them, by the same paths; empty: none */
    /* Host's files: what must not be seen. With 'over', that tree has something else or a whiteout at each of these
     * paths (hide.h); where it cannot lie over the host's files, and without it, they show as empty. */
    VEC(struct str) hidden;
    /* Host's files: an empty directory, on another file system than "/", by which the kernel is made to refuse what
     * others may not read; empty: root of the container may read it. 'homes' are left as they are, and what is hidden
     * in them is all that is: see hide.h. */
    struct str veil;
    VEC(struct str) homes;
    VEC(struct box_mount) mounts; /* parents first */
    VEC(struct box_device) devices;
    int64_t shm_bytes; /* of /dev/shm; 0: 64 MiB */

    struct str user;                     /* as an image says it: "", "1000", "1000:100", "name", "name:group" */
    int64_t uid, gid;                    /* -1: what 'user' says, else 0 */
    VEC(uint32_t) groups;                /* besides those of /etc/group when the user has a name there */
    bool must_not_be_root;               /* runAsNonRoot */
    bool has_only_groups;                /* 'groups' are all: those of /etc/group are not added */
    bool has_no_root_group;              /* group 0 is not the container's to have; with 'id_base' it is another */
    VEC(struct str) add_caps, drop_caps; /* "NET_ADMIN", "CAP_NET_ADMIN", "ALL" */
    VEC(struct box_limit) limits;
    bool is_privileged; /* all capabilities, all devices, no filter, /sys writable */
    bool has_new_privileges_off;
    bool has_no_seccomp;
    bool is_root_read_only;
    bool has_host_pids; /* hostPID: the caller's pid namespace */
    bool has_tty;       /* descriptor 0 is a terminal: make it the controlling one */
    bool has_stdin;     /* descriptor 0 can be written to by whoever attaches; else it is empty */
    bool is_stdin_once; /* it ends with the first who does */
    int oom_score_adj;
    struct str target;           /* a container of the pod that runs: born among its processes; empty: none */
    const struct box_join *join; /* whose processes it is among; NULL: its own. Not on the wire */

    /* Of the process that runs it, and not sent: see box_ids.c. */
    uint32_t id_base; /* the container's ids 0…BOX_IDS-1 are those of the machine from here on; 0: they are the same */
    int user_ns;      /* a user namespace that maps them so; 0: there is none, and files are not mapped */
    bool enters_user_ns; /* processes enter it; else they see the machine's ids as their own */
};

struct box_join {
    int pids;   /* the pid namespace: its descriptor, or that of a process in it */
    int mounts; /* the same for the mount namespace that 'proc' is in */
    int proc;   /* a mount of the namespace's /proc; -1: what is at /proc there */
};

enum { BOX_IDS = 65536 };

bool box_veil_is_possible(void);    /* may box_spec.veil be set? Not in a user namespace */
bool box_can_hold_changes(int dir); /* can it be an upper layer, as far as its file system tells? */
/* Remove a directory of changes whose container is gone, if nothing was changed. True: it is gone. */
bool box_layer_remove(int dir, const char *path);

/* For the wire (os/wire.h), and back: all texts are copied. mounts[i].fd travels beside it: 'fds' are those of the
 * mounts, in their order. ERR_INVALID: it is not what box_encode() writes. */
void box_encode(struct buf *out, const struct box_spec *s);
int box_decode(struct arena *a, struct str bytes, const int *fds, size_t n_fds, struct box_spec *ret, struct err *e);

/* A detached copy of what 'fd' (O_PATH; -1 and a path: that path) shows, for box_mount.fd. Call it in the mount
 * namespace the descriptor comes from. */
int box_clone_mount(int fd, const char *path, bool is_read_only, bool is_recursive, int *ret_fd, struct err *e);

/* ---- what a box tells: one struct per message on its report socket (SOCK_SEQPACKET) ----
 *
 * BOX_STARTED comes with a pidfd of the program, for signals: process 1 can pass on only those that the container may
 * send itself. */

enum box_report_kind { BOX_STARTED, BOX_FAILED, BOX_ENDED, BOX_REPORT_KIND_MAX };

struct box_report {
    enum box_report_kind kind;
    int status; /* BOX_ENDED: as waitpid() gives it. BOX_FAILED: exit code by Kubernetes' custom: 128 cannot start */
    char reason[32]; /* BOX_FAILED: "StartError" (the program cannot be run), "CreateContainerError" (mounts, root),
                        "CreateContainerConfigError" (user, runAsNonRoot, capabilities) */
    char text[500];  /* BOX_FAILED: "exec: \"nope\": executable file not found in $PATH" */
};

/* Become the container; see above. Descriptors 0, 1, 2 are its standard streams; 'report' is kept by process 1 only;
 * everything else is closed. Signals blocked in the caller are unblocked for the program. Never returns. */
_Noreturn void box_run(const struct box_spec *s, int report);

/* Run 's->argv' in the running container (BOX_STARTED was seen) whose process 1 is 'init' (a pidfd), with the
 * environment, identity and limits of 's': called in a child of its own, already in the container's cgroup; it
 * enters the namespaces, forks (for the pid namespace), and ends with the program's status (128 + signal; 126, 127
 * as a shell says when it cannot be run, with a message on descriptor 2). SIGTERM to the caller ends the program
 * with SIGKILL.
 *
 * With 'has_tty' descriptor 0 is a socket (SOCK_SEQPACKET): a terminal is made in the container, where the program
 * finds it by its name too, and our end of it is sent there, with one byte. */
_Noreturn void box_exec(const struct box_spec *s, int init);

/* For a helper of a pod that is out of its sight: no capability but this one (CAP_KILL; -1: none), nor a way to get any. */
void box_keep_cap(int cap);

/* ---- once for all containers ---- not needed for anything: who does not call these has slower ones ---- */

/* Make what they share, in the process whose children, or theirs, call box_run(): the filter of system calls takes a
 * fifth of a millisecond, the list of the host's mounts a tenth of that. */
void box_prepare(void);
/* In that process, before each fork of a process that makes containers: look again at what has changed since. */
void box_refresh(void);
/* In the forked process, before each container: is what goes with it still so? */
void box_look(void);

#endif
