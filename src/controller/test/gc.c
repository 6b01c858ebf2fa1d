/* gc.c - tests of the owner garbage collector: single rules, then every combination against a second reading of them,
 * then whole families until nothing is left to do */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fixture.h"

enum owner_kind { HERE, GONE, STRANGE, GOING, WAITING, ORPHANING, BOTH, OWNER_KIND_MAX };

static const struct gc_owner owner_kinds[OWNER_KIND_MAX] = {
    [HERE] = { .is_known = true, .exists = true },
    [GONE] = { .is_known = true },
    [STRANGE] = { .is_known = false }, /* a kind nobody watches, or not told yet */
    [GOING] = { .is_known = true, .exists = true, .is_deleting = true },
    [WAITING] = { .is_known = true, .exists = true, .is_deleting = true, .waits_for_dependents = true },
    [ORPHANING] = { .is_known = true, .exists = true, .is_deleting = true, .orphans = true },
    [BOTH] = { .is_known = true, .exists = true, .is_deleting = true, .waits_for_dependents = true, .orphans = true },
};
static const char *const owner_names[OWNER_KIND_MAX] = { "here",    "gone",      "strange", "going",
                                                         "waiting", "orphaning", "both" };

/* Metadata with 'n' references o0, o1 … and finalizers, as JSON text. */
static struct json *meta_with(struct arena *a, size_t n, bool blocks, const char *finalizers)
{
    struct buf text = { 0 };
    struct json *meta;

    buf_fmt(&text, "{\"name\":\"x\",\"resourceVersion\":\"7\"");
    if (finalizers)
        buf_fmt(&text, ",\"finalizers\":%s", finalizers);
    for (size_t i = 0; i < n; i++)
        buf_fmt(&text, "%s{\"uid\":\"o%zu\"%s}", i ? "," : ",\"ownerReferences\":[", i,
                blocks ? ",\"blockOwnerDeletion\":true" : "");
    buf_fmt(&text, n ? "]}" : "}");
    meta = parse(a, arena_cstr(a, buf_view(&text)));
    buf_done(&text);
    return meta;
}

static struct gc_observed observed(void)
{
    return (struct gc_observed){
        .type = type_by_kind(STR("v1"), STR("Pod")), .namespace = STR("n"), .name = STR("x"), .uid = STR("u-1")
    };
}

#define PATCH(members) "patch Pod n/x uid u-1 {\"metadata\":{" members ",\"resourceVersion\":\"7\"}}\n"
#define DELETE(how)    "delete Pod n/x uid u-1 rev 7 " how "\n"

static void test_owners(void **state)
{
    static const struct {
        const char *label;
        size_t n;
        enum owner_kind owners[3];
        size_t n_dependents;
        const char *want;
    } cases[] = {
        { "no owner", 0, { 0 }, 0, "" },
        { "owner is here", 1, { HERE }, 0, "" },
        { "owner is gone", 1, { GONE }, 0, DELETE("background") },
        { "owner is gone, has dependents", 1, { GONE }, 3, DELETE("background") },
        { "owner is not known", 1, { STRANGE }, 0, "" },
        { "owner goes, but waits for nothing", 1, { GOING }, 0, "" },
        { "owner waits", 1, { WAITING }, 0, DELETE("background") },
        { "owner waits, has dependents", 1, { WAITING }, 1, DELETE("foreground") },
        { "owner orphans", 1, { ORPHANING }, 0, PATCH("\"ownerReferences\":null") },
        { "owner waits and orphans", 1, { BOTH }, 0, PATCH("\"ownerReferences\":null") },
        { "all gone", 3, { GONE, GONE, GONE }, 0, DELETE("background") },
        { "gone and waiting", 2, { GONE, WAITING }, 1, DELETE("foreground") },
        { "one of two gone", 2, { GONE, HERE }, 0, PATCH("\"ownerReferences\":[{\"uid\":\"o1\"}]") },
        { "one waits, one is here", 2, { HERE, WAITING }, 1, PATCH("\"ownerReferences\":[{\"uid\":\"o0\"}]") },
        { "one gone, one not known", 2, { STRANGE, GONE }, 0, PATCH("\"ownerReferences\":[{\"uid\":\"o0\"}]") },
        { "one orphans, one is gone", 2, { ORPHANING, GONE }, 0, PATCH("\"ownerReferences\":null") },
        { "only the middle one stays", 3, { GONE, HERE, WAITING }, 0, PATCH("\"ownerReferences\":[{\"uid\":\"o1\"}]") },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct gc_observed o = observed();
        struct gc_owner owners[3];
        autoarena a = { 0 };
        struct plan plan = { .arena = &a };

        for (size_t k = 0; k < cases[i].n; k++)
            owners[k] = owner_kinds[cases[i].owners[k]];
        o.owners = owners;
        o.n_owners = cases[i].n;
        o.n_dependents = cases[i].n_dependents;
        o.meta = meta_with(&a, cases[i].n, false, NULL);
        gc_plan(&o, &plan);
        assert_plan(cases[i].label, &plan, cases[i].want);
    }
}

static void test_deleting(void **state)
{
    static const struct {
        const char *label, *finalizers;
        bool is_deleting, has_foreground, has_orphan;
        size_t n_dependents, n_blocking;
        const char *want;
    } cases[] = {
        { "foreground, blocked", "[\"foregroundDeletion\"]", true, true, false, 2, 1, "" },
        { "foreground, the rest does not block", "[\"foregroundDeletion\"]", true, true, false, 2, 0,
          PATCH("\"finalizers\":null") },
        { "foreground, nothing left", "[\"foregroundDeletion\"]", true, true, false, 0, 0,
          PATCH("\"finalizers\":null") },
        { "others' finalizers stay", "[\"a/b\",\"foregroundDeletion\",\"c/d\"]", true, true, false, 0, 0,
          PATCH("\"finalizers\":[\"a/b\",\"c/d\"]") },
        { "orphan, still named", "[\"orphan\"]", true, false, true, 1, 0, "" },
        { "orphan, named no more", "[\"orphan\",\"a/b\"]", true, false, true, 0, 0, PATCH("\"finalizers\":[\"a/b\"]") },
        { "both: orphan first", "[\"orphan\",\"foregroundDeletion\"]", true, true, true, 1, 0, "" },
        { "both, named no more", "[\"orphan\",\"foregroundDeletion\"]", true, true, true, 0, 0,
          PATCH("\"finalizers\":[\"foregroundDeletion\"]") },
        { "only others' finalizers", "[\"a/b\"]", true, false, false, 0, 0, "" },
        { "not deleting", "[\"foregroundDeletion\"]", false, true, false, 0, 0, "" },
        { "not deleting, orphan", "[\"orphan\"]", false, false, true, 0, 0, "" },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct gc_observed o = observed();
        autoarena a = { 0 };
        struct plan plan = { .arena = &a };

        o.is_deleting = cases[i].is_deleting;
        o.has_foreground = cases[i].has_foreground;
        o.has_orphan = cases[i].has_orphan;
        o.n_dependents = cases[i].n_dependents;
        o.n_blocking = cases[i].n_blocking;
        o.meta = meta_with(&a, 0, false, cases[i].finalizers);
        gc_plan(&o, &plan);
        assert_plan(cases[i].label, &plan, cases[i].want);
    }
}

static void test_finalizers_choose_the_propagation(void **state)
{
    static const struct {
        bool has_foreground, has_orphan;
        const char *want;
    } cases[] = {
        { false, false, DELETE("background") },
        { true, false, DELETE("foreground") },
        { false, true, DELETE("orphan") },
        { true, true, DELETE("orphan") },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct gc_observed o = observed();
        autoarena a = { 0 };
        struct plan plan = { .arena = &a };

        o.has_foreground = cases[i].has_foreground;
        o.has_orphan = cases[i].has_orphan;
        o.owners = &owner_kinds[GONE];
        o.n_owners = 1;
        o.meta = meta_with(&a, 1, false, NULL);
        gc_plan(&o, &plan);
        assert_plan("finalizers", &plan, cases[i].want);
    }
}

static void test_odd_input(void **state)
{
    struct gc_observed o = observed();
    autoarena a = { 0 };
    struct plan plan = { .arena = &a };
    (void)state;

    o.owners = &owner_kinds[GONE];
    o.n_owners = 1;
    o.meta = meta_with(&a, 2, false, NULL); /* owners of another state of the object */
    gc_plan(&o, &plan);
    o.meta = NULL;
    gc_plan(&o, &plan);
    o.meta = meta_with(&a, 1, false, NULL);
    o.type = type_by_kind(STR("v1"), STR("Event"));
    gc_plan(&o, &plan);
    assert_plan("nothing", &plan, "");
}

/* ---- every combination ---- */

/* The rules of garbage collection once more, as sentences. */
static const char *expected(const enum owner_kind kinds[2], size_t n, bool is_deleting, bool has_dependents, char *out,
                            size_t size)
{
    bool keeps = false, waits = false, some_drop = false;
    struct buf left = { 0 };

    for (size_t i = 0; i < n; i++) {
        bool orphans = kinds[i] == ORPHANING || kinds[i] == BOTH;
        bool is_solid = kinds[i] == HERE || kinds[i] == STRANGE || kinds[i] == GOING;
        bool drops = is_deleting ? orphans : !is_solid;

        keeps |= is_solid || orphans;
        waits |= kinds[i] == WAITING;
        some_drop |= drops;
        if (!drops)
            buf_fmt(&left, "%s{\"uid\":\"o%zu\",\"blockOwnerDeletion\":true}", left.n ? "," : "", i);
    }
    if (n == 0 || ((is_deleting || keeps) && !some_drop))
        (void)snprintf(out, size, "%s", "");
    else if (!is_deleting && !keeps)
        (void)snprintf(out, size, DELETE("%s"), waits && has_dependents ? "foreground" : "background");
    else if (left.n)
        (void)snprintf(out, size, PATCH("\"ownerReferences\":[%s]"), left.p);
    else
        (void)snprintf(out, size, PATCH("\"ownerReferences\":null"));
    buf_done(&left);
    return out;
}

static void test_all_combinations(void **state)
{
    (void)state;
    for (unsigned code = 0; code < 3 * OWNER_KIND_MAX * OWNER_KIND_MAX * 2 * 2; code++) {
        size_t n = code % 3;
        enum owner_kind kinds[2] = { code / 3 % OWNER_KIND_MAX, code / (3 * OWNER_KIND_MAX) % OWNER_KIND_MAX };
        unsigned rest = code / (3 * OWNER_KIND_MAX * OWNER_KIND_MAX);
        bool is_deleting = rest % 2, has_dependents = rest / 2;
        struct gc_owner owners[2] = { owner_kinds[kinds[0]], owner_kinds[kinds[1]] };
        struct gc_observed o = observed();
        autoarena a = { 0 };
        struct plan plan = { .arena = &a };
        char want[400], label[80];

        o.owners = owners;
        o.n_owners = n;
        o.is_deleting = is_deleting;
        o.n_dependents = o.n_blocking = has_dependents;
        o.meta = meta_with(&a, n, true, NULL);
        gc_plan(&o, &plan);
        (void)snprintf(label, sizeof(label), "%zu owners: %s, %s%s%s", n, owner_names[kinds[0]], owner_names[kinds[1]],
                       is_deleting ? ", deleting" : "", has_dependents ? ", has dependents" : "");
        assert_plan(label, &plan, expected(kinds, n, is_deleting, has_dependents, want, sizeof(want)));
    }
}

/* ---- families: a small store of objects that own each other, applied until nothing changes ---- */

enum { FAMILY_MAX = 4 };

struct member { /* one object; its references are letters of the members, its finalizers flags */
    bool exists, is_deleting, foreground, orphan, blocks;
    char owners[FAMILY_MAX + 1];
};

struct family {
    struct member m[FAMILY_MAX];
    char order[FAMILY_MAX + 1]; /* in which members went */
};

static struct gc_observed family_look(struct arena *a, struct family *f, size_t i, struct gc_owner owners[FAMILY_MAX])
{
    struct member *m = &f->m[i];
    struct json *refs;
    struct gc_observed o = observed();
    struct json *meta = meta_with(a, 0, false, NULL);

    refs = json_set(meta, "ownerReferences", json_array(a));
    o.n_owners = strlen(m->owners);
    for (size_t k = 0; k < o.n_owners; k++) {
        const struct member *owner = &f->m[m->owners[k] - 'a'];

        json_set(json_push(refs, json_object(a)), "uid", json_fmt(a, "%c", m->owners[k]));
        owners[k] = (struct gc_owner){ true, owner->exists, owner->is_deleting, owner->foreground, owner->orphan };
    }
    for (size_t k = 0; k < FAMILY_MAX; k++) {
        bool names_it = f->m[k].exists && strchr(f->m[k].owners, (int)('a' + i));

        o.n_dependents += names_it;
        o.n_blocking += names_it && f->m[k].blocks;
    }
    o.owners = owners;
    o.meta = meta;
    o.is_deleting = m->is_deleting;
    o.has_foreground = m->foreground;
    o.has_orphan = m->orphan;
    return o;
}

static void family_delete(struct family *f, size_t i, enum propagation propagation)
{
    struct member *m = &f->m[i];

    m->is_deleting = true;
    m->foreground |= propagation == PROPAGATE_FOREGROUND;
    m->orphan |= propagation == PROPAGATE_ORPHAN;
    if (m->foreground || m->orphan)
        return;
    m->exists = false;
    f->order[strlen(f->order)] = (char)('a' + i);
}

static void family_patch(struct family *f, size_t i, const struct json *meta)
{
    struct member *m = &f->m[i];
    const struct json *refs = json_get(meta, "ownerReferences");

    if (refs) {
        memset(m->owners, 0, sizeof(m->owners));
        JSON_FOREACH(ref, refs)
            m->owners[strlen(m->owners)] = json_member_text(ref, "uid").p[0];
        return;
    }
    if (m->orphan)
        m->orphan = false;
    else
        m->foreground = false;
    family_delete(f, i, PROPAGATE_BACKGROUND);
}

/* False when a whole round changed nothing. */
static bool family_turn(struct family *f)
{
    bool is_busy = false;

    for (size_t i = 0; i < FAMILY_MAX; i++) {
        struct gc_owner owners[FAMILY_MAX];
        autoarena a = { 0 };
        struct plan plan = { .arena = &a };
        struct gc_observed o;

        if (!f->m[i].exists)
            continue;
        o = family_look(&a, f, i, owners);
        gc_plan(&o, &plan);
        VEC_FOREACH(op, &plan.ops) {
            is_busy = true;
            if (op->kind == OP_DELETE)
                family_delete(f, i, op->propagation);
            else
                family_patch(f, i, json_get(op->body, "metadata"));
        }
    }
    return is_busy;
}

static void test_families(void **state)
{
    static const struct {
        const char *label;
        const char *owners[FAMILY_MAX]; /* of a, b, c, d; a is deleted */
        bool blocks;
        enum propagation how;
        const char *order, *left; /* who went, in this order; the references of those that stay */
    } cases[] = {
        { "background, a chain", { "", "a", "b", "c" }, true, PROPAGATE_BACKGROUND, "abcd", "" },
        { "foreground, a chain", { "", "a", "b", "c" }, true, PROPAGATE_FOREGROUND, "dcba", "" },
        { "foreground, nothing blocks", { "", "a", "b", "c" }, false, PROPAGATE_FOREGROUND, "abcd", "" },
        { "orphan", { "", "a", "a", "b" }, true, PROPAGATE_ORPHAN, "a", "b: c: d:b " },
        { "background, children", { "", "a", "a", "a" }, true, PROPAGATE_BACKGROUND, "abcd", "" },
        { "foreground, children", { "", "a", "a", "a" }, true, PROPAGATE_FOREGROUND, "bcda", "" },
        { "a second owner, background", { "", "", "ab", "c" }, true, PROPAGATE_BACKGROUND, "a", "b: c:b d:c " },
        { "a second owner, foreground", { "", "", "ab", "a" }, true, PROPAGATE_FOREGROUND, "da", "b: c:b " },
        { "a second owner, orphan", { "", "", "ab", "a" }, true, PROPAGATE_ORPHAN, "a", "b: c:b d: " },
        { "a diamond, background", { "", "a", "a", "bc" }, true, PROPAGATE_BACKGROUND, "abcd", "" },
        { "a diamond, foreground", { "", "a", "a", "bc" }, true, PROPAGATE_FOREGROUND, "dbca", "" },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct family f = { 0 };
        struct buf left = { 0 };
        int turns = 0;

        for (size_t k = 0; k < FAMILY_MAX; k++) {
            f.m[k].exists = true;
            f.m[k].blocks = cases[i].blocks;
            memcpy(f.m[k].owners, cases[i].owners[k], strlen(cases[i].owners[k]));
        }
        family_delete(&f, 0, cases[i].how);
        while (family_turn(&f))
            if (++turns > 50)
                fail_msg("%s: no end", cases[i].label);
        buf_str(&left, STR(""));
        for (size_t k = 0; k < FAMILY_MAX; k++)
            if (f.m[k].exists)
                buf_fmt(&left, "%c:%s%s ", (int)('a' + k), f.m[k].owners, f.m[k].is_deleting ? " going" : "");
        if (strcmp(f.order, cases[i].order) != 0 || !str_is(buf_view(&left), cases[i].left))
            fail_msg("%s: went \"%s\", want \"%s\"; left \"%s\", want \"%s\"", cases[i].label, f.order, cases[i].order,
                     left.p, cases[i].left);
        buf_done(&left);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_owners),
        cmocka_unit_test(test_deleting),
        cmocka_unit_test(test_finalizers_choose_the_propagation),
        cmocka_unit_test(test_odd_input),
        cmocka_unit_test(test_all_combinations),
        cmocka_unit_test(test_families),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
