/* reexec.c - out of our own file, into a copy or a mount that no pod can change */
#include "node/container/reexec.h"

#include "base/buf.h"
#include "base/util.h"
#include "node/container/box_internal.h"
#include "os/dir.h"
#include "os/io.h"
#include "os/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/memfd.h>
#include <linux/sched.h>
#include <linux/stat.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif
#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x0020
#endif

static const char name[] = "pumice", own_path[] = "/proc/self/exe";
enum { SEAL_BYTES = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE, SEAL_MODE = F_SEAL_EXEC | F_SEAL_SEAL };

/* ---- what a process runs from ---- */

enum place { IN_FILE, IN_OPEN_MEMFD, IN_SEALED_MEMFD, IN_MOUNT };

/* A mount of this one file that nobody can write through. */
static bool is_mount(int exe)
{
    struct statvfs fs;
    struct statx st;

    return fstatvfs(exe, &fs) == 0 && fs.f_flag & ST_RDONLY && fs.f_flag & ST_NOSUID &&
           statx(exe, "", AT_EMPTY_PATH, 0, &st) == 0 && st.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

static enum place place_of(int exe)
{
    int seals = fcntl(exe, F_GET_SEALS); /* -1: no memfd. Files of a tmpfs have F_SEAL_SEAL alone */

    if (seals < 0 || (seals & SEAL_BYTES) != SEAL_BYTES)
        return is_mount(exe) ? IN_MOUNT : IN_FILE;
    if ((seals & SEAL_MODE) == SEAL_MODE)
        return IN_SEALED_MEMFD;
    return seals & F_SEAL_SEAL ? IN_FILE : IN_OPEN_MEMFD; /* somebody else's memfd is a file like any other */
}

/* ---- a memfd ---- */

static int copy_all(int from, int to)
{
    ssize_t n;

    do
        n = sendfile(to, from, NULL, 16 << 20);
    while (n > 0 || (n < 0 && errno == EINTR));
    return n < 0 ? -1 : 0;
}

/* It stays open over the execution: without it the modes could not be sealed. */
static int make_memfd(int exe)
{
    int fd = memfd_create(name, MFD_ALLOW_SEALING | MFD_EXEC);
    sighandler_t old;
    int result;

    if (fd < 0)
        return -1;
    old = signal(SIGXFSZ, SIG_IGN); /* ulimit -f: an error is enough */
    result = copy_all(exe, fd) < 0 || fchmod(fd, 0555) < 0 || fcntl(fd, F_ADD_SEALS, SEAL_BYTES) < 0 ? -1 : 0;
    (void)signal(SIGXFSZ, old);
    if (result == 0)
        return fd;
    close(fd);
    return -1;
}

/* The descriptor of the memfd we were executed from; -1: there is none. */
static int find_memfd(int exe)
{
    autodir *dir = opendir("/proc/self/fd");
    struct stat own, st;
    int64_t fd = -1;
    int found = -1;

    if (fstat(exe, &own) < 0)
        own = (struct stat){ 0 };
    for (struct dirent *d; found < 0 && (d = dir_next(dir));)
        if (str_to_i64(str_of(d->d_name), &fd) == 0 && fd != exe && fstat((int)fd, &st) == 0 &&
            st.st_ino == own.st_ino && st.st_dev == own.st_dev)
            found = (int)fd;
    return found;
}

/* Now that we run nobody needs to execute it any more. From here on nobody can. */
static int seal_modes(int exe, struct err *e)
{
    autoclose int fd = find_memfd(exe);

    if (fd < 0)
        return err_set(e, ERR_IO, "the copy in memory this program runs from was not left open to it");
    if (fchmod(fd, 0444) < 0 || fcntl(fd, F_ADD_SEALS, SEAL_MODE) < 0)
        return err_errno(e, "seal the copy in memory this program runs from");
    return 0;
}

/* ---- a mount ---- */

/* By its path: /proc/self/exe leads to the mount namespace we were executed in, which may not be that of the caller. */
static int make_mount(int exe)
{
    char path[PATH_MAX];
    ssize_t n = readlink(own_path, path, sizeof(path) - 1);
    struct stat own, st;
    int mount;

    if (n < 0)
        return -1;
    path[n] = '\0';
    autoclose int file = open(path, O_PATH | O_CLOEXEC);
    if (file < 0 || fstat(file, &st) < 0 || fstat(exe, &own) < 0)
        return -1;
    if (st.st_ino != own.st_ino || st.st_dev != own.st_dev) {
        errno = ESTALE;
        return -1;
    }
    mount = box_mount_clone(file, "", false);
    if (mount < 0 || box_mount_set(mount, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, false) == 0)
        return mount;
    close(mount);
    return -1;
}

/* An ordinary user may make mounts in a user namespace only, and this process is not to enter one yet. A child does,
 * which has its descriptors in common with us and puts the mount in a place of ours. */
static int make_mount_apart(int exe)
{
    struct clone_args args = { .flags = CLONE_FILES, .exit_signal = SIGCHLD };
    int slot = fcntl(exe, F_DUPFD_CLOEXEC, 3), status;
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

    if (pid == 0) {
        int mount = unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ? -1 : make_mount(exe);

        _exit(mount < 0 ? errno : dup3(mount, slot, O_CLOEXEC) < 0 || close(mount) < 0);
    }
    status = proc_wait(pid);
    if (pid > 0 && status == 0)
        return slot;
    errno = pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
    if (slot >= 0)
        close(slot);
    return -1;
}

/* ---- once more ---- */

static int read_arguments(struct buf *out, struct err *e)
{
    int rc = file_read(AT_FDCWD, "/proc/self/cmdline", 0, SIZE_MAX, out); /* the kernel has a bound for it */

    return rc < 0 || !out->n || out->p[out->n - 1] ? err_errno(e, "read /proc/self/cmdline") : 0;
}

static int execute(int fd, struct err *e)
{
    autobuf text = { 0 };
    autofree char **argv = NULL;
    size_t n = 0;

    if (read_arguments(&text, e) < 0)
        return -1;
    argv = xcalloc(text.n + 1, sizeof(*argv));
    for (size_t at = 0; at < text.n; at += strlen(text.p + at) + 1)
        argv[n++] = text.p + at;
    (void)setenv("LD_BIND_NOW", "1", true); /* a fork would look functions up again, and see spawner_libs.c */
    (void)syscall(SYS_execveat, fd, "", argv, environ, AT_EMPTY_PATH);
    return err_errno(e, "execute this program again");
}

/* The file is looked at here as it is after the execution, so that this can not go round and round. */
static int leave_file(int exe, struct err *e)
{
    autoclose int copy = make_memfd(exe);
    int no = errno;

    if (copy >= 0 && place_of(copy) == IN_OPEN_MEMFD && execute(copy, e) < 0)
        no = errno;
    autoclose int mount = make_mount(exe);
    if (mount < 0 && errno == EPERM)
        mount = make_mount_apart(exe);
    if (mount >= 0 && place_of(mount) == IN_MOUNT)
        return execute(mount, e);
    return err_set(e, ERR_FORBIDDEN,
                   "pods could change this program, because it can run neither from a copy in memory (%s; see sysctl "
                   "vm.memfd_noexec) nor from a read-only mount (%s; are user namespaces allowed?)",
                   strerror(no), strerror(errno));
}

int reexec_sealed(struct err *e)
{
    autoclose int exe = open(own_path, O_RDONLY | O_CLOEXEC);

    if (exe < 0 && errno == EACCES) /* one may execute it and not read it: a mount is possible */
        exe = open(own_path, O_PATH | O_CLOEXEC);
    if (exe < 0)
        return err_errno(e, "open %s (is /proc mounted?)", own_path);
    if (place_of(exe) == IN_FILE)
        return leave_file(exe, e);
    (void)prctl(PR_SET_NAME, name); /* the kernel took it from the descriptor */
    return place_of(exe) == IN_OPEN_MEMFD ? seal_modes(exe, e) : 0;
}
