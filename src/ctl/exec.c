/* exec.c - a program in a pod, with this terminal or without */
#include "ctl/exec.h"

#include "base/util.h"
#include "json/json.h"
#include "kube/path.h"
#include "base/term.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>

enum { CHANNEL_STDIN, CHANNEL_STDOUT, CHANNEL_STDERR, CHANNEL_ERROR, CHANNEL_RESIZE, CHANNEL_CLOSE = 255 };
enum { QUEUED_MAX = 256 << 10 };
enum { CTRL_P = 16, CTRL_Q = 17 };

struct exec {
    const struct exec_talk *how;
    struct kube_stream *stream; /* NULL: it is over */
    bool is_open, is_input_over, has_verdict;
    bool has_terminal; /* it is raw */
    bool has_ctrl_p;   /* was typed, and waits for the next key */
    bool is_detached;
    int status, signo;
    struct err err;
    struct term_stream safe[2]; /* of its output and errors, where these are terminals but not the program's */
    bool is_screen[2];
    int signals; /* window size changes and termination; -1: none */
};

/* ---- out ---- */

static void send_on(struct exec *x, int channel, struct str bytes)
{
    char number = (char)channel;

    kube_stream_write(x->stream, (struct str){ &number, 1 }, bytes);
}

static void send_size(struct exec *x, unsigned more)
{
    struct winsize size;
    autobuf text = { 0 };

    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col)
        return;
    buf_fmt(&text, "{\"Width\":%u,\"Height\":%u}", size.ws_col + more, size.ws_row);
    send_on(x, CHANNEL_RESIZE, buf_view(&text));
}

/* Ctrl-P Ctrl-Q: what stands before them is sent. A Ctrl-P that something else follows is a key like others. */
static struct str before_detaching(struct exec *x, char *bytes, size_t n)
{
    size_t to = 0; /* there is room for one that was held back: 'bytes' begin with the second */

    for (size_t i = 1; i <= n && !x->is_detached; i++) {
        bool was_p = x->has_ctrl_p;

        x->has_ctrl_p = false;
        x->is_detached = was_p && bytes[i] == CTRL_Q;
        if (was_p && !x->is_detached)
            bytes[to++] = CTRL_P;
        if (bytes[i] == CTRL_P)
            x->has_ctrl_p = true;
        else if (!x->is_detached)
            bytes[to++] = bytes[i];
    }
    return (struct str){ bytes, to };
}

static void take_input(struct exec *x)
{
    char bytes[(16 << 10) + 1];
    char closed = CHANNEL_STDIN;
    ssize_t n = read(STDIN_FILENO, bytes + 1, sizeof(bytes) - 1);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n > 0) {
        struct str keys = { bytes + 1, (size_t)n };

        if (x->has_terminal && x->how->detaches)
            keys = before_detaching(x, bytes, (size_t)n);
        if (keys.n)
            send_on(x, CHANNEL_STDIN, keys);
        return;
    }
    x->is_input_over = true;
    send_on(x, (char)CHANNEL_CLOSE, (struct str){ &closed, 1 });
}

/* ---- in ---- */

static void exec_put(int fd, struct str bytes)
{
    while (bytes.n) {
        ssize_t n = write(fd, bytes.p, bytes.n);

        if (n < 0 && errno == EAGAIN) { /* a terminal that another program has set so */
            (void)poll(&(struct pollfd){ fd, POLLOUT, 0 }, 1, -1);
            continue;
        }
        if (n < 0 && errno != EINTR)
            return; /* stdout is closed: the program may end as it likes */
        bytes = str_from(bytes, n > 0 ? (size_t)n : 0);
    }
}

/* The program has no terminal here, so it has no business with ours. */
static void put_safe(struct exec *x, int i, struct str bytes, bool is_end)
{
    autobuf text = { 0 };

    term_stream(&text, bytes, &x->safe[i]);
    if (is_end)
        term_stream_end(&text, &x->safe[i]);
    exec_put(i ? STDERR_FILENO : STDOUT_FILENO, buf_view(&text));
}

static void put_output(struct exec *x, int i, struct str bytes)
{
    if (x->is_screen[i])
        put_safe(x, i, bytes, false);
    else
        exec_put(i ? STDERR_FILENO : STDOUT_FILENO, bytes);
}

/* Status: how the program ended, or why it did not begin. */
static void take_verdict(struct exec *x, struct str text)
{
    autoarena a = { 0 };
    struct json *status;
    int64_t code;

    x->has_verdict = true;
    if (json_parse(&a, text, NULL, &status, NULL) < 0 || str_is(json_member_text(status, "status"), "Success"))
        return;
    x->status = 1;
    JSON_FOREACH(cause, json_find(status, "details", "causes", NULL))
        if (str_is(json_member_text(cause, "reason"), "ExitCode") &&
            str_to_i64(json_member_text(cause, "message"), &code) == 0) {
            x->status = (int)(code & 0xff);
            return;
        }
    (void)err_set(&x->err, ERR_INVALID, "%.*s", STR_ARG(str_sub(json_member_text(status, "message"), 0, 400)));
}

static void exec_on_message(void *ctx, struct str message)
{
    struct exec *x = ctx;
    int channel = message.n ? (unsigned char)message.p[0] : CHANNEL_STDOUT;
    struct str bytes = str_from(message, 1);

    if (channel == CHANNEL_ERROR)
        take_verdict(x, bytes);
    else if (channel == CHANNEL_STDOUT || channel == CHANNEL_STDERR)
        put_output(x, channel == CHANNEL_STDERR, bytes);
}

static void on_open(void *ctx)
{
    struct exec *x = ctx;

    x->is_open = true;
}

static void exec_on_end(void *ctx, const struct err *e)
{
    struct exec *x = ctx;

    x->stream = NULL;
    if (e && !x->has_verdict)
        x->err = *e;
}

/* ---- the loop ---- */

static void take_signal(struct exec *x)
{
    struct signalfd_siginfo info;

    if (read(x->signals, &info, sizeof(info)) <= 0)
        return;
    if (info.ssi_signo == SIGWINCH && x->is_open)
        send_size(x, 0);
    else if (info.ssi_signo != SIGWINCH)
        x->signo = (int)info.ssi_signo;
}

static void exec_turn(struct exec *x)
{
    bool reads = x->is_open && x->how->has_input && !x->is_input_over && kube_stream_queued(x->stream) < QUEUED_MAX;
    struct pollfd fds[3] = { { kube_ask_fd(x->how->ask), POLLIN, 0 },
                             { reads ? STDIN_FILENO : -1, POLLIN, 0 },
                             { x->signals, POLLIN, 0 } };

    (void)poll(fds, ARRAY_LEN(fds), -1);
    if (fds[2].revents & POLLIN)
        take_signal(x);
    if (fds[1].revents)
        take_input(x);
    kube_ask_turn(x->how->ask);
}

static int ctl_exec_talk(struct exec *x, struct err *e)
{
    struct kube_stream_events events = { x, on_open, exec_on_message, exec_on_end };
    bool was_open = false;

    if (kube_ask_websocket(x->how->ask, x->how->path, &events, &x->stream, e) < 0)
        return -1;
    while (x->stream && !x->has_verdict && !x->is_detached && !x->signo) {
        if (x->is_open && !was_open && x->how->is_tty) {
            if (x->how->detaches)
                send_size(x, 1); /* a size that changes has a program draw its screen again */
            send_size(x, 0);
        }
        was_open = x->is_open;
        exec_turn(x);
    }
    if (x->stream)
        kube_stream_end(x->stream);
    if (x->signo || x->is_detached)
        return 0;
    if (x->err.code == ERR_OK && !x->has_verdict)
        return err_set(e, ERR_IO, "connection closed before the command ended");
    if (x->err.code == ERR_OK)
        return 0;
    *e = x->err;
    return -1;
}

/* Keys go to the remote program as they are; the terminal is restored at the end. */
static int talk_raw(struct exec *x, struct err *e)
{
    struct termios before, raw;
    sigset_t set, was;
    int rc;

    if (!x->how->is_tty || !x->how->has_input || tcgetattr(STDIN_FILENO, &before) < 0)
        return ctl_exec_talk(x, e);
    raw = before;
    cfmakeraw(&raw);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGWINCH);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &set, &was);
    x->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    x->has_terminal = true;
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &raw); /* it is a terminal: it was just asked */
    rc = ctl_exec_talk(x, e);
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    if (x->signals >= 0)
        (void)close(x->signals);
    (void)sigprocmask(SIG_SETMASK, &was, NULL);
    if (x->is_detached)
        fprintf(stderr, "\ndetached; the pod keeps running\n");
    return rc;
}

void exec_query(struct buf *path, struct str container, bool has_input, bool is_tty)
{
    path_query(path, "container", container);
    path_query(path, "stdin", has_input ? STR("true") : STR_NULL);
    path_query(path, "stdout", STR("true"));
    path_query(path, "stderr", is_tty ? STR_NULL : STR("true"));
    path_query(path, "tty", is_tty ? STR("true") : STR_NULL);
}

int exec_talk(const struct exec_talk *how, int *ret_status, struct err *e)
{
    struct exec x = { .how = how, .signals = -1 };
    int rc;

    for (int i = 0; i < 2; i++) {
        x.is_screen[i] = !how->is_tty && isatty(i ? STDERR_FILENO : STDOUT_FILENO);
        x.safe[i].colour = term_has_colour(i ? stderr : stdout);
    }
    rc = talk_raw(&x, e);
    for (int i = 0; i < 2; i++)
        if (x.is_screen[i])
            put_safe(&x, i, STR_NULL, true);
    *ret_status = x.signo ? 128 + x.signo : x.status;
    return rc;
}
