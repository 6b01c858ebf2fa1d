/* flow_verbs.c - `pumice jobflow` and `pumice jobtemplate`: list, create, delete */
#include "api/meta.h"
#include "base/util.h"
#include "ctl/output.h"

static struct str cell_phase(struct ctl_verb *v, const struct json *flow, const void *ctx)
{
    return json_text(json_find(flow, "status", "state", "phase", NULL), STR_NULL);
}

static struct str flow_verbs_count(struct ctl_verb *v, const struct json *list)
{
    return arena_fmt(v->arena, "%zu", json_count(list));
}

static struct str cell_vertices(struct ctl_verb *v, const struct json *flow, const void *ctx)
{
    return flow_verbs_count(v, json_find(flow, "spec", "flows", NULL));
}

static struct str cell_running(struct ctl_verb *v, const struct json *flow, const void *ctx)
{
    return flow_verbs_count(v, json_find(flow, "status", "runningJobs", NULL));
}

static struct str cell_completed(struct ctl_verb *v, const struct json *flow, const void *ctx)
{
    return flow_verbs_count(v, json_find(flow, "status", "completedJobs", NULL));
}

static struct str cell_tasks(struct ctl_verb *v, const struct json *template, const void *ctx)
{
    return flow_verbs_count(v, json_find(template, "spec", "tasks", NULL));
}

static struct str cell_jobs(struct ctl_verb *v, const struct json *template, const void *ctx)
{
    return flow_verbs_count(v, json_find(template, "status", "jobDependsOnList", NULL));
}

static const struct twin {
    const char *kind, *word;
    struct output_column columns[8];
} twins[] = {
    { "JobTemplate",
      "jobtemplate",
      { { "NAMESPACE", false, cell_namespace },
        { "NAME", false, cell_name },
        { "TASKS", false, cell_tasks },
        { "JOBS", false, cell_jobs },
        { "AGE", false, cell_since },
        { NULL } } },
    { "JobFlow",
      "jobflow",
      { { "NAMESPACE", false, cell_namespace },
        { "NAME", false, cell_name },
        { "PHASE", false, cell_phase },
        { "JOBS", false, cell_vertices },
        { "RUNNING", false, cell_running },
        { "COMPLETED", false, cell_completed },
        { "AGE", false, cell_since },
        { NULL } } },
};
enum { TEMPLATE, FLOW };

static int flow_verbs_show(struct ctl_verb *v, const struct ctl_objects *all, bool is_one, struct err *e)
{
    const struct twin *t = &twins[strncmp(v->command, "jobflow", 7) == 0 ? FLOW : TEMPLATE];

    return output_objects(v, all, is_one, &(struct output_columns){ t->columns + !v->o->all_namespaces }, e);
}

static int flow_verbs_list(struct ctl_verb *v, const struct twin *t, struct err *e)
{
    struct verb_list all = { .type = ctl_type(t->kind),
                             .which = { .namespace = verb_namespace(v), .labels = str_of(v->o->labels) },
                             .show = flow_verbs_show };

    return verb_list(v, &all, e);
}

/* What a file says; a document of another kind is refused before anything is sent. */
static int flow_verbs_read_file(struct ctl_verb *v, const struct twin *t, struct ctl_objects *ret, struct err *e)
{
    if (verb_read(v, v->o->file, ret, e) < 0)
        return -1;
    VEC_FOREACH(o, &ret->v) {
        if (type_by_kind(object_api_version(*o), object_kind(*o)) != ctl_type(t->kind))
            return err_set(e, ERR_INVALID, "%s: line %u: is not a %s of flow.volcano.sh/v1alpha1", v->o->file,
                           (*o)->line, t->kind);
        if (!object_namespace(*o).n && json_need_object(v->arena, *o, "metadata"))
            json_set(json_get(*o, "metadata"), "namespace", json_str(v->arena, verb_namespace(v)));
    }
    return 0;
}

static void flow_verbs_say(struct ctl_verb *v, const struct twin *t, const struct json *o, const char *done)
{
    buf_fmt(&v->out, "%s %.*s/%.*s %s%s\n", t->word, STR_ARG(object_namespace(o)), STR_ARG(object_name(o)), done,
            verb_dry_note(v));
}

static struct str flow_verbs_phase_of(const struct json *flow)
{
    return json_text(json_find(flow, "status", "state", "phase", NULL), STR("Pending"));
}

/* A flow is done when it has ended, a template when it is there. */
static int wait_done(struct ctl_verb *v, const struct twin *t, const struct json *o, struct err *e)
{
    static const char *const over[] = { "Succeed", "Failed", NULL };
    struct verb_goal goal = { ctl_name_of(t->kind, o), over, flow_verbs_phase_of, NULL };
    struct str phase = STR_NULL;

    if (t != &twins[FLOW])
        return 0;
    if (verb_wait(v, &goal, &phase, e) < 0)
        return -1;
    if (phase.n)
        flow_verbs_say(v, t, o, arena_cstr(v->arena, phase));
    if (str_is(phase, "Failed"))
        v->status = CTL_FAILED;
    return 0;
}

/* One that is refused does not keep the others; the exit status tells. Those that were made are waited for together. */
static int flow_verbs_each(struct ctl_verb *v, const struct twin *t, bool is_create, struct err *e)
{
    struct ctl_objects all = { 0 }, done = { 0 };

    if (flow_verbs_read_file(v, t, &all, e) < 0)
        return -1;
    VEC_FOREACH(o, &all.v) {
        int rc = is_create ? ctl_create(&v->ctl, ctl_name_of(t->kind, *o), *o, NULL, e)
                           : ctl_delete(&v->ctl, ctl_name_of(t->kind, *o), e);

        if (rc == 0) {
            flow_verbs_say(v, t, *o, is_create ? "created" : "deleted");
            *vec_push(v->arena, &done.v) = *o;
            continue;
        }
        fprintf(stderr, "pumice %s: %.*s\n", v->command, STR_ARG(ctl_message(&v->ctl, e)));
        v->status = ctl_exit(e);
    }
    VEC_FOREACH(o, &done.v)
        if ((is_create ? wait_done(v, t, *o, e)
                       : verb_wait(v, &(struct verb_goal){ .object = ctl_name_of(t->kind, *o) }, NULL, e)) < 0)
            return -1;
    return 0;
}

static int flow_verbs_create(struct ctl_verb *v, const struct twin *t, struct err *e)
{
    if (!v->o->file)
        return err_set(e, ERR_SYNTAX, "give -f FILE ('-' reads standard input)");
    return flow_verbs_each(v, t, true, e);
}

static int delete_named(struct ctl_verb *v, const struct twin *t, struct err *e)
{
    if (v->o->file)
        return flow_verbs_each(v, t, false, e);
    if (verb_needs_names(v, t->word, e) < 0)
        return -1;
    for (size_t i = 0; i < v->args.n; i++) {
        struct verb_goal deleted = { .object = ctl_name(t->kind, verb_namespace(v), str_of(v->args.v[i])) };

        if (ctl_delete(&v->ctl, deleted.object, e) < 0 || verb_wait(v, &deleted, NULL, e) < 0)
            return -1;
        buf_fmt(&v->out, "%s %.*s/%s deleted%s\n", t->word, STR_ARG(verb_namespace(v)), v->args.v[i], verb_dry_note(v));
    }
    return 0;
}

int verb_template_list(struct ctl_verb *v, struct err *e)
{
    return flow_verbs_list(v, &twins[TEMPLATE], e);
}

int verb_flow_list(struct ctl_verb *v, struct err *e)
{
    return flow_verbs_list(v, &twins[FLOW], e);
}

static int flow_verbs_describe(struct ctl_verb *v, const struct twin *t, struct err *e)
{
    struct ctl_options *o = arena_new(v->arena, struct ctl_options);

    *o = *v->o;
    if (!o->output)
        o->output = "yaml";
    v->o = o;
    return flow_verbs_list(v, t, e);
}

int verb_template_describe(struct ctl_verb *v, struct err *e)
{
    return flow_verbs_describe(v, &twins[TEMPLATE], e);
}

int verb_flow_describe(struct ctl_verb *v, struct err *e)
{
    return flow_verbs_describe(v, &twins[FLOW], e);
}

int verb_template_create(struct ctl_verb *v, struct err *e)
{
    return flow_verbs_create(v, &twins[TEMPLATE], e);
}

int verb_flow_create(struct ctl_verb *v, struct err *e)
{
    return flow_verbs_create(v, &twins[FLOW], e);
}

int verb_template_delete(struct ctl_verb *v, struct err *e)
{
    return delete_named(v, &twins[TEMPLATE], e);
}

int verb_flow_delete(struct ctl_verb *v, struct err *e)
{
    return delete_named(v, &twins[FLOW], e);
}
