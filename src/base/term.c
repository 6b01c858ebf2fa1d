/* term.c - colour and tables */
#include "base/term.h"

#include "base/util.h"

#include <errno.h>

enum { SGR_MAX = 32 };

static const char *const style_codes[] = {
    [STYLE_PLAIN] = "",    [STYLE_BOLD] = "1",   [STYLE_DIM] = "2",   [STYLE_RED] = "1;31",
    [STYLE_YELLOW] = "33", [STYLE_GREEN] = "32", [STYLE_CYAN] = "36",
};

static const char *colour_when;

void term_set_colour(const char *when)
{
    colour_when = when;
}

static bool env_is(const char *name, const char *value)
{
    const char *is = getenv(name);

    return is && strcmp(is, value) == 0;
}

static bool env_has(const char *name)
{
    const char *value = getenv(name);

    return value && value[0];
}

bool term_has_colour(FILE *f)
{
    if (colour_when && strcmp(colour_when, "auto") != 0)
        return strcmp(colour_when, "always") == 0;
    if (env_has("NO_COLOR"))
        return false;
    if (env_has("CLICOLOR_FORCE") && !env_is("CLICOLOR_FORCE", "0"))
        return true;
    return isatty(fileno(f)) && !env_is("CLICOLOR", "0") && !env_is("TERM", "dumb");
}

int term_write(FILE *f, const struct buf *text)
{
    struct term_stream safe = { .colour = true, .has_no_returns = true };
    autobuf out = { 0 };

    if (!text->n || !isatty(fileno(f)))
        return term_draw(f, text);
    term_stream(&out, buf_view(text), &safe);
    term_stream_end(&out, &safe);
    return term_draw(f, &out);
}

int term_draw(FILE *f, const struct buf *text)
{
    if (text->n && fwrite(text->p, 1, text->n, f) < text->n)
        return -1;
    return fflush(f) == 0 ? 0 : -1;
}

int term_print(const struct buf *text)
{
    if (term_write(stdout, text) == 0)
        return 0;
    if (errno != EPIPE) /* the reader has seen enough */
        fprintf(stderr, "pumice: cannot write the output: %s\n", strerror(errno));
    return -1;
}

/* C0, DEL, and C1 (which begins with 0xc2 in UTF-8) can move the cursor or change colours. */
static bool is_control(struct str character)
{
    unsigned char c = (unsigned char)character.p[0];

    return c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)character.p[1] < 0xa0);
}

void term_text(struct buf *out, struct str text)
{
    for (size_t at = 0, n; at < text.n; at += n) {
        size_t good = str_utf8_front(str_from(text, at));

        n = MAX_OF(good, 1);
        if (good && !is_control(str_sub(text, at, n)))
            buf_append(out, text.p + at, n);
        else if (text.p[at] == '\n' || text.p[at] == '\t')
            buf_str(out, text.p[at] == '\n' ? STR("\\n") : STR("\\t"));
        else
            for (size_t i = 0; i < n; i++)
                buf_fmt(out, "\\x%02x", (unsigned char)text.p[at + i]);
    }
}

/* The length of an SGR sequence at the front: ESC [ digits and separators m. 0: there is none. Those with a private
 * mark (ESC [ > 4 m) change how the keyboard works, so they are not among them. */
static size_t sgr_front(struct str s)
{
    size_t n = 2;

    if (s.n < 3 || s.p[0] != '\033' || s.p[1] != '[')
        return 0;
    while (n < s.n && n < SGR_MAX && ((s.p[n] >= '0' && s.p[n] <= '9') || s.p[n] == ';' || s.p[n] == ':'))
        n++;
    return n < s.n && s.p[n] == 'm' ? n + 1 : 0;
}

static void note_sgr(struct term_colours *on, struct str sgr)
{
    struct str amounts = str_sub(sgr, 2, sgr.n - 3);
    bool is_reset = str_empty(amounts) || str_is(amounts, "0") || str_starts(amounts, STR("0;"));

    if (is_reset || on->n + sgr.n > sizeof(on->text))
        on->n = 0;
    if (str_empty(amounts) || str_is(amounts, "0"))
        return;
    memcpy(on->text + on->n, sgr.p, sgr.n);
    on->n += sgr.n;
}

/* What a terminal would show in the end of "10%\r20%\r". */
static struct str last_writing(struct str line)
{
    while (str_ends(line, STR("\r")))
        line.n--;
    return str_from(line, (size_t)(str_rfind_char(line, '\r') + 1));
}

void term_line(struct buf *out, struct str text, bool colour, struct term_colours *on)
{
    bool is_coloured = on->n;
    size_t from = 0, at = 0;

    text = last_writing(text);
    if (colour)
        buf_append(out, on->text, on->n);
    while (at < text.n) {
        size_t n = sgr_front(str_from(text, at));

        if (!n && text.p[at] != '\t') {
            at++;
            continue;
        }
        term_text(out, str_sub(text, from, at - from));
        if (!n) {
            buf_char(out, '\t');
            n = 1;
        } else if (colour) {
            buf_append(out, text.p + at, n);
            note_sgr(on, str_sub(text, at, n));
            is_coloured = true;
        }
        from = at += n;
    }
    term_text(out, str_from(text, from));
    if (colour && is_coloured)
        buf_str(out, STR("\033[0m"));
}

/* ---- piece by piece ---- */

/* May more bytes make a colour, or a character, of it? */
static bool is_begun(struct str s)
{
    unsigned char c = (unsigned char)s.p[0];
    size_t want = c >= 0xf0 && c < 0xf5 ? 4 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xc2 && c < 0xe0 ? 2 : 0, n = 1;

    if (c == '\033') {
        for (n = 2; n < s.n && ((s.p[n] >= '0' && s.p[n] <= '9') || s.p[n] == ';' || s.p[n] == ':'); n++)
            ;
        return s.n < SGR_MAX && (s.n == 1 || (s.p[1] == '[' && n == s.n));
    }
    while (n < s.n && ((unsigned char)s.p[n] & 0xc0) == 0x80)
        n++;
    return n == s.n && n < want;
}

/* What is at the front; how many bytes that was, 0: it waits. */
static size_t stream_one(struct buf *out, struct str s, struct term_stream *t, bool is_end)
{
    size_t n = 0;

    while (n < s.n && (unsigned char)s.p[n] >= 0x20 && (unsigned char)s.p[n] < 0x7f)
        n++;
    if (n || s.p[0] == '\n' || s.p[0] == '\t' || (s.p[0] == '\r' && !t->has_no_returns)) {
        buf_append(out, s.p, MAX_OF(n, 1));
        return MAX_OF(n, 1);
    }
    n = sgr_front(s);
    if (n) {
        if (t->colour) {
            buf_append(out, s.p, n);
            note_sgr(&t->on, str_sub(s, 0, n));
        }
        return n;
    }
    n = str_utf8_front(s);
    if ((n == 0 || s.p[0] == '\033') && !is_end && is_begun(s))
        return 0;
    n = MAX_OF(n, 1);
    term_text(out, str_sub(s, 0, n));
    return n;
}

static void stream_all(struct buf *out, struct str bytes, struct term_stream *t, bool is_end)
{
    autobuf joined = { 0 };
    size_t n = 1;

    if (t->n_held) {
        buf_append(&joined, t->held, t->n_held);
        buf_str(&joined, bytes);
        bytes = buf_view(&joined);
        t->n_held = 0;
    }
    for (; bytes.n && n; bytes = str_from(bytes, n))
        n = stream_one(out, bytes, t, is_end);
    if (bytes.n) { /* less than SGR_MAX: is_begun() says so */
        memcpy(t->held, bytes.p, bytes.n);
        t->n_held = bytes.n;
    }
}

void term_stream(struct buf *out, struct str bytes, struct term_stream *s)
{
    stream_all(out, bytes, s, false);
}

void term_stream_end(struct buf *out, struct term_stream *s)
{
    stream_all(out, STR_NULL, s, true);
    if (s->on.n)
        buf_str(out, STR("\033[0m"));
    s->on.n = 0;
}

void term_style(struct buf *out, bool colour, enum style style, struct str text)
{
    if (!colour || style == STYLE_PLAIN) {
        buf_str(out, text);
        return;
    }
    buf_fmt(out, "\033[%sm%.*s\033[0m", style_codes[style], STR_ARG(text));
}

void table_cell(struct table *t, struct str text)
{
    *vec_push(t->arena, &t->cells) = text;
}

/* Columns on screen, not bytes: continuation bytes of UTF-8 take no room. */
static size_t screen_width(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

void table_print(struct buf *out, const struct table *t, const char *indent)
{
    size_t widths[16] = { 0 }, columns = MIN_OF(t->columns, ARRAY_LEN(widths));

    for (size_t i = 0; i < t->cells.n; i++)
        widths[i % columns] = MAX_OF(widths[i % columns], screen_width(t->cells.v[i]));
    for (size_t i = 0; i < t->cells.n; i++) {
        bool is_last = i % columns == columns - 1;

        if (i % columns == 0)
            buf_str(out, str_of(indent));
        buf_str(out, t->cells.v[i]);
        if (!is_last)
            buf_repeat(out, ' ', widths[i % columns] - screen_width(t->cells.v[i]) + 2);
        else
            buf_char(out, '\n');
    }
}

struct str plural(struct arena *a, int64_t n, const char *noun)
{
    return arena_fmt(a, "%lld %s%s", (long long)n, noun, n == 1 ? "" : "s");
}
