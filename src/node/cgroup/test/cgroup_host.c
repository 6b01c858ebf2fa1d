/* cgroup_host.c - texts of many hosts, limits as writes, the choice of a base: all pure */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rand.h"
#include "base/util.h"
#include "node/cgroup/cgroup_internal.h"

/* ---- hosts ---- */

static const struct {
    const char *name, *mounts, *self;
    const char *want; /* places: "v2 MOUNT OWN", "v1 CONTROLLERS MOUNT OWN", with " ro" and " far" */
} hosts[] = {
    { "v2 only, systemd session",
      "23 28 0:21 / /proc rw,nosuid shared:14 - proc proc rw\n"
      "29 24 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
      "0::/user.slice/user-1000.slice/session-3.scope\n",
      "v2 /sys/fs/cgroup /user.slice/user-1000.slice/session-3.scope\n" },
    { "v2 at the top", "29 24 0:26 / /sys/fs/cgroup rw - cgroup2 none rw\n", "0::/\n", "v2 /sys/fs/cgroup \n" },
    { "hybrid: v2 beside v1",
      "31 23 0:28 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755\n"
      "32 31 0:29 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw,nsdelegate\n"
      "33 31 0:30 / /sys/fs/cgroup/systemd rw shared:11 - cgroup cgroup rw,xattr,name=systemd\n"
      "37 31 0:34 / /sys/fs/cgroup/cpu,cpuacct rw shared:15 - cgroup cgroup rw,cpu,cpuacct\n"
      "38 31 0:35 / /sys/fs/cgroup/net_cls,net_prio rw shared:16 - cgroup cgroup rw,net_cls,net_prio\n"
      "39 31 0:36 / /sys/fs/cgroup/memory rw shared:17 - cgroup cgroup rw,memory\n"
      "40 31 0:37 / /sys/fs/cgroup/pids rw shared:18 - cgroup cgroup rw,pids\n"
      "41 31 0:38 / /sys/fs/cgroup/freezer rw shared:19 - cgroup cgroup rw,freezer\n",
      "12:pids:/user.slice/user-0.slice\n11:memory:/user.slice\n8:net_cls,net_prio:/\n5:freezer:/\n"
      "4:cpu,cpuacct:/user.slice\n1:name=systemd:/user.slice/user-0.slice/session-1.scope\n"
      "0::/user.slice/user-0.slice/session-1.scope\n",
      "v2 /sys/fs/cgroup/unified /user.slice/user-0.slice/session-1.scope\n"
      "v1 cpu,cpuacct /sys/fs/cgroup/cpu,cpuacct /user.slice\n"
      "v1 memory /sys/fs/cgroup/memory /user.slice\n"
      "v1 pids /sys/fs/cgroup/pids /user.slice/user-0.slice\n"
      "v1 freezer /sys/fs/cgroup/freezer \n" },
    { "one tree per controller, memory in a group",
      "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
      "33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
      "4:memory:/api/7\n2:cpuacct:/\n1:cpu:/\n0::/\n",
      "v2 /sys/fs/cgroup/unified \nv1 cpu /sys/fs/cgroup/cpu \nv1 cpuacct /sys/fs/cgroup/cpuacct \n"
      "v1 memory /sys/fs/cgroup/memory /api/7\n" },
    { "v1 written in another order", "37 31 0:34 / /cg rw - cgroup cgroup rw,cpuacct,cpu,cpuset\n",
      "2:cpuset,cpuacct,cpu:/a:b\n", "v1 cpu,cpuacct,cpuset /cg /a:b\n" },
    { "docker on v1: the mount shows only our part, read-only",
      "700 690 0:34 /docker/4f2a /sys/fs/cgroup/memory ro,nosuid master:17 - cgroup cgroup rw,memory\n",
      "4:memory:/docker/4f2a\n", "v1 memory /sys/fs/cgroup/memory  ro\n" },
    { "docker on v1, privileged, in a group inside",
      "700 690 0:34 /docker/4f2a /sys/fs/cgroup/memory rw,nosuid master:17 - cgroup cgroup rw,memory\n",
      "4:memory:/docker/4f2a/inner\n", "v1 memory /sys/fs/cgroup/memory /inner\n" },
    { "container with its own cgroup namespace, read-only v2",
      "1123 1120 0:26 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate\n", "0::/\n",
      "v2 /sys/fs/cgroup  ro\n" },
    { "container without one: the host's name, part of the tree",
      "1123 1120 0:26 /system.slice/docker-9.scope /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
      "0::/system.slice/docker-9.scope\n", "v2 /sys/fs/cgroup \n" },
    { "nested container seen from inside a namespace: own group above the top",
      "1123 1120 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/../other\n", "v2 /sys/fs/cgroup  far\n" },
    { "mount made outside of our namespace", "1123 1120 0:26 /../../.. /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
      "0::/\n", "v2 /sys/fs/cgroup  far\n" },
    { "a neighbour's part is mounted, the name begins alike",
      "700 690 0:34 /docker/4f /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n", "4:pids:/docker/4f2a\n",
      "v1 pids /sys/fs/cgroup/pids  far\n" },
    { "mounted twice: the writable one",
      "10 1 0:26 / /ro ro - cgroup2 cgroup rw\n11 1 0:26 / /rw rw - cgroup2 cgroup rw\n", "0::/a\n", "v2 /rw /a\n" },
    { "mounted twice: the one that shows our group",
      "10 1 0:26 /x /part rw - cgroup2 cgroup rw\n11 1 0:26 / /whole ro - cgroup2 cgroup rw\n", "0::/a\n",
      "v2 /whole /a ro\n" },
    { "mounted twice and both fine: the first",
      "10 1 0:26 / /one rw - cgroup2 cgroup rw\n11 1 0:26 / /two rw - cgroup2 cgroup rw\n", "0::/a\n", "v2 /one /a\n" },
    { "one over the other: the later",
      "10 1 0:26 / /cg rw - cgroup2 cgroup rw\n11 10 0:26 / /cg ro - cgroup2 cgroup rw\n", "0::/a\n",
      "v2 /cg /a ro\n" },
    { "read-only by the file system", "10 1 0:26 / /cg rw - cgroup2 cgroup ro\n", "0::/\n", "v2 /cg  ro\n" },
    { "blanks and backslashes in paths", "10 1 0:26 /a\\040b /c\\134d\\011e rw - cgroup2 cgroup rw\n", "0::/a b/x y\n",
      "v2 /c\\d\te /x y\n" },
    { "many tags, or none",
      "10 1 0:26 / /a rw shared:1 master:2 propagate_from:3 unbindable - cgroup2 cgroup rw\n"
      "11 1 0:27 / /b rw - cgroup cgroup rw,pids,release_agent=/x,clone_children\n",
      "1:pids:/\n0::/\n", "v2 /a \nv1 pids /b \n" },
    { "a kernel with v2 mounted but our process in none", "10 1 0:26 / /cg rw - cgroup2 cgroup rw\n", "1:pids:/\n",
      "" },
    { "v1 controller without a mount", "", "1:pids:/\n0::/\n", "" },
    { "no cgroups", "23 28 0:21 / /proc rw - proc proc rw\n", "", "" },
    { "empty", "", "", "" },
    { "broken lines",
      "\n \n10\n10 1 0:26 /\n10 1 0:26 / /cg rw\n10 1 0:26 / /cg rw shared:1\n10 1 0:26 / /cg rw - cgroup2\n"
      "10 1 0:26 / cg rw - cgroup2 x rw\n11 1 0:26 / /ok rw - cgroup2 x rw",
      "\n:\n::\n0:\n0::\n0::x\nx\n0::/g", "v2 /ok /g\n" },
    { "bad escapes stay as they are", "10 1 0:26 / /a\\9\\04\\ rw - cgroup2 x rw\n", "0::/\n", "v2 /a\\9\\04\\ \n" },
};

static void print_places(struct buf *out, const struct cgroup_host *host)
{
    buf_append(out, "", 0);
    VEC_FOREACH(p, &host->places) {
        const char *comma = "";

        buf_fmt(out, p->is_v2 ? "v2 " : "v1 ");
        for (unsigned bit = 1; bit <= CGROUP_CTRL_CPUSET; bit <<= 1)
            if (p->ctrls & bit) {
                buf_fmt(out, "%s%s", comma, cgroup_ctrl_name(bit));
                comma = ",";
            }
        buf_fmt(out, "%s%s %s%s%s\n", p->is_v2 ? "" : " ", p->mount.p, p->own.p, p->is_readonly ? " ro" : "",
                p->is_reachable ? "" : " far");
    }
}

static void reads_hosts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        autoarena a = { 0 };
        autobuf got = { 0 };
        struct cgroup_host host;

        cgroup_host_read(&a, str_of(hosts[i].mounts), str_of(hosts[i].self), &host);
        print_places(&got, &host);
        if (strcmp(got.p, hosts[i].want) != 0)
            fail_msg("%s:\n%swanted:\n%s", hosts[i].name, got.p, hosts[i].want);
    }
}

/* Any text is read without harm: cut, doubled and changed lines of real hosts. */
static void reads_anything(void **state)
{
    struct rand r;

    (void)state;
    rand_seed(&r, 11);
    for (int turn = 0; turn < 3000; turn++) {
        autoarena a = { 0 };
        autobuf mounts = { 0 }, self = { 0 };
        size_t i = rand_below(&r, ARRAY_LEN(hosts));
        struct cgroup_host host;

        buf_str(&mounts, str_of(hosts[i].mounts));
        buf_str(&self, str_of(hosts[rand_below(&r, 2) ? i : 0].self));
        for (size_t k = rand_below(&r, 6); k > 0 && mounts.n && self.n; k--) {
            mounts.p[rand_below(&r, mounts.n)] = " /-:,\\\n0a"[rand_below(&r, 9)];
            self.p[rand_below(&r, self.n)] = " /-:,.\n0a"[rand_below(&r, 9)];
        }
        cgroup_host_read(&a, str_sub(buf_view(&mounts), 0, rand_below(&r, mounts.n + 1)), buf_view(&self), &host);
        VEC_FOREACH(p, &host.places) {
            assert_int_equal(p->mount.p[0], '/');
            assert_true(!p->own.n || p->own.p[0] == '/');
            assert_int_equal(p->is_v2, p->ctrls == 0);
        }
    }
}

static void reads_counts(void **state)
{
    static const struct {
        const char *text, *key;
        int64_t want;
    } cases[] = {
        { "populated 1\nfrozen 0\n", "frozen", 0 },
        { "populated 1\nfrozen 0\n", "populated", 1 },
        { "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "oom_kill", 3 },
        { "oom 5\noom_kill 3", "oom_kill", 3 },
        { "max max\n", "max", -1 },
        { "max\n", "max", -1 },
        { "", "max", -1 },
        { "max 99999999999999999999\n", "max", -1 },
        { "usage_usec 123456789012\n", "usage_usec", 123456789012 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (cgroup_host_count(str_of(cases[i].text), cases[i].key) != cases[i].want)
            fail_msg("%s of \"%s\"", cases[i].key, cases[i].text);
}

/* ---- limits ---- */

static const struct {
    struct cgroup_limits limits;
    const char *v1, *v2; /* "file=text"; '~' in front: only when the group is not new */
} limit_cases[] = {
    { { 0 },
      "cpu.shares=2 ~cpu.cfs_quota_us=-1 ~memory.memsw.limit_in_bytes=-1 ~memory.limit_in_bytes=-1 "
      "~memory.memsw.limit_in_bytes=-1 ~pids.max=max ",
      "cpu.weight=1 ~cpu.max=max ~memory.max=max ~memory.swap.max=max ~pids.max=max " },
    { { .cpu_milli = 1500, .cpu_shares_milli = 1000, .memory_bytes = 1 << 20, .pids = 7, .dies_whole = true },

      "cpu.shares=1024 ~cpu.cfs_quota_us=-1 cpu.cfs_period_us=100000 cpu.cfs_quota_us=150000 "
      "~memory.memsw.limit_in_bytes=1048576 memory.limit_in_bytes=1048576 memory.memsw.limit_in_bytes=1048576 "
      "pids.max=7 ",
      "cpu.weight=100 cpu.max=150000 100000 memory.max=1048576 memory.swap.max=0 memory.oom.group=1 pids.max=7 " },
    { { .cpu_milli = 1, .cpu_shares_milli = 1, .dies_whole = true },

      "cpu.shares=2 ~cpu.cfs_quota_us=-1 cpu.cfs_period_us=1000000 cpu.cfs_quota_us=1000 "
      "~memory.memsw.limit_in_bytes=-1 ~memory.limit_in_bytes=-1 ~memory.memsw.limit_in_bytes=-1 ~pids.max=max ",
      "cpu.weight=1 cpu.max=1000 1000000 ~memory.max=max ~memory.swap.max=max ~memory.oom.group=0 ~pids.max=max " },
    { { .cpu_milli = INT64_MAX, .cpu_shares_milli = INT64_MAX, .memory_bytes = INT64_MAX, .pids = INT64_MAX },
      "cpu.shares=262144 ~cpu.cfs_quota_us=-1 ~memory.memsw.limit_in_bytes=9223372036854775807 "
      "memory.limit_in_bytes=9223372036854775807 memory.memsw.limit_in_bytes=9223372036854775807 "
      "pids.max=max ",
      "cpu.weight=10000 ~cpu.max=max memory.max=9223372036854775807 memory.swap.max=0 pids.max=max " },
    { { .pids = 4194305 }, NULL, "cpu.weight=1 ~cpu.max=max ~memory.max=max ~memory.swap.max=max pids.max=max " },
};

static void print_settings(struct buf *out, const struct cgroup_setting *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_fmt(out, "%s%s=%s ", s[i].flags & CGROUP_SETTING_RESETS ? "~" : "", s[i].file, s[i].text);
}

static void writes_limits(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(limit_cases); i++) {
        struct cgroup_setting s[CGROUP_SETTINGS_MAX];
        autobuf v1 = { 0 }, v2 = { 0 };

        print_settings(&v1, s, cgroup_v1_settings(&limit_cases[i].limits, s));
        print_settings(&v2, s, cgroup_v2_settings(&limit_cases[i].limits, s));
        if (limit_cases[i].v1)
            assert_string_equal(v1.p, limit_cases[i].v1);
        assert_string_equal(v2.p, limit_cases[i].v2);
    }
}

/* More for who asked for more, and every number one the kernel takes. */
static void quotas_are_in_order(void **state)
{
    struct cgroup_quota q;
    double last = 0;

    (void)state;
    for (int64_t milli = 1; milli < 100000; milli++) {
        assert_true(cgroup_quota(milli, &q));
        assert_in_range(q.quota_us, 1000, INT64_MAX);
        assert_in_range(q.period_us, 1000, 1000000);
        assert_true((double)q.quota_us / (double)q.period_us > last);
        last = (double)q.quota_us / (double)q.period_us;
    }
    assert_false(cgroup_quota(0, &q));
}

/* ---- the base ---- */

enum { CPU = CGROUP_CTRL_CPU, MEM = CGROUP_CTRL_MEMORY, PIDS = CGROUP_CTRL_PIDS, ALL = CPU | MEM | PIDS };

static const struct {
    const char *name;
    struct cgroup_spot spot;
    unsigned gain;
    enum cgroup_hitch hitch;
} spots[] = {
    { "top, root", { ALL, MEM, true, true, true, true, true }, ALL, CGROUP_HITCH_NONE },
    { "delegated to us alone", { ALL, 0, false, true, true, true, false }, ALL, CGROUP_HITCH_NONE },
    { "with others in it", { ALL, 0, false, true, true, true, true }, 0, CGROUP_HITCH_CROWDED },
    { "somebody else's", { ALL, ALL, false, true, false, false, false }, 0, CGROUP_HITCH_DENIED },
    { "groups but not controllers",
      { ALL, MEM | PIDS, false, true, true, false, false },
      MEM | PIDS,
      CGROUP_HITCH_DENIED },
    { "no cpu from above",
      { MEM | PIDS, MEM | PIDS, false, true, true, true, false },
      MEM | PIDS,
      CGROUP_HITCH_NOT_OFFERED },
    { "hybrid: all in v1", { 0, 0, true, true, true, true, true }, 0, CGROUP_HITCH_NOT_OFFERED },
    { "threaded", { ALL, ALL, false, false, true, true, false }, 0, CGROUP_HITCH_DENIED },
};

static void chooses_a_base(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(spots); i++)
        if (cgroup_spot_gain(&spots[i].spot) != spots[i].gain ||
            cgroup_spot_hitch(&spots[i].spot, ALL) != spots[i].hitch)
            fail_msg("%s: gain %u, hitch %d", spots[i].name, cgroup_spot_gain(&spots[i].spot),
                     cgroup_spot_hitch(&spots[i].spot, ALL));
}

/* ---- words ---- */

enum { EVERY = CGROUP_CPU | CGROUP_MEMORY | CGROUP_PIDS | CGROUP_FREEZE };

static const struct {
    unsigned can;
    enum cgroup_hitch hitch;
    bool is_root;
    const char *starts, *has;
} whys[] = {
    { EVERY, CGROUP_HITCH_NOT_OFFERED, true, "", "" },
    { 0, CGROUP_HITCH_NOT_MOUNTED, true,
      "no cpu limits, memory limits, process limits, freezing: no cgroup file system is mounted; run: mount ", "" },
    { 0, CGROUP_HITCH_READONLY, true, "no cpu limits, ", ": /g is read-only; start the container " },
    { EVERY & ~CGROUP_CPU, CGROUP_HITCH_NOT_OFFERED, false, "no cpu limits: /g does not have these controllers",
      "systemctl " },
    { EVERY & ~CGROUP_MEMORY, CGROUP_HITCH_DENIED, false, "no memory limits: no permission to create cgroups in /g; ",
      "systemd-run --user --scope -p Delegate=yes" },
    { CGROUP_FREEZE, CGROUP_HITCH_CROWDED, true,
      "no cpu limits, memory limits, process limits: /g contains other processes",
      "run: systemd-run --scope -p Delegate=yes" },
};

static void says_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(whys); i++) {
        autobuf out = { 0 };

        cgroup_why(&out, whys[i].can, whys[i].hitch, "/g", whys[i].is_root);
        if (!str_starts(buf_view(&out), str_of(whys[i].starts)) || !str_has(buf_view(&out), str_of(whys[i].has)))
            fail_msg("case %zu: %.*s", i, STR_ARG(buf_view(&out)));
        assert_true((out.n == 0) == (whys[i].starts[0] == '\0'));
    }
    for (int h = CGROUP_HITCH_NONE + 1; h < CGROUP_HITCH_MAX; h++) { /* every hitch has words for both */
        autobuf root = { 0 }, user = { 0 };

        cgroup_why(&root, 0, h, "/g", true);
        cgroup_why(&user, 0, h, "/g", false);
        assert_true(str_has(buf_view(&root), STR("; ")) && str_has(buf_view(&user), STR("; ")));
        assert_false(str_has(buf_view(&root), STR("(null)")) || str_has(buf_view(&user), STR("(null)")));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_hosts),   cmocka_unit_test(reads_anything),      cmocka_unit_test(reads_counts),
        cmocka_unit_test(writes_limits), cmocka_unit_test(quotas_are_in_order), cmocka_unit_test(chooses_a_base),
        cmocka_unit_test(says_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
