/* spawner_exec.c - a process becomes the spawner: it executes a program that no pod can change
 *
 * Until it executes what the pod asks for, /proc/self/exe of a process that makes a container is the spawner's program. A
 * pod may ask for just that: as its command, as the interpreter of a script, as a probe or a hook. So what that link
 * leads to is in a pod's hands, and must be nothing that anybody executes later: one chmod() in a pod would change it.
 *
 * It is a file in memory, alone in a file system that is read-only and attached nowhere, and goes with the last process
 * that runs it. Where it cannot be written (ulimit -f) or executed (a policy of the machine), the program itself does as
 * well, though it is larger: by a mount of its file that is read-only and attached nowhere.
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

extern const char spawner_image[]; /* this and the next: spawner_image.S */
extern const uint64_t spawner_image_size;

/* ---- in memory ---- */

static int write_image(int dir)
{
    struct str image = { spawner_image, spawner_image_size };
    sighandler_t old = signal(SIGXFSZ, SIG_IGN); /* an error is enough */
    int rc = file_write(dir, spawner_program_name, O_EXCL, 0555, image);

    (void)signal(SIGXFSZ, old);
    return rc;
}

/* In few large pieces, if there can be any: each is mapped and unmapped at once, for every shim and every container. */
static int make_memory(int fs)
{
    (void)fsconfig(fs, FSCONFIG_SET_STRING, "huge", "always", 0);
    return fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
}

/* All of it, not a mount of it. */
static int make_read_only(int fs)
{
    if (fsconfig(fs, FSCONFIG_SET_FLAG, "ro", NULL, 0) < 0)
        return -1;
    return fsconfig(fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0);
}

static int open_image(void)
{
    autoclose int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
    autoclose int dir = -1;

    if (fs < 0 || make_memory(fs) < 0)
        return -1;
    dir = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (dir < 0 || write_image(dir) < 0 || make_read_only(fs) < 0)
        return -1;
    return openat(dir, spawner_program_name, O_PATH | O_CLOEXEC);
}

/* ---- by a mount ---- */

/* By its path: the link leads to the mount namespace that we were executed in. */
static int open_own(int exe)
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
    int fd = open_image(), no = errno;

    if (fd < 0)
        fd = open_own(exe);
    if (fd >= 0)
        return fd;
    return err_set(e, ERR_FORBIDDEN,
                   "cannot protect the spawner's program from pods: no copy in memory (%s), no read-only mount (%s)",
                   strerror(no), strerror(errno));
}

/* The last argument is room for the names that shims and containers show to people who look at processes. Process 1 of a
 * container is a fork of it, and shows its variables to one that may trace: so it has none. */
_Noreturn void spawner_execute(int program, int exe, int sock)
{
    static char room[97] = { [0 ... 95] = ' ' };
    char *const argv[] = { (char *)spawner_program_name, room, NULL }, *const env[] = { NULL };

    if (sock != SPAWNER_FD && dup2(sock, SPAWNER_FD) < 0)
        _exit(1);
    (void)fcntl(SPAWNER_FD, F_SETFD, 0);
    (void)close_range(SPAWNER_FD + 1, ~0U, CLOSE_RANGE_CLOEXEC); /* what it keeps it is sent */
    (void)syscall(SYS_execveat, program, "", argv, env, AT_EMPTY_PATH);
    (void)syscall(SYS_execveat, open_own(exe), "", argv, env, AT_EMPTY_PATH);
    _exit(1);
}
