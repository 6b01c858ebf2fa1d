/* pause.c - a process 1 that does nothing */
#include "node/container/pause.h"

#include "base/util.h"

#include <linux/capability.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void empty_out(void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[2] = { { 0 } };

    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", "/proc", "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k") < 0 ||
        chdir("/proc") < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        _exit(1);
    if (prctl(PR_SET_DUMPABLE, 0) < 0 || syscall(SYS_capset, &head, none) < 0)
        _exit(1);
}

_Noreturn void pause_run(int ready)
{
    sigset_t set;

    empty_out();
    (void)!write(ready, "", 1);
    (void)close_range(0, ~0U, 0);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    for (;;) {
        (void)sigwaitinfo(&set, NULL);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
}
