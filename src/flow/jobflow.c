/* jobflow.c - the jobs of a flow, each in its time
 *
 * The status is brought up to date first, alone: it remembers what became of each vertex. Only from a status that is
 * stored are jobs made. A vertex without a job has not begun, unless the status knows its end; so a job that was deleted
 * while it ran is run again, and one that was deleted afterwards (by its time to live, by hand) is not.
 */
#include "flow/jobflow_internal.h"

#include "api/schema/schemas.h"
#include "base/map.h"
#include "base/util.h"
#include "job/phase.h"
#include "json/patch.h"

const char *const flow_phase_names[FLOW_PHASE_MAX] = {
    [FLOW_NONE] = "",           [FLOW_PENDING] = "Pending", [FLOW_RUNNING] = "Running",
    [FLOW_SUCCEED] = "Succeed", [FLOW_FAILED] = "Failed",   [FLOW_TERMINATING] = "Terminating",
};

enum { LABEL_MAX = 63, LABEL_HASH = 11 };

struct str jobflow_job_name(struct arena *a, struct str flow, struct str vertex)
{
    return arena_fmt(a, "%.*s-%.*s", STR_ARG(flow), STR_ARG(vertex));
}

/* ---- looking ---- */

static enum flow_phase jobflow_phase_of(const struct json *flow)
{
    struct str text = json_text(json_find(flow, "status", "state", "phase", NULL), STR(""));

    for (enum flow_phase p = 0; p < FLOW_PHASE_MAX; p++)
        if (str_is(text, flow_phase_names[p]))
            return p;
    return FLOW_NONE;
}

/* What one knows of a job by its name; both maps are of trees. */
static struct flow_vertex vertex_of(const struct map *rows, const struct map *jobs, struct str job_name)
{
    struct flow_vertex v = { .job_name = job_name, .job = map_get(jobs, job_name), .row = map_get(rows, job_name) };
    struct str last = json_member_text(v.row, "state");

    if (v.job)
        v.phase = job_phase_text(v.job).n ? job_phase_text(v.job) : STR("Pending");
    else if (phase_is_final(job_phase_of(last)))
        v.phase = last;
    return v;
}

struct flow_view flow_look(struct arena *a, const struct jobflow_observed *o)
{
    struct flow_view f = { .o = o, .arena = a, .phase = jobflow_phase_of(o->flow) };
    struct map rows = { 0 }, jobs = { 0 };

    JSON_FOREACH(row, json_find(o->flow, "status", "jobStatusList", NULL))
        map_put(&rows, json_member_text(row, "name"), row);
    for (size_t i = 0; i < o->n_jobs; i++)
        map_put(&jobs, object_name(o->jobs[i]), (struct json *)o->jobs[i]); /* read only, as everything here */
    f.graph = graph_new(a, json_find(o->flow, "spec", "flows", NULL));
    f.v = arena_array(a, struct flow_vertex, f.graph.n + o->n_jobs + 1);
    for (size_t i = 0; i < f.graph.n; i++) {
        struct str job_name = jobflow_job_name(a, object_name(o->flow), f.graph.v[i].name);

        /* A second one of the same name has no job: it would be that of the first. */
        if (f.graph.v[i].is_double)
            f.v[f.n] = (struct flow_vertex){ .job_name = job_name };
        else
            f.v[f.n] = vertex_of(&rows, &jobs, job_name);
        f.v[f.n++].in_graph = &f.graph.v[i];
    }
    for (size_t i = 0; i < f.graph.n; i++)
        (void)map_remove(&jobs, f.v[i].job_name);
    for (size_t i = 0; i < o->n_jobs; i++) /* in the order they were given, not in that of a map */
        if (map_get(&jobs, object_name(o->jobs[i])))
            f.v[f.n++] = vertex_of(&rows, &jobs, object_name(o->jobs[i]));
    map_done(&rows);
    map_done(&jobs);
    return f;
}

/* ---- what may start ---- */

static bool is_completed(const struct flow_vertex *v)
{
    return str_is(v->phase, "Completed");
}

/* As many pods of the task as it needs are in that phase; where they should run, those that have succeeded count. */
static bool task_is_in(const struct json *job, const struct json *task, struct str phase)
{
    struct str name = json_member_text(task, "name");
    const struct json *counts = json_get(json_get_str(json_find(job, "status", "taskStatusCount", NULL), name),
                                         "phase");
    int64_t replicas = json_i64(json_get(task, "replicas"), 0);
    int64_t want = MAX_OF(json_i64(json_get(task, "minAvailable"), replicas), 1);
    int64_t have = json_i64(json_get_str(counts, phase), 0);

    if (str_is(phase, "Running"))
        have += json_i64(json_get(counts, "Succeeded"), 0);
    return have >= want;
}

static bool task_answers(const struct flow_view *f, const struct json *job, struct str task, const struct json *probe,
                         bool is_http)
{
    const struct json *header = json_get(probe, "httpHeader");
    int64_t port = json_i64(json_get(probe, "port"), 0);
    struct flow_question q = { object_name(job),
                               task,
                               (uint16_t)port,
                               is_http,
                               json_member_text(probe, "path"),
                               json_member_text(header, "name"),
                               json_member_text(header, "value") };

    return f->o->answers && port > 0 && port <= UINT16_MAX && f->o->answers(f->o->ctx, &q);
}

enum jobflow_probe_kind { PROBE_HTTP, PROBE_TCP, PROBE_STATUS, PROBE_KIND_MAX };
static const char *const probe_lists[PROBE_KIND_MAX] = { "httpGetList", "tcpSocketList", "taskStatusList" };

/* One probe, against the tasks of that name of one target; no name: all its tasks. '*any': there was one. */
static bool probe_passes(const struct flow_view *f, const struct json *job, const struct json *probe,
                         enum jobflow_probe_kind kind, bool *any)
{
    struct str wanted = json_member_text(probe, "taskName");
    size_t i = 0;

    JSON_FOREACH(task, json_find(job, "spec", "tasks", NULL)) {
        struct str name = json_member_text(task, "name");

        if (!name.n)
            name = arena_fmt(f->arena, "default%zu", i);
        i++;
        if (wanted.n && !str_eq(wanted, name))
            continue;
        *any = true;
        if (kind == PROBE_STATUS ? !task_is_in(job, task, json_member_text(probe, "phase"))
                                 : !task_answers(f, job, name, probe, kind == PROBE_HTTP))
            return false;
    }
    return true;
}

/* Every probe passes on every target that has the task, and some target has it. A target that has completed has nothing
 * left to probe. */
static bool probes_pass(const struct flow_view *f, const struct flow_vertex *v, const struct json *probes)
{
    bool is_fine = true;

    for (enum jobflow_probe_kind kind = 0; kind < PROBE_KIND_MAX; kind++)
        JSON_FOREACH(probe, json_get(probes, probe_lists[kind])) {
            bool any = false;

            for (size_t i = 0; i < v->in_graph->n_targets; i++) {
                const struct flow_vertex *target = &f->v[v->in_graph->targets[i]];

                if (is_completed(target))
                    any = true;
                else
                    is_fine &= probe_passes(f, target->job, probe, kind, &any); /* ask all: answers take time */
            }
            is_fine &= any;
        }
    return is_fine;
}

static bool has_probes(const struct json *probes)
{
    for (enum jobflow_probe_kind kind = 0; kind < PROBE_KIND_MAX; kind++)
        if (json_count(json_get(probes, probe_lists[kind])))
            return true;
    return false;
}

bool flow_is_ready(const struct flow_view *f, const struct flow_vertex *v)
{
    const struct json *depends = json_get(v->in_graph->spec, "dependsOn"), *probes = json_get(depends, "probe");

    if (v->in_graph->has_unknown)
        return false;
    for (size_t i = 0; i < v->in_graph->n_targets; i++) {
        const struct flow_vertex *target = &f->v[v->in_graph->targets[i]];

        if (!is_completed(target) && !(has_probes(probes) && target->job))
            return false;
    }
    return !v->in_graph->n_targets || !has_probes(probes) || probes_pass(f, v, probes);
}

/* ---- jobs ---- */

/* Tasks by name; what is new comes last. */
static int patch_tasks(struct arena *a, struct json *spec, const struct json *patch, struct err *e)
{
    struct json *tasks = json_need_array(a, spec, "tasks");

    JSON_FOREACH(change, patch) {
        struct json *old = NULL, *task;

        JSON_FOREACH(t, tasks)
            if (json_member_text(t, "name").n && str_eq(json_member_text(t, "name"), json_member_text(change, "name")))
                old = t;
        if (!(task = json_strategic_patch(a, &schema_job_task, old, change, e)))
            return err_wrap(e, "patch.jobSpec.tasks");
        if (old)
            json_replace(tasks, old, task);
        else if (tasks)
            json_push(tasks, task);
    }
    return 0;
}

int jobflow_patch(struct arena *a, const struct json *spec, const struct json *patch, struct json **ret, struct err *e)
{
    struct json *rest;

    if (!json_is(patch, JSON_OBJECT)) {
        *ret = spec ? json_copy(a, spec) : json_object(a);
        return 0;
    }
    rest = json_copy(a, patch);
    json_remove(rest, "tasks");
    if (!(*ret = json_strategic_patch(a, &schema_job_spec, spec, rest, e)))
        return err_wrap(e, "patch.jobSpec");
    return patch_tasks(a, *ret, json_get(patch, "tasks"), e);
}

/* Labels have 63 characters at most: of what is longer a part and a hash. The annotation has all of it. */
static void set_origin(struct arena *a, struct json *job, const char *key, struct str namespace, struct str name)
{
    struct str whole = arena_fmt(a, "%.*s.%.*s", STR_ARG(namespace), STR_ARG(name)), label = whole;

    if (whole.n > LABEL_MAX)
        label = arena_fmt(a, "%.*s-%010llx", LABEL_MAX - LABEL_HASH, whole.p,
                          (unsigned long long)(str_hash(whole, 0) & UINT64_C(0xffffffffff)));
    object_set_label(a, job, key, label);
    object_set_annotation(a, job, key, whole);
}

static void jobflow_make_job(const struct flow_view *f, const struct flow_vertex *v, struct plan *plan)
{
    const struct json *flow = f->o->flow, *template = f->o->find_template(f->o->ctx, v->in_graph->name);
    struct str namespace = object_namespace(flow);
    struct json *job, *spec;
    struct err e;

    if (f->o->find_job(f->o->ctx, v->job_name)) {
        plan_event_warning(plan, flow, "ForeignJob",
                           "job %.*s exists and is not owned by this flow; delete it, or rename the flow",
                           STR_ARG(v->job_name));
        return;
    }
    if (!template || is_deleting(template)) {
        plan_event_warning(plan, flow, "TemplateNotFound", "waiting for JobTemplate %.*s", STR_ARG(v->in_graph->name));
        return;
    }
    if (jobflow_patch(plan->arena, json_get(template, "spec"), json_find(v->in_graph->spec, "patch", "jobSpec", NULL),
                      &spec, &e) < 0) {
        plan_event_warning(plan, flow, "InvalidPatch", "flow %.*s: %s", STR_ARG(v->in_graph->name), e.text);
        return;
    }
    job = object_new(plan->arena, JOB_API_VERSION, JOB_KIND, namespace, v->job_name);
    set_origin(plan->arena, job, BY_TEMPLATE_KEY, namespace, v->in_graph->name);
    set_origin(plan->arena, job, BY_FLOW_KEY, namespace, object_name(flow));
    flow_set_authors(plan->arena, job, flow, template);
    object_set_controller(plan->arena, job, flow);
    json_set(job, "spec", spec);
    flow_create_job(job, f->o->scheduler_name, plan);
}

/* ---- the plan ---- */

void jobflow_plan(const struct jobflow_observed *o, struct plan *plan)
{
    struct flow_view f = flow_look(plan->arena, o);
    bool differs, is_over = f.phase >= FLOW_SUCCEED;
    struct json *status;

    if (is_deleting(o->flow) || f.phase == FLOW_TERMINATING)
        return;
    status = flow_status(&f, plan->now_ms, &differs);
    if (differs) {
        flow_write_status(o->flow, FLOW_API_VERSION, "JobFlow", status, plan);
        for (size_t i = 0; i < f.n; i++)
            if (f.v[i].job && !f.v[i].row)
                plan_event_normal(plan, o->flow, "Created", "Successfully created job %.*s", STR_ARG(f.v[i].job_name));
        return;
    }
    if (f.phase == FLOW_SUCCEED &&
        str_is(json_text(json_find(o->flow, "spec", "jobRetainPolicy", NULL), STR("")), "delete"))
        for (size_t i = 0; i < o->n_jobs; i++)
            if (!is_deleting(o->jobs[i]))
                plan_delete(plan, object_id_of(job_type(), o->jobs[i]));
    for (size_t i = 0; i < f.n && !is_over; i++)
        if (f.v[i].in_graph && !f.v[i].in_graph->is_double && f.v[i].in_graph->name.n && !f.v[i].phase.n &&
            flow_is_ready(&f, &f.v[i]))
            jobflow_make_job(&f, &f.v[i], plan);
    flow_tell_trouble(o->flow, o->trouble, plan);
}
