/* table.c - every phase × event × action × where the policy stands, against a table
 *
 * The planner is called directly with a world built for each case: a job of two tasks (a and b, two pods each) in
 * version 4 with one retry of three used. Only the decision is looked at: phase, version, retries, that it is the only
 * write of its plan, and that planning again on the status it wrote decides nothing more.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/types.h"
#include "base/util.h"
#include "job/admit.h"
#include "job/phase.h"
#include "job/controller.h"
#include "job/test/pods_check.h"
#include "yaml/yaml.h"

enum { VERSION = 4, RETRIES = 1 };
#define NOW_MS   INT64_C(1772357400000)
#define GROUP_OF "{metadata: {name: j-u, namespace: default, uid: g}, spec: {}, status: {phase: Running}}"

/* ---- what is expected ---- */

struct want { /* all zero: no decision */
    enum job_phase phase;
    int version, retry; /* by how much they grow */
};

#define KILL_TO(p)                                                                                                     \
    {                                                                                                                  \
        PHASE_##p, 1, 0                                                                                                \
    }
#define RESTART                                                                                                        \
    {                                                                                                                  \
        PHASE_RESTARTING, 1, 1                                                                                         \
    }
#define TARGETED                                                                                                       \
    {                                                                                                                  \
        PHASE_RESTARTING, 0, 1                                                                                         \
    }
#define NOTHING                                                                                                        \
    {                                                                                                                  \
        PHASE_NONE, 0, 0                                                                                               \
    }

/* clang-format off */

/* By a policy. Where a restart or a kill is under way, and where the job rests, pods come and go by our own doing. */
static const struct want by_policy[JOB_PHASE_MAX][JOB_ACTION_MAX] = {
    /*                    SyncJob  AbortJob RestartJob RestartTask RestartPod RestartPartition TerminateJob CompleteJob
     *                             ResumeJob */
    [PHASE_NONE]        = { NOTHING, KILL_TO(ABORTING), RESTART,  TARGETED,   TARGETED,  TARGETED,        KILL_TO(TERMINATING), KILL_TO(COMPLETING), NOTHING },
    [PHASE_PENDING]     = { NOTHING, KILL_TO(ABORTING), RESTART,  TARGETED,   TARGETED,  TARGETED,        KILL_TO(TERMINATING), KILL_TO(COMPLETING), NOTHING },
    [PHASE_RUNNING]     = { NOTHING, KILL_TO(ABORTING), RESTART,  TARGETED,   TARGETED,  TARGETED,        KILL_TO(TERMINATING), KILL_TO(COMPLETING), NOTHING },
    [PHASE_RESTARTING]  = { NOTHING },
    [PHASE_ABORTING]    = { NOTHING },
    [PHASE_ABORTED]     = { NOTHING },
    [PHASE_COMPLETING]  = { NOTHING },
    [PHASE_COMPLETED]   = { NOTHING },
    [PHASE_TERMINATING] = { NOTHING },
    [PHASE_TERMINATED]  = { NOTHING },
    [PHASE_FAILED]      = { NOTHING },
};

/* By a Command: no retry is charged (B13), nothing without a target (B9), a restart does not swallow an abort (B4). */
#define RESTART_FREE { PHASE_RESTARTING, 1, 0 }
static const struct want by_command[JOB_PHASE_MAX][JOB_ACTION_MAX] = {
    /*                    SyncJob  AbortJob RestartJob RestartTask RestartPod RestartPartition TerminateJob CompleteJob
     *                             ResumeJob */
    [PHASE_NONE]        = { NOTHING, KILL_TO(ABORTING), RESTART_FREE, NOTHING,  NOTHING,   NOTHING,     KILL_TO(TERMINATING), KILL_TO(COMPLETING), NOTHING },
    [PHASE_PENDING]     = { NOTHING, KILL_TO(ABORTING), RESTART_FREE, NOTHING,  NOTHING,   NOTHING,     KILL_TO(TERMINATING), KILL_TO(COMPLETING), NOTHING },
    [PHASE_RUNNING]     = { NOTHING, KILL_TO(ABORTING), RESTART_FREE, NOTHING,  NOTHING,   NOTHING,     KILL_TO(TERMINATING), KILL_TO(COMPLETING), NOTHING },
    [PHASE_RESTARTING]  = { NOTHING, KILL_TO(ABORTING), NOTHING,      NOTHING,  NOTHING,   NOTHING,     KILL_TO(TERMINATING), KILL_TO(COMPLETING), NOTHING },
    [PHASE_ABORTING]    = { NOTHING, NOTHING,           NOTHING,      NOTHING,  NOTHING,   NOTHING,     NOTHING,              NOTHING,             RESTART_FREE },
    [PHASE_ABORTED]     = { NOTHING, NOTHING,           NOTHING,      NOTHING,  NOTHING,   NOTHING,     NOTHING,              NOTHING,             RESTART_FREE },
    [PHASE_COMPLETING]  = { NOTHING },
    [PHASE_COMPLETED]   = { NOTHING },
    [PHASE_TERMINATING] = { NOTHING },
    [PHASE_TERMINATED]  = { NOTHING },
    [PHASE_FAILED]      = { NOTHING },
};

/* clang-format on */

enum origin { TASK_POLICY, JOB_POLICY, BOTH_POLICIES, NO_POLICY, ORIGIN_MAX };
static const char *const origin_names[ORIGIN_MAX] = { "task policy", "job policy", "task over job policy",
                                                      "no policy" };

struct a_case {
    enum job_phase phase;
    enum job_event event;
    enum job_action action;
    enum origin origin;
    bool is_old;       /* the pods are of the version before */
    const char *delay; /* "timeout: 10s" or "" */
    const char *memo;  /* of status.controlledResources, YAML members */
};

static struct want wanted(const struct a_case *c)
{
    if (c->event == EVENT_COMMAND)
        return by_command[c->phase][c->action];
    if (c->origin == NO_POLICY || c->is_old)
        return (struct want)NOTHING;
    if (c->event == EVENT_UNKNOWN && c->origin == TASK_POLICY) /* it is no task's event */
        return (struct want)NOTHING;
    if (c->event == EVENT_UNKNOWN && c->origin == BOTH_POLICIES)
        return by_policy[c->phase][ACTION_ABORT];                   /* what the job's own says */
    if (c->event == EVENT_UNKNOWN && action_is_targeted(c->action)) /* B9: there is no target */
        return (struct want)NOTHING;
    return by_policy[c->phase][c->action];
}

/* Where the pods alone take the job, without any decision (rules P and R). */
static enum job_phase settled(const struct a_case *c)
{
    if (c->phase == PHASE_NONE)
        return PHASE_PENDING;
    if (c->phase == PHASE_RUNNING && c->event == EVENT_POD_PENDING)
        return PHASE_PENDING; /* R.4: one waits, none may */
    return c->phase;
}

/* ---- what went wrong: all of it, not only the first ---- */

static unsigned n_wrong;

#define wrong(w, fmt, ...)                                                                                             \
    do {                                                                                                               \
        if (++n_wrong <= 20)                                                                                           \
            print_error("%s: " fmt "\n", (w)->name, __VA_ARGS__);                                                      \
    } while (0)

static void expect_none_wrong(void)
{
    unsigned n = n_wrong;

    n_wrong = 0;
    if (n)
        fail_msg("%u cases are wrong", n);
}

/* ---- the world ---- */

struct world {
    struct arena arena;
    struct json *root;
    struct job job;
    struct plugin_set *set;
    struct job_pods pods;
    struct json *group;
    struct command_view command;
    struct plan plan;
    const struct a_case *c;
    char name[200];
};

static struct json *parse(struct arena *a, const char *text)
{
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };

    if (yaml_parse(a, str_of(text), NULL, &docs, &e) < 0 || docs.n != 1)
        fail_msg("the test's own YAML: %s\n%s", e.text, text);
    return docs.v[0];
}

static const char *policies(struct world *w, bool is_there, enum job_event event, enum job_action action)
{
    const char *pending = event == EVENT_POD_PENDING ? "timeout: 10s" : w->c->delay;

    if (!is_there || action == ACTION_NONE)
        return "";
    return arena_fmt(&w->arena, "policies: [{event: %s, action: %s, %s}],", job_event_name(event),
                     job_action_name(action), pending)
        .p;
}

static void make_job(struct world *w)
{
    static const struct plugin_world world = { 0 };
    static const char *const template = "template: {spec: {containers: [{name: c, image: i}]}}";
    const struct a_case *c = w->c;
    struct admit_env env = { .mark = MARK_DEFAULT };
    struct problems ps = { .arena = &w->arena };
    bool by_task = c->origin == TASK_POLICY || c->origin == BOTH_POLICIES;
    bool is_policy = c->event != EVENT_COMMAND;
    struct str text;

    text = arena_fmt(&w->arena,
                     "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, "
                     "metadata: {name: j, namespace: default, uid: u, resourceVersion: '1'}, spec: {minAvailable: 4, "
                     "maxRetry: 3, %s "
                     "tasks: [{name: a, replicas: 2, %s partitionPolicy: {totalPartitions: 2, partitionSize: 1}, %s}, "
                     "{name: b, replicas: 2, partitionPolicy: {totalPartitions: 2, partitionSize: 1}, %s}]}}",
                     /* Under a task's policy the job says something else. */
                     c->origin == JOB_POLICY
                         ? policies(w, is_policy, c->event, c->action)
                         : policies(w, is_policy && c->origin == BOTH_POLICIES, c->event, ACTION_ABORT),
                     policies(w, is_policy && by_task, c->event, c->action), template, template);
    w->root = parse(&w->arena, text.p);
    admit_job_defaults(&w->arena, w->root, &env); /* checks are left out: a planner trusts nobody */
    text = arena_fmt(&w->arena,
                     "{state: {phase: '%s'}, version: %d, retryCount: %d, minAvailable: 4, "
                     "controlledResources: {pumice-seen-a: 0-1, pumice-seen-b: 0-1%s}}",
                     job_phase_name(c->phase), VERSION, RETRIES, c->memo ? c->memo : "");
    json_set(w->root, "status", parse(&w->arena, text.p));
    job_decode(&w->arena, w->root, &w->job);
    w->set = plugin_set_new(&w->arena, &w->job, &world, &ps);
    assert_int_equal(ps.n_errors, 0);
}

static void put_pod(struct world *w, const char *task, uint32_t index, struct pod_view view)
{
    struct str name = arena_fmt(&w->arena, "j-%s-%u", task, index);

    (void)snprintf(view.uid, sizeof(view.uid), "uid-%s-%u", task, index); /* short */
    view.rev = 1;
    view.version = w->c->is_old ? VERSION - 1 : VERSION;
    view.is_ready = view.phase == POD_RUNNING;
    pods_put(&w->pods, name, str_of(task), index, &view);
}

/* Three pods run; the fourth waits in a job that is still Pending, so that nothing settles by itself. */
static void make_pods(struct world *w)
{
    bool is_pending = w->c->phase == PHASE_PENDING || w->c->phase == PHASE_NONE;
    struct pod_view running = { .phase = POD_RUNNING, .created_ms = NOW_MS - 1000 }, first = running, second = running;
    struct pod_view last = running;

    last.phase = is_pending ? POD_PENDING : POD_RUNNING;
    switch (w->c->event) {
    case EVENT_POD_FAILED:
        first.phase = POD_FAILED;
        first.exit_codes[first.n_exit_codes++] = 5;
        break;
    case EVENT_POD_PENDING:
        first.phase = POD_PENDING;
        first.created_ms = NOW_MS - 3600 * 1000;
        break;
    case EVENT_TASK_COMPLETED:
        first.phase = second.phase = POD_SUCCEEDED;
        break;
    case EVENT_TASK_FAILED:
        first.restarts = 3;
        break;
    default:
        break;
    }
    pods_init(&w->pods);
    pods_set_job(&w->pods, &w->job);
    put_pod(w, "a", 0, first);
    put_pod(w, "a", 1, second);
    put_pod(w, "b", 0, running);
    put_pod(w, "b", 1, last);
    if (w->c->event == EVENT_POD_EVICTED)
        pods_remove(&w->pods, STR("j-a-0"), STR("uid-a-0"));
}

static void world_init(struct world *w, const struct a_case *c)
{
    *w = (struct world){ .c = c };
    (void)snprintf(w->name, sizeof(w->name), "\"%s\", %s, %s, %s%s%s%s", job_phase_name(c->phase),
                   job_event_name(c->event), job_action_name(c->action), origin_names[c->origin],
                   c->is_old ? ", old pods" : "", *c->delay ? ", delayed" : "", c->memo ? c->memo : "");
    make_job(w);
    make_pods(w);
    w->group = parse(&w->arena, GROUP_OF);
    w->command = (struct command_view){ STR("cmd"), STR("cmd-uid"), str_of(job_action_name(c->action)) };
}

static void world_done(struct world *w)
{
    pods_check(&w->pods);
    pods_done(&w->pods);
    arena_done(&w->arena);
}

static const struct json *find_nothing(void *ctx, const char *kind, struct str name)
{
    (void)ctx, (void)kind, (void)name;
    return NULL;
}

static void make_plan(struct world *w, int64_t now_ms)
{
    struct job_observed o = { .job = &w->job, .set = w->set, .pods = &w->pods, .queue = QUEUE_OPEN };

    o.group = (struct podgroup_view){ .exists = true, .uid = STR("g"), .phase = STR("Running"), .raw = w->group };
    if (w->c->event == EVENT_UNKNOWN)
        o.group.phase = STR("Unknown");
    o.commands = &w->command;
    o.n_commands = w->c->event == EVENT_COMMAND;
    o.find = find_nothing;
    o.objects_are_fine = true;
    w->plan = (struct plan){ .arena = &w->arena, .now_ms = now_ms };
    if (job_plan(&o, &w->plan).has_looked)
        pods_looked(&w->pods);
}

/* ---- reading a plan ---- */

static bool is_kind(const struct op *op, const char *kind)
{
    return strcmp(op->type->kind, kind) == 0;
}

static const struct op *status_write(const struct world *w)
{
    VEC_FOREACH(op, &w->plan.ops)
        if (op->kind == OP_UPDATE_STATUS)
            return op;
    return NULL;
}

static size_t count_actions(const struct world *w)
{
    size_t n = 0;

    VEC_FOREACH(op, &w->plan.ops)
        n += is_kind(op, "Event") && str_is(json_member_text(op->body, "reason"), "ExecuteAction");
    return n;
}

/* Writes other than Events and the removal of an obeyed Command. */
static size_t count_writes(const struct world *w)
{
    size_t n = 0;

    VEC_FOREACH(op, &w->plan.ops)
        n += !is_kind(op, "Event") && !is_kind(op, "Command");
    return n;
}

static void recall(struct world *w)
{
    const struct json *notes = json_find(w->root, "status", "controlledResources", NULL);

    for (size_t i = 0; i < w->job.spec.tasks.n; i++) {
        struct str task = w->job.spec.tasks.v[i].name;

        pods_recall(&w->pods, i,
                    json_text(json_get_str(notes, arena_cat(&w->arena, STR("pumice-seen-"), task)), STR_NULL),
                    json_text(json_get_str(notes, arena_cat(&w->arena, STR("pumice-done-"), task)), STR_NULL));
    }
}

/* Store the status the plan writes, as a cluster would; the other writes are still on their way. */
static void store_status(struct world *w)
{
    const struct op *op = status_write(w);

    if (!op)
        return;
    json_set(w->root, "status", json_copy(&w->arena, json_get(op->body, "status")));
    job_decode(&w->arena, w->root, &w->job);
    pods_set_job(&w->pods, &w->job);
    recall(w);
}

static void expect_state(struct world *w, enum job_phase phase, int version, int retry)
{
    if (!str_is(w->job.status.phase, job_phase_name(phase)) || w->job.status.version != version ||
        w->job.status.retry_count != retry)
        wrong(w, "want %s, version %d, retries %d; got %.*s, version %d, retries %d", job_phase_name(phase), version,
              retry, STR_ARG(w->job.status.phase), w->job.status.version, w->job.status.retry_count);
}

/* One plan is applied: it decides what the table says, or nothing. */
static void expect_step(struct world *w, int64_t now_ms, const struct want *want, enum job_phase otherwise)
{
    make_plan(w, now_ms);
    if (want->phase != PHASE_NONE && (count_writes(w) != 1 || !status_write(w)))
        wrong(w, "a decision is one status write, not %zu writes", count_writes(w));
    if (count_actions(w) != (want->phase != PHASE_NONE))
        wrong(w, "%zu actions announced", count_actions(w));
    store_status(w);
    expect_state(w, want->phase != PHASE_NONE ? want->phase : otherwise, VERSION + want->version,
                 RETRIES + want->retry);
}

/* Planning on and on decides nothing more. */
static void expect_rest(struct world *w, int64_t now_ms)
{
    int version = w->job.status.version, retry = w->job.status.retry_count;

    for (int i = 0; i < 4; i++) {
        make_plan(w, now_ms);
        if (count_actions(w))
            wrong(w, "step %d: a second action", i);
        store_status(w);
        if (w->job.status.version != version || w->job.status.retry_count != retry)
            wrong(w, "step %d: decided twice: version %d, retries %d", i, w->job.status.version,
                  w->job.status.retry_count);
    }
}

static void run_case(const struct a_case *c)
{
    struct want want = wanted(c);
    struct world w;

    world_init(&w, c);
    if (c->phase == PHASE_NONE) { /* first of all it becomes Pending, whatever there is */
        expect_step(&w, NOW_MS, &(struct want)NOTHING, PHASE_PENDING);
        expect_step(&w, NOW_MS, &want, PHASE_PENDING);
    } else {
        expect_step(&w, NOW_MS, &want, settled(c));
    }
    expect_rest(&w, NOW_MS);
    world_done(&w);
}

static void test_every_case(void **state)
{
    struct a_case c = { .delay = "" };
    size_t n = 0;

    (void)state;
    for (int phase = 0; phase < JOB_PHASE_MAX; phase++)
        for (int event = 0; event < JOB_EVENT_MAX; event++)
            for (int action = 0; action < JOB_ACTION_MAX; action++)
                for (int origin = 0; origin < ORIGIN_MAX; origin++, n++) {
                    c.phase = (enum job_phase)phase;
                    c.event = (enum job_event)event;
                    c.action = (enum job_action)action;
                    c.origin = (enum origin)origin;
                    if (c.action == ACTION_NONE && c.origin == BOTH_POLICIES)
                        continue; /* there is no policy that does nothing */
                    run_case(&c);
                }
    assert_int_equal(n, JOB_PHASE_MAX * JOB_EVENT_MAX * JOB_ACTION_MAX * ORIGIN_MAX);
    expect_none_wrong();
}

/* What happened to pods of an earlier version is no event of the job. */
static void test_old_pods(void **state)
{
    static const enum job_event events[] = { EVENT_POD_FAILED, EVENT_POD_PENDING, EVENT_TASK_COMPLETED,
                                             EVENT_TASK_FAILED };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(events); i++)
        for (int action = 1; action < JOB_ACTION_MAX; action++) {
            struct a_case c = { PHASE_RUNNING, events[i], (enum job_action)action, JOB_POLICY, true, "", NULL };
            struct world w;

            world_init(&w, &c);
            make_plan(&w, NOW_MS);
            assert_int_equal(count_actions(&w), 0);
            store_status(&w);
            assert_int_equal(w.job.status.version, VERSION);
            assert_int_equal(w.job.status.retry_count, RETRIES);
            world_done(&w);
        }
}

/* With a timeout the first plan only sets the timer; when it is due the same decision is made, once. */
static void test_delayed(void **state)
{
    static const enum job_event events[] = { EVENT_POD_FAILED, EVENT_POD_EVICTED, EVENT_UNKNOWN, EVENT_TASK_COMPLETED,
                                             EVENT_TASK_FAILED };

    (void)state;
    for (int phase = PHASE_PENDING; phase < JOB_PHASE_MAX; phase++)
        for (size_t i = 0; i < ARRAY_LEN(events); i++)
            for (int action = 1; action < JOB_ACTION_MAX; action++) {
                struct a_case c = { (enum job_phase)phase, events[i], (enum job_action)action, JOB_POLICY, false,
                                    "timeout: 10s",        NULL };
                struct want want = wanted(&c);
                struct world w;

                world_init(&w, &c);
                make_plan(&w, NOW_MS);
                assert_int_equal(count_actions(&w), want.phase != PHASE_NONE); /* "… after 10 s" */
                store_status(&w);
                expect_state(&w, c.phase, VERSION, RETRIES);
                expect_rest(&w, NOW_MS + 9999);
                if (want.phase != PHASE_NONE && w.plan.wake_ms != NOW_MS + 10000)
                    wrong(&w, "wakes at %+ld ms", (long)(w.plan.wake_ms - NOW_MS));
                expect_step(&w, NOW_MS + 10000, &want, settled(&c));
                expect_rest(&w, NOW_MS + 60000);
                world_done(&w);
            }
    expect_none_wrong();
}

/* A RestartJob is wider than the restart of one pod that is under way: it is not swallowed (B4). */
static void test_restart_widens(void **state)
{
    struct a_case c = { PHASE_RESTARTING,           EVENT_COMMAND, ACTION_RESTART, NO_POLICY, false, "",
                        ", pumice-restart: pod a 0" };
    struct want want = RESTART_FREE;
    struct world w;

    (void)state;
    world_init(&w, &c);
    expect_step(&w, NOW_MS, &want, PHASE_RESTARTING);
    expect_rest(&w, NOW_MS);
    world_done(&w);
    expect_none_wrong();
}

/* No path leaves a final phase, whatever the pods do and whatever is asked. */
static void test_final_phases_stay(void **state)
{
    static const enum job_phase final[] = { PHASE_COMPLETED, PHASE_TERMINATED, PHASE_FAILED };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(final); i++)
        for (int event = 0; event < JOB_EVENT_MAX; event++)
            for (int action = 0; action < JOB_ACTION_MAX; action++) {
                struct a_case c = { final[i], (enum job_event)event, (enum job_action)action, JOB_POLICY, false, "",
                                    NULL };
                struct world w;

                world_init(&w, &c);
                for (int n = 0; n < 4; n++) {
                    make_plan(&w, NOW_MS + n * 1000);
                    store_status(&w);
                    expect_state(&w, final[i], VERSION, RETRIES);
                }
                world_done(&w);
            }
    expect_none_wrong();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_case),     cmocka_unit_test(test_old_pods),          cmocka_unit_test(test_delayed),
        cmocka_unit_test(test_restart_widens), cmocka_unit_test(test_final_phases_stay),
    };

    return cmocka_run_group_tests_name("lifecycle/table", tests, NULL, NULL);
}
