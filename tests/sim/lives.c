/* lives.c - scripted lives of a job, each lived again with a crash right before and right after every single write
 *
 * The undisturbed life says what the end must be. A crash may only cost time: uids, times and revisions differ, all
 * else is compared.
 */
#include "world.h"

#include "api/meta.h"

#include <inttypes.h>

/* What the user does, and when: as soon as the job is in 'phase' with that version (-1: any) and 'after_ms' more. */
struct act {
    enum phase phase;
    int64_t version;
    const char *command; /* a Command's action, … */
    const char *patch;   /* … or a merge patch of the job, … */
    const char *evict;   /* … or a pod to delete */
};

struct life {
    const char *name, *spec;
    enum phase end; /* it must get here; PHASE_NONE: the job is gone */
    struct fate (*fate)(struct world *w, const struct sim_pod *pod);
    struct act acts[6];
    size_t n_acts;
};

#define TEMPLATE                                                                                                       \
    "\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"i\"}]}}"
#define TASK(name, replicas, more) "{\"name\":\"" name "\",\"replicas\":" #replicas "," more TEMPLATE "}"
#define PLUGINS                    "\"plugins\":{\"svc\":[],\"env\":[],\"ssh\":[]},"

static struct fate fate_succeed(struct world *w, const struct sim_pod *pod)
{
    (void)w, (void)pod;
    return (struct fate){ .after_ms = 5000, .how = FATE_SUCCEED };
}

static struct fate fate_hang(struct world *w, const struct sim_pod *pod)
{
    (void)w, (void)pod;
    return (struct fate){ .after_ms = 5000, .how = FATE_HANG };
}

/* Pod 0 of the first task fails, with code 3, until the job has been restarted once. */
static struct fate fate_fail_first(struct world *w, const struct sim_pod *pod)
{
    struct sim_job *job = map_get(&w->jobs, str_of(pod->job_uid));
    bool is_first = str_is(str_of(pod->task), "a") && pod->index == 0 && job->retry == 0;

    return (
        struct fate){ .after_ms = is_first ? 3000 : 30000, .how = is_first ? FATE_FAIL : FATE_SUCCEED, .exit_code = 3 };
}

static struct fate fate_fail_always(struct world *w, const struct sim_pod *pod)
{
    (void)w;
    return (struct fate){ .after_ms = 3000, .how = pod->index == 0 ? FATE_FAIL : FATE_HANG, .exit_code = 1 };
}

/* One succeeds, the others hang. */
static struct fate fate_one_succeeds(struct world *w, const struct sim_pod *pod)
{
    (void)w;
    return (struct fate){ .after_ms = 3000, .how = pod->index == 0 ? FATE_SUCCEED : FATE_HANG };
}

/* Runs until it has been resumed. */
static struct fate fate_after_resume(struct world *w, const struct sim_pod *pod)
{
    (void)w;
    return (struct fate){ .after_ms = 5000, .how = pod->version >= 2 ? FATE_SUCCEED : FATE_HANG };
}

/* clang-format off */
static const struct life lives[] = {
    { "success", PLUGINS "\"tasks\":[" TASK("a", 2, "") "," TASK("b", 1, "") "]", PHASE_COMPLETED, fate_succeed, { { 0 } }, 0 },
    { "restart-job", PLUGINS "\"policies\":[{\"event\":\"PodFailed\",\"action\":\"RestartJob\"}],\"tasks\":[" TASK("a", 2, "") "]",
      PHASE_COMPLETED, fate_fail_first, { { 0 } }, 0 },
    { "retries-exhausted", "\"maxRetry\":2,\"policies\":[{\"event\":\"PodFailed\",\"action\":\"RestartJob\"}],\"tasks\":[" TASK("a", 2, "") "]",
      PHASE_FAILED, fate_fail_always, { { 0 } }, 0 },
    { "restart-pod", PLUGINS "\"policies\":[{\"event\":\"PodFailed\",\"action\":\"RestartPod\"}],\"tasks\":[" TASK("a", 3, "") "]",
      PHASE_COMPLETED, fate_fail_first, { { 0 } }, 0 },
    { "restart-task", "\"policies\":[{\"exitCode\":3,\"action\":\"RestartTask\"}],\"tasks\":[" TASK("a", 2, "") "," TASK("b", 2, "") "]",
      PHASE_COMPLETED, fate_fail_first, { { 0 } }, 0 },
    { "delayed-restart", "\"policies\":[{\"event\":\"PodFailed\",\"action\":\"RestartJob\",\"timeout\":\"10s\"}],\"tasks\":[" TASK("a", 2, "") "]",
      PHASE_COMPLETED, fate_fail_first, { { 0 } }, 0 },
    { "evicted", "\"policies\":[{\"event\":\"PodEvicted\",\"action\":\"TerminateJob\"}],\"tasks\":[" TASK("a", 2, "") "]",
      PHASE_TERMINATED, fate_hang, { { PHASE_RUNNING, -1, .evict = "life-a-1" } }, 1 },
    { "abort-resume", PLUGINS "\"tasks\":[" TASK("a", 2, "") "]", PHASE_COMPLETED, fate_after_resume,
      { { PHASE_RUNNING, 0, .command = "AbortJob" }, { PHASE_ABORTED, 1, .command = "ResumeJob" } }, 2 },
    { "terminate", PLUGINS "\"tasks\":[" TASK("a", 2, "") "]", PHASE_TERMINATED, fate_hang,
      { { PHASE_RUNNING, 0, .command = "TerminateJob" } }, 1 },
    { "complete", "\"tasks\":[" TASK("a", 2, "") "]", PHASE_COMPLETED, fate_one_succeeds,
      { { PHASE_RUNNING, 0, .command = "CompleteJob" } }, 1 },
    { "min-success", PLUGINS "\"minSuccess\":1,\"tasks\":[" TASK("a", 3, "") "]", PHASE_COMPLETED, fate_one_succeeds, { { 0 } }, 0 },
    { "scale", PLUGINS "\"minAvailable\":1,\"tasks\":[" TASK("a", 2, "\"minAvailable\":1,") "]", PHASE_RUNNING, fate_hang,
      { { PHASE_RUNNING, 0, .patch = "{\"spec\":{\"tasks\":[" TASK("a", 4, "\"minAvailable\":1,") "]}}" },
        { PHASE_RUNNING, 0, .patch = "{\"spec\":{\"tasks\":[" TASK("a", 1, "\"minAvailable\":1,") "]}}" } }, 2 },
    { "ttl", PLUGINS "\"ttlSecondsAfterFinished\":30,\"tasks\":[" TASK("a", 2, "") "]", PHASE_NONE, fate_succeed, { { 0 } }, 0 },
    { "depends-on", "\"tasks\":[" TASK("a", 1, "") "," TASK("b", 2, "\"dependsOn\":{\"name\":[\"a\"]},") "]", PHASE_COMPLETED,
      fate_succeed, { { 0 } }, 0 },
    { "volume", "\"volumes\":[{\"mountPath\":\"/data\",\"volumeClaim\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}],"
      "\"tasks\":[" TASK("a", 1, "") "]", PHASE_COMPLETED, fate_succeed, { { 0 } }, 0 },
};
/* clang-format on */

/* ---- what is left at the end, without what may differ ---- */

static bool is_uid(struct str s)
{
    return s.n == 36 && s.p[8] == '-' && s.p[13] == '-' && s.p[18] == '-' && s.p[23] == '-';
}

static bool is_time(struct str s)
{
    return s.n >= 20 && s.p[4] == '-' && s.p[7] == '-' && s.p[10] == 'T' && s.p[s.n - 1] == 'Z';
}

/* Any uid inside a text: names of PodGroups have one. */
static struct str mask_text(struct arena *a, struct str s)
{
    if (is_uid(s))
        return STR("(uid)");
    if (is_time(s))
        return STR("(time)");
    for (size_t i = 0; i + 36 <= s.n; i++)
        if (is_uid(str_sub(s, i, 36)))
            return arena_fmt(a, "%.*s(uid)%.*s", (int)i, s.p, STR_ARG(mask_text(a, str_from(s, i + 36))));
    return s;
}

static void mask(struct arena *a, struct json *j)
{
    static const char *const dropped[] = { "resourceVersion", "generation", "runningDuration" };
    struct json *next;

    for (size_t i = 0; i < ARRAY_LEN(dropped); i++)
        json_remove(j, dropped[i]);
    for (struct json *c = json_first(j); c; c = next) {
        next = c->next;
        if (c->key) {
            struct str key = mask_text(a, json_key(c));

            c->key = key.p;
            c->key_n = (uint32_t)key.n;
        }
        mask(a, c);
    }
    if (j->type == JSON_STRING) {
        struct str s = mask_text(a, (struct str){ j->text, j->n });

        j->text = s.p;
        j->n = (uint32_t)s.n;
    }
}

struct dump {
    struct arena *a;
    struct buf *out;
};

static void dump_one(void *ctx, const struct object *o)
{
    struct dump *d = ctx;
    struct json *j = json_copy(d->a, o->root);

    mask(d->a, j);
    json_sort_keys(j, true);
    json_print_pretty(d->out, j, 1);
    buf_char(d->out, '\n');
}

/* Kubernetes Events are news, not state: one may be missing after a crash. */
static void dump(struct world *w, struct buf *out)
{
    autoarena a = { 0 };
    struct dump d = { &a, out };

    for (size_t i = 0; i < KIND_MAX; i++)
        if (i != KIND_EVENT)
            store_list(w->store, sim_types[i], STR_NULL, dump_one, &d);
}

/* ---- living ---- */

static struct sim_job *the_job(struct world *w)
{
    MAP_FOREACH(struct sim_job *, job, &w->jobs)
        return job;
    return NULL;
}

static void do_act(struct world *w, const struct sim_job *job, const struct act *act)
{
    if (act->command)
        user_command(w, str_of(job->name), str_of(job->uid), act->command);
    if (act->patch)
        (void)world_patch(w, "user", KIND_JOB, str_of(job->name), "%s", act->patch); /* the end is compared */
    if (act->evict)
        (void)world_delete(w, "user", KIND_POD, str_of(act->evict), -1, PROPAGATE_BACKGROUND); /* the end is compared */
}

static const struct profile plain = { .name = "script", .controllers = 1, .is_exact = true, .is_scripted = true };

/* Live it; crash at write 'crash_at' (0: never). The end goes to 'out', the number of writes to '*ret_writes'. */
static int live(const struct life *life, uint64_t crash_at, bool crash_after, bool is_verbose, struct buf *out,
                uint64_t *ret_writes)
{
    autobuf text = { 0 };
    struct world w;
    size_t acts = 0;
    int rc;

    world_init(&w, 1, &plain, is_verbose);
    w.script = life->fate;
    w.controllers[0].crash_at = crash_at;
    w.controllers[0].crash_after = crash_after;
    buf_fmt(&text,
            "{\"apiVersion\":\"batch.volcano.sh/"
            "v1alpha1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"life\",\"namespace\":\"" SIM_NS "\"},\"spec\":{%s}}",
            life->spec);
    world_run(&w, 1000);
    if (user_create_job(&w, buf_view(&text)) < 0)
        world_break(&w, "the life's own job was refused");
    while (!world_is_broken(&w) && acts < life->n_acts && world_ms(&w) < HOUR_MS) {
        const struct act *act = &life->acts[acts];
        struct sim_job *job = the_job(&w);

        world_run(&w, world_ms(&w) + 10 * SECOND_MS);
        if (job->phase == act->phase && (act->version < 0 || act->version == job->version)) {
            do_act(&w, job, act);
            acts++;
        }
    }
    if (!world_is_broken(&w))
        world_settle(&w);
    if (!world_is_broken(&w) && (life->end == PHASE_NONE ? !the_job(&w)->is_gone : the_job(&w)->phase != life->end))
        world_break(&w, "it ends as %s, not as %s", phase_names[the_job(&w)->phase], phase_names[life->end]);
    if (world_is_broken(&w)) {
        if (!is_verbose)
            world_print_history(&w);
        printf("\nlife %s, crash %s write %" PRIu64 ": %s\n", life->name, crash_after ? "after" : "before", crash_at,
               w.broken);
    }
    rc = world_is_broken(&w) ? -1 : 0;
    dump(&w, out);
    *ret_writes = w.controllers[0].writes;
    world_done(&w);
    return rc;
}

static void print_difference(const struct buf *want, const struct buf *got)
{
    struct str a = buf_view(want), b = buf_view(got), x, y;

    while (str_split(&a, '\n', &x) && str_split(&b, '\n', &y))
        if (!str_eq(x, y)) {
            printf("    undisturbed: %.*s\n    after crash: %.*s\n", STR_ARG(x), STR_ARG(y));
            return;
        }
}

static int compare(const struct life *life, uint64_t n, bool after, const struct buf *want, bool is_verbose)
{
    autobuf got = { 0 };
    uint64_t writes;

    if (live(life, n, after, is_verbose, &got, &writes) < 0)
        return 1;
    if (str_eq(buf_view(want), buf_view(&got)))
        return 0;
    printf("life %s, crash %s write %" PRIu64 ": another end\n", life->name, after ? "after" : "before", n);
    print_difference(want, &got);
    return 1;
}

int lives_run(bool is_verbose, const char *only)
{
    int bad = 0;

    for (size_t i = 0; i < ARRAY_LEN(lives); i++) {
        autobuf want = { 0 };
        uint64_t writes;
        int before = bad;

        if (only && !str_is(str_of(lives[i].name), only))
            continue;
        if (live(&lives[i], 0, false, is_verbose, &want, &writes) < 0) {
            bad++;
            continue;
        }
        for (uint64_t n = 1; n <= writes && bad - before < 3; n++) { /* three of one life tell enough */
            bad += compare(&lives[i], n, false, &want, false);
            bad += compare(&lives[i], n, true, &want, false);
        }
        printf("%-18s %3" PRIu64 " writes, %" PRIu64 " crashes: %s\n", lives[i].name, writes, 2 * writes,
               bad == before ? "the same end every time" : "BROKEN");
    }
    return bad;
}
