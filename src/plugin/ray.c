/* ray.c - a Ray cluster: head, workers and the Service of the head
 *
 * How the user's command takes part depends on --mode:
 *
 *     start      it does not: head and workers run `ray start --block` (upstream's way)
 *     prefix     the head runs `ray start`, then the user's command; workers block
 *     symmetric  all pods run `ray symmetric-run … -- <the user's command>`
 *
 * A command is kept by running [sh, -c, <script>, sh, <the user's command>]: the script ends with "$@", and args follow
 * by themselves. Nothing has to be quoted.
 */
#include "plugin/launch.h"
#include "plugin/plugin_internal.h"
#include "plugin/waitscript.h"

#include "api/quantity.h"
#include "base/util.h"

struct ray_args {
    struct str head, worker, head_container, worker_container;
    int64_t port, dashboard_port, client_port;
    struct str mode, head_args, worker_args, num_gpus, submit, expose;
    bool wait_head;
    int64_t wait_timeout;
    bool override;
};

static const char *const ray_modes[] = { "start", "prefix", "symmetric", NULL };
static const char *const ray_scopes[] = { "job", "namespace", "cluster", NULL };

#define RAY_ARG(field) offsetof(struct ray_args, field)

static const struct plugin_arg ray_arg_table[] = {
    { "head", ARG_STR, RAY_ARG(head), "head", .doc = "task of the head, one replica" },
    { "worker", ARG_STR, RAY_ARG(worker), "worker", .doc = "task of the workers" },
    { "headContainer", ARG_STR, RAY_ARG(head_container), "head",
      .doc = "container of the head that runs Ray; else the only one, unless it has a command that would be lost" },
    { "workerContainer", ARG_STR, RAY_ARG(worker_container), "worker",
      .doc = "container of the workers that runs Ray; else the only one, as above" },
    { "port", ARG_PORT, RAY_ARG(port), "6379", .doc = "port of the GCS" },
    { "dashboardPort", ARG_PORT, RAY_ARG(dashboard_port), "8265", .doc = "port of the dashboard" },
    { "clientPort", ARG_PORT, RAY_ARG(client_port), "10001", .alias = "clientServerPort",
      .doc = "port of the Ray client server" },
    { "mode", ARG_STR, RAY_ARG(mode), "start", .values = ray_modes,
      .doc = "start: Ray alone; prefix: the head runs its own command after ray start; symmetric: ray symmetric-run" },
    { "submit", ARG_STR, RAY_ARG(submit), "",
      .doc = "command line the head submits as a Ray job; the head ends with it (mode start)" },
    { "head-args", ARG_STR, RAY_ARG(head_args), "", .doc = "more options of ray start on the head" },
    { "worker-args", ARG_STR, RAY_ARG(worker_args), "", .doc = "more options of ray start on workers" },
    { "num-gpus", ARG_STR, RAY_ARG(num_gpus), "",
      .doc = "--num-gpus of ray start: a number, or auto for the GPUs in the container's limits" },
    { "wait-head", ARG_BOOL, RAY_ARG(wait_head), "true",
      .doc = "workers wait until the head answers (in mode start only if given)" },
    { "wait-timeout", ARG_INT, RAY_ARG(wait_timeout), "300", .doc = "seconds to wait before the container fails" },
    { "expose", ARG_STR, RAY_ARG(expose), "job", .values = ray_scopes,
      .doc = "who may reach the ports of the head: pods of the job, the namespace or the cluster. The dashboard runs "
             "any code" },
    { "override", ARG_BOOL, RAY_ARG(override), "false", .doc = "variables replace those of the template" },
};

enum { RAY_PORTS = 3 };

struct ray_port {
    const char *name;
    int64_t number;
};

struct ray_state {
    const struct job_task *head;
    struct str host, address; /* of the head; with its port */
    int64_t n_nodes;
};

static void ray_ports(const struct ray_args *args, struct ray_port ret[RAY_PORTS])
{
    ret[0] = (struct ray_port){ "gcs", args->port };
    ret[1] = (struct ray_port){ "dashboard", args->dashboard_port };
    ret[2] = (struct ray_port){ "client-server", args->client_port };
}

static bool mode_is(const struct ray_args *args, const char *mode)
{
    return str_is(args->mode, mode);
}

/* Does the container run its own command, wrapped, and not one of ours in its place? */
static bool keeps_command(const struct ray_args *args, bool is_head)
{
    return mode_is(args, "symmetric") || (is_head && mode_is(args, "prefix"));
}

static struct json *only_container(const struct json *containers)
{
    return json_count(containers) == 1 && json_is(json_first(containers), JSON_OBJECT) ? json_first(containers) : NULL;
}

/* The container that runs Ray: the one of that name; else the only one, unless its own command would be lost. */
static struct json *ray_container(const struct ray_args *args, const struct json *containers, bool is_head)
{
    struct str name = is_head ? args->head_container : args->worker_container;
    struct json *only = only_container(containers);

    JSON_FOREACH(c, containers)
        if (str_eq(json_member_text(c, "name"), name))
            return c;
    return only && (keeps_command(args, is_head) ||
                    (!json_count(json_get(only, "command")) && !json_count(json_get(only, "args"))))
               ? only
               : NULL;
}

static const struct json *template_containers(const struct job_task *task)
{
    return json_get(job_task_pod_spec(task), "containers");
}

/* ---- admission ---- */

static void ray_check_ports(const struct ray_args *args, const struct place *at, struct problems *ps)
{
    struct ray_port ports[RAY_PORTS];

    ray_ports(args, ports);
    for (size_t i = 1; i < RAY_PORTS; i++)
        for (size_t k = 0; k < i; k++)
            if (ports[i].number == ports[k].number)
                problem_error(ps, at, "plugin ray: ports %s and %s are both %lld", ports[k].name, ports[i].name,
                              (long long)ports[i].number);
}

static void check_container(const struct ray_args *args, const struct job_task *task, bool is_head,
                            const struct place *at, struct problems *ps)
{
    struct str name = is_head ? args->head_container : args->worker_container;
    const char *role = is_head ? "head" : "worker";
    const struct json *only;

    if (!task || ray_container(args, template_containers(task), is_head))
        return;
    only = only_container(template_containers(task));
    if (only)
        problem_warn(ps, at,
                     "plugin ray: Ray is not started in task %.*s: it has no container %.*s, and %.*s has a command of "
                     "its own, which stays. --%sContainer=%.*s starts Ray in its place%s",
                     STR_ARG(task->name), STR_ARG(name), STR_ARG(json_member_text(only, "name")), role,
                     STR_ARG(json_member_text(only, "name")), is_head ? ", --mode=prefix starts both" : "");
    else
        problem_warn(ps, at, "plugin ray: task %.*s has no container %.*s, so Ray is started in none of its containers",
                     STR_ARG(task->name), STR_ARG(name));
}

static void check_mode(struct plugin_call *call, const struct job_task *head, const struct place *at,
                       struct problems *ps)
{
    const struct ray_args *args = call->args;
    const struct json *container = head ? ray_container(args, template_containers(head), true) : NULL;

    if (mode_is(args, "start"))
        return;
    if (!str_empty(args->submit))
        problem_error(
            ps, at,
            "plugin ray: argument submit: only with --mode=start; with --mode=%.*s the head runs its own command",
            STR_ARG(args->mode));
    if (container && !json_count(json_get(container, "command")))
        problem_error(
            ps, at,
            "plugin ray: argument mode: %.*s needs a command in container %.*s of task %.*s, because the entrypoint of "
            "the image cannot be known",
            STR_ARG(args->mode), STR_ARG(json_member_text(container, "name")), STR_ARG(head->name));
}

static void ray_check(struct plugin_call *call, const struct place *at, struct problems *ps)
{
    const struct ray_args *args = call->args;
    const struct job_task *head = job_task_by_name(call->job, args->head, NULL);
    const struct job_task *worker = job_task_by_name(call->job, args->worker, NULL);
    int64_t n;

    if (!head)
        problem_error(ps, at, "plugin ray: job %.*s doesn't have head task %.*s", STR_ARG(call->job->meta.name),
                      STR_ARG(args->head));
    else if (head == worker)
        problem_error(ps, at, "plugin ray: task %.*s is given two roles, head and worker", STR_ARG(head->name));
    if (head && task_pods(head) > 1)
        problem_error(ps, at, "plugin ray: task %.*s has %d replicas, but a Ray cluster has one head",
                      STR_ARG(head->name), head->replicas);
    ray_check_ports(args, at, ps);
    check_container(args, head, true, at, ps);
    check_container(args, worker, false, at, ps);
    check_mode(call, head, at, ps);
    timeout_check(at, "wait-timeout", args->wait_timeout, ps);
    if (!str_empty(args->num_gpus) && !str_eq(args->num_gpus, STR("auto")) &&
        (str_to_i64(args->num_gpus, &n) < 0 || n < 0))
        problem_error(ps, at, "plugin ray: argument num-gpus: bad value \"%.*s\" (must be auto or a number)",
                      STR_ARG(args->num_gpus));
}

static int ray_prepare(struct plugin_call *call, struct err *e)
{
    const struct ray_args *args = call->args;
    const struct job_task *worker = job_task_by_name(call->job, args->worker, NULL);
    struct ray_state *state = arena_new(call->arena, struct ray_state);

    call->state = state;
    state->head = job_task_by_name(call->job, args->head, NULL);
    if (!state->head)
        return err_set(e, ERR_INVALID, "job %.*s doesn't have head task %.*s", STR_ARG(call->job->meta.name),
                       STR_ARG(args->head));
    state->host = job_pod_domain(call->arena, call->job, state->head, 0);
    state->address = arena_fmt(call->arena, "%.*s:%lld", STR_ARG(state->host), (long long)args->port);
    state->n_nodes = 1 + (int64_t)(worker ? task_pods(worker) : 0);
    return 0;
}

/* ---- objects ---- */

/* The head's pod as all plugins leave it: an earlier one may have opened a port of Ray's under a name of its own. */
static int head_draft(struct plugin_call *call, struct pod_draft *ret, struct err *e)
{
    const struct ray_state *state = call->state;
    const struct json *spec = job_task_pod_spec(state->head);

    *ret = (struct pod_draft){ .task = state->head, .task_pos = (size_t)(state->head - call->job->spec.tasks.v) };
    ret->name = job_pod_name(call->arena, call->job, state->head, 0);
    ret->root = json_object(call->arena);
    ret->meta = json_set(ret->root, "metadata", json_object(call->arena));
    ret->spec = json_set(ret->root, "spec", spec ? json_copy(call->arena, spec) : json_object(call->arena));
    return plugin_set_pod(call->set, call->arena, ret, e);
}

static bool ray_is_tcp(const struct json *port)
{
    struct str protocol = json_member_text(port, "protocol");

    return str_empty(protocol) || str_is(protocol, "TCP");
}

/* A name as targetPort means the first main container's port of that name. */
static bool port_name_is_right(const struct pod_draft *head, const struct ray_port *port)
{
    POD_FOREACH_CONTAINER(c, head, POD_MAIN)
        JSON_FOREACH(p, json_get(c, "ports"))
            if (str_is(json_member_text(p, "name"), port->name) && ray_is_tcp(p))
                return json_i64(json_get(p, "containerPort"), 0) == port->number;
    return false;
}

static struct json *head_selector(struct plugin_call *call)
{
    const struct ray_args *args = call->args;
    struct json *labels = mk_job_selector(call);

    json_set(labels, "volcano.sh/task-spec", mk_str(call, args->head));
    return labels;
}

static struct json *head_service(struct plugin_call *call, const struct pod_draft *head, struct str name)
{
    const struct ray_args *args = call->args;
    struct json *service = mk_owned(call, "v1", "Service", name);
    struct json *spec = json_set(service, "spec", mk_object(call)), *list;
    struct ray_port ports[RAY_PORTS];

    ray_ports(args, ports);
    json_set(spec, "selector", head_selector(call));
    list = json_set(spec, "ports", mk_array(call));
    for (size_t i = 0; i < RAY_PORTS; i++) {
        struct json *p = json_push(list, mk_object(call));
        bool by_name = port_name_is_right(head, &ports[i]);

        json_set(p, "name", mk_str(call, str_of(ports[i].name)));
        json_set(p, "protocol", mk_str(call, STR("TCP")));
        json_set(p, "port", mk_int(call, ports[i].number));
        json_set(p, "targetPort", by_name ? mk_str(call, str_of(ports[i].name)) : mk_int(call, ports[i].number));
    }
    return service;
}

/* svc's policy admits only pods of the job. Policies add up, so this one only has to admit more. */
static struct json *head_policy(struct plugin_call *call, struct str name)
{
    const struct ray_args *args = call->args;
    bool whole_cluster = str_eq(args->expose, STR("cluster"));
    struct json *policy = mk_owned(call, "networking.k8s.io/v1", "NetworkPolicy", name);
    struct json *spec = json_set(policy, "spec", mk_object(call)), *rule, *peer, *list;
    struct ray_port ports[RAY_PORTS];

    ray_ports(args, ports);
    json_set(json_set(spec, "podSelector", mk_object(call)), "matchLabels", head_selector(call));
    json_push(json_set(spec, "policyTypes", mk_array(call)), mk_str(call, STR("Ingress")));
    rule = json_push(json_set(spec, "ingress", mk_array(call)), mk_object(call));
    peer = json_push(json_set(rule, "from", mk_array(call)), mk_object(call));
    json_set(peer, whole_cluster ? "namespaceSelector" : "podSelector", mk_object(call));
    list = json_set(rule, "ports", mk_array(call));
    for (size_t i = 0; i < RAY_PORTS; i++) {
        struct json *p = json_push(list, mk_object(call));

        json_set(p, "protocol", mk_str(call, STR("TCP")));
        json_set(p, "port", mk_int(call, ports[i].number));
    }
    return policy;
}

static int ray_objects(struct plugin_call *call, struct plugin_objects *out, struct err *e)
{
    const struct ray_args *args = call->args;
    struct str name = arena_fmt(call->arena, "%.*s-head-svc", STR_ARG(call->job->meta.name));
    bool has_policy = !plugin_set_flag(call->set, "svc", "disable-network-policy", false);
    struct pod_draft head;

    if (head_draft(call, &head, e) < 0)
        return -1;
    *vec_push(out->arena, &out->list) = head_service(call, &head, name);
    /* Without svc's policy all is open; a lone policy would close the head to its own workers. */
    if (!str_eq(args->expose, STR("job")) && has_policy)
        *vec_push(out->arena, &out->list) = head_policy(call, name);
    return 0;
}

/* ---- commands ---- */

/* Whole GPUs in the limits of the container; 0 if it has none. */
static int64_t container_gpus(const struct json *container)
{
    int64_t n = 0;

    JSON_FOREACH(limit, json_find(container, "resources", "limits", NULL)) {
        struct str name = json_key(limit);
        struct quantity q;

        if (!str_has(name, STR("gpu")) || str_has(name, STR("mem")) || str_has(name, STR("core")) ||
            str_has(name, STR("percent")))
            continue;
        if (quantity_from_json(limit, &q) && quantity_is_whole(q) && quantity_units(q) > 0 &&
            quantity_units(q) <= INT32_MAX)
            n += quantity_units(q);
    }
    return n;
}

/* " --num-gpus=8 <more>": what comes after the options every pod has. */
static struct str ray_options(struct plugin_call *call, const struct json *container, struct str more)
{
    const struct ray_args *args = call->args;
    int64_t gpus = container_gpus(container);
    autobuf out = { 0 };

    if (str_eq(args->num_gpus, STR("auto"))) {
        if (gpus)
            buf_fmt(&out, " --num-gpus=%lld", (long long)gpus);
    } else if (!str_empty(args->num_gpus)) {
        buf_fmt(&out, " --num-gpus=%.*s", STR_ARG(args->num_gpus));
    }
    if (!str_empty(more))
        buf_fmt(&out, " %.*s", STR_ARG(more));
    return arena_str(call->arena, buf_view(&out));
}

static bool waits_for_head(struct plugin_call *call)
{
    const struct ray_args *args = call->args;

    return args->wait_head && (!mode_is(args, "start") || plugin_set_given(call->set, "ray", "wait-head"));
}

static void put_wait(struct plugin_call *call, struct buf *out, struct str host, int64_t port)
{
    const struct ray_args *args = call->args;
    struct wait_script wait = { .host = host, .port = port, .dns_only = !port, .timeout_s = args->wait_timeout };

    buf_str(out, wait_script_prefix(call, &wait));
}

static void put_head_start(struct plugin_call *call, struct buf *out, const char *block, struct str options)
{
    const struct ray_args *args = call->args;

    buf_fmt(out,
            "ray start --head%s --dashboard-host=0.0.0.0 --port=%lld --dashboard-port=%lld "
            "--ray-client-server-port=%lld%.*s",
            block, (long long)args->port, (long long)args->dashboard_port, (long long)args->client_port,
            STR_ARG(options));
}

/* ray symmetric-run takes RAY_ADDRESS as a sign that Ray runs already; only the user's command may see it. */
static void put_symmetric(struct plugin_call *call, struct buf *out, const char *dashboard, struct str options)
{
    const struct ray_state *state = call->state;

    buf_fmt(out,
            "a=$RAY_ADDRESS\nunset RAY_ADDRESS\n"
            "exec ray symmetric-run --address=%.*s --min-nodes=%lld%s%.*s -- env RAY_ADDRESS=\"$a\" \"$@\"",
            STR_ARG(state->address), (long long)state->n_nodes, dashboard, STR_ARG(options));
}

static void ray_put_head(struct plugin_call *call, struct buf *out, struct str options)
{
    const struct ray_args *args = call->args;
    const struct ray_state *state = call->state;

    if (mode_is(args, "symmetric")) {
        struct str dashboard = arena_fmt(
            call->arena, " --dashboard-host=0.0.0.0 --dashboard-port=%lld --ray-client-server-port=%lld",
            (long long)args->dashboard_port, (long long)args->client_port);

        if (waits_for_head(call)) /* it looks its own name up at once, which DNS may not have yet */
            put_wait(call, out, state->host, 0);
        put_symmetric(call, out, dashboard.p, options);
    } else if (mode_is(args, "prefix")) {
        put_head_start(call, out, "", options);
        buf_str(out, STR(" && exec \"$@\""));
    } else if (!str_empty(args->submit)) {
        put_head_start(call, out, "", options);
        buf_str(out, STR(" || exit 1\n"));
        put_wait(call, out, STR("127.0.0.1"), args->dashboard_port);
        buf_fmt(out, "exec ray job submit --address=http://127.0.0.1:%lld -- sh -c %.*s",
                (long long)args->dashboard_port, STR_ARG(shell_word(call->arena, args->submit)));
    } else {
        put_head_start(call, out, " --block", options);
    }
}

static void put_worker(struct plugin_call *call, struct buf *out, struct str options)
{
    const struct ray_args *args = call->args;
    const struct ray_state *state = call->state;

    if (waits_for_head(call))
        put_wait(call, out, state->host, args->port);
    if (mode_is(args, "symmetric"))
        put_symmetric(call, out, "", options);
    else
        buf_fmt(out, "ray start --block --address=%.*s%.*s", STR_ARG(state->address), STR_ARG(options));
}

/* [sh, -c, script, sh, <user's command>]: the kubelet appends args, so "$@" is the whole command line. */
static void set_wrapped(struct plugin_call *call, struct json *container, struct str script, const char *fallback)
{
    const struct json *user = json_get(container, "command");
    struct json *kept = json_array(call->arena);

    JSON_FOREACH(word, user)
        json_push(kept, json_copy(call->arena, word));
    if (!json_count(kept))
        json_push(kept, mk_str(call, str_of(fallback)));
    json_insert(kept, 0, mk_str(call, STR("sh")));
    json_insert(kept, 0, mk_str(call, script));
    json_insert(kept, 0, mk_str(call, STR("-c")));
    json_insert(kept, 0, mk_str(call, STR("sh")));
    kept->mark = call->mark & 63;
    json_set(container, "command", kept);
}

static void set_command(struct plugin_call *call, struct json *container, bool is_head)
{
    const struct ray_args *args = call->args;
    autobuf script = { 0 };
    struct str text;

    if (is_head)
        ray_put_head(call, &script, ray_options(call, container, args->head_args));
    else
        put_worker(call, &script, ray_options(call, container, args->worker_args));
    text = arena_str(call->arena, buf_view(&script));
    if (keeps_command(args, is_head))
        set_wrapped(call, container, text, "true"); /* workers never run it, so a missing one does not matter */
    else
        container_set_shell(call, container, text);
}

static void add_env(struct plugin_call *call, struct pod_draft *pod)
{
    const struct ray_args *args = call->args;
    const struct ray_state *state = call->state;

    if (mode_is(args, "start"))
        return;
    pod_set_env(call, pod, "RAY_ADDRESS", state->address, !args->override);
    if (mode_is(args, "symmetric")) /* its own limit of 30 s is short for a gang that pulls images */
        pod_set_env(call, pod, "RAY_SYMMETRIC_RUN_CLUSTER_WAIT_TIMEOUT",
                    arena_fmt(call->arena, "%lld", (long long)args->wait_timeout), !args->override);
}

static int ray_on_pod(struct plugin_call *call, struct pod_draft *pod, struct err *e)
{
    const struct ray_args *args = call->args;
    bool is_head = str_eq(pod->task->name, args->head);
    bool is_worker = str_eq(pod->task->name, args->worker);
    struct ray_port ports[RAY_PORTS];
    struct json *container;

    (void)e;
    add_env(call, pod);
    if (!is_head && !is_worker)
        return 0;
    container = ray_container(args, json_get(pod->spec, "containers"), is_head);
    if (!container)
        return 0;
    ray_ports(args, ports);
    for (size_t i = 0; is_head && i < RAY_PORTS; i++)
        pod_open_port_in(call, pod, container, ports[i].name, ports[i].number);
    set_command(call, container, is_head);
    return 0;
}

static const char *const ray_adds[] = {
    "Service <job>-head-svc with the ports gcs, dashboard and client-server of the head",
    "these ports in the container of the head",
    "the command of the container that runs Ray, in head and workers: ray start, around the user's own with --mode",
    "variable RAY_ADDRESS in all containers and init containers, with --mode=prefix and --mode=symmetric",
    "variable RAY_SYMMETRIC_RUN_CLUSTER_WAIT_TIMEOUT, with --mode=symmetric",
    "NetworkPolicy <job>-head-svc, with --expose=namespace and --expose=cluster",
    NULL,
};

const struct job_plugin plugin_ray = {
    .name = "ray",
    .summary = "a Ray cluster of head and workers",
    .args = ray_arg_table,
    .n_args = ARRAY_LEN(ray_arg_table),
    .args_size = sizeof(struct ray_args),
    .forces = { "svc" },
    .adds = ray_adds,
    .check = ray_check,
    .prepare = ray_prepare,
    .objects = ray_objects,
    .on_pod = ray_on_pod,
};
