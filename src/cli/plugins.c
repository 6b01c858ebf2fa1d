/* plugins.c - the command `pumice plugins`: the tables that parse the arguments, printed */
#include "base/util.h"
#include "cli/commands.h"
#include "base/term.h"
#include "plugin/plugin.h"

struct plugins_options {
    const char *output;
    struct text_list only;
};

static void print_forces(struct buf *out, const struct job_plugin *p)
{
    if (!p->forces[0])
        return;
    buf_fmt(out, "  brings along: ");
    for (const char *const *f = p->forces; *f; f++)
        buf_fmt(out, "%s%s", f == p->forces ? "" : ", ", *f);
    buf_char(out, '\n');
}

static void print_arguments(struct arena *a, struct buf *out, const struct job_plugin *p)
{
    struct table t = { .arena = a, .columns = 4 };

    if (p->n_args == 0) {
        buf_fmt(out, "  takes no arguments\n");
        return;
    }
    for (size_t i = 0; i < p->n_args; i++) {
        const struct plugin_arg *arg = &p->args[i];

        table_cell(&t, arg->alias ? arena_fmt(a, "--%s (or --%s)", arg->name, arg->alias)
                                  : arena_fmt(a, "--%s", arg->name));
        table_cell(&t, plugin_arg_type(a, arg));
        table_cell(&t, arg->fallback && arg->fallback[0] ? arena_fmt(a, "[%s]", arg->fallback) : STR(""));
        table_cell(&t, str_of(arg->doc));
    }
    buf_fmt(out, "  arguments:\n");
    table_print(out, &t, "    ");
}

static void plugins_print_text(struct arena *a, struct buf *out, const struct job_plugin *p, bool colour)
{
    term_style(out, colour, STYLE_BOLD, str_of(p->name));
    buf_fmt(out, " - %s\n", p->summary);
    print_forces(out, p);
    if (p->adds && p->adds[0])
        buf_fmt(out, "  adds:\n");
    for (const char *const *line = p->adds; line && *line; line++)
        buf_fmt(out, "    %s\n", *line);
    print_arguments(a, out, p);
}

/* docs/plugins.md: '|' would end a cell. */
static void markdown_cell(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        buf_fmt(out, text.p[i] == '|' ? "\\%c" : "%c", text.p[i]);
}

static void print_markdown(struct arena *a, struct buf *out, const struct job_plugin *p)
{
    buf_fmt(out, "## %s\n\n%s\n\n", p->name, p->summary);
    for (const char *const *f = p->forces; *f; f++)
        buf_fmt(out, "%s`%s`%s", f == p->forces ? "Brings along " : ", ", *f, f[1] ? "" : ".\n\n");
    for (const char *const *line = p->adds; line && *line; line++)
        buf_fmt(out, "- adds %s\n%s", *line, line[1] ? "" : "\n");
    if (p->n_args == 0) {
        buf_fmt(out, "It takes no arguments.\n");
        return;
    }
    buf_fmt(out, "| argument | type | default | |\n|---|---|---|---|\n");
    for (size_t i = 0; i < p->n_args; i++) {
        const struct plugin_arg *arg = &p->args[i];

        buf_fmt(out, "| `--%s`", arg->name);
        if (arg->alias)
            buf_fmt(out, ", `--%s`", arg->alias);
        buf_fmt(out, " | ");
        markdown_cell(out, plugin_arg_type(a, arg));
        buf_fmt(out, " | ");
        if (arg->fallback && arg->fallback[0])
            buf_fmt(out, "`%s`", arg->fallback);
        buf_fmt(out, " | ");
        markdown_cell(out, str_of(arg->doc));
        buf_fmt(out, " |\n");
    }
}

static struct json *text_or_null(struct arena *a, const char *text)
{
    return text ? json_str(a, str_of(text)) : json_null(a);
}

static struct json *plugin_json(struct arena *a, const struct job_plugin *p)
{
    struct json *j = json_object(a), *list;

    json_add(j, STR("name"), json_str(a, str_of(p->name)));
    json_add(j, STR("summary"), json_str(a, str_of(p->summary)));
    list = json_add(j, STR("forces"), json_array(a));
    for (const char *const *f = p->forces; *f; f++)
        json_push(list, json_str(a, str_of(*f)));
    list = json_add(j, STR("adds"), json_array(a));
    for (const char *const *line = p->adds; line && *line; line++)
        json_push(list, json_str(a, str_of(*line)));
    list = json_add(j, STR("arguments"), json_array(a));
    for (size_t i = 0; i < p->n_args; i++) {
        struct json *arg = json_push(list, json_object(a));

        json_add(arg, STR("name"), json_str(a, str_of(p->args[i].name)));
        json_add(arg, STR("alias"), text_or_null(a, p->args[i].alias));
        json_add(arg, STR("type"), json_str(a, plugin_arg_type(a, &p->args[i])));
        json_add(arg, STR("default"), text_or_null(a, p->args[i].fallback));
        json_add(arg, STR("doc"), json_str(a, str_of(p->args[i].doc)));
    }
    return j;
}

static int plugins_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    const struct plugins_options *o = options;
    bool as_json = o->output && strcmp(o->output, "json") == 0;
    bool as_markdown = o->output && strcmp(o->output, "markdown") == 0, colour = term_has_colour(stdout);
    struct json *list = json_array(a);
    struct text_list only = *arguments;
    autobuf out = { 0 };

    VEC_FOREACH(name, &o->only.list)
        *vec_push(a, &only.list) = *name;
    VEC_FOREACH(name, &only.list)
        if (!plugin_by_name(str_of(*name))) {
            fprintf(stderr, "pumice plugins: unknown plugin '%s'; 'pumice plugins' lists all\n", *name);
            return EXIT_USAGE;
        }
    for (size_t i = 0; i < n_job_plugins; i++) {
        const struct job_plugin *p = job_plugins[i];
        bool wanted = only.list.n == 0;

        VEC_FOREACH(name, &only.list)
            wanted |= strcmp(*name, p->name) == 0;
        if (!wanted)
            continue;
        if (as_json) {
            json_push(list, plugin_json(a, p));
            continue;
        }
        if (out.n)
            buf_char(&out, '\n');
        if (as_markdown)
            print_markdown(a, &out, p);
        else
            plugins_print_text(a, &out, p, colour);
    }
    if (as_markdown && only.list.n == 0) {
        autobuf page = { 0 };

        buf_fmt(&page,
                "<!-- Made by 'pumice plugins -o markdown'; do not edit. -->\n# Job plugins\n\n"
                "A job names its plugins in `spec.plugins`, each with a list of arguments. They run in the order of "
                "this page. In argument\nnames `-`, `_` and letter case do not count.\n\n");
        buf_str(&page, buf_view(&out));
        return term_print(&page) == 0 ? EXIT_FINE : EXIT_FAILED;
    }
    if (as_json) {
        json_print_pretty(&out, list, 4);
        buf_char(&out, '\n');
    }
    return term_print(&out) == 0 ? EXIT_FINE : EXIT_FAILED;
}

static const char *const output_forms[] = { "text", "json", "markdown", NULL };

static const struct option plugins_option_table[] = {
    { 'o', "output", OPTION_TEXT, offsetof(struct plugins_options, output), "FORM", output_forms,
      "text (default), json or markdown" },
    { 0, "only", OPTION_LIST, offsetof(struct plugins_options, only), "NAME", NULL,
      "the same as NAME; may be repeated" },
};

const struct command command_plugins = {
    .name = "plugins",
    .arguments = "[NAME…]",
    .summary = "list the job plugins, with their arguments and effects",
    .about = "Lists every job plugin, or those named, in the order they run: what it brings along, what it adds to "
             "pods and which "
             "objects it\n"
             "makes, and its arguments with type and [default]. In arguments '-', '_' and letter case do not count.",
    .options = plugins_option_table,
    .n_options = ARRAY_LEN(plugins_option_table),
    .options_size = sizeof(struct plugins_options),
    .run = plugins_run,
};
