/* login.h - credentials for a registry, as `docker login` and `podman login` store them
 *
 * Files are read in this order, and the first that has an entry for the registry counts: $REGISTRY_AUTH_FILE,
 * $XDG_RUNTIME_DIR/containers/auth.json, ~/.config/containers/auth.json, $DOCKER_CONFIG/config.json,
 * ~/.docker/config.json. An entry may be for a part of a registry ("host/team"): of several the longest counts.
 *
 * Without an entry the name of a credential helper (credHelpers, credsStore) is returned. It is run when the registry
 * requires authentication (helper.c). A helper in a Secret is ignored: other users' text never starts programs.
 */
#ifndef IMAGE_LOGIN_H
#define IMAGE_LOGIN_H

#include "base/err.h"
#include "image/reference.h"

struct login { /* all empty: anonymous */
    struct str user, password;
    struct str identity; /* a refresh token, in place of a password */
    struct str from;     /* the file, for messages */
    struct str helper;   /* a credential helper to ask: docker-credential-… */
};

/* Of the text of such a file, or of a Secret (kubernetes.io/dockerconfigjson; .dockercfg without "auths"). 1: found; 0:
 * none for this; -1: it cannot be read. 'helper' may be set with 0 too. The text is borrowed. */
int login_find(struct arena *a, struct str text, const struct reference *ref, struct login *ret, struct err *e);

/* In the files; 'given' (may be NULL) instead of all of them. An unreadable file is an error only if it was given. */
int login_of_files(struct arena *a, const char *given, const struct reference *ref, struct login *ret, struct err *e);

#endif
