/* agent_etc_files.c - the three files that a pod has of its own: /etc/hosts, /etc/hostname, /etc/resolv.conf */
#include "node/agent/agent_internal.h"

#include "api/meta.h"
#include "os/io.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static int agent_etc_files_write_file(int dir, const char *name, const struct buf *text, struct err *e)
{
    return file_write(dir, name, O_TRUNC, 0644, buf_view(text)) < 0 ? err_errno(e, "write %s", name) : 0;
}

static void print_aliases(const struct json *spec, struct buf *out)
{
    JSON_FOREACH(alias, json_get(spec, "hostAliases")) {
        buf_str(out, json_member_text(alias, "ip"));
        JSON_FOREACH(name, json_get(alias, "hostnames")) {
            buf_char(out, '\t');
            buf_str(out, json_text(name, STR_NULL));
        }
        buf_char(out, '\n');
    }
}

/* Names of the host's network are the host's. The head is the kubelet's: it says that this is a copy. */
static void print_host_hosts(const struct json *spec, struct buf *out)
{
    enum { HOST_HOSTS_MAX = 1 << 20 };
    autobuf own = { 0 };

    (void)file_read(AT_FDCWD, "/etc/hosts", 0, HOST_HOSTS_MAX, &own); /* without it there are no names */
    buf_str(out, STR("# Kubernetes-managed hosts file (host network).\n"));
    buf_str(out, buf_view(&own));
    if (own.n && own.p[own.n - 1] != '\n')
        buf_char(out, '\n');
    print_aliases(spec, out);
}

static void print_hosts(const struct agent_pod *p, struct arena *a, struct buf *out)
{
    const struct json *spec = json_get(p->object->root, "spec");
    struct str subdomain = json_member_text(spec, "subdomain");

    if (p->is_host_network) {
        print_host_hosts(spec, out);
        return;
    }
    buf_fmt(out, "# Kubernetes-managed hosts file.\n"
                 "127.0.0.1\tlocalhost\n"
                 "::1\tlocalhost ip6-localhost ip6-loopback\n"
                 "fe00::0\tip6-localnet\n"
                 "fe00::0\tip6-mcastprefix\n"
                 "fe00::1\tip6-allnodes\n"
                 "fe00::2\tip6-allrouters\n");
    if (p->address.s_addr)
        buf_str(out, agent_address(a, p->address));
    else
        buf_str(out, STR("127.0.0.1"));
    buf_char(out, '\t');
    if (subdomain.n)
        buf_fmt(out, "%.*s.%.*s.%.*s.svc.%s\t", STR_ARG(p->hostname), STR_ARG(subdomain), STR_ARG(p->object->namespace),
                p->agent->opt.cluster_domain);
    buf_str(out, p->hostname);
    buf_char(out, '\n');
    print_aliases(spec, out);
}

int agent_etc_write(struct agent_pod *p, struct err *e)
{
    autoarena a = { 0 };
    autobuf hosts = { 0 }, hostname = { 0 }, resolv = { 0 };
    struct in_addr server = p->agent->services.server ? net_gateway(p->agent->net) : (struct in_addr){ 0 };
    struct str path = arena_fmt(&a, "%s/etc", p->small.p);
    autoclose int dir = -1;

    if (mkdir(path.p, 0755) < 0 && errno != EEXIST)
        return err_errno(e, "create %s", path.p);
    dir = open(path.p, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_errno(e, "open %s", path.p);
    print_hosts(p, &a, &hosts);
    buf_str(&hostname, p->hostname);
    buf_char(&hostname, '\n');
    dns_resolv_conf(&resolv, p->object->root, p->agent->opt.cluster_domain, server, p->agent->host_resolv);
    if (agent_etc_files_write_file(dir, "hosts", &hosts, e) < 0 ||
        agent_etc_files_write_file(dir, "hostname", &hostname, e) < 0 ||
        agent_etc_files_write_file(dir, "resolv.conf", &resolv, e) < 0)
        return -1;
    return 0;
}

void agent_etc_remove(struct agent_pod *p)
{
    static const char *const names[] = { "hosts", "hostname", "resolv.conf" };
    autoarena a = { 0 };
    struct str path = arena_fmt(&a, "%s/etc", p->small.p);
    autoclose int dir = open(path.p, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    for (size_t i = 0; dir >= 0 && i < ARRAY_LEN(names); i++)
        (void)unlinkat(dir, names[i], 0);
    (void)rmdir(path.p);
}
