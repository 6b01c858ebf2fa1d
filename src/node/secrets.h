/* secrets.h - what of the host's files pods do not see
 *
 * A pod without an image sees the host's files as root, so what is closed to ordinary users of the machine would be open to it: keys,
 * passwords, the data of other engines; and for an ordinary user, his own keys. In the tree that lies over the host's files (over.h)
 * a whiteout, by which overlayfs knows a deleted file, takes each of them away. So a program can make a ~/.ssh of its own.
 *
 * Hidden are the paths of secrets_table.c, of the machine and of every home directory, and what they lead to where they are links.
 * /etc/shadow has its users, and no passwords. (The host keys of sshd are over.h's: others are in their place.) A hostPath volume
 * shows what it names, hidden or not: somebody asked for it.
 */
#ifndef NODE_SECRETS_H
#define NODE_SECRETS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

struct secrets {
    struct str *v;
    size_t n, cap; /* as VEC(struct str) */
};

/* Hide them in 'over', an open directory, and the paths 'own' (absolute; also those that are not there yet). '*ret' has all of them:
 * as on the host, without links on the way. What we may not see ourselves, pods cannot see either, and it is left out. */
int secrets_hide(struct arena *a, int over, const struct str *own, size_t n, struct secrets *ret, struct err *e);

/* ---- secrets_table.c ---- */

const char *const *secrets_machine(void);              /* paths; NULL-terminated */
const char *const *secrets_home(void);                 /* below a home directory */
void secrets_shadow(struct buf *out, struct str text); /* of /etc/shadow, or /etc/passwd where that cannot be read */

#endif
