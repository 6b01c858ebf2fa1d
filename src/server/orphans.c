/* orphans.c - deletes pods whose node was deleted, as controller/eviction.c plans it
 *
 * A Node that is not there for a while takes its pods along. It may come back before: one that is being registered again,
 * or that was deleted by mistake.
 */
#include "server/server_internal.h"

#include "base/log.h"

enum { ORPHAN_LOOK_MS = 10 * 1000 };

struct orphan_node {
    int64_t since_ms; /* mono */
    uint64_t seen;    /* the look that found pods of it last */
    struct str name;  /* the bytes follow */
};

struct orphan_look {
    struct server *server;
    struct plan plan; /* deletes */
    int64_t now_ms;
};

static struct orphan_node *orphan_node_need(struct server *s, struct str name, int64_t now_ms)
{
    struct orphan_node *n = map_get(&s->orphans.nodes, name);
    char *text;

    if (n)
        return n;
    n = xcalloc(1, sizeof(*n) + name.n + 1);
    text = (char *)(n + 1);
    memcpy(text, name.p, name.n);
    n->name = (struct str){ text, name.n };
    n->since_ms = now_ms;
    map_put(&s->orphans.nodes, n->name, n);
    return n;
}

static void orphan_look_at(void *ctx, const struct object *pod)
{
    struct orphan_look *look = ctx;
    struct server *s = look->server;
    struct str node = json_member_text(json_get(pod->root, "spec"), "nodeName");
    size_t n_ops = look->plan.ops.n;
    struct orphan_node *n;

    if (!node.n || store_get(s->opt.store, type_by_kind(STR("v1"), STR("Node")), STR_NULL, node))
        return;
    n = orphan_node_need(s, node, look->now_ms);
    n->seen = s->orphans.looks;
    orphan_plan(pod->root, look->now_ms - n->since_ms, &look->plan);
    if (look->plan.ops.n > n_ops)
        log_info("Deleted pod of a deleted node", LOG_STR("namespace", pod->namespace), LOG_STR("pod", pod->name),
                 LOG_STR("node", node));
}

/* Nodes that are back, or have no more pods. */
static void orphan_forget(struct server *s, bool all)
{
    MAP_FOREACH(struct orphan_node *, n, &s->orphans.nodes)
        if (all || n->seen != s->orphans.looks) {
            map_remove(&s->orphans.nodes, n->name);
            free(n);
        }
}

int64_t orphans_turn(struct server *s)
{
    autoarena a = { 0 };
    struct orphan_look look = { s, { .arena = &a }, clock_mono_ms(s->opt.clock) };

    if (look.now_ms < s->orphans.due_ms)
        return s->orphans.due_ms - look.now_ms;
    s->orphans.due_ms = look.now_ms + ORPHAN_LOOK_MS;
    s->orphans.looks++;
    store_list(s->opt.store, type_by_kind(STR("v1"), STR("Pod")), STR_NULL, orphan_look_at, &look);
    orphan_forget(s, false);
    (void)control_apply(s, &look.plan); /* else later */
    return ORPHAN_LOOK_MS;
}

void orphans_done(struct server *s)
{
    orphan_forget(s, true);
    map_done(&s->orphans.nodes);
}
