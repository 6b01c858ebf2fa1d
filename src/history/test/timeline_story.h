/* timeline_story.h - histories of clusters told by hand, for tests */
#ifndef HISTORY_TEST_TIMELINE_STORY_H
#define HISTORY_TEST_TIMELINE_STORY_H

#include "history/timeline.h"
#include "yaml/yaml.h"

enum { STORY_BEGIN_S = 1772355600 }; /* 2026-03-01T09:00:00Z */

struct story {
    struct history *h;
    struct arena arena;
    uint64_t rev;
};

static inline void story_begin(struct story *s)
{
    *s = (struct story){ .h = history_new(&(struct history_options){ .begin_ms = STORY_BEGIN_S * INT64_C(1000),
                                                                     .is_cluster = true }) };
}

static inline void story_done(struct story *s)
{
    history_free(s->h);
    arena_done(&s->arena);
}

/* An object as YAML, seen 'at_s' seconds after the beginning. */
static inline void story_tell(struct story *s, int64_t at_s, bool is_gone, const char *text)
{
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };
    struct object *o;
    const struct resource_type *type;

    if (yaml_parse(&s->arena, arena_str(&s->arena, str_of(text)), NULL, &docs, &e) < 0 || docs.n != 1)
        fail_msg("the test's own YAML: %s\n%s", e.text, text);
    type = type_by_kind(json_member_text(docs.v[0], "apiVersion"), json_member_text(docs.v[0], "kind"));
    if (!type)
        fail_msg("the test's own object has an unknown kind:\n%s", text);
    o = object_make(type, docs.v[0], ++s->rev);
    history_changed(s->h, o, is_gone, s->h->begin_ms + at_s * 1000);
    object_unref(o);
}

static inline void story_node(struct story *s, const char *name, int cpu)
{
    struct str text = arena_fmt(&s->arena,
                                "{apiVersion: v1, kind: Node, metadata: {name: %s, uid: n-%s},"
                                " status: {allocatable: {cpu: %d, memory: 32Gi, pods: 110}}}",
                                name, name, cpu);

    story_tell(s, 0, false, text.p);
}

static inline void story_queue(struct story *s, const char *name)
{
    struct str text = arena_fmt(&s->arena,
                                "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue,"
                                " metadata: {name: %s, uid: q-%s}, spec: {weight: 1}}",
                                name, name);

    story_tell(s, 0, false, text.p);
}

/* A job of one task "main" in this phase ("": new). */
static inline void story_job(struct story *s, int64_t at_s, const char *name, const char *queue, int pods,
                             const char *phase)
{
    struct str text = arena_fmt(&s->arena,
                                "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job,"
                                " metadata: {name: '%s', namespace: default, uid: 'j-%s'},"
                                " spec: {queue: %s, minAvailable: %d, tasks: [{name: main, replicas: %d}]},"
                                " status: {state: {phase: '%s'}}}",
                                name, name, queue, pods, pods, phase);

    story_tell(s, at_s, false, text.p);
}

static inline void story_group(struct story *s, int64_t at_s, const char *job, const char *queue, const char *phase,
                               const char *why)
{
    struct str text = arena_fmt(&s->arena,
                                "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup,"
                                " metadata: {name: 'g-%s', namespace: default, uid: 'g-%s', ownerReferences:"
                                " [{kind: Job, name: '%s', uid: 'j-%s', controller: true}]},"
                                " spec: {queue: %s}, status: {phase: '%s', conditions: [{type: Unschedulable, status:"
                                " '%s', reason: NotEnoughResources, message: '%s'}]}}",
                                job, job, job, job, queue, phase, why[0] ? "True" : "False", why);

    story_tell(s, at_s, false, text.p);
}

/* Pod 'i' of a job: 2 cpu, on a node ("": none) in this phase. */
static inline void story_pod(struct story *s, int64_t at_s, const char *job, int i, const char *node, const char *phase,
                             bool is_gone)
{
    struct str text = arena_fmt(
        &s->arena,
        "{apiVersion: v1, kind: Pod, metadata: {name: '%s-main-%d', namespace: default,"
        " uid: 'p-%s-%d', annotations: {scheduling.k8s.io/group-name: 'g-%s',"
        " volcano.sh/task-spec: main, volcano.sh/job-name: '%s'}, ownerReferences: [{kind: Job, uid: 'j-%s',"
        " controller: true}]},"
        " spec: {nodeName: '%s', containers: [{name: c, resources: {requests: {cpu: 2,"
        " memory: 1Gi}}}]}, status: {phase: '%s'}}",
        job, i, job, i, job, job, job, node, phase);

    story_tell(s, at_s, is_gone, text.p);
}

/* A job that waits from 0 to 'start_s' (when that is above 0) and runs to 'end_s' with one pod on node n1. */
static inline void story_life(struct story *s, const char *name, const char *queue, int64_t start_s, int64_t end_s)
{
    story_job(s, 0, name, queue, 1, "");
    if (start_s > 0)
        story_group(s, 0, name, queue, "Pending", "0/1 nodes are unavailable");
    story_group(s, start_s, name, queue, "Inqueue", "");
    story_pod(s, start_s, name, 0, "n1", "Pending", false);
    story_pod(s, start_s, name, 0, "n1", "Running", false);
    story_job(s, start_s, name, queue, 1, "Running");
    story_pod(s, end_s, name, 0, "n1", "Succeeded", false);
    story_job(s, end_s, name, queue, 1, "Completed");
}

#endif
