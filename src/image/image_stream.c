/* image_stream.c - a file, decompressed as it is read
 *
 *     file ──bytes, hashed──▶ unpacker ──bytes, hashed──▶ reader
 *
 * Both are hashed because an image names both digests. How a file is packed its first bytes say. It may have several
 * packed parts in a row (pigz and eStargz make such, zstd:chunked adds one that has nothing in it): together they are
 * one. What follows the last and is none counts for the digest of the file only.
 */
#include "image/image_internal.h"

#include <bzlib.h>
#include <errno.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

enum { IN_BYTES = 256 << 10, OUT_BYTES = 256 << 10, MAGIC_BYTES = 10, XZ_BYTES = 256 << 20 };

/* A bomb: some kilobytes that become a full disk. A file of zeros is packed so well too, but images have none of that
 * size. */
enum { BOMB_BYTES = 1 << 30, BOMB_RATIO = 250 };

struct image_stream {
    int fd;
    const struct packing *packing; /* of the part that is being unpacked; NULL: none is */
    bool is_plain, is_file_end, is_end;
    struct image_hash *file_hash, *hash;
    int64_t file_at, at;     /* bytes so far: of the file, unpacked */
    unsigned char *in, *out; /* read and not unpacked; unpacked and not taken */
    size_t n_in, n_out;
    union {
        z_stream gzip;
        ZSTD_DStream *zstd;
        lzma_stream xz;
        bz_stream bzip2;
    } u;
    unsigned char in_bytes[IN_BYTES], out_bytes[OUT_BYTES];
};

/* ---- the kinds of packing ---- */

enum image_stream_part { PART_MORE, PART_END, PART_BAD };

struct packing {
    const char *name;
    const char *magic, *mask;
    size_t n_magic;
    bool (*begin)(struct image_stream *s);
    enum image_stream_part (*step)(struct image_stream *s); /* moves 'in' on, and makes 'out' */
    void (*end)(struct image_stream *s);
};

/* After a step: so many bytes of 'in' and of the room for 'out' are left. */
static void image_stream_moved(struct image_stream *s, size_t in_left, size_t out_left)
{
    s->in += s->n_in - in_left;
    s->n_in = in_left;
    s->out = s->out_bytes;
    s->n_out = OUT_BYTES - out_left;
}

static bool gzip_begin(struct image_stream *s)
{
    s->u.gzip = (z_stream){ 0 };
    return inflateInit2(&s->u.gzip, 15 + 16) == Z_OK; /* the largest window; a header of gzip */
}

static enum image_stream_part gzip_step(struct image_stream *s)
{
    z_stream *z = &s->u.gzip;
    int rc;

    z->next_in = s->in;
    z->avail_in = (uInt)s->n_in;
    z->next_out = s->out_bytes;
    z->avail_out = OUT_BYTES;
    rc = inflate(z, Z_NO_FLUSH);
    image_stream_moved(s, z->avail_in, z->avail_out);
    return rc == Z_STREAM_END ? PART_END : rc == Z_OK || rc == Z_BUF_ERROR ? PART_MORE : PART_BAD;
}

static void gzip_end(struct image_stream *s)
{
    (void)inflateEnd(&s->u.gzip);
}

static bool zstd_begin(struct image_stream *s)
{
    s->u.zstd = ZSTD_createDStream();
    return s->u.zstd != NULL;
}

static enum image_stream_part zstd_step(struct image_stream *s)
{
    ZSTD_inBuffer in = { s->in, s->n_in, 0 };
    ZSTD_outBuffer out = { s->out_bytes, OUT_BYTES, 0 };
    size_t rc = ZSTD_decompressStream(s->u.zstd, &out, &in);

    image_stream_moved(s, in.size - in.pos, out.size - out.pos);
    return ZSTD_isError(rc) ? PART_BAD : rc == 0 ? PART_END : PART_MORE;
}

static void zstd_end(struct image_stream *s)
{
    (void)ZSTD_freeDStream(s->u.zstd);
}

static bool xz_begin(struct image_stream *s)
{
    s->u.xz = (lzma_stream)LZMA_STREAM_INIT;
    return lzma_stream_decoder(&s->u.xz, XZ_BYTES, 0) == LZMA_OK;
}

static enum image_stream_part xz_step(struct image_stream *s)
{
    lzma_stream *x = &s->u.xz;
    lzma_ret rc;

    x->next_in = s->in;
    x->avail_in = s->n_in;
    x->next_out = s->out_bytes;
    x->avail_out = OUT_BYTES;
    rc = lzma_code(x, LZMA_RUN);
    image_stream_moved(s, x->avail_in, x->avail_out);
    return rc == LZMA_STREAM_END ? PART_END : rc == LZMA_OK || rc == LZMA_BUF_ERROR ? PART_MORE : PART_BAD;
}

static void xz_end(struct image_stream *s)
{
    lzma_end(&s->u.xz);
}

static bool bzip2_begin(struct image_stream *s)
{
    s->u.bzip2 = (bz_stream){ 0 };
    return BZ2_bzDecompressInit(&s->u.bzip2, 0, 0) == BZ_OK;
}

static enum image_stream_part bzip2_step(struct image_stream *s)
{
    bz_stream *b = &s->u.bzip2;
    int rc;

    b->next_in = (char *)s->in;
    b->avail_in = (unsigned)s->n_in;
    b->next_out = (char *)s->out_bytes;
    b->avail_out = OUT_BYTES;
    rc = BZ2_bzDecompress(b);
    image_stream_moved(s, b->avail_in, b->avail_out);
    return rc == BZ_STREAM_END ? PART_END : rc == BZ_OK ? PART_MORE : PART_BAD;
}

static void bzip2_end(struct image_stream *s)
{
    (void)BZ2_bzDecompressEnd(&s->u.bzip2);
}

#define MAGIC(text, mask) (text), (mask), sizeof(mask) - 1

static const struct packing packings[] = {
    { "gzip", MAGIC("\x1f\x8b\x08", "\xff\xff\xff"), gzip_begin, gzip_step, gzip_end },
    { "zstd", MAGIC("\x28\xb5\x2f\xfd", "\xff\xff\xff\xff"), zstd_begin, zstd_step, zstd_end },
    { "zstd", MAGIC("\x50\x2a\x4d\x18", "\xf0\xff\xff\xff"), zstd_begin, zstd_step, zstd_end }, /* with nothing in it */
    { "xz", MAGIC("\xfd\x37\x7a\x58\x5a\0", "\xff\xff\xff\xff\xff\xff"), xz_begin, xz_step, xz_end },
    { "bzip2", MAGIC("BZh\0\x31\x41\x59\x26\x53\x59", "\xff\xff\xff\0\xff\xff\xff\xff\xff\xff"), bzip2_begin,
      bzip2_step, bzip2_end },
};

static bool begins_with(const struct image_stream *s, const struct packing *p)
{
    if (s->n_in < p->n_magic)
        return false;
    for (size_t i = 0; i < p->n_magic; i++)
        if ((s->in[i] & (unsigned char)p->mask[i]) != (unsigned char)p->magic[i])
            return false;
    return true;
}

static const struct packing *find_packing(const struct image_stream *s)
{
    for (size_t i = 0; i < ARRAY_LEN(packings); i++)
        if (begins_with(s, &packings[i]))
            return &packings[i];
    return NULL;
}

/* ---- reading ---- */

static int image_stream_read_file(struct image_stream *s, struct err *e)
{
    ssize_t n;

    do
        n = read(s->fd, s->in_bytes + s->n_in, IN_BYTES - s->n_in);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_errno(e, "cannot be read");
    image_hash_add(s->file_hash, (struct str){ (const char *)s->in_bytes + s->n_in, (size_t)n });
    s->file_at += n;
    s->n_in += (size_t)n;
    s->is_file_end = n == 0;
    return 0;
}

/* As much of the file as it takes to see what comes next. */
static int need_input(struct image_stream *s, struct err *e)
{
    if (s->n_in >= MAGIC_BYTES || s->is_file_end)
        return 0;
    memmove(s->in_bytes, s->in, s->n_in);
    s->in = s->in_bytes;
    while (s->n_in < MAGIC_BYTES && !s->is_file_end)
        if (image_stream_read_file(s, e) < 0)
            return -1;
    return 0;
}

static void take_plain(struct image_stream *s)
{
    s->out = s->in;
    s->n_out = s->n_in;
    s->in += s->n_in;
    s->n_in = 0;
    s->is_end = !s->n_out;
}

static void end_part(struct image_stream *s)
{
    if (s->packing)
        s->packing->end(s);
    s->packing = NULL;
}

static int take_packed(struct image_stream *s, struct err *e)
{
    size_t before = s->n_in;
    const char *name;
    enum image_stream_part part;

    if (!s->packing) {
        const struct packing *next = find_packing(s);

        s->is_end = !next;
        if (!next)
            return 0;
        if (!next->begin(s))
            return err_set(e, ERR_IO, "cannot decompress %s: out of memory", next->name);
        s->packing = next;
    }
    name = s->packing->name;
    part = s->packing->step(s);
    if (part == PART_END)
        end_part(s);
    if (part == PART_BAD)
        return err_set(e, ERR_INVALID, "is damaged: cannot decompress %s", name);
    if (part == PART_MORE && !s->n_out && s->n_in == before && (s->n_in || s->is_file_end))
        return err_set(e, ERR_INVALID, "is damaged: it is truncated");
    return 0;
}

static int unpack_more(struct image_stream *s, struct err *e)
{
    int rc = need_input(s, e);

    if (rc == 0 && s->is_plain)
        take_plain(s);
    else if (rc == 0)
        rc = take_packed(s, e);
    if (rc < 0)
        return -1;
    image_hash_add(s->hash, (struct str){ (const char *)s->out, s->n_out });
    s->at += (int64_t)s->n_out;
    if (s->at > BOMB_BYTES && s->at / BOMB_RATIO > s->file_at)
        return err_set(e, ERR_INVALID, "is damaged: it grows without limit when decompressed");
    return 0;
}

int image_stream_read(struct image_stream *s, size_t max, struct str *ret, struct err *e)
{
    while (!s->n_out && !s->is_end)
        if (unpack_more(s, e) < 0)
            return -1;
    *ret = (struct str){ (const char *)s->out, MIN_OF(max, s->n_out) };
    s->out += ret->n;
    s->n_out -= ret->n;
    return ret->n > 0;
}

int image_stream_open(int fd, struct image_stream **ret, struct err *e)
{
    struct image_stream *s = xcalloc(1, sizeof(*s));

    s->fd = fd;
    s->in = s->in_bytes;
    s->out = s->out_bytes;
    s->file_hash = image_hash_new();
    s->hash = image_hash_new();
    if (need_input(s, e) < 0) {
        image_stream_close(s);
        return -1;
    }
    s->is_plain = !find_packing(s);
    *ret = s;
    return 0;
}

void image_stream_close(struct image_stream *s)
{
    if (!s)
        return;
    end_part(s);
    image_hash_free(s->file_hash);
    image_hash_free(s->hash);
    free(s);
}

int64_t image_stream_bytes(const struct image_stream *s)
{
    return s->at;
}

int image_stream_finish(struct image_stream *s, struct image_digest *ret_file, struct image_digest *ret, struct err *e)
{
    struct str rest;
    int rc;

    while ((rc = image_stream_read(s, SIZE_MAX, &rest, e)) > 0)
        ;
    while (rc == 0 && !s->is_file_end) {
        s->n_in = 0;
        rc = image_stream_read_file(s, e);
    }
    if (rc < 0)
        return -1;
    image_hash_end(s->file_hash, ret_file);
    image_hash_end(s->hash, ret);
    return 0;
}
