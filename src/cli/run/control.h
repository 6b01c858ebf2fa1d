/* control.h - the ways into a run: its control socket, and ports of this machine that lead to its pods
 *
 * A run listens at <state>/<id>/control, a UNIX socket that only its owner can open (directory 0700, socket 0600; whoever
 * connects must have the run's uid and must not be a process of a pod). It speaks HTTP, with the paths that an API
 * server has for pods, so that what speaks to one speaks to the other:
 *
 *     GET  /run                                             {"id", "pid", "began", "jobs": [{"namespace", "name", "phase"}]}
 *     GET  /use                                             [{"namespace", "pod", "cpuMicroseconds", "memoryBytes"}]; -1: not counted
 *     GET  /api/v1/pods                                     a PodList
 *     GET  /api/v1/namespaces/NS/pods/POD/log               as a kubelet has these three (kubelet/kubelet.h);
 *     GET  /api/v1/namespaces/NS/pods/POD/exec, …/attach    'container' must be given
 *     GET  /api/v1/namespaces/NS/pods/POD/process           {"pid"}: process 1 of 'container' on this machine
 *     GET  /api/v1/namespaces/NS/pods/POD/publish           listen at 'address', 'port' (0: any) for port 'to' of the pod while
 *                                                           the answer lasts: the address, then what goes wrong, line by line
 *
 * Nothing of it holds the run up, and nothing can be changed but by what runs in a pod.
 */
#ifndef CLI_RUN_CONTROL_H
#define CLI_RUN_CONTROL_H

#include "cli/run/run.h"

#define RUN_CONTROL "control" /* the socket, in the directory of the run */
#define RUN_RESTS   "rests" /* beside it while the run is stopped: {"run": as /run has it, "pods": without their specs} */

/* ---- the socket ---- */

struct run_control;

int run_control_open(struct run *r, struct agent *agent, struct run_publishes *publishes, struct run_control **ret,
                     struct err *e);
/* What `pumice attach` and the others find it by. */
const char *run_control_state(const struct run_control *c, struct arena *a);
const char *run_control_id(const struct run_control *c);
int run_control_fd(const struct run_control *c); /* readable: call */
/* It stops, and nobody will answer: leave a note of what there is; or it goes on. NULL is fine. */
void run_control_rest(struct run_control *c, bool is_on);
int64_t run_control_turn(struct run_control *c); /* milliseconds until the next is due even then; INT64_MAX: none */
/* No more requests; give those who read logs and verdicts the rest of them. Before agent_close(). */
void run_control_end(struct run_control *c);
void run_control_free(struct run_control *c); /* after it. NULL is fine */

/* ---- this terminal ---- */

/* Is there one pod only, with a container that has stdin: true, and somebody at a terminal? Told before 'start'. */
void run_attach_look(struct run *r, const struct load *l);
/* Begin when the pod runs, and take the terminal back when it has ended or somebody has left it. */
void run_attach_turn(struct run *r);
bool run_attach_shows(const struct run *r, struct str pod_uid); /* what it writes is on the screen already */
void run_attach_end(struct run *r);                             /* the terminal is ours again */

/* ---- ports ---- */

/* What --publish says: "8265", "8265:POD", "8265:9000", "8265:POD:9000", each with "ADDRESS:" in front, or with "/udp"
 * behind its first or last part. */
struct publish {
    struct str address;   /* empty: 127.0.0.1 */
    uint16_t port;        /* 0: one that is free */
    struct str namespace; /* empty: any */
    struct str pod;       /* its name, or as the output of the run calls it; empty: the one that has the port */
    uint16_t to;          /* port of the pod */
    bool is_host_port;    /* of the pods whose hostPort it is */
    bool is_udp;          /* not TCP */
};
int publish_parse(struct str text, struct publish *ret, struct err *e);

struct run_publish; /* one that listens */

/* 'say' is told what goes wrong with a connection. ERR_CONFLICT, ERR_FORBIDDEN: as listening has it, with what to do. */
int run_publish_add(struct run_publishes *all, const struct publish *what, const struct run_say *say,
                    struct run_publish **ret, struct err *e);
struct str run_publish_address(const struct run_publish *p, struct arena *a); /* "127.0.0.1:8265" */
void run_publish_end(struct run_publish *p);                                  /* and its connections */

int run_publishes_init(struct run_publishes *all, struct run *r, struct agent *agent, struct err *e);
/* --publish, and hostPorts of the files: nothing is told of, one that cannot be had is an error. */
int run_publishes_open(struct run_publishes *all, const struct run_options *o, const struct load *l, struct err *e);
void run_publishes_turn(struct run_publishes *all); /* 'epoll' is readable */
void run_publishes_done(struct run_publishes *all); /* after agent_close() */

#endif
