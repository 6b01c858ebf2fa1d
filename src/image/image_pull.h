/* image_pull.h - an image out of a registry into the store
 *
 *     manifest ─▶ is it there? ─▶ config, layers that are missing ─▶ unpacked, under its digest ─▶ named
 *
 * All that is fetched is checked (registry.h) before it gets a name, and again when it is unpacked. A pull waits for a
 * blob that another process is fetching, and continues a download that was interrupted. A failed pull adds no image and
 * keeps the one that has the name.
 */
#ifndef NODE_IMAGE_PULL_H
#define NODE_IMAGE_PULL_H

#include "image/registry.h"

enum image_doing { IMAGE_ASKS, IMAGE_FETCHES, IMAGE_UNPACKS, IMAGE_DOING_MAX };

struct image_pull {
    const char *store;
    struct str reference;
    const struct registry_options *registry;
    void *ctx;
    void (*progress)(void *ctx, enum image_doing doing, int64_t bytes, int64_t total); /* may be NULL */
    bool is_tenant; /* nothing that the store has is used on the registry's word: it must give it, or have given it */
};

struct image_pulled {
    struct image_digest id;     /* of the image: what imageID and the store know it by */
    struct image_digest digest; /* of its manifest: what the registry knows it by */
    int64_t bytes;              /* of its layers, as they travel */
    bool is_new;                /* the name meant another image before, or none */
    bool is_unreached;          /* -1: there was no way to the registry, nor to a mirror of it */
};

/* Waits. ERR_NOT_FOUND: the registry has no such image; ERR_FORBIDDEN: not for us; ERR_TOO_BIG: the disk is full. */
int image_pull(const struct image_pull *q, struct image_pulled *ret, struct err *e);

#endif
