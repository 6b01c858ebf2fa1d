/* selector.c - fuzz: a selector that parses prints, and parses back to the same; and it matches without a crash */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "api/selector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_labels(struct arena *a, struct str text, const struct json *labels)
{
    struct selector *s, *back;
    autobuf b = { 0 }, again = { 0 };
    struct err e;

    if (selector_parse(a, text, &s, &e) < 0) {
        assert(e.code == ERR_SYNTAX && e.text[0]);
        return;
    }
    selector_print(&b, s);
    assert(selector_parse(a, buf_view(&b), &back, &e) == 0);
    selector_print(&again, back);
    assert(str_eq(buf_view(&b), buf_view(&again)));
    assert(selector_matches(s, labels) == selector_matches(back, labels));
}

static void try_fields(struct arena *a, struct str text, const struct json *object)
{
    struct field_selector *s, *back;
    autobuf b = { 0 }, again = { 0 };
    struct err e;

    if (field_selector_parse(a, text, NULL, &s, &e) < 0) {
        assert(e.code == ERR_SYNTAX && e.text[0]);
        return;
    }
    field_selector_print(&b, s);
    assert(field_selector_parse(a, buf_view(&b), NULL, &back, &e) == 0);
    field_selector_print(&again, back);
    assert(str_eq(buf_view(&b), buf_view(&again)));
    assert(field_selector_matches(s, object) == field_selector_matches(back, object));
}

static void try_object(struct arena *a, struct str text, const struct json *labels)
{
    struct selector *s, *back;
    autobuf b = { 0 };
    struct json *j;
    struct err e;

    if (json_parse(a, text, NULL, &j, &e) < 0 || selector_from_json(a, j, &s, &e) < 0)
        return;
    selector_print(&b, s); /* the query form says the same */
    assert(selector_parse(a, buf_view(&b), &back, &e) == 0);
    assert(selector_matches(s, labels) == selector_matches(back, labels));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };
    autoarena a = { 0 };
    struct json *labels = json_object(&a), *object = json_object(&a);

    json_set(labels, "a", json_str(&a, STR("1")));
    json_set(labels, "b", json_str(&a, STR("")));
    json_set(labels, "volcano.sh/x", json_str(&a, STR("y")));
    json_set(object, "a", json_str(&a, STR("1")));
    json_set(object, "metadata", json_copy(&a, labels));
    try_labels(&a, text, labels);
    try_fields(&a, text, object);
    try_object(&a, text, labels);
    return 0;
}
