/* advice_fork.c - many trials from one beginning
 *
 * To build a large cluster and let it come to rest takes most of the time of a trial, and it is the same each time. A
 * child process has a copy of it for next to nothing, spoils it with one change, and writes home what came of it.
 */
#include "whatif/advice_internal.h"

#include "base/util.h"
#include "os/io.h"
#include "os/proc.h"

#include <assert.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what the child has to say ---- in the memory layout both have ---- */

struct report {
    bool starts, has_group;
    struct why why;
    size_t resource_n, n_evicts;
};

static void fork_put(struct buf *out, const void *p, size_t n)
{
    buf_str(out, (struct str){ p, n });
}

static void report_write(struct buf *out, const struct suggestion *s, const struct advice_verdict *verdict)
{
    struct report r = { verdict->starts, verdict->has_group, verdict->why, verdict->resource.n, s->evicts.n };

    fork_put(out, &r, sizeof(r));
    buf_str(out, verdict->resource);
    VEC_FOREACH(victim, &s->evicts) {
        fork_put(out, &victim->pods, sizeof(victim->pods));
        fork_put(out, &victim->name.n, sizeof(victim->name.n));
        buf_str(out, victim->name);
    }
}

static void fork_take(struct str *rest, void *ret, size_t n)
{
    assert(rest->n >= n);
    memcpy(ret, rest->p, n);
    *rest = str_from(*rest, n);
}

static struct str fork_take_text(struct arena *a, struct str *rest, size_t n)
{
    struct str text;

    assert(rest->n >= n);
    text = arena_str(a, str_sub(*rest, 0, n));
    *rest = str_from(*rest, n);
    return text;
}

static void report_read(struct arena *a, struct str text, struct suggestion *s, struct advice_verdict *ret)
{
    struct report r;

    fork_take(&text, &r, sizeof(r));
    *ret = (struct advice_verdict){ .starts = r.starts, .has_group = r.has_group, .why = r.why };
    ret->resource = fork_take_text(a, &text, r.resource_n);
    for (size_t i = 0; i < r.n_evicts; i++) {
        struct advice_victim *victim = vec_push(a, &s->evicts);
        size_t n;

        fork_take(&text, &victim->pods, sizeof(victim->pods));
        fork_take(&text, &n, sizeof(n));
        victim->name = fork_take_text(a, &text, n);
    }
}

/* ---- processes ---- */

_Noreturn static void live_as_child(struct advising *v, struct suggestion *s, int fd)
{
    struct advice_verdict verdict = { 0 };
    struct buf out = { 0 };

    trial_change(v, s, &verdict);
    report_write(&out, s, &verdict);
    _exit(write_all(fd, buf_view(&out)) < 0); /* nothing of the parent's is flushed or freed twice */
}

bool trial_in_child(struct advising *v, struct suggestion *s, struct advice_verdict *ret)
{
    int fds[2], status;
    autobuf report = { 0 };
    pid_t child;

    if (pipe(fds) < 0)
        return false;
    child = fork();
    if (child == 0) {
        close(fds[0]);
        live_as_child(v, s, fds[1]);
    }
    close(fds[1]);
    if (child > 0)
        (void)read_all(fds[0], SIZE_MAX, &report); /* what is missing shows in its status */
    close(fds[0]);
    if (child < 0)
        return false;
    status = proc_wait(child);
    assert(WIFEXITED(status) && WEXITSTATUS(status) == 0); /* what stops the child would have stopped us */
    report_read(v->a, buf_view(&report), s, ret);
    return true;
}
