/* box_calls.c - which system calls a container may use
 *
 * A call that is not listed here does not exist for a container (ENOSYS), so a call of a later kernel is refused
 * until it has been reviewed. A listed call that the container lacks the capability for is denied (EPERM).
 * docs/design/system-calls.md explains where this differs from other runtimes; a test compares the two.
 */
#include "node/container/box_internal.h"

#include <linux/personality.h>
#include <seccomp.h>
#include <sys/capability.h>
#include <sys/socket.h>

#define CAP(name)   (UINT64_C(1) << CAP_##name)
#define CALL_ALWAYS UINT64_MAX
#define CALL_NEVER  0

static const struct {
    uint64_t caps; /* any one of these allows the calls */
    const char *names;
} call_groups[] = {
    { CALL_ALWAYS,
      "accept accept4 access adjtimex alarm arch_prctl arm_fadvise64_64 arm_sync_file_range bind breakpoint brk "
      "cacheflush cachestat capget capset chdir chmod chown chown32 clock_adjtime clock_adjtime64 clock_getres "
      "clock_getres_time64 clock_gettime clock_gettime64 clock_nanosleep clock_nanosleep_time64 close "
      "close_range connect copy_file_range creat dup dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_pwait "
      "epoll_pwait2 epoll_wait eventfd eventfd2 execve execveat exit exit_group faccessat faccessat2 fadvise64 "
      "fadvise64_64 fallocate fanotify_mark fchdir fchmod fchmodat fchmodat2 fchown fchown32 fchownat fcntl "
      "fcntl64 fdatasync fgetxattr flistxattr flock fork fremovexattr fsetxattr fstat fstat64 fstatat64 fstatfs "
      "fstatfs64 fsync ftruncate ftruncate64 futex futex_requeue futex_time64 futex_wait futex_waitv futex_wake "
      "futimesat get_mempolicy get_robust_list get_thread_area getcpu getcwd getdents getdents64 getegid "
      "getegid32 geteuid geteuid32 getgid getgid32 getgroups getgroups32 getitimer getpeername getpgid getpgrp "
      "getpid getppid getpriority getrandom getresgid getresgid32 getresuid getresuid32 getrlimit getrusage "
      "getsid getsockname getsockopt gettid gettimeofday getuid getuid32 getxattr getxattrat inotify_add_watch "
      "inotify_init inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents io_pgetevents "
      "io_pgetevents_time64 io_setup io_submit ioprio_get ioprio_set ipc kill landlock_add_rule "
      "landlock_create_ruleset landlock_restrict_self lchown lchown32 lgetxattr link linkat listen listmount "
      "listxattr listxattrat llistxattr _llseek lremovexattr lseek lsetxattr lstat lstat64 madvise "
      "map_shadow_stack mbind membarrier memfd_create memfd_secret mincore mkdir mkdirat mknod mknodat mlock "
      "mlock2 mlockall mmap mmap2 modify_ldt move_pages mprotect mq_getsetattr mq_notify mq_open "
      "mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64 mq_unlink mremap mseal msgctl "
      "msgget msgrcv msgsnd msync munlock munlockall munmap name_to_handle_at nanosleep newfstatat _newselect "
      "open openat openat2 pause pidfd_getfd pidfd_open pidfd_send_signal pipe pipe2 pkey_alloc pkey_free "
      "pkey_mprotect poll ppoll ppoll_time64 prctl pread64 preadv preadv2 prlimit64 process_mrelease "
      "process_vm_readv process_vm_writev pselect6 pselect6_time64 ptrace pwrite64 pwritev pwritev2 read "
      "readahead readlink readlinkat readv recv recvfrom recvmmsg recvmmsg_time64 recvmsg remap_file_pages "
      "removexattr removexattrat rename renameat renameat2 restart_syscall rmdir rseq rt_sigaction "
      "rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait "
      "rt_sigtimedwait_time64 rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min sched_getaffinity "
      "sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_rr_get_interval_time64 "
      "sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp select semctl "
      "semget semop semtimedop semtimedop_time64 send sendfile sendfile64 sendmmsg sendmsg sendto set_mempolicy "
      "set_mempolicy_home_node set_robust_list set_thread_area set_tid_address set_tls setfsgid setfsgid32 "
      "setfsuid setfsuid32 setgid setgid32 setgroups setgroups32 setitimer setpgid setpriority setregid "
      "setregid32 setresgid setresgid32 setresuid setresuid32 setreuid setreuid32 setrlimit setsid setsockopt "
      "setuid setuid32 setxattr setxattrat shmat shmctl shmdt shmget shutdown sigaltstack signalfd signalfd4 "
      "sigprocmask sigreturn socketpair splice stat stat64 statfs statfs64 statmount statx symlink symlinkat "
      "sync sync_file_range sync_file_range2 syncfs sysinfo tee tgkill time timer_create timer_delete "
      "timer_getoverrun timer_gettime timer_gettime64 timer_settime timer_settime64 timerfd_create "
      "timerfd_gettime timerfd_gettime64 timerfd_settime timerfd_settime64 times tkill truncate truncate64 "
      "ugetrlimit umask uname unlink unlinkat uprobe uretprobe utime utimensat utimensat_time64 utimes vfork "
      "vmsplice wait4 waitid waitpid write writev" },
    { CAP(BPF) | CAP(SYS_ADMIN), "bpf" },
    { CAP(DAC_READ_SEARCH), "open_by_handle_at" },
    { CAP(PERFMON) | CAP(SYS_ADMIN), "perf_event_open" },
    { CAP(SYSLOG) | CAP(SYS_ADMIN), "syslog" },
    { CAP(SYS_ADMIN), "fanotify_init fsconfig fsmount fsopen fspick lookup_dcookie lsm_get_self_attr lsm_list_modules "
                      "lsm_set_self_attr mount mount_setattr move_mount open_tree open_tree_attr pivot_root quotactl "
                      "quotactl_fd setdomainname sethostname setns swapoff swapon umount umount2 unshare" },
    { CAP(SYS_BOOT), "kexec_file_load kexec_load reboot" },
    { CAP(SYS_CHROOT), "chroot" },
    { CAP(SYS_MODULE), "create_module delete_module finit_module get_kernel_syms init_module query_module" },
    { CAP(SYS_NICE), "migrate_pages" },
    { CAP(SYS_PACCT), "acct" },
    { CAP(SYS_PTRACE), "kcmp process_madvise" },
    { CAP(SYS_RAWIO), "ioperm iopl" },
    { CAP(SYS_TIME), "clock_settime clock_settime64 settimeofday stime" },
    { CAP(SYS_TTY_CONFIG), "vhangup" },
    { CALL_NEVER,
      "add_key io_uring_enter io_uring_register io_uring_setup keyctl nfsservctl request_key _sysctl uselib "
      "userfaultfd vm86 vm86old" },
};

/* Calls that libseccomp does not resolve by name: newer ones, whose numbers are the same on all architectures; and
 * calls of 32-bit programs that it treats as parts of socketcall() and ipc(). */
static const struct {
    const char *name;
    int nr;
    uint32_t arch; /* 0: all */
} numbered_calls[] = {
    { "uretprobe", 335, SCMP_ARCH_X86_64 },
    { "uprobe", 336, SCMP_ARCH_X86_64 },
    { "cachestat", 451, 0 },
    { "fchmodat2", 452, 0 },
    { "map_shadow_stack", 453, 0 },
    { "futex_wake", 454, 0 },
    { "futex_wait", 455, 0 },
    { "futex_requeue", 456, 0 },
    { "statmount", 457, 0 },
    { "listmount", 458, 0 },
    { "lsm_get_self_attr", 459, 0 },
    { "lsm_set_self_attr", 460, 0 },
    { "lsm_list_modules", 461, 0 },
    { "mseal", 462, 0 },
    { "setxattrat", 463, 0 },
    { "getxattrat", 464, 0 },
    { "listxattrat", 465, 0 },
    { "removexattrat", 466, 0 },
    { "open_tree_attr", 467, 0 },
    { "socket", 359, SCMP_ARCH_X86 },
    { "socketpair", 360, SCMP_ARCH_X86 },
    { "bind", 361, SCMP_ARCH_X86 },
    { "connect", 362, SCMP_ARCH_X86 },
    { "listen", 363, SCMP_ARCH_X86 },
    { "accept4", 364, SCMP_ARCH_X86 },
    { "getsockopt", 365, SCMP_ARCH_X86 },
    { "setsockopt", 366, SCMP_ARCH_X86 },
    { "getsockname", 367, SCMP_ARCH_X86 },
    { "getpeername", 368, SCMP_ARCH_X86 },
    { "sendto", 369, SCMP_ARCH_X86 },
    { "sendmsg", 370, SCMP_ARCH_X86 },
    { "recvfrom", 371, SCMP_ARCH_X86 },
    { "recvmsg", 372, SCMP_ARCH_X86 },
    { "shutdown", 373, SCMP_ARCH_X86 },
    { "semget", 393, SCMP_ARCH_X86 },
    { "semctl", 394, SCMP_ARCH_X86 },
    { "shmget", 395, SCMP_ARCH_X86 },
    { "shmctl", 396, SCMP_ARCH_X86 },
    { "shmat", 397, SCMP_ARCH_X86 },
    { "shmdt", 398, SCMP_ARCH_X86 },
    { "msgget", 399, SCMP_ARCH_X86 },
    { "msgsnd", 400, SCMP_ARCH_X86 },
    { "msgrcv", 401, SCMP_ARCH_X86 },
    { "msgctl", 402, SCMP_ARCH_X86 },
};

/* Calls that are allowed or denied by their arguments. */
static const struct {
    const char *name;
    enum box_call_rule rule;
} ruled_calls[] = {
    { "clone", BOX_CALL_CLONE },   { "clone3", BOX_CALL_ABSENT }, { "personality", BOX_CALL_PERSONALITY },
    { "socket", BOX_CALL_SOCKET }, { "ioctl", BOX_CALL_IOCTL },   { "socketcall", BOX_CALL_SOCKETCALL },
};

/* vsock ignores network namespaces. AF_ALG is rarely needed and has been a way into kernel memory more than once. */
const uint32_t box_call_families[BOX_CALL_FAMILIES] = { AF_ALG, AF_VSOCK };
/* Default, 32-bit, each with an old version number, and the query for the current one. */
const uint32_t box_call_personalities[BOX_CALL_PERSONALITIES] = { PER_LINUX, PER_LINUX32, UNAME26,
                                                                  PER_LINUX32 | UNAME26, UINT32_MAX };

void box_calls_each(uint64_t caps, box_call_f *take, void *ctx)
{
    bool may_make_namespaces = caps & CAP(SYS_ADMIN);

    for (size_t i = 0; i < ARRAY_LEN(call_groups); i++) {
        struct str rest = str_of(call_groups[i].names), name;
        bool is_allowed = call_groups[i].caps == CALL_ALWAYS || call_groups[i].caps & caps;

        while (str_split(&rest, ' ', &name))
            take(ctx, name, is_allowed ? BOX_CALL_ALLOWED : BOX_CALL_DENIED);
    }
    for (size_t i = 0; i < ARRAY_LEN(ruled_calls); i++) {
        enum box_call_rule rule = ruled_calls[i].rule;

        if (may_make_namespaces && (rule == BOX_CALL_CLONE || rule == BOX_CALL_ABSENT))
            rule = BOX_CALL_ALLOWED;
        take(ctx, str_of(ruled_calls[i].name), rule);
    }
}

uint64_t box_calls_caps(void)
{
    uint64_t all = 0;

    for (size_t i = 0; i < ARRAY_LEN(call_groups); i++)
        if (call_groups[i].caps != CALL_ALWAYS)
            all |= call_groups[i].caps;
    return all;
}

int box_call_number(struct str name, uint32_t arch)
{
    char text[40];

    for (size_t i = 0; i < ARRAY_LEN(numbered_calls); i++)
        if (str_is(name, numbered_calls[i].name) && (!numbered_calls[i].arch || numbered_calls[i].arch == arch))
            return numbered_calls[i].nr;
    (void)snprintf(text, sizeof(text), "%.*s", STR_ARG(name));
    return MAX_OF(seccomp_syscall_resolve_name_arch(arch, text), -1);
}
