/* read.c - reading a file once, from start to end */
#include "cli/read.h"

#include "base/buf.h"
#include "base/util.h"
#include "os/io.h"

#include <fcntl.h>
#include <sys/stat.h>

static int too_big(struct err *e)
{
    return err_set(e, ERR_TOO_BIG, "larger than %d MiB: split it, or check the file name",
                   READ_MAX_BYTES / 1024 / 1024);
}

/* A directory opens fine and fails at the first read with a useless message. */
static int read_check_kind(int fd, struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_errno(e, "cannot read its type");
    if (S_ISDIR(st.st_mode))
        return err_set(e, ERR_INVALID, "is a directory; name the files in it");
    if (S_ISREG(st.st_mode) && st.st_size > READ_MAX_BYTES)
        return too_big(e);
    return 0;
}

int read_file(struct arena *a, const char *path, struct str *ret, struct err *e)
{
    bool is_stdin = strcmp(path, "-") == 0;
    autoclose int fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    autobuf bytes = { 0 };
    int rc;

    if (fd < 0)
        return err_errno(e, "cannot open");
    if (read_check_kind(fd, e) < 0)
        return -1;
    rc = read_all(fd, READ_MAX_BYTES, &bytes);
    if (rc)
        return rc < 0 ? err_errno(e, "cannot read") : too_big(e);
    *ret = arena_str(a, buf_view(&bytes));
    return 0;
}
