/* exec.c - commands in containers, and attach
 *
 *     client ──channels──▶ here ──pipes, or a terminal──▶ the command, run by the shim
 *
 * A command goes with its client: one that leaves takes it along. Its output is sent before its exit status; later
 * output of its children is not waited for. Who attaches to a container gets a copy of what it writes, and its input as
 * a descriptor that the shim sends; that one stays when he leaves.
 */
#include "kubelet/kubelet_internal.h"

#include "http/channels.h"
#include "os/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { IN, OUT, ERR, SOURCES, QUEUE_BYTES = 64 << 10, READ_BYTES = 32 << 10 };

struct exec_source {
    struct kubelet_source source;
    struct exec_exec *exec;
    enum channel to;
};

struct exec_exec {
    struct list_link link;
    struct kubelet *kubelet;
    struct channels *channels;
    struct channels_wanted wanted;
    struct arena arena;
    struct agent_place place;
    VEC(struct str) argv;
    uint64_t session; /* 0: it has not begun, or has ended */
    struct exec_source sources[SOURCES];
    struct exec_source giver; /* attach: where the container's input comes from */
    struct buf input;         /* that the command has not taken */
    size_t input_at;
    bool input_ended;
    unsigned columns, rows;
};

static void exec_free(struct exec_exec *x)
{
    list_remove(&x->link);
    for (int i = 0; i < SOURCES; i++)
        source_close(x->kubelet, &x->sources[i].source);
    source_close(x->kubelet, &x->giver.source);
    buf_done(&x->input);
    arena_done(&x->arena);
    free(x);
}

/* ---- what it writes ---- */

/* As much as there is room for. */
static void read_output(struct exec_exec *x, int i)
{
    struct kubelet_source *s = &x->sources[i].source;
    char bytes[READ_BYTES];
    ssize_t n;

    while (s->fd >= 0 && channels_queued(x->channels) < QUEUE_BYTES) {
        n = read(s->fd, bytes, sizeof(bytes));
        if (n > 0)
            channels_write(x->channels, x->sources[i].to, (struct str){ bytes, (size_t)n });
        else if (n < 0 && errno == EINTR)
            continue;
        else if (n < 0 && errno == EAGAIN)
            return;
        else
            source_close(x->kubelet, s); /* EIO: no process has the terminal open */
    }
    source_watch(x->kubelet, s, 0); /* on_ready goes on */
}

static void on_output(struct kubelet_source *s)
{
    struct exec_source *from = (struct exec_source *)s;

    read_output(from->exec, (int)(from - from->exec->sources));
}

static void exec_on_room(void *ctx, struct channels *c)
{
    struct exec_exec *x = ctx;

    (void)c;
    for (int i = OUT; i <= ERR; i++)
        source_watch(x->kubelet, &x->sources[i].source, EPOLLIN);
}

/* ---- what it reads ---- */

static bool waits_for_terminal(const struct exec_exec *x)
{
    return x->giver.source.fd >= 0 || (x->argv.n && x->wanted.is_tty && x->sources[ERR].source.fd >= 0);
}

static void write_input(struct exec_exec *x)
{
    struct kubelet_source *s = &x->sources[IN].source;

    while (s->fd >= 0 && x->input_at < x->input.n && !waits_for_terminal(x)) {
        ssize_t n = write(s->fd, x->input.p + x->input_at, x->input.n - x->input_at);

        if (n > 0)
            x->input_at += (size_t)n;
        else if (errno == EAGAIN)
            break;
        else if (errno != EINTR)
            source_close(x->kubelet, s); /* the reader has closed it */
    }
    if (waits_for_terminal(x)) {
        /* later */
    } else if (s->fd < 0 || x->input_at == x->input.n) {
        buf_done(&x->input);
        x->input_at = 0;
        source_watch(x->kubelet, s, 0);
        if (x->input_ended && !x->wanted.is_tty)
            source_close(x->kubelet, s);
    } else {
        buf_used(&x->input, &x->input_at); /* a reader that is never quite done */
        source_watch(x->kubelet, s, EPOLLOUT);
    }
    channels_hold(x->channels, x->input.cap);
    channels_pause(x->channels, x->input.n - x->input_at > QUEUE_BYTES);
}

static void on_input_room(struct kubelet_source *s)
{
    write_input(((struct exec_source *)s)->exec);
}

static void on_stdin(void *ctx, struct channels *c, struct str bytes)
{
    struct exec_exec *x = ctx;

    (void)c;
    if (x->sources[IN].source.fd < 0 && !waits_for_terminal(x))
        return;
    buf_str(&x->input, bytes);
    write_input(x);
}

static void on_stdin_end(void *ctx, struct channels *c)
{
    struct exec_exec *x = ctx;

    (void)c;
    x->input_ended = true;
    write_input(x);
}

static void set_size(struct exec_exec *x)
{
    struct winsize size = { .ws_col = (unsigned short)x->columns, .ws_row = (unsigned short)x->rows };
    int terminal = x->sources[x->argv.n ? OUT : IN].source.fd;

    if (x->columns && terminal >= 0)
        (void)ioctl(terminal, TIOCSWINSZ, &size); /* then it has the size it had */
}

static void on_resize(void *ctx, struct channels *c, unsigned columns, unsigned rows)
{
    struct exec_exec *x = ctx;

    (void)c;
    x->columns = MIN_OF(columns, 65535u);
    x->rows = MIN_OF(rows, 65535u);
    if (x->wanted.is_tty)
        set_size(x);
}

/* ---- beginning and end ---- */

static void exec_add_source(struct exec_exec *x, int i, int fd, enum channel to)
{
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    x->sources[i] = (struct exec_source){ { fd, 0, i == IN ? on_input_room : on_output }, x, to };
    if (i != IN)
        source_watch(x->kubelet, &x->sources[i].source, EPOLLIN);
}

/* ---- a terminal: made in the container, and sent to us ---- */

static void on_terminal(struct kubelet_source *s)
{
    struct exec_exec *x = ((struct exec_source *)s)->exec;
    char bytes[READ_BYTES];
    int master; /* or bytes: what went wrong, said before there was a terminal */
    ssize_t n = wire_recv_fd(s->fd, bytes, sizeof(bytes), MSG_DONTWAIT, &master);

    if (master < 0 && n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (master < 0 && n > 0) {
        channels_write(x->channels, CHANNEL_STDOUT, (struct str){ bytes, (size_t)n });
        return;
    }
    source_close(x->kubelet, s);
    if (master < 0)
        return;
    exec_add_source(x, OUT, master, CHANNEL_STDOUT);
    exec_add_source(x, IN, fcntl(master, F_DUPFD_CLOEXEC, 0), CHANNEL_STDIN);
    set_size(x);
    write_input(x);
}

static int exec_open_terminal(struct exec_exec *x, int ret[SOURCES], struct err *e)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno(e, "open terminal");
    ret[IN] = ret[OUT] = ret[ERR] = pair[1];
    (void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
    x->sources[ERR] = (struct exec_source){ { pair[0], 0, on_terminal }, x, CHANNEL_STDOUT };
    source_watch(x->kubelet, &x->sources[ERR].source, EPOLLIN);
    return 0;
}

static int open_pipes(struct exec_exec *x, int ret[SOURCES], struct err *e)
{
    const bool wants[SOURCES] = { x->wanted.stdin_, x->wanted.stdout_, x->wanted.stderr_ };

    for (int i = 0; i < SOURCES; i++) {
        int pair[2];

        if (!wants[i]) {
            ret[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
            continue;
        }
        if (pipe2(pair, O_CLOEXEC) < 0)
            return err_errno(e, "pipes");
        ret[i] = pair[i == IN ? 0 : 1];
        exec_add_source(x, i, pair[i == IN ? 1 : 0],
                        i == IN    ? CHANNEL_STDIN
                        : i == OUT ? CHANNEL_STDOUT
                                   : CHANNEL_STDERR);
    }
    return 0;
}

/* ---- attach: the input is the container's own, and sent to us ---- */

static void on_input_given(struct kubelet_source *s)
{
    struct exec_exec *x = ((struct exec_source *)s)->exec;
    char byte;
    int fd;
    ssize_t n = wire_recv_fd(s->fd, &byte, 1, MSG_DONTWAIT, &fd);

    if (fd < 0 && n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    source_close(x->kubelet, s);
    if (fd < 0)
        return;
    exec_add_source(x, IN, fd, CHANNEL_STDIN);
    if (x->wanted.is_tty)
        set_size(x);
    write_input(x);
}

static int open_giver(struct exec_exec *x, int ret[SOURCES], struct err *e)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno(e, "create socket");
    ret[IN] = pair[1];
    (void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
    x->giver = (struct exec_source){ { pair[0], 0, on_input_given }, x, CHANNEL_STDIN };
    source_watch(x->kubelet, &x->giver.source, EPOLLIN);
    return 0;
}

static int open_attached(struct exec_exec *x, int ret[SOURCES], struct err *e)
{
    bool wants_input = x->wanted.stdin_;
    int rc;

    x->wanted.stdin_ = false; /* no pipe of ours */
    rc = open_pipes(x, ret, e);
    x->wanted.stdin_ = wants_input;
    if (rc < 0 || !wants_input)
        return rc;
    if (ret[IN] >= 0)
        close(ret[IN]);
    ret[IN] = -1;
    return open_giver(x, ret, e);
}

static bool is_readable(int fd)
{
    return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0) > 0;
}

static void exec_on_ended(void *ctx, int exit_code, struct str why)
{
    struct exec_exec *x = ctx;
    struct channels *c = x->channels;

    while (x->argv.n && waits_for_terminal(x) && is_readable(x->sources[ERR].source.fd))
        on_terminal(&x->sources[ERR].source);
    for (int i = OUT; i <= ERR; i++) { /* all of it, room or not: at most what a pipe holds */
        char bytes[READ_BYTES];
        ssize_t n;

        while (x->sources[i].source.fd >= 0 && (n = read(x->sources[i].source.fd, bytes, sizeof(bytes))) > 0)
            channels_write(c, x->sources[i].to, (struct str){ bytes, (size_t)n });
    }
    if (why.n)
        channels_fail(c, why);
    else
        channels_exit(c, exit_code);
    exec_free(x);
}

static int exec_start(struct exec_exec *x, struct err *e)
{
    int ends[SOURCES] = { -1, -1, -1 };
    int rc = !x->argv.n         ? open_attached(x, ends, e)
             : x->wanted.is_tty ? exec_open_terminal(x, ends, e)
                                : open_pipes(x, ends, e);
    struct agent_session_spec spec = {
        .where = x->place,
        .fds = { ends[IN], ends[OUT], ends[ERR] },
        .wants_input = x->wanted.stdin_,
        .is_tty = x->wanted.is_tty,
        .argv = x->argv.v,
        .n_argv = x->argv.n,
        .ended = exec_on_ended,
        .ctx = x,
    };

    if (rc == 0)
        x->session = (x->argv.n ? agent_exec : agent_attach_to)(x->kubelet->opt.agent, &spec, e);
    for (int i = 0; i < SOURCES; i++)
        if (ends[i] >= 0 && (i == IN || ends[i] != ends[IN]))
            close(ends[i]);
    return x->session ? 0 : -1;
}

static void on_open(void *ctx, struct channels *c)
{
    struct exec_exec *x = ctx;
    struct err e;

    if (exec_start(x, &e) == 0)
        return;
    exec_free(x);
    channels_fail(c, str_of(e.text));
}

static void exec_on_gone(void *ctx, struct channels *c)
{
    struct exec_exec *x = ctx;

    (void)c;
    if (x->session)
        agent_session_end(x->kubelet->opt.agent, x->session);
    exec_free(x);
}

/* Those with a session ended with the agent. */
void execs_done(struct kubelet *k)
{
    LIST_FOREACH(struct exec_exec, x, &k->execs, link) {
        struct channels *c = x->channels;

        exec_free(x);
        channels_cut(c);
    }
}

/* ---- requests ---- */

static struct exec_exec *exec_new(const struct target *t)
{
    struct exec_exec *x = xcalloc(1, sizeof(*x));

    x->kubelet = t->kubelet;
    x->place = (struct agent_place){ arena_str(&x->arena, t->place.namespace), arena_str(&x->arena, t->place.pod),
                                     arena_str(&x->arena, t->place.container) };
    x->giver.source.fd = -1;
    for (int i = 0; i < SOURCES; i++)
        x->sources[i].source.fd = -1;
    x->wanted.stdin_ = target_flag(t, "input", "stdin");
    x->wanted.stdout_ = target_flag(t, "output", "stdout");
    x->wanted.stderr_ = target_flag(t, "error", "stderr");
    x->wanted.is_tty = target_flag(t, "tty", NULL);
    return x;
}

static void open_channels(const struct target *t, struct exec_exec *x)
{
    struct channels_events events = { x, on_open, on_stdin, on_stdin_end, on_resize, exec_on_room, exec_on_gone };

    list_push(&t->kubelet->execs, &x->link);
    x->channels = channels_open(t->call, &x->wanted, &events);
    if (!x->channels)
        exec_free(x);
}

void serve_exec(const struct target *t)
{
    struct exec_exec *x = exec_new(t);
    autobuf word = { 0 };

    for (size_t at = 0; http_call_next_param(t->call, "command", &at, &word);)
        *vec_push(&x->arena, &x->argv) = arena_str(&x->arena, buf_view(&word));
    if (x->argv.n && (x->wanted.stdin_ || x->wanted.stdout_ || x->wanted.stderr_)) {
        open_channels(t, x);
        return;
    }
    answer_text(t->kubelet, t->call, 400,
                x->argv.n ? "you must specify at least 1 of stdin, stdout, stderr" : "command: required");
    exec_free(x);
}

void serve_attach(const struct target *t)
{
    struct exec_exec *x = exec_new(t);

    if (x->wanted.is_tty)
        x->wanted.stderr_ = false; /* a terminal has one stream */
    if (x->wanted.stdin_ || x->wanted.stdout_ || x->wanted.stderr_) {
        open_channels(t, x);
        return;
    }
    answer_text(t->kubelet, t->call, 400, "you must specify at least 1 of stdin, stdout, stderr");
    exec_free(x);
}
