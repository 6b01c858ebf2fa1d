/* image_internal.h - the parts of image.h: references, archives, unpacking, what an image says about itself, the
 * store */
#ifndef NODE_IMAGE_INTERNAL_H
#define NODE_IMAGE_INTERNAL_H

#include "base/util.h"
#include "json/json.h"
#include "node/image/image.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* ---- image_ref.c ---- */

/* "busybox" as "docker.io/library/busybox:latest". ERR_INVALID: no reference at all. */
int image_ref_normal(struct arena *a, struct str text, struct str *ret, struct err *e);

/* ---- digests ---- */

struct image_digest {
    char text[72]; /* "sha256:" and 64 small hex digits; empty: not known */
};

bool image_digest_is_good(struct str text); /* one we can check */
void image_digest_of(struct str bytes, struct image_digest *ret);

/* ---- image_tar.c: archives, by libarchive. Nothing else knows that library ---- */

struct image_tar;

enum image_tar_kind { TAR_FILE, TAR_DIR, TAR_SYMLINK, TAR_HARDLINK, TAR_FIFO, TAR_OTHER, IMAGE_TAR_KIND_MAX };

struct image_tar_entry { /* text is borrowed until the next image_tar_next() */
    enum image_tar_kind kind;
    struct str path; /* as written: may be absolute, may have ".." */
    struct str link;
    mode_t mode; /* 07777 */
    int64_t uid, gid, size;
    struct timespec mtime;
    struct str capability; /* the security.capability attribute; empty: none */
};

/* Read 'fd' (stays the caller's) from where it stands: a tar, plain or packed with gzip, xz, bzip2 or zstd. */
int image_tar_open(int fd, struct image_tar **ret, struct err *e);
void image_tar_close(struct image_tar *t);                                                    /* NULL is fine */
int image_tar_next(struct image_tar *t, struct image_tar_entry *ret, struct err *e);          /* 1, 0 at the end, -1 */
int image_tar_data(struct image_tar *t, struct str *ret, int64_t *ret_offset, struct err *e); /* 1, 0, -1 */

/* Read to the end; the digests of the file as it is and of the tar in it. */
int image_tar_finish(struct image_tar *t, struct image_digest *ret_file, struct image_digest *ret_tar, struct err *e);

/* ---- image_unpack.c ---- */

/* Put all entries below the directory 'root', over what is there. 'is_layer': ".wh." names remove what older layers
 * made. Never touches anything outside 'root'. */
int image_unpack(int root, struct image_tar *t, bool is_layer, struct err *e);

/* ---- image_config.c: what an image says about itself ---- */

struct image_layer {
    const char *path; /* below the layout's directory */
    struct str blob;  /* digest of the file; empty: not said */
    struct str diff;  /* digest of the tar in it */
};

struct image_layout {
    struct str config; /* text */
    struct image_digest id;
    VEC(struct image_layer) layers;
};

/* Is the directory a set of image files (OCI layout, unpacked docker save) and not a root file system? Then 1 and
 * '*ret'; 0 if it is not. 'reference' chooses where there are several images. */
int image_layout_read(struct arena *a, int dir, struct str reference, struct image_layout *ret, struct err *e);

/* env, entrypoint, cmd, cwd, user and stop signal out of a config's text. */
int image_config_read(struct arena *a, struct str text, struct image *into, struct err *e);

/* The bytes of a regular file below 'dir', at most 16 MiB. */
int image_file_read(struct arena *a, int dir, const char *path, struct str *ret, struct err *e);

/* ---- image_store.c: unpacked images on disk ----
 *
 *     <store>/sha256-<hex>/{root/,config.json}    whole: it got this name when all was on disk
 *     <store>/.part-<pid>-<n>/                    being unpacked, locked by the one who does it
 *     <store>/names/<reference>                   link to ../sha256-<hex>
 *     <store>/archives/<what stat says of a file> link to ../sha256-<hex>: need not be read again
 */

struct image_stage {
    int store, dir;
    char name[48];
};

int image_store_open(const char *store, bool makes, int *ret_fd, struct err *e);
int image_stage_begin(int store, struct image_stage *ret, struct err *e);
/* Give it its name; an equal image that is there already is used instead. */
int image_stage_publish(struct image_stage *s, const struct image_digest *id, struct err *e);
void image_stage_drop(struct image_stage *s); /* fine after image_stage_publish() */

/* Links "<dir>/<key>". get: the id, or 0 if there is none that leads to a whole image. */
int image_link_put(int store, const char *dir, struct str key, const struct image_digest *id, struct err *e);
int image_link_get(int store, const char *dir, struct str key, struct image_digest *ret);
bool image_store_has(int store, const struct image_digest *id);
void image_store_name(const struct image_digest *id, char ret[80]); /* "sha256-…" */

#endif
