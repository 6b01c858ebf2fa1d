/* selector.c - label selectors: parse, match, print */
#include "api/selector.h"

#include "api/name.h"
#include "api/requirement.h"
#include "base/util.h"
#include "base/vec.h"

#include <assert.h>

/* How many values an operator takes, how it is printed, and what it is called in the object form. */
static const struct op_info {
    enum { NO_VALUE, ONE_VALUE, MANY_VALUES } takes;
    bool is_list; /* in the query form the values stand in parentheses */
    const char *symbol, *json_name;
} ops[OP_MAX] = {
    [OP_EQUAL] = { ONE_VALUE, false, "=", NULL },
    [OP_NOT_EQUAL] = { ONE_VALUE, false, "!=", NULL },
    [OP_IN] = { MANY_VALUES, true, " in ", "In" },
    [OP_NOT_IN] = { MANY_VALUES, true, " notin ", "NotIn" },
    [OP_EXISTS] = { NO_VALUE, false, "", "Exists" },
    [OP_ABSENT] = { NO_VALUE, false, "!", "DoesNotExist" }, /* stands before the key */
    [OP_GREATER] = { ONE_VALUE, false, ">", NULL },
    [OP_LESS] = { ONE_VALUE, false, "<", NULL },
};

struct selector {
    struct requirement *v; /* sorted by key, then by place */
    size_t n;
};

/* Vectors with a name, see vec.h. */
struct requirement_list {
    struct requirement *v;
    size_t n, cap;
};
struct strs {
    struct str *v;
    size_t n, cap;
};

static int cmp_requirement(const void *a, const void *b)
{
    const struct requirement *x = a, *y = b;
    int c = str_cmp(x->key, y->key);

    return c ? c : (x->place > y->place) - (x->place < y->place);
}

static struct selector *selector_of(struct arena *a, struct requirement_list *r)
{
    struct selector *s = arena_new(a, struct selector);

    for (size_t i = 0; i < r->n; i++)
        r->v[i].place = i;
    if (r->n)
        qsort(r->v, r->n, sizeof(r->v[0]), cmp_requirement);
    *s = (struct selector){ r->v, r->n };
    return s;
}

/* ---- the query form ---- */

struct scan {
    struct arena *a;
    struct str text;
    size_t at;
    struct err *e;
};

enum token { T_END, T_WORD, T_COMMA, T_OPEN, T_CLOSE, T_NOT, T_EQUAL, T_NOT_EQUAL, T_GREATER, T_LESS };

struct lexeme {
    enum token token;
    size_t at;
    struct str text;
};

static const struct {
    struct str text;
    enum token token;
} symbols[] = {
    /* the longer before its beginning */
    { STR_INIT("!="), T_NOT_EQUAL }, { STR_INIT("=="), T_EQUAL },  { STR_INIT("="), T_EQUAL },
    { STR_INIT("!"), T_NOT },        { STR_INIT(","), T_COMMA },   { STR_INIT("("), T_OPEN },
    { STR_INIT(")"), T_CLOSE },      { STR_INIT(">"), T_GREATER }, { STR_INIT("<"), T_LESS },
};

static struct lexeme selector_peek(struct scan *s)
{
    static const char blanks[] = " \t\r\n", ends_word[] = " \t\r\n!=,()<>";
    struct lexeme l = { T_END };
    struct str rest;

    while (s->at < s->text.n && memchr(blanks, s->text.p[s->at], strlen(blanks)))
        s->at++;
    rest = str_from(s->text, s->at);
    l.at = s->at;
    if (rest.n == 0)
        return l;
    for (size_t i = 0; i < ARRAY_LEN(symbols); i++)
        if (str_starts(rest, symbols[i].text)) {
            l.token = symbols[i].token;
            l.text = symbols[i].text;
            return l;
        }
    l.token = T_WORD;
    while (l.text.n < rest.n && !memchr(ends_word, rest.p[l.text.n], strlen(ends_word)))
        l.text.n++;
    l.text.p = rest.p;
    return l;
}

static struct lexeme next(struct scan *s)
{
    struct lexeme l = selector_peek(s);

    s->at = l.at + l.text.n;
    return l;
}

static int expected(struct scan *s, struct lexeme got, const char *what)
{
    autobuf shown = { 0 };

    if (got.token == T_END)
        return err_set(s->e, ERR_SYNTAX, "column %zu: expected %s, but the selector ends here", got.at + 1, what);
    buf_quote(&shown, got.text, 60);
    return err_set(s->e, ERR_SYNTAX, "column %zu: expected %s (got %s)", got.at + 1, what, shown.p);
}

static int add_value(struct scan *s, struct strs *values, struct lexeme l)
{
    struct str value = l.token == T_WORD ? l.text : STR("");
    const char *why = name_check_label_value(s->a, value);

    if (why)
        return err_set(s->e, ERR_SYNTAX, "column %zu: %s", l.at + 1, why);
    *vec_push(s->a, values) = value;
    return 0;
}

/* "(a,b)". A missing value is the empty one: "()", "(,a)" and "(a,)" all hold it. */
static int scan_list(struct scan *s, struct strs *values)
{
    struct lexeme l = next(s);

    if (l.token != T_OPEN)
        return expected(s, l, "'('");
    do {
        l = selector_peek(s);
        if (add_value(s, values, l) < 0)
            return -1;
        if (l.token == T_WORD)
            (void)next(s); /* looked at already */
        l = next(s);
    } while (l.token == T_COMMA);
    return l.token == T_CLOSE ? 0 : expected(s, l, "',' or ')'");
}

static int scan_value(struct scan *s, struct strs *values)
{
    struct lexeme l = selector_peek(s);

    if (l.token != T_WORD && l.token != T_COMMA && l.token != T_END)
        return expected(s, l, "a value");
    if (l.token == T_WORD)
        (void)next(s); /* looked at already */
    return add_value(s, values, l);
}

static int scan_op(struct scan *s, enum requirement_op *ret)
{
    struct lexeme l = selector_peek(s);

    *ret = OP_EXISTS;
    if (l.token == T_END || l.token == T_COMMA)
        return 0; /* the comma is the caller's */
    (void)next(s);
    if (l.token == T_WORD && (str_is(l.text, "in") || str_is(l.text, "notin")))
        *ret = str_is(l.text, "in") ? OP_IN : OP_NOT_IN;
    else if (l.token == T_EQUAL || l.token == T_NOT_EQUAL)
        *ret = l.token == T_EQUAL ? OP_EQUAL : OP_NOT_EQUAL;
    else if (l.token == T_GREATER || l.token == T_LESS)
        *ret = l.token == T_GREATER ? OP_GREATER : OP_LESS;
    else
        return expected(s, l, "one of '=' '==' '!=' '>' '<' in notin, ',' or the end");
    return 0;
}

static int scan_requirement(struct scan *s, struct requirement *r)
{
    struct lexeme l = next(s);
    bool is_absent = l.token == T_NOT;
    struct strs values = { 0 };
    const char *why;
    size_t value_at;

    if (is_absent)
        l = next(s);
    if (l.token != T_WORD)
        return expected(s, l, is_absent ? "a label key" : "a label key or '!'");
    why = name_check_qualified(s->a, l.text);
    if (why)
        return err_set(s->e, ERR_SYNTAX, "column %zu: label key: %s", l.at + 1, why);
    r->key = l.text;
    r->op = OP_ABSENT;
    if (!is_absent && scan_op(s, &r->op) < 0)
        return -1;
    value_at = selector_peek(s).at;
    if (ops[r->op].is_list && scan_list(s, &values) < 0)
        return -1;
    if (ops[r->op].takes == ONE_VALUE && scan_value(s, &values) < 0)
        return -1;
    requirement_set_values(r, values.v, values.n);
    if ((r->op == OP_GREATER || r->op == OP_LESS) && str_to_i64(r->values[0], &r->number) < 0)
        return err_set(s->e, ERR_SYNTAX, "column %zu: after '%s' must stand a whole number", value_at + 1,
                       ops[r->op].symbol);
    return 0;
}

int selector_parse(struct arena *a, struct str text, struct selector **ret, struct err *e)
{
    struct scan s = { a, arena_str(a, text), 0, e };
    struct requirement_list all = { 0 };
    struct lexeme l = selector_peek(&s);

    while (l.token != T_END) {
        if (scan_requirement(&s, vec_push(a, &all)) < 0)
            return -1;
        l = next(&s);
        if (l.token == T_COMMA && selector_peek(&s).token == T_END)
            return expected(&s, selector_peek(&s), "a label key or '!' after ','");
        if (l.token != T_COMMA && l.token != T_END)
            return expected(&s, l, "',' or the end");
    }
    *ret = selector_of(a, &all);
    return 0;
}

/* ---- the object form ---- */

struct selector_reading {
    struct arena *a;
    const char *at; /* in front of the field in messages: "" or "matchExpressions[0]." */
    struct err *e;
};

static int bad_type(struct selector_reading *rd, const struct json *got, const char *field, const char *want)
{
    return err_set(rd->e, ERR_INVALID, "%s%s: must be %s, not %s", rd->at, field, want,
                   got ? json_type_name((enum json_type)got->type) : "missing");
}

static int bad_value(struct selector_reading *rd, const char *field, const char *why)
{
    return err_set(rd->e, ERR_INVALID, "%s%s: %s", rd->at, field, why);
}

static bool is_given(const struct json *j)
{
    return j && j->type != JSON_NULL;
}

/* A label value, copied and appended to 'values'. */
static int read_value(struct selector_reading *rd, const struct json *j, const char *field, struct strs *values)
{
    struct str value = arena_str(rd->a, json_text(j, STR("")));
    const char *why = name_check_label_value(rd->a, value);

    if (!json_is(j, JSON_STRING))
        return bad_type(rd, j, field, "a string");
    if (why)
        return bad_value(rd, field, why);
    *vec_push(rd->a, values) = value;
    return 0;
}

static int read_labels(struct selector_reading *rd, const struct json *labels, struct requirement_list *all)
{
    if (is_given(labels) && labels->type != JSON_OBJECT)
        return bad_type(rd, labels, "matchLabels", "an object");
    JSON_FOREACH(label, labels) {
        struct requirement *r = vec_push(rd->a, all);
        struct strs values = { 0 };
        const char *why;

        r->key = arena_str(rd->a, json_key(label));
        r->op = OP_EQUAL;
        why = name_check_qualified(rd->a, r->key);
        if (why)
            return bad_value(rd, "matchLabels", arena_fmt(rd->a, "label key: %s", why).p);
        if (read_value(rd, label, arena_fmt(rd->a, "matchLabels[%.*s]", STR_ARG(r->key)).p, &values) < 0)
            return -1;
        requirement_set_values(r, values.v, values.n);
    }
    return 0;
}

static int read_key(struct selector_reading *rd, const struct json *j, struct str *ret)
{
    const char *why;

    if (!json_is(j, JSON_STRING))
        return bad_type(rd, j, "key", "a label key");
    *ret = arena_str(rd->a, json_text(j, STR("")));
    why = name_check_qualified(rd->a, *ret);
    return why ? bad_value(rd, "key", why) : 0;
}

static int read_operator(struct selector_reading *rd, const struct json *j, enum requirement_op *ret)
{
    static const char *const names = "one of In, NotIn, Exists, DoesNotExist";
    struct str name = json_text(j, STR(""));
    autobuf shown = { 0 };

    if (!json_is(j, JSON_STRING))
        return bad_type(rd, j, "operator", names);
    for (size_t i = 0; i < OP_MAX; i++)
        if (ops[i].json_name && str_is(name, ops[i].json_name)) {
            *ret = (enum requirement_op)i;
            return 0;
        }
    buf_quote(&shown, name, 60);
    return bad_value(rd, "operator", arena_fmt(rd->a, "must be %s (got %s)", names, shown.p).p);
}

static int read_values(struct selector_reading *rd, const struct json *list, struct requirement *r)
{
    const char *name = ops[r->op].json_name;
    struct strs values = { 0 };

    if (is_given(list) && list->type != JSON_ARRAY)
        return bad_type(rd, list, "values", "a list");
    if (ops[r->op].takes == NO_VALUE && json_count(list))
        return bad_value(rd, "values", arena_fmt(rd->a, "must be empty for operator %s", name).p);
    if (ops[r->op].takes != NO_VALUE && !json_count(list))
        return bad_value(rd, "values", arena_fmt(rd->a, "must not be empty for operator %s", name).p);
    JSON_FOREACH(item, list)
        if (read_value(rd, item, arena_fmt(rd->a, "values[%zu]", values.n).p, &values) < 0)
            return -1;
    requirement_set_values(r, values.v, values.n);
    return 0;
}

static int read_expressions(struct selector_reading *rd, const struct json *list, struct requirement_list *all)
{
    size_t i = 0;

    if (is_given(list) && list->type != JSON_ARRAY)
        return bad_type(rd, list, "matchExpressions", "a list");
    JSON_FOREACH(item, list) {
        struct str at = arena_fmt(rd->a, "matchExpressions[%zu]", i++);
        struct selector_reading inside = { rd->a, arena_cat(rd->a, at, STR(".")).p, rd->e };
        struct requirement *r = vec_push(rd->a, all);

        if (!json_is(item, JSON_OBJECT))
            return bad_type(rd, item, at.p, "an object");
        if (read_key(&inside, json_get(item, "key"), &r->key) < 0 ||
            read_operator(&inside, json_get(item, "operator"), &r->op) < 0 ||
            read_values(&inside, json_get(item, "values"), r) < 0)
            return -1;
    }
    return 0;
}

int selector_from_json(struct arena *a, const struct json *j, struct selector **ret, struct err *e)
{
    struct selector_reading rd = { a, "", e };
    struct requirement_list all = { 0 };

    if (is_given(j) && j->type != JSON_OBJECT)
        return bad_type(&rd, j, "selector", "an object");
    if (read_labels(&rd, json_get(j, "matchLabels"), &all) < 0)
        return -1;
    if (read_expressions(&rd, json_get(j, "matchExpressions"), &all) < 0)
        return -1;
    *ret = selector_of(a, &all);
    return 0;
}

/* ---- matching and printing ---- */

bool selector_matches(const struct selector *s, const struct json *labels)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct json *label = json_get_str(labels, s->v[i].key);

        if (!requirement_holds(&s->v[i], json_is(label, JSON_STRING), json_text(label, STR(""))))
            return false;
    }
    return true;
}

static void print_requirement(struct buf *out, const struct requirement *r)
{
    const struct op_info *op = &ops[r->op];

    buf_str(out, str_of(r->op == OP_ABSENT ? op->symbol : ""));
    buf_str(out, r->key);
    buf_str(out, str_of(r->op == OP_ABSENT ? "" : op->symbol));
    if (op->is_list)
        buf_char(out, '(');
    for (size_t i = 0; i < r->n; i++) {
        if (i)
            buf_char(out, ',');
        buf_str(out, r->values[i]);
    }
    if (op->is_list)
        buf_char(out, ')');
}

void selector_print(struct buf *out, const struct selector *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (i)
            buf_char(out, ',');
        print_requirement(out, &s->v[i]);
    }
}
