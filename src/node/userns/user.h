/* user.h - an ordinary user becomes root of a user namespace, and the run gets its own mount namespace
 *
 * Call it first, while there is one thread. As root, only the mount namespace is created: mounts of the run are
 * invisible outside and disappear with its last process. In a chroot, the chroot becomes the root of that namespace
 * for every process that enters it. As an ordinary user, this process moves into a user namespace where it is root:
 * with the user's subordinate ids (newuidmap, newgidmap; /etc/subuid, /etc/subgid) if available, else with only its
 * own id. Supplementary groups are kept (shown as "nogroup" inside), since they may grant access to devices.
 */
#ifndef NODE_USER_H
#define NODE_USER_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct user_root {
    bool is_real;    /* root of the machine, not of a user namespace */
    uint32_t n_ids;  /* number of user ids inside; 1: only root, and programs that change their user (sshd) fail */
    uid_t outer_uid; /* our user id outside */
    char why[300];   /* if n_ids is 1: why, and the command that helps ("…; as root run: …"); else empty */
};

/* ERR_FORBIDDEN: the kernel refuses; the text names the cause (sysctl, AppArmor, a limit) and the command that allows
 * it. The program should exit then. */
int user_enter(struct user_root *ret, struct err *e);

/* Instead of user_enter(): enter the namespaces of a run that outlived its program. Needs one thread. The descriptors
 * stay the caller's. */
int user_join(int user_fd, int mnt_fd, struct user_root *ret, struct err *e);

/* Like user_enter(), but maps only the user's own id: a quick check whether user namespaces are allowed. */
int user_enter_alone(struct err *e);

/* Was this process started by an ordinary user? Also true after user_enter(), when geteuid() is 0: advice must be for
 * that user. */
bool user_is_ordinary(void);
void user_note_ordinary(void); /* for a program that such a process has executed */

/* How many user ids are mapped for this process: UINT32_MAX as root of the machine. */
uint32_t user_ids(void);

#endif
