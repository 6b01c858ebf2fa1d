/* conlog.h - the output of a container on disk, as the container runtime interface has it
 *
 * One record for each line: "2026-03-01T09:30:00.000250123Z stdout F the line". A line longer than CONLOG_LINE bytes
 * becomes several records, all but the last tagged P instead of F; so does one that is written over with carriage
 * returns (a progress bar), each time that something new of it came: whoever follows sees it move. A line that is not
 * finished when its writer ends is tagged F:U. Bytes are kept as they are. When a file passes its limit it is renamed
 * ("0.log" → "0.log.1" …) and a new one begun; CONLOG_KEPT files are kept, the current one included.
 *
 * What cannot be written (a full disk) is dropped and counted, never an error for the container: it must not block on
 * its log; the number of dropped bytes is written as a line of its own once that works again. The tail is kept in
 * memory, so the last words are there even then.
 */
#ifndef NODE_CONLOG_H
#define NODE_CONLOG_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { CONLOG_LINE = 16 << 10, CONLOG_TAIL = 4096, CONLOG_KEPT = 5 };
/* The most that a record is longer than its text: time, stream and tag, with some to spare. */
enum { CONLOG_EXTRA = 64 };
enum conlog_stream { CONLOG_STDOUT, CONLOG_STDERR, CONLOG_STREAM_MAX };

/* ---- writing ---- */

struct conlog;
/* 'path' is the current file. It is made with the first record, and so is the directory it is in; the one above must
 * be there. 'max_bytes' 0: never turned over. */
int conlog_open(const char *path, int64_t max_bytes, struct conlog **ret, struct err *e);
/* Bytes as they come from the pipe. 'now_ns': wall clock. Written to disk at the latest by conlog_flush(). */
void conlog_put(struct conlog *l, enum conlog_stream stream, struct str bytes, int64_t now_ns);
void conlog_end(struct conlog *l, enum conlog_stream stream, int64_t now_ns); /* an unfinished line is closed */
void conlog_flush(struct conlog *l);
void conlog_close(struct conlog *l); /* NULL is fine */

int64_t conlog_bytes(const struct conlog *l); /* written to disk since it was opened, in all files */

/* The last CONLOG_TAIL bytes put, both streams as they came, if some of them are not on disk; empty if all are.
 * Borrowed until the next call. */
struct str conlog_unwritten(const struct conlog *l);

/* The line that was begun and has no end yet, of whichever stream, as far as the tail has it: a prompt. Borrowed as
 * above. */
struct str conlog_begun(const struct conlog *l);

/* ---- following ---- */

struct conlog_reader; /* also over files that were turned over meanwhile, as long as they are kept */

struct conlog_line {
    int64_t at_ns;
    enum conlog_stream stream;
    bool is_partial;    /* more of the same line follows */
    bool is_unfinished; /* it is the last of its stream, which wrote no newline */
    struct str text;    /* without the newline; borrowed until the next call */
};

struct conlog_reader *conlog_reader_new(const char *path); /* begins with the oldest file that is kept */
void conlog_reader_free(struct conlog_reader *r);          /* NULL is fine */
/* The next whole record; false: there is none yet. Text that is no record is given as it is, as stdout. */
bool conlog_next(struct conlog_reader *r, struct conlog_line *ret);
/* Were files turned over before they were read? Since the last call. */
bool conlog_has_lost(struct conlog_reader *r);

/* The last lines of a log, at most 'max' bytes of text: for termination messages (FallbackToLogsOnError) and
 * reports. */
void conlog_tail(const char *path, size_t max, int lines, struct buf *out);

/* One record without its newline. false: it is none, and all of it is the text. */
bool conlog_parse(struct str record, struct conlog_line *ret);

#endif
