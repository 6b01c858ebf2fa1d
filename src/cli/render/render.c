/* render.c - the command `pumice render` */
#include "cli/render/render.h"

#include "api/meta.h"
#include "base/util.h"
#include "cli/commands.h"
#include "cli/live.h"
#include "cli/mask.h"
#include "cli/native.h"
#include "base/term.h"
#include "job/foreign.h"
#include "job/pod.h"
#include "job/native.h"
#include "job/wanted.h"

#include <errno.h>

struct render_options {
    const char *output, *namespace;
    struct text_list only, state;
    struct live_options live;
    bool explain, show_secrets, native_groups;
};

static const struct render_form *const forms[] = { &render_yaml, &render_json, &render_tree, &render_summary };

static const struct render_form *form_by_name(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(forms); i++)
        if (strcmp(forms[i]->name, name) == 0)
            return forms[i];
    return NULL;
}

/* A word of --only: KIND or KIND/NAME. NULL: there is no such kind. */
static const struct resource_type *only_parse(const char *word, struct str *ret_kind, struct str *ret_name)
{
    struct str rest = str_of(word);

    (void)str_split(&rest, '/', ret_kind);
    *ret_name = ret_kind->n < strlen(word) ? rest : STR_NULL;
    if (str_is(*ret_kind, "workload") || str_is(*ret_kind, "workloads") || str_is(*ret_kind, "Workload"))
        return type_native("Workload"); /* of --native-podgroups */
    return type_by_name(*ret_kind);
}

bool render_wants(const struct render *r, struct str kind, struct str name)
{
    VEC_FOREACH(only, &r->only->list) {
        struct str ignored, want_name;
        const struct resource_type *type = only_parse(*only, &ignored, &want_name);

        if (type && str_is(kind, type->kind) && (str_empty(want_name) || !name.p || str_eq(want_name, name)))
            return true;
    }
    return r->only->list.n == 0;
}

void render_flush(struct render *r)
{
    if (r->out.n && !r->failed_errno && term_write(stdout, &r->out) < 0)
        r->failed_errno = errno;
    buf_reset(&r->out);
}

const char *render_writer(const struct json *object)
{
    return mark_name(object->mark);
}

/* A list of objects (env, volumes …) often has several writers: each item says its own, the list nothing. */
static void render_fold(struct json *j, uint8_t parent_mark)
{
    bool is_open = json_is(j, JSON_ARRAY) && json_is(json_first(j), JSON_OBJECT);
    uint8_t mark = j->mark;

    JSON_FOREACH(c, j)
        render_fold(c, is_open ? parent_mark : mark);
    j->mark = mark == parent_mark || is_open ? MARK_USER : mark & 63;
}

void render_fold_marks(struct json *object)
{
    uint8_t own = object->mark;

    render_fold(object, own);
    object->mark = own;
}

/* ---- one job ---- */

/* A class among the files that are created together wins over one that exists. */
static int64_t priority_value(void *ctx, struct str class_name)
{
    const struct load *l = ctx;
    const struct json *class = load_find(l, "PriorityClass", STR_NULL, class_name);

    if (!class)
        class = load_find(l->state, "PriorityClass", STR_NULL, class_name);
    return json_i64(json_get(class, "value"), 0);
}

/* An object of another owner is never changed: it is used if it fits, else the job waits. Returns the resulting object. */
static struct json *settle_foreign(const struct load *l, const struct loaded *doc, struct json *wanted)
{
    struct json *found = load_find(l->state, arena_cstr(l->arena, object_kind(wanted)), doc->job.meta.namespace,
                                   object_name(wanted));
    const char *why;

    if (!found || str_eq(object_controller_uid(found), doc->job.meta.uid))
        return wanted;
    why = foreign_problem(l->arena, &doc->job, wanted, found);
    if (!why)
        return json_copy(l->arena, found);
    fprintf(stderr,
            "%.*s: warning: %.*s %.*s exists and is not owned by this job, which would wait until it is deleted: %s\n",
            STR_ARG(load_file_name(doc->file)), STR_ARG(object_kind(wanted)), STR_ARG(object_name(wanted)), why);
    return wanted;
}

static void show_object(struct render *r, struct json *object)
{
    r->n_objects++;
    if (!render_wants(r, object_kind(object), object_name(object)))
        return;
    if (!r->shows_secrets)
        mask_object(r->arena, object);
    r->form->object(r, object);
    r->n_shown++;
    render_flush(r);
}

/* A pod that exists is left as it is; the controller would not touch it either. */
static int make_pod(const struct render *r, const struct load *l, struct arena *a, struct pod_draft *pod, struct err *e)
{
    const struct loaded *doc = r->doc;
    const struct job_task *task = &doc->job.spec.tasks.v[pod->task_pos];
    struct json *found = NULL;

    if (l->state)
        found = load_find(l->state, "Pod", doc->job.meta.namespace, job_pod_name(a, &doc->job, task, pod->index));
    if (found && str_eq(object_controller_uid(found), doc->job.meta.uid)) {
        pod->root = json_copy(a, found);
        return 0;
    }
    if (job_pod_new(a, &doc->job, doc->set, pod, e) < 0)
        return -1;
    if (r->is_native)
        native_join(a, pod->root, job_group_name(a, &doc->job), STR("volcano"));
    if (found)
        (void)settle_foreign(l, doc, pod->root); /* a pod never fits: only the warning counts */
    return 0;
}

static int show_task(struct render *r, const struct load *l, size_t task_pos, struct err *e)
{
    const struct job_task *task = &r->doc->job.spec.tasks.v[task_pos];
    autoarena scratch = { 0 }; /* one pod at a time */

    r->n_in_task = 0;
    if (r->form->task && render_wants(r, STR("Pod"), STR_NULL))
        r->form->task(r, task);
    for (int32_t i = 0; i < task->replicas; i++) {
        struct pod_draft pod = { .task_pos = task_pos, .index = (uint32_t)i };

        if (make_pod(r, l, &scratch, &pod, e) < 0)
            return -1;
        r->n_pods++, r->n_in_task++;
        if (render_wants(r, STR("Pod"), object_name(pod.root))) {
            r->form->pod(r, pod.root, task);
            r->n_shown++;
            render_flush(r);
        }
        arena_reset(&scratch);
    }
    return 0;
}

static void show_job_itself(struct render *r, struct loaded *doc)
{
    struct json *job = doc->root, *status = json_need_object(r->arena, job, "status");

    if (status)
        json_set(status, "controlledResources", json_mark(job_markers(r->arena, &doc->job, doc->set), MARK_JOB));
    if (!r->form->shows_always && !render_wants(r, STR(JOB_KIND), doc->job.meta.name))
        return;
    if (!r->shows_secrets) { /* the plugins still read the arguments: hide them in a copy */
        job = json_copy(r->arena, job);
        mask_object(r->arena, job);
    }
    r->form->job(r, job);
    r->n_shown++;
    render_flush(r);
}

static int show_job(struct render *r, const struct load *l, struct loaded *doc, struct err *e)
{
    struct priority_source priorities = { .ctx = (void *)l, .value = priority_value };
    struct plugin_objects objects = { .arena = r->arena };

    r->doc = doc;
    r->n_objects = r->n_pods = 0;
    if (job_wanted(&doc->job, doc->set, &objects, e) < 0)
        return -1;
    job_wanted_group(&doc->job, &priorities, r->is_native, &objects);
    show_job_itself(r, doc);
    VEC_FOREACH(object, &objects.list)
        show_object(r, settle_foreign(l, doc, *object));
    for (size_t i = 0; i < doc->job.spec.tasks.n; i++)
        if (show_task(r, l, i, e) < 0)
            return -1;
    if (r->form->done)
        r->form->done(r);
    render_flush(r);
    return 0;
}

/* ---- the command ---- */

static int check_only(const struct text_list *only)
{
    VEC_FOREACH(word, &only->list) {
        struct str kind, name;

        if (!only_parse(*word, &kind, &name)) {
            fprintf(
                stderr,
                "pumice render: --only: unknown kind '%.*s' (try Job, Pod, ConfigMap, Secret, Service, NetworkPolicy, "
                "PodGroup, Workload, PersistentVolumeClaim)\n",
                STR_ARG(kind));
            return -1;
        }
    }
    return 0;
}

/* "vcjob/train", as kubectl prints it, instead of a file. */
static bool is_job_name(const char *word)
{
    struct str rest = str_of(word), kind;

    return str_split(&rest, '/', &kind) && rest.n && !str_has_char(rest, '/') &&
           type_by_name(kind) == type_by_name(STR(JOB_KIND));
}

static int read_jobs(struct live *live, struct load *l, const struct text_list *names, struct err *e)
{
    VEC_FOREACH(word, &names->list) {
        struct str name = str_from(str_of(*word), (size_t)str_rfind_char(str_of(*word), '/') + 1);
        struct json *job;

        if (kube_ask_object(live->ask, l->arena,
                            &(struct object_key){ type_by_name(STR(JOB_KIND)), str_of(l->namespace), name }, &job,
                            e) < 0)
            return err_wrap(e, "%s in namespace %s", *word, l->namespace);
        load_add(l, *word, job);
    }
    return 0;
}

/* Files, the Jobs of a cluster that are named, and what it has around them: read when it is known which Jobs they are. */
static int read_live(struct load *l, struct load *state, const struct render_options *o, const struct text_list *files,
                     struct err *e)
{
    struct text_list real = { 0 }, names = { 0 };
    autolive live = { 0 };

    VEC_FOREACH(word, &files->list)
        *vec_push(l->arena, is_job_name(*word) ? &names.list : &real.list) = *word;
    if (live_open(&live, l->arena, &o->live, "render", e) < 0)
        return -1;
    if (o->native_groups)
        (void)native_find(live.ask, &(struct err){ 0 }); /* none: as it would be with the newest */
    if (!l->namespace)
        l->namespace = state->namespace = arena_cstr(l->arena, live.config.namespace);
    l->state = state;
    load_read(l, &real);
    if (l->failures.n)
        return 0;
    return read_jobs(&live, l, &names, e) < 0 ? -1 : live_read_around(&live, state, l, e);
}

static int render_load_all(struct load *l, struct load *state, const struct render_options *o,
                           const struct text_list *files)
{
    struct err e;

    if (o->state.list.n) {
        load_state(state, &o->state);
        if (load_report(state))
            return -1;
        l->state = state;
    }
    if (live_is_asked(&o->live)) {
        if (read_live(l, state, o, files, &e) < 0)
            return command_fail("render", &e, -1);
    } else {
        load_read(l, files);
        if (!l->failures.n)
            load_expand(l);
    }
    load_fill_names(l);
    load_admit(l);
    if (load_report(l))
        return -1;
    if (load_count_jobs(l) == 0) {
        fprintf(stderr, "pumice render: no Volcano Job in %.*s\n",
                STR_ARG(files->list.n == 1 ? load_file_name(files->list.v[0]) : STR("these files")));
        return -1;
    }
    return 0;
}

static int show_all(struct render *r, struct load *l)
{
    int rc = EXIT_FINE;
    struct err e;

    if (r->form->begin)
        r->form->begin(r);
    for (size_t i = 0; i < l->docs.n && rc == EXIT_FINE; i++) {
        if (!l->docs.v[i]->set || show_job(r, l, l->docs.v[i], &e) == 0)
            continue;
        fprintf(stderr, "%s: %s\n", l->docs.v[i]->file, e.text);
        rc = EXIT_FAILED;
    }
    if (r->form->end)
        r->form->end(r);
    render_flush(r);
    buf_done(&r->out);
    if (rc == EXIT_FINE && r->n_shown == 0)
        fprintf(stderr, "pumice render: --only matches nothing of what the job creates\n");
    if (r->failed_errno && r->failed_errno != EPIPE) {
        fprintf(stderr, "pumice render: cannot write the output: %s\n", strerror(r->failed_errno));
        rc = EXIT_FAILED;
    }
    return rc;
}

int render_loaded(struct arena *a, struct load *l, const char *form)
{
    static const struct text_list everything;
    struct render r = { .arena = a,
                        .form = form_by_name(form ? form : "yaml"),
                        .has_colour = term_has_colour(stdout),
                        .only = &everything };

    return show_all(&r, l);
}

static int render_run(struct arena *a, const void *options, const struct text_list *files)
{
    const struct render_options *o = options;
    autoload state = { .arena = a, .namespace = o->namespace };
    autoload l = { .arena = a, .namespace = o->namespace, .fills_uid = true };
    struct render r = {
        .arena = a,
        .form = form_by_name(o->output ? o->output : "yaml"),
        .explains = o->explain,
        .shows_secrets = o->show_secrets,
        .is_native = o->native_groups,
        .has_colour = term_has_colour(stdout),
        .only = &o->only,
    };

    if (check_only(&o->only) < 0)
        return EXIT_USAGE;
    if (o->state.list.n && live_is_asked(&o->live)) {
        fprintf(stderr, "pumice render: --state is a cluster in files: leave it out, or --cluster, --kubeconfig and "
                        "--context\n");
        return EXIT_USAGE;
    }
    if (render_load_all(&l, &state, o, files) < 0)
        return EXIT_FAILED;
    return show_all(&r, &l);
}

static const char *const form_names[] = { "yaml", "json", "tree", "summary", NULL };

static const struct option render_option_table[] = {
    { 'o', "output", OPTION_TEXT, offsetof(struct render_options, output), "FORM", form_names,
      "yaml (default), json (one v1 List), tree or summary" },
    { 0, "only", OPTION_LIST, offsetof(struct render_options, only), "KIND[/NAME]", NULL,
      "only objects of this kind (pod, cm, svc, …); may be repeated" },
    { 0, "explain", OPTION_FLAG, offsetof(struct render_options, explain), NULL, NULL,
      "say which plugin wrote each part" },
    { 0, "show-secrets", OPTION_FLAG, offsetof(struct render_options, show_secrets), NULL, NULL,
      "print keys and other secrets instead of masking them" },
    { 0, "native-podgroups", OPTION_FLAG, offsetof(struct render_options, native_groups), NULL, NULL,
      "the gang as `controller --native-podgroups` makes it: of scheduling.k8s.io" },
    { 0, "state", OPTION_LIST, offsetof(struct render_options, state), "FILE", NULL,
      "objects that exist already (default: an empty cluster)" },
    LIVE_OPTIONS(struct render_options, live),
    { 'n', "namespace", OPTION_TEXT, offsetof(struct render_options, namespace), "NAME", NULL,
      "namespace of jobs that name none (default: default)" },
};

static const char *const render_examples[] = {
    "pumice render job.yaml",
    "every object, as YAML",
    "pumice render -o tree job.yaml",
    "the same at a glance",
    "pumice render --explain --only pod job.yaml",
    "the pods, and who wrote what in them",
    "pumice render --only cm -o json job.yaml",
    "only the ConfigMap, as JSON",
    "pumice render vcjob/train --cluster",
    "a Job of the cluster that kubectl uses, as it is there",
    NULL,
};

const struct command command_render = {
    .name = "render",
    .arguments = "FILE…",
    .summary = "print every object that a Job would create, without changes anywhere",
    .about = "Prints the Job as admission leaves it (with defaults and forced plugins), then all it creates, in the "
             "order of\n"
             "creation: objects of plugins, claims, the PodGroup, and the pods by task and index. It contacts and "
             "changes nothing.\n"
             "If the file has no uid of the Job, one is derived from its name; the API server assigns the real one.",
    .options = render_option_table,
    .n_options = ARRAY_LEN(render_option_table),
    .options_size = sizeof(struct render_options),
    .examples = render_examples,
    .run = render_run,
};
