/* shim_task.c - commands in containers and probes from the pod's network, each in its own process and with a time
 * limit */
#include "node/shim/shim_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "os/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { KILL_MS = 1000, TIMEOUT_MAX = 24 * 3600 * 1000 };

void task_refuse(struct shim_pod *p, uint64_t id, const char *why)
{
    struct shim_event ev = { .kind = SHIM_RESULT, .id = id, .exit_code = 126, .text = str_of(why) };

    pod_say(p, &ev);
}

/* ---- while it runs ---- */

void task_read(struct shim_pod *p, struct shim_task *j)
{
    ssize_t n;

    if (j->out < 0)
        return;
    n = read(j->out, p->bytes, SHIM_READ);
    if (n > 0)
        buf_append(&j->text, p->bytes,
                   MIN_OF((size_t)n, SHIM_OUTPUT_MAX + 1 - j->text.n)); /* 1: the '+' or '-' of a probe */
    else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        close(j->out);
        j->out = -1;
    }
}

/* SIGTERM asks the process that waits for a command (box_exec()) to kill it; a probe, or a waiter that does not
 * react, gets SIGKILL. */
void pod_check_jobs(struct shim_pod *p, int64_t now_ms)
{
    LIST_FOREACH(struct shim_task, j, &p->tasks, link) {
        if (now_ms < j->due_ms)
            continue;
        (void)kill(j->pid, j->is_probe || j->timed_out ? SIGKILL : SIGTERM);
        j->due_ms = j->timed_out ? INT64_MAX : now_ms + KILL_MS;
        j->timed_out = true;
    }
}

static void task_free(struct shim_pod *p, struct shim_task *j)
{
    if (list_is_linked(&j->link))
        p->n_jobs--;
    list_remove(&j->link);
    if (j->out >= 0)
        close(j->out);
    buf_done(&j->text);
    free(j);
}

void task_ended(struct shim_pod *p, struct shim_task *j, int status)
{
    struct shim_event ev = { .kind = SHIM_RESULT, .id = j->id, .timed_out = j->timed_out };

    for (int i = 0; i < 4; i++) /* drain the pipe, but not what a grandchild keeps writing */
        task_read(p, j);
    ev.text = buf_view(&j->text);
    ev.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (j->is_probe) {
        ev.is_ok = ev.text.n && ev.text.p[0] == '+' && status == 0;
        ev.timed_out |= !ev.is_ok && clock_mono_ms(&clock_real) - j->began_ms >= j->timeout_ms;
        ev.text = ev.text.n ? str_from(ev.text, 1) : STR("the probe process ended without an answer");
        ev.exit_code = 0;
    } else {
        ev.is_ok = status == 0 && !j->timed_out;
    }
    ev.text = str_sub(ev.text, 0, SHIM_OUTPUT_MAX);
    if (!j->is_forgotten)
        pod_say(p, &ev);
    task_free(p, j);
}

/* ---- starting ---- */

struct shim_task *task_new(struct shim_pod *p, uint64_t id, int64_t timeout_ms, int *ret_end)
{
    struct shim_task *j;
    int pair[2];

    if (p->n_jobs >= SHIM_JOBS_MAX) {
        task_refuse(p, id, "too many commands and probes are running");
        return NULL;
    }
    if (ret_end && pipe2(pair, O_CLOEXEC) < 0) {
        task_refuse(p, id, strerror(errno));
        return NULL;
    }
    j = xcalloc(1, sizeof(*j));
    j->id = id;
    j->out = -1;
    if (ret_end) {
        (void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
        j->out = pair[0];
        *ret_end = pair[1];
    }
    j->began_ms = clock_mono_ms(&clock_real);
    j->timeout_ms = timeout_ms <= 0 || timeout_ms > TIMEOUT_MAX ? TIMEOUT_MAX : timeout_ms;
    j->due_ms = j->began_ms + j->timeout_ms;
    return j;
}

void task_begin(struct shim_pod *p, struct shim_task *j, pid_t pid, int end, const struct err *e)
{
    if (end >= 0)
        close(end);
    if (pid < 0) {
        task_refuse(p, j->id, e->text);
        task_free(p, j);
        return;
    }
    j->pid = pid;
    list_push(&p->tasks, &j->link);
    p->n_jobs++;
}

int task_argv(struct wire_read *r, struct arena *a, struct box_spec *spec)
{
    size_t n = wire_get_count(r, 8);

    memset(&spec->argv, 0, sizeof(spec->argv));
    for (size_t i = 0; i < n && !r->is_bad; i++)
        *vec_push(a, &spec->argv) = arena_str(a, wire_get_str(r));
    return wire_is_read(r) && n ? 0 : -1;
}

void pod_exec(struct shim_pod *p, const struct wire_msg *m)
{
    struct wire_read r = { .rest = m->payload };
    uint64_t id = (uint64_t)wire_get_i64(&r);
    struct con *c = pod_find(p, wire_get_str(&r));
    int64_t timeout_ms = wire_get_i64(&r);
    struct box_spec spec = { 0 };
    autoarena a = { 0 };
    struct shim_task *j;
    struct err e;
    int end;
    pid_t pid;

    if (!c || c->state != CON_RUNNING) {
        task_refuse(p, id, "the container is not running");
        return;
    }
    spec = c->spec;
    spec.has_tty = false;
    if (task_argv(&r, &a, &spec) < 0) {
        task_refuse(p, id, "malformed command");
        return;
    }
    j = task_new(p, id, timeout_ms, &end);
    if (!j)
        return;
    pid = pod_clone(p, c->group, 0, NULL, &e);
    if (pid == 0) {
        pod_child_streams(p->null, end, end);
        if (e.code) {
            (void)dprintf(2, "%s\n", e.text);
            _exit(126);
        }
        p->driver->exec(&spec, &c->place, c->pidfd);
        _exit(126);
    }
    task_begin(p, j, pid, end, &e);
}

/* Only the program is linked with TLS and a resolver: execute it for the probe, from the start. */
static void execute_probe(const struct shim_pod *p, const struct probe_target *t, int64_t until_ms, int end)
{
    int64_t left_ms = MAX_OF(until_ms - clock_mono_ms(&clock_real), 1);
    char *argv[] = { (char *)"pumice-probe", NULL, NULL }, left[24];
    autobuf text = { 0 };
    int input;

    probe_encode(&text, t);
    input = memory_file("probe", buf_view(&text));
    (void)snprintf(left, sizeof(left), "%" PRId64, left_ms);
    argv[1] = left;
    if (input >= 0 && dup2(input, STDIN_FILENO) == STDIN_FILENO && dup2(end, STDOUT_FILENO) == STDOUT_FILENO)
        (void)syscall(SYS_execveat, p->own->opt->program_fd, "", argv, environ, AT_EMPTY_PATH);
}

static _Noreturn void be_probe(const struct shim_pod *p, const struct probe_target *t, int64_t timeout_ms, int end)
{
    int64_t until_ms = clock_mono_ms(&clock_real) + timeout_ms;
    enum probe_verdict verdict;
    autobuf out = { 0 };

    (void)signal(SIGPIPE, SIG_IGN);
    spawner_name(&p->own->area, "pumice-probe", p->opt.group);
    box_keep_cap(CAP_DAC_OVERRIDE); /* the program may belong to another user and need this to start */
    verdict = probe_run(t, timeout_ms, &out);
    if (verdict == PROBE_MISSES_LIBS) {
        execute_probe(p, t, until_ms, end);
        buf_reset(&out);
        buf_fmt(&out, "failed to execute the probe program: %s", strerror(errno));
    }
    probe_answer(end, verdict, buf_view(&out));
    _exit(0);
}

void pod_probe(struct shim_pod *p, const struct wire_msg *m)
{
    struct wire_read r = { .rest = m->payload };
    uint64_t id = (uint64_t)wire_get_i64(&r);
    int64_t timeout_ms = wire_get_i64(&r);
    struct str text = wire_get_str(&r);
    struct probe_target target;
    autoarena a = { 0 };
    struct shim_task *j;
    struct err e;
    int end;
    pid_t pid;

    if (!wire_is_read(&r) || probe_decode(&a, text, &target, &e) < 0) {
        task_refuse(p, id, "malformed probe");
        return;
    }
    j = task_new(p, id, timeout_ms, &end);
    if (!j)
        return;
    j->is_probe = true;
    pid = pod_clone(p, NULL, 0, NULL, &e);
    if (pid == 0)
        be_probe(p, &target, j->timeout_ms, end);
    j->due_ms += KILL_MS; /* the probe process keeps the deadline itself and reports what it waited for */
    task_begin(p, j, pid, end, &e);
}
