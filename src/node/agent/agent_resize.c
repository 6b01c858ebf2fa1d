/* agent_resize.c - other amounts of CPU and memory for containers that run (pods/resize)
 *
 * The amounts of a pod are in its status, from where the next agent takes them; its wishes are in its spec. One that
 * does not fit beside the other pods is Deferred, and a limit of memory below what is in use is an Error; both are
 * tried again. Else the limits of the pod's group and of its containers' groups are set: no group is ever below those
 * inside of it.
 */
#include "node/agent/agent_internal.h"

#include "api/pod/container.h"
#include "api/pod/resources.h"

enum { RESIZE_AGAIN_MS = 1000 };

/* ---- is there room? ---- */

static const char *const resize_names[] = { "cpu", "memory" };

static int64_t resize_amount(const struct resources *r, size_t i)
{
    const struct quantity *q = resources_get(r, str_of(resize_names[i]));

    return !q ? 0 : i == 0 ? quantity_milli(*q) : quantity_units(*q);
}

/* What all other pods have. */
static void resize_used(struct agent_pod *p, struct arena *a, struct resources *ret)
{
    MAP_FOREACH(struct agent_pod *, other, &p->agent->pods) {
        struct resources one = { 0 };

        if (other == p || life_has_ended(other->life))
            continue;
        pod_requests(a, life_sized_spec(other->life, a), &one);
        resources_add_all(a, ret, &one);
    }
}

static bool resize_has_room(struct agent_pod *p, struct arena *a, struct buf *why)
{
    struct resources wish = { 0 }, used = { 0 }, all = { 0 };

    pod_requests(a, json_get(p->object->root, "spec"), &wish);
    resources_from_json(a, p->agent->allocatable, &all);
    resize_used(p, a, &used);
    for (size_t i = 0; i < ARRAY_LEN(resize_names); i++)
        if (resize_amount(&wish, i) + resize_amount(&used, i) > resize_amount(&all, i)) {
            buf_fmt(why, "Node didn't have enough resource: %s, requested: %lld, used: %lld, capacity: %lld",
                    resize_names[i], (long long)resize_amount(&wish, i), (long long)resize_amount(&used, i),
                    (long long)resize_amount(&all, i));
            return false;
        }
    return true;
}

/* ---- the groups ---- */

static int64_t resize_larger(int64_t a, int64_t b)
{
    return a && b ? MAX_OF(a, b) : 0; /* 0: no limit */
}

static int resize_check_memory(struct agent_pod *p, const char *group, struct str container, int64_t bytes,
                               struct err *e)
{
    struct cgroup_stats stats;

    if (!bytes || cgroup_use(p->agent->cgroups, group, &stats, NULL) < 0 || stats.memory_bytes <= bytes)
        return 0;
    return err_set(e, ERR_CONFLICT,
                   "attempting to set container \"%.*s\" memory limit (%lld) below current usage (%lld)",
                   STR_ARG(container), (long long)bytes, (long long)stats.memory_bytes);
}

static int resize_container(struct agent_pod *p, struct arena *a, const char *pod_group, const struct json *c,
                            struct err *e)
{
    struct str name = json_member_text(c, "name");
    const char *group = arena_fmt(a, "%s/%.*s", pod_group, STR_ARG(name)).p;
    struct cgroup_limits limits;

    if (!life_is_up(p->life, name))
        return 0; /* it is given its limits when it starts */
    agent_container_limits(json_get(c, "resources"), &limits);
    if (resize_check_memory(p, group, name, limits.memory_bytes, e) < 0)
        return -1;
    limits.dies_whole = true;
    return cgroup_make(p->agent->cgroups, group, &limits, e);
}

/* The pod's group has the larger of both while its containers change. */
static int resize_groups(struct agent_pod *p, struct arena *a, struct err *e)
{
    const char *group = arena_fmt(a, "pod-%.*s", STR_ARG(p->object->uid)).p;
    const struct json *spec = json_get(p->object->root, "spec");
    struct str only = agent_only_container(p);
    struct cgroup_limits old, new, most;

    agent_spec_limits(p, life_sized_spec(p->life, a), &old);
    agent_spec_limits(p, spec, &new);
    new.dies_whole = only.n;
    if (only.n)
        return resize_check_memory(p, group, only, new.memory_bytes, e) < 0
                   ? -1
                   : cgroup_make(p->agent->cgroups, group, &new, e);
    most = new;
    most.cpu_milli = resize_larger(old.cpu_milli, new.cpu_milli);
    most.memory_bytes = resize_larger(old.memory_bytes, new.memory_bytes);
    if (cgroup_make(p->agent->cgroups, group, &most, e) < 0)
        return -1;
    CONTAINER_FOREACH(c, spec)
        if (resize_container(p, a, group, c, e) < 0)
            return -1;
    return cgroup_make(p->agent->cgroups, group, &new, e);
}

/* ---- a pod ---- */

void agent_pod_resize(struct agent_pod *p)
{
    autoarena a = { 0 };
    autobuf why = { 0 };
    bool is_error;
    struct err e;

    p->resize_ms = INT64_MAX;
    if (life_is_stopping(p->life) || !life_wants_resize(p->life))
        return;
    if (p->stage == STAGE_SHIM || p->stage == STAGE_FILTER) {
        p->resize_ms = agent_pod_now(p) + RESIZE_AGAIN_MS; /* its groups are being made */
        return;
    }
    is_error = resize_has_room(p, &a, &why) && p->stage == STAGE_MADE && resize_groups(p, &a, &e) < 0;
    if (is_error)
        buf_str(&why, str_of(e.text));
    if (why.n) {
        life_resize_waits(p->life, is_error, buf_view(&why), agent_pod_now(p));
        p->resize_ms = agent_pod_now(p) + RESIZE_AGAIN_MS;
    } else {
        life_resize(p->life, agent_pod_now(p));
    }
    agent_pod_dirty(p);
}
