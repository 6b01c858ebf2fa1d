/* rules.c - rules for the whole job that follow from the plugins it uses (plugins.md 1.8, B18, B20, B21) */
#include "plugin/plugin_internal.h"

#include "api/name.h"
#include "base/util.h"

/* Names made from the job's name, and by which plugin. The whole must be a DNS label; a Service's (1035) too. */
static const struct name_rule {
    const char *plugin, *suffix, *what;
    bool is_service;
} name_rules[] = {
    { "svc", "", "the Service", true },
    { "svc", "-svc", "the volume and ConfigMap", false },
    { "ssh", "-ssh", "the volume and Secret", false },
    { "ray", "-head-svc", "the Service", true },
};

static void check_job_name(const struct plugin_set *set, const struct place *at, struct problems *ps)
{
    struct str job = set->job->meta.name;

    for (size_t i = 0; i < ARRAY_LEN(name_rules); i++) {
        const struct name_rule *rule = &name_rules[i];
        struct str name = arena_fmt(set->arena, "%.*s%s", STR_ARG(job), rule->suffix);
        const char *wrong;

        if (!plugin_set_args(set, rule->plugin))
            continue;
        wrong = rule->is_service ? name_check_dns1035_label(set->arena, name) : name_check_dns_label(set->arena, name);
        if (wrong) { /* the first says enough */
            problem_error(ps, at, "plugin %s names %s \"%.*s\", which %s", rule->plugin, rule->what, STR_ARG(name),
                          wrong);
            return;
        }
    }
}

/* svc makes the pod's name its host name. Checked with the highest index, so that it holds after a scale-up too. */
static void check_pod_name(const struct plugin_set *set, const struct job_task *task, const struct place *at,
                           struct problems *ps)
{
    uint32_t pods = task_pods(task);
    struct str host;
    const char *wrong;

    if (!str_empty(json_member_text(job_task_pod_spec(task), "hostname")))
        return;
    host = job_pod_name(set->arena, set->job, task, pods ? pods - 1 : 0);
    wrong = name_check_dns_label(set->arena, host);
    if (wrong)
        problem_error(ps, at, "plugin svc makes \"%.*s\" a host name, which %s", STR_ARG(host), wrong);
}

/* B18: all replicas would have one name; host lists hold it once, ranks count on. */
static void check_hostname(const struct job_task *task, const struct place *task_at, struct problems *ps)
{
    struct place template = place_member(task_at, "template"), spec = place_member(&template, "spec");
    struct place at = place_member(&spec, "hostname");

    if (task_pods(task) > 1 && !str_empty(json_text(at.node, STR_NULL)))
        problem_warn(ps, &at, "all %d pods of task \"%.*s\" get the host name \"%.*s\"; host lists hold it only once",
                     task->replicas, STR_ARG(task->name), STR_ARG(json_text(at.node, STR_NULL)));
}

void plugin_rules_check(const struct plugin_set *set, const struct place *job, struct problems *ps)
{
    struct place spec = place_member(job, "spec"), tasks = place_member(&spec, "tasks");
    struct place meta = place_member(job, "metadata"), name = place_member(&meta, "name");
    bool has_svc = plugin_set_args(set, "svc");
    bool has_name = !str_empty(set->job->meta.name) && !problems_error_below(ps, &name);

    if (!set->n_use)
        return;
    if (has_name)
        check_job_name(set, &name, ps);
    for (size_t i = 0; i < set->job->spec.tasks.n; i++) {
        const struct job_task *task = &set->job->spec.tasks.v[i];
        struct place at = place_item(&tasks, task->raw, i);

        if (has_svc && has_name && !problems_error_below(ps, &name))
            check_pod_name(set, task, &name, ps);
        check_hostname(task, &at, ps);
    }
}
