/* spawner_exec.c - execute the spawner from a program that no pod can change
 *
 * Until a process that makes a container executes the pod's program, its /proc/self/exe is the spawner's program. A
 * pod can execute just that link: as its command, as the interpreter of a script, as a probe or a hook. It could then
 * write to the file, so the file must be one that no other process executes later: a single chmod() in a pod would
 * expose it.
 *
 * It is a file in memory, alone in a read-only file system that is attached nowhere; it is freed with the last
 * process that runs it. Where it cannot be written (ulimit -f) or executed (a security policy), pumice itself serves,
 * although it is larger: through a detached read-only mount of its file.
 */
#include "node/shim/shim_internal.h"

#include "base/util.h"
#include "os/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

extern const char spawner_image[]; /* both from spawner_image.S */
extern const uint64_t spawner_image_size;

/* ---- in memory ---- */

static int write_image(int dir)
{
    struct str image = { spawner_image, spawner_image_size };
    sighandler_t old = signal(SIGXFSZ, SIG_IGN); /* report a write error instead */
    int rc = file_write(dir, spawner_program_name, O_EXCL, 0555, image);

    (void)signal(SIGXFSZ, old);
    return rc;
}

/* In huge pages if possible: every shim and container maps and unmaps the program. */
static int create_huge_tmpfs(int fs)
{
    (void)fsconfig(fs, FSCONFIG_SET_STRING, "huge", "always", 0);
    return fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
}

/* Make the file system itself read-only, not just a mount of it. */
static int make_read_only(int fs)
{
    if (fsconfig(fs, FSCONFIG_SET_FLAG, "ro", NULL, 0) < 0)
        return -1;
    return fsconfig(fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0);
}

static int open_memory_image(void)
{
    autoclose int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
    autoclose int dir = -1;

    if (fs < 0 || create_huge_tmpfs(fs) < 0)
        return -1;
    dir = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (dir < 0 || write_image(dir) < 0 || make_read_only(fs) < 0)
        return -1;
    return openat(dir, spawner_program_name, O_PATH | O_CLOEXEC);
}

/* ---- by a mount ---- */

/* By path: /proc/self/exe leads to the mount namespace in which we were executed. */
static int open_own_mount(int exe)
{
    struct mount_attr fixed = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID };
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    struct stat own, st;
    int mount;

    path[MAX_OF(n, 0)] = '\0';
    mount = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (mount < 0)
        return -1;
    if (mount_setattr(mount, "", AT_EMPTY_PATH, &fixed, sizeof(fixed)) == 0 && fstat(mount, &st) == 0 &&
        fstat(exe, &own) == 0 && st.st_ino == own.st_ino && st.st_dev == own.st_dev)
        return mount;
    close(mount);
    errno = ESTALE;
    return -1;
}

/* ---- either ---- */

int spawner_open_program(int exe, struct err *e)
{
    int fd = open_memory_image(), no = errno;

    if (fd < 0)
        fd = open_own_mount(exe);
    if (fd >= 0)
        return fd;
    return err_set(e, ERR_FORBIDDEN,
                   "cannot protect the spawner's program from pods: no copy in memory (%s), no read-only mount (%s)",
                   strerror(no), strerror(errno));
}

/* The last argument reserves space for the names that shims and containers show in process lists. The environment is
 * empty: process 1 of a container is a fork of the spawner, and a program that may trace it could read the variables.
 */
_Noreturn void spawner_execute(int program, int exe, int sock)
{
    static char room[97] = { [0 ... 95] = ' ' };
    char *const argv[] = { (char *)spawner_program_name, room, NULL }, *const env[] = { NULL };

    if (sock != SPAWNER_FD && dup2(sock, SPAWNER_FD) < 0)
        _exit(1);
    (void)fcntl(SPAWNER_FD, F_SETFD, 0);
    (void)close_range(SPAWNER_FD + 1, ~0U, CLOSE_RANGE_CLOEXEC); /* descriptors it needs are sent to it */
    (void)syscall(SYS_execveat, program, "", argv, env, AT_EMPTY_PATH);
    (void)syscall(SYS_execveat, open_own_mount(exe), "", argv, env, AT_EMPTY_PATH);
    _exit(1);
}
