/* account.c - tests: who a ServiceAccount's token is, and how long it is one */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "auth/account.h"

#include "pki/jwt.h"
#include "auth/test/place.h"

static struct accounts *accounts;

static int begin(void **state)
{
    struct err e;

    if (place_begin(state) < 0)
        return -1;
    put("{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'ns'}}");
    put("{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'name':'bot','namespace':'ns'}}");
    put("{'apiVersion':'v1','kind':'Secret','metadata':{'name':'s','namespace':'ns'}}");
    put("{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p','namespace':'ns'},"
        "'spec':{'serviceAccountName':'bot','containers':[{'name':'c'}]}}");
    put("{'apiVersion':'v1','kind':'Pod','metadata':{'name':'other','namespace':'ns'},"
        "'spec':{'containers':[{'name':'c'}]}}");
    return accounts_open(&(struct accounts_options){ here.dir, here.store, NULL }, &accounts, &e);
}

static int end(void **state)
{
    accounts_free(accounts);
    return place_end(state);
}

static struct json *ask(const char *spec, struct err *e)
{
    struct json *answer = NULL, *request = parse("{'apiVersion':'authentication.k8s.io/v1','kind':'TokenRequest'}");

    json_set(request, "spec", parse(spec));
    return accounts_request(accounts, &here.arena, &(struct account_request){ STR("ns"), STR("bot"), request, now_ms },
                            &answer, e) == 0
               ? answer
               : NULL;
}

static struct str token_for(const char *spec)
{
    struct err e;
    struct json *answer = ask(spec, &e);

    if (!answer)
        fail_msg("%s: %s", spec, e.text);
    return json_member_text(json_get(answer, "status"), "token");
}

static bool is_bot(struct str token, int64_t at_ms)
{
    struct identity who;

    return accounts_identify(accounts, &here.arena, &(struct account_token){ token, at_ms }, &who, NULL) &&
           str_is(who.user, "system:serviceaccount:ns:bot");
}

static void delete (const char *kind, const char *name)
{
    struct err e;

    if (store_delete(here.store, &(struct object_key){ type_by_kind(STR("v1"), str_of(kind)), STR("ns"), str_of(name) },
                     &(struct store_delete_options){ .grace_s = 0 }, NULL, &e) < 0)
        fail_msg("%s", e.text);
}

static void says_who(void **state)
{
    struct json *answer = ask("{'boundObjectRef':{'kind':'Pod','apiVersion':'v1','name':'p'}}", NULL);
    struct identity who;

    (void)state;
    assert_string_equal(print(json_find(answer, "spec", "expirationSeconds", NULL)), "3600");
    assert_string_equal(print(json_find(answer, "status", "expirationTimestamp", NULL)), "\"2027-01-15T09:00:00Z\"");
    assert_true(accounts_identify(
        accounts, &here.arena, &(struct account_token){ json_member_text(json_get(answer, "status"), "token"), now_ms },
        &who, NULL));
    assert_int_equal(who.n_groups, 3);
    assert_true(identity_has_group(&who, STR("system:serviceaccounts:ns")));
    assert_true(identity_has_group(&who, STR("system:authenticated")));
    assert_int_equal(who.uid.n, 36);
    assert_int_equal(who.n_extra, 3);
    assert_true(str_is(who.extra[1].values[0], "p"));
}

static void ends_in_time(void **state)
{
    struct str token = token_for("{'expirationSeconds':600}");

    (void)state;
    assert_true(is_bot(token, now_ms));
    assert_true(is_bot(token, now_ms + 599 * 1000));
    assert_false(is_bot(token, now_ms + 600 * 1000)); /* no grace: who made it has the same clock */
    assert_true(is_bot(token, now_ms - 60 * 1000));   /* a clock that was set back a little */
    assert_false(is_bot(token, now_ms - 61 * 1000));
}

static void ends_with_what_it_is_bound_to(void **state)
{
    struct str plain = token_for("{}");
    struct str secret = token_for("{'boundObjectRef':{'kind':'Secret','apiVersion':'v1','name':'s'}}");
    struct str pod = token_for("{'boundObjectRef':{'kind':'Pod','apiVersion':'v1','name':'p'}}");

    (void)state;
    assert_true(is_bot(secret, now_ms) && is_bot(pod, now_ms));
    delete ("Secret", "s");
    assert_false(is_bot(secret, now_ms));
    put("{'apiVersion':'v1','kind':'Secret','metadata':{'name':'s','namespace':'ns'}}");
    assert_false(is_bot(secret, now_ms)); /* another one of that name */
    delete ("Pod", "p");
    assert_false(is_bot(pod, now_ms));
    assert_true(is_bot(plain, now_ms));
    delete ("ServiceAccount", "bot");
    put("{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'name':'bot','namespace':'ns'}}");
    assert_false(is_bot(plain, now_ms));
}

static void audiences(void **state)
{
    struct str token = token_for("{'audiences':['vault','x']}");
    struct str asked[] = { STR("x"), STR("y") };
    struct account_audiences got;
    struct identity who;

    (void)state;
    assert_false(is_bot(token, now_ms)); /* it is for others */
    assert_true(
        accounts_identify(accounts, &here.arena, &(struct account_token){ token, now_ms, { asked, 2 } }, &who, &got));
    assert_int_equal(got.n, 1);
    assert_true(str_is(got.v[0], "x"));
    assert_false(accounts_identify(accounts, &here.arena, &(struct account_token){ token, now_ms, { asked + 1, 1 } },
                                   &who, &got));
}

static void what_cannot_be_had(void **state)
{
    static const struct {
        const char *spec, *want;
        enum err_code code;
    } cases[] = {
        { "{'expirationSeconds':599}", "spec.expirationSeconds", ERR_INVALID },
        { "{'expirationSeconds':-1}", "spec.expirationSeconds", ERR_INVALID },
        { "{'expirationSeconds':'x'}", "spec.expirationSeconds", ERR_INVALID },
        { "{'expirationSeconds':4294967297}", "spec.expirationSeconds", ERR_INVALID },
        { "{'boundObjectRef':{'kind':'Pod','apiVersion':'v1','name':'nobody'}}", "not found", ERR_NOT_FOUND },
        { "{'boundObjectRef':{'kind':'Pod','apiVersion':'v1','name':'p','uid':'1'}}", "uid", ERR_CONFLICT },
        { "{'boundObjectRef':{'kind':'Pod','apiVersion':'v1','name':'other'}}", "another ServiceAccount", ERR_INVALID },
        { "{'boundObjectRef':{'kind':'ConfigMap','apiVersion':'v1','name':'p'}}", "boundObjectRef", ERR_SYNTAX },
        { "{'boundObjectRef':{'kind':'Pod','apiVersion':'v1'}}", "not found", ERR_NOT_FOUND },
    };
    struct json *answer;
    struct err e;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (ask(cases[i].spec, &e))
            fail_msg("%s was given", cases[i].spec);
        if (e.code != cases[i].code || !strstr(e.text, cases[i].want))
            fail_msg("%s: %s", cases[i].spec, e.text);
    }
    assert_int_equal(
        accounts_request(accounts, &here.arena,
                         &(struct account_request){ STR("ns"), STR("nobody"), json_object(&here.arena), now_ms },
                         &answer, &e),
        -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void keys_are_rotated(void **state)
{
    struct str old = token_for("{}"), fresh;
    struct accounts *again;
    struct err e;

    (void)state;
    assert_int_equal(accounts_rotate(accounts, true, &e), 0);
    fresh = token_for("{}");
    assert_true(is_bot(old, now_ms) && is_bot(fresh, now_ms));
    assert_int_equal(json_count(json_get(accounts_keys(accounts, &here.arena), "keys")), 2);
    assert_int_equal(accounts_open(&(struct accounts_options){ here.dir, here.store, NULL }, &again, &e), 0);
    accounts_free(accounts);
    accounts = again; /* as after a restart */
    assert_true(is_bot(old, now_ms) && is_bot(fresh, now_ms));
    for (int i = 0; i < 3; i++)
        assert_int_equal(accounts_rotate(accounts, true, &e), 0);
    assert_true(!is_bot(old, now_ms) && is_bot(fresh, now_ms));
    assert_int_equal(accounts_rotate(accounts, false, &e), 0);
    assert_false(is_bot(fresh, now_ms));
}

/* Claims that are signed by us but say something else: another issuer's or a former version's. */
static void strange_claims(void **state)
{
    static const char *const claims[] = {
        "{}",
        "{'iss':'x','sub':'system:serviceaccount:ns:bot','aud':'%s','exp':1900000000,'nbf':1}",
        "{'iss':'%s','sub':'system:masters','aud':'%s','exp':1900000000,'nbf':1}",
        "{'iss':'%s','sub':'system:serviceaccount:ns:bot','aud':'%s','exp':1900000000,'nbf':1}",
        "{'iss':'%s','sub':'system:serviceaccount:ns:bot','aud':'%s','exp':'1900000000','nbf':1,'kubernetes.io':{}}",
        "{'iss':'%s','sub':'system:serviceaccount:ns:bot','aud':'%s','nbf':1,'kubernetes.io':{'namespace':'ns',"
        "'serviceaccount':{'name':'bot'}}}",
        "{'iss':'%s','sub':'system:serviceaccount:ns:bot','aud':'%s','exp':1900000000,'nbf':1,"
        "'kubernetes.io':{'namespace':'kube-system','serviceaccount':{'name':'bot'}}}",
        "{'iss':'%s','sub':'system:serviceaccount:ns:bot:x','aud':'%s','exp':1900000000,'nbf':1,"
        "'kubernetes.io':{'namespace':'ns','serviceaccount':{'name':'bot:x'}}}",
    };
    static const char issuer[] = "https://kubernetes.default.svc.cluster.local";
    autobuf pem = { 0 };
    struct jwt_key *key;

    (void)state;
    assert_int_equal(secret_file_read(here.dir, "account-keys.pem", &pem, NULL, NULL), 0);
    assert_int_equal(jwt_key_read(buf_view(&pem), &key, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(claims); i++) {
        autobuf token = { 0 };
        char text[600];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        (void)snprintf(text, sizeof(text), claims[i], issuer, issuer);
#pragma GCC diagnostic pop
        assert_int_equal(jwt_sign(key, parse(text), &token, NULL), 0);
        if (is_bot(buf_view(&token), now_ms))
            fail_msg("believed: %s", text);
    }
    jwt_key_free(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(says_who, begin, end),
        cmocka_unit_test_setup_teardown(ends_in_time, begin, end),
        cmocka_unit_test_setup_teardown(ends_with_what_it_is_bound_to, begin, end),
        cmocka_unit_test_setup_teardown(audiences, begin, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_had, begin, end),
        cmocka_unit_test_setup_teardown(keys_are_rotated, begin, end),
        cmocka_unit_test_setup_teardown(strange_claims, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
