/* watch.c - objects as they become */
#include "ctl/ctl.h"

#include "base/clock.h"
#include "base/util.h"
#include "kube/path.h"

#include <poll.h>

struct watch {
    struct ctl *c;
    ctl_event_f on_event;
    void *ctx;
    struct buf line; /* what came of the next event */
    bool is_over, is_found;
    struct err err;
};

static void take_line(struct watch *w, struct str line)
{
    autoarena scratch = { 0 };
    struct json *event;

    if (w->is_found || json_parse(&scratch, line, NULL, &event, NULL) < 0)
        return;
    w->is_found = w->on_event(w->ctx, json_member_text(event, "type"), json_get(event, "object"));
}

static void on_data(void *ctx, struct str data)
{
    struct watch *w = ctx;
    ptrdiff_t end;

    while ((end = str_find_char(data, '\n')) >= 0) {
        buf_str(&w->line, str_sub(data, 0, (size_t)end));
        take_line(w, buf_view(&w->line));
        buf_reset(&w->line);
        data = str_from(data, (size_t)end + 1);
    }
    buf_str(&w->line, data);
}

static void on_end(void *ctx, const struct err *e)
{
    struct watch *w = ctx;

    w->is_over = true;
    if (e)
        w->err = *e;
}

/* From the beginning, as there is no version to go on from: what is there comes as ADDED. */
static int watch_once(struct watch *w, struct str path, int64_t end_ms, struct err *e)
{
    struct kube_stream *stream;

    w->is_over = false;
    if (kube_ask_stream(w->c->ask, path, &(struct kube_stream_events){ w, NULL, on_data, on_end }, &stream, e) < 0)
        return -1;
    while (!w->is_over && !w->is_found) {
        int64_t left_ms = end_ms - clock_mono_ms(&clock_real);

        if (left_ms <= 0)
            break;
        (void)poll(&(struct pollfd){ kube_ask_fd(w->c->ask), POLLIN, 0 }, 1, (int)MIN_OF(left_ms, 3600000));
        kube_ask_turn(w->c->ask);
    }
    if (!w->is_over)
        kube_stream_end(stream);
    return 0;
}

int ctl_watch(struct ctl *c, const struct resource_type *type, const struct ctl_select *which, int64_t timeout_ms,
              ctl_event_f on_event, void *ctx, struct err *e)
{
    struct watch w = { .c = c, .on_event = on_event, .ctx = ctx };
    int64_t end_ms = timeout_ms < 0 ? INT64_MAX : clock_mono_ms(&clock_real) + timeout_ms;
    autobuf path = { 0 };
    int rc = 0;

    path_collection(&path, type, which->namespace);
    path_query(&path, "labelSelector", which->labels);
    path_query(&path, "fieldSelector", which->fields);
    path_query(&path, "watch", STR("true"));
    while (rc == 0 && !w.is_found && w.err.code == ERR_OK && clock_mono_ms(&clock_real) < end_ms)
        rc = watch_once(&w, buf_view(&path), end_ms, e);
    buf_done(&w.line);
    if (rc < 0 || w.is_found)
        return rc;
    if (w.err.code != ERR_OK) {
        *e = w.err;
        return -1;
    }
    return err_set(e, ERR_GONE, "the time is over");
}
