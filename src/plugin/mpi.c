/* mpi.c - host list, host file and launcher variables for MPI
 *
 * By default pods look as upstream makes them: a port, and MPI_HOST on the master. The launcher
 * variables come only when asked for by --impl, --slots or --hostfile, or when MPI_HOST does not fit into a variable
 * and the host file has to take its place. The files below /etc/volcano are always there.
 */
#include "plugin/launch.h"
#include "plugin/plugin_internal.h"
#include "plugin/waitscript.h"

#include "base/util.h"

struct mpi_args {
    struct str master, worker;
    int64_t port;
    struct str impl, slots, hostfile;
    bool launcher_as_worker, wait_workers;
    int64_t wait_timeout;
    bool exclusive_nodes;
    bool keep_user_env, override;
};

static const char *const impl_names[] = { "openmpi", "openmpi5", "intel", "mpich", NULL };

#define MPI_ARG(field) offsetof(struct mpi_args, field)

static const struct plugin_arg mpi_arg_table[] = {
    { "master", ARG_STR, MPI_ARG(master), "master", .doc = "task that runs the launcher" },
    { "worker", ARG_STR, MPI_ARG(worker), "worker", .doc = "task whose pods run the processes" },
    { "port", ARG_PORT, MPI_ARG(port), "22", .doc = "port of sshd, opened in every container" },
    { "impl", ARG_STR, MPI_ARG(impl), "openmpi", .values = impl_names,
      .doc = "format of the host file, and which launcher variables the master gets" },
    { "slots", ARG_STR, MPI_ARG(slots), "auto", .doc = "processes in a pod: a number, or auto for its accelerators" },
    { "hostfile", ARG_STR, MPI_ARG(hostfile), "/etc/volcano/hostfile",
      .doc = "path of the host file in the launcher variables; another path is for a file of your own" },
    { "launcher-as-worker", ARG_BOOL, MPI_ARG(launcher_as_worker), "false",
      .doc = "list the master first in the host lists" },
    { "wait-workers", ARG_BOOL, MPI_ARG(wait_workers), "false",
      .doc = "wait in an init container of the master until the port of all workers answers" },
    { "wait-timeout", ARG_INT, MPI_ARG(wait_timeout), "300", .doc = "seconds to wait before the pod fails" },
    { "exclusive-nodes", ARG_BOOL, MPI_ARG(exclusive_nodes), "false",
      .doc = "no two pods of the job on one node (with hostNetwork they would need the same port)" },
    { "keep-user-env", ARG_BOOL, MPI_ARG(keep_user_env), "false", .doc = "keep an MPI_HOST that the template sets" },
    { "override", ARG_BOOL, MPI_ARG(override), "false", .doc = "replace launcher variables that the template sets" },
};

/* ---- launchers ---- */

enum launcher_value { VALUE_NONE, VALUE_HOSTFILE, VALUE_SLOTS, VALUE_SSH_ARGS, VALUE_TRUE, VALUE_ONE };

struct launcher_env {
    const char *name;
    enum launcher_value value;
};

#define OPENMPI4_ENV                                                                                                   \
    { "OMPI_MCA_orte_default_hostfile", VALUE_HOSTFILE }, { "OMPI_MCA_orte_keep_fqdn_hostnames", VALUE_TRUE },         \
        { "OMPI_MCA_plm_rsh_args", VALUE_SSH_ARGS }, { "OMPI_MCA_orte_set_default_slots", VALUE_SLOTS },               \
        { "OMPI_ALLOW_RUN_AS_ROOT", VALUE_ONE },                                                                       \
    {                                                                                                                  \
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", VALUE_ONE                                                                    \
    }

static const struct launcher {
    const char *slot_mark; /* between host and number in the host file */
    struct launcher_env env[16];
} launchers[] = {
    /* In the order of impl_names. Release 5 starts its processes by PRRTE, which has its own names. */
    { " slots=", { OPENMPI4_ENV } },
    { " slots=",
      { OPENMPI4_ENV,
        { "PRTE_MCA_prte_default_hostfile", VALUE_HOSTFILE },
        { "PRTE_MCA_prte_keep_fqdn_hostnames", VALUE_TRUE },
        { "PRTE_MCA_plm_ssh_args", VALUE_SSH_ARGS },
        { "PRTE_MCA_prte_set_default_slots", VALUE_SLOTS },
        { "PRTE_ALLOW_RUN_AS_ROOT", VALUE_ONE },
        { "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", VALUE_ONE } } },
    { ":",
      { { "I_MPI_HYDRA_HOST_FILE", VALUE_HOSTFILE },
        { "I_MPI_PERHOST", VALUE_SLOTS },
        { "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", VALUE_SSH_ARGS } } },
    { ":", { { "HYDRA_HOST_FILE", VALUE_HOSTFILE }, { "HYDRA_LAUNCHER_EXTRA_ARGS", VALUE_SSH_ARGS } } },
};
_Static_assert(ARRAY_LEN(launchers) == ARRAY_LEN(impl_names) - 1, "a launcher for each implementation");

static const struct launcher *launcher_of(struct str impl)
{
    for (size_t i = 0; impl_names[i]; i++)
        if (str_is(impl, impl_names[i]))
            return &launchers[i];
    return &launchers[0];
}

/* ---- hosts ---- */

struct mpi_state {
    const struct job_task *tasks[2]; /* whose pods run processes: the master if it works too, the workers */
    size_t pos[2];
    size_t n;
    bool has_worker;
    struct str hosts;   /* MPI_HOST */
    bool hosts_fit;     /* in a variable */
    bool sets_launcher; /* variables */
};

static void state_add(struct mpi_state *state, const struct job *job, struct str name)
{
    size_t pos;
    const struct job_task *task = job_task_by_name(job, name, &pos);

    if (!task || (state->n && state->pos[0] == pos))
        return;
    state->tasks[state->n] = task;
    state->pos[state->n++] = pos;
}

/* The hosts, their text, and whether it fits. No copy in the usual case of one task. */
static void state_hosts(struct plugin_call *call, struct mpi_state *state)
{
    for (size_t i = 0; i < state->n; i++) {
        struct str more = plugin_set_hosts(call->set, state->pos[i])->comma;

        if (str_empty(state->hosts))
            state->hosts = more;
        else if (!str_empty(more))
            state->hosts = arena_fmt(call->arena, "%.*s,%.*s", STR_ARG(state->hosts), STR_ARG(more));
    }
    state->hosts_fit = state->hosts.n <= ENV_TEXT_MAX;
}

static struct mpi_state mpi_state_of(struct plugin_call *call)
{
    const struct mpi_args *args = call->args;
    struct mpi_state state = { .has_worker = job_task_by_name(call->job, args->worker, NULL) };

    if (args->launcher_as_worker)
        state_add(&state, call->job, args->master);
    state_add(&state, call->job, args->worker);
    state_hosts(call, &state);
    state.sets_launcher = !state.hosts_fit || plugin_set_given(call->set, "mpi", "impl") ||
                          plugin_set_given(call->set, "mpi", "slots") || plugin_set_given(call->set, "mpi", "hostfile");
    return state;
}

static int mpi_prepare(struct plugin_call *call, struct err *e)
{
    struct mpi_state *state = arena_new(call->arena, struct mpi_state);

    (void)e;
    *state = mpi_state_of(call);
    call->state = state;
    return 0;
}

/* ---- admission ---- */

static bool has_host_network(const struct job *job)
{
    for (size_t i = 0; i < job->spec.tasks.n; i++)
        if (json_bool(json_get(job_task_pod_spec(&job->spec.tasks.v[i]), "hostNetwork"), false))
            return true;
    return false;
}

static void mpi_check(struct plugin_call *call, const struct place *at, struct problems *ps)
{
    const struct mpi_args *args = call->args;
    struct mpi_state state = mpi_state_of(call);

    if (!job_task_by_name(call->job, args->master, NULL))
        problem_error(ps, at, "The specified mpi master task was not found");
    slots_check(at, "slots", args->slots, ps);
    timeout_check(at, "wait-timeout", args->wait_timeout, ps);
    if (!str_starts(args->hostfile, STR("/")))
        problem_error(ps, at, "plugin mpi: argument hostfile: bad value \"%.*s\" (must be an absolute path)",
                      STR_ARG(args->hostfile));
    if (!state.hosts_fit)
        problem_warn(ps, at,
                     "plugin mpi: MPI_HOST is left out: it would be over %d KiB, and no container starts with a "
                     "variable of that "
                     "size. The launcher reads %.*s instead",
                     ENV_TEXT_MAX / 1024, STR_ARG(args->hostfile));
    if (args->port == 22 && has_host_network(call->job) && !plugin_set_given(call->set, "ssh", "ssh-port"))
        problem_warn(ps, at,
                     "plugin mpi: with hostNetwork, port 22 is usually taken by the node itself: give --port another "
                     "number and start sshd on it, and keep pods apart with --exclusive-nodes");
}

/* ---- files ---- */

static void put_hostfile(struct plugin_call *call, struct buf *out)
{
    const struct mpi_args *args = call->args;
    const struct mpi_state *state = call->state;

    for (size_t i = 0; i < state->n; i++) {
        const struct task_hosts *hosts = plugin_set_hosts(call->set, state->pos[i]);
        int64_t slots = slots_of(args->slots, state->tasks[i]);

        for (size_t k = 0; k < hosts->n; k++)
            buf_fmt(out, "%.*s%s%lld\n", STR_ARG(hosts->host[k]), launcher_of(args->impl)->slot_mark, (long long)slots);
    }
}

/* Reads the host files of svc that lie beside it, which follow the job when it is scaled. */
static void put_discover(struct plugin_call *call, struct buf *out)
{
    const struct mpi_args *args = call->args;
    const struct mpi_state *state = call->state;

    buf_str(out, STR("#!/bin/sh\n"
                     "# One line \"host:slots\" for each pod the job has now.\n"
                     "case $0 in */*) dir=${0%/*} ;; *) dir=. ;; esac\n"
                     "list() {\n"
                     "  while read -r host || [ -n \"$host\" ]; do\n"
                     "    if [ -n \"$host\" ]; then echo \"$host:$2\"; fi\n"
                     "  done <\"$dir/$1\"\n"
                     "}\n"));
    for (size_t i = 0; i < state->n; i++)
        buf_fmt(out, "list %.*s %lld\n",
                STR_ARG(shell_word(call->arena, host_file_name(call->arena, state->tasks[i]->name))),
                (long long)slots_of(args->slots, state->tasks[i]));
}

static void mpi_add_file(struct plugin_call *call, struct plugin_files *out, struct str name, const struct buf *text,
                         bool is_executable)
{
    *vec_push(call->arena, &out->list) = (struct plugin_file){ name, arena_str(call->arena, buf_view(text)),
                                                               is_executable };
}

static int mpi_files(struct plugin_call *call, struct plugin_files *out, struct err *e)
{
    const struct mpi_state *state = call->state;
    autobuf hostfile = { 0 }, discover = { 0 };

    (void)e;
    put_hostfile(call, &hostfile);
    mpi_add_file(call, out, STR("hostfile"), &hostfile, false);
    put_discover(call, &discover);
    /* Executable only when launcher support is asked for: the mode is the whole volume's, and a plain mpi job should
     * look as it does upstream. `sh discover_hosts.sh` works either way. */
    mpi_add_file(call, out, STR("discover_hosts.sh"), &discover, state->sets_launcher);
    return 0;
}

/* ---- pods ---- */

static void add_launcher(struct plugin_call *call, struct pod_draft *pod)
{
    const struct mpi_args *args = call->args;
    const struct mpi_state *state = call->state;
    int64_t slots = slots_of(args->slots, state->n ? state->tasks[state->n - 1] : pod->task);
    const struct str values[] = {
        [VALUE_HOSTFILE] = args->hostfile,
        [VALUE_SLOTS] = arena_fmt(call->arena, "%lld", (long long)slots),
        [VALUE_SSH_ARGS] = STR("-o ConnectionAttempts=10"),
        [VALUE_TRUE] = STR("true"),
        [VALUE_ONE] = STR("1"),
    };

    for (const struct launcher_env *env = launcher_of(args->impl)->env; env->name; env++)
        pod_set_env(call, pod, env->name, values[env->value], !args->override);
}

/* No two pods of the job on one node. */
static void add_anti_affinity(struct plugin_call *call, struct pod_draft *pod)
{
    struct json *affinity = need_member(call, pod->spec, "affinity", JSON_OBJECT);
    struct json *apart = need_member(call, affinity, "podAntiAffinity", JSON_OBJECT);
    struct json *terms = need_member(call, apart, "requiredDuringSchedulingIgnoredDuringExecution", JSON_ARRAY);
    struct json *term, *selector;

    if (!terms)
        return;
    term = json_push(terms, mk_object(call));
    selector = json_set(term, "labelSelector", mk_object(call));
    json_set(selector, "matchLabels", mk_job_selector(call));
    json_set(term, "topologyKey", mk_str(call, STR("kubernetes.io/hostname")));
}

static void add_wait(struct plugin_call *call, struct pod_draft *pod)
{
    const struct mpi_args *args = call->args;
    struct str file = host_file_name(call->arena, args->worker);
    struct wait_script wait = { .files = { &file, 1 },
                                .port = ssh_port(call->arena, call->set),
                                .timeout_s = args->wait_timeout };

    pod_add_wait(call, pod, STR("wait-for-workers"), STR_NULL, &wait);
}

static int mpi_on_pod(struct plugin_call *call, struct pod_draft *pod, struct err *e)
{
    const struct mpi_args *args = call->args;
    const struct mpi_state *state = call->state;

    (void)e;
    pod_open_port(call, pod, POD_ALL, "mpijob-port", args->port);
    if (args->exclusive_nodes)
        add_anti_affinity(call, pod);
    if (!str_eq(pod->task->name, args->master))
        return 0;
    if (state->n && state->hosts_fit)
        pod_set_env(call, pod, "MPI_HOST", state->hosts, args->keep_user_env);
    if (state->sets_launcher)
        add_launcher(call, pod);
    if (args->wait_workers && state->has_worker && !str_eq(args->worker, args->master))
        add_wait(call, pod);
    return 0;
}

static const char *const mpi_adds[] = {
    "variable MPI_HOST in all containers and init containers of the master: the workers, joined by commas",
    "port mpijob-port in all containers and init containers",
    "files /etc/volcano/hostfile and /etc/volcano/discover_hosts.sh",
    "launcher variables (OMPI_MCA_*, PRTE_MCA_*, I_MPI_*, HYDRA_*) in the master, with --impl, --slots or --hostfile",
    "init container wait-for-workers in the master, with --wait-workers",
    "anti-affinity between the pods of the job, with --exclusive-nodes",
    NULL,
};

const struct job_plugin plugin_mpi = {
    .name = "mpi",
    .summary = "host lists and launcher settings for MPI and Horovod",
    .args = mpi_arg_table,
    .n_args = ARRAY_LEN(mpi_arg_table),
    .args_size = sizeof(struct mpi_args),
    .forces = { "svc", "ssh" },
    .adds = mpi_adds,
    .check = mpi_check,
    .prepare = mpi_prepare,
    .files = mpi_files,
    .on_pod = mpi_on_pod,
};
