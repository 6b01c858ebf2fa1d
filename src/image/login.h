/* login.h - who we are for a registry: what `docker login` and `podman login` left
 *
 * Files are read in this order, and the first that has an entry for the registry counts: $REGISTRY_AUTH_FILE,
 * $XDG_RUNTIME_DIR/containers/auth.json, ~/.config/containers/auth.json, $DOCKER_CONFIG/config.json,
 * ~/.docker/config.json. An entry may be for a part of a registry ("host/team"): of several the longest counts.
 *
 * Where there is no entry but a credential helper (credHelpers, credsStore) its name is told: a program that is asked
 * when a registry wants to know who we are (helper.c). That of a Secret never is: no stranger's text starts programs.
 */
#ifndef IMAGE_LOGIN_H
#define IMAGE_LOGIN_H

#include "base/err.h"
#include "image/reference.h"

struct login { /* all empty: nobody */
    struct str user, password;
    struct str identity; /* a refresh token, in place of a password */
    struct str from;     /* the file, for messages */
    struct str helper;   /* a credential helper to ask: docker-credential-… */
};

/* Of the text of such a file, or of a Secret (kubernetes.io/dockerconfigjson; .dockercfg without "auths"). 1: found; 0:
 * none for this; -1: it cannot be read. 'helper' may be set with 0 too. The text is borrowed. */
int login_find(struct arena *a, struct str text, const struct reference *ref, struct login *ret, struct err *e);

/* In the files; 'given' (may be NULL) instead of all of them. What cannot be read is an error only if it was given. */
int login_of_files(struct arena *a, const char *given, const struct reference *ref, struct login *ret, struct err *e);

#endif
