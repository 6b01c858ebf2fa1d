/* typed_check.c - does a configuration fit its kind? In the API server's words, Go's way to print values included */
#include "base/util.h"
#include "patch/typed_internal.h"

struct checking {
    struct arena *arena;
    struct json *problems;
    struct buf path;
};

static void typed_check_value(struct checking *ck, const struct merge_type *type, const struct json *j);

__attribute__((format(printf, 2, 3))) static void complain(struct checking *ck, const char *fmt, ...)
{
    autobuf text = { 0 };
    va_list ap;

    buf_str(&text, buf_view(&ck->path));
    if (text.n)
        buf_str(&text, STR(": "));
    va_start(ap, fmt);
    buf_vfmt(&text, fmt, ap);
    va_end(ap);
    json_push(ck->problems, json_str(ck->arena, arena_str(ck->arena, buf_view(&text))));
}

/* As %v prints it: map[a:1 b:x], [1 2], <nil>. */
static void print_go(struct buf *out, const struct json *j)
{
    bool is_first = true;

    if (j->type == JSON_STRING || j->type == JSON_NUMBER) {
        buf_append(out, j->text, j->n);
        return;
    }
    if (j->type == JSON_BOOL || j->type == JSON_NULL) {
        buf_str(out, j->type == JSON_NULL ? STR("<nil>") : j->n ? STR("true") : STR("false"));
        return;
    }
    buf_str(out, j->type == JSON_OBJECT ? STR("map[") : STR("["));
    JSON_FOREACH(m, j) {
        if (!is_first)
            buf_char(out, ' ');
        is_first = false;
        if (j->type == JSON_OBJECT) {
            buf_str(out, json_key(m));
            buf_char(out, ':');
        }
        print_go(out, m);
    }
    buf_char(out, ']');
}

static struct str go_text(struct checking *ck, const struct json *j)
{
    struct json *copy = json_copy(ck->arena, j);
    autobuf out = { 0 };

    json_sort_keys(copy, true);
    print_go(&out, copy);
    return arena_str(ck->arena, str_sub(buf_view(&out), 0, 1000)); /* no user reads more */
}

static const char *go_type(const struct json *j)
{
    static const char *const names[JSON_TYPE_MAX] = {
        [JSON_NULL] = "<nil>",           [JSON_BOOL] = "bool",
        [JSON_NUMBER] = "int64",         [JSON_STRING] = "string",
        [JSON_ARRAY] = "[]interface {}", [JSON_OBJECT] = "map[string]interface {}",
    };

    return names[j->type];
}

static void check_scalar(struct checking *ck, enum merge_scalar want, const struct json *j)
{
    bool is_scalar = j->type != JSON_OBJECT && j->type != JSON_ARRAY;

    if (j->type == JSON_NULL)
        return;
    if (want == MERGE_NUMBER && j->type != JSON_NUMBER)
        complain(ck, "expected numeric (int or float), got %s", go_type(j));
    else if (want == MERGE_STRING && j->type != JSON_STRING)
        complain(ck, "expected string, got &value.valueUnstructured{Value:%.*s}", STR_ARG(go_text(ck, j)));
    else if (want == MERGE_BOOLEAN && j->type != JSON_BOOL)
        complain(ck, "expected boolean, got &{%.*s}", STR_ARG(go_text(ck, j)));
    else if (!is_scalar)
        complain(ck, "expected any scalar, got &{%.*s}", STR_ARG(go_text(ck, j)));
}

static void typed_check_list(struct checking *ck, const struct merge_type *type, bool is_atomic,
                             const struct json *list)
{
    struct merge_type item_type = merge_type_item(type);
    size_t back = ck->path.n, i = 0;

    JSON_FOREACH(item, list) {
        struct path_element at = { .kind = PATH_INDEX, .value = NULL };
        struct err e;

        if (is_atomic)
            at.value = json_int(ck->arena, (int64_t)i);
        else if (item_element(ck->arena, type, item, &at, &e) < 0) {
            complain(ck, "element %zu: %s", i, e.text);
            return;
        }
        i++;
        path_element_print(&ck->path, &at);
        typed_check_value(ck, &item_type, item);
        ck->path.n = back;
    }
    if (!is_atomic) {
        struct items items;

        items_read(ck->arena, type, list, &items);
        for (size_t k = 0; k < items.n_firsts; k++) {
            autobuf key = { 0 };

            path_element_print(&key, &items.firsts[k]->at);
            for (size_t n = 1; n < items.firsts[k]->n_same; n++)
                complain(ck, "duplicate entries for key %.*s", STR_ARG(buf_view(&key)));
        }
    }
}

static void check_map(struct checking *ck, const struct merge_type *type, const struct json *map)
{
    size_t back = ck->path.n;

    JSON_FOREACH(m, map) {
        struct path_element at = { .kind = PATH_FIELD, .name = json_key(m) };
        bool is_named;
        struct merge_type child = merge_type_member(type, json_key(m), &is_named);

        path_element_print(&ck->path, &at);
        if (child.source == MERGE_NONE)
            complain(ck, "field not declared in schema");
        else
            typed_check_value(ck, &child, m);
        ck->path.n = back;
    }
}

static void typed_check_value(struct checking *ck, const struct merge_type *type, const struct json *j)
{
    struct merge_choice c = merge_choose(type, j);

    if (ck->problems->n >= 100) /* enough to work on */
        return;
    if (c.as == AS_SCALAR)
        check_scalar(ck, c.atom.scalar, j);
    else if (j->type == JSON_NULL)
        return;
    else if (c.as == AS_LIST && j->type != JSON_ARRAY)
        complain(ck, "expected list, got &{%.*s}", STR_ARG(go_text(ck, j)));
    else if (c.as == AS_LIST)
        typed_check_list(ck, type, c.atom.is_atomic_list, j);
    else if (c.as == AS_MAP && j->type != JSON_OBJECT)
        complain(ck, "expected map, got &{%.*s}", STR_ARG(go_text(ck, j)));
    else if (c.as == AS_MAP)
        check_map(ck, type, j);
}

void typed_check(struct arena *a, const struct merge_type *type, const struct json *j, struct json *problems)
{
    struct checking ck = { .arena = a, .problems = problems };

    typed_check_value(&ck, type, j);
    buf_done(&ck.path);
}
