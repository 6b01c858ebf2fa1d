/* manifest.h - what a registry says that an image is made of
 *
 *     name ─▶ (index ─▶) manifest ─▶ config and layers, each a descriptor: digest, size, media type
 *
 * Pure: text in, parts out. Everything that is used later is checked here: digests that can be checked, sizes that are
 * sizes, media types that can be unpacked.
 */
#ifndef IMAGE_MANIFEST_H
#define IMAGE_MANIFEST_H

#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    MANIFEST_BYTES = 4 << 20, /* registries take no more either */
    MANIFEST_LAYERS = 1024,
    MANIFEST_CONFIG_BYTES = 16 << 20,
};

struct descriptor {
    struct str digest; /* "sha256:…" */
    int64_t size;
};

struct manifest {
    bool is_index;            /* then 'chosen' is what to ask for next, and there is nothing else */
    struct descriptor chosen; /* the manifest for this machine */
    struct descriptor config;
    VEC(struct descriptor) layers; /* the lowest first */
    int64_t bytes;                 /* of the layers together */
};

/* 'text' is borrowed. ERR_INVALID: it cannot be used, and why; ERR_NOT_FOUND: an index without this machine's kind. */
int manifest_read(struct arena *a, struct str text, struct manifest *ret, struct err *e);

/* Does this machine run programs for "amd64"? 'is_exact': as its own; else also what it can run besides. */
bool platform_is_ours(struct str arch, bool is_exact);

#endif
