/* completion.c - the command `pumice completion`: what a shell offers, from the command tables */
#include "base/arena.h"
#include "base/util.h"
#include "cli/commands.h"
#include "base/term.h"

/* ---- what is known of an option's value ---- */

enum completion_value { VALUE_NONE, VALUE_WORDS, VALUE_FILE, VALUE_DIR, VALUE_OTHER };

static enum completion_value completion_value_of(const struct option *o)
{
    if (!o->value || (o->kind == OPTION_SWITCH && !o->values)) /* a value that is left out as a rule */
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

/* ---- commands ---- of one word, and then those of two ---- */

static const struct command *command_at(size_t i)
{
    return i < n_commands ? commands[i] : i - n_commands < n_subcommands ? subcommands[i - n_commands] : NULL;
}

/* The second word of a command whose first is 'first'; NULL: it is none. */
static const char *second_word(const struct command *c, const char *first)
{
    size_t n = strlen(first);

    return strncmp(c->name, first, n) == 0 && c->name[n] == ' ' ? c->name + n + 1 : NULL;
}

static void second_words(struct buf *out, const char *first)
{
    const char *word;

    for (size_t i = 0; i < n_subcommands; i++)
        if ((word = second_word(subcommands[i], first)))
            buf_fmt(out, "%s ", word);
}

static bool has_second(const char *first)
{
    autobuf all = { 0 };

    second_words(&all, first);
    return all.n > 0;
}

/* "[add|list] [NAME]": the words that may stand first, with blanks between. */
static struct str first_arguments(struct arena *a, const struct command *c)
{
    struct str text = str_of(c->arguments), first = STR_NULL;
    autobuf out = { 0 };

    if (!str_split(&text, ' ', &first) || !str_has_char(first, '|') || !str_starts(first, STR("[")))
        return STR_NULL;
    for (size_t i = 1; i + 1 < first.n; i++)
        buf_char(&out, first.p[i] == '|' ? ' ' : first.p[i]);
    return arena_str(a, buf_view(&out));
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
        enum completion_value value = completion_value_of(o);

        if (value == VALUE_NONE)
            continue;
        buf_fmt(out, "    '%s':--%s", c->name, o->name);
        if (o->letter)
            buf_fmt(out, "|'%s':-%c", c->name, o->letter);
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

/* What 'pumice server u' may become; and the name of the command as far as it is known. */
static void bash_commands(struct buf *out)
{
    buf_str(out, STR("    local command=${line[1]} at=2\n    case \"${line[1]} ${line[2]}\" in\n"));
    for (size_t i = 0; i < n_subcommands; i++)
        buf_fmt(out, "    '%s') ((COMP_CWORD > 2)) && command='%s' at=3 ;;\n", subcommands[i]->name,
                subcommands[i]->name);
    buf_str(out, STR("    esac\n    if ((COMP_CWORD == at)) && [[ $cur != -* ]]; then\n        case $command in\n"));
    for (size_t i = 0; command_at(i); i++) {
        autoarena a = { 0 };
        struct str first = first_arguments(&a, command_at(i));

        if (!first.n && !has_second(command_at(i)->name))
            continue;
        buf_fmt(out, "        '%s') _pumice_offer -W '%.*s", command_at(i)->name, STR_ARG(first));
        second_words(out, command_at(i)->name);
        buf_str(out, STR("'; return ;;\n"));
    }
    buf_str(out, STR("        esac\n    fi\n"));
}

/* ---- names of objects, from the server; without an answer there are none ---- */

static bool takes_jobs(const struct command *c)
{
    return strncmp(c->name, "job ", 4) == 0 && strstr(c->arguments, "JOB");
}

static bool takes_pods(const struct command *c)
{
    return !strchr(c->name, ' ') && strstr(c->arguments, "POD");
}

static bool takes_files_too(const struct command *c)
{
    return strcmp(c->name, "cp") == 0;
}

static bool takes_runs(const struct command *c)
{
    return strncmp(c->name, "runs ", 5) == 0;
}

static const struct completion_asked {
    bool (*takes)(const struct command *c);
    const char *ask;
    bool has_files; /* besides */
} names[] = {
    { takes_jobs, "pumice job list --no-headers -o custom-columns=NAME:.metadata.name", false },
    { takes_pods, "pumice ps -q", false },
    { takes_files_too, "pumice ps -q", true },
    { takes_runs, "pumice runs -q", false },
};

static const struct completion_asked *asked_for(const struct command *c)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (names[i].takes(c))
            return &names[i];
    return NULL;
}

static void bash_names(struct buf *out)
{
    buf_str(out, STR("    if [[ $cur != -* ]]; then\n        case $command in\n"));
    for (size_t k = 0; k < ARRAY_LEN(names); k++) {
        buf_str(out, STR("        "));
        for (size_t i = 0, n = 0; command_at(i); i++)
            if (names[k].takes(command_at(i)))
                buf_fmt(out, "%s'%s'", n++ ? "|" : "", command_at(i)->name);
        buf_fmt(out, ")\n            _pumice_offer %s-W \"$(%s 2> /dev/null)\"\n            return ;;\n",
                names[k].has_files ? "-f " : "", names[k].ask);
    }
    buf_str(out, STR("        esac\n    fi\n"));
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
    for (size_t i = 0; i < n_commands; i++)
        buf_fmt(out, "%s%s", i ? " " : "", commands[i]->name);
    buf_str(out, STR("'\n        return\n    fi\n"));
    bash_commands(out);
    buf_str(out, STR("    case $command:$prev in\n"));
    for (size_t i = 0; command_at(i); i++)
        bash_values(out, command_at(i));
    buf_str(out, STR("    esac\n"));
    bash_names(out);
    buf_str(out, STR("    if [[ $cur != -* ]]; then\n        _pumice_offer -f\n        return\n    fi\n"
                     "    case $command in\n"));
    for (size_t i = 0; command_at(i); i++) {
        buf_fmt(out, "    '%s') _pumice_offer -W '", command_at(i)->name);
        for (size_t k = 0; (o = command_option(command_at(i), k)); k++)
            buf_fmt(out, "--%s ", o->name);
        buf_str(out, STR("--help' ;;\n"));
    }
    buf_str(out, STR("    esac\n}\ncomplete -o filenames -F _pumice pumice\n"));
}

/* ---- zsh ---- */

static void zsh_option(struct buf *out, const struct option *o)
{
    static const char *const ways[] = { [VALUE_FILE] = "_files", [VALUE_DIR] = "_files -/", [VALUE_OTHER] = " " };
    enum completion_value value = completion_value_of(o);
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

/* A second word is offered, or taken together with the first. */
static void zsh_seconds(struct buf *out, const char *first)
{
    const char *word;

    if (!has_second(first))
        return;
    buf_fmt(out, "    if [[ $words[2] == %s ]]; then\n        local -a seconds=(\n", first);
    for (size_t i = 0; i < n_subcommands; i++) {
        if (!(word = second_word(subcommands[i], first)))
            continue;
        buf_fmt(out, "            '%s:", word);
        quoted(out, subcommands[i]->summary, ":\\");
        buf_str(out, STR("'\n"));
    }
    buf_str(out, STR("        )\n        if ((CURRENT == 3)) && [[ $words[3] != -* ]]; then\n"
                     "            _describe command seconds\n            return\n        fi\n"
                     "        if ((${seconds[(I)${words[3]}:*]})); then\n"
                     "            command=\"$words[2] $words[3]\"\n            shift words\n"
                     "            ((CURRENT--))\n        fi\n    fi\n"));
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
                     "    local command=$words[2]\n"));
    for (size_t i = 0; i < n_commands; i++)
        zsh_seconds(out, commands[i]->name);
    buf_str(out, STR("    shift words\n    ((CURRENT--))\n    case $command in\n"));
    for (size_t i = 0; command_at(i); i++) {
        autoarena a = { 0 };
        struct str first = first_arguments(&a, command_at(i));
        const struct completion_asked *asked = asked_for(command_at(i));

        buf_fmt(out, "    '%s')\n        _arguments -s", command_at(i)->name);
        for (size_t k = 0; (o = command_option(command_at(i), k)); k++)
            zsh_option(out, o);
        buf_str(out, STR(" \\\n            '(-h --help)'{-h,--help}'[show this]'"));
        if (first.n)
            buf_fmt(out, " '1:what:(%.*s)'", STR_ARG(first));
        if (asked && asked->has_files)
            buf_fmt(out, " '*:name:{_alternative \"names:name:($(%s 2> /dev/null))\" files:file:_files}' ;;\n",
                    asked->ask);
        else if (asked)
            buf_fmt(out, " '*:name:($(%s 2> /dev/null))' ;;\n", asked->ask);
        else
            buf_str(out, STR(" '*:file:_files' ;;\n"));
    }
    buf_str(out, STR("    esac\n}\nif [[ $funcstack[1] == _pumice ]]; then\n    _pumice \"$@\"\nelse\n"
                     "    compdef _pumice pumice\nfi\n"));
}

/* ---- fish ---- */

/* When the words of a command stand there, and no second word makes it another. */
static void fish_condition(struct buf *out, const struct command *c)
{
    struct str rest = str_of(c->name), word;

    for (bool is_first = true; str_split(&rest, ' ', &word); is_first = false)
        buf_fmt(out, "%s__fish_seen_subcommand_from %.*s", is_first ? "" : "; and ", STR_ARG(word));
    if (!has_second(c->name))
        return;
    buf_str(out, STR("; and not __fish_seen_subcommand_from "));
    second_words(out, c->name);
}

static void fish_seconds(struct buf *out, const struct command *c)
{
    const char *word;

    for (size_t i = 0; i < n_subcommands; i++) {
        if (!(word = second_word(subcommands[i], c->name)))
            continue;
        buf_str(out, STR("complete -c pumice -n '"));
        fish_condition(out, c);
        buf_fmt(out, "' -f -a %s -d '", word);
        quoted(out, subcommands[i]->summary, "\\");
        buf_str(out, STR("'\n"));
    }
}

static void fish_arguments(struct buf *out, const struct command *c)
{
    autoarena a = { 0 };
    struct str first = first_arguments(&a, c);

    if (!first.n)
        return;
    buf_str(out, STR("complete -c pumice -n '"));
    fish_condition(out, c);
    buf_fmt(out, "; and not __fish_seen_subcommand_from %.*s' -f -a '%.*s'\n", STR_ARG(first), STR_ARG(first));
}

static void fish_names(struct buf *out, const struct command *c)
{
    const struct completion_asked *asked = asked_for(c);

    if (!asked)
        return;
    buf_str(out, STR("complete -c pumice -n '"));
    fish_condition(out, c);
    buf_fmt(out, "' %s-a '(%s 2> /dev/null)'\n", asked->has_files ? "" : "-f ", asked->ask);
}

static void fish_option(struct buf *out, const struct command *c, const struct option *o)
{
    static const char *const ways[] = {
        [VALUE_NONE] = "",
        [VALUE_FILE] = " -r -F",
        [VALUE_DIR] = " -x -a '(__fish_complete_directories)'",
        [VALUE_OTHER] = " -x",
    };
    enum completion_value value = completion_value_of(o);

    buf_str(out, STR("complete -c pumice -n '"));
    fish_condition(out, c);
    buf_fmt(out, "' -l %s", o->name);
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
    }
    for (size_t i = 0; command_at(i); i++) {
        fish_seconds(out, command_at(i));
        fish_arguments(out, command_at(i));
        fish_names(out, command_at(i));
        for (size_t k = 0; (o = command_option(command_at(i), k)); k++)
            fish_option(out, command_at(i), o);
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
    .summary = "print a completion script for bash, zsh or fish",
    .about = "Prints a script for the shell: commands, options, and values where they are known.",
    .examples = completion_examples,
    .run = completion_run,
};
