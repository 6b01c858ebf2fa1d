/* authority.c - tests: the CA of a server is made once, kept, renewed by the same key, rotated, and never lost */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "pki/authority.h"

#include "pki/secret_file.h"
#include "base/util.h"
#include "os/tree.h"

#include <fcntl.h>

#define DAY_MS (24LL * 3600 * 1000)

static const char *const names[] = { "localhost", "127.0.0.1", "::1", NULL };
static const int64_t now_ms = 1800000000000;

static char path[64];
static int dir;

static int begin(void **state)
{
    struct err e;

    (void)state;
    (void)snprintf(path, sizeof(path), "/tmp/auth-authority.XXXXXX");
    if (!mkdtemp(path) || secret_dir_open(path, &dir, &e) < 0)
        return -1;
    return 0;
}

static int end(void **state)
{
    autoclose int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)state;
    close(dir);
    return tree_remove(tmp, path + strlen("/tmp/"), NULL);
}

static struct authority *open_at(int64_t at_ms, const char *const *for_names)
{
    struct authority_options opt = { dir, for_names, at_ms };
    struct authority *a;
    struct err e;

    if (authority_open(&opt, &a, &e) < 0)
        fail_msg("%s", e.text);
    return a;
}

static int check(struct str ca, struct str cert, struct str key)
{
    struct certificate_set set = { 0 };
    int64_t from, to;
    int r;

    buf_str(&set.ca, ca);
    buf_str(&set.cert, cert);
    buf_str(&set.key, key);
    r = certificate_check(&set, (const char *const[]){ NULL }, &from, &to, NULL);
    certificate_set_done(&set);
    return r;
}

static void is_kept(void **state)
{
    struct authority *a = open_at(now_ms, names), *b;
    struct stat st;

    (void)state;
    b = open_at(now_ms + DAY_MS, names);
    assert_true(str_eq(authority_ca(a), authority_ca(b)));
    assert_true(str_eq(authority_server_cert(a), authority_server_cert(b)));
    authority_free(b);
    b = open_at(now_ms + DAY_MS, (const char *const[]){ "localhost", "10.0.0.7", NULL }); /* it listens elsewhere now */
    assert_true(str_eq(authority_ca(a), authority_ca(b)));
    assert_false(str_eq(authority_server_cert(a), authority_server_cert(b)));
    authority_free(b);
    authority_free(a);
    assert_int_equal(fstatat(dir, "ca.pem", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void renews(void **state)
{
    struct authority *a = open_at(now_ms, names);
    autobuf first = { 0 }, cert = { 0 };
    bool changed;

    (void)state;
    buf_str(&first, authority_ca(a));
    buf_str(&cert, authority_server_cert(a));
    assert_int_equal(authority_turn(a, now_ms + 200 * DAY_MS, &changed, NULL), 0);
    assert_false(changed);
    assert_int_equal(authority_turn(a, now_ms + 300 * DAY_MS, &changed, NULL), 0);
    assert_true(changed);
    assert_string_not_equal(cert.p, authority_server_cert(a).p);
    assert_true(str_eq(authority_ca(a), buf_view(&first)));
    assert_int_equal(authority_turn(a, now_ms + 3000 * DAY_MS, &changed, NULL), 0); /* its last two years */
    assert_true(changed && authority_ca(a).n > first.n);
    /* Who was given the old certificate of the CA trusts what the new one signs. */
    assert_int_equal(check(buf_view(&first), authority_server_cert(a), authority_server_key(a)), 0);
    authority_free(a);
    a = open_at(now_ms + 9000 * DAY_MS, names); /* nobody was here for years */
    assert_int_equal(check(authority_ca(a), authority_server_cert(a), authority_server_key(a)), 0);
    assert_int_equal(check(buf_view(&first), authority_server_cert(a), authority_server_key(a)), 0);
    authority_free(a);
}

static void rotates(void **state)
{
    struct authority *a = open_at(now_ms, names);
    autobuf first = { 0 }, cert = { 0 };
    autosecret key = { 0 };

    (void)state;
    buf_str(&first, authority_ca(a));
    assert_int_equal(
        authority_issue(a, &(struct certificate_spec){ .common_name = STR("ann"), .now_ms = now_ms, .life_ms = DAY_MS },
                        &cert, &key, NULL),
        0);
    assert_int_equal(authority_rotate(a, true, now_ms, NULL), 0);
    assert_int_equal(check(authority_ca(a), authority_server_cert(a), authority_server_key(a)), 0);
    assert_int_equal(check(buf_view(&first), authority_server_cert(a), authority_server_key(a)), -1);
    assert_true(str_has(authority_ca(a), buf_view(&first))); /* ann is still known */
    assert_int_equal(authority_rotate(a, false, now_ms, NULL), 0);
    assert_false(str_has(authority_ca(a), buf_view(&first)));
    authority_free(a);
}

static void damage_is_told(void **state)
{
    struct authority_options opt = { dir, names, now_ms };
    struct authority *a = open_at(now_ms, names), *other;
    autobuf ca = { 0 };
    struct err e;

    (void)state;
    authority_free(a);
    assert_int_equal(secret_file_read(dir, "ca.pem", &ca, NULL, &e), 0);
    for (size_t cut = 0; cut < ca.n; cut += 37) { /* a file that was torn */
        assert_int_equal(secret_file_write(dir, "ca.pem", str_sub(buf_view(&ca), 0, cut), &e), 0);
        assert_int_equal(authority_open(&opt, &other, &e), -1);
        assert_non_null(strstr(e.text, "ca.pem"));
    }
    assert_int_equal(secret_file_write(dir, "ca.pem", buf_view(&ca), &e), 0);
    assert_int_equal(fchmodat(dir, "ca.pem", 0644, 0), 0);
    assert_int_equal(authority_open(&opt, &other, &e), -1);
    assert_int_equal(e.code, ERR_FORBIDDEN);
    assert_int_equal(fchmodat(dir, "ca.pem", 0600, 0), 0);
    assert_int_equal(secret_file_write(dir, "server.pem", STR("nonsense"), &e), 0); /* this one can be made again */
    authority_free(open_at(now_ms, names));
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(secret_dir_open(path, &(int){ 0 }, &e), -1);
    assert_int_equal(e.code, ERR_FORBIDDEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(is_kept, begin, end),
        cmocka_unit_test_setup_teardown(renews, begin, end),
        cmocka_unit_test_setup_teardown(rotates, begin, end),
        cmocka_unit_test_setup_teardown(damage_is_told, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
