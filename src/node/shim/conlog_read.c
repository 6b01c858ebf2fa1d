/* conlog_read.c - follow the log of a container across rotated files
 *
 * A file is identified by its inode, since rotation changes its name. The reader advances only by whole records and
 * reads an unfinished one again: the writer may have truncated it (a full disk).
 */
#include "node/shim/conlog.h"

#include "base/clock.h"
#include "base/util.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { READ_AT_ONCE = 64 << 10 };

struct conlog_reader {
    char *path;
    int fd; /* no file yet */
    dev_t dev;
    ino_t ino;
    int64_t offset; /* of 'at' in the file */
    char *bytes;    /* READ_AT_ONCE */
    size_t at, n;   /* the unread part of 'bytes' */
    bool has_lost;
};

/* ---- one record ---- */

static bool time_parse(struct str s, int64_t *ret_ns)
{
    int64_t us, digits = 0;
    ptrdiff_t point = str_find_char(s, '.');

    if (s.n < 20 || s.n > 35 || clock_parse_us(s, &us, NULL) < 0)
        return false;
    if (us > INT64_MAX / 1000 - 1 || us < INT64_MIN / 1000 + 1) /* after 2262 or before 1677: not a log */
        return false;
    for (size_t i = 0; point >= 0 && i < 9; i++) {
        size_t k = (size_t)point + 1 + i;

        digits = digits * 10 + (k < s.n && s.p[k] >= '0' && s.p[k] <= '9' ? s.p[k] - '0' : 0);
    }
    *ret_ns = us * 1000 + digits % 1000;
    return true;
}

bool conlog_parse(struct str record, struct conlog_line *ret)
{
    struct str rest = record, at, stream, tag;
    int64_t at_ns;

    *ret = (struct conlog_line){ .stream = CONLOG_STDOUT, .text = record };
    if (!str_split(&rest, ' ', &at) || !str_split(&rest, ' ', &stream) || !str_split(&rest, ' ', &tag) || !rest.p)
        return false;
    if (!(str_is(stream, "stdout") || str_is(stream, "stderr")) ||
        !(str_is(tag, "F") || str_is(tag, "P") || str_is(tag, "F:U")) || !time_parse(at, &at_ns))
        return false;
    ret->at_ns = at_ns;
    ret->stream = str_is(stream, "stderr") ? CONLOG_STDERR : CONLOG_STDOUT;
    ret->is_partial = str_is(tag, "P");
    ret->is_unfinished = str_is(tag, "F:U");
    ret->text = rest;
    return true;
}

/* ---- files ---- */

static void conlog_read_file_name(struct buf *out, const char *path, int i)
{
    buf_reset(out);
    buf_fmt(out, i ? "%s.%d" : "%s", path, i);
}

static bool conlog_read_is_same(const struct conlog_reader *r, int i)
{
    autobuf name = { 0 };
    struct stat st;

    conlog_read_file_name(&name, r->path, i);
    return stat(name.p, &st) == 0 && st.st_dev == r->dev && st.st_ino == r->ino;
}

static bool take_file(struct conlog_reader *r, int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0) {
        close(fd);
        return false;
    }
    if (r->fd >= 0)
        close(r->fd);
    r->fd = fd;
    r->dev = st.st_dev;
    r->ino = st.st_ino;
    r->offset = 0;
    r->at = r->n = 0;
    return true;
}

static bool open_oldest(struct conlog_reader *r)
{
    autobuf name = { 0 };

    for (int i = CONLOG_KEPT; i >= 0; i--) {
        int fd;

        conlog_read_file_name(&name, r->path, i);
        fd = open(name.p, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0)
            return take_file(r, fd);
    }
    return false;
}

/* Open the next newer file. It may be rotated meanwhile, so check again after opening. */
static bool open_newer(struct conlog_reader *r)
{
    autobuf name = { 0 };

    for (int tries = 0; tries < 10; tries++) {
        int i = 0, fd;

        while (i <= CONLOG_KEPT && !conlog_read_is_same(r, i))
            i++;
        if (i == 0)
            return false;
        if (i > CONLOG_KEPT) { /* our file was deleted: files in between are lost */
            r->has_lost = open_oldest(r);
            return r->has_lost;
        }
        conlog_read_file_name(&name, r->path, i - 1);
        fd = open(name.p, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0 && conlog_read_is_same(r, i))
            return take_file(r, fd);
        if (fd >= 0)
            close(fd);
    }
    return false;
}

/* ---- reading ---- */

struct conlog_reader *conlog_reader_new(const char *path)
{
    struct conlog_reader *r = xcalloc(1, sizeof(*r));

    r->path = strdup(path);
    r->fd = -1;
    r->bytes = xmalloc(READ_AT_ONCE);
    return r;
}

void conlog_reader_free(struct conlog_reader *r)
{
    if (!r)
        return;
    if (r->fd >= 0)
        close(r->fd);
    free(r->bytes);
    free(r->path);
    free(r);
}

static struct str unread_text(const struct conlog_reader *r)
{
    return (struct str){ r->bytes + r->at, r->n - r->at };
}

static void conlog_read_fill(struct conlog_reader *r)
{
    ssize_t n = pread(r->fd, r->bytes, READ_AT_ONCE, r->offset);

    r->at = 0;
    r->n = n > 0 ? (size_t)n : 0;
}

static void conlog_advance(struct conlog_reader *r, size_t n)
{
    r->at += n;
    r->offset += (int64_t)n;
}

static bool next_record(struct conlog_reader *r, struct conlog_line *ret)
{
    struct str s = unread_text(r);
    ptrdiff_t end = str_find_char(s, '\n');

    if (end < 0)
        return false;
    (void)conlog_parse(str_sub(s, 0, (size_t)end), ret); /* a malformed record is text */
    conlog_advance(r, (size_t)end + 1);
    return true;
}

bool conlog_next(struct conlog_reader *r, struct conlog_line *ret)
{
    if (r->fd < 0 && !open_oldest(r))
        return false;
    for (;;) {
        bool was_current;

        if (next_record(r, ret))
            return true;
        was_current = conlog_read_is_same(r, 0); /* before reading: a renamed file gets no more data */
        conlog_read_fill(r);
        if (next_record(r, ret))
            return true;
        /* Text without a newline: longer than any record, or the end of a file that is no longer written. */
        if (r->n == READ_AT_ONCE || (r->n && !was_current)) {
            *ret = (struct conlog_line){ .stream = CONLOG_STDOUT, .is_partial = true, .text = unread_text(r) };
            conlog_advance(r, ret->text.n);
            return true;
        }
        if (was_current || !open_newer(r))
            return false;
    }
}

bool conlog_has_lost(struct conlog_reader *r)
{
    bool has_lost = r->has_lost;

    r->has_lost = false;
    return has_lost;
}

/* ---- the end ---- */

/* The last 'max' bytes of a file, starting at a record. */
static void read_tail(struct buf *out, const char *path, int i, size_t max)
{
    autobuf name = { 0 }, all = { 0 };
    struct stat st;
    int64_t from;
    struct str s;
    ssize_t n;

    conlog_read_file_name(&name, path, i);
    autoclose int fd = open(name.p, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) < 0)
        return;
    from = st.st_size > (int64_t)max ? st.st_size - (int64_t)max : 0;
    n = pread(fd, buf_reserve(&all, max), max, from);
    s = (struct str){ all.p, n > 0 ? (size_t)n : 0 };
    if (from)
        s = str_from(s, (size_t)(str_find_char(s, '\n') + 1));
    buf_str(out, s);
}

/* The text of records, with split lines joined. */
static void join_text(struct buf *out, struct str records)
{
    struct conlog_line line = { 0 };
    struct str part;

    while (str_split(&records, '\n', &part)) {
        if (!part.n && !records.n)
            break;              /* after the last newline */
        if (line.is_unfinished) /* records of the other stream follow */
            buf_char(out, '\n');
        (void)conlog_parse(part, &line);
        buf_str(out, line.text);
        if (!line.is_partial && !line.is_unfinished)
            buf_char(out, '\n');
    }
}

static struct str last_lines(struct str s, size_t max, int lines)
{
    size_t at = s.n;

    while (at > 0) {
        if (s.p[at - 1] == '\n' && at < s.n && lines-- <= 1)
            break;
        at--;
    }
    s = str_from(s, at);
    return s.n > max ? str_from(s, s.n - max) : s;
}

void conlog_tail(const char *path, size_t max, int lines, struct buf *out)
{
    /* This much of a file has the wanted text, after a first record that may be cut off. */
    size_t window = max + ((size_t)MAX_OF(lines, 0) + max / CONLOG_LINE + 2) * CONLOG_EXTRA + CONLOG_LINE;
    autobuf records = { 0 }, text = { 0 };

    if (lines <= 0 || !max)
        return;
    read_tail(&records, path, 1, window); /* the log may just have been rotated */
    read_tail(&records, path, 0, window);
    join_text(&text, buf_view(&records));
    buf_str(out, last_lines(buf_view(&text), max, lines));
}
