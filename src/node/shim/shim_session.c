/* shim_session.c - commands and connections with a client at the other end of their descriptors
 *
 * Their data does not pass through the shim. Their number is lower than that of all tasks, so that clients cannot
 * keep probes from running.
 */
#include "node/shim/shim_internal.h"

#include "base/util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

enum { RELAY_BYTES = 64 << 10 };

static struct shim_task *session_new(struct shim_pod *p, uint64_t id, int *ret_end)
{
    struct shim_task *s;
    int n = 0;

    LIST_FOREACH(struct shim_task, j, &p->tasks, link)
        n += j->is_session;
    if (n >= SHIM_SESSIONS_MAX) {
        task_refuse(p, id, "too many commands are running");
        return NULL;
    }
    s = task_new(p, id, 0, ret_end);
    if (s) {
        s->is_session = true;
        s->due_ms = INT64_MAX;
    }
    return s;
}

/* Terminal programs need TERM; the container may have been started without. */
static void name_terminal(struct arena *a, struct box_spec *spec)
{
    VEC_FOREACH(var, &spec->env)
        if (str_starts(*var, STR("TERM=")))
            return;
    *vec_push(a, &spec->env) = STR("TERM=xterm");
}

void pod_exec_on(struct shim_pod *p, const struct wire_msg *m)
{
    struct wire_read r = { .rest = m->payload };
    uint64_t id = (uint64_t)wire_get_i64(&r);
    struct con *c = pod_find(p, wire_get_str(&r));
    bool is_tty = wire_get_i64(&r) != 0;
    struct box_spec spec = { 0 };
    autoarena a = { 0 };
    struct shim_task *j;
    struct err e;
    pid_t pid;

    if (!c || c->state != CON_RUNNING) {
        task_refuse(p, id, "the container is not running");
        return;
    }
    spec = c->spec;
    spec.has_tty = is_tty;
    if (task_argv(&r, &a, &spec) < 0 || m->n_fds != 3) {
        task_refuse(p, id, "malformed command");
        return;
    }
    if (is_tty)
        name_terminal(&a, &spec);
    j = session_new(p, id, NULL);
    if (!j)
        return;
    pid = pod_clone(p, c->group, 0, NULL, &e);
    if (pid == 0) {
        pod_child_streams(m->fds[0], m->fds[1], m->fds[2]);
        if (e.code) {
            (void)dprintf(2, "%s\n", e.text);
            _exit(126);
        }
        p->driver->exec(&spec, &c->place, c->pidfd);
        _exit(126);
    }
    task_begin(p, j, pid, -1, &e);
}

void pod_cancel(struct shim_pod *p, const struct wire_msg *m)
{
    struct wire_read r = { .rest = m->payload };
    uint64_t id = (uint64_t)wire_get_i64(&r);

    LIST_FOREACH(struct shim_task, j, &p->tasks, link)
        if (j->is_session && j->id == id && wire_is_read(&r))
            j->due_ms = 0;
    LIST_FOREACH(struct con, c, &p->cons, link)
        (void)con_detach(p, c, id); /* most are not attached */
}

/* ---- connections to a port of the pod ---- */

static int shim_session_connect_to(uint16_t port)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = { htonl(INADDR_LOOPBACK) } };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), why;

    if (fd >= 0 && connect(fd, (struct sockaddr *)&v4, sizeof(v4)) == 0)
        return fd;
    why = errno;
    if (fd >= 0)
        close(fd);
    fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&v6, sizeof(v6)) == 0)
        return fd;
    errno = why;
    return -1;
}

/* Copy the available data. False: this direction has ended. */
static bool relay_bytes(int from, int to, char *bytes)
{
    ssize_t n = recv(from, bytes, RELAY_BYTES, 0), put = 0;

    if (n < 0 && errno == EINTR)
        return true;
    for (ssize_t k; n > 0 && put < n; put += k) {
        k = send(to, bytes + put, (size_t)(n - put), MSG_NOSIGNAL);
        if (k <= 0)
            return false;
    }
    if (n <= 0)
        (void)shutdown(to, SHUT_WR);
    return n > 0;
}

static _Noreturn void relay_stream(int fd, int port_fd)
{
    struct pollfd p[2] = { { .fd = fd, .events = POLLIN }, { .fd = port_fd, .events = POLLIN } };
    static char bytes[RELAY_BYTES];

    while (p[0].fd >= 0 || p[1].fd >= 0) {
        if (poll(p, 2, -1) < 0)
            continue;
        if (p[0].fd >= 0 && p[0].revents && !relay_bytes(fd, port_fd, bytes))
            p[0].fd = -1;
        if (p[1].fd >= 0 && p[1].revents && !relay_bytes(port_fd, fd, bytes))
            p[1].fd = -1;
    }
    _exit(0);
}

static _Noreturn void be_relay(const struct shim_pod *p, uint16_t port, int fd, int end)
{
    int to;

    (void)signal(SIGPIPE, SIG_IGN);
    spawner_name(&p->own->area, "pumice-forward", p->opt.group);
    box_keep_cap(-1);
    if (is_datagram_socket(fd)) {
        close(end);
        relay_datagrams(fd, port);
    }
    to = shim_session_connect_to(port);
    if (to < 0) {
        (void)dprintf(end, "connect to port %d of the pod: %s", port, strerror(errno));
        _exit(1);
    }
    close(end);
    relay_stream(fd, to);
}

void pod_forward(struct shim_pod *p, const struct wire_msg *m)
{
    struct wire_read r = { .rest = m->payload };
    uint64_t id = (uint64_t)wire_get_i64(&r);
    int64_t port = wire_get_i64(&r);
    struct shim_task *j;
    struct err e;
    int end;
    pid_t pid;

    if (!wire_is_read(&r) || port < 1 || port > UINT16_MAX || m->n_fds != 1) {
        task_refuse(p, id, "malformed port");
        return;
    }
    j = session_new(p, id, &end);
    if (!j)
        return;
    pid = pod_clone(p, NULL, 0, NULL, &e);
    if (pid == 0)
        be_relay(p, (uint16_t)port, m->fds[0], end);
    task_begin(p, j, pid, end, &e);
}
