/* shim.h - one small process for each pod: it makes the pod's namespaces, starts containers, keeps logs and exit status
 *
 * The spawner is a small program of its own (spawner_program.c), carried in ours and executed from memory; it forks the
 * shims. A shim makes the pod's network, ipc and uts namespaces, then does what it is told, and tells what happened. It
 * is the parent of the pod's containers and a subreaper.
 *
 *     program ──spawner socket──▶ spawner ──fork──▶ shim ──clone3──▶ container (box.h)
 *        └───────────────── shim socket (wire.h) ────┘
 *
 * When the program dies or closes its end, a shim kills all of its pod and goes. The spawner, seeing the same, waits
 * for the shims and goes too; what is left of the run then is the keeper's to remove (keeper.h). The spawner also holds the shim's end of each socket until it has seen the shim end and has removed what a
 * killed shim left. So the program sees the end of a shim only when nothing of its pod is there any more.
 *
 * Of a node it is otherwise: its pods outlive the program ('socket_dir'). The spawner holds the program's end of each
 * socket too, so no shim sees the program go; it listens at a socket of its own for the next program, gives it all
 * those ends, and each shim tells it what became of its containers meanwhile. That program starts a spawner of its own
 * for new pods, so that an upgrade takes effect; an old one ends with the last of its shims.
 *
 * Of the program's descriptors the spawner and the shims have those that they are given ('held_fds'), and no others.
 */
#ifndef NODE_SHIM_H
#define NODE_SHIM_H

#include "base/err.h"
#include "node/container/box.h"
#include "node/cgroup/cgroup.h"
#include "node/shim/probe.h"

#include <sys/resource.h>
#include <sys/types.h>

/* ---- the spawner ---- */

struct spawner;
struct clock;
struct shim_driver; /* shim_internal.h */

struct spawner_options {
    struct cgroups *cgroups;
    const char *oci;     /* path of an OCI runtime to run containers with ("/usr/sbin/runc"); NULL: box.h. See oci.h */
    const char *oci_dir; /* for bundles, which have secrets: not on a disk */
    const struct rlimit *files; /* what containers may have open; NULL: as this process */
    struct clock *clock;        /* of the times in logs; NULL: clock_real */
    const int *held_fds;        /* open as long as it or a shim lives, ended by -1; NULL: none */
    int program_fd;             /* what asks for answers by https (probe.h); set by spawner_start() */
    /* What a container is made by; NULL: by 'oci'. For tests: the spawner is then a fork of the caller, with all it has. */
    const struct shim_driver *driver;
    /* Pods outlive the program: the spawner listens here, as "spawner.<pid>", for the next one. */
    bool outlives;
    int socket_dir; /* open to nobody else */
    int words_fd;   /* where the last words of spawner and shims go: a stream of the program would never end */
};

/* With a 'driver': one thread only. */
int spawner_start(const struct spawner_options *opt, struct spawner **ret, struct err *e);
/* First thing in main(): -1 unless this process was executed to be a spawner. That does not return, but for an error. */
int spawner_program(char **argv);
/* Ends the spawner (and any shim left). Waits for it. NULL is fine. */
void spawner_stop(struct spawner *s);
void spawner_look(const struct spawner *s); /* now and then: one of ours that was stopped goes on */
int spawner_fd(const struct spawner *s);    /* it never says anything: readable means that it is dead */

/* ---- those that outlive their program ---- */

enum { SHIM_WIRE = 1 };                                /* counted up with every change of what is said here */
enum { SPAWNER_KEEPS = 8, SPAWNER_ANSWER_MS = 10000 }; /* answers come at once, unless somebody was stopped */

/* What the next program gets besides the shims; replaces what was given before. The descriptors stay the caller's. */
int spawner_keep(struct spawner *s, struct str note, const int *fds, size_t n, struct err *e);
void spawner_leave(struct spawner *s); /* let go of it, and it goes on. NULL is fine */

struct spawner_kept {
    struct str note;     /* of spawner_keep(); empty: nothing was given */
    int mnt_fd, user_fd; /* the namespaces it is in */
    int fds[SPAWNER_KEEPS];
    size_t n_fds;
};

struct shim;
/* Become the program of a spawner that listens at 'name' in 'dir'. ERR_NOT_FOUND: nobody does. With another error, as
 * of a version that is not ours, '*ret' is set all the same, and can be stopped. */
int spawner_find(int dir, const char *name, struct spawner **ret, struct err *e);
const struct spawner_kept *spawner_kept(const struct spawner *s); /* of a found one, and borrowed from it */
struct shim *spawner_next_shim(struct spawner *s);                /* of a found one; the caller's. NULL: no more */

/* ---- a pod ---- */

struct shim;

struct shim_sysctl {
    struct str name, value; /* "net.core.somaxconn", "1024": only those of the pod's own namespaces */
};

struct shim_options {
    const char *group; /* the pod's cgroup, "<group>/<container>" below it; made by the shim with 'limits' */
    struct cgroup_limits limits;
    /* The only container, if the pod's limits are all it has: it is in the pod's group itself. Others that come later
     * have no limits of their own. Empty: there are several. Not with an OCI runtime nor shared processes. */
    struct str only;
    struct str hostname;
    bool has_host_network, has_host_ipc, has_host_pids, shares_pids;
    VEC(struct shim_sysctl) sysctls;
    const char *log_dir; /* "<log_dir>/<container>.<attempt>.log", made when something is written; see conlog.h */
    int64_t log_bytes;   /* a log is turned over when it is longer; 0: 10 MiB, and 5 are kept */
    /* A log may be so far ahead of its reader (shim_log_read()); then its container waits, so that nothing is turned
     * over that was not read. 0: nobody reads, nobody waits. At most three files of the log. */
    int64_t log_ahead;
    struct str note; /* for the next program: see struct shim_found */
    uint32_t
        id_base; /* ids of its containers are those from here on (box.h), in a user namespace; 0: they are the same */
};

/* May the pod set it? 'ret_path': its file below /proc/sys. ERR_INVALID: it is not of a namespace of the pod's own. */
int sysctl_check(const struct shim_options *o, struct str name, struct str value, struct buf *ret_path, struct err *e);

/* Ask for a shim. It is not there yet: SHIM_READY or SHIM_GONE follows. */
int shim_new(struct spawner *s, const struct shim_options *opt, struct shim **ret, struct err *e);
void shim_free(struct shim *s);    /* whatever runs in the pod is killed, soon. NULL is fine */
void shim_stop(struct shim *s);    /* the same, and SHIM_GONE tells when all of it is gone */
void shim_leave(struct shim *s);   /* let go of it: one that outlives the program goes on. NULL is fine */
int shim_fd(const struct shim *s); /* readable: call shim_next() */

/* Orders. An error means the shim is gone (SHIM_GONE follows); ERR_TOO_BIG: the order cannot be sent, and nothing
 * follows. 'container': its name. */

/* Start a container in its group with these limits. STARTED or FAILED follows, after STARTED one ENDED. */
int shim_start(struct shim *s, const struct box_spec *spec, const struct cgroup_limits *limits, int attempt,
               struct err *e);
/* To its process 1, which passes it on; SIGKILL: to all of the container. */
int shim_signal(struct shim *s, struct str container, int signo, struct err *e);
/* All that a SHIM_LOG told of was read: 'bytes' is its 'log_bytes'. Only with 'log_ahead'. */
int shim_log_read(struct shim *s, struct str container, int attempt, int64_t bytes, struct err *e);
/* Run a command in the container (hook, exec probe): SHIM_RESULT with 'id' follows. After 'timeout_ms' it is killed. */
struct shim_command {
    struct str container;
    const struct str *argv;
    size_t n;
    bool is_tty; /* shim_exec_on(): the descriptors are one socket, and it gets a terminal; see box_exec() */
};
int shim_exec(struct shim *s, uint64_t id, const struct shim_command *command, int64_t timeout_ms, struct err *e);
/* The same for somebody who waits at the other end: no time limit, and the command has these three descriptors, which
 * stay the caller's. SHIM_RESULT has no text but why it was not run. */
int shim_exec_on(struct shim *s, uint64_t id, const struct shim_command *command, const int fds[3], struct err *e);
/* What a container writes from now on goes to fds[1] and fds[2] too (of a terminal all of it to the first), which must be
 * pipes; what is not read in time is lost there, and is in the log. 'wants_input': its input is sent over the socket
 * fds[0], one byte with a descriptor to write to, which is the terminal if it has one. SHIM_RESULT follows when the
 * container has ended, or with why there is none. */
int shim_attach(struct shim *s, uint64_t id, struct str container, const int fds[3], bool wants_input, struct err *e);
/* Carry bytes between a stream socket, which stays the caller's, and a port of the pod (127.0.0.1, else ::1), until
 * both have ended: SHIM_RESULT follows; its text says why there is no connection. A datagram socket is not connected:
 * all that comes to it goes to the port (127.0.0.1), and the answers go back, until it is cancelled. */
int shim_forward(struct shim *s, uint64_t id, uint16_t port, int fd, struct err *e);
/* Nobody waits any more: kill it. SHIM_RESULT follows as it would have. */
int shim_cancel(struct shim *s, uint64_t id, struct err *e);
/* Ask an address of the pod from inside its network: SHIM_RESULT follows. */
int shim_probe(struct shim *s, uint64_t id, const struct probe_target *target, int64_t timeout_ms, struct err *e);

enum shim_event_kind {
    SHIM_READY,   /* the namespaces are there: 'net_fd', 'nl_fd' */
    SHIM_STARTED, /* a container's program runs: 'pid' of its process 1 as the host sees it */
    SHIM_FAILED,  /* a container could not be started: 'report' */
    SHIM_ENDED,   /* a container ended: 'status', 'is_oom', 'stats'; 'text': its last words, if not in its log */
    SHIM_LOG,     /* its log has grown: read on (conlog.h). At most every SHIM_LOG_MS for one, and before ENDED */
    SHIM_RESULT,  /* of shim_exec(), shim_probe() */
    SHIM_GONE,    /* the shim is no more, nor anything of its pod: 'text' says why; empty: as told */
    SHIM_EVENT_KIND_MAX,
};
enum { SHIM_LOG_MS = 20, SHIM_OUTPUT_MAX = 4096 };

struct shim_event {
    enum shim_event_kind kind;
    int net_fd;           /* the network namespace; the receiver's */
    int nl_fd;            /* a netlink socket in it, to set it up by; the receiver's. -1: the host's network */
    struct str container; /* borrowed until the next shim_next(), as all text here */
    int attempt;
    pid_t pid;
    struct box_report report;
    int status;     /* as waitpid() gives it */
    bool is_oom;    /* the kernel killed something in it for memory */
    bool by_itself; /* ENDED: no shim_signal() came before */
    struct cgroup_stats stats;
    int64_t log_bytes; /* LOG: of its log, since it began */
    uint64_t id;
    bool is_ok;      /* RESULT: exit status 0; a probe that was answered as wanted */
    bool timed_out;  /* RESULT */
    int exit_code;   /* RESULT of shim_exec() */
    struct str text; /* RESULT: what it wrote, at most SHIM_OUTPUT_MAX; or why the probe failed. GONE: why */
};

/* 1: '*ret'; 0: nothing now. After SHIM_GONE always 0. */
int shim_next(struct shim *s, struct shim_event *ret);

/* ---- of one that outlived its program ---- */

enum shim_con_state { SHIM_CON_STARTING, SHIM_CON_RUNNING, SHIM_CON_ENDED, SHIM_CON_FAILED, SHIM_CON_STATE_MAX };

struct shim_con { /* a container: its last attempt */
    struct str name;
    int attempt;
    enum shim_con_state state;
    pid_t pid;                    /* RUNNING */
    int64_t started_ms, ended_ms; /* wall clock */
    int status;                   /* ENDED: this and the next, as in struct shim_event; FAILED: the exit code */
    bool is_oom, by_itself;
    struct str reason, text; /* FAILED: of the report; ENDED: last words that are not in the log */
    VEC(struct str) devices; /* of one that runs: their paths on the host */
};

struct shim_found {
    struct str group, note; /* as its options had them */
    VEC(struct shim_con) cons;
};

/* Take over: all that was on its way for the program before is forgotten, commands of its clients are killed. From here
 * on shim_next() tells what is new. Waits for the answer, SPAWNER_ANSWER_MS at most; '*ret' lives in 'a'. */
int shim_adopt(struct shim *s, struct arena *a, struct shim_found *ret, struct err *e);

#endif
