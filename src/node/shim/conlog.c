/* conlog.c - write the output of a container to disk
 *
 * Records are collected and written with one call. Only whole records stay in the file: if a full disk cuts off the
 * last one, the file is truncated, so readers never see half a record for good.
 */
#include "node/shim/conlog.h"

#include "base/clock.h"
#include "base/util.h"
#include "os/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { WRITE_AT = 64 << 10, TIME_MAX = 40, TAIL_ROOM = CONLOG_TAIL * 2 };

static const char *const stream_tags[CONLOG_STREAM_MAX] = { " stdout ", " stderr " };

struct conlog {
    char *path;
    int fd; /* -1: not created, or failed to open: retried with the next flush */
    int64_t max_bytes, size, written;
    struct buf lines[CONLOG_STREAM_MAX]; /* unfinished lines */
    bool is_begun[CONLOG_STREAM_MAX];    /* … partly written as P records */
    bool is_bar[CONLOG_STREAM_MAX];      /* … and it contains carriage returns */
    struct buf out;                      /* whole records, not written yet */
    int64_t lost;                        /* bytes of text dropped since the last successful write */
    int why;                             /* errno of the first of them */
    char *tail;                          /* the last output; the newer half counts. NULL: no output yet */
    size_t tail_n;
    int64_t written_second; /* the second that 'stamp' is for */
    char stamp[TIME_MAX];   /* "2026-03-01T09:30:00." */
    int64_t now_ns;         /* of the last put */
};

/* The directory of 'path'. */
static void parent_dir(struct buf *out, const char *path)
{
    ptrdiff_t slash = str_rfind_char(str_of(path), '/');

    buf_reset(out);
    buf_str(out, slash < 0 ? STR(".") : slash == 0 ? STR("/") : str_sub(str_of(path), 0, (size_t)slash));
}

static int conlog_make_file(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
}

static int conlog_open_file(struct conlog *l)
{
    autobuf dir = { 0 };
    struct stat st;

    l->fd = conlog_make_file(l->path);
    if (l->fd < 0 && errno == ENOENT) {
        parent_dir(&dir, l->path);
        l->fd = mkdir(dir.p, 0755) < 0 && errno != EEXIST ? -1 : conlog_make_file(l->path);
    }
    if (l->fd < 0)
        return -1;
    l->size = fstat(l->fd, &st) == 0 ? st.st_size : 0;
    return 0;
}

/* The directory is created with the first record, so check the one above; its errno is the one that matters. */
static bool can_write(const char *above, const char *dir)
{
    int why;

    if (access(above, W_OK) == 0)
        return true;
    why = errno;
    if (access(dir, W_OK) == 0)
        return true;
    errno = why;
    return false;
}

int conlog_open(const char *path, int64_t max_bytes, struct conlog **ret, struct err *e)
{
    autobuf dir = { 0 }, above = { 0 };
    struct conlog *l;

    parent_dir(&dir, path);
    parent_dir(&above, dir.p);
    if (!can_write(above.p, dir.p))
        return err_errno(e, "log %s", path);
    l = xcalloc(1, sizeof(*l));
    l->path = strdup(path);
    l->fd = -1;
    l->max_bytes = max_bytes;
    l->written_second = -1;
    *ret = l;
    return 0;
}

/* ---- to the disk ---- */

static void conlog_rotate(struct conlog *l)
{
    autobuf from = { 0 }, to = { 0 };

    for (int i = CONLOG_KEPT - 2; i >= 0; i--) {
        buf_reset(&from);
        buf_reset(&to);
        buf_fmt(&from, i ? "%s.%d" : "%s", l->path, i);
        buf_fmt(&to, "%s.%d", l->path, i + 1);
        (void)rename(from.p, to.p); /* most are not there yet */
    }
    close(l->fd);
    (void)conlog_open_file(l);
}

/* Write whole records; returns the number of bytes on disk. */
static size_t write_records(struct conlog *l, struct str s)
{
    size_t done = 0, whole;
    struct stat st;

    if (write_all(l->fd, s) == 0)
        return s.n;
    l->why = errno;
    if (fstat(l->fd, &st) == 0 && st.st_size > l->size)
        done = MIN_OF((size_t)(st.st_size - l->size), s.n);
    whole = (size_t)(str_rfind_char(str_sub(s, 0, done), '\n') + 1);
    if (whole < done && ftruncate(l->fd, l->size + (int64_t)whole) < 0)
        return done; /* half a record stays: readers treat it as text */
    return whole;
}

static int64_t count_text_bytes(struct str records)
{
    struct conlog_line line;
    struct str part;
    int64_t n = 0;

    while (str_split(&records, '\n', &part))
        if (part.n && conlog_parse(part, &line))
            n += (int64_t)line.text.n;
    return n;
}

static void conlog_put_time(struct conlog *l, struct buf *out, int64_t now_ns)
{
    int64_t second = now_ns / 1000000000, ns = now_ns % 1000000000;
    char digits[11];

    if (second != l->written_second) {
        autobuf text = { 0 };

        clock_print(&text, second * 1000);
        (void)snprintf(l->stamp, sizeof(l->stamp), "%.*s.", (int)text.n - 1, text.p);
        l->written_second = second;
    }
    digits[9] = 'Z';
    for (int i = 8; i >= 0; i--, ns /= 10)
        digits[i] = (char)('0' + ns % 10);
    buf_append(out, l->stamp, strlen(l->stamp));
    buf_append(out, digits, 10);
}

/* Write a record about lost output first. */
static bool report_loss(struct conlog *l)
{
    autobuf line = { 0 };
    int why = l->why;
    size_t n;

    if (!l->lost)
        return true;
    conlog_put_time(l, &line, l->now_ns);
    buf_fmt(&line, "%sF [%lld bytes of output were lost: %s]\n", stream_tags[CONLOG_STDERR], (long long)l->lost,
            strerror(why));
    n = write_records(l, buf_view(&line));
    l->size += (int64_t)n;
    l->written += (int64_t)n;
    l->why = why;
    if (n < line.n)
        return false;
    l->lost = 0;
    return true;
}

void conlog_flush(struct conlog *l)
{
    size_t n = 0;

    if (!l->out.n)
        return;
    if (l->fd < 0 && conlog_open_file(l) < 0)
        l->why = errno;
    else if (report_loss(l))
        n = write_records(l, buf_view(&l->out));
    l->size += (int64_t)n;
    l->written += (int64_t)n;
    l->lost += count_text_bytes(str_from(buf_view(&l->out), n));
    buf_reset(&l->out);
    if (l->out.cap > 4 * WRITE_AT)
        buf_done(&l->out);
}

/* ---- lines ---- */

/* 'tag': "P ", "F " or "F:U ". */
static void put_tagged_record(struct conlog *l, enum conlog_stream stream, struct str text, const char *tag)
{
    bool is_partial = tag[0] == 'P';

    conlog_put_time(l, &l->out, l->now_ns);
    buf_append(&l->out, stream_tags[stream], 8);
    buf_str(&l->out, str_of(tag));
    l->is_begun[stream] = is_partial;
    l->is_bar[stream] &= is_partial;
    buf_str(&l->out, text);
    buf_char(&l->out, '\n');
    if (l->max_bytes && l->size + (int64_t)l->out.n > l->max_bytes) {
        conlog_flush(l);
        if (l->fd >= 0 && l->size > l->max_bytes)
            conlog_rotate(l);
    } else if (l->out.n >= WRITE_AT) {
        conlog_flush(l);
    }
}

static void put_record(struct conlog *l, enum conlog_stream stream, struct str text, bool is_partial)
{
    put_tagged_record(l, stream, text, is_partial ? "P " : "F ");
}

static void keep_tail(struct conlog *l, struct str s)
{
    s = s.n > CONLOG_TAIL ? str_from(s, s.n - CONLOG_TAIL) : s;
    if (!s.n)
        return;
    if (!l->tail)
        l->tail = xmalloc(TAIL_ROOM); /* most containers write nothing */
    if (l->tail_n + s.n > TAIL_ROOM) {
        memmove(l->tail, l->tail + l->tail_n - CONLOG_TAIL, CONLOG_TAIL); /* more than half is in use */
        l->tail_n = CONLOG_TAIL;
    }
    memcpy(l->tail + l->tail_n, s.p, s.n);
    l->tail_n += s.n;
}

/* Add text to the current line. */
static void add_to_line(struct conlog *l, enum conlog_stream stream, struct str s)
{
    struct buf *line = &l->lines[stream];

    while (line->n + s.n > CONLOG_LINE) { /* not at exactly CONLOG_LINE: the newline may come next */
        size_t n = CONLOG_LINE - line->n;

        buf_append(line, s.p, n);
        put_record(l, stream, buf_view(line), true);
        buf_reset(line);
        s = str_from(s, n);
    }
    buf_str(line, s);
}

/* The length of 's' without an incomplete UTF-8 character at its end. */
static size_t whole_characters(struct str s)
{
    for (size_t back = 1; back <= MIN_OF(s.n, 3); back++) {
        unsigned char c = (unsigned char)s.p[s.n - back];
        size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

        if ((c & 0xc0) != 0x80)
            return need > back ? s.n - back : s.n;
    }
    return s.n;
}

/* A progress bar: write the unfinished line now. */
static void put_progress(struct conlog *l, enum conlog_stream stream)
{
    struct buf *line = &l->lines[stream];
    size_t n;

    l->is_bar[stream] |= str_has_char(buf_view(line), '\r');
    n = l->is_bar[stream] ? whole_characters(buf_view(line)) : 0;
    if (!n)
        return;
    put_record(l, stream, str_sub(buf_view(line), 0, n), true);
    memmove(line->p, line->p + n, line->n - n);
    line->n -= n;
}

void conlog_put(struct conlog *l, enum conlog_stream stream, struct str bytes, int64_t now_ns)
{
    struct buf *line = &l->lines[stream];

    l->now_ns = now_ns;
    keep_tail(l, bytes);
    for (ptrdiff_t at; (at = str_find_char(bytes, '\n')) >= 0; bytes = str_from(bytes, (size_t)at + 1)) {
        if (!line->n && at <= CONLOG_LINE) { /* the usual case: no copy */
            put_record(l, stream, str_sub(bytes, 0, (size_t)at), false);
            continue;
        }
        add_to_line(l, stream, str_sub(bytes, 0, (size_t)at));
        put_record(l, stream, buf_view(line), false);
        buf_reset(line);
    }
    add_to_line(l, stream, bytes);
    put_progress(l, stream);
}

void conlog_end(struct conlog *l, enum conlog_stream stream, int64_t now_ns)
{
    struct buf *line = &l->lines[stream];

    l->now_ns = now_ns;
    if (line->n || l->is_begun[stream])
        put_tagged_record(l, stream, buf_view(line), "F:U ");
    buf_done(line);
}

int64_t conlog_bytes(const struct conlog *l)
{
    return l->written;
}

struct str conlog_unwritten(const struct conlog *l)
{
    struct str s = { l->tail, l->tail_n };

    return l->lost ? str_from(s, s.n > CONLOG_TAIL ? s.n - CONLOG_TAIL : 0) : STR_NULL;
}

struct str conlog_begun(const struct conlog *l)
{
    struct str s = { l->tail, l->tail_n };

    return str_from(s, (size_t)(str_rfind_char(s, '\n') + 1));
}

void conlog_close(struct conlog *l)
{
    if (!l)
        return;
    conlog_flush(l);
    if (l->fd >= 0)
        close(l->fd);
    for (int i = 0; i < CONLOG_STREAM_MAX; i++)
        buf_done(&l->lines[i]);
    buf_done(&l->out);
    free(l->tail);
    free(l->path);
    free(l);
}
