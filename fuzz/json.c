/* json.c - fuzz target: parsing any bytes, and that printing what was parsed gives the same tree again */
#include "base/util.h"
#include "json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void count_duplicate(void *ctx, struct json_duplicate dup)
{
    *(size_t *)ctx += 1 + (dup.line == 0 || dup.col == 0 ? 1000000 : 0); /* a place always starts at 1 */
}

static void must(bool ok)
{
    if (!ok)
        abort();
}

/* The text of a tree parses to that tree and prints the same. */
static void check_text(struct arena *a, const struct json *j, bool is_pretty)
{
    autobuf text = { 0 }, again = { 0 };
    struct json *back;

    if (is_pretty)
        json_print_pretty(&text, j, 2);
    else
        json_print(&text, j);
    must(str_is_utf8(buf_view(&text)));
    must(json_parse(a, buf_view(&text), NULL, &back, NULL) == 0);
    must(json_equal(j, back) && json_equal(back, j));
    if (is_pretty)
        json_print_pretty(&again, back, 2);
    else
        json_print(&again, back);
    must(str_eq(buf_view(&text), buf_view(&again)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = { (const char *)data, n };
    size_t n_duplicates = 0;
    struct json_parse_options lenient = { .on_duplicate = count_duplicate, .ctx = &n_duplicates };
    struct json *j, *strict;
    autoarena a = { 0 };
    struct err e = { 0 };
    bool is_strict = json_parse(&a, text, NULL, &strict, &e) == 0;

    must(is_strict || (e.code != ERR_OK && e.text[0]));
    if (json_parse(&a, text, &lenient, &j, NULL) < 0) {
        must(!is_strict);
        return 0;
    }
    must(is_strict == (n_duplicates == 0) && n_duplicates < 1000000); /* duplicates are the only difference */
    must(!is_strict || json_equal(j, strict));
    check_text(&a, j, false);
    check_text(&a, j, true);
    must(json_equal(json_copy(&a, j), j));
    json_sort_keys(j, true);
    check_text(&a, j, false);
    return 0;
}
