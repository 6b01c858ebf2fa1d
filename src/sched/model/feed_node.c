/* feed_node.c - Nodes */
#include "base/util.h"
#include "sched/model/feed_internal.h"
#include "sched/fit/fit.h"
#include "sched/fit/topology.h"

static const struct json *only(const struct json *j, enum json_type type)
{
    return json_is(j, type) ? j : NULL;
}

static bool has_keep_off(const struct json *taints)
{
    JSON_FOREACH(t, taints) {
        struct str effect = json_member_text(t, "effect");

        if (str_is(effect, "NoSchedule") || str_is(effect, "NoExecute"))
            return true;
    }
    return false;
}

struct node_news {
    const struct json *labels, *taints, *images, *has;
    bool is_unschedulable;
};

static void node_read(const struct json *root, struct node_news *ret)
{
    const struct json *spec = json_get(root, "spec"), *status = json_get(root, "status");

    ret->labels = only(json_find(root, "metadata", "labels", NULL), JSON_OBJECT);
    ret->taints = only(json_get(spec, "taints"), JSON_ARRAY);
    ret->images = only(json_get(status, "images"), JSON_ARRAY);
    ret->has = only(json_get(status, "allocatable"), JSON_OBJECT);
    ret->is_unschedulable = json_bool(json_get(spec, "unschedulable"), false);
}

/* A node tells that it lives every few seconds; that must cost nothing. */
static bool is_as_before(const struct sched_node *n, const struct node_news *news, bool *ret_only_images)
{
    bool same = n->exists && n->is_unschedulable == news->is_unschedulable && json_equal(n->labels, news->labels) &&
                json_equal(n->taints, news->taints) && json_equal(n->has, news->has);

    *ret_only_images = same;
    return same && json_equal(n->images, news->images);
}

static void feed_node_take_over(struct sched_model *m, struct sched_node *n, const struct node_news *news)
{
    arena_reset(&n->arena);
    n->labels = tree_keep(&n->arena, news->labels, JSON_OBJECT);
    n->taints = tree_keep(&n->arena, news->taints, JSON_ARRAY);
    n->images = tree_keep(&n->arena, news->images, JSON_ARRAY);
    n->has = tree_keep(&n->arena, news->has, JSON_OBJECT);
    n->is_unschedulable = news->is_unschedulable;
    n->takes_pods = !n->is_unschedulable && !has_keep_off(n->taints);
    n->total = (struct amounts){ 0 };
    for (int d = 0; d < m->n_dims; d++)
        n->total.v[d] = amount_of_node(&m->dims, d, n->has);
}

void node_put(struct sched_model *m, const struct json *root)
{
    struct head head;
    struct node_news news;
    struct sched_node *n;
    struct amounts old_total;
    bool only_images, other_labels, took_pods, existed;

    if (!head_read(root, &head))
        return;
    n = model_need_node(m, head.name);
    if (is_old_news(head.rev, n->rev))
        return;
    n->rev = head.rev;
    node_read(root, &news);
    if (is_as_before(n, &news, &only_images))
        return;
    existed = n->exists;
    took_pods = existed && n->takes_pods;
    old_total = n->total;
    other_labels = !json_equal(n->labels, news.labels);
    model_node_out(m, n);
    feed_node_take_over(m, n, &news);
    model_node_in(m, n);
    n->version++;
    fit_node_told(m, n);
    if (!existed || (other_labels && topology_uses_labels(m)))
        m->is_unordered = true;
    if (!only_images) {
        m->room_gen++;
        m->node_gen++;
    }
    if (took_pods != n->takes_pods || !amounts_equal(&old_total, &n->total, m->dims.n))
        m->shares_changed = true;
}

void node_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid)
{
    struct sched_node *n = model_node(m, name);

    if (!n || !n->exists)
        return;
    model_node_out(m, n);
    feed_node_take_over(m, n, &(struct node_news){ 0 });
    n->takes_pods = false;
    n->index = UINT32_MAX;
    n->rev = 0;
    n->version++;
    fit_node_told(m, n);
    m->is_unordered = true;
    m->node_gen++;
    m->room_gen++; /* a group may have been bound to it, or may now be placed elsewhere */
    m->shares_changed = true;
    model_release_node(m, n);
}
