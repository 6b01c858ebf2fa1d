/* verb.h - the commands `pumice job list`, `pumice queue get` …: their options, output and exit status
 *
 * A verb gets an open client (ctl.h), appends its output to 'out', and returns 0 or an error. ctl_run() prints 'out' on
 * standard output and the error on standard error ("pumice job list: …"), and maps the error to an exit status. Verbs
 * with continuous output, such as logs, print 'out' themselves.
 */
#ifndef CTL_VERB_H
#define CTL_VERB_H

#include "ctl/ctl.h"

struct ctl_words { /* in the form of the command line's own list */
    const char *const *v;
    size_t n;
};

struct slurm_options;
struct slurm_script;

struct ctl_options { /* of all verbs; NULL, false: not given */
    const char *kubeconfig, *context, *server;
    const char *namespace;
    bool all_namespaces;
    const char *labels, *output, *sort_by;
    bool no_headers;
    const char *dry_run; /* "client", "server" */
    bool wait;
    const char *timeout; /* "30s" */

    const char *queue, *job, *phase, *user; /* of lists */
    bool watch;
    const char *file, *name, *image, *requests, *limits; /* of a job to be */
    const char *replicas, *min, *scheduler, *priority_class;
    struct ctl_words env;
    const char *task, *container;                           /* which pods of a job */
    bool follow, previous, timestamps, prefix, stdin_, tty; /* logs and exec */
    const char *tail, *since;
    const char *condition;               /* of wait */
    const char *weight, *state, *parent; /* of queues */
    bool all;
    const struct slurm_options *slurm; /* of Slurm's commands (slurm.h) */
    const struct slurm_script *script;
};

struct ctl_verb {
    struct arena *arena;
    struct ctl ctl;
    const struct ctl_options *o;
    struct ctl_words args;
    const char *command; /* "job list" */
    struct buf out;
    bool is_harmless;  /* for a terminal, by term_stream(): carriage returns pass */
    size_t widths[16]; /* of the columns so far: rows that come later stand below the others */
    int status;        /* the exit status where no error says it: of a program that was run, of a job */
};

typedef int (*ctl_verb_f)(struct ctl_verb *v, struct err *e);

int ctl_run(struct arena *a, const char *command, const struct ctl_options *o, struct ctl_words args, ctl_verb_f verb);

/* ---- what verbs share ---- */

struct str verb_namespace(const struct ctl_verb *v); /* of the option, else of the context; empty with -A */
const char *verb_dry_note(const struct ctl_verb *v); /* " (dry run)" with --dry-run, else "" */
int verb_needs_names(const struct ctl_verb *v, const char *what, struct err *e); /* ERR_SYNTAX without any argument */
/* --timeout; -1 (for ever) without it. */
int verb_timeout(const struct ctl_verb *v, int64_t *ret_ms, struct err *e);
int verb_flush(struct ctl_verb *v, struct err *e); /* 'out' goes out now */

/* ---- lists that go on ---- */

struct verb_list {
    const struct resource_type *type;
    struct ctl_select which;
    bool (*wants)(const struct ctl_verb *v, const struct json *object); /* NULL: all */
    int (*show)(struct ctl_verb *v, const struct ctl_objects *list, bool is_one, struct err *e);
};
/* Print the named objects, or all that 'wants' accepts. With --watch, print each object again when it changes, until
 * interrupted. */
int verb_list(struct ctl_verb *v, const struct verb_list *l, struct err *e);

/* ---- waiting ---- */

struct verb_goal {
    struct ctl_name object;
    const char *const *states; /* wait for one of these; NULL: until it is deleted */
    struct str (*state)(const struct json *object);
    const char *word; /* in errors; NULL: the kind */
};
/* Wait until the goal is reached or --timeout has passed (ERR_GONE). '*ret_state' (may be NULL): the last state, or
 * "deleted". */
int verb_wait_for(struct ctl_verb *v, const struct verb_goal *goal, struct str *ret_state, struct err *e);
/* The same with --wait. Without it, and in dry runs, return at once and leave '*ret_state' unchanged. */
int verb_wait(struct ctl_verb *v, const struct verb_goal *goal, struct str *ret_state, struct err *e);

/* The YAML documents of -f FILE ("-": standard input). */
int verb_read(struct ctl_verb *v, const char *path, struct ctl_objects *ret, struct err *e);

/* ---- the verbs ---- */

int verb_job_list(struct ctl_verb *v, struct err *e);
int verb_job_view(struct ctl_verb *v, struct err *e);
int verb_job_run(struct ctl_verb *v, struct err *e);
int verb_job_suspend(struct ctl_verb *v, struct err *e);
int verb_job_resume(struct ctl_verb *v, struct err *e);
int verb_job_delete(struct ctl_verb *v, struct err *e);
int verb_job_logs(struct ctl_verb *v, struct err *e);
int verb_job_exec(struct ctl_verb *v, struct err *e);
int verb_job_wait(struct ctl_verb *v, struct err *e);
int verb_job_top(struct ctl_verb *v, struct err *e);
int verb_queue_list(struct ctl_verb *v, struct err *e);
int verb_queue_get(struct ctl_verb *v, struct err *e);
int verb_queue_create(struct ctl_verb *v, struct err *e);
int verb_queue_delete(struct ctl_verb *v, struct err *e);
int verb_queue_operate(struct ctl_verb *v, struct err *e);
int verb_pod_list(struct ctl_verb *v, struct err *e);
int verb_template_list(struct ctl_verb *v, struct err *e);
int verb_template_describe(struct ctl_verb *v, struct err *e); /* as YAML, unless -o says otherwise */
int verb_template_create(struct ctl_verb *v, struct err *e);
int verb_template_delete(struct ctl_verb *v, struct err *e);
int verb_flow_list(struct ctl_verb *v, struct err *e);
int verb_flow_describe(struct ctl_verb *v, struct err *e); /* the same */
int verb_flow_create(struct ctl_verb *v, struct err *e);
int verb_flow_delete(struct ctl_verb *v, struct err *e);

#endif
