/* foreign.h - an object that has the name of an object of the job, but another owner
 *
 * Such an object is never changed and never deleted. A Service or NetworkPolicy is used instead of the job's own object
 * if it does the same for the job's pods:
 *
 *     Service        has a selector; it selects the pods that the job's own Service would select, and no other pods of
 *     the
 *                    job; it is headless if the job's own is, else it has the same ports; it publishes pods that are
 *                    not ready if the job's own would
 *     NetworkPolicy  selects the pods that the job's own policy would select, restricts ingress, and admits everything
 *                    that the job's own admits; if it restricts egress too, the pods of the job can reach each other
 *
 * With any other object, or any other kind, the job waits, and its message names the field that does not fit.
 */
#ifndef JOB_FOREIGN_H
#define JOB_FOREIGN_H

#include "api/job.h"

/* Why 'have' cannot replace 'want', as text in 'a'; NULL: it can. */
const char *foreign_problem(struct arena *a, const struct job *job, const struct json *want, const struct json *have);

#endif
