/* host_try.c - the checks that do what a pod needs, and undo it; in a process that is root in namespaces of its own */
#include "base/util.h"
#include "node/cgroup/cgroup.h"
#include "node/filter/filter.h"
#include "node/doctor/host_internal.h"
#include "os/netlink.h"
#include "os/nft.h"
#include "os/proc.h"
#include "os/tree.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

static const char *id_of_run(struct exam *x)
{
    return arena_fmt(x->arena, "%06x", (unsigned)getpid() * 2654435761u >> 8).p;
}

void host_try_ids(struct exam *x, struct host_check *c)
{
    if (x->root.is_real)
        host_say(x, c, HOST_FINE, "all");
    else if (x->root.n_ids > 1)
        host_say(x, c, HOST_FINE, "%u user ids", x->root.n_ids);
    else
        host_say_why(x, c, HOST_LIMITED, x->root.why);
}

/* ---- the root file system ---- */

/* The state directory, or what is there of the way to it. */
static char *existing_part(const char *path)
{
    char *p = strdup(path[0] == '/' ? path : "/"), *slash;

    while (p && access(p, F_OK) < 0 && (slash = strrchr(p, '/')))
        p[slash == p ? 1 : slash - p] = '\0';
    return p;
}

static int mount_overlay(struct exam *x, const char *dir, const char **ret_step)
{
    /* In a user namespace not over "/": box.h puts that together from directories without mounts below them. */
    struct str options = arena_fmt(x->arena, "lowerdir=%s,upperdir=%s/upper,workdir=%s/work%s",
                                   x->root.is_real ? "/" : "/usr/bin", dir, dir, x->root.is_real ? "" : ",userxattr");
    struct str root = arena_fmt(x->arena, "%s/root", dir), file = arena_fmt(x->arena, "%s/root/pumice-doctor", dir);
    static const char *const parts[] = { "upper", "work", "root" };
    int fd, error = 0;

    *ret_step = "create directories";
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (mkdir(arena_fmt(x->arena, "%s/%s", dir, parts[i]).p, 0755) < 0)
            return errno;
    *ret_step = "mount an overlay";
    if (mount("overlay", root.p, "overlay", 0, options.p) < 0)
        return errno;
    *ret_step = "write through an overlay";
    fd = open(file.p, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0 || close(fd) < 0 || unlink(file.p) < 0)
        error = errno;
    (void)umount2(root.p, MNT_DETACH); /* it goes with us */
    return error;
}

static void try_say_room(struct exam *x, struct host_check *c, const char *where)
{
    enum { ROOM_GIB = 1 };
    struct statvfs st = { 0 };
    double gib;

    (void)statvfs(where, &st); /* no room then */
    gib = (double)st.f_bavail * (double)st.f_frsize / (1 << 30);
    host_say(x, c, gib < ROOM_GIB ? HOST_LIMITED : HOST_FINE, "the host's files, changes in %s (%.1f GiB free)",
             x->state_dir, gib);
    if (c->verdict != HOST_FINE)
        c->fix = STR("pumice run --state DIR (on a larger file system)");
}

void host_try_overlay(struct exam *x, struct host_check *c)
{
    autofree char *base = existing_part(x->state_dir);
    struct str dir = arena_fmt(x->arena, "%s/.pumice-doctor-XXXXXX", base);
    autoclose int parent = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const char *step = "create a directory";
    int error;

    error = mkdtemp((char *)dir.p) ? mount_overlay(x, dir.p, &step) : errno;
    if (parent >= 0)
        (void)tree_remove(parent, strrchr(dir.p, '/') + 1, NULL); /* nothing is in it */
    if (!error) {
        try_say_room(x, c, base);
        return;
    }
    host_say(x, c, HOST_IMPOSSIBLE, "cannot %s in %s: %s", step, base, strerror(error));
    c->fix = STR("pumice run --state DIR (on a local file system: ext4, xfs, btrfs, tmpfs)");
}

/* ---- processes ---- */

static _Noreturn void make_first(void)
{
    int status;
    pid_t pid;

    if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0 || (pid = fork()) < 0) /* not bound: its parent has no number there */
        _exit(errno);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 ? errno : 0);
    }
    status = proc_wait(pid);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EINTR);
}

int host_try_mount_proc(void)
{
    sigset_t old;
    int status;
    pid_t pid = proc_fork_bound(&old);

    if (pid < 0)
        return errno;
    if (pid == 0)
        make_first();
    status = proc_wait_bound(pid, &old);
    return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

void host_try_proc(struct exam *x, struct host_check *c)
{
    int error = host_try_mount_proc();

    if (!error) {
        host_say(x, c, HOST_FINE, "can be mounted in a PID namespace");
        return;
    }
    host_say(x, c, HOST_IMPOSSIBLE, "cannot be mounted in a PID namespace: %s%s", strerror(error),
             error == EPERM ? " (parts of /proc are masked here, as in a container)" : "");
    if (error == EPERM)
        c->fix = STR("start the container with: --security-opt systempaths=unconfined (docker), unmask=ALL (podman)");
}

/* ---- groups ---- */

void host_try_cgroups(struct exam *x, struct host_check *c)
{
    static const struct {
        enum cgroup_can can;
        const char *name;
    } parts[] = {
        { CGROUP_CPU, "cpu" }, { CGROUP_MEMORY, "memory" }, { CGROUP_PIDS, "processes" }, { CGROUP_FREEZE, "freezing" }
    };
    autobuf has = { 0 };
    struct cgroups *groups;
    const char *why;
    struct err e = { 0 };

    if (cgroups_open(arena_fmt(x->arena, "pumice-doctor-%s", id_of_run(x)).p, &groups, &why, &e) < 0) {
        host_say_why(x, c, HOST_LIMITED, e.text);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (cgroups_can(groups) & parts[i].can)
            buf_fmt(&has, "%s%s", has.n ? ", " : "", parts[i].name);
    if (why)
        host_say_why(x, c, HOST_LIMITED, why);
    else
        host_say(x, c, HOST_FINE, "%s: %.*s", cgroups_kind(groups), STR_ARG(buf_view(&has)));
    cgroups_close(groups, true);
}

/* ---- the network ---- */

static int join_one(struct net *n, struct err *e)
{
    autoclose int ns = -1;
    struct in_addr address;

    if (netns_new(&ns, e) < 0 || net_take_address(n, false, &address, e) < 0 || net_join(n, ns, address, NULL, e) < 0)
        return -1;
    return net_leave(n, address, e);
}

void host_try_network(struct exam *x, struct host_check *c)
{
    struct net_options opt = { .id = id_of_run(x), .has_way_out = true };
    struct err e = { 0 };

    if (net_open(&opt, &x->net, &e) < 0 || join_one(x->net, &e) < 0) {
        host_say_why(x, c, HOST_IMPOSSIBLE, e.text);
        return;
    }
    host_say(x, c, HOST_FINE, "private, one veth pair per pod");
}

/* All that a filter may consist of, in small: what works here works for a run. */
static void sample_filter(struct arena *a, struct buf *out)
{
    static const char policy[] = "{\"spec\": {\"podSelector\": {}, \"ingress\": [{\"from\": [{\"ipBlock\": {\"cidr\": "
                                 "\"192.0.2.0/24\", \"except\": [\"192.0.2.9/32\"]}}], \"ports\": [{\"port\": 80}]}]}}";
    struct filter_input in = { .id = "doctor", .bridge = "lo", .gateway = { htonl(0xc0000201) } };
    struct filter_service *s = vec_push(a, &in.services);

    *s = (struct filter_service){ .address = { htonl(0xc0000202) }, .port = 80, .protocol = 'T' };
    *vec_push(a, &s->endpoints) = (struct filter_endpoint){ { htonl(0xc0000203) }, 80 };
    *vec_push(a, &s->endpoints) = (struct filter_endpoint){ { htonl(0xc0000204) }, 80 };
    *vec_push(a, &in.pods) = (struct filter_pod){ .address = { htonl(0xc0000203) } };
    if (json_parse(a, str_of(policy), NULL, vec_push(a, &in.policies), NULL) < 0)
        in.policies.n = 0; /* it is well-formed */
    filter_batch(a, &in, out);
}

void host_try_nftables(struct exam *x, struct host_check *c)
{
    autobuf batch = { 0 };
    struct err e = { 0 };

    sample_filter(x->arena, &batch);
    if (!x->net) {
        host_say(x, c, HOST_LIMITED, "not checked: there is no network");
    } else if (nft_send(buf_view(&batch), net_ns_fd(x->net), &e) < 0) {
        host_say_why(x, c, HOST_LIMITED, e.text);
        c->fix = STR("as root: modprobe -a nf_tables nft_chain_nat nft_nat nft_numgen nft_ct nft_reject_inet");
    } else {
        host_say(x, c, HOST_FINE, "address translation, sets and refusals");
    }
}

void host_try_out(struct exam *x, struct host_check *c)
{
    const char *how, *why = NULL;

    if (!x->net) {
        host_say(x, c, HOST_LIMITED, "not checked: there is no network");
        return;
    }
    how = net_way_out(x->net, &why);
    if (why)
        host_say_why(x, c, HOST_LIMITED, why);
    else
        host_say(x, c, how ? HOST_FINE : HOST_LIMITED, "%s", how ? how : "none");
}
