/* cgroup_v1.c - version 1: one tree per controller or per few of them
 *
 * Our group sits in our own group of each tree: limits on us hold for the pods too. Counts of v1 are
 * mostly of one group alone, so those of the groups below are added.
 */
#include "node/cgroup/cgroup_internal.h"

#include "base/clock.h"
#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

int cgroup_v1_find(struct arena *a, const struct cgroup_place *place, struct cgroup_hier *h)
{
    struct statfs fs;

    h->path = arena_fmt(a, "%.*s%.*s", STR_ARG(place->mount), STR_ARG(place->own)).p;
    h->ctrls = place->ctrls;
    if (!place->is_reachable)
        h->hitch = CGROUP_HITCH_UNREACHABLE;
    else if (place->is_readonly)
        h->hitch = CGROUP_HITCH_READONLY;
    else if ((h->base = cgroup_dir_open(AT_FDCWD, h->path)) < 0)
        h->hitch = errno == EACCES ? CGROUP_HITCH_DENIED_V1 : CGROUP_HITCH_UNREACHABLE;
    else if (fstatfs(h->base, &fs) < 0 || fs.f_type != CGROUP_SUPER_MAGIC)
        h->hitch = CGROUP_HITCH_UNREACHABLE; /* something else is mounted over it */
    else if (faccessat(h->base, ".", W_OK, AT_EACCESS) < 0)
        h->hitch = errno == EROFS ? CGROUP_HITCH_READONLY : CGROUP_HITCH_DENIED_V1;
    return h->hitch ? -1 : 0;
}

/* A tree that has cpuset too takes no process before CPUs and memory nodes are set. */
void cgroup_v1_inherit(int parent, int dir)
{
    static const char *const files[] = { "cpuset.cpus", "cpuset.mems" };
    autobuf text = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        if (cgroup_file_read(parent, files[i], &text) == 0 && text.n)
            (void)cgroup_file_write(dir, files[i], text.p); /* adding a process tells, if this was not enough */
}

/* ---- counts ---- */

struct sum {
    const char *file, *key;
    int64_t value;
};

static void sum_visit(int dir, void *arg)
{
    struct sum *s = arg;
    int64_t value = cgroup_file_count(dir, s->file, s->key);

    if (value >= 0)
        s->value = MAX_OF(s->value, 0) + value;
}

static int64_t cgroup_v1_sum(int dir, const char *file, const char *key)
{
    struct sum s = { file, key, -1 };

    cgroup_tree_walk(dir, sum_visit, &s);
    return s.value;
}

static int64_t from_ns(int64_t ns)
{
    return ns < 0 ? -1 : ns / 1000;
}

void cgroup_v1_stats(int dir, unsigned ctrls, struct cgroup_stats *s)
{
    if (ctrls & CGROUP_CTRL_CPU)
        s->throttled_us = from_ns(cgroup_v1_sum(dir, "cpu.stat", "throttled_time"));
    if ((ctrls & CGROUP_CTRL_CPUACCT) && s->cpu_us < 0)
        s->cpu_us = from_ns(cgroup_file_number(dir, "cpuacct.usage"));
    if (ctrls & CGROUP_CTRL_MEMORY) {
        s->memory_bytes = cgroup_file_number(dir, "memory.usage_in_bytes");
        s->memory_peak_bytes = cgroup_file_number(dir, "memory.max_usage_in_bytes");
        s->oom_kills = cgroup_v1_sum(dir, "memory.oom_control", "oom_kill"); /* counted where the victim was */
    }
    if (ctrls & CGROUP_CTRL_PIDS) {
        s->pids = cgroup_file_number(dir, "pids.current");
        s->pids_refused = cgroup_v1_sum(dir, "pids.events", "max"); /* counted where the fork was tried */
    }
}

/* ---- freezer ---- */

int cgroup_v1_freeze(int dir, bool on, int ms)
{
    const char *want = on ? "FROZEN" : "THAWED";
    int64_t until_ms = clock_mono_ms(&clock_real) + ms;
    autobuf state = { 0 };

    for (int64_t us = 50;; us = MIN_OF(us * 2, 5000)) {
        /* Written again each time: a process forked meanwhile can leave the group at FREEZING for ever otherwise. */
        if (cgroup_file_write(dir, "freezer.state", want) < 0 || cgroup_file_read(dir, "freezer.state", &state) < 0)
            return -1;
        if (str_is(str_trim(buf_view(&state)), want))
            return 0;
        if (clock_mono_ms(&clock_real) > until_ms) {
            errno = ETIMEDOUT;
            return -1;
        }
        cgroup_sleep_us(us);
    }
}
