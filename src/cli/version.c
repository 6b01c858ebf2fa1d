/* version.c - the command `pumice version` */
#include "cli/commands.h"
#include "base/term.h"

static int version_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    autobuf text = { 0 };

    (void)a, (void)options, (void)arguments;
    buf_fmt(&text, "pumice %s (batch.volcano.sh/v1alpha1)\n", PUMICE_VERSION);
    return term_print(&text) == 0 ? EXIT_FINE : EXIT_FAILED;
}

const struct command command_version = {
    .name = "version",
    .arguments = "",
    .summary = "print the version",
    .about = "Prints the version of the program and of the Job API it speaks.",
    .run = version_run,
};
