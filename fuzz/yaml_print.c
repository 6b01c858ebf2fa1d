/* yaml_print.c - any tree as YAML, with and without comments: it reads back as the same tree
 *
 * The bytes are JSON if they can be; else they are one text, used as value, key, list item and comment.
 */
#include "yaml/yaml.h"

#include "base/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct str comment(void *ctx, const struct json *j)
{
    const struct str *text = ctx;

    return j->type == JSON_NULL ? STR_NULL : *text;
}

static void check(const struct json *j, const struct yaml_print_options *opt)
{
    autoarena a = { 0 };
    autobuf text = { 0 };
    struct yaml_docs docs;

    yaml_print(&text, j, opt);
    if (yaml_parse(&a, buf_view(&text), NULL, &docs, NULL) < 0 || docs.n != 1 || !json_equal(docs.v[0], j))
        abort();
}

static struct json *tree_of_text(struct arena *a, struct str text)
{
    struct json *j = json_object(a), *list = json_array(a);

    json_push(list, json_str(a, text));
    json_push(json_push(list, json_array(a)), json_str(a, text));
    json_add(j, STR("list"), list);
    json_add(j, STR("text"), json_str(a, text));
    json_set_key(json_set(j, "map", json_object(a)), text, json_str(a, text));
    return j;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_parse_options limits = { .limits = { .max_depth = 200 } };
    struct str text = { (const char *)data, size };
    struct yaml_print_options opt = { .comment = comment, .ctx = &text };
    autoarena a = { 0 };
    struct json *j;

    if (size > 1 << 16 || !str_is_utf8(text)) /* invalid bytes print as U+FFFD, which is another text */
        return 0;
    if (json_parse(&a, text, &limits, &j, NULL) < 0)
        j = tree_of_text(&a, text);
    check(j, NULL);
    check(j, &opt);
    return 0;
}
