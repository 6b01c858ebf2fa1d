/* amounts.c - quantities as Kubernetes keeps them: "0.5" is "500m", 1 is "1"
 *
 * Client libraries read quantities and write them in this form. If an object kept the text of its author, one that was
 * read and written back would seem to have changed, and pods may not change.
 */
#include "server/server_internal.h"

#include "api/quantity.h"

static void canonical(struct arena *a, struct json *parent, struct json *value)
{
    autobuf text = { 0 };
    struct quantity q;
    struct str given = json_is(value, JSON_NUMBER) ? (struct str){ value->text, value->n } : json_text(value, STR_NULL);

    if (quantity_parse(given, &q, NULL) < 0)
        return; /* the rules tell what is wrong with it */
    quantity_print(&text, q);
    if (!json_is(value, JSON_STRING) || !str_eq(given, buf_view(&text)))
        json_replace(parent, value, json_str(a, arena_str(a, buf_view(&text))));
}

/* All values of the object. */
static void canonical_all(struct arena *a, struct json *map)
{
    struct json *next;

    for (struct json *value = json_first(map); value; value = next) {
        next = value->next;
        canonical(a, map, value);
    }
}

void amounts_canonical(struct arena *a, struct json *from, const char *path)
{
    struct str rest = str_of(path), part;

    if (!*path) {
        canonical_all(a, from);
        return;
    }
    (void)str_split(&rest, '.', &part);
    if (str_is(part, "*")) {
        JSON_FOREACH(item, from)
            amounts_canonical(a, item, rest.n ? rest.p : "");
        return;
    }
    from = json_get_str(from, part);
    if (json_is(from, JSON_ARRAY) || json_is(from, JSON_OBJECT))
        amounts_canonical(a, from, rest.n ? rest.p : "");
}
