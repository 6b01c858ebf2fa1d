/* cluster.h - cluster_kube: the door (cluster/cluster.h) to a real Kubernetes API
 *
 * One thread, nothing waits. cluster_kube_fd() is readable when cluster_next() may have something; cluster_next() does
 * all the work: call it until it returns false, then wait for the descriptor.
 *
 *     types     each is listed once and then watched. A watch that ends is resumed from its last version, also after an
 *               outage; the type is listed again only if the server has forgotten that version (410). If the server
 *               supports it the list is the beginning of the watch (sendInitialEvents), else it comes in pages of 500.
 *               Failed requests are retried after 0.2 s, doubling to 30 s, with jitter. A type that the server does
 *               not have (no such CRD) is delivered as an empty list and retried every 30 s.
 *     writes    as many at a time as the server takes (pace.h). 429 is waited out and sent again: it did nothing. An
 *               answer that does not come, or 5xx, is an error of unknown outcome; what never left this machine is one
 *               of known outcome.
 *     identity  kept fresh (credential.h); a 401 gets one more try with a new one.
 *
 * Every watch has a connection, and calls as many as there are at a time. When calls are cut off (may_write) the watches
 * stay.
 *
 * Of each object only the fields that a view names are ever in memory. Objects that were read here must not be written
 * back whole unless their view leaves out nothing but metadata.managedFields, which is what types without a view have.
 *
 * Versions are numbers, as Kubernetes promises since 1.35 and all before it have.
 */
#ifndef KUBE_CLUSTER_H
#define KUBE_CLUSTER_H

#include "cluster/cluster.h"
#include "kube/config.h"

struct clock;

struct kube_view { /* of one type: which objects, and which of their fields; all text is borrowed */
    const struct resource_type *type;
    struct str namespace;      /* only of this one; empty: of all */
    struct str labels, fields; /* selectors; empty: all. An object that ceases to match is reported as deleted */
    bool is_unlisted;          /* told as an empty list: only reads and the answers to writes show any */
    const char *const
        *mask; /* paths as json/mask.h has them, ended by NULL; what makes it an object (kind, name, uid, version) is
                                  always kept. NULL: all but managedFields */
};

/* What the job controller keeps of a Pod (driver/cache.h), and what the scheduler needs besides; of pods that belong to
 * no Job, what their PodGroup is made of (driver/workload.h). For kube_view.mask. */
extern const char *const kube_pod_fields[];
extern const char *const kube_pod_fields_scheduler[];
extern const char *const kube_pod_fields_others[];

/* For kube_view.labels: the pods of Jobs, and all other pods. */
#define KUBE_PODS_OF_JOBS   "volcano.sh/job-name"
#define KUBE_PODS_OF_OTHERS "!volcano.sh/job-name"

struct cluster_kube_options {
    const struct kube_config *config; /* outlives the cluster */
    struct clock *clock;              /* NULL: the real one */
    struct str user_agent;         /* the name before the '/' is the field manager; empty: "pumice/" and the version */
    const struct kube_view *views; /* 'n_views', at most one for a type; they outlive the cluster */
    size_t n_views;
    bool only_lists;      /* no sendInitialEvents */
    int64_t retry_max_ms; /* a longer Retry-After is cut to this; 0: a minute. For a Lease, which would be lost */
    int64_t answer_ms;    /* a write or read that is not answered by then is given up; 0: 30 s */
    /* Asked at the moment a write leaves, and before more of one is sent that has not left as a whole: false, and all
     * that are here end with an error. For leaders (lease.h). NULL: yes, always. */
    bool (*may_write)(void *ctx);
    void *ctx;
    uint64_t seed; /* of what is left to chance; 0: from the operating system */
};

/* ERR_INVALID: the configuration cannot be used. Whether the server is there shows later. */
int cluster_kube_new(const struct cluster_kube_options *opt, struct cluster **ret, struct err *e);

int cluster_kube_fd(struct cluster *c);

/* ---- what a node asks for besides ---- */

/* Follow one object of a type that is otherwise unlisted: it is reported by CLUSTER_PUT and CLUSTER_GONE, without
 * RELIST. Once the server has said whether it exists, or why it cannot, the token returned here is answered
 * (CLUSTER_RESULT, as of a read); it is followed also then. Following it twice is an error of the caller. */
uint64_t cluster_kube_follow(struct cluster *c, const struct resource_type *type, struct str namespace,
                             struct str name);
void cluster_kube_unfollow(struct cluster *c, const struct resource_type *type, struct str namespace, struct str name);

/* Send what is no object of its own (a TokenRequest, a TokenReview …) and hear what came back: 'answer' is borrowed for
 * the call, NULL: 'e' says why there is none. Called by cluster_next(), never before this returns; never, if the
 * cluster is freed before. */
typedef void (*kube_asked_f)(void *ctx, const struct json *answer, const struct err *e);
struct kube_question {
    const char *method;
    struct str path;
    const struct json *body; /* NULL: none */
    kube_asked_f asked;
    void *ctx;
};
void cluster_kube_ask(struct cluster *c, const struct kube_question *q);

/* What came of writes, by the status of their answers. */
enum kube_outcome {
    KUBE_FINE,
    KUBE_EXISTS,
    KUBE_CONFLICT,
    KUBE_NOT_FOUND,
    KUBE_BUSY,
    KUBE_REFUSED,
    KUBE_FAILED,
    KUBE_SILENT,
    KUBE_OUTCOME_MAX
};
extern const char *const kube_outcome_names[KUBE_OUTCOME_MAX];

struct kube_stats {
    uint64_t lists, watches, relists; /* requests; lists that were needed because the server had forgotten (410) */
    uint64_t reads, writes;           /* requests, those sent again included */
    uint64_t busy;                    /* answers 429 */
    uint64_t outcomes[OP_KIND_MAX][KUBE_OUTCOME_MAX]; /* of writes */
    uint64_t events;                                  /* told by watches */
    /* How much later than the answer to a write its watch tells of it; looked at one write of a type at a time. */
    uint64_t lag_us, last_lag_us, n_lags;
    unsigned limit, in_flight, waiting; /* of reads and writes: how many at a time, and how many there are */
    uint64_t connections, sent_bytes, received_bytes;
};
void cluster_kube_stats(struct cluster *c, struct kube_stats *ret);

/* What keeps it from the server at present, of the types it has been asked for: false if nothing does. For readiness,
 * and for telling the user. */
bool cluster_kube_trouble(struct cluster *c, struct err *ret);

/* It was asked for this type, and the server does not know it: its CustomResourceDefinition is missing. */
bool cluster_kube_lacks(struct cluster *c, const struct resource_type *type);

#endif
