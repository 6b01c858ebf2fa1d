/* patch.c - fuzz target: first line the document, second line the patch, tried as each of the three kinds
 *
 * And what differs between the two, as a patch, makes the second of the first. Whatever comes out must print to text
 * that parses to the same tree.
 */
#include "base/util.h"
#include "json/patch.h"
#include "json/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* One of each shape that strategic merge treats in its own way; short names, so that they are found. */
static const struct schema schema;

static const struct field fields[] = {
    { "name", FIELD_STR },
    { "list", FIELD_OBJECT, SHAPE_LIST, .sub = &schema, .merge_key = "name" },
    { "set", FIELD_STR, SHAPE_LIST, FIELD_MERGE },
    { "map", FIELD_OBJECT, SHAPE_MAP, .sub = &schema },
    { "one", FIELD_OBJECT, .sub = &schema },
};

static const struct schema schema = { .name = "Fuzz", .fields = fields, .n_fields = ARRAY_LEN(fields) };

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void check_result(struct arena *a, const struct json *j)
{
    autobuf text = { 0 };
    struct json *back;
    struct err e;

    json_print(&text, j);
    must(json_parse(a, buf_view(&text), NULL, &back, &e) == 0);
    must(json_equal(j, back));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str rest = { (const char *)data, n }, first, second;
    struct json *doc, *patch, *result, *doc_before, *patch_before;
    autoarena a = { 0 };
    struct err e;

    if (n > 100000 || !str_split(&rest, '\n', &first) || !str_split(&rest, '\n', &second))
        return 0;
    if (json_parse(&a, first, NULL, &doc, NULL) < 0 || json_parse(&a, second, NULL, &patch, NULL) < 0)
        return 0;
    doc_before = json_copy(&a, doc);
    patch_before = json_copy(&a, patch);
    if (json_patch(&a, doc, patch, &result, &e) == 0)
        check_result(&a, result);
    check_result(&a, json_merge_patch(&a, doc, patch));
    if ((result = json_strategic_patch(&a, &schema, doc, patch, &e)))
        check_result(&a, result);
    if ((result = json_strategic_patch(&a, NULL, doc, patch, &e)))
        check_result(&a, result);
    if (json_patch(&a, doc, json_diff(&a, doc, patch), &result, &e) == 0) /* there is a limit to operations */
        must(json_equal(result, patch));
    must(json_equal(doc, doc_before) && json_equal(patch, patch_before)); /* inputs stay as they are */
    if (json_is(patch, JSON_STRING)) {
        (void)json_pointer(doc, json_text(patch, STR_NULL), NULL); /* must not crash; most texts name nothing */
        (void)json_path(doc, json_text(patch, STR_NULL), NULL);
    }
    return 0;
}
