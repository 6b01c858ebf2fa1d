/* agent_tenant.c - pods of tenants: whose they are, and which ids of the machine they have */
#include "node/agent/agent_internal.h"

#include "node/userns/id_range.h"
#include "node/userns/user.h"

#include <fcntl.h>
#include <sys/stat.h>

struct tenant agent_tenant(const struct agent_pod *p)
{
    return tenant_of(p->object->root);
}

bool agent_tenant_is_fenced(const struct agent_pod *p)
{
    struct tenant t = agent_tenant(p);

    return t.is_tenant && !t.has_host_services;
}

/* Has it pods, or files that may have ids of its range? */
static bool tenant_is_used(void *ctx, struct str namespace)
{
    const struct agent *g = ctx;
    autoarena a = { 0 };
    struct stat st;

    MAP_FOREACH(const struct agent_pod *, p, &g->pods)
        if (str_eq(p->object->namespace, namespace))
            return true;
    return g->opt.claims_dir && stat(arena_fmt(&a, "%s/%.*s", g->opt.claims_dir, STR_ARG(namespace)).p, &st) == 0;
}

int agent_tenant_ids(struct agent_pod *p, uint32_t *ret, struct err *e)
{
    struct agent *g = p->agent;
    autoclose int dir = -1;
    struct id_range_options o = { .etc = "/etc", .ctx = g, .is_used = tenant_is_used };

    *ret = 0;
    if (!agent_tenant(p).has_own_ids || user_ids() != UINT32_MAX)
        return 0; /* in a user namespace of the whole run there are no ids of other users */
    dir = o.dir = open(g->run.state_dir.p, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_errno(e, "open %s", g->run.state_dir.p);
    return id_range_of(&o, p->object->namespace, ret, e);
}
