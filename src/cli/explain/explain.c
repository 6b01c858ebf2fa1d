/* explain.c - the command `pumice explain` */
#include "cli/explain/explain.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "cli/commands.h"
#include "cli/config_watch.h"
#include "cli/live.h"
#include "cli/load.h"
#include "cli/read.h"
#include "base/term.h"
#include "yaml/yaml.h"

struct explain_options {
    const char *output, *namespace, *now, *config;
    struct text_list files;
    struct live_options live;
};

/* ---- the job's name ---- */

struct explain_wanted {
    struct str namespace, name;
};

/* NAME or NAMESPACE/NAME; also "vcjob/NAME" as kubectl prints it. */
static struct explain_wanted parse_name(const char *namespace, const char *word)
{
    struct explain_wanted w = { str_of(namespace && namespace[0] ? namespace : "default"), str_of(word) };
    struct str rest = w.name, first;

    if (!str_split(&rest, '/', &first) || !rest.p)
        return w;
    w.name = rest;
    if (type_by_name(first) != type_by_name(STR(JOB_KIND)) && type_by_name(first) != type_by_name(STR("PodGroup")) &&
        type_by_name(first) != type_by_name(STR("JobFlow")))
        w.namespace = first;
    return w;
}

static bool is_candidate(const struct loaded *doc)
{
    return doc->type && (doc->type == type_by_name(STR(JOB_KIND)) || doc->type == type_by_name(STR("PodGroup")));
}

struct str explain_namespace(const struct json *object)
{
    return str_empty(object_namespace(object)) ? STR("default") : object_namespace(object);
}

/* The one job of that name, if the user named no namespace and there is just one. */
static bool find_anywhere(const struct load *l, struct explain_wanted *w)
{
    size_t n = 0;
    struct str namespace = w->namespace;

    for (size_t i = 0; i < l->docs.n; i++) {
        const struct loaded *doc = l->docs.v[i];

        if (!is_candidate(doc) || !str_eq(object_name(doc->root), w->name))
            continue;
        if (str_eq(explain_namespace(doc->root), w->namespace))
            return true;
        namespace = explain_namespace(doc->root);
        n++;
    }
    w->namespace = namespace;
    return n == 1;
}

/* The only Job, or the only PodGroup without an owner. */
static bool find_only(const struct load *l, struct explain_wanted *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < l->docs.n; i++) {
        const struct loaded *doc = l->docs.v[i];

        if (!is_candidate(doc) || object_controller_uid(doc->root).n)
            continue;
        *ret = (struct explain_wanted){ explain_namespace(doc->root), object_name(doc->root) };
        n++;
    }
    return n == 1;
}

enum { NAMES_SHOWN = 8 };

static void explain_list_names(struct buf *out, const struct load *l)
{
    size_t shown = 0, more = 0;

    for (size_t i = 0; i < l->docs.n; i++) {
        const struct loaded *doc = l->docs.v[i];

        if (!doc->type || doc->type != type_by_name(STR(JOB_KIND)))
            continue;
        if (shown == NAMES_SHOWN) {
            more++;
            continue;
        }
        buf_str(out, shown++ ? STR(", ") : STR(""));
        term_text(out, explain_namespace(doc->root));
        buf_char(out, '/');
        term_text(out, object_name(doc->root));
    }
    if (more)
        buf_fmt(out, " and %zu more", more);
}

static int unknown_job(struct arena *a, const struct load *l, const struct explain_wanted *w)
{
    const char **names = arena_array(a, const char *, l->docs.n + 1), *near;
    autobuf out = { 0 };
    size_t n = 0;

    for (size_t i = 0; i < l->docs.n; i++)
        if (is_candidate(l->docs.v[i]))
            names[n++] = arena_cstr(a, object_name(l->docs.v[i]->root));
    near = suggest(w->name, names, n);
    buf_str(&out, STR("pumice explain: no Job, PodGroup or JobFlow \""));
    term_text(&out, w->name);
    buf_str(&out, STR("\" in namespace "));
    term_text(&out, w->namespace);
    if (near) {
        buf_str(&out, STR(" (did you mean "));
        term_text(&out, str_of(near));
        buf_str(&out, STR("?)"));
    } else if (n == 0) {
        buf_str(&out, STR("; STATE has no Job"));
    } else {
        buf_str(&out, STR("; jobs in STATE: "));
        explain_list_names(&out, l);
    }
    buf_char(&out, '\n');
    (void)term_write(stderr, &out); /* a broken stderr cannot be reported */
    return EXIT_FAILED;
}

/* ---- the rest of the command line ---- */

/* Now is now; but a state is never looked at from before it was. */
static int parse_now(const struct explain_options *o, const struct load *l, int64_t *ret)
{
    struct err e;

    if (o->now) {
        if (clock_parse(str_of(o->now), ret, &e) == 0)
            return 0;
        fprintf(stderr, "pumice explain: --at: %s\n", e.text);
        return -1;
    }
    *ret = clock_now_ms(&clock_real);
    for (size_t i = 0; i < l->docs.n; i++) {
        int64_t ms;

        if (clock_parse(json_text(json_find(l->docs.v[i]->root, "metadata", "creationTimestamp", NULL), STR("")), &ms,
                        NULL) == 0)
            *ret = MAX_OF(*ret, ms);
    }
    return 0;
}

static int read_config(struct arena *a, const char *file, struct sched_config *ret)
{
    autobuf text = { 0 };
    struct err e;

    if (scheduler_config(a, file, ret, &e) == 0)
        return 0;
    term_text(&text, str_of(e.text));
    fprintf(stderr, "pumice explain: %s\n", text.p);
    return -1;
}

static bool has_kind(const struct load *l, const char *kind)
{
    for (size_t i = 0; i < l->docs.n; i++)
        if (l->docs.v[i]->type && l->docs.v[i]->type == type_by_name(str_of(kind)))
            return true;
    return false;
}

/* Kubernetes protects every claim by a finalizer, and a cluster whose controllers bind claims has a
 * volume or a StorageClass; in `pumice server` a claim is a directory, which is always there. */
static bool binds_claims(const struct load *l)
{
    for (size_t i = 0; i < l->docs.n; i++) {
        const struct json *claim = l->docs.v[i]->root;

        if (!str_is(object_kind(claim), "PersistentVolumeClaim"))
            continue;
        if (json_member_text(json_get(claim, "spec"), "volumeName").n)
            return true;
        JSON_FOREACH(f, json_find(claim, "metadata", "finalizers", NULL))
            if (str_is(json_text(f, STR("")), "kubernetes.io/pvc-protection"))
                return true;
    }
    return has_kind(l, "StorageClass") || has_kind(l, "PersistentVolume");
}

static void warn_no_nodes(const struct load *l)
{
    if (has_kind(l, "Node"))
        return;
    fprintf(stderr, "pumice explain: warning: no Node in STATE, so no pod can be placed; add the output of 'kubectl "
                    "get nodes -o yaml'\n");
}

/* The cluster's objects, but for those that the files have another version of. */
static int add_live(struct arena *a, struct load *l, const struct explain_options *o)
{
    autolive live = { 0 };
    autoload all = { .arena = a };
    struct err e;

    if (live_open(&live, a, &o->live, "explain", &e) < 0)
        return command_fail("explain", &e, live_is_asked(&o->live) ? EXIT_FAILED : EXIT_USAGE);
    if (!l->namespace)
        l->namespace = arena_cstr(a, live.config.namespace);
    if (live_read_state(&live, &all, &e) < 0 || live_read_flows(&live, &all, &e) < 0)
        return command_fail("explain", &e, EXIT_FAILED);
    for (size_t i = 0; i < all.docs.n; i++)
        if (!load_has(l, all.docs.v[i]))
            *vec_push(a, &l->docs) = all.docs.v[i];
    return EXIT_FINE;
}

static int explain_load_all(struct arena *a, struct load *l, const struct explain_options *o,
                            const struct text_list *arguments)
{
    struct text_list files = o->files;

    for (size_t i = 1; i < arguments->list.n; i++) /* -f a.yaml b.yaml */
        *vec_push(a, &files.list) = arguments->list.v[i];
    load_state(l, &files);
    if (load_report(l))
        return EXIT_FAILED;
    return files.list.n && !live_is_asked(&o->live) ? EXIT_FINE : add_live(a, l, o);
}

static bool wants_json(const struct explain_options *o)
{
    return o->output && strcmp(o->output, "json") == 0;
}

static int explain_print(struct buf *out, const struct json *json)
{
    if (json) {
        json_print_pretty(out, json, 2);
        buf_char(out, '\n');
    }
    return term_print(out) < 0 ? EXIT_FAILED : EXIT_FINE;
}

static int explain_all(struct arena *a, const struct explain_options *o, const struct advice_input *in)
{
    struct advice_lines lines;
    autobuf out = { 0 };

    advice_list(a, in, &lines);
    if (!wants_json(o))
        explain_list_text(a, &out, &lines);
    return explain_print(&out, wants_json(o) ? explain_list_json(a, &lines) : NULL);
}

static int explain_one(struct arena *a, const struct explain_options *o, const struct advice_input *in)
{
    struct advice advice;
    autobuf out = { 0 };
    struct err e;

    if (advice_make(a, in, &advice, &e) < 0) {
        fprintf(stderr, "pumice explain: %s\n", e.text);
        return EXIT_FAILED;
    }
    if (!wants_json(o))
        explain_text(a, &out, &advice, in->now_ms, term_has_colour(stdout));
    return explain_print(&out, wants_json(o) ? explain_json(a, &advice, in->now_ms) : NULL);
}

static int explain_flow(struct arena *a, const struct explain_options *o, const struct advice_input *in,
                        const struct json *flow)
{
    autobuf out = { 0 };

    if (!wants_json(o))
        explain_flow_text(a, &out, in, flow);
    return explain_print(&out, wants_json(o) ? explain_flow_json(a, in, flow) : NULL);
}

static int explain_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    const struct explain_options *o = options;
    autoload l = { .arena = a, .namespace = o->namespace };
    const char *job = arguments->list.n ? arguments->list.v[0] : NULL;
    struct explain_wanted w = { 0 };
    VEC(const struct json *) objects = { 0 }, native = { 0 };
    struct advice_input in = { 0 };
    struct sched_config config;
    const struct json *flow;
    int rc = explain_load_all(a, &l, o, arguments);
    bool is_one;

    if (rc != EXIT_FINE)
        return rc;
    if (job)
        w = parse_name(l.namespace, job);
    if (parse_now(o, &l, &in.now_ms) < 0 || read_config(a, o->config, &config) < 0)
        return EXIT_USAGE;
    for (size_t i = 0; i < l.docs.n; i++)
        if (l.docs.v[i]->type)
            *vec_push(a, &objects) = l.docs.v[i]->root;
        else if (str_starts(object_api_version(l.docs.v[i]->root), STR(NATIVE_GROUP "/")))
            *vec_push(a, &native) = l.docs.v[i]->root;
    in.objects = objects.v;
    in.n = objects.n;
    if (job && !find_anywhere(&l, &w)) {
        in.namespace = w.namespace;
        in.name = w.name;
        flow = explain_find_flow(a, &in);
        return flow ? explain_flow(a, o, &in, flow) : unknown_job(a, &l, &w);
    }
    is_one = job || (!wants_json(o) && find_only(&l, &w)); /* programs get the list that they asked for */
    warn_no_nodes(&l);
    config.knows_claims = has_kind(&l, "PersistentVolumeClaim");
    config.waits_for_volumes = config.knows_claims && binds_claims(&l);
    in.native = native.v;
    in.n_native = native.n;
    in.namespace = w.namespace;
    in.name = w.name;
    in.config = &config;
    in.may_fork = true;
    return is_one ? explain_one(a, o, &in) : explain_all(a, o, &in);
}

static const char *const form_names[] = { "text", "json", NULL };

static const struct option explain_option_table[] = {
    { 'f', "file", OPTION_LIST, offsetof(struct explain_options, files), "STATE", NULL,
      "the state: Nodes, Queues, PriorityClasses, Jobs, Pods, PodGroups … as kubectl get -o yaml prints them" },
    LIVE_OPTIONS(struct explain_options, live),
    { 'o', "output", OPTION_TEXT, offsetof(struct explain_options, output), "FORM", form_names,
      "text (default) or json" },
    { 'n', "namespace", OPTION_TEXT, offsetof(struct explain_options, namespace), "NAME", NULL,
      "namespace of the job, and of objects that name none (default: that of the context, else default)" },
    { 0, "at", OPTION_TEXT, offsetof(struct explain_options, now), "TIME", NULL,
      "when the state was taken, as 2026-03-01T09:30:00Z (default: now)" },
    { 0, "scheduler-config", OPTION_TEXT, offsetof(struct explain_options, config), "FILE", NULL,
      "Volcano's volcano-scheduler.conf (default: all rules on)" },
};

static const char *const explain_examples[] = {
    "pumice explain train",
    "why does the job train wait? In the cluster that kubectl uses",
    "pumice explain train -f state.yaml",
    "the same of a state in files",
    "pumice explain ml/train -f state.yaml -o json",
    "the same for programs",
    "pumice explain train -f train.yaml --cluster",
    "a job that is not submitted yet: would it start?",
    NULL,
};

const struct command command_explain = {
    .name = "explain",
    .arguments = "[JOB] [STATE…]",
    .summary = "explain why a job waits, and the smallest change that would start it",
    .about =
        "Shows what a waiting Job needs, what is free, which rule stops it, which jobs are ahead of it, which changes "
        "would\n"
        "start it now, smallest first, and when it would start by itself, where running jobs say how long they take\n"
        "(annotation pumice.dev/runtime: 30m). JOB is a name or NAMESPACE/NAME of a Job or a PodGroup. Without JOB, it "
        "is the\n"
        "only waiting job, or a list of all waiting jobs, each with the rule that stops it. For a JobFlow, or a job "
        "that it\n"
        "will create, it shows what each of its jobs waits for.\n\n"
        "The state is that of the cluster that kubectl uses, which is only read, or comes from files; save it with\n"
        "kubectl get nodes,queues,priorityclasses,vcjob,pg,pods,pdb,pv,pvc -A -o yaml > state.yaml\n"
        "With files and --cluster, --kubeconfig or --context, the files are applied to the state of that cluster.\n\n"
        "Every suggestion was tried: the change was made in a copy of the state, and the scheduler placed the job.",
    .options = explain_option_table,
    .n_options = ARRAY_LEN(explain_option_table),
    .options_size = sizeof(struct explain_options),
    .examples = explain_examples,
    .run = explain_run,
};
