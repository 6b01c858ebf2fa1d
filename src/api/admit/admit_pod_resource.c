/* admit_pod_resource.c - requests and limits: legal names, amounts that fit together */
#include "api/admit/admit_internal.h"

#include "api/name.h"
#include "base/util.h"

/* ---- kinds of resources by name ---- */

static bool has_prefix(struct str name)
{
    return str_has_char(name, '/');
}

static bool is_hugepages(struct str name)
{
    return str_starts(name, STR("hugepages-"));
}

/* Of Kubernetes itself: no prefix, or one below kubernetes.io. */
static bool is_native(struct str name)
{
    return !has_prefix(name) || str_has(name, STR("kubernetes.io/"));
}

static bool may_overcommit(struct str name)
{
    return is_native(name) && !is_hugepages(name);
}

/* ---- one list ---- */

static void check_resource_name(struct check *c, const struct place *at, bool is_container)
{
    const char *why = name_check_qualified(c->arena, at->key);

    if (why)
        check_error(c, at, "the name of the resource %s", why);
    else if (is_container && !has_prefix(at->key) && !str_is(at->key, "cpu") && !str_is(at->key, "memory") &&
             !str_is(at->key, "ephemeral-storage") && !is_hugepages(at->key))
        check_error(c, at,
                    "\"%.*s\" must be a standard resource for containers (cpu, memory, ephemeral-storage, "
                    "hugepages-<size>) or have a prefix, such as nvidia.com/gpu",
                    STR_ARG(at->key));
    else if (is_container && str_starts(at->key, STR("requests.")))
        check_error(c, at, "\"%.*s\" must not begin with \"requests.\"", STR_ARG(at->key));
}

static void check_amount(struct check *c, const struct place *at)
{
    struct str size = str_from(at->key, strlen("hugepages-"));
    struct quantity q, page;

    if (!check_quantity(c, at, &q))
        return;
    if (!is_native(at->key) && !quantity_is_whole(q))
        check_error(c, at, "must be a whole number: %.*s cannot be split", STR_ARG(at->key));
    if (!is_hugepages(at->key))
        return;
    if (quantity_parse(size, &page, NULL) < 0 || page.nano <= 0)
        check_error(c, at, "\"%.*s\" does not name a page size, as in hugepages-2Mi", STR_ARG(at->key));
    else if (q.nano % page.nano != 0)
        check_error(c, at, "must be a multiple of the page size %.*s", STR_ARG(size));
}

void resource_list_rules(struct check *c, const struct place *list, bool is_container)
{
    PLACE_FOREACH(item, list) {
        check_resource_name(c, &item, is_container);
        check_amount(c, &item);
    }
}

/* ---- requests against limits ---- */

/* The last page of these objects is small in practice; a list of thousands of names is looked up through a map. */
static void index_names(struct check *c, struct name_map *m, const struct place *list, const struct json **ret)
{
    size_t i = 0;

    PLACE_FOREACH(item, list) {
        ret[i] = item.node;
        (void)name_map_add(c->arena, m, item.key, i++, NULL); /* keys are unique in a parsed object */
    }
}

static void check_request(struct check *c, const struct place *request, const struct json *limit)
{
    struct quantity want, most;

    if (!quantity_from_json(request->node, &want))
        return;
    if (!is_set(limit)) {
        if (!may_overcommit(request->key))
            check_error(c, request, "limit must be set for %.*s: it cannot be overcommitted", STR_ARG(request->key));
        return;
    }
    if (!quantity_from_json(limit, &most))
        return;
    if (quantity_cmp(want, most) > 0)
        check_error(c, request, "must be less than or equal to the %.*s limit of %.*s", STR_ARG(request->key),
                    (int)limit->n, limit->text);
    else if (!may_overcommit(request->key) && quantity_cmp(want, most) != 0)
        check_error(c, request, "must be equal to the %.*s limit of %.*s", STR_ARG(request->key), (int)limit->n,
                    limit->text);
}

static void check_hugepages(struct check *c, const struct place *resources)
{
    static const char *const lists[] = { "limits", "requests" };
    bool has_huge = false, has_base = false;

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        JSON_FOREACH(item, json_get(resources->node, lists[i])) {
            has_huge |= is_hugepages(json_key(item));
            has_base |= str_is(json_key(item), "cpu") || str_is(json_key(item), "memory");
        }
    if (has_huge && !has_base)
        check_error(c, resources, "HugePages require cpu or memory");
}

void resource_rules(struct check *c, const struct place *resources)
{
    struct place limits = place_object(resources, "limits"), requests = place_object(resources, "requests");
    const struct json **limit;
    struct name_map names = { 0 };
    size_t i;

    if (!resources->node)
        return;
    resource_list_rules(c, &limits, true);
    resource_list_rules(c, &requests, true);
    limit = arena_array(c->arena, const struct json *, json_count(limits.node) + 1);
    index_names(c, &names, &limits, limit);
    PLACE_FOREACH(request, &requests)
        check_request(c, &request, name_map_find(&names, request.key, &i) ? limit[i] : NULL);
    check_hugepages(c, resources);
}
