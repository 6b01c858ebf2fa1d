/* cost.c - a request that asks twice as much costs about twice as much, whatever it asks and however
 *
 *     cost [--all] [--verbose] [--from N] [WORD]       N, 2N and 4N items; only lines that contain WORD
 *
 * Every list, map and text of every kind is sent with n, 2n and 4n items by every way in, and the steps are counted
 * (count.c). From the counts follow the constant, the linear and the quadratic part, and from those what many items would
 * cost: the quadratic part must not matter there. So small requests find what large ones would stall on, and no
 * clock is asked. Then come objects in which several lists grow together, and refer to each other.
 */
#include "cost.h"

#include "base/buf.h"
#include "base/util.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIZES = 4,
    QUICK_SIZES = 3,
    FEW_ITEMS = 64,
    FEW_BYTES = 1024,
    LOOK_AGAIN = 4,
    MANY_ITEMS = 10000,
    MANY_BYTES = 200000
};

static const double limit = 2.5;   /* what twice as much may cost */
static const double matters = 3e7; /* steps of the quadratic part at many, some 30 ms: above what sorting looks like */

enum way {
    WAY_CREATE,
    WAY_UPDATE,
    WAY_MERGE,
    WAY_STRATEGIC,
    WAY_APPLY,
    WAY_APPLY_AGAIN,
    WAY_JSON,
    WAY_DELETE,
    WAY_MAX
};

static const struct {
    const char *name, *method, *type;
} ways[WAY_MAX] = {
    [WAY_CREATE] = { "create", "POST", "application/json" },
    [WAY_UPDATE] = { "update", "PUT", "application/json" },
    [WAY_MERGE] = { "merge patch", "PATCH", "application/merge-patch+json" },
    [WAY_STRATEGIC] = { "strategic patch", "PATCH", "application/strategic-merge-patch+json" },
    [WAY_APPLY] = { "apply", "PATCH", "application/apply-patch+yaml" },
    [WAY_APPLY_AGAIN] = { "apply again", "PATCH", "application/apply-patch+yaml" },
    [WAY_JSON] = { "JSON patch", "PATCH", "application/json-patch+json" },
    [WAY_DELETE] = { "delete", "DELETE", NULL },
};

struct bench {
    bool all, verbose;
    size_t from;      /* 0: as few as will do */
    const char *word; /* NULL: everything */
    struct world *world;
    const struct resource_type *type;
    size_t made; /* objects: each has a name of its own */
    int checked, failed;
};

struct counts { /* of one thing in all sizes */
    size_t n;   /* the first size; each of the others is twice the one before */
    size_t n_sizes;
    uint64_t steps[SIZES];
    int status[SIZES];
};

/* ---- judging ---- */

/* What is asked n times over costs constant + linear n + sorting n log n + quadratic n², in units of the first size. */
struct growth {
    double constant, linear, sorting, quadratic;
};

static struct growth growth_of(const struct counts *c)
{
    double f1 = (double)c->steps[0], f2 = (double)c->steps[1], f4 = (double)c->steps[2], f8 = (double)c->steps[3];
    struct growth g = { 0 };

    g.quadratic = c->n_sizes == SIZES ? (f8 - 5 * f4 + 8 * f2 - 4 * f1) / 12 : (f4 - 3 * f2 + 2 * f1) / 6;
    if (c->n_sizes == SIZES)
        g.sorting = (f4 - 3 * f2 + 2 * f1 - 6 * g.quadratic) / 2;
    g.linear = f2 - f1 - 3 * g.quadratic - 2 * g.sorting;
    g.constant = f1 - g.linear - g.quadratic;
    return g;
}

static double growth_at(const struct growth *g, double n)
{
    return g->constant + g->linear * n + g->sorting * n * log2(n) + g->quadratic * n * n;
}

/* Each doubling adds more than twice what the one before added. Where it does not, some limit was passed on the way, and
 * no smooth curve says what follows. */
static bool is_curved(const struct counts *c)
{
    for (size_t i = 2; i < c->n_sizes; i++) {
        double last = (double)c->steps[i] - (double)c->steps[i - 1];

        if (last < 2.15 * ((double)c->steps[i - 1] - (double)c->steps[i - 2]))
            return false;
    }
    return true;
}

static bool is_steep(const struct counts *c, double many)
{
    struct growth g = growth_of(c);
    double n = many / (double)c->n;

    if (c->n_sizes == SIZES && !is_curved(c))
        return false;
    return g.quadratic * n * n > matters && growth_at(&g, 2 * n) > limit * growth_at(&g, n);
}

static void report(struct bench *b, struct str what, const char *way, const struct counts *c, double many)
{
    struct growth g = growth_of(c);
    double n = many / (double)c->n;
    bool is_bad = is_steep(c, many);

    b->checked++;
    b->failed += is_bad;
    if (!is_bad && !b->verbose)
        return;
    printf("%s %.*s, %s: ", is_bad ? "FAIL" : "ok", STR_ARG(what), way);
    for (size_t i = 0; i < c->n_sizes; i++)
        printf("%zu: %" PRIu64 " steps (%d), ", c->n << i, c->steps[i], c->status[i]);
    printf("so %.0f: %.0f million, %.0f: %.0f million\n", many, growth_at(&g, n) / 1e6, 2 * many,
           growth_at(&g, 2 * n) / 1e6);
}

/* ---- requests ---- */

static struct str url_of(struct arena *a, const struct resource_type *t, struct str name)
{
    return arena_fmt(a, "%s%.*s/%s%s%s%.*s", t->group[0] ? "/apis/" : "/api/", STR_ARG(type_api_version(a, t)),
                     t->scope == SCOPE_NAMESPACED ? "namespaces/default/" : "", t->plural, name.n ? "/" : "",
                     STR_ARG(name));
}

static struct answer send_json(struct bench *b, enum way way, struct str url, const struct json *body)
{
    autobuf text = { 0 };

    if (body)
        json_print(&text, body);
    return world_ask(b->world, ways[way].method, url, ways[way].type, buf_view(&text));
}

static struct json *object_with(struct arena *a, struct bench *b, const struct path *p, enum variant v, struct str name,
                                size_t from, size_t n)
{
    struct json *object = object_smallest(a, b->type, name);

    object_plant(a, object, p, v, from, n);
    return object;
}

/* A patch says only what changes. */
static struct json *patch_with(struct arena *a, const struct path *p, enum variant v, size_t from, size_t n)
{
    struct json *patch = json_object(a);

    object_plant(a, patch, p, v, from, n);
    return patch;
}

static struct json *operations(struct arena *a, const struct json *object, const struct path *p, enum variant v,
                               size_t n)
{
    const struct field *last = p->steps[p->n - 1];
    struct str at = path_pointer(a, object, p);
    struct json *list = json_array(a);

    for (size_t i = 0; i < n && !path_is_text(p); i++) {
        struct json *op = json_push(list, json_object(a));

        json_add(op, STR("op"), json_str(a, STR("add")));
        if (last->shape == SHAPE_LIST)
            json_add(op, STR("path"), json_fmt(a, "%.*s/-", STR_ARG(at)));
        else
            json_add(op, STR("path"), json_fmt(a, "%.*s/y%zu", STR_ARG(at), i));
        json_add(op, STR("value"), path_item(a, p, v, 2 * n + i));
    }
    return list;
}

static struct json *body_of(struct arena *a, struct bench *b, enum way way, const struct path *p, enum variant v,
                            struct str name, size_t n)
{
    struct json *object;

    switch (way) {
    case WAY_CREATE:
    case WAY_APPLY:
        return object_with(a, b, p, v, name, 0, n);
    case WAY_UPDATE:
    case WAY_APPLY_AGAIN:
        return object_with(a, b, p, v, name, n / 2, n);
    case WAY_MERGE:
        return patch_with(a, p, v, n / 4, n);
    case WAY_STRATEGIC:
        return patch_with(a, p, v, n / 2, n);
    case WAY_JSON:
        object = object_with(a, b, p, v, name, 0, 1);
        return operations(a, object, p, v, n);
    default:
        return NULL;
    }
}

static bool is_good(int status)
{
    return status >= 200 && status < 300;
}

/* All ways in, one after the other on one object. */
static void go_all_ways(struct bench *b, const struct path *p, enum variant v, size_t size, size_t n,
                        struct counts counts[WAY_MAX])
{
    autoarena a = { 0 };
    struct str name = arena_fmt(&a, "c%06zu", b->made++);
    struct json *whole = body_of(&a, b, WAY_CREATE, p, v, name, n);
    struct str full = json_member_text(json_get(whole, "metadata"), "name"), url = url_of(&a, b->type, full);
    bool is_asked = b->type->use == TYPE_ASKED;

    for (enum way way = 0; way < (is_asked ? WAY_CREATE + 1 : WAY_MAX); way++) {
        struct json *body = way == WAY_CREATE ? whole : body_of(&a, b, way, p, v, name, n);
        bool is_apply = way == WAY_APPLY || way == WAY_APPLY_AGAIN;
        struct str at = way == WAY_CREATE
                            ? url_of(&a, b->type, STR_NULL)
                            : arena_fmt(&a, "%.*s%s", STR_ARG(url), is_apply ? "?fieldManager=c&force=true" : "");
        struct answer answer = send_json(b, way, at, body);

        counts[way].steps[size] = answer.steps;
        counts[way].status[size] = answer.status;
        if (way == WAY_CREATE && !is_good(answer.status) && !is_asked) /* the others need something to change */
            (void)send_json(b, way, at, object_smallest(&a, b->type, name));
    }
    if (is_asked)
        return;
    (void)world_ask(b->world, "PATCH", url, ways[WAY_MERGE].type, STR("{\"metadata\":{\"finalizers\":null}}"));
    (void)world_ask(b->world, "DELETE", url, NULL, STR_NULL);
}

static bool measure(struct bench *b, const struct path *p, enum variant v, size_t n, size_t n_sizes, double many,
                    struct counts counts[WAY_MAX])
{
    bool any = false;

    for (size_t i = 0; i < n_sizes; i++)
        go_all_ways(b, p, v, i, n << i, counts);
    for (enum way way = 0; way < WAY_MAX; way++) {
        counts[way].n = n;
        counts[way].n_sizes = n_sizes;
        any = any || is_steep(&counts[way], many);
    }
    return any;
}

static void try_path(void *ctx, const struct path *p)
{
    struct bench *b = ctx;
    bool is_text = path_is_text(p);
    double many = is_text ? MANY_BYTES : MANY_ITEMS;

    for (enum variant v = 0; v < VARIANT_MAX; v++) {
        autoarena a = { 0 };
        struct counts counts[WAY_MAX] = { 0 };
        struct str what = arena_fmt(&a, "%s %.*s %s", b->type->kind, STR_ARG(path_print(&a, p)), variant_names[v]);
        size_t n = is_text ? FEW_BYTES : FEW_ITEMS;

        if ((b->word && !str_has(what, str_of(b->word))) || (is_text && v == VARIANT_ALIKE))
            continue;
        /* A few first: they are cheap. What looks steep is looked at again with more, where sorting can be told. */
        if (b->from || measure(b, p, v, n, QUICK_SIZES, many, counts))
            (void)measure(b, p, v, b->from ? b->from : n * LOOK_AGAIN, SIZES, many, counts);
        for (enum way way = 0; way < WAY_MAX; way++)
            if (counts[way].steps[0])
                report(b, what, ways[way].name, &counts[way], many);
    }
}

/* What is made once, by the first who asks. */
static void warm_up(struct bench *b)
{
    autoarena a = { 0 };
    struct json *object = object_smallest(&a, b->type, STR("warm"));

    (void)send_json(b, WAY_CREATE, url_of(&a, b->type, STR_NULL), object);
    (void)send_json(b, WAY_DELETE, url_of(&a, b->type, json_member_text(json_get(object, "metadata"), "name")), NULL);
}

static void try_kinds(struct bench *b)
{
    for (const struct resource_type *t = resource_types; t < resource_types + n_resource_types; t++) {
        if ((t->use != TYPE_STORED && t->use != TYPE_ASKED) ||
            (b->word && !strstr(b->word, t->kind) && strchr(b->word, ' ')))
            continue;
        b->type = t;
        b->world = world_new();
        warm_up(b);
        paths_walk(t, b->all, try_path, b);
        world_free(b->world);
    }
}

/* ---- several lists together ---- */

static const struct resource_type *type_of(const struct together *t)
{
    const struct resource_type *row = resource_types;

    while (strcmp(row->group, t->group) != 0 || strcmp(row->kind, t->kind) != 0)
        row++;
    return row;
}

static const enum way together_ways[] = { WAY_CREATE, WAY_UPDATE, WAY_APPLY, WAY_STRATEGIC, WAY_DELETE };

static void go_together(struct bench *b, const struct together *t, size_t size, size_t n, struct counts counts[WAY_MAX])
{
    autoarena a = { 0 };
    struct str name = arena_fmt(&a, "c%06zu", b->made++), all = url_of(&a, b->type, STR_NULL), url;
    autobuf text = { 0 };

    together_print(&text, t, name, n);
    if (strstr(text.p, ".x.io\""))
        name = arena_fmt(&a, "%.*s.x.io", STR_ARG(name));
    url = url_of(&a, b->type, name);
    for (size_t i = 0; i < ARRAY_LEN(together_ways); i++) {
        enum way way = together_ways[i];
        struct str at = way == WAY_CREATE  ? all
                        : way == WAY_APPLY ? arena_fmt(&a, "%.*s?fieldManager=c&force=true", STR_ARG(url))
                                           : url;
        struct json *body;
        struct answer answer;

        assert(json_parse(&a, buf_view(&text), NULL, &body, NULL) == 0);
        json_set(body, "apiVersion", json_str(&a, type_api_version(&a, b->type)));
        json_set(body, "kind", json_str(&a, str_of(b->type->kind)));
        answer = send_json(b, way, at, way == WAY_DELETE ? NULL : body);
        counts[way].steps[size] = answer.steps;
        counts[way].status[size] = answer.status;
        counts[way].n = n >> size;
        counts[way].n_sizes = size + 1;
    }
}

static bool measure_together(struct bench *b, const struct together *t, size_t n, size_t n_sizes,
                             struct counts counts[WAY_MAX])
{
    bool any = false;

    for (size_t i = 0; i < n_sizes; i++)
        go_together(b, t, i, n << i, counts);
    for (enum way way = 0; way < WAY_MAX; way++)
        any = any || (counts[way].n && is_steep(&counts[way], MANY_ITEMS));
    return any;
}

static void try_together(struct bench *b)
{
    for (const struct together *t = togethers; t < togethers + n_togethers; t++) {
        autoarena a = { 0 };
        struct counts counts[WAY_MAX] = { 0 };
        struct str what = arena_fmt(&a, "%s: %s", t->kind, t->what);

        if (b->word && !str_has(what, str_of(b->word)))
            continue;
        b->type = type_of(t);
        b->world = world_new();
        warm_up(b);
        if (b->from || measure_together(b, t, FEW_ITEMS, QUICK_SIZES, counts))
            (void)measure_together(b, t, b->from ? b->from : FEW_ITEMS * LOOK_AGAIN, SIZES, counts);
        for (enum way way = 0; way < WAY_MAX; way++)
            if (counts[way].n)
                report(b, what, ways[way].name, &counts[way], MANY_ITEMS);
        world_free(b->world);
    }
}

int main(int argc, char **argv)
{
    struct bench b = { 0 };

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--all") == 0)
            b.all = true;
        else if (strcmp(argv[i], "--verbose") == 0)
            b.verbose = true;
        else if (strcmp(argv[i], "--from") == 0 && i + 1 < argc)
            b.from = strtoul(argv[++i], NULL, 10);
        else
            b.word = argv[i];
    try_together(&b);
    try_kinds(&b);
    world_clean();
    printf("%d of %d grow faster than what was asked\n", b.failed, b.checked);
    return b.failed ? 1 : 0;
}
