/* hide.h - which of the host's files pods cannot see
 *
 * A pod without an image has the host's files. It may see what every user of the machine may see, and the software in
 * the home of the user who started the run; nothing else, although it is root. Two mechanisms enforce this.
 *
 * The veil (box_veil.c), for root of the machine: the kernel denies access to what others may not read, everywhere,
 * also to files created later. Programs get "Permission denied", as other users do.
 *
 * Whiteouts in the tree over the host's files (host_layer.h), which overlayfs treats as deleted files, remove paths,
 * so that a program can create its own in their place. They reflect the host's state when the first container of the
 * run starts. Removed are
 *
 *   - the paths of hide_machine_list(), whatever their modes;
 *   - below /etc and /var: what others may not read. A directory that others may not enter is removed as a whole, so
 *     only open directories are searched, and of those not the ones that packages fill with readable files
 *     (hide_shown_list());
 *   - without a veil (pods of an ordinary user; a machine whose "/" is an overlay): the same below "/" and
 *     /usr/local, to a limited depth and number of entries, since there may be millions;
 *   - homes. In every home: all names that begin with a dot, except software (hide_home_list()). A home that is
 *     closed to others: everything; but in the home of the user who started the run, software stays: see hide_home.c;
 *
 * and the targets of such paths that are symbolic links. /etc/shadow lists its users without passwords. (host_layer.h
 * replaces the host keys of sshd.) A hostPath volume shows what it names, hidden or not: the user asked for it.
 */
#ifndef NODE_HIDE_H
#define NODE_HIDE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>

struct hide_options {
    const struct str *own; /* more absolute paths to hide, whatever their modes; also if they do not exist yet */
    size_t n_own;
    bool has_veil;  /* pods see the host's files through a veil */
    bool has_homes; /* show the software in the homes of the user who started the run */
};

struct hidden {
    struct str *v;
    size_t n, cap;         /* compatible with VEC(struct str) */
    VEC(struct str) homes; /* homes to exempt from the veil, which would hide their software: box_spec.homes */
};

/* Hide secrets in 'over', an open directory. '*ret' lists them by their paths on the host, without links. Paths that
 * this process may not see are left out: pods cannot see them either. */
int hide_secrets(struct arena *a, int over, const struct hide_options *o, struct hidden *ret, struct err *e);

/* ---- hide_table.c ---- */

/* Paths below /etc and /var to skip, closed to others or not; a final "*" matches any rest; NULL-terminated. */
const char *const *hide_shown_list(void);
const char *const *hide_needed_list(void); /* closed to others but no secrets: copied into the tree */

const char *const *hide_machine_list(void);         /* paths; NULL-terminated */
const char *const *hide_variable_list(void);        /* environment variables with the path of a secret */
const char *const *hide_home_list(void);            /* software, relative to a home directory */
void hide_shadow(struct buf *out, struct str text); /* 'text': /etc/shadow, or /etc/passwd where that cannot be read */

#endif
