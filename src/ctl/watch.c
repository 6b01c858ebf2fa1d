/* watch.c - objects as they become: a list, then a watch from there on, again and again */
#include "ctl/ctl.h"

#include "base/clock.h"
#include "base/util.h"
#include "kube/path.h"

#include <poll.h>

enum { PAUSE_MS = 300, PATIENCE_MS = 30000 }; /* with a server that does not answer: it may be starting again */

struct watch_watch {
    struct ctl *c;
    const struct resource_type *type;
    const struct ctl_select *which;
    const struct ctl_watcher *watcher;
    struct buf line; /* what came of the next event */
    bool is_over, is_found;
    int64_t end_ms, heard_ms;
    struct err err;
};

static void watch_put_path(const struct watch_watch *w, struct buf *path)
{
    path_collection(path, w->type, w->which->namespace);
    path_query(path, "labelSelector", w->which->labels);
    path_query(path, "fieldSelector", w->which->fields);
}

/* ---- the watch ---- */

/* An ERROR (the version is too old) is followed by the end, and then by another list. */
static void take_line(struct watch_watch *w, struct str line)
{
    autoarena scratch = { 0 };
    struct json *event;
    struct str type;

    if (w->is_found || json_parse(&scratch, line, NULL, &event, NULL) < 0)
        return;
    type = json_member_text(event, "type");
    if (str_is(type, "ADDED") || str_is(type, "MODIFIED") || str_is(type, "DELETED"))
        w->is_found = w->watcher->on_event(w->watcher->ctx, type, json_get(event, "object"));
}

static void watch_on_data(void *ctx, struct str data)
{
    struct watch_watch *w = ctx;
    ptrdiff_t end;

    w->heard_ms = clock_mono_ms(&clock_real);
    while ((end = str_find_char(data, '\n')) >= 0) {
        buf_str(&w->line, str_sub(data, 0, (size_t)end));
        take_line(w, buf_view(&w->line));
        buf_reset(&w->line);
        data = str_from(data, (size_t)end + 1);
    }
    buf_str(&w->line, data);
}

static void watch_on_end(void *ctx, const struct err *e)
{
    struct watch_watch *w = ctx;

    w->is_over = true;
    if (e)
        w->err = *e;
}

static int watch_follow(struct watch_watch *w, struct str version, struct err *e)
{
    struct kube_stream *stream;
    autobuf path = { 0 };

    watch_put_path(w, &path);
    path_query(&path, "watch", STR("true"));
    path_query(&path, "resourceVersion", version);
    w->is_over = false;
    buf_reset(&w->line);
    if (kube_ask_stream(w->c->ask, buf_view(&path),
                        &(struct kube_stream_events){ w, NULL, watch_on_data, watch_on_end }, &stream, e) < 0)
        return -1;
    while (!w->is_over && !w->is_found) {
        int64_t left_ms = w->end_ms - clock_mono_ms(&clock_real);

        if (left_ms <= 0)
            break;
        (void)poll(&(struct pollfd){ kube_ask_fd(w->c->ask), POLLIN, 0 }, 1, (int)MIN_OF(left_ms, 3600000));
        kube_ask_turn(w->c->ask);
    }
    if (!w->is_over)
        kube_stream_end(stream);
    return 0;
}

/* ---- one round ---- */

/* List, so that changes before the watch began are not missed, deletions included. */
static int watch_list(struct watch_watch *w, struct arena *a, struct str *ret_version, struct err *e)
{
    autobuf path = { 0 };
    struct json *all;

    watch_put_path(w, &path);
    if (kube_ask_get(w->c->ask, a, buf_view(&path), &all, e) < 0)
        return -1;
    w->heard_ms = clock_mono_ms(&clock_real);
    *ret_version = json_text(json_find(all, "metadata", "resourceVersion", NULL), STR_NULL);
    JSON_FOREACH(object, json_get(all, "items"))
        w->is_found = w->is_found || w->watcher->on_event(w->watcher->ctx, STR("ADDED"), object);
    if (!json_count(json_get(all, "items")))
        w->is_found = w->watcher->on_event(w->watcher->ctx, STR("NONE"), NULL);
    return 0;
}

static int round_of(struct watch_watch *w, struct err *e)
{
    autoarena a = { 0 };
    struct str version;

    w->err = (struct err){ 0 };
    if (watch_list(w, &a, &version, &w->err) == 0 && !w->is_found && watch_follow(w, version, e) < 0)
        return -1;
    if (w->err.code == ERR_OK || (w->err.code == ERR_IO && clock_mono_ms(&clock_real) - w->heard_ms < PATIENCE_MS))
        return 0;
    *e = w->err;
    return -1;
}

int ctl_watch(struct ctl *c, const struct resource_type *type, const struct ctl_select *which,
              const struct ctl_watcher *watcher, struct err *e)
{
    struct watch_watch w = { .c = c, .type = type, .which = which, .watcher = watcher };
    int rc = 0;

    w.heard_ms = clock_mono_ms(&clock_real);
    w.end_ms = watcher->timeout_ms < 0 ? INT64_MAX : w.heard_ms + watcher->timeout_ms;
    while ((rc = round_of(&w, e)) == 0 && !w.is_found) {
        if (clock_mono_ms(&clock_real) >= w.end_ms) {
            rc = err_set(e, ERR_GONE, "timed out");
            break;
        }
        (void)poll(NULL, 0, PAUSE_MS);
    }
    buf_done(&w.line);
    return rc;
}
