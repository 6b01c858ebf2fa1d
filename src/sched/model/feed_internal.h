/* feed_internal.h - one decoder per kind, and what they share */
#ifndef SCHED_MODEL_FEED_INTERNAL_H
#define SCHED_MODEL_FEED_INTERNAL_H

#include "sched/model/feed.h"
#include "sched/model/tree.h"

/* ---- reading ---- m->scratch_arena lives until the end of the event ---- */

struct head { /* metadata */
    const struct json *meta;
    struct str namespace, name, uid;
    uint64_t rev; /* 0: it says none */
};

bool head_read(const struct json *root, struct head *ret); /* false: it has no name */
bool is_old_news(uint64_t rev, uint64_t known);

struct str key_of(struct sched_model *m, struct str namespace, struct str name); /* "namespace/name" */
struct str annotation_of(const struct json *meta, const char *key);              /* annotation, else label */
bool truth_of(struct str text, bool if_empty); /* as Go reads it; what is neither is false */
int64_t time_of(const struct json *text);      /* 0: none */
int64_t duration_of(struct str text);          /* ms; 0: none, or not positive */
int64_t number_of(const struct json *j, int64_t low, int64_t high, int64_t fallback); /* cut to the range */
int32_t int32_of(int64_t v);

/* "key=value" lines sorted by key, each ended by a newline. */
struct str labels_text(struct arena *a, const struct json *labels);

/* ---- one per kind ---- */

void node_put(struct sched_model *m, const struct json *root);
void node_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid);
void pod_put(struct sched_model *m, const struct json *root);
void pod_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid);
void group_put(struct sched_model *m, const struct json *root);
void group_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid);
void job_put(struct sched_model *m, const struct json *root);
void job_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid);
void queue_put(struct sched_model *m, const struct json *root);
void queue_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid);
void priority_put(struct sched_model *m, const struct json *root);
void priority_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid);
void budget_put(struct sched_model *m, const struct json *root);
void budget_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid);
void namespace_put(struct sched_model *m, const struct json *root);
void namespace_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid);

/* ---- priorities ---- */

/* Of a pod, a role, a group: true if it changed. */
bool pod_set_priority(const struct sched_model *m, struct sched_pod *p);
bool role_set_priority(const struct sched_model *m, struct sched_role *r);
bool group_set_priority(const struct sched_model *m, struct sched_group *g);

#endif
