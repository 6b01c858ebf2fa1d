/* image_tar.c - fuzz: any file is an archive or not; what its entries say can be used, and digests are those of all its
 * bytes */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "image/image_internal.h"
#include "os/io.h"

enum { ENOUGH_BYTES = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(const struct image_tar_entry *entry)
{
    assert(entry->kind < IMAGE_TAR_KIND_MAX && entry->path.n && !str_has_char(entry->path, '\0'));
    assert(!str_has_char(entry->link, '\0') && entry->size >= 0 && (entry->kind == TAR_FILE || entry->size == 0));
    assert(entry->mode <= 07777 && entry->capability.n <= 64);
}

/* 0: to the end; -1: it is none, or large. */
static int read_entries(struct image_tar *t)
{
    struct image_tar_entry entry;
    struct str block;
    int64_t offset;
    int rc;

    while ((rc = image_tar_next(t, &entry, NULL)) > 0) {
        int64_t sum = 0;

        check_entry(&entry);
        if (entry.path.n % 2) /* the other half is left, and skipped */
            continue;
        while ((rc = image_tar_data(t, &block, &offset, NULL)) > 0) {
            assert(block.n && offset == sum);
            sum += (int64_t)block.n;
            if (image_tar_bytes(t) > ENOUGH_BYTES)
                return -1;
        }
        assert(rc < 0 || sum == entry.size);
        if (rc < 0)
            return -1;
    }
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = { (const char *)data, size };
    struct image_digest file, tar, want;
    autoclose int fd = memory_file("fuzz", input);
    struct image_tar *t = NULL;

    assert(fd >= 0);
    if (image_tar_open(fd, &t, NULL) == 0 && read_entries(t) == 0 && image_tar_finish(t, &file, &tar, NULL) == 0) {
        image_digest_of(input, &want);
        assert(strcmp(file.text, want.text) == 0);
    }
    image_tar_close(t);
    return 0;
}
