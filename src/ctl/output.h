/* output.h - objects as -o asks for them
 *
 *     (none), wide                       a table of columns
 *     json, yaml                         the objects; several as one List, so that they can be applied again
 *     name                               "job.batch.volcano.sh/train", a line each
 *     custom-columns=NAME:PATH,…         a table of paths: .metadata.name, .status.conditions[0].status, .spec.tasks[*].name
 *
 * --sort-by PATH orders them, --no-headers leaves the first line of a table out.
 */
#ifndef CTL_OUTPUT_H
#define CTL_OUTPUT_H

#include "ctl/verb.h"

struct output_column {
    const char *head; /* "PHASE" */
    bool is_wide;
    struct str (*cell)(struct ctl_verb *v, const struct json *object, const void *ctx);
};

struct output_columns {
    const struct output_column *v; /* the last one has no head */
    const void *ctx;               /* for the cells */
};

/* Print the objects as -o asks for. 'is_one': one object was asked for by name, so it is not printed as a List.
 * 'columns' are those of the table; NULL: there is no table, so only with another -o. */
int output_objects(struct ctl_verb *v, const struct ctl_objects *list, bool is_one,
                   const struct output_columns *columns, struct err *e);

/* Print it; with --watch its columns are as wide as those that were printed before. */
struct table;
void output_table(struct ctl_verb *v, struct table *t);

/* Is there a table to be made? Then more may have to be read for it. */
bool output_is_table(const struct ctl_verb *v);
bool output_is_wide(const struct ctl_verb *v);

/* What a path of custom columns finds, several joined by ','; "<none>" where there is nothing. ERR_SYNTAX: no path. */
int output_path(struct arena *a, const struct json *object, struct str path, struct str *ret, struct err *e);

/* Resources as "cpu=4,memory=8Gi"; empty: none. */
struct str output_amounts(struct arena *a, const struct json *map);

/* Cells that many have. */
struct str cell_namespace(struct ctl_verb *v, const struct json *object, const void *ctx);
struct str cell_name(struct ctl_verb *v, const struct json *object, const void *ctx);
struct str cell_since(struct ctl_verb *v, const struct json *object, const void *ctx);

#endif
