/* logs.c - output of containers: stored lines, then new ones
 *
 * Read from the files that the shim writes (conlog.h), a piece at a time, so that a long log delays no one. The last
 * N lines are found by counting all of them first: lines have no index, and what is counted is in the page cache then.
 */
#include "kubelet/kubelet_internal.h"

#include "base/clock.h"
#include "http/feed.h"

enum { TURN_BYTES = 1 << 20, QUEUE_BYTES = 256 << 10, FOLLOW_MS = 100 };

enum log_stage { LOG_COUNTS, LOG_SENDS, LOG_RESTS }; /* rests: all was sent, more may come */

struct log_stream {
    struct list_link link;
    struct kubelet *kubelet;
    struct feed feed;
    struct arena arena;
    struct agent_log_place log;
    struct str container;
    struct conlog_reader *reader;
    enum log_stage stage;
    bool follows, has_times;
    bool wants[CONLOG_STREAM_MAX];
    int64_t tail;                      /* -1: all */
    int64_t since_ns;                  /* nothing before */
    int64_t limit;                     /* bytes; -1: none */
    int64_t n_lines, n_skips;          /* counted; not to be sent */
    bool is_inside[CONLOG_STREAM_MAX]; /* a line was begun: its rest has no time before it */
    int64_t next_ms;                   /* of a look for more */
};

static int64_t logs_mono(void)
{
    return clock_mono_ms(&clock_real);
}

static void log_stream_free(struct log_stream *s)
{
    list_remove(&s->link);
    conlog_reader_free(s->reader);
    arena_done(&s->arena);
    free(s);
}

static struct log_stream *stream_new(struct kubelet *k, struct str container)
{
    struct log_stream *s = xcalloc(1, sizeof(*s));

    s->kubelet = k;
    s->container = arena_str(&s->arena, container);
    s->tail = s->limit = -1;
    s->wants[CONLOG_STDOUT] = s->wants[CONLOG_STDERR] = true;
    return s;
}

/* ---- writing ---- */

static void logs_put(struct log_stream *s, struct buf *text)
{
    struct str bytes = buf_view(text);

    if (s->limit >= 0) {
        bytes = str_sub(bytes, 0, MIN_OF(bytes.n, (size_t)s->limit));
        s->limit -= (int64_t)bytes.n;
    }
    feed_write(&s->feed, bytes);
}

/* RFC 3339 with nanoseconds, as they are kept. */
static void logs_put_time(struct buf *out, int64_t at_ns)
{
    autobuf whole = { 0 };

    clock_print(&whole, at_ns / 1000000);
    buf_fmt(out, "%.*s.%09lldZ ", (int)(whole.n - 1), whole.p, (long long)(at_ns % 1000000000));
}

static void send_line(struct log_stream *s, const struct conlog_line *line)
{
    autobuf out = { 0 };

    if (s->n_skips > 0) {
        s->n_skips -= !line->is_partial;
        return;
    }
    if (s->has_times && !s->is_inside[line->stream])
        logs_put_time(&out, line->at_ns);
    s->is_inside[line->stream] = line->is_partial;
    buf_str(&out, line->text);
    if (!line->is_partial)
        buf_char(&out, '\n');
    logs_put(s, &out);
}

/* Files were rotated before this reader came to them: say that lines are missing. */
static void tell_lost(struct log_stream *s, const struct conlog_line *next)
{
    autobuf out = { 0 };

    if (s->is_inside[CONLOG_STDOUT] || s->is_inside[CONLOG_STDERR])
        buf_char(&out, '\n');
    s->is_inside[CONLOG_STDOUT] = s->is_inside[CONLOG_STDERR] = false;
    if (s->has_times)
        logs_put_time(&out, next->at_ns);
    buf_str(&out, STR("[pumice: lines are missing here: only the last 50 MiB of output are kept for a slow reader]\n"));
    logs_put(s, &out);
}

/* ---- reading ---- */

static void counted(struct log_stream *s)
{
    s->n_skips = MAX_OF(s->n_lines - s->tail, 0);
    conlog_reader_free(s->reader);
    s->reader = conlog_reader_new(s->log.path.p);
    s->stage = LOG_SENDS;
}

/* As much as one turn allows. True: there is no more for now. */
static bool read_some(struct log_stream *s)
{
    struct conlog_line line;
    size_t n = 0;

    while (n < TURN_BYTES && (s->stage == LOG_COUNTS || (feed_queued(&s->feed) < QUEUE_BYTES && s->limit != 0))) {
        if (!conlog_next(s->reader, &line))
            return true;
        n += line.text.n + CONLOG_EXTRA;
        if (conlog_has_lost(s->reader) && s->stage != LOG_COUNTS && !s->n_skips)
            tell_lost(s, &line);
        if (!s->wants[line.stream] || line.at_ns < s->since_ns)
            continue;
        if (s->stage == LOG_COUNTS)
            s->n_lines += !line.is_partial;
        else
            send_line(s, &line);
    }
    return s->limit == 0;
}

static void logs_step(struct log_stream *s)
{
    bool grows = s->follows && agent_log_grows(s->kubelet->opt.agent, &s->log, s->container);

    if (!read_some(s))
        return;
    if (s->stage == LOG_COUNTS) {
        counted(s);
        return;
    }
    if (grows && s->limit != 0) {
        s->stage = LOG_RESTS;
        s->next_ms = logs_mono() + FOLLOW_MS;
    } else {
        feed_end(&s->feed);
        log_stream_free(s);
    }
}

static bool logs_is_due(const struct log_stream *s)
{
    return s->stage == LOG_RESTS ? logs_mono() >= s->next_ms
                                 : s->stage == LOG_COUNTS || feed_queued(&s->feed) < QUEUE_BYTES;
}

void logs_turn(struct kubelet *k)
{
    LIST_FOREACH(struct log_stream, s, &k->logs, link)
        if (logs_is_due(s))
            logs_step(s);
}

int64_t logs_due_ms(const struct kubelet *k)
{
    int64_t due_ms = INT64_MAX;

    LIST_FOREACH(struct log_stream, s, &k->logs, link)
        due_ms = MIN_OF(due_ms, logs_is_due(s)          ? 0
                                : s->stage == LOG_RESTS ? MAX_OF(s->next_ms - logs_mono(), 0)
                                                        : INT64_MAX);
    return due_ms;
}

void logs_done(struct kubelet *k)
{
    LIST_FOREACH(struct log_stream, s, &k->logs, link) {
        feed_cut(&s->feed);
        log_stream_free(s);
    }
}

/* ---- requests ---- */

static int read_stream(const struct target *t, struct log_stream *s)
{
    autobuf name = { 0 };

    if (!http_call_param(t->call, "stream", &name) || !name.n || str_is(buf_view(&name), "All"))
        return 0;
    s->wants[CONLOG_STDOUT] = str_is(buf_view(&name), "Stdout");
    s->wants[CONLOG_STDERR] = str_is(buf_view(&name), "Stderr");
    if (s->wants[CONLOG_STDOUT] || s->wants[CONLOG_STDERR])
        return 0;
    answer_text(t->kubelet, t->call, 400, "stream: must be All, Stdout or Stderr");
    return -1;
}

static int read_since(const struct target *t, struct log_stream *s)
{
    autobuf text = { 0 };
    int64_t seconds, at_ms;
    struct err e;

    if (target_number(t, "sinceSeconds", -1, &seconds) < 0)
        return -1;
    if (seconds >= 0)
        s->since_ns = (clock_now_ms(&clock_real) - MIN_OF(seconds, (int64_t)1 << 32) * 1000) * 1000000;
    if (!http_call_param(t->call, "sinceTime", &text) || !text.n)
        return 0;
    if (clock_parse(buf_view(&text), &at_ms, &e) < 0) {
        (void)err_wrap(&e, "sinceTime");
        answer_text(t->kubelet, t->call, 400, e.text);
        return -1;
    }
    s->since_ns = at_ms * 1000000;
    return 0;
}

static int logs_read_options(const struct target *t, struct log_stream *s)
{
    s->follows = target_flag(t, "follow", NULL);
    s->has_times = target_flag(t, "timestamps", NULL);
    if (target_number(t, "tailLines", -1, &s->tail) < 0 || target_number(t, "limitBytes", -1, &s->limit) < 0)
        return -1;
    return read_since(t, s) < 0 || read_stream(t, s) < 0 ? -1 : 0;
}

static void logs_on_gone(void *ctx)
{
    log_stream_free(ctx);
}

void serve_logs(const struct target *t)
{
    struct log_stream *s = stream_new(t->kubelet, t->place.container);
    struct agent_log_query q = { .place = &t->place, .is_previous = target_flag(t, "previous", NULL) };
    struct err e;

    if (logs_read_options(t, s) < 0) {
        log_stream_free(s);
        return;
    }
    if (agent_log_find(t->kubelet->opt.agent, &s->arena, &q, &s->log, &e) < 0) {
        log_stream_free(s);
        answer_error(t->kubelet, t->call, &e);
        return;
    }
    s->feed = (struct feed){ .ctx = s, .on_gone = logs_on_gone }; /* the turn goes on with all that are due */
    if (feed_begin(&s->feed, t->call, FEED_LOG, &(struct http_reply){ .status = 200 }) < 0) {
        log_stream_free(s);
        return;
    }
    s->reader = conlog_reader_new(s->log.path.p);
    s->stage = s->tail >= 0 ? LOG_COUNTS : LOG_SENDS;
    list_push(&s->kubelet->logs, &s->link);
}
