/* resources.h - amounts by resource name, and what a pod asks for
 *
 * A resource list is a small sorted array in an arena: cpu, memory, nvidia.com/gpu … with exact quantities.
 */
#ifndef API_POD_RESOURCES_H
#define API_POD_RESOURCES_H

#include "api/quantity.h"
#include "base/vec.h"
#include "json/json.h"

struct resource {
    struct str name;
    struct quantity q;
};

struct resources {
    VEC(struct resource) list; /* sorted by name */
};

/* NULL if the name is not there. */
const struct quantity *resources_get(const struct resources *r, struct str name);

void resources_set(struct arena *a, struct resources *r, struct str name, struct quantity q);
void resources_add(struct arena *a, struct resources *r, struct str name, struct quantity q);
void resources_add_all(struct arena *a, struct resources *r, const struct resources *more);
void resources_add_times(struct arena *a, struct resources *r, const struct resources *more, int64_t n);
void resources_max(struct arena *a, struct resources *r, const struct resources *other); /* per name, the larger */

/* From and to the JSON form { "cpu": "500m" }. Entries that are no quantity are left out. */
void resources_from_json(struct arena *a, const struct json *j, struct resources *ret);
struct json *resources_to_json(struct arena *a, const struct resources *r);

/* Are two of that form alike? One that is missing is like an empty one. */
bool resources_same(const struct json *a, const struct json *b);

/* What the scheduler must find for a pod with this spec: the larger of its main containers together and its init
 * containers one by one (sidecars count all along), pod-level amounts where given, plus overhead. A limit stands in
 * for a missing request, as the API server fills it in (B44). */
void pod_requests(struct arena *a, const struct json *pod_spec, struct resources *ret);

/* The same sum over limits. */
void pod_limits(struct arena *a, const struct json *pod_spec, struct resources *ret);

/* What a ResourceQuota counts for such a pod: pods, count/pods, cpu and requests.cpu, limits.cpu … */
void pod_quota_usage(struct arena *a, const struct json *pod_spec, struct resources *ret);

#endif
