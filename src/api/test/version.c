/* version.c - tests of what clients read about this build */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/version.h"

#include <sys/utsname.h>
#include <string.h>

/* Under qemu-user, uname() answers for the emulated machine. */
static void build_arch_is_that_of_the_machine(void **state)
{
    static const char *const names[][2] = { { "x86_64", "amd64" }, { "aarch64", "arm64" } };
    const char *want = "unknown";
    struct utsname u;

    (void)state;
    assert_int_equal(uname(&u), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(u.machine, names[i][0]) == 0)
            want = names[i][1];
    assert_string_equal(BUILD_ARCH, want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(build_arch_is_that_of_the_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
