/* records.h - the records of this user's runs, in their directory: made, listed, found, read (run/recorder.h writes one)
 *
 *     $XDG_STATE_HOME/pumice/runs     else /var/lib/pumice/runs for root, ~/.local/state/pumice/runs for others
 *         <id>/facts                  see history/record.h; locked as long as the run goes on
 *         <id>/log.old, <id>/log      what containers wrote, oldest first; each has a bound
 *
 * All of it is open to its owner only. There are RECORDS_MAX at most, and RECORDS_BYTES in all: the oldest go.
 */
#ifndef CLI_RECORDS_H
#define CLI_RECORDS_H

#include "base/err.h"
#include "base/vec.h"
#include "history/record.h"

enum {
    RECORDS_MAX = 100,
    RECORD_FACTS_MAX = 16 << 20, /* some thousand pods */
    RECORD_LOG_MAX = 4 << 20,    /* of each of the two files */
};
#define RECORDS_BYTES ((int64_t)256 << 20)

/* The directory, made if need be; before user_enter(), which makes everybody root. ERR_NOT_FOUND: it is not there and
 * was not to be made. */
int records_open(struct arena *a, bool makes, int *ret_dir, struct err *e);

struct record_files {
    int dir, facts, log; /* -1: none */
};
/* Files of a new record, after as many old ones have gone as have to. The id becomes another one ("abc123-2") if there
 * is one like it. */
int records_new(struct arena *a, int dir, struct str *id, struct record_files *ret, struct err *e);

struct record_entry {
    struct str id;
    bool is_running;
    int64_t bytes;
    struct record ends; /* head and end only */
};
struct record_list {
    VEC(struct record_entry *) list; /* newest first */
};
void records_list(struct arena *a, int dir, struct record_list *ret); /* unreadable ones are left out */

/* One by its id, the beginning of it, or "last". */
int records_find(struct arena *a, int dir, const char *word, struct record_entry **ret, struct err *e);
/* All of it, to be given to record_done(). */
int records_read(struct arena *a, int dir, struct str id, struct record *ret, struct err *e);

#endif
