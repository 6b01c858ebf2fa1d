/* human.c - the forms that are meant to be looked at: tree and summary */
#include "api/meta.h"
#include "api/pod/resources.h"
#include "base/util.h"
#include "cli/render/render.h"
#include "base/term.h"
#include "job/podgroup.h"

/* ---- in a few words ---- */

static void about_config_map(struct buf *out, const struct json *o)
{
    JSON_FOREACH(m, json_get(o, "data"))
        buf_fmt(out, "%s%.*s", out->n ? ", " : "", STR_ARG(json_key(m)));
}

static void about_service(struct buf *out, const struct json *o)
{
    const struct json *spec = json_get(o, "spec");

    if (str_is(json_member_text(spec, "clusterIP"), "None"))
        buf_fmt(out, "headless: gives every pod its name");
    JSON_FOREACH(p, json_get(spec, "ports"))
        buf_fmt(out, "%s%.*s %lld", out->n ? ", " : "", STR_ARG(json_member_text(p, "name")),
                (long long)json_i64(json_get(p, "port"), 0));
}

static void about_network_policy(struct buf *out, const struct json *o)
{
    size_t n = json_count(json_find(o, "spec", "ingress", NULL));

    buf_fmt(out, "only these pods may connect to each other");
    if (n > 1)
        buf_fmt(out, ", and %zu more rule%s", n - 1, n == 2 ? "" : "s");
}

static void about_workload(struct buf *out, const struct json *o)
{
    (void)o;
    buf_fmt(out, "for kube-scheduler");
}

static void about_pod_group(struct buf *out, const struct json *o)
{
    const struct json *spec = json_get(o, "spec"), *policy = json_get(spec, "schedulingPolicy"); /* of a native one */

    if (policy && json_get(policy, "basic"))
        buf_fmt(out, "no gang: each pod by itself");
    else if (policy)
        buf_fmt(out, "gang of %lld", (long long)json_i64(json_find(policy, "gang", "minCount", NULL), 0));
    if (policy)
        return;
    buf_fmt(out, "gang of %lld in queue %.*s", (long long)json_i64(json_get(spec, "minMember"), 0),
            STR_ARG(json_member_text(spec, "queue")));
}

static void about_claim(struct buf *out, const struct json *o)
{
    const struct json *size = json_find(o, "spec", "resources", "requests", "storage", NULL);

    if (json_is(size, JSON_STRING))
        buf_fmt(out, "%.*s", STR_ARG(json_text(size, STR_NULL)));
}

static const struct {
    const char *kind;
    void (*about)(struct buf *out, const struct json *o);
} abouts[] = {
    { "ConfigMap", about_config_map },         { "Secret", about_config_map }, { "Service", about_service },
    { "NetworkPolicy", about_network_policy }, { "Workload", about_workload }, { "PodGroup", about_pod_group },
    { "PersistentVolumeClaim", about_claim },
};

static struct str human_about(struct arena *a, const struct json *o)
{
    autobuf text = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(abouts); i++)
        if (str_is(object_kind(o), abouts[i].kind))
            abouts[i].about(&text, o);
    if (text.n > 72) { /* one line each */
        text.n = str_cut(buf_view(&text), 69).n;
        buf_fmt(&text, "…");
    }
    return arena_str(a, buf_view(&text));
}

static struct str image_of(struct arena *a, const struct json *pod_spec)
{
    autobuf text = { 0 };

    term_text(&text, json_member_text(json_at(json_get(pod_spec, "containers"), 0), "image"));
    return arena_str(a, buf_view(&text));
}

static void head_line(struct render *r, struct json *job)
{
    const struct job *j = &r->doc->job;
    struct str name = arena_fmt(r->arena, "%.*s/%.*s", STR_ARG(j->meta.namespace), STR_ARG(j->meta.name));

    (void)job;
    term_style(&r->out, r->has_colour, STYLE_BOLD, arena_fmt(r->arena, "Job %.*s", STR_ARG(name)));
    buf_fmt(&r->out, "  queue %.*s, gang of %d out of %.*s\n", STR_ARG(j->spec.queue), j->spec.min_available,
            STR_ARG(plural(r->arena, job_total_replicas(j), "pod")));
}

/* ---- tree ---- */

static void tree_object(struct render *r, struct json *o)
{
    buf_fmt(&r->out, "├── ");
    buf_fmt(&r->out, "%-14.*s ", STR_ARG(object_kind(o)));
    term_style(&r->out, r->has_colour, STYLE_BOLD, object_name(o));
    term_style(&r->out, r->has_colour, STYLE_CYAN, arena_fmt(r->arena, "  [%s]", render_writer(o)));
    term_style(&r->out, r->has_colour, STYLE_DIM, arena_fmt(r->arena, "  %.*s\n", STR_ARG(human_about(r->arena, o))));
}

static void tree_task(struct render *r, const struct job_task *task)
{
    buf_fmt(&r->out, "├── task %.*s: %.*s", STR_ARG(task->name),
            STR_ARG(plural(r->arena, MAX_OF(task->replicas, 0), "pod")));
    if (task->min_available && *task->min_available != task->replicas)
        buf_fmt(&r->out, ", at least %d", *task->min_available);
    buf_fmt(&r->out, ", image %.*s\n", STR_ARG(image_of(r->arena, job_task_pod_spec(task))));
}

/* "env MPI_HOST", "volume lm-mpi-job-ssh": what a marked node is, from its place and its name. */
static void tree_part(struct render *r, struct str what, const struct json *j)
{
    struct str name = json_member_text(j, "name");
    struct str value = json_member_text(j, "value");

    buf_fmt(&r->out, "│   %s   + %.*s", r->is_last_pod ? " " : "│", STR_ARG(what));
    if (!str_empty(name))
        buf_fmt(&r->out, " %.*s", STR_ARG(name));
    if (json_is(j, JSON_STRING))
        value = json_text(j, STR_NULL);
    if (!str_empty(value)) {
        buf_fmt(&r->out, " = ");
        term_text(&r->out, str_cut(value, 60));
        buf_fmt(&r->out, "%s", value.n > 60 ? "…" : "");
    }
    term_style(&r->out, r->has_colour, STYLE_CYAN, arena_fmt(r->arena, "  [%s]\n", mark_name(j->mark)));
}

static void tree_parts(struct render *r, struct str what, const struct json *j)
{
    struct str name = json_member_text(j, "name");

    if (j->mark > MARK_DEFAULT) {
        tree_part(r, what, j);
        return;
    }
    JSON_FOREACH(c, j) {
        struct str part = c->key ? json_key(c) : what;

        if (c->key && !str_empty(name)) /* inside a container, say which */
            part = arena_fmt(r->arena, "%.*s: %.*s", STR_ARG(name), STR_ARG(part));
        tree_parts(r, part, c);
    }
}

static void tree_pod(struct render *r, struct json *pod, const struct job_task *task)
{
    const struct json *spec = json_get(pod, "spec");
    struct str host = json_member_text(spec, "hostname"), domain = json_member_text(spec, "subdomain");

    buf_fmt(&r->out, "│   %s── ", (int64_t)r->n_in_task == task->replicas ? "└" : "├");
    term_style(&r->out, r->has_colour, STYLE_BOLD, object_name(pod));
    if (!str_empty(host))
        buf_fmt(&r->out, "  host %.*s.%.*s", STR_ARG(host), STR_ARG(domain));
    buf_char(&r->out, '\n');
    if (r->explains) {
        r->is_last_pod = (int64_t)r->n_in_task == task->replicas;
        render_fold_marks(pod);
        tree_parts(r, STR("spec"), spec);
    }
}

static void tree_done(struct render *r)
{
    buf_fmt(&r->out, "└── %.*s and %.*s in all\n", STR_ARG(plural(r->arena, (int64_t)r->n_objects, "object")),
            STR_ARG(plural(r->arena, (int64_t)r->n_pods, "pod")));
}

const struct render_form render_tree = {
    .name = "tree",
    .shows_always = true,
    .job = head_line,
    .object = tree_object,
    .task = tree_task,
    .pod = tree_pod,
    .done = tree_done,
};

/* ---- summary ---- */

static void summary_plugins(struct render *r)
{
    struct str sep = STR("");

    if (json_count(r->doc->job.spec.plugins) == 0)
        return;
    buf_fmt(&r->out, "  plugins: ");
    JSON_FOREACH(p, r->doc->job.spec.plugins) {
        buf_fmt(&r->out, "%.*s%.*s%s", STR_ARG(sep), STR_ARG(json_key(p)),
                p->mark == MARK_DEFAULT ? " (added for the others)" : "");
        sep = STR(", ");
    }
    buf_char(&r->out, '\n');
}

static struct str human_amounts(struct arena *a, const struct json *pod_spec)
{
    autobuf text = { 0 };
    struct resources requests;

    pod_requests(a, pod_spec, &requests);
    VEC_FOREACH(q, &requests.list) {
        buf_fmt(&text, "%s%.*s ", text.n ? ", " : "", STR_ARG(q->name));
        quantity_print(&text, q->q);
    }
    return text.n ? arena_str(a, buf_view(&text)) : STR("-");
}

static void summary_tasks(struct render *r)
{
    static const char *const heads[] = { "TASK", "PODS", "AT LEAST", "IMAGE", "EACH ASKS FOR" };
    struct table t = { .arena = r->arena, .columns = ARRAY_LEN(heads) };
    const struct job *job = &r->doc->job;

    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        table_cell(&t, str_of(heads[i]));
    for (size_t i = 0; i < job->spec.tasks.n; i++) {
        const struct job_task *task = &job->spec.tasks.v[i];
        const struct json *spec = job_task_pod_spec(task);

        table_cell(&t, task->name);
        table_cell(&t, arena_fmt(r->arena, "%d", task->replicas));
        table_cell(&t, arena_fmt(r->arena, "%d", job_task_minimum(task)));
        table_cell(&t, image_of(r->arena, spec));
        table_cell(&t, human_amounts(r->arena, spec));
    }
    buf_char(&r->out, '\n');
    table_print(&r->out, &t, "  ");
}

static void summary_job(struct render *r, struct json *job)
{
    head_line(r, job);
    summary_plugins(r);
    summary_tasks(r);
    buf_fmt(&r->out, "\n  BY    CREATES\n");
}

static void summary_object(struct render *r, struct json *o)
{
    buf_fmt(&r->out, "  %-4s  %-14.*s %.*s\n", render_writer(o), STR_ARG(object_kind(o)), STR_ARG(object_name(o)));
}

static void summary_task(struct render *r, const struct job_task *task)
{
    const struct job *job = &r->doc->job;
    int32_t n = task->replicas;

    if (n == 1)
        buf_fmt(&r->out, "  job   Pod            %.*s-%.*s-0\n", STR_ARG(job->meta.name), STR_ARG(task->name));
    else if (n > 1)
        buf_fmt(&r->out, "  job   %-5d Pods     %.*s-%.*s-0 … -%d\n", n, STR_ARG(job->meta.name), STR_ARG(task->name),
                n - 1);
}

static void summary_pod(struct render *r, struct json *pod, const struct job_task *task)
{
    (void)r, (void)pod, (void)task; /* the task's line says it all; building the pod has shown that it can be built */
}

/* requests.cpu repeats cpu, and count/pods repeats pods. */
static bool is_said_twice(struct str resource)
{
    return (str_has_char(resource, '.') && !str_has_char(resource, '/')) || str_starts(resource, STR("count/")) ||
           str_starts(resource, STR("requests."));
}

static void summary_done(struct render *r)
{
    autoarena scratch = { 0 };
    struct resources min;
    const char *before = "needs ";

    job_min_resources(&scratch, &r->doc->job, NULL, &min);
    if (!min.list.n)
        return;
    buf_fmt(&r->out, "\n  The gang of %d ", r->doc->job.spec.min_available);
    VEC_FOREACH(m, &min.list) {
        if (is_said_twice(m->name))
            continue;
        buf_fmt(&r->out, "%s%.*s ", before, STR_ARG(m->name));
        quantity_print(&r->out, m->q);
        before = ", ";
    }
    buf_fmt(&r->out, ".\n");
}

const struct render_form render_summary = {
    .name = "summary",
    .shows_always = true,
    .job = summary_job,
    .object = summary_object,
    .task = summary_task,
    .pod = summary_pod,
    .done = summary_done,
};
