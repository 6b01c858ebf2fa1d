/* cgroup_why.c - what the host cannot do, why, and the command that would help */
#include "node/cgroup/cgroup_internal.h"

#include "base/util.h"

static const struct {
    enum cgroup_can can;
    const char *name;
} parts[] = {
    { CGROUP_CPU, "cpu limits" },
    { CGROUP_MEMORY, "memory limits" },
    { CGROUP_PIDS, "process limits" },
    { CGROUP_FREEZE, "freezing" },
};

#define WRITABLE_CONTAINER                                                                                             \
    "start the container with writable cgroups (docker run --privileged --cgroupns=private, or podman run "            \
    "--security-opt unmask=/sys/fs/cgroup)"

/* '%s' in 'what' is the path of the group. */
static const struct {
    const char *what, *for_root, *for_user;
} hitches[CGROUP_HITCH_MAX] = {
    [CGROUP_HITCH_NOT_MOUNTED] = { "no cgroup file system is mounted", "run: mount -t cgroup2 cgroup2 /sys/fs/cgroup",
                                   "as root, run: mount -t cgroup2 cgroup2 /sys/fs/cgroup" },
    [CGROUP_HITCH_READONLY] = { "%s is read-only", WRITABLE_CONTAINER, WRITABLE_CONTAINER },
    [CGROUP_HITCH_UNREACHABLE] = { "the cgroup of this process is outside the mount %s", WRITABLE_CONTAINER,
                                   WRITABLE_CONTAINER },
    [CGROUP_HITCH_DENIED] = { "no permission to create cgroups in %s", WRITABLE_CONTAINER,
                              "run: systemd-run --user --scope -p Delegate=yes pumice ..." },
    [CGROUP_HITCH_DENIED_V1] = { "no permission to create cgroups in %s", WRITABLE_CONTAINER,
                                 "run as root, or boot with systemd.unified_cgroup_hierarchy=1: cgroup v1 cannot be "
                                 "delegated to users" },
    [CGROUP_HITCH_CROWDED] = { "%s contains other processes, so it cannot limit its child cgroups",
                               "run: systemd-run --scope -p Delegate=yes pumice ...",
                               "run: systemd-run --user --scope -p Delegate=yes pumice ..." },
    [CGROUP_HITCH_NOT_OFFERED] = { "%s does not have these controllers",
                                   "check cgroup.subtree_control of its parents, and cgroup_disable= in "
                                   "/proc/cmdline",
                                   "as root, run: systemctl set-property user.slice CPUAccounting=yes "
                                   "MemoryAccounting=yes TasksAccounting=yes; then give user@.service Delegate=yes "
                                   "(systemctl edit user@.service) and log in again" },
};

static bool name_missing(struct buf *out, unsigned can)
{
    bool is_first = true;

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (can & parts[i].can)
            continue;
        buf_fmt(out, "%s%s", is_first ? "no " : ", ", parts[i].name);
        is_first = false;
    }
    return !is_first;
}

void cgroup_why(struct buf *out, unsigned can, enum cgroup_hitch hitch, const char *path, bool is_root)
{
    const char *what = hitches[hitch].what, *slot;

    if (!name_missing(out, can) || !what)
        return;
    buf_str(out, STR(": "));
    slot = strstr(what, "%s");
    if (slot)
        buf_fmt(out, "%.*s%s%s", (int)(slot - what), what, path, slot + 2);
    else
        buf_fmt(out, "%s", what);
    buf_fmt(out, "; %s", is_root ? hitches[hitch].for_root : hitches[hitch].for_user);
}
