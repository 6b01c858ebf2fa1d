/* convert_internal.h - what the conversions share
 *
 * A conversion is a table for each level of the original: a row for each field, with the function that takes it over, or
 * with the words for what is lost. A field without a row is named too, so nothing is ever dropped in silence.
 */
#ifndef CONVERT_CONVERT_INTERNAL_H
#define CONVERT_CONVERT_INTERNAL_H

#include "convert/convert.h"

enum { BACKOFF_LIMIT = 6 }; /* what Kubernetes takes for backoffLimit */

struct conversion {
    struct arena *arena;
    struct problems *problems;
    struct json *job, *spec, *tasks; /* of the result */
    int64_t retries;                 /* what the original allows; -1: it does not say */
};

struct part { /* one task in the making, and where it comes from */
    struct conversion *all;
    struct json *task, *pod; /* pod: the spec of its template */
    int64_t replicas;
};

struct row {
    const char *field;
    /* Takes it over. NULL: see 'lost'; without that it is known to mean nothing here. 'to' is what the table is for. */
    void (*take)(void *to, const struct place *at);
    const char *lost;
};

/* Each row whose field is there, in the order of the table; then what has no row is named. */
void convert_rows(struct conversion *c, const struct place *at, const struct row *rows, size_t n, void *to);

/* A new task of that name with the pod template 'at'. Without containers it is an error. */
struct part convert_task(struct conversion *c, struct str name, const struct place *template);
void part_replicas(struct part *p, int64_t n);

/* On an event or an exit code of a task, or of the whole job. */
void part_policy(struct part *p, const char *event, int64_t exit_code, const char *action);
void convert_policy(struct conversion *c, const char *event, const char *action);

/* An environment variable in every container that has none of that name. */
void part_env(struct part *p, const char *name, struct json *source_or_value);

/* A plugin and its arguments: the list to push them to. */
struct json *convert_plugin(struct conversion *c, const char *name);
void convert_argument(struct conversion *c, struct json *arguments, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* What a failed pod leads to, and how often: 'action' while there are retries, else the end of the job. */
void part_on_failure(struct part *p, const char *action);

/* No container is restarted in place: that fails no pod, so no limit would ever count it. A pod that fails is replaced
 * instead. 'restart': what the original says; a warning where that was OnFailure. */
void part_never_in_place(struct part *p, const struct place *restart);

void take_ttl(void *conversion, const struct place *at);
void take_suspend(void *conversion, const struct place *at);

/* ---- the kinds ---- */

void convert_batch_job(struct conversion *c, const struct place *root);
void convert_jobset(struct conversion *c, const struct place *root);
void convert_pytorch(struct conversion *c, const struct place *root);
void convert_mpi(struct conversion *c, const struct place *root);

/* The spec of a batch Job as one task. A JobSet has several such Jobs, and other defaults for them. */
struct batch_defaults {
    int64_t times;       /* so many Jobs of it */
    const char *restart; /* restartPolicy; NULL: it must be given, as Kubernetes asks */
    bool is_indexed;     /* completionMode */
};
struct part convert_batch_spec(struct conversion *c, struct str name, const struct place *spec,
                               const struct batch_defaults *defaults);

#endif
