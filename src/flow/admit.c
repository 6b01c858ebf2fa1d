/* admit.c - JobFlows, JobTemplates and CronJobs: defaults, and what is wrong with them */
#include "flow/admit.h"

#include "api/name.h"
#include "api/schema/schemas.h"
#include "base/util.h"
#include "flow/cron.h"
#include "flow/flow_internal.h"
#include "flow/graph.h"
#include "flow/zone.h"
#include "job/admit.h"

enum { JOB_NAME_MAX = 63, CRON_NAME_MAX = 52 };

/* ---- all three ---- */

/* An update that leaves the spec alone, or lets the object die, is not held up by rules about it. */
static bool is_at_rest(const struct json *object, const struct json *old)
{
    return old && (is_deleting(object) || is_deleting(old) || flow_same(object, old, "spec"));
}

static void check_shape(const struct schema *schema, const struct place *root, struct problems *ps)
{
    schema_check(schema, root, ps);
    meta_check(root, NULL, true, ps);
}

static void default_namespace(struct arena *a, struct json *object, const struct admit_env *env)
{
    struct json *meta = json_get(object, "metadata");

    if (json_is(meta, JSON_OBJECT) && !json_member_text(meta, "namespace").n)
        json_mark(json_set(meta, "namespace", json_str(a, env->namespace.n ? env->namespace : STR("default"))),
                  env->mark);
}

/* The Job that is made of 'spec', a part of 'owner'. */
static struct json *new_job(struct arena *a, const struct json *owner, struct str name, const struct json *spec)
{
    struct json *job = object_new(a, JOB_API_VERSION, JOB_KIND, object_namespace(owner), name);

    json_set(job, "spec", json_copy(a, spec));
    return job;
}

/* The rules of Jobs for the spec of 'job', which stands at 'prefix' of another object. The schema has checked its shape. */
static void check_job_spec(struct arena *a, struct json *job, const char *prefix, const struct admit_env *env,
                           struct problems *ps)
{
    struct problems own = { .arena = ps->arena };
    struct admit_env quiet = *env;

    quiet.mark = 0;
    (void)job_admit(a, job, &(struct job_admit_env){ .env = &quiet }, NULL, &own);
    VEC_FOREACH(p, &own.list) {
        bool is_known = false;

        p->path = arena_cat(ps->arena, str_of(prefix), p->path);
        VEC_FOREACH(q, &ps->list)
            is_known |= str_eq(q->path, p->path) && q->level == p->level;
        if (is_known || !str_starts(p->path, arena_cat(a, str_of(prefix), STR("spec"))))
            continue;
        *vec_push(ps->arena, &ps->list) = *p;
        ps->n_errors += p->level == PROBLEM_ERROR;
    }
}

/* ---- JobTemplate ---- */

void admit_jobtemplate(struct arena *a, struct json *template, const struct json *old, const struct flow_env *env,
                       struct problems *ps)
{
    struct place root = { .node = template };
    const struct json *spec;

    default_namespace(a, template, env->admit);
    if (is_at_rest(template, old)) {
        meta_check(&root, NULL, true, ps);
        return;
    }
    check_shape(&schema_jobtemplate, &root, ps);
    spec = json_get(template, "spec");
    if (json_is(spec, JSON_OBJECT))
        check_job_spec(a, new_job(a, template, object_name(template), spec), "", env->admit, ps);
    else if (!spec) {
        struct place at = place_member(&root, "spec");

        problem_of(ps, PROBLEM_REQUIRED, &at, "is required: the spec of a Job");
    }
}

/* ---- JobFlow ---- */

static void admit_check_name(const struct place *at, struct str flow, struct problems *ps)
{
    struct str name = json_text(at->node, STR(""));
    const char *why = name.n ? name_check_dns_subdomain(ps->arena, name) : NULL;

    if (why)
        problem_error(ps, at, "%s", why);
    else if (name.n && flow.n + 1 + name.n > JOB_NAME_MAX)
        problem_error(ps, at,
                      "its job would be named \"%.*s-%.*s\", and the name of a job has at most %d characters (has %zu)",
                      STR_ARG(flow), STR_ARG(name), JOB_NAME_MAX, flow.n + 1 + name.n);
}

/* Both go into a request as they are. */
static bool is_one_word(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 127)
            return false;
    return true;
}

static void check_http(const struct place *probe, struct problems *ps)
{
    struct place path = place_member(probe, "path"), header = place_member(probe, "httpHeader"),
                 name = place_member(&header, "name"), value = place_member(&header, "value");
    struct str text = json_text(path.node, STR("/")), of_header = json_text(value.node, STR(""));

    if (!is_one_word(text) || !str_starts(text, STR("/")))
        problem_error(ps, &path, "must begin with / and have no blanks");
    if (!is_one_word(json_text(name.node, STR(""))) || str_has_char(json_text(name.node, STR("")), ':'))
        problem_error(ps, &name, "must be the name of a header, such as Accept");
    if (str_has_char(of_header, '\n') || str_has_char(of_header, '\r'))
        problem_error(ps, &value, "must be one line");
}

static void check_probe(const struct place *depends, struct problems *ps)
{
    static const char *const lists[] = { "httpGetList", "tcpSocketList", "taskStatusList" };
    struct place probe = place_member(depends, "probe");

    if (!json_is(probe.node, JSON_OBJECT))
        return;
    if (!json_count(json_get(depends->node, "targets")))
        problem_error(ps, &probe, "there is nothing to probe: name flows in dependsOn.targets");
    for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
        struct place list = place_member(&probe, lists[k]);
        size_t i = 0;

        JSON_FOREACH(item, list.node) {
            struct place at = place_item(&list, item, i++), port = place_member(&at, "port"),
                         phase = place_member(&at, "phase");

            if (k < 2 && json_i64(port.node, 0) == 0)
                problem_error(ps, &port, "must be 1 to 65535");
            if (k == 0)
                check_http(&at, ps);
            if (k == 2 && !json_text(phase.node, STR("")).n)
                problem_of(ps, PROBLEM_REQUIRED, &phase, "is required: a phase of pods, such as Running");
        }
    }
}

static void check_targets(const struct place *depends, const struct graph *g, const struct graph_vertex *v,
                          struct problems *ps)
{
    struct place targets = place_member(depends, "targets");
    size_t i = 0;

    JSON_FOREACH(target, targets.node) {
        struct place at = place_item(&targets, target, i++);
        struct str name = json_text(target, STR(""));

        if (ps->n_errors > PROBLEMS_MAX)
            return;
        if (v->has_unknown && graph_find(g, name) == SIZE_MAX)
            problem_error(ps, &at, "jobflow Flow is not DAG: vertex is not defined: %.*s; name a flow of this list",
                          STR_ARG(name));
        else if (str_eq(name, v->name))
            problem_error(ps, &at, "jobflow Flow is not DAG: a flow can not wait for itself");
    }
}

static void check_patch(const struct place *flow, struct problems *ps)
{
    struct place patch = place_member(flow, "patch"), spec = place_member(&patch, "jobSpec"),
                 tasks = place_member(&spec, "tasks");
    size_t i = 0;

    if (spec.node && !json_is(spec.node, JSON_OBJECT))
        return;
    JSON_FOREACH(task, tasks.node) {
        struct place at = place_item(&tasks, task, i++), name = place_member(&at, "name");

        if (!json_text(name.node, STR("")).n)
            problem_of(ps, PROBLEM_REQUIRED, &name, "is required: the name of a task of the template, or of a new one");
    }
}

static void check_graph(struct arena *a, const struct json *object, const struct place *flows, struct problems *ps)
{
    struct graph g = graph_new(a, flows->node);
    size_t before = ps->n_errors;
    struct str cycle;

    if (!g.n)
        problem_warn(ps, flows, "is empty: the flow stays Pending forever");
    for (size_t i = 0; i < g.n; i++) {
        struct place at = place_item(flows, g.v[i].spec, i), name = place_member(&at, "name"),
                     depends = place_member(&at, "dependsOn");

        if (g.v[i].is_double)
            problem_warn(ps, &name, "duplicated flow name \"%.*s\": only spec.flows[%zu] has an effect",
                         STR_ARG(g.v[i].name), graph_find(&g, g.v[i].name));
        admit_check_name(&name, object_name(object), ps);
        check_targets(&depends, &g, &g.v[i], ps);
        check_probe(&depends, ps);
        check_patch(&at, ps);
    }
    cycle = graph_cycle(a, &g);
    if (cycle.n && ps->n_errors == before)
        problem_error(ps, flows, "jobflow Flow is not DAG: %.*s", STR_ARG(cycle));
}

void admit_jobflow(struct arena *a, struct json *flow, const struct json *old, const struct flow_env *env,
                   struct problems *ps)
{
    struct place root = { .node = flow }, spec, flows;

    default_namespace(a, flow, env->admit);
    if (is_at_rest(flow, old)) {
        meta_check(&root, NULL, true, ps);
        return;
    }
    check_shape(&schema_jobflow, &root, ps);
    spec = place_member(&root, "spec");
    flows = place_member(&spec, "flows");
    if (!flows.node || json_is(flows.node, JSON_ARRAY))
        check_graph(a, flow, &flows, ps);
}

/* ---- CronJob ---- */

static void default_cron(struct arena *a, struct json *cron, const struct admit_env *env)
{
    struct json *spec = json_get(cron, "spec");
    const struct {
        const char *key;
        struct json *value;
    } defaults[] = { { "concurrencyPolicy", json_str(a, STR("Allow")) },
                     { "suspend", json_bool_new(a, false) },
                     { "successfulJobsHistoryLimit", json_int(a, 3) },
                     { "failedJobsHistoryLimit", json_int(a, 1) } };

    default_namespace(a, cron, env);
    if (!json_is(spec, JSON_OBJECT))
        return;
    for (size_t i = 0; i < ARRAY_LEN(defaults); i++) {
        const struct json *have = json_get(spec, defaults[i].key);

        if (!have || have->type == JSON_NULL || (json_is(have, JSON_STRING) && !have->n))
            json_mark(json_set(spec, defaults[i].key, defaults[i].value), env->mark);
    }
}

static void check_schedule(const struct place *spec, struct problems *ps)
{
    struct place at = place_member(spec, "schedule");
    struct cron c;
    struct err e;

    if (!json_is(at.node, JSON_STRING))
        return; /* that was said */
    if (cron_parse(json_text(at.node, STR("")), &c, &e) < 0)
        problem_error(ps, &at, "%s", e.text);
    else if (cron_next(&c, NULL, 0) == CRON_NEVER)
        problem_warn(ps, &at, "matches no date, so no job ever starts");
}

static void check_zone(struct arena *a, const struct place *spec, const struct flow_env *env, struct problems *ps)
{
    struct place at = place_member(spec, "timeZone");
    struct str name = json_text(at.node, STR(""));
    autobuf bytes = { 0 };
    struct zone *zone;
    const char *why;
    struct err e;

    if (!json_is(at.node, JSON_STRING))
        return; /* that was said */
    if ((why = zone_check_name(name)))
        problem_error(ps, &at, "%s (got \"%.*s\")", why, STR_ARG(str_cut(name, 64)));
    else if (env->read_zone && env->read_zone(name, &bytes) < 0)
        problem_error(ps, &at, "invalid timeZone %.*s: no such file in the zone information of this machine",
                      STR_ARG(name));
    else if (env->read_zone && zone_parse(a, buf_view(&bytes), &zone, &e) < 0)
        problem_error(ps, &at, "invalid timeZone %.*s: %s", STR_ARG(name), e.text);
}

static void check_cron_name(const struct place *root, struct problems *ps)
{
    struct place meta = place_member(root, "metadata"), at = place_member(&meta, "name");
    size_t n = json_text(at.node, STR("")).n;

    if (n > CRON_NAME_MAX)
        problem_error(ps, &at,
                      "cronJob name must be no more than %d characters to accommodate job name suffix (max %d total): "
                      "has %zu",
                      CRON_NAME_MAX, JOB_NAME_MAX, n);
}

void admit_cronjob(struct arena *a, struct json *cron, const struct json *old, const struct flow_env *env,
                   struct problems *ps)
{
    struct place root = { .node = cron }, spec;
    const struct json *template;

    default_cron(a, cron, env->admit);
    if (is_at_rest(cron, old)) {
        meta_check(&root, NULL, true, ps);
        return;
    }
    check_shape(&schema_cronjob, &root, ps);
    check_cron_name(&root, ps);
    spec = place_member(&root, "spec");
    check_schedule(&spec, ps);
    check_zone(a, &spec, env, ps);
    template = json_find(cron, "spec", "jobTemplate", "spec", NULL);
    if (json_is(template, JSON_OBJECT)) {
        struct str name = arena_cat(a, str_sub(object_name(cron), 0, CRON_NAME_MAX), STR("-00000000"));

        check_job_spec(a, new_job(a, cron, name, template), "spec.jobTemplate.", env->admit, ps);
    } else if (json_is(json_find(cron, "spec", "jobTemplate", NULL), JSON_OBJECT)) {
        struct place at = place_member(&spec, "jobTemplate"), inner = place_member(&at, "spec");

        if (!inner.node)
            problem_of(ps, PROBLEM_REQUIRED, &inner, "is required: the spec of a Job");
    }
}

/* ---- by kind ---- */

static const struct {
    const char *api_version, *kind;
    void (*admit)(struct arena *a, struct json *object, const struct json *old, const struct flow_env *env,
                  struct problems *ps);
} kinds[] = {
    { FLOW_API_VERSION, "JobTemplate", admit_jobtemplate },
    { FLOW_API_VERSION, "JobFlow", admit_jobflow },
    { CRON_API_VERSION, "CronJob", admit_cronjob },
};

bool admit_flow_kind(struct arena *a, struct json *object, const struct json *old, const struct flow_env *env,
                     struct problems *ps)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_is(object_api_version(object), kinds[i].api_version) && str_is(object_kind(object), kinds[i].kind)) {
            kinds[i].admit(a, object, old, env, ps);
            return true;
        }
    return false;
}
