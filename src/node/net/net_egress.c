/* net_egress.c - egress of the pods' network: by the host's network, else by slirp4netns, else none, and why */
#include "node/net/net_internal.h"

#include "base/clock.h"
#include "base/util.h"
#include "node/net/net_nat.h"
#include "os/proc.h"

static const char *const kind_texts[NET_OUT_MAX] = {
    [NET_OUT_NONE] = NULL,
    [NET_OUT_HOST] = "by the host's addresses",
    [NET_OUT_SLIRP] = "by slirp4netns",
};

/* One chain that drops is enough, whatever others say: ours cannot help, and rules of others are not ours to change. */
static int check_firewall(struct err *e)
{
    char chain[120];

    if (!nat_is_forward_dropped(-1, chain, sizeof(chain)))
        return 0;
    return err_set(
        e, ERR_FORBIDDEN,
        "the host's firewall may drop packets of pods (nft chain %s has policy drop); run: iptables -I FORWARD -i "
        "'pm+' -j ACCEPT; iptables -I FORWARD -o 'pm+' -j ACCEPT",
        chain);
}

void net_egress_begin(struct net_egress *o)
{
    struct err e = { 0 };

    *o = (struct net_egress){ .lock = -1, .exit_fd = -1 };
    o->is_root = netns_is_ours();
    if (nl_open(&o->host, &e) < 0 || (o->is_root && net_lock(&o->lock, &e) < 0))
        o->why = e;
}

/* The firewall's word is a doubt, not a fact: there may be a rule for us. So slirp4netns if it works, else we try. */
static enum net_egress_kind open_some(struct net_egress *o, const struct net_way *w)
{
    struct err doubt = { 0 }, host = { 0 }, slirp = { 0 };
    bool is_sure = o->is_root && check_firewall(&doubt) == 0;

    if (is_sure && net_uplink_open(w, &host) == 0)
        return NET_OUT_HOST;
    if (net_slirp_open(w, &o->slirp, &o->exit_fd, &slirp) == 0)
        return NET_OUT_SLIRP;
    if (o->is_root && !is_sure && net_uplink_open(w, &host) == 0) {
        o->why = doubt;
        return NET_OUT_HOST;
    }
    o->why = o->is_root ? host : slirp;
    return NET_OUT_NONE;
}

void net_egress_open(struct net_egress *o, const struct net_way *w)
{
    struct net_way way = *w;

    way.host = &o->host;
    way.is_root = o->is_root;
    if (!o->why.code)
        o->kind = open_some(o, &way);
    if (o->lock >= 0)
        close(o->lock);
    o->lock = -1;
}

/* A reader of our output must not wait for this process. */
static void keep_only(int fd)
{
    if (fd > 0)
        (void)close_range(0, (unsigned)fd - 1, 0); /* nothing of it is needed */
    (void)close_range((unsigned)fd + 1, ~0U, 0);
}

static _Noreturn void be_remover(int lock, const char *id)
{
    struct nl l = { 0 };

    (void)setsid(); /* not for the terminal's Ctrl-C */
    keep_only(lock);
    if (nl_open(&l, NULL) == 0)
        (void)net_uplink_remove(&l, id, lock); /* what stays is swept by the next start */
    _exit(0);
}

/* Links and tables go slowly: the kernel waits for every processor, several times, some 50 ms. Meanwhile the rest of the run is
 * removed. */
static pid_t remove_uplink(struct net_egress *o, const char *id)
{
    autoclose int lock = -1;
    pid_t pid = net_lock(&lock, NULL) == 0 ? fork() : -1; /* else another run hangs: go on without */

    if (pid == 0)
        be_remover(lock, id);
    if (pid < 0)
        (void)net_uplink_remove(&o->host, id, -1);
    return MAX_OF(pid, 0);
}

static void net_egress_done(struct net_egress *o)
{
    if (o->lock >= 0)
        close(o->lock);
    if (o->exit_fd >= 0)
        close(o->exit_fd);
    o->exit_fd = -1;
    nl_close(&o->host);
}

void net_egress_let_go(struct net_egress *o)
{
    net_egress_done(o);
    net_slirp_leave(&o->slirp);
}

pid_t net_egress_close(struct net_egress *o, const char *id)
{
    pid_t remover = o->kind == NET_OUT_HOST ? remove_uplink(o, id) : 0;

    net_egress_done(o);
    net_slirp_wait(&o->slirp);
    return remover;
}

int net_egress_again(struct net_egress *o, const struct net_way *w, struct err *e)
{
    enum { PAUSE_MS = 10000 }; /* one that dies at once is not started for ever */
    struct net_way way = *w;
    int64_t now_ms = clock_mono_ms(&clock_real);

    if (o->exit_fd >= 0)
        close(o->exit_fd);
    o->exit_fd = -1;
    net_slirp_wait(&o->slirp);
    if (o->restarted_ms && now_ms < o->restarted_ms + PAUSE_MS)
        return err_set(e, ERR_IO, "slirp4netns was killed twice within %d s", PAUSE_MS / 1000);
    o->restarted_ms = now_ms;
    way.host = &o->host;
    way.is_root = o->is_root;
    way.is_again = true;
    return net_slirp_open(&way, &o->slirp, &o->exit_fd, e);
}

void net_egress_adopt(struct net_egress *o, enum net_egress_kind kind, const char *why, int take_exit_fd)
{
    *o = (struct net_egress){ .kind = kind, .lock = -1, .exit_fd = take_exit_fd, .is_root = netns_is_ours() };
    (void)nl_open(&o->host, NULL); /* only to remove it, which the next sweep can do, too */
    if (why[0])
        (void)err_set(&o->why, ERR_FORBIDDEN, "%s", why);
}

const char *net_egress_text(const struct net_egress *o)
{
    return kind_texts[o->kind];
}
