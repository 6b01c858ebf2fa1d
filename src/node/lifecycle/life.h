/* life.h - the lifecycle of one pod on a node, as a pure state machine: events go in, actions come out
 *
 * The decisions of the kubelet without its I/O: it makes no system calls and reads no clock. The owner (agent.h)
 * carries out the actions and reports their results; life_status() is the status of the pod at any time.
 *
 *     life_new(pod) → life_step() … MAKE → life_made()
 *                   → life_step() … START init → life_started(), life_ended() → START …
 *                                   PROBE, HOOK → life_result()
 *     deletion: life_update() → HOOK preStop, SIGNAL TERM, later KILL → life_ended() → UNMAKE → life_unmade() → GONE
 *
 * Rules, as in Kubernetes:
 *   - init containers run one after the other, each to success; a sidecar (init container with restartPolicy Always)
 *     counts as done once it has started (and its startup probe, if any, succeeded), is always restarted, and is
 *     stopped after the main containers, in reverse order; sidecars do not keep a pod from finishing.
 *   - containers start one at a time, in order, each when the one before is running and its postStart hook has ended.
 *   - restartPolicy Always, OnFailure, Never; the first restart is immediate, then a back-off of 10 s doubling to 300
 *     s per container, reset after it ran for 10 min: waiting CrashLoopBackOff.
 *   - startupProbe delays the other probes; a failed livenessProbe kills the container (with its own
 *     terminationGracePeriodSeconds, if given) and restartPolicy decides; readinessProbe sets ready.
 *     initialDelaySeconds, periodSeconds, timeoutSeconds, successThreshold, failureThreshold.
 *   - postStart: a failure kills the container. preStop: counts against the grace period; exec, httpGet, tcpSocket,
 *     sleep. The grace period is that of the deletion, else terminationGracePeriodSeconds, else 30 s. A second
 *     deletion can shorten it. After SIGTERM a container has at least 2 s; a grace period of 0 means SIGKILL at once,
 *     without the hook.
 *   - activeDeadlineSeconds: the pod fails with reason DeadlineExceeded.
 *   - phase: Pending until all init containers are done and every main container was started; Running; Succeeded or
 *     Failed when no container runs. Then UNMAKE follows; GONE only once the pod is deleted.
 *   - observedGeneration of the status and of our conditions: metadata.generation of the newest pod object.
 *   - conditions PodScheduled (kept), PodReadyToStartContainers, Initialized, ContainersReady, Ready (with
 *     readinessGates), each with reason, message and lastTransitionTime; DisruptionTarget and conditions of other
 *     writers are kept.
 *   - container states waiting (PodInitializing, ContainerCreating, CrashLoopBackOff, the reason of a failed start),
 *     running, terminated (Completed, Error, OOMKilled, ContainerCannotRun / StartError, exit code 128 + signal,
 *     signal, message, startedAt, finishedAt, containerID), lastState, restartCount, ready, started, imageID.
 *   - ephemeral containers, which life_update() may add, start as soon as there is a sandbox, independent of the
 *     others, and once: no restart, no probes, no hooks. Phase and conditions ignore them, and they are stopped when
 *     all others have ended.
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
    LIFE_MAKE,   /* create the sandbox: network, volumes, shim. life_made() or life_failed() follows */
    LIFE_START,  /* start 'container', attempt 'attempt'. life_started() or life_start_failed() follows */
    LIFE_SIGNAL, /* send 'signo' to 'container' */
    LIFE_PROBE,  /* run the probe 'id' of 'container' ('spec' has its exec, httpGet, …). life_result() follows */
    LIFE_HOOK,   /* run the hook 'id', like a probe. A sleep hook needs no action */
    LIFE_UNMAKE, /* remove the sandbox: no container is left and none will start. life_unmade() follows */
    LIFE_GONE,   /* the pod is deleted and nothing of it is left: confirm with a delete of grace period 0. Once */
    LIFE_ACTION_KIND_MAX,
};

struct life_action {
    enum life_action_kind kind;
    const struct json *container; /* from the pod's spec at life_new(); borrowed as long as the life */
    struct str name;              /* of the container; borrowed likewise */
    const struct json *resources; /* amounts to give the container; may be NULL; valid until the next life_resize() */
    bool is_init, is_ephemeral;
    int attempt; /* 0, 1 …: restarts. A retried start keeps its number */
    int signo;
    uint64_t id;
    const struct json *spec;
    int64_t timeout_ms;
};

/* Begin the life of a pod bound to this node; keeps a reference to 'pod'. If its status says that it has ended, no
 * action follows. If its status says that containers ran, the agent that wrote it has ended, and the containers with it: as if
 * life_lost() was called now. */
struct life *life_new(const struct object *pod, int64_t now_ms);

enum life_found_state { LIFE_FOUND_STARTING, LIFE_FOUND_RUNNING, LIFE_FOUND_ENDED, LIFE_FOUND_FAILED };
struct life_end;

struct life_failure { /* to start a container: see life_start_failed() */
    int exit_code;
    struct str reason, message;
};

struct life_found { /* the last attempt of a container, as it was found */
    struct str name, id;
    int attempt;
    enum life_found_state state;
    int64_t started_ms, ended_ms; /* wall clock, like all times here */
    const struct life_end *end;   /* ENDED */
    struct life_failure failure;  /* FAILED */
};

struct life_sandbox { /* as it was found */
    struct str pod_ip, host_ip;
    const struct life_found *cons;
    size_t n;
};

/* The same for a pod whose sandbox and containers outlived the agent: nothing was lost. Containers that ended
 * meanwhile get their real exit code and time. Probes continue from the state in the status; a hook is run again
 * unless the status shows that it has ended. Containers that were not found have not been started in this sandbox. */
struct life *life_adopt(const struct object *pod, const struct life_sandbox *sandbox, int64_t now_ms);
void life_free(struct life *l); /* NULL is fine */

/* The pod object changed: deletion (its grace period starts now), labels, annotations, conditions of other writers,
 * activeDeadlineSeconds, new ephemeral containers, a resize (life_wants_resize()). Other changes of its spec are
 * ignored. If another writer set a final phase, the pod is stopped and keeps that phase. */
void life_update(struct life *l, const struct object *pod, int64_t now_ms);

/* The next action; false: none now. Each action is returned once. This and the functions below may be called while an
 * action is being carried out. Call it after every reported event. */
bool life_step(struct life *l, int64_t now_ms, struct life_action *ret);
int64_t
life_due_ms(const struct life *l); /* when to call life_step() again if there is no event before; INT64_MAX: never */

/* ---- resize: other amounts of CPU and memory (life_resize.c) ---- */

bool life_wants_resize(const struct life *l); /* the newest spec has other amounts than those in force */
/* The newest spec with the amounts in force: the pod's own JSON, or a copy in 'a'. */
const struct json *life_sized_spec(const struct life *l, struct arena *a);
/* The limits of all running containers were set: the requested amounts are in force now. Containers that must restart
 * are stopped. */
void life_resize(struct life *l, int64_t now_ms);
/* The resize waits: for room on the node, or (is_error) for current usage to drop. */
void life_resize_waits(struct life *l, bool is_error, struct str why, int64_t now_ms);
bool life_is_up(const struct life *l, struct str container); /* is the container running? */

/* ---- events ---- */

struct life_end {
    int status; /* wait status, as from waitpid() */
    bool is_oom;
    bool by_itself;     /* without a signal from us before */
    struct str message; /* terminationMessagePath, or the tail of the log; may be empty */
};

void life_made(struct life *l, struct str pod_ip, struct str host_ip, int64_t now_ms);
/* Creating the sandbox failed, and nothing is left of it. is_final: the pod fails with this reason; else it is
 * retried (after 1 s doubling to 1 min), and the containers are waiting with this reason ("FailedMount" …) and
 * message. */
void life_failed(struct life *l, bool is_final, struct str reason, struct str message, int64_t now_ms);
/* The sandbox is still being created, and this delays it: the containers are waiting with this reason until
 * life_made() or life_failed(). */
void life_delayed(struct life *l, struct str reason, struct str message);
void life_unmade(struct life *l, int64_t now_ms);
/* A missing dependency may have appeared: retry failed sandboxes and starts now. */
void life_retry(struct life *l, int64_t now_ms);
/* The whole pod died at once (its shim was killed). Containers end with exit code 137. UNMAKE follows; then, unless
 * restartPolicy is Never, a new sandbox is created and the pod starts again with the first init container. */
void life_lost(struct life *l, struct str message, int64_t now_ms);

/* The image that the container is started with: for imageID. */
void life_image(struct life *l, struct str container, struct str image_id);
void life_started(struct life *l, struct str container, struct str container_id, int64_t now_ms);
/* Starting the container failed: reason and exit code of a box_report. "StartError" and "ContainerCannotRun" count as
 * ended attempts (restartPolicy decides); with any other reason ("CreateContainerConfigError": a missing key of a
 * ConfigMap) it is waiting with that reason and retried after 1 s doubling to 1 min. */
void life_start_failed(struct life *l, struct str container, const struct life_failure *f, int64_t now_ms);
/* The start was not attempted because the pod is stopping. */
void life_start_given_up(struct life *l, struct str container, int64_t now_ms);
void life_ended(struct life *l, struct str container, const struct life_end *end, int64_t now_ms);
void life_result(struct life *l, uint64_t id, bool is_ok, struct str message, int64_t now_ms);

/* Stop the pod: eviction by the node, the end of the run. grace_ms -1: the pod's grace period, 0: SIGKILL at once.
 * Reason and message go into the status (phase Failed), unless they are empty or the main containers have all ended
 * already. A second call can only shorten the grace period. */
void life_stop(struct life *l, int64_t grace_ms, struct str reason, struct str message, int64_t now_ms);

/* ---- the status ---- */

bool life_is_changed(struct life *l); /* since the last life_status() */
void life_touch(struct life *l);      /* mark the status as changed again, after a life_status() that was not written */
/* The complete status to write. Its times have whole seconds, as Kubernetes' Time has. Members of other writers are
 * borrowed from the pod: valid until the next life_update(). */
struct json *life_status(struct life *l, struct arena *a);
bool life_has_ended(const struct life *l); /* phase Succeeded or Failed */
bool life_is_ready(const struct life *l);
bool life_is_stopping(const struct life *l); /* no further container will start */

/* Queue an Event of a container among the others. */
void life_tell(struct life *l, bool is_warning, struct str reason, struct str container, struct str message);

/* The next Event to record (Started, Killing, BackOff, Unhealthy, FailedPostStartHook, FailedMount …), in the
 * kubelet's words. False: none. */
struct life_event {
    bool is_warning;
    const char *reason; /* borrowed until the next call, like the message */
    struct str message;
    struct str container;
};
bool life_next_event(struct life *l, struct life_event *ret);

#endif
