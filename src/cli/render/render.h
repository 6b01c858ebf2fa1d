/* render.h - printing what jobs create, in one of several forms
 *
 * A form is a table of functions called in order of creation: begin, then for each job: job, object for everything
 * but pods, task before the pods of each task, pod, done; at last end. Everything is written as it comes, so a job of
 * 10,000 pods needs the memory of one.
 */
#ifndef CLI_RENDER_RENDER_H
#define CLI_RENDER_RENDER_H

#include "cli/load.h"

struct render {
    struct arena *arena; /* lives as long as the job being shown */
    const struct render_form *form;
    const struct loaded *doc; /* the job being shown */
    struct buf out;
    bool explains, shows_secrets, has_colour;
    bool is_native;               /* gangs of scheduling.k8s.io */
    const struct text_list *only; /* KIND or KIND/NAME; empty: all */
    size_t n_shown;
    /* what the forms count */
    size_t n_objects, n_pods, n_in_task;
    struct buf explanations; /* json form: what --explain found, by object */
    bool is_last_pod;        /* tree form: of its task */
    int failed_errno;        /* of writing to standard output */
};

struct render_form {
    const char *name;
    bool shows_always; /* the line of the job, whatever --only says */
    void (*begin)(struct render *r);
    void (*job)(struct render *r, struct json *job);
    void (*object)(struct render *r, struct json *object);
    void (*task)(struct render *r, const struct job_task *task);
    void (*pod)(struct render *r, struct json *pod, const struct job_task *task);
    void (*done)(struct render *r);
    void (*end)(struct render *r);
};

extern const struct render_form render_yaml, render_json, render_tree, render_summary;

/* Print everything the loaded Jobs create, in the form of that name (NULL: yaml). Returns the exit status. */
int render_loaded(struct arena *a, struct load *l, const char *form);

/* Is an object of this kind and name (STR_NULL: any) wanted by --only? */
bool render_wants(const struct render *r, struct str kind, struct str name);

/* Write out what is in r->out. */
void render_flush(struct render *r);

/* Who made this object: "svc", "job", … */
const char *render_writer(const struct json *object);

/* For --explain: leave a mark only where the writer changes from parent to child, so that each part is named once. */
void render_fold_marks(struct json *object);

#endif
