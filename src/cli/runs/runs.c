/* runs.c - the commands `pumice runs …`: what runs of this user have left to be looked at */
#include "cli/runs/runs.h"

#include "base/clock.h"
#include "base/span.h"
#include "base/util.h"
#include "cli/commands.h"
#include "program/run/summary.h"
#include "report/report.h"
#include "base/term.h"

struct runs_options {
    const char *output, *container;
    bool trace, quiet;
};

static const char *const output_names[] = { "text", "json", NULL };

/* ---- finding ---- */

/* The run that is asked for, or the last one. -1: it was said why not. */
static int open_run(struct arena *a, const char *command, const char *word, struct record_entry **ret, int *ret_dir)
{
    struct err e;

    if (records_open(a, false, ret_dir, &e) < 0 || records_find(a, *ret_dir, word ? word : "last", ret, &e) < 0) {
        (void)command_fail(command, &e, EXIT_FAILED);
        return -1;
    }
    return 0;
}

static int runs_too_many(const char *command, const struct text_list *arguments, size_t max)
{
    if (arguments->list.n <= max)
        return EXIT_FINE;
    fprintf(stderr, "pumice %s: more than %zu %s given\nTry 'pumice %s --help'.\n", command, max,
            max == 1 ? "run is" : "runs are", command);
    return EXIT_USAGE;
}

struct str runs_state(struct arena *a, const struct record_entry *r)
{
    if (r->is_running)
        return STR("running");
    if (!r->ends.has_ended)
        return STR("did not end");
    return r->ends.end.status ? arena_fmt(a, "failed (%lld)", (long long)r->ends.end.status) : STR("succeeded");
}

struct str runs_time(struct arena *a, int64_t ms)
{
    autobuf text = { 0 };

    clock_print(&text, ms);
    return arena_str(a, buf_view(&text));
}

static struct str runs_took(struct arena *a, const struct record_entry *r)
{
    autobuf text = { 0 };

    if (!r->ends.has_ended)
        return STR("-");
    span_print(&text, r->ends.end.end_ms - r->ends.head.begin_ms);
    return arena_str(a, buf_view(&text));
}

static struct str jobs_of(struct arena *a, const struct record_entry *r)
{
    autobuf plain = { 0 }, text = { 0 };

    JSON_FOREACH(name, r->ends.head.names)
        buf_fmt(&plain, "%s%.*s", plain.n ? ", " : "", STR_ARG(json_text(name, STR(""))));
    if (r->ends.head.n_jobs > (size_t)json_count(r->ends.head.names))
        buf_fmt(&plain, "%s…", plain.n ? ", " : "");
    term_text(&text, buf_view(&plain));
    return arena_str(a, buf_view(&text));
}

/* ---- runs ---- */

static void list_text(struct arena *a, const struct record_list *all, struct buf *out)
{
    static const char *const heads[] = { "ID", "STARTED", "TOOK", "RESULT", "JOBS" };
    struct table t = { .arena = a, .columns = ARRAY_LEN(heads) };

    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        table_cell(&t, str_of(heads[i]));
    VEC_FOREACH(r, &all->list) {
        table_cell(&t, (*r)->id);
        table_cell(&t, runs_time(a, (*r)->ends.head.begin_ms));
        table_cell(&t, runs_took(a, *r));
        table_cell(&t, runs_state(a, *r));
        table_cell(&t, jobs_of(a, *r));
    }
    table_print(out, &t, "");
}

static void list_json(struct arena *a, const struct record_list *all, struct buf *out)
{
    struct json *list = json_array(a);

    VEC_FOREACH(at, &all->list) {
        const struct record_entry *r = *at;
        struct json *one = json_object(a);

        json_set(one, "id", json_str(a, r->id));
        json_set(one, "started", json_str(a, runs_time(a, r->ends.head.begin_ms)));
        json_set(one, "state",
                 json_str(a, r->is_running       ? STR("running")
                             : r->ends.has_ended ? STR("ended")
                                                 : STR("lost")));
        if (r->ends.has_ended) {
            json_set(one, "status", json_int(a, r->ends.end.status));
            json_set(one, "milliseconds", json_int(a, r->ends.end.end_ms - r->ends.head.begin_ms));
        }
        json_set(one, "directory", json_str(a, r->ends.head.directory));
        if (r->ends.head.files)
            json_set(one, "files", json_copy(a, r->ends.head.files));
        if (r->ends.head.names)
            json_set(one, "jobs", json_copy(a, r->ends.head.names));
        json_set(one, "bytes", json_int(a, r->bytes));
        json_push(list, one);
    }
    json_print(out, list);
    buf_char(out, '\n');
}

static int run_runs(struct arena *a, const void *options, const struct text_list *arguments)
{
    const struct runs_options *o = options;
    struct record_list all = { 0 };
    autoclose int dir = -1;
    autobuf out = { 0 };
    struct err e;

    if (arguments->list.n) {
        fprintf(stderr, "pumice runs: unknown command '%s'\nTry 'pumice runs --help'.\n", arguments->list.v[0]);
        return EXIT_USAGE;
    }
    if (records_open(a, false, &dir, &e) < 0 && e.code != ERR_NOT_FOUND)
        return command_fail("runs", &e, EXIT_FAILED);
    if (dir >= 0)
        records_list(a, dir, &all);
    if (o->output && strcmp(o->output, "json") == 0) {
        list_json(a, &all, &out);
    } else if (o->quiet) {
        VEC_FOREACH(r, &all.list)
            buf_fmt(&out, "%.*s\n", STR_ARG((*r)->id));
    } else if (!all.list.n) {
        fprintf(stderr, "pumice runs: no records yet; each 'pumice run' writes one\n");
        return EXIT_FAILED;
    } else {
        list_text(a, &all, &out);
    }
    return term_print(&out) == 0 ? EXIT_FINE : EXIT_FAILED;
}

/* ---- show, report ---- */

static void runs_put_head(struct arena *a, struct buf *out, const struct record_entry *e, const struct record *r)
{
    autobuf text = { 0 };

    buf_fmt(out, "run %.*s, %.*s, ", STR_ARG(e->id), STR_ARG(runs_time(a, r->head.begin_ms)));
    if (r->has_ended)
        buf_fmt(out, "exit status %lld\n", (long long)r->end.status);
    else
        buf_fmt(out, "%s\n", e->is_running ? "still running" : "did not end: it was killed, or the machine went down");
    JSON_FOREACH(file, r->head.files)
        buf_fmt(&text, "%s%.*s", text.n ? ", " : "", STR_ARG(json_text(file, STR(""))));
    buf_str(out, STR("files: "));
    term_text(out, buf_view(&text));
    buf_str(out, STR(" in "));
    term_text(out, r->head.directory);
    buf_char(out, '\n');
    if (r->end.is_cut)
        buf_str(out, STR("there was more than a record holds: the report breaks off, the summary does not\n"));
}

/* The words that were said then; of a run that did not end, what could be said now. */
static void put_summary(struct buf *out, const struct record *r)
{
    struct run_end end = { .status = EXIT_FAILED, .begin_ms = r->head.begin_ms, .end_ms = r->end.end_ms };
    struct str rest = r->end.summary, line;

    if (!r->has_ended) {
        run_summary(out, r->history, &end, &(struct run_summary_options){ .has_colour = term_has_colour(stdout) });
        return;
    }
    while (str_split(&rest, '\n', &line)) {
        term_text(out, line);
        buf_char(out, '\n');
    }
}

static int run_show(struct arena *a, const void *options, const struct text_list *arguments)
{
    struct record_entry *entry;
    autoclose int dir = -1;
    autobuf out = { 0 };
    struct record r = { 0 };
    struct err e;

    if (runs_too_many("runs show", arguments, 1))
        return EXIT_USAGE;
    if (open_run(a, "runs show", arguments->list.n ? arguments->list.v[0] : NULL, &entry, &dir) < 0)
        return EXIT_FAILED;
    if (records_read(a, dir, entry->id, &r, &e) < 0)
        return command_fail("runs show", &e, EXIT_FAILED);
    runs_put_head(a, &out, entry, &r);
    put_summary(&out, &r);
    record_done(&r);
    return term_print(&out) == 0 ? EXIT_FINE : EXIT_FAILED;
}

static int run_report(struct arena *a, const void *options, const struct text_list *arguments)
{
    const struct runs_options *o = options;
    struct record_entry *entry;
    autoclose int dir = -1;
    autobuf out = { 0 };
    struct record r = { 0 };
    struct err e;

    if (runs_too_many("runs report", arguments, 1))
        return EXIT_USAGE;
    if (open_run(a, "runs report", arguments->list.n ? arguments->list.v[0] : NULL, &entry, &dir) < 0)
        return EXIT_FAILED;
    if (records_read(a, dir, entry->id, &r, &e) < 0)
        return command_fail("runs report", &e, EXIT_FAILED);
    if (o->trace)
        report_trace(&out, r.history);
    else
        report_html(&out, r.history, jobs_of(a, entry));
    record_done(&r);
    return term_print(&out) == 0 ? EXIT_FINE : EXIT_FAILED;
}

/* ---- logs ---- */

/* "worker-0" as the output had it, "train-worker-0" as it was called, or all of a task or a job. */
static bool runs_is_meant(const struct history_pod *p, struct str name)
{
    return str_eq(p->label, name) || str_eq(p->name, name) || str_eq(p->task_name, name) ||
           (p->job && str_eq(p->job->name, name));
}

static bool has_container(const struct history_pod *p, const char *name)
{
    VEC_FOREACH(c, &p->containers)
        if (!name || str_is((*c)->name, name))
            return true;
    return !name;
}

static int none_meant(const struct record *r, const char *name, struct err *e)
{
    autobuf names = { 0 };

    VEC_FOREACH(p, &r->history->pods)
        if (names.n < 200 && !(*p)->is_replaced)
            buf_fmt(&names, "%s%.*s", names.n ? ", " : "", STR_ARG((*p)->label));
    return err_set(e, ERR_NOT_FOUND, "the run has no pod, task or container \"%s\" (its pods: %s)", name,
                   names.n ? names.p : "none");
}

/* The pods whose lines are asked for, by uid. */
static int choose_pods(const struct record *r, const struct text_list *arguments, const char *container,
                       struct map *ret, struct err *e)
{
    bool has_any = !container;

    for (size_t i = 1; i < MAX_OF(arguments->list.n, (size_t)2); i++) {
        struct str name = i < arguments->list.n ? str_of(arguments->list.v[i]) : STR_NULL;
        bool is_known = !name.n;

        VEC_FOREACH(p, &r->history->pods) {
            if (name.n && !runs_is_meant(*p, name))
                continue;
            is_known = true;
            has_any |= has_container(*p, container);
            map_put(ret, (*p)->uid, *p);
        }
        if (!is_known)
            return none_meant(r, arguments->list.v[i], e);
    }
    return has_any ? 0 : none_meant(r, container, e);
}

static void tell_dropped(const struct record *r)
{
    autobuf bytes = { 0 };

    if (r->end.has_no_log)
        fprintf(stderr, "pumice runs logs: the run was made with --no-record-logs\n");
    if (!r->end.log_dropped)
        return;
    bytes_print(&bytes, r->end.log_dropped);
    fprintf(stderr, "pumice runs logs: %s of output came before this and were not kept\n", bytes.p);
}

static void put_lines(struct buf *out, struct str rest, const struct map *pods, bool is_all, const char *container)
{
    bool is_screen = isatty(STDOUT_FILENO), has_colour = term_has_colour(stdout);
    struct record_line l;

    while (record_next_line(&rest, &l)) {
        if ((container && !str_is(l.container, container)) || !(is_all || map_get(pods, l.uid)))
            continue;
        buf_fmt(out, "%.*s | ", STR_ARG(l.label));
        if (is_screen)
            term_line(out, l.text, has_colour, &(struct term_colours){ 0 });
        else
            buf_str(out, l.text);
        buf_char(out, '\n');
    }
}

static int run_logs(struct arena *a, const void *options, const struct text_list *arguments)
{
    const struct runs_options *o = options;
    struct record_entry *entry;
    autoclose int dir = -1;
    autobuf out = { 0 };
    struct record r = { 0 };
    struct map pods;
    struct err e;
    int rc;

    if (open_run(a, "runs logs", arguments->list.n ? arguments->list.v[0] : NULL, &entry, &dir) < 0)
        return EXIT_FAILED;
    if (records_read(a, dir, entry->id, &r, &e) < 0)
        return command_fail("runs logs", &e, EXIT_FAILED);
    map_init(&pods, map_seed_default());
    rc = choose_pods(&r, arguments, o->container, &pods, &e);
    if (rc == 0) {
        tell_dropped(&r);
        put_lines(&out, r.logs, &pods, arguments->list.n < 2, o->container);
    }
    map_done(&pods);
    record_done(&r);
    if (rc < 0)
        return command_fail("runs logs", &e, EXIT_FAILED);
    return term_print(&out) == 0 ? EXIT_FINE : EXIT_FAILED;
}

/* ---- compare ---- */

static int run_compare(struct arena *a, const void *options, const struct text_list *arguments)
{
    size_t n = arguments->list.n;
    struct record_entry *entry[2];
    struct record_list all = { 0 };
    struct record r[2] = { 0 };
    autoclose int dir = -1;
    autobuf out = { 0 };
    struct err e;
    int rc = 0;

    if (runs_too_many("runs compare", arguments, 2))
        return EXIT_USAGE;
    if (records_open(a, false, &dir, &e) < 0)
        return command_fail("runs compare", &e, EXIT_FAILED);
    records_list(a, dir, &all);
    if (n < 2 && all.list.n < 2) {
        fprintf(stderr, "pumice runs compare: there are no two runs yet\n");
        return EXIT_FAILED;
    }
    for (size_t i = 0; i < 2 && rc == 0; i++) { /* none is given: the last two */
        const char *word = i < n ? arguments->list.v[i] : i == 0 ? all.list.v[1]->id.p : "last";

        rc = records_find(a, dir, word, &entry[i], &e);
        rc = rc == 0 ? records_read(a, dir, entry[i]->id, &r[i], &e) : rc;
    }
    if (rc == 0)
        runs_compare(a, &out, entry, r);
    for (size_t i = 0; i < 2; i++)
        record_done(&r[i]);
    if (rc < 0)
        return command_fail("runs compare", &e, EXIT_FAILED);
    return term_print(&out) == 0 ? EXIT_FINE : EXIT_FAILED;
}

/* ---- the commands ---- */

#define FIELD(name) offsetof(struct runs_options, name)

static const struct option runs_option_table[] = {
    { 'q', "quiet", OPTION_FLAG, FIELD(quiet), NULL, NULL, "only ids" },
    { 'o', "output", OPTION_TEXT, FIELD(output), "FORM", output_names, "text (default), or json" },
};
static const struct option report_option_table[] = {
    { 0, "trace", OPTION_FLAG, FIELD(trace), NULL, NULL, "a trace for Perfetto or Chrome instead of the page" },
};
static const struct option logs_option_table[] = {
    { 'c', "container", OPTION_TEXT, FIELD(container), "NAME", NULL, "only of the container of this name" },
};

static const char *const runs_examples[] = {
    "pumice runs",
    "the runs of this user, newest first",
    "pumice runs report last > page.html",
    "the page that --report would have written",
    "pumice runs compare 3f2a 9be0",
    "what was different, in time, memory and in the job's file",
    NULL,
};

const struct command command_runs = {
    .name = "runs",
    .arguments = "[show|report|logs|compare]",
    .summary = "list recorded runs; show their summary, report, output and differences",
    .about = "Every 'pumice run' writes a small record below the state directory of its user: the events of its jobs "
             "and pods,\n"
             "its input, and the last megabytes of output. It contains no Secrets. The last 100 records are kept, at "
             "most 256 MiB.\n\n"
             "A run is named by its id, the beginning of the id, or \"last\".",
    .options = runs_option_table,
    .n_options = ARRAY_LEN(runs_option_table),
    .options_size = sizeof(struct runs_options),
    .examples = runs_examples,
    .run = run_runs,
};
const struct command command_runs_show = {
    .name = "runs show",
    .arguments = "[ID]",
    .summary = "print the summary of a run",
    .about =
        "Prints the summary of the run; for a run that was killed, as far as it is known. Without ID, of the last run.",
    .options_size = sizeof(struct runs_options),
    .run = run_show,
};
const struct command command_runs_report = {
    .name = "runs report",
    .arguments = "[ID]",
    .summary = "print the report of a run (HTML)",
    .about = "Prints the page that 'pumice run --report' writes, from the record.",
    .options = report_option_table,
    .n_options = ARRAY_LEN(report_option_table),
    .options_size = sizeof(struct runs_options),
    .run = run_report,
};
const struct command command_runs_logs = {
    .name = "runs logs",
    .arguments = "[ID] [POD…]",
    .summary = "print the output of the containers of a run",
    .about = "Prints the output of all pods, or of these pods (worker-0) or tasks (worker). Only the last megabytes "
             "are kept; a\n"
             "line on standard error says how much is missing.",
    .options = logs_option_table,
    .n_options = ARRAY_LEN(logs_option_table),
    .options_size = sizeof(struct runs_options),
    .run = run_logs,
};
const struct command command_runs_compare = {
    .name = "runs compare",
    .arguments = "[A] [B]",
    .summary = "compare two runs: results, inputs and differences",
    .about =
        "Compares results, times, restarts, memory and CPU time of the tasks, then each field of the job's file that\n"
        "differs. Without IDs, it compares the last two runs.",
    .options_size = sizeof(struct runs_options),
    .run = run_compare,
};
