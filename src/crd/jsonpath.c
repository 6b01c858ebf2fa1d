/* jsonpath.c - the part of JSONPath that tables of custom kinds use */
#include "crd/custom.h"

#include "base/util.h"

struct jsonpath_step { /* what the next part of a path selects */
    enum { STEP_FIELD, STEP_INDEX, STEP_ALL, STEP_FILTER } what;
    struct str name, value; /* of a field; of a filter the path below @ and what it must be */
    int64_t index;
};

static bool is_quoted(struct str s)
{
    return s.n >= 2 && (s.p[0] == '\'' || s.p[0] == '"') && s.p[s.n - 1] == s.p[0];
}

static struct str jsonpath_unquoted(struct str s)
{
    return is_quoted(s) ? str_sub(s, 1, s.n - 2) : s;
}

/* ?(@.type=="Ready") */
static int read_filter(struct str inside, struct jsonpath_step *ret)
{
    struct str text = str_trim(inside);
    ptrdiff_t eq;

    if (!str_starts(text, STR("?(@")) || !str_ends(text, STR(")")))
        return -1;
    text = str_sub(text, 3, text.n - 4);
    for (eq = 0; (size_t)eq + 1 < text.n && !(text.p[eq] == '=' && text.p[eq + 1] == '='); eq++)
        ;
    if ((size_t)eq + 1 >= text.n)
        return -1;
    ret->what = STEP_FILTER;
    ret->name = str_trim(str_sub(text, 0, (size_t)eq));
    ret->value = jsonpath_unquoted(str_trim(str_from(text, (size_t)eq + 2)));
    return jsonpath_is_good(ret->name) ? 0 : -1;
}

/* What stands between the brackets. */
static int read_bracket(struct str inside, struct jsonpath_step *ret)
{
    if (str_is(inside, "*")) {
        ret->what = STEP_ALL;
        return 0;
    }
    if (is_quoted(inside)) {
        ret->what = STEP_FIELD;
        ret->name = jsonpath_unquoted(inside);
        return 0;
    }
    if (str_starts(inside, STR("?")))
        return read_filter(inside, ret);
    ret->what = STEP_INDEX;
    return str_to_i64(inside, &ret->index);
}

/* Where the bracket at the front ends: ']' in quotes does not count. 0: it does not. */
static size_t bracket_length(struct str s)
{
    char quote = 0;

    for (size_t i = 1; i < s.n; i++) {
        if (quote)
            quote = s.p[i] == quote ? 0 : quote;
        else if (s.p[i] == '\'' || s.p[i] == '"')
            quote = s.p[i];
        else if (s.p[i] == ']')
            return i + 1;
    }
    return 0;
}

/* Take the first step off '*path'. 0: there is none left; -1: it cannot be read. */
static int jsonpath_next_step(struct str *path, struct jsonpath_step *ret)
{
    size_t n = 1;

    *ret = (struct jsonpath_step){ 0 };
    if (!path->n || str_is(*path, "."))
        return 0;
    if (path->p[0] == '[') {
        n = bracket_length(*path);
        if (!n || read_bracket(str_sub(*path, 1, n - 2), ret) < 0)
            return -1;
    } else if (path->p[0] == '.') {
        while (n < path->n && path->p[n] != '.' && path->p[n] != '[')
            n += path->p[n] == '\\' && n + 1 < path->n ? 2 : 1;
        ret->what = STEP_FIELD;
        ret->name = str_sub(*path, 1, n - 1);
        if (!ret->name.n && n < path->n && path->p[n] == '[') { /* ".[0]" */
            *path = str_from(*path, n);
            return jsonpath_next_step(path, ret);
        }
        if (!ret->name.n)
            return -1;
    } else {
        return -1;
    }
    *path = str_from(*path, n);
    return 1;
}

/* "app\.kubernetes\.io/name" is one name. */
static const struct json *jsonpath_member_of(const struct json *j, struct str name)
{
    autobuf plain = { 0 };

    if (!str_has_char(name, '\\'))
        return json_get_str(j, name);
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] != '\\' || ++i < name.n)
            buf_char(&plain, name.p[i]);
    return json_get_str(j, buf_view(&plain));
}

static bool is_selected(const struct json *item, const struct jsonpath_step *s)
{
    const struct json *value = jsonpath_find(item, s->name);

    if (json_is(value, JSON_BOOL))
        return str_is(s->value, json_bool(value, false) ? "true" : "false");
    return value && value->type >= JSON_NUMBER && value->type <= JSON_STRING &&
           str_eq((struct str){ value->text, value->n }, s->value);
}

const struct json *jsonpath_find(const struct json *root, struct str path)
{
    struct jsonpath_step step;
    int rc;

    while (root && (rc = jsonpath_next_step(&path, &step)) != 0) {
        if (rc < 0)
            return NULL;
        if (step.what == STEP_FIELD) {
            root = jsonpath_member_of(root, step.name);
        } else if (step.what == STEP_INDEX) {
            int64_t n = (int64_t)json_count(root), i = step.index < 0 ? n + step.index : step.index;

            root = json_is(root, JSON_ARRAY) && i >= 0 ? json_at(root, (size_t)i) : NULL;
        } else { /* the first of them that has what follows */
            JSON_FOREACH(item, root) {
                const struct json *found = step.what == STEP_ALL || is_selected(item, &step) ? jsonpath_find(item, path)
                                                                                             : NULL;

                if (found)
                    return found;
            }
            return NULL;
        }
    }
    return root;
}

bool jsonpath_is_good(struct str path)
{
    struct jsonpath_step step;
    int rc;

    if (!path.n)
        return false;
    while ((rc = jsonpath_next_step(&path, &step)) > 0)
        ;
    return rc == 0;
}
