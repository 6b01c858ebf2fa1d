/* conlog.h - the output of a container on disk, in the CRI log format
 *
 * One record per line: "2026-03-01T09:30:00.000250123Z stdout F the line". A line longer than CONLOG_LINE bytes is
 * split into several records, all but the last tagged P instead of F. So is a line that is rewritten with carriage
 * returns (a progress bar), with a record for each update, so that readers see it move. A line without a newline at
 * the end of the stream is tagged F:U. Bytes are kept unchanged. A file above its size limit is renamed ("0.log" →
 * "0.log.1" …) and a new one started; CONLOG_KEPT files are kept, including the current one.
 *
 * Output that cannot be written (a full disk) is dropped and counted; the container never blocks on its log. When
 * writing works again, a record reports the number of dropped bytes. The end of the output is kept in memory, so it
 * is available even then.
 */
#ifndef NODE_CONLOG_H
#define NODE_CONLOG_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { CONLOG_LINE = 16 << 10, CONLOG_TAIL = 4096, CONLOG_KEPT = 5 };
/* Upper bound for how much longer a record is than its text: time, stream and tag. */
enum { CONLOG_EXTRA = 64 };
enum conlog_stream { CONLOG_STDOUT, CONLOG_STDERR, CONLOG_STREAM_MAX };

/* ---- writing ---- */

struct conlog;
/* 'path' is the current file. It is created with the first record, and so is its directory; the parent of that must
 * exist. 'max_bytes' 0: never rotated. */
int conlog_open(const char *path, int64_t max_bytes, struct conlog **ret, struct err *e);
/* Add output of a stream. 'now_ns': wall clock. It is on disk after conlog_flush() at the latest. */
void conlog_put(struct conlog *l, enum conlog_stream stream, struct str bytes, int64_t now_ns);
void conlog_end(struct conlog *l, enum conlog_stream stream,
                int64_t now_ns); /* end of the stream: writes an unfinished line */
void conlog_flush(struct conlog *l);
void conlog_close(struct conlog *l); /* NULL is fine */

int64_t conlog_bytes(const struct conlog *l); /* written to disk since it was opened, in all files */

/* The last CONLOG_TAIL bytes of both streams, in the order they came, if some of them are not on disk; else empty.
 * Borrowed until the next call. */
struct str conlog_unwritten(const struct conlog *l);

/* The unfinished line of either stream, as far as it is in memory: a prompt. Borrowed as above. */
struct str conlog_begun(const struct conlog *l);

/* ---- following ---- */

struct conlog_reader; /* follows rotated files as long as they are kept */

struct conlog_line {
    int64_t at_ns;
    enum conlog_stream stream;
    bool is_partial;    /* more of the same line follows */
    bool is_unfinished; /* the last line of its stream has no newline */
    struct str text;    /* without the newline; borrowed until the next call */
};

struct conlog_reader *conlog_reader_new(const char *path); /* starts with the oldest file */
void conlog_reader_free(struct conlog_reader *r);          /* NULL is fine */
/* The next whole record; false: none yet. Text that is not a record is returned unchanged, as stdout. */
bool conlog_next(struct conlog_reader *r, struct conlog_line *ret);
/* Were files deleted before they were read, since the last call? */
bool conlog_has_lost(struct conlog_reader *r);

/* The last lines of a log, at most 'max' bytes of text: for termination messages (FallbackToLogsOnError) and
 * reports. */
void conlog_tail(const char *path, size_t max, int lines, struct buf *out);

/* Parse one record without its newline. False: not a record; all of it is the text. */
bool conlog_parse(struct str record, struct conlog_line *ret);

#endif
