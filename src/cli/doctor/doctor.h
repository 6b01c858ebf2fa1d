/* doctor.h - the parts of `pumice doctor`
 *
 *     doctor.c    the command, and how checks are printed
 *     cluster.c   a cluster: server, kinds, rights, jobs
 *     programs.c  … and the programs in it: controllers, schedulers, webhooks
 *     scheduler_config.c  settings of the scheduler that have no effect
 *
 * The checks of this host are in node/doctor/host.h; those of a cluster have the same form.
 */
#ifndef CLI_DOCTOR_DOCTOR_H
#define CLI_DOCTOR_DOCTOR_H

#include "cli/live.h"
#include "node/doctor/host.h"

struct cluster_exam {
    struct live *live;
    struct arena *arena;
    struct str namespace;      /* of our controller */
    struct kube_list programs; /* Deployments */
    bool has_programs;         /* the list could be read */
    struct host_checks *checks;
};

void exam_add(struct cluster_exam *x, struct host_check check);
void exam_fine(struct cluster_exam *x, const char *name, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Nothing is changed in the cluster. Missing rights to read are reported, and are no fault. */
void cluster_examine(struct live *live, struct str namespace, struct host_checks *ret);

/* programs.c */
void exam_controllers(struct cluster_exam *x);
void exam_schedulers(struct cluster_exam *x);
void exam_webhooks(struct cluster_exam *x);

/* scheduler_config.c */
void exam_scheduler_config(struct cluster_exam *x, const struct json *deployment);

#endif
