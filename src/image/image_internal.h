/* image_internal.h - the parts of image.h: archives, unpacking, what an image says about itself, the
 * store */
#ifndef NODE_IMAGE_INTERNAL_H
#define NODE_IMAGE_INTERNAL_H

#include "base/util.h"
#include "json/json.h"
#include "image/image.h"
#include "image/digest.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* ---- image_stream.c: a file, and what is packed in it ---- */

struct image_stream;

/* Read 'fd' (stays the caller's) from where it stands: plain, or packed with gzip, zstd, xz or bzip2. */
int image_stream_open(int fd, struct image_stream **ret, struct err *e);
void image_stream_close(struct image_stream *s); /* NULL is fine */
/* Some of what is packed in it, 'max' bytes at most, borrowed until the next call. 1, 0 at the end, -1. */
int image_stream_read(struct image_stream *s, size_t max, struct str *ret, struct err *e);
int64_t image_stream_bytes(const struct image_stream *s); /* unpacked so far */
/* To the end; the digests of the file as it is and of what is packed in it. */
int image_stream_finish(struct image_stream *s, struct image_digest *ret_file, struct image_digest *ret, struct err *e);

/* ---- image_tar.c: the entries of an archive ---- */

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

/* A tar, plain or packed; 'fd' stays the caller's. */
int image_tar_open(int fd, struct image_tar **ret, struct err *e);
void image_tar_close(struct image_tar *t);                                                    /* NULL is fine */
int image_tar_next(struct image_tar *t, struct image_tar_entry *ret, struct err *e);          /* 1, 0 at the end, -1 */
int image_tar_data(struct image_tar *t, struct str *ret, int64_t *ret_offset, struct err *e); /* 1, 0, -1 */

/* Read to the end; the digests of the file as it is and of the tar in it. */
int64_t image_tar_bytes(const struct image_tar *t); /* of the tar, read so far */
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

/* The same of one manifest among the blobs of the store. */
int image_layout_of(struct arena *a, int store, struct str digest, struct image_layout *ret, struct err *e);

/* env, entrypoint, cmd, cwd, user and stop signal out of a config's text. */
int image_config_read(struct arena *a, struct str text, struct image *into, struct err *e);

/* The bytes of a regular file below 'dir', at most 16 MiB. */
int image_file_read(struct arena *a, int dir, const char *path, struct str *ret, struct err *e);

/* ---- image_store.c: unpacked images on disk ----
 *
 *     <store>/sha256-<hex>/{root/,config.json}    whole: it got this name when all was on disk
 *     <store>/.part-<pid>-<n>/                    being unpacked, locked by the one who does it
 *     <store>/names/<reference>                   link to ../sha256-<hex>
 *     <store>/pulled/<reference>                  says "sha256:<hex>": the digest that a registry knows it by
 *     <store>/blobs/sha256/<hex>                  manifests, configs and layers of registries, whole and checked
 *     <store>/{opened,served,unpacked}/…          whose they are: image_access.c
 *     <store>/blobs/part-<hex>                    what came of one so far, locked by the one who fetches it
 *     <store>/lock                                shared by those who pull, alone for who clears up
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
/* The same for a digest that is no image of the store's. */
int image_note_put(int store, const char *dir, struct str key, const struct image_digest *what, struct err *e);
int image_note_get(int store, const char *dir, struct str key, struct image_digest *ret);
void image_link_drop(int store, const char *dir, struct str key);
struct str image_link_key(struct arena *a, const char *name); /* of the name of its file */
bool image_store_has(int store, const struct image_digest *id);
void image_store_name(const struct image_digest *id, char ret[80]); /* "sha256-…" */

/* 'is_alone': no pull may run meanwhile; ERR_CONFLICT: one runs. Close it to release the lock. */
int image_store_lock(int store, bool is_alone, int *ret_fd, struct err *e);

/* ---- image_access.c: who may use what the store has ---- */

struct login;
int image_opened_put(int store, struct str name, const struct login *l, const struct image_digest *manifest,
                     struct err *e);
bool image_opened(int store, struct str name, const struct login *l, const struct image_digest *manifest);
int image_served_put(int store, struct str repository, struct str blob, struct err *e);
bool image_served(int store, struct str repository, struct str blob); /* or it came without a login */

/* ---- image_blob.c ---- */

const char *image_blob_path(struct arena *a, struct str digest); /* below the store */
bool image_blob_has(int store, struct str digest, int64_t size);
int image_blob_put(int store, struct str digest, struct str bytes, struct err *e); /* one that was checked */
void image_blob_remove(int store, struct str digest);

/* Open and lock the part of a blob, by its digest and size; sets 'fd' and 'have'. Waits for another process that has it
 * locked. 1: the store has the whole blob by now. Close 'fd' to keep the part for the next time. */
struct registry_blob;
int image_part_open(int store, struct registry_blob *b, struct err *e);
int image_part_publish(int store, struct str digest, int fd, struct err *e); /* it is whole, and was checked */
void image_part_remove(int store, struct str digest);

/* ---- image.c ---- */

/* Unpack the layers of 'layout', whose files are below 'dir'; nothing to do if the image is there. */
int image_add_layout(int store, int dir, const struct image_layout *layout, struct err *e);
/* Are the layers what the config says, without unpacking them? */
int image_check_layout(int dir, const struct image_layout *layout, struct err *e);

#endif
