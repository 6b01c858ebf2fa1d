/* vc_flow.c - vcctl jobtemplate and vcctl jobflow: the same five verbs of two kinds */
#include "api/meta.h"
#include "api/quantity.h"
#include "base/util.h"
#include "ctl/vc.h"
#include "os/io.h"
#include "yaml/yaml.h"

#include <errno.h>

static const struct vc_flow_twin {
    const char *kind;    /* of its type, and in messages */
    const char *missing; /* what is said when get and delete have no name */
    const char *mandatory;
    bool has_status; /* phase and age in its table */
} twins[] = {
    { "JobTemplate", "job template name must be specified",
      "name is mandatory to get the particular job template details", false },
    { "JobFlow", "jobflow name must be specified", "name is mandatory to get the particular jobflow details", true },
};
enum { TEMPLATE, FLOW };

/* ---- files ---- */

/* Parted wherever three dashes are, as those tools do. */
static bool next_part(struct str *rest, struct str *ret)
{
    const char *at;

    if (!rest->p)
        return false;
    at = memmem(rest->p, rest->n, "---", 3);
    *ret = at ? str_sub(*rest, 0, (size_t)(at - rest->p)) : *rest;
    *rest = at ? str_from(*rest, (size_t)(at - rest->p) + 3) : STR_NULL;
    *ret = str_trim(*ret);
    return true;
}

static int vc_flow_read_part(struct vc *v, const struct vc_flow_twin *t, struct str part, struct json **ret,
                             struct err *e)
{
    const struct resource_type *type = ctl_type(t->kind);
    struct yaml_docs docs = { 0 };

    if (yaml_parse(v->arena, part, NULL, &docs, e) < 0)
        return -1;
    *ret = docs.n ? docs.v[0] : json_object(v->arena);
    if ((*ret)->type != JSON_OBJECT)
        return err_set(e, ERR_INVALID,
                       "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal %s into Go value of type "
                       "v1alpha1.%s",
                       (*ret)->type == JSON_ARRAY ? "array" : json_type_name((*ret)->type), t->kind);
    json_set(*ret, "apiVersion", json_str(v->arena, type_api_version(v->arena, type)));
    json_set(*ret, "kind", json_str(v->arena, str_of(t->kind)));
    if (!object_namespace(*ret).n && json_need_object(v->arena, *ret, "metadata"))
        json_set(json_get(*ret, "metadata"), "namespace", json_str(v->arena, STR("default")));
    return 0;
}

static int vc_flow_read_text(struct vc *v, struct str *ret, struct err *e)
{
    const char *path = v->values->file;

    if (access(path, R_OK) < 0)
        return err_set(e, ERR_IO, "open %s: %s", path,
                       errno == ENOENT ? "no such file or directory" : "permission denied");
    *ret = file_text(v->arena, AT_FDCWD, path, 64 << 20);
    return 0;
}

/* One order for each part of the file; what is refused is said, and the others go on. */
static int for_each_part(struct vc *v, const struct vc_flow_twin *t, bool is_create, struct err *e)
{
    struct str text, part;

    if (vc_flow_read_text(v, &text, e) < 0)
        return -1;
    while (next_part(&text, &part)) {
        struct json *object;
        int rc;

        if (!part.n)
            continue;
        if (vc_flow_read_part(v, t, part, &object, e) < 0)
            return -1;
        rc = is_create ? ctl_create(&v->ctl, ctl_name_of(t->kind, object), object, NULL, e)
                       : ctl_delete(&v->ctl, ctl_name_of(t->kind, object), e);
        if (rc == 0)
            buf_fmt(&v->out, "%s %s: %.*s/%.*s\n", is_create ? "Created" : "Deleted", t->kind,
                    STR_ARG(object_namespace(object)), STR_ARG(object_name(object)));
        else
            buf_fmt(&v->out, "Failed to %s %s: %.*s\n", is_create ? "create" : "delete", t->kind,
                    STR_ARG(ctl_message(&v->ctl, e)));
    }
    return 0;
}

static int vc_flow_delete_one(struct vc *v, const struct vc_flow_twin *t, struct err *e)
{
    struct str namespace = str_of(v->values->namespace), name = str_of(v->values->name);
    struct json *object;

    if (v->values->file[0])
        return for_each_part(v, t, false, e);
    if (!name.n)
        return err_set(e, ERR_INVALID, "%s", t->missing);
    if (ctl_get(&v->ctl, ctl_name(t->kind, namespace, name), &object, e) < 0 ||
        ctl_delete(&v->ctl, ctl_name(t->kind, namespace, name), e) < 0)
        return -1;
    buf_fmt(&v->out, "Deleted %s: %.*s/%.*s\n", t->kind, STR_ARG(namespace), STR_ARG(name));
    return 0;
}

/* ---- tables ---- */

static void vc_flow_show(struct vc *v, const struct vc_flow_twin *t, const struct ctl_objects *list)
{
    static const struct vc_column columns[] = {
        { "Name", 0, 4, 4 }, { "Namespace", 0, 4, 4 }, { "Phase", 0, 4, 4 }, { "Age", 0, 4, 4 }
    };
    VEC(struct str) cells = { 0 };

    VEC_FOREACH(o, &list->v) {
        *vec_push(v->arena, &cells) = object_name(*o);
        *vec_push(v->arena, &cells) = object_namespace(*o);
        if (!t->has_status)
            continue;
        *vec_push(v->arena, &cells) = json_text(json_find(*o, "status", "state", "phase", NULL), STR_NULL);
        *vec_push(v->arena, &cells) = ctl_age(
            v->arena, json_text(json_find(*o, "metadata", "creationTimestamp", NULL), STR_NULL), v->ctl.now_ms);
    }
    vc_table(v, columns, t->has_status ? 4 : 2, cells.v, cells.n);
}

static int ctl_vc_flow_list(struct vc *v, const struct vc_flow_twin *t, struct err *e)
{
    struct ctl_select which = { .namespace = vc_namespace(v) };
    struct ctl_objects all = { 0 };

    if (ctl_list(&v->ctl, ctl_type(t->kind), &which, &all, e) < 0)
        return -1;
    if (!all.v.n)
        return vc_none(v);
    vc_flow_show(v, t, &all);
    return 0;
}

static int ctl_vc_flow_get(struct vc *v, const struct vc_flow_twin *t, struct err *e)
{
    struct ctl_objects one = { 0 };
    struct json *object;

    if (!v->values->name[0])
        return err_set(e, ERR_INVALID, "%s", t->mandatory);
    if (ctl_get(&v->ctl, ctl_name(t->kind, str_of(v->values->namespace), str_of(v->values->name)), &object, e) < 0)
        return -1;
    *vec_push(v->arena, &one.v) = object;
    vc_flow_show(v, t, &one);
    return 0;
}

/* ---- whole objects ---- */

/* Members in this order, then the others: JSON is printed as Volcano's types are declared. */
static const char *const order_object[] = { "kind", "apiVersion", "metadata", "spec", "status", NULL };
static const char *const order_meta[] = { "name",   "generateName",    "namespace",       "selfLink",
                                          "uid",    "resourceVersion", "generation",      "creationTimestamp",
                                          "labels", "annotations",     "ownerReferences", "finalizers",
                                          NULL };
static const char *const order_spec[] = { "flows", "schedulerName", "minAvailable", "volumes", "tasks", NULL };

static const char *const order_vertex[] = { "name", NULL };

static struct json *ordered(struct arena *a, const struct json *map, const char *const *order)
{
    struct json *out = json_object(a);

    for (const char *const *key = order; *key; key++)
        if (json_get(map, *key))
            json_add(out, str_of(*key), json_copy(a, json_get(map, *key)));
    JSON_FOREACH(member, map)
        if (!json_get_str(out, json_key(member)))
            json_add(out, json_key(member), json_copy(a, member));
    return out;
}

static struct json *in_order(struct arena *a, const struct json *object)
{
    struct json *out = ordered(a, object, order_object);

    json_set(out, "metadata", ordered(a, json_get(object, "metadata"), order_meta));
    json_set(out, "spec", ordered(a, json_get(object, "spec"), order_spec));
    if (json_find(out, "spec", "flows", NULL)) {
        struct json *flows = json_array(a);

        JSON_FOREACH(vertex, json_find(out, "spec", "flows", NULL))
            json_push(flows, ordered(a, vertex, order_vertex));
        json_set(json_get(out, "spec"), "flows", flows);
    }
    return out;
}

/* Quantities in the form that Kubernetes prints. */
static void vc_flow_tidy(struct arena *a, const struct json *amounts)
{
    JSON_FOREACH(ctl_vc_flow_list, amounts)
        JSON_FOREACH(amount, ctl_vc_flow_list) {
            autobuf text = { 0 };
            struct quantity q;
            struct str printed;

            if (quantity_parse(json_text(amount, STR_NULL), &q, NULL) < 0)
                continue;
            quantity_print(&text, q);
            printed = arena_str(a, buf_view(&text));
            amount->text = printed.p;
            amount->n = (uint32_t)printed.n;
        }
}

/* Parts that are there whether anything is in them or not. */
static void vc_flow_fill(struct vc *v, const struct vc_flow_twin *t, struct json *o)
{
    json_remove(json_get(o, "metadata"), "managedFields");
    (void)json_need_object(v->arena, o, "spec");
    (void)json_need_object(v->arena, o, "status");
    if (t->has_status)
        (void)json_need_object(v->arena, json_get(o, "status"), "state");
    JSON_FOREACH(task, json_find(o, "spec", "tasks", NULL)) {
        (void)json_need_object(v->arena, json_need_object(v->arena, task, "template"), "metadata");
        JSON_FOREACH(c, json_find(task, "template", "spec", "containers", NULL))
            vc_flow_tidy(v->arena, json_need_object(v->arena, c, "resources"));
    }
}

static void print_object(struct vc *v, const struct vc_flow_twin *t, struct json *o)
{
    vc_flow_fill(v, t, o);
    if (strcmp(v->values->format, "json") == 0) {
        json_print_pretty(&v->out, in_order(v->arena, o), 2);
        buf_char(&v->out, '\n');
    } else if (strcmp(v->values->format, "yaml") == 0) {
        json_sort_keys(o, true);
        yaml_print(&v->out, o, NULL);
    } else {
        buf_fmt(&v->out, "Unsupported format: %s", v->values->format);
    }
}

static int ctl_vc_flow_describe(struct vc *v, const struct vc_flow_twin *t, struct err *e)
{
    struct ctl_select which = { .namespace = str_of(v->values->namespace) };
    struct ctl_objects all = { 0 };
    struct json *object;

    if (v->values->name[0]) {
        if (ctl_get(&v->ctl, ctl_name(t->kind, which.namespace, str_of(v->values->name)), &object, e) < 0)
            return -1;
        print_object(v, t, object);
        return 0;
    }
    if (ctl_list(&v->ctl, ctl_type(t->kind), &which, &all, e) < 0)
        return -1;
    for (size_t i = 0; i < all.v.n; i++) {
        print_object(v, t, all.v.v[i]);
        buf_str(&v->out, i + 1 < all.v.n ? STR("\n\n") : STR(""));
    }
    return 0;
}

int vc_template_create(struct vc *v, struct err *e)
{
    return for_each_part(v, &twins[TEMPLATE], true, e);
}

int vc_flow_create(struct vc *v, struct err *e)
{
    return for_each_part(v, &twins[FLOW], true, e);
}

int vc_template_delete(struct vc *v, struct err *e)
{
    return vc_flow_delete_one(v, &twins[TEMPLATE], e);
}

int vc_flow_delete(struct vc *v, struct err *e)
{
    return vc_flow_delete_one(v, &twins[FLOW], e);
}

int vc_template_list(struct vc *v, struct err *e)
{
    return ctl_vc_flow_list(v, &twins[TEMPLATE], e);
}

int vc_flow_list(struct vc *v, struct err *e)
{
    return ctl_vc_flow_list(v, &twins[FLOW], e);
}

int vc_template_get(struct vc *v, struct err *e)
{
    return ctl_vc_flow_get(v, &twins[TEMPLATE], e);
}

int vc_flow_get(struct vc *v, struct err *e)
{
    return ctl_vc_flow_get(v, &twins[FLOW], e);
}

int vc_template_describe(struct vc *v, struct err *e)
{
    return ctl_vc_flow_describe(v, &twins[TEMPLATE], e);
}

int vc_flow_describe(struct vc *v, struct err *e)
{
    return ctl_vc_flow_describe(v, &twins[FLOW], e);
}
