/* kind.c - what a definition says, as rows that the server reads like those of its own kinds */
#include "crd/custom.h"

#include "crd/crd.h"
#include "api/meta.h"
#include "api/schema/schemas.h"
#include "base/util.h"

static const char *kind_text_of(struct arena *a, const struct json *j, const char *key)
{
    struct str text = json_member_text(j, key);

    return text.n ? arena_cstr(a, text) : NULL;
}

static const char *const *texts_of(struct arena *a, const struct json *list)
{
    const char **v = arena_array(a, const char *, json_count(list) + 1);
    size_t n = 0;

    JSON_FOREACH(item, list)
        v[n++] = arena_cstr(a, json_text(item, STR_NULL));
    return v;
}

/* Definitions do not list the members that every object has, but the published schema does. */
static const struct json *whole_schema(struct arena *a, const struct json *given)
{
    static const char *const common[] = { "apiVersion", "kind", "metadata" };
    struct json *schema = json_copy(a, given), *properties = json_need_object(a, schema, "properties");
    const struct json *known = json_get(crd_schema(a, &schema_configmap), "properties");

    for (size_t i = 0; properties && i < ARRAY_LEN(common); i++)
        json_set(properties, common[i], json_copy(a, json_get(known, common[i])));
    return schema;
}

static const struct type_column age = { "Age", "date", "", "", ".metadata.creationTimestamp", false };

static void read_columns(struct arena *a, const struct json *version, struct type_custom *ret)
{
    const struct json *list = json_get(version, "additionalPrinterColumns");
    struct type_column *v = arena_array(a, struct type_column, json_count(list) + 2);
    size_t n = 0;

    v[n++] = (struct type_column){ "Name", "string", "name", "", ".metadata.name", false };
    JSON_FOREACH(c, list) {
        const char *format = kind_text_of(a, c, "format"), *about = kind_text_of(a, c, "description");

        v[n++] = (struct type_column){ kind_text_of(a, c, "name"),     kind_text_of(a, c, "type"),
                                       format ? format : "",           about ? about : "",
                                       kind_text_of(a, c, "jsonPath"), json_i64(json_get(c, "priority"), 0) > 0 };
    }
    if (n == 1)
        v[n++] = age;
    ret->columns = v;
    ret->n_columns = n;
}

static void read_subresources(struct arena *a, const struct json *version, struct custom_version *ret)
{
    const struct json *list = json_get(version, "subresources"), *scale = json_get(list, "scale");
    size_t n = 0;

    if (json_is(json_get(list, "status"), JSON_OBJECT))
        ret->type.subresources[n++] = "status";
    if (!json_is(scale, JSON_OBJECT))
        return;
    ret->type.subresources[n++] = "scale";
    ret->custom.replicas = kind_text_of(a, scale, "specReplicasPath");
    ret->custom.status_replicas = kind_text_of(a, scale, "statusReplicasPath");
    ret->custom.selector = kind_text_of(a, scale, "labelSelectorPath");
}

/* ".spec.colour" is asked for as spec.colour. */
static const char *const *selectable(struct arena *a, const struct json *list)
{
    const char **v = arena_array(a, const char *, json_count(list) + 1);
    size_t n = 0;

    if (!json_count(list))
        return NULL;
    JSON_FOREACH(f, list)
        v[n++] = arena_cstr(a, str_from(json_member_text(f, "jsonPath"), 1));
    return v;
}

static void read_version(struct arena *a, const struct json *spec, const struct json *version,
                         struct custom_version *ret)
{
    const struct json *names = json_get(spec, "names");
    const char *warning = kind_text_of(a, version, "deprecationWarning");

    ret->is_served = json_bool(json_get(version, "served"), false);
    ret->is_storage = json_bool(json_get(version, "storage"), false);
    ret->type = (struct resource_type){
        .group = kind_text_of(a, spec, "group"),
        .version = kind_text_of(a, version, "name"),
        .kind = kind_text_of(a, names, "kind"),
        .plural = kind_text_of(a, names, "plural"),
        .scope = str_is(json_member_text(spec, "scope"), "Cluster") ? SCOPE_CLUSTER : SCOPE_NAMESPACED,
        .fields = selectable(a, json_get(version, "selectableFields")),
        .use = TYPE_STORED,
        .singular = kind_text_of(a, names, "singular"),
        .list_kind = kind_text_of(a, names, "listKind"),
        .custom = &ret->custom,
    };
    ret->custom.schema = whole_schema(a, json_find(version, "schema", "openAPIV3Schema", NULL));
    ret->custom.has_defaults = structural_has_defaults(ret->custom.schema);
    ret->custom.short_names = texts_of(a, json_get(names, "shortNames"));
    ret->custom.categories = texts_of(a, json_get(names, "categories"));
    if (json_bool(json_get(version, "deprecated"), false))
        ret->custom.warning =
            warning ? warning
                    : arena_fmt(a, "%s/%s %s is deprecated", ret->type.group, ret->type.version, ret->type.kind).p;
    read_columns(a, version, &ret->custom);
    read_subresources(a, version, ret);
}

struct custom_kind *custom_kind_new(const struct json *crd)
{
    struct custom_kind *k = xcalloc(1, sizeof(*k));
    const struct json *spec, *list;

    crd = json_clone(&k->arena, crd);
    spec = json_get(crd, "spec");
    list = json_get(spec, "versions");
    k->name = arena_str(&k->arena, object_name(crd));
    k->generation = json_i64(json_find(crd, "metadata", "generation", NULL), 0);
    k->is_ending = json_find(crd, "metadata", "deletionTimestamp", NULL);
    k->versions = arena_array(&k->arena, struct custom_version, json_count(list) + 1);
    JSON_FOREACH(v, list)
        read_version(&k->arena, spec, v, &k->versions[k->n_versions++]);
    return k;
}

void custom_kind_free(struct custom_kind *k)
{
    if (!k)
        return;
    arena_done(&k->arena);
    free(k);
}

struct custom_version *custom_version_find(struct custom_kind *k, struct str name)
{
    for (size_t i = 0; i < k->n_versions; i++)
        if (str_is(name, k->versions[i].type.version))
            return &k->versions[i];
    return NULL;
}

struct custom_version *custom_version_stored(struct custom_kind *k)
{
    for (size_t i = 0; i < k->n_versions; i++)
        if (k->versions[i].is_storage)
            return &k->versions[i];
    return &k->versions[0]; /* one is: it was checked */
}
