/* wire.c - fuzz: whatever comes over a shim's socket is a message or none, and leaves no descriptor open; what a
 * message says is read or refused, and what is read can be written and read again */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"
#include "node/shim/shim_internal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the socket ---- */

enum { IS_OURS = 1, HAS_MEMFD = 2, IS_SEALED = 4, HAS_FDS = 8, LIES = 16 };

static int lowest_free(void)
{
    int fd = dup(0);

    assert(fd >= 0);
    close(fd);
    return fd;
}

static void send_raw(int sock, unsigned how, struct str bytes)
{
    struct {
        uint32_t magic, kind;
        uint64_t size;
    } head = { 0x50754d69, how, (how & HAS_MEMFD ? (32 << 10) + 1 : bytes.n) + (how & LIES ? 1 : 0) };
    struct iovec parts[2] = { { &head, how & IS_OURS ? sizeof(head) : 0 },
                              { (void *)bytes.p, how & HAS_MEMFD ? 0 : bytes.n } };
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(2 * sizeof(int))];
    } control = { .space = { 0 } };
    struct msghdr h = { .msg_iov = parts, .msg_iovlen = 2 };
    autoclose int memfd = how & HAS_MEMFD ? memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
    int fds[2] = { memfd >= 0 ? memfd : sock, sock };
    size_t n = (how & HAS_FDS ? 1 : 0) + (memfd >= 0);

    if (memfd >= 0)
        assert(ftruncate(memfd, (32 << 10) + 1) == 0);
    if (how & IS_SEALED && memfd >= 0)
        assert(fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0);
    if (n) {
        h.msg_control = &control;
        h.msg_controllen = CMSG_SPACE(n * sizeof(int));
        control.head = (struct cmsghdr){ CMSG_LEN(n * sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
        memcpy(CMSG_DATA(&control.head), fds, n * sizeof(int));
    }
    (void)sendmsg(sock, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* One byte says how, one how much. */
static void try_socket(struct str input)
{
    struct wire_in in = { 0 };
    struct wire_msg got = { 0 };
    int before = lowest_free(), pair[2];
    struct err e;

    assert(wire_pair(pair, NULL) == 0);
    for (int i = 0; i < 8 && input.n >= 2; i++) {
        size_t n = MIN_OF((size_t)(uint8_t)input.p[1], input.n - 2);
        int r;

        send_raw(pair[0], (uint8_t)input.p[0], str_sub(input, 2, n));
        input = str_from(input, 2 + n);
        r = wire_recv(pair[1], false, &in, &got, &e);
        assert(r == 0 || r == 1 || e.code == ERR_INVALID || e.code == ERR_GONE);
        if (r == 1)
            wire_close_fds(&got);
    }
    close(pair[0]);
    close(pair[1]);
    wire_in_done(&in);
    assert(lowest_free() == before);
}

/* ---- what a message says ---- */

static void try_options(struct str text)
{
    autoarena a = { 0 };
    autobuf once = { 0 }, twice = { 0 };
    struct shim_options opt;

    if (shim_get_options(&a, text, &opt, NULL) < 0)
        return;
    shim_put_options(&once, &opt);
    assert(shim_get_options(&a, buf_view(&once), &opt, NULL) == 0);
    shim_put_options(&twice, &opt);
    assert(str_eq(buf_view(&once), buf_view(&twice)));
}

static void try_event(struct str text)
{
    autobuf once = { 0 }, twice = { 0 };
    struct shim_event ev = { .kind = SHIM_ENDED, .net_fd = -1, .nl_fd = -1 };

    if (shim_get_event(text, &ev) < 0)
        return;
    shim_put_event(&once, &ev);
    assert(shim_get_event(buf_view(&once), &ev) == 0);
    shim_put_event(&twice, &ev);
    assert(str_eq(buf_view(&once), buf_view(&twice)));
}

static void try_box(struct str text)
{
    struct wire_msg m = { .fds = { 0, 1, 2 } };
    autoarena a = { 0 };
    autobuf once = { 0 }, twice = { 0 };
    struct box_spec spec;

    for (m.n_fds = 0; m.n_fds <= 3; m.n_fds++) {
        if (box_decode(&a, text, &m, &spec, NULL) < 0)
            continue;
        assert(spec.mounts.n == m.n_fds);
        buf_reset(&once);
        buf_reset(&twice);
        box_encode(&once, &spec);
        assert(box_decode(&a, buf_view(&once), &m, &spec, NULL) == 0);
        box_encode(&twice, &spec);
        assert(str_eq(buf_view(&once), buf_view(&twice)));
    }
}

static void try_probe(struct str text)
{
    autoarena a = { 0 };
    autobuf once = { 0 }, twice = { 0 };
    struct probe_target target;

    if (probe_decode(&a, text, &target, NULL) < 0)
        return;
    probe_encode(&once, &target);
    assert(probe_decode(&a, buf_view(&once), &target, NULL) == 0);
    probe_encode(&twice, &target);
    assert(str_eq(buf_view(&once), buf_view(&twice)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = { (const char *)data, size };

    try_socket(input);
    try_options(input);
    try_event(input);
    try_box(input);
    try_probe(input);
    return 0;
}
