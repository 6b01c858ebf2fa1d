/* svc.c - names, host files, Service, NetworkPolicy */
#include "jobtest.h"

static const char two_tasks[] =
    "[{name: ps, replicas: 1, template: {spec: {containers: [{name: c}]}}},"
    " {name: worker, replicas: 2, template: {spec: {initContainers: [{name: i}], containers: [{name: c, env: [{name: "
    "VC_PS_NUM, value: mine}]}]}}}]";

static void test_config_map(void **state)
{
    autojobtest t = { 0 };
    struct json *map;

    (void)state;
    jobtest_job(&t, "{svc: []}", two_tasks);
    jobtest_must_be_good(&t);
    assert_string_equal(jobtest_problems(&t), "");
    map = jobtest_object(&t, "ConfigMap", "job-svc");
    assert_string_equal(
        text_of(&t, map),
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"job-svc\",\"namespace\":\"ns\","
        "\"labels\":{"
        "\"volcano.sh/job-name\":\"job\",\"volcano.sh/job-namespace\":\"ns\"},\"ownerReferences\":[{\"apiVersion\":"
        "\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"name\":\"job\",\"uid\":\"u1\",\"controller\":true,"
        "\"blockOwnerDeletion\":true}]},\"data\":{\"VC_PS_HOSTS\":\"job-ps-0.job\",\"VC_PS_NUM\":\"1\","
        "\"VC_WORKER_HOSTS\":\"job-worker-0.job,job-worker-1.job\",\"VC_WORKER_NUM\":\"2\",\"ps.host\":"
        "\"job-ps-0.job\",\"worker.host\":\"job-worker-0.job\\njob-worker-1.job\"}}");
}

static void test_service_and_policy(void **state)
{
    autojobtest t = { 0 };

    (void)state;
    jobtest_job(&t, "{svc: []}", two_tasks);
    jobtest_must_be_good(&t);
    assert_int_equal(t.objects.list.n, 3);
    assert_at(&t, jobtest_object(&t, "Service", "job"), "spec",
              "{\"clusterIP\":\"None\",\"selector\":{\"volcano.sh/job-name\":\"job\",\"volcano.sh/job-namespace\":"
              "\"ns\"}}");
    assert_at(
        &t, jobtest_object(&t, "NetworkPolicy", "job"), "spec",
        "{\"podSelector\":{\"matchLabels\":{\"volcano.sh/job-name\":\"job\",\"volcano.sh/job-namespace\":\"ns\"}},"
        "\"policyTypes\":[\"Ingress\"],\"ingress\":[{\"from\":[{\"podSelector\":{\"matchLabels\":{"
        "\"volcano.sh/job-name\":\"job\",\"volcano.sh/job-namespace\":\"ns\"}}}]}]}");
    assert_at(&t, jobtest_object(&t, "NetworkPolicy", "job"), "apiVersion", "\"networking.k8s.io/v1\"");
}

static void test_flags(void **state)
{
    autojobtest t = { 0 };
    struct json *pod;

    (void)state;
    jobtest_job(&t, "{svc: ['--publishNotReadyAddresses', '-disable-network-policy=T', '--inject-hosts-env=false']}",
                two_tasks);
    jobtest_must_be_good(&t);
    assert_at(&t, jobtest_object(&t, "Service", "job"), "spec.publishNotReadyAddresses", "true");
    assert_null(jobtest_object(&t, "NetworkPolicy", "job"));
    pod = jobtest_pod(&t, 0, 0);
    assert_at(&t, pod, "spec.containers[0].env", "");
    assert_at(&t, pod, "spec.containers[0].volumeMounts", "[{\"name\":\"job-svc\",\"mountPath\":\"/etc/volcano\"}]");
}

#define ENV_REF(name)                                                                                                  \
    "{\"name\":\"" name "\",\"valueFrom\":{\"configMapKeyRef\":{\"name\":\"job-svc\",\"key\":\"" name "\"}}}"

static void test_pod(void **state)
{
    autojobtest t = { 0 };
    struct json *pod;

    (void)state;
    jobtest_job(&t, "{svc: []}", two_tasks);
    jobtest_must_be_good(&t);
    pod = jobtest_pod(&t, 1, 1);
    assert_at(&t, pod, "spec.hostname", "\"job-worker-1\"");
    assert_at(&t, pod, "spec.subdomain", "\"job\"");
    assert_at(&t, pod, "spec.volumes", "[{\"name\":\"job-svc\",\"configMap\":{\"name\":\"job-svc\"}}]");
    assert_at(&t, pod, "spec.initContainers[0].env",
              "[" ENV_REF("VC_PS_HOSTS") "," ENV_REF("VC_PS_NUM") "," ENV_REF("VC_WORKER_HOSTS") "," ENV_REF(
                  "VC_WORKER_NUM") "]");
    assert_at(&t, pod, "spec.containers[0].env", /* the user's VC_PS_NUM is replaced where it stands */
              "[" ENV_REF("VC_PS_NUM") "," ENV_REF("VC_PS_HOSTS") "," ENV_REF("VC_WORKER_HOSTS") "," ENV_REF(
                  "VC_WORKER_NUM") "]");
    assert_at(&t, pod, "spec.initContainers[0].volumeMounts",
              "[{\"name\":\"job-svc\",\"mountPath\":\"/etc/volcano\"}]");
    assert_at(&t, pod, "spec.dnsConfig", "");
}

static void test_keep_user_env(void **state)
{
    autojobtest t = { 0 };

    (void)state;
    jobtest_job(&t, "{svc: ['--keep-user-env']}", two_tasks);
    assert_at(&t, jobtest_pod(&t, 1, 0), "spec.containers[0].env[0]", "{\"name\":\"VC_PS_NUM\",\"value\":\"mine\"}");
    assert_at(&t, jobtest_pod(&t, 1, 0), "spec.containers[0].env[1]", ENV_REF("VC_PS_HOSTS"));
}

static void test_dashes_zero_and_own_names(void **state)
{
    autojobtest t = { 0 };
    struct json *map;

    (void)state;
    jobtest_job(
        &t, "{svc: []}",
        "[{name: trainer-0, replicas: 1, template: {spec: {hostname: h, subdomain: s}}}, {name: spare, replicas: "
        "0}, {name: own, replicas: 3, template: {spec: {hostname: o}}}]");
    jobtest_must_be_good(&t);
    map = jobtest_object(&t, "ConfigMap", "job-svc");
    assert_at(&t, map, "data",
              "{\"VC_OWN_HOSTS\":\"o.job\",\"VC_OWN_NUM\":\"1\",\"VC_SPARE_HOSTS\":\"\",\"VC_SPARE_NUM\":\"0\","
              "\"VC_TRAINER_0_HOSTS\":\"h.s\",\"VC_TRAINER_0_NUM\":\"1\",\"own.host\":\"o.job\",\"spare.host\":\"\","
              "\"trainer-0.host\":\"h.s\",\"trainer_0.host\":\"h.s\"}");
    assert_at(&t, jobtest_pod(&t, 0, 0), "spec.hostname", "\"h\"");
    assert_at(&t, jobtest_pod(&t, 0, 0), "spec.subdomain", "\"s\"");
    assert_non_null(jobtest_object(&t, "Service", "s")); /* for pods with a subdomain of their own */
    assert_at(&t, jobtest_object(&t, "Service", "s"), "spec.clusterIP", "\"None\"");
}

static const struct json *find_service(void *ctx, const char *kind, struct str name)
{
    return strcmp(kind, "Service") == 0 && str_is(name, "s") ? ctx : NULL;
}

/* A Service of that name that the user made is what he meant; one of ours is wanted again. */
static void test_subdomain_of_user(void **state)
{
    static const char tasks[] = "[{name: w, replicas: 1, template: {spec: {subdomain: s}}}]";
    autojobtest t = { 0 };

    (void)state;
    t.world.ctx = object_new(&t.a, "v1", "Service", STR("ns"), STR("s"));
    t.world.find = find_service;
    jobtest_job(&t, "{svc: []}", tasks);
    jobtest_must_be_good(&t);
    assert_null(jobtest_object(&t, "Service", "s"));

    object_set_controller(&t.a, t.world.ctx, t.root);
    jobtest_job(&t, "{svc: []}", tasks);
    jobtest_must_be_good(&t);
    assert_non_null(jobtest_object(&t, "Service", "s"));
}

static void test_bad_subdomain(void **state)
{
    autojobtest t = { 0 };

    (void)state;
    jobtest_job(&t, "{svc: []}", "[{name: w, replicas: 1, template: {spec: {subdomain: 1s}}}]");
    assert_contains(jobtest_problems(&t), "W spec.plugins.svc: plugin svc: names of pods below the subdomain \"1s\"");
    jobtest_must_be_good(&t);
    assert_null(jobtest_object(&t, "Service", "1s"));
}

static void test_generation(void **state)
{
    autojobtest t = { 0 };

    (void)state;
    jobtest_load(&t, "metadata: {name: job, namespace: ns, uid: u1, generation: 12}\n"
                     "spec: {plugins: {svc: []}, tasks: [{name: w, replicas: 1}]}\n");
    jobtest_must_be_good(&t);
    assert_at(&t, jobtest_object(&t, "ConfigMap", "job-svc"), "metadata.annotations[pumice.dev/generation]", "\"12\"");
    assert_at(&t, jobtest_object(&t, "ConfigMap", "job-svc"), "data.generation", "");
}

static void test_allow_ingress(void **state)
{
    static const struct {
        const char *arg, *want;
    } bad[] = {
        { "0", "bad value \"0\"" },     { "65536", "bad value \"65536\"" }, { "80/world", "bad value \"80/world\"" },
        { "80/", "bad value \"80/\"" }, { "http", "bad value \"http\"" },   { "80,,81", "bad value \"\"" },
    };
    autojobtest t = { 0 };

    (void)state;
    jobtest_job(&t, "{svc: ['--allow-ingress=8265/cluster', '--allow-ingress=80,9090/namespace']}", two_tasks);
    jobtest_must_be_good(&t);
    assert_at(&t, jobtest_object(&t, "NetworkPolicy", "job"), "spec.ingress[1]",
              "{\"from\":[{\"namespaceSelector\":{}}],\"ports\":[{\"protocol\":\"TCP\",\"port\":8265}]}");
    assert_at(&t, jobtest_object(&t, "NetworkPolicy", "job"), "spec.ingress[2]",
              "{\"from\":[{\"podSelector\":{}}],\"ports\":[{\"protocol\":\"TCP\",\"port\":80}]}");
    assert_at(&t, jobtest_object(&t, "NetworkPolicy", "job"), "spec.ingress[3].ports[0].port", "9090");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct str plugins = arena_fmt(&t.a, "{svc: ['--allow-ingress=%s']}", bad[i].arg);

        jobtest_job(&t, plugins.p, two_tasks);
        assert_int_equal(t.ps.n_errors, 1);
        assert_contains(jobtest_problems(&t), bad[i].want);
    }
}

static void test_dns_search(void **state)
{
    static const struct {
        const char *plugins, *want;
    } cases[] = {
        { "{svc: []}", "" },
        { "{svc: ['--dns-search']}", "{\"searches\":[\"job.ns.svc.cluster.local\"]}" },
        { "{mpi: ['--impl=intel', '--master=ps']}", "{\"searches\":[\"job.ns.svc.cluster.local\"]}" },
        { "{mpi: ['--impl=mpich', '--master=ps']}", "{\"searches\":[\"job.ns.svc.cluster.local\"]}" },
        { "{mpi: ['--impl=openmpi', '--master=ps']}", "" },
        { "{mpi: ['--impl=intel', '--master=ps'], svc: ['--dns-search=false']}", "" },
    };
    autojobtest g = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autojobtest t = { 0 };

        jobtest_job(&t, cases[i].plugins, two_tasks);
        assert_int_equal(t.ps.n_errors, 0);
        if (strcmp(at_path(&t, jobtest_pod(&t, 0, 0), "spec.dnsConfig"), cases[i].want) != 0)
            fail_msg("%s gave %s", cases[i].plugins, at_path(&t, jobtest_pod(&t, 0, 0), "spec.dnsConfig"));
    }
    g.world.cluster_domain = STR("corp");
    jobtest_job(&g, "{svc: ['--dns-search']}",
                "[{name: w, replicas: 1, template: {spec: {dnsConfig: {searches: [x, job.ns.svc.corp]}}}}, {name: v, "
                "replicas: 1, template: {spec: {dnsConfig: {options: []}}}}]");
    assert_at(&g, jobtest_pod(&g, 0, 0), "spec.dnsConfig.searches", "[\"x\",\"job.ns.svc.corp\"]");
    assert_at(&g, jobtest_pod(&g, 1, 0), "spec.dnsConfig.searches", "[\"job.ns.svc.corp\"]");
}

/* ---- sizes ---- */

/* "job-worker-NNNN.job" is about 19 bytes: 5,200 of them pass 96 KiB, 27,000 pass 512 KiB. */
static void test_long_env_is_dropped(void **state)
{
    autojobtest t = { 0 };
    struct json *map;
    const char *env;

    (void)state;
    jobtest_job(
        &t, "{svc: []}",
        "[{name: big-one, replicas: 6000, template: {spec: {containers: [{name: c}]}}}, {name: s, replicas: 1}]");
    assert_contains(jobtest_problems(&t), "W spec.plugins.svc: plugin svc: VC_BIG_ONE_HOSTS would have ");
    assert_contains(jobtest_problems(&t), "read /etc/volcano/big_one.host instead");
    jobtest_must_be_good(&t);
    map = jobtest_object(&t, "ConfigMap", "job-svc");
    assert_non_null(json_find(map, "data", "VC_BIG_ONE_HOSTS", NULL)); /* the file is still there */
    assert_non_null(json_find(map, "data", "big-one.host", NULL));
    env = at_path(&t, jobtest_pod(&t, 0, 5999), "spec.containers[0].env");
    assert_string_equal(env, "[" ENV_REF("VC_BIG_ONE_NUM") "," ENV_REF("VC_S_HOSTS") "," ENV_REF("VC_S_NUM") "]");
}

static void test_no_alias_when_large(void **state)
{
    autojobtest t = { 0 };
    struct json *map;

    (void)state;
    jobtest_job(&t, "{svc: []}", "[{name: big-one, replicas: 10000}]"); /* 3 × 200 KiB */
    jobtest_must_be_good(&t);
    map = jobtest_object(&t, "ConfigMap", "job-svc");
    assert_non_null(json_find(map, "data", "big_one.host", NULL));
    assert_null(json_find(map, "data", "big-one.host", NULL));
    assert_null(jobtest_object(&t, "ConfigMap", "job-svc-1"));
}

/* Two tasks of 700 KiB each, stored twice: four ConfigMaps, and all small keys in the first. */
static void test_split(void **state)
{
    autojobtest t = { 0 };
    struct json *pod;
    size_t maps = 0, keys = 0;

    (void)state;
    jobtest_job(&t, "{svc: []}",
                "[{name: a, replicas: 45000, template: {spec: {containers: [{name: c}]}}}, {name: b, replicas: 45000},"
                " {name: tiny, replicas: 2}]");
    jobtest_must_be_good(&t);
    VEC_FOREACH(obj, &t.objects.list) {
        size_t bytes = 0;

        if (!str_is(object_kind(*obj), "ConfigMap"))
            continue;
        JSON_FOREACH(value, json_get(*obj, "data")) {
            bytes += value->n + value->key_n;
            keys++;
        }
        assert_in_range(bytes, 1, 900 * 1024);
        maps++;
    }
    assert_int_equal(maps, 4);
    assert_int_equal(keys, 9);
    assert_non_null(json_find(jobtest_object(&t, "ConfigMap", "job-svc"), "data", "VC_B_NUM", NULL));
    assert_non_null(json_find(jobtest_object(&t, "ConfigMap", "job-svc"), "data", "tiny.host", NULL));
    pod = jobtest_pod(&t, 0, 0);
    assert_at(
        &t, pod, "spec.volumes",
        "[{\"name\":\"job-svc\",\"projected\":{\"sources\":[{\"configMap\":{\"name\":\"job-svc\"}},{\"configMap\":"
        "{\"name\":\"job-svc-1\"}},{\"configMap\":{\"name\":\"job-svc-2\"}},{\"configMap\":{\"name\":\"job-svc-3\"}}"
        "]}}]");
    assert_at(&t, pod, "spec.containers[0].volumeMounts", "[{\"name\":\"job-svc\",\"mountPath\":\"/etc/volcano\"}]");
}

/* Every variable names the ConfigMap that really holds its key: 60 tasks of 20 KiB each, 2.4 MB in all. */
static void test_split_env(void **state)
{
    autojobtest t = { 0 };
    autobuf tasks = { 0 };
    struct json *pod;
    size_t n = 0, beyond_first = 0;

    (void)state;
    buf_fmt(&tasks, "[{name: t, replicas: 1, template: {spec: {containers: [{name: c}]}}}");
    for (int i = 0; i < 60; i++)
        buf_fmt(&tasks, ", {name: t%d, replicas: 1400}", i);
    buf_char(&tasks, ']');
    jobtest_job(&t, "{svc: []}", tasks.p);
    jobtest_must_be_good(&t);
    pod = jobtest_pod(&t, 0, 0);
    JSON_FOREACH(entry, json_path(pod, STR("spec.containers[0].env"), NULL)) {
        struct json *ref = json_find(entry, "valueFrom", "configMapKeyRef", NULL);
        struct str map = json_member_text(ref, "name"), key = json_member_text(ref, "key");

        if (!json_get_str(json_get(jobtest_object(&t, "ConfigMap", arena_cstr(&t.a, map)), "data"), key))
            fail_msg("%.*s is not in %.*s", STR_ARG(key), STR_ARG(map));
        beyond_first += !str_is(map, "job-svc");
        n++;
    }
    assert_int_equal(n, 2 * 61);
    assert_true(beyond_first > 0);
}

static void test_refused_when_one_file_is_too_large(void **state)
{
    autojobtest t = { 0 };

    (void)state;
    jobtest_job(&t, "{svc: []}", "[{name: a, replicas: 100000}]");
    assert_int_equal(t.ps.n_errors, 1);
    assert_contains(jobtest_problems(&t), "E spec.plugins.svc: plugin svc: file ");
    assert_contains(jobtest_problems(&t), "a ConfigMap holds 900 KiB at most: use fewer replicas");
}

/* mpi brings files of its own; one of them is a script. */
static void test_files_of_others(void **state)
{
    autojobtest t = { 0 };
    struct plugin_files files = { 0 };
    bool has_executable = false;

    (void)state;
    jobtest_job(&t, "{mpi: ['--master=ps']}", two_tasks);
    jobtest_must_be_good(&t);
    assert_int_equal(plugin_set_files(t.set, &t.a, &files, NULL), 0);
    VEC_FOREACH(file, &files.list) {
        assert_true(str_eq(
            json_text(json_get_str(json_get(jobtest_object(&t, "ConfigMap", "job-svc"), "data"), file->name), STR_NULL),
            file->text));
        has_executable |= file->is_executable;
    }
    assert_at(&t, jobtest_pod(&t, 0, 0), "spec.volumes[0].configMap.defaultMode", has_executable ? "365" : "");
}

static void test_twice_is_the_same(void **state)
{
    autojobtest t = { 0 };
    struct plugin_objects again;

    (void)state;
    jobtest_job(&t, "{svc: []}", two_tasks);
    jobtest_must_be_good(&t);
    again = (struct plugin_objects){ .arena = &t.a };
    assert_int_equal(plugin_set_objects(t.set, &again, NULL), 0);
    assert_int_equal(again.list.n, t.objects.list.n);
    for (size_t i = 0; i < again.list.n; i++)
        assert_true(json_equal(again.list.v[i], t.objects.list.v[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_map),
        cmocka_unit_test(test_service_and_policy),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_pod),
        cmocka_unit_test(test_keep_user_env),
        cmocka_unit_test(test_dashes_zero_and_own_names),
        cmocka_unit_test(test_subdomain_of_user),
        cmocka_unit_test(test_bad_subdomain),
        cmocka_unit_test(test_generation),
        cmocka_unit_test(test_allow_ingress),
        cmocka_unit_test(test_dns_search),
        cmocka_unit_test(test_long_env_is_dropped),
        cmocka_unit_test(test_no_alias_when_large),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_split_env),
        cmocka_unit_test(test_refused_when_one_file_is_too_large),
        cmocka_unit_test(test_files_of_others),
        cmocka_unit_test(test_twice_is_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
