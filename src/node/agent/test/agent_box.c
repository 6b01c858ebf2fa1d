/* agent_box.c - what a container of the API is started with: program, variables, identity, limits, mounts, devices */
#include "node/agent/test/agent_world.h"
#include "node/device/device.h"

#include <string.h>

#define WAITING "/status/containerStatuses/0/state/waiting/message"

static const char *argv_of(struct world *w, const char *pod, const char *container)
{
    const struct fake_container *c = fake_container(pod, container);
    autobuf out = { 0 };

    VEC_FOREACH(word, &c->spec.argv)
        buf_fmt(&out, "%s%.*s", out.n ? "|" : "", STR_ARG(*word));
    return arena_cstr(&w->arena, buf_view(&out));
}

/* ---- variables ---- */

static void variables_come_from_everywhere(void **state)
{
    struct world *w = world_new(NULL);

    world_create(w, "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {A: a, B: b, 1x: no}}");
    world_create(w, "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {KEY: c2VjcmV0}}");
    world_create(w,
                 "{apiVersion: v1, kind: Service, metadata: {name: my-db}, spec: {ports: [{name: sql, port: 5432}]}}");
    world_pod_with(w, "p", "{labels: {app: x}, annotations: {note: hi}}",
                   "{containers: [{name: c, image: app, command: [run, $(A)-$(KEY), $$(A), $(NONE)], "
                   "resources: {limits: {cpu: 1500m, memory: 64Mi}}, "
                   "envFrom: [{configMapRef: {name: m}}, {prefix: P_, configMapRef: {name: m}}, "
                   "{secretRef: {name: none, optional: true}}], env: [{name: B, value: $(A)+$(B)}, "
                   "{name: KEY, valueFrom: {secretKeyRef: {name: s, key: KEY}}}, "
                   "{name: OPT, valueFrom: {configMapKeyRef: {name: m, key: none, optional: true}}}, "
                   "{name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, "
                   "{name: APP, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['app']\"}}}, "
                   "{name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}, "
                   "{name: HOST, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}, "
                   "{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}, "
                   "{name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}, "
                   "{name: MEM, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}]}]}");
    assert_string_equal(argv_of(w, "p", "c"), "run|a-secret|$(A)|$(NONE)");
    assert_string_equal(fake_env("p", "c", "HOSTNAME"), "p");
    assert_string_equal(fake_env("p", "c", "A"), "a");
    assert_string_equal(fake_env("p", "c", "P_B"), "b");
    assert_string_equal(fake_env("p", "c", "B"), "a+b");
    assert_null(fake_env("p", "c", "1x"));
    assert_null(fake_env("p", "c", "OPT"));
    assert_string_equal(fake_env("p", "c", "NAME"), "p");
    assert_string_equal(fake_env("p", "c", "APP"), "x");
    assert_string_equal(fake_env("p", "c", "IP"), "10.88.0.2");
    assert_string_equal(fake_env("p", "c", "HOST"), "10.88.0.1");
    assert_string_equal(fake_env("p", "c", "NODE"), WORLD_NODE);
    assert_string_equal(fake_env("p", "c", "CPU"), "2");
    assert_string_equal(fake_env("p", "c", "MEM"), "64");
    assert_string_equal(fake_env("p", "c", "MY_DB_SERVICE_HOST"), "10.96.0.2");
    assert_string_equal(fake_env("p", "c", "MY_DB_SERVICE_PORT_SQL"), "5432");
    assert_string_equal(fake_env("p", "c", "MY_DB_PORT_5432_TCP"), "tcp://10.96.0.2:5432");
    assert_non_null(fake_env("p", "c", "PATH"));

    world_pod(w, "q", "{enableServiceLinks: false, containers: [{name: c, image: app, command: [run]}]}");
    assert_null(fake_env("q", "c", "MY_DB_SERVICE_HOST"));
    world_free(w);
}

static void a_missing_key_is_waited_for(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p",
              "{containers: [{name: c, image: app, command: [run], env: [{name: K, valueFrom: {secretKeyRef: {name: s, "
              "key: k}}}]}]}");
    assert_string_equal(world_status(w, "p"), "Pending; c waiting CreateContainerConfigError");
    assert_string_equal(world_at(w, "Pod", "p", WAITING), "container \"c\": env K: secret \"s\" not found");
    world_create(w, "{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {other: x}}");
    world_pass(w, 1000);
    assert_string_equal(world_at(w, "Pod", "p", WAITING), "container \"c\": env K: couldn't find key k in Secret ns/s");
    world_patch(w, "Secret", "s", "{data: {k: eA==}}");
    world_pass(w, 2000);
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    assert_string_equal(fake_env("p", "c", "K"), "x");
    world_free(w);
}

/* ---- programs, identity, limits ---- */

static void without_a_program_the_message_says_what_helps(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p", "{containers: [{name: c, image: busybox}]}");
    assert_string_equal(world_status(w, "p"), "Pending; c waiting CreateContainerError");
    assert_non_null(strstr(world_at(w, "Pod", "p", WAITING), "--image busybox="));
    assert_true(str_has(buf_view(&w->notices), STR("image \"busybox\": the host's files")));
    world_free(w);
}

static void who_it_is_and_what_it_may_use(void **state)
{
    struct world *w = world_new(NULL);
    const struct box_spec *c, *d;

    world_pod(w, "p",
              "{securityContext: {runAsUser: 1000, runAsGroup: 1001, supplementalGroups: [5], runAsNonRoot: true}, "
              "containers: [{name: c, image: app, command: [run], workingDir: /w, securityContext: {runAsUser: 2000, "
              "capabilities: {add: [NET_ADMIN], drop: [ALL]}, readOnlyRootFilesystem: true, "
              "allowPrivilegeEscalation: false}}, {name: d, image: app, command: [run], securityContext: "
              "{privileged: true}}]}");
    c = &fake_container("p", "c")->spec;
    d = &fake_container("p", "d")->spec;
    assert_true(c->uid == 2000 && c->gid == 1001 && c->groups.n == 1 && c->groups.v[0] == 5 && c->must_not_be_root);
    assert_true(c->add_caps.n == 1 && str_is(c->add_caps.v[0], "NET_ADMIN") && str_is(c->drop_caps.v[0], "ALL"));
    assert_true(c->is_root_read_only && c->has_new_privileges_off && !c->is_privileged && !c->has_no_seccomp);
    assert_true(str_is(c->cwd, "/w"));
    assert_true(d->uid == 1000 && d->is_privileged && d->has_no_seccomp && !d->has_new_privileges_off);
    world_free(w);
}

static void the_least_wanted_goes_first(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "best",
              "{containers: [{name: c, image: app, command: [run], resources: {limits: {cpu: 1, memory: 1Gi}}}]}");
    world_pod(w, "some", "{containers: [{name: c, image: app, command: [run], resources: {limits: {memory: 1Gi}}}]}");
    world_pod(w, "none", "{containers: [{name: c, image: app, command: [run]}]}");
    assert_int_equal(fake_container("best", "c")->spec.oom_score_adj, -997);
    assert_int_equal(fake_container("some", "c")->spec.oom_score_adj, 500);
    assert_int_equal(fake_container("none", "c")->spec.oom_score_adj, 1000);
    world_free(w);
}

static void mounts_are_its_files_and_its_volumes(void **state)
{
    struct world *w = world_new(NULL);
    const struct box_spec *s;
    autobuf targets = { 0 };

    world_pod(w, "p",
              "{volumes: [{name: v, emptyDir: {}}], containers: [{name: c, image: app, command: [run], "
              "volumeMounts: [{name: v, mountPath: /data}, {name: v, mountPath: /etc/hosts, subPath: h}]}]}");
    s = &fake_container("p", "c")->spec;
    VEC_FOREACH(m, &s->mounts)
        buf_fmt(&targets, "%.*s ", STR_ARG(m->target));
    assert_string_equal(targets.p, "/etc/hostname /etc/resolv.conf /dev/termination-log /data /etc/hosts ");
    world_free(w);
}

static void what_lies_over_the_hosts_files_may_fail(void **state)
{
    struct world *w = world_new(NULL);

    (void)err_set(&fake.fails_over, ERR_IO, "no space left");
    world_pod(w, "p", "{containers: [{name: c, image: app, command: [run]}]}");
    assert_string_equal(world_status(w, "p"), "Pending; c waiting CreateContainerError");
    assert_string_equal(world_at(w, "Pod", "p", WAITING), "no space left");
    fake.fails_over = (struct err){ 0 };
    world_pass(w, 1000);
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    world_free(w);
}

/* ---- devices ---- */

static struct devices *two_devices(void)
{
    struct devices *d = devices_new(&(struct device_options){ .ignores_gpus = true });
    struct err e;

    if (devices_add(d, STR("example.com/fpga=/dev/null,/dev/zero"), &e) < 0)
        fail_msg("%s", e.text);
    return d;
}

static void devices_are_handed_out_and_taken_back(void **state)
{
    struct devices *d = two_devices();
    struct world *w = world_new(&(struct agent_options){ .devices = d });

    assert_string_equal(world_at(w, "Node", WORLD_NODE, "/status/allocatable/example.com~1fpga"), "2");
    world_pod(w, "p",
              "{restartPolicy: Never, containers: [{name: c, image: app, command: [run], resources: {limits: "
              "{example.com/fpga: 2}}}]}");
    assert_int_equal(fake_container("p", "c")->spec.devices.n, 2);
    world_pod(w, "q",
              "{restartPolicy: Never, containers: [{name: c, image: app, command: [run], resources: {limits: "
              "{example.com/fpga: 1}}}]}");
    assert_string_equal(world_status(w, "q"), "Pending; c waiting CreateContainerConfigError");
    assert_string_equal(world_at(w, "Pod", "q", WAITING), "example.com/fpga: requested 1, 0 of 2 free");
    fake_exit("p", "c", 0);
    world_pass(w, 1000);
    assert_string_equal(world_status(w, "q"), "Running; c running ready");
    world_free(w);
    devices_free(d);
}

/* A runtime of NVIDIA's gives what the variable says: what was granted counts, not what the pod wrote. */
static void a_runtime_is_told_what_was_granted(void **state)
{
    static const struct {
        const char *runtime, *context, *want;
    } rows[] = {
        { NULL, "{}", "NVIDIA_VISIBLE_DEVICES=all" },
        { "nvidia-container-runtime", "{}", "NVIDIA_VISIBLE_DEVICES=void" },
        { "nvidia-container-runtime", "{privileged: true}", "NVIDIA_VISIBLE_DEVICES=all" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct devices *d = two_devices();
        struct world *w = world_new(&(struct agent_options){ .devices = d, .oci_runtime = rows[i].runtime });
        autobuf spec = { 0 };
        bool found = false;

        buf_fmt(&spec,
                "{containers: [{name: c, image: app, command: [run], securityContext: %s, env: [{name: "
                "NVIDIA_VISIBLE_DEVICES, value: all}]}]}",
                rows[i].context);
        world_pod(w, "p", spec.p);
        VEC_FOREACH(var, &fake_container("p", "c")->spec.env)
            found |= str_is(*var, rows[i].want);
        if (!found)
            fail_msg("row %zu: no %s", i, rows[i].want);
        world_free(w);
        devices_free(d);
    }
}

/* A pod asks for the most that one of its init containers or all the others need, not for the sum. */
static void an_init_container_hands_its_devices_on(void **state)
{
    struct devices *d = two_devices();
    struct world *w = world_new(&(struct agent_options){ .devices = d });

    world_pod(w, "p",
              "{restartPolicy: Never, initContainers: [{name: i, image: app, command: [run], resources: {limits: "
              "{example.com/fpga: 2}}}, {name: j, image: app, command: [run], resources: {limits: "
              "{example.com/fpga: 1}}}], containers: [{name: c, image: app, command: [run], resources: {limits: "
              "{example.com/fpga: 1}}}, {name: ii, image: app, command: [run], resources: {limits: "
              "{example.com/fpga: 1}}}]}");
    fake_exit("p", "i", 0);
    world_turn(w);
    assert_int_equal(fake_container("p", "j")->spec.devices.n, 1);
    fake_exit("p", "j", 0);
    world_turn(w);
    assert_string_equal(world_status(w, "p"),
                        "Running; i Completed 0 ready; j Completed 0 ready; c running ready; ii running ready");
    world_free(w);
    devices_free(d);
}

/* ---- what a shim does not take ---- */

static void what_is_too_much_for_a_shim_is_said(void **state)
{
    struct world *w = world_new(NULL);

    (void)err_set(&fake.fails_start, ERR_TOO_BIG, "container c: more than 250 mounts");
    world_pod(w, "p", "{containers: [{name: c, image: app, command: [run]}]}");
    assert_string_equal(world_status(w, "p"), "Pending; c waiting CreateContainerError");
    assert_string_equal(world_at(w, "Pod", "p", WAITING), "container c: more than 250 mounts");
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(variables_come_from_everywhere),
        world_test(a_missing_key_is_waited_for),
        world_test(without_a_program_the_message_says_what_helps),
        world_test(who_it_is_and_what_it_may_use),
        world_test(the_least_wanted_goes_first),
        world_test(mounts_are_its_files_and_its_volumes),
        world_test(what_lies_over_the_hosts_files_may_fail),
        world_test(a_runtime_is_told_what_was_granted),
        world_test(devices_are_handed_out_and_taken_back),
        world_test(an_init_container_hands_its_devices_on),
        world_test(what_is_too_much_for_a_shim_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
