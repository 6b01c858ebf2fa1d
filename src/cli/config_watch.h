/* config_watch.h - the scheduler's settings from a file that is read again when it changes
 *
 * An editor writes a new file and renames it; a ConfigMap that is mounted becomes another directory behind a link; the
 * path may lead through more links, or over a network. So the file is read twice a second and its text compared, which
 * costs less than to follow all that.
 */
#ifndef CLI_CONFIG_WATCH_H
#define CLI_CONFIG_WATCH_H

#include "base/buf.h"
#include "base/err.h"

struct arena;
struct sched_config;

/* As they are now: --scheduler-config FILE; NULL: the default. */
int scheduler_config(struct arena *a, const char *file, struct sched_config *ret, struct err *e);

struct config_watch {
    const char *path; /* borrowed; NULL: there is none */
    struct buf text;  /* as it was read last */
    bool is_missing;  /* it could not be read then */
    int64_t check_ms; /* mono time of the next look */
};

/* The settings now; without a path the default ones. ERR_INVALID: the file is not fit for use, and nothing has changed. */
int config_watch_open(struct config_watch *w, const char *path, struct sched_config *ret, struct err *e);
void config_watch_done(struct config_watch *w);

/* Are there new settings, and are they good? What is wrong with a new file is logged, and the old ones stay. */
bool config_watch_turn(struct config_watch *w, struct sched_config *ret);
int64_t config_watch_due_ms(const struct config_watch *w); /* mono time */

#endif
