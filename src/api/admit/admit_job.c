/* admit_job.c - Jobs: defaults, and the rules for creating one */
#include "api/admit/admit_internal.h"

#include "api/pod/gate.h"
#include "api/job.h"
#include "api/name.h"
#include "base/util.h"

#define DEFAULT_MAX_RETRY 3

/* ---- defaults ---- each is one field; what has a wrong type is left for the schema check to report ---- */

/* Set a number if it is missing, null or 0. */
static void default_int(struct arena *a, struct json *j, const char *key, int64_t value, uint8_t mark)
{
    const struct json *have = json_get(j, key);
    int64_t v;
    bool is_zero = json_to_i64(have, &v) == 0 && v == 0;

    if (!is_set(have) || (is_zero && value != 0))
        json_mark(json_set(j, key, json_int(a, value)), mark);
}

/* A count that is missing is 0. -1 if it is no int32 from 0 on. */
static int admit_job_count_of(const struct json *j, const char *key, int64_t *ret)
{
    const struct json *have = json_get(j, key);

    *ret = 0;
    if (!is_set(have))
        return 0;
    return json_to_i64(have, ret) == 0 && *ret >= 0 && *ret <= INT32_MAX ? 0 : -1;
}

static int task_minimum_default(const struct json *task, int64_t *ret)
{
    const struct json *partition = json_get(task, "partitionPolicy");
    int64_t min, size;

    if (admit_job_count_of(partition, "minPartitions", &min) < 0 ||
        admit_job_count_of(partition, "partitionSize", &size) < 0)
        return -1;
    if (min == 0)
        return admit_job_count_of(task, "replicas", ret);
    *ret = min * size; /* both fit 31 bits */
    return *ret <= INT32_MAX ? 0 : -1;
}

static void default_dns_policy(struct arena *a, struct json *task, uint8_t mark)
{
    struct json *spec = json_find(task, "template", "spec", NULL);

    if (json_bool(json_get(spec, "hostNetwork"), false))
        default_text(a, spec, "dnsPolicy", STR("ClusterFirstWithHostNet"), mark);
}

static void default_task(struct arena *a, struct json *task, size_t index, uint8_t mark)
{
    int64_t minimum;

    if (!json_is(task, JSON_OBJECT))
        return;
    default_text(a, task, "name", arena_fmt(a, "default%zu", index), mark);
    if (!is_set(json_get(task, "minAvailable")) && task_minimum_default(task, &minimum) == 0) /* an explicit 0 stays */
        default_int(a, task, "minAvailable", minimum, mark);
    default_int(a, task, "maxRetry", DEFAULT_MAX_RETRY, mark);
    default_dns_policy(a, task, mark);
    default_topology(a, json_find(task, "partitionPolicy", "networkTopology", NULL), mark);
}

/* The sum of the tasks' minimums, after their defaulting. An explicit 0 reads as "not set", as upstream has it. */
static void default_min_available(struct arena *a, struct json *spec, uint8_t mark)
{
    const struct json *tasks = json_get(spec, "tasks");
    int64_t sum = 0, n;

    if (!json_is(tasks, JSON_ARRAY) || json_count(tasks) == 0)
        return;
    JSON_FOREACH(task, tasks) {
        const char *from = is_set(json_get(task, "minAvailable")) ? "minAvailable" : "replicas";

        if (!json_is(task, JSON_OBJECT) || admit_job_count_of(task, from, &n) < 0)
            return;
        sum += n;
    }
    if (sum <= INT32_MAX)
        default_int(a, spec, "minAvailable", sum, mark);
}

void admit_job_defaults(struct arena *a, struct json *job, const struct admit_env *env)
{
    struct json *meta = json_get(job, "metadata"), *spec = json_get(job, "spec");
    size_t i = 0;

    if (json_is(meta, JSON_OBJECT))
        default_text(a, meta, "namespace", env->namespace.n ? env->namespace : STR("default"), env->mark);
    if (!json_is(spec, JSON_OBJECT))
        return;
    default_text(a, spec, "queue", STR("default"), env->mark);
    default_text(a, spec, "schedulerName", env->scheduler_name.n ? env->scheduler_name : STR("volcano"), env->mark);
    default_int(a, spec, "maxRetry", DEFAULT_MAX_RETRY, env->mark);
    default_topology(a, json_get(spec, "networkTopology"), env->mark);
    if (json_is(json_get(spec, "tasks"), JSON_ARRAY))
        JSON_FOREACH(task, json_get(spec, "tasks"))
            default_task(a, task, i++, env->mark);
    default_min_available(a, spec, env->mark);
}

/* ---- check ---- */

struct job_check {
    struct check *c;
    const struct admit_env *env;
    struct place spec, tasks;
    struct str name;     /* of the job; with generateName the longest it may become */
    int64_t replicas;    /* of all tasks */
    int64_t minimums;    /* the same sum over minAvailable */
    bool knows_replicas; /* false: some count is wrong, and reported */
    bool has_partition;  /* some task is partitioned */
    bool is_update;
};

static void admit_job_gather(struct job_check *jc, const struct place *job)
{
    const struct json *meta = json_get(job->node, "metadata");
    int64_t n;

    jc->name = json_member_text(meta, "name");
    if (str_empty(jc->name) && json_member_text(meta, "generateName").n) /* the server cuts it and adds five letters */
        jc->name = arena_cat(jc->c->arena, str_sub(json_member_text(meta, "generateName"), 0, 58), STR("xxxxx"));
    jc->knows_replicas = true;
    PLACE_FOREACH(task, &jc->tasks) {
        if (!json_is(task.node, JSON_OBJECT) || admit_job_count_of(task.node, "replicas", &n) < 0)
            jc->knows_replicas = false;
        else
            jc->replicas += n;
        if (admit_job_count_of(task.node, "minAvailable", &n) == 0)
            jc->minimums += n;
        jc->has_partition |= json_is(json_get(task.node, "partitionPolicy"), JSON_OBJECT);
    }
}

/* ---- counts: replicas, minAvailable, partitions, minSuccess ---- */

/* Too few pods because `replicas` was misspelt? Then that is the mistake, whatever was compared with it. */
static bool tell_misspelt(struct job_check *jc, const struct place *task)
{
    struct place at = place_member(task, "replicas");

    if (is_set(at.node) || !problems_misspelt(jc->c->ps, &at))
        return false;
    check_error(jc->c, &at, "is missing");
    return true;
}

/* A task without pods is allowed, and hardly ever meant. */
static void warn_empty(struct job_check *jc)
{
    PLACE_FOREACH(task, &jc->tasks) {
        struct place at = place_member(&task, "replicas");

        if (json_is(task.node, JSON_OBJECT) && !is_set(at.node) && !problems_misspelt(jc->c->ps, &at))
            check_warn(jc->c, &at, "is missing, so the task has no pods; say replicas: 1");
    }
}

static void check_totals(struct job_check *jc)
{
    struct place min = place_member(&jc->spec, "minAvailable"), success = place_member(&jc->spec, "minSuccess");
    long long total = (long long)jc->replicas;
    int64_t n;

    if (!jc->knows_replicas)
        return;
    if (!jc->is_update)
        warn_empty(jc);
    if (jc->replicas > INT32_MAX)
        check_error(jc->c, &jc->tasks, "the replicas of all tasks together must be at most %d (got %lld)", INT32_MAX,
                    total);
    /* The sum of the tasks' minimums is too much only if one of them is, and that is reported there. */
    if (json_to_i64(min.node, &n) == 0 && n > jc->replicas)
        PLACE_FOREACH(task, &jc->tasks)
            if (tell_misspelt(jc, &task))
                return;
    if (json_to_i64(min.node, &n) == 0 && n > jc->replicas && n != jc->minimums)
        check_error(jc->c, &min, "job 'minAvailable' %s: %lld > %lld; lower it or raise the replicas of a task",
                    jc->is_update ? "must not be greater than total replicas"
                                  : "should not be greater than total replicas in tasks",
                    (long long)n, total);
    if (json_to_i64(min.node, &n) == 0 && n < 0)
        check_error_instead(jc->c, &min, "job 'minAvailable' must be >= 0 (got %lld)", (long long)n);
    if (json_to_i64(success.node, &n) < 0 || n <= jc->replicas)
        return;
    if (jc->is_update) /* minSuccess cannot be changed, and upstream lets such a job shrink */
        check_warn(jc->c, &success, "greater than total replicas (%lld > %lld): the job can no longer reach it",
                   (long long)n, total);
    else
        check_error(jc->c, &success, "greater than total replicas: %lld > %lld, the job could never reach it",
                    (long long)n, total);
}

static void check_task_minimum(struct job_check *jc, const struct place *task)
{
    struct place min = place_member(task, "minAvailable"), at = place_member(task, "replicas");
    struct str name = json_member_text(task->node, "name");
    int64_t n, replicas;

    if (json_to_i64(at.node, &n) == 0 && n < 0)
        check_error_instead(jc->c, &at, "'replicas' must be >= 0 in task: %.*s; got %lld", STR_ARG(name), (long long)n);
    if (json_to_i64(min.node, &n) == 0 && n < 0)
        check_error_instead(jc->c, &min, "'minAvailable' must be >= 0 in task: %.*s; got %lld", STR_ARG(name),
                            (long long)n);
    if (admit_job_count_of(task->node, "replicas", &replicas) == 0 && json_to_i64(min.node, &n) == 0 && n > replicas &&
        !tell_misspelt(jc, task)) {
        if (jc->is_update)
            check_error(jc->c, &min, "'minAvailable' must be <= 'replicas' in task: %.*s; %lld > %lld", STR_ARG(name),
                        (long long)n, (long long)replicas);
        else
            check_error(jc->c, &min, "'minAvailable' is greater than 'replicas' in task: %.*s, job: %.*s; %lld > %lld",
                        STR_ARG(name), STR_ARG(jc->name), (long long)n, (long long)replicas);
    }
}

static void check_partition_number(struct job_check *jc, const struct place *task, const char *key, const char *shown)
{
    struct place policy = place_object(task, "partitionPolicy"), at = place_member(&policy, key);
    struct str name = json_member_text(task->node, "name");
    int64_t n;

    if (json_to_i64(at.node, &n) == 0 && n < 1)
        check_error_instead(jc->c, &at, "'%s' must be greater than 0 in task: %.*s, job: %.*s; got %lld", shown,
                            STR_ARG(name), STR_ARG(jc->name), (long long)n);
}

static void check_partition(struct job_check *jc, const struct place *task)
{
    struct place policy = place_object(task, "partitionPolicy"), topology = place_object(&policy, "networkTopology");
    struct place at_replicas = place_member(task, "replicas"), at_min = place_member(task, "minAvailable");
    struct str where;
    int64_t total, size, min_partitions, replicas, min;

    if (!policy.node)
        return;
    check_topology(jc->c, &topology, STR_NULL);
    check_partition_number(jc, task, "totalPartitions", "TotalPartitions");
    check_partition_number(jc, task, "partitionSize", "PartitionSize");
    where = arena_fmt(jc->c->arena, "in task: %.*s, job: %.*s", STR_ARG(json_member_text(task->node, "name")),
                      STR_ARG(jc->name));
    if (!place_int(&policy, "totalPartitions", &total) || !place_int(&policy, "partitionSize", &size) || total < 1 ||
        size < 1 || total > INT32_MAX || size > INT32_MAX ||
        admit_job_count_of(task->node, "replicas", &replicas) < 0 ||
        admit_job_count_of(policy.node, "minPartitions", &min_partitions) < 0)
        return;
    if (replicas != total * size)
        check_error(jc->c, &at_replicas,
                    "'Replicas' are not equal to TotalPartitions*PartitionSize %.*s; %lld is not %lld * %lld = %lld",
                    STR_ARG(where), (long long)replicas, (long long)total, (long long)size, (long long)(total * size));
    if (min_partitions > 0 && json_to_i64(at_min.node, &min) == 0 && min != min_partitions * size)
        check_error(jc->c, &at_min,
                    "'MinAvailable' is not equal to MinPartitions*PartitionSize %.*s; %lld is not %lld * %lld = %lld",
                    STR_ARG(where), (long long)min, (long long)min_partitions, (long long)size,
                    (long long)(min_partitions * size));
}

/* ---- names of tasks and of the pods that follow from them (B50) ---- */

/* The pod with the longest name is the last one. */
static void check_pod_name(struct job_check *jc, const struct place *task)
{
    struct place at = place_member(task, "name");
    struct str name = json_member_text(task->node, "name"), pod;
    int64_t replicas;
    const char *why;

    if (str_empty(name) || str_empty(jc->name) || admit_job_count_of(task->node, "replicas", &replicas) < 0)
        return;
    pod = arena_fmt(jc->c->arena, "%.*s-%.*s-%lld", STR_ARG(jc->name), STR_ARG(name),
                    (long long)(replicas > 0 ? replicas - 1 : 0));
    if (pod.n > 63)
        check_error(jc->c, &at,
                    "create pod with name %.*s validate failed [name part must be no more than 63 characters]: has "
                    "%zu; shorten the name of the job or of the task",
                    STR_ARG(pod), pod.n);
    else if ((why = name_check_qualified(jc->c->arena, pod)))
        check_error(jc->c, &at, "create pod with name %.*s validate failed [%s]", STR_ARG(pod), why);
}

static void check_job_name(struct job_check *jc, const struct place *job)
{
    struct place meta = place_member(job, "metadata"), at = place_member(&meta, "name");

    if (jc->name.n > 63)
        check_error(jc->c, &at,
                    "create job with name %.*s validate failed [name part must be no more than 63 characters]: has "
                    "%zu",
                    STR_ARG(jc->name), jc->name.n);
}

static void check_task_names(struct job_check *jc)
{
    struct name_map names = { 0 };
    size_t first;

    PLACE_FOREACH(task, &jc->tasks) {
        struct place at = place_member(&task, "name");
        struct str name = json_member_text(task.node, "name");

        if (name.n && !name_map_add(jc->c->arena, &names, name, task.index, &first))
            check_error(jc->c, &at, "duplicated task name %.*s: spec.tasks[%zu] has it already", STR_ARG(name), first);
    }
}

/* ---- templates ---- */

static bool asks_whole_cpus(const struct json *container)
{
    const struct json *resources = json_get(container, "resources");
    const struct json *cpu = json_find(resources, "requests", "cpu", NULL);
    struct quantity q;

    if (!is_set(cpu))
        cpu = json_find(resources, "limits", "cpu", NULL);
    if (is_set(cpu) && !quantity_from_json(cpu, &q))
        return true; /* reported as no quantity */
    return is_set(cpu) && q.nano > 0 && quantity_is_whole(q);
}

static void check_whole_cpus(struct job_check *jc, const struct place *spec, const char *list, struct str policy)
{
    struct place containers = place_list(spec, list);
    size_t before = str_is(str_of(list), "containers") ? 0 : json_count(json_get(spec->node, "containers"));

    PLACE_FOREACH(container, &containers)
        if (!asks_whole_cpus(container.node) && !problems_error_below(jc->c->ps, &container))
            check_error(jc->c, &container,
                        "the cpu request isn't an integer in spec.task[%zu] container[%zu]. topologyPolicy %.*s needs "
                        "a whole number of CPUs, at least 1, in resources.requests or resources.limits",
                        spec->up->up->index, before + container.index, STR_ARG(policy));
}

static void admit_job_check_template(struct job_check *jc, const struct place *task)
{
    struct place template = place_member(task, "template"), spec = place_object(&template, "spec");
    size_t n_errors = jc->c->ps->n_errors;
    struct str policy;

    if (!is_set(template.node))
        check_of(jc->c, PROBLEM_REQUIRED, &template, "is required: a task needs a pod template");
    if (!json_is(template.node, JSON_OBJECT))
        return;
    pod_template_rules(jc->c, &template);
    if (jc->c->ps->n_errors != n_errors || !place_text(task, "topologyPolicy", &policy) || str_eq(policy, STR("none")))
        return;
    check_whole_cpus(jc, &spec, "initContainers", policy);
    check_whole_cpus(jc, &spec, "containers", policy);
}

/* ---- disruption budgets of pods ---- */

/* NULL: it is a positive number or a percentage. */
static const char *budget_wrong(struct arena *a, const char *key, struct str s)
{
    bool is_percent = str_ends(s, STR("%"));
    struct str number = is_percent ? str_sub(s, 0, s.n - 1) : s;
    int64_t n;

    if (str_to_i64(number, &n) < 0)
        return arena_fmt(a,
                         "invalid value strconv.Atoi: parsing \"%.*s\": invalid syntax for %s: write a positive "
                         "integer or 1%% to 99%%",
                         STR_ARG(number), key)
            .p;
    if (is_percent ? n >= 1 && n <= 99 : n >= 1 && n <= INT32_MAX)
        return NULL;
    return arena_fmt(a, "invalid value <\"%.*s\"> for %s, it must be a %s", STR_ARG(s), key,
                     is_percent ? "valid percentage which between 1% ~ 99%" : "positive integer")
        .p;
}

/* The pods of our scheduler are refused with a bad budget, so the job that would make them is refused. On the job
 * itself min-available simply wins over max-unavailable; in a template both would reach the pod. */
static void check_budget(struct check *c, const struct place *annotations, bool is_template)
{
    static const char *const keys[] = { "volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable" };
    struct str text[ARRAY_LEN(keys)];
    struct place at = place_member(annotations, keys[1]);

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct place value = place_member(annotations, keys[i]);
        const char *why;

        text[i] = json_text(value.node, STR_NULL);
        if (json_is(value.node, JSON_STRING) && (why = budget_wrong(c->arena, keys[i], text[i])))
            check_error(c, &value, "%s", why);
    }
    if (!text[0].n || !text[1].n)
        return;
    if (is_template)
        check_error(c, &at, "not allow configure multiple annotations <[%s %s]> at same time: remove one", keys[0],
                    keys[1]);
    else
        check_warn(c, &at, "has no effect: %s is set too", keys[0]);
}

static bool is_our_scheduler(const struct job_check *jc, const struct json *template)
{
    struct str ours = jc->env->scheduler_name.n ? jc->env->scheduler_name : STR("volcano");
    struct str name = json_member_text(json_get(template, "spec"), "schedulerName");

    if (str_empty(name))
        name = json_member_text(jc->spec.node, "schedulerName");
    return str_empty(name) || str_eq(name, ours);
}

static void check_budgets(struct job_check *jc, const struct place *job)
{
    struct place meta = place_object(job, "metadata"), annotations = place_object(&meta, "annotations");

    if (is_our_scheduler(jc, NULL))
        check_budget(jc->c, &annotations, false);
    PLACE_FOREACH(task, &jc->tasks) {
        struct place template = place_object(&task, "template"), template_meta = place_object(&template, "metadata");
        struct place below = place_object(&template_meta, "annotations");

        if (is_our_scheduler(jc, template.node))
            check_budget(jc->c, &below, true);
    }
}

static bool is_our_pod(const struct json *pod, const struct admit_env *env)
{
    struct str ours = env->scheduler_name.n ? env->scheduler_name : STR("volcano");

    return str_eq(json_member_text(json_get(pod, "spec"), "schedulerName"), ours);
}

void admit_pod_gate(struct arena *a, struct json *pod, const struct admit_env *env)
{
    if (is_our_pod(pod, env) && queue_gate_is_wanted(pod))
        queue_gate_add(a, pod);
}

void admit_pod_budget(const struct json *pod, const struct admit_env *env, struct problems *ps)
{
    struct place root = { .node = pod }, meta = place_object(&root, "metadata");
    struct place annotations = place_object(&meta, "annotations");
    struct check c = check_begin(ps, ps->list.n);

    if (is_our_pod(pod, env))
        check_budget(&c, &annotations, true);
}

/* ---- volumes ---- */

/* What the API server will want of the claim; the job is not refused for it, as upstream does not either. */
static void check_claim(struct job_check *jc, const struct place *claim)
{
    struct place modes = place_member(claim, "accessModes");
    struct place storage = place_member(claim, "resources");

    if (json_count(modes.node) == 0)
        check_warn(jc->c, &modes, "a volume claim needs at least one access mode, such as ReadWriteOnce");
    if (!is_set(json_find(storage.node, "requests", "storage", NULL)))
        check_warn(jc->c, &storage, "a volume claim needs resources.requests.storage");
}

/* A claim that is made gets its name, JOB-pvc-HASH, before that: such a job may be applied again. */
static void check_volume(struct job_check *jc, const struct place *volume)
{
    struct place name = place_member(volume, "volumeClaimName"), claim = place_object(volume, "volumeClaim");
    struct str text = json_text(name.node, STR(""));
    bool has_name = text.n > 0, has_claim = is_set(json_get(volume->node, "volumeClaim"));
    const char *why;

    if (has_name && has_claim && !str_has(text, STR("-pvc-")))
        check_error(
            jc->c, &name,
            "conflict: If you want to use an existing PVC, just specify VolumeClaimName.If you want to create a "
            "new PVC, you do not need to specify VolumeClaimName");
    if (!has_name && !has_claim && (!is_set(name.node) || json_is(name.node, JSON_STRING)))
        check_error(jc->c, volume, "either VolumeClaim or VolumeClaimName must be specified");
    if (has_name && (why = name_check_dns_subdomain(jc->c->arena, text)))
        check_error_instead(jc->c, &name, "invalid VolumeClaimName %.*s : [%s]", STR_ARG(text), why);
    if (claim.node)
        check_claim(jc, &claim);
}

static void check_volumes(struct job_check *jc)
{
    struct place volumes = place_list(&jc->spec, "volumes");
    struct name_map paths = { 0 };
    size_t first;

    PLACE_FOREACH(volume, &volumes) {
        struct place at = place_member(&volume, "mountPath");
        struct str path = json_text(at.node, STR(""));

        if (!json_is(volume.node, JSON_OBJECT))
            continue;
        if (!path.n && (!is_set(at.node) || json_is(at.node, JSON_STRING)))
            check_error_instead(jc->c, &at, "mountPath is required");
        else if (path.n && !name_map_add(jc->c->arena, &paths, path, volume.index, &first))
            check_error(jc->c, &at, "duplicated mountPath: %.*s; spec.volumes[%zu] has it already", STR_ARG(path),
                        first);
        check_volume(jc, &volume);
    }
}

/* ---- queue: it exists, is open, is a leaf (B50) ---- */

static void check_queue(struct job_check *jc)
{
    struct place at = place_member(&jc->spec, "queue");
    struct str name = json_text(at.node, STR(""));
    struct queue_children children;

    if (str_empty(name))
        return;
    if (name.n > 63)
        check_error(jc->c, &at,
                    "must be no more than 63 characters (has %zu): pods carry the queue's name as a label value",
                    name.n);
    if (str_eq(name, STR("root"))) {
        check_error(jc->c, &at, "can not submit job to root queue: use a leaf queue such as \"default\"");
        return;
    }
    check_queue_open(jc->c, &at, jc->env, true);
    children = queue_children(jc->c->arena, jc->env, name);
    if (children.n)
        check_error(jc->c, &at, "can only submit job to leaf queue, queue `%.*s` has %zu child queues: %.*s",
                    STR_ARG(name), children.n, STR_ARG(children.names));
}

/* ---- all together ---- */

/* A job without tasks is refused in upstream's words; the schema would only say that the list is empty. */
static bool check_has_tasks(struct job_check *jc)
{
    struct place at = place_member(&jc->spec, "tasks");

    if (is_set(at.node) && (at.node->type != JSON_ARRAY || at.node->n > 0))
        return at.node->type == JSON_ARRAY;
    check_error_instead(jc->c, &at, "No task specified in job spec: add at least one");
    return false;
}

static void check_task(struct job_check *jc, const struct place *task)
{
    struct place policies = place_list(task, "policies");
    struct policy_scope scope = { .is_task = true,
                                  .has_partition = json_is(json_get(task->node, "partitionPolicy"), JSON_OBJECT) };

    if (!json_is(task->node, JSON_OBJECT))
        return;
    check_task_minimum(jc, task);
    check_partition(jc, task);
    check_pod_name(jc, task);
    if (jc->is_update)
        return; /* the rest cannot change */
    policy_rules(jc->c, &policies, scope);
    admit_job_check_template(jc, task);
}

static void check_create(struct job_check *jc, const struct place *job)
{
    struct place policies = place_list(&jc->spec, "policies");
    struct policy_scope scope = { .has_partition = jc->has_partition };

    check_job_name(jc, job);
    check_task_names(jc);
    depends_rules(jc->c, &jc->tasks);
    policy_rules(jc->c, &policies, scope);
    check_volumes(jc);
    check_queue(jc);
    check_budgets(jc, job);
}

/* B55: an update that leaves the spec alone, or only lets the job die, is not held up by rules about it. */
static bool is_spec_at_rest(const struct json *job, const struct json *old)
{
    return old && (json_member_text(json_get(job, "metadata"), "deletionTimestamp").n ||
                   json_member_text(json_get(old, "metadata"), "deletionTimestamp").n ||
                   json_equal(json_get(job, "spec"), json_get(old, "spec")));
}

void admit_job_check(const struct place *job, const struct json *old, const struct admit_env *env, struct problems *ps)
{
    size_t start = ps->list.n;
    struct job_check jc = { .env = env, .is_update = old != NULL };
    struct place topology;
    struct check c;

    if (is_spec_at_rest(job->node, old)) {
        meta_check(job, NULL, true, ps);
        return;
    }
    if (!env->is_clean)
        schema_check(&schema_job, job, ps);
    meta_check(job, NULL, true, ps);
    c = check_begin(ps, start);
    jc.c = &c;
    jc.spec = place_object(job, "spec");
    if (!jc.spec.node || !check_has_tasks(&jc))
        return;
    jc.tasks = place_list(&jc.spec, "tasks");
    admit_job_gather(&jc, job);
    check_totals(&jc);
    topology = place_object(&jc.spec, "networkTopology");
    check_topology(&c, &topology, STR_NULL);
    PLACE_FOREACH(task, &jc.tasks)
        check_task(&jc, &task);
    if (old)
        job_update_rules(&c, &jc.spec, json_get(old, "spec"));
    else
        check_create(&jc, job);
}
