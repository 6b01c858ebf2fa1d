/* flow.c - what the jobs of a JobFlow wait for */
#include "cli/explain/explain.h"

#include "api/meta.h"
#include "api/types.h"
#include "base/util.h"
#include "flow/flow.h"
#include "base/term.h"

/* ---- the state ---- */

struct flow_state {
    const struct advice_input *in;
    struct arena *arena;
    const struct json *flow;
};

static const struct json *flow_find(const struct flow_state *s, const char *kind, struct str name)
{
    struct str namespace = explain_namespace(s->flow);

    for (size_t i = 0; i < s->in->n; i++) {
        const struct json *o = s->in->objects[i];

        if (type_by_kind(object_api_version(o), object_kind(o)) == type_by_name(str_of(kind)) &&
            str_eq(object_name(o), name) && str_eq(explain_namespace(o), namespace))
            return o;
    }
    return NULL;
}

static const struct json *flow_find_template(void *ctx, struct str name)
{
    return flow_find(ctx, "JobTemplate", name);
}

static const struct json *flow_find_job(void *ctx, struct str name)
{
    return flow_find(ctx, "Job", name);
}

/* Written by hand an object has no uid; then its name says whose it is. */
static bool is_of(const struct json *job, const struct json *flow)
{
    const struct json *ref = object_controller(job);

    return str_is(json_member_text(ref, "kind"), "JobFlow") &&
           str_eq(json_member_text(ref, "name"), object_name(flow)) &&
           str_eq(explain_namespace(job), explain_namespace(flow)) &&
           (!object_uid(flow).n || str_eq(json_member_text(ref, "uid"), object_uid(flow)));
}

static void explain_flow_look(struct flow_state *s, struct flow_whys *ret)
{
    struct jobflow_observed seen = {
        .flow = s->flow, .ctx = s, .find_template = flow_find_template, .find_job = flow_find_job
    };
    VEC(const struct json *) jobs = { 0 };

    for (size_t i = 0; i < s->in->n; i++)
        if (str_is(object_kind(s->in->objects[i]), "Job") && is_of(s->in->objects[i], s->flow))
            *vec_push(s->arena, &jobs) = s->in->objects[i];
    seen.jobs = jobs.v;
    seen.n_jobs = jobs.n;
    jobflow_why(s->arena, &seen, ret);
}

/* ---- which ---- */

static bool has_job(struct arena *a, const struct json *flow, struct str job)
{
    JSON_FOREACH(vertex, json_find(flow, "spec", "flows", NULL))
        if (str_eq(jobflow_job_name(a, object_name(flow), json_member_text(vertex, "name")), job))
            return true;
    return false;
}

const struct json *explain_find_flow(struct arena *a, const struct advice_input *in)
{
    const struct json *by_job = NULL;

    for (size_t i = 0; i < in->n; i++) {
        const struct json *o = in->objects[i];

        if (type_by_kind(object_api_version(o), object_kind(o)) != type_by_name(STR("JobFlow")) ||
            !str_eq(explain_namespace(o), in->namespace))
            continue;
        if (str_eq(object_name(o), in->name))
            return o;
        if (has_job(a, o, in->name))
            by_job = o;
    }
    return by_job;
}

/* ---- what is said ---- */

static void put_row(struct arena *a, struct table *t, const struct flow_why *w)
{
    struct str texts[] = { w->job,
                           w->phase.n    ? w->phase
                           : w->is_never ? STR("never starts")
                                         : STR("waits for"),
                           w->why };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        autobuf clean = { 0 };

        term_text(&clean, texts[i]);
        table_cell(t, arena_str(a, buf_view(&clean)));
    }
}

void explain_flow_text(struct arena *a, struct buf *out, const struct advice_input *in, const struct json *flow)
{
    struct flow_state s = { in, a, flow };
    struct table t = { .arena = a, .columns = 3 };
    struct flow_whys whys = { 0 };
    struct str phase = json_text(json_find(flow, "status", "state", "phase", NULL), STR("not begun"));

    explain_flow_look(&s, &whys);
    buf_str(out, STR("JobFlow "));
    term_text(out, explain_namespace(flow));
    buf_char(out, '/');
    term_text(out, object_name(flow));
    buf_str(out, STR(": "));
    term_text(out, phase);
    buf_char(out, '\n');
    VEC_FOREACH(w, &whys.v)
        if (str_eq(in->name, object_name(flow)) || str_eq(in->name, w->job))
            put_row(a, &t, w);
    table_print(out, &t, "  ");
}

struct json *explain_flow_json(struct arena *a, const struct advice_input *in, const struct json *flow)
{
    struct flow_state s = { in, a, flow };
    struct flow_whys whys = { 0 };
    struct json *j = json_object(a), *jobs;

    explain_flow_look(&s, &whys);
    json_add(j, STR("kind"), json_str(a, STR("JobFlow")));
    json_add(j, STR("namespace"), json_str(a, explain_namespace(flow)));
    json_add(j, STR("name"), json_str(a, object_name(flow)));
    json_add(j, STR("phase"), json_str(a, json_text(json_find(flow, "status", "state", "phase", NULL), STR(""))));
    jobs = json_add(j, STR("jobs"), json_array(a));
    VEC_FOREACH(w, &whys.v) {
        struct json *row = json_push(jobs, json_object(a));

        json_add(row, STR("name"), json_str(a, w->job));
        if (w->phase.n)
            json_add(row, STR("phase"), json_str(a, w->phase));
        if (w->why.n)
            json_add(row, w->is_never ? STR("neverBecause") : STR("waitsFor"), json_str(a, w->why));
    }
    return j;
}
