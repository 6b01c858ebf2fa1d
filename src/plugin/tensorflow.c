/* tensorflow.c - TF_CONFIG: who is in the cluster, and who am I
 *
 * The cluster part is the same in all pods and is built once; only type and index differ.
 */
#include "plugin/launch.h"
#include "plugin/plugin_internal.h"

#include "base/util.h"

struct tf_args {
    struct str ps, worker, chief, evaluator;
    int64_t port;
    bool keep_user_env;
};

enum { TF_HOSTS_WARN = 500 }; /* every pod carries all hosts */

static const struct plugin_arg tf_arg_table[] = {
    { "ps", ARG_STR, offsetof(struct tf_args, ps), "ps", .doc = "task of the parameter servers" },
    { "worker", ARG_STR, offsetof(struct tf_args, worker), "worker", .doc = "task of the workers" },
    { "chief", ARG_STR, offsetof(struct tf_args, chief), "chief", .doc = "task of the chief" },
    { "evaluator", ARG_STR, offsetof(struct tf_args, evaluator), "evaluator", .doc = "task of the evaluator" },
    { "port", ARG_PORT, offsetof(struct tf_args, port), "2222", .doc = "port in every host entry" },
    { "keep-user-env", ARG_BOOL, offsetof(struct tf_args, keep_user_env), "false",
      .doc = "keep a TF_CONFIG that the template sets" },
};

/* In the order of the cluster part. No task has two roles (checked), so the order of looking does not matter. */
static const struct {
    const char *name;
    uint32_t offset;
} tf_roles[] = {
    { "ps", offsetof(struct tf_args, ps) },
    { "worker", offsetof(struct tf_args, worker) },
    { "chief", offsetof(struct tf_args, chief) },
    { "evaluator", offsetof(struct tf_args, evaluator) },
};

struct tf_state {
    struct str cluster;     /* {"ps":[…],…} */
    bool is_alone, too_big; /* nothing to do; it does not fit into a variable */
};

static struct str role_task(const struct tf_args *args, size_t role)
{
    return *(const struct str *)((const char *)args + tf_roles[role].offset);
}

/* A JSON string as Go writes it: < > & and the two line separators of Unicode are escaped too. */
static void put_go_str(struct buf *out, struct str text)
{
    autobuf plain = { 0 };

    json_print_str(&plain, text);
    for (size_t i = 0; i < plain.n; i++) {
        const char *p = plain.p + i;

        if (*p == '<' || *p == '>' || *p == '&') {
            buf_fmt(out, "\\u%04x", (unsigned)*p);
        } else if (plain.n - i >= 3 && memcmp(p, "\xe2\x80", 2) == 0 && (p[2] == '\xa8' || p[2] == '\xa9')) {
            buf_fmt(out, "\\u202%c", p[2] == '\xa8' ? '8' : '9');
            i += 2;
        } else {
            buf_char(out, *p);
        }
    }
}

/* One role: "ps":["host:port",…]. A template with its own hostname repeats it for each replica, as upstream does.
 * false when the text has grown too long. */
static bool tensorflow_put_role(struct plugin_call *call, struct buf *out, const char *role, size_t task_pos)
{
    const struct tf_args *args = call->args;
    const struct task_hosts *hosts = plugin_set_hosts(call->set, task_pos);
    uint32_t n = task_pods(&call->job->spec.tasks.v[task_pos]);

    buf_fmt(out, "%s\"%s\":[", out->p[out->n - 1] == '{' ? "" : ",", role);
    for (uint32_t i = 0; i < n; i++) {
        struct str host = hosts->host[MIN_OF(i, hosts->n - 1)];
        autobuf entry = { 0 };

        buf_fmt(&entry, "%.*s:%lld", STR_ARG(host), (long long)args->port);
        if (i)
            buf_char(out, ',');
        put_go_str(out, buf_view(&entry));
        if (out->n > ENV_TEXT_MAX)
            return false;
    }
    buf_char(out, ']');
    return true;
}

static bool put_cluster(struct plugin_call *call, struct buf *out)
{
    buf_char(out, '{');
    for (size_t r = 0; r < ARRAY_LEN(tf_roles); r++) {
        size_t pos;
        const struct job_task *task = job_task_by_name(call->job, role_task(call->args, r), &pos);

        if (task && task_pods(task) && plugin_set_hosts(call->set, pos)->n &&
            !tensorflow_put_role(call, out, tf_roles[r].name, pos))
            return false;
    }
    buf_char(out, '}');
    return true;
}

static bool job_is_alone(const struct job *job)
{
    return job->spec.tasks.n == 1 && job->spec.tasks.v[0].replicas == 1;
}

static int tf_prepare(struct plugin_call *call, struct err *e)
{
    struct tf_state *state = arena_new(call->arena, struct tf_state);
    autobuf cluster = { 0 };

    (void)e;
    call->state = state;
    state->is_alone = job_is_alone(call->job);
    if (state->is_alone)
        return 0;
    state->too_big = !put_cluster(call, &cluster);
    if (!state->too_big)
        state->cluster = arena_str(call->arena, buf_view(&cluster));
    return 0;
}

static void check_roles(struct plugin_call *call, const struct place *at, struct problems *ps)
{
    for (size_t r = 1; r < ARRAY_LEN(tf_roles); r++) {
        struct str task = role_task(call->args, r);

        for (size_t q = 0; q < r; q++)
            if (str_eq(task, role_task(call->args, q)) && job_task_by_name(call->job, task, NULL))
                problem_error(ps, at, "plugin tensorflow: task %.*s is given two roles, %s and %s", STR_ARG(task),
                              tf_roles[q].name, tf_roles[r].name);
    }
}

static void tf_check(struct plugin_call *call, const struct place *at, struct problems *ps)
{
    /* {"cluster":…,"task":{"type":"…","index":N}} around the cluster part, with the longest name and index. */
    enum { REST = sizeof("{\"cluster\":,\"task\":{\"type\":\"\",\"index\":4294967295}}") + 63 };
    autobuf cluster = { 0 };
    int64_t n_hosts = 0;

    check_roles(call, at, ps);
    if (job_is_alone(call->job))
        return;
    for (size_t r = 0; r < ARRAY_LEN(tf_roles); r++) {
        const struct job_task *task = job_task_by_name(call->job, role_task(call->args, r), NULL);

        n_hosts += task ? task_pods(task) : 0;
    }
    if (!put_cluster(call, &cluster) || cluster.n + REST > ENV_TEXT_MAX)
        problem_error(ps, at,
                      "plugin tensorflow: TF_CONFIG for %lld hosts would be over %d KiB, and no container starts with "
                      "a variable of that "
                      "size: use fewer pods or shorter names",
                      (long long)n_hosts, ENV_TEXT_MAX / 1024);
    else if (n_hosts > TF_HOSTS_WARN)
        problem_warn(
            ps, at,
            "plugin tensorflow: TF_CONFIG holds all %lld hosts in every pod (%zu bytes each): expect slow starts",
            (long long)n_hosts, cluster.n);
}

/* A task that is no role has its own name as type and is not in the cluster. */
static struct str tensorflow_type_of(const struct tf_args *args, struct str task)
{
    for (size_t r = 0; r < ARRAY_LEN(tf_roles); r++)
        if (str_eq(task, role_task(args, r)))
            return str_of(tf_roles[r].name);
    return task;
}

static int tf_on_pod(struct plugin_call *call, struct pod_draft *pod, struct err *e)
{
    const struct tf_args *args = call->args;
    const struct tf_state *state = call->state;
    autobuf text = { 0 };

    if (state->is_alone)
        return 0;
    if (state->too_big)
        return err_set(e, ERR_TOO_BIG, "TF_CONFIG would be over %d KiB", ENV_TEXT_MAX / 1024);
    buf_fmt(&text, "{\"cluster\":%.*s,\"task\":{\"type\":", STR_ARG(state->cluster));
    put_go_str(&text, tensorflow_type_of(args, pod->task->name));
    buf_fmt(&text, ",\"index\":%u}}", pod->index);
    pod_set_main_env(call, pod, "TF_CONFIG", arena_str(call->arena, buf_view(&text)), args->keep_user_env);
    return 0;
}

static const char *const tf_adds[] = {
    "variable TF_CONFIG in every container (not in init containers); nothing in a job of a single pod",
    NULL,
};

const struct job_plugin plugin_tensorflow = {
    .name = "tensorflow",
    .summary = "TF_CONFIG for TensorFlow's distributed strategies",
    .args = tf_arg_table,
    .n_args = ARRAY_LEN(tf_arg_table),
    .args_size = sizeof(struct tf_args),
    .forces = { "svc" },
    .adds = tf_adds,
    .check = tf_check,
    .prepare = tf_prepare,
    .on_pod = tf_on_pod,
};
