/* hollow.h - simulated nodes: the writes that kubelets would make
 *
 * The caller passes changes of pods in; hollow_next() returns the next write of their nodes, and when it is due. A
 * bound pod starts, runs for its declared time, and succeeds with exit code 0; a pod with a deletionTimestamp is
 * removed. One struct hollow simulates all nodes, so ten thousand nodes cost no more than their pods.
 *
 *     hollow_put(&h, pod, now_ms);                    as often as a pod changes
 *     hollow_gone(&h, uid);
 *     while (hollow_next(&h, now_ms, &arena, &op))    due by now; move the clock to hollow_due_ms() for more
 *         cluster_write(c, &op);
 *
 * A write takes effect when it comes back as a change. Report a failed write with hollow_failed(); it is repeated. The
 * result depends only on the order of these calls.
 */
#ifndef WHATIF_HOLLOW_H
#define WHATIF_HOLLOW_H

#include "api/plan.h"
#include "base/heap.h"
#include "base/map.h"
#include "store/object.h"

struct hollow_options {
    int64_t start_ms; /* from bound to running */
    int64_t stop_ms;  /* from the deletion of a running pod to its end; never longer than its grace */
    /* How long this pod runs from its start; -1: it never ends by itself. NULL: its annotation pumice.dev/runtime says
     * so, else it never ends. */
    int64_t (*runtime_ms)(void *ctx, const struct json *pod);
    void *ctx;
    uint64_t seed; /* of the map */
};

#define RUNTIME_ANNOTATION "pumice.dev/runtime"
#define SUBMIT_ANNOTATION  "pumice.dev/submit-after" /* of an object in a file: when it comes, from the beginning */

struct hollow {
    struct hollow_options opt;
    struct map pods;    /* struct hollow_pod by uid: bound, and not ended */
    struct heap timers; /* those with something due */
    uint64_t seq;
};

void hollow_init(struct hollow *h, const struct hollow_options *opt);
void hollow_done(struct hollow *h);

/* A pod as it is now. Pods that are bound to no node, or have ended, are forgotten. */
void hollow_put(struct hollow *h, const struct object *pod, int64_t now_ms);
void hollow_gone(struct hollow *h, struct str uid);

/* When something is due next; INT64_MAX: nothing is until a pod changes. */
int64_t hollow_due_ms(const struct hollow *h);

/* The next write that is due at 'now_ms', in 'a' (its body shares text with the pod that was put last); false: none. */
bool hollow_next(struct hollow *h, int64_t now_ms, struct arena *a, struct op *ret);

/* The write for the pod with this uid failed: it is due again at 'again_ms'. Unknown pods are ignored. */
void hollow_failed(struct hollow *h, struct str uid, int64_t again_ms);

/* The duration in an annotation of 'object', in milliseconds; -1 if there is none, or it is invalid or negative. */
int64_t annotation_ms(const struct json *object, const char *key);

#endif
