/* foreign.h - an object that has one of the job's names, but was made by somebody else
 *
 * It is never changed and never deleted. A Service or a NetworkPolicy that does for the job's pods what the job's own
 * would do is used in its place:
 *
 *     Service        has pods behind it; selects all pods that the job's own would, and no other pods of the job; is
 *                    headless if the job's own is, else has its ports; publishes pods that are not ready if asked to
 *     NetworkPolicy  selects all pods that the job's own would, filters what comes in, and admits whom that one admits;
 *                    if it filters what goes out too, it lets the job's pods reach each other
 *
 * Everything else (and every other kind) keeps the job waiting, with the field that does not fit in its message.
 */
#ifndef JOB_FOREIGN_H
#define JOB_FOREIGN_H

#include "api/job.h"

/* What is wrong with 'have' in the place of 'want'; NULL: nothing, it is used. Text in 'a'. */
const char *foreign_problem(struct arena *a, const struct job *job, const struct json *want, const struct json *have);

#endif
