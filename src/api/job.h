/* job.h - the Job of batch.volcano.sh/v1alpha1 as the program reads it
 *
 * A struct job is a view: it borrows text and templates from the tree it was decoded from and lives in the arena given
 * to job_decode(). Zero means "not set" where the API says so; pointers tell "not set" from zero.
 */
#ifndef API_JOB_H
#define API_JOB_H

#include "api/meta.h"
#include "json/schema.h"

#define JOB_API_VERSION "batch.volcano.sh/v1alpha1"
#define JOB_KIND        "Job"

struct str_list {
    struct str *v;
    size_t n;
};

struct job_policy { /* event → action */
    struct str action, event;
    struct str_list events;
    int32_t *exit_code;
    struct str timeout; /* duration as written; empty: none */
};

struct job_policies {
    struct job_policy *v;
    size_t n;
};

struct network_topology {
    struct json *raw;
    struct str mode, highest_tier_name;
    int32_t *highest_tier_allowed;
};

struct job_partition {
    int32_t total_partitions, partition_size, min_partitions;
    struct network_topology *network_topology;
};

struct job_depends {
    struct str_list name;
    struct str iteration;
};

struct job_task {
    struct json *raw;
    struct str name;
    int32_t replicas;
    int32_t *min_available;
    struct json *template;
    struct job_policies policies;
    struct str topology_policy;
    int32_t max_retry;
    struct job_depends *depends_on;
    struct job_partition *partition;
};

struct job_volume {
    struct str mount_path, claim_name;
    struct json *claim;
};

struct job_spec {
    struct str scheduler_name, queue, priority_class_name, running_estimate;
    int32_t min_available, max_retry;
    int32_t *ttl_seconds, *min_success;
    struct {
        struct job_volume *v;
        size_t n;
    } volumes;
    struct {
        struct job_task *v;
        size_t n;
    } tasks;
    struct job_policies policies;
    struct json *plugins;
    struct network_topology *network_topology;
};

struct job_status {
    struct json *raw;
    struct str phase;
    int32_t version, retry_count;
};

struct job {
    struct json *raw;
    struct meta meta;
    struct job_spec spec;
    struct job_status status;
    const struct name_map *task_index; /* of job_task_by_name(); NULL: there are few */
};

/* The key of a note in status.controlledResources, followed by the name of a task: indices whose pods Succeeded, as
 * "0-3,7". */
#define JOB_NOTE_DONE "pumice-done-"

extern const struct schema schema_job;  /* the whole object */
extern const char *const job_events[];  /* all event names, internal ones too, NULL-terminated */
extern const char *const job_actions[]; /* actions a user may ask for, NULL-terminated */

/* Decode an admitted Job. Cannot fail: what has a wrong type reads as not set. */
void job_decode(struct arena *a, struct json *obj, struct job *ret);

/* The task of that name, NULL if there is none; its position in '*ret_pos' (may be NULL). */
const struct job_task *job_task_by_name(const struct job *job, struct str name, size_t *ret_pos);

int64_t job_total_replicas(const struct job *job);

/* minAvailable if set; else minPartitions × partitionSize if both are there; else replicas. */
int32_t job_task_minimum(const struct job_task *task);

/* Which indices of a task are done, by the status of its Job: their pods Succeeded and are not made again, whether they
 * are still there or not. The controller remembers them as "0-3,7"; empty: none. */
struct str job_task_done(const struct json *status, struct str task);

/* Such a set range by range; false: that was the last. Ranges that cannot be parsed are skipped. */
bool indices_next(struct str *rest, uint32_t *ret_from, uint32_t *ret_to);
int64_t indices_count(struct str text);

/* "<job>-<task>-<index>". */
struct str job_pod_name(struct arena *a, const struct job *job, const struct job_task *task, uint32_t index);

/* spec of the task's template; NULL if it has none. */
struct json *job_task_pod_spec(const struct job_task *task);

/* "<hostname>.<subdomain>" of pod 'index': the template's own hostname and subdomain where it has
 * them, else the pod's name and the job's. */
struct str job_pod_domain(struct arena *a, const struct job *job, const struct job_task *task, uint32_t index);

#endif
