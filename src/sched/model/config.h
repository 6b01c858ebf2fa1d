/* config.h - settings of the scheduler, and Volcano's configuration file
 *
 * The file (volcano-scheduler.conf: actions, tiers, configurations) is read for what it means here: actions switch
 * whole steps, arguments of plugins set weights and times. An unknown action refuses the file; an unknown plugin or
 * argument is a warning. Nothing is ever half applied: the caller keeps the old settings when reading fails.
 */
#ifndef SCHED_MODEL_CONFIG_H
#define SCHED_MODEL_CONFIG_H

#include "api/quantity.h"
#include "json/json.h"
#include "json/problem.h"

#include <stdbool.h>

/* Each gives 0 … 100 for a node, times its weight */
enum score_kind {
    SCORE_BINPACK,         /* fullest node first */
    SCORE_LEAST_REQUESTED, /* emptiest node first */
    SCORE_MOST_REQUESTED,
    SCORE_BALANCED,      /* cpu and memory used alike */
    SCORE_NODE_AFFINITY, /* preferred node affinity */
    SCORE_POD_AFFINITY,  /* preferred pod affinity, and the other way round */
    SCORE_TAINTS,        /* fewest PreferNoSchedule taints */
    SCORE_IMAGES,        /* its images are there */
    SCORE_SPREAD,        /* topology spread, ScheduleAnyway */
    SCORE_TASK_TOPOLOGY, /* tasks that belong together (annotations of the PodGroup) */
    SCORE_NETWORK,       /* near the rest of its group */
    SCORE_KIND_MAX,
};
extern const char *const score_names[SCORE_KIND_MAX]; /* "binpack" … */

/* As much as may be promised where nothing says how much: the plugin overcommit is not listed. */
enum { SCHED_OVERCOMMIT_MAX = 100 };

struct sched_config {
    struct str scheduler_name;               /* "volcano" */
    bool admits, places, preempts, reclaims; /* the actions that can be off */
    int weights[SCORE_KIND_MAX];
    double overcommit;        /* admission: part of the cluster that may be promised; 1.2 */
    bool has_drf;             /* the dominant share counts in the order of jobs */
    bool has_conformance;     /* critical pods of the system are no victims */
    int64_t sla_ms;           /* waiting time after which a job is let in anyway; 0: none */
    int64_t reserve_after_ms; /* a gang that waits so long at the head of its queue gets nodes reserved; 60 s */
    int64_t admission_ms;     /* an admission that led to no place is withdrawn after this; 5 min */
    int64_t min_run_ms;       /* a pod that started less than this ago is no victim; 60 s */
    int64_t patience_ms;      /* … nor less than this, for a job that waited when it started; 1 h */
    int64_t unbind_ms;  /* members bound but not started are released when the gang stays broken this long; 60 s */
    int64_t status_ms;  /* least time between two writes of a queue's status; 1 s */
    int retell;         /* so many groups that wait behind others like them are asked why in each round; 64 */
    int64_t retell_ms;  /* while there are more, rounds for their sake this far apart; 1 s. 0: none are */
    bool asks_all;      /* parked gangs too, whose answer is known (parked.h): for tests */
    int64_t coming_ms;  /* a gang lacks no pods while its youngest is not older: a busy API server takes its time to
                           create the others; 30 s. 0: it lacks them at once */
    int64_t rewrite_ms; /* while there are more, least time between two writes of why one waits for its turn; 60 s */
    int max_depth;      /* of the queue tree; 5 */
    bool knows_claims;  /* every PersistentVolumeClaim was put: one that is unknown does not exist. Off for a state that
                           leaves them out */
    bool waits_for_volumes; /* others bind claims and make volumes, as in a real cluster: a pod waits until its claims
                               have theirs. Off: that is nobody's business here */
};

/* What holds without a file: all actions on, packing (weights as the Helm chart, but binpack instead of
 * leastrequested, which cancel out there). */
void sched_config_default(struct sched_config *ret);

/* From the tree of the file (null or NULL: an empty one). Settings that the file leaves out have their default:
 * 'actions' and 'tiers' as a whole, each setting below 'configurations'. Of a file with 'tiers', plugins that are not
 * listed are off, except gang, priority, predicates, proportion, capacity and pdb, which are always on. Problems name
 * the place in the file; -1 if any is an error, '*ret' untouched then. The strings of '*ret' are constant.
 *
 * Our own settings stand below configurations:
 *   - name: pumice
 *     arguments: { reserve-after: 60s, admission-timeout: 5m, min-run: 60s, patience: 1h, unbind-after: 60s } */
int sched_config_read(struct arena *a, struct json *tree, struct sched_config *ret, struct problems *problems);

#endif
