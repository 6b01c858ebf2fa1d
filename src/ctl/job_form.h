/* job_form.h - a Job of one task, from what a command line says about it */
#ifndef CTL_JOB_FORM_H
#define CTL_JOB_FORM_H

#include "base/vec.h"
#include "json/json.h"

struct job_form { /* empty, NULL, 0: not given */
    struct str name, namespace, image, scheduler, queue, priority_class;
    struct str task; /* its name; empty: the server gives it one */
    int64_t replicas, min_available;
    int64_t max_retry; /* below 0: not given */
    struct json *requests, *limits;
    struct json *command, *args; /* lists of text */
    struct json *env;            /* a list of EnvVars */
    struct json *labels, *annotations;
    struct json *volumes, *mounts;
    struct json *node_selector;
    struct json *policies, *plugins;
    struct str working_dir;
    int64_t deadline_s; /* activeDeadlineSeconds of its pods; 0: none */
};

struct json *job_form_make(struct arena *a, const struct job_form *form);

/* "cpu=1,memory=1Gi" as a list of resources; NULL of an empty one. Errors are those of Volcano's tools. */
int job_amounts(struct arena *a, struct str text, struct json **ret, struct err *e);

/* A command line as words: blanks part them, '…', "…" and \ keep them together, # begins a comment. No shell. */
int job_words(struct arena *a, struct str line, struct json **ret, struct err *e);

#endif
