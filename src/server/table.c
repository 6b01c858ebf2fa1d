/* table.c - tables for people: what kubectl get prints */
#include "server/server_internal.h"

#include "api/pod/status.h"
#include "crd/custom.h"

/* ---- ages ---- */

/* As kubectl prints them: two units at most, and the second only while it says something. */
void print_age(struct buf *out, int64_t age_ms)
{
    int64_t s = age_ms / 1000, m = s / 60, h = m / 60, d = h / 24;

    if (age_ms < -1000)
        buf_str(out, STR("<invalid>"));
    else if (s < 120)
        buf_fmt(out, "%llds", (long long)MAX_OF(s, 0));
    else if (m < 10)
        buf_fmt(out, s % 60 ? "%lldm%llds" : "%lldm", (long long)m, (long long)(s % 60));
    else if (m < 180)
        buf_fmt(out, "%lldm", (long long)m);
    else if (h < 8)
        buf_fmt(out, m % 60 ? "%lldh%lldm" : "%lldh", (long long)h, (long long)(m % 60));
    else if (h < 48)
        buf_fmt(out, "%lldh", (long long)h);
    else if (d < 8)
        buf_fmt(out, h % 24 ? "%lldd%lldh" : "%lldd", (long long)d, (long long)(h % 24));
    else if (d < 365 * 2)
        buf_fmt(out, "%lldd", (long long)d);
    else if (d < 365 * 8)
        buf_fmt(out, d % 365 ? "%lldy%lldd" : "%lldy", (long long)(d / 365), (long long)(d % 365));
    else
        buf_fmt(out, "%lldy", (long long)(d / 365));
}

struct json *cell_age(struct arena *a, struct str time, int64_t now_ms)
{
    autobuf text = { 0 };
    int64_t at_ms;

    if (!time.n || clock_parse(time, &at_ms, NULL) < 0)
        return json_str(a, STR("<unknown>"));
    print_age(&text, now_ms - at_ms);
    return json_str(a, arena_str(a, buf_view(&text)));
}

/* ---- cells ---- */

static const struct json *at_path(const struct json *j, const char *path)
{
    struct str rest = str_of(path), part;

    while (str_split(&rest, '.', &part))
        j = json_get_str(j, part);
    return j;
}

/* A value where there is one; null prints as nothing. */
static struct json *cell_of(struct arena *a, const struct column *c, const struct json *object, int64_t now_ms)
{
    const struct json *value;

    if (!c->path)
        return c->cell(a, object, now_ms);
    value = at_path(object, c->path);
    if (strcmp(c->type, "date") == 0)
        return value ? cell_age(a, json_text(value, STR_NULL), now_ms) : json_null(a);
    return value && value->type < JSON_ARRAY ? json_copy(a, value) : json_null(a);
}

/* As the definition of the kind has it. */
static struct json *cell_of_custom(struct arena *a, const struct type_column *c, const struct json *object,
                                   int64_t now_ms)
{
    const struct json *value = jsonpath_find(object, str_of(c->path));
    autobuf text = { 0 };

    if (!value)
        return json_null(a);
    if (strcmp(c->type, "date") == 0)
        return cell_age(a, json_text(value, STR_NULL), now_ms);
    if (value->type < JSON_ARRAY && (strcmp(c->type, "string") != 0 || json_is(value, JSON_STRING)))
        return json_copy(a, value);
    json_print(&text, value); /* a text of whatever it is */
    return json_str(a, arena_str(a, buf_view(&text)));
}

static void add_column(struct arena *a, struct json *list, const struct type_column *c)
{
    struct json *j = json_push(list, json_object(a));

    json_add(j, STR("name"), json_str(a, str_of(c->name)));
    json_add(j, STR("type"), json_str(a, str_of(c->type)));
    json_add(j, STR("format"), json_str(a, str_of(c->format ? c->format : "")));
    json_add(j, STR("description"), json_str(a, str_of(c->description ? c->description : "")));
    json_add(j, STR("priority"), json_int(a, c->is_wide));
}

static void add_head(struct arena *a, struct json *table, const struct resource_type *t)
{
    struct json *list = json_set(table, "columnDefinitions", json_array(a));
    size_t n = 0;
    const struct column *columns = t->custom ? NULL : columns_of(t, &n);

    for (size_t i = 0; i < n; i++)
        add_column(a, list,
                   &(struct type_column){ .name = columns[i].name,
                                          .type = columns[i].type,
                                          .format = columns[i].format,
                                          .is_wide = columns[i].is_wide });
    for (size_t i = 0; t->custom && i < t->custom->n_columns; i++)
        add_column(a, list, &t->custom->columns[i]);
}

struct json *table_new(struct arena *a, const struct resource_type *t, bool has_head)
{
    struct json *j = json_object(a);

    json_add(j, STR("kind"), json_str(a, STR("Table")));
    json_add(j, STR("apiVersion"), json_str(a, STR("meta.k8s.io/v1")));
    json_add(j, STR("metadata"), json_object(a));
    json_add(j, STR("columnDefinitions"), json_null(a));
    json_add(j, STR("rows"), json_array(a));
    if (has_head)
        add_head(a, j, t);
    return j;
}

/* Pods that have ended are shown in grey by some. */
static void add_conditions(struct arena *a, struct json *row, const struct resource_type *t, const struct json *object)
{
    struct str phase = json_member_text(json_get(object, "status"), "phase");
    struct json *j;

    if (strcmp(t->plural, "pods") != 0 || !pod_phase_has_ended(phase))
        return;
    j = json_push(json_add(row, STR("conditions"), json_array(a)), json_object(a));
    json_add(j, STR("type"), json_str(a, STR("Completed")));
    json_add(j, STR("status"), json_str(a, STR("True")));
    json_add(j, STR("reason"), json_str(a, phase));
}

void table_add(struct arena *a, struct json *table, const struct json *object, const struct table_look *look)
{
    const struct resource_type *t = look->type;
    struct json *row = json_push(json_get(table, "rows"), json_object(a));
    struct json *cells = json_add(row, STR("cells"), json_array(a));
    size_t n = 0;
    const struct column *columns = t->custom ? NULL : columns_of(t, &n);

    for (size_t i = 0; i < n; i++)
        json_push(cells, cell_of(a, &columns[i], object, look->now_ms));
    for (size_t i = 0; t->custom && i < t->custom->n_columns; i++)
        json_push(cells, cell_of_custom(a, &t->custom->columns[i], object, look->now_ms));
    add_conditions(a, row, t, object);
    if (str_is(look->include, "None"))
        json_add(row, STR("object"), json_null(a));
    else
        json_add(row, STR("object"), str_is(look->include, "Object") ? json_copy(a, object) : partial_of(a, object));
}
