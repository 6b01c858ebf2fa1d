/* config_watch.c - the scheduler's settings, read again when their file changes */
#include "cli/config_watch.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "cli/read.h"
#include "sched/config.h"
#include "yaml/yaml.h"

enum { LOOK_MS = 500 };

int scheduler_config(struct arena *a, const char *file, struct sched_config *ret, struct err *e)
{
    struct problems problems = { .arena = a };
    struct yaml_docs docs = { 0 };
    struct str text;

    sched_config_default(ret);
    if (!file)
        return 0;
    if (read_file(a, file, &text, e) < 0 || yaml_parse(a, text, NULL, &docs, e) < 0)
        return err_wrap(e, "--scheduler-config: %s", file);
    if (docs.n != 1)
        return err_set(e, ERR_INVALID, "--scheduler-config: %s: must hold one document", file);
    if (sched_config_read(a, docs.v[0], ret, &problems) < 0)
        return err_set(e, ERR_INVALID, "--scheduler-config: %s: %.*s", file, STR_ARG(problems_join(a, &problems)));
    return 0;
}

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

int config_watch_open(struct config_watch *w, const char *path, struct sched_config *ret, struct err *e)
{
    struct config_watch fresh = { .path = path };
    struct sched_config config;

    sched_config_default(&config);
    if (path && read_again(&fresh, &config, e) < 0) {
        buf_done(&fresh.text);
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
        log_error("the new settings of the scheduler are not taken, the old ones stay", LOG_TEXT("error", e.text));
    if (rc > 0)
        log_info("the scheduler has new settings", LOG_TEXT("file", w->path));
    return rc > 0;
}

int64_t config_watch_due_ms(const struct config_watch *w)
{
    return w->path ? w->check_ms : INT64_MAX;
}
