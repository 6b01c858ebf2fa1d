/* err.c - tests of codes, wrapping and cutting */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/err.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "base/util.h"

static void set_makes_code_and_sentence(void **state)
{
    struct err e;

    assert_int_equal(err_set(&e, ERR_CONFLICT, "job %s: revision %d", "a", 7), -1);
    assert_int_equal(e.code, ERR_CONFLICT);
    assert_string_equal(e.text, "job a: revision 7");
}

static void wrap_adds_words_in_front(void **state)
{
    struct err e;

    (void)err_set(&e, ERR_SYNTAX, "expected ':'");
    assert_int_equal(err_wrap(&e, "line %d", 3), -1);
    assert_int_equal(err_wrap(&e, "request body"), -1);
    assert_int_equal(e.code, ERR_SYNTAX);
    assert_string_equal(e.text, "request body: line 3: expected ':'");
}

static void wrap_may_quote_the_old_text(void **state)
{
    struct err e;

    (void)err_set(&e, ERR_IO, "inner");
    (void)err_wrap(&e, "saw %s", e.text);
    assert_string_equal(e.text, "saw inner: inner");
}

static void nobody_needs_to_want_the_error(void **state)
{
    assert_int_equal(err_set(NULL, ERR_IO, "x"), -1);
    assert_int_equal(err_errno(NULL, "x"), -1);
    assert_int_equal(err_wrap(NULL, "x"), -1);
}

static void errno_becomes_a_code(void **state)
{
    static const struct {
        int no;
        enum err_code code;
    } cases[] = {
        { ENOENT, ERR_NOT_FOUND }, { ENOTDIR, ERR_NOT_FOUND }, { EEXIST, ERR_EXISTS }, { EACCES, ERR_FORBIDDEN },
        { EPERM, ERR_FORBIDDEN },  { EFBIG, ERR_TOO_BIG },     { EIO, ERR_IO },        { ENOSPC, ERR_IO },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err e;

        errno = cases[i].no;
        assert_int_equal(err_errno(&e, "open %s", "f"), -1);
        assert_int_equal(e.code, cases[i].code);
        assert_true(str_starts(str_of(e.text), STR("open f: ")));
        assert_true(str_ends(str_of(e.text), str_of(strerror(cases[i].no))));
    }
}

static void every_code_has_a_name(void **state)
{
    for (int c = 0; c < ERR_CODE_MAX; c++)
        assert_non_null(err_code_name((enum err_code)c));
    assert_string_equal(err_code_name(ERR_NOT_FOUND), "NotFound");
    assert_string_equal(err_code_name(ERR_CODE_MAX), "InternalError");
}

static void long_text_is_cut_visibly(void **state)
{
    char longer[2000];
    struct err e;

    for (size_t n = 490; n < 510; n++) {
        memset(longer, 'x', n);
        longer[n] = '\0';
        (void)err_set(&e, ERR_INVALID, "%s", longer);
        assert_int_equal(strlen(e.text), MIN_OF(n, sizeof(e.text) - 1));
        assert_int_equal(str_ends(str_of(e.text), STR("x...")), n > sizeof(e.text) - 1);
    }
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    (void)err_set(&e, ERR_INVALID, "short");
    (void)err_wrap(&e, "%s", longer);
    assert_true(str_ends(str_of(e.text), STR("x...")));
}

static void a_cut_leaves_whole_characters(void **state)
{
    char text[700];

    for (size_t shift = 0; shift < 4; shift++) {
        struct err e;
        size_t n = shift;

        memset(text, 'x', shift);
        for (; n + 4 < sizeof(text); n += 4)
            memcpy(text + n, "\xf0\x9f\x8c\x8b", 4);
        text[n] = '\0';
        (void)err_set(&e, ERR_INVALID, "%s", text);
        assert_true(str_is_utf8(str_of(e.text)));
        assert_true(str_ends(str_of(e.text), STR("...")));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_makes_code_and_sentence), cmocka_unit_test(wrap_adds_words_in_front),
        cmocka_unit_test(wrap_may_quote_the_old_text), cmocka_unit_test(nobody_needs_to_want_the_error),
        cmocka_unit_test(errno_becomes_a_code),        cmocka_unit_test(every_code_has_a_name),
        cmocka_unit_test(long_text_is_cut_visibly),    cmocka_unit_test(a_cut_leaves_whole_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
