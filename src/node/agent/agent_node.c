/* agent_node.c - this machine as a Node object: what it has, and what it cannot do
 *
 * Written once, at the beginning: a run is short, and its node does not change. In a real cluster it is found again
 * where it is there already, and its conditions and images are written every five minutes, as a kubelet does, and when
 * an image has come; that the machine is alive others see by its Lease. Whether pods fit is the scheduler's business;
 * the agent runs what is bound to it. Limits that the host cannot enforce (without cgroups) are a condition, so that
 * people find them.
 */
#include "node/agent/agent_internal.h"

#include "api/meta.h"
#include "api/version.h"
#include "base/clock.h"
#include "base/log.h"
#include "os/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

enum { BEAT_MS = 5 * 60 * 1000, PODS_MAX = 1000 }; /* a kubelet says 110; here a pod costs a few hundred kilobytes */
enum { IMAGES_MAX = 50, IMAGE_NAMES_MAX = 5 };     /* as a kubelet tells of: a Node is written often */

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

struct times {
    struct str now, since;
};

static struct str agent_node_text_of(struct arena *a, int64_t ms)
{
    autobuf text = { 0 };

    clock_print(&text, ms);
    return arena_str(a, buf_view(&text));
}

struct node_condition {
    const char *type, *reason;
    bool is_true;
    struct str message;
};

static void put_condition(struct arena *a, struct json *list, struct times at, struct node_condition c)
{
    struct json *j = json_push(list, json_object(a));

    json_set(j, "type", json_str(a, str_of(c.type)));
    json_set(j, "status", json_str(a, c.is_true ? STR("True") : STR("False")));
    json_set(j, "reason", json_str(a, str_of(c.reason)));
    json_set(j, "message", json_str(a, c.message));
    json_set(j, "lastHeartbeatTime", json_str(a, at.now));
    json_set(j, "lastTransitionTime", json_str(a, at.since));
}

/* A node of a real cluster that may not list the objects it needs can start no pod, so the scheduler should send it
 * none. (Ours has listed everything before the first request.) '*reason' is changed where it is not Ready. */
static struct str ready_why(struct agent *g, struct arena *a, const char **reason)
{
    autobuf kinds = { 0 };

    if (g->is_closing) {
        *reason = "NodeShutdown";
        return STR("the node is being shut down");
    }
    for (int w = 0; g->opt.remote && w < WANT_MAX; w++)
        if (!g->is_known[w])
            buf_fmt(&kinds, "%s%s", kinds.n ? ", " : "", agent_type(w)->kind);
    if (!kinds.n)
        return STR("pods can be started");
    *reason = "NotListed";
    return arena_fmt(
        a, "cannot start pods until these are listed: %s; check the rights: pumice install --dry-run --only node",
        kinds.p);
}

static struct json *conditions(struct agent *g, struct arena *a)
{
    const char *reason = "AgentReady";
    struct str why = ready_why(g, a, &reason);
    struct json *list = json_array(a);
    struct times at = { agent_node_text_of(a, cluster_now_ms(g->cluster)), agent_node_text_of(a, g->since_ms) };
    const struct node_condition all[] = {
        { "Ready", reason, strcmp(reason, "AgentReady") == 0, why },
        { "MemoryPressure", "HasSufficientMemory", false, STR("memory is available") },
        { "DiskPressure", "HasNoDiskPressure", false, STR("disk is available") },
        { "PIDPressure", "HasSufficientPID", false, STR("process ids are available") },
    };

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        put_condition(a, list, at, all[i]);
    if (g->cgroups_why)
        put_condition(a, list, at,
                      (struct node_condition){ "LimitsMissing", "CgroupsIncomplete", true, str_of(g->cgroups_why) });
    return list;
}

static const char *machine_name(const struct utsname *u)
{
    return strcmp(u->machine, "x86_64") == 0 ? "amd64" : strcmp(u->machine, "aarch64") == 0 ? "arm64" : u->machine;
}

static void agent_node_add_labels(struct agent *g, struct arena *a, struct json *node)
{
    struct utsname u = { 0 };

    uname(&u);
    object_set_label(a, node, "kubernetes.io/hostname", g->node_name);
    object_set_label(a, node, "kubernetes.io/os", STR("linux"));
    object_set_label(a, node, "kubernetes.io/arch", arena_str(a, str_of(machine_name(&u))));
    JSON_FOREACH(label, g->opt.remote ? g->opt.remote->labels : NULL)
        object_set_label(a, node, arena_cstr(a, json_key(label)), json_text(label, STR_NULL));
}

static void add_address(struct arena *a, struct json *list, const char *type, struct str address)
{
    struct json *one = json_push(list, json_object(a));

    json_set(one, "type", json_str(a, str_of(type)));
    json_set(one, "address", json_str(a, address));
}

static struct str first_line(struct arena *a, const char *path)
{
    struct str text = file_text(a, AT_FDCWD, path, 4096), line = STR_NULL;

    (void)str_split(&text, '\n', &line);
    return line;
}

static struct str os_name(struct arena *a)
{
    struct str text = file_text(a, AT_FDCWD, "/etc/os-release", 4096), line;

    while (str_split(&text, '\n', &line))
        if (str_starts(line, STR("PRETTY_NAME=\"")) && line.n > 14)
            return str_sub(line, 13, line.n - 14);
    return STR("Linux");
}

static struct json *node_info(struct arena *a)
{
    struct json *info = json_object(a);
    struct utsname u = { 0 };

    uname(&u);
    json_set(info, "machineID", json_str(a, first_line(a, "/etc/machine-id")));
    json_set(info, "systemUUID", json_str(a, STR_NULL));
    json_set(info, "bootID", json_str(a, first_line(a, "/proc/sys/kernel/random/boot_id")));
    json_set(info, "kernelVersion", json_str(a, arena_str(a, str_of(u.release))));
    json_set(info, "osImage", json_str(a, os_name(a)));
    json_set(info, "operatingSystem", json_str(a, STR("linux")));
    json_set(info, "architecture", json_str(a, arena_str(a, str_of(machine_name(&u)))));
    json_set(info, "containerRuntimeVersion", json_str(a, STR("pumice://" PUMICE_VERSION)));
    json_set(info, "kubeletVersion", json_str(a, STR("v" KUBERNETES_VERSION ".0-pumice")));
    json_set(info, "kubeProxyVersion", json_str(a, STR_NULL));
    return info;
}

static void add_port(const struct agent *g, struct arena *a, struct json *status)
{
    struct json *ends;

    if (!g->opt.remote || !g->opt.remote->port)
        return;
    ends = json_set(status, "daemonEndpoints", json_object(a));
    json_set(json_set(ends, "kubeletEndpoint", json_object(a)), "Port", json_int(a, g->opt.remote->port));
}

/* ---- images ---- */

static int agent_node_by_size(const void *x, const void *y)
{
    const struct image_entry *a = x, *b = y;
    int by_id = str_cmp(a->id, b->id);

    return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1) : by_id ? by_id : str_cmp(a->name, b->name);
}

static void add_image_name(struct arena *a, struct json *names, struct str name)
{
    JSON_FOREACH(old, names)
        if (str_eq(json_text(old, STR_NULL), name))
            return;
    if (json_count(names) < IMAGE_NAMES_MAX)
        json_push(names, json_str(a, name));
}

/* By its digest, as its registry knows it, and by its name. */
static void add_image_names(struct arena *a, struct json *names, const struct image_entry *one)
{
    ptrdiff_t at = str_find_char(one->name, '@'), colon = str_rfind_char(one->name, ':');
    struct str repository = str_sub(one->name, 0, (size_t)(at >= 0 ? at : colon));

    if (one->digest.n)
        add_image_name(a, names, arena_fmt(a, "%.*s@%.*s", STR_ARG(repository), STR_ARG(one->digest)));
    add_image_name(a, names, one->name);
}

/* What is in the store, the largest first. */
static void add_images(struct agent *g, struct arena *a, struct json *status)
{
    struct json *list = json_set(status, "images", json_array(a)), *names = NULL;
    struct image_entries all;
    struct str id = STR_NULL;

    if (images_stored(g->opt.images, a, &all, NULL) < 0 || !all.list.n)
        return;
    qsort(all.list.v, all.list.n, sizeof(*all.list.v), agent_node_by_size);
    VEC_FOREACH(one, &all.list) {
        if (!one->name.n)
            continue;
        if (!str_eq(one->id, id)) {
            struct json *image = json_count(list) < IMAGES_MAX ? json_push(list, json_object(a)) : NULL;

            if (!image)
                return;
            names = json_set(image, "names", json_array(a));
            json_set(image, "sizeBytes", json_int(a, MAX_OF(one->bytes, 0)));
            id = one->id;
        }
        add_image_names(a, names, one);
    }
}

static void add_status(struct agent *g, struct arena *a, struct json *node)
{
    struct json *status = json_set(node, "status", json_object(a)), *list;

    json_set(status, "capacity", agent_capacity(g, a));
    json_set(status, "allocatable", agent_capacity(g, a));
    json_set(status, "conditions", conditions(g, a));
    list = json_set(status, "addresses", json_array(a));
    add_address(a, list, "InternalIP", g->host_ip);
    add_address(a, list, "Hostname", g->node_name);
    add_port(g, a, status);
    json_set(status, "nodeInfo", node_info(a));
    add_images(g, a, status);
}

/* ---- writing it ---- */

static void agent_node_create(struct agent *g, struct arena *a, struct op *op)
{
    struct json *spec = json_set(op->body, "spec", json_object(a));

    op->kind = OP_CREATE;
    agent_node_add_labels(g, a, op->body);
    if (g->opt.remote && g->opt.remote->taints)
        json_set(spec, "taints", json_copy(a, g->opt.remote->taints));
    add_status(g, a, op->body);
}

static void set_labels(struct agent *g, struct arena *a, struct op *op)
{
    struct json *full = op->body;

    agent_node_add_labels(g, a, full);
    op->kind = OP_MERGE_PATCH;
    op->body = json_object(a);
    json_set(json_set(op->body, "metadata", json_object(a)), "labels",
             json_copy(a, json_find(full, "metadata", "labels", NULL)));
}

static void replace_status(struct agent *g, struct arena *a, struct op *op)
{
    op->kind = OP_UPDATE_STATUS;
    add_status(g, a, op->body);
}

static void beat(struct agent *g, struct arena *a, struct op *op)
{
    struct json *status = json_object(a);

    op->kind = OP_PATCH_STATUS;
    op->body = json_object(a);
    json_set(op->body, "status", status);
    json_set(status, "conditions", conditions(g, a));
    add_images(g, a, status);
}

static void (*const steps[])(struct agent *g, struct arena *a, struct op *op) = {
    [NODE_CREATES] = agent_node_create,
    [NODE_LABELS] = set_labels,
    [NODE_REPLACES] = replace_status,
    [NODE_BEATS] = beat,
};

const struct resource_type *agent_node_type(void)
{
    return type_by_kind(STR("v1"), STR("Node"));
}

void agent_node_changed(struct agent *g)
{
    if (g->node.token || g->node_step != NODE_BEATS)
        g->is_node_stale = true; /* said with the answer to what is under way */
    else
        g->beat_ms = cluster_now_ms(g->cluster);
}

void agent_node_gone(struct agent *g)
{
    log_warn("Creating the Node again, which was deleted while this program runs", LOG_STR("node", g->node_name));
    g->node_step = NODE_CREATES;
    g->beat_ms = cluster_now_ms(g->cluster);
}

void agent_node_write(struct agent *g)
{
    autoarena a = { 0 };
    struct op op = { .type = agent_node_type(),
                     .name = g->node_name,
                     .body = object_new(&a, "v1", "Node", STR_NULL, g->node_name) };

    g->beat_ms = INT64_MAX;
    g->is_node_stale = false;
    steps[g->node_step](g, &a, &op);
    agent_write(g, &g->node, &op);
}

/* An existing Node was ours: it gets what is new, and keeps what others put into its spec. A Node that a user deleted
 * while we run is created again. A write that fails for another reason is repeated. */
void agent_node_answered(struct agent *g, const struct err *e)
{
    enum node_step old = g->node_step;

    if (!g->opt.remote || (e->code != ERR_OK && e->code != ERR_EXISTS && e->code != ERR_NOT_FOUND))
        return;
    g->node_step = e->code == ERR_NOT_FOUND                      ? NODE_CREATES
                   : e->code == ERR_EXISTS                       ? NODE_LABELS
                   : old == NODE_CREATES || old == NODE_REPLACES ? NODE_BEATS
                   : old == NODE_LABELS                          ? NODE_REPLACES
                                                                 : old;
    g->beat_ms = cluster_now_ms(g->cluster) + (g->node_step == NODE_BEATS && !g->is_node_stale ? BEAT_MS : 0);
}
