/* amount.h - resources as numbers: one small vector per node, queue and request
 *
 * Resource names become dimensions the first time a pod or a queue names them: cpu in milli-CPU, everything else in
 * whole units, rounded up. Comparisons are exact. There is room for AMOUNT_DIMS names; a request for one name more
 * cannot be met (dim_of gives -1) and the pod's message says so.
 *
 * A resource that no pod or queue names takes no dimension, even if nodes have it.
 */
#ifndef SCHED_MODEL_AMOUNT_H
#define SCHED_MODEL_AMOUNT_H

#include "api/pod/resources.h"
#include "base/arena.h"

enum { DIM_CPU, DIM_MEMORY, DIM_PODS, DIM_OTHERS, AMOUNT_DIMS = 32 };

/* "No limit": large, but sums of a few million of them with real amounts do not overflow when added saturating. */
#define AMOUNT_UNLIMITED (INT64_MAX / 4)

/* A pod that asks for so much fits nowhere: no node is taken to have as much. Sums over thousands of pods stay
 * exact. */
#define AMOUNT_POD_MAX (INT64_C(1) << 50)

struct dims {
    struct str names[AMOUNT_DIMS];
    int n;
    struct arena arena; /* of the names */
};

void dims_init(struct dims *d); /* knows cpu, memory and pods */
void dims_done(struct dims *d);
int dim_of(struct dims *d, struct str name);         /* made if it is new; -1: no room */
int dim_find(const struct dims *d, struct str name); /* -1: not known */

struct amounts {
    int64_t v[AMOUNT_DIMS];
};

/* Is it the name of something that pods ask for? Not "count/…", "requests.…", "limits.…", nor a bare word that
 * Kubernetes does not know. */
bool is_resource_name(struct str name);

/* A quantity in the unit of its dimension, within ±AMOUNT_UNLIMITED. */
int64_t amount_of_quantity(int dim, struct quantity q);
struct quantity amount_to_quantity(int dim, int64_t v);

/* Set what { "cpu": "2", … } names and leave the other dimensions as they are. Names that are no resource names are
 * left out, and so is what is no quantity; less than nothing is nothing. '*ret_lost' (may be NULL): a name had no
 * dimension. The second is for one pod: nothing is above AMOUNT_POD_MAX. */
void amounts_from_json(struct dims *d, const struct json *j, struct amounts *ret, bool *ret_lost);
void amounts_from_resources(struct dims *d, const struct resources *r, struct amounts *ret, bool *ret_lost);

/* What a node has of one dimension: status.allocatable, below AMOUNT_POD_MAX. */
int64_t amount_of_node(const struct dims *d, int dim, const struct json *allocatable);

/* { "cpu": "1500m", "memory": "2Gi" }: those that are not zero. */
struct json *amounts_to_json(struct arena *a, const struct dims *d, const struct amounts *v);

void amount_print(struct buf *out, const struct dims *d, int dim, int64_t v); /* "1500m" */

/* All functions below look at the first 'n' dimensions, usually dims.n. Sums stay within ±AMOUNT_UNLIMITED. */
static inline int64_t amount_add(int64_t a, int64_t b)
{
    int64_t sum = a + b; /* both within ±UNLIMITED: no overflow */

    return sum > AMOUNT_UNLIMITED ? AMOUNT_UNLIMITED : sum < -AMOUNT_UNLIMITED ? -AMOUNT_UNLIMITED : sum;
}
void amounts_add(struct amounts *a, const struct amounts *b, int n);
/* False: 'a' had reached the bound, so the rest is not known. A sum that is kept has to be counted again. */
bool amounts_sub(struct amounts *a, const struct amounts *b, int n);
void amounts_add_times(struct amounts *a, const struct amounts *b, int64_t times, int n);
void amounts_fill(struct amounts *a, int64_t v); /* all dimensions, also those to come */
bool amounts_is_zero(const struct amounts *a, int n);
bool amounts_equal(const struct amounts *a, const struct amounts *b, int n);

/* The first dimension that 'ask' needs (> 0) and 'have' lacks; -1: it fits. */
int amounts_lacking(const struct amounts *have, const struct amounts *ask, int n);

/* The largest part/whole over the dimensions in 'part', in 1/2^20; whole 0 with a part counts as very large. */
int64_t amounts_share(const struct amounts *part, const struct amounts *whole, int n);

#endif
