/* json.c - advice as JSON */
#include "cli/explain/explain.h"

#include "base/clock.h"
#include "base/util.h"

enum { NODES_SHOWN = 20 };

static void json_add_text(struct arena *a, struct json *j, const char *key, struct str text)
{
    if (text.n)
        json_add(j, str_of(key), json_str(a, text));
}

static void add_int(struct arena *a, struct json *j, const char *key, int64_t n)
{
    json_add(j, str_of(key), json_int(a, n));
}

static void json_add_time(struct arena *a, struct json *j, const char *key, int64_t ms)
{
    autobuf text = { 0 };

    clock_print(&text, ms);
    json_add_text(a, j, key, arena_str(a, buf_view(&text)));
}

static void add_amounts(struct arena *a, struct json *j, const char *key, const struct resources *r)
{
    json_add(j, str_of(key), resources_to_json(a, r));
}

static void json_add_list(struct arena *a, struct json *j, const char *key, const struct str *list, size_t n)
{
    struct json *out = json_add(j, str_of(key), json_array(a));

    for (size_t i = 0; i < n; i++)
        json_push(out, json_str(a, list[i]));
}

static void add_victims(struct arena *a, struct json *j, const char *key, const struct advice_victim *list, size_t n)
{
    struct json *out = json_add(j, str_of(key), json_array(a));

    for (size_t i = 0; i < n; i++) {
        struct json *one = json_push(out, json_object(a));

        json_add_text(a, one, "name", list[i].name);
        add_int(a, one, "pods", list[i].pods);
    }
}

static void add_needs(struct arena *a, struct json *root, const struct advice *v)
{
    struct json *needs = json_add(root, STR("needs"), json_object(a)), *tasks;

    add_int(a, needs, "pods", MAX_OF(v->min - v->ready, 0));
    add_amounts(a, needs, "total", &v->needs);
    tasks = json_add(needs, STR("tasks"), json_array(a));
    VEC_FOREACH(t, &v->tasks) {
        struct json *one = json_push(tasks, json_object(a));

        json_add(one, STR("name"), json_str(a, t->name));
        add_int(a, one, "replicas", t->replicas);
        add_int(a, one, "minAvailable", t->min);
        add_int(a, one, "missing", t->missing);
        add_amounts(a, one, "each", &t->each);
        json_add_text(a, one, "waitsFor", t->held_by);
    }
}

static void add_free(struct arena *a, struct json *root, const struct advice *v)
{
    struct json *free = json_add(root, STR("free"), json_object(a)), *nodes;

    add_amounts(a, free, "total", &v->free);
    add_amounts(a, free, "of", &v->total);
    add_int(a, free, "nodeCount", (int64_t)v->n_nodes);
    add_int(a, free, "usableNodeCount", (int64_t)v->n_usable);
    nodes = json_add(free, STR("nodes"), json_array(a));
    for (size_t i = 0; i < v->nodes.n && i < NODES_SHOWN; i++) {
        const struct advice_node *n = &v->nodes.v[i];
        struct json *one = json_push(nodes, json_object(a));

        json_add_text(a, one, "name", n->name);
        add_amounts(a, one, "free", &n->free);
        add_int(a, one, "fits", n->fits);
        json_add_text(a, one, "refuses", n->refuses);
    }
}

/* Amounts of a queue are quantities, places are numbers. */
static void add_number(struct arena *a, struct json *why, const char *key, const struct advice *v, int64_t n)
{
    autobuf text = { 0 };

    if (!why_is_of_queue(v->why.kind) && !v->why.is_sum) {
        add_int(a, why, key, n);
        return;
    }
    quantity_print(&text, amount_to_quantity(v->why.dim, n));
    json_add_text(a, why, key, arena_str(a, buf_view(&text)));
}

static void add_why(struct arena *a, struct json *root, const struct advice *v)
{
    struct json *why = json_add(root, STR("why"), json_object(a)), *causes;

    json_add_text(a, why, "rule", str_of(why_names[v->why.kind]));
    json_add_text(a, why, "text", v->why_text);
    json_add_text(a, why, "resource", v->why_resource);
    add_number(a, why, "have", v, v->why.have);
    add_number(a, why, "need", v, v->why.need);
    json_add_text(a, why, "queue", arena_str(a, str_of(v->why.queue)));
    json_add_text(a, why, "task", arena_str(a, str_of(v->why.role)));
    json_add_text(a, why, "other", arena_str(a, str_of(v->why.other)));
    causes = json_add(why, STR("causes"), json_array(a));
    for (uint32_t i = 0; i < v->why.n_causes && i < WHY_NODES; i++) {
        struct json *one = json_push(causes, json_object(a));

        json_add_text(a, one, "text", arena_str(a, str_of(v->why.causes[i].text)));
        add_int(a, one, "nodes", v->why.causes[i].count);
    }
}

static void add_holder(struct arena *a, struct json *root, const struct advice *v)
{
    const struct advice_holder *h = &v->holder;
    struct json *holder;

    if (!h->name.n)
        return;
    holder = json_add(root, STR("holder"), json_object(a));
    json_add_text(a, holder, "name", h->name);
    add_int(a, holder, "pods", h->pods);
    add_amounts(a, holder, "keeps", &h->keeps);
    if (h->until_ms)
        json_add_time(a, holder, "until", h->until_ms);
}

static void add_ahead(struct arena *a, struct json *root, const struct advice *v)
{
    struct json *list = json_add(root, STR("ahead"), json_array(a));

    VEC_FOREACH(j, &v->ahead) {
        struct json *one = json_push(list, json_object(a));

        json_add_text(a, one, "name", j->name);
        json_add_text(a, one, "queue", j->queue);
        add_int(a, one, "priority", j->priority);
        add_int(a, one, "pods", j->pods);
        add_amounts(a, one, "needs", &j->needs);
    }
}

static struct json *edit_json(struct arena *a, const struct advice_edit *e)
{
    struct json *j = json_object(a);

    json_add_text(a, j, "op", str_of(edit_op_names[e->op]));
    json_add_text(a, j, "kind", str_of(e->kind));
    json_add_text(a, j, "namespace", e->namespace);
    json_add_text(a, j, "name", e->name);
    json_add_text(a, j, "path", e->path);
    if (e->value)
        json_add(j, STR("value"), json_copy(a, e->value));
    if (e->op == EDIT_ADD_NODES)
        add_int(a, j, "count", e->count);
    return j;
}

static void add_suggestions(struct arena *a, struct json *root, const struct advice *v)
{
    struct json *list = json_add(root, STR("suggestions"), json_array(a));

    VEC_FOREACH(s, &v->suggestions) {
        struct json *one = json_push(list, json_object(a)), *edits;

        json_add_text(a, one, "kind", str_of(advice_kind_names[s->kind]));
        json_add_text(a, one, "target", s->target);
        json_add_text(a, one, "what", s->what);
        json_add_text(a, one, "from", s->from);
        json_add_text(a, one, "to", s->to);
        json_add_text(a, one, "text", s->text);
        json_add(one, STR("verified"), json_bool_new(a, true)); /* there are no others */
        json_add(one, STR("recreatesJob"), json_bool_new(a, s->recreates));
        json_add(one, STR("stopsJobs"), json_bool_new(a, s->stops_jobs));
        add_victims(a, one, "evicts", s->evicts.v, s->evicts.n);
        json_add_list(a, one, "also", s->also.v, s->also.n);
        json_add_list(a, one, "how", s->how.v, s->how.n);
        edits = json_add(one, STR("edits"), json_array(a));
        VEC_FOREACH(e, &s->edits)
            json_push(edits, edit_json(a, e));
    }
}

static void add_estimate(struct arena *a, struct json *root, const struct advice *v, int64_t now_ms)
{
    const struct advice_estimate *e = &v->estimate;
    struct json *out = json_add(root, STR("estimate"), json_object(a));

    json_add(out, STR("known"), json_bool_new(a, e->is_known));
    if (e->is_known) {
        json_add_time(a, out, "startsAt", e->at_ms);
        add_int(a, out, "seconds", (e->at_ms - now_ms + 999) / 1000);
        json_add_list(a, out, "after", e->after.v, e->after.n);
        json_add(out, STR("overdue"), json_bool_new(a, e->has_overdue));
    }
    if (v->state == ADVICE_WAITS)
        json_add(out, STR("never"), json_bool_new(a, e->is_never));
    json_add_list(a, out, "unknownRuntime", e->silent.v, e->silent.n);
}

static void json_add_waiting(struct arena *a, struct json *root, const struct advice *v, int64_t now_ms)
{
    add_needs(a, root, v);
    add_free(a, root, v);
    add_why(a, root, v);
    add_holder(a, root, v);
    add_ahead(a, root, v);
    add_suggestions(a, root, v);
    add_estimate(a, root, v, now_ms);
}

struct json *explain_json(struct arena *a, const struct advice *v, int64_t now_ms)
{
    struct json *root = json_object(a);

    json_add_text(a, root, v->is_job ? "job" : "group", v->name);
    json_add_text(a, root, "podGroup", v->group);
    json_add_text(a, root, "state", str_of(advice_state_names[v->state]));
    json_add_text(a, root, "phase", v->phase);
    json_add_text(a, root, "reason", v->reason);
    json_add_text(a, root, "message", v->message);
    json_add_text(a, root, "queue", v->queue);
    json_add_text(a, root, "priorityClass", v->priority_class);
    add_int(a, root, "priority", v->priority);
    if (v->created_ms)
        json_add_time(a, root, "created", v->created_ms);
    json_add_time(a, root, "now", now_ms);
    add_int(a, root, "minAvailable", v->min);
    add_int(a, root, "placed", v->ready);
    if (v->state == ADVICE_WAITS)
        json_add_waiting(a, root, v, now_ms);
    if (v->state == ADVICE_STARTS)
        add_victims(a, root, "evicts", v->evicts.v, v->evicts.n);
    json_add_list(a, root, "notes", v->notes.v, v->notes.n);
    add_int(a, root, "trials", v->n_trials);
    return root;
}

struct json *explain_list_json(struct arena *a, const struct advice_lines *lines)
{
    struct json *root = json_object(a), *list = json_add(root, STR("waiting"), json_array(a));

    VEC_FOREACH(l, &lines->list) {
        struct json *one = json_push(list, json_object(a));

        json_add_text(a, one, "name", l->name);
        json_add_text(a, one, "queue", l->queue);
        add_int(a, one, "priority", l->priority);
        add_int(a, one, "pods", l->pods);
        json_add_text(a, one, "rule", str_of(why_names[l->why]));
        json_add_text(a, one, "text", l->why_text);
    }
    return root;
}
