/* vc_parse.c - a command line of Volcano's tools */
#include "base/util.h"
#include "ctl/vc.h"

#include <ctype.h>
#include <errno.h>

static const struct vc_flag help_flag = { 'h', "help", VC_BOOL, offsetof(struct vc_values, help), NULL, NULL };

/* ---- which command ---- */

static const struct vc_command *sub_by_name(const struct vc_command *c, const char *name)
{
    for (const struct vc_command *const *s = c->subs; s && *s; s++)
        if (strcmp((*s)->name, name) == 0)
            return *s;
    return NULL;
}

/* The first word that is neither a flag nor the value of one, from '*at' on; NULL: none. In front of a command every
 * flag is taken to have a value. */
static const char *vc_parse_next_word(char **words, size_t *at)
{
    for (; words[*at]; (*at)++) {
        const char *word = words[*at];

        if (strcmp(word, "--") == 0)
            return NULL;
        if (word[0] != '-' || !word[1])
            return word;
        if ((word[1] == '-' ? !strchr(word, '=') : strlen(word) == 2) && words[*at + 1])
            (*at)++;
    }
    return NULL;
}

static const char *find_command(const struct vc_command *tool, char **words, struct vc_line *line)
{
    const char *word = NULL;

    line->path[0] = tool;
    line->depth = 1;
    while (line->path[line->depth - 1]->subs) {
        size_t at = 0;
        const struct vc_command *sub;

        word = vc_parse_next_word(words, &at);
        sub = word ? sub_by_name(line->path[line->depth - 1], word) : NULL;
        if (!sub)
            return word;
        line->path[line->depth++] = sub;
        for (; words[at]; at++) /* the word is used up */
            words[at] = words[at + 1];
    }
    return NULL;
}

/* Letter by letter; how many to change, add or take. */
static size_t edits(const char *a, const char *b)
{
    size_t row[64], n = MIN_OF(strlen(b), (size_t)63);

    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t corner = row[0];

        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = corner + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));

            corner = row[j];
            row[j] = MIN_OF(change, MIN_OF(row[j - 1], row[j]) + 1);
        }
    }
    return row[n];
}

static void unknown_command(struct buf *wrong, const struct vc_command *tool, const char *word)
{
    bool is_first = true;

    buf_fmt(wrong, "unknown command \"%s\" for \"%s\"", word, tool->name);
    for (const struct vc_command *const *s = tool->subs; *s; s++)
        if (edits(word, (*s)->name) <= 2 || strncasecmp(word, (*s)->name, strlen(word)) == 0) {
            buf_fmt(wrong, "%s\t%s\n", is_first ? "\n\nDid you mean this?\n" : "", (*s)->name);
            is_first = false;
        }
}

/* ---- flags ---- */

static bool vc_parse_is_named(const struct vc_flag *f, struct str name)
{
    if (strlen(f->name) != name.n)
        return false;
    for (size_t i = 0; i < name.n; i++)
        if ((name.p[i] == '_' ? '-' : name.p[i]) != f->name[i])
            return false;
    return true;
}

static const struct vc_flag *flag_in(const struct vc_flag *list, char letter, struct str name)
{
    for (const struct vc_flag *f = list; f && f->name; f++)
        if (letter ? f->letter == letter : vc_parse_is_named(f, name))
            return f;
    return NULL;
}

static const struct vc_flag *flag_find(const struct vc_line *line, char letter, struct str name)
{
    const struct vc_flag *f = flag_in(line->path[line->depth - 1]->flags, letter, name);

    if (!f)
        f = flag_in(vc_global_flags, letter, name);
    if (!f && (letter ? letter == 'h' : str_is(name, "help")))
        f = &help_flag;
    return f;
}

static int bad_value(struct buf *wrong, const struct vc_flag *f, const char *value, const char *why)
{
    buf_fmt(wrong, "invalid argument \"%s\" for \"", value);
    if (f->letter)
        buf_fmt(wrong, "-%c, ", f->letter);
    buf_fmt(wrong, "--%s\" flag: %s", f->name, why);
    return -1;
}

static int store_number(struct vc_values *v, const struct vc_flag *f, const char *value, struct buf *wrong)
{
    autobuf why = { 0 };
    char *end;
    long long n;

    errno = 0;
    n = strtoll(value, &end, 0);
    buf_fmt(&why, "strconv.ParseInt: parsing \"%s\": ", value);
    if (*end || end == value || isspace((unsigned char)*value))
        buf_str(&why, STR("invalid syntax"));
    else if (errno == ERANGE || (f->kind != VC_INT && (n > INT32_MAX || n < INT32_MIN)))
        buf_str(&why, STR("value out of range"));
    else {
        if (f->kind != VC_LEVEL)
            *(int64_t *)((char *)v + f->offset) = n;
        return 0;
    }
    return bad_value(wrong, f, value, why.p);
}

static int store_bool(struct vc_values *v, const struct vc_flag *f, const char *value, struct buf *wrong)
{
    static const char *const words[2][6] = { { "0", "f", "F", "FALSE", "false", "False" },
                                             { "1", "t", "T", "TRUE", "true", "True" } };
    autobuf why = { 0 };

    for (size_t i = 0; i < 2 * ARRAY_LEN(words[0]); i++)
        if (strcmp(words[i % 2][i / 2], value) == 0) {
            *(bool *)((char *)v + f->offset) = i % 2;
            return 0;
        }
    buf_fmt(&why, "strconv.ParseBool: parsing \"%s\": invalid syntax", value);
    return bad_value(wrong, f, value, why.p);
}

static int vc_parse_store(struct vc_line *line, const struct vc_flag *f, const char *value, struct buf *wrong)
{
    switch (f->kind) {
    case VC_INT:
    case VC_INT32:
    case VC_LEVEL:
        return store_number(&line->values, f, value, wrong);
    case VC_BOOL:
        return store_bool(&line->values, f, value, wrong);
    default:
        *(const char **)((char *)&line->values + f->offset) = value;
        return 0;
    }
}

static int take_long(struct vc_line *line, const char *word, char ***next, struct buf *wrong)
{
    struct str name = str_of(word + 2);
    ptrdiff_t eq = str_find_char(name, '=');
    const char *value = eq >= 0 ? name.p + eq + 1 : NULL;
    const struct vc_flag *f;

    if (eq >= 0)
        name.n = (size_t)eq;
    if (!name.n || name.p[0] == '-') {
        buf_fmt(wrong, "bad flag syntax: %s", word);
        return -1;
    }
    f = flag_find(line, 0, name);
    if (!f) {
        buf_fmt(wrong, "unknown flag: --%.*s", STR_ARG(name));
        return -1;
    }
    if (!value && f->kind == VC_BOOL)
        value = "true";
    if (!value && !(value = **next ? *(*next)++ : NULL)) {
        buf_fmt(wrong, "flag needs an argument: --%.*s", STR_ARG(name));
        return -1;
    }
    return vc_parse_store(line, f, value, wrong);
}

static int take_letters(struct vc_line *line, const char *word, char ***next, struct buf *wrong)
{
    for (const char *at = word + 1; *at; at++) {
        const struct vc_flag *f = flag_find(line, *at, STR_NULL);
        const char *value;

        if (!f) {
            buf_fmt(wrong, "unknown shorthand flag: '%c' in -%s", *at, at);
            return -1;
        }
        if (at[1] == '=')
            return vc_parse_store(line, f, at + 2, wrong);
        if (f->kind == VC_BOOL) {
            if (vc_parse_store(line, f, "true", wrong) < 0)
                return -1;
            continue;
        }
        value = at[1] ? at + 1 : **next ? *(*next)++ : NULL;
        if (!value) {
            buf_fmt(wrong, "flag needs an argument: '%c' in -%s", *at, at);
            return -1;
        }
        return vc_parse_store(line, f, value, wrong);
    }
    return 0;
}

static int take_flags(struct vc_line *line, char **next, struct buf *wrong)
{
    while (*next) {
        const char *word = *next++;
        int rc = 0;

        if (strcmp(word, "--") == 0)
            break;
        if (word[0] != '-' || !word[1])
            line->first_argument = line->first_argument ? line->first_argument : word;
        else
            rc = word[1] == '-' ? take_long(line, word, &next, wrong) : take_letters(line, word, &next, wrong);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static void set_fallbacks(struct vc_line *line)
{
    autobuf nothing = { 0 };

    for (const struct vc_flag *f = line->path[line->depth - 1]->flags; f && f->name; f++) {
        if (f->kind == VC_STRING)
            *(const char **)((char *)&line->values + f->offset) = "";
        if (f->fallback)
            (void)vc_parse_store(line, f, f->fallback, &nothing); /* they are right: they are ours */
    }
}

int vc_parse(struct arena *a, const struct vc_command *tool, char **words, struct vc_line *ret, struct buf *wrong)
{
    size_t n = 0;
    char **copy;
    const char *stranger;

    while (words[n])
        n++;
    copy = arena_array(a, char *, n + 1);
    memcpy(copy, words, n * sizeof(*copy));
    *ret = (struct vc_line){ 0 };
    stranger = find_command(tool, copy, ret);
    if (stranger && ret->depth == 1 && tool->subs && strcmp(stranger, "help") != 0) {
        unknown_command(wrong, tool, stranger);
        return -1;
    }
    set_fallbacks(ret);
    return take_flags(ret, copy, wrong);
}
