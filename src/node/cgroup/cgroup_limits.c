/* cgroup_limits.c - limits as files to write: pure
 *
 * The CPU share of a group that asked for none is the smallest there is: it gets what the others leave.
 */
#include "node/cgroup/cgroup_internal.h"

#include "base/util.h"

#include <stdio.h>

/* The kernel takes no quota below 1 ms and no period above 1 s. A tenth of a second is what everybody uses; the
 * smallest limits get a longer period rather than more time than they asked for. */
bool cgroup_quota(int64_t milli, struct cgroup_quota *ret)
{
    enum { PERIOD_US = 100000, LONG_PERIOD_US = 1000000, QUOTA_MIN_US = 1000, MILLI_MAX = 1000000000 };

    if (milli <= 0 || milli >= MILLI_MAX)
        return false; /* a million CPUs is no limit, and more than the kernel can count */
    if (milli * (PERIOD_US / 1000) >= QUOTA_MIN_US)
        *ret = (struct cgroup_quota){ milli * (PERIOD_US / 1000), PERIOD_US };
    else
        *ret = (struct cgroup_quota){ milli * (LONG_PERIOD_US / 1000), LONG_PERIOD_US };
    return true;
}

static size_t cgroup_limits_add(struct cgroup_setting *s, enum cgroup_ctrl ctrl, const char *file, int64_t value,
                                unsigned flags)
{
    *s = (struct cgroup_setting){ .ctrl = ctrl, .file = file, .flags = flags };
    (void)snprintf(s->text, sizeof(s->text), "%lld", (long long)value);
    return 1;
}

static size_t add_limit(struct cgroup_setting *s, enum cgroup_ctrl ctrl, const char *file, int64_t value)
{
    (void)cgroup_limits_add(s, ctrl, file, value, value ? 0 : CGROUP_SETTING_RESETS);
    if (!value)
        (void)snprintf(s->text, sizeof(s->text), "max");
    return 1;
}

/* The kernel refuses more than it has process ids (2^22), so that much is "max". */
static size_t add_pids(struct cgroup_setting *s, int64_t pids)
{
    (void)add_limit(s, CGROUP_CTRL_PIDS, "pids.max", pids);
    if (pids > 1 << 22)
        (void)snprintf(s->text, sizeof(s->text), "max");
    return 1;
}

/* ---- v1 ---- */

static size_t cpu_settings(const struct cgroup_limits *l, struct cgroup_setting *ret)
{
    int64_t milli = MIN_OF(l->cpu_shares_milli, 256000);
    struct cgroup_quota q;
    size_t n = 0;

    n += cgroup_limits_add(ret + n, CGROUP_CTRL_CPU, "cpu.shares", MAX_OF(milli * 1024 / 1000, 2), 0);
    /* First without a limit: the old quota need not fit the new period. */
    n += cgroup_limits_add(ret + n, CGROUP_CTRL_CPU, "cpu.cfs_quota_us", -1,
                           CGROUP_SETTING_RESETS | CGROUP_SETTING_IF_THERE);
    if (!cgroup_quota(l->cpu_milli, &q))
        return n;
    n += cgroup_limits_add(ret + n, CGROUP_CTRL_CPU, "cpu.cfs_period_us", q.period_us, CGROUP_SETTING_IF_THERE);
    n += cgroup_limits_add(ret + n, CGROUP_CTRL_CPU, "cpu.cfs_quota_us", q.quota_us, CGROUP_SETTING_IF_THERE);
    ret[n - 1].instead = "-1"; /* more than a group above has is refused; that one's limit holds anyway */
    return n;
}

static size_t memory_settings(const struct cgroup_limits *l, struct cgroup_setting *ret)
{
    unsigned resets = l->memory_bytes ? 0 : CGROUP_SETTING_RESETS;
    int64_t bytes = l->memory_bytes ? l->memory_bytes : -1;
    size_t n = 0;

    /* Memory with swap may never be less than memory: when raising it has to go first, when lowering last. No swap on
     * top of the limit, so that the limit means the same on every host. */
    n += cgroup_limits_add(ret + n, CGROUP_CTRL_MEMORY, "memory.memsw.limit_in_bytes", bytes,
                           CGROUP_SETTING_RESETS | CGROUP_SETTING_TRIES);
    n += cgroup_limits_add(ret + n, CGROUP_CTRL_MEMORY, "memory.limit_in_bytes", bytes, resets);
    n += cgroup_limits_add(ret + n, CGROUP_CTRL_MEMORY, "memory.memsw.limit_in_bytes", bytes,
                           resets | CGROUP_SETTING_IF_THERE);
    return n;
}

size_t cgroup_v1_settings(const struct cgroup_limits *l, struct cgroup_setting ret[CGROUP_SETTINGS_MAX])
{
    size_t n = cpu_settings(l, ret);

    n += memory_settings(l, ret + n);
    n += add_pids(ret + n, l->pids);
    return n;
}

/* ---- v2 ---- */

size_t cgroup_v2_settings(const struct cgroup_limits *l, struct cgroup_setting ret[CGROUP_SETTINGS_MAX])
{
    int64_t cpus = MIN_OF(l->cpu_shares_milli, 100000);
    struct cgroup_quota q;
    size_t n = 0;

    /* One CPU is the default weight of a group (100). */
    n += cgroup_limits_add(ret + n, CGROUP_CTRL_CPU, "cpu.weight", MAX_OF(cpus / 10, 1), 0);
    n += add_limit(ret + n, CGROUP_CTRL_CPU, "cpu.max", 0);
    ret[n - 1].flags |= CGROUP_SETTING_IF_THERE;
    if (cgroup_quota(l->cpu_milli, &q)) {
        ret[n - 1].flags &= ~(unsigned)CGROUP_SETTING_RESETS;
        (void)snprintf(ret[n - 1].text, sizeof(ret[n - 1].text), "%lld %lld", (long long)q.quota_us,
                       (long long)q.period_us);
    }
    n += add_limit(ret + n, CGROUP_CTRL_MEMORY, "memory.max", l->memory_bytes);
    /* No swap on top of the limit, so that the limit means the same on every host. */
    n += add_limit(ret + n, CGROUP_CTRL_MEMORY, "memory.swap.max", 0);
    ret[n - 1].flags |= CGROUP_SETTING_IF_THERE;
    if (l->memory_bytes) {
        ret[n - 1].flags &= ~(unsigned)CGROUP_SETTING_RESETS;
        (void)snprintf(ret[n - 1].text, sizeof(ret[n - 1].text), "0");
    }
    /* A container over its limit dies as a whole, as Kubernetes does it on v2. */
    if (l->dies_whole)
        n += cgroup_limits_add(ret + n, CGROUP_CTRL_MEMORY, "memory.oom.group", l->memory_bytes != 0,
                               CGROUP_SETTING_IF_THERE | (l->memory_bytes ? 0 : CGROUP_SETTING_RESETS));
    n += add_pids(ret + n, l->pids);
    return n;
}
