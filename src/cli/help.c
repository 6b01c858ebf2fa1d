/* help.c - --help and the manual page, from the command tables */
#include "base/util.h"
#include "cli/options.h"

static const char about_program[] =
    "Pumice runs Volcano Jobs (batch.volcano.sh/v1alpha1): distributed jobs with gang scheduling, lifecycle policies\n"
    "and plugins that make MPI, PyTorch, TensorFlow, Ray and JAX find each other.\n";

static const char exit_status[] = "0 success, 1 failure (bad input, or output that cannot be written), 2 wrong use.";

/* "-o, --output FORMAT" */
static void option_head(struct buf *out, const struct option *o)
{
    if (o->letter)
        buf_fmt(out, "-%c, ", o->letter);
    else
        buf_fmt(out, "    ");
    buf_fmt(out, "--%s", o->name);
    if (o->value)
        buf_fmt(out, o->kind == OPTION_SWITCH ? "[=%s]" : " %s", o->value);
}

/* Columns on a screen: "…" is one. */
static size_t columns(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void help_padded(struct buf *out, const char *text, size_t width)
{
    buf_str(out, str_of(text));
    buf_repeat(out, ' ', width > columns(text) ? width - columns(text) : 0);
}

static void help_options(struct buf *out, const struct command *c)
{
    const struct option *o;
    size_t width = strlen("-h, --help");

    for (size_t i = 0; (o = command_option(c, i)); i++) {
        autobuf head = { 0 };

        option_head(&head, o);
        width = MAX_OF(width, columns(head.p));
    }
    buf_fmt(out, "\nOptions:\n");
    for (size_t i = 0; (o = command_option(c, i)); i++) {
        autobuf head = { 0 };

        option_head(&head, o);
        buf_str(out, STR("  "));
        help_padded(out, head.p, width);
        buf_fmt(out, "  %s\n", o->doc);
    }
    buf_fmt(out, "  %-*s  %s\n", (int)width, "-h, --help", "show this");
}

static void help_examples(struct buf *out, const struct command *c)
{
    size_t width = 0;

    if (!c->examples)
        return;
    buf_fmt(out, "\nExamples:\n");
    for (const char *const *e = c->examples; e[0]; e += 2)
        width = MAX_OF(width, columns(e[0]));
    for (const char *const *e = c->examples; e[0]; e += 2) {
        buf_str(out, STR("  "));
        help_padded(out, e[0], width);
        buf_fmt(out, "  %s\n", e[1]);
    }
}

static void help_group(struct buf *out, const struct command *group)
{
    size_t at = strlen(group->name) + 1, width = 0;

    for (size_t i = 0; i < n_subcommands; i++)
        if (command_is_of(subcommands[i], group))
            width = MAX_OF(width, strlen(subcommands[i]->name + at));
    buf_fmt(out, "Usage: pumice %s COMMAND [OPTION…]\n\n%s\n\nCommands:\n", group->name, group->about);
    for (size_t i = 0; i < n_subcommands; i++)
        if (command_is_of(subcommands[i], group))
            buf_fmt(out, "  %-*s  %s\n", (int)width, subcommands[i]->name + at, subcommands[i]->summary);
    help_examples(out, group);
    buf_fmt(out, "\n'pumice %s COMMAND --help' tells more.\n", group->name);
}

/* Those of a group are in the help of the group. */
static bool help_is_listed(const struct command *sub)
{
    for (size_t i = 0; i < n_commands; i++)
        if (commands[i]->is_group && command_is_of(sub, commands[i]))
            return false;
    return true;
}

static void help_command(struct buf *out, const struct command *c)
{
    if (c->is_group) {
        help_group(out, c);
        return;
    }
    buf_fmt(out, "Usage: pumice %s%s%s%s\n\n%s\n", c->name, " [OPTION…]", c->arguments[0] ? " " : "", c->arguments,
            c->about);
    help_options(out, c);
    help_examples(out, c);
}

void help_print(struct buf *out, const struct command *c)
{
    if (c) {
        help_command(out, c);
        return;
    }
    buf_fmt(out, "Usage: pumice COMMAND [OPTION…] [FILE…]\n\n%s\nCommands:\n", about_program);
    for (size_t i = 0; i < n_commands; i++)
        buf_fmt(out, "  %-14s  %s\n", commands[i]->name, commands[i]->summary);
    for (size_t i = 0; i < n_subcommands; i++)
        if (help_is_listed(subcommands[i]))
            buf_fmt(out, "  %-14s  %s\n", subcommands[i]->name, subcommands[i]->summary);
    buf_fmt(out, "\n'pumice COMMAND --help' tells more.\nExit status: %s\n", exit_status);
}

/* ---- the manual page ---- */

/* Roff reads '\' and, at the start of a line, '.' and ''' as commands; '-' would be a hyphen. */
static void roff_text(struct buf *out, const char *text)
{
    bool at_start = true;

    for (const char *p = text; *p; p++) {
        if (at_start && (*p == '.' || *p == '\''))
            buf_fmt(out, "\\&");
        if (*p == '\\')
            buf_fmt(out, "\\e");
        else if (*p == '-')
            buf_fmt(out, "\\-");
        else if (*p == '\n' && p[1] == '\n') {
            buf_fmt(out, "\n.PP");
        } else
            buf_char(out, *p);
        at_start = *p == '\n';
    }
}

static void manual_options(struct buf *out, const struct command *c)
{
    const struct option *o;

    for (size_t i = 0; (o = command_option(c, i)); i++) {
        autobuf head = { 0 };

        option_head(&head, o);
        buf_fmt(out, ".TP\n.B ");
        roff_text(out, head.p + (o->letter ? 0 : 4));
        buf_char(out, '\n');
        roff_text(out, o->doc);
        buf_char(out, '\n');
    }
}

static void manual_command(struct buf *out, const struct command *c)
{
    buf_fmt(out, ".SS ");
    roff_text(out, c->name);
    buf_fmt(out, "\n.B pumice ");
    roff_text(out, c->name);
    buf_fmt(out, "\n%s ", "[\\fIoption\\fR]...");
    roff_text(out, c->arguments);
    buf_fmt(out, "\n.PP\n");
    roff_text(out, c->about);
    buf_char(out, '\n');
    manual_options(out, c);
    for (const char *const *e = c->examples; e && e[0]; e += 2) {
        buf_fmt(out, ".PP\n.nf\n");
        roff_text(out, e[0]);
        buf_fmt(out, "\n.fi\n.RS\n");
        roff_text(out, e[1]);
        buf_fmt(out, "\n.RE\n");
    }
}

void manual_print(struct buf *out)
{
    buf_fmt(out,
            ".\\\" Made by 'pumice manual'; do not edit.\n"
            ".TH PUMICE 1 \"\" \"pumice %s\" \"User Commands\"\n.SH NAME\npumice \\- run Volcano Jobs\n"
            ".SH SYNOPSIS\n.B pumice\n.I command\n[\\fIoption\\fR]... [\\fIfile\\fR]...\n.SH DESCRIPTION\n",
            PUMICE_VERSION);
    roff_text(out, about_program);
    buf_fmt(out, ".SH COMMANDS\n");
    for (size_t i = 0; i < n_commands; i++)
        if (!commands[i]->is_group)
            manual_command(out, commands[i]);
    for (size_t i = 0; i < n_subcommands; i++)
        manual_command(out, subcommands[i]);
    buf_fmt(out, ".SH EXIT STATUS\n");
    roff_text(out, exit_status);
    buf_fmt(out, "\n.SH ENVIRONMENT\n.TP\n.B NO_COLOR\nIf set, no colour is used, also on a terminal.\n"
                 ".TP\n.B CLICOLOR_FORCE\nIf set and not 0, colour is used, also where there is no terminal.\n"
                 ".TP\n.B CLICOLOR\nIf 0, no colour is used, also on a terminal.\n"
                 ".PP\nThese are for \\-\\-color=auto, and the first counts before the others.\n");
}
