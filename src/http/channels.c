/* channels.c - stdin, stdout, stderr, a verdict and the size of a terminal over one connection */
#include "http/channels.h"

#include "base/util.h"
#include "http/carrier.h"
#include "json/json.h"

enum { RESIZE_MAX = 1024, HALF_CLOSE = 255, OPEN_MS = 30000 };

/* v5 is v4 with a way to say that stdin has ended; SPDY had one before. */
static const struct carrier_protocol protocols[] = {
    { "v5.channel.k8s.io", true, true, false, false },
    { "v4.channel.k8s.io", true, true, false, false },
    { "v4.base64.channel.k8s.io", true, true, true, false },
    { "channel.k8s.io", true, true, false, true },
    { "base64.channel.k8s.io", true, true, true, true },
    { "", true, true, false, true },
    { "v4.channel.k8s.io", false, false, false, false },
    { "v5.channel.k8s.io", false, false, false, false },
    { NULL, false, false, false, false },
};

static const char *const channel_names[CHANNEL_MAX] = {
    [CHANNEL_STDIN] = "stdin", [CHANNEL_STDOUT] = "stdout", [CHANNEL_STDERR] = "stderr",
    [CHANNEL_ERROR] = "error", [CHANNEL_RESIZE] = "resize",
};

struct channels {
    struct carrier carrier;
    struct channels_events events;
    bool is_wanted[CHANNEL_MAX];
    struct spdy_stream *streams[CHANNEL_MAX]; /* SPDY; NULL: not opened, or gone */
    bool was_opened[CHANNEL_MAX];
    bool is_open, is_dead, is_stdin_over;
    struct buf resize;
};

/* ---- what comes ---- */

static void open_if_whole(struct channels *c)
{
    for (int i = 0; i < CHANNEL_MAX; i++)
        if (c->is_wanted[i] && c->carrier.spdy && !c->was_opened[i])
            return;
    if (c->is_open || c->is_dead)
        return;
    c->is_open = true;
    http_stream_set_limit(c->carrier.stream, 0);
    if (!c->carrier.spdy) { /* that something comes tells clients that the process begins */
        enum channel first = c->is_wanted[CHANNEL_STDOUT] ? CHANNEL_STDOUT : CHANNEL_ERROR;

        carrier_send(&c->carrier, first, STR_NULL);
    }
    c->events.on_open(c->events.ctx, c);
}

static void take_size(struct channels *c, struct str text)
{
    autoarena a = { 0 };
    struct json *size;
    int64_t columns, rows;

    if (json_parse(&a, text, NULL, &size, NULL) < 0)
        return; /* a terminal of the wrong size is no reason to end */
    columns = json_i64(json_get(size, "Width"), 0);
    rows = json_i64(json_get(size, "Height"), 0);
    if (columns > 0 && columns <= UINT16_MAX && rows > 0 && rows <= UINT16_MAX && c->events.on_resize)
        c->events.on_resize(c->events.ctx, c, (unsigned)columns, (unsigned)rows);
}

/* Objects one after the other, cut anywhere. */
static void take_resize(struct channels *c, struct str bytes)
{
    buf_str(&c->resize, bytes);
    for (ptrdiff_t end; !c->is_dead && (end = str_find_char(buf_view(&c->resize), '}')) >= 0;) {
        struct str rest = str_from(buf_view(&c->resize), (size_t)end + 1);

        take_size(c, str_trim(str_sub(buf_view(&c->resize), 0, (size_t)end + 1)));
        memmove(c->resize.p, rest.p, rest.n);
        c->resize.n = rest.n;
    }
    if (c->resize.n > RESIZE_MAX)
        buf_done(&c->resize);
}

static void channels_take(struct channels *c, enum channel from, struct str bytes)
{
    if (c->is_dead || !c->is_wanted[from] || !bytes.n)
        return;
    open_if_whole(c);
    if (c->is_dead || !c->is_open)
        return;
    if (from == CHANNEL_RESIZE)
        take_resize(c, bytes);
    else if (from == CHANNEL_STDIN && !c->is_stdin_over)
        c->events.on_stdin(c->events.ctx, c, bytes);
}

static void take_end(struct channels *c, enum channel from)
{
    if (c->is_dead || from != CHANNEL_STDIN || c->is_stdin_over || !c->is_wanted[from])
        return;
    open_if_whole(c);
    if (c->is_dead || !c->is_open)
        return;
    c->is_stdin_over = true;
    if (c->events.on_stdin_end)
        c->events.on_stdin_end(c->events.ctx, c);
}

/* ---- WebSocket ---- the first byte is the channel ---- */

static void channels_on_message(void *ctx, struct str message)
{
    struct channels *c = ctx;
    unsigned char number;

    if (!message.n)
        return;
    number = (unsigned char)message.p[0];
    if (number < CHANNEL_MAX)
        channels_take(c, (enum channel)number, str_from(message, 1));
    else if (number == HALF_CLOSE && message.n == 2 && strcmp(c->carrier.protocol->name, protocols[0].name) == 0)
        take_end(c, (unsigned char)message.p[1] == CHANNEL_STDIN ? CHANNEL_STDIN : CHANNEL_MAX);
}

/* ---- SPDY ---- a stream is a channel ---- */

static enum channel channel_of(const struct channels *c, const struct spdy_stream *s)
{
    for (int i = 0; i < CHANNEL_MAX; i++)
        if (c->streams[i] == s)
            return (enum channel)i;
    return CHANNEL_MAX;
}

static bool on_stream(void *ctx, struct spdy_stream *s)
{
    struct channels *c = ctx;
    struct str type = spdy_header(c->carrier.spdy, "streamtype");

    for (int i = 0; i < CHANNEL_MAX; i++) {
        if (!str_is(type, channel_names[i]) || !c->is_wanted[i] || c->was_opened[i] || c->is_dead)
            continue;
        c->streams[i] = s;
        c->was_opened[i] = true;
        open_if_whole(c);
        return true;
    }
    return false;
}

static void on_stream_data(void *ctx, struct spdy_stream *s, struct str bytes)
{
    struct channels *c = ctx;
    enum channel from = channel_of(c, s);

    if (from != CHANNEL_MAX)
        channels_take(c, from, bytes);
}

static void on_stream_end(void *ctx, struct spdy_stream *s)
{
    take_end(ctx, channel_of(ctx, s));
}

static void on_stream_gone(void *ctx, struct spdy_stream *s)
{
    struct channels *c = ctx;
    enum channel which = channel_of(c, s);

    if (which == CHANNEL_MAX)
        return;
    c->streams[which] = NULL;
    take_end(c, which); /* reset, perhaps */
}

/* ---- life ---- */

static void channels_on_ready(void *ctx)
{
    struct channels *c = ctx;

    if (!c->carrier.spdy && !c->is_open)
        open_if_whole(c);
    else if (c->is_open && !c->is_dead && c->events.on_ready)
        c->events.on_ready(c->events.ctx, c);
}

static void channels_on_gone(void *ctx)
{
    struct channels *c = ctx;

    if (!c->is_dead)
        c->events.on_gone(c->events.ctx, c);
    c->is_dead = true;
}

static void channels_on_free(void *ctx)
{
    struct channels *c = ctx;

    carrier_done(&c->carrier);
    buf_done(&c->resize);
    free(c);
}

static const struct carrier_events carrier_events = { .on_message = channels_on_message,
                                                      .on_ready = channels_on_ready,
                                                      .on_gone = channels_on_gone,
                                                      .on_free = channels_on_free };

struct channels *channels_open(struct http_call *call, const struct channels_wanted *wanted,
                               const struct channels_events *events)
{
    static const struct spdy_events streams = {
        .on_stream = on_stream, .on_data = on_stream_data, .on_end = on_stream_end, .on_gone = on_stream_gone
    };
    struct channels *c = xcalloc(1, sizeof(*c));

    c->events = *events;
    c->carrier = (struct carrier){ .ctx = c, .events = &carrier_events };
    c->is_wanted[CHANNEL_STDIN] = wanted->stdin_;
    c->is_wanted[CHANNEL_STDOUT] = wanted->stdout_;
    c->is_wanted[CHANNEL_STDERR] = wanted->stderr_ && !wanted->is_tty;
    c->is_wanted[CHANNEL_ERROR] = true;
    c->is_wanted[CHANNEL_RESIZE] = wanted->is_tty;
    if (carrier_open(&c->carrier, call, protocols, streams) < 0) {
        free(c);
        return NULL;
    }
    http_stream_set_limit(c->carrier.stream, OPEN_MS); /* for all channels to be there */
    return c;
}

/* ---- what goes ---- */

static void channels_put(struct channels *c, enum channel to, struct str bytes)
{
    if (c->carrier.spdy && c->streams[to])
        spdy_write(c->carrier.spdy, c->streams[to], bytes);
    else if (!c->carrier.spdy)
        carrier_send(&c->carrier, to, bytes);
}

void channels_write(struct channels *c, enum channel to, struct str bytes)
{
    enum { PIECE = 32 << 10 }; /* clients have limits for messages */

    for (; bytes.n && c->is_wanted[to] && c->is_open; bytes = str_from(bytes, PIECE))
        channels_put(c, to, str_sub(bytes, 0, PIECE));
}

size_t channels_queued(const struct channels *c)
{
    return c->carrier.stream ? http_stream_queued(c->carrier.stream) : 0;
}

void channels_hold(struct channels *c, size_t bytes)
{
    carrier_hold(&c->carrier, bytes);
}

void channels_pause(struct channels *c, bool is_paused)
{
    if (c->carrier.stream)
        http_stream_pause(c->carrier.stream, is_paused);
}

/* 'why': the sentence that older protocols have for it; empty: none. */
static void channels_end_with(struct channels *c, struct str status, struct str why)
{
    if (c->is_dead)
        return;
    if (c->carrier.protocol->is_pre_v4)
        status = why;
    for (int i = 0; i < CHANNEL_ERROR; i++) /* before the verdict: a client may leave when it has that */
        if (c->streams[i])
            spdy_finish(c->carrier.spdy, c->streams[i]);
    if (status.n)
        channels_put(c, CHANNEL_ERROR, status);
    if (c->streams[CHANNEL_ERROR])
        spdy_finish(c->carrier.spdy, c->streams[CHANNEL_ERROR]);
    c->is_dead = true;
    carrier_leave(&c->carrier);
}

void channels_exit(struct channels *c, int exit_status)
{
    autobuf status = { 0 }, why = { 0 };

    if (exit_status == 0) {
        buf_str(&status, STR("{\"metadata\":{},\"status\":\"Success\"}"));
    } else {
        buf_fmt(&why, "command terminated with non-zero exit code: %d", exit_status);
        buf_fmt(&status,
                "{\"metadata\":{},\"status\":\"Failure\",\"message\":\"%s\",\"reason\":\"NonZeroExitCode\","
                "\"details\":{\"causes\":[{\"reason\":\"ExitCode\",\"message\":\"%d\"}]}}",
                why.p, exit_status);
    }
    channels_end_with(c, buf_view(&status), buf_view(&why));
}

void channels_fail(struct channels *c, struct str why)
{
    autobuf status = { 0 };

    buf_str(&status, STR("{\"metadata\":{},\"status\":\"Failure\",\"message\":"));
    json_print_str(&status, why);
    buf_str(&status, STR(",\"reason\":\"InternalError\",\"details\":{\"causes\":[{\"message\":"));
    json_print_str(&status, why);
    buf_str(&status, STR("}]},\"code\":500}"));
    channels_end_with(c, buf_view(&status), why);
}

void channels_cut(struct channels *c)
{
    c->is_dead = true;
    carrier_cut(&c->carrier);
}
