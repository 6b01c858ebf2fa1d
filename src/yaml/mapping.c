/* mapping.c - the end of a mapping: merge keys and keys that are there twice
 *
 * Keys of the mapping itself win over merged ones. Of several mappings in one '<<' list the earlier wins; of several
 * '<<' the later. Sorting by key (an address, see struct yaml_word) keeps a mapping with a million keys cheap.
 */
#include "yaml/yaml_internal.h"

#include "base/util.h"

const char yaml_merge_key[] = "<<";

struct mapping_entry {
    struct json *node;
    uint64_t rank; /* who wins: 0 is the mapping itself, then the smallest */
    size_t order;  /* as read */
    bool is_duplicate, is_dropped;
};

struct entries {
    struct mapping_entry *v;
    size_t n;
};

static bool has_merge(const struct json *object)
{
    JSON_FOREACH(m, object)
        if (m->key == yaml_merge_key)
            return true;
    return false;
}

/* Is there work to do? Most mappings are small and in order; they are not sorted. */
static bool is_simple(const struct json *object)
{
    if (has_merge(object))
        return false;
    if (object->n > 16)
        return false;
    JSON_FOREACH(m, object)
        for (const struct json *k = m->next; k; k = k->next)
            if (k->key == m->key)
                return false;
    return true;
}

static int check_merge(struct yaml_reader *r, const struct json *value)
{
    bool is_fine = value->type == JSON_OBJECT || value->type == JSON_ARRAY;

    if (value->type == JSON_ARRAY)
        JSON_FOREACH(item, value)
            is_fine = is_fine && item->type == JSON_OBJECT;
    if (!is_fine)
        return yaml_fail(r, ERR_INVALID, (struct yaml_place){ value->line, value->col },
                         "'<<' needs a mapping or a list of mappings");
    return 0;
}

static size_t mapping_count_entries(const struct json *object)
{
    size_t n = 0;

    JSON_FOREACH(m, object) {
        n++;
        if (m->key != yaml_merge_key)
            continue;
        n += json_count(m);
        if (m->type == JSON_ARRAY)
            JSON_FOREACH(item, m)
                n += json_count(item);
    }
    return n;
}

/* The members are copied (not what is below them): an anchor may name 'source' and be used again. */
static int add_merged(struct yaml_reader *r, struct entries *to, const struct json *source, uint64_t rank)
{
    JSON_FOREACH(m, source) {
        struct json *copy = arena_alloc(r->arena, sizeof(*copy));

        if (yaml_count_node(r, m->line, m->col) < 0)
            return -1;
        *copy = *m;
        to->v[to->n] = (struct mapping_entry){ .node = copy, .rank = rank, .order = to->n };
        to->n++;
    }
    return 0;
}

static int mapping_collect(struct yaml_reader *r, struct entries *to, const struct json *object)
{
    uint64_t later = UINT32_MAX; /* each '<<' ranks above the one before */

    JSON_FOREACH(m, object) {
        uint64_t rank = later << 32;

        if (m->key != yaml_merge_key) {
            to->v[to->n] = (struct mapping_entry){ .node = m, .order = to->n };
            to->n++;
            continue;
        }
        later--;
        if (check_merge(r, m) < 0)
            return -1;
        if (m->type == JSON_OBJECT && add_merged(r, to, m, rank) < 0)
            return -1;
        if (m->type == JSON_ARRAY)
            JSON_FOREACH(item, m)
                if (add_merged(r, to, item, rank++) < 0)
                    return -1;
    }
    return 0;
}

static int by_key_and_rank(const void *x, const void *y)
{
    const struct mapping_entry *a = x, *b = y;

    if (a->node->key != b->node->key)
        return (uintptr_t)a->node->key < (uintptr_t)b->node->key ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int by_order(const void *x, const void *y)
{
    const struct mapping_entry *a = x, *b = y;

    return a->order < b->order ? -1 : a->order > b->order;
}

/* Among equal keys the last of the mapping's own wins, or else the first merged one. */
static void mark_losers(struct entries *es)
{
    qsort(es->v, es->n, sizeof(*es->v), by_key_and_rank);
    for (size_t i = 1; i < es->n; i++) {
        struct mapping_entry *before = &es->v[i - 1], *e = &es->v[i];

        if (before->node->key != e->node->key)
            continue;
        e->is_duplicate = e->rank == 0;
        if (e->rank == 0)
            before->is_dropped = true;
        else
            e->is_dropped = true;
    }
    qsort(es->v, es->n, sizeof(*es->v), by_order);
}

static int report(struct yaml_reader *r, const struct mapping_entry *e)
{
    struct json_duplicate dup = { json_key(e->node), e->node->line, e->node->col };

    if (!r->opt->on_duplicate)
        return yaml_fail(r, ERR_INVALID, (struct yaml_place){ dup.line, dup.col }, "duplicate key \"%.*s\"",
                         STR_ARG(str_sub(dup.key, 0, 100)));
    r->opt->on_duplicate(r->opt->ctx, dup);
    return 0;
}

int yaml_mapping_end(struct yaml_reader *r, struct json *object)
{
    autofree struct mapping_entry *v = NULL;
    struct entries es = { 0 };

    if (is_simple(object))
        return 0;
    es.v = v = xmalloc(sizeof(*v) * mapping_count_entries(object));
    if (mapping_collect(r, &es, object) < 0)
        return -1;
    mark_losers(&es);
    object->first = object->last = NULL;
    object->n = 0;
    for (size_t i = 0; i < es.n; i++) {
        if (es.v[i].is_duplicate && report(r, &es.v[i]) < 0)
            return -1;
        if (!es.v[i].is_dropped)
            json_add(object, json_key(es.v[i].node), es.v[i].node);
    }
    return 0;
}
