/* view.c - the same object in another form: events.k8s.io/v1 Events, which are core Events, and versions of custom kinds
 *
 * Only names differ, or the apiVersion. A request for one is made one for the other before anything looks at it, and
 * what is answered is made back: all see the same objects.
 */
#include "server/server_internal.h"

#include "crd/custom.h"

static const char *const names[][2] = { /* of core, of events.k8s.io */
                                        { "involvedObject", "regarding" },
                                        { "message", "note" },
                                        { "reportingComponent", "reportingController" },
                                        { "source", "deprecatedSource" },
                                        { "firstTimestamp", "deprecatedFirstTimestamp" },
                                        { "lastTimestamp", "deprecatedLastTimestamp" },
                                        { "count", "deprecatedCount" }
};

#define CORE "v1"
#define VIEW "events.k8s.io/v1"

const struct resource_type *view_stored(const struct resource_type *t)
{
    return strcmp(t->group, "events.k8s.io") == 0 ? type_by_kind(STR(CORE), STR("Event")) : NULL;
}

static struct json *renamed(struct arena *a, const struct json *event, size_t from, const char *api_version)
{
    struct json *out = json_object(a);

    JSON_FOREACH(member, event) {
        struct str key = json_key(member);

        for (size_t i = 0; i < ARRAY_LEN(names); i++)
            if (str_is(key, names[i][from]))
                key = str_of(names[i][!from]);
        json_set_key(out, key, json_copy(a, member));
    }
    json_set(out, "apiVersion", json_str(a, str_of(api_version)));
    return out;
}

static struct json *of_version(struct arena *a, const struct resource_type *t, const struct json *root)
{
    struct json *out = json_copy(a, root);

    json_set(out, "apiVersion", json_str(a, type_api_version(a, t)));
    return out;
}

/* A default counts for objects that were stored before it was defined. */
static struct json *with_defaults(struct arena *a, const struct resource_type *t, struct json *object)
{
    if (t->custom->has_defaults)
        structural_default(a, t->custom->schema, object);
    return object;
}

const struct json *view_show(struct arena *a, const struct resource_type *view, const struct json *root)
{
    if (!view)
        return root;
    return view->custom ? with_defaults(a, view, of_version(a, view, root)) : renamed(a, root, 0, VIEW);
}

struct json *view_take(struct arena *a, const struct resource_type *view, const struct resource_type *stored,
                       const struct json *body)
{
    return view->custom ? of_version(a, stored, body) : renamed(a, body, 1, CORE);
}

/* "regarding.name=x" asks for "involvedObject.name=x". */
struct str view_fields(struct arena *a, struct str text)
{
    autobuf out = { 0 };
    struct str part;

    while (text.n && str_split(&text, ',', &part)) {
        struct str field = str_trim(part);

        if (out.n)
            buf_char(&out, ',');
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
            struct str other = str_of(names[i][1]);

            if (!str_starts(field, other) || field.n == other.n || !strchr(".=!", field.p[other.n]))
                continue;
            buf_str(&out, str_of(names[i][0]));
            field = str_from(field, other.n);
            break;
        }
        buf_str(&out, field);
    }
    return arena_str(a, buf_view(&out));
}
