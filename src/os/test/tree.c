/* tree.c - tests: trees that go as a whole, however deep, and those that are handed to a group
 *
 * What a hostile container does meanwhile (links, races, mounts) is tried with the volumes:
 * node/volume/test/volume_safe.c.
 */
#include "os/test/place.h"

#include <errno.h>
#include <linux/fs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
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

/* In portions: each removes no more than it may, and the last one says so. */
static void test_remove_some(void **state)
{
    int rc, n_calls = 0;
    struct err e;

    assert_int_equal(mkdirat(place, "many", 0700), 0);
    for (int i = 0; i < 20; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "many/%d", i);
        assert_int_equal(mkdirat(place, name, 0700), 0);
        for (int k = 0; k < 20; k++) {
            (void)snprintf(name, sizeof(name), "many/%d/%d", i, k);
            put(name, "");
        }
    }
    assert_int_equal(tree_remove_some(place, "many", 50, &e), 1);
    assert_true(is_there("many"));
    do
        rc = tree_remove_some(place, "many", 50, &e);
    while (++n_calls < 100 && rc == 1);
    assert_int_equal(rc, 0);
    assert_in_range(n_calls, 8, 20); /* 421 entries; a directory counts each time it is opened */
    assert_false(is_there("many"));
    assert_int_equal(tree_remove_some(place, "many", 50, &e), 0);
}

/* Where nothing can be removed it ends with an error, however often it is called. The mounts are of a namespace of its own. */
static void test_remove_some_fixed(void **state)
{
    char name[128];
    struct err e;

    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        skip();
    assert_int_equal(mkdirat(place, "fixed", 0700), 0);
    for (int i = 0; i < 10; i++) {
        (void)snprintf(name, sizeof(name), "%s/fixed/%d", place_path, i);
        assert_int_equal(mkdir(name, 0700), 0);
        assert_int_equal(mount("none", name, "tmpfs", 0, NULL), 0);
    }
    assert_int_equal(tree_remove_some(place, "fixed", 5, &e), -1);
    for (int i = 0; i < 10; i++) {
        (void)snprintf(name, sizeof(name), "%s/fixed/%d", place_path, i);
        assert_int_equal(umount2(name, MNT_DETACH), 0);
    }
    assert_int_equal(tree_remove(place, "fixed", &e), 0);
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

static bool set_flags(const char *path, int more)
{
    autoclose int fd = openat(place, path, O_RDONLY | O_CLOEXEC);
    int flags = 0;

    if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
        return false;
    flags |= more;
    return ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
}

/* A container with the right capability set them: at files, at directories on the way, at one deeper than are open at once. */
static void test_remove_fixed(void **state)
{
    char deep[400] = "tree";
    struct err e;

    assert_int_equal(mkdirat(place, "tree", 0700), 0);
    for (int i = 0; i < 40; i++) {
        (void)snprintf(deep + strlen(deep), sizeof(deep) - strlen(deep), "/d");
        assert_int_equal(mkdirat(place, deep, 0700), 0);
    }
    put("tree/fixed", "");
    put("tree/log", "");
    put("tree/d/d/fixed", "");
    if (!set_flags("tree/fixed", FS_IMMUTABLE_FL)) {
        skip(); /* no root, or a file system without such flags */
        return;
    }
    assert_true(set_flags("tree/log", FS_APPEND_FL));
    assert_true(set_flags("tree/d/d/fixed", FS_IMMUTABLE_FL | FS_APPEND_FL));
    assert_true(set_flags(deep, FS_IMMUTABLE_FL));
    assert_true(set_flags("tree/d/d", FS_APPEND_FL));
    assert_true(set_flags("tree/d", FS_IMMUTABLE_FL));
    assert_true(set_flags("tree", FS_IMMUTABLE_FL));
    assert_int_equal(tree_remove(place, "tree", &e), 0);
    assert_false(is_there("tree"));
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

/* ---- look through, copy ---- */

struct seen {
    size_t n, n_left;
    size_t stop_at; /* 0: never */
};

static enum tree_step see(void *ctx, const struct tree_entry *entry)
{
    struct seen *s = ctx;

    assert_true(str_starts(entry->path, STR("/")));
    if (entry->is_left) {
        s->n_left++;
        return TREE_GO;
    }
    s->n++;
    if (s->n == s->stop_at)
        return TREE_STOP;
    return strcmp(entry->name, "passed") == 0 ? TREE_PASS : TREE_GO;
}

static void test_walk(void **state)
{
    struct seen s = { 0 }, stopped = { .stop_at = 2 };

    assert_int_equal(mkdirat(place, "a", 0700), 0);
    assert_int_equal(mkdirat(place, "a/passed", 0700), 0);
    put("a/passed/unseen", "");
    put("a/file", "");
    assert_int_equal(symlinkat("/", place, "a/link"), 0);
    assert_false(tree_walk(place, see, &s));
    assert_int_equal(s.n, 4);
    assert_int_equal(s.n_left, 1);
    assert_true(tree_walk(place, see, &stopped));
    assert_int_equal(stopped.n, 2);
}

/* Further down than anybody looks: it is said, and ends. */
static void test_walk_deep(void **state)
{
    int at = openat(place, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct seen s = { 0 };

    for (int i = 0; i < TREE_LEVELS + 10; i++) {
        int next;

        assert_int_equal(mkdirat(at, "d", 0700), 0);
        next = openat(at, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = next;
    }
    close(at);
    assert_true(tree_walk(place, see, &s));
    assert_int_equal(s.n, TREE_LEVELS);
}

static void test_copy(void **state)
{
    struct tree_copy c = { 0 };
    autoclose int from = -1;
    autoclose int to = -1;
    struct stat st;

    assert_int_equal(mkdirat(place, "from", 0700), 0);
    assert_int_equal(mkdirat(place, "from/dir", 0700), 0);
    assert_int_equal(mkdirat(place, "from/empty", 0700), 0);
    assert_int_equal(mkdirat(place, "to", 0700), 0);
    put("from/dir/file", "12345");
    assert_int_equal(fchmodat(place, "from/dir/file", 06711, 0), 0);
    assert_int_equal(linkat(place, "from/dir/file", place, "from/same", 0), 0);
    assert_int_equal(symlinkat("/etc/passwd", place, "from/link"), 0);
    assert_int_equal(mkfifoat(place, "from/fifo", 0600), 0);
    put("from/there", "new");
    put("to/there", "old");
    from = openat(place, "from", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    c.to = to = openat(place, "to", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    tree_copy(from, &c);
    assert_int_equal(c.files, 3);
    assert_int_equal(c.left_out, 1);
    assert_int_equal(c.not_copied, 1); /* never over what is there */
    assert_int_equal(c.first_errno, EEXIST);
    assert_string_equal(c.first, "/there");
    assert_int_equal(mode_of("to/dir/file"), 0711);
    assert_int_equal(fstatat(place, "to/same", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(st.st_nlink, 2);
    assert_false(is_there("to/empty"));
    assert_false(is_there("to/fifo"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(test_remove),      WITH_PLACE(test_remove_some),  WITH_PLACE(test_remove_some_fixed),
        WITH_PLACE(test_remove_deep), WITH_PLACE(test_remove_fixed), WITH_PLACE(test_empty),
        WITH_PLACE(test_own),         WITH_PLACE(test_walk),         WITH_PLACE(test_walk_deep),
        WITH_PLACE(test_copy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
