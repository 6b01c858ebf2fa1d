/* controller_config.c - the scheduler's settings, read again when their file changes
 *
 * An editor writes a new file and renames it; a ConfigMap that is mounted becomes another directory behind a link; the
 * path may lead through more links, or over a network. So the file is read twice a second and its text compared, which
 * costs less than to follow all that.
 */
#include "cli/controller.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "cli/explain.h"
#include "cli/read.h"

enum { LOOK_MS = 500 };

static void look_later(struct config_watch *w)
{
    w->check_ms = clock_mono_ms(&clock_real) + LOOK_MS;
}

/* 1: it has another text now; 0: the same; -1: it cannot be read any more, or makes no sense. */
static int read_again(struct config_watch *w, struct sched_config *ret, struct err *e)
{
    autoarena a = { 0 };
    struct str text;
    bool was_missing = w->is_missing;

    w->is_missing = read_file(&a, w->path, &text, e) < 0;
    if (w->is_missing)
        return was_missing ? 0 : err_wrap(e, "--scheduler-config: %s", w->path);
    if (w->text.p && str_eq(text, buf_view(&w->text)))
        return 0;
    buf_reset(&w->text);
    buf_str(&w->text, text);
    return scheduler_config(&a, w->path, ret, e) < 0 ? -1 : 1;
}

int config_watch_open(struct controller *c, struct err *e)
{
    struct config_watch *w = &c->watch;
    struct str name = str_of(c->o->scheduler_name ? c->o->scheduler_name : "volcano");

    w->path = c->o->scheduler_config;
    sched_config_default(&c->sched);
    if (w->path && read_again(w, &c->sched, e) < 0)
        return -1;
    c->sched.scheduler_name = name;
    c->sched.waits_for_volumes = true;
    look_later(w);
    return 0;
}

void config_watch_done(struct config_watch *w)
{
    buf_done(&w->text);
}

const struct sched_config *config_watch_turn(struct controller *c)
{
    struct config_watch *w = &c->watch;
    struct str name = c->sched.scheduler_name;
    struct sched_config fresh;
    struct err e;
    int rc;

    if (!w->path || clock_mono_ms(&clock_real) < w->check_ms)
        return NULL;
    look_later(w);
    rc = read_again(w, &fresh, &e);
    if (rc < 0)
        log_error("the new settings of the scheduler are not taken, the old ones stay", LOG_TEXT("error", e.text));
    if (rc <= 0)
        return NULL;
    c->sched = fresh;
    c->sched.scheduler_name = name;
    c->sched.waits_for_volumes = true;
    log_info("the scheduler has new settings", LOG_TEXT("file", w->path));
    return &c->sched;
}

int64_t config_watch_due_ms(const struct controller *c)
{
    return c->watch.path ? c->watch.check_ms : INT64_MAX;
}
