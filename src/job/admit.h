/* admit.h - the whole admission of a Job: defaults, forced plugins, rules of the Job and of its plugins
 *
 * This is what `create` means everywhere: on the command line, in the server and in the webhook.
 */
#ifndef JOB_ADMIT_H
#define JOB_ADMIT_H

#include "api/admit/admit.h"
#include "plugin/plugin.h"

/* The defaults alone, forced plugins included. Doing it twice is doing it once. */
void job_default(struct arena *a, struct json *obj, const struct admit_env *env);

struct job_admit_env {
    const struct json *old; /* the stored Job; NULL: this one is created */
    const struct admit_env *env;
    const struct plugin_world *world; /* NULL: plugins are checked as far as that goes without one */
};

/* Default 'obj' in place and add all problems to 'ps'. Returns the job's plugins, ready to build pods with, and sets
 * '*ret_job' (may be NULL) to the typed view; both are usable only when no error was added, and live in 'a'. */
struct plugin_set *job_admit(struct arena *a, struct json *obj, const struct job_admit_env *env, struct job *ret_job,
                             struct problems *ps);

#endif
