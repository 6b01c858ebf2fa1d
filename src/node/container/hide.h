/* hide.h - what of the host's files pods do not see
 *
 * A pod without an image sees the host's files as root, so what is closed to ordinary users of the machine would be
 * open to it: keys, passwords, the data of other engines; and for an ordinary user, his own keys. In the tree that lies
 * over the host's files (host_layer.h) a whiteout, by which overlayfs knows a deleted file, takes each of them away. So
 * a program can make a ~/.ssh of its own.
 *
 * Hidden are
 *   - below /etc and /var: what others may not read. A directory that others may not enter is hidden whole, so only the
 *     rest is looked into; and of that not what packages bring and all may read (hide_shown_list());
 *   - in every home directory: the known places of credentials (hide_home_list()); and what only its owner may read,
 *     unless it is a program (executable, or by its name, or in a virtual environment): right there and three levels
 *     below, of the first thousands of files. A whole home may have millions, and a run takes milliseconds;
 *   - the paths of hide_machine_list(), whatever their modes;
 * and what such paths lead to where they are links. /etc/shadow has its users, and no passwords. (The host keys of sshd
 * are host_layer.h's: others are in their place.) A hostPath volume shows what it names, hidden or not: somebody asked
 * for it. It is as the run finds it when the first container starts: a file that comes later, or is closed later,
 * shows.
 */
#ifndef NODE_HIDE_H
#define NODE_HIDE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>

struct hidden {
    struct str *v;
    size_t n, cap; /* as VEC(struct str) */
};

/* Hide them in 'over', an open directory, and the paths 'own' (absolute; also those that are not there yet). '*ret'
 * has all of them: as on the host, without links on the way. What we may not see ourselves, pods cannot see either,
 * and it is left out. */
int hide_secrets(struct arena *a, int over, const struct str *own, size_t n, struct hidden *ret, struct err *e);

/* ---- hide_walk.c ---- */

enum hide_place {
    PLACE_PLAIN,
    PLACE_SETTLED,    /* hidden already, or a home, which has rules of its own */
    PLACE_ABOVE_HOME, /* on the way to one: stays, closed or not */
};

struct hide_walk {
    void *ctx;
    bool is_inner; /* root of a user namespace: what we may not read is no secret of ours */
    enum hide_place (*place)(void *ctx, struct str path); /* of a directory */
    int (*hide)(void *ctx, struct str path);              /* -1: stop */
};

/* Hide what is found below 'top', an absolute path without links. -1: as 'hide' said. */
int hide_walk_machine(const struct hide_walk *how, const char *top);
int hide_walk_home(const struct hide_walk *how, const char *top);

/* ---- hide_table.c ---- */

/* Below /etc and /var, closed to others or not; "…*": all that begin so; NULL-terminated. */
const char *const *hide_shown_list(void);

const char *const *hide_machine_list(void);         /* paths; NULL-terminated */
const char *const *hide_home_list(void);            /* below a home directory */
void hide_shadow(struct buf *out, struct str text); /* of /etc/shadow, or /etc/passwd where that cannot be read */

#endif
