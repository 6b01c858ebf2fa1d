/* run.c - the command `pumice run`: a Job, really, on this machine */
#include "api/duration.h"
#include "base/util.h"
#include "cli/commands.h"
#include "cli/render/render.h"
#include "program/run/documents.h"
#include "program/run/options.h"
#include "program/run/publish.h"
#include "program/run/remote.h"
#include "program/run/session.h"

/* ---- options ---- */

enum { SILENCE_MS = 5 * 60 * 1000 };

static int run_read_time(const char *flag, const char *text, int64_t fallback_ms, int64_t *ret_ms, struct err *e)
{
    int64_t ns;

    *ret_ms = fallback_ms;
    if (!text)
        return 0;
    if (duration_parse(str_of(text), &ns, e) < 0)
        return err_wrap(e, "%s", flag);
    *ret_ms = ns / 1000000;
    return 0;
}

static int run_read_times(const struct run_options *o, struct run_request *q, struct err *e)
{
    if (run_read_time("--timeout", o->timeout, INT64_MAX, &q->timeout_ms, e) < 0 ||
        run_read_time("--silence", o->silence, SILENCE_MS, &q->silence_ms, e) < 0)
        return -1;
    if (q->timeout_ms <= 0)
        return err_set(e, ERR_INVALID, "--timeout: must be greater than 0");
    if (q->silence_ms < 0)
        return err_set(e, ERR_INVALID, "--silence: must be a duration, or 0 for none");
    return 0;
}

static int read_max_restarts(const char *text, int64_t *ret, struct err *e)
{
    *ret = INT64_MAX;
    if (text && (str_to_i64(str_of(text), ret) < 0 || *ret < 0))
        return err_set(e, ERR_INVALID, "--max-restarts: must be 0 or greater (got %s)", text);
    return 0;
}

static int check_publish(const struct run_options *o, struct err *e)
{
    VEC_FOREACH(text, &o->publish.list)
        if (publish_parse(str_of(*text), &(struct publish){ 0 }, e) < 0)
            return err_wrap(e, "--publish %s", *text);
    return 0;
}

static int run_read_options(struct arena *a, const struct run_options *o, struct run_request *q, struct err *e)
{
    if (run_read_times(o, q, e) < 0 || read_max_restarts(o->max_restarts, &q->max_restarts, e) < 0 ||
        check_publish(o, e) < 0)
        return -1;
    if (o->node && machine_capacity(a, str_of(o->node), &q->capacity, e) < 0)
        return err_wrap(e, "--node %s", o->node);
    return 0;
}

/* ---- files ---- */

/* What the options say of the documents. */
static int run_change_all(struct load *l, const struct run_options *o, struct err *e)
{
    load_expand(l);
    if (run_change(l, o, e) < 0 || run_place_files(l, o, e) < 0)
        return -1;
    if (isatty(STDOUT_FILENO))
        run_unbuffer(l);
    return 0;
}

/* Is there anything that will ever run, or (dry) Jobs to show? If not, it is said why. */
static bool has_work(const struct load *l, bool is_dry, struct str file)
{
    const struct loaded *owned = NULL;

    VEC_FOREACH(at, &l->docs) {
        const struct loaded *doc = *at;

        if (!doc->set && (is_dry || !doc->type || strcmp(doc->type->kind, "Pod") != 0))
            continue;
        if (is_dry || doc->is_of_flow || !object_controller_uid(doc->root).n)
            return true;
        owned = doc;
    }
    if (owned) { /* as `kubectl get -o yaml` shows it: whose it is makes it */
        const struct json *owner = object_controller(owned->root);

        fprintf(stderr,
                "pumice run: nothing to run in %.*s: %.*s %.*s belongs to %.*s %.*s (metadata.ownerReferences); "
                "run the owner, or remove the reference\n",
                STR_ARG(file), STR_ARG(object_kind(owned->root)), STR_ARG(object_name(owned->root)),
                STR_ARG(json_member_text(owner, "kind")), STR_ARG(json_member_text(owner, "name")));
    } else {
        fprintf(stderr, "pumice run: no Volcano Job in %.*s\n", STR_ARG(file));
    }
    return false;
}

static int run_load_all(struct load *l, const struct run_options *o, const struct text_list *files)
{
    struct err e;

    load_read(l, files);
    if (!l->failures.n && run_change_all(l, o, &e) < 0)
        return command_fail("run", &e, EXIT_USAGE);
    if (o->dry_run)
        load_fill_names(l);
    load_admit(l);
    if (o->restricted)
        run_restrict(l);
    if (load_report(l))
        return EXIT_FAILED;
    if (!has_work(l, o->dry_run, files->list.n == 1 ? load_file_name(files->list.v[0]) : STR("these files")))
        return EXIT_FAILED;
    return EXIT_FINE;
}

static int run_run(struct arena *a, const void *options, const struct text_list *files)
{
    const struct run_options *o = options;
    autoload l = { .arena = a, .namespace = o->namespace, .fills_uid = o->dry_run };
    struct run_place place = { 0 };
    struct run_request q = { .o = o, .load = &l, .place = &place };
    struct text_list all = o->files;
    struct err e;
    int status;

    if (run_read_options(a, o, &q, &e) < 0)
        return command_fail("run", &e, EXIT_USAGE);
    VEC_FOREACH(file, &files->list)
        *vec_push(a, &all.list) = *file;
    if (all.list.n == 0) {
        fprintf(stderr, "pumice run: no file given ('-' reads standard input)\nTry 'pumice run --help'.\n");
        return EXIT_USAGE;
    }
    if (!o->dry_run && run_place_find(a, o, &place, &e) < 0)
        return command_fail("run", &e, EXIT_USAGE);
    status = run_load_all(&l, o, &all);
    if (status != EXIT_FINE)
        return status;
    if (place.is_server && run_place_check(o, &l, &e) < 0)
        return command_fail("run", &e, EXIT_USAGE);
    if (o->dry_run)
        return render_loaded(a, &l, o->output && strcmp(o->output, "json") == 0 ? "json" : NULL);
    return o->detach ? run_detach(a, o, &l, place.kubeconfig) : run_session(a, &q);
}

/* ---- the command ---- */

#define FIELD(name)         offsetof(struct run_options, name)
#define MACHINE_FIELD(name) offsetof(struct run_options, machine.name)

static const char *const output_names[] = { "text", "json", NULL };

static const struct option run_option_table[] = {
    { 'f', "file", OPTION_LIST, FIELD(files), "FILE", NULL,
      "same as the argument FILE: a file, a directory (its .yaml, .yml and .json), or - (may be repeated)" },
    { 'o', "output", OPTION_TEXT, FIELD(output), "FORM", output_names,
      "text (default), or json: one object on each line, for programs" },
    { 0, "logs", OPTION_TEXT, FIELD(logs), "WHICH", NULL,
      "all (default), failed, none, or tasks: worker, train/worker, with commas between" },
    { 0, "log-dir", OPTION_TEXT, FIELD(log_dir), "DIR", NULL, "write the output of each container to a file here" },
    { 0, "set", OPTION_LIST, FIELD(set), "[JOB/]PATH=VALUE", NULL,
      "change a field of the Job, as spec.tasks[worker].replicas=3 (may be repeated)" },
    { 0, "replicas", OPTION_LIST, FIELD(replicas), "[JOB/]TASK=N", NULL, "run N pods of this task (may be repeated)" },
    { 'e', "env", OPTION_LIST, FIELD(env), "NAME[=VALUE]", NULL,
      "an environment variable for all containers; without VALUE, its value here (may be repeated)" },
    { 0, "env-file", OPTION_LIST, FIELD(env_files), "FILE", NULL,
      "variables from a file, one per line; -e overrides them (may be repeated)" },
    { 0, "mount", OPTION_LIST, FIELD(mounts), "HOST[:POD[:ro]]", NULL,
      "a file or directory of this machine in all pods; x lies beside the job's file, ./x here (may be repeated)" },
    { 'C', "here", OPTION_FLAG, FIELD(here), NULL, NULL,
      "mount this directory in all pods at the same path, writable, as their working directory" },
    { 0, "workdir", OPTION_TEXT, FIELD(workdir), "DIR", NULL, "the working directory of all containers" },
    { 0, "publish", OPTION_LIST, FIELD(publish), "PORT[/udp][:POD:PORT]", NULL,
      "forward a port of this machine to a pod, as 8265 or 8080:web-0:80; with ADDRESS: in front also from other "
      "machines (may be repeated)" },
    { 0, "publish-all-addresses", OPTION_FLAG, FIELD(publish_all), NULL, NULL,
      "hostPorts at all addresses of this machine, or at their hostIP (default: at 127.0.0.1)" },
    { 0, "fit", OPTION_FLAG, FIELD(fit), NULL, NULL,
      "scale requests down to this machine where a Job is too large for it" },
    { 0, "timeout", OPTION_TEXT, FIELD(timeout), "TIME", NULL, "stop after this time, such as 10m; exit status 124" },
    { 0, "max-restarts", OPTION_TEXT, FIELD(max_restarts), "N", NULL,
      "stop when a container fails after N restarts (0: at the first failure), with its exit status" },
    { 0, "silence", OPTION_TEXT, FIELD(silence), "TIME", NULL,
      "report when no container wrote anything for so long (default: 5m; 0: never)" },
    { 0, "stacks", OPTION_FLAG, FIELD(stacks), NULL, NULL,
      "also show where every process waits; Ctrl-\\ (SIGQUIT) does so at any time" },
    { 0, "fail-on-any", OPTION_FLAG, FIELD(fail_on_any), NULL, NULL,
      "exit with a status other than 0 if a pod failed, even in a completed Job" },
    { 0, "wait", OPTION_FLAG, FIELD(wait), NULL, NULL, "keep waiting when nothing runs and nothing can start" },
    { 0, "restricted", OPTION_FLAG, FIELD(restricted), NULL, NULL,
      "refuse pods that Pod Security \"restricted\" refuses; for untrusted jobs" },
    { 0, "server", OPTION_SWITCH, FIELD(server), "WHERE", NULL,
      "submit to the server of this machine, a DIR's (its --data-dir) or a KUBECONFIG's; none: run beside it" },
    { 0, "detach", OPTION_FLAG, FIELD(detach), NULL, NULL,
      "submit to the server, print how to follow the job, and exit" },
    { 0, "report", OPTION_TEXT, FIELD(report), "FILE", NULL, "write a report of the run (HTML, one file)" },
    { 0, "trace", OPTION_TEXT, FIELD(trace), "FILE", NULL, "write a trace for Perfetto or Chrome (JSON)" },
    { 0, "dry-run", OPTION_FLAG, FIELD(dry_run), NULL, NULL, "run nothing: print every object, as render does" },
    { 0, "keep", OPTION_TEXT, FIELD(keep), "DIR", NULL, "copy the files that pods wrote to DIR/POD at the end" },
    { 0, "keep-state", OPTION_FLAG, FIELD(keep_state), NULL, NULL,
      "keep the files and logs of the run, and print where they are" },
    { 0, "no-record", OPTION_FLAG, FIELD(no_record), NULL, NULL, "do not record this run (pumice runs)" },
    { 0, "no-record-logs", OPTION_FLAG, FIELD(no_record_logs), NULL, NULL,
      "record the run without the output of containers" },
    { 'q', "quiet", OPTION_FLAG, FIELD(quiet), NULL, NULL, "print only logs and failures" },
    { 'v', "verbose", OPTION_FLAG, FIELD(verbose), NULL, NULL, "print the program's own log too" },
    { 'n', "namespace", OPTION_TEXT, FIELD(namespace), "NAME", NULL,
      "namespace of objects that name none (default: default)" },
    { 0, "node", OPTION_TEXT, FIELD(node), "AMOUNTS", NULL,
      "capacity of the node, as cpu=8,memory=16Gi (default: that of the machine)" },
    MACHINE_OPTIONS(MACHINE_FIELD),
    { 0, "claims", OPTION_TEXT, MACHINE_FIELD(claims), "DIR", NULL,
      "keep PersistentVolumeClaims here (default: deleted with the run)" },
    { 0, "state", OPTION_TEXT, MACHINE_FIELD(state), "DIR", NULL,
      "where runs keep their files (default: /var/lib/pumice; ~/.local/state/pumice)" },
};

static const char *const run_examples[] = {
    "pumice run job.yaml",
    "run it to completion",
    "pumice run --replicas worker=4 -e STEPS=10 job.yaml",
    "with more workers and fewer steps",
    "pumice run --logs=failed --report run.html job.yaml",
    "show only the logs of failures, and write a report",
    "pumice run -o json job.yaml | jq .",
    "for programs",
    "pumice run --image app=app.tar job.yaml",
    "with the files of an image",
    NULL,
};

const struct command command_run = {
    .name = "run",
    .arguments = "[FILE…]",
    .summary = "run Jobs to their end on this machine, with real pods",
    .about = "Runs all Jobs of the files together, with the real controllers and the real scheduler, as pods of this "
             "machine:\n"
             "isolated, in a network of their own, with names, volumes, ssh and what else a cluster gives them. Root "
             "is not\n"
             "needed. Nothing is left behind.\n\n"
             "What containers write goes to standard output, each line with the name of its pod; progress and the "
             "summary go to\n"
             "standard error. Ctrl-C stops the jobs gracefully; a second Ctrl-C stops them at once.\n\n"
             "Exit status: 0 if all Jobs completed; else that of the first container that failed in the first Job that "
             "failed,\n"
             "or 1 if there is none; 124 after --timeout, 130 after Ctrl-C, 143 after SIGTERM; 2 for wrong use.",
    .options = run_option_table,
    .n_options = ARRAY_LEN(run_option_table),
    .options_size = sizeof(struct run_options),
    .examples = run_examples,
    .run = run_run,
};
