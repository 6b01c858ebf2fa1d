/* ps.c - the commands `pumice ps` and `pumice top`: runs of this user here, their pods, and what those use */
#include "api/meta.h"
#include "api/quantity.h"
#include "api/pod/status.h"
#include "base/clock.h"
#include "base/util.h"
#include "cli/commands.h"
#include "cli/into/into.h"
#include "ctl/ctl.h"
#include "base/term.h"

#include <poll.h>

enum { MEASURE_MS = 1000 };

/* ---- cells ---- what a pod could have written is shown as text, whatever a terminal would make of it ---- */

static void ps_cell(struct table *t, struct str text)
{
    autobuf out = { 0 };

    term_text(&out, text.n ? text : STR("-"));
    table_cell(t, arena_str(t->arena, buf_view(&out)));
}

static void heads(struct table *t, const struct into *x, const char *const *names, size_t n)
{
    t->arena = x->arena;
    t->columns = n;
    for (size_t i = 0; i < n && !x->o->no_headers; i++)
        table_cell(t, str_of(names[i]));
}

static struct str pod_name(struct arena *a, const struct json *pod)
{
    struct str namespace = object_namespace(pod);

    return str_is(namespace, "default") ? object_name(pod)
                                        : arena_fmt(a, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(object_name(pod)));
}

static int ps_print_table(const struct table *t)
{
    autobuf out = { 0 };

    if (t->cells.n)
        table_print(&out, t, "");
    return term_print(&out) < 0 ? EXIT_FAILED : EXIT_FINE;
}

/* ---- ps ---- */

/* "Running", or the reason why it does not: "CrashLoopBackOff". */
static struct str ps_phase_of(const struct json *pod)
{
    const struct json *status = json_get(pod, "status");
    struct str phase = json_member_text(status, "phase"), reason = json_member_text(status, "reason");

    if (json_find(pod, "metadata", "deletionTimestamp", NULL))
        return STR("Terminating");
    JSON_FOREACH(c, json_get(status, "containerStatuses")) {
        struct str waits = json_member_text(json_find(c, "state", "waiting", NULL), "reason");

        if (waits.n)
            return waits;
    }
    return reason.n ? reason : phase.n ? phase : STR("Pending");
}

static int64_t restarts_of(const struct json *pod)
{
    int64_t n = 0;

    JSON_FOREACH(c, json_find(pod, "status", "containerStatuses", NULL))
        n += json_i64(json_get(c, "restartCount"), 0);
    return n;
}

static void ps_add_pod(struct table *t, const struct into_run *r, const struct json *pod, int64_t now_ms)
{
    struct str address = json_member_text(json_get(pod, "status"), "podIP");

    ps_cell(t, r->id);
    ps_cell(t, object_label(pod, "volcano.sh/job-name"));
    ps_cell(t, pod_name(t->arena, pod));
    ps_cell(t, r->is_stopped && !pod_has_ended(pod) ? STR("Stopped") : ps_phase_of(pod));
    ps_cell(t, arena_fmt(t->arena, "%lld", (long long)restarts_of(pod)));
    ps_cell(t, ctl_age(t->arena, json_member_text(json_get(pod, "metadata"), "creationTimestamp"), now_ms));
    ps_cell(t, address.n ? address : json_member_text(json_get(pod, "status"), "hostIP"));
}

/* Of a run without pods yet, or one that was stopped before it could list them. */
static void add_jobs(struct table *t, const struct into_run *r, int64_t now_ms)
{
    if (!r->about) {
        ps_cell(t, r->id);
        ps_cell(t, STR_NULL);
        ps_cell(t, STR_NULL);
        ps_cell(t, STR("Stopped"));
        for (size_t i = 4; i < t->columns; i++)
            ps_cell(t, STR_NULL);
    }
    JSON_FOREACH(job, json_get(r->about, "jobs")) {
        ps_cell(t, r->id);
        ps_cell(t, json_member_text(job, "name"));
        ps_cell(t, STR_NULL);
        ps_cell(t, r->is_stopped ? STR("Stopped") : json_member_text(job, "phase"));
        ps_cell(t, STR_NULL);
        ps_cell(t, ctl_age(t->arena, json_member_text(r->about, "began"), now_ms));
        ps_cell(t, STR_NULL);
    }
}

static int print_names(const struct into *x)
{
    autobuf out = { 0 };

    VEC_FOREACH(r, &x->runs)
        JSON_FOREACH(pod, (*r)->pods) {
            term_text(&out, pod_name(x->arena, pod));
            buf_char(&out, '\n');
        }
    return term_print(&out) < 0 ? EXIT_FAILED : EXIT_FINE;
}

static int ps_print_json(const struct into *x)
{
    struct json *runs = json_array(x->arena);
    autobuf out = { 0 };

    VEC_FOREACH(r, &x->runs) {
        struct json *run = json_push(runs, (*r)->about ? json_copy(x->arena, (*r)->about) : json_object(x->arena));

        json_set(run, "id", json_str(x->arena, (*r)->id));
        if ((*r)->is_stopped)
            json_set(run, "stopped", json_bool_new(x->arena, true));
        json_set(run, "pods", (*r)->pods ? json_copy(x->arena, (*r)->pods) : json_array(x->arena));
    }
    json_print_pretty(&out, runs, 2);
    buf_char(&out, '\n');
    return term_print(&out) < 0 ? EXIT_FAILED : EXIT_FINE;
}

static int ps_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    static const char *const names[] = { "RUN", "JOB", "POD", "PHASE", "RESTARTS", "AGE", "ADDRESS" };
    autointo x = { .arena = a, .o = options };
    struct table t = { 0 };
    int64_t now_ms = clock_now_ms(&clock_real);
    struct err e;

    (void)arguments;
    if (into_open(&x, &e) < 0)
        return into_fail("ps", &e);
    if (x.o->quiet)
        return print_names(&x);
    if (x.o->output && strcmp(x.o->output, "json") == 0)
        return ps_print_json(&x);
    if (!x.runs.n && !x.n_silent)
        fprintf(stderr, "you have no run in progress here\n");
    if (x.runs.n)
        heads(&t, &x, names, ARRAY_LEN(names));
    VEC_FOREACH(r, &x.runs) {
        JSON_FOREACH(pod, (*r)->pods)
            ps_add_pod(&t, *r, pod, now_ms);
        if (!json_count((*r)->pods))
            add_jobs(&t, *r, now_ms);
    }
    return ps_print_table(&t);
}

static const char *const forms[] = { "text", "json", NULL };

static const struct option ps_options[] = {
    { 'q', "quiet", OPTION_FLAG, INTO_FIELD(quiet), NULL, NULL, "only names of pods" },
    { 'o', "output", OPTION_TEXT, INTO_FIELD(output), "FORM", forms, "text (default), or json: all of runs and pods" },
    { 0, "no-headers", OPTION_FLAG, INTO_FIELD(no_headers), NULL, NULL, "without the first line" },
    INTO_WHERE,
};

static const char *const ps_examples[] = { "pumice ps", "what runs here, of mine", NULL };

const struct command command_ps = {
    .name = "ps",
    .arguments = "",
    .summary = "list your runs on this machine, and their pods",
    .about =
        "What 'pumice run' runs on this machine for who asks: runs, jobs and pods, where they are, how long, and how\n"
        "often a container was started again. 'pumice exec', 'logs' and the others take the names of POD.",
    .options = ps_options,
    .n_options = ARRAY_LEN(ps_options),
    .options_size = sizeof(struct into_options),
    .foreign = into_foreign,
    .examples = ps_examples,
    .run = ps_run,
};

/* ---- top ---- CPU is a rate, and the machine counts: two looks, and the time between them ---- */

struct ps_look {
    const struct json *rows; /* of /use; NULL: the run has just ended */
    int64_t at_ms;
};

static void ps_look_at(struct into *x, struct ps_look *looks)
{
    for (size_t i = 0; i < x->runs.n; i++) {
        struct json *rows;

        looks[i] = (struct ps_look){ NULL, clock_mono_ms(&clock_real) };
        if (!x->runs.v[i]->is_stopped && into_get(x, x->runs.v[i], STR("/use"), &rows, NULL) == 0)
            looks[i].rows = rows;
    }
}

static const struct json *row_of(const struct ps_look *l, const struct json *pod)
{
    JSON_FOREACH(row, l->rows)
        if (str_eq(json_member_text(row, "pod"), object_name(pod)) &&
            str_eq(json_member_text(row, "namespace"), object_namespace(pod)))
            return row;
    return NULL;
}

/* What all containers may use together; -1: one has no limit. */
static int64_t ps_limit_of(const struct json *pod, const char *resource, bool is_milli)
{
    int64_t sum = 0;

    JSON_FOREACH(c, json_find(pod, "spec", "containers", NULL)) {
        const struct json *j = json_find(c, "resources", "limits", resource, NULL);
        struct quantity q;
        autobuf text = { 0 };

        if (json_is(j, JSON_NUMBER))
            json_print(&text, j);
        else
            buf_str(&text, json_text(j, STR_NULL));
        if (!text.n || quantity_parse(buf_view(&text), &q, NULL) < 0)
            return -1;
        sum += is_milli ? quantity_milli(q) : quantity_units(q);
    }
    return sum;
}

static struct str milli(struct arena *a, int64_t n)
{
    return n < 0 ? STR_NULL : arena_fmt(a, "%lldm", (long long)n);
}

static struct str mebi(struct arena *a, int64_t bytes)
{
    return bytes < 0 ? STR_NULL : arena_fmt(a, "%lldMi", (long long)(bytes >> 20));
}

static void add_use(struct table *t, const struct into_run *r, const struct json *pod, const struct ps_look *before,
                    const struct ps_look *now)
{
    const struct json *old = row_of(before, pod), *row = row_of(now, pod);
    int64_t us = json_i64(json_get(row, "cpuMicroseconds"), -1),
            old_us = json_i64(json_get(old, "cpuMicroseconds"), -1),
            cpu = us < 0 || old_us < 0 || us < old_us ? -1 : (us - old_us) / MAX_OF(now->at_ms - before->at_ms, 1);

    if (!row)
        return; /* it does not run */
    ps_cell(t, r->id);
    ps_cell(t, pod_name(t->arena, pod));
    ps_cell(t, milli(t->arena, cpu));
    ps_cell(t, milli(t->arena, ps_limit_of(pod, "cpu", true)));
    ps_cell(t, mebi(t->arena, json_i64(json_get(row, "memoryBytes"), -1)));
    ps_cell(t, mebi(t->arena, ps_limit_of(pod, "memory", false)));
}

static bool ps_is_meant(const struct json *pod, const struct into_run *r, const struct into_pods *wanted)
{
    VEC_FOREACH(p, &wanted->v)
        if (p->run == r && p->pod == pod)
            return true;
    return false;
}

static int pick_named(struct into *x, const struct text_list *names, struct into_pods *ret, struct err *e)
{
    VEC_FOREACH(name, &names->list) {
        struct into_pods some = { 0 };

        if (into_pick_all(x, str_of(*name), &some, e) < 0)
            return -1;
        VEC_FOREACH(p, &some.v)
            *vec_push(x->arena, &ret->v) = *p;
    }
    return 0;
}

static int top_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    static const char *const names[] = { "RUN", "POD", "CPU(cores)", "LIMIT", "MEMORY", "LIMIT" };
    autointo x = { .arena = a, .o = options };
    struct into_pods wanted = { 0 };
    struct ps_look *before, *now;
    struct table t = { 0 };
    size_t n = 0;
    struct err e;

    if (into_open(&x, &e) < 0 || pick_named(&x, arguments, &wanted, &e) < 0)
        return into_fail("top", &e);
    if (!x.runs.n && !x.n_silent)
        fprintf(stderr, "you have no run in progress here\n");
    VEC_FOREACH(r, &x.runs) {
        n += !(*r)->is_stopped;
        if ((*r)->is_stopped && !arguments->list.n)
            into_tell_stopped(*r);
    }
    if (!n)
        return EXIT_FINE;
    before = arena_array(a, struct ps_look, x.runs.n);
    now = arena_array(a, struct ps_look, x.runs.n);
    ps_look_at(&x, before);
    (void)poll(NULL, 0, MEASURE_MS);
    ps_look_at(&x, now);
    heads(&t, &x, names, ARRAY_LEN(names));
    for (size_t i = 0; i < x.runs.n; i++)
        JSON_FOREACH(pod, x.runs.v[i]->pods)
            if (!arguments->list.n || ps_is_meant(pod, x.runs.v[i], &wanted))
                add_use(&t, x.runs.v[i], pod, &before[i], &now[i]);
    return ps_print_table(&t);
}

static const struct option top_options[] = {
    { 0, "no-headers", OPTION_FLAG, INTO_FIELD(no_headers), NULL, NULL, "without the first line" },
    INTO_POD,
};

const struct command command_top = {
    .name = "top",
    .arguments = "[POD…]",
    .summary = "show the CPU and memory use of pods of runs",
    .about = "Thousandths of cores in use, measured for a second, and memory, of the pods that run; beside them their "
             "limits.\n"
             "POD may also be the name of a Job. A '-' is what this machine does not count, as for ordinary users "
             "without\n"
             "control groups of their own ('pumice doctor'), or no limit.",
    .options = top_options,
    .n_options = ARRAY_LEN(top_options),
    .options_size = sizeof(struct into_options),
    .foreign = into_foreign,
    .run = top_run,
};
