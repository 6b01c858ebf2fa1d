/* terms.c - tests of rules about other pods: single rules, then random clusters against counting pods one by one */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/selector.h"
#include "sched/test/world.h"

static const char no_node[] = "node(s) didn't match Pod's node affinity/selector",
                  no_affinity[] = "node(s) didn't match pod affinity rules",
                  no_anti[] = "node(s) didn't match pod anti-affinity rules",
                  no_existing[] = "node(s) didn't satisfy existing pods anti-affinity rules",
                  no_spread[] = "node(s) didn't match pod topology spread constraints",
                  no_label[] = "node(s) didn't match pod topology spread constraints (missing required label)";

/* Zones z1: a, b; z2: c; none: d. */
static void add_nodes(struct world *w)
{
    static const char *const labels[][2] = {
        { "a", "zone: z1" }, { "b", "zone: z1" }, { "c", "zone: z2" }, { "d", "rack: r" }
    };

    for (size_t i = 0; i < ARRAY_LEN(labels); i++)
        tell(w,
             "{kind: Node, apiVersion: v1, metadata: {name: %s, labels: {host: %s, %s}}, status: {allocatable: {cpu: "
             "100, memory: 100Gi, pods: 100}}}",
             labels[i][0], labels[i][0], labels[i][1]);
}

static int n_pods;

/* A running pod; 'rest' is the rest of its spec. */
static void add_pod(struct world *w, const char *namespace, const char *labels, const char *node, const char *rest)
{
    n_pods++;
    tell(w,
         "{kind: Pod, apiVersion: v1, metadata: {name: p%d, uid: u%d, namespace: %s, labels: {%s}}, spec: {nodeName: %s"
         "%s}, status: {phase: Running}}",
         n_pods, n_pods, namespace, labels, node, rest);
    class_relabel(&w->m);
}

/* May a pod of the class go to a, b, c, d? want: the reasons, NULL: yes. */
static void check_nodes(struct world *w, const char *name, const struct pod_class *c, const char *const want[4])
{
    struct sched_node *best = best_by_hand(w, c, NULL, FIT_NOW, fit_all(&w->m));

    for (int i = 0; i < 4; i++) {
        struct str why = STR("");
        bool ok = fit_node(&w->m, &(struct fit_question){ .class = c }, w->m.order[i], &why);

        if (ok != !want[i] || (want[i] && !str_is(why, want[i])))
            fail_msg("%s, node %s: got \"%.*s\", want \"%s\"", name, w->m.order[i]->name.p, STR_ARG(why),
                     want[i] ? want[i] : "");
        if (fit_node(&w->m, &(struct fit_question){ c, NULL, FIT_EMPTY }, w->m.order[i], NULL) == (want[i] == no_node))
            fail_msg("%s, node %s: other pods do not matter for \"ever\"", name, w->m.order[i]->name.p);
    }
    if (fit_best(&w->m, &(struct fit_question){ .class = c }, fit_all(&w->m)) != best)
        fail_msg("%s: the walk disagrees", name);
    fit_check(&w->m);
}

#define TERM(key, labels) "{topologyKey: " key ", labelSelector: {matchLabels: {" labels "}}}"
#define NEED(terms)       "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [" terms "]}}"
#define AVOID(terms)      "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [" terms "]}}"
#define SPREAD(key, when, more)                                                                                        \
    "topologySpreadConstraints: [{maxSkew: 1, topologyKey: " key ", whenUnsatisfiable: " when                          \
    ", labelSelector: {matchLabels: {app: web}}" more "}]"

static const struct term_case {
    const char *name;
    const char *pods[4][3]; /* labels, node, rest of the spec */
    const char *labels, *spec;
    const char *want[4];
} term_cases[] = {
    { "affinity by zone",
      { { "app: db", "a", "" } },
      "app: web",
      NEED(TERM("zone", "app: db")),
      { NULL, NULL, no_affinity, no_affinity } },
    { "affinity by host",
      { { "app: db", "a", "" } },
      "app: web",
      NEED(TERM("host", "app: db")),
      { NULL, no_affinity, no_affinity, no_affinity } },
    { "affinity, nobody there",
      { { "app: other", "a", "" } },
      "app: web",
      NEED(TERM("zone", "app: db")),
      { no_affinity, no_affinity, no_affinity, no_affinity } },
    { "affinity to itself, the first may begin where there is a zone",
      { { "app: other", "a", "" } },
      "app: web",
      NEED(TERM("zone", "app: web")),
      { NULL, NULL, NULL, no_affinity } },
    { "affinity to itself, the second follows",
      { { "app: web", "c", "" } },
      "app: web",
      NEED(TERM("zone", "app: web")),
      { no_affinity, no_affinity, NULL, no_affinity } },
    { "a pod where there is no zone counts for nobody",
      { { "app: web", "d", "" } },
      "app: web",
      NEED(TERM("zone", "app: web")),
      { NULL, NULL, NULL, no_affinity } },
    { "two affinities are about the same pods",
      { { "app: db", "a", "" }, { "tier: x", "a", "" } },
      "app: web",
      NEED(TERM("zone", "app: db") ", " TERM("host", "tier: x")),
      { no_affinity, no_affinity, no_affinity, no_affinity } },
    { "two affinities, met",
      { { "app: db, tier: x", "a", "" } },
      "app: web",
      NEED(TERM("zone", "app: db") ", " TERM("host", "tier: x")),
      { NULL, no_affinity, no_affinity, no_affinity } },
    { "anti-affinity by zone",
      { { "app: db", "a", "" } },
      "app: web",
      AVOID(TERM("zone", "app: db")),
      { no_anti, no_anti, NULL, NULL } },
    { "anti-affinity by host",
      { { "app: web", "b", "" } },
      "app: web",
      AVOID(TERM("host", "app: web")),
      { NULL, no_anti, NULL, NULL } },
    { "anti-affinity of the other pod",
      { { "app: db", "a", ", " AVOID(TERM("zone", "app: web")) } },
      "app: web",
      "",
      { no_existing, no_existing, NULL, NULL } },
    { "… that does not mean this one",
      { { "app: db", "a", ", " AVOID(TERM("zone", "app: db")) } },
      "app: web",
      "",
      { NULL, NULL, NULL, NULL } },
    { "no selector matches no pods",
      { { "app: db", "a", "" } },
      "app: web",
      AVOID("{topologyKey: zone}"),
      { NULL, NULL, NULL, NULL } },
    { "an empty selector matches all pods",
      { { "app: db", "a", "" } },
      "app: web",
      AVOID("{topologyKey: zone, labelSelector: {}}"),
      { no_anti, no_anti, NULL, NULL } },
    { "a selector nobody understands matches none",
      { { "app: db", "a", "" } },
      "app: web",
      AVOID("{topologyKey: zone, labelSelector: {matchExpressions: [{key: app, operator: Near}]}}"),
      { NULL, NULL, NULL, NULL } },
    { "NotIn",
      { { "app: db", "a", "" }, { "tier: x", "c", "" } },
      "app: web",
      AVOID("{topologyKey: zone, labelSelector: {matchExpressions: [{key: app, operator: NotIn, values: [db]}]}}"),
      { NULL, NULL, no_anti, NULL } },
    { "matchLabelKeys",
      { { "app: web, rev: '1'", "a", "" }, { "app: web, rev: '2'", "c", "" } },
      "app: web, rev: '2'",
      AVOID("{topologyKey: zone, labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [rev]}"),
      { NULL, NULL, no_anti, NULL } },
    { "spread",
      { { "app: web", "a", "" } },
      "app: web",
      SPREAD("zone", "DoNotSchedule", ""),
      { no_spread, no_spread, NULL, no_label } },
    { "spread, even",
      { { "app: web", "a", "" }, { "app: web", "c", "" } },
      "app: web",
      SPREAD("zone", "DoNotSchedule", ""),
      { NULL, NULL, NULL, no_label } },
    { "spread of others: itself does not count",
      { { "app: web", "a", "" } },
      "app: db",
      SPREAD("zone", "DoNotSchedule", ""),
      { NULL, NULL, NULL, no_label } },
    { "spread, too few domains",
      { { "app: web", "a", "" }, { "app: web", "c", "" } },
      "app: web",
      SPREAD("zone", "DoNotSchedule", ", minDomains: 3"),
      { no_spread, no_spread, no_spread, no_label } },
    { "spread, soft",
      { { "app: web", "a", "" } },
      "app: web",
      SPREAD("zone", "ScheduleAnyway", ""),
      { NULL, NULL, NULL, NULL } },
    { "spread looks only at nodes it may use",
      { { "app: web", "a", "" } },
      "app: web",
      "nodeSelector: {zone: z1}, " SPREAD("host", "DoNotSchedule", ""),
      { no_spread, NULL, no_node, no_node } },
    { "… unless told not to",
      { { "app: web", "a", "" }, { "app: web", "b", "" } },
      "app: web",
      "nodeSelector: {zone: z1}, " SPREAD("host", "DoNotSchedule", ", nodeAffinityPolicy: Ignore"),
      { no_spread, no_spread, no_node, no_node } },
};

static void test_terms(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(term_cases); i++) {
        const struct term_case *t = &term_cases[i];
        const struct pod_class *c, *later;
        struct world w;

        world_init(&w, i);
        add_nodes(&w);
        for (int p = 0; p < 2 && t->pods[p][0]; p++) /* half of them before the term is known */
            add_pod(&w, "ns", t->pods[p][0], t->pods[p][1], t->pods[p][2]);
        c = class_of(&w, "{metadata: {labels: {%s}}, spec: {%s}}", t->labels, t->spec);
        check_nodes(&w, t->name, c, t->want);
        later = class_of(&w, "{metadata: {labels: {%s}}, spec: {%s}}", t->labels, t->spec);
        check_nodes(&w, t->name, later, t->want); /* with all labels that matter */
        class_unref(&w.m, c);
        class_unref(&w.m, later);
        world_done(&w);
    }
}

static void test_namespaces(void **state)
{
    static const char *const want_all[4] = { no_anti, no_anti, NULL, NULL }, *const want_none[4] = { NULL };
    static const struct {
        const char *name, *term;
        bool is_refused;
    } cases[] = {
        { "own", "", false },
        { "named", ", namespaces: [other]", true },
        { "named, not this", ", namespaces: [third]", false },
        { "by label", ", namespaceSelector: {matchLabels: {team: a}}", true },
        { "by another label", ", namespaceSelector: {matchLabels: {team: b}}", false },
        { "all", ", namespaceSelector: {}", true },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct pod_class *c;
        struct world w;

        world_init(&w, 1);
        add_nodes(&w);
        tell(&w, "{kind: Namespace, apiVersion: v1, metadata: {name: other, labels: {team: a}}}");
        add_pod(&w, "other", "app: db", "a", "");
        c = class_of(&w,
                     "{metadata: {labels: {app: web}}, spec: {affinity: {podAntiAffinity: "
                     "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: "
                     "{matchLabels: {app: db}}%s}]}}}}",
                     cases[i].term);
        check_nodes(&w, cases[i].name, c, cases[i].is_refused ? want_all : want_none);
        tell(&w, "{kind: Namespace, apiVersion: v1, metadata: {name: other, labels: {team: b}}}");
        if (strstr(cases[i].term, "team"))
            check_nodes(&w, "labels of a namespace changed", c, cases[i].is_refused ? want_none : want_all);
        class_unref(&w.m, c);
        world_done(&w);
    }
}

static void test_moving_labels(void **state)
{
    static const char *const in_z1[4] = { no_anti, no_anti, NULL, NULL },
                             *const in_z2[4] = { no_anti, NULL, no_anti, NULL }, *const nowhere[4] = { NULL };
    const struct pod_class *c;
    struct world w;

    world_init(&w, 1);
    add_nodes(&w);
    add_pod(&w, "ns", "app: db", "a", "");
    c = class_of(&w, "{metadata: {labels: {app: web}}, spec: {" AVOID(TERM("zone", "app: db")) "}}");
    check_nodes(&w, "as it was", c, in_z1);
    tell(&w, "{kind: Node, apiVersion: v1, metadata: {name: a, labels: {host: a, zone: z2}}, status: {allocatable: "
             "{cpu: 100, "
             "memory: 100Gi, pods: 100}}}");
    check_nodes(&w, "the node moved", c, in_z2);
    tell(&w, "{kind: Node, apiVersion: v1, metadata: {name: a}, status: {allocatable: {cpu: 100, memory: 100Gi, pods: "
             "100}}}");
    check_nodes(&w, "the node lost its zone", c, nowhere);
    class_unref(&w.m, c);
    world_done(&w);
}

/* Nodes get other numbers without a change of any Node. */
static void test_other_order(void **state)
{
    const struct pod_class *c;
    struct world w;

    world_init(&w, 1);
    add_nodes(&w);
    add_pod(&w, "ns", "app: db", "a", "");
    c = class_of(&w, "{metadata: {labels: {app: web}}, spec: {" AVOID(TERM("zone", "app: db")) "}}");
    assert_string_equal(fit_best(&w.m, &(struct fit_question){ .class = c }, fit_all(&w.m))->name.p, "c");
    tell(&w,
         "{kind: HyperNode, apiVersion: topology.volcano.sh/v1alpha1, metadata: {name: s1}, spec: {tier: 1, members: "
         "[{type: Node, selector: {exactMatch: {name: d}}}]}}");
    tell(&w,
         "{kind: HyperNode, apiVersion: topology.volcano.sh/v1alpha1, metadata: {name: s2}, spec: {tier: 1, members: "
         "[{type: Node, selector: {exactMatch: {name: a}}}]}}");
    assert_string_not_equal(w.m.order[0]->name.p, "a");
    for (int i = 0; i < 4; i++) {
        bool in_z1 = w.m.order[i]->name.p[0] == 'a' || w.m.order[i]->name.p[0] == 'b';

        assert_int_equal(fit_node(&w.m, &(struct fit_question){ .class = c }, w.m.order[i], NULL), !in_z1);
    }
    assert_ptr_equal(fit_best(&w.m, &(struct fit_question){ .class = c }, fit_all(&w.m)),
                     best_by_hand(&w, c, NULL, FIT_NOW, fit_all(&w.m)));
    class_unref(&w.m, c);
    world_done(&w);
}

/* A group that runs in one domain stays near it, where nothing else decides. */
static void test_near(void **state)
{
    const struct pod_class *c;
    struct sched_group *g;
    struct world w;

    world_init(&w, 1);
    add_nodes(&w);
    for (int i = 0; i < 2; i++)
        tell(&w,
             "{kind: HyperNode, apiVersion: topology.volcano.sh/v1alpha1, metadata: {name: s%d}, spec: {tier: 1, "
             "members: "
             "[{type: Node, selector: {exactMatch: {name: %c}}}, {type: Node, selector: {exactMatch: {name: %c}}}]}}",
             i, "ac"[i], "bd"[i]);
    tell(&w,
         "{kind: Pod, apiVersion: v1, metadata: {name: g1, uid: g1, namespace: ns, annotations: "
         "{scheduling.k8s.io/group-name: g}}, spec: {schedulerName: volcano, nodeName: d}, status: {phase: Running}}");
    g = model_group(&w.m, STR("ns"), STR("g"));
    c = class_of(&w, "{spec: {}}");
    assert_non_null(g);
    assert_string_equal(fit_best(&w.m, &(struct fit_question){ .class = c }, fit_all(&w.m))->name.p, "a");
    assert_string_equal(fit_best(&w.m, &(struct fit_question){ c, g, FIT_NOW }, fit_all(&w.m))->name.p, "c");
    assert_ptr_equal(fit_best(&w.m, &(struct fit_question){ c, g, FIT_NOW }, fit_all(&w.m)),
                     best_by_hand(&w, c, g, FIT_NOW, fit_all(&w.m)));
    class_unref(&w.m, c);
    world_done(&w);
}

/* The weight of a term of others counts too, and a wish against. */
static void test_likes(void **state)
{
    const struct pod_class *c;
    struct world w;

    world_init(&w, 1);
    add_nodes(&w);
    add_pod(&w, "ns", "app: db", "c", "");
    c = class_of(&w, "{metadata: {labels: {app: web}}, spec: {affinity: {podAffinity: "
                     "{preferredDuringSchedulingIgnoredDuringExecution: [{weight: 10, podAffinityTerm: " TERM(
                         "zone", "app: db") "}]}}}}");
    assert_string_equal(fit_best(&w.m, &(struct fit_question){ .class = c }, fit_all(&w.m))->name.p, "c");
    class_unref(&w.m, c);
    c = class_of(&w, "{metadata: {labels: {app: web}}, spec: {affinity: {podAntiAffinity: "
                     "{preferredDuringSchedulingIgnoredDuringExecution: [{weight: 10, podAffinityTerm: " TERM(
                         "rack", "app: db") "}, "
                                            "{weight: 1, podAffinityTerm: " TERM("zone", "app: db") "}]}}}}");
    assert_string_equal(fit_best(&w.m, &(struct fit_question){ .class = c }, fit_all(&w.m))->name.p, "a");
    class_unref(&w.m, c);
    add_pod(&w, "ns", "app: x", "d",
            ", affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 10, "
            "podAffinityTerm: " TERM("host", "app: web") "}]}}");
    c = class_of(&w, "{metadata: {labels: {app: web}}, spec: {}}");
    assert_true(c->is_coupled);
    assert_string_equal(fit_best(&w.m, &(struct fit_question){ .class = c }, fit_all(&w.m))->name.p, "d");
    class_unref(&w.m, c);
    feed_gone(&w.m, STR("Pod"), STR("ns"), arena_fmt(&w.arena, "p%d", n_pods), STR(""));
    c = class_of(&w, "{metadata: {labels: {app: web}}, spec: {}}");
    assert_false(c->is_coupled);
    assert_string_equal(fit_best(&w.m, &(struct fit_question){ .class = c }, fit_all(&w.m))->name.p, "a");
    class_unref(&w.m, c);
    world_done(&w);
}

/* ---- random clusters ---- what follows knows nothing of counters: it looks at every pod ---- */

enum { NODES = 8, PODS = 40 };

struct sim_pod {
    struct json *object; /* NULL: not there */
    struct str namespace;
    int node; /* -1: waits */
};

struct sim {
    struct world w;
    struct json *nodes[NODES]; /* NULL: not there */
    struct sim_pod pods[PODS];
};

static struct str node_label(const struct sim *s, int node, struct str key)
{
    return json_text(json_get_str(json_find(s->nodes[node], "metadata", "labels", NULL), key), STR_NULL);
}

static bool selects(struct sim *s, const struct json *selector, const struct json *labels)
{
    struct selector *sel;

    return json_is(selector, JSON_OBJECT) && selector_from_json(&s->w.arena, selector, &sel, NULL) == 0 &&
           selector_matches(sel, labels);
}

static bool term_means(struct sim *s, const struct json *term, struct str owner, const struct sim_pod *p)
{
    const struct json *names = json_get(term, "namespaces");
    bool in = !json_count(names) && str_eq(owner, p->namespace);

    JSON_FOREACH(n, names)
        in |= str_eq(json_text(n, STR("")), p->namespace);
    return in && selects(s, json_get(term, "labelSelector"), json_find(p->object, "metadata", "labels", NULL));
}

static const struct json *terms_of(const struct sim_pod *p, const char *kind)
{
    return json_find(p->object, "spec", "affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution", NULL);
}

static bool is_same_place(const struct sim *s, const struct json *term, int a, int b)
{
    struct str key = json_member_text(term, "topologyKey"), at = node_label(s, a, key);

    return at.p && s->nodes[b] && node_label(s, b, key).p && str_eq(at, node_label(s, b, key));
}

/* Required affinity: every term has, in the node's domain, a pod that all terms mean. */
static bool affinity_ok(struct sim *s, const struct sim_pod *me, int node)
{
    const struct json *terms = terms_of(me, "podAffinity");
    bool is_met = true, any = false, self = true;

    JSON_FOREACH(t, terms) {
        bool here = false;

        if (!node_label(s, node, json_member_text(t, "topologyKey")).p)
            return false;
        for (int i = 0; i < PODS; i++) {
            const struct sim_pod *p = &s->pods[i];
            bool all = p->object && p->node >= 0 && s->nodes[p->node];

            JSON_FOREACH(u, all ? terms : NULL)
                all = all && term_means(s, u, me->namespace, p);
            here |= all && is_same_place(s, t, node, p->node);
            any |= all && node_label(s, p->node, json_member_text(t, "topologyKey")).p;
        }
        is_met &= here;
        self &= term_means(s, t, me->namespace, me);
    }
    return is_met || (!any && self);
}

static bool anti_ok(struct sim *s, const struct sim_pod *me, int node, bool is_theirs)
{
    for (int i = 0; i < PODS; i++) {
        const struct sim_pod *p = &s->pods[i], *owner = is_theirs ? p : me, *other = is_theirs ? me : p;

        if (!p->object || p->node < 0 || !s->nodes[p->node])
            continue;
        JSON_FOREACH(t, terms_of(owner, "podAntiAffinity"))
            if (term_means(s, t, owner->namespace, other) && is_same_place(s, t, node, p->node))
                return false;
    }
    return true;
}

static bool counts_for(const struct sim *s, const struct sim_pod *me, int node)
{
    JSON_FOREACH(r, json_find(me->object, "spec", "topologySpreadConstraints", NULL))
        if (!s->nodes[node] || !node_label(s, node, json_member_text(r, "topologyKey")).p)
            return false;
    JSON_FOREACH(l, json_find(me->object, "spec", "nodeSelector", NULL))
        if (!str_eq(node_label(s, node, json_key(l)), json_text(l, STR(""))))
            return false;
    return true;
}

static int count_in(struct sim *s, const struct json *rule, const struct sim_pod *me, int node)
{
    int count = 0;

    for (int i = 0; i < PODS; i++)
        count += s->pods[i].object && s->pods[i].node >= 0 && counts_for(s, me, s->pods[i].node) &&
                 is_same_place(s, rule, node, s->pods[i].node) && term_means(s, rule, me->namespace, &s->pods[i]);
    return count;
}

static const char *spread_problem(struct sim *s, const struct sim_pod *me, int node)
{
    JSON_FOREACH(r, json_find(me->object, "spec", "topologySpreadConstraints", NULL)) {
        int least = INT32_MAX, here;

        if (!node_label(s, node, json_member_text(r, "topologyKey")).p)
            return no_label;
        for (int n = 0; n < NODES; n++)
            if (counts_for(s, me, n))
                least = MIN_OF(least, count_in(s, r, me, n));
        here = counts_for(s, me, node) ? count_in(s, r, me, node) : 0;
        if (here + term_means(s, r, me->namespace, me) - (least == INT32_MAX ? 0 : least) >
            json_i64(json_get(r, "maxSkew"), 1))
            return no_spread;
    }
    return NULL;
}

static const char *problem(struct sim *s, const struct sim_pod *me, int node)
{
    const char *spread;

    JSON_FOREACH(l, json_find(me->object, "spec", "nodeSelector", NULL))
        if (!str_eq(node_label(s, node, json_key(l)), json_text(l, STR(""))))
            return no_node;
    spread = spread_problem(s, me, node);
    if (spread)
        return spread;
    if (!affinity_ok(s, me, node))
        return no_affinity;
    if (!anti_ok(s, me, node, false))
        return no_anti;
    return anti_ok(s, me, node, true) ? NULL : no_existing;
}

static void sim_node(struct sim *s, int i)
{
    struct rand *r = &s->w.rand;

    s->nodes[i] = tell(
        &s->w,
        "{kind: Node, apiVersion: v1, metadata: {name: n%d, labels: {host: n%d%s%s}}, status: {allocatable: {cpu: 100, "
        "memory: 100Gi, pods: 100}}}",
        i, i,
        rand_chance(r, 4, 5) ? (const char *[]){ ", zone: z1", ", zone: z2", ", zone: z3" }[rand_below(r, 3)] : "",
        rand_chance(r, 1, 2) ? ", disk: ssd" : "");
}

static struct str random_term(struct sim *s)
{
    struct rand *r = &s->w.rand;
    static const char *const selectors[] = {
        "{matchLabels: {app: a1}}",
        "{matchLabels: {app: a2}}",
        "{matchLabels: {tier: t1}}",
        "{matchExpressions: [{key: app, operator: NotIn, values: [a1]}]}",
        "{}",
        "{matchExpressions: [{key: tier, operator: Exists}]}",
    };

    return arena_fmt(&s->w.arena, "topologyKey: %s, labelSelector: %s%s", rand_chance(r, 1, 2) ? "zone" : "host",
                     selectors[rand_below(r, ARRAY_LEN(selectors))],
                     rand_chance(r, 1, 4) ? ", namespaces: [ns, other]" : "");
}

static struct str random_rules(struct sim *s)
{
    struct rand *r = &s->w.rand;
    const char *a = random_term(s).p, *b = random_term(s).p;

    switch (rand_below(r, 10)) {
    case 0:
        return arena_fmt(&s->w.arena, ", " NEED("{%s}"), a);
    case 1:
        return arena_fmt(&s->w.arena, ", " NEED("{%s}, {%s}"), a, b);
    case 2:
    case 3:
        return arena_fmt(&s->w.arena, ", " AVOID("{%s}"), a);
    case 4:
        return arena_fmt(&s->w.arena, ", " AVOID("{%s}, {%s}"), a, b);
    case 5: /* no namespaces in spread rules */
        return arena_fmt(&s->w.arena, ", " SPREAD("zone", "DoNotSchedule", ""));
    case 6:
        return arena_fmt(&s->w.arena, ", nodeSelector: {disk: ssd}, " SPREAD("zone", "DoNotSchedule", ""));
    case 7:
        return arena_fmt(
            &s->w.arena,
            ", topologySpreadConstraints: [{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, "
            "labelSelector: {matchLabels: {app: a1}}}, {maxSkew: 1, topologyKey: host, whenUnsatisfiable: "
            "DoNotSchedule, labelSelector: {}}]");
    default:
        return STR("");
    }
}

/* A new pod at place i: on a node, or only to ask about. */
static void sim_pod(struct sim *s, int i, int node)
{
    struct rand *r = &s->w.rand;
    struct sim_pod *p = &s->pods[i];

    p->namespace = rand_chance(r, 3, 4) ? STR("ns") : STR("other");
    p->node = node;
    p->object = yaml_of(
        &s->w.arena,
        arena_fmt(&s->w.arena,
                  "{kind: Pod, apiVersion: v1, metadata: {name: p%d, uid: u%d-%d, namespace: %s, labels: {app: "
                  "%s%s}}, spec: {schedulerName: x%s}, status: {phase: Running}}",
                  i, i, ++n_pods, p->namespace.p, (const char *[]){ "a1", "a2", "web", "''" }[rand_below(r, 4)],
                  rand_chance(r, 1, 2) ? ", tier: t1" : "", random_rules(s).p));
    if (node < 0)
        return;
    json_set(json_get(p->object, "spec"), "nodeName", json_fmt(&s->w.arena, "n%d", node));
    feed_put(&s->w.m, p->object);
}

static void sim_pod_gone(struct sim *s, int i)
{
    struct sim_pod *p = &s->pods[i];

    if (p->object)
        feed_gone(&s->w.m, STR("Pod"), p->namespace, arena_fmt(&s->w.arena, "p%d", i), STR(""));
    p->object = NULL;
}

static void sim_step(struct sim *s)
{
    struct rand *r = &s->w.rand;
    int i = (int)rand_below(r, PODS - 1), node = (int)rand_below(r, NODES);

    switch (rand_below(r, 8)) {
    case 0:
        sim_node(s, node);
        break;
    case 1:
        if (rand_chance(r, 1, 3)) {
            feed_gone(&s->w.m, STR("Node"), STR(""), arena_fmt(&s->w.arena, "n%d", node), STR(""));
            s->nodes[node] = NULL;
        }
        break;
    case 2:
    case 3:
        sim_pod_gone(s, i);
        break;
    default:
        sim_pod_gone(s, i);
        sim_pod(s, i, node);
    }
    class_relabel(&s->w.m);
    model_order(&s->w.m);
}

/* Ask about a new pod on every node. */
static void sim_ask(struct sim *s, uint64_t seed, int step)
{
    struct sim_pod *me = &s->pods[PODS - 1];
    const struct pod_class *c;

    sim_pod(s, PODS - 1, -1);
    c = class_ref(&s->w.m, me->namespace, me->object);
    class_relabel(&s->w.m);
    for (int n = 0; n < NODES; n++) {
        const char *want = s->nodes[n] ? problem(s, me, n) : NULL;
        struct str why = STR("");
        bool ok;

        if (!s->nodes[n])
            continue;
        ok = fit_node(&s->w.m, &(struct fit_question){ .class = c },
                      model_node(&s->w.m, arena_fmt(&s->w.arena, "n%d", n)), &why);
        if (ok != !want || (want && !str_is(why, want)))
            fail_msg("seed %llu, step %d, node %d: got \"%.*s\", want \"%s\"; class %s", (unsigned long long)seed, step,
                     n, STR_ARG(why), want ? want : "", c->key.p);
    }
    if (best_by_hand(&s->w, c, NULL, FIT_NOW, fit_all(&s->w.m)) !=
        fit_best(&s->w.m, &(struct fit_question){ .class = c }, fit_all(&s->w.m)))
        fail_msg("seed %llu, step %d: the walk disagrees", (unsigned long long)seed, step);
    class_unref(&s->w.m, c);
    me->object = NULL;
}

static void test_random(void **state)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct sim s = { 0 };

        world_init(&s.w, seed);
        for (int i = 0; i < NODES; i++)
            sim_node(&s, i);
        for (int step = 0; step < 120; step++) {
            sim_step(&s);
            fit_check(&s.w.m);
            sim_ask(&s, seed, step);
        }
        world_done(&s.w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terms),       cmocka_unit_test(test_namespaces), cmocka_unit_test(test_moving_labels),
        cmocka_unit_test(test_other_order), cmocka_unit_test(test_near),       cmocka_unit_test(test_likes),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
