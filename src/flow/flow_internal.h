/* flow_internal.h - what the makers of Jobs share */
#ifndef FLOW_FLOW_INTERNAL_H
#define FLOW_FLOW_INTERNAL_H

#include "flow/flow.h"

#include "api/job.h"
#include "api/meta.h"
#include "api/types.h"

#define FLOW_API_VERSION "flow.volcano.sh/v1alpha1"
#define CRON_API_VERSION "batch.volcano.sh/v1alpha1"

static inline const struct resource_type *job_type(void)
{
    return type_by_kind(STR(JOB_API_VERSION), STR(JOB_KIND));
}

static inline struct str job_phase_text(const struct json *job)
{
    return json_text(json_find(job, "status", "state", "phase", NULL), STR(""));
}

static inline bool is_deleting(const struct json *object)
{
    return json_find(object, "metadata", "deletionTimestamp", NULL) != NULL;
}

/* RFC 3339; 0: it is no time. */
int64_t flow_time(const struct json *text);
struct json *flow_json_time(struct arena *a, int64_t ms);

/* The object with another status, as a write. */
void flow_write_status(const struct json *object, const char *api_version, const char *kind, struct json *status,
                       struct plan *plan);

/* Are two members alike? One that is missing is like none. */
bool flow_same(const struct json *a, const struct json *b, const char *key);

/* Whose work the job is, of the very objects that it is made from; 'template' NULL: of none. Whatever its notes say. */
void flow_set_authors(struct arena *a, struct json *job, const struct json *maker, const struct json *template);

/* Create the job with its defaults filled in: not every cluster has a webhook that does it. */
void flow_create_job(struct json *job, struct str scheduler_name, struct plan *plan);

/* Report the refused write as an Event of the object. */
void flow_tell_trouble(const struct json *object, struct str trouble, struct plan *plan);

#endif
