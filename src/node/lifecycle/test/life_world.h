/* life_world.h - a pod's life on a virtual clock, for the tests of life.h */
#ifndef NODE_TEST_LIFE_WORLD_H
#define NODE_TEST_LIFE_WORLD_H

#include "api/schema/schemas.h"
#include "api/types.h"
#include "base/clock.h"
#include "base/util.h"
#include "node/lifecycle/life.h"

#define LIFE_T0_MS 1772323200000 /* 2026-03-01T00:00:00Z */

/* A pod that is bound to us, from its spec. */
static inline struct object *life_pod(struct arena *a, const struct json *spec)
{
    struct json *pod = json_object(a), *meta = json_set(pod, "metadata", json_object(a));

    json_set(meta, "name", json_str(a, STR("p")));
    json_set(meta, "namespace", json_str(a, STR("ns")));
    json_set(meta, "uid", json_str(a, STR("u-1")));
    json_set(pod, "spec", json_copy(a, spec));
    return object_make(type_by_name(STR("Pod")), pod, 1);
}

static inline struct str life_time_text(struct arena *a, int64_t ms)
{
    autobuf b = { 0 };

    clock_print(&b, ms);
    return arena_str(a, buf_view(&b));
}

/* What the store tells after a delete (grace_s -1: no change) and a write of our status. */
static inline struct object *life_pod_echo(struct arena *a, const struct object *old, struct json *status,
                                           int64_t grace_s, int64_t now_ms)
{
    struct json *pod = json_copy(a, old->root), *meta = json_get(pod, "metadata");

    json_set(pod, "status", status);
    if (grace_s >= 0) {
        json_set(meta, "deletionTimestamp", json_str(a, life_time_text(a, now_ms + grace_s * 1000)));
        json_set(meta, "deletionGracePeriodSeconds", json_int(a, grace_s));
    }
    return object_make(old->type, pod, old->rev + 1);
}

/* NULL: the status is what a Pod's may be. */
static inline const char *life_status_problem(struct arena *a, const struct json *status)
{
    struct problems ps = { .arena = a };
    struct place at = { .node = status };

    schema_check(&schema_pod_status, &at, &ps);
    return ps.list.n ? arena_fmt(a, "%.*s: %.*s", STR_ARG(ps.list.v[0].path), STR_ARG(ps.list.v[0].text)).p : NULL;
}

#endif
