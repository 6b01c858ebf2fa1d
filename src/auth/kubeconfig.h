/* kubeconfig.h - all that a client of this server needs, in one text */
#ifndef AUTH_KUBECONFIG_H
#define AUTH_KUBECONFIG_H

#include "base/arena.h"
#include "base/buf.h"

struct kubeconfig_spec {
    struct str server, ca; /* URL; PEM */
    struct str user;
    struct str token;     /* this, or … */
    struct str cert, key; /* … PEM */
    struct str namespace; /* of the context; may be empty */
};

/* YAML, appended. It holds secrets: for a file of mode 0600, or the user's own terminal. */
void kubeconfig_print(struct buf *out, const struct kubeconfig_spec *spec);

#endif
