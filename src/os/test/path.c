/* path.c - tests: what leads out, links on the way, directories that are made, and what is in one */
#include "os/test/place.h"

#include "os/dir.h"

/* ---- opening ---- */

/* A place with a "root" in it and secrets beside it; links of all kinds in the root. */
static int make_root(void)
{
    static const char *const links[][2] = {
        { "out", "../secret" },        { "out_abs", "/proc/version" }, { "up", ".." },
        { "in", "dir/file" },          { "in_abs", "/dir/file" },      { "loop", "loop" },
        { "magic", "/proc/self/cwd" }, { "nowhere", "new/place" }
    };
    int root;

    put("secret", "secret");
    assert_int_equal(mkdirat(place, "root", 0755), 0);
    assert_int_equal(mkdirat(place, "root/dir", 0755), 0);
    put("root/dir/file", "inside");
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        char path[64];

        (void)snprintf(path, sizeof(path), "root/%s", links[i][0]);
        assert_int_equal(symlinkat(links[i][1], place, path), 0);
    }
    root = openat(place, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(root >= 0);
    return root;
}

static const char *text_of(int fd)
{
    static struct buf text;

    buf_reset(&text);
    return file_read_fd(fd, 100, &text) < 0 ? "" : text.p;
}

static void test_open(void **state)
{
    static const struct {
        const char *path;
        int below, in; /* errno; 0: "inside" is read */
        bool has_links;
    } cases[] = {
        { "dir/file", 0, 0, false },          { "./dir//file", 0, 0, false },
        { "/dir/file", EXDEV, 0, false },     { "../secret", EXDEV, ENOENT, false },
        { "out", EXDEV, ENOENT, true },       { "out_abs", EXDEV, ENOENT, true },
        { "up/secret", EXDEV, ENOENT, true }, { "in", 0, 0, true },
        { "in_abs", EXDEV, 0, true },         { "loop", ELOOP, ELOOP, true },
        { "nothing", ENOENT, ENOENT, false },
    };
    autoclose int root = make_root();

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoclose int below = path_open_below(root, cases[i].path, O_RDONLY, 0);
        int no = below < 0 ? errno : 0;
        autoclose int in = path_open_in(root, str_of(cases[i].path), O_RDONLY);

        if (no != cases[i].below || (in < 0 ? errno : 0) != cases[i].in)
            fail_msg("%s: %s", cases[i].path, strerror(no));
        if (below >= 0) {
            assert_closes_on_exec(below);
            assert_string_equal(text_of(below), "inside");
        }
        if (in >= 0) {
            assert_closes_on_exec(in);
            assert_string_equal(text_of(in), "inside");
        }
        autoclose int bare = path_open_below(root, cases[i].path, O_RDONLY, RESOLVE_NO_SYMLINKS);
        if (cases[i].has_links)
            assert_int_equal(bare < 0 ? errno : 0, ELOOP);
    }
}

static void test_open_magic(void **state)
{
    autoclose int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    assert_int_equal(path_open_below(host, "proc/self/cwd", O_PATH, 0), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(path_open_in(host, STR("/proc/self/exe"), O_RDONLY), -1);
    assert_int_equal(errno, ELOOP);
}

/* A view need not end where its path does, and an empty one is the root. */
static void test_open_views(void **state)
{
    autoclose int root = make_root();
    autoclose int dir = path_open_in(root, str_sub(STR("/dir/file"), 0, 4), O_PATH | O_DIRECTORY);
    autoclose int top = path_open_in(root, STR_NULL, O_PATH | O_DIRECTORY);
    autofree char *text = xmalloc(5000);
    struct stat a, b;

    assert_true(dir >= 0 && fstat(top, &a) == 0 && fstat(root, &b) == 0 && a.st_ino == b.st_ino);
    memset(text, 'x', 5000);
    assert_int_equal(path_open_in(root, (struct str){ text, 5000 }, O_PATH), -1);
    assert_int_equal(errno, ENAMETOOLONG);
}

/* ---- making ---- */

static void test_make_dirs(void **state)
{
    mode_t old = umask(0);
    char path[128];
    struct err e;

    (void)snprintf(path, sizeof(path), "%s/a/b//c", place_path);
    assert_int_equal(make_dirs(path, 0700, &e), 0);
    assert_int_equal(mode_of("a"), 0755);
    assert_int_equal(mode_of("a/b"), 0755);
    assert_int_equal(mode_of("a/b/c"), 0700);
    assert_int_equal(make_dirs(path, 0777, &e), 0); /* what is there stays as it is */
    assert_int_equal(mode_of("a/b/c"), 0700);
    (void)umask(077);
    (void)snprintf(path, sizeof(path), "%s/x/y/", place_path);
    assert_int_equal(make_dirs(path, 0755, &e), 0);
    (void)umask(old);
    assert_int_equal(mode_of("x/y"), 0700);
    put("file", "");
    (void)snprintf(path, sizeof(path), "%s/file/below", place_path);
    assert_int_equal(make_dirs(path, 0755, &e), -1);
    assert_non_null(strstr(e.text, "/file/below: Not a directory"));
    assert_int_equal(make_dirs("/", 0755, &e), 0);
}

static void test_make_dir_at(void **state)
{
    mode_t old = umask(077);
    struct err e;
    int fd;

    assert_int_equal(make_dir_at(place, "new", 01777, &fd, &e), 0);
    (void)umask(old);
    assert_closes_on_exec(fd);
    close(fd);
    assert_int_equal(mode_of("new"), 01777);
    assert_int_equal(make_dir_at(place, "new", 0700, &fd, &e), 0);
    close(fd);
    assert_int_equal(mode_of("new"), 01777);
    assert_int_equal(symlinkat("new", place, "link"), 0);
    assert_int_equal(make_dir_at(place, "link", 0700, &fd, &e), -1);
    put("file", "");
    assert_int_equal(make_dir_at(place, "file", 0700, &fd, &e), -1);
    assert_int_equal(make_dir_at(place, "no/where", 0700, &fd, &e), -1);
    assert_int_equal(e.code, ERR_IO);
}

struct seen {
    struct buf paths;
    const char *refuses;
};

static int note(void *ctx, int parent, const char *name, const char *path, struct err *e)
{
    struct seen *s = ctx;

    assert_int_equal(faccessat(parent, name, F_OK, 0), 0);
    if (s->refuses && strcmp(s->refuses, path) == 0)
        return err_set(e, ERR_GONE, "refused");
    buf_fmt(&s->paths, "%s ", path);
    return 0;
}

static void test_make_below(void **state)
{
    static const struct {
        const char *path;
        uint64_t resolve;
        enum err_code code;
        const char *made;
    } cases[] = {
        { "a/b/c", RESOLVE_BENEATH, ERR_OK, "a a/b a/b/c " },
        { "a/b/c", RESOLVE_BENEATH, ERR_OK, "" },
        { "a/b/d", RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, ERR_OK, "a/b/d " },
        { "", RESOLVE_BENEATH, ERR_OK, "" },
        { "up/evil", RESOLVE_BENEATH, ERR_FORBIDDEN, "" },
        { "up/fine", RESOLVE_IN_ROOT, ERR_OK, "up/fine " },
        { "loop/x", RESOLVE_BENEATH, ERR_IO, "" },
        { "dir/file/x", RESOLVE_BENEATH, ERR_IO, "" },
        { "nowhere/x", RESOLVE_BENEATH, ERR_IO, "" },
        { "in/x", RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, ERR_IO, "" },
    };
    autoclose int root = make_root();
    mode_t old = umask(077);

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct seen seen = { 0 };
        struct make_below how = { root, cases[i].resolve, 0751, note, &seen };
        struct err e = { 0 };
        int fd = -1, rc;

        buf_str(&seen.paths, STR_NULL);
        rc = make_dirs_below(&how, str_of(cases[i].path), &fd, &e);
        if ((rc < 0) != (cases[i].code != ERR_OK) || e.code != cases[i].code ||
            strcmp(seen.paths.p, cases[i].made) != 0)
            fail_msg("%s: %s, made %s", cases[i].path, e.text, seen.paths.p);
        buf_done(&seen.paths);
        if (rc == 0) {
            assert_closes_on_exec(fd);
            close(fd);
        }
    }
    (void)umask(old);
    assert_int_equal(mode_of("root/a"), 0751);
    assert_int_equal(mode_of("root/a/b/c"), 0751);
    assert_int_equal(mode_of("root/dir"), 0755);
    assert_false(is_there("evil"));
    assert_true(is_there("root/fine")); /* ".." of the root is the root */
}

static void test_make_below_refused(void **state)
{
    autoclose int root = make_root();
    struct seen seen = { .refuses = "a/b" };
    struct make_below how = { root, RESOLVE_BENEATH, 0700, note, &seen };
    autofree char *text = xcalloc(5001, 1);
    struct err e;
    int fd;

    assert_int_equal(make_dirs_below(&how, STR("a/b/c"), &fd, &e), -1);
    assert_int_equal(e.code, ERR_GONE);
    assert_false(is_there("root/a/b/c"));
    memset(text, 'x', 5000);
    assert_int_equal(make_dirs_below(&how, str_of(text), &fd, &e), -1);
    assert_int_equal(errno, ENAMETOOLONG);
    buf_done(&seen.paths);
}

/* ---- text ---- */

static void test_is_below(void **state)
{
    static const struct {
        const char *path, *dir;
        bool is_below;
    } cases[] = { { "/a/b", "/a", true }, { "/a", "/a", false }, { "/ab", "/a", false }, { "/a", "/", true },
                  { "/", "/", false },    { "a/b", "a", true },  { "", "a", false },     { "/a/b/c", "/a", true } };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (path_is_below(str_of(cases[i].path), str_of(cases[i].dir)) != cases[i].is_below)
            fail_msg("%s below %s", cases[i].path, cases[i].dir);
}

/* ---- what is in one ---- */

static void test_dir(void **state)
{
    size_t n = 0;

    put("one", "");
    put("..two", "");
    assert_int_equal(mkdirat(place, "three", 0700), 0);
    assert_int_equal(symlinkat("three", place, "link"), 0);
    autodir *d = dir_open(place, ".");
    assert_closes_on_exec(dirfd(d));
    for (struct dirent *entry; (entry = dir_next(d));) {
        assert_true(is_there(entry->d_name));
        n++;
    }
    assert_int_equal(n, 4);
    assert_null(dir_open(place, "link"));
    assert_int_equal(errno, ENOTDIR);
    assert_null(dir_open(place, "nowhere"));
    assert_int_equal(errno, ENOENT);
    assert_null(dir_next(NULL));
    assert_null(dir_take(-1));
    assert_null(dir_take(openat(place, "one", O_RDONLY | O_CLOEXEC)));
    assert_int_equal(errno, ENOTDIR);
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, place_make, place_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(test_open),
        cmocka_unit_test(test_open_magic),
        WITH_PLACE(test_open_views),
        WITH_PLACE(test_make_dirs),
        WITH_PLACE(test_make_dir_at),
        WITH_PLACE(test_make_below),
        WITH_PLACE(test_make_below_refused),
        cmocka_unit_test(test_is_below),
        WITH_PLACE(test_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
