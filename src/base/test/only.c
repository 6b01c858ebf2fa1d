/* only.c - one case of a test program: CASE=name build/src/…/test_… (cmocka's pattern: '*' and '?' are wild)
 *
 * Linked into every test program; tools/test NAME CASE sets it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

static void __attribute__((constructor)) run_only_one_case(void)
{
    const char *name = getenv("CASE");

    if (name && name[0])
        cmocka_set_test_filter(name);
}
