/* project.c - what a tree takes on the disk, counted by the file system */
#include "os/project.h"

#include "base/arena.h"
#include "base/rand.h"
#include "base/str.h"
#include "base/util.h"
#include "os/project_internal.h"

#include <fcntl.h>

enum {
    IDS_BEGIN = 0x50000000, /* far from those that people and kubelets count up from 1 or a million */
    IDS = 0x10000000,
    TRIES = 8,
};

static bool project_is_named(uint32_t id)
{
    static const char *const files[] = PROJECT_FILES;
    autoarena a = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct str rest = project_file(&a, files[i]), line, part;
        uint64_t number;

        while (str_split(&rest, '\n', &line))
            while (str_split(&line, ':', &part))
                if (str_to_u64(str_trim(part), &number) == 0 && number == id)
                    return true;
    }
    return false;
}

/* Does the file system count for us, and is this project unused? */
static int project_look(int fd, uint32_t id, bool *ret_is_free)
{
    struct if_dqblk q = { 0 };

    if (project_get_quota(fd, id, &q) < 0)
        return -1;
    *ret_is_free = !q.dqb_curspace && !q.dqb_curinodes && !q.dqb_bhardlimit && !q.dqb_bsoftlimit && !q.dqb_ihardlimit &&
                   !q.dqb_isoftlimit && !project_is_named(id);
    return 0;
}

static bool project_set(int fd, struct fsxattr *x, uint32_t id)
{
    x->fsx_projid = id;
    x->fsx_xflags = id ? x->fsx_xflags | FS_XFLAG_PROJINHERIT : x->fsx_xflags & ~(uint32_t)FS_XFLAG_PROJINHERIT;
    return project_set_attributes(fd, x) == 0;
}

/* Only our directory is in it: no other process took the number at the same time. */
static bool is_ours_alone(int fd, uint32_t id)
{
    struct if_dqblk q = { 0 };

    return project_get_quota(fd, id, &q) == 0 && q.dqb_curinodes == 1;
}

/* An id of ours that it did not get from the directory above, which others use too. */
static bool is_counted(int fd, const struct fsxattr *x)
{
    autoclose int above = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct fsxattr theirs = { 0 };

    return x->fsx_projid >= IDS_BEGIN && x->fsx_projid - IDS_BEGIN < IDS && (x->fsx_xflags & FS_XFLAG_PROJINHERIT) &&
           above >= 0 && project_get_attributes(above, &theirs) == 0 && theirs.fsx_projid != x->fsx_projid;
}

bool project_begin(int fd)
{
    struct fsxattr x = { 0 };

    if (project_get_attributes(fd, &x) < 0)
        return false;
    for (int i = 0; i < TRIES && !x.fsx_projid; i++) { /* whose it is already may have limited it */
        uint32_t id = IDS_BEGIN + (uint32_t)(rand_os_u64() % IDS);
        bool is_free;

        if (project_look(fd, id, &is_free) < 0)
            return false;
        if (!is_free)
            continue;
        if (!project_set(fd, &x, id))
            return false;
        if (!is_ours_alone(fd, id) && !project_set(fd, &x, 0))
            return false;
    }
    return is_counted(fd, &x);
}

int project_use(int fd, struct project_use *ret)
{
    struct fsxattr x = { 0 };
    struct if_dqblk q = { 0 };

    if (project_get_attributes(fd, &x) < 0 || !is_counted(fd, &x) || project_get_quota(fd, x.fsx_projid, &q) < 0)
        return -1;
    *ret = (struct project_use){ .bytes = (int64_t)q.dqb_curspace, .files = (int64_t)q.dqb_curinodes };
    return 0;
}
