/* host_layer.h - what every container of a run sees over the host's files
 *
 * A small tree that lies between the host's files and what a container changes, by the same paths: a second lower layer
 * of its overlays, made once for a run. It has host keys for sshd, of this run: those of the host are secret, and an
 * ordinary user could not even read them. (What else is secret is hidden in the same tree by hide.h.)
 *
 * Of an ordinary user the host's files belong to "nobody" inside, and the kernel lets nobody, not even root of a user
 * namespace, change a file or fill a directory of an owner that the namespace does not have. So for them the tree also
 * has
 *
 *   - the directories that programs write to by custom (/etc/…, /usr/local/bin, /var/lib/…), as root's own;
 *   - the small files right below /etc and /etc/ssh, which setup scripts append to;
 *   - with one user id only, root as the user of sshd: there is nobody else it could become.
 */
#ifndef NODE_HOST_LAYER_H
#define NODE_HOST_LAYER_H

#include "base/err.h"

/* A whiteout of this name in a directory of the tree: it has all that the host has there, and stands for itself. */
#define OVER_WHOLE ".pumice-whole"

/* What overlayfs knows a directory by that hides those of its name further down. */
#define OVER_OPAQUE "trusted.overlay.opaque"

/* Fill 'dir', an empty directory that is ours and that nobody else sees. Some milliseconds. */
int host_layer_make(int dir, struct err *e);

/* An empty /tmp and a /run that nothing of the host's shows through, so that a container needs no directory and mount
 * for them; when all else is there. For root of the machine; that they cannot be had is no error. */
void host_layer_add_own(int dir);

#endif
