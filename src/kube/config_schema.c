/* config_schema.c - the fields of a kubeconfig file */
#include "kube/kube_internal.h"

#include "api/fields.h"
#include "kube/config.h"

/* clang-format off */

#define D_FLAG(n, t, m, ...) FIELD_ROW(n, FIELD_BOOL, SHAPE_ONE, offsetof(t, m), __VA_ARGS__)
#define D_KEEP(n, t, m, ...) FIELD_ROW(n, FIELD_ANY, SHAPE_ONE, offsetof(t, m), __VA_ARGS__)

SCHEMA_DECODED(static, cluster_part, "Cluster", struct cluster_part, offsetof(struct cluster_part, raw),
    D_STR("server", struct cluster_part, server),
    D_STR("certificate-authority", struct cluster_part, ca_file),
    D_STR("certificate-authority-data", struct cluster_part, ca_data, SECRET),
    D_STR("tls-server-name", struct cluster_part, server_name),
    D_STR("proxy-url", struct cluster_part, proxy),
    D_FLAG("insecure-skip-tls-verify", struct cluster_part, is_insecure),
    D_FLAG("disable-compression", struct cluster_part, is_plain),
    D_KEEP("extensions", struct cluster_part, extensions));

SCHEMA_DECODED(static, exec_env, "ExecEnvVar", struct exec_env, FIELD_NO_OFFSET,
    D_STR("name", struct exec_env, name, .flags = FIELD_REQUIRED | FIELD_NOT_EMPTY | FIELD_SECRET),
    D_STR("value", struct exec_env, value, SECRET));

SCHEMA_DECODED(static, kube_exec, "ExecConfig", struct kube_exec, offsetof(struct kube_exec, raw),
    D_STR("command", struct kube_exec, command, NEEDED),
    D_STR("apiVersion", struct kube_exec, api_version, NEEDED,
        ONE_OF("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")),
    D_STR("installHint", struct kube_exec, hint),
    D_STR("interactiveMode", struct kube_exec, interactive, ONE_OF("Never", "IfAvailable", "Always")),
    D_STRS("args", struct kube_exec, args),
    D_OBJS("env", struct kube_exec, env, &exec_env, SECRET),
    D_FLAG("provideClusterInfo", struct kube_exec, tells_cluster));

SCHEMA_DECODED(static, user_part, "AuthInfo", struct user_part, offsetof(struct user_part, raw),
    D_STR("client-certificate", struct user_part, cert_file),
    D_STR("client-certificate-data", struct user_part, cert_data, SECRET),
    D_STR("client-key", struct user_part, key_file),
    D_STR("client-key-data", struct user_part, key_data, SECRET),
    D_STR("token", struct user_part, token, SECRET),
    D_STR("tokenFile", struct user_part, token_file),
    D_STR("username", struct user_part, username),
    D_STR("password", struct user_part, password, SECRET),
    D_STR("as", struct user_part, as),
    D_STR("as-uid", struct user_part, as_uid),
    D_STRS("as-groups", struct user_part, as_groups),
    D_KEEP("as-user-extra", struct user_part, as_extra),
    D_KEEP("auth-provider", struct user_part, provider),
    D_OBJ("exec", struct user_part, exec, &kube_exec, POINTER),
    F_ROW("extensions", FIELD_ANY, SHAPE_ONE));

SCHEMA_DECODED(static, context_part, "Context", struct context_part, offsetof(struct context_part, raw),
    D_STR("cluster", struct context_part, cluster),
    D_STR("user", struct context_part, user),
    D_STR("namespace", struct context_part, namespace),
    F_ROW("extensions", FIELD_ANY, SHAPE_ONE));

SCHEMA_DECODED(static, named_cluster, "NamedCluster", struct named_cluster, FIELD_NO_OFFSET,
    D_STR("name", struct named_cluster, name, NEEDED),
    D_OBJ("cluster", struct named_cluster, part, &cluster_part));

SCHEMA_DECODED(static, named_user, "NamedAuthInfo", struct named_user, FIELD_NO_OFFSET,
    D_STR("name", struct named_user, name, NEEDED),
    D_OBJ("user", struct named_user, part, &user_part));

SCHEMA_DECODED(static, named_context, "NamedContext", struct named_context, FIELD_NO_OFFSET,
    D_STR("name", struct named_context, name, NEEDED),
    D_OBJ("context", struct named_context, part, &context_part));

SCHEMA_DECODED(, schema_kubeconfig, "Config", struct config_part, FIELD_NO_OFFSET,
    F_STR("apiVersion", ONE_OF("v1")),
    F_STR("kind", ONE_OF("Config")),
    F_ROW("preferences", FIELD_ANY, SHAPE_ONE),
    F_ROW("extensions", FIELD_ANY, SHAPE_ONE),
    D_STR("current-context", struct config_part, current),
    D_OBJS("clusters", struct config_part, clusters, &named_cluster),
    D_OBJS("users", struct config_part, users, &named_user),
    D_OBJS("contexts", struct config_part, contexts, &named_context));
