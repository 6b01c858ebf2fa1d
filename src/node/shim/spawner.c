/* spawner.c - the program's side of the spawner */
#include "node/shim/shim_internal.h"

#include "base/clock.h"
#include "base/util.h"
#include "node/userns/user.h"
#include "os/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

enum { STOP_MS = 20000, PATIENCE_S = 5 }; /* STOP_MS: longer than killing all processes takes */

struct spawner {
    pid_t pid;
    int sock;
    bool is_child; /* our child; else it was found by spawner_find() */
    bool outlives;
    struct buf note; /* of a found one, like 'kept' and 'shims' */
    struct spawner_kept kept;
    VEC(struct shim *) shims;
    struct arena arena;
};

bool spawner_outlives(const struct spawner *s)
{
    return s->outlives;
}

/* ---- starting ---- */

static pid_t fork_spawner(const struct spawner_options *opt, int program, int sock, int other)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    if (!opt->driver)
        spawner_execute(program, opt->program_fd, sock);
    close(other);
    spawner_main(opt, sock);
}

static int send_begin(int sock, const struct spawner_options *opt, struct err *e)
{
    struct clock *clock = opt->clock ? opt->clock : &clock_real;
    struct log_config log = log_setup((struct log_config){ 0 });
    struct spawner_begin begin = { .opt = *opt,
                                   .group = str_of(cgroups_name(opt->cgroups)),
                                   .place = cgroups_place(opt->cgroups),
                                   .now_us = clock_now_us(clock),
                                   .mono_us = clock_mono_us(clock),
                                   .is_ordinary = user_is_ordinary(),
                                   .log_level = log.level,
                                   .log_format = log.format };
    struct wire_msg m = { 0 };
    autobuf text = { 0 };

    (void)log_setup(log);
    if (opt->files)
        begin.files = *opt->files;
    spawner_put_begin(&text, &begin, &m);
    m.payload = buf_view(&text);
    return wire_send(sock, &m, e);
}

int spawner_start(const struct spawner_options *opt, struct spawner **ret, struct err *e)
{
    autoclose int exe = open("/proc/self/exe", O_PATH | O_CLOEXEC);
    autoclose int program = opt->driver || exe < 0 ? -1 : spawner_open_program(exe, e);
    struct spawner_options own = *opt;
    int pair[2];
    pid_t pid;

    if (exe < 0)
        return err_errno(e, "open /proc/self/exe (is /proc mounted?)");
    if ((!opt->driver && program < 0) || wire_pair(pair, e) < 0)
        return err_wrap(e, "start the spawner");
    own.program_fd = exe;
    pid = fork_spawner(&own, program, pair[1], pair[0]);
    close(pair[1]);
    if (pid < 0 || (!opt->driver && send_begin(pair[0], &own, e) < 0)) {
        close(pair[0]);
        (void)proc_wait(pid);
        return pid < 0 ? err_errno(e, "start the spawner") : err_wrap(e, "start the spawner");
    }
    wire_patience(pair[0], PATIENCE_S);
    *ret = xcalloc(1, sizeof(**ret));
    **ret = (struct spawner){ .pid = pid, .sock = pair[0], .is_child = true, .outlives = opt->outlives };
    return 0;
}

static void close_kept(struct spawner *s)
{
    const int own[] = { s->kept.mnt_fd, s->kept.user_fd };

    for (size_t i = 0; i < ARRAY_LEN(own) && !s->is_child; i++)
        if (own[i] >= 0)
            close(own[i]);
    for (size_t i = 0; i < s->kept.n_fds; i++)
        close(s->kept.fds[i]);
}

void spawner_leave(struct spawner *s)
{
    if (!s)
        return;
    VEC_FOREACH(shim, &s->shims)
        shim_leave(*shim);
    close_kept(s);
    if (s->sock >= 0)
        close(s->sock);
    buf_done(&s->note);
    arena_done(&s->arena);
    free(s);
}

/* A spawner that is not our child has ended when its socket is closed. False: timed out. */
static bool wait_socket_closed(int sock)
{
    int64_t until_ms = clock_mono_ms(&clock_real) + STOP_MS;
    struct wire_in in = { 0 };
    struct wire_msg m = { 0 };
    bool is_gone = false;
    struct err e;

    for (int64_t left = STOP_MS; !is_gone && left > 0; left = until_ms - clock_mono_ms(&clock_real)) {
        struct pollfd p = { .fd = sock, .events = POLLIN };
        int r = poll(&p, 1, (int)left) > 0 ? wire_recv(sock, false, &in, &m, &e) : 0;

        is_gone = r < 0 && e.code != ERR_INVALID;
        if (r == 1)
            wire_close_fds(&m);
    }
    wire_in_done(&in);
    return is_gone;
}

void spawner_stop(struct spawner *s)
{
    struct wire_msg m = { .kind = SPAWNER_STOP };

    if (!s)
        return;
    (void)wire_send(s->sock, &m, NULL); /* gone already is fine */
    if (!s->is_child && s->pid > 1)
        (void)kill(s->pid, SIGCONT); /* it may be stopped, and we wait for it */
    if (!s->is_child && !wait_socket_closed(s->sock) && s->pid > 1)
        (void)kill(s->pid, SIGKILL); /* this closes the last ends of its shims' sockets, and they end too */
    close(s->sock);
    s->sock = -1;
    if (s->is_child)
        (void)proc_wait_gone(s->pid, STOP_MS);
    spawner_leave(s);
}

void spawner_resume(const struct spawner *s)
{
    if (s->is_child)
        proc_go_on(s->pid);
}

int spawner_fd(const struct spawner *s)
{
    return s->sock;
}

int spawner_send(struct spawner *s, const struct wire_msg *m, struct err *e)
{
    return wire_send(s->sock, m, e);
}

/* ---- for the next program ---- */

int spawner_keep(struct spawner *s, struct str note, const int *fds, size_t n, struct err *e)
{
    struct wire_msg m = { .kind = SPAWNER_KEEP, .payload = note, .n_fds = MIN_OF(n, (size_t)SPAWNER_KEEPS) };

    memcpy(m.fds, fds, m.n_fds * sizeof(*fds));
    return wire_send(s->sock, &m, e);
}

/* ---- finding one ---- */

/* By the directory's descriptor: the path may be too long for a socket address. */
static int spawner_connect_to(int dir, const char *name, struct err *e)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    struct timeval patience = { .tv_sec = SPAWNER_ANSWER_MS / 1000 };
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return err_errno(e, "create a socket");
    (void)snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/%s", dir, name);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)); /* it may be stopped by a signal */
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
        return fd;
    (void)err_set(e, errno == ECONNREFUSED || errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", name,
                  strerror(errno));
    close(fd);
    return -1;
}

static pid_t peer_of(int sock)
{
    struct ucred peer = { 0 };
    socklen_t size = sizeof(peer);

    return getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

static int take_kept_reply(struct spawner *s, struct wire_msg *m, struct err *e)
{
    struct wire_read r = { .rest = m->payload };
    int64_t version = wire_get_i64(&r);

    if (version != SHIM_WIRE)
        return err_set(e, ERR_INVALID, "protocol version %lld, this program needs %d", (long long)version, SHIM_WIRE);
    buf_str(&s->note, wire_get_str(&r));
    if (!wire_is_read(&r) || m->n_fds < 2 || m->n_fds > 2 + SPAWNER_KEEPS)
        return err_set(e, ERR_INVALID, "malformed answer");
    s->kept.mnt_fd = m->fds[0];
    s->kept.user_fd = m->fds[1];
    s->kept.n_fds = m->n_fds - 2;
    memcpy(s->kept.fds, m->fds + 2, s->kept.n_fds * sizeof(int));
    s->kept.note = buf_view(&s->note);
    m->n_fds = 0;
    return 0;
}

/* 1: it was the last message. */
static int take_reply(struct spawner *s, struct wire_msg *m, struct err *e)
{
    if (m->kind == SPAWNER_WORD_KEPT)
        return take_kept_reply(s, m, e);
    if (m->kind == SPAWNER_WORD_SHIM && m->n_fds == 1) {
        *vec_push(&s->arena, &s->shims) = shim_of_fd(m->fds[0]);
        m->n_fds = 0;
    }
    return m->kind == SPAWNER_WORD_END;
}

static int spawner_greet(struct spawner *s, struct err *e)
{
    struct wire_msg m = { .kind = SPAWNER_HELLO };
    struct wire_in in = { 0 };
    autobuf text = { 0 };
    int rc = 0;

    wire_put_i64(&text, SHIM_WIRE);
    m.payload = buf_view(&text);
    if (wire_send(s->sock, &m, e) < 0)
        return -1;
    while (rc == 0) {
        int r = wire_recv(s->sock, true, &in, &m, e);

        if (r == 0)
            rc = err_set(e, ERR_IO, "no answer within %d s", SPAWNER_ANSWER_MS / 1000);
        else
            rc = r < 0 ? -1 : take_reply(s, &m, e);
        if (r == 1)
            wire_close_fds(&m);
    }
    wire_in_done(&in);
    return rc < 0 ? -1 : 0;
}

int spawner_find(int dir, const char *name, struct spawner **ret, struct err *e)
{
    int fd = spawner_connect_to(dir, name, e);
    struct spawner *s;

    if (fd < 0)
        return -1;
    s = *ret = xcalloc(1, sizeof(*s));
    *s = (struct spawner){ .sock = fd, .pid = peer_of(fd), .outlives = true, .kept = { .mnt_fd = -1, .user_fd = -1 } };
    if (s->pid > 1)
        (void)kill(s->pid, SIGCONT); /* it may be stopped, and we wait for it */
    if (spawner_greet(s, e) < 0)
        return err_wrap(e, "%s (process %d)", name, (int)s->pid);
    return 0;
}

const struct spawner_kept *spawner_kept(const struct spawner *s)
{
    return &s->kept;
}

struct shim *spawner_next_shim(struct spawner *s)
{
    return s->shims.n ? s->shims.v[--s->shims.n] : NULL;
}
