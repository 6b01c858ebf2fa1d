/* hide.h - what of the host's files pods do not see
 *
 * A pod without an image has the host's files. It is to see what every user of the machine may see, and the software in
 * the home of who started it; no more, though it is root. Two things see to that.
 *
 * The veil (box_veil.c), for root of the machine: the kernel refuses what others may not read, in all places, also what
 * comes later. Programs get "Permission denied", as others do.
 *
 * Whiteouts in the tree that lies over the host's files (host_layer.h), by which overlayfs knows a deleted file, take
 * things away, so that a program can make its own in their place. They are as the run finds things when its first
 * container starts. So go
 *   - the paths of hide_machine_list(), whatever their modes;
 *   - below /etc and /var: what others may not read. A directory that others may not enter goes whole, so only the
 *     rest is looked into; and of that not what packages bring and all may read (hide_shown_list());
 *   - without a veil (an ordinary user's pods; a machine whose "/" is an overlay): the same below "/" and /usr/local,
 *     some levels deep and some thousands of entries, since there may be millions;
 *   - homes. Of everybody's: all whose name begins with a dot, but for the places of software (hide_home_list()). Of a
 *     home that is closed to others, all; but of that of who started the run there is the software: see hide_home.c;
 * and what such paths lead to where they are links. /etc/shadow has its users, and no passwords. (The host keys of sshd
 * are host_layer.h's: others are in their place.) A hostPath volume shows what it names, hidden or not: somebody asked
 * for it.
 */
#ifndef NODE_HIDE_H
#define NODE_HIDE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>

struct hide_options {
    const struct str *own; /* paths that go, whatever they are, absolute; also those that are not there yet */
    size_t n_own;
    bool has_veil;  /* pods see the host's files through one */
    bool has_homes; /* the software in the homes of who started the run is theirs */
};

struct hidden {
    struct str *v;
    size_t n, cap;         /* as VEC(struct str) */
    VEC(struct str) homes; /* that a veil must not lie over, or their software would be behind it: box_spec.homes */
};

/* Hide them in 'over', an open directory. '*ret' has all of them: as on the host, without links on the way. What we may
 * not see ourselves, pods cannot see either, and it is left out. */
int hide_secrets(struct arena *a, int over, const struct hide_options *o, struct hidden *ret, struct err *e);

/* ---- hide_table.c ---- */

/* Below /etc and /var, closed to others or not; "…*": all that begin so; NULL-terminated. */
const char *const *hide_shown_list(void);
const char *const *hide_needed_list(void); /* closed, and no secret: there is another in the place of each */

const char *const *hide_machine_list(void);         /* paths; NULL-terminated */
const char *const *hide_variable_list(void);        /* of the environment, whose value is the path of a secret */
const char *const *hide_home_list(void);            /* software, below a home directory */
void hide_shadow(struct buf *out, struct str text); /* of /etc/shadow, or /etc/passwd where that cannot be read */

#endif
