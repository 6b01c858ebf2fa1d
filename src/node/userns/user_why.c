/* user_why.c - why the kernel refuses a user namespace, and the command that allows it */
#include "node/userns/user_internal.h"

#include "base/util.h"

#include <errno.h>
#include <fcntl.h>

/* -1: no such file. */
static long user_why_read_number(const char *path)
{
    autofile FILE *f = fopen(path, "re");
    long v;

    return f && fscanf(f, "%ld", &v) == 1 ? v : -1;
}

static bool is_filtered(void)
{
    autofile FILE *f = fopen("/proc/self/status", "re");
    char line[200];

    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, "Seccomp:", 8) == 0)
            return strtol(line + 8, NULL, 10) == 2;
    return false;
}

/* Checked in this order; the first match is reported. */
static const struct {
    const char *path;
    long bad;
    const char *says;
} switches[] = {
    { "/proc/sys/user/max_user_namespaces", 0,
      "user.max_user_namespaces is 0; as root run: sysctl -w user.max_user_namespaces=15000" },
    { "/proc/sys/kernel/unprivileged_userns_clone", 0,
      "kernel.unprivileged_userns_clone is 0; as root run: sysctl -w kernel.unprivileged_userns_clone=1" },
    { "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1,
      "AppArmor restricts them (kernel.apparmor_restrict_unprivileged_userns is 1); as root run: sysctl -w "
      "kernel.apparmor_restrict_unprivileged_userns=0" },
};

static const char *find_reason(int error)
{
    for (size_t i = 0; i < ARRAY_LEN(switches); i++)
        if (user_why_read_number(switches[i].path) == switches[i].bad)
            return switches[i].says;
    switch (error) {
    case ENOSPC:
    case EUSERS:
        return "too many are in use, or they are nested too deeply; as root run: sysctl -w "
               "user.max_user_namespaces=15000";
    case EINVAL:
    case ENOSYS:
        return "this kernel does not support them; run: pumice as root";
    default:
        return is_filtered()
                   ? "denied by a seccomp filter, as in a container; start the container with: --security-opt "
                     "seccomp=unconfined (docker, podman), or --privileged"
                   : "denied by a security module or a chroot; run: pumice as root";
    }
}

int user_refused(int error, struct err *e)
{
    return err_set(e, ERR_FORBIDDEN, "pods need root or user namespaces, and the kernel refused one: %s",
                   find_reason(error));
}
