/* queue.c - what is in a queue */
#include "ctl/queue.h"

#include "api/meta.h"
#include "base/util.h"

static const char *const phases[QUEUE_COUNT_MAX] = { "Inqueue", "Pending", "Running", "Unknown", "Completed" };

static struct queue_counts *counts_of(struct queue_counts *all, size_t n, struct str queue)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(all[i].queue, queue))
            return &all[i];
    return NULL;
}

int queue_count(struct ctl *c, const struct ctl_objects *queues, struct queue_counts **ret, struct err *e)
{
    struct queue_counts *all = arena_array(c->arena, struct queue_counts, queues->v.n);
    struct ctl_objects groups = { 0 };

    for (size_t i = 0; i < queues->v.n; i++)
        all[i].queue = object_name(queues->v.v[i]);
    if (ctl_list(c, ctl_type("PodGroup"), &(struct ctl_select){ 0 }, &groups, e) < 0)
        return -1;
    VEC_FOREACH(group, &groups.v) {
        struct str phase = json_text(json_find(*group, "status", "phase", NULL), STR_NULL);
        struct queue_counts *of = counts_of(all, queues->v.n, json_member_text(json_get(*group, "spec"), "queue"));

        for (size_t i = 0; of && i < QUEUE_COUNT_MAX; i++)
            of->n[i] += str_is(phase, phases[i]);
    }
    *ret = all;
    return 0;
}
