/* credential.h - our credentials for an API server, kept fresh
 *
 * A kubeconfig or a pod's account has one of: a static token, a file with a token or files with a certificate and its
 * key, which may be replaced at any time, or a plugin that issues tokens or certificates which expire. (A client
 * certificate in the kubeconfig itself needs none of this: see kube_config.tls.) Nothing here waits. Where a plugin
 * has to run, credential_get() says BUSY: wait for credential_fd() or credential_due_ms(), call credential_turn(), ask
 * again.
 *
 *     file     reloaded after a minute, or when its content was rejected. While a certificate and a key do not match
 *              they are being replaced, and the old ones are used
 *     plugin   run at first, before its credential expires, and when that was rejected. While it runs the old
 *              credential is used until it expires. A plugin that failed is run again after a while:
 *              1 s, doubling to a minute
 */
#ifndef KUBE_CREDENTIAL_H
#define KUBE_CREDENTIAL_H

#include "kube/config.h"

struct clock;
struct credential;

/* The configuration and the clock outlive it. */
struct credential *credential_new(const struct kube_config *config, struct clock *clock);
void credential_free(struct credential *c); /* ends a plugin that runs; NULL is fine */

enum credential_state { CREDENTIAL_READY, CREDENTIAL_BUSY, CREDENTIAL_FAILED };

struct credential_now {
    struct str token;             /* empty: none is needed */
    struct str cert_pem, key_pem; /* of a plugin, or of files that were read; empty: none */
    uint64_t generation;          /* another number for each credential; 0: there is only this one */
};

/* READY: '*ret' is to be sent, borrowed until the next call. FAILED: 'e' says which file or program, and why. */
enum credential_state credential_get(struct credential *c, struct credential_now *ret, struct err *e);

/* The server refused the one of that generation (401): get another. True if there may be one. */
bool credential_refused(struct credential *c, uint64_t generation);

int credential_fd(const struct credential *c);         /* readable when a plugin has ended; -1: none runs */
int64_t credential_due_ms(const struct credential *c); /* of the clock's mono time; INT64_MAX: no need */
void credential_turn(struct credential *c);

#endif
