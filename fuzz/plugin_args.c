/* plugin_args.c - fuzz target: the first line names a plugin, each further line is one of its arguments */
#include "base/arena.h"
#include "plugin/plugin.h"

static const struct {
    const char *name;
    int replicas;
} tasks[] = { { "master", 1 }, { "worker", 2 }, { "head", 1 }, { "ps", 1 } };

/* { metadata, spec: { plugins: { <name>: <list> }, tasks } }, one container in each task. */
static struct json *make_job(struct arena *a, struct str plugin, struct json *list)
{
    struct json *job = object_new(a, JOB_API_VERSION, JOB_KIND, STR("ns"), STR("fuzz"));
    struct json *spec = json_set(job, "spec", json_object(a)), *array;

    json_set(json_get(job, "metadata"), "uid", json_str(a, STR("u1")));
    json_add(json_set(spec, "plugins", json_object(a)), plugin, list);
    array = json_set(spec, "tasks", json_array(a));
    for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++) {
        struct json *task = json_push(array, json_object(a)), *pod;

        json_set(task, "name", json_str(a, str_of(tasks[i].name)));
        json_set(task, "replicas", json_int(a, tasks[i].replicas));
        pod = json_set(json_set(task, "template", json_object(a)), "spec", json_object(a));
        json_set(json_push(json_set(pod, "containers", json_array(a)), json_object(a)), "name", json_str(a, STR("c")));
    }
    return job;
}

static int fast_keys(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e)
{
    (void)ctx, (void)a, (void)type, (void)e;
    *ret = (struct ssh_keys){ STR("private\n"), STR("public\n") };
    return 0;
}

static void run_pods(struct arena *a, const struct job *job, const struct plugin_set *set)
{
    for (size_t i = 0; i < job->spec.tasks.n; i++) {
        const struct job_task *task = &job->spec.tasks.v[i];
        struct pod_draft pod = { .task = task, .task_pos = i, .name = job_pod_name(a, job, task, 0) };

        pod.root = object_new(a, "v1", "Pod", STR("ns"), pod.name);
        pod.meta = json_get(pod.root, "metadata");
        pod.spec = json_set(pod.root, "spec", json_copy(a, job_task_pod_spec(task)));
        object_set_label(a, pod.root, "volcano.sh/task-index", STR("0"));
        (void)plugin_set_pod(set, a, &pod, NULL); /* an error is an answer too */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autoarena a = { 0 };
    struct plugin_world world = { .make_keys = fast_keys };
    struct problems ps = { .arena = &a };
    struct plugin_objects objects = { .arena = &a };
    struct str rest = arena_str(&a, (struct str){ (const char *)data, size }), name, line;
    struct json *list = json_array(&a), *raw;
    struct plugin_set *set;
    struct job job;

    (void)str_split(&rest, '\n', &name);
    while (str_split(&rest, '\n', &line))
        json_push(list, json_str(&a, line));
    raw = make_job(&a, name, list);
    plugin_default(&a, raw, MARK_DEFAULT);
    job_decode(&a, raw, &job);
    set = plugin_set_new(&a, &job, &world, &ps);
    if (ps.n_errors)
        return 0;
    (void)plugin_set_objects(set, &objects, NULL); /* an error is an answer too */
    run_pods(&a, &job, set);
    return 0;
}
