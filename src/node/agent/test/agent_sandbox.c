/* agent_sandbox.c - sandboxes that cannot be made, or not yet; what is in them, and what is left afterwards */
#include "node/agent/test/agent_world.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

#define APP     "{name: c, image: app, command: [run]}"
#define PLAIN   "{containers: [" APP "]}"
#define WAITING "/status/containerStatuses/0/state/waiting/message"

static const char *text_of(struct world *w, const char *path)
{
    return arena_cstr(&w->arena, file_text(&w->arena, AT_FDCWD, path, 4096));
}

/* A file of a pod in its own part of the run's directory. */
static const char *small_file(struct world *w, const char *pod, const char *name)
{
    return text_of(
        w,
        arena_fmt(&w->arena, "%s/small/%s/%s", agent_dir(w->agent), world_at(w, "Pod", pod, "/metadata/uid"), name).p);
}

static int count_in(struct world *w, const char *name)
{
    DIR *d = opendir(arena_fmt(&w->arena, "%s/%s", agent_dir(w->agent), name).p);
    int n = -2; /* . and .. */

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* ---- what fails is tried again ---- */

static void tried_again(struct world *w, struct err *fault, const char *again)
{
    (void)err_set(fault, ERR_IO, "not today");
    world_pod(w, "p", PLAIN);
    assert_string_equal(world_status(w, "p"), "Pending; c waiting FailedCreatePodSandBox");
    assert_string_equal(world_at(w, "Pod", "p", WAITING), "not today");
    assert_string_equal(world_events(w, "p", "FailedCreatePodSandBox"), "not today\n");
    assert_int_equal(agent_pods(w->agent), 0);
    (void)fake_asked();
    world_pass(w, 999);
    assert_string_equal(fake_asked(), "");
    world_pass(w, 1);
    assert_string_equal(fake_asked(), again);
    *fault = (struct err){ 0 };
    world_pass(w, 2000);
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
}

static void no_shim(void **state)
{
    struct world *w = world_new(NULL);

    tried_again(w, &fake.fails_new, "shim p");
    world_free(w);
}

static void no_address(void **state)
{
    struct world *w = world_new(NULL);

    tried_again(w, &fake.fails_address, "");
    world_free(w);
}

static void no_link(void **state)
{
    struct world *w = world_new(NULL);

    tried_again(w, &fake.fails_join, "shim p; join 10.88.0.3; free p");
    world_free(w);
}

static void a_shim_that_dies_young(void **state)
{
    struct world *w = world_new(NULL);

    fake.holds_ready = true;
    world_pod(w, "p", PLAIN);
    fake_lost("p", "cannot make a network namespace");
    world_turn(w);
    assert_string_equal(world_status(w, "p"), "Pending; c waiting FailedCreatePodSandBox");
    assert_string_equal(world_at(w, "Pod", "p", WAITING), "cannot make a network namespace");
    fake.holds_ready = false;
    world_pass(w, 1000);
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    world_free(w);
}

static void a_slow_spawner_is_waited_for(void **state)
{
    struct world *w = world_new(NULL);

    fake.holds_ready = true;
    world_pod(w, "p", PLAIN);
    world_pod(w, "q", PLAIN);
    world_pass(w, 600000);
    assert_string_equal(world_status(w, "p"), "Pending; c waiting ContainerCreating");
    assert_string_equal(fake_asked(), "shim p; shim q"); /* once */
    fake_ready("q");
    world_turn(w);
    assert_string_equal(world_status(w, "q"), "Running; c running ready");
    fake_ready("p");
    world_turn(w);
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    world_free(w);
}

/* ---- volumes ---- */

static void a_missing_config_map_is_waited_for(void **state)
{
    struct world *w = world_new(NULL);
    const char *file = arena_fmt(&w->arena, "%s/mount-0/cfg/k", fake.dir).p;

    world_pod(w, "p",
              "{volumes: [{name: cfg, configMap: {name: m}}], containers: [{name: c, image: app, command: [run], "
              "volumeMounts: [{name: cfg, mountPath: /cfg}]}]}");
    assert_string_equal(world_status(w, "p"), "Pending; c waiting FailedMount");
    assert_string_equal(world_at(w, "Pod", "p", WAITING), "volume \"cfg\": configmap \"m\" not found");
    world_create(w, "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {k: one}}");
    world_pass(w, 1000);
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    assert_string_equal(text_of(w, file), "one");
    world_patch(w, "ConfigMap", "m", "{data: {k: two}}");
    assert_string_equal(text_of(w, file), "two");
    world_delete(w, "ConfigMap", "m", -1); /* its files stay */
    assert_string_equal(text_of(w, file), "two");
    world_free(w);
}

static void what_can_never_be_is_not_tried_again(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p", "{volumes: [{name: v, csi: {driver: x}}], containers: [" APP "]}");
    world_pass(w, 60000);
    assert_string_equal(world_status(w, "p"), "Failed FailedCreatePodSandBox; c waiting FailedCreatePodSandBox");
    assert_string_equal(fake_asked(), "");
    world_free(w);
}

/* ---- what a pod has ---- */

static void files_of_its_own(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p",
              "{hostname: web-0, subdomain: web, hostAliases: [{ip: 10.1.2.3, hostnames: [db, db.example]}], "
              "containers: [" APP "]}");
    assert_non_null(strstr(small_file(w, "p", "etc/hosts"), "10.88.0.2\tweb-0.web.ns.svc.cluster.local\tweb-0\n"));
    assert_non_null(strstr(small_file(w, "p", "etc/hosts"), "10.1.2.3\tdb\tdb.example\n"));
    assert_string_equal(small_file(w, "p", "etc/hostname"), "web-0\n");
    assert_non_null(strstr(small_file(w, "p", "etc/resolv.conf"), "nameserver 10.88.0.1\n"));
    assert_non_null(strstr(small_file(w, "p", "etc/resolv.conf"), "ns.svc.cluster.local"));
    world_free(w);
}

static void the_hosts_network(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p", "{hostNetwork: true, hostPID: true, containers: [" APP "]}");
    assert_string_equal(fake_asked(), "shim p; start p/c#0");
    assert_true(fake_pod("p")->has_host_network && fake_pod("p")->has_host_pids && !fake_pod("p")->has_host_ipc);
    assert_string_equal(world_at(w, "Pod", "p", "/status/podIP"), "10.88.0.1");
    world_free(w);
}

static void limits_of_the_whole_pod(void **state)
{
    struct world *w = world_new(&(struct agent_options){ .log_bytes = 12345 });

    world_pod(w, "p",
              "{containers: [{name: c, image: app, command: [run], resources: {limits: {cpu: 500m, memory: 1Mi}}},"
              "{name: d, image: app, command: [run], resources: {limits: {cpu: 1}, requests: {cpu: 100m}}}]}");
    assert_int_equal(fake_pod("p")->limits.cpu_milli, 1500);
    assert_int_equal(fake_pod("p")->limits.cpu_shares_milli, 600);
    assert_int_equal(fake_pod("p")->limits.memory_bytes, 0); /* one has none */
    assert_int_equal(fake_pod("p")->limits.pids, 4096);
    assert_int_equal(fake_pod("p")->log_bytes, 12345);
    assert_int_equal(fake_container("p", "c")->limits.memory_bytes, 1 << 20);
    assert_int_equal(fake_container("p", "d")->limits.cpu_shares_milli, 100);
    world_free(w);
}

/* ---- many at once ---- */

static const char *numbered(struct world *w, size_t i)
{
    return arena_fmt(&w->arena, "p%zu", i).p;
}

static void some_are_made_at_a_time(void **state)
{
    size_t n = 32 * (size_t)MAX_OF(sysconf(_SC_NPROCESSORS_ONLN), 2);
    struct world *w = world_new(NULL);

    fake.holds_ready = fake.holds_start = true;
    for (size_t i = 0; i < n + 2; i++)
        world_pod(w, numbered(w, i), PLAIN);
    assert_true(fake_has_pod(numbered(w, n - 1)));
    assert_false(fake_has_pod(numbered(w, n)));
    fake_ready("p0");
    world_turn(w);
    assert_false(fake_has_pod(numbered(w, n))); /* its container does not run yet */
    fake_started("p0", "c");
    world_turn(w);
    assert_true(fake_has_pod(numbered(w, n)));
    assert_false(fake_has_pod(numbered(w, n + 1)));
    world_pass(w, 100);
    assert_true(fake_has_pod(numbered(w, n + 1))); /* those that hang do not stop it */
    world_free(w);
}

static void who_waits_for_a_turn_can_be_deleted(void **state)
{
    size_t n = 32 * (size_t)MAX_OF(sysconf(_SC_NPROCESSORS_ONLN), 2);
    struct world *w = world_new(NULL);

    fake.holds_ready = true;
    for (size_t i = 0; i <= n; i++)
        world_pod(w, numbered(w, i), PLAIN);
    world_delete(w, "Pod", numbered(w, n), -1);
    assert_string_equal(world_status(w, numbered(w, n)), "gone");
    world_free(w);
}

/* ---- what is left ---- */

static const char *layers_of(struct world *w)
{
    return arena_fmt(&w->arena, "layers/shard-%s-0", agent_id(w->agent)).p;
}

static const char *layer_of(struct world *w, const char *pod)
{
    return arena_fmt(&w->arena, "%s/%s/%s.c.0", agent_dir(w->agent), layers_of(w),
                     world_at(w, "Pod", pod, "/metadata/uid"))
        .p;
}

static void write_to_layer(struct world *w, const char *pod)
{
    int fd = open(arena_fmt(&w->arena, "%s/file", layer_of(w, pod)).p, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    close(fd);
}

/* What a container has made there, and the kernel for it. */
static void begin_layer(struct world *w, const char *pod)
{
    static const char *const dirs[] = { "upper0", "work0", "work0/work", "work0/work/incompat",
                                        "work0/work/incompat/volatile" };
    const char *layer = layer_of(w, pod);

    for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
        (void)mkdir(arena_fmt(&w->arena, "%s/%s", layer, dirs[i]).p, 0755);
    assert_int_equal(mknod(arena_fmt(&w->arena, "%s/work0/work/incompat/volatile/dirty", layer).p, S_IFREG, 0), 0);
}

static void nothing_stays_of_a_pod_that_ended(void **state)
{
    struct world *w = world_new(NULL);
    const char *layers = layers_of(w);

    world_pod(w, "p",
              "{restartPolicy: Never, volumes: [{name: v, emptyDir: {}}], containers: [{name: c, image: app, command: "
              "[run], volumeMounts: [{name: v, mountPath: /v}]}]}");
    assert_int_equal(count_in(w, "pods"), 1);
    assert_int_equal(count_in(w, layers), 1);
    assert_int_equal(count_in(w, "small"), 2); /* and what lies over the host's files */
    write_to_layer(w, "p");
    fake_exit("p", "c", 0);
    world_turn(w);
    assert_int_equal(count_in(w, "pods"), 0);
    assert_int_equal(count_in(w, layers), 0);
    assert_int_equal(count_in(w, "small"), 1);
    world_free(w);
}

/* Somebody may still hold the overlay of one that nothing was written to. The directory is held here, so that its number is not
 * given to the next. */
static void a_layer_is_never_used_again(void **state)
{
    static const char plain[] = "{restartPolicy: Never, containers: [{name: c, image: app, command: [run]}]}";
    struct world *w = world_new(NULL);
    struct stat a, b;
    int held;

    world_pod(w, "a", plain);
    begin_layer(w, "a");
    held = open(layer_of(w, "a"), O_PATH | O_CLOEXEC);
    assert_int_equal(fstat(held, &a), 0);
    fake_exit("a", "c", 0);
    world_turn(w);
    assert_int_equal(count_in(w, layers_of(w)), 0);
    world_pod(w, "b", plain);
    assert_int_equal(count_in(w, layers_of(w)), 1);
    assert_int_equal(stat(layer_of(w, "b"), &b), 0);
    assert_int_not_equal(a.st_ino, b.st_ino);
    close(held);
    begin_layer(w, "b");
    write_to_layer(w, "b");
    fake_exit("b", "c", 0);
    world_turn(w);
    assert_int_equal(count_in(w, layers_of(w)), 0);
    world_free(w);
}

static void state_is_kept_for_who_wants_it(void **state)
{
    struct world *w = world_new(&(struct agent_options){ .keeps_state = true });
    const char *path;

    world_pod(w, "p", PLAIN);
    fake_says("p", "c", "hello\n");
    world_turn(w);
    path = arena_fmt(&w->arena, "%s/logs/%s/c.0.log", agent_dir(w->agent), world_at(w, "Pod", "p", "/metadata/uid")).p;
    agent_close(w->agent);
    w->agent = NULL;
    assert_int_equal(access(path, R_OK), 0);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(no_shim),
        world_test(no_address),
        world_test(no_link),
        world_test(a_shim_that_dies_young),
        world_test(a_slow_spawner_is_waited_for),
        world_test(a_missing_config_map_is_waited_for),
        world_test(what_can_never_be_is_not_tried_again),
        world_test(files_of_its_own),
        world_test(the_hosts_network),
        world_test(limits_of_the_whole_pod),
        world_test(some_are_made_at_a_time),
        world_test(who_waits_for_a_turn_can_be_deleted),
        world_test(nothing_stays_of_a_pod_that_ended),
        world_test(a_layer_is_never_used_again),
        world_test(state_is_kept_for_who_wants_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
