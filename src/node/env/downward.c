/* downward.c - downward API: values of fieldRef and resourceFieldRef */
#include "node/env/downward.h"

#include "api/pod/container.h"
#include "api/quantity.h"
#include "base/util.h"

/* ---- fieldRef ---- */

static const struct {
    const char *path, *section, *member;
    bool is_map;    /* also with ['key'] */
    const char *of; /* a list of objects: this member of each, joined by commas */
} fields[] = {
    { "metadata.name", "metadata", "name" },
    { "metadata.namespace", "metadata", "namespace" },
    { "metadata.uid", "metadata", "uid" },
    { "metadata.labels", "metadata", "labels", true },
    { "metadata.annotations", "metadata", "annotations", true },
    { "spec.nodeName", "spec", "nodeName" },
    { "spec.serviceAccountName", "spec", "serviceAccountName" },
    { "status.podIP", "status", "podIP" },
    { "status.hostIP", "status", "hostIP" },
    { "status.podIPs", "status", "podIPs", false, "ip" },
    { "status.hostIPs", "status", "hostIPs", false, "ip" },
};

/* Quote like Go's %q, which readers of these files parse: escape control characters and the two unprintable blanks of
 * Latin-1; keep everything else. */
static void downward_quote(struct buf *out, struct str s)
{
    static const char letters[] = "abtnvfr"; /* of 7 to 13 */

    buf_char(out, '"');
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i], next = i + 1 < s.n ? (unsigned char)s.p[i + 1] : 0;

        if (c == '"' || c == '\\')
            buf_fmt(out, "\\%c", c);
        else if (c >= 7 && c <= 13)
            buf_fmt(out, "\\%c", letters[c - 7]);
        else if (c < 0x20 || c == 0x7f)
            buf_fmt(out, "\\x%02x", c);
        else if (c == 0xc2 && (next <= 0xa0 || next == 0xad) && next >= 0x80)
            buf_fmt(out, "\\u00%02x", next), i++;
        else
            buf_char(out, (char)c);
    }
    buf_char(out, '"');
}

static int downward_key_cmp(const void *x, const void *y)
{
    return str_cmp(json_key(*(const struct json *const *)x), json_key(*(const struct json *const *)y));
}

static struct str map_lines(struct arena *a, const struct json *map)
{
    size_t n = 0;
    const struct json **sorted = arena_array(a, const struct json *, json_count(map));
    autobuf out = { 0 };

    if (!json_is(map, JSON_OBJECT))
        return STR("");
    JSON_FOREACH(member, map)
        sorted[n++] = member;
    qsort(sorted, n, sizeof(*sorted), downward_key_cmp);
    for (size_t i = 0; i < n; i++) {
        buf_fmt(&out, "%s%.*s=", i ? "\n" : "", STR_ARG(json_key(sorted[i])));
        downward_quote(&out, json_text(sorted[i], STR("")));
    }
    return arena_str(a, buf_view(&out));
}

static struct str downward_joined(struct arena *a, const struct json *list, const char *of)
{
    autobuf out = { 0 };

    JSON_FOREACH(item, list) {
        if (out.n)
            buf_char(&out, ',');
        buf_str(&out, json_member_text(item, of));
    }
    return arena_str(a, buf_view(&out));
}

/* The x of "…['x']" when the path is 'base' with this suffix. */
static bool map_subscript(struct str path, struct str base, struct str *ret)
{
    struct str end = str_from(path, base.n);

    if (!str_starts(path, base) || end.n < 4 || !str_starts(end, STR("['")) || !str_ends(end, STR("']")))
        return false;
    *ret = str_sub(end, 2, end.n - 4);
    return true;
}

int downward_field(struct arena *a, const struct json *pod, struct str path, struct str *ret, struct err *e)
{
    struct str key;

    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const struct json *value = json_find(pod, fields[i].section, fields[i].member, NULL);

        if (fields[i].is_map && map_subscript(path, str_of(fields[i].path), &key)) {
            *ret = json_text(json_get_str(value, key), STR(""));
            return 0;
        }
        if (!str_is(path, fields[i].path))
            continue;
        *ret = fields[i].is_map ? map_lines(a, value)
               : fields[i].of   ? downward_joined(a, value, fields[i].of)
                                : json_text(value, STR(""));
        return 0;
    }
    return err_set(e, ERR_INVALID, "unsupported fieldPath \"%.*s\"", STR_ARG(path));
}

/* ---- resourceFieldRef ---- */

/* A quantity may be written as text or as a number; NULL and null are "not set". */
static int downward_quantity(const struct json *j, struct quantity *ret, bool *ret_is_set, struct err *e)
{
    *ret_is_set = j && j->type != JSON_NULL;
    if (!*ret_is_set)
        return 0;
    if (j->type != JSON_STRING && j->type != JSON_NUMBER)
        return err_set(e, ERR_INVALID, "must be a quantity, not a %s", json_type_name(j->type));
    return quantity_parse((struct str){ j->text, j->n }, ret, e);
}

/* The amount of "limits.cpu" and the like: the first source that is set. */
static int downward_amount(const struct json *container, const struct json *allocatable, struct str what,
                           struct quantity *ret, struct err *e)
{
    bool is_request = str_starts(what, STR("requests.")), is_set = false;
    struct str resource = str_from(what, is_request ? strlen("requests.") : strlen("limits."));
    const struct json *resources = json_get(container, "resources");
    const struct json *const sources[] = {
        is_request ? json_get(resources, "requests") : NULL,
        json_get(resources, "limits"),
        is_request ? NULL : allocatable,
    };

    *ret = quantity_of_i64(0, QUANTITY_DECIMAL_SI);
    for (size_t i = 0; i < ARRAY_LEN(sources) && !is_set; i++)
        if (downward_quantity(json_get_str(sources[i], resource), ret, &is_set, e) < 0)
            return err_wrap(e, "%.*s", STR_ARG(resource));
    return 0;
}

int downward_resource(struct arena *a, const struct downward *d, const struct json *ref, struct str *ret, struct err *e)
{
    struct str name = json_text(json_get(ref, "containerName"), d->container), what = json_member_text(ref, "resource");
    bool is_limit = str_starts(what, STR("limits.")), is_request = str_starts(what, STR("requests.")), is_set;
    struct str resource = str_from(what, is_limit ? 7 : 9);
    const struct json *c = container_named(json_get(d->pod, "spec"), name.n ? name : d->container);
    struct quantity amount, divisor = quantity_of_i64(1, QUANTITY_DECIMAL_SI);
    bool is_cpu = str_is(resource, "cpu");
    bool is_countable = is_cpu || str_is(resource, "memory") || str_is(resource, "ephemeral-storage") ||
                        str_starts(resource, STR("hugepages-"));
    int64_t n, by;

    if (!c)
        return err_set(e, ERR_INVALID, "resource \"%.*s\": the pod has no container \"%.*s\"", STR_ARG(what),
                       STR_ARG(name));
    if ((!is_limit && !is_request) || !is_countable)
        return err_set(e, ERR_INVALID, "unsupported resource \"%.*s\"", STR_ARG(what));
    if (downward_amount(c, d->allocatable, what, &amount, e) < 0)
        return err_wrap(e, "container \"%.*s\"", STR_ARG(name));
    if (downward_quantity(json_get(ref, "divisor"), &divisor, &is_set, e) < 0)
        return err_wrap(e, "divisor of \"%.*s\"", STR_ARG(what));
    n = is_cpu ? quantity_milli(amount) : quantity_units(amount);
    by = is_cpu ? quantity_milli(divisor) : quantity_units(divisor);
    if (by == 0) /* "0" is what an unset divisor reads as in Go */
        by = is_cpu ? 1000 : 1;
    if (by <= 0 || n < 0)
        return err_set(e, ERR_INVALID, "resource \"%.*s\": amount and divisor must not be negative", STR_ARG(what));
    *ret = arena_fmt(a, "%lld", (long long)(n / by + (n % by != 0)));
    return 0;
}
