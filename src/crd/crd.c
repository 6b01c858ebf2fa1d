/* crd.c - schema tables to CustomResourceDefinitions */
#include "crd/crd.h"

#include "api/fields.h"
#include "api/schema/schemas.h"
#include "api/types.h"

struct crd_writer {
    struct arena *a;
    bool keeps_unknown; /* below a pod template */
};

static void crd_add_text(struct crd_writer *w, struct json *to, const char *key, const char *text)
{
    json_add(to, str_of(key), json_str(w->a, str_of(text)));
}

static void add_int(struct crd_writer *w, struct json *to, const char *key, int64_t v)
{
    json_add(to, str_of(key), json_int(w->a, v));
}

static void add_true(struct crd_writer *w, struct json *to, const char *key)
{
    json_add(to, str_of(key), json_bool_new(w->a, true));
}

static struct json *crd_texts(struct crd_writer *w, const char *const *list)
{
    struct json *j = json_array(w->a);

    for (; *list; list++)
        json_push(j, json_str(w->a, str_of(*list)));
    return j;
}

/* ---- formats ---- the same texts that the check functions take; "" is "not set" ---- */

#define LABEL             "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define SUBDOMAIN         LABEL "(\\." LABEL ")*"
#define WORD              "[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
#define DECIMAL           "([0-9]+(\\.[0-9]*)?|\\.[0-9]+)"
#define OR_EMPTY(pattern) "^(" pattern ")?$"

struct text_format {
    const char *(*check)(struct arena *a, const struct json *value);
    const char *pattern, *format;
    int64_t max; /* characters; 0: any number */
};

static const struct text_format formats[] = {
    { format_label, OR_EMPTY(LABEL), NULL, 63 },
    { format_subdomain, OR_EMPTY(SUBDOMAIN), NULL, 253 },
    { format_qualified, OR_EMPTY("(" SUBDOMAIN "/)?" WORD), NULL, 317 },
    { format_label_value, OR_EMPTY(WORD), NULL, 63 },
    { format_env, "^[ -<>-~]*$", NULL, 0 },
    { format_config_key, "^[-._a-zA-Z0-9]*$", NULL, 253 },
    { format_port, "^[-a-z0-9]*$", NULL, 15 },
    { format_mount_path, "^[^:]*$", NULL, 0 },
    { format_duration, "^[-+]?(0|(" DECIMAL "(ns|us|µs|μs|ms|s|m|h))+)$", NULL, 64 },
    { format_time, NULL, "date-time", 0 },
};

#define QUANTITY_PATTERN "^[-+]?" DECIMAL "([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]+)?$"

static const struct text_format *format_of(const struct field *f)
{
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (formats[i].check == f->check)
            return &formats[i];
    return NULL;
}

/* ---- one value ---- */

static struct json *typed(struct crd_writer *w, const char *type)
{
    struct json *j = json_object(w->a);

    crd_add_text(w, j, "type", type);
    return j;
}

static struct json *enum_values(struct crd_writer *w, const struct field *f)
{
    struct json *all = crd_texts(w, f->values);

    if (!(f->flags & (FIELD_REQUIRED | FIELD_NOT_EMPTY)))
        json_push(all, json_str(w->a, STR(""))); /* written out as "not set" */
    return all;
}

static struct json *text_value(struct crd_writer *w, const struct field *f)
{
    const struct text_format *format = format_of(f);
    int64_t max = f->max ? f->max : format ? format->max : 0;
    struct json *j = typed(w, "string");

    if (f->values)
        json_add(j, STR("enum"), enum_values(w, f));
    else if (f->flags & FIELD_NOT_EMPTY && f->shape == SHAPE_ONE)
        add_int(w, j, "minLength", 1);
    if (max)
        add_int(w, j, "maxLength", max);
    if (format && format->pattern)
        crd_add_text(w, j, "pattern", format->pattern);
    if (format && format->format) {
        crd_add_text(w, j, "format", format->format);
        add_true(w, j, "nullable"); /* typed writers print a time that is not set as null */
    }
    return j;
}

static struct json *int_value(struct crd_writer *w, const struct field *f)
{
    struct json *j = typed(w, "integer");

    crd_add_text(w, j, "format", f->kind == FIELD_INT32 ? "int32" : "int64");
    if (f->min || f->max) {
        add_int(w, j, "minimum", f->min);
        if (f->max != INT64_MAX)
            add_int(w, j, "maximum", f->max);
    }
    return j;
}

static struct json *int_or_text(struct crd_writer *w)
{
    struct json *j = json_object(w->a), *any = json_array(w->a);

    json_push(any, typed(w, "integer"));
    json_push(any, typed(w, "string"));
    json_add(j, STR("anyOf"), any);
    add_true(w, j, "x-kubernetes-int-or-string");
    return j;
}

/* In a pod "cpu: 0.5" is a quantity. No structural schema has "number or text", so there only a text is looked at. */
static struct json *quantity_value(struct crd_writer *w)
{
    struct json *j = w->keeps_unknown ? json_object(w->a) : int_or_text(w);

    if (w->keeps_unknown)
        add_true(w, j, "x-kubernetes-preserve-unknown-fields");
    crd_add_text(w, j, "pattern", QUANTITY_PATTERN);
    return j;
}

static struct json *any_value(struct crd_writer *w, const struct field *f)
{
    struct json *j;

    if (f->check == format_quantity)
        return quantity_value(w);
    if (f->check == format_arguments) {
        j = typed(w, "array");
        json_add(j, STR("items"), typed(w, "string"));
        add_true(w, j, "nullable"); /* "env:" with nothing behind it is a plugin without arguments */
        return j;
    }
    j = json_object(w->a);
    add_true(w, j, "x-kubernetes-preserve-unknown-fields");
    return j;
}

static struct json *object_value(struct crd_writer *w, const struct schema *s);

static struct json *opaque(struct crd_writer *w)
{
    struct json *j = typed(w, "object");

    add_true(w, j, "x-kubernetes-preserve-unknown-fields");
    return j;
}

static struct json *crd_value_of(struct crd_writer *w, const struct field *f)
{
    switch ((enum field_kind)f->kind) {
    case FIELD_STR:
        return text_value(w, f);
    case FIELD_BOOL:
        return typed(w, "boolean");
    case FIELD_INT32:
    case FIELD_INT64:
        return int_value(w, f);
    case FIELD_NUMBER:
        return typed(w, "number");
    case FIELD_INT_OR_STR:
        return int_or_text(w);
    case FIELD_OBJECT:
        return f->sub ? object_value(w, f->sub) : opaque(w);
    default:
        return any_value(w, f);
    }
}

/* ---- rows of crd_rules.c ---- */

static bool is_about(const struct crd_row *row, const struct schema *s, const struct field *f)
{
    if (strcmp(row->schema, s->name) != 0)
        return false;
    return f ? row->field && strcmp(row->field, f->name) == 0 : !row->field;
}

static const struct crd_row *find_row(const struct schema *s, const struct field *f, enum crd_extra what)
{
    for (size_t i = 0; i < n_crd_rows; i++)
        if (crd_rows[i].what == what && is_about(&crd_rows[i], s, f))
            return &crd_rows[i];
    return NULL;
}

static struct json *parsed(struct crd_writer *w, const char *text)
{
    struct json *j = NULL;
    struct err e;

    return json_parse(w->a, str_of(text), NULL, &j, &e) == 0 ? j : json_null(w->a); /* a test reads every row */
}

static void add_rules(struct crd_writer *w, struct json *to, const struct schema *s, const struct field *f)
{
    struct json *rules = json_array(w->a);

    for (size_t i = 0; i < n_crd_rows; i++) {
        const struct crd_row *row = &crd_rows[i];
        struct json *rule;

        if (row->what != CRD_RULE || !is_about(row, s, f))
            continue;
        rule = json_push(rules, json_object(w->a));
        crd_add_text(w, rule, "rule", row->text);
        crd_add_text(w, rule, "message", row->message);
        if (row->at)
            crd_add_text(w, rule, "fieldPath", row->at);
    }
    if (rules->n)
        json_add(to, STR("x-kubernetes-validations"), rules);
}

static void add_extras(struct crd_writer *w, struct json *to, const struct schema *s, const struct field *f)
{
    const struct crd_row *row;

    if ((row = find_row(s, f, CRD_ENUM)))
        json_add(to, STR("enum"), crd_texts(w, row->values));
    if ((row = find_row(s, f, CRD_MAX_ITEMS)))
        json_add(to, STR("maxItems"), parsed(w, row->text));
    if ((row = find_row(s, f, CRD_MAX_TEXT)))
        json_set(f->shape == SHAPE_LIST ? json_get(to, "items") : to, "maxLength", parsed(w, row->text));
    if ((row = find_row(s, f, CRD_MAP_KEYS))) {
        crd_add_text(w, to, "x-kubernetes-list-type", "map");
        json_add(to, STR("x-kubernetes-list-map-keys"), crd_texts(w, (const char *const[]){ row->text, NULL }));
    }
    if ((row = find_row(s, f, CRD_DEFAULT)))
        json_add(to, STR("default"), parsed(w, row->text));
    add_rules(w, to, s, f);
}

/* ---- fields and objects ---- */

static struct json *field_node(struct crd_writer *w, const struct schema *s, const struct field *f)
{
    struct json *value = crd_value_of(w, f), *j = value;

    if (f->shape != SHAPE_ONE) {
        j = typed(w, f->shape == SHAPE_LIST ? "array" : "object");
        json_add(j, f->shape == SHAPE_LIST ? STR("items") : STR("additionalProperties"), value);
        if (f->flags & FIELD_NOT_EMPTY)
            add_int(w, j, f->shape == SHAPE_LIST ? "minItems" : "minProperties", 1);
    }
    if (f->doc)
        crd_add_text(w, j, "description", f->doc);
    add_extras(w, j, s, f);
    return j;
}

static struct json *object_value(struct crd_writer *w, const struct schema *s)
{
    bool is_template = s == &schema_pod_template, kept = w->keeps_unknown;
    struct json *j = typed(w, "object"), *properties = json_object(w->a), *required = json_array(w->a);

    w->keeps_unknown |= is_template;
    for (size_t i = 0; i < s->n_fields; i++) {
        const struct field *f = &s->fields[i];

        if (find_row(s, f, CRD_LEFT_OUT))
            continue;
        json_add(properties, str_of(f->name), field_node(w, s, f));
        if (f->flags & FIELD_REQUIRED || find_row(s, f, CRD_REQUIRED))
            json_push(required, json_str(w->a, str_of(f->name)));
    }
    if (required->n)
        json_add(j, STR("required"), required);
    json_add(j, STR("properties"), properties);
    if (w->keeps_unknown)
        add_true(w, j, "x-kubernetes-preserve-unknown-fields");
    add_rules(w, j, s, NULL);
    w->keeps_unknown = kept;
    return j;
}

struct json *crd_schema(struct arena *a, const struct schema *s)
{
    struct crd_writer w = { .a = a };

    return object_value(&w, s);
}

/* metadata is the server's own: a schema may not describe it. */
static struct json *root_schema(struct crd_writer *w, const struct resource_type *t)
{
    struct json *j = object_value(w, t->schema);

    json_set(json_get(j, "properties"), "metadata", typed(w, "object"));
    return j;
}

/* ---- columns of kubectl get: Volcano's, letter case and all ---- */

struct crd_column {
    const char *kind, *name, *type, *path;
    bool is_wide;
};

static const struct crd_column columns[] = {
    { "Job", "STATUS", "string", ".status.state.phase", false },
    { "Job", "minAvailable", "integer", ".status.minAvailable", false },
    { "Job", "RUNNINGS", "integer", ".status.running", false },
    { "Job", "AGE", "date", ".metadata.creationTimestamp", false },
    { "Job", "QUEUE", "string", ".spec.queue", true },
    { "PodGroup", "STATUS", "string", ".status.phase", false },
    { "PodGroup", "minMember", "integer", ".spec.minMember", false },
    { "PodGroup", "RUNNINGS", "integer", ".status.running", false },
    { "PodGroup", "AGE", "date", ".metadata.creationTimestamp", false },
    { "PodGroup", "QUEUE", "string", ".spec.queue", true },
    { "Queue", "PARENT", "string", ".spec.parent", false },
    { "JobFlow", "Status", "string", ".status.state.phase", false },
    { "JobFlow", "Age", "date", ".metadata.creationTimestamp", false },
    { "HyperNode", "Tier", "string", ".spec.tier", false },
    { "HyperNode", "TierName", "string", ".spec.tierName", false },
    { "HyperNode", "NodeCount", "integer", ".status.nodeCount", false },
    { "HyperNode", "Age", "date", ".metadata.creationTimestamp", false },
};

static void add_columns(struct crd_writer *w, struct json *version, const struct resource_type *t)
{
    struct json *list = json_array(w->a);

    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        const struct crd_column *c = &columns[i];
        struct json *j;

        if (strcmp(c->kind, t->kind) != 0)
            continue;
        j = json_push(list, json_object(w->a));
        crd_add_text(w, j, "name", c->name);
        crd_add_text(w, j, "type", c->type);
        crd_add_text(w, j, "jsonPath", c->path);
        if (c->is_wide)
            add_int(w, j, "priority", 1);
    }
    if (list->n)
        json_add(version, STR("additionalPrinterColumns"), list);
}

/* ---- the definition ---- */

static struct json *crd_names_of(struct crd_writer *w, const struct resource_type *t)
{
    struct json *names = json_object(w->a);
    autobuf singular = { 0 };

    for (const char *p = t->kind; *p; p++)
        buf_char(&singular, (char)(*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p));
    crd_add_text(w, names, "kind", t->kind);
    json_add(names, STR("listKind"), json_fmt(w->a, "%sList", t->kind));
    crd_add_text(w, names, "plural", t->plural);
    json_add(names, STR("singular"), json_str(w->a, arena_str(w->a, buf_view(&singular))));
    if (t->short_names[0])
        json_add(names, STR("shortNames"), crd_texts(w, t->short_names));
    return names;
}

static struct json *crd_version_of(struct crd_writer *w, const struct resource_type *t)
{
    struct json *version = json_object(w->a), *schema = json_object(w->a);

    crd_add_text(w, version, "name", t->version);
    add_true(w, version, "served");
    add_true(w, version, "storage");
    if (t->subresources[0]) /* none of our kinds has another one than status */
        json_add(json_add(version, STR("subresources"), json_object(w->a)), STR("status"), json_object(w->a));
    add_columns(w, version, t);
    json_add(schema, STR("openAPIV3Schema"), root_schema(w, t));
    json_add(version, STR("schema"), schema);
    return version;
}

bool crd_is_needed(const struct resource_type *t)
{
    return str_ends(str_of(t->group), STR(".volcano.sh"));
}

struct json *crd_make(struct arena *a, const struct resource_type *t)
{
    struct crd_writer w = { .a = a };
    struct json *crd = json_object(a), *meta = json_object(a), *spec = json_object(a), *versions = json_array(a);

    crd_add_text(&w, crd, "apiVersion", "apiextensions.k8s.io/v1");
    crd_add_text(&w, crd, "kind", "CustomResourceDefinition");
    json_add(crd, STR("metadata"), meta);
    json_add(meta, STR("name"), json_fmt(a, "%s.%s", t->plural, t->group));
    /* Uninstalling the chart keeps the jobs. */
    crd_add_text(&w, json_add(meta, STR("annotations"), json_object(a)), "helm.sh/resource-policy", "keep");
    json_add(crd, STR("spec"), spec);
    crd_add_text(&w, spec, "group", t->group);
    json_add(spec, STR("names"), crd_names_of(&w, t));
    crd_add_text(&w, spec, "scope", t->scope == SCOPE_CLUSTER ? "Cluster" : "Namespaced");
    json_push(versions, crd_version_of(&w, t));
    json_add(spec, STR("versions"), versions);
    return crd;
}
