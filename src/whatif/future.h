/* future.h - a simulated cluster in memory, on virtual time
 *
 * The real store, controllers and scheduler run with hollow nodes (hollow.h): a bound pod starts at once (or after
 * start_ms), runs for its declared time, and succeeds. Nothing waits for real time, and the same objects give the same
 * history. `pumice explain`, `pumice plan`, tests and benchmarks use it.
 */
#ifndef WHATIF_FUTURE_H
#define WHATIF_FUTURE_H

#include "api/types.h"
#include "driver/driver.h"
#include "sched/sched.h"
#include "store/object.h"

struct future;

struct future_options {
    int64_t now_ms;                    /* when it begins */
    const struct sched_config *config; /* NULL: the default */
    int64_t start_ms;                  /* from bound to running */
    int64_t stop_ms;                   /* from the deletion of a running pod to its end */
    bool stands_still;                 /* hollow nodes do nothing: pods stay as they are */
    /* How long this pod runs, from its start; -1: it never ends by itself. NULL: future_declared_ms(). */
    int64_t (*runtime_ms)(void *ctx, const struct json *pod);
    /* Every change of every object, as it is made; 'o' is borrowed. is_gone: it was removed. */
    void (*changed)(void *ctx, const struct object *o, bool is_gone, int64_t now_ms);
    void *ctx;
    uint64_t seed; /* 0: a constant */
};

struct future *future_new(const struct future_options *opt);
void future_free(struct future *f);

/* Put an object in as it is: with its status, uid (made from its name if it has none) and creationTimestamp (now if it
 * has none). Namespaces are made as needed; an object without one is in "default". ERR_EXISTS, ERR_INVALID: two objects
 * of one uid, a bad time, … */
int future_add(struct future *f, const struct json *object, struct err *e);

/* A Job that was submitted before and has not begun has a PodGroup of its age, and its place in line depends on that.
 * Where the objects have none for such a Job, this is the one to add. */
bool future_lacks_group(const struct json *object);
struct json *future_group_of(struct arena *a, const struct json *job);

/* Run until nothing more happens at the current time. Returns when the next thing is due (INT64_MAX: never). */
int64_t future_settle(struct future *f);

/* Run until 'until_ms', or until nothing more can happen. Returns the time then. */
int64_t future_run(struct future *f, int64_t until_ms);

/* Settle, then move the clock to 'to_ms', or only to what is due before; nothing happens there yet. For owners who put
 * something in at a time of their own. */
void future_jump(struct future *f, int64_t to_ms);

/* No further pod starts or ends by itself: only the controllers' own timers can still change anything. */
bool future_is_idle(const struct future *f);

/* What is declared: annotation pumice.dev/runtime of the pod, else of its Job or PodGroup, else spec.runningEstimate of
 * the Job; -1: nothing is. */
int64_t future_declared_ms(struct future *f, const struct json *pod);

int64_t future_now_ms(const struct future *f);
struct sched *future_sched(struct future *f);
struct store *future_store(struct future *f);
const struct object *future_get(struct future *f, const struct resource_type *type, struct str namespace,
                                struct str name); /* borrowed until the next call */

#endif
