/* life.h - the life of one pod on a node, as a pure machine: what happened goes in, what to do next comes out
 *
 * The kubelet's part without its hands. It does no I/O and reads no clock. The owner (agent.h) carries out the actions
 * and tells how they went; life_status() is the status of the pod at any time.
 *
 *     life_new(pod) → life_step() … MAKE → life_made()
 *                   → life_step() … START init → life_started(), life_ended() → START …
 *                                   PROBE, HOOK → life_result()
 *     deletion: life_update() → HOOK preStop, SIGNAL TERM, later KILL → life_ended() → UNMAKE → life_unmade() → GONE
 *
 * Rules, as in Kubernetes:
 * - init containers one after the other, each to success; a sidecar (init container with restartPolicy Always) counts
 *   as done once started (and its startup probe, if any, succeeded), is restarted always, and is ended after the main
 *   ones, in reverse order; sidecars do not keep a pod from finishing.
 * - containers start one at a time, in their order, each when the one before runs and its postStart is over.
 * - restartPolicy Always, OnFailure, Never; the first restart at once, then a back-off of 10 s doubling to 300 s per
 *   container, forgotten after it ran for 10 min: waiting CrashLoopBackOff.
 * - startupProbe holds back the others; livenessProbe kills (its own terminationGracePeriodSeconds, if given) and
 *   restartPolicy decides; readinessProbe sets ready. initialDelaySeconds, periodSeconds, timeoutSeconds,
 *   successThreshold, failureThreshold.
 * - postStart: failing kills the container. preStop: part of the grace; exec, httpGet, tcpSocket, sleep. The grace is
 *   that of the deletion, else terminationGracePeriodSeconds, else 30 s. A second, shorter deletion shortens it. After
 *   SIGTERM a container has 2 s at least; a grace of 0 is SIGKILL at once, without hook.
 * - activeDeadlineSeconds: the pod fails with reason DeadlineExceeded.
 * - phase: Pending until all init containers are done and every main one was started; Running; Succeeded or Failed when
 *   nothing runs any more. Then comes UNMAKE; GONE only once the pod is deleted.
 * - observedGeneration of the status and of our conditions: metadata.generation of the newest pod that was told.
 * - conditions PodScheduled (kept), PodReadyToStartContainers, Initialized, ContainersReady, Ready (with
 *   readinessGates), each with reason, message and lastTransitionTime; DisruptionTarget and others written by somebody
 *   else are kept.
 * - container states waiting (PodInitializing, ContainerCreating, CrashLoopBackOff, the reason of a failed start),
 *   running, terminated (Completed, Error, OOMKilled, ContainerCannotRun / StartError, exit code 128 + signal, signal,
 *   message, startedAt, finishedAt, containerID), lastState, restartCount, ready, started, imageID.
 * - ephemeral containers, which life_update() may add, start as soon as there is a sandbox, whatever the others do, and
 *   once: no restart, no probes, no hooks. The phase and the conditions do not look at them, and when the others have
 *   ended they are ended too.
 */
#ifndef NODE_LIFE_H
#define NODE_LIFE_H

#include "base/arena.h"
#include "base/err.h"
#include "json/json.h"
#include "node/shim/probe.h"
#include "store/object.h"

struct life;

enum life_action_kind {
    LIFE_NOTHING,
    LIFE_MAKE,   /* make the sandbox: network, volumes, shim. life_made() or life_failed() follows */
    LIFE_START,  /* start 'container', attempt 'attempt'. life_started() or life_start_failed() follows */
    LIFE_SIGNAL, /* send 'signo' to 'container' */
    LIFE_PROBE,  /* run the probe 'id' of 'container' ('spec' has its exec, httpGet, …). life_result() follows */
    LIFE_HOOK,   /* the same for a hook. One that only sleeps is no action */
    LIFE_UNMAKE, /* no container is left and none will start in it: take the sandbox away. life_unmade() follows; after
                    life_lost() another MAKE may */
    LIFE_GONE,   /* the pod was to be deleted and nothing of it is left: confirm with a delete of grace 0. Said once */
    LIFE_ACTION_KIND_MAX,
};

struct life_action {
    enum life_action_kind kind;
    const struct json *container; /* of the pod's spec as it was when it was told first; borrowed as long as the life */
    struct str name;              /* of the container; the same */
    const struct json *resources; /* what the container is to have; may be NULL; until the next life_resize() */
    bool is_init, is_ephemeral;
    int attempt; /* 0, 1 …: restarts. A start that is tried again has the number of the one before */
    int signo;
    uint64_t id;
    const struct json *spec;
    int64_t timeout_ms;
};

/* 'pod': as bound to this node. A reference is kept. If its status says that it ended, nothing will be done. If it says
 * that containers ran, whoever wrote that is gone and so are they: it is as if they were lost (life_lost()) just now.
 */
struct life *life_new(const struct object *pod, int64_t now_ms);

enum life_found_state { LIFE_FOUND_STARTING, LIFE_FOUND_RUNNING, LIFE_FOUND_ENDED, LIFE_FOUND_FAILED };
struct life_end;

struct life_found { /* a container as it was found: its last attempt */
    struct str name, id;
    int attempt;
    enum life_found_state state;
    int64_t started_ms, ended_ms; /* wall clock, as all times here */
    const struct life_end *end;   /* ENDED */
    int exit_code;                /* FAILED: this and the next two, as in life_start_failed() */
    struct str reason, message;
};

/* The same for a pod whose sandbox, and what was started in it, outlived the agent: nothing was lost. What ended
 * meanwhile has its real exit code and time; probes go on from what the status said of them, and a hook is run again
 * unless the status says that it is over. Containers that were not found have not been started in this sandbox. */
struct life *life_adopt(const struct object *pod, struct str pod_ip, struct str host_ip, const struct life_found *cons,
                        size_t n, int64_t now_ms);
void life_free(struct life *l); /* NULL is fine */

/* The pod changed: deletion (its grace counts from now on), labels, annotations, conditions of others,
 * activeDeadlineSeconds, more ephemeral containers, a resize (life_wants_resize()). Other changes of its spec are
 * ignored. If another writer set a phase that has ended, the pod is stopped and keeps that phase. */
void life_update(struct life *l, const struct object *pod, int64_t now_ms);

/* The next thing to do; false: nothing now. Each is given once. May be called, and the functions below too, while an
 * action is being carried out. Step after every told thing. */
bool life_step(struct life *l, int64_t now_ms, struct life_action *ret);
int64_t life_due_ms(const struct life *l); /* when to step next if nothing is told before; INT64_MAX: never */

/* ---- other amounts of CPU and memory (life_resize.c) ---- */

bool life_wants_resize(const struct life *l); /* the newest spec has others than those in force */
/* The newest spec with the amounts in force: the pod's own, or in 'a'. */
const struct json *life_sized_spec(const struct life *l, struct arena *a);
/* The limits of those that run were set, or nothing runs: the wish is in force. Containers that must restart do. */
void life_resize(struct life *l, int64_t now_ms);
/* It waits: for room, or (is_error) for what it uses now to become less. */
void life_resize_waits(struct life *l, bool is_error, struct str why, int64_t now_ms);
bool life_is_up(const struct life *l, struct str container); /* it runs */

/* ---- what happened ---- */

struct life_end {
    int status; /* as waitpid() gives it */
    bool is_oom;
    bool by_itself;     /* no signal reached it before */
    struct str message; /* terminationMessagePath, or the tail of the log; may be empty */
};

void life_made(struct life *l, struct str pod_ip, struct str host_ip, int64_t now_ms);
/* The sandbox could not be made, and nothing is left of it. is_final: the pod fails with this reason; else it is
 * tried again (1 s doubling to 1 min), and the containers are waiting with this reason ("FailedMount" …) and
 * message. */
void life_failed(struct life *l, bool is_final, struct str reason, struct str message, int64_t now_ms);
/* It is still being made, and this keeps it: the containers are waiting with this reason until life_made() or
 * life_failed(). */
void life_delayed(struct life *l, struct str reason, struct str message);
void life_unmade(struct life *l, int64_t now_ms);
/* Something that it may have waited for is there: what could not be made or started is tried again now. */
void life_retry(struct life *l, int64_t now_ms);
/* All of the pod died at once without a word (its shim was killed). Containers end with 137. UNMAKE follows; then,
 * unless restartPolicy is Never, a new sandbox is made and all starts again with the first init container. */
void life_lost(struct life *l, struct str message, int64_t now_ms);

/* The image that it is started with: for imageID. */
void life_image(struct life *l, struct str container, struct str image_id);
void life_started(struct life *l, struct str container, struct str container_id, int64_t now_ms);
/* It could not be started: the reason and exit code of a box_report. "StartError" and "ContainerCannotRun" are
 * attempts that ended (restartPolicy decides); whatever else ("CreateContainerConfigError": a key of a ConfigMap
 * that is not there yet) is waiting with that reason and tried again, after 1 s doubling to 1 min. */
void life_start_failed(struct life *l, struct str container, int exit_code, struct str reason, struct str message,
                       int64_t now_ms);
/* It was never tried: the pod stops. */
void life_start_given_up(struct life *l, struct str container, int64_t now_ms);
void life_ended(struct life *l, struct str container, const struct life_end *end, int64_t now_ms);
void life_result(struct life *l, uint64_t id, bool is_ok, struct str message, int64_t now_ms);

/* End the pod from outside: eviction by the node, the end of the run. grace_ms -1: that of the pod, 0: SIGKILL at
 * once. Reason and message go into the status (phase Failed) unless empty, or unless the main containers have all
 * ended already. A second call can only make it faster. */
void life_stop(struct life *l, int64_t grace_ms, struct str reason, struct str message, int64_t now_ms);

/* ---- the status ---- */

bool life_is_changed(struct life *l); /* since the last life_status() */
void life_touch(struct life *l);      /* somebody only looked: it is changed as before */
/* The whole status, ready to be written. Its times have whole seconds, as Kubernetes' Time has. What others wrote is
 * borrowed from the pod: valid until the next life_update(). */
struct json *life_status(struct life *l, struct arena *a);
bool life_has_ended(const struct life *l); /* phase Succeeded or Failed */
bool life_is_ready(const struct life *l);
bool life_is_stopping(const struct life *l); /* no container will start any more */

/* Say something as an Event of a container, in its turn among the others. */
void life_tell(struct life *l, bool is_warning, struct str reason, struct str container, struct str message);

/* Something to say as an Event (Started, Killing, BackOff, Unhealthy, FailedPostStartHook, FailedMount …), in the
 * kubelet's words. false: no more. */
struct life_event {
    bool is_warning;
    const char *reason; /* borrowed until the next call, like the message */
    struct str message;
    struct str container;
};
bool life_next_event(struct life *l, struct life_event *ret);

#endif
