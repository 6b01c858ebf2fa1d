/* host_layer.h - a layer of files that all containers of a run share, over the host's files
 *
 * A small directory tree between the host's files and the changes of a container: a second lower layer of its
 * overlays, by the same paths, made once per run. It holds host keys for sshd, generated for this run: those of the
 * host are secret, and an ordinary user could not even read them. (hide.h hides other secrets in the same tree.)
 *
 * For an ordinary user, the host's files belong to the overflow user inside the user namespace. The kernel lets no
 * process, not even its root, change a file or fill a directory whose owner the namespace does not map. So for
 * ordinary users the tree also has
 *
 *   - the directories that programs usually write to (/etc/…, /usr/local/bin, /var/lib/…), owned by root;
 *   - the small files directly below /etc and /etc/ssh, which setup scripts append to;
 *   - with only one user id, an "sshd" user with the id of root, since sshd cannot become any other.
 */
#ifndef NODE_HOST_LAYER_H
#define NODE_HOST_LAYER_H

#include "base/err.h"

/* A whiteout of this name in a directory of the tree marks it as complete: it has all that the host has there, and
 * replaces it. */
#define OVER_WHOLE ".pumice-whole"

/* The extended attribute that makes a directory opaque in overlayfs: it hides the lower ones of its name. */
#define OVER_OPAQUE "trusted.overlay.opaque"

/* Fill 'dir', an empty directory that no other process uses. Takes some milliseconds. */
int host_layer_make(int dir, struct err *e);

/* Add an opaque /tmp and /run, so that a container needs no directory and mount of its own for them. Call it last.
 * Only for root of the machine; does nothing for others, and a failure is not an error. */
void host_layer_add_own(int dir);

#endif
