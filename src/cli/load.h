/* load.h - manifests from files, with all that is wrong with them
 *
 * Shared by every command that takes FILEs, in three steps: load_read() makes documents of files; the command changes
 * them; load_admit() gives them their defaults and checks them. Nothing is printed here; load_report() does that.
 */
#ifndef CLI_LOAD_H
#define CLI_LOAD_H

#include "api/types.h"
#include "base/map.h"
#include "cli/options.h"
#include "job/admit.h"

struct loaded { /* one document */
    const char *file;
    struct json *root;
    const struct resource_type *type; /* NULL: a kind we do not know */
    struct problems problems;
    struct job job; /* a Volcano Job, admitted; else zero */
    struct plugin_set *set;
    const struct loaded *from; /* a Job that no file holds: the JobTemplate or CronJob it is made from; else NULL */
    bool is_of_flow;           /* a JobFlow makes it, in its time */
};

struct load_failure {
    const char *file;
    struct problem what;
};

struct load {
    struct arena *arena;
    const char *namespace;    /* for objects without one; NULL: "default" */
    bool is_strict;           /* duplicate keys are errors, and so is every other warning */
    bool fills_uid;           /* give Jobs without uid one that is made from their name */
    const struct load *state; /* objects that already exist, or NULL: an empty cluster */
    bool has_set; /* --set: what has no place in a file was typed just now, and a field that is not known is an error */
    VEC(struct loaded *) docs;
    VEC(struct load_failure) failures; /* files that could not be read at all */
    struct map index;                  /* the documents by kind, namespace and name */
};

void load_done(struct load *l);
#define autoload __attribute__((cleanup(load_done))) struct load

/* ---- read ---- */

/* All files ("-": standard input; a directory: its *.yaml, *.yml and *.json, by name). */
void load_read(struct load *l, const struct text_list *files);

/* ---- change ---- not where there are 'failures', which is all that is reported then */

/* Another document, as if a file had held it. */
struct loaded *load_add(struct load *l, const char *origin, struct json *object);

/* Add the Jobs of JobFlows (named as the controller names them, patched) and of CronJobs (by its name, once), for those
 * who want to know of them beforehand. A template that is not in the files is an error of its flow. */
void load_expand(struct load *l);

/* Give objects with a generateName a name: the prefix and five digits. */
void load_fill_names(struct load *l);

/* ---- admit ---- */

/* Defaults and checks, by the rules of admission. */
void load_admit(struct load *l);

/* ---- a cluster's state ---- instead of the three steps */

/* The objects of --state. They are taken as they are, except that Jobs get their defaults: the file may be the one that
 * was once submitted. */
void load_state(struct load *l, const struct text_list *files);

/* The same with objects that came from elsewhere: 'origin' is what messages call it. Once for each load. */
void load_objects(struct load *l, const char *origin, struct json *const *objects, size_t n);

/* ---- the documents ---- */

/* Is an object of the same kind and name among the documents? */
bool load_has(const struct load *l, const struct loaded *doc);

/* The object of that kind and name among the documents, or NULL. */
struct json *load_find(const struct load *l, const char *kind, struct str namespace, struct str name);

/* Print every problem to standard error, in the order of the files: "job.yaml:12:3: error: spec.queue: …". Returns the
 * number of errors (warnings too when strict). */
size_t load_report(const struct load *l);

/* How messages name a file: "standard input" for "-". */
struct str load_file_name(const char *file);

size_t load_count_jobs(const struct load *l);

/* A uid that is made from the name of an object: the same name, the same uid. */
struct str load_uid(const struct load *l, const struct json *root);

#endif
