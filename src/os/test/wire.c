/* wire.c - tests: messages arrive whole, with their descriptors, or not at all */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "os/wire.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

static int count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void pair_of(int ret[2])
{
    assert_int_equal(wire_pair(ret, NULL), 0);
}

static void fill_text(struct buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_char(out, (char)(i * 31 + i / 251));
}

static void test_sizes(void **state)
{
    static const size_t sizes[] = { 0, 1, 1000, WIRE_INLINE - 1, WIRE_INLINE, WIRE_INLINE + 1, 5 << 20, WIRE_MAX };
    static const size_t fds[] = { 0, 1, 3, WIRE_FDS };
    struct wire_in in = { 0 };
    int before = count_fds(), pair[2];

    pair_of(pair);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
        for (size_t k = 0; k < (sizes[i] < WIRE_MAX ? ARRAY_LEN(fds) : 1); k++) {
            struct wire_msg m = { .kind = (uint32_t)(i * 10 + k), .n_fds = fds[k] }, got = { 0 };
            autobuf text = { 0 };

            fill_text(&text, sizes[i]);
            m.payload = buf_view(&text);
            for (size_t n = 0; n < fds[k]; n++)
                m.fds[n] = n % 2 ? pair[0] : pair[1];
            assert_int_equal(wire_send(pair[0], &m, NULL), 0);
            assert_int_equal(wire_recv(pair[1], true, &in, &got, NULL), 1);
            if (got.kind != m.kind || !str_eq(got.payload, m.payload) || got.n_fds != fds[k])
                fail_msg("%zu bytes, %zu descriptors: got %zu bytes, %zu descriptors", sizes[i], fds[k], got.payload.n,
                         got.n_fds);
            for (size_t n = 0; n < fds[k]; n++)
                assert_int_equal(fcntl(got.fds[n], F_GETFD), FD_CLOEXEC);
            wire_close_fds(&got);
        }
    wire_in_done(&in);
    close(pair[0]);
    close(pair[1]);
    assert_int_equal(count_fds(), before);
}

static void test_too_big(void **state)
{
    struct wire_msg m = { .payload = { "", (size_t)WIRE_MAX + 1 } };
    struct err e;
    int pair[2];

    pair_of(pair);
    assert_int_equal(wire_send(pair[0], &m, &e), -1);
    assert_int_equal(e.code, ERR_TOO_BIG);
    m = (struct wire_msg){ .n_fds = WIRE_FDS + 1 };
    assert_int_equal(wire_send(pair[0], &m, &e), -1);
    assert_int_equal(e.code, ERR_TOO_BIG);
    close(pair[0]);
    close(pair[1]);
}

static void test_gone(void **state)
{
    struct wire_msg m = { .kind = 7, .payload = STR("last") }, got;
    struct wire_in in = { 0 };
    struct err e;
    int pair[2];

    pair_of(pair);
    assert_int_equal(wire_recv(pair[1], false, &in, &got, &e), 0);
    assert_int_equal(wire_send(pair[0], &m, NULL), 0);
    close(pair[0]);
    assert_int_equal(wire_recv(pair[1], false, &in, &got, &e), 1); /* what was sent before is there */
    assert_true(str_is(got.payload, "last"));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(wire_recv(pair[1], i == 0, &in, &got, &e), -1);
        assert_int_equal(e.code, ERR_GONE);
    }
    assert_int_equal(wire_send(pair[1], &m, &e), -1); /* and no SIGPIPE */
    assert_int_equal(e.code, ERR_GONE);
    assert_int_equal(wire_try(pair[1], &m, &e), -1);
    wire_in_done(&in);
    close(pair[1]);
}

/* Who goes with a message unread resets the connection; what it said before must not be lost by that. */
static void test_gone_unread(void **state)
{
    struct wire_msg m = { .kind = 1, .payload = STR("last") }, got;
    struct wire_in in = { 0 };
    struct err e;
    int pair[2];

    (void)state;
    pair_of(pair);
    assert_int_equal(wire_send(pair[0], &m, NULL), 0);
    assert_int_equal(wire_send(pair[1], &m, NULL), 0);
    close(pair[0]);
    assert_int_equal(wire_recv(pair[1], false, &in, &got, &e), 1);
    assert_true(str_is(got.payload, "last"));
    assert_int_equal(wire_recv(pair[1], false, &in, &got, &e), -1);
    assert_int_equal(e.code, ERR_GONE);
    close(pair[1]);
    wire_in_done(&in);
}

static void test_full(void **state)
{
    struct wire_msg m = { .kind = 1 }, got;
    struct wire_in in = { 0 };
    autobuf text = { 0 };
    int pair[2], sent = 0, taken = 0;

    pair_of(pair);
    fill_text(&text, 20000);
    m.payload = buf_view(&text);
    while (wire_try(pair[0], &m, NULL) == 1)
        sent++;
    assert_in_range(sent, 2, 1000);
    assert_int_equal(wire_recv(pair[1], false, &in, &got, NULL), 1);
    while (wire_recv(pair[1], false, &in, &got, NULL) == 1)
        taken++;
    assert_int_equal(taken, sent - 1);
    assert_int_equal(wire_try(pair[0], &m, NULL), 1);
    wire_in_done(&in);
    close(pair[0]);
    close(pair[1]);
}

/* Whatever else comes on the socket is refused, its descriptors are closed, and the next message is fine. */
static void test_nonsense(void **state)
{
    static const uint32_t magic = 0x50754d69;
    struct wire_msg good = { .kind = 3, .payload = STR("fine") }, got;
    struct wire_in in = { 0 };
    int before, pair[2];

    pair_of(pair);
    before = count_fds();
    for (int i = 0; i < 400; i++) {
        unsigned char bytes[64];
        bool has_fd = i % 5 != 0;
        size_t n = MAX_OF((size_t)i % sizeof(bytes), has_fd ? 0u : 1u); /* nothing at all would be the end */
        uint64_t size = i % 3 ? (uint64_t)i << (i % 60) : (uint64_t)WIRE_INLINE + 1;
        char control[CMSG_SPACE(sizeof(int))] = { 0 };
        struct iovec part = { bytes, n };
        struct msghdr h = { .msg_iov = &part, .msg_iovlen = 1 };
        autoclose int memfd = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING); /* and not sealed */
        struct err e;

        for (size_t k = 0; k < sizeof(bytes); k++)
            bytes[k] = (unsigned char)(i * 7 + (int)k);
        if (i % 2)
            memcpy(bytes, &magic, 4);
        memcpy(bytes + 8, &size, 8);
        assert_int_equal(ftruncate(memfd, WIRE_INLINE + 1), 0);
        if (has_fd) {
            h.msg_control = control;
            h.msg_controllen = sizeof(control);
            *CMSG_FIRSTHDR(&h) = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
            memcpy(CMSG_DATA(CMSG_FIRSTHDR(&h)), &memfd, sizeof(int));
        }
        assert_int_equal(sendmsg(pair[0], &h, 0), (ssize_t)n);
        int r = wire_recv(pair[1], true, &in, &got, &e);
        if (r == 1) /* by chance the right size */
            wire_close_fds(&got);
        else
            assert_int_equal(e.code, ERR_INVALID);
        assert_int_equal(wire_send(pair[0], &good, NULL), 0);
        assert_int_equal(wire_recv(pair[1], true, &in, &got, NULL), 1);
        assert_true(str_is(got.payload, "fine"));
    }
    assert_int_equal(count_fds(), before);
    wire_in_done(&in);
    close(pair[0]);
    close(pair[1]);
}

static void test_payload(void **state)
{
    autobuf out = { 0 };
    static const int64_t numbers[] = { 0, 1, -1, INT64_MAX, INT64_MIN };

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        wire_put_i64(&out, numbers[i]);
    wire_put_str(&out, STR(""));
    wire_put_str(&out, STR("a\0b"));
    wire_put_i64(&out, 2);
    wire_put_str(&out, STR("x"));
    wire_put_str(&out, STR("y"));
    for (size_t cut = 0; cut <= out.n; cut++) {
        struct wire_read r = { .rest = str_sub(buf_view(&out), 0, cut) };
        bool is_same = true;

        for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
            is_same &= wire_get_i64(&r) == numbers[i];
        is_same &= str_eq(wire_get_str(&r), STR(""));
        is_same &= str_eq(wire_get_str(&r), STR("a\0b"));
        is_same &= wire_get_count(&r, 8) == 2;
        is_same &= str_is(wire_get_str(&r), "x") && str_is(wire_get_str(&r), "y");
        assert_int_equal(wire_is_read(&r), cut == out.n);
        assert_int_equal(is_same, cut == out.n);
    }
}

/* Lengths that lie: nothing outside the text is read (the sanitizer looks). */
static void test_payload_lies(void **state)
{
    static const int64_t lies[] = { -1, 9, INT64_MAX, INT64_MIN, 1LL << 32 };

    for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
        autobuf out = { 0 };
        wire_put_i64(&out, lies[i]);
        buf_str(&out, STR("12345678"));
        struct wire_read r = { .rest = buf_view(&out) }, count = r;
        assert_int_equal(wire_get_str(&r).n, 0);
        assert_true(r.is_bad && !wire_is_read(&r));
        assert_int_equal(wire_get_count(&count, 8), 0);
        assert_true(count.is_bad);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),        cmocka_unit_test(test_too_big),     cmocka_unit_test(test_gone),
        cmocka_unit_test(test_full),         cmocka_unit_test(test_nonsense),    cmocka_unit_test(test_payload),
        cmocka_unit_test(test_payload_lies), cmocka_unit_test(test_gone_unread),
    };
    struct rlimit files = { 4096, 4096 };

    (void)setrlimit(RLIMIT_NOFILE, &files);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
