/* syntax.c - input that cannot be read, and why: the checks before libyaml sees it, and its complaints in our words */
#include "yaml/yaml_internal.h"

#include "base/util.h"

#include <yaml.h>

enum {
    MAX_TAG_LINES = 100, /* libyaml compares each %TAG with all before it, and each tag with all of them */
};

static int fail_at_offset(struct yaml_reader *r, enum err_code code, size_t offset, const char *sentence)
{
    size_t line = 1, col = 1;

    for (size_t i = 0; i < offset && i < r->text.n; i++) {
        if (r->text.p[i] == '\n')
            line++, col = 1;
        else if (((unsigned char)r->text.p[i] & 0xc0) != 0x80)
            col++;
    }
    return yaml_fail(r, code, (struct yaml_place){ line, col }, "%s", sentence);
}

/* The byte at a mark; libyaml counts characters and lines, not bytes. */
static char char_at(struct str text, const yaml_mark_t *mark)
{
    size_t at = 0;

    for (size_t i = 0; i < mark->index && at < text.n; i++) {
        uint32_t code;
        size_t n = yaml_char(str_from(text, at), &code);

        at += n ? n : 1;
    }
    return at < text.n ? text.p[at] : '\0';
}

/* What libyaml says, where that does not help, and what we say instead or in addition. */
static const struct {
    const char *problem;
    char found; /* the character there; 0: any */
    const char *ours;
} hints[] = {
    { "found character that cannot start any token", '\t', "found a tab where indentation is expected; use blanks" },
    { "found character that cannot start any token", '@', "'@' cannot begin a word; quote the text" },
    { "found character that cannot start any token", '`', "'`' cannot begin a word; quote the text" },
    { "found character that cannot start any token", '%', "'%' cannot begin a word; quote the text" },
    { "mapping values are not allowed in this context", 0,
      "found ':' where no key can be; check the indentation, or quote text that contains ': '" },
    { "did not find expected key", '/', "'//' does not start a comment in YAML; use '#'" },
    { "did not find expected key", 0, "did not find expected key; check the indentation" },
    { "did not find expected alphabetic or numeric character", 0,
      "expected a name after '*' or '&'; quote text that begins with it" },
};

int yaml_fail_syntax(struct yaml_reader *r, const yaml_parser_t *p)
{
    const char *problem = p->problem ? p->problem : "cannot be read";
    char found;

    if (p->error == YAML_MEMORY_ERROR)
        return yaml_fail(r, ERR_TOO_BIG, (struct yaml_place){ 0 }, "not enough memory");
    if (p->error == YAML_READER_ERROR)
        return fail_at_offset(r, ERR_SYNTAX, p->problem_offset, problem);
    if (p->context && strcmp(problem, "could not find expected ':'") == 0) /* noticed in the next line */
        return yaml_fail(r, ERR_SYNTAX, (struct yaml_place){ p->context_mark.line + 1, p->context_mark.column + 1 },
                         "expected 'key: value' or a comment (#)");
    found = char_at(r->text, &p->problem_mark);
    for (size_t i = 0; i < ARRAY_LEN(hints); i++) {
        if (strcmp(problem, hints[i].problem) == 0 && (!hints[i].found || hints[i].found == found)) {
            problem = hints[i].ours;
            break;
        }
    }
    if (p->context && p->context_mark.line != p->problem_mark.line)
        return yaml_fail(r, ERR_SYNTAX, (struct yaml_place){ p->problem_mark.line + 1, p->problem_mark.column + 1 },
                         "%s (%s that begins in line %zu)", problem, p->context, p->context_mark.line + 1);
    return yaml_fail(r, ERR_SYNTAX, (struct yaml_place){ p->problem_mark.line + 1, p->problem_mark.column + 1 }, "%s",
                     problem);
}

/* ---- before reading ---- */

static int check_size(struct yaml_reader *r, size_t max_bytes)
{
    if (r->text.n <= max_bytes)
        return 0;
    if (max_bytes % (1 << 20) == 0)
        return yaml_fail(r, ERR_TOO_BIG, (struct yaml_place){ 0 }, "file is larger than %zu MiB", max_bytes >> 20);
    return yaml_fail(r, ERR_TOO_BIG, (struct yaml_place){ 0 }, "file is larger than %zu bytes", max_bytes);
}

static int check_encoding(struct yaml_reader *r)
{
    uint32_t code;
    size_t at = 0, n;

    if (str_starts(r->text, STR("\xff\xfe")) || str_starts(r->text, STR("\xfe\xff")))
        return yaml_fail(r, ERR_SYNTAX, (struct yaml_place){ 0 }, "file is UTF-16; save it as UTF-8");
    if (str_starts(r->text, STR("\xef\xbb\xbf")))
        r->text = str_from(r->text, 3);
    if (str_is_utf8(r->text))
        return 0;
    while ((n = yaml_char(str_from(r->text, at), &code)))
        at += n;
    return fail_at_offset(r, ERR_SYNTAX, at, "not UTF-8 text");
}

static int check_tag_lines(struct yaml_reader *r)
{
    size_t lines = 0;
    const char *end = r->text.p + r->text.n;

    for (const char *p = r->text.p; p && p < end; p = memchr(p, '\n', (size_t)(end - p)), p = p ? p + 1 : NULL)
        lines += (size_t)(end - p) >= 4 && memcmp(p, "%TAG", 4) == 0;
    if (lines > MAX_TAG_LINES)
        return yaml_fail(r, ERR_TOO_BIG, (struct yaml_place){ 0 }, "more than %d %%TAG lines", MAX_TAG_LINES);
    return 0;
}

int yaml_check_input(struct yaml_reader *r, size_t max_bytes)
{
    if (check_size(r, max_bytes) < 0 || check_encoding(r) < 0)
        return -1;
    return check_tag_lines(r);
}
