/* expand.c - the Jobs that JobFlows and CronJobs of the files stand for */
#include "cli/load.h"

#include "api/meta.h"
#include "base/util.h"
#include "flow/flow.h"

static bool expand_is_kind(const struct loaded *doc, const char *kind)
{
    return doc->type && strcmp(doc->type->kind, kind) == 0;
}

static struct str expand_space_of(const struct load *l, const struct json *object)
{
    struct str own = object_namespace(object);

    return own.n ? own : l->namespace && l->namespace[0] ? str_of(l->namespace) : STR("default");
}

static const struct loaded *expand_find_template(const struct load *l, const struct json *flow, struct str name)
{
    VEC_FOREACH(doc, &l->docs)
        if (expand_is_kind(*doc, "JobTemplate") && str_eq(object_name((*doc)->root), name) &&
            str_eq(expand_space_of(l, (*doc)->root), expand_space_of(l, flow)))
            return *doc;
    return NULL;
}

static struct loaded *add_job(struct load *l, const struct loaded *maker, const struct loaded *from, struct str name,
                              struct json *spec)
{
    struct json *job = object_new(l->arena, JOB_API_VERSION, JOB_KIND, expand_space_of(l, maker->root), name);
    struct loaded *doc;

    json_set(job, "spec", spec);
    job->line = from->root->line;
    job->col = from->root->col;
    doc = load_add(l, from->file, job);
    doc->from = from;
    return doc;
}

static void expand_vertex(struct load *l, struct loaded *flow, const struct place *at)
{
    struct place name = place_member(at, "name");
    struct str text = json_text(name.node, STR(""));
    const struct loaded *template = text.n ? expand_find_template(l, flow->root, text) : NULL;
    struct json *spec;
    struct err e;

    if (!template) {
        if (text.n)
            problem_error(&flow->problems, &name, "no JobTemplate \"%.*s\" in these files: add it", STR_ARG(text));
        return;
    }
    if (jobflow_patch(l->arena, json_get(template->root, "spec"), json_find(at->node, "patch", "jobSpec", NULL), &spec,
                      &e) < 0) {
        problem_error(&flow->problems, at, "%s", e.text);
        return;
    }
    add_job(l, flow, template, jobflow_job_name(l->arena, object_name(flow->root), text), spec)->is_of_flow = true;
}

static void expand_flow(struct load *l, struct loaded *doc)
{
    struct place root = { .node = doc->root }, spec = place_member(&root, "spec"), flows = place_member(&spec, "flows");
    size_t i = 0;

    if (json_is(flows.node, JSON_ARRAY))
        JSON_FOREACH(flow, flows.node) {
            struct place at = place_item(&flows, flow, i++);

            expand_vertex(l, doc, &at);
        }
}

static void expand_cron(struct load *l, struct loaded *doc)
{
    const struct json *template = json_find(doc->root, "spec", "jobTemplate", NULL);
    const struct json *notes = json_get(template, "metadata"), *spec = json_get(template, "spec");
    struct loaded *made;

    if (!json_is(spec, JSON_OBJECT))
        return; /* admission says so */
    made = add_job(l, doc, doc, object_name(doc->root), json_copy(l->arena, spec));
    JSON_FOREACH(note, notes)
        json_set_key(json_get(made->root, "metadata"), json_key(note), json_copy(l->arena, note));
}

void load_expand(struct load *l)
{
    size_t n = l->docs.n; /* what is added needs no more of it */

    for (size_t i = 0; i < n; i++) {
        if (expand_is_kind(l->docs.v[i], "JobFlow"))
            expand_flow(l, l->docs.v[i]);
        else if (expand_is_kind(l->docs.v[i], "CronJob"))
            expand_cron(l, l->docs.v[i]);
    }
}
