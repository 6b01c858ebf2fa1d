/* definition.c - CustomResourceDefinitions: are their names free, what their status says, and how they end */
#include "controller/control_plane.h"

#include "api/meta.h"
#include "api/types.h"
#include "base/clock.h"
#include "base/util.h"

static const struct resource_type *definition_type(void)
{
    return type_by_kind(STR("apiextensions.k8s.io/v1"), STR("CustomResourceDefinition"));
}

/* ---- names ---- */

bool definition_is_builtin(const struct custom_kind *k)
{
    const struct resource_type *own = &k->versions[0].type;

    for (size_t i = 0; i < n_resource_types; i++)
        if (strcmp(resource_types[i].group, own->group) == 0 && strcmp(resource_types[i].plural, own->plural) == 0)
            return true;
    return false;
}

const char *definition_taken_name(const struct custom_kind *k, struct custom_kind *const *others, size_t n)
{
    const struct resource_type *own = &k->versions[0].type;

    for (size_t i = 0; i < n_resource_types; i++)
        if (strcmp(resource_types[i].group, own->group) == 0 && strcmp(resource_types[i].kind, own->kind) == 0 &&
            strcmp(resource_types[i].plural, own->plural) != 0)
            return own->kind;
    for (size_t i = 0; i < n; i++) {
        const struct resource_type *t = &others[i]->versions[0].type;

        if (others[i] == k || !others[i]->type || str_eq(others[i]->name, k->name) || strcmp(t->group, own->group) != 0)
            continue;
        if (strcmp(t->kind, own->kind) == 0)
            return own->kind;
        if (t->singular && own->singular && strcmp(t->singular, own->singular) == 0)
            return own->singular;
    }
    return NULL;
}

/* ---- the status ---- */

struct definition_condition {
    const char *type;
    bool is_true;
    const char *reason;
    struct str message;
};

static void set_condition(struct arena *a, struct json *status, const struct definition_condition *want, int64_t now_ms)
{
    struct json *list = json_need_array(a, status, "conditions"), *c = NULL;
    const char *word = want->is_true ? "True" : "False";
    autobuf now = { 0 };

    JSON_FOREACH(other, list)
        if (str_is(json_member_text(other, "type"), want->type))
            c = other;
    if (!c)
        c = json_push(list, json_object(a));
    if (!str_is(json_member_text(c, "status"), word)) {
        clock_print(&now, now_ms);
        json_set(c, "lastTransitionTime", json_str(a, arena_str(a, buf_view(&now))));
    }
    json_set(c, "type", json_str(a, str_of(want->type)));
    json_set(c, "status", json_str(a, str_of(word)));
    json_set(c, "reason", json_str(a, str_of(want->reason)));
    json_set(c, "message", json_str(a, want->message));
}

static void add_stored_version(struct arena *a, struct json *status, struct str version)
{
    struct json *list = json_need_array(a, status, "storedVersions");

    JSON_FOREACH(v, list)
        if (str_eq(json_text(v, STR_NULL), version))
            return;
    json_push(list, json_str(a, version));
}

static struct definition_condition names_accepted(struct arena *a, const char *taken)
{
    if (taken)
        return (struct definition_condition){ "NamesAccepted", false, "NameConflict",
                                              arena_fmt(a, "\"%s\" is already in use", taken) };
    return (struct definition_condition){ "NamesAccepted", true, "NoConflicts", STR("no conflicts found") };
}

static struct definition_condition definition_established(const struct definition_observed *o)
{
    if (o->taken)
        return (struct definition_condition){ "Established", false, "NotAccepted", STR("not all names are accepted") };
    if (o->has_no_room)
        return (struct definition_condition){ "Established", false, "NoRoom", STR("there is no room for more kinds") };
    return (struct definition_condition){ "Established", true, "InitialNamesAccepted",
                                          STR("the initial names have been accepted") };
}

void definition_plan(const struct definition_observed *o, struct plan *plan)
{
    struct arena *a = plan->arena;
    struct json *body = json_copy(a, o->definition), *status = json_need_object(a, body, "status");
    const struct json *before = json_get(o->definition, "status");
    struct definition_condition names = names_accepted(a, o->taken), established = definition_established(o);

    set_condition(a, status, &names, plan->now_ms);
    set_condition(a, status, &established, plan->now_ms);
    if (!o->taken)
        json_set(status, "acceptedNames", json_copy(a, json_find(o->definition, "spec", "names", NULL)));
    add_stored_version(a, status, o->version);
    if (!before || !json_equal(before, status))
        plan_update_status(plan, definition_type(), body);
}

/* ---- the end ---- */

static bool definition_has_finalizer(const struct json *definition)
{
    JSON_FOREACH(f, json_find(definition, "metadata", "finalizers", NULL))
        if (str_is(json_text(f, STR_NULL), DEFINITION_FINALIZER))
            return true;
    return false;
}

static void plan_definition_let_go(const struct json *definition, struct plan *plan)
{
    struct json *body = json_copy(plan->arena, definition), *list = json_find(body, "metadata", "finalizers", NULL);

    for (struct json *f = json_first(list), *next; f; f = next) {
        next = f->next;
        if (str_is(json_text(f, STR_NULL), DEFINITION_FINALIZER))
            json_unlink(list, f);
    }
    plan_update(plan, definition_type(), body);
}

void definition_end_plan(const struct json *definition, const struct observed_objects *objects, struct plan *plan)
{
    if (!definition_has_finalizer(definition))
        return;
    for (size_t i = 0; i < objects->n; i++) {
        const struct json *root = objects->v[i].root;

        if (!json_find(root, "metadata", "deletionTimestamp", NULL))
            plan_delete(plan, object_id_of(objects->v[i].type, root));
    }
    if (!objects->n)
        plan_definition_let_go(definition, plan);
}
