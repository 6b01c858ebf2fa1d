/* harness.h - a small cluster for the checklist: store, controllers, a fake scheduler, a fake kubelet, a manual clock
 *
 * With LIFECYCLE_KUBE set, on the real API server that KUBECONFIG leads to instead of a store in this process. Each
 * cluster is a namespace there, and what would be in namespace "default" is in that. Its time is the manual clock's
 * too: timestamps that the server makes are replaced by the time when they were first seen.
 *
 * A test makes a job from YAML text, plays the scheduler (h_admit) and the kubelet (h_pod_phase …), lets the
 * controllers work (h_run) and looks at objects. Everything is seen through the API: there is no way to look into a
 * controller.
 *
 * Objects are named as on the command line, in namespace "default": "job/j", "pod/j-a-0", "cm/j-svc". "pg/j" is the
 * PodGroup of job j, whatever it is called.
 *
 * Time stands still but for h_advance(). A test that wants to see what happens between two steps sets 'holds_pods':
 * deleted pods then stay Terminating until h_release().
 */
#ifndef LIFECYCLE_HARNESS_H
#define LIFECYCLE_HARNESS_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/plan.h"
#include "base/clock.h"
#include "base/util.h"
#include "driver/driver.h"
#include "store/object.h"

enum { H_CONTROLLERS = 2, H_FAULTS = 4 };

struct h_fault { /* the next 'n' writes of this kind are answered with an error */
    enum op_kind kind;
    const struct resource_type *type;
    enum err_code code;
    const char *text;
    unsigned n;
    bool takes_effect; /* the write is done all the same, and the answer is "nobody knows" */
};

struct h_door; /* a cluster that counts writes and lets some fail */
struct h_base; /* where the objects are */

struct h_controller {
    struct h_door *door;
    struct driver *driver;
};

struct h {
    struct clock_manual clock;
    const struct h_base *base;
    void *ground;         /* the base's own */
    struct str namespace; /* of all that has one */
    struct arena arena;   /* texts handed to tests; until h_free() */
    struct h_controller controllers[H_CONTROLLERS];
    struct h_fault faults[H_FAULTS];
    size_t n_faults;
    bool holds_pods;              /* the kubelet does not confirm that deleted pods are gone */
    bool admits_all;              /* the scheduler lets every PodGroup in at once */
    bool runs_all;                /* the kubelet runs every pod at once */
    bool has_no_gc;               /* the cluster has no garbage collector */
    uint64_t writes[OP_KIND_MAX]; /* by controllers, Events not counted */
    uint64_t pod_creates, pod_deletes, status_writes, job_writes;
    uint64_t blind_deletes; /* that would take away whatever has the name */
    unsigned n_keys;        /* ssh keys made */
};

struct h *h_new(void);
struct h *h_new_without_gc(void);
void h_free(struct h *h);

static inline void autoh_done(struct h **h)
{
    h_free(*h);
}
#define autoh __attribute__((cleanup(autoh_done))) struct h *

/* ---- controllers ---- */

void h_stop(struct h *h, size_t i); /* as kill -9: what was in flight has happened or not */
void h_start(struct h *h, size_t i);
void h_restart_controller(struct h *h);

/* Turns of the controllers and steps of the fakes until nothing more happens. Time stands still. */
void h_run(struct h *h);
/* At most 'n' turns of controller 'i' and nothing else. */
void h_turns(struct h *h, size_t i, unsigned n);
/* A test that only makes sense with a store: it is passed over where there is none. */
void h_needs_store(void);
/* Let time pass, working whenever something is due. */
void h_advance(struct h *h, int64_t ms);

void h_fail_next_writes(struct h *h, enum op_kind kind, const char *type, enum err_code code, unsigned n,
                        const char *text);
void h_lose_next_answers(struct h *h, enum op_kind kind, const char *type, unsigned n); /* they take effect */
void h_no_more_failures(struct h *h);

/* ---- objects ---- */

/* A Kubernetes object as it stands. Returns its name. */
const char *h_create(struct h *h, const char *yaml);
/* A Job through admission; fails the test if that refuses it. Returns its uid. */
const char *h_job(struct h *h, const char *yaml);
/* h_job, and everything goes well until all its pods are Running. The job's name is "j". */
const char *h_running(struct h *h, const char *yaml);

/* Set a member that is there to a YAML value, e.g. h_set(h, "job/j", "spec.tasks[0].replicas", "5"). */
void h_set(struct h *h, const char *what, const char *path, const char *yaml);
void h_set_status(struct h *h, const char *what, const char *yaml);
void h_scale(struct h *h, const char *job, int task, int replicas, int job_min);
void h_delete(struct h *h, const char *what, int64_t grace_s);
void h_delete_foreground(struct h *h, const char *what);

/* A command of action to job (its uid as it is now). */
void h_command(struct h *h, const char *job, const char *action);
/* The same with everything given. Returns the Command's name. */
const char *h_command_to(struct h *h, const char *api_version, const char *kind, const char *name, const char *uid,
                         const char *action);

bool h_exists(struct h *h, const char *what);
const char *h_uid(struct h *h, const char *what); /* "" if there is none */
/* A scalar as text; "" if it is not there; "(3)" for a list or object of three. */
const char *h_get(struct h *h, const char *what, const char *path);
int64_t h_int(struct h *h, const char *what, const char *path); /* 0 if it is not there */
const char *h_phase(struct h *h, const char *job);

/* ---- looking on ---- every change of a type, from now on ---- */

struct cluster *h_watch(struct h *h, const char *type);
bool h_watch_next(struct h *h, struct cluster *watch, struct cluster_event *ret); /* false: that was all */
void h_watch_end(struct h *h, struct cluster *watch);

/* ---- the fake scheduler ---- */

void h_group_phase(struct h *h, const char *job, const char *phase);
void h_admit(struct h *h, const char *job); /* Inqueue, then h_run() */

/* ---- the fake kubelet ---- each then runs the controllers ---- */

void h_pod_phase(struct h *h, const char *pod, const char *phase); /* containers follow the phase */
void h_pod_fail(struct h *h, const char *pod, int exit_code);
void h_pod_status(struct h *h, const char *pod, const char *yaml);  /* the whole status */
void h_pods_phase(struct h *h, const char *job, const char *phase); /* all that are there and not being deleted */
/* Deleted by somebody; where grace is above 0 the container ends with the exit code before the pod goes. */
void h_evict(struct h *h, const char *pod, int64_t grace_s, int exit_code);
void h_release(struct h *h); /* holds_pods no longer; what waits goes */

/* Let the job's pods in and run them all, then h_run(): after a restart. */
void h_go(struct h *h, const char *job);

/* Pods of a job (its current uid); "" or NULL: any task, any phase. Those being deleted do not count. */
size_t h_count_pods(struct h *h, const char *job, const char *task, const char *phase);
size_t h_count_terminating(struct h *h, const char *job);
size_t h_count(struct h *h, const char *type);

/* Events about job j: how many with this reason; does the message of one hold 'text'? */
size_t h_events(struct h *h, const char *reason);
bool h_event_says(struct h *h, const char *reason, const char *text);

/* Is there a condition of that phase? */
bool h_was(struct h *h, const char *job, const char *phase);

/* ---- asserting ---- a number that is not there is 0, as the API prints it ---- */

void h_expect_at(struct h *h, const char *what, const char *path, const char *want, const char *file, int line);
#define h_expect(h, what, path, want) h_expect_at((h), (what), (path), (want), __FILE__, __LINE__)
void h_expect_phase_at(struct h *h, const char *job, const char *want, const char *file, int line);
#define h_expect_phase(h, job, want) h_expect_phase_at((h), (job), (want), __FILE__, __LINE__)

/* ---- words for manifests ---- */

#define JOB(name, spec)                                                                                                \
    "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: " name ", namespace: default}\nspec: {" spec   \
    "}\n"
#define JOB_META(meta, spec)                                                                                           \
    "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j, namespace: default, " meta                  \
    "}\nspec: {" spec "}\n"
/* "x, y, z" of up to three. */
#define JOIN1(x)                         x
#define JOIN2(x, y)                      x ", " y
#define JOIN3(x, y, z)                   x ", " y ", " z
#define JOIN_PICK(a1, a2, a3, pick, ...) pick
#define JOIN(...)                        JOIN_PICK(__VA_ARGS__, JOIN3, JOIN2, JOIN1, )(__VA_ARGS__)
#define TASKS(...)                       "tasks: [" JOIN(__VA_ARGS__) "]"
#define TASK(name, replicas, more)       TASK_OF(name, replicas, more, "containers: [{name: c, image: busybox}]")
#define TASK_OF(name, replicas, more, spec)                                                                            \
    "{name: " name ", replicas: " replicas ", " more " template: {spec: {" spec "}}}"
#define POLICY(event, action)             "{event: " event ", action: " action "}"
#define POLICY_AFTER(event, action, time) "{event: " event ", action: " action ", timeout: " time "}"
#define POLICIES(...)                     "policies: [" JOIN(__VA_ARGS__) "], "

#endif
