/* logs.c - what containers write: lines with a prefix, files of --log-dir, and what is kept for the failed
 *
 * A line that comes in parts is put together before it is shown, so that two containers never share one. Files get the
 * bytes as they are; they are opened for each write, so that any number of pods needs no descriptor.
 */
#include "program/run/logs.h"

#include "api/meta.h"
#include "base/util.h"
#include "program/run/events.h"
#include "program/run/options.h"
#include "program/run/out.h"
#include "os/io.h"
#include "os/path.h"
#include "base/term.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum {
    LINE_MAX_BYTES = 256 << 10, /* a longer line is shown as several */
    KEPT_MAX = 256 << 10,       /* of each container, for --logs=failed */
    FILE_CHUNK = 256 << 10,     /* written before the turn ends */
};

struct run_log { /* of one container */
    struct str uid, prefix;
    struct str names; /* -o json: the same for programs */
    bool is_shown, is_dirty, has_file;
    bool keeps;                         /* --logs=failed, and the pod has not ended */
    struct str file;                    /* its name below --log-dir */
    struct buf part[CONLOG_STREAM_MAX]; /* of lines that are not finished */
    bool is_bar[CONLOG_STREAM_MAX];     /* … one of them is written over with carriage returns */
    struct term_colours colours[CONLOG_STREAM_MAX];
    struct buf kept; /* --logs=failed: finished lines, as they will be printed */
    size_t dropped;
    struct buf unwritten; /* for the file */
};

/* ---- options ---- */

static bool has_task(const struct load *l, struct str word)
{
    ptrdiff_t slash = str_rfind_char(word, '/');
    struct str job = slash < 0 ? STR_NULL : str_sub(word, 0, (size_t)slash);

    for (size_t i = 0; i < l->docs.n; i++)
        if (l->docs.v[i]->set && (slash < 0 || str_eq(job, l->docs.v[i]->job.meta.name)))
            for (size_t k = 0; k < l->docs.v[i]->job.spec.tasks.n; k++)
                if (str_eq(l->docs.v[i]->job.spec.tasks.v[k].name, str_from(word, (size_t)(slash + 1))))
                    return true;
    return false;
}

static int no_task(const struct load *l, struct str word, struct err *e)
{
    autobuf names = { 0 };

    for (size_t i = 0; i < l->docs.n; i++)
        for (size_t k = 0; l->docs.v[i]->set && k < l->docs.v[i]->job.spec.tasks.n; k++)
            buf_fmt(&names, "%s%.*s", names.n ? ", " : "", STR_ARG(l->docs.v[i]->job.spec.tasks.v[k].name));
    return err_set(e, ERR_INVALID, "--logs %.*s: must be all, failed, none or a task (tasks: %s)", STR_ARG(word),
                   names.n ? names.p : "none");
}

static int logs_read_mode(struct run_logs *g, const char *mode, const struct load *l, struct err *e)
{
    static const struct {
        const char *word;
        enum run_logs_mode mode;
    } words[] = { { "all", RUN_LOGS_ALL }, { "failed", RUN_LOGS_FAILED }, { "none", RUN_LOGS_NONE } };
    struct str rest = str_of(mode ? mode : "all"), word;

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is(rest, words[i].word)) {
            g->mode = words[i].mode;
            return 0;
        }
    g->mode = RUN_LOGS_TASKS;
    while (str_split(&rest, ',', &word)) {
        if (!has_task(l, word))
            return no_task(l, word, e);
        *vec_push(&g->arena, &g->tasks) = arena_str(&g->arena, word);
    }
    return 0;
}

static size_t digits(int64_t n)
{
    size_t d = 1;

    for (; n >= 10; n /= 10)
        d++;
    return d;
}

/* As wide as the widest prefix the files can give; what comes later may be wider. */
static void logs_measure(struct run_logs *g, const struct load *l)
{
    size_t n_jobs = load_count_jobs(l);

    for (size_t i = 0; i < l->docs.n; i++) {
        const struct loaded *doc = l->docs.v[i];

        if (!doc->set && doc->type && str_is(object_kind(doc->root), "Pod"))
            g->width = MAX_OF(g->width, object_name(doc->root).n);
        for (size_t k = 0; doc->set && k < doc->job.spec.tasks.n; k++) {
            const struct job_task *t = &doc->job.spec.tasks.v[k];
            size_t n = t->name.n + 1 + digits(MAX_OF(t->replicas, 1) - 1) +
                       (n_jobs > 1 ? doc->job.meta.name.n + 1 : 0) +
                       (n_jobs > 1 && g->has_namespaces ? doc->job.meta.namespace.n + 1 : 0);

            g->width = MAX_OF(g->width, n);
        }
    }
    g->width = MIN_OF(g->width, (size_t)40);
}

int run_logs_init(struct run_logs *g, const struct run_options *o, const struct load *l, struct err *e)
{
    bool has_namespaces = g->has_namespaces;

    *g = (struct run_logs){ .dir = o->log_dir, .dir_fd = -1, .has_namespaces = has_namespaces };
    map_init(&g->containers, map_seed_default());
    map_init(&g->names, map_seed_default());
    if (logs_read_mode(g, o->logs, l, e) < 0)
        return -1;
    logs_measure(g, l);
    return 0;
}

int run_logs_open(struct run_logs *g, struct err *e)
{
    if (!g->dir)
        return 0;
    if (access(g->dir, F_OK) < 0 && make_dirs(g->dir, 0777, e) < 0)
        return err_wrap(e, "--log-dir");
    g->dir_fd = open(g->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (g->dir_fd < 0)
        return err_errno(e, "--log-dir %s", g->dir);
    if (faccessat(g->dir_fd, ".", W_OK, AT_EACCESS) < 0)
        return err_errno(e, "--log-dir %s", g->dir);
    return 0;
}

static void log_free(struct run_log *log)
{
    for (int s = 0; s < CONLOG_STREAM_MAX; s++)
        buf_done(&log->part[s]);
    buf_done(&log->kept);
    buf_done(&log->unwritten);
}

void run_logs_done(struct run_logs *g)
{
    MAP_FOREACH(struct run_log *, log, &g->containers)
        log_free(log);
    map_done(&g->containers);
    map_done(&g->names);
    if (g->dir_fd >= 0)
        close(g->dir_fd);
    arena_done(&g->arena);
}

/* ---- one container ---- */

static bool run_logs_is_wanted(const struct run_logs *g, const struct history_pod *p)
{
    if (g->mode != RUN_LOGS_TASKS)
        return g->mode != RUN_LOGS_NONE;
    if (!p || !p->task)
        return false;
    VEC_FOREACH(word, &g->tasks) {
        ptrdiff_t slash = str_rfind_char(*word, '/');

        if (str_eq(str_from(*word, (size_t)(slash + 1)), p->task->name) &&
            (slash < 0 || str_eq(str_sub(*word, 0, (size_t)slash), p->job->name)))
            return true;
    }
    return false;
}

/* Pods have one colour each; neighbours differ. */
static unsigned colour_of(const struct history_pod *p, struct str label)
{
    static const uint8_t colours[] = { 36, 32, 33, 35, 34, 96, 92, 93, 95, 94 };
    uint64_t n = str_hash(label, 0);

    if (p && p->task) { /* the place of the task, then of the pod in it */
        n = (uint64_t)p->index;
        VEC_FOREACH(t, &p->job->tasks) {
            if (*t == p->task)
                break;
            n += (uint64_t)(*t)->replicas;
        }
    }
    return colours[n % ARRAY_LEN(colours)];
}

static bool is_init_container(const struct agent_output *line)
{
    JSON_FOREACH(c, json_find(line->root, "spec", "initContainers", NULL))
        if (str_eq(json_member_text(c, "name"), line->container))
            return true;
    return false;
}

/* The container is named where the pod alone does not say it. The name of an init container, which says a few words at
 * the beginning, does not make room in all other lines. */
static struct str prefix_of(struct run_logs *g, const struct history_pod *p, const struct agent_output *line)
{
    bool is_init = is_init_container(line),
         is_named = is_init || json_count(json_find(line->root, "spec", "containers", NULL)) > 1;
    struct str label = p ? p->label : line->pod;
    autobuf plain = { 0 }, out = { 0 };

    term_text(&plain, label);
    if (is_named) {
        buf_char(&plain, '/');
        term_text(&plain, line->container);
    }
    if (!is_init)
        g->width = MAX_OF(g->width, MIN_OF(plain.n, (size_t)40));
    buf_repeat(&plain, ' ', plain.n < g->width ? g->width - plain.n : 0);
    buf_str(&plain, STR(" | "));
    if (!g->has_colour)
        return arena_str(&g->arena, buf_view(&plain));
    buf_fmt(&out, "\033[%um%.*s\033[0m", colour_of(p, label), STR_ARG(buf_view(&plain)));
    return arena_str(&g->arena, buf_view(&out));
}

static struct str logs_names_of(struct run_logs *g, const struct history_pod *p, const struct agent_output *line)
{
    autobuf text = { 0 };

    run_event_names(&text, p, line);
    return arena_str(&g->arena, buf_view(&text));
}

/* "pod.container.log", and "pod.container.2.log" for another pod of the name. */
static struct str logs_file_name(struct run_logs *g, const struct agent_output *line)
{
    struct str base = arena_fmt(&g->arena, "%.*s%s%.*s.%.*s", STR_ARG(g->has_namespaces ? line->namespace : STR_NULL),
                                g->has_namespaces ? "." : "", STR_ARG(line->pod), STR_ARG(line->container)),
               name = arena_cat(&g->arena, base, STR(".log"));

    for (unsigned n = 2; map_get(&g->names, name); n++)
        name = arena_fmt(&g->arena, "%.*s.%u.log", STR_ARG(base), n);
    map_put(&g->names, name, g);
    return name;
}

enum { KEY_SIZE = 600 };

static struct str logs_key_of(char key[KEY_SIZE], struct str uid, struct str container)
{
    int n = snprintf(key, KEY_SIZE, "%.*s/%.*s", STR_ARG(uid), STR_ARG(container));

    return (struct str){ key, MIN_OF((size_t)MAX_OF(n, 0), (size_t)KEY_SIZE - 1) };
}

bool run_logs_is_last(const struct run_logs *g, struct str uid, struct str container)
{
    char key[KEY_SIZE];
    const struct run_log *log = map_get(&g->containers, logs_key_of(key, uid, container));

    return log && log == g->last;
}

static struct run_log *log_of(struct run_logs *g, const struct agent_output *line)
{
    char key[KEY_SIZE];
    struct str view = logs_key_of(key, line->uid, line->container);
    struct run_log *log = map_get(&g->containers, view);
    const struct history_pod *p;

    if (log)
        return log;
    p = history_pod(g->history, line->uid);
    log = arena_new(&g->arena, struct run_log);
    log->uid = arena_str(&g->arena, line->uid);
    log->prefix = prefix_of(g, p, line);
    if (g->events)
        log->names = logs_names_of(g, p, line);
    log->is_shown = run_logs_is_wanted(g, p);
    log->keeps = g->mode == RUN_LOGS_FAILED && !(p && p->state == HISTORY_FAILED);
    if (g->dir_fd >= 0 && !str_has_char(line->pod, '/') && !str_has_char(line->container, '/'))
        log->file = logs_file_name(g, line);
    map_put(&g->containers, arena_str(&g->arena, view), log);
    return log;
}

/* ---- files ---- */

static void logs_write_file(struct run_logs *g, struct run_log *log)
{
    autoclose int fd = -1;

    if (!g->dir_errno) {
        fd = openat(g->dir_fd, log->file.p,
                    O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (log->has_file ? O_APPEND : O_TRUNC), 0666);
        if (fd < 0)
            g->dir_errno = errno;
        log->has_file = true;
    }
    if (fd >= 0 && write_all(fd, buf_view(&log->unwritten)) < 0)
        g->dir_errno = errno;
    buf_reset(&log->unwritten);
}

static void to_file(struct run_logs *g, struct run_log *log, const struct agent_output *line)
{
    if (!log->file.n)
        return;
    buf_str(&log->unwritten, line->text);
    if (!line->is_partial)
        buf_char(&log->unwritten, '\n');
    if (!log->is_dirty) {
        log->is_dirty = true;
        *vec_push(&g->arena, &g->dirty) = log;
    }
    if (log->unwritten.n >= FILE_CHUNK)
        logs_write_file(g, log);
}

void run_logs_flush(struct run_logs *g)
{
    VEC_FOREACH(log, &g->dirty) {
        if ((*log)->unwritten.n)
            logs_write_file(g, *log);
        (*log)->is_dirty = false;
    }
    g->dirty.n = 0;
}

/* ---- lines ---- */

static void logs_put_text(struct run_logs *g, struct run_log *log, enum conlog_stream stream, struct buf *to,
                          struct str text)
{
    if (g->is_terminal)
        term_line(to, text, g->has_colour, &log->colours[stream]);
    else
        buf_str(to, text);
}

/* The oldest whole lines go. */
static void logs_shorten(struct run_log *log)
{
    const char *end;
    size_t cut;

    if (log->kept.n <= 2 * KEPT_MAX)
        return;
    cut = log->kept.n - KEPT_MAX;
    end = memchr(log->kept.p + cut, '\n', log->kept.n - cut);
    cut = end ? (size_t)(end - log->kept.p) + 1 : log->kept.n;
    memmove(log->kept.p, log->kept.p + cut, log->kept.n - cut);
    log->kept.n -= cut;
    log->dropped += cut;
}

static void logs_show(struct run_logs *g, struct run_log *log, enum conlog_stream stream, struct str text)
{
    struct buf *to = log->keeps ? &log->kept : &g->out->queue;

    if (g->out->is_gone)
        return;
    if (!log->keeps)
        g->last = log;
    buf_str(to, log->prefix);
    logs_put_text(g, log, stream, to, text);
    buf_char(to, '\n');
    if (log->keeps)
        logs_shorten(log);
}

/* -o json: the same, as an event. Kept ones are kept as events. */
static void show_event(struct run_logs *g, struct run_log *log, const struct agent_output *line, struct str text)
{
    struct run_out kept = { .queue = log->kept };
    struct run_events keeper = { .out = &kept };

    if (!log->keeps) {
        run_event_log(g->events, line, log->names, text);
        return;
    }
    run_event_log(&keeper, line, log->names, text);
    log->kept = kept.queue;
    logs_shorten(log);
}

/* A line that is written over, on a terminal: only its newest writing is kept, for the block to show it. */
static void move_bar(struct run_logs *g, struct run_log *log, enum conlog_stream stream)
{
    struct buf *part = &log->part[stream];
    size_t end = part->n, front;

    if (!g->is_terminal || g->events || !str_has_char(buf_view(part), '\r'))
        return;
    while (end && part->p[end - 1] == '\r')
        end--;
    front = (size_t)(str_rfind_char(str_sub(buf_view(part), 0, end), '\r') + 1);
    memmove(part->p, part->p + front, part->n - front);
    part->n -= front;
    g->n_moves++;
    if (log->is_bar[stream] || log->keeps)
        return;
    log->is_bar[stream] = true;
    *vec_push(&g->arena, &g->bars) = (struct run_bar){ log, stream };
}

static void end_bar(struct run_logs *g, struct run_log *log, enum conlog_stream stream)
{
    size_t n = 0;

    if (!log->is_bar[stream])
        return;
    log->is_bar[stream] = false;
    g->n_moves++;
    for (size_t i = 0; i < g->bars.n; i++)
        if (g->bars.v[i].log != log || g->bars.v[i].stream != stream)
            g->bars.v[n++] = g->bars.v[i];
    g->bars.n = n;
}

bool run_logs_bar(const struct run_logs *g, size_t i, struct buf *out)
{
    struct term_colours colours = { 0 };
    const struct run_log *log;

    if (i >= g->bars.n)
        return false;
    log = g->bars.v[i].log;
    buf_str(out, log->prefix);
    term_line(out, buf_view(&log->part[g->bars.v[i].stream]), g->has_colour, &colours);
    return true;
}

void run_logs_line(struct run_logs *g, const struct agent_output *line)
{
    struct run_log *log = log_of(g, line);
    struct buf *part = &log->part[line->stream];
    bool is_moving;

    to_file(g, log, line);
    if (!log->is_shown)
        return;
    if (part->n || line->is_partial)
        buf_str(part, line->text);
    is_moving = g->events && str_has_char(line->text, '\r'); /* programs put it together again */
    if (line->is_partial && part->n < LINE_MAX_BYTES && !is_moving) {
        move_bar(g, log, line->stream);
        return;
    }
    end_bar(g, log, line->stream);
    if (g->events)
        show_event(g, log, line, part->n ? buf_view(part) : line->text);
    else
        logs_show(g, log, line->stream, part->n ? buf_view(part) : line->text);
    buf_reset(part);
}

/* ---- the end of a pod ---- */

static void finish_parts(struct run_logs *g, struct run_log *log)
{
    for (int s = 0; s < CONLOG_STREAM_MAX; s++)
        if (log->part[s].n && !g->events) {
            logs_show(g, log, s, buf_view(&log->part[s]));
            end_bar(g, log, s);
            buf_reset(&log->part[s]);
        }
}

static int by_prefix(const void *x, const void *y)
{
    return str_cmp((*(struct run_log *const *)x)->prefix, (*(struct run_log *const *)y)->prefix);
}

static void print_kept(struct run_logs *g, struct run_log *log)
{
    if (log->dropped && !g->events)
        buf_fmt(&g->out->queue, "%.*s(%zu bytes before this were dropped%s)\n", STR_ARG(log->prefix), log->dropped,
                g->dir ? "; see --log-dir" : ": --log-dir keeps all");
    if (!g->out->is_gone)
        buf_str(&g->out->queue, buf_view(&log->kept));
}

void run_logs_pod(struct run_logs *g, const struct history_pod *p)
{
    VEC(struct run_log *) own = { 0 };

    if (!state_is_over(p->state) || g->mode != RUN_LOGS_FAILED)
        return;
    MAP_FOREACH(struct run_log *, log, &g->containers)
        if (str_eq(log->uid, p->uid))
            *vec_push(&g->arena, &own) = log;
    if (own.n)
        qsort(own.v, own.n, sizeof(struct run_log *), by_prefix);
    VEC_FOREACH(at, &own) {
        finish_parts(g, *at);
        if (p->state == HISTORY_FAILED)
            print_kept(g, *at);
        else
            (*at)->is_shown = false;
        (*at)->keeps = false; /* what still comes is shown at once */
        buf_done(&(*at)->kept);
    }
}

void run_logs_end(struct run_logs *g)
{
    MAP_FOREACH(struct run_log *, log, &g->containers)
        if (!log->keeps && log->is_shown)
            finish_parts(g, log);
    run_logs_flush(g);
}
