/* shim_sysctl.c - which sysctls belong to the pod's own namespaces; pure */
#include "node/shim/shim.h"

#include "base/util.h"

/* The namespaced sysctls that Kubernetes knows. */
static const struct {
    struct str prefix;
    bool is_whole, is_network;
} sysctl_kinds[] = {
    { STR_INIT("kernel/shm"), false, false }, { STR_INIT("kernel/msg"), false, false },
    { STR_INIT("kernel/sem"), true, false },  { STR_INIT("fs/mqueue/"), false, false },
    { STR_INIT("net/"), false, true },
};

/* "net.ipv4.conf.eth0.forwarding" → "net/ipv4/…". A name with slashes keeps its dots: interface names may have them. */
static void sysctl_path(struct buf *out, struct str name)
{
    ptrdiff_t slash = str_find_char(name, '/'), dot = str_find_char(name, '.');
    bool has_slashes = slash >= 0 && (dot < 0 || slash < dot);

    buf_str(out, name);
    for (size_t i = 0; i < out->n && !has_slashes; i++)
        out->p[i] = out->p[i] == '.' ? '/' : out->p[i] == '/' ? '.' : out->p[i];
}

static bool is_clean_sysctl(struct str path)
{
    struct str part;

    if (str_has_char(path, '\0'))
        return false;
    while (str_split(&path, '/', &part))
        if (!part.n || str_is(part, ".") || str_is(part, ".."))
            return false;
    return true;
}

int sysctl_check(const struct shim_options *o, struct str name, struct str value, struct buf *ret_path, struct err *e)
{
    size_t i = 0;

    buf_reset(ret_path);
    sysctl_path(ret_path, name);
    while (i < ARRAY_LEN(sysctl_kinds) &&
           !(sysctl_kinds[i].is_whole ? str_eq(buf_view(ret_path), sysctl_kinds[i].prefix)
                                      : str_starts(buf_view(ret_path), sysctl_kinds[i].prefix)))
        i++;
    if (i == ARRAY_LEN(sysctl_kinds) || !is_clean_sysctl(buf_view(ret_path)))
        return err_set(e, ERR_INVALID, "sysctl \"%.*s\" is not allowed: it belongs to no namespace of the pod",
                       STR_ARG(name));
    if (sysctl_kinds[i].is_network ? o->has_host_network : o->has_host_ipc)
        return err_set(e, ERR_INVALID, "sysctl \"%.*s\" is not allowed with %s", STR_ARG(name),
                       sysctl_kinds[i].is_network ? "hostNetwork" : "hostIPC");
    if (value.n > 4096 || str_has_char(value, '\0'))
        return err_set(e, ERR_INVALID, "sysctl \"%.*s\": invalid value", STR_ARG(name));
    return 0;
}
