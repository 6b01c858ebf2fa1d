/* admit.c - a Job's admission: defaults first, then the rules, as Volcano's two webhooks run */
#include "job/admit.h"

void job_default(struct arena *a, struct json *obj, const struct admit_env *env)
{
    admit_job_defaults(a, obj, env);
    plugin_default(a, obj, env->mark);
}

void job_admit(struct arena *a, struct json *obj, const struct json *old, const struct admit_env *env,
               const struct plugin_world *world, struct job *ret_job, struct plugin_set **ret_set, struct problems *ps)
{
    struct place root = { .node = obj };

    job_default(a, obj, env); /* on updates too: what was defaulted must not look like a change */
    admit_job_check(&root, old, env, ps);
    job_decode(a, obj, ret_job);
    *ret_set = plugin_set_new(a, ret_job, world, ps);
    problems_merge(ps);
}
