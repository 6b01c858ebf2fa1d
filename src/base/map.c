/* map.c - open addressing with linear probing
 *
 * A key sits in the slot its hash says (its home) or in the next free one after it, going round at the end. So between
 * a key's home and its slot there is never an empty slot; a search stops at the first. Removing closes the gap by
 * moving later keys back: there are no tombstones, and a map that stays small stays fast.
 *
 * Both kinds of map share the slots. A number is kept as a key without bytes whose length is the number; text without
 * bytes has length 0, so one comparison serves both.
 */
#include "base/map_internal.h"

#include "base/arena.h"
#include "base/rand.h"
#include "base/util.h"

#include <assert.h>

uint64_t map_seed_default(void)
{
    return rand_os_u64();
}

void map_init(struct map *m, uint64_t seed)
{
    *m = (struct map){ .seed = seed };
}

void map_done(struct map *m)
{
    free(m->slots);
    *m = (struct map){ .seed = m->seed };
}

void map_clear(struct map *m)
{
    if (m->cap)
        memset(m->slots, 0, m->cap * sizeof(*m->slots));
    m->n = 0;
}

static uint64_t map_hash_text(const struct map *m, struct str key)
{
    return str_hash(key, m->seed) | (uint64_t)1 << 63;
}

static uint64_t hash_id(const struct map *m, uint64_t id)
{
    return str_hash((struct str){ (const char *)&id, sizeof(id) }, m->seed) | (uint64_t)1 << 63;
}

static struct str key_of_id(uint64_t id)
{
    _Static_assert(sizeof(size_t) >= sizeof(uint64_t), "a number must fit into a length");
    return (struct str){ NULL, id };
}

static bool same_key(struct str a, struct str b)
{
    return a.n == b.n && (!a.p || !b.p || memcmp(a.p, b.p, a.n) == 0);
}

/* Where the key is, or the empty slot where it would go. There is always an empty slot. */
static size_t map_find(const struct map *m, uint64_t hash, struct str key)
{
    size_t mask = m->cap - 1, i = hash & mask;

    while (m->slots[i].hash && (m->slots[i].hash != hash || !same_key(m->slots[i].key, key)))
        i = (i + 1) & mask;
    return i;
}

static void map_grow(struct map *m)
{
    struct map old = *m;

    m->cap = old.cap ? old.cap * 2 : MAP_CAP_MIN;
    m->slots = xcalloc(m->cap, sizeof(*m->slots));
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i].hash)
            m->slots[map_find(m, old.slots[i].hash, old.slots[i].key)] = old.slots[i];
    free(old.slots);
}

static void *base_map_get(const struct map *m, uint64_t hash, struct str key)
{
    return m->n ? m->slots[map_find(m, hash, key)].value : NULL; /* the value of an empty slot is NULL */
}

static void *base_map_put(struct map *m, uint64_t hash, struct str key, void *value)
{
    struct map_slot *slot;
    void *old;

    assert(value);
    if (m->n >= m->cap / 4 * 3) /* beyond three quarters linear probing gets slow */
        map_grow(m);
    slot = &m->slots[map_find(m, hash, key)];
    old = slot->value;
    m->n += !old;
    *slot = (struct map_slot){ hash, key, value };
    return old;
}

static void *map_take(struct map *m, uint64_t hash, struct str key)
{
    size_t mask = m->cap - 1, gap;
    void *value;

    if (!m->n)
        return NULL;
    gap = map_find(m, hash, key);
    value = m->slots[gap].value;
    if (!value)
        return NULL;
    for (size_t i = (gap + 1) & mask; m->slots[i].hash; i = (i + 1) & mask) {
        size_t from_home = (i - m->slots[i].hash) & mask, from_gap = (i - gap) & mask;

        if (from_home >= from_gap) { /* its home is the gap or before it: it may move back */
            m->slots[gap] = m->slots[i];
            gap = i;
        }
    }
    m->slots[gap] = (struct map_slot){ 0 };
    m->n--;
    return value;
}

void *map_get(const struct map *m, struct str key)
{
    return base_map_get(m, map_hash_text(m, key), key);
}

void *map_put(struct map *m, struct str key, void *value)
{
    return base_map_put(m, map_hash_text(m, key), key, value);
}

bool map_add(struct map *m, struct arena *a, struct str key)
{
    if (map_get(m, key))
        return false;
    (void)map_put(m, arena_str(a, key), m); /* it was not there */
    return true;
}

void *map_remove(struct map *m, struct str key)
{
    return map_take(m, map_hash_text(m, key), key);
}

/* Walk down from an empty slot. Removing a value moves only keys of the same run, from higher slots, which were seen
 * already; no run crosses the empty slot where the walk began. */
struct map_iter map_iter(const struct map *m)
{
    struct map_iter it = { .map = m, .left = m->n ? m->cap : 0 };

    while (it.left && m->slots[it.at].hash)
        it.at++;
    return it;
}

void *map_next(struct map_iter *it)
{
    while (it->left) {
        const struct map_slot *slot;

        it->left--;
        it->at = (it->at - 1) & (it->map->cap - 1);
        slot = &it->map->slots[it->at];
        if (slot->hash) {
            it->key = slot->key;
            it->id = slot->key.n;
            return slot->value;
        }
    }
    return NULL;
}

void map_u64_init(struct map_u64 *m, uint64_t seed)
{
    map_init(&m->map, seed);
}

void map_u64_done(struct map_u64 *m)
{
    map_done(&m->map);
}

void *map_u64_get(const struct map_u64 *m, uint64_t id)
{
    return base_map_get(&m->map, hash_id(&m->map, id), key_of_id(id));
}

void *map_u64_put(struct map_u64 *m, uint64_t id, void *value)
{
    return base_map_put(&m->map, hash_id(&m->map, id), key_of_id(id), value);
}

void *map_u64_remove(struct map_u64 *m, uint64_t id)
{
    return map_take(&m->map, hash_id(&m->map, id), key_of_id(id));
}
