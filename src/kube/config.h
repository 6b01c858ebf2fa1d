/* config.h - the address of a cluster and our credentials: kubeconfig files, or the account of our pod
 *
 * Looked for in this order, as kubectl does; the first that exists counts:
 *
 *     1. the file that was asked for (--kubeconfig)
 *     2. the files that KUBECONFIG lists, merged: of clusters, users and contexts of the same name, and of
 *        current-context, the first one wins as a whole; missing files are skipped
 *     3. ~/.kube/config
 *     4. in a pod: its service account (KUBERNETES_SERVICE_HOST and the files below /var/run/secrets)
 *
 * Paths inside a file are relative to that file. "…-data" wins over the file of the same name, tokenFile over token.
 *
 * Every problem is an error (ERR_INVALID, ERR_SYNTAX, ERR_NOT_FOUND) that names the file and the field:
 * "/home/me/.kube/config: line 7: clusters[0].cluster.server: is missing". Secrets are never part of a message.
 */
#ifndef KUBE_CONFIG_H
#define KUBE_CONFIG_H

#include "base/vec.h"
#include "http/client.h"
#include "json/json.h"

/* ---- where to look ---- */

struct kube_env { /* what the world says; NULL: not set */
    const char *kubeconfig, *home;
    const char *service_host, *service_port; /* KUBERNETES_SERVICE_… */
    const char *account_dir;                 /* of the pod's service account */
};
struct kube_env kube_env_real(void);

struct kube_config_options {
    struct kube_env env;
    const char *file;    /* --kubeconfig; NULL: as above */
    const char *context; /* --context; NULL: current-context */
};

/* ---- what was found ---- */

enum exec_mode { EXEC_NEVER, EXEC_IF_AVAILABLE, EXEC_ALWAYS }; /* may the plugin ask at the terminal? */

struct exec_env {
    struct str name, value;
};

struct kube_exec {      /* a program that gives credentials (client.authentication.k8s.io) */
    struct json *raw;   /* as it stands in the file */
    struct str command; /* a path, or a name to be found by PATH */
    struct str api_version, hint, interactive;
    struct {
        struct str *v;
        size_t n;
    } args;
    struct {
        struct exec_env *v;
        size_t n;
    } env;
    bool tells_cluster;

    struct json *cluster; /* spec.cluster of KUBERNETES_EXEC_INFO; NULL: it is not told */
    enum exec_mode mode;
};

struct kube_config {
    struct str origin;    /* for messages: "context dev of /home/me/.kube/config" */
    struct str namespace; /* of the context; "default" where none is given */

    struct str server;   /* "https://10.0.0.1:6443" */
    struct http_tls tls; /* client certificates included */
    struct str proxy;
    bool is_plain; /* disable-compression */

    struct str token;      /* at most one of the three: */
    struct str token_file; /* read again and again: tokens are replaced while we run */
    const struct kube_exec *exec;
    const char *const *headers; /* Impersonate-…; NULL: none */

    VEC(struct str) warnings; /* sentences for the user: an unchecked certificate, unknown fields … */
};

/* All of it lives in 'a'. */
int kube_config_load(struct arena *a, const struct kube_config_options *opt, struct kube_config *ret, struct err *e);
void kube_config_log_warnings(const struct kube_config *c); /* for a program that has a log and no user */

/* The options of an HTTP client for it; text is borrowed. */
struct http_options kube_config_http(const struct kube_config *c, struct str user_agent);

#endif
