/* certificate.h - the certificate a node serves with: made here, or signed by the cluster
 *
 * Keys are EC P-256. The subject is the one that Kubernetes' signer for kubelets wants (CN system:node:NAME, O
 * system:nodes), the alternative names are the node's name and address.
 */
#ifndef KUBELET_CERTIFICATE_H
#define KUBELET_CERTIFICATE_H

#include "base/buf.h"
#include "base/err.h"

struct certificate_names {
    struct str node, ip;
};

/* Both append PEM: a certificate that is signed by its own key, good for a year; or a request to have one signed. */
int certificate_make(const struct certificate_names *names, struct buf *cert, struct buf *key, struct err *e);
int certificate_ask(const struct certificate_names *names, struct buf *request, struct buf *key, struct err *e);

/* When the first certificate of the PEM text ends (ms since 1970). */
int certificate_end(struct str pem, int64_t *ret_ms, struct err *e);

#endif
