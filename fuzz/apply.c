/* apply.c - fuzz target: first line the live object, second line the configuration, applied and written as an update
 *
 * Tried as a Pod and as a custom object with a list of each kind. What comes out must print to text that parses to the
 * same tree, its managedFields must be readable, and applying the same again must change
 * nothing but, once, the owners of what nobody owned.
 */
#include "patch/apply.h"

#include "api/message/message.h"
#include "base/util.h"
#include "patch/managed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char schema_text[] =
    "{\"type\":\"object\",\"properties\":{\"m\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}},"
    "\"w\":{\"type\":\"object\",\"x-kubernetes-map-type\":\"atomic\"},"
    "\"s\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"x-kubernetes-list-type\":\"set\"},"
    "\"l\":{\"type\":\"array\",\"items\":{}},\"e\":{\"x-kubernetes-int-or-string\":true},"
    "\"k\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"a\",\"b\"],"
    "\"items\":{"
    "\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"integer\",\"default\":1},"
    "\"c\":{\"type\":\"string\"}}}},\"f\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}";

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void check_result(struct arena *a, const struct json *j)
{
    autobuf text = { 0 };
    struct managed m;
    struct json *back;
    struct err e;

    json_print(&text, j);
    must(json_parse(a, buf_view(&text), NULL, &back, &e) == 0);
    must(json_equal(j, back));
    must(managed_decode(a, json_find(j, "metadata", "managedFields", NULL), &m, &e) == 0);
}

static void try_as(struct arena *a, const struct ownership *who, const struct json *live, struct json *config)
{
    struct json *before = json_copy(a, config);
    struct applied once, twice, again;
    struct refusal why;

    if (json_is(config, JSON_OBJECT)) {
        json_set(config, "apiVersion", json_str(a, who->api_version));
        json_set(config, "kind", json_str(a, who->kind));
    }
    if (ownership_apply(a, who, &(struct apply_request){ live, config, true }, &once, &why) == 0) {
        check_result(a, once.object);
        /* It owns all it names. */
        must(ownership_apply(a, who, &(struct apply_request){ once.object, config, false }, &twice, &why) == 0 &&
             twice.is_same);
        /* What nobody owned after the first is, after the second, of whoever wrote before the first apply. */
        must(ownership_apply(a, who, &(struct apply_request){ twice.object, config, false }, &again, &why) == 0);
        must(again.is_same && json_equal(twice.object, again.object));
    }
    if (json_is(before, JSON_OBJECT))
        check_result(a, ownership_update(a, who, live, before));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str rest = { (const char *)data, n }, first, second;
    struct ownership pod, custom;
    struct json *live, *config, *schema;
    autoarena a = { 0 };

    if (n > 20000 || !str_split(&rest, '\n', &first) || !str_split(&rest, '\n', &second))
        return 0;
    if (json_parse(&a, first, NULL, &live, NULL) < 0 || json_parse(&a, second, NULL, &config, NULL) < 0)
        return 0;
    must(json_parse(&a, str_of(schema_text), NULL, &schema, NULL) == 0);
    pod = (struct ownership){ .type = merge_type_of_message(message_by_kind(STR("v1"), STR("Pod"))),
                              .api_version = STR("v1"),
                              .kind = STR("Pod"),
                              .manager = STR("kubectl"),
                              .now = STR("2026-01-01T00:00:00Z") };
    custom = pod;
    custom.type = merge_type_of_schema(schema);
    live = json_is(live, JSON_OBJECT) ? live : NULL;
    try_as(&a, &pod, live, json_copy(&a, config));
    try_as(&a, &custom, live, config);
    return 0;
}
