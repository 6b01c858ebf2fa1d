/* agent_filter.c - the filter of the pods: brought into force, tried again, and who waits for it
 *
 * The kernel works beside the loop. Each batch it is given has a number, and each pod that of the first batch it was
 * in: once that one or a later one is in force, the pod may start. When one fails, what was in force stays, and it is
 * tried again after a while. Meanwhile a pod that a NetworkPolicy selects waits, with a reason, unless an option
 * says that it need not; the others start, since all they lack are the addresses of Services.
 *
 * There is never more than one at work. One that is late cannot be stopped and may come into force at any time: were
 * there a newer one by then, the old one would replace it.
 */
#include "node/agent/agent_internal.h"

#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>

enum { RETRY_MS = 100, RETRY_MAX_MS = 30000 };

static void agent_filter_say(struct agent *g, const char *what, const char *why)
{
    autobuf said = { 0 };

    buf_fmt(&said, "%s%s", what, why);
    if (g->opt.hooks.notice)
        g->opt.hooks.notice(g->opt.hooks.ctx, buf_view(&said));
}

/* ---- who waits ---- */

static const struct object *policy_of(const struct agent_pod *p)
{
    autoarena a = { 0 };

    MAP_FOREACH(const struct agent_object *, o, &p->agent->objects)
        if (o->want == WANT_POLICY && filter_selects(&a, o->object->root, p->object->namespace,
                                                     json_find(p->object->root, "metadata", "labels", NULL)))
            return o->object;
    return NULL;
}

static void delay(struct agent_pod *p, const struct object *policy)
{
    autobuf why = { 0 };

    buf_fmt(&why, "NetworkPolicy %.*s/%.*s is not in force: %s (--allow-unfiltered runs pods without it)",
            STR_ARG(policy->namespace), STR_ARG(policy->name), p->agent->filter.trouble.text);
    life_delayed(p->life, STR("NetworkNotReady"), buf_view(&why));
    agent_pod_dirty(p);
}

void agent_filter_pod(struct agent_pod *p)
{
    const struct agent_filter *f = &p->agent->filter;
    const struct object *policy;

    if (p->stage != STAGE_FILTER)
        return;
    /* In trouble what is in force is old: a policy that came since may select the pod, too. */
    if (f->trouble.code == ERR_OK && p->filter_round && p->filter_round <= f->in_force) {
        agent_pod_made(p);
        return;
    }
    if (f->trouble.code == ERR_OK || (f->nft && !f->is_late))
        return;
    policy = p->agent->opt.allows_unfiltered ? NULL : policy_of(p);
    if (policy)
        delay(p, policy);
    else
        agent_pod_made(p);
}

static void look_at_all(struct agent *g)
{
    MAP_FOREACH(struct agent_pod *, p, &g->pods)
        agent_filter_pod(p);
}

/* ---- how it went ---- */

/* Log each kind of failure once, not ten times a second. */
static void note_trouble(struct agent *g, const struct err *e)
{
    struct agent_filter *f = &g->filter;
    bool is_news = strcmp(f->trouble.text, e->text) != 0;

    f->trouble = *e;
    if (is_news)
        agent_filter_say(g,
                         f->applied.n ? "failed to update NetworkPolicies and Service addresses; retrying: "
                         : g->opt.allows_unfiltered
                             ? "pods run without NetworkPolicies and Service addresses: "
                             : "failed to apply NetworkPolicies and Service addresses; retrying: ",
                         e->text);
}

static void agent_filter_failed(struct agent *g, const struct err *e)
{
    struct agent_filter *f = &g->filter;

    note_trouble(g, e);
    f->retry_ms = f->retry_ms ? MIN_OF(f->retry_ms * 2, RETRY_MAX_MS) : RETRY_MS;
    f->due_ms = cluster_now_ms(g->cluster) + f->retry_ms;
}

static void late(struct agent *g)
{
    struct err e;

    (void)err_set(&e, ERR_IO, "nf_tables did not answer within %d s", FILTER_PATIENCE_MS / 1000);
    note_trouble(g, &e);
    g->filter.is_late = true;
    g->filter.due_ms = cluster_now_ms(g->cluster) + FILTER_PATIENCE_MS;
}

static void worked(struct agent *g)
{
    struct agent_filter *f = &g->filter;

    if (f->trouble.code)
        agent_filter_say(g, "NetworkPolicies and Service addresses are in force now", "");
    f->trouble = (struct err){ 0 };
    f->retry_ms = 0;
    f->due_ms = INT64_MAX;
    f->in_force = f->round;
}

void agent_filter_ended(struct agent *g)
{
    struct agent_filter *f = &g->filter;
    struct filter_run *nft = f->nft;
    struct err e;

    f->nft = NULL;
    f->is_late = false;
    (void)epoll_ctl(g->epoll, EPOLL_CTL_DEL, filter_fd(nft), NULL); /* it goes with the descriptor, too */
    f->due_ms = INT64_MAX;
    if (filter_end(nft, &e) < 0) {
        agent_filter_failed(g, &e);
    } else {
        buf_reset(&f->applied);
        buf_str(&f->applied, buf_view(&f->tried));
        f->is_second = !f->is_second;
        worked(g);
    }
    if (f->is_behind)
        g->services.is_dirty = true;
    f->is_behind = false;
    look_at_all(g);
}

/* ---- bringing it into force ---- */

static void agent_filter_begin(struct agent *g, struct str batch)
{
    struct agent_filter *f = &g->filter;
    struct epoll_event ev = { .events = EPOLLIN, .data = { .ptr = f } };
    struct err e;

    buf_reset(&f->tried);
    buf_str(&f->tried, batch);
    if (filter_begin(&(struct filter_table){ g->run.id, !f->is_second, net_ns_fd(g->net) }, batch, &f->nft, &e) < 0) {
        f->nft = NULL;
        agent_filter_failed(g, &e);
        return;
    }
    f->due_ms = cluster_now_ms(g->cluster) + FILTER_PATIENCE_MS;
    if (epoll_ctl(g->epoll, EPOLL_CTL_ADD, filter_fd(f->nft), &ev) < 0)
        log_warn("Failed to watch the packet filter",
                 LOG_TEXT("error", strerror(errno))); /* the answer is taken when it is late */
}

void agent_filter_put(struct agent *g, struct str batch)
{
    struct agent_filter *f = &g->filter;

    if (f->nft) {
        f->is_behind = true; /* again when it has ended */
        return;
    }
    if (batch.n == 0)
        f->trouble = (struct err){ 0 }; /* no pod needs the filter now */
    if (f->trouble.code && cluster_now_ms(g->cluster) < f->due_ms) {
        look_at_all(g);
        return;
    }
    f->round++;
    MAP_FOREACH(struct agent_pod *, p, &g->pods)
        if (p->address.s_addr && !p->filter_round)
            p->filter_round = g->filter.round; /* the first batch that has it */
    if (f->trouble.code == ERR_OK && str_eq(batch, buf_view(&f->applied)))
        worked(g);
    else
        agent_filter_begin(g, batch);
    look_at_all(g);
}

bool agent_filter_is_due(const struct agent *g, int64_t now_ms)
{
    return !g->filter.nft && now_ms >= g->filter.due_ms;
}

static bool agent_filter_has_ended(const struct filter_run *r)
{
    struct pollfd poller = { .fd = filter_fd(r), .events = POLLIN };

    return poll(&poller, 1, 0) > 0;
}

bool agent_filter_turn(struct agent *g, int64_t now_ms)
{
    if (!g->filter.nft || now_ms < g->filter.due_ms)
        return false;
    if (agent_filter_has_ended(g->filter.nft)) {
        agent_filter_ended(g);
    } else {
        late(g);
        look_at_all(g);
    }
    return true;
}

void agent_filter_close(struct agent *g)
{
    if (g->filter.nft)
        (void)filter_end(g->filter.nft, NULL); /* its network goes, too */
    buf_done(&g->filter.applied);
    buf_done(&g->filter.tried);
    g->filter = (struct agent_filter){ 0 };
}
