/* log.c - lines of fields, as text or JSON */
#include "base/log.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/util.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>

static struct log_config config = { .fd = 2, .level = LOG_LEVEL_INFO };

static const char *const level_names[LOG_LEVEL_MAX] = {
    [LOG_LEVEL_DEBUG] = "debug",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_WARN] = "warn",
    [LOG_LEVEL_ERROR] = "error",
};

const char *log_level_name(enum log_level level)
{
    assert(level < LOG_LEVEL_MAX);
    return level_names[level];
}

struct log_config log_setup(struct log_config new_config)
{
    struct log_config old = config;

    assert(new_config.level < LOG_LEVEL_MAX && new_config.format < LOG_FORMAT_MAX);
    config = new_config;
    return old;
}

bool log_enabled(enum log_level level)
{
    return level >= config.level;
}

/* ---- values ---- */

static bool is_control(unsigned char c)
{
    return c < 0x20 || c == 0x7f;
}

static bool is_bare(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (is_control((unsigned char)s.p[i]) || strchr(" \"=\\", s.p[i]))
            return false;
    return s.n && str_is_utf8(s);
}

static void quote_json(struct buf *out, struct str s)
{
    buf_char(out, '"');
    while (s.n) {
        size_t n = str_utf8_front(s);
        unsigned char c = (unsigned char)s.p[0];

        if (n == 0)
            buf_str(out, STR("\xef\xbf\xbd")); /* U+FFFD */
        else if (c == '"' || c == '\\')
            buf_fmt(out, "\\%c", c);
        else if (is_control(c))
            buf_fmt(out, "\\u%04x", c);
        else
            buf_append(out, s.p, n);
        s = str_from(s, n ? n : 1);
    }
    buf_char(out, '"');
}

static void append_text(struct buf *out, struct str s, bool as_json)
{
    autobuf cut = { 0 };

    if (s.n > LOG_VALUE_MAX) {
        size_t n = LOG_VALUE_MAX;

        while (n > LOG_VALUE_MAX - 4 && (s.p[n] & 0xc0) == 0x80) /* not inside a character */
            n--;
        buf_append(&cut, s.p, n);
        buf_str(&cut, STR("..."));
        s = buf_view(&cut);
    }
    if (as_json)
        quote_json(out, s);
    else if (is_bare(s))
        buf_str(out, s);
    else
        buf_quote(out, s, SIZE_MAX);
}

static void append_field(struct buf *out, const struct log_field *f, bool as_json)
{
    const char *unit = f->kind == LOG_KIND_MS ? "ms" : "";

    if (as_json)
        buf_fmt(out, ",\"%s%s%s\":", f->name, *unit ? "_" : "", unit);
    else
        buf_fmt(out, " %s=", f->name);
    switch (f->kind) {
    case LOG_KIND_STR:
        append_text(out, f->s, as_json);
        break;
    case LOG_KIND_INT:
    case LOG_KIND_MS:
        buf_i64(out, f->i);
        buf_str(out, str_of(as_json ? "" : unit));
        break;
    case LOG_KIND_U64:
        buf_fmt(out, "%" PRIu64, f->u);
        break;
    case LOG_KIND_BOOL:
        buf_str(out, f->b ? STR("true") : STR("false"));
        break;
    case LOG_KIND_MAX:
        assert(!"a kind of field");
    }
}

/* ---- lines ---- */

static void write_line(struct str line)
{
    while (line.n) {
        ssize_t n = write(config.fd, line.p, line.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) /* nowhere left to complain */
            return;
        line = str_from(line, (size_t)n);
    }
}

void log_write(enum log_level level, const char *sentence, const struct log_field *fields, size_t n)
{
    bool as_json = config.format == LOG_FORMAT_JSON;
    int saved_errno = errno; /* logging between a failure and its report must not change what is reported */
    autobuf line = { 0 };

    if (!log_enabled(level))
        return;
    buf_str(&line, as_json ? STR("{\"time\":\"") : STR("time="));
    clock_print_us(&line, clock_now_us(config.clock ? config.clock : &clock_real));
    line.n -= strlen("000Z"); /* microseconds are noise to the reader of a log, seconds too coarse */
    buf_char(&line, 'Z');
    buf_fmt(&line, as_json ? "\",\"level\":\"%s\",\"msg\":" : " level=%s msg=", log_level_name(level));
    append_text(&line, str_of(sentence), as_json);
    for (size_t i = 0; i < n; i++)
        append_field(&line, &fields[i], as_json);
    buf_str(&line, as_json ? STR("}\n") : STR("\n"));
    write_line(buf_view(&line));
    errno = saved_errno;
}
