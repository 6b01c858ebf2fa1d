/* access_makers.c - permission checks of Jobs that a JobFlow or CronJob creates, and of pods that users exec into
 *
 * A Job that is made from a template is the work of two: the one who wrote the JobFlow and the one who wrote the
 * JobTemplate, and each may change his part when the other does not look. So there is one rule: a Job is made only if
 * each of them could create this very Job himself, at the moment that it is made. Of a CronJob there is one author.
 *
 * The last author of such a spec is kept in an annotation that clients cannot write. The planner hands it on to the Job
 * from the very objects that it has read (flow/flow.h), so no write in between can change whose work it is.
 */
#include "server/server_internal.h"

#include "api/job.h"
#include "auth/runas.h"
#include "flow/flow.h"
#include "job/admit.h"

enum { FLOW_CHECK_BYTES = 1 << 20 }; /* of templates, for one JobFlow that is written */

struct author {
    struct identity who;
    const char *wrote;
};

/* ---- this very pod ---- */

/* Could 'who' have created the pod as it is? What would be changed for him counts as well: a pod that names no user is
 * root's, although one that he creates would be his own. */
static void judge_as_is(const struct server *s, const struct identity *who, struct str namespace,
                        const struct place *pod, struct problems *ps)
{
    size_t before = ps->n_errors;
    struct runas_decision d = runas_decide(s->opt.runas, who, namespace, pod, ps);
    struct place spec = place_member(pod, "spec");
    struct json *own = json_copy(ps->arena, pod->node);

    if (ps->n_errors != before)
        return;
    runas_apply(ps->arena, &d, own);
    if (!json_equal(own, pod->node))
        problem_error(ps, &spec, "has other permissions than pods of %.*s get", STR_ARG(who->user));
}

static struct str problems_text(struct arena *a, const struct problems *ps)
{
    autobuf text = { 0 };

    VEC_FOREACH(p, &ps->list)
        buf_fmt(&text, "%s%.*s: %.*s", text.n ? "; " : "", STR_ARG(p->path), STR_ARG(p->text));
    return arena_str(a, buf_view(&text));
}

int access_pod(struct server_request *rq, const struct object *pod)
{
    struct problems ps = { .arena = rq->arena };
    struct place root = { .node = pod->root };

    judge_as_is(rq->server, &rq->caller.who, pod->namespace, &root, &ps);
    if (!ps.n_errors)
        return 0;
    return fail_with(rq, REASON_FORBIDDEN,
                     "pods \"%.*s\" is forbidden: User \"%.*s\" cannot create this pod, and so cannot use it: %.*s",
                     STR_ARG(pod->name), STR_ARG(rq->caller.who.user), STR_ARG(problems_text(rq->arena, &ps)));
}

int access_enter(struct server_request *rq, const struct object *pod)
{
    return rq->server->opt.enters_all ? 0 : access_pod(rq, pod);
}

/* ---- authors ---- */

static bool is_maker(const struct resource_type *t)
{
    static const char *const kinds[] = { "JobFlow", "JobTemplate", "CronJob" };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(t->kind, kinds[i]) == 0 && str_ends(str_of(t->group), STR(".volcano.sh")))
            return true;
    return false;
}

static void set_note(struct arena *a, struct json *object, const char *key, struct str text)
{
    if (text.n)
        object_set_annotation(a, object, key, text);
    else
        (void)json_remove(json_get(json_get(object, "metadata"), "annotations"), key);
}

void access_author(struct server_request *rq, struct json *object, const struct object *old)
{
    bool is_same = old && json_equal(json_get(old->root, "spec"), json_get(object, "spec"));

    if (!is_maker(rq->type))
        return;
    set_note(rq->arena, object, AUTHOR_KEY,
             is_same ? arena_str(rq->arena, object_annotation(old->root, AUTHOR_KEY))
                     : auth_author_print(rq->server->opt.auth, rq->arena, &rq->caller.who));
}

/* ---- the Job ---- */

struct job_authors { /* of one Job to be checked */
    const struct server *server;
    struct arena *arena;
    struct str namespace;
    struct author list[2];
    size_t n;
};

/* Jobs stored by a server that kept no authors were judged when they were written; but a JobFlow was not, as a whole. */
static void add_author(struct job_authors *of, struct str text, const char *wrote, bool is_needed)
{
    if (text.n || is_needed)
        of->list[of->n++] = (struct author){ text.n ? auth_author_read(of->server->opt.auth, of->arena, text)
                                                    : identity_anonymous,
                                             wrote };
}

static void authors_apply(const struct job_authors *of, const struct place *template)
{
    for (size_t i = 0; i < of->n; i++) {
        struct problems none = { .arena = of->arena };
        struct runas_decision d = runas_decide(of->server->opt.runas, &of->list[i].who, of->namespace, template, &none);

        if (!none.n_errors)
            runas_apply(of->arena, &d, (struct json *)template->node);
    }
}

/* Each author's changes are made first; then each must find the Job as he could have created it. */
static int authors_check(const struct job_authors *of, struct json *spec, struct err *e)
{
    struct place root = { .node = spec }, tasks = place_member(&root, "tasks");

    for (size_t k = 0; k <= of->n; k++) {
        struct problems ps = { .arena = of->arena };
        size_t i = 0;

        JSON_FOREACH(task, tasks.node) {
            struct place at = place_item(&tasks, task, i++), template = place_member(&at, "template");

            if (!json_is(template.node, JSON_OBJECT))
                continue;
            if (!k)
                authors_apply(of, &template);
            else
                judge_as_is(of->server, &of->list[k - 1].who, of->namespace, &template, &ps);
        }
        if (ps.n_errors)
            return err_set(e, ERR_FORBIDDEN, "%.*s, who wrote the %s, may not create this Job: %.*s",
                           STR_ARG(of->list[k - 1].who.user), of->list[k - 1].wrote,
                           STR_ARG(problems_text(of->arena, &ps)));
    }
    return 0;
}

/* A patch can make anything of a template: the result must obey the rules of Jobs like one that a client sends. */
static int check_rules(struct server *s, struct arena *a, struct json *job, struct err *e)
{
    struct admit_env env = admission_env(s, object_namespace(job));
    struct problems ps = { .arena = a };

    (void)job_admit(a, job, &(struct job_admit_env){ .env = &env }, NULL, &ps);
    return ps.n_errors ? err_set(e, ERR_INVALID, "the Job is invalid: %.*s", STR_ARG(problems_text(a, &ps))) : 0;
}

int access_made(struct server *s, struct arena *a, struct json *job, struct err *e)
{
    const struct json *owner = object_controller(job);
    bool is_flow = str_is(json_member_text(owner, "kind"), "JobFlow");
    struct job_authors of = { .server = s, .arena = a, .namespace = object_namespace(job) };

    if (check_rules(s, a, job, e) < 0)
        return -1;
    add_author(&of, object_annotation(job, AUTHOR_KEY), is_flow ? "JobFlow" : "CronJob", is_flow);
    set_note(a, job, JOB_CREATOR_ANNOTATION, of.n ? of.list[0].who.user : STR_NULL); /* replaces one of the CronJob */
    add_author(&of, object_annotation(job, TEMPLATE_AUTHOR_KEY), "JobTemplate", false);
    return authors_check(&of, json_get(job, "spec"), e);
}

/* The job of a vertex as it would be created now. */
static struct json *makers_make_job(struct server_request *rq, const struct json *flow, const struct json *vertex,
                                    const struct object *template, struct err *e)
{
    struct json *spec, *job;

    if (jobflow_patch(rq->arena, json_get(template->root, "spec"), json_find(vertex, "patch", "jobSpec", NULL), &spec,
                      e) < 0)
        return NULL;
    job = object_new(rq->arena, JOB_API_VERSION, JOB_KIND, rq->target.namespace,
                     jobflow_job_name(rq->arena, object_name(flow), json_member_text(vertex, "name")));
    json_set(job, "spec", json_copy(rq->arena, spec)); /* parts of it may be the template's own */
    object_set_annotation(rq->arena, job, TEMPLATE_AUTHOR_KEY, object_annotation(template->root, AUTHOR_KEY));
    return job;
}

/* A job is checked when it is created if its template does not exist yet, or if there are too many to check here. */
static int check_vertex(struct server_request *rq, const struct json *flow, const struct json *vertex, size_t *bytes,
                        struct err *e)
{
    const struct resource_type *type = type_by_kind(STR("flow.volcano.sh/v1alpha1"), STR("JobTemplate"));
    const struct object *template = store_get(rq->server->opt.store, type, rq->target.namespace,
                                              json_member_text(vertex, "name"));
    struct job_authors of = {
        .server = rq->server,
        .arena = rq->arena,
        .namespace = rq->target.namespace,
        .list = { { rq->caller.who, "JobFlow" } },
        .n = 1,
    };
    struct json *job;

    if (template)
        *bytes += encoded(rq->server, template).n;
    if (!template || *bytes > FLOW_CHECK_BYTES)
        return 0;
    if (!(job = makers_make_job(rq, flow, vertex, template, e)))
        return -1;
    add_author(&of, object_annotation(job, TEMPLATE_AUTHOR_KEY), "JobTemplate", false);
    if (check_rules(rq->server, rq->arena, job, e) < 0)
        return -1;
    return authors_check(&of, json_get(job, "spec"), e);
}

int access_flow(struct server_request *rq, const struct json *flow)
{
    size_t i = 0, bytes = 0;
    struct err e;

    JSON_FOREACH(vertex, json_find(flow, "spec", "flows", NULL)) {
        if (check_vertex(rq, flow, vertex, &bytes, &e) < 0)
            return fail_with(rq, e.code == ERR_FORBIDDEN ? REASON_FORBIDDEN : REASON_INVALID,
                             "JobFlow \"%.*s\" is %s: spec.flows[%zu]: %s", STR_ARG(object_name(flow)),
                             e.code == ERR_FORBIDDEN ? "forbidden" : "invalid", i, e.text);
        i++;
    }
    return 0;
}
