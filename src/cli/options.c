/* options.c - parsing command lines and choosing the command */
#include "cli/options.h"

#include "base/util.h"
#include "cli/api.h"
#include "base/term.h"
#include "json/schema.h" /* suggest() */

struct parsed {
    struct arena *arena;
    const struct command *command;
    void *options;
    struct common_options common;
    struct text_list arguments;
    bool wants_help;
};

static const char *const color_values[] = { "auto", "always", "never", NULL };

const struct option common_options[] = {
    { 0, "color", OPTION_TEXT, offsetof(struct common_options, color), "WHEN", color_values,
      "auto (default): on a terminal, unless NO_COLOR is set; always; never" },
};
const size_t n_common_options = ARRAY_LEN(common_options);

static int usage_error(const struct command *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int usage_error(const struct command *c, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "pumice%s%s: ", c ? " " : "", c ? c->name : "");
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\nTry 'pumice %s%s--help'.\n", c ? c->name : "", c ? " " : "");
    return EXIT_USAGE;
}

static int unknown_option(const struct command *c, const char *given, struct str name)
{
    const char *names[64];
    const char *near;
    size_t n = 0;

    for (const struct option *o; n < ARRAY_LEN(names) && (o = command_option(c, n)); n++)
        names[n] = o->name;
    near = suggest(name, names, n);
    if (near)
        return usage_error(c, "unknown option %s (did you mean --%s?)", given, near);
    return usage_error(c, "unknown option %s", given);
}

static const struct option *option_by_name(const struct command *c, struct str name)
{
    const struct option *o;

    for (size_t i = 0; (o = command_option(c, i)); i++)
        if (str_is(name, o->name))
            return o;
    return NULL;
}

const struct option *command_option(const struct command *c, size_t i)
{
    if (i < c->n_options)
        return &c->options[i];
    return i - c->n_options < n_common_options ? &common_options[i - c->n_options] : NULL;
}

static const struct option *option_by_letter(const struct command *c, char letter)
{
    for (size_t i = 0; i < c->n_options; i++)
        if (c->options[i].letter == letter)
            return &c->options[i];
    return NULL;
}

static bool is_allowed(const char *const *values, const char *value)
{
    for (; *values; values++)
        if (strcmp(*values, value) == 0)
            return true;
    return false;
}

static int options_store(struct parsed *p, const struct option *o, const char *value)
{
    bool is_common = o >= common_options && o < common_options + n_common_options;
    void *field = (is_common ? (char *)&p->common : (char *)p->options) + o->offset;

    if (o->values && !is_allowed(o->values, value)) {
        autobuf list = { 0 };

        for (const char *const *v = o->values; *v; v++)
            buf_fmt(&list, "%s%s", list.n ? ", " : "", *v);
        return usage_error(p->command, "--%s: '%s' is not one of %s", o->name, value, list.p);
    }
    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)field = true;
        break;
    case OPTION_TEXT:
    case OPTION_SWITCH:
        *(const char **)field = value;
        break;
    case OPTION_LIST:
        *vec_push(p->arena, &((struct text_list *)field)->list) = value;
        break;
    }
    return EXIT_FINE;
}

static const struct foreign_option *foreign_by_name(const struct command *c, struct str name)
{
    for (const struct foreign_option *f = c->foreign; f && f->name; f++)
        if (str_is(name, f->name))
            return f;
    return NULL;
}

static int take_foreign(struct parsed *p, const struct foreign_option *f, const char *value, char ***next)
{
    if (f->is_refused)
        return usage_error(p->command, "--%s: %s", f->name, f->why);
    if (f->has_value && !value && **next)
        (*next)++;
    fprintf(stderr, "pumice %s: --%s is not needed: %s\n", p->command->name, f->name, f->why);
    return EXIT_FINE;
}

static struct str with_dashes(struct arena *a, struct str name)
{
    char *copy = memcpy(arena_alloc(a, name.n + 1), name.p, name.n);

    for (size_t i = 0; i < name.n; i++)
        if (copy[i] == '_')
            copy[i] = '-';
    return (struct str){ copy, name.n };
}

/* --name, --name=value, --name value. '*next' is advanced when the value is a word of its own. */
static int parse_long(struct parsed *p, const char *word, char ***next)
{
    struct str name = str_of(word + 2);
    ptrdiff_t eq = str_find_char(name, '=');
    const char *value = eq >= 0 ? name.p + eq + 1 : NULL;
    const struct foreign_option *f;
    const struct option *o;

    if (eq >= 0)
        name.n = (size_t)eq;
    if (p->command->foreign && str_find_char(name, '_') >= 0)
        name = with_dashes(p->arena, name);
    if (str_is(name, "help")) {
        p->wants_help = true;
        return EXIT_FINE;
    }
    f = foreign_by_name(p->command, name);
    o = option_by_name(p->command, f && f->same_as ? str_of(f->same_as) : name);
    if (!o && f)
        return take_foreign(p, f, value, next);
    if (!o)
        return unknown_option(p->command, word, name);
    if (o->kind == OPTION_SWITCH && !value)
        value = "true";
    if (o->kind == OPTION_FLAG && value)
        return usage_error(p->command, "--%s takes no value", o->name);
    if (o->kind != OPTION_FLAG && !value && !(value = **next ? *(*next)++ : NULL))
        return usage_error(p->command, "--%s needs a value (%s)", o->name, o->value);
    return options_store(p, o, value);
}

/* -o yaml, -oyaml, -qo yaml. */
static int parse_letters(struct parsed *p, const char *word, char ***next)
{
    for (const char *at = word + 1; *at; at++) {
        const struct option *o;
        const char *value = NULL;
        int rc;

        if (*at == 'h' && !option_by_letter(p->command, 'h')) {
            p->wants_help = true;
            continue;
        }
        o = option_by_letter(p->command, *at);
        if (!o && foreign_by_name(p->command, (struct str){ at, 1 })) /* the last: "-v=4" */
            return take_foreign(p, foreign_by_name(p->command, (struct str){ at, 1 }), at[1] ? at + 1 : NULL, next);
        if (!o)
            return usage_error(p->command, "unknown option -%c", *at);
        if (o->kind != OPTION_FLAG) {
            value = at[1] ? at + 1 + (at[1] == '=') : **next ? *(*next)++ : NULL;
            if (!value)
                return usage_error(p->command, "-%c needs a value (%s)", *at, o->value);
        }
        rc = options_store(p, o, value);
        if (rc != EXIT_FINE || value)
            return rc;
    }
    return EXIT_FINE;
}

static int parse_words(struct parsed *p, char **next)
{
    bool only_arguments = false;

    while (*next) {
        const char *word = *next++;
        int rc = EXIT_FINE;

        if (only_arguments || word[0] != '-' || word[1] == '\0') { /* "-" is standard input */
            *vec_push(p->arena, &p->arguments.list) = word;
            only_arguments = only_arguments || p->arguments.list.n == p->command->stops_at;
        } else if (strcmp(word, "--") == 0)
            only_arguments = true;
        else
            rc = word[1] == '-' ? parse_long(p, word, &next) : parse_letters(p, word, &next);
        if (rc != EXIT_FINE)
            return rc;
    }
    return EXIT_FINE;
}

int options_parse(struct arena *a, const struct command *c, char **words, void *options, struct text_list *arguments)
{
    struct parsed p = { .arena = a, .command = c, .options = options };
    int rc = parse_words(&p, words);

    *arguments = p.arguments;
    return rc;
}

bool command_is_of(const struct command *sub, const struct command *group)
{
    size_t n = strlen(group->name);

    return strncmp(sub->name, group->name, n) == 0 && sub->name[n] == ' ';
}

static int help(const struct command *c)
{
    autobuf text = { 0 };

    help_print(&text, c);
    return term_print(&text) == 0 ? EXIT_FINE : EXIT_FAILED;
}

static int manual(void)
{
    autobuf text = { 0 };

    manual_print(&text);
    return term_print(&text) == 0 ? EXIT_FINE : EXIT_FAILED;
}

static const struct command *command_by_name(const char *name)
{
    for (size_t i = 0; i < n_commands; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static const struct command *subcommand_by_words(const char *first, const char *second)
{
    for (size_t i = 0; second && i < n_subcommands; i++) {
        struct str rest = str_of(subcommands[i]->name), word;

        if (str_split(&rest, ' ', &word) && str_is(word, first) && str_is(rest, second))
            return subcommands[i];
    }
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *names[64], *near;
    size_t n = 0;

    for (; n < n_commands && n < ARRAY_LEN(names); n++)
        names[n] = commands[n]->name;
    near = suggest(str_of(name), names, n);
    if (near)
        return usage_error(NULL, "unknown command '%s' (did you mean '%s'?)", name, near);
    return usage_error(NULL, "unknown command '%s'", name);
}

/* The first word alone, or with a second that it does not know. */
static int run_group(const struct command *group, const char *word)
{
    const char *names[32], *near;
    size_t n = 0;

    if (!word || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        int rc = help(group);

        return word ? rc : EXIT_USAGE;
    }
    for (size_t i = 0; i < n_subcommands && n < ARRAY_LEN(names); i++)
        if (command_is_of(subcommands[i], group))
            names[n++] = subcommands[i]->name + strlen(group->name) + 1;
    near = suggest(str_of(word), names, n);
    if (near)
        return usage_error(group, "unknown command '%s' (did you mean '%s'?)", word, near);
    return usage_error(group, "unknown command '%s'", word);
}

static int help_command(const char *name, const char *second)
{
    const struct command *sub = name ? subcommand_by_words(name, second) : NULL;
    const struct command *c = sub ? sub : name ? command_by_name(name) : NULL;

    return name && !c ? unknown_command(name) : help(c);
}

int command_fail(const char *command, const struct err *e, int status)
{
    autobuf text = { 0 };

    term_text(&text, str_of(e->text));
    fprintf(stderr, "pumice %s: %s\n", command, text.p);
    return status;
}

/* Called by the name of one of Slurm's commands, through a link: as `pumice slurm NAME`. */
static int run_as_slurm(int argc, char **argv, const char *name)
{
    autoarena a = { 0 };
    char **words = arena_array(&a, char *, (size_t)argc + 3);

    words[0] = argv[0];
    words[1] = (char *)"slurm";
    words[2] = (char *)name;
    for (int i = 1; i < argc; i++)
        words[i + 2] = argv[i];
    return cli_main(argc + 2, words);
}

int cli_main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL, *called = slash ? slash + 1 : argc > 0 ? argv[0] : "";
    autoarena arena = { 0 };
    struct parsed p = { .arena = &arena };
    const char *name = argc > 1 ? argv[1] : NULL;
    const struct command *sub;
    int rc;

    if (subcommand_by_words("slurm", called) && (argc < 2 || strcmp(argv[1], "slurm") != 0))
        return run_as_slurm(argc, argv, called);
    if (!name) {
        (void)help(NULL); /* the exit status says more than a failed write of the help */
        return EXIT_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
        return help_command(argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL);
    if (strcmp(name, "manual") == 0) /* for packaging: pumice manual > pumice.1 */
        return manual();
    sub = subcommand_by_words(name, argc > 2 ? argv[2] : NULL);
    p.command = sub ? sub : command_by_name(strcmp(name, "--version") == 0 ? "version" : name);
    if (!p.command)
        return name[0] == '-' ? usage_error(NULL, "unknown option %s", name) : unknown_command(name);
    if (p.command->is_group)
        return run_group(p.command, argc > 2 ? argv[2] : NULL);
    p.options = arena_zalloc(&arena, p.command->options_size + 1);
    rc = parse_words(&p, argv + (sub ? 3 : 2));
    if (rc != EXIT_FINE)
        return rc;
    if (p.wants_help)
        return help(p.command);
    if (p.command->arguments[0] && p.command->arguments[0] != '[' && p.arguments.list.n == 0)
        return usage_error(p.command, "no file given ('-' reads standard input)");
    if (!p.command->arguments[0] && p.arguments.list.n)
        return usage_error(p.command, "takes no arguments (got '%s')", p.arguments.list.v[0]);
    term_set_colour(p.common.color);
    return p.command->verb ? api_run(&arena, p.command, p.options, &p.arguments)
                           : p.command->run(&arena, p.options, &p.arguments);
}
