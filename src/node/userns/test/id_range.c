/* id_range.c - ranges of namespaces: kept, apart, and never where somebody else has ids */
#include "node/userns/id_range.h"

#include "base/buf.h"
#include "base/util.h"
#include "os/io.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { ALL = (0x7FFD0000 - 0x78000000) / ID_RANGE_SIZE };

static struct {
    char dir[64];
    struct id_range_options opt;
    const char *used; /* all but this one are */
} here;

static bool is_used(void *ctx, struct str namespace)
{
    (void)ctx;
    return !here.used || !str_is(namespace, here.used);
}

static int begin(void **state)
{
    (void)state;
    (void)snprintf(here.dir, sizeof(here.dir), "/tmp/pumice-id-range.XXXXXX");
    assert_non_null(mkdtemp(here.dir));
    here.used = NULL;
    here.opt = (struct id_range_options){ .dir = open(here.dir, O_PATH | O_DIRECTORY | O_CLOEXEC),
                                          .etc = here.dir,
                                          .is_used = is_used };
    return 0;
}

static int end(void **state)
{
    static const char *const names[] = { "id-ranges", "passwd", "group", "subuid", "subgid" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        (void)unlinkat(here.opt.dir, names[i], 0);
    close(here.opt.dir);
    return rmdir(here.dir);
}

static void put(const char *name, const char *text)
{
    int dir = open(here.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_int_equal(file_write(dir, name, O_TRUNC, 0600, str_of(text)), 0);
    close(dir);
}

static uint32_t range(const char *namespace)
{
    uint32_t base = 0;
    struct err e;

    assert_int_equal(id_range_of(&here.opt, str_of(namespace), &base, &e), 0);
    assert_true(base >= ID_RANGE_FIRST && base + ID_RANGE_SIZE <= ID_RANGE_END && base % ID_RANGE_SIZE == 0);
    return base;
}

static void kept(void **state)
{
    uint32_t lab = range("lab"), other = range("other");

    (void)state;
    assert_true(lab != other);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(range("lab"), lab);
        assert_int_equal(range("other"), other);
    }
}

/* The last line was being written when the machine died. */
static void cut_off(void **state)
{
    uint32_t base;

    (void)state;
    put("id-ranges", "2013265920 lab\n2013331456 oth");
    assert_int_equal(range("lab"), 2013265920);
    base = range("oth");
    assert_int_equal(range("oth"), base);
    assert_int_equal(range("lab"), 2013265920);
    put("id-ranges", "nonsense\n5 lab\n2013265921 lab\n");
    (void)range("lab");
}

/* All but one are somebody's, one way or the other. */
static void avoids_others(void **state)
{
    autobuf text = { 0 };
    uint32_t free_one = ID_RANGE_FIRST + 7 * ID_RANGE_SIZE;

    (void)state;
    buf_fmt(&text, "a:x:%u:5::/:/bin/sh\n", ID_RANGE_FIRST + 65535);
    put("passwd", text.p);
    buf_reset(&text);
    buf_fmt(&text, "g:x:%u:\n", ID_RANGE_FIRST + ID_RANGE_SIZE);
    put("group", text.p);
    buf_reset(&text);
    buf_fmt(&text, "u:%u:%u\n", ID_RANGE_FIRST + 2 * ID_RANGE_SIZE - 1, 5 * ID_RANGE_SIZE + 1);
    put("subuid", text.p);
    buf_reset(&text);
    buf_fmt(&text, "u:%u:%u\n", free_one + ID_RANGE_SIZE, ID_RANGE_END - free_one - ID_RANGE_SIZE);
    put("subgid", text.p);
    assert_int_equal(range("lab"), free_one);
    assert_int_equal(id_range_of(&here.opt, STR("other"), &(uint32_t){ 0 }, &(struct err){ 0 }), -1);
}

static void none_left(void **state)
{
    autobuf text = { 0 };
    struct err e;
    uint32_t base, third;

    (void)state;
    for (int i = 0; i < ALL; i++)
        buf_fmt(&text, "%u ns-%d\n", ID_RANGE_FIRST + (uint32_t)i * ID_RANGE_SIZE, i);
    put("id-ranges", text.p);
    assert_int_equal(id_range_of(&here.opt, STR("new"), &base, &e), -1);
    assert_int_equal(e.code, ERR_CONFLICT);
    third = range("ns-3");
    here.used = "ns-3"; /* it has no pods and no files any more */
    assert_int_equal(range("new"), third);
    here.used = NULL;
    assert_int_equal(range("new"), third);
    assert_int_equal(id_range_of(&here.opt, STR("ns-3"), &base, &e), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kept, begin, end),
        cmocka_unit_test_setup_teardown(cut_off, begin, end),
        cmocka_unit_test_setup_teardown(avoids_others, begin, end),
        cmocka_unit_test_setup_teardown(none_left, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
