/* box_wire.c - tests: a container over the wire and back; what is cut or wrong anywhere is refused */
#include "os/test/testing.h"

#include "node/container/box.h"
#include "os/wire.h"

#include <sys/resource.h>

static void fill(struct arena *a, struct box_spec *s)
{
    *s = (struct box_spec){ .name = STR("main"),
                            .cwd = STR("/w"),
                            .root = STR("/images/sha256:ab"),
                            .upper = STR("/state/x"),
                            .user = STR("app:grp"),
                            .uid = 4294967294,
                            .gid = -1,
                            .shm_bytes = (int64_t)1 << 40,
                            .oom_score_adj = -997,
                            .must_not_be_root = true,
                            .has_no_seccomp = true,
                            .has_tty = true };
    *vec_push(a, &s->argv) = STR("sh");
    *vec_push(a, &s->argv) = STR("");
    *vec_push(a, &s->argv) = STR("a \"b\"\n\x01 \xc3\xa4");
    *vec_push(a, &s->env) = STR("BYTES=\xff\xfe");
    *vec_push(a, &s->hidden) = STR("/hidden");
    *vec_push(a, &s->add_caps) = STR("ALL");
    *vec_push(a, &s->drop_caps) = STR("KILL");
    *vec_push(a, &s->groups) = 0;
    *vec_push(a, &s->groups) = 4294967294;
    *vec_push(a, &s->mounts) = (struct box_mount){ 7, STR("/data/x") };
    *vec_push(a, &s->mounts) = (struct box_mount){ 9, STR("/data/y") };
    *vec_push(a, &s->devices) = (struct box_device){ STR("/dev/a"), STR_NULL };
    *vec_push(a, &s->devices) = (struct box_device){ STR("/dev/a"), STR("/dev/b") };
    *vec_push(a, &s->limits) = (struct box_limit){ RLIMIT_NOFILE, 1024, RLIM_INFINITY };
}

static void test_round_trip(void **state)
{
    static const struct wire_msg message = { .fds = { 7, 9 }, .n_fds = 2 };
    autoarena a = { 0 };
    autobuf once = { 0 }, twice = { 0 };
    struct box_spec s, back;
    struct err e;

    (void)state;
    fill(&a, &s);
    box_encode(&once, &s);
    if (box_decode(&a, buf_view(&once), &message, &back, &e) < 0)
        fail_msg("%s", e.text);
    box_encode(&twice, &back);
    assert_true(str_eq(buf_view(&once), buf_view(&twice)));
    assert_int_equal(back.argv.n, 3);
    assert_true(str_eq(back.argv.v[2], s.argv.v[2]));
    assert_true(str_eq(back.env.v[0], STR("BYTES=\xff\xfe")));
    assert_int_equal(back.uid, 4294967294);
    assert_int_equal(back.gid, -1);
    assert_int_equal(back.mounts.v[1].fd, 9);
    assert_true(str_is(back.mounts.v[1].target, "/data/y"));
    assert_int_equal(back.limits.v[0].hard, RLIM_INFINITY);
    assert_int_equal(back.groups.v[1], 4294967294);
    assert_true(back.must_not_be_root && back.has_no_seccomp && back.has_tty && !back.is_privileged &&
                !back.has_host_pids);
    assert_int_equal(back.oom_score_adj, -997);
    assert_true(str_is(back.root, "/images/sha256:ab"));
}

/* One member spoiled before it is sent. */
static const struct {
    const char *name;
    size_t at;
    int64_t number; /* when there is no text */
    const char *text;
} bad[] = {
    { "uid", offsetof(struct box_spec, uid), 4294967295, NULL },
    { "uid", offsetof(struct box_spec, uid), -2, NULL },
    { "gid", offsetof(struct box_spec, gid), -2, NULL },
    { "shm_bytes", offsetof(struct box_spec, shm_bytes), -1, NULL },
    { "oom_score_adj", offsetof(struct box_spec, oom_score_adj), 5000, NULL },
    { "cwd", offsetof(struct box_spec, cwd), 0, "w" },
    { "root", offsetof(struct box_spec, root), 0, "../x" },
};

static enum err_code send(const struct box_spec *s, const char *name)
{
    static const struct wire_msg message = { .fds = { 7, 9 }, .n_fds = 2 };
    autoarena a = { 0 };
    autobuf bytes = { 0 };
    struct box_spec back;
    struct err e = { 0 };

    box_encode(&bytes, s);
    if (box_decode(&a, buf_view(&bytes), &message, &back, &e) == 0)
        return ERR_OK;
    assert_non_null(strstr(e.text, name));
    return e.code;
}

static void test_bad_members(void **state)
{
    autoarena a = { 0 };
    struct box_spec s;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        fill(&a, &s);
        if (bad[i].text)
            *(struct str *)((char *)&s + bad[i].at) = str_of(bad[i].text);
        else if (bad[i].at == offsetof(struct box_spec, oom_score_adj))
            s.oom_score_adj = (int)bad[i].number;
        else
            *(int64_t *)((char *)&s + bad[i].at) = bad[i].number;
        if (send(&s, bad[i].name) != ERR_INVALID)
            fail_msg("%s %lld %s: accepted", bad[i].name, (long long)bad[i].number, bad[i].text);
    }
}

static void test_bad_lists(void **state)
{
    static const char *const paths[] = { "/data/../x", "data/x", "/data//x", "/./x", "" };
    autoarena a = { 0 };
    struct box_spec s;

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        fill(&a, &s);
        s.mounts.v[0].target = str_of(paths[i]);
        assert_int_equal(send(&s, "mounts"), ERR_INVALID);
        fill(&a, &s);
        s.devices.v[1].host = str_of(paths[i]);
        assert_int_equal(send(&s, "devices"), ERR_INVALID);
    }
    fill(&a, &s);
    s.mounts.n = 1; /* a descriptor too many */
    assert_int_equal(send(&s, "mounts"), ERR_INVALID);
    fill(&a, &s);
    *vec_push(&a, &s.mounts) = (struct box_mount){ 10, STR("/data/z") }; /* and one too few */
    assert_int_equal(send(&s, "mounts"), ERR_INVALID);
    fill(&a, &s);
    s.limits.v[0].resource = 99;
    assert_int_equal(send(&s, "limits"), ERR_INVALID);
    fill(&a, &s);
    s.groups.v[0] = UINT32_MAX;
    assert_int_equal(send(&s, "groups"), ERR_INVALID);
    fill(&a, &s);
    s.argv.v[0] = STR("s\0h");
    assert_int_equal(send(&s, "argv"), ERR_INVALID);
    fill(&a, &s);
    assert_int_equal(send(&s, ""), ERR_OK);
}

/* Cut at any byte, or with one more, or with any byte another: refused, or something that can be sent again. */
static void test_bad_bytes(void **state)
{
    static const struct wire_msg message = { .fds = { 7, 9 }, .n_fds = 2 };
    autoarena a = { 0 };
    autobuf good = { 0 };
    struct box_spec s, back;

    fill(&a, &s);
    box_encode(&good, &s);
    for (size_t n = 0; n < good.n; n++)
        assert_int_equal(box_decode(&a, str_sub(buf_view(&good), 0, n), &message, &back, NULL), -1);
    for (size_t i = 0; i < good.n; i++) {
        autobuf once = { 0 };

        good.p[i] ^= 0x55;
        if (box_decode(&a, buf_view(&good), &message, &back, NULL) == 0) {
            box_encode(&once, &back);
            assert_true(str_eq(buf_view(&once), buf_view(&good)));
        }
        good.p[i] ^= 0x55;
    }
    buf_char(&good, 'x');
    assert_int_equal(box_decode(&a, buf_view(&good), &message, &back, NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_round_trip), cmocka_unit_test(test_bad_members),
                                        cmocka_unit_test(test_bad_lists), cmocka_unit_test(test_bad_bytes) };

    return cmocka_run_group_tests_name("box_wire", tests, NULL, NULL);
}
