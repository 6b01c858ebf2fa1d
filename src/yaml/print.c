/* print.c - trees as YAML, in the block style of kubectl
 *
 * Text is written in the first of these forms that reads back as the same text: plain, literal block (several lines),
 * 'single quotes' (plain but for a misleading character), "double quotes" (would read as something else, or needs
 * escapes). Lines are never folded.
 */
#include "yaml/yaml_internal.h"

#include "base/util.h"

enum {
    KEY_MAX = 1000, /* a reader looks at most 1024 characters ahead for the ':' of a key */
};

struct yaml_print_printer {
    struct buf *out;
    const struct yaml_print_options *opt;
    struct str pending; /* comment of a list item, for its first line */
};

static void print_node(struct yaml_print_printer *p, const struct json *j, size_t column);

/* ---- lines ---- */

/* A comment must stay one line and one comment, whatever the caller gave. */
static void print_comment(struct yaml_print_printer *p, struct str comment)
{
    uint32_t code;
    size_t n;

    buf_str(p->out, STR(" # "));
    for (struct str s = comment; s.n; s = str_from(s, n)) {
        n = yaml_char(s, &code);
        if (n == 0 || code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x2028 || code == 0x2029 ||
            code == 0xfeff || code == 0xfffe || code == 0xffff) {
            buf_char(p->out, ' ');
            n = n ? n : 1;
        } else {
            buf_append(p->out, s.p, n);
        }
    }
}

static struct str ask_comment(struct yaml_print_printer *p, const struct json *j)
{
    return p->opt && p->opt->comment ? str_trim(p->opt->comment(p->opt->ctx, j)) : STR_NULL;
}

/* The end of the first line of whatever is printed, with the comment that waits for it. */
static void end_line(struct yaml_print_printer *p)
{
    if (p->pending.n)
        print_comment(p, p->pending);
    p->pending = STR_NULL;
    buf_char(p->out, '\n');
}

/* ---- text ---- */

struct print_look {     /* what stands in a text */
    bool has_break;     /* '\n' */
    bool has_special;   /* needs an escape wherever it stands */
    bool has_tab;       /* fine in a literal block, escaped elsewhere */
    bool has_ink;       /* something else than line breaks */
    bool is_misleading; /* not as it should be when plain, but fine in single quotes */
};

/* Characters that only double quotes can hold: controls, what other readers take for line breaks, invalid bytes. */
static bool is_special(size_t n, uint32_t code)
{
    return n == 0 || (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code < 0xa0) || code == 0x2028 ||
           code == 0x2029 || code == 0xfeff || code == 0xfffe || code == 0xffff;
}

static bool is_blank_at(struct str s, size_t at)
{
    return at >= s.n || s.p[at] == ' ' || s.p[at] == '\t' || s.p[at] == '\n';
}

static bool is_misleading(struct str s)
{
    if (strchr(",[]{}#&*!|>'\"%@`", s.p[0]) || s.p[0] == ' ' || s.p[s.n - 1] == ' ')
        return true;
    if (strchr("-?:", s.p[0]) && is_blank_at(s, 1))
        return true;
    if (str_starts(s, STR("---")) || str_starts(s, STR("...")))
        return true;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == ':' && is_blank_at(s, i + 1))
            return true;
        if (s.p[i] == '#' && s.p[i - 1] == ' ')
            return true;
    }
    return false;
}

static struct print_look print_look_at(struct str s)
{
    struct print_look l = { 0 };
    uint32_t code = 0;

    for (size_t i = 0, n; i < s.n; i += n ? n : 1) {
        n = yaml_char(str_from(s, i), &code);
        l.has_special = l.has_special || is_special(n, code);
        if (n == 1 && code == '\n')
            l.has_break = true;
        else
            l.has_ink = true;
        l.has_tab = l.has_tab || (n == 1 && code == '\t');
    }
    l.is_misleading = s.n && s.p[0] && is_misleading(s);
    return l;
}

static const struct {
    uint32_t code;
    char letter;
} escapes[] = { { '"', '"' },  { '\\', '\\' }, { '\n', 'n' },   { '\t', 't' },  { '\r', 'r' },
                { 0, '0' },    { '\a', 'a' },  { '\b', 'b' },   { 0x1b, 'e' },  { '\f', 'f' },
                { '\v', 'v' }, { 0x85, 'N' },  { 0x2028, 'L' }, { 0x2029, 'P' } };

static void print_escaped(struct buf *out, uint32_t code)
{
    for (size_t i = 0; i < ARRAY_LEN(escapes); i++) {
        if (escapes[i].code == code) {
            buf_fmt(out, "\\%c", escapes[i].letter);
            return;
        }
    }
    buf_fmt(out, code < 0x100 ? "\\x%02X" : "\\u%04X", code);
}

static void print_double(struct buf *out, struct str s)
{
    uint32_t code = 0;

    buf_char(out, '"');
    for (size_t i = 0, n; i < s.n; i += n ? n : 1) {
        n = yaml_char(str_from(s, i), &code);
        if (n == 0)
            buf_str(out, STR("\xef\xbf\xbd")); /* U+FFFD, as JSON printing does */
        else if (is_special(n, code) || code == '"' || code == '\\' || code == '\n' || code == '\t')
            print_escaped(out, code);
        else
            buf_append(out, s.p + i, n);
    }
    buf_char(out, '"');
}

static void print_single(struct buf *out, struct str s)
{
    buf_char(out, '\'');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\'')
            buf_char(out, '\'');
        buf_char(out, s.p[i]);
    }
    buf_char(out, '\'');
}

/* Text on one line. */
static void print_inline(struct buf *out, struct str s, const struct print_look *l)
{
    if (l->has_special || l->has_break || l->has_tab || yaml_is_ambiguous(s))
        print_double(out, s);
    else if (l->is_misleading)
        print_single(out, s);
    else
        buf_str(out, s);
}

/* "|" keeps one line break at the end, "|-" none, "|+" all. */
static const char *chomping(struct str s)
{
    if (s.p[s.n - 1] != '\n')
        return "-";
    return s.n > 1 && s.p[s.n - 2] == '\n' ? "+" : "";
}

static void print_literal(struct yaml_print_printer *p, struct str s, size_t column)
{
    /* The reader takes the indentation from the first line with text; if that begins with blanks the header must say
     * how many. */
    bool is_told = s.p[0] == ' ' || s.p[0] == '\t' || s.p[0] == '\n';

    buf_fmt(p->out, "|%s%s", is_told ? "2" : "", chomping(s));
    end_line(p);
    if (str_ends(s, STR("\n")))
        s.n--;
    for (struct str line; str_split(&s, '\n', &line);) {
        if (line.n)
            buf_repeat(p->out, ' ', column + 2);
        buf_str(p->out, line);
        buf_char(p->out, '\n');
    }
}

static void print_print_text(struct yaml_print_printer *p, struct str s, size_t column)
{
    struct print_look l = print_look_at(s);

    if (l.has_break && l.has_ink && !l.has_special) {
        print_literal(p, s, column);
        return;
    }
    print_inline(p->out, s, &l);
    end_line(p);
}

/* ---- nodes ---- */

/* A number no float64 can hold would read back as text, so it says what it is. */
static void print_number(struct yaml_print_printer *p, struct str number)
{
    if (yaml_resolve(number).is_extreme)
        buf_str(p->out, STR("!!float "));
    buf_str(p->out, number);
    end_line(p);
}

static void print_scalar(struct yaml_print_printer *p, const struct json *j, size_t column)
{
    struct str text = { j->text, j->n };

    switch ((enum json_type)j->type) {
    case JSON_NUMBER:
        print_number(p, text);
        return;
    case JSON_STRING:
        print_print_text(p, text, column);
        return;
    case JSON_BOOL:
        text = j->n ? STR("true") : STR("false");
        break;
    case JSON_ARRAY:
        text = STR("[]");
        break;
    case JSON_OBJECT:
        text = STR("{}");
        break;
    default:
        text = STR("null");
    }
    buf_str(p->out, text);
    end_line(p);
}

/* "key" or, for a very long one, "? key" and the ':' on a line of its own. */
static void print_key(struct yaml_print_printer *p, struct str key, size_t column)
{
    struct print_look l = print_look_at(key);
    size_t start = p->out->n;

    print_inline(p->out, key, &l);
    if (p->out->n - start > KEY_MAX) {
        autobuf printed = { 0 };

        buf_append(&printed, p->out->p + start, p->out->n - start);
        p->out->n = start;
        buf_str(p->out, STR("? "));
        buf_str(p->out, buf_view(&printed));
        buf_char(p->out, '\n');
        buf_repeat(p->out, ' ', column);
    }
    buf_char(p->out, ':');
}

static void print_member(struct yaml_print_printer *p, const struct json *m, size_t column)
{
    struct str comment = ask_comment(p, m);

    print_key(p, json_key(m), column);
    if (comment.n) /* the member's own; else the item's, if this is its first line */
        p->pending = comment;
    if (json_count(m)) {
        end_line(p);
        /* A list stands below its key, not deeper. */
        column += m->type == JSON_OBJECT ? 2 : 0;
        buf_repeat(p->out, ' ', column);
        print_node(p, m, column);
    } else {
        buf_char(p->out, ' ');
        print_scalar(p, m, column);
    }
}

static void print_item(struct yaml_print_printer *p, const struct json *item, size_t column)
{
    struct str comment = ask_comment(p, item);

    if (comment.n)
        p->pending = comment;
    buf_str(p->out, STR("- "));
    if (json_count(item))
        print_node(p, item, column + 2);
    else
        print_scalar(p, item, column);
}

/* A list or mapping with children; the first line's indentation is already there. */
static void print_node(struct yaml_print_printer *p, const struct json *j, size_t column)
{
    JSON_FOREACH(child, j) {
        if (child != j->first)
            buf_repeat(p->out, ' ', column);
        if (j->type == JSON_OBJECT)
            print_member(p, child, column);
        else
            print_item(p, child, column);
    }
}

void yaml_print(struct buf *out, const struct json *j, const struct yaml_print_options *opt)
{
    struct yaml_print_printer p = { .out = out, .opt = opt };

    if (json_count(j))
        print_node(&p, j, 0);
    else
        print_scalar(&p, j, 0);
}
