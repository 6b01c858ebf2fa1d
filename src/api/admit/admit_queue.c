/* admit_queue.c - Queues: defaults, amounts, and their place in the hierarchy
 *
 * The numbers of the rules are those of the table there. For the sums all queues are gathered once into a tree in
 * which the queue under admission stands with its new values.
 */
#include "api/admit/admit_internal.h"

#include "api/meta.h"
#include "api/pod/resources.h"
#include "api/schema/schemas.h"
#include "base/util.h"
#include "json/members.h"

#include <math.h>

#define QUEUE_DEPTH_MAX 5 /* upstream's --max-queue-depth; a child of root has depth 1 */
#define NONE            SIZE_MAX

static const char hierarchy_key[] = "volcano.sh/hierarchy", weights_key[] = "volcano.sh/hierarchy-weights";

enum admit_queue_amount { CAPABILITY, DESERVED, GUARANTEE, AMOUNT_MAX };

static const char *const amount_names[AMOUNT_MAX] = { "capability", "deserved", "guarantee" };

static const struct json *admit_queue_amount_of(const struct json *queue, enum admit_queue_amount kind)
{
    const struct json *j = json_find(queue, "spec", amount_names[kind], NULL);

    return kind == GUARANTEE ? json_get(j, "resource") : j;
}

static bool is_root_name(struct str name)
{
    return str_eq(name, STR("root"));
}

/* ---- defaults ---- */

static void prefix_text(struct arena *a, struct json *j, const char *key, const char *prefix, uint8_t mark)
{
    struct json *text = json_fmt(a, "%s%.*s", prefix, STR_ARG(json_member_text(j, key)));

    json_mark(json_set(j, key, text), mark);
}

static void default_hierarchy(struct arena *a, struct json *queue, uint8_t mark)
{
    struct json *annotations = json_find(queue, "metadata", "annotations", NULL);
    struct str path = json_member_text(annotations, hierarchy_key);

    if (str_empty(path) || json_member_text(annotations, weights_key).n == 0)
        return;
    if (is_root_name(path) || str_starts(path, STR("root/")))
        return;
    prefix_text(a, annotations, hierarchy_key, "root/", mark);
    prefix_text(a, annotations, weights_key, "1/", mark);
}

static void queue_defaults(struct arena *a, struct json *queue, const struct admit_env *env)
{
    struct json *spec = json_get(queue, "spec");
    int64_t weight;

    if (!json_is(queue, JSON_OBJECT))
        return;
    default_hierarchy(a, queue, env->mark);
    if (!is_set(spec))
        spec = json_mark(json_set(queue, "spec", json_object(a)), env->mark);
    if (!json_is(spec, JSON_OBJECT))
        return;
    if (!is_set(json_get(spec, "reclaimable")))
        json_mark(json_set(spec, "reclaimable", json_bool_new(a, true)), env->mark);
    if (!is_set(json_get(spec, "weight")) || (json_to_i64(json_get(spec, "weight"), &weight) == 0 && weight == 0))
        json_mark(json_set(spec, "weight", json_int(a, 1)), env->mark);
}

/* ---- the tree of queues ---- */

struct queue_node {
    struct str name, parent; /* a parent that is not given is root */
    const struct json *json;
    size_t first_child, next; /* positions, NONE at the end */
    bool is_seen;
};

struct queue_tree {
    struct arena *arena;
    VEC(struct queue_node) all;
    struct name_map by_name;
};

struct queue_check {
    struct check *c;
    const struct admit_env *env;
    const struct place *root; /* the queue itself */
    struct str name, parent;
    struct queue_tree tree;
    size_t self;                             /* position in the tree */
    struct json_members written[AMOUNT_MAX]; /* by resource: errors name the place of each amount */
};

static struct str admit_queue_parent_of(const struct json *queue)
{
    struct str parent = json_member_text(json_get(queue, "spec"), "parent");

    return parent.n ? parent : STR("root");
}

static void tree_add(void *arg, const struct json *queue)
{
    struct queue_tree *t = arg;
    struct str name = object_name(queue);

    if (str_empty(name) || !name_map_add(t->arena, &t->by_name, name, t->all.n, NULL))
        return; /* the one under admission came first and stays */
    *vec_push(t->arena, &t->all) = (struct queue_node){
        .name = name, .parent = admit_queue_parent_of(queue), .json = queue, .first_child = NONE, .next = NONE
    };
}

static void tree_gather(struct queue_check *qc)
{
    struct queue_tree *t = &qc->tree;
    size_t parent;

    t->arena = qc->c->arena;
    tree_add(t, qc->root->node);
    if (qc->env->each_queue)
        qc->env->each_queue(qc->env->ctx, tree_add, t);
    for (size_t i = 0; i < t->all.n; i++) {
        struct queue_node *node = &t->all.v[i];

        if (is_root_name(node->name) || !name_map_find(&t->by_name, node->parent, &parent) || parent == i)
            continue;
        node->next = t->all.v[parent].first_child;
        t->all.v[parent].first_child = i;
    }
}

static const struct json *tree_find(const struct queue_check *qc, struct str name)
{
    size_t at;

    if (name_map_find(&qc->tree.by_name, name, &at))
        return qc->tree.all.v[at].json;
    return qc->env->find_queue ? qc->env->find_queue(qc->env->ctx, name) : NULL;
}

struct queue_below {
    size_t at;
    size_t depth; /* 1: a child */
};

struct queue_list {
    VEC(struct queue_below) list;
};

static void add_children(struct queue_tree *t, size_t at, size_t depth, struct queue_list *ret)
{
    for (size_t i = t->all.v[at].first_child; i != NONE; i = t->all.v[i].next)
        if (!t->all.v[i].is_seen) { /* stored queues may form a circle */
            t->all.v[i].is_seen = true;
            *vec_push(t->arena, &ret->list) = (struct queue_below){ i, depth };
        }
}

/* All queues below 'top', level by level. */
static void tree_below(struct queue_tree *t, size_t top, struct queue_list *ret)
{
    t->all.v[top].is_seen = true;
    add_children(t, top, 1, ret);
    for (size_t i = 0; i < ret->list.n; i++)
        add_children(t, ret->list.v[i].at, ret->list.v[i].depth + 1, ret);
    VEC_FOREACH(item, &ret->list)
        t->all.v[item->at].is_seen = false;
    t->all.v[top].is_seen = false;
}

/* ---- reporting at one amount ---- */

static void amount_error(struct queue_check *qc, enum admit_queue_amount kind, struct str resource, const char *fmt,
                         ...) __attribute__((format(printf, 4, 5)));

static void amount_error(struct queue_check *qc, enum admit_queue_amount kind, struct str resource, const char *fmt,
                         ...)
{
    struct place spec = place_member(qc->root, "spec"), outer = place_member(&spec, amount_names[kind]);
    struct place inner = place_member(&outer, "resource"), *list = kind == GUARANTEE ? &inner : &outer;
    struct place at = { list, json_members_get(&qc->written[kind], resource), resource, 0 };
    va_list ap;

    va_start(ap, fmt);
    check_error(qc->c, &at, "%s", arena_vfmt(qc->c->arena, fmt, ap).p);
    va_end(ap);
}

static struct str admit_queue_shown(struct arena *a, struct quantity q)
{
    autobuf out = { 0 };

    quantity_print(&out, q);
    return arena_str(a, buf_view(&out));
}

/* "[cpu]=2"; without an amount "[cpu]". */
static struct str pair(struct arena *a, struct str resource, const struct quantity *q)
{
    return q ? arena_fmt(a, "[%.*s]=%.*s", STR_ARG(resource), STR_ARG(admit_queue_shown(a, *q)))
             : arena_fmt(a, "[%.*s]", STR_ARG(resource));
}

/* ---- rules 1 to 3: the amounts of one queue ---- */

static void check_amounts(struct queue_check *qc)
{
    struct place spec = place_member(qc->root, "spec"), guarantee = place_object(&spec, "guarantee");
    struct place lists[AMOUNT_MAX] = { place_object(&spec, "capability"), place_object(&spec, "deserved"),
                                       place_object(&guarantee, "resource") };
    struct resources amounts[AMOUNT_MAX] = { 0 };

    for (int kind = 0; kind < AMOUNT_MAX; kind++) {
        resource_list_rules(qc->c, &lists[kind], false);
        resources_from_json(qc->c->arena, lists[kind].node, &amounts[kind]);
        json_members_init(&qc->written[kind], lists[kind].node, json_count(lists[kind].node));
    }
    VEC_FOREACH(r, &amounts[GUARANTEE].list) {
        const struct quantity *deserved = resources_get(&amounts[DESERVED], r->name);

        if (!deserved || quantity_cmp(r->q, *deserved) > 0)
            amount_error(qc, DESERVED, r->name, "deserved%.*s must be >= guarantee%.*s",
                         STR_ARG(pair(qc->c->arena, r->name, deserved)), STR_ARG(pair(qc->c->arena, r->name, &r->q)));
    }
    VEC_FOREACH(r, &amounts[DESERVED].list) {
        const struct quantity *most = resources_get(&amounts[CAPABILITY], r->name);

        if (most && quantity_cmp(r->q, *most) > 0)
            amount_error(qc, DESERVED, r->name, "deserved%.*s must be <= capability%.*s",
                         STR_ARG(pair(qc->c->arena, r->name, &r->q)), STR_ARG(pair(qc->c->arena, r->name, most)));
    }
}

/* ---- rule 4: state ---- */

/* An update of the spec carries the stored state along, whatever it is: only a change of it is looked at. */
static void check_state(struct queue_check *qc, const struct json *old)
{
    struct place status = place_object(qc->root, "status"), at = place_member(&status, "state");
    struct str state = json_text(at.node, STR(""));

    if (old && str_eq(state, json_member_text(json_get(old, "status"), "state")))
        return;
    if (state.n && !str_is(state, "Open") && !str_is(state, "Closed"))
        check_error(qc->c, &at,
                    "queue state must be in [Open Closed] (got \"%.*s\"): the controller sets the other states",
                    STR_ARG(state));
}

/* ---- rule 5: hierarchy annotations ---- */

static size_t count_parts(struct str s) /* of "" one, which is empty */
{
    size_t n = 1;

    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == '/';
    return n;
}

static bool is_number(struct arena *a, struct str s, double *ret)
{
    const char *text = arena_cstr(a, s);
    char *end;

    *ret = strtod(text, &end);
    return s.n && end == text + s.n && isfinite(*ret);
}

static void check_weights(struct queue_check *qc, const struct place *at)
{
    struct str all = json_text(at->node, STR("")), rest = all, part;
    double v;

    for (size_t n = count_parts(all); n > 0; n--) {
        if (!str_split(&rest, '/', &part))
            part = STR("");
        if (!is_number(qc->c->arena, part, &v))
            check_error(qc->c, at,
                        "%.*s in the %.*s is invalid number: strconv.ParseFloat: parsing \"%.*s\": invalid syntax",
                        STR_ARG(part), STR_ARG(all), STR_ARG(part));
        else if (v <= 0)
            check_error(qc->c, at, "%.*s in the %.*s must be larger than 0", STR_ARG(part), STR_ARG(all));
        else
            continue;
        return;
    }
}

static void check_hierarchy(struct queue_check *qc)
{
    struct place meta = place_object(qc->root, "metadata"), annotations = place_object(&meta, "annotations");
    struct place at = place_member(&annotations, hierarchy_key), weights = place_member(&annotations, weights_key);
    struct str path = json_text(at.node, STR("")), weight_text = json_text(weights.node, STR("")), prefix;

    if (str_empty(path) && str_empty(weight_text))
        return;
    if (count_parts(path) != count_parts(weight_text)) {
        check_error(qc->c, &weights, "%s must have the same length with %s: %zu parts, not %zu", hierarchy_key,
                    weights_key, count_parts(path), count_parts(weight_text));
        return;
    }
    check_weights(qc, &weights);
    prefix = arena_fmt(qc->c->arena, "%.*s/", STR_ARG(path));
    VEC_FOREACH(node, &qc->tree.all) {
        struct str other = object_annotation(node->json, hierarchy_key);

        if (str_eq(node->name, qc->name) || !str_starts(other, prefix))
            continue;
        check_error(qc->c, &at, "%.*s is not allowed to be in the sub path of %.*s of queue %.*s", STR_ARG(path),
                    STR_ARG(other), STR_ARG(node->name));
        return;
    }
}

/* ---- rule 6: the parent ---- */

/* Queues from below root down to this one. 0: the way up is broken or a circle, and reported. */
#define DEPTH_WRONG "queue %.*s exceeds the maximum allowed depth of %d"

static size_t depth_of(struct queue_check *qc, const struct place *at)
{
    struct str name = qc->parent;
    size_t depth = 1;

    for (; !is_root_name(name); depth++) {
        const struct json *queue = tree_find(qc, name);

        if (str_eq(name, qc->name) || depth > qc->tree.all.n + QUEUE_DEPTH_MAX) {
            check_error(qc->c, at, DEPTH_WRONG ": it would be its own ancestor", STR_ARG(qc->name), QUEUE_DEPTH_MAX);
            return 0;
        }
        if (!queue)
            return depth; /* a stored queue without its parent counts as a child of root */
        name = admit_queue_parent_of(queue);
    }
    return depth;
}

static bool has_other_children(const struct queue_check *qc, struct str parent)
{
    size_t at;

    if (!qc->env->each_queue) /* cannot tell: assume the best */
        return true;
    if (!name_map_find(&qc->tree.by_name, parent, &at))
        return false;
    for (size_t i = qc->tree.all.v[at].first_child; i != NONE; i = qc->tree.all.v[i].next)
        if (i != qc->self)
            return true;
    return false;
}

static void check_parent(struct queue_check *qc)
{
    struct place spec = place_member(qc->root, "spec"), at = place_member(&spec, "parent");
    const struct json *parent;
    struct quantity pods;
    struct queue_list below = { 0 };
    size_t depth;

    if (str_eq(qc->parent, qc->name)) {
        check_error(qc->c, &at, "queue %.*s cannot use itself as parent", STR_ARG(qc->name));
        return;
    }
    parent = is_root_name(qc->parent) ? NULL : tree_find(qc, qc->parent);
    if (!is_root_name(qc->parent) && !parent && (qc->env->find_queue || qc->env->each_queue)) {
        check_error(qc->c, &at, "failed to get parent queue %.*s of queue %.*s: " QUEUE_NOT_FOUND ": create it first",
                    STR_ARG(qc->parent), STR_ARG(qc->name), STR_ARG(qc->parent));
        return;
    }
    depth = depth_of(qc, &at);
    tree_below(&qc->tree, qc->self, &below);
    if (depth > 0 && below.list.n > 0) /* the last one is the deepest */
        depth += below.list.v[below.list.n - 1].depth;
    if (depth > QUEUE_DEPTH_MAX)
        check_error(qc->c, &at, DEPTH_WRONG ": it would be %zu deep", STR_ARG(qc->name), QUEUE_DEPTH_MAX, depth);
    if (quantity_from_json(json_find(parent, "status", "allocated", "pods", NULL), &pods) && pods.nano > 0 &&
        !has_other_children(qc, qc->parent))
        check_error(qc->c, &at,
                    "queue %.*s cannot be the parent queue of queue %.*s because it has allocated Pods: %.*s; wait for "
                    "them or use another parent",
                    STR_ARG(qc->parent), STR_ARG(qc->name), STR_ARG(admit_queue_shown(qc->c->arena, pods)));
}

/* ---- rule 8: sums over the hierarchy ---- */

static void check_capability_above(struct queue_check *qc, const struct resource *r)
{
    struct str name = qc->parent;

    for (size_t steps = 0; !is_root_name(name) && steps <= QUEUE_DEPTH_MAX; steps++) {
        const struct json *queue = tree_find(qc, name);
        struct quantity most;

        if (quantity_from_json(json_get_str(admit_queue_amount_of(queue, CAPABILITY), r->name), &most)) {
            if (quantity_cmp(r->q, most) > 0)
                amount_error(qc, CAPABILITY, r->name,
                             "queue %.*s capability%.*s exceeds its ancestor's capability=%.*s (queue %.*s)",
                             STR_ARG(qc->name), STR_ARG(pair(qc->c->arena, r->name, &r->q)),
                             STR_ARG(admit_queue_shown(qc->c->arena, most)), STR_ARG(name));
            return;
        }
        if (!queue)
            return;
        name = admit_queue_parent_of(queue);
    }
}

/* Largest capability of each resource anywhere below. */
static void capabilities_below(struct queue_tree *t, size_t top, struct resources *ret)
{
    struct queue_list below = { 0 };

    tree_below(t, top, &below);
    VEC_FOREACH(item, &below.list) {
        struct resources own = { 0 };

        resources_from_json(t->arena, admit_queue_amount_of(t->all.v[item->at].json, CAPABILITY), &own);
        resources_max(t->arena, ret, &own);
    }
}

static void check_capability(struct queue_check *qc)
{
    struct resources own = { 0 }, below = { 0 };

    resources_from_json(qc->c->arena, admit_queue_amount_of(qc->root->node, CAPABILITY), &own);
    capabilities_below(&qc->tree, qc->self, &below);
    VEC_FOREACH(r, &own.list) {
        const struct quantity *largest = resources_get(&below, r->name);

        check_capability_above(qc, r);
        if (largest && quantity_cmp(r->q, *largest) < 0)
            amount_error(qc, CAPABILITY, r->name,
                         "queue %.*s capability%.*s is smaller than its descendants' max capability=%.*s",
                         STR_ARG(qc->name), STR_ARG(pair(qc->c->arena, r->name, &r->q)),
                         STR_ARG(admit_queue_shown(qc->c->arena, *largest)));
    }
}

static void sum_children(struct queue_tree *t, size_t parent, enum admit_queue_amount kind, struct resources *ret)
{
    for (size_t i = t->all.v[parent].first_child; i != NONE; i = t->all.v[i].next) {
        struct resources own = { 0 };

        resources_from_json(t->arena, admit_queue_amount_of(t->all.v[i].json, kind), &own);
        resources_add_all(t->arena, ret, &own);
    }
}

/* The children of 'parent' together may not have more than it has itself. Reported at the queue under admission,
 * whether it is the parent or a child. */
static void check_sum(struct queue_check *qc, size_t parent, enum admit_queue_amount kind)
{
    const struct queue_node *node = &qc->tree.all.v[parent];
    struct resources has = { 0 }, sum = { 0 };

    resources_from_json(qc->c->arena, admit_queue_amount_of(node->json, kind), &has);
    sum_children(&qc->tree, parent, kind, &sum);
    VEC_FOREACH(r, &sum.list) {
        const struct quantity *most = resources_get(&has, r->name);
        struct quantity zero = quantity_of_i64(0, QUANTITY_DECIMAL_SI);

        if (quantity_cmp(r->q, most ? *most : zero) > 0)
            amount_error(qc, kind, r->name,
                         "%squeue %.*s validation failed: sum of children's %s (%.*s %.*s) exceeds parent's %s limit "
                         "(%.*s %.*s)",
                         parent == qc->self ? "" : "parent ", STR_ARG(node->name), amount_names[kind], STR_ARG(r->name),
                         STR_ARG(admit_queue_shown(qc->c->arena, r->q)), amount_names[kind], STR_ARG(r->name),
                         STR_ARG(admit_queue_shown(qc->c->arena, most ? *most : zero)));
    }
}

static void check_sums(struct queue_check *qc)
{
    static const enum admit_queue_amount summed[] = { GUARANTEE, DESERVED };
    size_t parent;

    check_capability(qc);
    for (size_t i = 0; i < ARRAY_LEN(summed); i++) {
        if (!is_root_name(qc->parent) && name_map_find(&qc->tree.by_name, qc->parent, &parent))
            check_sum(qc, parent, summed[i]);
        if (qc->tree.all.v[qc->self].first_child != NONE)
            check_sum(qc, qc->self, summed[i]);
    }
}

/* ---- rule 7 and what has changed ---- */

static bool is_amount_changed(struct arena *a, const struct json *queue, const struct json *old,
                              enum admit_queue_amount kind)
{
    struct resources is = { 0 }, was = { 0 };

    resources_from_json(a, admit_queue_amount_of(queue, kind), &is);
    resources_from_json(a, admit_queue_amount_of(old, kind), &was);
    if (is.list.n != was.list.n)
        return true;
    for (size_t i = 0; i < is.list.n; i++)
        if (!str_eq(is.list.v[i].name, was.list.v[i].name) || quantity_cmp(is.list.v[i].q, was.list.v[i].q) != 0)
            return true;
    return false;
}

static void check_root(struct queue_check *qc, const struct json *old)
{
    struct place spec = place_member(qc->root, "spec");

    for (int kind = 0; old && kind < AMOUNT_MAX; kind++) {
        struct place at = place_member(&spec, amount_names[kind]);

        if (is_amount_changed(qc->c->arena, qc->root->node, old, kind))
            check_error(qc->c, &at,
                        "root queue's resource attributes (capability, deserved, guarantee) cannot be modified: they "
                        "follow the cluster");
    }
}

static void check_tree(struct queue_check *qc, const struct json *old)
{
    bool is_moved = !old || !str_eq(admit_queue_parent_of(old), qc->parent), is_changed = is_moved;

    for (int kind = 0; kind < AMOUNT_MAX && !is_changed; kind++)
        is_changed = is_amount_changed(qc->c->arena, qc->root->node, old, kind);
    if (is_moved)
        check_parent(qc);
    if (is_changed)
        check_sums(qc);
}

/* ---- all together ---- */

static void check_place(struct queue_check *qc, const struct json *old)
{
    tree_gather(qc);
    check_hierarchy(qc);
    if (is_root_name(qc->name))
        check_root(qc, old);
    else
        check_tree(qc, old);
}

void admit_queue(struct arena *a, struct json *queue, const struct json *old, const struct admit_env *env,
                 struct problems *ps)
{
    struct place root = { .node = queue }, meta, name;
    struct queue_check qc = {
        .env = env, .root = &root, .name = object_name(queue), .parent = admit_queue_parent_of(queue)
    };
    size_t start = ps->list.n;
    struct check c;

    if (!old)
        queue_defaults(a, queue, env);
    schema_check(&schema_queue, &root, ps);
    meta_check(&root, NULL, false, ps);
    c = check_begin(ps, start);
    qc.c = &c;
    meta = place_member(&root, "metadata");
    name = place_member(&meta, "name");
    if (qc.name.n > 63)
        check_warn(&c, &name,
                   "is longer than 63 characters: jobs cannot use the queue, as pods carry its name as a label");
    check_amounts(&qc);
    check_state(&qc, old);
    if (qc.name.n)
        check_place(&qc, old);
    for (int kind = 0; kind < AMOUNT_MAX; kind++)
        json_members_done(&qc.written[kind]);
}

void admit_queue_delete(const struct json *queue, const struct admit_env *env, struct problems *ps)
{
    struct place root = { .node = queue };
    struct str name = object_name(queue);
    struct queue_children children = queue_children(ps->arena, env, name);

    if (str_is(name, "default") || is_root_name(name))
        problem_error(ps, &root, "`%.*s` queue can not be deleted: the system needs it", STR_ARG(name));
    else if (children.n)
        problem_error(ps, &root,
                      "queue %.*s can not be deleted because it has %zu child queues: %.*s; delete them first",
                      STR_ARG(name), children.n, STR_ARG(children.names));
}
