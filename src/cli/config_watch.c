/* config_watch.c - the scheduler's settings, read again when their file changes */
#include "cli/config_watch.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "cli/read.h"
#include "driver/driver.h"
#include "base/term.h"
#include "sched/model/config.h"
#include "yaml/yaml.h"

enum { LOOK_MS = 500 };

int scheduler_config_parse(struct arena *a, struct str text, struct problems *ps, struct sched_config *ret,
                           struct err *e)
{
    struct yaml_docs docs = { 0 };

    if (yaml_parse(a, text, NULL, &docs, e) < 0)
        return -1;
    if (docs.n != 1)
        return err_set(e, ERR_INVALID, "must hold one document");
    if (sched_config_read(a, docs.v[0], ret, ps) < 0)
        return err_set(e, ERR_INVALID, "%.*s", STR_ARG(problems_join(a, ps)));
    problems_sort(ps);
    return 0;
}

void scheduler_config_print(struct buf *out, const char *file, const struct problem *p)
{
    buf_fmt(out, "%s:%u: ", file, p->line);
    if (p->path.n)
        buf_fmt(out, "%.*s: ", STR_ARG(p->path));
    buf_str(out, p->text);
}

static void print_warning(const char *file, const struct problem *p)
{
    autobuf raw = { 0 }, line = { 0 };

    scheduler_config_print(&raw, file, p);
    term_text(&line, buf_view(&raw));
    fprintf(stderr, "warning: %.*s\n", (int)line.n, line.p);
}

int scheduler_config(struct arena *a, const char *file, struct sched_config *ret, struct err *e)
{
    struct problems ps = { .arena = a };
    struct str text;

    sched_config_default(ret);
    if (!file)
        return 0;
    if (read_file(a, file, &text, e) < 0 || scheduler_config_parse(a, text, &ps, ret, e) < 0)
        return err_wrap(e, "--scheduler-config: %s", file);
    VEC_FOREACH(p, &ps.list)
        print_warning(file, p);
    return 0;
}

/* ---- a file that is watched ---- */

static void look_later(struct config_watch *w)
{
    w->check_ms = clock_mono_ms(&clock_real) + LOOK_MS;
}

static void keep_warnings(struct config_watch *w, const struct problems *ps)
{
    buf_reset(&w->warnings);
    w->n_warnings = ps->list.n;
    w->is_told = false;
    VEC_FOREACH(p, &ps->list) {
        if (w->warnings.n)
            buf_str(&w->warnings, STR("; "));
        scheduler_config_print(&w->warnings, w->path, p);
        log_warn("Scheduler configuration has a setting without effect", LOG_TEXT("file", w->path),
                 LOG_INT("line", p->line), LOG_STR("setting", p->path), LOG_STR("problem", p->text));
    }
}

/* 1: it has another text now; 0: the same; -1: it cannot be read or used. */
static int read_again(struct config_watch *w, struct sched_config *ret, struct err *e)
{
    autoarena a = { 0 };
    struct problems ps = { .arena = &a };
    bool was_missing = w->is_missing;
    struct str text;

    w->is_missing = read_file(&a, w->path, &text, e) < 0;
    if (w->is_missing)
        return was_missing ? 0 : err_wrap(e, "--scheduler-config: %s", w->path);
    if (w->text.p && str_eq(text, buf_view(&w->text)))
        return 0;
    buf_reset(&w->text);
    buf_str(&w->text, text);
    if (scheduler_config_parse(&a, text, &ps, ret, e) < 0)
        return err_wrap(e, "--scheduler-config: %s", w->path);
    keep_warnings(w, &ps);
    return 1;
}

int config_watch_open(struct config_watch *w, const char *path, struct sched_config *ret, struct err *e)
{
    struct config_watch fresh = { .path = path };
    struct sched_config config;

    sched_config_default(&config);
    if (path && read_again(&fresh, &config, e) < 0) {
        config_watch_done(&fresh);
        return -1;
    }
    look_later(&fresh);
    config_watch_done(w);
    *w = fresh;
    *ret = config;
    return 0;
}

void config_watch_done(struct config_watch *w)
{
    buf_done(&w->text);
    buf_done(&w->warnings);
}

bool config_watch_turn(struct config_watch *w, struct sched_config *ret)
{
    struct err e;
    int rc;

    if (!w->path || clock_mono_ms(&clock_real) < w->check_ms)
        return false;
    look_later(w);
    rc = read_again(w, ret, &e);
    if (rc < 0)
        log_error("Failed to reload the scheduler configuration; keeping the old one", LOG_TEXT("error", e.text));
    if (rc > 0)
        log_info("Reloaded the scheduler configuration", LOG_TEXT("file", w->path));
    return rc > 0;
}

int64_t config_watch_due_ms(const struct config_watch *w)
{
    return w->path ? w->check_ms : INT64_MAX;
}

void config_watch_tell(struct config_watch *w, struct driver *d)
{
    if (w->n_warnings && !w->is_told)
        driver_warn(d, STR("SchedulerConfig"), buf_view(&w->warnings));
    w->is_told = true;
}
