/* convert.c - the command `pumice convert` */
#include "convert/convert.h"

#include "api/meta.h"
#include "base/util.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "base/term.h"
#include "yaml/yaml.h"

struct convert_options {
    const char *output;
    bool strict;
};

static void convert_print(struct buf *out, const struct json *object, bool as_json)
{
    if (as_json) {
        json_print_pretty(out, object, 4);
        buf_char(out, '\n');
        return;
    }
    if (out->n)
        buf_str(out, STR("---\n"));
    yaml_print(out, object, NULL);
}

static int convert_run(struct arena *a, const void *options, const struct text_list *files)
{
    const struct convert_options *o = options;
    autoload l = { .arena = a, .is_strict = o->strict };
    autobuf out = { 0 };
    bool as_json = o->output && strcmp(o->output, "json") == 0;
    size_t converted = 0;

    load_state(&l, files);
    for (size_t i = 0; i < l.docs.n; i++) {
        struct loaded *doc = l.docs.v[i];
        const struct json *job = convert_object(a, doc->root, &doc->problems);

        problems_sort(&doc->problems);
        converted += convert_knows(doc->root);
        convert_print(&out, job ? job : doc->root, as_json);
    }
    if (load_report(&l))
        return EXIT_FAILED;
    if (!converted) {
        fprintf(stderr, "pumice convert: nothing to convert: no Job of batch/v1, JobSet, PyTorchJob or MPIJob\n");
        return EXIT_FAILED;
    }
    return term_print(&out) == 0 ? EXIT_FINE : EXIT_FAILED;
}

static const char *const output_forms[] = { "yaml", "json", NULL };

static const struct option convert_option_table[] = {
    { 'o', "output", OPTION_TEXT, offsetof(struct convert_options, output), "FORM", output_forms,
      "yaml (default) or json" },
    { 0, "strict", OPTION_FLAG, offsetof(struct convert_options, strict), NULL, NULL,
      "print nothing unless everything could be carried over" },
};

static const char *const convert_examples[] = {
    "pumice convert job.yaml > vcjob.yaml",
    "keep the Volcano Job",
    "pumice convert job.yaml | pumice run -",
    "run it here",
    NULL,
};

const struct command command_convert = {
    .name = "convert",
    .arguments = "FILE…",
    .summary = "convert jobs of other systems to Volcano Jobs",
    .about = "Prints each Job of batch/v1, JobSet, PyTorchJob and MPIJob as a Volcano Job, and every other object as "
             "it is.\n"
             "Warnings on standard error name each field that is lost or has another meaning, with its place.",
    .options = convert_option_table,
    .n_options = ARRAY_LEN(convert_option_table),
    .options_size = sizeof(struct convert_options),
    .examples = convert_examples,
    .run = convert_run,
};
