/* image_maker.h - what the tests of images share: a directory of their own, tar archives and image layouts written
 * by hand
 *
 * The archives are written here byte by byte, so that they can be as wrong as a test wants them.
 */
#ifndef NODE_TEST_IMAGE_MAKER_H
#define NODE_TEST_IMAGE_MAKER_H

#include "os/test/testing.h"

#include "base/buf.h"
#include "image/image_internal.h"

struct fixture {
    struct arena a;
    char top[64], store[96];
    struct images *images;
    struct err e;
};

/* ---- directories ---- */

static inline int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    /* In memory: an image is synced to disk before it gets its name. */
    const char *where = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

    (void)snprintf(f->top, sizeof(f->top), "%s/pumice-image.XXXXXX", where);
    if (!mkdtemp(f->top))
        return -1;
    (void)snprintf(f->store, sizeof(f->store), "%s/state/images", f->top);
    f->images = images_new(f->store);
    *state = f;
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;

    images_free(f->images);
    arena_done(&f->a);
    remove_tree(f->top);
    free(f);
    return 0;
}

static inline const char *in_top(struct fixture *f, const char *name)
{
    return arena_fmt(&f->a, "%s/%s", f->top, name).p;
}

static inline const char *put_bytes(struct fixture *f, const char *name, struct str bytes)
{
    const char *path = in_top(f, name);

    put_file(path, bytes);
    return path;
}

static inline struct str get_text(struct fixture *f, const char *path)
{
    return file_text(&f->a, AT_FDCWD, path, 4096);
}

/* ---- tar ---- */

struct tar_file {
    const char *name;
    char type;        /* '0' file, '1' hard link, '2' link, '3' device, '5' directory, '6' fifo */
    const char *text; /* or where a link leads */
    unsigned mode;    /* 0: 0644, 0755 */
    unsigned uid;
};

static inline void octal(char *at, size_t n, unsigned long long v)
{
    at[--n] = '\0';
    for (; n > 0; v >>= 3)
        at[--n] = (char)('0' + (v & 7));
}

static inline void tar_header(struct buf *out, const struct tar_file *t, size_t size)
{
    unsigned char h[512] = { 0 };
    unsigned sum = 0;

    (void)snprintf((char *)h, 101, "%s", t->name);
    octal((char *)h + 100, 8, t->mode ? t->mode : t->type == '5' ? 0755 : 0644);
    octal((char *)h + 108, 8, t->uid);
    octal((char *)h + 116, 8, t->uid);
    octal((char *)h + 124, 12, size);
    octal((char *)h + 136, 12, 1000000000);
    memset(h + 148, ' ', 8);
    h[156] = (unsigned char)t->type;
    if (t->type == '1' || t->type == '2')
        (void)snprintf((char *)h + 157, 101, "%s", t->text);
    memcpy(h + 257,
           "ustar\0"
           "00",
           8);
    for (size_t i = 0; i < sizeof(h); i++)
        sum += h[i];
    octal((char *)h + 148, 7, sum);
    buf_append(out, h, sizeof(h));
}

static inline void tar_add(struct buf *out, const struct tar_file *t)
{
    bool has_body = strchr("0xgLKZS", t->type) && t->text;
    size_t n = has_body ? strlen(t->text) : 0;

    tar_header(out, t, n);
    if (n)
        buf_append(out, t->text, n);
    buf_repeat(out, '\0', (512 - n % 512) % 512);
}

static inline void tar_end(struct buf *out)
{
    buf_repeat(out, '\0', 1024);
}

/* The archive as bytes in the arena; the list ends with an entry without a name. */
static inline struct str tar_of(struct fixture *f, const struct tar_file *list)
{
    struct buf out = { 0 };
    struct str bytes;

    for (; list->name; list++)
        tar_add(&out, list);
    tar_end(&out);
    bytes = arena_str(&f->a, buf_view(&out));
    buf_done(&out);
    return bytes;
}

/* "gzip", "xz", "zstd" -c < path. False if there is no such program. */
static inline bool pack(struct fixture *f, const char *program, const char *path, const char *to)
{
    const char *command = arena_fmt(&f->a, "%s -c < '%s' > '%s' 2>/dev/null", program, path, to).p;
    int status = system(command); /* NOLINT: names of our own */

    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- images ---- */

static inline const char *digest_of(struct fixture *f, struct str bytes)
{
    struct image_digest d;

    image_digest_of(bytes, &d);
    return arena_str(&f->a, str_of(d.text)).p;
}

static inline const char *put_blob(struct fixture *f, const char *dir, struct str bytes)
{
    const char *digest = digest_of(f, bytes);

    put_bytes(f, arena_fmt(&f->a, "%s/blobs/sha256/%s", dir, digest + 7).p, bytes);
    return digest;
}

static inline struct str config_of(struct fixture *f, const struct str *layers, size_t n, const char *more)
{
    struct buf out = { 0 };
    struct str text;

    buf_fmt(&out,
            "{%s\"config\":{\"Env\":[\"PATH=/bin\",\"A=b\"],\"Entrypoint\":[\"/entry\"],\"Cmd\":[\"x\",\"y\"],"
            "\"WorkingDir\":\"/work\",\"User\":\"app:grp\",\"StopSignal\":\"SIGINT\"},\"rootfs\":{\"type\":\"layers\","
            "\"diff_ids\":[",
            more);
    for (size_t i = 0; i < n; i++)
        buf_fmt(&out, "%s\"%s\"", i ? "," : "", digest_of(f, layers[i]));
    buf_fmt(&out, "]}}");
    text = arena_str(&f->a, buf_view(&out));
    buf_done(&out);
    return text;
}

/* An OCI layout below top/'dir' with these layers (plain tars); the digest of its manifest. */
static inline const char *put_manifest(struct fixture *f, const char *dir, const struct str *layers, size_t n,
                                       const char *more)
{
    struct buf out = { 0 };
    struct str config = config_of(f, layers, n, more);
    const char *digest;

    buf_fmt(&out, "{\"schemaVersion\":2,\"config\":{\"digest\":\"%s\"},\"layers\":[", put_blob(f, dir, config));
    for (size_t i = 0; i < n; i++)
        buf_fmt(&out, "%s{\"digest\":\"%s\"}", i ? "," : "", put_blob(f, dir, layers[i]));
    buf_fmt(&out, "]}");
    digest = put_blob(f, dir, buf_view(&out));
    buf_done(&out);
    return digest;
}

static inline const char *put_layout(struct fixture *f, const char *dir, const struct str *layers, size_t n,
                                     const char *more)
{
    const char *manifest = put_manifest(f, dir, layers, n, more);

    put_bytes(f, arena_fmt(&f->a, "%s/oci-layout", dir).p, STR("{\"imageLayoutVersion\":\"1.0.0\"}"));
    put_bytes(f, arena_fmt(&f->a, "%s/index.json", dir).p,
              arena_fmt(&f->a, "{\"schemaVersion\":2,\"manifests\":[{\"digest\":\"%s\"}]}", manifest));
    return in_top(f, dir);
}

#endif
