/* harness.h - a tiny cluster for the scheduler: objects in memory, decisions carried out at once, time that stands
 * still
 *
 *     struct h *h = h_new(NULL);
 *     h_node(h, "n1", "cpu: 4");
 *     h_group(h, "g", .min = 3);
 *     h_pods(h, "g", "w", 3, "cpu: 1");
 *     h_settle(h);
 *     assert_int_equal(h_bound(h, "g"), 3);
 *     h_free(h);
 *
 * Every decision of a round is applied to the objects and told back, as a driver would; sched_check() runs after every
 * round. Pods are called <group>-<role>-<index>. SCHED_TRACE=1 prints what is decided.
 */
#ifndef TESTS_SCHED_HARNESS_H
#define TESTS_SCHED_HARNESS_H

#include "base/map.h"
#include "base/vec.h"
#include "json/json.h"
#include "sched/sched.h"
#include "sched/test/check.h"

struct h_object {
    struct str kind, namespace, name, key;
    struct arena arena;
    struct json *root;
    bool is_gone;
    bool is_news; /* for on_change: the other scheduler does not know yet */
};

struct h_event {
    struct str kind, name, reason, message, type;
};

struct h_counts {
    uint32_t n[DECISION_KIND_MAX];
};

struct h {
    struct sched *s;
    struct sched_config config;
    struct arena arena;
    int64_t now_ms, wake_ms;
    uint64_t rev, made;
    struct map objects;          /* struct h_object by key, those that are there */
    VEC(struct h_object *) list; /* as they were made; some are gone */
    VEC(struct h_event) events;  /* all that were told */
    struct h_counts last, all;   /* decisions of the last round, of all */
    struct str fails;            /* writes of this kind to this object do not work: see h_fail() */
    enum decision_kind fails_kind;
    bool is_quick;  /* nothing is counted again after a round */
    bool is_silent; /* decisions are not applied */
    bool has_trace;
    struct buf story; /* the decisions of the last round as text, to compare */
    void (*on_decision)(struct h *h, const struct decision *d);       /* called before it is applied; may be NULL */
    void (*on_change)(struct h *h, struct h_object *o, bool is_gone); /* an object was told; may be NULL */
    void *ctx;
};

struct h *h_new(void (*configure)(struct sched_config *c)); /* queues root and default are there */
void h_free(struct h *h);
void h_restart(struct h *h); /* a new scheduler that is told everything */

/* ---- making ---- amounts: "cpu: 4, memory: 8Gi"; more: YAML merged into the object, NULL: nothing ---- */

struct h_object *h_put(struct h *h, const char *yaml); /* any object; put again replaces it */
void h_put_raw(struct h *h, const char *yaml);         /* anything; told and forgotten */
struct h_object *h_node(struct h *h, const char *name, const char *amounts);
struct h_object *h_node_more(struct h *h, const char *name, const char *amounts, const char *more);
struct h_object *h_queue(struct h *h, const char *name, const char *spec); /* "weight: 2, capability: {cpu: 4}" */
struct h_object *h_priority(struct h *h, const char *name, int value, const char *more);
struct h_object *h_budget(struct h *h, const char *name, const char *match_labels, int allowed);
struct h_object *h_hyper(struct h *h, const char *name, int tier, const char *type, const char *members);

struct h_group {
    int min;
    const char *queue, *priority;
    const char *roles; /* minTaskMember: "ps: 1, worker: 2" */
    const char *asks;  /* minResources */
    const char *phase; /* NULL: none */
    const char *more;
    const char *namespace;
};
struct h_object *h_group_new(struct h *h, const char *name, const struct h_group *g);
#define h_group(h, name, ...) h_group_new((h), (name), &(struct h_group){ __VA_ARGS__ })

/* Pods <group>-<role>-0 … of a group; role "" gives pods without role. More pods of a role go on counting. */
void h_pods(struct h *h, const char *group, const char *role, int n, const char *amounts);
void h_pods_more(struct h *h, const char *group, const char *role, int n, const char *amounts, const char *more);
/* 'n' groups of one pod each: <prefix><first> … */
void h_singles(struct h *h, const char *prefix, int first, int n, const char *queue, const char *amounts);
/* A pod of nobody, bound to 'node'. */
struct h_object *h_stranger(struct h *h, const char *namespace, const char *name, const char *node,
                            const char *amounts);

/* A Volcano Job of one task with its PodGroup, whose name is returned. Pods come with h_job_pods(). */
struct h_job {
    int min, replicas;
    const char *queue, *priority;
    const char *pod;  /* amounts of one pod */
    const char *more; /* merged into the Job */
    const char *group_more;
    const char *spec_more; /* merged into the pod spec: "nodeSelector: {a: b}" */
};
const char *h_job_new(struct h *h, const char *name, const struct h_job *j);
#define h_job(h, name, ...) h_job_new((h), (name), &(struct h_job){ __VA_ARGS__ })
void h_job_pods(struct h *h, const char *group, int n); /* as the job controller would make them */

/* ---- changing ---- */

struct h_object *h_get(struct h *h, const char *kind, const char *name); /* NULL: not there */
void h_change(struct h *h, struct h_object *o, const char *more);        /* merge and tell */
void h_tell(struct h *h, struct h_object *o);
void h_gone(struct h *h, struct h_object *o);
void h_delete(struct h *h, const char *kind, const char *name); /* at once */

void h_run(struct h *h); /* every bound pod runs */
void h_phase(struct h *h, const char *pod, const char *phase);
void h_phase_all(struct h *h, const char *group, const char *phase); /* pods of it that have a node */
void h_bind(struct h *h, const char *pod, const char *node);
void h_mark_deleted(struct h *h, const char *pod); /* deletionTimestamp */
int h_finish_deletes(struct h *h);                 /* pods with a deletionTimestamp go; how many */
void h_pass(struct h *h, int64_t ms);

/* ---- deciding ---- */

uint32_t h_round(struct h *h); /* decisions */
void h_settle(struct h *h);    /* rounds until nothing is decided; fails the test when it never ends */
void h_work(struct h *h, int64_t ms, int64_t step_ms);               /* time passes; bound pods run, deleted pods go */
void h_fail(struct h *h, enum decision_kind kind, const char *name); /* these writes fail; NULL: all work again */

/* One decision as a line of text, everything in it. */
void h_story(struct buf *out, const struct decision *d);

/* ---- looking ---- */

struct str h_text(const struct h_object *o, const char *path); /* a string member by dotted path, or empty */
int h_bound(struct h *h, const char *group);                   /* pods with a node, not finished, not being deleted */
int h_bound_role(struct h *h, const char *group, const char *role);
int h_bound_all(struct h *h, const char *prefix, int n); /* of the groups <prefix>0 … */
int h_waiting(struct h *h, const char *group);           /* pods without a node */
int h_going(struct h *h, const char *group);             /* with a deletionTimestamp */
struct str h_node_of(struct h *h, const char *pod);
struct str h_nominated(struct h *h, const char *pod);
struct str h_group_phase(struct h *h, const char *group);
struct json *h_condition(struct h *h, const char *kind, const char *name, const char *type);
struct str h_said(struct h *h, const char *kind, const char *name, const char *type); /* message of a True/False one */
int h_events(struct h *h, const char *kind, const char *name, const char *reason);    /* name NULL: any */

#define assert_text(got, want) h_assert_text((got), (want), __FILE__, __LINE__)
#define assert_has(got, part)  h_assert_has((got), (part), __FILE__, __LINE__)
void h_assert_text(struct str got, const char *want, const char *file, int line);
void h_assert_has(struct str got, const char *part, const char *file, int line);

#endif
