/* agent_storage.c - a file system that counts is asked what pods with limits use, and the pods are evicted by its answer
 *
 * It is played here: what stands in for project.h counts what the test says, for each directory that it was given.
 */
#include "node/agent/test/agent_world.h"
#include "os/project.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct {
    char given[1024];    /* last parts of the paths, with a blank after each */
    const char *is_full; /* a part of the path of what is too large */
    bool counts;
} disk;

static const char *path_of(int fd, char path[512])
{
    char link[64];
    ssize_t n;

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, 511);
    path[n > 0 ? n : 0] = 0;
    return path;
}

bool project_begin(int fd)
{
    char path[512];
    const char *last = strrchr(path_of(fd, path), '/');
    const char *name = strchr(last, '.'); /* of a layer: after the uid of the pod */

    (void)snprintf(disk.given + strlen(disk.given), sizeof(disk.given) - strlen(disk.given), "%s ",
                   (name ? name : last) + 1);
    return disk.counts;
}

int project_use(int fd, struct project_use *ret)
{
    char path[512];
    bool is_full = disk.is_full && strstr(path_of(fd, path), disk.is_full);

    /* a hundred directories, of which some are places for mounts */
    *ret = (struct project_use){ .bytes = is_full ? 5 << 20 : 100 * 4096, .files = 100 };
    return disk.counts ? 0 : -1;
}

#define SPEC                                                                                                           \
    "{containers: [{name: c, image: app, command: [run], resources: {limits: {ephemeral-storage: 1Mi}}}], "            \
    "volumes: [{name: v, emptyDir: {sizeLimit: 2Mi}}, {name: w, emptyDir: {}}, {name: m, emptyDir: {medium: "          \
    "Memory}}]}"

static int set_up(void **state)
{
    memset(&disk, 0, sizeof(disk));
    disk.counts = true;
    return 0;
}

#define storage_test(f) cmocka_unit_test_setup_teardown(f, set_up, world_teardown)

static void directories_are_given_before_they_are_used(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p", SPEC);
    assert_string_equal(disk.given, "v w c.0 ");
    world_pod(w, "free", "{containers: [{name: c, image: app, command: [run]}], volumes: [{name: v, emptyDir: {}}]}");
    assert_string_equal(disk.given, "v w c.0 "); /* nothing limits it */
    world_pass(w, 5000);
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    world_free(w);
}

static void what_is_counted_evicts(void **state)
{
    static const struct {
        const char *full, *message;
    } cases[] = {
        { "data/v", "Usage of EmptyDir volume \"v\" exceeds the limit \"2Mi\". " },
        { ".c.0", "Container c exceeded its local ephemeral storage limit \"1Mi\". " },
        { "data/w", "Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. " },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct world *w = world_new(NULL);

        disk.is_full = NULL;
        world_pod(w, "p", SPEC);
        world_pass(w, 2000);
        disk.is_full = cases[i].full;
        world_pass(w, 2000);
        assert_string_equal(world_at(w, "Pod", "p", "/status/reason"), "Evicted");
        assert_string_equal(world_at(w, "Pod", "p", "/status/message"), cases[i].message);
        world_free(w);
    }
}

/* Nothing is there: whoever looks through it finds nothing. */
static void what_is_not_counted_is_looked_through(void **state)
{
    struct world *w = world_new(NULL);

    disk.counts = false;
    disk.is_full = "/";
    world_pod(w, "p", SPEC);
    world_pass(w, 5000);
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        storage_test(directories_are_given_before_they_are_used),
        storage_test(what_is_counted_evicts),
        storage_test(what_is_not_counted_is_looked_through),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
