/* conformance.c - what every store does on reads, creates, updates and deletes */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "store_fixture.h"

/* ---- create and read ---- */

static void create_fills_metadata(void **state)
{
    struct object *o = NULL;
    struct str uid;

    (void)state;
    assert_int_equal(store_revision(store), 0);
    assert_int_equal(store_create(store,
                                  js("{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p','namespace':'a',"
                                     "'uid':'mine','creationTimestamp':null,'deletionTimestamp':'2020-01-01T00:00:00Z',"
                                     "'deletionGracePeriodSeconds':3,'generation':7,'selfLink':'x',"
                                     "'resourceVersion':'','finalizers':[],'labels':{'l':'1'}}}"),
                                  &o, &err),
                     0);
    assert_ptr_equal(o, stored(pods, "p"));
    assert_int_equal(store_revision(store), 1);
    assert_int_equal(o->rev, 1);
    assert_string_equal(meta_text(o, "resourceVersion"), "1");
    assert_string_equal(meta_text(o, "creationTimestamp"), "2026-01-01T00:00:00Z");
    assert_int_equal(meta_int(o, "generation"), 1);
    uid = o->uid;
    assert_int_equal(uid.n, 36);
    assert_true(uid.p[14] == '7' && memchr("89ab", uid.p[19], 4) && uid.p[8] == '-' && uid.p[23] == '-');
    assert_null(json_find(o->root, "metadata", "deletionTimestamp", NULL));
    assert_null(json_find(o->root, "metadata", "deletionGracePeriodSeconds", NULL));
    assert_null(json_find(o->root, "metadata", "selfLink", NULL));
    assert_null(json_find(o->root, "metadata", "finalizers", NULL));
    assert_string_equal(printed(json_find(o->root, "metadata", "labels", NULL)), "{\"l\":\"1\"}");
    object_unref(o);
}

/* Who was made first has the smaller uid, also within one millisecond: jobs of one second are told apart by it. */
static void uids_are_in_order(void **state)
{
    autofree char *last = NULL;

    (void)state;
    for (int i = 0; i < 5000; i++) {
        struct object *o;

        assert_int_equal(
            store_create(store, js("{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p%d','namespace':'a'}}", i), &o,
                         &err),
            0);
        if (last)
            assert_true(str_cmp(str_of(last), o->uid) < 0);
        free(last);
        last = strndup(o->uid.p, o->uid.n);
        object_unref(o);
    }
}

/* ConfigMap and friends are not counted, what the client says is stored. */
static void generation_is_not_for_all(void **state)
{
    (void)state;
    must_create(body_of(maps, "m", "'data':{'k':'1'}"));
    assert_int_equal(meta_int(stored(maps, "m"), "generation"), -99);
    assert_int_equal(patch(maps, "m", "{'data':{'k':'2'}}"), 0);
    assert_int_equal(meta_int(stored(maps, "m"), "generation"), -99);
}

static void create_and_status(void **state)
{
    static const struct {
        const struct resource_type **type;
        const char *want;
    } cases[] = {
        { &jobs, "" },           { &queues, "" },          { &pods, "{\"phase\":\"Pending\"}" },
        { &nodes, "{\"x\":1}" }, { &groups, "{\"x\":1}" }, /* no subresource: status is part of the object */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        must_create(body_of(*cases[i].type, "o", "'status':{'x':1}"));
        if (strcmp(printed(json_get(stored(*cases[i].type, "o")->root, "status")), cases[i].want) != 0)
            fail_msg("%s: %s", (*cases[i].type)->kind, printed(stored(*cases[i].type, "o")->root));
    }
}

static void create_refuses(void **state)
{
    static const struct {
        const char *body;
        enum err_code code;
    } cases[] = {
        { "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p','namespace':'a'}}", ERR_EXISTS },
        { "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'q'}}", ERR_INVALID }, /* no namespace */
        { "{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'a'}}", ERR_INVALID },
        { "{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'a','name':3}}", ERR_INVALID },
        { "{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'a','name':'x/y'}}", ERR_INVALID },
        { "{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'a/b','name':'x'}}", ERR_INVALID },
        { "{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'a','generateName':'x/'}}", ERR_INVALID },
        { "{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'a','name':'x','resourceVersion':'1'}}",
          ERR_INVALID },
        { "{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'a','name':'x','finalizers':'f'}}", ERR_INVALID },
        { "{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'a','name':'x','finalizers':[1]}}", ERR_INVALID },
        { "{'apiVersion':'v1','kind':'Pod','metadata':[]}", ERR_INVALID },
        { "{'apiVersion':'v1','kind':'Pod'}", ERR_INVALID },
        { "{'apiVersion':'v2','kind':'Pod','metadata':{'name':'q','namespace':'a'}}", ERR_INVALID },
        { "{'kind':'Pod','metadata':{'name':'q','namespace':'a'}}", ERR_INVALID },
        { "{'apiVersion':'authentication.k8s.io/v1','kind':'TokenReview','metadata':{'name':'q'}}", ERR_INVALID },
        { "[]", ERR_INVALID },
        { "null", ERR_INVALID },
    };
    char longest[260];

    (void)state;
    must_create(body_of(pods, "p", ""));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (store_create(store, js("%s", cases[i].body), NULL, &err) == 0 || err.code != cases[i].code)
            fail_msg("%s: %s", cases[i].body, err.text);
    assert_int_equal(store_revision(store), 1);
    memset(longest, 'a', sizeof(longest));
    longest[254] = '\0';
    assert_refused(store_create(store, body_of(pods, longest, ""), NULL, &err), ERR_INVALID);
    longest[253] = '\0';
    must_create(body_of(pods, longest, ""));
    assert_non_null(stored(pods, longest));
}

static void cluster_scope_has_no_namespace(void **state)
{
    (void)state;
    must_create(body_of(queues, "q", ""));
    assert_string_equal(meta_text(stored(queues, "q"), "namespace"), "");
    assert_ptr_equal(store_get(store, queues, STR("whatever"), STR("q")), store_get(store, queues, STR_NULL, STR("q")));
    assert_refused(store_create(store, body_of(queues, "q", ""), NULL, &err), ERR_EXISTS);
    must_update(
        js("{'apiVersion':'scheduling.volcano.sh/v1beta1','kind':'Queue','metadata':{'name':'q','namespace':'z'},"
           "'spec':{'weight':2}}"),
        STORE_MAIN);
    assert_int_equal(stored(queues, "q")->rev, 2);
    assert_string_equal(meta_text(stored(queues, "q"), "namespace"), "");
}

static void generate_name(void **state)
{
    static const char allowed[] = "bcdfghjklmnpqrstvwxz2456789";
    char prefix[100];

    (void)state;
    for (int i = 0; i < 200; i++) {
        autounref struct object *o = NULL;

        assert_int_equal(
            store_create(store,
                         js("{'apiVersion':'v1','kind':'Pod','metadata':{'generateName':'job-','namespace':"
                            "'a'}}"),
                         &o, &err),
            0);
        assert_int_equal(o->name.n, 9);
        assert_true(str_starts(o->name, STR("job-")));
        for (size_t k = 4; k < o->name.n; k++)
            assert_non_null(memchr(allowed, o->name.p[k], strlen(allowed)));
        assert_string_equal(meta_text(o, "generateName"), "job-");
    }
    assert_int_equal(store_count(store, pods), 200);
    memset(prefix, 'p', sizeof(prefix));
    prefix[99] = '\0';
    {
        autounref struct object *o = NULL;

        assert_int_equal(store_create(store,
                                      js("{'apiVersion':'v1','kind':'Pod','metadata':{'generateName':'%s','namespace':"
                                         "'a'}}",
                                         prefix),
                                      &o, &err),
                         0);
        assert_int_equal(o->name.n, 63);
    }
}

static void objects_outlive_their_place(void **state)
{
    autounref struct object *first = NULL;

    (void)state;
    assert_int_equal(store_create(store, body_of(pods, "p", "'spec':{'x':1}"), &first, &err), 0);
    assert_int_equal(patch(pods, "p", "{'spec':{'x':2}}"), 0);
    assert_int_equal(del(pods, "p", 0, PROPAGATE_BACKGROUND), 0);
    assert_null(stored(pods, "p"));
    assert_string_equal(printed(json_get(first->root, "spec")), "{\"x\":1}");
    assert_int_equal(first->rev, 1);
}

static void collect(void *ctx, const struct object *o)
{
    struct buf *out = ctx;

    buf_fmt(out, "%.*s/%.*s ", STR_ARG(o->namespace), STR_ARG(o->name));
}

static void lists_are_in_order(void **state)
{
    /* '-' and '.' sort below '/': comparing joined text would go wrong. */
    static const char *const names[][2] = { { "a", "z" },   { "b", "m" }, { "a-b", "a" }, { "a", "b.c" }, { "a", "b" },
                                            { "a.b", "a" }, { "b", "a" }, { "a", "b-" },  { "aa", "a" } };
    autobuf all = { 0 }, one = { 0 }, none = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        must_create(
            js("{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'%s','name':'%s'}}", names[i][0], names[i][1]));
    must_create(body_of(maps, "other", ""));
    store_list(store, pods, STR_NULL, collect, &all);
    assert_string_equal(all.p, "a/b a/b- a/b.c a/z a-b/a a.b/a aa/a b/a b/m ");
    store_list(store, pods, STR("a"), collect, &one);
    assert_string_equal(one.p, "a/b a/b- a/b.c a/z ");
    store_list(store, pods, STR("c"), collect, &none);
    store_list(store, jobs, STR_NULL, collect, &none);
    assert_int_equal(none.n, 0);
    assert_int_equal(store_count(store, pods), 9);
    assert_int_equal(store_count(store, jobs), 0);
}

/* ---- update ---- */

static void update_is_optimistic(void **state)
{
    struct json *mine, *theirs;

    (void)state;
    must_create(body_of(jobs, "j", "'spec':{'n':1}"));
    mine = copy_of(jobs, "j");
    theirs = copy_of(jobs, "j");
    json_set(json_get(theirs, "spec"), "n", json_int(&arena, 2));
    must_update(theirs, STORE_MAIN);
    json_set(json_get(mine, "spec"), "n", json_int(&arena, 3));
    assert_refused(store_update(store, mine, STORE_MAIN, NULL, &err), ERR_CONFLICT);
    assert_refused(store_update(store, mine, STORE_STATUS, NULL, &err), ERR_CONFLICT);
    json_remove(json_get(mine, "metadata"), "resourceVersion"); /* overwrite */
    must_update(mine, STORE_MAIN);
    assert_string_equal(printed(json_get(stored(jobs, "j")->root, "spec")), "{\"n\":3}");
    assert_refused(store_update(store, body_of(jobs, "none", ""), STORE_MAIN, NULL, &err), ERR_NOT_FOUND);
    assert_refused(store_update(store, body_of(jobs, "none", ""), STORE_STATUS, NULL, &err), ERR_NOT_FOUND);
    assert_refused(store_update(store, js("{}"), STORE_MAIN, NULL, &err), ERR_INVALID);
}

static void update_keeps_what_is_the_servers(void **state)
{
    struct json *body;
    const char *uid;

    (void)state;
    must_create(body_of(jobs, "j", ""));
    uid = meta_text(stored(jobs, "j"), "uid");
    clock_manual_advance(&manual, 5000);
    must_update(js("{'apiVersion':'batch.volcano.sh/v1alpha1','kind':'Job','metadata':{'name':'j','namespace':'a',"
                   "'creationTimestamp':'1999-01-01T00:00:00Z','deletionTimestamp':'1999-01-01T00:00:00Z',"
                   "'generation':50,'labels':{'x':'y'}}}"),
                STORE_MAIN);
    assert_string_equal(meta_text(stored(jobs, "j"), "uid"), uid);
    assert_string_equal(meta_text(stored(jobs, "j"), "creationTimestamp"), "2026-01-01T00:00:00Z");
    assert_string_equal(meta_text(stored(jobs, "j"), "deletionTimestamp"), "");
    assert_int_equal(meta_int(stored(jobs, "j"), "generation"), 1);
    assert_string_equal(printed(json_find(stored(jobs, "j")->root, "metadata", "labels", NULL)), "{\"x\":\"y\"}");

    body = copy_of(jobs, "j");
    json_set(json_get(body, "metadata"), "uid", json_str(&arena, STR("another")));
    assert_refused(store_update(store, body, STORE_MAIN, NULL, &err), ERR_CONFLICT);
    assert_refused(patch(jobs, "j", "{'metadata':{'uid':'another'}}"), ERR_INVALID);
    assert_refused(patch(jobs, "j", "{'metadata':{'name':'k'}}"), ERR_INVALID);
    assert_refused(patch(jobs, "j", "{'metadata':{'namespace':null}}"), ERR_INVALID);
    assert_refused(patch(jobs, "j", "{'metadata':null}"), ERR_INVALID);
    assert_refused(patch(jobs, "j", "{'kind':'CronJob'}"), ERR_INVALID);
    assert_refused(patch(jobs, "j", "[]"), ERR_INVALID);
}

/* What a write does to the generation, and whether it is a write at all. */
static void generations(void **state)
{
    static const struct {
        const struct resource_type **type;
        const char *patch;
        int64_t generation;
        bool is_change;
    } cases[] = {
        { &jobs, "{'spec':{'n':1}}", 1, false },
        { &jobs, "{'spec':{'n':1.0}}", 1, false }, /* the same number */
        { &jobs, "{}", 1, false },
        { &jobs, "{'metadata':{'finalizers':[]}}", 1, false },
        { &jobs, "{'status':{'x':2}}", 1, false }, /* not through the main resource */
        { &jobs, "{'metadata':{'labels':{'a':'b'}}}", 1, true },
        { &jobs, "{'spec':{'n':2}}", 2, true },
        { &jobs, "{'spec':{'m':2}}", 3, true },
        { &jobs, "{'spec':{'n':2},'status':{'x':9}}", 3, false },
        { &jobs, "{'spec':null}", 4, true },
        { &jobs, "{'extra':1}", 5, true },                      /* any field that is not metadata or status */
        { &groups, "{'status':{'phase':'Inqueue'}}", 2, true }, /* status is no subresource there */
        { &groups, "{'status':{'phase':'Inqueue'}}", 2, false },
        { &pods, "{'spec':{'nodeName':'n1'}}", 2, true },
    };

    (void)state;
    must_create(body_of(jobs, "o", "'spec':{'n':1}"));
    must_create(body_of(groups, "o", "'spec':{'n':1}"));
    must_create(body_of(pods, "o", "'spec':{'n':1}"));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t rev = store_revision(store);

        if (patch(*cases[i].type, "o", cases[i].patch) < 0)
            fail_msg("case %zu: %s", i, err.text);
        if (store_revision(store) - rev != cases[i].is_change ||
            meta_int(stored(*cases[i].type, "o"), "generation") != cases[i].generation)
            fail_msg("case %zu: %s", i, printed(stored(*cases[i].type, "o")->root));
    }
}

static void change_of_nothing(void **state)
{
    autounref struct object *o = NULL;
    const struct object *before;

    (void)state;
    must_create(body_of(jobs, "j", "'spec':{'n':1,'m':[1,{'a':null}]}"));
    before = stored(jobs, "j");
    assert_int_equal(store_update(store, copy_of(jobs, "j"), STORE_MAIN, &o, &err), 0);
    assert_ptr_equal(o, before);
    must_update(copy_of(jobs, "j"), STORE_STATUS);
    must_update(before->root, STORE_MAIN); /* the stored tree itself may be sent */
    assert_int_equal(store_revision(store), 1);
    assert_ptr_equal(stored(jobs, "j"), before);
}

static void status_is_apart(void **state)
{
    struct json *body;

    (void)state;
    must_create(body_of(jobs, "j", "'spec':{'n':1}"));
    body = copy_of(jobs, "j");
    json_set(json_get(body, "spec"), "n", json_int(&arena, 5));
    json_set(json_get(body, "metadata"), "labels", js("{'a':'b'}"));
    json_set(json_get(body, "metadata"), "finalizers", js("['f/f']"));
    json_set(body, "status", js("{'state':{'phase':'Running'}}"));
    must_update(body, STORE_STATUS);
    body = copy_of(jobs, "j");
    assert_string_equal(printed(json_get(body, "spec")), "{\"n\":1}");
    assert_null(json_find(body, "metadata", "labels", NULL));
    assert_null(json_find(body, "metadata", "finalizers", NULL));
    assert_string_equal(printed(json_get(body, "status")), "{\"state\":{\"phase\":\"Running\"}}");
    assert_int_equal(meta_int(stored(jobs, "j"), "generation"), 1);
    assert_int_equal(stored(jobs, "j")->rev, 2);

    json_set(body, "status", js("{'state':{'phase':'Failed'}}"));
    json_set(json_get(body, "spec"), "n", json_int(&arena, 6));
    must_update(body, STORE_MAIN);
    assert_string_equal(printed(json_get(stored(jobs, "j")->root, "status")), "{\"state\":{\"phase\":\"Running\"}}");
    assert_string_equal(printed(json_get(stored(jobs, "j")->root, "spec")), "{\"n\":6}");
    assert_int_equal(meta_int(stored(jobs, "j"), "generation"), 2);

    must_update(body_of(jobs, "j", ""), STORE_MAIN); /* no status in the body: it stays all the same */
    assert_non_null(json_get(stored(jobs, "j")->root, "status"));
    must_update(body_of(jobs, "j", ""), STORE_STATUS);
    assert_null(json_get(stored(jobs, "j")->root, "status"));

    must_create(body_of(groups, "g", "'status':{'phase':'Pending'}"));
    assert_refused(store_update(store, copy_of(groups, "g"), STORE_STATUS, NULL, &err), ERR_NOT_FOUND);
    must_update(body_of(groups, "g", "'status':{'phase':'Running'}"), STORE_MAIN);
    assert_string_equal(printed(json_get(stored(groups, "g")->root, "status")), "{\"phase\":\"Running\"}");
}

static void patches(void **state)
{
    char text[100];

    (void)state;
    must_create(body_of(pods, "p", "'spec':{'a':1,'b':2}"));
    assert_int_equal(patch(pods, "p", "{'spec':{'a':null,'c':[1]},'metadata':{'annotations':{'k':'v'}}}"), 0);
    assert_string_equal(printed(json_get(stored(pods, "p")->root, "spec")), "{\"b\":2,\"c\":[1]}");
    assert_refused(store_apply(store,
                               &(struct op){ .kind = OP_MERGE_PATCH,
                                             .type = pods,
                                             .namespace = STR("a"),
                                             .name = STR("p"),
                                             .uid = STR("wrong"),
                                             .body = js("{'spec':{'z':1}}") },
                               NULL, &err),
                   ERR_CONFLICT);
    assert_int_equal(store_apply(store,
                                 &(struct op){ .kind = OP_MERGE_PATCH,
                                               .type = pods,
                                               .namespace = STR("a"),
                                               .name = STR("p"),
                                               .uid = stored(pods, "p")->uid,
                                               .body = js("{'spec':{'z':1}}") },
                                 NULL, &err),
                     0);
    assert_refused(patch(pods, "p", "{'metadata':{'resourceVersion':'2'},'spec':{'z':2}}"), ERR_CONFLICT);
    (void)snprintf(text, sizeof(text), "{'metadata':{'resourceVersion':'%llu'},'spec':{'z':2}}",
                   (unsigned long long)stored(pods, "p")->rev);
    assert_int_equal(patch(pods, "p", text), 0);
    assert_refused(patch(pods, "none", "{}"), ERR_NOT_FOUND);
    /* Server's fields asked to go stay. */
    assert_int_equal(patch(pods, "p", "{'metadata':{'uid':null,'creationTimestamp':null,'generation':null}}"), 0);
    assert_int_equal(stored(pods, "p")->uid.n, 36);
    assert_string_equal(meta_text(stored(pods, "p"), "creationTimestamp"), "2026-01-01T00:00:00Z");
}

/* ---- delete ---- */

static void delete_preconditions(void **state)
{
    struct store_delete_options opt = { .grace_s = -1 };

    (void)state;
    must_create(body_of(jobs, "j", ""));
    assert_refused(del(jobs, "none", -1, PROPAGATE_BACKGROUND), ERR_NOT_FOUND);
    opt.uid = STR("wrong");
    assert_refused(store_delete(store, &(struct object_key){ jobs, STR("a"), STR("j") }, &opt, NULL, &err),
                   ERR_CONFLICT);
    opt.uid = stored(jobs, "j")->uid;
    opt.rev = 77;
    assert_refused(store_delete(store, &(struct object_key){ jobs, STR("a"), STR("j") }, &opt, NULL, &err),
                   ERR_CONFLICT);
    opt.rev = stored(jobs, "j")->rev;
    assert_int_equal(store_delete(store, &(struct object_key){ jobs, STR("a"), STR("j") }, &opt, NULL, &err), 0);
    assert_null(stored(jobs, "j"));
    assert_int_equal(store_revision(store), 2);
    assert_int_equal(store_count(store, jobs), 0);
    must_create(body_of(jobs, "j", "")); /* the name is free, the object another */
    assert_false(str_eq(stored(jobs, "j")->uid, opt.uid));
    assert_int_equal(stored(jobs, "j")->rev, 3);
}

/* When a delete removes at once, and what the first delete writes when not. */
static void first_deletes(void **state)
{
    static const struct {
        const struct resource_type **type;
        const char *more, *status;
        int64_t grace_s, want_grace_s; /* wanted -1: it is gone */
    } cases[] = {
        { &jobs, "'spec':{}", "", -1, -1 },
        { &jobs, "'spec':{'terminationGracePeriodSeconds':9,'nodeName':'n'}", "", 30, -1 }, /* grace is for Pods */
        { &pods, "'spec':{}", "", -1, -1 },                                                 /* not bound */
        { &pods, "'spec':{'nodeName':''}", "", 50, -1 },
        { &pods, "'spec':{'nodeName':'n'}", "", -1, 30 },
        { &pods, "'spec':{'nodeName':'n'}", "", 0, -1 },
        { &pods, "'spec':{'nodeName':'n'}", "", 7, 7 },
        { &pods, "'spec':{'nodeName':'n'}", "", -5, 1 },
        { &pods, "'spec':{'nodeName':'n','terminationGracePeriodSeconds':5}", "", -1, 5 },
        { &pods, "'spec':{'nodeName':'n','terminationGracePeriodSeconds':0}", "", -1, -1 },
        { &pods, "'spec':{'nodeName':'n','terminationGracePeriodSeconds':9223372036854775807}", "", -1, INT32_MAX },
        { &pods, "'spec':{'nodeName':'n'}", "{'phase':'Running'}", -1, 30 },
        { &pods, "'spec':{'nodeName':'n'}", "{'phase':'Succeeded'}", -1, -1 },
        { &pods, "'spec':{'nodeName':'n'}", "{'phase':'Failed'}", 20, -1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct resource_type *type = *cases[i].type;
        char name[20];
        const struct object *o;
        autobuf want = { 0 };

        (void)snprintf(name, sizeof(name), "o%zu", i);
        must_create(body_of(type, name, cases[i].more));
        if (cases[i].status[0]) {
            struct json *body = copy_of(type, name);

            json_set(body, "status", js("%s", cases[i].status));
            must_update(body, STORE_STATUS);
        }
        assert_int_equal(del(type, name, cases[i].grace_s, PROPAGATE_BACKGROUND), 0);
        o = stored(type, name);
        if (!o != (cases[i].want_grace_s < 0))
            fail_msg("case %zu: %s", i, o ? "still there" : "gone");
        if (!o)
            continue;
        clock_print(&want, START_MS + cases[i].want_grace_s * 1000);
        assert_int_equal(meta_int(o, "deletionGracePeriodSeconds"), cases[i].want_grace_s);
        assert_string_equal(meta_text(o, "deletionTimestamp"), want.p);
        assert_int_equal(meta_int(o, "generation"), 2);
    }
}

static void grace_only_shrinks(void **state)
{
    static const struct {
        int64_t grace_s, want_grace_s;
        const char *want_time;
    } steps[] = {
        { -1, 30, "2026-01-01T00:00:30Z" }, { 30, 30, "2026-01-01T00:00:30Z" }, { 60, 30, "2026-01-01T00:00:30Z" },
        { 10, 10, "2026-01-01T00:00:10Z" }, { 20, 10, "2026-01-01T00:00:10Z" }, { -1, 10, "2026-01-01T00:00:10Z" },
        { -7, 1, "2026-01-01T00:00:01Z" },
    };

    (void)state;
    must_create(body_of(pods, "p", "'spec':{'nodeName':'n'}"));
    assert_int_equal(del(pods, "p", -1, PROPAGATE_BACKGROUND), 0);
    clock_manual_advance(&manual, 3000); /* later deletes count from the first */
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        uint64_t rev = store_revision(store);
        int64_t before = meta_int(stored(pods, "p"), "deletionGracePeriodSeconds");

        assert_int_equal(del(pods, "p", steps[i].grace_s, PROPAGATE_FOREGROUND), 0);
        if (meta_int(stored(pods, "p"), "deletionGracePeriodSeconds") != steps[i].want_grace_s)
            fail_msg("step %zu", i);
        assert_string_equal(meta_text(stored(pods, "p"), "deletionTimestamp"), steps[i].want_time);
        assert_int_equal(store_revision(store) - rev, before != steps[i].want_grace_s);
        assert_null(json_find(stored(pods, "p")->root, "metadata", "finalizers", NULL));
    }
    assert_int_equal(meta_int(stored(pods, "p"), "generation"), 2); /* deletion began once */
    assert_int_equal(patch(pods, "p", "{'metadata':{'labels':{'a':'b'}}}"), 0);
    assert_non_null(stored(pods, "p")); /* grace is not confirmed yet */
    assert_int_equal(del(pods, "p", 0, PROPAGATE_BACKGROUND), 0);
    assert_null(stored(pods, "p"));
}

static void finalizers_hold(void **state)
{
    uint64_t rev;

    (void)state;
    must_create(js("{'apiVersion':'batch.volcano.sh/v1alpha1','kind':'Job','metadata':{'name':'j','namespace':'a',"
                   "'finalizers':['x/one','x/two']}}"));
    assert_int_equal(del(jobs, "j", -1, PROPAGATE_BACKGROUND), 0);
    assert_string_equal(meta_text(stored(jobs, "j"), "deletionTimestamp"), "2026-01-01T00:00:00Z");
    assert_int_equal(meta_int(stored(jobs, "j"), "deletionGracePeriodSeconds"), 0);
    assert_int_equal(meta_int(stored(jobs, "j"), "generation"), 2);
    rev = store_revision(store);
    assert_int_equal(del(jobs, "j", 0, PROPAGATE_BACKGROUND), 0); /* nothing new */
    assert_int_equal(store_revision(store), rev);
    assert_refused(patch(jobs, "j", "{'metadata':{'finalizers':['x/one','x/two','x/three']}}"), ERR_INVALID);
    assert_refused(patch(jobs, "j", "{'metadata':{'deletionTimestamp':null,'finalizers':['x/new']}}"), ERR_INVALID);
    assert_refused(store_create(store, body_of(jobs, "j", ""), NULL, &err), ERR_EXISTS);
    assert_int_equal(patch(jobs, "j", "{'metadata':{'deletionTimestamp':null}}"), 0); /* cannot be taken back */
    assert_int_equal(store_revision(store), rev);
    assert_int_equal(patch(jobs, "j", "{'metadata':{'finalizers':['x/two']}}"), 0);
    must_update(body_of(jobs, "j", "'status':{'x':1}"), STORE_STATUS);
    assert_non_null(stored(jobs, "j"));
    assert_int_equal(patch(jobs, "j", "{'metadata':{'finalizers':null}}"), 0);
    assert_null(stored(jobs, "j"));
}

/* A Pod goes when both are true: no finalizer, and its kubelet has let go. In either order. */
static void finalizers_and_grace(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        must_create(js("{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p','namespace':'a','finalizers':['x/f']},"
                       "'spec':{'nodeName':'n'}}"));
        assert_int_equal(del(pods, "p", 30, PROPAGATE_BACKGROUND), 0);
        for (int step = 0; step < 2; step++) {
            assert_non_null(stored(pods, "p"));
            if ((step ^ first) == 0)
                assert_int_equal(patch(pods, "p", "{'metadata':{'finalizers':null}}"), 0);
            else
                assert_int_equal(del(pods, "p", 0, PROPAGATE_BACKGROUND), 0);
        }
        assert_null(stored(pods, "p"));
    }
}

static void propagation_adds_finalizers(void **state)
{
    static const struct {
        const char *finalizers;
        enum propagation propagation;
        const char *want; /* "": it is gone */
    } cases[] = {
        { "[]", PROPAGATE_BACKGROUND, "" },
        { "[]", PROPAGATE_FOREGROUND, "[\"foregroundDeletion\"]" },
        { "[]", PROPAGATE_ORPHAN, "[\"orphan\"]" },
        { "['x/f']", PROPAGATE_FOREGROUND, "[\"x/f\",\"foregroundDeletion\"]" },
        { "['foregroundDeletion']", PROPAGATE_FOREGROUND, "[\"foregroundDeletion\"]" },
        { "['orphan','x/f']", PROPAGATE_FOREGROUND, "[\"x/f\",\"foregroundDeletion\"]" },
        { "['foregroundDeletion']", PROPAGATE_ORPHAN, "[\"orphan\"]" },
        { "['x/f']", PROPAGATE_BACKGROUND, "[\"x/f\"]" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char name[20];

        (void)snprintf(name, sizeof(name), "j%zu", i);
        must_create(js("{'apiVersion':'batch.volcano.sh/v1alpha1','kind':'Job','metadata':{'name':'%s','namespace':'a',"
                       "'finalizers':%s}}",
                       name, cases[i].finalizers));
        assert_int_equal(del(jobs, name, -1, cases[i].propagation), 0);
        if (!stored(jobs, name) != !cases[i].want[0])
            fail_msg("case %zu", i);
        if (!stored(jobs, name))
            continue;
        assert_string_equal(printed(json_find(stored(jobs, name)->root, "metadata", "finalizers", NULL)),
                            cases[i].want);
        assert_int_equal(patch(jobs, name, "{'metadata':{'finalizers':[]}}"), 0);
        assert_null(stored(jobs, name));
    }
}

/* ---- plans, seeds ---- */

static void apply_a_plan(void **state)
{
    struct plan p = { .arena = &arena, .now_ms = START_MS };
    struct json *job;

    (void)state;
    plan_create(&p, jobs, body_of(jobs, "j", "'spec':{'n':1}"));
    plan_update(&p, jobs, body_of(jobs, "j", "'spec':{'n':2}"));
    plan_update_status(&p, jobs, body_of(jobs, "j", "'status':{'x':1}"));
    plan_patch(&p, (struct object_id){ jobs, STR("a"), STR("j"), STR_NULL }, js("{'metadata':{'labels':{'k':'v'}}}"));
    VEC_FOREACH(op, &p.ops)
        if (store_apply(store, op, NULL, &err) < 0)
            fail_msg("op %zu: %s", (size_t)(op - p.ops.v), err.text);
    assert_int_equal(store_revision(store), 4);
    job = copy_of(jobs, "j");
    assert_string_equal(printed(json_get(job, "spec")), "{\"n\":2}");
    assert_string_equal(printed(json_get(job, "status")), "{\"x\":1}");

    p.ops.n = 0;
    plan_event_normal(&p, job, "Because", "told %d times", 1);
    plan_event_normal(&p, job, "Because", "told %d times", 1);
    plan_delete(&p, (struct object_id){ jobs, STR("a"), STR("j"), STR("wrong") });
    plan_delete(&p, (struct object_id){ jobs, STR("a"), STR("j"), object_uid(job) })->propagation = PROPAGATE_ORPHAN;
    assert_int_equal(store_apply(store, &p.ops.v[0], NULL, &err), 0);
    assert_refused(store_apply(store, &p.ops.v[1], NULL, &err), ERR_EXISTS); /* the same Event */
    assert_refused(store_apply(store, &p.ops.v[2], NULL, &err), ERR_CONFLICT);
    assert_int_equal(store_apply(store, &p.ops.v[3], NULL, &err), 0);
    assert_string_equal(printed(json_find(stored(jobs, "j")->root, "metadata", "finalizers", NULL)), "[\"orphan\"]");
}

static void list_whole(void *ctx, const struct object *o)
{
    json_print(ctx, o->root);
}

static void history_of(uint64_t seed, struct buf *out)
{
    struct store *s = open_store(seed, 0);

    for (int i = 0; i < 20; i++)
        assert_int_equal(store_create(s,
                                      js("{'apiVersion':'v1','kind':'Pod','metadata':{'generateName':'p-','namespace':"
                                         "'a'}}"),
                                      NULL, &err),
                         0);
    store_list(s, pods, STR_NULL, list_whole, out);
    store_free(s);
}

static void same_seed_same_history(void **state)
{
    autobuf one = { 0 }, again = { 0 }, other = { 0 };

    (void)state;
    history_of(7, &one);
    history_of(7, &again);
    history_of(8, &other);
    assert_string_equal(one.p, again.p);
    assert_string_not_equal(one.p, other.p);
}

/* Everything is worked out, and nothing has happened. */
static void dry_writes(void **state)
{
    struct object *o = NULL;
    uint64_t rev;

    (void)state;
    must_create(body_of(maps, "here", ""));
    rev = store_revision(store);
    store_set_dry(store, true);
    assert_int_equal(store_create(store, body_of(maps, "new", ""), &o, &err), 0);
    assert_int_equal(o->rev, 0);
    assert_true(o->uid.n > 0);
    object_unref(o);
    assert_int_equal(store_create(store, body_of(maps, "here", ""), NULL, &err), -1);
    assert_int_equal(err.code, ERR_EXISTS);
    assert_int_equal(patch(maps, "here", "{'data':{'a':'b'}}"), 0);
    assert_int_equal(del(maps, "here", 0, PROPAGATE_BACKGROUND), 0);
    store_set_dry(store, false);
    assert_int_equal(store_revision(store), rev);
    assert_null(stored(maps, "new"));
    assert_null(json_get(stored(maps, "here")->root, "data"));
}

/* A namespace waits until spec.finalizers is empty. */
static void namespaces_end_in_two_steps(void **state)
{
    const struct resource_type *type = type_by_kind(STR("v1"), STR("Namespace"));
    struct json *body;

    (void)state;
    must_create(
        js("{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'n'},'spec':{'finalizers':['kubernetes']}}"));
    assert_int_equal(del(type, "n", 0, PROPAGATE_BACKGROUND), 0);
    assert_non_null(store_get(store, type, STR_NULL, STR("n")));
    assert_int_equal(del(type, "n", 0, PROPAGATE_BACKGROUND), 0);
    body = copy_of(type, "n");
    assert_non_null(json_find(body, "metadata", "deletionTimestamp", NULL));
    json_remove(json_get(body, "spec"), "finalizers");
    must_update(body, STORE_MAIN);
    assert_null(store_get(store, type, STR_NULL, STR("n")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(create_fills_metadata),
        STORE_TEST(uids_are_in_order),
        STORE_TEST(generation_is_not_for_all),
        STORE_TEST(create_and_status),
        STORE_TEST(create_refuses),
        STORE_TEST(cluster_scope_has_no_namespace),
        STORE_TEST(generate_name),
        STORE_TEST(objects_outlive_their_place),
        STORE_TEST(lists_are_in_order),
        STORE_TEST(update_is_optimistic),
        STORE_TEST(update_keeps_what_is_the_servers),
        STORE_TEST(generations),
        STORE_TEST(change_of_nothing),
        STORE_TEST(status_is_apart),
        STORE_TEST(patches),
        STORE_TEST(delete_preconditions),
        STORE_TEST(first_deletes),
        STORE_TEST(grace_only_shrinks),
        STORE_TEST(finalizers_hold),
        STORE_TEST(finalizers_and_grace),
        STORE_TEST(propagation_adds_finalizers),
        STORE_TEST(apply_a_plan),
        STORE_TEST(dry_writes),
        STORE_TEST(namespaces_end_in_two_steps),
        STORE_TEST(same_seed_same_history),
    };

    return run_suite(tests, ARRAY_LEN(tests));
}
