/* admission.c - from a kind and an operation to its defaults and rules */
#include "admission/admission.h"

#include "base/util.h"
#include "flow/admit.h"
#include "os/zoneinfo.h"

static void admission_job_default(const struct admission_call *c)
{
    job_default(c->arena, c->object, c->env);
}

static void admission_job_write(const struct admission_call *c)
{
    struct job_admit_env env = { .old = c->old, .env = c->env, .world = c->world };
    struct plugin_set *set = job_admit(c->arena, c->object, &env, c->ret_job, c->problems);

    if (c->ret_set)
        *c->ret_set = set;
}

static void admission_queue_write(const struct admission_call *c)
{
    admit_queue(c->arena, c->object, c->old, c->env, c->problems);
}

static void admission_queue_delete(const struct admission_call *c)
{
    admit_queue_delete(c->old, c->env, c->problems);
}

static void admission_group_write(const struct admission_call *c)
{
    admit_podgroup(c->arena, c->object, c->old, c->env, c->problems);
}

static void admission_hypernode_write(const struct admission_call *c)
{
    admit_hypernode(c->object, c->old, c->problems);
}

static void admission_flow_write(const struct admission_call *c)
{
    struct flow_env env = { .admit = c->env, .read_zone = zoneinfo_read };

    (void)admit_flow_kind(c->arena, c->object, c->old, &env, c->problems); /* the table says that it is one */
}

static void admission_pod_default(const struct admission_call *c)
{
    admit_pod_gate(c->arena, c->object, c->env);
}

static void admission_pod_write(const struct admission_call *c)
{
    admit_pod_budget(c->object, c->env, c->problems);
}

static const struct {
    const char *group, *kind;
    void (*admit[ADMISSION_OPERATION_MAX])(const struct admission_call *c); /* default, write, delete */
} admission_rows[] = {
    { "batch.volcano.sh", "Job", { admission_job_default, admission_job_write } },
    { "batch.volcano.sh", "CronJob", { NULL, admission_flow_write } },
    { "flow.volcano.sh", "JobFlow", { NULL, admission_flow_write } },
    { "flow.volcano.sh", "JobTemplate", { NULL, admission_flow_write } },
    { "scheduling.volcano.sh", "Queue", { admission_queue_write, admission_queue_write, admission_queue_delete } },
    { "scheduling.volcano.sh", "PodGroup", { admission_group_write, admission_group_write } },
    { "topology.volcano.sh", "HyperNode", { NULL, admission_hypernode_write } },
    { "", "Pod", { admission_pod_default, admission_pod_write } },
};

bool admission_admit(enum admission_operation operation, const char *group, const char *kind,
                     const struct admission_call *call)
{
    for (size_t i = 0; i < ARRAY_LEN(admission_rows); i++)
        if (strcmp(admission_rows[i].group, group) == 0 && strcmp(admission_rows[i].kind, kind) == 0 &&
            admission_rows[i].admit[operation]) {
            admission_rows[i].admit[operation](call);
            return true;
        }
    return false;
}
