/* audit.c - tests: what is written, what never is, and a disk that is full */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "auth/audit.h"

#include "auth/test/place.h"
#include "base/log.h"
#include "os/io.h"

#include <signal.h>
#include <sys/resource.h>

static char path[200];

static int begin(void **state)
{
    (void)log_setup((struct log_config){ .fd = -1, .level = LOG_LEVEL_ERROR });
    if (place_begin(state) < 0)
        return -1;
    (void)snprintf(path, sizeof(path), "%s/audit.log", here.path);
    return 0;
}

static struct audit *open_log(size_t max, bool has_bodies)
{
    struct audit_options opt = { path, max, 2, has_bodies, &here.clock.clock };
    struct audit *a;
    struct err e;

    if (audit_open(&opt, &a, &e) < 0)
        fail_msg("%s", e.text);
    return a;
}

static const char *text_of(const char *file)
{
    autobuf b = { 0 };

    (void)file_read(AT_FDCWD, file, 0, 1 << 22, &b);
    return arena_cstr(&here.arena, buf_view(&b));
}

static void ask(struct audit *a, const char *verb, const char *resource, const char *subresource, const char *body)
{
    struct identity who = identity_make(&here.arena, STR("ann"), NULL, 0, STR(GROUP_AUTHENTICATED));
    struct rbac_question q = { .verb = str_of(verb),
                               .resource = str_of(resource),
                               .subresource = str_of(subresource),
                               .namespace = STR("ns"),
                               .name = STR("n") };

    audit_write(a, &(struct audit_event){ .id = STR("id-1"),
                                          .uri = STR("/api/v1/namespaces/ns/pods?watch=1&access_token=hush&limit=5"),
                                          .address = STR("10.0.0.1"),
                                          .agent = STR("kubectl \"x\"\n"),
                                          .who = &who,
                                          .question = &q,
                                          .version = STR("v1"),
                                          .status = 201,
                                          .is_allowed = true,
                                          .why = STR("RBAC: allowed"),
                                          .body = body ? parse(body) : NULL,
                                          .received_us = now_ms * 1000 });
}

static void lines(void **state)
{
    struct audit *a = open_log(0, false);
    struct stat st;

    (void)state;
    ask(a, "create", "pods", "", "{'spec':'body'}");
    assert_string_equal(text_of(path),
                        "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/"
                        "v1\",\"level\":\"Metadata\",\"auditID\":\"id-1\",\"stage\":\"ResponseComplete\","
                        "\"requestURI\":\"/api/v1/namespaces/ns/"
                        "pods?watch=1&access_token=-&limit=5\",\"verb\":\"create\",\"user\":{\"username\":\"ann\","
                        "\"groups\":[\"system:authenticated\"]},\"sourceIPs\":[\"10.0.0.1\"],\"userAgent\":\"kubectl "
                        "\\\"x\\\"\\n\",\"objectRef\":{\"resource\":"
                        "\"pods\",\"namespace\":\"ns\",\"name\":\"n\",\"apiVersion\":\"v1\"},\"responseStatus\":{"
                        "\"metadata\":{},\"code\":201},\"annotations\":{"
                        "\"authorization.k8s.io/decision\":\"allow\",\"authorization.k8s.io/reason\":\"RBAC: "
                        "allowed\"},\"requestReceivedTimestamp\":"
                        "\"2027-01-15T08:00:00.000000Z\",\"stageTimestamp\":\"2027-01-15T08:00:00.000000Z\"}\n");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    audit_write(a, &(struct audit_event){ .uri = STR("/x"), .status = 401, .is_started = true }); /* nobody was known */
    assert_non_null(strstr(text_of(path), "\"user\":{},"));
    audit_free(a);
}

static void bodies(void **state)
{
    static const struct {
        const char *verb, *resource, *subresource;
        bool want;
    } cases[] = {
        { "create", "pods", "", true },
        { "patch", "jobs", "", true },
        { "get", "pods", "", false },
        { "create", "secrets", "", false },
        { "update", "secrets", "", false },
        { "create", "serviceaccounts", "token", false },
        { "create", "tokenreviews", "", false },
        { "create", "configmaps", "", false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct audit *a = open_log(0, true);

        ask(a, cases[i].verb, cases[i].resource, cases[i].subresource, "{'data':'swordfish'}");
        audit_free(a);
        if ((strstr(text_of(path), "swordfish") != NULL) != cases[i].want)
            fail_msg("%s %s", cases[i].verb, cases[i].resource);
        assert_int_equal(unlink(path), 0);
    }
}

static void rotation(void **state)
{
    struct audit *a = open_log(3000, false);
    char old[220];
    size_t one;

    (void)state;
    ask(a, "create", "pods", "", NULL);
    one = strlen(text_of(path));
    for (int i = 1; i < 20; i++)
        ask(a, "create", "pods", "", NULL);
    assert_true(strlen(text_of(path)) <= 3000 && strlen(text_of(path)) % one == 0);
    for (int i = 1; i <= 3; i++) {
        (void)snprintf(old, sizeof(old), "%s.%d", path, i);
        assert_int_equal(access(old, F_OK), i <= 2 ? 0 : -1);
    }
    assert_int_equal(audit_stats(a).written, 20);
    assert_true(audit_stats(a).rotations >= 3);
    audit_free(a);
    a = open_log(3000, false); /* goes on where it was */
    ask(a, "create", "pods", "", NULL);
    assert_true(strlen(text_of(path)) % one == 0);
    audit_free(a);
}

/* As on a full disk: a file that cannot grow. */
static void full(void **state)
{
    struct audit *a = open_log(0, false);
    struct rlimit before, small;
    size_t one;

    (void)state;
    ask(a, "create", "pods", "", NULL);
    one = strlen(text_of(path));
    (void)getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = one * 3 / 2;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int i = 0; i < 5; i++)
        ask(a, "create", "pods", "", NULL);
    assert_int_equal(strlen(text_of(path)), one); /* no half line */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(audit_stats(a).lost >= 5);
    ask(a, "create", "pods", "", NULL);
    assert_non_null(strstr(text_of(path), "pumice/lost-events"));
    assert_true(strlen(text_of(path)) > 2 * one);
    for (const char *p = text_of(path); *p; p = strchr(p, '\n') + 1)
        assert_int_equal(*p, '{');
    audit_free(a);
}

static void no_plain_file(void **state)
{
    struct audit *a;
    struct err e;

    (void)state;
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_int_equal(audit_open(&(struct audit_options){ .path = path }, &a, &e), -1);
    assert_non_null(strstr(e.text, path));
    assert_int_equal(audit_open(&(struct audit_options){ .path = "/dev/null" }, &a, &e), -1);
    assert_int_equal(audit_open(&(struct audit_options){ .path = "/nowhere/at/all" }, &a, &e), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines, begin, place_end),
        cmocka_unit_test_setup_teardown(bodies, begin, place_end),
        cmocka_unit_test_setup_teardown(rotation, begin, place_end),
        cmocka_unit_test_setup_teardown(full, begin, place_end),
        cmocka_unit_test_setup_teardown(no_plain_file, begin, place_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
