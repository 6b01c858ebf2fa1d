/* wire.c - whole messages with descriptors over a pair of sockets
 *
 * On the socket: a header, then the payload; or, when it is long, a memfd as the first descriptor. The memfd is sealed
 * by its sender and its seals are looked at, so it cannot shrink while it is read.
 */
#include "os/wire.h"

#include "base/util.h"
#include "os/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

enum {
    MAGIC = 0x50754d69,
    KEEP = 256 << 10, /* a shim stays small after a long message */
    SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE,
    CONTROL = CMSG_SPACE((WIRE_FDS + 1) * sizeof(int)),
};

struct wire_header {
    uint32_t magic, kind;
    uint64_t size; /* of the payload, wherever it is */
};

union control { /* aligned for the kernel */
    struct cmsghdr head;
    char space[CONTROL];
};

int wire_pair(int ret[2], struct err *e)
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) < 0)
        return err_errno(e, "create a socket pair");
    return 0;
}

void wire_patience(int fd, int seconds)
{
    struct timeval patience = { .tv_sec = seconds };

    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)); /* else it waits, as before */
}

/* ---- sending ---- */

static int memfd_of(struct str s, struct err *e)
{
    int fd = memfd_create("message", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return err_errno(e, "create a memory file for a message");
    if (write_all(fd, s) == 0 && fcntl(fd, F_ADD_SEALS, SEALS) == 0)
        return fd;
    (void)err_errno(e, "create a memory file for a message");
    close(fd);
    return -1;
}

static void wire_attach(struct msghdr *h, union control *c, int memfd, const struct wire_msg *m)
{
    size_t n = m->n_fds + (memfd >= 0);
    unsigned char *at;

    if (!n)
        return;
    memset(c, 0, CMSG_SPACE(n * sizeof(int)));
    h->msg_control = c;
    h->msg_controllen = CMSG_SPACE(n * sizeof(int));
    CMSG_FIRSTHDR(h)->cmsg_level = SOL_SOCKET;
    CMSG_FIRSTHDR(h)->cmsg_type = SCM_RIGHTS;
    CMSG_FIRSTHDR(h)->cmsg_len = CMSG_LEN(n * sizeof(int));
    at = CMSG_DATA(CMSG_FIRSTHDR(h));
    if (memfd >= 0)
        memcpy(at, &memfd, sizeof(int));
    if (m->n_fds)
        memcpy(at + (memfd >= 0 ? sizeof(int) : 0), m->fds, m->n_fds * sizeof(int));
}

static int transmit(int fd, const struct wire_msg *m, int flags, struct err *e)
{
    struct wire_header head = { MAGIC, m->kind, m->payload.n };
    bool is_long = m->payload.n > WIRE_INLINE;
    struct iovec parts[2] = { { &head, sizeof(head) }, { (void *)m->payload.p, is_long ? 0 : m->payload.n } };
    struct msghdr h = { .msg_iov = parts, .msg_iovlen = 2 };
    union control control;
    ssize_t n;

    if (m->payload.n > WIRE_MAX || m->n_fds > WIRE_FDS)
        return err_set(e, ERR_TOO_BIG, "message of %zu bytes and %zu descriptors exceeds the limits of %d and %d",
                       m->payload.n, m->n_fds, WIRE_MAX, WIRE_FDS);
    autoclose int memfd = is_long ? memfd_of(m->payload, e) : -1;
    if (is_long && memfd < 0)
        return -1;
    wire_attach(&h, &control, memfd, m);
    do
        n = sendmsg(fd, &h, MSG_NOSIGNAL | flags);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return 1;
    if (errno == EAGAIN)
        return 0;
    if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN)
        return err_set(e, ERR_GONE, "the other side has closed the connection");
    return err_errno(e, "send a message");
}

int wire_send(int fd, const struct wire_msg *m, struct err *e)
{
    int r = transmit(fd, m, 0, e);

    if (r == 0) /* see wire_patience() */
        return err_set(e, ERR_IO, "the other side does not read its messages");
    return r < 0 ? -1 : 0;
}

int wire_try(int fd, const struct wire_msg *m, struct err *e)
{
    return transmit(fd, m, MSG_DONTWAIT, e);
}

/* ---- receiving ---- */

void wire_in_done(struct wire_in *in)
{
    buf_done(&in->payload);
}

void wire_close_fds(struct wire_msg *m)
{
    for (size_t i = 0; i < m->n_fds; i++)
        if (m->fds[i] >= 0)
            close(m->fds[i]);
    m->n_fds = 0;
}

struct taken {
    int fds[WIRE_FDS + 1];
    size_t n;
};

static void take_fds(struct msghdr *h, struct taken *t)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || n > ARRAY_LEN(t->fds) - t->n)
            continue; /* there is room for one such part only, so this cannot lose any */
        memcpy(t->fds + t->n, CMSG_DATA(c), n * sizeof(int));
        t->n += n;
    }
}

static int read_memfd(int fd, uint64_t size, struct buf *out, struct err *e)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0 || (uint64_t)st.st_size != size)
        return err_set(e, ERR_INVALID, "message without its payload");
    if (lseek(fd, 0, SEEK_SET) < 0 || read_all(fd, size, out) != 0 || out->n != size)
        return err_errno(e, "read a message");
    return 0;
}

struct wire_arrival {
    struct wire_header head;
    size_t got; /* bytes after the header, in wire_in.payload */
    bool was_cut;
    struct taken fds;
};

/* A long payload comes in the first descriptor. */
static int wire_unpack(const struct wire_arrival *from, struct wire_in *in, struct wire_msg *ret, struct err *e)
{
    const struct wire_header *head = &from->head;
    const struct taken *t = &from->fds;
    size_t skip = 0;

    if (head->magic != MAGIC || from->was_cut || head->size > WIRE_MAX)
        return err_set(e, ERR_INVALID, "invalid message header");
    if (head->size > WIRE_INLINE) {
        buf_reset(&in->payload);
        if (!t->n || from->got)
            return err_set(e, ERR_INVALID, "message without its payload");
        if (read_memfd(t->fds[0], head->size, &in->payload, e) < 0)
            return -1;
        skip = 1;
    } else if (from->got != head->size) {
        return err_set(e, ERR_INVALID, "message has %zu bytes, its header says %llu", from->got,
                       (unsigned long long)head->size);
    }
    if (t->n - skip > WIRE_FDS)
        return err_set(e, ERR_INVALID, "message with too many descriptors");
    ret->kind = head->kind;
    ret->payload = buf_view(&in->payload);
    ret->n_fds = t->n - skip;
    if (ret->n_fds)
        memcpy(ret->fds, t->fds + skip, ret->n_fds * sizeof(int));
    if (skip)
        close(t->fds[0]);
    return 1;
}

int wire_recv(int fd, bool waits, struct wire_in *in, struct wire_msg *ret, struct err *e)
{
    struct wire_arrival a = { .got = 0 };
    union control control;
    bool was_reset = false;
    ssize_t n = 0;

    if (in->payload.cap > KEEP)
        buf_done(&in->payload);
    buf_reset(&in->payload);
    struct iovec parts[2] = { { &a.head, sizeof(a.head) }, { buf_reserve(&in->payload, WIRE_INLINE), WIRE_INLINE } };
    struct msghdr h = { .msg_iov = parts, .msg_iovlen = 2, .msg_control = &control, .msg_controllen = sizeof(control) };

    /* A peer that closes with unread messages causes an error, which the kernel reports once, before the messages that
     * are still queued. */
    do {
        was_reset |= n < 0 && errno == ECONNRESET;
        n = recvmsg(fd, &h, MSG_CMSG_CLOEXEC | (waits ? 0 : MSG_DONTWAIT));
    } while (n < 0 && (errno == EINTR || (errno == ECONNRESET && !was_reset)));
    if (n < 0 && errno == EAGAIN)
        return 0;
    if (n < 0 && errno != ECONNRESET)
        return err_errno(e, "receive a message");
    if (n >= 0)
        take_fds(&h, &a.fds);
    if (n < 0 || (n == 0 && !a.fds.n)) /* a message may be descriptors alone; 0 without them is the end */
        return err_set(e, ERR_GONE, "the other side has closed the connection");
    a.got = in->payload.n = (size_t)n > sizeof(a.head) ? (size_t)n - sizeof(a.head) : 0;
    a.was_cut = h.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
    in->payload.p[in->payload.n] = '\0';
    if (wire_unpack(&a, in, ret, e) == 1)
        return 1;
    for (size_t i = 0; i < a.fds.n; i++)
        close(a.fds.fds[i]);
    return -1;
}

/* ---- payloads ---- */

void wire_put_i64(struct buf *out, int64_t v)
{
    buf_append(out, &v, sizeof(v)); /* one machine, one byte order */
}

void wire_put_str(struct buf *out, struct str s)
{
    wire_put_i64(out, (int64_t)s.n);
    buf_str(out, s);
}

int64_t wire_get_i64(struct wire_read *r)
{
    int64_t v;

    if (r->is_bad || r->rest.n < sizeof(v)) {
        r->is_bad = true;
        return 0;
    }
    memcpy(&v, r->rest.p, sizeof(v));
    r->rest = str_from(r->rest, sizeof(v));
    return v;
}

struct str wire_get_str(struct wire_read *r)
{
    int64_t n = wire_get_i64(r);
    struct str s;

    if (r->is_bad || n < 0 || (uint64_t)n > r->rest.n) {
        r->is_bad = true;
        return STR_NULL;
    }
    s = str_sub(r->rest, 0, (size_t)n);
    r->rest = str_from(r->rest, (size_t)n);
    return s;
}

size_t wire_get_count(struct wire_read *r, size_t size)
{
    int64_t n = wire_get_i64(r);

    if (n >= 0 && (uint64_t)n <= r->rest.n / size)
        return (size_t)n;
    r->is_bad = true;
    return 0;
}

bool wire_is_read(const struct wire_read *r)
{
    return !r->is_bad && r->rest.n == 0;
}

/* ---- plain bytes with one descriptor ---- */

union one_fd { /* aligned for the kernel */
    struct cmsghdr head;
    char space[CMSG_SPACE(sizeof(int))];
};

int wire_send_fd(int sock, const void *p, size_t n, int fd, int flags)
{
    union one_fd control = { 0 };
    struct iovec bytes = { (void *)p, n };
    struct msghdr m = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
    };

    *CMSG_FIRSTHDR(&m) = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
    memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &fd, sizeof(fd));
    return sendmsg(sock, &m, flags | MSG_NOSIGNAL) == (ssize_t)n ? 0 : -1;
}

ssize_t wire_recv_fd(int sock, void *p, size_t n, int flags, int *ret_fd)
{
    union one_fd control = { 0 };
    struct iovec bytes = { p, n };
    struct msghdr m = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
    };
    ssize_t got = recvmsg(sock, &m, flags | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&m) : NULL;

    *ret_fd = -1;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
    return got;
}
