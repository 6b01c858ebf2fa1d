/* file.c - small files with credentials */
#include "kube/kube_internal.h"

#include "os/io.h"

#include <errno.h>

int kube_file_read(const char *path, size_t max, struct buf *out, struct err *e)
{
    int rc = file_read(AT_FDCWD, path, 0, max, out);

    if (rc < 0 && errno == EINVAL)
        return err_set(e, ERR_INVALID, "is not a regular file");
    if (rc < 0)
        return err_errno(e, "cannot be read");
    return rc ? err_set(e, ERR_TOO_BIG, "has more than %zu bytes", max) : 0;
}
