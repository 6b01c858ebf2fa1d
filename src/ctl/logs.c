/* logs.c - what pods write, of one after the other, or of all as it comes
 *
 * Lines of several pods have the pod's name in front. With -f all are followed at once, a pod from the
 * moment its container has begun, until each has ended.
 */
#include "api/duration.h"
#include "api/meta.h"
#include "base/util.h"
#include "ctl/logs.h"
#include "kube/path.h"
#include "base/term.h"

#include <poll.h>

enum { RETRY_MS = 500 };

struct logs;
struct logs_source { /* one container */
    struct logs *logs;
    struct str namespace, pod, container;
    struct kube_stream *stream; /* NULL: none at present */
    struct buf line;
    struct term_stream safe;     /* standard output is a terminal, and not the container's */
    struct term_colours colours; /* the same for lines with a pod's name */
    bool is_over;
};

struct logs {
    struct ctl_verb *v;
    VEC(struct logs_source *) sources;
    bool has_prefix, has_failed, is_screen;
    struct err err;
    struct err broken; /* standard output */
};

/* ---- lines ---- */

static void logs_put_line(struct logs_source *s, struct str line)
{
    struct ctl_verb *v = s->logs->v;

    if (s->logs->has_prefix) {
        buf_char(&v->out, '[');
        term_text(&v->out, s->pod);
        buf_str(&v->out, STR("] "));
    }
    if (s->logs->is_screen) /* nothing may be written over the pod's name */
        term_line(&v->out, line, s->safe.colour, &s->colours);
    else
        buf_str(&v->out, line);
    buf_char(&v->out, '\n');
}

static void logs_on_data(void *ctx, struct str data)
{
    struct logs_source *s = ctx;
    ptrdiff_t end;

    if (!s->logs->has_prefix && s->logs->is_screen) {
        term_stream(&s->logs->v->out, data, &s->safe);
    } else if (!s->logs->has_prefix) { /* as it is: it need not be text */
        buf_str(&s->logs->v->out, data);
    } else {
        while ((end = str_find_char(data, '\n')) >= 0) {
            buf_str(&s->line, str_sub(data, 0, (size_t)end));
            logs_put_line(s, buf_view(&s->line));
            buf_reset(&s->line);
            data = str_from(data, (size_t)end + 1);
        }
        buf_str(&s->line, data);
    }
    if (verb_flush(s->logs->v, &s->logs->broken) < 0)
        s->logs->has_failed = true;
}

/* A container that has not begun has no log yet: with -f it is waited for. */
static bool is_early(const struct logs *l, const struct err *e)
{
    return l->v->o->follow && e->code == ERR_INVALID &&
           (strstr(e->text, "waiting to start") || strstr(e->text, "ContainerCreating") ||
            strstr(e->text, "not have a host assigned") || strstr(e->text, "is not running") ||
            strstr(e->text, "not started"));
}

static void logs_on_end(void *ctx, const struct err *e)
{
    struct logs_source *s = ctx;

    s->stream = NULL;
    if (s->line.n)
        logs_put_line(s, buf_view(&s->line));
    buf_reset(&s->line);
    if (s->logs->is_screen)
        term_stream_end(&s->logs->v->out, &s->safe);
    s->is_over = !e || !is_early(s->logs, e);
    if (e && s->is_over)
        s->logs->err = *e;
}

/* ---- sources ---- */

static int log_path(const struct logs_source *s, struct buf *path, struct err *e)
{
    const struct ctl_options *o = s->logs->v->o;
    int64_t ns;

    path_object(path, ctl_type("Pod"), s->namespace, s->pod, "log");
    path_query(path, "container", s->container);
    path_query(path, "follow", o->follow ? STR("true") : STR_NULL);
    path_query(path, "previous", o->previous ? STR("true") : STR_NULL);
    path_query(path, "timestamps", o->timestamps ? STR("true") : STR_NULL);
    path_query(path, "tailLines", str_of(o->tail));
    if (o->since && (duration_parse(str_of(o->since), &ns, e) < 0 || ns <= 0))
        return err_set(e, ERR_SYNTAX, "--since: \"%s\" is not a duration; write 90s, 10m or 2h", o->since);
    if (o->since)
        path_query(path, "sinceSeconds",
                   arena_fmt(s->logs->v->arena, "%lld", (long long)(ns / 1000000000 + (ns % 1000000000 > 0))));
    return 0;
}

static int open_source(struct logs_source *s, struct err *e)
{
    struct kube_stream_events events = { .ctx = s, .on_data = logs_on_data, .on_end = logs_on_end };
    autobuf path = { 0 };

    if (log_path(s, &path, e) < 0)
        return -1;
    return kube_ask_stream(s->logs->v->ctl.ask, buf_view(&path), &events, &s->stream, e);
}

static void logs_add_source(struct logs *l, const struct logs_of *of)
{
    struct logs_source *s = arena_new(l->v->arena, struct logs_source);

    *s = (struct logs_source){ .logs = l,
                               .namespace = object_namespace(of->pod),
                               .pod = object_name(of->pod),
                               .container = of->container,
                               .safe.colour = term_has_colour(stdout) };
    *vec_push(l->v->arena, &l->sources) = s;
}

/* Until each has ended; those that were early are asked again. */
static int logs_follow(struct logs *l, struct err *e)
{
    for (;;) {
        bool is_any = false, is_early_any = false;

        VEC_FOREACH(s, &l->sources) {
            if (!(*s)->is_over && !(*s)->stream && open_source(*s, e) < 0)
                return -1;
            is_any = is_any || !(*s)->is_over;
        }
        if (!is_any || l->has_failed)
            return 0;
        (void)poll(&(struct pollfd){ kube_ask_fd(l->v->ctl.ask), POLLIN, 0 }, 1, -1);
        kube_ask_turn(l->v->ctl.ask);
        VEC_FOREACH(s, &l->sources)
            is_early_any = is_early_any || (!(*s)->is_over && !(*s)->stream);
        if (is_early_any)
            (void)poll(NULL, 0, RETRY_MS);
    }
}

static int one_by_one(struct logs *l, struct err *e)
{
    VEC_FOREACH(s, &l->sources) {
        if (open_source(*s, e) < 0)
            return -1;
        while (!(*s)->is_over && !l->has_failed) {
            (void)poll(&(struct pollfd){ kube_ask_fd(l->v->ctl.ask), POLLIN, 0 }, 1, -1);
            kube_ask_turn(l->v->ctl.ask);
        }
        if (l->has_failed)
            break;
    }
    return 0;
}

int logs_print(struct ctl_verb *v, const struct logs_of *list, size_t n, struct err *e)
{
    struct logs l = { .v = v, .is_screen = isatty(STDOUT_FILENO) };
    int rc;

    v->is_harmless = true;
    if (v->o->tail && str_to_u64(str_of(v->o->tail), &(uint64_t){ 0 }) < 0)
        return err_set(e, ERR_SYNTAX, "--tail: \"%s\" is not a number of lines", v->o->tail);
    for (size_t i = 0; i < n; i++)
        logs_add_source(&l, &list[i]);
    l.has_prefix = n > 1 || v->o->prefix;
    rc = v->o->follow ? logs_follow(&l, e) : one_by_one(&l, e);
    VEC_FOREACH(s, &l.sources) {
        if ((*s)->stream)
            kube_stream_end((*s)->stream);
        buf_done(&(*s)->line);
    }
    if (rc == 0 && (l.has_failed || l.err.code != ERR_OK)) {
        *e = l.has_failed ? l.broken : l.err;
        rc = -1;
    }
    return rc;
}
