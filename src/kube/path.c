/* path.c - where the objects of a Kubernetes API are */
#include "kube/cluster_internal.h"

#include "base/util.h"

static void put_escaped(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')
            buf_char(out, (char)c);
        else if ((c >= '0' && c <= '9') || (c && strchr("-._~", c)))
            buf_char(out, (char)c);
        else
            buf_fmt(out, "%%%02X", c);
    }
}

void path_collection(struct buf *out, const struct resource_type *type, struct str namespace)
{
    if (type->group[0])
        buf_fmt(out, "/apis/%s/%s", type->group, type->version);
    else
        buf_fmt(out, "/api/%s", type->version);
    if (type->scope == SCOPE_NAMESPACED && namespace.n) {
        buf_str(out, STR("/namespaces/"));
        put_escaped(out, namespace);
    }
    buf_fmt(out, "/%s", type->plural);
}

void path_object(struct buf *out, const struct resource_type *type, struct str namespace, struct str name,
                 const char *sub)
{
    path_collection(out, type, namespace);
    buf_char(out, '/');
    put_escaped(out, name);
    if (sub)
        buf_fmt(out, "/%s", sub);
}

void path_query(struct buf *path, const char *key, struct str value)
{
    if (!value.n)
        return;
    buf_char(path, memchr(path->p, '?', path->n) ? '&' : '?');
    buf_fmt(path, "%s=", key);
    put_escaped(path, value);
}
