/* cgroup.c - groups of pods and containers in all hierarchies the host has */
#include "node/cgroup/cgroup_internal.h"

#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* ---- names ---- */

bool cgroup_name_is_good(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!(s.p[i] >= 'a' && s.p[i] <= 'z') && !(s.p[i] >= '0' && s.p[i] <= '9') && s.p[i] != '-' && s.p[i] != '.')
            return false;
    return s.n > 0 && s.n <= 240 && s.p[0] != '.'; /* 240: NAME_MAX with room for "-self" */
}

int cgroup_path_check(const char *path, int *ret_depth, struct err *e)
{
    struct str rest = str_of(path), part;
    int depth = 0;

    while (str_split(&rest, '/', &part)) {
        depth++;
        if (!cgroup_name_is_good(part) || depth > 2)
            return err_set(e, ERR_INVALID,
                           "cgroup name \"%s\": must be POD or POD/CONTAINER, with a-z, 0-9, '-' and '.'", path);
    }
    if (!depth)
        return err_set(e, ERR_INVALID, "cgroup name: must not be empty");
    *ret_depth = depth;
    return 0;
}

/* ---- groups ---- */

/* The group in one hierarchy. ENOTDIR: the name of a kernel's file. */
int cgroup_group_open(const struct cgroup_hier *h, const char *path, struct err *e)
{
    int dir = cgroup_dir_open(h->ours, path);

    if (dir < 0 && errno == ENOTDIR)
        return err_set(e, ERR_INVALID, "cgroup %s: the kernel uses this name", path);
    if (dir < 0)
        return err_errno(e, "cgroup %s", path);
    return dir;
}

/* A new group is as the kernel makes it: nothing has to be set back. */
static size_t wanted_settings(const struct cgroup_hier *h, struct cgroup_setting *s, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if ((h->ctrls & s[i].ctrl) && !(s[i].flags & CGROUP_SETTING_RESETS))
            s[kept++] = s[i];
    return kept;
}

static int cgroup_apply(int dir, const char *file, const struct cgroup_setting *s)
{
    if (cgroup_file_write(dir, file, s->text) == 0 || (s->flags & CGROUP_SETTING_TRIES))
        return 0;
    if (errno == ENOENT && (s->flags & CGROUP_SETTING_IF_THERE))
        return 0;
    if (errno == EINVAL && s->instead)
        return cgroup_file_write(dir, file, s->instead);
    return -1;
}

/* A new group exists for sure: its files can be opened from ours. */
static int cgroup_set_limits(const struct cgroup_hier *h, const char *path, const struct cgroup_limits *limits,
                             bool is_new, struct err *e)
{
    struct cgroup_setting s[CGROUP_SETTINGS_MAX];
    autoclose int dir = is_new ? -1 : cgroup_group_open(h, path, e);
    char file[600];
    size_t n = 0;

    if (!is_new && dir < 0)
        return -1;
    if (limits)
        n = h->is_v2 ? cgroup_v2_settings(limits, s) : cgroup_v1_settings(limits, s);
    if (is_new)
        n = wanted_settings(h, s, n);
    for (size_t i = 0; i < n; i++) {
        if (!(h->ctrls & s[i].ctrl))
            continue;
        (void)snprintf(file, sizeof(file), "%s/%s", is_new ? path : ".", s[i].file);
        if (cgroup_apply(is_new ? h->ours : dir, file, &s[i]) < 0)
            return err_errno(e, "cgroup %s: set %s to %s", path, s[i].file, s[i].text);
    }
    return 0;
}

/* The first group in a pod: from now on the pod passes controllers on and holds no processes itself. In one that holds
 * some there can be groups without limits. v1 has no such rule; we keep it there too, so that a mistake shows on every
 * host. One hierarchy tells: processes are put into all. */
static int prepare_parent(const struct cgroup_hier *h, const char *path, bool has_limits, struct err *e)
{
    struct str pod = str_sub(str_of(path), 0, (size_t)str_find_char(str_of(path), '/'));
    autobuf procs = { 0 };
    char name[256];

    (void)snprintf(name, sizeof(name), "%.*s", STR_ARG(pod));
    autoclose int dir = cgroup_group_open(h, name, e);
    if (dir < 0)
        return -1;
    if (cgroup_tree_has_groups(dir))
        return 0;
    if (cgroup_file_read(dir, "cgroup.procs", &procs) == 0 && procs.n && !has_limits)
        return 0;
    if (procs.n)
        return err_set(e, ERR_INVALID, "cgroup %s: its parent %s contains processes", path, name);
    if (h->is_v2 && (unsigned)cgroup_v2_pass(dir, h->ctrls, '+') != h->ctrls)
        return err_errno(e, "cgroup %s: enable controllers for its children", name);
    return 0;
}

static void cgroup_inherit(const struct cgroup_hier *h, const char *path)
{
    if (h->is_v2 || !(h->ctrls & CGROUP_CTRL_CPUSET))
        return;
    autoclose int dir = cgroup_dir_open(h->ours, path);
    cgroup_v1_inherit(h->ours, dir); /* the pod between has the same */
}

static int make_in(const struct cgroup_hier *h, const char *path, const struct cgroup_limits *limits, bool *ret_is_new,
                   struct err *e)
{
    if (mkdirat(h->ours, path, 0755) == 0)
        *ret_is_new = true;
    else if (errno != EEXIST)
        return err_errno(e, "create cgroup %s", path);
    if (*ret_is_new)
        cgroup_inherit(h, path);
    return cgroup_set_limits(h, path, limits, *ret_is_new, e);
}

int cgroup_make(struct cgroups *c, const char *path, const struct cgroup_limits *limits, struct err *e)
{
    bool is_new[CGROUP_HIER_MAX] = { false };
    int depth;

    if (cgroup_path_check(path, &depth, e) < 0)
        return -1;
    if (limits &&
        (limits->cpu_milli < 0 || limits->cpu_shares_milli < 0 || limits->memory_bytes < 0 || limits->pids < 0))
        return err_set(e, ERR_INVALID, "limits must not be negative");
    if (depth == 2 && c->n && prepare_parent(&c->hiers[0], path, limits != NULL, e) < 0)
        return -1;
    for (size_t i = 0; i < c->n; i++) {
        if (make_in(&c->hiers[i], path, limits, &is_new[i], e) == 0)
            continue;
        for (size_t k = 0; k <= i; k++)
            if (is_new[k])
                (void)cgroup_tree_remove(c->hiers[k].ours, path); /* new and empty */
        return -1;
    }
    return 0;
}

/* The usual case: the group is empty, and the kernel knows. */
static bool remove_empty(struct cgroups *c, const char *path)
{
    for (size_t i = 0; i < c->n; i++)
        if (unlinkat(c->hiers[i].ours, path, AT_REMOVEDIR) < 0 && errno != ENOENT)
            return false;
    return true;
}

int cgroup_remove(struct cgroups *c, const char *path, struct err *e)
{
    autoopened o = { .n = 0 };
    int depth;

    if (cgroup_path_check(path, &depth, e) < 0)
        return -1;
    if (remove_empty(c, path))
        return 0;
    if (cgroup_open_all(c, path, false, &o, e) < 0)
        return -1;
    if (cgroup_kill_opened(c, &o, path, CGROUP_REMOVE_MS, e) < 0)
        return -1;
    for (size_t i = 0; i < c->n; i++)
        if (cgroup_tree_remove(c->hiers[i].ours, path) < 0)
            return err_errno(e, "remove cgroup %s", path);
    return 0;
}

/* ---- counts ---- */

void cgroup_pids(struct cgroups *c, const char *path, void (*each)(void *ctx, pid_t pid), void *ctx)
{
    autoclose int dir = c->n ? cgroup_group_open(&c->hiers[0], path, NULL) : -1; /* they are in all of them */
    autobuf procs = { 0 };
    struct str rest, line;
    int64_t pid;

    if (dir < 0 || cgroup_file_read(dir, "cgroup.procs", &procs) < 0)
        return;
    for (rest = buf_view(&procs); str_split(&rest, '\n', &line);)
        if (str_to_i64(line, &pid) == 0 && pid > 0 && pid <= INT32_MAX)
            each(ctx, (pid_t)pid);
}

static int read_stats(struct cgroups *c, const char *path, unsigned ctrls, struct cgroup_stats *ret, struct err *e)
{
    struct cgroup_stats s = { -1, -1, -1, -1, -1, -1, -1 };
    int depth;

    if (cgroup_path_check(path, &depth, e) < 0)
        return -1;
    for (size_t i = 0; i < c->n; i++) {
        const struct cgroup_hier *h = &c->hiers[i];
        autoclose int dir = -1;

        if (!h->is_v2 && !(h->ctrls & ctrls))
            continue;
        dir = cgroup_group_open(h, path, e);
        if (dir < 0)
            return -1;
        if (h->is_v2)
            cgroup_v2_stats(dir, h->ctrls & ctrls, &s);
        else
            cgroup_v1_stats(dir, h->ctrls & ctrls, &s);
    }
    *ret = s;
    return 0;
}

int cgroup_stats(struct cgroups *c, const char *path, struct cgroup_stats *ret, struct err *e)
{
    return read_stats(c, path, ~0U, ret, e);
}

int cgroup_use(struct cgroups *c, const char *path, struct cgroup_stats *ret, struct err *e)
{
    return read_stats(c, path, CGROUP_CTRL_CPUACCT | CGROUP_CTRL_MEMORY, ret, e);
}
