/* webhook.h - admission webhooks: a server for the API server
 *
 * Every replica serves; no leader is needed. Queues are cached by a watch. Before a review is denied because of a
 * queue, the queue is read from the API server, since the cache may lag behind.
 *
 * The certificate is in a Secret that all replicas share. The first replica that needs one creates it, and it is
 * renewed when two thirds of its life are over. The CA is kept in every webhook configuration with the label
 * app.kubernetes.io/name=pumice. A certificate of a new CA is served only after all configurations have had that CA for
 * ten seconds.
 *
 * Call webhook_turn() when webhook_fd() is readable, and at the time it returns.
 */
#ifndef WEBHOOK_WEBHOOK_H
#define WEBHOOK_WEBHOOK_H

#include "base/buf.h"
#include "base/err.h"

struct kube_config;
/* What the names of our configurations begin with: those of Volcano's, whose place they take. */
#define WEBHOOK_CONFIG_NAMES "volcano-admission-service-"

struct webhook;

struct webhook_options {
    const struct kube_config *config; /* outlives it */
    const char *address;              /* ":8443", as http/server.h has it */
    struct str namespace, service; /* what the API server calls it by: SERVICE.NAMESPACE.svc; the Secret is SERVICE */
    struct str scheduler_name;     /* empty: "volcano" */
    int64_t life_ms;               /* of certificates; 0: a year */
};

/* ERR_INVALID, ERR_IO: the address cannot be used. */
int webhook_new(const struct webhook_options *opt, struct webhook **ret, struct err *e);
void webhook_free(struct webhook *w); /* NULL is fine */

int webhook_fd(const struct webhook *w);
int64_t webhook_turn(struct webhook *w); /* milliseconds until the next is due; INT64_MAX: none is */

/* Take no more connections and answer what was asked, for so long at most. Waits. */
void webhook_drain(struct webhook *w, int64_t ms);

/* Can it decide, and is it trusted? Else 'why' is filled in. */
bool webhook_is_ready(const struct webhook *w, struct buf *why);

unsigned webhook_port(const struct webhook *w);

struct webhook_stats {
    uint64_t allowed, denied, failed; /* reviews; failed: those that were none */
    uint64_t looked_twice;            /* of them: answered after a fresh look */
};
void webhook_stats(const struct webhook *w, struct webhook_stats *ret);

#endif
