/* jwt.c - tests: tokens are read back, and nothing else is a token */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "pki/jwt.h"

#include "auth/test/place.h"
#include "base/rand.h"

static struct jwt_key *keys[2];

static int begin(void **state)
{
    keys[0] = jwt_key_new(NULL);
    keys[1] = jwt_key_new(NULL);
    return place_begin(state);
}

static int end(void **state)
{
    jwt_key_free(keys[0]);
    jwt_key_free(keys[1]);
    return place_end(state);
}

static struct str token_of(const struct jwt_key *k, const char *claims)
{
    autobuf b = { 0 };

    assert_int_equal(jwt_sign(k, parse(claims), &b, NULL), 0);
    return arena_str(&here.arena, buf_view(&b));
}

static struct str coded(const char *text)
{
    autobuf b = { 0 };
    struct str s = arena_str(&here.arena, str_of(text));

    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '\'')
            ((char *)s.p)[i] = '"';
    base64url_print(&b, s);
    return arena_str(&here.arena, buf_view(&b));
}

static bool is_believed(struct str token)
{
    return jwt_verify(&here.arena, token, keys, 2) != NULL;
}

static void round_trip(void **state)
{
    struct str token = token_of(keys[1], "{'sub':'me','n':9007199254740993}");
    struct jwt_key *again;
    autobuf pem = { 0 };

    (void)state;
    assert_string_equal(print(jwt_verify(&here.arena, token, keys, 2)), "{\"sub\":\"me\",\"n\":9007199254740993}");
    assert_null(jwt_verify(&here.arena, token, keys, 1)); /* the key is not known any more */
    assert_int_equal(jwt_key_print(keys[1], &pem, NULL), 0);
    assert_int_equal(jwt_key_read(buf_view(&pem), &again, NULL), 0);
    assert_true(str_eq(jwt_key_id(again), jwt_key_id(keys[1])));
    assert_non_null(jwt_verify(&here.arena, token, &again, 1));
    jwt_key_free(again);
    assert_int_equal(jwt_key_read(STR("-----BEGIN PRIVATE KEY-----\nnonsense\n"), &again, NULL), -1);
    assert_non_null(strstr(print(jwt_key_public(&here.arena, keys[0])), "\"crv\":\"P-256\""));
}

/* The head of a token that is otherwise good is replaced: it is no longer the one that was signed, and its signature
 * must never be what decides how it is checked. */
static void other_heads(void **state)
{
    struct str good = token_of(keys[0], "{'sub':'me'}"), rest = good, head, claims, signature;
    const char *id = arena_cstr(&here.arena, jwt_key_id(keys[0]));
    const char *const heads[] = {
        "{'alg':'none','kid':'%s'}",
        "{'alg':'None','kid':'%s'}",
        "{'alg':'HS256','kid':'%s'}",
        "{'alg':'ES384','kid':'%s'}",
        "{'alg':'RS256','kid':'%s'}",
        "{'kid':'%s'}",
        "{'alg':'ES256'}",
        "{'alg':'ES256','kid':'other'}",
        "{'alg':'ES256','kid':''}",
        "{'alg':'ES256','kid':'%s','crit':['b64'],'b64':false}",
        "{'alg':'none','alg':'ES256','kid':'%s'}",
        "{'alg':['ES256'],'kid':'%s'}",
        "[]",
        "null",
        "{",
        "",
    };

    (void)state;
    assert_true(str_split(&rest, '.', &head) && str_split(&rest, '.', &claims));
    signature = rest;
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        char text[300];
        struct str other;
        struct str tries[5];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        (void)snprintf(text, sizeof(text), heads[i], id);
#pragma GCC diagnostic pop
        other = coded(text);
        tries[0] = arena_fmt(&here.arena, "%.*s.%.*s.%.*s", STR_ARG(other), STR_ARG(claims), STR_ARG(signature));
        tries[1] = arena_fmt(&here.arena, "%.*s.%.*s.", STR_ARG(other), STR_ARG(claims));
        tries[2] = arena_fmt(&here.arena, "%.*s.%.*s", STR_ARG(other), STR_ARG(claims));
        tries[3] = arena_fmt(&here.arena, "%.*s.%.*s.%.*s.", STR_ARG(other), STR_ARG(claims), STR_ARG(signature));
        tries[4] = arena_fmt(&here.arena, "%.*s..%.*s", STR_ARG(other), STR_ARG(signature));
        for (size_t k = 0; k < ARRAY_LEN(tries); k++)
            if (is_believed(tries[k]))
                fail_msg("believed: %s, form %zu", text, k);
    }
    assert_true(is_believed(good));
}

/* Whatever single byte is changed, cut or added. */
static void one_byte(void **state)
{
    struct str good = token_of(keys[0], "{'sub':'me'}");
    char *bad = (char *)arena_alloc(&here.arena, good.n + 2);
    static const char others[] = "A.=+/-_ \n\xff";

    (void)state;
    for (size_t i = 0; i < good.n; i++) {
        for (size_t k = 0; k < sizeof(others); k++) { /* NUL too */
            memcpy(bad, good.p, good.n);
            bad[i] = others[k];
            if (others[k] != good.p[i] && is_believed((struct str){ bad, good.n }))
                fail_msg("byte %zu as %02x", i, (unsigned char)others[k]);
        }
        assert_false(is_believed(str_sub(good, 0, i)));
        memcpy(bad, good.p, i);
        bad[i] = 'A';
        memcpy(bad + i + 1, good.p + i, good.n - i);
        assert_false(is_believed((struct str){ bad, good.n + 1 }));
    }
    memcpy(bad, good.p, good.n);
    bad[good.n] = '=';
    assert_false(is_believed((struct str){ bad, good.n + 1 }));
}

static void sizes(void **state)
{
    struct buf big = { 0 };
    struct json *claims = json_object(&here.arena);
    autobuf token = { 0 };
    struct err e;

    (void)state;
    buf_repeat(&big, 'x', JWT_MAX);
    json_set(claims, "pad", json_str(&here.arena, buf_view(&big)));
    assert_int_equal(jwt_sign(keys[0], claims, &token, &e), -1);
    assert_int_equal(e.code, ERR_TOO_BIG);
    assert_false(is_believed(buf_view(&big)));
    buf_reset(&big);
    buf_repeat(&big, '.', JWT_MAX);
    assert_false(is_believed(buf_view(&big)) || jwt_looks_like(buf_view(&big)));
    assert_false(is_believed(STR_NULL) || is_believed(STR("")) || is_believed(STR(".")) || is_believed(STR("..")));
    buf_done(&big);
}

static void base64url(void **state)
{
    struct rand r;

    (void)state;
    rand_seed(&r, 1);
    for (size_t n = 0; n < 200; n++) {
        char bytes[200];
        autobuf text = { 0 }, back = { 0 };

        rand_bytes(&r, bytes, n);
        base64url_print(&text, (struct str){ bytes, n });
        assert_int_equal(base64url_parse(buf_view(&text), &back), 0);
        assert_true(str_eq(buf_view(&back), (struct str){ bytes, n }));
    }
    static const char *const bad[] = { "A", "AAAAA", "AB", "AAB", "AA==", "A A", "AA+A", "AA/A", "AA\n" };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        autobuf b = { 0 };

        if (base64url_parse(str_of(bad[i]), &b) == 0)
            fail_msg("%s", bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(round_trip, begin, end),
        cmocka_unit_test_setup_teardown(other_heads, begin, end),
        cmocka_unit_test_setup_teardown(one_byte, begin, end),
        cmocka_unit_test_setup_teardown(sizes, begin, end),
        cmocka_unit_test_setup_teardown(base64url, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
