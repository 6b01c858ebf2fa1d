/* mask.c - sets of paths as a tree of keys */
#include "json/mask.h"

#include "base/util.h"
#include "json/json_internal.h"

static struct json_mask *child_new(struct arena *a, struct json_mask *m, struct str key)
{
    struct json_mask *child = arena_new(a, struct json_mask);

    child->key = key.p;
    child->key_n = (uint32_t)key.n;
    child->next = m->first;
    m->first = child;
    return child;
}

static struct json_mask *child_need(struct arena *a, struct json_mask *m, struct str key)
{
    for (struct json_mask *c = m->first; c; c = c->next)
        if (str_eq((struct str){ c->key, c->key_n }, key))
            return c;
    return child_new(a, m, key);
}

/* A member kept as a whole is kept at every depth, except the parts left out. */
static void mask_spread(struct json_mask *m)
{
    for (struct json_mask *c = m->first; c; c = c->next) {
        c->keeps_all |= m->keeps_all && !c->drops;
        mask_spread(c);
    }
}

struct json_mask *json_mask_make(struct arena *a, const char *const *paths)
{
    struct json_mask *m = arena_new(a, struct json_mask);
    bool any = false, only_drops = true;

    for (; *paths; paths++) {
        bool drops = **paths == '-';
        struct str rest = str_of(*paths + drops), key;
        struct json_mask *at = m;

        while (str_split(&rest, '.', &key))
            at = child_need(a, at, key);
        if (drops)
            at->drops = true;
        else
            at->keeps_all = true;
        any = true;
        only_drops &= drops;
    }
    m->keeps_all = any && only_drops;
    mask_spread(m);
    return m;
}

void json_mask_graft(struct arena *a, struct json_mask *m, const char *key, const struct json_mask *below)
{
    struct json_mask *child = child_need(a, m, str_of(key));

    child->keeps_all = below->keeps_all;
    child->first = below->first;
}

const struct json_mask *json_mask_below(const struct json_mask *m, struct str key, bool *ret_keeps)
{
    for (const struct json_mask *c = m->first; c; c = c->next)
        if (str_eq((struct str){ c->key, c->key_n }, key)) {
            *ret_keeps = !c->drops;
            return c->keeps_all && !c->first ? NULL : c;
        }
    *ret_keeps = m->keeps_all;
    return NULL;
}
