/* object.c - objects own what they have, and are counted */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "store/object.h"

#include "base/rand.h"
#include "base/util.h"

#include <stdio.h>

static const struct resource_type *pod_type(void)
{
    return type_by_kind(STR("v1"), STR("Pod"));
}

static const struct {
    const char *in, *want; /* with revision 42 */
} made_cases[] = {
    { "{\"metadata\":{\"name\":\"p\"}}", "{\"metadata\":{\"name\":\"p\",\"resourceVersion\":\"42\"}}" },
    { "{\"metadata\":{\"resourceVersion\":\"7\",\"name\":\"p\"}}",
      "{\"metadata\":{\"resourceVersion\":\"42\",\"name\":\"p\"}}" },
    { "{\"metadata\":{\"resourceVersion\":null}}", "{\"metadata\":{\"resourceVersion\":\"42\"}}" },
    { "{\"metadata\":{\"resourceVersion\":[1,2]}}", "{\"metadata\":{\"resourceVersion\":\"42\"}}" },
    { "{\"a\":1}", "{\"a\":1,\"metadata\":{\"resourceVersion\":\"42\"}}" },
    { "{}", "{\"metadata\":{\"resourceVersion\":\"42\"}}" },
    { "{\"metadata\":7}", "{\"metadata\":7}" },
    { "[1,\"x\",[],{},null,true,1.50]", "[1,\"x\",[],{},null,true,1.50]" },
    { "{\"metadata\":{\"name\":\"\",\"labels\":{\"\":\"\",\"\\u0000k\":\"\\n\"}}}",
      "{\"metadata\":{\"name\":\"\",\"labels\":{\"\":\"\",\"\\u0000k\":\"\\n\"},\"resourceVersion\":\"42\"}}" },
};

/* The source is overwritten and freed before the object is looked at: a borrowed byte would show. */
static void owns_its_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(made_cases); i++) {
        size_t n = strlen(made_cases[i].in);
        char *text = memcpy(xmalloc(n + 1), made_cases[i].in, n + 1);
        struct arena a = { 0 };
        struct json *tree;
        struct err e;
        struct object *o;
        autobuf out = { 0 };

        if (json_parse(&a, (struct str){ text, n }, NULL, &tree, &e) < 0)
            fail_msg("case %zu: %s", i, e.text);
        o = object_make(pod_type(), tree, 42);
        memset(text, 'x', n);
        free(text);
        arena_done(&a);
        json_print(&out, o->root);
        if (!str_is(buf_view(&out), made_cases[i].want))
            fail_msg("case %zu: got %s, want %s", i, out.p, made_cases[i].want);
        assert_int_equal(o->rev, 42);
        object_unref(o);
    }
}

static void knows_its_names(void **state)
{
    autoarena a = { 0 };
    struct json *tree;
    struct object *o;

    (void)state;
    assert_int_equal(
        json_parse(&a, STR("{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"u\"}}"), NULL, &tree, NULL), 0);
    o = object_make(pod_type(), tree, UINT64_MAX);
    assert_true(str_is(o->name, "p") && str_is(o->namespace, "n") && str_is(o->uid, "u"));
    assert_ptr_equal(o->type, pod_type());
    assert_true(
        str_is(json_text(json_find(o->root, "metadata", "resourceVersion", NULL), STR_NULL), "18446744073709551615"));
    assert_ptr_equal(o->name.p, json_find(o->root, "metadata", "name", NULL)->text); /* inside the tree */
    object_unref(o);
}

static void is_counted(void **state)
{
    autoarena a = { 0 };
    struct object *o = object_make(pod_type(), json_object(&a), 1);
    autounref struct object *second = object_ref(o);

    (void)state;
    assert_ptr_equal(second, o);
    object_unref(o);
    assert_int_equal(second->rev, 1); /* still there */
    assert_null(object_ref(NULL));
    object_unref(NULL);
}

static struct json *random_tree(struct arena *a, struct rand *r, int depth)
{
    uint64_t kind = rand_below(r, depth > 0 ? 6 : 4);
    struct json *j;

    switch (kind) {
    case 0:
        return json_null(a);
    case 1:
        return json_bool_new(a, rand_chance(r, 1, 2));
    case 2:
        return json_int(a, rand_between(r, -5, 1000000));
    case 3:
        return json_fmt(a, "%.*s", (int)rand_below(r, 9), "\"\\\nabcde");
    default:
        j = kind == 4 ? json_array(a) : json_object(a);
        for (uint64_t i = 0, n = rand_below(r, 5); i < n; i++)
            if (kind == 4)
                json_push(j, random_tree(a, r, depth - 1));
            else
                json_set_key(j, arena_fmt(a, "k%llu", (unsigned long long)i), random_tree(a, r, depth - 1));
        return j;
    }
}

static void copies_are_equal(void **state)
{
    struct rand r;

    (void)state;
    rand_seed(&r, 20);
    for (int i = 0; i < 2000; i++) {
        autoarena a = { 0 };
        struct json *tree = json_object(&a);
        struct object *o;

        json_set(tree, "body", random_tree(&a, &r, 6));
        json_set(json_set(tree, "metadata", json_object(&a)), "resourceVersion", json_str(&a, STR("9")));
        o = object_make(pod_type(), tree, 9);
        if (!json_equal(o->root, tree))
            fail_msg("seed 20, tree %d", i);
        object_unref(o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owns_its_text),
        cmocka_unit_test(knows_its_names),
        cmocka_unit_test(is_counted),
        cmocka_unit_test(copies_are_equal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
