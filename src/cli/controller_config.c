/* controller_config.c - the scheduler's settings, read again when their file changes
 *
 * An editor writes a new file and renames it; a ConfigMap that is mounted becomes another directory behind a link. Both
 * show in the directory that the path names, so that is what is watched, and the text is compared: what did not change
 * is no news.
 */
#include "cli/controller.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "cli/explain.h"
#include "cli/read.h"

#include <libgen.h>
#include <sys/inotify.h>

enum { LOOK_MS = 30000 }; /* a path may lead through links into places that are not watched */

static void look_later(struct config_watch *w)
{
    w->check_ms = clock_mono_ms(&clock_real) + LOOK_MS;
}

/* 1: it has another text now; 0: the same; -1: it cannot be read, or makes no sense. */
static int read_again(struct config_watch *w, struct sched_config *ret, struct err *e)
{
    autoarena a = { 0 };
    struct str text;

    if (read_file(&a, w->path, &text, e) < 0)
        return err_wrap(e, "--scheduler-config: %s", w->path);
    if (w->text.p && str_eq(text, buf_view(&w->text)))
        return 0;
    buf_reset(&w->text);
    buf_str(&w->text, text);
    return scheduler_config(&a, w->path, ret, e) < 0 ? -1 : 1;
}

static int watch_directory(struct config_watch *w, struct err *e)
{
    autofree char *path = strdup(w->path);
    const char *dir;

    w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    dir = path ? dirname(path) : ".";
    if (w->fd < 0 ||
        inotify_add_watch(w->fd, dir, IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_MOVED_FROM) < 0)
        return err_errno(e, "--scheduler-config: watch %s", dir);
    return 0;
}

int config_watch_open(struct controller *c, struct err *e)
{
    struct config_watch *w = &c->watch;
    struct str name = str_of(c->o->scheduler_name ? c->o->scheduler_name : "volcano");

    w->fd = -1;
    w->path = c->o->scheduler_config;
    sched_config_default(&c->sched);
    if (w->path && (watch_directory(w, e) < 0 || read_again(w, &c->sched, e) < 0))
        return -1;
    c->sched.scheduler_name = name;
    look_later(w);
    return 0;
}

void config_watch_done(struct config_watch *w)
{
    autoclose_done(&w->fd);
    buf_done(&w->text);
}

const struct sched_config *config_watch_turn(struct controller *c)
{
    struct config_watch *w = &c->watch;
    struct str name = c->sched.scheduler_name;
    bool is_news = clock_mono_ms(&clock_real) >= w->check_ms;
    struct sched_config fresh;
    char events[4096];
    struct err e;
    int rc;

    if (!w->path)
        return NULL;
    while (read(w->fd, events, sizeof(events)) > 0)
        is_news = true;
    if (!is_news)
        return NULL;
    look_later(w);
    rc = read_again(w, &fresh, &e);
    if (rc < 0)
        log_error("the new settings of the scheduler are not taken, the old ones stay", LOG_TEXT("error", e.text));
    if (rc <= 0)
        return NULL;
    c->sched = fresh;
    c->sched.scheduler_name = name;
    log_info("the scheduler has new settings", LOG_TEXT("file", w->path));
    return &c->sched;
}

int64_t config_watch_due_ms(const struct controller *c)
{
    return c->watch.path ? c->watch.check_ms : INT64_MAX;
}
