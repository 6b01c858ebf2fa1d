/* shim_user_ns.c - the user namespace of a pod with its own range of ids
 *
 * A child is born in the namespace and waits while we write its maps and open the namespace; then it is killed. Where
 * the kernel refuses a user namespace, the pod runs with the ids of its range unmapped.
 */
#include "node/shim/shim_internal.h"

#include "base/util.h"
#include "os/io.h"
#include "os/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static _Noreturn void user_ns_hold(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent)
        (void)pause();
    _exit(0);
}

static int user_ns_map(pid_t pid, uint32_t base)
{
    static const char *const maps[] = { "uid_map", "gid_map" };
    char path[64], line[48];

    (void)snprintf(line, sizeof(line), "0 %u %d", base, BOX_IDS);
    for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
        (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, maps[i]);
        if (control_write(AT_FDCWD, path, str_of(line)) < 0)
            return -1;
    }
    (void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

void pod_make_user_ns(struct shim_pod *p)
{
    struct clone_args args = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
    pid_t self = getpid(), pid;
    int fd = -1;

    if (!p->opt.id_base)
        return;
    pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0)
        user_ns_hold(self);
    if (pid > 0) {
        fd = user_ns_map(pid, p->opt.id_base);
        (void)kill(pid, SIGKILL);
        (void)proc_wait(pid);
    }
    if (fd < 0)
        log_warn("Failed to create the user namespace of a pod; it runs with the ids of its range",
                 LOG_TEXT("pod", p->opt.group), LOG_TEXT("why", strerror(errno)));
    p->user_ns = MAX_OF(fd, 0);
}

void pod_set_ids(const struct shim_pod *p, struct box_spec *s)
{
    s->id_base = p->opt.id_base;
    s->user_ns = p->user_ns;
    s->enters_user_ns = p->user_ns > 0 && p->driver != &shim_driver_oci; /* an OCI runtime sets up its own processes */
}
