/* host_look.c - the checks that only look: kernel, limits, devices, programs */
#include "base/buf.h"
#include "base/util.h"
#include "node/device/device.h"
#include "node/doctor/host_internal.h"
#include "os/proc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

/* 5.12: mount_setattr, and overlays in a user namespace. */
enum { KERNEL_MAJOR = 5, KERNEL_MINOR = 12 };

/* A pod: its shim, the container's process 1 and a program of a few threads. Descriptors: sockets and pidfds. */
enum { POD_PROCESSES = 5, POD_FILES = 8 };

static int64_t host_look_read_number(const char *path, const char *key)
{
    autofile FILE *f = fopen(path, "re");
    char line[200];

    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, key, strlen(key)) == 0)
            return strtoll(line + strlen(key), NULL, 10);
    return -1;
}

int host_kernel(struct err *e)
{
    struct utsname u;
    int major = 0, minor = 0;

    if (uname(&u) < 0 || sscanf(u.release, "%d.%d", &major, &minor) != 2)
        return 0; /* who knows: let it try */
    if (major > KERNEL_MAJOR || (major == KERNEL_MAJOR && minor >= KERNEL_MINOR))
        return 0;
    return err_set(e, ERR_FORBIDDEN, "Linux %.60s is too old for pods; run: a kernel of version %d.%d or later",
                   u.release, KERNEL_MAJOR, KERNEL_MINOR);
}

void host_look_kernel(struct exam *x, struct host_check *c)
{
    struct utsname u;
    struct err e = { 0 };

    if (host_kernel(&e) < 0)
        host_say_why(x, c, HOST_IMPOSSIBLE, e.text);
    else if (uname(&u) == 0)
        host_say(x, c, HOST_FINE, "%s %s %s", u.sysname, u.release, u.machine);
}

/* As the forwarder of dns.h has it: the first IPv4 address. */
void host_look_names(struct exam *x, struct host_check *c)
{
    autofile FILE *f = fopen("/etc/resolv.conf", "re");
    char line[300], address[64];
    struct in_addr a;

    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, " nameserver %63s", address) == 1 && inet_pton(AF_INET, address, &a) == 1) {
            host_say(x, c, HOST_FINE, "queries are forwarded to %s", address);
            return;
        }
    host_say(x, c, HOST_LIMITED, "/etc/resolv.conf has no name server with an IPv4 address");
    c->fix = STR("as root: echo 'nameserver ADDRESS' >> /etc/resolv.conf");
}

void host_look_seccomp(struct exam *x, struct host_check *c)
{
    uint32_t action = SECCOMP_RET_ERRNO;

    if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0)
        host_say(x, c, HOST_FINE, "yes");
    else
        host_say(x, c, HOST_LIMITED, "this kernel does not support seccomp filters: %s", strerror(errno));
}

void host_look_size(struct exam *x, struct host_check *c)
{
    cpu_set_t set;
    int64_t total = host_look_read_number("/proc/meminfo", "MemTotal:"),
            free_kib = host_look_read_number("/proc/meminfo", "MemAvailable:");
    int cpus = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);

    host_say(x, c, HOST_FINE, "%d processor%s, %.1f GiB of memory, %.1f GiB of it free", cpus, cpus == 1 ? "" : "s",
             (double)total / (1 << 20), (double)free_kib / (1 << 20));
}

static int64_t resource_limit(int resource)
{
    struct rlimit r;

    return getrlimit((__rlimit_resource_t)resource, &r) < 0 || r.rlim_max == RLIM_INFINITY ? INT64_MAX
                                                                                           : (int64_t)r.rlim_max;
}

void host_look_processes(struct exam *x, struct host_check *c)
{
    const struct {
        const char *name, *fix;
        int64_t n;
    } limits[] = {
        { "kernel.pid_max", "as root: sysctl -w kernel.pid_max=4194304",
          host_look_read_number("/proc/sys/kernel/pid_max", "") },
        { "kernel.threads-max", "as root: sysctl -w kernel.threads-max=100000",
          host_look_read_number("/proc/sys/kernel/threads-max", "") },
        { "ulimit -u", "ulimit -u 16384", x->root.is_real ? INT64_MAX : resource_limit(RLIMIT_NPROC) },
    };
    size_t least = 0;

    for (size_t i = 1; i < ARRAY_LEN(limits); i++)
        if (limits[i].n >= 0 && limits[i].n < limits[least].n)
            least = i;
    host_say(x, c, limits[least].n < HOST_PODS * POD_PROCESSES ? HOST_LIMITED : HOST_FINE, "at most %lld (%s)",
             (long long)limits[least].n, limits[least].name);
    if (c->verdict != HOST_FINE)
        c->fix = str_of(limits[least].fix);
}

void host_look_files(struct exam *x, struct host_check *c)
{
    int64_t n = resource_limit(RLIMIT_NOFILE);

    host_say(x, c, n < HOST_PODS * POD_FILES ? HOST_LIMITED : HOST_FINE, "at most %lld (ulimit -Hn)", (long long)n);
    if (c->verdict != HOST_FINE)
        c->fix = STR("as root: ulimit -Hn 65536");
}

/* "nvidia.com/gpu 0: NVIDIA H200, GPU-…, /dev/nvidia0", one line each: the first, and how many; and what keeps
 * programs from them. */
void host_look_gpus(struct exam *x, struct host_check *c)
{
    struct devices *d = devices_new(NULL);
    struct str rest, line, first = STR_NULL, what = STR_NULL, fix = STR_NULL;
    autobuf text = { 0 };
    bool is_bad = devices_trouble(d, &what, &fix);
    size_t n = 0;

    devices_say(d, &text);
    devices_free(d);
    rest = str_trim(buf_view(&text));
    while (rest.n && str_split(&rest, '\n', &line))
        if (!n++)
            first = line;
    if (!n && !is_bad)
        host_say(x, c, HOST_FINE, "none; jobs that request nvidia.com/gpu wait");
    else if (!n)
        host_say(x, c, HOST_LIMITED, "none usable: %.*s", STR_ARG(what));
    else
        host_say(x, c, is_bad ? HOST_LIMITED : HOST_FINE, "%zu: %.*s%s%s%.*s", n, STR_ARG(first), n > 1 ? " …" : "",
                 is_bad ? "; " : "", STR_ARG(what));
    c->fix = fix; /* texts of the program: they outlive the devices */
}

static void look_program(struct exam *x, struct host_check *c, const char *program, const char *package)
{
    char path[256];

    if (proc_find(program, path, sizeof(path))) {
        host_say(x, c, HOST_FINE, "%s", path);
        return;
    }
    host_say(x, c, HOST_LIMITED, "%s is not installed", program);
    c->fix = arena_fmt(x->arena, "%sapt-get install %s", x->root.is_real ? "" : "as root: ", package);
}

void host_look_sshd(struct exam *x, struct host_check *c)
{
    look_program(x, c, "sshd", "openssh-server");
}

void host_look_mpi(struct exam *x, struct host_check *c)
{
    look_program(x, c, "mpiexec", "openmpi-bin");
}
