/* users.c - tests: people come and go, and who has gone is nobody */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "auth/users.h"

#include "api/meta.h"
#include "auth/rbac.h"
#include "auth/test/place.h"

static struct users *users, *others; /* of the server, and of a command beside it */

static int begin(void **state)
{
    return place_begin(state) < 0 || users_open(here.dir, &users, NULL) < 0 ? -1 : users_open(here.dir, &others, NULL);
}

static int end(void **state)
{
    users_free(users);
    users_free(others);
    return place_end(state);
}

static void add(const char *name, enum user_role role, const char *namespace)
{
    struct str ns = str_of(namespace);
    struct user_spec spec = {
        .name = str_of(name), .role = role, .namespaces = &ns, .n_namespaces = namespace ? 1 : 0, .unix_uid = -1
    };
    struct err e;

    if (users_add(others, &spec, now_ms, NULL, &e) < 0)
        fail_msg("%s: %s", name, e.text);
}

static void refresh(bool want_change)
{
    struct err e;
    bool changed;

    if (users_refresh(users, &changed, &e) < 0)
        fail_msg("%s", e.text);
    assert_int_equal(changed, want_change);
}

static void come_and_go(void **state)
{
    const struct str *groups;
    struct str first;
    size_t n;

    (void)state;
    assert_int_equal(users_count(users), 0);
    add("ann", USER_EDIT, "lab");
    add("bob", USER_VIEW, NULL);
    refresh(true);
    refresh(false);
    assert_int_equal(users_count(users), 2);
    assert_true(str_is(users_at(users, 0)->name, "ann"));
    assert_int_equal(users_add_certificate(others, STR("ann"), now_ms + DAY_MS, NULL), 0);
    groups = users_organizations(others, &here.arena, STR("ann"), &n);
    refresh(true);
    assert_int_equal(n, 1);
    assert_non_null(users_by_certificate(users, STR("ann"), groups, n));
    assert_null(users_by_certificate(users, STR("bob"), groups, n));
    assert_null(users_by_certificate(users, STR("ann"), NULL, 0));
    first = groups[0];
    assert_int_equal(users_remove(others, STR("ann"), NULL), 0);
    refresh(true);
    assert_null(users_by_certificate(users, STR("ann"), &first, 1));
    add("ann", USER_ADMIN, NULL); /* another person of that name */
    refresh(true);
    assert_null(users_by_certificate(users, STR("ann"), &first, 1));
}

static void tokens(void **state)
{
    autobuf token = { 0 }, other = { 0 }, file = { 0 };

    (void)state;
    add("ann", USER_EDIT, NULL);
    assert_int_equal(users_add_token(others, &(struct user_term){ STR("ann"), now_ms }, &token, NULL), 0);
    assert_int_equal(users_add_token(others, &(struct user_term){ STR("ann"), now_ms, DAY_MS }, &other, NULL), 0);
    refresh(true);
    assert_true(str_is(users_by_token(users, buf_view(&token), now_ms)->name, "ann"));
    assert_non_null(users_by_token(users, buf_view(&other), now_ms + DAY_MS - 1));
    assert_null(users_by_token(users, buf_view(&other), now_ms + DAY_MS));
    assert_null(users_by_token(users, STR("pumice_"), now_ms));
    assert_null(users_by_token(users, STR_NULL, now_ms));
    for (size_t i = 0; i < token.n; i++) {
        token.p[i] ^= 1;
        assert_null(users_by_token(users, buf_view(&token), now_ms));
        token.p[i] ^= 1;
        assert_null(users_by_token(users, str_sub(buf_view(&token), 0, i), now_ms));
    }
    assert_int_equal(secret_file_read(here.dir, "users.json", &file, NULL, NULL), 0);
    assert_false(str_has(buf_view(&file), buf_view(&token))); /* only what it hashes to */
    for (int i = 0; i < 14; i++)
        assert_int_equal(users_add_token(others, &(struct user_term){ STR("ann"), now_ms }, &other, NULL), 0);
    assert_int_equal(users_add_token(others, &(struct user_term){ STR("ann"), now_ms }, &other, NULL), -1);
    assert_int_equal(users_add_token(others, &(struct user_term){ STR("ann"), now_ms + DAY_MS }, &other, NULL),
                     0); /* one has ended */
    assert_int_equal(users_add_token(others, &(struct user_term){ STR("eve"), now_ms }, &other, NULL), -1);
}

static void bad_names(void **state)
{
    static const char *const names[] = { "",
                                         "system:admin",
                                         "a b",
                                         "-x",
                                         ".",
                                         "a/b",
                                         "a\"b",
                                         "\xc3\xa9",
                                         "0123456789012345678901234567890123456789012345678901234567890123" };
    static const char *const groups[] = { "", "system:nodes", "pumice:uid:x", "a,b" };
    struct str ns = STR("Not_A_Label"), group;
    struct user_spec spec = { .unix_uid = -1 };
    struct err e;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        spec.name = str_of(names[i]);
        if (users_add(others, &spec, now_ms, NULL, &e) == 0 || e.code != ERR_INVALID)
            fail_msg("taken: %s", names[i]);
    }
    spec.name = STR("ann");
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        group = str_of(groups[i]);
        spec.groups = &group;
        spec.n_groups = 1;
        if (users_add(others, &spec, now_ms, NULL, &e) == 0 || !strstr(e.text, "--group"))
            fail_msg("taken: %s", groups[i]);
    }
    spec = (struct user_spec){ .name = STR("ann"), .namespaces = &ns, .n_namespaces = 1, .unix_uid = -1 };
    assert_int_equal(users_add(others, &spec, now_ms, NULL, &e), -1);
    spec.role = USER_EDIT;
    assert_int_equal(users_add(others, &spec, now_ms, NULL, &e), -1);
    assert_non_null(strstr(e.text, "--namespace"));
    add("ann", USER_NO_ROLE, NULL);
    spec = (struct user_spec){ .name = STR("ann"), .unix_uid = -1 };
    assert_int_equal(users_add(others, &spec, now_ms, NULL, &e), -1);
    assert_int_equal(e.code, ERR_EXISTS);
    assert_int_equal(users_remove(others, STR("eve"), &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

/* What cannot be read makes nobody known, and is right again when it can be. */
static void bad_files(void **state)
{
    static const char *const files[] = {
        "",
        "{",
        "[]",
        "{\"version\":2}",
        "{\"version\":1,\"users\":[{}]}",
        "{\"version\":1,\"users\":[{\"name\":\"a\"}]}",
        "{\"version\":1,\"users\":[{\"name\":\"a\",\"uid\":\"u\",\"role\":\"god\"}]}",
        "{\"version\":1,\"users\":[{\"name\":\"a\",\"uid\":\"u\"},{\"name\":\"a\",\"uid\":\"v\"}]}",
        "{\"version\":1,\"users\":[{\"name\":\"a\",\"uid\":\"u\",\"tokens\":[{\"sha256\":\"00\"}]}]}",
        "{\"version\":1,\"users\":[{\"name\":\"a\",\"uid\":\"u\",\"created\":\"yesterday\"}]}",
    };
    autobuf good = { 0 };
    struct err e;
    bool changed;

    (void)state;
    add("ann", USER_EDIT, NULL);
    refresh(true);
    assert_int_equal(secret_file_read(here.dir, "users.json", &good, NULL, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        assert_int_equal(secret_file_write(here.dir, "users.json", str_of(files[i]), NULL), 0);
        if (users_refresh(users, &changed, &e) == 0 || !strstr(e.text, "users.json"))
            fail_msg("read: %s", files[i]);
        assert_true(changed);
        assert_null(users_find(users, STR("ann")));
        assert_int_equal(users_refresh(users, &changed, &e), -1);
        assert_false(changed);
        assert_int_equal(users_remove(others, STR("ann"), &e), -1); /* nor is it written over */
    }
    assert_int_equal(secret_file_write(here.dir, "users.json", buf_view(&good), NULL), 0);
    assert_int_equal(users_refresh(users, NULL, &e), 0);
    assert_non_null(users_find(users, STR("ann")));
    assert_int_equal(fchmodat(here.dir, "users.json", 0640, 0), 0);
    assert_int_equal(users_refresh(users, NULL, &e), -1);
    assert_null(users_find(users, STR("ann")));
}

static bool may(struct rbac *rbac, const char *name, const char *verb, const char *namespace)
{
    struct identity who = user_identity(&here.arena, users_find(users, str_of(name)));
    struct rbac_question q = { .verb = str_of(verb), .resource = STR("pods"), .namespace = str_of(namespace) };

    assert_int_equal(rbac_turn(rbac, NULL), 0);
    return rbac_allows(rbac, &who, &q);
}

static void bindings(void **state)
{
    struct rbac *rbac = rbac_new();
    uint64_t rev;

    (void)state;
    assert_int_equal(rbac_make_defaults(here.store, NULL), 0);
    assert_int_equal(rbac_follow(rbac, here.store, NULL), 0);
    add("ann", USER_EDIT, "lab");
    add("bob", USER_VIEW, NULL);
    add("eve", USER_NO_ROLE, NULL);
    add("joe", USER_ADMIN, NULL);
    refresh(true);
    assert_int_equal(users_sync(users, here.store, NULL), 0);
    assert_true(may(rbac, "ann", "create", "lab") && !may(rbac, "ann", "get", "default"));
    assert_true(may(rbac, "bob", "get", "lab") && !may(rbac, "bob", "create", "lab"));
    assert_true(may(rbac, "joe", "create", "kube-system") && !may(rbac, "eve", "get", "lab"));
    assert_non_null(store_get(here.store, type_by_kind(STR("v1"), STR("Namespace")), STR_NULL, STR("lab")));
    rev = store_revision(here.store);
    assert_int_equal(users_sync(users, here.store, NULL), 0);
    assert_int_equal(store_revision(here.store), rev); /* nothing to do */
    assert_int_equal(users_remove(others, STR("ann"), NULL), 0);
    add("ann", USER_VIEW, "lab");
    refresh(true);
    assert_int_equal(users_sync(users, here.store, NULL), 0);
    assert_true(may(rbac, "ann", "get", "lab") && !may(rbac, "ann", "create", "lab"));
    rbac_free(rbac);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(come_and_go, begin, end),
        cmocka_unit_test_setup_teardown(tokens, begin, end),
        cmocka_unit_test_setup_teardown(bad_names, begin, end),
        cmocka_unit_test_setup_teardown(bad_files, begin, end),
        cmocka_unit_test_setup_teardown(bindings, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
