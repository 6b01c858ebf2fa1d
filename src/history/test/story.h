/* story.h - runs told by hand, for tests and for looking at */
#ifndef HISTORY_TEST_STORY_H
#define HISTORY_TEST_STORY_H

#include "base/util.h"
#include "history/history.h"
#include "yaml/yaml.h"

#define STORY_BEGIN_MS (1772355600 * INT64_C(1000)) /* 2026-03-01T09:00:00Z */

struct story {
    struct history *h;
    struct arena arena;
    uint64_t rev;
};

static inline void story_begin(struct story *s)
{
    *s = (struct story){ .h = history_new(&(struct history_options){ .begin_ms = STORY_BEGIN_MS }) };
}

static inline void story_done(struct story *s)
{
    history_free(s->h);
    arena_done(&s->arena);
}

static inline _Noreturn void story_stop(const char *why, struct str text)
{
    (void)fprintf(stderr, "the story's own YAML: %s\n%.*s\n", why, STR_ARG(text));
    abort();
}

/* An object as YAML, seen 'at_ms' after the beginning. */
static inline void story_tell(struct story *s, int64_t at_ms, bool is_gone, struct str text)
{
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };
    struct object *o;
    const struct resource_type *type;

    if (yaml_parse(&s->arena, text, NULL, &docs, &e) < 0 || docs.n != 1)
        story_stop(e.text, text);
    type = type_by_kind(json_member_text(docs.v[0], "apiVersion"), json_member_text(docs.v[0], "kind"));
    if (!type)
        story_stop("unknown kind", text);
    o = object_make(type, docs.v[0], ++s->rev);
    history_changed(s->h, o, is_gone, STORY_BEGIN_MS + at_ms);
    object_unref(o);
}

/* Job 'name': 'status' is what stands inside "status: {…}". */
static inline void story_job(struct story *s, int64_t at_ms, const char *name, const char *spec, const char *status)
{
    story_tell(s, at_ms, false,
               arena_fmt(&s->arena,
                         "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: %s, namespace: default,"
                         " uid: j-%s}, spec: {%s}, status: {%s}}",
                         name, name, spec, status));
}

static inline void story_group(struct story *s, int64_t at_ms, const char *job, int generation, const char *phase,
                               const char *why)
{
    story_tell(s, at_ms, false,
               arena_fmt(&s->arena,
                         "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: g-%s,"
                         " namespace: default, uid: g-%s-%d, ownerReferences: [{kind: Job, name: %s, uid: j-%s,"
                         " controller: true}]}, status: {phase: '%s', conditions: [{type: Unschedulable, status: '%s',"
                         " reason: NotEnoughResources, message: '%s'}]}}",
                         job, job, generation, job, job, phase, why[0] ? "True" : "False", why));
}

struct story_pod {
    const char *job, *task;
    int index, life; /* life: 0, 1 …: the pods of one name */
    const char *node, *phase, *more;
    /* more: further members of the status */
    bool is_ready, is_deleting;
    const char *restart_policy; /* NULL: Never */
};

static inline struct str story_uid(struct story *s, const struct story_pod *p)
{
    return arena_fmt(&s->arena, "p-%s-%s-%d-%d", p->job, p->task, p->index, p->life);
}

static inline void story_pod_tell(struct story *s, int64_t at_ms, const struct story_pod *p, bool is_gone)
{
    struct str uid = story_uid(s, p);

    story_tell(s, at_ms, is_gone,
               arena_fmt(&s->arena,
                         "{apiVersion: v1, kind: Pod, metadata: {name: %s-%s-%d, namespace: default, uid: %.*s,"
                         " annotations: {volcano.sh/task-spec: %s, volcano.sh/task-index: '%d'},%s"
                         " ownerReferences: [{kind: Job, name: %s, uid: j-%s, controller: true}]},"
                         " spec: {restartPolicy: %s, nodeName: '%s', containers: [{name: main}]},"
                         " status: {phase: '%s', conditions: [{type: Ready, status: '%s'}]%s%s}}",
                         p->job, p->task, p->index, STR_ARG(uid), p->task, p->index,
                         p->is_deleting ? " deletionTimestamp: '2026-03-01T09:00:00Z'," : "", p->job, p->job,
                         p->restart_policy ? p->restart_policy : "Never", p->node ? p->node : "",
                         p->phase ? p->phase : "Pending", p->is_ready ? "True" : "False", p->more ? ", " : "",
                         p->more ? p->more : ""));
}

/* The status of container "main": "running: {}", "terminated: {exitCode: 3}" … */
static inline const char *story_main(struct story *s, const char *state, int restarts)
{
    return arena_fmt(&s->arena, "containerStatuses: [{name: main, restartCount: %d, state: {%s}}]", restarts, state).p;
}

static inline void story_event(struct story *s, int64_t at_ms, const char *kind, const char *name, const char *uid,
                               const char *type, const char *reason, const char *message)
{
    story_tell(s, at_ms, false,
               arena_fmt(&s->arena,
                         "{apiVersion: v1, kind: Event, metadata: {name: %s.%s, namespace: default, uid: e-%s-%s},"
                         " type: %s, reason: %s, message: '%s', count: 1,"
                         " involvedObject: {kind: %s, name: %s, uid: %s}}",
                         name, reason, name, reason, type, reason, message, kind, name, uid));
}

static inline void story_line(struct story *s, const struct story_pod *p, struct str text)
{
    history_output(s->h, story_uid(s, p), STR("main"), text, false);
}

static inline void story_use(struct story *s, int64_t at_ms, const struct story_pod *p, int64_t cpu_ms, int64_t mib)
{
    struct history_sample now = { .at_ms = STORY_BEGIN_MS + at_ms, .cpu_us = cpu_ms * 1000, .memory_bytes = mib << 20 };

    history_usage(s->h, story_uid(s, p), now, (mib + 4) << 20);
}

/* ---- whole runs ---- */

#define STORY_SPEC                                                                                                     \
    "minAvailable: 3, maxRetry: 3, policies: [{event: PodEvicted, action: RestartJob}], tasks: ["                      \
    "{name: master, replicas: 1, policies: [{event: TaskCompleted, action: CompleteJob}]},"                            \
    " {name: worker, replicas: 2, policies: [{exitCode: 9, action: AbortJob}, {event: PodFailed, action: "             \
    "RestartJob}]}]"

static inline void story_start(struct story *s, int64_t at_ms, struct story_pod *p, int64_t start_ms)
{
    p->node = NULL;
    p->phase = "Pending";
    p->more = NULL;
    p->is_ready = p->is_deleting = false;
    story_pod_tell(s, at_ms, p, false);
    p->node = "here";
    story_pod_tell(s, at_ms + 12, p, false);
    p->more = "initContainerStatuses: [{name: keys, state: {running: {}}}]";
    story_pod_tell(s, at_ms + 12 + start_ms / 3, p, false);
    p->more = "initContainerStatuses: [{name: keys, state: {terminated: {exitCode: 0, reason: Completed}}}]";
    story_pod_tell(s, at_ms + 12 + start_ms / 3 * 2, p, false);
    p->phase = "Running";
    p->more = story_main(s, "running: {}", 0);
    story_pod_tell(s, at_ms + 12 + start_ms, p, false);
    p->is_ready = true;
    story_pod_tell(s, at_ms + 12 + start_ms + 160, p, false);
}

static inline void story_end(struct story *s, int64_t at_ms, struct story_pod *p, const char *phase, const char *ended)
{
    p->phase = phase;
    p->is_ready = false;
    p->more = story_main(s, arena_fmt(&s->arena, "terminated: {%s}", ended).p, 0);
    story_pod_tell(s, at_ms, p, false);
}

static inline void story_kill(struct story *s, int64_t at_ms, struct story_pod *p, int64_t takes_ms)
{
    p->is_deleting = true;
    story_pod_tell(s, at_ms, p, false);
    p->more = story_main(s, "terminated: {exitCode: 143, signal: 15, reason: Error}", 0);
    p->phase = "Failed";
    p->is_ready = false;
    story_pod_tell(s, at_ms + takes_ms, p, false);
    story_pod_tell(s, at_ms + takes_ms + 5, p, true);
}

/* A master and two workers. A worker fails, all start again; a worker's container starts again by itself; the master
 * succeeds, so the job is complete and the workers are killed. */
static inline void story_small(struct story *s)
{
    struct story_pod m = { "train", "master", 0, 0 }, w0 = { "train", "worker", 0, 0 },
                     w1 = { "train", "worker", 1, 0 };

    history_note(s->h, STR("image \"pytorch:2.1\": the host's files (give another with --image pytorch:2.1=DIR)"),
                 STORY_BEGIN_MS + 2);
    story_job(s, 0, "train", STORY_SPEC, "state: {phase: Pending}");
    story_group(s, 3, "train", 0, "Pending", "0/1 nodes are unavailable: 1 Insufficient cpu");
    story_group(s, 180, "train", 0, "Inqueue", "");
    story_start(s, 185, &m, 90);
    story_start(s, 186, &w0, 150);
    story_start(s, 186, &w1, 210);
    story_job(s, 410, "train", STORY_SPEC, "state: {phase: Running}");
    story_event(s, 600, "Pod", "train-worker-0", "p-train-worker-0-0", "Warning", "Unhealthy",
                "Readiness probe failed: dial tcp 10.7.0.3:2222: connect: connection refused");
    story_line(s, &w1, STR("rank 1 of 2: connecting to train-master-0.train:23456"));
    story_line(s, &w1, STR("\x1b[31mTraceback (most recent call last):\x1b[0m"));
    story_line(s, &w1, STR("  File \"/opt/train.py\", line 42, in <module>"));
    story_line(s, &w1, STR("step 10%\rstep 50%\rstep 90%"));
    story_line(s, &w1, STR("RuntimeError: <script>alert('no & \"never\"')</script> \xff\x01 bad gradient"));
    story_use(s, 1000, &w1, 700, 190);
    story_use(s, 1000, &w0, 750, 180);
    story_use(s, 1000, &m, 200, 90);
    story_use(s, 1500, &w1, 1100, 210);
    story_end(s, 1510, &w1, "Failed", "exitCode: 3, reason: Error, message: bad gradient");
    story_job(s, 1515, "train", STORY_SPEC,
              "state: {phase: Restarting, reason: RestartJob, message: 'PodFailed of train-worker-1 with exit code 3:"
              " RestartJob, retry 1 of 3'}, version: 1, retryCount: 1");
    story_kill(s, 1518, &m, 60);
    story_kill(s, 1519, &w0, 140);
    story_pod_tell(s, 1530, &w1, true);
    story_job(s, 1700, "train", STORY_SPEC, "state: {phase: Pending}, version: 1, retryCount: 1");
    m.life = w0.life = w1.life = 1;
    w0.restart_policy = "OnFailure";
    story_group(s, 1705, "train", 1, "Pending", "");
    story_group(s, 1740, "train", 1, "Inqueue", "");
    story_start(s, 1745, &m, 80);
    story_start(s, 1745, &w0, 120);
    story_start(s, 1746, &w1, 140);
    story_job(s, 1900, "train", STORY_SPEC, "state: {phase: Running}, version: 1, retryCount: 1");
    for (int i = 0; i < 10; i++) {
        story_use(s, 1800 + i * 240, &m, 60 * i + (i > 6 ? 90 * (i - 6) : 0), 80 + i * 3);
        story_use(s, 1800 + i * 240, &w0, 190 * i, 150 + i * 14);
        story_use(s, 1800 + i * 240, &w1, 200 * i - (i > 5 ? 90 * (i - 5) : 0), 150 + (i % 4) * 40);
    }
    story_line(s, &w0, STR("lost the connection, exit 1"));
    w0.is_ready = false;
    w0.more = "containerStatuses: [{name: main, restartCount: 0, state: {waiting: {reason: CrashLoopBackOff}},"
              " lastState: {terminated: {exitCode: 1, reason: Error}}}]";
    story_pod_tell(s, 2600, &w0, false);
    story_event(s, 2601, "Pod", "train-worker-0", "p-train-worker-0-1", "Warning", "BackOff",
                "Back-off restarting failed container main in pod train-worker-0");
    w0.more = story_main(s, "running: {}", 1);
    story_pod_tell(s, 2900, &w0, false);
    w0.is_ready = true;
    story_pod_tell(s, 3000, &w0, false);
    story_end(s, 4080, &m, "Succeeded", "exitCode: 0, reason: Completed");
    story_job(s, 4084, "train", STORY_SPEC,
              "state: {phase: Completing, reason: CompleteJob, message: 'TaskCompleted of task/master: CompleteJob'},"
              " version: 2, retryCount: 1");
    story_kill(s, 4090, &w0, 90);
    story_kill(s, 4090, &w1, 70);
    story_job(s, 4199, "train", STORY_SPEC,
              "state: {phase: Completed, reason: CompleteJob, message: 'TaskCompleted of task/master: CompleteJob'},"
              " version: 2, retryCount: 1");
    history_finish(s->h, STORY_BEGIN_MS + 4200);
}

static inline unsigned story_dice(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16 & 0x7fff;
}

static const char *const story_deaths[] = {
    "exitCode: 137, signal: 9, reason: OOMKilled", "exitCode: 139, signal: 11, reason: Error",
    "exitCode: 1, reason: Error", "exitCode: 128, reason: StartError, message: 'exec: \"trian\": not found'"
};

/* One job of 'n' pods that start in a row; one in twenty fails, and so does the job. */
static inline void story_many(struct story *s, int n)
{
    unsigned seed = 7;
    struct str spec = arena_fmt(
        &s->arena,
        "minAvailable: 1, maxRetry: 3, tasks: [{name: driver, replicas: 1}, {name: shard, replicas: "
        "%d, policies: [{event: PodFailed, action: RestartPod}]}]",
        n - 1);
    int retries = 0, failed = 0;
    int64_t end_ms = 0;

    story_job(s, 0, "bag", spec.p, "state: {phase: Pending}");
    story_group(s, 5, "bag", 0, "Inqueue", "");
    story_job(s, 400, "bag", spec.p, "state: {phase: Running}");
    for (int i = 0; i < n; i++) {
        struct story_pod p = { "bag", i ? "shard" : "driver", i ? i - 1 : 0, 0 };
        int64_t at_ms = 10 + i * 6000 / n, run_ms = i ? 800 + story_dice(&seed) % 3500 : 9500,
                load = story_dice(&seed) % 90;
        bool fails = i > 0 && i % 20 == 7;

        story_start(s, at_ms, &p, 60 + story_dice(&seed) % 120);
        for (int64_t ms = 300; ms < run_ms; ms += 500)
            story_use(s, at_ms + ms, &p, ms * (load + 10) / 100, 40 + (int64_t)story_dice(&seed) % 30 + ms / 100);
        if (fails) {
            story_line(s, &p, STR("no more input, and no way out"));
            story_end(s, at_ms + run_ms, &p, "Failed", story_deaths[failed++ % (int)ARRAY_LEN(story_deaths)]);
        } else {
            story_end(s, at_ms + run_ms, &p, "Succeeded", "exitCode: 0, reason: Completed");
        }
        end_ms = MAX_OF(end_ms, at_ms + run_ms);
        if (fails && retries < 3) {
            struct str status = arena_fmt(
                &s->arena,
                "state: {phase: Restarting, reason: RestartPod, message: 'PodFailed of "
                "bag-shard-%d with exit code 137: RestartPod, retry %d of 3'}, retryCount: %d",
                p.index, retries + 1, retries + 1);

            retries++;
            story_job(s, at_ms + run_ms + 2, "bag", spec.p, status.p);
            story_pod_tell(s, at_ms + run_ms + 6, &p, true);
            story_job(s, at_ms + run_ms + 40, "bag", spec.p, "state: {phase: Running}");
            p.life = 1;
            story_start(s, at_ms + run_ms + 45, &p, 90);
            story_end(s, at_ms + run_ms + 1500, &p, "Succeeded", "exitCode: 0, reason: Completed");
            end_ms = MAX_OF(end_ms, at_ms + run_ms + 1500);
        }
    }
    story_job(
        s, end_ms + 5, "bag", spec.p,
        "state: {phase: Failed, reason: Failed, message: all pods have ended with fewer successes than minSuccess},"
        " retryCount: 3");
    history_finish(s->h, STORY_BEGIN_MS + end_ms + 20);
}

#endif
