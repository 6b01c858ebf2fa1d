/* certificate.c - tests: made, checked, made anew by the same CA, and by another one beside it */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "pki/certificate.h"

#define DAY_MS (24LL * 3600 * 1000)

static const char *const names[] = { "pumice-webhook.pumice-system.svc", "127.0.0.1", NULL };
static const int64_t now_ms = 1800000000000;

static void make(struct certificate_set *set, int64_t at_ms)
{
    struct err e;

    if (certificate_make(set, names, at_ms, 10 * DAY_MS, &e) < 0)
        fail_msg("%s", e.text);
}

static size_t count(const struct buf *text)
{
    size_t n = 0;

    for (const char *p = text->p; (p = strstr(p, "BEGIN CERTIFICATE")); p++)
        n++;
    return n;
}

static void makes_one(void **state)
{
    autocertificates set = { .title = "test" };
    int64_t begin, end;

    (void)state;
    make(&set, now_ms);
    assert_int_equal(certificate_check(&set, names, &begin, &end, NULL), 0);
    assert_int_equal(begin, now_ms);
    assert_int_equal(end, now_ms + 10 * DAY_MS);
    assert_non_null(strstr(set.key.p, "PRIVATE KEY"));
}

static void keeps_its_ca(void **state)
{
    autocertificates set = { .title = "test" };
    autobuf ca = { 0 }, cert = { 0 };

    (void)state;
    make(&set, now_ms);
    buf_str(&ca, buf_view(&set.ca));
    buf_str(&cert, buf_view(&set.cert));
    make(&set, now_ms + 7 * DAY_MS);
    assert_string_equal(set.ca.p, ca.p);
    assert_string_not_equal(set.cert.p, cert.p);
    make(&set, now_ms + 95 * DAY_MS); /* the CA would end before it */
    assert_int_equal(count(&set.ca), 2);
    assert_non_null(strstr(set.ca.p, ca.p)); /* who has the old one still trusts what it signed */
    make(&set, now_ms + 190 * DAY_MS);
    assert_int_equal(count(&set.ca), 2); /* and not forever */
}

static void finds_what_is_wrong(void **state)
{
    static const char *const others[] = { "another.svc", NULL };
    autocertificates set = { .title = "test" }, other = { .title = "test" };
    int64_t begin, end;
    struct err e;

    (void)state;
    assert_int_equal(certificate_check(&set, names, &begin, &end, &e), -1);
    make(&set, now_ms);
    make(&other, now_ms);
    assert_int_equal(certificate_check(&set, others, &begin, &end, &e), -1);
    assert_non_null(strstr(e.text, "another.svc"));
    buf_reset(&set.key);
    buf_str(&set.key, buf_view(&other.key));
    assert_int_equal(certificate_check(&set, names, &begin, &end, &e), -1);
    assert_non_null(strstr(e.text, "key"));
    make(&set, now_ms);
    buf_reset(&set.ca);
    buf_str(&set.ca, buf_view(&other.ca));
    assert_int_equal(certificate_check(&set, names, &begin, &end, &e), -1);
    assert_non_null(strstr(e.text, "CA"));
    buf_reset(&set.ca);
    buf_fmt(&set.ca, "-----BEGIN CERTIFICATE-----\nnonsense\n");
    assert_int_equal(certificate_check(&set, names, &begin, &end, &e), -1);
    make(&set, now_ms); /* which mends it */
    assert_int_equal(certificate_check(&set, names, &begin, &end, &e), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_one),
        cmocka_unit_test(keeps_its_ca),
        cmocka_unit_test(finds_what_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
