/* hosts.h - the one list of hosts that all plugins use
 *
 * domain(task, i) for each replica; a task with its own hostname has one host, whatever its replicas.
 * Built once for each job (plugin_set_new) and shared by all pods, so that N pods do not cost N × N.
 */
#ifndef PLUGIN_HOSTS_H
#define PLUGIN_HOSTS_H

#include "plugin/plugin.h"

struct task_hosts {
    struct str *host;       /* "<hostname>.<subdomain>" */
    struct str *short_name; /* hostname alone */
    size_t n;
    struct str subdomain;
    bool has_own_hostname; /* from the template: one host for all replicas */
    struct str comma;      /* joined by ',' */
    struct str lines;      /* joined by newline, none at the end */
};

/* The task at position 'task_pos' of the job. */
const struct task_hosts *plugin_set_hosts(const struct plugin_set *set, size_t task_pos);

/* All distinct subdomains of the job's tasks, in order of first use. */
struct str_list plugin_set_subdomains(const struct plugin_set *set, struct arena *a);

/* The node rank of 5.2: a running number over the tasks named in 'tasks' (comma-separated; empty: all in spec order). */
struct rank_order {
    size_t *task_pos;     /* the listed tasks, in order */
    uint32_t *first_rank; /* rank of index 0 of each */
    size_t n;
    uint32_t size; /* all replicas together */
};
/* -1 and an error that names the unknown task. */
int rank_order_init(struct arena *a, const struct job *job, struct str tasks, struct rank_order *ret, struct err *e);
/* Host of rank 0; empty if there are no pods. */
struct str rank_order_host0(const struct plugin_set *set, const struct rank_order *order);
/* Rank of a pod; -1 if its task is not listed. */
int64_t rank_order_of(const struct rank_order *order, size_t task_pos, uint32_t index);

/* Longest text an environment variable may hold for us: the kernel stops at 128 KiB for name, '=' and value. */
enum { ENV_TEXT_MAX = 96 * 1024 };

#endif
