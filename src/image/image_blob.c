/* image_blob.c - blobs from registries: files named by their digest
 *
 * A blob gets its name when it is whole, checked and on disk. Until then it is a part. The process that fetches it
 * holds its lock: another that wants the blob waits for the lock, and after a crash continues with the part.
 */
#include "image/image_internal.h"
#include "image/registry.h"
#include "os/io.h"

#include <errno.h>
#include <sys/file.h>

int image_store_lock(int store, bool is_alone, int *ret_fd, struct err *e)
{
    int fd = openat(store, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600), rc;

    if (fd < 0)
        return err_errno(e, "open the lock of the image store");
    do
        rc = flock(fd, is_alone ? LOCK_EX | LOCK_NB : LOCK_SH);
    while (rc < 0 && errno == EINTR);
    if (rc < 0) {
        (void)(errno == EWOULDBLOCK ? err_set(e, ERR_CONFLICT, "another process is pulling an image; try again later")
                                    : err_errno(e, "lock the image store"));
        close(fd);
        return -1;
    }
    *ret_fd = fd;
    return 0;
}

const char *image_blob_path(struct arena *a, struct str digest)
{
    return arena_fmt(a, "blobs/sha256/%.*s", STR_ARG(str_from(digest, 7))).p;
}

static const char *part_path(struct arena *a, struct str digest)
{
    return arena_fmt(a, "blobs/part-%.*s", STR_ARG(str_from(digest, 7))).p;
}

bool image_blob_has(int store, struct str digest, int64_t size)
{
    autoarena a = { 0 };
    struct stat st;

    return fstatat(store, image_blob_path(&a, digest), &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           (size < 0 || st.st_size == size);
}

void image_blob_remove(int store, struct str digest)
{
    autoarena a = { 0 };

    (void)unlinkat(store, image_blob_path(&a, digest), 0);
}

void image_part_remove(int store, struct str digest)
{
    autoarena a = { 0 };

    (void)unlinkat(store, part_path(&a, digest), 0);
}

static int make_folders(int store, struct err *e)
{
    static const char *const all[] = { "blobs", "blobs/sha256" };

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (mkdirat(store, all[i], 0700) < 0 && errno != EEXIST)
            return err_errno(e, "create %s in the image store", all[i]);
    return 0;
}

/* The file may have got its name, or been removed, while we waited for the lock. */
static bool is_still(int store, const char *path, int fd)
{
    struct stat ours, named;

    return fstat(fd, &ours) == 0 && fstatat(store, path, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

int image_part_open(int store, struct registry_blob *b, struct err *e)
{
    autoarena a = { 0 };
    const char *path = part_path(&a, b->digest);
    struct stat st;

    if (make_folders(store, e) < 0)
        return -1;
    while (!image_blob_has(store, b->digest, b->size)) {
        int fd = openat(store, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

        if (fd < 0)
            return err_errno(e, "create %s in the image store", path);
        if (flock(fd, LOCK_EX) == 0 && is_still(store, path, fd) && fstat(fd, &st) == 0) {
            b->fd = fd;
            b->have = st.st_size;
            return 0;
        }
        close(fd);
    }
    return 1;
}

int image_part_publish(int store, struct str digest, int fd, struct err *e)
{
    autoarena a = { 0 };

    if (fdatasync(fd) < 0)
        return err_errno(e, "sync a layer of the image");
    if (renameat(store, part_path(&a, digest), store, image_blob_path(&a, digest)) < 0)
        return err_errno(e, "name a layer in the image store");
    return 0;
}

int image_blob_put(int store, struct str digest, struct str bytes, struct err *e)
{
    struct registry_blob b = { .digest = digest, .size = (int64_t)bytes.n };
    int rc = image_part_open(store, &b, e);

    if (rc)
        return rc < 0 ? -1 : 0;
    if (ftruncate(b.fd, 0) < 0 || pwrite_all(b.fd, bytes, 0) < 0) {
        rc = io_errno(e, "write into the image store");
        image_part_remove(store, digest);
    } else {
        rc = image_part_publish(store, digest, b.fd, e);
    }
    close(b.fd);
    return rc;
}
