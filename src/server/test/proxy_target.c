/* proxy_target.c - names of pods and Services in a proxy request, in the three forms that Kubernetes knows */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "server/server_internal.h"

static void names(void **state)
{
    static const struct {
        const char *id, *name, *port; /* name NULL: it is none */
        bool is_tls;
    } rows[] = {
        { "web", "web", "", false },
        { "web:80", "web", "80", false },
        { "web:http", "web", "http", false },
        { "web:", "web", "", false },
        { "http:web:80", "web", "80", false },
        { "https:web:443", "web", "443", true },
        { "https:web:", "web", "", true },
        { ":web:80", "web", "80", false },
        { "https:web", "https", "web", false }, /* two parts are a name and a port */
        { "", NULL, NULL, false },
        { ":", NULL, NULL, false },
        { ":80", NULL, NULL, false },
        { "::80", NULL, NULL, false },
        { "ftp:web:80", NULL, NULL, false },
        { "HTTPS:web:80", NULL, NULL, false },
        { "http:web:80:", NULL, NULL, false },
        { "a:b:c:d", NULL, NULL, false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct proxy_name n;
        int rc = proxy_name_parse(str_of(rows[i].id), &n);

        if (rc != (rows[i].name ? 0 : -1) ||
            (rc == 0 && (!str_is(n.name, rows[i].name) || !str_is(n.port, rows[i].port) || n.is_tls != rows[i].is_tls)))
            fail_msg("\"%s\": %d \"%.*s\" \"%.*s\" %d", rows[i].id, rc, STR_ARG(n.name), STR_ARG(n.port), n.is_tls);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(names) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
