/* map.h - hash maps from text, or from a 64-bit number, to a pointer
 *
 *     struct map pods;
 *     map_init(&pods, map_seed_default());
 *     map_put(&pods, pod->key, pod);
 *     MAP_FOREACH(struct pod *, pod, &pods)
 *         …
 *     map_done(&pods);
 *
 * Keys and values are borrowed: the bytes of a key must live and stay as they are while the map holds it. Usually the
 * key is a part of the value. No value is NULL; NULL means "not there".
 *
 * Where keys come from outside give a random seed: else a client can send keys that all collide. The order of iteration
 * follows from the seed and means nothing: sort before you show, list or place anything. A zeroed struct is a valid
 * empty map with seed 0.
 *
 * Putting and removing may move everything, so neither may happen while a map is walked, with one exception: the value
 * that map_next() gave last may be removed.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/str.h"

struct arena;
struct map_slot;

struct map {
    struct map_slot *slots; /* 'cap' of them, a power of two, or NULL */
    size_t n, cap;
    uint64_t seed;
};

struct map_iter {
    const struct map *map;
    size_t at, left;
    struct str key; /* of the value map_next() gave last (struct map) */
    uint64_t id;    /* the same (struct map_u64) */
};

/* From the operating system, another for each call. Tests use a constant instead and see the same order again. */
uint64_t map_seed_default(void);

void map_init(struct map *m, uint64_t seed);
void map_done(struct map *m);  /* release; the values are the caller's. The map is empty and usable again */
void map_clear(struct map *m); /* remove everything but keep the memory */

static inline size_t map_count(const struct map *m)
{
    return m->n;
}

/* NULL if the key is not there. */
void *map_get(const struct map *m, struct str key);

/* Put 'value' under 'key'. Where an equal key was there, both are replaced (the old key may be a part of the old
 * value) and the old value is returned; else NULL. */
void *map_put(struct map *m, struct str key, void *value);

/* A set of texts: put a copy of 'key' in the arena; false if it was there already. Its value means nothing. */
bool map_add(struct map *m, struct arena *a, struct str key);

/* Take a key out; returns its value, NULL if it was not there. */
void *map_remove(struct map *m, struct str key);

/* All values, each once:  struct map_iter it = map_iter(m);  while ((pod = map_next(&it))) …
 * NULL after the last. */
struct map_iter map_iter(const struct map *m);
void *map_next(struct map_iter *it);

/* The same as a loop; the key of this turn is item_it.key. 'break' and 'continue' work as usual. */
#define MAP_FOREACH(pointer_type, item, m)                                                                             \
    for (struct map_iter item##_it = map_iter(m), *item##_run = &item##_it; item##_run; item##_run = NULL)             \
        for (pointer_type item; (item = map_next(&item##_it));)

/* ---- numbers as keys ---- a type of its own so that the two are not mixed up ---- */

struct map_u64 {
    struct map map;
};

void map_u64_init(struct map_u64 *m, uint64_t seed);
void map_u64_done(struct map_u64 *m);
void *map_u64_get(const struct map_u64 *m, uint64_t id);
void *map_u64_put(struct map_u64 *m, uint64_t id, void *value);
void *map_u64_remove(struct map_u64 *m, uint64_t id);
static inline struct map_iter map_u64_iter(const struct map_u64 *m) /* then map_next() */
{
    return map_iter(&m->map);
}

/* ---- a map of one type ----
 *
 * MAP_OF(pod_map, struct pod); declares 'struct pod_map' with pod_map_init, _done, _get, _put, _remove and _count, so
 * that the compiler refuses another pointer. MAP_FOREACH(struct pod *, pod, &pods.map) walks it. */
#define MAP_OF(name, type)                                                                                             \
    struct name {                                                                                                      \
        struct map map;                                                                                                \
    };                                                                                                                 \
    __attribute__((unused)) static inline void name##_init(struct name *m, uint64_t seed)                              \
    {                                                                                                                  \
        map_init(&m->map, seed);                                                                                       \
    }                                                                                                                  \
    __attribute__((unused)) static inline void name##_done(struct name *m)                                             \
    {                                                                                                                  \
        map_done(&m->map);                                                                                             \
    }                                                                                                                  \
    __attribute__((unused)) static inline type *name##_get(const struct name *m, struct str key)                       \
    {                                                                                                                  \
        return map_get(&m->map, key);                                                                                  \
    }                                                                                                                  \
    __attribute__((unused)) static inline type *name##_put(struct name *m, struct str key, type *value)                \
    {                                                                                                                  \
        return map_put(&m->map, key, value);                                                                           \
    }                                                                                                                  \
    __attribute__((unused)) static inline type *name##_remove(struct name *m, struct str key)                          \
    {                                                                                                                  \
        return map_remove(&m->map, key);                                                                               \
    }                                                                                                                  \
    __attribute__((unused)) static inline size_t name##_count(const struct name *m)                                    \
    {                                                                                                                  \
        return m->map.n;                                                                                               \
    }                                                                                                                  \
    struct name /* so that the caller's ';' has something to end */

#endif
