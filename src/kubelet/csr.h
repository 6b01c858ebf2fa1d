/* csr.h - a request to have the certificate of a node signed by the cluster (kubernetes.io/kubelet-serving)
 *
 * The key is EC (P-256), text is PEM. The subject is the one that the cluster's signer wants (CN system:node:NAME, O
 * system:nodes), the alternative names are the node's name and address.
 */
#ifndef KUBELET_CSR_H
#define KUBELET_CSR_H

#include "base/buf.h"
#include "base/err.h"

/* Appends to both. */
int csr_make(struct str node, struct str ip, struct buf *request, struct buf *key, struct err *e);

#endif
