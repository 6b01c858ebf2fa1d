/* user.c - users: random jobs, commands, scaling, deleting and making again */
#include "world.h"

#include "api/pod/gate.h"
#include "api/meta.h"
#include "job/admit.h"

#include <inttypes.h>

static const char *const events[] = { "*",       "PodFailed",     "PodEvicted", "PodPending",
                                      "Unknown", "TaskCompleted", "TaskFailed" };
/* The last ones need a target: a task, a pod, a partition. */
static const char *const actions[] = { "AbortJob",  "RestartJob",  "TerminateJob", "CompleteJob",
                                       "ResumeJob", "RestartTask", "RestartPod",   "RestartPartition" };
enum { N_JOB_ACTIONS = 5, N_POD_ACTIONS = 7, N_ACTIONS = 8 };
static const char *const commands[] = { "AbortJob",    "ResumeJob",   "RestartJob",  "TerminateJob",
                                        "CompleteJob", "RestartTask", "FlyToTheMoon" };

#define PICK(w, table) ((table)[world_between((w), 0, (int64_t)ARRAY_LEN(table) - 1)])

/* ---- jobs ---- */

static void random_policy(struct world *w, struct buf *out, size_t event, bool is_partitioned)
{
    bool is_unknown = event < ARRAY_LEN(events) &&
                      (str_is(str_of(events[event]), "Unknown") || str_is(str_of(events[event]), "*"));
    int64_t n = is_unknown ? N_JOB_ACTIONS : is_partitioned ? N_ACTIONS : N_POD_ACTIONS;

    buf_fmt(out, "{\"action\":\"%s\",", actions[world_between(w, 0, n - 1)]);
    if (event < ARRAY_LEN(events))
        buf_fmt(out, "\"event\":\"%s\"", events[event]);
    else
        buf_fmt(out, "\"exitCode\":3");
    if (str_is(event < ARRAY_LEN(events) ? str_of(events[event]) : STR_NULL, "PodPending") || world_chance(w, 25))
        buf_fmt(out, ",\"timeout\":\"%" PRId64 "s\"", world_between(w, 1, 90));
    buf_char(out, '}');
}

/* Each event at most once; '*' only alone. */
static void random_policies(struct world *w, struct buf *out, bool is_partitioned)
{
    size_t at = (size_t)world_between(w, 0, (int64_t)ARRAY_LEN(events)), step = (size_t)world_between(w, 1, 3);
    bool is_first = true;

    buf_fmt(out, "\"policies\":[");
    for (int64_t n = world_between(w, 0, 3); n > 0 && at <= ARRAY_LEN(events); n--, at += step) {
        if (at == 0)
            n = 1;
        buf_fmt(out, "%s", is_first ? "" : ",");
        random_policy(w, out, at, is_partitioned);
        is_first = false;
    }
    buf_fmt(out, "],");
}

/* What a container asks for. Mostly little, so that gangs wait now and then but not always. */
static void random_requests(struct world *w, struct buf *out)
{
    buf_fmt(out, ",\"resources\":{\"requests\":{\"cpu\":\"%" PRId64 "m\"",
            world_chance(w, 70) ? 100 * world_between(w, 1, 15) : 1000 * world_between(w, 1, 5));
    if (world_chance(w, 60))
        buf_fmt(out, ",\"memory\":\"%" PRId64 "Mi\"", 256 * world_between(w, 1, world_chance(w, 80) ? 8 : 40));
    if (world_chance(w, 15))
        buf_fmt(out, ",\"nvidia.com/gpu\":\"%" PRId64 "\"", world_between(w, 1, 2));
    buf_fmt(out, "}}");
}

static void random_container(struct world *w, struct buf *out)
{
    buf_fmt(out, "{\"name\":\"main\",\"image\":\"i\"");
    if (!w->profile.has_placer && !world_chance(w, 5))
        random_requests(w, out);
    buf_char(out, '}');
}

static void random_task(struct world *w, struct buf *out, int64_t pos)
{
    int64_t replicas = world_between(w, world_chance(w, 5) ? 0 : 1, 3);
    bool is_partitioned = world_chance(w, 10);

    if (is_partitioned)
        replicas = 4;
    else if (w->profile.is_large)
        replicas = world_between(w, 1, world_chance(w, 20) ? 120 : 20);
    buf_fmt(out, "%s{\"name\":\"t%" PRId64 "\",\"replicas\":%" PRId64 ",", pos ? "," : "", pos, replicas);
    if (is_partitioned)
        buf_fmt(out, "\"partitionPolicy\":{\"totalPartitions\":2,\"partitionSize\":2},");
    else if (world_chance(w, 30))
        buf_fmt(out, "\"minAvailable\":%" PRId64 ",", world_between(w, 0, replicas));
    if (world_chance(w, 40))
        random_policies(w, out, is_partitioned);
    if (world_chance(w, 20))
        buf_fmt(out, "\"maxRetry\":%" PRId64 ",", world_between(w, 1, 3));
    if (pos && world_chance(w, 30))
        buf_fmt(out, "\"dependsOn\":{\"name\":[\"t0\"]},");
    if (w->profile.has_gates && world_chance(w, 70)) /* as the webhook would have it */
        buf_fmt(out, "\"template\":{\"metadata\":{\"annotations\":{\"" QUEUE_GATE "\":\"true\"}},\"spec\":{"
                     "\"schedulingGates\":[{\"name\":\"" QUEUE_GATE "\"}],");
    else
        buf_fmt(out, "\"template\":{\"spec\":{");
    buf_fmt(out, "\"restartPolicy\":\"%s\",\"containers\":[", world_chance(w, 50) ? "OnFailure" : "Never");
    random_container(w, out);
    buf_fmt(out, "]}}}");
}

static void random_place(struct world *w, struct buf *out)
{
    if (w->profile.has_placer)
        return;
    if (world_chance(w, 80))
        buf_fmt(out, "\"queue\":\"q%" PRId64 "\",", world_between(w, 0, w->n_queues - 1));
    if (world_chance(w, 70))
        buf_fmt(out, "\"priorityClassName\":\"%s\",", priority_names[world_between(w, 0, N_PRIORITIES - 1)]);
}

void user_random_job(struct world *w, struct buf *out, const char *name)
{
    int64_t tasks = world_between(w, 1, 3);

    buf_fmt(out,
            "{\"apiVersion\":\"batch.volcano.sh/"
            "v1alpha1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"" SIM_NS "\"%s},\"spec\":{",
            name,
            !w->profile.has_placer && world_chance(w, 15) ? ",\"annotations\":{\"volcano.sh/preemptable\":\"false\"}"
                                                          : "");
    random_place(w, out);
    if (world_chance(w, 60))
        random_policies(w, out, false);
    if (world_chance(w, 50))
        buf_fmt(out, "\"maxRetry\":%" PRId64 ",", world_between(w, 1, 4));
    if (world_chance(w, 20))
        buf_fmt(out, "\"minSuccess\":1,");
    if (world_chance(w, 40))
        buf_fmt(out, "\"minAvailable\":%" PRId64 ",", world_between(w, 1, 2));
    if (world_chance(w, 25))
        buf_fmt(out, "\"ttlSecondsAfterFinished\":%" PRId64 ",", world_between(w, 0, 120));
    if (world_chance(w, 50))
        buf_fmt(out, "\"plugins\":{\"svc\":[],\"env\":[]%s},", world_chance(w, 20) ? ",\"ssh\":[]" : "");
    if (world_chance(w, 10))
        buf_fmt(
            out,
            "\"volumes\":[{\"mountPath\":\"/data\",\"volumeClaim\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":"
            "{\"requests\":{\"storage\":\"1Gi\"}}}}],");
    buf_fmt(out, "\"tasks\":[");
    for (int64_t i = 0; i < tasks; i++)
        random_task(w, out, i);
    buf_fmt(out, "]}}");
}

static int sim_keys(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e)
{
    (void)ctx, (void)a, (void)type, (void)e;
    *ret = (struct ssh_keys){ STR("c2lt"), STR("ssh-rsa c2lt\n") };
    return 0;
}

int user_create_job(struct world *w, struct str text)
{
    struct plugin_world world = { .make_keys = sim_keys };
    struct admit_env env = { .mark = MARK_DEFAULT };
    autoarena a = { 0 };
    struct problems ps = { .arena = &a };
    struct json *j;
    struct err e = { 0 };

    if (json_parse(&a, text, NULL, &j, &e) < 0) {
        world_break(w, "the simulation's own job: %s", e.text);
        return -1;
    }
    (void)job_admit(&a, j, &(struct job_admit_env){ .env = &env, .world = &world }, NULL, &ps);
    if (ps.n_errors) {
        world_log(w, "user", "job refused: %.*s", STR_ARG(problems_join(&a, &ps)));
        return -1;
    }
    return world_create(w, "user", j);
}

static void create_job(struct world *w)
{
    autobuf text = { 0 };
    char name[16];

    /* Few names, so that a job is often made again under the name of an earlier one. */
    snprintf(name, sizeof(name), "j%" PRId64, world_between(w, 0, w->profile.has_placer ? 4 : 7));
    if (world_get(w, KIND_JOB, str_of(name)))
        return;
    user_random_job(w, &text, name);
    if (w->is_verbose)
        printf("%s\n", text.p);
    (void)user_create_job(w, buf_view(&text)); /* a refused one is in the history */
}

/* ---- what is done to them ---- */

static struct sim_job *random_live_job(struct world *w)
{
    struct sim_job *found = NULL;
    int64_t n = 0;

    MAP_FOREACH(struct sim_job *, job, &w->jobs)
        if (!job->is_gone && world_between(w, 0, n++) == 0)
            found = job;
    return found;
}

void user_command(struct world *w, struct str job, struct str uid, const char *action)
{
    autoarena a = { 0 };
    struct json *j;
    struct err e = { 0 };
    struct str text = arena_fmt(
        &a,
        "{\"apiVersion\":\"bus.volcano.sh/"
        "v1alpha1\",\"kind\":\"Command\",\"metadata\":{\"name\":\"%.*s-%u\",\"namespace\":\"" SIM_NS
        "\"},\"action\":\"%s\",\"target\":{\"apiVersion\":\"batch.volcano.sh/"
        "v1alpha1\",\"kind\":\"Job\",\"name\":\"%.*s\",\"uid\":\"%.*s\"}}",
        STR_ARG(job), ++w->n_names, action, STR_ARG(job), STR_ARG(uid));

    if (json_parse(&a, text, NULL, &j, &e) < 0)
        world_break(w, "the simulation's own command: %s", e.text);
    else
        (void)world_create(w, "user", j); /* reported as broken inside */
}

static void command(struct world *w, struct sim_job *job)
{
    bool is_stale = world_chance(w, 10);

    user_command(w, str_of(job->name), is_stale ? STR("00000000-0000-0000-0000-000000000000") : str_of(job->uid),
                 PICK(w, commands));
}

static void scale(struct world *w, struct sim_job *job)
{
    autoarena a = { 0 };
    const struct object *o = world_get(w, KIND_JOB, str_of(job->name));
    struct json *body, *task, *spec;
    int64_t total = 0, n = world_between(w, 0, 4), min;

    if (!o || job->is_deleting || !job->n_tasks)
        return;
    body = json_copy(&a, o->root);
    spec = json_get(body, "spec");
    task = json_at(json_get(spec, "tasks"), (size_t)world_between(w, 0, (int64_t)job->n_tasks - 1));
    if (json_get(task, "partitionPolicy"))
        return;
    json_set(task, "replicas", json_int(&a, n));
    if (json_i64(json_get(task, "minAvailable"), 0) > n || world_chance(w, 50))
        json_set(task, "minAvailable", json_int(&a, n));
    JSON_FOREACH(t, json_get(spec, "tasks"))
        total += json_i64(json_get(t, "replicas"), 0);
    min = json_i64(json_get(spec, "minAvailable"), 0);
    if (min > total || world_chance(w, 50))
        json_set(spec, "minAvailable", json_int(&a, MIN_OF(total, MAX_OF(min, 1))));
    (void)world_update(w, "user", body, STORE_MAIN); /* reported as broken inside */
}

static void delete_job(struct world *w, struct sim_job *job)
{
    (void)world_delete(w, "user", KIND_JOB, str_of(job->name), -1,
                       world_chance(w, 50) ? PROPAGATE_FOREGROUND : PROPAGATE_BACKGROUND); /* gone already is fine */
    if (world_chance(w, 50))
        create_job(w);
}

static void change_queue(struct world *w)
{
    autoarena a = { 0 };
    const struct object *o = store_get(w->store, sim_types[KIND_QUEUE], STR_NULL, STR("default"));
    struct json *body;

    if (!o)
        return;
    body = json_copy(&a, o->root);
    json_set(json_need_object(&a, body, "status"), "state",
             json_str(&a, world_chance(w, 50) ? STR("Open") : STR("Closed")));
    (void)world_update(w, "user", body, STORE_STATUS); /* reported as broken inside */
}

void user_step(struct world *w)
{
    struct sim_job *job;
    int64_t dice;

    if (w->profile.has_makers && world_chance(w, 60)) {
        maker_step(w);
        return;
    }
    job = random_live_job(w);
    dice = world_between(w, 0, 99);

    if (!job || dice < 35)
        create_job(w);
    else if (dice < 65)
        command(w, job);
    else if (dice < 82)
        scale(w, job);
    else if (dice < 97)
        delete_job(w, job);
    else
        change_queue(w);
}
