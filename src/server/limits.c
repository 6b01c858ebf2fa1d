/* limits.c - LimitRanges: who asks them; controller/limits.c has what they say
 *
 * Defaults are put into what is created, by clients or by controllers of this process; then it is checked, in Kubernetes'
 * words, since people look those up. Namespaces without LimitRanges pay nothing.
 */
#include "server/server_internal.h"

/* All of the namespace, by name. */
static struct observed_objects limits_observe(const struct server *s, struct arena *a, struct str namespace)
{
    const struct resource_type *type = type_by_kind(STR("v1"), STR("LimitRange"));

    if (!store_count(s->opt.store, type))
        return (struct observed_objects){ 0 };
    return control_observe_kind(s, a, type, namespace);
}

void limits_default(const struct server *s, struct arena *a, struct json *pod)
{
    struct observed_objects ranges = limits_observe(s, a, object_namespace(pod));

    limit_ranges_default(&ranges, a, pod);
}

int limits_admit(const struct server *s, const struct resource_type *type, const struct json *object, struct err *e)
{
    autoarena a = { 0 };
    struct observed_objects ranges;

    if (!limit_ranges_apply_to(type))
        return 0;
    ranges = limits_observe(s, &a, object_namespace(object));
    return limit_ranges_check(&ranges, &(struct observed_object){ type, object }, e);
}

void admit_limits_write(struct server_request *rq, struct json *object, const struct object *old, struct problems *ps)
{
    static const char *const amounts[] = { "spec.limits.*.min", "spec.limits.*.max", "spec.limits.*.default",
                                           "spec.limits.*.defaultRequest", "spec.limits.*.maxLimitRequestRatio" };

    (void)old;
    for (size_t i = 0; i < ARRAY_LEN(amounts); i++)
        amounts_canonical(rq->arena, object, amounts[i]);
    check_plain(rq, object, NULL, ps);
    limit_range_admit(rq->arena, object, ps);
}
