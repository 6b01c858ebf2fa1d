/* doctor.c - the command `pumice doctor`: what this host can do for pods, and the command that fixes what it cannot */
#include "cli/doctor/doctor.h"

#include "base/util.h"
#include "cli/commands.h"
#include "json/json.h"
#include "base/term.h"

#include <limits.h>

struct doctor_options {
    const char *output, *state, *namespace;
    struct live_options live;
};

static const struct {
    const char *mark;
    enum style style;
} marks[HOST_VERDICT_MAX] = {
    [HOST_FINE] = { "✓", STYLE_GREEN },
    [HOST_LIMITED] = { "!", STYLE_YELLOW },
    [HOST_IMPOSSIBLE] = { "✗", STYLE_RED },
};

static void print_check(struct buf *out, const struct host_check *c, int width, bool colour)
{
    term_style(out, colour, marks[c->verdict].style, str_of(marks[c->verdict].mark));
    buf_fmt(out, " %-*s  ", width, c->name);
    term_text(out, c->says);
    buf_char(out, '\n');
    if (c->means[0])
        buf_fmt(out, "  %*s  %s\n", width, "", c->means);
    if (!str_empty(c->fix)) {
        buf_fmt(out, "  %*s  to fix: ", width, "");
        term_text(out, c->fix);
        buf_char(out, '\n');
    }
}

static void doctor_print_text(struct buf *out, const struct host_checks *r, bool colour)
{
    size_t width = 0;

    VEC_FOREACH(c, &r->list)
        width = MAX_OF(width, strlen(c->name));
    VEC_FOREACH(c, &r->list)
        print_check(out, c, (int)width, colour);
    buf_char(out, '\n');
    term_style(out, colour, STYLE_BOLD, r->summary);
    buf_char(out, '\n');
}

static void doctor_print_json(struct arena *a, struct buf *out, const struct host_checks *r, const char *verdict)
{
    struct json *j = json_object(a), *list = json_array(a);

    VEC_FOREACH(c, &r->list) {
        struct json *one = json_push(list, json_object(a));

        json_set(one, "name", json_str(a, str_of(c->name)));
        json_set(one, "verdict", json_str(a, str_of(host_verdict_name(c->verdict))));
        json_set(one, "says", json_str(a, c->says));
        json_set(one, "means", json_str(a, str_of(c->means)));
        json_set(one, "fix", json_str(a, c->fix));
    }
    json_set(j, "checks", list);
    json_set(j, verdict, json_bool_new(a, r->can_run));
    json_set(j, "summary", json_str(a, r->summary));
    json_print_pretty(out, j, 2);
    buf_char(out, '\n');
}

static int print_checks(struct arena *a, const struct doctor_options *o, const struct host_checks *r,
                        const char *verdict)
{
    autobuf out = { 0 };

    if (o->output && strcmp(o->output, "json") == 0)
        doctor_print_json(a, &out, r, verdict);
    else
        doctor_print_text(&out, r, term_has_colour(stdout));
    if (term_print(&out) < 0)
        return EXIT_FAILED;
    return r->can_run ? EXIT_FINE : EXIT_FAILED;
}

static int examine_host(struct arena *a, const struct doctor_options *o)
{
    char here[PATH_MAX] = "";
    struct str state = o->state ? str_of(o->state) : host_state_dir(a);
    struct host_checks r;

    if (str_empty(state)) {
        fprintf(stderr, "pumice doctor: no home directory; use --state DIR\n");
        return EXIT_FAILED;
    }
    if (state.p[0] != '/')
        state = arena_fmt(a, "%s/%.*s", getcwd(here, sizeof(here)) ? here : "", STR_ARG(state));
    host_examine(a, arena_cstr(a, state), &r);
    return print_checks(a, o, &r, "canRunPods");
}

static int examine_cluster(struct arena *a, const struct doctor_options *o)
{
    autolive live = { 0 };
    struct host_checks r = { 0 };
    struct err e;

    if (live_open(&live, a, &o->live, "doctor", &e) < 0)
        return command_fail("doctor", &e, EXIT_FAILED);
    cluster_examine(&live, str_of(o->namespace ? o->namespace : "pumice-system"), &r);
    return print_checks(a, o, &r, "canRunJobs");
}

static int doctor_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    const struct doctor_options *o = options;

    (void)arguments;
    return live_is_asked(&o->live) ? examine_cluster(a, o) : examine_host(a, o);
}

static const char *const output_forms[] = { "text", "json", NULL };

static const struct option doctor_option_table[] = {
    { 'o', "output", OPTION_TEXT, offsetof(struct doctor_options, output), "FORM", output_forms,
      "text (default) or json" },
    { 0, "state", OPTION_TEXT, offsetof(struct doctor_options, state), "DIR", NULL,
      "try the file system of this directory instead of that of the default state directory" },
    { 0, "cluster", OPTION_FLAG, offsetof(struct doctor_options, live.cluster), NULL, NULL,
      "look at the cluster that kubectl uses instead of at this host" },
    { 0, "kubeconfig", OPTION_TEXT, offsetof(struct doctor_options, live.kubeconfig), "FILE", NULL,
      "look at the cluster in this file" },
    { 0, "context", OPTION_TEXT, offsetof(struct doctor_options, live.context), "NAME", NULL,
      "of the kubeconfig (default: its current one)" },
    { 'n', "namespace", OPTION_TEXT, offsetof(struct doctor_options, namespace), "NAME", NULL,
      "where the controller is, or would be (default: pumice-system)" },
};

static const char *const doctor_examples[] = {
    "pumice doctor",
    "what can this host do, as the present user?",
    "pumice doctor --cluster",
    "what does the cluster have, what would change, what is missing?",
    NULL,
};

const struct command command_doctor = {
    .name = "doctor",
    .arguments = "",
    .summary = "check what this host or a cluster can run, and how to fix it",
    .about = "Tries what a pod needs, as the present user, and undoes it: namespaces, an overlay, cgroups, a network, "
             "a way out.\n"
             "Each line shows what was found (✓ fine, ! limited, ✗ impossible), what it means for jobs, and the "
             "command that\n"
             "fixes it. The exit status is 0 if pods can run here, and 1 if not.\n\n"
             "With --cluster, it checks a Kubernetes cluster, which it only reads: the version, the kinds of Jobs and "
             "whether they\n"
             "are those of 'pumice install', the rights of the controller, which programs run and schedule jobs (also "
             "Volcano's),\n"
             "and the webhooks and whether they answer. The exit status is 0 if Jobs run there.",
    .options = doctor_option_table,
    .n_options = ARRAY_LEN(doctor_option_table),
    .options_size = sizeof(struct doctor_options),
    .examples = doctor_examples,
    .run = doctor_run,
};
