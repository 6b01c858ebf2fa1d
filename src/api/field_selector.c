/* field_selector.c - field selectors: parse, match, print
 *
 * The text is split at commas first, each term at its first operator. In a value a backslash takes the meaning from a
 * comma, an equals sign or a backslash; no path needs one. Blanks mean themselves.
 */
#include "api/selector.h"

#include "base/util.h"
#include "base/vec.h"

struct field_term {
    struct str path, value;
    bool is_not;
    size_t place;
};

struct field_selector {
    struct field_term *v; /* sorted by path, then by place */
    size_t n;
};

static int cmp_term(const void *a, const void *b)
{
    const struct field_term *x = a, *y = b;
    int c = str_cmp(x->path, y->path);

    return c ? c : (x->place > y->place) - (x->place < y->place);
}

/* Bytes up to the first comma that has no backslash before it. */
static size_t term_length(struct str s)
{
    size_t i = 0;

    while (i < s.n && s.p[i] != ',')
        i += s.p[i] == '\\' ? 2 : 1;
    return MIN_OF(i, s.n);
}

static int field_selector_unescape(struct arena *a, struct str s, size_t column, struct str *ret, struct err *e)
{
    char *p = arena_alloc(a, s.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '=')
            return err_set(e, ERR_SYNTAX, "column %zu: '=' in a value needs a backslash before it", column + i);
        if (s.p[i] == '\\' && (++i == s.n || !memchr("\\,=", s.p[i], 3)))
            return err_set(e, ERR_SYNTAX, "column %zu: after a backslash may stand only '\\', ',' or '='", column + i);
        p[n++] = s.p[i];
    }
    *ret = (struct str){ p, n };
    return 0;
}

static int check_path(struct str path, const char *const *allowed, struct err *e)
{
    autobuf shown = { 0 };

    if (!allowed)
        return 0;
    for (; *allowed; allowed++)
        if (str_is(path, *allowed))
            return 0;
    buf_quote(&shown, path, 60);
    return err_set(e, ERR_INVALID, "field label not supported: %s", shown.p);
}

static size_t find_field_op(struct str s, struct str *ret_op)
{
    static const struct str texts[] = { STR_INIT("!="), STR_INIT("=="), STR_INIT("=") };

    for (size_t i = 0; i < s.n; i++)
        for (size_t k = 0; k < ARRAY_LEN(texts); k++)
            if (str_starts(str_from(s, i), texts[k])) {
                *ret_op = texts[k];
                return i;
            }
    return s.n;
}

static int read_term(struct arena *a, struct str s, size_t column, struct field_term *t, struct err *e)
{
    struct str op = STR("");
    size_t at = find_field_op(s, &op);
    autobuf shown = { 0 };

    t->path = str_sub(s, 0, at);
    t->is_not = str_is(op, "!=");
    if (op.n == 0 || at == 0) {
        buf_quote(&shown, s, 60);
        return err_set(e, ERR_SYNTAX, "column %zu: expected field=value, field==value or field!=value (got %s)", column,
                       shown.p);
    }
    return field_selector_unescape(a, str_from(s, at + op.n), column + at + op.n, &t->value, e);
}

int field_selector_parse(struct arena *a, struct str text, const char *const *allowed, struct field_selector **ret,
                         struct err *e)
{
    VEC(struct field_term) terms = { 0 };
    struct field_selector *made = arena_new(a, struct field_selector);

    text = arena_str(a, text);
    for (size_t at = 0; at < text.n; at++) { /* over the comma */
        struct str rest = str_from(text, at), term = str_sub(rest, 0, term_length(rest));
        struct field_term t = { .place = terms.n };

        if (term.n && (read_term(a, term, at + 1, &t, e) < 0 || check_path(t.path, allowed, e) < 0))
            return -1; /* nothing between commas is fine */
        if (term.n)
            *vec_push(a, &terms) = t;
        at += term.n;
    }
    if (terms.n)
        qsort(terms.v, terms.n, sizeof(terms.v[0]), cmp_term);
    *made = (struct field_selector){ terms.v, terms.n };
    *ret = made;
    return 0;
}

static struct str field_text(const struct json *object, struct str path)
{
    const struct json *at = object;
    bool is_flag = str_is(path, "spec.unschedulable") || str_is(path, "spec.hostNetwork");
    struct str part, unset = is_flag ? STR("false") : STR("");
    bool is_source = str_is(path, "source");

    while (str_split(&path, '.', &part))
        at = json_get_str(at, part);
    if (is_source) { /* of an event: its component, or where there is none what reports it */
        at = json_get(at, "component");
        return json_text(at, STR_NULL).n ? json_text(at, STR_NULL) : json_member_text(object, "reportingComponent");
    }
    if (json_is(at, JSON_BOOL))
        return json_bool(at, false) ? STR("true") : STR("false");
    if (json_is(at, JSON_NUMBER))
        return (struct str){ at->text, at->n };
    return json_text(at, unset);
}

bool field_selector_matches(const struct field_selector *s, const struct json *object)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(field_text(object, s->v[i].path), s->v[i].value) == s->v[i].is_not)
            return false;
    return true;
}

struct str field_selector_value(const struct field_selector *s, const char *path)
{
    for (size_t i = 0; i < s->n; i++)
        if (!s->v[i].is_not && str_is(s->v[i].path, path))
            return s->v[i].value;
    return STR_NULL;
}

void field_selector_print(struct buf *out, const struct field_selector *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct field_term *t = &s->v[i];

        if (i)
            buf_char(out, ',');
        buf_str(out, t->path);
        buf_str(out, t->is_not ? STR("!=") : STR("="));
        for (size_t k = 0; k < t->value.n; k++) {
            if (memchr("\\,=", t->value.p[k], 3))
                buf_char(out, '\\');
            buf_char(out, t->value.p[k]);
        }
    }
}
