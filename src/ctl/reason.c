/* reason.c - why a job waits */
#include "ctl/reason.h"

#include "api/meta.h"
#include "api/pod/status.h"
#include "base/util.h"
#include "sched/model/why.h"

void reasons_read(struct ctl *c, struct str namespace, struct reasons *ret)
{
    struct err e;

    (void)ctl_list(c, ctl_type("PodGroup"), &(struct ctl_select){ .namespace = namespace }, &ret->groups, &e);
    (void)ctl_list(c, ctl_type("Queue"), &(struct ctl_select){ 0 }, &ret->queues, &e);
}

static const struct json *reason_group_of(const struct reasons *r, const struct json *job)
{
    VEC_FOREACH(group, &r->groups.v)
        if (str_eq(object_controller_uid(*group), object_uid(job)))
            return *group;
    return NULL;
}

static const struct json *reason_queue_of(const struct reasons *r, const struct json *job)
{
    struct str name = json_text(json_find(job, "spec", "queue", NULL), STR("default"));

    VEC_FOREACH(queue, &r->queues.v)
        if (str_eq(object_name(*queue), name))
            return *queue;
    return NULL;
}

static const struct json *reason_unschedulable(const struct json *group)
{
    return condition_with(json_get(group, "status"), "Unschedulable", "True");
}

/* From what schedulers write to what users of batch systems know. */
static struct str word_of(struct str reason)
{
    static const char *const words[WHY_MAX] = {
        [WHY_NO_ROOM] = "Resources",
        [WHY_EVICTING] = "Resources",
        [WHY_CAPABILITY] = "QueueLimit",
        [WHY_GUARANTEE] = "QueueLimit",
        [WHY_FAIR_SHARE] = "QueueLimit",
        [WHY_QUEUE_RESERVED] = "QueueLimit",
        [WHY_NO_QUEUE] = "QueueMissing",
        [WHY_HELD] = "Priority",
        [WHY_ORDER] = "Priority",
        [WHY_TOPOLOGY] = "Topology",
        [WHY_GATED] = "Held",
    };
    const char *word = words[why_named(reason)];

    return word ? str_of(word) : reason;
}

struct str reason_of(const struct reasons *r, const struct json *job)
{
    const struct json *queue = reason_queue_of(r, job), *group = reason_group_of(r, job),
                      *condition = reason_unschedulable(group);
    struct str state = json_text(json_find(queue, "status", "state", NULL), STR_NULL);
    struct str phase = json_text(json_find(job, "status", "state", "phase", NULL), STR("Pending"));
    struct str own = json_text(json_find(job, "status", "state", "reason", NULL), STR_NULL);

    if (!str_is(phase, "Pending")) {
        return str_eq(own, phase) ? STR_NULL : own;
    }
    if (r->queues.v.n && !queue)
        return STR("QueueMissing");
    if (state.n && !str_is(state, "Open"))
        return STR("QueueClosed");
    if (condition)
        return word_of(json_member_text(condition, "reason"));
    if (str_starts(own, STR("Waiting"))) /* the controller cannot create its pods, and says why */
        return own;
    return str_is(json_text(json_find(group, "status", "phase", NULL), STR_NULL), "Running") ? STR("ImageOrVolume")
                                                                                             : STR_NULL;
}

struct str reason_message(const struct reasons *r, const struct json *job)
{
    struct str message = json_member_text(reason_unschedulable(reason_group_of(r, job)), "message");

    return message.n ? message : json_text(json_find(job, "status", "state", "message", NULL), STR_NULL);
}
