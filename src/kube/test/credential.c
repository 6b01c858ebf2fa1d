/* credential.c - tests: tokens that are replaced, plugins that expire, fail, hang and lie */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/util.h"
#include "pki/certificate.h"
#include "kube/credential.h"
#include "kube/exec_plugin.h"

#include <poll.h>
#include <sys/stat.h>

#define API "client.authentication.k8s.io/v1"

static char file[64], script[64];
static struct clock_manual watch;

static void put(const char *path, const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static enum credential_state get(struct credential *c, struct credential_now *now, struct err *e)
{
    enum credential_state state;

    *e = (struct err){ 0 };
    while ((state = credential_get(c, now, e)) == CREDENTIAL_BUSY) {
        struct pollfd fd = { credential_fd(c), POLLIN, 0 };

        assert_true(fd.fd >= 0);
        assert_int_equal(poll(&fd, 1, 30000), 1);
        credential_turn(c);
    }
    return state;
}

static void a_token_stays(void **state)
{
    struct kube_config config = { .token = STR("abc") };
    struct credential *c = credential_new(&config, &watch.clock);
    struct credential_now now;
    struct err e;

    (void)state;
    assert_int_equal(get(c, &now, &e), CREDENTIAL_READY);
    assert_true(str_is(now.token, "abc"));
    assert_false(credential_refused(c, now.generation));
    assert_int_equal(credential_fd(c), -1);
    assert_true(credential_due_ms(c) == INT64_MAX);
    credential_free(c);
}

static void a_file_is_read_again(void **state)
{
    struct kube_config config = { .token_file = str_of(file) };
    struct credential *c = credential_new(&config, &watch.clock);
    struct credential_now now;
    uint64_t first;
    struct err e;

    (void)state;
    (void)unlink(file);
    assert_int_equal(get(c, &now, &e), CREDENTIAL_FAILED);
    assert_non_null(strstr(e.text, file));
    put(file, " \n", 0600);
    assert_int_equal(get(c, &now, &e), CREDENTIAL_FAILED);
    assert_non_null(strstr(e.text, "is empty"));
    put(file, "one\ntwo\n", 0600);
    assert_int_equal(get(c, &now, &e), CREDENTIAL_FAILED);
    assert_null(strstr(e.text, "two"));
    put(file, "one\n", 0600);
    assert_int_equal(get(c, &now, &e), CREDENTIAL_READY);
    assert_true(str_is(now.token, "one"));
    first = now.generation;
    put(file, "two\n", 0600);
    clock_manual_advance(&watch, 59000);
    get(c, &now, &e);
    assert_true(str_is(now.token, "one"));
    clock_manual_advance(&watch, 2000);
    get(c, &now, &e);
    assert_true(str_is(now.token, "two"));
    assert_true(now.generation != first);
    put(file, "three\n", 0600);
    assert_true(credential_refused(c, first)); /* an old one: nothing is wrong with the new */
    get(c, &now, &e);
    assert_true(str_is(now.token, "two"));
    assert_true(credential_refused(c, now.generation));
    get(c, &now, &e);
    assert_true(str_is(now.token, "three"));
    (void)unlink(file); /* for a moment, while it is replaced */
    clock_manual_advance(&watch, 61000);
    assert_int_equal(get(c, &now, &e), CREDENTIAL_READY);
    assert_true(str_is(now.token, "three"));
    credential_free(c);
}

static void put_pair(const char *cert, const char *key, const struct certificate_set *set, bool puts_key)
{
    put(cert, set->cert.p, 0600);
    if (puts_key)
        put(key, set->key.p, 0600);
}

static void a_certificate_is_read_again(void **state)
{
    char cert[80], key[80];
    struct kube_config config = { .token = STR("t") };
    autocertificates one = { .title = "one" }, two = { .title = "two" };
    const char *names[] = { "n", NULL };
    struct credential *c;
    struct credential_now now;
    uint64_t first;
    struct err e;

    (void)state;
    (void)snprintf(cert, sizeof(cert), "%s.crt", file);
    (void)snprintf(key, sizeof(key), "%s.key", file);
    config.tls.cert_file = str_of(cert);
    config.tls.key_file = str_of(key);
    assert_int_equal(certificate_make(&one, names, clock_now_ms(&clock_real), 86400000, NULL), 0);
    assert_int_equal(certificate_make(&two, names, clock_now_ms(&clock_real), 86400000, NULL), 0);
    c = credential_new(&config, &watch.clock);
    assert_int_equal(get(c, &now, &e), CREDENTIAL_READY); /* not there: who connects says so */
    assert_true(now.cert_pem.n == 0 && str_is(now.token, "t"));
    put_pair(cert, key, &one, true);
    get(c, &now, &e);
    assert_true(str_eq(now.cert_pem, buf_view(&one.cert)) && str_eq(now.key_pem, buf_view(&one.key)));
    assert_true(str_is(now.token, "t"));
    first = now.generation;
    put_pair(cert, key, &two, false); /* half of it: nothing that fits */
    clock_manual_advance(&watch, 61000);
    get(c, &now, &e);
    assert_true(str_eq(now.cert_pem, buf_view(&one.cert)) && now.generation == first);
    put_pair(cert, key, &two, true);
    clock_manual_advance(&watch, 1001);
    get(c, &now, &e);
    assert_true(str_eq(now.cert_pem, buf_view(&two.cert)) && str_eq(now.key_pem, buf_view(&two.key)));
    assert_true(now.generation != first);
    put_pair(cert, key, &one, true); /* refused: looked at without waiting */
    assert_true(credential_refused(c, now.generation));
    get(c, &now, &e);
    assert_true(str_eq(now.cert_pem, buf_view(&one.cert)));
    (void)unlink(cert);
    clock_manual_advance(&watch, 61000);
    assert_int_equal(get(c, &now, &e), CREDENTIAL_READY);
    assert_true(str_eq(now.cert_pem, buf_view(&one.cert)));
    (void)unlink(key);
    credential_free(c);
}

/* Prints a token with the number of the run, which expires in an hour of the tests' clock. */
static const char counting[] = "#!/bin/sh\n"
                               "n=$(cat \"$COUNT\" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > \"$COUNT\"\n"
                               "case $KUBERNETES_EXEC_INFO in *ExecCredential*) ;; *) exit 9 ;; esac\n"
                               "printf '{\"apiVersion\": \"" API
                               "\", \"kind\": \"ExecCredential\", \"status\": {\"token\": \"t%s-%s\", "
                               "\"expirationTimestamp\": \"2023-11-14T23:13:20Z\"}}' $n $1\n";

static void a_plugin_is_run_before_it_expires(void **state)
{
    struct str arg = STR("x");
    struct exec_env env[] = { { STR("COUNT"), str_of(file) } };
    struct kube_exec x = { .command = str_of(script), .api_version = STR(API), .args = { &arg, 1 }, .env = { env, 1 } };
    struct kube_config config = { .exec = &x };
    struct credential *c = credential_new(&config, &watch.clock);
    struct credential_now now;
    struct err e;

    (void)state;
    (void)unlink(file);
    put(script, counting, 0700);
    clock_manual_init(&watch, 1700000000000); /* 2023-11-14T22:13:20Z */
    watch.mono_us = 0;
    assert_int_equal(get(c, &now, &e), CREDENTIAL_READY);
    assert_true(str_is(now.token, "t1-x"));
    clock_manual_advance(&watch, 3580000);
    assert_int_equal(get(c, &now, &e), CREDENTIAL_READY);
    assert_true(str_is(now.token, "t1-x"));
    clock_manual_advance(&watch, 12000); /* 8 s left: the old one is used while the new one is made */
    assert_int_equal(get(c, &now, &e), CREDENTIAL_READY);
    assert_true(str_is(now.token, "t1-x"));
    assert_true(credential_fd(c) >= 0);
    clock_manual_advance(&watch, 9000);                    /* and not after its end */
    assert_int_equal(get(c, &now, &e), CREDENTIAL_FAILED); /* what came had expired as well */
    credential_free(c);
}

static void a_refused_one_is_replaced_once(void **state)
{
    struct exec_env env[] = { { STR("COUNT"), str_of(file) } };
    struct kube_exec x = { .command = str_of(script), .api_version = STR(API), .env = { env, 1 } };
    struct kube_config config = { .exec = &x };
    struct credential *c = credential_new(&config, &watch.clock);
    struct credential_now now;
    struct err e;

    (void)state;
    (void)unlink(file);
    put(script, counting, 0700);
    clock_manual_init(&watch, 1700000000000);
    assert_int_equal(get(c, &now, &e), CREDENTIAL_READY);
    assert_true(credential_refused(c, now.generation));
    assert_int_equal(get(c, &now, &e), CREDENTIAL_FAILED); /* not at once: it has just been made */
    assert_non_null(strstr(e.text, "the server rejected the credentials from credential plugin"));
    clock_manual_advance(&watch, 1000);
    assert_int_equal(get(c, &now, &e), CREDENTIAL_READY);
    assert_true(str_is(now.token, "t2-"));
    credential_free(c);
}

static void failures_are_told_and_tried_again(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        { "#!/bin/sh\necho first >&2; echo 'not logged in' >&2; exit 3\n", "exited with status 3: \"not logged in\"" },
        { "#!/bin/sh\nkill -9 $$\n", "signal 9" },
        { "#!/nowhere\n", "status 127" },
        { "#!/bin/sh\necho hello\n", "is not JSON" },
        { "#!/bin/sh\nhead -c 2000000 /dev/zero\n", "more than" },
    };
    struct kube_exec x = { .command = str_of(script), .api_version = STR(API) };
    struct kube_config config = { .exec = &x };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct credential *c = credential_new(&config, &watch.clock);
        struct credential_now now;
        struct err e;

        put(script, rows[i].text, 0700);
        assert_int_equal(get(c, &now, &e), CREDENTIAL_FAILED);
        if (!strstr(e.text, rows[i].says) || !strstr(e.text, script))
            fail_msg("want: %s\n got: %s", rows[i].says, e.text);
        put(script,
            "#!/bin/sh\nprintf '{\"apiVersion\": \"" API "\", \"kind\": \"ExecCredential\", \"status\": "
            "{\"token\": \"t\"}}'\n",
            0700);
        assert_int_equal(credential_get(c, &now, &e), CREDENTIAL_FAILED); /* not yet */
        clock_manual_advance(&watch, 1000);
        assert_int_equal(get(c, &now, &e), CREDENTIAL_READY);
        credential_free(c);
    }
}

static void a_plugin_that_hangs_is_ended(void **state)
{
    struct kube_exec x = { .command = str_of(script), .api_version = STR(API) }, missing = x, picky = x;
    struct kube_config config = { .exec = &x };
    struct credential *c = credential_new(&config, &watch.clock);
    struct credential_now now;
    struct err e = { 0 };

    (void)state;
    put(script, "#!/bin/sh\nexec sleep 1000\n", 0700);
    assert_int_equal(credential_get(c, &now, &e), CREDENTIAL_BUSY);
    credential_turn(c);
    assert_int_equal(credential_get(c, &now, &e), CREDENTIAL_BUSY);
    clock_manual_advance(&watch, 60000);
    assert_true(credential_due_ms(c) <= clock_mono_ms(&watch.clock));
    credential_turn(c);
    assert_int_equal(credential_get(c, &now, &e), CREDENTIAL_FAILED);
    assert_non_null(strstr(e.text, "timed out"));
    clock_manual_advance(&watch, 60000);
    assert_int_equal(credential_get(c, &now, &e), CREDENTIAL_BUSY);
    credential_free(c); /* ends it too */
    missing.command = STR("pumice-no-such-plugin");
    missing.hint = STR("install it");
    config.exec = &missing;
    c = credential_new(&config, &watch.clock);
    assert_int_equal(credential_get(c, &now, &e), CREDENTIAL_FAILED);
    assert_non_null(strstr(e.text, "pumice-no-such-plugin not found; install it"));
    credential_free(c);
    picky.mode = EXEC_ALWAYS;
    config.exec = &picky;
    c = credential_new(&config, &watch.clock);
    if (!isatty(0)) {
        assert_int_equal(credential_get(c, &now, &e), CREDENTIAL_FAILED);
        assert_non_null(strstr(e.text, "needs a terminal"));
    }
    credential_free(c);
}

static void reads_what_plugins_say(void **state)
{
#define SAYS(status) "{\"apiVersion\":\"" API "\",\"kind\":\"ExecCredential\",\"status\":" status "}"
    static const struct {
        const char *text, *says; /* NULL: it is fine */
    } rows[] = {
        { SAYS("{\"token\":\"t\"}"), NULL },
        { SAYS("{\"clientCertificateData\":\"-----BEGIN C\",\"clientKeyData\":\"-----BEGIN K\"}"), NULL },
        { "[]", "kind: must be ExecCredential" },
        { "{\"kind\":\"ExecCredential\"}", "apiVersion: must be " API },
        { SAYS("{}"), "status: has neither" },
        { SAYS("null"), "status: has neither" },
        { SAYS("{\"token\":7}"), "status: has neither" },
        { SAYS("{\"token\":\"a b\"}"), "status.token: has blanks" },
        { SAYS("{\"clientKeyData\":\"-----BEGIN K\"}"), "status.clientCertificateData: is missing" },
        { SAYS("{\"clientCertificateData\":\"-----BEGIN C\"}"), "status.clientKeyData: is missing" },
        { SAYS("{\"clientCertificateData\":\"x\",\"clientKeyData\":\"-----BEGIN K\"}"),
          "status.clientCertificateData: is not PEM" },
        { SAYS("{\"token\":\"t\",\"expirationTimestamp\":\"soon\"}"), "status.expirationTimestamp" },
    };
    struct kube_exec x = { .api_version = STR(API) };
    autoarena a = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct exec_credential got;
        struct err e = { 0 };
        int rc = exec_plugin_parse(&a, &x, str_of(rows[i].text), &got, &e);

        if (rows[i].says ? rc == 0 || !strstr(e.text, rows[i].says) : rc < 0)
            fail_msg("%s: %s", rows[i].text, e.text);
    }
}

static int set_up(void **state)
{
    (void)state;
    clock_manual_init(&watch, 1700000000000);
    (void)snprintf(file, sizeof(file), "/tmp/pumice-token-%d", (int)getpid());
    (void)snprintf(script, sizeof(script), "/tmp/pumice-plugin-%d", (int)getpid());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(file);
    return unlink(script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_stays),
        cmocka_unit_test(a_file_is_read_again),
        cmocka_unit_test(a_certificate_is_read_again),
        cmocka_unit_test(a_plugin_is_run_before_it_expires),
        cmocka_unit_test(a_refused_one_is_replaced_once),
        cmocka_unit_test(failures_are_told_and_tried_again),
        cmocka_unit_test(a_plugin_that_hangs_is_ended),
        cmocka_unit_test(reads_what_plugins_say),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
