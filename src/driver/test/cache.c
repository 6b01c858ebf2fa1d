/* cache.c - tests of what the controllers see: late, doubled and missing news; the view of a pod */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rand.h"
#include "base/test/check.h"
#include "base/util.h"
#include "driver/cache.h"
#include "driver/test/fixture.h"
#include "job/test/pods_check.h"

/* Stops if the cache does not agree with itself. */
static void cache_check(const struct cache *c)
{
    size_t n_pods = 0, n_named = 0, n_owned = 0;

    map_check(&c->objects);
    map_check(&c->tombstones);
    assert_int_equal(map_count(&c->tombstones), c->ring_n);
    LIST_FOREACH(struct cache_job, j, &c->jobs, link) {
        pods_check(&j->pods);
        n_pods += map_count(&j->pods.by_name);
        n_named += j->object != NULL;
        assert_ptr_equal(cache_job(c, str_of(j->uid)), j);
        assert_true(!j->object || map_get(&c->jobs_name, str_of(j->name_key)) == j);
        MAP_FOREACH(struct job_pod *, pod, &j->pods.by_name)
            assert_ptr_equal(map_u64_get(&c->pod_owner, str_hash(str_of(pod->view.uid), c->seed)), j);
    }
    n_owned = map_count(&c->pod_owner.map);
    assert_true(n_pods == c->n_pods && n_pods == n_owned);
    assert_int_equal(n_named, map_count(&c->jobs_name));
}

struct world {
    struct cache cache;
    struct arena arena;
    struct buf touched; /* "job u1, queue q …" */
};

static void note(struct world *w, const char *what, struct str name)
{
    buf_fmt(&w->touched, "%s%s %.*s", w->touched.n ? ", " : "", what, STR_ARG(name));
}

static void on_job(void *ctx, struct cache_job *j)
{
    note(ctx, "job", str_of(j->uid));
}

static void on_job_gone(void *ctx, struct cache_job *j)
{
    note(ctx, "gone", str_of(j->uid));
}

static void on_queue(void *ctx, struct str name)
{
    note(ctx, "queue", name);
}

static void on_group(void *ctx, const struct object *group)
{
    note(ctx, "group", group->name);
}

static void on_doubt(void *ctx, const struct resource_type *type, struct str namespace, struct str name, struct str uid)
{
    (void)type, (void)namespace, (void)uid;
    note(ctx, "doubt", name);
}

static void world_init(struct world *w)
{
    const struct known_types *k = known_types();
    const struct resource_type *types[] = { k->job,        k->pod,    k->group,   k->command, k->queue, k->priority,
                                            k->config_map, k->secret, k->service, k->policy,  k->claim };
    struct cache_hooks hooks = {
        .ctx = w, .job = on_job, .job_gone = on_job_gone, .queue = on_queue, .group = on_group, .doubt = on_doubt
    };

    *w = (struct world){ 0 };
    cache_init(&w->cache, &hooks, STR("volcano"), 5);
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        cache_want(&w->cache, types[i]);
}

static void world_done(struct world *w)
{
    cache_check(&w->cache);
    cache_done(&w->cache);
    buf_done(&w->touched);
    arena_done(&w->arena);
}

#define assert_touched(w, want)                                                                                        \
    do {                                                                                                               \
        if (!str_is(buf_view(&(w)->touched), (want)))                                                                  \
            fail_msg("want touched: %s\n got: %.*s", (want), STR_ARG(buf_view(&(w)->touched)));                        \
        buf_reset(&(w)->touched);                                                                                      \
    } while (0)

static void tell(struct world *w, enum cluster_event_kind kind, struct object *take)
{
    struct cluster_event ev = { .kind = kind, .type = take->type, .object = take };

    cache_event(&w->cache, &ev);
    cache_check(&w->cache);
    object_unref(take);
}

static void tell_type(struct world *w, enum cluster_event_kind kind, const struct resource_type *type, uint64_t rev)
{
    struct cluster_event ev = { .kind = kind, .type = type, .rev = rev };

    cache_event(&w->cache, &ev);
    cache_check(&w->cache);
}

static struct object *job(struct world *w, const char *uid, uint64_t rev, int replicas, const char *status)
{
    struct str text = arena_fmt(
        &w->arena,
        "apiVersion: batch.volcano.sh/v1alpha1\n"
        "kind: Job\n"
        "metadata: {name: j, namespace: ns, uid: %s}\n"
        "spec: {queue: q, tasks: [{name: t, replicas: %d, template: {spec: {containers: [{name: "
        "c, image: i}]}}}]}\n"
        "status: {%s}\n",
        uid, replicas, status);

    return object_of(&w->arena, rev, text.p);
}

static struct object *pod(struct world *w, int index, const char *uid, const char *owner, uint64_t rev,
                          const char *phase)
{
    struct str text = arena_fmt(&w->arena,
                                "apiVersion: v1\n"
                                "kind: Pod\n"
                                "metadata:\n"
                                "  name: j-t-%d\n"
                                "  namespace: ns\n"
                                "  uid: %s\n"
                                "  annotations: {volcano.sh/task-spec: t, volcano.sh/task-index: '%d', "
                                "volcano.sh/job-version: '0'}\n"
                                "  ownerReferences: [{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: j, uid: "
                                "%s, controller: true}]\n"
                                "status: {phase: %s}\n",
                                index, uid, index, owner, phase);

    return object_of(&w->arena, rev, text.p);
}

static struct object *owned(struct world *w, const char *api, const char *kind, const char *name, const char *uid,
                            const char *owner, uint64_t rev, const char *rest)
{
    struct str text = arena_fmt(&w->arena,
                                "apiVersion: %s\n"
                                "kind: %s\n"
                                "metadata:\n"
                                "  name: %s\n"
                                "  namespace: ns\n"
                                "  uid: %s\n"
                                "  ownerReferences: [{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: j, uid: "
                                "%s, controller: true}]\n"
                                "%s\n",
                                api, kind, name, uid, owner, rest);

    return object_of(&w->arena, rev, text.p);
}

static struct object *group(struct world *w, const char *uid, const char *owner, uint64_t rev, const char *phase)
{
    struct str rest = arena_fmt(&w->arena, "spec: {queue: q}\nstatus: {phase: %s}", phase);

    return owned(w, "scheduling.volcano.sh/v1beta1", "PodGroup", "j-pg", uid, owner, rev, rest.p);
}

static uint32_t live(struct world *w, const char *uid, enum pod_phase phase)
{
    struct cache_job *j = cache_job(&w->cache, str_of(uid));

    return j ? pods_count(&j->pods, phase, false) : 0;
}

/* ---- order of news ---- */

static void job_is_a_defaulted_view(void **state)
{
    struct world w;
    struct cache_job *j;
    const struct job_task *task;

    (void)state;
    world_init(&w);
    tell(&w, CLUSTER_PUT, job(&w, "u1", 5, 3, ""));
    assert_touched(&w, "job u1");
    j = cache_job(&w.cache, STR("u1"));
    assert_non_null(j);
    assert_int_equal(j->job.spec.min_available, 3); /* defaulted, though nobody admitted it */
    assert_true(str_is(j->job.spec.scheduler_name, "volcano"));
    assert_non_null(json_find(j->job.raw, "spec", "tasks", NULL));
    cache_job_need_set(j);
    assert_non_null(j->set);
    task = &j->job.spec.tasks.v[0];
    tell(&w, CLUSTER_PUT, job(&w, "u1", 6, 3, "state: {phase: Running}, version: 1"));
    assert_true(str_is(j->job.status.phase, "Running"));
    assert_int_equal(j->pods.version, 1);
    assert_true(j->has_set && task == &j->job.spec.tasks.v[0]); /* the same spec: plugins keep their pointers */
    tell(&w, CLUSTER_PUT, job(&w, "u1", 7, 4, "state: {phase: Running}"));
    assert_false(j->has_set);
    assert_int_equal(j->pods.tasks[0].n, 4);
    world_done(&w);
}

static void bad_spec_is_a_problem(void **state)
{
    struct world w;
    struct cache_job *j;

    (void)state;
    world_init(&w);
    tell(&w, CLUSTER_PUT, job(&w, "u1", 5, -1, ""));
    j = cache_job(&w.cache, STR("u1"));
    cache_job_need_set(j);
    assert_null(j->set);
    assert_true(str_has(j->spec_problem, STR("replicas")));
    world_done(&w);
}

/* minSuccess beyond the replicas is unwise, but it can be carried out: two controllers must not disagree about it. */
static void an_unwise_spec_is_no_problem(void **state)
{
    static const char *const phases[] = { "''", "Pending", "Running", "Restarting" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        struct world w;
        struct object *o;
        struct cache_job *j;

        world_init(&w);
        o = job(&w, "u1", 5, 1, arena_fmt(&w.arena, "state: {phase: %s}", phases[i]).p);
        json_set(json_get(o->root, "spec"), "minSuccess", json_int(&w.arena, 2));
        tell(&w, CLUSTER_PUT, o);
        j = cache_job(&w.cache, STR("u1"));
        cache_job_need_set(j);
        if (!j->set)
            fail_msg("phase %s: %.*s", phases[i], STR_ARG(j->spec_problem));
        world_done(&w);
    }
}

static void old_news_is_ignored(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    tell(&w, CLUSTER_PUT, job(&w, "u1", 5, 3, "state: {phase: Running}"));
    tell(&w, CLUSTER_PUT, pod(&w, 0, "p1", "u1", 6, "Running"));
    pods_looked(&cache_job(&w.cache, STR("u1"))->pods);
    buf_reset(&w.touched);
    tell(&w, CLUSTER_PUT, job(&w, "u1", 5, 3, "state: {phase: Running}")); /* twice */
    tell(&w, CLUSTER_PUT, job(&w, "u1", 4, 3, "state: {phase: Pending}")); /* late */
    tell(&w, CLUSTER_PUT, pod(&w, 0, "p1", "u1", 6, "Running"));
    tell(&w, CLUSTER_PUT, pod(&w, 0, "p1", "u1", 3, "Pending"));
    tell(&w, CLUSTER_PUT, pod(&w, 0, "p1", "u1", 8, "Running")); /* new, but nothing we look at */
    assert_touched(&w, "");
    assert_int_equal(live(&w, "u1", POD_RUNNING), 1);
    assert_true(str_is(cache_job(&w.cache, STR("u1"))->job.status.phase, "Running"));
    tell(&w, CLUSTER_PUT, pod(&w, 0, "p1", "u1", 9, "Failed"));
    assert_touched(&w, "job u1");
    world_done(&w);
}

static void gone_stays_gone(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    tell(&w, CLUSTER_PUT, job(&w, "u1", 5, 3, ""));
    tell(&w, CLUSTER_PUT, pod(&w, 0, "p1", "u1", 6, "Running"));
    tell(&w, CLUSTER_GONE, pod(&w, 0, "p1", "u1", 7, "Running"));
    assert_int_equal(w.cache.n_pods, 0);
    tell(&w, CLUSTER_PUT, pod(&w, 0, "p1", "u1", 7, "Running")); /* late */
    assert_int_equal(w.cache.n_pods, 0);
    tell(&w, CLUSTER_GONE, job(&w, "u1", 8, 3, ""));
    buf_reset(&w.touched);
    tell(&w, CLUSTER_PUT, job(&w, "u1", 9, 3, ""));
    assert_null(cache_job(&w.cache, STR("u1")));
    tell(&w, CLUSTER_PUT, pod(&w, 1, "p2", "u1", 10, "Running")); /* nobody's pod is not kept */
    assert_int_equal(w.cache.n_pods, 0);
    assert_touched(&w, "");
    world_done(&w);
}

/* A watch by label tells a pod that has lost its label as gone. */
static void what_is_shown_again_is_there_again(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    tell(&w, CLUSTER_PUT, job(&w, "u1", 5, 3, ""));
    tell(&w, CLUSTER_PUT, pod(&w, 0, "p0", "u1", 6, "Running"));
    tell(&w, CLUSTER_GONE, pod(&w, 0, "p0", "u1", 9, "Running"));
    assert_int_equal(w.cache.n_pods, 0);
    tell(&w, CLUSTER_PUT, pod(&w, 0, "p0", "u1", 9, "Running")); /* late */
    assert_int_equal(w.cache.n_pods, 0);
    tell(&w, CLUSTER_PUT, pod(&w, 0, "p0", "u1", 12, "Running"));
    assert_int_equal(w.cache.n_pods, 1);
    cache_gone(&w.cache, known_types()->pod, STR("ns"), STR("j-t-0"), STR("p0")); /* a read found nothing */
    tell(&w, CLUSTER_PUT, pod(&w, 0, "p0", "u1", 13, "Running"));
    assert_int_equal(w.cache.n_pods, 0);
    world_done(&w);
}

static void tombstones_are_bounded(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    for (int i = 0; i < CACHE_TOMBSTONES + 10; i++)
        cache_bury(&w.cache, arena_fmt(&w.arena, "uid-%d", i), 1);
    assert_false(cache_is_buried(&w.cache, STR("uid-9"), 0));
    assert_true(cache_is_buried(&w.cache, STR("uid-10"), 0));
    assert_int_equal(map_count(&w.cache.tombstones), CACHE_TOMBSTONES);
    world_done(&w);
}

static void pods_may_come_before_their_job(void **state)
{
    struct world w;
    struct cache_job *j;

    (void)state;
    world_init(&w);
    tell(&w, CLUSTER_PUT, pod(&w, 0, "p1", "u1", 6, "Running"));
    tell(&w, CLUSTER_PUT, pod(&w, 1, "p2", "u1", 7, "Pending"));
    tell(&w, CLUSTER_PUT, group(&w, "g1", "u1", 8, "Inqueue"));
    assert_touched(&w, "queue q");
    assert_int_equal(live(&w, "u1", POD_RUNNING), 0);
    tell(&w, CLUSTER_GONE, pod(&w, 1, "p2", "u1", 9, "Pending"));
    tell(&w, CLUSTER_PUT, job(&w, "u1", 5, 3, ""));
    assert_touched(&w, "job u1");
    assert_int_equal(live(&w, "u1", POD_RUNNING), 1);
    assert_int_equal(live(&w, "u1", POD_PENDING), 0);
    j = cache_job(&w.cache, STR("u1"));
    assert_false(list_is_empty(&j->groups));
    assert_false(list_is_empty(&j->pods.to_look));
    world_done(&w);
}

static void waiting_entries_do_not_stay(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    tell(&w, CLUSTER_PUT, pod(&w, 0, "p1", "never", 6, "Running"));
    assert_non_null(cache_job(&w.cache, STR("never")));
    tell(&w, CLUSTER_GONE, pod(&w, 0, "p1", "never", 7, "Running"));
    assert_null(cache_job(&w.cache, STR("never")));
    world_done(&w);
}

/* B16 to B18 */
static void same_name_is_another_job(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    tell(&w, CLUSTER_PUT, job(&w, "old", 5, 3, "state: {phase: Running}"));
    tell(&w, CLUSTER_PUT, pod(&w, 0, "p1", "old", 6, "Running"));
    buf_reset(&w.touched);
    tell(&w, CLUSTER_PUT, job(&w, "new", 10, 3, "")); /* the GONE of the old one is late */
    assert_touched(&w, "gone old, job new");
    assert_null(cache_job(&w.cache, STR("old")));
    assert_int_equal(live(&w, "new", POD_RUNNING), 0);
    tell(&w, CLUSTER_PUT, job(&w, "old", 11, 3, "state: {phase: Running}"));
    tell(&w, CLUSTER_GONE, job(&w, "old", 9, 3, ""));
    tell(&w, CLUSTER_PUT, pod(&w, 0, "p1", "old", 12, "Failed"));
    assert_touched(&w, "");
    tell(&w, CLUSTER_GONE, pod(&w, 0, "p1", "old", 13, "Failed"));
    assert_touched(&w, "job new"); /* its pod of that name can be made now */
    assert_non_null(cache_job(&w.cache, STR("new")));
    tell(&w, CLUSTER_PUT, job(&w, "older", 2, 3, "")); /* one from before, never heard of */
    assert_null(cache_job(&w.cache, STR("older")));
    assert_touched(&w, "");
    world_done(&w);
}

static void same_pod_name_is_another_pod(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    tell(&w, CLUSTER_PUT, job(&w, "u1", 5, 3, ""));
    tell(&w, CLUSTER_PUT, pod(&w, 0, "p1", "u1", 6, "Failed"));
    tell(&w, CLUSTER_PUT, pod(&w, 0, "p2", "u1", 8, "Running"));
    assert_int_equal(w.cache.n_pods, 1);
    tell(&w, CLUSTER_GONE, pod(&w, 0, "p1", "u1", 7, "Failed"));
    tell(&w, CLUSTER_PUT, pod(&w, 0, "p1", "u1", 9, "Failed"));
    assert_int_equal(live(&w, "u1", POD_RUNNING), 1);
    assert_int_equal(live(&w, "u1", POD_FAILED), 0);
    world_done(&w);
}

static void only_our_jobs_own(void **state)
{
    struct world w;
    struct object *o;
    struct json *ref;

    (void)state;
    world_init(&w);
    o = pod(&w, 0, "p1", "u1", 6, "Running");
    ref = json_at(json_find(o->root, "metadata", "ownerReferences", NULL), 0);
    json_set(ref, "apiVersion", json_str(&w.arena, STR("batch/v1"))); /* B20 */
    tell(&w, CLUSTER_PUT, o);
    assert_int_equal(w.cache.n_pods, 0);
    world_done(&w);
}

/* ---- lists ---- */

static void list_removes_what_it_does_not_tell(void **state)
{
    const struct known_types *k = known_types();
    struct world w;

    (void)state;
    world_init(&w);
    tell(&w, CLUSTER_PUT, job(&w, "u1", 5, 3, ""));
    tell(&w, CLUSTER_PUT, pod(&w, 0, "p0", "u1", 6, "Running"));
    tell(&w, CLUSTER_PUT, pod(&w, 1, "p1", "u1", 7, "Running"));
    tell(&w, CLUSTER_PUT, pod(&w, 2, "p2", "u1", 20, "Running")); /* newer than the list: from the answer to a write */
    buf_reset(&w.touched);
    tell_type(&w, CLUSTER_RELIST, k->pod, 0);
    assert_int_equal(w.cache.n_pods, 3); /* nothing goes before the list is complete */
    tell(&w, CLUSTER_PUT, pod(&w, 1, "p1", "u1", 7, "Running"));
    assert_touched(&w, "");
    tell_type(&w, CLUSTER_SYNCED, k->pod, 10);
    assert_touched(&w, "job u1, doubt j-t-2");
    assert_int_equal(w.cache.n_pods, 2);
    assert_true(cache_is_buried(&w.cache, STR("p0"), 10));

    tell_type(&w, CLUSTER_RELIST, k->job, 0);
    tell_type(&w, CLUSTER_SYNCED, k->job, 30);
    assert_null(cache_job(&w.cache, STR("u1")));
    assert_touched(&w, "gone u1");
    assert_int_equal(w.cache.n_pods, 0);
    world_done(&w);
}

static void objects_of_a_list_go_too(void **state)
{
    const struct known_types *k = known_types();
    struct world w;

    (void)state;
    world_init(&w);
    tell(&w, CLUSTER_PUT, job(&w, "u1", 5, 3, ""));
    tell(&w, CLUSTER_PUT, owned(&w, "v1", "ConfigMap", "j-svc", "c1", "u1", 6, ""));
    cache_job(&w.cache, STR("u1"))->drive.objects_are_fine = true;
    buf_reset(&w.touched);
    tell_type(&w, CLUSTER_RELIST, k->config_map, 0);
    tell(&w, CLUSTER_PUT, owned(&w, "v1", "ConfigMap", "other", "c2", "u9", 9, ""));
    tell_type(&w, CLUSTER_SYNCED, k->config_map, 0); /* an unknown revision: that of the newest object told */
    assert_touched(&w, "job u1");
    assert_null(cache_find(&w.cache, k->config_map, STR("ns"), STR("j-svc")));
    assert_non_null(cache_find(&w.cache, k->config_map, STR("ns"), STR("other")));
    assert_false(cache_job(&w.cache, STR("u1"))->drive.objects_are_fine);
    world_done(&w);
}

static void is_synced_when_all_types_are(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    for (size_t i = 0; i < w.cache.n_types; i++) {
        assert_false(cache_is_synced(&w.cache));
        tell_type(&w, CLUSTER_RELIST, w.cache.types[i].type, 0);
        assert_false(cache_is_synced(&w.cache));
        tell_type(&w, CLUSTER_SYNCED, w.cache.types[i].type, 0);
    }
    assert_true(cache_is_synced(&w.cache));
    tell_type(&w, CLUSTER_RELIST, w.cache.types[0].type, 0);
    assert_true(cache_is_synced(&w.cache)); /* what is known stays known */
    world_done(&w);
}

/* ---- queues, groups, commands ---- */

static struct object *queue(struct world *w, uint64_t rev, const char *state)
{
    struct str text = arena_fmt(&w->arena,
                                "apiVersion: scheduling.volcano.sh/v1beta1\n"
                                "kind: Queue\n"
                                "metadata: {name: q, uid: q1}\n"
                                "status: {state: %s}\n",
                                state);

    return object_of(&w->arena, rev, text.p);
}

static void queue_counts_groups(void **state)
{
    struct world w;
    const struct cache_queue *q;

    (void)state;
    world_init(&w);
    tell(&w, CLUSTER_PUT, group(&w, "g1", "u1", 5, "''"));
    assert_touched(&w, "queue q, group j-pg");
    tell(&w, CLUSTER_PUT, queue(&w, 6, "Open"));
    q = cache_queue(&w.cache, STR("q"));
    assert_int_equal(q->counts[0], 1);
    tell(&w, CLUSTER_PUT, group(&w, "g1", "u1", 7, "Running"));
    assert_int_equal(q->counts[0], 0);
    assert_int_equal(q->counts[2], 1);
    tell(&w, CLUSTER_GONE, group(&w, "g1", "u1", 8, "Running"));
    assert_int_equal(q->n_groups, 0);
    tell(&w, CLUSTER_GONE, queue(&w, 9, "Open"));
    assert_null(cache_queue(&w.cache, STR("q")));
    world_done(&w);
}

static void queue_state_wakes_its_jobs(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    tell(&w, CLUSTER_PUT, job(&w, "u1", 5, 3, ""));
    assert_int_equal(cache_queue_state(cache_job(&w.cache, STR("u1"))->queue), QUEUE_UNKNOWN);
    buf_reset(&w.touched);
    tell(&w, CLUSTER_PUT, queue(&w, 6, "''"));
    assert_touched(&w, "queue q, job u1");
    tell(&w, CLUSTER_PUT, queue(&w, 7, "Open"));
    assert_touched(&w, "queue q");
    tell(&w, CLUSTER_PUT, queue(&w, 8, "Closed"));
    assert_touched(&w, "queue q, job u1");
    tell(&w, CLUSTER_GONE, queue(&w, 9, "Closed"));
    assert_touched(&w, "queue q, job u1");
    world_done(&w);
}

static void commands_go_by_uid(void **state)
{
    static const char text[] = "apiVersion: bus.volcano.sh/v1alpha1\n"
                               "kind: Command\n"
                               "metadata: {name: c, namespace: ns, uid: c1}\n"
                               "action: AbortJob\n"
                               "target: {apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: j, uid: u1}\n";
    struct world w;

    (void)state;
    world_init(&w);
    tell(&w, CLUSTER_PUT, object_of(&w.arena, 4, text)); /* before its job */
    assert_touched(&w, "");
    tell(&w, CLUSTER_PUT, job(&w, "u1", 5, 3, ""));
    assert_false(list_is_empty(&cache_job(&w.cache, STR("u1"))->commands));
    tell(&w, CLUSTER_PUT, job(&w, "u2", 6, 3, "")); /* made anew under the same name (B22) */
    assert_true(list_is_empty(&cache_job(&w.cache, STR("u2"))->commands));
    tell(&w, CLUSTER_GONE, object_of(&w.arena, 7, text));
    world_done(&w);
}

/* A PodGroup's status changes often; what was found in order stays in order. */
static void group_status_keeps_objects_fine(void **state)
{
    struct world w;
    struct cache_job *j;

    (void)state;
    world_init(&w);
    tell(&w, CLUSTER_PUT, job(&w, "u1", 5, 3, ""));
    tell(&w, CLUSTER_PUT, group(&w, "g1", "u1", 6, "Pending"));
    j = cache_job(&w.cache, STR("u1"));
    j->drive.objects_are_fine = true;
    buf_reset(&w.touched);
    tell(&w, CLUSTER_PUT, group(&w, "g1", "u1", 7, "Inqueue"));
    assert_true(j->drive.objects_are_fine);
    assert_true(str_has(buf_view(&w.touched), STR("job u1")));
    tell(&w, CLUSTER_PUT, group(&w, "g2", "u1", 9, "Inqueue"));
    assert_false(j->drive.objects_are_fine);
    world_done(&w);
}

static void memo_is_recalled(void **state)
{
    struct world w;
    struct cache_job *j;

    (void)state;
    world_init(&w);
    tell(&w, CLUSTER_PUT, job(&w, "u1", 5, 4, "controlledResources: {pumice-seen-t: '0-2', pumice-done-t: '1'}"));
    j = cache_job(&w.cache, STR("u1"));
    assert_int_equal(j->pods.tasks[0].seen[0], 7);
    assert_int_equal(j->pods.tasks[0].done[0], 2);
    tell(&w, CLUSTER_PUT, pod(&w, 3, "p3", "u1", 6, "Running"));
    tell(&w, CLUSTER_GONE, pod(&w, 3, "p3", "u1", 7, "Running"));
    tell(&w, CLUSTER_PUT, job(&w, "u1", 8, 4, "x: y, controlledResources: {pumice-seen-t: '0-2', pumice-done-t: '1'}"));
    assert_int_equal(j->pods.tasks[0].seen[0], 15); /* what we saw ourselves is not forgotten by an old note */
    world_done(&w);
}

/* Any order, doubled, with the last news of each pod among them: the same end. */
static void order_does_not_matter(void **state)
{
    enum { PODS = 6, REVS = 4, NEWS = PODS * REVS };

    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct world w;
        struct rand r;
        int order[NEWS * 2];

        rand_seed(&r, seed);
        world_init(&w);
        for (int i = 0; i < NEWS * 2; i++)
            order[i] = i % NEWS;
        for (int i = NEWS * 2 - 1; i > 0; i--) {
            int at = (int)rand_below(&r, (uint64_t)i + 1), swap = order[i];

            order[i] = order[at];
            order[at] = swap;
        }
        for (int i = 0; i < NEWS * 2; i++) {
            static const char *const phases[REVS] = { "Pending", "Running", "Succeeded", "Succeeded" };
            int n = order[i] / REVS, rev = order[i] % REVS;
            char uid[16];

            (void)snprintf(uid, sizeof(uid), "p%d", n);
            if (i == NEWS)
                tell(&w, CLUSTER_PUT, job(&w, "u1", 5, PODS, ""));
            /* The last news of odd pods is that they are gone. */
            tell(&w, n % 2 && rev == REVS - 1 ? CLUSTER_GONE : CLUSTER_PUT,
                 pod(&w, n, uid, "u1", (uint64_t)(10 + n * REVS + rev), phases[rev]));
        }
        if (live(&w, "u1", POD_SUCCEEDED) != PODS / 2 || w.cache.n_pods != PODS / 2)
            fail_msg("seed %llu: %zu pods, %u succeeded", (unsigned long long)seed, w.cache.n_pods,
                     live(&w, "u1", POD_SUCCEEDED));
        world_done(&w);
    }
}

/* ---- the view of a pod ---- */

static void pod_view_has_all(void **state)
{
    static const char text[] =
        "apiVersion: v1\n"
        "kind: Pod\n"
        "metadata:\n"
        "  name: j-a-b-12\n"
        "  namespace: ns\n"
        "  uid: p1\n"
        "  creationTimestamp: '2026-03-01T09:30:00Z'\n"
        "  deletionTimestamp: '2026-03-01T09:40:00Z'\n"
        "  labels: {volcano.sh/task-spec: a-b}\n"
        "  annotations: {volcano.sh/job-version: '7', volcano.sh/controller-out-of-sync: 'true'}\n"
        "status:\n"
        "  phase: Failed\n"
        "  conditions: [{type: DisruptionTarget, status: 'True'}]\n"
        "  containerStatuses:\n"
        "  - {name: a, ready: true, restartCount: 2, state: {terminated: {exitCode: 0, finishedAt: "
        "'2026-03-01T09:31:00Z'}}}\n"
        "  - {name: b, ready: true, restartCount: 1, state: {terminated: {exitCode: 137, finishedAt: "
        "'2026-03-01T09:32:00Z'}}}\n"
        "  - {name: c, ready: true, state: {running: {}}}\n"
        "  initContainerStatuses:\n"
        "  - {name: i, ready: false, restartCount: 4, state: {terminated: {exitCode: 3}}}\n";
    struct arena a = { 0 };
    struct object *o = object_of(&a, 42, text);
    struct pod_view v;
    struct str task;
    uint32_t index;

    (void)state;
    pod_view_decode(o, &v, &task, &index);
    assert_string_equal(v.uid, "p1");
    assert_int_equal(v.rev, 42);
    assert_int_equal(v.created_ms, 1772357400000);
    assert_int_equal(v.finished_ms, v.created_ms + 120000);
    assert_int_equal(v.version, 7);
    assert_int_equal(v.restarts, 7);
    assert_int_equal(v.n_exit_codes, 2); /* main containers first, then init ones (B11) */
    assert_int_equal(v.exit_codes[0], 137);
    assert_int_equal(v.exit_codes[1], 3);
    assert_int_equal(v.phase, POD_FAILED);
    assert_true(v.is_deleting && v.is_ready && v.is_marked && v.is_disrupted);
    assert_true(str_is(task, "a-b"));
    assert_int_equal(index, 12); /* from the name: there is no annotation */
    object_unref(o);
    arena_done(&a);
}

static void pod_view_of_next_to_nothing(void **state)
{
    static const struct {
        const char *text;
        uint32_t index;
        enum pod_phase phase;
    } cases[] = {
        { "apiVersion: v1\nkind: Pod\nmetadata: {name: x, namespace: ns, uid: p1}\n", UINT32_MAX, POD_PENDING },
        { "apiVersion: v1\nkind: Pod\nmetadata: {name: x-4294967295, namespace: ns, uid: p1}\nstatus: {phase: Odd}\n",
          UINT32_MAX, POD_UNKNOWN },
        { "apiVersion: v1\nkind: Pod\nmetadata: {name: x-3, namespace: ns, uid: "
          "0123456789012345678901234567890123456789012345678901234567890123456789, annotations: 7, ownerReferences: "
          "x}\n"
          "status: {containerStatuses: {a: b}, conditions: 3}\n",
          3, POD_PENDING },
        { "apiVersion: v1\nkind: Pod\nmetadata: {name: x-3, namespace: ns, uid: p1, annotations: "
          "{volcano.sh/task-index: '8', volcano.sh/job-version: '99999999999999999999'}}\nstatus: 3\n",
          8, POD_PENDING },
    };
    struct arena a = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct object *o = object_of(&a, 1, cases[i].text);
        struct pod_view v;
        struct str task;
        uint32_t index;

        pod_view_decode(o, &v, &task, &index);
        if (index != cases[i].index || v.phase != cases[i].phase || v.version != -1 || v.is_ready || v.is_deleting)
            fail_msg("case %zu: index %u, phase %d, version %d", i, index, v.phase, v.version);
        object_unref(o);
    }
    arena_done(&a);
}

/* Whose gang it is in decides which kind of PodGroup its job has. */
static void pod_view_of_groups(void **state)
{
    static const struct {
        const char *more;
        bool is_native;
    } cases[] = {
        { "", false },
        { "spec: {schedulingGroup: {podGroupName: j-u}}\n", true },
        { "spec: {schedulingGroup: {podGroupName: of-a-user}}\n", false },
        { "spec: {schedulingGroup: {}}\n", false },
        { "spec: {schedulingGroup: 3}\n", false },
    };
    struct arena a = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf text = { 0 };
        struct object *o;
        struct pod_view v;
        struct str task;
        uint32_t index;

        buf_fmt(&text,
                "apiVersion: v1\nkind: Pod\nmetadata: {name: x-3, namespace: ns, uid: p1, annotations: "
                "{scheduling.k8s.io/group-name: j-u}}\n%s",
                cases[i].more);
        o = object_of(&a, 1, arena_cstr(&a, buf_view(&text)));
        pod_view_decode(o, &v, &task, &index);
        if (v.is_native != cases[i].is_native)
            fail_msg("case %zu", i);
        object_unref(o);
    }
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_is_a_defaulted_view),
        cmocka_unit_test(bad_spec_is_a_problem),
        cmocka_unit_test(an_unwise_spec_is_no_problem),
        cmocka_unit_test(old_news_is_ignored),
        cmocka_unit_test(gone_stays_gone),
        cmocka_unit_test(what_is_shown_again_is_there_again),
        cmocka_unit_test(tombstones_are_bounded),
        cmocka_unit_test(pods_may_come_before_their_job),
        cmocka_unit_test(waiting_entries_do_not_stay),
        cmocka_unit_test(same_name_is_another_job),
        cmocka_unit_test(same_pod_name_is_another_pod),
        cmocka_unit_test(only_our_jobs_own),
        cmocka_unit_test(list_removes_what_it_does_not_tell),
        cmocka_unit_test(objects_of_a_list_go_too),
        cmocka_unit_test(pod_view_of_groups),
        cmocka_unit_test(is_synced_when_all_types_are),
        cmocka_unit_test(queue_counts_groups),
        cmocka_unit_test(queue_state_wakes_its_jobs),
        cmocka_unit_test(commands_go_by_uid),
        cmocka_unit_test(group_status_keeps_objects_fine),
        cmocka_unit_test(memo_is_recalled),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(pod_view_has_all),
        cmocka_unit_test(pod_view_of_next_to_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
