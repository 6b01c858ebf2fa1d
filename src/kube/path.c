/* path.c - where the objects of a Kubernetes API are */
#include "kube/cluster_internal.h"

#include "base/codec.h"
#include "base/util.h"

void path_collection(struct buf *out, const struct resource_type *type, struct str namespace)
{
    if (type->group[0])
        buf_fmt(out, "/apis/%s/%s", type->group, type->version);
    else
        buf_fmt(out, "/api/%s", type->version);
    if (type->scope == SCOPE_NAMESPACED && namespace.n) {
        buf_str(out, STR("/namespaces/"));
        percent_print(out, namespace, "");
    }
    buf_fmt(out, "/%s", type->plural);
}

void path_object(struct buf *out, const struct resource_type *type, struct str namespace, struct str name,
                 const char *sub)
{
    path_collection(out, type, namespace);
    buf_char(out, '/');
    percent_print(out, name, "");
    if (sub)
        buf_fmt(out, "/%s", sub);
}

void path_query(struct buf *path, const char *key, struct str value)
{
    if (!value.n)
        return;
    buf_char(path, memchr(path->p, '?', path->n) ? '&' : '?');
    buf_fmt(path, "%s=", key);
    percent_print(path, value, "");
}
