/* cgroup_enter.c - the quick way into a group: born in it (v2), or going in by oneself (v1)
 *
 * Moving another process makes the kernel stop every fork on the machine and wait for an RCU grace period: 10 ms and
 * more for each hierarchy. Neither of these two does.
 */
#include "node/cgroup/cgroup_internal.h"

#include "base/util.h"

#include <errno.h>

int cgroup_birth_fd(struct cgroups *c, const char *path)
{
    int depth;

    if (!c->n || !c->hiers[0].is_v2 || cgroup_path_check(path, &depth, NULL) < 0)
        return -1;
    return cgroup_dir_open(c->hiers[0].ours, path);
}

int cgroup_enter(struct cgroups *c, const char *path, bool is_born, struct err *e)
{
    int depth;

    if (cgroup_path_check(path, &depth, e) < 0)
        return -1;
    for (size_t i = 0; i < c->n; i++) {
        const struct cgroup_hier *h = &c->hiers[i];
        char file[600];

        if (h->is_v2 && is_born)
            continue;
        (void)snprintf(file, sizeof(file), "%s/%s", path, h->is_v2 ? "cgroup.procs" : "tasks");
        if (cgroup_file_write(h->ours, file, "0") < 0) /* 0: who writes it */
            return err_errno(e, "enter cgroup %s", path);
    }
    return 0;
}
