/* seal.c - sealed records: only the right key opens them, unchanged and where they belong */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "store/seal.h"

#include "base/util.h"

static struct seal_keys *keys;
static struct str id;

static int set_up(void **state)
{
    static const char text[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    char path[] = "/tmp/pumice-seal-XXXXXX";
    autoclose int fd = mkstemp(path);
    const char *files[] = { path, NULL };

    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    assert_int_equal(seal_keys_load(files, &keys, NULL), 0);
    id = str_of(seal_key_id(keys));
    return unlink(path);
}

static int tear_down(void **state)
{
    seal_keys_free(keys);
    return 0;
}

static void there_and_back(void **state)
{
    for (size_t n = 0; n < 100; n++) {
        autobuf text = { 0 }, sealed = { 0 }, again = { 0 }, opened = { 0 };

        buf_repeat(&text, 'x', n);
        seal(keys, STR("7 a/b"), buf_view(&text), &sealed);
        seal(keys, STR("7 a/b"), buf_view(&text), &again);
        assert_int_equal(sealed.n, n + 28);
        assert_true(memcmp(sealed.p, again.p, sealed.n) != 0); /* never the same twice */
        assert_int_equal(unseal(keys, &(struct sealed){ id, STR("7 a/b"), buf_view(&sealed) }, &opened, NULL), 0);
        assert_true(str_eq(buf_view(&opened), buf_view(&text)));
    }
}

static void changed_records(void **state)
{
    autobuf sealed = { 0 }, out = { 0 };
    struct err e = { 0 };

    seal(keys, STR("7 a/b"), STR("text"), &sealed);
    for (size_t i = 0; i < sealed.n; i++) {
        sealed.p[i] ^= 1;
        assert_int_equal(unseal(keys, &(struct sealed){ id, STR("7 a/b"), buf_view(&sealed) }, &out, &e), -1);
        assert_int_equal(e.code, ERR_IO);
        sealed.p[i] ^= 1;
        assert_int_equal(unseal(keys, &(struct sealed){ id, STR("7 a/b"), (struct str){ sealed.p, i } }, &out, &e), -1);
    }
    assert_int_equal(unseal(keys, &(struct sealed){ id, STR("8 a/b"), buf_view(&sealed) }, &out, &e),
                     -1); /* of another revision */
    assert_int_equal(e.code, ERR_IO);
    assert_int_equal(unseal(keys, &(struct sealed){ STR("0123"), STR("7 a/b"), buf_view(&sealed) }, &out, &e), -1);
    assert_int_equal(e.code, ERR_FORBIDDEN);
    assert_int_equal(unseal(NULL, &(struct sealed){ id, STR("7 a/b"), buf_view(&sealed) }, &out, &e), -1);
    assert_int_equal(e.code, ERR_FORBIDDEN);
    assert_int_equal(out.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(there_and_back), cmocka_unit_test(changed_records) };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
