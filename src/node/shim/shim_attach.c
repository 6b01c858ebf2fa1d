/* shim_attach.c - clients attached to the output and input of a container
 *
 * Output goes to the log first. Attached clients get a copy as far as their pipes have room, and never block the
 * container. The input is passed as a descriptor, so typed bytes do not go through the shim.
 */
#include "node/shim/shim_internal.h"

#include "base/util.h"

#include <fcntl.h>
#include <sys/socket.h>

static void sink_free(struct shim_sink *s)
{
    list_remove(&s->link);
    for (int i = 0; i < CONLOG_STREAM_MAX; i++)
        if (s->fds[i] >= 0)
            close(s->fds[i]);
    free(s);
}

static void shim_attach_end(struct shim_pod *p, struct shim_sink *s, bool tells)
{
    struct shim_event ev = { .kind = SHIM_RESULT, .id = s->id, .is_ok = true };

    sink_free(s);
    if (tells)
        pod_say(p, &ev);
}

bool con_detach(struct shim_pod *p, struct con *c, uint64_t id)
{
    LIST_FOREACH(struct shim_sink, s, &c->sinks, link)
        if (s->id == id) {
            shim_attach_end(p, s, true);
            return true;
        }
    return false;
}

void con_detach_all(struct shim_pod *p, struct con *c, bool tells)
{
    LIST_FOREACH(struct shim_sink, s, &c->sinks, link)
        shim_attach_end(p, s, tells);
}

void con_show(struct con *c, enum conlog_stream stream, struct str bytes)
{
    LIST_FOREACH(struct shim_sink, s, &c->sinks, link)
        if (s->fds[stream] >= 0)
            (void)!write(s->fds[stream], bytes.p, bytes.n); /* pipe full or closed: the output is in the log */
}

/* stdinOnce: the client gets the only descriptor, so its close is the end of the input. */
static int give_input(struct con *c, int sock)
{
    if (wire_send_fd(sock, "", 1, c->in, MSG_DONTWAIT) < 0)
        return -1;
    if (c->spec.is_stdin_once) {
        close(c->in);
        c->in = -1;
    }
    return 0;
}

static int dup_nonblocking(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

    if (copy >= 0)
        (void)fcntl(copy, F_SETFL, O_NONBLOCK);
    return copy;
}

static size_t shim_attach_count(const struct con *c)
{
    size_t n = 0;

    LIST_FOREACH(struct shim_sink, s, &c->sinks, link)
        n++;
    return n;
}

static const char *shim_attach_refusal(const struct con *c, bool wants_input)
{
    if (!c || c->state != CON_RUNNING)
        return "the container is not running";
    if (wants_input && !c->spec.has_stdin)
        return "the container has no input: set stdin: true";
    if (wants_input && c->in < 0)
        return "the input of the container is already taken: stdinOnce is true";
    return shim_attach_count(c) >= SHIM_SESSIONS_MAX ? "too many attached clients" : NULL;
}

void pod_attach(struct shim_pod *p, const struct wire_msg *m)
{
    struct wire_read r = { .rest = m->payload };
    uint64_t id = (uint64_t)wire_get_i64(&r);
    struct con *c = pod_find(p, wire_get_str(&r));
    bool wants_input = wire_get_i64(&r) != 0;
    const char *why = wire_is_read(&r) && m->n_fds == 3 ? shim_attach_refusal(c, wants_input) : "malformed order";
    struct shim_sink *s;

    if (!why && wants_input && give_input(c, m->fds[0]) < 0)
        why = "failed to pass the input of the container";
    if (why) {
        task_refuse(p, id, why);
        return;
    }
    s = xcalloc(1, sizeof(*s));
    s->id = id;
    s->fds[CONLOG_STDOUT] = dup_nonblocking(m->fds[1]);
    s->fds[CONLOG_STDERR] = dup_nonblocking(m->fds[2]);
    if (s->fds[CONLOG_STDOUT] >= 0) { /* show a prompt that was written before */
        struct str begun = conlog_begun(c->log);

        (void)!write(s->fds[CONLOG_STDOUT], begun.p, begun.n);
    }
    list_push(&c->sinks, &s->link);
}
