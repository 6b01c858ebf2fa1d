/* structural.c - objects by the schema of a CustomResourceDefinition: what is unknown, what is dropped, what is filled in
 *
 * A structural schema names every field on its own, outside of anyOf and the like; so a walk along properties, items and
 * additionalProperties sees all there can be.
 */
#include "crd/custom.h"

#include "base/util.h"

static bool structural_is_set(const struct json *schema, const char *flag)
{
    return json_bool(json_get(schema, flag), false);
}

/* The schema of a member; NULL: it is unknown. '*ret_is_kept': unknown, and kept all the same. */
static const struct json *schema_of_member(const struct json *schema, struct str key, bool *ret_is_kept)
{
    const struct json *known = json_get_str(json_get(schema, "properties"), key);
    const struct json *others = json_get(schema, "additionalProperties");
    bool is_of_all_objects = str_is(key, "apiVersion") || str_is(key, "kind") || str_is(key, "metadata");

    *ret_is_kept = structural_is_set(schema, "x-kubernetes-preserve-unknown-fields") || json_bool(others, false) ||
                   (structural_is_set(schema, "x-kubernetes-embedded-resource") && is_of_all_objects);
    return known ? known : json_is(others, JSON_OBJECT) ? others : NULL;
}

void structural_unknown(const struct json *schema, const struct place *at, struct problems *ps)
{
    size_t i = 0;
    bool is_kept;

    JSON_FOREACH(item, at->node) {
        struct place below = { at, item, json_key(item), i++ };
        const struct json *own = json_is(at->node, JSON_ARRAY) ? json_get(schema, "items")
                                                               : schema_of_member(schema, json_key(item), &is_kept);

        if (own)
            structural_unknown(own, &below, ps);
        else if (json_is(at->node, JSON_OBJECT) && !is_kept)
            problem_unknown(ps, &below, NULL);
    }
}

void structural_prune(const struct json *schema, struct json *object)
{
    bool is_kept;

    if (json_is(object, JSON_ARRAY)) {
        JSON_FOREACH(item, object)
            if (json_get(schema, "items"))
                structural_prune(json_get(schema, "items"), item);
        return;
    }
    if (!json_is(object, JSON_OBJECT))
        return;
    for (struct json *m = json_first(object), *next; m; m = next) {
        const struct json *own = schema_of_member(schema, json_key(m), &is_kept);

        next = m->next;
        if (own)
            structural_prune(own, m);
        else if (!is_kept)
            json_unlink(object, m);
    }
}

bool structural_has_defaults(const struct json *schema)
{
    static const char *const inner[] = { "items", "additionalProperties" };

    if (json_get(schema, "default"))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(inner); i++)
        if (json_is(json_get(schema, inner[i]), JSON_OBJECT) && structural_has_defaults(json_get(schema, inner[i])))
            return true;
    JSON_FOREACH(p, json_get(schema, "properties"))
        if (structural_has_defaults(p))
            return true;
    return false;
}

void structural_default(struct arena *a, const struct json *schema, struct json *object)
{
    bool is_kept;

    if (json_is(object, JSON_ARRAY)) {
        JSON_FOREACH(item, object)
            structural_default(a, json_get(schema, "items"), item);
        return;
    }
    if (!json_is(object, JSON_OBJECT))
        return;
    JSON_FOREACH(p, json_get(schema, "properties")) {
        const struct json *value = json_get(p, "default"), *there = json_get_str(object, json_key(p));

        if (value && (!there || (json_is(there, JSON_NULL) && !structural_is_set(p, "nullable"))))
            json_set_key(object, json_key(p), json_copy(a, value));
    }
    JSON_FOREACH(m, object)
        structural_default(a, schema_of_member(schema, json_key(m), &is_kept), m);
}
