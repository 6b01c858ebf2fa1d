/* project_kernel.c - what project.c asks of the kernel and of /etc */
#include "base/arena.h"
#include "os/io.h"
#include "os/project_internal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILE_BYTES = 1 << 20 };

int project_get_attributes(int fd, struct fsxattr *ret)
{
    return ioctl(fd, FS_IOC_FSGETXATTR, ret);
}

int project_set_attributes(int fd, const struct fsxattr *attributes)
{
    return ioctl(fd, FS_IOC_FSSETXATTR, attributes);
}

/* By descriptor: no search for the block device below a directory. Linux 5.14; before it: ENOSYS. */
int project_get_quota(int fd, uint32_t id, struct if_dqblk *ret)
{
    return (int)syscall(SYS_quotactl_fd, fd, QCMD((unsigned)Q_GETQUOTA, PRJQUOTA), id, ret);
}

struct str project_file(struct arena *a, const char *path)
{
    return file_text(a, AT_FDCWD, path, FILE_BYTES);
}
