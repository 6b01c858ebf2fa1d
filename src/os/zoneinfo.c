/* zoneinfo.c - time zone files, by name */
#include "os/zoneinfo.h"

#include "base/util.h"
#include "os/io.h"

#include <errno.h>
#include <stdlib.h>

enum { ZONE_MAX = 1 << 18 };

static int read_below(struct str name, struct buf *out)
{
    const char *dir = getenv("TZDIR");
    autoclose int fd = open(dir && dir[0] ? dir : "/usr/share/zoneinfo", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autobuf path = { 0 };
    struct str rest = name, part;

    while (str_split(&rest, '/', &part))
        if (!part.n || str_is(part, ".") || str_is(part, "..") || memchr(part.p, '\0', part.n)) {
            errno = EINVAL;
            return -1;
        }
    buf_str(&path, name);
    if (fd < 0 || file_read(fd, path.p, 0, ZONE_MAX, out) < 0)
        return -1;
    return 0;
}

int zoneinfo_read(struct str name, struct buf *out)
{
    const char *own = getenv("TZ");

    if (name.n)
        return read_below(name, out);
    if (own && own[0] == ':')
        own++;
    if (own && own[0] == '/')
        return file_read(AT_FDCWD, own, 0, ZONE_MAX, out);
    if (own)
        return read_below(own[0] ? str_of(own) : STR("UTC"), out);
    return file_read(AT_FDCWD, "/etc/localtime", 0, ZONE_MAX, out);
}
