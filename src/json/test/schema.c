/* schema.c - the engine with a small table of its own */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "json/schema.h"

#include "base/util.h"

static struct arena arena;

static int forget(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

/* ---- the table: a shelf of books ---- */

struct book {
    struct json *raw;
    struct str title;
    int32_t pages;
    int32_t *year;
};

struct shelf {
    struct str name;
    bool is_full;
    int32_t height;
    int64_t mass;
    struct book best;
    struct book *worst;
    struct {
        struct book *v;
        size_t n;
    } books;
    struct {
        struct str *v;
        size_t n;
    } tags;
    struct {
        int32_t *v;
        size_t n;
    } sizes;
    struct {
        struct json **v;
        size_t n;
    } things;
    struct json *labels, *extra, *tag_node;
};

static const char *begins_upper(struct arena *a, const struct json *j)
{
    if (j->n == 0 || (j->text[0] >= 'A' && j->text[0] <= 'Z'))
        return NULL;
    return arena_fmt(a, "must begin with a capital (got %c)", j->text[0]).p;
}

static const char *no_list(struct arena *a, const struct json *j)
{
    (void)a;
    return j->type == JSON_ARRAY ? "must not be a list" : NULL;
}

static const char *const colours[] = { "Red", "Green", "DarkBlue", NULL };

#define AT(member) .offset = offsetof(struct shelf, member)
#define NOWHERE    .offset = FIELD_NO_OFFSET

static const struct field book_fields[] = {
    { "title", FIELD_STR, .flags = FIELD_REQUIRED | FIELD_NOT_EMPTY, .offset = offsetof(struct book, title),
      .check = begins_upper },
    { "pages", FIELD_INT32, .offset = offsetof(struct book, pages), .min = 1, .max = 5000 },
    { "year", FIELD_INT32, .flags = FIELD_POINTER, .offset = offsetof(struct book, year) },
};
static const struct schema book_schema = { "Book", book_fields, ARRAY_LEN(book_fields), sizeof(struct book),
                                           offsetof(struct book, raw) };

static const struct field shelf_fields[] = {
    { "name", FIELD_STR, AT(name), .max = 5 },
    { "isFull", FIELD_BOOL, AT(is_full) },
    { "height", FIELD_INT32, AT(height), .min = 0, .max = INT64_MAX },
    { "mass", FIELD_INT64, AT(mass) },
    { "ratio", FIELD_NUMBER, NOWHERE },
    { "port", FIELD_INT_OR_STR, NOWHERE },
    { "anything", FIELD_ANY, NOWHERE },
    { "notList", FIELD_ANY, NOWHERE, .check = no_list },
    { "colour", FIELD_STR, NOWHERE, .values = colours },
    { "mustColour", FIELD_STR, .flags = FIELD_NOT_EMPTY, NOWHERE, .values = colours },
    { "best", FIELD_OBJECT, AT(best), .sub = &book_schema },
    { "worst", FIELD_OBJECT, .flags = FIELD_POINTER, AT(worst), .sub = &book_schema },
    { "books", FIELD_OBJECT, SHAPE_LIST, FIELD_NOT_EMPTY, AT(books), .sub = &book_schema },
    { "tags", FIELD_STR, SHAPE_LIST, 0, AT(tags) },
    { "tagNode", FIELD_STR, SHAPE_LIST, FIELD_POINTER, AT(tag_node) },
    { "sizes", FIELD_INT32, SHAPE_LIST, 0, AT(sizes) },
    { "things", FIELD_ANY, SHAPE_LIST, 0, AT(things) },
    { "labels", FIELD_STR, SHAPE_MAP, 0, AT(labels) },
    { "bookMap", FIELD_OBJECT, SHAPE_MAP, 0, NOWHERE, .sub = &book_schema },
    { "extra", FIELD_OBJECT, .flags = FIELD_POINTER, AT(extra) },
    { "old", FIELD_STR, .flags = FIELD_DEPRECATED, NOWHERE, .doc = "use name" },
};
static const struct schema shelf_schema = { "Shelf", shelf_fields, ARRAY_LEN(shelf_fields), sizeof(struct shelf),
                                            FIELD_NO_OFFSET };

/* ---- check ---- */

static struct json *parsed(const char *text)
{
    struct json *j = NULL;
    struct err e;

    if (json_parse(&arena, str_of(text), NULL, &j, &e) < 0)
        fail_msg("%s: %s", text, e.text);
    return j;
}

/* All problems as "E path: text" lines. */
static const char *problems_of(const struct schema *s, const char *text)
{
    struct place root = { .node = parsed(text) };
    struct problems ps = { .arena = &arena };
    autobuf out = { 0 };

    schema_check(s, &root, &ps);
    problems_sort(&ps);
    VEC_FOREACH(p, &ps.list)
        buf_fmt(&out, "%s%c %.*s: %.*s", out.n ? "\n" : "", p->level == PROBLEM_ERROR ? 'E' : 'W', STR_ARG(p->path),
                STR_ARG(p->text));
    return arena_cstr(&arena, buf_view(&out));
}

static const struct {
    const char *in, *want;
} check_cases[] = {
    { "{}", "" },
    { "{\"name\":\"oak\",\"isFull\":true,\"height\":3,\"mass\":9007199254740993,\"ratio\":1.5}", "" },
    { "[]", "E : must be an object, not a list" },
    { "7", "E : must be an object, not a number (got 7)" },
    { "null", "E : must be an object, not null" },
    /* wrong types */
    { "{\"name\":5}", "E name: must be a string, not a number (got 5; put it in quotes)" },
    { "{\"name\":true}", "E name: must be a string, not a boolean (got true; put it in quotes)" },
    { "{\"name\":[]}", "E name: must be a string, not a list" },
    { "{\"isFull\":\"true\"}", "E isFull: must be true or false, not a string (got \"true\"; leave out the quotes)" },
    { "{\"isFull\":\"yes\"}", "E isFull: must be true or false, not a string (got \"yes\")" },
    { "{\"isFull\":0}", "E isFull: must be true or false, not a number (got 0)" },
    { "{\"height\":\"3\"}", "E height: must be a whole number, not a string (got \"3\"; leave out the quotes)" },
    { "{\"height\":\"tall\"}", "E height: must be a whole number, not a string (got \"tall\")" },
    { "{\"height\":{}}", "E height: must be a whole number, not an object" },
    { "{\"ratio\":\"1\"}", "E ratio: must be a number, not a string (got \"1\")" },
    { "{\"port\":false}", "E port: must be a whole number or a string, not a boolean (got false)" },
    { "{\"best\":\"x\"}", "E best: must be an object, not a string (got \"x\")" },
    { "{\"tags\":\"x\"}", "E tags: must be a list, not a string (got \"x\")" },
    { "{\"labels\":[]}", "E labels: must be an object, not a list" },
    { "{\"tags\":[\"a\",1,null,[]]}", "E tags[1]: must be a string, not a number (got 1; put it in quotes)\n"
                                      "E tags[2]: must be a string, not null\n"
                                      "E tags[3]: must be a string, not a list" },
    { "{\"labels\":{\"a\":\"x\",\"b.c/d\":2,\"e\":null}}",
      "E labels[b.c/d]: must be a string, not a number (got 2; put it in quotes)" },
    { "{\"notList\":{}}", "" },
    { "{\"notList\":[]}", "E notList: must not be a list" },
    { "{\"anything\":[{}]}", "" },
    /* numbers */
    { "{\"height\":1.5}", "E height: must be a whole number (got 1.5)" },
    { "{\"height\":2.0}", "" },
    { "{\"height\":1e3}", "" },
    { "{\"height\":-1}", "E height: must be at least 0 (got -1)" },
    { "{\"height\":2147483647}", "" },
    { "{\"height\":2147483648}", "E height: must be a whole number from 0 to 2147483647 (got 2147483648)" },
    { "{\"height\":1e99}", "E height: must be a whole number from 0 to 2147483647 (got 1e99)" },
    { "{\"mass\":9223372036854775807}", "" },
    { "{\"mass\":-9223372036854775809}", "E mass: must be a whole number from -9223372036854775808 to "
                                         "9223372036854775807 (got -9223372036854775809)" },
    { "{\"sizes\":[1,-2147483649]}",
      "E sizes[1]: must be a whole number from -2147483648 to 2147483647 (got -2147483649)" },
    { "{\"port\":1.5}", "E port: must be a whole number (got 1.5)" },
    { "{\"port\":\"http\"}", "" },
    { "{\"best\":{\"title\":\"A\",\"pages\":0}}", "E best.pages: must be a whole number from 1 to 5000 (got 0)" },
    { "{\"best\":{\"title\":\"A\",\"pages\":5001}}", "E best.pages: must be a whole number from 1 to 5000 (got 5001)" },
    /* text */
    { "{\"name\":\"äöüßé\"}", "" }, /* five letters, ten bytes */
    { "{\"name\":\"äöüßéx\"}", "E name: must be at most 5 characters long (has 6)" },
    { "{\"colour\":\"Green\"}", "" },
    { "{\"colour\":\"\"}", "" },
    { "{\"colour\":\"green\"}",
      "E colour: must be one of Red, Green, DarkBlue (got \"green\"; did you mean \"Green\"?)" },
    { "{\"colour\":\"dark-blu\"}",
      "E colour: must be one of Red, Green, DarkBlue (got \"dark-blu\"; did you mean \"DarkBlue\"?)" },
    { "{\"colour\":\"mauve\"}", "E colour: must be one of Red, Green, DarkBlue (got \"mauve\")" },
    { "{\"mustColour\":\"\"}", "E mustColour: must be one of Red, Green, DarkBlue (got \"\")" },
    { "{\"colour\":\"äääääääääääääääääääääääääää\"}",
      "E colour: must be one of Red, Green, DarkBlue (got \"ääääääääääääääääääää\"...)" },
    { "{\"best\":{\"title\":\"moby\"}}", "E best.title: must begin with a capital (got m)" },
    /* required, empty, null */
    { "{\"best\":{}}", "E best.title: is required" },
    { "{\"best\":{\"title\":null}}", "E best.title: is required" },
    { "{\"best\":{\"title\":\"\"}}", "E best.title: must not be empty" },
    { "{\"books\":[]}", "E books: must not be empty" },
    { "{\"books\":[{\"title\":\"A\"},{},null]}",
      "E books[1].title: is required\nE books[2]: must be an object, not null" },
    { "{\"bookMap\":{\"a.b\":{}}}", "E bookMap[a.b].title: is required" },
    { "{\"name\":null,\"height\":null,\"books\":null,\"labels\":null,\"best\":null,\"notList\":null,\"colour\":null}",
      "" },
    { "{\"extra\":{\"free\":[1]}}", "" },
    { "{\"old\":\"x\"}", "W old: is deprecated: use name" },
    /* unknown */
    { "{\"heigth\":3}", "W heigth: unknown field \"heigth\", did you mean \"height\"?" },
    { "{\"is_full\":true}", "W is_full: unknown field \"is_full\", did you mean \"isFull\"?" },
    { "{\"TAGS\":[]}", "W TAGS: unknown field \"TAGS\", did you mean \"tags\"?" },
    { "{\"mustCol\":\"Red\"}", "W mustCol: unknown field \"mustCol\", did you mean \"mustColour\"?" },
    { "{\"zebra\":1}", "W zebra: unknown field \"zebra\"" },
    { "{\"\":1}", "W []: unknown field \"\"" },
    { "{\"name\\u0000x\":1}", NULL }, /* must not read past the name */
    { "{\"books\":[{\"title\":\"A\",\"titel\":1}]}",
      "W books[0].titel: unknown field \"titel\", did you mean \"title\"?" },
};

static void check_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(check_cases); i++) {
        const char *got = problems_of(&shelf_schema, check_cases[i].in);

        if (check_cases[i].want && strcmp(got, check_cases[i].want) != 0)
            fail_msg("%s\n  want: %s\n  got:  %s", check_cases[i].in, check_cases[i].want, got);
    }
}

/* What a decoder would stop at is counted apart from what is only not allowed. */
static void check_counts_shapes(void **state)
{
    static const struct {
        const char *in;
        size_t errors, shapes;
    } rows[] = {
        { "{\"best\":{\"title\":\"A\"}}", 0, 0 },
        { "{\"best\":{}}", 1, 0 },               /* missing */
        { "{\"best\":{\"title\":\"\"}}", 1, 0 }, /* empty */
        { "{\"best\":[]}", 1, 1 },
        { "{\"best\":{\"title\":7}}", 1, 1 },
        { "{\"tags\":[null,7,\"x\"]}", 2, 2 },
        { "{\"height\":0.5}", 1, 1 },
        { "{\"height\":4294967296}", 1, 1 },
        { "{\"port\":1e400}", 1, 1 },
        { "{\"notList\":[]}", 1, 1 }, /* a check of any type says which may be there */
        { "[]", 1, 1 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct problems ps = { .arena = &arena };
        struct place root = { .node = parsed(rows[i].in) };
        size_t n = 0;

        schema_check(&shelf_schema, &root, &ps);
        VEC_FOREACH(p, &ps.list)
            n += p->kind == PROBLEM_SHAPE;
        if (ps.n_errors != rows[i].errors || ps.n_shapes != rows[i].shapes || n != rows[i].shapes)
            fail_msg("%s: %zu errors, %zu of shape (%zu kept)", rows[i].in, ps.n_errors, ps.n_shapes, n);
    }
}

/* A thousand lesser errors do not hide one of shape. */
static void check_keeps_shapes(void **state)
{
    struct json *doc = json_object(&arena), *books = json_set(doc, "books", json_array(&arena));
    struct place root = { .node = doc };
    struct problems ps = { .arena = &arena };

    for (int i = 0; i < 2 * PROBLEMS_MAX; i++)
        json_push(books, json_object(&arena));
    json_set(doc, "tags", json_str(&arena, STR("x")));
    schema_check(&shelf_schema, &root, &ps);
    assert_int_equal(ps.n_errors, 2 * PROBLEMS_MAX + 1);
    assert_int_equal(ps.n_shapes, 1);
    assert_int_equal(ps.list.n, PROBLEMS_MAX);
    assert_true(ps.list.v[ps.list.n - 1].kind == PROBLEM_SHAPE);
}

static void prunes(void **state)
{
    static const struct {
        const char *in, *want;
        bool keeps_books;
    } rows[] = {
        { "{\"x\":1,\"name\":\"n\",\"y\":{}}", "{\"name\":\"n\"}", false },
        { "{\"name\":null,\"tags\":null}", "{}", false },
        { "{\"tags\":[],\"labels\":{\"a\":null}}", "{\"tags\":[],\"labels\":{\"a\":null}}", false },
        { "{\"books\":[{\"title\":\"A\",\"x\":1,\"year\":null}]}", "{\"books\":[{\"title\":\"A\"}]}", false },
        { "{\"x\":1,\"books\":[{\"title\":\"A\",\"x\":1,\"year\":null}]}", "{\"books\":[{\"title\":\"A\",\"x\":1}]}",
          true },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json *doc = parsed(rows[i].in);
        autobuf out = { 0 };

        schema_prune(&shelf_schema, doc, rows[i].keeps_books ? &book_schema : NULL);
        json_push(json_set(doc, "end", json_array(&arena)), json_null(&arena)); /* the list of members is sound */
        json_remove(doc, "end");
        json_print(&out, doc);
        assert_string_equal(out.p, rows[i].want);
    }
}

static void check_of_nothing(void **state)
{
    struct place root = { 0 };
    struct problems ps = { .arena = &arena };

    (void)state;
    schema_check(&shelf_schema, &root, &ps);
    assert_int_equal(ps.n_errors, 1);
}

/* A document that is nothing but mistakes must be done in no time, and its problems must fit in memory. */
static void check_of_a_flood(void **state)
{
    struct json *doc = json_object(&arena), *tags = json_array(&arena);
    struct place root = { .node = doc };
    struct problems ps = { .arena = &arena };

    (void)state;
    for (int i = 0; i < 200000; i++) {
        json_add(doc, arena_fmt(&arena, "heigth%d", i), json_null(&arena));
        json_push(tags, json_bool_new(&arena, true));
    }
    json_add(doc, STR("tags"), tags);
    schema_check(&shelf_schema, &root, &ps);
    assert_int_equal(ps.n_errors, 200000);
    assert_int_equal(ps.list.n, 2 * PROBLEMS_MAX);
}

/* ---- suggestions ---- */

static void suggestions(void **state)
{
    static const char *const names[] = { "minAvailable", "minSuccess", "queue", "tasks",
                                         "ttl",          "env",        "os",    "minSuccesses" };
    static const struct {
        const char *word, *want;
    } cases[] = {
        { "minAvailble", "minAvailable" },
        { "min-available", "minAvailable" },
        { "MIN_AVAILABLE", "minAvailable" },
        { "minAvalable", "minAvailable" },
        { "mniAvailabel", "minAvailable" },
        { "minSucces", "minSuccess" }, /* not minSuccesses, which is near too */
        { "qeue", "queue" },
        { "quue", "queue" },
        { "task", "tasks" },
        { "tsaks", "tasks" },
        { "en", "env" },
        { "envs", "env" },
        { "minAvail", "minAvailable" }, /* cut off: the only name that begins so */
        { "minSuc", NULL },             /* two do */
        { "min", NULL },
        { "x", NULL },
        { "zz", NULL },
        { "", NULL },
        { "--", NULL },
        { "quality", NULL },
        { "minimum", NULL },
        { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *got = suggest(str_of(cases[i].word), names, ARRAY_LEN(names));

        if ((got == NULL) != (cases[i].want == NULL) || (got && strcmp(got, cases[i].want) != 0))
            fail_msg("%s: want %s, got %s", cases[i].word, cases[i].want ? cases[i].want : "nothing",
                     got ? got : "nothing");
    }
    assert_null(suggest(STR("queue"), NULL, 0));
}

/* One swap, one letter lost, one letter more: every long name is found again. */
static void every_slip_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(shelf_fields); i++) {
        struct str name = str_of(shelf_fields[i].name);

        for (size_t at = 0; name.n > 5 && at < name.n; at++) {
            struct str slip = arena_fmt(&arena, "{\"%.*s%.*s\":null}", (int)at, name.p,
                                        STR_ARG(str_from(name, at + 1)));
            const char *got = problems_of(&shelf_schema, slip.p);

            if (!strstr(got, arena_fmt(&arena, "did you mean \"%.*s\"?", STR_ARG(name)).p))
                fail_msg("%s: %s", slip.p, got);
        }
    }
}

/* ---- decode ---- */

static void decode_all(void **state)
{
    struct json *doc = parsed("{\"name\":\"oak\",\"isFull\":true,\"height\":3,\"mass\":9007199254740993,"
                              "\"best\":{\"title\":\"A\",\"pages\":10,\"year\":0},"
                              "\"worst\":{\"title\":\"Z\"},"
                              "\"books\":[{\"title\":\"B\",\"year\":1999},null,7,{\"title\":\"C\"}],"
                              "\"tags\":[\"x\",5,\"y\"],\"sizes\":[1,2.5,3e1],\"things\":[1,{}],"
                              "\"tagNode\":[\"n\"],\"labels\":{\"k\":\"v\"},\"extra\":{\"q\":1},\"unknown\":1}");
    struct shelf s;

    (void)state;
    schema_decode(&arena, &shelf_schema, doc, &s);
    assert_true(str_is(s.name, "oak"));
    assert_true(s.is_full);
    assert_int_equal(s.height, 3);
    assert_true(s.mass == 9007199254740993);
    assert_true(str_is(s.best.title, "A"));
    assert_ptr_equal(s.best.raw, json_get(doc, "best"));
    assert_int_equal(*s.best.year, 0);
    assert_true(str_is(s.worst->title, "Z"));
    assert_null(s.worst->year);
    assert_int_equal(s.books.n, 4);
    assert_int_equal(*s.books.v[0].year, 1999);
    assert_null(s.books.v[1].raw);
    assert_null(s.books.v[2].raw);
    assert_true(str_is(s.books.v[3].title, "C"));
    assert_int_equal(s.tags.n, 3);
    assert_true(str_is(s.tags.v[0], "x") && s.tags.v[1].n == 0 && str_is(s.tags.v[2], "y"));
    assert_int_equal(s.sizes.n, 3);
    assert_true(s.sizes.v[0] == 1 && s.sizes.v[1] == 0 && s.sizes.v[2] == 30);
    assert_int_equal(s.things.n, 2);
    assert_ptr_equal(s.things.v[1], json_at(json_get(doc, "things"), 1));
    assert_ptr_equal(s.labels, json_get(doc, "labels"));
    assert_ptr_equal(s.extra, json_get(doc, "extra"));
    assert_ptr_equal(s.tag_node, json_get(doc, "tagNode"));
}

static void decode_wrong_is_zero(void **state)
{
    static const char *const docs[] = {
        "{}",
        "[]",
        "null",
        "\"text\"",
        "{\"name\":1,\"isFull\":\"x\",\"height\":\"3\",\"mass\":1.5,\"best\":[],\"worst\":\"\",\"books\":{},"
        "\"tags\":\"t\",\"sizes\":7,\"things\":{},\"labels\":[],\"extra\":[],\"tagNode\":{}}",
        "{\"name\":null,\"isFull\":null,\"height\":null,\"mass\":null,\"best\":null,\"worst\":null,\"books\":null,"
        "\"tags\":null,\"sizes\":null,\"things\":null,\"labels\":null,\"extra\":null,\"tagNode\":null}",
        "{\"height\":2147483648,\"mass\":9223372036854775808,\"books\":[],\"tags\":[]}",
    };
    static const struct shelf zero;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(docs); i++) {
        struct shelf s;

        memset(&s, 0xa5, sizeof(s));
        schema_decode(&arena, &shelf_schema, parsed(docs[i]), &s);
        if (memcmp(&s, &zero, sizeof(s)) != 0)
            fail_msg("not zero: %s", docs[i]);
    }
    schema_decode(&arena, &shelf_schema, NULL, &(struct shelf){ 0 });
}

static void field_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(shelf_fields); i++)
        assert_ptr_equal(schema_field(&shelf_schema, str_of(shelf_fields[i].name)), &shelf_fields[i]);
    assert_null(schema_field(&shelf_schema, STR("")));
    assert_null(schema_field(&shelf_schema, STR_NULL));
    assert_null(schema_field(&shelf_schema, STR("nam")));
    assert_null(schema_field(&shelf_schema, STR("names")));
    assert_null(schema_field(&shelf_schema, STR("name\0x")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_table),
        cmocka_unit_test(check_of_nothing),
        cmocka_unit_test(check_counts_shapes),
        cmocka_unit_test(check_keeps_shapes),
        cmocka_unit_test(prunes),
        cmocka_unit_test(check_of_a_flood),
        cmocka_unit_test(suggestions),
        cmocka_unit_test(every_slip_is_found),
        cmocka_unit_test(decode_all),
        cmocka_unit_test(decode_wrong_is_zero),
        cmocka_unit_test(field_by_name),
    };

    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, forget);
}
