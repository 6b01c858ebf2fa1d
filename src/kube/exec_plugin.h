/* exec_plugin.h - credential plugins: their input, running them, their output
 *
 * The contract is Kubernetes' client.authentication.k8s.io: the program finds an ExecCredential in KUBERNETES_EXEC_INFO
 * and prints one with a status on its standard output.
 */
#ifndef KUBE_EXEC_PLUGIN_H
#define KUBE_EXEC_PLUGIN_H

#include "kube/config.h"
#include "os/proc.h"

/* The text of KUBERNETES_EXEC_INFO. */
void exec_plugin_info(struct buf *out, const struct kube_exec *x, bool is_interactive);

struct exec_credential {
    struct str token, cert_pem, key_pem;
    int64_t expires_ms; /* 0: it does not */
};

/* Read what it printed. ERR_INVALID or ERR_SYNTAX names the field; never what is in it. */
int exec_plugin_parse(struct arena *a, const struct kube_exec *x, struct str text, struct exec_credential *ret,
                      struct err *e);

/* Start it. It has our terminal if its mode allows that and there is one. ERR_NOT_FOUND says how to install it. */
int exec_plugin_start(const struct kube_exec *x, struct proc *ret, struct err *e);

/* It has ended, or is to end now: reap it and read its output. Its descriptor is -1 afterwards. */
int exec_plugin_end(const struct kube_exec *x, struct proc *run, struct buf *out, struct err *e);

#endif
