/* args.c - the argument lists of plugins: one table-driven parser
 *
 * The forms of Go's flag package are read (one or two dashes, "=value" or the next element),
 * but an element that cannot be used never hides those after it: unknown flags and stray words are warnings, values
 * that cannot be read are errors at admission.
 */
#include "plugin/plugin_internal.h"

#include "base/util.h"
#include "json/schema.h"

struct args_reader {
    struct arena *arena;
    const struct job_plugin *plugin;
    char *args;
    bool *given;
    struct problems *ps;
    struct json *item; /* the element that is read */
    size_t index;      /* its place in the list */
};

/* ---- names ---- */

static char args_fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* Next character that counts, at or after '*at'; 0 at the end. */
static char name_next(struct str s, size_t *at)
{
    while (*at < s.n && (s.p[*at] == '-' || s.p[*at] == '_'))
        ++*at;
    return *at < s.n ? args_fold(s.p[(*at)++]) : '\0';
}

/* "ssh-key-file-path", "sshKeyFilePath" and "ssh_key_file_path" are one name. */
static bool name_same(struct str a, struct str b)
{
    size_t i = 0, k = 0;
    char c;

    do {
        c = name_next(a, &i);
        if (c != name_next(b, &k))
            return false;
    } while (c);
    return i == a.n && k == b.n;
}

static size_t arg_find(const struct job_plugin *plugin, struct str name)
{
    for (size_t i = 0; i < plugin->n_args; i++)
        if (name_same(name, str_of(plugin->args[i].name)) ||
            (plugin->args[i].alias && name_same(name, str_of(plugin->args[i].alias))))
            return i;
    return plugin->n_args;
}

const struct plugin_arg *plugin_arg_by_name(const struct job_plugin *plugin, const char *name)
{
    for (size_t i = 0; i < plugin->n_args; i++)
        if (strcmp(plugin->args[i].name, name) == 0)
            return &plugin->args[i];
    return NULL;
}

/* ---- values ---- */

static int parse_bool(struct str text, bool *ret)
{
    static const char *const words[2][6] = { { "0", "f", "F", "FALSE", "false", "False" },
                                             { "1", "t", "T", "TRUE", "true", "True" } };

    for (size_t v = 0; v < 2; v++)
        for (size_t i = 0; i < ARRAY_LEN(words[v]); i++)
            if (str_is(text, words[v][i])) {
                *ret = v == 1;
                return 0;
            }
    return -1;
}

/* Decimal, also with leading zeros, or 0x. -1: no whole number; 1: a whole number beyond int64_t. */
static int parse_int(struct str text, int64_t *ret)
{
    bool is_negative = text.n && text.p[0] == '-';
    struct str digits = str_from(text, text.n && (text.p[0] == '-' || text.p[0] == '+'));
    int base = str_starts(digits, STR("0x")) || str_starts(digits, STR("0X")) ? 16 : 10;
    bool is_too_big = false;
    int64_t v = 0;

    digits = str_from(digits, base == 16 ? 2 : 0);
    if (str_empty(digits))
        return -1;
    for (size_t i = 0; i < digits.n; i++) {
        int d = hex_digit(digits.p[i]);

        if (d < 0 || d >= base)
            return -1;
        is_too_big |= __builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, d, &v);
    }
    if (is_too_big)
        return 1;
    *ret = is_negative ? -v : v;
    return 0;
}

static bool value_allowed(const struct plugin_arg *arg, struct str text)
{
    for (size_t i = 0; arg->values && arg->values[i]; i++)
        if (str_is(text, arg->values[i]))
            return true;
    return !arg->values;
}

static bool list_allowed(const struct plugin_arg *arg, struct str text)
{
    struct str part;

    while (arg->values && str_split(&text, ',', &part))
        if (!value_allowed(arg, str_trim(part)))
            return false;
    return true;
}

static size_t list_room(size_t n)
{
    size_t room = 64;

    while (room < n)
        room *= 2;
    return room;
}

/* The room behind a list follows from its length, so that a flag given very often costs no more than its text. */
static void list_append(struct arena *a, struct str *list, struct str text)
{
    size_t n = list->n + (list->n > 0) + text.n;
    char *to = (char *)list->p;

    if (str_empty(text))
        return;
    if (!list->n || list_room(n) > list_room(list->n)) {
        to = arena_alloc(a, list_room(n));
        memcpy(to, list->n ? list->p : "", list->n);
    }
    if (list->n)
        to[list->n] = ',';
    memcpy(to + n - text.n, text.p, text.n);
    *list = (struct str){ to, n };
}

/* Store 'text' as the value. -1 if it cannot be read; 'args' is unchanged then. */
static int value_set(struct args_reader *r, size_t pos, struct str text)
{
    const struct plugin_arg *arg = &r->plugin->args[pos];
    void *to = r->args + arg->offset;
    int64_t n;

    if (arg->kind != ARG_RAW)
        text = str_trim(text);
    switch (arg->kind) {
    case ARG_BOOL:
        return parse_bool(text, to);
    case ARG_INT:
        return parse_int(text, to) == 0 ? 0 : -1;
    case ARG_PORT:
        if (parse_int(text, &n) != 0 || n < 1 || n > 65535)
            return -1;
        *(int64_t *)to = n;
        return 0;
    case ARG_LIST:
        if (!list_allowed(arg, text))
            return -1;
        if (!r->given || !r->given[pos]) /* the first one given takes the place of the default */
            *(struct str *)to = STR_NULL;
        list_append(r->arena, to, text);
        return 0;
    case ARG_STR:
    case ARG_RAW:
        if (!value_allowed(arg, text))
            return -1;
        *(struct str *)to = text;
        return 0;
    }
    return -1;
}

static void args_default(struct args_reader *r)
{
    memset(r->args, 0, r->plugin->args_size);
    for (size_t i = 0; i < r->plugin->n_args; i++)
        if (r->plugin->args[i].fallback)
            (void)value_set(r, i, str_of(r->plugin->args[i].fallback)); /* our own tables; the tests read them all */
}

/* ---- reading the list ---- */

struct str plugin_arg_type(struct arena *a, const struct plugin_arg *arg)
{
    static const char *const names[] = {
        [ARG_BOOL] = "true|false", [ARG_INT] = "number", [ARG_PORT] = "port",
        [ARG_STR] = "text",        [ARG_LIST] = "list",  [ARG_RAW] = "text",
    };
    autobuf text = { 0 };

    if (!arg->values)
        return str_of(names[arg->kind]);
    for (size_t i = 0; arg->values[i]; i++)
        buf_fmt(&text, "%s%s", i ? "|" : "", arg->values[i]);
    return arena_str(a, buf_view(&text));
}

/* The head of a text for a message: one line, not too long. An unknown argument may be a private key. */
static struct str clip(struct str s)
{
    size_t n = 0;

    s = str_trim(s);
    while (n < s.n && n < 60 && s.p[n] != '\n')
        n++;
    while (n < s.n && n && (s.p[n] & 0xc0) == 0x80) /* not inside a character */
        n--;
    return str_sub(s, 0, n);
}

static void report_bad_value(struct args_reader *r, const struct plugin_arg *arg, struct str value,
                             const struct place *at)
{
    struct str type = arg->kind == ARG_PORT ? STR("a port, 1-65535") : plugin_arg_type(r->arena, arg);
    int64_t ignored;

    value = clip(value);
    if (arg->is_lenient && arg->kind == ARG_PORT && parse_int(value, &ignored) >= 0)
        problem_warn(r->ps, at, "plugin %s: argument %s: %.*s is out of range 1-65535; %s is used", r->plugin->name,
                     arg->name, STR_ARG(value), arg->fallback);
    else
        problem_error(r->ps, at, "plugin %s: argument %s: bad value \"%.*s\" (must be %.*s)", r->plugin->name,
                      arg->name, STR_ARG(value), STR_ARG(type));
}

static void args_report_unknown(struct args_reader *r, struct str name, const struct place *at)
{
    const char **names = arena_array(r->arena, const char *, r->plugin->n_args + 1);
    const char *near;

    name = clip(name);
    for (size_t i = 0; i < r->plugin->n_args; i++)
        names[i] = r->plugin->args[i].name;
    near = suggest(name, names, r->plugin->n_args);
    if (near)
        problem_warn(r->ps, at, "plugin %s: unknown argument \"%.*s\" is ignored; did you mean --%s?", r->plugin->name,
                     STR_ARG(name), near);
    else
        problem_warn(r->ps, at, "plugin %s: unknown argument \"%.*s\" is ignored", r->plugin->name, STR_ARG(name));
}

/* The value of a flag written without '=': for a boolean only if the next element is a boolean word, for the others
 * the next element whatever it is. */
static bool take_next(struct args_reader *r, const struct plugin_arg *arg, struct str *ret)
{
    struct json *next = r->item->next;
    bool ignored;

    if (!json_is(next, JSON_STRING))
        return false;
    if (arg->kind == ARG_BOOL && parse_bool(str_trim(json_text(next, STR_NULL)), &ignored) < 0)
        return false;
    *ret = json_text(next, STR_NULL);
    r->item = next;
    r->index++;
    return true;
}

/* What upstream's flag package reads in another way: it would be a surprise to find out there. */
static void warn_other_reading(struct args_reader *r, const struct plugin_arg *arg, bool is_next, struct str value,
                               const struct place *at)
{
    struct str digits = str_trim(value);

    if (digits.n && (digits.p[0] == '-' || digits.p[0] == '+'))
        digits = str_from(digits, 1);
    if (arg->kind == ARG_BOOL && is_next)
        problem_warn(
            r->ps, at,
            "plugin %s: argument %s: \"%.*s\" is taken as its value; Volcano reads true, and nothing after it: "
            "write --%s=%.*s",
            r->plugin->name, arg->name, STR_ARG(str_trim(value)), arg->name, STR_ARG(str_trim(value)));
    else if ((arg->kind == ARG_INT || arg->kind == ARG_PORT) && digits.n > 1 && digits.p[0] == '0' &&
             digits.p[1] >= '0' && digits.p[1] <= '9')
        problem_warn(
            r->ps, at,
            "plugin %s: argument %s: \"%.*s\" is read as a decimal number; Volcano reads it as octal: write it "
            "without the leading zero",
            r->plugin->name, arg->name, STR_ARG(str_trim(value)));
}

/* One flag. 'name' has lost its dashes; 'value' is what follows '=', STR_NULL without '='. */
static void read_flag(struct args_reader *r, struct str name, struct str value, const struct place *at)
{
    size_t pos = name.n && name.p[0] != '-' ? arg_find(r->plugin, name) : r->plugin->n_args;
    const struct json *first = r->item;
    const struct plugin_arg *arg;

    if (pos == r->plugin->n_args) {
        if (!str_is(name, "h") && !str_is(name, "help"))
            args_report_unknown(r, name, at);
        return;
    }
    arg = &r->plugin->args[pos];
    if (!value.p && !take_next(r, arg, &value)) {
        if (arg->kind != ARG_BOOL) {
            problem_error(r->ps, at, "plugin %s: argument %s: bad value \"\" (the value is missing)", r->plugin->name,
                          arg->name);
            return;
        }
        value = STR("true");
    }
    if (value_set(r, pos, value) < 0) {
        report_bad_value(r, arg, value, at);
        return;
    }
    r->given[pos] = true;
    warn_other_reading(r, arg, r->item != first, value, at);
}

static struct str skip_blanks(struct str s)
{
    while (s.n && (s.p[0] == ' ' || (s.p[0] >= '\t' && s.p[0] <= '\r')))
        s = str_from(s, 1);
    return s;
}

/* Read one element, and the one after it if that is its value. */
static void read_element(struct args_reader *r, const struct place *up)
{
    struct place at = place_item(up, r->item, r->index);
    struct str text = skip_blanks(json_text(r->item, STR_NULL));
    ptrdiff_t eq;

    if (!json_is(r->item, JSON_STRING)) {
        problem_error(r->ps, &at, "plugin %s: arguments must be strings, not %s (write it in quotes)", r->plugin->name,
                      json_type_name(r->item->type));
        return;
    }
    if (str_is(str_trim(text), "--"))
        return;
    if (text.n < 2 || text.p[0] != '-') {
        problem_warn(r->ps, &at, "plugin %s: \"%.*s\" is not an argument and is ignored", r->plugin->name,
                     STR_ARG(clip(text)));
        return;
    }
    text = str_from(text, text.p[1] == '-' ? 2 : 1);
    eq = str_find_char(text, '=');
    if (eq < 0)
        read_flag(r, str_trim(text), STR_NULL, &at);
    else
        read_flag(r, str_trim(str_sub(text, 0, (size_t)eq)), str_from(text, (size_t)eq + 1), &at);
}

void plugin_args_parse(struct arena *a, struct plugin_use *use, const struct place *at, struct problems *ps)
{
    const struct job_plugin *plugin = use->plugin;
    struct args_reader r = { .arena = a, .plugin = plugin, .args = use->args, .ps = ps };

    args_default(&r);
    r.given = use->given;
    if (!at->node || at->node->type == JSON_NULL)
        return;
    if (at->node->type != JSON_ARRAY) {
        if (!problems_error_below(ps, at)) /* else admission has said it */
            problem_error(ps, at, "plugin %s: arguments must be a list of strings, not %s", plugin->name,
                          json_type_name(at->node->type));
        return;
    }
    for (r.item = at->node->first; r.item; r.item = r.item->next, r.index++)
        read_element(&r, at);
}
