/* What is hidden of the host, and what is left of /etc/shadow. */
#include "os/test/testing.h"

#include "node/container/hide.h"

static void shadow_has_no_passwords(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "root:$6$salt$hash:1:0:99999:7:::\n", "root:*:1:0:99999:7:::\n" },
        { "a:!:1::::::\nb:*:2::::::\n", "a:*:1::::::\nb:*:2::::::\n" },
        { "c:$y$j9T$x:3::::::", "c:*:3::::::\n" },                          /* without a last newline */
        { "root:x:0:0:root:/root:/bin/bash\n", "root:*:1:0:99999:7:::\n" }, /* of /etc/passwd */
        { "nonsense\n\n:x:1\n", "" },
        { "", "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf out = { 0 };

        hide_shadow(&out, str_of(cases[i].text));
        buf_char(&out, '\0');
        assert_string_equal(out.p, cases[i].want);
    }
}

/* ---- a home directory of the test's own ---- */

struct world {
    struct arena arena;
    const char *top, *home;
    int over;
};

static const char *in(struct world *w, const char *fmt, const char *name)
{
    return arena_fmt(&w->arena, fmt, w->top, name).p;
}

/* Home and way to it are closed to others, here as on most machines. */
static const struct {
    const char *name;
    mode_t mode;
} made[] = {
    { "home/token", S_IFREG | 0600 },
    { "home/deep", S_IFDIR | 0700 },
    { "home/deep/private", S_IFDIR | 0700 },
    { "home/deep/private/token", S_IFREG | 0400 },
    { "home/deep/data", S_IFREG | 0644 },
    { "home/deep/tool", S_IFREG | 0700 },
    { "home/deep/train.py", S_IFREG | 0600 },
    { "home/venv", S_IFDIR | 0700 },
    { "home/venv/pyvenv.cfg", S_IFREG | 0600 },
    { "home/venv/data.txt", S_IFREG | 0600 },
    { "home/.cargo/bin/tool", S_IFREG | 0755 },
    { "home/.cargo/credentials", S_IFREG | 0644 },
    { "closed", S_IFDIR | 0750 },
    { "closed/file", S_IFREG | 0644 },
    { "open", S_IFDIR | 0711 },
    { "open/file", S_IFREG | 0644 },
    { "open/closed-file", S_IFREG | 0640 },
};

static void world_make(struct world *w)
{
    char top[] = "/var/tmp/test-secrets-XXXXXX";

    *w = (struct world){ 0 };
    assert_non_null(mkdtemp(top));
    w->top = arena_str(&w->arena, str_of(top)).p;
    w->home = in(w, "%s/%s", "home");
    for (const char *const *name = (const char *const[]){ "home", "home/.ssh", "home/.config", "home/.config/gcloud",
                                                          "home/.cargo", "home/.cargo/bin", "elsewhere", "over", NULL };
         *name; name++)
        assert_int_equal(mkdir(in(w, "%s/%s", *name), 0750), 0);
    for (size_t i = 0; i < ARRAY_LEN(made); i++) {
        const char *path = in(w, "%s/%s", made[i].name);

        if (S_ISDIR(made[i].mode))
            assert_int_equal(mkdir(path, 0700), 0);
        else
            close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        assert_int_equal(chmod(path, made[i].mode & 07777), 0);
    }
    assert_int_equal(symlink("../elsewhere", in(w, "%s/%s", "home/.kube")), 0);
    w->over = open(in(w, "%s/%s", "over"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(w->over >= 0);
    assert_int_equal(setenv("HOME", w->home, 1), 0);
}

static void world_done(struct world *w)
{
    int above = open("/var/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);

    close(w->over);
    assert_int_equal(tree_remove(above, strrchr(w->top, '/') + 1, NULL), 0);
    close(above);
    arena_done(&w->arena);
}

/* S_IFMT of what lies over a path; 0: nothing. */
static mode_t over(struct world *w, const char *name)
{
    struct stat st;

    return fstatat(w->over, in(w, "%s/%s", name) + 1, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : st.st_mode & S_IFMT;
}

static bool has(const struct hidden *s, const char *path)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_is(s->v[i], path))
            return true;
    return false;
}

static void hides_a_home(void **state)
{
    static const struct {
        const char *name;
        mode_t want;
    } cases[] = {
        { "home/.ssh", S_IFCHR },
        { "home/.config/gcloud", 0 },
        { "home/.kube", S_IFCHR },
        { "elsewhere", S_IFCHR }, /* where the link leads */
        { "home/.config", S_IFCHR },
        { "home/.cargo", S_IFDIR },
        { "home/.cargo/bin", 0 },
        { "home/.cargo/credentials", S_IFCHR },
        { "home/.aws", 0 },
        { "state", S_IFCHR }, /* not there yet */
        { "home/token", S_IFCHR },
        { "home/deep/private/token", S_IFCHR },
        { "home/deep/data", S_IFCHR },
        { "home/deep/tool", 0 },
        { "home/deep/train.py", 0 },
        { "home/venv", 0 },
        { "closed", S_IFCHR },
        { "open/closed-file", S_IFCHR },
        { "open/file", 0 },
        { "open", S_IFDIR },
        { "state/claims", 0 },
    };
    struct world w;
    struct hidden hidden;
    struct stat st;
    struct err e;

    (void)state;
    if (geteuid() != 0)
        skip();
    world_make(&w);
    const struct str own[] = { str_of(in(&w, "%s/%s", "state/claims")), str_of(in(&w, "%s/%s", "state")),
                               str_of(in(&w, "%s/%s", "state")) };
    if (hide_secrets(&w.arena, w.over, &(struct hide_options){ own, ARRAY_LEN(own), false, true }, &hidden, &e) < 0)
        fail_msg("%s", e.text);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (over(&w, cases[i].name) != cases[i].want)
            fail_msg("%s: %o", cases[i].name, over(&w, cases[i].name));
    assert_true(has(&hidden, in(&w, "%s/%s", "elsewhere")));
    assert_false(has(&hidden, in(&w, "%s/%s", "home/.cargo")));
    assert_int_equal(fstatat(w.over, w.home + 1, &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0750); /* as on the host */
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shadow_has_no_passwords),
        cmocka_unit_test(hides_a_home),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
