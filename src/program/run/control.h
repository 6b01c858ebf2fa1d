/* control.h - the control socket of a run: the way in for `pumice exec`, `logs`, `attach`, `port-forward` …
 *
 * A run listens at <state>/<id>/control, a UNIX socket that only its owner can open (directory 0700, socket 0600; the
 * client must have the run's uid and must not be a process of a pod). It speaks HTTP, with the paths that an API
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
#ifndef PROGRAM_RUN_CONTROL_H
#define PROGRAM_RUN_CONTROL_H

#include "base/arena.h"
#include "base/err.h"

struct agent;
struct run;
struct run_publishes;

#define RUN_CONTROL "control" /* the socket, in the directory of the run */
#define RUN_RESTS   "rests" /* beside it while the run is stopped: {"run": as /run has it, "pods": without their specs} */

struct run_control;

int run_control_open(struct run *r, struct agent *agent, struct run_publishes *publishes, struct run_control **ret,
                     struct err *e);
/* What `pumice attach` and the others find it by. */
const char *run_control_state(const struct run_control *c, struct arena *a);
const char *run_control_id(const struct run_control *c);
int run_control_fd(const struct run_control *c); /* readable: call */
/* is_on: Ctrl-Z stops the run, so its jobs and pods go to a file for other commands. !is_on: it goes on. NULL is fine. */
void run_control_rest(struct run_control *c, bool is_on);
int64_t run_control_turn(struct run_control *c); /* milliseconds until the next is due even then; INT64_MAX: none */
/* No more requests; give those who read logs and verdicts the rest of them. Before agent_close(). */
void run_control_end(struct run_control *c);
void run_control_free(struct run_control *c); /* after it. NULL is fine */

#endif
