/* written.h - what pods wrote that goes with them: counted, told in one line, copied out by --keep */
#ifndef PROGRAM_RUN_WRITTEN_H
#define PROGRAM_RUN_WRITTEN_H

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

struct agent_written;
struct run;
struct run_options;

struct run_written { /* as much of it as was looked at */
    struct arena arena;
    int64_t files, bytes, n_pods;
    bool is_more;     /* than these */
    size_t n_looked;  /* entries, of all pods: counting must not cost much */
    struct map pods;  /* by uid */
    struct map dirs;  /* struct run_written_dir by path */
    const char *keep; /* --keep; NULL: not */
    int keep_fd;      /* -1: none */
    bool is_over;     /* nothing more is taken */
    VEC(struct run_kept *) kept;
    struct map places;  /* made below 'keep': by pod, container and start */
    size_t n_renamed;   /* whose name was taken */
    struct str renamed; /* the first of them: "worker-0.2" */
    struct run_copied {
        int64_t files, bytes, left_out, not_copied;
        int first_errno;
        struct str first; /* "worker-0:/root/out" */
        bool is_ended;
    } copied;
};

int run_written_open(struct run_written *w, const struct run_options *o, struct err *e); /* --keep: the directory */
void run_written_done(struct run_written *w);

/* For agent_hooks.written. */
bool run_written_take(struct run *r, const struct agent_written *w);
/* Claims that go with the run, in the directory of the run; then all that is kept is copied. */
void run_written_end(struct run *r, const char *run_dir);
/* A sentence, or nothing; -o json: an event. */
void run_written_tell(struct run *r);

#endif
