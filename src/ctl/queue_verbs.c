/* queue_verbs.c - `pumice queue list`, `get`, `create`, `delete`, `operate` */
#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "ctl/output.h"
#include "ctl/queue.h"

struct queue_verbs_shown { /* for cells */
    const struct queue_counts *counts;
    size_t n;
};

static struct str queue_verbs_number(struct ctl_verb *v, const struct json *j)
{
    int64_t n = 0;

    (void)json_to_i64(j, &n); /* none is 0 */
    return arena_fmt(v->arena, "%lld", (long long)n);
}

static struct str cell_weight(struct ctl_verb *v, const struct json *queue, const void *ctx)
{
    return queue_verbs_number(v, json_find(queue, "spec", "weight", NULL));
}

static struct str cell_state(struct ctl_verb *v, const struct json *queue, const void *ctx)
{
    return json_text(json_find(queue, "status", "state", NULL), STR_NULL);
}

static struct str cell_parent(struct ctl_verb *v, const struct json *queue, const void *ctx)
{
    return json_text(json_find(queue, "spec", "parent", NULL), STR_NULL);
}

static struct str queue_verbs_count_of(struct ctl_verb *v, const struct json *queue, const struct queue_verbs_shown *s,
                                       enum queue_count what)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->counts[i].queue, object_name(queue)))
            return arena_fmt(v->arena, "%lld", (long long)s->counts[i].n[what]);
    return STR_NULL;
}

static struct str cell_pending(struct ctl_verb *v, const struct json *queue, const void *ctx)
{
    return queue_verbs_count_of(v, queue, ctx, QUEUE_PENDING);
}

static struct str cell_inqueue(struct ctl_verb *v, const struct json *queue, const void *ctx)
{
    return queue_verbs_count_of(v, queue, ctx, QUEUE_INQUEUE);
}

static struct str cell_running(struct ctl_verb *v, const struct json *queue, const void *ctx)
{
    return queue_verbs_count_of(v, queue, ctx, QUEUE_RUNNING);
}

static struct str cell_completed(struct ctl_verb *v, const struct json *queue, const void *ctx)
{
    return queue_verbs_count_of(v, queue, ctx, QUEUE_COMPLETED);
}

static struct str cell_capability(struct ctl_verb *v, const struct json *queue, const void *ctx)
{
    return output_amounts(v->arena, json_find(queue, "spec", "capability", NULL));
}

static struct str cell_deserved(struct ctl_verb *v, const struct json *queue, const void *ctx)
{
    return output_amounts(v->arena, json_find(queue, "spec", "deserved", NULL));
}

static struct str cell_allocated(struct ctl_verb *v, const struct json *queue, const void *ctx)
{
    return output_amounts(v->arena, json_find(queue, "status", "allocated", NULL));
}

static const struct output_column columns[] = {
    { "NAME", false, cell_name },
    { "STATE", false, cell_state },
    { "WEIGHT", false, cell_weight },
    { "PARENT", false, cell_parent },
    { "PENDING", false, cell_pending },
    { "INQUEUE", false, cell_inqueue },
    { "RUNNING", false, cell_running },
    { "COMPLETED", true, cell_completed },
    { "DESERVED", true, cell_deserved },
    { "CAPABILITY", true, cell_capability },
    { "ALLOCATED", true, cell_allocated },
    { "AGE", false, cell_since },
    { NULL },
};

static int queue_verbs_show(struct ctl_verb *v, const struct ctl_objects *queues, bool is_one, struct err *e)
{
    struct queue_counts *counts = NULL;
    struct queue_verbs_shown shown = { .n = queues->v.n };

    if (output_is_table(v) && queues->v.n && queue_count(&v->ctl, queues, &counts, e) < 0)
        return err_wrap(e, "count PodGroups");
    shown.counts = counts;
    shown.n = counts ? shown.n : 0;
    return output_objects(v, queues, is_one, &(struct output_columns){ columns, &shown }, e);
}

int verb_queue_list(struct ctl_verb *v, struct err *e)
{
    struct verb_list all = { .type = ctl_type("Queue"),
                             .which = { .labels = str_of(v->o->labels) },
                             .show = queue_verbs_show };

    return verb_list(v, &all, e);
}

int verb_queue_get(struct ctl_verb *v, struct err *e)
{
    return verb_needs_names(v, "queue", e) < 0 ? -1 : verb_queue_list(v, e);
}

/* ---- orders ---- */

static int weight_of(struct ctl_verb *v, int64_t fallback, int64_t *ret, struct err *e)
{
    *ret = fallback;
    if (v->o->weight && (str_to_i64(str_of(v->o->weight), ret) < 0 || *ret < 1 || *ret > 65535))
        return err_set(e, ERR_SYNTAX, "--weight: \"%s\" is not a number from 1 to 65535", v->o->weight);
    return 0;
}

struct queue_verbs_want {
    struct str name, state;
    bool is_gone;
};

static bool queue_verbs_on_event(void *ctx, struct str type, const struct json *queue)
{
    struct queue_verbs_want *w = ctx;

    w->is_gone = !queue || str_is(type, "DELETED");
    return w->is_gone || (str_eq(object_name(queue), w->name) && str_eq(cell_state(NULL, queue, NULL), w->state));
}

/* A queue with jobs in it closes when they are over: that can take long. */
static int queue_verbs_turn(struct ctl_verb *v, const struct json *queue, bool is_open, struct err *e)
{
    struct queue_verbs_want want = { object_name(queue), is_open ? STR("Open") : STR("Closed"), false };
    struct ctl_select which = { .fields = arena_cat(v->arena, STR("metadata.name="), want.name) };
    int64_t timeout_ms;

    if (verb_timeout(v, &timeout_ms, e) < 0 ||
        ctl_command(&v->ctl, STR("default"), queue, is_open ? "OpenQueue" : "CloseQueue", e) < 0)
        return -1;
    if (v->o->wait && !v->o->dry_run &&
        ctl_watch(&v->ctl, ctl_type("Queue"), &which, &(struct ctl_watcher){ timeout_ms, queue_verbs_on_event, &want },
                  e) < 0)
        return err_wrap(e, "queue %.*s is not %.*s", STR_ARG(want.name), STR_ARG(want.state));
    if (want.is_gone)
        return err_set(e, ERR_NOT_FOUND, "queue %.*s was deleted during the wait", STR_ARG(want.name));
    buf_fmt(&v->out, "queue %.*s %s%s\n", STR_ARG(want.name), is_open ? "opened" : "closed", verb_dry_note(v));
    return 0;
}

static const char *const open_states[] = { "Open", NULL };

static struct str queue_verbs_state_of(const struct json *queue)
{
    return cell_state(NULL, queue, NULL);
}

int verb_queue_create(struct ctl_verb *v, struct err *e)
{
    bool closes = v->o->state && strcmp(v->o->state, "Closed") == 0;
    int64_t weight;

    if (verb_needs_names(v, "queue", e) < 0 || weight_of(v, 1, &weight, e) < 0)
        return -1;
    for (size_t i = 0; i < v->args.n; i++) {
        struct json *queue = object_new(v->arena, "scheduling.volcano.sh/v1beta1", "Queue", STR_NULL,
                                        str_of(v->args.v[i]));
        struct json *spec = json_add(queue, STR("spec"), json_object(v->arena)), *made;

        json_add(spec, STR("weight"), json_int(v->arena, weight));
        if (v->o->parent)
            json_add(spec, STR("parent"), json_str(v->arena, str_of(v->o->parent)));
        if (ctl_create(&v->ctl, ctl_name_of("Queue", queue), queue, &made, e) < 0)
            return -1;
        buf_fmt(&v->out, "queue %s created%s\n", v->args.v[i], verb_dry_note(v));
        if (verb_wait(v, &(struct verb_goal){ ctl_name_of("Queue", queue), open_states, queue_verbs_state_of, NULL },
                      NULL, e) < 0)
            return -1;
        if (closes && !v->o->dry_run && queue_verbs_turn(v, made, false, e) < 0)
            return -1;
    }
    return 0;
}

int verb_queue_delete(struct ctl_verb *v, struct err *e)
{
    if (verb_needs_names(v, "queue", e) < 0)
        return -1;
    for (size_t i = 0; i < v->args.n; i++) {
        struct verb_goal deleted = { .object = ctl_name("Queue", STR_NULL, str_of(v->args.v[i])) };

        if (ctl_delete(&v->ctl, deleted.object, e) < 0 || verb_wait(v, &deleted, NULL, e) < 0)
            return -1;
        buf_fmt(&v->out, "queue %s deleted%s\n", v->args.v[i], verb_dry_note(v));
    }
    return 0;
}

static int set_weight(struct ctl_verb *v, const char *name, struct err *e)
{
    struct json *patch = json_object(v->arena);
    int64_t weight;

    if (!v->o->weight)
        return err_set(e, ERR_SYNTAX, "update needs --weight");
    if (weight_of(v, 1, &weight, e) < 0)
        return -1;
    json_add(json_add(patch, STR("spec"), json_object(v->arena)), STR("weight"), json_int(v->arena, weight));
    if (ctl_merge(&v->ctl, ctl_name("Queue", STR_NULL, str_of(name)), patch, e) < 0)
        return -1;
    buf_fmt(&v->out, "queue %s updated%s\n", name, verb_dry_note(v));
    return 0;
}

/* "open NAME…", "close NAME…", "update NAME… --weight N" */
int verb_queue_operate(struct ctl_verb *v, struct err *e)
{
    const char *action = v->args.n ? v->args.v[0] : "";
    bool is_open = strcmp(action, "open") == 0, is_update = strcmp(action, "update") == 0;

    if (!is_open && !is_update && strcmp(action, "close") != 0)
        return err_set(e, ERR_SYNTAX, "missing operation; use: pumice queue operate open|close|update NAME");
    if (v->args.n < 2)
        return err_set(e, ERR_SYNTAX, "missing queues; use: pumice queue operate %s NAME", action);
    for (size_t i = 1; i < v->args.n; i++) {
        const char *name = v->args.v[i];
        struct json *queue;

        if (is_update ? set_weight(v, name, e) < 0
                      : ctl_get(&v->ctl, ctl_name("Queue", STR_NULL, str_of(name)), &queue, e) < 0 ||
                            queue_verbs_turn(v, queue, is_open, e) < 0)
            return -1;
    }
    return 0;
}
