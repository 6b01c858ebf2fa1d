/* json.c - a plan as JSON: times are absolute, and in seconds since the beginning beside it */
#include "cli/plan/plan.h"

#include "base/clock.h"
#include "base/util.h"

static void json_set_text(struct arena *a, struct json *j, const char *key, struct str text)
{
    json_add(j, str_of(key), json_str(a, text));
}

static void set_int(struct arena *a, struct json *j, const char *key, int64_t v)
{
    json_add(j, str_of(key), json_int(a, v));
}

/* 12, 12.5, 12.345 */
static struct json *seconds(struct arena *a, int64_t ms)
{
    struct json *j = json_int(a, ms / 1000);
    struct str text;

    if (ms % 1000 == 0)
        return j;
    text = arena_fmt(a, "%s%lld.%03lld", ms < 0 ? "-" : "", (long long)llabs(ms / 1000), (long long)llabs(ms % 1000));
    j->text = text.p;
    j->n = (uint32_t)text.n;
    return j;
}

/* "key": RFC 3339, "keySeconds": since the beginning; both null where it does not happen. */
static void json_set_time(struct arena *a, struct json *j, const char *key, const struct history *h, int64_t at_ms)
{
    struct str long_key = arena_fmt(a, "%sSeconds", key);
    autobuf text = { 0 };

    if (at_ms < 0) {
        json_add(j, str_of(key), json_null(a));
        json_add(j, long_key, json_null(a));
        return;
    }
    clock_print(&text, at_ms);
    json_set_text(a, j, key, arena_str(a, buf_view(&text)));
    json_add(j, long_key, seconds(a, at_ms - h->begin_ms));
}

static void set_seconds(struct arena *a, struct json *j, const char *key, int64_t ms)
{
    json_add(j, str_of(key), ms < 0 ? json_null(a) : seconds(a, ms));
}

/* ---- jobs ---- */

static struct json *tasks_json(struct arena *a, const struct history_job *j)
{
    struct json *list = json_array(a);

    VEC_FOREACH(at, &j->tasks) {
        const struct history_task *task = *at;
        struct json *one = json_push(list, json_object(a));

        json_set_text(a, one, "name", task->name);
        set_int(a, one, "replicas", task->replicas);
        set_int(a, one, "minAvailable", task->min);
        set_int(a, one, "running", task->running);
        set_int(a, one, "succeeded", task->succeeded);
        set_int(a, one, "failed", task->failed);
    }
    return list;
}

static struct json *waits_json(struct arena *a, const struct history *h, const struct history_job *j)
{
    struct json *list = json_array(a);

    VEC_FOREACH(w, &j->waits) {
        struct json *one = json_push(list, json_object(a));

        json_set_time(a, one, "from", h, w->from_ms);
        json_set_time(a, one, "until", h, w->until_ms);
        json_set_text(a, one, "reason", w->reason);
        json_set_text(a, one, "message", w->message);
    }
    return list;
}

static struct json *steps_json(struct arena *a, const struct history *h, const struct history_job *j)
{
    struct json *list = json_array(a);

    VEC_FOREACH(s, &j->steps) {
        struct json *one = json_push(list, json_object(a));

        json_set_time(a, one, "at", h, s->at_ms);
        json_set_text(a, one, "state", str_of(job_state_names[s->state]));
        set_int(a, one, "running", s->running);
    }
    return list;
}

static struct json *job_json(struct arena *a, const struct history *h, const struct history_job *j)
{
    struct json *one = json_object(a);

    json_set_text(a, one, "kind", j->kind);
    json_set_text(a, one, "namespace", j->namespace);
    json_set_text(a, one, "name", j->name);
    json_set_text(a, one, "queue", j->queue);
    json_set_text(a, one, "priorityClassName", j->priority_class);
    set_int(a, one, "priority", j->priority);
    set_int(a, one, "minAvailable", j->min);
    set_int(a, one, "replicas", j->n_pods);
    json_set_text(a, one, "state",
                  str_of(job_state_names[j->steps.n ? j->steps.v[j->steps.n - 1].state : STATE_WAITS]));
    json_set_text(a, one, "phase", j->phase);
    json_set_time(a, one, "submitted", h, j->submitted_ms);
    json_set_time(a, one, "admitted", h, j->admitted_ms);
    json_set_time(a, one, "start", h, j->started_ms);
    json_set_time(a, one, "end", h, j->was_over ? -1 : j->finished_ms);
    set_seconds(a, one, "waitSeconds", job_wait_ms(h, j));
    set_seconds(a, one, "runSeconds", job_run_ms(h, j));
    set_int(a, one, "stops", (int64_t)j->stops);
    set_int(a, one, "stoppedPods", j->stopped);
    json_add(one, STR("tasks"), tasks_json(a, j));
    json_add(one, STR("waits"), waits_json(a, h, j));
    json_add(one, STR("steps"), steps_json(a, h, j));
    return one;
}

static struct json *jobs_json(struct arena *a, const struct history *h)
{
    struct json *list = json_array(a);

    for (size_t i = 0; i < h->jobs.n; i++)
        json_push(list, job_json(a, h, h->jobs.v[i]));
    return list;
}

/* ---- queues and nodes ---- */

static struct json *place_json(struct arena *a, const struct history *h, const struct history_place *p,
                               const char *total)
{
    struct json *one = json_object(a), *steps;

    json_set_text(a, one, "name", p->name);
    json_add(one, str_of(total), amounts_to_json(a, &h->dims, &p->total));
    steps = json_add(one, STR("used"), json_array(a));
    VEC_FOREACH(s, &p->steps) {
        struct json *step = json_push(steps, json_object(a));

        json_set_time(a, step, "at", h, s->at_ms);
        json_add(step, STR("amounts"), amounts_to_json(a, &h->dims, &s->used));
    }
    return one;
}

static struct json *history_json(struct arena *a, const struct history *h)
{
    struct json *j = json_object(a), *list;

    json_set_time(a, j, "begin", h, h->begin_ms);
    json_set_time(a, j, "end", h, h->end_ms);
    json_set_time(a, j, "lastJobEnd", h, history_last_end(h));
    json_add(j, STR("total"), amounts_to_json(a, &h->dims, &h->total));
    json_add(j, STR("jobs"), jobs_json(a, h));
    list = json_add(j, STR("queues"), json_array(a));
    for (size_t i = 0; i < h->queues.n; i++)
        json_push(list, place_json(a, h, h->queues.v[i], "capability"));
    list = json_add(j, STR("nodes"), json_array(a));
    for (size_t i = 0; i < h->nodes.n; i++)
        json_push(list, place_json(a, h, h->nodes.v[i], "allocatable"));
    return j;
}

void plan_print_json(struct buf *out, const struct plan_report *r)
{
    autoarena a = { 0 };
    struct json *j = history_json(&a, r->h);

    json_add(j, STR("isCut"), json_bool_new(&a, r->is_cut));
    if (r->before) {
        json_set_text(&a, j, "change", r->change);
        json_add(j, STR("before"), history_json(&a, r->before));
    }
    json_print_pretty(out, j, 4);
    buf_char(out, '\n');
}
