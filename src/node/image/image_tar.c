/* image_tar.c - archives, read by libarchive
 *
 *     file ──bytes, hashed──▶ unpacker ──bytes, hashed──▶ tar reader ──▶ entries
 *
 * Two readers of libarchive in a row, because an image names both digests: of the file and of the tar in it.
 *
 * The library is loaded when the first archive is opened. It brings a dozen others along (an XML parser, a
 * Unicode table), which would cost every start of the program 2 ms, and most runs have no archive.
 */
#include "node/image/image_internal.h"

#include <archive.h>
#include <archive_entry.h>
#include <dlfcn.h>
#include <errno.h>
#include <locale.h>

#define LIBRARY "libarchive.so.13"

#define FUNCTIONS(X)                                                                                                   \
    X(archive_read_new)                                                                                                \
    X(archive_read_free)                                                                                               \
    X(archive_read_open)                                                                                               \
    X(archive_read_next_header)                                                                                        \
    X(archive_read_data_block)                                                                                         \
    X(archive_read_support_format_raw)                                                                                 \
    X(archive_read_support_format_tar)                                                                                 \
    X(archive_read_support_filter_gzip)                                                                                \
    X(archive_read_support_filter_bzip2)                                                                               \
    X(archive_read_support_filter_xz)                                                                                  \
    X(archive_read_support_filter_zstd)                                                                                \
    X(archive_error_string)                                                                                            \
    X(archive_errno)                                                                                                   \
    X(archive_set_error)                                                                                               \
    X(archive_entry_pathname)                                                                                          \
    X(archive_entry_hardlink)                                                                                          \
    X(archive_entry_symlink)                                                                                           \
    X(archive_entry_filetype)                                                                                          \
    X(archive_entry_perm)                                                                                              \
    X(archive_entry_uid)                                                                                               \
    X(archive_entry_gid)                                                                                               \
    X(archive_entry_size)                                                                                              \
    X(archive_entry_mtime)                                                                                             \
    X(archive_entry_mtime_nsec)                                                                                        \
    X(archive_entry_xattr_reset)                                                                                       \
    X(archive_entry_xattr_next)

static struct {
#define X(name) __typeof__(name) *name;
    FUNCTIONS(X)
#undef X
    void *handle;
} lib;

/* There is none in a program that was linked statically, and such a program cannot load a library in safety. */
extern const char _DYNAMIC[] __attribute__((weak, visibility("hidden")));

static int lib_load(struct err *e)
{
    void *handle;

    if (lib.handle)
        return 0;
    if (!_DYNAMIC)
        return err_set(e, ERR_NOT_FOUND,
                       "archives need " LIBRARY ", which this program cannot load: it was linked statically, for the "
                       "container image. Use the one of the Debian package, or build it with make release");
    handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return err_set(e, ERR_NOT_FOUND,
                       "archives need " LIBRARY "; install it (Debian: apt-get install libarchive13)");
#define X(name)                                                                                                        \
    lib.name = (__typeof__(name) *)dlsym(handle, #name);                                                               \
    if (!lib.name)                                                                                                     \
        return err_set(e, ERR_NOT_FOUND, LIBRARY " has no " #name);
    FUNCTIONS(X)
#undef X
    lib.handle = handle; /* stays: it is needed again for the next layer */
    return 0;
}

/* ---- the readers ---- */

enum { READ_BYTES = 256 << 10 };

/* A bomb: some kilobytes that become a full disk. A file of zeros is packed so well too, but nobody ships one of that
 * size. */
enum { BOMB_BYTES = 1 << 30, BOMB_RATIO = 250 };

struct image_tar {
    int fd;
    struct archive *outer, *inner;
    struct image_hash *file_hash, *tar_hash;
    bool outer_begun, outer_ended;
    int64_t file_at;  /* bytes of the file that were read so far */
    int64_t outer_at; /* bytes given to the inner reader so far */
    locale_t locale;  /* names in pax headers are UTF-8; in the "C" locale the library would spoil them */
    unsigned char bytes[READ_BYTES];
};

static la_ssize_t read_file(struct archive *a, void *ctx, const void **ret)
{
    struct image_tar *t = ctx;
    ssize_t n;

    do
        n = read(t->fd, t->bytes, sizeof(t->bytes));
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        lib.archive_set_error(a, errno, "%s", "cannot read");
        return -1;
    }
    t->file_at += n;
    image_hash_add(t->file_hash, (struct str){ (const char *)t->bytes, (size_t)n });
    *ret = t->bytes;
    return n;
}

/* Also not fine: "try again", which nobody would ever stop doing. */
static bool is_fine(int rc)
{
    return rc == ARCHIVE_OK || rc == ARCHIVE_WARN;
}

static bool outer_fails(struct image_tar *t, int rc)
{
    const char *why = lib.archive_error_string(t->outer);

    if (is_fine(rc) || rc == ARCHIVE_EOF)
        return false;
    lib.archive_set_error(t->inner, lib.archive_errno(t->outer), "%s", why ? why : "cannot be unpacked");
    return true;
}

static la_ssize_t read_outer(struct archive *a, void *ctx, const void **ret)
{
    struct image_tar *t = ctx;
    struct archive_entry *ignored;
    size_t n = 0;
    la_int64_t offset;
    int rc = ARCHIVE_OK;

    if (!t->outer_begun) { /* the raw "format" has one entry: everything */
        t->outer_begun = true;
        rc = lib.archive_read_next_header(t->outer, &ignored);
    }
    while (rc != ARCHIVE_EOF && !t->outer_ended && n == 0) {
        if (outer_fails(t, rc))
            return -1;
        rc = lib.archive_read_data_block(t->outer, ret, &n, &offset);
    }
    if (outer_fails(t, rc))
        return -1;
    t->outer_ended |= rc == ARCHIVE_EOF;
    if (n)
        image_hash_add(t->tar_hash, (struct str){ *ret, n });
    t->outer_at += (int64_t)n;
    if (t->outer_at > BOMB_BYTES && t->outer_at / BOMB_RATIO > t->file_at) {
        lib.archive_set_error(a, EFBIG, "%s", "it grows without end when it is unpacked");
        return -1;
    }
    return (la_ssize_t)n;
}

static int tar_error(struct image_tar *t, struct err *e)
{
    const char *why = lib.archive_error_string(t->inner);

    if (why && strstr(why, "Unrecognized archive format"))
        return err_set(e, ERR_INVALID, "is not a tar archive");
    return err_set(e, ERR_INVALID, "is damaged: %s", why ? why : "cannot be read");
}

int image_tar_check(struct err *e)
{
    return lib_load(e);
}

int64_t image_tar_bytes(const struct image_tar *t)
{
    return t->outer_at;
}

int image_tar_open(int fd, struct image_tar **ret, struct err *e)
{
    struct image_tar *t;

    if (lib_load(e) < 0)
        return -1;
    t = xcalloc(1, sizeof(*t));
    t->fd = fd;
    t->file_hash = image_hash_new();
    t->tar_hash = image_hash_new();
    t->locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    t->outer = lib.archive_read_new();
    t->inner = lib.archive_read_new();
    if (!t->outer || !t->inner)
        abort();
    lib.archive_read_support_format_raw(t->outer);
    lib.archive_read_support_filter_gzip(t->outer);
    lib.archive_read_support_filter_bzip2(t->outer);
    lib.archive_read_support_filter_xz(t->outer);
    lib.archive_read_support_filter_zstd(t->outer);
    lib.archive_read_support_format_tar(t->inner);
    if (lib.archive_read_open(t->outer, t, NULL, read_file, NULL) != ARCHIVE_OK)
        (void)err_set(e, ERR_INVALID, "cannot be read: %s", lib.archive_error_string(t->outer));
    else if (lib.archive_read_open(t->inner, t, NULL, read_outer, NULL) != ARCHIVE_OK)
        (void)tar_error(t, e);
    else {
        *ret = t;
        return 0;
    }
    image_tar_close(t);
    return -1;
}

void image_tar_close(struct image_tar *t)
{
    if (!t)
        return;
    lib.archive_read_free(t->inner);
    lib.archive_read_free(t->outer);
    image_hash_free(t->file_hash);
    image_hash_free(t->tar_hash);
    if (t->locale)
        freelocale(t->locale);
    free(t);
}

/* ---- entries ---- */

static const struct {
    unsigned type;
    enum image_tar_kind kind;
} kinds[] = {
    { AE_IFREG, TAR_FILE },
    { AE_IFDIR, TAR_DIR },
    { AE_IFLNK, TAR_SYMLINK },
    { AE_IFIFO, TAR_FIFO },
};

static enum image_tar_kind kind_of(struct archive_entry *entry)
{
    unsigned type = lib.archive_entry_filetype(entry);

    if (lib.archive_entry_hardlink(entry))
        return TAR_HARDLINK;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (kinds[i].type == type)
            return kinds[i].kind;
    return TAR_OTHER;
}

static struct str capability_of(struct archive_entry *entry)
{
    const char *name;
    const void *value;
    size_t n;

    if (lib.archive_entry_xattr_reset(entry) == 0)
        return STR_NULL;
    while (lib.archive_entry_xattr_next(entry, &name, &value, &n) == ARCHIVE_OK)
        if (name && strcmp(name, "security.capability") == 0 && n <= 64)
            return (struct str){ value, n };
    return STR_NULL;
}

static void take_entry(struct archive_entry *from, struct image_tar_entry *ret)
{
    enum image_tar_kind kind = kind_of(from);

    *ret = (struct image_tar_entry){
        .kind = kind,
        .path = str_of(lib.archive_entry_pathname(from)),
        .link = str_of(kind == TAR_HARDLINK ? lib.archive_entry_hardlink(from) : lib.archive_entry_symlink(from)),
        .mode = lib.archive_entry_perm(from) & 07777,
        .uid = lib.archive_entry_uid(from),
        .gid = lib.archive_entry_gid(from),
        .size = lib.archive_entry_size(from),
        .mtime = { lib.archive_entry_mtime(from), lib.archive_entry_mtime_nsec(from) },
        .capability = capability_of(from),
    };
}

int image_tar_next(struct image_tar *t, struct image_tar_entry *ret, struct err *e)
{
    locale_t before = t->locale ? uselocale(t->locale) : (locale_t)0;
    struct archive_entry *entry;
    int rc = lib.archive_read_next_header(t->inner, &entry);

    if (is_fine(rc))
        take_entry(entry, ret);
    if (t->locale)
        (void)uselocale(before);
    if (rc == ARCHIVE_EOF)
        return t->outer_at ? 0 : err_set(e, ERR_INVALID, "is empty");
    if (!is_fine(rc))
        return tar_error(t, e);
    if (ret->path.n == 0)
        return err_set(e, ERR_INVALID, "is damaged: an entry has no name that can be read");
    return 1;
}

int image_tar_data(struct image_tar *t, struct str *ret, int64_t *ret_offset, struct err *e)
{
    const void *p;
    size_t n;
    la_int64_t offset;
    int rc = lib.archive_read_data_block(t->inner, &p, &n, &offset);

    if (rc == ARCHIVE_EOF)
        return 0;
    if (!is_fine(rc))
        return tar_error(t, e);
    *ret = (struct str){ p, n };
    *ret_offset = offset;
    return 1;
}

/* A tar may be followed by padding, which belongs to the digest. */
int image_tar_finish(struct image_tar *t, struct image_digest *ret_file, struct image_digest *ret_tar, struct err *e)
{
    const void *p;
    la_ssize_t n;

    while ((n = read_outer(t->inner, t, &p)) > 0)
        ;
    if (n < 0)
        return tar_error(t, e);
    while ((n = read_file(t->outer, t, &p)) > 0)
        ;
    if (n < 0)
        return err_errno(e, "read");
    image_hash_end(t->file_hash, ret_file);
    image_hash_end(t->tar_hash, ret_tar);
    return 0;
}
