/* box_mounts.c - the mounts of the host, from /proc/self/mountinfo
 *
 * The mount namespace of a container starts as a copy of that of the process it is forked from. So that process lists
 * the mounts once; forks inherit the list, and it is read again when the kernel reports a change. The kernel reports
 * a change once per open file of mountinfo: the listing process has one, and gives each process that it forks
 * another.
 */
#include "node/container/box_internal.h"

#include "base/codec.h"

#include <errno.h>
#include <linux/stat.h>
#include <poll.h>

static const char mountinfo[] = "/proc/self/mountinfo";

/* Directories that the container has of its own. */
static const char *const own_dirs[] = { "/proc", "/sys", "/dev", "/run", "/tmp" };

/* No software for a container is here, and there may be hundreds of mounts. */
static const char *const dull_dirs[] = {
    "/boot",
    "/efi",
    "/snap",
    "/var/snap",
    "/var/lib/docker",
    "/var/lib/containers",
    "/var/lib/kubelet",
    "/var/lib/containerd",
    "/var/lib/lxcfs",
    "/var/lib/nfs/rpc_pipefs",
};

static const char *const dull_types[] = {
    "autofs", "binfmt_misc", "bpf",        "cgroup",     "cgroup2",   "configfs", "debugfs",
    "devpts", "devtmpfs",    "efivarfs",   "fusectl",    "hugetlbfs", "mqueue",   "nsfs",
    "proc",   "pstore",      "rpc_pipefs", "securityfs", "selinuxfs", "sysfs",    "tracefs",
};

static bool mounts_is_in(struct str path, const char *const *dirs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (box_is_below(path, str_of(dirs[i])))
            return true;
    return false;
}

bool box_has_own(struct str path)
{
    return mounts_is_in(path, own_dirs, ARRAY_LEN(own_dirs));
}

static bool is_dull_type(struct str type)
{
    for (size_t i = 0; i < ARRAY_LEN(dull_types); i++)
        if (str_is(type, dull_types[i]))
            return true;
    return false;
}

/* ---- a line of mountinfo ---- */

static unsigned attr_of(struct str options)
{
    static const struct {
        const char *name;
        unsigned attr;
    } known[] = { { "ro", MOUNT_ATTR_RDONLY }, { "nosuid", MOUNT_ATTR_NOSUID }, { "noexec", MOUNT_ATTR_NOEXEC } };
    unsigned attr = MOUNT_ATTR_NODEV;
    struct str one;

    while (str_split(&options, ',', &one))
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
            if (str_is(one, known[i].name))
                attr |= known[i].attr;
    return attr;
}

/* "27 1 254:0 / /home rw,relatime shared:1 - ext4 /dev/vda rw": field 0 is the id, 1 the parent's id, 4 the mount
 * point, 5 the options; after "-" come the type and the source. */
static void add_line(struct arena *a, struct str line, struct box_mounts *l)
{
    struct str field[6], word;
    struct box_host_mount m = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(field); i++)
        if (!str_split(&line, ' ', &field[i]))
            return;
    m.path = octal_unescape(a, field[4]);
    if (str_to_u64(field[0], &m.id) < 0 || str_to_u64(field[1], &m.parent) < 0)
        return;
    while (str_split(&line, ' ', &word) && !str_is(word, "-"))
        ;
    m.attr = attr_of(field[5]);
    m.is_dull = !str_split(&line, ' ', &word) || is_dull_type(word) ||
                mounts_is_in(m.path, dull_dirs, ARRAY_LEN(dull_dirs));
    m.is_ours = str_split(&line, ' ', &word) && str_is(word, "pumice");
    *vec_push(a, &l->all) = m;
}

/* ---- which mounts are visible ---- */

static const struct box_host_mount *mounts_find(const struct box_mounts *l, uint64_t id)
{
    VEC_FOREACH(m, &l->all)
        if (m->id == id)
            return m;
    return NULL;
}

/* Is 'm' mounted in 'other', directly or not? */
static bool is_mounted_in(const struct box_mounts *l, const struct box_host_mount *m,
                          const struct box_host_mount *other)
{
    for (size_t i = 0; m && m != other && i < l->all.n; i++)
        m = mounts_find(l, m->parent);
    return m == other;
}

/* Is this mount visible at its path, or covered by another? Any mount on the way that it is not mounted in may cover
 * it: then ask the kernel. */
static bool is_mount_visible(struct arena *a, const struct box_mounts *l, const struct box_host_mount *m)
{
    autoclose int fd = -1;
    struct statx st;
    bool is_sure = true;

    VEC_FOREACH(other, &l->all)
        if (box_is_below(m->path, other->path) && !is_mounted_in(l, m, other))
            is_sure = false;
    if (is_sure)
        return true;
    fd = open(arena_cstr(a, m->path), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &st) == 0 &&
           st.stx_mnt_id == m->id;
}

static int list_mounts(struct arena *a, struct box_mounts *ret, struct err *e)
{
    autobuf text = { 0 };
    struct str rest, line;

    *ret = (struct box_mounts){ 0 };
    if (file_read(AT_FDCWD, mountinfo, 0, SIZE_MAX, &text) < 0) /* the kernel limits the number of mounts */
        return err_errno(e, "read %s", mountinfo);
    rest = arena_str(a, buf_view(&text));
    while (str_split(&rest, '\n', &line))
        add_line(a, line, ret);
    VEC_FOREACH(m, &ret->all)
        if (m->path.n > 1 && m->path.p[0] == '/' && !box_has_own(m->path)) {
            m->is_shown = !m->is_dull && is_mount_visible(a, ret, m);
            m->is_below = true;
        }
    return 0;
}

/* ---- the inherited list ---- */

static struct {
    int news; /* the listing process's own mountinfo; -1: not prepared */
    int next; /* for the next fork, at a descriptor number that the fork keeps open */
    bool is_listed;
    struct arena arena;
    struct box_mounts list;
} known = { .news = -1, .next = -1 };

static int open_news(void)
{
    return open(mountinfo, O_RDONLY | O_CLOEXEC);
}

static bool mounts_has_news(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLPRI };

    return poll(&p, 1, 0) != 0; /* an error counts as a change */
}

void box_mounts_prepare(void)
{
    if (known.news >= 0)
        close(known.news); /* of a mount namespace we may have left */
    if (known.next >= 0)
        close(known.next);
    known.news = open_news();
    known.next = open_news();
    known.is_listed = false;
}

void box_mounts_refresh(void)
{
    autoclose int next = known.news < 0 || known.next < 0 ? -1 : open_news();
    bool is_old = next >= 0 && (mounts_has_news(known.news) || !known.is_listed);

    if (next < 0 || dup3(next, known.next, O_CLOEXEC) < 0) {
        known.is_listed = false;
        return;
    }
    if (!is_old)
        return;
    arena_done(&known.arena);
    known.is_listed = list_mounts(&known.arena, &known.list, NULL) == 0;
}

void box_mounts_recheck(void)
{
    if (known.is_listed && mounts_has_news(known.next))
        known.is_listed = false;
}

int box_mounts_find(struct arena *a, const struct box_mounts **ret, struct err *e)
{
    struct box_mounts *own;

    *ret = &known.list;
    if (known.is_listed)
        return 0;
    *ret = own = arena_array(a, struct box_mounts, 1);
    return list_mounts(a, own, e);
}
