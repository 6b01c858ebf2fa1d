/* advice_internal.h - shared by the files that make advice
 *
 * A world is an immutable list of objects; a change makes a new list that shares the other objects. A trial loads a
 * world into a future, runs it without letting time pass, and reports whether the job is placed.
 */
#ifndef WHATIF_ADVICE_INTERNAL_H
#define WHATIF_ADVICE_INTERNAL_H

#include "api/job.h"
#include "whatif/advice.h"
#include "whatif/future.h"

struct world {
    VEC(const struct json *) list;
};

struct advice_verdict {
    bool starts;
    bool has_group;
    struct why why;
    struct str resource; /* the name of why.dim */
    VEC(struct advice_victim) evicts;
};

/* The cluster, left alone until it is at rest; what a change is tried on. */
struct placed {
    struct str namespace, name, uid, owner;
};
struct at_rest {
    struct future *future; /* NULL: to be made */
    struct arena arena;
    VEC(struct placed) placed; /* pods that have a place */
};

struct advising {
    struct arena *a;
    const struct advice_input *in;
    struct advice *out;
    struct world world;         /* the state */
    struct arena scratch;       /* of one trial */
    struct str namespace, name; /* of the Job, or of the bare PodGroup */
    const struct json *root;    /* the Job, or the PodGroup */
    bool is_job;
    bool is_new; /* never submitted: it may be changed in any way, in its file */
    struct job job;
    unsigned trials, max_trials;
    size_t notes; /* also those that are not shown */
    size_t max_suggestions;
    /* A change without which nothing helps (the queue does not exist, or is closed): part of every suggestion. */
    struct suggestion *prefix;
    struct advice_verdict now; /* with the prefix applied */
    struct at_rest rest;
};

/* ---- advice_world.c ---- */

/* The objects of the input. A Job that was submitted without its PodGroup being among them gets one of its age: its
 * place in line depends on that. */
void world_begin(struct advising *v);

void world_add(struct advising *v, struct world *w, const struct json *object);
const struct json *world_find(const struct world *w, const char *kind, struct str namespace, struct str name);
/* Is the object deleted with this Job? */
bool belongs_to_job(const struct json *object, struct str namespace, struct str job);
bool is_kind(const struct json *object, const char *kind); /* our Job, not batch/v1's */
struct str namespace_of(const struct json *object);        /* "default" where it has none */
bool is_pod_of_group(const struct json *pod, struct str namespace, struct str group);
struct str owner_job(const struct json *group); /* name of the Volcano Job that owns it; empty: none */
struct str full_name(struct arena *a, struct str namespace, struct str name);

/* The state with the prefix and the edits applied; lives until the next trial. -1: one of them makes no sense. */
int world_edit(struct advising *v, const struct suggestion *s, struct world *ret);

/* Copies: with a field changed (NULL: the path makes no sense); as a user's file has it, without what a server wrote;
 * another node of its kind. */
struct json *edit_object(struct arena *a, const struct json *object, const struct advice_edit *e);
struct json *as_submitted(struct arena *a, const struct json *object);
struct json *node_like(struct arena *a, const struct json *like, int64_t number);

/* ---- advice_live.c ---- */

/* Make the prefix' changes and those of 's' in a cluster that runs, as kubectl would. -1: one of them was refused. */
int live_edit(struct advising *v, struct future *f, const struct suggestion *s);

/* ---- advice_trial.c ---- */

/* Does the job start? Counts as one trial. 'if_not' (may be NULL) looks at the cluster when it does not. */
bool trial_run(struct advising *v, const struct world *w, struct advice_verdict *ret,
               void (*if_not)(struct advising *v, struct future *f));

/* With the prefix' edits first, then those of 's'. Fills s->evicts when it works. false also when no trial is left. */
bool trial_suggestion(struct advising *v, struct suggestion *s, struct advice_verdict *ret);
void trial_change(struct advising *v, struct suggestion *s, struct advice_verdict *ret); /* spoils v->rest */
void rest_done(struct advising *v);

/* advice_fork.c: trial_change() in a child process. false: there is none to be had. */
bool trial_in_child(struct advising *v, struct suggestion *s, struct advice_verdict *ret);

struct future *world_future(struct advising *v, const struct world *w, const struct future_options *opt);

/* The group of the job in a future. */
bool job_group(struct advising *v, struct future *f, struct sched_group_view *ret);

/* What it is called: the Job that owns the group, else the group. */
struct str group_title(struct arena *a, const struct sched_group_view *g);

void resources_of(struct advising *v, const struct dims *d, const struct amounts *have, const struct amounts *only,
                  struct resources *ret);

/* ---- advice_look.c ---- */

void note(struct advising *v, struct str text); /* a sentence for the reader */
void look_at_tasks(struct advising *v);         /* those of the Job */
void look_at_group(struct advising *v, struct future *f, const struct sched_group_view *g); /* all the rest */

/* Users know jobs, not the names of their groups: why->other becomes the name of the Job. */
void name_other(struct arena *a, struct future *f, struct why *why);

/* ---- advice_search.c ---- */

struct search {
    struct advising *v;
    void (*build)(struct advising *v, const void *ctx, int64_t n, struct suggestion *ret); /* the change to 'n' */
    const void *ctx;
    int64_t hint; /* search_largest() tries it first; outside of the range: no hint */
};

/* The largest n in low … high that works; false: not even 'low' does. It is taken for granted that with n everything
 * smaller works too; that n works was tried, and that n + 1 does not. */
bool search_largest(const struct search *q, int64_t low, int64_t high, struct suggestion *ret, int64_t *ret_n);
/* The smallest, if 'high' works; the same the other way round. */
bool search_smallest(const struct search *q, int64_t low, int64_t high, struct suggestion *ret, int64_t *ret_n);

/* "a~1b" */
struct str pointer_part(struct arena *a, struct str key);
struct str quantity_text(struct arena *a, struct quantity q);
struct str scalar_text(const struct json *j); /* of a string or a number: quantities are written as both */

/* ---- suggestions ---- each adds to 's->edits'; text is built by the caller ---- */

void edit_add(struct advising *v, struct suggestion *s, struct advice_edit e);
void edit_set(struct advising *v, struct suggestion *s, const struct json *object, struct str path,
              const struct json *value);
void edit_job(struct advising *v, struct suggestion *s, struct str path, const struct json *value); /* NULL: unset */

/* Keep a suggestion that was found to work. */
void suggest_keep(struct advising *v, struct suggestion *s);

void advise_queue_first(struct advising *v); /* missing or closed: sets the prefix where it is not enough */
void advise_places(struct advising *v);      /* cordons, taints, selectors, affinity, topology */
void advise_size(struct advising *v);        /* minAvailable, replicas */
void advise_queue(struct advising *v);       /* another queue */
void advise_requests(struct advising *v);
void advise_rules(struct advising *v); /* dequeueStrategy, capability, weight */
void advise_priority(struct advising *v);
void advise_free(struct advising *v);
void advise_nodes(struct advising *v);

void advice_estimate(struct advising *v);

/* advice_place.c: why a node takes no pod with this spec whatever is free on it; empty: it may. */
struct str node_refuses(struct arena *a, const struct json *node, const struct json *pod_spec);

/* advice_how.c: the command lines for the edits. */
void suggestion_how(struct advising *v, struct suggestion *s);

#endif
