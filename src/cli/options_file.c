/* options_file.c - the options of a command from a file: settings by the names that --help shows
 *
 *     listen: [127.0.0.1:6443, unix:/run/pumice.sock]
 *     capacity: { cpu: 8, memory: 16Gi }        # or "cpu=8,memory=16Gi"
 *     drain: true
 */
#include "base/util.h"
#include "cli/options.h"
#include "cli/read.h"
#include "json/json.h"
#include "json/schema.h" /* suggest() */
#include "yaml/yaml.h"

struct options_file_reading {
    struct arena *arena;
    const struct command *command;
    const char *path;
    void *options;
};

/* "server.yaml: line 3: listen". */
static const char *options_file_where(struct options_file_reading *r, const struct json *j)
{
    return arena_fmt(r->arena, "%s: line %u: %.*s", r->path, j->line, STR_ARG(json_key(j))).p;
}

static void *options_file_field_of(const struct option *o, void *options)
{
    return (char *)options + o->offset;
}

static const struct option *options_file_find(const struct command *c, struct str name)
{
    for (size_t i = 0; i < c->n_options; i++)
        if (str_is(name, c->options[i].name) && !str_is(name, "config"))
            return &c->options[i];
    return NULL;
}

static int no_such(struct options_file_reading *r, const struct json *j, struct err *e)
{
    struct str name = json_key(j);
    const char *names[64], *near;
    size_t n = 0;

    for (size_t i = 0; i < r->command->n_options && n < ARRAY_LEN(names); i++)
        names[n++] = r->command->options[i].name;
    near = suggest(name, names, n);
    return err_set(e, ERR_INVALID, "%s: there is no such setting%s%s%s; it must be an option of 'pumice %s'",
                   options_file_where(r, j), near ? " (did you mean " : "", near ? near : "", near ? "?)" : "",
                   r->command->name);
}

/* A word, a number, true; of a mapping "a=b,c=d". NULL: it is something else. */
static const char *options_file_text_of(struct arena *a, const struct json *j)
{
    autobuf out = { 0 };

    if (json_is(j, JSON_STRING))
        return arena_cstr(a, json_text(j, STR_NULL));
    if (json_is(j, JSON_ARRAY) || j->type == JSON_NULL)
        return NULL;
    if (!json_is(j, JSON_OBJECT)) {
        json_print(&out, j);
        return arena_cstr(a, buf_view(&out));
    }
    JSON_FOREACH(m, j) {
        const char *value = json_is(m, JSON_OBJECT) ? NULL : options_file_text_of(a, m);

        if (!value)
            return NULL;
        buf_fmt(&out, "%s%.*s=%s", out.n ? "," : "", STR_ARG(json_key(m)), value);
    }
    return arena_cstr(a, buf_view(&out));
}

/* What would be in a file of its own. */
static const char *document(struct arena *a, const struct json *j)
{
    autobuf out = { 0 };

    json_print(&out, j);
    return arena_cstr(a, buf_view(&out));
}

static int options_file_check_value(struct options_file_reading *r, const struct option *o, const struct json *j,
                                    const char *value, struct err *e)
{
    autobuf list = { 0 };

    if (!o->values)
        return 0;
    for (const char *const *v = o->values; *v; v++) {
        if (strcmp(*v, value) == 0)
            return 0;
        buf_fmt(&list, "%s%s", list.n ? ", " : "", *v);
    }
    return err_set(e, ERR_INVALID, "%s: '%s' is not one of %s", options_file_where(r, j), value, list.p);
}

static int options_file_take_text(struct options_file_reading *r, const struct option *o, const struct json *j,
                                  struct err *e)
{
    const char **field = options_file_field_of(o, r->options);
    const char *value = o->is_document && json_is(j, JSON_OBJECT) ? document(r->arena, j)
                                                                  : options_file_text_of(r->arena, j);

    if (!value)
        return err_set(e, ERR_INVALID, "%s: must be one value (%s)", options_file_where(r, j), o->value);
    if (options_file_check_value(r, o, j, value, e) < 0)
        return -1;
    if (!*field)
        *field = value;
    return 0;
}

static int take_list(struct options_file_reading *r, const struct option *o, const struct json *j, struct err *e)
{
    struct text_list *field = options_file_field_of(o, r->options), fresh = { 0 };
    const char *value = json_is(j, JSON_ARRAY) ? NULL : options_file_text_of(r->arena, j);

    if (value)
        *vec_push(r->arena, &fresh.list) = value;
    else if (!json_is(j, JSON_ARRAY))
        return err_set(e, ERR_INVALID, "%s: must be a list (of %s)", options_file_where(r, j), o->value);
    JSON_FOREACH(item, value ? NULL : j) {
        value = options_file_text_of(r->arena, item);
        if (!value)
            return err_set(e, ERR_INVALID, "%s[%zu]: must be one value (%s)", options_file_where(r, j), fresh.list.n,
                           o->value);
        *vec_push(r->arena, &fresh.list) = value;
    }
    if (!field->list.n)
        *field = fresh;
    return 0;
}

static int take_flag(struct options_file_reading *r, const struct option *o, const struct json *j, struct err *e)
{
    bool *field = options_file_field_of(o, r->options);

    if (!json_is(j, JSON_BOOL))
        return err_set(e, ERR_INVALID, "%s: must be true or false", options_file_where(r, j));
    *field |= json_bool(j, false);
    return 0;
}

static int options_file_take(struct options_file_reading *r, const struct json *j, struct err *e)
{
    const struct option *o = options_file_find(r->command, json_key(j));

    if (!o)
        return no_such(r, j, e);
    return o->kind == OPTION_FLAG   ? take_flag(r, o, j, e)
           : o->kind == OPTION_LIST ? take_list(r, o, j, e)
                                    : options_file_take_text(r, o, j, e);
}

static int read_settings(struct arena *a, const char *path, struct json **ret, struct err *e)
{
    struct yaml_options opt = { .file = path };
    struct yaml_docs docs = { 0 };
    struct str text;

    if (read_file(a, path, &text, e) < 0)
        return err_wrap(e, "%s", path);
    if (yaml_parse(a, text, &opt, &docs, e) < 0)
        return -1;
    if (docs.n > 1 || (docs.n && !json_is(docs.v[0], JSON_OBJECT)))
        return err_set(e, ERR_INVALID, "%s: must be one mapping of settings, as \"listen: 127.0.0.1:6443\"", path);
    *ret = docs.n ? docs.v[0] : NULL;
    return 0;
}

int options_file(struct arena *a, const struct command *c, const char *path, void *options, struct err *e)
{
    struct options_file_reading r = { a, c, path, options };
    struct json *settings;

    if (read_settings(a, path, &settings, e) < 0)
        return -1;
    JSON_FOREACH(m, settings)
        if (options_file_take(&r, m, e) < 0)
            return -1;
    return 0;
}

struct str option_said(struct arena *a, const struct command *c, const char *path, const char *name,
                       const void *options)
{
    const struct option *o = options_file_find(c, str_of(name));
    const char *value = *(const char *const *)((const char *)options + o->offset);
    const struct json *m;
    struct json *settings = NULL;
    struct err e;

    if (path && value && read_settings(a, path, &settings, &e) == 0 && (m = json_get(settings, name)) != NULL) {
        const char *of_file = o->is_document && json_is(m, JSON_OBJECT) ? document(a, m) : options_file_text_of(a, m);

        if (of_file && strcmp(of_file, value) == 0)
            return arena_fmt(a, "%s: line %u: %s", path, m->line, name);
    }
    return arena_fmt(a, "--%s", name);
}

static bool same_list(const struct text_list *a, const struct text_list *b)
{
    if (a->list.n != b->list.n)
        return false;
    for (size_t i = 0; i < a->list.n; i++)
        if (strcmp(a->list.v[i], b->list.v[i]) != 0)
            return false;
    return true;
}

bool option_is_same(const struct option *o, const void *x, const void *y)
{
    const void *a = (const char *)x + o->offset, *b = (const char *)y + o->offset;
    const char *s, *t;

    if (o->kind == OPTION_FLAG)
        return *(const bool *)a == *(const bool *)b;
    if (o->kind == OPTION_LIST)
        return same_list(a, b);
    s = *(const char *const *)a;
    t = *(const char *const *)b;
    return s && t ? strcmp(s, t) == 0 : !s && !t;
}
