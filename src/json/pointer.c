/* pointer.c - naming a node inside a document: RFC 6901 pointers and the paths people write */
#include "json/json.h"

#include "json/json_internal.h"

#include <assert.h>

/* Long names from outside are cut in messages. */
#define SHOWN(s) (int)((s).n < 120 ? (s).n : 120), ((s).p ? (s).p : "")

/* ---- pointers ---- */

int pointer_check(struct str pointer, struct err *e)
{
    if (pointer.n && pointer.p[0] != '/')
        return err_set(e, ERR_SYNTAX, "\"%.*s\": a pointer must be empty or begin with '/'", SHOWN(pointer));
    for (size_t i = 0; i < pointer.n; i++)
        if (pointer.p[i] == '~' && (i + 1 == pointer.n || (pointer.p[i + 1] != '0' && pointer.p[i + 1] != '1')))
            return err_set(e, ERR_SYNTAX, "\"%.*s\": in a pointer '~' is written ~0 and '/' is written ~1",
                           SHOWN(pointer));
    return 0;
}

bool pointer_next(struct str *rest, struct str *ret_token)
{
    struct str tail = str_from(*rest, 1); /* without the '/' */
    ptrdiff_t slash = str_find_char(tail, '/');

    if (rest->n == 0)
        return false;
    *ret_token = slash < 0 ? tail : str_sub(tail, 0, (size_t)slash);
    *rest = slash < 0 ? STR_NULL : str_from(tail, (size_t)slash);
    return true;
}

int pointer_index(struct str token, size_t *ret)
{
    uint64_t v;

    if (str_to_u64(token, &v) < 0 || (token.n > 1 && token.p[0] == '0'))
        return -1;
    *ret = (size_t)v;
    return 0;
}

static struct str json_pointer_unescape(char *out, struct str token)
{
    size_t n = 0;

    for (size_t i = 0; i < token.n; i++) {
        bool is_escape = token.p[i] == '~' && i + 1 < token.n;

        out[n++] = !is_escape ? token.p[i] : token.p[++i] == '1' ? '/' : '~';
    }
    return (struct str){ out, n };
}

struct str pointer_unescape(struct arena *a, struct str token)
{
    return str_has_char(token, '~') ? json_pointer_unescape(arena_alloc(a, token.n), token) : token;
}

/* Does the token, once unescaped, say 'key'? Without memory of its own. */
static bool token_is(struct str token, struct str key)
{
    size_t k = 0;

    for (size_t i = 0; i < token.n; i++, k++) {
        char c = token.p[i];

        if (c == '~' && i + 1 < token.n)
            c = token.p[++i] == '1' ? '/' : '~';
        if (k == key.n || key.p[k] != c)
            return false;
    }
    return k == key.n;
}

static struct json *pointer_member_of(const struct json *j, struct str token)
{
    struct json *found = NULL;

    if (!str_has_char(token, '~'))
        return json_get_str(j, token);
    JSON_FOREACH(m, j)
        if (token_is(token, json_key(m)))
            found = m;
    return found;
}

struct json *pointer_child(const struct json *j, struct str token)
{
    size_t index;

    if (json_is(j, JSON_OBJECT))
        return pointer_member_of(j, token);
    if (!json_is(j, JSON_ARRAY) || pointer_index(token, &index) < 0)
        return NULL;
    return json_at(j, index);
}

struct json *json_pointer(struct json *root, struct str pointer, struct err *e)
{
    struct str rest = pointer, token;
    struct json *at = root;

    if (pointer_check(pointer, e) < 0)
        return NULL;
    while (at && pointer_next(&rest, &token))
        at = pointer_child(at, token);
    if (!at)
        err_set(e, ERR_NOT_FOUND, "\"%.*s\": the value does not exist", SHOWN(pointer));
    return at;
}

/* ---- paths ---- */

struct path_step {
    struct str name;
    bool in_brackets;
};

/* Take one step out of '*rest': "name", ".name" or "[name]". 'path' is for the message. */
static int path_next(struct str path, struct str *rest, struct path_step *ret, struct err *e)
{
    bool is_first = rest->p == path.p;
    size_t n = 0;

    if (rest->p[0] == '[') {
        ptrdiff_t close = str_find_char(*rest, ']');

        if (close < 0)
            return err_set(e, ERR_SYNTAX, "%.*s: '[' without ']'", SHOWN(path));
        *ret = (struct path_step){ str_sub(*rest, 1, (size_t)close - 1), true };
        *rest = str_from(*rest, (size_t)close + 1);
        return 0;
    }
    if (!is_first && rest->p[0] != '.')
        return err_set(e, ERR_SYNTAX, "%.*s: expected '.' or '[' after ']'", SHOWN(path));
    *rest = str_from(*rest, !is_first);
    while (n < rest->n && rest->p[n] != '.' && rest->p[n] != '[')
        n++;
    if (n == 0)
        return err_set(e, ERR_SYNTAX, "%.*s: a name is missing", SHOWN(path));
    *ret = (struct path_step){ str_sub(*rest, 0, n), false };
    *rest = str_from(*rest, n);
    return 0;
}

static struct json *path_child(struct json *at, struct path_step step, struct str path, struct err *e)
{
    struct json *child = NULL;
    size_t index;

    if (json_is(at, JSON_OBJECT)) {
        child = json_get_str(at, step.name);
    } else if (json_is(at, JSON_ARRAY) && step.in_brackets) {
        if (pointer_index(step.name, &index) < 0) {
            err_set(e, ERR_SYNTAX, "%.*s: [%.*s] is not a list index", SHOWN(path), SHOWN(step.name));
            return NULL;
        }
        child = json_at(at, index);
        if (!child)
            err_set(e, ERR_NOT_FOUND, "%.*s: item %zu does not exist; the list has %zu", SHOWN(path), index,
                    json_count(at));
        return child;
    }
    if (!child)
        err_set(e, ERR_NOT_FOUND, "%.*s: \"%.*s\" does not exist in the %s", SHOWN(path), SHOWN(step.name),
                json_type_name((enum json_type)at->type));
    return child;
}

struct json *json_path(struct json *root, struct str path, struct err *e)
{
    struct str rest = path;
    struct json *at = root;
    struct path_step step;

    assert(root);
    while (rest.n) /* a bad path is bad whatever the document holds */
        if (path_next(path, &rest, &step, e) < 0)
            return NULL;
    rest = path;
    while (at && rest.n) {
        if (path_next(path, &rest, &step, e) < 0)
            return NULL;
        at = path_child(at, step, path, e);
    }
    return at;
}
