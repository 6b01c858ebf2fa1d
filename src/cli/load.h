/* load.h - manifests from files: read, admitted, with all that is wrong with them
 *
 * Shared by every command that takes FILEs. Nothing is printed here; load_report() does that.
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
    bool expands;             /* add the Jobs that JobFlows and CronJobs stand for */
    bool fills_names;         /* give objects with a generateName a name: the prefix and five digits */
    bool fills_uid;           /* give Jobs without uid one that is made from their name */
    const struct load *state; /* objects that already exist, or NULL: an empty cluster */
    /* Called when all files could be read, before anything is admitted: to change the documents. NULL: as they are. */
    void (*change)(void *ctx, struct load *l);
    void *ctx;
    bool
        has_set; /* by 'change': what has no place in a file was typed just now, and a field that is not known is an error */
    VEC(struct loaded *) docs;
    VEC(struct load_failure) failures; /* files that could not be read at all */
    struct map index;                  /* the documents by kind, namespace and name */
};

void load_done(struct load *l);
#define autoload __attribute__((cleanup(load_done))) struct load

/* Read and admit all files ("-": standard input; a directory: its *.yaml, *.yml and *.json, by name). */
void load_files(struct load *l, const struct text_list *files);

/* Read only: for the objects of --state. They are taken as they are, except that Jobs get their defaults: the file may
 * be the one that was once submitted. */
void load_state(struct load *l, const struct text_list *files);

/* The same with objects that came from elsewhere: 'origin' is what messages call it. Once for each load. */
void load_objects(struct load *l, const char *origin, struct json *const *objects, size_t n);

/* Another document, as if a file had held it: before anything is admitted, in 'change'. */
struct loaded *load_add(struct load *l, const char *origin, struct json *object);

/* Add the Jobs of JobFlows (named as the controller names them, patched) and of CronJobs (by its name, once), for those
 * who want to know of them beforehand. A template that is not in the files is an error of its flow. */
void load_expand(struct load *l);

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
