/* columns_pod.c - the status column of a pod: Init:0/2, CrashLoopBackOff, Terminating */
#include "server/server_internal.h"

static bool is_restartable(const struct json *pod, struct str container)
{
    JSON_FOREACH(c, json_find(pod, "spec", "initContainers", NULL))
        if (str_eq(json_member_text(c, "name"), container))
            return str_is(json_member_text(c, "restartPolicy"), "Always");
    return false;
}

static bool is_true(const struct json *status, const char *member)
{
    return json_bool(json_get(status, member), false);
}

/* "Error", or by what it ended. */
static struct str ended_word(struct arena *a, const struct json *terminated, const char *prefix)
{
    struct str reason = json_member_text(terminated, "reason");
    int64_t signal = json_i64(json_get(terminated, "signal"), 0);

    if (reason.n)
        return arena_fmt(a, "%s%.*s", prefix, STR_ARG(reason));
    if (signal)
        return arena_fmt(a, "%sSignal:%lld", prefix, (long long)signal);
    return arena_fmt(a, "%sExitCode:%lld", prefix, (long long)json_i64(json_get(terminated, "exitCode"), 0));
}

/* What the first container that has to end before the others says; empty: all have. */
static struct str init_word(struct arena *a, const struct json *pod)
{
    size_t i = 0, n = json_count(json_find(pod, "spec", "initContainers", NULL));

    JSON_FOREACH(s, json_find(pod, "status", "initContainerStatuses", NULL)) {
        const struct json *state = json_get(s, "state"), *ended = json_get(state, "terminated");
        struct str waits = json_member_text(json_get(state, "waiting"), "reason");

        i++;
        if ((ended && json_i64(json_get(ended, "exitCode"), 0) == 0) ||
            (is_restartable(pod, json_member_text(s, "name")) && is_true(s, "started")))
            continue;
        if (ended)
            return ended_word(a, ended, "Init:");
        if (waits.n && !str_is(waits, "PodInitializing"))
            return arena_fmt(a, "Init:%.*s", STR_ARG(waits));
        return arena_fmt(a, "Init:%zu/%zu", i - 1, n);
    }
    return STR_NULL;
}

/* Of several that have something to say the first is heard. */
static struct str container_word(struct arena *a, const struct json *pod, struct str word, bool *ret_runs)
{
    *ret_runs = false;
    for (size_t i = json_count(json_find(pod, "status", "containerStatuses", NULL)); i-- > 0;) {
        const struct json *s = json_at(json_find(pod, "status", "containerStatuses", NULL), i);
        const struct json *state = json_get(s, "state"), *ended = json_get(state, "terminated");
        struct str waits = json_member_text(json_get(state, "waiting"), "reason");

        if (waits.n)
            word = waits;
        else if (ended)
            word = ended_word(a, ended, "");
        else if (is_true(s, "ready") && json_get(state, "running"))
            *ret_runs = true;
    }
    return word;
}

static struct str status_word(struct arena *a, const struct json *pod)
{
    const struct json *status = json_get(pod, "status");
    struct str phase = json_member_text(status, "phase"), reason = json_member_text(status, "reason");
    struct str word = reason.n ? reason : phase, init;
    bool runs;

    if (str_is(json_member_text(condition_with(status, "PodScheduled", "False"), "reason"), "SchedulingGated"))
        word = STR("SchedulingGated");
    init = init_word(a, pod);
    if (init.n && !condition_is_true(status, "Initialized")) {
        word = init;
    } else {
        word = container_word(a, pod, word, &runs);
        if (str_is(word, "Completed") && runs)
            word = pod_is_ready(pod) ? STR("Running") : STR("NotReady");
    }
    if (!json_find(pod, "metadata", "deletionTimestamp", NULL))
        return word;
    if (str_is(reason, "NodeLost"))
        return STR("Unknown");
    return pod_phase_has_ended(phase) ? word : STR("Terminating");
}

struct json *pod_cell_status(struct arena *a, const struct json *pod, int64_t now_ms)
{
    (void)now_ms;
    return json_str(a, status_word(a, pod));
}

struct json *pod_cell_ready(struct arena *a, const struct json *pod, int64_t now_ms)
{
    size_t ready = 0, all = json_count(json_find(pod, "spec", "containers", NULL));

    (void)now_ms;
    JSON_FOREACH(s, json_find(pod, "status", "containerStatuses", NULL))
        ready += is_true(s, "ready") && json_find(s, "state", "running", NULL);
    JSON_FOREACH(c, json_find(pod, "spec", "initContainers", NULL))
        all += str_is(json_member_text(c, "restartPolicy"), "Always");
    JSON_FOREACH(s, json_find(pod, "status", "initContainerStatuses", NULL))
        ready += is_restartable(pod, json_member_text(s, "name")) && is_true(s, "ready");
    return json_fmt(a, "%zu/%zu", ready, all);
}

static void count_restarts(const struct json *list, int64_t *n, int64_t *last_ms)
{
    JSON_FOREACH(s, list) {
        int64_t at_ms;

        *n += json_i64(json_get(s, "restartCount"), 0);
        if (clock_parse(json_member_text(json_find(s, "lastState", "terminated", NULL), "finishedAt"), &at_ms, NULL) ==
            0)
            *last_ms = MAX_OF(*last_ms, at_ms);
    }
}

struct json *pod_cell_restarts(struct arena *a, const struct json *pod, int64_t now_ms)
{
    int64_t n = 0, last_ms = 0;
    autobuf age = { 0 };

    count_restarts(json_find(pod, "status", "containerStatuses", NULL), &n, &last_ms);
    JSON_FOREACH(s, json_find(pod, "status", "initContainerStatuses", NULL))
        if (is_restartable(pod, json_member_text(s, "name"))) {
            n += json_i64(json_get(s, "restartCount"), 0);
        }
    if (!n || !last_ms)
        return json_fmt(a, "%lld", (long long)n);
    print_age(&age, now_ms - last_ms);
    return json_fmt(a, "%lld (%s ago)", (long long)n, age.p);
}
