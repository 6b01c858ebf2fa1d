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
#include "json/problem.h"

struct driver;
struct sched_config;

/* What the text of a volcano-scheduler.conf says. Settings without effect here (a misspelt plugin, one of Volcano's that
 * Pumice has not) become warnings in 'ps', sorted by line. */
int scheduler_config_parse(struct arena *a, struct str text, struct problems *ps, struct sched_config *ret,
                           struct err *e);

/* For a command with --scheduler-config FILE (NULL: the default settings): prints the warnings to stderr. */
int scheduler_config(struct arena *a, const char *file, struct sched_config *ret, struct err *e);

/* "FILE:12: tiers[0].plugins[2].name: unknown plugin "gangs", ignored; did you mean gang?" */
void scheduler_config_print(struct buf *out, const char *file, const struct problem *p);

struct config_watch {
    const char *path;    /* borrowed; NULL: there is none */
    struct buf text;     /* as it was read last */
    struct buf warnings; /* of the settings in force; "; " between them */
    size_t n_warnings;
    bool is_missing;  /* it could not be read then */
    bool is_told;     /* an Event was written about the warnings */
    int64_t check_ms; /* mono time of the next look */
};

/* Read the settings; without a path the default ones. Logs the warnings. ERR_INVALID: the file cannot be used, and
 * nothing has changed. */
int config_watch_open(struct config_watch *w, const char *path, struct sched_config *ret, struct err *e);
void config_watch_done(struct config_watch *w);

/* True: the file has changed and '*ret' holds its settings. A file that cannot be used is logged, and the old settings
 * stay. */
bool config_watch_turn(struct config_watch *w, struct sched_config *ret);
int64_t config_watch_due_ms(const struct config_watch *w); /* mono time */

#define CONFIG_WARNINGS_METRIC "pumice_scheduler_config_warnings" /* n_warnings */
#define CONFIG_WARNINGS_HELP   "Settings of the scheduler configuration that have no effect"

/* Write the warnings as an Event, once for each version of the file. 'd' schedules. */
void config_watch_tell(struct config_watch *w, struct driver *d);

#endif
