/* sshconfig.c - the ssh config of a job: short names of all hosts, and the port */
#include "plugin/plugin_internal.h"

#include "base/util.h"

enum {
    PORT_SSH = 22,
    CONFIG_BYTES_MAX = 256 * 1024, /* beyond this one block per task instead of one per host */
};

static void write_hosts(const struct task_hosts *hosts, int64_t port, struct buf *out)
{
    for (size_t i = 0; i < hosts->n; i++)
        buf_fmt(out, "Host %.*s\n  HostName %.*s\n  Port %lld\n", STR_ARG(hosts->short_name[i]),
                STR_ARG(hosts->host[i]), (long long)port);
}

struct by_length {
    const struct job_task *task;
    const struct task_hosts *hosts;
    size_t pos;
};

static int by_length_cmp(const void *x, const void *y)
{
    const struct by_length *a = x, *b = y;

    if (a->task->name.n != b->task->name.n)
        return a->task->name.n > b->task->name.n ? -1 : 1;
    return (a->pos > b->pos) - (a->pos < b->pos);
}

/* ssh takes the first block that matches: single hosts first, then "job-w-x-*" before "job-w-*". Tasks without pods
 * have a block too, so that hosts added by scaling work in old pods. */
static void write_wildcards(struct plugin_call *call, int64_t port, struct buf *out)
{
    size_t n = call->job->spec.tasks.n, kept = 0;
    struct by_length *v = arena_array(call->arena, struct by_length, n + 1);

    for (size_t i = 0; i < n; i++) {
        const struct task_hosts *hosts = plugin_set_hosts(call->set, i);

        if (hosts->has_own_hostname)
            write_hosts(hosts, port, out);
        else
            v[kept++] = (struct by_length){ &call->job->spec.tasks.v[i], hosts, i };
    }
    qsort(v, kept, sizeof(*v), by_length_cmp);
    for (size_t i = 0; i < kept; i++)
        buf_fmt(out, "Host %.*s-%.*s-* !*.*\n  HostName %%h.%.*s\n  Port %lld\n", STR_ARG(call->job->meta.name),
                STR_ARG(v[i].task->name), STR_ARG(v[i].hosts->subdomain), (long long)port);
}

/* Bytes of the list with one block for each host. */
static size_t list_bytes(struct plugin_call *call)
{
    size_t bytes = 0;

    for (size_t i = 0; i < call->job->spec.tasks.n; i++) {
        const struct task_hosts *hosts = plugin_set_hosts(call->set, i);

        for (size_t k = 0; k < hosts->n; k++)
            bytes += strlen("Host \n  HostName \n  Port 65535\n") + hosts->short_name[k].n + hosts->host[k].n;
    }
    return bytes;
}

/* The blocks above match short names only, but host lists hold "<host>.<subdomain>". */
static void write_dotted(struct plugin_call *call, int64_t port, struct buf *out)
{
    struct str_list subdomains = plugin_set_subdomains(call->set, call->arena);

    for (size_t i = 0; i < subdomains.n; i++)
        buf_fmt(out, "Host *.%.*s\n  Port %lld\n", STR_ARG(subdomains.v[i]), (long long)port);
}

void ssh_config_write(struct plugin_call *call, int64_t port, bool wildcard, struct buf *out)
{
    buf_fmt(out, "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n");
    if (wildcard || list_bytes(call) > CONFIG_BYTES_MAX)
        write_wildcards(call, port, out);
    else
        for (size_t i = 0; i < call->job->spec.tasks.n; i++)
            write_hosts(plugin_set_hosts(call->set, i), port, out);
    if (port != PORT_SSH)
        write_dotted(call, port, out);
}
