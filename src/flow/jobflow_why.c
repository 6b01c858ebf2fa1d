/* jobflow_why.c - what each job of a flow waits for, in words */
#include "flow/jobflow_internal.h"

#include "base/util.h"

static bool has_probes(const struct flow_vertex *v)
{
    const struct json *probes = json_find(v->in_graph->spec, "dependsOn", "probe", NULL);

    return json_count(json_get(probes, "httpGetList")) || json_count(json_get(probes, "tcpSocketList")) ||
           json_count(json_get(probes, "taskStatusList"));
}

/* The first of its targets, or of theirs, that has failed; NULL: none has. Cycles never get here: they are stuck. */
static const struct flow_vertex *failed_before(const struct flow_view *f, const struct flow_vertex *v, size_t depth)
{
    for (size_t i = 0; i < v->in_graph->n_targets && depth < f->n; i++) {
        const struct flow_vertex *target = &f->v[v->in_graph->targets[i]], *found;

        if (str_is(target->phase, "Failed") || str_is(target->phase, "Terminated"))
            return target;
        if (!target->phase.n && (found = failed_before(f, target, depth + 1)))
            return found;
    }
    return NULL;
}

/* Of a vertex that nothing but time keeps: "j-a to complete (it is Running), j-b to begin". */
static struct str targets_text(const struct flow_view *f, const struct flow_vertex *v)
{
    autobuf text = { 0 };

    for (size_t i = 0; i < v->in_graph->n_targets; i++) {
        const struct flow_vertex *target = &f->v[v->in_graph->targets[i]];

        if (str_is(target->phase, "Completed"))
            continue;
        buf_fmt(&text, "%sjob %.*s to complete", text.n ? ", " : "", STR_ARG(target->job_name));
        if (target->phase.n)
            buf_fmt(&text, " (it is %.*s%s)", STR_ARG(target->phase),
                    str_is(target->phase, "Aborted") ? ": resume it" : "");
        else
            buf_str(&text, STR(" (it has not started)"));
    }
    if (has_probes(v))
        buf_str(&text, STR(", or for its probes to pass while that runs"));
    return arena_str(f->arena, buf_view(&text));
}

static void jobflow_why_explain(const struct flow_view *f, const struct flow_vertex *v, struct flow_why *ret)
{
    const struct flow_vertex *failed;
    const struct json *template = f->o->find_template(f->o->ctx, v->in_graph->name);

    if (v->phase.n)
        return;
    ret->is_never = true;
    if (v->in_graph->has_unknown)
        ret->why = STR("it depends on a flow that is not in the list; correct dependsOn.targets");
    else if (v->in_graph->is_stuck)
        ret->why = STR("it depends on itself through other flows; correct dependsOn.targets");
    else if (v->in_graph->is_double)
        ret->why = STR("an earlier flow of the list has the same name");
    else if ((failed = failed_before(f, v, 0)))
        ret->why = arena_fmt(f->arena, "job %.*s has %s", STR_ARG(failed->job_name),
                             str_is(failed->phase, "Failed") ? "failed" : "been terminated");
    else if (f->phase == FLOW_FAILED)
        ret->why = STR("the flow has failed, which is final; delete it and create it again");
    if (ret->why.n)
        return;
    ret->is_never = false;
    if (!flow_is_ready(f, v))
        ret->why = targets_text(f, v);
    else if (f->o->find_job(f->o->ctx, v->job_name))
        ret->why = arena_fmt(f->arena, "job %.*s to be deleted, which this flow does not own", STR_ARG(v->job_name));
    else if (!template || is_deleting(template))
        ret->why = arena_fmt(f->arena, "JobTemplate %.*s, which does not exist", STR_ARG(v->in_graph->name));
    else
        ret->why = STR("the controller, which creates its job next");
}

void jobflow_why(struct arena *a, const struct jobflow_observed *o, struct flow_whys *ret)
{
    struct flow_view f = flow_look(a, o);

    for (size_t i = 0; i < f.graph.n; i++) {
        struct flow_why *w = vec_push(a, &ret->v);

        *w = (struct flow_why){ .vertex = f.graph.v[i].name, .job = f.v[i].job_name, .phase = f.v[i].phase };
        jobflow_why_explain(&f, &f.v[i], w);
    }
}
