/* config.c - tests of the scheduler's settings: what Volcano's files mean here, and what is refused */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rand.h"
#include "base/util.h"
#include "sched/sched.h"
#include "sched/test/check.h"
#include "yaml/yaml.h"

/* All that a configuration says, on one line. */
static void show(struct buf *out, const struct sched_config *c)
{
    static const char *const words[] = { "admit ", "place ", "preempt ", "reclaim ", "drf ", "conformance " };
    const bool on[] = { c->admits, c->places, c->preempts, c->reclaims, c->has_drf, c->has_conformance };

    for (size_t i = 0; i < ARRAY_LEN(on); i++)
        buf_fmt(out, "%s", on[i] ? words[i] : "");
    buf_fmt(out, "|");
    for (size_t i = 0; i < SCORE_KIND_MAX; i++)
        if (c->weights[i])
            buf_fmt(out, " %s=%d", score_names[i], c->weights[i]);
    buf_fmt(out, " | %g sla %ld reserve %ld admission %ld run %ld unbind %ld", c->overcommit, (long)c->sla_ms,
            (long)c->reserve_after_ms, (long)c->admission_ms, (long)c->min_run_ms, (long)c->unbind_ms);
}

static int read_text(struct arena *a, const char *text, struct sched_config *ret, struct problems *ps)
{
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };

    *ps = (struct problems){ .arena = a };
    if (yaml_parse(a, str_of(text), NULL, &docs, &e) < 0)
        fail_msg("bad test: %s", e.text);
    return sched_config_read(a, docs.n ? docs.v[0] : NULL, ret, ps);
}

static void show_problems(struct buf *out, struct problems *ps)
{
    problems_sort(ps);
    VEC_FOREACH(p, &ps->list)
        buf_fmt(out, "%s%u %s: %.*s: %.*s", out->n ? "\n" : "", p->line,
                p->level == PROBLEM_ERROR ? "error" : "warning", STR_ARG(p->path), STR_ARG(p->text));
    buf_append(out, "", 0);
}

#define ACTIONS  "actions: \"enqueue, allocate, backfill\"\n"
#define TIMES    " sla 0 reserve 60000 admission 300000 run 60000 unbind 60000"
#define PLUGIN   ACTIONS "tiers:\n- plugins:\n  - name: "
#define STOCK_ON "admit place drf conformance |"

#define NODES " balancedresource=1 nodeaffinity=2 podaffinity=2 tainttoleration=3 imagelocality=1 podtopologyspread=2"

static const struct {
    const char *label, *text, *want, *problems;
} good[] = {
    { "nothing at all", "",
      "admit place preempt reclaim drf conformance | binpack=1" NODES " task-topology=1 network-topology=1 | 1.2" TIMES,
      "" },
    { "compiled into Volcano",
      ACTIONS "tiers:\n- plugins:\n  - name: priority\n  - name: gang\n  - name: conformance\n"
              "- plugins:\n  - name: overcommit\n  - name: drf\n  - name: predicates\n  - name: proportion\n"
              "  - name: nodeorder\n",
      STOCK_ON " leastrequested=1" NODES " | 1.2" TIMES, "" },
    { "as the Helm chart has it",
      ACTIONS "tiers:\n- plugins:\n  - name: priority\n  - name: gang\n    enablePreemptable: false\n"
              "  - name: conformance\n- plugins:\n  - name: overcommit\n  - name: drf\n"
              "    enablePreemptable: false\n  - name: predicates\n  - name: proportion\n  - name: nodeorder\n"
              "  - name: binpack\n",
      STOCK_ON " binpack=1 leastrequested=1" NODES " | 1.2" TIMES, "" },
    { "actions alone", "actions: allocate,gangpreempt",
      "place preempt drf conformance | binpack=1" NODES " task-topology=1 network-topology=1 | 1.2" TIMES, "" },
    { "no plugins", "actions: \" reclaim , shuffle \"\ntiers: []\n", "reclaim | | 100" TIMES,
      "1 warning: actions: without the action allocate no pod is placed" },
    { "weights as number or text",
      PLUGIN
      "nodeorder\n    arguments: { leastrequested.weight: 0, mostrequested.weight: \"7\" }\n"
      "  - name: binpack\n    arguments: { binpack.weight: 10, binpack.cpu: 5, binpack.resources.nvidia.com/gpu: 2 }\n"
      "  - name: task-topology\n  - name: network-topology-aware\n    arguments: { weight: 4 }\n",
      "admit place | binpack=10 mostrequested=7" NODES " task-topology=1 network-topology=4 | 100" TIMES,
      "7 warning: tiers[0].plugins[1].arguments[binpack.cpu]: has no effect here\n"
      "7 warning: tiers[0].plugins[1].arguments[binpack.resources.nvidia.com/gpu]: has no effect here" },
    { "switches",
      "actions: enqueue,allocate,preempt,reclaim\ntiers:\n- plugins:\n  - name: drf\n    enableJobOrder: false\n"
      "  - name: priority\n    enablePreemptable: false\n  - name: capacity\n    enableReclaimable: false\n"
      "    enableHierarchy: true\n  - name: nodeorder\n    enableNodeOrder: false\n  - name: overcommit\n"
      "    enabledJobEnqueued: false\n  - name: gang\n    enableJobReady: false\n    enabledOverused: true\n",
      "admit place | | 100" TIMES,
      "16 warning: tiers[0].plugins[5].enableJobReady: has no effect here: plugin gang is always on" },
    { "factor and waiting time",
      PLUGIN "overcommit\n    arguments: { overcommit-factor: 1.5 }\n  - name: sla\n"
             "    arguments: { sla-waiting-time: 1h2m3s4ms }\n",
      "admit place | | 1.5 sla 3723004 reserve 60000 admission 300000 run 60000 unbind 60000", "" },
    { "factor too small", PLUGIN "overcommit\n    arguments: { overcommit-factor: \"0.5\" }\n",
      "admit place | | 1.2" TIMES,
      "5 warning: tiers[0].plugins[0].arguments.overcommit-factor: is less than 1; 1.2 is used" },
    { "our own",
      "configurations:\n- name: pumice\n  arguments:\n    reserve-after: 0s\n    admission-timeout: 90s\n"
      "    min-run: 1m\n    unbind-after: 1.5s\n    reserve-afer: 1s\n- name: enqueue\n  arguments:\n"
      "    overcommit-factor: 3\n- name: preempt\n  arguments:\n    minCandidateNodesAbsolute: 2\n- name: alocate\n",
      "admit place preempt reclaim drf conformance | binpack=1" NODES
      " task-topology=1 network-topology=1 | 3 sla 0 reserve 0 admission 90000 run 60000 unbind 1500",
      "8 warning: configurations[0].arguments.reserve-afer: unknown argument of pumice, ignored (did you mean "
      "reserve-after?)\n"
      "14 warning: configurations[2].arguments.minCandidateNodesAbsolute: has no effect here\n"
      "15 warning: configurations[3].name: neither an action nor pumice, ignored (did you mean allocate?)" },
    { "unknown names are warnings",
      "metrics: { type: prometheus }\ntier: []\ntiers:\n- plugins:\n  - name: gangg\n  - name: tdm\n"
      "    arguments: { anything: 1 }\n  - name: gang\n    enableJobRedy: true\n    arguments: { x: 1, y: null }\n"
      "  - name: mine\n    arguments: { z: [1] }\n",
      "admit place preempt reclaim | | 100" TIMES,
      "2 warning: tier: unknown setting, ignored (did you mean tiers?)\n"
      "5 warning: tiers[0].plugins[0].name: unknown plugin \"gangg\", ignored (did you mean gang?)\n"
      "6 warning: tiers[0].plugins[1].name: plugin tdm does nothing here\n"
      "9 warning: tiers[0].plugins[2].enableJobRedy: unknown setting of gang, ignored (did you mean enableJobReady?)\n"
      "10 warning: tiers[0].plugins[2].arguments.x: unknown argument of gang, ignored\n"
      "11 warning: tiers[0].plugins[3].name: unknown plugin \"mine\", ignored" },
    { "both shares", PLUGIN "capacity\n  - name: proportion\n", "admit place | | 100" TIMES,
      "3 warning: tiers[0].plugins: capacity and proportion are the same here; one is enough" },
    { "nulls are not there", "actions: null\ntiers: null\nconfigurations:\n- name: pumice\n  arguments: null\n",
      "admit place preempt reclaim drf conformance | binpack=1" NODES " task-topology=1 network-topology=1 | 1.2" TIMES,
      "" },
};

static void test_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        autoarena a = { 0 };
        autobuf got = { 0 }, said = { 0 };
        struct sched_config c;
        struct problems ps;

        if (read_text(&a, good[i].text, &c, &ps) < 0)
            fail_msg("%s: refused: %.*s", good[i].label, STR_ARG(problems_join(&a, &ps)));
        show(&got, &c);
        show_problems(&said, &ps);
        if (!str_is(buf_view(&got), good[i].want))
            fail_msg("%s: got\n%s\nwant\n%s", good[i].label, got.p, good[i].want);
        if (!str_is(buf_view(&said), good[i].problems))
            fail_msg("%s: said\n%s\nwant\n%s", good[i].label, said.p, good[i].problems);
        assert_true(str_is(c.scheduler_name, "volcano"));
    }
}

static const struct {
    const char *label, *text, *problems;
} bad[] = {
    { "unknown action (checklist 50)", "actions: \"enqueue, alocate\"\n",
      "1 error: actions: unknown action \"alocate\" (did you mean allocate?); there are enqueue, allocate, backfill, "
      "preempt, reclaim, gangpreempt, gangreclaim, shuffle" },
    { "empty action", "actions: \"enqueue,\"\n",
      "1 error: actions: unknown action \"\"; there are enqueue, allocate, backfill, preempt, reclaim, gangpreempt, "
      "gangreclaim, shuffle" },
    { "no action", "actions: \"\"\n", "1 error: actions: must name at least one action" },
    { "a list of actions", "actions: [enqueue]\n",
      "1 error: actions: must be text: names with commas between, not list" },
    { "not an object", "- a\n", "1 error: : must be an object, not list" },
    { "tiers of another type", "tiers: 3\n", "1 error: tiers: must be a list, not number" },
    { "tier of another type", "tiers: [x]\n", "1 error: tiers[0]: must be an object, not string" },
    { "plugins of another type", "tiers: [{plugins: {}}]\n", "1 error: tiers[0].plugins: must be a list, not object" },
    { "plugin of another type", "tiers: [{plugins: [gang]}]\n",
      "1 error: tiers[0].plugins[0]: must be an object, not string" },
    { "plugin without name", "tiers: [{plugins: [{}]}]\n", "1 error: tiers[0].plugins[0]: a plugin needs a name" },
    { "name of another type", "tiers: [{plugins: [{name: 1}]}]\n",
      "1 error: tiers[0].plugins[0].name: must be text, not number" },
    { "switch of another type", "tiers: [{plugins: [{name: gang, enableJobReady: \"no\"}]}]\n",
      "1 error: tiers[0].plugins[0].enableJobReady: must be true or false, not string" },
    { "arguments of another type", "tiers: [{plugins: [{name: gang, arguments: []}]}]\n",
      "1 error: tiers[0].plugins[0].arguments: must be an object, not list" },
    { "weights",
      "tiers:\n- plugins:\n  - name: nodeorder\n    arguments:\n      leastrequested.weight: -1\n"
      "      mostrequested.weight: 1.5\n      imagelocality.weight: many\n      podaffinity.weight: 10001\n"
      "      nodeaffinity.weight: [1]\n",
      "5 error: tiers[0].plugins[0].arguments[leastrequested.weight]: must be a whole number from 0 to 10000\n"
      "6 error: tiers[0].plugins[0].arguments[mostrequested.weight]: must be a whole number from 0 to 10000\n"
      "7 error: tiers[0].plugins[0].arguments[imagelocality.weight]: must be a whole number from 0 to 10000\n"
      "8 error: tiers[0].plugins[0].arguments[podaffinity.weight]: must be a whole number from 0 to 10000\n"
      "9 error: tiers[0].plugins[0].arguments[nodeaffinity.weight]: must be a whole number from 0 to 10000" },
    { "factors",
      "configurations:\n- name: enqueue\n  arguments: { overcommit-factor: x }\n"
      "- name: enqueue\n  arguments: { overcommit-factor: -1 }\n"
      "- name: enqueue\n  arguments: { overcommit-factor: 1e9 }\n"
      "- name: enqueue\n  arguments: { overcommit-factor: {} }\n",
      "3 error: configurations[0].arguments.overcommit-factor: must be a number from 1 to 100\n"
      "5 error: configurations[1].arguments.overcommit-factor: must be a number from 1 to 100\n"
      "7 error: configurations[2].arguments.overcommit-factor: must be a number from 1 to 100\n"
      "9 error: configurations[3].arguments.overcommit-factor: must be a number from 1 to 100" },
    { "durations",
      "configurations:\n- name: pumice\n  arguments:\n    reserve-after: 60\n    admission-timeout: 0s\n"
      "    min-run: -1s\n",
      "4 error: configurations[0].arguments.reserve-after: must be a duration such as \"60s\" or \"5m\"\n"
      "5 error: configurations[0].arguments.admission-timeout: must be longer than nothing\n"
      "6 error: configurations[0].arguments.min-run: must not be negative" },
    { "hierarchy twice", "tiers:\n- plugins:\n  - name: proportion\n  - name: drf\n    enableHierarchy: true\n",
      "2 error: tiers[0].plugins: drf with enableHierarchy and proportion exclude each other in one tier" },
    { "configurations of another type", "configurations: {}\n", "1 error: configurations: must be a list, not object" },
    { "good and bad together",
      "actions: allocate\nconfigurations:\n- name: pumice\n  arguments: { min-run: 1m, "
      "unbind-after: [] }\n",
      "4 error: configurations[0].arguments.unbind-after: must be a duration such as \"60s\" or \"5m\"" },
};

/* Refused, with all that is wrong, and nothing of it applied. */
static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        autoarena a = { 0 };
        autobuf said = { 0 };
        struct sched_config c, before;
        struct problems ps;

        memset(&c, 0x5a, sizeof(c));
        memcpy(&before, &c, sizeof(c));
        if (read_text(&a, bad[i].text, &c, &ps) == 0)
            fail_msg("%s: taken", bad[i].label);
        show_problems(&said, &ps);
        if (!str_is(buf_view(&said), bad[i].problems))
            fail_msg("%s: said\n%s\nwant\n%s", bad[i].label, said.p, bad[i].problems);
        if (memcmp(&before, &c, sizeof(c)) != 0)
            fail_msg("%s: half applied", bad[i].label);
    }
}

/* An error that was there before is not ours. */
static void test_old_problems(void **state)
{
    autoarena a = { 0 };
    struct problems ps = { .arena = &a };
    struct place at = { 0 };
    struct sched_config c;

    (void)state;
    problem_error(&ps, &at, "something else");
    assert_int_equal(sched_config_read(&a, NULL, &c, &ps), 0);
    assert_int_equal(ps.n_errors, 1);
}

static struct json *any_value(struct arena *a, struct rand *r)
{
    switch (rand_below(r, 8)) {
    case 0:
        return json_null(a);
    case 1:
        return json_bool_new(a, rand_chance(r, 1, 2));
    case 2:
        return json_int(a, rand_between(r, INT64_MIN, INT64_MAX));
    case 3:
        return json_array(a);
    case 4:
        return json_object(a);
    case 5:
        return json_str(a, STR(""));
    default:
        return json_str(a, STR("allocate"));
    }
}

/* Put any value at any place of a good tree. */
static void spoil(struct arena *a, struct rand *r, struct json *j)
{
    JSON_FOREACH(child, j) {
        if (rand_chance(r, 1, 6)) {
            json_replace(j, child, any_value(a, r));
            return;
        }
        spoil(a, r, child);
    }
}

/* Whatever the tree, the answer is one of the two, and errors are what decides it. */
static void test_any_tree(void **state)
{
    int n_taken = 0, n_refused = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        autoarena a = { 0 };
        struct yaml_docs docs = { 0 };
        struct sched_config c = { 0 };
        struct problems ps = { .arena = &a };
        struct rand r;
        int rc;

        rand_seed(&r, seed);
        assert_int_equal(yaml_parse(&a, str_of(good[1 + rand_below(&r, ARRAY_LEN(good) - 1)].text), NULL, &docs, NULL),
                         0);
        spoil(&a, &r, docs.v[0]);
        rc = sched_config_read(&a, docs.v[0], &c, &ps);
        assert_int_equal(rc, ps.n_errors ? -1 : 0);
        assert_int_equal(c.max_depth, rc < 0 ? 0 : 5);
        n_taken += rc == 0;
        n_refused += rc < 0;
    }
    assert_true(n_taken > 100 && n_refused > 100);
}

/* ---- while it runs (checklist 50, 51) ---- */

/* A node that a job of priority 0 fills; one of priority 100 waits. */
static const char *const full_cluster[] = {
    "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 1, pods: 10}}}",
    "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: default}, status: {state: Open}}",
    "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 100}",
    "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: low, namespace: default, uid: gl}, "
    "spec: {minMember: 1, queue: default}, status: {phase: Running}}",
    "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: high, namespace: default, uid: gh}, "
    "spec: {minMember: 1, queue: default, priorityClassName: high}, status: {phase: Inqueue}}",
    "{apiVersion: v1, kind: Pod, metadata: {name: low-0, namespace: default, uid: pl, annotations: "
    "{scheduling.k8s.io/group-name: low}}, spec: {schedulerName: volcano, nodeName: n1, containers: [{name: c, "
    "resources: {requests: {cpu: 1}}}]}, status: {phase: Running, startTime: '2023-11-14T00:00:00Z'}}",
    "{apiVersion: v1, kind: Pod, metadata: {name: high-0, namespace: default, uid: ph, annotations: "
    "{scheduling.k8s.io/group-name: high}}, spec: {schedulerName: volcano, containers: [{name: c, resources: "
    "{requests: {cpu: 1}}}]}, status: {phase: Pending}}",
};

static uint32_t evictions(struct sched *s, int64_t now_ms)
{
    struct sched_round round = { 0 };
    uint32_t n;

    sched_round(s, now_ms, &round);
    n = round.n_evicted;
    arena_done(&round.arena);
    return n;
}

/* As whoever watches the file does it: what cannot be read changes nothing, what can holds from the next round on. */
static void reload(struct sched *s, struct sched_config *c, const char *text)
{
    autoarena a = { 0 };
    struct problems ps;

    if (read_text(&a, text, c, &ps) == 0)
        sched_configure(s, c);
}

static void test_reload(void **state)
{
    int64_t now_ms = 1700000000000;
    autoarena a = { 0 };
    struct sched_config c;
    struct sched *s;

    (void)state;
    sched_config_default(&c);
    c.preempts = false;
    s = sched_new(&c, 1);
    for (size_t i = 0; i < ARRAY_LEN(full_cluster); i++) {
        struct yaml_docs docs = { 0 };

        assert_int_equal(yaml_parse(&a, str_of(full_cluster[i]), NULL, &docs, NULL), 0);
        sched_put(s, docs.v[0]);
    }
    assert_int_equal(evictions(s, now_ms), 0);
    reload(s, &c, "actions: enqueue, allocate, preemt\n"); /* refused: the old settings stay */
    assert_int_equal(evictions(s, now_ms + 1000), 0);
    reload(s, &c, "actions: enqueue, allocate, preempt\ntiers: [{plugins: [{name: nobody}]}]\n"); /* a warning */
    assert_false(sched_is_idle(s));
    assert_int_equal(evictions(s, now_ms + 2000), 1);
    sched_check(s);
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),     cmocka_unit_test(test_bad),    cmocka_unit_test(test_old_problems),
        cmocka_unit_test(test_any_tree), cmocka_unit_test(test_reload),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
