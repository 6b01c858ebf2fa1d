/* cgroup_open.c - find what the host has, make our group in it, and take it away again
 *
 * Opening goes in steps that can be undone: find a base in each hierarchy (nothing is changed), look for an older group
 * of our name, make ours, see what it can do. A hierarchy that fails on the way is left out; the others go on.
 */
#include "node/cgroup/cgroup_internal.h"

#include "base/util.h"
#include "node/userns/user.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static void hier_done(struct cgroup_hier *h)
{
    if (h->ours >= 0)
        close(h->ours);
    if (h->base >= 0)
        close(h->base);
    h->ours = h->base = -1;
}

/* 'place': what /proc/self/cgroup said to whom we follow; empty: we look. */
static int cgroup_open_read_host(struct cgroups *c, struct str place, struct cgroup_host *ret, struct err *e)
{
    autobuf mounts = { 0 }, self = { 0 };

    *ret = (struct cgroup_host){ 0 };
    if (cgroup_file_read(AT_FDCWD, "/proc/self/mountinfo", &mounts) < 0)
        return err_errno(e, "read /proc/self/mountinfo");
    if (!place.n && cgroup_file_read(AT_FDCWD, "/proc/self/cgroup", &self) < 0)
        return errno == ENOENT ? 0 : err_errno(e, "read /proc/self/cgroup"); /* a kernel without cgroups */
    c->place = arena_str(&c->arena, place.n ? place : buf_view(&self));
    cgroup_host_read(&c->arena, buf_view(&mounts), c->place, ret);
    return 0;
}

/* The first thing that stood in the way, for cgroups_open()'s 'ret_why'. */
struct trouble {
    enum cgroup_hitch hitch;
    const char *path;
    bool is_weak; /* in a v2 tree without controllers of ours, as on hybrid hosts: trouble in v1 says more */
};

enum {
    LIMITS = CGROUP_CTRL_CPU | CGROUP_CTRL_MEMORY | CGROUP_CTRL_PIDS,
    WANTED = LIMITS | CGROUP_CTRL_FREEZER | CGROUP_CTRL_CPUACCT,
};

static void cgroup_open_note(struct trouble *t, const struct cgroup_hier *h)
{
    if (h->hitch && (!t->hitch || t->is_weak))
        *t = (struct trouble){ h->hitch, h->path, h->is_v2 && !(h->offered & LIMITS) };
}

static void find_bases(struct cgroups *c, const struct cgroup_host *host, struct trouble *t)
{
    if (!host->places.n)
        *t = (struct trouble){ CGROUP_HITCH_NOT_MOUNTED, "", false };
    VEC_FOREACH(place, &host->places) {
        struct cgroup_hier h = { .is_v2 = place->is_v2, .base = -1, .ours = -1 };
        int found;

        if (c->n == CGROUP_HIER_MAX)
            break;
        found = place->is_v2 ? cgroup_v2_find(&c->arena, place, c->name, &h) : cgroup_v1_find(&c->arena, place, &h);
        if (!place->is_v2 && !(place->ctrls & WANTED)) { /* cpuset alone: nothing is set there, so no groups */
            c->can |= found == 0 ? CGROUP_CPUSET : 0;
            hier_done(&h);
            continue;
        }
        cgroup_open_note(t, &h);
        if (found == 0)
            c->hiers[c->n++] = h;
        else
            hier_done(&h);
    }
}

/* An older group of our name is in use if it contains processes; otherwise a dead run left it. All are looked at
 * before one is removed: the processes may be in one half only. */
static int cgroup_open_take_over(const struct cgroups *c, struct err *e)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct cgroup_hier *h = &c->hiers[i];
        autoclose int old = cgroup_dir_open(h->base, c->name);

        if (old < 0 && errno != ENOENT)
            return err_errno(e, "open cgroup %s/%s", h->path, c->name);
        if (old >= 0 && !cgroup_tree_is_empty(old, h->is_v2))
            return err_set(e, ERR_EXISTS, "cgroup %s/%s is in use: it contains processes", h->path, c->name);
    }
    for (size_t i = 0; i < c->n; i++)
        if (cgroup_tree_remove(c->hiers[i].base, c->name) < 0)
            return err_errno(e, "remove the old cgroup %s/%s", c->hiers[i].path, c->name);
    return 0;
}

static int make_ours(struct cgroup_hier *h, const char *name)
{
    if (h->is_v2)
        cgroup_v2_enter(h, name);
    if (mkdirat(h->base, name, 0755) < 0 && errno != EEXIST)
        goto fail;
    h->ours = cgroup_dir_open(h->base, name);
    if (h->ours < 0)
        goto fail;
    if (h->is_v2)
        cgroup_v2_settle(h);
    else if (h->ctrls & CGROUP_CTRL_CPUSET)
        cgroup_v1_inherit(h->base, h->ours);
    return 0;
fail:
    h->hitch = errno == EROFS ? CGROUP_HITCH_READONLY : h->is_v2 ? CGROUP_HITCH_DENIED : CGROUP_HITCH_DENIED_V1;
    if (h->is_v2)
        cgroup_v2_leave(h, name);
    return -1;
}

static void make_all(struct cgroups *c, struct trouble *t)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->n; i++) {
        struct cgroup_hier h = c->hiers[i];

        if (make_ours(&h, c->name) == 0) {
            c->hiers[kept++] = h;
        } else {
            cgroup_open_note(t, &h);
            hier_done(&h);
        }
    }
    c->n = kept;
}

static bool cgroup_open_may_write(int dir, const char *file)
{
    return faccessat(dir, file, W_OK, AT_EACCESS) == 0;
}

/* Trees of v1 that are only for freezing or counting, where v2 does it. Only a group of ours can tell (Linux 5.2). */
static void drop_spare(struct cgroups *c)
{
    size_t kept = 1;
    unsigned needed = LIMITS;

    if (!c->n || !c->hiers[0].is_v2)
        return;
    needed |= cgroup_open_may_write(c->hiers[0].ours, "cgroup.freeze") ? 0 : CGROUP_CTRL_FREEZER;
    needed |= cgroup_file_count(c->hiers[0].ours, "cpu.stat", "usage_usec") >= 0 ? 0 : CGROUP_CTRL_CPUACCT;
    for (size_t i = 1; i < c->n; i++) {
        struct cgroup_hier h = c->hiers[i];

        if (h.ctrls & needed) {
            c->hiers[kept++] = h;
        } else {
            (void)cgroup_tree_remove(h.base, c->name); /* an empty group that stays does no harm */
            hier_done(&h);
        }
    }
    c->n = kept;
}

static void see_abilities(struct cgroups *c)
{
    static const struct {
        enum cgroup_ctrl ctrl;
        enum cgroup_can can;
    } table[] = {
        { CGROUP_CTRL_CPU, CGROUP_CPU },
        { CGROUP_CTRL_MEMORY, CGROUP_MEMORY },
        { CGROUP_CTRL_PIDS, CGROUP_PIDS },
        { CGROUP_CTRL_CPUSET, CGROUP_CPUSET },
    };

    for (size_t i = 0; i < c->n; i++) {
        struct cgroup_hier *h = &c->hiers[i];
        unsigned ctrls = h->ctrls | (h->offered & CGROUP_CTRL_CPUSET);

        for (size_t k = 0; k < ARRAY_LEN(table); k++)
            if (ctrls & table[k].ctrl)
                c->can |= table[k].can;
        h->freezes = cgroup_open_may_write(h->ours, h->is_v2 ? "cgroup.freeze" : "freezer.state");
        if (h->freezes)
            c->can |= CGROUP_FREEZE;
        if (h->is_v2)
            c->has_kill = cgroup_open_may_write(h->ours, "cgroup.kill");
    }
}

static void cgroup_open_explain(struct cgroups *c, const struct trouble *t)
{
    autobuf text = { 0 };
    enum cgroup_hitch hitch = t->hitch ? t->hitch : CGROUP_HITCH_NOT_OFFERED;

    cgroup_why(&text, c->can, hitch, t->path ? t->path : "the kernel", !user_is_ordinary());
    if (text.n)
        c->why = arena_str(&c->arena, buf_view(&text)).p;
}

struct cgroup_opening {
    const char *name;
    bool adopts;
    struct str place; /* see cgroups_adopt() */
};

static int open_any(const struct cgroup_opening *o, struct cgroups **ret, const char **ret_why, struct err *e)
{
    struct trouble trouble = { CGROUP_HITCH_NONE, NULL };
    struct cgroup_host host;
    struct cgroups *c;

    if (!cgroup_name_is_good(str_of(o->name)))
        return err_set(e, ERR_INVALID, "cgroup name \"%s\": must consist of a-z, 0-9, '-' and '.'", o->name);
    c = xcalloc(1, sizeof(*c));
    c->name = arena_str(&c->arena, str_of(o->name)).p;
    if (cgroup_open_read_host(c, o->place, &host, e) < 0)
        goto fail;
    find_bases(c, &host, &trouble);
    if (!o->adopts && cgroup_open_take_over(c, e) < 0)
        goto fail;
    make_all(c, &trouble);
    drop_spare(c);
    see_abilities(c);
    cgroup_open_explain(c, &trouble);
    if (ret_why)
        *ret_why = c->why;
    *ret = c;
    return 0;
fail:
    cgroups_close(c, false);
    return -1;
}

int cgroups_open(const char *name, struct cgroups **ret, const char **ret_why, struct err *e)
{
    return open_any(&(struct cgroup_opening){ .name = name }, ret, ret_why, e);
}

int cgroups_adopt(const char *name, struct str place, struct cgroups **ret, const char **ret_why, struct err *e)
{
    return open_any(&(struct cgroup_opening){ name, true, place }, ret, ret_why, e);
}

struct str cgroups_place(const struct cgroups *c)
{
    return c->place;
}

const char *cgroups_name(const struct cgroups *c)
{
    return c->name;
}

unsigned cgroups_can(const struct cgroups *c)
{
    return c->can;
}

const char *cgroups_kind(const struct cgroups *c)
{
    if (!c->n)
        return "none";
    if (!c->hiers[0].is_v2)
        return "v1";
    return c->n == 1 ? "v2" : "hybrid";
}

void cgroups_close(struct cgroups *c, bool removes)
{
    autoopened o = { .n = 0 };

    if (!c)
        return;
    if (removes && cgroup_open_all(c, ".", false, &o, NULL) == 0)
        /* What does not die keeps its group; the next open says so. */
        (void)cgroup_kill_opened(c, &o, c->name, CGROUP_REMOVE_MS, NULL);
    for (size_t i = 0; i < c->n; i++) {
        if (removes && c->hiers[i].ours >= 0) {
            (void)cgroup_tree_remove(c->hiers[i].base, c->name);
            if (c->hiers[i].is_v2)
                cgroup_v2_leave(&c->hiers[i], c->name);
        }
        hier_done(&c->hiers[i]);
    }
    arena_done(&c->arena);
    free(c);
}
