/* plugin.c - registry, defaulting, the set, names */
#include "jobtest.h"

static void test_registry(void **state)
{
    static const char *const order[] = { "env", "svc",       "ssh", "tensorflow", "pytorch", "mpi",
                                         "ray", "deepspeed", "jax", "wait",       "hcclrank" };

    (void)state;
    assert_int_equal(n_job_plugins, ARRAY_LEN(order));
    for (size_t i = 0; i < n_job_plugins; i++) {
        assert_string_equal(job_plugins[i]->name, order[i]);
        assert_ptr_equal(plugin_by_name(str_of(order[i])), job_plugins[i]);
        assert_string_equal(mark_name((uint8_t)(MARK_PLUGIN_0 + i)), order[i]);
        assert_non_null(job_plugins[i]->summary);
        assert_non_null(job_plugins[i]->adds);
        for (size_t k = 0; k < ARRAY_LEN(job_plugins[i]->forces) && job_plugins[i]->forces[k]; k++)
            assert_non_null(plugin_by_name(str_of(job_plugins[i]->forces[k])));
    }
    assert_null(plugin_by_name(STR("Env")));
    assert_null(plugin_by_name(STR("")));
    assert_string_equal(mark_name(MARK_USER), "");
    assert_string_equal(mark_name(MARK_DEFAULT), "default");
    assert_string_equal(mark_name(MARK_JOB), "job");
    assert_string_equal(mark_name(63), "");
}

static void test_default(void **state)
{
    static const struct {
        const char *plugins, *want;
    } cases[] = {
        { "null", "null" },
        { "{}", "{}" },
        { "{env: []}", "{\"env\":[]}" },
        { "{ssh: [], hcclrank: []}", "{\"ssh\":[],\"hcclrank\":[]}" },
        { "{tensorflow: []}", "{\"tensorflow\":[],\"svc\":[]}" },
        { "{pytorch: ['--port=1']}", "{\"pytorch\":[\"--port=1\"],\"svc\":[]}" },
        { "{mpi: []}", "{\"mpi\":[],\"svc\":[],\"ssh\":[]}" },
        { "{mpi: [], svc: ['--b']}", "{\"mpi\":[],\"svc\":[\"--b\"],\"ssh\":[]}" },
        { "{ray: []}", "{\"ray\":[],\"svc\":[]}" },
        { "{deepspeed: ['--ssh=false']}", "{\"deepspeed\":[\"--ssh=false\"],\"svc\":[]}" },
        { "{deepspeed: []}", "{\"deepspeed\":[],\"svc\":[],\"ssh\":[]}" },
        { "{nothing: []}", "{\"nothing\":[]}" },
        { "{mpi: null, ssh: null}", "{\"mpi\":null,\"ssh\":null,\"svc\":[]}" },
        { "[mpi]", "[\"mpi\"]" },
        { "7", "7" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autojobtest t = { 0 };
        struct json *plugins;

        jobtest_job(&t, cases[i].plugins, "[{name: master, replicas: 1}, {name: worker, replicas: 1}]");
        plugins = json_find(t.root, "spec", "plugins", NULL);
        if (strcmp(text_of(&t, plugins), cases[i].want) != 0)
            fail_msg("%s gave %s", cases[i].plugins, text_of(&t, plugins));
        plugin_default(&t.a, t.root, MARK_DEFAULT); /* twice is once */
        assert_string_equal(text_of(&t, plugins), cases[i].want);
    }
}

static void test_default_is_marked(void **state)
{
    autojobtest t = { 0 };

    (void)state;
    jobtest_job(&t, "{ray: []}", "[{name: head, replicas: 1}]");
    assert_int_equal(json_find(t.root, "spec", "plugins", "svc", NULL)->mark, MARK_DEFAULT);
    assert_int_equal(json_find(t.root, "spec", "plugins", "ray", NULL)->mark, MARK_USER);
}

static void test_problems(void **state)
{
    static const struct {
        const char *plugins, *want;
    } cases[] = {
        { "{nothing: []}", "E spec.plugins.nothing: unable to find job plugin: nothing\n" },
        { "{pytroch: []}", "E spec.plugins.pytroch: unable to find job plugin: pytroch (did you mean pytorch?)\n" },
        { "{Svc: []}", "unable to find job plugin: Svc (did you mean svc?)\n" },
        { "[svc]", "E spec.plugins: must be an object of plugin names and argument lists, not list\n" },
        { "{svc: 5}", "E spec.plugins.svc: plugin svc: arguments must be a list of strings, not number\n" },
        { "{svc: ['--a', '--dns-search=maybe']}",
          "W spec.plugins.svc[0]: plugin svc: unknown argument \"a\" is ignored\n"
          "E spec.plugins.svc[1]: plugin svc: argument dns-search: bad value \"maybe\" (must be true|false)\n" },
        { "{svc: null}", "" },
        { "{env: ['--extnded']}",
          "W spec.plugins.env[0]: plugin env: unknown argument \"extnded\" is ignored; did you mean --extended?\n" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autojobtest t = { 0 };

        jobtest_job(&t, cases[i].plugins, "[{name: w, replicas: 1}]");
        assert_contains(jobtest_problems(&t), cases[i].want);
        if (!*cases[i].want)
            assert_string_equal(jobtest_problems(&t), "");
    }
}

static void test_given_and_values(void **state)
{
    autojobtest t = { 0 };

    (void)state;
    jobtest_job(&t, "{ssh: ['--sshPort=2022'], svc: []}", "[{name: w, replicas: 1}]");
    assert_true(plugin_set_given(t.set, "ssh", "ssh-port"));
    assert_false(plugin_set_given(t.set, "ssh", "ssh-key-type"));
    assert_false(plugin_set_given(t.set, "ssh", "nothing"));
    assert_false(plugin_set_given(t.set, "mpi", "port"));
    assert_int_equal(plugin_set_int(t.set, "ssh", "ssh-port", -1), 2022);
    assert_int_equal(plugin_set_int(t.set, "ssh", "ssh-key-type", -1), -1);
    assert_int_equal(plugin_set_int(t.set, "mpi", "port", -1), -1);
    assert_true(str_is(plugin_set_text(t.set, "ssh", "ssh-key-type", STR_NULL), "rsa"));
    assert_true(str_is(plugin_set_text(t.set, "ssh", "ssh-port", STR("no")), "no"));
    assert_non_null(plugin_set_args(t.set, "svc"));
    assert_null(plugin_set_args(t.set, "env"));
}

static void test_markers(void **state)
{
    autojobtest t = { 0 };

    (void)state;
    jobtest_job(&t, "{svc: [], hcclrank: [], env: []}", "[{name: master, replicas: 1}]");
    assert_string_equal(text_of(&t, plugin_set_markers(t.set, &t.a)),
                        "{\"plugin-env\":\"env\",\"plugin-svc\":\"svc\"}");
}

/* 'n' letters as job name. */
static void test_names(void **state)
{
    static const struct {
        const char *plugins, *name; /* a number: that many letters */
        const char *task;
        const char *want; /* "" : fine */
    } cases[] = {
        { "{env: []}", "63", "{name: t, replicas: 1}", "" },
        { "{ssh: []}", "59", "{name: t, replicas: 1}", "" },
        { "{ssh: []}", "60", "{name: t, replicas: 1}", "E metadata.name: plugin ssh names the volume and Secret \"" },
        { "{ssh: []}", "a.b", "{name: t, replicas: 1}",
          "E metadata.name: plugin ssh names the volume and Secret \"a.b-ssh\"" },
        { "{ssh: []}", "1a", "{name: t, replicas: 1}", "" },
        { "{svc: []}", "1a", "{name: t, replicas: 1}", "W metadata.name: plugin svc names the Service \"1a\"" },
        { "{svc: []}", "a.b", "{name: t, replicas: 1}", "E metadata.name: plugin svc names the Service \"a.b\"" },
        { "{svc: []}", "59", "{name: t, replicas: 10}", "" },
        { "{svc: []}", "60", "{name: t, replicas: 1}",
          "E metadata.name: plugin svc names the volume and ConfigMap \"" },
        { "{svc: []}", "59", "{name: t, replicas: 11}", "E metadata.name: plugin svc makes \"" },
        { "{svc: []}", "59", "{name: t, replicas: 11, template: {spec: {hostname: h}}}",
          "W spec.tasks[0].template.spec.hostname: all 11 pods" },
        { "{ray: []}", "54", "{name: head, replicas: 1}", "" },
        { "{ray: []}", "55", "{name: head, replicas: 1}", "E metadata.name: plugin ray names the Service \"" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autojobtest t = { 0 };
        char name[80] = "";
        int64_t n;
        struct str yaml;

        if (str_to_i64(str_of(cases[i].name), &n) == 0)
            memset(name, 'a', (size_t)n);
        else
            (void)snprintf(name, sizeof(name), "%s", cases[i].name);
        yaml = arena_fmt(&t.a, "metadata: {name: '%s', namespace: ns}\nspec: {plugins: %s, tasks: [%s]}\n", name,
                         cases[i].plugins, cases[i].task);
        jobtest_load(&t, yaml.p);
        assert_contains(jobtest_problems(&t), cases[i].want);
        if (!*cases[i].want && t.ps.n_errors)
            fail_msg("%s %s: %s", cases[i].plugins, cases[i].name, jobtest_problems(&t));
    }
}

static void test_hostname_warning(void **state)
{
    autojobtest t = { 0 };

    (void)state;
    jobtest_job(&t, "{svc: []}", "[{name: w, replicas: 2, template: {spec: {hostname: h}}}]");
    assert_string_equal(jobtest_problems(&t), "W spec.tasks[0].template.spec.hostname: all 2 pods of task \"w\" get "
                                              "the host name \"h\"; host lists hold it only once\n");
}

/* The order of plugins does not depend on the order in the file, and running on the result again changes nothing. */
static void test_order_and_idempotence(void **state)
{
    static const char *const orders[] = { "{env: [], svc: [], ssh: []}", "{ssh: [], svc: [], env: []}" };
    const char *first = NULL;
    struct arena keep = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
        autojobtest t = { 0 };
        struct json *pod;
        struct pod_draft again = { 0 };

        jobtest_job(&t, orders[i],
                    "[{name: w, replicas: 2, template: {spec: {initContainers: [{name: i}], containers: [{name: c, "
                    "env: [{name: A, value: x}]}]}}}]");
        assert_int_equal(t.ps.n_errors, 0);
        pod = jobtest_pod(&t, 0, 1);
        if (!first)
            first = arena_str(&keep, str_of(text_of(&t, pod))).p;
        assert_string_equal(text_of(&t, pod), first);

        again = (struct pod_draft){ pod, json_get(pod, "metadata"), json_get(pod, "spec"), &t.job.spec.tasks.v[0], 0,
                                    1,   object_name(pod) };
        assert_int_equal(plugin_set_pod(t.set, &t.a, &again, NULL), 0);
        assert_string_equal(text_of(&t, pod), first);
    }
    arena_done(&keep);
}

/* What a plugin adds carries its mark; what the user wrote does not. */
static void test_marks(void **state)
{
    autojobtest t = { 0 };
    struct json *pod, *env;

    (void)state;
    jobtest_job(&t, "{env: [], svc: []}",
                "[{name: w, replicas: 1, template: {spec: {containers: [{name: c, env: [{name: A, value: x}]}]}}}]");
    pod = jobtest_pod(&t, 0, 0);
    env = json_path(pod, STR("spec.containers[0].env"), NULL);
    assert_string_equal(mark_name(json_at(env, 0)->mark), "");
    assert_string_equal(mark_name(json_at(env, 1)->mark), "env");
    assert_string_equal(mark_name(json_at(env, 3)->mark), "svc");
    assert_string_equal(mark_name(json_find(pod, "spec", "hostname", NULL)->mark), "svc");
    jobtest_must_be_good(&t);
    VEC_FOREACH(obj, &t.objects.list)
        assert_string_equal(mark_name((*obj)->mark), "svc");
}

static void test_container_walk(void **state)
{
    autojobtest t = { 0 };
    struct pod_draft pod = { 0 };
    autobuf got = { 0 };

    (void)state;
    jobtest_job(
        &t, "{env: []}",
        "[{name: w, template: {spec: {initContainers: [{name: i1}, 7, {name: i2}, 8], containers: [null, {name: "
        "c1}, {name: c2}]}}}]");
    pod.spec = job_task_pod_spec(&t.job.spec.tasks.v[0]);
    POD_FOREACH_CONTAINER(c, &pod, POD_ALL)
        buf_fmt(&got, "%.*s ", STR_ARG(json_member_text(c, "name")));
    POD_FOREACH_CONTAINER(c, &pod, POD_INIT)
        buf_fmt(&got, "%.*s ", STR_ARG(json_member_text(c, "name")));
    POD_FOREACH_CONTAINER(c, &pod, POD_MAIN)
        buf_fmt(&got, "%.*s ", STR_ARG(json_member_text(c, "name")));
    assert_string_equal(got.p, "i1 i2 c1 c2 i1 i2 c1 c2 ");
}

static void test_accelerators(void **state)
{
    static const struct {
        const char *limits;
        int64_t want;
    } cases[] = {
        { "{nvidia.com/gpu: 8}", 8 },
        { "{nvidia.com/gpu: '4', cpu: 9}", 4 },
        { "{volcano.sh/vgpu-number: 2, volcano.sh/vgpu-memory: 3000, volcano.sh/vgpu-cores: 50}", 2 },
        { "{huawei.com/NPU: 2}", 2 },
        { "{cpu: 4}", 1 },
        { "{nvidia.com/gpu: 500m}", 1 },
        { "{nvidia.com/gpu: x}", 1 },
        { "{nvidia.com/gpu: -3}", 1 },
        { "7", 1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autojobtest t = { 0 };
        struct str tasks = arena_fmt(&t.a, "[{name: w, template: {spec: {containers: [{resources: {limits: %s}}]}}}]",
                                     cases[i].limits);

        jobtest_job(&t, "{}", tasks.p);
        if (task_accelerators(&t.job.spec.tasks.v[0]) != cases[i].want)
            fail_msg("%s gave %lld", cases[i].limits, (long long)task_accelerators(&t.job.spec.tasks.v[0]));
    }
}

/* A call outside any plugin, to try the helpers of pod.h. */
static void test_pod_helpers(void **state)
{
    autojobtest t = { 0 };
    struct plugin_call call = { .arena = &t.a, .mark = 9 };
    struct pod_draft pod = { 0 };
    struct json *c;

    (void)state;
    jobtest_job(
        &t, "{}",
        "[{name: w, template: {spec: {containers: [{name: c, ports: [{name: p, containerPort: 1}], env: [{name: "
        "A, value: '1'}, {name: B, valueFrom: {}}, {name: A, value: '2'}], volumeMounts: [{name: v, mountPath: "
        "/m/}]}, {name: d}]}}}]");
    pod.spec = job_task_pod_spec(&t.job.spec.tasks.v[0]);
    pod.meta = json_object(&t.a);
    c = pod_container_next(&pod, POD_MAIN, NULL);
    call.job = &t.job;

    assert_true(str_is(jobtest_env(c, "A"), "2"));
    assert_true(str_empty(jobtest_env(c, "B")));
    assert_false(container_set_env(&call, c, "A", STR("9"), true));
    assert_true(container_set_env(&call, c, "A", STR("9"), false));
    assert_true(container_set_env(&call, c, "IP", STR("x"), true));
    assert_at(&t, c, "env",
              "[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"B\",\"valueFrom\":{}},{\"name\":\"A\",\"value\":\"9\"},"
              "{\"name\":\"IP\",\"value\":\"x\"}]");
    container_open_port(&call, c, "q", 1); /* the number is there */
    container_open_port(&call, c, "p", 2); /* the name is taken */
    container_open_port(&call, c, "q", 3);
    assert_at(&t, c, "ports",
              "[{\"name\":\"p\",\"containerPort\":1},{\"containerPort\":2},{\"name\":\"q\",\"containerPort\":3}]");
    container_mount(&call, c, STR("x"), STR("/m"), NULL); /* the user's stays */
    container_mount(&call, c, STR("x"), STR("/n"), "sub");
    assert_at(&t, c, "volumeMounts",
              "[{\"name\":\"v\",\"mountPath\":\"/m/\"},{\"name\":\"x\",\"mountPath\":\"/n\",\"subPath\":\"sub\"}]");
    container_set_shell(&call, c, STR("echo"));
    assert_at(&t, c, "command", "[\"sh\",\"-c\",\"echo\"]");
    assert_non_null(pod_add_volume(&call, &pod, STR("v")));
    assert_null(pod_add_volume(&call, &pod, STR("v")));
    assert_non_null(pod_add_init_container(&call, &pod, STR("i")));
    assert_null(pod_add_init_container(&call, &pod, STR("i")));
    pod_set_annotation(&call, &pod, "k", STR("v"));
    assert_at(&t, pod.meta, "annotations.k", "\"v\"");
    json_set(pod.spec, "hostNetwork", json_bool_new(&t.a, true));
    pod_open_port(&call, &pod, POD_ALL, "h", 77);
    pod_open_port(&call, &pod, POD_ALL, "h", 77);
    assert_at(&t, c, "ports[3]", "{\"name\":\"h\",\"containerPort\":77}");
    assert_null(json_get(json_at(json_get(pod.spec, "containers"), 1), "ports"));
    assert_at(&t, json_at(json_get(pod.spec, "initContainers"), 0), "ports", "[{\"name\":\"h\",\"containerPort\":77}]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registry),
        cmocka_unit_test(test_default),
        cmocka_unit_test(test_default_is_marked),
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_given_and_values),
        cmocka_unit_test(test_markers),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_hostname_warning),
        cmocka_unit_test(test_order_and_idempotence),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_container_walk),
        cmocka_unit_test(test_accelerators),
        cmocka_unit_test(test_pod_helpers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
