/* diff.c - what differs between two trees, as a patch */
#include "base/buf.h"
#include "json/patch.h"

struct diff {
    struct arena *arena;
    struct json *ops;
    struct buf path; /* of the place at hand, as RFC 6901 writes it */
};

static void differ(struct diff *d, const struct json *from, const struct json *to);

static void add_op(struct diff *d, const char *op, const struct json *value)
{
    struct json *o = json_push(d->ops, json_object(d->arena));

    json_add(o, STR("op"), json_str(d->arena, str_of(op)));
    json_add(o, STR("path"), json_str(d->arena, arena_str(d->arena, buf_view(&d->path))));
    if (value)
        json_add(o, STR("value"), json_copy(d->arena, value));
}

/* Returns the length to go back to. */
static size_t go_down(struct diff *d, struct str key)
{
    size_t back = d->path.n;

    buf_char(&d->path, '/');
    for (size_t i = 0; i < key.n; i++)
        if (key.p[i] == '~' || key.p[i] == '/')
            buf_str(&d->path, key.p[i] == '~' ? STR("~0") : STR("~1"));
        else
            buf_char(&d->path, key.p[i]);
    return back;
}

static void differ_objects(struct diff *d, const struct json *from, const struct json *to)
{
    JSON_FOREACH(old, from)
        if (!json_get_str(to, json_key(old))) {
            size_t back = go_down(d, json_key(old));

            add_op(d, "remove", NULL);
            d->path.n = back;
        }
    JSON_FOREACH(new, to) {
        const struct json *old = json_get_str(from, json_key(new));
        size_t back = go_down(d, json_key(new));

        if (old)
            differ(d, old, new);
        else
            add_op(d, "add", new);
        d->path.n = back;
    }
}

static void differ_lists(struct diff *d, const struct json *from, const struct json *to)
{
    const struct json *old = json_first(from), *new = json_first(to);

    for (size_t i = 0; old && new; i++, old = old->next, new = new->next) {
        size_t back = d->path.n;

        buf_fmt(&d->path, "/%zu", i);
        differ(d, old, new);
        d->path.n = back;
    }
}

static void differ(struct diff *d, const struct json *from, const struct json *to)
{
    if (from->type == JSON_OBJECT && to->type == JSON_OBJECT)
        differ_objects(d, from, to);
    else if (from->type == JSON_ARRAY && to->type == JSON_ARRAY && json_count(from) == json_count(to))
        differ_lists(d, from, to);
    else if (!json_equal(from, to))
        add_op(d, "replace", to);
}

struct json *json_diff(struct arena *a, const struct json *from, const struct json *to)
{
    struct diff d = { .arena = a, .ops = json_array(a) };

    differ(&d, from, to);
    buf_done(&d.path);
    return d.ops;
}
