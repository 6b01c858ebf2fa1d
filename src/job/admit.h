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

/* Default 'obj' in place and add all problems to 'ps'. On create (old NULL) '*ret_set' gets the job's plugins, ready to
 * build pods with, and '*ret_job' the typed view; both are usable only when no error was added. 'a' outlives them. */
void job_admit(struct arena *a, struct json *obj, const struct json *old, const struct admit_env *env,
               const struct plugin_world *world, struct job *ret_job, struct plugin_set **ret_set, struct problems *ps);

#endif
