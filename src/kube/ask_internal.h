/* ask_internal.h - what ask.c and stream.c share */
#ifndef KUBE_ASK_INTERNAL_H
#define KUBE_ASK_INTERNAL_H

#include "base/buf.h"
#include "kube/ask.h"
#include "kube/credential.h"

struct kube_ask {
    const struct kube_config *config;
    struct http_client *http;
    struct credential *credential;
    uint64_t generation; /* of the certificate the client has */
    struct buf agent;
};

/* The identity to send with; waits for a plugin that has to run. */
int ask_identify(struct kube_ask *k, struct credential_now *ret, struct err *e);

#endif
