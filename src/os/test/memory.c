/* memory.c - tests of what is given back */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "os/memory.h"

#include <stdio.h>
#include <string.h>

static long kilobytes(const char *name)
{
    autofile FILE *f = fopen("/proc/self/status", "r");
    char line[128];
    long kb = 0;

    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, name, strlen(name)) == 0)
            kb = strtol(line + strlen(name) + 1, NULL, 10);
    return kb;
}

/* Pages of files go, and everything works as before: constants, relocated tables, code. */
static void lets_files_go(void **state)
{
    long before = kilobytes("RssFile");
    char text[64];

    (void)state;
    memory_settle();
    assert_true(kilobytes("RssFile") < before);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(text, sizeof(text), "%.3f %s", 0.5 + i, strerror(2));
        memory_settle();
    }
    assert_string_equal(text, "2.500 No such file or directory");
}

/* A sanitizer has an allocator of its own, which keeps what was freed. */
#ifndef __SANITIZE_ADDRESS__
static void gives_back_what_was_freed(void **state)
{
    enum { N = 20000, BYTES = 1000 };
    char **all = xcalloc(N, sizeof(*all));
    long before;

    (void)state;
    for (int i = 0; i < N; i++)
        all[i] = memset(xmalloc(BYTES), 1, BYTES);
    before = kilobytes("RssAnon");
    for (int i = 0; i < N; i++)
        if (i % 100)
            free(all[i]);
    memory_settle();
    assert_true(before - kilobytes("RssAnon") > N / 2 * BYTES / 1024);
    for (int i = 0; i < N; i += 100)
        free(all[i]);
    free(all);
}

/* Large blocks that are freed stay until the process rests, and are the next ones: no page is cleared again. */
static void keeps_what_was_freed(void **state)
{
    enum { BYTES = 8 << 20 };
    long before;

    (void)state;
    memory_keep(4 * (size_t)BYTES);
    free(memset(xmalloc(BYTES), 1, BYTES));
    before = kilobytes("RssAnon");
    assert_true(before > BYTES / 1024);
    memory_settle();
    assert_true(before - kilobytes("RssAnon") > BYTES / 2 / 1024);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lets_files_go),
#ifndef __SANITIZE_ADDRESS__
        cmocka_unit_test(gives_back_what_was_freed),
        cmocka_unit_test(keeps_what_was_freed),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
