/* typed_merge.c - laying a configuration over a live object */
#include "base/util.h"
#include "json/members.h"
#include "patch/typed_internal.h"

static struct json *merge_map(struct arena *a, const struct merge_type *type, const struct json *live,
                              const struct json *config)
{
    struct json *out = json_object(a), *value;
    autojson_members in_live, in_config;
    struct merge_type child;
    bool is_named;

    json_members_init(&in_live, live, json_count(config));
    json_members_init(&in_config, config, json_count(live));
    JSON_FOREACH(m, in_live.object) {
        child = merge_type_member(type, json_key(m), &is_named);
        value = typed_merge(a, &child, m, json_members_get(&in_config, json_key(m)));
        if (value)
            json_add(out, json_key(m), value);
    }
    JSON_FOREACH(m, in_config.object) {
        if (json_members_get(&in_live, json_key(m)))
            continue;
        child = merge_type_member(type, json_key(m), &is_named);
        value = typed_merge(a, &child, NULL, m);
        if (value)
            json_add(out, json_key(m), value);
    }
    return out->n ? out : NULL;
}

/* ---- lists ---- */

struct merge_list_merge {
    struct arena *arena;
    struct merge_type item_type;
    struct items live, config;
    size_t l, r;   /* where we are in either */
    size_t shared; /* the next item of 'config' that 'live' has too */
    struct json *out;
};

static void push_merged(struct merge_list_merge *lm, const struct json *live, const struct json *config)
{
    struct json *value = typed_merge(lm->arena, &lm->item_type, live, config);

    if (value)
        json_push(lm->out, value);
}

static void skip_to_shared(struct merge_list_merge *lm)
{
    while (lm->shared < lm->config.n && !items_find(&lm->live, &lm->config.v[lm->shared].at))
        lm->shared++;
}

/* The next item of 'config', with what 'live' has of it. */
static void merge_take_config(struct merge_list_merge *lm)
{
    struct item *it = &lm->config.v[lm->r], *old = items_find(&lm->live, &it->at);

    it->first->is_merged = true;
    push_merged(lm, old && old->n_same == 1 ? old->node : NULL, it->node);
    if (lm->shared == lm->r++) {
        lm->shared++;
        skip_to_shared(lm);
    }
}

/* Two lines become one: 'config' decides the order of what it names, and what only 'live' has stays behind the items it
 * followed. An item of 'live' that 'config' has later is passed over until 'config' comes to it. */
static struct json *merge_list(struct arena *a, const struct merge_type *type, const struct json *live,
                               const struct json *config)
{
    struct merge_list_merge lm = { .arena = a, .item_type = merge_type_item(type), .out = json_array(a) };

    items_read(a, type, live, &lm.live);
    items_read(a, type, config, &lm.config);
    skip_to_shared(&lm);
    while (lm.l < lm.live.n || lm.r < lm.config.n) {
        struct item *old = lm.l < lm.live.n ? &lm.live.v[lm.l] : NULL;
        struct item *new = old ? items_find(&lm.config, &old->at) : NULL;

        if (!old) {
            merge_take_config(&lm);
        } else if (!new) {
            push_merged(&lm, old->node, NULL);
            lm.l++;
        } else if (lm.r < lm.config.n && new == &lm.config.v[lm.r]) {
            merge_take_config(&lm);
            lm.l++;
        } else if (lm.r < lm.config.n && lm.shared < lm.config.n && new != &lm.config.v[lm.shared]) {
            lm.l++;
        } else {
            if (lm.r == lm.config.n || new->is_merged)
                lm.l++;
            if (lm.r < lm.config.n)
                merge_take_config(&lm);
        }
    }
    return lm.out->n ? lm.out : NULL;
}

/* ---- values ---- */

static bool has_any(const struct json *live, const struct json *config, enum json_type type)
{
    return (json_is(live, type) && live->n) || (json_is(config, type) && config->n);
}

struct json *typed_merge(struct arena *a, const struct merge_type *type, const struct json *live,
                         const struct json *config)
{
    const struct json *winner = config ? config : live;
    struct merge_choice c = merge_choose(type, winner);

    if (c.as == AS_MAP && !c.atom.is_atomic_map && has_any(live, config, JSON_OBJECT))
        return merge_map(a, type, live, config);
    if (c.as == AS_LIST && !c.atom.is_atomic_list && has_any(live, config, JSON_ARRAY))
        return merge_list(a, type, live, config);
    return c.as == AS_NOTHING ? NULL : json_copy(a, winner);
}
