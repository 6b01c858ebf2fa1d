/* admit_check.c - what the admission files share */
#include "api/admit/admit_internal.h"

#include "api/meta.h"
#include "api/name.h"
#include "base/util.h"
#include "json/schema.h"

#include <arpa/inet.h>

/* ---- text to number ---- */

/* A random seed: a client cannot send names that all collide. */
static struct name_slot *name_map_slot(const struct name_map *m, struct str key)
{
    size_t at = str_hash(key, (uint64_t)(uintptr_t)m->slots) & (m->cap - 1);

    while (m->slots[at].is_used && !str_eq(m->slots[at].key, key))
        at = (at + 1) & (m->cap - 1);
    return &m->slots[at];
}

static void name_map_grow(struct arena *a, struct name_map *m)
{
    struct name_map old = *m;

    m->cap = old.cap ? old.cap * 2 : 16;
    m->slots = arena_array(a, struct name_slot, m->cap);
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i].is_used)
            *name_map_slot(m, old.slots[i].key) = old.slots[i];
}

bool name_map_add(struct arena *a, struct name_map *m, struct str key, size_t value, size_t *ret_first)
{
    struct name_slot *slot;

    if (m->n * 2 >= m->cap)
        name_map_grow(a, m);
    slot = name_map_slot(m, key);
    if (slot->is_used) {
        if (ret_first)
            *ret_first = slot->value;
        return false;
    }
    *slot = (struct name_slot){ key, value, true };
    m->n++;
    return true;
}

bool name_map_find(const struct name_map *m, struct str key, size_t *ret_value)
{
    const struct name_slot *slot = m->cap ? name_map_slot(m, key) : NULL;

    if (!slot || !slot->is_used)
        return false;
    if (ret_value)
        *ret_value = slot->value;
    return true;
}

/* ---- reporting ---- */

/* Path and position: the same path may stand in another document of the same stream. */
static struct str place_key(struct arena *a, struct str path, uint32_t line, uint32_t col)
{
    return arena_fmt(a, "%.*s@%u:%u", STR_ARG(path), line, col);
}

static struct str place_key_of(struct arena *a, const struct place *at)
{
    const struct place *seen = at;

    while (!seen->node && seen->up)
        seen = seen->up;
    return place_key(a, place_path(a, at), seen->node ? seen->node->line : 0, seen->node ? seen->node->col : 0);
}

struct check check_begin(struct problems *ps, size_t start)
{
    struct check c = { .ps = ps, .arena = ps->arena, .start = start };

    for (size_t i = start; i < ps->list.n; i++) {
        const struct problem *p = &ps->list.v[i];

        if (p->level == PROBLEM_ERROR) /* twice is fine */
            (void)name_map_add(c.arena, &c.reported, place_key(c.arena, p->path, p->line, p->col), i, NULL);
    }
    return c;
}

bool check_is_full(const struct check *c)
{
    return c->ps->list.n >= 2 * PROBLEMS_MAX || c->ps->n_errors >= PROBLEMS_MAX;
}

void check_of(struct check *c, enum problem_kind kind, const struct place *at, const char *fmt, ...)
{
    va_list ap;

    if (kind > PROBLEM_UNKNOWN && check_is_full(c)) {
        problem_of(c->ps, kind, at, "more");
        return;
    }
    if (name_map_find(&c->reported, place_key_of(c->arena, at), NULL))
        return;
    va_start(ap, fmt);
    problem_of(c->ps, kind, at, "%s", arena_vfmt(c->arena, fmt, ap).p);
    va_end(ap);
}

void check_error_instead(struct check *c, const struct place *at, const char *fmt, ...)
{
    struct problem *said;
    struct str text;
    va_list ap;
    size_t i;

    va_start(ap, fmt);
    text = arena_vfmt(c->arena, fmt, ap);
    va_end(ap);
    if (!name_map_find(&c->reported, place_key_of(c->arena, at), &i)) {
        check_error(c, at, "%s", text.p);
        return;
    }
    said = &c->ps->list.v[i];
    said->text = text;
    if (said->kind != PROBLEM_SHAPE) /* those are counted */
        said->kind = PROBLEM_INVALID;
}

struct str check_hint(struct arena *a, struct str word, const char *const *names, size_t n)
{
    const char *near = suggest(word, names, n);

    return near ? arena_fmt(a, " (did you mean \"%s\"?)", near) : STR("");
}

/* ---- walking ---- */

bool place_text(const struct place *up, const char *key, struct str *ret)
{
    *ret = json_member_text(up->node, key);
    return !str_empty(*ret);
}

bool place_int(const struct place *up, const char *key, int64_t *ret)
{
    return json_to_i64(json_get(up->node, key), ret) == 0;
}

struct str place_pattern(struct arena *a, const struct place *at, const struct place *top)
{
    struct str above;

    if (at == top || !at->up)
        return STR("");
    above = place_pattern(a, at->up, top);
    if (!at->key.p)
        return arena_fmt(a, "%.*s[]", STR_ARG(above));
    return arena_fmt(a, "%.*s%s%.*s", STR_ARG(above), above.n ? "." : "", STR_ARG(at->key));
}

/* ---- rules used in many places ---- */

void check_name(struct check *c, const struct place *at, name_check_f is_valid)
{
    struct str text = json_text(at->node, STR(""));
    const char *why = str_empty(text) ? NULL : is_valid(c->arena, text);

    if (why)
        check_error(c, at, "%s", why);
}

void check_member_name(struct check *c, const struct place *up, const char *key, name_check_f is_valid)
{
    struct place at = place_member(up, key);

    check_name(c, &at, is_valid);
}

bool check_required(struct check *c, const struct place *up, const char *key)
{
    struct place at = place_member(up, key);

    if (is_set(at.node) && !(json_is(at.node, JSON_STRING) && at.node->n == 0))
        return true;
    check_of(c, PROBLEM_REQUIRED, &at, "is required");
    return false;
}

void check_range(struct check *c, const struct place *up, const char *key, int64_t min, int64_t max)
{
    struct place at = place_member(up, key);
    int64_t v;

    if (json_to_i64(at.node, &v) < 0 || (v >= min && v <= max))
        return;
    if (max == INT64_MAX)
        check_error(c, &at, "must be at least %lld (got %lld)", (long long)min, (long long)v);
    else
        check_error(c, &at, "must be between %lld and %lld (got %lld)", (long long)min, (long long)max, (long long)v);
}

static struct str join_keys(struct arena *a, const char *const *keys, size_t n)
{
    struct str all = STR("");

    for (size_t i = 0; i < n; i++)
        all = arena_fmt(a, "%.*s%s%s", STR_ARG(all), i ? ", " : "", keys[i]);
    return all;
}

int check_at_most_one(struct check *c, const struct place *up, const char *const *keys, size_t n, const char *what)
{
    int found = -1;

    for (size_t i = 0; i < n; i++) {
        struct place at = place_member(up, keys[i]);

        if (!is_set(at.node))
            continue;
        if (found >= 0)
            check_error(c, &at, "may not specify more than one %s: %s is set already", what, keys[found]);
        else
            found = (int)i;
    }
    return found;
}

int check_one_of(struct check *c, const struct place *up, const char *const *keys, size_t n, const char *what)
{
    int found = check_at_most_one(c, up, keys, n, what);

    if (found < 0)
        check_error(c, up, "must specify a %s: one of %.*s", what, STR_ARG(join_keys(c->arena, keys, n)));
    return found;
}

void check_labels(struct check *c, const struct place *labels)
{
    PLACE_FOREACH(label, labels) {
        const char *why = name_check_qualified(c->arena, label.key);

        if (why)
            check_error(c, &label, "the key %s", why);
        else
            check_name(c, &label, name_check_label_value);
    }
}

void check_annotations(struct check *c, const struct place *annotations)
{
    size_t bytes = 0;

    PLACE_FOREACH(item, annotations) {
        const char *why = name_check_qualified(c->arena, arena_lower(c->arena, item.key));

        if (why)
            check_error(c, &item, "the key %s", why);
        bytes += item.key.n + json_text(item.node, STR("")).n;
    }
    if (bytes > 256 * 1024) /* Kubernetes' limit on all annotations of an object */
        check_error(c, annotations, "must have at most 262144 bytes in all (got %zu)", bytes);
}

bool check_quantity(struct check *c, const struct place *at, struct quantity *ret)
{
    struct err e = { 0 };

    if (!json_is(at->node, JSON_STRING) && !json_is(at->node, JSON_NUMBER))
        return false;
    if (quantity_parse((struct str){ at->node->text, at->node->n }, ret, &e) < 0) {
        check_error(c, at, "%s", e.text);
        return false;
    }
    if (ret->nano < 0) {
        check_error(c, at, "must not be negative (got %.*s)", (int)at->node->n, at->node->text);
        return false;
    }
    return true;
}

void check_topology(struct check *c, const struct place *topology, struct str group)
{
    struct place by_name = place_member(topology, "highestTierName");
    struct str name;

    if (place_text(topology, "highestTierName", &name) && is_set(json_get(topology->node, "highestTierAllowed")))
        check_error(c, &by_name,
                    "%smust not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously. "
                    "Remove one of them",
                    group.n ? arena_fmt(c->arena, "in subGroupPolicy '%.*s': ", STR_ARG(group)).p : "");
}

void default_text(struct arena *a, struct json *j, const char *key, struct str value, uint8_t mark)
{
    const struct json *have = json_get(j, key);

    if (is_set(have) && !(have->type == JSON_STRING && have->n == 0))
        return;
    json_mark(json_set(j, key, json_str(a, value)), mark);
}

void default_topology(struct arena *a, struct json *topology, uint8_t mark)
{
    if (json_is(topology, JSON_OBJECT) && !is_set(json_get(topology, "mode"))) /* "" is refused, as by Volcano's CRD */
        json_mark(json_set(topology, "mode", json_str(a, STR("hard"))), mark);
}

void check_queue_open(struct check *c, const struct place *at, const struct admit_env *env, bool is_job)
{
    struct str name = json_text(at->node, STR("")), state;
    const struct json *queue;

    if (str_empty(name) || !env->find_queue)
        return;
    queue = env->find_queue(env->ctx, name);
    state = json_member_text(json_get(queue, "status"), "state");
    if (!queue)
        check_error(c, at, "unable to find %squeue: " QUEUE_NOT_FOUND ": create it or use another one",
                    is_job ? "job " : "", STR_ARG(name));
    else if (!str_empty(state) && !str_is(state, "Open")) /* B54: a new queue has no state yet; it is open */
        check_error(c, at, "can only submit %s to queue with state `Open`, queue `%.*s` status is `%.*s`",
                    is_job ? "job" : "PodGroup", STR_ARG(name), STR_ARG(state));
}

struct children_walk {
    struct arena *arena;
    struct str parent;
    struct queue_children found;
};

static void add_child(void *arg, const struct json *queue)
{
    enum { NAMES_MAX = 16 }; /* more are only counted */
    struct children_walk *w = arg;

    if (!str_eq(json_member_text(json_get(queue, "spec"), "parent"), w->parent))
        return;
    if (w->found.n++ < NAMES_MAX)
        w->found.names = arena_fmt(w->arena, "%.*s%s%.*s", STR_ARG(w->found.names), w->found.n > 1 ? ", " : "",
                                   STR_ARG(object_name(queue)));
}

struct queue_children queue_children(struct arena *a, const struct admit_env *env, struct str parent)
{
    struct children_walk w = { .arena = a, .parent = parent, .found.names = STR("") };

    if (env->each_queue)
        env->each_queue(env->ctx, add_child, &w);
    return w.found;
}

void check_no_dotdot(struct check *c, const struct place *at)
{
    struct str rest = json_text(at->node, STR("")), part;

    while (str_split(&rest, '/', &part))
        if (str_eq(part, STR(".."))) {
            check_error(c, at, "must not contain '..'");
            return;
        }
}

void check_inner_path(struct check *c, const struct place *at)
{
    struct str path = json_text(at->node, STR(""));

    if (path.n && path.p[0] == '/')
        check_error(c, at, "must be a relative path (got \"%.*s\")", STR_ARG(path));
    else
        check_no_dotdot(c, at);
}

bool text_is_ip(struct str s)
{
    char text[INET6_ADDRSTRLEN + 1];
    unsigned char raw[16];

    if (s.n == 0 || s.n >= sizeof(text) || memchr(s.p, '\0', s.n))
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    return inet_pton(AF_INET, text, raw) == 1 || inet_pton(AF_INET6, text, raw) == 1;
}
