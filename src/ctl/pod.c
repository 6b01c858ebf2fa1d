/* pod.c - pods of jobs and queues
 *
 * The server computes the name of a pod's state and its last restart: we request the table that `kubectl get pods`
 * shows.
 */
#include "ctl/pod.h"

#include "api/meta.h"
#include "base/util.h"

#define LABEL_JOB        "volcano.sh/job-name"
#define LABEL_QUEUE      "volcano.sh/queue-name"
#define ANNOTATION_QUEUE "scheduling.volcano.sh/queue-name"

struct str pod_selector(struct arena *a, const struct pod_query *q)
{
    struct str own = q->job.n     ? arena_fmt(a, LABEL_JOB " in (%.*s)", STR_ARG(q->job))
                     : q->queue.n ? STR_NULL
                                  : STR(LABEL_JOB);

    if (!own.n || !q->labels.n)
        return own.n ? own : q->labels;
    return arena_fmt(a, "%.*s,%.*s", STR_ARG(own), STR_ARG(q->labels));
}

bool pod_is_of_queue(const struct json *pod, struct str queue)
{
    return str_eq(object_label(pod, LABEL_QUEUE), queue) || str_eq(object_annotation(pod, ANNOTATION_QUEUE), queue);
}

static int pod_by_name(const void *pa, const void *pb)
{
    const struct pod_row *a = pa, *b = pb;
    int way = str_cmp(object_namespace(a->object), object_namespace(b->object));

    return way ? way : str_cmp(object_name(a->object), object_name(b->object));
}

int pod_select(struct ctl *c, const struct pod_query *q, struct pod_rows *ret, struct err *e)
{
    struct ctl_select which = { .namespace = q->namespace, .labels = pod_selector(c->arena, q) };
    struct json *table;

    if (q->name.n)
        which.fields = arena_cat(c->arena, STR("metadata.name="), q->name);
    if (ctl_rows(c, ctl_type("Pod"), &which, &table, e) < 0)
        return -1;
    ret->columns = json_get(table, "columnDefinitions");
    JSON_FOREACH(row, json_get(table, "rows")) {
        const struct json *pod = json_get(row, "object");
        struct str queue = object_label(pod, LABEL_QUEUE);

        if (q->job.n && q->queue.n && queue.n && !str_eq(queue, q->queue))
            return err_set(e, ERR_INVALID, "the input vcjob %.*s does not match the queue %.*s", STR_ARG(q->job),
                           STR_ARG(q->queue));
        if (!q->job.n && q->queue.n && !pod_is_of_queue(pod, q->queue))
            continue;
        *vec_push(c->arena, &ret->v) = (struct pod_row){ pod, json_get(row, "cells") };
    }
    if (ret->v.n)
        qsort(ret->v.v, ret->v.n, sizeof(*ret->v.v), pod_by_name);
    return 0;
}

struct str pod_cell(struct arena *a, const struct pod_rows *rows, const struct pod_row *row, const char *column)
{
    const struct json *cell = json_first(row->cells);

    JSON_FOREACH(c, rows->columns) {
        if (cell && str_is(json_member_text(c, "name"), column)) {
            autobuf text = { 0 };

            if (json_is(cell, JSON_STRING))
                return json_text(cell, STR_NULL);
            json_print(&text, cell);
            return json_is(cell, JSON_NULL) ? STR_NULL : arena_str(a, buf_view(&text));
        }
        cell = cell ? cell->next : NULL;
    }
    return STR_NULL;
}
