/* agent_write.c - writes to the cluster that must take effect some time
 *
 * A cluster may refuse a write, or not answer it (cluster.h). All that the agent writes follows from what is so on this
 * machine: the status of a pod, its end, the Node, the address of a Service. So a write that failed or was not answered
 * is repeated after a pause, with the state by then. A newer write of the same thing replaces the older one, whose
 * answer is ignored. The older one may still take effect, and later than the newer one; so a pod is compared with what
 * was written when another client has changed it (agent_pod.c). Events are not among these: one that is lost is lost.
 */
#include "node/agent/agent_internal.h"

#include "base/log.h"

enum { PAUSE_MS = 1000, PAUSE_MAX_MS = 30000 };

void agent_write_forget(struct agent *g, struct agent_write *w)
{
    if (w->token)
        map_u64_remove(&g->writes, w->token);
    w->token = 0;
}

void agent_write(struct agent *g, struct agent_write *w, const struct op *op)
{
    agent_write_forget(g, w);
    if (!w->has_failed)
        w->pause_ms = 0;
    w->has_failed = false;
    w->token = cluster_write(g->cluster, op);
    map_u64_put(&g->writes, w->token, w);
}

/* An object that was deleted needs no status, and one that exists need not be created. */
static bool is_failure(const struct err *e)
{
    return e->code != ERR_OK && e->code != ERR_NOT_FOUND && e->code != ERR_EXISTS;
}

void agent_write_answered(struct agent *g, const struct cluster_event *ev)
{
    struct agent_write *w = map_u64_remove(&g->writes, ev->token);

    if (is_failure(&ev->err))
        log_warn("API write failed", LOG_TEXT("error", ev->err.text));
    if (!w)
        return;
    w->token = 0;
    if (is_failure(&ev->err)) {
        agent_write_later(g, w);
    } else {
        w->rev = ev->object ? ev->object->rev : 0;
        if (w->pod && (w->pod->object->rev > w->rev || w->pod->is_over || w->pod->is_unmaking))
            agent_pod_dirty(w->pod); /* it changed since, or waited for this write */
    }
    if (w == &g->node)
        agent_node_answered(g, &ev->err);
}

void agent_write_later(struct agent *g, struct agent_write *w)
{
    w->has_failed = true;
    w->pause_ms = w->pause_ms ? MIN_OF(w->pause_ms * 2, PAUSE_MAX_MS) : PAUSE_MS;
    w->due_ms = cluster_now_ms(g->cluster) + w->pause_ms;
    if (w->pod)
        agent_pod_dirty(w->pod);
    else
        g->rewrite_ms = MIN_OF(g->rewrite_ms, w->due_ms);
}

int64_t agent_write_due_ms(const struct agent_write *w)
{
    return w->has_failed ? w->due_ms : INT64_MAX;
}

/* The Node, and Services: pods have timers of their own. */
bool agent_writes_again(struct agent *g, int64_t now_ms)
{
    if (now_ms < g->rewrite_ms)
        return false;
    g->rewrite_ms = INT64_MAX;
    if (agent_write_due_ms(&g->node) <= now_ms)
        agent_node_write(g);
    MAP_FOREACH(const struct agent_object *, o, &g->objects)
        if (o->want == WANT_SERVICE)
            agent_service_changed(g, o->object);
    g->rewrite_ms = MIN_OF(g->rewrite_ms, agent_write_due_ms(&g->node));
    return true;
}
