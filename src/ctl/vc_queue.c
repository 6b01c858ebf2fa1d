/* vc_queue.c - vcctl queue create, delete, operate, list, get; vqueues */
#include "api/meta.h"
#include "base/util.h"
#include "ctl/queue.h"
#include "ctl/vc.h"

static const struct vc_column columns[] = {
    { "Name", 25 },   { "Weight", 8 },  { "State", 8 },   { "Parent", 8 },    { "Inqueue", 8 },
    { "Pending", 8 }, { "Running", 8 }, { "Unknown", 8 }, { "Completed", 8 },
};
static const struct vc_column vqueues_columns[] = {
    { "Name", 25 },   { "Weight", 8 },  { "State", 8 },   { "Inqueue", 8 },
    { "Pending", 8 }, { "Running", 8 }, { "Unknown", 8 },
};

struct vc_queue_cells {
    VEC(struct str) v;
};

static void vc_queue_put(struct vc *v, struct vc_queue_cells *to, struct str text)
{
    *vec_push(v->arena, &to->v) = text;
}

static void put_spec(struct vc *v, struct vc_queue_cells *cells, const struct json *queue)
{
    vc_queue_put(v, cells, object_name(queue));
    vc_queue_put(v, cells, vc_number(v, json_find(queue, "spec", "weight", NULL)));
    vc_queue_put(v, cells, json_text(json_find(queue, "status", "state", NULL), STR_NULL));
}

static int vc_queue_show(struct vc *v, const struct ctl_objects *queues, const char *trouble, struct err *e)
{
    struct queue_counts *counts;
    struct vc_queue_cells cells = { 0 };

    if (queue_count(&v->ctl, queues, &counts, e) < 0) {
        v->printed = arena_fmt(v->arena, "%s: %.*s", trouble, STR_ARG(ctl_message(&v->ctl, e)));
        return -1;
    }
    for (size_t i = 0; i < queues->v.n; i++) {
        put_spec(v, &cells, queues->v.v[i]);
        vc_queue_put(v, &cells, json_text(json_find(queues->v.v[i], "spec", "parent", NULL), STR_NULL));
        for (size_t k = 0; k < QUEUE_COUNT_MAX; k++)
            vc_queue_put(v, &cells, arena_fmt(v->arena, "%lld", (long long)counts[i].n[k]));
    }
    vc_table(v, columns, ARRAY_LEN(columns), cells.v.v, cells.v.n);
    return 0;
}

int vc_queue_list(struct vc *v, struct err *e)
{
    struct ctl_objects queues = { 0 };

    if (ctl_list(&v->ctl, ctl_type("Queue"), &(struct ctl_select){ 0 }, &queues, e) < 0)
        return -1;
    return queues.v.n ? vc_queue_show(v, &queues, "failed to list podgroups with err", e) : vc_none(v);
}

static int get_queue(struct vc *v, struct ctl_objects *ret, struct err *e)
{
    struct json *queue;

    if (ctl_get(&v->ctl, ctl_name("Queue", STR_NULL, str_of(v->values->name)), &queue, e) < 0)
        return -1;
    *vec_push(v->arena, &ret->v) = queue;
    return 0;
}

int vc_queue_get(struct vc *v, struct err *e)
{
    struct ctl_objects queue = { 0 };
    const char *trouble = arena_fmt(v->arena, "failed to list podgroup for queue %s with err", v->values->name).p;

    if (!v->values->name[0])
        return err_set(e, ERR_INVALID, "name is mandatory to get the particular queue details");
    return get_queue(v, &queue, e) < 0 ? -1 : vc_queue_show(v, &queue, trouble, e);
}

/* Prints status fields of the queue that no controller writes today. */
int vc_queues(struct vc *v, struct err *e)
{
    static const char *const counts[] = { "inqueue", "pending", "running", "unknown" };
    struct ctl_objects queues = { 0 };
    struct vc_queue_cells cells = { 0 };
    int rc = v->values->name[0] ? get_queue(v, &queues, e)
                                : ctl_list(&v->ctl, ctl_type("Queue"), &(struct ctl_select){ 0 }, &queues, e);

    if (rc < 0)
        return -1;
    if (!queues.v.n)
        return vc_none(v);
    VEC_FOREACH(queue, &queues.v) {
        put_spec(v, &cells, *queue);
        for (size_t i = 0; i < ARRAY_LEN(counts); i++)
            vc_queue_put(v, &cells, vc_number(v, json_find(*queue, "status", counts[i], NULL)));
    }
    vc_table(v, vqueues_columns, ARRAY_LEN(vqueues_columns), cells.v.v, cells.v.n);
    return 0;
}

/* ---- orders ---- */

int vc_queue_create(struct vc *v, struct err *e)
{
    struct arena *a = v->arena;
    struct json *queue = object_new(a, "scheduling.volcano.sh/v1beta1", "Queue", STR_NULL, str_of(v->values->name));

    json_add(json_add(queue, STR("spec"), json_object(a)), STR("weight"), json_int(a, v->values->weight));
    json_add(json_add(queue, STR("status"), json_object(a)), STR("state"), json_str(a, str_of(v->values->state)));
    return ctl_create(&v->ctl, ctl_name_of("Queue", queue), queue, NULL, e);
}

int vc_queue_delete(struct vc *v, struct err *e)
{
    if (!v->values->name[0])
        return err_set(e, ERR_INVALID, "queue name must be specified");
    return ctl_delete(&v->ctl, ctl_name("Queue", STR_NULL, str_of(v->values->name)), e);
}

static int set_weight(struct vc *v, struct err *e)
{
    struct json *patch = json_object(v->arena);

    if (v->values->weight == 0)
        return err_set(e, ERR_INVALID,
                       "when update queue %s, weight must be specified, the value must be greater than 0",
                       v->values->name);
    json_add(json_add(patch, STR("spec"), json_object(v->arena)), STR("weight"), json_int(v->arena, v->values->weight));
    return ctl_merge(&v->ctl, ctl_name("Queue", STR_NULL, str_of(v->values->name)), patch, e);
}

static int vc_queue_command(struct vc *v, const char *action, struct err *e)
{
    struct json *queue;

    if (ctl_get(&v->ctl, ctl_name("Queue", STR_NULL, str_of(v->values->name)), &queue, e) < 0)
        return -1;
    return ctl_command(&v->ctl, STR("default"), queue, action, e);
}

int vc_queue_operate(struct vc *v, struct err *e)
{
    const char *action = v->values->action;

    if (!v->values->name[0])
        return err_set(e, ERR_INVALID, "queue name must be specified");
    if (strcmp(action, "open") == 0)
        return vc_queue_command(v, "OpenQueue", e);
    if (strcmp(action, "close") == 0)
        return vc_queue_command(v, "CloseQueue", e);
    if (strcmp(action, "update") == 0)
        return set_weight(v, e);
    if (!action[0])
        return err_set(e, ERR_INVALID, "action can not be null");
    return err_set(e, ERR_INVALID, "action %s invalid, valid actions are open, close and update", action);
}
