/* agent_node.c - this machine as a Node object: what it has, and what it cannot do
 *
 * Written once, at the beginning: a run is short, and its node does not change. Whether pods fit is the scheduler's
 * business; the agent runs what is bound to it. What the host cannot enforce (limits without cgroups) is a condition,
 * so that people find it.
 */
#include "node/agent/agent_internal.h"

#include "api/meta.h"
#include "base/clock.h"

#include <stdio.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

enum { PODS_MAX = 1000 }; /* a kubelet says 110; here a pod costs a few hundred kilobytes */

static struct str bytes_ki(struct arena *a, uint64_t bytes)
{
    return arena_fmt(a, "%lluKi", (unsigned long long)(bytes >> 10));
}

/* What the machine has, then what the user said instead. */
struct json *agent_capacity(struct agent *g, struct arena *a)
{
    struct json *have = json_object(a);
    struct sysinfo info = { 0 };
    struct statvfs disk = { 0 };

    sysinfo(&info);
    json_set(have, "cpu", json_fmt(a, "%ld", sysconf(_SC_NPROCESSORS_ONLN)));
    json_set(have, "memory", json_str(a, bytes_ki(a, (uint64_t)info.totalram * info.mem_unit)));
    json_set(have, "pods", json_fmt(a, "%d", PODS_MAX));
    if (statvfs(g->run.dir.p, &disk) == 0)
        json_set(have, "ephemeral-storage", json_str(a, bytes_ki(a, (uint64_t)disk.f_bavail * disk.f_frsize)));
    if (g->opt.devices)
        devices_count(g->opt.devices, a, have);
    JSON_FOREACH(given, g->opt.capacity) {
        struct json *copy = json_copy(a, given);

        json_set_key(have, json_key(given), copy);
    }
    return have;
}

static void add_condition(struct arena *a, struct json *list, const char *type, bool is_true, const char *reason,
                          struct str message, struct str now)
{
    struct json *c = json_push(list, json_object(a));

    json_set(c, "type", json_str(a, str_of(type)));
    json_set(c, "status", json_str(a, is_true ? STR("True") : STR("False")));
    json_set(c, "reason", json_str(a, str_of(reason)));
    json_set(c, "message", json_str(a, message));
    json_set(c, "lastHeartbeatTime", json_str(a, now));
    json_set(c, "lastTransitionTime", json_str(a, now));
}

static struct json *conditions(struct agent *g, struct arena *a)
{
    struct json *list = json_array(a);
    autobuf now = { 0 };
    struct str at;

    clock_print(&now, cluster_now_ms(g->cluster));
    at = arena_str(a, buf_view(&now));
    add_condition(a, list, "Ready", true, "AgentReady", STR("pods can be started"), at);
    add_condition(a, list, "MemoryPressure", false, "HasSufficientMemory", STR("memory is available"), at);
    add_condition(a, list, "DiskPressure", false, "HasNoDiskPressure", STR("disk is available"), at);
    add_condition(a, list, "PIDPressure", false, "HasSufficientPID", STR("process ids are available"), at);
    if (g->cgroups_why)
        add_condition(a, list, "LimitsMissing", true, "CgroupsIncomplete", str_of(g->cgroups_why), at);
    return list;
}

static void add_labels(struct agent *g, struct arena *a, struct json *node, const struct utsname *u)
{
    const char *arch = strcmp(u->machine, "x86_64") == 0    ? "amd64"
                       : strcmp(u->machine, "aarch64") == 0 ? "arm64"
                                                            : u->machine;

    object_set_label(a, node, "kubernetes.io/hostname", g->node_name);
    object_set_label(a, node, "kubernetes.io/os", STR("linux"));
    object_set_label(a, node, "kubernetes.io/arch", arena_str(a, str_of(arch)));
}

static void add_address(struct arena *a, struct json *list, const char *type, struct str address)
{
    struct json *one = json_push(list, json_object(a));

    json_set(one, "type", json_str(a, str_of(type)));
    json_set(one, "address", json_str(a, address));
}

void agent_node_write(struct agent *g)
{
    autoarena a = { 0 };
    struct json *node = object_new(&a, "v1", "Node", STR_NULL, g->node_name), *status, *list, *info;
    struct utsname u = { 0 };
    struct op op = { .kind = OP_CREATE, .type = type_by_kind(STR("v1"), STR("Node")), .name = g->node_name };

    uname(&u);
    add_labels(g, &a, node, &u);
    json_set(node, "spec", json_object(&a));
    status = json_set(node, "status", json_object(&a));
    json_set(status, "capacity", agent_capacity(g, &a));
    json_set(status, "allocatable", agent_capacity(g, &a));
    json_set(status, "conditions", conditions(g, &a));
    list = json_set(status, "addresses", json_array(&a));
    add_address(&a, list, "InternalIP", g->host_ip);
    add_address(&a, list, "Hostname", g->node_name);
    info = json_set(status, "nodeInfo", json_object(&a));
    json_set(info, "kernelVersion", json_str(&a, str_of(u.release)));
    json_set(info, "operatingSystem", json_str(&a, STR("linux")));
    json_set(info, "containerRuntimeVersion", json_str(&a, STR("pumice://" PUMICE_VERSION)));
    json_set(info, "kubeletVersion", json_str(&a, STR("v1.32.0-pumice")));
    op.body = node;
    agent_write(g, &g->node, &op);
}
