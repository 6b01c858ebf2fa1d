/* cgroup_kill.c - stop and end all that runs in a group */
#include "node/cgroup/cgroup_internal.h"

#include "base/clock.h"
#include "base/util.h"

#include <errno.h>
#include <signal.h>
#include <fcntl.h>

enum { FREEZE_MS = 1000 }; /* who is in the middle of a slow system call stops after it */

static const struct cgroup_hier *freezer_of(const struct cgroups *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->hiers[i].freezes)
            return &c->hiers[i];
    return NULL;
}

static int freeze(const struct cgroup_hier *h, int dir, bool on, int ms)
{
    return h->is_v2 ? cgroup_v2_freeze(dir, on, ms) : cgroup_v1_freeze(dir, on, ms);
}

int cgroup_freeze_all(const struct cgroups *c, bool on)
{
    const struct cgroup_hier *h = freezer_of(c);

    return h && h->ours >= 0 ? freeze(h, h->ours, on, FREEZE_MS) : -1;
}

void cgroup_opened_done(struct cgroup_opened *o)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->dir[i] >= 0)
            close(o->dir[i]);
}

static bool cgroup_kill_is_empty(const struct cgroups *c, const struct cgroup_opened *o)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->dir[i] >= 0 && !cgroup_tree_is_empty(o->dir[i], c->hiers[i].is_v2))
            return false;
    return true;
}

static void thaw_visit(int dir, void *arg)
{
    (void)freeze(arg, dir, false, 0);
}

/* Without cgroup.kill: freeze all so that none can fork, signal all, thaw them so that they die. Where nothing can be
 * frozen the passes that follow must outrun the forks, so no more are allowed meanwhile. */
static void kill_by_hand(const struct cgroups *c, const struct cgroup_opened *o)
{
    const struct cgroup_hier *freezer = freezer_of(c);
    size_t at = freezer ? (size_t)(freezer - c->hiers) : 0;

    if (freezer)
        (void)freeze(freezer, o->dir[at], true, 20); /* not all stopped in time: the next pass sees them */
    for (size_t i = 0; i < o->n; i++) {
        if (!freezer && (c->hiers[i].ctrls & CGROUP_CTRL_PIDS))
            (void)cgroup_file_write(o->dir[i], "pids.max", "0");
        if (o->dir[i] >= 0)
            cgroup_tree_signal(o->dir[i], SIGKILL);
    }
    if (freezer) /* also groups inside that were frozen on their own: v1 keeps the dead waiting there */
        cgroup_tree_walk(o->dir[at], thaw_visit, (void *)freezer);
}

static void kill_pass(const struct cgroups *c, const struct cgroup_opened *o, int pass)
{
    if (c->has_kill)
        (void)cgroup_file_write(o->dir[0], "cgroup.kill", "1");
    if (!c->has_kill || pass > 0) /* a process may be in the v1 half only */
        kill_by_hand(c, o);
}

/* Limits and state as they were: the group can be used again. */
struct cgroup_kill_kept {
    size_t at;
    struct buf pids;
};

static int kill_until(const struct cgroups *c, const struct cgroup_opened *o, const char *path, int ms, struct err *e)
{
    int64_t until_ms = clock_mono_ms(&clock_real) + ms, us = 200;

    for (int pass = 0; !cgroup_kill_is_empty(c, o); pass++) {
        if (pass > 0 && clock_mono_ms(&clock_real) >= until_ms)
            return err_set(e, ERR_IO, "cgroup %s: processes are still alive %d ms after SIGKILL", path, ms);
        kill_pass(c, o, pass);
        cgroup_sleep_us(us);
        us = MIN_OF(us * 2, 10000);
    }
    return 0;
}

int cgroup_kill_opened(const struct cgroups *c, const struct cgroup_opened *o, const char *path, int ms, struct err *e)
{
    const struct cgroup_hier *freezer = freezer_of(c);
    struct cgroup_kill_kept kept = { 0 };
    int r;

    for (size_t i = 0; !freezer && !c->has_kill && i < o->n; i++)
        if ((c->hiers[i].ctrls & CGROUP_CTRL_PIDS) && cgroup_file_read(o->dir[i], "pids.max", &kept.pids) == 0)
            kept.at = i;
    r = kill_until(c, o, path, ms, e);
    if (kept.pids.n)
        (void)cgroup_file_write(o->dir[kept.at], "pids.max", kept.pids.p);
    if (freezer)
        cgroup_tree_walk(o->dir[freezer - c->hiers], thaw_visit, (void *)freezer);
    buf_done(&kept.pids);
    return r;
}

int cgroup_open_all(const struct cgroups *c, const char *path, bool must, struct cgroup_opened *o, struct err *e)
{
    for (; o->n < c->n; o->n++) {
        o->dir[o->n] = cgroup_dir_open(c->hiers[o->n].ours, path);
        if (o->dir[o->n] < 0 && (must || errno != ENOENT))
            return err_errno(e, "cgroup %s", path);
    }
    return 0;
}

int cgroup_kill(struct cgroups *c, const char *path, int ms, struct err *e)
{
    autoopened o = { .n = 0 };
    int depth;

    if (cgroup_path_check(path, &depth, e) < 0)
        return -1;
    if (!c->n)
        return err_set(e, ERR_IO, "cgroup %s: cannot kill its processes: this host has no cgroups", path);
    if (cgroup_open_all(c, path, true, &o, e) < 0)
        return -1;
    return cgroup_kill_opened(c, &o, path, ms, e);
}
