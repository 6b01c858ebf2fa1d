/* reference.h - the name of an image, and its parts
 *
 *     [host[:port]/]part[/part…][:tag][@algorithm:hex]
 *
 * As docker reads it: "busybox" is docker.io/library/busybox:latest.
 */
#ifndef IMAGE_REFERENCE_H
#define IMAGE_REFERENCE_H

#include "base/arena.h"
#include "base/err.h"

struct reference {
    struct str host;   /* "docker.io", "localhost:5000" */
    struct str path;   /* "library/busybox" */
    struct str tag;    /* "latest"; empty: only a digest was given */
    struct str digest; /* "sha256:…"; empty: none */
    struct str normal; /* "docker.io/library/busybox:latest": what names are compared by. A digest replaces the tag */
};

/* ERR_INVALID: no reference at all. */
int reference_parse(struct arena *a, struct str text, struct reference *ret, struct err *e);
int reference_normal(struct arena *a, struct str text, struct str *ret, struct err *e);

/* Does the name say nothing of a version? Then what it means may change any time, and Kubernetes asks each time. */
bool reference_is_latest(struct str text);

#endif
