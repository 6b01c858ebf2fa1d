/* tree.c - tests: trees that go as a whole, however deep, and those that are handed to a group
 *
 * What a hostile container does meanwhile (links, races, mounts) is tried with the volumes:
 * node/volume/test/volume_safe.c.
 */
#include "os/test/place.h"

#include <sys/resource.h>

static void test_remove(void **state)
{
    struct err e;

    assert_int_equal(mkdirat(place, "keep", 0700), 0);
    put("keep/file", "");
    assert_int_equal(mkdirat(place, "tree", 0700), 0);
    assert_int_equal(mkdirat(place, "tree/dir", 0700), 0);
    put("tree/dir/file", "");
    assert_int_equal(symlinkat("../../keep", place, "tree/dir/link"), 0);
    assert_int_equal(mkfifoat(place, "tree/fifo", 0600), 0);
    assert_int_equal(tree_remove(place, "tree", &e), 0);
    assert_false(is_there("tree"));
    assert_true(is_there("keep/file"));
    assert_int_equal(tree_remove(place, "tree", &e), 0); /* fine if it is not there */
    assert_int_equal(symlinkat("keep", place, "link"), 0);
    assert_int_equal(tree_remove(place, "link", &e), 0);
    assert_true(is_there("keep/file"));
}

/* More levels than are open at once, and a path longer than the kernel takes. */
static void test_remove_deep(void **state)
{
    static const char name[] = "a directory with a name";
    int at = openat(place, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct rlimit old, few;
    struct err e;

    for (int i = 0; i < 300; i++) {
        int next;

        assert_int_equal(mkdirat(at, name, 0700), 0);
        next = openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = next;
    }
    close(at);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = (struct rlimit){ 64, old.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(tree_remove(place, name, &e), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_false(is_there(name));
}

static void test_empty(void **state)
{
    struct err e;

    put("a", "");
    assert_int_equal(mkdirat(place, "b", 0), 0); /* nobody may read it */
    assert_int_equal(tree_empty(place, &e), 0);
    assert_false(is_there("a") || is_there("b"));
    autoclose int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(tree_empty(file, &e), -1);
    assert_int_equal(e.code, ERR_IO);
}

/* Our own group: what an ordinary user may give. */
static void test_own(void **state)
{
    struct err e;
    mode_t old = umask(0);

    assert_int_equal(mkdirat(place, "dir", 0700), 0);
    put("dir/file", "");
    assert_int_equal(fchmodat(place, "dir/file", 0600, 0), 0);
    put("outside", "");
    assert_int_equal(fchmodat(place, "outside", 0600, 0), 0);
    assert_int_equal(symlinkat("../outside", place, "dir/link"), 0);
    (void)umask(old);
    autoclose int dir = openat(place, "dir", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(tree_own(dir, getegid(), true, &e), 0);
    assert_int_equal(mode_of("dir/file"), 0640);
    assert_int_equal(mode_of("dir"), 02750);
    assert_int_equal(tree_own(dir, getegid(), false, &e), 0);
    assert_int_equal(mode_of("dir/file"), 0660);
    assert_int_equal(mode_of("outside"), 0600);
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, place_make, place_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(test_remove),
        WITH_PLACE(test_remove_deep),
        WITH_PLACE(test_empty),
        WITH_PLACE(test_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
