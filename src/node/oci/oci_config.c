/* oci_config.c - config.json of a container, by the OCI runtime specification
 *
 * The root is complete (box_root.c, box_fill.c, box_dev.c), so there is little to mount: /proc, which belongs to the
 * new pid namespace, and /dev over itself, which tells the runtime to leave it alone. No path of the machine in here
 * leads through the root, where an image could have a link. Devices need no rules: /dev is a file system mounted
 * nodev with bound devices only.
 */
#include "node/oci/oci.h"

#include "base/util.h"
#include "json/json.h"
#include "node/container/box_build.h"

#include <errno.h>
#include <sched.h>
#include <sys/capability.h>
#include <sys/resource.h>
#include <sys/socket.h>

static const char *const masked[] = {
    "/proc/acpi", "/proc/kcore",       "/proc/keys",       "/proc/latency_stats",
    "/proc/scsi", "/proc/sched_debug", "/proc/timer_list", "/proc/timer_stats",
};
static const char *const read_only[] = { "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger" };

static const char *const limit_names[RLIM_NLIMITS] = {
    [RLIMIT_CPU] = "RLIMIT_CPU",           [RLIMIT_FSIZE] = "RLIMIT_FSIZE",
    [RLIMIT_DATA] = "RLIMIT_DATA",         [RLIMIT_STACK] = "RLIMIT_STACK",
    [RLIMIT_CORE] = "RLIMIT_CORE",         [RLIMIT_RSS] = "RLIMIT_RSS",
    [RLIMIT_NPROC] = "RLIMIT_NPROC",       [RLIMIT_NOFILE] = "RLIMIT_NOFILE",
    [RLIMIT_MEMLOCK] = "RLIMIT_MEMLOCK",   [RLIMIT_AS] = "RLIMIT_AS",
    [RLIMIT_LOCKS] = "RLIMIT_LOCKS",       [RLIMIT_SIGPENDING] = "RLIMIT_SIGPENDING",
    [RLIMIT_MSGQUEUE] = "RLIMIT_MSGQUEUE", [RLIMIT_NICE] = "RLIMIT_NICE",
    [RLIMIT_RTPRIO] = "RLIMIT_RTPRIO",     [RLIMIT_RTTIME] = "RLIMIT_RTTIME",
};

/* ---- small parts ---- */

static struct json *oci_config_texts(struct arena *a, const char *const *list, size_t n)
{
    struct json *out = json_array(a);

    for (size_t i = 0; i < n; i++)
        (void)json_push(out, json_str(a, str_of(list[i])));
    return out;
}

static struct json *caps_list(struct arena *a, uint64_t caps)
{
    struct json *out = json_array(a);

    for (cap_value_t cap = 0; cap < cap_max_bits() && cap < 64; cap++) {
        char *name = caps & UINT64_C(1) << cap ? cap_to_name(cap) : NULL;

        for (char *p = name; p && *p; p++) /* "cap_chown" */
            if (*p >= 'a' && *p <= 'z')
                *p = (char)(*p - 'a' + 'A');
        if (name)
            (void)json_push(out, json_str(a, arena_str(a, str_of(name))));
        cap_free(name);
    }
    return out;
}

static struct json *env_list(struct arena *a, const struct box_spec *s, const struct oci_process *who)
{
    struct json *out = json_array(a);
    bool has_path = false, has_home = false;

    for (size_t i = 0; i < s->env.n; i++) {
        has_path |= str_starts(s->env.v[i], STR("PATH="));
        has_home |= str_starts(s->env.v[i], STR("HOME="));
        (void)json_push(out, json_str(a, s->env.v[i]));
    }
    if (!has_path) /* the runtime searches the program in this PATH */
        (void)json_push(out, json_str(a, STR("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")));
    if (!has_home)
        (void)json_push(out, json_fmt(a, "HOME=%.*s", STR_ARG(who->home.n ? who->home : STR("/"))));
    return out;
}

static struct json *oci_config_number(struct arena *a, uint64_t v)
{
    struct json *n = json_int(a, 0);
    struct str text = arena_fmt(a, "%llu", (unsigned long long)v);

    n->text = text.p;
    n->n = (uint32_t)text.n;
    return n;
}

static struct json *limit_list(struct arena *a, const struct box_spec *s)
{
    struct json *out = json_array(a);

    for (size_t i = 0; i < s->limits.n; i++) {
        const struct box_limit *l = &s->limits.v[i];
        struct json *one;

        if (l->resource < 0 || l->resource >= (int)ARRAY_LEN(limit_names) || !limit_names[l->resource])
            continue;
        one = json_push(out, json_object(a));
        (void)json_set(one, "type", json_str(a, str_of(limit_names[l->resource])));
        (void)json_set(one, "soft", oci_config_number(a, l->soft));
        (void)json_set(one, "hard", oci_config_number(a, l->hard));
    }
    return out;
}

static struct json *process_part(struct arena *a, const struct box_spec *s, const struct oci_process *who)
{
    struct json *out = json_object(a), *user = json_set(out, "user", json_object(a)), *args, *caps, *groups;

    (void)json_set(user, "uid", json_int(a, who->uid));
    (void)json_set(user, "gid", json_int(a, who->gid));
    (void)json_set(user, "umask", json_int(a, 022));
    groups = json_set(user, "additionalGids", json_array(a));
    for (size_t i = 0; i < who->groups.n; i++)
        (void)json_push(groups, json_int(a, who->groups.v[i]));
    args = json_set(out, "args", json_array(a));
    for (size_t i = 0; i < s->argv.n; i++)
        (void)json_push(args, json_str(a, s->argv.v[i]));
    (void)json_set(out, "env", env_list(a, s, who));
    (void)json_set(out, "cwd", json_str(a, s->cwd.n ? s->cwd : STR("/")));
    caps = json_set(out, "capabilities", json_object(a));
    (void)json_set(caps, "bounding", caps_list(a, who->caps));
    (void)json_set(caps, "permitted", caps_list(a, who->uid ? 0 : who->caps));
    (void)json_set(caps, "effective", caps_list(a, who->uid ? 0 : who->caps));
    (void)json_set(out, "rlimits", limit_list(a, s));
    (void)json_set(out, "noNewPrivileges", json_bool_new(a, s->has_new_privileges_off));
    (void)json_set(out, "oomScoreAdj", json_int(a, who->oom_score_adj));
    return out;
}

/* ---- seccomp: as box_seccomp.c ---- */

static struct json *seccomp_rule(struct arena *a, struct json *list, const char *action, int no)
{
    struct json *one = json_push(list, json_object(a));

    (void)json_set(one, "names", json_array(a));
    (void)json_set(one, "action", json_str(a, str_of(action)));
    if (no >= 0)
        (void)json_set(one, "errnoRet", json_int(a, no));
    return one;
}

static void seccomp_name_call(struct arena *a, struct json *one, struct str name)
{
    (void)json_push(json_get(one, "names"), json_str(a, name));
}

struct call_rules {
    struct arena *a;
    struct json *list, *allowed, *denied, *pretended;
    bool has_fixed_groups;
};

/* Allow a call whose first argument, masked, has this value. */
static void allow_value(struct call_rules *r, struct str name, uint32_t mask, uint32_t value)
{
    struct json *one = seccomp_rule(r->a, r->list, "SCMP_ACT_ALLOW", -1), *arg;

    seccomp_name_call(r->a, one, name);
    arg = json_push(json_set(one, "args", json_array(r->a)), json_object(r->a));
    (void)json_set(arg, "index", json_int(r->a, 0));
    (void)json_set(arg, "value", oci_config_number(r->a, mask));
    (void)json_set(arg, "valueTwo", oci_config_number(r->a, value));
    (void)json_set(arg, "op", json_str(r->a, STR("SCMP_CMP_MASKED_EQ")));
}

static bool oci_config_is_listed(const uint32_t *values, size_t n, uint32_t value)
{
    for (size_t i = 0; i < n; i++)
        if (values[i] == value)
            return true;
    return false;
}

/* The specification compares one value at a time and can only allow: so all other socket families are listed, and
 * ioctl() is not restricted. */
static void rule_call(void *ctx, struct str name, enum box_call_rule how)
{
    enum { SOCKETCALL_LAST = 20 };
    static const uint32_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                       CLONE_NEWPID | CLONE_NEWNET;
    struct call_rules *r = ctx;

    if (r->has_fixed_groups && str_starts(name, STR("setgroups")))
        seccomp_name_call(r->a, r->pretended, name);
    else if (how == BOX_CALL_DENIED)
        seccomp_name_call(r->a, r->denied, name);
    else if (how == BOX_CALL_ALLOWED || how == BOX_CALL_IOCTL)
        seccomp_name_call(r->a, r->allowed, name);
    else if (how == BOX_CALL_CLONE)
        allow_value(r, name, namespaces, 0);
    for (size_t i = 0; how == BOX_CALL_PERSONALITY && i < BOX_CALL_PERSONALITIES; i++)
        allow_value(r, name, UINT32_MAX, box_call_personalities[i]);
    for (uint32_t family = 0; how == BOX_CALL_SOCKET && family < AF_MAX; family++)
        if (!oci_config_is_listed(box_call_families, BOX_CALL_FAMILIES, family))
            allow_value(r, name, UINT32_MAX, family);
    for (uint32_t call = 2; how == BOX_CALL_SOCKETCALL && call <= SOCKETCALL_LAST; call++)
        allow_value(r, name, UINT32_MAX, call);
}

static struct json *seccomp_part(struct arena *a, uint64_t caps, bool has_fixed_groups)
{
    struct json *out = json_object(a);
    struct call_rules r = { .a = a, .has_fixed_groups = has_fixed_groups };

    (void)json_set(out, "defaultAction", json_str(a, STR("SCMP_ACT_ERRNO")));
    (void)json_set(out, "defaultErrnoRet", json_int(a, ENOSYS));
#if defined(__x86_64__)
    (void)json_set(out, "architectures",
                   oci_config_texts(a, (const char *const[]){ "SCMP_ARCH_X86_64", "SCMP_ARCH_X86" }, 2));
#elif defined(__aarch64__)
    (void)json_set(out, "architectures",
                   oci_config_texts(a, (const char *const[]){ "SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM" }, 2));
#endif
    r.list = json_set(out, "syscalls", json_array(a));
    r.allowed = seccomp_rule(a, r.list, "SCMP_ACT_ALLOW", -1);
    r.denied = seccomp_rule(a, r.list, "SCMP_ACT_ERRNO", EPERM);
    if (has_fixed_groups)
        r.pretended = seccomp_rule(a, r.list, "SCMP_ACT_ERRNO", 0);
    box_calls_each(caps, rule_call, &r);
    return out;
}

/* ---- the rest ---- */

struct oci_mount {
    const char *where, *type, *source;
    const char *options[3];
    size_t n;
};

static void oci_config_add_mount(struct arena *a, struct json *list, const struct oci_mount *mount)
{
    struct json *m = json_push(list, json_object(a));

    (void)json_set(m, "destination", json_str(a, str_of(mount->where)));
    (void)json_set(m, "type", json_str(a, str_of(mount->type)));
    (void)json_set(m, "source", json_str(a, str_of(mount->source)));
    (void)json_set(m, "options", oci_config_texts(a, mount->options, mount->n));
}

static struct json *mounts_part(struct arena *a, const struct box_spec *s, const struct oci_place *p)
{
    static const struct oci_mount proc = { "/proc", "proc", "proc", { "nosuid", "noexec", "nodev" }, 3 };
    struct oci_mount dev = { "/dev", "bind", arena_fmt(a, "%s/dev", p->bundle).p, { "rbind" }, 1 };
    struct json *out = json_array(a);

    if (!s->has_host_pids)
        oci_config_add_mount(a, out, &proc);
    oci_config_add_mount(a, out, &dev);
    return out;
}

static struct json *linux_part(struct arena *a, const struct box_spec *s, const struct oci_place *p,
                               const struct oci_process *who)
{
    struct json *out = json_object(a), *spaces = json_set(out, "namespaces", json_array(a)), *devices, *pids;

    /* Namespaces that are not listed stay the caller's: the pod's. */
    (void)json_set(json_push(spaces, json_object(a)), "type", json_str(a, STR("mount")));
    (void)json_set(json_push(spaces, json_object(a)), "type", json_str(a, STR("cgroup")));
    if (who->pids) {
        pids = json_push(spaces, json_object(a));
        (void)json_set(pids, "type", json_str(a, STR("pid")));
        (void)json_set(pids, "path", json_str(a, str_of(who->pids)));
    }
    devices = json_set(json_set(out, "resources", json_object(a)), "devices", json_array(a));
    devices = json_push(devices, json_object(a));
    (void)json_set(devices, "allow", json_bool_new(a, true));
    (void)json_set(devices, "access", json_str(a, STR("rwm")));
    if (p->group)
        (void)json_set(out, "cgroupsPath", json_str(a, str_of(p->group)));
    if (!s->is_privileged && !s->has_host_pids) { /* else our own /proc has the masks already */
        (void)json_set(out, "maskedPaths", oci_config_texts(a, masked, ARRAY_LEN(masked)));
        (void)json_set(out, "readonlyPaths", oci_config_texts(a, read_only, ARRAY_LEN(read_only)));
    }
    if (!s->is_privileged && !s->has_no_seccomp)
        (void)json_set(out, "seccomp", seccomp_part(a, who->caps, who->has_fixed_groups));
    return out;
}

void oci_config(struct buf *out, const struct box_spec *s, const struct oci_place *p, const struct oci_process *who,
                const char *rootfs)
{
    autoarena a = { 0 };
    struct json *config = json_object(&a), *root;

    (void)json_set(config, "ociVersion", json_str(&a, STR("1.0.2")));
    (void)json_set(config, "process", process_part(&a, s, who));
    root = json_set(config, "root", json_object(&a));
    (void)json_set(root, "path", json_str(&a, str_of(rootfs)));
    (void)json_set(root, "readonly",
                   json_bool_new(&a, s->is_root_read_only)); /* already read-only, but crun remounts it */
    (void)json_set(config, "mounts", mounts_part(&a, s, p));
    (void)json_set(config, "linux", linux_part(&a, s, p, who));
    json_print(out, config);
}
