/* webhook_internal.h - what the files of the webhook share
 *
 * webhook.c        reviews: asked, looked at twice if need be, answered; the queues
 * webhook_keys.c   the Secret with the certificate, and the configurations that must trust it
 */
#ifndef WEBHOOK_WEBHOOK_INTERNAL_H
#define WEBHOOK_WEBHOOK_INTERNAL_H

#include "base/list.h"
#include "base/map.h"
#include "cluster/cluster.h"
#include "cluster/relist.h"
#include "http/server.h"
#include "pki/certificate.h"
#include "kube/cluster.h"
#include "webhook/webhook.h"

enum { WEBHOOK_KINDS = 2, WEBHOOK_VIEWS = 4 };

struct webhook_config { /* a configuration that is ours */
    struct list_link link;
    struct object *object;
    uint64_t token;   /* of a write on its way; 0: none */
    int64_t again_ms; /* mono: not before */
    bool is_told;     /* by the list that is being told */
};

struct webhook_keys {
    struct certificate_set set; /* as the Secret has it, if that is good */
    bool is_good, is_used, was_used;
    int64_t begin_ms, end_ms; /* wall: the certificate's */
    int64_t use_ms;           /* mono: when it may be shown; 0: not before all configurations trust it */
    struct object *secret;    /* NULL: there is none */
    bool is_listed;
    uint64_t token;   /* of a write on its way */
    int64_t again_ms; /* mono */
    struct list configs;
    bool configs_are_listed[WEBHOOK_KINDS];
    struct buf bundle;   /* the CA as configurations have it */
    struct buf shown_ca; /* whose certificate is shown; empty: none is */
};

struct webhook {
    const struct webhook_options *opt;
    struct buf namespace, service, scheduler_name, name, host;
    const char *shared_names[2]; /* in the certificate of the Secret, which all replicas show: the Service's */
    const char *names[3];        /* … and the host of our own address, if it has one; both ended by NULL */
    int64_t life_ms;
    struct cluster *door;
    struct kube_view views[WEBHOOK_VIEWS];
    struct buf secret_selector;
    struct http_server *server;
    int epoll;
    const struct resource_type *queue_type, *secret_type, *namespace_type, *config_types[WEBHOOK_KINDS];
    struct map queues; /* struct object by name */
    struct relist relist;
    bool has_queues;
    struct list reviews;
    size_t n_looking; /* of them: wait for answers of the API server */
    struct webhook_keys keys;
    struct webhook_stats stats;
};

void keys_init(struct webhook *w);
void keys_done(struct webhook *w);
void keys_take(struct webhook *w, const struct cluster_event *ev); /* every event: it picks its own */
int64_t keys_turn(struct webhook *w);                              /* milliseconds until the next */

#endif
