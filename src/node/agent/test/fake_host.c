/* fake_host.c - groups, mounts and the keeper of a machine that only pretends */
#include "node/agent/test/fake_host.h"

#include "node/container/host_layer.h"
#include "node/container/hide.h"
#include "node/shim/keeper.h"
#include "node/userns/user.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

struct fake_host fake;
static int n_fds;

int fake_count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

void fake_begin(void)
{
    const char *tmp = getenv("TMPDIR");

    if (!tmp) /* memory, where there is some: a loaded disk takes seconds for our small files */
        tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    fake = (struct fake_host){ 0 };
    list_init(&fake.shims);
    (void)snprintf(fake.dir, sizeof(fake.dir), "%.40s/pumice-test-XXXXXX", tmp);
    if (!mkdtemp(fake.dir))
        fail_msg("%s: %s", fake.dir, strerror(errno));
    n_fds = fake_count_fds();
}

void fake_clear(void)
{
    remove_tree(fake.dir);
    buf_done(&fake.asked);
    buf_done(&fake.said);
    buf_done(&fake.nft_batch);
    arena_done(&fake.arena);
}

void fake_end(void)
{
    fake_clear();
    assert_true(list_is_empty(&fake.shims));
    assert_int_equal(fake.n_joined, 0);
    assert_int_equal(fake.n_addresses, 0);
    assert_int_equal(fake_count_fds(), n_fds);
}

/* ---- groups ---- */

static int open_groups(struct cgroups **ret, const char **ret_why)
{
    *ret = (struct cgroups *)&fake;
    if (ret_why)
        *ret_why = fake.cgroups_why;
    return 0;
}

int cgroups_open(const char *name, struct cgroups **ret, const char **ret_why, struct err *e)
{
    return open_groups(ret, ret_why);
}

int cgroups_adopt(const char *name, struct str place, struct cgroups **ret, const char **ret_why, struct err *e)
{
    return open_groups(ret, ret_why);
}

struct str cgroups_place(const struct cgroups *c)
{
    return STR("here");
}

const char *cgroups_kind(const struct cgroups *c)
{
    return "v2";
}

void cgroups_close(struct cgroups *c, bool removes)
{
}

int cgroup_freeze_all(const struct cgroups *c, bool on)
{
    return -1;
}

void cgroup_pids(struct cgroups *c, const char *path, void (*each)(void *ctx, pid_t pid), void *ctx)
{
    (void)c, (void)path, (void)each, (void)ctx;
}

int cgroup_make(struct cgroups *c, const char *path, const struct cgroup_limits *limits, struct err *e)
{
    const char *container = strchr(path, '/');

    buf_fmt(&fake.asked, "%slimit %s %lldm %lldMi", fake.asked.n ? "; " : "", container ? container + 1 : "pod",
            (long long)limits->cpu_milli, (long long)limits->memory_bytes >> 20);
    return 0;
}

int cgroup_use(struct cgroups *c, const char *path, struct cgroup_stats *ret, struct err *e)
{
    *ret = fake.stats;
    return 0;
}

int cgroup_remove(struct cgroups *c, const char *path, struct err *e)
{
    return 0;
}

int cgroup_stats(struct cgroups *c, const char *path, struct cgroup_stats *ret, struct err *e)
{
    *ret = fake.stats;
    return 0;
}

/* ---- who cleans up ---- */

int keeper_start(const struct keeper_options *opt, struct keeper **ret, struct err *e)
{
    *ret = (struct keeper *)&fake;
    return 0;
}

void keeper_stop(struct keeper *k)
{
}

int keeper_fd(const struct keeper *k)
{
    return -1;
}

void keeper_resume(const struct keeper *k)
{
}

void keeper_leave(struct keeper *k)
{
}

/* ---- namespaces ---- */

int user_join(int user_fd, int mnt_fd, struct user_root *ret, struct err *e)
{
    return 0;
}

/* ---- files ---- */

int host_layer_make(int dir, struct err *e)
{
    return fake.fails_over.code ? err_set(e, fake.fails_over.code, "%s", fake.fails_over.text) : 0;
}

void host_layer_add_own(int dir)
{
    (void)dir;
}

int hide_secrets(struct arena *a, int over, const struct hide_options *o, struct hidden *ret, struct err *e)
{
    return 0;
}

bool box_veil_is_possible(void)
{
    return false;
}

int box_clone_mount(int fd, const char *path, bool is_read_only, bool is_recursive, struct err *e)
{
    int copy = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : open(path, O_PATH | O_CLOEXEC);

    return copy < 0 ? err_errno(e, "open %s", path ? path : "a volume") : copy;
}

/* A file system of its own is a directory of its own. */
int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data)
{
    return 0;
}

int umount2(const char *target, int flags)
{
    errno = EINVAL;
    return -1;
}

int fsopen(const char *type, unsigned flags)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int fsconfig(int fs, unsigned command, const char *key, const void *value, int aux)
{
    return 0;
}

int fsmount(int fs, unsigned flags, unsigned attributes)
{
    char path[96];

    (void)snprintf(path, sizeof(path), "%s/mount-%u", fake.dir, fake.n_mounts++);
    return mkdir(path, 0700) < 0 ? -1 : open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int move_mount(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    return 0;
}
