/* slurm_job.c - from a batch script and its options to a Job */
#include "base/rand.h"
#include "base/util.h"
#include "ctl/job_form.h"
#include "ctl/slurm.h"
#include "yaml/yaml.h"

enum { SCRIPT_MAX_BYTES = 120 << 10 }; /* the kernel takes no longer argument */

/* Runs in each pod before the script: what Slurm's daemon would say and do there. $1 is the script, the rest its
 * arguments. Written for any POSIX shell. */
static const char wrapper[] =
    "export SLURM_PROCID=${VC_TASK_INDEX:-0} SLURM_NODEID=${VC_TASK_INDEX:-0} SLURM_LOCALID=0\n"
    "export SLURM_JOB_NODELIST=${VC_TASK_HOSTS:-$(hostname)} SLURMD_NODENAME=$(hostname)\n"
    "export SLURM_NODELIST=$SLURM_JOB_NODELIST\n"
    "if [ -n \"$SLURM_ARRAY_INDICES\" ]; then\n"
    "  export SLURM_ARRAY_TASK_ID=$(echo \"$SLURM_ARRAY_INDICES\" | cut -d, -f$((SLURM_PROCID + 1)))\n"
    "  SLURM_PROCID=0 SLURM_NODEID=0 SLURM_JOB_NODELIST=$(hostname)\n"
    "fi\n"
    /* As scripts for LSF know it. */
    "export LSB_JOBID=$SLURM_JOB_ID LSB_JOBNAME=$SLURM_JOB_NAME LSB_QUEUE=$SLURM_JOB_PARTITION "
    "LSB_DJOB_NUMPROC=$SLURM_NTASKS\n"
    "export LSB_JOBINDEX=${SLURM_ARRAY_TASK_ID:-0} LSB_HOSTS=$(echo \"$SLURM_JOB_NODELIST\" | tr , ' ') "
    "LS_SUBCWD=$SLURM_SUBMIT_DIR\n"
    "dir=$(mktemp -d) && printf '%s' \"$1\" > \"$dir/script\" && chmod +x \"$dir/script\" || exit 1\n"
    "shift\n"
    /* One copy of the command runs in each pod, so inside srun only has to run it. */
    "printf '%s\\n' '#!/bin/sh' 'while [ $# -gt 0 ]; do case $1 in' '--) shift; break ;;' '--*=*) shift ;;' "
    "'--mpi|--cpu-bind|--export|-n|-N|-c|--ntasks|--nodes|--gres|-o|-e|-J|-t) shift 2 ;;' '-*) shift ;;' '*) break ;;' "
    "'esac; done' 'exec \"$@\"' > \"$dir/srun\" && chmod +x \"$dir/srun\"\n"
    "PATH=$dir:$PATH\n"
    "expand() { printf '%s' \"$1\" | sed \"s/%j/$SLURM_JOB_ID/g; s/%A/$SLURM_JOB_ID/g; s/%x/$SLURM_JOB_NAME/g; "
    "s/%a/$SLURM_ARRAY_TASK_ID/g; s/%t/$SLURM_PROCID/g; s/%n/$SLURM_NODEID/g; s/%N/$(hostname)/g\"; }\n"
    "tees=\n"
    "if [ -n \"$PUMICE_ERROR\" ]; then\n"
    "  mkfifo \"$dir/err\"; tee \"$(expand \"$PUMICE_ERROR\")\" < \"$dir/err\" >&2 & tees=\"$tees $!\"; exec 2> "
    "\"$dir/err\"\n"
    "fi\n"
    "if [ -n \"$PUMICE_OUTPUT\" ]; then\n"
    "  mkfifo \"$dir/out\"; tee \"$(expand \"$PUMICE_OUTPUT\")\" < \"$dir/out\" & tees=\"$tees $!\"; exec > "
    "\"$dir/out\"\n"
    "  [ -n \"$PUMICE_ERROR\" ] || exec 2>&1\n"
    "fi\n"
    "limit=\n"
    "[ -n \"$PUMICE_TIME_LIMIT\" ] && command -v timeout > /dev/null && limit=\"timeout -k 30 $PUMICE_TIME_LIMIT\"\n"
    "unset PUMICE_ERROR PUMICE_OUTPUT PUMICE_TIME_LIMIT SLURM_ARRAY_INDICES\n"
    "$limit \"$dir/script\" \"$@\"\n"
    "status=$?\n"
    "exec >&- 2>&-\n"
    "[ -z \"$tees\" ] || wait $tees\n"
    "rm -rf \"$dir\"\n"
    "exit $status\n";

/* ---- how large ---- */

struct slurm_job_shape {
    int64_t nodes, tasks, per_node, cpus, gpus, memory_bytes; /* gpus and memory of each pod */
    int64_t time_s;
    struct slurm_array array;
};

static int slurm_job_number(const char *option, const char *text, int64_t fallback, int64_t *ret, struct err *e)
{
    *ret = fallback;
    if (text && (str_to_i64(str_of(text), ret) < 0 || *ret < 1 || *ret > 1000000))
        return err_set(e, ERR_SYNTAX, "--%s: \"%s\" is not a number greater than 0", option, text);
    return 0;
}

static int slurm_job_share(const char *option, int64_t of_node, int64_t per_node, int64_t *ret, struct err *e)
{
    if (of_node % per_node)
        return err_set(e, ERR_SYNTAX,
                       "%s: %lld for a node cannot be divided among its %lld tasks, each of which is a pod", option,
                       (long long)of_node, (long long)per_node);
    *ret = of_node / per_node;
    return 0;
}

/* -N, -n and --ntasks-per-node: two of them give the third. */
static int read_tasks(const struct slurm_options *o, struct slurm_job_shape *s, struct err *e)
{
    if (slurm_job_number("nodes", o->nodes, 0, &s->nodes, e) < 0 ||
        slurm_job_number("ntasks", o->ntasks, 0, &s->tasks, e) < 0 ||
        slurm_job_number("ntasks-per-node", o->per_node, 0, &s->per_node, e) < 0 ||
        slurm_job_number("cpus-per-task", o->cpus, 1, &s->cpus, e) < 0)
        return -1;
    if (!s->tasks)
        s->tasks = MAX_OF(s->nodes, 1) * MAX_OF(s->per_node, 1);
    if (!s->nodes)
        s->nodes = s->per_node ? (s->tasks + s->per_node - 1) / s->per_node : 1;
    if (!s->per_node)
        s->per_node = (s->tasks + s->nodes - 1) / s->nodes;
    return 0;
}

static int read_gpus(const struct slurm_options *o, struct slurm_job_shape *s, struct slurm_notes *notes,
                     struct arena *a, struct err *e)
{
    struct str kind = STR_NULL;
    int64_t n;

    if (o->gpus_per_task && slurm_job_number("gpus-per-task", o->gpus_per_task, 0, &s->gpus, e) < 0)
        return -1;
    if (o->gres &&
        (slurm_gres(str_of(o->gres), &n, &kind, e) < 0 || slurm_job_share("--gres", n, s->per_node, &s->gpus, e) < 0))
        return -1;
    if (o->gpus_per_node && (slurm_job_number("gpus-per-node", o->gpus_per_node, 0, &n, e) < 0 ||
                             slurm_job_share("--gpus-per-node", n, s->per_node, &s->gpus, e) < 0))
        return -1;
    if (o->gpus &&
        (slurm_job_number("gpus", o->gpus, 0, &n, e) < 0 || slurm_job_share("--gpus", n, s->tasks, &s->gpus, e) < 0))
        return -1;
    if (kind.n)
        *vec_push(a, &notes->v) = arena_fmt(a, "--gres: type \"%.*s\" is ignored; only the number of GPUs counts",
                                            STR_ARG(kind));
    return 0;
}

static int read_shape(struct arena *a, const struct slurm_options *o, struct slurm_job_shape *s,
                      struct slurm_notes *notes, struct err *e)
{
    int64_t bytes = 0;

    if (read_tasks(o, s, e) < 0 || read_gpus(o, s, notes, a, e) < 0)
        return -1;
    if (o->mem && slurm_memory(str_of(o->mem), &bytes, e) < 0)
        return err_wrap(e, "--mem");
    s->memory_bytes = bytes / s->per_node;
    if (o->mem_per_cpu) {
        if (slurm_memory(str_of(o->mem_per_cpu), &bytes, e) < 0)
            return err_wrap(e, "--mem-per-cpu");
        s->memory_bytes = bytes * s->cpus;
    }
    if (o->time && slurm_time(str_of(o->time), &s->time_s, e) < 0)
        return -1;
    if (!o->array)
        return 0;
    if (s->tasks > 1)
        return err_set(e, ERR_SYNTAX,
                       "--array: jobs of several tasks are not supported in an array; submit them one by one");
    if (slurm_array(a, str_of(o->array), &s->array, e) < 0)
        return -1;
    if (s->array.at_a_time)
        *vec_push(a, &notes->v) = arena_fmt(
            a, "--array: the limit of %lld at a time is ignored; the queue's capability can limit them",
            (long long)s->array.at_a_time);
    s->tasks = (int64_t)s->array.index.n;
    return 0;
}

/* ---- options ---- */

static void put_env(struct arena *a, struct json *env, const char *name, struct str value)
{
    struct json *j = json_push(env, json_object(a));

    json_add(j, STR("name"), json_str(a, str_of(name)));
    json_add(j, STR("value"), json_str(a, arena_str(a, value)));
}

static void slurm_job_put_number(struct arena *a, struct json *env, const char *name, int64_t n)
{
    put_env(a, env, name, arena_fmt(a, "%lld", (long long)n));
}

static void put_array(struct arena *a, struct json *env, const struct slurm_array *array, int64_t id)
{
    autobuf list = { 0 };
    size_t n = array->index.n;

    for (size_t i = 0; i < n; i++)
        buf_fmt(&list, "%s%lld", i ? "," : "", (long long)array->index.v[i]);
    put_env(a, env, "SLURM_ARRAY_INDICES", buf_view(&list));
    slurm_job_put_number(a, env, "SLURM_ARRAY_JOB_ID", id);
    slurm_job_put_number(a, env, "SLURM_ARRAY_TASK_COUNT", (int64_t)n);
    slurm_job_put_number(a, env, "SLURM_ARRAY_TASK_MIN", array->index.v[0]);
    slurm_job_put_number(a, env, "SLURM_ARRAY_TASK_MAX", array->index.v[n - 1]);
}

/* "ALL" and "NONE" are about the environment of the submitter, which a container has no use for. */
static void put_exported(struct arena *a, struct json *env, const char *list, struct slurm_notes *notes)
{
    struct str rest = str_of(list), part;

    while (list && str_split(&rest, ',', &part)) {
        struct str value = part, name;
        const char *own;

        (void)str_split(&value, '=', &name);
        own = getenv(arena_cstr(a, name));
        if (str_is(part, "ALL"))
            *vec_push(a, &notes->v) = STR(
                "--export=ALL: the environment is not passed on; name the variables: --export=A,B=c");
        else if (!str_is(part, "NONE") && name.n && (value.p || own))
            put_env(a, env, arena_cstr(a, name), value.p ? value : str_of(own));
    }
}

static struct json *slurm_job_environment(struct arena *a, const struct slurm_request *rq,
                                          const struct slurm_job_shape *shape, struct slurm_notes *notes)
{
    const struct slurm_options *o = rq->options;
    const struct slurm_script *s = rq->script;
    struct json *env = json_array(a);
    int64_t tasks = o->array ? 1 : shape->tasks;

    slurm_job_put_number(a, env, "SLURM_JOB_ID", s->id);
    slurm_job_put_number(a, env, "SLURM_JOBID", s->id);
    put_env(a, env, "SLURM_JOB_NAME", o->name ? str_of(o->name) : s->base);
    put_env(a, env, "SLURM_JOB_PARTITION", str_of(o->partition ? o->partition : "default"));
    put_env(a, env, "SLURM_JOB_USER", s->user);
    put_env(a, env, "SLURM_SUBMIT_DIR", s->directory);
    put_env(a, env, "SLURM_SUBMIT_HOST", s->host);
    slurm_job_put_number(a, env, "SLURM_NTASKS", tasks);
    slurm_job_put_number(a, env, "SLURM_NPROCS", tasks);
    slurm_job_put_number(a, env, "SLURM_NNODES",
                         tasks); /* a task is a pod, and a pod is what looks like a node inside */
    slurm_job_put_number(a, env, "SLURM_JOB_NUM_NODES", tasks);
    slurm_job_put_number(a, env, "SLURM_NTASKS_PER_NODE", 1);
    slurm_job_put_number(a, env, "SLURM_CPUS_PER_TASK", shape->cpus);
    slurm_job_put_number(a, env, "SLURM_CPUS_ON_NODE", shape->cpus);
    if (shape->gpus)
        slurm_job_put_number(a, env, "SLURM_GPUS_ON_NODE", shape->gpus);
    if (o->array)
        put_array(a, env, &shape->array, s->id);
    if (o->output)
        put_env(a, env, "PUMICE_OUTPUT", str_of(o->output));
    if (o->error)
        put_env(a, env, "PUMICE_ERROR", str_of(o->error));
    if (shape->time_s)
        slurm_job_put_number(a, env, "PUMICE_TIME_LIMIT", shape->time_s);
    put_exported(a, env, o->export, notes);
    return env;
}

static struct json *requests(struct arena *a, const struct slurm_options *o, const struct slurm_job_shape *s)
{
    struct json *j = json_object(a);
    int64_t mib = (s->memory_bytes + (1 << 20) - 1) >> 20;

    json_add(j, STR("cpu"), json_fmt(a, "%lld", (long long)s->cpus));
    if (s->memory_bytes)
        json_add(j, STR("memory"),
                 mib % 1024 ? json_fmt(a, "%lldMi", (long long)mib) : json_fmt(a, "%lldGi", (long long)(mib / 1024)));
    if (s->gpus)
        json_add(j, str_of(o->gpu_resource ? o->gpu_resource : "nvidia.com/gpu"),
                 json_fmt(a, "%lld", (long long)s->gpus));
    return j;
}

/* GPUs must be limited, memory is what is limited; CPU is a share. */
static struct json *limits(struct arena *a, const struct json *requests_)
{
    struct json *j = json_copy(a, requests_);

    json_remove(j, "cpu");
    return j;
}

/* ---- the Job ---- */

/* As a name that Kubernetes takes: "My Job.sh" is "my-job-sh". */
static struct str slurm_job_clean(struct arena *a, struct str text)
{
    struct str name = arena_lower(a, str_sub(text, 0, 40));
    char *p = (char *)name.p;

    for (size_t i = 0; i < name.n; i++)
        if (!((p[i] >= 'a' && p[i] <= 'z') || (p[i] >= '0' && p[i] <= '9')))
            p[i] = '-';
    while (name.n && name.p[0] == '-')
        name = str_from(name, 1);
    while (name.n && name.p[name.n - 1] == '-')
        name.n--;
    return name.n ? name : STR("job");
}

static struct json *slurm_job_command(struct arena *a, const struct slurm_script *s)
{
    struct json *list = json_array(a);

    json_push(list, json_str(a, STR("/bin/sh")));
    json_push(list, json_str(a, STR("-c")));
    json_push(list, json_str(a, str_of(wrapper)));
    json_push(list, json_str(a, STR("slurm")));
    json_push(list, json_str(a, s->text));
    for (size_t i = 0; i < s->args.n; i++)
        json_push(list, json_str(a, str_of(s->args.v[i])));
    return list;
}

static struct json *plugins(struct arena *a)
{
    struct json *j = json_object(a);

    json_add(j, STR("env"), json_array(a));
    json_add(j, STR("svc"), json_array(a));
    return j;
}

static struct json *policies(struct arena *a, bool requeues)
{
    struct json *list = json_array(a), *j;

    if (!requeues)
        return list;
    j = json_push(list, json_object(a));
    json_add(j, STR("event"), json_str(a, STR("PodEvicted")));
    json_add(j, STR("action"), json_str(a, STR("RestartJob")));
    return list;
}

int slurm_job(struct arena *a, const struct slurm_request *rq, struct json **ret, struct slurm_notes *notes,
              struct err *e)
{
    const struct slurm_options *o = rq->options;
    const struct slurm_script *script = rq->script;
    struct slurm_job_shape shape = { 0 };
    struct str name = slurm_job_clean(a, o->name ? str_of(o->name) : script->base);
    struct job_form f = {
        .namespace = rq->namespace, .task = STR("task"), .scheduler = STR("volcano"), .max_retry = -1
    };

    if (read_shape(a, o, &shape, notes, e) < 0)
        return -1;
    if (script->text.n > SCRIPT_MAX_BYTES)
        return err_set(e, ERR_TOO_BIG, "the script is larger than 120 KiB; put the rest into the image or a volume");
    if (o->nodes && shape.nodes > 1)
        *vec_push(a, &notes->v) = STR("--nodes only sizes the job; one node may get several of its pods");
    f.name = arena_fmt(a, "%.*s-%lld", STR_ARG(name), (long long)script->id);
    f.image = str_of(o->image ? o->image : "debian:12");
    f.queue = str_of(o->partition);
    f.replicas = shape.tasks;
    f.min_available = o->array ? 1 : shape.tasks;
    f.requests = requests(a, o, &shape);
    f.limits = limits(a, f.requests);
    f.command = slurm_job_command(a, script);
    f.env = slurm_job_environment(a, rq, &shape, notes);
    f.working_dir = str_of(o->chdir);
    f.deadline_s = shape.time_s;
    f.plugins = plugins(a);
    f.policies = policies(a, !o->no_requeue);
    f.labels = json_object(a);
    json_add(f.labels, STR(SLURM_LABEL_ID), json_fmt(a, "%lld", (long long)script->id));
    f.annotations = json_object(a);
    json_add(f.annotations, STR(SLURM_ANNOTATION_USER), json_str(a, script->user));
    *ret = job_form_make(a, &f);
    return 0;
}

/* ---- scripts ---- */

static bool is_directive(struct str line, struct str mark, struct str *ret)
{
    if (!str_starts(line, mark) || line.n == mark.n || !strchr(" \t", line.p[mark.n]))
        return false;
    *ret = str_from(line, mark.n);
    return true;
}

static char **marked(struct arena *a, struct str script, struct str mark, struct err *e)
{
    VEC(char *) words = { 0 };
    struct str line, text;

    while (str_split(&script, '\n', &line)) {
        struct json *list;

        if (is_directive(line, mark, &text)) {
            if (job_words(a, text, &list, e) < 0) {
                (void)err_wrap(e, "\"%.*s\"", STR_ARG(str_sub(line, 0, 80)));
                return NULL;
            }
            JSON_FOREACH(word, list)
                *vec_push(a, &words) = (char *)arena_cstr(a, json_text(word, STR_NULL));
        } else if (str_trim(line).n && line.p[0] != '#') {
            break; /* the first command */
        }
    }
    *vec_push(a, &words) = NULL;
    return words.v;
}

char **slurm_directives(struct arena *a, struct str script, struct err *e)
{
    char **slurm = marked(a, script, STR("#SBATCH"), e), **lsf = slurm ? marked(a, script, STR("#BSUB"), e) : NULL;
    VEC(char *) words = { 0 };

    if (!lsf || lsf_options(a, lsf, &lsf, e) < 0)
        return NULL;
    for (; *slurm; slurm++)
        *vec_push(a, &words) = *slurm;
    for (; *lsf; lsf++)
        *vec_push(a, &words) = *lsf;
    *vec_push(a, &words) = NULL;
    return words.v;
}

int64_t slurm_new_id(void)
{
    struct rand r;

    rand_seed(&r, rand_os_u64());
    return rand_between(&r, 1000000, 99999999);
}

int slurm_print(struct arena *a, const struct slurm_request *rq, struct buf *out, struct err *e)
{
    struct slurm_notes notes = { 0 };
    struct json *job;

    if (slurm_job(a, rq, &job, &notes, e) < 0)
        return -1;
    VEC_FOREACH(note, &notes.v)
        fprintf(stderr, "pumice slurm sbatch: %.*s\n", STR_ARG(*note));
    yaml_print(out, job, NULL);
    return 0;
}
