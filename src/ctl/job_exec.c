/* job_exec.c - `pumice job exec`: a program in a pod of a job, with this terminal or without
 *
 * Over a WebSocket (v5.channel.k8s.io): each message has the number of its channel in front.
 */
#include "api/meta.h"
#include "base/util.h"
#include "ctl/pod_pick.h"
#include "json/json.h"
#include "kube/path.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>

enum { CHANNEL_STDIN, CHANNEL_STDOUT, CHANNEL_STDERR, CHANNEL_ERROR, CHANNEL_RESIZE, CHANNEL_CLOSE = 255 };
enum { QUEUED_MAX = 256 << 10 };

struct exec {
    struct ctl_verb *v;
    struct kube_stream *stream; /* NULL: it is over */
    bool is_open, is_input_over, has_verdict;
    struct err err;
    int signals; /* of a terminal that changes its size; -1: none */
};

/* ---- out ---- */

static void send_on(struct exec *x, int channel, struct str bytes)
{
    char number = (char)channel;

    kube_stream_write(x->stream, (struct str){ &number, 1 }, bytes);
}

static void send_size(struct exec *x)
{
    struct winsize size;
    autobuf text = { 0 };

    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col)
        return;
    buf_fmt(&text, "{\"Width\":%u,\"Height\":%u}", size.ws_col, size.ws_row);
    send_on(x, CHANNEL_RESIZE, buf_view(&text));
}

static void take_input(struct exec *x)
{
    char bytes[16 << 10];
    char closed = CHANNEL_STDIN;
    ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n > 0) {
        send_on(x, CHANNEL_STDIN, (struct str){ bytes, (size_t)n });
        return;
    }
    x->is_input_over = true;
    send_on(x, (char)CHANNEL_CLOSE, (struct str){ &closed, 1 });
}

/* ---- in ---- */

static void put(int fd, struct str bytes)
{
    while (bytes.n) {
        ssize_t n = write(fd, bytes.p, bytes.n);

        if (n < 0 && errno != EINTR)
            return; /* nobody reads it: the program may end as it likes */
        bytes = str_from(bytes, n > 0 ? (size_t)n : 0);
    }
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
    x->v->status = CTL_FAILED;
    JSON_FOREACH(cause, json_find(status, "details", "causes", NULL))
        if (str_is(json_member_text(cause, "reason"), "ExitCode") &&
            str_to_i64(json_member_text(cause, "message"), &code) == 0) {
            x->v->status = (int)(code & 0xff);
            return;
        }
    (void)err_set(&x->err, ERR_INVALID, "%.*s", STR_ARG(str_sub(json_member_text(status, "message"), 0, 400)));
}

static void on_message(void *ctx, struct str message)
{
    struct exec *x = ctx;
    int channel = message.n ? (unsigned char)message.p[0] : CHANNEL_STDOUT;
    struct str bytes = str_from(message, 1);

    if (channel == CHANNEL_ERROR)
        take_verdict(x, bytes);
    else if (channel == CHANNEL_STDOUT || channel == CHANNEL_STDERR)
        put(channel == CHANNEL_STDERR ? STDERR_FILENO : STDOUT_FILENO, bytes);
}

static void on_open(void *ctx)
{
    struct exec *x = ctx;

    x->is_open = true;
}

static void on_end(void *ctx, const struct err *e)
{
    struct exec *x = ctx;

    x->stream = NULL;
    if (e && !x->has_verdict)
        x->err = *e;
}

/* ---- the loop ---- */

static void turn(struct exec *x)
{
    bool reads = x->is_open && x->v->o->stdin_ && !x->is_input_over && kube_stream_queued(x->stream) < QUEUED_MAX;
    struct pollfd fds[3] = { { kube_ask_fd(x->v->ctl.ask), POLLIN, 0 },
                             { reads ? STDIN_FILENO : -1, POLLIN, 0 },
                             { x->signals, POLLIN, 0 } };
    struct signalfd_siginfo info;

    (void)poll(fds, ARRAY_LEN(fds), -1);
    if (fds[2].revents & POLLIN && read(x->signals, &info, sizeof(info)) > 0 && x->is_open)
        send_size(x);
    if (fds[1].revents)
        take_input(x);
    kube_ask_turn(x->v->ctl.ask);
}

static int talk(struct exec *x, struct str path, struct err *e)
{
    struct kube_stream_events events = { x, on_open, on_message, on_end };
    bool was_open = false;

    if (kube_ask_websocket(x->v->ctl.ask, path, "v5.channel.k8s.io", &events, &x->stream, e) < 0)
        return -1;
    while (x->stream && !x->has_verdict) {
        if (x->is_open && !was_open && x->v->o->tty)
            send_size(x);
        was_open = x->is_open;
        turn(x);
    }
    if (x->stream)
        kube_stream_end(x->stream);
    if (x->err.code == ERR_OK && !x->has_verdict)
        return err_set(e, ERR_IO, "the connection ended before the program did");
    if (x->err.code == ERR_OK)
        return 0;
    *e = x->err;
    return -1;
}

/* Keys go to the program there as they are; back to what it was when it is over. */
static int talk_raw(struct exec *x, struct str path, struct err *e)
{
    struct termios before, raw;
    sigset_t set;
    int rc;

    if (!x->v->o->tty || tcgetattr(STDIN_FILENO, &before) < 0)
        return talk(x, path, e);
    raw = before;
    cfmakeraw(&raw);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGWINCH);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    x->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &raw); /* it is a terminal: it was just asked */
    rc = talk(x, path, e);
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    if (x->signals >= 0)
        (void)close(x->signals);
    return rc;
}

int verb_job_exec(struct ctl_verb *v, struct err *e)
{
    struct exec x = { .v = v, .signals = -1 };
    struct pod_rows pods = { 0 };
    autobuf path = { 0 };

    if (v->args.n < 2)
        return err_set(e, ERR_SYNTAX, "say where and what: pumice job exec NAME -- COMMAND…");
    if (v->o->tty && !isatty(STDIN_FILENO))
        fprintf(stderr, "pumice job exec: standard input is no terminal, so its size and keys are not passed on\n");
    if (pod_pick(v, str_of(v->args.v[0]), &pods, e) < 0)
        return -1;
    path_object(&path, ctl_type("Pod"), object_namespace(pods.v.v[0].object), object_name(pods.v.v[0].object), "exec");
    path_query(&path, "container", str_of(v->o->container));
    path_query(&path, "stdin", v->o->stdin_ ? STR("true") : STR_NULL);
    path_query(&path, "stdout", STR("true"));
    path_query(&path, "stderr", v->o->tty ? STR_NULL : STR("true"));
    path_query(&path, "tty", v->o->tty ? STR("true") : STR_NULL);
    for (size_t i = 1; i < v->args.n; i++)
        path_query(&path, "command", str_of(v->args.v[i]));
    return talk_raw(&x, buf_view(&path), e);
}
