/* agent_log.c - what containers write, from their log files to the readers
 *
 * Shims write logs to files and say how long they are (SHIM_LOG); nothing of the output goes through their sockets. A
 * reader follows each container that runs, over files that were turned over meanwhile, and tells the shim how far it
 * came: a shim does not turn over what was not read. When there is no room for more, the event that was next stays
 * untaken (agent_pod.c holds it) and no other is taken from that shim, so what a container said always comes before
 * what became of it, and one that writes too much waits in the end.
 */
#include "node/agent/agent_internal.h"

#include "base/log.h"
#include "os/tree.h"

#include <fcntl.h>
#include <unistd.h>

struct agent_log *agent_log_of(struct agent_pod *p, struct str container, int attempt)
{
    LIST_FOREACH(struct agent_log, l, &p->logs, link)
        if (l->attempt == attempt && str_is(container, l->container))
            return l;
    return NULL;
}

void agent_log_follow(struct agent_pod *p, struct str container, int attempt)
{
    autoarena a = { 0 };
    struct agent_log *l;

    if (!p->agent->opt.hooks.output || agent_log_of(p, container, attempt))
        return;
    l = xcalloc(1, sizeof(*l) + container.n + 1);
    l->container = (char *)(l + 1);
    memcpy(l->container, container.p, container.n);
    l->attempt = attempt;
    l->reader = conlog_reader_new(agent_log_path(p, &a, container, attempt).p);
    list_push(&p->logs, &l->link);
}

static void give_line(struct agent_pod *p, struct str container, const struct conlog_line *line)
{
    struct agent_hooks *hooks = &p->agent->opt.hooks;
    struct agent_output out = { .namespace = p->object->namespace,
                                .pod = p->object->name,
                                .uid = p->object->uid,
                                .container = container,
                                .root = p->object->root,
                                .stream = line->stream,
                                .is_partial = line->is_partial,
                                .at_ms = line->at_ns / 1000000,
                                .text = line->text };

    p->agent->room -= (int64_t)line->text.n + CONLOG_EXTRA;
    hooks->output(hooks->ctx, &out);
}

/* A shim makes the directory for the first line. A reader would try every name in it that a log can have. */
static bool has_logs(struct agent_pod *p)
{
    autoarena a = { 0 };

    if (!p->has_logs)
        p->has_logs = faccessat(p->agent->run.dir_fd, arena_fmt(&a, "logs/%.*s", STR_ARG(p->object->uid)).p, F_OK, 0) ==
                      0;
    return p->has_logs;
}

/* False: there is more, and no room for it now. */
bool agent_log_read(struct agent_pod *p, struct agent_log *l)
{
    struct conlog_line line;

    if (!l || !has_logs(p))
        return true;
    while (p->agent->room > 0 && conlog_next(l->reader, &line))
        give_line(p, str_of(l->container), &line);
    return p->agent->room > 0;
}

/* The end of what it wrote did not fit on the disk: show what the shim remembers, and say so. */
void agent_log_unwritten(struct agent_pod *p, const struct shim_event *ev)
{
    struct agent_hooks *hooks = &p->agent->opt.hooks;
    struct conlog_line line = { .at_ns = agent_pod_now(p) * 1000000 };
    struct str rest = ev->text;
    autobuf said = { 0 };

    if (rest.n && rest.p[rest.n - 1] == '\n')
        rest.n--;
    while (hooks->output && rest.n && str_split(&rest, '\n', &line.text))
        give_line(p, ev->container, &line);
    buf_fmt(&said, "%.*s: failed to write its output below %s (No space left on device?); only its last lines are kept",
            STR_ARG(p->object->name), p->agent->run.dir.p);
    if (hooks->notice)
        hooks->notice(hooks->ctx, buf_view(&said));
}

bool agent_logs_read(struct agent_pod *p)
{
    LIST_FOREACH(struct agent_log, l, &p->logs, link)
        if (!agent_log_read(p, l))
            return false;
    return true;
}

/* Of earlier attempts: 'kubectl logs --previous' shows one, and no request can name the others. */
void agent_log_prune(struct agent_pod *p, struct str container, int attempt)
{
    autoarena a = { 0 };
    struct str path = agent_log_path(p, &a, container, attempt - 2);

    (void)unlink(path.p); /* mostly there is none */
    for (int i = 1; i < CONLOG_KEPT && attempt >= 2; i++)
        (void)unlink(arena_fmt(&a, "%s.%d", path.p, i).p);
}

void agent_logs_remove(struct agent_pod *p)
{
    autoarena a = { 0 };
    struct err e;

    if (!p->agent->opt.keeps_state &&
        tree_remove(p->agent->run.dir_fd, arena_fmt(&a, "logs/%.*s", STR_ARG(p->object->uid)).p, &e) < 0)
        log_warn("Failed to remove logs of a pod", LOG_STR("pod", p->object->name), LOG_TEXT("error", e.text));
}

static void log_free(struct agent_log *l)
{
    list_remove(&l->link);
    conlog_reader_free(l->reader);
    free(l);
}

void agent_log_forget(struct agent_pod *p, struct str container, int attempt)
{
    struct agent_log *l = agent_log_of(p, container, attempt);

    if (l)
        log_free(l);
}

void agent_logs_forget(struct agent_pod *p)
{
    LIST_FOREACH(struct agent_log, l, &p->logs, link)
        log_free(l);
}
