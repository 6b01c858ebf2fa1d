/* box_changes.c - directories for a container's changes: which file systems can hold them, and removing empty ones */
#include "node/container/box_internal.h"

#include <sys/vfs.h>

/* By fixed names: listing the directories would take five times the system calls. */
bool box_layer_remove(int dir, const char *path)
{
    static const struct {
        const char *name;
        int flags;
    } parts[] = { { "work0/work/incompat/volatile/dirty", 0 },
                  { "work0/work/incompat/volatile", AT_REMOVEDIR },
                  { "work0/work/incompat", AT_REMOVEDIR },
                  { "work0/work", AT_REMOVEDIR },
                  { "work0", AT_REMOVEDIR },
                  { "upper0", AT_REMOVEDIR } };
    autoclose int layer = openat(dir, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    for (size_t i = 0; layer >= 0 && i < ARRAY_LEN(parts); i++)
        (void)unlinkat(layer, parts[i].name,
                       parts[i].flags); /* a directory with changes stays, and so does the layer */
    return unlinkat(dir, path, AT_REMOVEDIR) == 0;
}

/* File systems that cannot hold the upper layer of an overlay: no whiteouts, no extended attributes, or an overlay
 * themselves. Checking first is cheaper than a failed mount; types that are not listed are tried. */
bool box_can_hold_changes(int dir)
{
    static const uint32_t types[] = {
        0x794c7630 /* overlay */, 0x6969 /* nfs */,       0x65735546 /* fuse */,
        0xff534d42 /* cifs */,    0xfe534d42 /* smb2 */,  0x01021997 /* 9p */,
        0x4d44 /* vfat */,        0x2011bab0 /* exfat */, 0x0bd00bd0 /* lustre */,
    };
    struct statfs fs;

    if (fstatfs(dir, &fs) < 0)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if ((uint32_t)fs.f_type == types[i])
            return false;
    return true;
}
