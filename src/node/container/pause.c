/* pause.c - a process 1 that does nothing */
#include "node/container/pause.h"

#include "node/container/box_internal.h"
#include "os/wire.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { QUIET = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC };

/* Make 'mount' the root of the mount namespace. */
static int pause_pivot(int mount)
{
    if (box_mount_attach_at(mount, AT_FDCWD, "/proc") < 0 || fchdir(mount) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
        return -1;
    return umount2(".", MNT_DETACH);
}

/* Mount over the root of the namespace: no path leads to what it covers. */
static int pause_cover_root(int mount)
{
    if (box_mount_attach_at(mount, AT_FDCWD, "/") < 0 || fchdir(mount) < 0)
        return -1;
    return chroot(".");
}

static int pause_empty_root(int *ret_proc)
{
    static const struct box_option opt[] = { { "size", "4k" }, { 0 } };
    autoclose int empty = -1;

    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return -1;
    *ret_proc = box_mount_new("proc", NULL, QUIET, NULL); /* may be refused in a user namespace */
    empty = box_mount_new("tmpfs", opt, QUIET | MOUNT_ATTR_RDONLY, NULL);
    if (empty < 0)
        return -1;
    if (*ret_proc < 0)
        return pause_pivot(empty);
    return pause_pivot(*ret_proc) < 0 ? -1 : pause_cover_root(empty);
}

static int pause_drop_privileges(void)
{
    struct err e;

    if (box_seccomp_load(box_caps_default(), &e) < 0 || box_caps_bound(0, &e) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return prctl(PR_SET_DUMPABLE, 0) < 0 ? -1 : box_caps_set(0, &e);
}

static _Noreturn void reap_forever(void)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    for (;;) {
        (void)sigwaitinfo(&set, NULL);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
}

_Noreturn void pause_run(int ready)
{
    int proc;

    if (pause_empty_root(&proc) < 0 || pause_drop_privileges() < 0)
        _exit(1);
    (void)(proc < 0 ? (int)send(ready, "", 1, MSG_NOSIGNAL) : wire_send_fd(ready, "", 1, proc, 0));
    (void)close_range(0, ~0U, 0);
    reap_forever();
}
