/* ttl.c - deletes finished jobs when their time is up */
#include "controller/controller.h"

#include "api/types.h"
#include "base/clock.h"
#include "base/util.h"

#define TTL_ABORTED_KEY "pumice.dev/ttl-aborted"

static bool ttl_is_finished(const struct job *job)
{
    static const char *const finished[] = { "Completed", "Failed", "Terminated" };

    for (size_t i = 0; i < ARRAY_LEN(finished); i++)
        if (str_is(job->status.phase, finished[i]))
            return true;
    /* An Aborted job may be resumed, so it stays unless its owner says that it is over (B57). */
    return str_is(job->status.phase, "Aborted") &&
           str_is(json_member_text(job->meta.annotations, TTL_ABORTED_KEY), "true");
}

void ttl_plan(const struct job *job, struct plan *plan)
{
    struct str finished = json_member_text(json_get(job->status.raw, "state"), "lastTransitionTime");
    int64_t finished_ms, expires_ms;
    struct op *op;

    if (job->meta.deletion_timestamp.n || !job->spec.ttl_seconds || *job->spec.ttl_seconds < 0 || !ttl_is_finished(job))
        return;
    if (clock_parse(finished, &finished_ms, NULL) < 0)
        return; /* its end is unknown; a job is not deleted on a guess */
    expires_ms = finished_ms + (int64_t)*job->spec.ttl_seconds * 1000;
    if (plan->now_ms < expires_ms) {
        plan_wake(plan, expires_ms);
        return;
    }
    op = plan_delete(plan, (struct object_id){ type_by_kind(STR(JOB_API_VERSION), STR(JOB_KIND)), job->meta.namespace,
                                               job->meta.name, job->meta.uid });
    op->propagation = PROPAGATE_FOREGROUND;
    (void)str_to_u64(job->meta.resource_version, &op->rev); /* its owner may have said meanwhile that it stays */
}
