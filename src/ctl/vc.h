/* vc.h - Volcano's own command lines: vcctl, vsub, vjobs, vqueues, vcancel, vsuspend, vresume
 *
 * When the program is called by one of these names, it has the flags, texts and exit statuses of that tool, so existing
 * scripts work. Errors go to standard output with exit status 255; wrong use goes to standard error with 1.
 * Improvements go into the other commands of this program, not here.
 *
 *     vc_tree.c     the commands and their flags: tables
 *     vc_parse.c    a command line by those tables
 *     vc_help.c     usage texts by those tables
 *     vc_main.c     which tool, which command; how it ends
 *     vc_*.c        what the commands do
 */
#ifndef CTL_VC_H
#define CTL_VC_H

#include "base/buf.h"
#include "ctl/ctl.h"

/* Run the tool that 'argv[0]' names. -1: it names none, and nothing was done; else the exit status. */
int vc_main(int argc, char **argv);

/* ---- tables ---- */

struct vc_values { /* of all flags of all commands */
    const char *master, *kubeconfig, *namespace, *name;
    const char *image, *requests, *limits, *scheduler, *filename, *command; /* of a job to be */
    int64_t min, replicas;
    const char *queue, *job, *selector;
    bool all_namespaces;
    int64_t weight;
    const char *state, *action;
    const char *file, *format;
    bool help;
    const char *verbosity, *vmodule, *flush; /* taken, and nothing is logged */
};

enum vc_kind { VC_STRING, VC_INT, VC_INT32, VC_BOOL, VC_LEVEL, VC_MODULES, VC_DURATION, VC_KIND_MAX };
extern const char *const vc_kind_names[VC_KIND_MAX]; /* as usage texts have them; "" for what takes no value */

struct vc_flag {
    char letter; /* 0: none */
    const char *name;
    enum vc_kind kind;
    uint32_t offset;      /* into struct vc_values */
    const char *fallback; /* its value where it is not given; NULL: empty, 0, false */
    const char *usage;
};

struct vc;
struct vc_command {
    const char *name;
    const char *summary, *about; /* 'about' NULL: as the summary; both NULL: none */
    const char *example;
    const struct vc_flag *flags; /* sorted by name, ended by one without; without "help" */
    int (*run)(struct vc *v, struct err *e);
    const struct vc_command *const *subs; /* as they are suggested; ended by NULL. NULL: none */
};

extern const struct vc_command *const vc_tools[]; /* ended by NULL */
extern const struct vc_flag vc_global_flags[];    /* ended by one without name */

/* ---- a command line ---- */

struct vc_line {
    const struct vc_command *path[3]; /* the tool, and down to the command */
    size_t depth;
    struct vc_values values;
    const char *first_argument; /* NULL: none */
};

/* Parse the command and its flags. -1: 'wrong' says why. */
int vc_parse(struct arena *a, const struct vc_command *tool, char **words, struct vc_line *ret, struct buf *wrong);

/* ---- usage texts ---- */

void vc_help(struct buf *out, const struct vc_line *line);  /* with what it is about */
void vc_usage(struct buf *out, const struct vc_line *line); /* without */
/* … of a tool, when help was asked for a command that is none: there it does not list --help. */
void vc_usage_without_help(struct buf *out, const struct vc_command *tool);

/* ---- what the commands share ---- */

struct vc { /* one command that runs */
    struct ctl ctl;
    struct arena *arena;
    const struct vc_values *values;
    struct buf out;     /* standard output */
    struct str printed; /* an error that does not fit one */
};

/* The namespace of a list: empty with --all-namespaces. */
struct str vc_namespace(const struct vc *v);

/* Columns: "%-*s" each, as wide as the widest of: 'width', the header and 'head_gap', the longest cell and
 * 'cell_gap'. */
struct vc_column {
    const char *head;
    size_t width, head_gap, cell_gap;
};
void vc_table(struct vc *v, const struct vc_column *columns, size_t n, const struct str *cells, size_t n_cells);

/* Text cells that need some making. */
struct str vc_number(struct vc *v, const struct json *j); /* 0 where there is none */
struct str vc_time(struct vc *v, struct str rfc3339);     /* "2026-03-01 09:30:00 +0000 UTC", of this machine's zone */

int vc_none(struct vc *v); /* "No resources found" */

/* ---- the commands ---- */

int vc_job_run(struct vc *v, struct err *e);
int vc_job_list(struct vc *v, struct err *e);
int vc_job_view(struct vc *v, struct err *e);
int vc_job_suspend(struct vc *v, struct err *e);
int vc_job_resume(struct vc *v, struct err *e);
int vc_job_delete(struct vc *v, struct err *e);
int vc_queue_create(struct vc *v, struct err *e);
int vc_queue_delete(struct vc *v, struct err *e);
int vc_queue_operate(struct vc *v, struct err *e);
int vc_queue_list(struct vc *v, struct err *e);
int vc_queue_get(struct vc *v, struct err *e);
int vc_pod_list(struct vc *v, struct err *e);
int vc_template_create(struct vc *v, struct err *e);
int vc_template_delete(struct vc *v, struct err *e);
int vc_template_describe(struct vc *v, struct err *e);
int vc_template_get(struct vc *v, struct err *e);
int vc_template_list(struct vc *v, struct err *e);
int vc_flow_create(struct vc *v, struct err *e);
int vc_flow_delete(struct vc *v, struct err *e);
int vc_flow_describe(struct vc *v, struct err *e);
int vc_flow_get(struct vc *v, struct err *e);
int vc_flow_list(struct vc *v, struct err *e);
int vc_version(struct vc *v, struct err *e);
int vc_submit(struct vc *v, struct err *e);
int vc_jobs(struct vc *v, struct err *e);
int vc_queues(struct vc *v, struct err *e);
int vc_cancel(struct vc *v, struct err *e);

#endif
