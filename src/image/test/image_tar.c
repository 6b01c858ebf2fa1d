/* image_tar.c - tests: archives as files, good ones and hostile ones */
#include "image/test/image_maker.h"

#include <sched.h>
#include <sys/mount.h>

/* Unpack 'bytes' over top/root; what it says. */
static int unpack(struct fixture *f, struct str bytes, bool is_layer)
{
    const char *path = put_bytes(f, "a.tar", bytes), *root_path = in_top(f, "root");
    struct image_tar *t = NULL;
    struct image_digest file, tar;
    int fd, root, rc = -1;

    (void)mkdir(root_path, 0755);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    root = open(root_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0 && root >= 0);
    if (image_tar_open(fd, &t, &f->e) == 0 && image_unpack(root, t, is_layer, &f->e) == 0)
        rc = image_tar_finish(t, &file, &tar, &f->e);
    image_tar_close(t);
    close(fd);
    close(root);
    return rc;
}

static void unpack_good(struct fixture *f, const struct tar_file *list, bool is_layer)
{
    if (unpack(f, tar_of(f, list), is_layer) < 0)
        fail_msg("%s", f->e.text);
}

static const char *type_of(mode_t mode)
{
    return S_ISREG(mode) ? "file" : S_ISDIR(mode) ? "dir" : S_ISLNK(mode) ? "link" : S_ISFIFO(mode) ? "fifo" : "other";
}

static void expect(struct fixture *f, const char *path, const char *type)
{
    const char *full = in_top(f, arena_fmt(&f->a, "root/%s", path).p);
    struct stat st;
    bool is_there = lstat(full, &st) == 0;

    if (!is_there ? type != NULL : !type || strcmp(type_of(st.st_mode), type) != 0)
        fail_msg("%s: %s, expected %s", path, is_there ? type_of(st.st_mode) : "nothing", type ? type : "nothing");
}

static void test_kinds(void **state)
{
    static const struct tar_file list[] = {
        { "./", '5', NULL, 0755 },     { "./bin/", '5', NULL, 0755 },  { "./bin/sh", '0', "#!", 0755 },
        { "bin/bash", '1', "bin/sh" }, { "bin/dash", '2', "/bin/sh" }, { "dev/null", '3', NULL },
        { "pipe", '6', NULL },         { "/etc/x", '0', "abs" },       { "deep/er/file", '0', "" },
        { "dir-ro", '5', NULL, 0555 }, { "dir-ro/in", '0', "x" },      { 0 },
    };
    struct fixture *f = *state;
    struct stat sh, bash, ro;

    unpack_good(f, list, false);
    expect(f, "bin/sh", "file");
    expect(f, "bin/dash", "link");
    expect(f, "pipe", "fifo");
    expect(f, "dev/null", NULL);
    expect(f, "deep/er/file", "file");
    expect(f, "dir-ro/in", "file");
    assert_true(str_is(get_text(f, in_top(f, "root/etc/x")), "abs"));
    assert_int_equal(stat(in_top(f, "root/bin/sh"), &sh), 0);
    assert_int_equal(stat(in_top(f, "root/bin/bash"), &bash), 0);
    assert_int_equal(stat(in_top(f, "root/dir-ro"), &ro), 0);
    assert_int_equal(sh.st_ino, bash.st_ino);
    assert_int_equal(sh.st_mode & 07777, 0755);
    assert_int_equal(sh.st_mtim.tv_sec, 1000000000);
    assert_int_equal(ro.st_mtim.tv_sec, 1000000000); /* though a file was made in it afterwards */
}

/* Each must be refused or stay inside; top/outside and top/target must not change. */
static void test_escapes(void **state)
{
    static const struct {
        struct tar_file list[4];
        const char *want; /* part of the error; NULL: goes well, inside */
    } cases[] = {
        { { { "../evil", '0', "x" } }, "leads out of the image" },
        { { { "a/../../evil", '0', "x" } }, "leads out of the image" },
        { { { "a/..", '5', NULL } }, "leads out of the image" },
        { { { "..", '2', "/" } }, "leads out of the image" },
        { { { "hard", '1', "../target" } }, "leads out of the image" },
        { { { "hard", '1', "/../target" } }, "leads out of the image" },
        { { { "link", '2', "../outside" }, { "link/evil", '0', "x" } }, "create directory" }, /* none in the root */
        { { { "link", '2', ".." }, { "link/evil", '0', "x" } }, NULL }, /* above the root is the root */
        { { { "link", '2', "../target" }, { "link", '0', "replaced" } }, NULL },
        { { { "link", '2', "../target" }, { "hard", '1', "link" } }, NULL }, /* the link itself */
        { { { "up", '2', ".." }, { "hard", '1', "up/target" } }, "create hard link" },
        { { { "loop", '2', "loop" }, { "loop/x", '0', "x" } }, "loop" },
        { { { "d", '5', NULL }, { "d", '2', "../outside" }, { "d/evil", '0', "x" } }, "create directory" },
        { { { "self", '0', "x" }, { "self", '1', "./self" } }, "hard link to itself" },
        { { { "no", '1', "nowhere" } }, "create hard link" },
        { { { "", '0', "x" } }, "name" },
        { { { ".", '0', "x" } }, "not a directory" },
        { { { "proc", '2', "/proc/self/root" }, { "proc/evil", '0', "x" } },
          "open directory" } /* a loop, in the root */,
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf bytes = { 0 };
        int rc;

        remove_tree(in_top(f, "root"));
        (void)mkdir(in_top(f, "outside"), 0755);
        put_bytes(f, "target", STR("untouched"));
        for (const struct tar_file *t = cases[i].list; t < cases[i].list + 4 && t->name; t++)
            tar_add(&bytes, t);
        tar_end(&bytes);
        rc = unpack(f, buf_view(&bytes), true);
        if ((cases[i].want != NULL) != (rc < 0) || (rc < 0 && !strstr(f->e.text, cases[i].want)))
            fail_msg("case %zu: %d %s", i, rc, rc < 0 ? f->e.text : "");
        if (access(in_top(f, "evil"), F_OK) == 0 || access(in_top(f, "outside/evil"), F_OK) == 0 ||
            !str_is(get_text(f, in_top(f, "target")), "untouched"))
            fail_msg("case %zu wrote outside", i);
        buf_done(&bytes);
    }
}

/* Layers over each other, with whiteouts at any place of the layer. */
static void test_whiteouts(void **state)
{
    static const struct tar_file lower[] = {
        { "a/old", '0', "1" },     { "a/gone", '0', "1" },  { "b/old", '0', "1" },
        { "b/sub/old", '0', "1" }, { "c/sub/x", '0', "1" }, { "file", '0', "1" },
        { "dir/x", '0', "1" },     { "keep", '0', "1" },    { 0 },
    };
    static const struct tar_file upper[] = {
        { "a/.wh.gone", '0', "" }, { "a/.wh.never", '0', "" },    { "b/new", '0', "2" },
        { "b/sub/new", '0', "2" }, { "b/.wh..wh..opq", '0', "" }, /* after what is new: that stays */
        { ".wh.c", '0', "" },      { "file", '5', NULL },         { "file/in", '0', "2" },
        { "dir", '0', "2" },       { ".wh..wh.plnk", '5', NULL }, { 0 },
    };
    static const struct {
        const char *path, *type;
    } want[] = {
        { "a/old", "file" },      { "a/gone", NULL },      { "b/old", NULL },      { "b/sub/old", NULL },
        { "b/new", "file" },      { "b/sub/new", "file" }, { "c", NULL },          { "file/in", "file" },
        { "dir", "file" },        { "keep", "file" },      { "a/.wh.gone", NULL }, { "b/.wh..wh..opq", NULL },
        { ".wh..wh.plnk", NULL },
    };
    struct fixture *f = *state;

    unpack_good(f, lower, true);
    unpack_good(f, upper, true);
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        expect(f, want[i].path, want[i].type);
    assert_int_equal(unpack(f, tar_of(f, (struct tar_file[]){ { "a/.wh...", '0', "" }, { 0 } }), true), -1);
    assert_int_equal(unpack(f, tar_of(f, (struct tar_file[]){ { "a/.wh.", '0', "" }, { 0 } }), true), -1);
    expect(f, "a/old", "file");
    /* Of a plain root file system such a name is a file. */
    unpack_good(f, (struct tar_file[]){ { ".wh.keep", '0', "" }, { 0 } }, false);
    expect(f, "keep", "file");
    expect(f, ".wh.keep", "file");
}

/* What an older layer links to is not changed through the link. */
static void test_replaced_not_written(void **state)
{
    static const struct tar_file lower[] = { { "a", '0', "old" }, { "b", '1', "a" }, { "l", '2', "a" }, { 0 } };
    static const struct tar_file upper[] = { { "b", '0', "new" }, { "l", '0', "new" }, { 0 } };
    struct fixture *f = *state;

    unpack_good(f, lower, true);
    unpack_good(f, upper, true);
    assert_true(str_is(get_text(f, in_top(f, "root/a")), "old"));
    assert_true(str_is(get_text(f, in_top(f, "root/b")), "new"));
    assert_true(str_is(get_text(f, in_top(f, "root/l")), "new"));
}

static void test_owners(void **state)
{
    static const struct tar_file list[] = {
        { "su", '0', "x", 04755, 1234 },
        { "sg", '0', "x", 02755, 5 },
        { "d", '5', NULL, 01777, 7 },
        { "l", '2', "su", 0, 9 },
        { 0 },
    };
    struct fixture *f = *state;
    bool is_root = geteuid() == 0;
    struct stat st;

    unpack_good(f, list, false);
    assert_int_equal(stat(in_top(f, "root/su"), &st), 0);
    assert_int_equal(st.st_mode & 07777, is_root ? 04755 : 0755);
    assert_int_equal(st.st_uid, is_root ? 1234 : getuid());
    assert_int_equal(stat(in_top(f, "root/d"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 01777);
    assert_int_equal(lstat(in_top(f, "root/l"), &st), 0);
    assert_int_equal(st.st_uid, is_root ? 9 : getuid());
}

/* As another user nothing may fail for owners, and no program may become setuid to that user. */
static void test_ordinary_user(void **state)
{
    static const struct tar_file list[] = {
        { "su", '0', "x", 04755, 0 },
        { "ro", '5', NULL, 0555, 0 },
        { "ro/in", '0', "x" },
        { "none", '0', "x", 01, 3 },
        { 0 },
    };
    struct fixture *f = *state;
    struct stat st;
    int status;
    pid_t pid;

    if (geteuid() != 0) {
        print_message("skipped: needs root\n");
        skip();
    }
    assert_int_equal(chmod(f->top, 0777), 0);
    pid = fork();
    if (pid == 0) {
        if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
            _exit(3);
        _exit(unpack(f, tar_of(f, list), false) < 0 ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(stat(in_top(f, "root/su"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    assert_int_equal(st.st_uid, 65534);
    expect(f, "ro/in", "file");
}

/* Long names as GNU tar and as pax write them, and names that are not ASCII. */
static void test_names(void **state)
{
    struct fixture *f = *state;
    struct buf out = { 0 }, name = { 0 }, pax = { 0 };

    for (int i = 0; i < 20; i++)
        buf_fmt(&name, "directory-%02d/", i);
    buf_fmt(&name, "file");
    tar_add(&out, &(struct tar_file){ "././@LongLink", 'L', name.p });
    tar_add(&out, &(struct tar_file){ "short", '0', "gnu" });
    buf_fmt(&pax, "%zu path=pax/%s\n", name.n + 14, name.p); /* the number counts itself */
    tar_add(&out, &(struct tar_file){ "pax", 'x', pax.p });
    tar_add(&out, &(struct tar_file){ "short", '0', "pax" });
    tar_add(&out, &(struct tar_file){ "pax", 'x',
                                      "16 path=gr\xc3\xbc\xc3\x9f"
                                      "e\n" });
    tar_add(&out, &(struct tar_file){ "short", '0', "utf" });
    tar_add(&out, &(struct tar_file){ "raw-\xff", '0', "raw" });
    tar_end(&out);
    assert_int_equal(unpack(f, buf_view(&out), true), 0);
    assert_true(str_is(get_text(f, in_top(f, arena_fmt(&f->a, "root/%s", name.p).p)), "gnu"));
    assert_true(str_is(get_text(f, in_top(f, arena_fmt(&f->a, "root/pax/%s", name.p).p)), "pax"));
    assert_true(str_is(get_text(f, in_top(f, "root/gr\xc3\xbc\xc3\x9f"
                                             "e")),
                       "utf"));
    assert_true(str_is(get_text(f, in_top(f, "root/raw-\xff")), "raw"));
    expect(f, "short", NULL);
    buf_done(&out);
    buf_done(&name);
    buf_done(&pax);
}

static struct str pax_line(struct fixture *f, const char *key, const char *value)
{
    size_t n = strlen(key) + strlen(value) + 3;

    n += n + 1 < 10 ? 1 : n + 2 < 100 ? 2 : n + 3 < 1000 ? 3 : 4;
    return arena_fmt(&f->a, "%zu %s=%s\n", n, key, value);
}

/* What does not fit into a header: in binary, as pax says, by another name. */
static void test_extras(void **state)
{
    struct fixture *f = *state;
    struct buf out = { 0 };
    struct stat st;
    char target[200], big[300];

    memset(target, 't', sizeof(target));
    target[199] = '\0';
    tar_add(&out, &(struct tar_file){ "././@LongLink", 'K', target });
    tar_add(&out, &(struct tar_file){ "link", '2', "short" });
    tar_add(&out, &(struct tar_file){ "pax", 'x', pax_line(f, "mtime", "-1.25").p });
    tar_add(&out, &(struct tar_file){ "old", '0', "x" });
    tar_add(&out, &(struct tar_file){ "pax", 'x', pax_line(f, "path", "").p }); /* as if it were not said */
    tar_add(&out, &(struct tar_file){ "plain", '0', "x" });
    tar_add(&out, &(struct tar_file){ "pax", 'g', pax_line(f, "path", "everybody").p });
    tar_add(&out, &(struct tar_file){ "mine/", '0', "" }); /* v7: a directory */
    tar_end(&out);
    if (unpack(f, buf_view(&out), false) < 0)
        fail_msg("%s", f->e.text);
    assert_int_equal(readlink(in_top(f, "root/link"), big, sizeof(big)), 199);
    assert_int_equal(stat(in_top(f, "root/old"), &st), 0);
    assert_int_equal(st.st_mtim.tv_sec, -2);
    assert_int_equal(st.st_mtim.tv_nsec, 750000000);
    expect(f, "plain", "file");
    expect(f, "mine", "dir");
    expect(f, "everybody", NULL);
    buf_done(&out);
}

/* Headers that are not what they should be: each is refused, and says why. */
static void test_bad_headers(void **state)
{
    static const struct {
        const char *line; /* of a pax header */
        const char *want;
    } cases[] = {
        { "99 path=x\n", "an invalid line" },     { "9 path=x", "an invalid line" },
        { "0 path=x\n", "an invalid line" },      { "path=x\n", "an invalid line" },
        { "7 path\n", "an invalid line" },        { "18446744073709551615 path=x\n", "an invalid line" },
        { "11 size=-1\n", "an invalid value" },   { "9 uid=xx\n", "an invalid value" },
        { "13 mtime=1.x\n", "an invalid value" }, { "28 size=9223372036854775807\n", "an invalid size" },
        { "22 GNU.sparse.major=1\n", "holes" },
    };
    struct fixture *f = *state;
    struct buf out = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf_reset(&out);
        tar_add(&out, &(struct tar_file){ "pax", 'x', cases[i].line });
        tar_add(&out, &(struct tar_file){ "f", '0', "x" });
        tar_end(&out);
        if (unpack(f, buf_view(&out), false) == 0 || !strstr(f->e.text, cases[i].want))
            fail_msg("case %zu: %s", i, f->e.text);
    }
    for (size_t i = 0; i < 2; i++) { /* a kind that nobody knows; GNU's files with holes */
        buf_reset(&out);
        tar_add(&out, &(struct tar_file){ "f", "ZS"[i], "x" });
        assert_int_equal(unpack(f, buf_view(&out), false), -1);
    }
    buf_reset(&out);
    for (int i = 0; i < 100; i++) /* headers of headers, and no end of them */
        tar_add(&out, &(struct tar_file){ "pax", 'x', "8 a=bcd\n" });
    assert_int_equal(unpack(f, buf_view(&out), false), -1);
    assert_non_null(strstr(f->e.text, "too many"));
    buf_reset(&out);
    tar_header(&out, &(struct tar_file){ "long", 'L', NULL }, (size_t)1 << 30);
    buf_repeat(&out, 'x', 4096);
    assert_int_equal(unpack(f, buf_view(&out), false), -1);
    assert_non_null(strstr(f->e.text, "1 MiB"));
    buf_done(&out);
}

/* Every way to cut or spoil an archive: an error or success, never anything else, and never outside. */
static void test_damaged(void **state)
{
    static const struct tar_file list[] = { { "a", '0', "hello" }, { "d/", '5', NULL }, { "d/l", '2', "../a" }, { 0 } };
    struct fixture *f = *state;
    struct str whole = tar_of(f, list);
    uint32_t seed = 1;

    for (size_t cut = 0; cut <= whole.n; cut += cut % 512 == 500 ? 12 : 100)
        (void)unpack(f, str_sub(whole, 0, cut), true);
    assert_int_equal(unpack(f, str_sub(whole, 0, 700), true), -1);
    assert_int_equal(unpack(f, STR(""), true), -1);
    assert_int_equal(unpack(f, STR("this is not an archive at all"), true), -1);
    assert_non_null(strstr(f->e.text, "not a tar archive"));
    for (int i = 0; i < 300; i++) {
        char *copy = (char *)arena_str(&f->a, whole).p;

        for (int k = 0; k < 3; k++) {
            seed = seed * 1664525 + 1013904223;
            copy[(seed >> 8) % 1536] = (char)(seed >> 3);
        }
        (void)unpack(f, (struct str){ copy, whole.n }, true);
    }
}

/* A size that no disk has. */
static void test_too_big(void **state)
{
    struct fixture *f = *state;
    struct buf out = { 0 };

    tar_header(&out, &(struct tar_file){ "huge", '0', NULL }, (size_t)7 << 30);
    buf_repeat(&out, '\0', 4096);
    if (unpack(f, buf_view(&out), false) == 0)
        fail_msg("went well");
    buf_reset(&out);
    tar_header(&out, &(struct tar_file){ "huge", '0', NULL }, 077777777777);
    assert_int_equal(unpack(f, buf_view(&out), false), -1);
    buf_done(&out);
}

/* A file system of one MiB: the error says what is the matter. */
static void test_full_disk(void **state)
{
    struct fixture *f = *state;
    struct buf text = { 0 };
    struct str bytes;
    char options[] = "size=1m";
    int status;
    pid_t pid;

    if (geteuid() != 0) {
        print_message("skipped: needs root\n");
        skip();
    }
    buf_repeat(&text, 'x', 700 << 10);
    bytes = tar_of(f, (struct tar_file[]){ { "a", '0', text.p }, { "b", '0', text.p }, { 0 } });
    assert_int_equal(mkdir(in_top(f, "root"), 0755), 0);
    pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("tmpfs", in_top(f, "root"), "tmpfs", 0, options) < 0)
            _exit(77);
        _exit(unpack(f, bytes, false) == 0 ? 1 : strstr(f->e.text, "disk is full") ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    buf_done(&text);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

/* Several parts are one, what follows them is not looked at, and what is cut off is refused. */
static void test_parts(void **state)
{
    struct fixture *f = *state;
    struct str whole = tar_of(f, (struct tar_file[]){ { "a", '0', "hello" }, { "b", '0', "again" }, { 0 } }), packed[2];
    autobuf both = { 0 };

    for (int i = 0; i < 2; i++) {
        const char *half = put_bytes(f, "half", i ? str_from(whole, 700) : str_sub(whole, 0, 700));

        if (!pack(f, "gzip", half, in_top(f, "half.gz")))
            skip();
        packed[i] = file_text(&f->a, AT_FDCWD, in_top(f, "half.gz"), 4096);
    }
    buf_str(&both, packed[0]);
    buf_str(&both, packed[1]);
    buf_str(&both, STR(" and more"));
    if (unpack(f, buf_view(&both), false) < 0)
        fail_msg("%s", f->e.text);
    assert_true(str_is(get_text(f, in_top(f, "root/b")), "again"));
    assert_int_equal(unpack(f, str_sub(packed[0], 0, packed[0].n - 12), false), -1);
    assert_non_null(strstr(f->e.text, "is truncated"));
    ((char *)packed[0].p)[packed[0].n - 6] ^= 1; /* of its checksum */
    assert_int_equal(unpack(f, packed[0], false), -1);
    assert_non_null(strstr(f->e.text, "gzip"));
}

static void test_packed(void **state)
{
    static const char *const programs[] = { "gzip", "xz", "bzip2", "zstd" };
    struct fixture *f = *state;
    const char *plain = put_bytes(f, "plain.tar", tar_of(f, (struct tar_file[]){ { "a", '0', "hello" }, { 0 } }));
    struct str want = str_of(digest_of(f, tar_of(f, (struct tar_file[]){ { "a", '0', "hello" }, { 0 } })));

    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        const char *packed = in_top(f, programs[i]);
        struct image_digest file, tar;
        struct image_tar_entry entry;
        struct image_tar *t;
        int fd;

        if (!pack(f, programs[i], plain, packed))
            continue; /* not installed */
        fd = open(packed, O_RDONLY | O_CLOEXEC);
        assert_int_equal(image_tar_open(fd, &t, &f->e), 0);
        assert_int_equal(image_tar_next(t, &entry, &f->e), 1);
        assert_int_equal(image_tar_next(t, &entry, &f->e), 0);
        assert_int_equal(image_tar_finish(t, &file, &tar, &f->e), 0);
        if (!str_is(want, tar.text) || !str_is(str_of(digest_of(f, get_text(f, packed))), file.text))
            fail_msg("%s: %s %s", programs[i], file.text, tar.text);
        image_tar_close(t);
        close(fd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kinds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_escapes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_whiteouts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_replaced_not_written, setup, teardown),
        cmocka_unit_test_setup_teardown(test_owners, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ordinary_user, setup, teardown),
        cmocka_unit_test_setup_teardown(test_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_extras, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_headers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
        cmocka_unit_test_setup_teardown(test_too_big, setup, teardown),
        cmocka_unit_test_setup_teardown(test_full_disk, setup, teardown),
        cmocka_unit_test_setup_teardown(test_packed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_parts, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
