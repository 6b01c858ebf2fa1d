/* shim.h - one small process for each pod: it makes the pod's namespaces, starts containers, keeps logs and exit
 * statuses
 *
 * The spawner is a small program of its own (spawner_program.c), embedded in pumice and executed from memory. It
 * forks the shims. A shim makes the pod's network, ipc and uts namespaces, then carries out orders and reports
 * events. It is the parent of the pod's containers and a subreaper.
 *
 *     program ──spawner socket──▶ spawner ──fork──▶ shim ──clone3──▶ container (box.h)
 *        └───────────────── shim socket (wire.h) ────┘
 *
 * When the program dies or closes its end, each shim kills its pod and exits. The spawner sees the same, waits for
 * the shims and exits too; the keeper removes what is left of the run (keeper.h). The spawner also holds the shim's
 * end of each socket until it has reaped the shim and removed what a killed shim left behind. So when the program
 * sees a shim's socket close, nothing of its pod is left.
 *
 * The pods of a node outlive the program ('socket_dir'). There the spawner also holds the program's end of each
 * socket, so no shim sees the program end. It listens on a socket of its own for the next program and passes those
 * ends on; each shim then reports what happened to its containers meanwhile. The next program starts its own spawner
 * for new pods, so that an upgrade takes effect; the old spawner exits with the last of its shims.
 *
 * Spawner and shims inherit only those descriptors of the program that they are given ('held_fds').
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
    const char *oci;            /* path of an OCI runtime for containers ("/usr/sbin/runc"); NULL: box.h. See oci.h */
    const char *oci_dir;        /* directory for bundles; they contain secrets: not on a disk */
    const struct rlimit *files; /* RLIMIT_NOFILE of containers; NULL: that of this process */
    struct clock *clock;        /* for timestamps in logs; NULL: clock_real */
    const int *held_fds;        /* kept open by the spawner and all shims; ends with -1; NULL: none */
    int program_fd;             /* the program that runs https probes (probe.h); set by spawner_start() */
    /* How containers are made; NULL: by 'oci'. For tests: the spawner is then a fork of the caller with all its
     * memory. */
    const struct shim_driver *driver;
    /* Pods outlive the program: the spawner listens here, as "spawner.<pid>", for the next program. */
    bool outlives;
    int socket_dir; /* must be closed to other users */
    int words_fd;   /* stderr of spawner and shims: they would keep a stream of the program open */
};

/* With a 'driver' the caller must have only one thread. */
int spawner_start(const struct spawner_options *opt, struct spawner **ret, struct err *e);
/* Call it first in main(): -1 unless this process was executed as a spawner; then it returns only on an error. */
int spawner_program(char **argv);
/* End the spawner and all its shims, and wait for it. NULL is fine. */
void spawner_stop(struct spawner *s);
void spawner_resume(const struct spawner *s); /* call it now and then: resumes a spawner that was stopped by a signal */
int spawner_fd(const struct spawner *s);      /* readable: the spawner is dead; it never sends anything */

/* ---- those that outlive their program ---- */

enum { SHIM_WIRE = 1 }; /* protocol version: incremented with every change of the protocol */
enum { SPAWNER_KEEPS = 8, SPAWNER_ANSWER_MS = 10000 }; /* answers are immediate unless the process is stopped */

/* What the next program gets besides the shims; replaces earlier values. The descriptors stay the caller's. */
int spawner_keep(struct spawner *s, struct str note, const int *fds, size_t n, struct err *e);
void spawner_leave(struct spawner *s); /* disconnect; the spawner goes on. NULL is fine */

struct spawner_kept {
    struct str note;     /* of spawner_keep(); empty: none was set */
    int mnt_fd, user_fd; /* the spawner's namespaces */
    int fds[SPAWNER_KEEPS];
    size_t n_fds;
};

struct shim;
/* Connect to the spawner that listens at 'name' in 'dir', as its new program. ERR_NOT_FOUND: no spawner listens. On
 * other errors, such as another version, '*ret' is set too, for spawner_stop(). */
int spawner_find(int dir, const char *name, struct spawner **ret, struct err *e);
const struct spawner_kept *spawner_kept(const struct spawner *s); /* of a found spawner; borrowed from it */
struct shim *spawner_next_shim(struct spawner *s); /* of a found spawner; owned by the caller. NULL: no more */

/* ---- a pod ---- */

struct shim;

struct shim_sysctl {
    struct str name, value; /* "net.core.somaxconn", "1024": only those of the pod's own namespaces */
};

struct shim_options {
    const char *group; /* the pod's cgroup, with "<group>/<container>" below it; the shim creates it with 'limits' */
    struct cgroup_limits limits;
    /* The only container, if it needs no limits but the pod's: it runs in the pod's cgroup itself. Containers that
     * come later have no limits of their own. Empty: there are several. Not with an OCI runtime or shared processes.
     */
    struct str only;
    struct str hostname;
    bool has_host_network, has_host_ipc, has_host_pids, shares_pids;
    VEC(struct shim_sysctl) sysctls;
    const char *log_dir; /* "<log_dir>/<container>.<attempt>.log", created with the first record; see conlog.h */
    int64_t log_bytes;   /* rotate a log above this size; 0: 10 MiB. 5 files are kept */
    /* How many bytes a log may be ahead of its reader (shim_log_read()); then its container waits, so that no unread
     * file is rotated away. 0: no reader, no waiting. At most three files of the log. */
    int64_t log_ahead;
    struct str note;  /* for the next program: see struct shim_found */
    uint32_t id_base; /* maps the ids of its containers (box.h), in a user namespace; 0: no mapping */
};

/* Is the pod allowed to set it? 'ret_path': its file below /proc/sys. ERR_INVALID: it belongs to no namespace of the
 * pod. */
int sysctl_check(const struct shim_options *o, struct str name, struct str value, struct buf *ret_path, struct err *e);

/* Request a shim. SHIM_READY or SHIM_GONE follows. */
int shim_new(struct spawner *s, const struct shim_options *opt, struct shim **ret, struct err *e);
void shim_free(struct shim *s);    /* kills the pod, asynchronously. NULL is fine */
void shim_stop(struct shim *s);    /* kills the pod; SHIM_GONE follows when nothing of it is left */
void shim_leave(struct shim *s);   /* disconnect; a shim that outlives the program goes on. NULL is fine */
int shim_fd(const struct shim *s); /* readable: call shim_next() */

/* Orders. On an error the shim has ended (SHIM_GONE follows); except ERR_TOO_BIG: the order is too large to send, and
 * no event follows. 'container': its name. */

/* Start a container in its cgroup with these limits. SHIM_STARTED or SHIM_FAILED follows; after SHIM_STARTED one
 * SHIM_ENDED. */
int shim_start(struct shim *s, const struct box_spec *spec, const struct cgroup_limits *limits, int attempt,
               struct err *e);
/* Signal its process 1, which forwards it; SIGKILL: all of the container. */
int shim_signal(struct shim *s, struct str container, int signo, struct err *e);
/* The log was read up to 'bytes', the 'log_bytes' of a SHIM_LOG. Only with 'log_ahead'. */
int shim_log_read(struct shim *s, struct str container, int attempt, int64_t bytes, struct err *e);
/* Run a command in the container (hook, exec probe): SHIM_RESULT with 'id' follows. It is killed after 'timeout_ms'. */
struct shim_command {
    struct str container;
    const struct str *argv;
    size_t n;
    bool is_tty; /* shim_exec_on(): the descriptors are one socket, and it gets a terminal; see box_exec() */
};
int shim_exec(struct shim *s, uint64_t id, const struct shim_command *command, int64_t timeout_ms, struct err *e);
/* The same for a waiting client: no time limit, and the command uses these three descriptors, which stay the caller's.
 * SHIM_RESULT has a text only if the command was not run: why. */
int shim_exec_on(struct shim *s, uint64_t id, const struct shim_command *command, const int fds[3], struct err *e);
/* Copy the container's output from now on to fds[1] and fds[2] (of a terminal all to the first), which must be pipes.
 * Output that is not read in time is dropped there; the log has all of it. 'wants_input': its input is sent over the
 * socket fds[0]: one byte with a descriptor to write to, which is the terminal if it has one. SHIM_RESULT follows
 * when the container has ended, or at once with the reason of a failure. */
struct shim_attachment {
    struct str container;
    const int *fds; /* 3 */
    bool wants_input;
};
int shim_attach(struct shim *s, uint64_t id, const struct shim_attachment *attachment, struct err *e);
/* Relay bytes between a stream socket, which stays the caller's, and a port of the pod (127.0.0.1, else ::1), until
 * both sides have ended: SHIM_RESULT follows; its text has the error of a failed connection. With a datagram socket:
 * relay all datagrams to the port (127.0.0.1), and the answers back, until it is cancelled. */
int shim_forward(struct shim *s, uint64_t id, uint16_t port, int fd, struct err *e);
/* Kill a command or relay whose client has disconnected. SHIM_RESULT follows as usual. */
int shim_cancel(struct shim *s, uint64_t id, struct err *e);
/* Run a probe from inside the pod's network: SHIM_RESULT follows. */
int shim_probe(struct shim *s, uint64_t id, const struct probe_target *target, int64_t timeout_ms, struct err *e);

enum shim_event_kind {
    SHIM_READY,   /* the namespaces exist: 'net_fd', 'nl_fd' */
    SHIM_STARTED, /* a container's program runs: 'pid' is its process 1 on the host */
    SHIM_FAILED,  /* a container could not be started: 'report' */
    SHIM_ENDED,   /* a container ended: 'status', 'is_oom', 'stats'; 'text': the end of its output, if not in its log */
    SHIM_LOG,     /* its log has grown (conlog.h). At most every SHIM_LOG_MS for one container, and before ENDED */
    SHIM_RESULT,  /* of shim_exec(), shim_probe() */
    SHIM_GONE,    /* the shim and its pod have ended; 'text': why; empty: as ordered */
    SHIM_EVENT_KIND_MAX,
};
enum { SHIM_LOG_MS = 20, SHIM_OUTPUT_MAX = 4096 };

struct shim_event {
    enum shim_event_kind kind;
    int net_fd;           /* the network namespace; owned by the receiver */
    int nl_fd;            /* a netlink socket in it; owned by the receiver. -1: the host's network */
    struct str container; /* borrowed until the next shim_next(), like all text here */
    int attempt;
    pid_t pid;
    struct box_report report;
    int status;     /* as waitpid() gives it */
    bool is_oom;    /* the kernel killed a process in it for memory */
    bool by_itself; /* ENDED: without a shim_signal() before */
    struct cgroup_stats stats;
    int64_t log_bytes; /* LOG: total size of its log, with rotated files */
    uint64_t id;
    bool is_ok;      /* RESULT: exit status 0; a probe that succeeded */
    bool timed_out;  /* RESULT */
    int exit_code;   /* RESULT of shim_exec() */
    struct str text; /* RESULT: its output, at most SHIM_OUTPUT_MAX, or why the probe failed. GONE: why */
};

/* 1: '*ret' is set; 0: no event now. After SHIM_GONE always 0. */
int shim_next(struct shim *s, struct shim_event *ret);

/* ---- adopting a shim that outlived its program ---- */

enum shim_con_state { SHIM_CON_STARTING, SHIM_CON_RUNNING, SHIM_CON_ENDED, SHIM_CON_FAILED, SHIM_CON_STATE_MAX };

struct shim_con { /* the last attempt of a container */
    struct str name;
    int attempt;
    enum shim_con_state state;
    pid_t pid;                    /* RUNNING */
    int64_t started_ms, ended_ms; /* wall clock */
    int status;                   /* ENDED: as in struct shim_event, like the next two; FAILED: the exit code */
    bool is_oom, by_itself;
    struct str reason, text; /* FAILED: of the report; ENDED: the end of its output, if not in the log */
    VEC(struct str) devices; /* of a running container: paths on the host */
};

struct shim_found {
    struct str group, note; /* as in its options */
    VEC(struct shim_con) cons;
};

/* Take over the shim: undelivered events for the previous program are dropped, and commands of its clients are
 * killed. From here on shim_next() returns new events. Waits for the answer, at most SPAWNER_ANSWER_MS; '*ret' lives
 * in 'a'. */
int shim_adopt(struct shim *s, struct arena *a, struct shim_found *ret, struct err *e);

#endif
