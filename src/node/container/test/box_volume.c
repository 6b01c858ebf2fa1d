/* box_volume.c - volumes and images: where they show, and that links cannot lead them elsewhere */
#include "node/container/test/boxes.h"

/* ---- volumes ---- */

static const char *make_volume(struct fixture *f, const char *name)
{
    const char *dir = arena_fmt(&f->a, "%s/%s", f->dir, name).p;

    assert_int_equal(mkdir(dir, 0755), 0);
    write_text(arena_fmt(&f->a, "%s/file", dir).p, "of the volume\n");
    return dir;
}

static void test_volumes(void **state)
{
    struct fixture *f = *state;
    const char *dir, *file;
    char text[32];
    FILE *out;

    NEEDS_BOX();
    dir = make_volume(f, "vol");
    file = arena_fmt(&f->a, "%s/file", dir).p;
    add_volume(f, dir, false, "/data/deep");
    add_volume(f, dir, true, "/fixed");
    add_volume(f, file, true, "/etc/one.conf");
    add_volume(f, file, false, "/fixed/file"); /* over a file of another mount */
    add_volume(f, dir, false, "/dev/shm");
    add_volume(f, dir, true, "/var/lib/pumice-test/deep"); /* where an ordinary user could not make a directory */
    expect(f,
           "ls -d /var/lib/dpkg; cat /var/lib/pumice-test/deep/file; cat /etc/one.conf /fixed/file; (echo x "
           ">/etc/one.conf) 2>/dev/null || echo no; touch /fixed/x 2>/dev/null || echo no; "
           "echo new >/data/deep/new; ls /data/deep /dev/shm",
           "/var/lib/dpkg\nof the volume\nof the volume\nof the "
           "volume\nno\nno\n/data/deep:\nfile\nnew\n\n/dev/shm:\nfile\nnew\n",
           0);
    out = fopen(arena_fmt(&f->a, "%s/new", dir).p, "re");
    assert_non_null(out);
    assert_non_null(fgets(text, sizeof(text), out));
    (void)fclose(out);
    assert_string_equal(text, "new\n");
}

static void test_bad_volumes(void **state)
{
    static const struct {
        const char *name, *target, *text;
    } cases[] = {
        { "in /proc", "/proc/self/attr", "/proc" },
        { "over the root", "/", "over the root" },
        { "a directory over a file", "/etc/passwd", "is not a directory" },
        { "below a file", "/etc/passwd/x", "/etc/passwd/x" },
    };

    NEEDS_BOX();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        void *s = NULL;

        assert_int_equal(box_setup(&s), 0);
        set_argv(s, (const char *const[]){ "true", NULL });
        add_volume(s, make_volume(s, "vol"), false, cases[i].target);
        expect_failure(s, cases[i].name, "CreateContainerError", cases[i].text);
        box_teardown(&s);
    }
}

/* ---- an image ---- */

static void make_each(const char *base, const char *const *names)
{
    char path[200];

    for (size_t i = 0; names[i]; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", base, names[i]);
        assert_int_equal(mkdir(path, 0755), 0);
    }
}

/* A root of busybox and what it is linked with. False: no busybox here. */
static bool make_image(struct fixture *f)
{
    const char *dir = arena_fmt(&f->a, "%s/im:age", f->dir).p; /* a colon separates layers in an overlay's options */
    char command[1000];

    if (access("/bin/busybox", X_OK) < 0)
        return false;
    assert_int_equal(mkdir(dir, 0755), 0);
    make_each(dir, (const char *const[]){ "bin", "etc", "inside", NULL });
    (void)snprintf(
        command, sizeof(command),
        "cp /bin/busybox '%s/bin/busybox' && ln -s busybox '%s/bin/sh' && for l in $(ldd /bin/busybox 2>/dev/null | "
        "grep -o '/lib[^ ]*'); do mkdir -p '%s'${l%%/*} && cp $l '%s'$l; done",
        dir, dir, dir, dir);
    assert_int_equal(system(command), 0);
    write_text(arena_fmt(&f->a, "%s/etc/passwd", dir).p,
               "root:x:0:0::/home/root:/bin/sh\napp:x:77:78::/home/app:/bin/sh\n");
    write_text(arena_fmt(&f->a, "%s/etc/group", dir).p, "root:x:0:\napps:x:78:\nextra:x:79:other,app\n");
    f->spec.root = str_of(dir);
    return true;
}

#define NEEDS_IMAGE(f)                                                                                                 \
    if (!make_image(f)) {                                                                                              \
        print_message("skipped: no busybox\n");                                                                        \
        skip();                                                                                                        \
    }

static void test_image(void **state)
{
    struct fixture *f = *state;

    NEEDS_BOX();
    NEEDS_IMAGE(f);
    expect(
        f,
        "busybox ls / | busybox grep -v lib | busybox tr '\\n' ' '; echo $HOME; echo x >/inside/x; busybox test -e "
        "/srv || echo "
        "no srv; busybox head -c2 /dev/zero | busybox wc -c; busybox grep -c . /proc/1/status >/dev/null && echo proc",
        "bin dev etc inside proc sys /home/root\nno srv\n2\nproc\n", 0);
    expect(f, "busybox ls /inside", "", 0);
}

static void test_image_user(void **state)
{
    struct fixture *f = *state;

    NEEDS_BOX();
    NEEDS_IDS();
    NEEDS_IMAGE(f);
    f->spec.user = STR("app");
    expect(f, "busybox id -u; busybox id -G; echo $HOME", "77\n78 79\n/home/app\n", 0);
    f->spec.user = STR("app:extra");
    expect(f, "busybox id -g", "79\n", 0);
}

/* Links of an image cannot lead a mount out of it. */
static void test_image_links(void **state)
{
    static const struct {
        const char *target, *to;
    } links[] = {
        { "/l1", "/srv" },
        { "/l2", "../../../../../../srv" },
        { "/l3", "/../srv/secret" },
        { "/l4", "/proc/1/root/srv" },
        { "/l5", "inside/../../srv" },
    };
    struct fixture *f = *state;
    struct stat st;

    NEEDS_BOX();
    NEEDS_IMAGE(f);
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        void *s = NULL;
        struct result res;
        const char *vol;

        assert_int_equal(symlink(links[i].to, arena_fmt(&f->a, "%s%s", f->spec.root.p, links[i].target).p), 0);
        assert_int_equal(box_setup(&s), 0);
        vol = make_volume(s, "vol");
        ((struct fixture *)s)->spec.root = f->spec.root;
        add_volume(s, vol, false, arena_fmt(&f->a, "%s/made/here", links[i].target).p);
        set_script(s, arena_fmt(&f->a, "echo ok >%s/made/here/seen", links[i].target).p);
        run_box(s, &res);
        /* Inside, or refused; never on the host. */
        if (res.first.kind != BOX_FAILED && stat(arena_fmt(&f->a, "%s/seen", vol).p, &st) < 0)
            fail_msg("%s: the volume is not where it should be: %s", links[i].target, res.out);
        if (stat("/srv/made", &st) == 0 || stat("/srv/secret/made", &st) == 0)
            fail_msg("%s leads out of the image", links[i].target);
        box_teardown(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOX_TEST(test_volumes),    BOX_TEST(test_bad_volumes), BOX_TEST(test_image),
        BOX_TEST(test_image_user), BOX_TEST(test_image_links),
    };

    return boxes_main("box_volume", tests, ARRAY_LEN(tests));
}
