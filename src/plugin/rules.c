/* rules.c - rules for the whole job that follow from the plugins it uses */
#include "plugin/plugin_internal.h"

#include "api/name.h"
#include "base/util.h"
#include "plugin/pod.h"

/* Names made from the job's name, and by which plugin. The whole must be a DNS label; a Service's should not begin with
 * a digit. */
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
    bool is_told = false;

    for (size_t i = 0; i < ARRAY_LEN(name_rules); i++) {
        const struct name_rule *rule = &name_rules[i];
        struct str name = arena_fmt(set->arena, "%.*s%s", STR_ARG(job), rule->suffix);
        const char *wrong;

        if (!plugin_set_args(set, rule->plugin))
            continue;
        wrong = name_check_dns_label(set->arena, name);
        if (wrong) { /* the first says enough */
            problem_error(ps, at, "plugin %s names %s \"%.*s\", which %s", rule->plugin, rule->what, STR_ARG(name),
                          wrong);
            return;
        }
        if (rule->is_service && !is_told && name_check_dns1035_label(set->arena, name)) {
            problem_warn(ps, at,
                         "plugin %s names %s \"%.*s\", which begins with a digit: API servers before Kubernetes 1.36 "
                         "refuse it",
                         rule->plugin, rule->what, STR_ARG(name));
            is_told = true;
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

/* All replicas would have one name; host lists hold it once, ranks count on. */
static void check_hostname(const struct job_task *task, const struct place *task_at, struct problems *ps)
{
    struct place template = place_member(task_at, "template"), spec = place_member(&template, "spec");
    struct place at = place_member(&spec, "hostname");

    if (task_pods(task) > 1 && !str_empty(json_text(at.node, STR_NULL)))
        problem_warn(ps, &at, "all %d pods of task \"%.*s\" get the host name \"%.*s\"; host lists hold it only once",
                     task->replicas, STR_ARG(task->name), STR_ARG(json_text(at.node, STR_NULL)));
}

/* What svc and ssh mount in every container. */
struct plugin_mount {
    const char *plugin;
    struct str volume, path;
};

/* The user's mount wins, so the files of the plugin will not be where programs look for them. */
static void check_mounts(const struct plugin_mount *m, const struct place *pod_spec, const char *list,
                         struct problems *ps)
{
    struct place containers = place_member(pod_spec, list);
    size_t i = 0;

    JSON_FOREACH(node, json_is(containers.node, JSON_ARRAY) ? containers.node : NULL) {
        struct place container = place_item(&containers, node, i++), mounts = place_member(&container, "volumeMounts");
        size_t k = 0;

        JSON_FOREACH(mount, json_is(mounts.node, JSON_ARRAY) ? mounts.node : NULL) {
            struct place at = place_item(&mounts, mount, k++), path = place_member(&at, "mountPath");

            if (str_eq(path_clean(json_text(path.node, STR_NULL)), path_clean(m->path)))
                problem_warn(ps, &path, "plugin %s uses this directory too; this mount wins, and its files are missing",
                             m->plugin);
        }
    }
}

/* Upstream adds a second volume of that name, and the API server refuses every pod. */
static void check_volumes(const struct plugin_mount *m, const struct place *pod_spec, struct problems *ps)
{
    struct place volumes = place_member(pod_spec, "volumes");
    size_t i = 0;

    JSON_FOREACH(volume, json_is(volumes.node, JSON_ARRAY) ? volumes.node : NULL) {
        struct place at = place_item(&volumes, volume, i++), name = place_member(&at, "name");

        if (str_eq(json_text(name.node, STR_NULL), m->volume))
            problem_error(ps, &name, "plugin %s adds a volume of this name: choose another", m->plugin);
    }
}

static void check_mounted(const struct plugin_set *set, const struct place *task, struct problems *ps)
{
    struct place template = place_member(task, "template"), spec = place_member(&template, "spec");
    struct str job = set->job->meta.name;
    const struct plugin_mount mounts[] = {
        { "svc", arena_cat(set->arena, job, STR("-svc")), STR("/etc/volcano") },
        { "ssh", arena_cat(set->arena, job, STR("-ssh")), plugin_set_text(set, "ssh", "ssh-key-file-path", STR_NULL) },
    };

    for (size_t i = 0; i < ARRAY_LEN(mounts); i++)
        if (plugin_set_args(set, mounts[i].plugin)) {
            check_volumes(&mounts[i], &spec, ps);
            check_mounts(&mounts[i], &spec, "initContainers", ps);
            check_mounts(&mounts[i], &spec, "containers", ps);
        }
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
        check_mounted(set, &at, ps);
    }
}
