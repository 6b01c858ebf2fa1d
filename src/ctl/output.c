/* output.c - objects as -o asks for them */
#include "ctl/output.h"

#include "api/meta.h"
#include "base/util.h"
#include "base/term.h"
#include "yaml/yaml.h"

#define CUSTOM "custom-columns="

bool output_is_wide(const struct ctl_verb *v)
{
    return v->o->output && strcmp(v->o->output, "wide") == 0;
}

bool output_is_table(const struct ctl_verb *v)
{
    return !v->o->output || output_is_wide(v);
}

/* ---- tables ---- */

void output_table(struct ctl_verb *v, struct table *t)
{
    size_t columns = MIN_OF(t->columns, ARRAY_LEN(v->widths));

    for (size_t i = 0; i < t->cells.n; i++)
        v->widths[i % columns] = MAX_OF(v->widths[i % columns], t->cells.v[i].n);
    for (size_t i = 0; v->o->watch && i + 1 < columns && i < t->cells.n; i++) /* the widest of the column so far */
        t->cells.v[i] = arena_fmt(t->arena, "%-*.*s", (int)v->widths[i], STR_ARG(t->cells.v[i]));
    table_print(&v->out, t, "");
}

/* What others wrote, made harmless for a terminal. */
static void put_cell(struct table *t, struct str text)
{
    autobuf clean = { 0 };

    term_text(&clean, text);
    table_cell(t, clean.n ? arena_str(t->arena, buf_view(&clean)) : STR("-"));
}

static void put_row(struct ctl_verb *v, struct table *t, const struct output_column *columns, const struct json *object,
                    const void *ctx)
{
    for (const struct output_column *c = columns; c->head; c++) {
        struct str text;

        if (c->is_wide && !output_is_wide(v))
            continue;
        text = object ? c->cell(v, object, ctx) : str_of(c->head);
        put_cell(t, text);
    }
}

static void output_print_table(struct ctl_verb *v, const struct ctl_objects *list, const struct output_columns *columns)
{
    struct table t = { .arena = v->arena };

    for (const struct output_column *c = columns->v; c->head; c++)
        t.columns += !c->is_wide || output_is_wide(v);
    if (!v->o->no_headers)
        put_row(v, &t, columns->v, NULL, columns->ctx);
    VEC_FOREACH(object, &list->v)
        put_row(v, &t, columns->v, *object, columns->ctx);
    output_table(v, &t);
}

/* ---- paths ---- */

struct found {
    struct arena *arena;
    struct buf text;
    bool is_any;
};

static void output_find(struct found *f, const struct json *j, struct str path);

static void output_show(struct found *f, const struct json *j)
{
    if (f->is_any)
        buf_char(&f->text, ',');
    f->is_any = true;
    if (json_is(j, JSON_STRING))
        buf_str(&f->text, json_text(j, STR_NULL));
    else
        json_print(&f->text, j);
}

/* "[0]", "[*]", "['app.kubernetes.io/name']" */
static void find_index(struct found *f, const struct json *j, struct str inside, struct str rest)
{
    uint64_t at;

    if (inside.n >= 2 && (inside.p[0] == '\'' || inside.p[0] == '"'))
        output_find(f, json_get_str(j, str_sub(inside, 1, inside.n - 2)), rest);
    else if (str_is(inside, "*"))
        JSON_FOREACH(item, j)
            output_find(f, item, rest);
    else if (str_to_u64(inside, &at) == 0)
        output_find(f, json_at(j, at), rest);
}

static void output_find(struct found *f, const struct json *j, struct str path)
{
    size_t n = 0;

    if (!j)
        return;
    if (!path.n) {
        output_show(f, j);
        return;
    }
    if (path.p[0] == '[') {
        ptrdiff_t end = str_find_char(path, ']');

        find_index(f, j, str_sub(path, 1, (size_t)end - 1), str_from(path, (size_t)end + 1));
        return;
    }
    path = str_from(path, path.p[0] == '.');
    while (n < path.n && path.p[n] != '.' && path.p[n] != '[')
        n += path.p[n] == '\\' && n + 1 < path.n ? 2 : 1;
    if (memchr(path.p, '\\', n)) { /* "a\.b": a dot that is part of the key */
        autobuf key = { 0 };

        for (size_t i = 0; i < n; i++)
            if (path.p[i] != '\\')
                buf_char(&key, path.p[i]);
        output_find(f, json_get_str(j, buf_view(&key)), str_from(path, n));
    } else {
        output_find(f, n ? json_get_str(j, str_sub(path, 0, n)) : j, str_from(path, n));
    }
}

static int output_check_path(struct str path, struct err *e)
{
    int depth = 0;

    for (size_t i = 0; i < path.n; i++) {
        depth += (path.p[i] == '[') - (path.p[i] == ']');
        if (depth < 0 || depth > 1 || path.p[i] == '?' || path.p[i] == '(')
            break;
        if (i + 1 == path.n && !depth)
            return 0;
    }
    return err_set(e, ERR_SYNTAX,
                   "\"%.*s\" is not a path; write .metadata.name, .spec.tasks[0].name or .spec.tasks[*].name",
                   STR_ARG(path));
}

int output_path(struct arena *a, const struct json *object, struct str path, struct str *ret, struct err *e)
{
    struct found f = { .arena = a };

    if (path.n > 1 && path.p[0] == '{' && path.p[path.n - 1] == '}')
        path = str_sub(path, 1, path.n - 2);
    if (output_check_path(path, e) < 0)
        return -1;
    output_find(&f, object, path);
    *ret = f.is_any ? arena_str(a, buf_view(&f.text)) : STR("<none>");
    buf_done(&f.text);
    return 0;
}

static int print_custom(struct ctl_verb *v, const struct ctl_objects *list, struct str spec, struct err *e)
{
    struct table t = { .arena = v->arena };
    VEC(struct str) paths = { 0 };
    struct str part, rest = spec;

    while (str_split(&rest, ',', &part)) {
        ptrdiff_t colon = str_find_char(part, ':');

        if (colon <= 0)
            return err_set(e, ERR_SYNTAX, "-o custom-columns: \"%.*s\" is not NAME:PATH", STR_ARG(part));
        *vec_push(v->arena, &paths) = str_from(part, (size_t)colon + 1);
        if (output_check_path(paths.v[paths.n - 1], e) < 0 && part.p[colon + 1] != '{')
            return err_wrap(e, "-o custom-columns");
        if (!v->o->no_headers)
            table_cell(&t, str_sub(part, 0, (size_t)colon));
    }
    t.columns = paths.n;
    VEC_FOREACH(object, &list->v)
        VEC_FOREACH(path, &paths) {
            struct str text;

            if (output_path(v->arena, *object, *path, &text, e) < 0)
                return err_wrap(e, "-o custom-columns");
            put_cell(&t, text);
        }
    output_table(v, &t);
    return 0;
}

/* ---- order ---- */

struct keyed {
    struct str key;
    struct json *object;
    size_t at;
};

static int output_by_key(const void *pa, const void *pb)
{
    const struct keyed *a = pa, *b = pb;
    int64_t x, y;
    int way;

    if (str_to_i64(a->key, &x) == 0 && str_to_i64(b->key, &y) == 0)
        way = (x > y) - (x < y);
    else
        way = str_cmp(a->key, b->key);
    return way ? way : (a->at > b->at) - (a->at < b->at);
}

static int output_sort(struct ctl_verb *v, const struct ctl_objects *list, struct ctl_objects *ret, struct err *e)
{
    struct keyed *keyed = arena_array(v->arena, struct keyed, list->v.n + 1);

    for (size_t i = 0; i < list->v.n; i++) {
        keyed[i].object = list->v.v[i];
        keyed[i].at = i;
        if (output_path(v->arena, list->v.v[i], str_of(v->o->sort_by), &keyed[i].key, e) < 0)
            return err_wrap(e, "--sort-by");
    }
    qsort(keyed, list->v.n, sizeof(*keyed), output_by_key);
    for (size_t i = 0; i < list->v.n; i++)
        *vec_push(v->arena, &ret->v) = keyed[i].object;
    return 0;
}

/* ---- all of it ---- */

static struct json *output_whole(struct ctl_verb *v, const struct ctl_objects *list, bool is_one)
{
    struct json *j, *items;

    if (is_one && list->v.n == 1)
        return list->v.v[0];
    j = json_object(v->arena);
    json_add(j, STR("apiVersion"), json_str(v->arena, STR("v1")));
    json_add(j, STR("kind"), json_str(v->arena, STR("List")));
    items = json_add(j, STR("items"), json_array(v->arena));
    VEC_FOREACH(object, &list->v)
        json_push(items, json_copy(v->arena, *object));
    return j;
}

static void print_names(struct ctl_verb *v, const struct ctl_objects *list)
{
    VEC_FOREACH(object, &list->v) {
        const struct resource_type *type = type_by_kind(object_api_version(*object), object_kind(*object));

        buf_fmt(&v->out, "%.*s%s%s/%.*s\n", STR_ARG(type_singular(v->arena, type)), type->group[0] ? "." : "",
                type->group, STR_ARG(object_name(*object)));
    }
}

int output_objects(struct ctl_verb *v, const struct ctl_objects *list, bool is_one,
                   const struct output_columns *columns, struct err *e)
{
    const char *how = v->o->output;
    struct ctl_objects sorted = { 0 };

    VEC_FOREACH(object, &list->v)
        json_remove(json_get(*object, "metadata"), "managedFields");
    if (v->o->sort_by) {
        if (output_sort(v, list, &sorted, e) < 0)
            return -1;
        list = &sorted;
    }
    if (how && strcmp(how, "json") == 0) {
        json_print_pretty(&v->out, output_whole(v, list, is_one), 4);
        buf_char(&v->out, '\n');
    } else if (how && strcmp(how, "yaml") == 0) {
        yaml_print(&v->out, output_whole(v, list, is_one), NULL);
    } else if (how && strcmp(how, "name") == 0) {
        print_names(v, list);
    } else if (how && strncmp(how, CUSTOM, strlen(CUSTOM)) == 0) {
        return print_custom(v, list, str_of(how + strlen(CUSTOM)), e);
    } else if (!output_is_table(v)) {
        return err_set(e, ERR_SYNTAX, "-o: \"%s\" is not one of wide, json, yaml, name, custom-columns=NAME:PATH,…",
                       how);
    } else if (!list->v.n) {
        fprintf(stderr, "No resources found%s%.*s%s\n", verb_namespace(v).n ? " in namespace " : "",
                STR_ARG(verb_namespace(v)), verb_namespace(v).n ? "" : " in any namespace");
    } else {
        output_print_table(v, list, columns);
    }
    return 0;
}

/* ---- cells ---- */

struct str cell_namespace(struct ctl_verb *v, const struct json *object, const void *ctx)
{
    return object_namespace(object);
}

struct str cell_name(struct ctl_verb *v, const struct json *object, const void *ctx)
{
    return object_name(object);
}

struct str cell_since(struct ctl_verb *v, const struct json *object, const void *ctx)
{
    return ctl_age(v->arena, json_text(json_find(object, "metadata", "creationTimestamp", NULL), STR_NULL),
                   v->ctl.now_ms);
}

struct str output_amounts(struct arena *a, const struct json *map)
{
    autobuf text = { 0 };

    JSON_FOREACH(r, map) {
        buf_fmt(&text, "%s%.*s=", text.n ? "," : "", STR_ARG(json_key(r)));
        if (json_is(r, JSON_STRING))
            buf_str(&text, json_text(r, STR_NULL));
        else
            json_print(&text, r);
    }
    return arena_str(a, buf_view(&text));
}
