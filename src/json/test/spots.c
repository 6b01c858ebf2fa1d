/* spots.c - every field of a schema, and documents that have a given value there */
#include "json/test/spots.h"

#include "base/util.h"

/* ---- fields ---- */

static void walk(const struct schema *s, struct spot *spot, spots_f each, void *ctx)
{
    size_t inside = 0;

    for (size_t i = 0; i < spot->n; i++)
        inside += spot->at[i]->sub == s;
    if (spot->n == SPOT_DEPTH || inside > 2)
        return;
    for (size_t i = 0; i < s->n_fields; i++) {
        spot->at[spot->n++] = &s->fields[i];
        each(ctx, spot);
        if (s->fields[i].kind == FIELD_OBJECT && s->fields[i].sub)
            walk(s->fields[i].sub, spot, each, ctx);
        spot->n--;
    }
}

void spots_walk(const struct schema *s, spots_f each, void *ctx)
{
    struct spot spot = { .root = s };

    walk(s, &spot, each, ctx);
}

/* ---- documents ---- */

static void choose_values(const struct spot_graft *g, const struct schema *s, struct json *object)
{
    for (const struct field *f = s->fields; f < s->fields + s->n_fields; f++) {
        size_t n = 0;

        if (!f->values || f->shape != SHAPE_ONE || !rand_chance(g->rand, 1, 4))
            continue;
        while (f->values[n])
            n++;
        json_set(object, f->name, json_str(g->arena, str_of(f->values[rand_below(g->rand, n)])));
    }
}

/* From the i-th field of the spot on. */
static struct json *graft_at(const struct spot_graft *g, const struct json *base, size_t i, struct json *leaf)
{
    const struct schema *s = i ? g->spot->at[i - 1]->sub : g->spot->root;
    const struct field *f = g->spot->at[i];
    struct json *object = json_is(base, JSON_OBJECT) ? json_copy(g->arena, base) : json_object(g->arena), *value = leaf;

    choose_values(g, s, object);
    if (i + 1 == g->spot->n && g->forced)
        json_set(object, g->forced->name, json_str(g->arena, str_of(g->forced_value)));
    if (i + 1 < g->spot->n) {
        const struct json *below = json_get(object, f->name);
        struct json *list = f->shape == SHAPE_LIST ? json_array(g->arena) : json_object(g->arena);

        if (f->shape == SHAPE_ONE)
            value = graft_at(g, below, i + 1, leaf);
        else if (value = list, f->shape == SHAPE_LIST)
            json_push(list, graft_at(g, json_first(below), i + 1, leaf));
        else
            json_set(list, "k", graft_at(g, json_first(below), i + 1, leaf));
    }
    json_set(object, f->name, value);
    return object;
}

struct json *spot_graft(const struct spot_graft *g, const struct json *base, struct json *leaf)
{
    return graft_at(g, base, 0, leaf);
}

/* ---- shapes ---- */

static bool value_fits(const struct field *f, const struct json *j)
{
    static const unsigned types[FIELD_KIND_MAX] = {
        [FIELD_ANY] = ~0u,
        [FIELD_STR] = 1u << JSON_STRING,
        [FIELD_BOOL] = 1u << JSON_BOOL,
        [FIELD_INT32] = 1u << JSON_NUMBER,
        [FIELD_INT64] = 1u << JSON_NUMBER,
        [FIELD_NUMBER] = 1u << JSON_NUMBER,
        [FIELD_INT_OR_STR] = 1u << JSON_NUMBER | 1u << JSON_STRING,
        [FIELD_OBJECT] = 1u << JSON_OBJECT,
    };
    int64_t v;

    if (!(types[f->kind] & 1u << j->type))
        return false;
    if ((f->kind == FIELD_INT32 || f->kind == FIELD_INT64) && json_to_i64(j, &v) < 0)
        return false;
    return f->kind != FIELD_INT32 || (v >= INT32_MIN && v <= INT32_MAX);
}

bool spot_fits(const struct field *f, const struct json *j)
{
    if (j->type == JSON_NULL)
        return true;
    if (f->shape == SHAPE_ONE)
        return value_fits(f, j);
    if (j->type != (f->shape == SHAPE_LIST ? JSON_ARRAY : JSON_OBJECT))
        return false;
    JSON_FOREACH(item, j)
        if (!value_fits(f, item) && !(f->shape == SHAPE_MAP && item->type == JSON_NULL))
            return false;
    return true;
}
