/* box_changes.c - where a container's changes can lie, and what is left there */
#include "node/container/box_internal.h"

#include <sys/vfs.h>
#include <sys/xattr.h>

struct part {
    const char *name;
    int flags;
};

/* By their names: to look for them would take five times the calls. */
static bool remove_parts(int dir, const struct part *parts, size_t n)
{
    bool is_gone = true;

    for (size_t i = 0; i < n; i++)
        is_gone &= unlinkat(dir, parts[i].name, parts[i].flags) == 0;
    return is_gone;
}

static int open_layer(int dir, const char *path)
{
    return openat(dir, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool box_layer_empty(int dir, const char *path)
{
    static const struct part work[] = { { "work0/work/incompat/volatile/dirty", 0 },
                                        { "work0/work/incompat/volatile", AT_REMOVEDIR },
                                        { "work0/work/incompat", AT_REMOVEDIR },
                                        { "work0/work", AT_REMOVEDIR } };
    autoclose int layer = open_layer(dir, path);

    return layer >= 0 && remove_parts(layer, work, ARRAY_LEN(work)) && box_layer_is_new(layer);
}

bool box_layer_remove(int dir, const char *path)
{
    static const struct part both[] = { { "work0", AT_REMOVEDIR }, { "upper0", AT_REMOVEDIR } };
    autoclose int layer = open_layer(dir, path);

    if (layer >= 0)
        (void)remove_parts(layer, both, ARRAY_LEN(both));
    return unlinkat(dir, path, AT_REMOVEDIR) == 0;
}

/* The number that the kernel gives a file system stays with it: no container can set it, and it says nothing. */
static bool has_attributes(int fd)
{
    static const char own[] = "trusted.overlay.uuid";
    char names[64];
    ssize_t n = flistxattr(fd, names, sizeof(names));

    return n != 0 && (n != sizeof(own) || memcmp(names, own, sizeof(own)) != 0);
}

bool box_layer_is_new(int layer)
{
    autoclose int upper = openat(layer, "upper0", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    return upper >= 0 && fstat(upper, &st) == 0 && (st.st_mode & 07777) == 0755 && st.st_uid == geteuid() &&
           st.st_gid == getegid() && !has_attributes(upper) && dir_count(layer, ".", 3) == 2 &&
           dir_count(layer, "upper0", 1) == 0 && dir_count(layer, "work0", 1) == 0 && futimens(upper, NULL) == 0;
}

/* File systems that cannot be the upper layer of an overlay (no whiteouts, no attributes, or an overlay themselves).
 * Asking first is cheaper than a failed mount; what is not in the list is found out by trying. */
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
