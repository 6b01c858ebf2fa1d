/* shim_internal.h - shared by the files of the spawner and the shims
 *
 * Two sides: the program's (shim.c, spawner.c) and that of the forked processes (spawner_main.c, shim_main.c and the
 * rest). A shim is one thread with one poll() loop. It never blocks on the program: events that the program does not
 * read yet are queued, so there is no deadlock. Only a slow disk blocks it, and with it the writers of logs.
 */
#ifndef NODE_SHIM_INTERNAL_H
#define NODE_SHIM_INTERNAL_H

#include "base/arena.h"
#include "base/list.h"
#include "base/log.h"
#include "node/shim/conlog.h"
#include "node/oci/oci.h"
#include "node/shim/shim.h"
#include "os/wire.h"

#include <poll.h>
#include <sys/resource.h>

/* ---- how a container is made: box.h, oci.h, or a stand-in of a test ---- */

struct shim_driver {
    bool has_namespaces; /* call run() in a new mount namespace, and in a new pid namespace unless it joins one */
    void (*run)(const struct box_spec *s, const struct oci_place *p, int report); /* does not return */
    void (*exec)(const struct box_spec *s, const struct oci_place *p, int init);
    void (*clean)(const struct oci_place *p); /* clean up after run() was killed; NULL: nothing to do */
};
extern const struct shim_driver shim_driver_box, shim_driver_oci;

/* ---- messages: shim_text.c ---- */

/* Programs and spawners of all versions understand STOP and HELLO: their numbers never change, nor do the payload of
 * HELLO (the version) and the first number of its answer (the same). */
enum spawner_order { SPAWNER_SHIM = 1, SPAWNER_STOP, SPAWNER_HELLO, SPAWNER_KEEP };
/* The answer to HELLO: KEPT with the namespaces and the values of spawner_keep(), a SHIM for each shim, then END. */
enum spawner_word { SPAWNER_WORD_KEPT = 16, SPAWNER_WORD_SHIM, SPAWNER_WORD_END };
enum shim_order {
    ORDER_START = 32,
    ORDER_SIGNAL,
    ORDER_EXEC,
    ORDER_PROBE,
    ORDER_LOG_READ,
    ORDER_EXEC_ON,
    ORDER_FORWARD,
    ORDER_CANCEL,
    ORDER_ADOPT, /* answered by a WORD_FOUND */
    ORDER_ATTACH,
    ORDER_MAX
}; /* distinct from the numbers of events */
enum { WORD_FOUND = 64 };

enum { SPAWNER_FD = 3 };

struct spawner_begin { /* the first message to an executed spawner */
    struct spawner_options opt;
    struct str group, place; /* cgroups_adopt() */
    int64_t now_us, mono_us; /* of the program's clock */
    bool is_ordinary;        /* user_is_ordinary() */
    enum log_level log_level;
    enum log_format log_format;
    struct rlimit files;
};
void spawner_put_begin(struct buf *out, const struct spawner_begin *b,
                       struct wire_msg *m); /* adds descriptors to 'm' */
int spawner_get_begin(struct arena *a, struct wire_msg *m, struct spawner_begin *ret,
                      struct err *e); /* takes the descriptors of 'm' */

void shim_put_options(struct buf *out, const struct shim_options *o);
int shim_get_options(struct arena *a, struct str text, struct shim_options *ret, struct err *e);
void shim_put_limits(struct buf *out, const struct cgroup_limits *l);
void shim_get_limits(struct wire_read *r, struct cgroup_limits *ret);
void shim_put_event(struct buf *out, const struct shim_event *ev);
int shim_get_event(struct str text, struct shim_event *ret); /* -1: malformed */
void shim_put_found(struct buf *out, const struct shim_found *f);
int shim_get_found(struct arena *a, struct str text, struct shim_found *ret, struct err *e);
bool shim_name_is_good(struct str container);

int spawner_send(struct spawner *s, const struct wire_msg *m, struct err *e); /* spawner.c */
bool spawner_outlives(const struct spawner *s);
struct shim *shim_of_fd(int take_fd); /* shim.c */

/* ---- the spawner: spawner_main.c ---- */

struct spawner_area { /* memory of the command line of this process */
    char *p;
    size_t n;
};

struct spawner_own { /* inherited by each forked shim */
    const struct spawner_options *opt;
    struct spawner_area area;
    struct rlimit files; /* of containers */
    int first_fd;        /* first descriptor number above all inherited ones */
};

_Noreturn void spawner_main(const struct spawner_options *opt, int sock);
struct spawner_area spawner_find_area(void);
void spawner_name(const struct spawner_area *area, const char *name, const char *more);
void spawner_settle(void); /* in a forked process: a session and streams of its own, terminal signals ignored */

/* spawner_exec.c: the first runs in the program, the second in its forked child. */
int spawner_open_program(int exe, struct err *e); /* 'exe': /proc/self/exe, to compare */
_Noreturn void spawner_execute(int program, int exe, int sock);
extern const char spawner_program_name[];

/* Kill and reap every child for which 'keeps' is false, until none is left, for at most 'ms'. False: some are left. */
bool shim_kill_strays(bool (*keeps)(void *ctx, pid_t pid), void *ctx, int ms);

/* ---- a shim ---- */

enum con_state { CON_STARTING, CON_RUNNING, CON_FAILED };
enum { SHIM_JOBS_MAX = 272, SHIM_SESSIONS_MAX = 256, SHIM_READ = 64 << 10, SHIM_LOG_BYTES = 10 << 20 };

struct con { /* a container */
    struct list_link link;
    struct arena arena;
    const char *name, *group;
    bool is_only;               /* runs in the pod's cgroup: 'group' is the pod's */
    struct cgroup_stats before; /* … so counters include earlier attempts: their values at the start */
    struct oci_place place;
    int attempt;
    struct box_spec spec;
    struct box_join join; /* of a target */
    enum con_state state;
    pid_t pid;
    int pidfd, report, pipes[CONLOG_STREAM_MAX]; /* -1: none, or ended */
    int program;       /* pidfd of the program, for signals; -1: none, process 1 forwards them */
    int in;            /* write end for attached clients; -1: no input */
    struct list sinks; /* of struct shim_sink: attached clients */
    struct conlog *log;
    struct box_report failure;
    bool has_status, has_unflushed;
    bool is_signalled; /* shim_signal() came while its program ran */
    int status;
    int held_signal;                /* signal that came before the program ran; sent then */
    int64_t said_ms;                /* when SHIM_LOG was sent last */
    int64_t said_bytes, read_bytes; /* size of its log: reported to the program, read by it */
    int64_t started_ms;             /* wall clock */
    size_t slot;                    /* index of its first pollfd */
};

struct shim_sink { /* a client attached to the output of a container */
    struct list_link link;
    uint64_t id;
    int fds[CONLOG_STREAM_MAX];
};

struct shim_past { /* how the last attempt of a container ended, for the next program */
    struct list_link link;
    struct shim_con con;
    struct buf name, reason, text;
};

struct shim_task { /* a running command or probe */
    struct list_link link;
    uint64_t id;
    bool is_probe, timed_out;
    bool is_session;   /* a client is connected to it: no time limit */
    bool is_forgotten; /* the program that requested it has ended */
    pid_t pid;
    int out; /* its output; -1: not ours, or closed */
    struct buf text;
    int64_t began_ms, timeout_ms;
    int64_t due_ms; /* when to kill it, or kill it harder */
    size_t slot;
};

struct shim_pod {
    const struct spawner_own *own;
    const struct shim_driver *driver;
    struct shim_options opt;
    int sock, signals, null;
    struct box_join shared; /* the pod's pid namespace; pids is -1: not shared */
    pid_t pause_pid;        /* process 1 there */
    int user_ns;            /* user namespace that maps the pod's ids; 0: none */
    struct list cons, tasks, queue, pasts;
    size_t n_cons, n_jobs;
    bool is_over;        /* the program has closed its end */
    bool has_more_ended; /* children not yet reaped */
    bool has_complained; /* an unknown order was logged */
    bool has_leftover;   /* a container's cgroup could not be removed */
    struct pollfd *fds;
    size_t n_fds, cap_fds;
    struct wire_in in;
    char *bytes; /* shared read buffer of SHIM_READ bytes; never cleared: most pods touch few pages */
};

_Noreturn void shim_main(const struct spawner_own *own, const struct shim_options *opt, int sock);

/* Never blocks. */
void pod_say(struct shim_pod *p, const struct shim_event *ev);
void pod_say_text(struct shim_pod *p, uint32_t kind, struct str text);
void pod_drop_queue(struct shim_pod *p);

/* shim_pod.c: namespaces, host name, sysctls. */
int pod_make(struct shim_pod *p, struct err *e);
int pod_make_pause(struct shim_pod *p, struct err *e); /* with shares_pids: process 1 of all containers */

/* shim_user_ns.c */
void pod_make_user_ns(struct shim_pod *p);
void pod_set_ids(const struct shim_pod *p, struct box_spec *s);

/* shim_clone.c: a child in a cgroup. Returns like fork(): 0 in the child, after it has entered the cgroup; e->code is
 * set there if that failed. 'group' and 'ret_pidfd' may be NULL. */
pid_t pod_clone(struct shim_pod *p, const char *group, uint64_t flags, int *ret_pidfd, struct err *e);
void pod_child_streams(int in, int out, int err); /* in the child: descriptors 0, 1, 2 */

/* shim_start.c */
void pod_start(struct shim_pod *p, const struct wire_msg *m);
void pod_signal(struct shim_pod *p, const struct wire_msg *m);
void con_signal(const struct con *c, int signo); /* signal its program; no error if it has ended */
struct con *pod_find(struct shim_pod *p, struct str name);
void con_free(struct shim_pod *p, struct con *c);
int64_t pod_now_ns(const struct shim_pod *p); /* wall clock */

/* shim_end.c */
void con_read_report(struct shim_pod *p, struct con *c);
void con_leave_group(struct shim_pod *p, const struct con *c); /* after it has ended, or failed to start */
void con_read_pipe(struct shim_pod *p, struct con *c, enum conlog_stream stream);
bool con_must_wait(const struct shim_pod *p, const struct con *c); /* is its log too far ahead of its reader? */
bool con_has_news(const struct con *c);
void pod_log_read(struct shim_pod *p, const struct wire_msg *m);
void pod_reap(struct shim_pod *p);
void pod_say_news(struct shim_pod *p, int64_t now_ms); /* send the SHIM_LOG events that are due */
_Noreturn void pod_end(struct shim_pod *p);

/* shim_task.c */
void pod_exec(struct shim_pod *p, const struct wire_msg *m);
void pod_probe(struct shim_pod *p, const struct wire_msg *m);
struct shim_task *task_new(struct shim_pod *p, uint64_t id, int64_t timeout_ms,
                           int *ret_end); /* NULL: refused, and SHIM_RESULT was sent */
/* Its process was started ('pid' < 0: failed, see 'e'). Closes 'end', the child's end of the pipe; -1: none. */
void task_begin(struct shim_pod *p, struct shim_task *j, pid_t pid, int end, const struct err *e);
void task_refuse(struct shim_pod *p, uint64_t id, const char *why);
int task_argv(struct wire_read *r, struct arena *a, struct box_spec *spec);
void task_read(struct shim_pod *p, struct shim_task *j);
void task_ended(struct shim_pod *p, struct shim_task *j, int status);
void pod_check_jobs(struct shim_pod *p, int64_t now_ms);

/* shim_session.c */
void pod_exec_on(struct shim_pod *p, const struct wire_msg *m);
void pod_forward(struct shim_pod *p, const struct wire_msg *m);
bool is_datagram_socket(int fd);
_Noreturn void relay_datagrams(int fd, uint16_t port); /* runs until it is killed */
void pod_cancel(struct shim_pod *p, const struct wire_msg *m);

/* shim_attach.c */
void pod_attach(struct shim_pod *p, const struct wire_msg *m);
bool con_detach(struct shim_pod *p, struct con *c, uint64_t id); /* false: 'id' is not attached to this container */
void con_show(struct con *c, enum conlog_stream stream, struct str bytes);
void con_detach_all(struct shim_pod *p, struct con *c, bool tells);

/* shim_adopt.c */
void pod_note_end(struct shim_pod *p, const struct con *c, const struct shim_event *ev);
void pod_adopt(struct shim_pod *p, const struct wire_msg *m);

#endif
