/* driver.c - one turn: take the news, plan what they concern, send the writes */
#include "driver/driver.h"

#include "base/clock.h"
#include "base/util.h"
#include "driver/driver_internal.h"
#include "plugin/plugin.h"

struct str driver_key(struct driver *d, const char *prefix, struct str rest)
{
    buf_reset(&d->key);
    buf_str(&d->key, str_of(prefix));
    buf_str(&d->key, rest);
    return buf_view(&d->key);
}

struct cache_job *driver_key_job(struct driver *d, struct str key)
{
    if (!str_starts(key, STR(KEY_JOB)))
        return NULL;
    return cache_job(&d->cache, str_from(key, strlen(KEY_JOB)));
}

void driver_forget_failure(struct driver *d, struct cache_job *j)
{
    j->drive.failed_type = NULL;
    buf_reset(&j->drive.trouble);
    work_queue_forget(&d->queue, driver_key(d, KEY_JOB, str_of(j->uid)));
}

void driver_set_stale(struct driver *d, struct cache_job *j, int64_t since_ms)
{
    d->n_stale -= j->drive.stale_ms != 0;
    j->drive.stale_ms = since_ms;
    d->n_stale += j->drive.stale_ms != 0;
}

/* ---- what the cache tells ---- */

static void on_job(void *ctx, struct cache_job *job)
{
    struct driver *d = ctx;

    work_queue_add(&d->queue, driver_key(d, KEY_JOB, str_of(job->uid)));
}

static void on_job_gone(void *ctx, struct cache_job *job)
{
    struct driver *d = ctx;

    driver_set_stale(d, job, 0);
    work_queue_drop(&d->queue, driver_key(d, KEY_JOB, str_of(job->uid)));
}

static void on_queue(void *ctx, struct str name)
{
    struct driver *d = ctx;

    work_queue_add(&d->queue, driver_key(d, KEY_QUEUE, name));
    if (str_is(name, "root") || str_is(name, "default"))
        work_queue_add(&d->queue, STR(KEY_ENSURE));
}

static void on_group(void *ctx, const struct object *group)
{
    struct driver *d = ctx;

    driver_key(d, KEY_GROUP, group->namespace);
    buf_char(&d->key, '/');
    buf_str(&d->key, group->name);
    work_queue_add(&d->queue, buf_view(&d->key));
}

static void on_doubt(void *ctx, const struct resource_type *type, struct str namespace, struct str name, struct str uid)
{
    struct driver *d = ctx;
    bool is_job = cache_job(&d->cache, uid) != NULL; /* an object that may be deleted waits until that is known */

    request_read(d, is_job ? driver_key(d, KEY_JOB, uid) : STR_NULL, (struct object_id){ type, namespace, name, uid });
}

static int on_make_keys(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e)
{
    struct driver *d = ctx;

    return job_keys_take(d, a, type, ret, e);
}

static void on_garbage(void *ctx, struct str uid)
{
    struct driver *d = ctx;

    work_queue_add(&d->queue, driver_key(d, KEY_GC, uid));
}

static void on_ask(void *ctx, struct object_id owner, struct str dependent)
{
    struct driver *d = ctx;

    request_read(d, driver_key(d, KEY_GC, dependent), owner);
}

/* ---- life ---- */

static void driver_driver_want(struct driver *d, const struct resource_type *type)
{
    cache_want(&d->cache, type);
    if (d->opt.collects_garbage)
        garbage_want(&d->garbage, type);
    cluster_want(d->cluster, type);
}

/* Questions (reviews, bindings) are never stored; Events own nothing, have no owner, and are many. */
static bool is_collectable(const struct resource_type *type)
{
    return type->use == TYPE_STORED && strcmp(type->kind, "Event") != 0;
}

static void want_all(struct driver *d)
{
    const struct known_types *k = known_types();
    const struct resource_type *types[] = { k->job,      k->pod,        k->group,    k->command, k->queue,
                                            k->priority, k->config_map, k->secret,   k->service, k->policy,
                                            k->claim,    k->flow,       k->template, k->cron };

    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        driver_driver_want(d, types[i]);
    if (d->opt.native_groups) {
        driver_driver_want(d, k->native_workload);
        driver_driver_want(d, k->native_group);
    }
    for (size_t i = 0; d->opt.collects_garbage && i < n_type_rows; i++)
        if (type_at(i) && is_collectable(type_at(i)) && !cache_wants(&d->cache, type_at(i)))
            driver_driver_want(d, type_at(i));
}

void driver_want(struct driver *d, const struct resource_type *type)
{
    if (d->opt.collects_garbage && is_collectable(type) && !cache_wants(&d->cache, type))
        driver_driver_want(d, type);
}

static void want_for_scheduler(struct driver *d)
{
    autoarena scratch = { 0 };

    for (size_t i = 0; i < n_resource_types; i++) {
        const struct resource_type *type = &resource_types[i];

        if (!sched_wants(type_api_version(&scratch, type), str_of(type->kind)))
            continue;
        sched_feed_want(d, type);
        if (!cache_wants(&d->cache, type))
            driver_driver_want(d, type);
    }
}

struct driver *driver_new(struct cluster *c, const struct driver_options *opt)
{
    struct driver *d = xcalloc(1, sizeof(*d));
    struct cache_hooks hooks = {
        .ctx = d, .job = on_job, .job_gone = on_job_gone, .queue = on_queue, .group = on_group, .doubt = on_doubt
    };

    d->cluster = c;
    d->opt = *opt;
    if (!d->opt.max_in_flight)
        d->opt.max_in_flight = 500;
    if (!d->opt.seed)
        d->opt.seed = map_seed_default();
    if (str_empty(d->opt.scheduler_name))
        d->opt.scheduler_name = STR("volcano");
    hooks.make_keys = on_make_keys;
    cache_init(&d->cache, &hooks, d->opt.scheduler_name, d->opt.seed);
    garbage_init(&d->garbage, &d->cache, d->opt.seed);
    d->garbage.ctx = d;
    d->garbage.touch = on_garbage;
    d->garbage.ask = on_ask;
    work_queue_init(&d->queue, d->opt.seed);
    requests_init(d, d->opt.seed);
    job_keys_init(d, d->opt.seed);
    contests_init(d, d->opt.seed);
    schedule_init(d);
    latencies_init(&d->stats);
    workloads_init(d);
    flows_init(d);
    probes_init(d);
    d->last_now_ms = cluster_now_ms(c);
    want_all(d);
    if (d->opt.schedules)
        want_for_scheduler(d);
    if (d->opt.others)
        cluster_want(d->opt.others, known_types()->pod);
    work_queue_add(&d->queue, STR(KEY_ENSURE));
    return d;
}

void driver_free(struct driver *d)
{
    if (!d)
        return;
    requests_done(d);
    job_keys_done(d);
    contests_done(d);
    schedule_done(d);
    workloads_done(d);
    flows_done(d);
    probes_done(d);
    work_queue_done(&d->queue);
    garbage_done(&d->garbage);
    cache_done(&d->cache);
    arena_done(&d->arena);
    buf_done(&d->key);
    free(d);
}

/* ---- a turn ---- */

/* Setting the clock back must not lengthen a wait. The planner compares the deadlines of plans with the wall clock and
 * then asks to be woken again. */
static void tell_time(struct driver *d)
{
    int64_t now_ms = cluster_now_ms(d->cluster);

    if (now_ms > d->last_now_ms)
        d->run_ms += now_ms - d->last_now_ms;
    d->last_now_ms = now_ms;
}

static bool take_events(struct driver *d)
{
    struct cluster_event ev;
    bool any = false;

    while (cluster_next(d->cluster, &ev)) {
        any = true;
        d->stats.events++;
        if (ev.kind == CLUSTER_RESULT) {
            request_result(d, &ev);
            continue;
        }
        if (d->opt.schedules && ev.kind == CLUSTER_SYNCED)
            sched_feed_list_ends(d, &ev);
        cache_event(&d->cache, &ev);
        if (!d->opt.others || ev.type != known_types()->pod)
            workload_event(d, &ev);
        flows_event(d, &ev);
        if (d->opt.schedules)
            sched_feed_event(d, &ev);
        if (d->opt.collects_garbage)
            garbage_event(&d->garbage, &ev);
    }
    for (; d->opt.others && cluster_next(d->opt.others, &ev); any = true)
        workload_event(d, &ev);
    return any;
}

static bool plan_all(struct driver *d)
{
    struct str key;
    bool any = false;

    while (!d->is_full && work_queue_pop(&d->queue, d->run_ms, &key)) {
        driver_plan_key(d, key);
        any = true;
    }
    return any;
}

/* What the controllers and the scheduler want. */
static bool plan_and_schedule(struct driver *d)
{
    int64_t begin_us = clock_mono_us(&clock_real), round_us; /* for the statistics only */
    uint64_t rounds = d->stats.rounds;
    bool any = plan_all(d);

    round_us = clock_mono_us(&clock_real);
    d->stats.plan_us += (uint64_t)(round_us - begin_us);
    if (schedule_turn(d))
        any |= plan_all(d);
    any |= schedule_flush(d);
    any |= requests_send_counts(d);
    round_us = clock_mono_us(&clock_real) - round_us;
    d->stats.round_us += (uint64_t)round_us;
    if (d->stats.rounds != rounds)
        latency_add(&d->stats.round_latency, round_us);
    return any;
}

int64_t driver_turn(struct driver *d, bool *ret_busy)
{
    int64_t due_ms, queue_ms = INT64_MAX;
    bool is_busy;

    d->turn++;
    tell_time(d);
    is_busy = take_events(d);
    is_busy |= requests_tick(d);
    job_keys_tick(d);
    if (cache_is_synced(&d->cache) && !d->is_stopped) {
        is_busy |= plan_and_schedule(d);
        queue_ms = d->is_full ? INT64_MAX : MIN_OF(work_queue_due(&d->queue), schedule_due(d));
        queue_ms = MIN_OF(queue_ms, requests_counts_due(d));
    }
    due_ms = MIN_OF(MIN_OF(requests_due(d), job_keys_due(d)), queue_ms);
    if (ret_busy)
        *ret_busy = is_busy;
    return due_ms == INT64_MAX ? INT64_MAX : d->last_now_ms + MAX_OF(due_ms - d->run_ms, 0);
}

void driver_stop(struct driver *d)
{
    d->is_stopped = true;
}

void driver_stats(const struct driver *d, struct driver_stats *ret)
{
    *ret = d->stats;
    ret->queued = work_queue_count(&d->queue);
    ret->in_flight = d->n_writes;
    ret->is_synced = cache_is_synced(&d->cache);
    ret->job_events = d->cache.job_events;
    ret->jobs = map_count(&d->cache.jobs_name);
    ret->pods = d->opt.schedules ? sched_feed_count(d, known_types()->pod) : d->cache.n_pods;
}
