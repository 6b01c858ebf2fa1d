/* fixture.h - objects from YAML text, for the tests of this folder */
#ifndef DRIVER_TEST_FIXTURE_H
#define DRIVER_TEST_FIXTURE_H

#include "store/object.h"
#include "yaml/yaml.h"

static inline struct json *tree_of(struct arena *a, const char *text)
{
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };

    if (yaml_parse(a, arena_str(a, str_of(text)), NULL, &docs, &e) < 0 || docs.n != 1)
        fail_msg("the test's own YAML: %s\n%s", e.text, text);
    return docs.v[0];
}

/* An object of a known kind at a revision; the caller's reference. */
static inline struct object *object_of(struct arena *a, uint64_t rev, const char *text)
{
    struct json *tree = tree_of(a, text);
    const struct resource_type *type = type_by_kind(json_member_text(tree, "apiVersion"),
                                                    json_member_text(tree, "kind"));

    if (!type)
        fail_msg("the test's own object has an unknown kind:\n%s", text);
    return object_make(type, tree, rev);
}

#endif
