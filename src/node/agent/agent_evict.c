/* agent_evict.c - pods that fill the memory behind their small files
 *
 * A container may write to its /etc/hosts and to its termination message, as everywhere; here they lie in one tmpfs for
 * all pods, and what is in it is no process's that the kernel could end. A pod that puts more there than such files
 * ever hold is evicted.
 */
#include "node/agent/agent_internal.h"

#include "os/dir.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

enum {
    POD_MAX = 1 << 20,    /* bytes of one pod */
    LOOK_FROM = 8 << 20,  /* bytes of all, from which on it is worth looking at each */
    POD_USUAL = 64 << 10, /* and that much more for each pod */
};

static int64_t bytes_of(int above, const char *name)
{
    autodir *d = dir_open(above, name);
    int64_t sum = 0;
    struct stat st;

    for (struct dirent *entry; (entry = dir_next(d));)
        if (entry->d_type == DT_REG && fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            sum += st.st_blocks * 512;
    return sum;
}

static int64_t bytes_of_pod(const struct agent_pod *p)
{
    autoclose int dir = open(p->small.p, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return dir < 0 ? 0 : bytes_of(dir, ".") + bytes_of(dir, "etc");
}

static void evict(struct agent_pod *p, int64_t bytes)
{
    autobuf why = { 0 };

    buf_fmt(&why, "The pod wrote %lld MiB to its termination message, /etc/hosts and the like; %d MiB are allowed",
            (long long)bytes >> 20, POD_MAX >> 20);
    life_stop(p->life, 0, STR("Evicted"), buf_view(&why), cluster_now_ms(p->agent->cluster));
    agent_pod_dirty(p);
}

void agent_evict_check(struct agent *g)
{
    struct statfs fs;

    if (fstatfs(g->run.small_fd, &fs) < 0 ||
        (int64_t)(fs.f_blocks - fs.f_bfree) * fs.f_bsize < LOOK_FROM + (int64_t)map_count(&g->pods) * POD_USUAL)
        return;
    MAP_FOREACH(struct agent_pod *, p, &g->pods) {
        int64_t bytes = p->stage == STAGE_MADE ? bytes_of_pod(p) : 0;

        if (bytes > POD_MAX)
            evict(p, bytes);
    }
}
