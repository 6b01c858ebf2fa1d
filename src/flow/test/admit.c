/* admit.c - tests: what is refused of JobFlows, JobTemplates and CronJobs, and in which words */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "flow/admit.h"
#include "os/zoneinfo.h"
#include "yaml/yaml.h"

#define TASK "{name: t, replicas: 1, template: {spec: {containers: [{name: c, image: x}]}}}"
#define SPEC "{tasks: [" TASK "]}"
#define CRON_NAMED(name, spec)                                                                                         \
    "{apiVersion: batch.volcano.sh/v1alpha1, kind: CronJob, metadata: {name: " name "}, spec: {" spec "}}"
#define CRON(spec) CRON_NAMED("c", spec ", jobTemplate: {spec: " SPEC "}")
#define FLOW(flows)                                                                                                    \
    "{apiVersion: flow.volcano.sh/v1alpha1, kind: JobFlow, metadata: {name: f}, spec: {flows: " flows "}}"
#define TEMPLATE(spec) "{apiVersion: flow.volcano.sh/v1alpha1, kind: JobTemplate, metadata: {name: x}, spec: " spec "}"
#define LONG_53        "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabc"

static struct json *parse(struct arena *a, const char *text)
{
    struct yaml_docs docs = { 0 };
    struct err e;

    if (yaml_parse(a, str_of(text), NULL, &docs, &e) < 0)
        fail_msg("the test's own YAML: %s: %s", e.text, text);
    return docs.v[0];
}

static const struct {
    const char *object, *says; /* "": it is fine */
} cases[] = {
    { CRON("schedule: '*/5 * * * *'"), "" },
    { CRON("schedule: '@daily', timeZone: Europe/Berlin"), "" },
    { CRON("schedule: ''"), "spec.schedule: schedule is required, but got empty" },
    { CRON("suspend: true"), "spec.schedule: " },
    { CRON("schedule: 'TZ=UTC * * * * *'"), "spec.schedule: schedule should not contain TZ or CRON_TZ" },
    { CRON("schedule: 'often'"), "spec.schedule: schedule is not a valid cron expression: has 1 field and needs five" },
    { CRON("schedule: '@every 10s'"),
      "spec.schedule: schedule is not a valid cron expression: @every 10s: must be at least 60s" },
    { CRON("schedule: '@daily', timeZone: ''"),
      "spec.timeZone: timeZone must be nil or non-empty string, got empty string" },
    { CRON("schedule: '@daily', timeZone: local"), "spec.timeZone: timeZone can't be Local" },
    { CRON("schedule: '@daily', timeZone: ../zone"), "spec.timeZone: unknown timeZone" },
    { CRON("schedule: '@daily', timeZone: Mars/Olympus"), "spec.timeZone: invalid timeZone Mars/Olympus" },
    { CRON("schedule: '@daily', concurrencyPolicy: Never"), "spec.concurrencyPolicy: " },
    { CRON("schedule: '@daily', startingDeadlineSeconds: -1"), "spec.startingDeadlineSeconds: " },
    { CRON_NAMED(LONG_53, "schedule: '@daily', jobTemplate: {spec: " SPEC "}"),
      "metadata.name: cronJob name must be no more than 52 characters to accommodate job name suffix (max 63 total): "
      "has 53" },
    { CRON_NAMED("c", "schedule: '@daily'"), "spec.jobTemplate: " },
    { CRON_NAMED("c", "schedule: '@daily', jobTemplate: {}"), "spec.jobTemplate.spec: is required" },
    { CRON_NAMED("c", "schedule: '@daily', jobTemplate: {spec: {minAvailable: 2, tasks: [" TASK "]}}"),
      "spec.jobTemplate.spec.minAvailable: job 'minAvailable' should not be greater than total replicas in tasks" },
    { CRON_NAMED("c", "schedule: '@daily', jobTemplate: {spec: {plugins: {nope: []}, tasks: [" TASK "]}}"),
      "spec.jobTemplate.spec.plugins.nope: " },
    { TEMPLATE(SPEC), "" },
    { TEMPLATE("{tasks: []}"), "spec.tasks: No task specified in job spec" },
    { TEMPLATE("{queue: root, tasks: [" TASK "]}"), "spec.queue: can not submit job to root queue" },
    { "{apiVersion: flow.volcano.sh/v1alpha1, kind: JobTemplate, metadata: {name: x}}", "spec: is required" },
    { FLOW("[{name: a}, {name: b, dependsOn: {targets: [a]}}]"), "" },
    { FLOW("[{name: a}, {name: a}]"), "" }, /* a warning; the first has an effect */
    { FLOW("[]"), "" },
    { FLOW("[{dependsOn: {targets: []}}]"), "spec.flows[0].name: " },
    { FLOW("[{name: A_b}]"), "spec.flows[0].name: must be " },
    { FLOW("[{name: " LONG_53 "-" LONG_53 "}]"), "spec.flows[0].name: its job would be named" },
    { FLOW("[{name: a, dependsOn: {probe: {taskStatusList: [{taskName: t, phase: Running}]}}}]"),
      "spec.flows[0].dependsOn.probe: there is nothing to probe" },
    { FLOW("[{name: a}, {name: b, dependsOn: {targets: [a], probe: {tcpSocketList: [{port: 0}]}}}]"),
      "spec.flows[1].dependsOn.probe.tcpSocketList[0].port: must be 1 to 65535" },
    { FLOW("[{name: a}, {name: b, dependsOn: {targets: [a], probe: {taskStatusList: [{taskName: t}]}}}]"),
      "spec.flows[1].dependsOn.probe.taskStatusList[0].phase: is required" },
    { FLOW("[{name: a, patch: {jobSpec: {tasks: [{replicas: 2}]}}}]"), "spec.flows[0].patch.jobSpec.tasks[0].name: " },
    { FLOW("[{name: a, jobRetain: x}]"), "" }, /* a field that nobody knows is a warning */
};

static void rules(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct admit_env admit = { 0 };
        struct flow_env env = { .admit = &admit, .read_zone = zoneinfo_read };
        struct problems ps = { .arena = &a };

        assert_true(admit_flow_kind(&a, parse(&a, cases[i].object), NULL, &env, &ps));
        if (!cases[i].says[0] ? ps.n_errors : !str_has(problems_join(&a, &ps), str_of(cases[i].says)))
            fail_msg("%s\nwant: %s\ngot:  %.*s", cases[i].object, cases[i].says, STR_ARG(problems_join(&a, &ps)));
    }
}

static void defaults_of_a_cronjob(void **state)
{
    autoarena a = { 0 };
    struct admit_env admit = { 0 };
    struct flow_env env = { .admit = &admit };
    struct problems ps = { .arena = &a };
    struct json *cron = parse(&a, CRON("schedule: '@daily', failedJobsHistoryLimit: 0")),
                *spec = json_get(cron, "spec");
    autobuf before = { 0 }, after = { 0 };

    json_print(&before, json_get(spec, "jobTemplate"));
    admit_cronjob(&a, cron, NULL, &env, &ps);
    assert_true(str_is(json_member_text(spec, "concurrencyPolicy"), "Allow"));
    assert_int_equal(json_i64(json_get(spec, "successfulJobsHistoryLimit"), -1), 3);
    assert_int_equal(json_i64(json_get(spec, "failedJobsHistoryLimit"), -1), 0);
    assert_false(json_bool(json_get(spec, "suspend"), true));
    json_print(&after, json_get(spec, "jobTemplate"));
    assert_string_equal(before.p, after.p); /* the Job inside stays as it was written */
}

/* What was stored before there were rules may still get a label. */
static void an_update_that_leaves_the_spec_alone(void **state)
{
    autoarena a = { 0 };
    struct admit_env admit = { 0 };
    struct flow_env env = { .admit = &admit };
    struct problems ps = { .arena = &a };
    struct json *cron = parse(&a, CRON("schedule: 'often', concurrencyPolicy: Allow, suspend: false, "
                                       "successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1"));
    struct json *old = json_copy(&a, cron);

    admit_cronjob(&a, cron, old, &env, &ps);
    assert_int_equal(ps.n_errors, 0);
    json_set(json_get(cron, "spec"), "suspend", json_bool_new(&a, true));
    admit_cronjob(&a, cron, old, &env, &ps);
    assert_int_equal(ps.n_errors, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules),
        cmocka_unit_test(defaults_of_a_cronjob),
        cmocka_unit_test(an_update_that_leaves_the_spec_alone),
    };

    return cmocka_run_group_tests_name("flow/admit", tests, NULL, NULL);
}
