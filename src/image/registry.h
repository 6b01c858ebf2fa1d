/* registry.h - manifests and blobs of images, from a registry (the distribution API, version 2)
 *
 *     registry_open(&options, &reference, &r, &e);
 *     while (registry_next(r) == 0)                     the mirrors in their order, then the registry itself
 *         registry_manifest(r, …); registry_blobs(r, …);
 *
 * For a process that has nothing else to do: these functions wait. What a registry says is believed only as far as a
 * digest says the same:
 *   - a manifest has 4 MiB at most, and its digest is the one that was asked for, or that the registry promised;
 *   - a blob has the size and the digest that the manifest gives, and not a byte more is taken;
 *   - a connection has some seconds to come about, an answer 30 s to begin and may not pause longer than that, and a
 *     blob that comes by drops is given up;
 *   - redirects are followed some times, never from https to http, and what we are known by goes to the registry and
 *     to whom it names for tokens, never to where a redirect leads.
 * A blob that was cut off goes on where it stopped.
 *
 * https always; http only with a registry of this machine itself, or one that was named as insecure. Whom to trust:
 * as the system does, or the *.crt of certs.d/HOST below ~/.config/containers, /etc/containers or /etc/docker; there
 * may be a client.cert and client.key too. Proxies: as HTTPS_PROXY and NO_PROXY say.
 */
#ifndef IMAGE_REGISTRY_H
#define IMAGE_REGISTRY_H

#include "base/buf.h"
#include "base/vec.h"
#include "image/digest.h"
#include "image/login.h"
#include "image/reference.h"

struct registry_options {
    VEC(struct str) mirrors;  /* "HOST=[http[s]://]MIRROR[/PREFIX]" */
    VEC(struct str) insecure; /* "HOST": its certificate is not looked at, and it may have none */
    const char *auth_file;    /* NULL: the usual ones, see login.h */
    struct login login;       /* of the registry itself; goes before files */
    int64_t connect_ms;       /* 0: 10 s */
    int64_t stall_ms;         /* an answer must begin within this time and never pause for longer; 0: 30 s */
};

struct registry;

/* Are the options such? ERR_INVALID names the one that is not. */
int registry_check(const struct registry_options *o, struct err *e);

/* Both are borrowed. ERR_INVALID: an option is none, or the login cannot be read. */
int registry_open(const struct registry_options *o, const struct reference *ref, struct registry **ret, struct err *e);
void registry_free(struct registry *r); /* NULL is fine */

/* The next place to ask; -1: there is none left. */
int registry_next(struct registry *r);

/* Of the last failure: was there no way to reach it? */
bool registry_is_unreached(const struct registry *r);

/* The text of a manifest, by its tag or its digest. ERR_NOT_FOUND: there is none; ERR_FORBIDDEN: we may not know. */
int registry_manifest(struct registry *r, struct str tag_or_digest, struct buf *ret, struct image_digest *ret_digest,
                      struct err *e);

struct registry_blob {
    struct str digest;
    int64_t size;
    int fd;       /* to write to, and to read what is there already */
    int64_t have; /* bytes of it that are there */
};

struct registry_watch {
    void *ctx;
    void (*progress)(void *ctx, int64_t bytes); /* of all of them, that are there now; may be NULL */
};

/* All of them, a few at a time, until each is whole and checked. After a failure those are whole that have their size;
 * what is wrong is cut to nothing. ERR_TOO_BIG: the disk is full. */
int registry_blobs(struct registry *r, struct registry_blob *blobs, size_t n, const struct registry_watch *watch,
                   struct err *e);

#endif
