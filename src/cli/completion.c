/* completion.c - the command `pumice completion`: what a shell offers, from the command tables */
#include "base/util.h"
#include "cli/commands.h"
#include "report/term.h"

/* ---- what is known of an option's value ---- */

enum value { VALUE_NONE, VALUE_WORDS, VALUE_FILE, VALUE_DIR, VALUE_OTHER };

static enum value value_of(const struct option *o)
{
    if (!o->value)
        return VALUE_NONE;
    if (o->values)
        return VALUE_WORDS;
    if (strcmp(o->value, "DIR") == 0)
        return VALUE_DIR;
    return strcmp(o->value, "FILE") == 0 || strncmp(o->value, "HOST", 4) == 0 ? VALUE_FILE : VALUE_OTHER;
}

static void words(struct buf *out, const char *const *list, const char *between)
{
    for (size_t i = 0; list[i]; i++)
        buf_fmt(out, "%s%s", i ? between : "", list[i]);
}

static void command_names(struct buf *out)
{
    for (size_t i = 0; i < n_commands; i++)
        buf_fmt(out, "%s%s", i ? " " : "", commands[i]->name);
}

/* Inside single quotes; 'special' have a meaning there besides, which a backslash takes. */
static void quoted(struct buf *out, const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'')
            buf_str(out, STR("'\\''"));
        else if (strchr(special, *text))
            buf_fmt(out, "\\%c", *text);
        else
            buf_char(out, *text);
    }
}

/* ---- bash ---- */

static void bash_values(struct buf *out, const struct command *c)
{
    const struct option *o;
    static const char *const ways[] = { [VALUE_FILE] = "-f", [VALUE_DIR] = "-d" };

    for (size_t i = 0; (o = command_option(c, i)); i++) {
        enum value value = value_of(o);

        if (value == VALUE_NONE)
            continue;
        buf_fmt(out, "    %s:--%s", c->name, o->name);
        if (o->letter)
            buf_fmt(out, "|%s:-%c", c->name, o->letter);
        buf_str(out, STR(") "));
        if (value == VALUE_WORDS) {
            buf_str(out, STR("_pumice_offer -W '"));
            words(out, o->values, " ");
            buf_char(out, '\'');
        } else if (value != VALUE_OTHER) {
            buf_fmt(out, "_pumice_offer %s", ways[value]);
        }
        buf_fmt(out, "%sreturn ;;\n", value == VALUE_OTHER ? "" : "; ");
    }
}

static void print_bash(struct buf *out)
{
    const struct option *o;

    buf_str(out, STR("# bash completion of pumice: . <(pumice completion bash)\n"
                     "_pumice_offer() { mapfile -t COMPREPLY < <(compgen \"$@\" -- \"$cur\"); }\n\n"
                     "_pumice() {\n"
                     "    local cur prev line=(\"${COMP_WORDS[@]:0:COMP_CWORD+1}\")\n"
                     "    cur=${line[-1]} prev=${line[-2]} COMPREPLY=()\n"
                     "    [[ $cur == = ]] && cur=''\n"
                     "    [[ $prev == = ]] && prev=${line[-3]}\n"
                     "    if ((COMP_CWORD == 1)); then\n"
                     "        _pumice_offer -W '"));
    command_names(out);
    buf_str(out, STR("'\n        return\n    fi\n    case ${line[1]}:$prev in\n"));
    for (size_t i = 0; i < n_commands; i++)
        bash_values(out, commands[i]);
    buf_str(out, STR("    esac\n    if [[ $cur != -* ]]; then\n        _pumice_offer -f\n        return\n    fi\n"
                     "    case ${line[1]} in\n"));
    for (size_t i = 0; i < n_commands; i++) {
        buf_fmt(out, "    %s) _pumice_offer -W '", commands[i]->name);
        for (size_t k = 0; (o = command_option(commands[i], k)); k++)
            buf_fmt(out, "--%s ", o->name);
        buf_str(out, STR("--help' ;;\n"));
    }
    buf_str(out, STR("    esac\n}\ncomplete -o filenames -F _pumice pumice\n"));
}

/* ---- zsh ---- */

static void zsh_option(struct buf *out, const struct option *o)
{
    static const char *const ways[] = { [VALUE_FILE] = "_files", [VALUE_DIR] = "_files -/", [VALUE_OTHER] = " " };
    enum value value = value_of(o);
    const char *many = o->kind == OPTION_LIST ? "*" : "";
    const char *sign = value == VALUE_NONE ? "" : "=";

    buf_str(out, STR(" \\\n            "));
    if (o->letter && o->kind == OPTION_LIST)
        buf_fmt(out, "'*'{-%c+,--%s%s}'", o->letter, o->name, sign);
    else if (o->letter)
        buf_fmt(out, "'(-%c --%s)'{-%c%s,--%s%s}'", o->letter, o->name, o->letter, value ? "+" : "", o->name, sign);
    else
        buf_fmt(out, "'%s--%s%s", many, o->name, sign);
    buf_char(out, '[');
    quoted(out, o->doc, "[]:\\");
    buf_char(out, ']');
    if (value != VALUE_NONE) {
        buf_char(out, ':');
        quoted(out, o->value, ":\\[]");
        buf_char(out, ':');
    }
    if (value == VALUE_WORDS) {
        buf_char(out, '(');
        words(out, o->values, " ");
        buf_char(out, ')');
    } else if (value != VALUE_NONE) {
        buf_str(out, str_of(ways[value]));
    }
    buf_char(out, '\'');
}

static void print_zsh(struct buf *out)
{
    const struct option *o;

    buf_str(out,
            STR("#compdef pumice\n# zsh completion of pumice: pumice completion zsh > a directory of $fpath/_pumice\n"
                "_pumice() {\n    local -a names=(\n"));
    for (size_t i = 0; i < n_commands; i++) {
        buf_fmt(out, "        '%s:", commands[i]->name);
        quoted(out, commands[i]->summary, ":\\");
        buf_str(out, STR("'\n"));
    }
    buf_str(out, STR("    )\n    if ((CURRENT == 2)); then\n        _describe command names\n        return\n    fi\n"
                     "    local command=$words[2]\n    shift words\n    ((CURRENT--))\n    case $command in\n"));
    for (size_t i = 0; i < n_commands; i++) {
        buf_fmt(out, "    %s)\n        _arguments -s", commands[i]->name);
        for (size_t k = 0; (o = command_option(commands[i], k)); k++)
            zsh_option(out, o);
        buf_str(out, STR(" \\\n            '(-h --help)'{-h,--help}'[show this]' '*:file:_files' ;;\n"));
    }
    buf_str(out, STR("    esac\n}\nif [[ $funcstack[1] == _pumice ]]; then\n    _pumice \"$@\"\nelse\n"
                     "    compdef _pumice pumice\nfi\n"));
}

/* ---- fish ---- */

static void fish_option(struct buf *out, const struct command *c, const struct option *o)
{
    static const char *const ways[] = {
        [VALUE_NONE] = "",
        [VALUE_FILE] = " -r -F",
        [VALUE_DIR] = " -x -a '(__fish_complete_directories)'",
        [VALUE_OTHER] = " -x",
    };
    enum value value = value_of(o);

    buf_fmt(out, "complete -c pumice -n '__fish_seen_subcommand_from %s' -l %s", c->name, o->name);
    if (o->letter)
        buf_fmt(out, " -s %c", o->letter);
    if (value == VALUE_WORDS) {
        buf_str(out, STR(" -x -a '"));
        words(out, o->values, " ");
        buf_char(out, '\'');
    } else {
        buf_str(out, str_of(ways[value]));
    }
    buf_str(out, STR(" -d '"));
    quoted(out, o->doc, "\\");
    buf_str(out, STR("'\n"));
}

static void print_fish(struct buf *out)
{
    const struct option *o;

    buf_str(out, STR("# fish completion of pumice: pumice completion fish | source\n"
                     "complete -c pumice -n __fish_use_subcommand -f\n"));
    for (size_t i = 0; i < n_commands; i++) {
        buf_fmt(out, "complete -c pumice -n __fish_use_subcommand -a %s -d '", commands[i]->name);
        quoted(out, commands[i]->summary, "\\");
        buf_str(out, STR("'\n"));
        for (size_t k = 0; (o = command_option(commands[i], k)); k++)
            fish_option(out, commands[i], o);
    }
    buf_str(out, STR("complete -c pumice -s h -l help -d 'show this'\n"));
}

/* ---- the command ---- */

static const struct {
    const char *name;
    void (*print)(struct buf *out);
} shells[] = { { "bash", print_bash }, { "zsh", print_zsh }, { "fish", print_fish } };

static int completion_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    autobuf text = { 0 };

    (void)a, (void)options;
    for (size_t i = 0; i < ARRAY_LEN(shells) && arguments->list.n == 1; i++)
        if (strcmp(shells[i].name, arguments->list.v[0]) == 0)
            shells[i].print(&text);
    if (!text.n) {
        fprintf(stderr, "pumice completion: say for which shell: bash, zsh or fish\n");
        return EXIT_USAGE;
    }
    return term_print(&text) == 0 ? EXIT_FINE : EXIT_FAILED;
}

static const char *const completion_examples[] = {
    ". <(pumice completion bash)",
    "for this shell; in ~/.bashrc for all",
    "pumice completion zsh > \"${fpath[1]}/_pumice\"",
    "for zsh",
    "pumice completion fish > ~/.config/fish/completions/pumice.fish",
    "for fish",
    NULL,
};

const struct command command_completion = {
    .name = "completion",
    .arguments = "[SHELL]",
    .summary = "print what bash, zsh or fish needs to complete command lines",
    .about = "Prints a script for the shell: commands, options, and values where they are known.",
    .examples = completion_examples,
    .run = completion_run,
};
