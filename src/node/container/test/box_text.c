/* box_text.c - a container's description as text and back; bad text is refused */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "node/container/box.h"

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
    static const int fds[] = { 7, 9 };
    autoarena a = { 0 };
    autobuf once = { 0 }, twice = { 0 };
    struct box_spec s, back;
    struct err e;

    (void)state;
    fill(&a, &s);
    box_encode(&once, &s);
    if (box_decode(&a, buf_view(&once), fds, 2, &back, &e) < 0)
        fail_msg("%s", e.text);
    box_encode(&twice, &back);
    assert_string_equal(once.p, twice.p);
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

/* One member of good text replaced. */
static const struct {
    const char *from, *to;
} bad[] = {
    { "\"uid\":4294967294", "\"uid\":4294967295" },
    { "\"uid\":4294967294", "\"uid\":\"0\"" },
    { "\"gid\":-1", "\"gid\":-2" },
    { "\"shm\":", "\"mhs\":" },
    { "\"oom\":-997", "\"oom\":5000" },
    { "\"cwd\":\"/w\"", "\"cwd\":\"w\"" },
    { "\"tty\":true", "\"tty\":1" },
    { "\"/data/x\"", "\"/data/../x\"" },
    { "\"/data/x\"", "\"data/x\"" },
    { "\"/data/x\"", "\"/data//x\"" },
    { "\"/data/x\",\"/data/y\"", "\"/data/x\"" },
    { "\"resource\":7", "\"resource\":99" },
    { "\"soft\":\"1024\"", "\"soft\":\"-1\"" },
    { "\"/dev/b\"", "\"../b\"" },
    { "\"groups\":[0,", "\"groups\":[-5," },
    { "\"argv\":[\"sh\"", "\"argv\":[7" },
    { "\"argv\":[\"sh\"", "\"argv\":[\"s\\u0000h\"" },
    { "[\"QllURVM9//4=\"]", "[\"***\"]" },
    { "\"hidden\":[\"/hidden\"]", "\"hidden\":{}" },
    { "{\"name\"", "[\"name\"" },
};

static void test_bad_text(void **state)
{
    static const int fds[] = { 7, 9 };
    autoarena a = { 0 };
    autobuf good = { 0 };
    struct box_spec s, back;

    (void)state;
    fill(&a, &s);
    box_encode(&good, &s);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const char *at = strstr(good.p, bad[i].from);
        autobuf text = { 0 };
        struct err e = { 0 };

        if (!at)
            fail_msg("no %s in %s", bad[i].from, good.p);
        buf_append(&text, good.p, (size_t)(at - good.p));
        buf_str(&text, str_of(bad[i].to));
        buf_str(&text, str_of(at + strlen(bad[i].from)));
        if (box_decode(&a, buf_view(&text), fds, 2, &back, &e) == 0 || e.code != ERR_INVALID)
            fail_msg("%s: accepted", bad[i].to);
    }
    assert_int_equal(box_decode(&a, buf_view(&good), fds, 1, &back, NULL), -1); /* a descriptor too few */
    assert_int_equal(box_decode(&a, STR(""), NULL, 0, &back, NULL), -1);
    assert_int_equal(box_decode(&a, STR("null"), NULL, 0, &back, NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_round_trip), cmocka_unit_test(test_bad_text) };

    return cmocka_run_group_tests_name("box_text", tests, NULL, NULL);
}
