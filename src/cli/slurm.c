/* slurm.c - the commands `pumice slurm sbatch`, `srun`, `squeue`, `scancel`, `sinfo`, `sacct`, `scontrol` */
#include "base/util.h"
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/read.h"
#include "ctl/slurm.h"
#include "base/term.h"

#include <pwd.h>

#define AT(field)                         offsetof(struct api_options, slurm.field)
#define TEXT(letter, name, field, v, doc) OPTION_ROW(letter, name, OPTION_TEXT, AT(field), v, NULL, doc)
#define FLAG(letter, name, field, doc)    OPTION_ROW(letter, name, OPTION_FLAG, AT(field), NULL, NULL, doc)
#define WHERE                                                                                                          \
    OPTION_ROW(0, "kubeconfig", OPTION_TEXT, API_AT(kubeconfig), "FILE", NULL,                                         \
               "the API server and your credentials (default: as kubectl finds them)"),                                \
        OPTION_ROW(0, "context", OPTION_TEXT, API_AT(context), "NAME", NULL, "of the kubeconfig"),                     \
        OPTION_ROW(0, "namespace", OPTION_TEXT, API_AT(namespace), "NAME", NULL,                                       \
                   "namespace (default: that of the context, else default)")

#define SUBMIT                                                                                                         \
    TEXT('J', "job-name", name, "NAME", "of the job (default: the script's)"),                                         \
        TEXT('p', "partition", partition, "QUEUE", "the queue"),                                                       \
        TEXT('N', "nodes", nodes, "N", "nodes: with --ntasks-per-node, how many tasks"),                               \
        TEXT('n', "ntasks", ntasks, "N", "tasks: a pod each, all together or none"),                                   \
        TEXT(0, "ntasks-per-node", per_node, "N", "tasks of a node: what is given for a node is divided by it"),       \
        TEXT('c', "cpus-per-task", cpus, "N", "cores of each (default: 1)"),                                           \
        TEXT(0, "mem", mem, "SIZE", "memory of a node: 500M, 4G"),                                                     \
        TEXT(0, "mem-per-cpu", mem_per_cpu, "SIZE", "memory of a core"),                                               \
        TEXT(0, "gres", gres, "LIST", "gpu:N or gpu:TYPE:N, of a node"),                                               \
        TEXT('G', "gpus", gpus, "N", "GPUs of all tasks together"),                                                    \
        TEXT(0, "gpus-per-node", gpus_per_node, "N", "GPUs of a node"),                                                \
        TEXT(0, "gpus-per-task", gpus_per_task, "N", "GPUs of each task"),                                             \
        TEXT(0, "gpu-resource", gpu_resource, "NAME", "what GPUs are called there (default: nvidia.com/gpu)"),         \
        TEXT('t', "time", time, "TIME", "how long it may run: minutes, hours:minutes:seconds, days-hours"),            \
        TEXT('D', "chdir", chdir, "DIR", "where it runs, in its container"),                                           \
        TEXT(0, "export", export, "LIST", "variables for it: A,B=c (NONE: none; the rest of yours stays here)"),       \
        TEXT(0, "container-image", image, "IMAGE", "what it runs in (default: debian:12)"),                            \
        TEXT('d', "dependency", dependency, "LIST",                                                                    \
             "after:, afterany:, afterok:, afternotok: jobs; it is submitted then")

static const struct option sbatch_options[] = {
    SUBMIT,
    TEXT('a', "array", array, "LIST", "one for each index: 1-10:2,15"),
    TEXT('o', "output", output, "FILE", "also there, in its container: %j %x %a %t %N are replaced"),
    TEXT('e', "error", error, "FILE", "the same of standard error"),
    TEXT(0, "wrap", wrap, "COMMAND", "instead of a script"),
    FLAG('W', "wait", wait, "until it is over; the exit status is the job's"),
    FLAG(0, "parsable", parsable, "print the number only"),
    FLAG(0, "requeue", requeue, "start again when pods are evicted (default)"),
    FLAG(0, "no-requeue", no_requeue, "do not"),
    FLAG(0, "test-only", test_only, "let the server check it, and submit nothing"),
    FLAG(0, "dry-run", dry_run, "print the Job as YAML, and send nothing"),
    WHERE,
};
static const struct option srun_options[] = { SUBMIT, WHERE };

/* Options of Slurm that a Volcano Job lacks: dropped with a warning where that changes nothing, else refused. */
#define IGNORED(name, why)                                                                                             \
    {                                                                                                                  \
        name, true, false, why                                                                                         \
    }
static const struct foreign_option not_carried[] = {
    IGNORED("account", "there are no accounts; the namespace and the queue say whose it is"),
    IGNORED("A", "there are no accounts; the namespace and the queue say whose it is"),
    IGNORED("comment", "it is kept nowhere"),
    IGNORED("mail-type", "no mail is sent"),
    IGNORED("mail-user", "no mail is sent"),
    IGNORED("qos", "the queue says what a job may have"),
    IGNORED("q", "the queue says what a job may have"),
    IGNORED("open-mode", "files are always overwritten"),
    IGNORED("ntasks-per-core", "cores are shared as the kernel likes"),
    IGNORED("hint", "cores are shared as the kernel likes"),
    IGNORED("mpi", "pods find each other by their names; see the plugins"),
    { "exclusive", false, true, "a node cannot be had alone: ask for all of its cores" },
    { "hold", false, true, "a job can be held when it is there: 'scontrol hold JOB'; or submit it later" },
    { "H", false, true, "a job can be held when it is there: 'scontrol hold JOB'; or submit it later" },
    { "begin", true, true, "nothing starts jobs at a time but a CronJob (batch.volcano.sh)" },
    { "b", true, true, "nothing starts jobs at a time but a CronJob (batch.volcano.sh)" },
    { "constraint", true, true, "write a manifest with nodeSelector and submit it with 'pumice job run -f'" },
    { "C", true, true, "write a manifest with nodeSelector and submit it with 'pumice job run -f'" },
    { "nodelist", true, true, "write a manifest with nodeAffinity and submit it with 'pumice job run -f'" },
    { "w", true, true, "write a manifest with nodeAffinity and submit it with 'pumice job run -f'" },
    { "nice", true, true, "use a PriorityClass: 'pumice job run --priority-class'" },
    { "priority", true, true, "use a PriorityClass: 'pumice job run --priority-class'" },
    { "signal", true, true, "pods get SIGTERM, and SIGKILL when their grace is over" },
    { "pty", false, true, "start it with sbatch, then 'pumice job exec -it JOB -- COMMAND'" },
    { .name = NULL },
};

/* ---- scripts ---- */

static void describe_submitter(struct arena *a, struct slurm_script *s)
{
    char text[4096];
    const struct passwd *pw = getpwuid(getuid());
    const char *user = getenv("USER");

    s->id = slurm_new_id();
    s->user = user && user[0] ? str_of(user) : pw ? arena_str(a, str_of(pw->pw_name)) : arena_fmt(a, "%u", getuid());
    s->host = gethostname(text, sizeof(text)) == 0 ? arena_str(a, str_of(text)) : STR_NULL;
    s->directory = getcwd(text, sizeof(text)) ? arena_str(a, str_of(text)) : STR("/");
}

/* What the command line says wins over what the script says. */
static void overlay(struct api_options *to, const struct api_options *from)
{
    for (size_t i = 0; i < ARRAY_LEN(sbatch_options); i++) {
        const struct option *o = &sbatch_options[i];
        const char *src = (const char *)from + o->offset;
        char *dst = (char *)to + o->offset;

        if (o->kind == OPTION_FLAG)
            *(bool *)dst = *(bool *)dst || *(const bool *)src;
        else if (*(const char *const *)src)
            *(const char **)dst = *(const char *const *)src;
    }
}

static int read_script(struct arena *a, const struct text_list *arguments, struct api_options *line,
                       struct slurm_script *s, struct err *e)
{
    struct api_options from_script = { 0 };
    struct text_list rest = { 0 };
    const char *path, *slash;
    char **words;

    if (line->slurm.wrap) {
        s->text = arena_fmt(a, "#!/bin/sh\n%s\n", line->slurm.wrap);
        s->base = STR("wrap");
        return arguments->list.n ? err_set(e, ERR_SYNTAX, "--wrap: a script is given too (%s)", arguments->list.v[0])
                                 : 0;
    }
    path = arguments->list.n ? arguments->list.v[0] : "-";
    slash = strrchr(path, '/');
    s->base = strcmp(path, "-") == 0 ? STR("sbatch") : str_of(slash ? slash + 1 : path);
    if (read_file(a, path, &s->text, e) < 0)
        return err_wrap(e, "%s", path);
    if (!str_starts(s->text, STR("#!")))
        return err_set(e, ERR_INVALID,
                       "%s: this does not look like a batch script: the first line must begin with #! and the program "
                       "that runs it",
                       path);
    s->args = (struct ctl_words){ arguments->list.v + 1, arguments->list.n ? arguments->list.n - 1 : 0 };
    words = slurm_directives(a, s->text, e);
    if (!words)
        return err_wrap(e, "%s", path);
    if (options_parse(a, &command_sbatch, words, &from_script, &rest) != EXIT_FINE)
        return err_set(e, ERR_SYNTAX, "%s: its #SBATCH or #BSUB lines cannot be used", path);
    if (rest.list.n)
        return err_set(e, ERR_SYNTAX, "%s: #SBATCH: \"%s\" is no option", path, rest.list.v[0]);
    overlay(&from_script, line);
    *line = from_script;
    return 0;
}

static int sbatch_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    struct api_options line = *(const struct api_options *)options;
    struct slurm_script script = { 0 };
    autobuf out = { 0 };
    struct err e;

    describe_submitter(a, &script);
    if (read_script(a, arguments, &line, &script, &e) < 0)
        return command_fail("slurm sbatch", &e, e.code == ERR_SYNTAX ? EXIT_USAGE : EXIT_FAILED);
    line.o.slurm = &line.slurm;
    line.o.script = &script;
    if (!line.slurm.dry_run)
        return ctl_run(a, "slurm sbatch", &line.o, (struct ctl_words){ arguments->list.v, arguments->list.n },
                       verb_sbatch);
    if (slurm_print(a, &(struct slurm_request){ &line.slurm, &script, str_of(line.o.namespace) }, &out, &e) < 0)
        return command_fail("slurm sbatch", &e, e.code == ERR_SYNTAX ? EXIT_USAGE : EXIT_FAILED);
    return term_print(&out) == 0 ? EXIT_FINE : EXIT_FAILED;
}

/* The words as a script that runs them as they are. */
static int srun_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    struct api_options line = *(const struct api_options *)options;
    struct slurm_script script = { .text = STR("#!/bin/sh\nexec \"$@\"\n"), .base = STR("srun") };

    if (!arguments->list.n) {
        fprintf(stderr, "pumice slurm srun: say what to run: pumice slurm srun [OPTION…] COMMAND…\n");
        return EXIT_USAGE;
    }
    describe_submitter(a, &script);
    script.args = (struct ctl_words){ arguments->list.v, arguments->list.n };
    line.o.slurm = &line.slurm;
    line.o.script = &script;
    return ctl_run(a, "slurm srun", &line.o, script.args, verb_srun);
}

#define LISTED                                                                                                         \
    TEXT('u', "user", user, "NAME", "of this user"), FLAG(0, "me", me, "mine"),                                        \
        TEXT('p', "partition", partition, "QUEUE", "of this queue"),                                                   \
        TEXT('n', "name", names, "NAME", "with this name"),                                                            \
        TEXT('t', "states", states, "LIST", "in these states: PD,R or PENDING,RUNNING; all")

static const struct option squeue_options[] = {
    LISTED,
    TEXT('j', "jobs", jobs, "LIST", "these, by number or name"),
    TEXT('o', "format", format, "FORMAT", "as \"%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R\""),
    FLAG('h', "noheader", no_header, "without the first line"),
    WHERE,
};
static const struct option sacct_options[] = {
    LISTED,
    TEXT('j', "jobs", jobs, "LIST", "these, by number or name"),
    TEXT('o', "format", format, "LIST", "fields and widths: JobID,JobName%30,State,Elapsed,ExitCode,Submit,Start,End"),
    FLAG(0, "noheader", no_header, "without the first line"),
    FLAG('P', "parsable2", parsable2, "fields parted by |"),
    WHERE,
};
static const struct option scancel_options[] = {
    TEXT('u', "user", user, "NAME", "all of this user"),
    FLAG(0, "me", me, "all of mine"),
    TEXT('p', "partition", partition, "QUEUE", "all of this queue"),
    TEXT('n', "name", names, "NAME", "all with this name"),
    TEXT('t', "state", states, "STATE", "only in this state"),
    WHERE,
};
static const struct option sinfo_options[] = {
    TEXT('p', "partition", partition, "QUEUE", "of this queue"),
    FLAG(0, "noheader", no_header, "without the first line"),
    WHERE,
};
static const struct option scontrol_options[] = { WHERE };

static const struct foreign_option not_signals[] = {
    { "signal", true, true, "pods get SIGTERM, and SIGKILL when their grace is over" },
    { "s", true, true, "pods get SIGTERM, and SIGKILL when their grace is over" },
    { .name = NULL },
};

#define COMMAND(word, args, line, more, list, ...)                                                                     \
    {                                                                                                                  \
        .name = "slurm " word, .arguments = args, .summary = line, .about = more, .options = list,                     \
        .n_options = ARRAY_LEN(list), .options_size = sizeof(struct api_options), __VA_ARGS__                          \
    }

static const char *const slurm_examples[] = {
    "pumice slurm sbatch job.sh",
    "submit a script with #SBATCH lines",
    "pumice slurm sbatch --dry-run -n 4 --gres=gpu:1 --wrap 'srun python train.py'",
    "what Job that would be",
    "ln -s pumice /usr/local/bin/sbatch",
    "for those who want it: called as sbatch, srun … it is that command",
    NULL,
};
const struct command command_slurm = {
    .name = "slurm",
    .arguments = "[COMMAND]",
    .summary = "Slurm's commands on Volcano Jobs: sbatch, srun, squeue, scancel, sinfo, sacct, scontrol",
    .about =
        "For scripts and hands that know Slurm. A task is a pod, a partition a queue; each pod runs the script, and "
        "srun in it\n"
        "runs its command there. Options without an equivalent are listed, and refused where that would change what "
        "happens.",
    .examples = slurm_examples,
    .is_group = true,
};
static const char *const sbatch_examples[] = { "pumice slurm sbatch -n 8 -c 4 --mem=16G job.sh big",
                                               "a gang of eight pods", "pumice slurm sbatch --array=1-100 sweep.sh",
                                               "a hundred, each with its SLURM_ARRAY_TASK_ID", NULL };
const struct command command_sbatch = COMMAND(
    "sbatch", "[SCRIPT [ARGUMENT…]]", "submit a batch script as a Job",
    "The script's #SBATCH lines are read as options, and LSF's #BSUB lines as what they mean here; those of the "
    "command\n"
    "line win. Without a script, standard input.\n"
    "The job is NAME-NUMBER, and the number is its SLURM_JOB_ID.",
    sbatch_options, .run = sbatch_run, .foreign = not_carried, .examples = sbatch_examples, .stops_at = 1);
const struct command command_srun = COMMAND(
    "srun", "[COMMAND…]", "run a command as a Job, and show its output",
    "Submits it, follows the output of all tasks, and ends with the greatest of their exit statuses.", srun_options,
    .run = srun_run, .foreign = not_carried, .stops_at = 1);
const struct command command_squeue = COMMAND("squeue", "", "list jobs that have not ended, as Slurm does",
                                              "Also jobs that sbatch did not make: their number is their name.",
                                              squeue_options, .verb = verb_squeue);
const struct command command_scancel = COMMAND("scancel", "[JOB…]", "cancel jobs, by number or name",
                                               "They become Terminated, with their pods ended; the record stays.",
                                               scancel_options, .verb = verb_scancel, .foreign = not_signals);
const struct command command_sinfo = COMMAND("sinfo", "", "list queues and the state of nodes, as Slurm does",
                                             "A queue is a partition of all nodes.", sinfo_options, .verb = verb_sinfo);
const struct command command_sacct = COMMAND("sacct", "", "list jobs, those that have ended too",
                                             "As long as their records are kept (ttlSecondsAfterFinished).",
                                             sacct_options, .verb = verb_sacct);
const struct command command_scontrol = COMMAND(
    "scontrol", "[ACTION …]", "show, change, hold, suspend or requeue jobs",
    "show job|node|partition [NAME], update JobId=JOB NumTasks=N Priority=CLASS, hold JOB, release JOB, suspend JOB,\n"
    "resume JOB, requeue JOB.",
    scontrol_options, .verb = verb_scontrol);
