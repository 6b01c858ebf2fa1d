/* advice_live.c - tests of advice: every suggestion, made by hand in a cluster that runs, starts the job; and what
 * explain says is what the PodGroup's condition says
 *
 * ADVICE_STATES: how many random states; more than a few hundred take minutes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/meta.h"
#include "base/rand.h"
#include "base/util.h"
#include "whatif/advice.h"
#include "whatif/future.h"
#include "job/admit.h"
#include "json/patch.h"
#include "store/store.h"
#include "yaml/yaml.h"

#define T0_MS (1772366400 * INT64_C(1000)) /* 2026-03-01T12:00:00Z */

struct state {
    struct arena a;
    struct rand r;
    VEC(const struct json *) list;
    const struct json *job; /* the one that is asked about */
};

static void state_add(struct state *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void state_add(struct state *s, const char *fmt, ...)
{
    struct yaml_docs docs = { 0 };
    autobuf text = { 0 };
    struct err e = { 0 };
    va_list ap;

    va_start(ap, fmt);
    buf_vfmt(&text, fmt, ap);
    va_end(ap);
    if (yaml_parse(&s->a, arena_str(&s->a, buf_view(&text)), NULL, &docs, &e) < 0)
        fail_msg("the test's own YAML: %s\n%s", e.text, text.p);
    if (str_is(object_kind(docs.v[0]), "Job")) {
        job_default(&s->a, docs.v[0], &(struct admit_env){ 0 });
        s->job = docs.v[0];
    }
    *vec_push(&s->a, &s->list) = docs.v[0];
}

/* ---- a random state: Jobs that were submitted some time ago; what runs follows from that ---- */

static int pick(struct state *s, int n)
{
    return (int)rand_below(&s->r, (uint64_t)n);
}

static void add_cluster(struct state *s)
{
    for (int i = 0, n = 1 + pick(s, 3); i < n; i++)
        state_add(s,
                  "{apiVersion: v1, kind: Node, metadata: {name: n%d}, spec: {unschedulable: %s}, "
                  "status: {allocatable: {cpu: %d, memory: 64Gi, pods: 110}}}",
                  i, pick(s, 8) ? "false" : "true", 2 + 2 * pick(s, 4));
    for (int i = 0; i < 2; i++)
        state_add(s,
                  "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: q%d}, "
                  "spec: {weight: %d%s}, status: {state: %s}}",
                  i, 1 + pick(s, 3), pick(s, 4) ? "" : ", capability: {cpu: 4}", pick(s, 8) ? "Open" : "Closed");
    state_add(s, "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 10}");
}

static void add_job(struct state *s, int i, bool is_new)
{
    static const char queues[][8] = { "q0", "q1", "default", "gone" };
    int replicas = 1 + pick(s, 4), cpu = 1 + pick(s, 3), age = 1 + pick(s, 58);
    struct str server = is_new ? STR("")
                               : arena_fmt(&s->a,
                                           ", uid: 11111111-1111-4111-8111-%012d, creationTimestamp: "
                                           "'2026-03-01T11:%02d:00Z'",
                                           i, 59 - age);

    state_add(
        s,
        "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: j%d%.*s}, spec: {queue: %s%s, tasks: "
        "[{name: w, replicas: %d, template: {spec: {containers: [{name: c, image: i, resources: {requests: "
        "{cpu: %d}}}]}}}]}}",
        i, STR_ARG(server), queues[pick(s, 10) ? pick(s, 3) : 3], pick(s, 4) ? "" : ", priorityClassName: high",
        replicas, cpu);
}

static void state_random(struct state *s, uint64_t seed)
{
    *s = (struct state){ 0 };
    rand_seed(&s->r, seed);
    add_cluster(s);
    for (int i = 0, n = pick(s, 5); i < n; i++)
        add_job(s, i, false);
    add_job(s, 9, pick(s, 3) == 0);
}

static void ask(struct state *s, bool may_fork, struct advice *ret)
{
    struct advice_input in = {
        .objects = s->list.v, .n = s->list.n, .name = object_name(s->job), .now_ms = T0_MS, .may_fork = may_fork
    };

    assert_int_equal(advice_make(&s->a, &in, ret, NULL), 0);
}

/* ---- a cluster at rest ---- */

static int64_t never(void *ctx, const struct json *pod)
{
    (void)ctx, (void)pod;
    return -1;
}

static bool is_new(const struct state *s)
{
    return str_empty(object_uid(s->job));
}

static struct future *at_rest(struct state *s)
{
    struct future_options opt = { .now_ms = T0_MS, .runtime_ms = never };
    struct future *f = future_new(&opt);
    struct err e = { 0 };

    VEC_FOREACH(o, &s->list) {
        if (is_new(s) && *o == s->job)
            continue;
        if (future_add(f, *o, &e) < 0 || (future_lacks_group(*o) && future_add(f, future_group_of(&s->a, *o), &e) < 0))
            fail_msg("%s", e.text);
    }
    (void)future_settle(f);
    return f;
}

static bool group_of(struct state *s, struct future *f, struct sched_group_view *ret)
{
    const struct object *job = future_get(f, type_by_name(STR("Job")), STR("default"), object_name(s->job));
    struct str name;

    if (!job)
        return false;
    name = arena_fmt(&s->a, "%.*s-%.*s", STR_ARG(job->name), STR_ARG(job->uid));
    return sched_group_view(future_sched(f), STR("default"), name, ret);
}

/* ---- the change, by hand ---- */

static struct json *patched(struct state *s, const struct json *object, const struct advice_edit *e)
{
    struct json *ops = json_array(&s->a), *op = json_push(ops, json_object(&s->a)), *ret;
    ptrdiff_t slash = str_rfind_char(e->path, '/');
    struct json *copy = json_copy(&s->a, object);

    if (!json_pointer(copy, str_sub(e->path, 0, (size_t)slash), NULL)) /* /spec/capability/cpu of a queue without one */
        json_set(json_get(copy, "spec"), "capability", json_object(&s->a));
    json_add(op, STR("op"), json_str(&s->a, e->value ? STR("add") : STR("remove")));
    json_add(op, STR("path"), json_str(&s->a, e->path));
    if (e->value)
        json_add(op, STR("value"), json_copy(&s->a, e->value));
    assert_int_equal(json_patch(&s->a, copy, ops, &ret, NULL), 0);
    return ret;
}

static bool is_of_job(const struct state *s, const struct advice_edit *e)
{
    return e->path.n && strcmp(e->kind, "Job") == 0 && str_eq(e->name, object_name(s->job));
}

static void add_nodes(struct state *s, struct future *f, const struct advice_edit *e)
{
    const struct object *like = future_get(f, type_by_name(STR("Node")), STR_NULL, e->name);

    assert_non_null(like);
    for (int64_t i = 0; i < e->count; i++) {
        struct json *node = json_object(&s->a);

        json_add(node, STR("apiVersion"), json_str(&s->a, STR("v1")));
        json_add(node, STR("kind"), json_str(&s->a, STR("Node")));
        json_add(json_add(node, STR("metadata"), json_object(&s->a)), STR("name"),
                 json_str(&s->a, arena_fmt(&s->a, "more-%lld", (long long)i)));
        json_add(node, STR("status"), json_copy(&s->a, json_get(like->root, "status")));
        assert_int_equal(future_add(f, node, NULL), 0);
    }
}

static void make_change(struct state *s, struct future *f, const struct advice_edit *e)
{
    const struct resource_type *type = type_by_name(str_of(e->kind));
    struct store_delete_options gone = { .grace_s = -1 };
    struct json *body;

    if (e->op == EDIT_ADD_NODES) {
        add_nodes(s, f, e);
    } else if (e->op == EDIT_CREATE) {
        assert_int_equal(future_add(f, e->value, NULL), 0);
    } else if (e->op == EDIT_DELETE) {
        assert_int_equal(
            store_delete(future_store(f), &(struct object_key){ type, e->namespace, e->name }, &gone, NULL, NULL), 0);
    } else {
        body = patched(s, future_get(f, type, e->namespace, e->name)->root, e);
        assert_int_equal(store_update(future_store(f), body,
                                      str_starts(e->path, STR("/status")) ? STORE_STATUS : STORE_MAIN, NULL, NULL),
                         0);
    }
}

static void submit(struct state *s, struct future *f, const struct suggestion *g)
{
    struct store_delete_options gone = { .grace_s = -1 };
    struct json *job = json_copy(&s->a, s->job);

    json_remove(json_get(job, "metadata"), "uid");
    json_remove(json_get(job, "metadata"), "creationTimestamp");
    VEC_FOREACH(e, &g->edits)
        if (is_of_job(s, e))
            job = patched(s, job, e);
    if (!is_new(s)) {
        assert_int_equal(
            store_delete(future_store(f),
                         &(struct object_key){ type_by_name(STR("Job")), STR("default"), object_name(job) }, &gone,
                         NULL, NULL),
            0);
        (void)future_settle(f);
    }
    assert_int_equal(future_add(f, job, NULL), 0);
}

/* ---- who lost pods ---- */

struct seat {
    struct str uid, job;
};

struct seats {
    struct state *s;
    VEC(struct seat) list;
};

static void count_seat(void *ctx, const struct object *o)
{
    struct seats *seats = ctx;
    struct arena *a = &seats->s->a;

    if (json_member_text(json_get(o->root, "spec"), "nodeName").n)
        *vec_push(a, &seats->list) =
            (struct seat){ arena_str(a, o->uid),
                           arena_fmt(a, "default/%.*s", STR_ARG(object_annotation(o->root, "volcano.sh/job-name"))) };
}

static struct seats seats_in(struct state *s, struct future *f)
{
    struct seats seats = { .s = s };

    store_list(future_store(f), type_by_name(STR("Pod")), STR_NULL, count_seat, &seats);
    return seats;
}

static bool has_seat(const struct seats *seats, struct str uid)
{
    VEC_FOREACH(seat, &seats->list)
        if (str_eq(seat->uid, uid))
            return true;
    return false;
}

static int64_t told_of(const struct suggestion *g, struct str job)
{
    VEC_FOREACH(v, &g->evicts)
        if (str_eq(v->name, job))
            return v->pods;
    return 0;
}

static bool is_freed(const struct suggestion *g, struct str job)
{
    VEC_FOREACH(e, &g->edits)
        if (e->op == EDIT_DELETE && str_eq(e->name, str_from(job, sizeof("default/") - 1)))
            return true;
    return false;
}

static void check_victims(struct state *s, uint64_t seed, const struct suggestion *g, const struct seats *before,
                          const struct seats *after)
{
    struct str own = arena_fmt(&s->a, "default/%.*s", STR_ARG(object_name(s->job)));

    VEC_FOREACH(seat, &before->list) {
        int64_t lost = 0;

        VEC_FOREACH(other, &before->list)
            lost += str_eq(other->job, seat->job) && !has_seat(after, other->uid);
        if (!str_eq(seat->job, own) && !is_freed(g, seat->job) && lost != told_of(g, seat->job))
            fail_msg("state %llu: %.*s: %.*s loses %lld pods, told %lld", (unsigned long long)seed, STR_ARG(g->text),
                     STR_ARG(seat->job), (long long)lost, (long long)told_of(g, seat->job));
    }
}

static void check_suggestion(struct state *s, uint64_t seed, const struct suggestion *g)
{
    struct future *f = at_rest(s);
    bool is_file = is_new(s) || g->recreates;
    struct seats before = seats_in(s, f), after;
    struct sched_group_view view;

    VEC_FOREACH(e, &g->edits)
        if (!is_file || !is_of_job(s, e))
            make_change(s, f, e);
    if (is_file)
        submit(s, f, g);
    (void)future_settle(f);
    if (!group_of(s, f, &view) || !view.is_whole)
        fail_msg("state %llu: %.*s: does not start it (%s)", (unsigned long long)seed, STR_ARG(g->text),
                 group_of(s, f, &view) ? why_names[view.why->kind] : "no group");
    after = seats_in(s, f);
    check_victims(s, seed, g, &before, &after);
    future_free(f);
}

static uint64_t states(void)
{
    const char *text = getenv("ADVICE_STATES");
    uint64_t n;

    return text && str_to_u64(str_of(text), &n) == 0 ? n : 60;
}

static void test_every_suggestion_works(void **ctx)
{
    size_t tried = 0;

    (void)ctx;
    for (uint64_t seed = 0; seed < states(); seed++) {
        struct advice got;
        struct state s;

        state_random(&s, seed);
        ask(&s, false, &got);
        VEC_FOREACH(g, &got.suggestions) {
            check_suggestion(&s, seed, g);
            tried++;
        }
        arena_done(&s.a);
    }
    assert_true(tried >= states()); /* else the states are not worth their time */
}

/* ---- children ---- */

static void test_the_same_in_children(void **ctx)
{
    (void)ctx;
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct advice here, there;
        struct state s;

        state_random(&s, seed);
        ask(&s, false, &here);
        ask(&s, true, &there);
        assert_int_equal(here.suggestions.n, there.suggestions.n);
        assert_int_equal(here.n_trials, there.n_trials);
        for (size_t i = 0; i < here.suggestions.n; i++) {
            assert_true(str_eq(here.suggestions.v[i].text, there.suggestions.v[i].text));
            assert_int_equal(here.suggestions.v[i].evicts.n, there.suggestions.v[i].evicts.n);
        }
        arena_done(&s.a);
    }
}

/* ---- the condition ---- */

static struct str condition_text(struct state *s, struct future *f)
{
    struct sched_group_view view;
    const struct object *group;

    if (!group_of(s, f, &view))
        return STR_NULL;
    group = future_get(f, type_by_name(STR("PodGroup")), STR("default"), view.name);
    JSON_FOREACH(c, group ? json_find(group->root, "status", "conditions", NULL) : NULL)
        if (str_is(json_member_text(c, "type"), "Unschedulable") && str_is(json_member_text(c, "status"), "True"))
            return json_member_text(c, "message");
    return STR_NULL;
}

/* The condition has Volcano's words around it; of a lack of room they share what refuses on the nodes. */
static const char *said_by_both(const char *why)
{
    const char *causes = strstr(why, " 0/");

    return causes ? causes : why;
}

static void test_the_condition_says_the_same(void **ctx)
{
    size_t compared = 0;

    (void)ctx;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct advice got;
        struct future *f;
        struct state s;
        struct str said;

        state_random(&s, seed);
        ask(&s, false, &got);
        f = at_rest(&s);
        said = condition_text(&s, f);
        /* a name of another group is the name of its job in the advice */
        if (!is_new(&s) && got.state == ADVICE_WAITS && !got.why.other[0]) {
            if (!strstr(arena_cstr(&s.a, said), said_by_both(arena_cstr(&s.a, got.why_text))))
                fail_msg("state %llu: the condition says \"%.*s\", explain \"%.*s\"", (unsigned long long)seed,
                         STR_ARG(said), STR_ARG(got.why_text));
            compared++;
        }
        future_free(f);
        arena_done(&s.a);
    }
    assert_true(compared >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_suggestion_works),
        cmocka_unit_test(test_the_same_in_children),
        cmocka_unit_test(test_the_condition_says_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
