/* dir.c - what is in a directory */
#include "os/dir.h"

#include "base/util.h"

#include <errno.h>
#include <fcntl.h>

void dir_done(DIR **d)
{
    if (*d)
        closedir(*d);
}

DIR *dir_take(int take_fd)
{
    DIR *d = take_fd < 0 ? NULL : fdopendir(take_fd);
    int no = errno;

    if (d) /* reading must not write access times; the kernel refuses this for files of other users */
        (void)fcntl(take_fd, F_SETFL, O_NOATIME);
    if (take_fd >= 0 && !d)
        close(take_fd);
    errno = no;
    return d;
}

DIR *dir_open(int parent, const char *path)
{
    return dir_take(openat(parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

struct dirent *dir_next(DIR *d)
{
    struct dirent *entry;

    while (d && (entry = readdir(d)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return entry;
    return NULL;
}
