/* job_view.c - `pumice job view`: a job, its tasks, its pods, why it waits, and what happened */
#include "api/meta.h"
#include "base/util.h"
#include "ctl/job_cells.h"
#include "ctl/output.h"
#include "ctl/pod.h"
#include "base/term.h"
#include "yaml/yaml.h"

static void job_view_field(struct ctl_verb *v, const char *name, struct str value)
{
    autobuf text = { 0 };

    if (!value.n)
        return;
    term_text(&text, value);
    buf_fmt(&v->out, "%-12s %s\n", name, text.p);
}

static void job_view_put_head(struct ctl_verb *v, const struct json *job, const struct reasons *reasons)
{
    const struct json *spec = json_get(job, "spec"), *state = json_find(job, "status", "state", NULL);
    struct str reason = reason_of(reasons, job);

    job_view_field(v, "Name:", object_name(job));
    job_view_field(v, "Namespace:", object_namespace(job));
    job_view_field(v, "Phase:", job_phase_word(job));
    job_view_field(v, "Reason:", reason);
    job_view_field(v, "Message:", reason_message(reasons, job));
    job_view_field(v, "Since:", ctl_age(v->arena, json_member_text(state, "lastTransitionTime"), v->ctl.now_ms));
    job_view_field(v, "Age:", cell_since(v, job, NULL));
    job_view_field(v, "Queue:", cell_job_queue(v, job, NULL));
    job_view_field(v, "Priority:", json_member_text(spec, "priorityClassName"));
    job_view_field(v, "Pods:",
                   arena_fmt(v->arena, "%.*s running, at least %.*s needed, %.*s succeeded, %.*s failed",
                             STR_ARG(cell_job_pods(v, job, NULL)), STR_ARG(cell_job_min(v, job, NULL)),
                             STR_ARG(cell_job_succeeded(v, job, NULL)), STR_ARG(cell_job_failed(v, job, NULL))));
    job_view_field(v, "Retries:", cell_job_retries(v, job, NULL));
}

static struct str job_view_amounts(struct ctl_verb *v, const struct json *task)
{
    autobuf text = { 0 };

    JSON_FOREACH(c, json_find(task, "template", "spec", "containers", NULL)) {
        struct str part = output_amounts(v->arena, json_find(c, "resources", "requests", NULL));

        buf_fmt(&text, "%s%.*s", text.n && part.n ? " + " : "", STR_ARG(part));
    }
    return text.n ? arena_str(v->arena, buf_view(&text)) : STR("-");
}

static void put_tasks(struct ctl_verb *v, const struct json *job)
{
    struct table t = { .arena = v->arena, .columns = 4 };
    static const char *const heads[] = { "TASK", "REPLICAS", "IMAGE", "REQUESTS" };

    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        table_cell(&t, str_of(heads[i]));
    JSON_FOREACH(task, json_find(job, "spec", "tasks", NULL)) {
        const struct json *c = json_at(json_find(task, "template", "spec", "containers", NULL), 0);
        int64_t n = 1;

        (void)json_to_i64(json_get(task, "replicas"), &n); /* none is 1 */
        table_cell(&t, json_text(json_get(task, "name"), STR("-")));
        table_cell(&t, arena_fmt(v->arena, "%lld", (long long)n));
        table_cell(&t, json_text(json_get(c, "image"), STR("-")));
        table_cell(&t, job_view_amounts(v, task));
    }
    buf_str(&v->out, STR("\nTasks:\n"));
    table_print(&v->out, &t, "  ");
}

static void put_pods(struct ctl_verb *v, const struct json *job)
{
    static const char *const cells[] = { "Ready", "Status", "Restarts", "Age", "Node" };
    struct pod_query query = { .namespace = object_namespace(job), .job = object_name(job) };
    struct pod_rows rows = { 0 };
    struct table t = { .arena = v->arena, .columns = 1 + ARRAY_LEN(cells) };
    struct err e;

    if (pod_select(&v->ctl, &query, &rows, &e) < 0 || !rows.v.n)
        return; /* who may not see pods sees the job all the same */
    table_cell(&t, STR("POD"));
    for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
        struct str head = arena_str(v->arena, str_of(cells[i]));

        for (size_t k = 0; k < head.n; k++)
            ((char *)head.p)[k] = (char)(head.p[k] & ~0x20);
        table_cell(&t, head);
    }
    VEC_FOREACH(row, &rows.v) {
        table_cell(&t, object_name(row->object));
        for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
            struct str text = pod_cell(v->arena, &rows, row, cells[i]);

            table_cell(&t, text.n ? text : STR("-"));
        }
    }
    buf_str(&v->out, STR("\nPods:\n"));
    table_print(&v->out, &t, "  ");
}

/* Of this very job: not of one that had its name before, or of a pod that has it too. */
static void put_events(struct ctl_verb *v, const struct json *job)
{
    struct ctl_select which = {
        .namespace = object_namespace(job),
        .fields = arena_fmt(v->arena, "involvedObject.kind=Job,involvedObject.name=%.*s,involvedObject.uid=%.*s",
                            STR_ARG(object_name(job)), STR_ARG(object_uid(job)))
    };
    struct ctl_objects events = { 0 };
    struct table t = { .arena = v->arena, .columns = 4 };
    struct err e;

    if (ctl_list(&v->ctl, type_by_kind(STR("v1"), STR("Event")), &which, &events, &e) < 0 || !events.v.n)
        return;
    VEC_FOREACH(event, &events.v) {
        autobuf message = { 0 };
        struct str last = json_member_text(*event, "lastTimestamp");

        term_text(&message, str_trim(json_member_text(*event, "message")));
        table_cell(&t, ctl_age(v->arena, last.n ? last : json_member_text(*event, "eventTime"), v->ctl.now_ms));
        table_cell(&t, json_member_text(*event, "type"));
        table_cell(&t, json_member_text(*event, "reason"));
        table_cell(&t, arena_str(v->arena, buf_view(&message)));
    }
    buf_str(&v->out, STR("\nEvents:\n"));
    table_print(&v->out, &t, "  ");
}

int verb_job_view(struct ctl_verb *v, struct err *e)
{
    struct ctl_objects jobs = { 0 };

    if (verb_needs_names(v, "job", e) < 0 || jobs_read(v, &jobs, e) < 0)
        return -1;
    if (v->o->output && !output_is_wide(v))
        return output_objects(v, &jobs, v->args.n == 1, NULL, e);
    VEC_FOREACH(job, &jobs.v) {
        struct reasons reasons = { 0 };

        reasons_read(&v->ctl, object_namespace(*job), &reasons);
        buf_str(&v->out, job == jobs.v.v ? STR("") : STR("\n"));
        job_view_put_head(v, *job, &reasons);
        put_tasks(v, *job);
        put_pods(v, *job);
        put_events(v, *job);
    }
    return 0;
}
