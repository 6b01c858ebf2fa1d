/* slurm.h - Slurm's command lines on Volcano Jobs: sbatch, srun, squeue, scancel, sinfo, sacct, scontrol
 *
 * What becomes of what:
 *
 *     job           a Volcano Job with one task; its number is the label pumice.dev/slurm-job-id
 *     partition     a queue
 *     task          a pod (-n, or -N times --ntasks-per-node): all run together or none does, and each runs the script
 *     srun inside   runs its command in this pod: one copy for each task, as Slurm would
 *     array         a pod for each index; each may run by itself
 *     -c, --mem, --gres=gpu, --gpus …     what each pod requests
 *     -t            activeDeadlineSeconds, and timeout(1) around the script where there is one
 *     -d            submitted when it holds: sbatch waits for it
 *
 * Options without an equivalent are reported: one that would change the result is refused, any other is ignored with a
 * note.
 */
#ifndef CTL_SLURM_H
#define CTL_SLURM_H

#include "ctl/verb.h"

#define SLURM_LABEL_ID        "pumice.dev/slurm-job-id"
#define SLURM_ANNOTATION_USER "pumice.dev/slurm-user"
#define SLURM_ANNOTATION_HELD "pumice.dev/slurm-held" /* "true": aborted before it began, until it is released */

struct slurm_options { /* as given; NULL, false: not */
    const char *name, *partition, *nodes, *ntasks, *per_node, *cpus;
    const char *mem, *mem_per_cpu, *gres, *gpus, *gpus_per_node, *gpus_per_task;
    const char *time, *array, *dependency, *output, *error, *chdir, *export, *image, *wrap, *gpu_resource;
    bool parsable, wait, test_only, dry_run, requeue, no_requeue, pty;
    /* of the lists */
    const char *user, *states, *jobs, *names, *format;
    bool no_header, me, parsable2, all;
};

/* ---- values ---- pure ---- */

/* "90", "90:30", "1:30:00", "2-12", "2-12:30", "2-12:30:00" (minutes first), "UNLIMITED": 0. Seconds. */
int slurm_time(struct str text, int64_t *ret_s, struct err *e);
/* "4G", "500M", "1024" (MiB). Bytes. */
int slurm_memory(struct str text, int64_t *ret_bytes, struct err *e);
/* "gpu:2", "gpu:a100:2", "gpu"; other kinds are an error. */
int slurm_gres(struct str text, int64_t *ret_gpus, struct str *ret_kind, struct err *e);

struct slurm_array {
    VEC(int64_t) index;
    int64_t at_a_time; /* "%4"; 0: all */
};
/* "1-10:2,15,20-22%4" */
int slurm_array(struct arena *a, struct str text, struct slurm_array *ret, struct err *e);

struct slurm_dependency { /* one of those that all must hold */
    enum slurm_after { AFTER_BEGIN, AFTER_ANY, AFTER_OK, AFTER_NOT_OK } after;
    struct str job;
};
struct slurm_dependencies {
    VEC(struct slurm_dependency) v;
};
/* "afterok:12:13,afterany:14" */
int slurm_dependencies(struct arena *a, struct str text, struct slurm_dependencies *ret, struct err *e);

/* "7", "1:05", "2:03:04", "1-02:03:04": how long a job has run */
struct str slurm_elapsed(struct arena *a, int64_t s);

/* Phase to "PD", "R", "CG", …; and in full: "PENDING". */
const char *slurm_state(struct str phase);
const char *slurm_state_long(struct str phase);

/* ---- scripts ---- */

/* The words of its #SBATCH lines: those before the first command. NULL-terminated, in 'a'. Those of LSF's #BSUB lines
 * come behind them, as options of sbatch (lsf.c). */
char **slurm_directives(struct arena *a, struct str script, struct err *e);

/* "-J a[1-9] -n 4 -W 1:30", as #BSUB lines have it: "--job-name=a --array=1-9 --ntasks=4 --time=1:30:00". Unsupported
 * options are errors. */
int lsf_options(struct arena *a, char *const *from, char ***ret, struct err *e);

struct slurm_notes { /* what was not carried */
    VEC(struct str) v;
};

struct slurm_script {
    struct str text;       /* with "#!" */
    struct str base;       /* its file's name, for a job without one */
    struct ctl_words args; /* of the script */
    int64_t id;
    struct str user, host, directory; /* who submits, and where */
};

struct slurm_request {
    const struct slurm_options *options;
    const struct slurm_script *script;
    struct str namespace;
};

/* The Job for a request; 'notes' are about what was ignored. */
int slurm_job(struct arena *a, const struct slurm_request *rq, struct json **ret, struct slurm_notes *notes,
              struct err *e);

/* ---- the commands ---- 'v->o->slurm' has their options ---- */

int verb_sbatch(struct ctl_verb *v, struct err *e);
int verb_srun(struct ctl_verb *v, struct err *e);
int verb_squeue(struct ctl_verb *v, struct err *e);
int verb_scancel(struct ctl_verb *v, struct err *e);
int verb_sinfo(struct ctl_verb *v, struct err *e);
int verb_sacct(struct ctl_verb *v, struct err *e);
int verb_scontrol(struct ctl_verb *v, struct err *e);

/* Its number if it has one, else its name. */
struct str slurm_id(const struct json *job);
/* Its phase, and why it waits; one that is held is Pending. */
struct str slurm_phase(const struct json *job);
struct reasons;
struct str slurm_reason(const struct reasons *r, const struct json *job);
/* By number or by name. */
int slurm_find(struct ctl_verb *v, const char *id, struct json **ret, struct err *e);

/* A random job number, which is unlikely to be in use. Slurm counts its jobs; a cluster has no such counter. */
int64_t slurm_new_id(void);

/* "sbatch --dry-run" sends nothing, so it needs no server. Prints the Job as YAML. */
int slurm_print(struct arena *a, const struct slurm_request *rq, struct buf *out, struct err *e);

#endif
