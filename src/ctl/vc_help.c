/* vc_help.c - usage texts of Volcano's tools */
#include "base/util.h"
#include "ctl/vc.h"

enum { NAME_WIDTH = 11 }; /* of the lists of commands; one longer would widen it */

static void vc_help_put_path(struct buf *out, const struct vc_line *line)
{
    for (size_t i = 0; i < line->depth; i++)
        buf_fmt(out, "%s%s", i ? " " : "", line->path[i]->name);
}

/* ---- flags ---- */

static void flag_head(struct buf *out, const struct vc_flag *f)
{
    if (f->letter)
        buf_fmt(out, "  -%c, --%s", f->letter, f->name);
    else
        buf_fmt(out, "      --%s", f->name);
    if (vc_kind_names[f->kind][0])
        buf_fmt(out, " %s", vc_kind_names[f->kind]);
}

static size_t widest(const struct vc_flag *list, size_t least)
{
    for (const struct vc_flag *f = list; f && f->name; f++) {
        autobuf head = { 0 };

        flag_head(&head, f);
        least = MAX_OF(least, head.n);
    }
    return least;
}

static void put_flag(struct buf *out, const struct vc_flag *f, size_t width)
{
    size_t at = out->n;

    flag_head(out, f);
    buf_repeat(out, ' ', width + 3 - (out->n - at));
    buf_str(out, str_of(f->usage));
    if (f->fallback && f->kind == VC_STRING)
        buf_fmt(out, " (default \"%s\")", f->fallback);
    else if (f->fallback)
        buf_fmt(out, " (default %s)", f->fallback);
    buf_char(out, '\n');
}

/* Sorted by name, with --help where it belongs. */
static void put_flags(struct buf *out, const struct vc_flag *list, const struct vc_command *help_of)
{
    autobuf usage = { 0 };
    struct vc_flag help = { .letter = 'h', .name = "help", .kind = VC_BOOL };
    size_t width = widest(list, help_of ? strlen("  -h, --help") : 0);
    bool is_due = help_of != NULL;

    if (help_of)
        buf_fmt(&usage, "help for %s", help_of->name);
    help.usage = usage.p;
    for (const struct vc_flag *f = list; f && f->name; f++) {
        if (is_due && strcmp(f->name, "help") > 0) {
            put_flag(out, &help, width);
            is_due = false;
        }
        put_flag(out, f, width);
    }
    if (is_due)
        put_flag(out, &help, width);
}

/* ---- commands ---- */

/* In the order of the alphabet. */
static void put_subs(struct buf *out, const struct vc_command *c, bool has_help)
{
    const char *last = "";

    buf_str(out, STR("\nAvailable Commands:\n"));
    for (;;) {
        const char *name = NULL, *summary = NULL;

        for (const struct vc_command *const *s = c->subs; *s; s++)
            if (strcmp((*s)->name, last) > 0 && (!name || strcmp((*s)->name, name) < 0)) {
                name = (*s)->name;
                summary = (*s)->summary;
            }
        if (has_help && strcmp("help", last) > 0 && (!name || strcmp("help", name) < 0)) {
            name = "help";
            summary = "Help about any command";
        }
        if (!name)
            return;
        buf_fmt(out, "  %-*s %s\n", NAME_WIDTH, name, summary);
        last = name;
    }
}

static void put_usage(struct buf *out, const struct vc_line *line, bool lists_help)
{
    const struct vc_command *c = line->path[line->depth - 1];
    bool is_tool = line->depth == 1;

    buf_str(out, STR("Usage:\n  "));
    vc_help_put_path(out, line);
    buf_str(out, c->subs ? STR(" [command]\n") : STR(" [flags]\n"));
    if (c->example)
        buf_fmt(out, "\nExamples:\n%s\n", c->example);
    if (c->subs)
        put_subs(out, c, is_tool);
    buf_str(out, STR("\nFlags:\n"));
    if (!is_tool) {
        put_flags(out, c->flags, c);
        buf_str(out, STR("\nGlobal Flags:\n"));
        put_flags(out, vc_global_flags, NULL);
    } else {
        struct vc_flag all[32];
        size_t n = 0;

        for (const struct vc_flag *f = c->flags; f && f->name; f++)
            all[n++] = *f;
        for (const struct vc_flag *g = vc_global_flags; g->name; g++) {
            size_t at = n;

            while (at && strcmp(all[at - 1].name, g->name) > 0)
                at--;
            memmove(all + at + 1, all + at, (n - at) * sizeof(*all));
            all[at] = *g;
            n++;
        }
        all[n] = (struct vc_flag){ .name = NULL };
        put_flags(out, all, lists_help ? c : NULL);
    }
    if (c->subs) {
        buf_str(out, STR("\nUse \""));
        vc_help_put_path(out, line);
        buf_str(out, STR(" [command] --help\" for more information about a command.\n"));
    }
}

void vc_usage(struct buf *out, const struct vc_line *line)
{
    put_usage(out, line, true);
}

void vc_usage_without_help(struct buf *out, const struct vc_command *tool)
{
    put_usage(out, &(struct vc_line){ .path = { tool }, .depth = 1 }, false);
}

void vc_help(struct buf *out, const struct vc_line *line)
{
    const struct vc_command *c = line->path[line->depth - 1];
    const char *about = c->about ? c->about : c->summary;

    if (about)
        buf_fmt(out, "%s\n\n", about);
    vc_usage(out, line);
}
