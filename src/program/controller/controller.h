/* controller.h - the parts of `pumice controller`
 *
 *     controller.c    options, the cluster, what is watched
 *     loop.c          turns: the Lease, controllers and scheduler, signals, time, the end
 *     config_watch.c  the scheduler's settings, read again when they change
 *     status.c        metrics, health, and what is known of a job
 *
 * A replica waits for the Lease (or needs none), then leads: it opens the door, lists, plans and writes. One that loses
 * the Lease ends at once with an error, as Kubernetes' own components do, and its supervisor starts it again: a
 * new process has fresh caches, and nothing that was decided by the old leader can be left in it.
 */
#ifndef PROGRAM_CONTROLLER_CONTROLLER_H
#define PROGRAM_CONTROLLER_CONTROLLER_H

#include "cli/config_watch.h"
#include "cli/native.h"
#include "cli/options.h"
#include "driver/driver.h"
#include "kube/cluster.h"
#include "kube/lease.h"
#include "webhook/webhook.h"
#include "sched/model/config.h"

struct controller_options {
    const char *kubeconfig, *context, *namespace;
    bool scheduler, native_groups;
    const char *scheduler_name, *scheduler_config;
    const char *leader_elect, *lease_duration, *renew_deadline, *retry_period, *lease_name, *lease_namespace;
    const char *listen, *log_level, *log_format;
    bool webhook;
    const char *webhook_address, *webhook_service, *webhook_life;
};

enum controller_stage {
    STAGE_WAITS,    /* for the Lease */
    STAGE_LEADS,    /* all that there is to do */
    STAGE_STOPS,    /* asked to end: what is on its way may arrive */
    STAGE_RELEASES, /* … and the Lease is given back */
    STAGE_OVER,
    STAGE_MAX,
};
extern const char *const controller_stage_names[STAGE_MAX];

enum { VIEWS_MAX = 10 };

struct controller {
    struct arena *arena;
    const struct controller_options *o;
    struct kube_config config;
    struct kube_view views[VIEWS_MAX];
    size_t n_views;
    struct kube_view others; /* of the second door */
    struct election_times times;
    struct sched_config sched;
    struct config_watch watch;

    struct cluster *lease_door, *door;
    struct cluster *others_door; /* to the pods that belong to no Job; NULL: 'door' tells of all */
    struct lease *lease;         /* NULL: there is no election */
    int64_t fence_ms; /* when the kernel ends a leader that has not renewed it (os/fence.h); of the Lease's clock */
    struct driver *driver;
    enum controller_stage stage;
    int64_t stage_ms;  /* mono time: when patience ends */
    int64_t settle_ms; /* … and when what is not needed at rest is given back; INT64_MAX: it was */
    int signal_fd, exit_status;
    struct err told;    /* the trouble that was logged last */
    int64_t trouble_ms; /* mono time: when to speak of it; 0: there is none */
    bool told_lacks;
    bool lacks_native, had_native; /* the kinds of --native-podgroups; the cluster had them once */
    int64_t begin_ms;
    uint64_t n_throttled;       /* requests that the API server answered with 429 … */
    int64_t throttled_ms;       /* … mono time: the last of them that is worth telling; 0: none is */
    struct http_server *status; /* NULL: no --listen-address */
    struct webhook *webhook;    /* NULL: admission is not ours */
};

/* ---- loop.c ---- */

/* Until it is over; the exit status. */
int controller_loop(struct controller *c);

/* ---- status.c ---- */

int controller_listen(struct controller *c, struct err *e);

#endif
