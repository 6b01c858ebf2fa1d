/* feed_queue.c - Queues, PriorityClasses, PodDisruptionBudgets, Namespaces */
#include "api/selector.h"
#include "base/util.h"
#include "sched/model/feed_internal.h"
#include "sched/fit/fit.h"
#include "sched/queue/share.h"

/* ---- Queue ---- */

static void touch_groups(struct sched_model *m, struct sched_queue *q)
{
    LIST_FOREACH(struct sched_group, g, &q->groups, in_queue)
        model_touch(m, g);
    m->shares_changed = true;
    m->room_gen++;
}

static void read_amounts(struct sched_model *m, struct sched_queue *q, const struct json *spec)
{
    const struct json *deserved = json_get(spec, "deserved");

    amounts_from_json(&m->dims, json_get(spec, "capability"), &q->capability, NULL);
    amounts_from_json(&m->dims, json_find(spec, "guarantee", "resource", NULL), &q->guarantee, NULL);
    q->has_deserved = json_is(deserved, JSON_OBJECT) && json_count(deserved) > 0;
    if (q->has_deserved)
        amounts_fill(&q->deserved, -1);
    amounts_from_json(&m->dims, deserved, &q->deserved, NULL);
}

static void read_queue(struct sched_model *m, struct sched_queue *q, const struct json *root)
{
    const struct json *meta = json_get(root, "metadata"), *spec = json_get(root, "spec");
    struct str state = json_member_text(json_get(root, "status"), "state");

    queue_reset(q);
    q->exists = true;
    q->is_open = str_empty(state) || str_is(state, "Open");
    q->is_fifo = str_is(json_member_text(spec, "dequeueStrategy"), "fifo");
    q->is_reclaimable = json_bool(json_get(spec, "reclaimable"), true);
    q->weight = number_of(json_get(spec, "weight"), 1, 65535, 1);
    q->priority = int32_of(json_i64(json_get(spec, "priority"), 0));
    q->parent_name = arena_str(&q->spec_arena, json_member_text(spec, "parent"));
    q->affinity = tree_keep(&q->spec_arena, json_get(spec, "affinity"), JSON_OBJECT);
    q->created_ms = time_of(json_get(meta, "creationTimestamp"));
    read_amounts(m, q, spec);
}

static uint64_t queue_look(const struct json *root)
{
    uint64_t h = tree_hash(json_get(root, "spec"), NULL);

    h = hash_text(h, json_member_text(json_get(root, "status"), "state"));
    return hash_text(h, json_member_text(json_get(root, "metadata"), "creationTimestamp"));
}

void queue_put(struct sched_model *m, const struct json *root)
{
    struct head head;
    struct sched_queue *q;
    uint64_t hash = queue_look(root), said;

    if (!head_read(root, &head))
        return;
    q = model_need_queue(m, head.name);
    if (q->exists && is_old_news(head.rev, q->rev))
        return;
    if (!q->exists || q->hash != hash) {
        if (!q->exists || !str_eq(q->parent_name, json_member_text(json_get(root, "spec"), "parent")))
            m->queues_changed = true;
        read_queue(m, q, root);
        q->hash = hash;
        touch_groups(m, q);
    }
    q->rev = head.rev;
    said = hash_of_status(json_find(root, "status", "allocated", NULL));
    m->shares_changed |= said != q->written; /* another write replaced ours: an older one that came late, … */
    q->written = said;
}

void queue_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid)
{
    struct sched_queue *q = model_queue(m, name);

    if (!q || !q->exists)
        return;
    queue_reset(q);
    touch_groups(m, q);
    m->queues_changed = true;
    if (q->children.n) /* they hang below root from now on */
        share_link(m);
    model_release_queue(m, q);
}

/* ---- PriorityClass ---- */

static int32_t default_of(const struct sched_model *m)
{
    const struct sched_priority *least = NULL; /* of several defaults the lowest counts, as in Kubernetes */

    MAP_FOREACH(struct sched_priority *, c, &m->priorities)
        if (c->is_default && (!least || c->value < least->value))
            least = c;
    return least ? least->value : 0;
}

/* PriorityClasses hardly ever change; then everything that follows one is looked at. */
static void priorities_changed(struct sched_model *m)
{
    m->default_priority = default_of(m);
    MAP_FOREACH(struct sched_group *, g, &m->groups) {
        bool is_changed = group_set_priority(m, g);

        VEC_FOREACH(r, &g->roles)
            if ((*r)->class)
                is_changed |= role_set_priority(m, *r);
        if (is_changed)
            model_touch(m, g);
    }
    MAP_FOREACH(struct sched_pod *, p, &m->pods)
        if (pod_set_priority(m, p) && p->group)
            model_touch(m, p->group);
    m->room_gen++; /* the order is another */
}

void priority_put(struct sched_model *m, const struct json *root)
{
    struct sched_priority told = { 0 }, *c;
    struct head head;
    char *text;

    if (!head_read(root, &head))
        return;
    told.value = int32_of(json_i64(json_get(root, "value"), 0));
    told.is_default = json_bool(json_get(root, "globalDefault"), false);
    told.never_preempts = str_is(json_member_text(root, "preemptionPolicy"), "Never");
    c = map_get(&m->priorities, head.name);
    if (c && c->value == told.value && c->is_default == told.is_default && c->never_preempts == told.never_preempts)
        return;
    if (!c) {
        c = xcalloc(1, sizeof(*c) + head.name.n + 1);
        text = (char *)(c + 1);
        memcpy(text, head.name.p, head.name.n);
        told.name = (struct str){ text, head.name.n };
        map_put(&m->priorities, told.name, c);
    } else {
        told.name = c->name;
    }
    *c = told;
    priorities_changed(m);
}

void priority_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid)
{
    struct sched_priority *c = map_remove(&m->priorities, name);

    if (!c)
        return;
    free(c);
    priorities_changed(m);
}

/* ---- PodDisruptionBudget ---- */

/* 3, or "25%". */
static int64_t count_or_percent(const struct json *j, bool *is_percent)
{
    struct str text = json_text(j, STR_NULL);
    int64_t v;

    if (json_is(j, JSON_NUMBER))
        return number_of(j, 0, INT32_MAX, -1);
    if (!str_ends(text, STR("%")) || str_to_i64(str_sub(text, 0, text.n - 1), &v) < 0 || v < 0 || v > 100)
        return -1;
    *is_percent = true;
    return v;
}

static void read_budget(struct sched_budget *b, const struct json *spec)
{
    const struct json *selector = json_get(spec, "selector");

    arena_reset(&b->arena);
    b->selector = NULL; /* without one it is about no pod */
    if (json_is(selector, JSON_OBJECT)) {
        selector = tree_keep(&b->arena, selector, JSON_OBJECT);
        if (selector_from_json(&b->arena, selector, &b->selector, NULL) < 0)
            b->selector = NULL;
    }
    b->is_percent = false;
    b->min_available = count_or_percent(json_get(spec, "minAvailable"), &b->is_percent);
    b->max_unavailable = b->min_available >= 0 ? -1
                                               : count_or_percent(json_get(spec, "maxUnavailable"), &b->is_percent);
}

static struct sched_budget *budget_new(struct sched_model *m, struct str namespace, struct str key)
{
    struct sched_budget *b = xcalloc(1, sizeof(*b) + key.n + 1);
    char *text = (char *)(b + 1);

    memcpy(text, key.p, key.n);
    b->key = (struct str){ text, key.n };
    b->namespace = str_sub(b->key, 0, namespace.n);
    map_put(&m->budgets, b->key, b);
    return b;
}

void budget_put(struct sched_model *m, const struct json *root)
{
    const struct json *status = json_get(root, "status"), *allowed = json_get(status, "disruptionsAllowed");
    uint64_t hash = tree_hash(json_get(root, "spec"), NULL);
    uint64_t status_hash = hash_mix(hash_of_status(status),
                                    json_is(allowed, JSON_NUMBER)); /* none is not the same as 0 */
    struct sched_budget *b;
    struct head head;
    struct str key;

    if (!head_read(root, &head))
        return;
    key = key_of(m, head.namespace, head.name);
    b = map_get(&m->budgets, key);
    if (!b)
        b = budget_new(m, head.namespace, key);
    if (b->hash == hash && b->status_hash == status_hash)
        return;
    if (b->hash != hash)
        read_budget(b, json_get(root, "spec"));
    if (b->status_hash != status_hash)
        b->taken = 0; /* what we took is in the new numbers, or will be */
    b->hash = hash;
    b->status_hash = status_hash;
    b->has_status = json_is(allowed, JSON_NUMBER);
    b->allowed = number_of(allowed, 0, INT32_MAX, 0);
    m->room_gen++;
}

void budget_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid)
{
    struct sched_budget *b = map_remove(&m->budgets, key_of(m, namespace, name));

    if (!b)
        return;
    arena_done(&b->arena);
    free(b);
    m->room_gen++;
}

/* ---- Namespace ---- */

static void namespace_drop(struct sched_model *m, struct sched_namespace *n)
{
    map_remove(&m->namespaces, n->name);
    arena_done(&n->arena);
    free(n);
}

void namespace_put(struct sched_model *m, const struct json *root)
{
    const struct json *labels = json_find(root, "metadata", "labels", NULL);
    struct sched_namespace *n;
    struct head head;
    struct str queue;
    bool same_labels;

    if (!head_read(root, &head))
        return;
    labels = json_is(labels, JSON_OBJECT) ? labels : NULL;
    queue = json_member_text(json_get(head.meta, "annotations"), "scheduling.volcano.sh/queue-name");
    n = map_get(&m->namespaces, head.name);
    same_labels = n && json_equal(n->labels, labels);
    if (n && same_labels && str_eq(n->queue, queue))
        return;
    if (n)
        namespace_drop(m, n);
    n = xcalloc(1, sizeof(*n));
    n->name = arena_str(&n->arena, head.name);
    n->queue = arena_str(&n->arena, queue);
    n->labels = tree_keep(&n->arena, labels, JSON_OBJECT);
    map_put(&m->namespaces, n->name, n);
    if (same_labels)
        return;
    fit_namespaces_changed(m);
    m->room_gen++;
}

void namespace_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid)
{
    struct sched_namespace *n = map_get(&m->namespaces, name);

    if (!n)
        return;
    namespace_drop(m, n);
    fit_namespaces_changed(m);
}
