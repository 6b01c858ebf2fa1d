/* fake_host.h - a machine that only pretends: it writes down what it is asked for, and a test says what happens there
 *
 * Stands in, at link time, for what the agent touches the kernel by: shim.h, net.h, nftables (filter.h), the server of
 * dns.h, and of cgroup.h, keeper.h, host_layer.h, hide.h, box.h and mount(2) what the agent calls. The agent itself,
 * pods' lives, volumes, images, logs, the rules and the zone are the real ones. So no process is made, nothing is
 * mounted, and nobody needs to be root.
 *
 * A pod is known by its hostname, which is its name. Left alone, everything works at once: a shim is ready, a container
 * starts, SIGKILL ends one, nft succeeds. The 'holds_…' make it slow: then nothing happens before the test says so. The
 * 'fails_…' are given back as errors as long as their code is set.
 */
#ifndef NODE_AGENT_TEST_FAKE_HOST_H
#define NODE_AGENT_TEST_FAKE_HOST_H

#include "os/test/testing.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/rand.h"
#include "node/cgroup/cgroup.h"
#include "node/dns/dns.h"
#include "node/shim/conlog.h"
#include "node/shim/shim.h"

struct fake_container { /* that a shim was asked to start; the newest attempt */
    struct list_link link;
    struct str name;
    int attempt;
    bool is_running, is_starting, is_killed;
    int status; /* of one that ended: this and the next */
    bool is_oom;
    struct box_spec spec;
    struct cgroup_limits limits;
    struct conlog *log;
};

struct fake_host {
    bool holds_ready, holds_start, holds_kill, holds_nft;
    struct err fails_new, fails_start, fails_join, fails_address, fails_nft, fails_over;
    const char *cgroups_why; /* what cgroups_open() says is missing */
    struct cgroup_stats stats;

    struct arena arena;
    struct buf asked, said;
    struct buf nft_batch; /* in force */
    bool is_second;       /* of the two tables */
    struct list shims;
    struct spawner *spawner, *old; /* that was left */
    struct net *kept_net;
    struct clock *clock; /* of times that shims tell; NULL: the real one's */
    struct dns_zone *zone;
    struct filter_run *nft; /* at work */
    unsigned n_addresses, n_joined, n_mounts;
    char dir[64]; /* for what would be file systems of their own */
};
extern struct fake_host fake;

void fake_begin(void);
void fake_end(void);   /* fails if the agent left something: a shim, an address, a link, a descriptor */
void fake_clear(void); /* the same, whatever was left */
int fake_count_fds(void);

/* What was asked since the last call, "; " between:
 *     shim p                  a sandbox                 free p, stop p
 *     adopt p                 a running one
 *     join 10.88.0.2          its network               leave 10.88.0.2
 *     hold 10.88.0.2          that of an adopted pod
 *     nft                     rules were given to the kernel
 *     start p/c#0             attempt 0                 TERM p/c, KILL p/c, SIG3 p/c
 *     exec p/c true -x        http p 10.88.0.2:80/x     (tcp, https, grpc)
 *     limit pod 500m 64Mi     of its group              limit c 500m 64Mi
 *     read p/c#0 128          of its log, up to there */
const char *fake_asked(void);

/* ---- what happens ---- */

void fake_ready(const char *pod); /* with holds_ready */
void fake_started(const char *pod, const char *container);
void fake_not_started(const char *pod, const char *container, int code, const char *reason, const char *text);
void fake_exit(const char *pod, const char *container, int code);
void fake_killed(const char *pod, const char *container, int signo, bool is_oom);
void fake_answer(const char *pod, bool is_ok, const char *text); /* to the oldest probe or hook */
void fake_lost(const char *pod, const char *why);                /* its shim died, and all of it */
void fake_says(const char *pod, const char *container, const char *text);
void fake_spawner_dies(void);
void fake_nft_ends(const char *complaint); /* NULL: it worked. With holds_nft */
void fake_random(struct rand *r);          /* one of all this, to some pod */
void fake_release(void); /* what was held happens, probes and hooks succeed; nothing is held any more */

/* ---- what is there ---- */

bool fake_has_pod(const char *pod);
bool fake_runs(const char *pod, const char *container); /* false also where there is none */
const struct shim_options *fake_pod(const char *pod);
const struct fake_container *fake_container(const char *pod, const char *container);
const char *fake_env(const char *pod, const char *container, const char *name); /* NULL: it has no such variable */

#endif
