/* credential.h - what proves who we are, kept fresh
 *
 * A kubeconfig or a pod's account gives one of: a token that stays, a file whose token somebody replaces, files of a
 * certificate and its key that somebody replaces, or a plugin that makes tokens or certificates which expire. (A client
 * certificate in the kubeconfig itself needs nothing of this: see kube_config.tls.) Nothing here waits. Where a plugin
 * has to run, credential_get() says BUSY: wait for credential_fd() or credential_due_ms(), call credential_turn(), ask
 * again.
 *
 *     file     read again when what was read is a minute old, or was refused; a certificate and a key that do not fit
 *              are being replaced, and the old ones are used meanwhile
 *     plugin   run when there is nothing yet, before what it gave expires, or when that was refused; while a newer one
 *              is on its way the old one is used as long as it lasts. A plugin that failed is run again after a while:
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
