/* scenario.c - tests of "what if": each change does what it says, and wrong ones say why */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/meta.h"
#include "base/util.h"
#include "cli/plan/scenario.h"
#include "job/admit.h"
#include "yaml/yaml.h"

static const char world[] =
    "apiVersion: v1\nkind: Node\nmetadata: {name: n1, uid: u, labels: {kubernetes.io/hostname: n1}}\n"
    "status: {allocatable: {cpu: 8}}\n"
    "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: ml}\n"
    "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\n"
    "---\napiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a, namespace: default}\n"
    "spec: {minAvailable: 2, tasks: [{name: w, replicas: 4, template: {spec: {containers: [{name: c, image: i}]}}}]}\n"
    "---\napiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: b, namespace: default}\n"
    "spec: {tasks: [{name: w, replicas: 4, template: {spec: {containers: [{name: c, image: i}]}}}]}\n"
    "---\napiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: b, namespace: other}\n"
    "spec: {tasks: [{name: w, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}]}\n"
    "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: a-1, namespace: default,"
    " ownerReferences: [{kind: Job, name: a, uid: x, controller: true}]}\nspec: {queue: default}\n"
    "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: default}\nspec: {nodeName: n1}\n";

static void world_read(struct arena *a, struct scenario *s)
{
    struct admit_env env = { .mark = MARK_DEFAULT, .namespace = STR("default") };
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };

    *s = (struct scenario){ .arena = a };
    if (yaml_parse(a, str_of(world), NULL, &docs, &e) < 0)
        fail_msg("the test's own YAML: %s", e.text);
    for (size_t i = 0; i < docs.n; i++) {
        if (str_is(object_kind(docs.v[i]), JOB_KIND))
            job_default(a, docs.v[i], &env);
        scenario_add(s, docs.v[i]);
    }
}

static struct text_list *list_of(struct changes *c, const char *flag)
{
    struct text_list *const lists[] = { &c->add_nodes, &c->remove_node,   &c->set_priority, &c->set_queue,
                                        &c->replicas,  &c->min_available, &c->without };
    static const char *const flags[] = { "add-nodes", "remove-node",   "set-priority", "set-queue",
                                         "replicas",  "min-available", "without" };

    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        if (strcmp(flags[i], flag) == 0)
            return lists[i];
    fail_msg("no flag %s", flag);
    return NULL;
}

/* Each row: a flag, and what is true afterwards: a value at a path of an object, or an error that says something. */
static void test_changes(void **state)
{
    static const struct {
        const char *flag, *value;
        const char *words; /* "!": an error with this in it */
        size_t object;     /* looked at */
        const char *path, *want;
    } cases[] = {
        { "set-priority", "a=high", "a at priority high", 3, "spec.priorityClassName", "high" },
        { "set-priority", "a=high", "a at priority high", 6, "spec.priorityClassName", "high" },
        { "set-priority", "a=77", "a at priority 77", 8, "metadata.name", "plan-priority-77" },
        { "set-priority", "a=-7", "a at priority -7", 8, "metadata.name", "plan-priority-minus-7" },
        { "set-priority", "a=low", "!no PriorityClass \"low\"", 0, NULL, NULL },
        { "set-priority", "a=99999999999", "!32 bits", 0, NULL, NULL },
        { "set-priority", "a", "!JOB=CLASS", 0, NULL, NULL },
        { "set-priority", "a=", "!JOB=CLASS", 0, NULL, NULL },
        { "set-priority", "z=high", "!no Job \"z\" (known: a, b, b)", 0, NULL, NULL },
        { "set-priority", "b=high", "!several namespaces", 0, NULL, NULL },
        { "set-priority", "other/b=high", "other/b at priority high", 5, "spec.priorityClassName", "high" },
        { "set-queue", "a=ml", "a in queue ml", 3, "spec.queue", "ml" },
        { "set-queue", "a=ml", "a in queue ml", 6, "spec.queue", "ml" },
        { "set-queue", "a=default", "a in queue default", 3, "spec.queue", "default" },
        { "set-queue", "a=zz", "!no Queue \"zz\"", 0, NULL, NULL },
        { "replicas", "a/w=7", "a/w with 7 pods", 3, "spec.tasks[0].replicas", "7" },
        { "replicas", "default/b/w=2", "default/b/w with 2 pods", 4, "spec.minAvailable", "2" }, /* a default follows */
        { "replicas", "a/w=1", "!minAvailable", 0, NULL, NULL }, /* what was written stays */
        { "replicas", "a/x=1", "!no task \"x\" (it has: w)", 0, NULL, NULL },
        { "replicas", "a=1", "!JOB/TASK", 0, NULL, NULL },
        { "replicas", "a/w=-1", "!number", 0, NULL, NULL },
        { "replicas", "a/w=1e9", "!number", 0, NULL, NULL },
        { "min-available", "a=3", "a with minAvailable 3", 3, "spec.minAvailable", "3" },
        { "min-available", "a=9", "!minAvailable", 0, NULL, NULL },
        { "min-available", "a=0", "!must be at least 1", 0, NULL, NULL },
        { "add-nodes", "2", "2 more nodes like n1", 9, "metadata.name", "n1-more-2" },
        { "add-nodes", "1=n1", "1 more node like n1", 8, "status.allocatable.cpu", "8" },
        { "add-nodes", "1=n1", "1 more node like n1", 8, "metadata.labels[kubernetes.io/hostname]", "n1-more-1" },
        { "add-nodes", "0", "!number of nodes", 0, NULL, NULL },
        { "add-nodes", "lots", "!number of nodes", 0, NULL, NULL },
        { "add-nodes", "1=n9", "!no Node \"n9\"", 0, NULL, NULL },
        { "remove-node", "n1", "node n1 gone", 0, "kind", "Queue" },
        { "remove-node", "n9", "!no Node \"n9\" (known: n1)", 0, NULL, NULL },
        { "without", "a", "without a", 3, "metadata.name", "b" },
        { "without", "a", "without a", 5, "kind", "Pod" }, /* its PodGroup is gone too */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct scenario s;
        struct changes c = { 0 };
        autobuf words = { 0 };
        struct err e = { 0 };
        struct json *at;
        int rc;

        world_read(&a, &s);
        *vec_push(&a, &list_of(&c, cases[i].flag)->list) = cases[i].value;
        assert_true(changes_any(&c));
        rc = scenario_change(&s, &c, &words, &e);
        if (cases[i].words[0] == '!') {
            if (rc == 0 || !str_has(str_of(e.text), str_of(cases[i].words + 1)))
                fail_msg("--%s %s: \"%s\" does not say \"%s\"", cases[i].flag, cases[i].value, e.text,
                         cases[i].words + 1);
            continue;
        }
        if (rc < 0)
            fail_msg("--%s %s: %s", cases[i].flag, cases[i].value, e.text);
        if (!str_is(buf_view(&words), cases[i].words))
            fail_msg("--%s %s: says %s", cases[i].flag, cases[i].value, words.p);
        assert_true(cases[i].object < s.objects.n);
        at = json_path(s.objects.v[cases[i].object], str_of(cases[i].path), &e);
        if (!at || at->n != strlen(cases[i].want) || memcmp(at->text, cases[i].want, at->n) != 0)
            fail_msg("--%s %s: %s of object %zu is not %s", cases[i].flag, cases[i].value, cases[i].path,
                     cases[i].object, cases[i].want);
    }
}

static void test_removing_a_node_takes_its_pods(void **state)
{
    autoarena a = { 0 };
    struct scenario s;
    struct changes c = { 0 };
    autobuf words = { 0 };
    struct err e;

    (void)state;
    world_read(&a, &s);
    *vec_push(&a, &c.remove_node.list) = "n1";
    assert_int_equal(scenario_count(&s, "Pod"), 1);
    assert_int_equal(scenario_change(&s, &c, &words, &e), 0);
    assert_int_equal(scenario_count(&s, "Pod"), 0);
    assert_int_equal(scenario_count(&s, "Node"), 0);
}

static void test_copies_are_apart(void **state)
{
    autoarena a = { 0 };
    struct scenario s, copy = { .arena = &a };
    struct changes c = { 0 };
    autobuf words = { 0 };
    struct err e;

    (void)state;
    world_read(&a, &s);
    scenario_copy(&copy, &s);
    *vec_push(&a, &c.set_queue.list) = "a=ml";
    assert_int_equal(scenario_change(&copy, &c, &words, &e), 0);
    assert_false(str_is(json_text(json_find(s.objects.v[3], "spec", "queue", NULL), STR("")), "ml"));
}

static void test_made_nodes(void **state)
{
    static const struct {
        const char *text, *want; /* names in order, or "!error" */
    } cases[] = {
        { "2=cpu:8,memory:32Gi", "node-1 node-2 " },
        { "1=cpu:500m,nvidia.com/gpu:8", "node-1 " },
        { "2", "!size of the nodes is missing" },
        { "2=", "!size of the nodes is missing" },
        { "2=,", "!RESOURCE:AMOUNT" },
        { "2=cpu", "!RESOURCE:AMOUNT" },
        { "2=cpu:many", "!cpu:many" },
        { "2=cpu:-1", "!negative" },
        { "0=cpu:1", "!number of nodes" },
        { "1000000000=cpu:1", "!number of nodes" },
        { "x=cpu:1", "!number of nodes" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct scenario s = { .arena = &a };
        autobuf names = { 0 };
        struct err e = { 0 };
        int rc = scenario_make_nodes(&s, str_of(cases[i].text), &e);

        if (cases[i].want[0] == '!') {
            if (rc == 0 || !str_has(str_of(e.text), str_of(cases[i].want + 1)))
                fail_msg("%s: \"%s\" does not say %s", cases[i].text, e.text, cases[i].want);
            continue;
        }
        for (size_t k = 0; k < s.objects.n; k++)
            buf_fmt(&names, "%.*s ", STR_ARG(object_name(s.objects.v[k])));
        if (rc < 0 || !str_is(buf_view(&names), cases[i].want))
            fail_msg("%s: %s %s", cases[i].text, names.p, e.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_removing_a_node_takes_its_pods),
        cmocka_unit_test(test_copies_are_apart),
        cmocka_unit_test(test_made_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
