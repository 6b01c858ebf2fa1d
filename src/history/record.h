/* record.h - a file with the facts of a run, from which its history can be rebuilt
 *
 * The file has the facts that were fed into the history, in order, one line of JSON each. Reading it gives the same
 * history, from which summary, page and trace can be made again. A record that breaks off, because the run was killed,
 * is valid up to its last whole line.
 *
 *     {"pumice":1,"id":…,"begin":…,"jobs":1,…}   the first line
 *     {"documents":[…]}                          what was run, without secrets
 *     {"t":…,"put":{…}}  {"t":…,"gone":{…}}      an object: as much of it as a history looks at
 *     {"t":…,"note":…}  {"t":…,"why":…}  {"t":…,"stopped":…}  {"use":…}
 *     {"t":…,"end":{…},"summary":…}              the last line, of a run that came to its end
 *
 * The output of containers is in separate files, which may be truncated: see record_log().
 */
#ifndef HISTORY_RECORD_H
#define HISTORY_RECORD_H

#include "history/history.h"
#include "history/scrub.h"

enum { RECORD_FORM = 1 }; /* of the lines: a reader refuses later ones */

struct record_head {
    struct str id, version, directory;
    const struct json *files; /* as they were given; may be NULL */
    const struct json *names; /* of jobs; may be NULL */
    int64_t begin_ms;
    size_t n_jobs;
    bool has_namespaces, is_shared; /* as in struct history_options */
};

struct record_end {
    int64_t status, begin_ms, end_ms;
    struct str reason, summary;
    int64_t log_dropped; /* bytes of output that were not kept */
    bool has_no_log;     /* none was to be kept */
    bool is_cut;         /* facts are missing: there were too many */
};

/* ---- writing ---- each appends a line ---- */

void record_put_head(struct buf *out, const struct record_head *h);
void record_put_documents(struct buf *out, struct json *list);
/* False: nothing of it is of interest. */
bool record_put_object(struct buf *out, const struct scrub *s, const struct object *o, bool is_gone, int64_t now_ms);
void record_put_note(struct buf *out, const struct scrub *s, struct str sentence, int64_t now_ms);
void record_put_why(struct buf *out, const struct history_job *j, int64_t now_ms);
void record_put_stopped(struct buf *out, const struct history_job *j, int64_t now_ms);
void record_put_use(struct buf *out, const struct history_pod *p);
void record_put_end(struct buf *out, const struct scrub *s, const struct record_end *e);

struct record_line { /* of a container */
    int64_t fact;    /* how many facts were written before it */
    int64_t at_ms;
    struct str uid, label, container;
    bool is_error; /* standard error */
    struct str text;
};
void record_put_line(struct buf *out, const struct record_line *l); /* 'text' has no newline */
bool record_next_line(struct str *rest, struct record_line *ret);   /* borrowed from 'rest'; false: no more */

/* ---- reading ---- */

struct record {
    struct record_head head;
    const struct json *documents; /* NULL: none */
    struct history *history;      /* finished */
    bool has_ended;
    struct record_end end; /* of one that has not: end_ms is that of the last fact */
    size_t n_bad;          /* lines that cannot be parsed */
    struct str logs;       /* for record_next_line() */
};

/* All of it; 'logs' are the lines, oldest first (may be empty). Texts are borrowed from 'facts' and 'a'. ERR_INVALID:
 * it is no record. */
int record_read(struct arena *a, struct str facts, struct str logs, struct record *ret, struct err *e);
/* Only the first line and the last. */
int record_read_ends(struct arena *a, struct str first, struct str last, struct record *ret, struct err *e);
void record_done(struct record *r);

#endif
