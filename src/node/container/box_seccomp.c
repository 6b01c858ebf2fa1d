/* box_seccomp.c - system calls a container may not use
 *
 * Those that act on the whole machine, build namespaces and mounts, or were often the way through a kernel bug. A
 * capability the container was given lifts the ban of the calls that need it anyway. What is denied answers EPERM;
 * clone3() answers ENOSYS, since its flags lie in memory a filter cannot read, and libc then uses clone(), whose flags
 * can be looked at.
 *
 * Making a filter takes a third of a millisecond, so it is kept: see box_prepare().
 */
#include "node/container/box_internal.h"

#include "os/proc.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum {
    NEVER = -1,
    NEW_NAMESPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                     CLONE_NEWNET
};

static const struct {
    const char *name;
    int cap; /* lifts the ban */
} denied[] = {
    { "mount", CAP_SYS_ADMIN },
    { "umount", CAP_SYS_ADMIN },
    { "umount2", CAP_SYS_ADMIN },
    { "pivot_root", CAP_SYS_ADMIN },
    { "fsopen", CAP_SYS_ADMIN },
    { "fsconfig", CAP_SYS_ADMIN },
    { "fsmount", CAP_SYS_ADMIN },
    { "fspick", CAP_SYS_ADMIN },
    { "move_mount", CAP_SYS_ADMIN },
    { "open_tree", CAP_SYS_ADMIN },
    { "mount_setattr", CAP_SYS_ADMIN },
    { "unshare", CAP_SYS_ADMIN },
    { "setns", CAP_SYS_ADMIN },
    { "swapon", CAP_SYS_ADMIN },
    { "swapoff", CAP_SYS_ADMIN },
    { "quotactl", CAP_SYS_ADMIN },
    { "quotactl_fd", CAP_SYS_ADMIN },
    { "lookup_dcookie", CAP_SYS_ADMIN },
    { "fanotify_init", CAP_SYS_ADMIN },
    { "bpf", CAP_BPF },
    { "perf_event_open", CAP_PERFMON },
    { "open_by_handle_at", CAP_DAC_READ_SEARCH },
    { "init_module", CAP_SYS_MODULE },
    { "finit_module", CAP_SYS_MODULE },
    { "delete_module", CAP_SYS_MODULE },
    { "create_module", CAP_SYS_MODULE },
    { "query_module", CAP_SYS_MODULE },
    { "get_kernel_syms", CAP_SYS_MODULE },
    { "kexec_load", CAP_SYS_BOOT },
    { "kexec_file_load", CAP_SYS_BOOT },
    { "reboot", CAP_SYS_BOOT },
    { "settimeofday", CAP_SYS_TIME },
    { "stime", CAP_SYS_TIME },
    { "clock_settime", CAP_SYS_TIME },
    { "clock_settime64", CAP_SYS_TIME },
    { "acct", CAP_SYS_PACCT },
    { "iopl", CAP_SYS_RAWIO },
    { "ioperm", CAP_SYS_RAWIO },
    { "syslog", CAP_SYSLOG },
    { "vhangup", CAP_SYS_TTY_CONFIG },
    { "kcmp", CAP_SYS_PTRACE },
    { "add_key", NEVER }, /* keys have no namespace */
    { "request_key", NEVER },
    { "keyctl", NEVER },
    { "userfaultfd", NEVER },
    { "io_uring_setup", NEVER }, /* its operations pass by this filter */
    { "io_uring_enter", NEVER },
    { "io_uring_register", NEVER },
    { "nfsservctl", NEVER },
    { "uselib", NEVER },
    { "_sysctl", NEVER },
    { "vm86", NEVER },
    { "vm86old", NEVER },
};

static bool is_lifted(uint64_t caps, int cap)
{
    return cap != NEVER && caps & UINT64_C(1) << cap;
}

const char *box_seccomp_denied(size_t i, uint64_t caps)
{
    if (i >= ARRAY_LEN(denied))
        return NULL;
    return is_lifted(caps, denied[i].cap) ? "" : denied[i].name;
}

/* ---- making ---- */

/* A call that this architecture or library does not know needs no rule. */
static int deny(scmp_filter_ctx ctx, const char *name)
{
    int nr = seccomp_syscall_resolve_name(name);

    return nr == __NR_SCMP_ERROR ? 0 : seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), nr, 0);
}

/* Each flag alone: a filter compares under a mask. vsock sockets know nothing of network namespaces; of the register that
 * says so the kernel takes the lower half, whatever is in the other. */
static int deny_arguments(scmp_filter_ctx ctx, uint64_t caps)
{
    int result = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, AF_VSOCK));

    if (is_lifted(caps, CAP_SYS_ADMIN))
        return result;
    for (uint64_t flag = 1; flag && flag <= NEW_NAMESPACES && result == 0; flag <<= 1)
        if (flag & NEW_NAMESPACES)
            result = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                      SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
    return result ? result : seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

/* Where groups cannot be changed at all, programs that give up rights they do not have (sshd, before each login) go
 * on when they are told that it worked: the groups they keep are the user's own, and outside of them nothing is
 * gained. */
static int pretend_groups(scmp_filter_ctx ctx)
{
    static const char *const names[] = { "setgroups", "setgroups32" };
    int result = 0;

    for (size_t i = 0; i < ARRAY_LEN(names) && result == 0 && box_groups_are_fixed(); i++) {
        int nr = seccomp_syscall_resolve_name(names[i]);

        result = nr == __NR_SCMP_ERROR ? 0 : seccomp_rule_add(ctx, SCMP_ACT_ERRNO(0), nr, 0);
    }
    return result;
}

static int add_rules(scmp_filter_ctx ctx, uint64_t caps)
{
    int result = 0;

#ifdef __x86_64__
    result = seccomp_arch_add(ctx, SCMP_ARCH_X86); /* else 32-bit programs are killed */
#endif
    /* What the library has no rules for (x32) does not run rather than runs unfiltered. */
    if (result == 0)
        result = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
    /* A tree instead of a chain: the kernel tries all calls when it loads a filter, to remember which are always
     * allowed. */
    if (result == 0)
        result = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    for (size_t i = 0; i < ARRAY_LEN(denied) && result == 0; i++)
        if (!is_lifted(caps, denied[i].cap))
            result = deny(ctx, denied[i].name);
    if (result == 0)
        result = pretend_groups(ctx);
    return result ? result : deny_arguments(ctx, caps);
}

struct filter {
    struct sock_filter *code;
    unsigned short n;
};

/* The library writes programs to files only. Returns 0 or -errno, as it does. */
static int write_code(uint64_t caps, int fd)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
    int result = ctx ? add_rules(ctx, caps) : -ENOMEM;

    if (result == 0)
        result = seccomp_export_bpf(ctx, fd);
    if (ctx)
        seccomp_release(ctx);
    return result;
}

/* In a child: the library takes and gives back a thousand pieces of memory, and all that is allocated later would lie in
 * the holes, here and there; each page of it is copied for every shim and every container. */
static int write_code_apart(uint64_t caps, int fd)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit(write_code(caps, fd) == 0 ? 0 : 1);
    status = proc_wait(pid);
    return pid > 0 && status == 0 ? 0 : -EIO;
}

static int read_code(int fd, struct filter *ret)
{
    struct stat st;
    void *code;

    if (fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size % (off_t)sizeof(struct sock_filter) ||
        st.st_size / (off_t)sizeof(struct sock_filter) > BPF_MAXINSNS)
        return -EIO;
    code = xmalloc((size_t)st.st_size);
    if (pread(fd, code, (size_t)st.st_size, 0) != st.st_size) {
        free(code);
        return -EIO;
    }
    ret->code = code;
    ret->n = (unsigned short)((size_t)st.st_size / sizeof(struct sock_filter));
    return 0;
}

static int make_filter(uint64_t caps, int (*write)(uint64_t caps, int fd), struct filter *ret, struct err *e)
{
    autoclose int fd = memfd_create("filter", MFD_CLOEXEC);
    int result = fd < 0 ? -errno : write(caps, fd);

    if (result == 0)
        result = read_code(fd, ret);
    return result ? err_set(e, ERR_INTERNAL, "make the filter of system calls: %s", strerror(-result)) : 0;
}

/* ---- keeping ---- */

/* Capabilities that change the filter, of those a container has. */
static uint64_t relevant(uint64_t caps)
{
    uint64_t mask = 0;

    for (size_t i = 0; i < ARRAY_LEN(denied); i++)
        if (denied[i].cap != NEVER)
            mask |= UINT64_C(1) << denied[i].cap;
    return caps & mask;
}

static struct filter usual; /* of a container that was given nothing special; made once, inherited by forks */

void box_seccomp_prepare(void)
{
    if (!usual.code)
        (void)make_filter(0, write_code_apart, &usual, NULL); /* else box_run() tries again, and says why it fails */
}

int box_seccomp_load(uint64_t caps, struct err *e)
{
    struct filter own = { 0 };
    const struct filter *f = &usual;
    struct sock_fprog program;

    caps = relevant(caps);
    if (!usual.code || caps) {
        if (make_filter(caps, write_code, &own, e) < 0)
            return -1;
        f = &own;
    }
    program = (struct sock_fprog){ f->n, f->code };
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
        (void)err_errno(e, "load the filter of system calls");
    else
        e = NULL;
    free(own.code);
    return e ? -1 : 0;
}
