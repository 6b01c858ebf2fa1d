/* why.c - reasons as words */
#include "sched/model/why.h"

#include "base/clock.h"
#include "base/util.h"

#include <inttypes.h>

const struct why why_none = { .kind = WHY_NOT, .dim = -1 };

bool why_is_of_queue(enum why_kind kind)
{
    return kind == WHY_FAIR_SHARE || kind == WHY_CAPABILITY || kind == WHY_GUARANTEE || kind == WHY_QUEUE_RESERVED;
}

const char *const why_names[WHY_MAX] = {
    [WHY_NOT] = "",
    [WHY_NO_QUEUE] = "QueueNotFound",
    [WHY_QUEUE_CLOSED] = "QueueClosed",
    [WHY_QUEUE_HAS_CHILDREN] = "QueueNotLeaf",
    [WHY_NOT_ENOUGH_PODS] = "NotEnoughTasks",
    [WHY_NOT_ENOUGH_OF_ROLE] = "NotEnoughPodsOfTask",
    [WHY_GATED] = "SchedulingGated",
    [WHY_CAPABILITY] = "QueueCapability",
    [WHY_GUARANTEE] = "QueueGuarantee",
    [WHY_FAIR_SHARE] = "QueueFairShare",
    [WHY_QUEUE_RESERVED] = "QueueReserved",
    [WHY_NO_ROOM] = "NotEnoughResources",
    [WHY_HELD] = "Reserved",
    [WHY_NEVER_FITS] = "NeverFits",
    [WHY_TOPOLOGY] = "NetworkTopology",
    [WHY_ORDER] = "QueueOrder",
    [WHY_EVICTING] = "Evicting",
    [WHY_NO_PODS_YET] = "PodsNotCreated",
    [WHY_TOO_MANY_NAMES] = "TooManyResourceNames",
    [WHY_NO_ALLOCATE] = "NoAllocateAction",
};

enum why_kind why_named(struct str name)
{
    for (int kind = WHY_NOT + 1; kind < WHY_MAX; kind++)
        if (str_is(name, why_names[kind]))
            return kind;
    return WHY_NOT;
}

static int why_by_text(const void *x, const void *y)
{
    return strcmp(x, y);
}

void why_print_causes(struct buf *out, const struct why *w)
{
    char texts[WHY_NODES][2 * WHY_TEXT + 16];

    if (w->n_nodes == 0) {
        buf_str(out, STR("there are no nodes."));
        return;
    }
    for (uint32_t i = 0; i < w->n_causes; i++)
        (void)snprintf(texts[i], sizeof(texts[i]), "%u %s", w->causes[i].count, w->causes[i].text);
    qsort(texts, w->n_causes, sizeof(texts[0]), why_by_text);
    buf_fmt(out, "0/%u nodes are unavailable", w->n_nodes);
    for (uint32_t i = 0; i < w->n_causes; i++)
        buf_fmt(out, "%s%s", i ? ", " : ": ", texts[i]);
    buf_char(out, '.');
}

static void print_of(struct buf *out, const struct dims *dims, int dim, int64_t v)
{
    amount_print(out, dims, dim, v > 0 ? v : 0);
    buf_fmt(out, " of %.*s", STR_ARG(dims->names[dim]));
}

static void print_room(struct buf *out, const struct dims *dims, const struct why *w)
{
    if (w->is_sum) {
        buf_str(out, STR("its minResources ask for "));
        print_of(out, dims, w->dim, w->needs.v[w->dim]);
        buf_str(out, w->kind == WHY_NEVER_FITS ? STR(", more than may ever be promised")
                                               : STR(", more than may be promised now"));
        return;
    }
    if (w->have >= w->need)
        buf_str(out, STR("its minimum has its places"));
    else
        buf_fmt(out, "%" PRId64 " place%s needed%s%s, %" PRId64 " %s", w->need, w->need == 1 ? " is" : "s are",
                w->role[0] ? " for task " : " together", w->role, w->have, w->have == 1 ? "is there" : "are there");
    if (w->n_nodes == 0) {
        buf_str(out, STR("; there are no nodes"));
        return;
    }
    if (w->n_causes == 0)
        return;
    buf_str(out, STR("; for "));
    buf_str(out, w->pod[0] ? str_of(w->pod) : STR("the next pod"));
    buf_str(out, STR(" "));
    why_print_causes(out, w);
}

/* "1 pod has", "2 pods have" */
static void print_pods(struct buf *out, int64_t n, const char *one, const char *several)
{
    buf_fmt(out, "%" PRId64 " pod%s %s", n, n == 1 ? "" : "s", n == 1 ? one : several);
}

/* "1 of cpu, 2 is needed" */
static void print_lack(struct buf *out, const struct dims *dims, const struct why *w)
{
    print_of(out, dims, w->dim, w->have);
    buf_str(out, STR(", "));
    amount_print(out, dims, w->dim, w->need);
    buf_str(out, STR(" is needed"));
}

/* "its capability leaves 1 of cpu, 2 is needed"; where it can never be: "is only 1". */
static void print_bound(struct buf *out, const struct dims *dims, const struct why *w, const char *what)
{
    buf_fmt(out, "%s%s ", what, w->is_never ? " is only" : " leaves");
    print_lack(out, dims, w);
}

/* When the pods that "other" waits for have said they end. */
static void print_until(struct buf *out, const struct why *w)
{
    if (!w->until_ms)
        return;
    buf_fmt(out, "; %s starts by ", w->other);
    clock_print(out, w->until_ms);
}

static void print_reason(struct buf *out, const struct dims *dims, const struct why *w)
{
    switch (w->kind) {
    case WHY_NOT:
    case WHY_MAX:
        return;
    case WHY_NO_QUEUE:
        buf_fmt(out, "there is no queue %s", w->queue);
        return;
    case WHY_QUEUE_CLOSED:
        buf_fmt(out, "queue %s is closed", w->queue);
        return;
    case WHY_QUEUE_HAS_CHILDREN:
        buf_fmt(out, "queue %s has queues below it; jobs run in those", w->queue);
        return;
    case WHY_NOT_ENOUGH_PODS:
        buf_fmt(out, "Not enough valid tasks for gang-scheduling, valid: %" PRId64 ", min: %" PRId64, w->have, w->need);
        return;
    case WHY_NOT_ENOUGH_OF_ROLE:
        buf_fmt(out, "Not enough valid pods of task %s for gang-scheduling, valid: %" PRId64 ", min: %" PRId64, w->role,
                w->have, w->need);
        return;
    case WHY_GATED:
        print_pods(out, w->have, "has", "have");
        buf_str(out, STR(" scheduling gates; "));
        print_pods(out, w->need, "is needed", "are needed together");
        return;
    case WHY_CAPABILITY:
        buf_fmt(out, "queue %s: ", w->queue);
        print_bound(out, dims, w, "its capability");
        return;
    case WHY_GUARANTEE:
        buf_str(out, STR("what is guaranteed to other queues leaves "));
        print_lack(out, dims, w);
        return;
    case WHY_FAIR_SHARE:
        buf_fmt(out, "queue %s: ", w->queue);
        print_bound(out, dims, w, "its fair share");
        return;
    case WHY_QUEUE_RESERVED:
        buf_fmt(out, "queue %s: ", w->queue);
        if (w->other[0])
            buf_fmt(out, "what is kept for %s", w->other);
        print_bound(out, dims, w, w->other[0] ? "" : "what was promised to jobs before it");
        print_until(out, w);
        return;
    case WHY_NO_ROOM:
        print_room(out, dims, w);
        return;
    case WHY_HELD:
        buf_fmt(out, "the scheduler keeps the free room for %s, which has waited longer", w->other);
        print_until(out, w);
        return;
    case WHY_NEVER_FITS:
        buf_str(out, STR("it would not fit even if nothing else ran: "));
        print_room(out, dims, w);
        return;
    case WHY_TOPOLOGY:
        buf_fmt(out, "no network domain of an allowed tier has room for all %" PRId64 " pods; the best has %" PRId64,
                w->need, w->have);
        return;
    case WHY_ORDER:
        buf_fmt(out, "queue %s serves jobs in order (fifo), and %s is before it", w->queue, w->other);
        return;
    case WHY_EVICTING:
        buf_str(out, STR("room is being made: "));
        print_pods(out, w->have, "has", "have");
        buf_str(out, STR(" still to end"));
        return;
    case WHY_NO_PODS_YET:
        buf_str(out, STR("it is admitted; its pods are being created"));
        return;
    case WHY_TOO_MANY_NAMES:
        buf_fmt(out,
                "it asks for a resource beyond the %d different ones that the scheduler can count, or for too many pod "
                "affinity terms",
                AMOUNT_DIMS);
        return;
    case WHY_NO_ALLOCATE:
        buf_str(out, STR("the scheduler is configured without the action allocate, so that nothing is placed"));
        return;
    }
}

void why_print_passed(struct buf *out, const struct why *w)
{
    if (w->is_passed)
        buf_str(out, STR("; the jobs behind it in its queue do not wait for it"));
}

void why_print(struct buf *out, const struct dims *dims, const struct why *w)
{
    print_reason(out, dims, w);
    why_print_passed(out, w);
}
