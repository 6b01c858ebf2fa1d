/* image.h - the root file system of a container, by its image
 *
 * By default an image that is missing is "the host": the container sees the host's software through an overlay. An
 * image can come from a registry (image_pull.h), or be given as a directory (a root file system, or an OCI image layout)
 * or an archive (docker save, OCI archive; plain, gzip; a tar of a root file system), on the command line or in a store
 * of unpacked images.
 * Archives are unpacked once, layer by layer, into the store under their digest. Every digest is verified and whiteouts
 * are honoured. Nothing is written outside the directory: no "..", no device nodes, and links are resolved inside it,
 * as in the container. An image that was half unpacked in a crash is not used.
 */
#ifndef NODE_IMAGE_H
#define NODE_IMAGE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>

struct images;

enum image_from { IMAGE_HOST, IMAGE_STORED, IMAGE_GIVEN };

struct image {
    struct str name;      /* as asked for */
    enum image_from from; /* GIVEN: on the command line; nothing else is tried */
    struct str root;      /* directory; empty: the host's files */
    struct str id; /* for imageID: "host/path@sha256:…" from a registry, "sha256:…" of an archive, "dir:/srv/roots/app"
                        for a directory, "host" for the host's */
    struct str said; /* for people: "the host's files", "archive app.tar", "directory /srv/roots/app" */
    VEC(struct str) env, entrypoint, cmd; /* of the image's config; empty if it has none */
    struct str cwd, user;
    int stop_signal; /* 0: SIGTERM */
};

/* 'store': directory of unpacked images, made when first needed; NULL: archives cannot be used. */
struct images *images_new(const char *store);
void images_free(struct images *i);

/* "NAME=DIR", "NAME=archive.tar[.gz|.xz|.zst|.bz2]" or "NAME=host", the host's files. NAME is an image reference ("busybox",
 * "volcanosh/example-mpi:0.0.1"), or "*": every other image. Reads (and unpacks) at once.
 * Unpacked images stay in the store under NAME (but not under "*"), and an unchanged archive is not read again.
 * Errors name the file. */
int images_add(struct images *i, struct str text, struct err *e);

/* What a container gets. References are compared normalised ("busybox" is "docker.io/library/busybox:latest"). Given
 * ones first, then the store's (only if no "*" was given), then the host's files. Borrowed as long as 'i' lives. */
const struct image *images_find(struct images *i, struct str reference);

/* May a user with this login (NULL: anonymous) use an image of the store? Yes if its registry served it to the same
 * login or anonymously, or if it came from no registry. */
struct login;
bool images_may_use(struct images *i, const struct image *image, const struct login *login);
struct str image_login_key(struct arena *a, const struct login *l); /* unique for each login; empty: anonymous */

/* An image was pulled: look images up again. Results of earlier lookups stay valid. */
void images_look_again(struct images *i);

/* ---- the store ---- */

struct image_entry {
    struct str name;   /* "docker.io/library/busybox:latest"; empty: a newer image took the name */
    struct str id;     /* "sha256:…" */
    struct str digest; /* in its registry; empty: it did not come from one */
    int64_t bytes;     /* unpacked; -1: not known */
    int64_t since_ms;  /* it got its name; 0: it has none */
    bool is_used;      /* by a run */
};

struct image_entries {
    VEC(struct image_entry) list; /* by name */
};

/* No store is an empty one. */
int images_list(struct arena *a, const char *store, struct image_entries *ret, struct err *e);
int images_stored(const struct images *i, struct arena *a, struct image_entries *ret, struct err *e); /* in its store */

/* Remove a name ("busybox"), or all names of an image by its id (of at least 6 hex digits). An image without names is
 * deleted, and so are layers that only it has. ERR_NOT_FOUND; ERR_CONFLICT: it is in use. '*ret_bytes': bytes freed. */
int images_remove(const char *store, struct str name, int64_t *ret_bytes, struct err *e);

/* Remove images without a name ('all': whatever is not in use), what was fetched and no image has, and what was cut
 * off. */
int images_prune(const char *store, bool all, size_t *ret_images, int64_t *ret_bytes, struct err *e);

/* Remove what a crash left half unpacked. */
int images_sweep(const char *store, struct err *e);

#endif
