/* box_ids.c - mapping of the container's ids, for its files and its processes
 *
 * The container's ids 0…65535 are those from spec->id_base on outside. Files of the image and of volumes keep their
 * ids on disk and are shown with the container's through idmapped mounts. On a file system that does not support
 * them, files show the overflow user in the container, and new files get the ids of the machine. The user namespace
 * is entered last, after all mounts: programs in the container have no rights over its mounts or its network.
 */
#include "node/container/box_internal.h"

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>

enum { NO_GROUP = 65534 };

bool box_ids_map(const struct box *b, int mount)
{
    struct mount_attr set = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)b->spec->user_ns };

    return b->spec->id_base && b->spec->user_ns > 0 && mount_setattr(mount, "", AT_EMPTY_PATH, &set, sizeof(set)) == 0;
}

uint32_t box_ids_outer(const struct box *b, uint32_t id)
{
    return b->spec->id_base + id;
}

/* A file in an idmapped mount can be created only by a process with one of the container's ids. */
void box_ids_begin(const struct box *b)
{
    if (!b->spec->id_base)
        return;
    (void)setfsgid(b->spec->id_base);
    (void)setfsuid(b->spec->id_base);
    box_caps_raise(); /* the change of ids drops the capabilities to open files of others */
}

void box_ids_end(const struct box *b)
{
    int error = errno;

    if (!b->spec->id_base)
        return;
    (void)setfsuid(0);
    (void)setfsgid(0);
    errno = error;
}

/* ---- processes ---- */

static int ids_check(const char *what, uint32_t id, struct err *e)
{
    return id < BOX_IDS ? 0
                        : err_set(e, ERR_FORBIDDEN, "%s %u: the user namespace of this pod has only ids 0 to %d", what,
                                  id, BOX_IDS - 1);
}

/* Without a user namespace, processes run with the ids of the machine. */
static void ids_shift(struct box *b)
{
    b->who.uid += b->spec->id_base;
    b->who.gid += b->spec->id_base;
    VEC_FOREACH(g, &b->who.groups)
        *g += b->spec->id_base;
}

/* In a run of an ordinary user, group 0 is that user's group. */
static void ids_leave_root_group(struct box *b)
{
    size_t n = 0;

    if (b->who.gid == 0)
        b->who.gid = NO_GROUP;
    VEC_FOREACH(g, &b->who.groups)
        if (*g)
            b->who.groups.v[n++] = *g;
    b->who.groups.n = n;
}

int box_ids_fit(struct box *b, struct err *e)
{
    const struct box_spec *s = b->spec;

    if (s->has_no_root_group && !s->id_base)
        ids_leave_root_group(b);
    if (!s->id_base)
        return 0;
    if (ids_check("user", b->who.uid, e) < 0 || ids_check("group", b->who.gid, e) < 0)
        return -1;
    VEC_FOREACH(g, &b->who.groups)
        if (ids_check("group", *g, e) < 0)
            return -1;
    if (!s->enters_user_ns)
        ids_shift(b);
    return 0;
}

int box_ids_enter(const struct box_spec *s, struct err *e)
{
    if (!s->id_base || !s->enters_user_ns)
        return 0;
    if (setns(s->user_ns, CLONE_NEWUSER) < 0)
        return err_errno(e, "enter the pod's user namespace");
    if (setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
        return err_errno(e, "become root of the pod's user namespace");
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* a change of ids clears it */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    close(s->user_ns); /* process 1 keeps no descriptor of use to the program */
    return 0;
}
