/* yaml.c - any bytes as YAML: an answer or an error, and what is printed reads back the same */
#include "yaml/yaml.h"

#include "base/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_duplicate(void *ctx, struct json_duplicate dup)
{
    if (dup.line == 0 || dup.col == 0 || !dup.key.p)
        abort();
}

static void check(const struct json *j)
{
    autoarena a = { 0 };
    autobuf text = { 0 };
    struct yaml_docs docs;

    yaml_print(&text, j, NULL);
    if (yaml_parse(&a, buf_view(&text), NULL, &docs, NULL) < 0 || docs.n != 1 || !json_equal(docs.v[0], j))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct yaml_options opt = { .file = "f", .max_bytes = 1 << 16, .max_depth = 40, .max_nodes = 5000 };
    autoarena a = { 0 };
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };

    opt.on_duplicate = size % 2 ? on_duplicate : NULL;
    if (yaml_parse(&a, (struct str){ (const char *)data, size }, &opt, &docs, &e) < 0) {
        if (e.code == ERR_OK || !str_starts(str_of(e.text), STR("f: ")))
            abort();
        return 0;
    }
    for (size_t i = 0; i < docs.n; i++)
        check(docs.v[i]);
    return 0;
}
