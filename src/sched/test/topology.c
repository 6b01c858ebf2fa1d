/* topology.c - tests of HyperNodes: who is a member of what, ranges of nodes, candidates, and random trees */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rand.h"
#include "base/util.h"
#include "sched/model/feed.h"
#include "sched/fit/topology.h"
#include "yaml/yaml.h"

static struct sched_model *model_new(uint64_t seed)
{
    struct sched_model *m = xcalloc(1, sizeof(*m));
    struct sched_config config;

    sched_config_default(&config);
    model_init(m, &config, seed);
    return m;
}

static void model_free(struct sched_model *m)
{
    model_done(m);
    free(m);
}

/* Objects as YAML, without kind: the kind of all of them is given. The text is gone afterwards. */
static void put(struct sched_model *m, const char *kind, const char *text)
{
    autoarena a = { 0 };
    char *copy = strdup(text);
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };

    if (yaml_parse(&a, str_of(copy), NULL, &docs, &e) < 0)
        fail_msg("bad test: %s", e.text);
    for (size_t i = 0; i < docs.n; i++) {
        json_set(docs.v[i], "kind", json_str(&a, str_of(kind)));
        json_set(docs.v[i], "apiVersion",
                 json_str(&a, str_of(strcmp(kind, "Node") == 0 ? "v1" : "topology.volcano.sh/v1alpha1")));
        feed_put(m, docs.v[i]);
    }
    free(copy);
}

static void put_node(struct sched_model *m, const char *name, const char *labels)
{
    autobuf text = { 0 };

    buf_fmt(&text, "{metadata: {name: %s, labels: {%s}}, status: {allocatable: {cpu: 8, pods: 10}}}", name, labels);
    put(m, "Node", text.p);
}

/* "name(tier): node node [child …]" */
static void show_domain(struct buf *out, const struct sched_model *m, const struct domain *d)
{
    buf_fmt(out, "%.*s(%d)", STR_ARG(d->name), d->tier);
    for (uint32_t i = d->range.from; i < d->range.to; i++) {
        const struct sched_node *n = m->order[i];

        assert_true(topology_has(d, n->domain));
        if (n->domain == d || (!n->domain && !d->parent))
            buf_fmt(out, " %.*s", STR_ARG(n->name));
    }
    VEC_FOREACH(child, &d->children) {
        assert_ptr_equal((*child)->parent, d);
        buf_fmt(out, " [");
        show_domain(out, m, *child);
        buf_fmt(out, "]");
    }
}

static void check_tree(struct sched_model *m, const char *label, const char *want)
{
    autobuf got = { 0 };

    model_order(m);
    show_domain(&got, m, topology_root(m));
    if (!str_is(buf_view(&got), want))
        fail_msg("%s: got\n%s\nwant\n%s", label, got.p, want);
}

#define HYPER(name, tier, members) "---\n{metadata: {name: " name "}, spec: {tier: " tier ", members: [" members "]}}\n"
#define NAME(type, name)           "{type: " type ", selector: {exactMatch: {name: " name "}}}"
#define PATTERN(type, pattern)     "{type: " type ", selector: {regexMatch: {pattern: '" pattern "'}}}"
#define LABELS(type, labels)       "{type: " type ", selector: {labelMatch: {" labels "}}}"

static const struct {
    const char *label, *text, *want;
} trees[] = {
    { "no HyperNode", "", "(1) a0 a1 b0 b1 b10" },
    { "exact names",
      HYPER("s0", "1", NAME("Node", "a1") "," NAME("Node", "b0")) HYPER("s1", "1", NAME("Node", "a0"))
          HYPER("top", "2", NAME("HyperNode", "s1") "," NAME("HyperNode", "s0")),
      "(3) b1 b10 [top(2) [s0(1) a1 b0] [s1(1) a0]]" },
    { "patterns",
      HYPER("pa", "1", PATTERN("Node", "^a")) HYPER("pb", "1", PATTERN("Node", "^b[0-9]$"))
          HYPER("up", "2", PATTERN("HyperNode", "p")),
      "(3) b10 [up(2) [pa(1) a0 a1] [pb(1) b0 b1]]" },
    { "patterns as Go has them",
      HYPER("d", "1", PATTERN("Node", "\\d\\d")) HYPER("e", "1", PATTERN("Node", "^(?:a)[\\d]$"))
          HYPER("f", "1", PATTERN("Node", "b?1$")),
      "(2) b0 [d(1) b10] [e(1) a0 a1] [f(1) b1]" },
    { "a beginning whose last letter may be missing", HYPER("x", "1", PATTERN("Node", "^ab?0|^b1")),
      "(2) a1 b0 [x(1) a0 b1 b10]" },
    { "… and without alternatives", HYPER("x", "1", PATTERN("Node", "^ab*[01]")), "(2) b0 b1 b10 [x(1) a0 a1]" },
    { "bad patterns are left out, the rest stays",
      HYPER("x", "1",
            PATTERN("Node", "(") "," PATTERN("Node", "a{1,900}{1,900}") "," PATTERN("Node", "(.)\\1") "," PATTERN(
                "Node", "") "," NAME("Node", "b1") ", 7, {}, {selector: {exactMatch: {name: 3}}}, null"),
      "(2) a0 a1 b0 b10 [x(1) b1]" },
    { "labels",
      HYPER("l", "1", LABELS("Node", "matchLabels: {rack: r1}"))
          HYPER("m", "1", LABELS("Node", "matchExpressions: [{key: rack, operator: NotIn, values: [r1]}]"))
              HYPER("n", "1", LABELS("Node", "matchExpressions: [{key: rack, operator: Near}]"))
                  HYPER("o", "1", LABELS("Node", "")),
      "(2) [l(1) a0 b0] [m(1) a1 b1 b10] [n(1)] [o(1)]" },
    { "claimed twice: lowest tier, then first by name",
      HYPER("z", "1", NAME("Node", "a0")) HYPER("c", "2", NAME("Node", "a0") "," NAME("Node", "a1"))
          HYPER("b", "2", NAME("Node", "a1") "," NAME("HyperNode", "z")) HYPER("a", "3", NAME("HyperNode", "z")),
      "(4) b0 b1 b10 [a(3) [z(1) a0]] [b(2) a1] [c(2)]" },
    { "no circles, no members of the same tier, nobody twice",
      HYPER("x", "1", NAME("HyperNode", "y") "," NAME("Node", "a0")) HYPER("y", "1", NAME("HyperNode", "x"))
          HYPER("w", "2", NAME("HyperNode", "w") "," NAME("HyperNode", "v"))
              HYPER("v", "3", NAME("HyperNode", "w") "," NAME("HyperNode", "nobody") "," NAME("Node", "nobody")),
      "(4) a1 b0 b1 b10 [v(3) [w(2)]] [x(1) a0] [y(1)]" },
    { "nonsense",
      "{metadata: {name: n1}, spec: 3}\n---\n{metadata: {name: n2}, spec: {tier: x, members: {}}}\n---\n"
      "{metadata: {name: n3}, spec: {tier: -5, tierName: [1]}}\n---\n{metadata: 1}\n---\n{spec: {tier: 1}}\n---\n"
      "{metadata: {name: n4}, spec: {tier: 99999999999}}\n",
      "(1000001) a0 a1 b0 b1 b10 [n1(0)] [n2(0)] [n3(0)] [n4(1000000)]" },
};

static void test_trees(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
        struct sched_model *m = model_new(i);

        put_node(m, "b10", "rack: r2");
        put_node(m, "a1", "");
        put_node(m, "b0", "rack: r1");
        put(m, "HyperNode", trees[i].text);
        put_node(m, "a0", "rack: r1");
        put_node(m, "b1", "");
        check_tree(m, trees[i].label, trees[i].want);
        model_free(m);
    }
}

/* Things change: the tree follows, and nobody is left with a pointer to what is gone. */
static struct domain *find_domain(struct domain *top, struct str name) /* NULL: there is none */
{
    if (str_eq(top->name, name))
        return top;
    VEC_FOREACH(child, &top->children) {
        struct domain *found = find_domain(*child, name);

        if (found)
            return found;
    }
    return NULL;
}

static void test_changes(void **state)
{
    struct sched_model *m = model_new(3);
    struct domain *s1;
    uint64_t room;

    (void)state;
    put_node(m, "n0", "");
    put_node(m, "n1", "rack: a");
    put(m, "HyperNode",
        HYPER("s0", "1", LABELS("Node", "matchLabels: {rack: a}")) HYPER("s1", "1", NAME("Node", "n0")));
    check_tree(m, "at first", "(2) [s0(1) n1] [s1(1) n0]");
    assert_true(topology_uses_labels(m));
    s1 = find_domain(topology_root(m), STR("s1"));
    put_node(m, "n0", "rack: a");
    check_tree(m, "a label came", "(2) [s0(1) n0 n1] [s1(1)]");
    put_node(m, "n2", "rack: a");
    feed_gone(m, STR("Node"), STR(""), STR("n1"), STR(""));
    check_tree(m, "nodes came and went", "(2) [s0(1) n0 n2] [s1(1)]");
    room = m->room_gen;
    put(m, "HyperNode", HYPER("s0", "1", NAME("Node", "n2")));
    assert_true(m->room_gen > room);
    assert_false(topology_uses_labels(m));
    check_tree(m, "a HyperNode changed", "(2) [s0(1) n2] [s1(1) n0]");
    assert_ptr_equal(find_domain(topology_root(m), STR("s1")), s1);

    /* The same again, or with another status only, changes nothing; older news neither. */
    put(m, "HyperNode",
        "{metadata: {name: s0, resourceVersion: '5'}, status: {nodeCount: 1}, spec: {tier: 1, members: [" NAME(
            "Node", "n2") "]}}");
    assert_false(m->is_unordered);
    put(m, "HyperNode", "{metadata: {name: s0, resourceVersion: '4'}, spec: {tier: 7}}");
    assert_false(m->is_unordered);

    feed_gone(m, STR("HyperNode"), STR(""), STR("s1"), STR(""));
    feed_gone(m, STR("HyperNode"), STR(""), STR("s1"), STR(""));
    put(m, "HyperNode", HYPER("s2", "2", NAME("HyperNode", "s0")));
    check_tree(m, "gone", "(3) n0 [s2(2) [s0(1) n2]]");
    assert_null(find_domain(topology_root(m), STR("s1")));
    feed_gone(m, STR("HyperNode"), STR(""), STR("s0"), STR("")); /* not built again: freed all the same */
    model_free(m);
}

static struct json *parse(struct arena *a, const char *text)
{
    struct yaml_docs docs = { 0 };

    assert_int_equal(yaml_parse(a, str_of(text), NULL, &docs, NULL), 0);
    return docs.n ? docs.v[0] : NULL;
}

static void test_candidates(void **state)
{
    static const struct {
        const char *topology, *around, *want;
        bool is_hard;
    } cases[] = {
        { "{mode: hard, highestTierAllowed: 1}", NULL, "s0 s1 s2 ", true },
        { "{highestTierAllowed: 2}", NULL, "s0 s1 s2 t0 t1 ", true },
        { "{mode: hard, highestTierAllowed: 3}", NULL, "s0 s1 s2 t0 t1 (all) ", true },
        { "{mode: hard, highestTierAllowed: 0}", NULL, "", true },
        { "{mode: hard, highestTierAllowed: -1}", NULL, "", true },
        { "{mode: hard, highestTierAllowed: 1.5}", NULL, "", true },
        { "{mode: hard}", NULL, "s0 s1 s2 t0 t1 (all) ", true },
        { "{mode: hard, highestTierName: spine}", NULL, "s0 s1 s2 t0 t1 ", true },
        { "{mode: hard, highestTierName: none}", NULL, "", true },
        { "{mode: soft, highestTierAllowed: 1}", NULL, "s0 s1 s2 t0 t1 (all) ", false },
        { "{mode: soft}", "s1", "s1 t0 (all) ", false },
        { "{mode: hard, highestTierAllowed: 1}", "t0", "", true },
        { "{mode: hard, highestTierAllowed: 2}", "s1", "s1 t0 ", true },
        { "{mode: hard, highestTierAllowed: 1}", "s1", "s1 ", true },
    };
    struct sched_model *m = model_new(1);

    (void)state;
    for (int i = 0; i < 6; i++)
        put_node(m, (const char *[]){ "n0", "n1", "n2", "n3", "n4", "n5" }[i], "");
    put(m, "HyperNode",
        HYPER("s0", "1", NAME("Node", "n0")) HYPER("s1", "1", NAME("Node", "n1")) HYPER("s2", "1", NAME("Node", "n2"))
            HYPER("empty", "1", NAME("Node", "n9"))
                HYPER("t1", "2",
                      NAME("HyperNode", "s2") "," NAME(
                          "Node", "n3")) "---\n{metadata: {name: t0}, spec: {tier: 2, tierName: spine, members: "
                                         "[" NAME("HyperNode", "s0") "," NAME("HyperNode", "s1") "]}}\n");
    model_order(m);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        autobuf got = { 0 };
        struct domain_list list;

        topology_candidates(m, &a, parse(&a, cases[i].topology),
                            cases[i].around ? find_domain(topology_root(m), str_of(cases[i].around)) : NULL, &list);
        buf_append(&got, "", 0);
        VEC_FOREACH(d, &list.list)
            buf_fmt(&got, "%.*s ", STR_ARG(*d == topology_root(m) ? STR("(all)") : (*d)->name));
        if (!str_is(buf_view(&got), cases[i].want) || list.is_hard != cases[i].is_hard)
            fail_msg("%s around %s: got \"%s\" %d", cases[i].topology, cases[i].around ? cases[i].around : "all", got.p,
                     list.is_hard);
    }
    assert_ptr_equal(
        topology_common(find_domain(topology_root(m), STR("s0")), find_domain(topology_root(m), STR("s1"))),
        find_domain(topology_root(m), STR("t0")));
    assert_ptr_equal(
        topology_common(find_domain(topology_root(m), STR("t0")), find_domain(topology_root(m), STR("s1"))),
        find_domain(topology_root(m), STR("t0")));
    assert_ptr_equal(
        topology_common(find_domain(topology_root(m), STR("s0")), find_domain(topology_root(m), STR("s2"))),
        topology_root(m));
    assert_ptr_equal(topology_common(NULL, find_domain(topology_root(m), STR("s2"))), topology_root(m));
    assert_ptr_equal(topology_common(find_domain(topology_root(m), STR("s2")), NULL), topology_root(m));
    assert_null(topology_common(NULL, NULL));
    model_free(m);
}

/* ---- laws ---- */

static void random_hyper(struct rand *r, struct buf *out)
{
    int tier = (int)rand_between(r, 0, 4);

    buf_fmt(out, "{metadata: {name: h%d}, spec: {tier: %d, members: [", (int)rand_below(r, 12), tier);
    for (uint64_t i = rand_below(r, 5); i > 0; i--)
        switch (rand_below(r, 4)) {
        case 0:
            buf_fmt(out, NAME("Node", "n%d") ",", (int)rand_below(r, 40));
            break;
        case 1:
            buf_fmt(out, PATTERN("Node", "^n%d") ",", (int)rand_below(r, 10));
            break;
        case 2:
            buf_fmt(out, PATTERN("HyperNode", "%d$") ",", (int)rand_below(r, 10));
            break;
        default:
            buf_fmt(out, NAME("HyperNode", "h%d") ",", (int)rand_below(r, 12));
        }
    buf_fmt(out, "]}}");
}

static void check_domain(uint64_t seed, const struct sched_model *m, const struct domain *d)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < m->n_order; i++) {
        bool is_inside = topology_has(d, m->order[i]->domain);

        n += is_inside;
        if (is_inside != (i >= d->range.from && i < d->range.to))
            fail_msg("seed %lu: %.*s is no range", (unsigned long)seed, STR_ARG(d->name));
    }
    assert_int_equal(n, d->range.to - d->range.from);
    VEC_FOREACH(child, &d->children) {
        assert_true((*child)->tier < d->tier && topology_has(d, *child) && !topology_has(*child, d));
        assert_ptr_equal(topology_common(*child, d->children.v[0]), *child == d->children.v[0] ? *child : d);
        check_domain(seed, m, *child);
    }
}

/* Every domain is one range, and neither hash nor order of telling matters. */
static void test_laws(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct sched_model *m = model_new(seed), *other = model_new(seed + 1);
        struct buf hypers[12] = { 0 };
        autobuf a = { 0 }, b = { 0 };
        size_t n = 0;
        struct rand r;
        char name[16];

        rand_seed(&r, seed);
        n = rand_below(&r, ARRAY_LEN(hypers));
        for (size_t i = 0; i < n; i++) {
            random_hyper(&r, &hypers[i]);
            put(m, "HyperNode", hypers[i].p);
        }
        for (int i = 0; i < 40; i++) {
            (void)snprintf(name, sizeof(name), "n%d", i);
            put_node(m, name, "");
            (void)snprintf(name, sizeof(name), "n%d", 39 - i);
            put_node(other, name, "");
            if (rand_chance(&r, 1, 10))
                model_order(m);
        }
        for (size_t i = 0; i < n; i++) /* a name that was told twice counts as told last: tell the same order */
            put(other, "HyperNode", hypers[i].p);
        model_order(m);
        model_order(other);
        check_domain(seed, m, topology_root(m));
        show_domain(&a, m, topology_root(m));
        show_domain(&b, other, topology_root(other));
        if (!str_eq(buf_view(&a), buf_view(&b)))
            fail_msg("seed %lu:\n%s\n%s", (unsigned long)seed, a.p, b.p);
        for (size_t i = 0; i < n; i++)
            buf_done(&hypers[i]);
        model_free(m);
        model_free(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_candidates),
        cmocka_unit_test(test_laws),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
