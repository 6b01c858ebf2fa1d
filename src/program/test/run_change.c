/* run_change.c - --set, --replicas, --env and --node */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "program/run/documents.h"
#include "program/run/options.h"
#include "yaml/yaml.h"

#define TASK(name, n)                                                                                                  \
    "{name: " name ", replicas: " n ", template: {spec: {containers: [{name: c, image: i, env: [{name: A, value: x}, " \
    "{name: F, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}], initContainers: [{name: i, image: i}]}}}"
#define JOB(name, rest)                                                                                                \
    "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: " name ", namespace: ns}, spec: {" rest "}}"  \
    "\n"

static const char one[] = JOB("train",
                              "minAvailable: 3, queue: q, tasks: [" TASK("master", "1") ", " TASK("worker", "2") "]");
static const char two[] = JOB("train", "tasks: [" TASK("worker", "2") "]") "---\n" JOB(
    "eval", "tasks: [" TASK("worker", "1") ", " TASK(
                "only", "1") "]") "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n";

static const struct {
    const char *in, *set, *replicas, *env; /* NULL: none */
    const char *path;                      /* "JOB:path" to look at … */
    const char *want;                      /* … and its JSON; NULL: it is gone */
    const char *err;                       /* part of the error instead */
} cases[] = {
    { one, "spec.queue=big", .path = "train:spec.queue", .want = "\"big\"" },
    { one, "spec.minAvailable=2", .path = "train:spec.minAvailable", .want = "2" },
    { one, "spec.queue='7'", .path = "train:spec.queue", .want = "\"7\"" },
    { one, "spec.tasks[1].replicas=5", .path = "train:spec.tasks[1].replicas", .want = "5" },
    { one, "spec.tasks[worker].replicas=6", .path = "train:spec.tasks[1].replicas", .want = "6" },
    { one, "spec.plugins.svc=[]", .path = "train:spec.plugins", .want = "{\"svc\":[]}" },
    { one, "spec.plugins={ssh: [], env: []}", .path = "train:spec.plugins", .want = "{\"ssh\":[],\"env\":[]}" },
    { one, "spec.policies[0].event=PodFailed", .path = "train:spec.policies", .want = "[{\"event\":\"PodFailed\"}]" },
    { one, "metadata.labels[a.b/c=d]=e=f", .path = "train:metadata.labels", .want = "{\"a.b/c=d\":\"e=f\"}" },
    { one, "spec.queue=null", .path = "train:spec.queue", .want = NULL },
    { one, "spec.queue=", .path = "train:spec.queue", .want = "\"\"" },
    { one, "train/spec.queue=x", .path = "train:spec.queue", .want = "\"x\"" },
    { two, "spec.queue=x", .path = "eval:spec.queue", .want = "\"x\"" },
    { two, "train/spec.queue=x", .path = "eval:spec.queue", .want = NULL },
    { two, "ns/eval/spec.queue=x", .path = "eval:spec.queue", .want = "\"x\"" },
    { one, "spec.queue", .err = "--set spec.queue: must be spec.PATH=VALUE" },
    { one, "=x", .err = "must be " },
    { one, "kind=Pod", .err = "must begin with spec." },
    { one, "spec.=x", .err = "not a path" },
    { one, "spec..a=x", .err = "not a path" },
    { one, "spec.tasks[=x", .err = "must be spec.PATH" },
    { one, "spec.tasks[]=x", .err = "not a path" },
    { one, "spec.tasks[9].replicas=1", .err = "only 2 elements" },
    { one, "spec.tasks[boss].replicas=1", .err = "named \"boss\"" },
    { one, "spec.queue.deep=1", .err = "in a string" },
    { one, "spec.queue={", .err = "the value" },
    { one, "other/spec.queue=x", .err = "no Job \"other\" (jobs: train)" },

    { one, .replicas = "worker=5", .path = "train:spec.tasks[1].replicas", .want = "5" },
    { one, .replicas = "worker=5", .path = "train:spec.minAvailable", .want = "6" }, /* all it was, all it stays */
    { one, .replicas = "worker=1", .path = "train:spec.minAvailable", .want = "2" },
    { one, .replicas = "worker=0", .path = "train:spec.minAvailable", .want = "1" },
    { one, "spec.minAvailable=1", .replicas = "worker=4", .path = "train:spec.minAvailable", .want = "1" },
    { two, .replicas = "only=3", .path = "eval:spec.tasks[1].replicas", .want = "3" },
    { two, .replicas = "eval/worker=3", .path = "eval:spec.tasks[0].replicas", .want = "3" },
    { two, .replicas = "ns/eval/worker=3", .path = "train:spec.tasks[0].replicas", .want = "2" },
    { two, .replicas = "worker=3", .err = "train and eval both have this task" },
    { one, .replicas = "boss=3", .err = "no task \"boss\" (tasks: train/master, train/worker)" },
    { one, .replicas = "worker=-1", .err = "not a number" },
    { one, .replicas = "worker=x", .err = "not a number" },
    { one, .replicas = "worker", .err = "TASK=NUMBER" },

    { one, .env = "B=1", .path = "train:spec.tasks[0].template.spec.containers[0].env[2]",
      .want = "{\"name\":\"B\",\"value\":\"1\"}" },
    { one, .env = "B=", .path = "train:spec.tasks[1].template.spec.initContainers[0].env",
      .want = "[{\"name\":\"B\",\"value\":\"\"}]" },
    { one, .env = "A=y=z", .path = "train:spec.tasks[0].template.spec.containers[0].env[0].value", .want = "\"y=z\"" },
    { one, .env = "F=v", .path = "train:spec.tasks[0].template.spec.containers[0].env[1]",
      .want = "{\"name\":\"F\",\"value\":\"v\"}" },
    { one, .env = "RUN_TEST_HERE", .path = "train:spec.tasks[0].template.spec.containers[0].env[2].value",
      .want = "\"here\"" },
    { one, .env = "RUN_TEST_NOWHERE", .err = "not set in this environment" },
    { one, .env = "=x", .err = "must be NAME=VALUE" },
    { "{apiVersion: v1, kind: Pod, metadata: {name: p}}", .env = "A=b", .err = "no Volcano Job" },
    { JOB("odd", "tasks: [5, {name: a, template: {spec: {containers: [7, {env: {}}]}}}]"), .env = "A=b",
      .path = "odd:spec.tasks[0]", .want = "5" },
};

static void add(struct arena *a, struct text_list *list, const char *text)
{
    if (text)
        *vec_push(a, &list->list) = text;
}

static void read_docs(struct load *l, const char *text)
{
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };

    if (yaml_parse(l->arena, str_of(text), NULL, &docs, &e) < 0)
        fail_msg("%s", e.text);
    for (size_t i = 0; i < docs.n; i++) {
        struct loaded *doc = arena_new(l->arena, struct loaded);

        doc->root = docs.v[i];
        doc->type = type_by_kind(json_member_text(docs.v[i], "apiVersion"), json_member_text(docs.v[i], "kind"));
        *vec_push(l->arena, &l->docs) = doc;
    }
}

static const struct json *find(struct load *l, const char *path)
{
    struct str rest = str_of(path), job;

    (void)str_split(&rest, ':', &job);
    for (size_t i = 0; i < l->docs.n; i++)
        if (str_eq(json_member_text(json_get(l->docs.v[i]->root, "metadata"), "name"), job))
            return json_path(l->docs.v[i]->root, rest, NULL);
    return NULL;
}

static void changes(void **state)
{
    setenv("RUN_TEST_HERE", "here", 1);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct load l = { .arena = &a };
        struct run_options o = { 0 };
        autobuf real = { 0 };
        struct err e = { 0 };
        const struct json *node;
        int rc;

        read_docs(&l, cases[i].in);
        add(&a, &o.set, cases[i].set);
        add(&a, &o.replicas, cases[i].replicas);
        add(&a, &o.env, cases[i].env);
        rc = run_change(&l, &o, &e);
        if (cases[i].err) {
            if (rc == 0 || !strstr(e.text, cases[i].err))
                fail_msg("case %zu: want an error with '%s', got '%s'", i, cases[i].err, rc ? e.text : "none");
            continue;
        }
        if (rc < 0)
            fail_msg("case %zu: %s", i, e.text);
        node = find(&l, cases[i].path);
        if (node)
            json_print(&real, node);
        if (!node != !cases[i].want || (node && strcmp(real.p, cases[i].want) != 0))
            fail_msg("case %zu: %s: want %s, got %s", i, cases[i].path, cases[i].want ? cases[i].want : "nothing",
                     node ? real.p : "nothing");
    }
}

static const struct {
    const char *in, *want, *err;
} capacities[] = {
    { "cpu=8,memory=16Gi,nvidia.com/gpu=2", "{\"cpu\":\"8\",\"memory\":\"16Gi\",\"nvidia.com/gpu\":\"2\"}", NULL },
    { "pods=500", "{\"pods\":\"500\"}", NULL },
    { "cpu", NULL, "must be RESOURCE=AMOUNT" },
    { "cpu=", NULL, "cpu=" },
    { "cpu=-1", NULL, "must not be negative" },
    { "cpu=1,,", NULL, "must be RESOURCE=AMOUNT" },
    { "=4", NULL, "must be RESOURCE=AMOUNT" },
};

static void capacity(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(capacities); i++) {
        autoarena a = { 0 };
        autobuf real = { 0 };
        struct json *amounts = NULL;
        struct err e = { 0 };

        if (machine_capacity(&a, str_of(capacities[i].in), &amounts, &e) < 0) {
            if (!capacities[i].err || !strstr(e.text, capacities[i].err))
                fail_msg("%s: %s", capacities[i].in, e.text);
            continue;
        }
        json_print(&real, amounts);
        if (!capacities[i].want || strcmp(real.p, capacities[i].want) != 0)
            fail_msg("%s: got %s", capacities[i].in, real.p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(changes), cmocka_unit_test(capacity) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
