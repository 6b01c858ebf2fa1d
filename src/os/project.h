/* project.h - what a tree takes on the disk, counted by the file system: project quotas
 *
 * ext4 (feature "project", mounted with prjquota) and XFS (mounted with pquota) keep a count for each project id. A
 * directory with an id hands it to all that is made below, so one question replaces a walk through the tree, and what was
 * deleted but is still open counts too. Usage is counted, not limited: the caller decides how much is too much.
 *
 * An id is chosen at random among those that /etc/projects and /etc/projid do not name and that have no usage and no
 * limit. Two programs that choose the same one at once see it by the count, and both choose again. Ids are not returned:
 * an id is free when the last file that has it is deleted.
 *
 * Root's own processes may give their files another id, which then are not counted: look through the tree now and then.
 */
#ifndef OS_PROJECT_H
#define OS_PROJECT_H

#include <stdbool.h>
#include <stdint.h>

/* Count what is made below the directory 'fd', which is empty; one that is counted already stays so. False: this file
 * system does not count, or not for us (that takes CAP_SYS_ADMIN), or the directory is in a project of another program. */
bool project_begin(int fd);

/* What is counted; -1: nothing is, as project_begin() said, or the directory was given none. */
struct project_use {
    int64_t bytes, files; /* directories are files */
};
int project_use(int fd, struct project_use *ret);

#endif
