/* validate.c - the command `pumice validate` */
#include "cli/validate/validate.h"

#include "api/meta.h"
#include "base/util.h"
#include "cli/commands.h"
#include "base/term.h"

struct validate_options {
    const char *namespace, *output;
    bool strict, quiet;
};

static size_t validate_count(const struct problems *ps, enum problem_level level)
{
    size_t n = 0;

    VEC_FOREACH(p, &ps->list)
        n += p->level == level;
    return n;
}

/* One line for each object that is fine, so that "nothing was said" never has two meanings. */
static void tell_fine(struct arena *a, struct buf *out, const struct loaded *doc)
{
    size_t warnings = validate_count(&doc->problems, PROBLEM_WARNING);
    struct str note = warnings ? arena_fmt(a, " (%.*s)", STR_ARG(plural(a, (int64_t)warnings, "warning"))) : STR("");

    term_text(out, load_file_name(doc->file));
    buf_fmt(out, ": %.*s %.*s is fine%.*s\n", STR_ARG(object_kind(doc->root)), STR_ARG(object_name(doc->root)),
            STR_ARG(note));
}

static int validate_run(struct arena *a, const void *options, const struct text_list *files)
{
    const struct validate_options *o = options;
    autoload l = { .arena = a, .namespace = o->namespace, .is_strict = o->strict };
    autobuf fine = { 0 };
    size_t errors;

    load_read(&l, files);
    load_fill_names(&l);
    load_admit(&l);
    if (o->output && strcmp(o->output, "text") != 0) {
        errors = validate_print(a, &fine, &l, o->output);
        return term_print(&fine) == 0 && !errors ? EXIT_FINE : EXIT_FAILED;
    }
    errors = load_report(&l);
    for (size_t i = 0; i < l.docs.n && !o->quiet; i++) {
        const struct loaded *doc = l.docs.v[i];
        size_t bad = validate_count(&doc->problems, PROBLEM_ERROR) +
                     (o->strict ? validate_count(&doc->problems, PROBLEM_WARNING) : 0);

        if (bad == 0 && doc->type)
            tell_fine(a, &fine, doc);
    }
    if (errors && !o->quiet)
        fprintf(stderr, "%.*s\n", STR_ARG(plural(a, (int64_t)errors, "error")));
    if (term_print(&fine) < 0)
        return EXIT_FAILED;
    return errors ? EXIT_FAILED : EXIT_FINE;
}

static const char *const output_forms[] = { "text", "json", "sarif", NULL };

static const struct option validate_option_table[] = {
    { 'o', "output", OPTION_TEXT, offsetof(struct validate_options, output), "FORM", output_forms,
      "text (default); json, or sarif for code scanners and editors: one document on standard output" },
    { 0, "strict", OPTION_FLAG, offsetof(struct validate_options, strict), NULL, NULL,
      "warnings are errors too: misspelt fields, duplicate keys, unknown flags" },
    { 'q', "quiet", OPTION_FLAG, offsetof(struct validate_options, quiet), NULL, NULL, "print only what is wrong" },
    { 'n', "namespace", OPTION_TEXT, offsetof(struct validate_options, namespace), "NAME", NULL,
      "namespace of objects that name none (default: default)" },
};

static const char *const validate_examples[] = {
    "pumice validate job.yaml",
    "check one file",
    "pumice validate --strict examples/*/job.yaml",
    "as a gate in CI",
    "pumice validate -o sarif job.yaml > pumice.sarif",
    "for a code scanner",
    NULL,
};

const struct command command_validate = {
    .name = "validate",
    .arguments = "FILE…",
    .summary = "check manifests and report all errors",
    .about = "Checks Jobs as the API would on create: types, names, policies, dependencies, pod templates, plugins and "
             "their\n"
             "arguments; also Queues, PodGroups and the core kinds. It reports all problems at once, with place and "
             "field, in the\n"
             "order of the file, and suggests names for misspelt fields.",
    .options = validate_option_table,
    .n_options = ARRAY_LEN(validate_option_table),
    .options_size = sizeof(struct validate_options),
    .examples = validate_examples,
    .run = validate_run,
};
