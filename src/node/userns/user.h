/* user.h - an ordinary user becomes root of a user namespace, and the run gets a mount namespace of its own
 *
 * Called first thing, while there is one thread. As root only the mount namespace is made: mounts of the run are seen
 * by nobody else and go with its last process. In a chroot, the chroot becomes the root of that namespace, whoever
 * enters it later. As an ordinary user this process moves into a user namespace where it is root: with the user's
 * subordinate ids (newuidmap, newgidmap; /etc/subuid, /etc/subgid) if they are there, else with its own id alone.
 * Groups the user is in besides the first are kept (as "nogroup" inside): they may be what opens a device.
 */
#ifndef NODE_USER_H
#define NODE_USER_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct user_root {
    bool is_real;    /* root of the host, or of whatever this user namespace sees as one */
    uint32_t n_ids;  /* how many user ids there are inside; 1: only root, programs that change their user (sshd) fail */
    uid_t outer_uid; /* who we are outside */
    char why[300];   /* n_ids is 1: why, and the command that helps ("…; as root run: …"); else empty */
};

/* ERR_FORBIDDEN: not allowed here; the sentence says by what (sysctl, AppArmor, a limit) and the command that allows
 * it. The program should end then. */
int user_enter(struct user_root *ret, struct err *e);

/* Instead: into the namespaces of a run that outlived its program. One thread. The descriptors stay the caller's. */
int user_join(int user_fd, int mnt_fd, struct user_root *ret, struct err *e);

/* As user_enter(), with the user's own id alone, and only that: quick, to see whether it is allowed. */
int user_enter_alone(struct err *e);

/* Did user_enter() make a user namespace? Then geteuid() says 0, and advice must be for an ordinary user all the
 * same. */
bool user_is_ordinary(void);
void user_note_ordinary(void); /* for a program that such a process executes */

/* How many user ids this process can see: UINT32_MAX as root of the machine. */
uint32_t user_ids(void);

#endif
