/* admit.c - a Job's admission: defaults first, then the rules, as Volcano's two webhooks run */
#include "job/admit.h"

void job_default(struct arena *a, struct json *obj, const struct admit_env *env)
{
    admit_job_defaults(a, obj, env);
    plugin_default(a, obj, env->mark);
}

struct plugin_set *job_admit(struct arena *a, struct json *obj, const struct job_admit_env *env, struct job *ret_job,
                             struct problems *ps)
{
    struct job *job = ret_job ? ret_job : arena_new(a, struct job);
    struct place root = { .node = obj };
    struct plugin_set *set;

    job_default(a, obj, env->env); /* on updates too: what was defaulted must not look like a change */
    admit_job_check(&root, env->old, env->env, ps);
    job_decode(a, obj, job);
    set = plugin_set_new(a, job, env->world, ps);
    problems_merge(ps);
    return set;
}
