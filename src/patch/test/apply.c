/* apply.c - tests of server-side apply and of who owns what: worked cases, and laws on random objects */
#include "patch/apply.h"

#include "api/message/message.h"
#include "base/rand.h"
#include "base/util.h"
#include "patch/managed.h"
#include "patch/typed.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "json/test/quoted.h"

static struct ownership owner(const char *kind, const char *manager, const char *now)
{
    return (struct ownership){
        .type = merge_type_of_message(message_by_kind(STR("v1"), str_of(kind))),
        .api_version = STR("v1"),
        .kind = str_of(kind),
        .manager = str_of(manager),
        .now = str_of(now),
    };
}

/* ---- a story, step by step ---- */

static const struct step {
    const char *manager;
    char how; /* 'a'pply, 'f'orce, 'u'pdate */
    const char *body;
    const char *want; /* data; NULL: refused */
    const char *said; /* the refusal, or the owners: "name=paths" in the order they are written */
} story[] = {
    { "ann", 'a', "{'a':'1','b':'1'}", "{'a':'1','b':'1'}", "ann+ .data.a .data.b;" },
    { "ann", 'a', "{'a':'1','b':'1'}", "{'a':'1','b':'1'}", "ann+ .data.a .data.b;" },
    /* the same value: both own it */
    { "bob", 'a', "{'a':'1'}", "{'a':'1','b':'1'}", "bob+ .data.a;ann+ .data.a .data.b;" },
    { "bob", 'a', "{'a':'2','b':'2'}", NULL,
      "Apply failed with 2 conflicts: conflicts with \"ann\":\n- .data.a\n- .data.b" },
    { "bob", 'a', "{'a':'2'}", NULL, "Apply failed with 1 conflict: conflict with \"ann\": .data.a" },
    { "bob", 'f', "{'a':'2'}", "{'a':'2','b':'1'}", "ann+ .data.b;bob+ .data.a;" },
    /* what nobody else owns goes with its last owner */
    { "ann", 'a', "{'c':'1'}", "{'a':'2','c':'1'}", "bob+ .data.a;ann+ .data.c;" },
    /* an update takes what it changes */
    { "web", 'u', "{'a':'3','c':'1'}", "{'a':'3','c':'1'}", "ann+ .data.c;web .data.a;" },
    { "bob", 'a', "{'a':'4'}", NULL, "Apply failed with 1 conflict: conflict with \"web\" using v1: .data.a" },
    { "ann", 'a', "{}", "{'a':'3'}", "ann+ .data;web .data.a;" },
    { "web", 'u', "{}", "null", "" },
};

/* The object alone. */
static int apply(struct arena *a, const struct ownership *who, const struct apply_request *rq, struct json **ret,
                 struct refusal *why)
{
    struct applied applied;

    if (ownership_apply(a, who, rq, &applied, why) < 0)
        return -1;
    *ret = applied.object;
    return 0;
}

static void add_path(void *ctx, struct str path, struct fieldset_node *node)
{
    buf_fmt(ctx, " %.*s", STR_ARG(path));
}

static const char *owners_of(struct arena *a, const struct json *obj)
{
    autobuf out = { 0 };
    struct managed m;

    JSON_FOREACH(j, json_find(obj, "metadata", "managedFields", NULL)) {
        struct json *one = json_array(a);

        json_push(one, json_copy(a, j));
        assert_int_equal(managed_decode(a, one, &m, NULL), 0);
        buf_fmt(&out, "%.*s%s", STR_ARG(m.first->name), m.first->is_apply ? "+" : "");
        fieldset_each(a, m.first->fields, add_path, &out);
        buf_char(&out, ';');
    }
    return arena_cstr(a, buf_view(&out));
}

static void tells_a_story(void **state)
{
    struct json *live = NULL, *obj;
    autoarena a = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(story); i++) {
        const struct step *s = &story[i];
        struct ownership who = owner("ConfigMap", s->manager,
                                     arena_cstr(&a, arena_fmt(&a, "2026-01-01T00:00:%02zuZ", i)));
        struct json *body = tree(&a, "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'x','uid':'u'}}");
        struct refusal why = { 0 };

        if (s->how != 'u')
            json_remove(json_get(body, "metadata"), "uid");
        json_set(body, "data", tree(&a, s->body));
        if (s->how == 'u')
            obj = ownership_update(&a, &who, live, body);
        else if (apply(&a, &who, &(struct apply_request){ live, body, s->how == 'f' }, &obj, &why) < 0)
            obj = NULL;
        if (!obj || !s->want) {
            if (s->want || why.code != 409 || !str_is(why.message, s->said))
                fail_msg("step %zu: %d %.*s", i, why.code, STR_ARG(why.message));
            continue;
        }
        live = obj;
        if (!json_equal(json_get(obj, "data") ? json_get(obj, "data") : json_null(&a), tree(&a, s->want)) &&
            json_count(json_get(obj, "data")))
            fail_msg("step %zu: %s", i, text_of(&a, obj));
        if (strcmp(owners_of(&a, obj), s->said) != 0)
            fail_msg("step %zu: %s", i, owners_of(&a, obj));
    }
}

/* ---- refusals ---- */

static const struct {
    const char *config, *message;
} refused[] = {
    { "{'apiVersion':'v2','kind':'Pod'}", "invalid object type: /v2, Kind=Pod" },
    { "{'apiVersion':'v1','kind':'Node'}", "invalid object type: /v1, Kind=Node" },
    { "{'apiVersion':'v1','kind':'Pod','metadata':{'managedFields':[]}}", "metadata.managedFields must be nil" },
    { "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'x'},'spec':{'foo':1}}",
      "failed to create typed patch object (/x; /v1, Kind=Pod): .spec.foo: field not declared in schema" },
    { "{'apiVersion':'v1','kind':'Pod','spec':{'containers':[{'image':'x'}]}}",
      "failed to create typed patch object (/; /v1, Kind=Pod): .spec.containers: element 0: associative list with keys "
      "has an element that omits all key fields (and doesn't have default values for any key fields)" },
    { "{'apiVersion':'v1','kind':'Pod','spec':{'containers':[{'name':'a'},{'name':'a'}]}}",
      "failed to create typed patch object (/; /v1, Kind=Pod): .spec.containers: duplicate entries for key "
      "[name=\"a\"]" },
    { "{'apiVersion':'v1','kind':'Pod','spec':{'hostNetwork':'yes','priority':'x'}}",
      "failed to create typed patch object (/; /v1, Kind=Pod): errors:\n  .spec.hostNetwork: expected boolean, got "
      "&{yes}\n  .spec.priority: expected numeric (int or float), got string" },
    { "[]", "error decoding YAML: the configuration must be an object" },
};

static void refuses(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct ownership who = owner("Pod", "ann", "2026-01-01T00:00:00Z");
        autoarena a = { 0 };
        struct refusal why;
        struct json *obj;

        assert_int_equal(apply(&a, &who, &(struct apply_request){ NULL, tree(&a, refused[i].config) }, &obj, &why), -1);
        assert_string_equal(arena_cstr(&a, why.message), refused[i].message);
        assert_int_equal(why.code, 400);
    }
}

/* ---- lists of a pod ---- */

static void merges_a_pod(void **state)
{
    struct ownership ann = owner("Pod", "ann", "2026-01-01T00:00:00Z"),
                     bob = owner("Pod", "bob", "2026-01-01T00:00:01Z");
    autoarena a = { 0 };
    struct refusal why;
    struct json *pod, *both, *left;

    assert_int_equal(
        apply(&a, &ann,
              &(struct apply_request){
                  NULL, tree(&a, "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'x','finalizers':['a/"
                                 "1']},'spec':{'containers':[{'name':'m',"
                                 "'image':'i','ports':[{'containerPort':80},{'containerPort':80,'protocol':'UDP'}]}],"
                                 "'tolerations':[{'key':'t'}]}}") },
              &pod, &why),
        0);
    assert_string_equal(owners_of(&a, pod),
                        "ann+ .metadata.finalizers[=\"a/1\"] .spec.tolerations .spec.containers[name=\"m\"] "
                        ".spec.containers[name=\"m\"].image .spec.containers[name=\"m\"].name "
                        ".spec.containers[name=\"m\"].ports[containerPort=80,protocol=\"TCP\"] "
                        ".spec.containers[name=\"m\"].ports[containerPort=80,protocol=\"UDP\"] "
                        ".spec.containers[name=\"m\"].ports[containerPort=80,protocol=\"TCP\"].containerPort "
                        ".spec.containers[name=\"m\"].ports[containerPort=80,protocol=\"UDP\"].containerPort "
                        ".spec.containers[name=\"m\"].ports[containerPort=80,protocol=\"UDP\"].protocol;");
    assert_int_equal(apply(&a, &bob,
                           &(struct apply_request){
                               pod, tree(&a, "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'x','finalizers':['b/"
                                             "1']},'spec':{'containers':[{'name':'s',"
                                             "'image':'j'},{'name':'m','env':[{'name':'E','value':'1'}]}]}}") },
                           &both, &why),
                     0);
    assert_string_equal(text_of(&a, json_find(both, "spec", "containers", NULL)),
                        "[{'name':'s','image':'j'},{'name':'m','image':'i','ports':[{'containerPort':80},"
                        "{'containerPort':80,'protocol':'UDP'}],'env':[{'name':'E','value':'1'}]}]");
    assert_string_equal(text_of(&a, json_find(both, "metadata", "finalizers", NULL)), "['a/1','b/1']");
    assert_int_equal(
        apply(&a, &bob,
              &(struct apply_request){ both, tree(&a, "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'x'}}") },
              &left, &why),
        0);
    assert_true(json_equal(json_get(left, "spec"), json_get(pod, "spec"))); /* and nothing of bob's is left */
    assert_string_equal(text_of(&a, json_find(left, "metadata", "finalizers", NULL)), "['a/1']");
}

/* An empty list says nothing: it is not stored, and naming it again is no change. */
static void ignores_what_says_nothing(void **state)
{
    struct ownership ann = owner("Pod", "ann", "2026-01-01T00:00:00Z");
    autoarena a = { 0 };
    struct json *config = tree(&a, "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'x','finalizers':[]}}");
    struct applied once, twice;
    struct refusal why;

    assert_int_equal(ownership_apply(&a, &ann, &(struct apply_request){ NULL, config }, &once, &why), 0);
    assert_false(once.is_same);
    assert_string_equal(text_of(&a, once.object), "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'x'}}");
    assert_int_equal(ownership_apply(&a, &ann, &(struct apply_request){ once.object, config }, &twice, &why), 0);
    assert_true(twice.is_same);
    assert_true(json_equal(once.object, twice.object));
}

/* ---- lists that nobody checked ---- */

static void add_all(void *ctx, struct str path, struct fieldset_node *node)
{
    buf_fmt(ctx, "%.*s ", STR_ARG(path));
}

static const char *paths(struct arena *a, struct fieldset *s)
{
    autobuf out = { 0 };

    fieldset_each(a, s, add_all, &out);
    return arena_cstr(a, buf_view(&out));
}

static const struct {
    const char *from, *to, *added, *modified, *removed;
} doubles[] = {
    { "['a','a']", "['a','a']", "", "", "" },
    { "['a','a']", "['a']", ".metadata.finalizers[=\"a\"] ", "", ".metadata.finalizers[=\"a\"] " },
    { "['a']", "['a','a']", ".metadata.finalizers[=\"a\"] ", "", ".metadata.finalizers[=\"a\"] " },
    { "['b']", "['a','a']", ".metadata.finalizers[=\"a\"] ", "", ".metadata.finalizers[=\"b\"] " },
    { "['a','a','a']", "['a','a']", "", ".metadata.finalizers[=\"a\"] ", "" },
};

static void compares_doubles(void **state)
{
    struct merge_type t = merge_type_of_message(message_by_kind(STR("v1"), STR("Pod")));

    for (size_t i = 0; i < ARRAY_LEN(doubles); i++) {
        autoarena a = { 0 };
        struct json *from = tree(&a, "{'metadata':{}}"), *to = tree(&a, "{'metadata':{}}");
        struct comparison c;

        json_set(json_get(from, "metadata"), "finalizers", tree(&a, doubles[i].from));
        json_set(json_get(to, "metadata"), "finalizers", tree(&a, doubles[i].to));
        typed_compare(&a, &t, from, to, &c);
        assert_string_equal(paths(&a, &c.added), doubles[i].added);
        assert_string_equal(paths(&a, &c.modified), doubles[i].modified);
        assert_string_equal(paths(&a, &c.removed), doubles[i].removed);
    }
}

/* Large and as bad as it can be: it must end, within seconds even under a sanitizer. */
static void is_not_slow(void **state)
{
    struct ownership who = owner("ConfigMap", "ann", "2026-01-01T00:00:00Z");
    struct json *live, *meta, *list, *config, *obj;
    autoarena a = { 0 };
    struct refusal why;

    live = tree(&a, "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'x','uid':'u'},'data':{}}");
    meta = json_get(live, "metadata");
    list = json_set(meta, "finalizers", json_array(&a));
    for (int i = 20000; i > 0; i--) {
        json_push(list, json_fmt(&a, "a/%d", i / 2));
        json_add(json_get(live, "data"), arena_fmt(&a, "k%d", i), json_str(&a, STR("v")));
    }
    list = json_set(meta, "managedFields", json_array(&a));
    for (int i = 0; i < 250; i++)
        json_push(list, tree(&a, arena_cstr(&a, arena_fmt(&a,
                                                          "{'manager':'m%d','operation':'Apply','apiVersion':'v1',"
                                                          "'fieldsType':'FieldsV1','fieldsV1':{'f:data':{'f:k%d':{}}}}",
                                                          i, i + 1))));
    config = tree(&a, "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'x'},'data':{'k7':'w'}}");
    assert_int_equal(apply(&a, &who, &(struct apply_request){ live, config }, &obj, &why), -1);
    assert_string_equal(arena_cstr(&a, why.message), "Apply failed with 1 conflict: conflict with \"m6\": .data.k7");
    assert_int_equal(apply(&a, &who, &(struct apply_request){ live, config, true }, &obj, &why), 0);
    json_push(list, json_copy(&a, json_first(list)));
    assert_int_equal(apply(&a, &who, &(struct apply_request){ live, config, true }, &obj, &why),
                     -1); /* one entry too many */
}

/* ---- laws ---- */

static const char *const shape =
    "{'type':'object','properties':{'spec':{'type':'object','properties':{"
    "'map':{'type':'object','additionalProperties':{'type':'string'}},"
    "'whole':{'type':'object','additionalProperties':{'type':'string'},'x-kubernetes-map-type':'atomic'},"
    "'set':{'type':'array','items':{'type':'string'},'x-kubernetes-list-type':'set'},"
    "'list':{'type':'array','items':{'type':'string'}},"
    "'keyed':{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['name'],'items':{'type':"
    "'object','properties':{'name':{'type':'string'},'inner':{'type':'object','additionalProperties':{'type':'string'}}"
    "}}},"
    "'free':{'type':'object','x-kubernetes-preserve-unknown-fields':true}}}}}";

static struct json *some_map(struct arena *a, struct rand *r, const char *prefix)
{
    struct json *map = json_object(a);

    for (char c = 'a'; c < 'e'; c++)
        if (rand_below(r, 2))
            json_add(map, arena_fmt(a, "%s%c", prefix, c), json_fmt(a, "%c", (char)('x' + rand_below(r, 2))));
    return map;
}

static struct json *some_list(struct arena *a, struct rand *r, const char *prefix, bool is_keyed)
{
    struct json *list = json_array(a);
    uint64_t start = rand_below(r, 4);

    for (uint64_t i = 0; i < 4; i++) {
        struct json *name = json_fmt(a, "%s%c", prefix, (char)('a' + (start + i) % 4)), *item = name;

        if (rand_below(r, 2))
            continue;
        if (is_keyed) {
            item = json_object(a);
            json_add(item, STR("name"), name);
            if (rand_below(r, 2))
                json_add(item, STR("inner"), some_map(a, r, ""));
        }
        json_push(list, item);
    }
    return list;
}

/* 'prefix' keeps the names of two appliers apart. */
static struct json *some_config(struct arena *a, struct rand *r, const char *prefix)
{
    struct json *j = tree(a, "{'apiVersion':'t/v1','kind':'Shape','metadata':{'name':'x'},'spec':{}}");
    struct json *spec = json_get(j, "spec");

    if (rand_below(r, 2))
        json_add(spec, STR("map"), some_map(a, r, prefix));
    if (rand_below(r, 2))
        json_add(spec, STR("set"), some_list(a, r, prefix, false));
    if (rand_below(r, 2))
        json_add(spec, STR("keyed"), some_list(a, r, prefix, true));
    json_add(spec, STR("free"), some_map(a, r, prefix));
    json_set_key(json_get(spec, "free"), arena_fmt(a, "%sz", prefix), json_str(a, STR("1"))); /* all own something */
    if (!prefix[0] && rand_below(r, 2))
        json_add(spec, STR("whole"), some_map(a, r, prefix));
    if (!prefix[0] && rand_below(r, 2))
        json_add(spec, STR("list"), some_list(a, r, prefix, false));
    return j;
}

static struct json *must_apply(struct arena *a, const char *manager, const struct json *live, const struct json *config)
{
    struct ownership who = {
        .type = merge_type_of_schema(tree(a, shape)),
        .api_version = STR("t/v1"),
        .kind = STR("Shape"),
        .manager = str_of(manager),
        .now = STR("2026-01-01T00:00:00Z"),
    };
    struct refusal why;
    struct json *obj;

    if (apply(a, &who, &(struct apply_request){ live, config, true }, &obj, &why) < 0)
        fail_msg("%.*s", STR_ARG(why.message));
    return obj;
}

/* Lists that are sets or keyed, in any order. */
static bool same_fields(struct arena *a, const struct json *x, const struct json *y)
{
    struct merge_type t = merge_type_of_schema(tree(a, shape));
    struct comparison c;

    typed_compare(a, &t, x, y, &c);
    return fieldset_is_empty(&c.added) && fieldset_is_empty(&c.modified) && fieldset_is_empty(&c.removed);
}

static void keeps_the_laws(void **state)
{
    struct rand r;

    rand_seed(&r, 7);
    for (int i = 0; i < 2000; i++) {
        autoarena a = { 0 };
        struct json *c1 = some_config(&a, &r, ""), *c2 = some_config(&a, &r, ""), *one, *two, *x, *y;

        /* apply twice = once */
        one = must_apply(&a, "ann", NULL, c1);
        two = must_apply(&a, "ann", one, c1);
        assert_true(json_equal(one, two));
        /* the last configuration of a single applier is what there is, whatever it said before */
        two = must_apply(&a, "ann", one, c2);
        x = must_apply(&a, "ann", NULL, c2);
        if (!same_fields(&a, json_get(two, "metadata"), json_get(x, "metadata")) ||
            strcmp(owners_of(&a, two), owners_of(&a, x)) != 0)
            fail_msg("%s\n%s\n%s", text_of(&a, c1), text_of(&a, c2), text_of(&a, two));
        /* the order of two appliers that share nothing does not matter */
        c1 = some_config(&a, &r, "p");
        c2 = some_config(&a, &r, "q");
        x = must_apply(&a, "bob", must_apply(&a, "ann", NULL, c1), c2);
        y = must_apply(&a, "ann", must_apply(&a, "bob", NULL, c2), c1);
        if (!same_fields(&a, x, y))
            fail_msg("%s\n%s\n%s\n%s", text_of(&a, c1), text_of(&a, c2), text_of(&a, x), text_of(&a, y));
        assert_string_equal(owners_of(&a, x), owners_of(&a, y));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_a_story),    cmocka_unit_test(refuses),
        cmocka_unit_test(merges_a_pod),     cmocka_unit_test(ignores_what_says_nothing),
        cmocka_unit_test(compares_doubles), cmocka_unit_test(is_not_slow),
        cmocka_unit_test(keeps_the_laws),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
