/* admit_pod_lists.c - lists whose elements have an identity: no two of one name, as the schema of the Job's CRD has it */
#include "api/admit/admit_internal.h"

#include "base/util.h"

struct lists_identity {
    const char *above; /* member that holds the list; NULL: the pod or container itself */
    const char *list, *keys[2];
    const char *fallback; /* of the last key, where it is missing; NULL: an element without it has no identity */
    const char *what;
};

/* Volumes, mounts, devices, containers and spreading constraints have rules of their own that say it. */
static const struct lists_identity of_pod[] = {
    { NULL, "imagePullSecrets", { "name" }, "", "pull secret" },
    { NULL, "hostAliases", { "ip" }, NULL, "alias for the address" },
    { NULL, "schedulingGates", { "name" }, NULL, "scheduling gate" },
    { NULL, "resourceClaims", { "name" }, NULL, "resource claim" },
    { "resources", "claims", { "name" }, NULL, "resource claim" },
    { "securityContext", "sysctls", { "name" }, NULL, "sysctl" },
};
static const struct lists_identity of_container[] = {
    { NULL, "env", { "name" }, NULL, "variable" },
    { NULL, "ports", { "containerPort", "protocol" }, "TCP", "port" },
    { NULL, "resizePolicy", { "resourceName" }, NULL, "policy for the resource" },
    { "resources", "claims", { "name" }, NULL, "resource claim" },
};

/* "80/TCP"; false: a key is missing or of a wrong type. */
static bool identity_of(struct arena *a, const struct lists_identity *row, const struct json *item, struct str *ret)
{
    struct str text[2] = { STR_NULL, STR_NULL };

    for (size_t i = 0; i < ARRAY_LEN(row->keys) && row->keys[i]; i++) {
        const struct json *value = json_get(item, row->keys[i]);
        bool is_last = i + 1 == ARRAY_LEN(row->keys) || !row->keys[i + 1];

        if (json_is(value, JSON_STRING) || json_is(value, JSON_NUMBER))
            text[i] = (struct str){ value->text, value->n };
        else if (is_set(value) || !is_last || !row->fallback)
            return false;
        if (is_last && row->fallback && str_empty(text[i]))
            text[i] = str_of(row->fallback);
    }
    *ret = row->keys[1] ? arena_fmt(a, "%.*s/%.*s", STR_ARG(text[0]), STR_ARG(text[1])) : text[0];
    return !str_empty(*ret) || row->fallback;
}

static void lists_check_list(struct check *c, const struct lists_identity *row, const struct place *up)
{
    struct place holder = row->above ? place_object(up, row->above) : *up, list = place_list(&holder, row->list);
    struct name_map seen = { 0 };
    size_t first;

    PLACE_FOREACH(item, &list) {
        struct place at = place_member(&item, row->keys[0]);
        struct str id;

        if (json_is(item.node, JSON_OBJECT) && identity_of(c->arena, row, item.node, &id) &&
            !name_map_add(c->arena, &seen, id, item.index, &first))
            check_error(c, &at, "duplicate %s \"%.*s\": %s[%zu] has it already", row->what, STR_ARG(id), row->list,
                        first);
    }
}

void pod_list_rules(struct check *c, const struct place *spec)
{
    static const char *const lists[] = { "initContainers", "containers" };

    for (size_t i = 0; i < ARRAY_LEN(of_pod); i++)
        lists_check_list(c, &of_pod[i], spec);
    for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
        struct place containers = place_list(spec, lists[k]);

        PLACE_FOREACH(container, &containers)
            for (size_t i = 0; i < ARRAY_LEN(of_container); i++)
                lists_check_list(c, &of_container[i], &container);
    }
}
