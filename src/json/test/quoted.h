/* quoted.h - JSON in the tables of tests: ' for ", so that the cases can be read. After cmocka.h */
#ifndef JSON_TEST_QUOTED_H
#define JSON_TEST_QUOTED_H

#include "base/util.h"
#include "json/json.h"

static inline struct json *tree(struct arena *a, const char *text)
{
    struct str copy = arena_str(a, str_of(text));
    struct json *j;
    struct err e;

    for (size_t i = 0; i < copy.n; i++)
        if (copy.p[i] == '\'')
            ((char *)copy.p)[i] = '"';
    if (json_parse(a, copy, NULL, &j, &e) < 0)
        fail_msg("%s: %s", text, e.text);
    return j;
}

static inline const char *text_of(struct arena *a, const struct json *j)
{
    autobuf out = { 0 };

    json_print(&out, j);
    for (size_t i = 0; i < out.n; i++)
        if (out.p[i] == '"')
            out.p[i] = '\'';
    return arena_cstr(a, buf_view(&out));
}

#endif
