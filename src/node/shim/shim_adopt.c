/* shim_adopt.c - a new program takes over: it learns the state of all containers; pending work of the previous one is
 * dropped
 *
 * The previous program may have read an event without acting on it. So nothing that was sent counts: the last attempt
 * of every container is reported again, with its end. Only the last: the program that started it knew how the one
 * before had ended.
 */
#include "node/shim/shim_internal.h"

#include "base/util.h"

/* ---- how they ended ---- */

static struct shim_past *past_of(struct shim_pod *p, struct str name)
{
    struct shim_past *past;

    LIST_FOREACH(struct shim_past, old, &p->pasts, link)
        if (str_eq(buf_view(&old->name), name))
            return old;
    past = xcalloc(1, sizeof(*past));
    buf_str(&past->name, name);
    list_push(&p->pasts, &past->link);
    return past;
}

static void shim_adopt_set_text(struct buf *b, struct str text)
{
    buf_reset(b);
    buf_str(b, text);
}

void pod_note_end(struct shim_pod *p, const struct con *c, const struct shim_event *ev)
{
    bool has_failed = ev->kind == SHIM_FAILED;
    struct shim_past *past;

    if (!p->own->opt->outlives)
        return;
    past = past_of(p, str_of(c->name));
    past->con = (struct shim_con){ .attempt = c->attempt,
                                   .state = has_failed ? SHIM_CON_FAILED : SHIM_CON_ENDED,
                                   .started_ms = c->started_ms,
                                   .ended_ms = pod_now_ns(p) / 1000000,
                                   .status = has_failed ? ev->report.status : ev->status,
                                   .is_oom = ev->is_oom,
                                   .by_itself = ev->by_itself };
    shim_adopt_set_text(&past->reason, has_failed ? str_of(ev->report.reason) : STR_NULL);
    shim_adopt_set_text(&past->text, has_failed ? str_of(ev->report.text) : ev->text);
}

/* ---- the report ---- */

static void add_running(struct arena *a, const struct con *c, struct shim_found *f)
{
    struct shim_con *con = vec_push(a, &f->cons);

    *con = (struct shim_con){ .name = str_of(c->name),
                              .attempt = c->attempt,
                              .state = c->state == CON_RUNNING ? SHIM_CON_RUNNING : SHIM_CON_STARTING,
                              .pid = c->pid,
                              .started_ms = c->started_ms };
    VEC_FOREACH(device, &c->spec.devices)
        *vec_push(a, &con->devices) = device->host;
}

static void add_past(struct arena *a, struct shim_pod *p, const struct shim_past *past, struct shim_found *f)
{
    struct shim_con *con;

    if (pod_find(p, buf_view(&past->name))) /* a later attempt is running */
        return;
    con = vec_push(a, &f->cons);
    *con = past->con;
    con->name = buf_view(&past->name);
    con->reason = buf_view(&past->reason);
    con->text = buf_view(&past->text);
}

/* Their clients have disconnected. A hook or probe runs to its end, and its result is dropped. */
static void forget_tasks(struct shim_pod *p)
{
    LIST_FOREACH(struct shim_task, j, &p->tasks, link) {
        j->is_forgotten = true;
        if (j->is_session)
            j->due_ms = 0;
    }
    LIST_FOREACH(struct con, c, &p->cons, link)
        con_detach_all(p, c, false);
}

void pod_adopt(struct shim_pod *p, const struct wire_msg *m)
{
    struct shim_found f = { .group = str_of(p->opt.group), .note = p->opt.note };
    autoarena a = { 0 };
    autobuf text = { 0 };

    (void)m;
    pod_drop_queue(p);
    forget_tasks(p);
    LIST_FOREACH(struct con, c, &p->cons, link)
        add_running(&a, c, &f);
    LIST_FOREACH(struct shim_past, past, &p->pasts, link)
        add_past(&a, p, past, &f);
    LIST_FOREACH(struct con, c, &p->cons, link)
        c->said_bytes = 0; /* report the size of its log again */
    shim_put_found(&text, &f);
    pod_say_text(p, WORD_FOUND, buf_view(&text));
}
