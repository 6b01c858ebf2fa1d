/* security.c - which pods of the cluster may run on this machine: --pod-security
 *
 * Users who may create pods can ask for all of a machine. The owner of this machine limits that; the API server's own
 * admission may be stricter.
 */
#include "api/pod/security.h"
#include "base/util.h"
#include "program/node/node.h"

const char *const node_security_names[] = {
    [SECURITY_PRIVILEGED] = "privileged",
    [SECURITY_BASELINE] = "baseline",
    [SECURITY_RESTRICTED] = "restricted",
    NULL,
};

struct security_looking {
    enum node_security level;
    bool is_bad;
    struct err *e;
    struct arena arena;
};

/* The first is enough. */
static void on_finding(void *ctx, const struct place *at, const struct security_rule *rule)
{
    struct security_looking *l = ctx;

    if (l->is_bad || (l->level == SECURITY_BASELINE && !rule->danger))
        return;
    l->is_bad = true;
    if (rule->danger)
        (void)err_set(l->e, ERR_FORBIDDEN, "%.*s: %s; this node refuses it (--pod-security %s)",
                      STR_ARG(place_path(&l->arena, at)), rule->danger, node_security_names[l->level]);
    else
        (void)err_set(l->e, ERR_FORBIDDEN, "%.*s %s on this node (--pod-security %s)",
                      STR_ARG(place_path(&l->arena, at)), rule->must, node_security_names[l->level]);
}

int node_admit(void *ctx, const struct json *pod, struct err *e)
{
    const struct node *n = ctx;
    struct security_looking l = { .level = n->security, .e = e };
    struct place root = { .node = pod };

    if (l.level != SECURITY_PRIVILEGED)
        pod_security_walk(&root, on_finding, &l);
    arena_done(&l.arena);
    return l.is_bad ? -1 : 0;
}
