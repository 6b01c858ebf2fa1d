/* kube_internal.h - what the files of this folder share */
#ifndef KUBE_KUBE_INTERNAL_H
#define KUBE_KUBE_INTERNAL_H

#include "base/buf.h"
#include "base/err.h"
#include "json/schema.h"

/* ---- file.c ---- */

/* A whole file of at most 'max' bytes, appended to 'out'. Only regular files are read, so it never waits. The error
 * does not name the path: "is no plain file". */
int kube_file_read(const char *path, size_t max, struct buf *out, struct err *e);

/* ---- config_schema.c ---- a kubeconfig file as it stands ---- */

struct cluster_part {
    struct json *raw;
    struct str server, ca_file, ca_data, server_name, proxy;
    bool is_insecure, is_plain;
    struct json *extensions;
};
struct user_part {
    struct json *raw;
    struct str cert_file, cert_data, key_file, key_data, token, token_file, username, password, as, as_uid;
    struct {
        struct str *v;
        size_t n;
    } as_groups;
    struct json *as_extra, *provider;
    struct kube_exec *exec;
};
struct context_part {
    struct json *raw;
    struct str cluster, user, namespace;
};
struct named_cluster {
    struct str name;
    struct cluster_part part;
};
struct named_user {
    struct str name;
    struct user_part part;
};
struct named_context {
    struct str name;
    struct context_part part;
};
struct config_part {
    struct str current;
    struct {
        struct named_cluster *v;
        size_t n;
    } clusters;
    struct {
        struct named_user *v;
        size_t n;
    } users;
    struct {
        struct named_context *v;
        size_t n;
    } contexts;
};

extern const struct schema schema_kubeconfig; /* decodes into struct config_part */

#endif
