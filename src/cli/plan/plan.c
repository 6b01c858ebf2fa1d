/* plan.c - the command `pumice plan`: the real controllers and scheduler on virtual time, and what comes of it */
#include "cli/plan/plan.h"

#include "api/duration.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "cli/commands.h"
#include "cli/config_watch.h"
#include "cli/explain/explain.h"
#include "report/gantt.h"
#include "cli/live.h"
#include "cli/load.h"
#include "report/plan_page.h"
#include "cli/plan/scenario.h"
#include "flow/flow.h"
#include "base/term.h"
#include "whatif/future.h"
#include "whatif/hollow.h"

#include <errno.h>

#define DAY_MS (24 * 3600 * INT64_C(1000))

enum {
    QUIET_DAYS = 1,         /* nothing runs to an end and no job changed for so long: nothing will */
    LONGEST_DAYS = 50 * 365 /* a longer plan is useless */
};

struct plan_options {
    const char *output, *out, *namespace, *until, *at, *config;
    struct text_list files, runtime, nodes;
    struct live_options live;
    struct changes changes;
};

/* ---- run times ---- */

struct runtime {                     /* one --runtime */
    struct str namespace, job, task; /* empty: any */
    int64_t ms;
};

struct planner {
    struct arena *arena;
    const struct plan_options *o;
    int64_t begin_ms, until_ms;
    bool has_schedules; /* of CronJobs, which go on for ever */
    VEC(struct runtime) runtimes;
    int64_t default_ms; /* -1: none */
    struct sched_config config;
};

static int parse_ms(const char *flag, struct str text, int64_t *ret, struct err *e)
{
    int64_t ns;

    if (duration_parse(text, &ns, e) < 0)
        return err_wrap(e, "%s", flag);
    if (ns < 0)
        return err_set(e, ERR_INVALID, "%s: must not be negative", flag);
    *ret = ns / 1000000;
    return 0;
}

/* A job that a JobFlow will make, "FLOW-VERTEX", and the task behind it if there is one. */
static bool flow_runtime(const struct scenario *s, struct str name, struct runtime *ret)
{
    for (size_t i = 0; i < s->objects.n; i++) {
        const struct json *flow = s->objects.v[i];

        if (!str_is(object_kind(flow), "JobFlow"))
            continue;
        JSON_FOREACH(vertex, json_find(flow, "spec", "flows", NULL)) {
            struct str job = jobflow_job_name(s->arena, object_name(flow), json_member_text(vertex, "name"));

            if (!str_eq(name, job) && !str_starts(name, arena_cat(s->arena, job, STR("/"))))
                continue;
            ret->namespace = object_namespace(flow);
            ret->job = job;
            ret->task = str_from(name, job.n + (name.n > job.n));
            return true;
        }
    }
    return false;
}

/* "JOB", "JOB/TASK", "NAMESPACE/JOB", "NAMESPACE/JOB/TASK": a task is looked for first. */
static int runtime_name(const struct scenario *s, struct str name, struct runtime *ret, struct err *e)
{
    struct json *job, *task = NULL;
    struct err first = { 0 };

    if (flow_runtime(s, name, ret))
        return 0;
    if (!str_has_char(name, '/') || scenario_task(s, name, &job, &task, &first) < 0) {
        if (scenario_job(s, name, &job, e) < 0) {
            if (str_has_char(name, '/') && first.code == ERR_NOT_FOUND)
                *e = first;
            return -1;
        }
    }
    ret->namespace = object_namespace(job);
    ret->job = object_name(job);
    ret->task = json_member_text(task, "name");
    return 0;
}

static int read_runtimes(struct planner *p, const struct scenario *s, struct err *e)
{
    p->default_ms = -1;
    VEC_FOREACH(value, &p->o->runtime.list) {
        struct str text = str_of(*value);
        ptrdiff_t eq = str_rfind_char(text, '=');
        struct runtime r = { 0 };

        if (eq < 0) {
            if (parse_ms("--runtime", text, &p->default_ms, e) < 0)
                return -1;
            continue;
        }
        if (parse_ms("--runtime", str_from(text, (size_t)eq + 1), &r.ms, e) < 0)
            return -1;
        if (runtime_name(s, str_sub(text, 0, (size_t)eq), &r, e) < 0)
            return err_wrap(e, "--runtime %s", *value);
        *vec_push(p->arena, &p->runtimes) = r;
    }
    return 0;
}

struct plan_run { /* of one scenario */
    struct planner *planner;
    struct future *future;
    struct history *history;
};

/* --runtime of the task, then of the job, then what is declared, then --runtime for all that belong to a job: what else
 * runs there (daemons …) stays. */
static int64_t pod_runtime(void *ctx, const struct json *pod)
{
    struct plan_run *run = ctx;
    struct str job = object_annotation(pod, "volcano.sh/job-name"),
               task = object_annotation(pod, "volcano.sh/task-spec");
    int64_t ms = -1;
    bool has_task = false;

    VEC_FOREACH(r, &run->planner->runtimes)
        if (str_eq(r->job, job) && str_eq(r->namespace, object_namespace(pod)) &&
            (str_empty(r->task) ? !has_task : str_eq(r->task, task))) {
            ms = r->ms;
            has_task |= r->task.n > 0;
        }
    if (ms < 0)
        ms = future_declared_ms(run->future, pod);
    if (ms < 0 && (job.n || object_annotation(pod, "scheduling.k8s.io/group-name").n))
        ms = run->planner->default_ms;
    return ms;
}

static void on_changed(void *ctx, const struct object *o, bool is_gone, int64_t now_ms)
{
    history_changed(((struct plan_run *)ctx)->history, o, is_gone, now_ms);
}

/* ---- submitting ---- */

struct arrival {
    int64_t at_ms;
    size_t seq;
    const struct json *object;
};

static int by_arrival(const void *x, const void *y)
{
    const struct arrival *a = x, *b = y;

    if (a->at_ms != b->at_ms)
        return a->at_ms < b->at_ms ? -1 : 1;
    return a->seq < b->seq ? -1 : 1;
}

/* A job comes when its annotation says, or when it was created if that is yet to come. */
static int64_t arrival_ms(const struct planner *p, const struct json *object)
{
    int64_t after_ms = annotation_ms(object, SUBMIT_ANNOTATION), created_ms;

    if (!str_is(object_kind(object), JOB_KIND))
        return p->begin_ms;
    if (after_ms >= 0)
        return p->begin_ms + MIN_OF(after_ms, LONGEST_DAYS * DAY_MS);
    if (clock_parse(json_member_text(json_get(object, "metadata"), "creationTimestamp"), &created_ms, NULL) == 0)
        return MAX_OF(created_ms, p->begin_ms);
    return p->begin_ms;
}

static int plan_submit(struct plan_run *run, const struct arrival *a, struct err *e)
{
    struct json *object = json_copy(run->planner->arena, a->object);

    if (a->at_ms > run->planner->begin_ms) /* it is made then, whatever the file says */
        json_remove(json_get(object, "metadata"), "creationTimestamp");
    if (future_add(run->future, object, e) < 0)
        return err_wrap(e, "%.*s %.*s", STR_ARG(object_kind(object)), STR_ARG(object_name(object)));
    return 0;
}

/* ---- running ---- */

/* Step by step until all is over; jobs are put in when their time comes. */
static int run_until_over(struct plan_run *run, const struct arrival *v, size_t n, bool *ret_cut, struct err *e)
{
    size_t at = 0;

    *ret_cut = false;
    for (;;) {
        int64_t due_ms, next_ms;

        for (; at < n && v[at].at_ms <= future_now_ms(run->future); at++)
            if (plan_submit(run, &v[at], e) < 0)
                return -1;
        due_ms = future_settle(run->future);
        next_ms = at < n ? MIN_OF(due_ms, v[at].at_ms) : due_ms;
        if (at == n && (next_ms == INT64_MAX || (run->history->n_open == 0 && !run->planner->has_schedules)))
            return 0;
        if (at == n && !run->planner->has_schedules && future_is_idle(run->future) &&
            next_ms - run->history->changed_ms > QUIET_DAYS * DAY_MS)
            return 0;
        if (next_ms > run->planner->until_ms) {
            *ret_cut = true;
            return 0;
        }
        future_jump(run->future, next_ms);
    }
}

/* The end of what is shown. Behind the last change a little of what goes on for ever. */
static int64_t plan_end_of(const struct plan_run *run, bool is_cut)
{
    const struct history *h = run->history;
    int64_t span_ms = h->changed_ms - h->begin_ms;

    if (is_cut)
        return run->planner->until_ms;
    if (h->n_open == 0)
        return MAX_OF(h->changed_ms, h->begin_ms + 1000);
    return h->changed_ms + MAX_OF(span_ms / 8, 60000);
}

static int plan_scenario(struct planner *p, const struct scenario *s, struct history **ret, bool *ret_cut,
                         struct err *e)
{
    struct plan_run run = { .planner = p };
    struct future_options opt = {
        .now_ms = p->begin_ms, .config = &p->config, .runtime_ms = pod_runtime, .changed = on_changed, .ctx = &run
    };
    struct arrival *v = arena_array(p->arena, struct arrival, s->objects.n + 1);
    int rc;

    for (size_t i = 0; i < s->objects.n; i++)
        v[i] = (struct arrival){ arrival_ms(p, s->objects.v[i]), i, s->objects.v[i] };
    qsort(v, s->objects.n, sizeof(*v), by_arrival);
    run.future = future_new(&opt);
    run.history = *ret = history_new(
        &(struct history_options){ .begin_ms = p->begin_ms, .is_cluster = true, .sched = future_sched(run.future) });
    rc = run_until_over(&run, v, s->objects.n, ret_cut, e);
    history_finish(run.history, plan_end_of(&run, *ret_cut));
    future_free(run.future);
    return rc;
}

/* ---- input ---- */

/* A duration that cannot be read would be taken for none: say so instead. */
static void check_duration(struct problems *ps, const struct place *at_meta, const char *key)
{
    struct place notes = place_member(at_meta, "annotations"), at = place_member(&notes, key);
    int64_t ns;
    struct err e;

    if (!at.node)
        return;
    if (duration_parse(json_text(at.node, STR("")), &ns, &e) < 0)
        problem_error(ps, &at, "%s", e.text);
    else if (ns < 0)
        problem_error(ps, &at, "must not be negative");
}

static void plan_check_annotations(struct loaded *doc)
{
    struct place root = { .node = doc->root }, meta = place_member(&root, "metadata"),
                 spec = place_member(&root, "spec"), tasks = place_member(&spec, "tasks");
    size_t i = 0;

    check_duration(&doc->problems, &meta, RUNTIME_ANNOTATION);
    check_duration(&doc->problems, &meta, SUBMIT_ANNOTATION);
    JSON_FOREACH(task, tasks.node) {
        struct place item = place_item(&tasks, task, i++), template = place_member(&item, "template"),
                     own = place_member(&template, "metadata");

        check_duration(&doc->problems, &own, RUNTIME_ANNOTATION);
    }
}

static void check_node(struct loaded *doc)
{
    struct place root = { .node = doc->root }, status = place_member(&root, "status"),
                 have = place_member(&status, "allocatable");

    if (str_is(object_kind(doc->root), "Node") && json_count(have.node) == 0 &&
        json_count(json_get(status.node, "capacity")) == 0)
        problem_error(&doc->problems, &have, "missing: without it (or status.capacity) no pod fits on this node");
}

/* Events tell the past, and the other kinds are answers, not things. */
static bool plan_is_wanted(const struct loaded *doc)
{
    return doc->type && doc->type->schema && strcmp(doc->type->kind, "Event") != 0 &&
           strcmp(doc->type->kind, "Binding") != 0;
}

/* An object that a server has accepted needs no warnings here. */
static void drop_warnings(struct loaded *doc)
{
    size_t n = 0;

    if (str_empty(object_uid(doc->root)))
        return;
    VEC_FOREACH(p, &doc->problems.list)
        if (p->level == PROBLEM_ERROR)
            doc->problems.list.v[n++] = *p;
    doc->problems.list.n = n;
}

static void fill_namespace(struct load *l, struct loaded *doc)
{
    struct json *meta = json_get(doc->root, "metadata");

    if (doc->type->scope == SCOPE_NAMESPACED && json_is(meta, JSON_OBJECT) && str_empty(object_namespace(doc->root)))
        json_set(meta, "namespace", json_str(l->arena, str_of(l->namespace ? l->namespace : "default")));
}

static void add_wanted(struct load *l, struct scenario *s, const struct load *but)
{
    for (size_t i = 0; i < l->docs.n; i++)
        if (plan_is_wanted(l->docs.v[i]) && !(but && load_has(but, l->docs.v[i]))) {
            fill_namespace(l, l->docs.v[i]);
            scenario_add(s, l->docs.v[i]->root);
        }
}

/* The files, in the state of a cluster: what they have another version of is left out there. */
static int read_scenario(struct load *l, const struct text_list *files, struct load *cluster, struct scenario *s)
{
    l->state = cluster->docs.n ? cluster : NULL;
    load_read(l, files);
    load_admit(l);
    for (size_t i = 0; i < l->docs.n; i++) {
        plan_check_annotations(l->docs.v[i]);
        check_node(l->docs.v[i]);
        drop_warnings(l->docs.v[i]);
        problems_sort(&l->docs.v[i]->problems);
    }
    if (load_report(l))
        return -1;
    add_wanted(cluster, s, l);
    add_wanted(l, s, NULL);
    return 0;
}

static int read_cluster(struct arena *a, const struct plan_options *o, struct load *l, struct load *cluster,
                        struct err *e)
{
    autolive live = { 0 };

    if (live_open(&live, a, &o->live, "plan", e) < 0)
        return -1;
    if (!l->namespace)
        l->namespace = cluster->namespace = arena_cstr(a, live.config.namespace);
    return live_read_state(&live, cluster, e);
}

/* ---- output ---- */

struct form {
    const char *name;
    void (*print)(struct buf *out, const struct plan_report *r);
};

static void print_gantt(struct buf *out, const struct plan_report *r)
{
    gantt_print(out, r->h, &(struct gantt_options){ .width = r->width, .colour = r->colour });
}

static void print_page(struct buf *out, const struct plan_report *r,
                       void (*page)(struct buf *out, const struct history *h, const struct page_options *opt))
{
    struct page_options opt = { .before = r->before, .change = r->change };
    autobuf title = { 0 };

    plan_title(&title, r->h);
    opt.title = buf_view(&title);
    page(out, r->h, &opt);
}

static void print_svg(struct buf *out, const struct plan_report *r)
{
    print_page(out, r, page_svg);
}

static void print_html(struct buf *out, const struct plan_report *r)
{
    print_page(out, r, page_html);
}

static const struct form forms[] = {
    { "table", plan_print_table }, { "json", plan_print_json }, { "gantt", print_gantt },
    { "svg", print_svg },          { "html", print_html },
};
static const char *const form_names[] = { "table", "json", "gantt", "svg", "html", NULL };
_Static_assert(ARRAY_LEN(forms) + 1 == ARRAY_LEN(form_names), "name every form");

static int write_out(const char *path, const struct buf *text)
{
    FILE *f;
    bool is_bad;

    if (!path || strcmp(path, "-") == 0)
        return term_print(text);
    f = fopen(path, "we");
    is_bad = !f || term_write(f, text) < 0;
    if (f && fclose(f) != 0)
        is_bad = true;
    if (is_bad)
        fprintf(stderr, "pumice: cannot write %s: %s\n", path, strerror(errno));
    return is_bad ? -1 : 0;
}

static int print_report(const struct plan_options *o, struct plan_report *r)
{
    autobuf text = { 0 };

    r->colour = (!o->out || strcmp(o->out, "-") == 0) && term_has_colour(stdout);
    r->width = gantt_width();
    for (size_t i = 0; i < ARRAY_LEN(forms); i++)
        if (strcmp(o->output ? o->output : "table", forms[i].name) == 0)
            forms[i].print(&text, r);
    return write_out(o->out, &text) < 0 ? EXIT_FAILED : EXIT_FINE;
}

/* ---- the command ---- */

static int check_scenario(const struct scenario *s, struct err *e)
{
    if (scenario_count(s, "Node") == 0)
        return err_set(
            e, ERR_INVALID,
            "no Node to run on: add the output of 'kubectl get nodes -o yaml', or use --nodes 4=cpu:8,memory:32Gi");
    if (scenario_count(s, JOB_KIND) + scenario_count(s, "PodGroup") + scenario_count(s, "Pod") +
            scenario_count(s, "JobFlow") + scenario_count(s, "CronJob") ==
        0)
        return err_set(e, ERR_INVALID, "no Job to plan");
    return 0;
}

static int plan_read_times(struct planner *p, struct err *e)
{
    int64_t until_ms = p->has_schedules ? DAY_MS : LONGEST_DAYS * DAY_MS;

    p->begin_ms = clock_now_ms(&clock_real) / 1000 * 1000;
    if (p->o->at && clock_parse(str_of(p->o->at), &p->begin_ms, e) < 0)
        return err_wrap(e, "--at");
    if (p->o->until && parse_ms("--until", str_of(p->o->until), &until_ms, e) < 0)
        return -1;
    p->until_ms = p->begin_ms + MIN_OF(until_ms, LONGEST_DAYS * DAY_MS);
    return 0;
}

/* The PodGroups of Jobs that were submitted before. */
static void add_groups(struct planner *p, struct scenario *s)
{
    struct map groups = { 0 }; /* by the uid of their jobs */
    size_t n = s->objects.n;

    for (size_t i = 0; i < n; i++)
        if (str_is(object_kind(s->objects.v[i]), "PodGroup"))
            map_put(&groups, object_controller_uid(s->objects.v[i]), s->objects.v[i]);
    for (size_t i = 0; i < n; i++) {
        const struct json *object = s->objects.v[i];

        if (future_lacks_group(object) && !map_get(&groups, object_uid(object)) && arrival_ms(p, object) == p->begin_ms)
            scenario_add(s, future_group_of(p->arena, object));
    }
    map_done(&groups);
}

static int plan_prepare(struct planner *p, struct scenario *base, struct err *e)
{
    VEC_FOREACH(value, &p->o->nodes.list)
        if (scenario_make_nodes(base, str_of(*value), e) < 0)
            return err_wrap(e, "--nodes %s", *value);
    p->has_schedules = scenario_count(base, "CronJob") > 0;
    if (check_scenario(base, e) < 0 || plan_read_times(p, e) < 0 ||
        scheduler_config(p->arena, p->o->config, &p->config, e) < 0)
        return -1;
    p->config.knows_claims = false;
    for (size_t i = 0; i < base->objects.n; i++)
        p->config.knows_claims |= str_is(object_kind(base->objects.v[i]), "PersistentVolumeClaim");
    add_groups(p, base);
    return read_runtimes(p, base, e);
}

/* Both plans where something was changed; the one with the changes is what is shown. */
static int plan_both(struct planner *p, const struct scenario *base, struct err *e)
{
    struct scenario changed = { .arena = p->arena };
    struct history *plain = NULL, *after = NULL;
    struct plan_report r = { 0 };
    autobuf words = { 0 };
    bool is_cut;
    int status = -1;

    if (changes_any(&p->o->changes)) {
        scenario_copy(&changed, base);
        if (scenario_change(&changed, &p->o->changes, &words, e) < 0 || check_scenario(&changed, e) < 0)
            return command_fail("plan", e, EXIT_USAGE);
    }
    if (plan_scenario(p, base, &plain, &r.is_cut, e) < 0)
        goto done;
    r.h = plain;
    if (changed.objects.n) {
        if (plan_scenario(p, &changed, &after, &is_cut, e) < 0)
            goto done;
        r = (struct plan_report){ .h = after, .before = plain, .change = buf_view(&words), .is_cut = is_cut };
    }
    status = print_report(p->o, &r);
done:
    history_free(plain);
    history_free(after);
    return status;
}

static int plan_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    const struct plan_options *o = options;
    autoload l = { .arena = a, .namespace = o->namespace }, cluster = { .arena = a, .namespace = o->namespace };
    struct planner p = { .arena = a, .o = o };
    struct scenario base = { .arena = a };
    struct text_list files = { 0 };
    struct err e;
    int status;

    VEC_FOREACH(file, &o->files.list)
        *vec_push(a, &files.list) = *file;
    VEC_FOREACH(file, &arguments->list)
        *vec_push(a, &files.list) = *file;
    if ((files.list.n == 0 || live_is_asked(&o->live)) && read_cluster(a, o, &l, &cluster, &e) < 0)
        return command_fail("plan", &e, live_is_asked(&o->live) ? EXIT_FAILED : EXIT_USAGE);
    if (read_scenario(&l, &files, &cluster, &base) < 0)
        return EXIT_FAILED;
    if (plan_prepare(&p, &base, &e) < 0)
        return command_fail("plan", &e, EXIT_USAGE);
    status = plan_both(&p, &base, &e);
    return status < 0 ? command_fail("plan", &e, EXIT_FAILED) : status;
}

#define FIELD(name) offsetof(struct plan_options, name)

static const struct option plan_option_table[] = {
    { 'f', "file", OPTION_LIST, FIELD(files), "STATE", NULL,
      "objects of the cluster: Nodes, Queues, PriorityClasses, Jobs, Pods … (may be repeated; '-': standard input)" },
    LIVE_OPTIONS(struct plan_options, live),
    { 'o', "output", OPTION_TEXT, FIELD(output), "FORM", form_names,
      "table (default), json, gantt (chart in the terminal), svg, html (a page in one file)" },
    { 0, "out", OPTION_TEXT, FIELD(out), "FILE", NULL, "write to this file" },
    { 0, "runtime", OPTION_LIST, FIELD(runtime), "[JOB[/TASK]=]TIME", NULL,
      "how long pods run: of this job or task; without JOB for all that declare nothing (may be repeated)" },
    { 0, "nodes", OPTION_LIST, FIELD(nodes), "N=SIZE", NULL, "make N nodes, such as 4=cpu:8,memory:32Gi" },
    { 0, "until", OPTION_TEXT, FIELD(until), "TIME", NULL,
      "look no further ahead than this, such as 8h (default with CronJobs: 24h)" },
    { 0, "at", OPTION_TEXT, FIELD(at), "TIME", NULL, "when it begins, as 2026-03-01T09:00:00Z (default: now)" },
    { 'n', "namespace", OPTION_TEXT, FIELD(namespace), "NAME", NULL,
      "namespace of objects that name none (default: default)" },
    { 0, "scheduler-config", OPTION_TEXT, FIELD(config), "FILE", NULL,
      "Volcano's volcano-scheduler.conf (default: all rules on)" },
    { 0, "add-nodes", OPTION_LIST, FIELD(changes.add_nodes), "N[=NODE]", NULL,
      "what if there were N more nodes, like NODE (default: the first)" },
    { 0, "remove-node", OPTION_LIST, FIELD(changes.remove_node), "NODE", NULL, "what if this node did not exist" },
    { 0, "set-priority", OPTION_LIST, FIELD(changes.set_priority), "JOB=CLASS", NULL,
      "what if the job had this PriorityClass, or this number" },
    { 0, "set-queue", OPTION_LIST, FIELD(changes.set_queue), "JOB=QUEUE", NULL, "what if the job were in this queue" },
    { 0, "replicas", OPTION_LIST, FIELD(changes.replicas), "JOB/TASK=N", NULL, "what if the task had N pods" },
    { 0, "min-available", OPTION_LIST, FIELD(changes.min_available), "JOB=N", NULL,
      "what if N pods were enough to start" },
    { 0, "without", OPTION_LIST, FIELD(changes.without), "JOB", NULL, "what if this job were not there" },
};

static const char *const plan_examples[] = {
    "pumice plan job.yaml --cluster",
    "when the job would start and end in the cluster that kubectl uses",
    "pumice plan -f state.yaml --runtime 30m",
    "when each job would start and end",
    "pumice plan -f state.yaml -o gantt",
    "as a chart",
    "pumice plan -f state.yaml --add-nodes 2",
    "what two more nodes would buy",
    "pumice plan job.yaml --nodes 4=cpu:8",
    "on a cluster that does not exist",
    "pumice plan -f a.yaml -o html --out a.html",
    "a page to show around",
    NULL,
};

const struct command command_plan = {
    .name = "plan",
    .arguments = "[STATE…]",
    .summary = "predict when jobs start and end, which wait and why, and the effect of a change",
    .about = "Runs the real controllers and the real scheduler on virtual time, over simulated nodes. It starts "
             "nothing and\n"
             "changes nothing anywhere.\n\n"
             "The state comes from files or, without files, from the cluster that kubectl uses. With --cluster, "
             "--kubeconfig or\n"
             "--context, the files are applied to the state of that cluster.\n\n"
             "The annotation pumice.dev/runtime (of the Job, the task's template or the pod), spec.runningEstimate of "
             "the Job, or\n"
             "--runtime tells how long a pod runs. A Job with the annotation pumice.dev/submit-after: 5m is submitted "
             "five minutes\n"
             "after the start; one with a creationTimestamp in the future, at that time. Jobs of a JobFlow follow its "
             "order, as\n"
             "FLOW-VERTEX, and those of a CronJob its schedule.\n\n"
             "With \"what if\" flags, it makes both plans, and the table shows the difference.",
    .options = plan_option_table,
    .n_options = ARRAY_LEN(plan_option_table),
    .options_size = sizeof(struct plan_options),
    .examples = plan_examples,
    .run = plan_run,
};
