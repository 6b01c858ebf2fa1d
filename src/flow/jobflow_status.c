/* jobflow_status.c - what a JobFlow's status says of its jobs */
#include "flow/jobflow_internal.h"

#include "api/duration.h"
#include "base/map.h"
#include "base/util.h"

/* Lists of job names by phase. Completing and Terminating are in none of them, and what is in no row is unknown: other
 * programs read it so. */
static const struct {
    const char *list, *phase;
} lists[] = {
    { "pendingJobs", "Pending" },
    { "runningJobs", "Running" },
    { "failedJobs", "Failed" },
    { "completedJobs", "Completed" },
    { "terminatedJobs", "Terminated" },
    { NULL, "Completing" },
    { NULL, "Terminating" },
    { "unKnowJobs", NULL },
};

static const char *jobflow_status_list_of(struct str phase)
{
    size_t i = 0;

    while (lists[i].phase && !str_is(phase, lists[i].phase))
        i++;
    return lists[i].list;
}

static bool is_phase(const struct flow_vertex *v, const char *phase)
{
    return str_is(v->phase, phase);
}

enum flow_phase flow_phase_next(const struct flow_view *f)
{
    size_t n_all = 0, n_completed = 0, n_failed = 0, n_begun = 0;

    if (f->phase >= FLOW_SUCCEED)
        return f->phase;
    for (size_t i = 0; i < f->n; i++) {
        if (!f->v[i].in_graph || f->v[i].in_graph->is_double)
            continue;
        n_all++;
        n_completed += is_phase(&f->v[i], "Completed");
        n_failed += is_phase(&f->v[i], "Failed") || is_phase(&f->v[i], "Terminated");
        n_begun += is_phase(&f->v[i], "Running") || is_phase(&f->v[i], "Completing");
    }
    if (n_failed)
        return FLOW_FAILED;
    if (n_all && n_completed == n_all)
        return FLOW_SUCCEED;
    return n_begun || n_completed || f->phase == FLOW_RUNNING ? FLOW_RUNNING : FLOW_PENDING;
}

/* ---- rows ---- */

/* When the job came into its phase; where it does not say, now. Never before the phase that it had before. */
static int64_t entered_ms(const struct json *job, const struct json *last, int64_t now_ms)
{
    int64_t ms = flow_time(json_find(job, "status", "state", "lastTransitionTime", NULL));

    return MAX_OF(ms ? ms : now_ms, flow_time(json_get(last, "startTimestamp")));
}

static void add_history(struct arena *a, struct json *row, const struct flow_vertex *v, int64_t now_ms)
{
    struct json *list = json_need_array(a, row, "runningHistories"), *last = NULL, *item;
    int64_t ms;

    JSON_FOREACH(h, list)
        last = h;
    if (!list || str_eq(json_member_text(last, "state"), v->phase))
        return;
    ms = entered_ms(v->job, last, now_ms);
    if (last)
        json_set(last, "endTimestamp", flow_json_time(a, ms));
    item = json_push(list, json_object(a));
    json_set(item, "startTimestamp", flow_json_time(a, ms));
    json_set(item, "state", json_str(a, v->phase));
}

static void set_row(struct arena *a, struct json *row, const struct flow_vertex *v, int64_t now_ms)
{
    const struct json *created = json_find(v->job, "metadata", "creationTimestamp", NULL);
    const struct json *status = json_get(v->job, "status");
    int64_t ran_ns;

    json_set(row, "name", json_str(a, v->job_name));
    json_set(row, "state", json_str(a, v->phase));
    if (created)
        json_set(row, "startTimestamp", json_copy(a, created));
    if (created && duration_parse(json_member_text(status, "runningDuration"), &ran_ns, NULL) == 0)
        json_set(row, "endTimestamp", flow_json_time(a, flow_time(created) + ran_ns / 1000000));
    else
        json_remove(row, "endTimestamp");
    json_set(row, "restartCount", json_int(a, json_i64(json_get(status, "retryCount"), 0)));
    add_history(a, row, v, now_ms);
}

static void set_rows(const struct flow_view *f, struct json *status, int64_t now_ms)
{
    struct json *rows = json_need_array(f->arena, status, "jobStatusList");
    struct map by_name = { 0 };

    JSON_FOREACH(row, rows)
        map_put(&by_name, json_member_text(row, "name"), row);
    for (size_t i = 0; i < f->n && rows; i++) {
        struct json *row = map_get(&by_name, f->v[i].job_name);

        if (!f->v[i].job)
            continue;
        if (!row)
            row = json_push(rows, json_object(f->arena));
        set_row(f->arena, row, &f->v[i], now_ms);
    }
    map_done(&by_name);
    if (!json_count(rows))
        json_remove(status, "jobStatusList");
}

static void set_conditions(const struct flow_view *f, struct json *status)
{
    static const char *const copied[] = { "runningDuration", "taskStatusCount" };
    struct json *all = json_need_object(f->arena, status, "conditions");

    for (size_t i = 0; i < f->n && all; i++) {
        const struct flow_vertex *v = &f->v[i];
        struct json *condition;

        if (!v->job)
            continue;
        condition = json_set_key(all, v->job_name, json_object(f->arena));
        json_set(condition, "phase", json_str(f->arena, v->phase));
        if (json_find(v->job, "metadata", "creationTimestamp", NULL))
            json_set(condition, "createTime",
                     json_copy(f->arena, json_find(v->job, "metadata", "creationTimestamp", NULL)));
        for (size_t k = 0; k < ARRAY_LEN(copied); k++)
            if (json_find(v->job, "status", copied[k], NULL))
                json_set(condition, copied[k], json_copy(f->arena, json_find(v->job, "status", copied[k], NULL)));
    }
    if (!json_count(all))
        json_remove(status, "conditions");
}

static void set_lists(const struct flow_view *f, struct json *status)
{
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (lists[i].list)
            json_remove(status, lists[i].list);
    for (size_t i = 0; i < f->n; i++) {
        const char *list = f->v[i].phase.n ? jobflow_status_list_of(f->v[i].phase) : NULL;

        if (list)
            json_push(json_need_array(f->arena, status, list), json_str(f->arena, f->v[i].job_name));
    }
}

/* Counters of conditions alone are no reason to write. */
static bool differs(const struct json *a, const struct json *b)
{
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (lists[i].list && !flow_same(a, b, lists[i].list))
            return true;
    return !flow_same(a, b, "jobStatusList") || !flow_same(a, b, "state");
}

struct json *flow_status(const struct flow_view *f, int64_t now_ms, bool *ret_differs)
{
    const struct json *old = json_get(f->o->flow, "status");
    struct json *status = json_is(old, JSON_OBJECT) ? json_copy(f->arena, old) : json_object(f->arena);

    set_lists(f, status);
    set_rows(f, status, now_ms);
    set_conditions(f, status);
    json_set(json_set(status, "state", json_object(f->arena)), "phase",
             json_str(f->arena, str_of(flow_phase_names[flow_phase_next(f)])));
    *ret_differs = differs(old, status);
    return status;
}
