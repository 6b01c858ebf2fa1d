/* project_internal.h - the kernel's part of project.h; tests put another in its place */
#ifndef OS_PROJECT_INTERNAL_H
#define OS_PROJECT_INTERNAL_H

#include <linux/fs.h>
#include <linux/quota.h>

/* As ioctl(2) and quotactl_fd(2): 0, or -1 and errno. */
int project_get_attributes(int fd, struct fsxattr *ret);
int project_set_attributes(int fd, const struct fsxattr *attributes);
int project_get_quota(int fd, uint32_t id, struct if_dqblk *ret);

#define PROJECT_FILES                                                                                                  \
    {                                                                                                                  \
        "/etc/projects", "/etc/projid"                                                                                 \
    } /* "ID:directory" and "name:ID", one in a line */
struct str project_file(struct arena *a, const char *path);

#endif
